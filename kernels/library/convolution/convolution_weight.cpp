// kernels/library/convolution/convolution_weight.cpp: the weight's gradient as a matrix product over the positions of the output.
// Its operands are the output's gradient and the padded input, both with channels contiguous for each position. A tap
// reads all positions at its own offset: nothing is unrolled, and nothing is computed between rows. Along a row of the
// kernel the inputs of the taps are contiguous, so that even few channels fill registers.
// Compiled for size.
#include <algorithm>

#include "kernels/library/convolution/convolution_layout.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

/// What is copied at once: some samples, or some rows of one sample. It depends on the shape alone, because the order
/// of summation does.
struct Pieces {
    int64_t out[2];         // rows of the output in the two outer dimensions, per piece
    int64_t rows[2], width; // of the copy of the input
    int64_t bands, at_once; // pieces of a sample, pieces of a copy

    explicit Pieces(const Shape& s) : out{s.out[0], s.out[1]}, width(reach(s, 2, s.out[2])) {
        constexpr int64_t room = 1 << 20; // elements
        for (;;) {
            for (int d = 0; d < 2; ++d) rows[d] = reach(s, d, out[d]);
            const int64_t size = s.groups * (s.in_channels * rows[0] * rows[1] * width + s.out_channels * places(s));
            int64_t& cut = out[out[0] > 1 ? 0 : 1];
            if (size <= room || cut == 1) {
                bands = count(s, 0) * count(s, 1);
                at_once = bands > 1 ? 1 : std::clamp<int64_t>(room / size, 1, s.batch);
                return;
            }
            cut = (cut + 1) / 2;
        }
    }
    static int64_t reach(const Shape& s, int d, int64_t places) {
        return (places - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] + 1;
    }
    int64_t count(const Shape& s, int d) const { return (s.out[d] + out[d] - 1) / out[d]; }
    int64_t places(const Shape& s) const { return out[0] * out[1] * s.out[2]; }
};

/// One piece: the sample, the first row in each of the outer dimensions, and how many there are.
struct Piece {
    int64_t sample, first[2], out[2];
    Piece(const Shape& s, const Pieces& p, int64_t index) : sample(index / p.bands) {
        const int64_t across = p.count(s, 1), band[2] = {index % p.bands / across, index % across};
        for (int d = 0; d < 2; ++d) {
            first[d] = band[d] * p.out[d];
            out[d] = std::min(p.out[d], s.out[d] - first[d]);
        }
    }
};

struct WeightGradient {
    const Shape& s;
    const DirectSteps<float>& steps = convolution_steps().direct_float;
    const int64_t unit = steps.tile.rows, lanes = steps.tile.columns;
    // The input's channels are in panels, the output's in blocks of up to three units.
    const int64_t panels = (s.in_channels + lanes - 1) / lanes, width = (s.in_channels + panels - 1) / panels;
    const int64_t units = (s.out_channels + unit - 1) / unit, blocks = (units + 2) / 3;
    // A run is a sequence of taps whose inputs for one position are contiguous.
    const int64_t in_run = s.dilation[2] == 1 && s.in_channels % lanes ? s.kernel[2] : 1, runs = s.taps / in_run;
    const int64_t tiles = (in_run * width + lanes - 1) / lanes;
    const Pieces pieces{s};
    const int64_t places = pieces.places(s), piece_size = pieces.rows[0] * pieces.rows[1] * pieces.width * width;
    const int64_t panel_size = pieces.at_once * piece_size + lanes; // whole registers are read

    explicit WeightGradient(const Shape& shape) : s(shape) {}
    /// The share of what is computed that is needed.
    double share() const {
        return static_cast<double>(s.in_channels * in_run * s.out_channels) / static_cast<double>(panels * tiles * lanes * units * unit);
    }
    int64_t channel_of(int64_t block) const { return units * block / blocks * unit; }
    int64_t rows_of(int64_t block) const { return channel_of(block + 1) - channel_of(block); }

    /// Position p of a copy reads at offsets[p] for the first tap.
    void set_offsets(int64_t* offsets) const {
        for (int64_t n = 0; n < pieces.at_once; ++n)
            for (int64_t x = 0; x < pieces.out[0]; ++x)
                for (int64_t y = 0; y < pieces.out[1]; ++y)
                    for (int64_t z = 0; z < s.out[2]; ++z)
                        *offsets++ = n * piece_size + at(x * s.stride[0], y * s.stride[1], z * s.stride[2]);
    }
    int64_t at(int64_t x, int64_t y, int64_t z) const { return ((x * pieces.rows[1] + y) * pieces.width + z) * width; }
    int64_t offset_of(int64_t run) const {
        const int64_t tap = run * in_run, z = tap % s.kernel[2], y = tap / s.kernel[2] % s.kernel[1];
        return at(tap / (s.kernel[2] * s.kernel[1]) * s.dilation[0], y * s.dilation[1], z * s.dilation[2]);
    }

    /// `turned` has room for the rows of one plane.
    void copy_input(const Piece& piece, const float* input, int64_t channels, float* turned, float* to) const {
        const int64_t row = pieces.width * width, left = std::min(s.padding[2], pieces.width);
        const int64_t right = std::max(std::min(pieces.width, s.in[2] + s.padding[2]), left);
        int64_t begin[2], end[2]; // rows inside the input
        const int64_t top[2] = {piece.first[0] * s.stride[0] - s.padding[0], piece.first[1] * s.stride[1] - s.padding[1]};
        for (int d = 0; d < 2; ++d) {
            const int64_t rows = Pieces::reach(s, d, piece.out[d]);
            begin[d] = std::clamp<int64_t>(-top[d], 0, rows);
            end[d] = std::clamp(s.in[d] - top[d], begin[d], rows);
        }
        for (int64_t x = 0; x < pieces.rows[0]; ++x, to += pieces.rows[1] * row) {
            const bool inside = x >= begin[0] && x < end[0] && begin[1] < end[1] && left < right;
            if (!inside || channels < width) clear(to, pieces.rows[1] * row);
            if (!inside) continue;
            clear(to, begin[1] * row);
            clear(to + end[1] * row, (pieces.rows[1] - end[1]) * row);
            const float* from = input + ((top[0] + x) * s.in[1] + top[1] + begin[1]) * s.in[2];
            float* line = to + begin[1] * row;
            const int64_t rows = end[1] - begin[1], first = left - s.padding[2], there = right - left;
            const bool together = there < 16 || there == pieces.width; // short rows are transposed with the next ones
            if (together)
                steps.turn(there == s.in[2] && there == pieces.width ? line : turned, width, from, s.in_space, channels, rows * s.in[2]);
            if (there == s.in[2] && there == pieces.width) continue;
            for (int64_t y = 0; y < rows; ++y, line += row, from += s.in[2]) {
                clear(line, left * width);
                clear(line + right * width, (pieces.width - right) * width);
                if (together) copy_row(line + left * width, turned + (y * s.in[2] + first) * width, there * width);
                else if (ConvolutionLayout::used((begin[1] + y) % s.stride[1], s.kernel[1], s.dilation[1], s.stride[1]))
                    steps.turn(line + left * width, width, from + first, s.in_space, channels, there);
            }
        }
    }
    void copy_gradient(const Piece& piece, const float* grad, int64_t block, float* to) const {
        const int64_t rows = rows_of(block), channel = channel_of(block), channels = std::min(rows, s.out_channels - channel);
        const int64_t count = piece.out[0] * piece.out[1] * s.out[2];
        if (channels < rows) clear(to, count * rows);
        steps.turn(to, rows, grad + channel * s.out_space + (piece.first[0] * s.out[1] + piece.first[1]) * s.out[2], s.out_space, channels,
                   count);
    }
};

/// What a task computes: some blocks and runs for one panel.
struct Part {
    int64_t group, panel, block, block_end, run, run_end;
};

void add_part(const WeightGradient& w, const Part& part, int64_t count, const float* x, const float* g, int64_t g_places,
              const int64_t* offsets, bool first, float* grad_weight) {
    const Shape& s = w.s;
    constexpr int64_t at_once = 192; // positions that stay in the first cache
    const int64_t runs = part.run_end - part.run, taps = runs * w.in_run, tile = 3 * w.unit * w.lanes;
    const int64_t channel = part.panel * w.width, channels = std::min(w.width, s.in_channels - channel);
    const int64_t blocks = part.block_end - part.block;
    Scratch<float> sums(blocks * runs * w.tiles * tile), line(taps * w.width + w.lanes), turned(taps * w.width);
    const float zeros[16] = {};
    for (int64_t p = 0; p < count; p += at_once) {
        float* to = sums.data;
        for (int64_t block = part.block; block < part.block_end; ++block)
            for (int64_t run = part.run; run < part.run_end; ++run)
                for (int64_t t = 0; t < w.tiles; ++t, to += tile)
                    w.steps.rows[w.rows_of(block) / w.unit - 1](
                        std::min(at_once, count - p), g + g_places * w.channel_of(block) + p * w.rows_of(block),
                        x + w.offset_of(run) + t * w.lanes, w.lanes / 2, offsets + p, p ? nullptr : zeros, to, to, w.lanes);
    }
    for (int64_t b = 0; b < blocks; ++b) {
        const int64_t o = w.channel_of(part.block + b), rows = std::min(w.rows_of(part.block + b), s.out_channels - o);
        for (int64_t r = 0; r < rows; ++r) {
            // The sums of a channel of the output: [run][tap][channel of the panel], copied to contiguous taps per
            // channel.
            const float* from = sums.data + b * runs * w.tiles * tile + r * w.lanes;
            int64_t step = tile;
            if (w.in_run > 1 || w.tiles > 1) {
                const float* part = from;
                for (int64_t run = 0; run < runs; ++run)
                    for (int64_t t = 0; t < w.tiles; ++t, part += tile)
                        copy_row(line.data + run * w.in_run * w.width + t * w.lanes, part,
                                 std::min(w.lanes, w.in_run * w.width - t * w.lanes));
                from = line.data, step = w.width;
            }
            float* to = grad_weight + ((part.group * s.out_channels + o + r) * s.in_channels + channel) * s.taps + part.run * w.in_run;
            if (taps > 1) {
                float* there = first ? to : turned.data;
                w.steps.turn(there, first ? s.taps : taps, from, step, taps, channels);
                from = there;
            }
            if (from == to) continue;
            // If all taps are there, one line.
            const int64_t count = taps == s.taps ? channels * taps : taps;
            for (int64_t c = 0; c < channels * taps; c += count, to += s.taps, from += count)
                if (first) copy_row(to, from, count);
                else
                    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
        }
    }
}

} // namespace

bool run_weight(const Shape& s, const float* input, const float* grad_output, float* grad_weight) {
    WeightGradient w(s);
    // Few positions do not pay for a copy if the product can read them as they are.
    if (s.direct && s.batch * s.out_space < 64) return false;
    if (w.share() < (s.out[0] * s.kernel[0] > 1 ? 0.5 : 0.7)) return false;
    const Pieces& pieces = w.pieces;
    const int64_t all = s.batch * pieces.bands, most = pieces.at_once * w.places;
    Scratch<float> copied(s.groups * w.panels * w.panel_size), grads(s.groups * w.units * w.unit * most);
    Scratch<int64_t> offsets(most);
    w.set_offsets(offsets.data);
    auto grads_of = [&](int64_t group) { return grads.data + group * w.units * w.unit * most; };

    // Tasks are as large as they can be with one for each thread, and some to spare.
    const int64_t threads = num_threads(), wanted = threads == 1 ? 1 : 3 * threads, columns = s.groups * w.panels;
    constexpr int64_t most_tiles = 36; // their sums leave room in the second cache
    int64_t some = std::min(std::clamp<int64_t>(most_tiles / (w.runs * w.tiles), 1, 16), w.blocks);
    while (some > 1 && columns * ((w.blocks + some - 1) / some) < wanted) --some;
    const int64_t ranges = (w.blocks + some - 1) / some;
    const int64_t parts = std::min(w.runs, (wanted + columns * ranges - 1) / (columns * ranges));

    for (int64_t start = 0; start < all; start += pieces.at_once) {
        const int64_t count = std::min(pieces.at_once, all - start), each = w.panels + w.blocks;
        parallel_for(0, count * s.groups * each, 1, [&](int64_t begin, int64_t end) {
            Scratch<float> turned(s.in[1] * s.in[2] * w.width);
            for (int64_t task = begin; task < end; ++task) {
                const int64_t n = task / each / s.groups, group = task / each % s.groups, which = task % each;
                const Piece piece(s, pieces, start + n);
                const int64_t image = piece.sample * s.groups + group;
                if (which < w.panels) {
                    const int64_t channel = which * w.width;
                    w.copy_input(piece, input + (image * s.in_channels + channel) * s.in_space, std::min(w.width, s.in_channels - channel),
                                 turned.data, copied.data + (group * w.panels + which) * w.panel_size + n * w.piece_size);
                } else {
                    const int64_t block = which - w.panels;
                    w.copy_gradient(piece, grad_output + image * s.out_channels * s.out_space, block,
                                    grads_of(group) + most * w.channel_of(block) + n * w.places * w.rows_of(block));
                }
            }
        });
        const Piece last(s, pieces, start + count - 1);
        const int64_t places = (count - 1) * w.places + last.out[0] * last.out[1] * s.out[2];
        parallel_for(0, columns * ranges * parts, 1, [&](int64_t begin, int64_t end) {
            for (int64_t task = begin; task < end; ++task) {
                hear_signals();
                const int64_t part = task % parts, range = task / parts % ranges, column = task / parts / ranges;
                const int64_t group = column / w.panels, block = range * some;
                add_part(
                    w,
                    {group, column % w.panels, block, std::min(block + some, w.blocks), w.runs * part / parts, w.runs * (part + 1) / parts},
                    places, copied.data + column * w.panel_size, grads_of(group), most, offsets.data, start == 0, grad_weight);
            }
        });
    }
    return true;
}

} // namespace kindling::library
