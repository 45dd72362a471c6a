"""Programs after TorchScript's language reference: literals, operators, calls, slices, comprehensions."""
from typing import Dict, List, Optional, Tuple
import math
import torch


@program(lambda: ())
def literals():
    return 1, -1, 0x1F, 1e3, 1.5e-2, True, None, "a\tb\n", 'single', "join" "ed", 3j, """long
text"""


@program(lambda: ())
def displays():
    a = [1, 2, 3]
    b = {"x": 1.0, "y": 2.0}
    c = (1, "two", [3.0])
    d = [(1, "a"), (2, "b")]
    e = {1: [1], 2: [2, 3]}
    return a, b, c, d, e, ()


@program(lambda: (7, 2), lambda: (-7, 2), lambda: (7, -2))
def integer_arithmetic(a: int, b: int):
    return a + b, a - b, a * b, a / b, a // b, a % b, a ** 2, -a, divmod(a, b)


@program(lambda: (7.5, 2.0), lambda: (-7.5, 2.0))
def float_arithmetic(a: float, b: float):
    return a + b, a - b, a * b, a / b, a // b, a % b, a ** b if a > 0 else 0.0, -a


@program(lambda: (3, 2.5))
def mixed_arithmetic(a: int, b: float):
    return a + b, b - a, a * b, a / b, a // b, b % a, a ** b, a < b, a == b, max(float(a), b)


@program(lambda: (12, 10))
def bits(a: int, b: int):
    return a & b, a | b, a ^ b, a << 2, a >> 1


@refused
def inverted_number(a: int):
    return ~a


@refused
def unary_plus(a: int):
    return +a


@program(lambda: (torch.arange(4), torch.tensor([1, 1, 2, 2])))
def tensor_bits(a, b):
    return a & b, a | b, a ^ b, a << b, a >> b, ~a


@program(lambda: (1, 2, 3), lambda: (3, 2, 1), lambda: (2, 2, 2))
def chained_comparisons(a: int, b: int, c: int):
    return a < b < c, a <= b <= c, a == b == c, a < b > c, a != b != c


@program(lambda: (True, False), lambda: (True, True))
def boolean_operations(a: bool, b: bool):
    return a and b, a or b, not a, a and not b or b, a == b, a != b, not (a or b) and a


@program(lambda: (0,), lambda: (5,))
def short_circuit(n: int):
    return n != 0 and 10 // n > 1, n == 0 or 10 // n > 1


@program(lambda: (3,), lambda: (-3,))
def conditional_expressions(n: int):
    return (n if n > 0 else -n), ("pos" if n > 0 else "neg" if n < 0 else "zero"), [1] if n > 0 else [2, 3]


@program(lambda: (torch.arange(6.0).view(2, 3),))
def tensor_operators(x):
    return x + 1, 1 - x, x * 2.5, x / 3, 2 / (x + 1), x // 2, x % 2, x ** 2, 2 ** x, -x, x > 1, x <= 3, x == 2, x != 2, x @ x.t()


@program(lambda: (torch.arange(24).view(2, 3, 4),))
def tensor_indexing(x):
    return x[0], x[-1, 1], x[0, 1, 2], x[:, 1], x[..., 0], x[None], x[0:1, ::2], x[:, :, 1:3], x[0, ..., -1]


@program(lambda: (torch.arange(12).view(3, 4), torch.tensor([0, 2]), torch.tensor([True, False, True])))
def advanced_indexing(x, i, m):
    return x[i], x[m], x[:, i], x[i, i], x[i, 1:3], x[x > 5], x[i][:, None]


@program(lambda: (torch.zeros(3, 4), torch.tensor([0, 2])))
def indexed_assignment(x, i):
    x[0] = 1
    x[1, 2] = 5.5
    x[:, 3] = torch.arange(3.0)
    x[i, 0] += 2
    x[x > 4] = -1
    x[-1, 1:3] *= 3
    return x


@program(lambda: ([1, 2, 3, 4, 5], "hello"))
def slices(x: List[int], s: str):
    return x[1:3], x[:-1], x[::2], x[-2:], x[1:10], x[3:1], s[1:3], s[-1], s[:2], s[::1]


def _behind(x: List[str]):
    return x[1:] if x[0] == "*" else x[:-1]


@program(lambda: (2,))
def slices_of_lists_made_here(n: int):
    made = [n, 3, 5, 7]
    return made[1:], made[:-1], made[::2], made[-2:], made[3:1], ["a", "b"][1:], _behind(["*", "3"]), len(made[2:])


@program(lambda: ((1, 2.0, "c", True),))
def tuple_slices(t: Tuple[int, float, str, bool]):
    return t[1:], t[:2], t[-1], t[0], t[1:3], t[::2]


@program(lambda: ([3, 1, 2],))
def list_comprehensions(x: List[int]):
    return [v * 2 for v in x], [str(v) for v in x], [i for i in range(3)], [float(v) / 2 for v in x[1:]], [[a * v for a in x] for v in x]


@refused
def comprehension_with_if(x: List[int]):
    return [v for v in x if v > 1]


@program(lambda: ({"a": 1, "b": 3},))
def dict_comprehensions(d: Dict[str, int]):
    return {k: v + 1 for k, v in d.items()}, {v: v * v for v in [1, 2, 3]}, {k: len(k) for k in d.keys()}


@program(lambda: ([torch.ones(2), torch.zeros(3)],))
def tensor_comprehension(xs: List[torch.Tensor]):
    return torch.stack([x.sum() for x in xs]), [x.shape[0] for x in xs], sum([x.numel() for x in xs])


@program(lambda: ("ab", 3, 2.5))
def format_strings(s: str, n: int, x: float):
    return f"{s}-{n}", f"{n + 1}:{x}", "{} and {}".format(s, n), "%s %d" % (s, n), f"plain", "{{}}".format()  # noqa: F541


@program(lambda: ("Hello World",))
def string_operators(s: str):
    return s + "!", "World" in s, s == "x", s < "I", len(s), s[0] + s[-1]


@program(lambda: ([1, 2], [3]))
def list_operators(a: List[int], b: List[int]):
    return a + b, a * 2, a == b, a != b, 2 in a, 5 in a, 5 not in b


@program(lambda: (2.25,), lambda: (0.5,))
def math_functions(x: float):
    return (math.sqrt(x), math.exp(x), math.log(x), math.sin(x), math.floor(x), math.ceil(x), math.pow(x, 2.0), math.fabs(-x), math.atan2(x, 1.0), math.pi, math.e,
            math.log10(x), math.log1p(x), math.isnan(x), math.copysign(x, -1.0), math.fmod(x, 1.0), math.degrees(x))


@program(lambda: ())
def math_constants():
    return math.inf, -math.inf, math.isinf(math.inf), math.isnan(math.nan), math.gcd(12, 18), math.factorial(5), float("inf"), float("nan") != float("nan")


@program(lambda: (torch.ones(3),))
def keyword_calls(x):
    return torch.sum(x, dim=0, keepdim=True), x.mean(dim=0), torch.add(x, x, alpha=2), torch.zeros([2, 2], dtype=torch.int64), torch.full([2], fill_value=3.0)


def _helper(x, n: int = 2, by: float = 1.5):
    return x * n + by


@program(lambda: (torch.ones(2),))
def defaults_and_keywords(x):
    return _helper(x), _helper(x, 3), _helper(x, n=4), _helper(x, by=2.0), _helper(n=1, x=x)


@program(lambda: (torch.ones(2, 3),))
def method_chains(x):
    return x.t().contiguous().view(-1).unsqueeze(0).expand(2, -1).sum(dim=1), x.add(1).mul_(2).relu()


@program(lambda: (torch.ones(2, 3),))
def tensor_properties(x):
    return x.shape, x.dtype == torch.float, x.ndim, x.requires_grad, x.is_sparse, x.T, x.grad is None, x.device.type, x.size(), x.size(-1), x.dim(), x.numel()


@program(lambda: (torch.tensor([1.5, 2.5]),))
def tensor_to_number(x):
    a = float(x[0])
    b = int(x[1])
    c = x.sum().item()
    d = bool(x[0] > 1)
    return a, b, c, d, x.tolist() if False else [a]


@program(lambda: (torch.arange(4),))
def tolist(x):
    y: List[int] = x.tolist()
    z: List[List[float]] = x.view(2, 2).float().tolist()
    return y, z


@program(lambda: (5,))
def casts(n: int):
    return int("12") + n, float("2.5"), str(n), bool(n), int(True), float(True), int(2.9), int(-2.9), str(2.5), str(True), bool(0.0)


@program(lambda: (torch.ones(2), 3))
def starred_calls(x, n: int):
    sizes = [2, n]
    return torch.zeros(sizes), torch.zeros(2, n), torch.ones([n]), x.view([1, 2]), x.view(1, 2), x.expand([n, 2])


@program(lambda: ((torch.ones(2), torch.zeros(2)),))
def starred_tuple(t: Tuple[torch.Tensor, torch.Tensor]):
    return torch.add(*t)


@program(lambda: (True, False), lambda: (False, False))
def precedence(a: bool, b: bool):
    return a or b and not a, (a or b) and a, not a == b, 1 + 2 * 3 ** 2, -2 ** 2, (1 + 2) * 3, 7 - 3 - 2, 2 ** 3 ** 2, 10 // 3 % 2, 1 | 2 & 3, 1 << 2 + 1


@program(lambda: (None,), lambda: (torch.ones(1),))
def identity(x: Optional[torch.Tensor]):
    return x is None, x is not None, None is None


@program(lambda: (torch.ones(2, 2), torch.eye(2)))
def matmul(a, b):
    c = a @ b
    return c, torch.matmul(a, b), a.mm(b)


@program(lambda: (torch.tensor(3), torch.tensor(2.5)))
def scalars_in_place_of_numbers(n, x):
    return torch.zeros(int(n)), n + 1, x * 2, n.item(), 1 if n > 2 else 0, max(int(n), 2)


@program(lambda: ([1.5, 2.5], [3, 4]))
def list_to_tensor(a: List[float], b: List[int]):
    return torch.tensor(a), torch.tensor(b), torch.tensor([a, a]), torch.tensor(b, dtype=torch.float64), torch.tensor([[1, 2], [3, 4]]), torch.tensor(2.5), torch.tensor([True])


@program(lambda: (torch.arange(3.0),))
def ternary_of_tensors(x):
    return x if x.sum() > 2 else -x, x.relu() if bool(x[0]) else x


@refused
def undefined_name(x):
    return x + y  # noqa: F821


@refused
def lambda_expression(x):
    f = lambda v: v + 1  # noqa: E731
    return f(x)


@refused
def set_display():
    return {1, 2}


@program(lambda: ([1, 2],))
def generator_expression(xs: List[int]):
    return sum(x for x in xs), max([x for x in xs])


@refused
def text_times_number(s: str):
    return s * 2


@refused
def base_two_logarithm(x: float):
    return math.log2(x)


@refused
def keyword_only_default(x, *, by: float = 1.5):
    return x * by


@program(lambda: (torch.ones(2),))
def keyword_only(x):
    return _keyword_only(x, by=2.0)


def _keyword_only(x, *, by: float):
    return x * by


@refused
def augmented_matmul(a, b):
    a @= b
    return a


@refused
def augmented_floor(a: int):
    a //= 2
    return a


@refused
def walrus(x):
    if (n := x.size(0)) > 1:
        return n
    return 0


@refused
def no_such_method(x):
    return x.frobnicate()


@refused
def no_such_operator(s: str):
    return s - s


@refused
def no_such_keyword(x):
    return torch.relu(x, sideways=True)


@refused
def too_many_arguments(x):
    return torch.relu(x, x, x)


@refused
def tuple_index_not_constant(t: Tuple[int, str], n: int):
    return t[n]


@refused
def tuple_index_too_large(t: Tuple[int, int]):
    return t[2]


@refused
def dict_in_dict_comprehension(n: int):
    return {i: j for i in range(n) for j in range(i)}


@refused
def number_as_callee(n: int):
    return n(1)


@refused
def keyword_dict(x):
    return torch.add(**{"input": x, "other": x})


@refused
def bytes_literal():
    return b"abc"


@refused
def ellipsis_value():
    x = ...
    return x
