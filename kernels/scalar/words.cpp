// kernels/scalar/words.cpp: a function in words. Each value has a register, which it shares with values that are not alive at the
// same time; constants stand behind them.
#include "kernels/scalar/words.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "kernels/scalar/colours.h"
#include "kernels/scalar/interpreter.h"

namespace kindling::scalar {

namespace {

class Writer {
public:
    Writer(const Function& function, const Shape& shape, Interpreted& out)
        : function_(function), shape_(shape), out_(out), folded_(fold(function)), lives_(function, shape, folded_, until) {}
    void write();

private:
    const Function& function_;
    const Shape& shape_;
    Interpreted& out_;
    std::vector<uint8_t> folded_;
    Lifetimes lives_;
    std::vector<uint32_t> colour_;   // [leader]
    std::vector<uint32_t> constant_; // [node]: its place among the constants, +1
    const int32_t* distances_ = Interpreted::distances();
    struct Jump {
        size_t word;
        uint32_t block;
    };
    std::vector<Jump> jumps_;

    static Until until(const Function&, const Node&, int) { return Until::Read; }
    static std::vector<uint8_t> fold(const Function& function);
    void word(Word word) { out_.words.push_back(static_cast<uint32_t>(distances_[static_cast<int>(word)])); }
    void raw(uint32_t value) { out_.words.push_back(value); }
    uint32_t place(uint32_t value);
    uint32_t result(uint32_t value) { return colour_[lives_.leader(value)]; }
    Word comparison(const Node& node) const;
    Word simple(const Node& node) const;
    void node(uint32_t id);
    void target(uint32_t block) { jumps_.push_back({out_.words.size(), block}), raw(0); }
    void moves(uint32_t block);
    uint32_t exit(uint32_t which);
};

/// A comparison that only the end of its block reads becomes a jump.
std::vector<uint8_t> Writer::fold(const Function& function) {
    std::vector<uint8_t> folded(function.nodes.size()), uses(function.nodes.size());
    const auto use = [&](uint32_t id) { uses[id] = static_cast<uint8_t>(uses[id] < 2 ? uses[id] + 1 : 2); };
    for (const BasicBlock& block : function.blocks) {
        for (uint32_t id : block.nodes) for_each_input(function, function.nodes[id], use);
        if (block.kind == BasicBlock::Branch) use(block.condition);
    }
    for (const Exit& exit : function.exits)
        for (uint32_t i = 0; i < exit.count; i++) use(function.operands[exit.list + i]);
    for (const BasicBlock& block : function.blocks) {
        if (block.kind != BasicBlock::Branch || uses[block.condition] != 1) continue;
        const Node& node = function.nodes[block.condition];
        if (node.op >= Op::Eq && node.op <= Op::Below && contains(block.nodes, block.condition)) folded[block.condition] = 1;
    }
    return folded;
}

uint32_t Writer::place(uint32_t value) {
    const Node& node = function_.nodes[value];
    if (node.op != Op::Constant) return result(value);
    if (!constant_[value]) {
        out_.constants.push_back(node.bits);
        constant_[value] = static_cast<uint32_t>(out_.constants.size());
    }
    return out_.registers + constant_[value] - 1;
}

Word offset(Word from, int by) { return static_cast<Word>(static_cast<int>(from) + by); }

Word Writer::comparison(const Node& node) const {
    const Type type = function_.nodes[node.input[0]].type;
    if (node.op == Op::Below) return Word::BelowI;
    const Word first = type == Type::F64 ? Word::EqD : type == Type::F32 ? Word::EqF : Word::EqI;
    return offset(first, static_cast<int>(node.op) - static_cast<int>(Op::Eq));
}

Word Writer::simple(const Node& node) const {
    const Type from = function_.nodes[node.input[0]].type;
    const bool d = from == Type::F64, f = from == Type::F32;
#define FLOATING(NAME) d ? Word::NAME##D : f ? Word::NAME##F
#define BY_TYPE(NAME)                                                                                                                      \
    case Op::NAME: return FLOATING(NAME) : Word::NAME##I;
#define REAL(NAME)                                                                                                                         \
    case Op::NAME: return d ? Word::NAME##D : Word::NAME##F;
#define WHOLE(NAME)                                                                                                                        \
    case Op::NAME: return Word::NAME##I;
    switch (node.op) {
        // clang-format off
        BY_TYPE(Add) BY_TYPE(Sub) BY_TYPE(Mul) BY_TYPE(Neg) BY_TYPE(Abs) BY_TYPE(Min) BY_TYPE(Max)
        WHOLE(FloorDiv) WHOLE(FloorMod) WHOLE(And) WHOLE(Or) WHOLE(Xor) WHOLE(Shl) WHOLE(Shr)
        REAL(Div) REAL(Sqrt) REAL(Floor) REAL(Ceil) REAL(Trunc) REAL(Round)
        // clang-format on
        case Op::Not:
        return node.type == Type::Bool ? Word::NotB : Word::NotI;
    case Op::ToF64: return f ? Word::FToD : Word::IntToD;
    case Op::ToF32: return d ? Word::DToF : Word::IntToF;
    case Op::ToI64: return d ? Word::DToI : f ? Word::FToI : Word::Copy;
    case Op::Bits: return node.type == Type::F32 ? Word::Low32 : Word::Copy;
        default : return comparison(node);
    }
#undef FLOATING
#undef BY_TYPE
#undef REAL
#undef WHOLE
}

Word loading(Memory memory) {
    switch (memory) {
    case Memory::Bool: return Word::LoadBool;
    case Memory::I8: return Word::LoadI8;
    case Memory::U8: return Word::LoadU8;
    case Memory::I16: return Word::LoadI16;
    case Memory::U16:
    case Memory::F16:
    case Memory::BF16: return Word::LoadU16;
    case Memory::I32: return Word::LoadI32;
    case Memory::U32:
    case Memory::F32: return Word::LoadU32;
    default: return Word::LoadI64;
    }
}

uint32_t Writer::exit(uint32_t which) {
    const Exit& exit = function_.exits[which];
    out_.exits.push_back({exit.code, static_cast<uint32_t>(out_.left.size()), exit.count});
    for (uint32_t i = 0; i < exit.count; i++) out_.left.push_back(place(function_.operands[exit.list + i]));
    return static_cast<uint32_t>(out_.exits.size() - 1);
}

void Writer::node(uint32_t id) {
    const Node& node = function_.nodes[id];
    switch (node.op) {
    case Op::Phi: return;
    case Op::Parameter: out_.parameters[node.extra] = result(id); return;
    case Op::Load:
    case Op::Store: {
        const bool store = node.op == Op::Store, indexed = node.input[1] != 0;
        Word which = loading(store && node.memory == Memory::Bool ? Memory::U8 : node.memory);
        word(offset(which, (store ? 2 : 0) + (indexed ? 1 : 0)));
        raw(store ? place(node.input[2]) : result(id));
        raw(place(node.input[0]));
        raw(static_cast<uint32_t>(node.displacement));
        if (indexed) raw(place(node.input[1])), raw(node.scale);
        return;
    }
    case Op::Select:
        word(Word::Select);
        raw(result(id)), raw(place(node.input[0])), raw(place(node.input[1])), raw(place(node.input[2]));
        return;
    case Op::Call: {
        const Callee& callee = function_.callees[node.extra];
        Interpreted::Called called{callee.address, callee.result, 0, 0, static_cast<uint32_t>(out_.left.size())};
        for (bool floating : {false, true})
            for (uint32_t i = 0; i < node.count; i++) {
                const uint32_t argument = function_.operands[node.list + i];
                const Type type = function_.nodes[argument].type;
                if ((type == Type::F64 || type == Type::F32) != floating) continue;
                out_.left.push_back(place(argument));
                (floating ? called.floating : called.general)++;
            }
        word(Word::Call);
        raw(node.type == Type::None ? out_.registers - 1 : result(id)), raw(static_cast<uint32_t>(out_.calls.size()));
        out_.calls.push_back(called);
        return;
    }
    case Op::Index:
        word(Word::Index);
        raw(place(node.input[0])), raw(place(node.input[1])), raw(exit(node.extra));
        return;
    case Op::Check: word(Word::Check), raw(place(node.input[0])), raw(exit(node.extra)); return;
    case Op::Poll: word(Word::Poll), raw(exit(node.extra)); return;
    default: {
        word(simple(node));
        raw(result(id)), raw(place(node.input[0])), raw(node.input[1] ? place(node.input[1]) : place(node.input[0]));
        return;
    }
    }
}

/// What the phis of the one successor take from here.
void Writer::moves(uint32_t b) {
    const BasicBlock& next = function_.blocks[function_.blocks[b].successor[0]];
    const size_t edge = place_in(next.predecessors, b);
    std::vector<Move> moves;
    for (uint32_t id : next.nodes) {
        const Node& phi = function_.nodes[id];
        if (phi.op != Op::Phi) break;
        const uint32_t from = place(function_.operands[phi.list + edge]);
        if (from != result(id)) moves.push_back({static_cast<int32_t>(result(id)), static_cast<int32_t>(from)});
    }
    sequence(moves, static_cast<int32_t>(out_.registers - 1));
    for (const Move& move : moves) {
        word(Word::Copy);
        raw(static_cast<uint32_t>(move.to)), raw(static_cast<uint32_t>(move.from)), raw(static_cast<uint32_t>(move.from));
    }
}

void Writer::write() {
    colour_.resize(function_.nodes.size());
    constant_.resize(function_.nodes.size());
    std::vector<Colour> colours;
    for (uint32_t v = 0; v < function_.nodes.size(); v++)
        if (!lives_.ranges[v].empty()) colour_[v] = first_fit(colours, lives_.ranges[v]);
    out_.registers = static_cast<uint32_t>(colours.size()) + 1; // the last: spare
    out_.parameters.assign(function_.parameters.size(), nowhere);
    std::vector<uint32_t> start(function_.blocks.size());
    if (!lives_.order.empty() && lives_.order[0] != 0) word(Word::Jump), target(0);
    for (size_t i = 0; i < lives_.order.size(); i++) {
        const uint32_t b = lives_.order[i], after = i + 1 < lives_.order.size() ? lives_.order[i + 1] : nowhere;
        const BasicBlock& block = function_.blocks[b];
        start[b] = static_cast<uint32_t>(out_.words.size());
        for (uint32_t id : block.nodes)
            if (!folded_[id]) node(id);
        if (block.kind == BasicBlock::Leave) {
            word(Word::Leave), raw(exit(block.exit));
            continue;
        }
        if (block.kind == BasicBlock::Jump) {
            moves(b);
            if (block.successor[0] != after) word(Word::Jump), target(block.successor[0]);
            continue;
        }
        if (folded_[block.condition]) {
            const Node& condition = function_.nodes[block.condition];
            word(offset(comparison(condition), static_cast<int>(Word::JumpEqI) - static_cast<int>(Word::EqI)));
            target(block.successor[0]);
            raw(place(condition.input[0])), raw(place(condition.input[1]));
        } else {
            word(Word::Branch), target(block.successor[0]), raw(place(block.condition));
        }
        if (block.successor[1] != after) word(Word::Jump), target(block.successor[1]);
    }
    for (const Jump& jump : jumps_) out_.words[jump.word] = start[jump.block];
}

} // namespace

std::unique_ptr<Code> interpreted(const Function& function, const Options& options) {
    std::unique_ptr<Interpreted> out(new Interpreted);
    size_t slots = function.parameters.size();
    for (const Exit& exit : function.exits) slots = std::max(slots, static_cast<size_t>(exit.count));
    out->set_slots(slots);
    const Shape shape(function);
    Writer(function, shape, *out).write();
    if (options.trace) *options.trace += format("%zu words for the interpreter, %u registers\n", out->words.size(), out->registers);
    return out;
}

} // namespace kindling::scalar
