// kernels/native/levels.cpp: which steps of a row kernel run in which of its loops over the row.
#include "kernels/native/levels.h"

#include <algorithm>

namespace kindling::native {

namespace {

constexpr int too_dear = 5; // cost in instructions, roughly, from which a value is kept

/// The cost of the step itself where it is computed again.
int cost_of(const TileStep& step) {
    switch (step.task.kind) {
    case TileTask::Move:
        switch (static_cast<TileMove>(step.task.which)) {
        case TileMove::HalfToFloat:
        case TileMove::BFloat16ToFloat: return 1;
        case TileMove::RoundHalf: return 2;
        default: return too_dear;
        }
    case TileTask::Cast: return is_floating(step.task.type) && is_floating(step.task.to) ? 1 : too_dear;
    case TileTask::Compute: return is_floating(step.task.type) && is_cheap(static_cast<Primitive>(step.task.which)) ? 1 : too_dear;
    case TileTask::Fold: break;
    }
    return too_dear;
}

} // namespace

bool make_levels(const TileProgram& program, const Extent* extents, bool past_cache, std::vector<Level>& levels,
                 std::vector<int16_t>& kept) {
    const size_t slot_count = program.slots.size(), step_count = program.steps.size();
    std::vector<int> cost(slot_count, 0);
    for (const TileStep& step : program.steps) {
        if (step.fold || extents[step.out] != Extent::Element) continue; // a row-invariant value costs nothing
        int sum = cost_of(step);
        for (int k = 0; k < step.operand_count; k++) sum += cost[static_cast<size_t>(step.operands[k])];
        cost[static_cast<size_t>(step.out)] = std::min(sum, too_dear);
    }
    std::vector<uint8_t> is_output(slot_count, 0), is_kept(slot_count, 0);
    for (int16_t output : program.outputs) {
        if (extents[output] != Extent::Element) continue;
        const size_t slot = static_cast<size_t>(output);
        if (program.slots[slot].kind != TileSlot::Buffer || is_output[slot]) return false;
        is_output[slot] = 1;
    }
    levels.resize(static_cast<size_t>(program.level_count));
    // From the last level to the first: later levels say what an earlier one keeps.
    for (int at = program.level_count; at-- > 0;) {
        Level& level = levels[static_cast<size_t>(at)];
        level.repeated.assign(slot_count, 0);
        level.program.slots = program.slots;
        level.program.constants = program.constants;
        std::vector<uint8_t> wanted(slot_count, 0);
        for (size_t i = step_count; i-- > 0;) {
            const TileStep& step = program.steps[i];
            if (step.level > at || (step.fold && step.level != at)) continue;
            const size_t out = static_cast<size_t>(step.out);
            if (step.fold) {
                if (extents[step.operands[0]] != Extent::Element) return false;
            } else {
                const bool here = step.level == at && (is_output[out] || is_kept[out]);
                if (!wanted[out] && !here) continue;
                if (step.level != at && cost[out] >= too_dear) {
                    is_kept[out] = 1;
                    continue;
                }
                if (here) level.program.outputs.push_back(step.out);
                wanted[out] = 2; // computed here
            }
            for (int k = 0; k < step.operand_count; k++)
                if (!wanted[static_cast<size_t>(step.operands[k])]) wanted[static_cast<size_t>(step.operands[k])] = 1;
            level.program.steps.push_back(step);
        }
        std::reverse(level.program.steps.begin(), level.program.steps.end());
        for (size_t s = 0; s < slot_count; s++) {
            TileSlot& slot = level.program.slots[s];
            if (wanted[s] == 2) {
                if (past_cache && is_output[s] && !is_kept[s] && slot.level == at) level.repeated[s] = native_past_cache;
                continue;
            }
            level.repeated[s] = slot.kind == TileSlot::Splat || extents[s] != Extent::Element;
            if (!wanted[s]) slot.kind = TileSlot::Unused;
            else if (slot.kind != TileSlot::Splat) slot.kind = TileSlot::Input;
        }
    }
    for (size_t s = 0; s < slot_count; s++)
        if (is_kept[s]) kept.push_back(static_cast<int16_t>(s));
    // Memory is idle while a level works in cache. So what is read first is prefetched while the rows before are
    // written, and what is written while the level before it runs.
    const int last = program.level_count - 1;
    for (size_t s = 0; s < slot_count && last > 0; s++) {
        const TileSlot& slot = program.slots[s];
        const LaneFetch fetch{static_cast<int16_t>(s), slot.item_size, slot.kind == TileSlot::Buffer};
        if (slot.kind == TileSlot::Input && extents[s] == Extent::Element) {
            if (levels[0].program.slots[s].kind == TileSlot::Input) levels.back().fetches.push_back(fetch);
        } else if ((is_output[s] || is_kept[s]) && slot.level > 0) {
            const Level& writer = levels[slot.level];
            // The last output may hold what is kept.
            if (writer.repeated[s] == native_past_cache || (!is_kept[s] && slot.level == last && !kept.empty())) continue;
            levels[slot.level - 1u].fetches.push_back(fetch);
        }
    }
    return true;
}

} // namespace kindling::native
