#include "kernels/library/indexing.h"

#include <cstring>

#include "kernels/library/dtype_switch.h"
#include "kernels/library/scratch.h"
#include "kernels/move.h"
#include "kernels/tile.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

/// Calls f(offset_a, offset_b) for every element of a strided block; b runs contiguously.
template <class F> void each(int ndim, const int64_t* sizes, const int64_t* strides, F f) {
    int64_t counter[64] = {}, at = 0, linear = 0;
    int64_t total = 1;
    for (int i = 0; i < ndim; i++) total *= sizes[i];
    if (ndim == 0) { f(int64_t{0}, int64_t{0}); return; }
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

/// Elements of `other` along one dimension, and theirs in `tensor`: element i is at index[i * index_step] * scale +
/// i * tensor_step. All steps count elements.
struct Line {
    const int64_t* index;
    int64_t index_step, bound, scale, tensor_step, other_step, count;
};
/// Does the line up to the first index that is not in [0, bound); where that is, or null.
using LineFunction = const int64_t* (*)(void* tensor, void* other, const Line& line);

template <class T, class F> inline const int64_t* over_line(void* tensor, void* other, const Line& line, F f) {
    const int64_t* index = line.index;
    T *to = static_cast<T*>(tensor), *from = static_cast<T*>(other);
    const int64_t index_step = line.index_step, scale = line.scale, tensor_step = line.tensor_step, other_step = line.other_step;
    const auto bound = static_cast<uint64_t>(line.bound);
    for (int64_t i = 0; i < line.count; i++, index += index_step, to += tensor_step, from += other_step) {
        if (static_cast<uint64_t>(*index) >= bound) [[unlikely]] return index;
        f(to[*index * scale], *from);
    }
    return nullptr;
}

template <class T> const int64_t* gather_line(void* tensor, void* other, const Line& line) {
    constexpr int64_t together = 8;  // places are checked before the first of them is read
    if (line.index_step == 1 && line.scale == 1 && line.tensor_step == 0 && line.other_step == 1) {
        const T* from = static_cast<const T*>(tensor);
        T* to = static_cast<T*>(other);
        const auto bound = static_cast<uint64_t>(line.bound);
        Line rest = line;
        for (; rest.count >= together; rest.count -= together, rest.index += together, to += together) {
            bool outside = false;
#pragma GCC unroll 8
            for (int64_t k = 0; k < together; k++) outside |= static_cast<uint64_t>(rest.index[k]) >= bound;
            if (outside) [[unlikely]] break;
#pragma GCC unroll 8
            for (int64_t k = 0; k < together; k++) to[k] = from[rest.index[k]];
        }
        return over_line<T>(tensor, to, rest, [](T& a, T& b) { b = a; });
    }
    return over_line<T>(tensor, other, line, [](T& a, T& b) { b = a; });
}

// Whole numbers wrap around, as in every other kernel.
template <class T> T added(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return static_cast<T>(a + b);
}
inline bool added(bool a, bool b) { return a || b; }
inline Half added(Half a, Half b) { return to_half(to_float(a) + to_float(b)); }
inline BFloat16 added(BFloat16 a, BFloat16 b) { return to_bfloat16(to_float(a) + to_float(b)); }
template <class T> T multiplied(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return static_cast<T>(a * b);
}
inline bool multiplied(bool a, bool b) { return a && b; }
inline Half multiplied(Half a, Half b) { return to_half(to_float(a) * to_float(b)); }
inline BFloat16 multiplied(BFloat16 a, BFloat16 b) { return to_bfloat16(to_float(a) * to_float(b)); }
template <class T> bool less(T a, T b) { return a < b; }
template <class T> bool less(std::complex<T> a, std::complex<T> b) { return a.real() < b.real(); }
inline bool less(Half a, Half b) { return to_float(a) < to_float(b); }
inline bool less(BFloat16 a, BFloat16 b) { return to_float(a) < to_float(b); }
template <class T> bool is_nan(T a) { return a != a; }
inline bool is_nan(Half a) { return to_float(a) != to_float(a); }
inline bool is_nan(BFloat16 a) { return to_float(a) != to_float(a); }

template <class T, Write write> const int64_t* write_line(void* tensor, void* other, const Line& line) {
    return over_line<T>(tensor, other, line, [](T& a, T& b) {
        if constexpr (write == Write::Add) a = added(a, b);
        else if constexpr (write == Write::Mul) a = multiplied(a, b);
        else if constexpr (write == Write::Min) a = is_nan(b) || less(b, a) ? b : a;
        else if constexpr (write == Write::Max) a = is_nan(b) || less(a, b) ? b : a;
        else a = b;
    });
}

LineFunction find_write(DType dtype, Write write) {
    LineFunction found = nullptr;
    if (write == Write::Set) {
        by_size(item_size(dtype), [&](auto type) { found = write_line<decltype(type), Write::Set>; });
        return found;
    }
    for_type(AllTypes{}, dtype, "index", [&](auto type) {
        using T = decltype(type);
        switch (write) {
            case Write::Add: found = write_line<T, Write::Add>; break;
            case Write::Mul: found = write_line<T, Write::Mul>; break;
            case Write::Min: found = write_line<T, Write::Min>; break;
            default: found = write_line<T, Write::Max>;
        }
    });
    return found;
}

LineFunction find_gather(DType dtype) {
    LineFunction found = nullptr;
    by_size(item_size(dtype), [&](auto type) { found = gather_line<decltype(type)>; });
    return found;
}

constexpr int64_t parallel_elements = 32768;

/// Sums of rows, rounded to their dtype each; `to` may be `a`.
class RowAdder {
public:
    explicit RowAdder(DType dtype) : item_(static_cast<int64_t>(item_size(dtype))) {
        const bool half = dtype == DType::Float16;
        if (half || dtype == DType::BFloat16) {
            widen_ = find_move(half ? TileMove::HalfToFloat : TileMove::BFloat16ToFloat);
            narrow_ = find_move(half ? TileMove::FloatToHalf : TileMove::FloatToBFloat16);
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

/// Line by line over the shape of the index; lines may run side by side if they do not meet in the tensor. `cached`: the
/// tensor lies in a near cache.
const int64_t* over_lines(const Along& w, LineFunction run, bool apart, void* tensor, void* other, bool cached = false) {
    const auto bytes = static_cast<int64_t>(item_size(w.dtype));
    Line line{w.index, 1, w.bound, w.tensor_strides[w.dim], 0, 1, 1};
    int dims[64], ndim = 0;
    for (int d = 0; d < w.ndim; d++)
        if (w.sizes[d] != 1) dims[ndim++] = d;
    if (ndim == 0) return run(tensor, other, line);
    const int last = dims[--ndim];
    line.index_step = w.index_strides[last];
    line.tensor_step = last == w.dim ? 0 : w.tensor_strides[last];
    line.other_step = w.other_strides[last];
    line.count = w.sizes[last];
    int64_t lines = 1;
    for (int d = 0; d < ndim; d++) lines *= w.sizes[dims[d]];
    if (lines == 0) return nullptr;
    const int64_t row_bytes = w.bound * bytes;
    const int64_t ahead = !cached && ndim && last == w.dim && w.tensor_strides[last] == 1 && row_bytes <= 16384 &&
                                  line.count * 128 >= row_bytes ? row_bytes : 0;
    const int64_t* bad = nullptr;
    // Lines along the indexed dimension differ in another one; others all reach where its index says.
    const int64_t grain = apart || last == w.dim ? 1 + parallel_elements / (line.count + 1) : lines;
    parallel_for(0, lines, grain, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; n++) {
            Line here = line;
            int64_t left = n, at = 0, rest = 0;
            for (int k = ndim; k-- > 0; left /= w.sizes[dims[k]]) {
                const int d = dims[k];
                const int64_t place = left % w.sizes[d];
                here.index += place * w.index_strides[d];
                rest += place * w.other_strides[d];
                if (d != w.dim) at += place * w.tensor_strides[d];
            }
            // A row read in a mixed order is asked for in order, while the one before it is worked on.
            if (ahead) {
                const char* next = static_cast<const char*>(tensor) + (at + w.tensor_strides[dims[ndim - 1]]) * bytes;
                if (n + 1 < end)
                    for (int64_t b = 0; b < ahead; b += 64) __builtin_prefetch(next + b);
            }
            const int64_t* found = run(static_cast<char*>(tensor) + at * bytes, static_cast<char*>(other) + rest * bytes, here);
            if (found) [[unlikely]] return __atomic_store_n(&bad, found, __ATOMIC_RELAXED);
        }
    });
    return bad;
}

}  // namespace

const int64_t* add_offsets(int64_t* offsets, const int64_t* index, int64_t n, int64_t size, int64_t stride, bool first) {
    constexpr int64_t together = 64;  // a branch for each would cost more than the rest
    const auto room = 2 * static_cast<uint64_t>(size);
    for (int64_t i = 0; i < n; i += together) {
        const int64_t stop = n - i < together ? n : i + together;
        bool outside = false;
        for (int64_t k = i; k < stop; k++) outside |= static_cast<uint64_t>(index[k]) + static_cast<uint64_t>(size) >= room;
        if (outside) [[unlikely]] {
            while (static_cast<uint64_t>(index[i]) + static_cast<uint64_t>(size) < room) i++;
            return index + i;
        }
        if (first)
            for (int64_t k = i; k < stop; k++) offsets[k] = (index[k] + (index[k] >> 63 & size)) * stride;
        else
            for (int64_t k = i; k < stop; k++) offsets[k] += (index[k] + (index[k] >> 63 & size)) * stride;
    }
    return nullptr;
}

void gather_places(const Indexed& w, const void* tensor, void* out) {
    const auto bytes = static_cast<int64_t>(item_size(w.dtype));
    const int64_t block = product(w.after_dims, w.after_sizes);
    const bool whole = dense(w.after_dims, w.after_sizes, w.after_strides);
    LineFunction run = find_gather(w.dtype);
    Scratch<int64_t> after(whole ? 0 : block);
    if (!whole) each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { after[b] = a; });
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        char* from = static_cast<char*>(const_cast<void*>(tensor)) + start * bytes;
        char* to = static_cast<char*>(out) + row * w.count * block * bytes;
        parallel_for(0, w.count, 1 + parallel_elements / block, [&](int64_t begin, int64_t end) {
            if (block == 1) {
                run(from, to + begin * bytes, {w.offsets + begin, 1, INT64_MAX, 1, 0, 1, end - begin});
            } else if (whole) {
                for (int64_t i = begin; i < end; i++) copy_bytes(to + i * block * bytes, from + w.offsets[i] * bytes, block * bytes);
            } else {
                for (int64_t i = begin; i < end; i++)
                    run(from + w.offsets[i] * bytes, to + i * block * bytes, {after.data, 1, INT64_MAX, 1, 0, 1, block});
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
    // The places of a block's elements, if they are not one after the other.
    Scratch<int64_t> after(whole ? 0 : block);
    if (!whole) each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { after[b] = a; });
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        char* to = static_cast<char*>(tensor) + start * bytes;
        char* from = static_cast<char*>(const_cast<void*>(values)) + row * w.count * block * bytes;
        if (block == 1) {
            run(to, from, {w.offsets, 1, INT64_MAX, 1, 0, 1, w.count});
            return;
        }
        for (int64_t i = 0; i < w.count; i++, from += block * bytes) {
            char* place = to + w.offsets[i] * bytes;
            if (!whole) run(place, from, {after.data, 1, INT64_MAX, 1, 0, 1, block});
            else if (write == Write::Add) add(place, place, from, block);
            else copy_bytes(place, from, block * bytes);
        }
    });
}

bool copy_and_add(const Indexed& w, int64_t size, const void* tensor, void* out, const void* values) {
    const auto item = static_cast<int64_t>(item_size(w.dtype));
    const int64_t block = product(w.after_dims, w.after_sizes), rows = product(w.before_dims, w.before_sizes) * size;
    const int64_t bytes = block * item;
    const RowAdder add(w.dtype);
    if (!add || bytes < 64 || rows * bytes < 1 << 16 || size > INT32_MAX || w.count > size) return false;
    // Of each row of the tensor, which rows of values are added to it, in order.
    Scratch<int32_t> first(size), next(w.count);
    for (int64_t i = 0; i < size; i++) first[i] = -1;
    for (int64_t k = w.count; k-- > 0;) {
        int32_t& place = first[w.offsets[k] / block];
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
            if (row > copied) (past_cache ? copy_past_cache : copy_bytes)(to + copied * bytes, from + copied * bytes, (row - copied) * bytes);
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

const int64_t* gather_along(const Along& where, const void* tensor, void* out) {
    return over_lines(where, find_gather(where.dtype), true, const_cast<void*>(tensor), out);
}

const int64_t* scatter_along(const Along& where, void* tensor, const void* values, Write write) {
    return over_lines(where, find_write(where.dtype, write), false, tensor, const_cast<void*>(values));
}

const int64_t* copy_and_scatter(const Along& where, int64_t size, int64_t slice, const void* tensor, void* out, const void* values,
                                Write write) {
    constexpr int64_t near = 4096, far = 1 << 18;  // what the first cache has room for beside much else, and the second
    const auto item = static_cast<int64_t>(item_size(where.dtype));
    const int64_t row = slice * item, at_once = row < near ? near / row : 1;
    const bool past_cache = passes_cache(size * row) && row <= far;
    LineFunction run = find_write(where.dtype, write);
    const int64_t* bad = nullptr;
    // Some slices are copied, written to, and left: by way of the cache alone where the copy goes past it.
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
            if (n + 1 < end) {  // the next slices are on their way meanwhile, and where the other operands go on
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
                if (found) [[unlikely]] return __atomic_store_n(&bad, found, __ATOMIC_RELAXED);
            }
            if (past_cache) copy_past_cache(to, here, count * row);
        }
        if (past_cache) end_past_cache();
    });
    return bad;
}

}  // namespace kindling::library
