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

} // namespace kindling::KINDLING_ISA_NAMESPACE
