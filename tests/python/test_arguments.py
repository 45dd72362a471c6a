"""Every declared operator with random arguments: an answer or an ordinary exception, never a crash (tests/fuzz/arguments.py)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from both import same

FUZZER = Path(__file__).parents[1] / "fuzz" / "arguments.py"


def run(*options):
    return subprocess.run([sys.executable, FUZZER, *map(str, options)], capture_output=True, text=True)


def test_random_arguments():
    done = run("--count", 10000, "--seed", 1)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "10000 calls" in done.stdout and ", 0 faults" in done.stdout


def test_a_fault_is_found_and_told(tmp_path):
    """A process that dies, a call without end and an internal error, each in an operator of this test's own."""
    script = tmp_path / "faulty.py"
    script.write_text(f"""
import os, runpy, sys, time
import kindling

def breaks(x):
    os.kill(os.getpid(), 9)

def hangs(x):
    time.sleep(1000)

def blames(x):
    raise SystemError("ours")

sys.argv[0] = {str(FUZZER)!r}
sys.path.insert(0, {str(FUZZER.parent)!r})
import arguments
from draw import Entry
bodies = {{"breaks": breaks, "hangs": hangs, "blames": blames}}
arguments.operators = lambda: [Entry(name, None, lambda x, i, body=body: body(x)) for name, body in bodies.items()]
arguments.__file__ = __file__
sys.exit(arguments.main())
""")
    done = subprocess.run([sys.executable, script, "--count", "3", "--limit", "2", "--jobs", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"call 0 of seed 1: ended the process \(-9\)", done.stdout), done.stdout + done.stderr
    assert "call 1 of seed 1: took too long" in done.stdout
    assert "call 2 of seed 1: SystemError: ours" in done.stdout
    assert "3 faults" in done.stdout and "--only 2" in done.stdout


# What random arguments have found, where PyTorch refuses as well or gives an answer.
FOUND = [
    # a primitive that is not there for a dtype, told in the operator's name
    "torch.lt(torch.ones(2, dtype=torch.complex64), 1)",
    "torch.gcd(torch.ones(2), torch.ones(2))",
    "torch.digamma(torch.ones(2, dtype=torch.complex64))",
    "torch.complex(torch.ones(2) + 0j, torch.ones(2) + 0j)",
    "torch.polar(torch.ones(2) + 0j, torch.ones(2) + 0j)",
    "torch.cummax(torch.ones(2) + 0j, 0)",
    "torch.where(torch.tensor(True), torch.ones(1, dtype=torch.uint64), torch.ones(1, dtype=torch.int32))",
    # dimensions of a number
    "torch.tensor(1.0).size(0)",
    "torch.tensor(1.0).stride(-1)",
    "torch.trapezoid(torch.tensor(1.0), torch.ones(1, 2))",
    "torch.histogramdd(torch.tensor(1.0), 4)",
    "torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.tensor(1.0)])",
    # sources of more dimensions than their target
    "torch.zeros(3).copy_(torch.ones(2, 3))",
    "torch.zeros(()).copy_(torch.ones(1))",
    # numbers without a place in the dtype
    "torch.zeros(3, dtype=torch.uint8).fill_(300)",
    "torch.zeros(3, dtype=torch.uint8).fill_(-1)",
    "torch.zeros(3, dtype=torch.uint8).fill_(-1.5)",
    "torch.zeros(3, dtype=torch.int8).fill_(200)",
    "torch.zeros(3, dtype=torch.int64).fill_(2**63)",
    "torch.zeros(3, dtype=torch.uint64).fill_(2**63)",
    "torch.zeros(3, dtype=torch.float32).fill_(2**63)",
    "torch.zeros(3, dtype=torch.float16).fill_(1e30)",
    "torch.zeros(3, dtype=torch.float16).fill_(float('-inf'))",
    "torch.full((2,), float('nan'), dtype=torch.int32)",
    "torch.zeros(3, dtype=torch.int64).scatter_(0, torch.tensor([0]), float('nan'))",
    # numbers of steps
    "torch.zeros(2).round(decimals=1 << 40)",
    "torch.polygamma(1 << 62, torch.ones(2))",
    "torch.hsplit(torch.ones(2, 4), 2**63 - 1)",
    "F.pad(torch.ones(2), (1, 2**63 - 1))",
    "F.pad(torch.ones(2), (-2**63, 2**63 - 1))",
    "torch.arange(-2**63, 2**63 - 1, 1)",
    "torch.ones(1).expand(2**62, 4)",
    "torch.ones(2).repeat_interleave(2**63 - 1)",
    "torch.zeros(2, dtype=torch.int64).index_add(0, torch.tensor([0, 0]), torch.tensor([2**63 - 1, 4]))",
    # the meta device beside memory
    "torch.zeros(2, dtype=torch.int32).bitwise_or_(torch.tensor(1, device='meta'))",
    # dtypes that do not fit one another
    "torch.binomial(torch.ones(2), torch.ones(2, dtype=torch.float64))",
    "torch.neg(torch._neg_view(torch.ones(2)))",
]


@pytest.mark.parametrize("source", FOUND)
def test_found(source):
    same(source, message=False)


@pytest.mark.parametrize("source, error, words", [
    ("torch.ops.aten._reshape_alias(torch.ones(2), [2], [100])", RuntimeError, "out of bounds for storage"),
    ("torch.ops.aten._reshape_alias(torch.ones(4), [2, 2], [1])", RuntimeError, "mismatch in length"),
    ("torch.ops.aten._pad_backward(torch.ones(1, 1), torch.ones(1, 1), [1, 1], 1)", RuntimeError, "expected a gradient of shape"),
    ("torch.ops.aten._thnn_fused_gru_cell_backward(torch.ones(2, 3), torch.ones(2, 14), False)", RuntimeError, "times as wide"),
    ("torch.native_batch_norm(torch.ones(2, 2), None, None, None, None, False, 0.1, 0.1)", RuntimeError, "to be defined"),
    ("torch.native_batch_norm(torch.ones(2, 2), None, torch.ones(3), None, None, True, 0.1, 0.1)", RuntimeError, "of 2 elements"),
    ("torch.ones(2).to(torch.float64, copy=torch.ones(2))", TypeError, "must be bool"),
    ("torch.pixel_shuffle(torch.ones(1, 1, 1), 1 << 40)", ValueError, "upscale factor is too large"),
    ("torch._neg_view(torch.tensor([True]))", RuntimeError, "bool tensor is not supported"),
    ("torch.unique(torch.ones(2, device='meta'))", NotImplementedError, "depends on values"),
    ("torch.special.legendre_polynomial_p(torch.tensor(1.0), torch.ones(2, device='meta'))", RuntimeError, "same device"),
])
def test_refused_here(source, error, words):
    """Where PyTorch dies, gives numbers from elsewhere in memory, or can do what is not there yet."""
    import kindling

    with pytest.raises(error, match=words):
        eval(source, {"torch": kindling})
