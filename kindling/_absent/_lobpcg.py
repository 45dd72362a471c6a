"""Names of torch._lobpcg, written by tools/surface.py."""
TABLE = r"""
_lobpcg lobpcg()
"""  # noqa: E501
