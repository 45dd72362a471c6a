// kernels/scalar/algebra.cpp: constants, and rules by which one node is worth another. Each holds for every input, overflow,
// signed zeros and NaN (but for its payload) included.
#include <bit>

#include "kernels/scalar/evaluate.h"
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

Constants::Constants(Function& function) : function_(function), heads_(256) {
    for (uint32_t id = 1; id < function.nodes.size(); id++)
        if (function.nodes[id].op == Op::Constant) add(id);
}

namespace {
size_t hash_of(Type type, uint64_t bits) {
    return static_cast<size_t>((bits + static_cast<uint64_t>(type) * 31) * 0x9E3779B97F4A7C15u >> 56);
}
} // namespace

void Constants::add(uint32_t id) {
    const Node& node = function_.nodes[id];
    if (next_.size() <= id) next_.resize(id + 64);
    uint32_t& head = heads_[hash_of(node.type, node.bits)];
    next_[id] = head;
    head = id;
}

uint32_t Constants::get(Type type, uint64_t bits) {
    for (uint32_t id = heads_[hash_of(type, bits)]; id; id = next_[id])
        if (function_.nodes[id].type == type && function_.nodes[id].bits == bits) return id;
    Node node;
    node.type = type;
    node.bits = bits;
    function_.nodes.push_back(node);
    const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
    add(id);
    return id;
}

namespace {

bool floating(Type type) { return type == Type::F64 || type == Type::F32; }

class Algebra {
public:
    Algebra(Function& function, Constants& constants, Node& node) : function_(function), constants_(constants), node_(node) {}
    uint32_t value();

private:
    Function& function_;
    Constants& constants_;
    Node& node_;

    const Node& at(uint32_t id) const { return function_.nodes[id]; }
    const Node& input(int i) const { return at(node_.input[i]); }
    bool constant(int i) const { return node_.input[i] && input(i).op == Op::Constant; }
    bool is(int i, int64_t value) const { return constant(i) && static_cast<int64_t>(input(i).bits) == value; }
    bool is_real(int i, double value) const {
        if (!constant(i)) return false;
        return input(i).type == Type::F64 ? input(i).bits == std::bit_cast<uint64_t>(value)
                                          : input(i).bits == std::bit_cast<uint32_t>(static_cast<float>(value));
    }
    uint32_t integer(int64_t value) { return constants_.integer(value); }
    uint32_t boolean(bool value) { return constants_.get(Type::Bool, value); }
    /// Rewrites the node.
    uint32_t become(Op op, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
        node_.op = op;
        node_.input[0] = a, node_.input[1] = b, node_.input[2] = c;
        return value();
    }
    uint32_t integral();
    uint32_t real();
    uint32_t logical();
    uint32_t comparison();
    uint32_t select();
    uint32_t place();
};

int power_of_two(uint64_t bits) { return bits && (bits & (bits - 1)) == 0 && bits <= uint64_t{1} << 62 ? __builtin_ctzll(bits) : -1; }

Op mirrored(Op op) { return op == Op::Lt ? Op::Gt : op == Op::Le ? Op::Ge : op == Op::Gt ? Op::Lt : op == Op::Ge ? Op::Le : op; }
Op inverse(Op op) {
    switch (op) {
    case Op::Eq: return Op::Ne;
    case Op::Ne: return Op::Eq;
    case Op::Lt: return Op::Ge;
    case Op::Le: return Op::Gt;
    case Op::Gt: return Op::Le;
    default: return Op::Lt;
    }
}

uint32_t Algebra::integral() {
    const uint32_t a = node_.input[0], b = node_.input[1];
    switch (node_.op) {
    case Op::Add: {
        if (is(1, 0)) return a;
        // (x + 1) + 2
        const Node left = input(0);
        if (constant(1) && left.op == Op::Add && left.type == node_.type && at(left.input[1]).op == Op::Constant)
            return become(Op::Add, left.input[0],
                          integer(wrap_add(static_cast<int64_t>(at(left.input[1]).bits), static_cast<int64_t>(input(1).bits))));
        return 0;
    }
    case Op::Sub:
        if (a == b && node_.type == Type::I64) return integer(0);
        if (constant(1)) return become(Op::Add, a, integer(wrap_sub(0, static_cast<int64_t>(input(1).bits))));
        if (is(0, 0)) return become(Op::Neg, b);
        return 0;
    case Op::Mul:
        if (is(1, 1)) return a;
        if (is(1, 0)) return b;
        if (is(1, -1)) return become(Op::Neg, a);
        if (constant(1) && power_of_two(input(1).bits) > 0) return become(Op::Shl, a, integer(power_of_two(input(1).bits)));
        return 0;
    case Op::Neg: return input(0).op == Op::Neg ? input(0).input[0] : 0;
    case Op::FloorDiv:
        if (is(1, 1)) return a;
        if (constant(1) && power_of_two(input(1).bits) > 0) return become(Op::Shr, a, integer(power_of_two(input(1).bits)));
        return 0;
    case Op::FloorMod:
        if (is(1, 1)) return integer(0);
        if (constant(1) && power_of_two(input(1).bits) > 0) return become(Op::And, a, integer(static_cast<int64_t>(input(1).bits) - 1));
        return 0;
    case Op::Min:
    case Op::Max: return a == b ? a : 0;
    case Op::And: return a == b || is(1, -1) ? a : is(1, 0) ? b : 0;
    case Op::Or: return a == b || is(1, 0) ? a : is(1, -1) ? b : 0;
    case Op::Xor: return a == b ? integer(0) : is(1, 0) ? a : 0;
    case Op::Not: return input(0).op == Op::Not ? input(0).input[0] : 0;
    case Op::Shl:
    case Op::Shr: return is(1, 0) ? a : 0;
    default: return 0;
    }
}

uint32_t Algebra::real() {
    const uint32_t a = node_.input[0];
    switch (node_.op) {
    case Op::Add: return is_real(1, -0.0) ? a : is_real(0, -0.0) ? node_.input[1] : 0;
    case Op::Sub: return is_real(1, 0.0) ? a : 0;
    case Op::Mul: return is_real(1, 1) ? a : is_real(0, 1) ? node_.input[1] : 0;
    case Op::Div: {
        if (is_real(1, 1)) return a;
        if (!constant(1) || node_.type != Type::F64) return 0;
        // By a power of two: the reciprocal is exact.
        const double by = std::bit_cast<double>(input(1).bits);
        int exponent = 0;
        if (!(std::fabs(by) > 0x1p-1000 && std::fabs(by) < 0x1p1000) || std::fabs(std::frexp(by, &exponent)) != 0.5) return 0;
        return become(Op::Mul, a, constants_.get(Type::F64, std::bit_cast<uint64_t>(1 / by)));
    }
    case Op::Neg: return input(0).op == Op::Neg ? input(0).input[0] : 0;
    case Op::ToF32:
        return node_.type == Type::F32 && input(0).op == Op::ToF64 && at(input(0).input[0]).type == Type::F32 ? input(0).input[0] : 0;
    default: return 0;
    }
}

uint32_t Algebra::logical() {
    const uint32_t a = node_.input[0], b = node_.input[1];
    switch (node_.op) {
    case Op::And: return a == b || is(1, 1) ? a : is(1, 0) ? b : 0;
    case Op::Or: return a == b || is(1, 0) ? a : is(1, 1) ? b : 0;
    case Op::Xor: return a == b ? boolean(false) : is(1, 0) ? a : is(1, 1) ? become(Op::Not, a) : 0;
    case Op::Not: {
        const Node inner = input(0);
        if (inner.op == Op::Not) return inner.input[0];
        const bool whole = inner.op >= Op::Eq && inner.op <= Op::Ge && !floating(at(inner.input[0]).type);
        if (whole || inner.op == Op::Eq || inner.op == Op::Ne) return become(inverse(inner.op), inner.input[0], inner.input[1]);
        return 0;
    }
    default: return 0;
    }
}

uint32_t Algebra::comparison() {
    uint32_t a = node_.input[0], b = node_.input[1];
    const Type type = input(0).type;
    if (constant(0) && !constant(1) && node_.op != Op::Below) return become(mirrored(node_.op), b, a);
    if (floating(type)) return 0;
    if (a == b) return boolean(node_.op == Op::Eq || node_.op == Op::Le || node_.op == Op::Ge);
    if (type == Type::Bool && constant(1)) {
        const bool same = (node_.op == Op::Eq) == (input(1).bits != 0);
        return same ? a : become(Op::Not, a);
    }
    // x + 1 == 3
    const Node left = input(0);
    if ((node_.op == Op::Eq || node_.op == Op::Ne) && constant(1) && type == Type::I64 && left.op == Op::Add &&
        at(left.input[1]).op == Op::Constant)
        return become(node_.op, left.input[0],
                      integer(wrap_sub(static_cast<int64_t>(input(1).bits), static_cast<int64_t>(at(left.input[1]).bits))));
    return 0;
}

uint32_t Algebra::select() {
    const uint32_t condition = node_.input[0], yes = node_.input[1], no = node_.input[2];
    if (constant(0)) return input(0).bits ? yes : no;
    if (yes == no) return yes;
    const Node test = input(0);
    if (test.op == Op::Not) return become(Op::Select, test.input[0], no, yes);
    if (node_.type == Type::Bool && constant(1) && constant(2)) return input(1).bits ? condition : become(Op::Not, condition);
    if (node_.type == Type::I64 && is(1, 1) && is(2, 0)) return become(Op::ToI64, condition);
    if (node_.type == Type::Bool || node_.type == Type::Address) return 0;
    const bool ordered = test.op == Op::Lt || test.op == Op::Gt || (node_.type == Type::I64 && (test.op == Op::Le || test.op == Op::Ge));
    if (!ordered || at(test.input[0]).type != node_.type) return 0;
    const bool less = test.op == Op::Lt || test.op == Op::Le;
    if (test.input[0] == yes && test.input[1] == no) return become(less ? Op::Min : Op::Max, yes, no);
    if (test.input[0] == no && test.input[1] == yes) return become(less ? Op::Max : Op::Min, yes, no);
    return 0;
}

/// Sums in addresses go into the load or store. Addresses wrap as integers do.
uint32_t Algebra::place() {
    for (int steps = 0; steps < 8; steps++) {
        const auto shift = [&](int64_t by) {
            const int64_t sum = wrap_add(node_.displacement, by);
            if (by != static_cast<int32_t>(by) || sum != static_cast<int32_t>(sum)) return false;
            node_.displacement = static_cast<int32_t>(sum);
            return true;
        };
        const Node& base = input(0);
        if (base.op == Op::Add && at(base.input[1]).op == Op::Constant && shift(static_cast<int64_t>(at(base.input[1]).bits))) {
            node_.input[0] = base.input[0];
            continue;
        }
        if (base.op == Op::Add && !node_.input[1]) {
            node_.input[1] = base.input[1], node_.input[0] = base.input[0];
            node_.scale = 1;
            continue;
        }
        if (!node_.input[1]) break;
        const Node& index = input(1);
        const auto scaled = [&](uint64_t bits) { return wrap_mul(static_cast<int64_t>(bits), node_.scale); };
        if (index.op == Op::Constant && shift(scaled(index.bits))) {
            node_.input[1] = 0;
            node_.scale = 1;
            continue;
        }
        if (index.op == Op::Add && at(index.input[1]).op == Op::Constant && shift(scaled(at(index.input[1]).bits))) {
            node_.input[1] = index.input[0];
            continue;
        }
        if (index.op == Op::Shl && at(index.input[1]).op == Op::Constant && at(index.input[1]).bits <= 3 &&
            node_.scale << at(index.input[1]).bits <= 8) {
            node_.scale = static_cast<uint8_t>(node_.scale << at(index.input[1]).bits);
            node_.input[1] = index.input[0];
            continue;
        }
        break;
    }
    return 0;
}

uint32_t Algebra::value() {
    if (node_.op == Op::Load || node_.op == Op::Store) return place();
    if (node_.op < Op::Add || node_.op > Op::Bits) return 0;
    if (node_.op == Op::Select) return select();
    const Type type = input(0).type;
    // A constant goes to the right; else the order of numbers, so that equal sums look alike.
    const bool commutes = node_.op == Op::Mul || (node_.op == Op::Add && type != Type::Address) || node_.op == Op::And ||
                          node_.op == Op::Or || node_.op == Op::Xor || node_.op == Op::Eq || node_.op == Op::Ne ||
                          ((node_.op == Op::Min || node_.op == Op::Max) && type == Type::I64);
    if (commutes && (constant(0) ? !constant(1) : !constant(1) && node_.input[0] > node_.input[1]))
        std::swap(node_.input[0], node_.input[1]);
    bool known = true;
    for (int i = 0; i < 3; i++) known = known && (!node_.input[i] || constant(i));
    if (known) {
        const uint64_t b = node_.input[1] ? input(1).bits : 0;
        return constants_.get(node_.type, evaluate(node_.op, node_.type, type, input(0).bits, b, 0));
    }
    if (node_.op >= Op::Eq && node_.op <= Op::Below) return comparison();
    if (node_.type == Type::Bool) return logical();
    return floating(node_.type) ? real() : integral();
}

} // namespace

uint32_t simplified(Function& function, Constants& constants, Node& node) {
    if (node.lanes > 1 || gathers(node.op)) return 0;
    // The list of nodes grows with constants: work on a copy.
    Node copy = node;
    const size_t at = static_cast<size_t>(&node - function.nodes.data());
    const uint32_t value = Algebra(function, constants, copy).value();
    if (!value) function.nodes[at] = copy;
    return value;
}

} // namespace kindling::scalar
