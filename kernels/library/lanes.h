// kernels/library/lanes.h: small matrices side by side, a lane for each; for files compiled once for each instruction set.
#pragma once
#include "kernels/library/turn.h"
#include "kernels/maths/vector.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {

/// A vector register. Element e of all matrices lies at x[e * lanes], a lane for each matrix.
template <class T>
using Lane = kindling::KINDLING_ISA_NAMESPACE::Vec<T, kindling::KINDLING_ISA_NAMESPACE::width / static_cast<int>(sizeof(T))>;
template <class T> constexpr int64_t lanes = kindling::KINDLING_ISA_NAMESPACE::width / static_cast<int64_t>(sizeof(T));

template <class T> [[gnu::noinline]] void repeat_first(T* to, int64_t size, int64_t count) {
    for (; count < lanes<T>; ++count)
        for (int64_t e = 0; e < size; ++e) to[e * lanes<T> + count] = to[e * lanes<T>];
}
/// `count` matrices of `size` numbers, `step` apart, go to lanes. Unused lanes repeat the first matrix.
template <class T> void gather_lanes(T* to, const T* from, int64_t step, int64_t size, int64_t count) {
    turn(to, lanes<T>, from, step, count, size);
    repeat_first(to, size, count);
}
template <class T> void scatter_lanes(T* to, int64_t step, const T* from, int64_t size, int64_t count) {
    turn(to, step, from, lanes<T>, size, count);
}

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
