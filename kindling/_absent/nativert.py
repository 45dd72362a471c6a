"""Names of torch.nativert, written by tools/surface.py."""
TABLE = r"""
nativert/
nativert.backends/
"""  # noqa: E501
