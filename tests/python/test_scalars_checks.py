"""Symbolic scalars and checks: torch's answers, over plain numbers and over nodes of one's own."""
import itertools
import math
import operator
import warnings

import both
import pytest

import kindling

torch = pytest.importorskip("torch")

PLAIN = ["sym_int(3.7)", "sym_int(-3.7)", "sym_int('3')", "sym_int(True)", "sym_float(3)", "sym_float(True)", "sym_not(True)", "sym_not(3)",
         "sym_max(1, 2.5)", "sym_max(3, 2.5)", "sym_min(1, 2.5)", "sym_max(True, 2)", "sym_ite(True, 1, 2)", "sym_ite(1, 1, 2)",
         "sym_ite(True, 1, 2.)", "sym_sum([1, 2, 3])", "sym_sum((1, 2.5))", "sym_sum([])", "sym_sqrt(4)", "sym_sqrt(-1)", "sym_sqrt(2.0)",
         "sym_sqrt.__name__", "_sym_cos(1.)", "_sym_log2(8)", "_sym_acos(2)", "_sym_tanh(0.5)"]


@pytest.mark.parametrize("what", PLAIN)
def test_plain_numbers(what):
    assert both.run("kindling", "torch." + what) == both.run("torch", "torch." + what)


CHECKS = ["_check(False)", "_check(False, lambda: 'hi')", "_check(False, 'hi')", "_check(1)", "_check(False, lambda: 3)", "_check(True, 'x')",
          "_check(torch.tensor(False))", "_check_index(False)", "_check_value(False)", "_check_type(False)", "_check_not_implemented(False)",
          "_check_with(KeyError, False, lambda: 'k')", "_check_with(3, False, lambda: 'k')", "_check_is_size(-1)", "_check_is_size(3)",
          "_check_is_size(-3, lambda: 'm')", "_check_is_size('a')", "_check_is_size(3, max=2)",
          "_check_tensor_all(torch.tensor([True, False]), lambda: 'z')", "_check_tensor_all(torch.tensor([1, 0]))", "_check_tensor_all(True)",
          "_check_tensor_all(torch.tensor([True]))", "_check_tensor_all_with(KeyError, torch.tensor([True, False]))",
          "_as_tensor_fullprec(3.5)", "_as_tensor_fullprec(3)", "_as_tensor_fullprec([1.])", "_as_tensor_fullprec(True)",
          "typename(3)", "typename(int)", "typename(torch.nn.Linear(1, 1))", "typename(torch.ones(1, dtype=torch.int64))", "typename(len)",
          "typename([])", "typename(torch.nn.Parameter(torch.ones(1)))", "typename(None)", "typename(str.upper)",
          "typename(torch.manual_seed)"]


@pytest.mark.parametrize("what", CHECKS)
def test_checks(what):
    assert both.run("kindling", "torch." + what) == both.run("torch", "torch." + what)


def test_messages_are_made_when_they_are_needed():
    made = []
    kindling._check(True, lambda: made.append(1))
    with pytest.raises(RuntimeError):
        kindling._check(False, lambda: made.append(2))
    assert made == [2]
    assert not any(name.startswith("_") for name in kindling.__all__)


class Written:
    """A node that writes down what is done to it, and knows its value."""

    def __init__(self, value, text=None):
        self.value, self.text = value, str(value) if text is None else text

    def is_constant(self):
        return False

    def is_int(self):
        return type(self.value) is int

    def is_float(self):
        return type(self.value) is float

    def is_bool(self):
        return type(self.value) is bool

    def wrap_int(self, value):
        return Written(value)

    wrap_float = wrap_bool = wrap_int

    def guard_int(self, file, line):
        return self.value

    guard_float = guard_bool = guard_int

    def int_(self):
        return int(self.value)

    def bool_(self):
        return bool(self.value)

    def str(self):
        return self.text

    _graph_repr = str

    def sym_ite(self, then, other):
        return Written((then if self.value else other).value, f"ite({self.text}, {then.text}, {other.text})")

    def round(self, digits=None):
        return Written(round(self.value, digits), f"round({self.text}, {digits})")

    def sym_sum(self, args):
        return Written(sum(a.value for a in args), f"sum({', '.join(a.text for a in args)})")


BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod, "int_floordiv": operator.floordiv,
          "int_truediv": operator.truediv, "float_truediv": operator.truediv, "float_pow": operator.pow, "pow_by_natural": operator.pow,
          "lshift": operator.lshift, "rshift": operator.rshift, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
          "bitwise_xor": operator.xor, "sym_and": operator.and_, "sym_or": operator.or_, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
          "le": operator.le, "gt": operator.gt, "ge": operator.ge, "sym_max": max, "sym_min": min}
UNARY = {"neg": operator.neg, "pos": operator.pos, "abs": abs, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
         "sym_float": float, "sym_int": int, "sym_not": operator.not_, "sym_sqrt": math.sqrt, "sym_cos": math.cos, "is_integer": float.is_integer}
for _name, _compute in BINARY.items():
    setattr(Written, _name, lambda self, other, n=_name, c=_compute: Written(c(self.value, other.value), f"{n}({self.text}, {other.text})"))
for _name, _compute in UNARY.items():
    setattr(Written, _name, lambda self, n=_name, c=_compute: Written(c(self.value), f"{n}({self.text})"))

OPERATIONS = ["a + b", "a - b", "a * b", "a % b", "a / b", "a // b", "a ** b", "a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b",
              "torch.sym_max(a, b)", "torch.sym_min(a, b)", "-a", "+a", "abs(a)", "math.floor(a)", "math.ceil(a)", "math.trunc(a)",
              "torch.sym_float(a)", "torch.sym_int(a)", "torch.sym_sqrt(a)", "int(a)", "bool(a)", "round(a)", "a.conjugate()",
              "torch.sym_sum([a, b, 1])", "torch._sym_cos(a)", "a.as_integer_ratio()", "torch.sym_not(a == b)", "(a < b) & (b < a)",
              "(a < b) | (b < a)", "torch.sym_ite(a < b, 1, 2)", "(a < b) + 1", "hash(a < b)"]
WHOLE = ["a << b", "a >> b", "a & b", "a | b", "a ^ b", "list(range(a))", "[0, 1, 2, 3, 4, 5][a]", "a.bit_length()"]


def evaluate(module, source, a, b):
    made = []
    for value in (a, b):
        symbol, value = value
        kind = {int: module.SymInt, float: module.SymFloat, bool: module.SymBool}[type(value)]
        made.append(kind(Written(value)) if symbol else value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(source, {"torch": module, "math": math, "a": made[0], "b": made[1]})
    except Exception as error:
        return type(error).__name__
    return type(result).__name__, str(result)


VALUES = [(3, 2), (5, -2), (2.5, 2), (2, 0.5), (-3.0, 2.0), (4, 4)]


@pytest.mark.parametrize("source", OPERATIONS + WHOLE)
def test_nodes_of_ones_own(source):
    """What reaches the node, and what comes back, is the same under torch and under Kindling."""
    wrong = []
    for (a, b), (left, right) in itertools.product(VALUES, [(True, True), (True, False), (False, True)]):
        if source in WHOLE and not (type(a) is type(b) is int) or "a" not in source.replace("math", "") or not left and "b" not in source:
            continue
        if source == "torch.sym_sum([a, b, 1])" and not (type(a) is type(b) is int):
            continue
        theirs = evaluate(torch, source, (left, a), (right, b))
        mine = evaluate(kindling, source, (left, a), (right, b))
        if mine != theirs and theirs not in ("AttributeError", "AssertionError"):   # torch asks for its own class of node there
            wrong.append((a, b, left, right, mine, theirs))
    assert wrong == []


@pytest.mark.parametrize("value, cls", [(3, "SymInt"), (2.5, "SymFloat"), (True, "SymBool")])
def test_symbols_over_plain_numbers(value, cls):
    symbol = getattr(kindling, cls)(value)
    assert symbol == value and bool(symbol) is True and int(symbol) == int(value) and hash(symbol) == hash(value)
    assert (symbol + 1, 1 - symbol, symbol * 2) == (value + 1, 1 - value, value * 2) and repr(symbol) == str(value)


def test_symbols_as_sizes():
    three = kindling.SymInt(Written(3))
    assert kindling.ones(three, 2).shape == (3, 2) and kindling.zeros(2, 3)[:, :three].shape == (2, 3)
    with pytest.raises(TypeError, match="unhashable type: non-nested SymInt"):
        hash(three)
