// kernels/move.h: strided copies by vectors: rows, repeated numbers, reversed rows, every second element, transposes.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling {

/// Elements from one strided plane of memory to another: sizes[0] rows of sizes[1] elements, strides in bytes. The
/// planes do not overlap.
struct Plane {
    char* to;
    const char* from;
    int64_t sizes[2], to_strides[2], from_strides[2];
    bool past_cache = false;  // as copy_past_cache, where whole cache lines are written one after the other
};
using PlaneCopy = void (*)(const Plane& plane);

/// Running sums or products down the columns of `steps` rows of `lines` values, in place. `state` is what each column has
/// come to (of floats in double), taken from the first row if `first`. Not for complex dtypes.
using ColumnScan = void (*)(void* state, void* values, int64_t steps, int64_t lines, bool first);

#define KINDLING_DECLARE_MOVES(NAMESPACE)                                                                             \
    namespace NAMESPACE {                                                                                             \
    void copy_bytes(void* to, const void* from, int64_t bytes);                                                       \
    void copy_past_cache(void* to, const void* from, int64_t bytes);                                                  \
    void copy_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes); \
    PlaneCopy find_plane_copy(int item);                                                                              \
    ColumnScan find_column_scan(bool product, DType type);                                                            \
    }
KINDLING_DECLARE_MOVES(isa_baseline)
KINDLING_DECLARE_MOVES(isa_avx2)
KINDLING_DECLARE_MOVES(isa_avx512)
#undef KINDLING_DECLARE_MOVES
/// What memcpy does. (memcpy itself takes string instructions from some length on, which some processors run at a
/// twentieth of the speed where source and target lie differently within a cache line.)
void copy_bytes(void* to, const void* from, int64_t bytes);
/// The same for a target that is not read soon: it goes to memory without being read into the caches first. The calling
/// thread runs end_past_cache() before it tells another one of the result.
void copy_past_cache(void* to, const void* from, int64_t bytes);
void end_past_cache();
/// Rows of so many bytes that begin at from + places[i] * step, one after the other.
void copy_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes);
/// Whether a result of so many bytes, made of so many (as many, if nothing is said), would push itself out of the caches
/// before anyone reads it.
bool passes_cache(int64_t written, int64_t read);
inline bool passes_cache(int64_t written) { return passes_cache(written, written); }
/// What half of the last cache is taken for; for tests.
void set_past_cache(int64_t half);

/// Whether a kernel that reads and writes so many bytes goes through memory backwards. Where that is more than the caches
/// keep and not far more, every other kernel does: it meets what the one before left there before it is pushed out.
bool goes_backwards(int64_t bytes);
/// `body(begin, end)` for [begin, end); backwards for its pieces (of `piece`, counted from 0), from the last to the first.
template <class F> void in_direction(bool backwards, int64_t begin, int64_t end, int64_t piece, F&& body) {
    while (backwards && end - begin > piece) {
        const int64_t at = (end - 1) / piece * piece;
        body(at, end);
        end = at;
    }
    if (begin < end) body(begin, end);
}

/// Asks for memory that is read next but one. Where short pieces of several operands, or of rows backwards, are taken in
/// turns, the processor itself does not see what follows.
inline void fetch_ahead(const void* from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(static_cast<const char*>(from) + at);
}
/// For elements of 1, 2, 4, 8 or 16 bytes.
PlaneCopy find_plane_copy(int item);
ColumnScan find_column_scan(bool product, DType type);

}  // namespace kindling
