// kernels/capability.h: the instruction set in use, for those who only want to say it.
#pragma once
#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

/// As torch names it: "DEFAULT", "AVX2" or "AVX512".
const char* cpu_capability();

}  // namespace kindling
