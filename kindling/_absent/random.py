"""Names of torch.random, written by tools/surface.py."""
TABLE = r"""
random Generator~
"""  # noqa: E501
