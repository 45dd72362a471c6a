"""Names of torch._utils, written by tools/surface.py."""
TABLE = r"""
_utils _functionalize_sync()
"""  # noqa: E501
