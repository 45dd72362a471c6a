// kernels/library/images/resample.h: interpolation to another size (upsample, interpolate) and at given points (grid_sample),
// with gradients.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

enum class Interpolation : uint8_t { Nearest, NearestExact, Linear, Cubic, LinearAntialias, CubicAntialias };

/// Contiguous [planes, in...] to [planes, out...] in one to three dimensions; Linear is linear, bilinear or trilinear.
/// float32, float64 and uint8; the latter in two dimensions by weights in whole numbers, rounded along each.
struct Resampling {
    DType dtype;
    Interpolation mode;
    int dims;
    int64_t planes;
    int64_t in[3], out[3];
    bool align_corners = false;
    double scale[3] = {0, 0, 0}; // the scale factors asked for (out over in); 0: from the sizes
};
void resample(const Resampling& r, const void* input, void* output);
/// Overwrites grad_input. float32 and float64.
void resample_gradient(const Resampling& r, const void* grad_output, void* grad_input);

enum class GridMode : uint8_t { Linear, Nearest, Cubic };
enum class GridPadding : uint8_t { Zeros, Border, Reflection };
/// Contiguous input [batch, channels, in...] sampled at grid [batch, out..., dims] (x first, from -1 to 1) into output
/// [batch, channels, out...]; 2 or 3 dimensions, float32 or float64, Cubic in 2 only.
struct GridSampling {
    DType dtype;
    GridMode mode;
    GridPadding padding;
    bool align_corners;
    int dims;
    int64_t batch, channels;
    int64_t in[3], out[3];
};
void grid_sample(const GridSampling& g, const void* input, const void* grid, void* output);
/// Either gradient may be null; both are overwritten.
void grid_sample_gradient(const GridSampling& g, const void* grad_output, const void* input, const void* grid, void* grad_input,
                          void* grad_grid);

} // namespace kindling::library
