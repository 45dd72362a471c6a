"""`torch._foreach_*`: one operator over lists of tensors, tensor by tensor, where the core has no kernel for lists.

An argument that is a list or tuple gives one value for each tensor; any other is the same for all.
"""
from kindling._C import Tensor

# Operators that keep their name as a method, with and without a trailing underscore.
_PLAIN = frozenset("""
    abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp lgamma
    log log10 log1p log2 mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc""".split())
_IN_PLACE_ONLY = {"copy", "zero"}


def _method(name):
    def apply(tensor, *args, **kwargs):
        return getattr(tensor, name)(*args, **kwargs)
    return apply


def _pointwise_add_product(name):
    def apply(tensor, first, second, value=1):
        return getattr(tensor, name)(first, second, value=value)
    return apply


def _extreme(clamp, name, in_place):
    def apply(tensor, other):
        if not isinstance(other, Tensor):
            return getattr(tensor, clamp)(other)
        result = getattr(tensor, name)(other)
        return tensor.copy_(result) if in_place else result
    return apply


def _norm(tensor, ord=2, dtype=None):
    import kindling as torch
    return torch.linalg.vector_norm(tensor, ord, dtype=dtype)


def _power(base, exponent):
    import kindling as torch
    return torch.pow(base, exponent)


def _one(operator, in_place):
    """The function for one tensor, or None."""
    name = operator + "_" if in_place else operator
    if operator in ("addcmul", "addcdiv"):
        return _pointwise_add_product(name)
    if operator in ("maximum", "minimum"):
        clamp = "clamp_min" if operator == "maximum" else "clamp_max"
        return _extreme(clamp + "_" if in_place else clamp, operator, in_place)
    if operator in _PLAIN or in_place and operator in _IN_PLACE_ONLY:
        return _method(name)
    if not in_place:
        return {"norm": _norm, "max": _method("max"), "clone": _method("clone")}.get(operator)
    return None


def _at(value, index):
    return value[index] if isinstance(value, (list, tuple)) else value


def _spread(value, count):
    """A 1-d tensor of numbers, one for each tensor, as a list of them."""
    if isinstance(value, Tensor) and value.dim() == 1 and value.numel() == count and count > 1:
        return value.tolist()
    return value


def __getattr__(name):
    operator = name.removeprefix("_foreach_")
    in_place = operator.endswith("_")
    operator = operator.removesuffix("_")
    one = _one(operator, in_place) if name.startswith("_foreach_") else None
    if one is None:
        raise AttributeError(f"module 'torch' has no attribute '{name}'")

    def function(self, *args, **kwargs):
        if not isinstance(self, (list, tuple)):
            # pow: one base, and exponents by tensor
            (exponents,) = args or kwargs.values()
            return tuple([_power(self, exponent) for exponent in exponents])
        count = len(self)
        for value in (*args, *kwargs.values()):
            if isinstance(value, (list, tuple)) and len(value) != count:
                raise RuntimeError(f"{name}: tensor lists must have the same number of tensors, got {count} and "
                                   f"{len(value)}")
        if operator in ("addcmul", "addcdiv"):
            args = [_spread(value, count) if place == 2 else value for place, value in enumerate(args)]
        results = [one(tensor, *[_at(value, index) for value in args],
                       **{key: _at(value, index) for key, value in kwargs.items()})
                   for index, tensor in enumerate(self)]
        return list(self) if in_place else tuple(results)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{operator}`` over lists of tensors."
    return globals().setdefault(name, function)
