"""Names of torch._linalg_utils, written by tools/surface.py."""
TABLE = r"""
_linalg_utils eig()
"""  # noqa: E501
