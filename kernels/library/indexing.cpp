#include "kernels/library/indexing.h"

#include <cstring>

namespace kindling::library {
namespace {

template <int N> struct Bytes { char bytes[N]; };

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

template <class T, class F> void write_typed(const Indexed& w, void* tensor, const void* values, F combine) {
    T* to = static_cast<T*>(tensor);
    const T* from = static_cast<const T*>(values);
    int64_t block = product(w.after_dims, w.after_sizes);
    each(w.before_dims, w.before_sizes, w.before_strides, [&](int64_t start, int64_t row) {
        const T* source = from + row * w.count * block;
        for (int64_t i = 0; i < w.count; i++) {
            T* target = to + start + w.offsets[i];
            const T* value = source + i * block;
            each(w.after_dims, w.after_sizes, w.after_strides, [&](int64_t a, int64_t b) { combine(target[a], value[b]); });
        }
    });
}

template <class F> void along(const Along& w, F f) {
    int64_t counter[64] = {}, index = 0, tensor = 0, other = 0;
    int64_t total = product(w.ndim, w.sizes);
    if (w.ndim == 0) { f(w.index[0], int64_t{0}, int64_t{0}); return; }
    int64_t step = w.tensor_strides[w.dim];
    for (int64_t n = 0; n < total; n++) {
        f(w.index[index] * step, tensor, other);
        for (int d = w.ndim - 1; d >= 0; d--) {
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

template <class T> T added(T a, T b) { return static_cast<T>(a + b); }
inline bool added(bool a, bool b) { return a || b; }
inline Half added(Half a, Half b) { return to_half(to_float(a) + to_float(b)); }
inline BFloat16 added(BFloat16 a, BFloat16 b) { return to_bfloat16(to_float(a) + to_float(b)); }
template <class T> T multiplied(T a, T b) { return static_cast<T>(a * b); }
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

template <class T, class Run> void combined(Write write, Run run) {
    switch (write) {
        case Write::Add: return run([](T& a, T b) { a = added(a, b); });
        case Write::Mul: return run([](T& a, T b) { a = multiplied(a, b); });
        case Write::Min: return run([](T& a, T b) { if (is_nan(b) || less(b, a)) a = b; });
        case Write::Max: return run([](T& a, T b) { if (is_nan(b) || less(a, b)) a = b; });
        case Write::Set: return run([](T& a, T b) { a = b; });
    }
}

template <class F> void by_size(DType dtype, F f) {
    switch (item_size(dtype)) {
        case 1: return f(Bytes<1>{});
        case 2: return f(uint16_t{});
        case 4: return f(uint32_t{});
        case 8: return f(uint64_t{});
        default: return f(std::complex<double>{});
    }
}

template <class F> void by_dtype(DType dtype, F f) {
    switch (dtype) {
#define KINDLING_CASE(T, D) case DType::D: return f(T{});
        KINDLING_FOR_EACH_DTYPE(KINDLING_CASE)
#undef KINDLING_CASE
        default: return;
    }
}

}  // namespace

void gather_places(const Indexed& where, const void* tensor, void* out) {
    by_size(where.dtype, [&](auto kind) { gather_typed<decltype(kind)>(where, tensor, out); });
}

void write_places(const Indexed& where, void* tensor, const void* values, Write write) {
    if (write == Write::Set)
        return by_size(where.dtype, [&](auto kind) {
            using T = decltype(kind);
            write_typed<T>(where, tensor, values, [](T& a, const T& b) { a = b; });
        });
    by_dtype(where.dtype, [&](auto kind) {
        using T = decltype(kind);
        combined<T>(write, [&](auto combine) { write_typed<T>(where, tensor, values, combine); });
    });
}

void gather_along(const Along& where, const void* tensor, void* out) {
    by_size(where.dtype, [&](auto kind) {
        using T = decltype(kind);
        const T* from = static_cast<const T*>(tensor);
        T* to = static_cast<T*>(out);
        along(where, [&](int64_t place, int64_t rest, int64_t other) { to[other] = from[rest + place]; });
    });
}

void scatter_along(const Along& where, void* tensor, const void* values, Write write) {
    auto run = [&](auto kind, auto combine) {
        using T = decltype(kind);
        T* to = static_cast<T*>(tensor);
        const T* from = static_cast<const T*>(values);
        along(where, [&](int64_t place, int64_t rest, int64_t other) { combine(to[rest + place], from[other]); });
    };
    if (write == Write::Set)
        return by_size(where.dtype, [&](auto kind) {
            using T = decltype(kind);
            run(kind, [](T& a, const T& b) { a = b; });
        });
    by_dtype(where.dtype, [&](auto kind) {
        using T = decltype(kind);
        combined<T>(write, [&](auto combine) { run(kind, combine); });
    });
}

}  // namespace kindling::library
