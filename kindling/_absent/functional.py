"""Names of torch.functional, written by tools/surface.py."""
TABLE = r"""
functional pca_lowrank@_lowrank svd_lowrank@_lowrank
"""  # noqa: E501
