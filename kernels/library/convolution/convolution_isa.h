// kernels/library/convolution/convolution_isa.h: the inner loops of convolutions that unroll no input, built once for each
// instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Copies rows of planes.
struct PlaneRows {
    int64_t planes, rows;
    int64_t to_plane, to_row, from_plane, from_row; // steps
    /// Zeros may be written behind each row but the last, up to the end of a register: later rows overwrite them.
    bool loose = false;
};

template <class T> struct RowSteps {
    void (*copy)(const PlaneRows& p, int64_t count, T* to, const T* from);
    /// The elements of a row go to two destinations in turns, as stride 2 needs it: each is read once.
    void (*split)(const PlaneRows& p, int64_t evens, int64_t odds, T* even, T* odd, const T* from);
    /// to[p * stride] += from[p] in the rows of one plane.
    void (*add)(const PlaneRows& p, int64_t count, int64_t stride, T* to, const T* from);
    /// True if all values are finite.
    bool (*finite)(const T* values, int64_t count);
};

/// One plane of a depthwise convolution, laid out as in convolution_layout.h. For the output in row y and column z, tap
/// order[t] reads offsets[t] + y * pitch + z. `rows` and `columns` are those of the output. `most_rows` more rows
/// follow the plane.
struct DepthwisePlane {
    int64_t taps;
    const int64_t *offsets, *order;
    int64_t rows, columns, pitch;
    static constexpr int64_t most_rows = 8;
    /// How many registers hold the lanes of a sum. If it is one, there are 32 registers.
    template <int parts> static constexpr int rows_at_once = parts == 1 ? 8 : 6;
};

template <class T> struct DepthwiseSteps {
    /// out = bias + the sum over taps of weight * plane.
    void (*forward)(const DepthwisePlane& p, const T* plane, const T* weight, T bias, T* out);
    /// plane += weight * grad, for each tap at the positions that it reads.
    void (*scatter)(const DepthwisePlane& p, const T* grad, const T* weight, T* plane);
    /// grad_weight += for each tap the sum of grad * plane. grad's rows are padded with zeros to `grad_pitch`, a
    /// multiple of 64 bytes.
    void (*weight)(const DepthwisePlane& p, const T* plane, const T* grad, int64_t grad_pitch, T* grad_weight);
};

/// The same without a copy of the plane, register by register over all rows. What a tap would read outside the plane is
/// masked. For output j, tap t reads from[offsets[t] + j] if bit j % 64 of masks[j / 64 * taps + t] is set.
struct MaskedPlane {
    int64_t taps, places;
    const int64_t* offsets;
    const uint64_t* masks;
};

struct ConvolutionSamples {
    int64_t count, grad_step, from_step; // from one sample to the next
};

/// Null if the instruction set has no masks.
struct MaskedSteps {
    /// out = bias + the sum over taps of weight * from.
    void (*forward)(const MaskedPlane& p, const float* from, const float* weight, float bias, float* out);
    /// grad_weight += for each tap the sum of grad * from over positions and samples.
    void (*weight)(const MaskedPlane& p, const ConvolutionSamples& samples, const float* from, const float* grad, float* grad_weight);
    /// The reverse of RowSteps::split, for one plane.
    void (*merge)(const PlaneRows& p, int64_t evens, int64_t odds, float* to, const float* even, const float* odd);
};

struct ConvolutionTile {
    int rows;                   // channels of the output in one direct step: once, twice or three times these
    int columns;                // positions of the output
    int products, product_taps; // of a weight gradient: channels of the output, taps
};

/// Among the positions of a tile, consecutive ones that are outputs.
struct PositionRun {
    int64_t from, count; // in the tile
    int64_t place;       // in the output, of the first channel
};

/// A direct step with the parts of channels and positions exchanged, for narrow images: as many channels of the output as a tile
/// has columns are side by side in registers, and positions are broadcast, `runs` runs of `length` that lie anywhere.
template <class T> struct DirectRuns {
    int length, runs;
    /// sums[i * columns + channel] = bias[channel] + the sum over p < k of a[p][channel] * from[starts[i / length] + i % length +
    /// offsets[p]]. Without bias it goes on from the sums.
    void (*add)(int64_t k, const T* a, const T* from, const int64_t* starts, const int64_t* offsets, const T* bias, T* sums);
};

template <class T> struct DirectSteps {
    ConvolutionTile tile;
    /// to[row * to_step + column] = bias[row] + the sum over p < k of a[p][row] * from[offsets[p] + column], where the second half of
    /// the columns begins at `from + second`. Without bias it goes on from the sums `before`, whose rows are `tile.columns` apart.
    void (*rows[3])(int64_t k, const T* a, const T* from, int64_t second, const int64_t* offsets, const T* bias, const T* before, T* to,
                    int64_t to_step);
    /// sums[channel][tap] = the sum over p < count, and over the samples, of grad[channel * grad_step + p] *
    /// from[offsets[tap] + p]; count is a multiple of 64 bytes.
    void (*products)(const ConvolutionSamples& samples, int64_t count, const T* grad, int64_t grad_step, const T* from,
                     const int64_t* offsets, T* sums);
    /// Copies `count` numbers of each of `rows` rows of sums.
    void (*put)(int64_t rows, int64_t count, const T* sums, T* to, int64_t to_step);
    /// to[p * to_stride + r] = from[r * from_stride + p] for r < rows, p < k.
    void (*turn)(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t k);
    DirectRuns<T> runs[2]; // null where a register holds few channels
};

struct ConvolutionSteps {
    RowSteps<float> rows_float;
    RowSteps<double> rows_double;
    DirectSteps<float> direct_float;
    DirectSteps<double> direct_double;
    DepthwiseSteps<float> depthwise_float;
    DepthwiseSteps<double> depthwise_double;
    MaskedSteps masked;
};

namespace isa_baseline { extern const ConvolutionSteps convolution_steps; }
namespace isa_avx2 { extern const ConvolutionSteps convolution_steps; }
namespace isa_avx512 { extern const ConvolutionSteps convolution_steps; }

} // namespace kindling::library
