// kernels/scalar/folder.h: which nodes have no code of their own.
#pragma once
#include <utility>

#include "kernels/scalar/emit_lanes.h"

namespace kindling::scalar {

namespace {

/// A comparison that one branch, check or choice reads sets the flags there; a load that one instruction reads is its operand
/// in memory.
class Folder {
public:
    explicit Folder(Function& function)
        : function_(function), folded(function.nodes.size()), uses_(function.nodes.size()), for_phis_(function.nodes.size()) {
        const auto use = [&](uint32_t id, int by) { uses_[id] = static_cast<uint8_t>(uses_[id] + by > 2 ? 2 : uses_[id] + by); };
        for (const BasicBlock& block : function.blocks) {
            for (uint32_t id : block.nodes)
                for_each_input(function, function.nodes[id], [&](uint32_t input) {
                    use(input, 1);
                    for_phis_[input] |= function.nodes[id].op == Op::Phi;
                });
            if (block.kind == BasicBlock::Branch) use(block.condition, 1);
        }
        for (const Exit& exit : function.exits)
            for (uint32_t i = 0; i < exit.count; i++) use(function.operands[exit.list + i], 2);
        place_.assign(function.nodes.size(), nowhere);
        for (BasicBlock& block : function.blocks) fold(block);
    }

private:
    Function& function_;

public:
    std::vector<uint8_t> folded;

private:
    std::vector<uint8_t> uses_, for_phis_; // for phis: read by one, so it needs a register
    std::vector<uint32_t> place_;          // in the block at hand
    uint32_t barrier_ = 0;                 // loads before it stay there

    bool here(uint32_t id) const { return uses_[id] == 1 && place_[id] != nowhere; }
    bool load(uint32_t id, Memory memory) {
        const Node& node = function_.nodes[id];
        if (!id || node.op != Op::Load || node.memory != memory || node.count || !here(id) || place_[id] < barrier_) return false;
        folded[id] = 1;
        return true;
    }
    void condition(uint32_t id) {
        const Node& node = function_.nodes[id];
        if (load(id, Memory::Bool)) return;
        if (!compares(node.op) || !here(id)) return;
        folded[id] = 1;
        comparison(node);
    }
    void comparison(const Node& node) {
        const Type type = function_.nodes[node.input[0]].type;
        if (in_vector(type)) {
            // The left one in memory is compared the other way around.
            load(node.input[node.op == Op::Lt || node.op == Op::Le ? 0 : 1], type == Type::F64 ? Memory::F64 : Memory::F32);
        } else if (type == Type::I64 && !load(node.input[1], Memory::I64) && short_constant(function_.nodes[node.input[1]])) {
            load(node.input[0], Memory::I64);
        }
    }
    void lanes(uint32_t id, const Node& node) {
        const Memory memory = node.type == Type::F64 ? Memory::F64 : node.type == Type::F32 ? Memory::F32 : Memory::I64;
        switch (node.op) {
        case Op::Spread:
            if (is_pooled(function_, node)) folded[id] = !for_phis_[id];
            else if (node.type != Type::Bool) load(node.input[0], memory);
            break;
        case Op::Steps: folded[id] = !for_phis_[id]; break;
        case Op::Mul:
        case Op::Div:
        case Op::Min:
        case Op::Max:
            if (node.type == Type::I64) break;
            [[fallthrough]];
        case Op::Add:
        case Op::Sub: load(node.input[1], memory); break;
        case Op::ToF64:
            if (function_.nodes[node.input[0]].type == Type::F32) load(node.input[0], Memory::F32);
            break;
        default: break;
        }
    }
    void fold(BasicBlock& block) {
        barrier_ = 0;
        for (uint32_t i = 0; i < block.nodes.size(); i++) {
            const uint32_t id = block.nodes[i];
            Node& node = function_.nodes[id];
            place_[id] = i;
            const Type type = function_.nodes[node.input[0]].type;
            if (node.lanes > 1 && node.op != Op::Store) {
                lanes(id, node);
                continue;
            }
            switch (node.op) {
            case Op::Store: barrier_ = i; break;
            case Op::Call:
                if (function_.callees[node.extra].effect == Effect::Writes) barrier_ = i;
                break;
            case Op::Check:
            case Op::Select: condition(node.input[0]); break;
            case Op::Index: load(node.input[1], Memory::I64); break;
            case Op::Add:
            case Op::Mul:
            case Op::Sub:
            case Op::And:
            case Op::Or:
            case Op::Xor:
            case Op::Div:
            case Op::Min:
            case Op::Max: {
                if (node.type == Type::Bool || node.type == Type::Address) break;
                if (node.type == Type::I64 && (node.op == Op::Min || node.op == Op::Max)) break;
                const Memory memory = node.type == Type::F64 ? Memory::F64 : node.type == Type::F32 ? Memory::F32 : Memory::I64;
                if (load(node.input[1], memory) || node.op == Op::Sub || node.op == Op::Div || node.op == Op::Min || node.op == Op::Max)
                    break;
                if (load(node.input[0], memory)) std::swap(node.input[0], node.input[1]);
                break;
            }
            case Op::ToF64:
            case Op::ToF32:
                if (type == Type::I64) load(node.input[0], Memory::I64);
                else if (in_vector(type)) load(node.input[0], type == Type::F64 ? Memory::F64 : Memory::F32);
                break;
            default: break;
            }
        }
        if (block.kind == BasicBlock::Branch) condition(block.condition);
        for (uint32_t id : block.nodes) place_[id] = nowhere;
    }
};

} // namespace

} // namespace kindling::scalar
