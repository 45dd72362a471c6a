"""Names of torch._utils, written by tools/surface.py."""
TABLE = r"""
_utils _element_size() _get_device_index()
"""  # noqa: E501
