// kernels/tile/move.h: strided copies by vectors: rows, fills, reversed rows, every second element, transposes.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling {

/// Copies elements from one strided plane of memory to another: sizes[0] rows of sizes[1] elements, strides in bytes.
/// The planes do not overlap.
struct Plane {
    char* to;
    const char* from;
    int64_t sizes[2], to_strides[2], from_strides[2];
    bool past_cache = false; // streaming stores, where whole cache lines are written consecutively
};
using PlaneCopy = void (*)(const Plane& plane);

/// Cumulative sums or products down the columns of `steps` rows of `lines` values, which may be in place. `state` holds the running
/// value of each column (in double for floats). If `first`, it starts with the first row. Not for complex dtypes.
using ColumnScan = void (*)(void* state, void* out, const void* in, int64_t steps, int64_t lines, bool first);
/// The same of extremes; what equals the one so far takes its place, and so does NaN. Of 1 line, or of a multiple of 8. The state is twice
/// the size of a row. Places count from 0; the first of these rows has place `at`. For numbers of 32 and 64 bits, but for UInt32.
using ExtremeScan = void (*)(void* state, int64_t* places, void* out, int64_t* rows, const void* in, int64_t steps, int64_t lines,
                             int64_t at, DType type, bool least);
/// Running sums of lines that are contiguous. Steps from line to line are in elements.
using LineSums = void (*)(void* out, const void* in, int64_t lines, int64_t length, int64_t out_step, int64_t in_step);

#define KINDLING_DECLARE_MOVES(NAMESPACE)                                                                                                  \
    namespace NAMESPACE {                                                                                                                  \
    void copy_bytes(void* to, const void* from, int64_t bytes);                                                                            \
    void copy_past_cache(void* to, const void* from, int64_t bytes);                                                                       \
    void copy_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes);                      \
    PlaneCopy find_plane_copy(int item);                                                                                                   \
    void count_up(int64_t* to, int64_t first, int64_t step, int64_t n);                                                                    \
    LineSums find_line_sums(DType type);                                                                                                   \
    ColumnScan find_column_scan(bool product, DType type);                                                                                 \
    ExtremeScan find_extreme_scan(DType type);                                                                                             \
    }
KINDLING_DECLARE_MOVES(isa_baseline)
KINDLING_DECLARE_MOVES(isa_avx2)
KINDLING_DECLARE_MOVES(isa_avx512)
#undef KINDLING_DECLARE_MOVES
/// What memcpy does. memcpy itself uses string instructions from some length on. Some processors run these at a
/// twentieth of the speed if source and target are aligned differently within a cache line.
void copy_bytes(void* to, const void* from, int64_t bytes);
/// The same with streaming stores, for a target that is not read soon. The calling thread must run end_past_cache()
/// before another thread reads the result.
void copy_past_cache(void* to, const void* from, int64_t bytes);
void end_past_cache();
/// Copies rows of so many bytes from from + places[i] * step to contiguous memory.
void copy_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes);
/// True if a result of so many bytes, computed from `read` bytes (by default as many), would be evicted from the caches
/// before it is read.
bool passes_cache(int64_t written, int64_t read);
inline bool passes_cache(int64_t written) { return passes_cache(written, written); }
/// Sets what is assumed for half of the last cache; for tests.
void set_past_cache(int64_t half);

/// True if a kernel that reads and writes so many bytes should run backwards. If that is more than the caches keep, but
/// not far more, every other kernel does. It then reads what the last one left there before it is evicted.
bool goes_backwards(int64_t bytes);
/// Calls `body(begin, end)` for [begin, end). If backwards, for pieces of it (`piece` elements, counted from 0) in
/// reverse order.
template <class F> void in_direction(bool backwards, int64_t begin, int64_t end, int64_t piece, F&& body) {
    while (backwards && end - begin > piece) {
        const int64_t at = (end - 1) / piece * piece;
        body(at, end);
        end = at;
    }
    if (begin < end) body(begin, end);
}

/// Prefetches memory for the next piece but one. If short pieces of several operands alternate, or rows are read
/// backwards, the hardware prefetcher does not follow.
inline void fetch_ahead(const void* from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(static_cast<const char*>(from) + at);
}
/// For elements of 1, 2, 4, 8 or 16 bytes.
PlaneCopy find_plane_copy(int item);
ColumnScan find_column_scan(bool product, DType type);
ExtremeScan find_extreme_scan(DType type);
/// first, first + step, and so on: n numbers.
void count_up(int64_t* to, int64_t first, int64_t step, int64_t n);
/// Null where there is no code for it.
LineSums find_line_sums(DType type);

} // namespace kindling
