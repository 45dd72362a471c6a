"""Handles for registered hooks, and the two identity nodes through which a module's backward hooks see gradients."""
from _collections import OrderedDict
from _weakref import ref

__all__ = ["RemovableHandle", "BackwardHook"]


class RemovableHandle:
    """Returned by the register functions; remove() takes the hook out again, and so does leaving a `with` block."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if extra_dict is None:
            extra_dict = ()
        elif isinstance(extra_dict, dict):
            extra_dict = (extra_dict,)
        self.extra_dict_ref = tuple(ref(extra) for extra in extra_dict)

    def remove(self):
        """Takes the hook out; doing so twice is harmless."""
        for dictionary in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = dictionary()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        if not self.extra_dict_ref:
            return (self.hooks_dict_ref(), self.id)
        return (self.hooks_dict_ref(), self.id, tuple(extra() for extra in self.extra_dict_ref))

    def __setstate__(self, state):
        hooks = state[0]
        self.hooks_dict_ref = ref(OrderedDict() if hooks is None else hooks)
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extras = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(ref(OrderedDict() if extra is None else extra) for extra in extras)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.remove()


_identity_function = None


def _identity():
    """The autograd Function that passes tensors through unchanged; made at first use, as it needs autograd."""
    global _identity_function
    if _identity_function is None:
        import kindling

        class BackwardHookFunction(kindling.autograd.Function):
            @staticmethod
            def forward(ctx, *tensors):
                ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
                return tensors

            @staticmethod
            def backward(ctx, *grads):
                return grads

        _identity_function = BackwardHookFunction
    return _identity_function


class BackwardHook:
    """Runs one call's full backward hooks once the gradients of outputs and inputs are both known.

    Outputs and inputs each go through one identity node. The outputs' node holds back the gradient until the inputs'
    node has its own; without differentiable inputs the hooks run at the outputs' node, with None for the inputs.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.n_outputs = self.n_inputs = -1
        self.output_tensors_index = self.input_tensors_index = None

    def _spread(self, grads, positions, count):
        """Gradients of the tensor arguments, with None at the places of everything else."""
        full = [None] * count
        for position, grad in zip(positions, grads):
            full[position] = grad
        return tuple(full)

    def _gather(self, values, positions):
        return tuple(values[position] for position in positions)

    def _as_tuple(self, value):
        return value if isinstance(value, tuple) else (value,)

    def _run_hooks(self, grad_inputs):
        """All full hooks in order; each may replace the inputs' gradients."""
        shown = self._spread(grad_inputs, self.input_tensors_index, self.n_inputs)
        for hook in self.user_hooks:
            result = hook(self.module, shown, self.grad_outputs)
            if result is None:
                continue
            result = self._as_tuple(result)
            if len(result) != len(shown):
                raise RuntimeError("Backward hook returned an invalid number of grad_input, "
                                   f"got {len(result)}, but expected {len(shown)}")
            shown = result
        self.grad_outputs = None
        return shown

    def _insert_node(self, values, attach):
        """Routes the tensors among `values` through one identity node; returns the new values and their positions."""
        import kindling as torch
        positions = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
        if not (torch.is_grad_enabled() and any(values[place].requires_grad for place in positions)):
            return values, None
        routed = _identity().apply(*[values[place] for place in positions])
        if len(routed) == 0:
            raise RuntimeError("Cannot set Module backward hook for a Module with no input Tensors.")
        attach(next(tensor.grad_fn for tensor in routed if tensor.grad_fn is not None))
        values = list(values)
        for place, tensor in zip(positions, routed):
            values[place] = tensor
        return values, positions

    def setup_input_hook(self, args):
        """Puts the inputs' node in front of the call."""
        def attach(node):
            def hook(grad_inputs, _):
                if self.grad_outputs is None:
                    # The outputs' gradients did not come through this module: there is nothing to show.
                    return None
                result = self._run_hooks(grad_inputs)
                return self._gather(result, self.input_tensors_index)
            node.register_hook(hook)
        args, positions = self._insert_node(args, attach)
        self.n_inputs = len(args)
        self.input_tensors_index = positions
        return tuple(args)

    def setup_output_hook(self, result):
        """Puts the outputs' node behind the call."""
        def attach(node):
            def hook(_, grad_outputs):
                full = self._spread(grad_outputs, self.output_tensors_index, self.n_outputs)
                for pre_hook in self.user_pre_hooks:
                    new = pre_hook(self.module, full)
                    if new is None:
                        continue
                    new = self._as_tuple(new)
                    if len(new) != len(full):
                        raise RuntimeError("Backward pre hook returned an invalid number of grad_output, "
                                           f"got {len(new)}, but expected {len(full)}")
                    full = new
                # Kept for the inputs' node, which sees its own gradient later.
                self.grad_outputs = full
                if self.input_tensors_index is None:
                    import warnings
                    warnings.warn("Full backward hook is firing when gradients are computed with respect to module "
                                  "outputs since no inputs require gradients. See "
                                  "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                                  "register_full_backward_hook for more details.", stacklevel=5)
                    shown = (None,) * self.n_inputs
                    for user_hook in self.user_hooks:
                        new = user_hook(self.module, shown, self.grad_outputs)
                        if new is not None and not (isinstance(new, tuple) and all(item is None for item in new)):
                            raise RuntimeError("Backward hook for Modules where no input requires gradient should "
                                               "always return None or None for all gradients.")
                    self.grad_outputs = None
                return self._gather(full, self.output_tensors_index)
            node.register_hook(hook)
        is_tuple = isinstance(result, tuple)
        values = result if is_tuple else (result,)
        self.n_outputs = len(values)
        values, self.output_tensors_index = self._insert_node(values, attach)
        return tuple(values) if is_tuple else values[0]
