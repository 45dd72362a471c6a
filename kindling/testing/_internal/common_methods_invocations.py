"""Sizes and small helpers of PyTorch's suites. The database of operators (op_db) is no part of Kindling."""

L = 20
M = 10
S = 5
XS = 3


def mask_not_all_zeros(shape):
    """A random mask of ones and zeros, with a one in it."""
    import kindling as torch

    if len(shape) == 0:
        raise AssertionError("a mask has dimensions")
    while True:
        mask = torch.randn(shape).gt(0)
        if mask.sum() > 0:
            return mask
