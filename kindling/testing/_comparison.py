"""Comparison of values for tests: two containers are walked side by side into pairs, and each kind of pair compares itself.

A pair class either takes two inputs or says UnsupportedInputs; the first of a list that takes them compares them. What differs
is an ErrorMeta: class, words and place of an error, which becomes an exception only where a user shall see it.
"""
import abc
import cmath
import collections.abc
import warnings

import kindling as torch

try:
    import numpy as np
    HAS_NUMPY = True
except ModuleNotFoundError:
    HAS_NUMPY = False
    np = None

_HAS_DTENSOR = False
_ISSUES = "https://github.com/pytorch/pytorch/issues"
_USER = "If you are a user and see this message during normal operation please file an issue at " + _ISSUES + ". "
_DEVELOPER = _USER + ("If you are a developer and working on the comparison functions, please except the previous error and raise an "
                      "expressive `ErrorMeta` instead.")

_DTYPE_PRECISIONS = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
    **dict.fromkeys((torch.quint8, torch.quint2x4, torch.quint4x2, torch.qint8, torch.qint32), (1.3e-6, 1e-5)),
}


class ErrorMeta(Exception):
    """An error to be: its class, its words, and where in the containers it arose."""

    def __init__(self, type, msg, *, id=()):
        super().__init__(_USER + "If you are a developer and working on the comparison functions, please `raise ErrorMeta.to_error()` "
                         "for user facing errors.")
        self.type = type
        self.msg = msg
        self.id = id

    def to_error(self, msg=None):
        """The exception, with `msg` in place of the words, or `msg(words)` if that can be called."""
        if isinstance(msg, str):
            return self.type(msg)
        words = self.msg
        if self.id:
            words += f"\n\nThe failure occurred for item {_place(self.id)}"
        return self.type(msg(words) if callable(msg) else words)


def _place(id):
    return "".join(f"[{item!r}]" for item in id)


class UnsupportedInputs(Exception):
    """A pair class does not take these inputs; another may."""


def default_tolerances(*inputs, dtype_precisions=None):
    """The loosest (rtol, atol) of the dtypes of the inputs, which are tensors or dtypes; zeros where a dtype is exact."""
    dtypes = []
    for value in inputs:
        if isinstance(value, torch.Tensor):
            dtypes.append(value.dtype)
        elif isinstance(value, torch.dtype):
            dtypes.append(value)
        else:
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(value)} instead.")
    table = dtype_precisions or _DTYPE_PRECISIONS
    rtols, atols = zip(*(table.get(dtype, (0.0, 0.0)) for dtype in dtypes))
    return max(rtols), max(atols)


def get_tolerances(*inputs, rtol, atol, id=()):
    """(rtol, atol) as given, or the defaults of the inputs if neither is."""
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ErrorMeta(ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", id=id)
    if rtol is None:
        return default_tolerances(*inputs)
    return rtol, atol


def _subject(default, identifier):
    if identifier is None:
        return default
    return identifier(default) if callable(identifier) else identifier


def _make_mismatch_msg(*, default_identifier, identifier=None, extra=None, abs_diff, abs_diff_idx=None, atol, rel_diff,
                       rel_diff_idx=None, rtol):
    """The words for values that differ: what, how much, where, and how much is allowed."""
    exact = rtol == 0 and atol == 0

    def line(kind, diff, index, allowed):
        words = f"{kind} difference: {diff}" if index is None else f"Greatest {kind.lower()} difference: {diff} at index {index}"
        return words if exact else f"{words} (up to {allowed} allowed)"

    lines = [f"{_subject(default_identifier, identifier)} are not {'equal' if exact else 'close'}!", ""]
    if extra:
        lines.append(extra.strip())
    lines += [line("Absolute", abs_diff, abs_diff_idx, atol), line("Relative", rel_diff, rel_diff_idx, rtol)]
    return "\n".join(lines)


def _make_bitwise_mismatch_msg(*, default_identifier, identifier=None, extra=None, first_mismatch_idx=None):
    """The words for values of dtypes without arithmetic."""
    lines = [f"{_subject(default_identifier, identifier)} are not 'equal'!", ""]
    if extra:
        lines.append(extra.strip())
    if first_mismatch_idx is not None:
        lines.append(f"The first mismatched element is at index {first_mismatch_idx}.")
    return "\n".join(lines)


def make_scalar_mismatch_msg(actual, expected, *, rtol, atol, identifier=None):
    """The words for two numbers that differ."""
    difference = abs(actual - expected)
    return _make_mismatch_msg(
        default_identifier="Scalars", identifier=identifier, extra=f"Expected {expected} but got {actual}.", abs_diff=difference,
        atol=atol, rel_diff=float("inf") if expected == 0 else difference / abs(expected), rtol=rtol)


def _index(flat, shape):
    """The index of an element, from its number."""
    index = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        index.append(place)
    return tuple(reversed(index))


def make_tensor_mismatch_msg(actual, expected, matches, *, rtol, atol, identifier=None):
    """The words for two tensors that differ where `matches` is False."""
    shape = actual.shape
    wrong = matches.numel() - int(matches.sum())
    extra = f"Mismatched elements: {wrong} / {actual.numel()} ({wrong / actual.numel():.1%})"
    flat = matches.flatten()
    if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:
        first = None
        if not bool(flat.all()):
            first = _index(int(torch.argmin(flat.to(torch.uint8))), shape)
        return _make_bitwise_mismatch_msg(default_identifier="Tensor-likes", identifier=identifier, extra=extra, first_mismatch_idx=first)
    actual, expected = actual.flatten(), expected.flatten()
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        # Unsigned numbers and bools have no negative difference.
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    absolute = torch.abs(actual - expected)
    absolute[flat] = 0      # equal infinities, and NaNs that count as equal
    abs_diff, abs_at = torch.max(absolute, 0)
    relative = absolute / torch.abs(expected)
    relative[flat] = 0      # 0 / 0
    rel_diff, rel_at = torch.max(relative, 0)
    return _make_mismatch_msg(
        default_identifier="Tensor-likes", identifier=identifier, extra=extra, abs_diff=abs_diff.item(),
        abs_diff_idx=_index(int(abs_at), shape), atol=atol, rel_diff=rel_diff.item(), rel_diff_idx=_index(int(rel_at), shape), rtol=rtol)


class Pair(abc.ABC):
    """Two values to be compared. A subclass says in `__init__` whether it takes them and implements `compare`."""

    def __init__(self, actual, expected, *, id=(), **unknown_parameters):
        self.actual = actual
        self.expected = expected
        self.id = id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported():
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs, cls):
        """UnsupportedInputs unless all inputs are of the class or the classes."""
        if not all(isinstance(value, cls) for value in inputs):
            raise UnsupportedInputs

    def _fail(self, type, msg, *, id=()):
        raise ErrorMeta(type, msg, id=self.id if not id and hasattr(self, "id") else id)

    @abc.abstractmethod
    def compare(self):
        """Raises an ErrorMeta if the values differ."""

    def extra_repr(self):
        """Names of attributes, or (name, value), that `repr` shows too."""
        return []

    def __repr__(self):
        lines = [f"{type(self).__name__}("]
        for item in ("id", "actual", "expected", *self.extra_repr()):
            name, value = (item, getattr(self, item)) if isinstance(item, str) else item
            lines.append(f"    {name}={value!r},")
        return "\n".join([*lines, ")"])


class ObjectPair(Pair):
    """Any two objects, compared by `==`."""

    def compare(self):
        try:
            equal = self.actual == self.expected
        except Exception as error:
            raise ErrorMeta(ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two values of which at least one is None."""

    def __init__(self, actual, expected, **other_parameters):
        if not (actual is None or expected is None):
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self):
        if not (self.actual is None and self.expected is None):
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two bools, of Python or NumPy."""

    def __init__(self, actual, expected, *, id, **other_parameters):
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    @property
    def _supported_types(self):
        return (bool, np.bool_) if HAS_NUMPY else (bool,)

    def _process_inputs(self, actual, expected, *, id):
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return tuple(self._to_bool(value, id=id) for value in (actual, expected))

    def _to_bool(self, bool_like, *, id):
        if isinstance(bool_like, bool):
            return bool_like
        if HAS_NUMPY and isinstance(bool_like, np.bool_):
            return bool_like.item()
        raise ErrorMeta(TypeError, f"Unknown boolean type {type(bool_like)}.", id=id)

    def compare(self):
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers, of Python or NumPy, compared with tolerances of the widest dtype of their kind."""

    _TYPE_TO_DTYPE = {int: torch.int64, float: torch.float64, complex: torch.complex128}
    _NUMBER_TYPES = tuple(_TYPE_TO_DTYPE)

    def __init__(self, actual, expected, *, id=(), rtol=None, atol=None, equal_nan=False, check_dtype=False, **other_parameters):
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(*[self._TYPE_TO_DTYPE[type(value)] for value in (actual, expected)], rtol=rtol, atol=atol,
                                              id=id)
        self.equal_nan = equal_nan
        self.check_dtype = check_dtype

    @property
    def _supported_types(self):
        return (*self._NUMBER_TYPES, np.number) if HAS_NUMPY else self._NUMBER_TYPES

    def _process_inputs(self, actual, expected, *, id):
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return tuple(self._to_number(value, id=id) for value in (actual, expected))

    def _to_number(self, number_like, *, id):
        if HAS_NUMPY and isinstance(number_like, np.number):
            return number_like.item()
        if isinstance(number_like, self._NUMBER_TYPES):
            return number_like
        raise ErrorMeta(TypeError, f"Unknown number type {type(number_like)}.", id=id)

    def compare(self):
        if self.check_dtype and type(self.actual) is not type(self.expected):
            self._fail(AssertionError, f"The (d)types do not match: {type(self.actual)} != {type(self.expected)}.")
        actual, expected = self.actual, self.expected
        if actual == expected or self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        difference = abs(actual - expected)
        if not (cmath.isfinite(difference) and difference <= self.atol + self.rtol * abs(expected)):
            self._fail(AssertionError, make_scalar_mismatch_msg(actual, expected, rtol=self.rtol, atol=self.atol))

    def extra_repr(self):
        return ("rtol", "atol", "equal_nan", "check_dtype")


_COMPRESSED = {
    "sparse_csr": ("CSR", "crow_indices", "col_indices"),
    "sparse_csc": ("CSC", "ccol_indices", "row_indices"),
    "sparse_bsr": ("BSR", "crow_indices", "col_indices"),
    "sparse_bsc": ("BSC", "ccol_indices", "row_indices"),
}
_compressed = {getattr(torch, name): names for name, names in _COMPRESSED.items() if hasattr(torch, name)}


class TensorLikePair(Pair):
    """Two tensors, or what `as_tensor` makes tensors of, one's class derived from the other's."""

    def __init__(self, actual, expected, *, id=(), allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, **other_parameters):
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=self.id)
        self.equal_nan = equal_nan
        self.check_device = check_device
        self.check_dtype = check_dtype
        self.check_layout = check_layout
        self.check_stride = check_stride

    def _process_inputs(self, actual, expected, *, id, allow_subclasses):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not allow_subclasses and type(actual) is not type(expected):
            self._inputs_not_supported()
        actual, expected = (self._to_tensor(value) for value in (actual, expected))
        for tensor in (actual, expected):
            self._check_supported(tensor, id=id)
        return actual, expected

    def _to_tensor(self, tensor_like):
        if isinstance(tensor_like, torch.Tensor):
            return tensor_like
        try:
            return torch.as_tensor(tensor_like)
        except Exception:
            self._inputs_not_supported()

    def _check_supported(self, tensor, *, id):
        if tensor.layout not in {torch.strided, torch.sparse_coo, torch.jagged, *_compressed}:
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self):
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        if any(tensor.device.type == "meta" for tensor in (actual, expected)):
            return
        actual, expected = self._equalize_attributes(actual, expected)
        self._compare_values(actual, expected)

    def _compare_attributes(self, actual, expected):
        def differ(name, one, other):
            self._fail(AssertionError, f"The values for attribute '{name}' do not match: {one} != {other}.")

        if actual.shape != expected.shape:
            differ("shape", actual.shape, expected.shape)
        if getattr(actual, "is_quantized", False) != getattr(expected, "is_quantized", False):
            differ("is_quantized", actual.is_quantized, expected.is_quantized)
        if getattr(actual, "is_quantized", False) and actual.qscheme() != expected.qscheme():
            differ("qscheme()", actual.qscheme(), expected.qscheme())
        if self.check_layout and actual.layout != expected.layout:
            differ("layout", actual.layout, expected.layout)
        if actual.layout == torch.strided and self.check_stride and actual.stride() != expected.stride():
            differ("stride()", actual.stride(), expected.stride())
        if self.check_device and actual.device != expected.device:
            differ("device", actual.device, expected.device)
        if self.check_dtype and actual.dtype != expected.dtype:
            differ("dtype", actual.dtype, expected.dtype)

    def _equalize_attributes(self, actual, expected):
        """Both on one device, of one dtype and of one layout."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            dtype = torch.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:
            actual, expected = (tensor if tensor.layout == torch.strided else tensor.to_dense() for tensor in (actual, expected))
        return actual, expected

    def _compare_values(self, actual, expected):
        options = {"rtol": self.rtol, "atol": self.atol, "equal_nan": self.equal_nan}
        if actual.is_quantized:
            self._compare_regular_values_close(actual.dequantize(), expected.dequantize(), **options,
                                               identifier="Quantized tensor-likes")
        elif actual.layout == torch.sparse_coo:
            self._compare_sparse_coo_values(actual, expected, **options)
        elif actual.layout in _compressed:
            self._compare_sparse_compressed_values(actual, expected, **options)
        elif actual.layout == torch.jagged:
            for one, other in zip((actual.values(), actual.offsets()), (expected.values(), expected.offsets())):
                self._compare_regular_values_close(one, other, **options)
        else:
            self._compare_regular_values_close(actual, expected, **options)

    def _count(self, actual, expected, name):
        if actual._nnz() != expected._nnz():
            self._fail(AssertionError, f"The number of specified values in sparse {name} tensors does not match: {actual._nnz()} != "
                                       f"{expected._nnz()}")

    def _compare_sparse_coo_values(self, actual, expected, *, rtol, atol, equal_nan):
        self._count(actual, expected, "COO")
        self._compare_regular_values_equal(actual._indices(), expected._indices(), identifier="Sparse COO indices")
        self._compare_regular_values_close(actual._values(), expected._values(), rtol=rtol, atol=atol, equal_nan=equal_nan,
                                           identifier="Sparse COO values")

    def _compare_sparse_compressed_values(self, actual, expected, *, rtol, atol, equal_nan):
        name, compressed, plain = _compressed[actual.layout]
        self._count(actual, expected, name)
        for part in (compressed, plain):
            one, other = getattr(actual, part)(), getattr(expected, part)()
            if one.dtype != other.dtype:
                one, other = one.to(torch.int64), other.to(torch.int64)
            self._compare_regular_values_equal(one, other, identifier=f"Sparse {name} {part}")
        self._compare_regular_values_close(actual.values(), expected.values(), rtol=rtol, atol=atol, equal_nan=equal_nan,
                                           identifier=f"Sparse {name} values")

    def _compare_regular_values_equal(self, actual, expected, *, equal_nan=False, identifier=None):
        self._compare_regular_values_close(actual, expected, rtol=0, atol=0, equal_nan=equal_nan, identifier=identifier)

    def _compare_regular_values_close(self, actual, expected, *, rtol, atol, equal_nan, identifier=None):
        if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:
            if rtol or atol:
                raise ErrorMeta(ValueError, f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low dimensional "
                                            "floats. Please use rtol=0.0 and atol=0.0.", id=self.id)
            matches = actual.view(torch.uint8) == expected.view(torch.uint8)
        else:
            matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if bool(matches.all()):
            return
        if actual.shape == ():
            words = make_scalar_mismatch_msg(actual.item(), expected.item(), rtol=rtol, atol=atol, identifier=identifier)
        else:
            words = make_tensor_mismatch_msg(actual.detach(), expected.detach(), matches, rtol=rtol, atol=atol, identifier=identifier)
        self._fail(AssertionError, words)

    def extra_repr(self):
        return ("rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride")


def originate_pairs(actual, expected, *, pair_types, sequence_types=(collections.abc.Sequence,), mapping_types=(collections.abc.Mapping,),
                    id=(), **options):
    """The pairs of two values: those of their elements for sequences and mappings, else one, of the first class that takes them.

    Raises an ErrorMeta if lengths or keys differ, or if no class takes the two.
    """
    below = dict(pair_types=pair_types, sequence_types=sequence_types, mapping_types=mapping_types, **options)
    if isinstance(actual, sequence_types) and isinstance(expected, sequence_types) and not isinstance(actual, str) and \
            not isinstance(expected, str):
        if len(actual) != len(expected):
            raise ErrorMeta(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", id=id)
        return [pair for place in range(len(actual))
                for pair in originate_pairs(actual[place], expected[place], id=(*id, place), **below)]
    if isinstance(actual, mapping_types) and isinstance(expected, mapping_types):
        missing, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or more:
            raise ErrorMeta(AssertionError, "The keys of the mappings do not match:\n"
                                            f"Missing keys in the actual mapping: {sorted(missing)}\n"
                                            f"Additional keys in the actual mapping: {sorted(more)}", id=id)
        keys = list(actual)
        try:
            keys = sorted(keys)
        except Exception:
            pass        # keys of several classes have no order
        return [pair for key in keys for pair in originate_pairs(actual[key], expected[key], id=(*id, key), **below)]
    for pair_type in pair_types:
        try:
            return [pair_type(actual, expected, id=id, **options)]
        except UnsupportedInputs:
            continue
        except ErrorMeta:
            raise
        except Exception as error:
            raise RuntimeError(f"Originating a {pair_type.__name__}() at item {_place(id)} with\n\n"
                               f"{type(actual).__name__}(): {actual}\n\nand\n\n{type(expected).__name__}(): {expected}\n\n"
                               f"resulted in the unexpected exception above. {_DEVELOPER}") from error
    raise ErrorMeta(TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", id=id)


def not_close_error_metas(actual, expected, *, pair_types=(ObjectPair,), sequence_types=(collections.abc.Sequence,),
                          mapping_types=(collections.abc.Mapping,), **options):
    """All that differs between two values, as ErrorMetas."""
    __tracebackhide__ = True
    try:
        pairs = originate_pairs(actual, expected, pair_types=pair_types, sequence_types=sequence_types, mapping_types=mapping_types,
                                **options)
    except ErrorMeta as meta:
        # The traceback of the walk says nothing to a user.
        raise meta.to_error() from None
    found = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as meta:
            found.append(meta)
        except Exception as error:
            raise RuntimeError(f"Comparing\n\n{pair}\n\nresulted in the unexpected exception above. {_DEVELOPER}") from error
    return found


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """Asserts that `actual` and `expected` are close: `|actual - expected| <= atol + rtol * |expected|`.

    Takes tensors, what `torch.as_tensor` makes tensors of, numbers, None, and sequences and mappings of these. Infinities are
    close only to themselves, NaNs only if `equal_nan`. `rtol` and `atol` go together; without them they follow the dtypes (the
    loosest of the two). `msg`: words of the error, or a function that makes them of the generated ones.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    """
    __tracebackhide__ = True
    found = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair), allow_subclasses=allow_subclasses, rtol=rtol,
        atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype, check_layout=check_layout,
        check_stride=check_stride, msg=msg)
    if found:
        raise found[0].to_error(msg)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """`assert_close` with looser defaults, without a look at dtypes; deprecated, as in torch.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> torch.testing.assert_allclose(1.0, 1.000001)
    """
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
                  "Please use `torch.testing.assert_close()` instead. "
                  "You can find detailed upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
                  FutureWarning, stacklevel=2)
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected, dtype_precisions={
            torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)})
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False,
                 msg=msg or None)
