"""``torch.compile``: checks what it is given, and runs the function eagerly until compilation exists."""

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
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_said = False


class InvalidBackend(RuntimeError):
    """A backend that ``torch.compile`` does not know."""


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

    Kindling has no compilation yet: the function runs eagerly, and one line on stderr says so. Arguments are checked
    as they will be then.

    Raises RuntimeError for an unknown ``mode`` or ``backend``, or for ``mode`` and ``options`` together, and
    AssertionError for a ``model`` that cannot be called.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if isinstance(backend, str) and backend not in BACKENDS:
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends."
        )
    if options is not None and not isinstance(options, dict):
        raise RuntimeError(f"options must be a dict, not {type(options).__name__}")
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if not disable:
        _say_once()
    from kindling import nn

    if isinstance(model, nn.Module):
        return _optimized_module()(model)
    if isinstance(model, type):
        return model

    import functools

    @functools.wraps(model)
    def eager(*arguments, **keywords):
        return model(*arguments, **keywords)

    eager._torchdynamo_orig_callable = model
    return eager


def _say_once():
    global _said
    if not _said:
        _said = True
        import sys

        sys.stderr.write("kindling: torch.compile: compilation is not there yet, the program runs eagerly\n")


def _optimized_module():
    """The class of compiled modules, made at the first use so that importing this file does not import nn."""
    global OptimizedModule
    if OptimizedModule is not None:
        return OptimizedModule
    from kindling import nn

    class OptimizedModule(nn.Module):
        """A module under ``torch.compile``; the original is ``_orig_mod``, and its attributes show through."""

        def __init__(self, mod):
            super().__init__()
            self._orig_mod = mod
            self.training = mod.training

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

        def __reduce__(self):
            return (_restore, (self._orig_mod,))

        def forward(self, *arguments, **keywords):
            return self._orig_mod(*arguments, **keywords)

    OptimizedModule.__qualname__ = "OptimizedModule"
    return OptimizedModule


OptimizedModule = None


def _restore(module):
    return _optimized_module()(module)
