// kernels/scalar/text.cpp: names, the text form and the verifier.
#include <bit>

#include "core/error.h"
#include "kernels/scalar/analysis.h"
#include "kernels/scalar/function.h"

namespace kindling::scalar {

namespace {

constexpr char op_names[][11] = {"constant", "parameter", "phi",      "add",   "sub",    "mul",    "neg",    "abs",     "min",
                                 "max",      "floordiv",  "floormod", "div",   "sqrt",   "floor",  "ceil",   "trunc",   "round",
                                 "and",      "or",        "xor",      "not",   "shl",    "shr",    "eq",     "ne",      "lt",
                                 "le",       "gt",        "ge",       "below", "select", "to_f64", "to_f32", "to_i64",  "bits",
                                 "load",     "store",     "call",     "index", "check",  "poll",   "proved", "counter", "setcounter",
                                 "spread",   "steps",     "any",      "count", "sum",    "last"};
static_assert(sizeof op_names / sizeof op_names[0] == static_cast<size_t>(Op::Last) + 1);
constexpr char type_names[][8] = {"none", "bool", "i64", "f32", "f64", "address"};
constexpr char memory_names[][8] = {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f16", "bf16", "f32", "f64", "address"};
constexpr uint8_t bytes_of[] = {1, 1, 1, 2, 2, 4, 4, 8, 2, 2, 4, 8, 8};

const char* name(Type type) { return type_names[static_cast<int>(type)]; }

std::string operand(const Function& function, uint32_t id) {
    const Node& node = function.nodes[id];
    if (node.op != Op::Constant) return format("v%u", id);
    switch (node.type) {
    case Type::Bool: return node.bits ? "true" : "false";
    case Type::F64: return format("%.17g", std::bit_cast<double>(node.bits));
    case Type::F32: return format("%.9gf", static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(node.bits))));
    case Type::Address: return format("0x%llx", static_cast<unsigned long long>(node.bits));
    default: return format("%lld", static_cast<long long>(node.bits));
    }
}

std::string exit_text(const Function& function, const Exit& exit) {
    std::string out = exit.code ? format("exit %d(", exit.code) : "finish(";
    for (uint32_t i = 0; i < exit.count; i++) out += (i ? ", " : "") + operand(function, function.operands[exit.list + i]);
    return out + ")";
}

std::string line(const Function& function, uint32_t id) {
    const Node& node = function.nodes[id];
    std::string out = "  ";
    if (node.type != Type::None) out += format("v%u = ", id);
    out += op_name(node.op);
    if (node.lanes > 1) out += format("x%d", node.lanes);
    if (node.op == Op::Load || node.op == Op::Store) {
        out += format(".%s [%s", memory_names[static_cast<int>(node.memory)], operand(function, node.input[0]).c_str());
        if (node.input[1]) out += " + " + operand(function, node.input[1]);
        if (node.scale != 1) out += format("*%d", node.scale);
        if (node.displacement) out += format(" %c %lld", node.displacement < 0 ? '-' : '+', llabs(node.displacement));
        out += "]";
        if (node.op == Op::Store) out += ", " + operand(function, node.input[2]);
        if (node.count) {
            const uint32_t id = function.operands[node.list];
            out += (function.nodes[id].type == Type::Bool ? " where " : " by ") + operand(function, id);
        }
        if (node.region == constant_region) out += " constant";
        else if (node.region) out += format(" region %d", node.region);
        return out;
    }
    if (node.type != Type::None) out += format(".%s", name(node.type));
    if (node.op == Op::Parameter) return out + format(" %u", node.extra);
    if (node.op == Op::Steps) return out + format(" of %lld", static_cast<long long>(node.bits));
    const char* between = " ";
    if (node.op == Op::Call) out += format(" %s", function.callees[node.extra].name);
    for_each_input(function, node, [&](uint32_t input) { out += between + operand(function, input), between = ", "; });
    if (has_exit(node.op)) out += " else " + exit_text(function, function.exits[node.extra]);
    return out;
}

} // namespace

const char* op_name(Op op) { return op_names[static_cast<int>(op)]; }
int memory_bytes(Memory memory) { return bytes_of[static_cast<int>(memory)]; }

Type loaded_type(Memory memory) {
    switch (memory) {
    case Memory::Bool: return Type::Bool;
    case Memory::F16:
    case Memory::BF16:
    case Memory::F32: return Type::F32;
    case Memory::F64: return Type::F64;
    case Memory::Address: return Type::Address;
    default: return Type::I64;
    }
}

std::string text(const Function& function) {
    std::string out = "function " + function.name + "(";
    for (size_t i = 0; i < function.parameters.size(); i++) out += std::string(i ? ", " : "") + name(function.parameters[i]);
    out += ")\n";
    const Shape shape(function);
    for (uint32_t b : shape.order) {
        const BasicBlock& block = function.blocks[b];
        out += format("block%u:", b);
        for (size_t i = 0; i < block.predecessors.size(); i++) out += format("%s block%u", i ? "," : "  from", block.predecessors[i]);
        out += "\n";
        for (uint32_t id : block.nodes) out += line(function, id) + "\n";
        switch (block.kind) {
        case BasicBlock::Jump: out += format("  jump block%u\n", block.successor[0]); break;
        case BasicBlock::Branch:
            out += format("  branch %s, block%u, block%u\n", operand(function, block.condition).c_str(), block.successor[0],
                          block.successor[1]);
            break;
        case BasicBlock::Leave: out += "  " + exit_text(function, function.exits[block.exit]) + "\n"; break;
        case BasicBlock::Open: out += "  open\n"; break;
        }
    }
    return out;
}

std::string mistyped(const Function& function, const Node& node) {
    auto type = [&](int i) { return function.nodes[node.input[i]].type; };
    const Type a = type(0), b = type(1), t = node.type;
    const bool floating = a == Type::F64 || a == Type::F32;
    bool right = true;
    const bool of_lanes = gathers(node.op) || (node.lanes > 1 && node.op != Op::Spread);
    for (int i = node.op == Op::Load || node.op == Op::Store ? 2 : 0; i < 3; i++)
        right = right && (!node.input[i] || (function.nodes[node.input[i]].lanes > 1) == of_lanes);
    if (!right) return format("%s of lanes and of single values", op_name(node.op));
    switch (node.op) {
    case Op::Spread:
    case Op::Last: right = a == t; break;
    case Op::Any: right = a == Type::Bool && t == a; break;
    case Op::Count: right = a == Type::Bool && t == Type::I64; break;
    case Op::Sum: right = a == Type::I64 && t == a; break;
    case Op::Add:
    case Op::Sub: right = a == t && (a == Type::Address ? b == Type::I64 : a == b && (floating || a == Type::I64)); break;
    case Op::Mul:
    case Op::Min:
    case Op::Max: right = a == t && b == t && (floating || a == Type::I64); break;
    case Op::Neg:
    case Op::Abs: right = a == t && (floating || a == Type::I64); break;
    case Op::Shl:
    case Op::Shr:
        if (node.lanes > 1) {
            right = a == t && a == Type::I64; // by `bits`
            break;
        }
        [[fallthrough]];
    case Op::FloorDiv:
    case Op::FloorMod: right = a == t && b == t && a == Type::I64; break;
    case Op::Div: right = a == t && b == t && floating; break;
    case Op::Sqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round: right = a == t && floating; break;
    case Op::And:
    case Op::Or:
    case Op::Xor: right = a == t && b == t && (a == Type::I64 || a == Type::Bool); break;
    case Op::Not: right = a == t && (a == Type::I64 || a == Type::Bool); break;
    case Op::Eq:
    case Op::Ne: right = a == b && a != Type::None && t == Type::Bool; break;
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge: right = a == b && (floating || a == Type::I64) && t == Type::Bool; break;
    case Op::Below: right = a == b && a == Type::I64 && t == Type::Bool; break;
    case Op::Select: right = a == Type::Bool && b == t && type(2) == t && t != Type::None; break;
    case Op::ToF64: right = t == Type::F64 && (a == Type::I64 || a == Type::F32 || a == Type::Bool); break;
    case Op::ToF32: right = t == Type::F32 && (a == Type::I64 || a == Type::F64 || a == Type::Bool); break;
    case Op::ToI64: right = t == Type::I64 && (floating || a == Type::Bool || a == Type::Address); break;
    case Op::Bits: right = (t == Type::I64 && floating) || (a == Type::I64 && (t == Type::F64 || t == Type::F32)); break;
    case Op::Load: right = a == Type::Address && (!node.input[1] || b == Type::I64) && t == loaded_type(node.memory); break;
    case Op::Store:
        right = a == Type::Address && (!node.input[1] || b == Type::I64) && type(2) == loaded_type(node.memory) &&
                node.region != constant_region;
        break;
    case Op::Index: right = a == Type::I64 && b == Type::I64 && (t == Type::I64 || t == Type::None); break; // None: use_checked
    case Op::Proved: right = a == Type::I64 && t == Type::I64; break;
    case Op::Check: right = a == Type::Bool && t == Type::None; break;
    case Op::Phi:
        for (uint32_t i = 0; i < node.count; i++) right = right && function.nodes[function.operands[node.list + i]].type == t;
        break;
    default: break;
    }
    if (right) return {};
    return format("%s.%s of %s, %s and %s", op_name(node.op), name(t), name(a), name(b), name(type(2)));
}

std::string verify(const Function& function) {
    const Shape shape(function);
    std::vector<uint32_t> block_of(function.nodes.size(), nowhere), place(function.nodes.size());
    for (uint32_t b : shape.order) {
        const BasicBlock& block = function.blocks[b];
        for (uint32_t i = 0; i < block.nodes.size(); i++) {
            const uint32_t id = block.nodes[i];
            if (id == 0 || id >= function.nodes.size()) return format("block%u: no node v%u", b, id);
            if (block_of[id] != nowhere) return format("v%u stands twice", id);
            block_of[id] = b, place[id] = i;
        }
    }
    for (uint32_t b : shape.order) {
        const BasicBlock& block = function.blocks[b];
        if (b == 0 && !block.predecessors.empty()) return "the entry has predecessors";
        if (block.kind == BasicBlock::Open) return format("block%u has no end", b);
        for (int s = 0; s < block.successors(); s++) {
            size_t there = 0, here = 0;
            for (uint32_t p : function.blocks[block.successor[s]].predecessors) there += p == b;
            for (int k = 0; k < block.successors(); k++) here += block.successor[k] == block.successor[s];
            if (there != here) return format("block%u does not know its predecessor block%u", block.successor[s], b);
        }
        std::string wrong;
        // Whether the value stands before place `at` of block `from`.
        auto known = [&](uint32_t id, uint32_t from, uint32_t at) {
            if (!wrong.empty()) return;
            if (id == 0 || id >= function.nodes.size()) wrong = format("block%u uses no value", b);
            else if (function.nodes[id].op == Op::Constant) return;
            else if (block_of[id] == nowhere) wrong = format("block%u uses v%u, which stands nowhere", b, id);
            else if (function.nodes[id].type == Type::None) wrong = format("block%u uses v%u, which has no value", b, id);
            else if (block_of[id] == from ? place[id] >= at : !shape.dominates(block_of[id], from))
                wrong = format("block%u uses v%u before it is known", b, id);
        };
        auto leaves = [&](uint32_t exit, uint32_t at) {
            if (exit >= function.exits.size()) wrong = format("block%u: no exit %u", b, exit);
            else
                for (uint32_t i = 0; i < function.exits[exit].count; i++) known(function.operands[function.exits[exit].list + i], b, at);
        };
        bool phis = true;
        for (uint32_t i = 0; i < block.nodes.size() && wrong.empty(); i++) {
            const Node& node = function.nodes[block.nodes[i]];
            if (node.op == Op::Constant) return format("a constant stands in block%u", b);
            if (node.op == Op::Phi) {
                if (!phis) return format("block%u: a phi after other nodes", b);
                if (node.count != block.predecessors.size()) return format("v%u does not fit the predecessors", block.nodes[i]);
                for (uint32_t k = 0; k < node.count; k++)
                    if (shape.reachable(block.predecessors[k])) known(function.operands[node.list + k], block.predecessors[k], nowhere);
            } else {
                phis = false;
                for_each_input(function, node, [&](uint32_t input) { known(input, b, i); });
                if (has_exit(node.op)) leaves(node.extra, i);
                if (node.op == Op::Parameter && b != 0) return "a parameter stands outside the entry";
            }
            if (wrong.empty()) wrong = mistyped(function, node);
        }
        const uint32_t end = static_cast<uint32_t>(block.nodes.size());
        if (block.kind == BasicBlock::Branch) {
            known(block.condition, b, end);
            if (wrong.empty() && function.nodes[block.condition].type != Type::Bool) wrong = format("block%u branches on no bool", b);
        }
        if (block.kind == BasicBlock::Leave) leaves(block.exit, end);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

} // namespace kindling::scalar
