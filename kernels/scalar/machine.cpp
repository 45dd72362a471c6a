// kernels/scalar/machine.cpp: instruction selection and emission. The registers r10, r11, xmm14 and xmm15 belong to single
// instructions here; all others hold values. At [rsp]: the slots, the asker, its counter, then what lies in the frame.
#include "kernels/scalar/machine.h"

#include <algorithm>
#include <cstddef>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/native/memory.h"
#include "kernels/native/native.h"
#include "kernels/scalar/emit_lanes.h"
#include "kernels/scalar/folder.h"

namespace kindling::scalar {

namespace {

constexpr int most_slots = 800;

class Machine final : public Code {
public:
    Machine(void* memory, size_t size, size_t slots) : memory_(memory), size_(size) {
        entry_ = start;
        slots_ = slots;
        native_ = true;
    }
    ~Machine() override { native::free_executable(memory_, size_); }
    size_t bytes() const override { return size_; }

private:
    void* memory_;
    size_t size_;

    static int64_t never(Asker* asker) noexcept {
        asker->counter = INT64_MAX;
        return 0;
    }
    static int64_t start(const Code* self, Slot* slots, Asker* asker) {
        Asker none;
        none.ask = never;
        using Entry = int64_t (*)(Slot*, Asker*);
        return reinterpret_cast<Entry>(static_cast<const Machine*>(self)->memory_)(slots, asker && asker->ask ? asker : &none);
    }
};
static_assert(offsetof(Asker, counter) == 0 && offsetof(Asker, ask) == 8);

// ---- emission

Place Emitter::pooled(const uint64_t* words, size_t count) {
    size_t at = 0;
    while (at + count <= pool_.size() && !std::equal(words, words + count, pool_.begin() + static_cast<long>(at))) at++;
    if (at + count > pool_.size()) {
        at = pool_.size();
        pool_.insert(pool_.end(), words, words + count);
    }
    Place place;
    place.constant = true;
    place.offset = static_cast<int32_t>(at * 8);
    return place;
}

/// Uses r10 alone once it is done, r11 on the way.
Place Emitter::address(const Node& node) {
    const General base = general(node.input[0], r10);
    Place place;
    if (node.input[1]) {
        General index = general(node.input[1], base == r10 ? r11 : r10);
        place = Place::at(base, index, node.scale);
        if (base == r10 && index == r11) {
            a_.address_of(r10, place);
            place = Place::at(r10, 0);
        }
    } else {
        place = Place::at(base, 0);
    }
    place.offset = node.displacement;
    return place;
}

/// As an operand: register, memory, or a constant of the pool. Whole numbers that are constant have none.
Place Emitter::place(uint32_t id) {
    const Node& node = node_of(id);
    if (node.op == Op::Constant) return pooled(node.bits);
    if (folded_[id]) return address(node);
    const int32_t at = where(id);
    return at >= first_slot ? slot(at) : Place::of(at >= first_vector ? at - first_vector : at);
}

void Emitter::copy_to(General to, uint32_t id) {
    if (constant(id)) set(to, node_of(id).bits);
    else if (folded_[id]) a_.load(to, address(node_of(id)));
    else if (where(id) >= first_slot) a_.load(to, slot(where(id)));
    else move_general(to, static_cast<General>(where(id)));
}
General Emitter::general(uint32_t id, General spare) {
    if (lies_in_register(id)) return static_cast<General>(where(id));
    copy_to(spare, id);
    return spare;
}
int Emitter::vector(uint32_t id, int spare) {
    if (lies_in_register(id)) return where(id) - first_vector;
    if (constant(id) && node_of(id).bits == 0) a_.emit(Form::XorPs, 16, spare, spare, Place::of(spare));
    else a_.emit(folded_[id] && node_of(id).type == Type::F32 ? Form::MovD : Form::MovQ, 16, spare, 0, place(id));
    return spare;
}
void Emitter::done_general(uint32_t id, General reg) {
    if (where(id) >= first_slot) a_.store(slot(where(id)), reg);
    else move_general(static_cast<General>(where(id)), reg);
}
void Emitter::done_vector(uint32_t id, int reg) {
    if (where(id) >= first_slot) a_.emit(Form::MovQStore, 16, reg, 0, slot(where(id)));
    else move_vector(where(id) - first_vector, reg);
}

/// From a place or a constant (below 0: its number).
void Emitter::move(int32_t to, int32_t from, bool vector) {
    if (from < 0) {
        const uint64_t bits = node_of(static_cast<uint32_t>(-from)).bits;
        if (to >= first_slot) {
            set(r10, bits);
            a_.store(slot(to), r10);
        } else if (!vector) {
            set(static_cast<General>(to), bits);
        } else if (bits == 0) {
            a_.emit(Form::XorPs, 16, to - first_vector, to - first_vector, Place::of(to - first_vector));
        } else {
            a_.emit(Form::MovQ, 16, to - first_vector, 0, pooled(bits));
        }
    } else if (to >= first_slot && from >= first_slot) {
        a_.load(r10, slot(from));
        a_.store(slot(to), r10);
    } else if (to >= first_slot) {
        if (vector) a_.emit(Form::MovQStore, 16, from - first_vector, 0, slot(to));
        else a_.store(slot(to), static_cast<General>(from));
    } else if (from >= first_slot) {
        if (vector) a_.emit(Form::MovQ, 16, to - first_vector, 0, slot(from));
        else a_.load(static_cast<General>(to), slot(from));
    } else if (vector) {
        move_vector(to - first_vector, from - first_vector);
    } else {
        move_general(static_cast<General>(to), static_cast<General>(from));
    }
}

/// Sets the flags; whether they are those of y against x.
bool Emitter::compare_integers(uint32_t x, uint32_t y) {
    if (constant(x) && !constant(y)) {
        compare_integers(y, x);
        return true;
    }
    if (short_constant(node_of(y)) && !constant(x)) {
        const int32_t value = static_cast<int32_t>(node_of(y).bits);
        if (value == 0 && lies_in_register(x)) a_.test(static_cast<General>(where(x)), static_cast<General>(where(x)));
        else a_.operate(Arithmetic::Compare, place(x), value);
        return false;
    }
    if (constant(y)) {
        const General left = general(x, r11);
        set(r10, node_of(y).bits);
        a_.operate(Arithmetic::Compare, left, Place::of(r10));
        return false;
    }
    // What is in memory comes first: its address may need both spare registers.
    const Place right = place(y);
    a_.operate(Arithmetic::Compare, general(x, r11), right);
    return false;
}

Flags Emitter::comparison(const Node& node) {
    const Type type = node_of(node.input[0]).type;
    uint32_t x = node.input[0], y = node.input[1];
    if (in_vector(type)) {
        const bool swap = node.op == Op::Lt || node.op == Op::Le;
        if (swap) std::swap(x, y);
        const Place right = place(y);
        a_.emit(type == Type::F64 ? Form::TestDouble : Form::TestSingle, 16, vector(x, vector_scratch), 0, right);
        switch (node.op) {
        case Op::Eq: return {Condition::Zero, Flags::Equal};
        case Op::Ne: return {Condition::NotZero, Flags::Unequal};
        case Op::Lt:
        case Op::Gt: return {Condition::Above};
        default: return {Condition::AboveEqual};
        }
    }
    const bool swapped = compare_integers(x, y);
    switch (node.op) {
    case Op::Eq: return {Condition::Zero};
    case Op::Ne: return {Condition::NotZero};
    case Op::Lt: return {swapped ? Condition::Greater : Condition::Less};
    case Op::Le: return {swapped ? Condition::GreaterEqual : Condition::LessEqual};
    case Op::Gt: return {swapped ? Condition::Less : Condition::Greater};
    case Op::Ge: return {swapped ? Condition::LessEqual : Condition::GreaterEqual};
    default: return {swapped ? Condition::Above : Condition::Below};
    }
}

Flags Emitter::condition(uint32_t id) {
    const Node& node = node_of(id);
    if (folded_[id] && node.op == Op::Load) {
        a_.operate(Arithmetic::Compare, address(node), 0, 1);
    } else if (folded_[id]) {
        return comparison(node);
    } else if (lies_in_register(id) || constant(id)) {
        const General reg = general(id, r11);
        a_.test(reg, reg);
    } else {
        a_.operate(Arithmetic::Compare, slot(where(id)), 0);
    }
    return {Condition::NotZero};
}

void Emitter::integer(uint32_t id, const Node& node) {
    const General to = to_general(id);
    uint32_t x = node.input[0], y = node.input[1];
    const bool commutes = node.op != Op::Sub;
    if (commutes && constant(x)) std::swap(x, y);
    if (node.op == Op::Mul && short_constant(node_of(y)) && !constant(x)) {
        a_.multiply(to, place(x), static_cast<int32_t>(node_of(y).bits));
        return done_general(id, to);
    }
    // Sums in another register, without a move.
    if ((node.op == Op::Add || node.op == Op::Sub) && lies_in_register(x) && where(x) != to) {
        const General left = static_cast<General>(where(x));
        if (short_constant(node_of(y)) && node_of(y).bits != 0xFFFFFFFF80000000u) {
            const int32_t value = static_cast<int32_t>(node_of(y).bits);
            a_.address_of(to, Place::at(left, node.op == Op::Add ? value : -value));
            return done_general(id, to);
        }
        if (node.op == Op::Add && lies_in_register(y) && where(y) != to) {
            a_.address_of(to, Place::at(left, static_cast<General>(where(y)), 1));
            return done_general(id, to);
        }
    }
    if (lies_in_register(y) && where(y) == to && !(lies_in_register(x) && where(x) == to)) {
        if (commutes) {
            std::swap(x, y);
        } else {
            a_.move(r10, to);
            copy_to(to, x);
            a_.operate(Arithmetic::Sub, to, Place::of(r10));
            return done_general(id, to);
        }
    }
    const Arithmetic op = node.op == Op::Add   ? Arithmetic::Add
                          : node.op == Op::Sub ? Arithmetic::Sub
                          : node.op == Op::And ? Arithmetic::And
                          : node.op == Op::Or  ? Arithmetic::Or
                                               : Arithmetic::Xor;
    if (node.op != Op::Mul && short_constant(node_of(y))) {
        copy_to(to, x);
        a_.operate(op, Place::of(to), static_cast<int32_t>(node_of(y).bits));
        return done_general(id, to);
    }
    Place right = Place::of(r10);
    if (constant(y)) {
        copy_to(to, x);
        set(r10, node_of(y).bits);
    } else {
        right = place(y);
        copy_to(to, x);
    }
    if (node.op == Op::Mul) a_.multiply(to, right);
    else a_.operate(op, to, right);
    done_general(id, to);
}

/// Min and Max.
void Emitter::least(uint32_t id, const Node& node) {
    const General to = to_general(id);
    const uint32_t x = node.input[0];
    uint32_t y = node.input[1];
    const Condition left = node.op == Op::Min ? Condition::Less : Condition::Greater;
    Place right = Place::of(r10);
    if (constant(y)) set(r10, node_of(y).bits);
    else right = place(y);
    const General first = general(x, r11);
    a_.operate(Arithmetic::Compare, first, right);
    if (right.reg == to) {
        a_.move_if(left, to, Place::of(first));
    } else {
        move_general(to, first);
        a_.move_if(opposite(left), to, right);
    }
    done_general(id, to);
}

void Emitter::divide(uint32_t id, const Node& node) {
    const bool quotient = node.op == Op::FloorDiv;
    const General result = quotient ? native::Rax : native::Rdx;
    const uint32_t y = node.input[1];
    const bool known = constant(y) && node_of(y).bits + 1 > 1; // neither 0 nor -1
    copy_to(native::Rax, node.input[0]);
    const General by = general(y, r11);
    int zero = -1, minus = -1;
    if (!known) {
        a_.test(by, by);
        zero = a_.jump(Condition::Zero);
        a_.operate(Arithmetic::Compare, Place::of(by), -1);
        minus = a_.jump(Condition::Zero);
    }
    a_.sign_of_rax_to_rdx();
    a_.operate(Single::Divide, by);
    // The rest has the sign of the dividend; where the divisor has another one, floor is one lower.
    a_.test(native::Rdx, native::Rdx);
    const int exact = a_.jump(Condition::Zero);
    a_.move(r10, native::Rdx);
    a_.operate(Arithmetic::Xor, r10, Place::of(by));
    const int alike = a_.jump(Condition::NotSign);
    if (quotient) a_.operate(Arithmetic::Sub, Place::of(native::Rax), 1);
    else a_.operate(Arithmetic::Add, native::Rdx, Place::of(by));
    a_.bind(exact), a_.bind(alike);
    if (!known) {
        const int end = a_.jump();
        a_.bind(minus);
        if (quotient) {
            a_.operate(Single::Negate, native::Rax);
            const int negated = a_.jump();
            a_.bind(zero);
            a_.zero(result);
            a_.bind(negated);
        } else {
            a_.bind(zero);
            a_.zero(result);
        }
        a_.bind(end);
    }
    done_general(id, result);
}

void Emitter::select(uint32_t id, const Node& node) {
    const General to = to_general(id);
    Flags flags = condition(node.input[0]);
    // From here on the flags stay: moves only.
    uint32_t yes = node.input[1], no = node.input[2];
    const auto right = [&](uint32_t value) {
        if (!constant(value)) return place(value);
        set(r10, node_of(value).bits);
        return Place::of(r10);
    };
    if (flags.parity == Flags::Unequal) std::swap(yes, no), flags = flags.inverse();
    if (flags.parity == Flags::Equal) {
        Place other = right(no);
        if (other.reg == to && !(lies_in_register(yes) && where(yes) == to)) {
            a_.move(r10, to);
            other = Place::of(r10);
        }
        copy_to(to, yes);
        a_.move_if(Condition::NotZero, to, other);
        a_.move_if(Condition::Parity, to, other);
    } else if (lies_in_register(yes) && where(yes) == to) {
        a_.move_if(opposite(flags.condition), to, right(no));
    } else {
        copy_to(to, no);
        a_.move_if(flags.condition, to, right(yes));
    }
    done_general(id, to);
}

void Emitter::select_vector(uint32_t id, const Node& node) {
    const int to = to_vector(id);
    const uint32_t yes = node.input[1], no = node.input[2];
    const Node& test = node_of(node.input[0]);
    const Type compared = test.input[0] ? node_of(test.input[0]).type : Type::None;
    if (folded_[node.input[0]] && compares(test.op) && (compared == Type::F64 || (compared == Type::F32 && node.type == Type::F32))) {
        uint32_t x = test.input[0], y = test.input[1];
        // As comparison() has them: a load may be folded into the second.
        int predicate = test.op == Op::Eq ? 0 : test.op == Op::Ne ? 4 : test.op == Op::Gt ? 14 : test.op == Op::Ge ? 13 : 0;
        if (test.op == Op::Lt) std::swap(x, y), predicate = 14;
        if (test.op == Op::Le) std::swap(x, y), predicate = 13;
        const Place right = place(y);
        a_.emit(compared == Type::F64 ? Form::CmpDouble : Form::CmpSingle, 16, vector_scratch, vector(x, vector_scratch), right, predicate);
        const int other = vector(no, second_vector_scratch);
        a_.emit(node.type == Type::F64 ? Form::BlendvPd : Form::BlendvPs, 16, to, other, place(yes), vector_scratch);
        return done_vector(id, to);
    }
    Flags flags = condition(node.input[0]);
    uint32_t first = no, second = yes;
    if (lies_in_register(yes) && where(yes) - first_vector == to) std::swap(first, second), flags = flags.inverse();
    // `second` where the flags hold. Loading zero by xor leaves the flags alone: it is a vector's.
    const int other = vector(first, to);
    move_vector(to, other);
    int skips[2] = {-1, -1}, take = -1;
    const Flags not_taken = flags.inverse();
    if (not_taken.parity == Flags::Unequal) skips[0] = a_.jump(Condition::Parity);
    if (not_taken.parity == Flags::Equal) take = a_.jump(Condition::Parity);
    skips[1] = a_.jump(not_taken.condition);
    if (take >= 0) a_.bind(take);
    move_vector(to, vector(second, to));
    for (int skip : skips)
        if (skip >= 0) a_.bind(skip);
    done_vector(id, to);
}

void Emitter::floating(uint32_t id, const Node& node) {
    const bool f64 = node.type == Type::F64;
    const int to = to_vector(id);
    const uint32_t x = node.input[0], y = node.input[1];
#define BOTH(NAME) f64 ? Form::NAME##Double : Form::NAME##Single
    switch (node.op) {
    case Op::Neg:
    case Op::Abs: {
        const uint64_t sign = f64 ? uint64_t{1} << 63 : 0x8000000080000000u;
        const int from = vector(x, vector_scratch);
        if (node.op == Op::Neg) a_.emit(Form::XorPs, 16, to, from, pooled_twice(sign));
        else a_.emit(Form::AndPs, 16, to, from, pooled_twice(~sign));
        break;
    }
    case Op::Sqrt: {
        const int from = vector(x, vector_scratch);
        a_.emit(BOTH(Sqrt), 16, to, from, Place::of(from));
        break;
    }
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round: {
        const int from = vector(x, vector_scratch);
        const int mode = node.op == Op::Floor ? 9 : node.op == Op::Ceil ? 10 : node.op == Op::Trunc ? 11 : 8;
        a_.emit(BOTH(Round), 16, to, from, Place::of(from), mode);
        break;
    }
    case Op::ToF64:
    case Op::ToF32: {
        const Type type = node_of(x).type;
        if (!in_vector(type)) {
            const Place from = constant(x) ? Place::of(general(x, r11)) : place(x);
            // Else it would wait for what the register held.
            a_.emit(Form::XorPs, 16, to, to, Place::of(to));
            a_.emit(f64 ? Form::CvtSiSd : Form::CvtSiSs, 16, to, to, from);
        } else {
            const int from = vector(x, vector_scratch);
            a_.emit(f64 ? Form::CvtSsSd : Form::CvtSdSs, 16, to, from, Place::of(from));
        }
        break;
    }
    case Op::Bits: a_.emit(f64 ? Form::MovQFrom : Form::MovDFrom, 16, to, 0, Place::of(general(x, r11))); break;
    default: {
        const Form form = node.op == Op::Add   ? BOTH(Add)
                          : node.op == Op::Sub ? BOTH(Sub)
                          : node.op == Op::Mul ? BOTH(Mul)
                          : node.op == Op::Div ? BOTH(Div)
                          : node.op == Op::Min ? BOTH(Min)
                                               : BOTH(Max);
        const Place right = place(y);
        a_.emit(form, 16, to, vector(x, vector_scratch), right);
        break;
    }
    }
#undef BOTH
    done_vector(id, to);
}

void Emitter::load(uint32_t id, const Node& node) {
    const Place from = address(node);
    if (in_vector(node.type)) {
        const int to = to_vector(id);
        a_.emit(node.type == Type::F64 ? Form::MovQ : Form::MovD, 16, to, 0, from);
        return done_vector(id, to);
    }
    const General to = to_general(id);
    switch (node.memory) {
    case Memory::Bool:
        a_.operate(Arithmetic::Compare, from, 0, 1);
        a_.set_if(Condition::NotZero, r11);
        a_.load_narrow(to, Place::of(r11), 1, false);
        break;
    case Memory::I8:
    case Memory::I16:
    case Memory::I32: a_.load_narrow(to, from, memory_bytes(node.memory), true); break;
    case Memory::U8:
    case Memory::U16:
    case Memory::U32:
    case Memory::F16:
    case Memory::BF16: a_.load_narrow(to, from, memory_bytes(node.memory), false); break;
    default: a_.load(to, from); break;
    }
    done_general(id, to);
}

void Emitter::store(const Node& node) {
    const Place to = address(node);
    const uint32_t value = node.input[2];
    const int bytes = memory_bytes(node.memory);
    if (lies_in_register(value) && in_vector(node_of(value).type)) {
        a_.emit(bytes == 8 ? Form::MovQStore : Form::MovDStore, 16, where(value) - first_vector, 0, to);
        return;
    }
    if (constant(value) && (bytes < 8 || short_constant(node_of(value)))) {
        a_.store_immediate(to, static_cast<int32_t>(node_of(value).bits), bytes);
        return;
    }
    const General reg = general(value, r11);
    if (bytes == 8) a_.store(to, reg);
    else a_.store_narrow(to, reg, bytes);
}

void Emitter::call(uint32_t id, const Node& node) {
    static constexpr uint8_t arguments[] = {native::Rdi, native::Rsi, native::Rdx, native::Rcx, native::R8, native::R9};
    std::vector<Move> general, vectors;
    for (uint32_t i = 0; i < node.count; i++) {
        const uint32_t value = function_.operands[node.list + i];
        const bool vector = in_vector(node_of(value).type);
        const int32_t to = vector ? first_vector + static_cast<int32_t>(vectors.size()) : arguments[general.size()];
        (vector ? vectors : general).push_back({to, constant(value) ? -static_cast<int32_t>(value) : where(value)});
    }
    std::erase_if(general, [](const Move& move) { return move.to == move.from; });
    std::erase_if(vectors, [](const Move& move) { return move.to == move.from; });
    sequence(general, r11);
    sequence(vectors, first_vector + vector_scratch);
    for (const Move& step : vectors) move(step.to, step.from, true);
    for (const Move& step : general) move(step.to, step.from, false);
    const Callee& callee = function_.callees[node.extra];
    set(r11, reinterpret_cast<uint64_t>(callee.address));
    if (wide_) a_.vzeroupper();
    a_.call(r11);
    if (node.type == Type::None) return;
    if (where(id) < 0) return;
    if (in_vector(node.type)) return done_vector(id, 0);
    if (node.type == Type::Bool) a_.load_narrow(native::Rax, Place::of(native::Rax), 1, false);
    done_general(id, native::Rax);
}

void Emitter::emit(uint32_t id) {
    const Node& node = node_of(id);
    const uint32_t x = node.input[0], y = node.input[1];
    if ((node.lanes > 1 && node.op != Op::Phi) || gathers(node.op)) return lanes(id, node);
    switch (node.op) {
    case Op::Phi:
    case Op::Parameter: return;
    case Op::Load: return load(id, node);
    case Op::Store: return store(node);
    case Op::Call: return call(id, node);
    case Op::Index: {
        const bool swapped = compare_integers(x, y);
        leave_unless({swapped ? Condition::Above : Condition::Below}, node.extra);
        return;
    }
    case Op::Check: return leave_unless(condition(x), node.extra);
    case Op::Poll:
        polls_ = true;
        if (x) {
            if (where(id) == where(x)) a_.operate(Arithmetic::Sub, place(id), 1);
            else {
                const General counter = to_general(id);
                copy_to(counter, x);
                a_.operate(Arithmetic::Sub, Place::of(counter), 1);
                if (where(id) >= first_slot) a_.store(slot(where(id)), counter); // the flags stay
            }
        } else {
            a_.operate(Arithmetic::Sub, Place::at(native::Rsp, 16), 1);
        }
        askings_.push_back({a_.jump(Condition::Sign), a_.here(), node.extra, x ? where(id) : -1});
        return;
    case Op::SetCounter: return a_.store(Place::at(native::Rsp, 16), general(x, r11));
    case Op::Select: return in_vector(node.type) ? select_vector(id, node) : select(id, node);
    default: break;
    }
    if (in_vector(node.type)) return floating(id, node);
    const General to = to_general(id);
    switch (node.op) {
    case Op::Counter: a_.load(to, Place::at(native::Rsp, 16)); break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::And:
    case Op::Or:
    case Op::Xor: return integer(id, node);
    case Op::Min:
    case Op::Max: return least(id, node);
    case Op::FloorDiv:
    case Op::FloorMod: return divide(id, node);
    case Op::Neg:
        copy_to(to, x);
        a_.operate(Single::Negate, to);
        break;
    case Op::Not:
        copy_to(to, x);
        if (node.type == Type::Bool) a_.operate(Arithmetic::Xor, Place::of(to), 1);
        else a_.operate(Single::Not, to);
        break;
    case Op::Abs: {
        const General from = general(x, r10);
        a_.move(r11, from);
        a_.operate(Single::Negate, r11);
        a_.move_if(Condition::Sign, r11, Place::of(from));
        return done_general(id, r11);
    }
    case Op::Shl:
    case Op::Shr: {
        const Shift shift = node.op == Op::Shl ? Shift::Left : Shift::Signed;
        if (constant(y)) {
            copy_to(to, x);
            a_.shift(shift, to, static_cast<int>(node_of(y).bits & 63));
        } else {
            const General count = general(y, r10);
            a_.shift_by(shift, to, Place::of(general(x, r11)), count);
        }
        break;
    }
    case Op::ToI64:
    case Op::Bits: {
        const Type type = node_of(x).type;
        if (!in_vector(type)) {
            copy_to(to, x);
        } else if (node.op == Op::ToI64) {
            a_.emit(type == Type::F64 ? Form::CvtSdSi : Form::CvtSsSi, 16, to, 0, place(x));
        } else {
            a_.emit(type == Type::F64 ? Form::MovQTo : Form::MovDTo, 16, vector(x, vector_scratch), 0, Place::of(to));
        }
        break;
    }
    default: { // comparisons
        const Flags flags = comparison(node);
        a_.set_if(flags.condition, r11);
        if (flags.parity != Flags::None) {
            a_.set_if(flags.parity == Flags::Equal ? Condition::NotParity : Condition::Parity, r10);
            a_.operate(flags.parity == Flags::Equal ? Arithmetic::And : Arithmetic::Or, r11, Place::of(r10));
        }
        a_.load_narrow(to, Place::of(r11), 1, false);
        break;
    }
    }
    done_general(id, to);
}

// ---- control flow

std::vector<Move> Emitter::moves(uint32_t b, bool vector) const {
    const BasicBlock& next = function_.blocks[function_.blocks[b].successor[0]];
    size_t edge = 0;
    while (next.predecessors[edge] != b) edge++;
    std::vector<Move> moves;
    for (uint32_t id : next.nodes) {
        const Node& phi = node_of(id);
        if (phi.op != Op::Phi) break;
        if (in_vector(phi) != vector) continue;
        const uint32_t value = function_.operands[phi.list + edge];
        const int32_t from = constant(value) ? -static_cast<int32_t>(value) : where(value);
        if (from != where(id)) moves.push_back({where(id), from});
    }
    return moves;
}

bool Emitter::empty(uint32_t b) const {
    const BasicBlock& block = function_.blocks[b];
    if (b == 0 || block.kind != BasicBlock::Jump || block.successor[0] == b) return false;
    for (uint32_t id : block.nodes)
        if (!folded_[id] && node_of(id).op != Op::Phi) return false;
    return moves(b, false).empty() && moves(b, true).empty();
}

/// Whether an innermost loop begins here.
bool Emitter::inner_start(const std::vector<uint32_t>& order, size_t i) const {
    const uint32_t loop = shape_.loop[order[i]];
    return loop != nowhere && (i == 0 || shape_.loop[order[i - 1]] != loop) && innermost_[loop];
}

uint32_t Emitter::target(uint32_t block) const {
    while (skipped_[block]) block = function_.blocks[block].successor[0];
    return block;
}

void Emitter::jump_if(Flags flags, uint32_t block) {
    int skip = -1;
    if (flags.parity == Flags::Equal) skip = a_.jump(Condition::Parity);
    if (flags.parity == Flags::Unequal) jumps_.push_back({a_.jump(Condition::Parity), block});
    jumps_.push_back({a_.jump(flags.condition), block});
    if (skip >= 0) a_.bind(skip);
}

void Emitter::leave_unless(Flags flags, uint32_t exit) {
    const Flags bad = flags.inverse();
    int skip = -1;
    if (bad.parity == Flags::Equal) skip = a_.jump(Condition::Parity);
    if (bad.parity == Flags::Unequal) leavings_.push_back({a_.jump(Condition::Parity), exit});
    leavings_.push_back({a_.jump(bad.condition), exit});
    if (skip >= 0) a_.bind(skip);
}

void Emitter::leave(uint32_t which) {
    const Exit& exit = function_.exits[which];
    if (exit.count) a_.load(r10, Place::at(native::Rsp, 0));
    for (uint32_t i = 0; i < exit.count; i++) {
        const uint32_t value = function_.operands[exit.list + i];
        const Place to = Place::at(r10, static_cast<int32_t>(8 * i));
        if (lies_in_register(value) && in_vector(node_of(value).type)) a_.emit(Form::MovQStore, 16, where(value) - first_vector, 0, to);
        else a_.store(to, general(value, r11));
    }
    if (exit.code) a_.move_immediate(native::Rax, static_cast<uint64_t>(static_cast<int64_t>(exit.code)));
    else a_.zero(native::Rax);
    endings_.push_back(a_.jump());
}

void Emitter::prologue() {
    for (int r = 0; r < 16; r++)
        if (registers_.used & kept_by_calls & 1u << r) a_.push(static_cast<General>(r));
    const int pushed = __builtin_popcount(registers_.used & kept_by_calls);
    int size = frame_start + 8 * registers_.slots;
    if ((size + 8 * pushed + 8) % 16) size += 8;
    frame_ = size;
    a_.operate(Arithmetic::Sub, Place::of(native::Rsp), size);
    a_.store(Place::at(native::Rsp, 0), native::Rdi);
    a_.store(Place::at(native::Rsp, 8), native::Rsi);
    a_.load(r11, Place::at(native::Rsi, 0));
    a_.store(Place::at(native::Rsp, 16), r11);
    a_.move(r10, native::Rdi);
    for (uint32_t id : function_.blocks[0].nodes) {
        const Node& node = node_of(id);
        if (node.op != Op::Parameter) break;
        const Place from = Place::at(r10, static_cast<int32_t>(8 * node.extra));
        if (where(id) >= first_slot) {
            a_.load(r11, from);
            a_.store(slot(where(id)), r11);
        } else if (in_vector(node.type)) {
            a_.emit(Form::MovQ, 16, where(id) - first_vector, 0, from);
        } else {
            a_.load(static_cast<General>(where(id)), from);
        }
    }
}

/// What is seldom run: exits of checks, the asking of polls, and the end.
void Emitter::endings() {
    std::vector<int> asks;
    for (const Asking& asking : askings_) {
        a_.bind(asking.place);
        const bool in_frame = asking.counter < 0;
        if (!in_frame) {
            if (asking.counter >= first_slot) a_.load(r11, slot(asking.counter));
            a_.store(Place::at(native::Rsp, 16), asking.counter >= first_slot ? r11 : static_cast<General>(asking.counter));
        }
        asks.push_back(a_.call());
        if (!in_frame) {
            const General counter = asking.counter >= first_slot ? r10 : static_cast<General>(asking.counter);
            a_.load(counter, Place::at(native::Rsp, 16));
            if (asking.counter >= first_slot) a_.store(slot(asking.counter), counter);
        }
        a_.test(r11, r11);
        leavings_.push_back({a_.jump(Condition::NotZero), asking.exit});
        a_.jump_back(asking.back);
    }
    std::vector<int> stub(function_.exits.size(), -1);
    for (const Leaving& leaving : leavings_) {
        int& at = stub[leaving.exit];
        if (at < 0) {
            at = a_.here();
            leave(leaving.exit);
        }
        a_.bind(leaving.place, at);
    }
    for (int place : endings_) a_.bind(place);
    if (wide_) a_.vzeroupper();
    if (polls_) {
        a_.load(r11, Place::at(native::Rsp, 8));
        a_.load(r10, Place::at(native::Rsp, 16));
        a_.store(Place::at(r11, 0), r10);
    }
    a_.operate(Arithmetic::Add, Place::of(native::Rsp), frame_);
    for (int r = 15; r >= 0; r--)
        if (registers_.used & kept_by_calls & 1u << r) a_.pop(static_cast<General>(r));
    a_.ret();
    if (asks.empty()) return;
    // Asks with all registers kept: those that a call may change lie on the stack meanwhile.
    for (int place : asks) a_.bind(place);
    const uint32_t kept = registers_.used & clobbered_by_calls;
    const int vector_bytes = wide_ ? 32 : 8;
    int size = 8 * __builtin_popcount(kept & 0xFFFF) + vector_bytes * __builtin_popcount(kept >> 16);
    if (size % 16 == 0) size += 8;
    a_.operate(Arithmetic::Sub, Place::of(native::Rsp), size);
    const auto each = [&](bool store) {
        int at = 0;
        for (int r = 0; r < 32; r++) {
            if (!(kept >> r & 1)) continue;
            const Place place = Place::at(native::Rsp, at);
            at += r >= first_vector ? vector_bytes : 8;
            if (r >= first_vector && wide_) a_.emit(store ? Form::MovUpsStore : Form::MovUps, 32, r - first_vector, 0, place);
            else if (r >= first_vector) a_.emit(store ? Form::MovQStore : Form::MovQ, 16, r - first_vector, 0, place);
            else if (store) a_.store(place, static_cast<General>(r));
            else a_.load(static_cast<General>(r), place);
        }
    };
    each(true);
    if (wide_) a_.vzeroupper();
    const int above = size + 8; // the return address
    a_.load(native::Rdi, Place::at(native::Rsp, above + 8));
    a_.load(r11, Place::at(native::Rsp, above + 16));
    a_.store(Place::at(native::Rdi, 0), r11);
    a_.load(r11, Place::at(native::Rdi, offsetof(Asker, ask)));
    a_.call(r11);
    a_.load(r11, Place::at(native::Rsp, above + 8));
    a_.load(r10, Place::at(r11, 0));
    a_.store(Place::at(native::Rsp, above + 16), r10);
    a_.move(r11, native::Rax);
    each(false);
    a_.operate(Arithmetic::Add, Place::of(native::Rsp), size);
    a_.ret();
}

bool Emitter::write(std::string* listing) {
    if (registers_.slots > most_slots) return false;
    for (uint32_t b : shape_.order)
        for (uint32_t id : function_.blocks[b].nodes) {
            if (node_of(id).lanes == 1 || node_of(id).op == Op::Store || folded_[id]) continue;
            if (where(id) >= first_slot) return false;
            wide_ = true;
        }
    a_.listing = listing;
    innermost_.assign(shape_.loops.size(), 1);
    for (const Loop& loop : shape_.loops)
        if (loop.parent != nowhere) innermost_[loop.parent] = 0;
    prologue();
    std::vector<int> start(function_.blocks.size(), -1);
    std::vector<uint32_t> order;
    skipped_.resize(function_.blocks.size());
    for (uint32_t b : lives_.order) {
        // Not the last one of a ring.
        skipped_[b] = empty(b) && target(function_.blocks[b].successor[0]) != b;
        if (!skipped_[b]) order.push_back(b);
    }
    for (size_t i = 0; i < order.size(); i++) {
        const uint32_t b = order[i], after = i + 1 < order.size() ? order[i + 1] : nowhere;
        const BasicBlock& block = function_.blocks[b];
        if (inner_start(order, i)) a_.align(32);
        start[b] = a_.here();
        if (listing) *listing += format("block%u:\n", b);
        for (uint32_t id : block.nodes)
            if (!folded_[id]) emit(id);
        if (block.kind == BasicBlock::Leave) {
            leave(block.exit);
        } else if (block.kind == BasicBlock::Jump) {
            for (bool vector : {false, true}) {
                std::vector<Move> list = moves(b, vector);
                sequence(list, vector ? first_vector + vector_scratch : r11);
                for (const Move& step : list) move(step.to, step.from, vector);
            }
            if (target(block.successor[0]) != after) jump(block.successor[0]);
        } else {
            const uint32_t yes = target(block.successor[0]), no = target(block.successor[1]);
            const Flags flags = condition(block.condition);
            if (yes == after) {
                jump_if(flags.inverse(), no);
            } else {
                jump_if(flags, yes);
                if (no != after) jump(no);
            }
        }
    }
    endings();
    for (const Jump& jump : jumps_) {
        KINDLING_ASSERT(start[jump.block] >= 0);
        a_.bind(jump.place, start[jump.block]);
    }
    while (a_.code.size() % 16) a_.code.push_back(0xCC);
    const int pool = a_.here();
    for (const Assembler::Distance& distance : a_.constants)
        for (int i = 0; i < 4; i++)
            a_.code[static_cast<size_t>(distance.place + i)] =
                static_cast<uint8_t>(static_cast<uint32_t>(pool + distance.offset - distance.after) >> (8 * i));
    for (uint64_t bits : pool_)
        for (int i = 0; i < 8; i++) a_.code.push_back(static_cast<uint8_t>(bits >> (8 * i)));
    // What reads 16 bytes may read past the last constant.
    a_.code.resize(a_.code.size() + 8);
    return true;
}

} // namespace

std::unique_ptr<Code> machine_code(const Function& given, const Options& options) {
    if (isa() == Isa::Baseline || native_off()) return nullptr;
    Function function = given; // what follows is for machine code alone; where there is none, the interpreter runs what was given
    count_in_registers(function);
    const Shape shape(function);
    const Folder folder(function);
    Emitter emitter(function, shape, folder.folded);
    std::string listing;
    if (!emitter.write(options.trace ? &listing : nullptr)) return nullptr;
    if (options.trace) *options.trace += listing;
    void* memory = native::make_executable(emitter.code().data(), emitter.code().size());
    if (!memory) return nullptr;
    size_t slots = function.parameters.size();
    for (const Exit& exit : function.exits) slots = std::max(slots, static_cast<size_t>(exit.count));
    return std::unique_ptr<Code>(new Machine(memory, emitter.code().size(), slots));
}

} // namespace kindling::scalar
