#include "kernels/library/indexing.h"

#include <cstring>

#include "kernels/library/dtype_switch.h"
#include "kernels/library/scratch.h"

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

template <class T> void gather_typed(const Indexed& w, const void* tensor, void* out) {
    const T* from = static_cast<const T*>(tensor);
    T* to = static_cast<T*>(out);
    int64_t block = product(w.after_dims, w.after_sizes);
    bool whole = dense(w.after_dims, w.after_sizes, w.after_strides);
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        T* target = to + row * w.count * block;
        if (block == 1) {
            for (int64_t i = 0; i < w.count; i++) target[i] = from[start + w.offsets[i]];
        } else if (whole) {
            for (int64_t i = 0; i < w.count; i++)
                std::memcpy(static_cast<void*>(target + i * block), from + start + w.offsets[i], static_cast<size_t>(block) * sizeof(T));
        } else {
            for (int64_t i = 0; i < w.count; i++) {
                const T* source = from + start + w.offsets[i];
                T* place = target + i * block;
                each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { place[b] = source[a]; });
            }
        }
    });
}

template <class F> void along(const Along& w, F f) {
    int64_t counter[64] = {}, index = 0, tensor = 0, other = 0;
    int64_t total = product(w.ndim, w.sizes);
    if (w.ndim == 0) { f(w.index[0], int64_t{0}, int64_t{0}); return; }
    const int64_t step = w.tensor_strides[w.dim], last = w.ndim - 1, length = w.sizes[last];
    const int64_t index_step = w.index_strides[last], other_step = w.other_strides[last];
    const int64_t tensor_step = last == w.dim ? 0 : w.tensor_strides[last];
    for (int64_t n = 0; n < total; n += length) {
        for (int64_t i = 0; i < length; i++)
            f(w.index[index + i * index_step] * step, tensor + i * tensor_step, other + i * other_step);
        for (int64_t d = last - 1; d >= 0; d--) {
            index += w.index_strides[d];
            other += w.other_strides[d];
            if (d != w.dim) tensor += w.tensor_strides[d];
            if (++counter[d] < w.sizes[d]) break;
            index -= w.index_strides[d] * w.sizes[d];
            other -= w.other_strides[d] * w.sizes[d];
            if (d != w.dim) tensor -= w.tensor_strides[d] * w.sizes[d];
            counter[d] = 0;
        }
    }
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

/// Combines `count` elements of `to` with as many of `from`, in order; those at the places given, or from the first on.
using Combine = void (*)(void* to, const int64_t* to_at, const void* from, const int64_t* from_at, int64_t count);

template <class T, Write write>
void combine(void* to, const int64_t* to_at, const void* from, const int64_t* from_at, int64_t count) {
    T* target = static_cast<T*>(to);
    const T* source = static_cast<const T*>(from);
    for (int64_t i = 0; i < count; i++) {
        T& a = target[to_at ? to_at[i] : i];
        const T b = source[from_at ? from_at[i] : i];
        if constexpr (write == Write::Add) a = added(a, b);
        else if constexpr (write == Write::Mul) a = multiplied(a, b);
        else if constexpr (write == Write::Min) a = is_nan(b) || less(b, a) ? b : a;
        else if constexpr (write == Write::Max) a = is_nan(b) || less(a, b) ? b : a;
        else a = b;
    }
}

Combine find_combine(DType dtype, Write write) {
    Combine found = nullptr;
    if (write == Write::Set) {
        by_size(item_size(dtype), [&](auto type) { found = combine<decltype(type), Write::Set>; });
        return found;
    }
    for_type(AllTypes{}, dtype, "index", [&](auto type) {
        using T = decltype(type);
        switch (write) {
            case Write::Add: found = combine<T, Write::Add>; break;
            case Write::Mul: found = combine<T, Write::Mul>; break;
            case Write::Min: found = combine<T, Write::Min>; break;
            default: found = combine<T, Write::Max>;
        }
    });
    return found;
}

void combine_along(const Along& w, Combine run, bool gather, void* tensor, void* other) {
    constexpr int64_t room = 256;
    int64_t places[room], others[room], count = 0;
    auto flush = [&] {
        if (gather) run(other, others, tensor, places, count);
        else run(tensor, places, other, others, count);
        count = 0;
    };
    along(w, [&](int64_t place, int64_t rest, int64_t at) {
        places[count] = rest + place;
        others[count] = at;
        if (++count == room) flush();
    });
    if (count) flush();
}

}  // namespace

void gather_places(const Indexed& where, const void* tensor, void* out) {
    by_size(item_size(where.dtype), [&](auto kind) { gather_typed<decltype(kind)>(where, tensor, out); });
}

void write_places(const Indexed& where, void* tensor, const void* values, Write write) {
    const Indexed& w = where;
    Combine run = find_combine(w.dtype, write);
    auto bytes = static_cast<int64_t>(item_size(w.dtype));
    int64_t block = product(w.after_dims, w.after_sizes);
    // The places of a block's elements, if they are not one after the other.
    bool whole = dense(w.after_dims, w.after_sizes, w.after_strides);
    Scratch<int64_t> after(whole ? 0 : block);
    if (!whole) each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { after[b] = a; });
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        char* to = static_cast<char*>(tensor) + start * bytes;
        const char* from = static_cast<const char*>(values) + row * w.count * block * bytes;
        if (block == 1) return run(to, w.offsets, from, nullptr, w.count);
        for (int64_t i = 0; i < w.count; i++)
            run(to + w.offsets[i] * bytes, whole ? nullptr : after.data, from + i * block * bytes, nullptr, block);
    });
}

void gather_along(const Along& where, const void* tensor, void* out) {
    combine_along(where, find_combine(where.dtype, Write::Set), true, const_cast<void*>(tensor), out);
}

void scatter_along(const Along& where, void* tensor, const void* values, Write write) {
    combine_along(where, find_combine(where.dtype, write), false, tensor, const_cast<void*>(values));
}

}  // namespace kindling::library
