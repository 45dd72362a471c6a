"""Sets of dtypes that tests are run over."""
import kindling as torch


class _dispatch_dtypes(tuple):
    """A tuple of dtypes; sums stay one."""

    __slots__ = ()

    def __add__(self, other):
        if not isinstance(other, tuple):
            raise AssertionError(f"Expected other to be tuple, got {type(other)}")
        return _dispatch_dtypes(tuple.__add__(self, other))


def _validate_dtypes(*dtypes):
    for dtype in dtypes:
        if not isinstance(dtype, torch.dtype):
            raise AssertionError(f"Expected dtype to be torch.dtype, got {type(dtype)}")
    return dtypes


def _of(*dtypes):
    return _dispatch_dtypes(dtypes)


def _sets(name, dtypes):
    """The functions `name()` and `name_and(*more)` of a set, and the set itself as `_name`."""

    def whole():
        return dtypes

    def extended(*more):
        return dtypes + _validate_dtypes(*more)

    for function, called in ((whole, name), (extended, name + "_and")):
        function.__name__ = function.__qualname__ = called
        globals()[called] = function
    globals()["_" + name] = dtypes
    return dtypes


_empty_types = _of()
_floating = _sets("floating_types", _of(torch.float32, torch.float64))
_integral = _sets("integral_types", _of(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))
_complex = _sets("complex_types", _of(torch.complex64, torch.complex128))
_all = _sets("all_types", _floating + _integral)
_sets("floating_and_complex_types", _floating + _complex)
_all_complex = _sets("all_types_and_complex", _all + _complex)
_float8 = _sets("float8_types", _of(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz))
_sets("all_mps_types", _of(torch.float16, torch.bfloat16, torch.float32) + _integral)
_floating_types_and_half = _floating + (torch.half,)
_all_types_and_half = _all + (torch.half,)
_double_types = _of(torch.float64, torch.complex128)
del _floating, _integral, _complex, _all, _sets


def empty_types():
    return _empty_types


def floating_types_and_half():
    return _floating_types_and_half


def all_types_and_half():
    return _all_types_and_half


def double_types():
    return _double_types


def all_types_complex_float8_and(*dtypes):
    return _all_complex + _float8 + _validate_dtypes(*dtypes)


def custom_types(*dtypes):
    """The dtypes given."""
    return _empty_types + _validate_dtypes(*dtypes)


def get_all_int_dtypes():
    return [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def get_all_complex_dtypes(include_complex32=False):
    return [torch.complex32, torch.complex64, torch.complex128] if include_complex32 else [torch.complex64, torch.complex128]


def get_all_fp_dtypes(include_half=True, include_bfloat16=True):
    return [torch.float32, torch.float64, *([torch.float16] if include_half else []), *([torch.bfloat16] if include_bfloat16 else [])]


def get_all_qint_dtypes():
    return [torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4]


def get_all_dtypes(include_half=True, include_bfloat16=True, include_bool=True, include_complex=True, include_complex32=False,
                   include_qint=False):
    dtypes = get_all_int_dtypes() + get_all_fp_dtypes(include_half=include_half, include_bfloat16=include_bfloat16)
    if include_bool:
        dtypes.append(torch.bool)
    if include_complex:
        dtypes += get_all_complex_dtypes(include_complex32)
    return dtypes + (get_all_qint_dtypes() if include_qint else [])


def get_all_math_dtypes(device):
    """The dtypes that arithmetic on a device knows."""
    kind = torch.device(device).type
    return (get_all_int_dtypes() + get_all_fp_dtypes(include_half=kind == "cuda", include_bfloat16=False) + get_all_complex_dtypes())


float_to_corresponding_complex_type_map = {
    torch.float16: torch.complex32, torch.float32: torch.complex64, torch.float64: torch.complex128, torch.bfloat16: torch.complex64}


def highest_precision_float(device):
    return torch.float32 if torch.device(device).type == "mps" else torch.float64


def highest_precision_complex(device):
    return torch.complex64 if torch.device(device).type == "mps" else torch.complex128
