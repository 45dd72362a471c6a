"""Programs after TorchScript's language reference: types, annotations, refinement."""
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import enum
import torch


@program(lambda: (1, 2.5, True, "a"), lambda: (-3, 0.0, False, ""))
def primitives(a: int, b: float, c: bool, d: str):
    return a + 1, b * 2, not c, d + "!", a / 2, a // 2, int(b), float(a), bool(a)


@program(lambda: (1 + 2j,), lambda: (-1.5j,))
def complex_numbers(z: complex):
    w = z * 2j + 1
    return abs(z), z == w, complex(1.0, 2.0) - z, w * w


@refused
def part_of_complex(z: complex):
    return z.real


@program(lambda: ([1, 2, 3],))
def lists(x: List[int]):
    y: List[int] = []
    for v in x:
        y.append(v * 2)
    y.extend(x)
    return y, x[0], x[-1], len(y), y[1:4], y[::2]


@program(lambda: ({"a": 1, "b": 2},))
def dicts(d: Dict[str, int]):
    out: Dict[str, int] = {}
    for key, value in d.items():
        out[key + key] = value + 1
    return out, list(d.keys()), list(d.values()), "a" in d, len(d)


@program(lambda: ((1, "x"),))
def tuples(t: Tuple[int, str]):
    n, s = t
    return (s, n), t[0] + 1, t[1] + s, len(t)


@program(lambda: (torch.ones(2), None), lambda: (torch.ones(2), 3))
def optionals(x: torch.Tensor, n: Optional[int]):
    if n is None:
        return x
    return x * n


@program(lambda: (1,), lambda: ("text",), lambda: (2.5,))
def unions(x: Union[int, float, str]):
    if isinstance(x, int):
        return x + 1
    elif isinstance(x, float):
        return int(x * 2)
    else:
        return len(x)


@program(lambda: (3,), lambda: ("a",), lambda: ([1, 2],))
def any_values(x: Any):
    if isinstance(x, int):
        return x + 1
    if isinstance(x, str):
        return len(x) + 10
    return -1


@program(lambda: (torch.arange(4.0), 3))
def inferred_tensor_parameters(x, n: int):
    return x.sum() + n, x[n], x.shape


@program(lambda: (torch.ones(2, 3),))
def type_comment(x):
    # type: (Tensor) -> Tuple[Tensor, int]
    y = x.t()
    return y, y.size(0)


@program(lambda: (torch.ones(2), 2, [1.5]))
def type_comment_many(x, n, scales):
    # type: (Tensor, int, List[float]) -> List[Tensor]
    out = []
    for i in range(n):
        out.append(x * scales[0] + i)
    return out


@program(lambda: (torch.ones(2), 3))
def type_comments_by_line(x,       # type: Tensor
                          n,       # type: int
                          k=2      # type: int
                          ):
    # type: (...) -> Tensor
    return x * n + k


@program(lambda: (4,))
def annotated_variables(n: int):
    a: int = n
    b: float = float(n)
    c: Optional[int] = None
    if a > 2:
        c = a
    d: List[Tuple[int, float]] = [(a, b)]
    return d, c


@program(lambda: (3,))
def annotate_function(n: int):
    xs = torch.jit.annotate(List[torch.Tensor], [])
    table = torch.jit.annotate(Dict[int, str], {})
    maybe = torch.jit.annotate(Optional[str], None)
    for i in range(n):
        xs.append(torch.tensor(i))
        table[i] = str(i)
    if n > 5:
        maybe = "large"
    return xs, table, maybe


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


@program(lambda: (1,), lambda: (2,))
def enums(n: int):
    c = Color.RED
    if n == Color.GREEN.value:
        c = Color.GREEN
    return c.value, c.name, c == Color.GREEN, c is Color.RED


@program(lambda: (Color.BLUE,), lambda: (Color.RED,))
def enum_parameter(c: Color):
    if c == Color.RED or c == Color.GREEN:
        return c.name
    return "other " + c.name + str(c.value)


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor
    n: int = 2


@program(lambda: (torch.ones(2),))
def named_tuples(v):
    p = Point(v, v * 2)
    q = Point(y=v, x=p.y, n=5)
    x, y, n = q
    return p.x + q.y, p.n + q.n, q[2], x - y, n


@program(lambda: (torch.ones(2),))
def named_tuple_result(v) -> Point:
    return Point(v, v + 1, 7)


@program(lambda: (Point(torch.ones(1), torch.zeros(1), 3),))
def named_tuple_parameter(p: Point):
    return p.x * p.n + p.y


@program(lambda: ([[1, 2], [3], []],))
def nested_lists(x: List[List[int]]):
    total = 0
    flat: List[int] = []
    for row in x:
        for v in row:
            total += v
        flat += row
    return total, flat, [len(r) for r in x]


@program(lambda: ({"a": [1.0, 2.0], "b": []},))
def dict_of_lists(d: Dict[str, List[float]]):
    out: Dict[str, float] = {}
    for k, v in d.items():
        s = 0.0
        for e in v:
            s += e
        out[k] = s
    d["c"] = [9.0]
    return out, d


@program(lambda: (None,), lambda: ([None, 3],))
def list_of_optionals(x: Optional[List[Optional[int]]]):
    total = 0
    if x is not None:
        for v in x:
            if v is not None:
                total += v
    return total


@program(lambda: (None, None), lambda: (1, None), lambda: (1, 2))
def refine_and(a: Optional[int], b: Optional[int]):
    if a is not None and b is not None:
        return a + b
    if a is None or a < 0:
        return 0
    return a


@program(lambda: (None,), lambda: (4,))
def refine_or(a: Optional[int]):
    if a is None or a > 3:
        return -1
    return a + 1


@program(lambda: (None,), lambda: (torch.ones(2),))
def refine_assert(x: Optional[torch.Tensor]):
    assert x is not None
    return x + 1


@program(lambda: (None,), lambda: (3,))
def refine_ternary(x: Optional[int]):
    y = x if x is not None else 10
    z = 1 if x is None else x
    return y + z


@program(lambda: (None,), lambda: (2,))
def refine_while(x: Optional[int]):
    n = 0
    while x is None:
        n += 1
        if n > 2:
            x = n
    return x, n


@refused
def not_refined_by_while(x: Optional[int]):
    while x is None:
        x = 1
    return x + 1


@program(lambda: ([1, 2],), lambda: (["a"],))
def refine_isinstance_lists(x: Union[List[int], List[str]]):
    if isinstance(x, List[int]):
        return x[0] + 1
    return len(x)


@program(lambda: (1,), lambda: (2.0,), lambda: ("a",))
def isinstance_of_several(x: Union[int, float, str]):
    if isinstance(x, (int, float)):
        return 1
    return 0


@program(lambda: (3,), lambda: (None,))
def new_union_syntax(x: int | None):
    if x is None:
        return "none"
    return str(x)


@program(lambda: ([1, 2], {"a": 1}, (1, 2.0)))
def builtin_generics(a: list[int], b: dict[str, int], c: tuple[int, float]) -> tuple[int, list[int]]:
    return a[0] + b["a"] + c[0], [c[0]] + a


@program(lambda: (torch.ones(2, dtype=torch.float64),))
def devices_and_dtypes(x):
    d = torch.device("cpu")
    y = torch.zeros([2], dtype=x.dtype, device=x.device)
    return y.dtype == torch.float64, x.device == d, d.type, d.index, str(x.device), y.to(torch.int32).dtype


class Annotated(torch.nn.Module):
    scale: Final[float]
    maybe: Optional[torch.Tensor]
    names: List[str]

    def __init__(self):
        super().__init__()
        self.scale = 2.5
        self.maybe = None
        self.names = []

    def forward(self, x):
        self.names.append("call")
        if self.maybe is None:
            self.maybe = x
        m = self.maybe
        assert m is not None
        return m * self.scale, len(self.names)


@program(lambda: (torch.ones(2),), lambda: (torch.zeros(2),))
class AnnotatedModule(Annotated):
    pass


@program(lambda: (2,))
def optional_to_optional(n: int):
    a: Optional[int] = n
    b: Optional[Optional[int]] = a
    c: List[Optional[int]] = [a, None, n]
    return b, c


@program(lambda: (True,), lambda: (False,))
def union_result(flag: bool) -> Union[int, str]:
    if flag:
        return 1
    return "one"


@program(lambda: (True,), lambda: (False,))
def merged_optional(flag: bool):
    x: Optional[int] = None
    if flag:
        x = 3
    if x is not None:
        return x * 2
    return 0


@program(lambda: (torch.tensor(3),), lambda: (torch.tensor([1, 2]),))
def tensor_as_int(x) -> int:
    return x


@refused
def wrong_result(s: str) -> int:
    return s


@refused
def wrong_argument(n: int):
    return torch.relu(n)


@refused
def two_types(flag: bool):
    if flag:
        x = 1
    else:
        x = "one"
    return x


@refused
def optional_not_refined(n: Optional[int]):
    return n + 1


@program(lambda: (3,))
def mixed_list(n: int):
    return [n, "a"], {"a": n, "b": 2.5}, [n, None]


@refused
def unknown_type(x: "Unknown"):  # noqa: F821
    return x


@refused
def set_type(x: set):
    return x


@refused
def list_without_element(x: List):
    return x


@program(lambda: (3,))
def changed_type(n: int):
    x = n
    x = "text"
    return x


@refused
def changed_type_in_branch(n: int):
    x = n
    if n > 1:
        x = "text"
    return x


@refused
def dict_key_type(d: Dict[str, int]):
    return d[1]


@refused
def named_tuple_without_field(v):
    p = Point(v, v)
    return p.z


@refused
def float_for_int(n: float):
    y: int = n
    return y


@refused
def none_result(x) -> torch.Tensor:
    y = x + 1


@refused
def list_invariance(x: List[int]):
    y: List[Optional[int]] = x
    return y
