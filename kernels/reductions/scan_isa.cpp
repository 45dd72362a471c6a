// kernels/reductions/scan_isa.cpp: running sums and products of many lines side by side, each in its own order.
#include "kernels/maths/vector.h"
#include "kernels/tile/move.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

template <class T, class State, bool Product> void scan(void* state, void* values, int64_t steps, int64_t lines, bool first) {
    constexpr int lanes = width / static_cast<int>(sizeof(State));
    using S = Vec<State, lanes>;
    using V = Vec<T, lanes>;
    constexpr bool begins_with_zero = !Product && std::is_floating_point_v<State>; // the sum of -0 is 0
    auto begin = [](const auto& value) { return begins_with_zero ? value + State(0) : value; };
    State* states = static_cast<State*>(state);
    T* x = static_cast<T*>(values);
    int64_t line = 0;
    auto columns = [&]<int Count>(std::integral_constant<int, Count>) { // several chains hide one another's latency
        for (; line + Count * lanes <= lines; line += Count * lanes) {
            S come[Count];
            int64_t step = 0;
            T* at = x + line;
            if (first) {
                for (int k = 0; k < Count; k++) {
                    come[k] = begin(convert<State>(load<V>(at + k * lanes)));
                    if (begins_with_zero) store(at + k * lanes, convert<T>(come[k]));
                }
                step = 1, at += lines;
            } else {
                for (int k = 0; k < Count; k++) come[k] = load<S>(states + line + k * lanes);
            }
            for (; step < steps; step++, at += lines)
                for (int k = 0; k < Count; k++) {
                    S next = convert<State>(load<V>(at + k * lanes));
                    come[k] = Product ? come[k] * next : come[k] + next;
                    store(at + k * lanes, convert<T>(come[k]));
                }
            for (int k = 0; k < Count; k++) store(states + line + k * lanes, come[k]);
        }
    };
    columns(std::integral_constant<int, 4>());
    columns(std::integral_constant<int, 2>());
    columns(std::integral_constant<int, 1>());
    for (; line < lines; line++) {
        State come = first ? begin(static_cast<State>(x[line])) : states[line];
        if (first && begins_with_zero) x[line] = static_cast<T>(come);
        for (int64_t step = first; step < steps; step++) {
            State next = static_cast<State>(x[step * lines + line]);
            come = Product ? static_cast<State>(come * next) : static_cast<State>(come + next);
            x[step * lines + line] = static_cast<T>(come);
        }
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
KINDLING_INLINE void sum_rest(double sum, float* out, const float* in, int64_t at, int64_t length) {
#pragma GCC unroll 4 // alone, it takes a third longer where its jump lies across two lines of the cache
    for (; at < length; at++) out[at] = static_cast<float>(sum += static_cast<double>(in[at]));
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
        for (int64_t line = 0; line < 8; line++) sum_rest(sums[line], out + line * out_step, in + line * in_step, at, length);
    }
    for (; lines > 0; lines--, in += in_step, out += out_step) sum_rest(0, out, in, 0, length);
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
    for (; lines > 0; lines--, in += in_step, out += out_step) {
        T sum{};
#pragma GCC unroll 4 // alone, it takes half as long again where its jump lies across two lines of the cache
        for (int64_t k = 0; k < length; k++) out[k] = sum += in[k];
    }
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
LineSums find_line_sums([[maybe_unused]] DType type) {
#if defined(__AVX2__)
    if (type == DType::Float32) return sum_lines;
    if (type == DType::Float64) return sum_wide_lines<double>;
    if (type == DType::Int64) return sum_wide_lines<uint64_t>;
#endif
    return nullptr;
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
