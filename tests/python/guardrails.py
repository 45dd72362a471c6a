"""The facade's guardrails, each with its error text, as a program sees them that says `import torch`.

Run by test_guardrails.py, under `kindling run -m pytest`.
"""
import os
import pickle
import re
import sys
import warnings

import pytest
import torch


def refused(kind, text, call):
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_this_runs_on_kindling():
    assert "kindling" in torch.__version__ and torch.__name__ == "torch" and sys.modules["torch"] is torch


# ---- symbolic scalars and checks

def test_symbolic_scalars():
    assert (torch.SymInt(7) // 2, torch.SymInt(7) % 4, 2 ** torch.SymInt(3), -torch.SymFloat(2.5)) == (3, 3, 8, -2.5)
    assert (torch.sym_int(3.9), torch.sym_float(3), torch.sym_not(True), torch.sym_ite(False, 1, 2)) == (3, 3.0, False, 2)
    assert (torch.sym_max(1, 2.5), torch.sym_min(1, 2.5), torch.sym_sum([1, 2, 3]), torch.sym_sqrt(9)) == (2.5, 1.0, 6, 3.0)
    refused(AssertionError, "expected an int or a float, got <class 'str'>", lambda: torch.sym_max("a", 1))
    refused(AssertionError, "expected SymBool or bool, got <class 'int'>", lambda: torch.sym_ite(1, 2, 3))
    refused(AssertionError, "type mismatch", lambda: torch.sym_ite(True, 2, 3.0))


@pytest.mark.parametrize("name, kind", [("_check", RuntimeError), ("_check_index", IndexError), ("_check_value", ValueError),
                                        ("_check_type", TypeError), ("_check_not_implemented", NotImplementedError)])
def test_checks(name, kind):
    check = getattr(torch, name)
    assert check(True, lambda: 1 / 0) is None             # the message is not made
    refused(kind, "the words", lambda: check(False, lambda: "the words"))
    refused(kind, "Expected cond to be True, but got False.", lambda: check(False))
    refused(TypeError, "message must be a callable", lambda: check(False, "words"))
    refused(TypeError, "cond must be a bool, but got <class 'int'>", lambda: check(1))


def test_checks_of_other_kinds():
    refused(KeyError, "k", lambda: torch._check_with(KeyError, False, lambda: "k"))
    refused(RuntimeError, "one is False", lambda: torch._check_tensor_all(torch.tensor([True, False]), lambda: "one is False"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused(RuntimeError, "Expected cond to be True", lambda: torch._check_is_size(-1))
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor" and torch._as_tensor_fullprec(1.5).dtype is torch.float64
    assert not [name for name in torch.__all__ if name.startswith("_")]


# ---- compile modes

def test_both_ways_of_naming_a_mode_give_a_callable():
    def f(x):
        return x + 1

    for mode in ("default", torch.CompileMode.DEFAULT):
        compiled = torch.compile(f, mode=mode)
        assert callable(compiled) and compiled(torch.ones(1)).item() == 2


def test_wrong_modes_options_and_backends_are_refused_at_the_call():
    names = "default, lite, reduce-overhead, max-autotune-no-cudagraphs, max-autotune"
    refused(ValueError, f"Unrecognized mode=fast, should be one of: {names}", lambda: torch.compile(len, mode="fast"))
    refused(ValueError, "Unrecognized mode=fast", lambda: torch.compile(mode="fast"))
    refused(ValueError, "Unrecognized mode=zzz, should be one of: default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs",
            lambda: torch.CompileMode("zzz"))
    refused(RuntimeError, "Unexpected optimization option x, known options are [", lambda: torch.compile(len, options={"x": 1}))
    refused(RuntimeError, "Invalid backend: 'nope'", lambda: torch.compile(len, backend="nope"))
    assert torch._normalize_mode("reduce-overhead") == torch._normalize_mode(torch.CompileMode.REDUCE_OVERHEAD) == "reduce-overhead"


# ---- global state

def test_settings():
    refused(TypeError, "only floating-point types are supported as the default type", lambda: torch.set_default_dtype(torch.int32))
    refused(RuntimeError, "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got zz",
            lambda: torch.set_deterministic_debug_mode("zz"))
    refused(TypeError, "argument 'mode' (position 1) must be bool, not str", lambda: torch.use_deterministic_algorithms("x"))
    refused(RuntimeError, "set_num_threads expects a positive integer", lambda: torch.set_num_threads(0))
    refused(RuntimeError, "setWarnOnlyOnce expects a bool, but got int", lambda: torch.set_warn_always(1))
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("x")
    with torch.device("meta"):
        assert torch.ones(1).is_meta and torch.get_default_device_scope().depth == 1
    refused(AttributeError, "read-only", lambda: setattr(torch.get_default_device_scope(), "device", "cpu"))


def test_no_warning_for_settings_unless_asked_for(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setenv("KINDLING_WARN_GLOBAL", "0")
        assert torch.set_default_dtype(torch.float32) is None
    monkeypatch.setenv("KINDLING_WARN_GLOBAL", "1")
    from kindling._common import warn as _warn

    _warn._given.clear()
    with pytest.warns(_warn.GlobalStateWarning, match=re.escape(f"{__file__}:")) as caught:
        torch.set_default_dtype(torch.float32)
        torch.set_default_dtype(torch.float32)
    assert len(caught) == 1


# ---- devices and plug-ins

def test_the_accelerator_is_asked_for_at_the_call(monkeypatch):
    monkeypatch.setattr(torch._C, "_get_accelerator", lambda: torch.device("cpu"))
    assert torch.get_device_module(None) is torch.cpu


def test_autoload_is_switched_off_by_the_environment(monkeypatch):
    monkeypatch.delenv("TORCH_DEVICE_BACKEND_AUTOLOAD", raising=False)
    assert torch._is_device_backend_autoload_enabled() is True
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    assert torch._is_device_backend_autoload_enabled() is False


def test_devices():
    known = "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone"
    refused(RuntimeError, f"{known} device type at start of device string: nope", lambda: torch.device("nope"))
    refused(RuntimeError, "device type at start of device string: nope", lambda: torch.get_device_module("nope"))
    refused(RuntimeError, "Invalid value of device '3', expect torch.device, str, or None", lambda: torch.get_device_module(3))
    refused(RuntimeError, "The runtime module of 'cpu' has already been registered with", lambda: torch._register_device_module("cpu", os))
    refused(AssertionError, "Torch not compiled with CUDA enabled", lambda: torch.ones(1, device="cuda"))
    refused(NotImplementedError, "Could not allocate on device 'privateuseone': no plug-in has said how",
            lambda: torch.ones(1, device="privateuseone"))
    refused(RuntimeError, "Cannot register privateuse1 backend with in-tree device name: cpu", lambda: torch.utils.rename_privateuse1_backend("cpu"))
    refused(RuntimeError, "_rename_privateuse1_backend expects a str, but got int", lambda: torch.utils.rename_privateuse1_backend(3))
    refused(RuntimeError, "Cannot access accelerator device when none is available.", lambda: torch.accelerator.set_device_index(0))


# ---- lazy parts

def test_lazy_names():
    assert {"nn", "optim", "compile", "add", "special", "SymInt"} <= set(dir(torch))
    scope = {}
    exec("from torch import *\nfrom torch import nn\nfrom torch.nn import functional as F, Linear", scope)
    assert scope["nn"] is torch.nn and scope["F"].relu(torch.ones(1)).item() == 1 and scope["Linear"] is torch.nn.Linear
    for value in (torch.nn.Linear, torch.optim.SGD, torch.float32, torch.add, torch.no_grad, torch.utils.data.DataLoader, torch.distributions.Normal):
        assert pickle.loads(pickle.dumps(value)) is value
    for module in (torch, torch.nn, torch.optim, torch.utils.data, torch.distributions):
        refused(AttributeError, "has no attribute 'nothing_like_this'", lambda module=module: module.nothing_like_this)
        refused(ImportError, "cannot import name 'nothing_like_this'", lambda module=module: exec(f"from {module.__name__} import nothing_like_this"))
        assert set(module.__all__ if hasattr(module, "__all__") else ()) <= set(dir(module))


def test_deprecated_names_warn_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            torch.chain_matmul(torch.eye(2), torch.eye(2))
    assert len(caught) == 1 and "Use torch.linalg.multi_dot instead" in str(caught[0].message) and caught[0].filename == __file__
    refused(RuntimeError, "deprecated since version 1.9 and is now removed", lambda: torch.symeig(torch.eye(2)))


# ---- operators

def test_operators():
    refused(AttributeError, "'_OpNamespace' 'aten' object has no attribute 'nope'", lambda: torch.ops.aten.nope)
    refused(AttributeError, "The underlying op of 'aten.add' has no overload name 'nope'", lambda: torch.ops.aten.add.nope)
    refused(ValueError, "Unsupported kind: b", lambda: torch.library.Library("a", "b"))
    refused(ValueError, 'Expected `qualname` to be of the form "namespace::name", but got x.', lambda: torch.library.define("x", "y"))
    refused(RuntimeError, "operator zz::q does not exist", lambda: torch.library.register_fake("zz::q")(len))
    refused(RuntimeError, "Tried to instantiate class 'foo.Bar', but it does not exist!", lambda: torch.classes.foo.Bar)
    import kindling

    refused(RuntimeError, "operator aten::nope does not exist", lambda: kindling.dispatch.table("aten::nope"))
    refused(RuntimeError, "operator aten::add.nope does not exist; its overloads are", lambda: kindling.dispatch.table("aten::add.nope"))


def test_a_kernel_may_be_there_before_its_operator():
    torch.library.impl("guardrails::late", "CPU")(lambda x: x * 3)
    torch.library.define("guardrails::late", "(Tensor x) -> Tensor")
    assert torch.ops.guardrails.late(torch.ones(1)).item() == 3


def test_a_custom_operator_is_checked():
    @torch.library.custom_op("guardrails::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x

    refused(RuntimeError, "may not alias any inputs to this custom operator", lambda: same(torch.ones(1)))
    refused(NotImplementedError, "There was no fake impl registered for this operator", lambda: same(torch.ones(1, device="meta")))
    refused(torch.library.OpCheckError if hasattr(torch.library, "OpCheckError") else Exception, "test_schema failed with",
            lambda: torch.library.opcheck(same, (torch.ones(1),), test_utils="test_schema"))


def test_dispatch_dump_has_torchs_form():
    lines = torch._C._dispatch_dump("aten::relu").splitlines()
    assert lines[:3] == ["name: aten::relu", "schema: aten::relu(Tensor self) -> Tensor", "debug: registered at kindling"]
    assert any(line.startswith("CPU: registered at kindling :: (Tensor self) -> Tensor [ ") for line in lines)
    refused(RuntimeError, "operator aten::nope does not exist", lambda: torch._C._dispatch_dump("aten::nope"))


# ---- profilers

def test_profilers():
    with torch.autograd.profiler.profile() as prof:
        refused(RuntimeError, "already enabled", lambda: torch.autograd.profiler.profile().__enter__())
        torch.ones(2) + 1
    refused(AttributeError, "cannot sort by 'colour'", lambda: prof.table(sort_by="colour"))
    refused(RuntimeError, "Profiler didn't finish running", lambda: torch.autograd.profiler.profile().table())
    refused(AssertionError, "Invalid profiler schedule arguments", lambda: torch.profiler.schedule(wait=-1, warmup=0, active=1))
    refused(AssertionError, "export_stacks() requires with_stack=True", lambda: prof.export_stacks("x"))
