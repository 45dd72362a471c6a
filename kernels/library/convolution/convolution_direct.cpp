// kernels/library/convolution/convolution_direct.cpp: convolution without an unrolled input. The input is copied once, with its
// padding, rows and columns sorted by their phase in the stride. Each tap then reads the inputs of a run of outputs
// contiguously, at a fixed offset. Rows that are a whole number of registers are read register by register. Runs over others
// continue over the ends of rows: the few positions between two rows are computed too, and dropped. Small images lie side by
// side, so that runs continue from one to the next.
// Compiled for size.
#include <algorithm>
#include <limits>

#include "kernels/library/convolution/convolution_layout.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

/// True if this file is for the shape: not if most of what it would compute is between the rows.
bool fits(const Shape& s) {
    if (s.direct || s.in[0] != 1 || s.kernel[0] != 1 || s.out[0] != 1 || s.padding[0] != 0) return false;
    if (s.in_channels * s.out_channels < 4 || s.batch * s.out_space < 8 || s.stride[1] > 8 || s.stride[2] > 8) return false;
    const int64_t columns = ConvolutionLayout::columns_of(s), between = columns - ConvolutionLayout::shared(s, columns) - s.out[2];
    return s.out[1] == 1 || between <= s.out[2];
}

/// In three dimensions each plane of the output is an image of its own, and the input planes that the kernel reads are
/// channels of it.
struct Depth {
    int64_t in, out, kernel, stride, padding, dilation;
    explicit Depth(const Shape& s)
        : in(s.in[0]), out(s.out[0]), kernel(s.kernel[0]), stride(s.stride[0]), padding(s.padding[0]), dilation(s.dilation[0]) {}
    static Shape planes(Shape s) {
        s.batch *= s.out[0], s.in_channels *= s.kernel[0];
        s.in_space /= std::max<int64_t>(s.in[0], 1), s.out_space /= std::max<int64_t>(s.out[0], 1), s.taps /= s.kernel[0];
        s.in[0] = s.out[0] = s.kernel[0] = s.stride[0] = s.dilation[0] = 1, s.padding[0] = 0;
        return s;
    }
};

/// Layout of weights: those of output channel o and input channel i begin at o * row + i * channel, with consecutive
/// taps.
struct Weights {
    int64_t group, row, channel;
    bool turned; // flipped: the last tap reads the first position
};

/// A convolution tile by tile: some channels of the output times some positions.
template <class T> struct Direct {
    const Depth depth;
    const Shape s;
    const T* weight;
    const Weights& lie;
    const T* bias;
    const DirectSteps<T>& steps = direct_steps<T>();
    static constexpr int64_t room = 96 << 10;   // elements of a copy
    static constexpr int64_t most_abreast = 16; // images side by side
    /// Products in the time it takes to copy an element, to read a weight, to transpose a result.
    static constexpr double copied_cost = 64, read_cost = 8, turned_cost = 12;
    const int64_t k = s.in_channels * s.taps, unit = steps.tile.rows, columns = steps.tile.columns;
    int64_t abreast = 1; // images side by side
    ConvolutionLayout layout{s, s.in_channels, room};
    Scratch<int64_t> offsets{k};
    int64_t size = 0;                      // of the copy of a block of images, including what whole registers read behind it
    int64_t padded = 0;                    // channels of all tiles
    int64_t deep = k;                      // channels of the input times taps that are summed at once
    bool once = false;                     // the copies of all images stay in the second cache, and the weights are read once
    const DirectRuns<T>* narrow = nullptr; // channels are side by side in registers, not positions

    Direct(const Shape& shape, const T* from, const Weights& where, const T* add)
        : depth(shape), s(Depth::planes(shape)), weight(from), lie(where), bias(add) {
        while (padded < s.out_channels) padded += rows_at(padded);
        const int64_t read = s.kernel[1] * (columns * static_cast<int64_t>(sizeof(T)) + 64); // bytes of a channel for a tile
        const int64_t parts = (s.in_channels * read + (16 << 10) - 1) / (16 << 10);
        deep = (s.in_channels + parts - 1) / parts * s.taps;
        const int64_t most = std::clamp<int64_t>(2048 / s.out_space, 1, std::min<int64_t>(s.batch, most_abreast));
        double least = std::numeric_limits<double>::infinity();
        for (int64_t images = 1; images <= most; ++images) {
            const int64_t blocks = (s.batch + images - 1) / images;
            if ((s.batch + blocks - 1) / blocks != images) continue; // as many blocks with fewer images
            ConvolutionLayout some(s, s.in_channels, room, images);
            if (s.out[2] % (columns / 2) == 0) some.lanes = columns / 2;
            for (int64_t rows = some.most; rows > 0; --rows) {
                const int64_t bands = (s.out[1] + rows - 1) / rows;
                rows = (s.out[1] + bands - 1) / bands; // the fewest for so many bands
                some.set(s, rows);
                const bool fits = fits_once(some, blocks);
                if (const double cost = cost_of(some, blocks, fits); cost <= least) // of equals the smaller copy
                    least = cost, abreast = images, layout = some, once = fits;
            }
        }
        if constexpr (sizeof(T) == 4) choose_narrow(least); // a register holds few channels of doubles
        size = size_of(layout);
        for (int64_t p = 0; p < k; ++p) {
            const int64_t tap = p % s.taps;
            offsets[p] = layout.offset(s, p / s.taps, lie.turned ? s.taps - 1 - tap : tap);
        }
    }
    /// Between the rows of narrow images nothing is computed, if the positions of a tile need not be contiguous. Then there are no
    /// more positions than outputs, and the weights of a tile stay in the first cache for the positions of several images.
    [[gnu::noinline]] void choose_narrow(double least) {
        constexpr int64_t most = 256 << 10; // elements of a copy: half of the second cache of processors with registers for this
        const int64_t over = (s.out_channels + columns - 1) / columns * columns;
        const ConvolutionLayout one(s, s.in_channels, 2 * most);
        const int64_t images = std::clamp<int64_t>(most / size_of(one), 1, s.batch);
        const int64_t blocks = (s.batch + images - 1) / images, together = (s.batch + blocks - 1) / blocks;
        const ConvolutionLayout some(s, s.in_channels, 2 * most, together);
        if (some.out_rows != s.out[1] || size_of(some) > 2 * most) return;
        for (const DirectRuns<T>& runs : steps.runs) {
            if (!runs.add || s.out[2] < runs.length) continue;
            const double tiles = static_cast<double>(tiles_of(runs, together)) * runs.length * runs.runs;
            const double weights = blocks == 1 ? 0 : static_cast<double>(over * k) * read_cost;
            // Where images lie 4 KB apart, lines of their channels evict one another.
            const int64_t page = depth.out * s.out_space * static_cast<int64_t>(sizeof(T)) % 4096;
            const double turned =
                static_cast<double>(together * s.out_channels * s.out_space) * (page == 0 ? 4 * turned_cost : turned_cost);
            const double cost = narrow_cost(some, blocks, tiles * static_cast<double>(over * k) + turned, weights);
            if (cost < least) least = cost, narrow = &runs, layout = some, abreast = together, once = false;
        }
    }
    int64_t runs_of(const DirectRuns<T>& runs) const { return (s.out[2] + runs.length - 1) / runs.length; } // in a row of the output
    int64_t tiles_of(const DirectRuns<T>& runs, int64_t images) const {
        return (images * s.out[1] * runs_of(runs) + runs.runs - 1) / runs.runs;
    }
    double narrow_cost(const ConvolutionLayout& l, int64_t blocks, double products, double weights) const {
        const double block = products + copied_cost * static_cast<double>(s.in_channels * l.plane);
        return static_cast<double>(blocks * s.groups) * (block + weights) / static_cast<double>(num_threads());
    }
    /// The tiles of `columns` channels from o, for a block of images. `spots` has the first place of each run in the copy, then in
    /// the output.
    void narrow_tiles(const T* packed, const T* copied, int64_t o, int64_t tiles, int64_t count, const int64_t* spots, T* sums,
                      T* to) const {
        const int64_t length = narrow->length, runs = narrow->runs, step = depth.out * s.out_space;
        const int64_t there = std::min(columns, s.out_channels - o), size = length * runs * columns;
        const int64_t part = std::max<int64_t>((24 << 10) / static_cast<int64_t>(sizeof(T)) / columns / s.taps, 1) * s.taps;
        for (int64_t p = 0; p < k; p += part) {
            // The weights of the next part are prefetched meanwhile.
            const T* next = packed + columns + (p + part) * columns;
            const int64_t lines = p + part < k ? std::min(part, k - p - part) * columns * static_cast<int64_t>(sizeof(T)) / 64 : 0;
            for (int64_t tile = 0; tile < tiles; ++tile) {
                for (int64_t l = lines * tile / tiles; l < lines * (tile + 1) / tiles; ++l)
                    __builtin_prefetch(next + l * (64 / static_cast<int64_t>(sizeof(T))), 0, 2);
                narrow->add(std::min(part, k - p), packed + columns + p * columns, copied, spots + tile * runs, offsets.data + p,
                            p ? nullptr : packed, sums + tile * size);
            }
        }
        // Runs that follow each other in the output are transposed together: most are no multiple of a vector long.
        const int64_t* places = spots + tiles * runs;
        for (int64_t run = 0, joined = 1; run < count; run += joined, joined = 1) {
            while (run + joined < count && joined < 16 && places[run + joined] == places[run] + joined * length) joined++;
            steps.turn(to + o * step + places[run], step, sums + run * length * columns, columns, joined * length, there);
        }
    }
    int64_t size_of(const ConvolutionLayout& l) const { return s.in_channels * l.plane + columns + l.columns - l.cell; }
    /// True if there are many weights for few positions, and all positions fit at once.
    bool fits_once(const ConvolutionLayout& l, int64_t blocks) const {
        const int64_t copies = blocks * s.groups * size_of(l);
        return l.out_rows == s.out[1] && copies <= 192 << 10 && s.groups * padded * k > 2 * copies;
    }
    /// The cost of so many blocks of images, about, in products. Tiles are computed whole, and rows of the input are
    /// copied twice between bands. No sum depends on the choice.
    [[gnu::noinline]] double cost_of(const ConvolutionLayout& l, int64_t blocks, bool all_at_once) const {
        const int64_t rows = l.out_rows, whole = s.out[1] / rows, rest = s.out[1] % rows, bands = whole + (rest != 0);
        const int64_t below = (s.kernel[1] - 1) * s.dilation[1] / s.stride[1];
        auto products = [&](int64_t count) {
            return static_cast<double>((l.places(s, count) + columns - 1) / columns * columns * padded) * static_cast<double>(k);
        };
        const double copies =
            static_cast<double>((s.out[1] + bands * below) * l.pitch * s.in_channels * s.stride[1] * s.stride[2]) * copied_cost;
        const double weights = static_cast<double>(padded * k) * read_cost, images = static_cast<double>(blocks * s.groups);
        const double block = static_cast<double>(whole) * products(rows) + (rest ? products(rest) : 0) + copies, threads = num_threads();
        if (all_at_once) return (images * block + static_cast<double>(s.groups) * weights) / threads;
        // Threads get ranges of bands. Some thread has one more than the others, and not all begin at once.
        const double band = block / static_cast<double>(bands) + weights;
        const int64_t tasks = blocks * s.groups * bands, range = (tasks + num_threads() * ranges_each - 1) / (num_threads() * ranges_each);
        const double most = static_cast<double>(((tasks + range - 1) / range + num_threads() - 1) / num_threads() * range);
        return threads == 1 ? static_cast<double>(tasks) * band : (most + 0.5 * static_cast<double>(range)) * band;
    }
    /// Channels of the tile at o: three times the unit, except at the end.
    int64_t rows_at(int64_t o) const {
        const int64_t left = s.out_channels - o;
        return left > 4 * unit ? 3 * unit : left > 3 * unit ? 2 * unit : (left + unit - 1) / unit * unit;
    }
    /// What the tile at o reads, in its order: what is added to the channels, then all their weights tap by tap.
    int64_t packed_size(int64_t channels) const { return channels * (k + 1); }
    void pack(int64_t group, int64_t o, T* to) const {
        const int64_t rows = narrow ? columns : rows_at(o), there = std::min(rows, s.out_channels - o);
        const T* from = weight + group * lie.group + o * lie.row;
        for (int64_t r = 0; r < rows; ++r) *to++ = r < there && bias ? bias[group * s.out_channels + o + r] : T{0};
        if (there < rows) clear(to, rows * k);
        if (lie.channel == s.taps * depth.kernel) return steps.turn(to, rows, from, lie.row, there, k);
        const int64_t taps = s.taps * depth.kernel;
        for (int64_t i = 0; i < s.in_channels / depth.kernel; ++i)
            steps.turn(to + i * taps * rows, rows, from + i * lie.channel, lie.row, there, taps);
    }
    /// Copies what a block of images of one group reads for the rows from first_row.
    void copy(const T* input, int64_t group, int64_t image, int64_t images, int64_t first_row, T* copied) const {
        const int64_t channels = s.in_channels / depth.kernel, space = depth.in * s.in_space;
        for (int64_t n = 0; n < images; ++n)
            for (int64_t tap = 0; tap < depth.kernel; ++tap) {
                const int64_t turned = lie.turned ? depth.kernel - 1 - tap : tap;
                const int64_t plane = (image + n) % depth.out * depth.stride - depth.padding + turned * depth.dilation;
                T* to = copied + tap * layout.plane;
                const ChannelSteps steps = {space, depth.kernel * layout.plane};
                if (plane >= 0 && plane < depth.in)
                    fill_layout(s, layout, input + ((image + n) / depth.out * s.groups + group) * channels * space + plane * s.in_space,
                                channels, first_row, to, n, steps);
                else
                    for (int64_t c = 0; c < channels; ++c)
                        if (n == 0) clear(to + c * steps.to, layout.plane); // for all of them
                        else
                            for (int64_t row = 0; row < layout.plane; row += layout.pitch)
                                clear(to + c * steps.to + row + n * layout.cell, layout.cell);
            }
    }
    /// Where an image of a group begins in the output.
    int64_t place_of(int64_t group, int64_t image) const {
        return (image / depth.out * s.groups + group) * s.out_channels * depth.out * s.out_space + image % depth.out * s.out_space;
    }
    /// The sums of a tile of `some` channels over channels and taps [p, p + count), added to those before.
    void add(const T* packed, const T* copied, int64_t some, const int64_t* spots, int64_t p, int64_t count, const T* before, T* to,
             int64_t step) const {
        const int which = some == 3 * unit ? 2 : some == unit ? 0 : 1;
        steps.rows[which](count, packed + some + p * some, copied + spots[0], spots[1] - spots[0], offsets.data + p, p ? nullptr : packed,
                          before, to, step);
    }
    /// The last sums of a tile of `all` channels from o. A tile that is one run is written where it belongs, another by way of
    /// `sums`.
    void finish(const T* packed, const T* copied, int64_t o, int64_t all, const int64_t* spots, int64_t p, T* sums, const PositionRun* run,
                const PositionRun* end, T* to) const {
        const int64_t there = std::min(all, s.out_channels - o), step = depth.out * s.out_space;
        to += o * step;
        if (end - run == 1 && run->count == columns && there == all)
            return add(packed, copied, all, spots, p, k - p, sums, to + run->place, step);
        // The products only prefetch where they write themselves.
        for (const PositionRun* each = run; each < end; ++each)
            for (int64_t r = 0; r < there; ++r) {
                __builtin_prefetch(to + r * step + each->place, 1);
                __builtin_prefetch(to + r * step + each->place + each->count - 1, 1);
            }
        add(packed, copied, all, spots, p, k - p, sums, sums, columns);
        for (; run < end; ++run) steps.put(there, run->count, sums + run->from, to + run->place, step);
    }
    /// Sums of `tiles`, for so many channels of the output, wait here between parts of the sums.
    int64_t waiting_size(int64_t channels) const {
        return deep < k ? channels * ((layout.places(s, layout.out_rows) + columns - 1) / columns * columns) + 64 : 0;
    }
    /// The tiles of channels [o_begin, o_end) of the output, whose weights begin at `packed`. Only some channels of the
    /// input are summed at once: those of a tile then stay in the first cache, and their weights in the second.
    void tiles(const T* packed, const T* copied, int64_t o_begin, int64_t o_end, int64_t rows, int64_t group, int64_t first, int64_t images,
               T* to, T* waiting) const {
        alignas(64) T here[12 * 32 + 16]; // a register can be read at any position
        const int64_t places = layout.places(s, rows), channels = o_end - o_begin;
        int64_t places_of_images[most_abreast];
        for (int64_t n = 0; n < images; ++n) places_of_images[n] = place_of(group, first + n);
        const PositionRuns runs(s, layout, rows, images, columns, places_of_images);
        for (int64_t p = 0; p < k; p += deep) {
            const int64_t count = std::min(deep, k - p);
            const auto tile = [&](int64_t o, int64_t some, int64_t j, const int64_t* run) {
                T* sums = deep < k ? waiting + j * channels + (o - o_begin) * columns : here;
                const T* weights = packed + (o - o_begin) * (k + 1);
                const int64_t* spots = runs.spots.data + j / columns * 2;
                if (p + count == k) finish(weights, copied, o, some, spots, p, sums, runs.list.data + run[0], runs.list.data + run[1], to);
                else add(weights, copied, some, spots, p, count, sums, sums, columns);
            };
            // The inner loop is over the smaller of the weights and the positions, since that is read again and again.
            if (channels >= places) {
                for (int64_t o = o_begin, some; o < o_end; o += some) {
                    some = rows_at(o);
                    const int64_t* run = runs.begin.data;
                    for (int64_t j = 0; j < places; j += columns) tile(o, some, j, run++);
                }
                continue;
            }
            const int64_t most = std::max<int64_t>((160 << 10) / static_cast<int64_t>(sizeof(T)) / count, 1);
            for (int64_t begin = o_begin, end; begin < o_end; begin = end) {
                end = begin;
                do end += rows_at(end);
                while (end < o_end && end - begin < most);
                const int64_t* run = runs.begin.data;
                for (int64_t j = 0; j < places; j += columns, ++run)
                    for (int64_t o = begin, some; o < end; o += some) {
                        some = rows_at(o);
                        tile(o, some, j, run);
                    }
            }
        }
    }
};

/// By runs of positions. A task is some channels of a block of images, which it copies for itself.
template <class T> void run_narrow(const Direct<T>& d, const T* input, T* output) {
    const Shape& s = d.s;
    const DirectRuns<T>& shape = *d.narrow;
    const int64_t blocks = (s.batch + d.abreast - 1) / d.abreast * s.groups, parts = (s.out_channels + d.columns - 1) / d.columns;
    const bool once = blocks == s.groups; // then weights are packed where they are used
    const int64_t packed_size = d.packed_size(d.columns);
    Scratch<T> packed(once ? 0 : s.groups * parts * packed_size);
    parallel_for(0, once ? 0 : s.groups * parts, 1 + 65536 / (d.columns * d.k), [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) d.pack(part / parts, part % parts * d.columns, packed.data + part * packed_size);
    });
    const int64_t wanted = blocks >= 2 * num_threads() || num_threads() == 1 ? 1 : (2 * num_threads() + blocks - 1) / blocks;
    const int64_t each = (parts + wanted - 1) / wanted, pieces = (parts + each - 1) / each;
    parallel_for(0, blocks * pieces, 1, [&](int64_t begin, int64_t end) {
        const int64_t most = d.tiles_of(shape, d.abreast), positions = shape.length * shape.runs;
        Scratch<T> copied(d.size), sums(most * positions * d.columns), own(once ? packed_size : 0);
        Scratch<int64_t> spots(2 * most * shape.runs);
        clear(copied.data, d.size);
        for (int64_t task = begin; task < end; ++task) {
            const int64_t block = task / pieces, group = block % s.groups, first = block / s.groups * d.abreast;
            const int64_t images = std::min(d.abreast, s.batch - first), tiles = d.tiles_of(shape, images);
            int64_t run = 0;
            for (int64_t n = 0; n < images; ++n)
                for (int64_t y = 0; y < s.out[1]; ++y)
                    for (int64_t r = 0; r < d.runs_of(shape); ++r, ++run) { // the last run ends with the row
                        const int64_t x = std::min<int64_t>(r * shape.length, s.out[2] - shape.length);
                        spots.data[run] = y * d.layout.pitch + n * d.layout.cell + x;
                        spots.data[tiles * shape.runs + run] = d.place_of(group, first + n) + y * s.out[2] + x;
                    }
            for (int64_t rest = run; rest < tiles * shape.runs; ++rest) spots.data[rest] = 0; // computed, and dropped
            d.copy(input, group, first, images, 0, copied.data);
            for (int64_t part = task % pieces * each; part < std::min(parts, (task % pieces + 1) * each); ++part) {
                hear_signals();
                if (once) d.pack(group, part * d.columns, own.data);
                d.narrow_tiles(once ? own.data : packed.data + (group * parts + part) * packed_size, copied.data, part * d.columns, tiles,
                               run, spots.data, sums.data, output);
            }
        }
    });
}

template <class T> bool run(const Shape& whole, const T* input, const T* weight, const Weights& lie, const T* bias, T* output) {
    if (!fits(Depth::planes(whole))) return false;
    Direct<T> d(whole, weight, lie, bias);
    if constexpr (sizeof(T) == 4)
        if (d.narrow) return run_narrow(d, input, output), true;
    const Shape& s = d.s;
    // A block of images side by side: the first of them, and how many.
    const int64_t blocks = (s.batch + d.abreast - 1) / d.abreast * s.groups;
    auto first_of = [&](int64_t block) { return block / s.groups * d.abreast; };
    auto images_of = [&](int64_t block) { return std::min(d.abreast, s.batch - first_of(block)); };

    Scratch<int64_t> starts(d.padded / d.unit);
    int64_t tiles = 0;
    for (int64_t o = 0; o < d.padded; o += d.rows_at(o)) starts[tiles++] = o;
    if (d.once) {
        Scratch<T> copied(blocks * d.size);
        clear(copied.data, blocks * d.size);
        parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
            for (int64_t block = begin; block < end; ++block)
                d.copy(input, block % s.groups, first_of(block), images_of(block), 0, copied.data + block * d.size);
        });
        parallel_for(0, s.groups * tiles, 1, [&](int64_t begin, int64_t end) {
            Scratch<T> packed(d.packed_size(3 * d.unit)), waiting(d.waiting_size(3 * d.unit));
            for (int64_t task = begin; task < end; ++task) {
                const int64_t group = task / tiles, o = starts[task % tiles];
                d.pack(group, o, packed.data);
                for (int64_t block = group; block < blocks; block += s.groups)
                    d.tiles(packed.data, copied.data + block * d.size, o, o + d.rows_at(o), s.out[1], group, first_of(block),
                            images_of(block), output, waiting.data);
            }
        });
        return true;
    }

    const int64_t bands = (s.out[1] + d.layout.out_rows - 1) / d.layout.out_rows;
    Scratch<T> packed(s.groups * d.packed_size(d.padded));
    auto packed_at = [&](int64_t group, int64_t o) { return packed.data + group * d.packed_size(d.padded) + d.packed_size(o); };
    parallel_for(0, s.groups * tiles, 1 + 65536 / (3 * d.unit * d.k), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task)
            d.pack(task / tiles, starts[task % tiles], packed_at(task / tiles, starts[task % tiles]));
    });

    const double work = static_cast<double>(d.k * s.out_channels) * static_cast<double>(d.layout.out_rows * s.out[2] * d.abreast);
    const auto grain = std::max<int64_t>(1, static_cast<int64_t>(500e3 / (work + 1)));
    parallel_for(0, blocks * bands, grain, [&](int64_t begin, int64_t end) {
        Scratch<T> copied(d.size), waiting(d.waiting_size(d.padded));
        clear(copied.data, d.size);
        for (int64_t task = begin; task < end; ++task) {
            hear_signals();
            const int64_t block = task / bands, first_row = task % bands * d.layout.out_rows, group = block % s.groups,
                          first = first_of(block), images = images_of(block);
            const int64_t rows = std::min(d.layout.out_rows, s.out[1] - first_row);
            d.copy(input, group, first, images, first_row, copied.data);
            T* to = output + first_row * s.out[2];
            d.tiles(packed_at(group, 0), copied.data, 0, d.padded, rows, group, first, images, to, waiting.data);
        }
    });
    return true;
}

} // namespace

template <class T> bool run_direct(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    const int64_t row = s.in_channels * s.taps;
    return run<T>(s, input, weight, {s.out_channels * row, row, s.taps, false}, bias, output);
}

// With stride 1 the input gradient is the convolution of the output's gradient with the flipped kernel.
template <class T> bool run_direct_input(const Shape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input) {
    Shape back = s;
    if (!back.turn_back()) return false;
    const int64_t row = s.in_channels * s.taps;
    return run<T>(back, grad_output, weight, {s.out_channels * row, s.taps, row, true}, bias, grad_input);
}

template <class T> bool run_direct_weight(const Shape& s, const T* input, const T* grad_output, T* grad_weight) {
    // Between the rows the input is multiplied by zeros, so it must be finite.
    if (!fits(s) || !row_steps<T>().finite(input, s.batch * s.groups * s.in_channels * s.in_space)) return false;
    const DirectSteps<T>& steps = direct_steps<T>();
    const int64_t O = steps.tile.products, N = steps.tile.product_taps, lanes = 64 / sizeof(T);
    const int64_t k = s.in_channels * s.taps;
    // How much is summed at once depends on the shape alone, because the order of summation does.
    constexpr int64_t room = 96 << 10;
    ConvolutionLayout layout(s, s.in_channels, room);
    const int64_t bands = (s.out[1] + layout.out_rows - 1) / layout.out_rows;
    const int64_t grad_step = (layout.places(s, layout.out_rows) + lanes - 1) / lanes * lanes;
    const int64_t channels_up = (s.out_channels + O - 1) / O * O;
    const int64_t sample_room = s.in_channels * layout.plane + channels_up * grad_step;
    const int64_t at_once = bands > 1 ? 1 : std::max<int64_t>(1, std::min(s.batch, 2 * room / sample_room));
    // Short sums do not pay for the reduction of their lanes.
    if (at_once * layout.places(s, layout.out_rows) < 16 * lanes) return false;
    // A task has some channels of the input or of the output, whichever are more, and copies all of the others.
    const int64_t wanted = num_threads() == 1 ? 1 : (2 * num_threads() + s.groups - 1) / s.groups;
    auto part_of = [&](int64_t count) { return (count + wanted - 1) / wanted; };
    const bool by_input = s.in_channels > s.out_channels;
    const int64_t channels = by_input ? part_of(s.in_channels) : s.in_channels;
    const int64_t out_channels = by_input ? channels_up : part_of(channels_up / O) * O;
    const int64_t blocks = by_input ? (s.in_channels + channels - 1) / channels : (channels_up + out_channels - 1) / out_channels;
    clear(grad_weight, s.groups * s.out_channels * k);
    parallel_for(0, s.groups * blocks, 1, [&](int64_t begin, int64_t end) {
        const int64_t plane_room = channels * layout.plane + grad_step + lanes;
        const int64_t taps_up = (channels * s.taps + N - 1) / N * N;
        Scratch<T> copied(at_once * plane_room), grads(at_once * out_channels * grad_step);
        Scratch<int64_t> offsets(taps_up);
        clear(copied.data, at_once * plane_room);
        clear(grads.data, at_once * out_channels * grad_step);
        int64_t rows_before = 0;
        T sums[32];
        for (int64_t task = begin; task < end; ++task) {
            const int64_t group = task / blocks, block = task % blocks;
            const int64_t channel = by_input ? block * channels : 0, first = by_input ? 0 : block * out_channels;
            const int64_t some = std::min(channels, s.in_channels - channel), taps = some * s.taps;
            const int64_t outs = std::min(out_channels, s.out_channels - first);
            for (int64_t p = 0; p < taps_up; ++p) offsets[p] = p < taps ? layout.offset(s, p / s.taps, p % s.taps) : 0;
            for (int64_t sample = 0; sample < s.batch; sample += at_once)
                for (int64_t band = 0; band < bands; ++band) {
                    const int64_t first_row = band * layout.out_rows, rows = std::min(layout.out_rows, s.out[1] - first_row);
                    const int64_t samples = std::min(at_once, s.batch - sample);
                    const int64_t count = (layout.places(s, rows) + lanes - 1) / lanes * lanes;
                    if (rows < rows_before) clear(grads.data, at_once * out_channels * grad_step);
                    rows_before = rows;
                    for (int64_t n = 0; n < samples; ++n) {
                        const int64_t image = (sample + n) * s.groups + group;
                        fill_layout(s, layout, input + (image * s.in_channels + channel) * s.in_space, some, first_row,
                                    copied.data + n * plane_room);
                        row_steps<T>().copy({outs, rows, grad_step, layout.pitch, s.out_space, s.out[2]}, s.out[2],
                                            grads.data + n * out_channels * grad_step,
                                            grad_output + (image * s.out_channels + first) * s.out_space + first_row * s.out[2]);
                    }
                    T* to = grad_weight + (group * s.out_channels + first) * k + channel * s.taps;
                    for (int64_t o = 0; o < outs; o += O)
                        for (int64_t p = 0; p < taps; p += N) {
                            steps.products({samples, out_channels * grad_step, plane_room}, count, grads.data + o * grad_step, grad_step,
                                           copied.data, offsets.data + p, sums);
                            for (int64_t i = 0; i < O && o + i < outs; ++i)
                                for (int64_t j = 0; j < N && p + j < taps; ++j) to[(o + i) * k + p + j] += sums[i * N + j];
                        }
                }
        }
    });
    return true;
}

template bool run_direct(const Shape&, const float*, const float*, const float*, float*);
template bool run_direct(const Shape&, const double*, const double*, const double*, double*);
template bool run_direct_input(const Shape&, const float*, const float*, const float*, float*);
template bool run_direct_input(const Shape&, const double*, const double*, const double*, double*);
template bool run_direct_weight(const Shape&, const float*, const float*, float*);
template bool run_direct_weight(const Shape&, const double*, const double*, double*);

} // namespace kindling::library
