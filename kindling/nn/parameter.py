"""Parameter, Buffer and their uninitialised forms: tensors that a Module registers when they are assigned to it."""
import kindling as torch

__all__ = ["Parameter", "UninitializedParameter", "is_lazy", "Buffer", "UninitializedBuffer",
           "UninitializedTensorMixin"]

Tensor = torch.Tensor
_no_torch_function = torch._C._disabled_torch_function_impl


class _ParameterMeta(type(Tensor)):
    # A tensor subclass other than Parameter can be marked as one (`_is_param`), so that it keeps its own class.
    def __instancecheck__(cls, instance):
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return type.__instancecheck__(cls, instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes one of a Module's parameters when it is assigned as its attribute.

    Parameter(data=None, requires_grad=True) shares `data`'s memory. RuntimeError if `data` is of a tensor subclass
    whose detach() returns another class.

    >>> Parameter(torch.zeros(2)).requires_grad
    True
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        kind = type(data)
        if kind is Tensor or kind is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        plain = data.detach().requires_grad_(requires_grad)
        if type(plain) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(plain).__name__} was found instead. To use the type "
                "as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation.")
        plain._is_param = True
        return plain

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.data.clone(memory_format=torch.preserve_format), self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __repr__(self):
        # As a plain tensor, whose class does not show.
        return f"Parameter containing:\n{Tensor._make_subclass(Tensor, self.data, self.requires_grad)!r}"

    def __reduce_ex__(self, protocol):
        # Hooks are not saved: they are rarely picklable and never were part of a parameter's file form.
        return torch._utils._reduce_parameter(self, protocol)

    __torch_function__ = _no_torch_function


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, instance):
        if cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return type.__instancecheck__(cls, instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes one of a Module's buffers when it is assigned as its attribute.

    Buffer(data=None, *, persistent=True): a buffer that is not persistent stays out of the module's state_dict.
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        tensor = data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor

    __torch_function__ = _no_torch_function


class UninitializedTensorMixin:
    """What the two uninitialised classes share: nearly every access is refused until `materialize` gives a shape."""

    def materialize(self, shape, device=None, dtype=None):
        """Allocates memory of this shape and turns the object into its initialised class, in place."""
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes.")

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`.")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return (type(self), (self.requires_grad,))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # Moving and converting must work before the shape is known; `data` and a few properties come along.
        if (getattr(func, "__name__", None) in _ALLOWED_METHODS
                or type(func).__name__ in ("method-wrapper", "getset_descriptor", "property")
                and getattr(func, "__name__", "") in ("__get__", "__set__")):
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions")


_ALLOWED_METHODS = frozenset((
    "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short", "int",
    "long", "cuda", "cpu", "to", "get_device", "_has_compatible_shallow_copy_type"))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet; the Lazy modules make and later materialise it."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = copied
        return copied


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        tensor = Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


def is_lazy(param) -> bool:
    """Whether this parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)
