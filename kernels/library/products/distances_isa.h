// kernels/library/products/distances_isa.h: distances between rows, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// The longest row: so many blocks of a reduction meet in registers and on the stack.
inline constexpr int64_t longest_between = 64 * 256;

/// Rows of `length` floats or doubles. `turned` has them as columns, in rows of `pitch` elements: a register more than
/// there are, of anything.
struct RowsBetween {
    const void* rows;
    const void* turned;
    void* result; // of each row to those behind it, one row's after another's
    int64_t count, length, pitch;
    bool squares; // the root of the sum of squares, or the sum of sizes
};

/// Those of the rows [first, last).
using Between = void (*)(const RowsBetween& given, int64_t first, int64_t last);
struct Distances {
    Between floats, doubles;
};

namespace isa_baseline { extern const Distances distances; }
namespace isa_avx2 { extern const Distances distances; }
namespace isa_avx512 { extern const Distances distances; }

} // namespace kindling::library
