// operators/linear_algebra/factorizations.cpp: Cholesky, LU, QR and LDL, what solves with them, and Householder reflectors.
#include <cstring>

#include "operators/declare.h"
#include "operators/linear_algebra/matrices.h"

namespace kindling {
namespace {

using namespace matrices;
namespace lapack = library::lapack;

/// LAPACK's answers.
void give_infos(KernelCall& call, const Tensor& A) { call.gives(batch_of(A), DType::Int32).zeroed(); }
/// Costs of an algorithm that goes over a matrix many times.
void costs(KernelCall& call, const Tensor& A) { call.costs(16 * A.numel()); }

/// The gradient of A from that of its Cholesky factor (Murray, 2016): L^-H phi(L^H gL) L^-1, made Hermitian.
Tensor cholesky_gradient(const Tensor& given, bool upper, const Tensor& factor) {
    Tensor L = upper ? H(factor) : factor, gL = upper ? H(given) : given;
    Tensor phi = tril(matmul(H(L), gL));
    phi = add(phi, H(tril(phi, -1)));
    Tensor left = linalg_solve_triangular(H(L), phi, true);
    return mul(linalg_solve_triangular(L, left, false, false), number(0.5));
}

void raise_factor(const Array& info) {
    try {
        raise_on(info, "torch.linalg.lu_factor", Failure::Factor);
    } catch (const Error& error) { // torch: RuntimeError, not LinAlgError
        throw Error(ErrorKind::Runtime, error.what());
    }
}

/// How many matrices of which size lu_unpack takes apart.
struct Unpacking {
    int64_t count, m, n, k;
};

/// L, with ones on its diagonal, and U from their packed form; both begin as zeros.
void unpack_factors(const Unpacking& u, const char* LU, char* L, char* U, const char* one, int64_t item) {
    for (int64_t i = 0; i < u.count * u.m; i++, LU += u.n * item) {
        const int64_t row = i % u.m, lower = std::min(row, u.k);
        char* to = L + i * u.k * item;
        if (lower) std::memcpy(to, LU, static_cast<size_t>(lower * item)); // matrices without columns have no memory
        if (row >= u.k) continue;
        std::memcpy(to + row * item, one, static_cast<size_t>(item));
        std::memcpy(U + ((i / u.m * u.k + row) * u.n + row) * item, LU + row * item, static_cast<size_t>((u.n - row) * item));
    }
}
/// The permutation matrix that LAPACK's row exchanges make, of zeros before.
void check_exchange(int32_t row, int64_t rows) {
    KINDLING_CHECK(Runtime, row >= 1 && row <= rows,
                   "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?");
}
void unpack_exchanges(const Unpacking& u, const int32_t* exchange, int64_t length, char* P, const char* one, int64_t item) {
    std::vector<int64_t> order(static_cast<size_t>(u.m));
    for (int64_t b = 0; b < u.count; b++, exchange += length, P += u.m * u.m * item) {
        for (int64_t j = 0; j < u.m; j++) order[static_cast<size_t>(j)] = j;
        for (int64_t j = 0; j < std::min(length, u.m); j++) { // more exchanges than rows there cannot be
            check_exchange(exchange[j], u.m);
            std::swap(order[static_cast<size_t>(j)], order[static_cast<size_t>(exchange[j] - 1)]);
        }
        for (int64_t j = 0; j < u.m; j++) std::memcpy(P + (order[static_cast<size_t>(j)] * u.m + j) * item, one, static_cast<size_t>(item));
    }
}

/// P^H gA for A = P L U from the gradients of L's lower part and of U (Zanna et al.; the square part first).
Tensor lu_gradient(const Tensor& gL, const Tensor& gU, const Tensor& P, const Tensor& L, const Tensor& U) {
    int64_t m = L.size(-2), n = U.size(-1), k = std::min(m, n);
    Tensor L1 = narrow(L, -2, 0, k), U1 = narrow(U, -1, 0, k);
    Tensor phiL, phiU, wide, tall;
    if (gL.defined()) phiL = matmul(H(L1), narrow(gL, -2, 0, k));
    if (gU.defined()) phiU = matmul(narrow(gU, -1, 0, k), H(U1));
    if (m > k && gL.defined()) {
        Tensor L2 = narrow(L, -2, k, m - k), gL2 = narrow(gL, -2, k, m - k);
        tall = linalg_solve_triangular(H(U1), gL2, false, false);
        Tensor lost = matmul(H(L2), gL2);
        phiU = phiU.defined() ? sub(phiU, lost) : neg(lost);
    }
    if (n > k && gU.defined()) {
        Tensor U2 = narrow(U, -1, k, n - k), gU2 = narrow(gU, -1, k, n - k);
        wide = linalg_solve_triangular(H(L1), gU2, true, true, true);
        Tensor lost = matmul(gU2, H(U2));
        phiL = phiL.defined() ? sub(phiL, lost) : neg(lost);
    }
    Tensor phi = phiL.defined() ? tril(phiL, -1) : Tensor();
    if (phiU.defined()) phi = phi.defined() ? add(phi, triu(phiU)) : triu(phiU);
    Tensor left = linalg_solve_triangular(H(L1), phi, true, true, true);
    Tensor square = linalg_solve_triangular(H(U1), left, false, false);
    if (m > k) square = cat(std::vector<Tensor>{square, tall.defined() ? tall : new_zeros(square, with(batch_of(square), {m - k, k}))}, -2);
    if (n > k) square = cat(std::vector<Tensor>{square, wide.defined() ? wide : new_zeros(square, with(batch_of(square), {k, n - k}))}, -1);
    return matmul(P, square);
}

/// LAPACK follows these without looking. A negative one belongs to a block of two, and so to a pair.
void need_places(const Array& pivots, int64_t n, const char* name, bool pairs = false) {
    const int32_t* data = pivots.data_ptr<int32_t>();
    for (int64_t i = 0, at = 0; i < pivots.numel(); i++, at = i % n) {
        bool good = data[i] >= 1 && data[i] <= n;
        if (pairs && data[i] < 0 && at + 1 < n) {
            good = data[i] >= -n && data[i + 1] >= -n && data[i + 1] < 0;
            i++;
        }
        KINDLING_CHECK(Runtime, good, "%s: pivots must be between 1 and %ld inclusive, as the factorization gave them", name, n);
    }
}

struct Sides {
    bool left, adjoint;
};
struct CholeskyPlan {
    bool upper, check_errors;
};
struct Symmetry {
    bool hermitian, check_errors;
};

Sides lu_solved(KernelCall& call, const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
    need_square(LU, "torch.linalg.lu_solve", "LU");
    need_field(LU, "torch.linalg.lu_solve", "linalg.lu_solve_cpu");
    KINDLING_CHECK(Runtime, B.dtype() == LU.dtype(),
                   "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type %s and B of type %s instead",
                   scalar_type_name(LU.dtype()), scalar_type_name(B.dtype()));
    KINDLING_CHECK(Runtime, pivots.dtype() == DType::Int32, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
    need_matrix(B, "linalg.lu_solve", "B");
    KINDLING_CHECK(Runtime, pivots.dim() + 1 == LU.dim() && pivots.sizes() == batch_of(LU, 1),
                   "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix");
    KINDLING_CHECK(Runtime, LU.size(-1) == B.size(left ? -2 : -1),
                   "linalg.lu_solve: Incompatible shapes of A and B for the equation %s (%ldx%ld and %ldx%ld)", left ? "AX = B" : "XA = B",
                   LU.size(-2), LU.size(-1), B.size(-2), B.size(-1));
    const Sizes batch = broadcast_sizes(batch_of(LU), batch_of(B));
    const int64_t n = LU.size(-1);
    // x A = b is A^T x^T = b^T: the columns of x^T are the rows of x. LAPACK takes the transpose, and conjugation goes to b and x
    // where A^H is then meant.
    KernelCall::Result& X = call.gives_copy(B, with(batch, {B.size(-2), B.size(-1)}));
    if (left) X.by_columns();
    X.copied_on_the_way(left && library::lapack::solves_rows(B.dtype(), n, B.size(-1)));
    call.reads_by_columns(expand(LU, with(batch, {n, n})));
    call.reads(expand(pivots, with(batch, {n})));
    call.costs(checked_numel(X.sizes) * n);
    return {left, adjoint};
}

void conjugate(const Array& t) {
    for (int64_t i = 1; i < 2 * t.numel(); i += 2)
        if (t.dtype() == DType::Complex64) t.data_ptr<float>()[i] = -t.data_ptr<float>()[i];
        else t.data_ptr<double>()[i] = -t.data_ptr<double>()[i];
}

struct Qr {
    bool want_q;
};

Qr qr_factor(KernelCall& call, const Tensor& A, Text mode) {
    need_matrix(A, "linalg.qr");
    need_field(A, "linalg.qr", "geqrf_cpu");
    KINDLING_CHECK(Runtime, mode == "reduced" || mode == "r" || mode == "complete",
                   "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', or 'complete'",
                   std::string(mode).c_str());
    const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), width = mode == "complete" ? m : k;
    const IntList batch = batch_of(A);
    const bool want_q = mode != "r";
    call.reads_by_columns(A);
    if (want_q) call.gives(with(batch, {m, width}), A.dtype()).by_columns();
    else call.gives({0}, A.dtype());
    call.gives(with(batch, {width, n}), A.dtype()).by_columns();
    call.needs_workspace(checked_numel(with(batch, {k})) * static_cast<int64_t>(A.element_size()));
    costs(call, A);
    return {want_q};
}
constexpr auto factor_qr = [](const Qr& how, const Array& A, const Array& Q, const Array& R, Workspace tau) {
    const int64_t m = A.size(-2), n = A.size(-1), width = R.size(-2);
    if (!A.numel()) {
        if (how.want_q && Q.numel()) fill_identity(Q);
        return;
    }
    lapack::qr_all(A.dtype(), count_of(A), m, n, width, A.data(), tau.data, how.want_q ? Q.data() : nullptr, R.data());
};

/// (Walter and Lehmann, 2018; for wide matrices the square part takes what the rest passes on.)
Tensor qr_gradient(const Tensor& gQ, const Tensor& gR, const Tensor& Q, const Tensor& R, Text mode) {
    KINDLING_CHECK(Runtime, mode != "r",
                   "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') "
                   "if you are going to differentiate through linalg.qr.");
    int64_t m = Q.size(-2), n = R.size(-1), k = std::min(m, n);
    KINDLING_CHECK(Runtime, mode != "complete" || m <= n,
                   "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
    Tensor dQ = gQ, dR = gR, U = R, wide;
    if (n > m) {
        U = narrow(R, -1, 0, k);
        if (gR.defined()) {
            Tensor dV = narrow(gR, -1, k, n - k), V = narrow(R, -1, k, n - k);
            wide = matmul(Q, dV);
            // V = Q^H Y, so that Y dV^H = Q V dV^H reaches Q.
            Tensor more = matmul(Q, matmul(V, H(dV)));
            dQ = gQ.defined() ? add(gQ, more) : more;
            dR = narrow(gR, -1, 0, k);
        } else {
            wide = new_zeros(Q, with(batch_of(Q), {m, n - k}));
        }
    }
    Tensor inner;
    if (dR.defined()) inner = matmul(dR, H(U));
    if (dQ.defined()) {
        Tensor turn = matmul(H(Q), dQ);
        inner = inner.defined() ? sub(inner, turn) : neg(turn);
    }
    inner = triu(inner);
    Tensor both = add(inner, H(inner));
    both = sub(both, diag_embed(to(real(diagonals(inner)), inner.dtype())));
    Tensor total = matmul(Q, both);
    if (dQ.defined()) total = add(total, dQ);
    Tensor gradient = linalg_solve_triangular(H(U), total, false, false);
    return wide.defined() ? cat(std::vector<Tensor>{gradient, wide}, -1) : gradient;
}

// ---- reflectors: I - tau v v^H, the v below the diagonal of a geqrf result

struct Reflector {
    Tensor v, tau;
};

std::vector<Reflector> reflectors(const Tensor& input, const Tensor& tau) {
    std::vector<Reflector> list;
    int64_t m = input.size(-2), k = tau.size(-1);
    for (int64_t i = 0; i < k; i++) {
        Tensor below = narrow(narrow(input, -1, i, 1), -2, i + 1, m - i - 1);
        Tensor head = zeros(with(batch_of(input), {i + 1, 1}), input.dtype(), std::nullopt, input.device());
        if (!head.is_meta()) fill_(narrow(head, -2, i, 1), Scalar(1));
        list.push_back({cat(std::vector<Tensor>{head, below}, -2), unsqueeze(narrow(tau, -1, i, 1), -1)});
    }
    return list;
}
Tensor reflected(const Reflector& r, const Tensor& tau, const Tensor& B) { return sub(B, mul(tau, matmul(r.v, matmul(H(r.v), B)))); }

struct ReflectorGradients {
    Tensor input, tau, other;
};

/// For P_1 P_2 ... P_k B with P = I - t v v^H, where G is the gradient of the product: those of the v, the t and B.
/// `adjoint` says that the product was P_k^H ... P_1^H B.
ReflectorGradients reflector_gradients(const Tensor& input, const Tensor& tau, const Tensor& B, const Tensor& G, bool adjoint) {
    int64_t m = input.size(-2), k = tau.size(-1);
    std::vector<Reflector> list = reflectors(input, tau);
    auto at = [&](int64_t i) -> const Reflector& { return list[static_cast<size_t>(adjoint ? k - 1 - i : i)]; };
    auto factor = [&](int64_t i) { return adjoint ? conj(at(i).tau) : at(i).tau; };
    std::vector<Tensor> right(static_cast<size_t>(k) + 1);
    right[static_cast<size_t>(k)] = B;
    for (int64_t i = k; i-- > 0;) right[static_cast<size_t>(i)] = reflected(at(i), factor(i), right[static_cast<size_t>(i) + 1]);
    std::vector<Tensor> columns(static_cast<size_t>(k)), taus(static_cast<size_t>(k));
    Tensor g = G;
    for (int64_t i = 0; i < k; i++) {
        const Reflector& r = at(i);
        Tensor t = factor(i), behind = right[static_cast<size_t>(i) + 1];
        Tensor Gv = matmul(H(g), r.v), Bv = matmul(H(behind), r.v); // G^H v and B^H v
        Tensor gt = neg(matmul(H(Gv), Bv));
        Tensor gv = neg(add(mul(conj(t), matmul(g, Bv)), mul(t, matmul(behind, Gv))));
        size_t place = static_cast<size_t>(adjoint ? k - 1 - i : i);
        taus[place] = squeeze(adjoint ? conj(gt) : gt, -1);
        Tensor below = narrow(gv, -2, static_cast<int64_t>(place) + 1, m - static_cast<int64_t>(place) - 1);
        columns[place] = cat(std::vector<Tensor>{new_zeros(gv, with(batch_of(gv), {static_cast<int64_t>(place) + 1, 1})), below}, -2);
        g = reflected(r, conj(t), g);
    }
    ReflectorGradients result;
    result.other = g;
    if (k == 0) {
        result.input = zeros_like(input);
        result.tau = zeros_like(tau);
        return result;
    }
    result.tau = cat(taus, -1);
    result.input = cat(columns, -1);
    if (input.size(-1) > k)
        result.input =
            cat(std::vector<Tensor>{result.input, new_zeros(result.input, with(batch_of(result.input), {m, input.size(-1) - k}))}, -1);
    return result;
}

/// Makes a matrix Hermitian of which one triangle is given.
void mirror(const Array& of, void* matrix, bool upper) {
    const int64_t n = of.size(-1);
    auto fill = [&]<class T>(T* at, auto conjugate) {
        for (int64_t column = 0; column < n; column++)
            for (int64_t row = 0; row < column; row++) {
                T &above = at[column * n + row], &below = at[row * n + column];
                upper ? below = conjugate(above) : above = conjugate(below);
            }
    };
    switch (of.dtype()) {
    case DType::Float32: return fill(static_cast<float*>(matrix), [](float x) { return x; });
    case DType::Float64: return fill(static_cast<double*>(matrix), [](double x) { return x; });
    case DType::Complex64: return fill(static_cast<std::complex<float>*>(matrix), [](std::complex<float> x) { return std::conj(x); });
    default: return fill(static_cast<std::complex<double>*>(matrix), [](std::complex<double> x) { return std::conj(x); });
    }
}

} // namespace
} // namespace kindling

OPERATORS(factorizations) {
    // ---- Cholesky
    declare("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)")({
        doc("The Cholesky factor of Hermitian positive definite matrices, and LAPACK's answer for each"),
        flags(trait::AutocastFloat),
        kernel(
            [](KernelCall& call, const Tensor& self, bool upper, bool check_errors) {
                need_square(self, "linalg.cholesky");
                need_field(self, "linalg.cholesky", "cholesky_cpu");
                call.gives_copy(self).by_columns();
                give_infos(call, self);
                costs(call, self);
                return CholeskyPlan{upper, check_errors};
            },
            [](const CholeskyPlan& plan, const Array& L, const Array& info) {
                lapack::potrf_all(L.dtype(), plan.upper ? 'U' : 'L', count_of(L), L.size(-1), L.data(), info.data_ptr<int32_t>());
                if (plan.check_errors) raise_on(info, "linalg.cholesky_ex", Failure::NotPositive);
            }),
        derivative(
            "self", GIVEN(Tensor grad, bool upper, Tensor result0) { return cholesky_gradient(grad, upper, result0); }),
    });
    declare("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor")({
        doc("The Cholesky factor of Hermitian positive definite matrices"),
        flags(trait::AutocastFloat),
        raises_by_value(),
        composition([](const Tensor& self, bool upper) {
            auto [L, info] = linalg_cholesky_ex(self, upper);
            raise_on(info, "linalg.cholesky", Failure::NotPositive);
            return L;
        }),
        refuses("torch.linalg.cholesky(torch.zeros(2, 2))", "RuntimeError: .*not positive-definite"),
    });
    declare("cholesky(Tensor self, bool upper=False) -> Tensor")({
        doc("The Cholesky factor; new programs call linalg.cholesky"),
        out_castable(),
        flags(trait::AutocastFloat),
        raises_by_value(),
        composition([](const Tensor& self, bool upper) {
            need_square(self, "cholesky");
            need_kernel(self, "cholesky_cpu");
            auto [L, info] = linalg_cholesky_ex(self, upper);
            raise_on(info, "cholesky", Failure::NotPositive);
            return L;
        }),
    });
    declare("cholesky_inverse(Tensor self, bool upper=False) -> Tensor")({
        doc("The inverse of the matrix whose Cholesky factor is given"),
        raises_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        kernel(
            [](KernelCall& call, const Tensor& self, bool upper) {
                need_square(self, "cholesky_inverse");
                need_kernel(self, "cholesky_inverse_out_cpu");
                call.gives_copy(self).by_columns();
                call.needs_workspace(self.numel() ? count_of(self) * static_cast<int64_t>(sizeof(int32_t)) : 0);
                call.costs(self.numel() * self.size(-1));
                return upper;
            },
            [](bool upper, const Array& X, Workspace room) {
                const int64_t n = X.size(-1), count = count_of(X);
                auto* infos = room.as<int32_t>();
                for (int64_t i = 0; i < count; i++) infos[i] = lapack::potri(X.dtype(), upper ? 'U' : 'L', n, matrix_at(X, i), n);
                raise_on(infos, count, X.dim() > 2, "cholesky_inverse", Failure::Singular);
                for (int64_t i = 0; i < count; i++) mirror(X, matrix_at(X, i), upper); // LAPACK writes one triangle
            }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, bool upper, Tensor result) {
                Tensor inner = matmul(result, matmul(add(grad, H(grad)), result));
                return neg(upper ? matmul(self, inner) : matmul(inner, self));
            }),
    });
    declare("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")({
        doc("The solution X of A X = self, with A's Cholesky factor input2"),
        out_castable(),
        flags(trait::AutocastFloat),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& input2, bool upper) {
                KINDLING_CHECK(Runtime, self.dim() >= 2, "b should have at least 2 dimensions, but has %ld dimensions instead", self.dim());
                KINDLING_CHECK(Runtime, input2.dim() >= 2, "u should have at least 2 dimensions, but has %ld dimensions instead",
                               input2.dim());
                KINDLING_CHECK(Runtime, self.dtype() == input2.dtype(),
                               "Expected b and A to have the same dtype, but found b of type %s and A of type %s instead",
                               scalar_type_name(self.dtype()), scalar_type_name(input2.dtype()));
                KINDLING_CHECK(Runtime, input2.size(-1) == input2.size(-2),
                               "A must be batches of square matrices, but they are %ld by %ld matrices", input2.size(-2), input2.size(-1));
                KINDLING_CHECK(Runtime, input2.size(-1) == self.size(-2),
                               "Incompatible matrix sizes for cholesky_solve: each A matrix is %ld by %ld but each b matrix is %ld by %ld",
                               input2.size(-2), input2.size(-1), self.size(-2), self.size(-1));
                need_kernel(self, "cholesky_solve_cpu");
                const Sizes batch = broadcast_sizes(batch_of(self), batch_of(input2));
                const int64_t n = self.size(-2);
                call.reads_by_columns(expand(input2, with(batch, {n, n})));
                call.gives_copy(self, with(batch, {n, self.size(-1)})).by_columns();
                costs(call, self);
                return upper;
            },
            [](bool upper, const Array& A, const Array& X) {
                const int64_t n = X.size(-2), width = X.size(-1);
                each_matrix(count_of(X), n * n * width, [&](int64_t i) {
                    lapack::potrs(X.dtype(), upper ? 'U' : 'L', n, width, matrix_at(A, i), n, matrix_at(X, i), n);
                });
            }),
        derivative(
            "self, input2",
            GIVEN(Tensor grad, Tensor input2, bool upper, Tensor result, Wanted wanted) {
                Tensor gB = cholesky_solve(grad, input2, upper), gL;
                if (wanted[1]) {
                    Tensor inner = matmul(gB, H(result));
                    inner = add(inner, H(inner));
                    gL = neg(upper ? matmul(input2, inner) : matmul(inner, input2));
                }
                return std::make_tuple(gB, gL);
            }),
    });
    // ---- LU
    declare("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)")({
        doc("The LU factors with row exchanges, packed; the exchanges; LAPACK's answer for each"),
        raises_by_value(),
        kernel(
            [](KernelCall& call, const Tensor& A, bool pivot, bool check_errors) {
                need_matrix(A, "torch.lu_factor");
                need_kernel(A, "lu_cpu");
                KINDLING_CHECK(Runtime, pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
                call.gives_copy(A).by_columns().copied_on_the_way(lapack::factors_rows(A.dtype(), A.size(-2), A.size(-1)));
                call.gives(with(batch_of(A), {eye_size(A)}), DType::Int32);
                give_infos(call, A);
                costs(call, A);
                return check_errors;
            },
            [](bool check_errors, const Array& rows, const Array& LU, const Array& pivots, const Array& info) {
                lapack::getrf_all(LU.dtype(), count_of(LU), LU.size(-2), LU.size(-1), LU.data(), pivots.data_ptr<int32_t>(),
                                  info.data_ptr<int32_t>(), rows.data());
                if (check_errors) raise_factor(info);
            }),
        derivative(
            "A",
            GIVEN(Tensor grad, Tensor result0, Tensor result1) {
                int64_t k = eye_size(result0);
                auto [P, L, U] = lu_unpack(result0, result1);
                return lu_gradient(tril(narrow(grad, -1, 0, k), -1), triu(narrow(grad, -2, 0, k)), P, L, U);
            }),
    });
    declare("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")({
        doc("The LU factors with row exchanges, packed, and the exchanges"),
        raises_by_value(),
        composition([](const Tensor& A, bool pivot) {
            auto [LU, pivots, info] = linalg_lu_factor_ex(A, pivot);
            if (!info.is_meta()) raise_factor(Array(all_slices(info).impl()));
            return std::make_tuple(LU, pivots);
        }),
    });
    declare("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)")({
        doc("linalg_lu_factor_ex under its old name"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        composition([](const Tensor& self, bool pivot, bool) { return linalg_lu_factor_ex(self, pivot, false); }),
    });
    declare("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, "
            "Tensor L, Tensor U)")({
        doc("P, L and U from what lu_factor gave"),
        raises_by_value(GIVEN(IntList LU_data_sizes, Tensor LU_pivots, bool unpack_pivots) {
            if (!unpack_pivots) return;
            const Tensor exchanges = contiguous(LU_pivots);
            const int64_t rows = LU_data_sizes[LU_data_sizes.size() - 2];
            for (int64_t i = 0; i < exchanges.numel(); i++)
                if (i % exchanges.size(-1) < rows) check_exchange(exchanges.data_ptr<int32_t>()[i], rows);
        }),
        in(space::Torch),
        kernel(
            [](KernelCall& call, const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
                need_matrix(LU, "torch.lu_unpack", "LU_data");
                KINDLING_CHECK(Runtime, !unpack_pivots || pivots.dtype() == DType::Int32,
                               "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
                               "function is intended to be used with the output produced by torch.linalg.lu_factor");
                const Sizes batch = batch_of(LU, 2);
                const int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
                call.reads(unpack_data ? LU : Tensor());
                call.reads(unpack_pivots ? IntList(batch) == batch_of(pivots, 1) ? pivots : expand(pivots, with(batch, {pivots.size(-1)}))
                                         : Tensor());
                call.reads(ones({}, LU.dtype()));
                const Sizes none{0};
                call.on(LU.device());
                call.gives(unpack_pivots ? with(batch, {m, m}) : none, LU.dtype()).zeroed();
                call.gives(unpack_data ? with(batch, {m, k}) : none, LU.dtype()).zeroed();
                call.gives(unpack_data ? with(batch, {k, n}) : none, LU.dtype()).zeroed();
                return Unpacking{count_of(LU, 2), m, n, k};
            },
            [](const Unpacking& u, const Array& LU, const Array& pivots, const Array& one, const Array& P, const Array& L, const Array& U) {
                const auto* unit = one.data_ptr<char>();
                const auto item = static_cast<int64_t>(one.element_size());
                if (LU.defined()) unpack_factors(u, LU.data_ptr<char>(), L.data_ptr<char>(), U.data_ptr<char>(), unit, item);
                if (pivots.defined()) unpack_exchanges(u, pivots.data_ptr<int32_t>(), pivots.size(-1), P.data_ptr<char>(), unit, item);
            }),
        derivative(
            "LU_data",
            GIVEN(Tensor grad1, Tensor grad2, Tensor LU_data_shape, bool unpack_data) {
                if (!unpack_data || (!grad1.defined() && !grad2.defined())) return Tensor();
                int64_t m = LU_data_shape.size(-2), n = LU_data_shape.size(-1), k = std::min(m, n);
                Tensor total;
                if (grad1.defined()) {
                    total = tril(grad1, -1);
                    if (n > k) total = cat(std::vector<Tensor>{total, new_zeros(total, with(batch_of(total), {m, n - k}))}, -1);
                }
                if (grad2.defined()) {
                    Tensor upper = triu(grad2);
                    if (m > k) upper = cat(std::vector<Tensor>{upper, new_zeros(upper, with(batch_of(upper), {m - k, n}))}, -2);
                    total = total.defined() ? add(total, upper) : upper;
                }
                return total;
            }),
    });
    declare("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")({
        doc("A = P L U: a permutation, a lower triangle with ones on its diagonal, an upper triangle"),
        composition([](const Tensor& A, bool pivot) {
            need_matrix(A, "torch.linalg.lu");
            need_kernel(A, "lu_cpu");
            KINDLING_CHECK(Runtime, pivot, "linalg.lu: LU without pivoting is not implemented on the CPU");
            auto [LU, pivots, info] = linalg_lu_factor_ex(A, pivot);
            return lu_unpack(LU, pivots);
        }),
    });
    declare("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor")({
        doc("The solution of A X = B (X A = B if not left; A^H for A if adjoint), with A as lu_factor gave it"),
        raises_by_value(),
        kernel([](KernelCall& call, const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                  bool adjoint) { return lu_solved(call, LU, pivots, B, left, adjoint); },
               [](const Sides& how, const Array& LU, const Array& pivots, const Array& B, const Array& X) {
                   if (!X.numel()) return;
                   const int64_t n = LU.size(-1), width = X.size(how.left ? -1 : -2);
                   const char trans = how.left ? (how.adjoint ? 'C' : 'N') : (how.adjoint ? 'N' : 'T');
                   const bool through_conjugates = !how.left && how.adjoint && X.is_complex();
                   if (through_conjugates) conjugate(X);
                   need_places(pivots, n, "linalg.lu_solve");
                   lapack::getrs_all(X.dtype(), trans, count_of(LU), n, width, LU.data(), pivots.data_ptr<int32_t>(), X.data(), B.data());
                   if (through_conjugates) conjugate(X);
               }),
        derivative(
            "LU, B",
            GIVEN(Tensor grad, Tensor LU, Tensor pivots, bool left, bool adjoint, Tensor result, Wanted wanted) {
                Tensor gB = linalg_lu_solve(LU, pivots, grad, left, !adjoint), gLU;
                if (wanted[0]) {
                    Tensor gA = neg(left ? matmul(gB, H(result)) : matmul(H(result), gB));
                    if (adjoint) gA = H(gA);
                    auto [P, L, U] = lu_unpack(LU, pivots);
                    Tensor inner = matmul(H(P), gA);
                    gLU = add(tril(matmul(inner, H(U)), -1), triu(matmul(H(L), inner)));
                }
                return std::make_tuple(gLU, gB);
            }),
    });
    declare("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor")({
        doc("linalg_lu_solve with the right side first"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, const Tensor& LU, const Tensor& pivots) { return linalg_lu_solve(LU, pivots, self); }),
    });
    // ---- LDL
    declare("linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, "
            "Tensor pivots, Tensor info)")({
        doc("The LDL factors of symmetric (or Hermitian) matrices, packed; the exchanges; LAPACK's answer for each"),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& self, bool hermitian, bool check_errors) {
                need_square(self, "torch.linalg.ldl_factor_ex");
                need_field(self, "torch.linalg.ldl_factor_ex", "ldl_factor_kernel_cpu");
                call.gives_copy(self).by_columns();
                call.gives(batch_of(self, 1), DType::Int32);
                give_infos(call, self);
                return Symmetry{hermitian && self.is_complex(), check_errors};
            },
            [](const Symmetry& how, const Array& LD, const Array& pivots, const Array& info) {
                const int64_t n = LD.size(-1);
                for (int64_t i = 0; i < count_of(LD); i++) {
                    lapack::keep_triangle(false, n, n, static_cast<int64_t>(LD.element_size()), matrix_at(LD, i));
                    info.data_ptr<int32_t>()[i] =
                        lapack::sytrf(LD.dtype(), how.hermitian, 'L', n, matrix_at(LD, i), n, static_cast<int32_t*>(vector_at(pivots, i)));
                }
                if (how.check_errors) raise_on(info, "torch.linalg.ldl_factor_ex", Failure::Indefinite);
            }),
    });
    declare("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)")({
        doc("The LDL factors of symmetric (or Hermitian) matrices, packed, and the exchanges"),
        raises_by_value(),
        composition([](const Tensor& self, bool hermitian) {
            auto [LD, pivots, info] = linalg_ldl_factor_ex(self, hermitian);
            raise_on(info, "torch.linalg.ldl_factor", Failure::Indefinite);
            return std::make_tuple(LD, pivots);
        }),
    });
    declare("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor")({
        doc("The solution of A X = B, with A as ldl_factor gave it"),
        raises_by_value(),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
                need_square(LD, "torch.linalg.ldl_solve", "LD");
                need_field(LD, "torch.linalg.ldl_solve", "ldl_solve_kernel_cpu");
                KINDLING_CHECK(Runtime, B.dim() >= 2,
                               "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has %ld dimensions instead",
                               B.dim());
                KINDLING_CHECK(Runtime, LD.size(-1) == B.size(-2),
                               "linalg.ldl_solve: Incompatible shapes of A and B for the equation AX = B (%ldx%ld and %ldx%ld)",
                               LD.size(-2), LD.size(-1), B.size(-2), B.size(-1));
                KINDLING_CHECK(
                    Runtime, pivots.sizes() == batch_of(LD, 1),
                    "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape %s instead",
                    str(pivots.sizes()).c_str());
                KINDLING_CHECK(Runtime, is_integral(pivots.dtype()), "torch.linalg.ldl_solve: Expected pivots to be integers. Got %s",
                               scalar_type_name(pivots.dtype()));
                KINDLING_CHECK(
                    Runtime, LD.dtype() == B.dtype(),
                    "torch.linalg.ldl_solve: Expected LD and B to have the same dtype, but found LD of type %s and B of type %s instead",
                    scalar_type_name(LD.dtype()), scalar_type_name(B.dtype()));
                const Sizes batch = broadcast_sizes(batch_of(LD), batch_of(B));
                const int64_t n = LD.size(-1);
                call.reads_by_columns(expand(LD, with(batch, {n, n})));
                call.reads(expand(pivots, with(batch, {n})), DType::Int32);
                call.gives_copy(B, with(batch, {n, B.size(-1)})).by_columns();
                return Symmetry{hermitian && B.is_complex(), false};
            },
            [](const Symmetry& how, const Array& LD, const Array& pivots, const Array& X) {
                const int64_t n = LD.size(-1);
                need_places(pivots, n, "torch.linalg.ldl_solve", true);
                for (int64_t i = 0; i < count_of(X); i++)
                    lapack::sytrs(X.dtype(), how.hermitian, 'L', n, X.size(-1), matrix_at(LD, i), n,
                                  static_cast<int32_t*>(vector_at(pivots, i)), matrix_at(X, i), n);
            }),
    });
    // ---- QR
    declare("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)")({
        doc("A = Q R: orthonormal columns and an upper triangle"),
        flags(trait::AutocastFloat),
        kernel([](KernelCall& call, const Tensor& A, Text mode) { return qr_factor(call, A, mode); }, factor_qr),
        derivative(
            "A", GIVEN(TensorList grads, Text mode, Tensor result0,
                       Tensor result1) { return qr_gradient(grads[0], grads[1], result0, result1, mode); }),
    });
    declare("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)")({
        doc("linalg_qr, reduced if some"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, bool some) { return linalg_qr(self, some ? "reduced" : "complete"); }),
    });
    declare("geqrf(Tensor self) -> (Tensor a, Tensor tau)")({
        doc("The QR factorisation as LAPACK packs it: R above, reflectors below, and their factors"),
        out_castable(),
        flags(trait::AutocastFloat),
        derivative(
            "self",
            GIVEN(TensorList grads) {
                (void)grads;
                fail(ErrorKind::NotImplemented, "the derivative for 'geqrf' is not implemented.");
                return Tensor();
            }),
        kernel(
            [](KernelCall& call, const Tensor& self) {
                KINDLING_CHECK(Runtime, self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
                need_kernel(self, "geqrf_cpu");
                call.gives_copy(self).by_columns();
                call.gives(with(batch_of(self), {eye_size(self)}), self.dtype());
            },
            [](const Array& a, const Array& tau) {
                for (int64_t i = 0; i < count_of(a); i++)
                    lapack::geqrf(a.dtype(), a.size(-2), a.size(-1), matrix_at(a, i), a.size(-2), vector_at(tau, i));
            }),
    });
    declare("linalg_householder_product(Tensor input, Tensor tau) -> Tensor")({
        doc("The first columns of the product of Householder reflectors"),
        out_castable(),
        flags(trait::AutocastFloat),
        kernel(
            [](KernelCall& call, const Tensor& input, const Tensor& tau) {
                KINDLING_CHECK(Runtime, input.dim() >= 2, "torch.linalg.householder_product: input must have at least 2 dimensions.");
                KINDLING_CHECK(Runtime, input.size(-2) >= input.size(-1),
                               "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
                KINDLING_CHECK(Runtime, tau.dim() >= 1 && input.size(-1) >= tau.size(-1),
                               "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]");
                KINDLING_CHECK(Runtime, input.dim() - tau.dim() == 1,
                               "torch.linalg.householder_product: Expected tau to have one dimension less than input, but got tau.ndim "
                               "equal to %ld and input.ndim is equal to %ld",
                               tau.dim(), input.dim());
                KINDLING_CHECK(
                    Runtime, batch_of(tau, 1) == batch_of(input),
                    "torch.linalg.householder_product: Expected batch dimensions of tau to be equal to input.shape[:-2], but got %s",
                    str(batch_of(tau, 1)).c_str());
                KINDLING_CHECK(Runtime, tau.dtype() == input.dtype(),
                               "torch.linalg.householder_product: tau dtype %s does not match input dtype %s",
                               scalar_type_name(tau.dtype()), scalar_type_name(input.dtype()));
                need_kernel(input, "orgqr_cpu");
                call.reads(tau);
                call.gives_copy(input).by_columns();
            },
            [](const Array& tau, const Array& Q) {
                for (int64_t i = 0; i < count_of(Q); i++)
                    lapack::orgqr(Q.dtype(), Q.size(-2), Q.size(-1), tau.size(-1), matrix_at(Q, i), Q.size(-2), vector_at(tau, i));
            }),
        derivative(
            "input, tau",
            GIVEN(Tensor grad, Tensor input, Tensor tau) {
                Tensor start = expand(eye(input.size(-2), input.size(-1), input.dtype(), std::nullopt, input.device()), input.sizes());
                ReflectorGradients all = reflector_gradients(input, tau, start, grad, false);
                return std::make_tuple(all.input, all.tau);
            }),
    });
    declare("orgqr(Tensor self, Tensor input2) -> Tensor")({
        doc("linalg_householder_product under LAPACK's name"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, const Tensor& input2) { return linalg_householder_product(self, input2); }),
    });
    declare("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor")({
        doc("Q input3 (or input3 Q, or with Q^H) for the Q of a geqrf result"),
        flags(trait::AutocastFloat),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
                KINDLING_CHECK(Runtime, self.dim() >= 2, "torch.ormqr: input must have at least 2 dimensions.");
                KINDLING_CHECK(Runtime, other.dim() >= 2, "torch.ormqr: other must have at least 2 dimensions.");
                int64_t side = left ? -2 : -1;
                KINDLING_CHECK(Runtime, other.size(side) >= tau.size(-1),
                               "torch.ormqr: other.shape[%ld] must be greater than or equal to tau.shape[-1]", side);
                KINDLING_CHECK(Runtime, other.size(side) == self.size(-2), "torch.ormqr: other.shape[%ld] must be equal to input.shape[-2]",
                               side);
                KINDLING_CHECK(Runtime, self.dim() - tau.dim() == 1,
                               "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to %ld and "
                               "input.ndim is equal to %ld",
                               tau.dim(), self.dim());
                KINDLING_CHECK(Runtime, self.dim() == other.dim(),
                               "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
                               "%ld and input.ndim is equal to %ld",
                               other.dim(), self.dim());
                KINDLING_CHECK(Runtime, tau.size(-1) == std::min(other.size(side), self.size(-1)),
                               "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[%ld], input.shape[-1])", side);
                KINDLING_CHECK(Runtime, batch_of(tau, 1) == batch_of(self),
                               "torch.ormqr: Expected batch dimensions of tau to be equal to input.shape[:-2], but got %s",
                               str(batch_of(tau, 1)).c_str());
                KINDLING_CHECK(Runtime, batch_of(other) == batch_of(self),
                               "torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got %s",
                               str(batch_of(other)).c_str());
                KINDLING_CHECK(Runtime, tau.dtype() == self.dtype(),
                               "torch.ormqr: Expected input and tau to have the same dtype, but input has dtype %s and tau has dtype %s",
                               scalar_type_name(self.dtype()), scalar_type_name(tau.dtype()));
                KINDLING_CHECK(
                    Runtime, other.dtype() == self.dtype(),
                    "torch.ormqr: Expected input and other to have the same dtype, but input has dtype %s and other has dtype %s",
                    scalar_type_name(self.dtype()), scalar_type_name(other.dtype()));
                need_kernel(self, "ormqr_cpu");
                call.reads_by_columns(self);
                call.reads(tau);
                call.gives_copy(other).by_columns();
                return Sides{left, transpose};
            },
            [](const Sides& how, const Array& A, const Array& tau, const Array& C) {
                const int64_t m = C.size(-2), n = C.size(-1);
                for (int64_t i = 0; tau.size(-1) && i < count_of(C); i++)
                    lapack::ormqr(C.dtype(), how.left ? 'L' : 'R', how.adjoint ? (C.is_complex() ? 'C' : 'T') : 'N', m, n, tau.size(-1),
                                  matrix_at(A, i), A.size(-2), vector_at(tau, i), matrix_at(C, i), m);
            }),
        derivative(
            "self, input2, input3",
            GIVEN(Tensor grad, Tensor self, Tensor input2, Tensor input3, bool left, bool transpose) {
                // C Q is (Q^H C^H)^H.
                ReflectorGradients all = left ? reflector_gradients(self, input2, input3, grad, transpose)
                                              : reflector_gradients(self, input2, H(input3), H(grad), !transpose);
                return std::make_tuple(all.input, all.tau, left ? all.other : H(all.other));
            }),
    });
}
