"""Names of torch.serialization, written by tools/surface.py."""
TABLE = r"""
serialization validate_hpu_device()
"""  # noqa: E501
