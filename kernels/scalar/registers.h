// kernels/scalar/registers.h: which value lies where in machine code.
#pragma once
#include "kernels/scalar/lifetimes.h"

namespace kindling::scalar {

/// 0 to 15: a general register. 16 to 31: a vector register. From 32 on: a slot of the frame.
inline constexpr int32_t first_vector = 16, first_slot = 32;
/// Never given to a value: the emitter's own.
inline constexpr int scratch = 11, second_scratch = 10, vector_scratch = 15, second_vector_scratch = 14;

inline bool in_vector(Type type) { return type == Type::F64 || type == Type::F32; }
inline bool in_vector(const Node& node) { return node.lanes > 1 || in_vector(node.type); }

struct Registers {
    std::vector<int32_t> where; // [value], of leaders; -1: nowhere
    uint32_t used = 0;          // registers, as bits
    int32_t slots = 0;

    Registers(const Function& function, const Lifetimes& lives, const std::vector<uint8_t>& folded);
};

/// Of the System V ABI, as bits: what a call may change, and what it must keep.
inline constexpr uint32_t clobbered_by_calls = 0xFFFF0000u | 0x0FC7, kept_by_calls = 0xF028;

} // namespace kindling::scalar
