// kernels/scalar/decide.cpp: comparisons and index checks that are decided by what is known where they stand.
//
// What is asked: is a <= b + c, at a place? Known are the branches and checks on every way to that place, how values are made,
// and for loop variables that what holds at the start and is kept by each round holds always (Bodik, Gupta and Sarkar, 2000).
// Sums wrap, so a sum counts only where it is known not to.
#include <algorithm>

#include "kernels/scalar/passes.h"

namespace kindling::scalar {

namespace {

constexpr int64_t far = int64_t{1} << 61;

/// left <= right + distance, in the blocks that `block` dominates; in itself from `place` on. 0 stands for the number 0.
struct Fact {
    uint32_t left, right;
    int64_t distance;
    uint32_t block, place;
};

class Decider {
public:
    explicit Decider(Function& function) : function_(function), shape_(function), constants_(function), replacements_(function) {}
    void run();

private:
    Function& function_;
    Shape shape_;
    Constants constants_;
    Replacements replacements_;
    std::vector<Fact> facts_;
    std::vector<std::vector<uint32_t>> of_left_, of_right_; // [value]: facts
    std::vector<uint32_t> block_of_, opened_, closed_;      // [node]; [block]: times of the walk over dominators
    uint32_t at_block_ = 0, at_place_ = 0;                  // where the question is asked
    int budget_ = 0;
    struct Assumption {
        uint32_t left, right;
        int64_t distance;
    };
    std::vector<Assumption> assumed_;

    const Node& node(uint32_t id) const { return function_.nodes[id]; }
    bool constant(uint32_t id) const { return id && node(id).op == Op::Constant; }
    int64_t value(uint32_t id) const { return static_cast<int64_t>(node(id).bits); }
    bool dominates(uint32_t a, uint32_t b) const { return opened_[a] <= opened_[b] && closed_[b] <= closed_[a]; }
    bool holds(const Fact& fact) const { return fact.block == at_block_ ? fact.place <= at_place_ : dominates(fact.block, at_block_); }
    bool stays(uint32_t value, uint32_t head) const {
        return value == 0 || constant(value) || (block_of_[value] != head && dominates(block_of_[value], head));
    }
    void fact(uint32_t left, uint32_t right, int64_t distance, uint32_t block, uint32_t place);
    void learn(uint32_t condition, bool is, uint32_t block, uint32_t place);
    bool at_most(uint32_t a, uint32_t b, int64_t c, int depth);
    bool by_facts(uint32_t a, uint32_t b, int64_t c, int depth);
    bool by_making(uint32_t a, uint32_t b, int64_t c, int depth);
    bool fits(uint32_t sum, int depth);
    bool lessens(uint32_t difference, int depth);
    bool ask(uint32_t a, uint32_t b, int64_t c) {
        budget_ = 100;
        assumed_.clear();
        return at_most(a, b, c, 0);
    }
    int decided(const Node& comparison);
    bool moves(uint32_t value, uint32_t head, int depth = 0) const;
    bool pinned(uint32_t id);
    void index(uint32_t id);
    void visit(uint32_t block);
};

void Decider::fact(uint32_t left, uint32_t right, int64_t distance, uint32_t block, uint32_t place) {
    if (constant(left) && constant(right)) return;
    if (constant(left)) {
        if (value(left) < -far || value(left) > far) return;
        distance -= value(left), left = 0;
    }
    if (constant(right)) {
        if (value(right) < -far || value(right) > far) return;
        distance += value(right), right = 0;
    }
    const uint32_t self = static_cast<uint32_t>(facts_.size());
    facts_.push_back({left, right, distance, block, place});
    of_left_[left].push_back(self);
    of_right_[right].push_back(self);
}

void Decider::learn(uint32_t condition, bool is, uint32_t block, uint32_t place) {
    const Node& test = node(condition);
    if (test.op == Op::Not) return learn(test.input[0], !is, block, place);
    if (test.type == Type::Bool && (test.op == Op::And ? is : test.op == Op::Or && !is)) {
        learn(test.input[0], is, block, place);
        learn(test.input[1], is, block, place);
        return;
    }
    if (test.op < Op::Eq || test.op > Op::Below || node(test.input[0]).type != Type::I64) return;
    const uint32_t a = test.input[0], b = test.input[1];
    switch (test.op) {
    case Op::Eq:
    case Op::Ne:
        if ((test.op == Op::Eq) == is) fact(a, b, 0, block, place), fact(b, a, 0, block, place);
        break;
    case Op::Lt: is ? fact(a, b, -1, block, place) : fact(b, a, 0, block, place); break;
    case Op::Le: is ? fact(a, b, 0, block, place) : fact(b, a, -1, block, place); break;
    case Op::Gt: is ? fact(b, a, -1, block, place) : fact(a, b, 0, block, place); break;
    case Op::Ge: is ? fact(b, a, 0, block, place) : fact(a, b, -1, block, place); break;
    default: break;
    }
}

/// Whether the sum x + k does not wrap: x is not near the end of the numbers, or is further from it than something else by k; or
/// the sum is not near the other end, where it would be if it had wrapped.
bool Decider::fits(uint32_t sum, int depth) {
    const uint32_t x = node(sum).input[0];
    const int64_t k = value(node(sum).input[1]);
    if (k < -far || k > far) return false;
    for (uint32_t f : k < 0 ? of_right_[x] : of_left_[x]) {
        const Fact& fact = facts_[f];
        if ((k < 0 ? fact.left : fact.right) != 0 && fact.distance <= (k < 0 ? k : -k) && holds(fact)) return true;
    }
    if (k < 0) return at_most(0, x, far, depth + 1) || by_facts(sum, 0, far, depth + 1);
    return at_most(x, 0, far, depth + 1) || by_facts(0, sum, far, depth + 1);
}

/// Whether the difference x - y takes from x, and does not wrap.
bool Decider::lessens(uint32_t difference, int depth) {
    const uint32_t x = node(difference).input[0], y = node(difference).input[1];
    return at_most(0, y, 0, depth + 1) && at_most(y, 0, far, depth + 1) && at_most(0, x, far, depth + 1);
}

bool Decider::at_most(uint32_t a, uint32_t b, int64_t c, int depth) {
    if (c < -2 * far || c > 2 * far) return false;
    if (constant(a)) {
        if (value(a) < -far || value(a) > far) return false;
        c -= value(a), a = 0;
    }
    if (constant(b)) {
        if (value(b) < -far || value(b) > far) return false;
        c += value(b), b = 0;
    }
    if (a == b) return c >= 0;
    if (depth > 12 || --budget_ < 0) return false;
    for (const Assumption& assumption : assumed_)
        if (assumption.left == a && assumption.right == b && assumption.distance <= c) return true;
    return by_facts(a, b, c, depth) || by_making(a, b, c, depth);
}

bool Decider::by_facts(uint32_t a, uint32_t b, int64_t c, int depth) {
    // The direct ones first.
    for (uint32_t f : of_left_[a])
        if (facts_[f].right == b && facts_[f].distance <= c && holds(facts_[f])) return true;
    if (a)
        for (uint32_t f : of_left_[a])
            if (holds(facts_[f]) && facts_[f].right != b && at_most(facts_[f].right, b, c - facts_[f].distance, depth + 1)) return true;
    if (b)
        for (uint32_t f : of_right_[b])
            if (holds(facts_[f]) && facts_[f].left != a && at_most(a, facts_[f].left, c - facts_[f].distance, depth + 1)) return true;
    return false;
}

bool Decider::by_making(uint32_t a, uint32_t b, int64_t c, int depth) {
    const auto again = [&](uint32_t x, uint32_t y, int64_t d) { return at_most(x, y, d, depth + 1); };
    // A phi: every value that it may take, where it takes it. On the way around a loop it may be assumed.
    const auto each = [&](uint32_t phi, bool left) {
        const Node choice = node(phi);
        const uint32_t head = block_of_[phi];
        if (!stays(left ? b : a, head)) return false;
        const uint32_t block = at_block_, place = at_place_;
        assumed_.push_back({a, b, c});
        bool all = true;
        for (uint32_t i = 0; all && i < choice.count; i++) {
            at_block_ = function_.blocks[head].predecessors[i];
            if (!shape_.reachable(at_block_)) continue;
            at_place_ = nowhere;
            const uint32_t operand = replacements_.resolve(function_.operands[choice.list + i]);
            all = left ? again(operand, b, c) : again(a, operand, c);
        }
        assumed_.pop_back();
        at_block_ = block, at_place_ = place;
        return all;
    };
    if (a) {
        const Node& made = node(a);
        const uint32_t x = made.input[0], y = made.input[1];
        switch (made.op) {
        case Op::Add:
            if (constant(y) && value(y) >= -far && value(y) <= far && again(x, b, c - value(y)) && fits(a, depth)) return true;
            break;
        case Op::Sub:
            if (again(x, b, c) && lessens(a, depth)) return true;
            break;
        case Op::Phi:
            if (each(a, true)) return true;
            break;
        case Op::Min:
            if (again(x, b, c) || again(y, b, c)) return true;
            break;
        case Op::Max:
            if (again(x, b, c) && again(y, b, c)) return true;
            break;
        case Op::Select:
            if (again(y, b, c) && again(made.input[2], b, c)) return true;
            break;
        case Op::FloorMod:
            if (again(0, y, -1) && again(y, b, c + 1)) return true;
            break;
        case Op::And:
            if (made.type == Type::I64 && constant(y) && value(y) >= 0 && again(y, b, c)) return true;
            break;
        case Op::Shr:
            if (constant(y) && again(0, x, 0) && again(x, b, c)) return true;
            break;
        case Op::FloorDiv:
            if (again(0, x, 0) && again(0, y, -1) && again(x, b, c)) return true;
            break;
        case Op::Index:
        case Op::Proved:
            if (again(x, b, c)) return true;
            break;
        case Op::ToI64:
            if (node(x).type == Type::Bool && again(0, b, c - 1)) return true;
            break;
        case Op::Load: {
            const int bits =
                8 * memory_bytes(made.memory) - (made.memory == Memory::I8 || made.memory == Memory::I16 || made.memory == Memory::I32);
            if (bits < 60 && again(0, b, c - ((int64_t{1} << bits) - 1))) return true;
            break;
        }
        default: break;
        }
    }
    if (b) {
        const Node& made = node(b);
        const uint32_t x = made.input[0], y = made.input[1];
        switch (made.op) {
        case Op::Add:
            if (constant(y) && value(y) >= -far && value(y) <= far && again(a, x, c + value(y)) && fits(b, depth)) return true;
            break;
        case Op::Sub:
            if (a == 0 && again(y, x, c) && lessens(b, depth)) return true;
            break;
        case Op::Phi:
            if (each(b, false)) return true;
            break;
        case Op::Max:
            if (again(a, x, c) || again(a, y, c)) return true;
            break;
        case Op::Min:
            if (again(a, x, c) && again(a, y, c)) return true;
            break;
        case Op::Select:
            if (again(a, y, c) && again(a, made.input[2], c)) return true;
            break;
        case Op::FloorMod:
            if (again(0, y, -1) && again(a, 0, c)) return true;
            break;
        case Op::And:
            if (made.type == Type::I64 && constant(y) && value(y) >= 0 && again(a, 0, c)) return true;
            break;
        case Op::Shr:
            if (constant(y) && again(0, x, 0) && again(a, 0, c)) return true;
            break;
        case Op::FloorDiv:
            if (again(0, x, 0) && again(0, y, -1) && again(a, 0, c)) return true;
            break;
        case Op::Index:
        case Op::Proved:
            if (again(a, x, c)) return true;
            break;
        case Op::ToI64:
            if (node(x).type == Type::Bool && again(a, 0, c)) return true;
            break;
        case Op::Load:
            if ((made.memory == Memory::U8 || made.memory == Memory::U16 || made.memory == Memory::U32) && again(a, 0, c)) return true;
            break;
        default: break;
        }
    }
    return false;
}

/// 1: true, 0: false, -1: not known.
int Decider::decided(const Node& test) {
    const uint32_t a = test.input[0], b = test.input[1];
    if (node(a).type != Type::I64) return -1;
    switch (test.op) {
    case Op::Lt: return ask(a, b, -1) ? 1 : ask(b, a, 0) ? 0 : -1;
    case Op::Le: return ask(a, b, 0) ? 1 : ask(b, a, -1) ? 0 : -1;
    case Op::Gt: return ask(b, a, -1) ? 1 : ask(a, b, 0) ? 0 : -1;
    case Op::Ge: return ask(b, a, 0) ? 1 : ask(a, b, -1) ? 0 : -1;
    case Op::Eq:
    case Op::Ne:
        if (ask(a, b, -1) || ask(b, a, -1)) return test.op == Op::Ne;
        return -1;
    case Op::Below: return ask(0, a, 0) && ask(a, b, -1) ? 1 : -1;
    default: return -1;
    }
}

/// Whether a value may come to be computed in front of the loop with this head: it is there, or made of what may (hoist.cpp).
bool Decider::moves(uint32_t value, uint32_t head, int depth) const {
    if (stays(value, head)) return true;
    const Node& made = node(value);
    if (made.op == Op::Phi || made.op == Op::Index || made.op == Op::Proved) return false;
    bool all = true;
    if (depth < 16) for_each_input(function_, made, [&](uint32_t input) { all = all && moves(input, head, depth + 1); });
    return all;
}

/// Whether a checked index must be kept apart from the index: code that reads it might else be moved in front of what proved it.
/// In front of each loop that it may leave, the proof must hold, too.
bool Decider::pinned(uint32_t id) {
    const Node& check = node(id);
    const uint32_t x = check.input[0], size = check.input[1];
    const uint32_t block = at_block_, place = at_place_;
    bool proved = true;
    for (uint32_t loop = shape_.loop[block]; proved && loop != nowhere; loop = shape_.loops[loop].parent) {
        const uint32_t head = shape_.loops[loop].head;
        if (!moves(x, head)) break;
        if (!stays(size, head)) proved = false;
        at_block_ = shape_.dominator[head], at_place_ = nowhere;
        proved = proved && ask(0, x, 0) && ask(x, size, -1);
    }
    at_block_ = block, at_place_ = place;
    return !proved;
}

void Decider::index(uint32_t id) {
    Node& check = function_.nodes[id];
    const uint32_t x = check.input[0], size = check.input[1];
    if (!ask(0, x, 0) || !ask(x, size, -1)) return;
    if (pinned(id)) {
        check.op = Op::Proved;
        check.input[1] = 0;
        check.extra = 0;
    } else {
        replacements_.replace(id, x);
    }
}

void Decider::visit(uint32_t b) {
    BasicBlock& block = function_.blocks[b];
    at_block_ = b;
    std::vector<uint32_t> kept;
    kept.reserve(block.nodes.size());
    for (uint32_t i = 0; i < block.nodes.size(); i++) {
        const uint32_t id = block.nodes[i];
        at_place_ = i;
        {
            Node& node = function_.nodes[id];
            for (uint32_t& input : node.input) input = replacements_.resolve(input);
            for (uint32_t k = 0; k < node.count; k++) {
                uint32_t& operand = function_.operands[node.list + k];
                operand = replacements_.resolve(operand);
            }
        }
        const Op op = node(id).op;
        if (op >= Op::Eq && op <= Op::Below) {
            const Node test = node(id);
            const int known = decided(test);
            if (known >= 0) {
                const uint32_t settled = constants_.get(Type::Bool, static_cast<uint64_t>(known));
                replacements_.grow(function_.nodes.size());
                of_left_.resize(function_.nodes.size()), of_right_.resize(function_.nodes.size());
                replacements_.replace(id, settled);
            }
        } else if (op == Op::Select) {
            const Node choice = node(id);
            if (constant(choice.input[0])) replacements_.replace(id, node(choice.input[0]).bits ? choice.input[1] : choice.input[2]);
        } else if (op == Op::Index) {
            index(id);
            if (node(id).op == Op::Index && replacements_.resolve(id) == id) {
                // From here on it is known, of the index and of what it gives.
                for (uint32_t value : {node(id).input[0], id}) {
                    fact(0, value, 0, b, i + 1);
                    fact(value, node(id).input[1], -1, b, i + 1);
                }
            }
        } else if (op == Op::Check) {
            learn(node(id).input[0], true, b, i + 1);
        }
        if (replacements_.resolve(id) == id) kept.push_back(id);
    }
    block.nodes = std::move(kept);
    block.condition = replacements_.resolve(block.condition);
}

void Decider::run() {
    const size_t values = function_.nodes.size(), blocks = function_.blocks.size();
    of_left_.resize(values), of_right_.resize(values);
    block_of_.assign(values, 0);
    for (uint32_t b : shape_.order)
        for (uint32_t id : function_.blocks[b].nodes) block_of_[id] = b;
    opened_.assign(blocks, 0), closed_.assign(blocks, 0);
    std::vector<std::vector<uint32_t>> children(blocks);
    for (size_t i = shape_.order.size(); i-- > 1;) children[shape_.dominator[shape_.order[i]]].push_back(shape_.order[i]);
    std::vector<uint32_t> stack{0};
    uint32_t time = 0;
    opened_[0] = ++time;
    while (!stack.empty()) {
        const uint32_t b = stack.back();
        if (children[b].empty()) {
            closed_[b] = ++time;
            stack.pop_back();
            continue;
        }
        const uint32_t child = children[b].back();
        children[b].pop_back();
        opened_[child] = ++time;
        stack.push_back(child);
    }
    // What branches say is known before any question is asked: a loop variable is judged by what its last round knew.
    for (uint32_t b : shape_.order) {
        const BasicBlock& block = function_.blocks[b];
        if (b == 0 || block.predecessors.size() != 1) continue;
        const BasicBlock& before = function_.blocks[block.predecessors[0]];
        if (before.kind == BasicBlock::Branch && before.successor[0] != before.successor[1])
            learn(before.condition, before.successor[0] == b, b, 0);
    }
    for (uint32_t b : shape_.order) visit(b);
    replacements_.apply(function_);
}

} // namespace

void decide_checks(Function& function) { Decider(function).run(); }

} // namespace kindling::scalar
