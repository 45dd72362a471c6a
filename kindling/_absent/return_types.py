"""Names of torch.return_types, written by tools/surface.py."""
TABLE = r"""
return_types all_return_types? pytree_register_structseq()
"""  # noqa: E501
