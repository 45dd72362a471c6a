"""Device modules, switches and mixed precision without accelerators, side by side with torch's CPU build."""
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch as reference

import kindling

BOTH = (kindling, reference)


def outcome(module, path, *args):
    """The value of an attribute or call, or the class and text of its error."""
    target = module
    try:
        for part in path.split("."):
            target = getattr(target, part)
        return target(*args) if callable(target) else target
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("call", [
    ("is_available",), ("device_count",), ("is_initialized",), ("is_bf16_supported",), ("is_tf32_supported",),
    ("empty_cache",), ("memory_allocated",), ("max_memory_allocated",), ("memory_reserved",), ("max_memory_reserved",),
    ("memory_stats",), ("get_arch_list",), ("get_gencode_flags",), ("manual_seed", 1), ("manual_seed_all", 1),
    ("seed",), ("seed_all",), ("get_rng_state_all",), ("set_stream", None), ("default_generators",), ("has_half",),
    ("current_device",), ("synchronize",), ("mem_get_info",), ("get_device_name",), ("get_device_name", 0),
    ("get_device_capability",), ("get_device_properties", 0), ("current_stream",), ("default_stream",),
    ("get_rng_state",), ("initial_seed",), ("ipc_collect",), ("init",), ("cudart",), ("Stream",), ("Event",),
    ("CUDAGraph",), ("set_per_process_memory_fraction", 0.5), ("can_device_access_peer", 0, 1),
    ("set_sync_debug_mode", 1), ("nvtx.range_push", "a"), ("FloatTensor", 1),
    ("amp.common.amp_definitely_not_available",),
], ids=str)
def test_cuda_answers(call):
    assert outcome(kindling, f"cuda.{call[0]}", *call[1:]) == outcome(reference, f"cuda.{call[0]}", *call[1:])


def test_cuda_blocks():
    for module in BOTH:
        with module.cuda.stream(None), module.cuda.device(-1), module.cuda.device_of(module.ones(1)):
            pass
        with pytest.raises(RuntimeError, match="compiled without CUDA support"):
            with module.cuda.device(0):
                pass
        assert not isinstance(3, module.cuda.Event)
    with pytest.raises(AttributeError):
        kindling.cuda.nothing_like_this


@pytest.mark.parametrize("call", [
    ("accelerator.is_available",), ("accelerator.device_count",), ("accelerator.current_accelerator",),
    ("accelerator.current_accelerator", True), ("accelerator.current_device_index",), ("accelerator.synchronize",),
    ("accelerator.set_device_index", 0), ("accelerator.empty_cache",), ("mps.is_available",), ("mps.device_count",),
    ("mps.manual_seed", 1), ("mps.empty_cache",), ("mps.current_allocated_memory",), ("mps.seed",),
    ("xpu.is_available",), ("xpu.device_count",), ("xpu.manual_seed", 1), ("xpu.synchronize",), ("xpu.empty_cache",),
    ("mtia.is_available",), ("mtia.device_count",), ("cpu.is_available",), ("cpu.device_count",),
    ("cpu.current_device",), ("cpu.synchronize",), ("distributed.is_initialized",), ("distributed.get_rank",),
    ("distributed.get_world_size",), ("distributed.barrier",), ("distributed.is_nccl_available",),
    ("distributed.is_torchelastic_launched",), ("distributed.destroy_process_group",),
    ("multiprocessing.get_sharing_strategy",), ("multiprocessing.get_all_sharing_strategies",),
    ("backends.mps.is_available",), ("backends.mps.is_built",), ("backends.cudnn.is_available",),
    ("backends.cudnn.enabled",), ("backends.cudnn.benchmark",), ("backends.cudnn.deterministic",),
    ("backends.cudnn.allow_tf32",), ("backends.cudnn.version",), ("backends.cudnn.conv.fp32_precision",),
    ("backends.cuda.is_built",), ("backends.cuda.matmul.allow_tf32",), ("backends.cuda.matmul.nothing",),
    ("backends.cuda.flash_sdp_enabled",), ("backends.cuda.math_sdp_enabled",), ("backends.mkldnn.enabled",),
    ("backends.opt_einsum.strategy",), ("backends.mha.get_fastpath_enabled",), ("backends.fp32_precision",),
    ("backends.cpu.get_cpu_capability",), ("backends.cuda.cufft_plan_cache.size",), ("backends.miopen.immediate",),
], ids=str)
def test_other_answers(call):
    assert outcome(kindling, *call) == outcome(reference, *call)


def test_no_distributed_package():
    assert kindling.distributed.is_available() is False
    with pytest.raises(RuntimeError, match="needs several"):
        kindling.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", world_size=2, rank=0)
    assert isinstance(kindling.distributed.ProcessGroup, type)


def test_switches_are_kept():
    import importlib
    cudnn = importlib.import_module("kindling.backends.cudnn")
    assert cudnn is kindling.backends.cudnn
    cudnn.benchmark = True
    try:
        assert kindling.backends.cudnn.benchmark is True
        with cudnn.flags(enabled=False, deterministic=True):
            assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (False, False, True)
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (True, True, False)
        assert cudnn.set_flags(_benchmark=False)[1] is True
    finally:
        cudnn.benchmark = False
    kindling.backends.cuda.matmul.allow_tf32 = True
    assert kindling.backends.cuda.matmul.allow_tf32 is True
    kindling.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError, match="Unknown attribute nothing"):
        kindling.backends.cuda.matmul.nothing = 1
    kindling.backends.cuda.enable_flash_sdp(False)
    assert kindling.backends.cuda.flash_sdp_enabled() is False
    kindling.backends.cuda.enable_flash_sdp(True)


def warned(make):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            make()
        except Exception as error:
            return type(error), str(error)
    return [(each.category, str(each.message)) for each in seen]


@pytest.mark.parametrize("make", [
    lambda module: module.amp.autocast("cuda"),
    lambda module: module.amp.autocast("cpu", dtype=module.float32, enabled=False),
    lambda module: module.amp.autocast(3), lambda module: module.amp.autocast("meta"),
    lambda module: module.amp.autocast("cpu")(3),
    lambda module: module.cuda.amp.autocast(), lambda module: module.cuda.amp.GradScaler(),
    lambda module: module.cpu.amp.autocast(enabled=False), lambda module: module.amp.GradScaler(),
    lambda module: module.amp.GradScaler("cpu", growth_factor=1.0), lambda module: module.amp.custom_fwd(device_type=1),
], ids=range(11))
def test_mixed_precision_warnings_and_errors(make):
    mine, theirs = (warned(lambda: make(module)) for module in BOTH)
    assert mine == theirs


def test_disabled_autocast_changes_nothing():
    @kindling.amp.autocast("cpu", enabled=False)
    def product(x):
        return x @ x
    assert product(kindling.ones(2, 2)).dtype == kindling.float32
    with kindling.amp.autocast("cpu", enabled=False, dtype=kindling.float16):
        assert kindling.amp._state.get_autocast_dtype("cpu") == kindling.float16
    assert kindling.amp._state.get_autocast_dtype("cpu") == kindling.bfloat16


def scaled_steps(module, optimizer_options):
    name, options = optimizer_options
    weight = module.tensor([1.0, 2.0], requires_grad=True)
    optimizer = getattr(module.optim, name)([weight], **options)
    scaler = module.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    seen = []
    for step in range(6):
        optimizer.zero_grad()
        loss = (weight ** 2).sum() * (float("inf") if step == 3 else 1.0)
        scaler.scale(loss).backward()
        if step == 4:
            scaler.unscale_(optimizer)
            seen.append((weight.grad.tolist(), scaler.get_scale(), None))
        scaler.step(optimizer)
        scaler.update()
        seen.append((weight.detach().tolist(), scaler.get_scale(), scaler.state_dict()))
    return seen


@pytest.mark.parametrize("optimizer_options", [("SGD", {"lr": 0.1}), ("Adam", {"lr": 0.1, "fused": True}),
                                               ("SGD", {"lr": 0.1, "fused": True})], ids=str)
def test_scaled_steps(optimizer_options):
    mine, theirs = scaled_steps(kindling, optimizer_options), scaled_steps(reference, optimizer_options)
    assert [each[1:] for each in mine] == [each[1:] for each in theirs]
    np.testing.assert_allclose([each[0] for each in mine], [each[0] for each in theirs], rtol=1e-5)


def test_scaler_misuse():
    weight = kindling.ones(1, requires_grad=True)
    optimizer = kindling.optim.SGD([weight], lr=0.1)
    scaler = kindling.amp.GradScaler("cpu")
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.update()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="Closure use"):
        scaler.step(optimizer, closure=None)
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        scaler.load_state_dict({})


SPAWN = """
import sys, kindling.multiprocessing as mp
def work(number, base):
    if number == base: raise ValueError("seven")
def leave(number): sys.exit(5)
if __name__ == "__main__":
    mp.spawn(work, (9,), nprocs=2)
    try: mp.spawn(work, (1,), nprocs=2)
    except mp.ProcessRaisedException as error: print(error.error_index, "ValueError: seven" in str(error))
    try: mp.spawn(leave, nprocs=1)
    except mp.ProcessExitedException as error: print(error.exit_code, error)
    print(callable(mp.spawn), mp.get_context("fork").Process is not None)
"""


def test_spawned_processes(tmp_path):
    script = tmp_path / "spawning.py"
    script.write_text(SPAWN)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["1 True", "5 process 0 terminated with exit code 5", "True True"], done.stderr


def test_device_modules_open_no_library(tmp_path):
    code = """
import kindling, zlib  # zlib: what reads the archive of our own modules
def mapped(): return {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
kindling.ones(1)
before = mapped()
kindling.cuda.is_available(), kindling.cuda.device_count(), kindling.backends.cudnn.is_available()
kindling.cuda.manual_seed_all(1), kindling.accelerator.is_available(), kindling.backends.mps.is_available()
print(sorted(mapped() - before))
"""
    # Elsewhere than in the source folder, which has no compiled part.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]", done.stderr
