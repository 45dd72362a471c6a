// kernels/library/indexing/indexing.cpp: gather and scatter by index tensors, element by element.
#include "kernels/library/indexing/indexing.h"

#include <cstring>

#include "kernels/library/dtype_switch.h"
#include "kernels/library/indexing/indexing_lines.h"
#include "kernels/reductions/fold.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

template <class T, class F> inline const int64_t* over_line(void* tensor, void* other, const Line& line, F f) {
    const int64_t* index = line.index;
    T *to = static_cast<T*>(tensor), *from = static_cast<T*>(other);
    const int64_t index_step = line.index_step, scale = line.scale, tensor_step = line.tensor_step, other_step = line.other_step;
    const auto bound = static_cast<uint64_t>(line.bound);
    for (int64_t i = 0; i < line.count; i++, index += index_step, to += tensor_step, from += other_step) {
        if (static_cast<uint64_t>(*index) >= bound) [[unlikely]]
            return index;
        f(to[*index * scale], *from);
    }
    return nullptr;
}

template <class T> const int64_t* gather_line(void* tensor, void* other, const Line& line) {
    constexpr int64_t together = 8; // indices are checked before the first of them is read
    if (line.index_step == 1 && line.scale == 1 && line.tensor_step == 0 && line.other_step == 1) {
        const T* from = static_cast<const T*>(tensor);
        T* to = static_cast<T*>(other);
        const auto bound = static_cast<uint64_t>(line.bound);
        Line rest = line;
        for (; rest.count >= together; rest.count -= together, rest.index += together, to += together) {
            bool outside = false;
#pragma GCC unroll 8
            for (int64_t k = 0; k < together; k++) outside |= static_cast<uint64_t>(rest.index[k]) >= bound;
            if (outside) [[unlikely]]
                break;
#pragma GCC unroll 8
            for (int64_t k = 0; k < together; k++) to[k] = from[rest.index[k]];
        }
        return over_line<T>(tensor, to, rest, [](T& a, T& b) { b = a; });
    }
    return over_line<T>(tensor, other, line, [](T& a, T& b) { b = a; });
}

// Integers wrap around, as in every other kernel.
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

} // namespace

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

const int64_t* over_lines(const Along& w, LineFunction run, bool apart, void* tensor, void* other, bool cached) {
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
    const int64_t ahead =
        !cached && ndim && last == w.dim && w.tensor_strides[last] == 1 && row_bytes <= 16384 && line.count * 128 >= row_bytes ? row_bytes
                                                                                                                               : 0;
    const int64_t* bad = nullptr;
    // Lines along the indexed dimension write to disjoint elements. Lines along other dimensions may all write to one.
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
            // A row read in a random order is prefetched in order, while the one before it is processed.
            if (ahead) {
                const char* next = static_cast<const char*>(tensor) + (at + w.tensor_strides[dims[ndim - 1]]) * bytes;
                if (n + 1 < end)
                    for (int64_t b = 0; b < ahead; b += 64) __builtin_prefetch(next + b);
            }
            const int64_t* found = run(static_cast<char*>(tensor) + at * bytes, static_cast<char*>(other) + rest * bytes, here);
            if (found) [[unlikely]]
                return __atomic_store_n(&bad, found, __ATOMIC_RELAXED);
        }
    });
    return bad;
}

/// A part of add_offsets; false if an index is out of range.
[[gnu::noinline]] static bool add_some(int64_t* offsets, const int64_t* index, int64_t n, int64_t size, int64_t stride, bool first,
                                       uint64_t below, uint64_t room) {
    constexpr int64_t together = 64; // a branch for each would cost more than the rest
    for (; n > 0; n -= together, index += together, offsets += together) {
        const int64_t count = n < together ? n : together;
        bool outside = false;
        for (int64_t k = 0; k < count; k++) outside |= static_cast<uint64_t>(index[k]) + below >= room;
        if (outside) [[unlikely]]
            return false;
        for (int64_t k = 0; k < count; k++) offsets[k] = (first ? 0 : offsets[k]) + (index[k] + (index[k] >> 63 & size)) * stride;
    }
    return true;
}

const int64_t* find_outside(const int64_t* index, int64_t n, int64_t size) {
    constexpr int64_t together = 64;
    const int64_t* end = index + n;
    for (; end - index >= together; index += together) {
        uint64_t outside = 0; // its sign bit: baseline vectors have no 64-bit comparison
        for (int64_t k = 0; k < together; k++)
            outside |= static_cast<uint64_t>(index[k]) | (static_cast<uint64_t>(size) - 1 - static_cast<uint64_t>(index[k]));
        if (static_cast<int64_t>(outside) < 0) [[unlikely]]
            break;
    }
    for (; index < end; index++)
        if (static_cast<uint64_t>(*index) >= static_cast<uint64_t>(size)) return index;
    return nullptr;
}

int64_t largest_index(const int64_t* index, int64_t n) {
    int64_t largest = -1;
    if (n) find_row_fold(Combine::Max, DType::UInt64)(&largest, index, 1, n); // of unsigned numbers, what is negative is the largest
    return largest;
}

void count_indices(const int64_t* index, int64_t n, int64_t* counts) {
    for (int64_t i = 0; i < n; i++) counts[index[i]]++;
}

const int64_t* add_offsets(int64_t* offsets, const int64_t* index, int64_t n, int64_t size, int64_t stride, bool first) {
    const uint64_t below = static_cast<uint64_t>(size), room = 2 * below;
    bool outside = false;
    parallel_for(0, n, parallel_elements, [&](int64_t begin, int64_t end) {
        if (!add_some(offsets + begin, index + begin, end - begin, size, stride, first, below, room))
            __atomic_store_n(&outside, true, __ATOMIC_RELAXED);
    });
    if (!outside) [[likely]]
        return nullptr;
    while (static_cast<uint64_t>(*index) + below < room) index++;
    return index;
}

const int64_t* gather_along(const Along& where, const void* tensor, void* out) {
    return over_lines(where, find_gather(where.dtype), true, const_cast<void*>(tensor), out);
}

const int64_t* scatter_along(const Along& where, void* tensor, const void* values, Write write) {
    return over_lines(where, find_write(where.dtype, write), false, tensor, const_cast<void*>(values));
}

} // namespace kindling::library
