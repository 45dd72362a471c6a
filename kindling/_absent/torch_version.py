"""Names of torch.torch_version, written by tools/surface.py."""
TABLE = r"""
torch_version TorchVersion(str)
"""  # noqa: E501
