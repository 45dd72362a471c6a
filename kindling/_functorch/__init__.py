"""Where PyTorch keeps transforms of functions; packages name its modules."""
import kindling

_MODULES = ("apis", "autograd_function", "batch_norm_replacement", "deprecated", "eager_transforms", "functional_call", "make_functional", "pyfunctorch",
            "python_key", "utils", "vmap")


def __getattr__(name):
    if name in _MODULES:
        return kindling._import(f"kindling._functorch.{name}")
    raise AttributeError(f"module 'torch._functorch' has no attribute {name!r}")
