// kernels/library/amx.h: what files that are compiled for AMX share.
//
// In an unnamed namespace, as isa_buffer.h says.
#pragma once
#include <cstdint>

namespace kindling::library {
namespace {

constexpr int64_t side = 16, line = 64; // rows of a tile, bytes of a row

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// For _tile_loadconfig: eight whole tiles.
struct alignas(64) TileShapes {
    uint8_t palette = 1, start = 0, none[14] = {};
    uint16_t bytes[16] = {line, line, line, line, line, line, line, line};
    uint8_t rows[16] = {side, side, side, side, side, side, side, side};
};

} // namespace
} // namespace kindling::library
