// kernels/library/indexing/sorting.cpp: everything works on keys. An element becomes an unsigned number with the order of the
// elements, so that one set of algorithms, for narrow and for wide keys, serves all dtypes.
// Compiled for calls.
#include "kernels/library/indexing/sorting.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/isa.h"
#include "kernels/library/dtype_switch.h"
#include "kernels/library/indexing/sorting_isa.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

template <class T> using key_type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> inline key_type<T> key_of(T element) {
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

// Everything that depends on dtypes: reads `count` elements, `step` apart, as keys.
template <class K> using ReadKeys = void (*)(const void* from, int64_t step, int64_t count, K* keys);

template <class T> void read_keys(const void* from, int64_t step, int64_t count, key_type<T>* keys) {
    const T* elements = static_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) keys[i] = key_of(elements[i * step]);
}

constexpr auto real_types = FloatingTypes{} + NarrowIntegers{} + Types<bool>{} + WideUnsigned{};

template <class K> struct Keys {
    ReadKeys<K> read;
    size_t bytes;   // of an element
    bool floating;  // the greatest key is that of nan
    bool is_signed; // whole numbers below 0
    bool is_nan(K key) const { return floating && key == std::numeric_limits<K>::max(); }
    // Equality of the elements themselves: nan equals nothing.
    bool same(K a, K b) const { return a == b && !is_nan(a); }
};

// Calls run(Keys<K>) with narrow or wide keys.
template <class Run> void for_keys(DType dtype, const char* kernel, Run run) {
    ReadKeys<uint32_t> narrow = nullptr;
    ReadKeys<uint64_t> wide = nullptr;
    for_type(real_types, dtype, kernel, [&](auto type) {
        using T = decltype(type);
        if constexpr (sizeof(T) == 8) wide = read_keys<T>;
        else narrow = read_keys<T>;
    });
    const bool floating = is_floating(dtype), is_signed = !floating && !is_unsigned(dtype) && dtype != DType::Bool;
    if (wide) run(Keys<uint64_t>{wide, 8, floating, is_signed});
    else run(Keys<uint32_t>{narrow, item_size(dtype), floating, is_signed});
}

inline const void* at(const void* base, int64_t element, size_t bytes) {
    return static_cast<const char*>(base) + element * static_cast<int64_t>(bytes);
}
inline void* at(void* base, int64_t element, size_t bytes) { return static_cast<char*>(base) + element * static_cast<int64_t>(bytes); }

// to[i * to_step] = from[position(i) * from_step], elements of `bytes`.
template <class Place>
void move_elements(size_t bytes, void* to, int64_t to_step, const void* from, int64_t from_step, int64_t count, Place place) {
    by_size(bytes, [&](auto type) {
        using T = decltype(type);
        T* target = static_cast<T*>(to);
        const T* source = static_cast<const T*>(from);
        for (int64_t i = 0; i < count; ++i) target[i * to_step] = source[place(i) * from_step];
    });
}

template <class K> struct Pair {
    K key;
    std::conditional_t<sizeof(K) == 8, int64_t, uint32_t> index;
};
// How often the standard library's sorts and selections, which can be long, handle signals.
struct Ear {
    static constexpr int64_t often = int64_t{1} << 20;
    int64_t left = often;
    void listen() {
        if (--left) [[likely]]
            return;
        left = often;
        hear_signals();
    }
};
struct ByKey {
    template <class P> bool operator()(const P& a, const P& b) const { return a.key < b.key; }
};
struct ByKeyListening {
    Ear* ear;
    template <class P> bool operator()(const P& a, const P& b) const {
        ear->listen();
        return a.key < b.key;
    }
};

// Calls f(begin, end) for pieces of [0, n) of about a hundredth of a second, and handles signals between them.
template <class F> inline void in_pieces(int64_t n, F f) {
    constexpr int64_t piece = int64_t{1} << 20;
    for (int64_t begin = 0; begin < n; begin += piece) {
        if (begin) hear_signals();
        f(begin, std::min(n, begin + piece));
    }
}

// Where a sorted row goes: elements and what places they come from, `step` apart.
struct Sorted {
    void* values;
    int64_t* indices;
    int64_t step;
    size_t bytes; // of an element
    bool floating;
    const void* from;    // the row as it was: keys forget the sign of a zero and which nan it was
    uint64_t base, flip; // an element's key is the pair's plus the one, and inverted where the other has bits
};

// The elements of sorted pairs; or, of pairs that are sorted but for one digit, each to the next place of its digit.
template <class P, class Count> [[gnu::noinline]] void put_elements(const Sorted& to, const P* pairs, int64_t n, Count* next, int shift) {
    by_size(to.bytes, [&](auto unit) {
        using T = decltype(unit);
        if constexpr (sizeof(T) == 8 || (sizeof(T) < 8 && sizeof(P) == 8)) {
            using K = key_type<T>;
            constexpr int top = 8 * sizeof(T) - 1;
            constexpr K sign = K{1} << top;
            T* values = static_cast<T*>(to.values);
            int64_t* indices = to.indices;
            in_pieces(n, [=, &to](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    const P pair = pairs[i];
                    const int64_t place = (next ? static_cast<int64_t>(next[(pair.key >> shift) & 255]++) : i) * to.step;
                    if (indices) indices[place] = static_cast<int64_t>(pair.index);
                    if (!values) continue;
                    K key = (static_cast<K>(pair.key) + static_cast<K>(to.base)) ^ static_cast<K>(to.flip);
                    if (to.floating) {
                        if (key == sign || key == std::numeric_limits<K>::max()) [[unlikely]] {
                            values[place] = static_cast<const T*>(to.from)[static_cast<int64_t>(pair.index) * to.step];
                            continue;
                        }
                        key ^= ((key >> top & 1) - 1) | sign;
                    }
                    values[place] = static_cast<T>(key);
                }
            });
        }
    });
}

template <class P> inline P pair_at(const P* pairs, int64_t i) { return pairs[i]; }
template <class P> inline P pair_at(const decltype(P::key)* keys, int64_t i) { return {keys[i], static_cast<decltype(P::index)>(i)}; }
// Each pair to the next place of its digit.
template <class P, class From, class Count> [[gnu::noinline]] void deal(const From* from, P* to, int64_t n, Count* next, int shift) {
    in_pieces(n, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const P moved = pair_at<P>(from, i);
            to[next[(moved.key >> shift) & 255]++] = moved;
        }
    });
}

// Stable ascending sort by key of a few pairs. The result is in `a`; `b` is scratch memory of that size.
template <class K> void sort_pairs(Pair<K>* a, Pair<K>* b, int64_t n) {
    if (n <= 48) {
        for (int64_t i = 1; i < n; ++i) {
            Pair<K> moved = a[i];
            int64_t j = i;
            for (; j > 0 && a[j - 1].key > moved.key; --j) a[j] = a[j - 1];
            a[j] = moved;
        }
        return;
    }
    // Merge runs of 16.
    for (int64_t i = 0; i < n; i += 16) sort_pairs(a + i, b, std::min<int64_t>(16, n - i));
    for (int64_t run = 16; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t middle = std::min(i + run, n), end = std::min(i + 2 * run, n), l = i, r = middle;
            for (int64_t to = i; to < end; ++to) b[to] = r >= end || (l < middle && a[l].key <= a[r].key) ? a[l++] : a[r++];
        }
        std::swap(a, b);
    }
    // `a` holds the result now. It is the caller's memory after an even number of passes.
    int passes = 0;
    for (int64_t run = 16; run < n; run *= 2) ++passes;
    if (passes % 2) memcpy(static_cast<void*>(b), a, static_cast<size_t>(n) * sizeof(Pair<K>));
}

// What keys are counted from, and by how many bytes they then differ. Counted from the least they have fewer if all lie near 0 on both
// sides: their first bytes are neighbours.
template <class K> K find_base(const K* keys, int64_t n, int& used) {
    constexpr int digits = sizeof(K);
    K least = keys[0], most = least, differ = 0;
    const K first = least;
    int64_t seen = 0;
    in_pieces(n, [&](int64_t begin, int64_t end) {
        for (; seen == begin && begin < end; ++begin, ++seen) {
            const K key = keys[begin];
            if ((key >> 8 * (digits - 1)) - (first >> 8 * (digits - 1)) + 1 > 2) return;
            least = std::min(least, key), most = std::max(most, key), differ |= key ^ first;
        }
    });
    used = digits;
    if (seen != n) return 0;
    int passes = 0, fewer = 0;
    used = 0;
    for (int d = 0; d < digits; ++d) {
        if (differ >> 8 * d & 255) ++passes, used = d + 1;
        if ((most - least) >> 8 * d) ++fewer;
    }
    if (fewer >= passes) return 0;
    used = fewer;
    return least;
}

// Radix sort by bytes, least significant first. Bytes that are the same everywhere are skipped. The first pass makes pairs of the keys,
// which may lie in `b`, and the last one
// makes elements of them.
template <class K> [[gnu::noinline]] void sort_keys(const K* keys, int used, Pair<K>* a, Pair<K>* b, int64_t n, const Sorted& to) {
    using Count = decltype(Pair<K>::index);
    constexpr int digits = sizeof(K);
    Scratch<Count> counts(256 * digits);
    std::fill_n(counts.data, 256 * used, Count{0});
    in_pieces(n, [=, &counts](int64_t begin, int64_t end) {
        Count* count = counts.data;
        for (int64_t i = begin; i < end; ++i) {
            const K key = keys[i];
#pragma GCC unroll 8
            for (int d = 0; d < digits && d < used; ++d) ++count[d * 256 + static_cast<int64_t>((key >> (8 * d)) & 255)];
        }
    });
    int passes = 0, shift[digits];
    Count* next[digits];
    for (int d = 0; d < used; ++d) {
        Count* count = counts.data + d * 256;
        if (static_cast<int64_t>(count[(keys[0] >> (8 * d)) & 255]) == n) continue;
        Count total = 0;
        for (int v = 0; v < 256; ++v) {
            Count here = count[v];
            count[v] = total;
            total += here;
        }
        next[passes] = count, shift[passes++] = 8 * d;
    }
    if (passes > 1) deal(keys, a, n, next[0], shift[0]);
    else
        in_pieces(n, [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) a[i] = pair_at<Pair<K>>(keys, i);
        });
    for (int pass = 1; pass + 1 < passes; ++pass, std::swap(a, b)) deal(a, b, n, next[pass], shift[pass]);
    if (passes > 1 && n > 1 << 18) { // past the second cache to write elements and places here and there takes longer
        deal(a, b, n, next[passes - 1], shift[passes - 1]);
        a = b, passes = 0;
    }
    put_elements(to, a, n, passes ? next[passes - 1] : nullptr, passes ? shift[passes - 1] : 0);
}

// Calls f(position of the row's first element, number of the row) for every row; the number runs over [outer, inner].
template <class F> void for_rows(const Rows& rows, int64_t work, F f) {
    int64_t count = rows.outer * rows.inner;
    parallel_for(0, count, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
        f(begin, end, [&](int64_t row) { return row / rows.inner * rows.n * rows.inner + row % rows.inner; });
    });
}

inline void check_narrow(int64_t n, size_t key_size) {
    KINDLING_CHECK(Runtime, key_size == 8 || n <= static_cast<int64_t>(UINT32_MAX), "sort: more than 2^32 elements in a row");
}

template <class K>
void fill_pairs(const Keys<K>& keys, const void* row, int64_t step, int64_t count, bool reverse, K* spare, Pair<K>* pairs) {
    K flip = reverse ? std::numeric_limits<K>::max() : 0;
    in_pieces(count, [&](int64_t begin, int64_t end) {
        keys.read(at(row, begin * step, keys.bytes), step, end - begin, spare + begin);
        for (int64_t i = begin; i < end; ++i) {
            pairs[i].key = spare[i] ^ flip;
            pairs[i].index = static_cast<decltype(pairs[i].index)>(i);
        }
    });
}

template <class K>
void run_sort(const Keys<K>& keys, const Rows& rows, const void* input, void* values, int64_t* indices, bool descending) {
    int64_t n = rows.n, inner = rows.inner;
    check_narrow(n, sizeof(K));
    const K flip = descending ? std::numeric_limits<K>::max() : 0, sign = K{keys.is_signed} << (8 * sizeof(K) - 1);
    for_rows(rows, n * 8, [&](int64_t begin, int64_t end, auto place) {
        Scratch<Pair<K>> pairs(n), spare(n);
        for (int64_t row = begin; row < end; ++row) {
            int64_t base = place(row);
            const void* from = at(input, base, keys.bytes);
            Sorted to{values ? at(values, base, keys.bytes) : nullptr,
                      indices ? indices + base : nullptr,
                      inner,
                      keys.bytes,
                      keys.floating,
                      from,
                      0,
                      static_cast<K>(flip ^ sign)};
            K* key = reinterpret_cast<K*>(spare.data);
            if (n < (sizeof(K) == 4 ? 80 : 256)) {
                fill_pairs(keys, from, inner, n, descending, key, pairs.data);
                sort_pairs(pairs.data, spare.data, n);
                put_elements(to, pairs.data, n, static_cast<decltype(pairs.data->index)*>(nullptr), 0);
                continue;
            }
            in_pieces(n, [&](int64_t first, int64_t last) {
                keys.read(at(from, first * inner, keys.bytes), inner, last - first, key + first);
                for (int64_t i = first; descending && i < last; ++i) key[i] ^= flip;
            });
            int used;
            K least = find_base(key, n, used);
            if (sizeof(K) == 8 && used <= 4 && n <= static_cast<int64_t>(UINT32_MAX)) { // half the memory
                if (!least) least = key[0] & ~static_cast<K>(UINT32_MAX);
                uint32_t* narrow = reinterpret_cast<uint32_t*>(key + n);
                in_pieces(n, [=](int64_t first, int64_t last) {
                    for (int64_t i = first; i < last; ++i) narrow[i] = static_cast<uint32_t>(key[i] - least);
                });
                to.base = least;
                sort_keys(narrow, used, reinterpret_cast<Pair<uint32_t>*>(pairs.data), reinterpret_cast<Pair<uint32_t>*>(spare.data), n,
                          to);
                continue;
            }
            if (least)
                in_pieces(n, [=](int64_t first, int64_t last) {
                    for (int64_t i = first; i < last; ++i) key[i] -= least;
                });
            to.base = least;
            sort_keys(key, used, pairs.data, spare.data, n, to);
        }
    });
}

// The first k of a row in order, in `heap` with room for k + 1. These are the steps of std::partial_sort, which torch
// uses, so that equal elements come out as there. What is behind the last of the k so far, nearly everything, is
// skipped by vectors.
template <class K>
void choose_few(const Keys<K>& keys, DType dtype, const void* row, int64_t step, int64_t n, int64_t k, bool largest, K* spare,
                Pair<K>* heap) {
    using P = Pair<K>;
    const K flip = largest ? std::numeric_limits<K>::max() : 0;
    fill_pairs(keys, row, step, k, largest, spare, heap);
    std::make_heap(heap, heap + k, ByKey());
    auto offer = [&](K key, int64_t i) {
        if (key >= heap[0].key) return;
        heap[k] = {key, static_cast<decltype(P::index)>(i)};
        std::pop_heap(heap, heap + k + 1, ByKey());
    };
    if (step == 1 && (dtype == DType::Float32 || dtype == DType::Float64)) {
        const Ahead& ahead = KINDLING_OF_ISA(ahead);
        auto pass = [&](const auto* elements, auto next) {
            for (int64_t i = k; (i = next(elements, i, n, elements[heap[0].index], largest)) < n; ++i)
                offer(static_cast<K>(key_of(elements[i])) ^ flip, i);
        };
        if (dtype == DType::Float32) pass(static_cast<const float*>(row), ahead.of_floats);
        else pass(static_cast<const double*>(row), ahead.of_doubles);
    } else {
        constexpr int64_t chunk = 512;
        K some[chunk];
        for (int64_t begin = k; begin < n; begin += chunk) {
            const int64_t count = std::min(chunk, n - begin);
            keys.read(at(row, begin * step, keys.bytes), step, count, some);
            for (int64_t i = 0; i < count; ++i) offer(some[i] ^ flip, begin + i);
        }
    }
    std::sort_heap(heap, heap + k, ByKey());
}

template <class K>
void run_topk(const Keys<K>& keys, const Rows& rows, const void* input, int64_t k, bool largest, bool sorted, void* values,
              int64_t* indices) {
    using P = Pair<K>;
    int64_t n = rows.n, inner = rows.inner;
    check_narrow(n, sizeof(K));
    const bool few = k > 0 && k * 64 <= n;
    for_rows(rows, few ? n : n * 4, [&](int64_t begin, int64_t end, auto place) {
        Scratch<P> pairs(few ? k + 1 : n);
        Scratch<K> spare(few ? k : n);
        P* p = pairs.data;
        for (int64_t row = begin; row < end; ++row) {
            const void* from = at(input, place(row), keys.bytes);
            if (few) {
                choose_few(keys, rows.dtype, from, inner, n, k, largest, spare.data, p);
            } else {
                fill_pairs(keys, from, inner, n, largest, spare.data, p);
                // The steps of torch, as above.
                if (k > 0) {
                    Ear ear;
                    std::nth_element(p, p + k - 1, p + n, ByKeyListening{&ear});
                    if (sorted) std::sort(p, p + k - 1, ByKeyListening{&ear});
                }
            }
            int64_t base = row / inner * k * inner + row % inner;
            for (int64_t i = 0; i < k; ++i) indices[base + i * inner] = static_cast<int64_t>(p[i].index);
            move_elements(keys.bytes, at(values, base, keys.bytes), inner, from, inner, k,
                          [&](int64_t i) { return static_cast<int64_t>(p[i].index); });
        }
    });
}

// Hoare's selection with the median of three, in torch's steps: ties decide which index is found.
template <class P> void select(P* a, int64_t n, int64_t k) {
    auto greater = [](const P& x, const P& y) { return x.key > y.key; };
    int64_t left = 0, right = n - 1;
    while (right > left) {
        if (right - left > 1 << 20) hear_signals();
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
            do ++i;
            while (greater(pivot, a[i]));
            do --j;
            while (greater(a[j], pivot));
            if (j < i) break;
            std::swap(a[i], a[j]);
        }
        std::swap(a[left], a[j]);
        if (j <= k) left = i;
        if (j >= k) right = j - 1;
    }
}

// choose(pairs) returns the position of the wanted element of each row.
template <class K, class Choose>
void run_choose(const Keys<K>& keys, const Rows& rows, const void* input, void* values, int64_t* indices, Choose choose) {
    int64_t n = rows.n, inner = rows.inner;
    check_narrow(n, sizeof(K));
    for_rows(rows, n * 4, [&](int64_t begin, int64_t end, auto place) {
        Scratch<Pair<K>> pairs(n);
        Scratch<K> spare(n);
        for (int64_t row = begin; row < end; ++row) {
            const void* from = at(input, place(row), keys.bytes);
            fill_pairs(keys, from, inner, n, false, spare.data, pairs.data);
            int64_t chosen = choose(pairs.data);
            memcpy(at(values, row, keys.bytes), at(from, chosen * inner, keys.bytes), keys.bytes);
            indices[row] = chosen;
        }
    });
}

// Iterates over elements 0 .. count-1. fresh(i) says that one begins a new kind, and position(i) is where it came from.
// Calls begun(i, kind) for the first of each kind.
template <class Fresh, class Place, class Begun>
int64_t count_kinds(int64_t count, int64_t* inverse, int64_t* counts, Fresh fresh, Place place, Begun begun) {
    int64_t kinds = 0, begin = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (i == 0 || fresh(i)) {
            if (kinds && counts) counts[kinds - 1] = i - begin;
            begin = i;
            begun(i, kinds++);
        }
        if (inverse) inverse[place(i)] = kinds - 1;
    }
    if (kinds && counts) counts[kinds - 1] = count - begin;
    return kinds;
}

} // namespace

void sort(const Rows& rows, const void* input, void* values, int64_t* indices, bool descending) {
    for_keys(rows.dtype, "sort_stable", [&](const auto& keys) { run_sort(keys, rows, input, values, indices, descending); });
}

void topk(const Rows& rows, const void* input, int64_t k, bool largest, bool sorted, void* values, int64_t* indices) {
    for_keys(rows.dtype, "topk_impl_loop", [&](const auto& keys) { run_topk(keys, rows, input, k, largest, sorted, values, indices); });
}

void kthvalue(const Rows& rows, const void* input, int64_t k, void* values, int64_t* indices) {
    for_keys(rows.dtype, "kthvalue_cpu", [&](const auto& keys) {
        run_choose(keys, rows, input, values, indices, [&](auto* pairs) {
            select(pairs, rows.n, k - 1);
            return static_cast<int64_t>(pairs[k - 1].index);
        });
    });
}

void median(const Rows& rows, const void* input, bool ignore_nan, void* values, int64_t* indices) {
    for_keys(rows.dtype, "median_out", [&](const auto& keys) {
        run_choose(keys, rows, input, values, indices, [&](auto* pairs) {
            int64_t there = rows.n;
            for (int64_t i = 0; i < rows.n; ++i) {
                if (!keys.is_nan(pairs[i].key)) continue;
                if (!ignore_nan) return i;
                --there;
            }
            int64_t k = there > 0 ? (there - 1) / 2 : 0;
            Ear ear;
            std::nth_element(pairs, pairs + k, pairs + rows.n, [&](const auto& a, const auto& b) {
                ear.listen();
                return a.key < b.key || (a.key == b.key && a.index < b.index); // torch's order is a stable one here
            });
            return static_cast<int64_t>(pairs[k].index);
        });
    });
}

void mode(const Rows& rows, const void* input, void* values, int64_t* indices) {
    for_keys(rows.dtype, "mode", [&](const auto& keys) {
        run_choose(keys, rows, input, values, indices, [&](auto* pairs) {
            Ear ear;
            std::sort(pairs, pairs + rows.n, [&](const auto& a, const auto& b) {
                ear.listen();
                return a.key < b.key && !keys.is_nan(b.key); // nan is neither before nor after, as where torch sorts
            });
            int64_t best = 0, most = 0, run = 0;
            for (int64_t i = 0; i < rows.n; ++i) {
                ++run;
                if (i + 1 == rows.n || pairs[i].key != pairs[i + 1].key || keys.is_nan(pairs[i].key)) {
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
    int64_t kinds = 0;
    for_keys(dtype, "unique", [&]<class K>(const Keys<K>& keys) {
        Scratch<int64_t> order(count);
        Scratch<char> ordered(count * static_cast<int64_t>(keys.bytes));
        Scratch<K> key(count);
        run_sort(keys, Rows{dtype, 1, count, 1}, input, ordered.data, order.data, false);
        keys.read(ordered.data, 1, count, key.data);
        kinds = count_kinds(
            count, inverse, counts, [&](int64_t i) { return !keys.same(key[i], key[i - 1]); }, [&](int64_t i) { return order[i]; },
            [&](int64_t i, int64_t kind) { memcpy(at(values, kind, keys.bytes), at(ordered.data, i, keys.bytes), keys.bytes); });
    });
    return kinds;
}

int64_t unique_consecutive(DType dtype, int64_t count, const void* input, void* values, int64_t* inverse, int64_t* counts) {
    int64_t kinds = 0;
    for_keys(dtype, "unique_consecutive", [&]<class K>(const Keys<K>& keys) {
        Scratch<K> key(count);
        keys.read(input, 1, count, key.data);
        kinds = count_kinds(
            count, inverse, counts, [&](int64_t i) { return !keys.same(key[i], key[i - 1]); }, [](int64_t i) { return i; },
            [&](int64_t i, int64_t kind) { memcpy(at(values, kind, keys.bytes), at(input, i, keys.bytes), keys.bytes); });
    });
    return kinds;
}

int64_t unique_rows(DType dtype, int64_t count, int64_t width, const void* input, bool consecutive, int64_t* first, int64_t* inverse,
                    int64_t* counts) {
    int64_t kinds = 0;
    for_keys(dtype, "unique_dim", [&]<class K>(const Keys<K>& keys) {
        Scratch<K> key(count * width);
        keys.read(input, 1, count * width, key.data);
        Scratch<int64_t> order(count);
        for (int64_t i = 0; i < count; ++i) order[i] = i;
        if (!consecutive) {
            auto before = [&](int64_t a, int64_t b) {
                for (int64_t j = 0; j < width; ++j) {
                    K x = key[a * width + j], y = key[b * width + j];
                    if (x != y && !keys.is_nan(x) && !keys.is_nan(y)) return x < y; // nan is neither before nor after
                }
                return false;
            };
            std::stable_sort(order.data, order.data + count, before);
        }
        kinds = count_kinds(
            count, inverse, counts,
            [&](int64_t i) {
                for (int64_t j = 0; j < width; ++j)
                    if (!keys.same(key[order[i] * width + j], key[order[i - 1] * width + j])) return true;
                return false;
            },
            [&](int64_t i) { return order[i]; }, [&](int64_t i, int64_t kind) { first[kind] = order[i]; });
    });
    return kinds;
}

void search_sorted(DType dtype, int64_t rows, int64_t width, bool shared, const void* boundaries, const int64_t* sorter, int64_t per_row,
                   const void* values, bool right, int64_t* out) {
    for_keys(dtype, "searchsorted_out_cpu", [&]<class K>(const Keys<K>& keys) {
        // If each boundary is compared often, all are converted to keys first; else when they are read.
        int64_t lines = shared ? 1 : rows;
        bool ahead = rows * per_row >= lines * width / 8;
        Scratch<K> all(ahead ? lines * width : 0);
        if (ahead) keys.read(boundaries, 1, lines * width, all.data);
        parallel_for(0, rows * per_row, 2048, [&](int64_t begin, int64_t end) {
            constexpr int64_t chunk = 256;
            K wanted[chunk];
            for (int64_t i = begin; i < end; ++i) {
                int64_t within = (i - begin) % chunk;
                if (within == 0) keys.read(at(values, i, keys.bytes), 1, std::min(chunk, end - i), wanted);
                K value = wanted[within];
                int64_t first = shared ? 0 : i / per_row * width;
                const int64_t* order = sorter ? sorter + first : nullptr;
                bool value_nan = keys.is_nan(value);
                int64_t low = 0, high = width;
                while (low < high) {
                    int64_t middle = low + (high - low) / 2, place = first + (order ? order[middle] : middle);
                    K there;
                    if (ahead) there = all[place];
                    else keys.read(at(boundaries, place, keys.bytes), 1, 1, &there);
                    // Nan is neither before nor after.
                    if (value_nan || keys.is_nan(there) || (right ? there <= value : there < value)) low = middle + 1;
                    else high = middle;
                }
                out[i] = low;
            }
        });
    });
}

} // namespace kindling::library
