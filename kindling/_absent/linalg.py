"""Names of torch.linalg, written by tools/surface.py."""
TABLE = r"""
linalg/ common_notes?
"""  # noqa: E501
