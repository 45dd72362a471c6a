"""Packages built on PyTorch: the programs of tests/packages, where an environment has them."""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import kindling
import pytest

torch = pytest.importorskip("torch")
LIBRARIES = kindling, torch

TOOL = Path(__file__).parents[1] / "packages" / "run.py"
spec = importlib.util.spec_from_file_location("packages_run", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

# Ten; the command runs all of them.
HELD = ("accelerate captum diffusers gpytorch kornia lightning peft pyro torchmetrics transformers").split()


@pytest.mark.parametrize("name", HELD)
def test_package(name):
    """KINDLING_PACKAGES names the site-packages of an environment with the packages and without PyTorch."""
    folder = os.environ.get("KINDLING_PACKAGES")
    if not folder:
        pytest.skip("KINDLING_PACKAGES names no environment")
    python = str(Path(folder).parents[2] / "bin" / "python")
    row = tool.try_package(name, ([python, "-P", "-m", "kindling", "run"], None), ([sys.executable], folder), {})
    assert row["works"], row


def test_safetensors():
    """It is installed beside PyTorch here."""
    pytest.importorskip("safetensors")
    program = str(tool.PROGRAMS / "use_safetensors.py")
    texts = [subprocess.run([sys.executable, "-W", "ignore", *how, program], capture_output=True, text=True, cwd="/")
             for how in (["-P", "-m", "kindling", "run"], [])]
    assert [each.returncode for each in texts] == [0, 0], texts[0].stderr
    assert tool.far(texts[0].stdout, texts[1].stdout) < 1e-6


def test_texts_are_compared_by_their_numbers():
    assert tool.far("a 1.0 b2 [3]", "a 1.0 b2 [3]") == 0 and tool.far("a 1", "b 1") is None
    assert tool.far("x 1.00", "x 1.01") == pytest.approx(0.0099, rel=0.01) and tool.far("nan", "nan") == 0


def test_names_are_counted_through_imports():
    spec = importlib.util.spec_from_file_location("uses", TOOL.parents[2] / "tools" / "uses.py")
    uses = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(uses)
    text = "import torch\nimport torch.nn.functional as F\nfrom torch import nn as n\nF.relu(torch.ones(1))\ndef f(x): return n.Linear(1, 1), F.relu"
    assert uses.names(text) == {"torch": 1, "torch.nn.functional": 1, "torch.nn": 1, "torch.nn.functional.relu": 2, "torch.ones": 1, "torch.nn.Linear": 1}


def test_versions_compare_as_versions():
    """`torch.__version__ >= "2.9"`: texts would say that 2.13 is less."""
    import itertools
    import operator

    from torch.torch_version import TorchVersion as Theirs
    ours = type(kindling.__version__)
    texts = ("2.13.0+cpu 2.13.0 2.13 2.9 2.13.0a1 2.13.0.dev20260101 2.13.0rc1 2.13.0.post1 1!1.0 2.13.0+kindling.0.1.0 2.13.0+kindling.0.2 parrot "
             "1.10.0a0+git 2.0.0b2.dev3 v2.13.0 2.13-1").split()
    others = [*texts, (2, 13), (2, 9, 0), [2, 13, 0], ("2", "13", "0rc1"), 1, None, ("x",)]
    signs = operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt
    for left, right, sign in itertools.product(texts, others, signs):
        said = []
        for cls in (ours, Theirs):
            try:
                said.append(sign(cls(left), right))
            except TypeError:
                said.append(TypeError)
        assert said[0] == said[1], (left, right, sign)
    assert kindling.__version__ > "2.9" and kindling.__version__ >= (2, 13) and hash(ours("2.1")) == hash("2.1")
    assert ours is kindling.torch_version.TorchVersion and type(kindling.version.__version__) is str


def test_functorch_and_operators_are_modules_under_the_alias():
    text = """
import torch.ops, torch.classes, functorch, warnings, types
from torch.ops import aten
from torch._C._functorch import is_batchedtensor
print(aten.add, torch.ops.aten is aten, isinstance(torch.ops, types.ModuleType), isinstance(torch.classes, types.ModuleType), torch.ops.__file__)
from functorch import make_functional, make_functional_with_buffers, combine_state_for_ensemble, vmap, grad, FunctionalModule
warnings.simplefilter("ignore")
torch.manual_seed(0)
model, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
call, params = make_functional(model)
print(len(params), all(p.requires_grad for p in params), call(params, x).equal(model(x)), isinstance(call, FunctionalModule))
print(grad(lambda p: call(p, x).sum())(params)[1].tolist())
call, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(3).eval())
print(len(params), len(buffers), round(call(params, buffers, x).sum().item(), 4))
call, params, buffers = combine_state_for_ensemble([torch.nn.Linear(3, 2) for _ in range(5)])
print(vmap(call, (0, 0, None))(params, buffers, x).shape, params[0].shape, params[0].requires_grad)
try: make_functional(torch.nn.BatchNorm1d(3))
except RuntimeError as error: print(error)
"""
    said = [subprocess.run([sys.executable, "-W", "ignore", *how, "-c", text], capture_output=True, text=True, cwd="/")
            for how in (["-P", "-m", "kindling", "run"], [])]
    assert said[0].stdout == said[1].stdout != "", said[0].stderr


def test_collections_with_a_shape_are_batched_whole():
    """What tensordict does: a class that is a tree of tensors, and takes part in vmap as one."""
    class Named:
        def __init__(self, **tensors):
            self.tensors = tensors

        def _add_batch_dim(self, *, in_dim, vmap_level):
            return Named(**{name: kindling._C._functorch._add_batch_dim(each, in_dim, vmap_level) for name, each in self.tensors.items()})

        def _remove_batch_dim(self, *, vmap_level, batch_size, out_dim):
            return Named(**{name: kindling._C._functorch._remove_batch_dim(each, vmap_level, batch_size, out_dim) for name, each in self.tensors.items()})

        def dim(self):
            return min(each.dim() for each in self.tensors.values())

        @property
        def shape(self):
            return next(iter(self.tensors.values())).shape

    given = Named(a=kindling.arange(6.0).view(2, 3), b=kindling.ones(2, 3, 4))
    out = kindling.vmap(lambda x: Named(a=x.tensors["a"] + x.tensors["b"].sum(-1)), in_dims=1, out_dims=1)(given)
    assert out.tensors["a"].tolist() == [[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]


def test_weak_dictionaries_know_tensors_by_identity():
    import gc

    for lib in LIBRARIES:
        weak = lib.utils.weak
        first, second = lib.zeros(2), lib.zeros(2)
        found = weak.WeakTensorKeyDictionary({first: "a"})
        found[second] = "b"
        assert found[first] == "a" and second in found and len(found) == 2
        assert sorted(found.values()) == ["a", "b"] and [key is first or key is second for key in found] == [True, True]
        reference = weak.TensorWeakRef(second)
        assert reference() is second and weak.WeakIdRef(first) == weak.WeakIdRef(first)
        assert not weak.WeakIdRef(first) == weak.WeakIdRef(second)
        assert found.pop(second) == "b" and second not in found
        found[second] = 1
        del second
        gc.collect()
        assert len(found) == 1 and reference() is None and found.copy() == found
        with pytest.raises(AssertionError, match="expected torch.Tensor"):
            weak.TensorWeakRef(3)


def test_private_names_answer():
    """What packages ask of PyTorch's inside, beside PyTorch's answers."""
    import importlib

    seen = []
    for lib in LIBRARIES:
        private = importlib.import_module(f"{lib.__name__}.utils._foreach_utils")
        contexts = importlib.import_module(f"{lib.__name__}.utils._contextlib")
        device = importlib.import_module(f"{lib.__name__}.utils._device")
        x, y = lib.zeros(2), lib.zeros(3, dtype=lib.float64)
        storage = lib.zeros(1000).untyped_storage()

        class Twice(contexts._DecoratorContextManager):
            def __enter__(self):
                facts.append("in")

            def __exit__(self, *details):
                facts.append("out")

        facts = []
        Twice()(lambda: facts.append("body"))()
        for wrong in (lambda: contexts.context_decorator(Twice, Twice), lambda: contexts.context_decorator(Twice(), len)):
            try:
                wrong()
            except (RuntimeError, AssertionError) as error:
                facts.append(type(error).__name__)
        grouped = private._group_tensors_by_device_and_dtype([[x, y, x], [None, None, None]], True)
        facts.append(sorted((str(key[1]).rpartition(".")[2], place) for key, (_, place) in grouped.items()))
        facts.append([private._has_foreach_support([x], lib.device(name)) for name in ("cpu", "meta")])
        with device.DeviceContext("meta"):
            facts.append([str(device.CURRENT_DEVICE), str(device.set_device("cpu")(lambda: lib.zeros(1).device)())])
        facts.append(storage.__sizeof__() >= 4000)
        facts.append(lib.ops.aten.add.Tensor._overloadpacket is lib.ops.aten.add)
        facts.append([lib.cpu._is_avx2_supported(), lib.cpu._is_avx512_supported(), lib.cpu._is_avx512_bf16_supported(), lib.cpu._is_amx_tile_supported()])
        facts.append([lib._C._is_alias_of(x, x[:1]), lib._C._is_alias_of(x, y), lib._C._is_torch_function_mode_enabled(), lib._C._has_cuda])
        facts.append(lib._disable_dynamo(lambda: 1)())
        facts.append(lib.distributions.transforms._clipped_sigmoid(lib.tensor([-100.0, 100.0])).tolist())
        seen.append(facts)
    assert seen[0] == seen[1]


def test_arguments_that_are_written_and_alias_nothing():
    """`Tensor! out`: bitsandbytes' schemas."""
    seen = []
    for lib in LIBRARIES:
        schema = lib._C.parse_schema("a::b(Tensor! x, Tensor!? y, Tensor y2) -> Tensor")
        facts = [(each.name, each.alias_info is not None and (each.alias_info.is_write, len(each.alias_info.before_set), len(each.alias_info.after_set)))
                 for each in schema.arguments]
        library = lib.library.Library("kindling_fresh_alias", "DEF")
        library.define("fill(Tensor! x) -> ()")
        library.impl("fill", lambda x: x.fill_(3) and None if x.dim() == 0 else None, "CPU")
        x = lib.zeros(())
        lib.ops.kindling_fresh_alias.fill(x)
        for bad in ("c(Tensor x!) -> ()", "d(Tensor?! x) -> ()"):
            with pytest.raises(RuntimeError):
                library.define(bad)
        seen.append((facts, x.item(), x._version))
    assert seen[0] == seen[1]


def test_pickles_under_the_alias_name_what_pytorch_has():
    """Written by one, read by the other: constants, functions of nn.functional, operators."""
    text = """
import sys, pickle, torch
F = torch.nn.functional
for name in ("float32", "int64", "bfloat16", "strided", "sparse_coo", "contiguous_format", "channels_last", "no_grad"):
    data = pickle.dumps(getattr(torch, name))
    print(name, b"kindling" in data, pickle.loads(data) is getattr(torch, name), data.hex())
for name in F.__all__ if "kindling" in torch.__version__ else ():
    value = getattr(F, name)
    data = pickle.dumps(value)
    assert b"kindling" not in data and b"_functional" not in data and pickle.loads(data) is value, name
    print("F", name, data.hex())
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-P", "-m", "kindling", "run", "-c", text], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    import pickle
    seen = 0
    for line in done.stdout.splitlines():
        kind, *facts, data = line.split()
        if kind == "F":
            if facts[0] in ("linear_cross_entropy",) or facts[0] in dir(torch.nn.functional):
                assert pickle.loads(bytes.fromhex(data)) is getattr(torch.nn.functional, facts[0]), line
                seen += 1
            continue
        assert facts == ["False", "True"], line
        assert pickle.loads(bytes.fromhex(data)) is getattr(torch, kind), line
    assert seen > 80


def test_refusals_come_at_use():
    """Neither decorating nor making raises; what is without effect runs."""
    for lib in LIBRARIES:
        nvtx = lib.cuda.nvtx
        block, decorated = nvtx.range("a {}", 1), nvtx.range("b")(lambda: 1)
        for use in (block.__enter__, decorated, lambda: nvtx.range_push("c"), nvtx.range_pop):
            with pytest.raises(RuntimeError, match="NVTX functions not installed"):
                use()
        for kind in (lib.autograd.profiler.emit_nvtx, lib.autograd.profiler.emit_itt):
            with kind(enabled=False):
                pass
            kind(record_shapes=True)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        kindling.distributed.fsdp.FullyShardedDataParallel(kindling.nn.Linear(1, 1), use_orig_params=True)


def test_a_sampler_of_a_world_of_one(tmp_path):
    from kindling import distributed
    sampler = kindling.utils.data.distributed.DistributedSampler
    with pytest.raises(RuntimeError, match="Requires distributed package to be available"):
        sampler(range(3))
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        assert list(sampler(range(3), shuffle=False)) == [0, 1, 2]
    finally:
        distributed.destroy_process_group()
