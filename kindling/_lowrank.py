"""Factorisations of low rank by random projection (Halko, Martinsson and Tropp, 2009)."""
import kindling as torch
from kindling import _C


def _transposed(A):
    return None if A is None else A.mH if A.is_complex() else A.mT


def get_approximate_basis(A, q, niter=2, M=None):
    """An orthonormal basis of q columns whose span comes near to that of ``A - M``."""
    niter = 2 if niter is None else niter
    dtype = A.dtype if A.is_floating_point() or A.is_complex() else torch.float32
    R = torch.randn(A.shape[-1], q, dtype=dtype, device=A.device)
    X = torch.matmul(A, R)
    if M is not None:
        X = X - torch.matmul(M, R)
    Q = torch.linalg.qr(X).Q
    for _ in range(niter):
        X = torch.matmul(_transposed(A), Q)
        if M is not None:
            X = X - torch.matmul(_transposed(M), Q)
        Q = torch.linalg.qr(X).Q
        X = torch.matmul(A, Q)
        if M is not None:
            X = X - torch.matmul(M, Q)
        Q = torch.linalg.qr(X).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S and V with ``A - M`` near ``U diag(S) V^H``: q singular values of a (batch of) matrices, found by random projection."""
    relevant = (A, M)
    if _C._has_torch_function(relevant):
        return _C._handle_torch_function(svd_lowrank, relevant, (A,), {"q": q, "niter": niter, "M": M})
    return _svd_lowrank(A, q, niter, M)


def _svd_lowrank(A, q=6, niter=2, M=None):
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.size())
    flipped = m < n
    if flipped:
        A = _transposed(A)
        M = _transposed(M)
    Q = get_approximate_basis(A, q, niter=niter, M=M)
    B = torch.matmul(_transposed(Q), A)
    if M is not None:
        B = B - torch.matmul(_transposed(Q), M)
    U, S, Vh = torch.linalg.svd(B, full_matrices=False)
    V = _transposed(Vh)
    U = Q.matmul(U)
    return (V, S, U) if flipped else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Principal components: :func:`svd_lowrank` of the matrix with the mean of its rows taken off."""
    if _C._has_torch_function_unary(A):
        return _C._handle_torch_function(pca_lowrank, (A,), (A,), {"q": q, "center": center, "niter": niter})
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not (q >= 0 and q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point() and not A.is_complex():
        raise ValueError(f"pca_lowrank expected real or complex floating-point input, got {A.dtype}")
    if not center:
        return _svd_lowrank(A, q, niter=niter, M=None)
    return _svd_lowrank(A - A.mean(dim=-2, keepdim=True), q, niter=niter, M=None)
