"""XNNPACK: not in this build."""

enabled = False
