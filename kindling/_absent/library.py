"""Names of torch.library, written by tools/surface.py."""
TABLE = r"""
library _defs? get_kernel() register_autocast()
"""  # noqa: E501
