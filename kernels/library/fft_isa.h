// kernels/library/fft_isa.h: one stage of a Fourier transform, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Arrays of s * n numbers, s of them side by side.
template <class R>
struct Split {
    R* re;
    R* im;
};

/// A stage of radix r takes transforms of length n = r * m, s of them interleaved, to r times as many of length m. `w`
/// holds for each p < m the factors exp(-2 pi i p k / n) of k = 1 to r - 1.
template <class R>
struct FourierStages {
    void (*two)(int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w);
    void (*three)(int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w);
    void (*four)(int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w);
    /// Any radix, by its definition; `roots` is the r by r matrix.
    void (*any)(int r, int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w, const R* roots);
    /// Of transforms of pairs of reals (even ones real, odd ones imaginary) to the transforms of 2 * length reals: y has
    /// length + 1 values. `w` holds exp(-pi i k / length) of k = 0 to length / 2.
    void (*untangle)(int64_t length, int64_t s, Split<const R> x, Split<R> y, const R* w);
};
struct FourierSteps {
    FourierStages<float> in_float;
    FourierStages<double> in_double;
};

namespace isa_baseline {
extern const FourierSteps fourier_steps;
}
namespace isa_avx2 {
extern const FourierSteps fourier_steps;
}
namespace isa_avx512 {
extern const FourierSteps fourier_steps;
}

} // namespace kindling::library
