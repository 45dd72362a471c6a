"""Contexts of an `autograd.Function` with fields of their own, and gradients brought to an input's slices."""
import kindling as torch

__all__ = ["CtxCustomSave", "CtxWithSavedTensors", "WrappedCtx", "reductify", "reductify_leaf"]


class WrappedCtx:
    """Stands for a context; what it reserves is its own."""
    _pt_reserved_attrs = ("_pt_reserved_attrs", "_pt_inner_ctx")

    def __init__(self, ctx):
        if not isinstance(ctx, WrappedCtx):
            for name in type(self)._pt_reserved_attrs:
                if hasattr(ctx, name):
                    raise RuntimeError(f"PyTorch reserves the {type(self)._pt_reserved_attrs} field on ctx. Please name your fields on ctx something else to "
                                       "avoid name collision.")
        self._pt_inner_ctx = ctx

    def __getattr__(self, name):
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name, value):
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A context with other saved tensors."""
    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx, new_saved_tensors):
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self):
        return self._pt_new_saved_tensors


class CtxCustomSave(WrappedCtx):
    """A context that saves what lies below a level of `vmap`, and keeps where the slices' dimensions were."""
    _pt_reserved_attrs = ("_pt_saved_tensors_bdims", "_pt_current_level", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx, current_level):
        super().__init__(ctx)
        self._pt_saved_tensors_bdims = ()
        self._pt_current_level = current_level

    def _below(self, tensors):
        from kindling._functorch.vmap import unwrap_batched
        tensors, self._pt_saved_tensors_bdims = unwrap_batched(tensors, self._pt_current_level)
        return tensors

    def save_for_backward(self, *tensors):
        self._pt_inner_ctx.save_for_backward(*self._below(tensors))

    def save_for_forward(self, *tensors):
        self._pt_inner_ctx.save_for_forward(*self._below(tensors))


def reductify(grad_input, grad_input_bdim, input_bdim, batch_size, target_shape_without_bdim_to_reduce_to=None):
    """`reductify_leaf` of each gradient."""
    def each(value):
        return value if isinstance(value, tuple) else (value,)
    grads, shapes = each(grad_input), target_shape_without_bdim_to_reduce_to
    return tuple(reductify_leaf(grad, dim, of, batch_size, shape) for grad, dim, of, shape in zip(
        grads, each(grad_input_bdim), each(input_bdim), (None,) * len(grads) if shapes is None else shapes))


def reductify_leaf(grad_input, grad_input_bdim, input_bdim, batch_size, target_shape_without_bdim_to_reduce_to=None):
    """A gradient whose slices lie as the input's do, summed over them where the input has none; of the shape given, if one is."""
    if grad_input is None or grad_input_bdim is None and input_bdim is None:
        return grad_input
    if input_bdim is None:
        return grad_input.sum(grad_input_bdim)
    if grad_input_bdim is None:
        grad_input = grad_input.unsqueeze(input_bdim)
        grad_input = grad_input.expand(*grad_input.shape[:input_bdim], batch_size, *grad_input.shape[input_bdim + 1:])
        grad_input_bdim = input_bdim
    if target_shape_without_bdim_to_reduce_to is not None:
        return torch.vmap(torch.Tensor.sum_to_size, in_dims=(grad_input_bdim, None), out_dims=input_bdim)(
            grad_input, target_shape_without_bdim_to_reduce_to)
    return grad_input.movedim(grad_input_bdim, input_bdim)
