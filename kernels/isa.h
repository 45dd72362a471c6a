// kernels/isa.h: which instruction set the vector code uses.
#pragma once
#include <cstdint>

namespace kindling {

enum class Isa : uint8_t { Baseline, Avx2, Avx512 };

/// The instruction set in use: what this machine and the environment variable KINDLING_ISA (baseline, avx2, avx512)
/// allow. Determined at the first call.
Isa isa();
const char* name(Isa isa);
/// What the machine has, regardless of the environment.
Isa machine_isa();
/// True if AVX-512 is in use and the machine has AVX512-BF16, dot products of bfloat16 added to float.
bool has_bf16_products();
/// True if the machine has AMX tiles for bfloat16 and int8, the operating system lets this process use them, and
/// KINDLING_ISA names no instruction set. The system is asked at the first call.
bool has_tiles();

} // namespace kindling

// NAME, an object or a call, in the namespace of the instruction set in use. Files *_isa.cpp are compiled once for
// each. `kindling` has such namespaces, and `kindling::library` has its own: the nearest enclosing ones are meant.
#define KINDLING_OF_ISA(NAME)                                                                                                              \
    (::kindling::isa() == ::kindling::Isa::Avx512 ? isa_avx512::NAME                                                                       \
     : ::kindling::isa() == ::kindling::Isa::Avx2 ? isa_avx2::NAME                                                                         \
                                                  : isa_baseline::NAME)

#define KINDLING_BY_ISA(FUNCTION, ...) KINDLING_OF_ISA(FUNCTION(__VA_ARGS__))
