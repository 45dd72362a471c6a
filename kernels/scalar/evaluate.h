// kernels/scalar/evaluate.h: what each operation means, for the interpreter, for the folding of constants and for tests.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/scalar/function.h"

namespace kindling::scalar {

inline int64_t wrap_add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
inline int64_t wrap_sub(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
inline int64_t wrap_mul(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
inline int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return wrap_sub(0, a);
    const int64_t quotient = a / b;
    return a % b != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}
inline int64_t floor_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}
/// x86's conversion.
inline int64_t to_i64(double a) { return a >= -0x1p63 && a < 0x1p63 ? static_cast<int64_t>(a) : INT64_MIN; }

/// The operation on bits as they stand in registers: `operand` is the type of the first input (of a Select, of the second). Any
/// operation from Add to Bits.
uint64_t evaluate(Op op, Type result, Type operand, uint64_t a, uint64_t b, uint64_t c);

} // namespace kindling::scalar
