// kernels/scalar/tidy.cpp: unreachable blocks, needless phis, unused values, blocks in a row; edges split for phis' moves.
#include <algorithm>
#include <utility>

#include "kernels/scalar/analysis.h"
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

void Replacements::apply(Function& function) {
    if (!any_) return;
    for (BasicBlock& block : function.blocks) {
        for (uint32_t id : block.nodes)
            for (uint32_t& input : function.nodes[id].input) input = resolve(input);
        block.condition = resolve(block.condition);
    }
    for (uint32_t& operand : function.operands) operand = resolve(operand);
}

namespace {

/// The block no longer knows the predecessor of that place.
void forget_predecessor(Function& function, BasicBlock& block, size_t place) {
    for (size_t i = place; i + 1 < block.predecessors.size(); i++) block.predecessors[i] = block.predecessors[i + 1];
    block.predecessors.pop_back();
    for (uint32_t id : block.nodes) {
        Node& phi = function.nodes[id];
        if (phi.op != Op::Phi) break;
        uint32_t* operands = function.operands.data() + phi.list;
        std::copy(operands + place + 1, operands + phi.count, operands + place);
        phi.count--;
    }
}

/// Where the edge by the successor of that number stands among the target's predecessors.
size_t edge_place(const Function& function, uint32_t from, int successor) {
    const BasicBlock& block = function.blocks[from];
    const uint32_t to = block.successor[successor];
    int skip = successor == 1 && block.successor[0] == to ? 1 : 0;
    const std::vector<uint32_t>& predecessors = function.blocks[to].predecessors;
    for (size_t i = 0; i < predecessors.size(); i++)
        if (predecessors[i] == from && skip-- == 0) return i;
    return predecessors.size();
}

bool has_phis(const Function& function, const BasicBlock& block) {
    return !block.nodes.empty() && function.nodes[block.nodes[0]].op == Op::Phi;
}

bool settle_branches(Function& function) {
    bool changed = false;
    for (uint32_t b = 0; b < function.blocks.size(); b++) {
        BasicBlock& block = function.blocks[b];
        if (block.kind != BasicBlock::Branch) continue;
        const Node& condition = function.nodes[block.condition];
        if (condition.op == Op::Constant) {
            const int dead = condition.bits ? 1 : 0;
            forget_predecessor(function, function.blocks[block.successor[dead]], edge_place(function, b, dead));
            block.successor[0] = block.successor[1 - dead];
        } else if (block.successor[0] == block.successor[1] && !has_phis(function, function.blocks[block.successor[0]])) {
            forget_predecessor(function, function.blocks[block.successor[1]], edge_place(function, b, 1));
        } else {
            continue;
        }
        block.kind = BasicBlock::Jump;
        block.condition = 0;
        changed = true;
    }
    return changed;
}

bool drop_unreachable(Function& function) {
    std::vector<uint8_t> seen(function.blocks.size());
    std::vector<uint32_t> work{0};
    seen[0] = 1;
    while (!work.empty()) {
        const BasicBlock& block = function.blocks[work.back()];
        work.pop_back();
        for (int s = 0; s < block.successors(); s++)
            if (!seen[block.successor[s]]) seen[block.successor[s]] = 1, work.push_back(block.successor[s]);
    }
    bool changed = false;
    for (uint32_t b = 0; b < function.blocks.size(); b++) {
        BasicBlock& block = function.blocks[b];
        if (!seen[b]) {
            if (block.kind == BasicBlock::Open && block.nodes.empty() && block.predecessors.empty()) continue;
            block = BasicBlock();
            changed = true;
        } else {
            for (size_t i = block.predecessors.size(); i-- > 0;)
                if (!seen[block.predecessors[i]]) forget_predecessor(function, block, i), changed = true;
        }
    }
    return changed;
}

bool drop_phis(Function& function) {
    Replacements replacements(function);
    for (bool changed = true; changed;) {
        changed = false;
        for (BasicBlock& block : function.blocks) {
            size_t kept = 0, at = 0;
            for (; at < block.nodes.size() && function.nodes[block.nodes[at]].op == Op::Phi; at++) {
                const uint32_t id = block.nodes[at];
                const Node& phi = function.nodes[id];
                uint32_t only = 0;
                bool several = false;
                for (uint32_t i = 0; i < phi.count; i++) {
                    const uint32_t operand = replacements.resolve(function.operands[phi.list + i]);
                    if (operand == id || operand == only) continue;
                    if (only) several = true;
                    only = operand;
                }
                if (several || !only) block.nodes[kept++] = id;
                else replacements.replace(id, only), changed = true;
            }
            if (kept == at) continue;
            while (at < block.nodes.size()) block.nodes[kept++] = block.nodes[at++];
            block.nodes.resize(kept);
        }
    }
    replacements.apply(function);
    return replacements.any();
}

bool join_blocks(Function& function) {
    bool changed = false;
    for (uint32_t b = 0; b < function.blocks.size(); b++) {
        BasicBlock& block = function.blocks[b];
        while (block.kind == BasicBlock::Jump) {
            const uint32_t next = block.successor[0];
            if (next == b || next == 0 || function.blocks[next].predecessors.size() != 1 || has_phis(function, function.blocks[next]))
                break;
            BasicBlock after = std::move(function.blocks[next]);
            function.blocks[next] = BasicBlock();
            for (uint32_t id : after.nodes) block.nodes.push_back(id);
            block.kind = after.kind, block.condition = after.condition, block.exit = after.exit;
            block.successor[0] = after.successor[0], block.successor[1] = after.successor[1];
            for (int s = 0; s < block.successors(); s++)
                for (uint32_t& before : function.blocks[block.successor[s]].predecessors)
                    if (before == next) before = b;
            changed = true;
        }
    }
    return changed;
}

void drop_unused(Function& function) {
    std::vector<uint8_t> used(function.nodes.size());
    std::vector<uint32_t> work;
    auto use = [&](uint32_t id) {
        if (!used[id]) used[id] = 1, work.push_back(id);
    };
    auto use_exit = [&](const Exit& exit) {
        for (uint32_t i = 0; i < exit.count; i++) use(function.operands[exit.list + i]);
    };
    for (const BasicBlock& block : function.blocks) {
        for (uint32_t id : block.nodes) {
            const Node& node = function.nodes[id];
            if (node.op == Op::Store || node.op == Op::Parameter || has_exit(node.op) ||
                (node.op == Op::Call && function.callees[node.extra].effect == Effect::Writes))
                use(id);
        }
        if (block.condition) use(block.condition);
        if (block.kind == BasicBlock::Leave) use_exit(function.exits[block.exit]);
    }
    while (!work.empty()) {
        const Node& node = function.nodes[work.back()];
        work.pop_back();
        for_each_input(function, node, use);
        if (has_exit(node.op)) use_exit(function.exits[node.extra]);
    }
    for (BasicBlock& block : function.blocks) std::erase_if(block.nodes, [&](uint32_t id) { return !used[id]; });
}

} // namespace

void tidy(Function& function) {
    for (bool changed = true; changed;) {
        changed = settle_branches(function);
        changed |= drop_unreachable(function);
        changed |= drop_phis(function);
        changed |= join_blocks(function);
    }
    drop_unused(function);
    // Parameters first: their code is the function's first.
    const std::vector<uint32_t> entry = std::move(function.blocks[0].nodes);
    function.blocks[0].nodes.clear();
    for (bool parameters : {true, false})
        for (uint32_t id : entry)
            if ((function.nodes[id].op == Op::Parameter) == parameters) function.blocks[0].nodes.push_back(id);
}

void split_edges(Function& function) {
    for (uint32_t b = 0; b < function.blocks.size(); b++) {
        if (function.blocks[b].kind != BasicBlock::Branch) continue;
        for (int s = 0; s < 2; s++) {
            const uint32_t to = function.blocks[b].successor[s];
            if (function.blocks[to].predecessors.size() < 2) continue;
            const size_t place = edge_place(function, b, s);
            const uint32_t middle = static_cast<uint32_t>(function.blocks.size());
            BasicBlock between;
            between.kind = BasicBlock::Jump;
            between.successor[0] = to;
            between.predecessors.push_back(b);
            function.blocks.push_back(between);
            function.blocks[b].successor[s] = middle;
            function.blocks[to].predecessors[place] = middle;
        }
    }
}

void use_checked(Function& function) {
    Replacements replacements(function);
    for (BasicBlock& block : function.blocks) {
        for (uint32_t id : block.nodes) {
            Node& node = function.nodes[id];
            if (node.op != Op::Index && node.op != Op::Proved) continue;
            replacements.replace(id, node.input[0]);
            if (node.op == Op::Index) node.type = Type::None;
        }
        std::erase_if(block.nodes, [&](uint32_t id) { return function.nodes[id].op == Op::Proved; });
    }
    replacements.apply(function);
}

} // namespace kindling::scalar
