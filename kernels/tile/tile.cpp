// kernels/tile/tile.cpp: from an expression to tile steps: primitives without code for a dtype run in a wider one.
// Compiled for size.
#include "kernels/tile/tile.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/native/native.h"
#include "kernels/reductions/fold.h"

namespace kindling {

TileCode find_tile(Primitive primitive, DType type) {
    TileCode code = KINDLING_BY_ISA(find_arithmetic, primitive, type);
    if (code.function) return code;
    if (TileFunction function = KINDLING_BY_ISA(find_maths, primitive, type)) return {function, 1};
    return {find_special(primitive, type), 1};
}

TileCode find_cast(DType from, DType to) {
    if (is_complex(from) && is_complex(to)) return {KINDLING_BY_ISA(find_cast, to_real(from), to_real(to)), 2};
    return {KINDLING_BY_ISA(find_cast, from, to), 1};
}

TileFunction find_move(TileMove move) {
    if (move >= TileMove::Float8ToFloat) return find_float8_move(move);
    return KINDLING_BY_ISA(find_move, move);
}

void delete_program(const TileProgram* program) {
    if (!program) return;
    delete_native(program->native);
    delete program;
}

namespace {

class Lowering {
public:
    Lowering(const Expression& expression, TileProgram& program) : expression_(expression), program_(program) {}

    void run() {
        for (const Node& node : expression_.nodes) {
            int16_t exact = value(node), rounded = exact;
            if (is_half(node.type) && needs_rounding(node))
                rounded = move(node.type == DType::Float16 ? TileMove::RoundHalf : TileMove::RoundBFloat16, 4, exact);
            else if (is_float8(node.type) && needs_rounding(node))
                rounded = move(move_to_float(node.type), 4, move(move_from_float(node.type), 1, exact));
            exact_.push_back(exact);
            slots_.push_back(rounded);
        }
        for (int32_t output : expression_.outputs) {
            const Node& node = expression_.nodes[static_cast<size_t>(output)];
            int16_t slot = exact_[static_cast<size_t>(output)];
            if (node.primitive == Primitive::Input && is_narrow(node.type)) slot = raw_[static_cast<size_t>(node.index())];
            else if (is_narrow(node.type)) slot = move(move_from_float(node.type), item_size(node.type), slot);
            program_.outputs.push_back(slot);
        }
        drop_dead();
        sort_by_level();
        assign_buffers();
    }

private:
    const Expression& expression_;
    TileProgram& program_;
    std::vector<int16_t> slots_, exact_; // one per node: as later nodes see it, and before rounding to half
    std::vector<int16_t> raw_;           // one per input: its memory

    int16_t add_slot(TileSlot::Kind kind, size_t item, int which) {
        KINDLING_CHECK(Runtime, program_.slots.size() < 32000, "an expression of %zu values is too large", expression_.nodes.size());
        program_.slots.push_back({kind, static_cast<uint8_t>(item), static_cast<int16_t>(which)});
        return static_cast<int16_t>(program_.slots.size() - 1);
    }

    int16_t emit(TileCode code, TileTask task, size_t item, std::initializer_list<int16_t> operands) {
        KINDLING_ASSERT(code.function);
        int16_t out = add_slot(TileSlot::Buffer, item, -1);
        TileStep step{code.function, out, {-1, -1, -1}, 0, code.scale, static_cast<uint8_t>(item), 0, nullptr, task};
        for (int16_t operand : operands) step.operands[step.operand_count++] = operand;
        program_.steps.push_back(step);
        return out;
    }

    int16_t move(TileMove which, size_t item, int16_t slot) {
        return emit({find_move(which)}, {TileTask::Move, static_cast<uint8_t>(which), DType::None, DType::None}, item, {slot});
    }

    int16_t constant(DType type, const Immediate& value) {
        program_.constants.push_back(value);
        return add_slot(TileSlot::Splat, item_size(type), static_cast<int>(program_.constants.size()) - 1);
    }

    static bool needs_rounding(const Node& node) {
        switch (node.primitive) {
        case Primitive::Input:
        case Primitive::Scalar:
        case Primitive::Constant:
        case Primitive::Neg:
        case Primitive::Abs:
        case Primitive::Min:
        case Primitive::Max:
        case Primitive::Fmin:
        case Primitive::Fmax:
        case Primitive::Select:
        case Primitive::Copysign:
        case Primitive::Sign:
        case Primitive::Conj:
        case Primitive::Floor:
        case Primitive::Ceil:
        case Primitive::Round:
        case Primitive::Trunc: return false;
        default: return true;
        }
    }

    int16_t value(const Node& node) {
        DType type = value_type(node.type);
        switch (node.primitive) {
        case Primitive::Input: {
            size_t which = static_cast<size_t>(node.index());
            if (raw_.size() <= which) raw_.resize(which + 1, -1);
            KINDLING_ASSERT(raw_[which] < 0); // one node per input, by the builder's hash-consing
            raw_[which] = add_slot(TileSlot::Input, item_size(node.type), node.index());
            if (!is_narrow(node.type)) return raw_[which];
            return move(move_to_float(node.type), 4, raw_[which]);
        }
        case Primitive::Scalar: return add_slot(TileSlot::Splat, item_size(type), ~node.index());
        case Primitive::Constant: return constant(type, node.value);
        case Primitive::Index: return add_slot(TileSlot::Index, 8, node.index());
        case Primitive::Cast: {
            const Node& from = expression_.nodes[static_cast<size_t>(node.operands[0])];
            return cast(slots_[static_cast<size_t>(node.operands[0])], value_type(from.type), type);
        }
        case Primitive::RowSum:
        case Primitive::RowMax: {
            bool sum = node.primitive == Primitive::RowSum;
            const uint8_t combine = static_cast<uint8_t>(sum ? Combine::Sum : Combine::Max);
            int16_t folded = emit(find_tile(sum ? Primitive::Add : Primitive::Max, type), {TileTask::Fold, combine, type, type},
                                  item_size(type), {slots_[static_cast<size_t>(node.operands[0])]});
            program_.steps.back().fold = find_row_fold(sum ? Combine::Sum : Combine::Max, type);
            KINDLING_ASSERT(program_.steps.back().fold);
            const Node& of = expression_.nodes[static_cast<size_t>(node.operands[0])];
            // A sum is -0 only where all its numbers are, and exponentials and squares never are.
            const bool never_minus_zero = is_floating(type) && (of.primitive == Primitive::Exp ||
                                                                (of.primitive == Primitive::Mul && of.operands[0] == of.operands[1]));
            if (!sum || category(type) < 2 || never_minus_zero) return folded;
            int16_t from_zero[3] = {folded, constant(type, Immediate::of(type, 0)), -1}; // like any other sum
            return lower(Primitive::Add, type, from_zero);
        }
        default: break;
        }
        int16_t operands[3] = {-1, -1, -1};
        for (int k = 0; k < operand_count(node.primitive); k++) operands[k] = slots_[static_cast<size_t>(node.operands[k])];
        int first = node.primitive == Primitive::Select ? 1 : 0;
        return lower(node.primitive, value_type(expression_.nodes[static_cast<size_t>(node.operands[first])].type), operands);
    }

    int16_t cast(int16_t slot, DType from, DType to) {
        if (from == to) return slot;
        bool whole = category(from) < 2 && category(to) < 2;
        if (whole && to != DType::Bool && item_size(from) == item_size(to)) return slot;
        if (TileCode code = find_cast(from, to); code.function) return emit(code, {TileTask::Cast, 0, from, to}, item_size(to), {slot});
        if (is_complex(from) && !is_complex(to)) {
            int16_t operands[3] = {slot, -1, -1};
            return cast(lower(Primitive::Real, from, operands), to_real(from), to);
        }
        if (is_complex(to)) return cast(cast(slot, from, to_real(to)), to_real(to), to);
        KINDLING_ASSERT(is_floating(from) && category(to) < 2);
        return cast(cast(slot, from, DType::Int64), DType::Int64, to);
    }

    static DType result_type(Primitive primitive, DType type) {
        return primitive == Primitive::MakeComplex ? to_complex(type) : primitive_result_type(primitive, type);
    }

    int16_t lower(Primitive primitive, DType type, const int16_t* operands) {
        int16_t turned[3] = {operands[1], operands[0], -1};
        bool whole = category(type) < 2, positive = is_unsigned(type) || type == DType::Bool;
        switch (primitive) {
        case Primitive::Gt: return lower(Primitive::Lt, type, turned);
        case Primitive::Ge: return lower(Primitive::Le, type, turned);
        case Primitive::Abs:
            if (positive) return operands[0];
            break;
        case Primitive::Floor:
        case Primitive::Ceil:
        case Primitive::Round:
        case Primitive::Trunc:
            if (whole) return operands[0];
            break;
        case Primitive::Conj:
            if (!is_complex(type)) return operands[0];
            break;
        case Primitive::Sign:
            if (positive) {
                int16_t with_one[3] = {operands[0], constant(type, Immediate::of(type, 1)), -1};
                return lower(Primitive::Min, type, with_one);
            }
            break;
        case Primitive::SignBit:
            if (positive) {
                int16_t with_zero[3] = {operands[0], constant(type, Immediate::of(type, 0)), -1};
                return lower(Primitive::Lt, type, with_zero);
            }
            break;
        case Primitive::TruncDiv:
            if (!whole) {
                int16_t ratio[3] = {lower(Primitive::Div, type, operands), -1, -1};
                return lower(Primitive::Trunc, type, ratio);
            }
            break;
        default: break;
        }
        int count = operand_count(primitive);
        DType result = result_type(primitive, type);
        DType listed = primitive == Primitive::MakeComplex ? result : type;
        TileTask task{TileTask::Compute, static_cast<uint8_t>(primitive), listed, result};
        if (TileCode code = find_tile(primitive, listed); code.function) {
            if (count == 1) return emit(code, task, item_size(result), {operands[0]});
            if (count == 2) return emit(code, task, item_size(result), {operands[0], operands[1]});
            return emit(code, task, item_size(result), {operands[0], operands[1], operands[2]});
        }
        DType wider = type == DType::Float32                                   ? DType::Float64
                      : type == DType::Complex64                               ? DType::Complex128
                      : whole && type != DType::UInt64 && type != DType::Int64 ? DType::Int64
                                                                               : DType::None;
        if (wider == DType::None) fail(ErrorKind::Internal, "internal error: %s has no code for %s", name(primitive), kindling::name(type));
        int16_t widened[3] = {-1, -1, -1};
        for (int k = 0; k < count; k++) widened[k] = cast(operands[k], type, wider);
        return cast(lower(primitive, wider, widened), result_type(primitive, wider), result);
    }

    void drop_dead() {
        std::vector<bool> needed(program_.slots.size(), false);
        for (int16_t output : program_.outputs) needed[static_cast<size_t>(output)] = true;
        std::vector<TileStep> kept;
        for (size_t i = program_.steps.size(); i-- > 0;) {
            const TileStep& step = program_.steps[i];
            if (!needed[static_cast<size_t>(step.out)]) continue;
            for (int k = 0; k < step.operand_count; k++) needed[static_cast<size_t>(step.operands[k])] = true;
            kept.push_back(step);
        }
        program_.steps.assign(kept.rbegin(), kept.rend());
        // Inputs that are never read get no tile.
        for (size_t i = 0; i < program_.slots.size(); i++)
            if (!needed[i] && program_.slots[i].kind != TileSlot::Buffer) program_.slots[i] = {TileSlot::Unused, 0, 0};
    }

    /// Moves what only higher levels read to those levels. Kept between levels it would be written and read again.
    void compute_late() {
        constexpr uint8_t nobody = 255;
        std::vector<uint8_t> read_at(program_.slots.size(), nobody);
        for (int16_t output : program_.outputs) read_at[static_cast<size_t>(output)] = 0;
        for (size_t i = program_.steps.size(); i-- > 0;) {
            TileStep& step = program_.steps[i];
            const uint8_t wanted = read_at[static_cast<size_t>(step.out)];
            int kept = 0; // instead of this
            for (int k = 0; k < step.operand_count; k++) {
                const TileSlot& operand = program_.slots[static_cast<size_t>(step.operands[k])];
                kept += operand.kind == TileSlot::Buffer && operand.level < wanted;
            }
            if (!step.fold && wanted != nobody && wanted > step.level && kept <= 1)
                program_.slots[static_cast<size_t>(step.out)].level = step.level = wanted;
            for (int k = 0; k < step.operand_count; k++) {
                uint8_t& at = read_at[static_cast<size_t>(step.operands[k])];
                at = std::min(at, step.level);
            }
        }
    }

    void sort_by_level() {
        std::vector<TileSlot>& slots = program_.slots;
        for (TileStep& step : program_.steps) {
            for (int k = 0; k < step.operand_count; k++)
                step.level = std::max(step.level, slots[static_cast<size_t>(step.operands[k])].level);
            slots[static_cast<size_t>(step.out)].level = static_cast<uint8_t>(step.level + (step.fold ? 1 : 0));
            program_.level_count = std::max(program_.level_count, slots[static_cast<size_t>(step.out)].level + 1);
            KINDLING_CHECK(Runtime, program_.level_count < 200, "an expression of %d row folds one after the other", program_.level_count);
        }
        if (program_.level_count == 1) return;
        compute_late();
        std::stable_sort(program_.steps.begin(), program_.steps.end(), [](const TileStep& a, const TileStep& b) {
            return a.level != b.level ? a.level<b.level : (a.fold == nullptr)>(b.fold == nullptr);
        });
        for (const TileStep& step : program_.steps)
            for (int k = 0; k < step.operand_count; k++) {
                TileSlot& slot = slots[static_cast<size_t>(step.operands[k])];
                if (slot.level < step.level) slot.crosses = true;
            }
    }

    void assign_buffers() {
        std::vector<int> last(program_.slots.size(), -1);
        for (size_t i = 0; i < program_.steps.size(); i++)
            for (int k = 0; k < program_.steps[i].operand_count; k++)
                last[static_cast<size_t>(program_.steps[i].operands[k])] = static_cast<int>(i);
        for (int16_t output : program_.outputs) last[static_cast<size_t>(output)] = static_cast<int>(program_.steps.size());
        // A gathered input or coordinate is in a buffer as well, filled before the first step.
        std::vector<int16_t> free;
        auto take = [&]() {
            if (free.empty()) return static_cast<int16_t>(program_.buffer_count++);
            int16_t buffer = free.back();
            free.pop_back();
            return buffer;
        };
        program_.gather_buffers.assign(program_.slots.size(), -1);
        for (size_t i = 0; i < program_.slots.size(); i++) {
            TileSlot::Kind kind = program_.slots[i].kind;
            if (kind == TileSlot::Input || kind == TileSlot::Index) program_.gather_buffers[i] = take(), program_.stream_slots++;
        }
        for (size_t i = 0; i < program_.steps.size(); i++) {
            TileStep& step = program_.steps[i];
            TileSlot& out = program_.slots[static_cast<size_t>(step.out)];
            int16_t different[3];
            int different_count = 0;
            for (int k = 0; k < step.operand_count; k++) {
                bool again = false;
                for (int j = 0; j < k; j++) again |= step.operands[j] == step.operands[k];
                size_t slot = static_cast<size_t>(step.operands[k]);
                const TileSlot& operand = program_.slots[slot];
                // What was gathered stays valid: the next tile may reuse it.
                if (again || last[slot] != static_cast<int>(i) || operand.kind != TileSlot::Buffer) continue;
                if (operand.item_size == out.item_size) free.push_back(operand.which);
                else different[different_count++] = operand.which; // otherwise writes would overtake reads
            }
            out.which = take();
            for (int k = 0; k < different_count; k++) free.push_back(different[k]);
        }
        int item = 1;
        for (const TileSlot& slot : program_.slots)
            if (slot.item_size > item) item = slot.item_size;
        program_.buffer_item = item;
        program_.one_step = program_.steps.size() == 1 && program_.level_count == 1 && program_.outputs.size() == 1 &&
                            program_.outputs[0] == program_.steps[0].out;
        for (const TileSlot& slot : program_.slots)
            if (slot.kind == TileSlot::Index) program_.one_step = false;
    }
};

} // namespace

const TileProgram* make_program(const Expression& expression) {
    TileProgram* program = new TileProgram;
    try {
        Lowering(expression, *program).run();
    } catch (...) {
        delete program;
        throw;
    }
    return program;
}

} // namespace kindling
