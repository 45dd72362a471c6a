// core/shape.cpp: checked arithmetic on sizes, strides and offsets; broadcasting and contiguity.
#include "core/shape.h"

namespace kindling {

std::string str(IntList list) {
    std::string text = "[";
    for (size_t i = 0; i < list.size(); i++) text += (i ? ", " : "") + std::to_string(list[i]);
    return text + "]";
}

int64_t checked_numel(IntList sizes) {
    int64_t count = 1;
    bool overflow = false; // as in torch, a 0 saves only what comes behind it
    for (int64_t size : sizes) {
        KINDLING_CHECK(Runtime, size >= 0, "Trying to create tensor with negative dimension %ld: %s", size, str(sizes).c_str());
        overflow |= __builtin_mul_overflow(count, size, &count);
    }
    KINDLING_CHECK(Runtime, !overflow, "numel: integer multiplication overflow for shape %s", str(sizes).c_str());
    return count;
}

size_t checked_bytes(IntList sizes, IntList strides, int64_t offset, size_t item) {
    int64_t last = offset, step;
    bool overflow = false;
    for (size_t i = 0; i < sizes.size(); i++) {
        if (sizes[i] == 0) return 0;
        overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step);
        overflow |= __builtin_add_overflow(last, step, &last);
    }
    overflow |= __builtin_add_overflow(last, int64_t{1}, &last);
    overflow |= __builtin_mul_overflow(last, static_cast<int64_t>(item), &last);
    KINDLING_CHECK(Runtime, !overflow && last >= 0, "Storage size calculation overflowed with sizes=%s and strides=%s", str(sizes).c_str(),
                   str(strides).c_str());
    return static_cast<size_t>(last);
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
    int64_t range = ndim ? ndim : 1;
    KINDLING_CHECK(Index, dim >= -range && dim < range, "Dimension out of range (expected to be in range of [%ld, %ld], but got %ld)",
                   -range, range - 1, dim);
    return dim < 0 ? dim + range : dim;
}

uint64_t dim_mask(IntList dims, int64_t ndim, bool empty_is_all) {
    if (dims.empty() && empty_is_all) return ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
    uint64_t mask = 0;
    for (int64_t dim : dims) wrap_dim(dim, ndim); // all of them before one that is there twice
    for (int64_t dim : dims) {
        uint64_t bit = uint64_t{1} << wrap_dim(dim, ndim);
        KINDLING_CHECK(Runtime, !(mask & bit), "dim %ld appears multiple times in the list of dims", wrap_dim(dim, ndim));
        mask |= bit;
    }
    return mask;
}

/// The stride behind a dimension of `size`; empty tensors have strides too.
static int64_t next_stride(int64_t stride, int64_t size, IntList sizes) {
    int64_t next;
    if (__builtin_mul_overflow(stride, size > 1 ? size : 1, &next)) {
        checked_numel(sizes);
        fail(ErrorKind::Runtime, "Stride calculation overflowed");
    }
    return next;
}

Sizes contiguous_strides(IntList sizes) {
    Sizes strides(sizes.size());
    int64_t step = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
        strides[i] = step;
        if (i) step = next_stride(step, sizes[i], sizes);
    }
    return strides;
}

Sizes channels_last_strides(IntList sizes) {
    KINDLING_CHECK(Runtime, sizes.size() == 4 || sizes.size() == 5, "required rank %d tensor to use channels_last%s format",
                   sizes.size() > 4 ? 5 : 4, sizes.size() > 4 ? "_3d" : "");
    Sizes strides(sizes.size());
    strides[1] = 1;
    int64_t step = sizes[1];
    for (size_t i = sizes.size(); i-- > 2;) {
        strides[i] = step;
        step = sizes[i] ? next_stride(step, sizes[i], sizes) : 0; // as in PyTorch, and unlike contiguous strides
    }
    strides[0] = step;
    return strides;
}

Sizes format_strides(IntList sizes, MemoryFormat format) {
    if (format == MemoryFormat::ChannelsLast)
        KINDLING_CHECK(Runtime, sizes.size() == 4, "required rank 4 tensor to use channels_last format");
    if (format == MemoryFormat::ChannelsLast3d)
        KINDLING_CHECK(Runtime, sizes.size() == 5, "required rank 5 tensor to use channels_last_3d format");
    return format >= MemoryFormat::ChannelsLast ? channels_last_strides(sizes) : contiguous_strides(sizes);
}

Sizes preserved_strides(IntList sizes, IntList strides, bool dense) {
    if (dense) return strides;
    // Order dimensions by stride, as torch's infer_dense_strides does: ties and broadcast dimensions keep their place.
    size_t n = sizes.size();
    Sizes order(n), result(n);
    for (size_t i = 0; i < n; i++) order[i] = static_cast<int64_t>(n - 1 - i);
    auto swaps = [&](int64_t a, int64_t b) { // 1: a belongs further out than b; -1: fine; 0: undecided
        if (strides[a] == 0 || strides[b] == 0) return 0;
        if (strides[a] < strides[b]) return -1;
        if (strides[a] > strides[b]) return 1;
        return sizes[a] > sizes[b] ? 1 : 0;
    };
    for (size_t i = 1; i < n; i++) {
        size_t at = i;
        for (size_t j = i; j-- > 0;) {
            int verdict = swaps(order[j], order[at]);
            if (verdict > 0) {
                std::swap(order[j], order[at]);
                at = j;
            } else if (verdict < 0) break;
        }
    }
    int64_t step = 1;
    for (size_t i = 0; i < n; i++) {
        result[order[i]] = step;
        step *= sizes[order[i]] > 1 ? sizes[order[i]] : 1;
    }
    return result;
}

Sizes broadcast_sizes(IntList a, IntList b, const char* operation) {
    size_t n = a.size() > b.size() ? a.size() : b.size();
    Sizes result(n);
    for (size_t i = 0; i < n; i++) {
        int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) [[unlikely]]
            fail(ErrorKind::Runtime,
                 "The size of tensor a (%ld) must match the size of tensor b (%ld) at non-singleton dimension %zu%s%s; "
                 "the shapes are %s and %s",
                 x, y, n - 1 - i, operation ? " in " : "", operation ? operation : "", str(a).c_str(), str(b).c_str());
        result[n - 1 - i] = x == 1 ? y : x;
    }
    return result;
}

Sizes expanded_strides(IntList sizes, IntList strides, IntList target) {
    KINDLING_CHECK(Runtime, sizes.size() <= target.size(),
                   "expand(Tensor{%s}, size=%s): the number of sizes provided (%zu) must be greater or equal to the number of "
                   "dimensions in the tensor (%zu)",
                   str(sizes).c_str(), str(target).c_str(), target.size(), sizes.size());
    Sizes result(target.size());
    for (size_t i = target.size(); i-- > 0;) {
        size_t from_end = target.size() - 1 - i;
        if (from_end >= sizes.size()) { // a new dimension of one steps over all that follows it
            result[i] = target[i] == 1 && i + 1 < target.size() ? target[i + 1] * result[i + 1] : 0;
            continue;
        }
        size_t j = sizes.size() - 1 - from_end;
        if (sizes[j] == target[i]) result[i] = strides[j];
        else {
            KINDLING_CHECK(Runtime, sizes[j] == 1,
                           "The expanded size of the tensor (%ld) must match the existing size (%ld) at non-singleton dimension "
                           "%zu.  Target sizes: %s.  Tensor sizes: %s",
                           target[i], sizes[j], i, str(target).c_str(), str(sizes).c_str());
            result[i] = 0;
        }
    }
    return result;
}

Sizes infer_size(IntList shape, int64_t numel) {
    Sizes result(shape);
    int64_t known = 1, missing = -1;
    bool overflow = false;
    for (size_t i = 0; i < shape.size(); i++) {
        if (shape[i] == -1) {
            KINDLING_CHECK(Runtime, missing < 0, "only one dimension can be inferred");
            missing = static_cast<int64_t>(i);
        } else {
            KINDLING_CHECK(Runtime, shape[i] >= 0, "invalid shape dimension %ld", shape[i]);
            overflow |= __builtin_mul_overflow(known, shape[i], &known);
        }
    }
    if (!overflow && missing < 0 && known == numel) return result;
    if (!overflow && missing >= 0 && known > 0 && numel % known == 0) {
        result[missing] = numel / known;
        return result;
    }
    KINDLING_CHECK(Runtime, !(missing >= 0 && known == 0 && numel == 0),
                   "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be any "
                   "value and is ambiguous",
                   str(shape).c_str());
    fail(ErrorKind::Runtime, "shape '%s' is invalid for input of size %ld", str(shape).c_str(), numel);
}

bool view_strides(IntList sizes, IntList strides, IntList target, Sizes& result) {
    result.resize(target.size());
    for (auto& stride : result) stride = 1;
    int64_t numel = 1;
    for (int64_t size : sizes) numel *= size;
    if (numel == 0) {
        if (sizes == target) {
            result = strides;
            return true;
        }
        result = contiguous_strides(target);
        return true;
    }
    if (sizes.empty()) return true;
    int64_t at = static_cast<int64_t>(target.size()) - 1;
    int64_t base = strides.back(), chunk = 1, placed = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
        chunk *= sizes[i];
        // The end of a run of dimensions that lie one behind another in memory.
        if (i == 0 || (sizes[i - 1] != 1 && strides[i - 1] != chunk * base)) {
            while (at >= 0 && (placed < chunk || target[at] == 1)) {
                result[at] = placed * base;
                placed *= target[at];
                at--;
            }
            if (placed != chunk) return false;
            if (i > 0) {
                base = strides[i - 1];
                chunk = placed = 1;
            }
        }
    }
    return at == -1;
}

} // namespace kindling
