"""Names of torch.nested, written by tools/surface.py."""
TABLE = r"""
nested/ as_nested_tensor() masked_select() narrow() nested_tensor() nested_tensor_from_jagged() to_padded_tensor()
"""  # noqa: E501
