"""NCCL, which this build has not."""

__all__ = ["is_available"]


def is_available(tensors):
    """Whether NCCL can work on the tensors: no."""
    return False
