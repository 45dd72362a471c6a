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
