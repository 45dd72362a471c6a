"""Forward-mode differentiation: tensors that carry a tangent.

A dual tensor is recorded like one that requires grad, and a tangent is what two passes over that graph give: backward is linear in
the gradient it starts from, and its own derivative with respect to that gradient, along the tangents, is the tangent.
"""

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_levels = []     # for each level that is open: [(dual tensor, tangent, whether the primal required grad)]


class UnpackedDualTensor(tuple):
    """(primal, tangent) of a dual tensor; the tangent of an ordinary one is None."""
    __slots__ = ()
    _fields = ("primal", "tangent")

    def __new__(cls, primal, tangent):
        return tuple.__new__(cls, (primal, tangent))

    primal = property(lambda self: self[0])
    tangent = property(lambda self: self[1])

    def __repr__(self):
        return f"UnpackedDualTensor(primal={self[0]!r}, tangent={self[1]!r})"


def enter_dual_level():
    """Opens a level in which dual tensors can be made; gives its number."""
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append([])
    return len(_levels) - 1


def exit_dual_level(*, level=None):
    """Closes the level: its tangents are gone."""
    if level is not None and level != len(_levels) - 1:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if not _levels:
        raise RuntimeError("Trying to exit a forward AD level but no level is open")
    _levels.pop()


def make_dual(tensor, tangent, *, level=None):
    """`tensor` with `tangent`, of the same shape and dtype, for as long as the level is open."""
    import kindling as torch
    if not _levels or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(f"Expected tangent to have the same shape as the primal, but got {tuple(tangent.shape)} and {tuple(tensor.shape)}")
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(f"Expected tangent to have the same dtype as the primal, but got {tangent.dtype} and {tensor.dtype}")
    required = tensor.requires_grad
    with torch.enable_grad():
        dual = tensor.view_as(tensor) if required else tensor.detach().requires_grad_()
    _levels[-1].append((dual, tangent, required))
    return dual


def unpack_dual(tensor, *, level=None):
    """(primal, tangent): tangent is None where `tensor` depends on no dual tensor of the level."""
    import kindling as torch
    if not _levels or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    inputs = _levels[-1]
    required = any(each[2] for each in inputs)
    primal = tensor if required else tensor.detach()
    for dual, tangent, _ in inputs:
        if dual is tensor:
            return UnpackedDualTensor(primal, tangent)
    if not inputs or not tensor.requires_grad:
        return UnpackedDualTensor(primal, None)
    with torch.enable_grad():
        seed = torch.zeros_like(tensor).detach().requires_grad_()
        gradients = torch.autograd.grad(tensor, [each[0] for each in inputs], seed, create_graph=True, retain_graph=True, allow_unused=True)
        pairs = [(gradient, each[1]) for gradient, each in zip(gradients, inputs) if gradient is not None]
        if not pairs:
            return UnpackedDualTensor(primal, None)
        pairs = [pair for pair in pairs if pair[0].requires_grad]
        tangent = None
        if pairs:
            tangent, = torch.autograd.grad([pair[0] for pair in pairs], seed, [pair[1] for pair in pairs], create_graph=required,
                                           retain_graph=True, allow_unused=True)
    if tangent is None:
        tangent = torch.zeros_like(tensor)
    return UnpackedDualTensor(primal, tangent if required else tangent.detach())


class dual_level:
    """A level for a `with` block."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, kind, value, traceback):
        exit_dual_level()


def _is_fwd_grad_enabled():
    from kindling import _C
    return _C._is_fwd_grad_enabled()


class _set_fwd_grad_enabled:
    def __init__(self, mode):
        from kindling import _C
        self.prev = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self):
        pass

    def __exit__(self, kind, value, traceback):
        from kindling import _C
        _C._set_fwd_grad_enabled(self.prev)
