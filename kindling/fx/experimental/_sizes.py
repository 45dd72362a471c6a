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
    """The symbols of one graph. ``recorder.node_of(tensor)`` is what gave a tensor, ``recorder.track(tensor, node)`` says so;
    ``create(function, args, name)`` makes what stands for a size."""

    def __init__(self, recorder, create, shows_symbols=True):
        self.recorder, self.create = recorder, create
        self.shows_symbols = shows_symbols      # whether a size as text is what it stands for, or the number
        self.before = []
        self.forget()

    def forget(self):
        """The graph ends: what stands for a size of it is a number in the next."""
        self.env = ShapeEnv()
        self.nodes, self.values, self.texts = {}, {}, {}    # by symbol
        self.known = {}                                     # how a symbol was made: which it is

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
        return self._new((node, dim), lambda: self.create(torch.ops.aten.sym_size.int, (node, dim), "sym_size_int"), tensor.size(dim),
                         f"{getattr(node, 'name', node)}.size({dim})")

    def stands_for(self, shape, tensor):
        node = self.recorder.node_of(tensor)
        if node is not None:
            self.recorder.track(shape, node)

    def step(self, name, *operands):
        """The symbol of an operation on numbers and SymInts, 0 where it is the same number whatever the sizes are."""
        symbols, values = [self.symbol(each) for each in operands], [self.value(each) for each in operands]

        def is_number(place, number):
            return not symbols[place] and values[place] == number

        if name in ("add", "sub") and is_number(1, 0) or name in ("mul", "floordiv") and is_number(1, 1):
            return symbols[0]
        if name == "add" and is_number(0, 0) or name == "mul" and is_number(0, 1):
            return symbols[1]
        if not any(symbols):
            return 0
        parts = tuple(self.nodes[symbol] if symbol else value for symbol, value in zip(symbols, values))
        function = _OPERATIONS[name]
        return self._new((name, *(symbol or (value,) for symbol, value in zip(symbols, values))), lambda: self.create(function, parts, None),
                         function(*values), f"{name}({', '.join(map(self.text, operands))})")

    def decided(self, relation, a, b):
        if self.symbol(a) or self.symbol(b):
            self.env.note(_RELATIONS[relation].format(self.text(a), self.text(b)))

    def symint(self, symbol, value):
        return torch.SymInt(SizeNode(self, symbol, value)) if symbol in self.nodes else value

    # ---- for Python

    @staticmethod
    def value(value):
        """The number of a SymInt, and anything else as it is."""
        return value.node.value if isinstance(value, torch.SymInt) else value

    def symbol(self, value):
        """The symbol of a SymInt; 0 of a number, and of a SymInt of a graph that has ended."""
        node = value.node if isinstance(value, torch.SymInt) else None
        return node.symbol if node and node.tracer is self and node.symbol in self.nodes else 0

    def part(self, value):
        """What stands for a SymInt, and anything else as it is."""
        symbol = self.symbol(value)
        return self.nodes[symbol] if symbol else self.value(value)

    def text(self, value):
        symbol = self.symbol(value)
        return self.texts[symbol] if symbol else str(self.value(value))

    def drop_unused(self, graph):
        """Takes the nodes of sizes out of the graph that were asked for and not used."""
        mine = {node.name for node in self.nodes.values()}
        for node in reversed(graph.nodes):
            if node.name in mine and not node.users:
                graph.erase_node(node)


_numbers = itertools.count(1)       # symbols outlive a trace, in what autograd has saved: no two traces share one


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
        return self.tracer.text(self.public()) if self.tracer.shows_symbols else f"{self.guard_int()}"

    # What gives no size goes on with the numbers of this run.

    def wrap_float(self, value):
        return _Constant(value)

    def sym_float(self):
        return _Constant(float(self.guard_int()))

    def pos(self):
        return self

    floor = ceil = trunc = pos

    def step(self, name, *others):
        operands = [each.public() for each in (self, *others)]
        return SizeNode(self.tracer, self.tracer.step(name, *operands), _OPERATIONS[name](*map(self.tracer.value, operands)))

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


def _numeric(compute):
    def method(self, *others):
        return _Constant(compute(self.guard_int(), *(each.guard_int() for each in others)))
    return method


for _name in _RELATIONS:
    setattr(SizeNode, _name, _relation(_name))
for _name, _compute in (("int_truediv", operator.truediv), ("lshift", operator.lshift), ("rshift", operator.rshift), ("abs", abs),
                        ("bitwise_and", operator.and_), ("bitwise_or", operator.or_), ("bitwise_xor", operator.xor)):
    setattr(SizeNode, _name, _numeric(_compute))
