"""``torch._dynamo``: what programs say to PyTorch's compiler. Functions run as they are, so marks give the function itself."""
import kindling
from kindling import _eagerly
from kindling.compiler import is_compiling, list_backends, set_stance  # noqa: F401

for _name in ("allow_in_graph assume_constant_result disable disallow_in_graph dont_skip_tracing forbid_in_graph nonstrict_trace "
              "disable_nested_graph_breaks run").split():
    globals()[_name] = _eagerly.mark(_name)
for _name in ("graph_break mark_dynamic maybe_mark_dynamic mark_static mark_static_address override_optimization_hint reset "
              "reset_recompile_user_contexts set_recursion_limit skip_frame step_unsupported mark_unbacked reset_code_caches").split():
    globals()[_name] = _eagerly.nothing(_name)


class _DimRange:
    """A mark that PyTorch's compiler leaves at a tensor, and that comes along into files."""

    def __setstate__(self, state):
        self.dim, self.min, self.max = state


class error_on_graph_break(_eagerly.Block):
    """A block in which a compiler would refuse to break graphs."""


class override_cudagraphs(_eagerly.Block):
    """A block in which graphs of CUDA calls would be on or off."""


def optimize(backend="inductor", *, nopython=False, disable=False, dynamic=None, **options):
    """``torch.compile`` as a decorator."""
    return lambda function: kindling.compile(function, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def optimize_assert(backend, **options):
    """As `optimize`, for a whole function."""
    return optimize(backend, nopython=True)


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False):
    """A decorator: the function would stand for another in compiled code."""
    return lambda function: function


def patch_dynamo_config(arg1=None, arg2=None, **kwargs):
    """A block in which settings of ``torch._dynamo.config`` have other values."""
    return kindling._import("kindling._dynamo.config").patch(arg1, arg2, **kwargs)


def is_dynamo_disable_recursive(method):
    """Whether `disable` marked it: nothing is marked."""
    return None


def lookup_backend(compiler_fn):
    """A backend by its name; RuntimeError if there is none of that name, and no code is made by any."""
    from kindling._compile import BACKENDS, InvalidBackend
    if isinstance(compiler_fn, str):
        if compiler_fn not in BACKENDS:
            raise InvalidBackend(f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available backends.")
        return lambda graph, inputs: graph
    return compiler_fn


def register_backend(compiler_fn=None, name=None, tags=()):
    """Makes a backend known to `torch.compile` by a name, its function's own if none is given."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    from kindling._compile import BACKENDS
    BACKENDS[name or compiler_fn.__name__] = tuple(tags)
    return compiler_fn


def __getattr__(name):
    if name == "OptimizedModule":
        from kindling._compile import _optimized_module
        return _optimized_module()
    if name in ("config", "eval_frame"):
        return kindling._import(f"kindling._dynamo.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
