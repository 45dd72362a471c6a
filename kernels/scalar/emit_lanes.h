// kernels/scalar/emit_lanes.h: instructions for values of four lanes. They lie in a vector register: F32 in the lower half, all others in
// lanes of 64 bits, true as all ones.
#pragma once
#include "kernels/scalar/emitter.h"

namespace kindling::scalar {

namespace {

bool is_pooled(const Function& function, const Node& node) {
    return node.op == Op::Steps || (node.op == Op::Spread && function.nodes[node.input[0]].op == Op::Constant);
}

uint32_t Emitter::lane_mask(const Node& node) const {
    const uint32_t id = node.count ? function_.operands[node.list] : 0;
    return id && node_of(id).type == Type::Bool ? id : 0;
}
uint32_t Emitter::lane_step(const Node& node) const {
    const uint32_t id = node.count ? function_.operands[node.list] : 0;
    return id && node_of(id).type == Type::I64 ? id : 0;
}

/// As an operand: register, memory, or a constant of the pool.
Place Emitter::wide_place(uint32_t id) {
    const Node& node = node_of(id);
    if (!folded_[id]) return Place::of(where(id) - first_vector);
    if (node.op == Op::Load) return address(node);
    uint64_t words[4];
    for (uint64_t i = 0; i < 4; i++) {
        words[i] = node.op == Op::Steps ? node.bits * i : node_of(node.input[0]).bits;
        if (node.type == Type::F32) words[i] |= words[i] << 32;
        if (node.type == Type::Bool) words[i] = 0 - words[i];
    }
    return pooled(words, node.type == Type::F32 ? 2 : 4);
}
int Emitter::wide(uint32_t id, int spare) {
    if (!folded_[id]) return where(id) - first_vector;
    with(Form::MovUps, node_of(id).type == Type::F32 ? 16 : 32, spare, 0, id);
    return spare;
}
// The last operand is a register, a value, or one word in each lane.
void Emitter::in_register(Form form, int bytes, int to, int left, int right, int immediate) {
    a_.emit(form, bytes, to, left, Place::of(right), immediate);
}
void Emitter::with(Form form, int bytes, int to, int left, uint32_t right, int immediate) {
    a_.emit(form, bytes, to, left, wide_place(right), immediate);
}
void Emitter::with_constant(Form form, int bytes, int to, int left, uint64_t word) {
    const uint64_t words[4] = {word, word, word, word};
    a_.emit(form, bytes, to, left, pooled(words, 4));
}
/// A mask of 64 bits a lane as one of 32.
void Emitter::narrow_mask(int to, int mask, int spare) {
    in_register(Form::Extract128, 32, mask, 0, spare, 1);
    in_register(Form::ShufPs, 16, to, mask, spare, 0x88);
}
void Emitter::all_ones(int reg) { in_register(Form::EqD, 32, reg, reg, reg); }

/// Of one lane, the first one first: r10 and r11 go from lane to lane.
Place Emitter::lane_place(const Node& node, uint32_t step, int lane) {
    const int64_t bytes = static_cast<int64_t>(node_of(step).bits), most = 1 << 28;
    if (constant(step) && bytes > -most && bytes < most && node.displacement > -most && node.displacement < most) {
        Place place = address(node);
        place.offset += static_cast<int32_t>(bytes * lane);
        return place;
    }
    if (lane == 0) a_.address_of(r10, address(node)), general(step, r11);
    if (lane == 0) return Place::at(r10, 0);
    const General by = lies_in_register(step) ? static_cast<General>(where(step)) : r11;
    if (lane == 3) a_.address_of(r10, Place::at(r10, by, 2));
    return Place::at(r10, by, lane == 2 ? 2 : 1);
}

void Emitter::gather(const Node& node, uint32_t step, int to) {
    const int a = vector_scratch, b = second_vector_scratch;
    const auto lane = [&](Form form, int bytes, int reg, int number) { a_.emit(form, bytes, reg, 0, lane_place(node, step, number)); };
    if (memory_bytes(node.memory) == 8) {
        lane(Form::MovQ, 16, a, 0);
        lane(Form::MovQ, 16, b, 1);
        in_register(Form::ShufPs, 16, a, a, b, 0x44); // and zeros above
        lane(Form::BroadcastSd, 32, b, 2);
        lane(Form::BroadcastSd, 32, to, 3);
        in_register(Form::ShufPs, 32, to, b, to, 0x44);
        const uint64_t upper[4] = {0, 0, ~uint64_t{0}, ~uint64_t{0}};
        a_.emit(Form::AndPs, 32, to, to, pooled(upper, 4));
        return in_register(Form::OrPs, 32, to, to, a);
    }
    lane(Form::MovD, 16, a, 0);
    lane(Form::MovD, 16, b, 1);
    in_register(Form::ShufPs, 16, a, a, b, 0);
    lane(Form::MovD, 16, b, 2);
    lane(Form::MovD, 16, to, 3);
    in_register(Form::ShufPs, 16, b, b, to, 0);
    in_register(Form::ShufPs, 16, to, a, b, 0x88);
}

/// In the order of the lanes.
void Emitter::scatter(const Node& node, uint32_t step) {
    const bool half = memory_bytes(node.memory) == 4;
    int value = wide(node.input[2], vector_scratch);
    if (half && node_of(node.input[2]).type == Type::I64) {
        narrow_mask(vector_scratch, value, second_vector_scratch);
        value = vector_scratch;
    }
    for (int lane = 0; lane < 4; lane++) {
        int from = lane ? second_vector_scratch : value;
        const int whole = lane == 1 ? value : from;
        if (half && lane) in_register(Form::ShufPs, 16, from, value, value, lane * 0x55);
        else if (lane == 2) in_register(Form::Extract128, 32, value, 0, from, 1);
        else if (lane) in_register(Form::ShufPs, 16, from, whole, whole, 0xEE);
        a_.emit(half ? Form::MovDStore : Form::MovQStore, 16, from, 0, lane_place(node, step, lane));
    }
}

void Emitter::lanes_load(uint32_t id, const Node& node) {
    const int to = where(id) - first_vector, bytes = memory_bytes(node.memory) * 4;
    const uint32_t mask = lane_mask(node), step = lane_step(node);
    if (step) {
        gather(node, step, to);
    } else if (mask) {
        int lanes = wide(mask, vector_scratch);
        if (bytes == 16) narrow_mask(vector_scratch, lanes, second_vector_scratch), lanes = vector_scratch;
        a_.emit(Form::MaskMovPs, bytes, to, lanes, address(node));
    } else if (bytes >= 16) {
        a_.emit(Form::MovUps, bytes, to, 0, address(node));
    } else {
        a_.emit(bytes == 4 ? Form::MovZxBd : Form::MovZxWd, 16, to, 0, address(node));
        if (node.memory == Memory::I8 || node.memory == Memory::I16) {
            in_register(Form::ShlD, 16, to, 0, to, bytes == 4 ? 24 : 16);
            in_register(Form::SarD, 16, to, 0, to, bytes == 4 ? 24 : 16);
        }
    }
    if (node.type == Type::F32 || bytes == 32) return;
    in_register(node.memory == Memory::U32 ? Form::MovZxDq : Form::MovSxDq, 32, to, 0, to);
    if (node.memory != Memory::Bool) return;
    in_register(Form::XorPs, 32, vector_scratch, vector_scratch, vector_scratch);
    in_register(Form::SubQ, 32, to, vector_scratch, to);
}

void Emitter::lanes_store(const Node& node) {
    const int bytes = memory_bytes(node.memory) * 4;
    const uint32_t mask = lane_mask(node), step = lane_step(node);
    if (step) return scatter(node, step);
    // Nothing is written where no lane does: that is slow, and memory may be one that nobody writes to.
    int none = -1;
    if (mask) {
        const int lanes = wide(mask, vector_scratch);
        in_register(Form::TestPd, 32, lanes, 0, lanes);
        none = a_.jump(Condition::Zero);
    }
    int value = wide(node.input[2], vector_scratch);
    if (bytes < 32 && node_of(node.input[2]).type != Type::F32) {
        narrow_mask(vector_scratch, value, second_vector_scratch);
        value = vector_scratch;
    }
    if (bytes < 16) {
        with_constant(Form::AndPs, 16, value, value,
                      node.memory == Memory::Bool ? 0x0000000100000001
                      : bytes == 4                ? 0x000000FF000000FF
                                                  : 0x0000FFFF0000FFFF);
        in_register(Form::PackUsDw, 16, value, value, value);
        if (bytes == 4) in_register(Form::PackUsWb, 16, value, value, value);
        a_.emit(bytes == 4 ? Form::MovDStore : Form::MovQStore, 16, value, 0, address(node));
    } else if (!mask) {
        a_.emit(Form::MovUpsStore, bytes, value, 0, address(node));
    } else {
        int lanes = wide(mask, second_vector_scratch);
        if (bytes == 16) {
            // All lanes of a constant are alike.
            if (folded_[mask]) in_register(Form::ShufPs, 16, lanes, lanes, lanes, 0x88);
            else narrow_mask(second_vector_scratch, lanes, second_vector_scratch), lanes = second_vector_scratch;
        }
        a_.emit(Form::MaskMovPsStore, bytes, value, lanes, address(node));
    }
    if (mask) a_.bind(none);
}

void Emitter::lanes_compare(const Node& node, int to) {
    const Type type = node_of(node.input[0]).type;
    uint32_t x = node.input[0], y = node.input[1];
    if (in_vector(type)) {
        static constexpr uint8_t predicates[] = {0, 4, 17, 18, 30, 29}; // Eq to Ge
        const int predicate = predicates[static_cast<int>(node.op) - static_cast<int>(Op::Eq)];
        const int left = wide(x, vector_scratch);
        if (type == Type::F64) return with(Form::CmpPd, 32, to, left, y, predicate);
        with(Form::CmpPs, 16, vector_scratch, left, y, predicate);
        return in_register(Form::MovSxDq, 32, to, 0, vector_scratch);
    }
    const bool same = node.op == Op::Eq || node.op == Op::Ne, inverse = node.op == Op::Ne || node.op == Op::Le || node.op == Op::Ge;
    if (node.op == Op::Lt || node.op == Op::Ge) std::swap(x, y);
    const int left = wide(x, vector_scratch);
    with(same ? Form::EqQ : Form::GtQ, 32, inverse ? vector_scratch : to, left, y);
    if (!inverse) return;
    all_ones(second_vector_scratch);
    in_register(Form::XorPs, 32, to, vector_scratch, second_vector_scratch);
}

void Emitter::lanes_select(const Node& node, int to) {
    int mask = wide(node.input[0], vector_scratch);
    if (node.type != Type::F32) {
        const int no = wide(node.input[2], second_vector_scratch);
        return with(Form::BlendvPd, 32, to, no, node.input[1], mask);
    }
    narrow_mask(vector_scratch, mask, second_vector_scratch);
    const int no = wide(node.input[2], second_vector_scratch);
    with(Form::BlendvPs, 16, to, no, node.input[1], vector_scratch);
}

void Emitter::spread(const Node& node, int to) {
    const uint32_t x = node.input[0];
    if (node.type == Type::F32) return a_.emit(Form::BroadcastSs, 16, to, 0, place(x));
    Place from = constant(x) || !lies_in_register(x) || node.type == Type::F64 ? place(x) : Place::of(vector_scratch);
    if (node.type == Type::Bool) {
        const General flag = general(x, r11);
        a_.move(r11, flag);
        a_.operate(native::Single::Negate, r11);
        in_register(Form::MovQFrom, 16, vector_scratch, 0, r11);
        from = Place::of(vector_scratch);
    } else if (from.reg == vector_scratch) {
        a_.emit(Form::MovQFrom, 16, vector_scratch, 0, Place::of(where(x)));
    }
    a_.emit(Form::BroadcastSd, 32, to, 0, from);
}

/// 64 bits times 64 bits, the lower 64: there is no instruction for it.
void Emitter::lanes_multiply(const Node& node, int to) {
    const int a = second_vector_scratch, b = vector_scratch;
    const auto high = [&](int reg, uint32_t of, uint32_t times) {
        if (folded_[of]) with(Form::MovUps, 32, reg, 0, of);
        a_.emit(Form::ShrQ, 32, reg, 0, Place::of(folded_[of] ? reg : where(of) - first_vector), 32);
        with(Form::MulUdq, 32, reg, reg, times);
    };
    high(a, node.input[0], node.input[1]);
    high(b, node.input[1], node.input[0]);
    in_register(Form::AddQ, 32, a, a, b);
    in_register(Form::ShlQ, 32, a, 0, a, 32);
    const int left = wide(node.input[0], b);
    with(Form::MulUdq, 32, b, left, node.input[1]);
    in_register(Form::AddQ, 32, to, a, b);
}

/// The halves of whole numbers are put behind the exponents of 2^84 and 2^52; the sum rounds once.
void Emitter::lanes_from_whole(uint32_t x, int to) {
    const int high = vector_scratch, low = second_vector_scratch, from = wide(x, second_vector_scratch);
    in_register(Form::ShrQ, 32, high, 0, from, 32);
    with_constant(Form::XorPs, 32, high, high, 0x4530000080000000);
    with_constant(Form::SubPd, 32, high, high, 0x4530000080100000);
    with_constant(Form::AndPs, 32, low, from, 0xFFFFFFFF);
    with_constant(Form::OrPs, 32, low, low, 0x4330000000000000);
    in_register(Form::AddPd, 32, to, high, low);
}

void Emitter::lanes(uint32_t id, const Node& node) {
    const uint32_t x = node.input[0], y = node.input[1];
    if (node.op == Op::Load) return lanes_load(id, node);
    if (node.op == Op::Store) return lanes_store(node);
    if (node.op == Op::Any) {
        const int mask = wide(x, vector_scratch);
        in_register(Form::TestPd, 32, mask, 0, mask);
        a_.set_if(Condition::NotZero, r11);
        a_.load_narrow(r11, Place::of(r11), 1, false);
        return done_general(id, r11);
    }
    if (node.op == Op::Count) {
        const int mask = wide(x, vector_scratch);
        in_register(Form::MovMskPd, 32, r11, 0, mask);
        a_.count_bits(r11, r11);
        return done_general(id, r11);
    }
    if (node.op == Op::Sum) {
        const int from = wide(x, second_vector_scratch);
        in_register(Form::Extract128, 32, from, 0, vector_scratch, 1);
        in_register(Form::AddQ, 16, vector_scratch, vector_scratch, from);
        in_register(Form::ShufPs, 16, second_vector_scratch, vector_scratch, vector_scratch, 0xEE);
        in_register(Form::AddQ, 16, vector_scratch, vector_scratch, second_vector_scratch);
        in_register(Form::MovQTo, 16, vector_scratch, 0, r11);
        return done_general(id, r11);
    }
    if (node.op == Op::Last) {
        const int from = wide(x, second_vector_scratch);
        if (node.type == Type::F32) {
            in_register(Form::ShufPs, 16, vector_scratch, from, from, 0xFF);
            return done_vector(id, vector_scratch);
        }
        in_register(Form::Extract128, 32, from, 0, vector_scratch, 1);
        in_register(Form::ShufPs, 16, vector_scratch, vector_scratch, vector_scratch, 0xEE);
        if (node.type == Type::F64) return done_vector(id, vector_scratch);
        in_register(Form::MovQTo, 16, vector_scratch, 0, r11);
        if (node.type == Type::Bool) a_.operate(Arithmetic::And, Place::of(r11), 1);
        return done_general(id, r11);
    }
    const int to = where(id) - first_vector;
    const Type from = node_of(x).type;
    const bool f64 = node.type == Type::F64, whole = !in_vector(node.type);
    const int bytes = node.type == Type::F32 ? 16 : 32;
    const auto two = [&](Form form) {
        const int left = wide(x, vector_scratch);
        with(form, bytes, to, left, y);
    };
#define BOTH(NAME) f64 ? Form::NAME##Pd : Form::NAME##Ps
    switch (node.op) {
    case Op::Spread: return spread(node, to);
    case Op::Steps: return with(Form::MovUps, 32, to, 0, id);
    case Op::Add: return two(whole ? Form::AddQ : BOTH(Add));
    case Op::Sub: return two(whole ? Form::SubQ : BOTH(Sub));
    case Op::Mul: return whole ? lanes_multiply(node, to) : two(BOTH(Mul));
    case Op::Div: return two(BOTH(Div));
    case Op::And: return two(Form::AndPs);
    case Op::Or: return two(Form::OrPs);
    case Op::Xor: return two(Form::XorPs);
    case Op::Min:
    case Op::Max: {
        const bool least = node.op == Op::Min;
        if (!whole) return two(least ? BOTH(Min) : BOTH(Max));
        // The left one where it is less, or greater. One of them at most is a constant.
        const int left = wide(x, vector_scratch), right = wide(y, second_vector_scratch);
        const int mask = left == vector_scratch ? second_vector_scratch : vector_scratch;
        in_register(Form::GtQ, 32, mask, least ? right : left, least ? left : right);
        return in_register(Form::BlendvPd, 32, to, right, left, mask);
    }
    case Op::Not: all_ones(second_vector_scratch); return with(Form::XorPs, 32, to, second_vector_scratch, x);
    case Op::Neg:
    case Op::Abs: {
        const int value = wide(x, vector_scratch);
        if (whole) {
            in_register(Form::XorPs, 32, second_vector_scratch, second_vector_scratch, second_vector_scratch);
            return in_register(Form::SubQ, 32, to, second_vector_scratch, value);
        }
        const uint64_t sign = f64 ? uint64_t{1} << 63 : 0x8000000080000000u;
        if (node.op == Op::Neg) return with_constant(Form::XorPs, bytes, to, value, sign);
        return with_constant(Form::AndPs, bytes, to, value, ~sign);
    }
    case Op::Sqrt: return with(BOTH(Sqrt), bytes, to, 0, x);
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
        return a_.emit(BOTH(Round), bytes, to, 0, wide_place(x),
                       node.op == Op::Floor   ? 9
                       : node.op == Op::Ceil  ? 10
                       : node.op == Op::Trunc ? 11
                                              : 8);
    case Op::Shl: {
        const int value = wide(x, vector_scratch);
        return a_.emit(Form::ShlQ, 32, to, 0, Place::of(value), static_cast<int>(node.bits));
    }
    case Op::Shr: { // the sign comes back by a difference
        const uint64_t sign = uint64_t{1} << (63 - node.bits);
        in_register(Form::ShrQ, 32, to, 0, wide(x, vector_scratch), static_cast<int>(node.bits));
        with_constant(Form::XorPs, 32, to, to, sign);
        return with_constant(Form::SubQ, 32, to, to, sign);
    }
    case Op::ToF64:
        if (from == Type::F32) return with(Form::CvtPsPd, 32, to, 0, x);
        if (from == Type::I64) return lanes_from_whole(x, to);
        return with_constant(Form::AndPs, 32, to, wide(x, vector_scratch), 0x3FF0000000000000);
    case Op::ToF32: return with(Form::CvtPdPs, 32, to, 0, x);
    case Op::ToI64: return with_constant(Form::AndPs, 32, to, wide(x, vector_scratch), 1);
    case Op::Select: return lanes_select(node, to);
    default: return lanes_compare(node, to);
    }
#undef BOTH
}

} // namespace

} // namespace kindling::scalar
