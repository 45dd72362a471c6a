// kernels/tile_maths_isa.cpp: mathematical functions over contiguous arrays.
#include "kernels/tile.h"
#include "kernels/vector.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
TileFunction find_maths(Primitive, DType) { return nullptr; }
}  // namespace kindling::KINDLING_ISA_NAMESPACE
