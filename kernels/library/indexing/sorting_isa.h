// kernels/library/indexing/sorting_isa.h: searches along a row by vectors, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// The first position in [from, n) of an element greater than `bound` (or less, if not `largest`), or nan; n if there
/// is none. If bound is nan, `from` itself.
struct Ahead {
    int64_t (*of_floats)(const float* row, int64_t from, int64_t n, float bound, bool largest);
    int64_t (*of_doubles)(const double* row, int64_t from, int64_t n, double bound, bool largest);
};

namespace isa_baseline { extern const Ahead ahead; }
namespace isa_avx2 { extern const Ahead ahead; }
namespace isa_avx512 { extern const Ahead ahead; }

} // namespace kindling::library
