// kernels/library/sorting_isa.h: looking along a row by vectors, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// The first place in [from, n) of what is greater than `bound` (or less, if not `largest`) or is nan; n if there is none.
/// With a bound that is nan, the next place.
struct Ahead {
    int64_t (*of_floats)(const float* row, int64_t from, int64_t n, float bound, bool largest);
    int64_t (*of_doubles)(const double* row, int64_t from, int64_t n, double bound, bool largest);
};

namespace isa_baseline {
extern const Ahead ahead;
}
namespace isa_avx2 {
extern const Ahead ahead;
}
namespace isa_avx512 {
extern const Ahead ahead;
}

} // namespace kindling::library
