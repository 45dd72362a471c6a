// kernels/native/native.cpp: when a kernel is compiled, where its code is kept, how it runs.
#include "kernels/native/native.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "kernels/native/emit.h"
#include "kernels/native/levels.h"
#include "kernels/native/memory.h"
#include "kernels/native/pieces.h"
#include "kernels/tile/move.h"

namespace kindling {

/// Code that several programs may share, with a reference count.
class NativeKernel {
public:
    using Function = void (*)(char* const* pointers, int64_t n, char* frame, char* const* end);
    struct Memory {
        int16_t slot;
        uint8_t item;
        bool written;
    };
    struct Fold {
        TileFunction merge;
        LaneBlocksFold finish;
        uint8_t item;
        char identity[8];
    };

    Function function;
    size_t size;
    int64_t frame;
    int turn, lanes; // elements in one turn of the loop, and in one of its vectors
    bool partial;    // it has code for the remainder
    int references;
    size_t pointers;            // per row
    std::vector<Memory> memory; // what is read and written per element
    std::vector<Fold> folds;
    // Of one in pieces: it has no code of its own, and its frame begins with a block of each of the slots between them.
    std::vector<NativeKernel*> pieces{};
    std::vector<Memory> between{};
    int64_t block = 0; // elements

    size_t pointer_bytes() const { return (pointers * sizeof(char*) + 63) & ~size_t{63}; } // of one row, in whole cache lines
    size_t copy_bytes() const { return folds.empty() ? 64 : fold_lanes_bytes; }            // of each memory, for the remainder
};

struct NativeVariant {
    NativeVariant* next;
    NativeKernel* kernel; // null: there is no native form
    std::vector<uint8_t> repeated;
    std::vector<uint8_t> combines; // one per output, if they are reduced
    int rows;                      // how many are merged into lanes at once; 0: none; short_rows: none, but several run at a call
};
struct NativeRowVariant {
    NativeRowVariant* next;
    std::vector<Extent> extents;
    bool past_cache, partial, fetches;
    std::vector<NativeKernel*> kernels;
    bool good; // there is a native form
    NativeRows rows;
};
/// How much a tile program has been used, and its code.
struct NativeState {
    NativeVariant* first = nullptr;
    NativeRowVariant* first_rows = nullptr;
    int64_t work = 0;
    int count = 0;
};

namespace {

using Mode = NativeMode;
constinit uint8_t chosen = 255;
constinit bool refused = false; // the system refuses executable memory

constexpr int64_t worth = 1 << 21; // elements times steps, after which compiling pays
constexpr int64_t call_work = 64;  // the cost of a call, in elements
constexpr size_t cache_bytes = 8 << 20, cache_kernels = 1024, live_bytes = 64 << 20;
constexpr int most_variants = 8;
constexpr int short_rows = -1;

Mode mode() {
    uint8_t have = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (have == 255) [[unlikely]] {
        const char* wish = std::getenv("KINDLING_NATIVE");
        set_native(!wish ? Mode::Worth : !std::strcmp(wish, "0") ? Mode::Off : !std::strcmp(wish, "1") ? Mode::Always : Mode::Worth);
        have = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    }
    return static_cast<Mode>(have);
}

/// Kernels by what they compute, so that equal expressions share them. Bounded: the oldest are dropped, and freed with
/// the last program that uses them.
struct Cache {
    std::mutex mutex;
    std::unordered_map<std::string, NativeKernel*> kernels;
    std::deque<std::string> order;
    size_t bytes = 0, live = 0;
    int64_t compiled = 0;
};
Cache& cache() {
    static Cache* made = new Cache; // never destroyed: code may run until the end
    return *made;
}

void release(NativeKernel* kernel, Cache& from) {
    if (--kernel->references > 0) return;
    for (NativeKernel* piece : kernel->pieces) release(piece, from);
    if (kernel->function) {
        from.live -= kernel->size;
        native::free_executable(reinterpret_cast<void*>(kernel->function), kernel->size);
    }
    delete kernel;
}

std::string key_of(const TileProgram& program, const uint8_t* repeated) {
    std::string key;
    auto put = [&](const void* bytes, size_t size) { key.append(static_cast<const char*>(bytes), size); };
    auto put16 = [&](int value) {
        int16_t small = static_cast<int16_t>(value);
        put(&small, 2);
    };
    for (const TileStep& step : program.steps) {
        const uint8_t task[] = {step.task.kind, step.task.which, static_cast<uint8_t>(step.task.type), static_cast<uint8_t>(step.task.to)};
        put(task, sizeof task);
        put16(step.out);
        for (int k = 0; k < step.operand_count; k++) put16(step.operands[k]);
    }
    put16(-1);
    for (size_t i = 0; i < program.slots.size(); i++) {
        const TileSlot& slot = program.slots[i];
        const uint8_t facts[] = {static_cast<uint8_t>(slot.kind), slot.item_size, repeated[i]};
        put(facts, sizeof facts);
        if (slot.kind == TileSlot::Splat && slot.which >= 0) put(&program.constants[static_cast<size_t>(slot.which)], sizeof(Immediate));
    }
    for (int16_t output : program.outputs) put16(output);
    return key;
}

std::string text_of(const TileProgram& program) {
    std::string text;
    for (size_t i = 0; i < program.slots.size(); i++) {
        const TileSlot& slot = program.slots[i];
        static constexpr const char* kinds[] = {"input", "index", "number", "buffer", "unused"};
        if (slot.kind == TileSlot::Buffer || slot.kind == TileSlot::Unused) continue;
        text += format("slot %zu: %s %d, %d bytes\n", i, kinds[slot.kind], slot.which, slot.item_size);
    }
    for (const TileStep& step : program.steps) {
        static constexpr const char* moves[] = {"HalfToFloat",   "BFloat16ToFloat", "FloatToHalf",   "FloatToBFloat16",
                                                "RoundHalf",     "RoundBFloat16",   "Float8ToFloat", "Float8ToFloat",
                                                "Float8ToFloat", "Float8ToFloat",   "Float8ToFloat", "FloatToFloat8",
                                                "FloatToFloat8", "FloatToFloat8",   "FloatToFloat8", "FloatToFloat8"};
        static_assert(std::size(moves) == static_cast<size_t>(TileMove::End));
        const TileTask& task = step.task;
        text += format("slot %d = %s", step.out,
                       task.kind == TileTask::Move   ? moves[task.which]
                       : task.kind == TileTask::Cast ? "Cast"
                       : task.kind == TileTask::Fold ? "Fold"
                                                     : name(static_cast<Primitive>(task.which)));
        for (int k = 0; k < step.operand_count; k++) text += format(k ? ", %d" : " %d", step.operands[k]);
        if (task.kind != TileTask::Move) text += format(": %s", name(task.type));
        if (task.kind == TileTask::Cast) text += format(" to %s", name(task.to));
        text += "\n";
    }
    text += "outputs";
    for (int16_t output : program.outputs) text += format(" %d", output);
    return text + "\n";
}

double microseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

void trace(const char* path, const TileProgram& program, const native::LaneProgram& lanes, const native::MachineCode& code, double time) {
    std::FILE* file = std::fopen(path, "a");
    if (!file) return; // a trace that can't be written is no reason to fail
    std::string text = "kernel\n" + text_of(program) + "lanes\n" + lanes.to_string() + "assembly\n" + code.listing +
                       format("code %d bytes, constants %zu bytes, frame %lld bytes, compiled in %.1f us\n\n", code.code_size,
                              code.bytes.size() - static_cast<size_t>(code.code_size), static_cast<long long>(code.frame), time);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
}

/// A vector has as many lanes as the widest values allow. If most work is on narrow values, tiles cost less: each of
/// their steps has its own width, at the price of a load or two and a store.
bool tiles_are_faster(const TileProgram& program, const native::LaneProgram& lanes) {
    const int narrow_lanes = (lanes.isa == Isa::Avx512 ? 64 : 32) / 4;
    if (lanes.lanes == narrow_lanes) return false;
    size_t narrow = 0;
    for (const native::Lane& lane : lanes.values) narrow += lane.width == 4 && !lane.invariant;
    return narrow > 3 * program.steps.size();
}

NativeKernel* compile(const TileProgram& program, const uint8_t* repeated, bool partial, const std::vector<native::LaneFetch>& fetches,
                      Cache& into) {
    const double begin = microseconds();
    native::LaneProgram lanes;
    if (!native::record(program, isa(), repeated, lanes)) return nullptr;
    if (mode() == Mode::Worth && tiles_are_faster(program, lanes)) return nullptr;
    lanes.fetches = fetches;
    lanes.verify(static_cast<int>(program.slots.size()));
    lanes.partial = partial && native::has_partial_form(lanes);
    const char* trace_path = std::getenv("KINDLING_TRACE_KERNELS");
    native::MachineCode code = native::emit(lanes, trace_path != nullptr);
    if (into.live + code.bytes.size() > live_bytes) return nullptr;
    void* memory = native::make_executable(code.bytes.data(), code.bytes.size());
    if (!memory) {
        __atomic_store_n(&refused, true, __ATOMIC_RELAXED);
        return nullptr;
    }
    NativeKernel* kernel = new NativeKernel{reinterpret_cast<NativeKernel::Function>(memory),
                                            code.bytes.size(),
                                            code.frame,
                                            lanes.turn(),
                                            lanes.lanes,
                                            lanes.partial,
                                            0,
                                            static_cast<size_t>(lanes.pointers()),
                                            {},
                                            {}};
    std::vector<bool> known(program.slots.size(), false);
    auto add_memory = [&](size_t slot, bool written) {
        if (!known[slot]) kernel->memory.push_back({static_cast<int16_t>(slot), program.slots[slot].item_size, written});
        known[slot] = true;
    };
    for (const native::LaneStore& store : lanes.stores) add_memory(static_cast<size_t>(store.slot), true);
    for (const native::Lane& lane : lanes.values)
        if (native::is_load(lane) && !lane.invariant) add_memory(static_cast<size_t>(lane.bits), false);
    for (const TileStep& step : program.steps) {
        if (!step.fold) continue;
        const Combine combine = static_cast<Combine>(step.task.which);
        NativeKernel::Fold fold{step.function, find_lane_fold(combine, step.task.type), step.item_size, {}};
        const Immediate identity = Immediate::of(step.task.type, lane_identity(combine));
        std::memcpy(fold.identity, &identity, sizeof fold.identity);
        kernel->folds.push_back(fold);
    }
    into.live += kernel->size;
    into.compiled++;
    if (trace_path) trace(trace_path, program, lanes, code, microseconds() - begin);
    return kernel;
}

/// In pieces, if that is faster: null if not, or if there is no native form.
NativeKernel* compile_pieces(const TileProgram& program, const uint8_t* repeated, Cache& into) {
    const native::Pieces parts = native::make_pieces(program, repeated);
    if (parts.pieces.empty()) return nullptr;
    auto* kernel = new NativeKernel{nullptr, 0, 0, 0, 0, false, 1, native_pointers(program.slots.size()), {}, {}, {}, {}, 0};
    try {
        for (const native::Piece& part : parts.pieces) {
            NativeKernel* piece = compile(part.program, part.repeated.data(), false, {}, into);
            if (!piece) {
                release(kernel, into);
                return nullptr;
            }
            kernel->pieces.push_back(piece);
            piece->references = 1;
            kernel->size += piece->size;
        }
        std::vector<uint8_t> known(program.slots.size(), 0);
        int64_t bytes = 0; // an element's
        for (int16_t slot : parts.between) {
            const uint8_t item = program.slots[static_cast<size_t>(slot)].item_size;
            kernel->between.push_back({slot, item, false});
            known[static_cast<size_t>(slot)] = 1;
            bytes += item;
        }
        for (const NativeKernel* piece : kernel->pieces)
            for (const NativeKernel::Memory& memory : piece->memory) {
                uint8_t& seen = known[static_cast<size_t>(memory.slot)];
                if (!seen) kernel->memory.push_back(memory);
                seen = 1;
            }
        constexpr int64_t most_bytes = 1 << 13; // a fourth of the first cache
        kernel->block = 1024;
        while (kernel->block > 256 && kernel->block * bytes > most_bytes) kernel->block /= 2;
        int64_t inner = 0;
        for (const NativeKernel* piece : kernel->pieces) inner = std::max(inner, native_frame(*piece));
        kernel->frame = kernel->block * bytes + static_cast<int64_t>(kernel->pointer_bytes()) + inner;
    } catch (...) {
        release(kernel, into);
        throw;
    }
    return kernel;
}

/// What a kernel is run over: elements, rows, or rows with a masked remainder if that is possible.
enum class Over : uint8_t { Elements, Rows, PartialRows };

NativeKernel* cached_kernel(const TileProgram& program, const uint8_t* repeated, Over over, const std::vector<native::LaneFetch>& fetches,
                            Cache& from) {
    std::string key = key_of(program, repeated);
    key += static_cast<char>(over);
    for (const native::LaneFetch& fetch : fetches) {
        key.append(reinterpret_cast<const char*>(&fetch.slot), sizeof fetch.slot);
        key += static_cast<char>(fetch.item), key += static_cast<char>(fetch.to_write);
    }
    auto known = from.kernels.find(key);
    if (known != from.kernels.end()) {
        known->second->references++;
        return known->second;
    }
    NativeKernel* kernel = over == Over::Elements ? compile_pieces(program, repeated, from) : nullptr;
    if (!kernel) kernel = compile(program, repeated, over == Over::PartialRows, fetches, from);
    if (!kernel) return nullptr;
    kernel->references = 2;
    from.bytes += kernel->size;
    from.kernels.emplace(key, kernel);
    from.order.push_back(static_cast<std::string&&>(key));
    while (from.order.size() > cache_kernels || from.bytes > cache_bytes) {
        auto oldest = from.kernels.find(from.order.front());
        from.bytes -= oldest->second->size;
        release(oldest->second, from);
        from.kernels.erase(oldest);
        from.order.pop_front();
    }
    return kernel;
}

NativeState* state_of(const TileProgram& program) {
    NativeState* have = __atomic_load_n(&program.native, __ATOMIC_ACQUIRE);
    if (have) [[likely]]
        return have;
    NativeState* made = new NativeState;
    if (__atomic_compare_exchange_n(&program.native, &have, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
    delete made;
    return have;
}

/// Counts elements that are about to be computed in addition to earlier ones. True if compiling pays by now.
bool has_proved_worth(NativeState& state, const TileProgram& program, int64_t elements, Mode how, bool folds = false) {
    if (how == Mode::Always) return true;
    const int64_t more = (elements + call_work) * static_cast<int64_t>(program.steps.size() + folds);
    return __atomic_add_fetch(&state.work, more, __ATOMIC_RELAXED) >= worth;
}

/// Without the lock if another thread has it and tiles can run meanwhile.
std::unique_lock<std::mutex> lock_of(Cache& kernels, Mode how) {
    if (how == Mode::Always) return std::unique_lock<std::mutex>(kernels.mutex);
    return std::unique_lock<std::mutex>(kernels.mutex, std::try_to_lock);
}

const NativeVariant* variant_of(const NativeState& state, const TileProgram& program, const uint8_t* repeated, const NativeFold* folds,
                                int rows) {
    for (const NativeVariant* variant = __atomic_load_n(&state.first, __ATOMIC_ACQUIRE); variant; variant = variant->next) {
        bool same = variant->combines.empty() == (folds == nullptr) && variant->rows == rows &&
                    !std::memcmp(variant->repeated.data(), repeated, program.slots.size());
        for (size_t k = 0; same && folds && k < variant->combines.size(); k++)
            same = variant->combines[k] == static_cast<uint8_t>(folds[k].combine);
        if (same) return variant;
    }
    return nullptr;
}

Primitive merge_of(Combine combine) {
    static constexpr Primitive merges[] = {Primitive::Add, Primitive::Mul, Primitive::Min, Primitive::Max};
    return merges[static_cast<int>(combine)];
}

/// The program with its outputs reduced.
TileProgram with_folds(const TileProgram& program, const NativeFold* folds) {
    TileProgram folded;
    folded.steps = program.steps;
    folded.slots = program.slots;
    folded.constants = program.constants;
    for (size_t k = 0; k < program.outputs.size(); k++) {
        const Combine combine = folds[k].combine;
        const DType type = folds[k].type;
        const uint8_t item = static_cast<uint8_t>(item_size(type));
        folded.slots.push_back({TileSlot::Buffer, item, -1});
        TileStep step{find_tile(merge_of(combine), type).function,
                      static_cast<int16_t>(folded.slots.size() - 1),
                      {program.outputs[k], -1, -1},
                      1,
                      1,
                      item,
                      0,
                      find_row_fold(combine, type),
                      {TileTask::Fold, static_cast<uint8_t>(combine), type, type}};
        folded.steps.push_back(step);
    }
    return folded;
}

/// The program for several rows at once, each output merged into lanes. Slots are as in find_native_lanes.
TileProgram with_lanes(const TileProgram& program, const NativeFold* folds, int rows) {
    TileProgram result;
    result.constants = program.constants;
    const size_t own = program.slots.size(), outputs = program.outputs.size();
    for (int r = 0; r < rows; r++) {
        result.slots.insert(result.slots.end(), program.slots.begin(), program.slots.end());
        const int16_t shift = static_cast<int16_t>(static_cast<size_t>(r) * own);
        for (TileStep step : program.steps) {
            step.out += shift;
            for (int k = 0; k < step.operand_count; k++) step.operands[k] += shift;
            result.steps.push_back(step);
        }
    }
    const size_t read = result.slots.size();
    for (size_t k = 0; k < outputs; k++) result.slots.push_back({TileSlot::Input, static_cast<uint8_t>(item_size(folds[k].type)), 0});
    // A row starts with the lanes that the one before it left. Those of the last row are stored.
    for (int r = 0; r < rows; r++)
        for (size_t k = 0; k < outputs; k++) {
            const DType type = folds[k].type;
            const uint8_t size = static_cast<uint8_t>(item_size(type));
            const size_t out = result.slots.size();
            const Primitive merge = merge_of(folds[k].combine);
            result.slots.push_back({TileSlot::Buffer, size, -1});
            result.steps.push_back({find_tile(merge, type).function,
                                    static_cast<int16_t>(out),
                                    {static_cast<int16_t>(r ? out - outputs : read + k),
                                     static_cast<int16_t>(program.outputs[k] + r * static_cast<int>(own)), -1},
                                    2,
                                    1,
                                    size,
                                    0,
                                    nullptr,
                                    {TileTask::Compute, static_cast<uint8_t>(merge), type, type}});
        }
    for (size_t k = outputs; k > 0; k--) result.outputs.push_back(static_cast<int16_t>(result.slots.size() - k));
    return result;
}

} // namespace

void set_native(NativeMode mode) {
    if (isa() == Isa::Baseline) mode = Mode::Off;
    __atomic_store_n(&chosen, static_cast<uint8_t>(mode), __ATOMIC_RELAXED);
}

bool native_always() { return mode() == Mode::Always; }
bool native_off() { return mode() == Mode::Off; }

/// Then a single step gains as well: tiles need an intermediate tile for streaming stores.
static bool writes_past_cache(const TileProgram& program, const uint8_t* repeated) {
    for (int16_t output : program.outputs)
        if (repeated[output] == native_past_cache) return true;
    return false;
}

static const NativeKernel* find_kernel(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds, int64_t elements,
                                       int rows = 0, bool one_gains = false) {
    const Mode how = mode();
    if (how == Mode::Off || (program.steps.empty() && rows <= 0) || __atomic_load_n(&refused, __ATOMIC_RELAXED)) return nullptr;
    one_gains |= rows == short_rows || writes_past_cache(program, repeated);
    if (how == Mode::Worth && program.steps.size() < 2 && !folds && !one_gains) return nullptr;
    NativeState* state = state_of(program);
    if (const NativeVariant* variant = variant_of(*state, program, repeated, folds, rows)) return variant->kernel;
    if (!has_proved_worth(*state, program, elements, how, folds != nullptr)) return nullptr;
    Cache& kernels = cache();
    const std::unique_lock<std::mutex> lock = lock_of(kernels, how);
    if (!lock) return nullptr;
    if (const NativeVariant* variant = variant_of(*state, program, repeated, folds, rows)) return variant->kernel;
    if (state->count >= most_variants) return nullptr;
    NativeVariant* variant =
        new NativeVariant{state->first, nullptr, std::vector<uint8_t>(repeated, repeated + program.slots.size()), {}, rows};
    try {
        if (folds) {
            const TileProgram folded = rows ? with_lanes(program, folds, rows) : with_folds(program, folds);
            std::vector<uint8_t> all_repeated;
            for (int copy = 0; copy == 0 || copy < rows; copy++)
                all_repeated.insert(all_repeated.end(), repeated, repeated + program.slots.size());
            all_repeated.resize(folded.slots.size());
            for (size_t k = 0; k < program.outputs.size(); k++) variant->combines.push_back(static_cast<uint8_t>(folds[k].combine));
            variant->kernel = cached_kernel(folded, all_repeated.data(), rows > 0 ? Over::PartialRows : Over::Rows, {}, kernels);
        } else {
            variant->kernel = cached_kernel(program, repeated, rows == short_rows ? Over::PartialRows : Over::Elements, {}, kernels);
        }
    } catch (...) {
        delete variant;
        throw;
    }
    state->count++;
    __atomic_store_n(&state->first, variant, __ATOMIC_RELEASE);
    return variant->kernel;
}

const NativeKernel* find_native(const TileProgram& program, const uint8_t* repeated, int64_t elements, bool one_step_gains) {
    return find_kernel(program, repeated, nullptr, elements, 0, one_step_gains);
}
const NativeKernel* find_native_short_rows(const TileProgram& program, const uint8_t* repeated, int64_t elements) {
    return find_kernel(program, repeated, nullptr, elements, short_rows);
}
static bool have_lanes(const TileProgram& program, const NativeFold* folds) {
    for (size_t k = 0; k < program.outputs.size(); k++)
        if (!find_lane_fold(folds[k].combine, folds[k].type)) return false;
    return true;
}
const NativeKernel* find_native_folds(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds, int64_t elements) {
    return have_lanes(program, folds) ? find_kernel(program, repeated, folds, elements) : nullptr;
}
NativeLanes find_native_lanes(const TileProgram& program, const uint8_t* repeated, const NativeFold* folds, int rows, int64_t elements) {
    const size_t own = program.slots.size(), outputs = program.outputs.size(), copies = static_cast<size_t>(rows);
    return {have_lanes(program, folds) ? find_kernel(program, repeated, folds, elements, rows) : nullptr,
            copies * own + (copies + 1) * outputs, copies * own, copies * (own + outputs)};
}

static const NativeRowVariant* variant_of_rows(const NativeState& state, const Extent* extents, bool past_cache, bool partial,
                                               bool fetches) {
    for (const NativeRowVariant* variant = __atomic_load_n(&state.first_rows, __ATOMIC_ACQUIRE); variant; variant = variant->next)
        if (variant->past_cache == past_cache && variant->partial == partial && variant->fetches == fetches &&
            !std::memcmp(variant->extents.data(), extents, variant->extents.size()))
            return variant;
    return nullptr;
}

static bool compile_rows(const TileProgram& program, NativeRowVariant& variant, Cache& kernels) {
    std::vector<native::Level> levels;
    NativeRows& rows = variant.rows;
    if (!native::make_levels(program, variant.extents.data(), variant.past_cache, levels, rows.kept)) return false;
    for (native::Level& level : levels) {
        if (!variant.fetches) level.fetches.clear();
        rows.levels.push_back({nullptr, {}});
        if (level.program.steps.empty()) continue;
        NativeKernel* kernel =
            cached_kernel(level.program, level.repeated.data(), variant.partial ? Over::PartialRows : Over::Rows, level.fetches, kernels);
        if (!kernel) return false;
        variant.kernels.push_back(kernel);
        rows.levels.back().kernel = kernel;
        for (const TileStep& step : level.program.steps)
            if (step.fold) rows.levels.back().folds.push_back(step.out);
        const int64_t frame = native_frame(*kernel, most_native_rows);
        if (frame > rows.frame) rows.frame = frame;
    }
    return true;
}

const NativeRows* find_native_rows(const TileProgram& program, const Extent* extents, bool past_cache, int64_t n, int64_t elements) {
    const Mode how = mode();
    const bool fetches = n <= native_fold_elements(), partial = n % fold_lanes != 0 && fetches;
    if (how == Mode::Off || __atomic_load_n(&refused, __ATOMIC_RELAXED)) return nullptr;
    NativeState* state = state_of(program);
    if (const NativeRowVariant* variant = variant_of_rows(*state, extents, past_cache, partial, fetches))
        return variant->good ? &variant->rows : nullptr;
    if (!has_proved_worth(*state, program, elements, how)) return nullptr;
    Cache& kernels = cache();
    const std::unique_lock<std::mutex> lock = lock_of(kernels, how);
    if (!lock) return nullptr;
    if (const NativeRowVariant* variant = variant_of_rows(*state, extents, past_cache, partial, fetches))
        return variant->good ? &variant->rows : nullptr;
    if (state->count >= most_variants) return nullptr;
    NativeRowVariant* variant = new NativeRowVariant{
        state->first_rows, std::vector<Extent>(extents, extents + program.slots.size()), past_cache, partial, fetches, {}, false, {}};
    try {
        variant->good = compile_rows(program, *variant, kernels);
    } catch (...) {
        for (NativeKernel* kernel : variant->kernels) release(kernel, kernels);
        delete variant;
        throw;
    }
    state->count++;
    __atomic_store_n(&state->first_rows, variant, __ATOMIC_RELEASE);
    return variant->good ? &variant->rows : nullptr;
}

int64_t native_kernel_count() {
    Cache& kernels = cache();
    std::lock_guard<std::mutex> lock(kernels.mutex);
    return kernels.compiled;
}

int64_t native_frame(const NativeKernel& kernel, int64_t rows) {
    if (!kernel.pieces.empty()) return kernel.frame;
    const size_t row = kernel.pointers * sizeof(char*) + kernel.memory.size() * kernel.copy_bytes();
    return kernel.frame + rows * static_cast<int64_t>(row) + static_cast<int64_t>(kernel.folds.size()) * native::fold_area;
}

int64_t native_fold_elements() { return native::most_fold_blocks * fold_block; }

int64_t native_rows_at_once(int64_t n, int64_t item) {
    static_assert(most_native_rows == native::most_rows && most_native_rows <= native::most_fold_blocks);
    constexpr int64_t bytes = 1 << 14; // the next rows and those of the result take as much again of the first cache
    int64_t rows = most_native_rows;
    while (rows > 1 && (rows * n > native_fold_elements() || rows * n * item > bytes)) rows /= 2;
    return rows; // with at least half of them full, their blocks are at most most_fold_blocks
}

/// Copies the few bytes of a remainder. memcpy of a length that is not known becomes a string instruction here, which takes 30 cycles to
/// start.
static void copy_few(char* to, const char* from, size_t bytes) {
    for (; bytes >= 16; to += 16, from += 16, bytes -= 16) std::memcpy(to, from, 16);
    if (bytes & 8) std::memcpy(to, from, 8), to += 8, from += 8;
    if (bytes & 4) std::memcpy(to, from, 4), to += 4, from += 4;
    if (bytes & 2) std::memcpy(to, from, 2), to += 2, from += 2;
    if (bytes & 1) *to = *from;
}

/// Merges the lanes of the remainder into those of its block.
static void finish_folds(const NativeKernel& kernel, char* lanes, int64_t rows, int64_t n, int64_t rest, char* folded,
                         int64_t folded_rows) {
    const int64_t blocks = (n + fold_block - 1) / fold_block;
    for (size_t f = 0; f < kernel.folds.size(); f++, lanes += native::fold_area, folded += fold_result_bytes * folded_rows) {
        const NativeKernel::Fold& fold = kernel.folds[f];
        for (int64_t r = 0; r < rows && rest; r++) {
            char* last = lanes + fold_lanes_bytes * (blocks * (r + 1) - 1);
            if (n - rest == (blocks - 1) * fold_block)
                for (int i = 0; i < fold_lanes; i++) copy_few(last + i * fold.item, fold.identity, fold.item);
            fold.merge(last, last, lanes + fold_lanes_bytes * (native::most_fold_blocks + r), nullptr, rest, 0);
        }
        fold.finish(folded, lanes, rows, blocks);
    }
}

/// The remainder runs on copies, padded to whole vectors.
static void run_rest(const NativeKernel& kernel, char** pointers, int64_t rows, int64_t whole, int64_t rest, char* frame, char* lanes,
                     char* copies) {
    const size_t room = kernel.copy_bytes(), all = kernel.pointers * static_cast<size_t>(rows);
    char** const own = reinterpret_cast<char**>(copies + kernel.memory.size() * room * static_cast<size_t>(rows));
    copy_bytes(own, pointers, static_cast<int64_t>(all * sizeof(char*)));
    const int64_t turn = kernel.turn;
    char* copy = copies;
    char** each = own;
    for (int64_t r = 0; r < rows; r++, each += kernel.pointers) {
        for (const NativeKernel::Memory& memory : kernel.memory) {
            if (!memory.written) {
                for (int64_t at = 0; at < turn * memory.item; at += 16) std::memset(copy + at, 0, 16); // up to the end of `room`
                copy_few(copy, each[memory.slot] + whole * memory.item, static_cast<size_t>(rest * memory.item));
            }
            each[memory.slot] = copy;
            copy += room;
        }
        each[kernel.pointers - 1] = lanes + fold_lanes_bytes * (native::most_fold_blocks + r);
    }
    kernel.function(own, turn, frame, own + all);
    each = pointers;
    copy = copies;
    for (int64_t r = 0; r < rows; r++, each += kernel.pointers)
        for (const NativeKernel::Memory& memory : kernel.memory) {
            if (memory.written) copy_few(each[memory.slot] + whole * memory.item, copy, static_cast<size_t>(rest * memory.item));
            copy += room;
        }
}

static void run_rows(const NativeKernel& kernel, char** pointers, int64_t rows, int64_t n, char* frame, char* folded, int64_t folded_rows) {
    char* const lanes = frame + kernel.frame;
    const int64_t blocks = (n + fold_block - 1) / fold_block;
    char** const end = pointers + kernel.pointers * static_cast<size_t>(rows);
    char* at = lanes;
    for (char** each = pointers; each < end; each += kernel.pointers, at += fold_lanes_bytes * blocks) each[kernel.pointers - 1] = at;
    const int64_t whole = n - n % kernel.turn;
    int64_t rest = n - whole;
    if (kernel.partial) {
        KINDLING_ASSERT(rest > 0 || kernel.folds.empty());
        if (isa() != Isa::Avx512) {
            const size_t item = 32 / static_cast<size_t>(kernel.lanes);
            for (int64_t lane = 0; lane < kernel.turn; lane++) {
                const int64_t mask = lane < rest ? -1 : 0;
                std::memcpy(frame + native::wide_partial_masks + item * static_cast<size_t>(lane), &mask, item);
            }
        } else
            for (int64_t lane = 0; lane < kernel.turn; lane += kernel.lanes) {
                const uint64_t mask = (((uint64_t{1} << rest) - 1) >> lane) & ((uint64_t{1} << kernel.lanes) - 1);
                std::memcpy(frame + native::partial_masks + 8 * (lane / kernel.lanes), &mask, 8);
            }
        kernel.function(pointers, whole, frame, end);
        rest = 0;
    } else if (whole) {
        kernel.function(pointers, whole, frame, end);
    }
    if (rest) run_rest(kernel, pointers, rows, whole, rest, frame, lanes, lanes + kernel.folds.size() * native::fold_area);
    if (folded) finish_folds(kernel, lanes, rows, n, rest, folded, folded_rows);
}

static void run_pieces(const NativeKernel& kernel, char** pointers, int64_t n, char* frame) {
    char* at = frame;
    for (const NativeKernel::Memory& each : kernel.between) at += kernel.block * each.item;
    char** const own = reinterpret_cast<char**>(at);
    char* const inner = at + kernel.pointer_bytes();
    copy_bytes(own, pointers, static_cast<int64_t>(kernel.pointers * sizeof(char*)));
    at = frame;
    for (const NativeKernel::Memory& each : kernel.between) own[each.slot] = at, at += kernel.block * each.item;
    for (int64_t begin = 0; begin < n; begin += kernel.block) {
        for (const NativeKernel* piece : kernel.pieces) run_rows(*piece, own, 1, std::min(kernel.block, n - begin), inner, nullptr, 1);
        for (const NativeKernel::Memory& each : kernel.memory) own[each.slot] += kernel.block * each.item;
    }
}

void run_native(const NativeKernel& kernel, char** pointers, int64_t n, char* frame, char* folded) {
    if (!kernel.pieces.empty()) return run_pieces(kernel, pointers, n, frame);
    run_rows(kernel, pointers, 1, n, frame, folded, 1);
}

void run_native_rows(const NativeKernel& kernel, char** pointers, int64_t rows, int64_t n, char* frame, char* folded) {
    run_rows(kernel, pointers, rows, n, frame, folded, most_native_rows);
}

void delete_native(NativeState* state) {
    if (!state) return;
    Cache& kernels = cache();
    // After a fork the lock may be held by a thread that does not exist here: then the code leaks.
    std::unique_lock<std::mutex> lock(kernels.mutex, std::defer_lock);
    for (int i = 0; i < 10000 && !lock.try_lock(); i++) sched_yield();
    if (!lock.owns_lock()) return;
    while (NativeVariant* variant = state->first) {
        state->first = variant->next;
        if (variant->kernel) release(variant->kernel, kernels);
        delete variant;
    }
    while (NativeRowVariant* variant = state->first_rows) {
        state->first_rows = variant->next;
        for (NativeKernel* kernel : variant->kernels) release(kernel, kernels);
        delete variant;
    }
    delete state;
}

} // namespace kindling
