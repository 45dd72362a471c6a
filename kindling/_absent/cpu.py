"""Names of torch.cpu, written by tools/surface.py."""
TABLE = r"""
cpu/ get_capabilities()
"""  # noqa: E501
