"""Names of torch.version, written by tools/surface.py."""
TABLE = r"""
version rocm=None
"""  # noqa: E501
