// kernels/scalar/registers.cpp: registers go to the values that are read most often for how long they live. A value has one
// place for its whole life; one that finds no register lies in the frame, where most instructions can read it.
#include "kernels/scalar/registers.h"

#include <algorithm>
#include <bit>

#include "kernels/scalar/colours.h"

namespace kindling::scalar {

namespace {

// rax rcx rdx rsi rdi r8 r9, then what a call keeps; xmm0 to xmm13.
constexpr uint8_t general_order[] = {0, 1, 2, 6, 7, 8, 9, 3, 5, 12, 13, 14, 15};
constexpr uint8_t vector_order[] = {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
constexpr uint8_t general_arguments[] = {7, 6, 2, 1, 8, 9};

} // namespace

Registers::Registers(const Function& function, const Lifetimes& lives, const std::vector<uint8_t>& folded) {
    const size_t values = function.nodes.size();
    where.assign(values, -1);
    std::vector<Colour> registers(32);
    // Which value would like the place of which, and which a register of its own.
    struct Wish {
        uint32_t value, other; // other: a value, or a register if `fixed`
        bool fixed;
    };
    std::vector<Wish> wishes;
    const auto wish = [&](uint32_t a, uint32_t b) {
        if (function.nodes[a].op == Op::Constant || function.nodes[b].op == Op::Constant || folded[a] || folded[b]) return;
        wishes.push_back({lives.leader(a), lives.leader(b), false});
        wishes.push_back({lives.leader(b), lives.leader(a), false});
    };
    const auto wish_register = [&](uint32_t a, uint32_t reg) {
        if (function.nodes[a].op != Op::Constant && !folded[a]) wishes.push_back({lives.leader(a), reg, true});
    };
    for (uint32_t b : lives.order) {
        for (uint32_t id : function.blocks[b].nodes) {
            const Node& node = function.nodes[id];
            if (folded[id]) continue;
            const uint32_t at = lives.place[id];
            const std::vector<Range> during{{at + 1, at + 2}};
            switch (node.op) {
            case Op::FloorDiv:
            case Op::FloorMod:
                registers[0].take(during), registers[2].take(during);
                wish_register(id, node.op == Op::FloorDiv ? 0 : 2);
                wish_register(node.input[0], 0);
                break;
            case Op::Call: {
                for (uint32_t r = 0; r < 32; r++)
                    if (clobbered_by_calls >> r & 1) registers[r].take(during);
                if (node.type != Type::None) wish_register(id, in_vector(node.type) ? 16 : 0);
                uint32_t general = 0, vector = 16;
                for (uint32_t i = 0; i < node.count; i++) {
                    const uint32_t argument = function.operands[node.list + i];
                    wish_register(argument, in_vector(function.nodes[argument].type) ? vector++ : general_arguments[general++]);
                }
                break;
            }
            case Op::Phi:
                for (uint32_t i = 0; i < node.count; i++) wish(id, function.operands[node.list + i]);
                break;
            case Op::Add:
            case Op::And:
            case Op::Or:
            case Op::Xor:
            case Op::Mul: wish(id, node.input[0]), wish(id, node.input[1]); break;
            case Op::Select: wish(id, node.input[2]); break;
            default:
                if (node.type != Type::None && node.input[0]) wish(id, node.input[0]);
                break;
            }
        }
    }
    std::vector<uint64_t> order, candidates;
    for (size_t i = 0; i < wishes.size(); i++) order.push_back(static_cast<uint64_t>(wishes[i].value) << 32 | i);
    sort_keys(order);
    std::vector<uint32_t> first_wish(values + 1);
    for (const Wish& wish : wishes) first_wish[wish.value + 1]++;
    for (size_t v = 0; v < values; v++) first_wish[v + 1] += first_wish[v];

    for (uint32_t v = 0; v < values; v++) {
        if (lives.ranges[v].empty()) continue;
        uint32_t length = 0;
        for (const Range& range : lives.ranges[v]) length += range.to - range.from;
        // Positive floats are ordered as their bits are.
        float priority = lives.weight[v] / static_cast<float>(length + 8);
        if (function.nodes[v].lanes > 1) priority *= 0x1p60f; // they have no places in the frame
        candidates.push_back(static_cast<uint64_t>(~std::bit_cast<uint32_t>(priority)) << 32 | v);
    }
    sort_keys(candidates);
    std::vector<Colour> frame[2]; // apart, as moves of the two kinds of registers are ordered apart
    for (uint64_t candidate : candidates) {
        const uint32_t v = static_cast<uint32_t>(candidate);
        const std::vector<Range>& ranges = lives.ranges[v];
        const bool vector = in_vector(function.nodes[v]);
        int32_t chosen = -1;
        const auto consider = [&](int32_t reg) {
            if (chosen >= 0 || (reg >= first_vector) != vector || !registers[static_cast<size_t>(reg)].fits(ranges)) return;
            chosen = reg;
        };
        for (uint32_t w = first_wish[v]; w < first_wish[v + 1]; w++) {
            const Wish& wanted = wishes[static_cast<uint32_t>(order[w])];
            const int32_t reg = wanted.fixed ? static_cast<int32_t>(wanted.other) : where[wanted.other];
            if (reg >= 0 && reg < first_slot) consider(reg);
        }
        if (vector)
            for (uint8_t reg : vector_order) consider(reg);
        else
            for (uint8_t reg : general_order) consider(reg);
        if (chosen >= 0) {
            registers[static_cast<size_t>(chosen)].take(ranges);
            where[v] = chosen;
            used |= 1u << chosen;
        } else {
            where[v] = first_slot + static_cast<int32_t>(first_fit(frame[vector], ranges) * 2 + vector);
            slots = std::max(slots, where[v] - first_slot + 1);
        }
    }
}

} // namespace kindling::scalar
