"""Names of torch._decomp, written by tools/surface.py."""
TABLE = r"""
_decomp/ core_aten_decompositions()
"""  # noqa: E501
