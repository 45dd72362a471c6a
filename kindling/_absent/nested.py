"""Names of torch.nested, written by tools/surface.py."""
TABLE = r"""
nested._internal.nested_tensor _tensor_symint_registry? nested_view_from_values_offsets()
nested._internal.ops extract_kwargs()
"""  # noqa: E501
