// kernels/native/record.cpp: tile steps as lane programs: each step's scalar body runs once, over values that record.
#define KINDLING_ISA_NAMESPACE isa_recorded
#define KINDLING_INLINE inline // bodies are shared here: they run once a kernel
#include "kernels/native/record.h"

#include "core/error.h"
#include "kernels/maths/arithmetic.h"

namespace kindling::isa_recorded::maths {
// A lane with a large angle is rare; see Fix in emit.cpp.
void reduce_large_lanes(const Recorded<double>& x, Recorded<double>& high, Recorded<double>& low, Recorded<uint64_t>& quadrant);
template <class T> bool scales_at_once(const Recorded<T>&) { return recorder->isa() == Isa::Avx512; }
template <class T> Recorded<T> at_least_lowest(const Recorded<T>& x, T lowest); // lane programs scale all lanes
template <class T> Recorded<T> scaled_lanes(const Recorded<T>& value, const Recorded<T>& k);
template <class T> bool scaled_at_once(const Recorded<T>& value, const Recorded<T>& k, Recorded<T>& result) {
    if (!scales_at_once(value)) return false;
    result = scaled_lanes(value, k);
    return true;
}
} // namespace kindling::isa_recorded::maths

#include "kernels/maths/maths.h"
#include "kernels/native/native.h"

namespace kindling::isa_recorded {

constinit thread_local native::Recorder* recorder = nullptr;

uint64_t number_bits(float value) { return bit_cast<uint32_t>(value); }
uint64_t number_bits(double value) { return bit_cast<uint64_t>(value); }

namespace maths {
template <class T> Recorded<T> at_least_lowest(const Recorded<T>& x, T lowest) { return at_least(x, lowest); }
// What is 0 is far below, where that costs nothing.
template <class T> Recorded<T> scaled_lanes(const Recorded<T>& value, const Recorded<T>& k) {
    const Recorded<T> seen = choose(k < T(sizeof(T) == 4 ? -150 : -1075), Recorded<T>(lowest_power(k)), k);
    return Recorded<T>(recorder->scale(lane_type<T>, value.lane, seen.lane), nullptr);
}
void reduce_large_lanes(const Recorded<double>& x, Recorded<double>& high, Recorded<double>& low, Recorded<uint64_t>& quadrant) {
    using native::LaneOp;
    const int large = (~(absolute(x) <= largest_plain_angle)).lane;
    high.lane = recorder->fix(LaneOp::FixHigh, x.lane, high.lane, large);
    low.lane = recorder->fix(LaneOp::FixLow, x.lane, low.lane, large);
    quadrant.lane = recorder->fix(LaneOp::FixQuadrant, x.lane, quadrant.lane, large);
}
} // namespace maths

namespace {

using native::LaneOp;
using native::LaneType;
using native::LaneWhat;

constexpr int none = -3; // there is no body that can be recorded

template <class T> int arithmetic(Primitive primitive, const int* operands) {
    using V = Recorded<T>;
    const V a(operands[0], nullptr), b(operands[1], nullptr);
    constexpr bool floating = std::is_floating_point_v<T>, is_signed = std::is_signed_v<T>;
    switch (primitive) {
    case Primitive::Add: return AddOp::apply(a, b).lane;
    case Primitive::Sub: return SubOp::apply(a, b).lane;
    case Primitive::Mul: return MulOp::apply(a, b).lane;
    case Primitive::Neg: return NegOp::apply(a).lane;
    case Primitive::Min: return MinOp::apply(a, b).lane;
    case Primitive::Max: return MaxOp::apply(a, b).lane;
    case Primitive::Fmin: return floating ? FminOp::apply(a, b).lane : MinOp::apply(a, b).lane;
    case Primitive::Fmax: return floating ? FmaxOp::apply(a, b).lane : MaxOp::apply(a, b).lane;
    case Primitive::Eq: return EqOp::apply(a, b).lane;
    case Primitive::Ne: return NeOp::apply(a, b).lane;
    case Primitive::Lt: return LtOp::apply(a, b).lane;
    case Primitive::Le: return LeOp::apply(a, b).lane;
    default: break;
    }
    if constexpr (floating) {
        switch (primitive) {
        case Primitive::Div: return DivOp::apply(a, b).lane;
        case Primitive::Fma: return recorder->fma(lane_type<T>, operands[0], operands[1], operands[2]);
        case Primitive::Abs: return FloatAbsOp::apply(a).lane;
        case Primitive::Sign: return FloatSignOp::apply(a).lane;
        case Primitive::Copysign: return CopysignOp::apply(a, b).lane;
        case Primitive::IsNan: return IsNanOp::apply(a).lane;
        case Primitive::IsInf: return IsInfOp::apply(a).lane;
        case Primitive::SignBit: return SignBitOp::apply(a).lane;
        case Primitive::Sqrt: return SqrtOp::apply(a).lane;
        case Primitive::Rsqrt: return RsqrtOp::apply(a).lane;
        case Primitive::Reciprocal: return ReciprocalOp::apply(a).lane;
        case Primitive::Floor: return FloorOp::apply(a).lane;
        case Primitive::Ceil: return CeilOp::apply(a).lane;
        case Primitive::Round: return RoundOp::apply(a).lane;
        case Primitive::Trunc: return TruncOp::apply(a).lane;
        case Primitive::Frac: return FracOp::apply(a).lane;
        default: return none;
        }
    } else {
        switch (primitive) {
        case Primitive::And: return AndOp::apply(a, b).lane;
        case Primitive::Or: return OrOp::apply(a, b).lane;
        case Primitive::Xor: return XorOp::apply(a, b).lane;
        case Primitive::Not: return NotOp::apply(a).lane;
        case Primitive::Abs:
            if constexpr (is_signed) return IntegerAbsOp::apply(a).lane;
            else return none;
        case Primitive::Sign:
            if constexpr (is_signed) return IntegerSignOp::apply(a).lane;
            else return none;
        case Primitive::SignBit:
            if constexpr (is_signed) return SignBitOp::apply(a).lane;
            else return none;
        case Primitive::Shl:
            if constexpr (sizeof(T) == 8) return ShlOp::apply(a, b).lane;
            else return none;
        case Primitive::Shr:
            if constexpr (sizeof(T) == 8) return ShrOp::apply(a, b).lane;
            else return none;
        default: return none;
        }
    }
}

int maths_double(Primitive primitive, const int* operands) {
    using V = Recorded<double>;
    const V a(operands[0], nullptr), b(operands[1], nullptr);
    switch (primitive) {
#define X(PRIMITIVE, NAME)                                                                                                                 \
    case Primitive::PRIMITIVE: return maths::NAME(a).lane;
        // clang-format off
        X(Exp, exp) X(Exp2, exp2) X(Expm1, expm1) X(Log, log) X(Log2, log2) X(Log10, log10) X(Log1p, log1p) X(Sin, sin)
        X(Cos, cos) X(Tan, tan) X(Asin, asin) X(Acos, acos) X(Atan, atan) X(Sinh, sinh) X(Cosh, cosh) X(Tanh, tanh)
        X(Asinh, asinh) X(Acosh, acosh) X(Atanh, atanh) X(Sigmoid, sigmoid) X(Erf, erf) X(Erfc, erfc) X(Erfcx, erfcx)
#undef X
#define X(PRIMITIVE, NAME) case Primitive::PRIMITIVE: return maths::NAME(a, b).lane;
        X(Atan2, atan2) X(Pow, pow) X(Hypot, hypot) X(Logaddexp, logaddexp) X(Logaddexp2, logaddexp2)
#undef X
    default: return none;
        // clang-format on
    }
}

/// Rare lanes are computed by the tile function.
int mended(const maths::Usual<Recorded<float>>& usual, const Recorded<float>& a, const Recorded<float>& b, TileFunction whole) {
    const int rare = recorder->as_mask(usual.rare().lane);
    if (rare == native::Recorder::never) return usual.value.lane;
    return recorder->choose(LaneType::F32, rare, recorder->rare(whole, a.lane, b.lane, rare), usual.value.lane);
}

/// `whole`: the step's tile function.
int maths_float(Primitive primitive, const int* operands, TileFunction whole) {
    using V = Recorded<float>;
    const V a(operands[0], nullptr), b(operands[1], nullptr);
    switch (primitive) {
#define X(PRIMITIVE, NAME)                                                                                                                 \
    case Primitive::PRIMITIVE: return maths::NAME(a).lane;
        // clang-format off
        X(Exp, expf) X(Exp2, exp2f) X(Expm1, expm1f) X(Sigmoid, sigmoidf) X(Tanh, tanhf) X(Erf, erff)
#undef X
#define X(PRIMITIVE, NAME) case Primitive::PRIMITIVE: return mended(maths::NAME(a), a, a, whole);
        X(Sin, sinf) X(Cos, cosf) X(Log1p, log1pf)
#undef X
#define X(PRIMITIVE, NAME) \
    case Primitive::PRIMITIVE: return convert<float>(maths::NAME##_for_float(convert<double>(a))).lane;
        X(Tan, tan) X(Asin, asin) X(Acos, acos) X(Atan, atan) X(Cosh, cosh) X(Sinh, sinh) X(Asinh, asinh) X(Acosh, acosh)
        X(Atanh, atanh) X(Erfc, erfc)
#undef X
#define X(BASE, PRIMITIVE) case Primitive::PRIMITIVE: return maths::any_logf<maths::Base::BASE>(a).lane;
        X(E, Log) X(Two, Log2) X(Ten, Log10)
#undef X
#define X(PRIMITIVE, NAME) \
    case Primitive::PRIMITIVE: return convert<float>(maths::NAME##_for_float(convert<double>(a), convert<double>(b))).lane;
        X(Atan2, atan2) X(Hypot, hypot)
#undef X
    case Primitive::Pow: return mended(maths::powf<false>(a, b), a, b, whole);
    default: return none;
        // clang-format on
    }
}

/// Bools are masks.
int truth_table(Primitive primitive, const int* operands) {
    using V = Recorded<int32_t>;
    const V a(operands[0], nullptr), b(operands[1], nullptr), c(operands[2], nullptr);
    switch (primitive) {
    case Primitive::And:
    case Primitive::Min:
    case Primitive::Fmin: return (a & b).lane;
    case Primitive::Or:
    case Primitive::Max:
    case Primitive::Fmax: return (a | b).lane;
    case Primitive::Xor:
    case Primitive::Ne: return (a ^ b).lane;
    case Primitive::Eq: return (~(a ^ b)).lane;
    case Primitive::Lt: return (~a & b).lane;
    case Primitive::Le: return (~a | b).lane;
    case Primitive::Not: return (~a).lane;
    case Primitive::Select: return ((a & b) | (~a & c)).lane;
    default: return none;
    }
}

class StepRecorder {
public:
    StepRecorder(const TileProgram& program, native::Recorder& lanes)
        : program_(program), lanes_(lanes), lane_of_(program.slots.size(), unset) {}

    bool run(std::vector<int>* operations) {
        for (const TileStep& step : program_.steps) {
            const int before = lanes_.operations();
            if (step.fold) {
                const Combine combine = static_cast<Combine>(step.task.which);
                if (!find_lane_fold(combine, step.task.type)) return false;
                lanes_.fold(combine, type_of(step.task.type), value(step.operands[0], step.task.type), step.out);
                continue;
            }
            int lane = record(step);
            if (lane < 0) return false;
            lane_of_[static_cast<size_t>(step.out)] = lane;
            if (operations) operations->push_back(lanes_.operations() - before);
        }
        for (size_t k = 0; k < program_.outputs.size(); k++) {
            int16_t slot = program_.outputs[k];
            bool again = false;
            for (size_t j = 0; j < k; j++) again |= program_.outputs[j] == slot;
            const TileSlot& facts = program_.slots[static_cast<size_t>(slot)];
            if (again || facts.kind != TileSlot::Buffer) continue;
            int lane = lane_of_[static_cast<size_t>(slot)];
            if (lanes_.is_mask(lane) && facts.item_size > 1) return false;
            lanes_.store(lane, slot, facts.item_size);
        }
        return true;
    }

private:
    static constexpr int unset = -9;
    const TileProgram& program_;
    native::Recorder& lanes_;
    std::vector<int> lane_of_;

    static LaneType type_of(DType type) {
        switch (type) {
        case DType::Float32: return LaneType::F32;
        case DType::Float64: return LaneType::F64;
        case DType::Int64: return LaneType::I64;
        case DType::UInt64: return LaneType::U64;
        case DType::Int8:
        case DType::Int16:
        case DType::Int32: return LaneType::I32;
        default: return LaneType::U32;
        }
    }

    /// The content of a slot, whatever the lane has above its own bits.
    int raw(int16_t slot) {
        int& lane = lane_of_[static_cast<size_t>(slot)];
        if (lane != unset) return lane;
        const TileSlot& facts = program_.slots[static_cast<size_t>(slot)];
        if (facts.kind == TileSlot::Splat && facts.which >= 0) {
            uint64_t bits = program_.constants[static_cast<size_t>(facts.which)].bits[0];
            if (facts.item_size < 8) bits &= (uint64_t{1} << 8 * facts.item_size) - 1;
            return lane = lanes_.constant(facts.item_size == 8 ? LaneType::U64 : LaneType::U32, bits);
        }
        KINDLING_ASSERT(facts.kind != TileSlot::Buffer && facts.kind != TileSlot::Unused);
        LaneOp op = facts.item_size == 1   ? LaneOp::Load8
                    : facts.item_size == 2 ? LaneOp::Load16
                    : facts.item_size == 4 ? LaneOp::Load32
                                           : LaneOp::Load64;
        return lane = lanes_.load(op, slot);
    }

    /// The slot as a number of this dtype: bools as masks, narrow integers extended to 4 bytes.
    int value(int16_t slot, DType type) {
        int lane = raw(slot);
        if (type == DType::Bool) {
            if (lanes_.is_mask(lane)) return lane;
            Recorded<uint32_t> byte(lane, nullptr);
            return lanes_.truth(LaneType::U32, (byte & 0xFFu).lane);
        }
        const int bits = 8 * static_cast<int>(item_size(type));
        if (lanes_.is_mask(lane)) { // a bool read as a number
            lane = from_bool(lane, type);
            return lane;
        }
        if (bits >= 32) return lane;
        if (is_unsigned(type)) return (Recorded<uint32_t>(lane, nullptr) & ((1u << bits) - 1)).lane;
        return (Recorded<int32_t>(lane, nullptr) << (32 - bits) >> (32 - bits)).lane;
    }

    template <class T> static int one_or_zero(int mask) {
        using I = typename IntegerOf<sizeof(T)>::type;
        return choose(Recorded<I>(mask, nullptr), Recorded<T>(T(1)), Recorded<T>(T(0))).lane;
    }
    static int from_bool(int mask, DType type) {
        switch (type_of(type)) {
        case LaneType::F32: return one_or_zero<float>(mask);
        case LaneType::F64: return one_or_zero<double>(mask);
        case LaneType::I64:
        case LaneType::U64: return one_or_zero<int64_t>(mask);
        default: return one_or_zero<int32_t>(mask);
        }
    }

    int record(const TileStep& step) {
        switch (step.task.kind) {
        case TileTask::Move: return move(static_cast<TileMove>(step.task.which), step.operands[0]);
        case TileTask::Cast: return cast(step);
        case TileTask::Compute: return compute(step);
        case TileTask::Fold: break;
        }
        return none;
    }

    int move(TileMove which, int16_t slot) {
        switch (which) {
        case TileMove::HalfToFloat: return lanes_.load(LaneOp::LoadHalf, slot);
        case TileMove::BFloat16ToFloat: return (Recorded<uint32_t>(raw(slot), nullptr) << 16u).lane;
        case TileMove::FloatToHalf: return lanes_.to_half(raw(slot));
        case TileMove::RoundHalf: return lanes_.half_round_trip(raw(slot));
        case TileMove::FloatToBFloat16: return bfloat16_bits(Recorded<float>(raw(slot), nullptr)).lane;
        case TileMove::RoundBFloat16: return rounded_to_bfloat16(Recorded<float>(raw(slot), nullptr)).lane;
        default: return none; // eight-bit dtypes stay with tiles
        }
    }

    /// Calls the step's own function over lanes in memory. Not for what may raise: an exception could not pass machine
    /// code.
    int call(const TileStep& step, DType type) {
        const size_t from = item_size(type), to = step.item_size;
        if (program_.one_step) return none; // the function alone is quicker over a tile: here it is called for a register at a time
        if (is_complex(type) || step.scale != 1 || from < 4 || to < 4 || to > 8 || type == DType::Bool) return none;
        int operands[3];
        for (int k = 0; k < step.operand_count; k++) operands[k] = value(step.operands[k], type);
        return lanes_.call(step.function, static_cast<int>(from), static_cast<int>(to), operands, step.operand_count);
    }

    /// What has no instruction here is not called: the function takes longer over a register at a time than the whole loop does by tiles.
    int cast(const TileStep& step) {
        const DType from = step.task.type, to = step.task.to;
        if (is_complex(from) || is_complex(to)) return none;
        const int lane = value(step.operands[0], from);
        if (to == DType::Bool) return lanes_.truth(type_of(from), lane);
        if (from == DType::Bool) return from_bool(lane, to);
        if (to == DType::UInt64 && is_floating(from)) return none;
        const LaneType source = type_of(from);
        if (is_floating(from) && category(to) < 2 && item_size(to) < 4) { // the lowest bits of 64
            if (program_.steps.size() <= 2) return none;                  // tiles look whether 32 will do, which costs less
            const int wide = lanes_.convert(source, LaneType::I64, lane);
            return wide < 0 ? none : lanes_.convert(LaneType::I64, type_of(to), wide);
        }
        const int result = lanes_.convert(source, type_of(to), lane);
        return result < 0 ? none : result;
    }

    int compute(const TileStep& step) {
        const Primitive primitive = static_cast<Primitive>(step.task.which);
        const DType type = step.task.type;
        if (is_complex(type)) return none;
        int operands[3] = {native::Recorder::zero, native::Recorder::zero, native::Recorder::zero};
        for (int k = 0; k < step.operand_count; k++) {
            bool condition = primitive == Primitive::Select && k == 0;
            operands[k] = value(step.operands[k], condition ? DType::Bool : type);
        }
        if (type == DType::Bool) return truth_table(primitive, operands);
        if (primitive == Primitive::Select) return lanes_.choose(type_of(type), operands[0], operands[1], operands[2]);
        int lane = none;
        lanes_.lacking = false;
        switch (type_of(type)) {
        case LaneType::F32:
            lane = arithmetic<float>(primitive, operands);
            if (lane == none) lane = maths_float(primitive, operands, step.function);
            break;
        case LaneType::F64:
            lane = arithmetic<double>(primitive, operands);
            if (lane == none) lane = maths_double(primitive, operands);
            break;
        case LaneType::I32: lane = arithmetic<int32_t>(primitive, operands); break;
        case LaneType::U32: lane = arithmetic<uint32_t>(primitive, operands); break;
        case LaneType::I64: lane = arithmetic<int64_t>(primitive, operands); break;
        case LaneType::U64: lane = arithmetic<uint64_t>(primitive, operands); break;
        }
        if (lane == native::Recorder::never) lane = lanes_.truth(LaneType::I32, lanes_.constant(LaneType::I32, 0));
        if (lane >= 0 && !lanes_.lacking) return lane;
        const bool whole = category(type) < 2;
        const bool raises = whole && (primitive == Primitive::FloorDiv || primitive == Primitive::TruncDiv ||
                                      primitive == Primitive::Fmod || primitive == Primitive::Remainder);
        return raises ? none : call(step, type);
    }
};

} // namespace
} // namespace kindling::isa_recorded

namespace kindling::native {

bool record(const TileProgram& program, Isa isa, const uint8_t* repeated, LaneProgram& result, std::vector<int>* operations) {
    Recorder lanes(isa, repeated);
    isa_recorded::recorder = &lanes;
    bool done = isa_recorded::StepRecorder(program, lanes).run(operations);
    isa_recorded::recorder = nullptr;
    if (done) result = lanes.finish();
    result.slots = static_cast<int>(program.slots.size());
    return done && !(result.stores.empty() && result.folds.empty()) && (result.folds.empty() || (!result.has_call && result.folds_fit()));
}

} // namespace kindling::native
