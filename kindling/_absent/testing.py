"""Names of torch.testing, written by tools/surface.py."""
TABLE = r"""
testing/ FileCheck@.
"""  # noqa: E501
