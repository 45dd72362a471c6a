"""torch.storage: the untyped storage of the core, and the typed one that old programs and torch's files name.

Reads at `import`: nothing beyond the core. `TypedStorage` is a shim: a dtype beside an `UntypedStorage`.
"""
from kindling import _C

# Names of the old storage classes, which files use to say a dtype. Newer dtypes have none and are stored untyped.
_STORAGE_NAMES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage",
    "uint8": "ByteStorage", "bool": "BoolStorage", "complex128": "ComplexDoubleStorage",
    "complex64": "ComplexFloatStorage", "qint8": "QInt8Storage", "quint8": "QUInt8Storage", "qint32": "QInt32Storage",
}
_DTYPE_NAMES = {storage: dtype for dtype, storage in _STORAGE_NAMES.items()}


def _torch():
    import kindling
    return kindling


def _dtype_name(dtype):
    return str(dtype).rpartition(".")[2]


def _storage_name(dtype):
    """The old storage class name of a dtype, or None for dtypes that never had one."""
    return _STORAGE_NAMES.get(_dtype_name(dtype))


def _storage_bytes(storage):
    """A writable byte view of an untyped CPU storage."""
    count = storage.nbytes()
    if count == 0:
        return memoryview(bytearray())
    view = getattr(_C, "_storage_memoryview", None)
    if view is not None:
        return view(storage)
    import ctypes
    return memoryview((ctypes.c_ubyte * count).from_address(storage.data_ptr())).cast("B")


class TypedStorage:
    """Elements of one dtype over an `UntypedStorage`; kept for old programs and for torch's files.

    TypedStorage(size=0, dtype=float32), TypedStorage(list, dtype=...) or TypedStorage(wrap_storage=untyped, dtype=...).
    Raises TypeError for other arguments. Example: `TypedStorage([1, 2], dtype=torch.int64).tolist()` is `[1, 2]`.
    """

    is_sparse = False
    dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        torch = _torch()
        if dtype is None:
            dtype = type(self).dtype or torch.get_default_dtype()
        self.dtype = dtype
        if wrap_storage is not None:
            if args:
                raise TypeError("TypedStorage: no positional argument may be given when wrap_storage is")
            self._untyped_storage = wrap_storage
            return
        if len(args) > 1:
            raise TypeError(f"TypedStorage: expected at most one positional argument, got {len(args)}")
        content = args[0] if args else 0
        if isinstance(content, int):
            size = content * dtype.itemsize
            self._untyped_storage = torch.UntypedStorage(size) if device is None else torch.UntypedStorage(
                size, device=device)
        elif hasattr(content, "__iter__"):
            self._untyped_storage = torch.tensor(list(content), dtype=dtype, device=device).untyped_storage()
        else:
            raise TypeError(f"TypedStorage: expected a size or a sequence, got {type(content).__name__}")

    def _tensor(self):
        torch = _torch()
        empty = torch.empty(0, dtype=self.dtype, device=self.device)
        return empty.set_(self._untyped_storage, 0, (self.size(),), (1,))

    def untyped(self):
        return self._untyped_storage

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def element_size(self):
        return self.dtype.itemsize

    def nbytes(self):
        return self._untyped_storage.nbytes()

    def size(self):
        return self.nbytes() // self.element_size()

    _size = size

    def __len__(self):
        return self.size()

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr

    def get_device(self):
        return self._tensor().get_device()

    def __getitem__(self, index):
        if isinstance(index, slice):
            start, stop, step = index.indices(self.size())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            width = self.element_size()
            part = self._untyped_storage[start * width:max(start, stop) * width]
            return TypedStorage(wrap_storage=part, dtype=self.dtype)
        return self._tensor()[self._index(index)].item()

    def __setitem__(self, index, value):
        self._tensor()[index if isinstance(index, slice) else self._index(index)] = value

    def _index(self, index):
        size = self.size()
        if not -size <= index < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return index

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._tensor().tolist()

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        other = source._tensor() if isinstance(source, TypedStorage) else TypedStorage(
            wrap_storage=source, dtype=self.dtype)._tensor()
        self._tensor().copy_(other, non_blocking)
        return self

    def clone(self):
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo):
        return self._deepcopy(memo)

    def _deepcopy(self, memo):
        from copy import deepcopy
        return TypedStorage(wrap_storage=deepcopy(self._untyped_storage, memo), dtype=self.dtype)

    def cpu(self):
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype)

    def to(self, *, device, non_blocking=False):
        torch = _torch()
        moved = torch.UntypedStorage(self.nbytes(), device=torch.device(device))
        return TypedStorage(wrap_storage=moved.copy_(self._untyped_storage, non_blocking), dtype=self.dtype)

    def type(self, dtype=None, non_blocking=False):
        if dtype is None:
            return "torch." + str(_storage_name(self.dtype))
        raise NotImplementedError("TypedStorage.type(dtype) is not there; convert the tensor instead")

    def _to(self, name):
        dtype = getattr(_torch(), name)
        return TypedStorage(wrap_storage=self._tensor().to(dtype, copy=True).untyped_storage(), dtype=dtype)

    def float(self):
        return self._to("float32")

    def double(self):
        return self._to("float64")

    def half(self):
        return self._to("float16")

    def long(self):
        return self._to("int64")

    def int(self):
        return self._to("int32")

    def resize_(self, size):
        self._untyped_storage.resize_(size * self.element_size())

    def resizable(self):
        return self._untyped_storage.resizable()

    def is_shared(self):
        return self._untyped_storage.is_shared()

    def share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device=None):
        return False

    def pickle_storage_type(self):
        name = _storage_name(self.dtype)
        if name is None:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return name

    _pickle_storage_type = pickle_storage_type

    def __eq__(self, other):
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self.dtype == other.dtype and self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()

    def __hash__(self):
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self):
        lines = "\n ".join(str(v) for v in self.tolist())
        return f" {lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def __reduce__(self):
        return _load_from_bytes, (_to_bytes(self),)


def _to_bytes(storage):
    """How a storage alone is pickled: as a small file of torch.save's older form."""
    from io import BytesIO
    out = BytesIO()
    _torch().save(storage, out, _use_new_zipfile_serialization=False)
    return out.getvalue()


def _load_from_bytes(data):
    """Undoes `_to_bytes`. The bytes come from within a pickle, whose reader has already chosen to trust it or not."""
    from io import BytesIO
    return _torch().load(BytesIO(data), weights_only=True)


_classes = {}


def __getattr__(name):
    if name == "Storage":       # of the default dtype
        name = _storage_name(_torch().get_default_dtype())
    if name == "UntypedStorage":
        return _torch().UntypedStorage
    if name in _DTYPE_NAMES:  # torch.FloatStorage and its like, made when first asked for
        if name not in _classes:
            dtype = getattr(_torch(), _DTYPE_NAMES[name])
            _classes.setdefault(name, type(name, (TypedStorage,), {"dtype": dtype, "__module__": _torch().Tensor.__module__}))
        return _classes[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
