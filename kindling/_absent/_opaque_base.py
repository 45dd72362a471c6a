"""Names of torch._opaque_base, written by tools/surface.py."""
TABLE = r"""
_opaque_base OpaqueBase
"""  # noqa: E501
