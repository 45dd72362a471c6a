"""Whether mixed precision on CUDA is out of the question."""
import kindling as torch

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """Whether there is no device for it."""
    return not torch.cuda.is_available()
