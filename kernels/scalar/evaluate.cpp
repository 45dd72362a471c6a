// kernels/scalar/evaluate.cpp: one operation on bits.
#include "kernels/scalar/evaluate.h"

namespace kindling::scalar {

namespace {

template <class T> T from_bits(uint64_t bits) {
    if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<uint32_t>(bits));
    else return std::bit_cast<T>(bits);
}
template <class T> uint64_t to_bits(T value) {
    if constexpr (sizeof(T) == 4) return std::bit_cast<uint32_t>(value);
    else return std::bit_cast<uint64_t>(value);
}

template <class T> uint64_t compare(Op op, T a, T b) {
    switch (op) {
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    default: return a >= b;
    }
}

template <class T> uint64_t floating(Op op, T a, T b) {
    switch (op) {
    case Op::Add: return to_bits(a + b);
    case Op::Sub: return to_bits(a - b);
    case Op::Mul: return to_bits(a * b);
    case Op::Div: return to_bits(a / b);
    case Op::Neg: return to_bits(-a);
    case Op::Abs: return to_bits(std::fabs(a));
    case Op::Min: return to_bits(a < b ? a : b);
    case Op::Max: return to_bits(a > b ? a : b);
    case Op::Sqrt: return to_bits(std::sqrt(a));
    case Op::Floor: return to_bits(std::floor(a));
    case Op::Ceil: return to_bits(std::ceil(a));
    case Op::Trunc: return to_bits(std::trunc(a));
    case Op::Round: return to_bits(std::nearbyint(a));
    case Op::ToF64: return to_bits(static_cast<double>(a));
    case Op::ToF32: return to_bits(static_cast<float>(a));
    case Op::ToI64: return static_cast<uint64_t>(to_i64(static_cast<double>(a)));
    case Op::Bits: return to_bits(a);
    default: return compare(op, a, b);
    }
}

uint64_t integral(Op op, Type result, int64_t a, int64_t b) {
    switch (op) {
    case Op::Add: return static_cast<uint64_t>(wrap_add(a, b));
    case Op::Sub: return static_cast<uint64_t>(wrap_sub(a, b));
    case Op::Mul: return static_cast<uint64_t>(wrap_mul(a, b));
    case Op::FloorDiv: return static_cast<uint64_t>(floor_div(a, b));
    case Op::FloorMod: return static_cast<uint64_t>(floor_mod(a, b));
    case Op::Neg: return static_cast<uint64_t>(wrap_sub(0, a));
    case Op::Abs: return static_cast<uint64_t>(a < 0 ? wrap_sub(0, a) : a);
    case Op::Min: return static_cast<uint64_t>(a < b ? a : b);
    case Op::Max: return static_cast<uint64_t>(a > b ? a : b);
    case Op::And: return static_cast<uint64_t>(a & b);
    case Op::Or: return static_cast<uint64_t>(a | b);
    case Op::Xor: return static_cast<uint64_t>(a ^ b);
    case Op::Not: return static_cast<uint64_t>(result == Type::Bool ? a ^ 1 : ~a);
    case Op::Shl: return static_cast<uint64_t>(a) << (b & 63);
    case Op::Shr: return static_cast<uint64_t>(a >> (b & 63));
    case Op::Below: return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
    case Op::ToF64: return to_bits(static_cast<double>(a));
    case Op::ToF32: return to_bits(static_cast<float>(a));
    case Op::ToI64: return static_cast<uint64_t>(a);
    case Op::Bits: return result == Type::F32 ? static_cast<uint64_t>(a) & 0xFFFFFFFF : static_cast<uint64_t>(a);
    default: return compare(op, a, b);
    }
}

} // namespace

uint64_t evaluate(Op op, Type result, Type operand, uint64_t a, uint64_t b, uint64_t c) {
    if (op == Op::Select) return a ? b : c;
    if (operand == Type::F64) return floating(op, from_bits<double>(a), from_bits<double>(b));
    if (operand == Type::F32) return floating(op, from_bits<float>(a), from_bits<float>(b));
    return integral(op, result, static_cast<int64_t>(a), static_cast<int64_t>(b));
}

} // namespace kindling::scalar
