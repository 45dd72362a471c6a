"""Questions to the levels of transforms that are open, and to tensors about theirs (``torch._C._functorch``).

`vmap` wraps tensors (core/batch.h). The transforms by derivatives wrap none here: a tensor knows which of them it was made in.
"""
import enum

from kindling import _C
from kindling.func._vmap import _RANDOMNESS, _add_batch_dim, _remove_batch_dim   # noqa: F401


class TransformType(enum.IntEnum):
    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(enum.IntEnum):
    Error = 0
    Same = 1
    Different = 2


class CInterpreter:
    """A level that is open, as `kindling._C._transforms` shows it."""

    def __init__(self, level):
        self._level = level

    def key(self):
        return TransformType[self._level[0].capitalize()]

    def level(self):
        return self._level[1]


class _OfKind(CInterpreter):
    def __init__(self, interpreter):
        super().__init__(interpreter._level)
        if self.key() is not self._key:
            raise RuntimeError(f"expected a level of {self._key.name}, got one of {self.key().name}")


class CVmapInterpreterPtr(_OfKind):
    _key = TransformType.Vmap

    def batchSize(self):
        return self._level[2]

    def randomness(self):
        return RandomnessType[("Error", "Different", "Same")[self._level[3]]]


class CGradInterpreterPtr(_OfKind):
    _key = TransformType.Grad

    def prevGradMode(self):
        """Whether graphs were recorded around the level."""
        return self._level[4]


class CJvpInterpreterPtr(_OfKind):
    _key = TransformType.Jvp


class CFunctionalizeInterpreterPtr(_OfKind):
    _key = TransformType.Functionalize


def get_interpreter_stack():
    """The open levels, the outermost first; None if none is."""
    return [CInterpreter(level) for level in _C._transforms()] or None


def peek_interpreter_stack():
    """The innermost open level, or None."""
    levels = _C._transforms()
    return CInterpreter(levels[-1]) if levels else None


def get_dynamic_layer_stack_depth():
    return _C._transform_depth()


def maybe_current_level():
    return _C._transform_depth() or None


def current_level():
    if not _C._transform_depth():
        raise RuntimeError("no transform of a function is open")
    return _C._transform_depth()


def count_jvp_interpreters():
    return sum(level[0] == "jvp" for level in _C._transforms())


def _vmap_increment_nesting(batch_size, randomness):
    """Opens a level of `vmap`; its number."""
    return _C._vmap_open(batch_size, _RANDOMNESS[randomness])


def _vmap_decrement_nesting():
    """Closes the innermost level of `vmap`; its number."""
    depth = _C._transform_depth()
    _C._vmap_close()
    return depth


def get_inplace_requires_grad_allowed():
    """Whether `requires_grad_` may be called inside of a transform."""
    return _C._may_require_grad()


def set_inplace_requires_grad_allowed(allowed):
    _C._may_require_grad(allowed)


def is_batchedtensor(tensor):
    """Whether a tensor is one that vmap maps over, as the innermost transform sees it."""
    batch = _C._batch_of(tensor)
    return batch is not None and batch[2] and _C._born_in(tensor) < batch[1]


def is_gradtrackingtensor(tensor):
    """Whether a tensor was made in a transform by derivatives that is open, inside of the vmaps that it is mapped by."""
    batch = _C._batch_of(tensor)
    return _C._born_in(tensor) > (0 if batch is None else batch[1])


def is_functorch_wrapped_tensor(tensor):
    return _C._batch_of(tensor) is not None or is_gradtrackingtensor(tensor)


def is_legacy_batchedtensor(tensor):
    """Whether it is of the first form of vmap, which is not here."""
    return False


is_functionaltensor = is_legacy_batchedtensor


def maybe_get_level(tensor):
    """The number of the innermost transform that a tensor is of, from 1 on; -1: of none; -2: of one that has ended."""
    batch, made = _C._batch_of(tensor), _C._born_in(tensor)
    if batch is None and made <= 0:
        return -2 if made else -1
    return max(made, 0 if batch is None else batch[1])


def maybe_get_bdim(tensor):
    return 0 if is_batchedtensor(tensor) else -1


def dlevel(tensor):
    """The number of the transform by derivatives that a tensor was made in; 0: outside of all; -1: in one that has ended."""
    return _C._born_in(tensor)


def is_dead_tensor_wrapper(tensor):
    return _C._born_in(tensor) < 0


def unwrap_if_dead(tensor):
    """A tensor of a transform that has ended as it is outside; another one as it is."""
    return _C._leaves_transform(_C._apart(tensor)) if _C._born_in(tensor) < 0 else tensor


def get_unwrapped(tensor):
    """What a batched tensor stands for; another tensor without the graph of the innermost transform."""
    if is_gradtrackingtensor(tensor):
        return _C._below_transform(tensor)
    batch = _C._batch_of(tensor)
    return tensor if batch is None else batch[0]


def _unwrap_batched(tensor, level):
    """What a batched tensor of that level stands for and the dimension of its slices; another tensor as it is and None."""
    below, batched = _C._vmap_unwrap(tensor, level)
    return below, 0 if batched else None


def reshape_dim_into(src, dst, x):
    """The dimension `src` as the slower part of what is `dst` without it."""
    src %= x.dim()
    dst %= x.dim() - 1
    return x.movedim(src, dst).flatten(dst, dst + 1)


def reshape_dim_outof(src, size1, x):
    """A dimension of `size1` in front of the rest of `src`."""
    src %= x.dim()
    return x.reshape(*x.shape[:src], size1, x.shape[src] // size1 if size1 else 0, *x.shape[src + 1:])


def _is_vmap_fallback_enabled():
    """Whether an operator without a rule of its own may go slice by slice."""
    return _C._vmap_may_slice()


def _set_vmap_fallback_enabled(enabled):
    _C._vmap_may_slice(enabled)


def _set_vmap_fallback_warning_enabled(enabled):
    """Whether what goes slice by slice warns."""
    _C._debug_only_display_vmap_fallback_warnings(enabled)
