"""``torch.functional``: functions of the top module that are written in Python over operators."""
import kindling as torch
from kindling import _C
from kindling._C import (Tensor, _has_torch_function as has_torch_function,
                         _has_torch_function_unary as has_torch_function_unary,
                         _has_torch_function_variadic as has_torch_function_variadic)

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "align_tensors", "block_diag", "broadcast_shapes", "broadcast_tensors",
           "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "norm", "meshgrid", "nonzero", "split", "stft", "tensordot",
           "unique", "unique_consecutive", "unravel_index"]


def _ask(function, relevant, *args, **kwargs):
    return _C._handle_torch_function(function, relevant, args, kwargs)


def _operator(name):
    """The operator under a name that a function here wraps."""
    value = _operators.get(name)
    if value is None:
        value = _operators[name] = _C._operator_any(name)
        if value is None:
            raise NotImplementedError(f"aten::{name} is not implemented")
    return value


_operators = {}


def _flat(tensors):
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


# ---- shapes

def broadcast_shapes(*shapes):
    """The shape that tensors of the given shapes broadcast to. RuntimeError where two sizes clash.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result = []
    for shape in shapes:
        if not isinstance(shape, (int, list, tuple, range, str, type(None))):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        shape = (shape,) if isinstance(shape, int) else tuple(shape or ())
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        for i in range(-1, -1 - len(shape), -1):
            if shape[i] < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({shape[i]}): ({shape[i]})")
            if shape[i] == 1 or shape[i] == result[i]:
                continue
            if result[i] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape: "
                                   f"dimension {len(result) + i} is {result[i]} and {shape[i]}")
            result[i] = shape[i]
    return torch.Size(result)


def broadcast_tensors(*tensors):
    """The tensors, expanded to one shape. RuntimeError where two sizes clash."""
    tensors = _flat(tensors)
    if has_torch_function(tensors):
        return _ask(broadcast_tensors, tensors, *tensors)
    return tuple(_operator("broadcast_tensors")(tensors)) if tensors else ()


def split(tensor, split_size_or_sections, dim=0):
    """Views of a tensor: pieces of one size (the last may be smaller), or of the given sizes, along ``dim``."""
    if has_torch_function_unary(tensor):
        return _ask(split, (tensor,), tensor, split_size_or_sections, dim=dim)
    return tensor.split(split_size_or_sections, dim)


def _split(tensor, split_size, dim=0):
    one = split_size.numel() == 1 if isinstance(split_size, Tensor) else hasattr(split_size, "__index__")
    return _operator("split" if one else "split_with_sizes")(tensor, split_size, dim)


def meshgrid(*tensors, indexing=None):
    """Grids of coordinates from 1-D tensors, one for each; ``indexing`` is "ij" (rows first) or "xy"."""
    tensors = _flat(tensors)
    if has_torch_function(tensors):
        return _ask(meshgrid, tensors, *tensors, indexing=indexing)
    if len(tensors) == 0:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        from kindling._common.warn import once

        once("torch.meshgrid", "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", UserWarning, 2)
        indexing = "ij"
    if not isinstance(indexing, str):
        raise TypeError(f"meshgrid(): argument 'indexing' must be str, not {type(indexing).__name__}")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}")
        if tensor.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {_like(tensor)}")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
        if tensor.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    tensors = list(tensors)
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors[0], tensors[1] = tensors[1], tensors[0]
    shape = [tensor.numel() for tensor in tensors]
    grids = []
    for i, tensor in enumerate(tensors):
        view = [1] * len(tensors)
        view[i] = -1
        grids.append(tensor.reshape(view).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _like(tensor):
    return repr(tensor)


def _need_tensors(tensors):
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}")


def _atleast(function, tensors, grow):
    if has_torch_function(tensors if not isinstance(tensors[0], (list, tuple)) else tensors[0]) if tensors else False:
        return _ask(function, tensors, *tensors)
    if len(tensors) == 1:
        tensors = tensors[0]
    if isinstance(tensors, Tensor):
        return grow(tensors)
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{function.__name__}() received an invalid combination of arguments - got ({type(tensors).__name__}), but expected one of:\n"
                        " * (Tensor input)\n * (tuple of Tensors tensors)\n")
    _need_tensors(tensors)
    return tuple(grow(tensor) for tensor in tensors)


def atleast_1d(*tensors):
    """Each tensor with at least one dimension."""
    return _atleast(atleast_1d, tensors, lambda t: t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(*tensors):
    """Each tensor with at least two dimensions."""
    return _atleast(atleast_2d, tensors, lambda t: t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t)


def atleast_3d(*tensors):
    """Each tensor with at least three dimensions."""
    return _atleast(atleast_3d, tensors, lambda t: t.reshape(1, 1, 1) if t.dim() == 0 else t.unsqueeze(0).unsqueeze(-1) if t.dim() == 1
                    else t.unsqueeze(-1) if t.dim() == 2 else t)


def block_diag(*tensors):
    """A matrix with the given matrices (or vectors, as rows) along its diagonal."""
    if has_torch_function(tensors):
        return _ask(block_diag, tensors, *tensors)
    if not tensors:
        return torch.empty(1, 0)
    _need_tensors(tensors)
    blocks = []
    for i, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {tensor.dim()} dimensions")
        blocks.append(tensor.reshape(1, -1) if tensor.dim() < 2 else tensor)
    dtype = blocks[0].dtype
    for block in blocks:
        dtype = torch.promote_types(dtype, block.dtype)
    width = sum(block.size(1) for block in blocks)
    rows, left = [], 0
    for block in blocks:
        rows.append(torch.cat([block.new_zeros((block.size(0), left), dtype=dtype), block.to(dtype),
                               block.new_zeros((block.size(0), width - left - block.size(1)), dtype=dtype)], 1))
        left += block.size(1)
    return torch.cat(rows, 0)


def cartesian_prod(*tensors):
    """All combinations of elements of 1-D tensors, one in each row."""
    if has_torch_function(tensors):
        return _ask(cartesian_prod, tensors, *tensors)
    _need_tensors(tensors)
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError("Expect a 1D vector, but got shape " + str(list(tensor.shape)))
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], 1)


def align_tensors(*tensors):
    """Named tensors are not supported: NotImplementedError."""
    raise NotImplementedError("named tensors are not supported")


def unravel_index(indices, shape):
    """Indices into a flattened tensor of ``shape`` as a tuple of indices, one for each dimension."""
    if has_torch_function_unary(indices):
        return _ask(unravel_index, (indices,), indices, shape=shape)
    if indices.is_complex() or indices.is_floating_point() or indices.dtype is torch.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence, but got {type(shape)}")
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
        if size < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    whole = torch.tensor(steps[::-1], device=indices.device, dtype=torch.int64)
    sizes = torch.tensor(shape, device=indices.device, dtype=torch.int64)
    return (indices.unsqueeze(-1).div(whole, rounding_mode="floor") % sizes).unbind(-1)


# ---- products

def einsum(*args):
    """Sums of products after the summation convention: ``torch.einsum("ij,jk->ik", a, b)``.

    Subscripts are letters, one for each dimension; ``...`` stands for dimensions that broadcast. Letters missing from
    the output are summed. RuntimeError or ValueError when subscripts and shapes do not fit.
    """
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list")
    if isinstance(args[0], Tensor):
        # einsum(a, [0, 1], b, [1, 2], [0, 2])
        def letters(subscripts):
            text = ""
            for s in subscripts:
                if s is Ellipsis:
                    text += "..."
                elif 0 <= s < 26:
                    text += chr(ord("A") + s)
                elif 26 <= s < 52:
                    text += chr(ord("a") + s - 26)
                else:
                    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
            return text
        pairs, output = (args[:-1], "->" + letters(args[-1])) if len(args) % 2 else (args, "")
        equation, operands = ",".join(map(letters, pairs[1::2])) + output, pairs[::2]
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    if has_torch_function(operands):
        return _ask(einsum, operands, equation, *operands)
    return _operator("einsum")(equation, operands)


def tensordot(a, b, dims=2, out=None):
    """Sums of products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over two lists of dimensions."""
    if has_torch_function_variadic(a, b):
        return _ask(tensordot, (a, b), a, b, dims=dims, out=out)
    counted = isinstance(dims, Tensor)   # a number in a tensor: what it is too many for says so itself
    if counted:
        if dims.numel() > 1 and len(dims) != 2:
            raise AssertionError(f"dims tensor must have size 2 in first dimension, got {len(dims)}")
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = (list(d) if isinstance(d, (list, tuple)) else [d] for d in dims)
    else:
        if not isinstance(dims, int):
            raise RuntimeError(f"tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got dims={dims}")
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if not counted and dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    return _operator("tensordot")(a, b, dims_a, dims_b, **({} if out is None else {"out": out}))


def chain_matmul(*matrices, out=None):
    """The product of matrices, in the order that takes the fewest multiplications. See :func:`torch.linalg.multi_dot`."""
    if has_torch_function(matrices):
        return _ask(chain_matmul, matrices, *matrices)
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    _need_tensors(matrices)
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"chain_matmul(): argument 'out' must be Tensor, not {type(out).__name__}")
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    if len(matrices) == 1:
        return matrices[0].clone() if out is None else out.resize_(matrices[0].shape).copy_(matrices[0])
    return torch.linalg.multi_dot(matrices) if out is None else torch.linalg.multi_dot(matrices, out=out)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Distances in the p-norm between the rows of two batches of matrices: (B, P, M) and (B, R, M) give (B, P, R)."""
    if has_torch_function_variadic(x1, x2):
        return _ask(cdist, (x1, x2), x1, x2, p=p, compute_mode=compute_mode)
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    if compute_mode not in list(modes):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _operator("cdist")(x1, x2, p, modes[compute_mode])


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of vectors or matrices: ``p`` a number, "fro" or "nuc"; over all elements when ``dim`` is None."""
    if has_torch_function_unary(input):
        return _ask(norm, (input,), input, p=p, dim=dim, keepdim=keepdim, out=out, dtype=dtype)
    extra = {} if out is None else {"out": out}
    dims = [dim] if isinstance(dim, int) else dim
    if isinstance(p, str) and not (p == "fro" and (dims is None or len(dims) <= 2)):
        return torch.linalg.matrix_norm(input, p, list(range(input.dim())) if dims is None else dims, keepdim, dtype=dtype, **extra)
    return torch.linalg.vector_norm(input, 2 if p is None or isinstance(p, str) else p, dims, keepdim, dtype=dtype, **extra)


# ---- signals

def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """Short-time Fourier transform of signals (L) or (B, L): complex (B?, N, T)."""
    if has_torch_function_unary(input):
        return _ask(stft, (input,), input, n_fft, hop_length=hop_length, win_length=win_length, window=window, center=center,
                    pad_mode=pad_mode, normalized=normalized, onesided=onesided, return_complex=return_complex,
                    align_to_window=align_to_window)
    return _operator("stft")(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
                             return_complex, align_to_window)


def istft(*args, **kwargs):
    """The signal whose :func:`stft` the input is."""
    return _operator("istft")(*args, **kwargs)


# ---- elements

def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that are not zero: (n, dim), or one tensor for each dimension."""
    if has_torch_function_unary(input):
        return _ask(nonzero, (input,), input, out=out, as_tuple=as_tuple)
    operator = _operator("nonzero")
    if out is not None:
        if as_tuple:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return operator(input, out=out)
    if not as_tuple:
        return operator(input)
    return operator(input if input.dim() else input.unsqueeze(0)).unbind(1)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements (or slices along ``dim``), with places and counts when asked for."""
    if has_torch_function_unary(input):
        return _ask(unique, (input,), input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
    if dim is not None:
        output, inverse, counts = _operator("unique_dim")(input, dim, sorted, return_inverse, return_counts)
    else:
        output, inverse, counts = _operator("_unique2")(input, sorted, return_inverse, return_counts)
    return _pick(output, inverse, counts, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices) that differ from the one before, with places and counts when asked for."""
    if has_torch_function_unary(input):
        return _ask(unique_consecutive, (input,), input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
    output, inverse, counts = _operator("unique_consecutive")(input, return_inverse, return_counts, dim)
    return _pick(output, inverse, counts, return_inverse, return_counts)


def _pick(output, inverse, counts, return_inverse, return_counts):
    if return_inverse and return_counts:
        return output, inverse, counts
    return (output, inverse) if return_inverse else (output, counts) if return_counts else output


def lu(A, pivot=True, get_infos=False, out=None):
    """LU factorisation with pivots: see :func:`torch.linalg.lu_factor`."""
    if has_torch_function_unary(A):
        return _ask(lu, (A,), A, pivot=pivot, get_infos=get_infos, out=out)
    result = torch.linalg.lu_factor_ex(A, pivot=pivot)   # of a singular matrix, too
    result = tuple(result) if get_infos else tuple(result)[:2]
    if out is None:
        return result
    for target, value in zip(out, result):
        target.resize_as_(value).copy_(value)
    return out


def _grouped_mm(self, mat2, *, offs=None, bias=None, out_dtype=None):
    """Matrix products of groups. ``offs`` (int32) has the ends of groups: of rows of a 2-D ``self``, or of columns of a 2-D ``mat2``;
    with two of them they split the dimension that is summed. Two 3-D matrices are multiplied pair by pair.

    Elements behind the last group are zero. RuntimeError for what PyTorch's has no kernel for.
    """
    a, b = self, mat2
    for name, each in (("mat_a", a), ("mat_b", b)):
        if each.dtype not in (torch.float32, torch.bfloat16, torch.float16):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {each.type().split('.')[-1].removesuffix('Tensor')}")
        if each.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    if (a.dim() == 3 and b.dim() == 3) != (offs is None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    for each in (a, b):
        if not any(step == 1 for step in each.stride()[-2:]) or any(step * each.element_size() % 16 for step in each.stride()[-2:] if step != 1):
            raise RuntimeError("strides should be multiple of 16 bytes")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype != a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        if len(a) != len(b):
            raise RuntimeError("batched dimension has to match")
        return torch.bmm(a, b)
    if offs.dtype != torch.int32:
        raise RuntimeError("Offsets have to be int32")
    if any(each.dim() == 3 and len(each) != len(offs) for each in (a, b)):
        raise RuntimeError("matrix batch sizes have to match")
    ends = offs.tolist()
    parts = [(index, slice(start, end)) for index, (start, end) in enumerate(zip([0, *ends], ends))]
    if a.dim() == 2 and b.dim() == 2:
        return torch.stack([a[:, part] @ b[part] for _, part in parts])
    last = ends[-1] if ends else 0
    if a.dim() == 2:
        rest = a.new_zeros(max(len(a) - last, 0), b.shape[-1])
        return torch.cat([*(a[part] @ b[index] for index, part in parts), rest])
    rest = a.new_zeros(a.shape[1], max(b.shape[-1] - last, 0))
    return torch.cat([*(a[index] @ b[:, part] for index, part in parts), rest], 1)
