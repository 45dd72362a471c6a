// kernels/scalar/hoist.cpp: what is the same in every round of a loop is computed in front of it.
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

void add_preheaders(Function& function) {
    const Shape shape(function);
    for (uint32_t l = 0; l < shape.loops.size(); l++) {
        const uint32_t head = shape.loops[l].head;
        std::vector<uint32_t> outside;
        std::vector<uint8_t> is_outside(function.blocks[head].predecessors.size());
        const std::vector<uint32_t> before = function.blocks[head].predecessors;
        for (uint32_t i = 0; i < before.size(); i++)
            // Blocks that were made here lie in front of loops.
            if (before[i] >= shape.position.size() || !shape.reachable(before[i]) || !shape.holds(l, before[i]))
                outside.push_back(i), is_outside[i] = 1;
        if (outside.size() == 1 && function.blocks[before[outside[0]]].kind == BasicBlock::Jump) continue;
        const uint32_t made = static_cast<uint32_t>(function.blocks.size());
        BasicBlock block;
        block.kind = BasicBlock::Jump;
        block.successor[0] = head;
        for (uint32_t i : outside) block.predecessors.push_back(before[i]);
        std::vector<uint32_t> predecessors{made};
        for (size_t i = 0; i < before.size(); i++)
            if (!is_outside[i]) predecessors.push_back(before[i]);
        for (uint32_t id : function.blocks[head].nodes) {
            if (function.nodes[id].op != Op::Phi) break;
            const std::vector<uint32_t> operands(function.operands_of(function.nodes[id]),
                                                 function.operands_of(function.nodes[id]) + before.size());
            uint32_t entering = outside.empty() ? 0 : operands[outside[0]];
            if (outside.size() > 1) {
                Node phi = function.nodes[id];
                phi.list = static_cast<uint32_t>(function.operands.size());
                phi.count = static_cast<uint32_t>(outside.size());
                for (uint32_t i : outside) function.operands.push_back(operands[i]);
                function.nodes.push_back(phi);
                entering = static_cast<uint32_t>(function.nodes.size() - 1);
                block.nodes.push_back(entering);
            }
            Node& phi = function.nodes[id];
            phi.list = static_cast<uint32_t>(function.operands.size());
            phi.count = static_cast<uint32_t>(predecessors.size());
            function.operands.push_back(entering);
            for (size_t i = 0; i < before.size(); i++)
                if (!is_outside[i]) function.operands.push_back(operands[i]);
        }
        for (uint32_t i : outside) {
            BasicBlock& from = function.blocks[before[i]];
            for (int s = 0; s < from.successors(); s++)
                if (from.successor[s] == head) from.successor[s] = made;
        }
        function.blocks[head].predecessors = predecessors;
        function.blocks.push_back(std::move(block));
    }
}

uint32_t preheader(const Function& function, const Shape& shape, uint32_t loop) {
    for (uint32_t before : function.blocks[shape.loops[loop].head].predecessors)
        if (shape.reachable(before) && !shape.holds(loop, before)) return before;
    return nowhere;
}

namespace {

/// What the loop's blocks write to.
struct Written {
    bool anything = false;
    std::vector<uint32_t> regions;
    void add(Region region) {
        if (region == any_region) anything = true;
        else if (!contains(regions, region)) regions.push_back(region);
    }
    bool touches(Region region) const {
        if (region == constant_region) return false;
        if (region == any_region) return anything || !regions.empty();
        return anything || contains(regions, region);
    }
};

} // namespace

void hoist(Function& function, bool loads) {
    add_preheaders(function);
    const Shape shape(function);
    std::vector<uint32_t> block_of(function.nodes.size(), nowhere);
    for (uint32_t b : shape.order)
        for (uint32_t id : function.blocks[b].nodes) block_of[id] = b;
    for (uint32_t l = static_cast<uint32_t>(shape.loops.size()); l-- > 0;) {
        const Loop& loop = shape.loops[l];
        const uint32_t front = preheader(function, shape, l);
        Written written;
        std::vector<uint32_t> latches;
        for (uint32_t b : loop.blocks) {
            for (uint32_t id : function.blocks[b].nodes) {
                const Node& node = function.nodes[id];
                if (node.op == Op::Store) written.add(node.region);
                if (node.op == Op::Call && function.callees[node.extra].effect == Effect::Writes)
                    written.add(function.callees[node.extra].region);
            }
        }
        for (uint32_t before : function.blocks[loop.head].predecessors)
            if (shape.reachable(before) && shape.holds(l, before)) latches.push_back(before);
        const auto outside = [&](uint32_t value) { return block_of[value] == nowhere || !shape.holds(l, block_of[value]); };
        for (uint32_t b : loop.blocks) {
            bool always = true;
            for (uint32_t latch : latches) always = always && shape.dominates(b, latch);
            std::vector<uint32_t>& nodes = function.blocks[b].nodes;
            std::erase_if(nodes, [&](uint32_t id) {
                const Node& node = function.nodes[id];
                if (node.type == Type::None || node.op == Op::Phi || node.op == Op::Parameter || node.op == Op::Index ||
                    node.op == Op::Proved)
                    return false;
                // A comparison costs nothing where it is used: it sets the flags there.
                if (node.op >= Op::Eq && node.op <= Op::Below) return false;
                if (node.op == Op::Load && !loads) return false;
                if (node.op == Op::Load && written.touches(node.region)) return false;
                if (node.op == Op::Call) {
                    const Callee& callee = function.callees[node.extra];
                    if (!always || callee.effect == Effect::Writes ||
                        (callee.effect == Effect::Reads && (!loads || written.touches(callee.region))))
                        return false;
                }
                bool same = true;
                for_each_input(function, node, [&](uint32_t input) { same = same && outside(input); });
                if (!same) return false;
                function.blocks[front].nodes.push_back(id);
                block_of[id] = front;
                return true;
            });
        }
    }
}

} // namespace kindling::scalar
