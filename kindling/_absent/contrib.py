"""Names of torch.contrib, written by tools/surface.py."""
TABLE = r"""
contrib/
"""  # noqa: E501
