"""Names of torch._tensor_str, written by tools/surface.py."""
TABLE = r"""
_tensor_str PRINT_OPTS? _str_intern() _tensor_str() printoptions()
"""  # noqa: E501
