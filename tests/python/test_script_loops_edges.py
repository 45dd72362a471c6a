"""Scripted loops at the edges: empty tensors behind a guard, NaN, division by zero, errors, and no machine code at all.

Each runs often enough to be machine code. Expected values are PyTorch 2.13's."""

import math
import os
import subprocess
import sys
from typing import Dict, List, Optional

import pytest

import kindling as torch

ROUNDS = 300


def is_machine_code(function, *arguments):
    reasons = torch.compiler.explain(function)(*arguments).loops
    return reasons and not any(reasons)


# ---- a reading that a condition guards stays behind it

def last_of_some(x, n: int):
    s = 0.0
    m = x.size(0)
    for _ in range(n):
        if m > 0:
            s += float(x[m - 1])
    return s


def remainder_of_some(x, n: int):
    s = 0.0
    for _ in range(n):
        for i in range(4):
            if x.size(0) > 0:
                s += float(x[i % x.size(0)])
    return s


def inner_loop_that_does_not_run(x, n: int):
    s = 0.0
    for _ in range(n):
        for _ in range(x.size(0)):
            s += float(x[0]) + float(x[-1]) + float(x[x.size(0) - 1])
    return s


def behind_and(x, n: int):
    s = 0.0
    for q in range(n):
        if x.numel() > 0 and float(x[q % x.size(0)]) < 5:
            s += 1
    return s


@pytest.mark.parametrize("function", [last_of_some, remainder_of_some, inner_loop_that_does_not_run, behind_and])
def test_guarded_readings_of_nothing(function):
    scripted = torch.jit.script(function)
    for size in (0, 1, 5):
        x = torch.ones(size)
        assert scripted(x, ROUNDS) == function(x, ROUNDS), size
    assert is_machine_code(scripted, torch.zeros(0), ROUNDS)


def item_of_some(items: List[int], n: int):
    s = 0
    for _ in range(n):
        if len(items) > 0:
            s += items[7 % len(items)] + items[len(items) - 1]
    return s


def item_of_made(n: int, m: int):
    s = 0
    rows = [[n, i] for i in range(m)]
    for j in range(n):
        if len(rows) > 0:
            s += rows[len(rows) - 1][0] + rows[j % len(rows)][1]
    return s


def test_guarded_readings_of_empty_lists():
    items, made = torch.jit.script(item_of_some), torch.jit.script(item_of_made)
    for given in ([], [3, 4], [5]):
        assert items(given, ROUNDS) == item_of_some(given, ROUNDS)
    for count in (0, 3):
        assert made(ROUNDS, count) == item_of_made(ROUNDS, count)


# ---- numbers as PyTorch's scripts compute them

def numbers(x):
    """One element that is another, behind so many that the loop is machine code."""
    return torch.cat([torch.ones(ROUNDS, dtype=x.dtype), x])


def test_extremes_of_nan_and_zeros():
    @torch.jit.script
    def largest(x):
        r = 0.0
        for i in range(x.size(0)):
            r = max(r, float(x[i]))
        return r

    @torch.jit.script
    def clamped(x, out):
        for i in range(x.size(0)):
            out[i] = min(max(float(x[i]), 0.5), 2.0)
        return out

    @torch.jit.script
    def of_zeros(x, out):
        for i in range(x.size(0)):
            out[i] = max(float(x[i]), -0.0)
        return out

    nan = numbers(torch.tensor([math.nan]))
    assert math.isnan(largest(nan)) and largest(nan[:-1]) == 1
    assert clamped(nan, torch.zeros(ROUNDS + 1))[-2:].tolist() == [1.0, 0.5]            # a > b ? a : b
    assert math.copysign(1, of_zeros(torch.zeros(ROUNDS), torch.ones(ROUNDS))[-1].item()) == -1


def test_division_of_floats_by_zero():
    @torch.jit.script
    def divided(x, y, q, r):
        for i in range(x.size(0)):
            q[i] = float(x[i]) // float(y[i])
            r[i] = float(x[i]) % float(y[i])
        return q, r

    q, r = divided(torch.full((ROUNDS + 2,), 5.0), numbers(torch.tensor([0.0, -2.0])), torch.zeros(ROUNDS + 2), torch.zeros(ROUNDS + 2))
    assert q[-3:].tolist() == [5.0, math.inf, -3.0]
    assert r[-3].item() == 0 and math.isnan(r[-2]) and r[-1].item() == -1


def to_the_power(x, out):
    for i in range(x.size(0)):
        out[i] = float(x[i]) ** -1.0
    return out


def floors(x, out):
    for i in range(x.size(0)):
        out[i] = math.floor(float(x[i]))
    return out


def ceilings(x, out):
    for i in range(x.size(0)):
        out[i] = math.ceil(float(x[i]))
    return out


@pytest.mark.parametrize("function, last, message", [
    (to_the_power, 0.0, "0.0 cannot be raised to a negative power"),
    (floors, math.nan, "Cannot convert float nan to integer"),
    (ceilings, -math.inf, "Cannot convert float -inf to integer"),
    (floors, 1e19, "Cannot convert float 10000000000000000000.000000 to integer"),
])
def test_errors_in_the_middle(function, last, message):
    out = torch.zeros(ROUNDS + 1)
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(function)(numbers(torch.tensor([last], dtype=torch.float64)), out)
    assert out.tolist() == [1.0] * ROUNDS + [0.0]                                       # what came before is written


def test_bools_are_not_subtracted():
    @torch.jit.script
    def difference(d, b):
        for i in range(d.size(0)):
            d[i] = d[i] - b[i]
        return d

    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        difference(torch.ones(ROUNDS), torch.ones(ROUNDS) > 0)


def test_the_float_behind_the_largest_integer():
    @torch.jit.script
    def last(x):
        s = 0
        for i in range(x.size(0)):
            s = int(x[i])
        return s

    assert last(numbers(torch.tensor([2.0**63], dtype=torch.float64))) == -2**63
    with pytest.raises(RuntimeError, match="without overflow"):
        last(numbers(torch.tensor([2.0**64], dtype=torch.float64)))


def test_minus_of_a_negative_number():
    @torch.jit.script
    def signs():
        return -(-6), --6, -(-1.5), -(-(-2)), -(-6) * 2

    assert signs() == (6, 6, 1.5, -2, 12)


# ---- what loops know

def steps(n: int, k: int):
    s = 0
    for _ in range(n):
        for j in range(3, 20, k):
            s += j
        for j in range(20, 3, -k):
            s += j
    return s


def test_ranges_with_any_step():
    scripted = torch.jit.script(steps)
    for k in (1, 3, -2, 100):
        assert scripted(ROUNDS, k) == steps(ROUNDS, k)
    assert is_machine_code(scripted, ROUNDS, 3)
    with pytest.raises(RuntimeError, match="range.. arg 3 must not be zero"):
        scripted(ROUNDS, 0)


def functions(x):
    s = 0.0
    odd = 0
    for i in range(x.size(0)):
        v = float(x[i])
        s += math.log(v) + math.log10(v) + math.log1p(v) + math.expm1(v * 0.01) + math.asin(v * 0.001) + math.acos(v * 0.001)
        s += math.sinh(v * 0.01) + math.cosh(v * 0.01) + math.asinh(v) + math.acosh(v) + math.atanh(v * 0.001) + math.erf(v) + math.erfc(v)
        s += math.lgamma(v) + math.gamma(v * 0.1) + math.degrees(v) + math.radians(v) + math.fmod(v, 0.7) + math.copysign(v, -1.0) + round(v)
        if math.isnan(v) or math.isinf(v) or not math.isfinite(v):
            odd += 1
    return s, odd


def test_functions_of_the_c_library():
    x = torch.arange(1, ROUNDS + 1).double() + 0.25
    scripted = torch.jit.script(functions)
    assert scripted(x) == pytest.approx(functions(x), rel=1e-14)
    assert is_machine_code(scripted, x)


def with_a_dict(x, names: Dict[int, float]):
    s = 0.0
    for i in range(x.size(0)):
        s += names[i % 3]
    return s


def with_a_text(x):
    s = 0.0
    for i in range(x.size(0)):
        if float(x[i]) > 5:
            print(i)
        for j in range(3):
            s += float(x[j])
    return s


def test_loops_of_no_hope_have_a_reason():
    """They had no line in the report."""
    x = torch.ones(ROUNDS)
    assert torch.compiler.explain(torch.jit.script(with_a_dict))(x, {0: 1.0, 1: 2.0, 2: 3.0}).loops == ["it needs a value of type Dict(int, float)"]
    assert torch.compiler.explain(torch.jit.script(with_a_text))(x).loops == ["prim::Print is nothing that loops over elements know", ""]


# ---- without machine code

PROGRAM = """
import kindling as torch

@torch.jit.script
def distances(x, table):
    for i in range(1, x.size(0)):
        table[i] = min(float(x[i]), float(table[i - 1]) + 0.5)
    return table.sum()

x = torch.arange(500) % 7 + 0.25
print(distances(x[:3], torch.zeros(3)).item(), distances(x, torch.zeros(500)).item(), torch.compiler.explain(distances)(x, torch.zeros(500)).loops)
"""


def test_where_executable_memory_is_refused(tmp_path):
    """By the kernel (PR_SET_MDWE), not by an option of ours: machine code is made, and has nowhere to lie."""
    (tmp_path / "program.py").write_text(PROGRAM)
    start = "import ctypes, os, sys\nif ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): sys.exit(77)\nos.execv(sys.executable, [sys.executable, sys.argv[1]])"
    plain = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=60)
    refused = subprocess.run([sys.executable, "-c", start, tmp_path / "program.py"], capture_output=True, text=True, timeout=60)
    if refused.returncode == 77:
        pytest.skip("this kernel refuses no executable memory (PR_SET_MDWE is of Linux 6.3)")
    assert plain.returncode == 0 and refused.returncode == 0, refused.stderr
    assert refused.stdout == plain.stdout


def test_machine_code_can_be_switched_off(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    runs = [subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=60, env={**os.environ, "KINDLING_NATIVE": way})
            for way in ("0", "1")]
    assert runs[0].returncode == 0 and runs[0].stdout == runs[1].stdout


# ---- what a loop need not compute itself

def first_above(x, limit: float):
    for i in range(x.size(0)):
        if float(x[i]) > limit:
            return i, float(x[i])
    return -1, 0.0


def fibonacci(n: int):
    pair = (0, 1)
    for _ in range(n):
        pair = (pair[1], (pair[0] + pair[1]) % 1000003)
    return pair


def test_tuples_that_are_carried_or_returned():
    x = torch.arange(2.0 * ROUNDS)
    found, pairs = torch.jit.script(first_above), torch.jit.script(fibonacci)
    for limit in (-1.0, 7.5, 1e9, 500.5):
        assert found(x, limit) == first_above(x, limit)
    assert pairs(ROUNDS) == fibonacci(ROUNDS) and pairs(0) == (0, 1)
    assert is_machine_code(found, x, 1e9) and is_machine_code(pairs, ROUNDS)


def weighted(x, w: Optional[torch.Tensor], mode: str):
    s = 0.0
    for i in range(x.size(0)):
        v = float(x[i])
        if w is not None:
            v = v * float(w[i])
        if mode == "squares":
            v = v * v
        s += v
    return s


def test_what_may_be_none_and_texts():
    """There is code for each of them: None or not, and the text."""
    x, w = torch.arange(1.0 * ROUNDS), torch.arange(1.0 * ROUNDS) % 3
    scripted = torch.jit.script(weighted)
    for given in (w, None, w):
        for mode in ("squares", "plain", "squares"):
            assert scripted(x, given, mode) == weighted(x, given, mode)
    assert is_machine_code(scripted, x, None, "plain") and is_machine_code(scripted, x, w, "squares")


def test_what_a_branch_hands_on_is_the_same_value():
    @torch.jit.script
    def kept(x, w: Optional[int]):
        for _ in range(3):
            if w is not None:
                x = x * w
        return x, w

    assert kept(torch.ones(1), 2) == (torch.tensor([8.0]), 2) and kept(torch.ones(1), None) == (torch.ones(1), None)


def test_lower_all_tuples_where_a_block_does_not_read_them():
    @torch.jit.script
    def ends(x):
        for i in range(x.size(0)):
            if float(x[i]) > 5:
                return i, 0
        return -1, 0

    graph = ends.inlined_graph
    torch._C._jit_pass_dce(graph)
    torch._C._jit_pass_lower_all_tuples(graph)
    assert "(int, int)" not in str(graph) and [str(value.type()) for value in graph.outputs()] == ["int", "int"]
