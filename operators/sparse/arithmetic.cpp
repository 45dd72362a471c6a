// operators/sparse/arithmetic.cpp: sums, products and quotients of sparse tensors by element.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "operators/sparse/kernels.h"

namespace kindling {

static DType common_type(const Tensor& a, const Tensor& b) {
    ResultType type;
    type.add(*a.impl());
    type.add(*b.impl());
    return type.get();
}

// ---- two lists of elements as one

namespace {
/// Elements in the order of their keys.
struct Elements {
    Tensor keys, values;
};

/// Where each element of two lists goes in their union, and which element of one list behind the other each place is of.
struct Union {
    Tensor first_to, second_to, from;
};

/// The lists are met in the order they have; keys that meet share a place.
Union meet(const Tensor& a, const Tensor& b) {
    const int64_t na = a.numel(), nb = b.numel();
    Tensor ka = contiguous(a), kb = contiguous(b);
    Union u{empty({na}, DType::Int64), empty({nb}, DType::Int64), empty({na + nb}, DType::Int64)};
    const auto *x = ka.data_ptr<int64_t>(), *y = kb.data_ptr<int64_t>();
    auto *to_a = u.first_to.data_ptr<int64_t>(), *to_b = u.second_to.data_ptr<int64_t>(), *from = u.from.data_ptr<int64_t>();
    int64_t i = 0, j = 0, count = 0;
    while (i < na || j < nb) {
        const bool first = i < na && (j == nb || x[i] <= y[j]), second = j < nb && (i == na || y[j] <= x[i]);
        from[count] = first ? i : na + j;
        if (first) to_a[i++] = count;
        if (second) to_b[j++] = count;
        count++;
    }
    u.from = narrow(u.from, 0, 0, count);
    return u;
}

/// The places of keys that both sorted lists have, in each of them.
std::pair<Tensor, Tensor> common(const Tensor& a, const Tensor& b) {
    const int64_t na = a.numel(), nb = b.numel(), most = std::min(na, nb);
    Tensor ka = contiguous(a), kb = contiguous(b), in_a = empty({most}, DType::Int64), in_b = empty({most}, DType::Int64);
    const auto *x = ka.data_ptr<int64_t>(), *y = kb.data_ptr<int64_t>();
    auto *to_a = in_a.data_ptr<int64_t>(), *to_b = in_b.data_ptr<int64_t>();
    int64_t count = 0;
    for (int64_t i = 0, j = 0; i < na && j < nb;) {
        if (x[i] == y[j]) {
            to_a[count] = i++;
            to_b[count++] = j++;
        } else if (x[i] < y[j]) i++;
        else j++;
    }
    return {narrow(in_a, 0, 0, count), narrow(in_b, 0, 0, count)};
}

Tensor sum_values(const Union& u, const Tensor& a, const Tensor& b, const Scalar& alpha) {
    Sizes sizes = a.sizes();
    sizes[0] = u.from.size(0);
    Tensor first = index_copy(zeros(sizes, a.dtype()), 0, u.first_to, a);
    return u.second_to.numel() ? index_add(first, 0, u.second_to, b, alpha) : first;
}

/// The elements of a matrix by its compressed dimension; blocks count as elements.
Tensor keys_of(const Tensor& t) {
    KINDLING_CHECK(Runtime, batch_dims(t) == 0, "batches of compressed sparse tensors have no arithmetic");
    const SparseParts& parts = parts_of(t);
    Tensor rows = to(row_indices_of(parts.compressed, element_count(t)), DType::Int64);
    return add(mul(rows, wrap_number(Scalar(t.size(0) * t.size(1) + 1))), to(parts.indices, DType::Int64));
}

/// Of the elements of `like`, and those of `other` behind them, the chosen ones, in order.
Tensor rebuilt(const Tensor& like, const Tensor& other, const Tensor& from, const Tensor& values) {
    const SparseParts &a = parts_of(like), &b = parts_of(other);
    Tensor plain = index_select(cat(std::vector<Tensor>{a.indices, b.indices}, 0), 0, from);
    Tensor rows = index_select(
        cat(std::vector<Tensor>{row_indices_of(a.compressed, element_count(like)), row_indices_of(b.compressed, element_count(other))}, 0),
        0, from);
    return make_sparse(like.impl()->layout, like.sizes(), {plain, values, compressed_of(rows, a.compressed.size(-1) - 1)});
}
} // namespace

// ---- sums

static Tensor add_coo(const Tensor& a, const Tensor& b, const Scalar& alpha, DType dtype) {
    const SparseParts &left = parts_of(a), &right = parts_of(b);
    Tensor x = to(left.values, dtype), y = to(right.values, dtype);
    if (element_count(b) == 0) return make_coo(a.sizes(), clone(left.indices), left.values.dtype() == dtype ? clone(x) : x, left.coalesced);
    if (element_count(a) == 0) return make_coo(a.sizes(), clone(right.indices), mul(y, wrap_number(alpha)), right.coalesced);
    KINDLING_CHECK(Runtime, sparse_dims(a) == sparse_dims(b),
                   "add: expected 'self' and 'other' to have same density, but 'self' has %ld sparse dimensions while 'other' has %ld "
                   "sparse dimensions",
                   sparse_dims(a), sparse_dims(b));
    const bool both = left.coalesced && right.coalesced;
    if (!x.is_contiguous() || !y.is_contiguous()) { // gradients of expanded values: one list behind the other
        Tensor sum = make_coo(a.sizes(), cat(std::vector<Tensor>{left.indices, right.indices}, 1),
                              cat(std::vector<Tensor>{x, mul(y, wrap_number(alpha))}, 0));
        return element_count(sum) > sum.numel() ? coalesced(sum) : sum;
    }
    Union u = meet(flat_indices(left.indices, a.sizes()), flat_indices(right.indices, b.sizes()));
    Tensor indices = index_select(cat(std::vector<Tensor>{left.indices, right.indices}, 1), 1, u.from);
    Tensor result = make_coo(a.sizes(), indices, sum_values(u, x, y, alpha));
    parts_of(result).coalesced = both;
    return result;
}

static Tensor added(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const DType dtype = common_type(self, other);
    if (!is_sparse(self) || (is_compressed(self) && !is_sparse(other))) {
        const Tensor &sparse = is_sparse(self) ? self : other, &dense = is_sparse(self) ? other : self;
        KINDLING_CHECK(Runtime, dense.sizes() == sparse.sizes(),
                       "add: expected 'self' and 'other' to have same size, but self has size %s while other has size %s (FYI: %s-sparse "
                       "addition does not currently support broadcasting)",
                       str(dense.sizes()).c_str(), str(sparse.sizes()).c_str(), is_coo(sparse) ? "dense" : "op2");
        return add(as_dense(self), as_dense(other), alpha);
    }
    KINDLING_CHECK(Runtime, is_sparse(other), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
    KINDLING_CHECK(Runtime, self.impl()->layout == other.impl()->layout,
                   "add: expected 'self' and 'other' to have same layout, but got %s and %s", name(self.impl()->layout),
                   name(other.impl()->layout));
    KINDLING_CHECK(Runtime, self.sizes() == other.sizes(), "add: expected sizes of 'self' and 'other' to match, but %s != %s",
                   str(self.sizes()).c_str(), str(other.sizes()).c_str());
    if (is_coo(self)) return add_coo(self, other, alpha, dtype);
    Union u = meet(keys_of(self), keys_of(other));
    return rebuilt(self, other, u.from, sum_values(u, to(parts_of(self).values, dtype), to(parts_of(other).values, dtype), alpha));
}

static Tensor subtracted(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    KINDLING_CHECK(Runtime, self.dtype() != DType::Bool && other.dtype() != DType::Bool,
                   "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                   "`logical_not()` operator instead.");
    return added(self, other,
                 alpha.is_complex()    ? Scalar(-alpha.to_complex())
                 : alpha.is_integral() ? Scalar(-alpha.to_int())
                                       : Scalar(-alpha.to_double()));
}

/// A dense self in place: the elements are added where they belong.
static Tensor added_into(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    KINDLING_CHECK(Runtime, self.sizes() == other.sizes(),
                   "add: expected 'self' and 'other' to have same size, but self has size %s while other has size %s (FYI: dense-sparse "
                   "addition does not currently support broadcasting)",
                   str(self.sizes()).c_str(), str(other.sizes()).c_str());
    const DType dtype = common_type(self, other);
    KINDLING_CHECK(Runtime, can_cast(dtype, self.dtype()), "Can't convert result type %s to output %s in add operation",
                   scalar_type_name(dtype), scalar_type_name(self.dtype()));
    const int64_t dims = is_coo(other) ? sparse_dims(other) : 0;
    if (!dims || dtype != self.dtype() || !self.is_contiguous()) {
        copy_into(self, add(self, as_dense(other), alpha));
    } else if (element_count(other)) {
        Sizes rows{1};
        for (int64_t d = 0; d < self.dim(); d++) {
            if (d < dims) rows[0] *= self.size(d);
            else rows.push_back(self.size(d));
        }
        const SparseParts& parts = parts_of(other);
        index_add_(view(untied(make_view(self, self.sizes(), self.strides(), self.storage_offset())), rows), 0,
                   flat_indices(parts.indices, other.sizes()), to(parts.values, dtype), alpha);
    }
    written(self);
    return self;
}

// ---- products

/// COO over more dimensions in front, or repeated along those of size 1.
static Tensor expanded_coo(const Tensor& self, IntList sizes) {
    const int64_t lead = static_cast<int64_t>(sizes.size()) - self.dim(), dims = sparse_dims(self);
    const SparseParts& parts = parts_of(self);
    Tensor indices = parts.indices, values = parts.values;
    bool same = lead == 0;
    Sizes inner{values.size(0)};
    for (int64_t d = dims; d < self.dim(); d++) inner.push_back(sizes[static_cast<size_t>(lead + d)]);
    values = expand(values, inner);
    bool sorted = parts.coalesced;
    for (int64_t d = dims; d-- > -lead;) { // from the last dimension to the first, so that sorted elements stay sorted
        const int64_t size = sizes[static_cast<size_t>(lead + d)];
        if (d >= 0 && self.size(d) == size) continue;
        same = false;
        const int64_t count = indices.size(1);
        Tensor lines = repeat_interleave(arange(Scalar(size)), count);
        sorted = sorted && d <= 0;
        Tensor turns = remainder(arange(Scalar(size * count)), wrap_number(Scalar(std::max<int64_t>(count, 1))));
        Tensor all = index_select(indices, 1, turns);
        values = index_select(values, 0, turns);
        if (d < 0) indices = cat(std::vector<Tensor>{unsqueeze(lines, 0), all}, 0);
        else
            indices = cat(std::vector<Tensor>{narrow(all, 0, 0, d + (indices.size(0) - dims)), unsqueeze(lines, 0),
                                              narrow(all, 0, d + 1 + (indices.size(0) - dims), dims - d - 1)},
                          0);
    }
    return same && values.is_same(parts.values) ? self : make_coo(sizes, indices, values, sorted);
}

static Tensor times_dense(const Tensor& sparse, const Tensor& dense, DType dtype) {
    Sizes sizes = broadcast_sizes(sparse.sizes(), dense.sizes());
    if (is_compressed(sparse)) {
        KINDLING_CHECK(Runtime, dense.sizes() == sparse.sizes(),
                       "sparse_mask(): operands have incompatible sizes; self has size %s but mask has size %s", str(dense.sizes()).c_str(),
                       str(sparse.sizes()).c_str());
        return with_values(sparse, mul(to(parts_of(sparse).values, dtype), parts_of(sparse_mask(dense, sparse)).values));
    }
    Tensor self = expanded_coo(sparse, sizes);
    const SparseParts& parts = parts_of(self);
    Tensor values = mul(to(parts.values, dtype), to(values_at(expand(dense, sizes), parts.indices), dtype));
    return make_coo(sizes, parts.indices, values, parts.coalesced);
}

static Tensor times_coo(const Tensor& a, const Tensor& b, DType dtype) {
    bool alike = a.dim() == b.dim() && sparse_dims(a) == sparse_dims(b);
    for (int64_t d = 0; alike && d < sparse_dims(a); d++) alike = a.size(d) == b.size(d);
    KINDLING_CHECK(Runtime, alike,
                   "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse dimensions, and "
                   "shape of sparse dimensions");
    const SparseParts &left = parts_of(a), &right = parts_of(b);
    Sizes sizes = broadcast_sizes(a.sizes(), b.sizes());
    if (!element_count(a) || !element_count(b)) {
        Tensor values = mul(to(narrow(left.values, 0, 0, 0), dtype), to(narrow(right.values, 0, 0, 0), dtype));
        return make_coo(sizes, narrow(left.indices, 1, 0, 0), values, true);
    }
    if (left.coalesced && right.coalesced) {
        auto [mine, others] = common(flat_indices(left.indices, a.sizes()), flat_indices(right.indices, b.sizes()));
        Tensor values = mul(to(index_select(left.values, 0, mine), dtype), to(index_select(right.values, 0, others), dtype));
        return make_coo(sizes, index_select(left.indices, 1, mine), values, true);
    }
    // The elements of one that is not coalesced, times what the other has there.
    const bool keep_a = !left.coalesced && (right.coalesced || element_count(a) < element_count(b));
    const Tensor &kept = keep_a ? a : b, &other = keep_a ? b : a;
    Tensor mine = to(parts_of(kept).values, dtype), found = to(values_at(other, parts_of(kept).indices), dtype);
    Tensor result = make_coo(sizes, parts_of(kept).indices, keep_a ? mul(mine, found) : mul(found, mine));
    parts_of(result).coalesced = false;
    return result;
}

static Tensor times_compressed(const Tensor& a, const Tensor& b, DType dtype) {
    KINDLING_CHECK(Runtime, a.sizes() == b.sizes(),
                   "mul(sparse_csr, sparse_csr): expected both operands to have the same size, but got %s and %s", str(a.sizes()).c_str(),
                   str(b.sizes()).c_str());
    Tensor other = as_layout(b, a.impl()->layout, block_of(a));
    auto [mine, others] = common(keys_of(a), keys_of(other));
    Tensor values = mul(to(index_select(parts_of(a).values, 0, mine), dtype), to(index_select(parts_of(other).values, 0, others), dtype));
    return rebuilt(a, other, mine, values);
}

static Tensor multiplied(const Tensor& self, const Tensor& other) {
    const DType dtype = common_type(self, other);
    const Tensor &sparse = is_sparse(self) ? self : other, &second = is_sparse(self) ? other : self;
    if (second.dim() == 0 && !is_sparse(second)) {
        Tensor values = parts_of(sparse).values;
        return with_values(sparse, is_sparse(self) ? mul(values, second) : mul(second, values));
    }
    if (!is_sparse(second)) return times_dense(sparse, second, dtype);
    if (is_coo(self) && is_coo(other)) return times_coo(self, other, dtype);
    KINDLING_CHECK(Runtime, is_compressed(self), "Expected result Tensor to be of format CSR");
    return times_compressed(self, other, dtype);
}

// ---- quotients

static void need_number(const Tensor& other, const char* what) {
    KINDLING_CHECK(Runtime, !is_sparse(other) && other.dim() == 0,
                   "Sparse %s requires a scalar or zero-dim dense tensor divisor (got shape %s for divisor)", what,
                   str(other.sizes()).c_str());
}

static Tensor divided(const Tensor& self, const Tensor& other) {
    need_number(other, "division");
    return with_values(self, div(parts_of(self).values, other));
}

static Tensor divided_rounding(const Tensor& self, const Tensor& other, std::optional<Text> mode) {
    if (!mode) return divided(self, other);
    need_number(other, "division");
    Tensor from = is_coo(self) ? coalesced(self) : self;
    return with_values(from, div(parts_of(from).values, other, mode));
}

static Tensor floor_divided(const Tensor& self, const Tensor& other) {
    need_number(other, "floor division");
    Tensor from = is_coo(self) ? coalesced(self) : self;
    return with_values(from, floor_divide(parts_of(from).values, other));
}

static Tensor raised(const Tensor& self, const Scalar& exponent) {
    KINDLING_CHECK(Runtime, !exponent.equals(0),
                   "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense");
    Tensor from = is_coo(self) ? coalesced(self) : self;
    return with_values(from, pow(parts_of(from).values, exponent));
}

void sparse_arithmetic(SparseKernels& sparse) {
    sparse("add.Tensor", Function<added>());
    sparse("sub.Tensor", Function<subtracted>());
    sparse.coo("rsub.Scalar", [](const Tensor& self, const Scalar& other, const Scalar& alpha) {
        return subtracted(scalar_tensor(other, self.dtype()), self, alpha);
    });
    sparse("add_.Tensor", [](const Tensor& self, const Tensor& other, const Scalar& alpha) {
        if (!is_sparse(self)) return added_into(self, other, alpha);
        const DType dtype = common_type(self, other);
        Tensor sum = added(self, other, alpha);
        KINDLING_CHECK(Runtime, can_cast(dtype, self.dtype()), "Can't convert result type %s to output %s in add operation",
                       scalar_type_name(dtype), scalar_type_name(self.dtype()));
        if (!is_sparse(sum)) fail(ErrorKind::Runtime, "Sparse CSR tensors do not have is_contiguous");
        replace_parts(self, sum.dtype() == self.dtype() ? sum : to(sum, self.dtype()));
        written(self);
        return self;
    });
    sparse("sub_.Tensor", [](const Tensor& self, const Tensor& other, const Scalar& alpha) {
        KINDLING_CHECK(Runtime, self.dtype() != DType::Bool && other.dtype() != DType::Bool,
                       "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
                       "`~` or `logical_not()` operator instead.");
        return add_(self, other,
                    alpha.is_complex()    ? Scalar(-alpha.to_complex())
                    : alpha.is_integral() ? Scalar(-alpha.to_int())
                                          : Scalar(-alpha.to_double()));
    });
    sparse("mul.Tensor", Function<multiplied>());
    sparse("mul_.Tensor", [](const Tensor& self, const Tensor& other) {
        const DType dtype = common_type(self, other);
        if (!is_sparse(self)) {
            KINDLING_CHECK(Runtime, is_coo(other), "Expected result Tensor to be of format CSR");
            KINDLING_CHECK(Runtime, self.dim() || !other.dim(),
                           "add: expected 'self' and 'other' to have same size, but self has size %s while other has size %s (FYI: "
                           "dense-sparse addition does not currently support broadcasting)",
                           str(self.sizes()).c_str(), str(other.sizes()).c_str());
        }
        KINDLING_CHECK(Runtime, can_cast(dtype, self.dtype()), "Can't convert result type %s to output %s", scalar_type_name(dtype),
                       scalar_type_name(self.dtype()));
        Tensor result = multiplied(self, other);
        KINDLING_CHECK(Runtime, result.sizes() == self.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                       str(self.sizes()).c_str(), str(result.sizes()).c_str());
        if (!is_sparse(self)) copy_into(self, as_dense(result));
        else {
            if (is_coo(self) && !is_sparse(other) && element_count(result) > 1) parts_of(result).coalesced = false; // as PyTorch leaves it
            put_parts(self, result.dtype() == self.dtype() ? result : to(result, self.dtype()));
        }
        written(self);
        return self;
    });
    sparse("div.Tensor", Function<divided>());
    sparse("div.Tensor_mode", Function<divided_rounding>());
    sparse.coo("floor_divide", Function<floor_divided>());
    sparse.coo("pow.Tensor_Scalar", Function<raised>());
    sparse("threshold_backward", [](const Tensor& grad, const Tensor& self, const Scalar& threshold) {
        Tensor at = is_sparse(self) ? self : grad;
        if (is_coo(at)) at = coalesced(at);
        return with_values(at, threshold_backward(values_like(grad, at), values_like(self, at), threshold));
    });
    // Linear: each element for itself, coalesced or not.
    sparse("neg", [](const Tensor& self) { return with_values(self, neg(parts_of(self).values)); });
    sparse("positive", [](const Tensor& self) { return self; });
    sparse("conj_physical", [](const Tensor& self) { return with_values(self, conj_physical(parts_of(self).values)); });
    sparse("real", [](const Tensor& self) { return with_values(self, clone(real(parts_of(self).values))); });
    sparse("imag", [](const Tensor& self) { return with_values(self, clone(imag(parts_of(self).values))); });
}

} // namespace kindling
