"""Programs after TorchScript's language reference: assignments, loops, conditions, with, raise, assert, functions."""
from typing import Dict, List, Tuple
import torch


@program(lambda: (3,))
def assignments(n: int):
    a = b = n
    a += 1
    c, d = a, b
    c, d = d, c
    (e, f), g = (c, d), 5
    return a, b, c, d, e, f, g


@refused
def assign_to_list(n: int):
    [h, i] = [n, n]
    return h


@program(lambda: (7, 2.5))
def augmented(a: int, b: float):
    a += 2
    a -= 1
    a *= 3
    b **= 2
    a <<= 2
    a |= 1
    a ^= 3
    a &= 30
    a >>= 1
    return a, b


@program(lambda: (17,), lambda: (-17,))
def augmented_remainder(a: int):
    a %= 7
    return a


@program(lambda: (torch.ones(3),))
def augmented_tensors(x):
    y = x
    y += 1
    y *= 2
    z = y.clone()
    z -= x
    z /= 3
    x **= 2
    return x, y, z


@program(lambda: ([1, 2, 3],))
def starred_assignment(x: List[int]):
    t = (1, 2.0, "c", 4)
    a, *b = t
    *c, d = t
    e, *f, g = t
    return a, b, c, d, e, f, g


@program(lambda: ([5, 6, 7],))
def unpack_list(x: List[int]):
    a, b, c = x
    return a + b * c


@program(lambda: (torch.arange(6).view(3, 2),))
def unpack_unbound(x):
    a, b, c = x.unbind()
    d, e = a.unbind()
    return a + b - c, d, e


@refused
def unpack_tensor(x):
    a, b, c = x
    return a


@program(lambda: (3,), lambda: (0,), lambda: (-3,))
def if_elif_else(n: int):
    if n > 0:
        s = "positive"
    elif n == 0:
        s = "zero"
    else:
        s = "negative"
    return s


@program(lambda: (True,), lambda: (False,))
def if_defines_in_both(flag: bool):
    if flag:
        x = 1
        only_here = 5  # noqa: F841
    else:
        x = 2
    return x


@program(lambda: (10,), lambda: (0,))
def while_loop(n: int):
    total = 0
    while n > 0:
        total += n
        n -= 3
    return total, n


@program(lambda: (6,))
def break_and_continue(n: int):
    out: List[int] = []
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 2 == 0:
            continue
        out.append(i)
    return out


@program(lambda: (4,))
def for_ranges(n: int):
    out: List[int] = []
    for i in range(n):
        out.append(i)
    for i in range(1, n):
        out.append(i * 10)
    for i in range(n, 0, -2):
        out.append(i * 100)
    return out


@program(lambda: (4,))
def for_ranges_only(n: int):
    out: List[int] = []
    for i in range(n):
        for j in range(i, n * 2, 3):
            out.append(i * j)
    for _ in range(n, -n, -3):
        out.append(-1)
    return out


@program(lambda: (torch.arange(6).view(3, 2),))
def for_over_tensor(x):
    total = torch.zeros(2, dtype=torch.int64)
    for row in x:
        total = total + row
    return total


@program(lambda: ("abc",))
def for_over_string(s: str):
    out: List[str] = []
    for c in s:
        out.append(c + c)
    return out


@program(lambda: ((1, 2, 3),))
def for_over_tuple(t: Tuple[int, int, int]):
    total = 0
    for v in t:
        total += v
    for name in ("a", "bc"):
        total += len(name)
    return total


@program(lambda: ((1, 2.5, "x"),))
def for_over_mixed_tuple(t: Tuple[int, float, str]):
    out = ""
    for v in t:
        out += str(v)
    return out


@program(lambda: ([1, 2, 3], ["a", "b"]))
def zip_and_enumerate(x: List[int], names: List[str]):
    out: List[Tuple[int, str]] = []
    for n, s in zip(x, names):
        out.append((n, s))
    total = 0
    for i, v in enumerate(x):
        total += i * v
    for i, (v, s) in enumerate(zip(x, names)):
        total += i + v + len(s)
    return out, total


@program(lambda: ({"a": 1, "b": 2},))
def for_over_dict(d: Dict[str, int]):
    out: List[str] = []
    total = 0
    for k in d:
        out.append(k)
    for k, v in d.items():
        total += v
        out.append(k + str(v))
    for v in d.values():
        total += v
    return out, total


@program(lambda: ([3, 1, 2],))
def nested_loops_with_break(x: List[int]):
    found = -1
    for i in range(len(x)):
        for j in range(len(x)):
            if x[i] + x[j] == 5:
                found = i * 10 + j
                break
        if found >= 0:
            break
    return found


@program(lambda: (5,), lambda: (50,))
def early_return(n: int):
    for i in range(n):
        if i * i > 20:
            return i
    return -1


@program(lambda: (torch.ones(2),), lambda: (-torch.ones(2),))
def early_return_from_if(x):
    if x.sum() > 0:
        return x
    y = x * 2
    if y.sum() < -10:
        return y
    return y + 1


@program(lambda: (3,), lambda: (-1,))
def raises(n: int):
    if n < 0:
        raise ValueError("negative: " + str(n))
    return n


@program(lambda: (3,), lambda: (-1,))
def raise_without_text(n: int):
    if n < 0:
        raise RuntimeError
    return n


@program(lambda: (3,), lambda: (-1,))
def asserts(n: int):
    assert n > 0
    assert n < 10, "too large"
    return n


@program(lambda: (3,), lambda: (30,))
def assert_with_format(n: int):
    assert n < 10, "too large: {}".format(n)
    assert n < 10, f"too large: {n}"
    return n


@program(lambda: ([1, 2, 3], {"a": 1}))
def deletes(x: List[int], d: Dict[str, int]):
    y = 3
    del y
    del x[0]
    del d["a"]
    return x, d


@program(lambda: ())
def pass_statement():
    for _ in range(3):
        pass
    if True:
        pass


@program(lambda: (torch.ones(2), 3))
def no_result(x, n: int) -> None:
    x.add_(n)


@program(lambda: (torch.ones(2, requires_grad=True),))
def with_no_grad(x):
    with torch.no_grad():
        y = x * 2
    z = x * 3
    return y.requires_grad, z.requires_grad


@program(lambda: ())
def docstring():
    """Says what it does."""
    x = 1
    """And text on the way."""
    return x


def _fact(n: int) -> int:
    if n <= 1:
        return 1
    return n * 2


@program(lambda: (5,))
def calls_function(n: int):
    return _fact(n) + _fact(1)


@torch.jit.script
def _scripted(x, k: int = 3):
    return x * k


@program(lambda: (torch.ones(2),))
def calls_scripted(x):
    return _scripted(x) + _scripted(x, k=1)


@torch.jit.ignore
def _python_only(n: int) -> int:
    return len(str(n)) + sum({1, 2, n})


@program(lambda: (5,))
def calls_ignored(n: int):
    return _python_only(n) + 1


@torch.jit.unused
def _not_used(x):
    return x.no_such_method()


@program(lambda: (torch.ones(1), True), lambda: (torch.ones(1), False))
def calls_unused(x, flag: bool):
    if flag:
        return x + 1
    return _not_used(x)


@program(lambda: (torch.ones(2),))
def is_scripting(x):
    if torch.jit.is_scripting():
        return x + 1
    else:
        return x.numpy()


@program(lambda: (torch.ones(2), 3))
def shadowing(x, n: int):
    max = n + 1
    y = x * max
    for n in range(3):
        y = y + n
    return y, n


@program(lambda: (4,))
def variable_after_loop(n: int):
    last = -1
    for i in range(n):
        last = i
    return last


@program(lambda: (3,), lambda: (0,))
def while_with_condition(n: int):
    i = 0
    done = False
    while not done and i < 10:
        i += 1
        done = i >= n
    return i, done


@program(lambda: ([],), lambda: ([1],))
def conditions_by_value(x: List[int]):
    if len(x) > 0:
        a = "full"
    else:
        a = "empty"
    b = 0
    if x:
        b = 1
    return a, b, not x


@program(lambda: (torch.tensor([3]),), lambda: (torch.tensor([0]),))
def tensor_conditions(x):
    n = 0
    while bool(x > 0):
        x = x - 1
        n += 1
    if x:
        n = -1
    return n


@refused
def try_statement(x):
    try:
        return x + 1
    except RuntimeError:
        return x


@refused
def global_statement(x):
    global _counter
    _counter = 1
    return x


@refused
def yield_statement(n: int):
    for i in range(n):
        yield i


@refused
def inner_class(x):
    class A:
        pass
    return x


@refused
def import_statement(x):
    import math
    return x * math.pi


@refused
def star_parameters(*args):
    return args[0]


@refused
def keyword_parameters(x, **kwargs):
    return x


@refused
def maybe_undefined(flag: bool):
    if flag:
        x = 1
    return x


@refused
def loop_variable_outside(n: int):
    for i in range(n):
        y = i
    return y


@refused
def wrong_unpack(t: Tuple[int, int]):
    a, b, c = t
    return a


@refused
def for_else(n: int):
    for i in range(n):
        pass
    else:
        n = 0
    return n


@refused
def while_else(n: int):
    while n > 0:
        n -= 1
    else:
        n = 5
    return n


@refused
def break_outside(n: int):
    if n > 0:
        n = 1
    return continue_outside_(n)  # noqa: F821


@refused
def iterate_int(n: int):
    for i in n:
        pass
    return n


@refused
def match_statement(n: int):
    match n:
        case 1:
            return 1
    return 0


@refused
def different_results(flag: bool):
    if flag:
        return 1
    return "one"


@refused
def with_plain_object(x):
    with x:
        y = x
    return y


@refused
async def asynchronous(x):
    return x


@refused
def nonlocal_function(x):
    y = 1

    def inner(z):
        nonlocal y
        return z + y
    return inner(x)


@refused
def delete_undefined():
    del nothing  # noqa: F821
    return 1


@refused
def attribute_of_int(n: int):
    n.value = 3
    return n


@refused
def assign_to_call(x):
    x.shape[0] = 3
    return x.foo


@program(lambda: (torch.ones(2), 4), lambda: (torch.ones(2), 1))
def statements_in_one_line(x, n: int):
    """What Python allows and this project's style does not."""; y = x
    for i in range(n): y = y + i; y = y * 2
    while n > 6: n -= 1
    if n > 5: y = y + 1; n += 1
    elif n > 3: n = 7
    else: y = y - 1; n = 2;     # noqa: E703
    with torch.no_grad(): z = y; y = y * n
    if n == 2: return y; n = 9
    a: int = 3; b = a + 1; assert b == 4, "four"; print(a); pass
    return y + z * b;   # noqa: E703
