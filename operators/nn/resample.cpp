// operators/nn/resample.cpp: interpolation to another size, reading at given points, and the grids of affine maps.
#include "kernels/library/images/resample.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"

namespace kindling {
namespace {

using library::Interpolation;
using Scale = std::optional<double>;

Tensor number(double value) { return wrap_number(Scalar(value)); }

/// Which dimensions PyTorch's kernels resample by their sizes alone, whatever scale was given: with antialiasing those that keep
/// their size, not in the gradient; of the nearest element those that keep or double it, which the kernels for one and three dimensions,
/// and for large contiguous planes, do only in the gradient. That of a bicubic one goes by the sizes where all stay.
void forget_scales(library::Resampling& r, const Tensor* input) {
    bool all = true, doubles = !input;
    for (int i = 0; i < r.dims; i++) all &= r.in[i] == r.out[i];
    if (input && r.dims > 1)
        doubles = (r.dims == 2 && r.out[0] + r.out[1] <= 128) ||
                  (input->size(1) > 3 && input->is_contiguous(r.dims == 2 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d));
    for (int i = 0; i < r.dims; i++) {
        const bool same = r.in[i] == r.out[i];
        bool by_sizes = false;
        switch (r.mode) {
        case Interpolation::Nearest: by_sizes = doubles && (same || r.out[i] == 2 * r.in[i]); break;
        case Interpolation::Cubic: by_sizes = !input && all; break;
        case Interpolation::LinearAntialias:
        case Interpolation::CubicAntialias: by_sizes = input && same; break;
        default: break;
        }
        if (by_sizes) r.scale[i] = 0;
    }
}

/// Checks the sizes; fills in everything but the dtype.
library::Resampling resampling(IntList in, IntList out, Interpolation mode, bool align_corners, Span<double> scales, const char* name) {
    int dims = static_cast<int>(scales.size());
    KINDLING_CHECK(Runtime, static_cast<int>(out.size()) == dims, "%s: It is expected output_size equals to %d, but got size %zu", name,
                   dims, out.size());
    KINDLING_CHECK(Runtime, static_cast<int>(in.size()) == dims + 2, "%s: It is expected input_size equals to %d, but got size %zu", name,
                   dims + 2, in.size());
    library::Resampling r{};
    r.mode = mode;
    r.dims = dims;
    r.planes = in[0] * in[1];
    r.align_corners = align_corners;
    for (int i = 0; i < dims; i++) {
        size_t d = static_cast<size_t>(i);
        r.in[i] = in[d + 2];
        r.out[i] = out[d];
        r.scale[i] = scales[d];
        KINDLING_CHECK(Runtime, r.in[i] > 0 && r.out[i] > 0,
                       "%s: Input and output sizes should be greater than 0, but got input %s and output %s", name, str(in).c_str(),
                       str(out).c_str());
    }
    return r;
}

library::Resampling resampled(KernelCall& call, const char* name, const Tensor& self, IntList output_size, Interpolation mode,
                              bool align_corners, std::initializer_list<Scale> scales) {
    double given[3];
    int dims = 0;
    for (const Scale& scale : scales) given[dims++] = scale.value_or(0);
    library::Resampling r = resampling(self.sizes(), output_size, mode, align_corners, {given, static_cast<size_t>(dims)}, name);
    KINDLING_CHECK(Runtime, self.size(1) > 0, "%s: Non-empty %dD data tensor expected but got a tensor with sizes %s", name, dims + 2,
                   str(self.sizes()).c_str());
    KINDLING_CHECK(NotImplemented, is_floating(self.dtype()) || self.dtype() == DType::UInt8, "\"%s\" not implemented for '%s'", name,
                   scalar_type_name(self.dtype()));
    Sizes sizes{self.size(0), self.size(1)};
    for (int64_t size : output_size) sizes.push_back(size);
    forget_scales(r, &self);
    r.dtype = value_type(self.dtype());
    call.reads(self, r.dtype);
    call.gives(sizes, self.dtype()).like(self).computed_in(r.dtype);
    return r;
}
constexpr auto resample = [](const library::Resampling& r, const Array& self, const Array& result) {
    library::resample(r, self.data(), result.data());
};

Tensor gradient(const Tensor& grad, IntList input_size, IntList output_size, Interpolation mode, bool align_corners,
                std::initializer_list<Scale> scales) {
    double given[3];
    int dims = 0;
    for (const Scale& scale : scales) given[dims++] = scale.value_or(0);
    return _resample_backward(grad, output_size, input_size, static_cast<int64_t>(mode), align_corners,
                              Span<double>(given, static_cast<size_t>(dims)));
}

/// The output's size and the scales, as one of the two is given.
struct Target {
    Sizes size;
    Scale scale[3];
};
Target wanted_size(const char* name, const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors,
                   int dims) {
    KINDLING_CHECK(Runtime, output_size.has_value() != scale_factors.has_value(),
                   "%s: Must specify exactly one of output_size and scale_factors", name);
    KINDLING_CHECK(Runtime, input.dim() == dims + 2, "%s: It is expected input_size equals to %d, but got size %ld", name, dims + 2,
                   input.dim());
    Target w;
    if (output_size) {
        KINDLING_CHECK(Runtime, static_cast<int>(output_size->size()) == dims,
                       "%s: It is expected output_size equals to %d, but got size %zu", name, dims, output_size->size());
        w.size = *output_size;
        return w;
    }
    KINDLING_CHECK(Runtime, static_cast<int>(scale_factors->size()) == dims,
                   "%s: It is expected scale_factors equals to %d, but got size %zu", name, dims, scale_factors->size());
    for (int i = 0; i < dims; i++) {
        double scale = (*scale_factors)[static_cast<size_t>(i)];
        w.scale[i] = scale;
        w.size.push_back(static_cast<int64_t>(static_cast<double>(input.size(i + 2)) * scale));
    }
    return w;
}

library::GridSampling sampling(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners, int dims) {
    KINDLING_CHECK(Runtime, input.dim() == dims + 2 && grid.dim() == dims + 2,
                   "grid_sampler(): expected %dD input and grid, but got input with sizes %s and grid with sizes %s", dims + 2,
                   str(input.sizes()).c_str(), str(grid.sizes()).c_str());
    KINDLING_CHECK(Runtime, input.size(0) == grid.size(0),
                   "grid_sampler(): expected grid and input to have same batch size, but got input with sizes %s and grid with sizes %s",
                   str(input.sizes()).c_str(), str(grid.sizes()).c_str());
    KINDLING_CHECK(Runtime, grid.size(-1) == dims,
                   "grid_sampler(): expected grid to have size %d in last dimension, but got grid with sizes %s", dims,
                   str(grid.sizes()).c_str());
    KINDLING_CHECK(Runtime, mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2,
                   "grid_sampler(): unknown interpolation mode %ld or padding mode %ld", mode, padding);
    KINDLING_CHECK(Runtime, dims == 2 || mode != 2, "grid_sampler(): bicubic interpolation only supports 4D input");
    KINDLING_CHECK(Runtime, input.dtype() == grid.dtype(),
                   "grid_sampler(): expected input and grid to have same dtype, but input has %s and grid has %s", name(input.dtype()),
                   name(grid.dtype()));
    KINDLING_CHECK(NotImplemented, is_floating(input.dtype()), "\"grid_sampler_2d_cpu_kernel_impl\" not implemented for '%s'",
                   scalar_type_name(input.dtype()));
    library::GridSampling g{input.dtype(),
                            static_cast<library::GridMode>(mode),
                            static_cast<library::GridPadding>(padding),
                            align_corners,
                            dims,
                            input.size(0),
                            input.size(1),
                            {},
                            {}};
    for (int i = 0; i < dims; i++) {
        KINDLING_CHECK(
            Runtime, input.size(i + 2) > 0,
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes %s with dimension %d being empty",
            str(input.sizes()).c_str(), i + 2);
        g.in[i] = input.size(i + 2);
        g.out[i] = grid.size(i + 1);
    }
    return g;
}

library::GridSampling grid_sampled(KernelCall& call, const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                                   bool align_corners, int dims) {
    library::GridSampling g = sampling(input, grid, mode, padding, align_corners, dims);
    g.dtype = value_type(input.dtype());
    Sizes sizes{g.batch, g.channels};
    for (int i = 0; i < dims; i++) sizes.push_back(g.out[i]);
    call.reads(input, g.dtype);
    call.reads(grid, g.dtype);
    call.gives(sizes, input.dtype()).computed_in(g.dtype);
    return g;
}
constexpr auto grid_sample = [](const library::GridSampling& g, const Array& input, const Array& grid, const Array& result) {
    library::grid_sample(g, input.data(), grid.data(), result.data());
};

library::GridSampling grid_gradient(KernelCall& call, const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                                    int64_t padding, bool align_corners, Span<bool> wanted, int dims) {
    library::GridSampling g = sampling(input, grid, mode, padding, align_corners, dims);
    g.dtype = value_type(input.dtype());
    for (const Tensor* each : {&grad, &input, &grid}) call.reads(*each, g.dtype);
    for (int i = 0; i < 2; i++)
        if (const Tensor& of = i ? grid : input; wanted[static_cast<size_t>(i)]) call.gives(of.sizes(), of.dtype()).computed_in(g.dtype);
        else call.gives_none();
    return g;
}
constexpr auto grid_sample_gradient = [](const library::GridSampling& g, const Array& grad, const Array& input, const Array& grid,
                                         const Array& grad_input, const Array& grad_grid) {
    library::grid_sample_gradient(g, grad.data(), input.data(), grid.data(), grad_input.data(), grad_grid.data());
};

[[gnu::noinline]] Tensor times(const Tensor& x, double factor) { return mul(x, number(factor)); }
[[gnu::noinline]] Tensor plus(const Tensor& x, double term) { return add(x, number(term)); }

/// How one dimension of the input is read at each point: taps with weights, the weights' slopes by the place in the input,
/// and the slope of that place by the grid's number. Differentiable, as the kernels' gradients are not.
struct Taps {
    std::vector<Tensor> weight, slope, index, inside;
    Tensor scale;
};

/// Weights of the taps as polynomials of the part behind the place's floor; the cubic convolution with a = -0.75.
constexpr float tap_polynomials[3][4][4] = {
    {{1, -1, 0, 0}, {0, 1, 0, 0}},
    {{1, 0, 0, 0}},
    {{0, -0.75F, 1.5F, -0.75F}, {1, 0, -2.25F, 1.25F}, {0, 0.75F, 1.5F, -1.25F}, {0, 0, -0.75F, 0.75F}}};
constexpr int tap_counts[3] = {2, 1, 4};

Taps taps_of(const Tensor& coordinate, int64_t size, library::GridMode mode, library::GridPadding padding, bool align_corners) {
    using library::GridMode, library::GridPadding;
    const bool cubic = mode == GridMode::Cubic; // whose taps are padded one by one, and not the place
    double last = static_cast<double>(size - 1), stretch = (align_corners ? last : static_cast<double>(size)) / 2;
    Tensor fixed = detach(coordinate), place = plus(times(fixed, stretch), last / 2);
    Taps taps;
    taps.scale = full_like(place, Scalar(stretch));
    auto pad = [&](Tensor at) {
        if (padding == GridPadding::Reflection) { // between the ends, until it is inside
            double low = align_corners ? 0 : -0.5, span = 2 * stretch;
            Tensor off = plus(at, -low), rest = span == 0 ? times(off, 0) : remainder(off, number(2 * span));
            Tensor back = gt(rest, Scalar(span));
            at = plus(where(back, rsub(rest, Scalar(2 * span)), rest), low);
            if (!cubic) taps.scale = where(back, neg(taps.scale), taps.scale);
        }
        if (padding == GridPadding::Zeros) return at;
        if (!cubic) taps.scale = masked_fill(taps.scale, logical_or(le(at, Scalar(0)), ge(at, Scalar(last))), Scalar(0));
        return clamp(at, Scalar(0.0), Scalar(last));
    };
    if (!cubic) place = pad(place);
    // The place is scale * coordinate + a constant: that is how it is differentiated.
    Tensor low = mode == GridMode::Nearest ? round(place) : floor(place),
           part = sub(add(mul(sub(coordinate, fixed), taps.scale), place), low);
    for (int k = 0; k < tap_counts[static_cast<int>(mode)]; k++) {
        const float* c = tap_polynomials[static_cast<int>(mode)][k];
        auto polynomial = [&](double c0, double c1, double c2, double c3) {
            return plus(mul(part, plus(mul(part, plus(times(part, c3), c2)), c1)), c0);
        };
        taps.weight.push_back(polynomial(c[0], c[1], c[2], c[3]));
        taps.slope.push_back(polynomial(c[1], 2 * c[2], 3 * c[3], 0));
        Tensor at = plus(low, k - cubic), read;
        if (cubic) at = pad(at);
        read = clamp(at, Scalar(0.0), Scalar(last));
        taps.inside.push_back(to(eq(at, read), place.dtype()));
        taps.index.push_back(to(read, DType::Int64));
    }
    return taps;
}

/// grid_gradient by operators, for a second derivative: tap by tap.
std::tuple<Tensor, Tensor> grid_gradient_by_parts(const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                                                  int64_t padding, bool align_corners, bool of_input, bool of_grid) {
    int dims = static_cast<int>(input.dim()) - 2;
    library::GridSampling g = sampling(input, grid, mode, padding, align_corners, dims);
    Tensor flat_grad = reshape(grad, {g.batch, g.channels, -1}), flat_input = reshape(input, {g.batch, g.channels, -1});
    std::vector<Taps> taps; // by dimension of the input; the grid has the last one first
    for (int d = 0; d < dims; d++)
        taps.push_back(taps_of(reshape(select(grid, -1, dims - 1 - d), {g.batch, -1}), g.in[d], g.mode, g.padding, align_corners));
    size_t each = taps[0].weight.size(), all = 1;
    for (int d = 0; d < dims; d++) all *= each;
    Tensor grad_input = of_input ? zeros(flat_input.sizes(), input.dtype()) : Tensor(), along[3];
    for (size_t which = 0; which < all; which++) {
        size_t pick[3] = {which % each, which / each % each, which / each / each};
        Tensor index, seen;
        auto product = [&](int slope_of) { // of the weights, but for one dimension the slope
            Tensor p = seen;
            for (int d = 0; d < dims; d++)
                p = mul(p, d == slope_of ? taps[static_cast<size_t>(d)].slope[pick[d]] : taps[static_cast<size_t>(d)].weight[pick[d]]);
            return p;
        };
        for (int d = 0; d < dims; d++) {
            const Taps& t = taps[static_cast<size_t>(d)];
            index = d ? add(mul(index, wrap_number(Scalar(g.in[d]))), t.index[pick[d]]) : t.index[pick[d]];
            seen = d ? mul(seen, t.inside[pick[d]]) : t.inside[pick[d]];
        }
        Tensor wide = expand(unsqueeze(index, 1), flat_grad.sizes());
        if (of_input) grad_input = scatter_add(grad_input, 2, wide, mul(flat_grad, unsqueeze(product(-1), 1)));
        if (!of_grid) continue;
        Tensor felt = sum(mul(gather(flat_input, 2, wide), flat_grad), IntList({1}));
        for (int d = 0; d < dims; d++) {
            Tensor part = mul(felt, product(d));
            along[d] = along[d].defined() ? add(along[d], part) : part;
        }
    }
    std::vector<Tensor> columns;
    for (int d = dims; of_grid && d-- > 0;) columns.push_back(mul(along[d], taps[static_cast<size_t>(d)].scale));
    return {of_input ? reshape(grad_input, input.sizes()) : grad_input, of_grid ? reshape(stack(columns, -1), grid.sizes()) : Tensor()};
}

/// `steps` places from -1 to 1; with align_corners the first and last element are at the ends, else the elements' edges.
Tensor places(const Tensor& theta, int64_t steps, bool align_corners) {
    Tensor line = steps > 1 ? linspace(Scalar(-1), Scalar(1), steps, theta.dtype()) : zeros({steps}, theta.dtype());
    return align_corners ? line : mul(line, number(static_cast<double>(steps - 1) / static_cast<double>(steps)));
}

} // namespace
} // namespace kindling

OPERATORS(resample) {
    declare("upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")({
        doc("The nearest element, by rounding down; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors) {
            Target w = wanted_size("upsample_nearest1d", input, output_size, scale_factors, 1);
            return upsample_nearest1d(input, w.size, w.scale[0]);
        }),
    });
    declare("upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor")({
        doc("The nearest element, by rounding down"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, Scale scales) {
                return resampled(call, "upsample_nearest1d", self, output_size, Interpolation::Nearest, false, {scales});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, std::optional<double> scales) {
                return gradient(grad, self_sizes, output_size, Interpolation::Nearest, false, {scales});
            }),
    });
    declare("upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")({
        doc("The nearest element, by rounding down; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors) {
            Target w = wanted_size("upsample_nearest2d", input, output_size, scale_factors, 2);
            return upsample_nearest2d(input, w.size, w.scale[0], w.scale[1]);
        }),
    });
    declare("upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor")({
        doc("The nearest element, by rounding down"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, Scale scales_h, Scale scales_w) {
                return resampled(call, "upsample_nearest2d", self, output_size, Interpolation::Nearest, false, {scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, std::optional<double> scales_h, std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::Nearest, false, {scales_h, scales_w});
            }),
    });
    declare("upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")({
        doc("The nearest element, by rounding down; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors) {
            Target w = wanted_size("upsample_nearest3d", input, output_size, scale_factors, 3);
            return upsample_nearest3d(input, w.size, w.scale[0], w.scale[1], w.scale[2]);
        }),
    });
    declare("upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, "
            "float? scales_w=None) -> Tensor")({
        doc("The nearest element, by rounding down"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, Scale scales_d, Scale scales_h, Scale scales_w) {
                return resampled(call, "upsample_nearest3d", self, output_size, Interpolation::Nearest, false,
                                 {scales_d, scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, std::optional<double> scales_d, std::optional<double> scales_h,
                  std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::Nearest, false, {scales_d, scales_h, scales_w});
            }),
    });
    declare("_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")({
        doc("The nearest element, from centre to centre; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors) {
            Target w = wanted_size("_upsample_nearest_exact1d", input, output_size, scale_factors, 1);
            return _upsample_nearest_exact1d(input, w.size, w.scale[0]);
        }),
    });
    declare("_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor")({
        doc("The nearest element, from centre to centre"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, Scale scales) {
                return resampled(call, "_upsample_nearest_exact1d", self, output_size, Interpolation::NearestExact, false, {scales});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, std::optional<double> scales) {
                return gradient(grad, self_sizes, output_size, Interpolation::NearestExact, false, {scales});
            }),
    });
    declare("_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")({
        doc("The nearest element, from centre to centre; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors) {
            Target w = wanted_size("_upsample_nearest_exact2d", input, output_size, scale_factors, 2);
            return _upsample_nearest_exact2d(input, w.size, w.scale[0], w.scale[1]);
        }),
    });
    declare("_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor")({
        doc("The nearest element, from centre to centre"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, Scale scales_h, Scale scales_w) {
                return resampled(call, "_upsample_nearest_exact2d", self, output_size, Interpolation::NearestExact, false,
                                 {scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, std::optional<double> scales_h, std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::NearestExact, false, {scales_h, scales_w});
            }),
    });
    declare("_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")({
        doc("The nearest element, from centre to centre; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& input, std::optional<IntList> output_size, std::optional<Span<double>> scale_factors) {
            Target w = wanted_size("_upsample_nearest_exact3d", input, output_size, scale_factors, 3);
            return _upsample_nearest_exact3d(input, w.size, w.scale[0], w.scale[1], w.scale[2]);
        }),
    });
    declare("_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, "
            "float? scales_w=None) -> Tensor")({
        doc("The nearest element, from centre to centre"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, Scale scales_d, Scale scales_h, Scale scales_w) {
                return resampled(call, "_upsample_nearest_exact3d", self, output_size, Interpolation::NearestExact, false,
                                 {scales_d, scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, std::optional<double> scales_d, std::optional<double> scales_h,
                  std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::NearestExact, false, {scales_d, scales_h, scales_w});
            }),
    });
    declare("upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")({
        doc("Linear interpolation; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& input, std::optional<IntList> output_size, bool align_corners, std::optional<Span<double>> scale_factors) {
                Target w = wanted_size("upsample_linear1d", input, output_size, scale_factors, 1);
                return upsample_linear1d(input, w.size, align_corners, w.scale[0]);
            }),
    });
    declare("upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor")({
        doc("Linear interpolation"),
        linear(),
        takes(kind::Floats),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, bool align_corners, Scale scales) {
                return resampled(call, "upsample_linear1d", self, output_size, Interpolation::Linear, align_corners, {scales});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, bool align_corners, std::optional<double> scales) {
                return gradient(grad, self_sizes, output_size, Interpolation::Linear, align_corners, {scales});
            }),
    });
    declare("upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")({
        doc("Linear interpolation in two dimensions; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& input, std::optional<IntList> output_size, bool align_corners, std::optional<Span<double>> scale_factors) {
                Target w = wanted_size("upsample_bilinear2d", input, output_size, scale_factors, 2);
                return upsample_bilinear2d(input, w.size, align_corners, w.scale[0], w.scale[1]);
            }),
    });
    declare("upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
            "float? scales_w=None) -> Tensor")({
        doc("Linear interpolation in two dimensions"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, bool align_corners, Scale scales_h, Scale scales_w) {
                return resampled(call, "upsample_bilinear2d", self, output_size, Interpolation::Linear, align_corners,
                                 {scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, bool align_corners, std::optional<double> scales_h,
                  std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::Linear, align_corners, {scales_h, scales_w});
            }),
    });
    declare("upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")({
        doc("Linear interpolation in three dimensions; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& input, std::optional<IntList> output_size, bool align_corners, std::optional<Span<double>> scale_factors) {
                Target w = wanted_size("upsample_trilinear3d", input, output_size, scale_factors, 3);
                return upsample_trilinear3d(input, w.size, align_corners, w.scale[0], w.scale[1], w.scale[2]);
            }),
    });
    declare("upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, "
            "float? scales_h=None, float? scales_w=None) -> Tensor")({
        doc("Linear interpolation in three dimensions"),
        linear(),
        takes(kind::Floats),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, bool align_corners, Scale scales_d, Scale scales_h,
               Scale scales_w) {
                return resampled(call, "upsample_trilinear3d", self, output_size, Interpolation::Linear, align_corners,
                                 {scales_d, scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, bool align_corners, std::optional<double> scales_d,
                  std::optional<double> scales_h, std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::Linear, align_corners, {scales_d, scales_h, scales_w});
            }),
    });
    declare("upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")({
        doc("Cubic interpolation in two dimensions (Keys, 1981); to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& input, std::optional<IntList> output_size, bool align_corners, std::optional<Span<double>> scale_factors) {
                Target w = wanted_size("upsample_bicubic2d", input, output_size, scale_factors, 2);
                return upsample_bicubic2d(input, w.size, align_corners, w.scale[0], w.scale[1]);
            }),
    });
    declare("upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
            "float? scales_w=None) -> Tensor")({
        doc("Cubic interpolation in two dimensions (Keys, 1981)"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, bool align_corners, Scale scales_h, Scale scales_w) {
                return resampled(call, "upsample_bicubic2d", self, output_size, Interpolation::Cubic, align_corners, {scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, bool align_corners, std::optional<double> scales_h,
                  std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::Cubic, align_corners, {scales_h, scales_w});
            }),
    });
    declare("_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")({
        doc("Linear interpolation whose window grows as the image shrinks; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& input, std::optional<IntList> output_size, bool align_corners, std::optional<Span<double>> scale_factors) {
                Target w = wanted_size("_upsample_bilinear2d_aa", input, output_size, scale_factors, 2);
                return _upsample_bilinear2d_aa(input, w.size, align_corners, w.scale[0], w.scale[1]);
            }),
    });
    declare("_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
            "float? scales_w=None) -> Tensor")({
        doc("Linear interpolation whose window grows as the image shrinks"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, bool align_corners, Scale scales_h, Scale scales_w) {
                return resampled(call, "_upsample_bilinear2d_aa", self, output_size, Interpolation::LinearAntialias, align_corners,
                                 {scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, bool align_corners, std::optional<double> scales_h,
                  std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::LinearAntialias, align_corners, {scales_h, scales_w});
            }),
    });
    declare("_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")({
        doc("Cubic interpolation whose window grows as the image shrinks; to a size or by factors"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& input, std::optional<IntList> output_size, bool align_corners, std::optional<Span<double>> scale_factors) {
                Target w = wanted_size("_upsample_bicubic2d_aa", input, output_size, scale_factors, 2);
                return _upsample_bicubic2d_aa(input, w.size, align_corners, w.scale[0], w.scale[1]);
            }),
    });
    declare("_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
            "float? scales_w=None) -> Tensor")({
        doc("Cubic interpolation whose window grows as the image shrinks"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, bool align_corners, Scale scales_h, Scale scales_w) {
                return resampled(call, "_upsample_bicubic2d_aa", self, output_size, Interpolation::CubicAntialias, align_corners,
                                 {scales_h, scales_w});
            },
            resample),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList output_size, bool align_corners, std::optional<double> scales_h,
                  std::optional<double> scales_w) {
                return gradient(grad, self_sizes, output_size, Interpolation::CubicAntialias, align_corners, {scales_h, scales_w});
            }),
    });
    declare("_resample_backward(Tensor grad_output, SymInt[] output_size, SymInt[] input_size, int mode, "
            "bool align_corners, float[] scales) -> Tensor")({
        doc("Gradient of any of the above: each element's share back to where it was read"),
        linear(),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, IntList output_size, IntList input_size, int64_t mode, bool align_corners,
               Span<double> scales) {
                library::Resampling r =
                    resampling(input_size, output_size, static_cast<Interpolation>(mode), align_corners, scales, "_resample_backward");
                forget_scales(r, nullptr);
                r.dtype = value_type(grad_output.dtype());
                call.reads(grad_output, r.dtype);
                KernelCall::Result& result = call.gives(input_size, grad_output.dtype()).computed_in(r.dtype);
                if (r.mode != Interpolation::Cubic) result.like(grad_output);
                return r;
            },
            [](const library::Resampling& r, const Array& grad, const Array& result) {
                library::resample_gradient(r, grad.data(), result.data());
            }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, IntList output_size, int64_t mode, bool align_corners, Span<double> scales) {
                auto scale = [&](size_t i) { return scales[i] > 0 ? Scale(scales[i]) : Scale(); };
                size_t dims = scales.size();
                switch (static_cast<Interpolation>(mode)) {
                case Interpolation::Nearest:
                    if (dims == 1) return upsample_nearest1d(grad, output_size, scale(0));
                    if (dims == 2) return upsample_nearest2d(grad, output_size, scale(0), scale(1));
                    return upsample_nearest3d(grad, output_size, scale(0), scale(1), scale(2));
                case Interpolation::NearestExact:
                    if (dims == 1) return _upsample_nearest_exact1d(grad, output_size, scale(0));
                    if (dims == 2) return _upsample_nearest_exact2d(grad, output_size, scale(0), scale(1));
                    return _upsample_nearest_exact3d(grad, output_size, scale(0), scale(1), scale(2));
                case Interpolation::Linear:
                    if (dims == 1) return upsample_linear1d(grad, output_size, align_corners, scale(0));
                    if (dims == 2) return upsample_bilinear2d(grad, output_size, align_corners, scale(0), scale(1));
                    return upsample_trilinear3d(grad, output_size, align_corners, scale(0), scale(1), scale(2));
                case Interpolation::Cubic: return upsample_bicubic2d(grad, output_size, align_corners, scale(0), scale(1));
                case Interpolation::LinearAntialias: return _upsample_bilinear2d_aa(grad, output_size, align_corners, scale(0), scale(1));
                case Interpolation::CubicAntialias: return _upsample_bicubic2d_aa(grad, output_size, align_corners, scale(0), scale(1));
                }
                return Tensor();
            }),
    });
    declare("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")({
        doc("The input read at the grid's points, -1 to 1 along each dimension (Jaderberg et al., 2015)"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
            KINDLING_CHECK(Runtime, (input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(),
                           "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes %s "
                           "and grid with sizes %s",
                           str(input.sizes()).c_str(), str(grid.sizes()).c_str());
            if (input.dim() == 4) return grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners);
            return grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners);
        }),
    });
    declare("grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")({
        doc("grid_sampler in two dimensions"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        kernel([](KernelCall& call, const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                  bool align_corners) { return grid_sampled(call, input, grid, interpolation_mode, padding_mode, align_corners, 2); },
               grid_sample),
        derivative(
            "input, grid",
            GIVEN(Tensor grad, Tensor input, Tensor grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                  Wanted wanted) {
                bool mask[2] = {wanted[0], wanted[1]};
                if (differentiates_again())
                    return grid_gradient_by_parts(grad, input, grid, interpolation_mode, padding_mode, align_corners, mask[0], mask[1]);
                return grid_sampler_2d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, Span<bool>(mask));
            }),
    });
    declare("grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, "
            "int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)")({
        doc("Gradients of the input and the grid"),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
               int64_t padding_mode, bool align_corners, Span<bool> output_mask) {
                return grid_gradient(call, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 2);
            },
            grid_sample_gradient),
        derivative(
            "grad_output, input, grid",
            GIVEN(TensorList grads) {
                (void)grads;
                fail(ErrorKind::NotImplemented, "derivative for aten::grid_sampler_2d_backward is not implemented");
                return std::tuple<Tensor, Tensor, Tensor>();
            }),
    });
    declare("grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor")({
        doc("grid_sampler in three dimensions"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        kernel([](KernelCall& call, const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                  bool align_corners) { return grid_sampled(call, input, grid, interpolation_mode, padding_mode, align_corners, 3); },
               grid_sample),
        derivative(
            "input, grid",
            GIVEN(Tensor grad, Tensor input, Tensor grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                  Wanted wanted) {
                bool mask[2] = {wanted[0], wanted[1]};
                if (differentiates_again())
                    return grid_gradient_by_parts(grad, input, grid, interpolation_mode, padding_mode, align_corners, mask[0], mask[1]);
                return grid_sampler_3d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, Span<bool>(mask));
            }),
    });
    declare("grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, "
            "int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)")({
        doc("Gradients of the input and the grid"),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
               int64_t padding_mode, bool align_corners, Span<bool> output_mask) {
                return grid_gradient(call, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 3);
            },
            grid_sample_gradient),
        derivative(
            "grad_output, input, grid",
            GIVEN(TensorList grads) {
                (void)grads;
                fail(ErrorKind::NotImplemented, "derivative for aten::grid_sampler_3d_backward is not implemented");
                return std::tuple<Tensor, Tensor, Tensor>();
            }),
    });
    declare("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor")({
        doc("The points where an affine map reads its input: (N, 2, 3) and a size (N, C, H, W), or one dimension more"),
        in(space::Torch),
        composition([](const Tensor& theta, IntList size, bool align_corners) {
            KINDLING_CHECK(Runtime, size.size() == 4 || size.size() == 5,
                           "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
            int64_t dims = static_cast<int64_t>(size.size()) - 2, total = 1;
            KINDLING_CHECK(Runtime, theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == dims && theta.size(2) == dims + 1,
                           "affine_grid_generator: Expected a batch of %ldD affine matrices of shape %ldx%ldx%ld for size %s. Got %s.",
                           dims, size[0], dims, dims + 1, str(size).c_str(), str(theta.sizes()).c_str());
            Sizes space, result{size[0]};
            for (size_t d = 2; d < size.size(); d++) {
                space.push_back(size[d]);
                result.push_back(size[d]);
                total *= size[d];
            }
            result.push_back(dims);
            std::vector<Tensor> columns;
            for (int64_t d = dims; d-- > 0;) { // x, the last dimension, comes first
                Sizes along(static_cast<size_t>(dims), 1);
                along[static_cast<size_t>(d)] = -1;
                columns.push_back(expand(reshape(places(theta, space[static_cast<size_t>(d)], align_corners), along), space));
            }
            columns.push_back(ones(space, theta.dtype()));
            Tensor points = reshape(stack(columns, -1), {1, total, dims + 1});
            return reshape(matmul(points, transpose(theta, 1, 2)), result);
        }),
    });
}
