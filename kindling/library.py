"""``torch.library``: operators of one's own, registered at run time beside the built-in ones."""
import builtins

from kindling import _C
from kindling._operators import registry as _registry

__all__ = ["Library", "define", "impl", "register_fake", "register_autograd", "register_kernel", "custom_op", "triton_op", "wrap_triton",
           "infer_schema", "opcheck", "get_ctx", "impl_abstract", "register_torch_dispatch", "register_vmap"]

class Library:
    """A namespace of operators: ``Library("mine", "DEF")`` makes one, "FRAGMENT" adds to it, "IMPL" gives operators (built-in ones of
    "aten" as well) kernels for a device or layer. What a library registered goes with ``_destroy()``.

    >>> lib = torch.library.Library("doc_example", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> torch.ops.doc_example.twice(torch.ones(1))
    tensor([2.])
    """

    _spaces = {"aten": "kindling"}

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: " + kind)
        if ns in ("prim", "prims") and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in Library._spaces:
                raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions "
                                   f"in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider using "
                                   f"TORCH_LIBRARY_IMPL (which can be duplicated).  Previous registration of TORCH_LIBRARY was registered at "
                                   f"{Library._spaces[ns]}; latest registration was registered at {_registry.caller()}")
            Library._spaces[ns] = _registry.caller()
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._mine, self._made = [], []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Makes an operator from its schema; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        name, overload = _registry.define(self.ns, schema)
        self._made.append((name, overload))
        if tags:
            _registry.tags[name, overload] = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        return schema.partition("(")[0].strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Gives an operator its function for a dispatch key: "CPU", "Meta", "CompositeImplicitAutograd", "PrivateUse1", ..."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name if isinstance(op_name, str) else op_name.name() if hasattr(op_name, "name") else op_name._qualified_op_name
        if "::" not in name:
            name = f"{self.ns}::{name}"
        if name.partition("::")[0] != self.ns:
            raise RuntimeError(f"{name} is not in the namespace {self.ns} of this library")
        name, overload = _registry.split_name(name)
        if with_keyset:
            from kindling._native_names.keys import DispatchKey, DispatchKeySet
            keys, inner = DispatchKeySet(getattr(DispatchKey, _registry.key_of_device(key), DispatchKey.CPU)), fn

            def fn(*args, **kwargs):
                return inner(keys, *args, **kwargs)
        if overload in _C._overload_names(name):
            key = _registry.add(name, overload, key, fn, self.ns, allow_override)
        else:
            _registry.early.setdefault((name, overload), {})[_registry.key_of_device(key)] = fn, _registry.caller(), self.ns
        self._mine.append((name, overload, key))

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Lets operators that have no kernel on a plug-in's device run on the host, their tensors copied there and back."""
        key = _registry.key_of_device(dispatch_key or self.dispatch_key)
        if key not in ("PrivateUse1", "PrivateUse2", "PrivateUse3"):
            raise NotImplementedError(f"a fallback for {key or 'every key'}: only devices of plug-ins have one")
        if fn is not fallthrough_kernel and fn is not None:
            raise NotImplementedError("a fallback of one's own is not supported: pass None for the one that runs on the host")
        _C._run_private_on_host(int(key[-1]) - 1, True)

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        name, overload = _registry.core(op_name if "::" in op_name else f"{self.ns}::{op_name}")
        _registry.fakes[name, overload] = fn
        _registry.add(name, overload, "Meta", fn, self.ns, True)
        self._mine.append((name, overload, "Meta"))

    def _destroy(self):
        """Takes back what this library defined and registered."""
        for name, overload, key in self._mine:
            if (name, overload) in _registry.registered:
                _registry.add(name, overload, key, None)
        for name, overload in self._made:
            _C._remove_operator(name, overload)
            for table in (_registry.registered, _registry.defined, _registry.fakes, _registry.tags):
                table.pop((name, overload), None)
            _registry.forget(name)
        if self.kind == "DEF":
            Library._spaces.pop(self.ns, None)
        self._mine, self._made = [], []


def fallthrough_kernel():
    """Stands for "no kernel here: go on to the next layer"."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class _scoped_library:
    """A `with` block that has a :class:`Library`, gone at its end."""

    def __init__(self, *arguments, **keywords):
        self.library = Library(*arguments, **keywords)

    def __enter__(self):
        return self.library

    def __exit__(self, *error):
        self.library._destroy()
        return False


def define(qualname, schema=None, *, lib=None, tags=()):
    """``define("mine::name", "(Tensor x) -> Tensor")`` makes an operator."""
    if isinstance(qualname, Library):       # define(lib, schema): a decorator for its function
        name = qualname.define(schema)

        def register(function):
            qualname.impl(name, function, lib or "")
            return function
        return register
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(f"Expected `qualname` to be of the form \"namespace::name\", but got {qualname}. The qualname passed to the "
                         "torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    if schema is None or not schema.lstrip().startswith("("):
        raise ValueError(f"define(qualname, schema, ...): expected schema to look like e.g. \"(Tensor x) -> Tensor\" but got \"{schema}\"")
    if lib is not None:
        lib.define(name + schema, tags=tags)
    else:
        made = _registry.define(namespace, qualname + schema)
        if tags:
            _registry.tags[made] = list(tags) if isinstance(tags, (list, tuple)) else [tags]


def impl(qualname, types, func=None, *, lib=None):
    """Gives an operator its function for device types ("cpu", "default") or dispatch keys. Without a function, a decorator."""
    if isinstance(qualname, Library):       # impl(lib, name, key): a decorator
        def of_library(function):
            qualname.impl(types, function, func or "")
            return function
        return of_library

    def register(function):
        full = _name_of(qualname)
        name, overload = _registry.split_name(full)
        defined = overload in _C._overload_names(name)
        if not defined and "::" not in name:
            _registry.core(full)      # of torch's own, which are all there: an error
        for key in _registry.keys(types):
            if lib is not None:
                lib.impl(f"{name}.{overload}" if overload else name, function, key)
            elif defined:
                _registry.add(name, overload, key, function, name.partition("::")[0])
            else:
                _registry.early.setdefault((name, overload), {})[_registry.key_of_device(key)] = function, _registry.caller(), name.partition("::")[0]
        return function
    return register if func is None else register(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Gives an operator its function for device types. Without a function, a decorator."""
    return impl(op, device_types, func, lib=lib)


def _name_of(op):
    if isinstance(op, CustomOp):
        return op._qualname
    return op if isinstance(op, str) else op.name() if hasattr(op, "name") else op._qualified_op_name


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Gives an operator the function that says its result's shape and dtype from meta tensors. Without a function, a decorator."""
    def register(function):
        name, overload = _registry.core(_name_of(op))
        _registry.fakes[name, overload] = function
        _registry.add(name, overload, "Meta", function, name.partition("::")[0], True)
        return function
    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The old name of :func:`register_fake`. Deprecated."""
    from kindling._common.warn import once

    once("torch.library.impl_abstract", "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we "
         "will remove `torch.library.impl_abstract` in a future version of PyTorch.", FutureWarning, 2)
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Gives an operator its backward function: ``backward(ctx, *grads)``, and what it saves: ``setup_context(ctx, inputs, output)``."""
    name, overload = _registry.core(_name_of(op))
    from kindling._operators import custom as _custom

    _registry.add(name, overload, "Autograd", _custom.autograd_kernel(name, overload, backward, setup_context), name.partition("::")[0], True)


class CustomOp:
    """An operator made by :func:`custom_op`; calling it calls the operator."""

    def __init__(self, qualname, function, schema):
        self._qualname = qualname
        self._name, self._namespace = qualname.partition("::")[2], qualname.partition("::")[0]
        self._init_fn = function
        self._schema_text = schema
        self.__name__ = self._name
        self.__doc__ = function.__doc__
        self._disabled = {}
        self._found, self._at = None, -1

    @property
    def _opoverload(self):
        from kindling._ops import ops

        return getattr(getattr(ops, self._namespace), self._name).default

    def __call__(self, /, *args, **kwargs):
        if self._at != _registry.changes:
            self._found, self._at = self._opoverload, _registry.changes
            self._call = self._found._op
        return self._call(*args, **kwargs)

    def register_fake(self, function):
        return register_fake(self, function)

    def register_kernel(self, device_types, function=None, /):
        from kindling._operators import custom as _custom

        def register(function):
            name, overload = _registry.core(self._qualname)
            for key in _registry.keys(device_types):
                _registry.add(name, overload, key, _custom.checked(self._qualname, function), self._namespace, True)
            return function
        return register if function is None else register(function)

    def register_autograd(self, backward, /, *, setup_context=None):
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func=None):
        return register_vmap(self, func)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def set_kernel_enabled(self, device_type, enabled=True):
        """A `with` block in which a device type's own kernel is (not) used; without it the function given at first runs."""
        return _Enabled(self, _registry.keys(device_type)[0], enabled)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


CustomOpDef = CustomOp      # PyTorch's name of the class


class _Enabled:
    def __init__(self, op, key, enabled):
        self.name, self.key = _registry.core(op._qualname), key
        self.kernel = _registry.registered[self.name].get(key) if not enabled else None

    def __enter__(self):
        if self.kernel:
            _C._add_kernel(*self.name, _registry.LAYERS.get(self.key, _registry.OTHER), None)

    def __exit__(self, *error):
        if self.kernel:
            _C._add_kernel(*self.name, _registry.LAYERS.get(self.key, _registry.OTHER), self.kernel[0])
        return False


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a Python function whose parameters are annotated; a decorator without ``fn``.

    >>> @torch.library.custom_op("doc_example::thrice", mutates_args=())
    ... def thrice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 3
    """
    def make(function):
        from kindling._operators import custom as _custom

        text = schema or infer_schema(function, mutates_args=mutates_args)
        namespace, separator, short = name.partition("::")
        if not separator:
            raise ValueError(f"Expected `qualname` to be of the form \"namespace::name\", but got {name}. The qualname passed to the "
                             "torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
        if _C._overload_names(name):         # defined again (a cell of a notebook): the new one stays
            _C._remove_operator(name, "")
            _registry.forget(name)
        made = _registry.define(namespace, name + text)
        if tags:
            _registry.tags[made] = list(tags)
        for key in _registry.keys(device_types):
            _registry.add(*made, key, _custom.checked(name, function), namespace)
        if "Tensor" in text.partition("->")[0]:
            _registry.add(*made, "Meta", _custom.no_fake(name), namespace)
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
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError("infer_schema(func): We do not support positional-only args, varargs, or varkwargs. Got func with signature "
                             f"{signature})")
        if parameter.name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with signature {signature})")
        kind = text(hints[parameter.name])
        if mutates_args == "unknown" and kind.startswith("Tensor") or parameter.name in mutates_args:
            kind = kind.replace("Tensor", f"Tensor({next(letters)}!)", 1)
        default = ""
        if parameter.default is not inspect.Parameter.empty:
            value = parameter.default
            default = "=" + (f'"{value}"' if isinstance(value, str) else str(value).removeprefix("torch."))
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


def opcheck(op, args, kwargs=None, *, test_utils=("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
            raise_exception=True, atol=None, rtol=None):
    """Tests an operator with samples: {test: "SUCCESS" or the error}.

    test_schema: only what the schema says is written, and results share no memory with arguments; test_autograd_registration: where an
    argument requires grad, there is a backward; test_faketensor: meta tensors give the same shapes and dtypes;
    test_aot_dispatch_dynamic: the gradients agree with those of the operator taken apart.

    Raises :class:`torch.testing._internal.optests.generate_tests.OpCheckError`'s stand-in, OpCheckError, unless ``raise_exception=False``.
    """
    from kindling._operators import custom as _custom

    if isinstance(op, CustomOp):
        op = op._opoverload
    return _custom.opcheck(op, args, kwargs or {}, [test_utils] if isinstance(test_utils, str) else test_utils, raise_exception, atol, rtol)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Not supported: a mode's own ``__torch_dispatch__`` sees the operator."""
    raise NotImplementedError("register_torch_dispatch is not supported: the class's own __torch_dispatch__ sees the operator")


def register_vmap(op, func=None, /, *, lib=None):
    """Keeps the rule, which is not called: :func:`torch.vmap` calls the operator slice by slice."""
    def register(function):
        _vmaps[_registry.core(_name_of(op))] = function
        return function
    return register if func is None else register(func)


_vmaps = {}
