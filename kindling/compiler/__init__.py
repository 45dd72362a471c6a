"""``torch.compiler``: the settings around ``torch.compile``, which runs eagerly until compilation exists."""

from kindling._compile import BACKENDS


def compile(*arguments, **keywords):
    """The same as :func:`torch.compile`."""
    from kindling._compile import compile

    return compile(*arguments, **keywords)


def is_compiling():
    """False: nothing is being compiled."""
    return False


def is_dynamo_compiling():
    """False: nothing is being compiled."""
    return False


def is_exporting():
    """False: nothing is being exported."""
    return False


def reset():
    """Forget compiled code; there is none."""


def list_backends(exclude_tags=("debug", "experimental")):
    """Names that ``torch.compile(backend=...)`` accepts, but for those with a tag to exclude."""
    return sorted(name for name, tags in BACKENDS.items() if not set(tags) & set(exclude_tags or ()))


def disable(fn=None, recursive=True, *, reason=None):
    """Mark a function that is not to be compiled; also as a decorator with arguments."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn):
    """The function, which is called as it is."""
    return fn


def assume_constant_result(fn):
    """The function, which is called as it is."""
    return fn


def cudagraph_mark_step_begin():
    """Nothing: there are no CUDA graphs."""


class set_stance:
    """Context (and function) that says how compiled code is to behave; everything runs eagerly anyway."""

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
