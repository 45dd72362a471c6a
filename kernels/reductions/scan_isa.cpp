// kernels/reductions/scan_isa.cpp: running sums, products and extremes of many lines side by side, each in its own order.
#include <limits>

#include "kernels/maths/vector.h"
#include "kernels/tile/move.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

template <bool Product, class State> KINDLING_INLINE State joined(const State& so_far, const State& next) {
    if constexpr (Product) return static_cast<State>(so_far * next);
    else return static_cast<State>(so_far + next);
}
/// The rest of one line. Unrolled, since alone it takes a third longer where its jump lies across two lines of the cache.
template <bool Product, class T, class State, class From>
KINDLING_INLINE State scan_numbers(State so_far, T* out, const From* in, int64_t length) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < length; k++) out[k] = static_cast<T>(so_far = joined<Product>(so_far, static_cast<State>(in[k])));
    return so_far;
}
template <bool Product, class T, class State> __attribute__((noinline)) State scan_line(State so_far, T* out, const T* in, int64_t length) {
    // Vectors convert, and back a turn later, when all has been stored. (Products take longer than that, but for the oldest
    // instructions: these leave half a register as it is, and wait for it.)
    if constexpr ((!Product || width == 16) && sizeof(State) > sizeof(T)) {
        constexpr int64_t some = 64, lanes = width / sizeof(State);
        State wide[2][some];
        for (int64_t turn = 0;; turn++, in += some, out += some, length -= some) {
            State *here = wide[turn % 2], *before = wide[1 - turn % 2];
            if (length >= some) {
                for (int64_t k = 0; k < some; k += lanes) store(here + k, convert<State>(load<Vec<T, lanes>>(in + k)));
                so_far = scan_numbers<Product>(so_far, here, here, some);
            }
            for (int64_t k = 0; turn && k < some; k += lanes) store(out + k - some, convert<T>(load<Vec<State, lanes>>(before + k)));
            if (length < some) break;
        }
    }
    return scan_numbers<Product>(so_far, out, in, length);
}
template <class T, class State, bool Product> void scan(void* state, void* to, const void* from, int64_t steps, int64_t lines, bool first) {
    constexpr int lanes = width / static_cast<int>(sizeof(State));
    using S = Vec<State, lanes>;
    using V = Vec<T, lanes>;
    State* states = static_cast<State*>(state);
    T* out = static_cast<T*>(to);
    const T* in = static_cast<const T*>(from);
    for (int64_t line = 0; line < lines && first; line++) states[line] = State(Product); // so a sum of -0 is 0
    if (lines == 1) {
        *states = scan_line<Product>(*states, out, in, steps);
        return;
    }
    int64_t line = 0;
    auto columns = [&]<int Count>(std::integral_constant<int, Count>) { // several chains hide one another's latency
        for (; line + Count * lanes <= lines; line += Count * lanes) {
            S come[Count];
            for (int k = 0; k < Count; k++) come[k] = load<S>(states + line + k * lanes);
            for (int64_t step = 0, at = line; step < steps; step++, at += lines)
                for (int k = 0; k < Count; k++) {
                    come[k] = joined<Product>(come[k], S(convert<State>(load<V>(in + at + k * lanes))));
                    store(out + at + k * lanes, convert<T>(come[k]));
                }
            for (int k = 0; k < Count; k++) store(states + line + k * lanes, come[k]);
        }
    };
    columns(std::integral_constant<int, 2>());
    columns(std::integral_constant<int, 1>());
    for (; line < lines; line++) {
        State come = states[line];
        for (int64_t at = line; at < steps * lines; at += lines)
            out[at] = static_cast<T>(come = joined<Product>(come, static_cast<State>(in[at])));
        states[line] = come;
    }
}

#if defined(__AVX2__)
using Four = Vec<float, 4>;
/// Rows as columns.
KINDLING_INLINE void turn(Four& a, Four& b, Four& c, Four& d) {
    const auto low = [](const Four& x, const Four& y) { return Four(__builtin_shufflevector(x, y, 0, 4, 1, 5)); };
    const auto high = [](const Four& x, const Four& y) { return Four(__builtin_shufflevector(x, y, 2, 6, 3, 7)); };
    const Four p = low(a, c), q = high(a, c), r = low(b, d), s = high(b, d);
    a = low(p, r), b = high(p, r), c = low(q, s), d = high(q, s);
}
/// The next four sums of four lines: a square is transposed in registers, and back.
KINDLING_INLINE void sum_square(Vec<double, 4>& sums, float* out, const float* in, int64_t out_step, int64_t in_step) {
    Four a = load<Four>(in), b = load<Four>(in + in_step), c = load<Four>(in + 2 * in_step), d = load<Four>(in + 3 * in_step);
    turn(a, b, c, d);
    const auto add = [&](Four& x) { sums += convert<double>(x), x = convert<float>(sums); };
    add(a), add(b), add(c), add(d);
    turn(a, b, c, d);
    store(out, a), store(out + out_step, b), store(out + 2 * out_step, c), store(out + 3 * out_step, d);
}
/// Running sums of contiguous lines of floats, eight side by side. Each line is added up in order.
void sum_lines(void* to, const void* from, int64_t lines, int64_t length, int64_t out_step, int64_t in_step) {
    auto* out = static_cast<float*>(to);
    const auto* in = static_cast<const float*>(from);
    for (; lines >= 8; lines -= 8, in += 8 * in_step, out += 8 * out_step) {
        Vec<double, 4> first{}, second{};
        int64_t at = 0;
        const auto squares = [&](auto& sums, int64_t line, int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; k += 4)
                sum_square(sums, out + line * out_step + k, in + line * in_step + k, out_step, in_step);
        };
        // Of long lines, a line of the cache at a time: where they lie a power of two apart, it is gone soon.
        const int64_t whole = length & ~int64_t{3}, step = length <= 64 ? 4 : 16;
        for (int64_t next; at < whole; at = next) {
            next = whole - at < step ? whole : at + step;
            squares(first, 0, at, next), squares(second, 4, at, next);
        }
        if (at == length) continue;
        double sums[8];
        store(sums, first), store(sums + 4, second);
        for (int64_t line = 0; line < 8; line++)
            for (int64_t k = at; k < length; k++)
                out[line * out_step + k] = static_cast<float>(sums[line] += static_cast<double>(in[line * in_step + k]));
    }
    for (; lines > 0; lines--, in += in_step, out += out_step) scan_line<false>(0.0, out, in, length);
}
#endif
/// The same of 64-bit numbers, four lines side by side: one is added and stored in each cycle, as fast as by vectors.
template <class T> void sum_wide_lines(void* to, const void* from, int64_t lines, int64_t length, int64_t out_step, int64_t in_step) {
    auto* out = static_cast<T*>(to);
    const auto* in = static_cast<const T*>(from);
    for (; lines >= 4; lines -= 4, in += 4 * in_step, out += 4 * out_step) {
        T a{}, b{}, c{}, d{};
        const T *second = in + in_step, *third = second + in_step, *fourth = third + in_step;
        T *to_second = out + out_step, *to_third = to_second + out_step, *to_fourth = to_third + out_step;
        for (int64_t k = 0; k < length; k++)
            out[k] = a += in[k], to_second[k] = b += second[k], to_third[k] = c += third[k], to_fourth[k] = d += fourth[k];
    }
    for (; lines > 0; lines--, in += in_step, out += out_step) scan_line<false>(T{}, out, in, length);
}

/// Running maxima of numbers whose bits are read as T, and turned into keys that are in order as integers: NaN has the greatest, and the
/// keys of both zeros are one. The state has the greatest keys, and then the numbers they come from.
template <class T>
void extremes(void* state, int64_t* places, void* to, int64_t* rows, const void* from, int64_t steps, int64_t lines, int64_t at, DType type,
              bool least) {
    // The oldest processors do not compare 64 bits, nor widen masks: these go one by one there.
    constexpr bool wide = width > 16;
    constexpr int lanes = wide ? width / 8 : 1, group = wide ? lanes : sizeof(T) == 4 ? 4 : 1, bits = 8 * sizeof(T);
    using V = Vec<T, lanes>;
    using Places = Vec<int64_t, lanes>;
    constexpr T greatest = std::numeric_limits<T>::max(), least_of_all = std::numeric_limits<T>::min(),
                infinite = sizeof(T) == 4 ? T(0x7F800000) : T(0x7FF0000000000000);
    const bool real = is_floating(type);
    const T flip = static_cast<T>((least ? -1 : 0) ^ (type == DType::UInt64 ? least_of_all : 0));
    const auto keys_of = [&]<class V>(const V& x) __attribute__((always_inline)) {
        if (!real) return V(x ^ flip);
        const V sign = x >> (bits - 1), size = x & greatest;
        return choose(size > infinite, all<V>(greatest), V(((size ^ sign) - sign) ^ flip));
    };
    T *best = static_cast<T*>(state), *held = best + lines, *out = static_cast<T*>(to);
    const T* in = static_cast<const T*>(from);
    for (int64_t i = 0; i < lines && at == 0; i++) best[i] = least_of_all;
    for (const int64_t end = at + steps; lines != 1 && at < end; at++, in += lines, out += lines, rows += lines)
        for (int64_t i = 0; i < lines; i += lanes) {
            const V x = load<V>(in + i), keys = keys_of(x), before = load<V>(best + i);
            const auto takes = keys >= before;
            const V value = choose(takes, x, load<V>(held + i));
            const Places place = choose(convert<int64_t>(takes), all<Places>(at), load<Places>(places + i));
            store(best + i, choose(takes, keys, before)), store(held + i, value), store(places + i, place);
            store(out + i, value), store(rows + i, place);
        }
    if (lines != 1) return;
    T key = *best, value = *held; // in registers: what was stored would be waited for
    int64_t place = *places;
    const auto news = [&](int64_t k) __attribute__((always_inline)) { return keys_of(load<Vec<T, group>>(in + k)) >= key; };
    for (int64_t k = 0; k < steps;) {
        if (group > 1 && steps - k >= 2 * group && !anywhere(news(k) | news(k + group))) { // as in most places of a long line
            const auto repeated = all<Vec<T, group>>(value);
            store(out + k, repeated), store(out + k + group, repeated);
            using Part = Vec<int64_t, wide ? lanes : 2>;
            for (const int64_t stop = k + 2 * group; k < stop; k += Lanes<Part>::count) store(rows + k, all<Part>(place));
            continue;
        }
        for (const int64_t stop = steps - k < group ? steps : k + group; k < stop; k++) {
            const T each = keys_of(load<Vec<T, 1>>(in + k))[0];
            if (each >= key) key = each, value = in[k], place = at + k;
            out[k] = value, rows[k] = place;
        }
    }
    *best = key, *held = value, *places = place;
}

template <bool Product> ColumnScan find(DType type) {
    if (type == DType::Float32) return scan<float, double, Product>;
    if (type == DType::Float64) return scan<double, double, Product>;
    switch (item_size(type)) {
    case 1: return scan<uint8_t, uint8_t, Product>;
    case 2: return scan<uint16_t, uint16_t, Product>;
    case 4: return scan<uint32_t, uint32_t, Product>;
    default: return scan<uint64_t, uint64_t, Product>;
    }
}

} // namespace

ColumnScan find_column_scan(bool product, DType type) { return product ? find<true>(type) : find<false>(type); }
ExtremeScan find_extreme_scan(DType type) { return item_size(type) == 4 ? extremes<int32_t> : extremes<int64_t>; }
LineSums find_line_sums([[maybe_unused]] DType type) {
#if defined(__AVX2__)
    if (type == DType::Float32) return sum_lines;
    if (type == DType::Float64) return sum_wide_lines<double>;
    if (type == DType::Int64) return sum_wide_lines<uint64_t>;
#endif
    return nullptr;
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
