// kernels/native/native.h: the native executor: machine code for an expression, made in the caller's thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "kernels/loop.h"
#include "kernels/tile/tile.h"

namespace kindling {

/// Machine code for a tile program and a choice of broadcast operands.
class NativeKernel;

/// The code for `program`, or null if the tile executor should run it. `elements` are about to be computed, in
/// addition to earlier ones; a kernel is compiled once that pays. `repeated` says for each slot whether it is one
/// scalar (repeated over splat_bytes). A program of one step has code only if `one_step_gains`, or if it uses streaming stores; the tile
/// of a single step is as fast otherwise. The code lives as long as the program.
const NativeKernel* find_native(const TileProgram& program, const uint8_t* repeated, int64_t elements, bool one_step_gains = false);
/// Value in `repeated` for a slot that is stored: its memory, aligned to 64, is written by streaming stores. The caller
/// must run end_past_cache() (kernels/tile/move.h) at the end.
inline constexpr uint8_t native_past_cache = 2;
/// Bytes of scratch memory, aligned to 64, that a run needs.
int64_t native_frame(const NativeKernel& kernel, int64_t rows = 1);
/// How many pointers a run needs per row: one per slot that is read or written, as many for prefetching, and one that
/// the run sets itself.
inline size_t native_pointers(size_t slots) { return 2 * slots + 1; }
/// Runs elements 0 to n. If the program has reductions, n is at most native_fold_elements(), and the first element
/// begins a block (kernels/reductions/fold.h). The result of reduction k is written at `folded` + fold_result_bytes * k.
void run_native(const NativeKernel& kernel, char** pointers, int64_t n, char* frame, char* folded = nullptr);
int64_t native_fold_elements();
/// Code for some rows at a call (run_native_rows), with a masked remainder where that is possible. Values repeated along a row that have 4
/// or 8 bytes are broadcast from their memory: one element is read.
const NativeKernel* find_native_short_rows(const TileProgram& program, const uint8_t* repeated, int64_t elements);
/// The same for some rows of n elements. Each has its own pointers, one row's after the other's. The result of
/// reduction k in row r is written at `folded` + fold_result_bytes * (k * most_native_rows + r). `frame` has the bytes
/// for so many rows.
/// If rows are no longer than native_fold_elements(), the loop prefetches: for a slot that is read, the row that many
/// rows later; for one that is written, its own memory.
void run_native_rows(const NativeKernel& kernel, char** pointers, int64_t rows, int64_t n, char* frame, char* folded);
inline constexpr int64_t most_native_rows = 16;
/// How many rows of n elements of so many bytes may run in one call: a power of two.
int64_t native_rows_at_once(int64_t n, int64_t item);

/// The reduction of one output of a tile program.
struct NativeFold {
    Combine combine;
    DType type; // value type
};
/// Code for the program with all its outputs reduced, as above.
const NativeKernel* find_native_folds(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds, int64_t elements);

/// Code that merges `rows` rows of every output into lanes: for each element, its lane, then that of each row in order.
/// Slots are the program's, repeated for each row. Then each output has a slot of lanes that are read. `written` is the
/// first of as many slots that are written (the same memory).
struct NativeLanes {
    const NativeKernel* kernel;
    size_t slots, read, written;
};
NativeLanes find_native_lanes(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds, int rows, int64_t elements);

/// What a slot of a row kernel has one value for: the whole run, a row, or an element.
enum class Extent : uint8_t { Once, Row, Element };

/// A row kernel as loops over a row, one per level.
struct NativeRows {
    struct Level {
        const NativeKernel* kernel; // null if the level does nothing per element
        std::vector<int16_t> folds; // slots of the reductions
    };
    std::vector<Level> levels;
    std::vector<int16_t> kept; // element slots that one level writes and another reads
    int64_t frame;
};
/// The same for a row kernel with rows of n elements. `extents` has one per slot. If `past_cache`, element outputs are
/// written by streaming stores.
const NativeRows* find_native_rows(const TileProgram& program, const Extent* extents, bool past_cache, int64_t n, int64_t elements);

/// Off (KINDLING_NATIVE=0), once a kernel proves worth it, or for everything that has a native form
/// (KINDLING_NATIVE=1). Read from the environment at first use.
enum class NativeMode : uint8_t { Off, Worth, Always };
void set_native(NativeMode mode);

/// True if single steps use the native executor too (KINDLING_NATIVE=1).
bool native_always();
/// True if nobody shall make machine code (KINDLING_NATIVE=0).
bool native_off();

/// How many kernels have been compiled.
int64_t native_kernel_count();

void delete_native(NativeState* state);

namespace native {

struct LaneProgram;

/// The steps as a lane program; false if some step has no native form. `operations`: for each step, how many operations an element it
/// adds to those of the steps before.
bool record(const TileProgram& program, Isa isa, const uint8_t* repeated, LaneProgram& result, std::vector<int>* operations = nullptr);

} // namespace native
} // namespace kindling
