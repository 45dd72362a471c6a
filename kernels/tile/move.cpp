// kernels/tile/move.cpp: kernels that only copy, from any strides to any others.
#include "kernels/tile/move.h"

#include "kernels/isa.h"
#include "kernels/tile/executor.h"
#include "runtime/threads.h"

namespace kindling {

void copy_bytes(void* to, const void* from, int64_t bytes) { KINDLING_BY_ISA(copy_bytes, to, from, bytes); }
void copy_past_cache(void* to, const void* from, int64_t bytes) { KINDLING_BY_ISA(copy_past_cache, to, from, bytes); }
void copy_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes) {
    KINDLING_BY_ISA(copy_from_places, to, from, places, n, step, bytes);
}
void end_past_cache() { __builtin_ia32_sfence(); }

// Assumed for half of the last cache, since others use it as well. (The size that the system reports covers the caches
// of all processors, even those that a virtual machine does not run on.)
static constinit int64_t half_of_last_cache = 16 << 20;
bool passes_cache(int64_t written, int64_t read) {
    const int64_t half = __atomic_load_n(&half_of_last_cache, __ATOMIC_RELAXED);
    if (written < half / 4) return false;
    // Several threads have several times a core's bandwidth to the last cache, but not to memory. So results that fit
    // stay cached.
    return threads_at_work() == 1 ? written + read >= half / 2 * 3 : written + read >= half / 4 * 9;
}
void set_past_cache(int64_t half) { __atomic_store_n(&half_of_last_cache, half, __ATOMIC_RELAXED); }

bool goes_backwards(int64_t bytes) {
    static constinit uint8_t backwards = 0;
    // The size of a second cache, and eight times that, from which the gain is lost in noise.
    constexpr int64_t least = 1 << 20, most = 8 << 20;
    return bytes >= least && bytes <= most && __atomic_xor_fetch(&backwards, 1, __ATOMIC_RELAXED);
}

PlaneCopy find_plane_copy(int item) { return KINDLING_BY_ISA(find_plane_copy, item); }
void count_up(int64_t* to, int64_t first, int64_t step, int64_t n) { KINDLING_BY_ISA(count_up, to, first, step, n); }
LineSums find_line_sums(DType type) { return KINDLING_BY_ISA(find_line_sums, type); }
ColumnScan find_column_scan(bool product, DType type) { return KINDLING_BY_ISA(find_column_scan, product, type); }
ExtremeScan find_extreme_scan(DType type) { return KINDLING_BY_ISA(find_extreme_scan, type); }

bool run_copy(const LoopKernel& kernel, const TileProgram& program) {
    if (kernel.output_count != 1 || !program.steps.empty()) return false;
    const TileSlot& slot = program.slots[static_cast<size_t>(program.outputs[0])];
    if (slot.kind != TileSlot::Input) return false;
    RunArena arena;
    const LoopOperand &out = kernel.operands[0], &in = kernel.operands[1 + slot.which];
    LoopKernel two = kernel; // the order follows from what is copied, not from the kernel's other operands
    LoopOperand operands[2] = {out, in};
    two.operands = operands;
    two.input_count = 1;
    LoopOrder order = order_dims(two, ~uint64_t{0}, true, arena);
    int ndim = order.ndim;
    merge_dims(order, 0, ndim, two);
    const int item = slot.item_size;
    if (order.size == 0) return true;
    int64_t sizes[max_loop_dims + 2], to_strides[max_loop_dims + 2], from_strides[max_loop_dims + 2];
    for (int d = 0; d < ndim; d++) {
        sizes[d] = order.sizes[d];
        to_strides[d] = out.strides[order.dims[d]];
        from_strides[d] = in.strides[order.dims[d]];
    }
    for (; ndim < 2; ndim++) sizes[ndim] = 1, to_strides[ndim] = from_strides[ndim] = item;
    if (ndim == 2 && sizes[1] == 1 && sizes[0] > 1) { // one dimension: it is the inner one
        sizes[1] = sizes[0], to_strides[1] = to_strides[0], from_strides[1] = from_strides[0];
        sizes[0] = 1;
    }
    // The plane has the innermost dimension of the output and that of the input. If they are the same one, the next is
    // taken.
    int plane = ndim - 2;
    if (from_strides[ndim - 1] != item)
        for (int d = 0; d < ndim - 1; d++)
            if (from_strides[d] == item && sizes[d] > 1) plane = d;
    const int64_t rows = sizes[plane], row = sizes[ndim - 1];
    // The other dimensions, outermost first, in the order of the output. They take the order of the input if a plane
    // has the shorter pieces of it: then the adjacent pieces are needed next.
    int others[max_loop_dims + 2], other_count = 0;
    int64_t planes = 1;
    const bool transposes = from_strides[plane] == item && from_strides[ndim - 1] != item;
    const int64_t out_piece = to_strides[plane] == row * item ? rows * row : row;
    const int64_t in_piece = from_strides[ndim - 1] == rows * item ? rows * row : rows;
    const bool as_input = transposes && in_piece < out_piece;
    for (int d = 0; d < ndim - 1; d++) {
        if (d == plane) continue;
        planes *= sizes[d];
        int at = other_count++;
        for (; at > 0 && as_input && from_strides[others[at - 1]] < from_strides[d]; at--) others[at] = others[at - 1];
        others[at] = d;
    }
    // A task is a band of 64 rows of one plane (all rows, if they are short).
    const int64_t band = rows * row <= 65536 ? rows : 16384 / row > 64 ? 16384 / row : 64;
    const int64_t bands = (rows + band - 1) / band;
    PlaneCopy copy = find_plane_copy(item);
    const int64_t bytes = order.size * item;
    // A transpose reads pieces of cache lines, and the lines have to stay in the cache until the rest of them is read.
    const bool past_cache = passes_cache(bytes, transposes ? 2 * bytes : bytes);
    const bool backwards = !past_cache && goes_backwards(2 * bytes);
    auto run_tasks = [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; task++) {
            const int64_t first = task % bands * band;
            int64_t which = task / bands;
            Plane part{static_cast<char*>(out.data) + first * to_strides[plane],
                       static_cast<const char*>(in.data) + first * from_strides[plane],
                       {rows - first < band ? rows - first : band, row},
                       {to_strides[plane], to_strides[ndim - 1]},
                       {from_strides[plane], from_strides[ndim - 1]},
                       past_cache};
            for (int k = other_count; k-- > 0;) {
                const int d = others[k];
                part.to += which % sizes[d] * to_strides[d];
                part.from += which % sizes[d] * from_strides[d];
                which /= sizes[d];
            }
            copy(part);
        }
    };
    parallel(planes * bands, 1 + 65536 / (row * band), [&](int64_t begin, int64_t end) {
        in_direction(backwards, begin, end, 1, run_tasks);
        if (past_cache) end_past_cache();
    });
    return true;
}

} // namespace kindling
