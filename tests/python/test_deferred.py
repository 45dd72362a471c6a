"""Loops that are put off: what fuses, and that no program sees a difference (docs/compile.md)."""

import os
import pickle
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kindling as torch
from kindling import _C
from kindling.nn import functional as F

ROOT = Path(__file__).parents[2]
# Here regions end and are counted; with the variable the whole process is one region.
pytestmark = pytest.mark.skipif(os.environ.get("KINDLING_DEFER") == "1", reason="regions are counted, and KINDLING_DEFER=1 makes the process one")


@pytest.fixture(scope="module", autouse=True)
def small_loops_too():
    """What is tested here is tested on little data."""
    before, os.environ["KINDLING_DEFER_FROM"] = _C._defer_from(0), "0"      # the variable for processes that tests start
    yield
    _C._defer_from(before)
    del os.environ["KINDLING_DEFER_FROM"]


def counted(function, *arguments):
    """What a compiled call gives, how many loops it recorded, and how many ran."""
    before = _C._graph_counts()
    result = torch.compile(function)(*arguments)
    after = _C._graph_counts()
    return result, after["recorded"] - before["recorded"], after["ran"] - before["ran"]


ONE_LOOP = {
    "a chain": (lambda x, y, z: ((x + y) * z - x).relu() * 0.5 + y, [(64, 30)] * 3),
    "gelu": (lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))), [(7, 33)]),
    "a cell": (lambda i, f, g, o, c: torch.sigmoid(o) * torch.tanh(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)), [(64, 512)] * 5),
    "rows and columns": (lambda x, w, c: (x * w + c[:, None]).exp() - x, [(40, 30), (30,), (40,)]),
    "a reshape": (lambda x: (x * 2).reshape(30, 40) + 1, [(40, 30)]),
    "a flat view": (lambda x: ((x * 2).view(-1) + 1).view(5, 240).sigmoid(), [(40, 30)]),
    "into a reduction": (lambda x, y: (x[:, None] - y).pow(2).sum(-1).sqrt(), [(50, 10), (50, 10)]),
    "rms norm": (lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, [(51, 102), (102,)]),
    "softmax by hand": (lambda x: (lambda e: e / e.sum(-1, keepdim=True))((x - x.amax(-1, keepdim=True)).exp()), [(20, 30)]),
    "softmax of a sum": (lambda x, m: torch.softmax(x * 0.125 + m, -1) * 2, [(8, 25, 26), (25, 26)]),
    "layer norm of a sum": (lambda x, y, w, b: F.layer_norm(x + y, (100,), w, b).relu(), [(50, 100), (50, 100), (100,), (100,)]),
    "in place": (lambda x: (x * 2).add_(1).mul_(3).relu_(), [(40, 30)]),
    "dead results": (lambda x: (x * 2, x.exp(), x.sin())[0] + 1, [(40, 30)]),
    "casts": (lambda x: (x.bfloat16() * 2).exp().float() + x, [(40, 30)]),
}


@pytest.fixture(scope="module")
def counts():
    """Of each: whether the result is eager's, loops recorded and run. From a process of its own: in this one operators may have as
    many expressions as they keep, and loops over further ones run at once."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_deferred import ONE_LOOP, counted, torch
torch.manual_seed(0)
found = {{}}
for name, (function, shapes) in ONE_LOOP.items():
    arguments = [torch.randn(shape) for shape in shapes]
    result, recorded, ran = counted(function, *arguments)
    found[name] = torch.equal(result, function(*arguments)), recorded, ran
print(repr(found))
"""
    return eval(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100).stdout)


@pytest.mark.parametrize("name", ONE_LOOP)
def test_is_one_loop(name, counts):
    same, recorded, ran = counts[name]
    assert same and ran == 1 < recorded


def test_several_results_of_one_loop():
    x = torch.randn(40, 30)
    (a, b), recorded, ran = counted(lambda x: (x * 2 + 1, x.exp() - 1), x)
    assert (recorded, ran) == (4, 1) and torch.equal(a, x * 2 + 1) and torch.equal(b, x.exp() - 1)


def recurrence(x):
    for i in range(1, x.shape[1]):
        x[:, i] -= x[:, i - 1] * 0.5
    return x


def halves(x, y):
    y[..., 0] = x.exp()
    y[..., 1] = y[..., 0] * 2
    y[..., 2:] = x[..., None] + y[..., 1, None]
    return y


def differences(x):
    x[:, 1:-1] = x[:, 2:] - x[:, :-2]       # every element is read by two others: no loop of its own may come before it
    x[1:] = x[1:] + x[:-1]
    return x


@pytest.mark.parametrize("function, shapes, recorded, most", [(recurrence, [(40, 8)], 14, 1), (halves, [(20, 30), (20, 30, 5)], 5, 2),
                                                              (differences, [(40, 8)], 4, 4)])
def test_parts_of_one_memory(function, shapes, recorded, most):
    """Parts that have no element in common are as different memories."""
    given = [torch.randn(shape) for shape in shapes]
    expected = function(*[each.clone() for each in given])
    result, found, ran = counted(function, *[each.clone() for each in given])
    assert torch.equal(result, expected) and found >= recorded and ran <= most, (found, ran)


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


@pytest.mark.parametrize("function, shapes, most", [
    (rotated, [(4, 8, 64), (8, 64), (8, 64)], 1),
    (lambda a, b, c: torch.cat([a.exp(), b * 2, c], 1).relu() - 1, [(5, 20, 3), (5, 16, 3), (5, 17, 3)], 3),        # a loop for each part
    (lambda a, b: (torch.cat([a.exp(), b * 2]) + 1).sum(-1), [(9, 30), (20, 30)], 2),
    (lambda a, b: torch.stack([a * 2, a + b]).sigmoid(), [(40, 30), (40, 30)], 1),
    (lambda a, b: torch.cat([torch.cat([a, b * 2], -1) * 3, b], -1) + 1, [(6, 20), (6, 30)], 3),
])
def test_a_concatenation_is_read_part_by_part(function, shapes, most):
    """It is never stored: what reads it is cut where its parts meet, and each piece joins what made that part."""
    given = [torch.randn(shape) for shape in shapes]
    result, recorded, ran = counted(function, *given)
    assert torch.equal(result, function(*given)) and ran <= most < recorded, (recorded, ran)


@pytest.mark.parametrize("function, most", [
    (lambda x: torch.cat([x * 2, x], -1).softmax(-1), 2),                     # rows go across the seam
    (lambda x: (lambda y: (y * 2, y))(torch.cat([x + 1, x], -1)), 3),         # somebody holds it
    (lambda x: torch.cat([x + 1, x], -1).add_(1).mul_(2), 4),                 # written in place
    (lambda x: torch.cat([x[:, :3] + 1, x], -1) * 2, 3),                      # short rows: cheaper to store
    (lambda x: torch.cat([x * i for i in range(6)], -1) * 2, 3),              # many
    (lambda x: torch.cat([x + 1, x], -1).t() * 2, 2),                         # read in another order
])
def test_a_concatenation_that_is_stored(function, most):
    x = torch.randn(20, 30)
    result, recorded, ran = counted(function, x)
    assert ran <= most, (recorded, ran)
    expected = function(x)
    assert all(torch.equal(a, b) for a, b in zip(result, expected)) if isinstance(result, tuple) else torch.equal(result, expected)


@pytest.mark.parametrize("function, recorded, most", [
    (lambda x: F.pad(x * 2, (1, 2), value=3), 3, 2),
    (lambda x: F.pad(x, (-1, 2, 0, 1)) + 1, 3, 3),
    (lambda x: (x * 2).flip(0, -1) + 1, 3, 2),
    (lambda x: (x + 1).roll(2, 0) * 2, 4, 3),
    (lambda x: (x + 1).roll(300) * 2, 4, 2),
    (lambda x: torch.autograd.functional.vjp(lambda y: (y[2:] * 2).exp(), x, torch.ones(18, 30))[1], 5, 4),
])
def test_padding_turning_and_rolling_are_loops(function, recorded, most):
    x = torch.randn(20, 30)
    result, found, ran = counted(function, x)
    assert torch.equal(result, function(x)) and found >= recorded and ran <= most, (found, ran)


def test_parts_that_are_read_backwards():
    """The bytes of an operand with negative strides lie in front of its first element."""
    def program(x, o):
        o[0:4] = x[0:4] * 2
        y = x[5:].flip(0) + 1
        x[5:9] = o[0:4] + 3
        return y

    x, o = torch.arange(10.0), torch.zeros(10)
    expected = program(x.clone(), o.clone())
    assert torch.equal(torch.compile(program)(x, o), expected)


def test_products_are_put_off():
    x, w = torch.randn(8, 16), torch.randn(16, 4)
    result, recorded, ran = counted(lambda x, w: ((x * 2 + 1) @ w).relu() * 3, x, w)
    assert (recorded, ran) == (5, 3) and torch.equal(result, ((x * 2 + 1) @ w).relu() * 3)


def test_copies_are_loops_of_their_own():
    """They are made by planes, and a row kernel that stores what it reads is none for machine code."""
    x, y = torch.randn(200, 300), torch.randn(200, 300)
    (a, b), recorded, ran = counted(lambda x, y: (x.t().contiguous(), y.t().contiguous()), x, y)
    assert recorded == ran == 2 and torch.equal(a, x.t()) and torch.equal(b, y.t())
    (a, b), recorded, ran = counted(lambda x: (F.layer_norm(x * 2, (300,)), x.clone()), x)
    assert ran == 2 < recorded and torch.equal(a, F.layer_norm(x * 2, (300,))) and torch.equal(b, x)
    a, recorded, ran = counted(lambda x, y: x.t().contiguous() + y.t().contiguous(), x, y)
    assert ran == 1 and torch.equal(a, x.t() + y.t())


def test_exchange_in_place():
    def exchange(a, b):
        t = a.clone()
        a.copy_(b)
        b.copy_(t)

    a, b = torch.arange(5.0), torch.arange(5.0) * 10
    torch.compile(exchange)(a, b)
    assert a.tolist() == [0, 10, 20, 30, 40] and b.tolist() == [0, 1, 2, 3, 4]


def test_backward_outside_is_fused():
    x = torch.randn(50, 60, requires_grad=True)

    def loss(x):
        return ((x * 2).sigmoid() * x).tanh().sum()

    loss(x).backward()
    expected, x.grad = x.grad, None
    value = torch.compile(loss)(x)
    before = _C._graph_counts()
    value.backward()
    after = _C._graph_counts()
    assert torch.equal(x.grad, expected)
    assert after["recorded"] - before["recorded"] > after["ran"] - before["ran"] > 0


# ---- what forces

ESCAPES = {
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy().tolist(),
    "print": lambda x: repr(x),
    "bool": lambda x: bool((x > 0).any()),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).tolist(),
    "storage": lambda x: x.untyped_storage().tolist(),
    "buffer": lambda x: bytes(memoryview(x)),
    "indices": lambda x: x.nonzero().tolist(),
    "deepcopy": lambda x: __import__("copy").deepcopy(x).tolist(),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_escape(name):
    seen = []

    @torch.compile
    def program(x):
        y = x * 2 + 1
        seen.append(ESCAPES[name](y))
        return y * 3

    x = torch.tensor([1.0, -2.0, 3.0])
    assert torch.equal(program(x), (x * 2 + 1) * 3)
    assert seen == [ESCAPES[name](x * 2 + 1)]


def test_numpy_memory_is_read_at_the_call():
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(4, dtype=numpy.float32)

    @torch.compile
    def program():
        y = torch.from_numpy(array) * 2
        array[:] = 5
        z = torch.zeros(4)
        shown = z.numpy()
        w = z + 1
        shown[:] = 7
        return y, w

    y, w = program()
    assert y.tolist() == [2] * 4 and w.tolist() == [1] * 4


def test_another_thread_reads():
    results = []

    @torch.compile
    def program(x):
        y = x * 2 + 1
        thread = threading.Thread(target=lambda: results.append(y.tolist()))
        thread.start()
        thread.join()
        return y

    program(torch.ones(3))
    assert results == [[3, 3, 3]]


def test_threads_that_share_what_they_read_and_write():
    shared = torch.zeros(100_000)
    lock = threading.Lock()
    faults = []

    @torch.compile
    def step(mine):
        y = (mine * 2 + shared * 0).exp()
        with lock:
            shared.add_(1)
        return y.log()

    def work(number):
        mine = torch.full((100_000,), float(number))
        for _ in range(30):
            if not torch.allclose(step(mine), mine * 2):
                faults.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and shared.eq(120).all()


def test_ends_by_an_exception():
    kept = []

    @torch.compile
    def program(x, out):
        out.add_(x * 2)
        kept.append(x + 1)
        raise KeyError("no")

    out = torch.zeros(3)
    with pytest.raises(KeyError):
        program(torch.ones(3), out)
    assert out.tolist() == [2, 2, 2] and kept[0].tolist() == [2, 2, 2]
    assert not _C._graph_counts()["recorded"] < 0 and (torch.ones(2) + 1).tolist() == [2, 2]


def test_errors_come_at_the_call():
    lines = []

    @torch.compile
    def program(x):
        y = x * 2
        lines.append(1)
        try:
            y + torch.ones(5)
        except RuntimeError as error:
            lines.append(str(error))
        return y

    assert program(torch.ones(3)).tolist() == [2, 2, 2]
    assert lines[0] == 1 and "size of tensor a (3) must match" in lines[1]


@pytest.mark.parametrize("divide", [lambda x, y: x % y, lambda x, y: x // y, lambda x, y: x.fmod(y), lambda x, y: x.div(y, rounding_mode="trunc"), lambda x, y: x.clone().remainder_(y)])
def test_divisors_that_are_negated_lazily(divide):
    def division(x):
        try:
            return divide(x, x._neg_view()) + 1
        except RuntimeError:
            return "refused"

    zeros, ones = torch.arange(10000) % 7, torch.arange(10000) % 7 + 1
    assert torch.compile(division)(zeros) == division(zeros) == "refused"
    assert torch.equal(torch.compile(division)(ones), division(ones))


def test_division_of_integers_looks_at_divisors_alone():
    """A zero is found at the call, by a look at the divisors; the rest waits, and is one loop with what stands around."""
    def division(x, y):
        return (x * 2 + y) // y % y + 1

    x, y = torch.arange(10_000), torch.arange(10_000) % 7 + 1     # long enough to be put off
    told = torch.compiler.explain(division)(x, y)
    assert [(run.recorded, run.ran) for run in told.runs] == [(5, 1)], told
    compiled = torch.compile(division)
    assert torch.equal(compiled(x, y), division(x, y))

    @torch.compile
    def caught(x, y):
        waiting = x * 2
        try:
            return waiting // y
        except RuntimeError as error:
            return waiting - 1, str(error)

    y[500] = 0
    result, said = caught(x, y)
    assert said == "ZeroDivisionError" and torch.equal(result, x * 2 - 1)
    assert torch.equal(caught(x.float(), y)[:500], (x.float() * 2)[:500] // y[:500])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, y - 1)
    assert caught(x[:0], y[:0]).shape == (0,)


def test_forks_with_pending_work():
    code = """
import os, sys
import kindling as torch
@torch.compile
def program(x):
    y = x * 2 + 1
    child = os.fork()
    if not child:
        os._exit(0 if y.tolist() == [3, 3, 3] else 1)
    assert os.waitpid(child, 0)[1] == 0
    return y
assert program(torch.ones(3)).tolist() == [3, 3, 3]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_random_numbers_are_eagers():
    def program(x):
        a = torch.rand(3) + x
        torch.randn(4)       # nobody needs it, and it advances the stream
        b = F.dropout(x * 2, 0.5)
        return a, b, torch.randint(9, (3,))

    x = torch.ones(3)
    torch.manual_seed(3)
    expected = program(x)
    torch.manual_seed(3)
    assert all(torch.equal(a, b) for a, b in zip(torch.compile(program)(x), expected))


@pytest.mark.skipif("KINDLING_SANITIZED" in os.environ, reason="under a sanitizer every block comes from the system and is not counted")
@pytest.mark.parametrize("made, right", [("(x[:, None] * torch.ones(20_000)).exp()", "y[0, 0].item() > 2.7"),
                                         ("(torch.ones(40_000, 16) @ torch.ones(16, 500)).relu() + 1", "y.shape == (40_000, 500) and (y == 17).all()")])
def test_without_room_a_read_raises_and_the_next_tries_again(made, right):
    code = f"""
import kindling as torch
x = torch.ones(1000)
torch.set_memory_limit(50_000_000)
try:
    with torch.deferred():
        y = {made}        # 80 MB
        small = x + 1
        for _ in range(2):
            try:
                y.sum().item()
                raise SystemExit("there was room")
            except (RuntimeError, MemoryError) as error:
                assert "memory" in str(error), error
except (RuntimeError, MemoryError) as error:               # the end of the region wants it, too
    assert "memory" in str(error), error
torch.set_memory_limit(None)
assert {right} and small.tolist() == [2.0] * 1000
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


# ---- plans

def test_numbers_are_not_in_the_key():
    @torch.compile
    def step(x, rate):
        return (x - rate * x.sign()) * (1 - rate)

    x = torch.randn(30)
    step(x, 0.1)
    before = _C._graph_counts()["plans"]
    for i in range(50):
        rate = 0.1 / (i + 1)
        assert torch.equal(step(x, rate), (x - rate * x.sign()) * (1 - rate))
    assert _C._graph_counts()["plans"] == before


def test_training_with_a_schedule_keeps_its_plans():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.randn(16, 4)
    for _ in range(5):
        step(x), schedule.step()
    before = _C._graph_counts()["plans"]
    for _ in range(40):
        step(x), schedule.step()
    assert _C._graph_counts()["plans"] == before


def test_memory_stays_flat():
    @torch.compile
    def program(x):
        return (x * 2 + 1).relu().sum()

    x = torch.randn(100, 100)
    for _ in range(10):
        program(x)
    before = _C._memory_stats()["allocated_bytes.all.current"]
    for _ in range(2000):
        program(x)
    assert _C._memory_stats()["allocated_bytes.all.current"] == before


def test_explain():
    def program(x):
        y = (x * 2 + 1).exp()
        if y.sum() > 0:                       # needs a value
            y = y * 3
        return y

    told = torch.compiler.explain(program)(torch.ones(4, 5))
    assert (told.recorded, told.ran) == (6, 3) and len(told.runs) == 2
    line = program.__code__.co_firstlineno + 2
    assert told.runs[0].where == f"{__file__}:{line}" and told.runs[1].where is None
    assert told.runs[0].bytes_apart > told.runs[0].bytes_fused and "Exp" in str(told) and " us\n" in str(told) and torch.equal(told.result, program(torch.ones(4, 5)))


def test_deferred_is_a_context():
    x = torch.ones(3)
    with torch.deferred(), torch.deferred():
        y = x * 2 + 1
    assert y.tolist() == [3, 3, 3]


def test_trace(tmp_path):
    file = tmp_path / "trace"
    code = "import kindling as torch\nx = torch.ones(4, 5)\ntorch.compile(lambda x: ((x * 2).sum(-1) + 1).exp())(x)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "KINDLING_TRACE_GRAPH": str(file)}, timeout=60)
    text = file.read_text()
    recorded, plan = text.split("plan\n")
    assert recorded.count("loop ") == 4 and plan.count("loop ") == 1
    assert "loop 0 over [4, 5], reduces 1\n    stands for 0 1 2 3" in plan and "then" in plan and "Exp" in plan


def test_deferred_by_the_environment():
    code = """
import kindling as torch
from kindling import _C
x = torch.randn(10)
y = (x + 1) * 2
assert not any(_C._graph_counts().values())
assert y.tolist() and _C._graph_counts() == {"recorded": 2, "ran": 1, "plans": 1, "flushes": 1}
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "KINDLING_DEFER": "1"}, timeout=60)


@pytest.mark.parametrize("seed", [1, random.randrange(10**6)])
def test_random_programs(seed):
    """Random programs, eager beside deferred; the second seed is another one each time."""
    for what, count in ([], "400"), (["--graphs"], "100"):
        done = subprocess.run([sys.executable, ROOT / "tests" / "fuzz" / "deferred.py", *what, "--count", count, "--seed", str(seed)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_deferred_is_a_decorator():
    @torch.deferred()
    def function(x):
        """Its text."""
        return (x + 1) * 2

    assert function.__doc__ == "Its text." and function(torch.ones(5000)).unique().tolist() == [4.0]
