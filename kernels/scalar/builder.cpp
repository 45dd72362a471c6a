// kernels/scalar/builder.cpp: blocks, variables and checks of types.
#include "kernels/scalar/builder.h"

#include <bit>

#include "core/dtype.h"
#include "core/error.h"
#include "kernels/scalar/analysis.h"
#include "kernels/scalar/evaluate.h"

namespace kindling::scalar {

namespace {

// Half types, for machine code and interpreter alike.
float half_to_float(int64_t bits) noexcept { return to_float(Half{static_cast<uint16_t>(bits)}); }
int64_t float_to_half(float value) noexcept { return to_half(value).bits; }
int64_t float_to_bfloat16(float value) noexcept { return to_bfloat16(value).bits; }

bool floating(Type type) { return type == Type::F64 || type == Type::F32; }

} // namespace

Builder::Builder(Function& function) : function_(function), constants_(function) {
    KINDLING_ASSERT(function.nodes.size() == 1 && function.blocks.empty());
    current_ = block();
    sealed_[0] = true;
}

// ---- blocks

Block Builder::block() {
    function_.blocks.emplace_back();
    held_.emplace_back();
    waiting_.emplace_back();
    sealed_.push_back(0);
    return {static_cast<uint32_t>(function_.blocks.size() - 1)};
}

void Builder::enter(Block block) {
    KINDLING_ASSERT(function_.blocks[block.id].kind == BasicBlock::Open);
    current_ = block;
}

bool Builder::ended() const { return function_.blocks[current_.id].kind != BasicBlock::Open; }

void Builder::seal(Block block) {
    KINDLING_ASSERT(!sealed_[block.id]);
    sealed_[block.id] = true;
    const std::vector<Waiting> waiting = std::move(waiting_[block.id]);
    for (const Waiting& phi : waiting) joins_.push_back({block.id, phi});
    fill_joins();
}

BasicBlock& Builder::open() {
    if (ended()) {
        current_ = block();
        sealed_[current_.id] = true;
    }
    return function_.blocks[current_.id];
}

void Builder::edge(Block to) {
    KINDLING_ASSERT(to.id != 0 && to.id < function_.blocks.size() && !sealed_[to.id]);
    function_.blocks[to.id].predecessors.push_back(current_.id);
}

void Builder::jump(Block to) {
    BasicBlock& block = open();
    block.kind = BasicBlock::Jump;
    block.successor[0] = to.id;
    edge(to);
}

void Builder::branch(Value condition, Block yes, Block no) {
    KINDLING_ASSERT(type(condition) == Type::Bool);
    BasicBlock& block = open();
    block.kind = BasicBlock::Branch;
    block.condition = condition.id;
    block.successor[0] = yes.id;
    block.successor[1] = no.id;
    edge(yes), edge(no);
}

void Builder::leave(int32_t code, const Value* values, size_t count) {
    const uint32_t way_out = exit(code, values, count);
    BasicBlock& block = open();
    block.kind = BasicBlock::Leave;
    block.exit = way_out;
}

// ---- variables

Variable Builder::variable(Type type) {
    variables_.push_back(type);
    return {static_cast<uint32_t>(variables_.size() - 1)};
}

void Builder::set(Variable variable, Value value) {
    KINDLING_ASSERT(type(value) == variables_[variable.id]);
    open();
    write(current_.id, variable.id, value.id);
}

Value Builder::get(Variable variable) {
    open();
    return {read(current_.id, variable.id)};
}

void Builder::write(uint32_t block, uint32_t variable, uint32_t value) {
    std::vector<uint32_t>& held = held_[block];
    if (held.size() <= variable) held.resize(variables_.size());
    held[variable] = value;
}

uint32_t Builder::read(uint32_t block, uint32_t variable) {
    const uint32_t value = look_up(block, variable);
    fill_joins();
    return value;
}

void Builder::fill_joins() {
    while (!joins_.empty()) {
        const Join join = joins_.back();
        joins_.pop_back();
        fill(join.block, join.phi);
    }
}

uint32_t Builder::look_up(uint32_t block, uint32_t variable) {
    // Up the chain of single predecessors without recursion; then every block of the chain knows it.
    uint32_t at = block, value = 0;
    for (;;) {
        if (held_[at].size() > variable && held_[at][variable]) {
            value = held_[at][variable];
            break;
        }
        const std::vector<uint32_t>& before = function_.blocks[at].predecessors;
        if (!sealed_[at]) {
            value = new_phi(at, variables_[variable]);
            waiting_[at].push_back({value, variable});
        } else if (before.empty()) {
            value = constant(variables_[variable], 0).id;
        } else if (before.size() > 1) {
            value = new_phi(at, variables_[variable]);
            joins_.push_back({at, {value, variable}});
        } else {
            at = before[0];
            continue;
        }
        break;
    }
    for (uint32_t b = block;; b = function_.blocks[b].predecessors[0]) {
        write(b, variable, value);
        if (b == at) return value;
    }
}

uint32_t Builder::new_phi(uint32_t block, Type type) {
    Node node;
    node.op = Op::Phi;
    node.type = type;
    function_.nodes.push_back(node);
    const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
    std::vector<uint32_t>& nodes = function_.blocks[block].nodes;
    size_t at = 0;
    while (at < nodes.size() && function_.nodes[nodes[at]].op == Op::Phi) at++;
    insert_at(nodes, at, id);
    return id;
}

void Builder::fill(uint32_t block, Waiting waiting) {
    std::vector<uint32_t> values;
    const size_t count = function_.blocks[block].predecessors.size();
    for (size_t i = 0; i < count; i++) values.push_back(look_up(function_.blocks[block].predecessors[i], waiting.variable));
    Node& phi = function_.nodes[waiting.phi];
    phi.list = static_cast<uint32_t>(function_.operands.size());
    phi.count = static_cast<uint32_t>(count);
    function_.operands.insert(function_.operands.end(), values.begin(), values.end());
}

// ---- values

Value Builder::append(const Node& node) {
    BasicBlock& block = open();
    function_.nodes.push_back(node);
    const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
    block.nodes.push_back(id);
    return {id};
}

Value Builder::parameter(Type type) {
    KINDLING_ASSERT(current_.id == 0 && !ended());
    Node node;
    node.op = Op::Parameter;
    node.type = type;
    node.extra = static_cast<uint32_t>(function_.parameters.size());
    function_.parameters.push_back(type);
    return append(node);
}

Value Builder::integer(int64_t value) { return constant(Type::I64, static_cast<uint64_t>(value)); }
Value Builder::real(double value) { return constant(Type::F64, std::bit_cast<uint64_t>(value)); }
Value Builder::real32(float value) { return constant(Type::F32, std::bit_cast<uint32_t>(value)); }
Value Builder::boolean(bool value) { return constant(Type::Bool, value); }
Value Builder::address(const void* value) { return constant(Type::Address, reinterpret_cast<uint64_t>(value)); }

Value Builder::pure(Op op, Type result, Value a, Value b, Value c) {
    Node node;
    node.op = op;
    node.type = result;
    node.input[0] = a.id, node.input[1] = b.id, node.input[2] = c.id;
    const std::string wrong = mistyped(function_, node);
    if (!wrong.empty()) fail(ErrorKind::Internal, "%s. Please report it.", wrong.c_str());
    uint64_t bits[3] = {};
    for (int i = 0; i < 3 && node.input[i]; i++) {
        const Node& input = function_.nodes[node.input[i]];
        if (input.op != Op::Constant) return append(node);
        bits[i] = input.bits;
    }
    return constant(result, evaluate(op, result, type(a), bits[0], bits[1], bits[2]));
}

Value Builder::unary(Op op, Value a) { return pure(op, type(a), a); }

Value Builder::binary(Op op, Value a, Value b) {
    const bool compares = op >= Op::Eq && op <= Op::Below;
    if (op == Op::Add && type(b) == Type::Address && type(a) == Type::I64) return binary(op, b, a);
    return pure(op, compares ? Type::Bool : type(a), a, b);
}

Value Builder::select(Value condition, Value a, Value b) { return pure(Op::Select, type(a), condition, a, b); }

Value Builder::convert(Type to, Value a) {
    if (type(a) == to) return a;
    KINDLING_ASSERT(floating(to) || to == Type::I64);
    return pure(to == Type::F64 ? Op::ToF64 : to == Type::F32 ? Op::ToF32 : Op::ToI64, to, a);
}

Value Builder::bits(Type to, Value a) { return pure(Op::Bits, to, a); }

// ---- memory

Value Builder::place(Node& node, Value base, Value index, int64_t scale, int64_t displacement) {
    KINDLING_ASSERT(type(base) == Type::Address && (!index || type(index) == Type::I64));
    if (index && function_.nodes[index.id].op == Op::Constant) {
        displacement = wrap_add(displacement, wrap_mul(static_cast<int64_t>(function_.nodes[index.id].bits), scale));
        index = {};
    }
    if (index && scale != 1 && scale != 2 && scale != 4 && scale != 8) {
        index = multiply(index, integer(scale));
        scale = 1;
    }
    if (displacement != static_cast<int32_t>(displacement)) {
        base = add(base, integer(displacement));
        displacement = 0;
    }
    node.input[0] = base.id;
    node.input[1] = index.id;
    node.scale = static_cast<uint8_t>(index ? scale : 1);
    node.displacement = static_cast<int32_t>(displacement);
    return base;
}

Value Builder::load(Memory memory, Value base, Value index, int64_t scale, int64_t displacement, Region region) {
    const bool half = memory == Memory::F16 || memory == Memory::BF16;
    Node node;
    node.op = Op::Load;
    node.memory = half ? Memory::U16 : memory;
    node.type = loaded_type(node.memory);
    node.region = region;
    place(node, base, index, scale, displacement);
    const Value value = append(node);
    if (memory == Memory::F16) return call(callee("half_to_float", half_to_float, Effect::Pure), {value});
    if (memory == Memory::BF16) return bits(Type::F32, binary(Op::Shl, value, integer(16)));
    return value;
}

void Builder::store(Memory memory, Value base, Value index, int64_t scale, int64_t displacement, Value value, Region region) {
    KINDLING_ASSERT(type(value) == loaded_type(memory) && region != constant_region);
    if (memory == Memory::F16) value = call(callee("float_to_half", float_to_half, Effect::Pure), {value});
    if (memory == Memory::BF16) value = call(callee("float_to_bfloat16", float_to_bfloat16, Effect::Pure), {value});
    Node node;
    node.op = Op::Store;
    node.memory = memory == Memory::F16 || memory == Memory::BF16 ? Memory::U16 : memory;
    node.region = region;
    place(node, base, index, scale, displacement);
    node.input[2] = value.id;
    append(node);
}

// ---- calls

Value Builder::call(const Callee& callee, const Value* arguments, size_t count) {
    Node node;
    node.op = Op::Call;
    node.type = callee.result;
    node.region = callee.region;
    size_t place = 0;
    while (place < function_.callees.size() &&
           (function_.callees[place].address != callee.address || function_.callees[place].region != callee.region ||
            function_.callees[place].effect != callee.effect))
        place++;
    if (place == function_.callees.size()) function_.callees.push_back(callee);
    node.extra = static_cast<uint32_t>(place);
    size_t real = 0;
    for (size_t i = 0; i < count; i++) real += floating(type(arguments[i]));
    KINDLING_ASSERT(real <= 8 && count - real <= 6);
    node.list = list(arguments, count);
    node.count = static_cast<uint32_t>(count);
    return append(node);
}

// ---- checks

uint32_t Builder::list(const Value* values, size_t count) {
    const size_t start = function_.operands.size();
    for (size_t i = 0; i < count; i++) {
        KINDLING_ASSERT(type(values[i]) != Type::None);
        function_.operands.push_back(values[i].id);
    }
    return static_cast<uint32_t>(start);
}

uint32_t Builder::exit(int32_t code, const Value* values, size_t count) {
    const uint32_t start = list(values, count);
    function_.exits.push_back({code, start, static_cast<uint32_t>(count)});
    return static_cast<uint32_t>(function_.exits.size() - 1);
}

Value Builder::index(Value index, Value size, int32_t code, const Value* values, size_t count) {
    Node node;
    node.op = Op::Index;
    node.type = Type::I64;
    KINDLING_ASSERT(type(index) == Type::I64 && type(size) == Type::I64);
    node.input[0] = index.id, node.input[1] = size.id;
    node.extra = exit(code, values, count);
    return append(node);
}

Value Builder::python_index(Value at, Value size, int32_t code, const Value* values, size_t count) {
    const Value from_front = select(less(at, integer(0)), add(at, size), at);
    return index(from_front, size, code, values, count);
}

void Builder::check(Value condition, int32_t code, const Value* values, size_t count) {
    KINDLING_ASSERT(type(condition) == Type::Bool);
    Node node;
    node.op = Op::Check;
    node.input[0] = condition.id;
    node.extra = exit(code, values, count);
    append(node);
}

void Builder::poll(int32_t code, const Value* values, size_t count) {
    Node node;
    node.op = Op::Poll;
    node.extra = exit(code, values, count);
    append(node);
}

} // namespace kindling::scalar
