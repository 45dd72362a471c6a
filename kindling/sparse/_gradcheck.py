"""Checks of derivatives with sparse tensors: by their values, which are strided."""
import functools

import kindling as torch

_BY_ROWS = (torch.sparse_csr, torch.sparse_bsr)
_BLOCKED = (torch.sparse_bsr, torch.sparse_bsc)


def _is_sparse(value):
    return isinstance(value, torch.Tensor) and value.layout != torch.strided


def _parts(tensor, masked):
    """The values of a tensor, and a function that makes such a tensor of values."""
    layout, shape = tensor.layout, tensor.shape
    tensor = tensor.detach()
    if not masked:      # every element counts, also those that are not there
        block = None
        if layout in _BLOCKED:
            batch = tensor.dim() - tensor.dense_dim() - tensor.sparse_dim()
            block = tensor.values().shape[batch + 1:batch + 3]
        everywhere = torch.ones(shape, dtype=torch.bool).to_sparse(layout=layout, blocksize=block, dense_dim=tensor.dense_dim())
        tensor = tensor.to_dense().sparse_mask(everywhere)
    if layout == torch.sparse_coo:
        indices, coalesced = tensor._indices(), tensor.is_coalesced()
        return tensor._values(), lambda values: torch.sparse_coo_tensor(indices, values, shape, is_coalesced=coalesced)
    rows = layout in _BY_ROWS
    compressed, plain = (tensor.crow_indices(), tensor.col_indices()) if rows else (tensor.ccol_indices(), tensor.row_indices())
    return tensor.values(), lambda values: torch.sparse_compressed_tensor(compressed, plain, values, shape, layout=layout)


def wrapped(gradcheck):
    """`gradcheck` for functions of and to sparse tensors too."""
    @functools.wraps(gradcheck)
    def check(func, inputs, **options):
        masked = bool(options.pop("masked", False))
        inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        strided, makers = [], []
        for each in inputs:
            if _is_sparse(each) and each.requires_grad:
                values, make = _parts(each, masked)
                strided.append(values.clone().requires_grad_())
                makers.append(make)
            else:
                strided.append(each)
                makers.append(None)

        def strided_output(value):
            return value.to_dense(masked_grad=masked) if _is_sparse(value) else value

        def on_values(*values):
            outputs = func(*[make(value) if make else value for make, value in zip(makers, values)])
            return tuple([strided_output(each) for each in outputs]) if isinstance(outputs, (list, tuple)) else strided_output(outputs)

        return gradcheck(on_values, tuple(strided), **options)

    return check
