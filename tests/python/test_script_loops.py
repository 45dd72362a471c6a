"""Loops over elements in scripts: machine code, the interpreter of the same code, the interpreter of graphs, and PyTorch give the same."""
import importlib.util
import sys
from pathlib import Path

import pytest
import torch

import kindling

SOURCE = Path(__file__).resolve().parents[2] / "benchmarks" / "loops" / "programs.py"


@pytest.fixture
def programs(tmp_path_factory):
    """The programs of the benchmark, for PyTorch and for Kindling; anew for each test, because a function of PyTorch's that has run with
    float32 twice goes on rounding to it with float64."""
    made = []
    for module in ("torch", "kindling"):
        path = tmp_path_factory.mktemp("loops") / f"loops_{module}.py"
        path.write_text(SOURCE.read_text().replace("import torch\n", f"import {module} as torch\n", 1))
        spec = importlib.util.spec_from_file_location(f"loops_{module}", path)
        program = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = program
        spec.loader.exec_module(program)
        made.append(program)
    return made


NAMES = ("edit_distance", "mandelbrot", "floyd_warshall", "lstm", "beam_search", "life", "kmeans_assign", "matmul", "list_distance", "list_paths")


def values(arguments):
    return [each.tolist() if hasattr(each, "tolist") else each for each in arguments]


@pytest.mark.parametrize("strided", [False, True], ids=["contiguous", "strided"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_programs(programs, name, dtype, strided):
    results = []
    for module, program in zip((torch, kindling), programs):
        function = module.jit.script(getattr(program, name))
        for _ in range(2):
            arguments = program.inputs(name, program.SMALL[name], getattr(module, dtype), strided)
            result = function(*arguments)
        results.append((result, values(arguments), [each._version for each in arguments if hasattr(each, "_version")]))
    assert results[1] == results[0]
    large = programs[1].inputs(name, 8 * programs[1].SMALL[name], getattr(kindling, dtype), strided)   # worth lowering
    function(*large)
    left = {"", "it has not run long enough"}
    if name == "list_distance":   # makes a row before it walks over it
        left |= {f"aten::{each} of int[] is nothing that loops over elements know" for each in ("append", "mul")}
    assert "" in function._loops() and not set(function._loops()) - left, function._loops()


LOOPS = """
def over(a, n: int):
    for i in range(n):
        a[i] = i
def divides(a, n: int):
    s = 0
    for i in range(n):
        s += i // (n - i - 100)
        a[i] = s
    return s
def modulo(a, n: int):
    s = 0
    for i in range(n):
        s += i % (n - i + 3)
    return s
def raises(a, n: int):
    for i in range(n):
        a[i] = i
        if i == 150:
            raise ValueError("at 150")
def helper(a, i: int):
    return a[i] + a[i + 1]
def below(a, n: int):
    s = 0.0
    for i in range(n):
        s += float(helper(a, i))
    return s
def sums(a, n: int):
    s = torch.zeros([])
    for i in range(n):
        s += a[i] * a[i]
    return s
def summed(a, n: int):
    s = torch.zeros([])
    for i in range(n):
        s = s + a[i]
    return s
def aliased(a, n: int):
    for i in range(1, n):
        a[i] = a[i] + a[i - 1]
    return a
def shifted(a, n: int):
    b = a[1:]
    for i in range(n):
        b[i] = a[i] + 1
    return a
def negative(a, n: int):
    s = 0.0
    for i in range(n):
        s += float(a[-1 - i])
    return s
def mixed(a, n: int):
    t = a[0] * 0
    for i in range(n):
        t = a[i] * 0.1 + 3
        a[i] = t
    return t
def whole(a, n: int):
    s = 0
    for i in range(n):
        s += int(a[i]) * 3 - (i >> 1) & 7
        a[i] = s
    return s
def conditions(a, n: int):
    best = -1
    value = -1e9
    for i in range(n):
        if float(a[i]) > value and (i % 2 == 0 or i > 10):
            value = float(a[i])
            best = i
    return best, value
def backwards(a, n: int):
    s = 0
    for i in range(n, 0, -3):
        s = s * 3 % 1000003 + i
    return s
def whiles(a, n: int):
    i = 0
    steps = 0
    while i < n * 1000:
        steps += 1
        i = i * 2 + 1 if steps % 2 == 0 else i + 3
    return i, steps
"""
SIZES = {"over": 200, "raises": 200, "below": 200}


LISTS = """
def steps(x: List[int], n: int):
    s = 0
    for i in range(n):
        x[i] = x[i] * 3 % 1009 + x[-1 - i] + len(x)
        s += x[i]
    return s
def means(y: List[float], n: int):
    s = 0.0
    for i in range(1, n):
        y[i] = (y[i] + y[i - 1]) / 2
        s = max(s, y[i])
    return s
def sieve(b: List[bool], n: int):
    count = 0
    for i in range(2, n):
        if b[i]:
            count += 1
            j = i * i
            while j < n:
                b[j] = False
                j += i
    return count
def flips(b: List[bool], n: int):
    for i in range(n):
        b[i] = not b[i] and i % 3 != 0
    return n
def beyond(x: List[int], n: int):
    for i in range(n + 100):
        x[i] = i
    return n
def before(x: List[int], n: int):
    s = 0
    for i in range(n + 200):
        s += x[-i]
    return s
def the_same(x: List[int], n: int):
    z = x
    for i in range(1, n):
        z[i] = x[i - 1] + z[i]
    return z[n - 1]
def into(x: List[int], t: Tensor, n: int):
    for i in range(n):
        x[i] = int(t[i]) + x[i]
        t[i] = x[n - 1 - i]
    return float(t[0])
def distance(x: List[int], z: List[int], n: int):
    before = [i for i in range(n + 1)]
    for i in range(n):
        now = [i + 1] + [0] * n
        for j in range(n):
            cost = 0 if x[i] == z[j] else 1
            now[j + 1] = min(min(now[j] + 1, before[j + 1] + 1), before[j] + cost)
        before = now
    return before[n]
def grows(x: List[int], n: int):
    for i in range(n):
        x.append(x[i] + i)
    return len(x)
def nested(w: List[List[int]], n: int):
    s = 0
    for i in range(n):
        row = w[i % len(w)]
        for j in range(len(row)):
            row[j] += i
            s += w[i % len(w)][j]
    return s
def beyond_nested(w: List[List[int]], n: int):
    s = 0
    for i in range(n):
        s += w[i % 9][i // 50]
    return s
def paths(e: List[List[float]], n: int):
    for k in range(len(e)):
        for i in range(len(e)):
            for j in range(len(e)):
                if e[i][k] + e[k][j] < e[i][j]:
                    e[i][j] = e[i][k] + e[k][j]
    return e[3][5]
"""
LENGTH = 300


def filled(kind):
    return {"x": [i * 7 % 31 for i in range(LENGTH)], "z": [i * 5 % 31 for i in range(LENGTH)], "y": [i * 0.37 % 5 for i in range(LENGTH)],
            "b": [i > 1 for i in range(LENGTH)], "w": [[i, i + 1, i * i] for i in range(9)],
            "e": [[float((i * 31 + j * 17) % 97) for j in range(90)] for i in range(90)]}[kind]


@pytest.mark.parametrize("name", [line[4:line.index("(")] for line in LISTS.split("\n") if line.startswith("def ")])
def test_lists(name):
    """Lists of numbers that come in are read and written in place; PyTorch's scripts work on copies, so the lists are compared by what is returned."""
    line = next(line for line in LISTS.split("\n") if line.startswith(f"def {name}("))
    parameters = [each.partition(":")[0].strip() for each in line[line.index("(") + 1:line.index(")")].split(", ")]
    lists = [each for each in parameters if each not in ("n", "t")]
    text = LISTS + f"""
def all_of(function_{line[line.index("("):].removeprefix("(")}
    result = {name}({", ".join(parameters)})
    return result, {", ".join(lists)}
"""
    text = text.replace("def all_of(function_", "def all_of(")
    results = []
    for module in (torch, kindling):
        unit = module.jit.CompilationUnit(text)
        for _ in range(3):
            t = (module.arange(LENGTH) % 17).to(module.float32)
            arguments = [t if each == "t" else 200 if each == "n" else filled(each) for each in parameters]
            try:
                result = unit.all_of(*arguments)
            except RuntimeError as error:
                result = str(error).strip().splitlines()[-1]
        results.append((result, t.tolist()))
    assert results[1] == results[0]
    why = unit.all_of._loops()
    assert "" in why if name not in ("grows", "beyond", "before", "beyond_nested") else name != "grows" or "nothing that loops" in str(why), why


def test_a_list_of_floats_that_holds_ints_is_left_to_the_interpreter():
    unit = kindling.jit.CompilationUnit("def f(y: List[float], n: int):\n    s = 0.0\n    for i in range(n):\n        s += y[i]\n    return s\n")
    assert [unit.f([1, 2.5] * 100, 200) for _ in range(3)] == [350.0] * 3


@pytest.fixture
def units():
    return torch.jit.CompilationUnit(LOOPS), kindling.jit.CompilationUnit(LOOPS)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "int8"])
@pytest.mark.parametrize("name", [line[4:line.index("(")] for line in LOOPS.split("\n") if line.startswith("def ") and "helper" not in line])
def test_loops(units, name, dtype):
    """Results, what is written, versions, and the errors that end a loop, with what had been written by then."""
    results = []
    for module, unit in zip((torch, kindling), units):
        length = 150 if name in ("over", "below") else 300
        a = (module.arange(length) % 50).to(getattr(module, dtype))
        if name == "below":
            a = a * 1
        function = getattr(unit, name)
        for _ in range(2):
            b = a.clone()
            try:
                result = function(b, 200)
                result = result.tolist() if hasattr(result, "tolist") else result
            except RuntimeError as error:
                result = f"{type(error).__name__}: {error}"
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
        results.append((result, b.tolist(), b._version))
    assert results[1] == results[0]


def test_watched_tensors_are_left_to_the_interpreter(units):
    grads = []
    for module, unit in zip((torch, kindling), units):
        a = module.arange(100, dtype=module.float64).requires_grad_(True)
        unit.summed(a, 100).backward()
        grads.append(a.grad.tolist())
    assert grads[0] == grads[1]


def test_interrupt(units):
    import os
    import signal
    import threading
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kindling.jit.CompilationUnit("def f(n: int):\n    s = 0\n    for i in range(n):\n        s = s * 3 % 1000003 + i\n    return s\n").f(1 << 60)
    timer.join()


def test_kernels_of_others(units):
    """A kernel that was added to some operator leaves loops alone that do not call it; one for an operator of the loop runs."""
    library = kindling.library.Library("loops_apart", "DEF")
    library.define("own(Tensor x) -> Tensor")
    library.impl("own", lambda x: x + 1, "CPU")
    function = kindling.jit.CompilationUnit(LOOPS).negative
    a = kindling.arange(200.0)
    assert function(a, 200) == 19900 and function._loops() == [""]
