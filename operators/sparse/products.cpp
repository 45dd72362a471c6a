// operators/sparse/products.cpp: matrix products with sparse tensors.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/dtype_switch.h"
#include "kernels/library/products/sparse_product.h"
#include "operators/forms.h"
#include "operators/sparse/kernels.h"

namespace kindling {

namespace {
/// A matrix as its elements, sorted by row.
struct Elements {
    Tensor starts, columns, values; // where each row starts
    Tensor rows() const { return row_indices_of(starts, values.size(0)); }
};

Elements elements_of(const Tensor& matrix) {
    if (matrix.impl()->layout == Layout::SparseCsr && dense_dims(matrix) == 0) {
        const SparseParts& parts = parts_of(matrix);
        return {contiguous(to(parts.compressed, DType::Int64)), contiguous(to(parts.indices, DType::Int64)), contiguous(parts.values)};
    }
    Tensor coo = coalesced(as_coo(matrix));
    const SparseParts& parts = parts_of(coo);
    return {compressed_of(contiguous(select(parts.indices, 0, 0)), matrix.size(0)), contiguous(select(parts.indices, 0, 1)),
            contiguous(parts.values)};
}

/// Indices come from the program, which may not have had them checked.
void check_places(const Elements& e, int64_t width) {
    const int64_t count = e.values.size(0), *starts = e.starts.data_ptr<int64_t>(), *columns = e.columns.data_ptr<int64_t>();
    bool sorted = e.columns.size(0) == count && starts[0] == 0 && starts[e.starts.size(0) - 1] == count;
    for (int64_t row = 1; sorted && row < e.starts.size(0); row++) sorted = starts[row - 1] <= starts[row];
    KINDLING_CHECK(Runtime, sorted, "mm: rows of a sparse matrix must start one after the other, from 0 to the number of its elements, %ld",
                   count);
    int64_t low = 0, high = -1;
    for (int64_t i = 0; i < count; i++) {
        low = std::min(low, columns[i]);
        high = std::max(high, columns[i]);
    }
    KINDLING_CHECK(Index, low >= 0 && high < width, "mm: a column index %ld is out of range for a matrix of %ld columns",
                   low < 0 ? low : high, width);
}

void check_shapes(const Tensor& a, const Tensor& b) {
    if (is_coo(a) && !is_sparse(b)) (void)b.size(1); // as PyTorch does: a vector has no second size, which is an IndexError
    KINDLING_CHECK(Runtime, a.dim() == 2, "addmm: matrices expected, got %ldD tensor", a.dim());
    KINDLING_CHECK(Runtime, b.dim() == 2, "addmm: matrices expected, got %ldD tensor", b.dim());
    KINDLING_CHECK(Runtime, !is_coo(a) || dense_dims(a) == 0, "addmm: scalar values expected, got %ldD values", parts_of(a).values.dim());
    KINDLING_CHECK(Runtime, a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)", a.size(0), a.size(1),
                   b.size(0), b.size(1));
    KINDLING_CHECK(Runtime, a.dtype() == b.dtype(), "addmm: expected 'mat1' and 'mat2' to have the same dtype, but got %s and %s",
                   scalar_type_name(a.dtype()), scalar_type_name(b.dtype()));
}

void multiply_rows(const Elements& a, const Tensor& b, const Tensor& result) {
    Unlocked unlocked(a.values.size(0) * b.size(1) > 100000);
    library::sparse_times_strided(b.dtype(), result.size(0), a.starts.data_ptr<int64_t>(), a.columns.data_ptr<int64_t>(), a.values.data(),
                                  b.data(), b.size(1), result.data());
}

/// Rows of the strided factor, each times an element, are added up row by row. Where there is no loop for the dtype at most
/// 32 MB of them lie in memory.
Tensor times_strided(const Elements& a, int64_t rows, const Tensor& b) {
    check_places(a, b.size(0));
    if (b.dtype() == DType::Float32 || b.dtype() == DType::Float64) {
        Tensor result = make_tensor({rows, b.size(1)}, b.dtype());
        multiply_rows(a, contiguous(b), result);
        return result;
    }
    Tensor result = zeros({rows, b.size(1)}, b.dtype()), at_row = a.rows();
    const int64_t count = a.values.size(0), bytes = std::max<int64_t>(b.size(1), 1) * static_cast<int64_t>(b.element_size());
    const int64_t piece = std::max<int64_t>((int64_t{32} << 20) / bytes, 64);
    for (int64_t at = 0; at < count; at += piece) {
        const int64_t length = std::min(piece, count - at);
        Tensor products = mul(index_select(b, 0, narrow(a.columns, 0, at, length)), unsqueeze(narrow(a.values, 0, at, length), 1));
        index_add_(result, 0, narrow(at_row, 0, at, length), products);
    }
    return result;
}

/// Every element meets the row of the other matrix that its column names.
Tensor times_sparse(const Tensor& a, const Tensor& b) {
    Elements left = elements_of(a), right = elements_of(b);
    Tensor begin = index_select(right.starts, 0, left.columns),
           counts = sub(index_select(right.starts, 0, add(left.columns, wrap_number(Scalar(1)))), begin);
    const int64_t total = sum(counts).item<int64_t>();
    Tensor ends = cumsum(counts, 0), mine = repeat_interleave(counts, std::optional<int64_t>(total));
    Tensor other = add(index_select(begin, 0, mine), sub(arange(Scalar(total)), index_select(sub(ends, counts), 0, mine)));
    Tensor indices = stack(std::vector<Tensor>{index_select(left.rows(), 0, mine), index_select(right.columns, 0, other)}, 0);
    Tensor values = mul(index_select(left.values, 0, mine), index_select(right.values, 0, other));
    return coalesced(make_coo({a.size(0), b.size(1)}, indices, values));
}

Tensor product(const Tensor& a, const Tensor& b) {
    check_shapes(a, b);
    if (is_sparse(a) && is_sparse(b)) {
        Tensor result = times_sparse(a, b);
        if (is_coo(a)) return result;
        const bool columns = !by_rows(a.impl()->layout) && is_compressed(b) && !by_rows(b.impl()->layout);
        return as_layout(result,
                         is_blocked(a.impl()->layout) ? a.impl()->layout
                         : columns                    ? Layout::SparseCsc
                                                      : Layout::SparseCsr,
                         block_of(a));
    }
    if (is_sparse(a)) return times_strided(elements_of(a), a.size(0), b);
    if (!is_sparse(b)) return mm(a, b);
    return contiguous(t(product(transpose(b, 0, 1), t(a))));
}

Tensor scaled(const Tensor& tensor, const Scalar& number) { return number.equals(1) ? tensor : mul(tensor, wrap_number(number)); }

Tensor add_product(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
    KINDLING_CHECK(Runtime, self.dtype() == b.dtype() || a.dtype() != b.dtype(),
                   "self and mat2 must have the same dtype, but got %s and %s", scalar_type_name(self.dtype()),
                   scalar_type_name(b.dtype()));
    Tensor result = scaled(product(a, b), alpha);
    if (beta.equals(0)) {
        if (!is_sparse(result)) expanded_strides(self.sizes(), self.strides(), result.sizes());
        return is_sparse(result) && !is_sparse(self) ? as_dense(result) : result;
    }
    Tensor added = scaled(self, beta);
    if (is_sparse(added) && !is_sparse(result)) return add(result, added);
    if (!is_sparse(added)) added = expand(added, result.sizes());
    return is_sparse(added) && is_sparse(result) && added.impl()->layout != result.impl()->layout
               ? add(added, as_layout(result, added.impl()->layout, block_of(added)))
               : add(added, result);
}

struct Triangle {
    bool upper, transpose, unit;
};

/// The solution of A x = b by substitution, of b's rows one after the other. Elements on A's other side count as zeros.
template <class T>
void substitute(const Triangle& t, int64_t n, const int64_t* starts, const int64_t* columns, const T* values, T* x, int64_t width) {
    const auto beside = [&](int64_t row, int64_t column) { return t.upper ? column > row : column < row; };
    for (int64_t step = 0; step < n; step++) {
        const int64_t row = t.upper != t.transpose ? n - 1 - step : step;
        T diagonal(0);
        for (int64_t i = starts[row]; i < starts[row + 1]; i++) {
            if (columns[i] == row) diagonal += values[i];
            for (int64_t k = 0; !t.transpose && beside(row, columns[i]) && k < width; k++)
                x[row * width + k] -= values[i] * x[columns[i] * width + k];
        }
        for (int64_t k = 0; !t.unit && k < width; k++) x[row * width + k] /= diagonal;
        for (int64_t i = starts[row]; t.transpose && i < starts[row + 1]; i++)
            for (int64_t k = 0; beside(row, columns[i]) && k < width; k++) x[columns[i] * width + k] -= values[i] * x[row * width + k];
    }
}

Tensor adjoint_of(const Tensor& t) { return conj(transpose(t, 0, 1)); }

/// What only some elements of a product are asked for: those that `pattern`, CSR, has.
Tensor sampled(const Tensor& pattern, const Tensor& a, const Tensor& b) {
    const SparseParts& parts = parts_of(pattern);
    const int64_t count = element_count(pattern), batch = batch_dims(pattern);
    Tensor rows = row_indices_of(parts.compressed, count);
    if (!batch) return sum(mul(index_select(a, 0, rows), index_select(t(b), 0, parts.indices)), IntList({1}));
    Sizes one(parts.indices.sizes()), wide_a, wide_b;
    one.push_back(1);
    Tensor left = to(reshape(rows, one), DType::Int64), right = to(reshape(parts.indices, one), DType::Int64);
    Tensor other = transpose(b, -2, -1);
    wide_a = one;
    wide_a.back() = a.size(-1);
    return sum(mul(gather(a, batch, contiguous(expand(left, wide_a))), gather(other, batch, contiguous(expand(right, wide_a)))),
               IntList({-1}));
}
} // namespace

static void need_csr(const Tensor& self, const char* name) {
    KINDLING_CHECK(NotImplemented, is_compressed(self),
                   "Could not run 'aten::%s' with arguments from the '%s' backend. This could be because the operator doesn't exist for "
                   "this backend, or was omitted during the selective/custom build process (if using custom build).",
                   name, is_coo(self) ? "SparseCPU" : "CPU");
}

/// The rows of a COO matrix that have elements, and those of its product with a strided one.
static Tensor product_rows(const Tensor& mat1, const Tensor& mat2, Tensor& rows) {
    KINDLING_CHECK(Runtime, is_coo(mat1) && !is_sparse(mat2), "sspaddmm: a sparse and a strided matrix are expected, not %s and %s",
                   layout_word(mat1.impl()->layout), layout_word(mat2.impl()->layout));
    KINDLING_CHECK(Runtime, mat2.dim() == 2, "sspaddmm: Argument #3: matrices expected, got %ldD tensor", mat2.dim());
    Tensor all = product(mat1, mat2);
    rows = std::get<0>(_unique2(select(parts_of(mat1).indices, 0, 0), true, false, false));
    return index_select(all, 0, rows);
}

void sparse_products(SparseKernels& sparse) {
    sparse("mm", [](const Tensor& self, const Tensor& mat2) {
        if (!is_sparse(mat2)) (void)mat2.size(1); // PyTorch has an IndexError for these vectors
        else if (is_coo(mat2)) (void)self.size(-2);
        return product(self, mat2);
    });
    sparse("addmm", Function<add_product>());
    sparse("mv", [](const Tensor& self, const Tensor& vec) {
        KINDLING_CHECK(Runtime, self.dim() == 2 && vec.dim() == 1 && self.size(1) == vec.size(0),
                       "mv: Expected self.size(-1) == vec.size(-1)");
        return select(product(self, unsqueeze(vec, 1)), 1, 0);
    });
    sparse("addmv", [](const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
        Tensor result = scaled(select(product(mat, unsqueeze(vec, 1)), 1, 0), alpha);
        return beta.equals(0) ? result : add(expand(scaled(self, beta), result.sizes()), result);
    });
    sparse("bmm", [](const Tensor& self, const Tensor& mat2) {
        KINDLING_CHECK(Runtime, self.dim() == 3 && mat2.dim() == 3 && !is_sparse(mat2),
                       "bmm: batches of a sparse and a strided matrix are expected");
        KINDLING_CHECK(Runtime, self.size(0) == mat2.size(0), "bmm_sparse: Argument #2 (mat2) dim 0 must match");
        KINDLING_CHECK(Runtime, self.size(2) == mat2.size(1), "bmm_sparse: size of the matrices does not match: %ld and %ld", self.size(2),
                       mat2.size(1));
        std::vector<Tensor> list;
        for (int64_t i = 0; i < self.size(0); i++) list.push_back(product(select(self, 0, i), select(mat2, 0, i)));
        return list.empty() ? zeros({0, self.size(1), mat2.size(2)}, self.dtype()) : stack(list, 0);
    });
    sparse.parts("matmul", [](const Tensor& self, const Tensor& other) {
        if (self.dim() == 2 && other.dim() == 1) return mv(self, other);
        if (self.dim() == 2 && other.dim() == 2) return mm(self, other);
        if (self.dim() == 3 && other.dim() == 3) return bmm(self, other);
        if (self.dim() == 1 && other.dim() == 2 && is_sparse(other)) return mv(transpose(other, 0, 1), self);
        if (!is_sparse(self) && self.dim() > 2 && other.dim() == 2) { // a batch of rows
            Sizes sizes = self.sizes();
            sizes.back() = other.size(1);
            return reshape(mm(reshape(self, {-1, self.size(-1)}), other), sizes);
        }
        fail(ErrorKind::Runtime, "matmul: sparse tensors with %ld and %ld dimensions cannot be multiplied", self.dim(), other.dim());
    });
    sparse.parts("linear", [](const Tensor& input, const Tensor& weight, const Tensor& bias) {
        Tensor result = matmul(input, transpose(weight, 0, 1));
        return bias.defined() ? add(result, bias) : result;
    });
}

} // namespace kindling

OPERATORS(sparse_products) {
    declare("_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * mat1 @ mat2 for a sparse mat1, whose gradient has its places only"),
        in(space::Torch | space::Sparse),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
            return is_sparse(self) || is_sparse(mat1) || is_sparse(mat2) ? add_product(self, mat1, mat2, beta, alpha)
                                                                         : addmm(self, mat1, mat2, beta, alpha);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Scalar beta) { return scaled(grad, beta); }),
        derivative(
            "mat1",
            GIVEN(Tensor grad, Tensor mat1, Tensor mat2, Scalar alpha) {
                Tensor full = scaled(mm(grad, adjoint_of(mat2)), alpha);
                return is_sparse(mat1) ? sparse_mask(full, pattern_of(mat1)) : full;
            }),
        derivative(
            "mat2", GIVEN(Tensor grad, Tensor mat1, Scalar alpha) { return scaled(mm(adjoint_of(mat1), grad), alpha); }),
    });
    declare("_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor")({
        doc("The product of two sparse matrices"),
        in(space::Torch),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, const Tensor& other) {
            need_sparse(self, "_sparse_sparse_matmul");
            need_sparse(other, "_sparse_sparse_matmul");
            return product(self, other);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self,
                          Tensor other) { return sparse_mask(_sparse_sparse_matmul(grad, adjoint_of(other)), pattern_of(self)); }),
        derivative(
            "other", GIVEN(Tensor grad, Tensor self,
                           Tensor other) { return sparse_mask(_sparse_sparse_matmul(adjoint_of(self), grad), pattern_of(other)); }),
    });
    declare("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor")({
        doc("The product of a sparse and any matrix; the sparse one's gradient has its places only"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& sparse, const Tensor& dense) {
            if (is_sparse(sparse) && is_sparse(dense)) return _sparse_sparse_matmul(sparse, dense);
            if (is_sparse(sparse)) (void)dense.size(-1); // PyTorch asks for it before it asks for matrices
            if (is_sparse(sparse)) return _sparse_addmm(zeros({}, dense.dtype()), sparse, dense, Scalar(0), Scalar(1));
            return transpose(
                _sparse_addmm(zeros({}, sparse.dtype()), transpose(dense, 0, 1), transpose(sparse, 0, 1), Scalar(0), Scalar(1)), 0, 1);
        }),
    });
    declare("_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor")({
        doc("The product of a CSR and a strided matrix with sums, means, maxima or minima in place of sums"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& sparse, const Tensor& dense, Text reduce) {
            need_csr(sparse, "_sparse_mm_reduce_impl");
            KINDLING_CHECK(Runtime, sparse.impl()->layout == Layout::SparseCsr, "Expect input to be a SparseCsr tensor, got %s",
                           layout_word(sparse.impl()->layout));
            KINDLING_CHECK(Runtime, !is_sparse(dense), "Expect other to be a strided tensor, got %s", layout_word(dense.impl()->layout));
            KINDLING_CHECK(Runtime, sparse.dim() == 2 && dense.dim() == 2 && sparse.size(1) == dense.size(0),
                           "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)", sparse.size(0), sparse.size(1), dense.size(0),
                           dense.size(1));
            KINDLING_CHECK(Runtime, reduce == "sum" || reduce == "mean" || reduce == "amax" || reduce == "amin",
                           "reduce argument must be either sum, mean, amax or amin, got %s", std::string(reduce).c_str());
            const SparseParts& parts = parts_of(sparse);
            const int64_t count = element_count(sparse);
            Tensor rows = to(row_indices_of(parts.compressed, count), DType::Int64);
            Tensor products = mul(unsqueeze(values(sparse), 1), index_select(dense, 0, parts.indices));
            Tensor result = zeros({sparse.size(0), dense.size(1)}, products.dtype());
            if (reduce == "sum") return index_add(result, 0, rows, products);
            return scatter_reduce(result, 0, contiguous(expand(unsqueeze(rows, 1), products.sizes())), products, reduce, false);
        }),
    });
    declare("_substitute(Tensor self, Tensor starts, Tensor columns, Tensor values, bool upper, bool transpose, "
            "bool unitriangular) -> Tensor")({
        doc("The solution of A X = self for a triangle of A, whose row r has the elements from starts[r] to starts[r + 1]"),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        raises_by_value(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& starts, const Tensor& columns, const Tensor& values, bool upper,
               bool transpose, bool unitriangular) {
                KINDLING_CHECK(Runtime,
                               self.dim() == 2 && starts.dim() == 1 && columns.dim() == 1 && values.dim() == 1 &&
                                   starts.size(0) == self.size(0) + 1 && columns.size(0) == values.size(0),
                               "_substitute: %s, %s and %s are not the starts, columns and values of rows for a right side of %s",
                               str(starts.sizes()).c_str(), str(columns.sizes()).c_str(), str(values.sizes()).c_str(),
                               str(self.sizes()).c_str());
                call.reads(starts, DType::Int64);
                call.reads(columns, DType::Int64);
                call.reads(values, self.dtype());
                call.gives_copy(self);
                call.costs(values.size(0) * self.size(1));
                return Triangle{upper, transpose, unitriangular};
            },
            [](const Triangle& triangle, const Array& starts, const Array& columns, const Array& values, const Array& x) {
                library::for_type(library::Types<float, double, std::complex<float>, std::complex<double>>{}, x.dtype(),
                                  "triangular_solve_out_sparse_csr_impl_mkl", [&](auto zero) {
                                      using T = decltype(zero);
                                      const int64_t rows = x.size(0), count = values.size(0), *start = starts.data_ptr<int64_t>(),
                                                    *column = columns.data_ptr<int64_t>();
                                      bool within = true; // reading what lies elsewhere would be all that tells of wrong parts
                                      for (int64_t r = 0; r < rows; r++)
                                          within &= start[r] >= 0 && start[r] <= start[r + 1] && start[r + 1] <= count;
                                      for (int64_t i = 0; i < count; i++) within &= column[i] >= 0 && column[i] < rows;
                                      KINDLING_CHECK(Index, within,
                                                     "_substitute: rows or columns lie beyond the %ld rows and %ld values that there are",
                                                     rows, count);
                                      substitute(triangle, x.size(0), starts.data_ptr<int64_t>(), columns.data_ptr<int64_t>(),
                                                 values.data_ptr<T>(), x.data_ptr<T>(), x.size(1));
                                  });
            }),
    });
    declare("_sparse_triangular_solve(Tensor self, Tensor A, bool upper, bool transpose, bool unitriangular) -> Tensor")({
        doc("The solution of A X = self for a triangle of a CSR or BSR matrix; A's gradient is strided, as PyTorch's is"),
        in(space::Torch),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular) {
            KINDLING_CHECK(NotImplemented, is_compressed(A) && !is_sparse(self),
                           "Could not run 'aten::triangular_solve' with arguments from the 'SparseCPU' backend. This could be because the "
                           "operator doesn't exist for this backend");
            KINDLING_CHECK(Value, by_rows(A.impl()->layout), "triangular_solve: unsupported sparse layout.");
            KINDLING_CHECK(Runtime, self.dim() == 2 && A.dim() == 2,
                           "triangular_solve: one sparse matrix and one strided matrix are expected, not %ld and %ld dimensions", A.dim(),
                           self.dim());
            KINDLING_CHECK(Runtime, self.dtype() == A.dtype(),
                           "Expected b and A to have the same dtype, but found b of type %s and A of type %s instead.",
                           scalar_type_name(self.dtype()), scalar_type_name(A.dtype()));
            const Elements a = elements_of(A);
            check_places(a, A.size(1));
            return _substitute(self, a.starts, a.columns, a.values, upper, transpose, unitriangular);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor A, bool upper, bool transpose, bool unitriangular) {
                return _sparse_triangular_solve(grad, conj_physical(A), upper, !transpose, unitriangular);
            }),
        derivative(
            "A",
            GIVEN(Tensor grad, Tensor A, Tensor result, bool upper, bool transpose, bool unitriangular) {
                Tensor g = _sparse_triangular_solve(grad, conj_physical(A), upper, !transpose, unitriangular);
                Tensor full = neg(transpose ? mm(conj(result), t(g)) : mm(g, adjoint_of(result)));
                return upper ? triu(full, unitriangular ? 1 : 0) : tril(full, unitriangular ? -1 : 0);
            }),
    });
    declare("hspmm(Tensor mat1, Tensor mat2) -> Tensor")({
        doc("The product of a COO and a strided matrix as COO with one sparse dimension: the rows that mat1 has"),
        takes_sparse(),
        no_derivative(),
        no_out(),
        composition([](const Tensor& mat1, const Tensor& mat2) {
            Tensor rows, values = product_rows(mat1, mat2, rows);
            return make_coo({mat1.size(0), mat2.size(1)}, unsqueeze(rows, 0), values);
        }),
    });
    declare("sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * mat1 @ mat2 as COO, for COO self and mat1"),
        takes_sparse(),
        no_derivative(),
        no_out(),
        composition([](const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
            KINDLING_CHECK(Runtime, is_coo(self), "tensor.sspaddmm(...) can only be called on sparse tensors");
            Tensor rows, values = scaled(product_rows(mat1, mat2, rows), alpha);
            Sizes grid{rows.size(0), mat2.size(1)};
            Tensor at_row = reshape(contiguous(expand(unsqueeze(rows, 1), grid)), {-1}),
                   at_column = reshape(contiguous(expand(arange(Scalar(mat2.size(1))), grid)), {-1});
            Tensor indices = stack(std::vector<Tensor>{at_row, at_column}, 0);
            const SparseParts& parts = parts_of(self);
            if (!beta.equals(0)) {
                indices = cat(std::vector<Tensor>{parts.indices, indices}, 1);
                values = cat(std::vector<Tensor>{scaled(parts.values, beta), reshape(values, {-1})}, 0);
            }
            return make_coo(self.sizes(), indices, reshape(values, {-1}));
        }),
    });
    declare("smm(Tensor self, Tensor mat2) -> Tensor")({
        doc("The product of a COO and a strided matrix as COO"),
        no_out(),
        composition([](const Tensor& self, const Tensor& mat2) {
            KINDLING_CHECK(Runtime, is_coo(self), "tensor.sspaddmm(...) can only be called on sparse tensors");
            KINDLING_CHECK(Runtime, mat2.dim() == 2, "sspaddmm: Argument #3: matrices expected, got %ldD tensor", mat2.dim());
            return sspaddmm(_sparse_coo_tensor_with_dims(2, 0, {self.size(0), mat2.size(1)}, self.dtype(), Layout::Sparse), self, mat2,
                            Scalar(0), Scalar(1));
        }),
    });
    declare("spmm(Tensor self, Tensor mat2) -> Tensor")({
        doc("mm, by the name that programs with sparse matrices use"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Tensor& mat2) { return mm(self, mat2); }),
    });
    declare("sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("alpha * mat1 @ mat2 where a CSR tensor has elements, plus beta times these"),
        in(space::Torch | space::Sparse),
        takes_sparse(),
        has_out(),
        composition([](const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
            need_csr(self, "sparse_sampled_addmm");
            KINDLING_CHECK(Runtime, self.impl()->layout == Layout::SparseCsr, "Expected self to have sparse csr layout, but got %s",
                           layout_word(self.impl()->layout));
            KINDLING_CHECK(Runtime, !is_sparse(mat1), "Expected mat1 to have strided layout, but got %s", layout_word(mat1.impl()->layout));
            KINDLING_CHECK(Runtime, !is_sparse(mat2), "Expected mat2 to have strided layout, but got %s", layout_word(mat2.impl()->layout));
            KINDLING_CHECK(Runtime, mat1.dim() >= 2, "Expected mat1 to be a matrix, got %ldD tensor", mat1.dim());
            KINDLING_CHECK(Runtime, mat2.dim() >= 2, "Expected mat2 to be a matrix, got %ldD tensor", mat2.dim());
            KINDLING_CHECK(Runtime, mat1.size(-1) == mat2.size(-2), "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)",
                           mat1.size(-2), mat1.size(-1), mat2.size(-2), mat2.size(-1));
            KINDLING_CHECK(Runtime, self.size(-2) == mat1.size(-2), "self.shape[-2] must match mat1.shape[-2]");
            KINDLING_CHECK(Runtime, self.size(-1) == mat2.size(-1), "self.shape[-1] must match mat2.shape[-1]");
            KINDLING_CHECK(Runtime, mat1.dtype() == mat2.dtype(), "Expected mat1 and mat2 to have the same dtype, but got %s and %s",
                           scalar_type_name(mat1.dtype()), scalar_type_name(mat2.dtype()));
            KINDLING_CHECK(Runtime, mat1.dtype() == self.dtype(), "Expected mat1 and self to have the same dtype, but got %s and %s",
                           scalar_type_name(mat1.dtype()), scalar_type_name(self.dtype()));
            Tensor values = scaled(sampled(self, mat1, mat2), alpha);
            return with_values(self, beta.equals(0) ? values : add(values, scaled(parts_of(self).values, beta)));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Scalar beta) { return scaled(grad, beta); }),
        derivative(
            "mat1",
            GIVEN(Tensor grad, Tensor self, Tensor mat2, Scalar alpha) {
                return scaled(matmul(to_dense(sparse_mask(grad, pattern_of(self))), conj(transpose(mat2, -2, -1))), alpha);
            }),
        derivative(
            "mat2",
            GIVEN(Tensor grad, Tensor self, Tensor mat1, Scalar alpha) {
                return scaled(matmul(conj(transpose(mat1, -2, -1)), to_dense(sparse_mask(grad, pattern_of(self)))), alpha);
            }),
    });
}
