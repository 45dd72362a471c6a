// operators/linear_algebra/linalg.cpp: norms and conditions of matrices, their powers and exponentials, and chains of products.
#include <cmath>

#include "operators/declare.h"
#include "operators/linear_algebra/matrices.h"
#include "runtime/threads.h"

namespace kindling {

namespace {

using namespace matrices;

// ---- norms

struct Pair {
    int64_t rows, columns;
};
Pair pair_of(IntList dim, int64_t ndim) {
    KINDLING_CHECK(Runtime, dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got %s", str(dim).c_str());
    Pair pair{wrap_dim(dim[0], ndim), wrap_dim(dim[1], ndim)};
    KINDLING_CHECK(Runtime, pair.rows != pair.columns, "linalg.matrix_norm: dims must be different. Got (%ld, %ld)", dim[0], dim[1]);
    return pair;
}

Tensor in_dtype(const Tensor& self, DType dtype, bool by_values) {
    need_matrix(self, "linalg.matrix_norm");
    if (by_values) need_field(self, "linalg.matrix_norm"); // whatever it is to be computed in
    KINDLING_CHECK(Runtime, is_differentiable(self.dtype()),
                   "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got %s", scalar_type_name(self.dtype()));
    if (dtype == DType::None) return self;
    KINDLING_CHECK(Runtime, is_differentiable(dtype), "linalg.matrix_norm: dtype should be floating point or complex, but got %s",
                   scalar_type_name(dtype));
    KINDLING_CHECK(Runtime, self.is_complex() == is_complex(dtype), "linalg.matrix_norm: dtype should be %s for %s inputs, but got %s",
                   self.is_complex() ? "complex" : "real", self.is_complex() ? "complex" : "real", scalar_type_name(dtype));
    KINDLING_CHECK(Runtime, promote(self.dtype(), dtype) == dtype,
                   "linalg.matrix_norm: the dtype of the input (%s) should be convertible without narrowing to the specified dtype (%s)",
                   scalar_type_name(self.dtype()), scalar_type_name(dtype));
    return to(self, dtype);
}

/// The singular values of the matrices that lie along two dimensions.
Tensor values_along(const Tensor& self, Pair dims) { return linalg_svdvals(movedim(self, {dims.rows, dims.columns}, {-2, -1})); }
Tensor kept(const Tensor& folded, Pair dims, bool keepdim) {
    if (!keepdim) return folded;
    return unsqueeze(unsqueeze(folded, std::min(dims.rows, dims.columns)), std::max(dims.rows, dims.columns));
}

/// The largest or smallest along a dimension; of nothing, the largest norm is 0.
Tensor extreme(const Tensor& norms, bool largest, int64_t dim, bool keepdim) {
    if (largest && norms.size(dim) == 0) return sum(norms, IntList({dim}), keepdim);
    return largest ? amax(norms, {dim}, keepdim) : amin(norms, {dim}, keepdim);
}

Tensor matrix_norm_by(const Tensor& given, double order, IntList dim, bool keepdim, DType dtype) {
    double size = std::fabs(order);
    KINDLING_CHECK(Runtime, size == 1 || size == 2 || std::isinf(size), "linalg.matrix_norm: Order %g not supported.", order);
    Tensor self = in_dtype(given, dtype, size == 2);
    Pair dims = pair_of(dim, self.dim());
    bool largest = order > 0;
    if (size == 2) return kept(extreme(values_along(self, dims), largest, -1, false), dims, keepdim);
    int64_t folded = size == 1 ? dims.rows : dims.columns, rest = size == 1 ? dims.columns : dims.rows;
    Tensor sums = linalg_vector_norm(self, Scalar(1), IntList({folded}), keepdim);
    if (!keepdim && rest > folded) rest--;
    return extreme(sums, largest, rest, keepdim);
}

Tensor matrix_norm_by(const Tensor& given, Text order, IntList dim, bool keepdim, DType dtype) {
    KINDLING_CHECK(Runtime, order == "fro" || order == "nuc", "linalg.matrix_norm: Order %s not supported.", std::string(order).c_str());
    Tensor self = in_dtype(given, dtype, order == "nuc");
    Pair dims = pair_of(dim, self.dim());
    if (order == "fro") return linalg_vector_norm(self, Scalar(2), IntList({dims.rows, dims.columns}), keepdim);
    return kept(sum(values_along(self, dims), IntList({-1})), dims, keepdim);
}

void need_norm_dims(const Tensor& self, bool has_order, std::optional<IntList> dim) {
    if (dim)
        KINDLING_CHECK(Runtime, dim->size() == 1 || dim->size() == 2,
                       "linalg.norm: If dim is specified, it must be of length 1 or 2. Got %s", str(*dim).c_str());
    else if (has_order)
        KINDLING_CHECK(Runtime, self.dim() == 1 || self.dim() == 2,
                       "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %ldD.", self.dim());
}

/// norm(A) * norm(A^-1), infinite for a matrix that has no inverse.
template <class Norm> Tensor condition(const Tensor& self, Norm norm) {
    auto [inverse, info] = linalg_inv_ex(self);
    Tensor result = mul(norm(self), norm(inverse));
    return where(gt(info, Scalar(0)), number(__builtin_inf()), result);
}
void need_condition(const Tensor& self, const char* name, bool by_values) {
    need_matrix(self, name);
    need_field(self, name, by_values ? "linalg_svd_cpu" : nullptr);
}

// ---- powers

Tensor power(const Tensor& self, int64_t n) {
    if (n == 0) return clone(self, MemoryFormat::Contiguous).copy_(eye(self.size(-1), self.dtype(), std::nullopt, self.device()));
    Tensor base = n < 0 ? linalg_inv(self) : self, result;
    for (uint64_t left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n); left; left >>= 1) {
        if (left & 1) result = result.defined() ? matmul(result, base) : base;
        if (left > 1) base = matmul(base, base);
    }
    return result.is_same(self) ? clone(result, MemoryFormat::Contiguous) : result;
}

/// The exponential by scaling, a rational approximation, and squaring (Higham, 2005).
Tensor exponential(const Tensor& self) {
    int64_t n = self.size(-1);
    if (self.numel() == 0) return clone(self);
    if (n == 1) return exp(self);
    if (self.is_meta()) return empty(self.sizes(), self.dtype());
    bool wide = to_real(self.dtype()) == DType::Float64;
    const double b13[] = {64764752532480000.0,
                          32382376266240000.0,
                          7771770303897600.0,
                          1187353796428800.0,
                          129060195264000.0,
                          10559470521600.0,
                          670442572800.0,
                          33522128640.0,
                          1323241920.0,
                          40840800.0,
                          960960.0,
                          16380.0,
                          182.0,
                          1.0};
    const double b7[] = {17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0};
    double limit = wide ? 5.371920351148152 : 3.925724783138660;
    Tensor size = amax(sum(abs(self), IntList({-2})), {-1});
    Tensor steps = ceil(log2(div(size, number(limit))));
    steps = where(logical_and(isfinite(steps), gt(steps, Scalar(0))), steps, number(0));
    Tensor count = unsqueeze(unsqueeze(steps, -1), -1);
    Tensor A = to(mul(self, exp2(neg(count))), self.dtype()), identity = eye(n, self.dtype(), std::nullopt, self.device());
    Tensor A2 = matmul(A, A), even, odd, running = identity;
    int degree = wide ? 13 : 7;
    const double* b = wide ? b13 : b7;
    // Coefficients are divided by the first, so that the constant terms are the identity.
    for (int i = 0; i <= degree; i += 2) {
        Tensor e = mul(running, number(b[i] / b[0])), o = mul(running, number(b[i + 1] / b[0]));
        even = even.defined() ? add(even, e) : e;
        odd = odd.defined() ? add(odd, o) : o;
        if (i + 2 <= degree) running = matmul(running, A2);
    }
    odd = matmul(A, odd);
    auto [R, info] = linalg_solve_ex(sub(even, odd), add(even, odd));
    double rounds = self.is_meta() ? 0 : max(steps).item_scalar().to_double();
    for (int i = 0; i < static_cast<int>(rounds); i++) R = where(gt(count, Scalar(i)), matmul(R, R), R);
    return R;
}

/// The upper right part of exp [[A^H, G], [0, A^H]] (Mathias, 1996).
Tensor exponential_gradient(const Tensor& self, const Tensor& grad) {
    Tensor A = H(self), zero = zeros_like(A);
    Tensor top = cat(std::vector<Tensor>{A, grad}, -1), bottom = cat(std::vector<Tensor>{zero, A}, -1);
    Tensor both = linalg_matrix_exp(cat(std::vector<Tensor>{top, bottom}, -2));
    int64_t n = self.size(-1);
    return narrow(narrow(both, -2, 0, n), -1, n, n);
}

// ---- chains

/// The cheapest order of a chain of products (Cormen et al., chapter 15).
struct Chain {
    std::vector<Tensor> parts;
    std::vector<size_t> split;
    Tensor product(size_t first, size_t last) const {
        if (first == last) return parts[first];
        size_t at = split[first * parts.size() + last];
        return mm(product(first, at), product(at + 1, last));
    }
};

Tensor chained(TensorList tensors) {
    size_t n = tensors.size();
    KINDLING_CHECK(Runtime, n >= 2, "multi_dot(): expected at least 2 tensors but got %zu", n);
    Chain chain{tensors.vec(), std::vector<size_t>(n * n)};
    std::vector<Tensor>& parts = chain.parts;
    bool row_first = parts[0].dim() == 1, column_last = parts[n - 1].dim() == 1;
    KINDLING_CHECK(Runtime, row_first || parts[0].dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but got %ldD",
                   parts[0].dim());
    KINDLING_CHECK(Runtime, column_last || parts[n - 1].dim() == 2, "multi_dot(): the last tensor must be 1D or 2D but got %ldD",
                   parts[n - 1].dim());
    if (row_first) parts[0] = unsqueeze(parts[0], 0);
    if (column_last) parts[n - 1] = unsqueeze(parts[n - 1], -1);
    for (size_t i = 0; i < n; i++) {
        KINDLING_CHECK(Runtime, parts[i].dim() == 2, "multi_dot(): tensor %zu must be 2D but got %ldD", i, parts[i].dim());
        KINDLING_CHECK(Runtime, parts[i].dtype() == parts[0].dtype(),
                       "multi_dot(): all tensors must have be the same dtype but tensor 0 is %s and tensor %zu %s",
                       scalar_type_name(parts[0].dtype()), i, scalar_type_name(parts[i].dtype()));
        KINDLING_CHECK(Runtime, i == 0 || parts[i - 1].size(1) == parts[i].size(0),
                       "multi_dot(): tensors %zu and %zu with shapes %s and %s cannot be multiplied", i - 1, i,
                       str(tensors[i - 1].sizes()).c_str(), str(tensors[i].sizes()).c_str());
    }
    std::vector<double> cost(n * n);
    for (size_t length = 2; length <= n; length++)
        for (size_t first = 0; first + length <= n; first++) {
            size_t last = first + length - 1;
            double best = __builtin_inf();
            for (size_t at = first; at < last; at++) {
                double here = cost[first * n + at] + cost[(at + 1) * n + last] +
                              static_cast<double>(parts[first].size(0)) * static_cast<double>(parts[at].size(1)) *
                                  static_cast<double>(parts[last].size(1));
                if (here < best) best = here, chain.split[first * n + last] = at;
            }
            cost[first * n + last] = best;
        }
    Tensor result = chain.product(0, n - 1);
    if (row_first) result = squeeze(result, 0);
    if (column_last) result = squeeze(result, -1);
    return result;
}

int64_t product_of(IntList sizes) {
    int64_t product = 1;
    for (int64_t size : sizes) product *= size;
    return product;
}

} // namespace
} // namespace kindling

OPERATORS(linalg) {
    // ---- norms
    declare("linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("A norm of matrices: ord 1, -1, 2, -2, inf or -inf"),
        composition([](const Tensor& self, const Scalar& ord, IntList dim, bool keepdim, DType dtype) {
            KINDLING_CHECK(Runtime, !ord.is_complex(), "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.");
            return matrix_norm_by(self, ord.to_double(), dim, keepdim, dtype);
        }),
    });
    declare("linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor")({
        doc("A norm of matrices: 'fro' (the root of the sum of squares) or 'nuc' (the sum of singular values)"),
        composition([](const Tensor& self, Text ord, IntList dim, bool keepdim, DType dtype) {
            return matrix_norm_by(self, ord, dim, keepdim, dtype);
        }),
    });
    declare("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("A norm of vectors or matrices"),
        composition([](const Tensor& self, std::optional<Scalar> ord, std::optional<IntList> dim, bool keepdim, DType dtype) {
            need_norm_dims(self, ord.has_value(), dim);
            if (ord && (dim ? dim->size() == 2 : self.dim() == 2))
                return linalg_matrix_norm(self, *ord, dim.value_or(generated::ints<0, 1>()), keepdim, dtype);
            return linalg_vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
        }),
    });
    declare("linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("A norm of matrices"),
        composition([](const Tensor& self, Text ord, std::optional<IntList> dim, bool keepdim, DType dtype) {
            need_norm_dims(self, true, dim);
            return linalg_matrix_norm(self, ord, dim.value_or(generated::ints<0, 1>()), keepdim, dtype);
        }),
    });
    declare("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor")({
        doc("The sum of the singular values of a matrix"),
        in(space::Torch),
        composition([](const Tensor& self, bool keepdim) {
            return matrix_norm_by(self, Text("nuc"), generated::ints<-2, -1>(), keepdim, DType::None);
        }),
    });
    declare("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor")({
        doc("The sum of the singular values of matrices along two dimensions"),
        in(space::Torch),
        composition(
            [](const Tensor& self, IntList dim, bool keepdim) { return matrix_norm_by(self, Text("nuc"), dim, keepdim, DType::None); }),
    });
    declare("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")({
        doc("The root of the sum of squares over one or two dimensions"),
        in(space::Torch),
        composition([](const Tensor& self, IntList dim, bool keepdim) {
            KINDLING_CHECK(Runtime, dim.size() <= 2, "Expected at most 2 dimensions, but got %zu dimensions instead.", dim.size());
            return linalg_vector_norm(self, Scalar(2), dim.empty() ? std::optional<IntList>() : std::optional<IntList>(dim), keepdim);
        }),
    });
    declare("linalg_cond(Tensor self, Scalar? p=None) -> Tensor")({
        doc("The condition number: by singular values (p None, 2 or -2), else the norm times the norm of the inverse"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<Scalar> p) {
            double order = p ? p->to_double() : 2;
            need_condition(self, "linalg.cond", std::fabs(order) == 2);
            if (std::fabs(order) == 2) {
                Tensor S = linalg_svdvals(self);
                if (self.numel() == 0) return zeros(batch_of(self), to_real(self.dtype()));
                Tensor first = select(S, -1, 0), last = select(S, -1, S.size(-1) - 1);
                return order > 0 ? div(first, last) : div(last, first);
            }
            KINDLING_CHECK(Runtime, !p->is_complex(), "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.");
            need_square(self, format("linalg.cond(ord=%g)", order).c_str());
            if (self.numel() == 0) return zeros(batch_of(self), to_real(self.dtype()));
            return condition(self, [&](const Tensor& t) { return linalg_matrix_norm(t, Scalar(order)); });
        }),
    });
    declare("linalg_cond.p_str(Tensor self, str p) -> Tensor")({
        doc("The condition number by the norm 'fro' or 'nuc'"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, Text p) {
            need_condition(self, "linalg.cond", p == "nuc");
            KINDLING_CHECK(Runtime, p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: %s", std::string(p).c_str());
            need_square(self, p == "fro" ? "linalg.cond(ord=fro)" : "linalg.cond(ord=nuc)");
            if (self.numel() == 0) return zeros(batch_of(self), to_real(self.dtype()));
            if (p == "nuc") {
                Tensor S = linalg_svdvals(self);
                return mul(sum(S, IntList({-1})), sum(reciprocal(S), IntList({-1})));
            }
            return condition(self, [&](const Tensor& t) { return linalg_matrix_norm(t, p); });
        }),
    });
    // ---- powers
    declare("linalg_matrix_power(Tensor self, int n) -> Tensor")({
        doc("The n-th power of square matrices; of the inverse for negative n"),
        composition([](const Tensor& self, int64_t n) {
            need_square(self, "linalg.matrix_power");
            return power(self, n);
        }),
    });
    declare("matrix_power(Tensor self, int n) -> Tensor")({
        doc("The n-th power of square matrices; of the inverse for negative n"),
        composition([](const Tensor& self, int64_t n) { return linalg_matrix_power(self, n); }),
    });
    declare("linalg_matrix_exp(Tensor self) -> Tensor")({
        doc("The exponential of square matrices"),
        composition([](const Tensor& self) {
            need_square(self, "linalg.matrix_exp");
            KINDLING_CHECK(Runtime, is_differentiable(self.dtype()),
                           "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got %s",
                           scalar_type_name(self.dtype()));
            return is_half(self.dtype()) ? to(exponential(to(self, DType::Float32)), self.dtype()) : exponential(self);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return exponential_gradient(self, grad); }),
    });
    declare("matrix_exp(Tensor self) -> Tensor")({
        doc("The exponential of square matrices"),
        no_out(),
        composition([](const Tensor& self) { return linalg_matrix_exp(self); }),
    });
    // ---- products
    declare("linalg_matmul(Tensor self, Tensor other) -> Tensor")({
        doc("The product of matrices and vectors"),
        composition([](const Tensor& self, const Tensor& other) { return matmul(self, other); }),
    });
    declare("linalg_multi_dot(Tensor[] tensors) -> Tensor")({
        doc("The product of several matrices, in the cheapest order"),
        composition([](TensorList tensors) { return chained(tensors); }),
    });
    declare("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor")({
        doc("The sum of conj(x) * y along a dimension"),
        flags(trait::AutocastLower),
        composition([](const Tensor& x, const Tensor& y, int64_t dim) {
            KINDLING_CHECK(Runtime, is_differentiable(x.dtype()),
                           "linalg.vecdot: Expected a floating point or complex tensor as input. Got %s", scalar_type_name(x.dtype()));
            KINDLING_CHECK(Runtime, x.dtype() == y.dtype(),
                           "linalg.vecdot: Expected x and y to have the same dtype, but found x of type %s and y of type %s instead",
                           scalar_type_name(x.dtype()), scalar_type_name(y.dtype()));
            if (x.dim() == 1 && y.dim() == 1) // vectors, which are not broadcast
                KINDLING_CHECK(Runtime, x.numel() == y.numel(),
                               "inconsistent tensor size, expected tensor %s and src %s to have the same number of elements, but got %ld "
                               "and %ld elements respectively",
                               str(x.sizes()).c_str(), str(y.sizes()).c_str(), x.numel(), y.numel());
            return sum(mul(conj(x), y), IntList({dim}));
        }),
    });
    declare("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)")({
        doc("The diagonals of matrices, as a view"),
        no_out(),
        composition([](const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) { return diagonal(A, offset, dim1, dim2); }),
    });
    // ---- tensors as matrices
    declare("linalg_tensorinv(Tensor self, int ind=2) -> Tensor")({
        doc("The inverse of tensordot with self over ind dimensions"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, int64_t ind) {
            KINDLING_CHECK(Runtime, ind > 0, "Expected a strictly positive integer for 'ind'");
            int64_t split = std::min(ind, self.dim());
            IntList front(self.sizes().data(), static_cast<size_t>(split)),
                back(self.sizes().data() + split, self.sizes().size() - static_cast<size_t>(split));
            int64_t rows = product_of(front), columns = product_of(back);
            KINDLING_CHECK(Runtime, rows == columns,
                           "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got %ld != %ld",
                           columns, rows);
            auto [inverse, info] = linalg_inv_ex(reshape(self, {columns, rows}));
            raise_on(info, "inv", Failure::Singular);
            Sizes sizes = back;
            for (int64_t size : front) sizes.push_back(size);
            return reshape(inverse, sizes);
        }),
    });
    declare("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor")({
        doc("The solution X of tensordot(self, X) = other"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, const Tensor& other, std::optional<IntList> dims) {
            Tensor A = self;
            if (dims) {
                std::vector<int64_t> places;
                for (size_t i = 0; i < dims->size(); i++)
                    places.push_back(self.dim() - static_cast<int64_t>(dims->size()) + static_cast<int64_t>(i));
                A = movedim(self, *dims, places);
            }
            size_t split = std::min(static_cast<size_t>(other.dim()), A.sizes().size());
            IntList back(A.sizes().data() + split, A.sizes().size() - split);
            int64_t columns = product_of(back), rows = product_of(IntList(A.sizes().data(), split));
            KINDLING_CHECK(Runtime, columns == rows,
                           "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
                           "got %ld != %ld",
                           columns, rows);
            return reshape(linalg_solve(reshape(A, {rows, columns}), flatten(other)), back);
        }),
    });
}
