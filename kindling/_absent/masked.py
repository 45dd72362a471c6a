"""Names of torch.masked, written by tools/surface.py."""
TABLE = r"""
masked.maskedtensor.binary
masked.maskedtensor.passthrough
masked.maskedtensor.reductions
masked.maskedtensor.unary
"""  # noqa: E501
