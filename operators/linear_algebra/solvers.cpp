// operators/linear_algebra/solvers.cpp: inverses, linear systems, least squares and determinants.
#include "core/batch.h"
#include "core/sparse.h"
#include "kernels/library/factors/triangle.h"
#include "operators/declare.h"
#include "operators/linear_algebra/matrices.h"

namespace kindling {
namespace {

using namespace matrices;
namespace lapack = library::lapack;

void need_fitting(const Tensor& A, const Tensor& B, bool left, const char* name) {
    KINDLING_CHECK(Runtime, left ? A.size(-2) == B.size(-2) : A.size(-1) == B.size(-1),
                   "%s: Incompatible shapes of A and B for the equation %s (%ldx%ld and %ldx%ld)", name, left ? "AX = B" : "XA = B",
                   A.size(-2), A.size(-1), B.size(-2), B.size(-1));
}

struct Triangle {
    bool upper, left, unit;
};

Triangle triangular(KernelCall& call, const Tensor& A, const Tensor& B, bool upper, bool left, bool unit) {
    need_square(A, "linalg.solve_triangular");
    need_matrix(B, "linalg.solve_triangular", "B");
    need_same(A, B, "linalg.solve_triangular");
    need_fitting(A, B, left, "linalg.solve_triangular");
    need_kernel(A, "triangular_solve_cpu");
    const Sizes batch = broadcast_sizes(batch_of(A), batch_of(B));
    // Rows one after the other are the columns of the transposed matrix: no copy is needed of one that lies either way.
    if (IntList(batch) == batch_of(A) && (A.is_contiguous() || T(A).is_contiguous())) call.reads_as_it_lies(A);
    else call.reads_by_columns(expand(A, with(batch, {A.size(-2), A.size(-1)})));
    // Systems that are solved in a copy by rows are copied on the way, lest they be turned twice.
    const int64_t n = A.size(-1), count = B.size(left ? -1 : -2);
    KernelCall::Result& X = call.gives_copy(B, with(batch, {B.size(-2), B.size(-1)}))
                                .by_columns()
                                .copied_on_the_way(library::solves_triangles(B.dtype(), n, count));
    call.costs(checked_numel(X.sizes) * n);
    return {upper, left, unit};
}
constexpr auto solve_triangular = [](const Triangle& t, const Array& A, const Array& B, const Array& X) {
    const int64_t m = X.size(-2), n = X.size(-1), k = A.size(-1);
    const bool by_rows = A.is_contiguous();
    each_matrix(count_of(X), m * n * k, [&](int64_t i) {
        lapack::trsm(X.dtype(), t.left ? 'L' : 'R', t.upper != by_rows ? 'U' : 'L', by_rows ? 'T' : 'N', t.unit ? 'U' : 'N', m, n,
                     matrix_at(A, i), k, matrix_at(X, i), m, B.defined() ? matrix_at(B, i) : nullptr);
    });
};

std::tuple<Tensor, Tensor, Tensor, Tensor> least_squares(const Tensor& self, const Tensor& b, std::optional<double> rcond,
                                                         std::optional<Text> driver) {
    KINDLING_CHECK(Runtime, self.dim() >= 2, "torch.linalg.lstsq: input must have at least 2 dimensions.");
    KINDLING_CHECK(Runtime, b.dim() >= 1, "torch.linalg.lstsq: other must have at least 1 dimension.");
    KINDLING_CHECK(Runtime, self.dim() >= b.dim() && self.dim() - b.dim() <= 1,
                   "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1");
    need_field(self, "torch.linalg.lstsq");
    KINDLING_CHECK(Runtime, self.dtype() == b.dtype(),
                   "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype %s and other's dtype %s",
                   name(self.dtype()), name(b.dtype()));
    bool vector = is_vector(self, b);
    Tensor B = vector ? unsqueeze(b, -1) : b;
    KINDLING_CHECK(Runtime, self.size(-2) == B.size(-2),
                   vector ? "torch.linalg.lstsq: input.size(-2) should match other.size(-1)"
                          : "torch.linalg.lstsq: input.size(-2) should match other.size(-2)");
    if (!vector && b.dim() < self.dim())
        broadcast_sizes(batch_of(self), {b.sizes().data(), static_cast<size_t>(self.dim() - 2)}); // PyTorch takes B's rows for a batch
    Text method = driver.value_or("gelsy");
    KINDLING_CHECK(Runtime, method == "gels" || method == "gelsy" || method == "gelsd" || method == "gelss",
                   "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
    int64_t m = self.size(-2), n = self.size(-1), width = B.size(-1), k = std::min(m, n);
    Sizes batch = broadcast_sizes(batch_of(self), batch_of(B));
    bool has_rank = method != "gels", has_values = method == "gelsd" || method == "gelss", has_residuals = m > n && method != "gelsy";
    DType dtype = self.dtype();
    // As PyTorch's library has it, but for infinities with gelss: its iteration may have no end there.
    KINDLING_CHECK(Runtime, has_values ? all_finite(Array(resolve_lazy_bits(contiguous(self)).impl())) : !true_for_any(isnan(self)),
                   "torch.linalg.lstsq: Argument %d has illegal value: the matrices have infs or NaNs", has_rank ? 4 : 5);
    KINDLING_CHECK(Runtime, !true_for_any(isnan(b)), "torch.linalg.lstsq: Argument %d has illegal value: the right sides have NaNs",
                   has_rank ? 6 : 7);
    // LAPACK's answer takes the place of b, which therefore has room for max(m, n) rows.
    Tensor A = by_columns(self, batch, dtype), X = empty_by_columns(batch, std::max(m, n), width, dtype);
    if (X.numel()) X.zero_();
    if (m) copy_into(narrow(X, -2, 0, m), resolve_lazy_bits(B));
    const IntList ranked = checked_numel(batch) ? IntList(batch) : batch_of(self); // of no matrices those that A has, as in PyTorch
    Tensor rank = has_rank ? zeros(ranked, DType::Int64) : make_tensor({0}, DType::Int64);
    Tensor values = has_values ? zeros(with(batch, {k}), to_real(dtype)) : make_tensor({0}, to_real(dtype));
    Tensor info = zeros(batch, DType::Int32);
    double limit = rcond.value_or((dtype == DType::Float32 || dtype == DType::Complex64 ? 1.1920928955078125e-07 : 2.220446049250313e-16) *
                                  static_cast<double>(std::max(m, n)));
    int64_t count = m && n ? count_of(A) : 0;
    Tensor pivots = zeros({std::max<int64_t>(n, 1)}, DType::Int32);
    for (int64_t i = 0; i < count; i++) {
        int32_t found = 0;
        int code;
        if (method == "gels") code = lapack::gels(dtype, 'N', m, n, width, matrix_at(A, i), m, matrix_at(X, i), std::max(m, n));
        else if (method == "gelsy") {
            pivots.zero_();
            code = lapack::gelsy(dtype, m, n, width, matrix_at(A, i), m, matrix_at(X, i), std::max(m, n), pivots.data_ptr<int32_t>(), limit,
                                 &found);
        } else if (method == "gelsd")
            code =
                lapack::gelsd(dtype, m, n, width, matrix_at(A, i), m, matrix_at(X, i), std::max(m, n), vector_at(values, i), limit, &found);
        else
            code =
                lapack::gelss(dtype, m, n, width, matrix_at(A, i), m, matrix_at(X, i), std::max(m, n), vector_at(values, i), limit, &found);
        info.data_ptr<int32_t>()[i] = code;
        if (has_rank) rank.data_ptr<int64_t>()[i] = found;
    }
    raise_on(info, "torch.linalg.lstsq", Failure::LeastSquares);
    Tensor residuals = make_tensor({0}, to_real(dtype));
    bool full = !has_rank || n == 0 || all(eq(rank, Scalar(n))).item<bool>();
    // What the orthogonal factor left below the solution is the residual; of a vector, too, one for each column.
    if (has_residuals && full) residuals = sum(square(abs(narrow(X, -2, n, m - n))), IntList({-2}));
    for (int64_t dim = 0; has_rank && dim < self.dim() - 2; dim++) // of a matrix that is broadcast once
        for (Tensor* each : {&rank, &values})
            if ((has_values || each == &rank) && self.size(dim) < each->size(dim)) *each = narrow(*each, dim, 0, 1);
    Tensor solution = narrow(X, -2, 0, n);
    if (vector) solution = squeeze(solution, -1);
    return {contiguous(solution), residuals, contiguous(rank), contiguous(values)};
}

/// -1 where LAPACK made an odd number of exchanges, else 1.
Tensor exchange_sign(const Tensor& pivots, DType dtype) {
    Tensor here = arange(Scalar(1), Scalar(pivots.size(-1) + 1), DType::Int32, std::nullopt, pivots.device());
    Tensor odd = remainder(sum(ne(pivots, here), IntList({-1})), wrap_number(Scalar(2)));
    return to(rsub(mul(odd, wrap_number(Scalar(2))), wrap_number(Scalar(1))), dtype);
}

/// The gradient of determinants of which some are 0, whose matrices have no inverse but an adjugate: by their singular values.
Tensor adjugates(const Tensor& A, const Tensor& right, const Tensor& grad, const Tensor& singular) {
    auto [U, S, Vh] = linalg_svd(A, false);
    const int64_t n = A.size(-1);
    Tensor alpha = mul(conj(mul(linalg_det(U), linalg_det(Vh))), grad), one = ones(with(batch_of(A), {1}), S.dtype());
    Tensor before = cumprod(cat(std::vector<Tensor>{one, narrow(S, -1, 0, n - 1)}, -1), -1);
    Tensor after = flip(cumprod(cat(std::vector<Tensor>{one, flip(narrow(S, -1, 1, n - 1), {-1})}, -1), -1), {-1});
    Tensor found = matmul(mul(U, unsqueeze(mul(unsqueeze(alpha, -1), mul(before, after)), -2)), Vh);
    // The others are solved for, with the identity where there is no solution.
    Tensor which = unsqueeze(unsqueeze(singular, -1), -1);
    Tensor solvable = where(which, eye(n, A.dtype(), std::nullopt, A.device()), H(A));
    return where(which, found, linalg_solve(solvable, right));
}

} // namespace
} // namespace kindling

OPERATORS(solvers) {
    // ---- inverse
    declare("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)")({
        doc("The inverses of matrices, and LAPACK's answer for each"),
        flags(trait::AutocastFloat),
        kernel(
            [](KernelCall& call, const Tensor& A, bool check_errors) {
                need_square(A, "linalg.inv");
                need_field(A, "linalg.inv");
                call.gives_copy(A).by_columns().copied_on_the_way(lapack::factors_rows(A.dtype(), A.size(-2), A.size(-1)));
                call.gives(batch_of(A), DType::Int32).zeroed();
                call.needs_workspace(checked_numel(batch_of(A, 1)) * static_cast<int64_t>(sizeof(int32_t)));
                call.costs(16 * A.numel());
                return check_errors;
            },
            [](bool check_errors, const Array& rows, const Array& X, const Array& info, Workspace exchanges) {
                lapack::invert_all(X.dtype(), count_of(X), X.size(-1), X.data(), exchanges.as<int32_t>(), info.data_ptr<int32_t>(),
                                   rows.data());
                if (check_errors) raise_on(info, "linalg.inv_ex", Failure::Singular);
            }),
        derivative(
            "A", GIVEN(Tensor grad, Tensor result0) { return neg(matmul(H(result0), matmul(grad, H(result0)))); }),
    });
    declare("linalg_inv(Tensor A) -> Tensor")({
        doc("The inverses of matrices"),
        flags(trait::AutocastFloat),
        raises_by_value(),
        composition([](const Tensor& A) {
            auto [inverse, info] = linalg_inv_ex(A);
            raise_on(info, "linalg.inv", Failure::Singular);
            return inverse;
        }),
        example("torch.linalg.inv(torch.eye(3) * 2)"),
    });
    declare("inverse(Tensor self) -> Tensor")({
        doc("The inverses of matrices"),
        flags(trait::AutocastFloat),
        raises_by_value(),
        composition([](const Tensor& self) { return linalg_inv(self); }),
    });
    // ---- systems
    declare("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, "
            "Tensor pivots, Tensor info)")({
        doc("The solution of A X = B (X A = B if not left), with the factors it was found by"),
        has_out(),
        in(space::Torch),
        composition([](const Tensor& A, const Tensor& B, bool left, bool check_errors) {
            need_square(A, "linalg.solve");
            need_field(A, "linalg.solve", "lu_cpu");
            need_same(A, B, "linalg.solve");
            bool vector = is_vector(A, B);
            KINDLING_CHECK(Runtime, left || !vector,
                           "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
                           "linalg.solve is equivalent to B / A.squeeze(-1)");
            Tensor columns = vector ? unsqueeze(B, -1) : B;
            need_fitting(A, columns, left, "linalg.solve");
            auto [LU, pivots, info] = linalg_lu_factor_ex(A);
            if (check_errors) raise_on(info, "torch.linalg.solve_ex", Failure::Solver);
            Tensor X = linalg_lu_solve(LU, pivots, columns, left);
            return std::make_tuple(vector ? squeeze(X, -1) : X, LU, pivots, info);
        }),
        derivative(
            "A, B",
            GIVEN(Tensor grad, Tensor A, Tensor B_shape, bool left, Tensor result0, Tensor result1, Tensor result2, Wanted wanted) {
                bool vector = is_vector(A, B_shape);
                Tensor g = vector ? unsqueeze(grad, -1) : grad, X = vector ? unsqueeze(result0, -1) : result0, gA;
                // The factors are at hand, but only A leads back to itself when this is differentiated again.
                Tensor gB = differentiates_again() ? linalg_solve(H(A), g, left) : linalg_lu_solve(result1, result2, g, left, true);
                if (wanted[0]) gA = neg(left ? matmul(gB, H(X)) : matmul(H(X), gB));
                return std::make_tuple(gA, vector ? squeeze(gB, -1) : gB);
            }),
    });
    declare("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)")({
        doc("The solution of A X = B, and LAPACK's answer for each"),
        composition([](const Tensor& A, const Tensor& B, bool left, bool check_errors) {
            auto [X, LU, pivots, info] = _linalg_solve_ex(A, B, left, check_errors);
            return std::make_tuple(X, info);
        }),
    });
    declare("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")({
        doc("The solution of A X = B (X A = B if not left)"),
        flags(trait::AutocastFloat),
        raises_by_value(),
        composition([](const Tensor& A, const Tensor& B, bool left) {
            auto [X, LU, pivots, info] = _linalg_solve_ex(A, B, left, false);
            raise_on(info, "torch.linalg.solve", Failure::Solver);
            return X;
        }),
        refuses("torch.linalg.solve(torch.eye(2), torch.ones(3, 2))", "RuntimeError: linalg.solve: Incompatible shapes"),
    });
    declare("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor")({
        doc("The solution of A X = B (X A = B if not left) for a triangular A"),
        kernel([](KernelCall& call, const Tensor& self, const Tensor& B, bool upper, bool left,
                  bool unitriangular) { return triangular(call, self, B, upper, left, unitriangular); },
               solve_triangular),
        derivative(
            "self, B",
            GIVEN(Tensor grad, Tensor self, bool upper, bool left, bool unitriangular, Tensor result, Wanted wanted) {
                Tensor gB = linalg_solve_triangular(H(self), grad, !upper, left, unitriangular), gA;
                if (wanted[0]) {
                    gA = neg(left ? matmul(gB, H(result)) : matmul(H(result), gB));
                    gA = upper ? triu(gA, unitriangular ? 1 : 0) : tril(gA, unitriangular ? -1 : 0);
                }
                return std::make_tuple(gA, gB);
            }),
    });
    declare("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
            "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)")({
        doc("The solution of A X = self for a triangular A, and a copy of A"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular) {
            KINDLING_CHECK(Runtime, self.dim() >= 2,
                           "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has %ld dimensions instead",
                           self.dim());
            KINDLING_CHECK(Runtime, A.dim() >= 2,
                           "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has %ld dimensions instead", A.dim());
            need_square(A, "triangular_solve");
            KINDLING_CHECK(Runtime, A.size(-1) == self.size(-2),
                           "Incompatible matrix sizes for triangular_solve: each A matrix is %ld by %ld but each b matrix is %ld by %ld",
                           A.size(-1), A.size(-1), self.size(-2), self.size(-1));
            if (is_sparse(A) || is_sparse(self))
                return std::make_tuple(_sparse_triangular_solve(self, A, upper, transpose, unitriangular), make_tensor({0}, A.dtype()));
            Tensor solution = transpose ? linalg_solve_triangular(T(A), self, !upper, true, unitriangular)
                                        : linalg_solve_triangular(A, self, upper, true, unitriangular);
            Sizes batch = broadcast_sizes(batch_of(self), batch_of(A));
            return std::make_tuple(solution, clone(expand(A, with(batch, {A.size(-2), A.size(-1)}))));
        }),
    });
    declare("linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
            "Tensor residuals, Tensor rank, Tensor singular_values)")({
        doc("The least squares solution of A X = B: with residuals, rank and singular values where the driver finds them"),
        raises_by_value(),
        shape_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        slice_by_slice(),
        composition([](const Tensor& self, const Tensor& b, std::optional<double> rcond, std::optional<Text> driver) {
            return least_squares(self, b, rcond, driver);
        }),
        derivative(
            "self, b",
            GIVEN(Tensor grad0, Tensor grad1, Tensor self, Tensor b, Tensor result0, Wanted wanted) {
                // X = pinv(A) B, and the residual is r = A X - B, orthogonal to A's columns.
                bool vector = is_vector(self, b);
                Tensor B = vector ? unsqueeze(b, -1) : b, X = vector ? unsqueeze(result0, -1) : result0, gA, gB;
                if (grad0.defined()) {
                    Tensor g = vector ? unsqueeze(grad0, -1) : grad0, P = linalg_pinv(self);
                    gB = matmul(H(P), g);
                    if (wanted[0]) {
                        Tensor r = sub(B, matmul(self, X)), w = matmul(P, gB);
                        gA = sub(matmul(r, H(w)), matmul(gB, H(X)));
                        if (self.size(-2) < self.size(-1)) gA = add(gA, matmul(matmul(H(P), X), H(sub(g, matmul(P, matmul(self, g))))));
                    }
                }
                if (grad1.defined() && grad1.numel()) {
                    Tensor weight = unsqueeze(grad1, -2);
                    Tensor r = mul(mul(sub(matmul(self, X), B), weight), number(2));
                    gB = gB.defined() ? sub(gB, r) : neg(r);
                    if (wanted[0]) gA = gA.defined() ? add(gA, matmul(r, H(X))) : matmul(r, H(X));
                }
                return std::make_tuple(gA, vector && gB.defined() ? squeeze(gB, -1) : gB);
            }),
    });
    // ---- determinants
    declare("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")({
        doc("Determinants, with the factors they were found by"),
        has_out(),
        in(space::Torch),
        composition([](const Tensor& A) {
            need_square(A, "linalg.det");
            need_field(A, "linalg.det", "lu_cpu");
            auto [LU, pivots, info] = linalg_lu_factor_ex(A);
            Tensor result = mul(prod(diagonals(LU), -1), exchange_sign(pivots, A.dtype()));
            return std::make_tuple(result, LU, pivots);
        }),
        derivative(
            "A",
            GIVEN(Tensor grad, Tensor A, Tensor result0, Tensor result1, Tensor result2) {
                if (A.size(-1) == 1) return reshape(grad, A.sizes()); // the element itself
                // The solution of A^H X = det^* g I, with zeros on U's diagonal nudged off, as torch does.
                Tensor scale = unsqueeze(mul(grad, conj(result0)), -1);
                Tensor right = diag_embed(expand(scale, batch_of(A, 1)));
                double epsilon = to_real(A.dtype()) == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
                if (differentiates_again()) { // to be differentiated again
                    Tensor singular = lt(abs(result0), Scalar(100 * epsilon));
                    if (!singular.is_meta() && true_for_any(singular))
                        return adjugates(A, right, mul(grad, ones(batch_of(A), grad.dtype())), singular);
                    return linalg_solve(H(A), right);
                }
                Tensor D = diagonals(result1);
                Tensor nudged = add(result1, diag_embed(where(eq(D, Scalar(0)), wrap_number(Scalar(epsilon)), wrap_number(Scalar(0.0)))));
                return linalg_lu_solve(to(nudged, A.dtype()), result2, right, true, true);
            }),
    });
    declare("linalg_det(Tensor A) -> Tensor")({
        doc("Determinants"),
        composition([](const Tensor& A) { return std::get<0>(_linalg_det(A)); }),
    });
    declare("det(Tensor self) -> Tensor")({
        doc("Determinants"),
        no_out(),
        composition([](const Tensor& self) { return linalg_det(self); }),
    });
    declare("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)")({
        doc("Signs and logarithms of absolute values of determinants, with the factors they were found by"),
        has_out(),
        in(space::Torch),
        composition([](const Tensor& A) {
            need_square(A, "linalg.slogdet");
            need_field(A, "linalg.slogdet");
            auto [LU, pivots, info] = linalg_lu_factor_ex(A);
            Tensor D = diagonals(LU);
            Tensor sign = mul(prod(sgn(D), -1), exchange_sign(pivots, A.dtype()));
            return std::make_tuple(sign, sum(log(abs(D)), IntList({-1})), LU, pivots);
        }),
        derivative(
            "A",
            GIVEN(Tensor grad0, Tensor grad1, Tensor A, Tensor result0, Tensor result2, Tensor result3) {
                // d log|det| is Re of the trace of A^-1 dA; the sign turns with its imaginary part.
                Tensor scale;
                if (grad1.defined()) scale = to(grad1, A.dtype());
                if (A.is_complex() && grad0.defined()) {
                    Tensor turn = neg(imag(mul(conj(grad0), result0)));
                    Tensor side = complex(zeros_like(turn), turn);
                    scale = scale.defined() ? add(scale, side) : side;
                }
                if (!scale.defined()) return Tensor();
                Tensor right = diag_embed(expand(unsqueeze(scale, -1), batch_of(A, 1)));
                if (differentiates_again()) return linalg_solve(H(A), right);
                return linalg_lu_solve(result2, result3, right, true, true);
            }),
    });
    declare("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)")({
        doc("Signs and logarithms of absolute values of determinants"),
        composition([](const Tensor& A) {
            auto [sign, logarithm, LU, pivots] = _linalg_slogdet(A);
            return std::make_tuple(sign, logarithm);
        }),
    });
    declare("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)")({
        doc("Signs and logarithms of absolute values of determinants"),
        composition([](const Tensor& self) { return linalg_slogdet(self); }),
    });
    declare("logdet(Tensor self) -> Tensor")({
        doc("Logarithms of determinants, NaN where they are negative"),
        no_out(),
        composition([](const Tensor& self) {
            auto [sign, logarithm] = linalg_slogdet(self);
            if (self.is_complex()) return add(log(sign), logarithm);
            return where(eq(sign, Scalar(-1)), number(__builtin_nan("")), logarithm);
        }),
    });
}
