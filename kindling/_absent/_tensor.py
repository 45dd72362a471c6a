"""Names of torch._tensor, written by tools/surface.py."""
TABLE = r"""
_tensor _convert() _rebuild_from_type_v2()
"""  # noqa: E501
