// kernels/scalar/interpreter.cpp: register code with direct threading. Each value has a place in an array of 64-bit registers,
// which it shares with values that are not alive at the same time; constants stand behind them.
#include "kernels/scalar/interpreter.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "kernels/scalar/colours.h"
#include "kernels/scalar/evaluate.h"

namespace kindling::scalar {

namespace {

// X(name, what the result is, of registers A and B)
#define KINDLING_FOR_EACH_SIMPLE(X)                                                                            \
    X(AddI, set_i(wrap_add(IA, IB))) X(SubI, set_i(wrap_sub(IA, IB))) X(MulI, set_i(wrap_mul(IA, IB)))         \
    X(NegI, set_i(wrap_sub(0, IA))) X(AbsI, set_i(IA < 0 ? wrap_sub(0, IA) : IA))                              \
    X(MinI, set_i(IA < IB ? IA : IB)) X(MaxI, set_i(IA > IB ? IA : IB))                                        \
    X(FloorDivI, set_i(floor_div(IA, IB))) X(FloorModI, set_i(floor_mod(IA, IB)))                              \
    X(AndI, set_i(IA & IB)) X(OrI, set_i(IA | IB)) X(XorI, set_i(IA ^ IB)) X(NotI, set_i(~IA)) X(NotB, set_i(IA ^ 1)) \
    X(ShlI, set_i(static_cast<int64_t>(static_cast<uint64_t>(IA) << (IB & 63)))) X(ShrI, set_i(IA >> (IB & 63))) \
    X(AddD, set_d(DA + DB)) X(SubD, set_d(DA - DB)) X(MulD, set_d(DA * DB)) X(DivD, set_d(DA / DB))            \
    X(NegD, set_d(-DA)) X(AbsD, set_d(std::fabs(DA))) X(MinD, set_d(DA < DB ? DA : DB)) X(MaxD, set_d(DA > DB ? DA : DB)) \
    X(SqrtD, set_d(std::sqrt(DA))) X(FloorD, set_d(std::floor(DA))) X(CeilD, set_d(std::ceil(DA)))             \
    X(TruncD, set_d(std::trunc(DA))) X(RoundD, set_d(std::nearbyint(DA)))                                      \
    X(AddF, set_f(FA + FB)) X(SubF, set_f(FA - FB)) X(MulF, set_f(FA * FB)) X(DivF, set_f(FA / FB))            \
    X(NegF, set_f(-FA)) X(AbsF, set_f(std::fabs(FA))) X(MinF, set_f(FA < FB ? FA : FB)) X(MaxF, set_f(FA > FB ? FA : FB)) \
    X(SqrtF, set_f(std::sqrt(FA))) X(FloorF, set_f(std::floor(FA))) X(CeilF, set_f(std::ceil(FA)))             \
    X(TruncF, set_f(std::trunc(FA))) X(RoundF, set_f(std::nearbyint(FA)))                                      \
    X(IntToD, set_d(static_cast<double>(IA))) X(IntToF, set_f(static_cast<float>(IA)))                         \
    X(FToD, set_d(static_cast<double>(FA))) X(DToF, set_f(static_cast<float>(DA)))                             \
    X(DToI, set_i(to_i64(DA))) X(FToI, set_i(to_i64(static_cast<double>(FA)))) X(Copy, set_i(IA))              \
    X(Low32, set_i(IA & 0xFFFFFFFF))

// X(name, condition): each has a form that gives a bool, and one that jumps.
#define KINDLING_FOR_EACH_COMPARISON(X)                                                                        \
    X(EqI, IA == IB) X(NeI, IA != IB) X(LtI, IA < IB) X(LeI, IA <= IB) X(GtI, IA > IB) X(GeI, IA >= IB)        \
    X(BelowI, static_cast<uint64_t>(IA) < static_cast<uint64_t>(IB))                                           \
    X(EqD, DA == DB) X(NeD, DA != DB) X(LtD, DA < DB) X(LeD, DA <= DB) X(GtD, DA > DB) X(GeD, DA >= DB)        \
    X(EqF, FA == FB) X(NeF, FA != FB) X(LtF, FA < FB) X(LeF, FA <= FB) X(GtF, FA > FB) X(GeF, FA >= FB)

// X(name, type in memory)
#define KINDLING_FOR_EACH_MEMORY(X)                                                                            \
    X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) X(I32, int32_t) X(U32, uint32_t) X(I64, int64_t)

enum class Word : uint8_t {
#define X(NAME, ...) NAME,
    KINDLING_FOR_EACH_SIMPLE(X) KINDLING_FOR_EACH_COMPARISON(X)
#undef X
#define X(NAME, ...) Jump##NAME,
    KINDLING_FOR_EACH_COMPARISON(X)
#undef X
#define X(NAME, ...) Load##NAME, LoadAt##NAME, Store##NAME, StoreAt##NAME,
    KINDLING_FOR_EACH_MEMORY(X)
#undef X
    LoadBool, LoadAtBool, Select, Call, Index, Check, Poll, Jump, Branch, Leave, Count
};

struct WayOut {
    int32_t code;
    uint32_t from, count;   // registers, in `left`
};

class Interpreted final : public Code {
public:
    std::vector<uint32_t> words;
    std::vector<uint64_t> constants;
    uint32_t registers = 0;                     // the constants' not counted
    std::vector<uint32_t> parameters;           // registers of parameters, or nowhere
    std::vector<WayOut> exits;
    std::vector<uint32_t> left;
    struct Called {
        const void* address;
        Type result;
        uint8_t general, floating;
        uint32_t from;                          // registers, in `left`: general ones first
    };
    std::vector<Called> calls;

    Interpreted() { entry_ = start; }
    size_t bytes() const override { return words.size() * sizeof(uint32_t); }
    void set_slots(size_t count) { slots_ = count; }
    static int64_t start(const Code* self, Slot* slots, Asker* asker);
};

/// All that a System V function can take in registers; it ignores what it does not expect.
uint64_t call(const Interpreted::Called& called, const uint32_t* from, const uint64_t* r) {
    int64_t g[6] = {};
    double f[8] = {};
    for (int i = 0; i < called.general; i++) g[i] = static_cast<int64_t>(r[from[i]]);
    for (int i = 0; i < called.floating; i++) f[i] = std::bit_cast<double>(r[from[called.general + i]]);
#define ARGUMENTS g[0], g[1], g[2], g[3], g[4], g[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
#define TAKEN int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double, double, double, double, double, double
    void* function = const_cast<void*>(called.address);
    switch (called.result) {
        case Type::F64: return std::bit_cast<uint64_t>(reinterpret_cast<double (*)(TAKEN)>(function)(ARGUMENTS));
        case Type::F32: return std::bit_cast<uint32_t>(reinterpret_cast<float (*)(TAKEN)>(function)(ARGUMENTS));
        case Type::Bool: return reinterpret_cast<bool (*)(TAKEN)>(function)(ARGUMENTS);
        default: return static_cast<uint64_t>(reinterpret_cast<int64_t (*)(TAKEN)>(function)(ARGUMENTS));
    }
#undef ARGUMENTS
#undef TAKEN
}

/// Runs the code. Without any registers, only says where each word's code is: its distance from the first.
int64_t interpret(const Interpreted* self, uint64_t* r, Slot* slots, Asker* asker, const int32_t** distances) {
#define DISTANCE(LABEL) static_cast<int32_t>(static_cast<const char*>(&&LABEL) - static_cast<const char*>(&&word_AddI)),
    static const int32_t distance_of[] = {
#define X(NAME, ...) DISTANCE(word_##NAME)
        KINDLING_FOR_EACH_SIMPLE(X) KINDLING_FOR_EACH_COMPARISON(X)
#undef X
#define X(NAME, ...) DISTANCE(jump_##NAME)
        KINDLING_FOR_EACH_COMPARISON(X)
#undef X
#define X(NAME, ...) DISTANCE(load_##NAME) DISTANCE(load_at_##NAME) DISTANCE(store_##NAME) DISTANCE(store_at_##NAME)
        KINDLING_FOR_EACH_MEMORY(X)
#undef X
        DISTANCE(load_Bool) DISTANCE(load_at_Bool) DISTANCE(word_Select) DISTANCE(word_Call) DISTANCE(word_Index)
        DISTANCE(word_Check) DISTANCE(word_Poll) DISTANCE(word_Jump) DISTANCE(word_Branch) DISTANCE(word_Leave)
    };
    static_assert(sizeof distance_of / sizeof distance_of[0] == static_cast<size_t>(Word::Count));
    if (!r) {
        *distances = distance_of;
        return 0;
    }
    const uint32_t* const code = self->words.data();
    const uint32_t* at = code;
    uint32_t way = 0;
#define NEXT(LENGTH) do { at += LENGTH; goto *(static_cast<const char*>(&&word_AddI) + static_cast<int32_t>(at[0])); } while (0)
#define RAW(PLACE) r[at[PLACE]]
#define IA static_cast<int64_t>(RAW(2))
#define IB static_cast<int64_t>(RAW(3))
#define DA std::bit_cast<double>(RAW(2))
#define DB std::bit_cast<double>(RAW(3))
#define FA std::bit_cast<float>(static_cast<uint32_t>(RAW(2)))
#define FB std::bit_cast<float>(static_cast<uint32_t>(RAW(3)))
#define set_i(VALUE) RAW(1) = static_cast<uint64_t>(VALUE)
#define set_d(VALUE) RAW(1) = std::bit_cast<uint64_t>(VALUE)
#define set_f(VALUE) RAW(1) = std::bit_cast<uint32_t>(VALUE)
    NEXT(0);
#define X(NAME, VALUE) word_##NAME: VALUE; NEXT(4);
    KINDLING_FOR_EACH_SIMPLE(X)
#undef X
#define X(NAME, CONDITION) word_##NAME: RAW(1) = CONDITION; NEXT(4);
    KINDLING_FOR_EACH_COMPARISON(X)
#undef X
    // op, where to, a, b
#define X(NAME, CONDITION) jump_##NAME: if (CONDITION) { at = code + at[1]; NEXT(0); } NEXT(4);
    KINDLING_FOR_EACH_COMPARISON(X)
#undef X
    // op, register, base, displacement; at: op, register, base, displacement, index, scale
#define PLAIN (reinterpret_cast<char*>(RAW(2)) + static_cast<int32_t>(at[3]))
#define INDEXED (reinterpret_cast<char*>(RAW(2) + RAW(4) * at[5]) + static_cast<int32_t>(at[3]))
#define GET(TYPE, FROM, LENGTH) { TYPE value; std::memcpy(&value, FROM, sizeof value); set_i(value); } NEXT(LENGTH)
#define PUT(TYPE, TO, LENGTH) { const TYPE value = static_cast<TYPE>(RAW(1)); std::memcpy(TO, &value, sizeof value); } NEXT(LENGTH)
#define X(NAME, TYPE)                          \
    load_##NAME: GET(TYPE, PLAIN, 4);          \
    load_at_##NAME: GET(TYPE, INDEXED, 6);     \
    store_##NAME: PUT(TYPE, PLAIN, 4);         \
    store_at_##NAME: PUT(TYPE, INDEXED, 6);
    KINDLING_FOR_EACH_MEMORY(X)
#undef X
load_Bool: RAW(1) = *PLAIN != 0; NEXT(4);
load_at_Bool: RAW(1) = *INDEXED != 0; NEXT(6);
word_Select: RAW(1) = RAW(2) ? RAW(3) : RAW(4); NEXT(5);
word_Call: {
    const Interpreted::Called& called = self->calls[at[2]];
    RAW(1) = call(called, self->left.data() + called.from, r);
    NEXT(3);
}
word_Index:
    if (RAW(1) >= RAW(2)) {
        way = at[3];
        goto leave;
    }
    NEXT(4);
word_Check:
    if (!RAW(1)) {
        way = at[2];
        goto leave;
    }
    NEXT(3);
word_Poll:
    if (--asker->counter < 0 && asker->ask && asker->ask(asker)) {
        way = at[1];
        goto leave;
    }
    NEXT(2);
word_Jump: at = code + at[1]; NEXT(0);
word_Branch:
    if (RAW(2)) {
        at = code + at[1];
        NEXT(0);
    }
    NEXT(3);
word_Leave:
    way = at[1];
leave:
    const WayOut& exit = self->exits[way];
    for (uint32_t i = 0; i < exit.count; i++) slots[i].i = static_cast<int64_t>(r[self->left[exit.from + i]]);
    return exit.code;
}

int64_t Interpreted::start(const Code* code, Slot* slots, Asker* asker) {
    const Interpreted* self = static_cast<const Interpreted*>(code);
    const size_t count = self->registers + self->constants.size();
    uint64_t few[256];
    std::unique_ptr<uint64_t[]> many;
    uint64_t* r = few;
    if (count > sizeof few / sizeof few[0]) {
        many.reset(new uint64_t[count]);
        r = many.get();
    }
    if (!self->constants.empty()) std::memcpy(r + self->registers, self->constants.data(), self->constants.size() * sizeof(uint64_t));
    for (size_t i = 0; i < self->parameters.size(); i++)
        if (self->parameters[i] != nowhere) r[self->parameters[i]] = static_cast<uint64_t>(slots[i].i);
    Asker none;
    return interpret(self, r, slots, asker ? asker : &none, nullptr);
}

class Writer {
public:
    Writer(const Function& function, const Shape& shape, Interpreted& out)
        : function_(function), shape_(shape), out_(out), folded_(fold(function)), lives_(function, shape, folded_, until) {
        interpret(nullptr, nullptr, nullptr, nullptr, &distances_);
    }
    void write();

private:
    const Function& function_;
    const Shape& shape_;
    Interpreted& out_;
    std::vector<uint8_t> folded_;
    Lifetimes lives_;
    std::vector<uint32_t> colour_;                  // [leader]
    std::vector<uint32_t> constant_;                // [node]: its place among the constants, +1
    const int32_t* distances_ = nullptr;
    struct Jump { size_t word; uint32_t block; };
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
        if (node.op >= Op::Eq && node.op <= Op::Below && std::find(block.nodes.begin(), block.nodes.end(), block.condition) != block.nodes.end())
            folded[block.condition] = 1;
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
#define BY_TYPE(NAME) case Op::NAME: return FLOATING(NAME) : Word::NAME##I;
#define REAL(NAME) case Op::NAME: return d ? Word::NAME##D : Word::NAME##F;
#define WHOLE(NAME) case Op::NAME: return Word::NAME##I;
    switch (node.op) {
        BY_TYPE(Add) BY_TYPE(Sub) BY_TYPE(Mul) BY_TYPE(Neg) BY_TYPE(Abs) BY_TYPE(Min) BY_TYPE(Max)
        WHOLE(FloorDiv) WHOLE(FloorMod) WHOLE(And) WHOLE(Or) WHOLE(Xor) WHOLE(Shl) WHOLE(Shr)
        REAL(Div) REAL(Sqrt) REAL(Floor) REAL(Ceil) REAL(Trunc) REAL(Round)
        case Op::Not: return node.type == Type::Bool ? Word::NotB : Word::NotI;
        case Op::ToF64: return f ? Word::FToD : Word::IntToD;
        case Op::ToF32: return d ? Word::DToF : Word::IntToF;
        case Op::ToI64: return d ? Word::DToI : f ? Word::FToI : Word::Copy;
        case Op::Bits: return node.type == Type::F32 ? Word::Low32 : Word::Copy;
        default: return comparison(node);
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
        case Memory::U16: case Memory::F16: case Memory::BF16: return Word::LoadU16;
        case Memory::I32: return Word::LoadI32;
        case Memory::U32: case Memory::F32: return Word::LoadU32;
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
        case Op::Parameter:
            out_.parameters[node.extra] = result(id);
            return;
        case Op::Load: case Op::Store: {
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
    const size_t edge = static_cast<size_t>(std::find(next.predecessors.begin(), next.predecessors.end(), b) - next.predecessors.begin());
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
    out_.registers = static_cast<uint32_t>(colours.size()) + 1;  // the last: spare
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

}  // namespace

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

}  // namespace kindling::scalar
