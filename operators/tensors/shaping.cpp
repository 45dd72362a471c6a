// operators/tensors/shaping.cpp: joining, repeating, turning and cutting.
#include <algorithm>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/indexing/indexing.h"
#include "kernels/tile/move.h"
#include "operators/batching.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "operators/parts.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

/// Room before and after the dimensions, from the last one on, and the number there.
struct Padding {
    Sizes pad;
    Immediate number;
};

bool legacy_empty(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

/// Copies few bytes that lie in order: no loop is planned for them. False if there are many, or a tensor is unusual.
bool join_small(TensorList tensors, int64_t dim, const Tensor& result) {
    const int64_t item = static_cast<int64_t>(result.element_size());
    if (result.numel() * item > 4096 || thread_state.recording || result.numel() == 0) return false;
    for (const Tensor& t : tensors)
        if (t.impl()->key & (key::slow & ~uint32_t{key::Autograd}) || t.dtype() != result.dtype() || !t.is_contiguous()) return false;
    const int64_t row = result.stride(dim) * item, pitch = result.size(dim) * row;
    char* to = static_cast<char*>(result.data());
    for (const Tensor& t : tensors) {
        const int64_t bytes = t.numel() * item;
        if (bytes == 0) continue;
        const int64_t each = t.size(dim) * row;
        find_plane_copy(1)({to, static_cast<const char*>(t.data()), {bytes / each, each}, {pitch, 1}, {each, 1}});
        to += each;
    }
    return true;
}

Tensor joined(TensorList tensors, int64_t dim) {
    KINDLING_CHECK(Value, !tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
    ResultType type;
    const Tensor* shape = nullptr;
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor& t = tensors[i];
        KINDLING_CHECK(Runtime, t.device() == tensors[0].device(), "Tensor on device %s is not on the expected device %s!",
                       name(t.device().type), name(tensors[0].device().type));
        KINDLING_CHECK(Runtime, t.dim() > 0, "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
        type.add(*t.impl());
        if (!shape && !legacy_empty(t)) shape = &t;
    }
    DType dtype = type.get();
    if (!shape) return make_tensor({0}, dtype, tensors[0].device());
    int64_t d = wrap_dim(dim, shape->dim()), total = 0;
    MemoryFormat format = tensors[0].suggest_memory_format(); // that of all of them, if there is one
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor& t = tensors[i];
        if (format != MemoryFormat::Contiguous && t.suggest_memory_format() != format) format = MemoryFormat::Contiguous;
        if (legacy_empty(t)) continue;
        KINDLING_CHECK(Runtime, t.dim() == shape->dim(), "Tensors must have same number of dimensions: got %ld and %ld", shape->dim(),
                       t.dim());
        for (int64_t k = 0; k < t.dim(); k++)
            KINDLING_CHECK(Runtime, k == d || t.size(k) == shape->size(k),
                           "Sizes of tensors must match except in dimension %ld. Expected size %ld but got size %ld for tensor number %zu "
                           "in the list.",
                           d, shape->size(k), t.size(k), i);
        total += t.size(d);
    }
    Sizes sizes = shape->sizes();
    sizes[static_cast<size_t>(d)] = total;
    Tensor result = make_tensor(sizes, format_strides(sizes, format), dtype, tensors[0].device());
    if (format == MemoryFormat::Contiguous && join_small(tensors, d, result)) return result;
    int64_t start = 0;
    Sizes piece = sizes;
    for (const Tensor& t : tensors) {
        if (legacy_empty(t)) continue;
        piece[static_cast<size_t>(d)] = t.size(d);
        Tensor place = make_view(result, piece, result.strides(), start * result.stride(d));
        copy_into(place, resolve_lazy_bits(t));
        start += t.size(d);
    }
    return result;
}

struct Repeated {
    DType dtype;
    std::optional<int64_t> size; // of the result, as the caller says
};
/// How many there are of all. `wanted`: how many the caller says.
int64_t total_of(const int64_t* counts, int64_t n, std::optional<int64_t> wanted) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        KINDLING_CHECK(Runtime, counts[i] >= 0, "repeats can not be negative");
        KINDLING_CHECK(Runtime, !__builtin_add_overflow(total, counts[i], &total),
                       "repeat_interleave: the repeats add up to more than 64 bits hold");
    }
    KINDLING_CHECK(Runtime, wanted.value_or(total) == total, "allocated size does not match required size");
    return total;
}

/// Splits a joined gradient again.
std::vector<Tensor> parted(const Tensor& grad, TensorList shapes, int64_t dim) {
    std::vector<Tensor> result;
    int64_t start = 0;
    for (const Tensor& shape : shapes) {
        if (legacy_empty(shape)) {
            result.push_back(zeros({0}, grad.dtype()));
            continue;
        }
        int64_t d = wrap_dim(dim, shape.dim());
        result.push_back(narrow(grad, d, start, shape.size(d)));
        start += shape.size(d);
    }
    return result;
}

/// A triangle: elements where column - row compares to `diagonal`, zeros elsewhere.
struct Triangle {
    int64_t diagonal;
    bool upper;
};

Triangle triangle_of(KernelCall& call, const Tensor& self, int64_t diagonal, bool upper, const char* name) {
    KINDLING_CHECK(Runtime, self.dim() >= 2, "%s: input tensor must have at least 2 dimensions", name);
    call.reads_as_it_lies(self);
    call.gives(self.sizes(), self.dtype());
    return {std::clamp<int64_t>(diagonal, -self.size(-2) - 1, self.size(-1) + 1), upper};
}

/// Row by row: a part is copied, the rest is zero.
constexpr auto triangle = [](const Triangle& what, const Array& self, const Array& result) {
    const int ndim = static_cast<int>(self.dim());
    const int64_t rows = self.size(-2), columns = self.size(-1), item = static_cast<int64_t>(self.element_size()), diagonal = what.diagonal;
    const bool upper = what.upper;
    int64_t strides[max_dims];
    loop_strides(*self.impl(), self.sizes(), strides);
    PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    char* to = static_cast<char*>(result.data());
    const bool past_cache = passes_cache(result.numel() * item);
    auto clear = [&](char* first, int64_t count) {
        static constexpr char zero[16] = {};
        if (past_cache && item <= 8) copy({first, zero, {1, count}, {0, item}, {0, 0}, true});
        else std::memset(first, 0, static_cast<size_t>(count * item));
    };
    parallel_for(0, result.numel() / columns, 1 + 32768 / columns, [&](int64_t begin, int64_t end) {
        for (int64_t each = begin; each < end; each++) {
            const int64_t row = each % rows, edge = std::clamp<int64_t>(row + diagonal + (upper ? 0 : 1), 0, columns);
            const int64_t first = upper ? edge : 0, count = upper ? columns - edge : edge;
            const char* from = static_cast<const char*>(self.data()) + row * strides[ndim - 2] + first * strides[ndim - 1];
            int64_t which = each / rows;
            for (int d = ndim - 3; d >= 0; which /= self.size(d), d--) from += which % self.size(d) * strides[d];
            char* target = to + each * columns * item;
            if (upper) clear(target, first);
            else clear(target + count * item, columns - count);
            if (count > 0) copy({target + first * item, from, {1, count}, {0, item}, {0, strides[ndim - 1]}, past_cache});
        }
        if (past_cache) end_past_cache();
    });
};

/// The rows that a triangle has elements in.
struct TrianglePlaces {
    int64_t top, bottom, columns, diagonal;
    bool upper;
};

/// Rows and columns of what `triangle` keeps, a row of numbers each.
TrianglePlaces triangle_places_of(KernelCall& call, int64_t rows, int64_t columns, int64_t diagonal, bool upper, DType dtype,
                                  std::optional<Device> device) {
    if (dtype == DType::None) dtype = DType::Int64;
    if (dtype != DType::Int32 && dtype != DType::Int64)
        fail(ErrorKind::NotImplemented, "\"%s_indices\" not implemented for '%s'", upper ? "triu" : "tril", scalar_type_name(dtype));
    KINDLING_CHECK(Runtime, rows >= 0, "row must be non-negative, got%ld", rows);
    KINDLING_CHECK(Runtime, columns >= 0, "col must be non-negative, got%ld", columns);
    // Only the rows above a diagonal's end, and the columns before one's, count: there may be far more that have none.
    if (upper) rows = static_cast<int64_t>(std::clamp<__int128>(static_cast<__int128>(columns) - diagonal, 0, rows));
    else columns = static_cast<int64_t>(std::clamp<__int128>(static_cast<__int128>(rows) + diagonal, 0, columns));
    if (!rows || !columns) rows = columns = 0;
    int64_t farthest; // of a diagonal: below, places are added up to that
    KINDLING_CHECK(Runtime, !__builtin_add_overflow(rows, columns, &farthest) && farthest < INT64_MAX - 2,
                   "%s_indices: %ld rows and %ld columns are too many", upper ? "triu" : "tril", rows, columns);
    diagonal = std::clamp<int64_t>(diagonal, -rows - 1, columns + 1);
    // The rows that have any.
    const int64_t top = upper ? 0 : std::clamp<int64_t>(-diagonal, 0, rows),
                  bottom = upper ? std::clamp<int64_t>(columns - diagonal, 0, rows) : rows;
    // Each has one more than the one before it (upper: behind it), up to all columns.
    const int64_t rows_left = columns ? bottom - top : 0, first = upper ? columns - bottom + 1 - diagonal : top + diagonal + 1;
    const int64_t growing = std::clamp<int64_t>(columns - first, 0, rows_left);
    const __int128 all = static_cast<__int128>(growing) * (growing - 1) / 2 + static_cast<__int128>(growing) * first +
                         static_cast<__int128>(rows_left - growing) * columns;
    KINDLING_CHECK(Runtime, all < INT64_MAX / 2, "numel: integer multiplication overflow for shape [%ld, %ld]", rows, columns);
    const int64_t count = static_cast<int64_t>(all);
    call.on(or_default(device));
    call.gives({2, count}, dtype).computed_in(DType::Int64);
    return {top, bottom, columns, diagonal, upper};
}

constexpr auto triangle_places = [](const TrianglePlaces& t, const Array& result) {
    const int64_t count = result.size(1);
    int64_t* place = result.data_ptr<int64_t>();
    for (int64_t row = t.top; row < t.bottom && t.columns; row++) {
        const int64_t edge = std::clamp<int64_t>(row + t.diagonal + (t.upper ? 0 : 1), 0, t.columns);
        for (int64_t column = t.upper ? edge : 0, stop = t.upper ? t.columns : edge; column < stop; column++, place++)
            place[0] = row, place[count] = column;
    }
};

/// Rows that are rolled by `start` elements from where they are read; which row is read goes round along the dimensions before.
struct Roll {
    Sizes sizes, starts; // of the dimensions up to the last that is rolled, which is the row's; of each, where reading starts
    int64_t inner;       // elements that move together
};

Roll rolls_flat(KernelCall& call, const Tensor& self, int64_t shift) {
    call.reads(self);
    call.gives(self.sizes(), self.dtype());
    const int64_t size = std::max<int64_t>(self.numel(), 1);
    return {{size}, {((-shift) % size + size) % size}, 1};
}

/// The result lies in rows where one dimension stays as it is, as what PyTorch's loop over the dimensions gives.
Roll rolls(KernelCall& call, const Tensor& self, IntList shifts, IntList dims) {
    Roll roll{{}, Sizes(static_cast<size_t>(self.dim()), 0), 1};
    size_t rank = 0;
    bool moves = true;
    for (size_t i = 0; i < dims.size(); i++) {
        const auto d = static_cast<size_t>(wrap_dim(dims[i], self.dim()));
        const int64_t size = std::max<int64_t>(self.sizes()[d], 1), start = ((-shifts[i]) % size + size) % size;
        roll.starts[d] = (roll.starts[d] + start) % size;
        moves &= start != 0;
        rank = std::max(rank, d + 1);
    }
    int rolled_dims = 0;
    for (int64_t start : roll.starts) rolled_dims += start != 0;
    if (rolled_dims > 4) call.reads(self);
    else call.reads_as_it_lies(self);
    KernelCall::Result& result = call.gives(self.sizes(), self.dtype()).written_as_it_lies();
    if (!self.numel()) result.preserves(self);
    else if (moves) result.like(self);
    for (size_t d = 0; d < self.sizes().size(); d++)
        if (d < rank) roll.sizes.push_back(self.sizes()[d]);
        else roll.inner *= self.sizes()[d];
    return roll;
}

/// A block for each way of taking one of two parts along what is rolled.
void roll_blocks(const Roll& roll, const Array& result, const Part& all_there, const Array& self, const Part& all_here) {
    std::vector<size_t> moved;
    for (size_t d = 0; d < roll.starts.size(); d++)
        if (roll.starts[d]) moved.push_back(d);
    for (size_t part = 0; part < size_t{1} << moved.size(); part++) {
        Part there = all_there, here = all_here;
        for (size_t i = 0; i < moved.size(); i++) {
            const auto d = static_cast<int64_t>(moved[i]);
            const int64_t start = roll.starts[moved[i]], left = here.sizes[moved[i]] - start;
            if (part >> i & 1) there.slice(d, left, INT64_MAX, 1), here.slice(d, 0, start, 1);
            else there.slice(d, 0, left, 1), here.slice(d, start, INT64_MAX, 1);
        }
        copy_part(result, there, self, here);
    }
}

constexpr auto rolled = [](const Roll& roll, const Array& self, const Array& result) {
    const size_t rank = roll.sizes.size();
    const int64_t item = static_cast<int64_t>(self.element_size()), all = item * self.numel();
    if (!self.is_contiguous() || !result.is_contiguous() || thread_state.recording) {
        if (roll.starts.size() == static_cast<size_t>(self.dim())) return roll_blocks(roll, result, Part(result), self, Part(self));
        return roll_blocks(roll, result, Part(IntList{self.numel()}), self, Part(IntList{self.numel()})); // all of it as one row
    }
    const char* from = self.data_ptr<char>();
    char* to = result.data_ptr<char>();
    if (!rank) return static_cast<void>(std::memcpy(to, from, static_cast<size_t>(all)));
    const int64_t inner = roll.inner * item, row = roll.sizes[rank - 1] * inner, rows = all / row, start = roll.starts[rank - 1] * inner;
    const bool past_cache = passes_cache(all);
    const auto copy = past_cache ? copy_past_cache : copy_bytes;
    const bool backwards = !past_cache && goes_backwards(2 * all);
    bool moves_rows = false;
    for (size_t d = 0; d + 1 < rank; d++) moves_rows |= roll.starts[d] != 0;
    auto source_of = [&](int64_t r) {
        if (!moves_rows) return r;
        int64_t place = 0, step = 1;
        for (size_t d = rank - 1; d-- > 0; r /= roll.sizes[d], step *= roll.sizes[d]) place += (r + roll.starts[d]) % roll.sizes[d] * step;
        return place;
    };
    parallel_for(0, rows, 1 + (1 << 18) / row, [&](int64_t first, int64_t stop) {
        in_direction(backwards, first, stop, 1 + (1 << 16) / row, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; r++) { // both parts of a row while it is in cache
                const char* source = from + source_of(r) * row;
                copy(to + r * row, source + start, row - start);
                if (start) copy(to + (r + 1) * row - start, source, start);
            }
        });
        if (past_cache) end_past_cache();
    });
};

/// Reads with negative strides: only the loop sees them.
constexpr auto flipped = [](uint64_t mask, const Array& self, const Array& result) {
    Part here(self);
    for (size_t d = 0; d < here.sizes.size(); d++)
        if (mask >> d & 1) {
            here.offset += (here.sizes[d] - 1) * here.strides[d];
            here.strides[d] = -here.strides[d];
        }
    copy_part(result, Part(result), self, here);
};

} // namespace
} // namespace kindling

OPERATORS(shaping) {
    declare("cat(Tensor[] tensors, int dim=0) -> Tensor")({
        doc("Tensors joined along a dimension"),
        linear(),
        takes_float8(),
        out_joined(),
        flags(trait::OutApart),
        flags(trait::AutocastPromote),
        alias("concat"),
        alias("concatenate"),
        keeps_conj(),
        batches([](TensorList tensors, int64_t dim) {
            Mapped m(tensors);
            auto nothing = [](const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }; // of any shape, by old custom
            int64_t dims = 1;
            for (const Tensor& each : tensors)
                if (!nothing(each)) dims = each.dim();
            const int64_t place = wrap_dim(dim, dims) + (m.any() ? 1 : 0);
            return m.wraps([&] {
                std::vector<Tensor> all;
                for (const Tensor& each : tensors)
                    if (dims == 1 || !nothing(each)) all.push_back(m.front(each));
                return cat(all, place);
            });
        }),
        composition([](TensorList tensors, int64_t dim) { return joined(tensors, dim); }),
        derivative(
            "tensors",
            GIVEN(Tensor grad, TensorList tensors_shape, int64_t dim) {
                std::vector<Tensor> parts = parted(grad, tensors_shape, dim);
                for (size_t i = 0; i < parts.size(); i++) {
                    DType dtype = tensors_shape[i].dtype();
                    if (parts[i].dtype() != dtype)
                        parts[i] = to(is_complex(grad.dtype()) && !is_complex(dtype) ? real(parts[i]) : parts[i], dtype);
                }
                return parts;
            }),
        example("torch.cat([torch.ones(2), torch.zeros(1)])"),
        refuses("torch.cat([torch.ones(2, 2), torch.ones(3, 3)])", "RuntimeError: Sizes of tensors must match except in dimension 0"),
    });
    declare("stack(Tensor[] tensors, int dim=0) -> Tensor")({
        doc("Tensors of one shape joined along a new dimension"),
        linear(),
        takes_float8(),
        out_joined(),
        flags(trait::AutocastPromote),
        composition([](TensorList tensors, int64_t dim) {
            KINDLING_CHECK(Runtime, !tensors.empty(), "stack expects a non-empty TensorList");
            int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
            const bool joins = d < tensors[0].dim(); // along a dimension that is there: that is split afterwards
            std::vector<Tensor> rows;
            for (size_t i = 0; i < tensors.size(); i++) {
                KINDLING_CHECK(Runtime, tensors[i].sizes() == tensors[0].sizes(),
                               "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %zu",
                               str(tensors[0].sizes()).c_str(), str(tensors[i].sizes()).c_str(), i);
                rows.push_back(joins ? tensors[i] : unsqueeze(tensors[i], d));
            }
            if (!joins) return cat(rows, d);
            Sizes sizes;
            for (int64_t i = 0; i < tensors[0].dim(); i++) {
                if (i == d) sizes.push_back(static_cast<int64_t>(tensors.size()));
                sizes.push_back(tensors[0].size(i));
            }
            return _unsafe_view(cat(rows, d), sizes);
        }),
        derivative(
            "tensors",
            GIVEN(Tensor grad, TensorList tensors_shape, int64_t dim) {
                std::vector<Tensor> parts;
                for (size_t i = 0; i < tensors_shape.size(); i++) {
                    parts.push_back(select(grad, dim, static_cast<int64_t>(i)));
                    DType dtype = tensors_shape[i].dtype();
                    if (parts[i].dtype() != dtype)
                        parts[i] = to(is_complex(grad.dtype()) && !is_complex(dtype) ? real(parts[i]) : parts[i], dtype);
                }
                return parts;
            }),
    });
    declare("hstack(Tensor[] tensors) -> Tensor")({
        doc("Tensors joined along the second dimension (vectors along the first)"),
        out_joined(),
        composition([](TensorList tensors) {
            KINDLING_CHECK(Runtime, !tensors.empty(), "hstack expects a non-empty TensorList");
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(t.dim() == 0 ? reshape(t, {1}) : t);
            return cat(list, list[0].dim() == 1 ? 0 : 1);
        }),
    });
    declare("vstack(Tensor[] tensors) -> Tensor")({
        doc("Tensors joined along the first dimension, vectors as rows"),
        out_joined(),
        alias("row_stack"),
        composition([](TensorList tensors) {
            KINDLING_CHECK(Runtime, !tensors.empty(), "vstack expects a non-empty TensorList");
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(t.dim() == 0 ? reshape(t, {1, 1}) : t.dim() == 1 ? unsqueeze(t, 0) : t);
            return cat(list, 0);
        }),
    });
    declare("dstack(Tensor[] tensors) -> Tensor")({
        doc("Tensors joined along the third dimension"),
        out_joined(),
        composition([](TensorList tensors) {
            KINDLING_CHECK(Runtime, !tensors.empty(), "dstack expects a non-empty TensorList");
            std::vector<Tensor> list;
            for (const Tensor& t : tensors)
                list.push_back(t.dim() == 0   ? reshape(t, {1, 1, 1})
                               : t.dim() == 1 ? unsqueeze(unsqueeze(t, 0), 2)
                               : t.dim() == 2 ? unsqueeze(t, 2)
                                              : t);
            return cat(list, 2);
        }),
    });
    declare("column_stack(Tensor[] tensors) -> Tensor")({
        doc("Vectors as columns, joined"),
        out_joined(),
        composition([](TensorList tensors) {
            KINDLING_CHECK(Runtime, !tensors.empty(), "column_stack expects a non-empty TensorList");
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t);
            return hstack(list);
        }),
    });
    declare("block_diag(Tensor[] tensors) -> Tensor")({
        doc("A matrix with the given blocks on its diagonal"),
        no_out(),
        composition([](TensorList tensors) {
            std::vector<Tensor> blocks;
            ResultType type;
            int64_t rows = 0, columns = 0;
            for (const Tensor& t : tensors) {
                KINDLING_CHECK(Runtime, t.dim() <= 2,
                               "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has %ld dimensions",
                               blocks.size(), t.dim());
                blocks.push_back(t.dim() == 0 ? reshape(t, {1, 1}) : t.dim() == 1 ? unsqueeze(t, 0) : t);
                type.add(*t.impl());
                rows += blocks.back().size(0);
                columns += blocks.back().size(1);
            }
            if (blocks.empty()) return zeros({1, 0});
            Tensor result = zeros({rows, columns}, type.get());
            int64_t row = 0, column = 0;
            for (const Tensor& block : blocks) {
                copy_(narrow(narrow(result, 0, row, block.size(0)), 1, column, block.size(1)), block);
                row += block.size(0);
                column += block.size(1);
            }
            return result;
        }),
    });
    declare("repeat(Tensor self, SymInt[] repeats) -> Tensor")({
        doc("The tensor laid side by side that many times along each dimension"),
        takes_float8(),
        in(space::Method),
        composition([](const Tensor& self, SizeList repeats) {
            KINDLING_CHECK(Runtime, static_cast<int64_t>(repeats.size()) >= self.dim(),
                           "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
            size_t lead = repeats.size() - self.sizes().size();
            SizeVector open, wide, result;
            for (size_t i = 0; i < repeats.size(); i++) {
                const Size size = i < lead ? Size(1) : size_of(self, static_cast<int64_t>(i - lead));
                KINDLING_CHECK(Runtime, repeats[i].hint() >= 0, "Trying to create tensor with negative dimension %ld: %s",
                               repeats[i].hint(), str(repeats.hints()).c_str());
                open.push_back(1);
                open.push_back(size);
                wide.push_back(repeats[i]);
                wide.push_back(size);
                result.push_back(repeats[i] * size);
            }
            return _unsafe_view(clone(expand(reshape(self, open), wide), MemoryFormat::Contiguous), result);
        }),
    });
    declare("tile(Tensor self, SymInt[] dims) -> Tensor")({
        doc("repeat, with missing repeats counted as 1"),
        no_out(),
        composition([](const Tensor& self, SizeList dims) {
            SizeVector repeats;
            while (static_cast<int64_t>(repeats.size() + dims.size()) < self.dim()) repeats.push_back(1);
            for (size_t i = 0; i < dims.size(); i++) repeats.push_back(dims[i]);
            return repeat(self, repeats);
        }),
    });
    declare("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")({
        doc("Each element repeated its own number of times"),
        no_out(),
        shape_by_value(),
        composition([](const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
            Tensor source = dim ? self : reshape(self, {-1});
            KINDLING_CHECK(Index, source.dim(), "Dimension specified as %ld but tensor has no dimensions", dim.value_or(0));
            int64_t d = wrap_dim(dim.value_or(0), source.dim());
            KINDLING_CHECK(Runtime, repeats.dim() <= 1, "repeats must be 0-dim or 1-dim tensor");
            KINDLING_CHECK(NotImplemented, repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
                           "\"repeat_interleave_cpu\" not implemented for '%s'", scalar_type_name(repeats.dtype()));
            Tensor each = repeats;
            if (repeats.dim() == 0 || repeats.size(0) == 1) each = expand(reshape(repeats, {1}), {source.size(d)});
            KINDLING_CHECK(Runtime, each.size(0) == source.size(d),
                           "repeats must have the same size as input along dim, but got repeats.size(0) = %ld and input.size(%ld) = %ld",
                           each.size(0), d, source.size(d));
            // A lazy bit is taken off, and put on what comes of it.
            const bool conjugated = source.is_conj(), negated = source.is_neg();
            if (conjugated) source = _conj(source);
            if (negated) source = _neg_view(source);
            source = index_select(source, d, repeat_interleave(each, output_size));
            if (conjugated) source = _conj(source);
            return negated ? _neg_view(source) : source;
        }),
    });
    declare("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")({
        doc("Each element repeated"),
        no_out(),
        composition([](const Tensor& self, int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
            KINDLING_CHECK(Runtime, repeats >= 0, "Repeats must be non-negative");
            Tensor source = dim ? self : reshape(self, {-1});
            int64_t d = wrap_dim(dim.value_or(0), source.dim());
            KINDLING_CHECK(Index, source.dim(), "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
            Sizes wide, sizes = source.sizes();
            Tensor open = unsqueeze(source, d + 1);
            wide = open.sizes();
            wide[static_cast<size_t>(d + 1)] = repeats;
            KINDLING_CHECK(Runtime, !__builtin_mul_overflow(sizes[static_cast<size_t>(d)], repeats, &sizes[static_cast<size_t>(d)]),
                           "repeat_interleave: dimension %ld of size %ld repeated %ld times has no size that fits 64 bits", d,
                           source.size(d), repeats);
            KINDLING_CHECK(Runtime, !output_size || *output_size == sizes[static_cast<size_t>(d)],
                           "repeat_interleave: Invalid output_size, expected %ld but got %ld", sizes[static_cast<size_t>(d)],
                           output_size.value_or(0));
            return reshape(clone(expand(open, wide), MemoryFormat::Contiguous), sizes);
        }),
    });
    declare("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor")({
        doc("0 repeated repeats[0] times, 1 repeats[1] times, and so on"),
        raises_by_value(GIVEN(Tensor repeats, std::optional<int64_t> output_size) {
            const Tensor counts = contiguous(to(repeats, DType::Int64));
            if (counts.numel()) total_of(counts.data_ptr<int64_t>(), counts.numel(), output_size);
        }),
        in(space::Torch),
        not_differentiable(),
        shape_by_value(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& repeats, std::optional<int64_t> output_size) {
                KINDLING_CHECK(NotImplemented, repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
                               "\"repeat_interleave_cpu\" not implemented for '%s'", scalar_type_name(repeats.dtype()));
                KINDLING_CHECK(Runtime, repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
                call.reads(repeats, DType::Int64);
                if (!repeats.numel()) output_size = 0; // whatever it says
                if (output_size) call.gives({*output_size}, repeats.dtype()).computed_in(DType::Int64);
                return Repeated{repeats.dtype(), output_size};
            },
            [](Repeated& r, KernelCall& call, const Array& repeats) {
                const int64_t total = total_of(repeats.data_ptr<int64_t>(), repeats.numel(), r.size);
                if (!r.size) call.gives({total}, r.dtype).computed_in(DType::Int64);
            },
            [](const Repeated&, const Array& repeats, const Array& result) {
                const auto* counts = repeats.data_ptr<int64_t>();
                int64_t* out = result.data_ptr<int64_t>();
                for (int64_t i = 0; i < repeats.numel(); i++)
                    for (int64_t j = 0; j < counts[i]; j++) *out++ = i;
            }),
    });
    declare("flip(Tensor self, int[] dims) -> Tensor")({
        doc("The order along dimensions turned round"),
        linear(),
        no_out(),
        by_parts(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList dims) {
                const uint64_t mask = dim_mask(dims, self.dim(), false);
                call.reads_as_it_lies(self);
                call.gives(self.sizes(), self.dtype()).preserves(self).written_as_it_lies();
                return mask;
            },
            flipped),
        derivative(
            "self", GIVEN(Tensor grad, IntList dims) { return flip(grad, dims); }),
    });
    declare("fliplr(Tensor self) -> Tensor")({
        doc("flip along the second dimension"),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() >= 2, "Input must be >= 2-d.");
            return flip(self, {1});
        }),
    });
    declare("flipud(Tensor self) -> Tensor")({
        doc("flip along the first dimension"),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() >= 1, "Input must be >= 1-d.");
            return flip(self, {0});
        }),
    });
    declare("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor")({
        doc("Elements shifted along dimensions; what falls out comes in again"),
        linear(),
        takes_float8(),
        no_out(),
        by_parts(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList shifts, IntList dims) {
                KINDLING_CHECK(Runtime, !shifts.empty(), "`shifts` required");
                if (dims.empty() && shifts.size() == 1) return rolls_flat(call, self, shifts[0]);
                KINDLING_CHECK(Runtime, shifts.size() == dims.size(), "shifts and dimensions must align. shifts: %zu, dims:%zu",
                               shifts.size(), dims.size());
                KINDLING_CHECK(Index, dims.empty() || self.dim() > 0, "Dimension specified as %ld but tensor has no dimensions", dims[0]);
                return rolls(call, self, shifts, dims);
            },
            rolled),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList shifts, IntList dims) {
                Sizes back;
                for (int64_t shift : shifts) back.push_back(-shift);
                return roll(grad, back, dims);
            }),
    });
    declare("rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor")({
        doc("Turned by 90 degrees k times in the plane of two dimensions"),
        no_out(),
        composition([](const Tensor& self, int64_t k, IntList dims) {
            KINDLING_CHECK(Runtime, dims.size() == 2, "expected total rotation dims == 2, but got dims = %zu", dims.size());
            KINDLING_CHECK(Runtime, self.dim() >= 2, "expected total dims >= 2, but got total dims = %ld", self.dim());
            KINDLING_CHECK(Runtime, dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != self.dim(),
                           "expected rotation dims to be different, but got dim0 = %ld and dim1 = %ld", dims[0], dims[1]);
            wrap_dim(dims[0], self.dim());
            wrap_dim(dims[1], self.dim());
            int64_t turns = ((k % 4) + 4) % 4;
            if (turns == 1) return untied(transpose(flip(self, {dims[1]}), dims[0], dims[1]));
            if (turns == 2) return flip(self, dims);
            if (turns == 3) return untied(transpose(flip(self, {dims[0]}), dims[0], dims[1]));
            return clone(self, MemoryFormat::Contiguous);
        }),
    });
    declare("tril(Tensor self, SymInt diagonal=0) -> Tensor")({
        doc("The lower triangle, zeros above"),
        inplace_is_method(),
        linear(),
        has_inplace(),
        kernel([](KernelCall& call, const Tensor& self, int64_t diagonal) { return triangle_of(call, self, diagonal, false, "tril"); },
               triangle),
        derivative(
            "self", GIVEN(Tensor grad, int64_t diagonal) { return tril(grad, diagonal); }),
    });
    declare("triu(Tensor self, SymInt diagonal=0) -> Tensor")({
        doc("The upper triangle, zeros below"),
        inplace_is_method(),
        linear(),
        has_inplace(),
        kernel([](KernelCall& call, const Tensor& self, int64_t diagonal) { return triangle_of(call, self, diagonal, true, "triu"); },
               triangle),
        derivative(
            "self", GIVEN(Tensor grad, int64_t diagonal) { return triu(grad, diagonal); }),
    });
    declare("tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Rows and columns of the lower triangle of a matrix"),
        not_differentiable(),
        no_out(),
        kernel([](KernelCall& call, int64_t row, int64_t col, int64_t offset, DType dtype, std::optional<Layout>,
                  std::optional<Device> device,
                  std::optional<bool>) { return triangle_places_of(call, row, col, offset, false, dtype, device); },
               triangle_places),
    });
    declare("triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Rows and columns of the upper triangle of a matrix"),
        not_differentiable(),
        no_out(),
        kernel([](KernelCall& call, int64_t row, int64_t col, int64_t offset, DType dtype, std::optional<Layout>,
                  std::optional<Device> device,
                  std::optional<bool>) { return triangle_places_of(call, row, col, offset, true, dtype, device); },
               triangle_places),
    });
    declare("diag(Tensor self, int diagonal=0) -> Tensor")({
        doc("A matrix with a vector on its diagonal, or the diagonal of a matrix"),
        takes_float8(),
        composition([](const Tensor& self, int64_t diagonal) {
            KINDLING_CHECK(Runtime, self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got %ldD", self.dim());
            return self.dim() == 1 ? diag_embed(self, diagonal) : clone(kindling::diagonal(self, diagonal), MemoryFormat::Contiguous);
        }),
    });
    declare("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")({
        doc("The last dimension put on the diagonal of two new ones"),
        takes_float8(),
        no_out(),
        composition([](const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
            int64_t ndim = self.dim() + 1, a = wrap_dim(dim1, ndim), b = wrap_dim(dim2, ndim);
            KINDLING_CHECK(Runtime, a != b, "diagonal dimensions cannot be identical %ld, %ld", dim1, dim2);
            int64_t length;
            bool fits = offset != INT64_MIN && !__builtin_add_overflow(self.size(-1), std::abs(offset), &length);
            KINDLING_CHECK(Runtime, fits, "diag_embed: an offset of %ld is out of range", offset);
            Sizes sizes;
            int64_t next = 0;
            for (int64_t d = 0; d < ndim; d++) sizes.push_back(d == a || d == b ? length : self.size(next++));
            Tensor result = self.new_zeros(sizes);
            copy_(diagonal(result, offset, a, b), self);
            return result;
        }),
    });
    declare("diagflat(Tensor self, int offset=0) -> Tensor")({
        doc("All elements on the diagonal of a matrix"),
        no_out(),
        composition([](const Tensor& self, int64_t offset) { return diag_embed(reshape(self, {-1}), offset); }),
    });
    declare("trace(Tensor self) -> Tensor")({
        doc("The sum of a matrix's diagonal"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() == 2, "trace: expected a matrix, but got tensor with dim %ld", self.dim());
            return sum(diagonal(self));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes) {
                Tensor result = zeros(self_sizes, grad.dtype());
                Tensor wide = expand(grad, {std::min(self_sizes[0], self_sizes[1])});
                return diagonal_scatter(result, wide);
            }),
    });
    declare("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor")({
        doc("Room on both sides of the last dimensions, filled with a number; negative room cuts"),
        takes_float8(),
        in(space::Torch),
        no_out(),
        by_parts(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList pad, const Scalar& value) {
                KINDLING_CHECK(Runtime, pad.size() % 2 == 0, "Length of pad must be even but instead it equals %zu", pad.size());
                int64_t count = static_cast<int64_t>(pad.size() / 2);
                KINDLING_CHECK(Runtime, count <= self.dim(),
                               "Length of pad should be no more than twice the number of dimensions of the input. Pad length is %zu while "
                               "the input has %ld dimensions.",
                               pad.size(), self.dim());
                Sizes sizes = self.sizes();
                for (int64_t i = 0; i < count; i++) {
                    int64_t d = self.dim() - 1 - i, before = pad[static_cast<size_t>(2 * i)], after = pad[static_cast<size_t>(2 * i + 1)],
                            size;
                    bool fits = before != INT64_MIN && after != INT64_MIN &&
                                !__builtin_add_overflow(sizes[static_cast<size_t>(d)], before, &size) &&
                                !__builtin_add_overflow(size, after, &size);
                    KINDLING_CHECK(Runtime, fits,
                                   "constant_pad_nd: dimension %ld of size %ld with the padding %ld and %ld has no size that fits 64 bits",
                                   d, sizes[static_cast<size_t>(d)], before, after);
                    KINDLING_CHECK(Runtime, size >= 0,
                                   "The input size %ld, plus negative padding %ld and %ld resulted in a negative output size, which is "
                                   "invalid. Check dimension %ld of your input.",
                                   sizes[static_cast<size_t>(d)], before, after, d);
                    sizes[static_cast<size_t>(d)] = size;
                }
                if (std::all_of(pad.begin(), pad.end(), [](int64_t each) { return each <= 0; }))
                    return call.declines(), Padding(); // nothing to fill, whatever the number
                call.reads_as_it_lies(self);
                call.gives(sizes, self.dtype()).laid_out(format_strides(sizes, self.suggest_memory_format())).exact = true;
                const bool rounds = checked_numel(sizes) == 1 && is_narrow(self.dtype()) && value.is_real(); // as fill_
                if (!call.on_meta() && !rounds) check_fits(value, self.dtype());
                return Padding{pad, immediate_of(value, self.dtype())};
            },
            [](const Padding& padding, const Array& self, const Array& result) {
                Part to(result), from(self);
                fill_part(result, to, padding.number);
                for (size_t i = 0; 2 * i < padding.pad.size(); i++) {
                    const int64_t d = self.dim() - 1 - static_cast<int64_t>(i), before = padding.pad[2 * i], after = padding.pad[2 * i + 1];
                    if (before > 0) to.slice(d, before, INT64_MAX, 1);
                    else from.slice(d, -before, INT64_MAX, 1);
                    if (after > 0) to.slice(d, 0, to.sizes[static_cast<size_t>(d)] - after, 1);
                    else from.slice(d, 0, from.sizes[static_cast<size_t>(d)] + after, 1);
                }
                copy_part(result, to, self, from);
            }),
        otherwise([](const Tensor& self, IntList pad, const Scalar&) {
            Tensor part = self;
            for (int64_t i = 0, count = static_cast<int64_t>(pad.size() / 2); i < count; i++) {
                const int64_t d = self.dim() - 1 - i, before = -pad[static_cast<size_t>(2 * i)];
                part = narrow(part, d, before, self.size(d) - before + pad[static_cast<size_t>(2 * i + 1)]);
            }
            return clone(part);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList pad) {
                Sizes back;
                for (int64_t p : pad) back.push_back(-p);
                return constant_pad_nd(grad, back, Scalar(0));
            }),
    });
    declare("atleast_1d(Tensor self) -> Tensor")({
        doc("A 0-d tensor as a vector of one"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self) { return self.dim() ? self : reshape(self, {1}); }),
    });
    declare("atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]")({
        doc("atleast_1d of each"),
        in(space::Torch),
        composition([](TensorList tensors) {
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(atleast_1d(t));
            return list;
        }),
    });
    declare("atleast_2d(Tensor self) -> Tensor")({
        doc("At least two dimensions, new ones in front"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self) {
            return self.dim() == 0 ? reshape(self, {1, 1}) : self.dim() == 1 ? unsqueeze(self, 0) : self;
        }),
    });
    declare("atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]")({
        doc("atleast_2d of each"),
        in(space::Torch),
        composition([](TensorList tensors) {
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(atleast_2d(t));
            return list;
        }),
    });
    declare("atleast_3d(Tensor self) -> Tensor")({
        doc("At least three dimensions"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self) {
            return self.dim() == 0   ? reshape(self, {1, 1, 1})
                   : self.dim() == 1 ? unsqueeze(unsqueeze(self, 0), -1)
                   : self.dim() == 2 ? unsqueeze(self, -1)
                                     : self;
        }),
    });
    declare("atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]")({
        doc("atleast_3d of each"),
        in(space::Torch),
        composition([](TensorList tensors) {
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(atleast_3d(t));
            return list;
        }),
    });
    declare("broadcast_tensors(Tensor[] tensors) -> Tensor[]")({
        doc("Tensors expanded to one shape"),
        in(space::Torch),
        composition([](TensorList tensors) {
            Sizes sizes;
            for (const Tensor& t : tensors) sizes = broadcast_sizes(sizes, t.sizes());
            std::vector<Tensor> list;
            for (const Tensor& t : tensors) list.push_back(expand(t, sizes));
            return list;
        }),
    });
    declare("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]")({
        doc("The coordinates of a grid; 'ij' or 'xy'"),
        in(space::Torch),
        composition([](TensorList tensors, Text indexing) {
            KINDLING_CHECK(Runtime, !tensors.empty(), "meshgrid expects a non-empty TensorList");
            KINDLING_CHECK(Runtime, indexing == "ij" || indexing == "xy",
                           "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s", std::string(indexing).c_str());
            std::vector<Tensor> list(tensors.begin(), tensors.end());
            for (const Tensor& t : list) {
                KINDLING_CHECK(Runtime, t.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %s",
                               str(t).c_str());
                KINDLING_CHECK(Runtime, t.dtype() == list[0].dtype(), "torch.meshgrid expects all tensors to have the same dtype");
                KINDLING_CHECK(Runtime, t.device() == list[0].device(), "meshgrid expects all tensors to have the same device");
            }
            bool swap = indexing == "xy" && list.size() >= 2;
            if (swap) std::swap(list[0], list[1]);
            Sizes sizes;
            for (const Tensor& t : list) sizes.push_back(t.numel());
            std::vector<Tensor> grids;
            for (size_t i = 0; i < list.size(); i++) {
                Sizes shape(list.size(), 1);
                shape[i] = list[i].numel();
                grids.push_back(expand(view(list[i], shape), sizes));
            }
            if (swap) std::swap(grids[0], grids[1]);
            return grids;
        }),
    });
    declare("meshgrid(Tensor[] tensors) -> Tensor[]")({
        doc("The coordinates of a grid, 'ij'"),
        in(space::Torch),
        composition([](TensorList tensors) { return meshgrid(tensors, Text("ij")); }),
    });
}
