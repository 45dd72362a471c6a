// kernels/native/levels.h: a row kernel as one program for each level, to be compiled one by one.
#pragma once
#include <vector>

#include "kernels/native/lanes.h"
#include "kernels/native/native.h"
#include "kernels/tile.h"

namespace kindling::native {

/// The steps on elements of one level, and its folds; also, computed anew, what is one number a row and not folded.
/// Slots keep their numbers; what other levels fold or keep is an input.
struct Level {
    TileProgram program;
    std::vector<uint8_t> repeated;  // of each slot: one number
    std::vector<LaneFetch> fetches;
};

/// Levels of the program, and the slots of elements that are kept in memory for a later level: what is cheap to compute
/// is computed again instead. False if there is no such form.
/// `past_cache`: outputs that no later level reads are marked as native_past_cache.
bool make_levels(const TileProgram& program, const Extent* extents, bool past_cache, std::vector<Level>& levels,
                 std::vector<int16_t>& kept);

}  // namespace kindling::native
