"""How masked tensors are made."""
from .core import MaskedTensor, _checked, made

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data, mask, requires_grad=False):
    """A masked tensor of copies of data and mask, without history."""
    _checked(data, mask)
    if data.requires_grad:
        import warnings
        warnings.warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use data.detach().clone()",
                      UserWarning, stacklevel=2)
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """A masked tensor over data and mask; gradients go to the data."""
    _checked(data, mask)
    return made(data, mask)
