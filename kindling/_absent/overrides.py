"""Names of torch.overrides, written by tools/surface.py."""
TABLE = r"""
overrides redispatch_function()
"""  # noqa: E501
