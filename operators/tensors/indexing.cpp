// operators/tensors/indexing.cpp: reading and writing at places that tensors or masks give, in any dimensions at once.
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
    int64_t count;
    library::Scratch<int64_t> sums;
    const int64_t* values = nullptr;
    explicit Offsets(const Places& places); // for each combination of indices
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

library::Indexed describe(const Tensor& self, int first, int count, const Offsets& offsets) {
    const TensorImpl* impl = self.impl();
    const int64_t *sizes = impl->shape, *strides = impl->shape + impl->ndim;
    int after = first + count;
    return {self.dtype(), first, impl->ndim - after, sizes, strides, sizes + after, strides + after, offsets.values, offsets.count, 1};
}

/// Where PyTorch puts what is gathered: its iterator walks the tensor with steps of 0 where it is indexed, and the indices with steps
/// of 0 elsewhere.
Sizes gathered_strides(const Places& p) {
    auto by_rows = [](const Tensor& t) { return has_row_strides(t.sizes(), t.strides()); };
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

/// Whether it is plain that the result is contiguous: `gathered_strides` takes a microsecond to say so.
bool lies_in_rows(const KernelCall& call, const Tensor& self, const Gathering& g, const Sizes& result) {
    if (result.size() < 2) return true;
    for (size_t d = 0; d < g.order.size(); d++)
        if (g.order[d] != static_cast<int64_t>(d)) return false;
    for (int i = 0; i < g.count; i++) {
        const TensorImpl& index = *call.input(i).tensor;
        if (!has_row_strides(index.sizes(), index.strides())) return false;
    }
    return has_row_strides(self.sizes(), self.strides());
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

/// The check of values of indices: those of a tensor of these sizes.
void check_indices(TensorList indices, IntList self_sizes) {
    const Offsets offsets(prepare(make_tensor(self_sizes, DType::UInt8, Device{DeviceType::Meta}), indices));
}

void check_taken(int64_t wanted, int64_t given) {
    KINDLING_CHECK(Runtime, wanted <= given,
                   "masked_scatter: expected `source` to have at least as many elements as the number of ones in `mask`");
}

} // namespace
} // namespace kindling

OPERATORS(indexing) {
    declare("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")({
        doc("Elements at places given by index tensors or masks, as self[indices]"),
        shape_by_value(),
        linear(),
        raises_by_value(GIVEN(TensorList indices, IntList self_sizes) { check_indices(indices, self_sizes); }),
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
                if (lies_in_rows(call, self, g, sizes)) return g;
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
        raises_by_value(GIVEN(TensorList indices, IntList self_sizes) { check_indices(indices, self_sizes); }),
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
        raises_by_value(GIVEN(TensorList indices, IntList self_sizes) { check_indices(indices, self_sizes); }),
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
        raises_by_value(GIVEN(TensorList indices, IntList self_sizes) { check_indices(indices, self_sizes); }),
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
        raises_by_value(GIVEN(Tensor index, IntList self_sizes) {
            const Tensor places = reshape(index, {-1});
            check_indices(TensorList(&places, 1), {checked_numel(self_sizes)});
        }),
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
        raises_by_value(GIVEN(Tensor mask, IntList self_sizes, IntList source_sizes) {
            const Tensor set = contiguous(expand(mask, broadcast_sizes(self_sizes, mask.sizes())));
            check_taken(library::Mask(set.data_ptr<uint8_t>(), set.numel()).count(), checked_numel(source_sizes));
        }),
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
                check_taken(wanted, source.numel());
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
        kernel(
            [](KernelCall& call, const Tensor& self) {
                call.reads(self, DType::Bool);
                return std::optional<library::Mask>();
            },
            [](std::optional<library::Mask>& found, KernelCall& call, const Array& mask) {
                found.emplace(mask.data(), mask.numel());
                call.gives({found->count(), mask.dim()}, DType::Int64);
            },
            [](const std::optional<library::Mask>& found, const Array& mask, const Array& result) {
                found->places(static_cast<int>(mask.dim()), mask.sizes().data(), result.data_ptr<int64_t>());
            }),
    });
    declare("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor")({
        doc("The places of the elements that are not 0, cut or filled to a given number of rows"),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t size, int64_t fill_value) {
                KINDLING_CHECK(Runtime, size >= 0, "nonzero_static: 'size' must be an non-negative integer");
                call.reads(self, DType::Bool);
                call.gives({size, self.dim()}, DType::Int64);
                return fill_value;
            },
            [](int64_t fill_value, const Array& mask, const Array& result) {
                const library::Mask found(mask.data(), mask.numel());
                const int64_t ndim = mask.dim(), count = found.count(), wanted = result.size(0);
                auto* places = result.data_ptr<int64_t>();
                if (count <= wanted) {
                    found.places(static_cast<int>(ndim), mask.sizes().data(), places);
                    return static_cast<void>(std::fill(places + count * ndim, places + wanted * ndim, fill_value));
                }
                std::vector<int64_t> all(static_cast<size_t>(count * ndim));
                found.places(static_cast<int>(ndim), mask.sizes().data(), all.data());
                std::copy_n(all.data(), wanted * ndim, places);
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
