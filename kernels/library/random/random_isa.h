// kernels/library/random/random_isa.h: the vectorised steps of the random fills, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

struct RandomSteps {
    /// Turns `blocks` blocks of 16 uniform numbers in [0, 1) into normal ones, in place: the first eight of a block
    /// give the radii, the last eight the angles.
    void (*normal_blocks)(float* data, int64_t blocks, float mean, float deviation);
    /// data = data * scale + offset, rounded once.
    void (*affine_float)(float* data, int64_t count, float scale, float offset);
    void (*affine_double)(double* data, int64_t count, double scale, double offset);
};

namespace isa_baseline { extern const RandomSteps random_steps; }
namespace isa_avx2 { extern const RandomSteps random_steps; }
namespace isa_avx512 { extern const RandomSteps random_steps; }

} // namespace kindling::library
