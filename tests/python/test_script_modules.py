"""Scripted modules and classes: graphs, values and refusals beside PyTorch; models as eager."""
import copy
import importlib.util
import re
import sys
import warnings

import pytest
import torch

import kindling

PROGRAM = '''
import torch
from torch import nn
import torch.nn.functional as F
import enum
from collections import OrderedDict
from dataclasses import InitVar, dataclass, field
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: torch.Tensor
    n: int = 3


class Scaled(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0) + n)
        self.n = n

    def forward(self, x, k: int = 2):
        return x * self.weight * self.n * k


class Attributes(nn.Module):
    k: Final[int]
    table: Dict[str, int]
    maybe: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.k = 4
        self.table = {"a": 1}
        self.maybe = None
        self.color = Color.RED
        self.sizes = [1, 2, 3]
        self.pair = (1, 2.5)
        self.register_buffer("count", torch.zeros(1))

    def helper(self, x, by: float = 0.5):
        return x * by + self.k

    def forward(self, x):
        self.count = self.count + 1
        maybe = self.maybe
        if maybe is not None:
            x = x + maybe
        self.table["b"] = len(self.sizes)
        y = self.helper(x) + self.table["b"] + self.pair[1]
        self.sizes.append(4)
        return y, self.color == Color.GREEN, self.count


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scaled(1), Scaled(2), nn.ReLU()])
        self.seq = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.table = nn.ModuleDict({"a": nn.Linear(3, 3), "b": Scaled(1)})
        self.none = None

    def forward(self, x):
        y = x
        for i, layer in enumerate(self.layers):
            y = layer(y) + i
        for first, second in zip(self.layers, self.layers):
            y = first(y) - second(y)
        y = self.seq(y)
        for name, layer in self.table.items():
            y = layer(y)
        if self.none is not None:
            y = self.none(y)
        return self.table["a"](y) + len(self.layers) + self.layers[-1](y)


class Recipe:
    def __init__(self, sizes: List[int], names: Dict[str, int]):
        self.sizes: List[int] = sizes
        self.names: Dict[str, int] = names

    def total(self) -> int:
        return sum(self.sizes)


class NoScript:
    def __init__(self, x):
        self.x = lambda: x

    def get(self, **more):
        return {**more}


def pairs(given: List[Tuple[str, int]]):
    return len(given)


class Objects(nn.Module):
    def __init__(self):
        super().__init__()
        self.recipes = {1: Recipe([1, 2], {"a": 1}), 2: Recipe([3], {})}
        self.one = Recipe([5], {})
        self.config = NoScript(3)
        self.none, self.two = (), (("a", 1), ("b", 2))

    def forward(self, x):
        recipe = self.recipes[x.dim()]
        return x * recipe.total() + self.one.sizes[0], len(recipe.names), pairs(self.none) + pairs(given=self.two)


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.forward = self.second
        self.head, self.other = nn.Identity(), nn.ReLU()

    def first(self, x):
        return x

    def second(self, x):
        return (x + 1 if isinstance(self.head, nn.Identity) else self.unknown), isinstance(self.other, nn.Identity)


class Replaced(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = by

    def __prepare_scriptable__(self):
        return Scaled(self.by)

    def forward(self, *x):
        return x


class Prepares(nn.Module):
    def __init__(self):
        super().__init__()
        self.below = nn.Sequential(Replaced(2), nn.ReLU())

    def forward(self, x):
        return self.below(x)


class Exports(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = 2

    def forward(self, x):
        return self.double(x) if hasattr(self, "w") else x

    @torch.jit.export
    def double(self, x):
        return x * self.w

    @torch.jit.export
    def other(self, x, names: List[str]):
        return x + len(names)

    @torch.jit.ignore
    def python_only(self, x: int) -> int:
        return x + 100

    @torch.jit.export
    def asks(self, n: int):
        return self.python_only(n) + getattr(self, "w")


class Counter:
    def __init__(self, start: int, names: List[str]):
        self.n = start
        self.names: List[str] = names
        self.seen: Dict[str, int] = {}

    def add(self, by: int = 1) -> int:
        self.n += by
        return self.n

    def __add__(self, other: "Counter") -> "Counter":
        return Counter(self.n + other.n, self.names + other.names)

    def __getitem__(self, i: int) -> str:
        return self.names[i]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.names)

    @property
    def twice(self) -> int:
        return self.n * 2

    @staticmethod
    def helper(n: int) -> int:
        return n - 1

    @classmethod
    def scaled(cls, n: int) -> int:
        return n * 10


class Guard:
    def __init__(self, log: List[str]):
        self.log: List[str] = log

    def __enter__(self) -> int:
        self.log.append("in")
        return 5

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.log.append("out")


torch.jit.script(Counter)
torch.jit.script(Guard)


@torch.jit.interface
class Act(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


class Swap(nn.Module):
    act: Act

    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act.forward(x)


class Inner(nn.Module):
    def forward(self, x):
        return x * 2


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


def before(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (input[0] + 1,)


def after(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output * 10


def classes(a: int):
    c = Counter(a, ["x", "y"])
    d = c + c
    d.add()
    d.add(by=4)
    d.n = d.n + 1
    return d.n, d.twice, Counter.helper(3), d.scaled(3), d[2], "x" in d, len(d)


def tuples(x):
    p = Point(x, 3)
    q = Point(x=p.x + 1)
    c = Color.GREEN
    return p, q.n, q.x, c, c.name, c.value, c == Color.RED


def withs(n: int):
    log: List[str] = []
    with Guard(log) as five:
        if n > 3:
            return five, log
        log.append("body")
    return n, log


def no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y, (x * 3).requires_grad


def texts(n: int, x: float):
    s = f"{n} and {x}!"
    return s, "{} {}".format(n, s), "%d %s" % (n, s)


def chained(a: int, b: int, c: int):
    return a < b < c, a <= b == c or not a > 2 and b != 3


def annotated(x: Optional[int]):
    y = torch.jit.annotate(List[int], [])
    if torch.jit.is_scripting():
        y.append(1)
    if x is None:
        return y
    assert isinstance(x, int)
    y.append(x)
    return y


def pooled(x):
    a, i = F.max_pool2d(x, 2, return_indices=True)
    b = F.max_pool2d(x, [2, 2], stride=1)
    return a, i, b, F.relu(x, inplace=False), F.softmax(x, dim=1), F.interpolate(x, scale_factor=2.0, mode="nearest")


@torch.jit.script
@dataclass(order=True)
class Record:
    x: int
    names: List[str] = field(compare=False)
    more: Optional[float] = None
    by: InitVar[int] = 2

    def __post_init__(self, by: int):
        self.x = self.x * by


@torch.jit.script
@dataclass
class Plain:
    x: torch.Tensor
    n: "int"

    def __eq__(self, other: "Plain") -> bool:
        return self.n == other.n


def records(n: int, names: List[str]):
    a, b, c = Record(n, names, 2.5), Record(n, names=names, by=1), Record(n, names, None, 2)
    d = Plain(torch.ones(n), n)
    return a.x, a.more, b.x, b == b, b == c, c == b, d == Plain(torch.zeros(2), n), a.names


def orders(n: int, names: List[str]):
    a, b = Record(n, names, 2.5, 1), Record(n, names, 3.0, 1)
    return a < b, a <= b, a > b, a >= b, a <= a, a < a


def lines(x, n: int):
    y = x; z = y + 1
    if n > 5: return x, z
    elif n > 4: z = z + 2; y = z;
    else: z = z * 3
    while n > 2: n -= 1; z = z + n
    for i in range(3): z = z + i; y += 1
    return y, z; pass


def unions(given: Optional[Union[int, float, List[float]]], other: Union[int, List[float]], names: Union[str, None, int]):
    a, b, c = 0.0, 0, ""
    if given is not None:
        values, n = (given, len(given)) if isinstance(given, (tuple, list)) else ([float(given)], 1)
        a = sum(values) + n
    if isinstance(other, list):
        b = len(other)
    elif isinstance(other, int):
        b = other
    if names is None:
        c = "none"
    elif isinstance(names, str):
        c = names
    return a, b, c


def comprehensions(xs: List[int], ys: List[bool], given: Union[str, bool]):
    a = [x if x > 1 else -x for x in xs]
    b = [x if y and not x > 2 or y else -x
         for x, y in zip(xs, ys)]
    c = {x: x if x > 1 else -x for x in xs}
    if torch.jit.isinstance(given, str):
        return a, b, c, given in ["a", "b"]
    return a, b, c, not given


@torch.jit.unused
def left_out(n, scale):
    # type: (int, float) -> float
    return n * scale


def calls_what_is_left_out(n: int):
    return left_out(n, 2.5) if n > 5 else 1.5


def gradients(x):
    y = (x * x).sum()
    first = torch.autograd.grad([y], [x], retain_graph=True)
    torch.autograd.backward([y])
    return first, x.grad


def told(x, n: int):
    if n > 5: raise ValueError(f"no {type(x)}")
    return x


def spelled(x, inside: bool):
    big = 100_000 + 1_0
    table = OrderedDict([("a", x)])
    table["b"] = x + big
    flags = {
        "a": inside,
        "b": not inside,
    }
    if not inside and "c" not in flags:
        big = 2
    return table, flags, big, torch.ops.aten.relu(x)


def joined(x):
    y = (x.size(0), 3)
    pairs = [a + b for a, b in zip([1, 2], [3, 4])]
    z = {n: n * 2 for n in pairs}
    return y, pairs, z, (1, 2) + (3,)
'''

MODULES = {"Attributes": (lambda t: t.ones(3)), "Containers": (lambda t: t.linspace(-1, 1, 3)), "Chosen": (lambda t: t.ones(2)), "Exports": (lambda t: t.ones(2)), "Objects": (lambda t: t.ones(2)), "Prepares": (lambda t: t.ones(3)), "Swap": (lambda t: t.linspace(-1, 1, 3))}
FUNCTIONS = {"classes": lambda t: (2,), "tuples": lambda t: (t.ones(2),), "withs": lambda t: (7,), "no_grad": lambda t: (t.ones(2, requires_grad=True),),
             "texts": lambda t: (3, 2.5), "chained": lambda t: (1, 2, 2), "annotated": lambda t: (3,), "pooled": lambda t: (t.arange(32.0).view(1, 2, 4, 4),),
             "joined": lambda t: (t.ones(2, 3),), "records": lambda t: (3, ["a"]), "orders": lambda t: (3, ["a"]), "lines": lambda t: (t.ones(2), 4), "told": lambda t: (t.ones(2), 4),
             "unions": lambda t: ([1.0, 2.5], 3, None), "spelled": lambda t: (t.ones(2), False),
             "comprehensions": lambda t: ([1, 2, 3], [True, False, True], "b"), "calls_what_is_left_out": lambda t: (3,),
             "gradients": lambda t: (t.ones(2, requires_grad=True),)}
# The functions of nn.functional are other texts here, and numbers behind them are others.
NUMBERS_DIFFER = ("Attributes", "Containers", "Objects", "spelled", "withs")      # values that are made on the way and go away again
OTHER_GRAPHS = {"lines": "names have other numbers behind them", "comprehensions": "names have other numbers behind them", "unions": "names have other numbers behind them", "told": "a call of Python's is printed otherwise", "joined": "the sum of constant tuples is computed ahead",
                "pooled": "calls of nn.functional", "no_grad": "the class of the block is another", "annotated": "is_scripting is a constant"}


def load(which, folder):
    path = folder / f"{which.__name__}_program.py"
    path.write_text(PROGRAM.replace("import torch\nfrom torch import nn\nimport torch.nn.functional as F", f"import {which.__name__} as torch\nfrom {which.__name__} import nn\nimport {which.__name__}.nn.functional as F", 1)
                    if which is not torch else PROGRAM)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module       # where inspect looks for the source of a class
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    module.torch_itself = which
    return module


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    made = [load(torch, folder), load(kindling, folder)]
    yield made
    for module in made:
        del sys.modules[module.__name__]


def plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    return value.name if type(value).__name__ == "Color" else value


def text_of(graph, module):
    text = str(graph).replace(module.__file__, "FILE").replace(module.__name__, "program")
    text = re.sub(r"___torch_mangle_\d+\.", "", text)      # of classes that earlier tests of the process have had
    return re.sub(r" # (?!FILE).*", "", text)


def graph_of(scripted, name, module):
    if name in OTHER_GRAPHS:
        return None
    text = text_of(scripted.graph, module)
    return re.sub(r"%\d+", "%", text) if name in NUMBERS_DIFFER else text


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_pytorchs_graph_and_values(both, name):
    results = []
    for module in both:
        which = module.torch_itself
        which.manual_seed(0)
        made = getattr(module, name)()
        scripted = which.jit.script(made)
        results.append((graph_of(scripted, name, module), plain(scripted(MODULES[name](which))), plain(scripted(MODULES[name](which))),
                        sorted(scripted.state_dict()), [n for n, _ in scripted.named_modules()], scripted.training))
        if name == "Exports":
            results[-1] += (plain(scripted.double(which.ones(2))), plain(scripted.other(which.ones(2), ["a"])), scripted.asks(3))
    for theirs, ours in zip(*results):
        assert ours == theirs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_pytorchs_graph_and_values(both, name):
    results = []
    for module in both:
        which = module.torch_itself
        scripted = which.jit.script(getattr(module, name))
        results.append((plain(scripted(*FUNCTIONS[name](which))), graph_of(scripted, name, module)))
    assert results[1] == results[0]


REFUSED = {
    "no attribute": ("    def forward(self, x):\n        return self.nothing(x)\n", "Module 'M' has no attribute 'nothing'"),
    "wrong type": ("    def forward(self, x):\n        self.n = 2.5\n        return x\n", "Wrong type for attribute assignment. Expected int but got float"),
    "new attribute": ("    def forward(self, x):\n        self.fresh = 2\n        return x\n", "Tried to set nonexistent attribute: fresh. Did you forget to initialize it in __init__()?"),
    "not listed": ("    def forward(self, x):\n        for i in self:\n            x = x + 1\n        return x\n", "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as an iterable"),
    "recursion": ("    def forward(self, x):\n        return self.a(x)\n    def a(self, x):\n        return self.b(x)\n    def b(self, x):\n        return self.a(x)\n", "is called recursively. Recursive calls are not supported"),
    "global": ("    def forward(self, x):\n        return x + OUTSIDE\n", "python value of type 'int' cannot be used as a value"),
    "callers": ("    def forward(self, x):\n        return self.a(x)\n    def a(self, x):\n        return x.nothing\n", "'M.a' is being compiled since it was called from 'M.forward'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(tmp_path, name):
    body, words = REFUSED[name]
    for which in (torch, kindling):
        path = tmp_path / f"{which.__name__}_{name.replace(' ', '_')}.py"
        path.write_text(f"import {which.__name__} as torch\nOUTSIDE = 3\nclass M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = 1\n{body}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with pytest.raises(RuntimeError) as error:
            which.jit.script(module.M())
        assert words.lower() in str(error.value).lower(), f"{which.__name__}: {error.value}"


def test_operators_of_a_library_and_wrapped_functions_are_called_in_scripts():
    library = kindling.library.Library("of_a_script", "DEF")
    library.define("plus(Tensor x, float by=2) -> Tensor")
    library.impl("plus", lambda x, by=2.0: x + by, "CPU")
    scripted = kindling.jit.script(calls_a_library)
    assert scripted(kindling.ones(2)).tolist() == [4.0, 4.0]
    assert "ops.of_a_script.plus" in scripted.code


def of_another_module(function):
    """A decorator whose own names are others."""
    scope = {}
    exec("import functools\ndef decorate(function):\n    @functools.wraps(function)\n    def call(*given):\n        return function(*given)\n    return call\n", scope)
    return scope["decorate"](function)


@of_another_module
def doubled(x):
    return kindling.mul(x, 2)


def calls_a_library(x):
    return kindling.ops.of_a_script.plus(doubled(x))


def test_a_name_that_stood_for_a_module_may_stand_for_a_value():
    class Last(kindling.nn.Module):     # PyTorch goes on with the module
        def __init__(self):
            super().__init__()
            self.layers = kindling.nn.ModuleList([kindling.nn.ReLU()])

        def forward(self, x):
            for layer in self.layers[:]:
                x = layer(x)
            layer = x + 1
            return layer

    assert kindling.jit.script(Last())(kindling.ones(2)).tolist() == [2, 2]


def test_hooks_of_a_module_are_compiled_with_it(both):
    results = []
    for module in both:
        made = module.Hooked()
        made.inner.register_forward_pre_hook(module.before)
        made.inner.register_forward_hook(module.after)
        scripted = module.torch_itself.jit.script(made)
        results.append((plain(scripted(module.torch_itself.ones(2))), graph_of(scripted, "Hooked", module)))
    assert results[1] == results[0]


def test_modules_of_one_kind_share_a_class_and_copies_do_not_share_tensors():
    a, b = (kindling.jit.script(kindling.nn.Linear(2, 3)) for _ in range(2))
    assert a._c._class().name() == b._c._class().name() != kindling.jit.script(kindling.nn.Linear(2, 4))._c._class().name()
    c = copy.deepcopy(a)
    c.weight.data.zero_()
    assert a.weight.abs().sum() > 0 and c.weight.abs().sum() == 0 and c(kindling.ones(1, 2)).shape == (1, 3)


def test_a_scripted_module_is_trained_moved_and_loaded_as_a_module():
    model = kindling.nn.Sequential(kindling.nn.Linear(3, 4), kindling.nn.BatchNorm1d(4), kindling.nn.Dropout(0.5), kindling.nn.Linear(4, 1))
    scripted = kindling.jit.script(copy.deepcopy(model))
    for each in (model, scripted):
        kindling.manual_seed(1)
        optimizer = kindling.optim.SGD(each.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            each(kindling.arange(12.0).view(4, 3)).square().sum().backward()
            optimizer.step()
    assert all(kindling.equal(x, y) for x, y in zip(model.state_dict().values(), scripted.state_dict().values()))
    scripted.eval()
    assert not scripted.training and not scripted._modules["1"].training
    scripted.load_state_dict(model.state_dict())
    assert kindling.equal(scripted(kindling.ones(2, 3)), model.eval()(kindling.ones(2, 3)))
    assert scripted.double()(kindling.ones(2, 3, dtype=kindling.float64)).dtype == kindling.float64


def test_an_error_inside_of_autocast_leaves_the_block():
    class Fails(kindling.nn.Module):
        def forward(self, x):
            with kindling.autocast("cpu"):
                if x.sum() > 0:
                    raise ValueError("no")
            return x

    module = kindling.jit.script(Fails())
    with pytest.raises(Exception, match="no"):
        module(kindling.ones(2))
    assert not kindling.is_autocast_enabled("cpu")
    assert module(kindling.zeros(2)).sum() == 0


def test_messages_name_what_the_program_wrote(tmp_path):
    path = tmp_path / "program.py"
    path.write_text('''
import torch

HELD = 3


def asks(x):
    return torch.is_tensor(x)


def holds(x):
    return x + HELD


def makes(x):
    return torch.optim.SGD([x], 0.1)

''')
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    said = []
    for framework in (torch, kindling):
        spec.loader.exec_module(module)
        module.torch = framework
        lines = []
        for function in (module.asks, module.holds):
            with pytest.raises(RuntimeError) as refused:
                framework.jit.script(function)
            lines.append(str(refused.value).split("\n")[0].rstrip(":"))
        said.append(lines)
    assert said[1] == said[0]
    with pytest.raises(RuntimeError, match="Python builtin torch.optim.SGD is currently not supported"):
        kindling.jit.script(module.makes)
    del sys.modules["program"]

    class Keeps(kindling.nn.Module):
        def __init__(self):
            super().__init__()

            def each(x):
                yield x
            self.each = each

        def forward(self, x):
            return self.each(x)

    with pytest.raises(RuntimeError, match=r"compile it to a TorchScript function. \nThe error stack is reproduced here:\n"):
        kindling.jit.script(Keeps())


SIGNATURES = '''
import enum
import torch
from torch import nn
from typing import Dict, List, NamedTuple, Optional, Tuple, Union


class Color(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    n: int
    x: torch.Tensor


class Held:
    def __init__(self, n: int):
        self.n = n


@torch.jit.interface
class Act(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


class Holds(nn.Module):
    act: Act

    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act.forward(x)


ONES = torch.ones(2)


def same(x):
    return x


def is_red(x: Color):
    return x == Color.RED


def pair(n: int, more: Optional[Pair] = None):
    return Pair(n, torch.ones(1))


def defaults(x: Tuple[int, float] = (1, 2.0), y: torch.Tensor = ONES, z: torch.device = torch.device("cpu"), t: str = "a", s: Union[int, str] = 3):
    return x


def forks(x):
    return torch.jit.fork(same, x)


def calls(x, held: Dict[str, List[Held]]):
    return same(x), held["a"][0].n


ALL = [is_red, pair, defaults, forks, calls]
'''


def test_signatures_and_types_are_those_of_pytorch(tmp_path):
    said = []
    for framework in (torch, kindling):
        path = tmp_path / f"signatures_{framework.__name__}.py"
        path.write_text(SIGNATURES.replace("import torch", f"import {framework.__name__} as torch").replace("from torch", f"from {framework.__name__}"))
        spec = importlib.util.spec_from_file_location("signatures", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["signatures"] = module
        spec.loader.exec_module(module)
        lines = []
        for function in module.ALL:
            scripted = framework.jit.script(function)
            schema = scripted.schema
            lines.append(str(schema))
            lines += [(each.name, str(each.type), each.type.kind(), each.has_default_value(), str(each.default_value)) for each in [*schema.arguments, *schema.returns]]
            lines += [(node.kind(), str(each.type()).replace("signatures.same", "same"), each.type().kind()) for node in scripted.graph.nodes() for each in node.outputs()]
        said.append(lines)
    assert said[1] == said[0]
    scripted = kindling.jit.script(module.Holds())
    assert [str(each.type()) for node in scripted.graph.nodes() for each in node.outputs()][0] == "__torch__.signatures.Act"
    del sys.modules["signatures"]


def test_a_class_method_that_scripts_cannot_compile_is_in_nobodys_way():
    class Settings:
        def __init__(self, n: int):
            self.n = n

        @classmethod
        def read(cls, **more):
            return cls(**more)

    def uses(n: int):
        return Settings(n).n

    def calls(n: int):
        return Settings(n).read()

    assert kindling.jit.script(uses)(3) == 3
    with pytest.raises(RuntimeError, match="has no attribute or method 'read'"):
        kindling.jit.script(calls)
