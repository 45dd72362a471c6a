// kernels/native/pieces.h: cuts a long elementwise program into several loops. Each is compiled on its own.
#pragma once
#include <vector>

#include "kernels/tile/tile.h"

namespace kindling::native {

/// Some steps of a program. Slots keep their numbers.
struct Piece {
    TileProgram program;
    std::vector<uint8_t> repeated; // one per slot, as in find_native
};
struct Pieces {
    std::vector<Piece> pieces;    // they run in this order over a block of elements
    std::vector<int16_t> between; // slots that one piece writes and a later one reads, but for outputs
};

/// Without pieces if one loop is faster, or if some step has no native form.
Pieces make_pieces(const TileProgram& program, const uint8_t* repeated);

} // namespace kindling::native
