"""`.code`: functions of scripts written as TorchScript again, the same text as PyTorch 2.13's."""
import importlib.util
import re
import sys

import pytest

import kindling

torch = pytest.importorskip("torch")

PROGRAMS = [
    """def f(x):
    return x.view(-1), x.view(2, 2), x.view([1, -1])
""",
    """def f(x, y: int):
    return x + y
""",
    """def f(x):
    y = x + 1
    z = y * 2
    return z + y
""",
    """def f(x, n: int):
    for i in range(n):
        x = x + i
    return x
""",
    """def f(x, n: int):
    while n > 0:
        x = x * 2
        n -= 1
    return x, n
""",
    """def f(x, n: int):
    if n > 0:
        y = x + 1
    else:
        y = x - 1
    return y
""",
    """def f(x: List[int]):
    x.append(3)
    return len(x), x[0], x[1:]
""",
    """def f(x, s: str, b: bool, o: Optional[int]):
    print(x, s)
    if o is not None:
        return x + o
    assert b, "no"
    return x
""",
    """def f(d: Dict[str, int], t: Tuple[int, float]):
    a, b = t
    d["x"] = a
    return d["x"] + b, d.keys(), 1.5, "a\\nb", [1,2], {"a": 1}, None, True, 1e20, float("inf")
""",
    """def f(x):
    y = torch.zeros([2, 3])
    return y.to(x.dtype), x.shape, x.sum(0), torch.softmax(x, 0), x[0], x[:, 1]
""",
    """def f(a: int, b: float, s: str):
    return a // 2, a % 2, a ** 2, -a, not a > 1, a & 1, b / a, s + "x", s[0], a < b and a > 1, int(b), str(a), min(a, 3)
""",
    """def f(x):
    q, r = torch.max(x, 0)
    a, b = x.chunk(2)
    return q + r, a
""",
    """def f(x: Optional[Tensor], l: List[Tensor]):
    if x is None:
        raise ValueError("bad")
    r = [t + 1 for t in l]
    return torch.cat(r), x
""",
    """def f():
    pass
""",
    """def f(x, a: float):
    y = 1 - x
    return torch.where(x > 0, y, x * a) / 2 + (x.sum() - x.mean(0, keepdim=True))
""",
    """def f(x, w, b):
    h = torch.relu(torch.matmul(x, w) + b)
    return torch.softmax(torch.matmul(torch.tanh(torch.matmul(h, w) + b), w) + b, dim=1)
""",
    """def f(n: int):
    l: List[int] = []
    for i in range(n):
        for j in range(i, n, 2):
            if i == j:
                continue
            l.append(i * j)
    return l, len(l)
""",
    """def f(s: str, n: int) -> str:
    return "{} {}".format(s, n) + s.upper().strip()
""",
    """def f(x, n: int):
    i = 0
    while True:
        i += 1
        if i > n:
            break
        x = x * 0.5
    return x
""",
    """def f(x, d: Optional[float] = None, k: int = 2):
    if d is None:
        d = 1.0
    if isinstance(d, float):
        return x * d + k
    return x
""",
    """def f(x):
    a, b = torch.max(x, dim=0)
    c = [a, x[0], x[1:, None]]
    return c, x.view(-1, 2), x.size(0), torch.cat([a, b.to(torch.float)], dim=0)
""",
    """def f(_1, x0, x, print0: int):
    _0 = x + _1
    x0 = _0 * x0
    x1 = x0 + x
    return x1 + x0 + _0, print0
""",
    """def f(a: int, b: int):
    while a < b:
        if a % 2 == 0:
            a += 3
        else:
            a += 1
            b -= 1
    return divmod(a, b), float(a), max(a, b), abs(a), round(1.5), [1.0, 2.0], [True], ["a"]
""",
    """def f(x, flag: bool):
    print(x, "a'b")
    x += 1
    if flag:
        x[0] = 2
        raise ValueError("bad " + str(flag))
    y = x.clone()
    y.mul_(2.5)
    return -y ** 2, y @ y, ~flag if False else not flag, x[..., 0], x[x > 0]
""",
    """def f(x, w):
    return x.sum(), x[x > 0], torch.matmul(torch.relu(torch.matmul(x, w) + 1), torch.softmax(w, 0)).sum(), x.mean()
""",
    """def f(x, n: int):
    for i in range(n):
        y = (x.sum() + i, torch.where(x > i, torch.zeros_like(x), torch.ones_like(x)))
        x = x + y[0] * y[1].sum()
    return x
""",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_code(text):
    said = []
    for of in (torch, kindling):
        unit = eval("torch.jit.CompilationUnit(text)", {"torch": of, "text": text})
        said.append(unit.f.code)
    assert said[0] == said[1]


FUNCTIONS = """
def types(x: Any) -> int:
    if isinstance(x, int):
        return x
    if torch.jit.isinstance(x, List[int]):
        return 2
    if isinstance(x, (float, str)):
        return 3
    if isinstance(x, list) or isinstance(x, tuple):
        return 4
    return 1
def a_type(x: Any):
    return isinstance(x, int)
def strings(x, s: str):
    if s == "a string of some length, longer than others":
        return x, "überlang"
    raise ValueError("another string of some length, longer than others")
def numbers(x, k: int):
    for i in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]:
        k += i
    return x.permute([0, 1, 2, 3]), k, "%d" % 3
def blocks(x):
    with torch.no_grad():
        y = x * 2
        with torch.no_grad():
            pass
    with Doubled(y) as z:
        y = z + 1
    return y
def forks(x, n: int):
    a, b = torch.jit.fork(torch.relu, x), torch.jit.fork(torch.add, x, x * n)
    return torch.jit.wait(a) + torch.jit.wait(b)
def enums(c: Color):
    return c.value, c.name, c == Color.RED
def containers(x):
    d: Dict[str, Optional[Tensor]] = {"a": x}
    e: Dict[str, Any] = {"a": 1}
    l: List[Optional[Tensor]] = [x]
    return sorted([1, 2]), {"a": 1}, d, l, e, [x, x]
def items(x):
    r: List[float] = x.tolist()
    return r, x.size()[0], [1, 2, 3][x.size(0)], x.shape[-1:]
def named(x):
    p = Pair(x, 2)
    return p.a + p.b, p
def unwrapped(x: Optional[Tensor]):
    y = torch.jit._unwrap_optional(x)
    return y, torch.jit._unwrap_optional(torch.jit.annotate(Optional[int], None)) if y.size(0) > 9 else 2
def carried(x, n: int):
    y: Optional[Tensor] = None
    for i in range(n):
        y = x
    return y
def derivative(x):
    y = x.sum()
    y.backward()
    return torch.autograd.grad([y], [x])
def from_python(x, n: int):
    y = ignored(x, n)
    return ignored(y, 3) + 1
class Numbered(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
    @torch.jit.ignore
    def ignored(self, x: Tensor) -> Tensor:
        return x
    @torch.jit.unused
    def unused(self, x: Tensor) -> Tensor:
        return x
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return self.ignored(x) if x.size(0) < 9 else self.unused(x)
"""
SURROUNDINGS = """
import enum
from typing import Any, Dict, List, NamedTuple, Optional
from FRAMEWORK import Tensor
import FRAMEWORK as torch
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Doubled:
    def __init__(self, x: Tensor):
        self.x = x
    def __enter__(self) -> Tensor:
        return self.x * 2
    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        pass
class Pair(NamedTuple):
    a: Tensor
    b: int
@torch.jit.ignore
def ignored(x: Tensor, n: int) -> Tensor:
    return x + n
"""


@pytest.mark.parametrize("name", re.findall(r"^(?:def|class) (\w+)", FUNCTIONS, re.M))
def test_code_of_python(name, tmp_path, monkeypatch):
    said = []
    for of in (torch, kindling):
        path = tmp_path / of.__name__ / "programs_to_print.py"      # one name for both, which the text shows
        path.parent.mkdir()
        path.write_text(SURROUNDINGS.replace("FRAMEWORK", of.__name__) + FUNCTIONS)
        spec = importlib.util.spec_from_file_location("programs_to_print", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "programs_to_print", module)
        spec.loader.exec_module(module)
        program = getattr(module, name)
        scripted = of.jit.script(program() if isinstance(program, type) else program)
        said.append((scripted.code, re.findall(r"\^[^#\n]*\)", scripted.graph.str(False))))
    assert said[0] == said[1]


def test_code_of_a_traced_python_function():
    said = []
    for of in (torch, kindling):
        class Scaled(of.autograd.Function):
            @staticmethod
            def forward(ctx, x, by, y):
                return x * by, y
        said.append(of.jit.trace(lambda x: Scaled.apply(x, 2, x + 1)[0] + 1, of.ones(2)).code)
    assert said[0] == said[1]


def test_code_compiles_again():
    text = "def f(x: Tensor, n: int) -> Tensor:\n    for i in range(n):\n        if i > 1:\n            x = x + i\n    return x * 2\n"
    first = kindling.jit.CompilationUnit(text)
    again = kindling.jit.CompilationUnit(first.f.code)
    x = kindling.ones(3)
    assert again.f.code == first.f.code and again.f(x, 5).tolist() == first.f(x, 5).tolist() == [20.0] * 3


def test_inlined_graph():
    text = """def g(x, n: int):
    if n > 1:
        return x + n
    return x * 2
def h(x, n: int):
    return g(x, n) + g(x, 1)
def f(x):
    y = g(x, 3)
    for i in range(2):
        y = g(y, i)
    return h(y, 2)
"""
    said = []
    for of in (torch, kindling):
        unit = eval("torch.jit.CompilationUnit(text)", {"torch": of, "text": text})
        said.append([str(function.inlined_graph) for function in (unit.g, unit.h, unit.f)])
        assert "prim::CallFunction" not in "".join(said[-1]) and "prim::CallFunction" in str(unit.f.graph)
    assert said[0] == said[1]
