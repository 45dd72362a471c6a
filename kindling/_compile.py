"""``torch.compile``: checks what it is given; inside a call of what it gives, loops are put off and fused (graph/README.md)."""

# Names accepted by backend=, with PyTorch's tags.
BACKENDS = {
    "inductor": (),
    "cudagraphs": (),
    "openxla": (),
    "tvm": (),
    "eager": ("debug",),
    "eager_noexcept": ("debug",),
    "eager_debug": ("debug",),
    "pre_dispatch_eager": ("debug",),
    "aot_eager": ("debug",),
    "aot_eager_decomp_partition": ("debug",),
    "aot_ts": ("debug",),
}
FUNCTIONS = {}      # of those that a program or a package has brought, by their names
# What a mode stands for, as options.
MODES = {
    "default": {},
    "lite": {"fallback_by_default": True, "selective_decompose": True, "reorder_for_peak_memory": False,
             "reorder_for_compute_comm_overlap": False, "triton.reorder_for_reducing_graph_partitions": False,
             "use_pre_grad_passes": False, "use_joint_graph_passes": False, "use_post_grad_passes": False, "use_dce": False,
             "allow_buffer_reuse": False},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


class InvalidMode(ValueError, RuntimeError):
    """A mode that ``torch.compile`` does not know. PyTorch raises its RuntimeError for that, at the first call."""


def _normalize_mode(mode):
    """The name of a mode given as a string or a member of :class:`torch.CompileMode`; None for None.

    Raises ValueError, which lists the names, for anything else.
    """
    if mode is None:
        return None
    name = getattr(mode, "value", mode)
    if isinstance(name, str) and name in MODES:
        return str(name)
    raise InvalidMode(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")


def _options(options):
    """Options by their names with underscores; RuntimeError for a name or a type that PyTorch's compiler does not know."""
    if not options:
        return {}
    from kindling._compiling.options import OPTIONS
    known = {}
    for line in OPTIONS.replace("\n ", " ").splitlines():
        kind, *names = line.split()
        known.update(dict.fromkeys(names, kind))
    checked = {}
    for key, value in options.items():
        if not isinstance(key, str):
            raise TypeError(f"names of options are strings, not {type(key).__name__}: {key!r}")
        if key in ("guard_filter_fn", "use_aoti"):
            continue
        name = key.replace("-", "_")
        kind = known.get(name)
        if kind is None:
            import difflib
            near = difflib.get_close_matches(name, known, 3)
            raise RuntimeError(f"Unexpected optimization option {key}, known options are {near or sorted(known)}"
                               + (", and others" if near else ""))
        if kind != "*" and not isinstance(value, {"bool": bool, "int": int, "float": float, "str": str}[kind]):
            raise RuntimeError(f"Unexpected type of attr {key}, got {type(value).__name__} should be {kind}")
        checked[name] = value
    return checked


class Strategy:
    """How a function is to be compiled: backend, mode, options and whether sizes vary. Equal when all of that is.

    Those that fuse are alike.
    """

    def __init__(self, backend="inductor", mode=None, options=None, dynamic=None, name=None):
        self.backend, self.dynamic, self.name = backend, dynamic, name
        self.mode = None
        self.config = {}
        if callable(backend):      # modes and options of a backend of one's own are its own affair
            self.mode, self.config = mode, dict(options or {})
        else:
            self.mode = _normalize_mode(mode)
            self.config = {**MODES[self.mode or "default"], **(_options(options) if backend == "inductor" else options or {})}

    @property
    def fuses(self):
        """Whether loops are put off and fused; the backends for finding faults run eagerly, and so does one of the program's own."""
        return self.backend in ("native", "inductor", "cudagraphs", "openxla", "tvm")

    def around(self, function, fullgraph):
        """`function` as a compiled call."""
        from kindling._C import _compiled
        backend = self.backend if callable(self.backend) else FUNCTIONS.get(self.backend)
        if backend is None or self.fuses:
            return _compiled(function, 0 if self.fuses else 1, fullgraph)
        from kindling._compiling.backend import Compiler
        keywords = {"mode": self.mode} if self.mode not in (None, "default") else {}
        if self.config:
            keywords["options"] = self.get_compiler_config()
        compiler = Compiler(backend, keywords)
        compiler.dynamic = self.dynamic is True

        def captured(*arguments, **keywords):
            return compiler(function, arguments, keywords)
        return _compiled(captured, 1, fullgraph)

    @property
    def compiler_name(self):
        return self.backend if isinstance(self.backend, str) else getattr(self.backend, "__name__", type(self.backend).__name__)

    def __eq__(self, other):
        return isinstance(other, Strategy) and (self.backend, self.config, self.dynamic, self.name, callable(self.backend) and self.mode) == (
            other.backend, other.config, other.dynamic, other.name, callable(other.backend) and other.mode)

    def __hash__(self):
        return hash((self.compiler_name, self.dynamic, self.name))

    def __repr__(self):
        return f"Strategy({self.compiler_name!r}, options={self.config}, dynamic={self.dynamic})"

    def get_compiler_config(self):
        """The options, those of the mode included."""
        return dict(self.config)

    def reset(self):
        """Nothing: there is no compiled code."""

    def __call__(self, model, inputs=(), **keywords):
        """What serves in the place of ``model``: itself."""
        return model


def _TorchCompileInductorWrapper(mode, options, dynamic, name=None):
    return Strategy("inductor", mode, options, dynamic, name)


def _TorchCompileWrapper(backend, mode, options, dynamic):
    return Strategy(backend, mode, options, dynamic)


def find_backend(name):
    """The function of a backend that a program or an installed package has brought; None for those that are ours.

    Raises InvalidBackend for a name that nobody has. Packages say theirs as entry points of the group ``torch_dynamo_backends``.
    """
    if name not in BACKENDS:
        from importlib.metadata import entry_points
        found = [each for each in entry_points(group="torch_dynamo_backends") if each.name == name]
        if not found:
            from kindling._dynamo.exc import InvalidBackend
            raise InvalidBackend(name)
        BACKENDS[name], FUNCTIONS[name] = (), found[0].load()
    return FUNCTIONS.get(name)


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    shapes_spec=None,
):
    """Returns ``model`` (a function or a Module) ready to be called; without it, a decorator.

    ``mode``: a name or a member of :class:`torch.CompileMode`; ``options``: by name, as PyTorch's compiler has them;
    ``backend``: a name, or a function of one's own. Inside a call, loops over elements are put off, and run fused when a value is
    needed or the call ends; results are those of the eager call, bit for bit. Nothing is traced. Backends for finding faults
    (``"eager"``, ``"aot_eager"``, ...) and functions of one's own run eagerly. Arguments are checked here, never later.

    Raises ValueError for an unknown ``mode``, RuntimeError for an unknown ``backend`` or option, a value of the wrong type, or
    ``mode`` and ``options`` together, TypeError for other wrong types, and AssertionError for a ``model`` that cannot be called.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if options is not None and not hasattr(options, "items"):
        raise TypeError(f"options must be a dict, not {type(options).__name__}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    if isinstance(backend, str):
        find_backend(backend)
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a name or a function, not {type(backend).__name__}")
    strategy = backend if isinstance(backend, Strategy) else Strategy(backend or "inductor", mode, options, dynamic, name)
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, dynamic=dynamic, backend=strategy, name=name, disable=disable,
            recompile_limit=recompile_limit, isolate_recompiles=isolate_recompiles, shapes_spec=shapes_spec
        )
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    from kindling import nn

    if isinstance(model, nn.Module):
        compiled = _optimized_module()(model)
        compiled._kindling_compile_with(None if disable else strategy, fullgraph)
        return compiled
    if isinstance(model, type):
        return model

    import functools

    if disable:
        @functools.wraps(model)
        def compiled(*arguments, **keywords):
            return model(*arguments, **keywords)
    else:
        compiled = functools.update_wrapper(strategy.around(model, fullgraph), model)
    compiled._torchdynamo_orig_callable = model
    compiled._kindling_strategy = strategy
    return compiled


def _optimized_module():
    """The class of compiled modules, made at the first use so that importing this file does not import nn."""
    global OptimizedModule
    if OptimizedModule is None:
        made = _make_optimized_module()
        OptimizedModule = OptimizedModule or made       # another thread may have been here meanwhile
    return OptimizedModule


def _make_optimized_module():
    from kindling import nn

    class OptimizedModule(nn.Module):
        """A module under ``torch.compile``; the original is ``_orig_mod``, and its attributes show through."""

        def __init__(self, mod):
            super().__init__()
            self._orig_mod = mod
            self.training = mod.training
            self._kindling_compile_with(Strategy(), False)

        def _kindling_compile_with(self, strategy, fullgraph):
            """Says how calls are compiled; None: they are not."""
            values = {"_kindling_strategy": strategy, "_kindling_whole": fullgraph,
                      "_kindling_call": strategy.around(self._orig_mod, fullgraph) if strategy is not None else self._orig_mod}
            for name, value in values.items():
                object.__setattr__(self, name, value)

        def __getattr__(self, name):
            if name == "_orig_mod":
                return self._modules["_orig_mod"]
            return getattr(self._orig_mod, name)

        def __setattr__(self, name, value):
            if name in ("_orig_mod", "training") or name.startswith("_") or name in type(self).__dict__:
                super().__setattr__(name, value)
            else:
                setattr(self._orig_mod, name, value)

        def __delattr__(self, name):
            delattr(self._orig_mod, name)

        def __len__(self):
            if not hasattr(type(self._orig_mod), "__len__"):
                raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")
            return len(self._orig_mod)

        def __bool__(self):
            return bool(self._orig_mod)

        def __reduce__(self):
            return (_restore, (self._orig_mod, self._kindling_strategy, self._kindling_whole))

        def forward(self, *arguments, **keywords):
            return self._kindling_call(*arguments, **keywords)

    OptimizedModule.__qualname__ = "OptimizedModule"
    return OptimizedModule


OptimizedModule = None


def _restore(module, strategy=None, fullgraph=False):
    compiled = _optimized_module()(module)
    compiled._kindling_compile_with(strategy, fullgraph)
    return compiled


def apart(fn=None, recursive=True, *, reason=None, wrapping=True):
    """``torch.compiler.disable``: `fn` is called outside of any compiled call that is open; also a decorator.

    Loops are not put off in it, and `torch.compiler.is_compiling()` is False. In a call with fullgraph=True it raises
    ``torch._dynamo.exc.Unsupported``. Modules and classes are given back as they are.
    """
    if fn is None:
        return lambda function: apart(function, recursive)
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    from kindling import nn
    if isinstance(fn, (type, nn.Module)):
        return fn
    import functools

    from kindling._C import _compiled
    apart_from_it = functools.update_wrapper(_compiled(getattr(fn, "_torchdynamo_orig_callable", fn), 2, False), fn)
    apart_from_it._torchdynamo_disable, apart_from_it._torchdynamo_orig_callable = True, fn
    return apart_from_it


def _disable_dynamo(fn=None, recursive=True):
    """`apart`, as parts of PyTorch call it."""
    return apart(fn, recursive)
