// kernels/library/images/grid_sample.cpp: sampling of an input at the points of a grid, and its gradients.
// Compiled for calls.
#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/library/images/grid_sample_isa.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

// Points are processed in blocks. Their positions in the input are computed for a whole block, dimension by dimension.
// Then the points gather in some channels, a register of points at a time. Two neighbours are one load where all
// positions are inside the input; else each position is loaded by itself, and those outside count as 0. Cubic
// interpolation and gradients process one point at a time, by rows of neighbours.
// The distance of planes is often a power of two, so a cache cannot hold the same position of many of them.
constexpr int64_t channels_together = 8;

/// Adjacent numbers.
template <class M, int n> struct Row {
    typedef M V __attribute__((vector_size(n * sizeof(M))));
    V v;
    [[gnu::always_inline]] static Row load(const M* from) {
        Row r;
        std::memcpy(&r.v, from, sizeof(V));
        return r;
    }
    [[gnu::always_inline]] void store(M* to) const { std::memcpy(to, &v, sizeof(V)); }
    [[gnu::always_inline]] M sum() const {
        if constexpr (n == 2) return v[0] + v[1];
        else return (v[0] + v[1]) + (v[2] + v[3]);
    }
};

/// Keys's two cubics with a = -3/4, lowest power first: the outer one (for the first and the last position) and the
/// inner one.
template <class M> constexpr M keys[2][4] = {{3, -6, M(3.75), M(-0.75)}, {1, 0, M(-2.25), M(1.25)}};

/// The weights of the positions along a dimension by the coordinate's fraction, and their derivatives.
template <int taps, class M> [[gnu::always_inline]] inline Row<M, taps> weights(M t) {
    Row<M, taps> result;
    if constexpr (taps == 2) {
        result.v = typename Row<M, 2>::V{1 - t, t};
    } else {
        using V = typename Row<M, 4>::V;
        constexpr const M *far = keys<M>[0], *near = keys<M>[1];
        const V x = {t + 1, t, 1 - t, 2 - t}, three = {far[3], near[3], near[3], far[3]}, two = {far[2], near[2], near[2], far[2]},
                one = {far[1], near[1], near[1], far[1]}, none = {far[0], near[0], near[0], far[0]};
        result.v = ((three * x + two) * x + one) * x + none;
    }
    return result;
}
template <int taps, class M> [[gnu::always_inline]] inline Row<M, taps> slopes(M t) {
    Row<M, taps> result;
    if constexpr (taps == 2) {
        result.v = typename Row<M, 2>::V{-1, 1};
    } else {
        using V = typename Row<M, 4>::V;
        constexpr const M *far = keys<M>[0], *near = keys<M>[1];
        const V x = {t + 1, t, 1 - t, 2 - t}, three = {3 * far[3], 3 * near[3], -3 * near[3], -3 * far[3]},
                two = {2 * far[2], 2 * near[2], -2 * near[2], -2 * far[2]}, one = {far[1], near[1], -near[1], -far[1]};
        result.v = (three * x + two) * x + one;
    }
    return result;
}

/// One batch's tensors, from the first channel in work and the block's first point.
template <class M> struct Planes {
    const int64_t* in; // z, y, x
    int64_t channels, in_space, out_space;
    const M* from;
    M* to;         // forward
    const M* grad; // backward
    M *grad_from, *along[3];
    int count; // of the block's points
    [[gnu::always_inline]] int64_t place(int64_t z, int64_t y, int64_t x) const { return (z * in[1] + y) * in[2] + x; }
    /// Writes the points from i onwards in channel c.
    [[gnu::always_inline]] void put(int64_t c, int i, typename Lanes<M>::V values) const {
        M* at = to + c * out_space + i;
        if (i + Lanes<M>::count <= count) std::memcpy(at, &values, sizeof values);
        else
#pragma GCC unroll 4
            for (int k = 0; k < Lanes<M>::count; ++k)
                if (i + k < count) at[k] = values[k];
    }
};

/// The element at each of these positions.
[[gnu::always_inline]] inline Lanes<float>::V gather(const float* const (&at)[4], int64_t offset) {
    return Lanes<float>::V{at[0][offset], at[1][offset], at[2][offset], at[3][offset]};
}
[[gnu::always_inline]] inline Lanes<double>::V gather(const double* const (&at)[2], int64_t offset) {
    return Lanes<double>::V{at[0][offset], at[1][offset]};
}
[[gnu::always_inline]] inline Lanes<float>::V gather(const float* from, const int64_t* at) {
    return Lanes<float>::V{from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
}
[[gnu::always_inline]] inline Lanes<double>::V gather(const double* from, const int64_t* at) {
    return Lanes<double>::V{from[at[0]], from[at[1]]};
}
/// And the one behind it.
[[gnu::always_inline]] inline void pairs(const float* const (&at)[4], int64_t offset, Lanes<float>::V& left, Lanes<float>::V& right) {
    typedef double D __attribute__((vector_size(16)));
    double pair[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) std::memcpy(pair + k, at[k] + offset, 8);
    auto a = Lanes<float>::V(D{pair[0], pair[1]}), b = Lanes<float>::V(D{pair[2], pair[3]});
    left = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    right = __builtin_shufflevector(a, b, 1, 3, 5, 7);
}
[[gnu::always_inline]] inline void pairs(const double* const (&at)[2], int64_t offset, Lanes<double>::V& left, Lanes<double>::V& right) {
    auto a = Lanes<double>::load(at[0] + offset), b = Lanes<double>::load(at[1] + offset);
    left = __builtin_shufflevector(a, b, 0, 2);
    right = __builtin_shufflevector(a, b, 1, 3);
}

/// Points from i onwards, all of whose positions are inside.
template <class M, int dims> void linear_inside(const Points<M>& p, int i, const Planes<M>& planes) {
    using L = Lanes<M>;
    using V = typename L::V;
    constexpr int rows = dims == 3 ? 4 : 2;
    const V x = L::load(p.part[2] + i), y = L::load(p.part[1] + i), z = L::load(p.part[0] + i);
    V weight[rows][2];
    int64_t offsets[rows];
    const M* from[L::count];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        V row = r & 1 ? y : 1 - y;
        if constexpr (dims == 3) row *= r & 2 ? z : 1 - z;
        weight[r][0] = (1 - x) * row;
        weight[r][1] = x * row;
        offsets[r] = planes.place(r / 2, r & 1, 0);
    }
#pragma GCC unroll 4
    for (int k = 0; k < L::count; ++k) from[k] = planes.from + p.place[i + k];
    for (int64_t c = 0; c < planes.channels; ++c) {
        V sum = {};
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            V left, right;
            pairs(from, offsets[r], left, right);
            sum += left * weight[r][0] + right * weight[r][1];
        }
        planes.put(c, i, sum);
#pragma GCC unroll 4
        for (int k = 0; k < L::count; ++k) from[k] += planes.in_space;
    }
}
template <class M> void nearest_inside(const Points<M>& p, int i, const Planes<M>& planes, int end) {
    using L = Lanes<M>;
    for (int64_t c = 0; c < planes.channels; ++c)
        for (int k = i; k < end; k += L::count) planes.put(c, k, gather(planes.from + c * planes.in_space, p.place + k));
}
template <class M> void cubic_inside(const Points<M>& p, int i, const Planes<M>& planes) {
    using R = Row<M, 4>;
    for (int end = std::min(planes.count, i + Lanes<M>::count); i < end; ++i) {
        const R x = weights<4>(p.part[2][i]), y = weights<4>(p.part[1][i]);
        R weight[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) weight[r] = {x.v * y.v[r]};
        const M* from = planes.from + p.place[i];
        M* to = planes.to + i;
        for (int64_t c = 0; c < planes.channels; ++c, from += planes.in_space, to += planes.out_space) {
            R sum = {R::load(from).v * weight[0].v};
#pragma GCC unroll 4
            for (int r = 1; r < 4; ++r) sum.v += R::load(from + r * planes.in[2]).v * weight[r].v;
            *to = sum.sum();
        }
    }
}

/// For points from i onwards: the positions read along dimension d, their weights, and whether they are inside.
template <class M, int taps> struct Reads {
    using L = Lanes<M>;
    typename L::Ints index[taps];
    typename L::V weight[taps];
    typename L::Mask inside[taps];
    Reads(const GridSampling& g, const Points<M>& p, int i, int d, int64_t size) {
        for (int k = 0; k < taps; ++k) {
            std::memcpy(&index[k], p.first[d] + i, sizeof index[k]);
            index[k] += k;
            if constexpr (taps == 4) { // the padding rule holds for each position
                typename L::V place = L::load(p.whole[d] + i) + static_cast<M>(k - 1);
                place = padded<L>({place, place}, size, g.padding, g.align_corners).value;
                index[k] = __builtin_convertvector(place, typename L::Ints);
            }
            auto there = (index[k] >= 0) & (index[k] < static_cast<int32_t>(size));
            index[k] &= there;
            inside[k] = __builtin_convertvector(there, typename L::Mask);
        }
        const typename L::V t = L::load(p.part[d] + i);
        if constexpr (taps == 1) {
            weight[0] = L::all(1);
        } else if constexpr (taps == 2) {
            weight[0] = 1 - t;
            weight[1] = t;
        } else {
            for (int k = 0; k < 4; ++k) {
                const typename L::V x = k < 2 ? t + static_cast<M>(1 - k) : static_cast<M>(k - 1) - t;
                const M* const by = keys<M>[k == 1 || k == 2];
                weight[k] = ((by[3] * x + by[2]) * x + by[1]) * x + by[0];
            }
        }
    }
};

/// Points from i onwards, whose positions may be outside.
template <class M, int taps> void sample_edges(const GridSampling& g, const Points<M>& p, int i, const Planes<M>& planes) {
    using L = Lanes<M>;
    using V = typename L::V;
    const Reads<M, taps> x(g, p, i, 2, planes.in[2]), y(g, p, i, 1, planes.in[1]);
    constexpr int most = taps == 4 ? 16 : taps * taps * taps;
    const M* from[most][L::count];
    V weight[most];
    typename L::Mask inside[most];
    int count = 0;
    auto plane = [&](const int64_t* places, V weighs, typename L::Mask there) {
        for (int b = 0; b < taps; ++b) {
            const M* rows[L::count];
#pragma GCC unroll 4
            for (int k = 0; k < L::count; ++k) rows[k] = planes.from + planes.in[2] * (places[k] + y.index[b][k]);
            const V row = weighs * y.weight[b];
            const auto row_there = there & y.inside[b];
            for (int c = 0; c < taps && count < most; ++c, ++count) {
#pragma GCC unroll 4
                for (int k = 0; k < L::count; ++k) from[count][k] = rows[k] + x.index[c][k];
                inside[count] = row_there & x.inside[c];
                weight[count] = V(typename L::Mask(row * x.weight[c]) & inside[count]);
            }
        }
    };
    int64_t places[L::count];
    for (int64_t& at : places) at = 0;
    if (g.dims == 2) {
        plane(places, L::all(1), ~typename L::Mask{});
    } else {
        const Reads<M, taps> z(g, p, i, 0, planes.in[0]);
        for (int a = 0; a < taps; ++a) {
            for (int k = 0; k < L::count; ++k) places[k] = planes.in[1] * z.index[a][k];
            plane(places, z.weight[a], z.inside[a]);
        }
    }
    for (int64_t c = 0, offset = 0; c < planes.channels; ++c, offset += planes.in_space) {
        V sum = {};
        for (int n = 0; n < count; ++n) sum += V(typename L::Mask(gather(from[n], offset)) & inside[n]) * weight[n];
        planes.put(c, i, sum);
    }
}

template <class M> void sample_block(const GridSampling& g, const Points<M>& p, const Planes<M>& planes) {
    auto each = [&](auto inside, auto edges) {
        for (int i = 0; i < planes.count; i += Lanes<M>::count) {
            int32_t all = -1;
#pragma GCC unroll 4
            for (int k = 0; k < Lanes<M>::count; ++k) all &= p.inside[i + k];
            if (all) inside(p, i, planes);
            else edges(g, p, i, planes);
        }
    };
    if (g.mode == GridMode::Nearest && p.all_inside) nearest_inside(p, 0, planes, planes.count);
    else if (g.mode == GridMode::Nearest)
        each([](const Points<M>& points, int i, const Planes<M>& to) { nearest_inside(points, i, to, i + 1); }, sample_edges<M, 1>);
    else if (g.mode == GridMode::Cubic) each(cubic_inside<M>, sample_edges<M, 4>);
    else if (g.dims == 3) each(linear_inside<M, 3>, sample_edges<M, 2>);
    else each(linear_inside<M, 2>, sample_edges<M, 2>);
}

/// The gradients of a point all of whose positions are inside.
template <class M, int dims, int taps> void gradient_inside(const Points<M>& p, int i, const Planes<M>& planes) {
    using R = Row<M, taps>;
    constexpr int rows = dims == 3 ? taps * taps : taps;
    const R x = weights<taps>(p.part[2][i]), y = weights<taps>(p.part[1][i]);
    R z = {};
    if constexpr (dims == 3) z = weights<taps>(p.part[0][i]);
    const int64_t place = p.place[i];
    int64_t offsets[rows];
    R weight[rows], dots[rows] = {};
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        offsets[r] = planes.place(r / taps, r % taps, 0);
        weight[r] = {x.v * y.v[r % taps]};
        if constexpr (dims == 3) weight[r].v *= z.v[r / taps];
    }
    const M *from = planes.from + place, *grad = planes.grad + i;
    M* grad_from = planes.grad_from ? planes.grad_from + place : nullptr;
    for (int64_t c = 0; c < planes.channels; ++c, from += planes.in_space, grad += planes.out_space) {
        if (planes.along[2])
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) dots[r].v += R::load(from + offsets[r]).v * *grad;
        if (!grad_from) continue;
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) R{R::load(grad_from + offsets[r]).v + weight[r].v * *grad}.store(grad_from + offsets[r]);
        grad_from += planes.in_space;
    }
    if (!planes.along[2]) return;
    R dx = slopes<taps>(p.part[2][i]), dy = slopes<taps>(p.part[1][i]), dz = {};
    if constexpr (dims == 3) dz = slopes<taps>(p.part[0][i]);
    M sums[3] = {0, 0, 0};
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        M straight = R{dots[r].v * x.v}.sum(), sloping = R{dots[r].v * dx.v}.sum();
        M wy = y.v[r % taps], wz = dims == 3 ? z.v[r / taps] : M{1};
        sums[2] += sloping * (wy * wz);
        sums[1] += straight * (dy.v[r % taps] * wz);
        if constexpr (dims == 3) sums[0] += straight * (wy * dz.v[r / taps]);
    }
    for (int d = 3 - dims; d < 3; ++d) planes.along[d][i] += sums[d];
}

/// The gradients of a point; positions outside are left out.
template <class M, int taps> void gradient_edge(const GridSampling& g, const Points<M>& p, int i, const Planes<M>& planes) {
    using R = Row<M, taps>;
    int64_t index[3][taps] = {};
    R weight[3], slope[3];
    for (int d = 3 - g.dims; d < 3; ++d) {
        weight[d] = weights<taps>(p.part[d][i]);
        slope[d] = slopes<taps>(p.part[d][i]);
        const int lane = i % Lanes<M>::count;
        const Reads<M, taps> reads(g, p, i - lane, d, planes.in[d]);
#pragma GCC unroll 4
        for (int k = 0; k < taps; ++k) index[d][k] = reads.inside[k][lane] ? reads.index[k][lane] : -1;
    }
    constexpr int most = taps == 4 ? 16 : 8;
    int64_t places[most];
    M products[most], sloping[3][most];
    int count = 0;
    for (int a = 0; a < (g.dims == 3 ? taps : 1); ++a)
        for (int b = 0; b < taps; ++b)
            for (int c = 0; c < taps && count < most; ++c) {
                int64_t z = index[0][a], y = index[1][b], x = index[2][c];
                if ((z | y | x) < 0) continue;
                M wx = weight[2].v[c], wy = weight[1].v[b], wz = g.dims == 3 ? weight[0].v[a] : M{1};
                places[count] = planes.place(z, y, x);
                products[count] = wx * wy * wz;
                sloping[2][count] = slope[2].v[c] * (wy * wz);
                sloping[1][count] = wx * (slope[1].v[b] * wz);
                sloping[0][count] = g.dims == 3 ? wx * (wy * slope[0].v[a]) : M{0};
                ++count;
            }
    for (int64_t c = 0; c < planes.channels; ++c) {
        const M grad = planes.grad[c * planes.out_space + i];
        for (int k = 0; k < count; ++k) {
            const int64_t place = c * planes.in_space + places[k];
            if (planes.grad_from) planes.grad_from[place] += grad * products[k];
            if (planes.along[2])
                for (int d = 3 - g.dims; d < 3; ++d) planes.along[d][i] += planes.from[place] * grad * sloping[d][k];
        }
    }
}

template <class M> void gradient_block(const GridSampling& g, const Points<M>& p, const Planes<M>& planes) {
    auto each = [&](auto inside, auto edge) {
        for (int i = 0; i < planes.count; ++i)
            if (p.inside[i]) inside(p, i, planes);
            else edge(g, p, i, planes);
    };
    if (g.mode == GridMode::Nearest)
        each(
            [](const Points<M>& points, int i, const Planes<M>& to) {
                M* at = to.grad_from + points.place[i];
                for (int64_t c = 0; c < to.channels; ++c) at[c * to.in_space] += to.grad[c * to.out_space + i];
            },
            [](const GridSampling&, const Points<M>&, int, const Planes<M>&) {});
    else if (g.mode == GridMode::Cubic) each(gradient_inside<M, 2, 4>, gradient_edge<M, 4>);
    else if (g.dims == 3) each(gradient_inside<M, 3, 2>, gradient_edge<M, 2>);
    else each(gradient_inside<M, 2, 2>, gradient_edge<M, 2>);
}

template <class M, bool backward>
void run_grid(const GridSampling& g, const M* input, const M* grid, M* output, const M* grad_output, M* grad_input, M* grad_grid) {
    const int dims = g.dims;
    int64_t in[3] = {1, 1, 1}, out_space = 1, in_space = 1;
    for (int d = 0; d < dims; ++d) {
        in[3 - dims + d] = g.in[d];
        in_space *= g.in[d];
        out_space *= g.out[d];
        if (g.in[d] > INT32_MAX - 16) fail(ErrorKind::Runtime, "grid_sampler(): a dimension of size %ld is too large", g.in[d]);
    }
    const int64_t blocks = (out_space + grid_block - 1) / grid_block;
    const bool nearest = g.mode == GridMode::Nearest;
    if (backward && nearest && grad_grid) std::fill_n(grad_grid, g.batch * out_space * dims, M{0});
    if (backward && nearest && !grad_input) return;
    const GridSteps& steps = isa() == Isa::Avx512 ? isa_avx512::grid_steps : isa_baseline::grid_steps;
    auto run = [&](int64_t n, int64_t b) {
        const int64_t start = b * grid_block;
        const int count = static_cast<int>(std::min<int64_t>(grid_block, out_space - start));
        Points<M> points;
        if constexpr (std::is_same_v<M, float>) steps.locate_floats(g, in, grid + (n * out_space + start) * dims, count, points);
        else steps.locate_doubles(g, in, grid + (n * out_space + start) * dims, count, points);
        Scratch<M> along(backward ? 3 * grid_block : 0);
        if (backward && grad_grid && !nearest) std::fill_n(along.data, 3 * grid_block, M{0});
        for (int64_t c = 0; c < g.channels; c += channels_together) {
            int64_t plane = n * g.channels + c;
            Planes<M> planes{in,
                             std::min(channels_together, g.channels - c),
                             in_space,
                             out_space,
                             input + plane * in_space,
                             output + (backward ? 0 : plane * out_space + start),
                             grad_output + (backward ? plane * out_space + start : 0),
                             grad_input ? grad_input + plane * in_space : nullptr,
                             {},
                             count};
            if (grad_grid)
                for (int d = 0; d < 3; ++d) planes.along[d] = along.data + d * grid_block;
            if constexpr (backward) gradient_block(g, points, planes);
            else sample_block(g, points, planes);
        }
        if (backward && grad_grid && !nearest)
            for (int i = 0; i < count; ++i)
                for (int d = 0; d < dims; ++d)
                    grad_grid[(n * out_space + start + i) * dims + d] = along[(2 - d) * grid_block + i] * points.slope[2 - d][i];
    };
    // Points of one batch accumulate to the same gradient.
    const int64_t ranges = backward ? 1 : blocks, work = (blocks / ranges) * grid_block * g.channels;
    parallel_for(0, g.batch * ranges, std::max<int64_t>(1, 16384 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
            if constexpr (!backward) {
                run(task / blocks, task % blocks);
                continue;
            }
            if (grad_input) std::fill_n(grad_input + task * g.channels * in_space, g.channels * in_space, M{0});
            for (int64_t b = 0; b < blocks; ++b) run(task, b);
        }
    });
}

template <class F> void by_type(const GridSampling& g, F f) {
    if (g.dtype == DType::Float32) return f(float{});
    if (g.dtype == DType::Float64) return f(double{});
    fail(ErrorKind::NotImplemented, "\"grid_sampler_%dd_cpu\" not implemented for '%s'", g.dims, scalar_type_name(g.dtype));
}

} // namespace

void grid_sample(const GridSampling& g, const void* input, const void* grid, void* output) {
    by_type(g, [&](auto type) {
        using M = decltype(type);
        run_grid<M, false>(g, static_cast<const M*>(input), static_cast<const M*>(grid), static_cast<M*>(output), nullptr, nullptr,
                           nullptr);
    });
}

void grid_sample_gradient(const GridSampling& g, const void* grad_output, const void* input, const void* grid, void* grad_input,
                          void* grad_grid) {
    by_type(g, [&](auto type) {
        using M = decltype(type);
        run_grid<M, true>(g, static_cast<const M*>(input), static_cast<const M*>(grid), nullptr, static_cast<const M*>(grad_output),
                          static_cast<M*>(grad_input), static_cast<M*>(grad_grid));
    });
}

} // namespace kindling::library
