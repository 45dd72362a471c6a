// kernels/maths/special_complex.h: functions of complex numbers. Internal to the tile executor.
#pragma once
#include "kernels/tile/tile.h"

namespace kindling {
TileFunction find_special_complex(Primitive primitive); // for complex128
}
