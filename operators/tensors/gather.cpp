// operators/tensors/gather.cpp: reading and writing at places along one dimension: index_select and its kin, gather, scatter.
#include <algorithm>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/indexing/indexing.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "operators/tensors/places.h"

namespace kindling {
namespace {

using library::Write;

library::Indexed indexed_along(const Array& self, int64_t dim, const Array& index) {
    const int64_t *sizes = self.sizes().data(), *strides = self.strides().data();
    return {self.dtype(),
            static_cast<int>(dim),
            static_cast<int>(self.dim() - dim - 1),
            sizes,
            strides,
            sizes + dim + 1,
            strides + dim + 1,
            index.data_ptr<int64_t>(),
            index.numel(),
            self.stride(dim)};
}

/// What is said of an index_select beyond the end; of matrices without elements torch has another class.
[[noreturn]] void fail_selected(IntList sizes) {
    fail(sizes.size() > 1 && !checked_numel(sizes) ? ErrorKind::Runtime : ErrorKind::Index, "index out of range in self");
}
[[noreturn]] void fail_along(int64_t place, int64_t dim, int64_t size) {
    fail(ErrorKind::Runtime, "index %ld is out of bounds for dimension %ld with size %ld", place, dim, size);
}
/// The checks of values of gather and scatter, and of what writes slices (`by_element`: as scatter says it).
void check_within(const Tensor& index, IntList self_sizes, int64_t dim) {
    const int64_t size = size_along(self_sizes, dim);
    if (auto bad = place_outside(index, size)) fail_along(*bad, wrap_dim(dim, static_cast<int64_t>(self_sizes.size())), size);
}
void check_slices(const Tensor& index, IntList self_sizes, int64_t dim, IntList source_sizes) {
    if (!checked_numel(source_sizes)) return; // nothing is written
    KINDLING_CHECK(Index, !place_outside(index, size_along(self_sizes, dim)), "index out of range in self");
}
void check_fills(const Tensor& index, IntList self_sizes, int64_t dim) {
    const int64_t size = size_along(self_sizes, dim);
    if (!checked_numel(self_sizes) && size) return;
    const auto bad = place_outside(index, size, true);
    if (bad && self_sizes.empty()) fail(ErrorKind::Index, "index %ld is out of bounds for dimension 0 with size 1", *bad);
    KINDLING_CHECK(Index, !bad, "index out of range in self");
}

/// Refuses indices along a dimension that are no vector, or out of range.
void check_places(const Tensor& self, int64_t dim, const Tensor& index, const char* operation) {
    KINDLING_CHECK(Index, index.dim() <= 1, "%s(): Index is supposed to be a vector, but got dim: %ld", operation, index.dim());
    KINDLING_CHECK(Runtime, index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
                   "%s(): Expected dtype int32/int64 for index but got: %s", operation, scalar_type_name(index.dtype()));
    KINDLING_CHECK(Runtime, !index.is_meta(),
                   "%s: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!", operation);
    Tensor places = contiguous(to(index, DType::Int64));
    KINDLING_CHECK(Index, !library::find_outside(places.data_ptr<int64_t>(), places.numel(), self.dim() ? self.size(dim) : 1),
                   "index out of range in self");
}

int64_t selected_rows(KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index) {
    dim = wrap_dim(dim, self.dim());
    KINDLING_CHECK(Index, index.dim() <= 1, "index_select(): Index is supposed to be a vector");
    KINDLING_CHECK(Runtime, self.dim() || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got %ld value(s)",
                   index.numel());
    Sizes sizes = self.sizes();
    if (self.dim()) sizes[static_cast<size_t>(dim)] = index.numel();
    KINDLING_CHECK(Runtime, index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
                   "index_select(): Expected dtype int32 or int64 for index");
    call.reads_as_it_lies(self);
    call.reads(index, DType::Int64);
    call.gives(sizes, self.dtype());
    if (self.dim()) call.goes_by_rows(dim ? 1 : 2);
    call.looks_up();
    call.runs_if_empty(); // indices are checked all the same
    return dim;
}

/// A walk along one dimension, element by element. `other` is what is read or written beside self; one of a single element stands
/// for all.
struct AlongCall {
    Sizes self_strides, other_strides, index_strides, sizes;
    library::Along along;
    /// The index is of int64, and says the sizes.
    AlongCall(const Array& self, int64_t dim, const Array& index, const Array& other, bool one = false) {
        sizes = index.dim() ? Sizes(index.sizes()) : Sizes{1};
        index_strides = index.dim() ? Sizes(index.strides()) : Sizes{1};
        describe(self, dim, index, other, one);
    }
    /// The index is a vector along `dim`; `other` says the sizes.
    AlongCall(const Array& self, int64_t dim, const Array& index, const Array& other, IntList of, bool one = false) : sizes(of) {
        index_strides = Sizes(of.size(), 0);
        index_strides[static_cast<size_t>(dim)] = index.dim() ? index.stride(0) : 0;
        describe(self, dim, index, other, one);
    }
    /// Null, or an index out of range. `from`: what result is made a copy of on the way.
    const int64_t* write(const Array& from, const Array& result, const Array& source, Write how) const {
        if (!from.defined()) return library::scatter_along(along, result.data(), source.data(), how);
        return library::copy_and_scatter(along, from.size(0), from.numel() / from.size(0), from.data(), result.data(), source.data(), how);
    }
    void check(const int64_t* bad) const {
        if (bad) fail_along(*bad, along.dim, along.bound);
    }

private:
    void describe(const Array& self, int64_t dim, const Array& index, const Array& other, bool one) {
        self_strides = self.dim() ? Sizes(self.strides()) : Sizes{1};
        if (one) other_strides = Sizes(sizes.size(), 0);
        else other_strides = other.dim() ? Sizes(other.strides()) : Sizes{1};
        along = {self.dtype(),         static_cast<int>(sizes.size()), static_cast<int>(dim),
                 sizes.data(),         index_strides.data(),           self_strides.data(),
                 other_strides.data(), index.data_ptr<int64_t>(),      self.dim() ? self.size(dim) : 1};
    }
};

Sizes without(const Tensor& t, int64_t dim) {
    Sizes sizes = t.sizes();
    if (t.dim()) sizes.erase(static_cast<size_t>(dim));
    return sizes;
}

/// As torch's index_add and index_reduce, and as its index_copy.
void check_added(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const char* operation) {
    KINDLING_CHECK(Index, index.dim() <= 1, "%s(): Index is supposed to be a vector, but got dim: %ld with type: %s and size: %s",
                   operation, index.dim(), scalar_type_name(index.dtype()), str(index.sizes()).c_str());
    KINDLING_CHECK(Runtime, index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
                   "%s(): Expected dtype int32/int64 for index but got: %s", operation, scalar_type_name(index.dtype()));
    KINDLING_CHECK(Runtime, dim == 0 || dim < source.dim(), "%s(): Indexing dim %ld is out of bounds of the source tensor with size %s",
                   operation, dim, str(source.sizes()).c_str());
    if (source.dim() || index.numel() != 1) // size(dim) refuses a number
        KINDLING_CHECK(Runtime, index.numel() == source.size(dim),
                       "%s(): Number of indices (%ld) should be equal to source.size(dim): (%ld), for dim: %ld", operation, index.numel(),
                       source.size(dim), dim);
    KINDLING_CHECK(Runtime, self.dim() == source.dim() && without(self, dim) == without(source, dim),
                   "source tensor shape must match self tensor shape, "
                   "excluding the specified dimension. Got self.shape = %s source.shape = %s",
                   str(self.sizes()).c_str(), str(source.sizes()).c_str());
}
void check_copied(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const char* operation) {
    int64_t count = index.numel();
    KINDLING_CHECK(Index, index.dim() <= 1, "%s(): Index should have dimension 1 or 0 (got %ld)", operation, index.dim());
    KINDLING_CHECK(Index, source.dim() || count == 1, "%s(): When source is scalar, index should have one element (got %ld)", operation,
                   count);
    KINDLING_CHECK(Index, source.dim() == self.dim() || !source.dim() || !self.dim(),
                   "%s(): When source and destination are not scalars, their "
                   "dimensionality must match. Source dimensionality (%ld), destination dimensionality (%ld)",
                   operation, source.dim(), self.dim());
    KINDLING_CHECK(Runtime, without(self, dim) == without(source, dim),
                   "%s(): Source/destination tensor must have same slice shapes. Destination slice "
                   "shape: %s at dimension %ld and source slice shape: %s at dimension 0.",
                   operation, str(without(self, dim)).c_str(), dim, str(without(source, dim)).c_str());
    KINDLING_CHECK(Index, !source.dim() || count == source.size(dim),
                   "%s(): Number of indices (%ld) should be equal to source.size(dim) (%ld)", operation, count, source.size(dim));
}

/// What index_add, index_copy and index_fill do: write `source` to the places of `index` along `dim`.
struct RowWrites {
    int64_t dim;
    Write how;
    bool by_element; // rows of one element
    bool scatters;   // what is out of range is told as scatter_add tells it
};

RowWrites writes_rows(KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Write how,
                      const char* operation) {
    dim = wrap_dim(dim, self.dim());
    KINDLING_CHECK(Runtime, self.dtype() == source.dtype(), "%s(): self (%s) and source (%s) must have the same scalar type", operation,
                   scalar_type_name(self.dtype()), scalar_type_name(source.dtype()));
    if (how == Write::Add) check_added(self, dim, index, source, operation);
    else check_copied(self, dim, index, source, operation);
    const bool some = source.numel(),
               by_element = dim == self.dim() - 1 && source.dim() == self.dim() && !(how == Write::Add && is_half(self.dtype()));
    call.gives_copy(self).written_as_it_lies().copied_on_the_way(some && self.dim() && (by_element ? dim > 0 : how == Write::Add));
    if (some) call.runs_if_empty(); // indices are checked all the same
    if (!some) {                    // the indices are not looked at
        call.reads(Tensor());
        call.reads(Tensor());
    } else if (by_element) {
        call.reads_as_it_lies(index, DType::Int64);
        call.reads_as_it_lies(source);
    } else {
        call.reads(index, DType::Int64);
        call.reads(source);
    }
    return {dim, how, by_element, false};
}

void check_rows(const RowWrites& rows, const Array& self, const Array& index) {
    const int64_t size = self.dim() ? self.size(rows.dim) : 1;
    const int64_t* bad = library::find_outside(index.data_ptr<int64_t>(), index.numel(), size);
    if (bad && rows.scatters) fail_along(*bad, rows.dim, size);
    KINDLING_CHECK(Index, !bad, "index out of range in self");
}

library::Indexed indexed_rows(const Array& self, int64_t dim, const Array& index) {
    static constexpr int64_t none = 0;
    if (!self.dim()) return {self.dtype(), 0, 0, &none, &none, &none, &none, index.data_ptr<int64_t>(), index.numel(), 1};
    return indexed_along(self, dim, index);
}

constexpr auto write_rows = [](const RowWrites& rows, const Array& index, const Array& source, const Array& from, const Array& result) {
    if (!index.defined()) return;
    if (rows.by_element) {
        AlongCall call(result, rows.dim, index, source, source.sizes());
        const int64_t* bad = call.write(from, result, source, rows.how);
        if (rows.scatters) call.check(bad);
        KINDLING_CHECK(Index, !bad, "index out of range in self");
        return;
    }
    check_rows(rows, result, index);
    const library::Indexed where = indexed_rows(result, rows.dim, index);
    if (from.defined()) {
        if (library::copy_and_add(where, result.size(rows.dim), from.data(), result.data(), source.data())) return;
        std::memcpy(result.data(), from.data(), static_cast<size_t>(from.numel()) * from.element_size());
    }
    library::write_places(where, result.data(), source.data(), rows.how);
};

void check_filled(const Tensor& self, const Tensor& index, bool complex) {
    KINDLING_CHECK(Runtime, index.dim() <= 1, "Index has to be a vector/scalar");
    KINDLING_CHECK(Index, index.dtype() == DType::Int64, "index_fill_(): Expected dtype int64 for index.");
    KINDLING_CHECK(Runtime, self.is_complex() || !complex, "index_fill_(): Converting complex Scalar to non-complex type is not supported");
}

struct RowFills {
    int64_t dim;
    bool by_element;
};

/// index_fill: a number at the places; negative ones count from the end.
RowFills fills_rows(KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
    dim = wrap_dim(dim, std::max<int64_t>(self.dim(), 1));
    call.reads(index);
    call.reads(value, self.dtype());
    auto row = static_cast<int64_t>(self.element_size());
    for (int64_t d = 0; d < self.dim(); d++)
        if (d != dim) row *= self.size(d);
    const bool by_element = dim == self.dim() - 1;
    call.gives_copy(self).preserves(self).written_as_it_lies().copied_on_the_way(by_element && dim > 0 && index.numel());
    call.needs_workspace(index.numel() * (static_cast<int64_t>(sizeof(int64_t)) + (by_element ? 0 : row)));
    if (row) call.runs_if_empty(); // indices are checked all the same
    return {dim, by_element};
}

constexpr auto fill_rows = [](const RowFills& rows, const Array& index, const Array& value, const Array& from, const Array& result,
                              const Workspace& room) {
    const int64_t count = index.numel(), size = result.dim() ? result.size(rows.dim) : 1;
    if (!count) return;
    int64_t* places = room.as<int64_t>();
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = index.data_ptr<int64_t>()[i];
        places[i] = place < 0 ? place + size : place;
        if (!result.dim()) KINDLING_CHECK(Index, places[i] == 0, "index %ld is out of bounds for dimension 0 with size 1", place);
        KINDLING_CHECK(Index, places[i] >= 0 && places[i] < size, "index out of range in self");
    }
    const size_t item = result.element_size();
    if (!result.dim()) {
        std::memcpy(result.data(), value.data(), item);
        return;
    }
    if (rows.by_element) {
        Sizes sizes = result.sizes();
        sizes[static_cast<size_t>(rows.dim)] = count;
        AlongCall call(result, rows.dim, index, value, sizes, true);
        call.along.index = places;
        call.write(from, result, value, Write::Set);
        return;
    }
    char* values = room.as<char>() + count * static_cast<int64_t>(sizeof(int64_t));
    const size_t bytes = static_cast<size_t>(count * (result.numel() / size)) * item;
    for (size_t done = 0; done < bytes; done += done ? std::min(done, bytes - done) : item)
        std::memcpy(values + done, done ? values : value.data(), done ? std::min(done, bytes - done) : item);
    library::Indexed where = indexed_along(result, rows.dim, index);
    where.offsets = places;
    library::write_places(where, result.data(), values, Write::Set);
};

void check_along(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* source, const char* operation) {
    if (index.numel() == 0) return; // of any dtype
    KINDLING_CHECK(Runtime, index.dtype() == DType::Int64 || index.dtype() == DType::Int32, "%s(): Expected dtype int32/int64 for index",
                   operation);
    auto dims = [](const Tensor& t) { return std::max<int64_t>(t.dim(), 1); };
    auto size = [](const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; };
    KINDLING_CHECK(Runtime, dims(self) == dims(index), "Index tensor must have the same number of dimensions as %s tensor",
                   source ? "self" : "input");
    bool fits = true;
    for (int64_t d = 0; d < dims(index); d++) {
        bool here = d == dim || size(index, d) <= size(self, d);
        if (!source)
            KINDLING_CHECK(Runtime, here,
                           "Size does not match at dimension %ld expected index %s to be no larger than self %s apart from dimension %ld",
                           d, str(index.sizes()).c_str(), str(self.sizes()).c_str(), dim);
        fits &= here;
    }
    if (!source) return;
    for (int64_t d = 0; d < dims(index) && fits; d++) fits = size(index, d) <= size(*source, d);
    KINDLING_CHECK(Runtime, dims(index) == dims(*source), "Index tensor must have the same number of dimensions as src tensor");
    KINDLING_CHECK(Runtime, fits,
                   "Expected index %s to be no larger than self %s apart from dimension %ld and to be no larger size than src %s",
                   str(index.sizes()).c_str(), str(self.sizes()).c_str(), dim, str(source->sizes()).c_str());
}

void check_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const char* operation) {
    check_along(self, dim, index, &source, operation);
    KINDLING_CHECK(Runtime, self.dtype() == source.dtype(), "%s(): Expected self.dtype to be equal to src.dtype", operation);
}

struct Scatters {
    int64_t dim;
    Write how;
    bool one; // one number for all places
};

/// Self with `source` written to the places of `index` along `dim`. `one`: source is a number, for all of them.
Scatters scatters(KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Write how,
                  bool one = false) {
    const bool wide = (how == Write::Add || how == Write::Mul) && is_half(self.dtype()); // rounded once, at the end
    const bool some = index.numel();
    if (some) call.runs_if_empty(); // indices are checked all the same; of an index without elements neither shape nor dtype is looked at
    call.reads_as_it_lies(some ? index : Tensor(), DType::Int64);
    call.reads_as_it_lies(some ? source : Tensor(), wide ? DType::Float32 : source.dtype());
    KernelCall::Result& result = call.gives_copy(self).written_as_it_lies().copied_on_the_way(some && dim > 0);
    if (wide) result.computed_in(DType::Float32);
    return {dim, how, one};
}

Scatters scattered(KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Write how,
                   const char* operation) {
    dim = wrap_dim(dim, self.dim());
    check_scatter(self, dim, index, source, operation);
    return scatters(call, self, dim, index, source, how);
}

/// The same with a number for all places.
Scatters number_scattered(KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Write how,
                          const char* operation) {
    if (!index.numel()) { // the dimension is still looked at
        wrap_dim(dim, std::max<int64_t>(self.dim(), 1));
        return scatters(call, self, 0, index, self, how, true);
    }
    check_fits(value, self.dtype());
    dim = wrap_dim(dim, self.dim());
    check_along(self, dim, index, &index, operation);
    return scatters(call, self, dim, index, full({}, value, self.dtype()), how, true);
}

constexpr auto scatter_into = [](const Scatters& way, const Array& index, const Array& source, const Array& from, const Array& result) {
    if (!index.defined()) return;
    AlongCall call(result, way.dim, index, source, way.one);
    call.check(call.write(from, result, source, way.how));
};

void scatter_tensors(const Tensor& result, int64_t dim, const Tensor& index, const Tensor& source, Write how, bool one) {
    const bool wide = how == Write::Add && is_half(result.dtype());
    const Tensor sums = wide ? to(result, DType::Float32) : result, places = to(index, DType::Int64), values = to(source, sums.dtype());
    scatter_into({dim, how, one}, Array(places.impl()), Array(values.impl()), Array(), Array(sums.impl()));
    if (wide) copy_into(result, sums);
}

/// What a combination of places without self starts from.
Scalar identity_of(Write how, DType dtype) {
    if (how == Write::Add) return 0;
    if (how == Write::Mul) return 1;
    const bool low = how == Write::Max;
    if (is_differentiable(dtype)) return low ? -__builtin_inf() : __builtin_inf();
    const int bits = static_cast<int>(8 * item_size(dtype));
    const int64_t top = dtype == DType::Bool ? 1 : bits == 64 ? INT64_MAX : (int64_t{1} << (bits - !is_unsigned(dtype))) - 1;
    return low ? (is_unsigned(dtype) || dtype == DType::Bool ? int64_t{0} : -top - 1) : top;
}

Write reduce_mode(Text reduce, const char* operation) {
    if (reduce == "add" || reduce == "sum") return Write::Add;
    if (reduce == "multiply" || reduce == "prod") return Write::Mul;
    if (reduce == "amin" || (reduce == "min" && operation[7] == '_')) return Write::Min; // scatter_reduce knows these too
    if (reduce == "amax" || (reduce == "max" && operation[7] == '_')) return Write::Max;
    if (reduce == "mean") return Write::Add;
    fail(ErrorKind::Runtime,
         operation[0] == 's' && operation[7] == 0 ? "reduce argument must be either add or multiply."
                                                  : "reduce argument must be either sum, prod, mean, amax or amin, got %s.",
         std::string(reduce).c_str());
}

/// The gradient of gather as a sparse tensor: an element for each that was gathered.
Tensor gathered_places(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index) {
    const int64_t dims = static_cast<int64_t>(sizes.size());
    Tensor values = reshape(grad, {-1});
    if (!dims) return _sparse_coo_tensor_unsafe(zeros({0, values.numel()}, DType::Int64), values, sizes);
    if (!values.numel()) return _sparse_coo_tensor_unsafe(zeros({dims, 0}, DType::Int64), values, sizes);
    dim = wrap_dim(dim, dims);
    Tensor at = index.dim() ? index : unsqueeze(index, 0);
    std::vector<Tensor> lines;
    for (int64_t d = 0; d < dims; d++) {
        Sizes shape(static_cast<size_t>(dims), 1);
        shape[static_cast<size_t>(d)] = at.size(d);
        Tensor line = d == dim ? at : expand(reshape(arange(Scalar(at.size(d))), shape), at.sizes());
        lines.push_back(reshape(contiguous(line), {-1}));
    }
    return _sparse_coo_tensor_unsafe(stack(lines, 0), values, sizes);
}

} // namespace
} // namespace kindling

OPERATORS(gather) {
    declare("index_select(Tensor self, int dim, Tensor index) -> Tensor")({
        doc("The slices at the given places along a dimension"),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) {
            if (place_outside(index, size_along(self_sizes, dim))) fail_selected(self_sizes);
        }),
        takes_float8(),
        flags(trait::OutApart),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index) { return selected_rows(call, self, dim, index); },
               [](int64_t dim, const Array& self, const Array& index, const Array& result) {
                   if (library::find_outside(index.data_ptr<int64_t>(), index.numel(), self.dim() ? self.size(dim) : 1))
                       fail_selected(self.sizes());
                   if (!self.dim()) std::memcpy(result.data(), self.data(), self.element_size());
                   else if (result.numel()) library::gather_places(indexed_along(self, dim, index), self.data(), result.data());
               }),
        by_rows(),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim,
                          Tensor index) { return index_add(zeros(self_sizes, grad.dtype()), dim, index, grad); }),
        refuses("torch.ones(2).index_select(0, torch.tensor([5]))", "IndexError: index out of range in self"),
    });
    declare("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")({
        doc("self with alpha * source added at the given places along a dimension"),
        inplace_is_method(),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim, IntList source_sizes, Scalar alpha) {
            if (self_sizes.size() == 2 && alpha.equals(1) && checked_numel(source_sizes)) check_within(index, self_sizes, dim);
            else check_slices(index, self_sizes, dim, source_sizes);
        }),
        has_inplace(),
        flags(trait::OutApart),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
                const DType dtype = source.dtype();
                check_fits(alpha, value_type(dtype));
                auto values = [&] {
                    return to(mul(source, wrap_number(is_differentiable(dtype) ? alpha
                                                      : dtype == DType::Bool   ? Scalar(alpha.to_bool())
                                                                               : Scalar(alpha.to_int()))),
                              dtype);
                };
                RowWrites rows = writes_rows(call, self, dim, index, alpha.equals(1) ? source : values(), Write::Add, "index_add_");
                rows.scatters = self.dim() == 2 && alpha.equals(1); // as torch
                return rows;
            },
            write_rows),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
        derivative(
            "source",
            GIVEN(Tensor grad, int64_t dim, Tensor index, Tensor source_shape, Scalar alpha) {
                Tensor g = expand_as(source_shape.dim() ? index_select(grad, dim, index) : reshape(index_select(grad, dim, index), {}),
                                     source_shape);
                return alpha.equals(1) ? g : mul(g, wrap_number(alpha));
            }),
    });
    declare("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor")({
        doc("self with source written at the given places along a dimension"),
        inplace_is_method(),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim, IntList source_sizes) {
            check_slices(index, self_sizes, dim, source_sizes);
        }),
        flags(trait::AutocastPromote | trait::OutApart),
        has_inplace(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
                KINDLING_CHECK(Runtime, index.dtype() == DType::Int64, "index_copy_(): Expected a long tensor for index, but got %s",
                               scalar_type_name(index.dtype()));
                return writes_rows(call, self, dim, index, source, Write::Set, "index_copy_");
            },
            write_rows),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim, Tensor index) { return index_fill(grad, dim, index, Scalar(0)); }),
        derivative(
            "source",
            GIVEN(Tensor grad, int64_t dim, Tensor index, Tensor source_shape) {
                return expand_as(source_shape.dim() ? index_select(grad, dim, index) : reshape(index_select(grad, dim, index), {}),
                                 source_shape);
            }),
    });
    declare("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor")({
        doc("self with a number written at the given places along a dimension"),
        inplace_is_method(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_fills(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::TakesExpanded | trait::OutApart),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
                check_filled(self, index, value.is_complex());
                check_fits(value, self.dtype());
                return fills_rows(call, self, dim, index, full({}, value, self.dtype()));
            },
            fill_rows),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim, Tensor index) { return index_fill(grad, dim, index, Scalar(0)); }),
    });
    declare("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor")({
        doc("self with a 0-d tensor's number written at the given places along a dimension"),
        inplace_is_method(),
        node(1),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_fills(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::TakesExpanded),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
                KINDLING_CHECK(Runtime, value.dim() == 0, "Only supports 0-dimension value tensor but got tensor with %ld dimensions.",
                               value.dim());
                check_filled(self, index, value.is_complex());
                call.reads(value);
                return fills_rows(call, self, dim, index, value);
            },
            [](const RowFills& rows, const Array& given, const Array& index, const Array& value, const Array& from, const Array& result,
               const Workspace& room) {
                check_fits(Tensor::share(const_cast<TensorImpl*>(given.impl())).item_scalar(), result.dtype());
                fill_rows(rows, index, value, from, result, room);
            }),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim, Tensor index) { return index_fill(grad, dim, index, Scalar(0)); }),
        derivative(
            "value",
            GIVEN(Tensor grad, int64_t dim, Tensor index) {
                if (grad.dim() == 0) return index.numel() ? grad : zeros({}, grad.dtype());
                int64_t size = grad.size(dim);
                Tensor places = unique_places(where(lt(index, Scalar(0)), add(index, wrap_number(Scalar(size))), index), size);
                return sum(index_select(grad, dim, places));
            }),
    });
    declare("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor")({
        doc("self with source combined ('prod', 'mean', 'amax', 'amin') at the given places along a dimension"),
        inplace_is_method(),
        has_inplace(),
        flags(trait::OutApart),
        composition([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Text reduce, bool include_self) {
            KINDLING_CHECK(Runtime, reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
                           "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s.",
                           std::string(reduce).c_str());
            check_added(self, wrap_dim(dim, self.dim()), index, source, "index_reduce");
            if (!self.is_meta() && !batch_behind(self) && !batch_behind(index))
                check_places(self, wrap_dim(dim, self.dim()), index, "index_reduce");
            const bool truth = self.dtype() == DType::Bool, line = self.dim() <= 1 && (self.is_complex() || truth);
            const bool refused = line || (index.numel() && (truth ? reduce == "mean" : self.is_complex() && reduce[0] == 'a'));
            KINDLING_CHECK(NotImplemented, !refused, "\"%s\" not implemented for '%s'",
                           line               ? "index_func_"
                           : truth            ? "div_floor_cpu"
                           : reduce == "amax" ? "maximum_cpu"
                                              : "minimum_cpu",
                           scalar_type_name(self.dtype()));
            if (truth && !index.numel()) return clone(self);
            Sizes shape(static_cast<size_t>(std::max<int64_t>(self.dim(), 1)), 1);
            shape[static_cast<size_t>(wrap_dim(dim, self.dim()))] = index.numel();
            Tensor wide = self.dim() ? expand(reshape(index, shape), source.sizes()) : index;
            return scatter_reduce(self, dim, wide, source, reduce, include_self);
        }),
    });
    declare("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")({
        doc("out[i][j] = self[index[i][j]][j] for dim 0, and so on"),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_within(index, self_sizes, dim); }),
        flags(trait::OutApart),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, bool) {
                dim = wrap_dim(dim, self.dim());
                check_along(self, dim, index, nullptr, "gather");
                call.reads_as_it_lies(self);
                call.reads_as_it_lies(index, DType::Int64);
                call.gives(index.sizes(), self.dtype());
                return dim;
            },
            [](int64_t dim, const Array& self, const Array& index, const Array& result) {
                AlongCall along(self, dim, index, result);
                along.check(library::gather_along(along.along, self.data(), result.data()));
            }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, int64_t dim, Tensor index, bool sparse_grad) {
                if (sparse_grad) return gathered_places(grad, self_sizes, dim, index);
                return scatter_add(zeros(self_sizes, grad.dtype()), dim, index, grad);
            }),
    });
    declare("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor")({
        doc("self with self[index[i][j]][j] = src[i][j] for dim 0, and so on"),
        inplace_is_method(),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_within(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::OutApart),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& src) { return scattered(call, self, dim, index, src, Write::Set, "scatter"); },
               scatter_into),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim, Tensor index) { return scatter(grad, dim, index, Scalar(0)); }),
        derivative(
            "src",
            GIVEN(Tensor grad, int64_t dim, Tensor index, IntList src_sizes) { return pad_to(gather(grad, dim, index), src_sizes); }),
    });
    declare("pad_to(Tensor self, SymInt[] size) -> Tensor")({
        doc("self followed by zeros up to the given sizes"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self, IntList size) {
            if (self.sizes() == size) return self;
            if (!self.numel()) return zeros(size, self.dtype()); // of whatever shape an index without elements was
            if (self.dim() != static_cast<int64_t>(size.size())) return reshape(self, size); // a vector of one and a number
            Tensor result = zeros(size, self.dtype()), part = result;
            for (int64_t d = 0; d < self.dim(); d++) part = narrow(part, d, 0, self.size(d));
            copy_(part, self);
            return result;
        }),
    });
    declare("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor")({
        doc("self with a number written at the indexed places"),
        inplace_is_method(),
        node(1),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_within(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::OutApart),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index,
                  const Scalar& value) { return number_scattered(call, self, dim, index, value, Write::Set, "scatter"); },
               scatter_into),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim, Tensor index) { return scatter(grad, dim, index, Scalar(0)); }),
    });
    declare("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor")({
        doc("self with src combined ('add', 'multiply') at the indexed places"),
        inplace_is_method(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_within(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::OutApart),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Text reduce) {
                KINDLING_CHECK(Runtime, reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
                return scattered(call, self, dim, index, src, reduce_mode(reduce, "scatter"), "scatter");
            },
            scatter_into),
    });
    declare("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor")({
        doc("self with a number combined ('add', 'multiply') at the indexed places"),
        inplace_is_method(),
        has_inplace(),
        flags(trait::OutApart),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Text reduce) {
                KINDLING_CHECK(Runtime, reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
                return number_scattered(call, self, dim, index, value, reduce_mode(reduce, "scatter"), "scatter");
            },
            scatter_into),
    });
    declare("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor")({
        doc("self with src added at the indexed places"),
        inplace_is_method(),
        linear(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_within(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::OutApart),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& src) { return scattered(call, self, dim, index, src, Write::Add, "scatter_add"); },
               scatter_into),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
        derivative(
            "src",
            GIVEN(Tensor grad, int64_t dim, Tensor index, IntList src_sizes) { return pad_to(gather(grad, dim, index), src_sizes); }),
    });
    declare("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor")({
        doc("self with src combined ('sum', 'prod', 'mean', 'amax', 'amin') at the indexed places"),
        inplace_is_method(),
        raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_within(index, self_sizes, dim); }),
        has_inplace(),
        flags(trait::WritesCopy | trait::OutApart),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Text reduce, bool include_self) {
                KINDLING_CHECK(Runtime, reduce != "add" && reduce != "multiply",
                               "reduce argument must be either sum, prod, mean, amax or amin, got %s", std::string(reduce).c_str());
                const Write how = reduce_mode(reduce, "scatter_reduce");
                KINDLING_CHECK(Runtime, self.dtype() == src.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype");
                dim = wrap_dim(dim, index.numel() ? self.dim() : std::max<int64_t>(self.dim(), 1));
                if (index.numel()) check_scatter(self, dim, index, src, "scatter_reduce");
                const bool ordered = reduce[0] == 'a'; // amax, amin
                KINDLING_CHECK(NotImplemented,
                               !(ordered && self.is_complex() && index.numel()) && !(reduce == "mean" && self.dtype() == DType::Bool),
                               "\"scatter_gather_tensor_cpu_reduce_%s\" not implemented for '%s'", std::string(reduce).c_str(),
                               scalar_type_name(self.dtype()));
                const bool mean = reduce == "mean" && index.numel(), afresh = !include_self && index.numel() && !mean;
                if (mean) call.declines();
                const Scatters way = scatters(call, self, dim, index, src, how);
                call.reads(afresh ? full({}, identity_of(how, self.dtype()), self.dtype()) : Tensor(), call.input(1).dtype);
                call.result(0).copied_on_the_way(call.result(0).handed && !afresh);
                return way;
            },
            [](const Scatters& way, const Array& index, const Array& src, const Array& start, const Array& from, const Array& result) {
                if (start.defined())
                    scatter_into({way.dim, Write::Set, true}, index, start, from,
                                 result); // places that are written start from the identity
                scatter_into(way, index, src, from, result);
            }),
        otherwise([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Text, bool include_self) {
            dim = wrap_dim(dim, self.dim());
            const DType dtype = self.dtype();
            const Tensor one = ones({}, dtype);
            Tensor total = copy_to_write(self, {index, src}), count = include_self ? ones(self.sizes(), dtype) : zeros(self.sizes(), dtype);
            if (!include_self) scatter_tensors(total, dim, index, zeros({}, dtype), Write::Set, true);
            scatter_tensors(total, dim, index, src, Write::Add, false);
            scatter_tensors(count, dim, index, one, Write::Add, true);
            count = masked_fill(count, eq(count, Scalar(0)), Scalar(1));
            return is_differentiable(dtype) ? div(total, count) : _div_floor(total, count);
        }),
        derivative(
            "self, src",
            GIVEN(Tensor grad, Tensor self, int64_t dim, Tensor index, Tensor src, Text reduce, bool include_self, Tensor result) {
                Tensor for_self, for_src;
                if (!index.numel()) return std::tuple<Tensor, Tensor>(grad, zeros(src.sizes(), grad.dtype()));
                IntList src_sizes = src.sizes();
                Tensor read = src;
                for (int64_t d = 0; d < index.dim() && src.dim(); d++) read = narrow(read, d, 0, index.size(d));
                if (reduce == "sum") {
                    for_self = grad;
                    for_src = gather(grad, dim, index);
                } else if (reduce == "mean") {
                    Tensor count = include_self ? ones(self.sizes(), grad.dtype()) : zeros(self.sizes(), grad.dtype());
                    count = scatter_add(count, dim, index, ones(index.sizes(), grad.dtype()));
                    count = masked_fill(count, eq(count, Scalar(0)), Scalar(1));
                    for_self = div(grad, count);
                    for_src = gather(for_self, dim, index);
                } else if (reduce == "prod") {
                    // The product of all others at the place; zeros need care: with one zero only that one has a gradient.
                    Tensor base = include_self ? self : scatter(self, dim, index, Scalar(1));
                    Tensor zero_self = eq(base, Scalar(0)), zero_src = eq(read, Scalar(0)), none = wrap_number(Scalar(0));
                    Tensor without_self = scatter_reduce(masked_fill(base, zero_self, Scalar(1)), dim, index, read, "prod", true);
                    for_self = mul(grad, where(zero_self, without_self, div(result, masked_fill(base, zero_self, Scalar(1)))));
                    Tensor zeros_at = scatter_add(zeros(base.sizes(), grad.dtype()), dim, index, to(zero_src, grad.dtype()));
                    Tensor without_src = scatter_reduce(base, dim, index, masked_fill(read, zero_src, Scalar(1)), "prod", true);
                    Tensor only = eq(gather(zeros_at, dim, index), Scalar(1)),
                           others = div(gather(result, dim, index), masked_fill(read, zero_src, Scalar(1)));
                    for_src = mul(gather(grad, dim, index), where(zero_src, where(only, gather(without_src, dim, index), none), others));
                    if (differentiates_again() && !zeros_at.is_meta() && true_for_any(gt(zeros_at, Scalar(1))))
                        for_src = _delayed_error(for_src, "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src "
                                                          "are scattered to the same position in self");
                } else {
                    Tensor reached = gather(result, dim, index);
                    Tensor hit_src = to(eq(read, reached), grad.dtype()), hit_self = to(eq(self, result), grad.dtype());
                    Tensor hits = scatter_add(include_self ? hit_self : zeros(self.sizes(), grad.dtype()), dim, index, hit_src);
                    if (!include_self) hits = masked_fill(hits, eq(hits, Scalar(0)), Scalar(1));
                    Tensor share = div(grad, hits);
                    for_self = mul(share, hit_self);
                    for_src = mul(gather(share, dim, index), hit_src);
                }
                if (!include_self) for_self = scatter(for_self, dim, index, Scalar(0));
                return std::tuple<Tensor, Tensor>(for_self, pad_to(for_src, src_sizes));
            }),
    });
    declare("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")({
        doc("gather, with self and indices broadcast together"),
        composition([](const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
            if (!dim) return gather(reshape(self, {-1}), 0, reshape(indices, {-1}));
            KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64, "torch.take_along_dim(): dtype of indices should be Long but got %s",
                           scalar_type_name(indices.dtype()));
            KINDLING_CHECK(Runtime, self.dim() == indices.dim(),
                           "torch.take_along_dim(): input and indices should have the same number of dimensions, but got %ld dimensions "
                           "for input, and %ld dimensions for indices",
                           self.dim(), indices.dim());
            int64_t d = wrap_dim(*dim, self.dim());
            Sizes mine = self.sizes(), theirs = indices.sizes();
            mine[static_cast<size_t>(d)] = theirs[static_cast<size_t>(d)] = 1;
            Sizes both = broadcast_sizes(mine, theirs);
            both[static_cast<size_t>(d)] = self.size(d);
            Tensor wide = expand(self, both);
            both[static_cast<size_t>(d)] = indices.size(d);
            Tensor places = self.size(d) ? remainder(indices, wrap_number(Scalar(self.size(d)))) : indices; // as torch: they go round
            return gather(wide, d, expand(places, both));
        }),
    });
}
