// kernels/library/fft/fft.h: Fourier transforms along one dimension, of any length.
//
// Arrays are contiguous and have the shape [outer, n, inner]; the transform is along n. A transform over several
// dimensions is one after the other. `real` is Float32 or Float64, the type of the numbers; complex arrays hold pairs
// of them.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

struct Fourier {
    DType real;
    int64_t outer, n, inner;
    bool forward; // exp(-2 pi i j k / n); else with plus
    double scale; // multiplies the result
};

/// Complex to complex; `out` may be `in`.
void fft_complex(const Fourier& f, const void* in, void* out);
/// Real [outer, n, inner] to the first n / 2 + 1 values of the complex transform.
void fft_from_real(const Fourier& f, const void* in, void* out);
/// n / 2 + 1 complex values, of a transform with conjugate symmetry, to [outer, n, inner] real ones. Imaginary parts
/// that symmetry makes zero are taken as zero.
void fft_to_real(const Fourier& f, const void* in, void* out);

} // namespace kindling::library
