"""Programs after TorchScript's language reference: what a call binds, defaults, methods of classes and of Python's own types."""
from typing import Any, Dict, List, Tuple, Union
import torch
from torch import nn
from torch import Tensor


@program(lambda: (torch.arange(3), torch.tensor([1, 2, 3])))
def repeats_the_receiver(x, r):
    return x.repeat_interleave(r), r.repeat_interleave(x, dim=0), torch.repeat_interleave(r)


@refused
def sine_of_an_argument(x):
    return x.sin(2.0)


@refused
def logarithm_of_an_argument(x):
    return x.log(2)


@refused
def product_of_arguments(x):
    return x.mul(2, 3)


@refused
def where_with_a_condition_alone(x):
    return x.where(x > 0)


@program(lambda: ([1, 2, 3],))
def enumerate_from(l: List[int]):
    r = 0
    for i, v in enumerate(l, start=3):
        r += i * v
    for i, v in enumerate(l, 5):
        r += i * v
    return r


@refused
def enumerate_from_another_keyword(l: List[int]):
    r = 0
    for i, v in enumerate(l, begin=3):
        r += i * v
    return r


@program(lambda: (torch.ones(2), torch.zeros(2)))
def no_tensor_by_default(x, mask: Tensor = None):
    if mask is not None:
        x = x * mask
    return x


@program(lambda: (torch.ones(2), torch.zeros(2)))
class no_tensor_by_default_in_forward(nn.Module):
    def forward(self, x, mask=None):
        return x if mask is None else x + mask


@refused
def no_number_by_default(x, n: int = None):
    return x if n is None else x * n


@refused
def list_by_default(l: List[int] = [1]):  # noqa: B006
    return l


@refused
def dict_by_default(d: Dict[str, int] = {}):  # noqa: B006
    return d


@refused
def list_in_a_tuple_by_default(p: Tuple[int, List[int]] = (1, [2])):
    return p


@refused
def more_than_64_bits():
    return 9223372036854775808


@program(lambda: ())
def just_64_bits():
    return 9223372036854775807, 0x7FFFFFFFFFFFFFFF


@program(lambda: (torch.ones(2),))
class static_by_class(nn.Module):
    @staticmethod
    def twice(x):
        return x * 2

    @staticmethod
    def next(n: int) -> int:
        return n + 1

    def forward(self, x):
        return static_by_class.twice(x) + self.twice(x), static_by_class.next(3)


@program(lambda: (torch.ones(2),))
class class_method(nn.Module):
    @staticmethod
    def twice(x):
        return x * 2

    @classmethod
    def thrice(cls, x, n: int = 1):
        return cls.twice(x) + x * n

    def forward(self, x):
        return self.thrice(x), self.thrice(x, n=2)


@program(lambda: (torch.ones(2, 2),))
class autocast_off(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            y = x @ x
        with torch.cuda.amp.autocast(enabled=False):
            return y + x @ x


@program(lambda: (torch.ones(2, 2), True), lambda: (torch.ones(2, 2), False))
class autocast_on(nn.Module):
    def forward(self, x, early: bool):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
            with torch.autocast(device_type="cpu", enabled=False):
                z = x @ x
            if early:
                return y, z, x @ x
        with torch.cpu.amp.autocast():
            y = x @ y
        return y, z, x @ x


def _given():
    return [1, 0, 2.5, 1j, None, "a", torch.tensor(True), torch.tensor(2), torch.tensor(2.5), torch.tensor([3]), torch.tensor([1, 2]), torch.tensor(1j), [1], 10**30, b"a"]


@program(*[lambda i=i: (_given()[i],) for i in range(15)])
def truth_given(x: bool):
    return x


@program(*[lambda i=i: (_given()[i],) for i in range(15)])
def integer_given(x: int):
    return x


@program(*[lambda i=i: (_given()[i],) for i in range(15)])
def complex_given(x: complex):
    return x


@program(*[lambda i=i: (_given()[i],) for i in range(12)])
def union_given(x: Union[int, str]):
    return x


@program(lambda: ([1, 0],), lambda: ([1.5, None],), lambda: ((True, False),), lambda: ("a",), lambda: (b"a",))
def truths_given(x: List[bool]):
    return x


class Rank:
    def __init__(self, v: int, name: str):
        self.v = v
        self.name = name

    def __lt__(self, other: "Rank") -> bool:
        return self.v < other.v


@program(lambda: ())
def sorted_objects():
    ranks = [Rank(3, "a"), Rank(1, "b"), Rank(2, "c"), Rank(1, "d")]
    names: List[str] = []
    for each in sorted(ranks):
        names.append(each.name)
    ranks.sort(reverse=True)
    for each in ranks:
        names.append(each.name)
    pairs = [(2, Rank(1, "e")), (1, Rank(3, "f")), (1, Rank(2, "g"))]
    pairs.sort()
    for _, each in pairs:
        names.append(each.name)
    return names


@program(lambda: (0,), lambda: (1,), lambda: (2,))
def raises_from(x: int):
    if x == 1:
        raise ValueError("bad") from None
    if x == 2:
        raise RuntimeError("worse") from ValueError("bad")
    return x


@program(lambda: (torch.arange(9).view(3, 3), 1))
def slices_by_name(x, n: int):
    y = x[slice(0, 2)], x[slice(2)], x[slice(0, 3, 2)], x[slice(None, 2)], x[slice(n, None)], x[slice(n, n + 1), slice(0, 2)], x[..., slice(0, 1)]
    x[slice(0, n)] = 7
    x[slice(1, 2)] += 1
    return y, x


@program(lambda: ([1, 2, 3, 4], "abcd"))
def slices_of_lists_by_name(l: List[int], s: str):
    t = (1, 2.0, "c")
    return l[slice(0, 2)], l[slice(2)], l[slice(0, 4, 2)], s[slice(1, 3)], t[slice(0, 2)]


@refused
def slice_of_nothing(x):
    return x[slice()]


@program(lambda: (["a", "b"], [1, 2, 3]))
def dict_of_pairs(k: List[str], v: List[int]):
    d: Dict[str, int] = dict(zip(k, v))
    return d, dict(zip(v, k)), dict(enumerate(v)), dict(zip(range(3), k))


@program(lambda: (torch.ones(1), [1]))
def lists_of_anything(x, given: List[Any]):
    l: List[Any] = []
    l.append(1)
    l.append("a")
    l.append(x)
    l.insert(0, 2.5)
    l[0] = x
    given.append([x])
    d: Dict[str, Any] = {}
    d["a"] = 1
    d["b"] = x
    return l, given, d


@refused
def lists_of_anything_extended(x):
    l: List[Any] = []
    l.extend([1])
    return l


@program(lambda: (3,))
def names_beyond_ascii(größe: int):
    ñ = größe + 1
    日本 = "日本"
    return ñ, 日本 + "é"


@program(lambda: (torch.ones(2),))
def type_by_dtype(x):
    return x.type(torch.float64), x.type(dtype=torch.int64), x.type(x.dtype)


@program(lambda: ([1.0, 2.5],))
def legacy_constructors(l: List[float]):
    return torch.FloatTensor([1.0]), torch.LongTensor([[1], [2]]), torch.DoubleTensor(l), torch.BoolTensor([True]), torch.FloatTensor([1, 2]), torch.FloatTensor(2, 3).shape, torch.IntTensor()

@torch.jit._overload
def doubled(x: int) -> int: ...


@torch.jit._overload
def doubled(x: str) -> str: ...     # noqa: F811


def doubled(x):                          # noqa: F811
    return x + x


@program(lambda: ())
def overloads():
    return doubled(1), doubled("a"), doubled(2)


@program(lambda: (torch.ones(2),))
def no_tensor_is_an_error_where_it_is_used(x, mask: Tensor = None):
    return x * mask


