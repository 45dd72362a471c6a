// operators/tensors/indexing.cpp: reading and writing at places given by tensors.
#include <algorithm>
#include <numeric>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/indexing/indexing.h"
#include "kernels/library/indexing/mask.h"
#include "kernels/library/scratch.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {
namespace {

using library::Write;

/// Index tensors brought to one form: masks expanded to their places, broadcast together, int64, with the dimensions they
/// replace. `self` is permuted so that those dimensions stand together, as NumPy has it.
struct Places {
    Tensor self;
    std::vector<Tensor> indices; // one per indexed dimension
    int first = 0, count = 0;    // the indexed dimensions of `self`
    Sizes shape;                 // of the broadcast indices
    Sizes result;                // before, shape, after
};

[[noreturn]] Tensor refused_gradient(const Tensor&, Text message) { fail(ErrorKind::Runtime, "%s", std::string(message).c_str()); }
bool is_mask(const Tensor& index) { return index.dtype() == DType::Bool || index.dtype() == DType::UInt8; }
void warn_of_bytes(const Tensor& mask) {
    if (mask.dtype() == DType::UInt8 && warn)
        warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
}

/// `at`: the first dimension that it covers.
void check_mask(const Tensor& self, const Tensor& mask, int64_t at) {
    for (int64_t d = 0; d < mask.dim(); d++)
        KINDLING_CHECK(Index, at + d < self.dim() && mask.size(d) == self.size(at + d),
                       "The shape of the mask %s at index %ld does not match the shape of the indexed tensor %s at index %ld",
                       str(mask.sizes()).c_str(), d, str(self.sizes()).c_str(), at + d);
}

/// The shape of all indices, and in which order the dimensions of what is indexed stand: indexed ones together, from `first` on.
struct Arrangement {
    Sizes shape, order;
    int first = 0, count = 0;
};
Arrangement arrange(int64_t ndim, TensorList indices) {
    Arrangement places;
    bool started = false;
    for (const Tensor& index : indices) {
        if (!index.defined()) continue;
        if (!started) {
            places.shape = index.sizes();
            started = true;
            continue;
        }
        try {
            places.shape = broadcast_sizes(places.shape, index.sizes());
        } catch (const Error&) {
            std::string shapes;
            for (const Tensor& each : indices)
                if (each.defined()) shapes += (shapes.empty() ? "" : ", ") + str(each.sizes());
            fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes %s", shapes.c_str());
        }
    }
    int runs = 0;
    bool inside = false;
    for (const Tensor& index : indices) {
        if (index.defined() && !inside) runs++;
        inside = index.defined();
    }
    if (runs <= 1) {
        for (int64_t d = 0; d < ndim; d++) places.order.push_back(d);
        size_t first = 0;
        while (first < indices.size() && !indices[first].defined()) first++;
        places.first = static_cast<int>(first);
    } else {
        for (size_t d = 0; d < indices.size(); d++)
            if (indices[d].defined()) places.order.push_back(static_cast<int64_t>(d));
        for (int64_t d = 0; d < ndim; d++)
            if (d >= static_cast<int64_t>(indices.size()) || !indices[static_cast<size_t>(d)].defined()) places.order.push_back(d);
        places.first = 0;
    }
    for (const Tensor& index : indices) places.count += index.defined();
    return places;
}

void check_index(const Tensor& index) {
    KINDLING_CHECK(Index, is_integral(index.dtype()) && (index.dtype() == DType::Int64 || index.dtype() == DType::Int32),
                   "tensors used as indices must be long, int, byte or bool tensors");
}
void check_count(size_t count, int64_t dims, int64_t shown_dims, int64_t merged = 0) {
    KINDLING_CHECK(Index, static_cast<int64_t>(count) <= dims, "too many indices for tensor of dimension %ld (got %zu)", shown_dims,
                   count + static_cast<size_t>(merged));
}

Places prepare(const Tensor& self, TensorList given) {
    std::vector<Tensor> indices;
    Sizes all_sizes = self.sizes(), all_strides = self.strides();
    int64_t merged = 0; // dimensions that a mask made one with the next
    for (const Tensor& index : given) {
        if (!index.defined()) {
            indices.emplace_back();
            continue;
        }
        if (is_mask(index)) {
            warn_of_bytes(index);
            int64_t at = static_cast<int64_t>(indices.size());
            check_mask(self, index, at + merged);
            // Dimensions that lie as one are indexed as one: a place is one number.
            bool as_one = index.dim() > 1;
            for (auto d = static_cast<size_t>(at); as_one && d + 1 < static_cast<size_t>(at + index.dim()); d++)
                as_one = all_strides[d] == all_strides[d + 1] * all_sizes[d + 1];
            if (as_one) {
                for (int64_t d = 1; d < index.dim(); d++, merged++) {
                    all_sizes[static_cast<size_t>(at + 1)] *= all_sizes[static_cast<size_t>(at)];
                    all_sizes.erase(static_cast<size_t>(at));
                    all_strides.erase(static_cast<size_t>(at));
                }
                indices.push_back(reshape(nonzero(reshape(index, {-1})), {-1}));
                continue;
            }
            Tensor where = nonzero(index);
            if (index.dim() == 0) { // a 0-d mask adds a dimension of size 0 or 1: handled by the caller's unsqueeze
                indices.push_back(zeros({where.size(0)}, DType::Int64));
                continue;
            }
            for (int64_t d = 0; d < index.dim(); d++) indices.push_back(contiguous(select(where, 1, d)));
            continue;
        }
        check_index(index);
        indices.push_back(to(index, DType::Int64));
    }
    check_count(indices.size(), static_cast<int64_t>(all_sizes.size()), self.dim(), merged);
    Arrangement a = arrange(static_cast<int64_t>(all_sizes.size()), indices);
    Places places;
    places.shape = a.shape;
    places.first = a.first;
    for (const Tensor& index : indices)
        if (index.defined()) places.indices.push_back(index);
    places.count = static_cast<int>(places.indices.size());
    Sizes sizes, strides;
    for (int64_t d : a.order) {
        sizes.push_back(all_sizes[static_cast<size_t>(d)]);
        strides.push_back(all_strides[static_cast<size_t>(d)]);
    }
    places.self = make_view(self, sizes, strides, self.storage_offset());
    for (int i = 0; i < places.first; i++) places.result.push_back(sizes[static_cast<size_t>(i)]);
    for (int64_t size : places.shape) places.result.push_back(size);
    for (size_t i = static_cast<size_t>(places.first + places.count); i < sizes.size(); i++) places.result.push_back(sizes[i]);
    return places;
}

/// Offsets into a tensor, in so many elements; IndexError when an index is out of range.
struct Offsets {
    int64_t count, scale = 1;
    library::Scratch<int64_t> sums;
    Tensor index; // of one dimension
    const int64_t* values = nullptr;
    explicit Offsets(const Places& places);                                               // for each combination of indices
    Offsets(const Tensor& self, int64_t dim, const Tensor& index, const char* operation); // along one dimension
};

Offsets::Offsets(const Places& places) : count(checked_numel(places.shape)), sums(count), values(sums.data) {
    if (!places.count) std::memset(sums.data, 0, static_cast<size_t>(count) * sizeof(int64_t));
    for (int i = 0; i < places.count && count; i++)
        KINDLING_CHECK(Index, places.self.size(places.first + i), "index is out of bounds for dimension with size 0");
    for (int i = 0; i < places.count; i++) {
        const Tensor& given = places.indices[static_cast<size_t>(i)];
        const bool plain = given.is_contiguous() && given.sizes() == IntList(places.shape);
        Tensor whole = plain ? given : contiguous(expand(given, places.shape));
        int64_t dim = places.first + i, size = places.self.size(dim);
        const int64_t* bad = library::add_offsets(sums.data, whole.data_ptr<int64_t>(), count, size, places.self.stride(dim), i == 0);
        KINDLING_CHECK(Index, !bad || !checked_numel(places.result), "index %ld is out of bounds for dimension %ld with size %ld", *bad,
                       dim, size); // of nothing none is read
    }
}

Offsets::Offsets(const Tensor& self, int64_t dim, const Tensor& given, const char* operation) : count(given.numel()), sums(0) {
    KINDLING_CHECK(Index, given.dim() <= 1, "%s(): Index is supposed to be a vector, but got dim: %ld", operation, given.dim());
    KINDLING_CHECK(Runtime, given.dtype() == DType::Int64 || given.dtype() == DType::Int32,
                   "%s(): Expected dtype int32/int64 for index but got: %s", operation, scalar_type_name(given.dtype()));
    KINDLING_CHECK(Runtime, !given.is_meta(),
                   "%s: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!", operation);
    index = contiguous(to(given, DType::Int64));
    values = index.data_ptr<int64_t>();
    if (self.dim()) scale = self.stride(dim);
    KINDLING_CHECK(Index, !library::find_outside(values, count, self.dim() ? self.size(dim) : 1), "index out of range in self");
}

library::Indexed describe(const Tensor& self, int first, int count, const Offsets& offsets) {
    const TensorImpl* impl = self.impl();
    const int64_t *sizes = impl->shape, *strides = impl->shape + impl->ndim;
    int after = first + count;
    return {self.dtype(),  first,           impl->ndim - after, sizes,         strides,
            sizes + after, strides + after, offsets.values,     offsets.count, offsets.scale};
}

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

/// Where PyTorch puts what is gathered: its iterator walks the tensor with steps of 0 where it is indexed, and the indices with steps
/// of 0 elsewhere.
Sizes gathered_strides(const Places& p) {
    auto by_rows = [](const Tensor& t) { return t.strides() == IntList(contiguous_strides(t.sizes())); };
    if (by_rows(p.self) && p.count == 1 && by_rows(p.indices[0])) return contiguous_strides(p.result);
    Tensor operands[1 + max_dims];
    TensorImpl* headers[1 + max_dims];
    const auto first = static_cast<size_t>(p.first), after = first + static_cast<size_t>(p.count), shape = p.shape.size();
    Sizes strides(p.result.size(), 0), sizes(p.result.size(), 1);
    for (size_t d = 0; d < first; d++) strides[d] = p.self.strides()[d];
    for (size_t d = after; d < p.self.sizes().size(); d++) strides[d - after + first + shape] = p.self.strides()[d];
    for (size_t d = 0; d < shape; d++) sizes[first + d] = p.shape[d];
    operands[0] = make_view(p.self, p.result, strides, 0);
    headers[0] = operands[0].impl();
    for (int i = 0; i < p.count; i++) {
        operands[i + 1] = reshape(expand(p.indices[static_cast<size_t>(i)], p.shape), sizes);
        headers[i + 1] = operands[i + 1].impl();
    }
    return output_strides(p.result, headers, 1 + p.count);
}

/// The order of the dimensions of what is indexed in which they lie as those of a result with these strides, if the indexed ones
/// are together there, from `start` on.
bool in_order_of(const Sizes& strides, size_t first, size_t shape, size_t count, Sizes& dims, int& start_of) {
    const size_t rank = strides.size();
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
    size_t start = 0;
    while (shape && order[start] != first) start++;
    for (size_t i = 0; i < shape; i++)
        if (start + i >= rank || order[start + i] != first + i) return false;
    for (size_t i = 0; i <= rank; i++) {
        if (i == start)
            for (size_t d = 0; d < count; d++) dims.push_back(static_cast<int64_t>(first + d));
        if (i < rank && (i < start || i >= start + shape))
            dims.push_back(static_cast<int64_t>(order[i] < first ? order[i] : order[i] - shape + count));
    }
    start_of = static_cast<int>(start);
    return true;
}
bool in_order_of(const Sizes& strides, Places& p) {
    Sizes dims;
    if (!in_order_of(strides, static_cast<size_t>(p.first), p.shape.size(), static_cast<size_t>(p.count), dims, p.first)) return false;
    p.self = permute(p.self, dims);
    return true;
}

/// A copy of self for a part of `source` to be written: with a batch dimension wherever that has one.
Tensor clone_to_take(const Tensor& self, const Tensor& source) {
    if (batch_behind(self) || !batch_behind(source)) return clone_with_strides(self);
    Tensor result = new_empty(source, self.sizes(), self.dtype());
    copy_(result, self);
    return result;
}

/// Whether self[indices] is a choice of elements in the order in which they lie.
bool chooses_elements(const Tensor& self, TensorList indices) {
    if (indices.size() != 1 || !indices[0].defined() || !self.dim() || !self.is_contiguous()) return false;
    const Tensor& mask = indices[0];
    return is_mask(mask) && mask.sizes() == self.sizes() && self.device().type == DeviceType::CPU && mask.device().type == DeviceType::CPU;
}

Tensor chosen_elements(const Tensor& self, const Tensor& given) {
    warn_of_bytes(given);
    Tensor mask = contiguous(given);
    library::Mask counted(mask.data(), mask.numel());
    Tensor result = make_tensor({counted.count()}, self.dtype());
    Unlocked unlocked(self.numel() > 65536);
    counted.take(self.data(), static_cast<int>(self.element_size()), result.data());
    return result;
}

/// Whether it is one number where a mask is true: that goes there as masked_fill puts it, of whatever dtype.
bool is_masked_fill(TensorList indices, const Tensor& values) {
    int masks = 0;
    for (const Tensor& each : indices)
        if (each.defined()) masks += is_mask(each) ? 1 : 2;
    return masks == 1 && values.numel() == 1;
}

Tensor as_masked_fill(const Tensor& self, TensorList indices, const Tensor& values) {
    if (!is_masked_fill(indices, values)) return values;
    for (size_t i = 0; i < indices.size(); i++) {
        if (!indices[i].defined()) continue;
        check_mask(self, indices[i], static_cast<int64_t>(i));
        KINDLING_CHECK(Runtime, indices[i].dtype() == DType::Bool,
                       "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char");
    }
    if (self.dtype() == values.dtype()) return values;
    const Scalar number = values.item_scalar();
    check_fits(number, self.dtype());
    return full({}, number, self.dtype());
}

void put(const Tensor& self, TensorList indices, const Tensor& given, Write write) {
    const Tensor values = write == Write::Set ? as_masked_fill(self, indices, given) : given;
    if (!is_masked_fill(indices, given)) {
        check_apart(self, *given.impl(), true);
        for (const Tensor& each : indices)
            if (each.defined()) check_apart(self, *each.impl(), true);
    }
    auto check_dtype = [&] {
        KINDLING_CHECK(Runtime, self.dtype() == values.dtype(),
                       "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
                       scalar_type_name(self.dtype()), scalar_type_name(values.dtype()));
    };
    Places places = prepare(self, indices);
    Sizes check;
    try {
        check = broadcast_sizes(values.sizes(), places.result);
    } catch (const Error&) {
        check.clear();
        check.push_back(-1);
    }
    KINDLING_CHECK(Runtime, IntList(check) == IntList(places.result),
                   "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                   str(values.sizes()).c_str(), str(places.result).c_str());
    check_dtype();
    Offsets offsets(places);
    if (!places.self.numel() || !offsets.count) return;
    Tensor source = contiguous(expand(values, places.result));
    if (source.storage() == self.storage()) source = clone(source, MemoryFormat::Contiguous);
    Unlocked unlocked(source.numel() > 65536);
    library::write_places(describe(places.self, places.first, places.count, offsets), self.data(), source.data(), write);
}

/// Elements at places that whole numbers say. Masks are not for this: how many elements they choose follows from values.
struct Gathering {
    static constexpr int most = 6; // indices
    Sizes order;                   // of the dimensions of what is indexed
    int first = 0, count = 0;
    int64_t places = 0; // how many there are
};

bool by_numbers(TensorList indices) {
    int count = 0;
    for (const Tensor& each : indices) {
        count += each.defined();
        if (each.defined() && is_mask(each)) return false;
    }
    return count <= Gathering::most;
}

/// Checks the indices, and says that they are read, each broadcast to the shape of all. Gives that, and the result's sizes.
Gathering gathers(KernelCall& call, const Tensor& self, TensorList indices, Sizes& shape, Sizes& result) {
    for (const Tensor& each : indices)
        if (each.defined()) check_index(each);
    check_count(indices.size(), self.dim(), self.dim());
    Arrangement a = arrange(self.dim(), indices);
    Gathering g;
    g.first = a.first, g.count = a.count, g.places = checked_numel(a.shape);
    const auto first = static_cast<size_t>(a.first), after = first + static_cast<size_t>(a.count);
    for (size_t i = 0; i < a.order.size(); i++) {
        const int64_t size = self.sizes()[static_cast<size_t>(a.order[i])];
        if (i == first)
            for (int64_t each : a.shape) result.push_back(each);
        if (i < first || i >= after) result.push_back(size);
        else KINDLING_CHECK(Index, size || !g.places || call.on_meta(), "index is out of bounds for dimension with size 0");
    }
    if (first == a.order.size())
        for (int64_t each : a.shape) result.push_back(each);
    int said = 0;
    for (const Tensor& each : indices)
        if (each.defined()) call.reads(each.sizes() == IntList(a.shape) ? each : expand(each, a.shape), DType::Int64), said++;
    while (said++ < Gathering::most) call.reads(Tensor());
    call.needs_workspace(g.places * static_cast<int64_t>(sizeof(int64_t)));
    g.order = std::move(a.order);
    shape = std::move(a.shape);
    return g;
}

/// The tensor at the places: their offsets are written to `offsets`.
struct Gathered {
    Sizes sizes, strides;
    library::Indexed where;
    Gathered(const Gathering& g, const Array& self, std::initializer_list<const Array*> indices, int64_t* offsets) {
        for (int64_t d : g.order) sizes.push_back(self.size(d)), strides.push_back(self.stride(d));
        int i = 0;
        for (const Array* each : indices) {
            if (i == g.count) break;
            const auto d = static_cast<size_t>(g.first + i);
            const int64_t* bad = library::add_offsets(offsets, each->data_ptr<int64_t>(), g.places, sizes[d], strides[d], i == 0);
            KINDLING_CHECK(Index, !bad, "index %ld is out of bounds for dimension %zu with size %ld", *bad, d, sizes[d]);
            i++;
        }
        if (!g.count) std::memset(offsets, 0, static_cast<size_t>(g.places) * sizeof(int64_t));
        const auto after = static_cast<size_t>(g.first + g.count);
        where = {self.dtype(),
                 g.first,
                 static_cast<int>(sizes.size() - after),
                 sizes.data(),
                 strides.data(),
                 sizes.data() + after,
                 strides.data() + after,
                 offsets,
                 g.places,
                 1};
    }
};

/// index_put: writes, or adds, `values` at the places of `self`, or of a copy of it.
struct Scattering : Gathering {
    Write how = Write::Set;
};

Scattering scatters(KernelCall& call, const Tensor& self, TensorList indices, const Tensor& values, bool accumulate, bool in_place) {
    Scattering s;
    if (in_place) call.writes_all(self);
    else call.gives_copy(self).preserves(self).written_as_it_lies();
    if (!by_numbers(indices) || (in_place && values.storage() == self.storage())) return call.declines(), s;
    if (in_place && !call.on_meta())
        for (const Tensor& each : indices)
            if (each.defined()) check_apart(self, *each.impl(), true);
    Sizes shape, sizes;
    static_cast<Gathering&>(s) = gathers(call, self, indices, shape, sizes);
    s.how = accumulate ? Write::Add : Write::Set;
    Sizes check;
    try {
        check = broadcast_sizes(values.sizes(), sizes);
    } catch (const Error&) {
        check.clear();
        check.push_back(-1);
    }
    KINDLING_CHECK(Runtime, IntList(check) == IntList(sizes),
                   "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                   str(values.sizes()).c_str(), str(sizes).c_str());
    KINDLING_CHECK(Runtime, self.dtype() == values.dtype(),
                   "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
                   scalar_type_name(self.dtype()), scalar_type_name(values.dtype()));
    call.reads(values.sizes() == IntList(sizes) ? values : expand(values, sizes));
    call.costs(checked_numel(sizes));
    return s;
}
constexpr auto put_at_places = [](const Scattering& s, const Array& a, const Array& b, const Array& c, const Array& d, const Array& e,
                                  const Array& f, const Array& values, const Array& result, Workspace room) {
    if (!s.places) return;
    const Gathered at(s, result, {&a, &b, &c, &d, &e, &f}, room.as<int64_t>());
    library::write_places(at.where, result.data(), values.data(), s.how);
};

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
        KINDLING_CHECK(Runtime, !bad, "index %ld is out of bounds for dimension %d with size %ld", *bad, along.dim, along.bound);
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
    return {dim, how, by_element};
}

void check_rows(const RowWrites& rows, const Array& self, const Array& index) {
    const int64_t size = self.dim() ? self.size(rows.dim) : 1;
    const int64_t* bad = library::find_outside(index.data_ptr<int64_t>(), index.numel(), size);
    if (rows.how == Write::Add && self.dim() == 2) // as torch: by way of scatter_add
        KINDLING_CHECK(Runtime, !bad, "index %ld is out of bounds for dimension %ld with size %ld", *bad, rows.dim, size);
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
        if (rows.how == Write::Add && result.dim() == 2) call.check(bad); // as torch: by way of scatter_add
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

OPERATORS(indexing) {
    declare("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")({
        doc("Elements at places given by index tensors or masks, as self[indices]"),
        shape_by_value(),
        linear(),
        raises_by_value(),
        takes_float8(),
        in(space::Hidden),
        batches([](const Tensor& self, TensorList indices) {
            std::vector<Tensor> all{self};
            size_t first = indices.size(), last = 0;
            int64_t rank = 0;
            bool simple = true; // integers, side by side
            for (size_t i = 0; i < indices.size(); i++) {
                all.push_back(indices[i]);
                if (!indices[i].defined()) continue;
                first = std::min(first, i), last = i;
                rank = std::max(rank, indices[i].dim());
                simple &= indices[i].dtype() == DType::Int64 || indices[i].dtype() == DType::Int32;
            }
            for (size_t i = first; i <= last && first < indices.size(); i++) simple &= indices[i].defined();
            if (!simple || first == indices.size()) by_slices();
            Mapped m{TensorList(all)};
            bool mapped = false;
            for (const Tensor& each : indices) mapped |= m.has(each);
            return m.wraps([&] {
                std::vector<Tensor> list(m.has(self) ? 1 : 0);
                for (const Tensor& each : indices) {
                    Tensor index = m.bare(each);
                    if (m.has(each))
                        for (int64_t d = each.dim(); d < rank; d++) index = unsqueeze(index, 1);
                    list.push_back(index);
                }
                if (!mapped) return index(m.bare(self), list);
                // A slice reads its own rows: their numbers are an index, too. Then the dimensions before the indices come last of all.
                const auto before = static_cast<int64_t>(first);
                if (m.has(self)) {
                    Sizes numbers{m.size()};
                    for (int64_t d = 0; d < rank; d++) numbers.push_back(1);
                    list[0] = view(arange(Scalar(m.size()), DType::Int64, std::nullopt, self.device()), numbers);
                }
                Tensor result = index(m.bare(self), list);
                if (!before) return result;
                Sizes order{m.has(self) ? 0 : before};
                const int64_t start = m.has(self) ? 1 + rank : 0,
                              places = m.has(self) ? 1 : before + 1; // of the dimensions before, and of the indices
                for (int64_t d = 0; d < before; d++) order.push_back(start + d);
                for (int64_t d = 0; d < rank; d++) order.push_back(places + d);
                for (int64_t d = static_cast<int64_t>(order.size()); d < result.dim(); d++) order.push_back(d);
                return permute(result, order);
            });
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, TensorList indices) {
                KINDLING_CHECK(Index, !indices.empty(), "at least one index must be provided");
                if (!by_numbers(indices)) return call.declines(), Gathering();
                call.on(self.device());
                Sizes shape, sizes;
                Gathering g = gathers(call, self, indices, shape, sizes);
                call.reads_as_it_lies(self);
                KernelCall::Result& result = call.gives(sizes, self.dtype());
                if (g.count == 1 && self.is_contiguous() && call.input(0).tensor->contiguous) return g; // rows
                Sizes view_sizes, view_strides;
                for (int64_t d : g.order) view_sizes.push_back(self.size(d)), view_strides.push_back(self.stride(d));
                Places p{make_view(self, view_sizes, view_strides, self.storage_offset()), {}, g.first, g.count, shape, sizes};
                for (const Tensor& each : indices)
                    if (each.defined()) p.indices.push_back(each);
                const Sizes strides = gathered_strides(p);
                if (strides == contiguous_strides(sizes)) return g;
                result.laid_out(strides);
                Sizes dims, order;
                if (!in_order_of(strides, static_cast<size_t>(g.first), shape.size(), static_cast<size_t>(g.count), dims, g.first))
                    return g; // other than by blocks
                result.exact = true;
                for (int64_t d : dims) order.push_back(g.order[static_cast<size_t>(d)]);
                g.order = order;
                return g;
            },
            [](const Gathering& g, const Array& a, const Array& b, const Array& c, const Array& d, const Array& e, const Array& f,
               const Array& self, const Array& result, Workspace room) {
                const Gathered at(g, self, {&a, &b, &c, &d, &e, &f}, room.as<int64_t>());
                library::gather_places(at.where, self.data(), result.data());
            }),
        otherwise([](const Tensor& self, TensorList indices) {
            if (chooses_elements(self, indices)) return chosen_elements(self, indices[0]);
            Places places = prepare(self, indices);
            const Sizes strides = gathered_strides(places);
            Tensor result = make_tensor(places.result, strides, self.dtype(), self.device());
            if (result.is_meta()) return result;
            Offsets offsets(places);
            if (!result.numel()) return result;
            const bool apart = !result.is_contiguous() && !in_order_of(strides, places); // other than by blocks of the indexed tensor
            Tensor rows = apart ? make_tensor(places.result, self.dtype()) : result;
            {
                Unlocked unlocked(result.numel() > 65536);
                library::gather_places(describe(places.self, places.first, places.count, offsets), self.data(), rows.data());
            }
            if (apart) copy_into(result, rows);
            return result;
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, TensorList indices) {
                Tensor target = zeros(self_shape.sizes(), grad.dtype());
                return _index_put_accumulate(target, indices, grad);
            }),
    });
    declare("_index_put_accumulate(Tensor self, Tensor?[] indices, Tensor values) -> Tensor")({
        doc("self with values added at the places"),
        linear(),
        raises_by_value(),
        in(space::Hidden),
        kernel([](KernelCall& call, const Tensor& self, TensorList indices,
                  const Tensor& values) { return scatters(call, self, indices, values, true, false); },
               put_at_places),
        otherwise([](const Tensor& self, TensorList indices, const Tensor& values) {
            Tensor result = clone(self);
            put(result, indices, values, Write::Add);
            return result;
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
        derivative(
            "values", GIVEN(Tensor grad, TensorList indices) { return index(grad, indices); }),
    });
    declare("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")({
        doc("self with values written, or added, at the places"),
        linear(),
        raises_by_value(),
        takes_float8(),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self, TensorList indices, const Tensor& values,
                  bool accumulate) { return scatters(call, self, indices, values, accumulate, false); },
               put_at_places),
        otherwise([](const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
            Tensor result = clone(self);
            put(result, indices, values, accumulate ? Write::Add : Write::Set);
            return result;
        }),
        derivative(
            "self", GIVEN(Tensor grad, TensorList indices,
                          bool accumulate) { return accumulate ? grad : index_put(grad, indices, zeros({}, grad.dtype()), false); }),
        derivative(
            "values",
            GIVEN(Tensor grad, TensorList indices, IntList values_sizes) { return sum_to_size(index(grad, indices), values_sizes); }),
    });
    declare("index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)")({
        doc("Writes, or adds, values at the places"),
        raises_by_value(),
        linear(),
        in(space::Torch | space::Method),
        kernel(
            [](KernelCall& call, const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
                warn_of_expanded(self, "index_put_", "indices] = tensor");
                return scatters(call, self, indices, values, accumulate, true);
            },
            put_at_places),
        otherwise([](const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
            put(self, indices, values, accumulate ? Write::Add : Write::Set);
            written(self);
            return self;
        }),
        derivative(
            "self", GIVEN(Tensor grad, TensorList indices,
                          bool accumulate) { return accumulate ? grad : index_put(grad, indices, zeros({}, grad.dtype()), false); }),
        derivative(
            "values",
            GIVEN(Tensor grad, TensorList indices, IntList values_sizes) { return sum_to_size(index(grad, indices), values_sizes); }),
    });
    declare("index_select(Tensor self, int dim, Tensor index) -> Tensor")({
        doc("The slices at the given places along a dimension"),
        linear(),
        raises_by_value(),
        takes_float8(),
        flags(trait::OutApart),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, const Tensor& index) { return selected_rows(call, self, dim, index); },
               [](int64_t dim, const Array& self, const Array& index, const Array& result) {
                   if (library::find_outside(index.data_ptr<int64_t>(), index.numel(),
                                             self.dim() ? self.size(dim) : 1)) // of matrices without elements torch has another class
                       fail(self.dim() > 1 && !self.numel() ? ErrorKind::Runtime : ErrorKind::Index, "index out of range in self");
                   if (!self.dim()) std::memcpy(result.data(), self.data(), self.element_size());
                   else if (result.numel()) library::gather_places(indexed_along(self, dim, index), self.data(), result.data());
               }),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim,
                          Tensor index) { return index_add(zeros(self_sizes, grad.dtype()), dim, index, grad); }),
        refuses("torch.ones(2).index_select(0, torch.tensor([5]))", "IndexError: index out of range in self"),
    });
    declare("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")({
        doc("self with alpha * source added at the given places along a dimension"),
        inplace_is_method(),
        linear(),
        raises_by_value(),
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
                return writes_rows(call, self, dim, index, alpha.equals(1) ? source : values(), Write::Add, "index_add_");
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
        raises_by_value(),
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
        raises_by_value(),
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
        raises_by_value(),
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
    declare("unique_places(Tensor index, int size) -> Tensor")({
        doc("The different values of an index below size, in order"),
        shape_by_value(),
        raises_by_value(),
        in(space::Hidden),
        not_differentiable(),
        batches([](const Tensor&, int64_t) -> Tensor { by_slices(); }),
        composition([](const Tensor& index, int64_t size) {
            Tensor hit = index_fill(zeros({size}, DType::Bool), 0, reshape(index, {-1}), Scalar(true));
            return reshape(nonzero(hit), {-1});
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
                Offsets(self, wrap_dim(dim, self.dim()), index, "index_reduce"); // refuses what is out of range
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
        raises_by_value(),
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
        raises_by_value(),
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
        raises_by_value(),
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
        raises_by_value(),
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
        raises_by_value(),
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
        raises_by_value(),
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
    declare("_delayed_error(Tensor self, str message) -> Tensor")({
        doc("The same numbers, which cannot be differentiated: that fails with the message"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self, Text) { return clone(self); }),
        derivative(
            "self", GIVEN(Tensor grad, Text message) { return refused_gradient(grad, message); }),
    });
    declare("take(Tensor self, Tensor index) -> Tensor")({
        doc("Elements at places counted in row-major order"),
        flags(trait::OutApart),
        composition([](const Tensor& self, const Tensor& index) {
            KINDLING_CHECK(Runtime, index.dtype() == DType::Int64, "take(): Expected a long tensor for index, but got %s",
                           scalar_type_name(index.dtype()));
            KINDLING_CHECK(Index, self.numel() || !index.numel(), "take(): tried to take from an empty tensor");
            return _unsafe_view(kindling::index(reshape(self, {-1}), std::vector<Tensor>{reshape(index, {-1})}), index.sizes());
        }),
    });
    declare("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")({
        doc("self with elements written, or added, at places counted in row-major order"),
        inplace_is_method(),
        linear(),
        raises_by_value(),
        has_inplace(),
        no_out(),
        flags(trait::OutApart),
        composition([](const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
            KINDLING_CHECK(Runtime, index.dtype() == DType::Int64, "put_(): Expected a long tensor for index, but got %s",
                           scalar_type_name(index.dtype()));
            KINDLING_CHECK(
                Index, index.numel() == source.numel(),
                "put_(): Expected source and index to have the same number of elements, but got source.numel() = %ld, index.numel() = %ld",
                source.numel(), index.numel());
            Tensor written = _unsafe_view(
                index_put(reshape(self, {-1}), std::vector<Tensor>{reshape(index, {-1})}, reshape(source, {-1}), accumulate), self.sizes());
            if (self.is_contiguous()) return written;
            return copy_(empty_like(self), written);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor index, Tensor source_shape, bool accumulate) {
                return accumulate ? grad : put(grad, index, zeros(source_shape.sizes(), grad.dtype()), false);
            }),
        derivative(
            "source", GIVEN(Tensor grad, Tensor index, Tensor source_shape) { return reshape(take(grad, index), source_shape.sizes()); }),
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
    declare("masked_select(Tensor self, Tensor mask) -> Tensor")({
        doc("The elements where the mask is set, in row-major order"),
        linear(),
        takes_float8(),
        flags(trait::OutApart),
        shape_by_value(),
        composition([](const Tensor& self, const Tensor& mask) {
            KINDLING_CHECK(Runtime, mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask");
            Sizes sizes = broadcast_sizes(self.sizes(), mask.sizes(), "masked_select");
            if (sizes.empty()) sizes.push_back(1);
            return index(expand(self, sizes), std::vector<Tensor>{expand(mask, sizes)});
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, Tensor mask) {
                Sizes sizes = broadcast_sizes(self_sizes, mask.sizes());
                if (sizes.empty()) sizes.push_back(1);
                Tensor target = zeros(sizes, grad.dtype());
                return sum_to_size(masked_scatter(target, mask, grad), self_sizes);
            }),
    });
    declare("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor")({
        doc("self with source's elements, in order, where the mask is set"),
        inplace_is_method(),
        raises_by_value(),
        linear(),
        has_inplace(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& mask, const Tensor& source) {
                if (mask.dtype() == DType::UInt8 && warn)
                    warn("masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a mask with "
                         "dtype torch.bool instead.");
                KINDLING_CHECK(Runtime, mask.dtype() == DType::Bool,
                               "masked_scatter_ only supports boolean masks, but got mask with dtype %s", scalar_type_name(mask.dtype()));
                KINDLING_CHECK(Runtime, self.dtype() == source.dtype(),
                               "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                               scalar_type_name(self.dtype()), scalar_type_name(source.dtype()));
                Sizes sizes = broadcast_sizes(self.sizes(), mask.sizes(), "masked_scatter");
                call.gives_copy(self, sizes);
                call.reads(expand(mask, sizes));
                call.reads(source);
            },
            [](const Array& mask, const Array& source, const Array& result) {
                const auto* set = mask.data_ptr<uint8_t>();
                const int64_t wanted = library::Mask(set, mask.numel()).count();
                KINDLING_CHECK(Runtime, wanted <= source.numel(),
                               "masked_scatter: expected `source` to have at least as many elements as the number of ones in `mask`");
                auto scatter = [&]<class T>(T) {
                    const T* from = source.data_ptr<T>();
                    T* to = result.data_ptr<T>();
                    for (int64_t i = 0, taken = 0; taken < wanted; i++) { // without a branch on the mask
                        to[i] = set[i] ? from[taken] : to[i];
                        taken += set[i] != 0;
                    }
                };
                switch (result.element_size()) {
                case 1: return scatter(uint8_t{});
                case 2: return scatter(uint16_t{});
                case 4: return scatter(uint32_t{});
                case 8: return scatter(uint64_t{});
                default: return scatter(std::complex<double>{});
                }
            }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor mask, IntList self_sizes) { return sum_to_size(masked_fill(grad, mask, Scalar(0)), self_sizes); }),
        derivative(
            "source",
            GIVEN(Tensor grad, Tensor mask, IntList source_sizes) {
                Tensor taken = masked_select(grad, mask);
                int64_t count = 1;
                for (int64_t size : source_sizes) count *= size;
                return reshape(pad_to(taken, {count}), source_sizes);
            }),
    });
    declare("nonzero(Tensor self) -> Tensor")({
        doc("The places of what is not zero: a row of coordinates each"),
        not_differentiable(),
        shape_by_value(),
        batches([](const Tensor&) -> Tensor { fail_dynamic("nonzero"); }),
        kernel([](const Tensor& self) {
            KINDLING_CHECK(NotImplemented, !self.is_meta(),
                           "nonzero: the result's shape depends on values, which meta tensors do not have");
            Tensor mask = contiguous(self.dtype() == DType::Bool ? self : ne(self, Scalar(0)));
            library::Mask counted(mask.data(), mask.numel());
            Tensor result = make_tensor({counted.count(), self.dim()}, DType::Int64);
            Unlocked unlocked(mask.numel() > 65536);
            counted.places(static_cast<int>(self.dim()), self.sizes().data(), result.data_ptr<int64_t>());
            return result;
        }),
    });
    declare("nonzero_numpy(Tensor self) -> Tensor[]")({
        doc("The places of what is not zero: a vector for each dimension"),
        in(space::Hidden),
        not_differentiable(),
        shape_by_value(),
        composition([](const Tensor& self) {
            if (self.dim() == 0) return unbind(nonzero(unsqueeze(self, 0)), 1);
            return unbind(nonzero(self), 1);
        }),
    });
    declare("argwhere(Tensor self) -> Tensor")({
        doc("The places of what is not zero: a row of coordinates each"),
        not_differentiable(),
        shape_by_value(),
        no_out(),
        batches([](const Tensor&) -> Tensor { by_slices(); }),
        composition([](const Tensor& self) { return nonzero(self); }),
    });
    declare("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")({
        doc("self with src on a diagonal"),
        composition([](const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
            Tensor result = clone_to_take(self, src), part = diagonal(result, offset, dim1, dim2);
            KINDLING_CHECK(Runtime, part.sizes() == src.sizes(),
                           "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
                           str(src.sizes()).c_str(), str(part.sizes()).c_str());
            copy_(part, src);
            return result;
        }),
    });
    declare("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor")({
        doc("self with src in place of one slice"),
        composition([](const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
            Tensor result = clone_to_take(self, src), part = select(result, dim, index);
            KINDLING_CHECK(Runtime, part.sizes() == src.sizes(),
                           "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
                           str(src.sizes()).c_str(), str(part.sizes()).c_str());
            copy_(part, src);
            return result;
        }),
    });
    declare("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor")({
        doc("self with src in place of a range of slices"),
        composition(
            [](const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
                Tensor result = clone_with_strides(self), part = slice(result, dim, start, end, step);
                KINDLING_CHECK(Runtime, part.sizes() == src.sizes(),
                               "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
                               str(src.sizes()).c_str(), str(part.sizes()).c_str());
                copy_(part, src);
                return result;
            }),
    });
    declare("as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor")({
        doc("self with src under a strided view of it"),
        linear(),
        composition([](const Tensor& self, const Tensor& src, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
            KINDLING_CHECK(Runtime, !self.requires_grad() || self.is_contiguous(),
                           "as_strided_scatter is currently only supported for contiguous inputs");
            Tensor result = clone_to_take(self, src), part = as_strided(result, size, stride, storage_offset);
            KINDLING_CHECK(Runtime, part.sizes() == src.sizes(),
                           "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
                           str(src.sizes()).c_str(), str(part.sizes()).c_str());
            copy_(part, src);
            return result;
        }),
        // As torch has it: of the gradient, self gets the part under the view.
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
                Tensor result = zeros(self_sizes, grad.dtype());
                copy_(as_strided(result, size, stride, storage_offset), as_strided(contiguous(grad), size, stride, storage_offset));
                return result;
            }),
        derivative(
            "src", GIVEN(Tensor grad, IntList size, IntList stride,
                         std::optional<int64_t> storage_offset) { return as_strided(contiguous(grad), size, stride, storage_offset); }),
    });
}
