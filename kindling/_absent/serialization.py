"""Names of torch.serialization, written by tools/surface.py."""
TABLE = r"""
serialization MAP_LOCATION~ validate_hpu_device()
"""  # noqa: E501
