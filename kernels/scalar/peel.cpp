// kernels/scalar/peel.cpp: the first round of a loop, in front of it.
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

namespace {

constexpr size_t most_nodes = 100, most_blocks = 12, most_in_all = 400, most_loops = 8;

class Peeler {
public:
    explicit Peeler(Function& function) : function_(function), shape_(function) {}
    /// The head of the loop whose first round it took out; 0 for none. Not of those that are done.
    uint32_t run(const std::vector<uint32_t>& done);

private:
    Function& function_;
    Shape shape_;
    std::vector<uint32_t> block_of_;
    // Of the loop at hand:
    uint32_t loop_ = 0;
    std::vector<uint32_t> copy_of_block_, copy_of_; // [block], [node]: 0 for none
    std::vector<uint32_t> original_of_block_;       // [block], of copies: 1
    std::vector<uint32_t> at_end_;                  // [block], of one value: what it is there

    Node& node(uint32_t id) { return function_.nodes[id]; }
    uint32_t copied(uint32_t id) const { return id < copy_of_.size() && copy_of_[id] ? copy_of_[id] : id; }
    bool inside(uint32_t block) const { return block < shape_.position.size() && shape_.reachable(block) && shape_.holds(loop_, block); }
    bool pays(uint32_t loop, const std::vector<Carried>& carried);
    uint32_t copy_list(uint32_t list, uint32_t count);
    uint32_t copy_exit(uint32_t exit);
    void copy(uint32_t front);
    uint32_t reaching(uint32_t value, uint32_t block);
    void repair();
    void carry(const std::vector<Carried>& carried);
};

bool Peeler::pays(uint32_t which, const std::vector<Carried>& carried) {
    const Loop& loop = shape_.loops[which];
    size_t nodes = 0;
    for (uint32_t b : loop.blocks) {
        nodes += function_.blocks[b].nodes.size();
        for (uint32_t id : function_.blocks[b].nodes)
            if (node(id).lanes > 1) return false;
    }
    if (nodes > most_nodes || loop.blocks.size() > most_blocks) return false;
    for (uint32_t b : loop.blocks)
        if (function_.blocks[b].kind == BasicBlock::Branch && function_.blocks[b].successor[0] == function_.blocks[b].successor[1])
            return false;
    if (!carried.empty()) return true;
    // A check of what stays, made in every round.
    const auto stays = [&](uint32_t id) { return !id || block_of_[id] == nowhere || !shape_.holds(which, block_of_[id]); };
    for (uint32_t b : loop.blocks) {
        bool always = true;
        for (uint32_t before : function_.blocks[loop.head].predecessors)
            if (shape_.holds(which, before)) always = always && shape_.dominates(b, before);
        if (!always) continue;
        for (uint32_t id : function_.blocks[b].nodes)
            if (node(id).op == Op::Index && stays(node(id).input[0]) && stays(node(id).input[1])) return true;
    }
    return false;
}

uint32_t Peeler::copy_list(uint32_t list, uint32_t count) {
    const uint32_t start = static_cast<uint32_t>(function_.operands.size());
    for (uint32_t i = 0; i < count; i++) function_.operands.push_back(copied(function_.operands[list + i]));
    return start;
}

uint32_t Peeler::copy_exit(uint32_t exit) {
    Exit made = function_.exits[exit];
    made.list = copy_list(made.list, made.count);
    function_.exits.push_back(made);
    return static_cast<uint32_t>(function_.exits.size() - 1);
}

void Peeler::copy(uint32_t front) {
    const Loop& loop = shape_.loops[loop_];
    const uint32_t head = loop.head;
    copy_of_block_.assign(function_.blocks.size(), 0);
    copy_of_.assign(function_.nodes.size(), 0);
    const uint32_t first = static_cast<uint32_t>(function_.blocks.size());
    for (uint32_t b : loop.blocks) {
        copy_of_block_[b] = static_cast<uint32_t>(function_.blocks.size());
        function_.blocks.emplace_back();
    }
    const std::vector<uint32_t> before = function_.blocks[head].predecessors;
    const size_t entering = place_in(before, front);
    // The loop's variables are what they start from. All nodes have their copies before any reads one.
    for (uint32_t b : loop.blocks)
        for (uint32_t id : function_.blocks[b].nodes) {
            if (b == head && node(id).op == Op::Phi) {
                copy_of_[id] = function_.operands[node(id).list + entering];
                continue;
            }
            function_.nodes.push_back(Node(node(id)));
            copy_of_[id] = static_cast<uint32_t>(function_.nodes.size() - 1);
            function_.blocks[copy_of_block_[b]].nodes.push_back(copy_of_[id]);
        }
    for (uint32_t b : loop.blocks) {
        const uint32_t made = copy_of_block_[b];
        for (uint32_t id : function_.blocks[made].nodes) {
            for (uint32_t& input : node(id).input) input = copied(input);
            if (node(id).count) {
                const uint32_t list = copy_list(node(id).list, node(id).count);
                node(id).list = list;
            }
            if (has_exit(node(id).op)) {
                const uint32_t exit = copy_exit(node(id).extra);
                node(id).extra = exit;
            }
        }
        const BasicBlock& from = function_.blocks[b];
        BasicBlock& to = function_.blocks[made];
        to.kind = from.kind;
        to.condition = copied(from.condition);
        for (int s = 0; s < from.successors(); s++) {
            const uint32_t next = from.successor[s];
            to.successor[s] = inside(next) && next != head ? copy_of_block_[next] : next;
            if (inside(next)) continue;
            // One more way out of the loop.
            BasicBlock& outside = function_.blocks[next];
            const size_t edge = place_in(outside.predecessors, b);
            outside.predecessors.push_back(made);
            for (uint32_t id : outside.nodes) {
                Node& phi = node(id);
                if (phi.op != Op::Phi) break;
                const uint32_t value = copied(function_.operands[phi.list + edge]);
                const uint32_t list = static_cast<uint32_t>(function_.operands.size());
                for (uint32_t i = 0; i < phi.count; i++) function_.operands.push_back(function_.operands[phi.list + i]);
                function_.operands.push_back(value);
                phi.list = list;
                phi.count++;
            }
        }
        if (from.kind == BasicBlock::Leave) to.exit = copy_exit(from.exit);
        if (b == head) to.predecessors.push_back(front);
        else
            for (uint32_t p : from.predecessors) to.predecessors.push_back(copy_of_block_[p]);
    }
    function_.blocks[front].successor[0] = copy_of_block_[head];
    // The loop itself is entered from the copies of what ends a round.
    std::vector<uint32_t> predecessors;
    for (uint32_t p : before)
        if (p != front) predecessors.push_back(copy_of_block_[p]);
    for (uint32_t p : before)
        if (p != front) predecessors.push_back(p);
    for (uint32_t id : function_.blocks[head].nodes) {
        Node& phi = node(id);
        if (phi.op != Op::Phi) break;
        const uint32_t list = static_cast<uint32_t>(function_.operands.size());
        for (bool first_round : {true, false})
            for (size_t i = 0; i < before.size(); i++)
                if (i != entering) {
                    const uint32_t value = function_.operands[phi.list + i];
                    function_.operands.push_back(first_round ? copied(value) : value);
                }
        phi.list = list;
        phi.count = static_cast<uint32_t>(predecessors.size());
    }
    function_.blocks[head].predecessors = std::move(predecessors);
    original_of_block_.assign(function_.blocks.size(), 0);
    for (size_t b = first; b < function_.blocks.size(); b++) original_of_block_[b] = 1;
}

/// What the value of the loop is at the end of a block behind it: its own, its copy, or a choice.
uint32_t Peeler::reaching(uint32_t value, uint32_t b) {
    if (inside(b)) return value;
    if (original_of_block_[b]) return copied(value);
    if (at_end_[b]) return at_end_[b];
    const std::vector<uint32_t> before = function_.blocks[b].predecessors;
    if (before.size() == 1) return at_end_[b] = reaching(value, before[0]);
    Node phi;
    phi.op = Op::Phi;
    phi.type = node(value).type;
    phi.list = static_cast<uint32_t>(function_.operands.size());
    phi.count = static_cast<uint32_t>(before.size());
    function_.operands.resize(function_.operands.size() + before.size());
    function_.nodes.push_back(phi);
    const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
    insert_at(function_.blocks[b].nodes, 0, id);
    at_end_[b] = id;
    for (size_t i = 0; i < before.size(); i++) {
        const uint32_t from = reaching(value, before[i]);
        function_.operands[phi.list + i] = from;
    }
    return id;
}

/// What is read behind the loop comes from either.
void Peeler::repair() {
    const size_t old = copy_of_.size();
    struct Reading {
        uint32_t value, block;
        uint32_t node;
        int input;
        uint32_t operand;
        bool condition;
    };
    std::vector<Reading> readings;
    const auto of_loop = [&](uint32_t id) { return id && id < old && copy_of_[id]; };
    for (uint32_t b = 0; b < shape_.position.size(); b++) {
        if (!shape_.reachable(b) || inside(b)) continue;
        const BasicBlock& block = function_.blocks[b];
        const auto list = [&](uint32_t from, uint32_t count) {
            for (uint32_t i = from; i < from + count; i++)
                if (of_loop(function_.operands[i])) readings.push_back({function_.operands[i], b, 0, 0, i, false});
        };
        for (uint32_t id : block.nodes) {
            const Node& at = node(id);
            for (int i = 0; i < 3; i++)
                if (of_loop(at.input[i])) readings.push_back({at.input[i], b, id, i, 0, false});
            if (at.op == Op::Phi) {
                for (uint32_t i = 0; i < at.count; i++) {
                    const uint32_t operand = function_.operands[at.list + i], from = block.predecessors[i];
                    // On the edges out of the loop and out of the copy they are right.
                    if (of_loop(operand) && !inside(from) && !original_of_block_[from])
                        readings.push_back({operand, from, 0, 0, at.list + i, false});
                }
            } else {
                list(at.list, at.count);
            }
            if (has_exit(at.op)) list(function_.exits[at.extra].list, function_.exits[at.extra].count);
        }
        if (block.kind == BasicBlock::Branch && of_loop(block.condition)) readings.push_back({block.condition, b, 0, 0, 0, true});
        if (block.kind == BasicBlock::Leave) list(function_.exits[block.exit].list, function_.exits[block.exit].count);
    }
    std::vector<uint64_t> order;
    for (size_t i = 0; i < readings.size(); i++) order.push_back(static_cast<uint64_t>(readings[i].value) << 32 | i);
    sort_keys(order);
    uint32_t value = 0;
    for (uint64_t key : order) {
        const Reading& reading = readings[static_cast<uint32_t>(key)];
        if (reading.value != value) at_end_.assign(function_.blocks.size(), 0), value = reading.value;
        const uint32_t by = reaching(value, reading.block);
        if (reading.condition) function_.blocks[reading.block].condition = by;
        else if (reading.node) node(reading.node).input[reading.input] = by;
        else function_.operands[reading.operand] = by;
    }
}

/// In the loop, but not in its first round, the load is what the round before left.
void Peeler::carry(const std::vector<Carried>& carried) {
    const uint32_t head = shape_.loops[loop_].head;
    Replacements replacements(function_);
    for (const Carried& one : carried) {
        Node phi;
        phi.op = Op::Phi;
        phi.type = node(one.load).type;
        phi.list = static_cast<uint32_t>(function_.operands.size());
        phi.count = static_cast<uint32_t>(function_.blocks[head].predecessors.size());
        for (uint32_t before : function_.blocks[head].predecessors)
            function_.operands.push_back(original_of_block_[before] ? copied(one.value) : one.value);
        function_.nodes.push_back(phi);
        const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
        insert_at(function_.blocks[head].nodes, 0, id);
        replacements.grow(function_.nodes.size());
        replacements.replace(one.load, id);
        for (uint32_t b : shape_.loops[loop_].blocks) take_out(function_.blocks[b].nodes, one.load);
    }
    replacements.apply(function_);
}

uint32_t Peeler::run(const std::vector<uint32_t>& done) {
    if (function_.blocks.size() > most_in_all) return 0;
    std::vector<uint8_t> innermost(shape_.loops.size(), 1);
    for (const Loop& loop : shape_.loops)
        if (loop.parent != nowhere) innermost[loop.parent] = 0;
    block_of_.assign(function_.nodes.size(), nowhere);
    for (uint32_t b : shape_.order)
        for (uint32_t id : function_.blocks[b].nodes) block_of_[id] = b;
    for (uint32_t l = 0; l < shape_.loops.size(); l++) {
        const uint32_t head = shape_.loops[l].head;
        if (!innermost[l] || contains(done, head)) continue;
        const std::vector<Carried> carried = carried_loads(function_, l);
        if (!pays(l, carried)) continue;
        loop_ = l;
        copy(preheader(function_, shape_, l));
        repair();
        carry(carried);
        return head;
    }
    return 0;
}

} // namespace

bool peel(Function& function) {
    std::vector<uint32_t> done;
    while (done.size() < most_loops) {
        add_preheaders(function);
        const uint32_t head = Peeler(function).run(done);
        if (!head) break;
        done.push_back(head);
    }
    return !done.empty();
}

} // namespace kindling::scalar
