// kernels/scalar/emitter.h: what emits machine code. One class, in one translation unit: machine.cpp emits scalars and control flow,
// emit_lanes.h four lanes.
#pragma once
#include <string>
#include <utility>

#include "kernels/native/assembler.h"
#include "kernels/scalar/colours.h"
#include "kernels/scalar/passes.h"
#include "kernels/scalar/registers.h"

namespace kindling::scalar {

namespace {

using native::Arithmetic;
using native::Assembler;
using native::Condition;
using native::Form;
using native::General;
using native::Place;
using native::Shift;
using native::Single;

constexpr General r10 = native::R10, r11 = native::R11;
constexpr int frame_start = 24;

bool compares(Op op) { return op >= Op::Eq && op <= Op::Below; }
bool short_constant(const Node& node) {
    return node.op == Op::Constant && static_cast<int64_t>(node.bits) == static_cast<int32_t>(node.bits);
}

/// What the processor's flags say after a comparison. With `equal` or `unequal` of floating numbers NaN counts as well.
struct Flags {
    enum Parity : uint8_t { None, Equal, Unequal };
    Condition condition;
    Parity parity = None;
    Flags inverse() const { return {opposite(condition), parity == None ? None : parity == Equal ? Unequal : Equal}; }
};

/// Until when inputs stay: the right one of a sum in two steps must outlive the first; a divisor lies neither in rax nor in rdx.
Until until(const Function& function, const Node& node, int input) {
    if (input == 1 && (node.op == Op::FloorDiv || node.op == Op::FloorMod)) return Until::Clobber;
    if (input == 1 && node.type == Type::I64 && function.nodes[node.input[1]].op == Op::Load) return Until::Result;
    return Until::Read;
}

class Emitter {
public:
    Emitter(Function& function, const Shape& shape, const std::vector<uint8_t>& folded)
        : function_(function), shape_(shape), folded_(folded), lives_(function, shape, folded, until),
          registers_(function, lives_, folded) {}
    bool write(std::string* listing);
    const std::vector<uint8_t>& code() const { return a_.code; }

private:
    const Function& function_;
    const Shape& shape_;
    const std::vector<uint8_t>& folded_;
    Lifetimes lives_;
    Registers registers_;
    std::vector<uint8_t> innermost_; // [loop]
    Assembler a_{false};
    std::vector<uint64_t> pool_; // constants behind the code
    struct Jump {
        int place;
        uint32_t block;
    };
    struct Leaving {
        int place;
        uint32_t exit;
    };
    struct Asking {
        int place, back;
        uint32_t exit;
        int32_t counter;
    }; // where the counter lies: in the frame's place if below 0
    std::vector<Jump> jumps_;
    std::vector<Leaving> leavings_;
    std::vector<Asking> askings_;
    std::vector<int> endings_;          // jumps to the epilogue
    std::vector<uint8_t> skipped_;      // [block]: only leads elsewhere
    bool polls_ = false, wide_ = false; // wide: whether there are values of four lanes
    int frame_ = 0;

    const Node& node_of(uint32_t id) const { return function_.nodes[id]; }
    bool constant(uint32_t id) const { return node_of(id).op == Op::Constant; }
    int32_t where(uint32_t id) const { return registers_.where[lives_.leader(id)]; }
    bool lies_in_register(uint32_t id) const { return !constant(id) && !folded_[id] && where(id) < first_slot; }
    Place slot(int32_t where) const { return Place::at(native::Rsp, frame_start + 8 * (where - first_slot)); }
    Place pooled(const uint64_t* words, size_t count);
    Place pooled(uint64_t word) { return pooled(&word, 1); }
    Place pooled_twice(uint64_t word) {
        const uint64_t words[2] = {word, word};
        return pooled(words, 2);
    }
    Place address(const Node& node);
    Place place(uint32_t id);
    General general(uint32_t id, General spare);
    int vector(uint32_t id, int spare);
    General to_general(uint32_t id) const { return where(id) < first_slot ? static_cast<General>(where(id)) : r11; }
    int to_vector(uint32_t id) const { return where(id) < first_slot ? where(id) - first_vector : vector_scratch; }
    void done_general(uint32_t id, General reg);
    void done_vector(uint32_t id, int reg);
    void set(General to, uint64_t bits) { a_.move_immediate(to, bits); }
    void move_general(General to, General from) {
        if (to != from) a_.move(to, from);
    }
    void move_vector(int to, int from) {
        if (to != from) a_.emit(Form::MovAps, wide_ ? 32 : 16, to, 0, Place::of(from));
    }
    void move(int32_t to, int32_t from, bool vector);
    void copy_to(General to, uint32_t id);

    bool compare_integers(uint32_t x, uint32_t y);
    Flags comparison(const Node& node);
    Flags condition(uint32_t id);
    void integer(uint32_t id, const Node& node);
    void least(uint32_t id, const Node& node);
    void divide(uint32_t id, const Node& node);
    void select(uint32_t id, const Node& node);
    void select_vector(uint32_t id, const Node& node);
    void floating(uint32_t id, const Node& node);
    void load(uint32_t id, const Node& node);
    void store(const Node& node);
    void call(uint32_t id, const Node& node);
    void emit(uint32_t id);

    Place wide_place(uint32_t id);
    int wide(uint32_t id, int spare);
    void in_register(Form form, int bytes, int to, int left, int right, int immediate = 0);
    void with(Form form, int bytes, int to, int left, uint32_t right, int immediate = 0);
    void with_constant(Form form, int bytes, int to, int left, uint64_t word);
    void narrow_mask(int to, int mask, int spare);
    void all_ones(int reg);
    uint32_t lane_mask(const Node& node) const;
    uint32_t lane_step(const Node& node) const; // 0: neighbours
    Place lane_place(const Node& node, uint32_t step, int lane);
    void gather(const Node& node, uint32_t step, int to);
    void scatter(const Node& node, uint32_t step);
    void lanes_load(uint32_t id, const Node& node);
    void lanes_store(const Node& node);
    void lanes_compare(const Node& node, int to);
    void lanes_select(const Node& node, int to);
    void spread(const Node& node, int to);
    void lanes_multiply(const Node& node, int to);
    void lanes_from_whole(uint32_t x, int to);
    void lanes(uint32_t id, const Node& node);

    std::vector<Move> moves(uint32_t block, bool vector) const;
    bool empty(uint32_t block) const;
    uint32_t target(uint32_t block) const;
    bool inner_start(const std::vector<uint32_t>& order, size_t i) const;
    void jump(uint32_t block) { jumps_.push_back({a_.jump(), target(block)}); }
    void jump_if(Flags flags, uint32_t block);
    void leave_unless(Flags flags, uint32_t exit);
    void leave(uint32_t exit);
    void prologue();
    void endings();
};

} // namespace

} // namespace kindling::scalar
