// kernels/library/indexing/sorting_isa.cpp: searches along a row, for one instruction set.
#include "kernels/library/indexing/sorting_isa.h"

#include "kernels/maths/vector.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

namespace vectors = ::kindling::KINDLING_ISA_NAMESPACE;

template <bool Largest, class T> int64_t ahead_of(const T* row, int64_t from, int64_t n, T bound) {
    constexpr int lanes = vectors::width / static_cast<int>(sizeof(T)), block = 4 * lanes;
    using V = vectors::Vec<T, lanes>;
    // "Not <= bound", so that nan is found.
    auto found = [](const auto& x, const auto& b) { return Largest ? !(x <= b) : !(x >= b); };
    const V bounds = vectors::all<V>(bound);
    for (; from + block <= n; from += block) {
        const T* at = row + from;
        auto any = found(vectors::load<V>(at), bounds);
        for (int i = 1; i < 4; i++) any |= found(vectors::load<V>(at + i * lanes), bounds);
        if (vectors::anywhere(any)) break;
    }
    while (from + lanes <= n && !vectors::anywhere(found(vectors::load<V>(row + from), bounds))) from += lanes;
    while (from < n && !found(row[from], bound)) ++from;
    return from;
}

template <class T> int64_t next_ahead(const T* row, int64_t from, int64_t n, T bound, bool largest) {
    return largest ? ahead_of<true>(row, from, n, bound) : ahead_of<false>(row, from, n, bound);
}

} // namespace

const Ahead ahead = {next_ahead<float>, next_ahead<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
