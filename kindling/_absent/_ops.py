"""Names of torch._ops, written by tools/surface.py."""
TABLE = r"""
_ops HigherOrderOperator(_ops:OperatorBase) OperatorBase
"""  # noqa: E501
