// kernels/scalar/widen.cpp: four rounds of a loop at once.
//
// A loop over a counter gets a second body beside its own, which does four rounds as vectors of four lanes:
//
//     N: phis of the loop; four rounds left, and memory apart?  yes: the wide body, then N.  no: H
//     H: the loop as it was: one round, then N, or the end
//
// Each lane does what its round would have done, in the order of the source, so bits stay. A value is the same in all lanes (one scalar),
// goes by fixed steps from lane to lane (the scalar of the first lane), or differs (a vector). Addresses are never vectors: what a lane
// reads or writes lies beside its neighbour's. Loops inside run as they are, where all lanes go the same way; conditions become masks.
//
// What cannot be proved is asked before each four rounds: that checks of indices will hold, that what is written lies apart from what else
// is touched. Where the answer is no, one round is done as before. So nothing has to be undone: a check that can only be made inside
// comes before all stores, and goes to H as well.
#include <algorithm>
#include <limits>

#include "kernels/scalar/evaluate.h"
#include "kernels/scalar/passes.h"
#include "kernels/scalar/registers.h"

namespace kindling::scalar {

namespace {

constexpr uint8_t lanes = 4;
constexpr size_t most_nodes = 120, most_blocks = 24, most_pairs = 6;

/// The loop cannot be widened, and why: a sentence about it.
struct Narrow {
    std::string why;
};
[[noreturn, gnu::noinline]] void narrow(const char* why, const char* what = "") { throw Narrow{std::string(why) + what}; }
void narrow_if(bool refused, const char* why) {
    if (refused) narrow(why);
}
constexpr char carries[] = "a value is carried from one round to the next", tangled[] = "its conditions are tangled",
               counted[] = "a count is used before the rounds are over", by_element[] = "an element is chosen by another element",
               scattered[] = "the elements of neighbouring rounds do not lie side by side",
               uncounted[] = "it is no for that runs to its end",
               overlaps[] = "what a round writes may be what the next ones read or write",
               hard_inside[] = "a loop inside runs under a condition", left_inside[] = "a loop inside may end early",
               checked_late[] = "a check that can fail comes after something was written";
/// What a value of the loop is in the wide body.
struct Lane {
    // Sum: a phi of whole numbers that is only added to; `value` is the phi, `wide` what the lanes have added so far.
    enum Kind : uint8_t { None, Even, Stepped, Vector, Sum } kind = None;
    uint32_t value = 0, wide = 0;
    int64_t step = 0;   // from lane to lane
    uint32_t times = 0; // so many times; a value from outside of the loop, 0: once
};

/// A term: a value, by another one if any, and how often it is added. A load or store, its step from lane to lane, times a value if any,
/// whether it stores. A condition: that the value is below the limit, or is not.
struct Noted {
    uint32_t value, limit;
    int64_t number;
    bool flag;
};
/// A sum of values, each so many times.
struct Linear {
    std::vector<Noted> terms;
    int64_t constant = 0;
};

class Widener {
public:
    /// `apart`: elements of neighbouring rounds may lie apart.
    Widener(Function& function, const Shape& shape, uint32_t loop, bool apart)
        : function_(function), shape_(shape), constants_(function), loop_(loop), apart_(apart) {}
    void run();

private:
    Function& function_;
    const Shape& shape_;
    Constants constants_;
    uint32_t loop_;
    bool apart_;
    uint32_t head_ = 0, ahead_ = 0, latch_ = 0, front_ = 0, checks_ = 0, at_ = 0;
    size_t around_ = 0;                     // which of the operands of the loop's phis comes around it
    std::vector<uint32_t> block_of_, mask_; // [old node], [block]: 0: all lanes
    std::vector<Lane> lane_;                // [old node]
    std::vector<double> part_;              // [block]: of the ways through the loop, those that come here
    std::vector<Noted> conditions_;         // before four rounds
    std::vector<Noted> accesses_;
    bool stored_ = false;
    std::vector<uint32_t> summed_; // phis that were read as sums

    Node& node(uint32_t id) { return function_.nodes[id]; }
    bool inside(uint32_t id) const { return block_of_[id] != nowhere && shape_.holds(loop_, block_of_[id]); }
    uint32_t integer(int64_t value) { return constants_.integer(value); }
    uint32_t next_of(uint32_t phi) { return function_.operands[node(phi).list + around_]; }

    uint32_t new_block() {
        function_.blocks.emplace_back();
        return static_cast<uint32_t>(function_.blocks.size() - 1);
    }
    void jump(uint32_t from, uint32_t to) {
        function_.blocks[from].kind = BasicBlock::Jump;
        function_.blocks[from].successor[0] = to;
        function_.blocks[to].predecessors.push_back(from);
    }
    void branch(uint32_t from, uint32_t condition, uint32_t yes, uint32_t no) {
        BasicBlock& block = function_.blocks[from];
        block.kind = BasicBlock::Branch;
        block.condition = condition;
        block.successor[0] = yes, block.successor[1] = no;
        function_.blocks[yes].predecessors.push_back(from);
        function_.blocks[no].predecessors.push_back(from);
    }
    uint32_t append(const Node& made, uint32_t block) {
        function_.nodes.push_back(made);
        const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
        function_.blocks[block].nodes.push_back(id);
        return id;
    }
    uint32_t add_to(uint32_t block, Op op, Type type, uint8_t wide, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
        Node made;
        made.op = op, made.type = type, made.lanes = wide;
        made.input[0] = a, made.input[1] = b, made.input[2] = c;
        return append(made, block);
    }
    uint32_t add(Op op, Type type, uint8_t wide, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
        return add_to(at_, op, type, wide, a, b, c);
    }
    uint32_t list(const std::vector<uint32_t>& values) {
        const uint32_t start = static_cast<uint32_t>(function_.operands.size());
        for (uint32_t value : values) function_.operands.push_back(value);
        return start;
    }

    // ---- values

    static Lane even(uint32_t value) { return {Lane::Even, value, 0, 0, 0}; }
    static Lane vector(uint32_t value) { return {Lane::Vector, value, 0, 0, 0}; }
    static Lane stepped(uint32_t value, int64_t step, uint32_t times = 0) {
        return step ? Lane{Lane::Stepped, value, 0, step, times} : even(value);
    }
    /// Before the loop: so many times a value from there; 0 stands for 1.
    uint32_t product(uint32_t times, int64_t by) { return times ? add_to(front_, Op::Mul, Type::I64, 1, times, integer(by)) : integer(by); }
    Lane of(uint32_t id) {
        if (!inside(id)) return even(id);
        narrow_if(lane_[id].kind == Lane::None, carries);
        if (lane_[id].kind == Lane::Sum && !contains(summed_, lane_[id].value)) summed_.push_back(lane_[id].value);
        return lane_[id];
    }
    uint32_t wide(const Lane& lane) {
        const Type type = node(lane.value).type;
        if (lane.kind == Lane::Vector) return lane.value;
        narrow_if(lane.kind == Lane::Sum || type == Type::Address,
                  lane.kind == Lane::Sum ? counted : "a list is another one in each round");
        const uint32_t first = add(Op::Spread, type, lanes, lane.value);
        if (lane.kind == Lane::Even) return first;
        uint32_t steps = add(Op::Steps, Type::I64, lanes, 0);
        node(steps).bits = static_cast<uint64_t>(lane.step);
        if (lane.times) steps = add(Op::Mul, Type::I64, lanes, add(Op::Spread, Type::I64, lanes, lane.times), steps);
        return add(Op::Add, Type::I64, lanes, first, steps);
    }
    uint32_t added(const Lane& sum) { return sum.wide ? sum.wide : wide(even(integer(0))); }
    Lane choice(uint32_t mask, const Lane& yes, const Lane& no) {
        if (node(mask).op == Op::Not) return choice(node(mask).input[0], no, yes);
        if (yes.kind == no.kind && yes.value == no.value && yes.wide == no.wide && yes.step == no.step && yes.times == no.times) return yes;
        if (yes.kind == Lane::Sum && no.kind == Lane::Sum && yes.value == no.value) {
            const uint32_t a = added(yes), b = added(no);
            const bool counts = !no.wide && node(a).op == Op::Spread && node(a).input[0] == integer(1);
            return {Lane::Sum, yes.value, counts ? add(Op::ToI64, Type::I64, lanes, mask) : add(Op::Select, Type::I64, lanes, mask, a, b),
                    0, 0};
        }
        const uint32_t a = wide(yes), b = wide(no);
        return vector(add(Op::Select, node(a).type, lanes, mask, a, b));
    }
    /// What it is after the last of the four rounds.
    uint32_t at_last(const Lane& lane) {
        switch (lane.kind) {
        case Lane::Even: return lane.value;
        case Lane::Stepped: {
            const Type type = node(lane.value).type;
            return add(Op::Add, type, 1, lane.value, product(lane.times, wrap_mul(3, lane.step)));
        }
        case Lane::Sum: {
            if (!lane.wide) return lane.value;
            const bool counts = node(lane.wide).op == Op::ToI64;
            const uint32_t sum = add(counts ? Op::Count : Op::Sum, Type::I64, 1, counts ? node(lane.wide).input[0] : lane.wide);
            return add(Op::Add, Type::I64, 1, lane.value, sum);
        }
        case Lane::Vector: return add(Op::Last, node(lane.value).type, 1, lane.value);
        default: narrow(carries);
        }
    }
    uint32_t exit_with(uint32_t exit, bool last) {
        Exit made = function_.exits[exit];
        std::vector<uint32_t> values;
        for (uint32_t i = 0; i < made.count; i++) {
            const uint32_t id = function_.operands[made.list + i];
            const Lane lane = of(id);
            // A sum is known at its end, not on its way.
            narrow_if(last && lane.kind == Lane::Sum && id != next_of(lane.value), counted);
            values.push_back(last ? at_last(lane) : at_first(lane));
        }
        made.list = list(values);
        function_.exits.push_back(made);
        return static_cast<uint32_t>(function_.exits.size() - 1);
    }
    uint32_t at_first(const Lane& lane) {
        narrow_if(lane.kind == Lane::Vector || (lane.kind == Lane::Sum && lane.wide), "a loop inside comes after something was written");
        return lane.value;
    }

    // ---- what is known or asked before four rounds

    /// The value in the first lane, computed from what is known there; 0 if it cannot be. What stays in the loop is moved on by `hoist`.
    uint32_t early(uint32_t id) {
        if (!id || !inside(id)) return id;
        Node made = node(id);
        if (made.op == Op::Phi && block_of_[id] == head_) return id;
        if (made.op == Op::Index || made.op == Op::Proved) return early(made.input[0]);
        if (made.op < Op::Add || made.op > Op::Bits) return 0;
        for (uint32_t& input : made.input)
            if (input && !(input = early(input))) return 0;
        return append(made, checks_);
    }
    void linear(uint32_t id, int64_t times, Linear& sum, int depth, uint32_t by = 0);
    void add_term(uint32_t value, uint32_t by, int64_t times, Linear& sum);
    uint32_t value_of(const Linear& sum);
    /// Inside: from here to H where the condition does not hold. Nothing may have been written.
    void need(uint32_t condition) {
        narrow_if(stored_, checked_late);
        const uint32_t next = new_block();
        branch(at_, condition, next, head_);
        at_ = next;
    }
    void index(uint32_t id);
    void need_below(const Lane& place, Linear& sum, uint32_t early_size, uint32_t size);
    bool from_front(const Node& given, Lane& place);
    struct Extent {
        uint32_t low, bytes; // from the address of the first lane; and how far it reaches from there
    };
    Extent extent_of(const Noted& access) {
        const int64_t element = memory_bytes(node(access.value).memory), last = wrap_mul(3, access.number);
        if (!access.limit) return {integer(std::min<int64_t>(0, last)), integer((last < 0 ? -last : last) + element)};
        const uint32_t reach = product(access.limit, last);
        return {add_to(front_, Op::Min, Type::I64, 1, reach, integer(0)),
                add_to(front_, Op::Add, Type::I64, 1, add_to(front_, Op::Abs, Type::I64, 1, reach), integer(element))};
    }
    void place_of(const Noted& access, int64_t times, Linear& sum) {
        const Node& at = node(access.value);
        sum.constant += times * at.displacement;
        linear(at.input[0], times, sum, 8);
        if (at.input[1]) linear(at.input[1], times * at.scale, sum, 8);
    }
    void keep_apart();

    // ---- the body

    uint32_t edge(uint32_t from, uint32_t to);
    void reach(uint32_t block);
    void phis(uint32_t block);
    void memory(uint32_t id, uint32_t block);
    Lane computed(const Node& given);
    void visit(uint32_t id, uint32_t block);
    void nodes(uint32_t block) {
        for (size_t i = 0; i < function_.blocks[block].nodes.size(); i++) visit(function_.blocks[block].nodes[i], block);
    }
    void blocks(uint32_t loop);
    void loop_inside(uint32_t loop);
    bool leads_on(uint32_t loop, uint32_t& latch) const;
};

/// Whether a loop is left by its head alone, and has one block that leads back.
bool Widener::leads_on(uint32_t which, uint32_t& latch) const {
    const Loop& loop = shape_.loops[which];
    const BasicBlock& head = function_.blocks[loop.head];
    if (head.kind != BasicBlock::Branch || head.predecessors.size() != 2) return false;
    if (!shape_.holds(which, head.successor[0]) || shape_.holds(which, head.successor[1])) return false;
    latch = head.predecessors[shape_.holds(which, head.predecessors[0]) ? 0 : 1];
    for (uint32_t b : loop.blocks) {
        const BasicBlock& block = function_.blocks[b];
        if (b == loop.head) continue;
        if (block.kind == BasicBlock::Leave || (block.kind == BasicBlock::Branch && block.successor[0] == block.successor[1])) return false;
        for (int s = 0; s < block.successors(); s++)
            if (!shape_.holds(which, block.successor[s])) return false;
    }
    return function_.blocks[latch].kind == BasicBlock::Jump;
}

/// The mask of a way between blocks.
uint32_t Widener::edge(uint32_t from, uint32_t to) {
    const BasicBlock& block = function_.blocks[from];
    if (block.kind != BasicBlock::Branch || shape_.loops[shape_.loop[from]].head == from) return mask_[from];
    uint32_t taken = wide(of(block.condition));
    if (block.successor[0] != to) taken = add(Op::Not, Type::Bool, lanes, taken);
    return mask_[from] ? add(Op::And, Type::Bool, lanes, mask_[from], taken) : taken;
}

/// How many of the ways lead to a block, and which lanes go there.
void Widener::reach(uint32_t b) {
    const std::vector<uint32_t>& before = function_.blocks[b].predecessors;
    part_[b] = 0;
    for (uint32_t p : before) {
        if (part_[p] < 0) continue; // around the loop
        const bool divides = function_.blocks[p].kind == BasicBlock::Branch && shape_.loops[shape_.loop[p]].head != p;
        part_[b] += divides ? part_[p] / 2 : part_[p];
    }
    const uint32_t from = shape_.dominator[b];
    if (part_[b] == part_[from]) {
        mask_[b] = mask_[from];
        return;
    }
    for (uint32_t p : before) {
        const uint32_t by = edge(p, b);
        narrow_if(!by, tangled);
        mask_[b] = mask_[b] ? add(Op::Or, Type::Bool, lanes, mask_[b], by) : by;
    }
}

void Widener::phis(uint32_t b) {
    const BasicBlock& block = function_.blocks[b];
    for (uint32_t id : block.nodes) {
        const Node choices = node(id);
        if (choices.op != Op::Phi) break;
        Lane chosen = of(function_.operands[choices.list]);
        for (uint32_t i = 1; i < choices.count; i++) {
            const Lane other = of(function_.operands[choices.list + i]);
            const uint32_t by = edge(block.predecessors[i], b);
            narrow_if(!by, tangled);
            chosen = choice(by, other, chosen);
        }
        lane_[id] = chosen;
    }
}

/// What four lanes can compute; a value without lanes if they cannot.
Lane Widener::computed(const Node& given) {
    Lane inputs[3];
    bool all_even = true, sums = false;
    for (int i = 0; i < 3; i++) {
        if (!given.input[i]) continue;
        inputs[i] = of(given.input[i]);
        all_even = all_even && inputs[i].kind == Lane::Even;
        sums = sums || inputs[i].kind == Lane::Sum;
    }
    Node made = given;
    for (int i = 0; i < 3; i++) made.input[i] = inputs[i].value;
    if (sums) {
        if (given.op == Op::Select) return choice(wide(inputs[0]), inputs[1], inputs[2]);
        narrow_if(given.op != Op::Add, counted);
        if (inputs[0].kind != Lane::Sum) std::swap(inputs[0], inputs[1]);
        const uint32_t more = wide(inputs[1]);
        return {Lane::Sum, inputs[0].value, inputs[0].wide ? add(Op::Add, Type::I64, lanes, inputs[0].wide, more) : more, 0, 0};
    }
    if (all_even) return even(append(made, at_));
    if (Lane place; from_front(given, place)) return place;
    // By fixed steps: sums, and products with constants.
    if (inputs[0].kind != Lane::Vector && inputs[1].kind != Lane::Vector && (given.type == Type::I64 || given.type == Type::Address)) {
        const int64_t a = inputs[0].step, b = inputs[1].step;
        const auto constant = [&](int i) { return node(given.input[i]).op == Op::Constant; };
        const auto bits = [&](int i) { return static_cast<int64_t>(node(given.input[i]).bits); };
        const uint32_t times = a ? inputs[0].times : inputs[1].times;
        if (!a || !b || times == inputs[1].times) {
            if (given.op == Op::Add) return stepped(append(made, at_), wrap_add(a, b), times);
            if (given.op == Op::Sub) return stepped(append(made, at_), wrap_sub(a, b), times);
        }
        if (given.op == Op::Mul && constant(1)) return stepped(append(made, at_), wrap_mul(a, bits(1)), times);
        if (given.op == Op::Mul && constant(0)) return stepped(append(made, at_), wrap_mul(b, bits(0)), times);
        if (given.op == Op::Shl && constant(1)) return stepped(append(made, at_), wrap_mul(a, int64_t{1} << (bits(1) & 63)), times);
        if (given.op == Op::Mul && !times && (a ? !b && !inside(given.input[1]) : !inside(given.input[0])))
            return stepped(append(made, at_), a ? a : b, given.input[a ? 1 : 0]);
    }
    const Type type = given.type, from = node(given.input[0]).type;
    const bool floats = from == Type::F64 || from == Type::F32, whole = from == Type::I64;
    bool known = false;
    switch (given.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::Neg: known = floats || whole; break;
    case Op::Abs:
    case Op::Div:
    case Op::Sqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round: known = floats; break;
    case Op::Shl:
    case Op::Shr: known = node(given.input[1]).op == Op::Constant; break;
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Not:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne: known = from != Type::Address; break;
    case Op::Select: known = type != Type::Address; break;
    case Op::ToF64: known = true; break;
    case Op::ToF32: known = from == Type::F64; break;
    case Op::ToI64: known = from == Type::Bool; break;
    default: break;
    }
    narrow_if(!known, given.op == Op::FloorDiv || given.op == Op::FloorMod ? "ints are divided"
                      : given.op == Op::ToI64 || given.op == Op::ToF32     ? "floats become ints, or ints float32"
                                                                           : "a step has no instruction for four numbers");
    made.lanes = lanes;
    if (given.op == Op::Shl || given.op == Op::Shr) made.bits = node(given.input[1]).bits & 63, made.input[1] = 0;
    for (int i = 0; i < 3; i++)
        if (made.input[i]) made.input[i] = wide(inputs[i]);
    return vector(append(made, at_));
}

void Widener::memory(uint32_t id, uint32_t b) {
    Node made = node(id);
    const bool store = made.op == Op::Store;
    const Lane base = of(made.input[0]), index = made.input[1] ? of(made.input[1]) : even(0);
    for (const Lane& part : {base, index}) narrow_if(part.kind != Lane::Even && part.kind != Lane::Stepped, by_element);
    const uint32_t times = base.step ? base.times : index.times;
    narrow_if(base.step && index.step && times != index.times, scattered);
    const int64_t step = base.step + index.step * made.scale;
    const int bytes = memory_bytes(made.memory);
    made.input[0] = base.value, made.input[1] = index.value;
    if (step) {
        const bool side_by_side = step == bytes && !times;
        narrow_if(made.memory == Memory::F16 || made.memory == Memory::BF16 || made.memory == Memory::Address,
                  "a list is another one in each round");
        narrow_if(!side_by_side && (!apart_ || bytes < 4), scattered);
        // Lane by lane that is slower than round by round.
        narrow_if(mask_[b] && (bytes < 4 || !side_by_side), bytes < 4 ? "elements of a byte or two are touched under a condition"
                                                                      : "elements that lie apart are touched under a condition");
        made.lanes = lanes;
        if (mask_[b] || !side_by_side) made.list = list({mask_[b] ? mask_[b] : product(times, step)}), made.count = 1;
    } else if (store || mask_[b]) {
        narrow(store ? "all rounds write to one element" : "an element that all rounds read is read under a condition");
    }
    if (store) made.input[2] = wide(of(made.input[2]));
    accesses_.push_back({id, step ? times : 0, step, store});
    stored_ = stored_ || store;
    const uint32_t value = append(made, at_);
    if (!store) lane_[id] = step ? vector(value) : even(value);
}

void Widener::visit(uint32_t id, uint32_t b) {
    const Node given = node(id);
    switch (given.op) {
    case Op::Load:
    case Op::Store: return memory(id, b);
    case Op::Index: return index(id);
    case Op::Proved: lane_[id] = of(given.input[0]); return;
    case Op::Check: {
        const Lane condition = of(given.input[0]);
        narrow_if(condition.kind != Lane::Even, "a check that can fail is another one in each round");
        return need(condition.value);
    }
    case Op::Poll: {
        narrow_if(mask_[b], hard_inside);
        // In a loop inside: what it leaves is what stood before the four rounds, so nothing may have been written in them.
        const bool last = shape_.loop[b] == loop_;
        narrow_if(!last && stored_, "a loop inside comes after something was written");
        Node made = given;
        made.extra = exit_with(given.extra, last);
        append(made, at_);
        return;
    }
    case Op::Phi: return;
    case Op::Call: narrow("a call of ", function_.callees[given.extra].name);
    default: lane_[id] = computed(given); return;
    }
}

void Widener::blocks(uint32_t which) {
    for (uint32_t b : shape_.loops[which].blocks) {
        const uint32_t loop = shape_.loop[b];
        if (b == shape_.loops[which].head) continue;
        if (loop != which) {
            if (shape_.loops[loop].head == b && shape_.loops[loop].parent == which) loop_inside(loop);
            continue;
        }
        reach(b);
        phis(b);
        nodes(b);
    }
}

void Widener::loop_inside(uint32_t which) {
    const uint32_t head = shape_.loops[which].head;
    uint32_t latch = 0;
    narrow_if(!leads_on(which, latch), left_inside);
    reach(head);
    narrow_if(mask_[head], hard_inside);
    for (uint32_t b : shape_.loops[which].blocks)
        for (uint32_t id : function_.blocks[b].nodes) stored_ = stored_ || node(id).op == Op::Store;
    const size_t entering = function_.blocks[head].predecessors[0] == latch ? 1 : 0;
    std::vector<uint32_t> carried, made;
    for (uint32_t id : function_.blocks[head].nodes) {
        if (node(id).op != Op::Phi) break;
        const Lane begins = of(function_.operands[node(id).list + entering]);
        uint32_t value = begins.value;
        if (begins.kind == Lane::Sum) value = added(begins);
        else if (begins.kind == Lane::Vector || in_vector(node(id).type)) value = wide(begins);
        carried.push_back(id), made.push_back(value);
        lane_[id] = begins;
    }
    const uint32_t made_head = new_block();
    jump(at_, made_head);
    for (size_t i = 0; i < carried.size(); i++) {
        Lane& lane = lane_[carried[i]];
        const uint32_t value = made[i], id = add_to(made_head, Op::Phi, node(value).type, node(value).lanes, 0);
        const uint32_t operands = list({value, 0});
        node(id).list = operands, node(id).count = 2;
        if (lane.kind == Lane::Sum) lane.wide = id;
        else if (node(value).lanes > 1) lane = vector(id);
        else lane.value = id;
        made[i] = id;
    }
    at_ = made_head;
    nodes(head);
    const Lane condition = of(function_.blocks[head].condition);
    narrow_if(condition.kind != Lane::Even, "how often a loop inside runs is another number in each round");
    const uint32_t body = new_block(), after = new_block();
    branch(at_, condition.value, body, after);
    at_ = body;
    blocks(which);
    narrow_if(mask_[latch], tangled);
    for (size_t i = 0; i < carried.size(); i++) {
        const Lane begun = lane_[carried[i]], next = of(function_.operands[node(carried[i]).list + 1 - entering]);
        uint32_t value = next.value;
        if (begun.kind == Lane::Vector) value = wide(next);
        else if (begun.kind == Lane::Sum && next.kind == Lane::Sum && next.value == begun.value) value = added(next);
        else narrow_if(begun.kind != next.kind || begun.step != next.step || begun.times != next.times, carries);
        function_.operands[node(made[i]).list + 1] = value;
    }
    jump(at_, made_head);
    at_ = after;
}

void Widener::add_term(uint32_t value, uint32_t by, int64_t times, Linear& sum) {
    for (Noted& term : sum.terms)
        if (term.value == value && term.limit == by) {
            term.number = wrap_add(term.number, times);
            return;
        }
    sum.terms.push_back({value, by, times, false});
}

/// `by`: a value from outside that the sum is multiplied with, 0: none.
void Widener::linear(uint32_t id, int64_t times, Linear& sum, int depth, uint32_t by) {
    const Node& at = node(id);
    const uint32_t x = at.input[0], y = at.input[1];
    const auto so_often = [&](uint32_t id) { return wrap_mul(times, static_cast<int64_t>(node(id).bits)); };
    const auto constant = [&](uint32_t id) { return node(id).op == Op::Constant; };
    if (at.op == Op::Constant) {
        if (by) return add_term(by, 0, so_often(id), sum);
        sum.constant = wrap_add(sum.constant, so_often(id));
        return;
    }
    if (depth-- > 0) {
        if (at.op == Op::Add || at.op == Op::Sub) {
            linear(x, times, sum, depth, by);
            return linear(y, at.op == Op::Add ? times : wrap_sub(0, times), sum, depth, by);
        }
        if (at.op == Op::Index || at.op == Op::Proved) return linear(x, times, sum, depth, by);
        if (at.op == Op::Select && lane_[id].kind == Lane::Stepped) return linear(at.input[2], times, sum, depth, by); // from_front
        if (at.op == Op::Mul && constant(y)) return linear(x, so_often(y), sum, depth, by);
        if (at.op == Op::Mul && constant(x)) return linear(y, so_often(x), sum, depth, by);
        if (at.op == Op::Mul && !by && !inside(y)) return linear(x, times, sum, depth, y);
        if (at.op == Op::Mul && !by && !inside(x)) return linear(y, times, sum, depth, x);
        if (at.op == Op::Shl && constant(y)) return linear(x, wrap_mul(times, int64_t{1} << (node(y).bits & 63)), sum, depth, by);
    }
    add_term(id, by, times, sum);
}

/// Before four rounds; 0 where it is not known then.
uint32_t Widener::value_of(const Linear& sum) {
    uint32_t total = integer(sum.constant);
    for (const Noted& term : sum.terms) {
        uint32_t value = early(term.value);
        if (!value) return 0;
        if (node(value).type == Type::Address) value = add_to(checks_, Op::ToI64, Type::I64, 1, value);
        if (term.limit) value = add_to(checks_, Op::Mul, Type::I64, 1, value, term.limit);
        value = add_to(checks_, Op::Mul, Type::I64, 1, value, integer(term.number));
        total = add_to(checks_, Op::Add, Type::I64, 1, total, value);
    }
    return total;
}

void Widener::index(uint32_t id) {
    const uint32_t checked = node(id).input[0];
    const Lane place = of(checked), size = of(node(id).input[1]);
    narrow_if((place.kind != Lane::Even && place.kind != Lane::Stepped) || place.times || size.kind != Lane::Even, by_element);
    lane_[id] = place;
    Linear sum;
    linear(checked, 1, sum, 8);
    need_below(place, sum, early(node(id).input[1]), size.value);
}

/// That the first and the last lane are below a size: before four rounds, where it is known there (`early_size`), or in them.
void Widener::need_below(const Lane& place, Linear& sum, uint32_t early_size, uint32_t size) {
    for (int lane = 0; lane < 2; lane++) {
        sum.constant = wrap_add(sum.constant, wrap_mul(lane * 3, place.step));
        const uint32_t at = early_size ? value_of(sum) : 0;
        if (at) conditions_.push_back({at, early_size, 0, true});
        else need(add(Op::Below, Type::Bool, 1, add(Op::Add, Type::I64, 1, place.value, integer(wrap_mul(lane * 3, place.step))), size));
        if (!place.step) break;
    }
}

/// i < 0 ? i + n : i, of an i that goes by a fixed step: no lane counts from the end, or one round is done.
bool Widener::from_front(const Node& given, Lane& place) {
    if (given.op != Op::Select || given.type != Type::I64) return false;
    const Node& test = node(given.input[0]);
    const uint32_t index = given.input[2];
    if (test.op != Op::Lt || test.input[0] != index || node(test.input[1]).op != Op::Constant || node(test.input[1]).bits) return false;
    place = of(index);
    if (place.kind != Lane::Stepped || place.times) return false;
    Linear sum;
    linear(index, 1, sum, 8);
    const uint32_t most = integer(std::numeric_limits<int64_t>::max());
    need_below(place, sum, most, most);
    return true;
}

/// For each store and whatever else touches memory: both are known to lie apart, or it is asked.
void Widener::keep_apart() {
    size_t pairs = 0;
    for (size_t i = 0; i < accesses_.size(); i++) {
        const Noted& store = accesses_[i];
        if (!store.flag) continue;
        const Region region = node(store.value).region;
        for (size_t k = 0; k < accesses_.size(); k++) {
            const Noted& other = accesses_[k];
            const Region touched = node(other.value).region;
            if ((other.flag && k < i) || touched == constant_region) continue;
            if (region != touched && region != any_region && touched != any_region) continue;
            Linear distance;
            place_of(store, -1, distance), place_of(other, 1, distance);
            const int64_t m = memory_bytes(node(store.value).memory), n = memory_bytes(node(other.value).memory);
            const bool alike = store.number == other.number && store.limit == other.limit;
            // The distance is a constant; or so many steps of the rounds, where that is a number that is not known, and a constant.
            bool known = true, in_steps = alike && store.limit != 0;
            int64_t steps = 0;
            for (const Noted& term : distance.terms) {
                // What changes in a loop inside is not the same for two rounds of it.
                narrow_if(inside(term.value) && shape_.loop[block_of_[term.value]] != loop_, overlaps);
                if (term.number == 0) continue;
                known = false;
                in_steps = in_steps && term.value == store.limit && !term.limit && term.number % store.number == 0;
                if (in_steps) steps += term.number / store.number;
            }
            const int64_t rest = distance.constant;
            const bool same = rest == 0 && node(store.value).memory == node(other.value).memory;
            if (known && alike && !store.limit) {
                for (int64_t lane = 1 - lanes; lane < lanes; lane++) {
                    const int64_t at = rest + lane * store.number;
                    narrow_if(!(same && lane == 0) && at < m && at > -n, overlaps);
                }
                continue;
            }
            if (in_steps) { // each step has to be longer than the rest
                const int64_t longest = std::max(m, n), least = (rest < 0 ? -rest : rest) + longest;
                narrow_if(steps > -lanes && steps < lanes && least < 2 * longest && !(same && steps == 0), overlaps);
                conditions_.push_back(
                    {add_to(front_, Op::Abs, Type::I64, 1, product(store.limit, store.number)), integer(least), 0, false});
                continue;
            }
            // [x, x + m) and [y, y + n) meet where y - x + n - 1, without sign, is below m + n - 1.
            narrow_if(known || ++pairs > most_pairs, overlaps);
            const Extent mine = extent_of(store), its = extent_of(other);
            const auto sum = [&](Op op, uint32_t a, uint32_t b) { return add_to(front_, op, Type::I64, 1, a, b); };
            const uint32_t between = value_of(distance), reach = sum(Op::Sub, its.bytes, integer(1));
            narrow_if(!between, overlaps);
            conditions_.push_back({add_to(checks_, Op::Add, Type::I64, 1, between, sum(Op::Add, sum(Op::Sub, its.low, mine.low), reach)),
                                   sum(Op::Add, mine.bytes, reach), 0, false});
        }
    }
}

void Widener::run() {
    const Loop& loop = shape_.loops[loop_];
    head_ = loop.head;
    narrow_if(!leads_on(loop_, latch_), uncounted);
    narrow_if(loop.blocks.size() > most_blocks, "it is long");
    size_t count = 0;
    for (uint32_t b : loop.blocks) count += function_.blocks[b].nodes.size();
    narrow_if(count > most_nodes, "it is long");
    front_ = preheader(function_, shape_, loop_);
    block_of_.assign(function_.nodes.size(), nowhere);
    for (uint32_t b : shape_.order)
        for (uint32_t id : function_.blocks[b].nodes) block_of_[id] = b;
    lane_.resize(function_.nodes.size());
    mask_.resize(function_.blocks.size());
    part_.assign(function_.blocks.size(), -1);
    // i < n, n stays, i goes by 1.
    const uint32_t test = function_.blocks[head_].condition, counter = node(test).input[0], limit = node(test).input[1];
    narrow_if(node(test).op != Op::Lt || node(counter).op != Op::Phi || block_of_[counter] != head_ || inside(limit), uncounted);
    around_ = function_.blocks[head_].predecessors[0] == latch_ ? 0 : 1;
    std::vector<uint32_t> carried;
    for (uint32_t id : function_.blocks[head_].nodes) {
        if (node(id).op != Op::Phi) break;
        carried.push_back(id);
        const Node& next = node(next_of(id));
        const uint32_t other = next.input[0] == id ? next.input[1] : next.input[0];
        if (next.op == Op::Add && next.type == Type::I64 && (next.input[0] == id || next.input[1] == id) && node(other).op == Op::Constant)
            lane_[id] = stepped(id, static_cast<int64_t>(node(other).bits));
        else if (node(id).type == Type::I64) lane_[id] = {Lane::Sum, id, 0, 0};
        // Others may only be given on.
    }
    narrow_if(lane_[counter].kind != Lane::Stepped || lane_[counter].step != 1, uncounted);
    // N takes the phis, and leads to H where four rounds cannot be done.
    ahead_ = new_block();
    {
        BasicBlock& old = function_.blocks[head_];
        BasicBlock& made = function_.blocks[ahead_];
        made.predecessors = old.predecessors;
        made.nodes = carried;
        old.predecessors.clear();
        old.nodes.erase(old.nodes.begin(), old.nodes.begin() + static_cast<long>(carried.size()));
        for (uint32_t before : made.predecessors) function_.blocks[before].successor[0] = ahead_;
    }
    checks_ = new_block();
    const uint32_t body = new_block();
    at_ = front_;
    const uint32_t least = add(Op::Max, Type::I64, 1, limit, integer(INT64_MIN + 3));
    const uint32_t enough = add(Op::Sub, Type::I64, 1, least, integer(3));
    part_[head_] = 1;
    at_ = body;
    nodes(head_);
    blocks(loop_);
    narrow_if(mask_[latch_], tangled);
    bool worth = false;
    for (const Noted& access : accesses_) worth = worth || access.number;
    narrow_if(!worth, "no elements of neighbouring rounds lie side by side");
    keep_apart();
    for (uint32_t id : carried) {
        const bool read = contains(summed_, id);
        const Lane lane = of(next_of(id));
        narrow_if(lane.kind == Lane::Sum ? lane.value != id : read && lane_[id].kind == Lane::Sum, carries);
        const uint32_t next = at_last(lane), from = node(id).list;
        const uint32_t operands = list({function_.operands[from], function_.operands[from + 1], next});
        node(id).list = operands, node(id).count = 3;
    }
    jump(at_, ahead_);
    at_ = ahead_;
    branch(ahead_, add(Op::Lt, Type::Bool, 1, counter, enough), checks_, head_);
    uint32_t from = checks_;
    for (const Noted& condition : conditions_) {
        const uint32_t then = new_block();
        at_ = from;
        const uint32_t truth = add(Op::Below, Type::Bool, 1, condition.value, condition.limit);
        branch(from, truth, condition.flag ? then : head_, condition.flag ? head_ : then);
        from = then;
    }
    jump(from, body);
}

} // namespace

std::unique_ptr<Function> widen(const Function& function, std::string* why) {
    std::unique_ptr<Function> result;
    std::vector<uint32_t> done; // heads
    for (bool apart = false;;) {
        const Function& now = result ? *result : function;
        const Shape shape(now);
        const auto is_wide = [&](const Loop& loop) {
            for (uint32_t b : loop.blocks)
                for (uint32_t id : now.blocks[b].nodes)
                    if (now.nodes[id].lanes > 1) return true;
            return false;
        };
        // An inner loop first; where it cannot be, the one around it. Then once more for elements that lie apart: they are gathered one by
        // one, so it is better if some loop needs no such.
        uint32_t loop = nowhere;
        for (uint32_t l = static_cast<uint32_t>(shape.loops.size()); l-- > 0 && loop == nowhere;)
            if (!contains(done, shape.loops[l].head) && !is_wide(shape.loops[l])) loop = l;
        if (loop == nowhere && apart) return result;
        if (loop == nowhere) {
            apart = true;
            done.clear();
            if (why) why->clear();
            continue;
        }
        done.push_back(shape.loops[loop].head);
        auto made = std::make_unique<Function>(now);
        try {
            Widener(*made, shape, loop, apart).run();
            result = std::move(made);
        } catch (const Narrow& narrow) {
            // The innermost comes first.
            if (why && why->find(narrow.why) == std::string::npos) *why += (why->empty() ? "" : "; ") + narrow.why;
        }
    }
}

} // namespace kindling::scalar
