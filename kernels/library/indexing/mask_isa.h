// kernels/library/indexing/mask_isa.h: packs what a mask selects, by vectors if there is AVX-512.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Nothing is written at `end` or behind it; that is where the output ends, or further on.
struct MaskSteps {
    /// Packs the selected elements of `item` bytes.
    void (*take)(char* to, const char* end, const char* from, const char* mask, int64_t n, int item);
    /// The positions of selected elements: `outer` coordinates that all of them share, and one that counts from
    /// `column`.
    int64_t* (*places)(int64_t* to, const int64_t* end, const char* mask, int64_t n, const int64_t* row, int outer, int64_t column);
};

namespace isa_baseline { extern const MaskSteps mask_steps; }
namespace isa_avx512 { extern const MaskSteps mask_steps; }

} // namespace kindling::library
