// kernels/tile/executor.h: what pointwise kernels, reductions and scans share in the tile executor. Internal.
#pragma once
#include <cstdint>

#include "kernels/loop.h"
#include "kernels/native/native.h"
#include "kernels/tile/move.h"
#include "kernels/tile/stream.h"
#include "kernels/tile/tile.h"

namespace kindling {

/// About how many elements are processed in one direction (goes_backwards).
inline constexpr int64_t direction_piece = 1 << 14;

/// Dimensions of an iteration space in the order of execution, outermost first. Sizes of 1 are dropped.
struct LoopOrder {
    int ndim;
    int64_t size; // of the whole space
    int64_t* sizes;
    int* dims; // for each, the kernel's own dimension
};

/// Runs a tile program over flat ranges of an ordered space. It loads inputs into tiles and runs the steps. The caller
/// decides what happens to the tiles of the outputs.
class TileRunner {
public:
    /// How it minds rows of an input: not at all; transposed ones are read several at once; and, in addition, row-invariant ones are
    /// broadcast. Of these, InRows is for runs that lie within `row` elements, counted from the first, and ByRows for runs as long as
    /// `within_rows` says, with tiles that may be a multiple of a broadcast row.
    enum Reading : uint8_t { AsTheyCome, Across, InRows, ByRows };
    /// `inputs` are the expression's. Strides of the kernel's dimensions are read through `order`. The tile is a power
    /// of two from 256 to `largest_tile`. `past_cache`: outputs that steps write directly may use streaming stores.
    TileRunner(const TileProgram& program, const LoopOrder& order, const LoopOperand* inputs, const Immediate* scalars,
               int64_t largest_tile, Reading reading, RunArena& arena, const NativeFold* folds = nullptr, bool past_cache = false,
               int64_t row = 1);

    int64_t tile() const { return tile_; }
    /// How many elements one run may have if steps write all outputs directly. It is more than a tile if machine code
    /// reads all inputs from memory. With two threads, loops bound by the last cache then take 0.8 of the time.
    int64_t longest() const { return longest_; }
    /// Outputs are written by streaming stores. They must be written directly, begin at multiples of 64 bytes, or be
    /// unused.
    bool writes_past_cache() const { return writes_past_cache_; }
    /// How many of the next n elements may be run at once.
    int64_t within_rows(int64_t n) const;
    bool by_rows() const { return by_rows_; }
    /// Whether an input is gathered row by row.
    bool gathers_rows() const;
    void seek(int64_t flat);
    /// Loads the next n elements (at most tile() or longest()) and runs the steps. `direct` has a pointer per output,
    /// or null; the step of that output may write there.
    void run(int64_t n, void* const* direct);
    /// True if there is machine code that reduces the outputs as `folds` said. `fold` then writes what the next n elements
    /// reduce to, each result at a multiple of 16 bytes. These elements must begin a block of the reduction.
    bool folds_natively() const { return fold_native_ != nullptr; }
    void fold(int64_t n, char* folded);
    /// Where output k is now. It may be the memory of an input. A broadcast scalar is expanded first.
    const void* output(int k, int64_t n);

private:
    const TileProgram& program_;
    int64_t tile_, longest_;
    char** pointers_;   // one per slot
    char** buffers_;    // one per slot, null where it needs none
    uint8_t* repeated_; // one per slot: it holds one broadcast scalar
    int16_t* active_;   // steps that run for every tile
    int active_count_ = 0;
    Stream* streams_; // one per Input and Index slot that is not a broadcast scalar
    int16_t* stream_slots_;
    int stream_count_ = 0;
    const char** gathered_; // one per stream: what its buffer holds

    /// How a stream is read where tiles are parts of rows.
    enum RowRead : uint8_t { Any, OneNumber, Turned };
    /// Some adjacent rows of a transposed operand, gathered so that each is contiguous.
    struct Band {
        char* memory;
        const char* first;
        int64_t rows, held;
    };
    void plan_rows(Reading reading, int64_t row);
    const char* read_across(Stream& stream, Band& band, int64_t n, char* buffer);
    RowRead* row_reads_; // one per stream
    Band* bands_;
    bool by_rows_ = false; // any is not Any
    bool writes_past_cache_ = false;
    int64_t gathered_count_ = 0;
    char* spread_ = nullptr; // for outputs that are a broadcast scalar
    RunArena* spread_arena_;
    const NativeKernel* native_ = nullptr; // machine code for all the steps
    const NativeKernel* fold_native_ = nullptr;
    void read_inputs(int64_t n);
    char* frame_ = nullptr;

    void place_outputs(void* const* direct);
};

/// The tile that a runner of this program would use: a power of two from 256 to `largest`.
int64_t tile_size(const TileProgram& program, int64_t largest);

/// Calls `body(context, begin, end)` over [0, count), in parts of at least `grain`, perhaps on several threads.
void run_parallel(int64_t count, int64_t grain, void (*body)(void* context, int64_t begin, int64_t end), void* context);
template <class F> void parallel(int64_t count, int64_t grain, F&& body) {
    run_parallel(count, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<F*>(context))(begin, end); }, &body);
}

/// Sorts dimensions by stride (the first operands decide first) and drops sizes of 1. `mask` says which dimensions take
/// part.
LoopOrder order_dims(const LoopKernel& kernel, uint64_t mask, bool sort, RunArena& arena);
/// Merges dimensions of [from, to) in the order where every operand allows it.
void merge_dims(LoopOrder& order, int from, int& to, const LoopKernel& kernel);
/// Bytes of memory that the inputs have. Broadcast dimensions count once.
int64_t read_bytes(const LoopKernel& kernel, const LoopOrder& order);
int64_t* ordered_strides(const LoopOrder& order, const LoopOperand& operand, RunArena& arena);

/// fill_splat repeats one scalar over splat_bytes; spread copies that into n values.
void fill_splat(void* to, const void* from, int item);
void spread(void* to, const void* splat, int item, int64_t n);

void run_pointwise(const LoopKernel& kernel);
/// Pointwise over short rows with numbers that hold for a row; `order` is merged. False if the kernel is another, or has no machine code.
bool run_by_rows(const LoopKernel& kernel, const TileProgram& program, const LoopOrder& order);
void run_rows(const LoopKernel& kernel);
/// Runs a row kernel of few contiguous elements. False if the kernel is another.
bool run_small_rows(const LoopKernel& kernel, const TileProgram& program);
/// Runs a kernel that only copies. False if it does more.
bool run_copy(const LoopKernel& kernel, const TileProgram& program);
void run_fold(const LoopKernel& kernel);
void run_scan(const LoopKernel& kernel);

} // namespace kindling
