// kernels/library/indexing/indexing_rows.cpp: gather and scatter by index tensors, whole rows at a time.
// Compiled for size.
#include "kernels/library/indexing/indexing_lines.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
#include "kernels/tile/tile.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

/// Calls f(offset_a, offset_b) for every element of a strided block; b runs contiguously.
template <class F> void each(int ndim, const int64_t* sizes, const int64_t* strides, F f) {
    int64_t counter[64] = {}, at = 0, linear = 0;
    int64_t total = 1;
    for (int i = 0; i < ndim; i++) total *= sizes[i];
    if (ndim == 0) {
        f(int64_t{0}, int64_t{0});
        return;
    }
    int64_t inner = sizes[ndim - 1], step = strides[ndim - 1];
    for (; linear < total; linear += inner) {
        for (int64_t i = 0; i < inner; i++) f(at + i * step, linear + i);
        for (int d = ndim - 2; d >= 0; d--) {
            at += strides[d];
            if (++counter[d] < sizes[d]) break;
            at -= strides[d] * sizes[d];
            counter[d] = 0;
        }
    }
}

int64_t product(int ndim, const int64_t* sizes) {
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) count *= sizes[i];
    return count;
}

bool dense(int ndim, const int64_t* sizes, const int64_t* strides) {
    int64_t expected = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        if (sizes[i] != 1 && strides[i] != expected) return false;
        expected *= sizes[i];
    }
    return true;
}

/// Adds rows, each sum rounded to the dtype; `to` may be `a`.
class RowAdder {
public:
    explicit RowAdder(DType dtype) : item_(static_cast<int64_t>(item_size(dtype))) {
        if (is_half(dtype)) {
            widen_ = find_move(move_to_float(dtype));
            narrow_ = find_move(move_from_float(dtype));
        }
        add_ = find_tile(Primitive::Add, widen_ ? DType::Float32 : dtype);
    }
    explicit operator bool() const { return add_.function; }
    void operator()(char* to, const char* a, const char* b, int64_t n) const {
        if (!widen_) return add_.function(to, a, b, nullptr, n * add_.scale, 0);
        constexpr int64_t most = 512;
        alignas(64) float x[most], y[most];
        for (int64_t at = 0; at < n; at += most) {
            const int64_t count = n - at < most ? n - at : most;
            widen_(x, a + at * item_, nullptr, nullptr, count, 0);
            widen_(y, b + at * item_, nullptr, nullptr, count, 0);
            add_.function(x, x, y, nullptr, count, 0);
            narrow_(to + at * item_, x, nullptr, nullptr, count, 0);
        }
    }

private:
    int64_t item_;
    TileCode add_;
    TileFunction widen_ = nullptr, narrow_ = nullptr;
};

} // namespace

void gather_places(const Indexed& w, const void* tensor, void* out) {
    const auto bytes = static_cast<int64_t>(item_size(w.dtype));
    const int64_t block = product(w.after_dims, w.after_sizes);
    const bool whole = dense(w.after_dims, w.after_sizes, w.after_strides);
    LineFunction run = find_gather(w.dtype);
    const int64_t row_bytes = block * bytes;
    const bool backwards = whole && block > 1 && goes_backwards(2 * w.count * row_bytes);
    Scratch<int64_t> after(whole ? 0 : block);
    if (!whole) each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { after[b] = a; });
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        char* from = static_cast<char*>(const_cast<void*>(tensor)) + start * bytes;
        char* to = static_cast<char*>(out) + row * w.count * block * bytes;
        parallel_for(0, w.count, 1 + parallel_elements / block, [&](int64_t begin, int64_t end) {
            if (block == 1) {
                run(from, to + begin * bytes, {w.offsets + begin, 1, INT64_MAX, w.scale, 0, 1, end - begin});
            } else if (whole) {
                in_direction(backwards, begin, end, 1 + (1 << 16) / row_bytes, [&](int64_t i, int64_t stop) {
                    copy_from_places(to + i * row_bytes, from, w.offsets + i, stop - i, w.scale * bytes, row_bytes);
                });
            } else {
                for (int64_t i = begin; i < end; i++)
                    run(from + w.offsets[i] * w.scale * bytes, to + i * block * bytes, {after.data, 1, INT64_MAX, 1, 0, 1, block});
            }
        });
    });
}

void write_places(const Indexed& w, void* tensor, const void* values, Write write) {
    const auto bytes = static_cast<int64_t>(item_size(w.dtype));
    const int64_t block = product(w.after_dims, w.after_sizes);
    bool whole = dense(w.after_dims, w.after_sizes, w.after_strides) && block > 1;
    LineFunction run = find_write(w.dtype, write);
    const RowAdder add(w.dtype);
    if (write != Write::Set && !(write == Write::Add && add)) whole = false;
    // Offsets of a block's elements, if they are not contiguous.
    Scratch<int64_t> after(whole ? 0 : block);
    if (!whole) each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { after[b] = a; });
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        char* to = static_cast<char*>(tensor) + start * bytes;
        char* from = static_cast<char*>(const_cast<void*>(values)) + row * w.count * block * bytes;
        if (block == 1) {
            run(to, from, {w.offsets, 1, INT64_MAX, w.scale, 0, 1, w.count});
            return;
        }
        if (!whole) {
            for (int64_t i = 0; i < w.count; i++)
                run(to + w.offsets[i] * w.scale * bytes, from + i * block * bytes, {after.data, 1, INT64_MAX, 1, 0, 1, block});
            return;
        }
        // An element may be written more than once, in order. So each thread has some columns of all rows.
        const int64_t share = (block / num_threads() + 64) & ~int64_t{63}, least = 1 + parallel_elements / w.count;
        parallel_for(0, block, share > least ? share : least, [&](int64_t begin, int64_t end) {
            for (int64_t i = 0; i < w.count; i++) {
                char *place = to + (w.offsets[i] * w.scale + begin) * bytes, *value = from + (i * block + begin) * bytes;
                if (write == Write::Add) add(place, place, value, end - begin);
                else copy_bytes(place, value, (end - begin) * bytes);
            }
        });
    });
}

bool copy_and_add(const Indexed& w, int64_t size, const void* tensor, void* out, const void* values) {
    const auto item = static_cast<int64_t>(item_size(w.dtype));
    const int64_t block = product(w.after_dims, w.after_sizes), rows = product(w.before_dims, w.before_sizes) * size;
    const int64_t bytes = block * item;
    const RowAdder add(w.dtype);
    if (!add || bytes < 64 || rows * bytes < 1 << 16 || size > INT32_MAX || w.count > size) return false;
    // For each row of the tensor, which rows of values are added to it, in order.
    Scratch<int32_t> first(size), next(w.count);
    for (int64_t i = 0; i < size; i++) first[i] = -1;
    for (int64_t k = w.count; k-- > 0;) {
        int32_t& place = first[w.offsets[k] * w.scale / block];
        next[k] = place;
        place = static_cast<int32_t>(k);
    }
    const bool past_cache = passes_cache(rows * bytes);
    constexpr int64_t tile_bytes = 1024;
    const int64_t piece = past_cache ? tile_bytes / item : block;
    parallel_for(0, rows, 1 + parallel_elements / block, [&](int64_t begin, int64_t end) {
        alignas(64) char tile[tile_bytes];
        const char* from = static_cast<const char*>(tensor);
        char* to = static_cast<char*>(out);
        int64_t copied = begin;
        auto copy_until = [&](int64_t row) {
            if (row > copied)
                (past_cache ? copy_past_cache : copy_bytes)(to + copied * bytes, from + copied * bytes, (row - copied) * bytes);
        };
        for (int64_t row = begin; row < end; row++) {
            const int32_t k = first[row % size];
            if (k < 0) continue;
            const char* others = static_cast<const char*>(values) + row / size * w.count * bytes;
            fetch_ahead(others + k * bytes, bytes < tile_bytes ? bytes : tile_bytes);
            copy_until(row);
            copied = row + 1;
            for (int64_t i = 0; i < block; i += piece) {
                const int64_t n = block - i < piece ? block - i : piece, at = row * bytes + i * item;
                char* sum = past_cache ? tile : to + at;
                add(sum, from + at, others + k * bytes + i * item, n);
                for (int32_t more = next[k]; more >= 0; more = next[more]) add(sum, sum, others + more * bytes + i * item, n);
                if (past_cache) copy_past_cache(to + at, tile, n * item);
            }
        }
        copy_until(end);
        if (past_cache) end_past_cache();
    });
    return true;
}

const int64_t* copy_and_scatter(const Along& where, int64_t size, int64_t slice, const void* tensor, void* out, const void* values,
                                Write write) {
    constexpr int64_t near = 4096, far = 1 << 18; // what the first cache holds besides much else, and the second
    const auto item = static_cast<int64_t>(item_size(where.dtype));
    const int64_t row = slice * item, at_once = row < near ? near / row : 1;
    const bool past_cache = passes_cache(size * row, 2 * size * row) && row <= far; // values and offsets are read, too
    LineFunction run = find_write(where.dtype, write);
    const int64_t* bad = nullptr;
    // Some slices are copied and scattered to at a time: in the cache, even if the copy itself uses streaming stores.
    parallel_for(0, (size + at_once - 1) / at_once, 1 + parallel_elements * item / (at_once * row), [&](int64_t begin, int64_t end) {
        Scratch<char> slices(past_cache ? at_once * row : 0);
        int64_t sizes[64];
        Along part = where;
        part.sizes = sizes;
        for (int d = 1; d < where.ndim; d++) sizes[d] = where.sizes[d];
        for (int64_t n = begin; n < end; n++) {
            const int64_t first = n * at_once, count = size - first < at_once ? size - first : at_once;
            char *to = static_cast<char*>(out) + first * row, *here = past_cache ? slices.data : to;
            copy_bytes(here, static_cast<const char*>(tensor) + first * row, count * row);
            if (n + 1 < end) { // the next slices, and where the other operands continue, are prefetched
                const int64_t next = first + count;
                fetch_ahead(static_cast<const char*>(tensor) + next * row, row < 4 * near ? at_once * row : 4 * near);
                fetch_ahead(where.index + next * where.index_strides[0], near / 2);
                fetch_ahead(static_cast<const char*>(values) + next * where.other_strides[0] * item, near / 2);
            }
            sizes[0] = where.sizes[0] - first < count ? where.sizes[0] - first : count;
            if (sizes[0] > 0) {
                part.index = where.index + first * where.index_strides[0];
                const char* from = static_cast<const char*>(values) + first * where.other_strides[0] * item;
                const int64_t* found = over_lines(part, run, false, here, const_cast<char*>(from), true);
                if (found) [[unlikely]]
                    return __atomic_store_n(&bad, found, __ATOMIC_RELAXED);
            }
            if (past_cache) copy_past_cache(to, here, count * row);
        }
        if (past_cache) end_past_cache();
    });
    return bad;
}

} // namespace kindling::library
