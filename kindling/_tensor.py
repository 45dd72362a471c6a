"""Tensor's methods that are written in Python. Loaded at the first use of one; `_install` puts them into the class."""
import kindling as torch
from kindling import _C
from kindling._C import (Tensor, _has_torch_function as has_torch_function,
                         _has_torch_function_unary as has_torch_function_unary,
                         _has_torch_function_variadic as has_torch_function_variadic)

_NAMES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Byte": "uint8",
          "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Bool": "bool",
          "ComplexFloat": "complex64", "ComplexDouble": "complex128", "Float8_e4m3fn": "float8_e4m3fn", "Float8_e5m2": "float8_e5m2", "Float8_e4m3fnuz": "float8_e4m3fnuz",
          "Float8_e5m2fnuz": "float8_e5m2fnuz", "Float8_e8m0fnu": "float8_e8m0fnu", "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64"}
_TYPES = {getattr(_C, dtype): name for name, dtype in _NAMES.items()}


def _ask(function, relevant, *args, **kwargs):
    return _C._handle_torch_function(function, relevant, args, kwargs)


class _Methods:
    """What goes into Tensor."""

    def __array__(self, dtype=None, copy=None):
        if has_torch_function_unary(self):
            return _ask(Tensor.__array__, (self,), self, dtype=dtype)
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if has_torch_function_unary(self):
            return _ask(Tensor.__array_wrap__, (self,), self, array=array)
        if array.dtype == bool:
            array = array.astype("uint8")
        return torch.from_numpy(array)

    def __contains__(self, element, /):
        if has_torch_function_unary(self):
            return _ask(Tensor.__contains__, (self,), self, element)
        if isinstance(element, (Tensor, int, float, bool, complex)) or _is_numpy_number(element):
            return bool((element == self).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __complex__(self):
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return complex(self.item())

    def __copy__(self):
        if has_torch_function_unary(self):
            return _ask(Tensor.__copy__, (self,), self)
        result = self.detach()
        if type(self) is not Tensor:
            result = result.as_subclass(type(self))
        if self.requires_grad:
            result.requires_grad_()
        result.__dict__.update(self.__dict__)
        return result

    def __deepcopy__(self, memo):
        if has_torch_function_unary(self):
            return _ask(Tensor.__deepcopy__, (self,), self, memo)
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                               "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                               "see https://github.com/pytorch/pytorch/pull/103001")
        known = memo.get(id(self))
        if known is not None:
            return known
        from copy import deepcopy

        with torch.no_grad():
            if self.layout != torch.strided:
                result = self.detach().clone()
            elif self.is_meta:
                result = torch.empty_strided(self.shape, self.stride(), dtype=self.dtype, device=self.device)
            else:
                storage = self.untyped_storage().__deepcopy__(memo)
                result = torch.empty(0, dtype=self.dtype, device=self.device)
                result.set_(storage, self.storage_offset(), self.size(), self.stride())
                if self.is_conj():
                    result = result.conj()
                if self.is_neg():
                    result = torch._neg_view(result)
            if type(self) is not Tensor:
                result = result.as_subclass(type(self))
            if self.requires_grad:
                result.requires_grad_()
            memo[id(self)] = result
            if self.grad is not None:
                result.grad = self.grad.__deepcopy__(memo)
            if self.__dict__:
                result.__dict__ = deepcopy(self.__dict__, memo)
        return result

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        return _C._to_dlpack(self.clone() if copy else self)

    def __dlpack_device__(self):
        if self.device.type != "cpu":
            raise BufferError(f"Unknown device type {self.device.type} for Dlpack")
        return (1, 0)

    def __format__(self, spec):
        if has_torch_function_unary(self):
            return _ask(Tensor.__format__, (self,), self, spec)
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol):
        if has_torch_function_unary(self):
            return _ask(Tensor.__reduce_ex__, (self,), self, protocol)
        from kindling import _utils

        return _utils._reduce_tensor(self, protocol)

    def __reversed__(self):
        if has_torch_function_unary(self):
            return _ask(Tensor.__reversed__, (self,), self)
        return self if self.dim() == 0 else self.flip(0)

    def __setstate__(self, state):
        if not self.is_leaf:
            raise RuntimeError("__setstate__ can be only called on leaf Tensors")
        if len(state) == 4:
            self.set_(*state)
            return
        if len(state) == 5:
            self.data, state = state[0], (state[3], state[4], state[2])
        requires_grad, _, hooks = state
        self.requires_grad_(requires_grad)
        if hooks:
            self._backward_hooks = hooks

    def __rdiv__(self, other):
        return self.reciprocal() * other

    def __idiv__(self, other):
        return self.div_(other)

    def __div__(self, other):
        return self.div(other)

    def type(self, dtype=None, non_blocking=False, **kwargs):
        """The type's name ("torch.FloatTensor"), or the tensor with another dtype, given as dtype, type or name."""
        if has_torch_function_unary(self):
            return _ask(Tensor.type, (self,), self, dtype, non_blocking, **kwargs)
        if dtype is None:
            where = "" if self.device.type in ("cpu", "meta") else self.device.type + "."
            if self.layout != torch.strided:
                if not self.is_sparse:
                    raise RuntimeError("Unimplemented backend SparseCsrCPU")
                where += "sparse."
            return f"torch.{where}{_TYPES[self.dtype]}Tensor"
        if isinstance(dtype, str):
            kind = dtype.removeprefix("torch.").removesuffix("Tensor")
            if kind not in _NAMES:
                raise ValueError(f"invalid type: '{dtype}'")
            dtype = getattr(_C, _NAMES[kind])
        elif not isinstance(dtype, torch.dtype):
            dtype = getattr(dtype, "dtype", dtype)
        if not isinstance(dtype, torch.dtype) and dtype not in (int, float, bool, complex):
            raise TypeError("dtype must be a type, str, or dtype object")
        return self.to(dtype, non_blocking)

    def storage(self):
        """The storage with this tensor's dtype (torch.TypedStorage)."""
        if has_torch_function_unary(self):
            return _ask(Tensor.storage, (self,), self)
        return torch.TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)

    _typed_storage = storage

    def storage_type(self):
        return type(self.storage())

    def dim_order(self, ambiguity_check=False):
        """The dimensions from the outermost to the innermost in memory."""
        if has_torch_function_unary(self):
            return _ask(Tensor.dim_order, (self,), self, ambiguity_check=ambiguity_check)
        stride = self.stride()
        return tuple(sorted(range(self.dim()), key=lambda d: (-stride[d], d)))

    def apply_(self, callable):
        """Replaces each element by ``callable(element)``, in Python. CPU only."""
        if self.requires_grad:
            raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
        with torch.no_grad():
            values = [callable(value) for value in self.detach().reshape(-1).tolist()]
            self.copy_(torch.tensor(values, dtype=self.dtype).reshape(self.shape))
        return self

    def map_(self, tensor, callable):
        """Replaces each element by ``callable(element, other element)``, in Python. CPU only."""
        if self.requires_grad:
            raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
        with torch.no_grad():
            others = tensor.expand(self.shape).reshape(-1).tolist()
            values = [callable(a, b) for a, b in zip(self.detach().reshape(-1).tolist(), others)]
            self.copy_(torch.tensor(values, dtype=self.dtype).reshape(self.shape))
        return self

    def map2_(self, x, y, callable):
        """Replaces each element by ``callable(element, element of x, element of y)``, in Python. CPU only."""
        with torch.no_grad():
            xs, ys = x.expand(self.shape).reshape(-1).tolist(), y.expand(self.shape).reshape(-1).tolist()
            values = [callable(a, b, c) for a, b, c in zip(self.detach().reshape(-1).tolist(), xs, ys)]
            self.copy_(torch.tensor(values, dtype=self.dtype).reshape(self.shape))
        return self

    def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
        """See :func:`torch.norm`."""
        if has_torch_function_unary(self):
            return _ask(Tensor.norm, (self,), self, p=p, dim=dim, keepdim=keepdim, dtype=dtype)
        return torch.norm(self, p, dim, keepdim, dtype=dtype)

    def split(self, split_size, dim=0):
        """See :func:`torch.split`."""
        if has_torch_function_unary(self):
            return _ask(Tensor.split, (self,), self, split_size, dim=dim)
        from kindling.functional import _split

        return _split(self, split_size, dim)

    def nonzero(self, *, as_tuple=False):
        """The indices of the elements that are not zero: (n, dim), or one tensor for each dimension."""
        if has_torch_function_unary(self):
            return _ask(Tensor.nonzero, (self,), self, as_tuple=as_tuple)
        return torch.nonzero(self, as_tuple=as_tuple)

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """See :func:`torch.unique`."""
        if has_torch_function_unary(self):
            return _ask(Tensor.unique, (self,), self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
        return torch.unique(self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """See :func:`torch.unique_consecutive`."""
        if has_torch_function_unary(self):
            return _ask(Tensor.unique_consecutive, (self,), self, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
        return torch.unique_consecutive(self, return_inverse=return_inverse, return_counts=return_counts, dim=dim)

    def unflatten(self, dim, sizes):
        """Splits dimension ``dim`` into several, of the given sizes; one may be -1."""
        if has_torch_function_unary(self):
            return _ask(Tensor.unflatten, (self,), self, dim, sizes)
        if not sizes:
            raise RuntimeError("unflatten: sizes must be non-empty")
        if isinstance(dim, str):
            raise NotImplementedError("named tensors are not supported")
        if not -max(self.dim(), 1) <= dim < max(self.dim(), 1):
            raise IndexError(f"Dimension out of range (expected to be in range of [{-max(self.dim(), 1)}, {max(self.dim(), 1) - 1}], but got {dim})")
        dim %= max(self.dim(), 1)
        shape, sizes = list(self.shape), list(sizes)
        known = 1
        for size in sizes:
            known *= 1 if size == -1 else size
        if sizes.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if -1 in sizes and known and shape[dim] % known == 0:
            sizes[sizes.index(-1)] = shape[dim] // known
            known = shape[dim]
        if known != shape[dim]:
            raise RuntimeError(f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor")
        return self.view(shape[:dim] + sizes + shape[dim + 1:])

    def stft(self, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
             onesided=None, return_complex=None, align_to_window=None):
        """See :func:`torch.stft`."""
        return torch.stft(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window)

    def istft(self, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
              return_complex=False):
        """See :func:`torch.istft`."""
        return torch.istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)

    def lu(self, pivot=True, get_infos=False):
        """See :func:`torch.lu`."""
        return torch.lu(self, pivot, get_infos)

    def polygamma_(self, n):
        """See :func:`torch.polygamma`; in place."""
        result = torch.polygamma(n, self.clone())      # which keeps it for backward
        if not torch.can_cast(result.dtype, self.dtype):
            torch.polygamma(n, self, out=self)     # says so
        return self.copy_(result)

    def resize(self, *sizes):
        import warnings

        warnings.warn("non-inplace resize is deprecated", stacklevel=2)
        return self.clone().resize_(*sizes)

    def resize_as(self, tensor):
        return self.resize(tensor.size())

    def module_load(self, other, assign=False):
        """What load_state_dict puts in place of a parameter when swapping is on."""
        if assign:
            return other.detach()
        return self.copy_(other).detach()

    def _reduce_ex_internal(self, protocol):
        from kindling import _utils

        return _utils._reduce_plain(self)

    def to_sparse_coo(self):
        """The tensor as torch.sparse_coo."""
        return self.to_sparse()

    def to_mkldnn(self, dtype=None):
        raise RuntimeError("to_mkldnn: there is no MKL-DNN layout")

    def to_padded_tensor(self, padding, output_size=None):
        """The parts of a nested tensor one behind the other, padded. NotImplementedError for any other tensor."""
        raise NotImplementedError("Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend: the tensor is not nested")

    def is_nonzero(self):
        """Whether the one element is not zero. RuntimeError for another number of elements."""
        return torch.is_nonzero(self)

    def is_set_to(self, tensor):
        """Whether another tensor has the same memory, in the same shape."""
        return (self.untyped_storage()._cdata == tensor.untyped_storage()._cdata and self.storage_offset() == tensor.storage_offset()
                and self.shape == tensor.shape and self.stride() == tensor.stride())

    def _view_func(self, new_base, /):
        """This view made again of another base, or None if this is no view or the bases do not lie alike in memory."""
        base = self._base
        if base is None or any(getattr(base, each)() != getattr(new_base, each)() for each in ("size", "stride", "storage_offset", "is_conj", "is_neg")) \
                or base.dtype != new_base.dtype:
            return None
        if self.dtype != base.dtype:
            real, to = torch.view_as_real, self.dtype
            new_base = (real(new_base) if base.is_complex() and real(new_base).dtype == to else torch.view_as_complex(new_base)
                        if self.is_complex() and base.size()[-1:] == (2,) and self.element_size() == 2 * base.element_size() else new_base.view(to))
        again = new_base.as_strided(self.size(), self.stride(), self.storage_offset())
        again = again.conj() if self.is_conj() != again.is_conj() else again
        return again._neg_view() if self.is_neg() != again.is_neg() else again

    def is_distributed(self):
        """False."""
        return False

    def chalf(self, memory_format=torch.preserve_format):
        """The tensor in complex32."""
        return self.to(torch.complex32, memory_format=memory_format)

    def dequantize(self):
        """Itself, in float32: it is not quantised."""
        return self.to(torch.float32)

    def record_stream(self, s):
        """Refused: memory is kept for streams of devices beside the CPU."""
        raise RuntimeError("record_stream: the tensor is not on a device with streams")

    def reinforce(self, reward):
        raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead.\nSee https://pytorch.org/docs/main/distributions.html")

    def solve(self, other):
        return torch.solve(self, other)

    def lstsq(self, other):
        return torch.lstsq(self, other)

    def eig(self, eigenvectors=False):
        return torch.eig(self, eigenvectors=eigenvectors)

    def symeig(self, eigenvectors=False):
        return torch.symeig(self, eigenvectors=eigenvectors)

    @property
    def volatile(self):
        """False: recording is left out by torch.no_grad."""
        return False


def _unquantised(name):
    def refuse(self):
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: the tensor is not quantised")

    refuse.__name__, refuse.__qualname__ = name, f"_Methods.{name}"
    setattr(_Methods, name, refuse)


for _name in ("int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point", "qscheme"):
    _unquantised(_name)


def _is_numpy_number(value):
    return type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0


def _install(cls):
    """Puts the methods into Tensor, in place of what stood for them. (What a program has put there stays.)"""
    for name, value in vars(_Methods).items():
        if type(cls.__dict__.get(name)) is not _C._LazyMethod:
            continue
        if getattr(value, "__qualname__", "").startswith("_Methods."):
            value.__qualname__ = "Tensor." + value.__name__
        setattr(cls, name, value)


def _rebuild_generator(state, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    return generator.set_state(state)


def _with_device(device, function):
    import functools

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with device:
            return function(*args, **kwargs)

    return wrapper
