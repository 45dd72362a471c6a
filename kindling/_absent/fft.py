"""Names of torch.fft, written by tools/surface.py."""
TABLE = r"""
fft/ Tensor@.
"""  # noqa: E501
