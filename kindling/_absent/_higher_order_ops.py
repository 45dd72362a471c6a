"""Names of torch._higher_order_ops, written by tools/surface.py."""
TABLE = r"""
_higher_order_ops.while_loop while_loop()
"""  # noqa: E501
