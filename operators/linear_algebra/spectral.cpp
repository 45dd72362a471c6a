// operators/linear_algebra/spectral.cpp: eigenvalues and singular values, and what is read off them.
#include <cmath>

#include "operators/declare.h"
#include "operators/linear_algebra/matrices.h"

namespace kindling {
namespace {

using namespace matrices;
namespace lapack = library::lapack;

Tensor row(const Tensor& t) { return unsqueeze(t, -2); }
Tensor column(const Tensor& t) { return unsqueeze(t, -1); }
Tensor on_diagonal(const Tensor& t) { return diag_embed(t); }
/// What is not on the diagonal is divided; the diagonal is 0 whatever stands there.
Tensor differences(const Tensor& values) {
    Tensor E = sub(row(values), column(values));
    return add(E, eye(E.size(-1), E.dtype(), std::nullopt, E.device()));
}
Tensor without_diagonal(const Tensor& t) { return sub(t, on_diagonal(diagonals(t))); }

void need_phase_free(const Tensor& part, const char* message) {
    if (part.is_meta() || !part.numel()) return;
    bool single = to_real(part.dtype()) == DType::Float32;
    Tensor size = is_complex(part.dtype()) ? abs(part) : part;
    const Tensor all = all_slices(size);
    KINDLING_CHECK(Runtime, allclose(all, zeros_like(all), 1e-2, single ? 1e-2 : 1e-2), "%s", message);
}

// ---- Hermitian eigenvalues

int64_t room_for_infos(const Tensor& A) {
    return A.numel() ? A.numel() / (A.size(-2) * A.size(-1)) * static_cast<int64_t>(sizeof(int32_t)) : 0;
}

struct Spectrum {
    char uplo;
    bool vectors;
};

Spectrum eigh(KernelCall& call, const Tensor& A, Text UPLO, bool vectors) {
    need_square(A, "linalg.eigh");
    need_kernel(A, "linalg_eigh_cpu");
    char uplo = UPLO.empty() ? 0 : static_cast<char>(UPLO[0] & ~32);
    KINDLING_CHECK(Runtime, UPLO.size() == 1 && (uplo == 'L' || uplo == 'U'), "Expected UPLO argument to be 'L' or 'U', but got %s",
                   std::string(UPLO).c_str());
    call.reads_by_columns(vectors ? Tensor() : A);
    call.gives(batch_of(A, 1), to_real(A.dtype()));
    if (vectors) call.gives_copy(A).by_columns();
    else call.gives({0}, A.dtype());
    call.needs_workspace(room_for_infos(A));
    call.costs(16 * A.numel());
    return {uplo, vectors};
}
constexpr auto hermitian_spectrum = [](const Spectrum& how, const Array& A, const Array& w, const Array& V, Workspace room) {
    const Array& matrices = how.vectors ? V : A;
    const int64_t n = w.size(-1), count = count_of(matrices);
    auto* infos = room.as<int32_t>();
    each_matrix(count, n * n * n, [&](int64_t i) {
        infos[i] = lapack::syevd(matrices.dtype(), how.vectors ? 'V' : 'N', how.uplo, n, matrix_at(matrices, i), n, vector_at(w, i));
    });
    raise_on(infos, count, matrices.dim() > 2, "linalg.eigh", Failure::Eigenvalues);
};

Tensor eigh_gradient(const Tensor& gL, const Tensor& gV, const Tensor& L, const Tensor& V) {
    if (!gL.defined() && !gV.defined()) return Tensor();
    KINDLING_CHECK(Runtime, V.dim() >= 2, "linalg.eigh: with compute_v=False there are no eigenvectors, which the gradient is made of");
    if (!gV.defined()) return matmul(V, mul(column(gL), H(V)));
    Tensor turn = matmul(H(V), gV);
    if (V.is_complex())
        need_phase_free(imag(diagonals(turn)),
                        "linalg_eigh_backward: The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The "
                        "specified loss function depends on this quantity, so it is ill-defined.");
    Tensor inner = div(without_diagonal(turn), differences(L));
    inner = mul(add(inner, H(inner)), number(0.5)); // A is Hermitian, and so is its gradient
    if (gL.defined()) inner = add(inner, on_diagonal(to(gL, inner.dtype())));
    return matmul(V, matmul(inner, H(V)));
}

// ---- general eigenvalues

void eig(KernelCall& call, const Tensor& self, bool vectors, const char* name) {
    need_square(self, name);
    need_field(self, name, "linalg_eig_out_cpu");
    call.reads_by_columns(self);
    call.gives(batch_of(self, 1), to_complex(self.dtype()));
    if (vectors) call.gives(self.sizes(), to_complex(self.dtype())).by_columns();
    call.needs_workspace(room_for_infos(self));
    call.costs(64 * self.numel());
}
/// V: undefined if eigenvectors are not wanted.
void find_spectrum(const Array& A, const Array& w, const Array& V, Workspace room) {
    KINDLING_CHECK(Runtime, all_finite(A), "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    const int64_t n = w.size(-1), count = count_of(A);
    auto* infos = room.as<int32_t>();
    each_matrix(count, n * n * n, [&](int64_t i) {
        infos[i] = lapack::geev(A.dtype(), n, matrix_at(A, i), n, vector_at(w, i), V.defined() ? matrix_at(V, i) : nullptr);
    });
    raise_on(infos, count, A.dim() > 2, "linalg.eig", Failure::Eigenvalues);
}

Tensor eig_gradient(const Tensor& gL, const Tensor& gV, const Tensor& L, const Tensor& V, bool real_input) {
    if (!gL.defined() && !gV.defined()) return Tensor();
    Tensor inner;
    if (gV.defined()) {
        Tensor turn = matmul(H(V), gV), along = diagonals(turn);
        need_phase_free(imag(along), "linalg_eig_backward: The eigenvectors in the complex case are specified up to multiplication by e^{i "
                                     "phi}. The specified loss function depends on this quantity, so it is ill-defined.");
        // Eigenvectors keep length 1: what would stretch them is taken out.
        Tensor stretched = mul(matmul(H(V), V), row(to(real(along), V.dtype())));
        inner = div(without_diagonal(sub(turn, stretched)), conj(differences(L)));
        if (gL.defined()) inner = add(inner, on_diagonal(gL));
    } else {
        inner = on_diagonal(gL);
    }
    Tensor gradient = linalg_solve(H(V), matmul(inner, H(V)));
    return real_input ? real(gradient) : gradient;
}

// ---- singular values

struct Svd {
    bool full, vectors;
};

Svd svd_of(KernelCall& call, const Tensor& A, bool full, bool vectors, std::optional<Text> driver) {
    need_matrix(A, "linalg.svd");
    need_field(A, "linalg.svd", "linalg_svd_cpu");
    KINDLING_CHECK(Runtime, !driver,
                   "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
    const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
    const IntList batch = batch_of(A);
    call.reads_by_columns(A);
    if (vectors) call.gives(with(batch, {m, full ? m : k}), A.dtype()).by_columns();
    else call.gives({0}, A.dtype());
    call.gives(with(batch, {k}), to_real(A.dtype()));
    if (vectors) call.gives(with(batch, {full ? n : k, n}), A.dtype()).by_columns();
    else call.gives({0}, A.dtype());
    call.needs_workspace(room_for_infos(A));
    call.costs(64 * A.numel());
    return {full, vectors};
}
constexpr auto find_svd = [](const Svd& how, const Array& A, const Array& U, const Array& S, const Array& Vh, Workspace room) {
    if (!A.numel()) {
        if (how.vectors && how.full)
            for (const Array* each : {&U, &Vh})
                if (each->numel()) fill_identity(*each);
        return;
    }
    KINDLING_CHECK(LinAlg, all_finite(A),
                   "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.");
    const int64_t m = A.size(-2), n = A.size(-1), count = count_of(A);
    const char job = !how.vectors ? 'N' : how.full ? 'A' : 'S';
    auto* infos = room.as<int32_t>();
    each_matrix(count, m * n * std::min(m, n), [&](int64_t i) {
        infos[i] = lapack::gesdd(A.dtype(), job, m, n, matrix_at(A, i), m, vector_at(S, i), how.vectors ? matrix_at(U, i) : nullptr, m,
                                 how.vectors ? matrix_at(Vh, i) : nullptr, how.vectors ? Vh.size(-2) : 1);
    });
    raise_on(infos, count, A.dim() > 2, "linalg.svd", Failure::SingularValues);
};

/// (Wan and Zhang, 2019, for the complex case.)
Tensor svd_gradient(const Tensor& gU, const Tensor& gS, const Tensor& gVh, const Tensor& U, const Tensor& S, const Tensor& Vh) {
    if (!gU.defined() && !gS.defined() && !gVh.defined()) return Tensor();
    int64_t m = U.size(-2), n = Vh.size(-1), k = S.size(-1);
    if (!gU.defined() && !gVh.defined()) return m >= n ? matmul(U, mul(column(gS), Vh)) : matmul(mul(U, row(gS)), Vh);
    Tensor turnU, turnV, inner;
    auto skew = [](const Tensor& t) { return sub(t, H(t)); };
    if (gU.defined()) turnU = skew(matmul(H(U), gU));
    if (gVh.defined()) turnV = skew(matmul(Vh, H(gVh)));
    if (U.is_complex()) {
        Tensor phase = turnU.defined() ? imag(diagonals(turnU)) : Tensor();
        if (turnV.defined()) phase = phase.defined() ? add(phase, imag(diagonals(turnV))) : imag(diagonals(turnV));
        need_phase_free(phase, "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
                               "The specified loss function depends on this phase term, making it ill-defined.");
    }
    Tensor squares = mul(S, S), E = differences(squares);
    if (turnU.defined()) inner = mul(div(turnU, E), row(S));
    if (turnV.defined()) {
        Tensor part = mul(column(S), div(turnV, E));
        inner = inner.defined() ? add(inner, part) : part;
    }
    // The diagonals of the turns are the phases; they come back below, where they count.
    inner = without_diagonal(inner);
    if (gS.defined()) inner = add(inner, on_diagonal(to(gS, inner.dtype())));
    if (U.is_complex() && turnU.defined()) inner = add(inner, on_diagonal(div(diagonals(turnU), mul(S, number(2)))));
    Tensor result = matmul(U, inner);
    if (m > k && gU.defined()) {
        Tensor scaled = div(gU, row(S));
        result = add(result, sub(scaled, matmul(U, matmul(H(U), scaled))));
    }
    result = matmul(result, Vh);
    if (n > k && gVh.defined()) {
        Tensor scaled = div(gVh, column(S));
        result = add(result, matmul(U, sub(scaled, matmul(matmul(scaled, H(Vh)), Vh))));
    }
    return result;
}

double epsilon_of(const Tensor& t) { return to_real(t.dtype()) == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07; }

/// The larger of atol and rtol times the largest value; rtol's default is used where atol is not given or not positive.
Tensor tolerance(const Tensor& self, const Tensor& largest, const Tensor& atol, const Tensor& rtol, const char* name) {
    for (const Tensor* each : {&atol, &rtol})
        KINDLING_CHECK(Runtime, !each->defined() || !is_complex(each->dtype()), "%s: %s tensor of complex type is not supported. Got %s",
                       name, each == &atol ? "atol" : "rtol", scalar_type_name(each->dtype()));
    Tensor standard = number(epsilon_of(self) * static_cast<double>(std::max(self.size(-1), self.size(-2))));
    Tensor relative = rtol.defined() ? rtol : atol.defined() ? where(gt(atol, Scalar(0)), number(0), standard) : standard;
    Tensor scaled = mul(relative, largest);
    return atol.defined() ? max(to(atol, scaled.dtype()), scaled) : scaled;
}
Tensor optional_number(std::optional<double> value, const Tensor& like) {
    return value ? to(wrap_number(Scalar(*value)), is_differentiable(like.dtype()) ? to_real(like.dtype()) : DType::Float64) : Tensor();
}

Tensor rank_of(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
    need_matrix(self, "torch.linalg.matrix_rank", "input");
    for (const Tensor* each : {&atol, &rtol})
        KINDLING_CHECK(Runtime, !each->defined() || !each->is_complex(),
                       "torch.linalg.matrix_rank: %s tensor of complex type is not supported. Got %s", each == &atol ? "atol" : "rtol",
                       scalar_type_name(each->dtype()));
    if (!rtol.defined()) need_field(self, "linalg.matrix_rank"); // its usual value is of their dtype
    if (hermitian) need_square(self, "linalg.matrix_rank");
    if (self.numel() == 0) return zeros(batch_of(self), DType::Int64);
    Tensor S = hermitian ? abs(linalg_eigvalsh(self, "L")) : linalg_svdvals(self);
    Tensor limit = tolerance(self, amax(S, {-1}), atol, rtol, "torch.linalg.matrix_rank");
    return sum(gt(S, unsqueeze(limit, -1)), IntList({-1}));
}

/// The derivative of the pseudoinverse P of A (Golub and Pereyra, 1973).
Tensor pinv_gradient(const Tensor& grad, const Tensor& P, const Tensor& A) {
    int64_t m = A.size(-2), n = A.size(-1);
    Tensor Ph = H(P), gh = H(grad);
    if (m <= n) {
        Tensor K = matmul(gh, P), KPh = matmul(K, Ph);
        Tensor first = sub(KPh, matmul(A, matmul(P, KPh))); // (I - A P) G^H P P^H
        Tensor PhP = matmul(Ph, P), L = matmul(PhP, gh);
        Tensor second = sub(L, matmul(matmul(L, P), A)); // P^H P G^H (I - P A)
        return add(sub(first, matmul(Ph, matmul(grad, Ph))), second);
    }
    Tensor PPh = matmul(P, Ph), K = matmul(gh, PPh);
    Tensor first = sub(K, matmul(A, matmul(P, K)));
    Tensor L = matmul(Ph, matmul(P, gh)), second = sub(L, matmul(matmul(L, P), A));
    return add(sub(first, matmul(Ph, matmul(grad, Ph))), second);
}

void need_pinv(const Tensor& self) {
    KINDLING_CHECK(Runtime, is_differentiable(self.dtype()) && !is_half(self.dtype()) && self.dim() >= 2,
                   "linalg.pinv(%s{%s}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types",
                   scalar_type_name(self.dtype()), str(self.sizes()).c_str());
}

} // namespace
} // namespace kindling

OPERATORS(spectral) {
    declare("_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)")({
        doc("Eigenvalues, in order, and eigenvectors of Hermitian matrices of which one triangle is read"),
        raises_by_value(),
        has_out(),
        in(space::Torch),
        kernel([](KernelCall& call, const Tensor& A, Text UPLO, bool compute_v) { return eigh(call, A, UPLO, compute_v); },
               hermitian_spectrum),
        derivative(
            "A", GIVEN(TensorList grads, Tensor result0, Tensor result1) { return eigh_gradient(grads[0], grads[1], result0, result1); }),
    });
    declare("linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)")({
        doc("Eigenvalues, in order, and eigenvectors of Hermitian matrices"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, Text UPLO) { return _linalg_eigh(self, UPLO); }),
    });
    declare("linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor")({
        doc("Eigenvalues, in order, of Hermitian matrices"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, Text UPLO) { return std::get<0>(_linalg_eigh(self, UPLO, is_followed(self))); }),
    });
    declare("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)")({
        doc("Eigenvalues and eigenvectors of square matrices, complex"),
        raises_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        kernel([](KernelCall& call, const Tensor& self) { eig(call, self, true, "linalg.eig"); },
               [](const Array& A, const Array& w, const Array& V, Workspace room) { find_spectrum(A, w, V, room); }),
        derivative(
            "self", GIVEN(TensorList grads, Tensor self_shape, Tensor result0,
                          Tensor result1) { return eig_gradient(grads[0], grads[1], result0, result1, !self_shape.is_complex()); }),
    });
    declare("_linalg_eigvals(Tensor self) -> Tensor")({
        doc("Eigenvalues of square matrices, complex"),
        raises_by_value(),
        in(space::Torch),
        no_derivative(),
        kernel([](KernelCall& call, const Tensor& self) { eig(call, self, false, "linalg.eigvals"); },
               [](const Array& A, const Array& w, Workspace room) { find_spectrum(A, w, Array(), room); }),
    });
    declare("linalg_eigvals(Tensor self) -> Tensor")({
        doc("Eigenvalues of square matrices, complex"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self) { return is_followed(self) ? std::get<0>(linalg_eig(self)) : _linalg_eigvals(self); }),
    });
    declare("_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, "
            "Tensor S, Tensor Vh)")({
        doc("A = U diag(S) Vh, singular values in falling order"),
        raises_by_value(),
        has_out(),
        in(space::Torch),
        kernel([](KernelCall& call, const Tensor& A, bool full_matrices, bool compute_uv,
                  std::optional<Text> driver) { return svd_of(call, A, full_matrices, compute_uv, driver); },
               find_svd),
        derivative(
            "A",
            GIVEN(TensorList grads, bool full_matrices, bool compute_uv, Tensor result0, Tensor result1, Tensor result2) {
                if (!compute_uv) // where all rows are asked for, PyTorch looks for them before it looks at anything else
                    fail(full_matrices ? ErrorKind::Index : ErrorKind::Runtime,
                         "svd_backward: Setting compute_uv to false in torch.svd doesn't compute singular matrices, and hence we cannot "
                         "compute backward. Please use torch.svd(compute_uv=True)");
                int64_t k = result1.size(-1);
                Tensor gU = grads[0], gVh = grads[2], U = narrow(result0, -1, 0, k), Vh = narrow(result2, -2, 0, k);
                if (full_matrices && gU.defined()) gU = narrow(gU, -1, 0, k);
                if (full_matrices && gVh.defined()) gVh = narrow(gVh, -2, 0, k);
                return svd_gradient(gU, grads[1], gVh, U, result1, Vh);
            }),
    });
    declare("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)")({
        doc("A = U diag(S) Vh, singular values in falling order"),
        flags(trait::AutocastFloat),
        composition(
            [](const Tensor& A, bool full_matrices, std::optional<Text> driver) { return _linalg_svd(A, full_matrices, true, driver); }),
    });
    declare("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor")({
        doc("Singular values in falling order"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& A, std::optional<Text> driver) { return std::get<1>(_linalg_svd(A, false, is_followed(A), driver)); }),
    });
    declare("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)")({
        doc("self = U diag(S) V^H; new programs call linalg.svd"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, bool some, bool compute_uv) {
            KINDLING_CHECK(Runtime, self.dim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has %ld dimensions instead",
                           self.dim());
            if (!compute_uv) {
                Tensor S = linalg_svdvals(self);
                IntList batch = batch_of(self);
                return std::make_tuple(zeros(with(batch, {self.size(-2), self.size(-2)}), self.dtype()), S,
                                       zeros(with(batch, {self.size(-1), self.size(-1)}), self.dtype()));
            }
            auto [U, S, Vh] = _linalg_svd(self, !some, true);
            return std::make_tuple(U, S, H(Vh));
        }),
    });
    // ---- pseudoinverse
    declare("linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor")({
        doc("The pseudoinverse, by the singular values above a tolerance"),
        raises_by_value(),
        out_castable(),
        composition([](const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
            need_pinv(self);
            for (const Tensor* each : {&atol, &rtol})
                KINDLING_CHECK(Runtime, !each->defined() || !each->is_complex(),
                               "torch.linalg.pinv: %s tensor of complex type is not supported. Got %s", each == &atol ? "atol" : "rtol",
                               scalar_type_name(each->dtype()));
            if (self.numel() == 0) return make_tensor(with(batch_of(self), {self.size(-1), self.size(-2)}), self.dtype(), self.device());
            if (!hermitian) {
                auto [U, S, Vh] = _linalg_svd(self, false);
                Tensor limit = unsqueeze(tolerance(self, narrow(S, -1, 0, 1).squeeze(-1), atol, rtol, "torch.linalg.pinv"), -1);
                Tensor inverse = where(gt(S, limit), reciprocal(S), number(0));
                return matmul(mul(H(Vh), row(to(inverse, self.dtype()))), H(U));
            }
            need_square(self, "linalg.pinv");
            auto [L, V] = _linalg_eigh(self);
            Tensor size = abs(L), limit = unsqueeze(tolerance(self, amax(size, {-1}), atol, rtol, "torch.linalg.pinv"), -1);
            Tensor inverse = where(gt(size, limit), reciprocal(L), number(0));
            return matmul(mul(V, row(to(inverse, self.dtype()))), H(V));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result) { return pinv_gradient(grad, result, self); }),
    });
    declare("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor")({
        doc("The pseudoinverse, by the singular values above a tolerance"),
        out_castable(),
        composition([](const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
            need_pinv(self);
            return linalg_pinv(self, optional_number(atol, self), optional_number(rtol, self), hermitian);
        }),
    });
    declare("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")({
        doc("The pseudoinverse, by the singular values above rcond times the largest"),
        out_castable(),
        composition([](const Tensor& self, double rcond, bool hermitian) {
            need_pinv(self);
            return linalg_pinv(self, Tensor(), optional_number(rcond, self), hermitian);
        }),
    });
    declare("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor")({
        doc("The pseudoinverse, by the singular values above rcond times the largest"),
        out_castable(),
        composition([](const Tensor& self, const Tensor& rcond, bool hermitian) { return linalg_pinv(self, Tensor(), rcond, hermitian); }),
    });
    declare("pinverse(Tensor self, float rcond=1e-15) -> Tensor")({
        doc("The pseudoinverse; new programs call linalg.pinv"),
        flags(trait::AutocastFloat),
        no_out(),
        composition([](const Tensor& self, double rcond) { return linalg_pinv(self, rcond); }),
    });
    // ---- rank
    declare("linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor")({
        doc("How many singular values are above a tolerance"),
        raises_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        not_differentiable(),
        composition([](const Tensor& input, const Tensor& atol, const Tensor& rtol, bool hermitian) {
            return rank_of(input, atol, rtol, hermitian);
        }),
    });
    declare("linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor")({
        doc("How many singular values are above a tolerance"),
        raises_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        not_differentiable(),
        composition([](const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
            return rank_of(self, optional_number(atol, self), optional_number(rtol, self), hermitian);
        }),
    });
    declare("linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor")({
        doc("How many singular values are above tol"),
        raises_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        not_differentiable(),
        composition([](const Tensor& input, const Tensor& tol, bool hermitian) {
            return rank_of(input, tol, optional_number(0.0, input), hermitian);
        }),
    });
    declare("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor")({
        doc("How many singular values are above tol"),
        raises_by_value(),
        out_castable(),
        flags(trait::AutocastFloat),
        not_differentiable(),
        composition([](const Tensor& self, double tol, bool hermitian) {
            return rank_of(self, optional_number(tol, self), optional_number(0.0, self), hermitian);
        }),
    });
}
