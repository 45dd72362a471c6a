// kernels/maths/arithmetic.h: arithmetic, comparison and bit primitives as functions of a vector (vector.h), or of what the
// native executor records with (native/record.h).
#pragma once
#include "kernels/maths/vector.h"

namespace kindling::KINDLING_ISA_NAMESPACE {

/// The number beside a on the way to b: its bits are one more where that leads away from 0, else one less.
template <class V> KINDLING_INLINE V next_after(const V& a, const V& b) {
    const Mask<V> away = (a < b) ^ (a < 0);
    const Bits<V> more = bit_cast<Bits<V>>(away); // all ones, which is less 1
    const V beside = from_bits<V>(bits_of(a) - 1u - more - more), least = with_sign(bit_cast<V>(all<Mask<V>>(1)), b);
    return choose((a != a) | (b != b), a + b, choose(a == b, b, choose(a == 0, least, beside)));
}

#define KINDLING_OPERATION(NAME, ...)                                                                                                      \
    struct NAME {                                                                                                                          \
        template <class V> static KINDLING_INLINE auto apply __VA_ARGS__                                                                   \
    };
KINDLING_OPERATION(AddOp, (V a, V b) { return a + b; })
KINDLING_OPERATION(SubOp, (V a, V b) { return a - b; })
KINDLING_OPERATION(MulOp, (V a, V b) { return a * b; })
KINDLING_OPERATION(DivOp, (V a, V b) { return a / b; })
// The comparison is false for NaN, whichever operand has it. (The inner choice is one instruction. The outer one is
// well predicted where a is a number.)
KINDLING_OPERATION(MinOp, (V a, V b) { return choose(a != a, a, smaller(a, b)); })
KINDLING_OPERATION(MaxOp, (V a, V b) { return choose(a != a, a, greater(a, b)); })
KINDLING_OPERATION(FminOp, (V a, V b) { return choose((a <= b) | (b != b), a, b); })
KINDLING_OPERATION(FmaxOp, (V a, V b) { return choose((a >= b) | (b != b), a, b); })
KINDLING_OPERATION(EqOp, (V a, V b) { return a == b; })
KINDLING_OPERATION(NeOp, (V a, V b) { return a != b; })
KINDLING_OPERATION(LtOp, (V a, V b) { return a < b; })
KINDLING_OPERATION(LeOp, (V a, V b) { return a <= b; })
KINDLING_OPERATION(AndOp, (V a, V b) { return a & b; })
KINDLING_OPERATION(OrOp, (V a, V b) { return a | b; })
KINDLING_OPERATION(XorOp, (V a, V b) { return a ^ b; })
KINDLING_OPERATION(NotOp, (V a) { return ~a; })
KINDLING_OPERATION(LogicalNotOp, (V a) { return a ^ static_cast<Item<V>>(1); })
KINDLING_OPERATION(NegOp, (V a) { return -a; })
KINDLING_OPERATION(IntegerAbsOp, (V a) { return choose(a < 0, from_bits<V>(-bits_of(a)), a); }) // the smallest integer wraps
KINDLING_OPERATION(FloatAbsOp, (V a) { return absolute(a); })
KINDLING_OPERATION(IntegerSignOp, (V a) { return (a < 0) - (a > 0); })
// 1 or -1 by comparison; a NaN compares false and gives 0, as torch.sign
KINDLING_OPERATION(FloatSignOp, (V a) { return convert<Item<V>>((a < 0) - (a > 0)); })
KINDLING_OPERATION(CopysignOp, (V a, V b) { return with_sign(a, b); })
KINDLING_OPERATION(NextafterOp, (V a, V b) { return next_after(a, b); })
KINDLING_OPERATION(IsNanOp, (V a) { return a != a; })
KINDLING_OPERATION(IsInfOp, (V a) { return absolute(a) == all<V>(static_cast<Item<V>>(__builtin_inf())); })
KINDLING_OPERATION(SignBitOp, (V a) { return bit_cast<Mask<V>>(a) < 0; })
KINDLING_OPERATION(SqrtOp, (V a) { return square_root(a); })
KINDLING_OPERATION(RsqrtOp, (V a) { return static_cast<Item<V>>(1) / square_root(a); })
KINDLING_OPERATION(ReciprocalOp, (V a) { return static_cast<Item<V>>(1) / a; })
KINDLING_OPERATION(FloorOp, (V a) { return round_to<Rounding::Down>(a); })
KINDLING_OPERATION(CeilOp, (V a) { return round_to<Rounding::Up>(a); })
KINDLING_OPERATION(RoundOp, (V a) { return round_to<Rounding::Nearest>(a); })
KINDLING_OPERATION(TruncOp, (V a) { return round_to<Rounding::Zero>(a); })
KINDLING_OPERATION(FracOp, (V a) { return a - round_to<Rounding::Zero>(a); })
// A shift count outside the word shifts everything out, as in torch.
KINDLING_OPERATION(ShlOp, (V a, V b) { return choose(bits_of(b) < 64u, a << (b & 63), V{}); })
KINDLING_OPERATION(ShrOp, (V a, V b) { return choose(bits_of(b) < 64u, a >> (b & 63), std::is_signed_v<Item<V>> ? a >> 63 : V{}); })
#undef KINDLING_OPERATION

/// The bits of x as a bfloat16, and of the float32 that this widens to.
template <class V> KINDLING_INLINE Bits<V> bfloat16_bits(const V& x) {
    Bits<V> word = bits_of(x);
    return choose(x != x, all<Bits<V>>(0x7FC0u), (word + 0x7FFF + (word >> 16 & 1)) >> 16);
}
template <class V> KINDLING_INLINE Bits<V> rounded_to_bfloat16(const V& x) { return bfloat16_bits(x) << 16; }

} // namespace kindling::KINDLING_ISA_NAMESPACE
