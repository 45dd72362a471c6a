"""Random matrices with known properties."""
import math

import kindling as torch


def _scaled(u, s, vh):
    """u diag(s) vh."""
    return (u * s.to(u.dtype).unsqueeze(-2)) @ vh


def _options(kwargs, extra=None):
    options = {"dtype": kwargs.get("dtype", torch.double), "device": kwargs.get("device", "cpu")}
    return options if extra is None else (options, kwargs.get(extra, False))


def random_matrix(rows, columns, *batch_dims, **kwargs):
    """A matrix whose singular values lie evenly in (0, 1]; `singular=True`: with zeros among them.

    Options: dtype (float64), device, singular.
    """
    options, singular = _options(kwargs, "singular")
    matrix = torch.randn(*batch_dims, rows, columns, **options)
    if matrix.numel() == 0:
        return matrix
    u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    count = min(rows, columns)
    s = torch.linspace(1 / (count + 1), 1, count, **options)
    if singular:
        # The smallest too where there are more than two, so that pivoting has something to do.
        s[count - 1] = 0
        if count > 2:
            s[0] = 0
    return _scaled(u, s, vh)


def random_square_matrix_of_rank(l, rank, dtype=torch.double, device="cpu"):
    """A random l x l matrix of the given rank."""
    if rank > l:
        raise AssertionError(f"Expected rank <= l, got rank={rank}, l={l}")
    u, s, vh = torch.linalg.svd(torch.randn(l, l, dtype=dtype, device=device))
    s[:rank] = torch.where(s[:rank] == 0, torch.ones_like(s[:rank]), s[:rank])
    s[rank:] = 0
    return _scaled(u, s, vh)


def random_well_conditioned_matrix(*shape, dtype, device, mean=1.0, sigma=0.001):
    """A random matrix whose singular values are drawn close to `mean`."""
    real = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)
    x = torch.rand(shape, dtype=dtype, device=device)
    u, _, vh = torch.linalg.svd(x, full_matrices=False)
    s = torch.randn(*shape[:-2], min(shape[-2:]), dtype=real, device=device) * sigma + mean
    return _scaled(u, s, vh)


def random_matrix_with_scaled_reduction_dim(m, k, *batch_dims, **kwargs):
    """A random matrix divided by the root of its inner dimension, so that products keep their size."""
    return torch.randn(*batch_dims, m, k, **_options(kwargs)) / math.sqrt(k)


def random_lowrank_matrix(rank, rows, columns, *batch_dims, **kwargs):
    """A product of two random matrices, of the given rank."""
    return random_matrix(rows, rank, *batch_dims, **kwargs) @ random_matrix(rank, columns, *batch_dims, **kwargs)


def random_symmetric_matrix(l, *batches, **kwargs):
    """A random symmetric l x l matrix."""
    matrix = torch.randn(*batches, l, l, **_options(kwargs))
    return (matrix + matrix.mT).div_(2)


def random_hermitian_matrix(l, *batches, **kwargs):
    """A random Hermitian l x l matrix."""
    matrix = torch.randn(*batches, l, l, **_options(kwargs))
    return (matrix + matrix.mH).div_(2)


def random_symmetric_psd_matrix(l, *batches, **kwargs):
    """A random symmetric matrix with eigenvalues >= 0."""
    matrix = torch.randn(*batches, l, l, **_options(kwargs))
    return matrix @ matrix.mT


def random_hermitian_psd_matrix(matrix_size, *batch_dims, dtype=torch.double, device="cpu"):
    """A random Hermitian matrix with eigenvalues >= 0."""
    matrix = torch.randn(*batch_dims, matrix_size, matrix_size, dtype=dtype, device=device)
    return matrix @ matrix.mH


def random_symmetric_pd_matrix(matrix_size, *batch_dims, **kwargs):
    """A random symmetric matrix with eigenvalues > 0."""
    matrix = torch.randn(*batch_dims, matrix_size, matrix_size, **_options(kwargs))
    return matrix @ matrix.mT + torch.eye(matrix_size, **_options(kwargs)) * 1e-5


def random_hermitian_pd_matrix(matrix_size, *batch_dims, dtype, device):
    """A random Hermitian matrix with eigenvalues >= 1."""
    matrix = torch.randn(*batch_dims, matrix_size, matrix_size, dtype=dtype, device=device)
    return matrix @ matrix.mH + torch.eye(matrix_size, dtype=dtype, device=device)


def make_fullrank_matrices_with_distinct_singular_values(*shape, device, dtype, requires_grad=False):
    """Random matrices whose singular values are distinct and near 1, which keeps gradients of decompositions tame."""
    from kindling.testing import make_tensor

    u, _, vh = torch.linalg.svd(make_tensor(shape, device=device, dtype=dtype), full_matrices=False)
    real = dtype.to_real() if dtype.is_complex else dtype
    # 1 + 1/2, 1 - 1/3, 1 + 1/4, ...
    s = torch.arange(2, min(shape[-2:]) + 2, dtype=real, device=device)
    s[1::2] *= -1.0
    s.reciprocal_().add_(1.0)
    x = _scaled(u, s, vh)
    x.requires_grad_(requires_grad)
    return x


def make_symmetric_matrices(*shape, device, dtype):
    """Random symmetric matrices."""
    from kindling.testing import make_tensor

    if shape[-1] != shape[-2]:
        raise AssertionError(f"Expected shape[-1] == shape[-2], got {shape[-1]} and {shape[-2]}")
    matrix = make_tensor((*shape[:-1], shape[-1]), device=device, dtype=dtype)
    return (matrix + matrix.mT) / 2


def make_symmetric_pd_matrices(*shape, device, dtype):
    """Random symmetric matrices with eigenvalues > 0."""
    from kindling.testing import make_tensor

    if shape[-1] != shape[-2]:
        raise AssertionError(f"Expected shape[-1] == shape[-2], got {shape[-1]} and {shape[-2]}")
    matrix = make_tensor(shape, device=device, dtype=dtype)
    return matrix @ matrix.mT + torch.eye(shape[-1], device=device, dtype=dtype) * 1e-5
