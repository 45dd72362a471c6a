#include "kernels/library/resample.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/error.h"
#include "kernels/library/half.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

// Along one dimension: each place of the output is a weighted sum of up to `most` places of the input.
template <class M>
struct Taps {
    int64_t most = 1;
    Scratch<int32_t> counts;
    Scratch<int64_t> indices;
    Scratch<M> weights;
    Taps(int64_t out, int64_t m) : most(m), counts(out), indices(out * m), weights(out * m) {}
};

template <class M>
M cubic_near(M x, M a) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class M>
M cubic_far(M x, M a) {
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class M>
M scale_of(int64_t in, int64_t out, bool align, double scale) {
    if (align) return out > 1 ? static_cast<M>(in - 1) / static_cast<M>(out - 1) : M{0};
    return scale > 0 ? static_cast<M>(1.0 / scale) : static_cast<M>(in) / static_cast<M>(out);
}

template <class M>
M antialias_weight(bool cubic, M x) {
    x = std::abs(x);
    if (!cubic) return x < 1 ? 1 - x : M{0};
    constexpr M a = M(-0.5);
    return x < 1 ? cubic_near(x, a) : x < 2 ? cubic_far(x, a) : M{0};
}

int64_t most_taps(const Resampling& r, int64_t in, int64_t out, double scale) {
    switch (r.mode) {
    case Interpolation::Nearest:
    case Interpolation::NearestExact:
        return 1;
    case Interpolation::Linear:
        return 2;
    case Interpolation::Cubic:
        return 4;
    default: {
        double size = r.mode == Interpolation::CubicAntialias ? 4 : 2;
        double factor = std::max(1.0, scale_of<double>(in, out, r.align_corners, scale));
        return std::min<int64_t>(static_cast<int64_t>(std::ceil(size * 0.5 * factor)) * 2 + 1,
                                 std::max<int64_t>(in, 1));
    }
    }
}

template <class M>
void fill_taps(const Resampling& r, int64_t in, int64_t out, double given, Taps<M>& taps) {
    for (int64_t o = 0; o < out; ++o) {
        int64_t* index = taps.indices.data + o * taps.most;
        M* weight = taps.weights.data + o * taps.most;
        int count = 1;
        switch (r.mode) {
        case Interpolation::Nearest:
        case Interpolation::NearestExact: {
            // Places are found in float whatever the dtype.
            float scale =
                given > 0 ? static_cast<float>(1.0 / given) : static_cast<float>(in) / static_cast<float>(out);
            bool exact = r.mode == Interpolation::NearestExact;
            auto place = static_cast<int64_t>(std::floor((static_cast<float>(o) + (exact ? 0.5f : 0.0f)) * scale));
            index[0] = std::min(place, in - 1);
            weight[0] = 1;
            break;
        }
        case Interpolation::Linear: {
            if (in == out) {
                index[0] = o;
                weight[0] = 1;
                break;
            }
            M scale = scale_of<M>(in, out, r.align_corners, given);
            M place = r.align_corners ? scale * static_cast<M>(o)
                                      : std::max(scale * (static_cast<M>(o) + M(0.5)) - M(0.5), M{0});
            int64_t first = std::min(static_cast<int64_t>(place), in - 1);
            M far = std::clamp(place - static_cast<M>(first), M{0}, M{1});
            index[0] = first;
            index[1] = first + (first < in - 1 ? 1 : 0);
            weight[0] = 1 - far;
            weight[1] = far;
            count = 2;
            break;
        }
        case Interpolation::Cubic: {
            M scale = scale_of<M>(in, out, r.align_corners, given);
            M place = r.align_corners ? scale * static_cast<M>(o) : scale * (static_cast<M>(o) + M(0.5)) - M(0.5);
            M floor = std::floor(place), t = place - floor;
            constexpr M a = M(-0.75);
            weight[0] = cubic_far(t + 1, a);
            weight[1] = cubic_near(t, a);
            weight[2] = cubic_near(1 - t, a);
            weight[3] = cubic_far(2 - t, a);
            for (int k = 0; k < 4; ++k)
                index[k] = std::clamp<int64_t>(static_cast<int64_t>(floor) - 1 + k, 0, in - 1);
            count = 4;
            break;
        }
        default: {
            bool cubic = r.mode == Interpolation::CubicAntialias;
            M scale = scale_of<M>(in, out, r.align_corners, given);
            M support = static_cast<M>(cubic ? 2 : 1) * std::max(scale, M{1}), inverse = scale >= 1 ? 1 / scale : M{1};
            M center = scale * (static_cast<M>(o) + M(0.5));
            int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + M(0.5)), 0);
            int64_t end = std::min<int64_t>(static_cast<int64_t>(center + support + M(0.5)), in);
            count = static_cast<int>(std::clamp<int64_t>(end - begin, 0, taps.most));
            index[0] = 0, weight[0] = 0; // read even where a scale that the sizes do not bear out leaves none
            M total = 0;
            for (int k = 0; k < count; ++k) {
                weight[k] = antialias_weight(cubic, (static_cast<M>(begin + k) - center + M(0.5)) * inverse);
                index[k] = begin + k;
                total += weight[k];
            }
            for (int k = 0; k < count; ++k)
                if (total != 0) weight[k] /= total;
        }
        }
        taps.counts[o] = count;
    }
}

struct Sizes {
    int64_t in[3], out[3];
    double scale[3];
    int64_t in_space = 1, out_space = 1;
    explicit Sizes(const Resampling& r) {
        for (int d = 0; d < 3; ++d) {
            int from = d - (3 - r.dims);
            in[d] = from >= 0 ? r.in[from] : 1;
            out[d] = from >= 0 ? r.out[from] : 1;
            scale[d] = from >= 0 ? r.scale[from] : 0;
            in_space *= in[d];
            out_space *= out[d];
        }
    }
};

template <class T>
using weight_type = std::conditional_t<std::is_same_v<T, double>, double, float>;

// each(plane, taps of the three dimensions) in parallel.
template <class T, class Each>
void for_planes(const Resampling& r, const Sizes& s, Each each) {
    using M = weight_type<T>;
    Resampling straight = r; // dimensions that are not there
    straight.mode = Interpolation::Nearest;
    auto rule = [&](int d) -> const Resampling& { return d < 3 - r.dims ? straight : r; };
    auto make = [&](int d) { return Taps<M>(s.out[d], most_taps(rule(d), s.in[d], s.out[d], s.scale[d])); };
    Taps<M> a = make(0), b = make(1), c = make(2);
    fill_taps(rule(0), s.in[0], s.out[0], s.scale[0], a);
    fill_taps(rule(1), s.in[1], s.out[1], s.scale[1], b);
    fill_taps(rule(2), s.in[2], s.out[2], s.scale[2], c);
    int64_t work = s.out_space * a.most * b.most * c.most;
    parallel_for(0, r.planes, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t plane = begin; plane < end; ++plane)
                         each(plane, a, b, c);
                 });
}

template <class T>
T rounded(weight_type<T> value) {
    if constexpr (std::is_same_v<T, uint8_t>)
        return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0f, 255.0f));
    else
        return store_as<T>(value);
}

/// to = weight * from, or that added.
template <class M>
void weigh(M* __restrict to, const M* __restrict from, M weight, int64_t n, bool add) {
    constexpr int64_t together = 8; // of a known number the compiler makes vectors
    int64_t i = 0;
    auto some = [&](int64_t count) {
        if (add)
            for (int64_t k = i; k < i + count; ++k)
                to[k] += weight * from[k];
        else
            for (int64_t k = i; k < i + count; ++k)
                to[k] = weight * from[k];
    };
    for (; i + together <= n; i += together)
        some(together);
    some(n - i);
}

/// Rows of the input as wide as the output's, while rows of the output that need them follow one another: a row lies in
/// the place that its number has by the width of the window, so those of one window do not meet.
template <class M>
class WideRows {
public:
    WideRows(const Sizes& s, const Taps<M>& a, const Taps<M>& b)
        : size_(s), a_(a), b_(b), rows_(a.most * b.most * s.out[2]), owners_(a.most * b.most) {
        std::fill_n(owners_.data, a.most * b.most, -1);
    }
    /// The place of row (i, j); make(row, place) has it filled where another row lay there, or none (-1).
    template <class Make>
    M* find(int64_t i, int64_t j, Make make) {
        const int64_t slot = i % a_.most * b_.most + j % b_.most, row = i * size_.in[1] + j;
        M* place = rows_.data + slot * size_.out[2];
        if (owners_[slot] != row) make(owners_[slot], row, place);
        owners_[slot] = row;
        return place;
    }
    /// each(row, place) for what is there.
    template <class Each>
    void for_all(Each each) {
        for (int64_t slot = 0; slot < a_.most * b_.most; ++slot)
            if (owners_[slot] >= 0) each(owners_[slot], rows_.data + slot * size_.out[2]);
    }

private:
    const Sizes& size_;
    const Taps<M>&a_, &b_;
    Scratch<M> rows_;
    Scratch<int64_t> owners_;
};

template <class T>
void run_resample(const Resampling& r, const T* input, T* output) {
    using M = weight_type<T>;
    Sizes s(r);
    const int64_t width = s.out[2];
    bool copies = r.mode == Interpolation::Nearest || r.mode == Interpolation::NearestExact;
    for_planes<T>(r, s, [&](int64_t plane, const Taps<M>& a, const Taps<M>& b, const Taps<M>& c) {
        const T* from = input + plane * s.in_space;
        T* to = output + plane * s.out_space;
        auto widen = [&](int64_t, int64_t number, M* place) {
            const T* row = from + number * s.in[2];
            for (int64_t z = 0; z < width; ++z) {
                const int64_t* index = c.indices.data + z * c.most;
                const M* weight = c.weights.data + z * c.most;
                M sum = weight[0] * static_cast<M>(load(row[index[0]]));
                for (int k = 1; k < c.counts[z]; ++k)
                    sum += weight[k] * static_cast<M>(load(row[index[k]]));
                place[z] = c.counts[z] ? sum : M{0};
            }
        };
        WideRows<M> rows(s, a, b);
        Scratch<M> sums(width), plane_sums(width);
        for (int64_t x = 0; x < s.out[0]; ++x)
            for (int64_t y = 0; y < s.out[1]; ++y, to += width) {
                const int64_t *ia = a.indices.data + x * a.most, *ib = b.indices.data + y * b.most;
                const M *wa = a.weights.data + x * a.most, *wb = b.weights.data + y * b.most;
                if (copies) {
                    const T* row = from + (ia[0] * s.in[1] + ib[0]) * s.in[2];
                    for (int64_t z = 0; z < width; ++z)
                        to[z] = row[c.indices[z]];
                    continue;
                }
                if (!a.counts[x] || !b.counts[y]) std::fill_n(sums.data, width, M{0});
                for (int i = 0; i < a.counts[x]; ++i) {
                    M* together = a.most == 1 ? sums.data : plane_sums.data; // of two dimensions or one: weight 1
                    for (int j = 0; j < b.counts[y]; ++j)
                        weigh(together, rows.find(ia[i], ib[j], widen), wb[j], width, j > 0);
                    if (a.most > 1) weigh(sums.data, together, wa[i], width, i > 0);
                }
                for (int64_t z = 0; z < width; ++z)
                    to[z] = rounded<T>(sums[z]);
            }
    });
}

template <class T>
void run_resample_gradient(const Resampling& r, const T* grad_output, T* grad_input) {
    using M = weight_type<T>;
    Sizes s(r);
    const int64_t width = s.out[2];
    for_planes<T>(r, s, [&](int64_t plane, const Taps<M>& a, const Taps<M>& b, const Taps<M>& c) {
        const T* from = grad_output + plane * s.out_space;
        T* to = grad_input + plane * s.in_space;
        Scratch<M> sums(s.in_space), grads(width);
        std::fill_n(sums.data, s.in_space, M{0});
        auto narrow = [&](int64_t number, const M* place) {
            M* row = sums.data + number * s.in[2];
            for (int64_t z = 0; z < width; ++z)
                for (int k = 0; k < c.counts[z]; ++k)
                    row[c.indices[z * c.most + k]] += c.weights[z * c.most + k] * place[z];
        };
        WideRows<M> rows(s, a, b);
        for (int64_t x = 0; x < s.out[0]; ++x)
            for (int64_t y = 0; y < s.out[1]; ++y, from += width) {
                const int64_t *ia = a.indices.data + x * a.most, *ib = b.indices.data + y * b.most;
                for (int64_t z = 0; z < width; ++z)
                    grads[z] = static_cast<M>(load(from[z]));
                for (int i = 0; i < a.counts[x]; ++i)
                    for (int j = 0; j < b.counts[y]; ++j) {
                        bool fresh = false;
                        M* place = rows.find(ia[i], ib[j], [&](int64_t before, int64_t, M* old) {
                            if (before >= 0) narrow(before, old);
                            fresh = true;
                        });
                        weigh(place, grads.data, a.weights[x * a.most + i] * b.weights[y * b.most + j], width, !fresh);
                    }
            }
        rows.for_all(narrow);
        for (int64_t i = 0; i < s.in_space; ++i)
            to[i] = rounded<T>(sums[i]);
    });
}

template <class F>
void for_resampled(DType dtype, const char* kernel, F f) {
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
    default:
        fail(ErrorKind::NotImplemented, "\"%s\" not implemented for '%s'", kernel, scalar_type_name(dtype));
    }
}

// ---- grid_sample ----

// From [-1, 1] to places, then into the input by the padding's rule; `slope` is the derivative.
template <class M>
struct Coordinate {
    M value, slope;
};

template <class M>
Coordinate<M> unnormalised(M x, int64_t size, bool align) {
    if (align) return {(x + 1) / 2 * static_cast<M>(size - 1), static_cast<M>(size - 1) / 2};
    return {((x + 1) * static_cast<M>(size) - 1) / 2, static_cast<M>(size) / 2};
}

template <class M>
Coordinate<M> padded(Coordinate<M> c, int64_t size, const GridSampling& g) {
    auto clip = [&](Coordinate<M> x) -> Coordinate<M> {
        if (x.value <= 0) return {0, 0};
        M last = static_cast<M>(size - 1);
        if (x.value >= last) return {last, 0};
        return x.value == x.value ? x : Coordinate<M>{0, 0};
    };
    if (g.padding == GridPadding::Border) return clip(c);
    if (g.padding == GridPadding::Reflection) {
        M low = g.align_corners ? M{0} : M(-0.5), span = static_cast<M>(g.align_corners ? size - 1 : size);
        if (span == 0) return {0, 0};
        M x = c.value - low, sign = x < 0 ? M{-1} : M{1};
        x = std::abs(x);
        M extra = std::fmod(x, span);
        auto flips = static_cast<int64_t>(std::floor(x / span));
        if (flips % 2 == 0)
            c = {extra + low, c.slope * sign};
        else
            c = {span - extra + low, -c.slope * sign};
        return clip(c);
    }
    // Places that no number holds stand for outside.
    if (!(c.value > M(-2147483648.0) && c.value < M(2147483647.0))) c.value = -100;
    return c;
}

template <class M, bool backward>
void run_grid(const GridSampling& g, const M* input, const M* grid, M* output, const M* grad_output, M* grad_input,
              M* grad_grid) {
    int dims = g.dims;
    int64_t in[3] = {1, 1, 1}, out_space = 1, in_space = 1;
    for (int d = 0; d < dims; ++d) {
        in[3 - dims + d] = g.in[d];
        in_space *= g.in[d];
        out_space *= g.out[d];
    }
    if (backward && grad_input) std::fill_n(grad_input, g.batch * g.channels * in_space, M{0});
    auto inside = [&](int64_t z, int64_t y, int64_t x) {
        return z >= 0 && z < in[0] && y >= 0 && y < in[1] && x >= 0 && x < in[2];
    };
    auto place_of = [&](int64_t z, int64_t y, int64_t x) { return (z * in[1] + y) * in[2] + x; };
    parallel_for(0, g.batch, 1, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n)
            for (int64_t o = 0; o < out_space; ++o) {
                const M* point = grid + (n * out_space + o) * dims;
                const M* from = input + n * g.channels * in_space;
                Coordinate<M> c[3] = {{0, 0}, {0, 0}, {0, 0}}; // z, y, x
                bool cubic = g.mode == GridMode::Cubic;
                for (int d = 0; d < dims; ++d) {
                    int64_t size = in[2 - d];
                    c[2 - d] = unnormalised(point[d], size, g.align_corners);
                    if (!cubic) c[2 - d] = padded(c[2 - d], size, g);
                }
                // The places read, their weights, and the weights' derivatives in x, y, z.
                constexpr int most = 16;
                int64_t places[most];
                M weights[most], slopes[3][most];
                int count = 0;
                if (g.mode == GridMode::Nearest) {
                    int64_t z = dims == 3 ? static_cast<int64_t>(std::nearbyint(c[0].value)) : 0;
                    int64_t y = static_cast<int64_t>(std::nearbyint(c[1].value)),
                            x = static_cast<int64_t>(std::nearbyint(c[2].value));
                    if (inside(z, y, x)) {
                        places[0] = place_of(z, y, x);
                        weights[0] = 1;
                        slopes[0][0] = slopes[1][0] = slopes[2][0] = 0;
                        count = 1;
                    }
                } else if (!cubic) {
                    M floor[3], t[3];
                    for (int d = 0; d < 3; ++d) {
                        floor[d] = std::floor(c[d].value);
                        t[d] = c[d].value - floor[d];
                    }
                    for (int corner = 0; corner < (dims == 3 ? 8 : 4); ++corner) {
                        int dx = corner & 1, dy = corner >> 1 & 1, dz = corner >> 2 & 1;
                        int64_t z = static_cast<int64_t>(floor[0]) + dz, y = static_cast<int64_t>(floor[1]) + dy,
                                x = static_cast<int64_t>(floor[2]) + dx;
                        if (!inside(z, y, x)) continue;
                        M wx = dx ? t[2] : 1 - t[2], wy = dy ? t[1] : 1 - t[1],
                          wz = dims == 3 ? (dz ? t[0] : 1 - t[0]) : M{1};
                        places[count] = place_of(z, y, x);
                        weights[count] = wx * wy * wz;
                        slopes[0][count] = (dx ? 1 : -1) * wy * wz;
                        slopes[1][count] = (dy ? 1 : -1) * wx * wz;
                        slopes[2][count] = (dz ? 1 : -1) * wx * wy;
                        ++count;
                    }
                } else {
                    constexpr M a = M(-0.75);
                    M coefficient[2][4], slope[2][4]; // x, y
                    for (int d = 0; d < 2; ++d) {
                        M t = c[2 - d].value - std::floor(c[2 - d].value);
                        M* w = coefficient[d];
                        w[0] = cubic_far(t + 1, a);
                        w[1] = cubic_near(t, a);
                        w[2] = cubic_near(1 - t, a);
                        w[3] = cubic_far(2 - t, a);
                        M *v = slope[d], x = t + 1;
                        v[0] = (3 * a * x - 10 * a) * x + 8 * a;
                        x = t;
                        v[1] = (3 * (a + 2) * x - 2 * (a + 3)) * x;
                        x = 1 - t;
                        v[2] = -(3 * (a + 2) * x - 2 * (a + 3)) * x;
                        x = 2 - t;
                        v[3] = -((3 * a * x - 10 * a) * x + 8 * a);
                    }
                    for (int i = 0; i < 4; ++i)
                        for (int j = 0; j < 4; ++j) {
                            // The padding's rule holds for each place that is read.
                            Coordinate<M> y =
                                padded(Coordinate<M>{std::floor(c[1].value) - 1 + static_cast<M>(i), 1}, in[1], g);
                            Coordinate<M> x =
                                padded(Coordinate<M>{std::floor(c[2].value) - 1 + static_cast<M>(j), 1}, in[2], g);
                            auto iy = static_cast<int64_t>(y.value), ix = static_cast<int64_t>(x.value);
                            if (!inside(0, iy, ix)) continue;
                            places[count] = place_of(0, iy, ix);
                            weights[count] = coefficient[1][i] * coefficient[0][j];
                            slopes[0][count] = coefficient[1][i] * slope[0][j];
                            slopes[1][count] = slope[1][i] * coefficient[0][j];
                            slopes[2][count] = 0;
                            ++count;
                        }
                }
                M along[3] = {0, 0, 0};
                for (int64_t channel = 0; channel < g.channels; ++channel) {
                    if constexpr (!backward) {
                        M sum = 0;
                        for (int i = 0; i < count; ++i)
                            sum += from[channel * in_space + places[i]] * weights[i];
                        output[(n * g.channels + channel) * out_space + o] = sum;
                    } else {
                        M grad = grad_output[(n * g.channels + channel) * out_space + o];
                        for (int i = 0; i < count; ++i) {
                            if (grad_input)
                                grad_input[(n * g.channels + channel) * in_space + places[i]] += grad * weights[i];
                            M value = from[channel * in_space + places[i]] * grad;
                            for (int d = 0; d < 3; ++d)
                                along[d] += value * slopes[d][i];
                        }
                    }
                }
                if constexpr (backward)
                    if (grad_grid)
                        for (int d = 0; d < dims; ++d)
                            grad_grid[(n * out_space + o) * dims + d] = along[d] * c[2 - d].slope;
            }
    });
}

template <class T>
struct Wide {
    Scratch<float> values;
    Wide(const void* from, int64_t count) : values(from ? count : 0) {
        if (!from) return;
        for (int64_t i = 0; i < count; ++i)
            values[i] = load(static_cast<const T*>(from)[i]);
    }
};

template <class Run>
void by_type(const GridSampling& g, const void* const* in, const int64_t* in_counts, void* const* out,
             const int64_t* out_counts, Run run) {
    auto half = [&](auto type) {
        using T = decltype(type);
        Wide<T> a(in[0], in_counts[0]), b(in[1], in_counts[1]), c(in[2], in_counts[2]);
        Scratch<float> x(out[0] ? out_counts[0] : 0), y(out[1] ? out_counts[1] : 0);
        run(in[0] ? a.values.data : nullptr, b.values.data, c.values.data, out[0] ? x.data : nullptr,
            out[1] ? y.data : nullptr);
        for (int64_t i = 0; out[0] && i < out_counts[0]; ++i)
            static_cast<T*>(out[0])[i] = store_as<T>(x[i]);
        for (int64_t i = 0; out[1] && i < out_counts[1]; ++i)
            static_cast<T*>(out[1])[i] = store_as<T>(y[i]);
    };
    auto plain = [&](auto type) {
        using M = decltype(type);
        run(static_cast<const M*>(in[0]), static_cast<const M*>(in[1]), static_cast<const M*>(in[2]),
            static_cast<M*>(out[0]), static_cast<M*>(out[1]));
    };
    switch (g.dtype) {
    case DType::Float32:
        return plain(float{});
    case DType::Float64:
        return plain(double{});
    case DType::Float16:
        return half(Half{});
    case DType::BFloat16:
        return half(BFloat16{});
    default:
        fail(ErrorKind::NotImplemented, "\"grid_sampler_%dd_cpu\" not implemented for '%s'", g.dims,
             scalar_type_name(g.dtype));
    }
}

struct GridCounts {
    int64_t input, grid, output;
    explicit GridCounts(const GridSampling& g)
        : input(g.batch * g.channels), grid(g.batch * g.dims), output(g.batch * g.channels) {
        for (int d = 0; d < g.dims; ++d) {
            input *= g.in[d];
            grid *= g.out[d];
            output *= g.out[d];
        }
    }
};

} // namespace

void resample(const Resampling& r, const void* input, void* output) {
    for_resampled(r.dtype, "upsample", [&](auto type) {
        using T = decltype(type);
        run_resample(r, static_cast<const T*>(input), static_cast<T*>(output));
    });
}

void resample_gradient(const Resampling& r, const void* grad_output, void* grad_input) {
    for_resampled(r.dtype, "upsample_backward", [&](auto type) {
        using T = decltype(type);
        run_resample_gradient(r, static_cast<const T*>(grad_output), static_cast<T*>(grad_input));
    });
}

void grid_sample(const GridSampling& g, const void* input, const void* grid, void* output) {
    GridCounts n(g);
    const void* in[] = {nullptr, input, grid};
    int64_t in_counts[] = {0, n.input, n.grid};
    void* out[] = {output, nullptr};
    int64_t out_counts[] = {n.output, 0};
    by_type(g, in, in_counts, out, out_counts, [&](const auto*, const auto* x, const auto* p, auto* y, auto*) {
        using M = std::remove_reference_t<decltype(*y)>;
        run_grid<M, false>(g, x, p, y, nullptr, nullptr, nullptr);
    });
}

void grid_sample_gradient(const GridSampling& g, const void* grad_output, const void* input, const void* grid,
                          void* grad_input, void* grad_grid) {
    GridCounts n(g);
    const void* in[] = {grad_output, input, grid};
    int64_t in_counts[] = {n.output, n.input, n.grid};
    void* out[] = {grad_input, grad_grid};
    int64_t out_counts[] = {n.input, n.grid};
    by_type(g, in, in_counts, out, out_counts, [&](const auto* d, const auto* x, const auto* p, auto* gi, auto* gg) {
        using M = std::remove_reference_t<decltype(*gi)>;
        run_grid<M, true>(g, x, p, nullptr, d, gi, gg);
    });
}

} // namespace kindling::library
