"""Programs after TorchScript's language reference: Python's functions and methods, torch's name space, fork and wait."""
from typing import Dict, List
import torch


@program(lambda: ([3, 1, 2],))
def list_methods(x: List[int]):
    x.append(7)
    x.insert(1, 9)
    a = x.pop()
    b = x.pop(0)
    x.extend([5, 5])
    n = x.count(5)
    i = x.index(9)
    x.remove(5)
    x.reverse()
    y = x.copy()
    x.sort()
    y.sort(reverse=True)
    z = list(x)
    x.clear()
    return a, b, n, i, x, y, z


@program(lambda: ({"a": 1, "b": 2},))
def dict_methods(d: Dict[str, int]):
    a = d.get("a")
    b = d.get("z", 9)
    c = d.pop("a")
    e = d.setdefault("q", 5)
    d.update({"b": 7, "c": 8})
    f = d.copy()
    keys = list(d.keys())
    items = list(d.items())
    d.clear()
    return a, b, c, e, f, keys, items, d


@program(lambda: ("Hello, World 12",))
def string_cases(s: str):
    return s.upper(), s.lower(), s.title(), s.swapcase(), s.capitalize(), s.casefold() if False else s


@program(lambda: ("  a,b;c  ",))
def string_splits(s: str):
    t = s.strip()
    return t.split(","), s.split(), s.lstrip(), s.rstrip(), t.partition(","), t.rpartition(";"), "x\ny".splitlines(), ",".join(["a", "b"]), t.rsplit(",", 1)


@program(lambda: ("banana",))
def string_finds(s: str):
    return s.find("na"), s.rfind("na"), s.count("a"), s.replace("na", "NO"), s.startswith("ba"), s.endswith("x"), s.index("n"), s.find("z"), s.replace("a", "o", 1)


@program(lambda: ("abc1",))
def string_asks(s: str):
    return s.isalnum(), s.isalpha(), s.isdigit(), s.isspace(), s.islower(), s.isupper(), s.istitle(), s.isnumeric(), s.isidentifier(), s.isprintable()


@program(lambda: ("ab",))
def string_pads(s: str):
    return s.center(6), s.ljust(5), s.rjust(5), s.zfill(4), s.center(7, "*"), s.ljust(4, "-"), s.expandtabs(4)


@program(lambda: ([3, 1, 2], [2.5, -1.0]))
def aggregates(x: List[int], y: List[float]):
    return sum(x), min(x), max(x), sum(y), min(y), max(y), len(x), sorted(x), min(3, 2), max(2.5, 1.0), any([v > 2 for v in x]), all([v > 0 for v in x])


@program(lambda: (-3, 2.6), lambda: (4, -1.5))
def number_functions(n: int, x: float):
    return abs(n), abs(x), round(x), int(x), float(n), pow(n, 2), divmod(n, 2), hex(abs(n)), bin(abs(n)), oct(abs(n)), chr(abs(n) + 65), ord("a")


@program(lambda: ([3, 1, 2],))
def sorting(x: List[int]):
    y = sorted(x)
    z = ["b", "a"]
    z.sort()
    t = [(2, "x"), (1, "y")]
    t.sort()
    return y, x, z, t


@program(lambda: (torch.tensor([3.0, 1.0, 2.0]),))
def several_results(x):
    values, indices = torch.sort(x)
    top = torch.topk(x, 2)
    m, i = x.max(0)
    u, counts = torch.unique(x, return_counts=True) if False else (x, x)
    return values, indices, top[0], top[1], m, i, x.max()


@program(lambda: (torch.arange(12.0).view(3, 4),))
def tensor_functions(x):
    a, b = torch.split(x, 2, dim=1)
    c = torch.chunk(x, 3)
    return torch.cat([a, b], dim=1), torch.stack([a, b]), c[0], torch.where(x > 3, x, -x), torch.clamp(x, 1, 5), torch.cumsum(x, 0), torch.einsum("ij,kj->ik", x, x)


@program(lambda: ())
def factories():
    return (torch.zeros(2, 3), torch.ones([2]), torch.arange(5), torch.arange(1, 4), torch.arange(0.0, 1.0, 0.25), torch.eye(2), torch.linspace(0, 1, 3), torch.full((2, 2), 1.5),
            torch.empty(0), torch.tensor([1, 2]), torch.zeros(2, dtype=torch.bool))


@program(lambda: (torch.ones(2, 3),))
def like_factories(x):
    return torch.zeros_like(x), torch.full_like(x, 2), x.new_zeros([2]), x.new_ones([1, 2]), torch.empty_like(x).shape, x.new_full([2], 7.0), x.new_tensor([1.0]) if False else x


@program(lambda: (0,))
def random_numbers(seed: int):
    torch.manual_seed(seed)
    return torch.rand(2), torch.randn([2, 2]), torch.randint(0, 10, [3]), torch.randperm(4), torch.bernoulli(torch.full([3], 0.5)), torch.rand_like(torch.ones(2))


@program(lambda: (torch.ones(2, 3, dtype=torch.int64),))
def conversions(x):
    return x.to(torch.float16), x.to(dtype=torch.bool), x.type_as(torch.ones(1)), x.to("cpu"), x.cpu(), x.to(torch.ones(1)), x.to(torch.device("cpu"), torch.float64, copy=True)


@program(lambda: (torch.ones(3),))
def printing(x):
    print("hello", 1, 2.5, True, None)
    print(x.sum().item(), [1, 2], {"a": 1})
    return 1


def _work(x, n: int):
    return x * n + 1


@program(lambda: (torch.ones(2),))
def fork_and_wait(x):
    a = torch.jit.fork(_work, x, 2)
    b = torch.jit.fork(_work, x, n=3)
    return torch.jit.wait(a) + torch.jit.wait(b)


@program(lambda: (torch.ones(2),))
def fork_many(x):
    futures: List[torch.jit.Future[torch.Tensor]] = []
    for i in range(4):
        futures.append(torch.jit.fork(_work, x, i))
    out: List[torch.Tensor] = []
    for f in futures:
        out.append(torch.jit.wait(f))
    return torch.stack(out)


class _Part(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x, k: int = 1):
        return x * self.n + k


@program(lambda: (torch.ones(2),))
class ForkModules(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([_Part(1), _Part(2)])

    def forward(self, x):
        futures = torch.jit.annotate(List[torch.jit.Future[torch.Tensor]], [])
        for part in self.parts:
            futures.append(torch.jit.fork(part, x, k=5))
        out = []
        for f in futures:
            out.append(torch.jit.wait(f))
        return torch.cat(out)


def _fails(x):
    if x.numel() == 2:
        raise ValueError("two elements")
    return x


@program(lambda: (torch.ones(2),), lambda: (torch.ones(3),))
def fork_error(x):
    f = torch.jit.fork(_fails, x)
    return torch.jit.wait(f) + 1


@program(lambda: (torch.ones(2, 2),))
def in_place_methods(x):
    x.add_(1).mul_(2)
    x.zero_()
    x.fill_(3)
    x[0].sub_(1)
    x.clamp_(0, 2)
    return x


@program(lambda: (torch.arange(6.0).view(2, 3),))
def reductions(x):
    return (x.sum(), x.sum(0), x.sum([0, 1]), x.mean(1), x.std(), x.var(dim=0), x.prod(), x.max(), x.min(), x.argmax(), x.argmax(dim=1), x.norm(), x.any(), x.all(), x.amax(0),
            torch.logsumexp(x, 0), x.median(), x.cumprod(1))


@program(lambda: (torch.arange(6.0).view(2, 3),))
def shapes(x):
    return (x.reshape(3, 2), x.view(6), x.view(-1, 2), x.permute(1, 0), x.transpose(0, 1), x.unsqueeze(1), x[None].squeeze(0), x.flatten(), x.repeat(2, 1), x.expand(2, 2, 3), x.narrow(1, 0, 2),
            x.select(0, 1), x.flip([0]), x.roll(1, 0), torch.movedim(x, 0, 1))


@program(lambda: (torch.ones(2), [2, 3]))
def sizes_and_lists(x, size: List[int]):
    a = torch.zeros(size)
    b = a.size()
    size.append(4)
    c = list(b) + size
    h, w = a.shape
    return a.view(b[0] * b[1]), c, h * w, len(a), a.shape[-1]


@program(lambda: (5,))
def int_overflow_and_large(n: int):
    big = 1 << 40
    return big + n, big * 3, -big // 7, big % 1000, float(big), 2 ** 30


@refused
def unknown_builtin(x: List[int]):
    return frozenset(x)


@refused
def unsupported_function(x):
    return open("file")


@refused
def map_function(x: List[int]):
    return list(map(str, x))


@refused
def sorted_by_key(x: List[int]):
    return sorted(x, key=lambda v: -v)


@refused
def reversed_list(x: List[int]):
    return [v for v in reversed(x)]


@program(lambda: (torch.tensor([1.5, -2.5]),))
def cast_methods(x):
    return x.float(), x.int(), x.long(), x.double(), x.half(), x.short(), x.char(), x.abs().byte(), x.cfloat()


@refused
def bool_method(x):
    return x.bool()


@refused
def bfloat_method(x):
    return x.bfloat16()


@program(lambda: ())
def dict_call():
    return dict([("a", 1), ("b", 2)]), dict(a=1, b=2)


@refused
def no_such_torch_function(x):
    return torch.no_such_function(x)


@refused
def missing_argument(x):
    return torch.cat()


@refused
def string_method(s: str):
    return s.encode("utf-8")


@program(lambda: (torch.ones(2),))
def type_function(x):
    return type(x)
