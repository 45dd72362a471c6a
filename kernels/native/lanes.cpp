// kernels/native/lanes.cpp: recording of lane programs, their verifier and their text.
#include "kernels/native/lanes.h"

#include <cstring>

#include "core/error.h"
#include "kernels/native/native.h"

namespace kindling::native {

namespace {

constexpr LaneFacts all_facts[] = {
#define X(NAME, OPERANDS, FROM, TO, HOW, EVEX, VEX) {#NAME, OPERANDS, FROM, TO, How::HOW, Form::EVEX, Form::VEX},
    KINDLING_FOR_EACH_LANE_OP(X)
#undef X
};

constexpr bool is_float(LaneType type) { return type == LaneType::F32 || type == LaneType::F64; }
constexpr bool is_signed(LaneType type) { return type == LaneType::I32 || type == LaneType::I64; }
constexpr LaneOp wide(LaneType type, LaneOp four, LaneOp eight) { return width_of(type) == 4 ? four : eight; }

// Comparison predicates of vcmpps (quiet) and of vpcmpd.
enum { FloatEq = 0, FloatLt = 0x11, FloatLe = 0x12, FloatNe = 4, WholeEq = 0, WholeLt = 1, WholeLe = 2, WholeNe = 4 };

} // namespace

const LaneFacts& facts(LaneOp op) { return all_facts[static_cast<int>(op)]; }

Recorder::Recorder(Isa isa, const uint8_t* repeated_slots) : repeated_(repeated_slots), table_(256, -1) {
    program_.isa = isa;
    program_.values.reserve(256);
}

int Recorder::intern(Lane lane) {
    uint64_t hash = static_cast<uint64_t>(lane.op) | static_cast<uint64_t>(lane.immediate) << 8 | static_cast<uint64_t>(lane.width) << 16;
    for (int32_t operand : lane.operands) hash = (hash ^ static_cast<uint32_t>(operand)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 31;
    hash = (hash ^ lane.bits) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    size_t bound = table_.size() - 1, slot = hash & bound;
    for (; table_[slot] >= 0; slot = (slot + 1) & bound) {
        const Lane& known = at(table_[slot]);
        if (known.op == lane.op && known.immediate == lane.immediate && known.width == lane.width && known.bits == lane.bits &&
            !std::memcmp(known.operands, lane.operands, sizeof lane.operands))
            return table_[slot];
    }
    const int value = static_cast<int>(program_.values.size());
    program_.values.push_back(lane);
    operations_ += !lane.invariant;
    table_[slot] = value;
    if (++used_ * 2 > table_.size()) {
        // Rehashed in the same order, so that every value keeps its number.
        std::vector<Lane> values;
        values.swap(program_.values);
        program_.values.reserve(values.size() * 2);
        table_.assign(table_.size() * 2, -1);
        used_ = 0;
        const int operations = operations_;
        for (const Lane& old : values) intern(old);
        operations_ = operations;
    }
    return value;
}

int Recorder::add(LaneOp op, int width, int a, int b, int c, int immediate) {
    const LaneFacts& row = facts(op);
    Lane lane{};
    lane.op = op;
    lane.width = static_cast<uint8_t>(width);
    lane.mask = row.to == 0;
    lane.operand_count = row.operands;
    lane.immediate = static_cast<uint8_t>(immediate);
    lane.operands[0] = a;
    lane.operands[1] = b;
    lane.operands[2] = c;
    if (row.how == How::Either && a > b) lane.operands[0] = b, lane.operands[1] = a;
    lane.invariant = true;
    for (int k = 0; k < lane.operand_count; k++) lane.invariant &= at(lane.operands[k]).invariant;
    return intern(lane);
}

bool Recorder::has(LaneOp op) const {
    const LaneFacts& row = facts(op);
    return evex() || (facts(row.vex).flags & V);
}

bool is_load(const Lane& lane) {
    return facts(lane.op).how == How::Leaf && lane.op != LaneOp::Constant4 && lane.op != LaneOp::Constant8 && lane.op != LaneOp::Table;
}

int Recorder::constant(LaneType type, uint64_t bits) {
    Lane lane{};
    lane.op = wide(type, LaneOp::Constant4, LaneOp::Constant8);
    lane.width = static_cast<uint8_t>(width_of(type));
    lane.operands[0] = lane.operands[1] = lane.operands[2] = -1;
    lane.invariant = true;
    lane.bits = width_of(type) == 4 ? bits & 0xFFFFFFFFu : bits;
    return intern(lane);
}

int Recorder::load(LaneOp op, int slot) {
    Lane lane{};
    lane.op = op;
    lane.width = facts(op).to;
    lane.operands[0] = lane.operands[1] = lane.operands[2] = -1;
    lane.invariant = repeated_[slot] != 0;
    lane.bits = static_cast<uint64_t>(slot);
    return intern(lane);
}

int Recorder::mask_of_width(int mask, int width) {
    if (evex() || at(mask).width == width) return mask;
    const int value = width == 8 ? add(LaneOp::Extend, 8, mask) : add(LaneOp::Truncate, 4, mask);
    program_.values[static_cast<size_t>(value)].mask = true;
    return value;
}

int Recorder::as_int(int value, int width) {
    if (value == zero || value == never) return constant(width == 4 ? LaneType::I32 : LaneType::I64, 0);
    if (!at(value).mask) return value;
    if (!evex()) return mask_of_width(value, width);
    return add(width == 4 ? LaneOp::MaskToInt4 : LaneOp::MaskToInt8, width, value);
}

int Recorder::typed(LaneType type, int value) {
    if (value == zero) return constant(type, 0);
    return is_mask(value) ? as_int(value, width_of(type)) : value;
}

int Recorder::truth(LaneType type, int value) { return is_mask(value) ? value : compare(LaneWhat::Ne, type, value, zero); }
int Recorder::as_mask(int value) { return truth(LaneType::I32, value); }

int Recorder::mask_not(int a) {
    if (evex()) return add(LaneOp::MaskNot, at(a).width, a);
    const int width = at(a).width;
    return add(LaneOp::MaskXor, width, a, constant(width == 4 ? LaneType::I32 : LaneType::I64, ~uint64_t{0}));
}

int Recorder::mask_op(LaneWhat what, int a, int b) {
    if (a == never || b == never) {
        const int other = a == never ? b : a;
        return what == LaneWhat::And ? never : other;
    }
    if (a == b && what != LaneWhat::Xor) return a;
    const int width = at(a).width;
    b = mask_of_width(b, width);
    LaneOp op = what == LaneWhat::And ? LaneOp::MaskAnd : what == LaneWhat::Or ? LaneOp::MaskOr : LaneOp::MaskXor;
    return add(op, width, a, b);
}

int Recorder::compare(LaneWhat what, LaneType type, int a, int b) {
    if (what == LaneWhat::Gt) return compare(LaneWhat::Lt, type, b, a);
    if (what == LaneWhat::Ge) return compare(LaneWhat::Le, type, b, a);
    a = typed(type, a);
    b = typed(type, b);
    const int width = width_of(type);
    const bool equal = what == LaneWhat::Eq, different = what == LaneWhat::Ne, less = what == LaneWhat::Lt;
    if (is_float(type))
        return add(wide(type, LaneOp::CompareF, LaneOp::CompareG), width, a, b, -1,
                   equal       ? FloatEq
                   : different ? FloatNe
                   : less      ? FloatLt
                               : FloatLe);
    if (a == b && (different || less)) return never;
    if (evex()) {
        LaneOp op = is_signed(type) ? wide(type, LaneOp::CompareS4, LaneOp::CompareS8) : wide(type, LaneOp::CompareU4, LaneOp::CompareU8);
        return add(op, width, a, b, -1, equal ? WholeEq : different ? WholeNe : less ? WholeLt : WholeLe);
    }
    if (equal || different) {
        const int same = add(wide(type, LaneOp::Equal4, LaneOp::Equal8), width, a, b);
        return equal ? same : mask_not(same);
    }
    if (!is_signed(type)) { // there is only a signed comparison
        const int top = constant(type, width == 4 ? 0x80000000u : 0x8000000000000000u);
        a = add(wide(type, LaneOp::Xor4, LaneOp::Xor8), width, a, top);
        b = add(wide(type, LaneOp::Xor4, LaneOp::Xor8), width, b, top);
    }
    const LaneOp greater = wide(type, LaneOp::Greater4, LaneOp::Greater8);
    return less ? add(greater, width, b, a) : mask_not(add(greater, width, a, b));
}

int Recorder::shift(LaneType type, bool left, int a, int b) {
    const int width = width_of(type);
    a = typed(type, a);
    b = typed(type, b);
    const bool arithmetic = !left && is_signed(type);
    const Lane& count = at(b);
    if (count.op == LaneOp::Constant4 || count.op == LaneOp::Constant8) {
        const int n = static_cast<int>(count.bits);
        KINDLING_ASSERT(n >= 0 && n < 8 * width);
        if (left) return add(wide(type, LaneOp::Shl4, LaneOp::Shl8), width, a, -1, -1, n);
        if (!arithmetic) return add(wide(type, LaneOp::Shr4, LaneOp::Shr8), width, a, -1, -1, n);
        if (width == 4 || evex()) return add(wide(type, LaneOp::Sar4, LaneOp::Sar8), width, a, -1, -1, n);
        const int low = add(LaneOp::Shr8, 8, a, -1, -1, n), sign = constant(type, uint64_t{1} << (63 - n));
        return add(LaneOp::Sub8, 8, add(LaneOp::Xor8, 8, low, sign), sign);
    }
    KINDLING_ASSERT(width == 8);
    if (left) return add(LaneOp::ShlBy8, 8, a, b);
    if (!arithmetic) return add(LaneOp::ShrBy8, 8, a, b);
    if (evex()) return add(LaneOp::SarBy8, 8, a, b);
    const int low = add(LaneOp::ShrBy8, 8, a, b), sign = add(LaneOp::ShrBy8, 8, constant(type, uint64_t{1} << 63), b);
    return add(LaneOp::Sub8, 8, add(LaneOp::Xor8, 8, low, sign), sign);
}

int Recorder::binary(LaneWhat what, LaneType type, int a, int b) {
    const int width = width_of(type);
    switch (what) {
    case LaneWhat::And:
    case LaneWhat::Or:
    case LaneWhat::Xor: {
        if (is_mask(a) && is_mask(b)) return mask_op(what, a, b);
        a = typed(type, a);
        b = typed(type, b);
        LaneOp op = what == LaneWhat::And  ? wide(type, LaneOp::And4, LaneOp::And8)
                    : what == LaneWhat::Or ? wide(type, LaneOp::Or4, LaneOp::Or8)
                                           : wide(type, LaneOp::Xor4, LaneOp::Xor8);
        // A narrow load has zero-extended already.
        if (what == LaneWhat::And) {
            for (int k = 0; k < 2; k++) {
                const Lane &from = at(k ? b : a), &bits = at(k ? a : b);
                if (bits.op == LaneOp::Constant4 && ((from.op == LaneOp::Load8 && (bits.bits & 0xFF) == 0xFF) ||
                                                     (from.op == LaneOp::Load16 && (bits.bits & 0xFFFF) == 0xFFFF)))
                    return k ? b : a;
            }
        }
        return bitwise(op, width, a, b);
    }
    case LaneWhat::Shl: return shift(type, true, a, b);
    case LaneWhat::Shr: return shift(type, false, a, b);
    case LaneWhat::Add:
    case LaneWhat::Sub:
    case LaneWhat::Mul:
    case LaneWhat::Div: break;
    default: return compare(what, type, a, b);
    }
    if (what == LaneWhat::Sub && b == zero && a >= 0 && !is_mask(a)) return a;
    a = typed(type, a);
    b = typed(type, b);
    if (is_float(type)) {
        constexpr LaneOp four[] = {LaneOp::AddF, LaneOp::SubF, LaneOp::MulF, LaneOp::DivF};
        constexpr LaneOp eight[] = {LaneOp::AddG, LaneOp::SubG, LaneOp::MulG, LaneOp::DivG};
        return add((width == 4 ? four : eight)[static_cast<int>(what)], width, a, b);
    }
    if (what == LaneWhat::Add) return add(wide(type, LaneOp::Add4, LaneOp::Add8), width, a, b);
    if (what == LaneWhat::Sub) return add(wide(type, LaneOp::Sub4, LaneOp::Sub8), width, a, b);
    KINDLING_ASSERT(what == LaneWhat::Mul);
    if (width == 4) return add(LaneOp::Mul4, 4, a, b);
    if (evex()) return add(LaneOp::Mul8, 8, a, b);
    const int ab = add(LaneOp::MulLow8, 8, add(LaneOp::Shr8, 8, a, -1, -1, 32), b);
    const int ba = add(LaneOp::MulLow8, 8, add(LaneOp::Shr8, 8, b, -1, -1, 32), a);
    const int high = add(LaneOp::Shl8, 8, add(LaneOp::Add8, 8, ab, ba), -1, -1, 32);
    return add(LaneOp::Add8, 8, add(LaneOp::MulLow8, 8, a, b), high);
}

/// The truth table for vpternlogd, over bits of a, b and c.
static int truth_table(LaneOp outer, LaneOp inner) {
    auto bits = [](LaneOp op, int p, int q) { return op == LaneOp::And4 ? p & q : op == LaneOp::Or4 ? p | q : p ^ q; };
    return bits(outer, 0xF0, bits(inner, 0xCC, 0xAA));
}

/// Fuses two operations, if there is an instruction for both.
int Recorder::bitwise(LaneOp op, int width, int a, int b) {
    auto inner = [&](int value) {
        const Lane& lane = at(value);
        return !lane.invariant && (lane.op == LaneOp::And4 || lane.op == LaneOp::Or4 || lane.op == LaneOp::Xor4);
    };
    if (!evex() || width != 4 || at(a).invariant || at(b).invariant || !(inner(a) || inner(b))) {
        // With a constant outside: (x op c) op d.
        const int logic = evex() && width == 4 ? (inner(a) && at(b).invariant ? a : inner(b) && at(a).invariant ? b : -1) : -1;
        if (logic < 0) return add(op, width, a, b);
        const Lane lane = at(logic);
        return add(LaneOp::Ternary4, 4, logic == a ? b : a, lane.operands[0], lane.operands[1], truth_table(op, lane.op));
    }
    if (!inner(b)) std::swap(a, b);
    const Lane lane = at(b), other = at(a);
    // (x & c) | (y & ~c): a bitwise select.
    if (op == LaneOp::Or4 && lane.op == LaneOp::And4 && other.op == LaneOp::And4)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) {
                const Lane &c = at(other.operands[j]), &d = at(lane.operands[k]);
                if (c.op == LaneOp::Constant4 && d.op == LaneOp::Constant4 && c.bits == (~d.bits & 0xFFFFFFFFu))
                    return add(LaneOp::Ternary4, 4, other.operands[j], other.operands[1 - j], lane.operands[1 - k], 0xCA);
            }
    return add(LaneOp::Ternary4, 4, a, lane.operands[0], lane.operands[1], truth_table(op, lane.op));
}

int Recorder::negate(LaneType type, int a) {
    a = typed(type, a);
    if (is_float(type)) {
        const int sign = constant(type, width_of(type) == 4 ? 0x80000000u : 0x8000000000000000u);
        return add(wide(type, LaneOp::Xor4, LaneOp::Xor8), width_of(type), a, sign);
    }
    return add(wide(type, LaneOp::Sub4, LaneOp::Sub8), width_of(type), constant(type, 0), a);
}

int Recorder::invert(LaneType type, int a) {
    if (is_mask(a) && a != never) return mask_not(a);
    return add(wide(type, LaneOp::Xor4, LaneOp::Xor8), width_of(type), typed(type, a), constant(type, ~uint64_t{0}));
}

int Recorder::choose(LaneType type, int mask, int a, int b) {
    if (mask == never) return is_mask(b) || b == zero ? typed(type, b) : b;
    if (!is_mask(mask)) mask = compare(LaneWhat::Ne, type, mask, zero); // an integer of the same width
    a = typed(type, a);
    b = typed(type, b);
    if (a == b) return a;
    // p < q ? p : q is the processor's minimum: the second operand if they are equal or unordered.
    const Lane& test = at(mask);
    const int width = width_of(type);
    bool less = false;
    if (test.op == (width == 4 ? LaneOp::CompareF : LaneOp::CompareG)) less = test.immediate == FloatLt;
    if (less && is_float(type)) {
        const int p = test.operands[0], q = test.operands[1];
        if (a == p && b == q) return add(wide(type, LaneOp::MinF, LaneOp::MinG), width, p, q);
        if (a == q && b == p) return add(wide(type, LaneOp::MaxF, LaneOp::MaxG), width, q, p);
    }
    bool whole_less = false, sign = true;
    if (test.op == wide(type, LaneOp::CompareS4, LaneOp::CompareS8)) whole_less = test.immediate == WholeLt;
    if (test.op == wide(type, LaneOp::CompareU4, LaneOp::CompareU8)) whole_less = test.immediate == WholeLt, sign = false;
    if (whole_less && !is_float(type)) {
        const int p = test.operands[0], q = test.operands[1];
        LaneOp least = sign ? wide(type, LaneOp::MinS4, LaneOp::MinS8) : wide(type, LaneOp::MinU4, LaneOp::MinU8);
        LaneOp most = sign ? wide(type, LaneOp::MaxS4, LaneOp::MaxS8) : wide(type, LaneOp::MaxU4, LaneOp::MaxU8);
        if (a == p && b == q) return add(least, width, p, q);
        if (a == q && b == p) return add(most, width, p, q);
    }
    return add(wide(type, LaneOp::Select4, LaneOp::Select8), width, mask_of_width(mask, width), a, b);
}

int Recorder::square_root(LaneType type, int a) { return add(wide(type, LaneOp::SqrtF, LaneOp::SqrtG), width_of(type), typed(type, a)); }
int Recorder::round(LaneType type, int mode, int a) {
    return add(wide(type, LaneOp::RoundF, LaneOp::RoundG), width_of(type), typed(type, a), -1, -1, mode | 8);
}
int Recorder::fma(LaneType type, int a, int b, int c) {
    return add(wide(type, LaneOp::FmaF, LaneOp::FmaG), width_of(type), typed(type, a), typed(type, b), typed(type, c));
}

int Recorder::scale(LaneType type, int a, int power) {
    return add(wide(type, LaneOp::ScaleF, LaneOp::ScaleG), width_of(type), typed(type, a), typed(type, power));
}

int Recorder::convert(LaneType from, LaneType to, int a) {
    a = typed(from, a);
    if (from == to || (width_of(from) == width_of(to) && !is_float(from) && !is_float(to))) return a;
    LaneOp op = LaneOp::Call;
    switch (from) {
    case LaneType::F32:
        op = to == LaneType::F64   ? LaneOp::FToG
             : to == LaneType::I32 ? LaneOp::FToInt
             : to == LaneType::I64 ? LaneOp::FToLong
                                   : LaneOp::Call;
        break;
    case LaneType::F64:
        op = to == LaneType::F32   ? LaneOp::GToF
             : to == LaneType::I32 ? LaneOp::GToInt
             : to == LaneType::I64 ? LaneOp::GToLong
                                   : LaneOp::Call;
        break;
    case LaneType::I32: op = to == LaneType::F32 ? LaneOp::IntToF : to == LaneType::F64 ? LaneOp::IntToG : LaneOp::Extend; break;
    case LaneType::U32: op = to == LaneType::F32 ? LaneOp::UintToF : to == LaneType::F64 ? LaneOp::UintToG : LaneOp::ExtendZero; break;
    case LaneType::I64: op = to == LaneType::F32 ? LaneOp::LongToF : to == LaneType::F64 ? LaneOp::LongToG : LaneOp::Truncate; break;
    case LaneType::U64: op = to == LaneType::F32 ? LaneOp::UlongToF : to == LaneType::F64 ? LaneOp::UlongToG : LaneOp::Truncate; break;
    }
    if (op == LaneOp::Call || !has(op)) return -1;
    return add(op, facts(op).to, a);
}

int Recorder::half_round_trip(int a) { return from_half(to_half(a)); }

int Recorder::fix(LaneOp op, int x, int value, int large) { return add(op, 8, x, typed(LaneType::F64, value), large); }

int Recorder::lookup(const float* table, int count, int index) {
    Lane lane{};
    lane.width = 4;
    lane.operands[0] = lane.operands[1] = lane.operands[2] = -1;
    lane.bits = reinterpret_cast<uint64_t>(table);
    index = typed(LaneType::U32, index);
    if (evex() || count == 8) {
        lane.op = LaneOp::Table;
        lane.immediate = static_cast<uint8_t>(count);
        lane.invariant = true;
        return add(LaneOp::Lookup, 4, index, intern(lane));
    }
    lane.op = LaneOp::LookupHalf;
    lane.operand_count = 1;
    lane.operands[0] = index;
    lane.invariant = at(index).invariant;
    return intern(lane);
}

int Recorder::rare(TileFunction function, int a, int b, int mask) {
    Lane lane{};
    lane.op = LaneOp::Rare;
    lane.width = 4;
    lane.operand_count = 3;
    lane.operands[0] = typed(LaneType::F32, a);
    lane.operands[1] = typed(LaneType::F32, b);
    lane.operands[2] = mask_of_width(mask, 4);
    lane.invariant = true;
    for (int operand : lane.operands) lane.invariant &= at(operand).invariant;
    lane.bits = reinterpret_cast<uint64_t>(function);
    return intern(lane);
}

int Recorder::call(TileFunction function, int from_width, int to_width, const int* operands, int count) {
    program_.has_call = true;
    Lane lane{};
    lane.op = LaneOp::Call;
    lane.width = static_cast<uint8_t>(to_width);
    lane.operand_count = static_cast<uint8_t>(count);
    lane.immediate = static_cast<uint8_t>(from_width);
    lane.invariant = true;
    for (int k = 0; k < 3; k++) lane.operands[k] = k < count ? operands[k] : -1;
    for (int k = 0; k < count; k++) lane.invariant &= at(operands[k]).invariant;
    lane.bits = reinterpret_cast<uint64_t>(function);
    return intern(lane);
}

void Recorder::store(int value, int slot, int item) {
    program_.stores.push_back(
        {value, static_cast<int16_t>(slot), static_cast<uint8_t>(item), repeated_ && repeated_[slot] == native_past_cache});
}

void Recorder::fold(Combine combine, LaneType type, int value, int slot) {
    program_.folds.push_back({typed(type, value), static_cast<int16_t>(slot), combine, static_cast<uint8_t>(width_of(type))});
}

LaneProgram Recorder::finish() {
    std::vector<Lane>& values = program_.values;
    std::vector<int32_t> map(values.size(), -1);
    for (const LaneStore& store : program_.stores) map[static_cast<size_t>(store.value)] = 0;
    for (const LaneFold& fold : program_.folds) map[static_cast<size_t>(fold.value)] = 0;
    for (size_t i = values.size(); i-- > 0;)
        if (map[i] == 0)
            for (int k = 0; k < values[i].operand_count; k++) map[static_cast<size_t>(values[i].operands[k])] = 0;
    size_t kept = 0;
    bool wide = false;
    program_.leaves = program_.has_call = false;
    for (size_t i = 0; i < values.size(); i++) {
        if (map[i] < 0) continue;
        Lane lane = values[i];
        for (int k = 0; k < lane.operand_count; k++) lane.operands[k] = map[static_cast<size_t>(lane.operands[k])];
        map[i] = static_cast<int32_t>(kept);
        program_.leaves |= facts(lane.op).how == How::Fix || facts(lane.op).how == How::Rare;
        program_.has_call |= lane.op == LaneOp::Call;
        // A mask in a mask register has no width of its own.
        wide |= lane.width == 8 && !(lane.mask && evex());
        wide |= lane.op == LaneOp::Call && lane.immediate == 8;
        values[kept++] = lane;
    }
    values.resize(kept);
    for (LaneStore& store : program_.stores) store.value = map[static_cast<size_t>(store.value)];
    for (LaneFold& fold : program_.folds) fold.value = map[static_cast<size_t>(fold.value)];
    program_.lanes = (evex() ? 64 : 32) / (wide ? 8 : 4);
    return static_cast<LaneProgram&&>(program_);
}

bool LaneProgram::folds_fit() const {
    const int copies = folds.empty() ? 0 : turn() / lanes;
    int taken = 0, extremes = 0;
    for (const LaneFold& fold : folds) {
        taken += copies;
        if (fold.is_extreme()) extremes += copies;
    }
    if (isa == Isa::Avx512) return taken <= 12 && extremes <= 2;
    return taken + extremes <= 8;
}

std::string LaneProgram::to_string() const {
    std::string text = format("%d lanes\n", lanes);
    for (size_t i = 0; i < values.size(); i++) {
        const Lane& lane = values[i];
        const LaneFacts& row = facts(lane.op);
        text += format("%s%%%zu = %s", lane.invariant ? "once " : "", i, row.text);
        if (lane.op == LaneOp::Constant4 || lane.op == LaneOp::Constant8)
            text += format(" 0x%llx", static_cast<unsigned long long>(lane.bits));
        else if (lane.op == LaneOp::Table) text += format(" of %d", lane.immediate);
        else if (row.how == How::Leaf) text += format(" slot %d", static_cast<int>(lane.bits));
        for (int k = 0; k < lane.operand_count; k++) text += format(k ? ", %%%d" : " %%%d", lane.operands[k]);
        if (row.how == How::Shift || row.how == How::Compare || row.how == How::Immediate || row.how == How::Ternary)
            text += format(", #%d", lane.immediate);
        text += "\n";
    }
    for (const LaneStore& store : stores)
        text += format("store %%%d, slot %d, %d bytes%s\n", store.value, store.slot, store.item, store.past_cache ? " past the cache" : "");
    for (const LaneFold& fold : folds) {
        static constexpr const char* names[] = {"sum", "prod", "min", "max"};
        text += format("fold %%%d by %s, slot %d\n", fold.value, names[static_cast<int>(fold.combine)], fold.slot);
    }
    for (const LaneFetch& fetch : fetches)
        text += format("fetch slot %d, %d bytes%s\n", fetch.slot, fetch.item, fetch.to_write ? " to write" : "");
    return text;
}

void LaneProgram::verify(int slot_count) const {
    auto check = [&](bool good, size_t at, const char* what) {
        if (!good) fail(ErrorKind::Internal, "internal error: value %%%zu of a native kernel %s:\n%s", at, what, to_string().c_str());
    };
    const bool evex = isa == Isa::Avx512;
    const int vector = evex ? 64 : 32;
    check(isa != Isa::Baseline && (lanes == vector / 4 || lanes == vector / 8), 0, "has a wrong number of lanes");
    for (size_t i = 0; i < values.size(); i++) {
        const Lane& lane = values[i];
        const LaneFacts& row = facts(lane.op);
        check(lane.op == LaneOp::Call ? lane.operand_count >= 1 && lane.operand_count <= 3 : lane.operand_count == row.operands, i,
              "has wrong operands");
        check(lane.width == 2 || lane.width == 4 || lane.width == 8, i, "has no width");
        check((lane.mask && evex) || lane.width * lanes <= vector, i, "does not fit a register");
        check(evex || (facts(row.vex).flags & V), i, "is not of this instruction set");
        if (is_load(lane)) check(lane.bits < static_cast<uint64_t>(slot_count), i, "reads no slot");
        for (int k = 0; k < lane.operand_count; k++) {
            check(lane.operands[k] >= 0 && static_cast<size_t>(lane.operands[k]) < i, i, "has wrong operands");
            const Lane& operand = values[static_cast<size_t>(lane.operands[k])];
            check(!lane.invariant || operand.invariant, i, "is computed once of what changes");
            bool mask = (row.how == How::Select && k == 0) || row.how == How::Mask || row.how == How::Spread ||
                        ((row.how == How::Fix || row.how == How::Rare) && k == 2);
            if (evex) check(mask == operand.mask, i, mask ? "needs a mask" : "needs numbers");
            int width = lane.op == LaneOp::Call ? lane.immediate : row.from ? row.from : lane.width;
            if (!mask) check(operand.width == width, i, "has an operand of another width");
            else if (!evex) check(operand.width == (row.how == How::Fix ? 8 : lane.width), i, "has a mask of another width");
        }
    }
    for (const LaneStore& store : stores) {
        size_t at = static_cast<size_t>(store.value);
        check(store.value >= 0 && at < values.size(), at, "is stored but is none");
        check(store.slot >= 0 && store.slot < slot_count, at, "is stored to no slot");
        const Lane& lane = values[at];
        switch (store.item) {
        case 1: check(lane.width == 4 || lane.mask, at, "is stored as a byte"); break;
        case 2: check(!(lane.mask && evex) && lane.width <= 4, at, "is stored as two bytes"); break;
        default: check(!(lane.mask && evex) && lane.width == store.item, at, "is stored in another width");
        }
    }
    for (const LaneFold& fold : folds) {
        size_t at = static_cast<size_t>(fold.value);
        check(fold.value >= 0 && at < values.size(), at, "is folded but is none");
        check(!values[at].mask && values[at].width == fold.width && fold.combine <= Combine::Max, at, "can't be folded");
        check(!has_call && fold_lanes % lanes == 0, at, "is folded where it can't be");
    }
}

} // namespace kindling::native
