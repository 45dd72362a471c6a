"""Programs after TorchScript's language reference: classes, modules, interfaces, hooks, containers, attributes."""
from typing import Any, Final, List, Optional
import torch
from torch import nn
import torch.nn.functional as F


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start
        self.names: List[str] = []

    def add(self, by: int = 1):
        self.n += by
        self.names.append(str(self.n))
        return self

    def total(self) -> int:
        return self.n + len(self.names)


@program(lambda: (3,))
def class_of_script(n: int):
    c = Counter(n)
    c.add().add(2)
    d = Counter(0)
    d.n = c.n
    return c.total(), c.names, d.total(), c.n


@torch.jit.script
class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k: float) -> "Vector":
        return Vector(self.x * k, self.y * k)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y

    def __eq__(self, other: "Vector") -> bool:
        return self.x == other.x and self.y == other.y

    def __neg__(self) -> "Vector":
        return Vector(-self.x, -self.y)


@program(lambda: (1.5,))
def magic_methods(a: float):
    v = Vector(a, 2.0)
    w = v + v * 2.0
    u = -w
    return w.x, w[1], len(w), v == w, u.y


@torch.jit.script
class Celsius:
    def __init__(self, t: float):
        self._t = t

    @property
    def fahrenheit(self) -> float:
        return self._t * 1.8 + 32.0

    @fahrenheit.setter
    def fahrenheit(self, f: float):
        self._t = (f - 32.0) / 1.8


@program(lambda: (100.0,))
def properties(t: float):
    c = Celsius(t)
    a = c.fahrenheit
    c.fahrenheit = 32.0
    return a, c._t


@torch.jit.script
class Stack:
    def __init__(self):
        self.items: List[torch.Tensor] = []
        self.best = torch.jit.annotate(Optional[torch.Tensor], None)

    def push(self, x: torch.Tensor) -> None:
        self.items.append(x)
        best = self.best
        if best is None or bool(x.sum() > best.sum()):
            self.best = x

    def pop(self) -> torch.Tensor:
        return self.items.pop()


@program(lambda: (torch.ones(2),))
def class_with_tensors(x):
    s = Stack()
    s.push(x)
    s.push(x * 3)
    s.push(x * 2)
    best = s.best
    assert best is not None
    return s.pop(), best, len(s.items)


@torch.jit.script
class Tools:
    def __init__(self):
        self.k = 2

    @staticmethod
    def double(n: int) -> int:
        return n * 2


@program(lambda: (4,))
def static_method(n: int):
    return Tools.double(n) + Tools().k


@torch.jit.interface
class Shape:
    def area(self) -> float:
        pass

    def scaled(self, k: float) -> float:
        pass


@torch.jit.script
class Square:
    def __init__(self, a: float):
        self.a = a

    def area(self) -> float:
        return self.a * self.a

    def scaled(self, k: float) -> float:
        return self.area() * k


@torch.jit.script
class Circle:
    def __init__(self, r: float):
        self.r = r

    def area(self) -> float:
        return self.r * self.r * 3.0

    def scaled(self, k: float) -> float:
        return self.area() * k * 2.0


def _twice(s: Shape) -> float:
    return s.area() + s.scaled(2.0)


@program(lambda: (True,), lambda: (False,))
def interfaces(flag: bool):
    if flag:
        a: Shape = Square(2.0)
    else:
        a = Circle(1.0)
    return _twice(a) + _twice(Circle(3.0))


@torch.jit.script
class Guard:
    def __init__(self, log: List[str]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append("in")
        return 5

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.log.append("out")


@program(lambda: (2,), lambda: (0,))
def context_managers(n: int):
    log: List[str] = []
    with Guard(log) as k:
        n += k
        with Guard(log):
            if n > 6:
                log.append("large")
    return n, log


@program(lambda: (torch.ones(2, 3),))
class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(6.0).view(2, 3))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return F.linear(x, self.weight) + self.shift


@program(lambda: (torch.ones(1, 3),))
class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(3, 4)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(4, 2), nn.Tanh())

    def forward(self, x):
        return self.second(self.first(x))


@program(lambda: (torch.ones(3), 2))
class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    def scale(self, x, by: float):
        return x * by + self.k

    @torch.jit.export
    def other(self, x):
        return self.scale(x, 2.0)

    def forward(self, x, n: int):
        for i in range(n):
            x = self.scale(x, float(i))
        return x


@program(lambda: (torch.ones(2),))
class ModuleLists(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        self.acts = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, act in self.acts.items():
            x = act(x) + len(name)
        y = self.acts["relu"](x) + self.layers[0](x)
        if "tanh" in self.acts:
            y = y * 2
        return y, len(self.layers)


@program(lambda: (torch.ones(2),))
class Ignored(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 2

    @torch.jit.ignore
    def report(self, n: int) -> str:
        return "%d" % (n + 1)

    @torch.jit.unused
    def never(self, x):
        return {x}

    def forward(self, x):
        s = self.report(self.n)
        if self.n > 10:
            x = self.never(x)
        return x, s


@program(lambda: (torch.ones(2),), lambda: (torch.ones(2),))
class State(nn.Module):
    count: int
    seen: List[int]

    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(2))
        self.seen = []

    def forward(self, x):
        self.count += 1
        self.total += x
        self.seen.append(self.count)
        self.total = self.total * 2
        return self.total, self.count, self.seen


@program(lambda: (torch.ones(2),))
class Constants(nn.Module):
    __constants__ = ["sizes", "flag"]
    limit: Final[int]

    def __init__(self):
        super().__init__()
        self.sizes = [1, 2, 3]
        self.flag = True
        self.limit = 4

    def forward(self, x):
        for s in self.sizes:
            x = x + s
        if self.flag:
            x = x * self.limit
        return x


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2

    def helper(self, x):
        return x * self.k

    def forward(self, x):
        return self.helper(x) + 1


@program(lambda: (torch.ones(2),))
class Derived(Base):
    def helper(self, x):
        return x * self.k * 10


@refused
class CallsSuper(Base):
    def forward(self, x):
        return super().forward(x) * 100


@refused
class CallsSuperByName(Base):
    def forward(self, x):
        return super(CallsSuperByName, self).forward(x) * 100


@refused
class EmptyListAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen: List[int] = []

    def forward(self, x):
        self.seen.append(1)
        return x


@program(lambda: (torch.ones(2),))
class HasAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 1

    def forward(self, x):
        if hasattr(self, "a"):
            x = x + self.a
        if hasattr(self, "b"):
            x = x + self.b
        return x + getattr(self, "a")


@program(lambda: (torch.ones(2),))
class OptionalSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = None
        self.act: Optional[nn.Module] = nn.ReLU()

    def forward(self, x):
        if self.norm is not None:
            x = self.norm(x)
        if self.act is not None:
            x = self.act(x)
        return x


@program(lambda: (torch.ones(2),))
class FunctionAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = F.relu
        self.op = torch.neg

    def forward(self, x):
        return self.act(x) + self.op(x)


@torch.jit.interface
class OneInput(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class AddOne(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class TimesTwo(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@program(lambda: (torch.ones(2),))
class ModuleInterface(nn.Module):
    step: OneInput

    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([AddOne(), TimesTwo()])
        self.step = AddOne()

    def forward(self, x):
        for i in range(len(self.steps)):
            module: OneInput = self.steps[i]
            x = module.forward(x)
        return self.step.forward(x)


@program(lambda: (torch.ones(2),))
class ParameterLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.ps = nn.ParameterList([nn.Parameter(torch.ones(2) * i) for i in range(3)])

    def forward(self, x):
        for p in self.ps:
            x = x * 2 + p
        return x


@program(lambda: (torch.ones(2), None), lambda: (torch.ones(2), torch.ones(2)))
class OptionalArgument(nn.Module):
    def forward(self, x, mask: Optional[torch.Tensor] = None):
        if mask is not None:
            x = x.masked_fill(mask > 0, -1.0)
        return x


@program(lambda: (torch.ones(2),))
class Training(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        if self.training:
            x = self.drop(x) * 2
        return x


@program(lambda: ())
class NamedParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.b = nn.ReLU()

    def forward(self):
        names: List[str] = []
        for name, _ in self.named_children():
            names.append(name)
        n = 0
        for _ in self.children():
            n += 1
        for name, _ in self.named_modules():
            names.append(name + "!")
        return names, n


class _Annotated:
    def __init__(self):
        self.best: Optional[int] = None

    def get(self) -> int:
        best = self.best
        return 0 if best is None else best + 1


@program(lambda: ())
def annotated_class_attribute():
    return _Annotated().get()


@refused
def class_without_attribute(n: int):
    c = Counter(n)
    return c.missing


@refused
def class_without_method(n: int):
    return Counter(n).reset()


@refused
def class_wrong_argument(n: int):
    return Counter("text").total()


@refused
def interface_not_met(n: int):
    a: Shape = Counter(n)
    return a.area()


@refused
class MissingAttribute(nn.Module):
    def forward(self, x):
        return x * self.scale


@refused
class UnscriptableAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.thing = object()

    def forward(self, x):
        return self.thing


@refused
class ListByVariable(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU()])

    def forward(self, x, n: int):
        return self.layers[n](x)


@refused
class CallsMissing(nn.Module):
    def forward(self, x):
        return self.helper(x)


@refused
class NewAttribute(nn.Module):
    def forward(self, x):
        self.last = x
        return x


@refused
class ConstantChanged(nn.Module):
    k: Final[int]

    def __init__(self):
        super().__init__()
        self.k = 2

    def forward(self, x):
        self.k = 3
        return x
