// kernels/scalar/polls.cpp: a counter in memory is as slow as a chain of stores and loads. So an innermost loop with one poll at
// its end takes the counter with it in a register, and puts it back where it is left.
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

void count_in_registers(Function& function) {
    add_preheaders(function);
    split_edges(function);
    const Shape shape(function);
    std::vector<uint8_t> innermost(shape.loops.size(), 1);
    for (const Loop& loop : shape.loops)
        if (loop.parent != nowhere) innermost[loop.parent] = 0;
    const auto add = [&](const Node& node) {
        function.nodes.push_back(node);
        return static_cast<uint32_t>(function.nodes.size() - 1);
    };
    for (uint32_t l = 0; l < shape.loops.size(); l++) {
        const Loop& loop = shape.loops[l];
        BasicBlock& head = function.blocks[loop.head];
        if (!innermost[l] || head.predecessors.size() != 2) continue;
        const uint32_t front = preheader(function, shape, l), from_front = head.predecessors[0] == front ? 0 : 1;
        const uint32_t latch = head.predecessors[1 - from_front];
        uint32_t poll = 0;
        size_t polls = 0;
        for (uint32_t b : loop.blocks)
            for (uint32_t id : function.blocks[b].nodes)
                if (function.nodes[id].op == Op::Poll) polls++, poll = b == latch ? id : 0;
        if (polls != 1 || !poll) continue;
        Node node;
        node.op = Op::Counter;
        node.type = Type::I64;
        const uint32_t first = add(node);
        function.blocks[front].nodes.push_back(first);
        node.op = Op::Phi;
        node.list = static_cast<uint32_t>(function.operands.size());
        node.count = 2;
        function.operands.resize(function.operands.size() + 2, poll);
        function.operands[node.list + from_front] = first;
        const uint32_t counter = add(node);
        insert_at(head.nodes, 0, counter);
        function.nodes[poll].type = Type::I64;
        function.nodes[poll].input[0] = counter;
        for (uint32_t b : loop.blocks) {
            const BasicBlock& block = function.blocks[b];
            for (int s = 0; s < block.successors(); s++) {
                const uint32_t to = block.successor[s];
                if (shape.holds(l, to)) continue;
                Node back;
                back.op = Op::SetCounter;
                back.input[0] = b == latch ? poll : counter;
                const uint32_t id = add(back);
                insert_at(function.blocks[to].nodes, 0, id);
            }
        }
    }
}

} // namespace kindling::scalar
