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
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
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
    if len(tensors) == 0:
        return ()
    shape = ()
    for i, tensor in enumerate(tensors):
        try:
            shape = broadcast_shapes(shape, tensor.shape)
        except RuntimeError:
            a, b = tuple(shape), tuple(tensor.shape)
            width = max(len(a), len(b))
            at = next(d for d in range(width - 1, -1, -1) if
                      len({([1] * (width - len(s)) + list(s))[d] for s in (a, b)} - {1}) > 1)
            x, y = (([1] * (width - len(s)) + list(s))[at] for s in (a, b))
            raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {at}") from None
    return tuple(tensor.expand(shape) for tensor in tensors)


def split(tensor, split_size_or_sections, dim=0):
    """Views of a tensor: pieces of one size (the last may be smaller), or of the given sizes, along ``dim``."""
    if has_torch_function_unary(tensor):
        return _ask(split, (tensor,), tensor, split_size_or_sections, dim=dim)
    return tensor.split(split_size_or_sections, dim)


def _split(tensor, split_size, dim=0):
    if isinstance(split_size, (list, tuple)) or type(split_size).__name__ == "Size":
        return _operator("split_with_sizes")(tensor, split_size, dim)
    if isinstance(split_size, Tensor) and split_size.dim():
        return _operator("split_with_sizes")(tensor, split_size.tolist(), dim)
    try:
        return _operator("split")(tensor, int(split_size), dim)
    except (TypeError, ValueError):
        raise TypeError(f"split(): argument 'split_sizes' (position 2) must be tuple of ints, not {type(split_size).__name__}") from None


def meshgrid(*tensors, indexing=None):
    """Grids of coordinates from 1-D tensors, one for each; ``indexing`` is "ij" (rows first) or "xy"."""
    tensors = _flat(tensors)
    if has_torch_function(tensors):
        return _ask(meshgrid, tensors, *tensors, indexing=indexing)
    if len(tensors) == 0:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        from kindling._warn import once

        once("torch.meshgrid", "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", UserWarning, 2)
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for i, tensor in enumerate(tensors):
        if tensor.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {_like(tensor)}")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
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


def _atleast(function, tensors, grow):
    if has_torch_function(tensors if not isinstance(tensors[0], (list, tuple)) else tensors[0]) if tensors else False:
        return _ask(function, tensors, *tensors)
    if len(tensors) == 1:
        tensors = tensors[0]
    if isinstance(tensors, Tensor):
        return grow(tensors)
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
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence, but got {type(shape)}")
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
        if size < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    result, step = [], 1
    for size in reversed(shape):
        result.append(indices.div(step, rounding_mode="floor") % size)
        step *= size
    return tuple(reversed(result))


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
        equation = ",".join(letters(subscripts) for subscripts in args[1::2])
        if len(args) % 2 == 1:
            equation += "->" + letters(args[-1])
            operands = args[:-1:2]
            equation = ",".join(letters(subscripts) for subscripts in args[1:-1:2]) + "->" + letters(args[-1])
        else:
            operands = args[::2]
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if has_torch_function(operands):
        return _ask(einsum, operands, equation, *operands)
    native = _C._operator_any("einsum")
    if native is not None:
        return native(equation, operands)
    return _einsum(equation, operands)


def _einsum(equation, operands):
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    extra = 0
    for i, (term, operand) in enumerate(zip(terms, operands)):
        named = len(term.replace("...", ""))
        bad = [c for c in term.replace("...", "") if not c.isalpha() or not c.isascii()]
        if bad:
            raise RuntimeError(f"einsum(): invalid subscript given at index {term.index(bad[0])} in the equation string, subscripts must be in [a-zA-Z]"
                               if bad[0] != "." else f"einsum(): found '.' for operand {i} that is not part of any ellipsis")
        if "..." in term:
            extra = max(extra, operand.dim() - named)
        if ("..." not in term and named != operand.dim()) or named > operand.dim():
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) "
                               f"{'is more than' if '...' in term else 'does not match'} the number of dimensions ({operand.dim()}) for operand {i}"
                               f"{'' if '...' in term else ' and no ellipsis was given'}")
    stars = [f"*{k}" for k in range(extra)]

    def labels(term, dims):
        if "..." not in term:
            return list(term)
        before, _, after = term.partition("...")
        count = dims - len(before) - len(after)
        return list(before) + stars[extra - count:] + list(after)

    split_terms = [labels(term, operand.dim()) for term, operand in zip(terms, operands)]
    counts = {}
    for term in split_terms:
        for label in term:
            counts[label] = counts.get(label, 0) + 1
    if arrow:
        output = labels(right, len(right.replace("...", "")) + extra) if "..." in right else list(right)
        for label in output:
            if label not in counts and label[0] != "*":
                raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
            if output.count(label) > 1:
                raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    else:
        output = stars + sorted(label for label, count in counts.items() if count == 1 and label[0] != "*")
    sizes = {}
    prepared = []
    for i, (term, operand) in enumerate(zip(split_terms, operands)):
        for place, label in enumerate(term):
            size = operand.size(place)
            if sizes.setdefault(label, size) != size and size != 1:
                if sizes[label] != 1:
                    raise RuntimeError(f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast with previously seen size {sizes[label]}")
                sizes[label] = size
        term = list(term)
        for label in dict.fromkeys(term):      # a label that repeats takes the diagonal
            while term.count(label) > 1:
                first = term.index(label)
                second = term.index(label, first + 1)
                if operand.size(first) != operand.size(second):
                    raise RuntimeError(f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, "
                                       f"{operand.size(second)} != {operand.size(first)}")
                operand = operand.diagonal(0, first, second)
                term = [c for k, c in enumerate(term) if k not in (first, second)] + [label]
        prepared.append((operand, term))
    # Two at a time, from the left; a label nobody needs any more is summed on the way.
    result, term = prepared[0]
    for k in range(1, len(prepared)):
        later = set(output)
        for _, other in prepared[k + 1:]:
            later.update(other)
        result, term = _pair(result, term, *prepared[k], later)
    summed = [place for place, label in enumerate(term) if label not in output]
    if summed:
        result = result.sum(summed)
        term = [label for label in term if label in output]
    for label in output:
        if label not in term:                   # only with an ellipsis that no operand has
            result = result.unsqueeze(-1)
            term.append(label)
    return result.permute([term.index(label) for label in output])


def _pair(a, a_term, b, b_term, later):
    """One contraction, as a batched matrix product."""
    def alone(tensor, term, other):
        drop = [p for p, label in enumerate(term) if label not in other and label not in later]
        return (tensor.sum(drop), [label for label in term if label in other or label in later]) if drop else (tensor, term)

    a, a_term = alone(a, a_term, b_term)
    b, b_term = alone(b, b_term, a_term)
    size_a, size_b = dict(zip(a_term, a.shape)), dict(zip(b_term, b.shape))
    shared = [label for label in a_term if label in size_b]
    # A shared label of size 1 on one side only broadcasts: it is no contraction.
    for label in shared:
        if label not in later and size_a[label] != size_b[label]:
            if size_a[label] == 1:
                b = b.sum(b_term.index(label), keepdim=True)
                size_b[label] = 1
            else:
                a = a.sum(a_term.index(label), keepdim=True)
                size_a[label] = 1
    batch = [label for label in shared if label in later]
    summed = [label for label in shared if label not in later]
    only_a = [label for label in a_term if label not in size_b]
    only_b = [label for label in b_term if label not in size_a]
    a = a.permute([a_term.index(label) for label in batch + only_a + summed])
    b = b.permute([b_term.index(label) for label in batch + summed + only_b])
    n, m = len(batch), len(only_a)
    batch_shape = [max(size_a[label], size_b[label]) if 0 not in (size_a[label], size_b[label]) else 0 for label in batch]
    if not summed:
        a = a.reshape(list(a.shape) + [1] * len(only_b))
        b = b.reshape(list(b.shape[:n]) + [1] * m + list(b.shape[n:]))
        return a * b, batch + only_a + only_b
    shape_a = [size_a[label] for label in only_a]
    shape_b = [size_b[label] for label in only_b]
    k = 1
    for label in summed:
        k *= size_a[label]
    if batch:
        a = a.expand(batch_shape + list(a.shape[n:]))
        b = b.expand(batch_shape + list(b.shape[n:]))
    rows = columns = flat = 1
    for size in shape_a:
        rows *= size
    for size in shape_b:
        columns *= size
    for size in batch_shape:
        flat *= size
    product = torch.bmm(a.reshape(flat, rows, k), b.reshape(flat, k, columns))
    return product.reshape(batch_shape + shape_a + shape_b), batch + only_a + only_b


def tensordot(a, b, dims=2, out=None):
    """Sums of products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over two lists of dimensions."""
    if has_torch_function_variadic(a, b):
        return _ask(tensordot, (a, b), a, b, dims=dims, out=out)
    if isinstance(dims, Tensor):
        if dims.numel() > 1:
            dims = dims.tolist()
        else:
            dims = int(dims.item())
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = (list(d) if isinstance(d, (list, tuple)) else [d] for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    native = _C._operator_any("tensordot")
    if native is not None:
        return native(a, b, dims_a, dims_b) if out is None else native(a, b, dims_a, dims_b, out=out)
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    dims_a, dims_b = [d % max(a.dim(), 1) for d in dims_a], [d % max(b.dim(), 1) for d in dims_b]
    for x, y in zip(dims_a, dims_b):
        if a.size(x) == 1:
            b = b.sum(y, keepdim=True)
        elif b.size(y) == 1:
            a = a.sum(x, keepdim=True)
        elif a.size(x) != b.size(y):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.size(x)} in dim {x} and second has size {b.size(y)} in dim {y}")
    free_a, free_b = [d for d in range(a.dim()) if d not in dims_a], [d for d in range(b.dim()) if d not in dims_b]
    k = 1
    for d in dims_a:
        k *= a.size(d)
    shape = [a.size(d) for d in free_a] + [b.size(d) for d in free_b]
    rows = columns = 1
    for d in free_a:
        rows *= a.size(d)
    for d in free_b:
        columns *= b.size(d)
    result = torch.mm(a.permute(free_a + dims_a).reshape(rows, k), b.permute(dims_b + free_b).reshape(k, columns)).reshape(shape)
    return result if out is None else out.resize_(result.shape).copy_(result)


def chain_matmul(*matrices, out=None):
    """The product of matrices, in the order that takes the fewest multiplications. See :func:`torch.linalg.multi_dot`."""
    if has_torch_function(matrices):
        return _ask(chain_matmul, matrices, *matrices)
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return matrices[0]
    return torch.linalg.multi_dot(matrices) if out is None else torch.linalg.multi_dot(matrices, out=out)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Distances in the p-norm between the rows of two batches of matrices: (B, P, M) and (B, R, M) give (B, P, R)."""
    if has_torch_function_variadic(x1, x2):
        return _ask(cdist, (x1, x2), x1, x2, p=p, compute_mode=compute_mode)
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _operator("cdist")(x1, x2, p, modes[compute_mode])


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of vectors or matrices: ``p`` a number, "fro" or "nuc"; over all elements when ``dim`` is None."""
    if has_torch_function_unary(input):
        return _ask(norm, (input,), input, p=p, dim=dim, keepdim=keepdim, out=out, dtype=dtype)
    extra = {} if out is None else {"out": out}
    if p == "fro" or p is None:
        if dim is not None and not isinstance(dim, int) and len(dim) == 0:
            dim = None
        return torch.linalg.vector_norm(input, 2, dim, keepdim, dtype=dtype, **extra)
    if p == "nuc":
        return torch.linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype, **extra)
    if isinstance(p, str):
        raise RuntimeError(f'unsupported norm order "{p}": only "fro" and "nuc" are strings')
    if dim is not None and not isinstance(dim, int) and len(dim) == 0:
        dim = None
    return torch.linalg.vector_norm(input, p, dim, keepdim, dtype=dtype, **extra)


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
    result = torch.linalg.lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    result = tuple(result) if get_infos else tuple(result)[:2]
    if out is None:
        return result
    for target, value in zip(out, result):
        target.resize_as_(value).copy_(value)
    return out
