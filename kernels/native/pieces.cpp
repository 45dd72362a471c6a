// kernels/native/pieces.cpp: where a long elementwise program is cut. The scheduler of a processor holds some 60 to 100 operations. A
// body of a few mathematical functions is longer than that: little of the next turn overlaps with it, its constants do not fit into
// registers, and it runs at the latency of its operations. Loops of one function each overlap several turns. A cut costs a store and a
// load in the first-level cache.
// Compiled for size.
#include "kernels/native/pieces.h"

#include <algorithm>

#include "kernels/native/lanes.h"
#include "kernels/native/native.h"

namespace kindling::native {

namespace {

constexpr int long_body = 36; // operations a vector, more than which are not put together
constexpr int short_body = 16;
constexpr int function = 8; // operations from which a step is a function, before which a cut may be

bool same_operands(const TileStep& a, const TileStep& b) {
    return a.operand_count == b.operand_count && std::equal(a.operands, a.operands + a.operand_count, b.operands);
}
bool is_function(const TileStep& step) { return step.task.kind == TileTask::Compute && !is_cheap(static_cast<Primitive>(step.task.which)); }

/// The steps, functions of the same value side by side: sine and cosine have most of their work in common. The last step stays there: its
/// output may lie where an input does.
std::vector<TileStep> related_together(const std::vector<TileStep>& steps) {
    std::vector<TileStep> order;
    std::vector<uint8_t> placed(steps.size(), 0);
    for (size_t i = 0; i < steps.size(); i++) {
        if (placed[i]) continue;
        order.push_back(steps[i]);
        for (size_t j = i + 1; is_function(steps[i]) && j + 1 < steps.size(); j++)
            if (!placed[j] && is_function(steps[j]) && same_operands(steps[i], steps[j])) order.push_back(steps[j]), placed[j] = 1;
    }
    return order;
}

} // namespace

Pieces make_pieces(const TileProgram& program, const uint8_t* repeated) {
    Pieces result;
    TileProgram whole;
    whole.steps = related_together(program.steps);
    whole.slots = program.slots;
    whole.constants = program.constants;
    whole.outputs = program.outputs;
    const size_t slots = whole.slots.size(), steps = whole.steps.size();
    for (int16_t output : whole.outputs)
        if (whole.slots[static_cast<size_t>(output)].kind != TileSlot::Buffer) return result;
    LaneProgram lanes;
    std::vector<int> operations; // of each step, but for what it shares with earlier ones
    if (!record(whole, isa(), repeated, lanes, &operations)) return result;

    // Which piece each step is in. What is the same for all elements is computed in each piece that reads it.
    constexpr int anywhere = -1;
    std::vector<int> piece_of(steps, anywhere);
    std::vector<uint8_t> once(slots, 0), is_output(slots, 0);
    for (int16_t output : whole.outputs) is_output[static_cast<size_t>(output)] = 1;
    for (size_t s = 0; s < slots; s++) once[s] = whole.slots[s].kind == TileSlot::Splat || (repeated[s] && !is_output[s]);
    int last = 0, size = 0;
    for (size_t i = 0; i < steps; i++) {
        const TileStep& step = whole.steps[i];
        const auto out = static_cast<size_t>(step.out);
        once[out] = std::all_of(step.operands, step.operands + step.operand_count, [&](int16_t s) { return once[static_cast<size_t>(s)]; });
        if (once[out]) continue;
        const bool shares = i && same_operands(step, whole.steps[i - 1]);
        if (operations[i] >= function && size >= short_body && size + operations[i] > long_body && !shares) last++, size = 0;
        size += operations[i];
        piece_of[i] = last;
    }
    if (!last) return result;

    result.pieces.resize(static_cast<size_t>(last) + 1);
    std::vector<uint8_t> crosses(slots, 0);
    for (int at = last; at >= 0; at--) {
        Piece& piece = result.pieces[static_cast<size_t>(at)];
        piece.repeated.assign(repeated, repeated + slots);
        piece.program.slots = whole.slots;
        piece.program.constants = whole.constants;
        std::vector<uint8_t> read(slots, 0), made(slots, 0);
        for (size_t i = steps; i-- > 0;) {
            const TileStep& step = whole.steps[i];
            const auto out = static_cast<size_t>(step.out);
            // An output that is the same for all elements is stored by the last piece.
            const bool here = piece_of[i] == at, copied = piece_of[i] == anywhere && (read[out] || (is_output[out] && at == last));
            if (!here && !copied) continue;
            piece.program.steps.push_back(step);
            made[out] = 1;
            if (here ? crosses[out] || is_output[out] : is_output[out] && at == last) piece.program.outputs.push_back(step.out);
            if (here && crosses[out]) piece.repeated[out] = 0; // by no streaming store: it is read again
            for (int k = 0; k < step.operand_count; k++) read[static_cast<size_t>(step.operands[k])] = 1;
        }
        std::reverse(piece.program.steps.begin(), piece.program.steps.end());
        for (size_t s = 0; s < slots; s++) {
            TileSlot& slot = piece.program.slots[s];
            if (made[s]) continue;
            if (!read[s]) slot.kind = TileSlot::Unused;
            else if (slot.kind == TileSlot::Buffer) { // an earlier piece writes it
                slot.kind = TileSlot::Input;
                piece.repeated[s] = 0;
                crosses[s] = 1;
            }
        }
    }
    for (size_t s = 0; s < slots; s++)
        if (crosses[s] && !is_output[s]) result.between.push_back(static_cast<int16_t>(s));
    return result;
}

} // namespace kindling::native
