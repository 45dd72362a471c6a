// kernels/library/products/distances_isa.cpp: distances between rows, a register of pairs at a time, for one instruction set.
#include "kernels/library/products/distances_isa.h"

#include "kernels/maths/vector.h"
#include "kernels/reductions/fold.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

namespace vectors = ::kindling::KINDLING_ISA_NAMESPACE;

template <class T> using Register = vectors::Vec<T, vectors::width / static_cast<int>(sizeof(T))>;
/// A difference is multiplied by what these bits leave of it: itself, or 1 with its sign.
template <class T> struct Factor {
    vectors::Bits<Register<T>> kept, set;
};

/// Of at most a block of a reduction. Lanes 4 apart take turns, and meet those opposite: in the order of fold.h.
template <class T>
__attribute__((noinline)) Register<T> sum_block(const T* row, const T* column, int64_t length, int64_t pitch, const Factor<T>& factor) {
    using V = Register<T>;
    V parts[4];
    for (int64_t lane = 0; lane < 4; lane++) {
        V a = vectors::all<V>(T(-0.0)), b = a, c = a, d = a; // which leaves every sum alone
        const T* at = column + lane * pitch;
        for (int64_t k = lane; k < length; k += 4, at += 4 * pitch) {
            const V apart = vectors::all<V>(row[k]) - vectors::load<V>(at);
            const V sum = a + apart * vectors::from_bits<V>((vectors::bits_of(apart) & factor.kept) | factor.set);
            a = b, b = c, c = d, d = sum;
        }
        parts[lane] = (a + c) + (b + d);
    }
    return V(parts[0] + parts[2]) + V(parts[1] + parts[3]);
}

template <class T> void between(const RowsBetween& given, int64_t first, int64_t last) {
    using V = Register<T>;
    constexpr int lanes = vectors::Lanes<V>::count;
    V sums[longest_between / fold_block];
    const int64_t n = given.count, length = given.length, pitch = given.pitch;
    const vectors::Bits<V> none{}, one = vectors::bits_of(vectors::all<V>(T(1)));
    const Factor<T> factor{given.squares ? ~none : none | vectors::sign_bit<V>, given.squares ? none : one};
    for (int64_t behind = 1; first + behind < n; behind += lanes)
        for (int64_t i = first; i < last && i + behind < n; i++) {
            const T *row = static_cast<const T*>(given.rows) + i * length, *column = static_cast<const T*>(given.turned) + i + behind;
            int64_t count = 0;
            for (int64_t k = 0; k < length; k += fold_block)
                sums[count++] = sum_block(row + k, column + k * pitch, length - k < fold_block ? length - k : fold_block, pitch, factor);
            V total = merge_neighbours(sums, count, [](const V& a, const V& b) { return V(a + b); });
            if (given.squares) total = vectors::square_root(total);
            const int64_t left = n - i - behind;
            T* to = static_cast<T*>(given.result) + i * (2 * n - i - 1) / 2 + behind - 1;
            if (left >= lanes) vectors::store(to, total);
            else std::memcpy(to, &total, static_cast<size_t>(left) * sizeof(T));
        }
}

} // namespace

const Distances distances = {between<float>, between<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
