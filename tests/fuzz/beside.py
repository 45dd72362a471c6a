"""What can be seen of a value in PyTorch and in Kindling, side by side, and where the two differ."""
import re
import warnings
from dataclasses import dataclass

import kindling
import torch

from draw import tensors_of, word_of

torch.set_num_threads(1)
MODULES = {"torch": torch, "kindling": kindling}
# What an operator's rounding may come to, as a part of the largest number that takes part.
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 1e-9,
             torch.complex64: 2e-5, torch.complex128: 1e-9}
FINER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}
REFEREE_SLACK = 8
# By how much more than PyTorch's own answers move ours may differ, where its numbers change in their last digit: they are few, and moved by little.
NEARBY_SLACK = 64


def seed(t, number):
    """manual_seed, without what it asks of other devices: that takes torch a millisecond."""
    t.default_generator.manual_seed(number)


@dataclass
class Seen:
    """One tensor: `value` has its values in torch; `shares` says with which other tensors of the call it shares memory."""
    dtype: str
    shape: tuple
    stride: tuple
    device: str
    layout: str
    requires_grad: bool
    lazy: tuple
    version: bool
    value: torch.Tensor
    shares: tuple = ()
    inference: bool = False


def values(x, t):
    """The values of a tensor as a torch tensor without bits, strides or history."""
    if x.device.type != "cpu" or word_of(x.layout) != "strided":
        return None
    if x._is_zerotensor():
        return torch.zeros(x.shape, dtype=x.dtype)
    x = x.detach()
    if not x.numel():
        return torch.empty(tuple(x.shape), dtype=getattr(torch, word_of(x.dtype)))
    if t is torch:
        return x.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    if x.is_conj():
        x = x.resolve_conj()
    if x.is_neg():
        x = x.resolve_neg()
    x = x.contiguous()
    if x.dtype == t.bfloat16:
        return torch.from_numpy(x.view(t.int16).numpy().copy()).view(torch.bfloat16)
    return torch.from_numpy(x.numpy().copy())


def version(x):
    return 0 if x.is_inference() else x._version


def home(x):
    if x._is_zerotensor():
        return 0   # PyTorch's own form of zeros, without memory
    return x.untyped_storage().data_ptr() if x.device.type == "cpu" and word_of(x.layout) == "strided" else 0


def see(value, t, homes, depth=0):
    """A value as what can be compared: tensors by what is seen of them, all else as it is or by its type's name."""
    if isinstance(value, t.Tensor):
        shares = tuple(place for place, where in enumerate(homes) if where and where == home(value))
        plain = word_of(value.layout) == "strided"
        return Seen(word_of(value.dtype), tuple(value.shape), value.stride() if plain else (), value.device.type, word_of(value.layout),
                    value.requires_grad, (value.is_conj(), value.is_neg()), version(value) > 0, values(value, t), shares,
                    value.is_inference())
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return value
    if isinstance(value, dict) and depth < 5:
        return {name: see(item, t, homes, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and depth < 5:
        kind = "Size" if isinstance(value, t.Size) else "list" if isinstance(value, list) else "tuple"
        return (kind, [see(item, t, homes, depth + 1) for item in value])
    if isinstance(value, (t.dtype, t.device, t.layout, t.memory_format)):
        return str(value).replace("kindling", "torch")
    return type(value).__name__


@dataclass
class Outcome:
    error: str = None      # the exception's class
    message: str = ""
    stage: str = "call"    # where the exception came: while making, calling, differentiating
    result: object = None
    after: object = None   # the arguments after the call
    gradients: object = None
    second: object = None


def classes(problem):
    """The name of an exception's class: of our own ones, that which a program written for PyTorch would name."""
    return type(problem).__name__.lstrip("_")


def weighted(result, t):
    """A number whose gradients tell all elements of a result apart, or None."""
    total = None
    for x in tensors_of(result, t):
        if x.requires_grad and x.numel() < 100_000 and x.device.type == "cpu":
            x = x if word_of(x.layout) == "strided" else x.to_dense()   # PyTorch's own way back from a sparse tensor
            for part in (x.real, x.imag) if x.is_complex() else (x,):
                part = part.double()
                weight = (t.arange(part.numel(), dtype=t.float64).reshape(part.shape) * 0.37 + 1).cos()
                part = (part * weight).sum()
                total = part if total is None else total + part
    return total


def observe(t, function, args, kwargs, leaves, number=0, differentiate=True, twice=False):
    """What comes of a call in module `t`."""
    seen = Outcome()
    arguments = list(tensors_of([args, kwargs], t))
    homes = [home(x) for x in arguments]
    seed(t, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*args, **kwargs)
            # What a target that grew has given back may be a result's by now.
            homes = [where if where == home(x) else 0 for where, x in zip(homes, arguments)]
            seen.result = see(result, t, homes)
            seen.after = [see(x, t, homes) for x in arguments]
            seen.stage = "gradient"
            total = weighted(result, t) if differentiate and leaves else None
            if total is not None:
                found = t.autograd.grad(total, leaves, create_graph=twice, allow_unused=True)
                seen.gradients = ("tuple", [see(x, t, ()) for x in found])
                seen.stage = "second gradient"
                total = weighted(found, t) if twice else None
                if total is not None:
                    found = t.autograd.grad(total, leaves, allow_unused=True)
                    seen.second = ("tuple", [see(x, t, ()) for x in found])
        except Exception as problem:
            seen.error, seen.message = classes(problem), f"{type(problem).__name__}: {problem}"
    return seen


def parts(x):
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def scale(x, limit):
    """The largest finite size of a tensor's numbers below a limit."""
    sizes = parts(x.detach()).double().abs()
    sizes = sizes[sizes.isfinite() & (sizes < limit)]
    return float(sizes.max()) if sizes.numel() else 0.0


def close(expected, actual, size, tolerance):
    """Which elements agree."""
    if not (expected.is_floating_point() or expected.is_complex()):
        return expected == actual
    one, other = parts(expected).double(), parts(actual).double()
    sizes = one.abs().amax(-1, keepdim=True) if expected.is_complex() else one.abs()   # a product's rounding is that of the whole number
    near = (one - other).abs() <= tolerance * torch.maximum(sizes, torch.tensor(size))
    same = near | (one == other) | (one.isnan() & other.isnan())
    return same.all(-1) if expected.is_complex() else same


def gist(message):
    """What like messages have in common: the beginning, without numbers and names in quotes."""
    words = re.sub(r"\[[^]]*\]|'[^']*'|\"[^\"]*\"|-?\d+", "_", message.partition(": ")[2].partition("\n")[0][:2000])
    words = re.sub(r"^\w+(::\w+)?\(\)|\b[a-z]\w*_\w*", "_", words)
    return re.sub(r"(Compl|Unsigned|U?Int|Short|Long|Byte|Char|Half|BFloat|Float|Double|Bool)\w*|c10::\w+", "T", words)[:70]


class Difference(Exception):
    def __init__(self, kind, text="", theirs="", ours=""):
        self.kind, self.text, self.theirs, self.ours = kind, text, theirs or "an answer", ours or "an answer"


# What is compared before the values, and after them: strides that may differ must not hide numbers that may not.
BEFORE = ("dtype", "shape", "layout", "device")
AFTER = ("requires_grad", "lazy", "shares", "inference", "stride")


def compare_aspects(aspects, expected, actual, where):
    for aspect in aspects:
        one, other = getattr(expected, aspect), getattr(actual, aspect)
        if one != other and not (aspect == "stride" and same_places(expected.shape, one, other)):
            if aspect == "stride" and 0 in expected.shape:
                aspect = "stride of no elements"
            raise Difference(f"{where}: {aspect} {one} there, {other} here" if aspect in ("dtype", "lazy", "requires_grad", "inference") else
                             f"{where}: {aspect}", f"{aspect} {one} there, {other} here")


def compare_values(expected, actual, where, size, finer=None, floor=0):
    if expected.value is None or actual.value is None or not expected.value.numel():   # PyTorch stops at functions of tensors without elements that are wide
        return
    size = max(size, scale(expected.value, 1e12))
    agreeing = close(expected.value, actual.value, size, max(TOLERANCE.get(expected.value.dtype, 0), floor))
    if agreeing.all() or isinstance(finer, Seen) and as_near(expected.value, actual.value, finer.value, size):
        return
    # Of several the one that says most: two numbers, a number and one that is not finite, two that are not.
    both, one = expected.value.isfinite() & actual.value.isfinite(), expected.value.isfinite() | actual.value.isfinite()
    spot = next(places for places in (~agreeing & both, ~agreeing & one, ~agreeing) if places.any()).nonzero()[0].tolist()
    one, other = (x[tuple(spot)].item() for x in (expected.value, actual.value))
    nature = "nan or infinity" if not (finite(one) and finite(other)) else "value"
    raise Difference(f"{where}: {nature}", f"{one} there, {other} here at {spot}, {int((~agreeing).sum())} of {agreeing.numel()} differ")


def compare(expected, actual, where, size, finer=None, versions=False, floor=0):
    """Raises Difference for the first one found. `size` is that of the numbers that took part; `finer` the answer of a
    reference with more digits, where there is one: who is as near to that as PyTorch is, is right."""
    if isinstance(expected, Seen):
        if not isinstance(actual, Seen):
            raise Difference(f"{where} is a tensor there, {describe(actual)} here")
        compare_aspects(BEFORE, expected, actual, where)
        compare_values(expected, actual, where, size, finer, floor)
        compare_aspects(AFTER, expected, actual, where)
        if versions and expected.version != actual.version:
            raise Difference(f"{where}: version {'' if expected.version else 'not '}counted there, {'' if actual.version else 'not '}here")
        return
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or expected.keys() != actual.keys():
            raise Difference(f"{where}: keys")
        for name in expected:
            compare(expected[name], actual[name], where, size, finer[name] if isinstance(finer, dict) and name in finer else None, versions, floor)
        return
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(expected) != len(actual):
            raise Difference(f"{where}: {describe(expected)} there, {describe(actual)} here")
        if not isinstance(finer, (list, tuple)) or len(finer) != len(expected):
            finer = [None] * len(expected)
        for item in zip(expected, actual, finer):
            compare(item[0], item[1], where, size, item[2], versions, floor)
        return
    if isinstance(expected, (float, complex)) and type(actual) is type(expected):
        dtype = torch.complex128 if isinstance(expected, complex) else torch.float64
        if close(torch.tensor(expected, dtype=dtype), torch.tensor(actual, dtype=dtype), size, 1e-5).all():
            return
    if type(expected) is not type(actual) or expected != actual:
        raise Difference(f"{where}: {describe(expected)} there, {describe(actual)} here")


def finite(number):
    return number - number == 0


def same_places(shape, one, other):
    """Whether two strides lead to the same places, as those of sizes of 1 and of empty tensors do."""
    if 0 in shape:
        return one == other
    return all(a == b for size, a, b in zip(shape, one, other) if size > 1)


def describe(value):
    if isinstance(value, Seen):
        return f"a tensor of {value.dtype}"
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], list):
        return f"{value[0]} of {len(value[1])}"
    return f"{type(value).__name__} {value!r}"[:60]


def as_near(expected, actual, finer, size):
    """Whether a number is about as near to the exact answer as the reference's own rounding."""
    if finer is None or finer.shape != expected.shape or finer.is_complex() != expected.is_complex():
        return False
    finer, expected_parts, actual = parts(finer).double(), parts(expected).double(), parts(actual).double()
    allowed = REFEREE_SLACK * (expected_parts - finer).abs() + TOLERANCE.get(expected.dtype, 0) * torch.maximum(finer.abs(), torch.tensor(size))
    rounded = parts(finer.to(parts(expected).dtype)).double()
    good = ((actual - finer).abs() <= allowed) | (actual == rounded) | (actual.isnan() & finer.isnan())
    return bool(good.all())


def decided_by_rounding(theirs, ours, nearby, size):
    """Whether PyTorch's own answers to nearby calls or programs differ, element by element, by about as much as ours from PyTorch's."""
    if len(theirs) != len(ours):
        return False
    for place, (his, mine) in enumerate(zip(theirs, ours)):
        if his.value is None or mine.value is None or his.value.shape != mine.value.shape:
            continue
        one, other = parts(his.value).double(), parts(mine.value).double()
        moved = torch.zeros_like(one)
        for each in nearby:
            if len(each) != len(theirs):
                return True   # other statements raise, or other hooks run
            value = each[place].value
            if value is None or value.shape != his.value.shape:
                return True
            change = (parts(value).double() - one).abs()
            # Where one is not finite and the other is, or both in another way, it moves by any amount.
            moved = torch.maximum(moved, torch.where(change.isnan(), torch.where(one.isnan() & parts(value).isnan(), 0.0, float("inf")), change))
        near = (one - other).abs() <= NEARBY_SLACK * moved + TOLERANCE.get(his.value.dtype, 0) * torch.maximum(one.abs(), torch.tensor(size))
        # Of what moves by as much as it is no digit holds: it may be infinite as well, or NaN of an infinity.
        near |= (moved > 0) & (~other.isfinite() & (moved >= one.abs() / 2) | ~one.isfinite() & (moved >= other.abs() / 2))
        if not (near | (one == other) | (one.isnan() & other.isnan()) | moved.isinf()).all():
            return False
    return True
