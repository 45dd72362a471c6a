// kernels/executor.h: the parts that pointwise kernels, folds and scans share. Internal to the tile executor.
#pragma once
#include <cstdint>

#include "kernels/loop.h"
#include "kernels/move.h"
#include "kernels/native/native.h"
#include "kernels/stream.h"
#include "kernels/tile.h"

namespace kindling {

/// Elements, about, that are gone through in one direction (goes_backwards).
inline constexpr int64_t direction_piece = 1 << 14;

/// Dimensions of an iteration space as the executor goes through them, outermost first, sizes of 1 dropped.
struct LoopOrder {
    int ndim;
    int64_t size;                  // of the whole space
    int64_t* sizes;
    int* dims;                     // the kernel's own dimension, for each
};

/// The program over flat ranges of an ordered space: inputs become tiles, steps run; what to do with the tiles of the
/// outputs is the caller's.
class TileRunner {
public:
    /// `inputs` are the expression's; strides of the kernel's dimensions are read through `order`. The tile is a power
    /// of two from 256 to `largest_tile`, or, if it `fits_rows`, perhaps a multiple of a broadcast row. `past_cache`: where
    /// outputs are written directly, that may be past the caches.
    TileRunner(const TileProgram& program, const LoopOrder& order, const LoopOperand* inputs, const Immediate* scalars,
               int64_t largest_tile, bool fits_rows, RunArena& arena, const NativeFold* folds = nullptr,
               bool past_cache = false);

    int64_t tile() const { return tile_; }
    /// As many elements may be run at once where all outputs are direct: more than a tile if machine code reads all inputs
    /// from memory. Two threads need 0.8 of the time then, where the last cache is what they wait for.
    int64_t longest() const { return longest_; }
    /// Outputs are written past the caches; directly, at multiples of 64 bytes, or for nothing.
    bool writes_past_cache() const { return writes_past_cache_; }
    /// How many of the next n elements may be run at once: inputs that are one number a row, or lie across, are read row
    /// by row if the runner `fits_rows`.
    int64_t within_rows(int64_t n) const;
    void seek(int64_t flat);
    /// Reads the next n elements, at most tile() or longest(), and runs the steps. `direct`: one pointer per output (or
    /// null), where its step may write.
    void run(int64_t n, void* const* direct);
    /// Where there is code that folds the outputs as `folds` said: what they come to in the next n elements, each at a
    /// multiple of 16 bytes. These elements begin a block of the fold.
    bool folds_natively() const { return fold_native_ != nullptr; }
    void fold(int64_t n, char* folded);
    /// Where output k now is; it may be memory of an input. A repeated number is spread out first.
    const void* output(int k, int64_t n);

private:
    const TileProgram& program_;
    int64_t tile_, longest_;
    char** pointers_;       // of each slot
    char** buffers_;        // of each slot, where one is made for it
    uint8_t* repeated_;     // of each slot
    int16_t* active_;       // steps that run for every tile
    int active_count_ = 0;
    Stream* streams_;       // of each Input and Index slot that is not repeated
    int16_t* stream_slots_;
    int stream_count_ = 0;
    const char** gathered_; // of each stream: what its buffer holds

    /// How a stream is read where tiles are parts of rows.
    enum RowRead : uint8_t { Any, OneNumber, Across };
    /// Rows that lie across memory, some of them side by side, as rows of their own.
    struct Band { char* memory; const char* first; int64_t rows, held; };
    void plan_rows();
    const char* read_across(Stream& stream, Band& band, int64_t n);
    RowRead* row_reads_;    // of each stream
    Band* bands_;
    bool by_rows_ = false;  // any is not Any
    bool writes_past_cache_ = false;
    int64_t gathered_count_ = 0;
    char* spread_ = nullptr;  // for outputs that are one repeated number
    RunArena* spread_arena_;
    const NativeKernel* native_ = nullptr;  // machine code for all the steps
    const NativeKernel* fold_native_ = nullptr;
    void read_inputs(int64_t n);
    char* frame_ = nullptr;

    void place_outputs(void* const* direct);
};

/// The power of two from 256 to `largest` that a runner of this program would take.
int64_t tile_size(const TileProgram& program, int64_t largest);

/// `body(context, begin, end)` over [0, count), in parts of at least `grain`, perhaps on several threads.
void run_parallel(int64_t count, int64_t grain, void (*body)(void* context, int64_t begin, int64_t end), void* context);
template <class F> void parallel(int64_t count, int64_t grain, F&& body) {
    run_parallel(
        count, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<F*>(context))(begin, end); },
        &body);
}

/// Sorts by stride (the first operands decide first) and drops sizes of 1; `mask` says which dimensions take part.
LoopOrder order_dims(const LoopKernel& kernel, uint64_t mask, bool sort, RunArena& arena);
/// Dimensions [from, to) of the order that every operand goes through as one become one.
void merge_dims(LoopOrder& order, int from, int& to, const LoopKernel& kernel);
/// Bytes of memory that the inputs have: where they are broadcast, once.
int64_t read_bytes(const LoopKernel& kernel, const LoopOrder& order);
int64_t* ordered_strides(const LoopOrder& order, const LoopOperand& operand, RunArena& arena);

/// One number repeated over splat_bytes; of these into n values.
void fill_splat(void* to, const void* from, int item);
void spread(void* to, const void* splat, int item, int64_t n);

void run_pointwise(const LoopKernel& kernel);
void run_rows(const LoopKernel& kernel);
/// A row kernel of a few numbers that lie one after the other; false if this is another.
bool run_small_rows(const LoopKernel& kernel, const TileProgram& program);
/// A kernel that only copies; false if this one does more.
bool run_copy(const LoopKernel& kernel, const TileProgram& program);
void run_fold(const LoopKernel& kernel);
void run_scan(const LoopKernel& kernel);

}  // namespace kindling
