"""Functions of the top module that are neither operators nor about one subject: settings, questions, old constructors."""
import builtins

from kindling import _C
from kindling._C import Tensor, UntypedStorage, dtype as _dtype

_state = {"deterministic": False, "warn_only": False, "precision": "highest", "threads": None, "interop": None}


# ---- questions

def is_tensor(obj, /):
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj, /):
    """Whether ``obj`` is a storage, typed or untyped."""
    return isinstance(obj, UntypedStorage) or type(obj).__name__.endswith("Storage")


def typename(obj, /):
    """The full name of an object's type: ``torch.FloatTensor`` for a float32 tensor."""
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if name is None:
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


def _method(name):
    def function(input):
        method = getattr(input, name, None)
        if method is None:
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        return method()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}()``, as a function."
    return function


numel = _method("numel")
is_complex = _method("is_complex")
is_floating_point = _method("is_floating_point")
is_conj = _method("is_conj")
is_neg = _method("is_neg")
is_signed = _method("is_signed")
is_inference = _method("is_inference")


def is_nonzero(input):
    """Whether a tensor of one element is not zero. RuntimeError for other sizes."""
    if not isinstance(input, Tensor):
        raise TypeError(f"is_nonzero(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return bool(input)


def is_distributed(input):
    """False: tensors are not spread over machines."""
    return False


def dsmm(input, mat2):
    """`mm`, by its old name."""
    import kindling as torch
    return torch.mm(input, mat2)


def hsmm(mat1, mat2):
    """`hspmm`, by its old name."""
    import kindling as torch
    return torch.hspmm(mat1, mat2)


def saddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """`sspaddmm`, by its old name."""
    import kindling as torch
    return torch.sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


def _nnpack_available():
    """False: there is no NNPACK here."""
    return False


def compiled_with_cxx11_abi():
    """Always true."""
    return True


def get_file_path(*path_components):
    """A path inside the package."""
    import os

    import kindling

    return os.path.join(kindling.__path__[0], *path_components)


# ---- settings

class _LegacyType(type):
    def __instancecheck__(cls, value):
        return (isinstance(value, Tensor) and value.dtype is cls.dtype and value.device.type == "cpu" and
                value.layout is _C.strided)

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


def _legacy(name, dtype):
    def construct(cls, *args, **kwargs):
        return _C._legacy_tensor(cls.dtype, args, kwargs)

    return _LegacyType(name, (), {"__new__": construct, "dtype": dtype, "is_cuda": False, "is_sparse": False,
                                  "layout": _C.strided, "__module__": "torch", "__doc__": f"Tensors of {dtype}, by the old constructor."})


FloatTensor = _legacy("FloatTensor", _C.float32)
DoubleTensor = _legacy("DoubleTensor", _C.float64)
HalfTensor = _legacy("HalfTensor", _C.float16)
BFloat16Tensor = _legacy("BFloat16Tensor", _C.bfloat16)
ByteTensor = _legacy("ByteTensor", _C.uint8)
CharTensor = _legacy("CharTensor", _C.int8)
ShortTensor = _legacy("ShortTensor", _C.int16)
IntTensor = _legacy("IntTensor", _C.int32)
LongTensor = _legacy("LongTensor", _C.int64)
BoolTensor = _legacy("BoolTensor", _C.bool)


def _changed(name, restore):
    from kindling._common.warn import changed

    return changed(name, restore)


def set_default_dtype(d, /):
    """Sets the floating dtype that tensors of Python floats get: float32 at first. TypeError for other dtypes.

    Under ``import kindling``, ``with torch.set_default_dtype(torch.float64):`` takes it back at the end; elsewhere a change warns once.
    """
    before = _C.get_default_dtype()

    def put(dtype):
        import kindling
        _C._set_default_dtype(dtype)
        vars(kindling).pop("Storage", None)     # the storage class of that dtype: looked up anew
    put(d)
    return _changed("set_default_dtype", lambda: put(before))


def set_default_tensor_type(t, /):
    """Sets the default dtype by a tensor type or its name: ``torch.DoubleTensor``, ``"torch.FloatTensor"``. Deprecated."""
    import kindling as torch
    from kindling._common.warn import once

    once("set_default_tensor_type()", "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() "
         "and torch.set_default_device() as alternatives.", UserWarning, 2)
    if isinstance(t, str):
        if "cuda" in t:
            raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
        t = getattr(torch, t.rpartition(".")[2])
    dtype = getattr(t, "dtype", None)
    if not isinstance(dtype, _dtype) or not dtype.is_floating_point:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    before = _C.get_default_dtype()
    _C._set_default_dtype(dtype)
    return _changed("set_default_tensor_type", lambda: _C._set_default_dtype(before))


def get_default_device():
    """Where new tensors of this thread are made when no device is given."""
    return _C._get_default_device()


def set_default_device(device):
    """Sets where new tensors of this thread are made when no device is given; ``None`` for the CPU.

    Under ``import kindling``, ``with torch.set_default_device("meta"):`` takes it back at the end; elsewhere a change warns once.
    ``with torch.device("meta"):`` does so under both.
    """
    before = _C._default_device_scope()[0]
    _C._set_default_device(device)
    return _changed("set_default_device", lambda: _C._set_default_device(before))


class _Scope:
    """What :func:`get_default_device_scope` gives."""

    __slots__ = ("_facts",)

    def __init__(self, facts):
        object.__setattr__(self, "_facts", facts)

    @property
    def device(self):
        """Where new tensors are made."""
        return self._facts[0] or _C.device("cpu")

    @property
    def depth(self):
        """How many blocks ``with device:`` are open."""
        return self._facts[1]

    @property
    def outer(self):
        """What comes back at the end of each of them, from the outermost on; None where nothing was set."""
        return self._facts[2]

    @property
    def is_set(self):
        """Whether it was set at all, by a block or by :func:`set_default_device`."""
        return self._facts[0] is not None

    def __setattr__(self, name, value):
        raise AttributeError(f"the default device's scope is read-only: use `with torch.device(...)` to change it (tried to set {name!r})")

    def __repr__(self):
        return f"DeviceScope(device={str(self.device)!r}, depth={self.depth})"


def get_default_device_scope():
    """Where this thread makes new tensors, and by how many ``with device:``; it cannot be changed.

    >>> with torch.device("meta"):
    ...     torch.get_default_device_scope()
    DeviceScope(device='meta', depth=1)
    """
    return _Scope(_C._default_device_scope())


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed.

    ``precision``: digits after the point (4); ``threshold``: elements beyond which the middle is left out (1000);
    ``edgeitems``: how many are shown at each end then (3); ``linewidth`` (80); ``sci_mode``: scientific notation,
    ``None`` to choose by the values; ``profile``: "default", "short" or "full".
    """
    from kindling import _tensor_str

    _tensor_str.set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)


def get_num_threads():
    """How many threads operators may use."""
    native = getattr(_C, "_get_num_threads", None)
    if native:
        return native()
    import os

    return _state["threads"] or len(os.sched_getaffinity(0))


def set_num_threads(threads, /):
    """Sets how many threads operators may use."""
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(threads).__name__}")
    if threads <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _state["threads"] = threads
    native = getattr(_C, "_set_num_threads", None)
    if native:
        native(threads)


def get_num_interop_threads():
    """How many threads run operators side by side: the calling thread."""
    return _state["interop"] or 1


def set_num_interop_threads(threads, /):
    """Accepted for programs that set it."""
    if threads <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _state["interop"] = threads


def init_num_threads():
    """Nothing: threads started later take over what :func:`set_num_threads` was given."""


has_lapack = has_spectral = True
has_mkl = has_openmp = False


def _old_autocast(kind):
    """The four functions about autocast on one kind of device, which torch has deprecated."""
    def make(name, call):
        def function(*arguments):
            import warnings

            import kindling as torch
            warnings.warn(f"torch.{name}() is deprecated. Please use torch.{call}('{kind}') instead.", DeprecationWarning, stacklevel=2)
            return getattr(torch, call)(kind, *arguments)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"The same as ``torch.{call}('{kind}', ...)``. Deprecated."
        return function
    return (make(f"is_autocast_{kind}_enabled", "is_autocast_enabled"), make(f"set_autocast_{kind}_enabled", "set_autocast_enabled"),
            make(f"get_autocast_{kind}_dtype", "get_autocast_dtype"), make(f"set_autocast_{kind}_dtype", "set_autocast_dtype"))


is_autocast_ipu_enabled, set_autocast_ipu_enabled, get_autocast_ipu_dtype, set_autocast_ipu_dtype = _old_autocast("ipu")
is_autocast_xla_enabled, set_autocast_xla_enabled, get_autocast_xla_dtype, set_autocast_xla_dtype = _old_autocast("xla")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Every algorithm here is deterministic; the setting is kept so that it can be read back."""
    for name, value in (("mode' (position 1)", mode), ("warn_only'", warn_only)):
        if not isinstance(value, builtins.bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument '{name} must be bool, not {type(value).__name__}")
    _state["deterministic"], _state["warn_only"] = mode, warn_only


def are_deterministic_algorithms_enabled():
    """What :func:`use_deterministic_algorithms` was given."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """What :func:`use_deterministic_algorithms` was given as ``warn_only``."""
    return _state["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """"default", "warn" or "error", or 0, 1, 2."""
    if not isinstance(debug_mode, (builtins.int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    modes = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}
    if debug_mode not in modes:
        expected = "one of `default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        raise RuntimeError(f"invalid value of debug_mode, expected {expected}, but got {debug_mode}")
    level = modes[debug_mode]
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2."""
    return 0 if not _state["deterministic"] else 1 if _state["warn_only"] else 2


def set_float32_matmul_precision(precision):
    """"highest", "high" or "medium": float32 products are always computed in float32 here."""
    if precision not in ("highest", "high", "medium"):
        import warnings

        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no effect.",
                      stacklevel=2)
        return
    _state["precision"] = precision


def get_float32_matmul_precision():
    """What :func:`set_float32_matmul_precision` was given."""
    return _state["precision"]


def set_warn_always(b, /):
    """Says whether warnings that come once come every time."""
    if not isinstance(b, builtins.bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    from kindling._common import warn as _warn

    _warn._state["always"] = b


def is_warn_always_enabled():
    """What :func:`set_warn_always` was given."""
    from kindling._common import warn as _warn

    return _warn._state["always"]


def set_flush_denormal(mode):
    """False: denormal numbers are kept."""
    return not mode and False


# ---- making tensors

def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of ``obj``, sharing its memory where that is possible.

    ``obj``: a tensor, NumPy array, DLPack capsule or object with ``__dlpack__``, buffer, number or sequence.
    ``copy``: True always copies, False raises ValueError where a copy would be needed.
    """
    import kindling as torch

    share = True
    if isinstance(obj, Tensor):
        result = obj
    elif type(obj).__name__ == "PyCapsule" or hasattr(obj, "__dlpack__") and not hasattr(obj, "__array_interface__"):
        result = from_dlpack(obj)
    elif hasattr(obj, "__array_interface__") and hasattr(obj, "ndim") and type(obj).__module__ == "numpy":
        if obj.ndim or type(obj).__name__ == "ndarray":
            result = torch.from_numpy(obj)
        else:
            result, share = torch.tensor(obj, dtype=dtype), False
    elif isinstance(obj, UntypedStorage):
        dtype = dtype or torch.int64
        result = torch.empty(0, dtype=dtype).set_(obj, 0, (obj.nbytes() // dtype.itemsize,), (1,))
    elif isinstance(obj, (bytes, bytearray, memoryview)) or type(obj).__name__ in ("array", "mmap"):
        result = torch.frombuffer(obj, dtype=dtype or _C.get_default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        result, share = torch.tensor(obj, dtype=dtype), False
    changes = (dtype is not None and result.dtype is not dtype) or (device is not None and torch.device(device) != result.device)
    if copy is False and changes:
        raise ValueError(f"can't alias tensor with dtype '{result.dtype}' into dtype '{dtype}'.")
    if changes:
        result = result.to(device=device, dtype=dtype)
    elif copy and share:
        result = result.clone()
    elif isinstance(obj, Tensor) and obj.requires_grad and not requires_grad:
        result = result.detach()
    if not isinstance(obj, Tensor) or copy or changes:
        result = result.detach() if result.requires_grad and not requires_grad else result
    return result.requires_grad_() if requires_grad and not result.requires_grad else result


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of a DLPack capsule or of any object with ``__dlpack__``."""
    capsule = ext_tensor
    if hasattr(ext_tensor, "__dlpack__"):
        kind = ext_tensor.__dlpack_device__()[0] if hasattr(ext_tensor, "__dlpack_device__") else 1
        if int(kind) != 1:
            raise RuntimeError(f"from_dlpack: device type {int(kind)} is not the CPU")
        capsule = ext_tensor.__dlpack__()
    result = _C._from_dlpack(capsule)
    return result.clone() if copy else result


def get_device(input):
    """The number of the device that a tensor lies on, -1 for the CPU."""
    return input.get_device()


def detach_(input):
    """Takes the history away from a tensor."""
    return input.detach_()


def to_dlpack(tensor):
    """A DLPack capsule over the tensor's memory; it can be taken in once."""
    return _C._to_dlpack(tensor)


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=None):
    """A 1-D tensor over a file mapped into memory; ``shared=True`` writes changes back."""
    import kindling as torch

    dtype = dtype or _C.get_default_dtype()
    storage = UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    return torch.empty(0, dtype=dtype).set_(storage, 0, (size,), (1,))


def _has(name):
    """``torch.has_cuda`` and its like, which are deprecated."""
    from kindling import backends
    from kindling._common.warn import once

    part, call = {"has_cuda": ("cuda", "is_built"), "has_cudnn": ("cudnn", "is_available"), "has_mps": ("mps", "is_built"),
                  "has_mkldnn": ("mkldnn", "is_available")}[name]
    once(name, f"'{name}' is deprecated, please use 'torch.backends.{part}.{call}()'", UserWarning, 3)
    return getattr(getattr(backends, part), call)()
