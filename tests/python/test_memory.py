"""The allocator seen from Python: its numbers, its limits, and what is left to do when there is no more."""
import os
import subprocess
import sys

import kindling as torch
import pytest

needs_cache = pytest.mark.skipif("KINDLING_SANITIZED" in os.environ, reason="under a sanitizer every block comes from the system")


def now(name):
    return torch.memory_stats()[name]


@needs_cache
def test_numbers_follow_tensors():
    before = now("allocated_bytes.all.current")
    x = torch.zeros(1 << 20)
    assert now("allocated_bytes.all.current") - before >= 4 << 20
    assert now("reserved_bytes.all.current") >= now("allocated_bytes.all.current")
    del x
    assert now("allocated_bytes.all.current") == before
    assert now("cached_bytes.all.current") >= 4 << 20
    torch.empty_cache()
    assert now("cached_bytes.all.current") == 0


@needs_cache
def test_peaks():
    kept = now("allocated_bytes.all.current")        # by tests before this one
    torch.empty(8 << 20)
    assert now("allocated_bytes.all.peak") >= kept + (32 << 20)
    torch.reset_peak_memory_stats()
    assert now("allocated_bytes.all.peak") < kept + (32 << 20)


@needs_cache
def test_the_cache_has_a_limit():
    limit = now("cache_limit")
    try:
        torch.set_cache_limit(1 << 20)
        torch.zeros(4 << 20)
        assert now("cached_bytes.all.current") <= 1 << 20
    finally:
        torch.set_cache_limit(limit)


@needs_cache
def test_a_limit_on_everything():
    kept = torch.ones(1 << 20)
    try:
        torch.set_memory_limit(now("reserved_bytes.all.current") + (8 << 20))
        with pytest.raises(RuntimeError, match="you tried to allocate 268435456 bytes"):
            torch.empty(64 << 20)
        assert kept.sum() == 1 << 20 and torch.zeros(10).sum() == 0
        for _ in range(100):     # blocks kept for reuse make way before anything is refused
            torch.ones(1 << 20), torch.ones(1 << 18)
    finally:
        torch.set_memory_limit(None)
    assert torch.empty(64 << 20).numel() == 64 << 20 and now("memory_limit") == 0


@needs_cache
def test_variables_set_the_limits():
    code = "import kindling as k; s = k.memory_stats(); print(s['cache_limit'], s['memory_limit'])\ntry: k.empty(50 << 20)\nexcept RuntimeError: print('refused')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "KINDLING_CACHE_LIMIT": "1000000", "KINDLING_MEMORY_LIMIT": "100000000"})
    assert done.stdout.split() == ["1000000", "100000000", "refused"], done.stderr


def test_the_summary_and_wrong_limits():
    lines = torch.memory_summary().splitlines()
    assert len(lines) == len(torch.memory_stats()) and lines[0].startswith("allocated bytes, current") and "MB" in lines[0]
    for wrong in (-1, 1.5, "1", True):
        with pytest.raises(ValueError, match="expects a number of bytes"):
            torch.set_memory_limit(wrong)


def gone(*sizes):
    tensor = torch.ones(*sizes)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize("call", [
    lambda t: t.fill_(2), lambda t: t.zero_(), lambda t: t.copy_(torch.ones(3, 3)), lambda t: torch.ones(3, 3).copy_(t), lambda t: t.clone(),
    lambda t: t.double(), lambda t: t.masked_fill(torch.ones(3, 3) > 0, 1), lambda t: torch.softmax(t, 0), lambda t: torch.sort(t),
    lambda t: torch.mm(t, torch.ones(3, 3)), lambda t: torch.mm(torch.ones(3, 3), torch.ones(3, 3), out=t), lambda t: torch.inverse(t), lambda t: torch.inverse(gone(20, 20)),
    lambda t: t.roll(1), lambda t: t.normal_(), lambda t: t.masked_scatter_(torch.ones(3, 3) > 0, torch.ones(9))])  # fmt: skip
def test_kernels_with_a_result_rule_refuse_tensors_whose_memory_is_gone(call):
    with pytest.raises(RuntimeError, match="its data is not allocated"):
        call(gone(3, 3))


@pytest.mark.parametrize("call", [
    lambda lib, t: t.fill_(t[2]), lambda lib, t: t.fill_(t.view(lib.int32)[2]),
    lambda lib, t: t.masked_fill_(t > 2, t[4]), lambda lib, t: t.copy_(t),
    lambda lib, t: t.view(2, 3).masked_fill_(t[:3] > 1, 7.0)])  # fmt: skip
def test_what_a_loop_writes_is_not_read_as_written(call):
    import torch as real

    ours, theirs = torch.arange(6.0), real.arange(6.0)
    assert call(torch, ours).tolist() == call(real, theirs).tolist() and ours.tolist() == theirs.tolist()
