"""Names that torch has deprecated (they warn once, with the replacement) or removed (they say what to call instead)."""
from kindling import _C
from kindling._common.warn import once

_FUTURE = "will be removed in a future PyTorch release"


def _operator(name, module="torch"):
    found = _C._operator(module, name)
    if found is None:
        from kindling import functional
        found = getattr(functional, name)
    return found


def _old(name, text):
    function = _operator(name)

    def call(*args, **kwargs):
        once(f"torch.{name}", text, UserWarning, 2)
        return function(*args, **kwargs)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{text}\n\n{function.__doc__}"
    call.__wrapped__ = function
    return call


qr = _old("qr", f"torch.qr is deprecated in favor of torch.linalg.qr and {_FUTURE}.\nThe boolean parameter 'some' has been replaced with a string "
          "parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
cholesky = _old("cholesky", f"torch.cholesky is deprecated in favor of torch.linalg.cholesky and {_FUTURE}.\nL = torch.cholesky(A)\nshould be "
                "replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\nshould be replaced with\n"
                "U = torch.linalg.cholesky(A).mH")


def lu(A, pivot=True, get_infos=False, out=None):
    """The old form of :func:`torch.linalg.lu_factor`. Deprecated."""
    from kindling import functional

    once("torch.lu", f"torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and {_FUTURE}.\n"
         "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)", UserWarning, 2)
    return functional.lu(A, pivot, get_infos, out)


def chain_matmul(*matrices, out=None):
    """The old form of :func:`torch.linalg.multi_dot`. Deprecated."""
    from kindling import functional

    once("torch.chain_matmul", f"torch.chain_matmul is deprecated and {_FUTURE}. Use torch.linalg.multi_dot instead, which accepts a list of two or "
         "more tensors rather than multiple parameters.", UserWarning, 2)
    return functional.chain_matmul(*matrices, out=out)


_REMOVED = {
    "symeig": "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L') or L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')",
    "solve": "X = torch.linalg.solve(A, B): the arguments are reversed, and the LU factorization is torch.linalg.lu_factor's",
    "lstsq": "X = torch.linalg.lstsq(A, B).solution: the arguments are reversed, and the residuals are a field of the result",
    "eig": "L = torch.linalg.eigvals(A) or L, V = torch.linalg.eig(A), which are complex",
    "matrix_rank": "torch.linalg.matrix_rank, whose 'hermitian' was 'symmetric'",
}


def _removed(name):
    def function(*args, **kwargs):
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. torch.{name} should be replaced with {_REMOVED[name]}")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed: use {_REMOVED[name]}."
    function._absent = True
    return function


symeig, solve, lstsq, eig, matrix_rank = map(_removed, _REMOVED)
