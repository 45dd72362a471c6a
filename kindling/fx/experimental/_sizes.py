"""Sizes as symbols: ``make_fx(f, tracing_mode="symbolic")``.

While a function is traced, sizes of traced tensors are ``SymInt``: each stands for a node of the graph, ``sym_size`` of a tensor or
arithmetic on others. Compositions in C++ that take sizes as such go on with the same symbols (core/size.h). What needs the number itself,
or asks how two sizes compare, goes on with the numbers of this run, and what was so is a guard: the graph holds where the guards do.
"""
import itertools
import operator

import kindling as torch
from kindling import _C
from kindling._face.symbols import _Constant

_OPERATIONS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
               "pow": operator.pow, "sym_max": torch.sym_max, "sym_min": torch.sym_min, "neg": operator.neg}
_RELATIONS = {"eq": "Eq({}, {})", "ne": "Ne({}, {})", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}"}
_REFLECTED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


class Guard:
    """What a graph relies on: ``expr`` as text, in sizes of its inputs and results."""

    def __init__(self, expr):
        self.expr = expr

    def __repr__(self):
        return f"Guard({self.expr})"


class ShapeEnv:
    """What has been found out of sizes. ``guards``: what the graph relies on."""

    def __init__(self):
        self.guards = []

    def note(self, expr):
        if all(guard.expr != expr for guard in self.guards):
            self.guards.append(Guard(expr))


class Sizes:
    """The symbols of one graph. ``recorder`` knows which node gave which tensor."""

    def __init__(self, recorder, tracer):
        self.recorder, self.tracer = recorder, tracer
        self.env = ShapeEnv()
        self.nodes, self.values, self.texts = {0: None}, {}, {}     # by symbol
        self.before = []
        self.known = {}                             # how a symbol was made: which it is

    def __enter__(self):
        self.before.append(_C._record_sizes(self))
        return self

    def __exit__(self, *error):
        _C._record_sizes(self.before.pop())

    def _new(self, key, make, value, text):
        if key not in self.known:
            symbol = self.known[key] = next(_numbers)
            self.nodes[symbol], self.values[symbol], self.texts[symbol] = make(), value, text
        return self.known[key]

    # ---- what the core asks

    def size_of(self, tensor, dim):
        node = self.recorder.node_of(tensor)
        if node is None:
            return 0
        create = self.tracer.create_node
        return self._new((node, dim), lambda: create("call_function", torch.ops.aten.sym_size.int, (node, dim), {}, "sym_size_int"),
                         tensor.size(dim), f"{node.name}.size({dim})")

    def stands_for(self, shape, tensor):
        node = self.recorder.node_of(tensor)
        if node is not None:
            self.recorder.track(shape, node)

    def step(self, name, *operands):
        """The symbol of an operation on numbers and SymInts, 0 where it is the same number whatever the sizes are."""
        if name in ("add", "sub") and _is(operands[1], 0) or name in ("mul", "floordiv") and _is(operands[1], 1):
            return _symbol(operands[0])
        if name == "add" and _is(operands[0], 0) or name == "mul" and _is(operands[0], 1):
            return _symbol(operands[1])
        function = _OPERATIONS[name]
        value = function(*map(_value, operands))
        nodes = [self.nodes[_symbol(each)] if _symbol(each) else _value(each) for each in operands]
        return self._new((name, *(_symbol(each) or (_value(each),) for each in operands)),
                         lambda: self.tracer.create_node("call_function", function, tuple(nodes), {}), value,
                         f"{name}({', '.join(map(self.text, operands))})")

    def decided(self, relation, a, b):
        self.env.note(_RELATIONS[relation].format(self.text(a), self.text(b)))

    def symint(self, symbol, value):
        return torch.SymInt(SizeNode(self, symbol, value)) if symbol in self.nodes else value

    # ---- for Python

    @staticmethod
    def value(value):
        """The number of a SymInt, and anything else as it is."""
        return _value(value)

    def text(self, value):
        symbol = _symbol(value)
        return self.texts[symbol] if symbol else str(_value(value))

    def drop_unused(self, graph):
        """Takes the nodes of sizes out of the graph that were asked for and not used."""
        mine = {node.name for node in self.nodes.values() if node}
        for node in reversed(graph.nodes):
            if node.name in mine and not node.users:
                graph.erase_node(node)


_numbers = itertools.count(1)       # symbols outlive a trace, in what autograd has saved: no two traces share one


def _is(value, number):
    return not _symbol(value) and _value(value) == number


def _symbol(value):
    return value.node.symbol if isinstance(value, torch.SymInt) else 0


def _value(value):
    return value.node.value if isinstance(value, torch.SymInt) else value


class SizeNode:
    """What a SymInt of a graph wraps."""

    def __init__(self, tracer, symbol, value):
        self.tracer, self.symbol, self.value = tracer, symbol, value

    def is_int(self):
        return True

    def is_float(self):
        return False

    is_bool = is_constant = is_float

    def wrap_int(self, value):
        return SizeNode(self.tracer, 0, value)

    def guard_int(self, file="", line=0):
        """The number, on which the graph then relies."""
        self.tracer.decided("eq", self.public(), self.value)
        return self.value

    int_ = guard_int

    def public(self):
        return torch.SymInt(self) if self.symbol else self.value

    def str(self):
        return self.tracer.text(self.public())

    def step(self, name, *others):
        operands = [each.public() for each in (self, *others)]
        return SizeNode(self.tracer, self.tracer.step(name, *operands), _OPERATIONS[name](*map(_value, operands)))

    def add(self, other):
        return self.step("add", other)

    def sub(self, other):
        return self.step("sub", other)

    def mul(self, other):
        return self.step("mul", other)

    def mod(self, other):
        return self.step("mod", other)

    def int_floordiv(self, other):
        return self.step("floordiv", other)

    def pow_by_natural(self, other):
        return self.step("pow", other)

    def neg(self):
        return self.step("neg")

    def sym_max(self, other):
        return self.step("sym_max", other)

    def sym_min(self, other):
        return self.step("sym_min", other)

    def sym_sum(self, nodes):
        total, *rest = nodes
        for each in rest:
            total = total.add(each)
        return total


def _relation(name):
    def relation(self, other):
        outcome = getattr(operator, name)(self.value, other.value)
        self.tracer.decided(name if outcome else _REFLECTED[name], self.public(), other.public())
        return _Constant(outcome)
    return relation


for _name in _RELATIONS:
    setattr(SizeNode, _name, _relation(_name))
