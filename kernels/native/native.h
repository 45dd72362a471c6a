// kernels/native/native.h: the native executor: machine code for an expression, made in the caller's thread.
#pragma once
#include <cstdint>
#include <string>

#include "kernels/isa.h"
#include "kernels/loop.h"
#include "kernels/tile.h"

namespace kindling {

/// Machine code for a tile program and a choice of operands that are one repeated number.
class NativeKernel;

/// The code for `program`, or null: the tile executor serves. `work` elements are about to be computed, on top of what
/// went before; a kernel is compiled when it has proved worth it. `repeated` says of each slot whether it is one number
/// (repeated over splat_bytes). What is given stays good as long as the program.
const NativeKernel* find_native(const TileProgram& program, const uint8_t* repeated, int64_t elements);
/// Among `repeated`, of a slot that is stored: its memory, at a multiple of 64, is written past the caches. Whoever runs
/// such code runs end_past_cache() (kernels/move.h) at the end.
inline constexpr uint8_t native_past_cache = 2;
/// Bytes of scratch memory, at a multiple of 64, that a run needs.
int64_t native_frame(const NativeKernel& kernel, int64_t rows = 1);
/// How many pointers a row of a run takes: of the memory of every slot that is read or written; as many more of memory to
/// be asked for ahead of time, which rows have; and one that the run sets.
inline size_t native_pointers(size_t slots) { return 2 * slots + 1; }
/// Elements 0 to n. Of a program with folds, n is at most native_fold_elements(), the first element begins a block of the
/// fold (kernels/fold.h), and what fold k comes to is written at `folded` + fold_result_bytes * k.
void run_native(const NativeKernel& kernel, char** pointers, int64_t n, char* frame, char* folded = nullptr);
int64_t native_fold_elements();
/// The same for some rows of n elements: each has pointers of its own, one row's behind the other's, what fold k comes to
/// in row r is written at `folded` + fold_result_bytes * (k * most_native_rows + r), and `frame` has the bytes for so many
/// rows.
/// What is asked for ahead of time, where rows are no longer than native_fold_elements(), is for a slot that is read the
/// row that comes as many rows later, for one that is written its own memory.
void run_native_rows(const NativeKernel& kernel, char** pointers, int64_t rows, int64_t n, char* frame, char* folded);
inline constexpr int64_t most_native_rows = 16;
/// How many rows of n elements of so many bytes may go at once: a power of two.
int64_t native_rows_at_once(int64_t n, int64_t item);

/// One fold of an output of a tile program.
struct NativeFold {
    Combine combine;
    DType type;       // value type
};
/// Code for the program with all its outputs folded, as above.
const NativeKernel* find_native_folds(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds,
                                      int64_t elements);

/// Code that folds `rows` rows of every output into lanes: for each element, its lane, then that of each row in order. Slots
/// are the program's, once for each row; then for each output a slot of lanes that are read; `written` is the first of as
/// many that are written (the same memory).
struct NativeLanes {
    const NativeKernel* kernel;
    size_t slots, read, written;
};
NativeLanes find_native_lanes(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds, int rows,
                              int64_t elements);

/// What a slot of a row kernel is one number of: the whole run, a row, an element.
enum class Extent : uint8_t { Once, Row, Element };

/// A row kernel as loops over a row, one for each level.
struct NativeRows {
    struct Level {
        const NativeKernel* kernel;     // null: there is nothing to do for elements
        std::vector<int16_t> folds;     // slots of what is folded
    };
    std::vector<Level> levels;
    std::vector<int16_t> kept;          // slots of elements that one level writes and another reads
    int64_t frame;
};
/// The same for a row kernel with rows of n elements; `extents` has one for each slot, `past_cache` says whether outputs of
/// elements are written so.
const NativeRows* find_native_rows(const TileProgram& program, const Extent* extents, bool past_cache, int64_t n,
                                   int64_t elements);

/// Off (KINDLING_NATIVE=0), when a kernel proves worth it, or for everything that has a native form
/// (KINDLING_NATIVE=1). Settled by the environment at first use.
enum class NativeMode : uint8_t { Off, Worth, Always };
void set_native(NativeMode mode);

/// Whether single steps go to the native executor too (KINDLING_NATIVE=1).
bool native_always();

/// How many kernels were compiled so far.
int64_t native_kernel_count();

void delete_native(NativeState* state);

namespace native {

struct LaneProgram;

/// The steps as a lane program; false if some step has no native form.
bool record(const TileProgram& program, Isa isa, const uint8_t* repeated, LaneProgram& result);

}  // namespace native
}  // namespace kindling
