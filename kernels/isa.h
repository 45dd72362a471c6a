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

}  // namespace kindling

// Calls FUNCTION in the name space of the instruction set in use: files *_isa.cpp are compiled once for each.
#define KINDLING_BY_ISA(FUNCTION, ...)                                                                                \
    (::kindling::isa() == ::kindling::Isa::Avx512 ? ::kindling::isa_avx512::FUNCTION(__VA_ARGS__)                     \
     : ::kindling::isa() == ::kindling::Isa::Avx2 ? ::kindling::isa_avx2::FUNCTION(__VA_ARGS__)                       \
                                                  : ::kindling::isa_baseline::FUNCTION(__VA_ARGS__))
