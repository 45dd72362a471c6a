// Everything here works on keys: an element becomes an unsigned number that is ordered as the elements are, so that
// one set of algorithms, for narrow and for wide keys, serves every dtype.
#include "kernels/library/sorting.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "kernels/library/half.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

template <class T>
using key_type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline key_type<T> key_of(T element) {
    using K = key_type<T>;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        constexpr uint32_t infinity = std::is_same_v<T, Half> ? 0x7c00u : 0x7f80u;
        uint32_t bits = element.bits;
        if ((bits & 0x7fffu) > infinity) return 0xffffffffu;
        if ((bits & 0x7fffu) == 0) bits = 0;
        return bits & 0x8000u ? 0xffffu - bits : bits | 0x8000u;
    } else if constexpr (std::is_floating_point_v<T>) {
        if (element != element) return std::numeric_limits<K>::max();
        K bits = std::bit_cast<K>(element + T{0}); // -0 becomes 0
        constexpr K sign = K{1} << (8 * sizeof(K) - 1);
        return bits & sign ? ~bits : bits | sign;
    } else if constexpr (std::is_signed_v<T>) {
        constexpr K sign = K{1} << (8 * sizeof(K) - 1);
        return static_cast<K>(element) ^ sign;
    } else {
        return static_cast<K>(element);
    }
}
template <class T>
constexpr bool has_nan = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline bool is_nan(T element) {
    if constexpr (has_nan<T>)
        return key_of(element) == std::numeric_limits<key_type<T>>::max();
    else
        return false;
}

template <class F>
auto for_real(DType dtype, const char* kernel, F f) {
    switch (dtype) {
    case DType::Float32:
        return f(float{});
    case DType::Float64:
        return f(double{});
    case DType::Float16:
        return f(Half{});
    case DType::BFloat16:
        return f(BFloat16{});
    case DType::UInt8:
        return f(uint8_t{});
    case DType::Int8:
        return f(int8_t{});
    case DType::Int16:
        return f(int16_t{});
    case DType::Int32:
        return f(int32_t{});
    case DType::Int64:
        return f(int64_t{});
    case DType::Bool:
        return f(bool{});
    case DType::UInt16:
        return f(uint16_t{});
    case DType::UInt32:
        return f(uint32_t{});
    case DType::UInt64:
        return f(uint64_t{});
    default:
        fail(ErrorKind::NotImplemented, "\"%s\" not implemented for '%s'", kernel, scalar_type_name(dtype));
    }
}

template <class K>
struct Pair {
    K key;
    std::conditional_t<sizeof(K) == 8, int64_t, uint32_t> index;
};

// Stable ascending sort by key; the result is in `a`. `b` is as much room again.
template <class K>
void sort_pairs(Pair<K>* a, Pair<K>* b, int64_t n) {
    if (n <= 48) {
        for (int64_t i = 1; i < n; ++i) {
            Pair<K> moved = a[i];
            int64_t j = i;
            for (; j > 0 && a[j - 1].key > moved.key; --j)
                a[j] = a[j - 1];
            a[j] = moved;
        }
        return;
    }
    if (n < 512) { // merge runs of 16
        for (int64_t i = 0; i < n; i += 16)
            sort_pairs(a + i, b, std::min<int64_t>(16, n - i));
        for (int64_t run = 16; run < n; run *= 2) {
            for (int64_t i = 0; i < n; i += 2 * run) {
                int64_t middle = std::min(i + run, n), end = std::min(i + 2 * run, n), l = i, r = middle;
                for (int64_t to = i; to < end; ++to)
                    b[to] = r >= end || (l < middle && a[l].key <= a[r].key) ? a[l++] : a[r++];
            }
            std::swap(a, b);
        }
        // `a` holds the result now; it is the caller's after an even number of passes.
        int passes = 0;
        for (int64_t run = 16; run < n; run *= 2)
            ++passes;
        if (passes % 2) memcpy(static_cast<void*>(b), a, static_cast<size_t>(n) * sizeof(Pair<K>));
        return;
    }
    // Bytes, least significant first; bytes that are the same everywhere are skipped.
    constexpr int digits = sizeof(K);
    Scratch<int64_t> counts(256 * digits);
    std::fill_n(counts.data, 256 * digits, int64_t{0});
    for (int64_t i = 0; i < n; ++i)
        for (int d = 0; d < digits; ++d)
            ++counts[d * 256 + ((a[i].key >> (8 * d)) & 255)];
    Pair<K>* source = a;
    Pair<K>* target = b;
    for (int d = 0; d < digits; ++d) {
        int64_t* count = counts.data + d * 256;
        if (count[(source[0].key >> (8 * d)) & 255] == n) continue;
        int64_t total = 0;
        for (int v = 0; v < 256; ++v) {
            int64_t here = count[v];
            count[v] = total;
            total += here;
        }
        for (int64_t i = 0; i < n; ++i)
            target[count[(source[i].key >> (8 * d)) & 255]++] = source[i];
        std::swap(source, target);
    }
    if (source != a) memcpy(static_cast<void*>(a), source, static_cast<size_t>(n) * sizeof(Pair<K>));
}

// f(place of the row's first element, number of the row) for every row; the number runs over [outer, inner].
template <class F>
void for_rows(const Rows& rows, int64_t work, F f) {
    int64_t count = rows.outer * rows.inner;
    parallel_for(0, count, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
        f(begin, end, [&](int64_t row) { return row / rows.inner * rows.n * rows.inner + row % rows.inner; });
    });
}

inline void check_narrow(int64_t n, size_t key_size) {
    KINDLING_CHECK(Runtime, key_size == 8 || n <= static_cast<int64_t>(UINT32_MAX),
                   "sort: more than 2^32 elements in a row");
}

template <class T>
void run_sort(const Rows& rows, const T* input, T* values, int64_t* indices, bool descending) {
    using K = key_type<T>;
    int64_t n = rows.n, inner = rows.inner;
    check_narrow(n, sizeof(K));
    for_rows(rows, n * 8, [&](int64_t begin, int64_t end, auto place) {
        Scratch<Pair<K>> pairs(n), spare(n);
        Scratch<T> kept(n);
        for (int64_t row = begin; row < end; ++row) {
            int64_t base = place(row);
            const T* from = input + base;
            for (int64_t i = 0; i < n; ++i) {
                T element = from[i * inner];
                kept[i] = element;
                K key = key_of(element);
                pairs[i].key = descending ? static_cast<K>(~key) : key;
                pairs[i].index = static_cast<decltype(pairs[i].index)>(i);
            }
            sort_pairs(pairs.data, spare.data, n);
            if (values)
                for (int64_t i = 0; i < n; ++i)
                    values[base + i * inner] = kept[static_cast<int64_t>(pairs[i].index)];
            if (indices)
                for (int64_t i = 0; i < n; ++i)
                    indices[base + i * inner] = static_cast<int64_t>(pairs[i].index);
        }
    });
}

template <class T>
void run_topk(const Rows& rows, const T* input, int64_t k, bool largest, bool sorted, T* values, int64_t* indices) {
    using K = key_type<T>;
    using P = Pair<K>;
    int64_t n = rows.n, inner = rows.inner;
    check_narrow(n, sizeof(K));
    auto first = [](const P& a, const P& b) { return a.key < b.key; };
    for_rows(rows, n * 4, [&](int64_t begin, int64_t end, auto place) {
        Scratch<P> pairs(n);
        P* p = pairs.data;
        for (int64_t row = begin; row < end; ++row) {
            const T* from = input + place(row);
            for (int64_t i = 0; i < n; ++i) {
                K key = key_of(from[i * inner]);
                p[i].key = largest ? static_cast<K>(~key) : key;
                p[i].index = static_cast<decltype(p[i].index)>(i);
            }
            // The steps torch takes, so that equal elements come out as there.
            if (k * 64 <= n) {
                std::partial_sort(p, p + k, p + n, first);
            } else if (k > 0) {
                std::nth_element(p, p + k - 1, p + n, first);
                if (sorted) std::sort(p, p + k - 1, first);
            }
            int64_t base = row / inner * k * inner + row % inner;
            for (int64_t i = 0; i < k; ++i) {
                auto index = static_cast<int64_t>(p[i].index);
                values[base + i * inner] = from[index * inner];
                indices[base + i * inner] = index;
            }
        }
    });
}

// Hoare's selection with the median of three, in the steps torch takes: ties decide which index is found.
template <class P>
void select(P* a, int64_t n, int64_t k) {
    auto greater = [](const P& x, const P& y) { return x.key > y.key; };
    int64_t left = 0, right = n - 1;
    while (right > left) {
        if (right == left + 1) {
            if (greater(a[left], a[right])) std::swap(a[left], a[right]);
            return;
        }
        std::swap(a[left + (right - left) / 2], a[left + 1]);
        if (greater(a[left + 1], a[right])) std::swap(a[left + 1], a[right]);
        if (greater(a[left], a[right])) std::swap(a[left], a[right]);
        if (greater(a[left + 1], a[left])) std::swap(a[left + 1], a[left]);
        int64_t i = left + 1, j = right;
        P pivot = a[left];
        for (;;) {
            do
                ++i;
            while (greater(pivot, a[i]));
            do
                --j;
            while (greater(a[j], pivot));
            if (j < i) break;
            std::swap(a[i], a[j]);
        }
        std::swap(a[left], a[j]);
        if (j <= k) left = i;
        if (j >= k) right = j - 1;
    }
}

template <class T, class Choose>
void run_choose(const Rows& rows, const T* input, T* values, int64_t* indices, Choose choose) {
    using K = key_type<T>;
    int64_t n = rows.n, inner = rows.inner;
    check_narrow(n, sizeof(K));
    for_rows(rows, n * 4, [&](int64_t begin, int64_t end, auto place) {
        Scratch<Pair<K>> pairs(n);
        for (int64_t row = begin; row < end; ++row) {
            const T* from = input + place(row);
            for (int64_t i = 0; i < n; ++i) {
                pairs[i].key = key_of(from[i * inner]);
                pairs[i].index = static_cast<decltype(pairs[i].index)>(i);
            }
            int64_t chosen = choose(pairs.data, from);
            values[row] = from[chosen * inner];
            indices[row] = chosen;
        }
    });
}

template <class T>
bool same(T a, T b) {
    if constexpr (has_nan<T>) {
        return load(a) == load(b);
    } else {
        return a == b;
    }
}

} // namespace

void sort(const Rows& rows, const void* input, void* values, int64_t* indices, bool descending) {
    for_real(rows.dtype, "sort_stable", [&](auto type) {
        using T = decltype(type);
        run_sort(rows, static_cast<const T*>(input), static_cast<T*>(values), indices, descending);
    });
}

void topk(const Rows& rows, const void* input, int64_t k, bool largest, bool sorted, void* values, int64_t* indices) {
    for_real(rows.dtype, "topk_impl_loop", [&](auto type) {
        using T = decltype(type);
        run_topk(rows, static_cast<const T*>(input), k, largest, sorted, static_cast<T*>(values), indices);
    });
}

void kthvalue(const Rows& rows, const void* input, int64_t k, void* values, int64_t* indices) {
    for_real(rows.dtype, "kthvalue_cpu", [&](auto type) {
        using T = decltype(type);
        run_choose(rows, static_cast<const T*>(input), static_cast<T*>(values), indices, [&](auto* pairs, const T*) {
            select(pairs, rows.n, k - 1);
            return static_cast<int64_t>(pairs[k - 1].index);
        });
    });
}

void median(const Rows& rows, const void* input, bool ignore_nan, void* values, int64_t* indices) {
    for_real(rows.dtype, "median_out", [&](auto type) {
        using T = decltype(type);
        using P = Pair<key_type<T>>;
        run_choose(rows, static_cast<const T*>(input), static_cast<T*>(values), indices, [&](P* pairs, const T*) {
            int64_t there = rows.n;
            if constexpr (has_nan<T>) {
                constexpr auto nan = std::numeric_limits<key_type<T>>::max();
                for (int64_t i = 0; i < rows.n; ++i) {
                    if (pairs[i].key != nan) continue;
                    if (!ignore_nan) return i;
                    --there;
                }
            }
            int64_t k = there > 0 ? (there - 1) / 2 : 0;
            std::nth_element(pairs, pairs + k, pairs + rows.n, [](const P& a, const P& b) {
                return a.key < b.key || (a.key == b.key && a.index < b.index); // torch's order is a stable one here
            });
            return static_cast<int64_t>(pairs[k].index);
        });
    });
}

void mode(const Rows& rows, const void* input, void* values, int64_t* indices) {
    for_real(rows.dtype, "mode", [&](auto type) {
        using T = decltype(type);
        using P = Pair<key_type<T>>;
        run_choose(rows, static_cast<const T*>(input), static_cast<T*>(values), indices, [&](P* pairs, const T*) {
            std::sort(pairs, pairs + rows.n, [](const P& a, const P& b) { return a.key < b.key; });
            int64_t best = 0, most = 0, run = 0;
            for (int64_t i = 0; i < rows.n; ++i) {
                ++run;
                if (i + 1 == rows.n || pairs[i].key != pairs[i + 1].key) {
                    if (run > most) {
                        most = run;
                        best = i;
                    }
                    run = 0;
                }
            }
            return static_cast<int64_t>(pairs[best].index);
        });
    });
}

int64_t unique_sorted(DType dtype, int64_t count, const void* input, void* values, int64_t* inverse, int64_t* counts) {
    return for_real(dtype, "unique", [&](auto type) -> int64_t {
        using T = decltype(type);
        const T* from = static_cast<const T*>(input);
        T* to = static_cast<T*>(values);
        Scratch<T> ordered(count);
        Scratch<int64_t> order(count);
        run_sort(Rows{dtype, 1, count, 1}, from, ordered.data, order.data, false);
        int64_t kinds = 0, begin = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (i == 0 || !same(ordered[i], ordered[i - 1])) {
                if (kinds && counts) counts[kinds - 1] = i - begin;
                begin = i;
                to[kinds++] = ordered[i];
            }
            if (inverse) inverse[order[i]] = kinds - 1;
        }
        if (kinds && counts) counts[kinds - 1] = count - begin;
        return kinds;
    });
}

int64_t unique_consecutive(DType dtype, int64_t count, const void* input, void* values, int64_t* inverse,
                           int64_t* counts) {
    return for_real(dtype, "unique_consecutive", [&](auto type) -> int64_t {
        using T = decltype(type);
        const T* from = static_cast<const T*>(input);
        T* to = static_cast<T*>(values);
        int64_t kinds = 0, begin = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (i == 0 || !same(from[i], from[i - 1])) {
                if (kinds && counts) counts[kinds - 1] = i - begin;
                begin = i;
                to[kinds++] = from[i];
            }
            if (inverse) inverse[i] = kinds - 1;
        }
        if (kinds && counts) counts[kinds - 1] = count - begin;
        return kinds;
    });
}

int64_t unique_rows(DType dtype, int64_t count, int64_t width, const void* input, bool consecutive, int64_t* first,
                    int64_t* inverse, int64_t* counts) {
    return for_real(dtype, "unique_dim", [&](auto type) -> int64_t {
        using T = decltype(type);
        const T* from = static_cast<const T*>(input);
        Scratch<int64_t> order(count);
        for (int64_t i = 0; i < count; ++i)
            order[i] = i;
        if (!consecutive) {
            auto before = [&](int64_t a, int64_t b) {
                for (int64_t j = 0; j < width; ++j) {
                    auto x = load(from[a * width + j]), y = load(from[b * width + j]);
                    if (x < y) return true;
                    if (x > y) return false;
                }
                return false;
            };
            std::stable_sort(order.data, order.data + count, before);
        }
        int64_t kinds = 0, begin = 0;
        for (int64_t i = 0; i < count; ++i) {
            bool fresh = i == 0;
            for (int64_t j = 0; !fresh && j < width; ++j)
                fresh = !same(from[order[i] * width + j], from[order[i - 1] * width + j]);
            if (fresh) {
                if (kinds && counts) counts[kinds - 1] = i - begin;
                begin = i;
                first[kinds++] = order[i];
            }
            if (inverse) inverse[order[i]] = kinds - 1;
        }
        if (kinds && counts) counts[kinds - 1] = count - begin;
        return kinds;
    });
}

void search_sorted(DType dtype, int64_t rows, int64_t width, bool shared, const void* boundaries, const int64_t* sorter,
                   int64_t per_row, const void* values, bool right, int64_t* out) {
    for_real(dtype, "searchsorted_out_cpu", [&](auto type) {
        using T = decltype(type);
        parallel_for(0, rows * per_row, 2048, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                int64_t row = shared ? 0 : i / per_row;
                const T* line = static_cast<const T*>(boundaries) + row * width;
                const int64_t* order = sorter ? sorter + row * width : nullptr;
                auto value = load(static_cast<const T*>(values)[i]);
                int64_t low = 0, high = width;
                while (low < high) {
                    int64_t middle = low + (high - low) / 2;
                    auto there = load(line[order ? order[middle] : middle]);
                    bool go_on = right ? !(there > value) : !(there >= value);
                    if (go_on)
                        low = middle + 1;
                    else
                        high = middle;
                }
                out[i] = low;
            }
        });
    });
}

} // namespace kindling::library
