"""``torch.library``: operators of one's own, registered at run time beside the built-in ones."""
import builtins

from kindling import _C

__all__ = ["Library", "define", "impl", "register_fake", "register_autograd", "register_kernel", "custom_op", "triton_op", "wrap_triton",
           "infer_schema", "opcheck", "get_ctx", "impl_abstract", "register_torch_dispatch", "register_vmap"]

_entries = {}    # (name, overload) -> _Entry


class _Entry:
    """The implementations of one operator, by dispatch key."""

    def __init__(self, name, overload):
        self.name, self.overload = name, overload
        self.kernels = {}
        self.autograd = None
        self.fake = None
        self.below = False

    def __call__(self, *args, **kwargs):
        meta = any(isinstance(a, _C.Tensor) and a.is_meta for a in _each(args, kwargs))
        if self.autograd is not None and _wants_grad(args, kwargs):
            return self.autograd(self, args, kwargs)
        return self.run(meta, args, kwargs)

    def run(self, meta, args, kwargs):
        kernels = self.kernels
        if "Autograd" in kernels and not self.below:
            self.below = True              # what it calls again by the same name is the layer below
            try:
                return kernels["Autograd"](*args, **kwargs)
            finally:
                self.below = False
        if meta:
            function = kernels.get("Meta") or self.fake
        else:
            function = kernels.get("CPU")
        function = (function or kernels.get("CompositeExplicitAutograd") or kernels.get("CompositeImplicitAutograd") or
                    kernels.get("BackendSelect"))
        if function is None:
            where = "Meta" if meta else "CPU"
            raise NotImplementedError(f"Could not run '{self.name}' with arguments from the '{where}' backend. This could be because the "
                                      "operator doesn't exist for this backend, or was omitted during the selective/custom build process")
        return function(*args, **kwargs)


def _each(args, kwargs):
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _wants_grad(args, kwargs):
    return _C.is_grad_enabled() and any(isinstance(a, _C.Tensor) and a.requires_grad for a in _each(args, kwargs))


def _split_name(qualname):
    name, _, overload = qualname.partition(".")
    return name, overload


def _entry(qualname):
    name, overload = _split_name(qualname)
    entry = _entries.get((name, overload)) or _entries.get((name, "" if overload == "default" else overload))
    if entry is None:
        raise RuntimeError(f"operator {qualname} does not exist")
    return entry


def _define(namespace, schema):
    schema = schema.strip()
    head = schema.partition("(")[0]
    if "::" not in head:
        schema = f"{namespace}::{schema}"
        head = f"{namespace}::{head}"
    name, overload = _split_name(head)
    entry = _Entry(name, overload)
    _C._register_operator(schema, entry, False)
    _entries[name, overload] = entry
    from kindling._ops import ops

    space = getattr(ops, namespace)
    space.__dict__.pop(name.partition("::")[2], None)
    return entry


class Library:
    """A namespace of operators: ``Library("mine", "DEF")`` makes one, "IMPL" or "FRAGMENT" adds to it.

    >>> lib = torch.library.Library("doc_example", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> torch.ops.doc_example.twice(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "prims") and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Makes an operator from its schema; returns its name."""
        _define(self.ns, schema)
        return schema.partition("(")[0].strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Gives an operator its function for a dispatch key: "CPU", "Meta", "CompositeImplicitAutograd", ..."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name if isinstance(op_name, str) else op_name._raw_name() if hasattr(op_name, "_raw_name") else str(op_name)
        if not isinstance(op_name, str):
            name = op_name.name() if hasattr(op_name, "name") else op_name._qualified_op_name
        if "::" not in name:
            name = f"{self.ns}::{name}"
        if name.startswith("aten::"):
            raise NotImplementedError("implementations of built-in operators cannot be replaced")
        entry = _entry(name)
        entry.kernels[key] = fn
        if key in ("CompositeImplicitAutograd", "Autograd", "AutogradCPU"):
            if key == "AutogradCPU":
                entry.kernels["Autograd"] = fn
            _C._set_composite(entry.name, entry.overload, True)

    def _register_fake(self, op_name, fn, _stacklevel=1):
        _entry(op_name if "::" in op_name else f"{self.ns}::{op_name}").fake = fn

    def _destroy(self):
        pass


def define(qualname, schema=None, *, lib=None, tags=()):
    """``define("mine::name", "(Tensor x) -> Tensor")``; without a schema, a decorator is not supported."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, separator, _ = qualname.partition("::")
    if not separator:
        raise ValueError(f"Expected qualname to be of the form \"namespace::name\", got {qualname}")
    _define(namespace, qualname + schema)


def _keys(types):
    if types is None or types == "default":
        return ["CompositeExplicitAutograd"]
    names = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}
    return [names.get(t, t) for t in ([types] if isinstance(types, str) else types)]


def impl(qualname, types, func=None, *, lib=None):
    """Gives an operator its function for device types ("cpu", "default") or dispatch keys. Without a function, a decorator."""
    def register(function):
        entry = _entry(qualname)
        for key in _keys(types):
            entry.kernels[key] = function
            if key == "CompositeImplicitAutograd":
                _C._set_composite(entry.name, entry.overload, True)
        return function
    return register if func is None else register(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Gives an operator its function for device types. Without a function, a decorator."""
    return impl(_name_of(op), device_types, func)


def _name_of(op):
    if isinstance(op, CustomOp):
        return op._qualname
    return op if isinstance(op, str) else op.name()


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Gives an operator the function that says its result's shape and dtype from meta tensors. Without a function, a decorator."""
    def register(function):
        _entry(_name_of(op)).fake = function
        return function
    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Gives an operator its backward function: ``backward(ctx, *grads)``, and what it saves: ``setup_context(ctx, inputs, output)``."""
    import kindling as torch

    entry = _entry(_name_of(op))

    def forward_call(entry, args, kwargs):
        class Wrapped(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *inputs):
                output = entry.run(False, inputs, kwargs)
                if setup_context is not None:
                    if kwargs:
                        setup_context(ctx=ctx, inputs=inputs, keyword_only_inputs=kwargs, output=output)
                    else:
                        setup_context(ctx=ctx, inputs=inputs, output=output)
                return output

            @staticmethod
            def backward(ctx, *grads):
                return backward(ctx, *grads)

        return Wrapped.apply(*args)

    entry.autograd = forward_call
    _C._set_composite(entry.name, entry.overload, True)


class CustomOp:
    """An operator made by :func:`custom_op`; calling it calls the operator."""

    def __init__(self, qualname, function, schema):
        self._qualname = qualname
        self._init_fn = function
        self._schema_text = schema
        self._namespace, _, self._name = qualname.partition("::")
        self.__name__ = self._name
        self.__doc__ = function.__doc__

    @property
    def _opoverload(self):
        from kindling._ops import ops

        return getattr(getattr(ops, self._namespace), self._name).default

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def register_fake(self, function):
        return register_fake(self, function)

    def register_kernel(self, device_types, function=None, /):
        return register_kernel(self, device_types, function)

    def register_autograd(self, backward, /, *, setup_context=None):
        register_autograd(self, backward, setup_context=setup_context)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a Python function whose parameters are annotated; a decorator without ``fn``.

    >>> @torch.library.custom_op("doc_example::thrice", mutates_args=())
    ... def thrice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 3
    """
    def make(function):
        namespace, separator, _ = name.partition("::")
        if not separator:
            raise ValueError(f"Expected name to be of the form \"namespace::name\", got {name}")
        text = schema or infer_schema(function, mutates_args=mutates_args)
        entry = _define(namespace, name + text)
        for key in _keys(device_types):
            entry.kernels[key] = function
        return CustomOp(name, function, text)
    return make if fn is None else make(fn)


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """As :func:`custom_op`: there is no Triton."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel, /):
    raise RuntimeError("there is no Triton")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema text of a function from its annotations: "(Tensor x, float y=1.) -> Tensor"."""
    import inspect
    import typing

    import kindling as torch

    names = {torch.Tensor: "Tensor", int: "SymInt", float: "float", builtins.bool: "bool", str: "str", torch.dtype: "ScalarType",
             torch.device: "Device"}

    def text(kind):
        if kind in names:
            return names[kind]
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Union or type(kind).__name__ == "UnionType":
            inner = [a for a in arguments if a is not type(None)]
            if set(inner) == {int, float, builtins.bool} or set(inner) == {int, float}:
                return "Scalar" + ("?" if len(inner) < len(arguments) else "")
            if len(inner) == 1 and len(inner) < len(arguments):
                return text(inner[0]) + "?"
        if origin in (list, tuple) or (origin is not None and origin.__module__ == "collections.abc"):
            return text(arguments[0]) + "[]"
        raise ValueError(f"infer_schema(func): Parameter has unsupported type {kind}")

    hints = typing.get_type_hints(prototype_function)
    signature = inspect.signature(prototype_function)
    parameters, star, letters = [], False, iter("abcdefghij")
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        if parameter.name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {parameter.name} must have a type annotation.")
        kind = text(hints[parameter.name])
        if mutates_args == "unknown" and kind.startswith("Tensor") or parameter.name in mutates_args:
            kind = kind.replace("Tensor", f"Tensor({next(letters)}!)", 1)
        default = ""
        if parameter.default is not inspect.Parameter.empty:
            value = parameter.default
            default = "=" + (f'"{value}"' if isinstance(value, str) else str(value))
        parameters.append(f"{kind} {parameter.name}{default}")
    result = hints.get("return", type(None))
    if result is type(None):
        returns = "()"
    elif typing.get_origin(result) is tuple:
        returns = "(" + ", ".join(text(each) for each in typing.get_args(result)) + ")"
    else:
        returns = text(result)
    return f"{op_name or ''}({', '.join(parameters)}) -> {returns}"


def get_ctx():
    """What a fake function may ask for new sizes: shapes that depend on values are not supported."""
    raise RuntimeError("get_ctx() can only be called inside of a fake impl")


def opcheck(op, args, kwargs=None, *, test_utils=(), raise_exception=True, atol=None, rtol=None):
    """Calls the operator once; returns {"test_schema": "SUCCESS"}."""
    op(*args, **(kwargs or {}))
    return {"test_schema": "SUCCESS"}


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    raise NotImplementedError("register_torch_dispatch is not supported")


def register_vmap(op, func=None, /, *, lib=None):
    raise NotImplementedError("register_vmap: there is no vmap yet")
