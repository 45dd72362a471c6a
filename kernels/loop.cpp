// kernels/loop.cpp: the tile executor: ordering of dimensions, tiles of an expression, pointwise kernels.
#include "kernels/loop.h"

#include "core/error.h"
#include "kernels/maths/usual.h"
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling {

void run_parallel(int64_t count, int64_t grain, void (*body)(void* context, int64_t begin, int64_t end), void* context) {
    if (count <= grain) body(context, 0, count);
    else detail::run_parallel(0, count, grain, body, context);
}

void fill_splat(void* to, const void* from, int item) {
    uint64_t pair[2] = {};
    switch (item) {
    case 1: {
        uint8_t value;
        std::memcpy(&value, from, 1);
        pair[0] = pair[1] = value * 0x0101010101010101u;
        break;
    }
    case 2: {
        uint16_t value;
        std::memcpy(&value, from, 2);
        pair[0] = pair[1] = value * 0x0001000100010001u;
        break;
    }
    case 4: {
        uint32_t value;
        std::memcpy(&value, from, 4);
        pair[0] = pair[1] = value * 0x0000000100000001u;
        break;
    }
    case 8:
        std::memcpy(&pair[0], from, 8);
        pair[1] = pair[0];
        break;
    default: std::memcpy(pair, from, 16);
    }
    char* out = static_cast<char*>(to);
    for (int i = 0; i < splat_bytes; i += 16) std::memcpy(out + i, pair, 16);
}

void spread(void* to, const void* splat, int item, int64_t n) {
    char* out = static_cast<char*>(to);
    int64_t bytes = n * item;
    for (; bytes >= splat_bytes; bytes -= splat_bytes, out += splat_bytes) std::memcpy(out, splat, splat_bytes);
    if (bytes) std::memcpy(out, splat, static_cast<size_t>(bytes));
}

LoopOrder order_dims(const LoopKernel& kernel, uint64_t mask, bool sort, RunArena& arena) {
    LoopOrder order;
    order.sizes = arena.take<int64_t>(kernel.ndim + 1);
    order.dims = arena.take<int>(kernel.ndim + 1);
    order.ndim = 0;
    order.size = 1;
    const int operand_count = kernel.output_count + kernel.input_count;
    for (int d = 0; d < kernel.ndim; d++) {
        if (!(mask >> d & 1)) continue;
        order.size *= kernel.sizes[d];
        if (kernel.sizes[d] == 1) continue;
        int at = order.ndim++;
        if (sort) {
            // The dimension moves outwards past those with smaller strides. The first operand with two different
            // strides decides.
            for (; at > 0; at--) {
                int before = order.dims[at - 1];
                int decided = 0;
                for (int k = 0; k < operand_count && !decided; k++) {
                    int64_t here = kernel.operands[k].strides[d], there = kernel.operands[k].strides[before];
                    if (here == 0 || there == 0 || here == there) continue;
                    decided = here > there ? 1 : -1;
                }
                if (decided != 1) break;
                order.dims[at] = before;
                order.sizes[at] = order.sizes[at - 1];
            }
        }
        order.dims[at] = d;
        order.sizes[at] = kernel.sizes[d];
    }
    return order;
}

void merge_dims(LoopOrder& order, int from, int& to, const LoopKernel& kernel) {
    int kept = from;
    for (int d = from; d < to; d++) {
        bool together = kept > from;
        for (int k = 0; k < kernel.output_count + kernel.input_count && together; k++)
            together = kernel.operands[k].strides[order.dims[kept - 1]] == kernel.operands[k].strides[order.dims[d]] * order.sizes[d];
        if (together) {
            order.sizes[kept - 1] *= order.sizes[d];
            order.dims[kept - 1] = order.dims[d];
        } else {
            order.sizes[kept] = order.sizes[d];
            order.dims[kept++] = order.dims[d];
        }
    }
    to = kept;
}

int64_t* ordered_strides(const LoopOrder& order, const LoopOperand& operand, RunArena& arena) {
    int64_t* strides = arena.take<int64_t>(order.ndim + 1);
    for (int d = 0; d < order.ndim; d++) strides[d] = operand.strides[order.dims[d]];
    return strides;
}

int64_t read_bytes(const LoopKernel& kernel, const LoopOrder& order) {
    int64_t all = 0;
    for (int k = 0; k < kernel.input_count; k++) {
        const LoopOperand& input = kernel.operands[kernel.output_count + k];
        int64_t bytes = static_cast<int64_t>(item_size(input.type));
        for (int d = 0; d < order.ndim; d++)
            if (input.strides[order.dims[d]] != 0) bytes *= order.sizes[d];
        all += bytes;
    }
    return all;
}

int64_t tile_size(const TileProgram& program, int64_t largest) {
    constexpr int64_t budget = 32 * 1024;
    int64_t per_element = static_cast<int64_t>(program.buffer_item) * (program.buffer_count + 1);
    int64_t tile = 256;
    while (tile < largest && tile * 2 * per_element <= budget) tile *= 2;
    return tile;
}

TileRunner::TileRunner(const TileProgram& program, const LoopOrder& order, const LoopOperand* inputs, const Immediate* scalars,
                       int64_t largest_tile, Reading reading, RunArena& arena, const NativeFold* folds, bool past_cache, int64_t row)
    : program_(program), spread_arena_(&arena) {
    KINDLING_ASSERT(program.level_count == 1); // row reductions run in row kernels only
    tile_ = tile_size(program, largest_tile);
    const int64_t slot_count = static_cast<int64_t>(program.slots.size());
    // Each reduction needs one slot more.
    pointers_ = arena.take<char*>(static_cast<int64_t>(native_pointers(program.slots.size() + program.outputs.size())));
    buffers_ = arena.take<char*>(slot_count);
    repeated_ = arena.take<uint8_t>(slot_count);
    active_ = arena.take<int16_t>(static_cast<int64_t>(program.steps.size()));
    streams_ = arena.take<Stream>(program.stream_slots);
    stream_slots_ = arena.take<int16_t>(program.stream_slots);
    gathered_ = arena.take<const char*>(program.stream_slots);
    row_reads_ = arena.take<RowRead>(program.stream_slots);
    bands_ = arena.take<Band>(program.stream_slots);
    const int64_t buffer_bytes = ((tile_ < order.size ? tile_ : order.size) * program.buffer_item + 63) & ~int64_t{63};
    char* all_buffers = arena.take<char>(buffer_bytes * program.buffer_count);

    for (int64_t i = 0; i < slot_count; i++) {
        const TileSlot& slot = program.slots[static_cast<size_t>(i)];
        repeated_[i] = 0;
        switch (slot.kind) {
        case TileSlot::Unused: break;
        case TileSlot::Buffer: buffers_[i] = all_buffers + slot.which * buffer_bytes; break;
        case TileSlot::Splat:
            repeated_[i] = 1;
            pointers_[i] = arena.take<char>(splat_bytes);
            fill_splat(pointers_[i], program.number(slot, scalars), slot.item_size);
            break;
        case TileSlot::Input: {
            const LoopOperand& input = inputs[slot.which];
            KINDLING_ASSERT(item_size(input.type) == slot.item_size);
            Stream& stream = streams_[stream_count_];
            stream.set(input.data, slot.item_size, order.ndim, order.sizes, ordered_strides(order, input, arena),
                       arena.take<int64_t>(3 * order.ndim + 1));
            if (stream.mode == Stream::Repeated) {
                repeated_[i] = 1;
                pointers_[i] = arena.take<char>(splat_bytes);
                fill_splat(pointers_[i], stream.base, slot.item_size);
                break;
            }
            buffers_[i] = all_buffers + program.gather_buffers[static_cast<size_t>(i)] * buffer_bytes;
            gathered_[stream_count_] = nullptr;
            stream_slots_[stream_count_++] = static_cast<int16_t>(i);
            // A broadcast row, the same for all rows: a tile of whole rows gathers it once.
            if (stream.mode == Stream::General && stream.ndim == 2 && stream.strides[0] == 0 && stream.sizes[1] <= tile_ &&
                reading == ByRows)
                tile_ = tile_ / stream.sizes[1] * stream.sizes[1];
            break;
        }
        case TileSlot::Index: {
            int64_t* strides = arena.take<int64_t>(order.ndim + 1);
            for (int d = 0; d < order.ndim; d++) strides[d] = order.dims[d] == slot.which;
            streams_[stream_count_].set(nullptr, 8, order.ndim, order.sizes, strides, arena.take<int64_t>(3 * order.ndim + 1));
            buffers_[i] = all_buffers + program.gather_buffers[static_cast<size_t>(i)] * buffer_bytes;
            gathered_[stream_count_] = nullptr;
            stream_slots_[stream_count_++] = static_cast<int16_t>(i);
            break;
        }
        }
    }
    for (int s = 0; s < stream_count_; s++) row_reads_[s] = Any;
    if (reading != AsTheyCome) plan_rows(reading, row);
    if (folds) fold_native_ = find_native_folds(program, repeated_, folds, order.size);
    bool in_memory = true; // no input needs to be gathered into a tile
    for (int s = 0; s < stream_count_; s++) in_memory &= streams_[s].mode == Stream::Contiguous && streams_[s].base;
    if (fold_native_ && in_memory) tile_ = native_fold_elements();
    if (!fold_native_) {
        // Streaming stores need tiles that begin at whole cache lines: all tiles but the last have the length of the
        // first.
        past_cache &= !by_rows_ && tile_ % 64 == 0;
        auto mark = [&](uint8_t how) {
            for (int16_t slot : program.outputs) repeated_[slot] = how;
        };
        if (past_cache) mark(native_past_cache);
        native_ = find_native(program, repeated_, order.size);
        if (past_cache) mark(0);
        writes_past_cache_ = past_cache && native_;
        for (size_t k = 0; k < program.outputs.size(); k++) {
            in_memory &= program.slots[static_cast<size_t>(program.outputs[k])].kind == TileSlot::Buffer;
            for (size_t j = 0; j < k; j++) in_memory &= program.outputs[j] != program.outputs[k];
        }
    }
    longest_ = native_ && in_memory && tile_ < direction_piece ? direction_piece : tile_;
    if (native_ || fold_native_) {
        frame_ = arena.take<char>(native_frame(fold_native_ ? *fold_native_ : *native_));
        return;
    }
    // A row-invariant input is not invariant over the kernel.
    auto one_numbers = [&](uint8_t repeated) {
        for (int s = 0; s < stream_count_ && by_rows_; s++)
            if (row_reads_[s] == OneNumber) repeated_[stream_slots_[s]] = repeated;
    };
    one_numbers(0);
    for (size_t i = 0; i < program.steps.size(); i++) {
        const TileStep& step = program.steps[i];
        bool all_repeated = true;
        for (int k = 0; k < step.operand_count; k++) all_repeated &= repeated_[step.operands[k]] != 0;
        if (!all_repeated) {
            active_[active_count_++] = static_cast<int16_t>(i);
            continue;
        }
        // All operands are broadcast scalars: computed once, and the result is broadcast from then on.
        char* result = arena.take<char>(splat_bytes);
        char* from[3] = {};
        for (int k = 0; k < step.operand_count; k++) from[k] = pointers_[step.operands[k]];
        step.function(result, from[0], from[1], from[2], step.scale, 0);
        fill_splat(result, result, step.item_size);
        pointers_[step.out] = result;
        repeated_[step.out] = 1;
    }
    one_numbers(1);
}

void TileRunner::plan_rows(Reading reading, int64_t row) {
    for (int s = 0; s < stream_count_; s++) {
        const Stream& stream = streams_[s];
        const int16_t slot = stream_slots_[s];
        if (stream.mode != Stream::General || program_.slots[static_cast<size_t>(slot)].kind != TileSlot::Input) continue;
        const int64_t length = stream.sizes[stream.ndim - 1], stride = stream.strides[stream.ndim - 1];
        if (stride == 0 && length >= 96 && length % row == 0 && reading >= InRows) {
            // Only functions of two or three operands accept a broadcast scalar.
            bool fits = true;
            for (const TileStep& step : program_.steps)
                for (int k = 0; k < step.operand_count; k++) fits &= step.operands[k] != slot || step.operand_count > 1;
            for (int16_t output : program_.outputs) fits &= output != slot;
            if (!fits) continue;
            row_reads_[s] = OneNumber;
            repeated_[slot] = 1;
            pointers_[slot] = spread_arena_->take<char>(splat_bytes);
        } else if (stride != stream.item && stride != 0 && stream.strides[stream.ndim - 2] == stream.item && length >= 64 &&
                   stream.sizes[stream.ndim - 2] >= 16 && length * stream.item <= 1 << 16) {
            row_reads_[s] = Turned;
            bands_[s] = {nullptr, nullptr, stream.item < 4 ? 64 / stream.item : 16, 0};
            bands_[s].memory = spread_arena_->take<char>(bands_[s].rows * length * stream.item);
        }
        by_rows_ |= row_reads_[s] == OneNumber || (row_reads_[s] == Turned && reading == ByRows);
    }
}

bool TileRunner::gathers_rows() const {
    for (int s = 0; s < stream_count_; s++)
        if (streams_[s].mode == Stream::General) return true;
    return false;
}

int64_t TileRunner::within_rows(int64_t n) const {
    if (!by_rows_) [[likely]]
        return n;
    for (int s = 0; s < stream_count_; s++)
        if (row_reads_[s] != Any && streams_[s].run_left() < n) n = streams_[s].run_left();
    return n;
}

/// The next n elements: where the band has them, or in the buffer if they do not end there.
const char* TileRunner::read_across(Stream& stream, Band& band, int64_t n, char* buffer) {
    const int last = stream.ndim - 1;
    const int64_t length = stream.sizes[last], item = stream.item;
    for (char* to = buffer;;) {
        const int64_t column = stream.coordinates[last];
        const char* row = stream.at - column * stream.strides[last];
        // The address of a row's first element identifies the row.
        if (row < band.first || row >= band.first + band.held * item) {
            const int64_t left = stream.sizes[last - 1] - stream.coordinates[last - 1];
            band.first = row;
            band.held = left < band.rows ? left : band.rows;
            find_plane_copy(stream.item)({band.memory, row, {band.held, length}, {length * item, item}, {item, stream.strides[last]}});
        }
        const int64_t at = (row - band.first) / item * length + column, some = band.held * length - at;
        const char* from = band.memory + at * item;
        stream.skip(some < n ? some : n);
        if (to == buffer && some >= n) return from;
        std::memcpy(to, from, static_cast<size_t>((some < n ? some : n) * item));
        if ((n -= some) <= 0) return buffer;
        to += some * item;
    }
}

void TileRunner::seek(int64_t flat) {
    for (int s = 0; s < stream_count_; s++) streams_[s].seek(flat);
}

void TileRunner::fold(int64_t n, char* folded) {
    read_inputs(n);
    run_native(*fold_native_, pointers_, n, frame_, folded);
}

void TileRunner::read_inputs(int64_t n) {
    for (int s = 0; s < stream_count_; s++) {
        Stream& stream = streams_[s];
        int16_t slot = stream_slots_[s];
        if (row_reads_[s] != Any) [[unlikely]] {
            if (row_reads_[s] == Turned) {
                pointers_[slot] = const_cast<char*>(read_across(stream, bands_[s], n, buffers_[slot]));
            } else {
                fill_splat(pointers_[slot], stream.at, stream.item);
                stream.skip(n);
            }
            continue;
        }
        if (stream.direct(n) && program_.slots[static_cast<size_t>(slot)].kind == TileSlot::Input) {
            pointers_[slot] = stream.at;
            stream.skip(n);
            continue;
        }
        pointers_[slot] = buffers_[slot];
        if (program_.slots[static_cast<size_t>(slot)].kind == TileSlot::Index) {
            stream.count(reinterpret_cast<int64_t*>(buffers_[slot]), n);
            continue;
        }
        bool same_rows = stream.mode == Stream::General && stream.ndim == 2 && stream.strides[0] == 0;
        if (same_rows && gathered_[s] == stream.at && gathered_count_ == n) {
            stream.skip(n);
            continue;
        }
        gathered_[s] = stream.at;
        stream.gather(buffers_[slot], n);
    }
    gathered_count_ = n;
}

void TileRunner::run(int64_t n, void* const* direct) {
    read_inputs(n);
    if (native_) {
        for (int16_t slot : program_.outputs)
            if (program_.slots[static_cast<size_t>(slot)].kind == TileSlot::Buffer) pointers_[slot] = nullptr;
        place_outputs(direct);
        for (int16_t slot : program_.outputs)
            if (!pointers_[slot]) pointers_[slot] = buffers_[slot];
        run_native(*native_, pointers_, n, frame_);
        return;
    }
    for (int i = 0; i < active_count_; i++) pointers_[program_.steps[static_cast<size_t>(active_[i])].out] = nullptr;
    place_outputs(direct);
    for (int i = 0; i < active_count_; i++) {
        const TileStep& step = program_.steps[static_cast<size_t>(active_[i])];
        if (!pointers_[step.out]) pointers_[step.out] = buffers_[step.out];
        const char* from[3] = {};
        unsigned splat = 0;
        for (int k = 0; k < step.operand_count; k++) {
            from[k] = pointers_[step.operands[k]];
            splat |= static_cast<unsigned>(repeated_[step.operands[k]]) << k;
        }
        step.function(pointers_[step.out], from[0], from[1], from[2], n * step.scale, splat);
    }
}

/// Lets steps write outputs directly to memory where that is possible.
void TileRunner::place_outputs(void* const* direct) {
    if (!direct) return;
    for (size_t k = 0; k < program_.outputs.size(); k++) {
        int16_t slot = program_.outputs[k];
        if (direct[k] && program_.slots[static_cast<size_t>(slot)].kind == TileSlot::Buffer && !repeated_[slot] && !pointers_[slot])
            pointers_[slot] = static_cast<char*>(direct[k]);
    }
}

const void* TileRunner::output(int k, int64_t n) {
    int16_t slot = program_.outputs[static_cast<size_t>(k)];
    if (repeated_[slot]) {
        if (!spread_) {
            spread_ = static_cast<char*>(spread_arena_->take_bytes(static_cast<size_t>(tile_) * 16 * program_.outputs.size()));
        }
        char* to = spread_ + tile_ * 16 * k;
        spread(to, pointers_[slot], program_.slots[static_cast<size_t>(slot)].item_size, n);
        return to;
    }
    return pointers_[slot];
}

namespace {

/// 1 if the operand is contiguous over the space, 0 if it is a broadcast scalar, -1 if it is neither.
int plain_layout(const LoopKernel& kernel, const LoopOperand& operand) {
    int64_t expected = static_cast<int64_t>(item_size(operand.type));
    bool contiguous = true, repeated = true;
    for (int d = kernel.ndim; d-- > 0;) {
        if (kernel.sizes[d] == 1) continue;
        contiguous &= operand.strides[d] == expected;
        repeated &= operand.strides[d] == 0;
        expected *= kernel.sizes[d];
    }
    return contiguous ? 1 : repeated ? 0 : -1;
}

constexpr int64_t parallel_elements = 32768;
/// Bytes of the tile through which a large result is streamed. With a larger one, up to a page, loads would wait for
/// stores to addresses that end in the same bits (4K aliasing).
constexpr int64_t past_cache_tile = 1024;

/// Whether a step over so many elements takes less time by machine code, which is unrolled: arithmetic of floats, where several streams
/// come from beyond the caches. Tiles of AVX2 load each half of a cache line by the same instruction, and the prefetcher lags behind; sums
/// in place gain on AVX-512, too (Zen 5: a fifth, on AVX2 up to half). Functions, casts and choices do not: tiles have their best code.
bool one_step_gains(const TileProgram& program, int64_t elements, bool in_place) {
    const TileStep& step = program.steps[0];
    if (elements < 1 << 21 || !(in_place || isa() == Isa::Avx2)) return false;
    bool gains = step.task.kind == TileTask::Compute && is_floating(step.task.type) && is_cheap(static_cast<Primitive>(step.task.which));
    for (int k = 0; k < step.operand_count; k++) gains &= program.slots[static_cast<size_t>(step.operands[k])].item_size == step.item_size;
    return gains;
}

/// Runs one step from memory to memory, by machine code. False if there is none. Operands whose bit is set in `splat` are scalars.
/// `past_cache`: with streaming stores.
bool run_step_natively(const LoopKernel& kernel, const TileProgram& program, int64_t size, unsigned splat, const char* const* from,
                       bool past_cache, bool backwards) {
    const TileStep& step = program.steps[0];
    char* out = static_cast<char*>(kernel.operands[0].data);
    if (past_cache && reinterpret_cast<uintptr_t>(out) % 64) return false;
    RunArena arena;
    const size_t slots = program.slots.size();
    uint8_t* repeated = arena.take<uint8_t>(static_cast<int64_t>(slots));
    std::memset(repeated, 0, slots);
    for (int k = 0; k < step.operand_count; k++) repeated[step.operands[k]] = splat >> k & 1;
    if (past_cache) repeated[step.out] = native_past_cache;
    const NativeKernel* native = find_native(program, repeated, size, true);
    if (!native) return false;
    static_assert(parallel_elements % 64 == 0); // parts begin at whole cache lines
    parallel(size, parallel_elements, [&](int64_t first, int64_t last) {
        RunArena own;
        char** pointers = own.take<char*>(static_cast<int64_t>(native_pointers(slots)));
        char* frame = own.take<char>(native_frame(*native));
        in_direction(backwards, first, last, direction_piece, [&](int64_t begin, int64_t end) {
            for (int k = 0; k < step.operand_count; k++) {
                const int16_t s = step.operands[k];
                const int64_t item = splat >> k & 1 ? 0 : program.slots[static_cast<size_t>(s)].item_size;
                pointers[s] = const_cast<char*>(from[k]) + begin * item;
            }
            pointers[step.out] = out + begin * step.item_size;
            run_native(*native, pointers, end - begin, frame);
        });
        if (past_cache) end_past_cache();
    });
    return true;
}

/// Functions for which machine code has no short form (a branch), and tanh. They are bound by arithmetic, so memory
/// keeps up; with streaming stores they would take 1.05 to 1.5 times as long.
bool stays_in_cache(const TileTask& task) {
    if (task.kind != TileTask::Compute || task.type != DType::Float32) return false;
    switch (static_cast<Primitive>(task.which)) {
#define X(PRIMITIVE, ...) case Primitive::PRIMITIVE:
        KINDLING_FOR_EACH_MENDED(X)
        KINDLING_FOR_EACH_LOG(X)
#undef X
    case Primitive::Pow:
    case Primitive::Tanh: return true;
    default: return false;
    }
}

/// Fills memory with one scalar. `rep stos` writes whole lines without reading them. That is twice as fast as stores of
/// 16 bytes, and no slower than streaming stores where the result is larger than the caches.
void fill(char* out, const void* number, int item, int64_t bytes) {
    alignas(64) char pattern[splat_bytes];
    fill_splat(pattern, number, item);
    parallel(bytes, 1 << 18, [&](int64_t begin, int64_t end) {
        char* to = out + begin;
        if (item == 16) return spread(to, pattern, item, (end - begin) / item);
        uint64_t word, words = static_cast<uint64_t>(end - begin) / 8;
        std::memcpy(&word, pattern, 8);
        asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
        std::memcpy(to, pattern, static_cast<size_t>(end - begin) % 8);
    });
}

/// Runs a kernel of one step, or none, on contiguous memory without a tile. False if this kernel is another.
bool run_plain(const LoopKernel& kernel, const TileProgram& program) {
    if (kernel.output_count != 1 || plain_layout(kernel, kernel.operands[0]) != 1) return false;
    KINDLING_ASSERT(item_size(kernel.operands[0].type) == item_size(kernel.expression->output_type(0)));
    int64_t size = 1;
    for (int d = 0; d < kernel.ndim; d++) size *= kernel.sizes[d];
    char* out = static_cast<char*>(kernel.operands[0].data);
    const LoopOperand* inputs = kernel.operands + 1;
    if (program.steps.empty()) {
        const TileSlot& slot = program.slots[static_cast<size_t>(program.outputs[0])];
        const int64_t bytes = size * slot.item_size;
        const void* number = slot.kind == TileSlot::Splat ? program.number(slot, kernel.scalars) : nullptr;
        if (slot.kind == TileSlot::Input && plain_layout(kernel, inputs[slot.which]) == 0) number = inputs[slot.which].data;
        if (number) {
            fill(out, number, slot.item_size, bytes);
            return true;
        }
        if (slot.kind != TileSlot::Input || plain_layout(kernel, inputs[slot.which]) != 1) return false;
        const char* in = static_cast<const char*>(inputs[slot.which].data);
        if (in == out) return true;
        if (bytes <= 1 << 20) {
            copy_bytes(out, in, bytes);
            return true;
        }
        const bool past_cache = passes_cache(bytes), backwards = !past_cache && goes_backwards(2 * bytes);
        parallel(bytes, 1 << 18, [&](int64_t first, int64_t last) {
            in_direction(backwards, first, last, 4 * direction_piece, [&](int64_t begin, int64_t end) {
                (past_cache ? copy_past_cache : copy_bytes)(out + begin, in + begin, end - begin);
            });
            if (past_cache) end_past_cache();
        });
        return true;
    }
    if (!program.one_step) return false;
    const TileStep& step = program.steps[0];
    alignas(64) char splats[3][splat_bytes];
    const char* from[3] = {nullptr, nullptr, nullptr};
    unsigned splat = 0;
    for (int k = 0; k < step.operand_count; k++) {
        const TileSlot& slot = program.slots[static_cast<size_t>(step.operands[k])];
        if (slot.kind == TileSlot::Input) {
            int layout = plain_layout(kernel, inputs[slot.which]);
            if (layout < 0) return false;
            from[k] = static_cast<const char*>(inputs[slot.which].data);
            if (layout == 1) continue;
        } else {
            from[k] = reinterpret_cast<const char*>(program.number(slot, kernel.scalars));
        }
        fill_splat(splats[k], from[k], slot.item_size);
        from[k] = splats[k];
        splat |= 1u << k;
    }
    if (splat == (1u << step.operand_count) - 1) return false;
    if (size <= parallel_elements) [[likely]] {
        step.function(out, from[0], from[1], from[2], size * step.scale, splat);
        return true;
    }
    int64_t items[3] = {};
    for (int k = 0; k < step.operand_count; k++)
        items[k] = splat >> k & 1 ? 0 : program.slots[static_cast<size_t>(step.operands[k])].item_size;
    const bool in_place = from[0] == out || from[1] == out || from[2] == out;
    const int64_t written = size * step.item_size, read = size * (items[0] + items[1] + items[2]);
    if (in_place || stays_in_cache(step.task) || !passes_cache(written, read)) {
        const bool backwards = goes_backwards(written + read);
        if (one_step_gains(program, size, in_place) && run_step_natively(kernel, program, size, splat, from, false, backwards)) return true;
        parallel(size, parallel_elements, [&](int64_t first, int64_t last) {
            in_direction(backwards, first, last, direction_piece, [&](int64_t begin, int64_t end) {
                step.function(out + begin * step.item_size, from[0] + begin * items[0], from[1] + begin * items[1],
                              from[2] + begin * items[2], (end - begin) * step.scale, splat);
            });
        });
        return true;
    }
    if (run_step_natively(kernel, program, size, splat, from, true, false)) return true;
    // Through a tile that stays in the first cache.
    parallel(size, parallel_elements, [&](int64_t begin, int64_t end) {
        alignas(64) char tile[past_cache_tile];
        const int64_t most = past_cache_tile / step.item_size;
        for (int64_t at = begin; at < end; at += most) {
            const int64_t n = end - at < most ? end - at : most;
            step.function(tile, from[0] + at * items[0], from[1] + at * items[1], from[2] + at * items[2], n * step.scale, splat);
            copy_past_cache(out + at * step.item_size, tile, n * step.item_size);
        }
        end_past_cache();
    });
    return true;
}

/// Runs one step over rows without a tile. The output's rows are contiguous. Inputs' rows are contiguous, row-invariant
/// or, in short pieces, gathered. False if this kernel is another.
bool run_one_step(const LoopKernel& kernel, const TileProgram& program, const LoopOrder& order) {
    if (!program.one_step || kernel.output_count != 1 || order.ndim == 0) return false;
    // Pieces are short so that the reads of several inputs alternate and all of them are in flight at once.
    constexpr int64_t gather_piece = 256, room = gather_piece * 16 + 64, longest = 16384;
    const TileStep& step = program.steps[0];
    const LoopOperand& out = kernel.operands[0];
    const int last = order.ndim - 1, count = step.operand_count;
    const int64_t n = order.sizes[last], rows = order.size / n;
    if (out.strides[order.dims[last]] != step.item_size) return false;
    enum Read : uint8_t { Constant, Number, Direct, Gather };
    struct Side {
        const char* data;
        const int64_t* strides;
        int item;
        Read read;
    } sides[3] = {};
    alignas(64) char splats[3][splat_bytes];
    unsigned splat = 0;
    bool gathers = false, numbers = false;
    for (int k = 0; k < count; k++) {
        const TileSlot& slot = program.slots[static_cast<size_t>(step.operands[k])];
        if (slot.kind != TileSlot::Input) {
            fill_splat(splats[k], program.number(slot, kernel.scalars), slot.item_size);
            splat |= 1u << k;
            continue;
        }
        const LoopOperand& input = kernel.operands[1 + slot.which];
        const int64_t stride = input.strides[order.dims[last]];
        sides[k] = {static_cast<const char*>(input.data), input.strides, slot.item_size,
                    stride == slot.item_size ? Direct
                    : stride == 0            ? Number
                                             : Gather};
        if (stride == 0) splat |= 1u << k, numbers = true;
        if (sides[k].read != Gather) continue;
        gathers = true;
        for (int d = 0; d < last; d++) // transposed rows are better gathered many at once
            if (input.strides[order.dims[d]] == slot.item_size && order.sizes[d] >= 16) return false;
    }
    // Two operands of every second element are gathered in turns: two streams for the hardware's prefetcher.
    const auto every_second = [&](int k) { return sides[k].read == Gather && sides[k].strides[order.dims[last]] == 2 * sides[k].item; };
    const bool paired = count == 2 && every_second(0) && every_second(1) && sides[0].item == sides[1].item;
    // Short rows cost more one by one than gathered into a tile, many at once.
    if (n < (gathers ? 128 : numbers ? 80 : 256) || splat == (1u << count) - 1) return false;
    // (Beside them, streaming stores through a tile cost more than they save.)
    const bool past_cache = !paired && passes_cache(order.size * step.item_size, read_bytes(kernel, order)) && [&] {
        for (int k = 0; k < count; k++)
            if (sides[k].data == out.data) return false;
        return true;
    }();
    if ((past_cache || one_step_gains(program, order.size, false)) && !gathers && run_by_rows(kernel, program, order)) return true;
    const int64_t piece = gathers ? gather_piece : past_cache ? past_cache_tile / step.item_size : longest;
    const int64_t parts = (n + longest - 1) / longest;
    const int64_t grain = n >= parallel_elements ? 1 : parallel_elements / n;
    const bool whole_rows = !gathers && !past_cache && parts == 1;
    auto run_tasks = [&](int64_t begin, int64_t end) {
        alignas(64) char repeated[3][splat_bytes], others[3][splat_bytes];
        RunArena arena;
        char* gathered = gathers ? arena.take<char>(3 * room) : nullptr;
        char* tile = past_cache ? arena.take<char>(room) : nullptr;
        const char *at[3], *from[3];
        char* to = nullptr;
        for (int k = 0; k < 3; k++) from[k] = splats[k];
        const int64_t neighbours = last ? order.sizes[last - 1] : 1;
        int64_t left = 0; // rows until the pointers have to be computed anew
        for (int64_t task = begin; task < end; task++) {
            const int64_t first = parts == 1 ? 0 : task % parts * longest, stop = n - first < longest ? n : first + longest;
            if (left == 0) {
                int64_t which = parts == 1 ? task : task / parts;
                if (parts == 1) left = neighbours - which % neighbours;
                else left = 1;
                to = static_cast<char*>(out.data);
                for (int k = 0; k < count; k++) at[k] = sides[k].data;
                for (int d = last - 1; d >= 0; which /= order.sizes[d], d--) {
                    const int64_t place = which % order.sizes[d];
                    to += place * out.strides[order.dims[d]];
                    for (int k = 0; k < count; k++)
                        if (sides[k].data) at[k] += place * sides[k].strides[order.dims[d]];
                }
            }
            if (whole_rows) {
                // A row's scalar is broadcast while the row before it is processed. Read back at once, it would stall
                // (store forwarding).
                const int64_t run = left < end - task ? left : end - task;
                const int64_t to_next = last ? out.strides[order.dims[last - 1]] : 0;
                int64_t next[3] = {};
                for (int k = 0; k < count; k++) {
                    if (sides[k].data && last) next[k] = sides[k].strides[order.dims[last - 1]];
                    if (sides[k].read == Number) fill_splat(repeated[k], at[k], sides[k].item);
                    if (sides[k].read == Direct) from[k] = at[k];
                }
                for (int64_t r = 0; r < run; r++, to += to_next) {
                    for (int k = 0; k < count; k++) {
                        if (sides[k].read == Direct && r) from[k] += next[k];
                        if (sides[k].read != Number) continue;
                        from[k] = r & 1 ? others[k] : repeated[k];
                        if (r + 1 < run) fill_splat(r & 1 ? repeated[k] : others[k], at[k] += next[k], sides[k].item);
                    }
                    step.function(to, from[0], from[1], from[2], n * step.scale, splat);
                }
                task += run - 1;
                left -= run;
                continue;
            }
            for (int k = 0; k < count; k++)
                if (sides[k].read == Number) fill_splat(repeated[k], at[k], sides[k].item), from[k] = repeated[k];
            for (int64_t i = first; i < stop; i += piece) {
                const int64_t m = stop - i < piece ? stop - i : piece;
                if (paired) {
                    // AVX2: a line of elements more, since instructions that read only the last vector of a piece confuse the prefetcher,
                    // which follows them one by one.
                    const int64_t item = sides[0].item, more = isa() == Isa::Avx2 ? 64 / item : 0,
                                  some = i + m + more < stop ? m + more : m;
                    find_plane_copy(sides[0].item)({gathered, at[0] + 2 * i * item, {2, some}, {room, item}, {at[1] - at[0], 2 * item}});
                    from[0] = gathered, from[1] = gathered + room;
                }
                for (int k = 0; k < count && !paired; k++) {
                    if (sides[k].read == Direct) {
                        from[k] = at[k] + i * sides[k].item;
                    } else if (sides[k].read == Gather) {
                        const int64_t item = sides[k].item, stride = sides[k].strides[order.dims[last]];
                        const char* next = at[k] + (i + piece) * stride;
                        if (stride == 2 * item && i + piece < stop) fetch_ahead(next, piece * stride);
                        find_plane_copy(sides[k].item)({gathered + k * room, at[k] + i * stride, {1, m}, {0, item}, {0, stride}});
                        from[k] = gathered + k * room;
                    }
                }
                char* place = to + i * step.item_size;
                step.function(past_cache ? tile : place, from[0], from[1], from[2], m * step.scale, splat);
                if (past_cache) copy_past_cache(place, tile, m * step.item_size);
            }
            if (--left == 0) continue;
            to += out.strides[order.dims[last - 1]];
            for (int k = 0; k < count; k++)
                if (sides[k].data) at[k] += sides[k].strides[order.dims[last - 1]];
        }
        if (past_cache) end_past_cache();
    };
    int64_t bytes = step.item_size;
    for (int k = 0; k < count; k++) bytes += sides[k].read == Direct || sides[k].read == Gather ? sides[k].item : 0;
    const bool backwards = !past_cache && goes_backwards(order.size * bytes);
    parallel(rows * parts, grain, [&](int64_t begin, int64_t end) {
        in_direction(backwards, begin, end, n < direction_piece ? direction_piece / n : 1, run_tasks);
    });
    return true;
}

void run_range(const LoopKernel& kernel, const TileProgram& program, const LoopOrder& order, bool backwards, int64_t begin, int64_t end) {
    RunArena arena;
    const int outputs = kernel.output_count;
    Stream* streams = arena.take<Stream>(outputs);
    void** direct = arena.take<void*>(outputs);
    bool *may_be_direct = arena.take<bool>(outputs), *past_cache = arena.take<bool>(outputs);
    bool any_past_cache = false, all_past_cache = true;
    const int64_t read = read_bytes(kernel, order);
    for (int k = 0; k < outputs; k++) {
        const LoopOperand& operand = kernel.operands[k];
        KINDLING_ASSERT(item_size(operand.type) == item_size(kernel.expression->output_type(k)));
        streams[k].set(operand.data, static_cast<int>(item_size(operand.type)), order.ndim, order.sizes,
                       ordered_strides(order, operand, arena), arena.take<int64_t>(3 * order.ndim + 1));
        streams[k].seek(begin);
        // A step before the last must not overwrite what a later one still reads.
        may_be_direct[k] = true;
        if (!program.steps.empty() && program.steps.back().out != program.outputs[static_cast<size_t>(k)])
            for (int i = 0; i < kernel.input_count; i++)
                if (kernel.operands[outputs + i].data == operand.data) may_be_direct[k] = false;
        past_cache[k] = streams[k].run_stride() == streams[k].item && passes_cache(order.size * streams[k].item, read);
        for (int i = 0; i < kernel.input_count; i++) // an output in place was just read, so its lines are in the cache
            if (kernel.operands[outputs + i].data == operand.data) past_cache[k] = false;
        any_past_cache |= past_cache[k];
        all_past_cache &= past_cache[k] && streams[k].mode == Stream::Contiguous && reinterpret_cast<uintptr_t>(streams[k].at) % 64 == 0 &&
                          program.slots[static_cast<size_t>(program.outputs[static_cast<size_t>(k)])].kind == TileSlot::Buffer;
    }
    TileRunner runner(program, order, kernel.operands + outputs, kernel.scalars, 4096, TileRunner::ByRows, arena, nullptr, all_past_cache);
    bool no_tiles = true;
    for (int k = 0; k < outputs; k++)
        no_tiles &= may_be_direct[k] && streams[k].mode == Stream::Contiguous && (!past_cache[k] || runner.writes_past_cache());
    const int64_t most = no_tiles ? runner.longest() : runner.tile();
    // Tiles end with a row where rows are short, so that an operand is one plane of whole rows, not a part of a row at each end.
    const int64_t row = order.ndim ? order.sizes[order.ndim - 1] : 1;
    const bool whole_rows = runner.gathers_rows() && row > 1 && row <= most / 4 && !runner.writes_past_cache();
    auto run_piece = [&](int64_t from_element, int64_t to_element) {
        for (int k = 0; k < outputs; k++) streams[k].seek(from_element);
        runner.seek(from_element);
        for (int64_t at = from_element; at < to_element;) {
            int64_t n = runner.within_rows(to_element - at < most ? to_element - at : most);
            if (whole_rows && n == most) n -= (at + n) % row;
            for (int k = 0; k < outputs; k++)
                direct[k] = may_be_direct[k] && (!past_cache[k] || runner.writes_past_cache()) &&
                                    (streams[k].direct(n) || (n == 1 && order.size == 1))
                                ? streams[k].at
                                : nullptr;
            runner.run(n, direct);
            for (int k = 0; k < outputs; k++) {
                const void* from = runner.output(k, n);
                if (from == streams[k].at) {
                    streams[k].skip(n);
                } else if (past_cache[k] && streams[k].direct(n)) {
                    copy_past_cache(streams[k].at, from, n * streams[k].item);
                    streams[k].skip(n);
                } else {
                    streams[k].scatter(from, n);
                }
            }
            at += n;
        }
    };
    in_direction(backwards, begin, end, most * (direction_piece / most + (most < direction_piece)), run_piece);
    if (any_past_cache) end_past_cache();
}

} // namespace

void run_pointwise(const LoopKernel& kernel) {
    const TileProgram& program = kernel.expression->program();
    if (((program.steps.empty() || !native_always()) && run_plain(kernel, program)) || run_copy(kernel, program)) return;
    KINDLING_ASSERT(static_cast<size_t>(kernel.output_count) == program.outputs.size());
    RunArena arena;
    LoopOrder order = order_dims(kernel, ~uint64_t{0}, true, arena);
    if (order.size == 0) return;
    LoopOrder merged = order; // tiles keep the dimensions as they are, since operands may be merged further apart from one another
    merged.sizes = arena.take<int64_t>(order.ndim + 1), merged.dims = arena.take<int>(order.ndim + 1);
    std::memcpy(merged.sizes, order.sizes, static_cast<size_t>(order.ndim) * sizeof *order.sizes);
    std::memcpy(merged.dims, order.dims, static_cast<size_t>(order.ndim) * sizeof *order.dims);
    merge_dims(merged, 0, merged.ndim, kernel);
    if (program.one_step && !native_always() && run_one_step(kernel, program, merged)) return;
    if (run_by_rows(kernel, program, merged)) return;
    int64_t grain = parallel_elements / (1 + static_cast<int64_t>(program.steps.size()) / 4) & ~int64_t{63};
    if (grain == 0) grain = 64;
    int64_t bytes = 0;
    bool past_cache = false;
    const int64_t read = read_bytes(kernel, order);
    for (int k = 0; k < kernel.output_count + kernel.input_count; k++) {
        const int64_t item = static_cast<int64_t>(item_size(kernel.operands[k].type));
        bytes += order.size * item;
        past_cache |= k < kernel.output_count && passes_cache(order.size * item, read);
    }
    const bool backwards = !past_cache && goes_backwards(bytes);
    parallel(order.size, grain, [&](int64_t begin, int64_t end) { run_range(kernel, program, order, backwards, begin, end); });
}

void run(const LoopKernel& kernel) {
    if (kernel.row) run_rows(kernel);
    else if (kernel.scan != Scan::None) [[unlikely]] run_scan(kernel);
    else if (kernel.combines) run_fold(kernel);
    else run_pointwise(kernel);
}

} // namespace kindling
