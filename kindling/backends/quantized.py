"""Quantised operators: not in this build.  The engine's name is kept, so that programs may set it."""

engine = "none"
supported_engines = ["none"]
