// tests/cpp/scalar_reference.h: a scalar function run node by node, with nothing optimised: what every other way must agree with.
#pragma once
#include <cstring>
#include <vector>

#include "core/dtype.h"
#include "kernels/scalar/analysis.h"
#include "kernels/scalar/code.h"
#include "kernels/scalar/evaluate.h"

namespace reference {

using namespace kindling::scalar;

inline uint64_t call(const Callee& callee, const std::vector<uint64_t>& values, const std::vector<Type>& types) {
    int64_t g[6] = {};
    double f[8] = {};
    int general = 0, floating = 0;
    for (size_t i = 0; i < values.size(); i++) {
        if (types[i] == Type::F64 || types[i] == Type::F32) f[floating++] = std::bit_cast<double>(values[i]);
        else g[general++] = static_cast<int64_t>(values[i]);
    }
    void* p = const_cast<void*>(callee.address);
    if (callee.result == Type::F64)
        return std::bit_cast<uint64_t>(reinterpret_cast<double (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double,
                                                                   double, double, double, double, double, double)>(p)(
            g[0], g[1], g[2], g[3], g[4], g[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]));
    if (callee.result == Type::F32)
        return std::bit_cast<uint32_t>(reinterpret_cast<float (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double,
                                                                  double, double, double, double, double, double)>(p)(
            g[0], g[1], g[2], g[3], g[4], g[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]));
    const uint64_t result = static_cast<uint64_t>(reinterpret_cast<int64_t (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double,
                                                                               double, double, double, double, double, double, double)>(p)(
        g[0], g[1], g[2], g[3], g[4], g[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]));
    return callee.result == Type::Bool ? result & 1 : result;
}

/// `left`: the values that the exit leaves. `steps`: how many nodes may run; -1 is returned when they have.
inline int64_t run(const Function& function, const std::vector<Slot>& arguments, std::vector<uint64_t>& left, Asker* asker, int64_t steps) {
    std::vector<uint64_t> value(function.nodes.size());
    for (size_t i = 0; i < value.size(); i++)
        if (function.nodes[i].op == Op::Constant) value[i] = function.nodes[i].bits;
    const auto leave = [&](const Exit& exit) {
        left.clear();
        for (uint32_t i = 0; i < exit.count; i++) left.push_back(value[function.operands[exit.list + i]]);
        return exit.code;
    };
    uint32_t at = 0, edge = 0;
    for (;;) {
        const BasicBlock& block = function.blocks[at];
        std::vector<uint64_t> chosen;
        for (uint32_t id : block.nodes)
            if (function.nodes[id].op == Op::Phi) chosen.push_back(value[function.operands[function.nodes[id].list + edge]]);
        size_t phi = 0;
        for (uint32_t id : block.nodes) {
            const Node& node = function.nodes[id];
            if (steps-- <= 0) return -1;
            const auto in = [&](int i) { return value[node.input[i]]; };
            const auto exit = [&] { return leave(function.exits[node.extra]); };
            char* const memory = reinterpret_cast<char*>(in(0) + (node.input[1] ? in(1) : 0) * node.scale) + node.displacement;
            switch (node.op) {
            case Op::Phi: value[id] = chosen[phi++]; break;
            case Op::Parameter: value[id] = static_cast<uint64_t>(arguments[node.extra].i); break;
            case Op::Load: {
                const size_t bytes = static_cast<size_t>(memory_bytes(node.memory));
                uint64_t bits = 0;
                std::memcpy(&bits, memory, bytes);
                if (node.memory == Memory::Bool) bits = bits != 0;
                if (node.memory == Memory::I8) bits = static_cast<uint64_t>(static_cast<int8_t>(bits));
                if (node.memory == Memory::I16) bits = static_cast<uint64_t>(static_cast<int16_t>(bits));
                if (node.memory == Memory::I32) bits = static_cast<uint64_t>(static_cast<int32_t>(bits));
                value[id] = bits;
                break;
            }
            case Op::Store: {
                const uint64_t bits = in(2);
                std::memcpy(memory, &bits, static_cast<size_t>(memory_bytes(node.memory)));
                break;
            }
            case Op::Call: {
                std::vector<uint64_t> values;
                std::vector<Type> types;
                for (uint32_t i = 0; i < node.count; i++) {
                    values.push_back(value[function.operands[node.list + i]]);
                    types.push_back(function.nodes[function.operands[node.list + i]].type);
                }
                value[id] = call(function.callees[node.extra], values, types);
                break;
            }
            case Op::Index:
                if (in(0) >= in(1)) return exit();
                value[id] = in(0);
                break;
            case Op::Proved: value[id] = in(0); break;
            case Op::Check:
                if (!in(0)) return exit();
                break;
            case Op::Poll:
                if (--asker->counter < 0 && asker->ask && asker->ask(asker)) return exit();
                break;
            default: value[id] = evaluate(node.op, node.type, function.nodes[node.input[0]].type, in(0), in(1), in(2)); break;
            }
        }
        if (block.kind == BasicBlock::Leave) return leave(function.exits[block.exit]);
        const int which = block.kind == BasicBlock::Branch && !value[block.condition] ? 1 : 0;
        const uint32_t next = block.successor[which];
        edge = 0;
        for (uint32_t skip = which == 1 && block.successor[0] == next ? 1 : 0;; edge++)
            if (function.blocks[next].predecessors[edge] == at && skip-- == 0) break;
        at = next;
    }
}

} // namespace reference
