"""``torch.compiler``: the settings around ``torch.compile``, which traces nothing and makes no code of Python."""

from kindling._common import eagerly as _eagerly
from kindling._C import _is_compiling
from kindling._compile import BACKENDS
from kindling._compile import apart as disable  # noqa: F401

__path__ = []       # its settings are declared in _absent


def compile(*arguments, **keywords):
    """The same as :func:`torch.compile`."""
    from kindling._compile import compile

    return compile(*arguments, **keywords)


def explain(function):
    """See :func:`kindling._compiling.deferred.explain`: what a call records, and what becomes of it."""
    from kindling._compiling.deferred import explain

    return explain(function)


def is_compiling():
    """Whether a call of a compiled function is open in this thread.

    >>> torch.compile(lambda: torch.compiler.is_compiling())(), torch.compiler.is_compiling()
    (True, False)
    """
    return _is_compiling()


is_dynamo_compiling = is_compiling


def is_exporting():
    """False: nothing is being exported."""
    return False


def reset():
    """Forgets what backends of the program's own have made of its functions. Ours keep plans, which fit any call."""
    import kindling
    kindling._import("kindling._dynamo").reset()


def list_backends(exclude_tags=("debug", "experimental")):
    """Names that ``torch.compile(backend=...)`` accepts, but for those with a tag to exclude."""
    return sorted(name for name, tags in BACKENDS.items() if not set(tags) & set(exclude_tags or ()))


# They say something to a compiler; the function is called as it is.
allow_in_graph, assume_constant_result, nested_compile_region, wrap_numpy = map(_eagerly.mark, (
    "allow_in_graph", "assume_constant_result", "nested_compile_region", "wrap_numpy"))
cudagraph_mark_step_begin, set_enable_guard_collectives = map(_eagerly.nothing, ("cudagraph_mark_step_begin", "set_enable_guard_collectives"))


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator: the function would stand for another in compiled code."""
    return lambda function: function


_default_backend = "inductor"


def set_default_backend(backend):
    """The backend that `torch.compile` takes where none is given; None for the first one."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend():
    """The backend that `torch.compile` takes where none is given."""
    return _default_backend


def save_cache_artifacts():
    """None: nothing was compiled."""
    return None


def load_cache_artifacts(serialized_artifacts):
    """None: code is made where it runs, and never read from files."""
    return None


class set_stance:
    """Context (and function) that says how compiled code is to behave; there is none."""

    def __init__(self, stance="default", **options):
        if stance not in ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile",
                          "aot_eager_then_compile"):  # fmt: skip
            raise RuntimeError(f"invalid torch.compile stance {stance!r}")
        self.stance = stance

    def __enter__(self):
        return None

    def __exit__(self, *details):
        return False

    def __call__(self, function):
        return function
