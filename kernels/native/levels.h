// kernels/native/levels.h: splits a row kernel into one program per level. Each is compiled on its own.
#pragma once
#include <vector>

#include "kernels/native/lanes.h"
#include "kernels/native/native.h"
#include "kernels/tile/tile.h"

namespace kindling::native {

/// The element steps and the reductions of one level. Row-invariant values that are not reductions are computed again
/// in every level. Slots keep their numbers. What other levels reduce or keep is an input here.
struct Level {
    TileProgram program;
    std::vector<uint8_t> repeated; // one per slot: it is broadcast
    std::vector<LaneFetch> fetches;
};

/// The levels of the program, and the element slots that are kept in memory for a later level. What is cheap is
/// computed again instead. False if there is no such form. `past_cache`: outputs that no later level reads are marked
/// native_past_cache.
bool make_levels(const TileProgram& program, const Extent* extents, bool past_cache, std::vector<Level>& levels,
                 std::vector<int16_t>& kept);

} // namespace kindling::native
