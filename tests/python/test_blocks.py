"""What PyTorch makes by `contextlib.contextmanager` decorates functions, too; here it may be a class."""
import importlib
import inspect
import sys
import textwrap
import warnings

import kindling
import pytest
from both import same

ARGUMENTS = {
    "torch.autograd.graph.disable_saved_tensors_hooks": ("no",), "torch.nn.attention.sdpa_kernel": (0,), "torch.utils.checkpoint.set_checkpoint_early_stop": (True,),
    "torch.utils.checkpoint.set_checkpoint_debug_enabled": (True,), "torch.optim.swap_in_optimizer_params_and_state": (1, 2, 3), "torch.jit.fuser": ("fuser1",), "torch.jit.optimized_execution": (True,),
}


def blocks():
    """(module, name) of each public name that PyTorch makes of a generator."""
    importlib.import_module("torch")
    for module, space in sorted(sys.modules.items()):
        if module.split(".")[0] == "torch" and not any(part in module for part in ("._", "distributed", "export", "fx.", "onnx")) and inspect.ismodule(space):
            for name, value in sorted(vars(space).items()):
                if (inspect.isfunction(value) and hasattr(value, "__wrapped__") and value.__code__.co_filename.endswith("contextlib.py")
                        and name != "mkdtemp" and not name.startswith("_") and (value.__module__ or "").startswith("torch")):
                    yield module, name


def test_blocks_decorate():
    missing, seen = [], 0
    for module, name in blocks():
        full = f"{module}.{name}"
        try:
            ours = getattr(importlib.import_module("kindling" + module[5:]), name)
            arguments = ARGUMENTS.get(full, ())
            if full == "torch.nn.attention.sdpa_kernel":
                arguments = (kindling.nn.attention.SDPBackend.MATH,)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                block = ours(*arguments)
        except (ImportError, AttributeError, NotImplementedError, TypeError, RuntimeError):
            continue    # not here, refused, or in want of arguments
        seen += 1
        if not callable(block):
            missing.append(full)
    assert not missing and seen > 10, (missing, seen)


@pytest.mark.parametrize("program", [
    """
    @torch.backends.mkldnn.flags(enabled=False)
    def f(): return torch.backends.mkldnn.enabled
    f(), torch.backends.mkldnn.enabled, f(), f.__name__
    """,
    """
    @torch.backends.cudnn.flags(enabled=True, benchmark=True)
    def f(): return torch.backends.cudnn.benchmark
    f(), torch.backends.cudnn.benchmark
    """,
    """
    @torch._tensor_str.printoptions(precision=2)
    def f(depth): return str(torch.tensor([1.23456])) if not depth else f(depth - 1)
    result = f(3), str(torch.tensor([1.23456]))
    """,
    """
    @torch.autograd.graph.allow_mutation_on_saved_tensors()
    def f():
        x = torch.ones(2, requires_grad=True)
        y = x.clone()
        z = y.sin()
        y.mul_(3)
        z.sum().backward()
        return [round(each, 5) for each in x.grad.tolist()]
    f(), f()
    """,
])
def test_decorated_functions_run_in_the_block(program):
    same(textwrap.dedent(program).strip())
