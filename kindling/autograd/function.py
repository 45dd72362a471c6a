"""Operations whose backward is written in Python."""
from kindling import _C

__all__ = ["FunctionCtx", "BackwardCFunction", "FunctionMeta", "Function", "once_differentiable", "InplaceFunction", "NestedIOFunction"]


class FunctionCtx:
    """What forward and setup_context leave for backward."""

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, where `ctx.saved_tensors` gives them back. At most once, inputs or outputs."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for jvp."""
        for tensor in tensors:
            if tensor is not None and not hasattr(tensor, "requires_grad"):
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                                     "ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Says which inputs forward wrote to in place. They must be outputs too."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs):
        import warnings
        warnings.warn("mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
                      "`set_()` are not tracked", FutureWarning, stacklevel=2)

    def mark_non_differentiable(self, *args):
        """Says which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """False: gradients that are not there come as None, not as zeros."""
        self.materialize_grads = value


_ContextMixin = FunctionCtx


def _saved_variables(ctx):
    import warnings
    warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
    return ctx.saved_tensors


_HookMixin = object


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """The class of contexts: a node of the graph."""

    saved_variables = property(_saved_variables)

    __repr__ = object.__repr__  # with the module's name, which the nodes of operators leave out

    def apply(self, *args):
        cls = self._forward_cls
        backward, vjp = cls.backward, cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                               "of them.")
        return (vjp if vjp is not Function.vjp else backward)(self, *args)

    def apply_jvp(self, *args):
        return self._forward_cls.jvp(self, *args)

    def _compiled_autograd_key(self):
        return self._forward_cls._compiled_autograd_key(self)


class FunctionMeta(type):
    """Gives every Function the class its contexts are made of."""

    def __init__(cls, name, bases, attrs):
        backward_fn = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": "torch.autograd.function"})
        backward_fn._autograd_function_id = FunctionMeta._next_id
        FunctionMeta._next_id += 1
        cls._backward_cls = backward_fn
        super().__init__(name, bases, attrs)

    _next_id = 0


class Function(_C._FunctionBase, FunctionCtx, metaclass=FunctionMeta):
    """An operation with a backward of its own.

    Subclass it with static methods `forward(ctx, *args)` and `backward(ctx, *grads)` (or `forward(*args)` and
    `setup_context(ctx, inputs, output)`), and call it by `apply`:

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                y, = ctx.saved_tensors
                return grad * y
    """

    def __init__(self, *args, **kwargs):
        import warnings
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
                      "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                      DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
                           "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    generate_vmap_rule = False

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the outputs. Nothing in it is recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps what backward needs, when forward does not take the context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Gradients of the arguments of forward, None where there is none, given those of the outputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Tangents of the outputs, given those of the inputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        """The operation over a batch."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @staticmethod
    def _compiled_autograd_key(ctx):
        return (ctx._autograd_function_id,)


Function.setup_context._is_default = True   # apply looks whether a class has its own
_SingleLevelFunction = Function


def _is_setup_context_defined(function):
    return function is not Function.setup_context


def once_differentiable(function):
    """Decorates a backward that can't be differentiated again: doing so raises."""
    def wrapper(ctx, *args):
        import kindling as torch
        with torch.no_grad():
            outputs = function(ctx, *args)
        if not torch.is_grad_enabled():
            return outputs
        if not any(isinstance(each, torch.Tensor) and each.requires_grad for each in args):
            return outputs
        given = [None if each is None else each.detach().requires_grad_() if each.is_floating_point() or each.is_complex() else each
                 for each in (outputs if isinstance(outputs, tuple) else (outputs,))]
        result = DelayedError("trying to differentiate twice a function that was marked with @once_differentiable", len(given))(*given)
        return result if isinstance(result, tuple) or not isinstance(outputs, tuple) else (result,)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(function, name, None))
    wrapper.__wrapped__ = function
    return wrapper


class _Error(Function):
    @staticmethod
    def forward(ctx, message, *tensors):
        ctx.message = message
        return tuple([each.detach() for each in tensors])

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(ctx.message)


_Error._backward_cls.__name__ = _Error._backward_cls.__qualname__ = "Error"


class DelayedError:
    """A function that gives its `count` tensors (or None) back; to differentiate what it gives raises RuntimeError(message)."""

    _is_node = True

    def __init__(self, message, count):
        self._message = message.decode() if isinstance(message, bytes) else message
        self._count = count

    def __call__(self, *tensors):
        import kindling as torch
        if len(tensors) != self._count:
            raise TypeError(f"expected {self._count} arguments, got {len(tensors)} instead")
        results = _Error.apply(self._message, *[torch.empty(0) if each is None else each for each in tensors])
        results = tuple([result if each is not None else None for result, each in zip(results, tensors)])
        return results if self._count != 1 else results[0]


class InplaceFunction(Function):
    """Kept for programs that derive from it."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def _flatten(value):
    """Tensors in nested lists, tuples and dicts, in order."""
    import kindling as torch
    if value is None or isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _flatten(each)]
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _flatten(each)]
    raise ValueError(f"Auto nesting doesn't know how to process an input object of type {type(value).__name__}. Accepted types: Tensors, "
                     "or lists/tuples of them")


def _rebuild(flat, like):
    import kindling as torch
    if like is None or isinstance(like, torch.Tensor):
        return next(flat)
    if isinstance(like, dict):
        return {key: _rebuild(flat, each) for key, each in like.items()}
    return type(like)([_rebuild(flat, each) for each in like])


class NestedIOFunction(Function):
    """A Function whose arguments and results may be nested lists of tensors."""

    @classmethod
    def apply(cls, *args):
        held = {}

        class Flat(Function):
            @staticmethod
            def forward(ctx, *flat):
                ctx.inner = held["ctx"] = ctx
                result = cls.forward_extended(ctx, *_rebuild(iter(flat), args))
                held["result"] = result
                return tuple(_flatten(result))

            @staticmethod
            def backward(ctx, *grads):
                result = cls.backward_extended(ctx, *_rebuild(iter(grads), held["result"] if isinstance(held["result"], tuple) else (held["result"],)))
                return tuple(_flatten(result))
        flat = Flat.apply(*_flatten(args))
        return _rebuild(iter(flat if isinstance(flat, tuple) else (flat,)), held["result"])

    @staticmethod
    def forward_extended(ctx, *args):
        raise NotImplementedError

    @staticmethod
    def backward_extended(ctx, *grads):
        raise NotImplementedError
