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

/// The stages of a transform of n blocks. `twiddles` has for each, and each p < m, the factors exp(-2 pi i p k / (r m)) of
/// k = 1 to r - 1; `roots`, for odd r above 5: cosines and sines of 2 pi j k / r.
struct StageStep {
    int64_t radix, rest; // r and m
};
template <class R> struct StageList {
    int64_t n;
    const StageStep* steps;
    int count;
    const R *twiddles, *roots;
};
/// Memory that a row writes and that the next row reads, prefetched a few lines at a time between the steps of the row: a
/// row is a page or two, at whose ends the hardware prefetcher stops. All lines at once would occupy the buffers that the
/// row's own loads need, and its arithmetic would wait for them. For one thread: rows so short are not shared out.
class Ahead {
public:
    Ahead() = default;
    Ahead(const void* written, int64_t written_bytes, const void* read, int64_t read_bytes, int64_t times)
        : written_(static_cast<const char*>(written)), read_(static_cast<const char*>(read)), written_end_(written_ + written_bytes),
          read_end_(read_ + read_bytes), share_(((written_bytes > read_bytes ? written_bytes : read_bytes) / times / 512 + 1) * 512) {}
    [[gnu::always_inline]] void some() {
        fetch<1>(written_, written_end_, share_);
        fetch<0>(read_, read_end_, share_);
    }

private:
    template <int write> [[gnu::always_inline]] static void fetch(const char*& from, const char* end, int64_t share) {
        const char* at = from;
        for (end = from = end < at + share ? end : at + share; at < end; at += 512)
#pragma GCC unroll 8
            for (int64_t line = 0; line < 512; line += 64) __builtin_prefetch(at + line, write, 2);
    }
    const char *written_ = nullptr, *read_ = nullptr, *written_end_ = nullptr, *read_end_ = nullptr;
    int64_t share_ = 0;
};

/// Numbers of a row that lie in as many floats or doubles as a block has lanes.
template <class R> constexpr int64_t tile = lanes<R> / 2;

/// Pairs in arrays outside that the first stage reads in place of x, or that the last one writes, if any. Without rows: a register's
/// worth from each `step` numbers, only where the loops take pairs. Or rows that are so many numbers apart, one for each lane:
/// transposed by tiles just before the stage or after it, in the first cache.
template <class R> struct Outside {
    const R* in = nullptr;
    R* out = nullptr;
    int64_t step = 0;
    R scale = 1; // of results that are written there
    int64_t in_row = 0, out_row = 0;
    R* tiles = nullptr;     // memory for as many as the radix of the stage
    Ahead* ahead = nullptr; // what is looked for between the tiles
};
/// One sequence as a matrix: `first` transforms its columns, `second` its rows. Between them is a factor for each number:
/// `between` has them all, arranged; or those of the first columns as they are, and `outer` what those of each group are times these.
template <class R> struct Matrix {
    StageList<R> first, second;
    int64_t pitch; // blocks of a group of rows
    int64_t spare; // floats or doubles of a group of columns; there is working memory for two, or for one of rows
    const R *between, *outer;
};

template <class R> struct FourierLoops {
    /// Stockham's algorithm. Each stage makes of transforms of r * m blocks, s of them interleaved, r times as many of m
    /// blocks. Overwrites x and y; returns in which of them the result is. `back` exchanges real and imaginary parts, which
    /// gives the inverse transform.
    R* (*stages)(const StageList<R>& list, R* x, R* y, bool back, const Outside<R>& outside);
    /// Copies `count` <= lanes contiguous complex numbers of each of `rows` rows to blocks, and back. Lanes behind
    /// `count` are 0.
    void (*load)(const R* from, int64_t row, int64_t rows, int64_t count, R* x);
    void (*store)(const R* x, int64_t rows, int64_t count, R* to, int64_t row, R scale);
    /// Puts the factors of `rows` blocks, a multiple of `lanes`, into the order that transposes read them in, times outer[2 k],
    /// outer[2 k + 1] if that is not null.
    void (*arrange)(const R* w, const R* outer, R* to, int64_t rows);
    /// Transforms a group of columns, a lane for each, and puts what it gives, transposed, into the middle. The columns are in blocks
    /// at x, or pairs at `in` (Outside).
    void (*column)(const Matrix<R>& m, int64_t c, R* x, R* spare, R* middle, bool back, const R* in);
    /// The same for groups begin to end of a sequence, and the rest of the transform for groups of rows. `ahead` may be null.
    void (*columns)(const Matrix<R>& m, int64_t begin, int64_t end, const R* in, R* middle, R* room, bool back, Ahead* ahead);
    void (*rows)(const Matrix<R>& m, int64_t begin, int64_t end, R* middle, R* out, R scale, R* room, bool back, Ahead* ahead);
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
    bool takes_pairs; // whether stages read and write rows outside, where lanes are filled
};
struct FourierSteps {
    FourierLoops<float> in_float;
    FourierLoops<double> in_double;
};

namespace isa_baseline { extern const FourierSteps fourier_steps; }
namespace isa_avx2 { extern const FourierSteps fourier_steps; }
namespace isa_avx512 { extern const FourierSteps fourier_steps; }

} // namespace kindling::library
