"""Symbolic scalars: ``SymInt``, ``SymFloat``, ``SymBool`` and the ``sym_*`` functions, which take plain numbers as well.

A symbol wraps a node. A node is any object with torch's protocol: ``is_int``, ``is_float``, ``is_bool``, ``is_constant``; ``wrap_int``,
``wrap_float``, ``wrap_bool`` for plain numbers beside it; ``guard_int("", 0)`` and its like for its value; and a method for each operation
(``add``, ``int_floordiv``, ``ge``, ``sym_max``, ...) that takes and gives nodes. A plain number in a node's place is its own value.
"""
import builtins
import math
import operator

from kindling import _C


class _Constant:
    """The node of a plain number."""

    def __init__(self, value):
        self.value = value

    def is_constant(self):
        return True

    def is_int(self):
        return type(self.value) is int

    def is_float(self):
        return type(self.value) is float

    def is_bool(self):
        return type(self.value) is bool

    def wrap_int(self, value):
        return _Constant(value)

    wrap_float = wrap_bool = wrap_int

    def guard_int(self, file="", line=0):
        return self.value

    guard_float = guard_bool = guard_int

    def int_(self):
        return int(self.value)

    def bool_(self):
        return bool(self.value)

    def str(self):
        return builtins.str(self.value)

    __str__ = str


def _is_constant(value):
    if not isinstance(value, _Symbol):
        return isinstance(value, (int, float))
    check = getattr(value.node, "is_constant", None)
    return check is not None and check()


def _plain(value):
    """The number behind a constant symbol."""
    if not isinstance(value, _Symbol):
        return value
    return getattr(value.node, value._guard)("", 0)


def _node(beside, value):
    if isinstance(value, _Symbol):
        return value.node
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
    return getattr(beside, "wrap_" + kind)(value)


def _wrap(node):
    if node is NotImplemented:
        return node
    made = SymInt(node) if node.is_int() else SymFloat(node) if node.is_float() else SymBool(node) if node.is_bool() else node
    return _plain(made) if _is_constant(made) else made


class _Symbol:
    def __init__(self, node, /):
        self.node = _Constant(self._number(node)) if isinstance(node, (int, float)) else node

    def __init_subclass__(cls):
        cls.__module__ = _C.Size.__module__

    def __repr__(self):
        show = getattr(self.node, "_graph_repr", None) or getattr(self.node, "str", None)
        return show() if show else builtins.str(self.node)

    def __bool__(self):
        return self.node.bool_()

    def conjugate(self):
        return self

    def as_integer_ratio(self):
        return (builtins.float(self) if isinstance(self, SymFloat) else builtins.int(self)).as_integer_ratio()


class SymInt(_Symbol):
    """An integer that stands for a size, with all of an integer's arithmetic."""

    _guard, _number = "guard_int", int

    def __bool__(self):
        return builtins.bool(self != 0)

    def __int__(self):
        return self.node.int_()

    __index__ = __int__

    def __hash__(self):
        if getattr(self.node, "is_nested_int", bool)():
            return hash(self.node.nested_int())
        if _is_constant(self):
            return hash(_plain(self))
        raise TypeError("unhashable type: non-nested SymInt")

    def __round__(self, ndigits=None):
        return self

    def bit_length(self):
        return builtins.int(self).bit_length()

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __format__(self, spec):
        return format(builtins.int(self), spec) if spec else builtins.str(self)

    def __deepcopy__(self, memo):
        return self

    def __truediv__(self, other):
        if isinstance(other, (builtins.float, SymFloat)):
            return sym_float(self).__float_truediv__(other)
        return self.__int_truediv__(other) if isinstance(other, (builtins.int, SymInt)) else NotImplemented

    def __rtruediv__(self, other):
        if isinstance(other, (builtins.float, SymFloat)):
            return sym_float(self).__rfloat_truediv__(other)
        return self.__rint_truediv__(other) if isinstance(other, (builtins.int, SymInt)) else NotImplemented

    def __floordiv__(self, other):
        if isinstance(other, (builtins.float, SymFloat)):
            return sym_float(math.floor(sym_float(self) / other))
        return self.__int_floordiv__(other) if isinstance(other, (builtins.int, SymInt)) else NotImplemented

    def __rfloordiv__(self, other):
        if isinstance(other, (builtins.float, SymFloat)):
            return sym_float(math.floor(other / sym_float(self)))
        return self.__rint_floordiv__(other) if isinstance(other, (builtins.int, SymInt)) else NotImplemented

    def __pow__(self, other):
        if isinstance(other, (builtins.float, SymFloat)):
            return sym_float(self).__pow__(other)
        if not isinstance(other, (builtins.int, SymInt)):
            return NotImplemented
        # Whether the result is whole has to be known here.
        return self.__pow_by_natural__(other) if other >= 0 else sym_float(self) ** sym_float(other)

    def __rpow__(self, other):
        if isinstance(other, (builtins.float, SymFloat)):
            return other ** sym_float(self)
        if not isinstance(other, (builtins.int, SymInt)):
            return NotImplemented
        return self.__rpow_by_natural__(other) if self >= 0 else sym_float(other) ** sym_float(self)


class SymFloat(_Symbol):
    """A float that stands for a value, with all of a float's arithmetic."""

    _guard, _number = "guard_float", float

    def __float__(self):
        return self.node.guard_float("", 0)

    def __int__(self):
        return builtins.int(self.__float__())

    def __hash__(self):
        return hash(builtins.float(self))

    def __bool__(self):
        return builtins.bool(self != 0.0)

    def __truediv__(self, other):
        return self.__float_truediv__(sym_float(other)) if isinstance(other, _NUMBERS) else NotImplemented

    def __rtruediv__(self, other):
        return self.__rfloat_truediv__(sym_float(other)) if isinstance(other, _NUMBERS) else NotImplemented

    def __floordiv__(self, other):
        return sym_float(math.floor(self / sym_float(other))) if isinstance(other, _NUMBERS) else NotImplemented

    def __rfloordiv__(self, other):
        return sym_float(math.floor(sym_float(other) / self)) if isinstance(other, _NUMBERS) else NotImplemented

    def __pow__(self, other):
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        _natural(self)
        return self.__float_pow__(sym_float(other))

    def __rpow__(self, other):
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        _natural(other)
        return self.__rfloat_pow__(sym_float(other))

    def __round__(self, ndigits=None):
        return round(_plain(self), ndigits) if _is_constant(self) else _wrap(self.node.round(ndigits))

    def is_integer(self):
        return _plain(self).is_integer() if _is_constant(self) else _wrap(self.node.is_integer())

    def hex(self):
        return builtins.float(self).hex()


def _natural(base):
    """A power of a negative base may be complex, which no symbol is."""
    if not base >= 0:
        from kindling._face.checks import _check
        _check(False)


class SymBool(_Symbol):
    """A truth value that is not known yet; combined by ``&``, ``|`` and :func:`torch.sym_not`."""

    _guard, _number = "guard_bool", bool

    def __int__(self):
        return builtins.int(self.node.bool_())

    def __hash__(self):
        return hash(self.node.bool_())

    def __sym_ite__(self, then, otherwise):
        if _is_constant(self):
            return then if _plain(self) else otherwise
        return _wrap(self.node.sym_ite(_node(self.node, then), _node(self.node, otherwise)))


_NUMBERS = (int, float, SymInt, SymFloat)
_ALL = (int, float, SymInt, SymFloat, SymBool)
_MIXED = frozenset("add sub mul mod float_pow float_truediv int_floordiv sym_min sym_max eq ne gt lt le ge".split())


def _promoted(method, a, b):
    a, b = (int(v) if type(v) is bool else SymInt(v.node.wrap_int(int(v))) if isinstance(v, SymBool) and method in ("add", "sub", "mul") else v
            for v in (a, b)) if method in ("add", "sub", "mul") else (a, b)
    if method in _MIXED and (isinstance(a, (float, SymFloat)) or isinstance(b, (float, SymFloat))):
        return sym_float(a), sym_float(b)
    return a, b


def _binary(method, compute, reflected):
    def magic(self, other):
        if not isinstance(other, _ALL):
            return NotImplemented
        self, other = _promoted(method, self, other)
        if reflected:
            self, other = other, self
        if _is_constant(self) and _is_constant(other):
            return compute(_plain(self), _plain(other))
        beside = (self if isinstance(self, _Symbol) and not _is_constant(self) else other).node
        left, right = (_node(beside, _plain(v) if _is_constant(v) else v) for v in (self, other))
        return _wrap(getattr(left, "sym_" + method if method in ("and", "or") else method)(right))
    return magic


def _unary(method, compute):
    def magic(self):
        return compute(_plain(self)) if _is_constant(self) else _wrap(getattr(self.node, method)())
    return magic


def _install():
    whole, real, truth = (SymInt,), (SymInt, SymFloat), (SymBool,)
    for method, compute, classes in (
            ("add", operator.add, (*real, SymBool)), ("sub", operator.sub, (*real, SymBool)), ("mul", operator.mul, (*real, SymBool)),
            ("mod", operator.mod, real), ("int_floordiv", operator.floordiv, real), ("int_truediv", operator.truediv, real),
            ("float_truediv", operator.truediv, real), ("float_pow", operator.pow, real), ("pow_by_natural", operator.pow, real),
            ("lshift", operator.lshift, whole), ("rshift", operator.rshift, whole), ("bitwise_and", operator.and_, whole),
            ("bitwise_or", operator.or_, whole), ("bitwise_xor", operator.xor, whole), ("and", operator.and_, truth),
            ("or", operator.or_, truth), ("eq", operator.eq, (*real, SymBool)), ("ne", operator.ne, (*real, SymBool)),
            ("lt", operator.lt, real), ("le", operator.le, real), ("gt", operator.gt, real), ("ge", operator.ge, real),
            ("sym_max", max, real), ("sym_min", min, real)):
        name = method.removeprefix("bitwise_")
        for cls in classes:
            setattr(cls, f"__{name}__", _binary(method, compute, False))
            if method not in ("eq", "ne", "lt", "le", "gt", "ge", "sym_max", "sym_min"):
                setattr(cls, f"__r{name}__", _binary(method, compute, True))
    for method, compute, classes in (
            ("neg", operator.neg, real), ("pos", operator.pos, real), ("abs", abs, real), ("floor", math.floor, real),
            ("ceil", math.ceil, real), ("trunc", math.trunc, real), ("sym_float", float, (*real, SymBool)), ("sym_int", int, (SymFloat,)),
            ("sym_not", operator.not_, truth)):
        for cls in classes:
            setattr(cls, f"__{method}__", _unary(method, compute))
    for name in _MATH:
        for cls in real:
            setattr(cls, f"__sym_{name}__", _unary("sym_" + name, getattr(math, name)))


def sym_not(a):
    """``not a``; for symbols a symbol."""
    if hasattr(a, "__sym_not__"):
        return a.__sym_not__()
    return ~a if isinstance(a, SymBool) else not a


def sym_float(a):
    """``float(a)``; for symbols a symbol."""
    if isinstance(a, SymFloat):
        return a
    return a.__sym_float__() if hasattr(a, "__sym_float__") else builtins.float(a)


def sym_int(a):
    """``int(a)``, rounding towards zero; for symbols a symbol."""
    return a if isinstance(a, SymInt) else math.trunc(a) if isinstance(a, SymFloat) else builtins.int(a)


def _choose(a, b, method, choose):
    for one, other in ((a, b), (b, a)):
        if isinstance(one, (SymInt, SymFloat)):
            return getattr(one, method)(other)
    for value in (a, b):
        if not isinstance(value, (int, float)) and type(value).__module__ != "numpy" and not hasattr(value, method):
            raise AssertionError(f"expected an int or a float, got {type(value)}")
        if hasattr(value, method):
            return getattr(value, method)(b if value is a else a)
    result = choose(a, b)
    return builtins.float(result) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else result


def sym_max(a, b):
    """``max(a, b)``, a float if one of them is; for symbols a symbol."""
    return _choose(a, b, "__sym_max__", max)


def sym_min(a, b):
    """``min(a, b)``, a float if one of them is; for symbols a symbol."""
    return _choose(a, b, "__sym_min__", min)


def sym_ite(b, t, f):
    """``t if b else f``, both of one type; for a symbol ``b`` a symbol."""
    if not isinstance(b, (SymBool, builtins.bool)):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return b.__sym_ite__(t, f) if isinstance(b, SymBool) else t if b else f


def sym_sum(args):
    """The sum of numbers and symbols: for symbols whose node can, in one step."""
    for value in args:
        if isinstance(value, SymInt) and hasattr(value.node, "sym_sum") and not _is_constant(value):
            return _wrap(value.node.sym_sum(tuple(_node(value.node, each) for each in args)))
    return builtins.sum(args)


def sym_fresh_size(expr):
    """The number behind ``expr``."""
    import kindling
    return kindling.tensor(builtins.int(expr) if isinstance(expr, SymInt) else expr).item()


_MATH = "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()


def _function(name):
    method, plain = f"__sym_{name}__", getattr(math, name)

    def function(a):
        if isinstance(a, SymInt):
            a = sym_float(a)
        return getattr(a, method)() if hasattr(a, method) else plain(a)
    function.__name__ = function.__qualname__ = "_sym_" + name
    function.__doc__ = f"``math.{name}(a)``; for symbols a symbol."
    return function


_sym_sqrt, _sym_cos, _sym_cosh, _sym_sin, _sym_sinh, _sym_tan, _sym_tanh, _sym_asin, _sym_acos, _sym_atan, _sym_log2 = map(_function, _MATH)
sym_sqrt = _sym_sqrt
_install()
