"""Ready parametrisations: weight norm, spectral norm, orthogonality."""
import kindling as torch
from kindling.nn import functional as F
from kindling.nn.modules.module import Module
from kindling.nn.utils import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(Q, eps=None):
    rows, columns = Q.size(-2), Q.size(-1)
    identity = torch.eye(columns, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * rows * torch.finfo(Q.dtype).eps if eps is None else eps
    return torch.allclose(Q.mH @ Q, identity, atol=eps)


def _make_orthogonal(A):
    """The orthogonal factor of A's QR decomposition with positive diagonal."""
    X, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(X, tau)
    Q *= X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return Q


class _Orthogonal(Module):
    """Maps the lower triangle of a matrix to an orthogonal one, times a base point if use_trivialization."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        n, k = X.size(-2), X.size(-1)
        transposed = n < k
        if transposed:
            X = X.mT
            n, k = k, n
        if self.orthogonal_map == "householder":
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = torch.linalg.householder_product(A, tau)
            # The diagonal holds signs only.
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH
            if self.orthogonal_map == "matrix_exp":
                Q = torch.matrix_exp(A)
            else:
                identity = torch.eye(n, dtype=A.dtype, device=A.device)
                Q = torch.linalg.solve(torch.add(identity, A, alpha=-0.5), torch.add(identity, A, alpha=0.5))
            if n != k:
                Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def right_inverse(self, Q):
        with torch.no_grad():
            if Q.shape != self.shape:
                raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                                 f"{Q.shape}.")
            given = Q
            n, k = Q.size(-2), Q.size(-1)
            transposed = n < k
            if transposed:
                Q = Q.mT
                n, k = k, n
            if not hasattr(self, "base"):
                if self.orthogonal_map != "householder":
                    raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                              "parametrizations when use_trivialization=False.")
                # geqrf's reflections are those the forward takes; the diagonal gets the columns' signs.
                A, tau = torch.geqrf(Q)
                A.diagonal(dim1=-2, dim2=-1).sign_()
                # A reflection of no effect leaves the sign where geqrf's own convention flips it.
                A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
                return A.mT if transposed else A
            if n == k:
                Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
            else:
                # Completed to a square matrix by random columns.
                more = torch.randn(*(*Q.size()[:-2], n, n - k), dtype=Q.dtype, device=Q.device)
                Q = _make_orthogonal(torch.cat([Q, more], dim=-1))
            self.base = Q
            # Any of the maps takes minus the identity to the identity.
            start = torch.zeros_like(given)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start


def _tensor_of(module, name):
    tensor = getattr(module, name, None)
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


def orthogonal(module: "torch.nn.Module", name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> "torch.nn.Module":
    """Keeps a matrix (or batch of matrices) orthogonal, or with orthonormal rows or columns.

    orthogonal_map is "matrix_exp", "cayley" or "householder"; by default the first for square and complex matrices and
    the last for others. ValueError for another map and for a tensor that is no matrix.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = ("matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder")
    if orthogonal_map not in _ORTHOGONAL_MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
                         f"{orthogonal_map}")
    parametrize.register_parametrization(
        module, name, _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization), unsafe=True)
    return module


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: "torch.nn.Module", name: str = "weight", dim: int = 0):
    """Splits a tensor into length (original0, along `dim`; None for the whole) and direction (original1).

    Salimans and Kingma, 2016.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_old_names(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Reads what the older weight_norm saved."""
        length, direction = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if length in state_dict and direction in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(length)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(direction)

    module._register_load_state_dict_pre_hook(from_old_names)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            # A vector's norm needs no iteration.
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u = matrix.new_empty(height).normal_(0, 1)
            v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *(place for place in range(weight.dim()) if place != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix, n_power_iterations):
        """Moves _u and _v towards the first singular vectors, in place."""
        with torch.no_grad():
            for _ in range(n_power_iterations):
                self._u = F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
                self._v = F.normalize(torch.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next call changes the buffers, which a backward of this one may still need.
        u = self._u.clone(memory_format=torch.contiguous_format)
        v = self._v.clone(memory_format=torch.contiguous_format)
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module: "torch.nn.Module", name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> "torch.nn.Module":
    """Divides a tensor, taken as a matrix of `dim` against the rest, by its largest singular value.

    Miyato et al., 2018. `dim` is by default 0, and 1 for transposed convolutions.
    """
    weight = _tensor_of(module, name)
    if dim is None:
        from kindling.nn.modules.conv import _ConvTransposeNd
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
