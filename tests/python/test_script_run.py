"""Scripts run: values, gradients, what is printed, and what is said where a line fails, beside PyTorch."""
import contextlib
import io
import subprocess
import sys
import warnings

import pytest
import torch

import kindling

TEXT = '''
def helper(x, n: int):
    return torch.mm(x, x) + n
def calls(x):
    y = helper(x, 2)
    return y
def deeper(x, n: int):
    for i in range(n):
        x = helper(x, i) + 1
    return x
def deepest(x, n: int):
    y = deeper(x, n)
    return deeper(y, n) * 2
def element(x, i: int):
    return float(x[i])
def total(x, n: int):
    s = 0.0
    for i in range(n):
        s += element(x, i)
    return s
def above(x, n: int):
    return total(x, n) + 1
def raises(n: int):
    if n > 3:
        raise ValueError("too big")
    return n
def asserts(n: int):
    assert n < 3, "not less"
    return n
def indexes(x, n: int):
    return x[n]
def listed(x: List[int], n: int):
    return x[n]
def keyed(x: Dict[str, int], key: str):
    return x[key]
def loops(n: int):
    s = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if s > 50:
            break
        s += i * 2
    return s
def waits(x):
    n = 0
    while bool(x.sum() < 100):
        x = x * 2 + 1
        n += 1
    return x, n
def swaps(a: int, b: int, n: int):
    for i in range(n):
        a, b = b, a + b
    return a, b
def several(x: Tuple[int, float], names: List[str], maybe: Optional[Tensor], table: Dict[str, int]):
    a, b = x
    if maybe is not None:
        b = b + float(maybe.sum())
    return a + int(b), names, maybe, table
def early(x, flag: bool):
    if flag:
        return x
    for i in range(3):
        x = x + i
        if i == 1:
            return x * 10
    return x
def prints(x: int, name: str):
    print(x, name, 1.5, [1, 2], True, None)
    return x
def writes(x):
    x.add_(1)
    x[0] = 5
    return x
def squares(n: int):
    return [i * i for i in range(n)]
def defaults(n: int, m: int = 3):
    return n * m
def divides(a: int, b: int):
    return a // b
def widths(x):
    return x.shape[0], x.size(1), x.dim(), x.dtype, len(x)
'''
CALLS = [
    ("calls", ("ones(2, 2)",)), ("calls", ("ones(2, 3)",)), ("raises", ("2",)), ("raises", ("5",)), ("asserts", ("2",)), ("asserts", ("5",)),
    ("indexes", ("ones(2)", "1")), ("indexes", ("ones(2)", "5")), ("listed", ("[1, 2]", "-1")), ("listed", ("[1, 2]", "2")),
    ("keyed", ("{'a': 1}", "'a'")), ("keyed", ("{'a': 1}", "'b'")), ("loops", ("3",)), ("loops", ("100",)), ("waits", ("ones(2)",)),
    ("swaps", ("0", "1", "30")), ("several", ("(1, 2.5)", "['a', 'b']", "None", "{'x': 1}")), ("several", ("(1, 2.5)", "[]", "ones(3)", "{}")),
    ("early", ("ones(2)", "True")), ("early", ("ones(2)", "False")), ("prints", ("3", "'text'")), ("writes", ("ones(3)",)), ("squares", ("5",)),
    ("defaults", ("2",)), ("defaults", ("2", "4")), ("divides", ("7", "-2")), ("divides", ("7", "0")), ("widths", ("ones(2, 3)",)),
    ("deepest", ("ones(2, 2)", "2")), ("deepest", ("ones(2, 3)", "2")), ("above", ("ones(100)", "100")), ("above", ("ones(100)", "101")),
    # arguments that do not fit
    ("raises", ("'a'",)), ("raises", ()), ("raises", ("1", "2", "3")), ("raises", ("1.5",)), ("calls", ("3",)), ("listed", ("(1, 2.5)", "0")),
    ("several", ("(1, 2, 3)", "[]", "None", "{}")), ("keyed", ("{1: 1}", "'a'")), ("defaults", ("torch.tensor(3)",)), ("defaults", ("True",)),
]


def outcome(module, unit, name, arguments):
    """What a call gives, prints and raises, as text."""
    values = [eval(each, {"torch": module, "ones": lambda *sizes: module.ones(*sizes)}) for each in arguments]
    out = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        try:
            result = repr(getattr(unit, name)(*values))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return result.replace("kindling", "torch").replace("torch.int64", "4"), out.getvalue()


@pytest.fixture(scope="module")
def units():
    return torch.jit.CompilationUnit(TEXT), kindling.jit.CompilationUnit(TEXT)


@pytest.mark.parametrize("name, arguments", CALLS, ids=[f"{name}{i}" for i, (name, _) in enumerate(CALLS)])
def test_as_torch(units, name, arguments):
    assert outcome(kindling, units[1], name, arguments) == outcome(torch, units[0], name, arguments)


def test_gradients():
    text = "def f(x, n: int):\n    for i in range(n):\n        x = x * x.sin()\n    return x.sum()\n"
    grads = []
    for module in (torch, kindling):
        x = module.linspace(0.1, 1, 5, dtype=module.float64).requires_grad_(True)
        module.jit.CompilationUnit(text).f(x, 3).backward()
        grads.append(x.grad.tolist())
    assert grads[1] == pytest.approx(grads[0], rel=1e-12)


def test_a_function_of_python():
    @kindling.jit.script
    def scaled(x, n: int = 3):
        """Scaled."""
        return x * n

    assert scaled(kindling.ones(2)).tolist() == [3, 3] and scaled.__doc__ == "Scaled." and str(scaled.schema) == "scaled(Tensor x, int n=3) -> Tensor"
    kinds = [node.kind() for node in scaled.graph.nodes()]
    assert kinds == ["aten::mul"] and scaled.graph.findNode("aten::mul").output().type().str() == "Tensor"


def test_memory_is_let_go_as_lines_do():
    unit = kindling.jit.CompilationUnit("def f(x):\n    for i in range(20):\n        y = x + i\n        y = y * 2\n        x = y - 1\n    return x\n")
    x = kindling.ones(1 << 20)
    kindling._C._reset_peak_memory_stats()
    before = kindling._C._memory_stats()["allocated_bytes.all.peak"]   # the peak counts small blocks by slab, so it is compared with itself
    unit.f(x)
    assert kindling._C._memory_stats()["allocated_bytes.all.peak"] - before < 6 * (4 << 20)


@pytest.mark.parametrize("body", ["torch.max(x, 0)", "torch.linalg.svd(x)", "torch.sort(x), torch.topk(x, 1)", "torch.std_mean(x)", "torch.aminmax(x)"])
def test_several_results_are_a_plain_tuple(body):
    made = [within(module, body).f(*[module.tensor([[3., 1.], [2., 5.]])] * 2) for module in (torch, kindling)]
    assert all(type(each) is tuple for each in made) and repr(made[1]) == repr(made[0])


@pytest.mark.parametrize("body", ["torch.cat([x, y], 0)", "torch.cat([x, x + y])", "torch.stack([x])", "torch.cat({'a': [x, y]}['a'])", "torch.meshgrid([x, y], indexing='ij')", "torch.Size([1, 2])"])
def test_lists_of_tensors_that_have_no_annotation(body):
    answers = []
    for module in (torch, kindling):
        answers.append(repr(within(module, body).f(module.tensor([1.]), module.tensor([2.]))))
    assert answers[1] == answers[0]


def within(module, body):
    torch = module  # noqa: F841 - the text's
    return module.jit.CompilationUnit(f"def f(x, y):\n    return {body}\n")


def test_names_of_a_text_are_those_where_it_stands():
    for module in (torch, kindling):
        here = module
        unit = here.jit.CompilationUnit("def f(x):\n    return here.linalg.norm(here.nn.functional.relu(x)) + here.fft.fft(x).real.sum()\n")
        assert unit.f(module.tensor([3., 4.])).item() == 11
        unit = module.jit.CompilationUnit()
        unit.define("def f(x):\n    return there.special.erf(x)\n", {"there": module}.get)
        assert unit.f(module.zeros(1)).item() == 0
        with pytest.raises(RuntimeError, match="undefined value nowhere"):
            module.jit.CompilationUnit("def f(x):\n    return nowhere.relu(x)\n")


def test_a_lambda_is_no_function():
    for module in (torch, kindling):
        add = lambda x: x + 1
        with pytest.raises(RuntimeError, match=r"Expected a single top-level function: .*test_script_run.py:\d+$"):
            module.jit.script(add)


def test_interrupt():
    import os
    import signal
    import threading
    unit = kindling.jit.CompilationUnit("def f(n: int):\n    s = [0]\n    i = 0\n    while i < n:\n        i += 1\n        s[0] = i\n    return s\n")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        unit.f(1 << 60)
    timer.join()


@pytest.mark.parametrize("text, name", [("def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\n", "f"), ("def f(x:\n    return x", None), ("def f(x):\n    return y", None)])
def test_refused(text, name):
    messages = []
    for module in (torch, kindling):
        with pytest.raises(RuntimeError) as caught:
            module.jit.CompilationUnit(text)
        messages.append(str(caught.value).partition("' is being compiled")[0])   # whose line is underlined a little longer
    assert messages[1] == messages[0]


def test_a_graph_keeps_what_its_lines_are_of():
    graph = kindling.jit.CompilationUnit("def f(x):\n    return x + 1\n").f.graph
    nodes = list(graph.nodes())
    del graph
    kindling.jit.CompilationUnit("def g(y):\n    return y * 2\n")
    assert "<string>:2:11" in str(nodes[-1]) and "return x + 1" in nodes[-1].sourceRange()


@pytest.mark.parametrize("module", [torch, kindling])
def test_named_stretches_show_in_profiles(module):
    def stretches(x, n: int):
        with module.autograd.profiler.record_function("outer of a script"):
            x = x + 1
            with module.autograd.profiler.record_function("inner of a script"):
                if n > 3:
                    raise ValueError("too much")
                x = module.relu(x)
        return x

    scripted = module.jit.script(stretches)
    with module.autograd.profiler.profile() as profile:
        scripted(module.ones(2), 1)
        with pytest.raises(module.jit.Error):
            scripted(module.ones(2), 5)
    counts = {each.key: each.count for each in profile.key_averages()}
    assert counts["outer of a script"] == counts["inner of a script"] == 2 and counts["aten::relu"] == 1


def test_a_first_script_loads_little(tmp_path):
    """What a function without futures or modules needs of Python, beside `inspect`."""
    program = tmp_path / "program.py"
    program.write_text("import sys\nimport kindling as torch\ndef f(x: torch.Tensor, n: int):\n    for i in range(n):\n        x = x * 2 + i\n    return x\n"
                       "torch.jit.script(f)(torch.ones(2), 3)\n"
                       "print(*sorted({'futures', '_native_names', 'fx', 'optim', '_dynamo'} & {name.split('.')[1] for name in sys.modules if name.startswith('kindling.')}))\n")
    assert subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout == "\n"
