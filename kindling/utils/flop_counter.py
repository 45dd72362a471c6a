"""Floating-point operations of a program, counted from the shapes of its products."""
import math
import warnings
from collections import defaultdict
from functools import wraps

import kindling as torch
from kindling.utils._python_dispatch import TorchDispatchMode
from kindling.utils._pytree import tree_map
from kindling.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = torch.ops.aten
flop_registry = {}
suffixes = ["", "K", "M", "B", "T"]


def get_shape(i):
    return i.shape if isinstance(i, torch.Tensor) else i


def shape_wrapper(f):
    """A formula over shapes, called with tensors."""
    @wraps(f)
    def formula(*args, out_val=None, **kwargs):
        args, kwargs, out = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out, **kwargs)

    return formula


def register_flop_formula(targets, get_raw=False):
    """Registers a formula for operators: a function of the arguments' shapes and `out_shape`, or of the tensors and `out_val`."""
    def register(formula):
        own = formula if get_raw else shape_wrapper(formula)

        def put(target):
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = own

        tree_map(put, targets)
        return own

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a product of matrices."""
    rows, inner = a_shape
    inner_2, columns = b_shape
    if inner != inner_2:
        raise AssertionError(f"mm: inner dimensions do not match: {inner} and {inner_2}")
    return rows * columns * 2 * inner


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    return mm_flop.__wrapped__(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """Of products of matrices."""
    batch, rows, inner = a_shape
    return batch * rows * b_shape[2] * 2 * inner


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    return bmm_flop.__wrapped__(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Of a convolution, by shapes."""
    places = (x_shape if transposed else out_shape)[2:]
    c_out, c_in, *kernel = w_shape
    return math.prod(places) * math.prod(kernel) * x_shape[0] * c_out * c_in * 2


@register_flop_formula([aten.convolution, aten._convolution])
def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out_shape, x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, _output_padding, _groups,
                       output_mask, out_shape):
    """Of the input's and the weight's gradient: each is as much as the convolution."""
    once = conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)
    return once * (bool(output_mask[0]) + bool(output_mask[1]))


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Of attention: two products of matrices."""
    batch, heads, queries, size = query_shape
    return 2 * batch * heads * queries * key_shape[2] * (size + value_shape[-1])


def sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape):
    """Of attention's gradient: the scores again, and four products of matrices."""
    batch, heads, queries, size = query_shape
    return 2 * batch * heads * queries * key_shape[2] * (3 * size + 2 * value_shape[-1])


def normalize_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def get_suffix_str(number):
    """The letter for thousands, millions, ..., with at least one digit more."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number, suffix):
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num, denom):
    return "0%" if denom == 0 else f"{num / denom:.2%}"


class FlopCounterMode:
    """Counts the floating-point operations of what runs within it, by module and operator.

    >>> from torch.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods: "torch.nn.Module | list[torch.nn.Module] | None" = None, depth: int = 2, display: bool = True,
                 custom_mapping=None):
        super().__init__()
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mode = None
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_registry = {**flop_registry, **{key: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
                                                  for key, formula in (custom_mapping or {}).items()}}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self):
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{module: {operator: count}}."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as a table; needs the tabulate package."""
        import tabulate

        tabulate.PRESERVE_WHITESPACE = True
        depth = 999999 if (self.depth if depth is None else depth) is None else self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        shown = False

        def lines(name, level):
            nonlocal shown
            own = sum(self.flop_counts[name].values())
            shown |= own >= total
            padding = " " * level
            rows = [[padding + name, convert_num_with_suffix(own, suffix), convert_to_percent_str(own, total)]]
            return rows + [[padding + " - " + str(key), convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)]
                           for key, count in self.flop_counts[name].items()]

        values = []
        for name in sorted(self.flop_counts):
            if name != "Global" and name.count(".") + 1 <= depth:
                values += [[" " + row[0], *row[1:]] for row in lines(name, name.count("."))]
        if "Global" in self.flop_counts and not shown:
            values = lines("Global", 0) + values
        if not values:
            values = [["Global", "0", "0%"]]
        return tabulate.tabulate(values, headers=["Module", "FLOP", "% Total"], colalign=("left", "right", "right"))

    def __enter__(self):
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _FlopCounterMode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *args):
        if self.mode is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called without __enter__")
        result = self.mode.__exit__(*args)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))
        return result

    def _count_flops(self, func_packet, out, args, kwargs):
        formula = self.flop_registry.get(func_packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for name in set(self.mod_tracker.parents):
                self.flop_counts[name][func_packet] += count
        return out


class _FlopCounterMode(TorchDispatchMode):
    """Sees the operators."""

    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        return self.counter._count_flops(func.overloadpacket, out, args, kwargs)
