"""Sparse tensors: how they are made, ``torch.sparse``. Importing costs nothing until a program uses them."""
import kindling as torch
from kindling import _C

__all__ = ["addmm", "check_sparse_tensor_invariants", "mm", "sum", "softmax", "solve", "log_softmax", "SparseSemiStructuredTensor",
           "SparseSemiStructuredTensorCUTLASS", "SparseSemiStructuredTensorCUSPARSELT", "to_sparse_semi_structured",
           "as_sparse_gradcheck"]

_OPERATORS = {"addmm": "_sparse_addmm", "mm": "_sparse_mm", "softmax": "_sparse_softmax", "log_softmax": "_sparse_log_softmax",
              "sampled_addmm": "sparse_sampled_addmm"}
_SEMI_STRUCTURED = "SparseSemiStructuredTensor SparseSemiStructuredTensorCUTLASS SparseSemiStructuredTensorCUSPARSELT"


_LEGACY = {"FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16, "BFloat16Tensor": torch.bfloat16,
           "ByteTensor": torch.uint8, "CharTensor": torch.int8, "ShortTensor": torch.int16, "IntTensor": torch.int32,
           "LongTensor": torch.int64}


def __getattr__(name):
    if name in _OPERATORS:
        value = _C._operator("torch._C._sparse", _OPERATORS[name])
    elif name in ("_sparse_mm", "_sparse_addmm", "_sparse_sum", "_sparse_softmax", "_sparse_log_softmax"):
        value = _C._operator("torch._C._sparse", name)
    elif name in _SEMI_STRUCTURED.split() or name == "to_sparse_semi_structured":
        from kindling._common import placeholders as _placeholders

        text = "{name}: tensors with two of four elements need a GPU that multiplies them"
        if name == "to_sparse_semi_structured":
            value = _placeholders.function(__name__, name, RuntimeError, text.format(name=name))
        else:
            value = _placeholders.classes(__name__, name, RuntimeError, text)[name]
    elif name in _LEGACY:
        value = _legacy_type(name, _LEGACY[name])
    elif name == "semi_structured":
        import importlib
        return importlib.import_module("kindling.sparse.semi_structured")
    else:
        raise AttributeError(f"module 'torch.sparse' has no attribute '{name}'")
    return globals().setdefault(name, value)


def __dir__():
    return sorted({*globals(), *__all__, *_OPERATORS, *_LEGACY, *_SEMI_STRUCTURED.split()})


def sum(input, dim=None, dtype=None):
    """The sum of a COO tensor over some dimensions or all: sparse as long as a sparse dimension is left."""
    if dtype is None:
        return torch._sparse_sum(input) if dim is None else torch._sparse_sum(input, dim)
    return torch._sparse_sum(input, dtype=dtype) if dim is None else torch._sparse_sum(input, dim, dtype=dtype)


def spsolve(input, other, *, left=True):
    """Solves a system with a sparse matrix; PyTorch does so on GPUs only."""
    raise NotImplementedError("Could not run 'aten::_spsolve' with arguments from the 'SparseCsrCPU' backend.")


solve = spsolve


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix with the rows of ``diagonals`` on its diagonals ``offsets``; an element's column is its place in the row."""
    if diagonals.dim() == 1:
        diagonals = diagonals.unsqueeze(0)
    if offsets.dim() == 0:
        offsets = offsets.unsqueeze(0)
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if offsets.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if diagonals.size(0) != offsets.size(0):
        raise RuntimeError(f"Number of diagonals ({diagonals.size(0)}) does not match the number of offsets ({offsets.size(0)})")
    if layout is not None and layout not in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsr, SparseCsc) are supported, got {_WORDS[layout]}")
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    count = min(diagonals.size(1), columns)
    column = torch.arange(count).expand(offsets.size(0), count)
    row = column - offsets.to(torch.int64).unsqueeze(1)
    inside = (row >= 0) & (row < rows)
    indices = torch.stack([row[inside], column[inside]])
    result = torch.sparse_coo_tensor(indices, diagonals[:, :count][inside], shape)
    return result if layout is None or layout == torch.sparse_coo else result.to_sparse(layout=layout)


# ---- making them

_WORDS = {torch.strided: "Strided", torch.sparse_coo: "Sparse", torch.sparse_csr: "SparseCsr", torch.sparse_csc: "SparseCsc",
          torch.sparse_bsr: "SparseBsr", torch.sparse_bsc: "SparseBsc"}
_checked = False      # whether constructors check places unless told otherwise


class check_sparse_tensor_invariants:
    """Whether constructors of sparse tensors check what they are given: a context manager, a decorator, and two switches."""

    @staticmethod
    def is_enabled():
        return _checked

    @staticmethod
    def enable():
        global _checked
        _checked = True

    @staticmethod
    def disable():
        global _checked
        _checked = False

    def __init__(self, enable=True):
        self.state, self.saved_state = enable, None

    def __enter__(self):
        global _checked
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance for context nesting.")
        self.saved_state = _checked
        _checked = self.state

    def __exit__(self, type, value, traceback):
        global _checked
        if self.saved_state is None:
            raise AssertionError("saved_state should not be None on exit")
        _checked, self.saved_state = self.saved_state, None

    def __call__(self, function):
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def _check_device(device):
    kind = "cpu" if device is None else torch.device(device).type
    if kind == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if kind != "cpu":
        raise NotImplementedError(f"sparse tensors on device {kind} are not supported")


def _indices(data):
    if not isinstance(data, torch.Tensor):
        data = torch.tensor(data, dtype=torch.int64)
    return data if data.dtype == torch.int64 or data.is_sparse else data.to(torch.int64)


def _values(data, dtype, device):
    if isinstance(data, torch.Tensor):
        return data if dtype is None else data.to(dtype)
    return torch.tensor(data, dtype=dtype, device=device)


def _finish(result, requires_grad):
    """A leaf of its own where the program asks for one."""
    if not requires_grad or result.requires_grad:
        return result
    return result.requires_grad_()


def sparse_coo_tensor(*args, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None,
                      is_coalesced=None, layout=None, **named):
    """A COO tensor: ``sparse_coo_tensor(indices, values, size=None)`` or, without elements, ``sparse_coo_tensor(size)``."""
    names = ("indices", "values", "size")
    _check_device(device)
    if len(args) == 1 and not named and not isinstance(args[0], torch.Tensor) or set(named) == {"size"} and not args:
        size = args[0] if args else named["size"]
        result = torch._sparse_coo_tensor_with_dims(len(size), 0, size, dtype=dtype, layout=torch.sparse_coo, device=device)
        return _finish(result, requires_grad)
    for name, value in zip(names, args):
        if name in named:
            raise TypeError(f"sparse_coo_tensor() got multiple values for argument '{name}'")
        named[name] = value
    if len(args) > 3 or not {"indices", "values"} <= set(named) <= set(names):
        raise TypeError("sparse_coo_tensor() received an invalid combination of arguments; it takes (indices, values), (indices, values, size) or (size)")
    indices, values, size = _indices(named["indices"]), _values(named["values"], dtype, device), named.get("size")
    check = _checked if check_invariants is None else check_invariants
    if values.dim() == 0:
        values = values.reshape(1)
    if size is None:
        size = _inferred_size(indices, values)
        check = False if check_invariants is None and not _checked else check
    if check:
        torch._validate_sparse_coo_tensor_args(indices, values, size, is_coalesced)
    result = torch._sparse_coo_tensor_unsafe(indices, values, size, dtype=values.dtype, is_coalesced=is_coalesced)
    if check_invariants is None and not check and len(size) and "size" in named:
        pass
    return _finish(result, requires_grad)


def _inferred_size(indices, values):
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.is_sparse or indices.layout != torch.strided:
        raise RuntimeError(f"expected indices to be a dense tensor, but got indices of layout {_WORDS[indices.layout]}")
    dims = indices.size(0)
    if not indices.numel():
        return [0] * dims + list(values.shape[1:])
    lowest, highest = indices.amin(1), indices.amax(1)
    for d, low in enumerate(lowest.tolist()):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
    return [high + 1 for high in highest.tolist()] + list(values.shape[1:])


def _compressed(compressed, plain, values, size, dtype, layout, device, requires_grad, check_invariants):
    def indices(data):
        if isinstance(data, torch.Tensor):
            return data
        return torch.tensor(data, dtype=torch.int64)

    _check_device(device)
    compressed, plain, values = indices(compressed), indices(plain), _values(values, dtype, device)
    if size is None:
        size = _compressed_size(compressed, plain, values, layout)
    if _checked if check_invariants is None else check_invariants:
        torch._validate_sparse_compressed_tensor_args(compressed, plain, values, size, layout)
    result = torch._sparse_compressed_tensor_unsafe(compressed, plain, values, size, dtype=values.dtype, layout=layout)
    return _finish(result, requires_grad)


def _compressed_size(compressed, plain, values, layout):
    batch = compressed.dim() - 1
    blocked = layout in (torch.sparse_bsr, torch.sparse_bsc)
    block = list(values.shape[batch + 1:batch + 3]) if blocked else [1, 1]
    outer = compressed.size(-1) - 1
    inner = int(plain.max()) + 1 if plain.numel() else 0
    matrix = [outer, inner] if layout in (torch.sparse_csr, torch.sparse_bsr) else [inner, outer]
    dense = list(values.shape[batch + 1 + 2 * blocked:])
    return [*compressed.shape[:batch], matrix[0] * block[0], matrix[1] * block[1], *dense]


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None,
                             pin_memory=False, requires_grad=False, check_invariants=None):
    """A CSR, CSC, BSR or BSC tensor, as ``layout`` says."""
    if layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {_WORDS[layout] if layout else 'none'}")
    return _compressed(compressed_indices, plain_indices, values, size, dtype, layout, device, requires_grad, check_invariants)


def _maker(name, layout, compressed_name, plain_name):
    def make(*args, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, **named):
        if layout not in (None, wanted):
            raise RuntimeError(f"sparse_{kind}_tensor() expected layout {wanted} but got {layout}")
        for part, value in zip(names, args):
            if part in named:
                raise TypeError(f"{name}() got multiple values for argument '{part}'")
            named[part] = value
        if len(args) > 4 or not set(names[:3]) <= set(named) <= set(names):
            raise TypeError(f"{name}() received an invalid combination of arguments; it takes ({', '.join(names)})")
        return _compressed(*(named.get(part) for part in names), dtype, wanted, device, requires_grad, check_invariants)

    wanted, names, kind = layout, (compressed_name, plain_name, "values", "size"), name.split("_")[1]
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of layout torch.sparse_{kind}: ``{name}({', '.join(names)}=None)``."
    return make


sparse_csr_tensor = _maker("sparse_csr_tensor", torch.sparse_csr, "crow_indices", "col_indices")
sparse_csc_tensor = _maker("sparse_csc_tensor", torch.sparse_csc, "ccol_indices", "row_indices")
sparse_bsr_tensor = _maker("sparse_bsr_tensor", torch.sparse_bsr, "crow_indices", "col_indices")
sparse_bsc_tensor = _maker("sparse_bsc_tensor", torch.sparse_bsc, "ccol_indices", "row_indices")


def as_sparse_gradcheck(gradcheck):
    """A gradcheck for functions of and to sparse tensors: it checks their values, as strided tensors."""
    from kindling.sparse._gradcheck import wrapped

    return wrapped(gradcheck)


class _LegacyType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, torch.Tensor) and value.is_sparse and value.dtype is cls.dtype


def _legacy_type(name, dtype):
    """``torch.sparse.FloatTensor(indices, values, size)`` and its kin: the old constructors of COO tensors."""
    def construct(cls, *args):
        if args and isinstance(args[0], torch.Tensor):
            return sparse_coo_tensor(*args)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
        return sparse_coo_tensor(size=size, dtype=dtype)

    return _LegacyType(name, (), {"__new__": construct, "dtype": dtype, "is_cuda": False, "is_sparse": True, "layout": torch.sparse_coo,
                                  "__module__": "torch.sparse", "__doc__": f"COO tensors of {dtype}, by the old constructor."})
