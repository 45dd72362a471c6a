"""torch.compiler.explain of scripted loops: whether they run as machine code, in vector lanes and in threads, and what kept them from it."""
import pytest

import kindling as torch

NOT_YET = "it has not run long enough"
TOGETHER = "not every access to what is written has an index that is another one in each round"
CHECKED = "an index is not proved to fit (line 4)"
# A loop over i of x, y (float64 but for those that say otherwise), z (int64) and n: what is said of lanes, of threads.
LOOPS = {
    "plain": ("y[i] = x[i] * 2", "", ""),
    "branch": ("if bool(x[i] > 0.5):\n            y[i] = x[i] * 2", "", ""),
    "shifted": ("y[i] = float(x[i]) + 1.0 if i < 3 else float(x[i])", "", ""),
    "recurrence": ("if i > 0:\n            y[i] = float(y[i - 1]) * 0.5", "what a round writes may be what the next ones read or write", TOGETHER),
    "chosen": ("y[i] = x[int(z[i])]", "an element is chosen by another element", CHECKED),
    "all in one": ("y[0] = x[i]", "all rounds write to one element", TOGETHER),
    "division": ("z[i] = int(z[i]) // 3 + i % 7", "ints are divided", ""),
    "call": ("y[i] = math.exp(float(x[i]))", "a call of exp", ""),
    "raise": ("if bool(x[i] < 0.0):\n            raise ValueError('negative')\n        y[i] = 1.0", "it is no for that runs to its end", "an exception may be raised (line 5)"),
    "break": ("if bool(x[i] < 0.0):\n            break\n        y[i] = 1.0", "it is no for that runs to its end", "it may end early"),
    "guess": ("y[i] = x[i]", "", ""),
    "while": ("k = int(z[i])\n        while k < 9:\n            k += 1\n        z[i] = k", "it is no for that runs to its end; how often a loop inside runs is another number in each round", ""),
    "inside": ("for k in range(int(z[i])):\n            y[i] += 1.0", "all rounds write to one element; how often a loop inside runs is another number in each round", ""),
}


def explained(text, *arguments):
    function = torch.jit.CompilationUnit(text).f
    for _ in range(2):
        told = torch.compiler.explain(function)(*arguments)
    return told


def arguments(n, dtype=torch.float64):
    return torch.linspace(0, 1, n, dtype=dtype), torch.zeros(n, dtype=dtype), torch.ones(n, dtype=torch.int64), n


@pytest.mark.parametrize("name", LOOPS)
def test_reasons(name):
    body, lanes, threads = LOOPS[name]
    told = explained(f"""
def f(x, y, z, n: int):
    for i in range({'n' if name == 'guess' else 'x.size(0)'}):
        {body}
""", *arguments(2000))
    at = max((i for i, why in enumerate(told.loops) if why != NOT_YET), default=None)
    assert at is not None and told.loops[at] == "", told.loops
    assert told.lanes[at] == lanes
    assert told.threads[at] == threads or (threads == "" and told.threads[at] in ("it is over sooner than threads are woken", "there is one thread"))
    said = str(told).split("\n")[-len(told.loops) + at]
    assert said.startswith(f"loop at line {told.lines[at]}: machine code; {'not in lanes: ' + lanes if lanes else 'in lanes'}; "), said


# Loops over a, b (matrices) and n: indices that fit because a counter ends before a size.
FITTING = {
    "stencil": ("for i in range(1, x.size(0) - 1):\n        y[i] = float(x[i - 1]) + float(x[i + 1])", ""),
    "ahead": ("m = len(x)\n    for i in range(m - 3):\n        y[i + 2] = float(x[i]) + float(x[i + 3])", ""),
    "reversed": ("m = x.size(0)\n    for i in range(m):\n        y[i] = x[m - 1 - i]", ""),
    "reversed within": ("for i in range(n):\n        y[n - 1 - i] = float(x[i])", "not every access to what is written has an index that is another one in each round"),
    "too far": ("for i in range(x.size(0) - 2):\n        y[i] = float(x[i + 3]) if i < 100 else 0.0", "an index is not proved to fit (line 3)"),
    "grid": ("for i in range(1, a.size(0) - 1):\n        for j in range(1, a.size(1) - 1):\n            b[i, j] = float(a[i - 1, j]) + float(a[i, j + 1])", ""),
}


@pytest.mark.parametrize("name", FITTING)
def test_indices_that_fit(name):
    import torch as reference
    body, why = FITTING[name]
    text = f"def f(x, y, a, b, n: int):\n    {body}\n"
    results = []
    for module in (torch, reference):
        x, a = module.arange(2000.) * 37 % 101, module.arange(3600.).reshape(60, 60) * 37 % 101
        given = x, module.zeros(2000), a, module.zeros(60, 60), 2000
        if module is torch:
            threads = explained(text, *given).threads
            # A loop inside has its own line, which says nothing until it runs by itself.
            assert (why in threads) if why else any(each in ("", "it is over sooner than threads are woken", "there is one thread") for each in threads), threads
        else:
            module.jit.CompilationUnit(text).f(*given)
        results.append((given[1].tolist(), given[3].tolist()))
    assert results[0] == results[1]


DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lanes_of_dtypes_and_strides(dtype, step):
    """Four rounds at once give what one round at a time gives, beside memory that stays as it is."""
    import torch as reference
    text = """
def f(x, y):
    for i in range(x.size(0)):
        y[i] = EXPRESSION
""".replace("EXPRESSION", "x[i] ^ y[i]" if dtype == "bool" else "x[i] * 3 - y[i]")
    results = []
    for module in (torch, reference):
        whole = module.arange(6 * 131) % 251 % (2 if dtype == "bool" else 251)
        x, y = (whole + 0).to(getattr(module, dtype)), whole.flip(0).to(getattr(module, dtype))
        view = [module.as_strided(each, [131], [step], 2) for each in (x, y)]
        if module is torch:
            told = explained(text, *view)
            assert told.loops == [""]
            # What takes a byte or two and lies apart is done round by round.
            assert (told.lanes == [""]) == (step == 1 or dtype in DTYPES[:4]), told.lanes
        else:
            function = module.jit.CompilationUnit(text).f
            for _ in range(2):
                function(*view)
        results.append(y.tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("source", [
    "y[i] = x[i - 1] + x[i + 1]", "y[i + 1] = x[i] - x[i + 2]", "y[i] = x[n - 1 - i]", "y[n - 1 - i] = x[i] * 2", "y[i - 3] = x[i] + x[-1 - i]",
    "x[i] = x[i + 2] + 1", "x[i - 2] = x[i] + 1", "x[i] = x[i - 1] + 1", "y[i] = x[i - 2 * k]"])
def test_places_beside_the_counter(source, dtype):
    """Rounds with an index that counts from the end are done one at a time, and those beyond the end are errors, wherever the range begins."""
    import torch as reference
    text = f"""
def f(x, y, start: int, stop: int, k: int):
    n = x.size(0)
    for i in range(start, stop):
        {source}
"""
    lanes = set()
    for n, start, stop, k in ((64, 3, 61, 1), (63, 0, 60, 1), (63, -3, 50, 0), (9, 2, 6, 3), (40, -41, 20, 1), (40, 20, 45, 2), (130, 5, 128, 2)):
        told = []
        for module in (torch, reference):
            x = (module.arange(n) * 7 % 31).to(getattr(module, dtype))
            y = module.zeros(n, dtype=x.dtype)
            function = module.jit.CompilationUnit(text).f
            error = None
            for _ in range(2):
                try:
                    function(x, y, start, stop, k)
                except Exception as problem:
                    error = type(problem).__name__
            told.append((x.tolist(), y.tolist(), error))    # what an error leaves, too
            if module is torch and error is None:
                lanes.update(torch.compiler.explain(function)(x, y, start, stop, k).lanes)
        assert told[0] == told[1], (n, start, stop, k)
    assert ("" in lanes) == (source not in ("x[i] = x[i - 1] + 1", "x[i] = x[i + 2] + 1", "x[i - 2] = x[i] + 1")), lanes
