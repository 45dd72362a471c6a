"""`.code`: functions of scripts written as TorchScript again, the same text as PyTorch 2.13's."""
import re

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


def test_code_compiles_again():
    text = "def f(x: Tensor, n: int) -> Tensor:\n    for i in range(n):\n        if i > 1:\n            x = x + i\n    return x * 2\n"
    first = kindling.jit.CompilationUnit(text)
    again = kindling.jit.CompilationUnit(first.f.code)
    x = kindling.ones(3)
    assert again.f.code == first.f.code and again.f(x, 5).tolist() == first.f(x, 5).tolist() == [20.0] * 3


def test_inlined_graph():
    """PyTorch folds and pools constants of what it puts in, so lines are compared without their numbers and without constants."""
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
    return y
"""
    said = []
    for of in (torch, kindling):
        unit = eval("torch.jit.CompilationUnit(text)", {"torch": of, "text": text})
        graphs = [str(function.inlined_graph) for function in (unit.g, unit.h, unit.f)]
        said.append([[re.sub(r"%\d+", "%", line) for line in graph.split("\n") if "prim::Constant" not in line] for graph in graphs])
        assert "prim::CallFunction" not in "".join(graphs) and "prim::CallFunction" in str(unit.f.graph)
    assert said[0] == said[1]
