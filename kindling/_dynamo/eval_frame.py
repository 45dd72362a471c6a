"""What programs ask ``torch._dynamo.eval_frame`` for."""
from kindling import _dynamo
from kindling._compile import _optimized_module
from kindling._dynamo import disable, optimize  # noqa: F401

innermost_fn = _dynamo._eagerly.mark("innermost_fn")


def is_dynamo_supported():
    """Whether functions can be compiled: not yet."""
    return False


is_inductor_supported = is_dynamo_supported


def __getattr__(name):
    if name == "OptimizedModule":
        return _optimized_module()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
