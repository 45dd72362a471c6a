// kernels/maths/float8.cpp: eight-bit floating dtypes to float and back, a tile at a time. Rare: once, for all instruction sets.
#include "core/float8.h"
#include "kernels/tile/tile.h"

namespace kindling {
namespace {

template <DType type> void widen(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    for (int64_t i = 0; i < n; i++) static_cast<float*>(out)[i] = from_float8<type>(static_cast<const uint8_t*>(a)[i]);
}
template <DType type> void narrow(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    for (int64_t i = 0; i < n; i++) static_cast<uint8_t*>(out)[i] = to_float8<type>(static_cast<const float*>(a)[i]);
}

} // namespace

TileFunction find_float8_move(TileMove move) {
    const bool back = move >= TileMove::FloatToFloat8;
    const int which = static_cast<int>(move) - static_cast<int>(back ? TileMove::FloatToFloat8 : TileMove::Float8ToFloat);
    return for_float8(static_cast<DType>(static_cast<int>(DType::Float8E4M3FN) + which),
                      [back]<DType type>() { return back ? &narrow<type> : &widen<type>; });
}

} // namespace kindling
