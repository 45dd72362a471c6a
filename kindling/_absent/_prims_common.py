"""Names of torch._prims_common, written by tools/surface.py."""
TABLE = r"""
_prims_common/ alert_not_deterministic() is_contiguous_or_false()
"""  # noqa: E501
