// kernels/isa.h: which instruction set the vector code uses.
#pragma once
#include <cstdint>

namespace kindling {

enum class Isa : uint8_t { Baseline, Avx2, Avx512 };

/// What this machine and the environment variable KINDLING_ISA (baseline, avx2, avx512) allow; settled at the first
/// call.
Isa isa();
const char* name(Isa isa);
/// What the machine offers, whatever the environment says.
Isa machine_isa();
/// Whether products of bfloat16 are added to floats in one instruction (AVX512-BF16), and AVX-512 is in use.
bool has_bf16_products();
/// Whether there are tiles for products of bfloat16 and int8 (AMX), the kernel lets this process use them, and KINDLING_ISA
/// names no instruction set. The kernel is asked at the first call.
bool has_tiles();

}  // namespace kindling

// NAME, an object or a call, in the name space of the instruction set in use: files *_isa.cpp are compiled once for each.
// `kindling` has such name spaces, and `kindling::library` its own: the nearest to where this stands are meant.
#define KINDLING_OF_ISA(NAME)                                                                                         \
    (::kindling::isa() == ::kindling::Isa::Avx512 ? isa_avx512::NAME                                                  \
     : ::kindling::isa() == ::kindling::Isa::Avx2 ? isa_avx2::NAME                                                    \
                                                  : isa_baseline::NAME)

#define KINDLING_BY_ISA(FUNCTION, ...) KINDLING_OF_ISA(FUNCTION(__VA_ARGS__))
