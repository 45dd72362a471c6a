// kernels/library/images/grid_sample_isa.cpp: positions of grid points in the input, for one instruction set.
#include "kernels/library/images/grid_sample_isa.h"

// Without AVX-512 the baseline's code is used.
#if !defined(__AVX2__) || defined(__AVX512F__)

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr int bytes = 64;
#else
constexpr int bytes = 16;
#endif

/// Computes dimension d of the points. `grid` has a number for each dimension of each point; `at` says which.
template <class M> void locate(const GridSampling& g, int d, int64_t size, const M* grid, Points<M>& to) {
    using L = Lanes<M, bytes>;
    using V = typename L::V;
    using Ints = typename L::Ints;
    const int taps = g.mode == GridMode::Nearest ? 1 : g.mode == GridMode::Linear ? 2 : 4, before = taps / 4;
    const M elements = static_cast<M>(size), low = -8, high = elements + 8; // stands for any position outside
    const V slope = L::all((g.align_corners ? elements - 1 : elements) * M(0.5));
    typename L::Mask every_other;
    for (int k = 0; k < L::count; ++k) every_other[k] = 2 * k + 2 - d;
    for (int i = 0; i < grid_block; i += L::count) {
        V x;
        if (g.dims == 2) x = __builtin_shuffle(L::load(grid + 2 * i), L::load(grid + 2 * i + L::count), every_other);
        else
            for (int k = 0; k < L::count; ++k) x[k] = grid[3 * (i + k) + 2 - d];
        Coordinate<L> c{g.align_corners ? (x + 1) * M(0.5) * (elements - 1) : ((x + 1) * elements - 1) * M(0.5), slope};
        if (taps < 4) c = padded<L>(c, size, g.padding, g.align_corners);
        V whole = taps == 1 ? L::rounded(c.value) : L::floor(c.value), part = c.value - whole;
        std::memcpy(to.whole[d] + i, &whole, sizeof whole);
        std::memcpy(to.part[d] + i, &part, sizeof part);
        std::memcpy(to.slope[d] + i, &c.slope, sizeof c.slope);
        whole = whole > low ? whole : L::all(low);
        whole = whole < high ? whole : L::all(high);
        Ints first = __builtin_convertvector(whole, Ints) - before, all;
        std::memcpy(to.first[d] + i, &first, sizeof first);
        std::memcpy(&all, to.inside + i, sizeof all);
        all &= (first >= 0) & (first <= static_cast<int32_t>(size) - taps);
        std::memcpy(to.inside + i, &all, sizeof all);
    }
}

template <class M> void locate_block(const GridSampling& g, const int64_t* in, const M* grid, int count, Points<M>& to) {
    M numbers[3 * grid_block];
    if (count < grid_block) {
        std::memset(numbers, 0, sizeof numbers);
        std::memcpy(numbers, grid, sizeof(M) * static_cast<size_t>(count * g.dims));
        grid = numbers;
    }
    std::memset(to.inside, -1, sizeof to.inside);
    if (g.dims == 2) {
        std::memset(to.first[0], 0, sizeof to.first[0]);
        std::memset(to.part[0], 0, sizeof to.part[0]);
        std::memset(to.whole[0], 0, sizeof to.whole[0]);
    }
    for (int d = 3 - g.dims; d < 3; ++d) locate(g, d, in[d], grid, to);
    int32_t all = -1;
    for (int i = 0; i < grid_block; ++i) all &= to.inside[i];
    to.all_inside = all;
    for (int i = 0; i < grid_block; ++i) to.place[i] = (to.first[0][i] * in[1] + to.first[1][i]) * in[2] + to.first[2][i];
}

} // namespace

const GridSteps grid_steps = {locate_block<float>, locate_block<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
#endif
