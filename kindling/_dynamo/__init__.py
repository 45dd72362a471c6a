"""``torch._dynamo``: what programs say to PyTorch's compiler. Functions run as they are, so marks give the function itself."""
import sys

import kindling
from kindling import compiler as _compiler
from kindling._common import eagerly as _eagerly
from kindling.compiler import is_compiling, list_backends, set_stance  # noqa: F401

disable = _compiler.disable

for _name in ("allow_in_graph assume_constant_result disallow_in_graph dont_skip_tracing forbid_in_graph nonstrict_trace "
              "disable_nested_graph_breaks run").split():
    globals()[_name] = _eagerly.mark(_name)
for _name in ("mark_dynamic maybe_mark_dynamic mark_static mark_static_address override_optimization_hint "
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


def graph_break(msg=""):
    """Ends the graph that is being made; Unsupported in a compiled call with fullgraph=True."""
    if kindling._C._is_whole():
        from kindling._compiling import breaks as _compile_breaks
        _compile_breaks.refuse_wish(msg)
    if kindling._C._is_compiling():
        from kindling._compiling.backend import end_graph
        end_graph("Call to `torch._dynamo.graph_break()`")


def reset():
    """Forgets what backends of the program's own have made of its functions: they are asked again."""
    if "kindling._compiling.backend" in sys.modules:
        sys.modules["kindling._compiling.backend"].reset()


def explain(f, *extra_args, **extra_kwargs):
    """A function that calls `f` and tells into which graphs a backend would get it, and what ended each (no backend is called).

    `kindling.compiler.explain` tells what the native backend does.

    >>> told = torch._dynamo.explain(lambda x: x.sin() + 1 if x.sum() > 0 else x)(torch.ones(2))
    >>> told.graph_count, told.graph_break_count, told.op_count
    (2, 1, 4)
    """
    from kindling._dynamo.backends.debugging import explain
    return explain(f)(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else explain(f)


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
    """True if `disable` marked it, None otherwise: what it calls is apart as well."""
    return True if getattr(method, "_torchdynamo_disable", False) else None


def __getattr__(name):
    if name == "OptimizedModule":
        from kindling._compile import _optimized_module
        return _optimized_module()
    if name in ("lookup_backend", "register_backend"):
        from kindling._dynamo.backends import registry
        return globals().setdefault(name, getattr(registry, name))
    if name in ("backends", "config", "eval_frame", "exc", "external_utils", "testing", "utils"):
        return kindling._import(f"kindling._dynamo.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
