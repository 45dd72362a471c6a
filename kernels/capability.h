// kernels/capability.h: the name of the instruction set in use, without the includes of isa.h.
#pragma once
#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

/// As torch names it: "DEFAULT", "AVX2" or "AVX512".
const char* cpu_capability();

} // namespace kindling
