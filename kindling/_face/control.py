"""``cond`` and ``while_loop``, which run as plain Python."""


def cond(pred, true_fn, false_fn, operands=()):
    """``true_fn(*operands)`` or ``false_fn(*operands)``, by ``pred``: a bool or a tensor of one element.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.zeros(1),))
    tensor([1.])
    """
    import kindling as torch

    if not isinstance(pred, (bool, int, torch.Tensor, torch.SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
                           f"{operands}.")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """``carried = body_fn(*carried)`` while ``cond_fn(*carried)``; the last ones."""
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callable.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callable.")
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        carried = body_fn(*carried)
        carried = tuple(carried) if isinstance(carried, (tuple, list)) else (carried,)
    return carried
