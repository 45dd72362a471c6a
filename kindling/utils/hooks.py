"""Handles that take a hook back, and the machinery of full backward hooks on modules."""
from _collections import OrderedDict
from _weakref import ref

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


class RemovableHandle:
    """Takes a registered hook back by `remove()`, or at the end of a `with` block.

    `hooks_dict` maps handle ids to hooks; `extra_dict` (a dict or a list of them) loses the same id on removal.
    The dictionaries are held weakly, so a handle never keeps a module or tensor alive.
    """
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if extra_dict is None:
            self.extra_dict_ref = ()
        elif isinstance(extra_dict, list):
            self.extra_dict_ref = tuple([ref(extra) for extra in extra_dict])
        else:
            self.extra_dict_ref = (ref(extra_dict),)

    def remove(self):
        """Removes the hook; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple([reference() for reference in self.extra_dict_ref])

    def __setstate__(self, state):
        # An OrderedDict made here dies at once: a handle whose dictionary was gone stays a handle to nothing.
        self.hooks_dict_ref = ref(OrderedDict() if state[0] is None else state[0])
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extra = state[2] if len(state) > 2 and state[2] is not None else ()
        self.extra_dict_ref = tuple([ref(OrderedDict() if each is None else each) for each in extra])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.remove()


def unserializable_hook(f):
    """Marks a tensor hook as one that is knowingly left out when the tensor is saved; `f` is returned."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warns about each hook on `tensor` that saving it would lose, unless marked by `unserializable_hook`."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            import warnings
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                          "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                          stacklevel=2)


class BackwardHook:
    """Runs a module's full backward hooks once the gradients of its outputs and of its inputs are known.

    One object serves one call of the module: `setup_input_hook(args)` and `setup_output_hook(result)` pass the tensors
    through an identity node whose backward hook reports their gradients; arguments that are no tensors are seen by the
    hooks as None.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index = self.output_tensors_index = None

    def setup_input_hook(self, args):
        """Returns `args` with its tensors passed through the node that reports the inputs' gradients."""
        result, self.input_tensors_index = _through_identity(
            args, lambda grad_fn: grad_fn.register_hook(self._inputs_known))
        self.n_inputs = len(args)
        return result

    def setup_output_hook(self, result):
        """Returns `result` with its tensors passed through the node that reports the outputs' gradients."""
        outputs = result if isinstance(result, tuple) else (result,)
        new, self.output_tensors_index = _through_identity(
            outputs, lambda grad_fn: grad_fn.register_hook(self._outputs_known))
        self.n_outputs = len(outputs)
        return new if isinstance(result, tuple) else new[0]

    def _inputs_known(self, grad_input, _):
        if self.grad_outputs is None:
            # The gradient reached the inputs by a way that does not lead through the module's output.
            return None
        seen = _spread(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            changed = hook(self.module, seen, self.grad_outputs)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(seen):
                    raise RuntimeError("Backward hook returned an invalid number of grad_input, "
                                       f"got {len(changed)}, but expected {len(seen)}")
                seen = changed
        self.grad_outputs = None
        return tuple([seen[index] for index in self.input_tensors_index])

    def _outputs_known(self, _, grad_output):
        seen = self.grad_outputs = _spread(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks or ():
            changed = hook(self.module, seen)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(seen):
                    raise RuntimeError("Backward pre hook returned an invalid number of grad_output, "
                                       f"got {len(changed)}, but expected {len(seen)}")
                seen = self.grad_outputs = changed
        if self.input_tensors_index is None:
            # No input requires a gradient, so no other node will call the hooks.
            import warnings
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs "
                          "since no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/"
                          "torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more details.",
                          stacklevel=5)
            nothing = (None,) * self.n_inputs
            for hook in self.user_hooks:
                answer = hook(self.module, nothing, seen)
                if answer is not None and not (isinstance(answer, tuple) and all(each is None for each in answer)):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always "
                                       "return None or None for all gradients.")
            self.grad_outputs = None
        return tuple([seen[index] for index in self.output_tensors_index])


def _spread(indices, values, size):
    spread = [None] * size
    for index, value in zip(indices, values):
        spread[index] = value
    return tuple(spread)


_identity = None


def _identity_function():
    global _identity
    if _identity is None:
        import kindling as torch

        class BackwardHookFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
                return args

            @staticmethod
            def backward(ctx, *grads):
                return grads
        _identity = BackwardHookFunction
    return _identity


def _through_identity(args, attach):
    """`args` with its tensors passed through one identity node, on which `attach` is called, and their positions."""
    import kindling as torch
    indices = [index for index, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
    tensors = [args[index] for index in indices]
    if not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
        return args, None
    new = _identity_function().apply(*tensors)
    node = next((tensor.grad_fn for tensor in new
                 if tensor.grad_fn is not None and tensor.grad_fn.name() == "BackwardHookFunctionBackward"), None)
    if node is None:
        raise RuntimeError("Error while setting up backward hooks. Please open an issue with a code sample to "
                           "reproduce this.")
    attach(node)
    result = list(args)
    for index, tensor in zip(indices, new):
        result[index] = tensor
    return (tuple(result) if type(args) is tuple else type(args)(*result)), indices
