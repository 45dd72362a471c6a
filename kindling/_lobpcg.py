"""Some eigenvalues of a symmetric problem ``A x = e B x``, by locally optimal block preconditioned conjugate gradients (Knyazev,
2001), with the basis kept as it comes ("basic") or made orthonormal at every step ("ortho": Duersch, Shao, Yang and Gu, 2018)."""
import kindling as torch
from kindling import _C

__all__ = ["lobpcg"]

_EPSILON = {torch.float32: 1.2e-07, torch.float64: 2.23e-16}


def _times(A, x):
    return x if A is None else A @ x


def _product(x, A, y):
    """x^H A y."""
    return x.mH @ _times(A, y)


def _eigen(M, largest):
    """Eigenvalues and vectors of a small symmetric matrix, from the wanted end on."""
    values, vectors = torch.linalg.eigh(M)
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)


def _span(x):
    """An orthonormal basis of what the columns of x span."""
    return torch.linalg.qr(x).Q


class LOBPCG:
    """One run. ``E`` and ``X`` hold the pairs, ``S`` the space that they are sought in: X, the last directions P, residuals W."""

    def __init__(self, A, B, X, iK, iparams, fparams, bparams, method, tracker):
        self.A, self.B, self.iK, self.method, self.tracker = A, B, iK, method, tracker
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        m, n = iparams["m"], iparams["n"]
        self.X = X
        self.E = torch.zeros(n, dtype=X.dtype, device=X.device)
        self.R = torch.zeros(m, n, dtype=X.dtype, device=X.device)
        self.S = torch.zeros(m, 3 * n, dtype=X.dtype, device=X.device)
        self.tvars, self.fvars, self.bvars = {}, {}, {"force_stop": False}
        self.ivars = {"istep": 0, "converged_count": 0, "iterations_left": iparams["niter"], "converged_end": 0}

    def __str__(self):
        return (f"LOBPCG:\n  iparams={self.iparams}\n  fparams={self.fparams}\n  bparams={self.bparams}\n  ivars={self.ivars}\n"
                 f"  fvars={self.fvars}\n  bvars={self.bvars}\n  tvars={self.tvars}\n  A={self.A}\n  B={self.B}\n  iK={self.iK}\n"
                 f"  X={self.X}\n  E={self.E}")

    def run(self):
        self.update()
        if self.tracker is not None:
            self.call_tracker()
        while not self.stop_iteration():
            self.update()
            if self.tracker is not None:
                self.call_tracker()

    def call_tracker(self):
        self.tracker(self)

    def stop_iteration(self):
        return self.bvars["force_stop"] or self.ivars["iterations_left"] == 0 or self.ivars["converged_count"] >= self.iparams["k"]

    def update(self):
        """One step."""
        if self.ivars["istep"] == 0:
            size = torch.norm(self.X)
            self.fvars["X_norm"] = float(size)
            self.fvars["A_norm"] = float(torch.norm(_times(self.A, self.X)) / size)
            self.fvars["B_norm"] = float(torch.norm(_times(self.B, self.X)) / size)
            self.ivars["iterations_left"] = self.iparams["niter"]
        self._start() if self.ivars["istep"] == 0 else self._step()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def _start(self):
        largest = self.bparams["largest"]
        T = self._orthonormal(self.X)
        E, Z = _eigen(_product(T, None, _product(self.X, self.A, self.X) @ T), largest)
        if self.method == "basic":  # as in PyTorch: trackers see zeros otherwise
            self.E = E
        self.X = self.X @ (T @ Z)
        self._build(self.X[:, :0])

    def _step(self):
        largest, done, n = self.bparams["largest"], self.ivars["converged_count"], self.X.shape[-1]
        S = self.S[:, done:]
        left = n - done
        if self.method == "basic":
            T = self._orthonormal(S)
            E, Z = _eigen(_product(T, None, _product(S, self.A, S) @ T), largest)
            X = S @ (T @ Z[:, :left])
            P = S @ (T @ Z[:, left:2 * left])
        else:
            E, Z = _eigen(_product(S, self.A, S), largest)
            X = S @ Z[:, :left]
            # The directions, orthogonal to the new X, that hold what of it is not in the old one.
            P = S @ (Z[:, left:] @ _span(Z[:left, left:].mH))
        self.X = torch.cat([self.X[:, :done], X], -1)
        self.E = torch.cat([self.E[:done], E[:left]])
        self._build(P)

    def _build(self, P):
        """The residuals, which pairs have converged, and the space of the next step."""
        self.R = _times(self.A, self.X) - _times(self.B, self.X) * self.E
        done = self._count_converged()
        W = _times(self.iK, self.R[:, done:])
        kept = torch.cat([self.X, P], -1)
        if self.method != "basic" and W.shape[-1]:
            W = self._orthogonal_to(W, kept)
        self.S = torch.cat([kept, W], -1)
        self.ivars["converged_end"] = self.S.shape[-1]

    def _count_converged(self):
        """How many of the first pairs have a small residual. They count one after the other, and stay."""
        before = self.ivars["converged_count"]
        scale = torch.norm(self.X, 2, (0,)) * (self.fvars["A_norm"] + torch.abs(self.E) * self.fvars["B_norm"])
        error = torch.norm(self.R, 2, (0,)) / scale
        count = 0
        for each in (error < self.fparams["tol"]).tolist():
            if not each:
                break
            count += 1
        # Those that had converged are no longer worked on; rounding may say otherwise.
        count = max(count, before)
        self.ivars["converged_count"] = count
        self.tvars["rerr"] = error
        return count

    def _orthonormal(self, S):
        """T such that ``S T`` is B-orthonormal, by a Cholesky factor of the scaled Gram matrix."""
        G = _product(S, self.B, S)
        d = G.diagonal() ** -0.5
        R = torch.linalg.cholesky(G * d * d[:, None], upper=True)
        return torch.linalg.solve_triangular(R, d.diag(), upper=True, left=False)

    def _by_eigenvalues(self, U):
        """A B-orthonormal basis of the columns of U; directions that are nothing but rounding are dropped or made larger."""
        drop, tau = self.bparams["ortho_use_drop"], self.fparams["ortho_tol_drop" if self.bparams["ortho_use_drop"] else "ortho_tol_replace"]
        if not U.numel():
            return U
        G = _product(U, self.B, U)
        d = G.diagonal()
        if drop:
            U = U[:, (d > torch.abs(d).max() * tau).nonzero()[:, 0]]
            if not U.numel():
                return U
            G = _product(U, self.B, U)
            d = G.diagonal()
        d = d.abs().clamp_min(torch.finfo(U.dtype).tiny) ** -0.5
        E, Z = torch.linalg.eigh(G * d * d[:, None])
        least = tau * torch.abs(E).max()
        if drop:
            keep = (E > least).nonzero()[:, 0]
            E, Z = E[keep], Z[:, keep]
        else:
            E = E.clamp_min(float(least))
        return U @ (d[:, None] * Z * E ** -0.5)

    def _orthogonal_to(self, U, V):
        """A B-orthonormal basis of what of U's columns is B-orthogonal to those of V, which are B-orthonormal."""
        tol = self.fparams["ortho_tol"]
        BV = _times(self.B, V)
        size = torch.norm(BV)
        U = U - V @ (BV.mH @ U)
        for outer in range(self.iparams["ortho_i_max"]):
            for inner in range(self.iparams["ortho_j_max"]):
                U = self._by_eigenvalues(U)
                if not U.numel():
                    return U
                BU = _times(self.B, U)
                error = torch.norm(U.mH @ BU - torch.eye(U.shape[-1], dtype=U.dtype, device=U.device)) / (torch.norm(U) * torch.norm(BU))
                self.ivars["ortho_i"], self.ivars["ortho_j"] = outer, inner
                self.fvars[f"ortho_UBUmI_rerr[{outer}, {inner}]"] = float(error)
                if float(error) < tol:
                    break
            across = BV.mH @ U
            error = torch.norm(across) / (size * torch.norm(U))
            self.fvars[f"ortho_VBU_rerr[{outer}]"] = float(error)
            if float(error) < tol:
                break
            m = U.shape[-2]
            if m < U.shape[-1] + V.shape[-1]:
                raise ValueError("Overdetermined shape of U: "
                                 f"#B-cols(={(self.A if self.B is None else self.B).shape[-1]}) >= #U-cols(={U.shape[-1]}) + #V-cols(={V.shape[-1]}) must hold")
            U = U - V @ across
        return U


def _check(condition, text):
    if not condition:
        raise AssertionError(text)


def _solve(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):
    _check(A.shape[-2] == A.shape[-1], f"A must be square, got shape {A.shape}")
    _check(B is None or A.shape == B.shape, f"A and B must have same shape, got {A.shape} vs {None if B is None else B.shape}")
    dtype = A.dtype if A.dtype in (torch.float16, torch.float32, torch.float64) else torch.float32
    if tol is None:
        tol = _EPSILON[dtype] ** 0.5
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
                         f"requested eigenpairs (={n})")
    method = "ortho" if method is None else method
    iparams = {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter}
    fparams, bparams = {"tol": tol}, {"largest": True if largest is None else largest}
    if method == "ortho":
        iparams.update({"ortho_i_max": 3, "ortho_j_max": 3, **(ortho_iparams or {})})
        fparams.update({"ortho_tol": tol, "ortho_tol_drop": tol, "ortho_tol_replace": tol, **(ortho_fparams or {})})
        bparams.update({"ortho_use_drop": False, **(ortho_bparams or {})})

    def run(A, B, X, **more):
        _check(X.shape == (m, n), f"X shape mismatch: got {X.shape}, expected {(m, n)}")
        worker = LOBPCG(A, B, X, iK, {**iparams, **more}, fparams, bparams, method, tracker)
        worker.run()
        return worker.E[:k], worker.X[:, :k]

    def start():
        return torch.randn((m, n), dtype=dtype, device=A.device)
    if A.dim() == 2:
        return run(A, B, start() if X is None else X)
    batch = A.shape[:-2]
    flat, flat_B, flat_X = (None if each is None else each.reshape(-1, *each.shape[-2:]) for each in (A, B, X))
    found = [run(flat[i], None if B is None else flat_B[i], start() if X is None else flat_X[i], batch_index=i) for i in range(flat.shape[0])]
    E = torch.stack([each[0] for each in found]) if found else torch.empty(0, k, dtype=dtype, device=A.device)
    V = torch.stack([each[1] for each in found]) if found else torch.empty(0, m, k, dtype=dtype, device=A.device)
    return E.reshape(*batch, k), V.reshape(*batch, m, k)


def _gradient(A, D, U, grad_D, grad_U):
    """The gradient of k eigenpairs of A: the formula of all pairs among them, and for the others' part a system for each pair."""
    inner = torch.diag_embed(grad_D if grad_D is not None else torch.zeros_like(D))
    outer = None
    if grad_U is not None:
        gap = D.unsqueeze(-2) - D.unsqueeze(-1)
        gap.diagonal(0, -2, -1).fill_(float("inf"))
        inner = inner + (U.mT @ grad_U) / gap
        onto = U @ U.mT
        eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        right = grad_U - onto @ grad_U
        # (d - A) y = right within the space of the other vectors, where d is no eigenvalue.
        systems = (D[..., None, None] * eye - A.unsqueeze(-3)) @ (eye - onto).unsqueeze(-3) + onto.unsqueeze(-3)
        solved = torch.linalg.solve(systems, right.mT.unsqueeze(-1)).squeeze(-1).mT
        outer = (solved - onto @ solved) @ U.mT
    found = U @ inner @ U.mT
    return found if outer is None else found + outer


_function = None


def _recorded():
    global _function
    if _function is None:
        class LOBPCGAutogradFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, A, k, B, *rest):
                A = A.contiguous()
                D, U = _solve(A, k, None if B is None else B.contiguous(), *rest)
                ctx.save_for_backward(A, B, D, U)
                return D, U

            @staticmethod
            def backward(ctx, grad_D, grad_U):
                A, B, D, U = ctx.saved_tensors
                if A.dtype in (torch.complex64, torch.complex128):
                    raise ValueError("lobpcg.backward does not support complex input yet.\nNote that lobpcg.forward does though.")
                if B is not None:
                    raise ValueError("lobpcg.backward does not support backward with B != I yet.")
                return (_gradient(A, D, U, grad_D, grad_U), *[None] * 13)
        _function = LOBPCGAutogradFunction
    return _function


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):
    """lobpcg(A, k=1, B=None, X=None, n=None, iK=None, niter=1000, tol=None, largest=True, method="ortho", tracker=None) -> (E, X)

    The k largest (or, with ``largest=False``, smallest) eigenvalues, and vectors, of a symmetric matrix, or of ``A x = e B x`` with
    a positive definite B. X is where to start (random columns, n of them), iK the preconditioner, an inverse of A or near to one;
    `tracker` is called with the run at each step, and may set its ``bvars["force_stop"]``. Batches are solved one after the other."""
    relevant = (A, B, X, iK)
    rest = (k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams)
    if _C._has_torch_function(relevant):
        names = "k B X n iK niter tol largest method tracker ortho_iparams ortho_fparams ortho_bparams".split()
        return _C._handle_torch_function(lobpcg, relevant, (A,), dict(zip(names, rest)))
    if A.requires_grad or B is not None and B.requires_grad:
        return _recorded().apply((A + A.mT) / 2, k, None if B is None else (B + B.mT) / 2, *rest[2:])
    return _solve(A, *rest)
