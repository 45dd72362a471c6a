// kernels/library/fft/fft_isa.h: the loops of Fourier transforms, built once for each instruction set.
//
// A transform works on `lanes` independent numbers at once. Its working memory is an array of blocks: `lanes` real
// parts, then as many imaginary parts. The number of lanes is the same for every instruction set, so the results are
// too.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Lanes of a block: a cache line of real parts.
template <class R> constexpr int64_t lanes = 64 / static_cast<int64_t>(sizeof(R));
/// Numbers in a block.
template <class R> constexpr int64_t block = 2 * lanes<R>;

/// Largest prime factor of a length that has stages; others go through Bluestein's convolution.
constexpr int largest_radix = 61;

template <class R> struct FourierLoops {
    /// One stage of Stockham's algorithm: transforms of r * m blocks, s of them interleaved, become r times as many of
    /// m blocks. `w` has, for each p < m, the factors exp(-2 pi i p k / (r m)) of k = 1 to r - 1. `roots`, for odd r
    /// above 5: cosines and sines of 2 pi j k / r. `back` exchanges real and imaginary parts, which gives the inverse
    /// transform.
    void (*stage)(int r, int64_t m, int64_t s, const R* x, R* y, const R* w, const R* roots, bool back);
    /// Copies `count` <= lanes contiguous complex numbers of each of `rows` rows to blocks, and back. Lanes behind
    /// `count` are 0.
    void (*load)(const R* from, int64_t row, int64_t rows, int64_t count, R* x);
    void (*store)(const R* x, int64_t rows, int64_t count, R* to, int64_t row, R scale);
    /// x[k] (k < rows, one lane for each j < columns) times w[k], transposed: y[k / lanes * row + j] has lanes k %
    /// lanes. `row` is in blocks, a multiple of `lanes`. With `outer` the factors are outer[2 k], outer[2 k + 1] times
    /// w[k].
    void (*transpose)(const R* x, int64_t rows, int64_t columns, const R* w, const R* outer, R* y, int64_t row, bool back);
    /// From transforms of pairs of reals (even ones real, odd ones imaginary) to those of 2 n reals, and back: n + 1
    /// values for n. `w` holds exp(-pi i k / n) of k = 0 to n / 2, real parts first. Results are multiplied by `scale`,
    /// their imaginary parts by `sign` as well. For one sequence of complex numbers, x and y with room for n + 1, or
    /// for blocks.
    void (*untangle)(R* x, R* y, int64_t n, const R* w, R scale, R sign);
    void (*untangle_blocks)(R* x, int64_t n, const R* w, R scale, R sign);
    void (*entangle)(const R* x, R* y, int64_t n, const R* w, R sign);
    void (*entangle_blocks)(R* x, int64_t n, const R* w, R sign);
    /// to[i] = a[i] * b[i], complex; conjugated where asked.
    void (*multiply)(R* to, const R* a, const R* b, int64_t count, bool conjugate);
    /// Multiplies `count` blocks by as many others, by a complex number for each block (conjugated if `back`), or by a number.
    void (*multiply_blocks)(R* x, const R* w, int64_t count);
    void (*turn_blocks)(R* x, const R* w, int64_t count, bool back);
    void (*scale)(R* x, int64_t count, R by);
};
struct FourierSteps {
    FourierLoops<float> in_float;
    FourierLoops<double> in_double;
};

namespace isa_baseline { extern const FourierSteps fourier_steps; }
namespace isa_avx2 { extern const FourierSteps fourier_steps; }
namespace isa_avx512 { extern const FourierSteps fourier_steps; }

} // namespace kindling::library
