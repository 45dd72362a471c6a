"""Names of torch._vendor, written by tools/surface.py."""
TABLE = r"""
_vendor/
_vendor.packaging/
_vendor.packaging.version parse()
"""  # noqa: E501
