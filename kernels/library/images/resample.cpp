// kernels/library/images/resample.cpp: interpolation to another size by weighted sums along each dimension.
// Compiled for calls.
#include "kernels/library/images/resample.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/error.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

// Along one dimension each position of the output is a weighted sum of up to `most` positions of the input.
template <class M> struct Taps {
    int64_t most = 1;
    Scratch<int32_t> counts;
    Scratch<int64_t> indices;
    Scratch<M> weights;
    Taps(int64_t out, int64_t m) : most(m), counts(out), indices(out * m), weights(out * m) {}
};

template <class M> M cubic_near(M x, M a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
template <class M> M cubic_far(M x, M a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

template <class M> M scale_of(int64_t in, int64_t out, bool align, double scale) {
    if (align) return out > 1 ? static_cast<M>(in - 1) / static_cast<M>(out - 1) : M{0};
    return scale > 0 ? static_cast<M>(1.0 / scale) : static_cast<M>(in) / static_cast<M>(out);
}

template <class M> M antialias_weight(bool cubic, M x) {
    x = std::abs(x);
    if (!cubic) return x < 1 ? 1 - x : M{0};
    constexpr M a = M(-0.5);
    return x < 1 ? cubic_near(x, a) : x < 2 ? cubic_far(x, a) : M{0};
}

int64_t most_taps(const Resampling& r, int64_t in, int64_t out, double scale) {
    switch (r.mode) {
    case Interpolation::Nearest:
    case Interpolation::NearestExact: return 1;
    case Interpolation::Linear: return 2;
    case Interpolation::Cubic: return 4;
    default: {
        double size = r.mode == Interpolation::CubicAntialias ? 4 : 2;
        double factor = std::max(1.0, scale_of<double>(in, out, r.align_corners, scale));
        return std::min<int64_t>(static_cast<int64_t>(std::ceil(size * 0.5 * factor)) * 2 + 1, std::max<int64_t>(in, 1));
    }
    }
}

template <class M> void fill_taps(const Resampling& r, int64_t in, int64_t out, double given, Taps<M>& taps) {
    for (int64_t o = 0; o < out; ++o) {
        int64_t* index = taps.indices.data + o * taps.most;
        M* weight = taps.weights.data + o * taps.most;
        int count = 1;
        switch (r.mode) {
        case Interpolation::Nearest:
        case Interpolation::NearestExact: {
            // Positions are computed in float whatever the dtype.
            float scale = given > 0 ? static_cast<float>(1.0 / given) : static_cast<float>(in) / static_cast<float>(out);
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
            M place = r.align_corners ? scale * static_cast<M>(o) : std::max(scale * (static_cast<M>(o) + M(0.5)) - M(0.5), M{0});
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
            for (int k = 0; k < 4; ++k) index[k] = std::clamp<int64_t>(static_cast<int64_t>(floor) - 1 + k, 0, in - 1);
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
            index[0] = 0, weight[0] = 0; // read even if a scale that contradicts the sizes leaves none
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

template <class T> using weight_type = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Calls run(context, plane, taps of the three dimensions) in parallel.
template <class M> using PlaneFunction = void (*)(void* context, int64_t plane, const Taps<M>& a, const Taps<M>& b, const Taps<M>& c);

template <class M> void run_planes(const Resampling& r, const Sizes& s, PlaneFunction<M> run, void* context) {
    Resampling straight = r; // for dimensions that are missing
    straight.mode = Interpolation::Nearest;
    auto rule = [&](int d) -> const Resampling& { return d < 3 - r.dims ? straight : r; };
    auto make = [&](int d) { return Taps<M>(s.out[d], most_taps(rule(d), s.in[d], s.out[d], s.scale[d])); };
    Taps<M> taps[3] = {make(0), make(1), make(2)};
    int64_t work = s.out_space;
    for (int d = 0; d < 3; ++d) {
        fill_taps(rule(d), s.in[d], s.out[d], s.scale[d], taps[d]);
        work *= taps[d].most;
    }
    parallel_for(0, r.planes, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) run(context, plane, taps[0], taps[1], taps[2]);
    });
}

/// Calls each(plane, taps of the three dimensions) in parallel. Code that does not touch elements is independent of the
/// dtype.
template <class M, class Each> void for_planes(const Resampling& r, const Sizes& s, Each each) {
    run_planes<M>(
        r, s,
        [](void* context, int64_t plane, const Taps<M>& a, const Taps<M>& b, const Taps<M>& c) {
            (*static_cast<Each*>(context))(plane, a, b, c);
        },
        &each);
}

template <class T> T rounded(weight_type<T> value) {
    if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0f, 255.0f));
    else return value;
}

/// to = weight * from, or accumulated.
template <class M> void weigh(M* __restrict to, const M* __restrict from, M weight, int64_t n, bool add) {
    constexpr int64_t together = 8; // the compiler vectorises a known number
    int64_t i = 0;
    auto some = [&](int64_t count) {
        if (add)
            for (int64_t k = i; k < i + count; ++k) to[k] += weight * from[k];
        else
            for (int64_t k = i; k < i + count; ++k) to[k] = weight * from[k];
    };
    for (; i + together <= n; i += together) some(together);
    some(n - i);
}

/// Rows of the input as wide as the output's, kept while the following rows of the output need them. A row's slot is
/// its number modulo the window's width, so rows of one window have different slots.
template <class M> class WideRows {
public:
    WideRows(const Sizes& s, const Taps<M>& a, const Taps<M>& b)
        : size_(s), a_(a), b_(b), rows_(a.most * b.most * s.out[2]), owners_(a.most * b.most) {
        std::fill_n(owners_.data, a.most * b.most, -1);
    }
    /// The slot of row (i, j), or -1 if there is none. make(row, slot) fills it if it held another row.
    template <class Make> M* find(int64_t i, int64_t j, Make make) {
        const int64_t slot = i % a_.most * b_.most + j % b_.most, row = i * size_.in[1] + j;
        M* place = rows_.data + slot * size_.out[2];
        if (owners_[slot] != row) make(owners_[slot], row, place);
        owners_[slot] = row;
        return place;
    }
    /// Calls each(row, slot) for every slot in use.
    template <class Each> void for_all(Each each) {
        for (int64_t slot = 0; slot < a_.most * b_.most; ++slot)
            if (owners_[slot] >= 0) each(owners_[slot], rows_.data + slot * size_.out[2]);
    }

private:
    const Sizes& size_;
    const Taps<M>&a_, &b_;
    Scratch<M> rows_;
    Scratch<int64_t> owners_;
};

bool copies_only(Interpolation mode) { return mode == Interpolation::Nearest || mode == Interpolation::NearestExact; }

template <class T> void run_resample(const Resampling& r, const T* input, T* output) {
    using M = weight_type<T>;
    Sizes s(r);
    const int64_t width = s.out[2];
    const bool copies = copies_only(r.mode);
    for_planes<M>(r, s, [&](int64_t plane, const Taps<M>& a, const Taps<M>& b, const Taps<M>& c) {
        const T* from = input + plane * s.in_space;
        T* to = output + plane * s.out_space;
        auto widen = [&, counts = c.counts.data](int64_t, int64_t number, M* place) {
            const T* row = from + number * s.in[2];
            const int64_t* index = c.indices.data;
            const M* weight = c.weights.data;
            for (int64_t z = 0, most = c.most; z < width; ++z, index += most, weight += most) {
                M sum = weight[0] * static_cast<M>(row[index[0]]);
                const int count = counts[z];
                for (int k = 1; k < count; ++k) sum += weight[k] * static_cast<M>(row[index[k]]);
                place[z] = count ? sum : M{0};
            }
        };
        WideRows<M> rows(s, a, b);
        constexpr bool same = std::is_same_v<T, M>; // sums are the results
        Scratch<M> row_sums(same ? 0 : width), plane_sums(a.most == 1 ? 0 : width);
        for (int64_t x = 0; x < s.out[0]; ++x)
            for (int64_t y = 0; y < s.out[1]; ++y, to += width) {
                const int64_t *ia = a.indices.data + x * a.most, *ib = b.indices.data + y * b.most;
                const M *wa = a.weights.data + x * a.most, *wb = b.weights.data + y * b.most;
                M* sums = row_sums.data;
                if constexpr (same) sums = to;
                if (copies) {
                    const int64_t* index = c.indices.data;
                    const T* row = from + (ia[0] * s.in[1] + ib[0]) * s.in[2];
                    for (int64_t z = 0; z < width; ++z) to[z] = row[index[z]];
                    continue;
                }
                if (!a.counts[x] || !b.counts[y]) std::fill_n(sums, width, M{0});
                for (int i = 0; i < a.counts[x]; ++i) {
                    M* together = a.most == 1 ? sums : plane_sums.data; // of two dimensions or one: weight 1
                    for (int j = 0; j < b.counts[y]; ++j) weigh(together, rows.find(ia[i], ib[j], widen), wb[j], width, j > 0);
                    if (a.most > 1) weigh(sums, together, wa[i], width, i > 0);
                }
                if constexpr (!same)
                    for (int64_t z = 0; z < width; ++z) to[z] = rounded<T>(sums[z]);
            }
    });
}

/// The taps of one dimension in whole numbers: weights of up to 15 bits, as PyTorch and Pillow resample images.
struct WholeTaps {
    Taps<double> taps;
    Scratch<int32_t> weights;
    int shift = 0;
    WholeTaps(const Resampling& r, int d) : taps(r.out[d], most_taps(r, r.in[d], r.out[d], r.scale[d])), weights(r.out[d] * taps.most) {
        fill_taps(r, r.in[d], r.out[d], r.scale[d], taps);
        double greatest = 0;
        for (int64_t o = 0; o < r.out[d]; ++o) {
            int64_t* index = taps.indices.data + o * taps.most;
            double* weight = taps.weights.data + o * taps.most;
            int count = 0;
            for (int k = 0; k < taps.counts[o]; ++k) {
                if (count && index[count - 1] == index[k]) { // beyond an edge: one tap with their sum
                    weight[count - 1] += weight[k];
                } else {
                    index[count] = index[k];
                    weight[count++] = weight[k];
                }
                greatest = std::max(greatest, weight[count - 1]);
            }
            taps.counts[o] = count;
        }
        while (shift < 22 && static_cast<int>(0.5 + greatest * (1 << (shift + 1))) < 1 << 15) ++shift;
        for (int64_t i = 0; i < r.out[d] * taps.most; ++i) {
            const double scaled = taps.weights[i] * (1 << shift);
            weights[i] = i % taps.most < taps.counts[i / taps.most] ? static_cast<int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5)) : 0;
        }
    }
    int32_t start() const { return shift ? 1 << (shift - 1) : 0; }
    uint8_t rounded(int32_t sum) const { return static_cast<uint8_t>(std::clamp(sum >> shift, 0, 255)); }
};

/// Images of bytes: rows first, then columns, each rounded to bytes.
void resample_bytes(const Resampling& r, const uint8_t* input, uint8_t* output) {
    const WholeTaps down(r, 0), across(r, 1);
    const int64_t height = r.in[0], width = r.out[1];
    const bool widens = r.in[1] != width, heightens = height != r.out[0];
    auto widen = [&](const uint8_t* from, uint8_t* to) {
        const int32_t* weight = across.weights.data;
        for (int64_t z = 0, most = across.taps.most; z < width; ++z, weight += most) {
            const uint8_t* at = from + across.taps.indices[z * most];
            int32_t sum = across.start();
            for (int k = 0, count = across.taps.counts[z]; k < count; ++k) sum += weight[k] * at[k];
            to[z] = across.rounded(sum);
        }
    };
    const int64_t work = height * width * across.taps.most + r.out[0] * width * down.taps.most;
    parallel_for(0, r.planes, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
        Scratch<uint8_t> wide(widens && heightens ? height * width : 0);
        Scratch<int32_t> sums(heightens ? width : 0);
        for (int64_t plane = begin; plane < end; ++plane) {
            const uint8_t* from = input + plane * height * r.in[1];
            uint8_t* to = output + plane * r.out[0] * width;
            if (widens) {
                uint8_t* rows = heightens ? wide.data : to;
                for (int64_t y = 0; y < height; ++y) widen(from + y * r.in[1], rows + y * width);
                from = rows;
            }
            if (!heightens) {
                if (!widens) std::copy_n(from, height * width, to);
                continue;
            }
            for (int64_t y = 0; y < r.out[0]; ++y, to += width) {
                std::fill_n(sums.data, width, down.start());
                const uint8_t* row = from + down.taps.indices[y * down.taps.most] * width;
                for (int k = 0; k < down.taps.counts[y]; ++k, row += width)
                    for (int64_t z = 0, weight = down.weights[y * down.taps.most + k]; z < width; ++z)
                        sums[z] += static_cast<int32_t>(weight) * row[z];
                for (int64_t z = 0; z < width; ++z) to[z] = down.rounded(sums[z]);
            }
        }
    });
}

template <class T> void run_resample_gradient(const Resampling& r, const T* grad_output, T* grad_input) {
    using M = weight_type<T>;
    Sizes s(r);
    const int64_t width = s.out[2];
    const bool copies = copies_only(r.mode);
    for_planes<M>(r, s, [&](int64_t plane, const Taps<M>& a, const Taps<M>& b, const Taps<M>& c) {
        const T* from = grad_output + plane * s.out_space;
        T* to = grad_input + plane * s.in_space;
        constexpr bool same = std::is_same_v<T, M>; // sums are the results, gradients what is weighted
        Scratch<M> plane_sums(same ? 0 : s.in_space), row_grads(same ? 0 : width);
        M* sums = plane_sums.data;
        if constexpr (same) sums = to;
        auto finish = [&] {
            if constexpr (!same)
                for (int64_t i = 0; i < s.in_space; ++i) to[i] = rounded<T>(sums[i]);
        };
        std::fill_n(sums, s.in_space, M{0});
        if (copies) {
            const int64_t* index = c.indices.data;
            for (int64_t x = 0; x < s.out[0]; ++x)
                for (int64_t y = 0; y < s.out[1]; ++y, from += width) {
                    M* row = sums + (a.indices[x] * s.in[1] + b.indices[y]) * s.in[2];
                    // Neighbours accumulate to one position: their sum stays in a register, instead of waiting for the
                    // last store.
                    int64_t at = index[0];
                    M sum = row[at];
                    for (int64_t z = 0; z < width; ++z) {
                        if (index[z] != at) {
                            row[at] = sum;
                            at = index[z];
                            sum = row[at];
                        }
                        sum += static_cast<M>(from[z]);
                    }
                    row[at] = sum;
                }
            return finish();
        }
        auto narrow = [&, counts = c.counts.data](int64_t number, const M* place) {
            M* row = sums + number * s.in[2];
            const int64_t* index = c.indices.data;
            const M* weight = c.weights.data;
            for (int64_t z = 0, most = c.most; z < width; ++z, index += most, weight += most)
                for (int k = 0, count = counts[z]; k < count; ++k) row[index[k]] += weight[k] * place[z];
        };
        WideRows<M> rows(s, a, b);
        for (int64_t x = 0; x < s.out[0]; ++x)
            for (int64_t y = 0; y < s.out[1]; ++y, from += width) {
                const int64_t *ia = a.indices.data + x * a.most, *ib = b.indices.data + y * b.most;
                const M* grads = row_grads.data;
                if constexpr (same) grads = from;
                else
                    for (int64_t z = 0; z < width; ++z) row_grads[z] = static_cast<M>(from[z]);
                for (int i = 0; i < a.counts[x]; ++i)
                    for (int j = 0; j < b.counts[y]; ++j) {
                        bool fresh = false;
                        M* place = rows.find(ia[i], ib[j], [&](int64_t before, int64_t, M* old) {
                            if (before >= 0) narrow(before, old);
                            fresh = true;
                        });
                        weigh(place, grads, a.weights[x * a.most + i] * b.weights[y * b.most + j], width, !fresh);
                    }
            }
        rows.for_all(narrow);
        finish();
    });
}

template <bool bytes, class F> void for_resampled(DType dtype, const char* kernel, F f) {
    switch (dtype) {
    case DType::Float32: return f(float{});
    case DType::Float64: return f(double{});
    case DType::UInt8:
        if constexpr (bytes) return f(uint8_t{});
        [[fallthrough]];
    default: fail(ErrorKind::NotImplemented, "\"%s\" not implemented for '%s'", kernel, scalar_type_name(dtype));
    }
}

} // namespace

void resample(const Resampling& r, const void* input, void* output) {
    for_resampled<true>(r.dtype, "upsample", [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_same_v<T, uint8_t>)
            if (r.dims == 2 && !copies_only(r.mode)) return resample_bytes(r, static_cast<const T*>(input), static_cast<T*>(output));
        run_resample(r, static_cast<const T*>(input), static_cast<T*>(output));
    });
}

void resample_gradient(const Resampling& r, const void* grad_output, void* grad_input) {
    for_resampled<false>(r.dtype, "upsample_backward", [&](auto type) {
        using T = decltype(type);
        run_resample_gradient(r, static_cast<const T*>(grad_output), static_cast<T*>(grad_input));
    });
}

} // namespace kindling::library
