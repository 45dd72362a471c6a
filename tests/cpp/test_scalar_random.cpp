// Random programs of the scalar generator, with loops, conditions, memory, calls, checks and more values than registers. What
// machine code and interpreter give, with and without the passes, must be what the reference gives that runs node by node: the
// same exit, the same values, the same memory, bit by bit but for the payload of NaN.
#include <cstdlib>
#include <string>

#include "kernels/scalar/builder.h"
#include "kernels/scalar/code.h"
#include "tests/cpp/check.h"
#include "tests/cpp/draw.h"
#include "tests/cpp/scalar_reference.h"

using namespace kindling::scalar;

namespace {

double blend(double a, double b) noexcept { return a * 0.75 + b; }
double mixed(int64_t a, double b, int64_t c, double d, bool e) noexcept { return static_cast<double>(a ^ c) * 1e-9 + b - d + (e ? 1 : 0); }
int64_t mix(int64_t a, int64_t b, int64_t c) noexcept { return wrap_add(a, wrap_mul(b ^ c, 3)); }
float halve(float a) noexcept { return a * 0.5f; }
bool odd(int64_t a) noexcept { return a & 1; }
int64_t bump(int64_t* memory, int64_t by) noexcept {
    return memory[3] = static_cast<int64_t>(static_cast<uint64_t>(memory[3]) + static_cast<uint64_t>(by));
}
double peek(const double* memory) noexcept { return memory[2]; }

constexpr int64_t length = 16;
struct Arena {
    int64_t whole[length];
    double real[length];
    float single[length];
    int32_t narrow[length];
    uint8_t bytes[length];
    bool truth[length];
    uint16_t half[length], brain[length];
};

class Writer {
public:
    Writer(Builder& builder, int size) : b(builder), budget_(size) {
        for (Value& pointer : arrays_) pointer = b.parameter(Type::Address);
        size_ = b.parameter(Type::I64), stride_ = b.parameter(Type::I64);
        for (int i = 0; i < 3; i++) inputs_.push_back(b.parameter(Type::I64)), inputs_.push_back(b.parameter(Type::F64));
        const Type types[] = {Type::I64, Type::F64, Type::F32, Type::Bool};
        const int many = draw::integer(0, 3) == 0 ? 14 : 3; // more than there are registers
        for (int t = 0; t < 4; t++)
            for (int k = 0; k < many; k++) {
                variables_[t].push_back(b.variable(types[t]));
                if (draw::integer(0, 4)) b.set(variables_[t].back(), start(types[t]));
            }
    }
    void whole() {
        statements(0);
        if (b.ended()) return;
        std::vector<Value> all;
        for (auto& list : variables_)
            for (Variable v : list) all.push_back(b.get(v));
        b.leave(0, all.data(), all.size());
    }

private:
    Builder& b;
    int budget_;
    Value arrays_[8], size_, stride_; // stride: 8 or 0
    std::vector<Value> inputs_;
    std::vector<Variable> variables_[4];
    std::vector<Block> exits_of_loops_;

    static int slot(Type type) { return type == Type::I64 ? 0 : type == Type::F64 ? 1 : type == Type::F32 ? 2 : 3; }
    Value start(Type type) {
        if (type == Type::I64) return draw::integer(0, 1) ? inputs_[static_cast<size_t>(draw::integer(0, 2)) * 2] : constant(type);
        if (type == Type::F64) return draw::integer(0, 1) ? inputs_[static_cast<size_t>(draw::integer(0, 2)) * 2 + 1] : constant(type);
        return constant(type);
    }
    Value constant(Type type) {
        static const int64_t wholes[] = {0, 1, -1, 2, 3, 7, 8, 16, 255, -64, INT64_MAX, INT64_MIN, int64_t{1} << 33, 12345678901};
        static const double reals[] = {0.0, -0.0, 1, -1, 0.5, 1e300, -1e-300, 3.7, 1e19, HUGE_VAL, 2.5};
        if (type == Type::I64) return b.integer(draw::integer(0, 2) ? draw::integer(-9, 20) : wholes[draw::integer(0, 13)]);
        if (type == Type::F64) return b.real(draw::integer(0, 2) ? draw::real() * 8 : reals[draw::integer(0, 10)]);
        if (type == Type::F32) return b.real32(static_cast<float>(draw::integer(0, 2) ? draw::real() * 8 : reals[draw::integer(0, 10)]));
        return b.boolean(draw::integer(0, 1));
    }
    Variable any(Type type) {
        auto& list = variables_[slot(type)];
        return list[static_cast<size_t>(draw::integer(0, static_cast<int64_t>(list.size()) - 1))];
    }
    Value checked(Value index) {
        switch (draw::integer(0, 3)) {
        case 0: return b.binary(Op::FloorMod, index, size_); // fits
        case 1: return b.binary(Op::And, index, b.integer(length - 1));
        case 2: return b.python_index(b.binary(Op::FloorMod, index, b.integer(length + 1)), size_, 7, {index, size_});
        default:
            return b.index(b.binary(Op::And, index, b.integer(length + 15 * (draw::integer(0, 9) == 0) - 1)), size_, 8,
                           {index, b.get(any(Type::F64))});
        }
    }
    Value load(Type type, int depth) {
        const Value index = checked(whole_number(depth));
        const int64_t more = 0;
        switch (type) {
        case Type::F64: return b.load(Memory::F64, arrays_[1], index, 8, more, 2);
        case Type::F32:
            if (draw::integer(0, 4) == 0)
                return b.load(draw::integer(0, 1) ? Memory::F16 : Memory::BF16, arrays_[draw::integer(0, 1) ? 6 : 7], index, 2, 0);
            return b.load(Memory::F32, arrays_[2], index, 4, more);
        case Type::Bool: return b.load(Memory::Bool, arrays_[5], index);
        default:
            switch (draw::integer(0, 6)) {
            case 0: return b.load(Memory::I32, arrays_[3], index, 4, 0, 4);
            case 1: return b.load(Memory::U8, arrays_[4], index, 1);
            case 2: return b.load(Memory::I8, arrays_[4], index, 1);
            case 3: return b.load(Memory::U32, arrays_[3], b.binary(Op::And, index, b.integer(7)), 8, 4, 4);
            case 4: return b.load(draw::integer(0, 1) ? Memory::I16 : Memory::U16, arrays_[3], index, 2, 0, 4);
            default: return b.load(Memory::I64, arrays_[0], index, 8, 0, draw::integer(0, 1) ? 1 : 0);
            }
        }
    }
    void store(int depth) {
        const Value index = checked(whole_number(depth));
        switch (draw::integer(0, 8)) {
        case 0: b.store(Memory::F64, arrays_[1], index, 8, 0, value(Type::F64, depth), 2); break;
        case 1: b.store(Memory::F32, arrays_[2], index, 4, 0, value(Type::F32, depth)); break;
        case 2: b.store(Memory::I32, arrays_[3], index, 4, 0, whole_number(depth), 4); break;
        case 3: b.store(Memory::U8, arrays_[4], index, 1, 0, whole_number(depth)); break;
        case 4: b.store(Memory::Bool, arrays_[5], index, 1, 0, value(Type::Bool, depth)); break;
        case 5: b.store(Memory::F16, arrays_[6], index, 2, 0, value(Type::F32, depth)); break;
        case 6: b.store(Memory::BF16, arrays_[7], index, 2, 0, value(Type::F32, depth)); break;
        default: b.store(Memory::I64, arrays_[0], index, 8, 0, whole_number(depth), 1); break;
        }
    }
    Value whole_number(int depth) { return value(Type::I64, depth); }
    Value value(Type type, int depth) {
        if (depth <= 0 || draw::integer(0, 5) == 0) return draw::integer(0, 3) ? b.get(any(type)) : constant(type);
        const auto again = [&](Type t) { return value(t, depth - 1); };
        const int64_t pick = draw::integer(0, 19);
        if (pick == 0) return b.select(again(Type::Bool), again(type), again(type));
        if (pick == 1) return load(type, depth - 1);
        if (type == Type::Bool) {
            static const Op compares[] = {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge};
            static const Op logic[] = {Op::And, Op::Or, Op::Xor, Op::Eq, Op::Ne};
            if (pick < 5) return b.binary(logic[draw::integer(0, 4)], again(type), again(type));
            if (pick == 5) return b.unary(Op::Not, again(type));
            if (pick == 6) return b.call(callee("odd", odd, Effect::Pure), {again(Type::I64)});
            if (pick == 7) return b.binary(Op::Below, again(Type::I64), again(Type::I64));
            const Type of = pick < 13 ? Type::I64 : pick < 17 ? Type::F64 : Type::F32;
            return b.binary(compares[draw::integer(0, 5)], again(of), again(of));
        }
        if (type == Type::I64) {
            static const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Min,      Op::Max,      Op::And, Op::Or,
                                     Op::Xor, Op::Shl, Op::Shr, Op::FloorDiv, Op::FloorMod, Op::Add, Op::Sub};
            static const Op ones[] = {Op::Neg, Op::Abs, Op::Not};
            if (pick < 4) return b.unary(ones[draw::integer(0, 2)], again(type));
            if (pick == 4) return b.convert(type, again(draw::integer(0, 1) ? Type::F64 : Type::F32));
            if (pick == 5) return b.convert(type, again(Type::Bool));
            if (pick == 6) return b.call(callee("mix", mix, Effect::Pure), {again(type), again(type), again(type)});
            if (pick == 7) return b.call(callee("bump", bump, Effect::Writes, draw::integer(0, 1) ? 1 : 0), {arrays_[0], again(type)});
            if (pick == 8) { // not of NaN, whose payload is open
                const Value real = again(draw::integer(0, 1) ? Type::F32 : Type::F64);
                return b.select(b.equal(real, real), b.bits(type, real), b.integer(0));
            }
            return b.binary(ops[draw::integer(0, 13)], again(type), again(type));
        }
        static const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Add, Op::Mul};
        static const Op ones[] = {Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Ceil, Op::Trunc, Op::Round};
        if (pick < 5) return b.unary(ones[draw::integer(0, 6)], again(type));
        if (pick == 5) return b.convert(type, again(type == Type::F64 ? Type::F32 : Type::F64));
        if (pick == 6) return b.convert(type, again(draw::integer(0, 1) ? Type::I64 : Type::Bool));
        if (type == Type::F32) {
            if (pick == 7) return b.call(callee("halve", halve, Effect::Pure), {again(type)});
        } else {
            if (pick == 7) return b.call(callee("blend", blend, Effect::Pure), {again(type), again(type)});
            if (pick == 8)
                return b.call(callee("mixed", mixed, Effect::Pure),
                              {again(Type::I64), again(type), again(Type::I64), again(type), again(Type::Bool)});
            if (pick == 9) return b.call(callee("peek", peek, Effect::Reads, draw::integer(0, 1) ? 2 : 0), {arrays_[1]});
        }
        return b.binary(ops[draw::integer(0, 7)], again(type), again(type));
    }
    void assign() {
        const Type types[] = {Type::I64, Type::F64, Type::F64, Type::F32, Type::Bool};
        const Type type = types[draw::integer(0, 4)];
        b.set(any(type), value(type, static_cast<int>(draw::integer(1, 3))));
    }
    void statements(int depth) {
        for (int64_t n = draw::integer(1, 4); n-- > 0 && budget_ > 0 && !b.ended();) {
            budget_--;
            const int64_t pick = draw::integer(0, 11);
            if (pick < 4 || depth > 3) assign();
            else if (pick < 6) store(2);
            else if (pick == 6)
                b.check(b.binary(Op::Or, value(Type::Bool, 2), b.binary(Op::Ne, whole_number(1), b.integer(3))), 5,
                        {b.get(any(Type::I64)), b.get(any(Type::F64)), b.get(any(Type::Bool))});
            else if (pick < 9) condition(depth);
            else loop(depth);
        }
    }
    void condition(int depth) {
        const Block yes = b.block(), no = b.block(), join = b.block();
        b.branch(value(Type::Bool, 2), yes, no);
        b.seal(yes), b.seal(no);
        b.enter(yes);
        statements(depth + 1);
        if (!b.ended()) {
            if (!exits_of_loops_.empty() && draw::integer(0, 3) == 0) b.jump(exits_of_loops_.back()); // break
            else if (draw::integer(0, 19) == 0) b.leave(3, {b.get(any(Type::I64))});
            else b.jump(join);
        }
        b.enter(no);
        if (draw::integer(0, 1)) statements(depth + 1);
        if (!b.ended()) b.jump(join);
        b.seal(join);
        b.enter(join);
    }
    /// Neighbours along a loop: what one round writes or reads another reads.
    void neighbour(Value i) {
        const bool real = draw::integer(0, 1);
        const Value at = b.index(b.add(i, b.integer(draw::integer(-1, 1))), size_, 10, {i});
        const Memory memory = real ? Memory::F64 : Memory::I64;
        const Value base = arrays_[real];
        const Region region = static_cast<Region>(real ? 2 : draw::integer(0, 5) ? 1 : 0);
        const Value value = b.get(any(real ? Type::F64 : Type::I64));
        if (draw::integer(0, 1)) { // strides that the function does not know
            const Value away = b.multiply(at, stride_);
            if (draw::integer(0, 1)) b.store(memory, base, away, 1, 0, value, region);
            else b.set(any(real ? Type::F64 : Type::I64), b.load(memory, base, away, 1, 0, region));
        } else {
            if (draw::integer(0, 1)) b.store(memory, base, at, 8, 0, value, region);
            else b.set(any(real ? Type::F64 : Type::I64), b.load(memory, base, at, 8, 0, region));
        }
    }
    void neighbours() {
        const Variable i = b.variable(Type::I64);
        b.set(i, b.integer(draw::integer(0, 5) ? 1 : 0));
        const Value limit = draw::integer(0, 3) ? b.add(size_, b.integer(-1)) : b.binary(Op::And, whole_number(1), b.integer(7));
        const Block head = b.block(), body = b.block(), done = b.block();
        b.jump(head);
        b.enter(head);
        b.branch(b.less(b.get(i), limit), body, done);
        b.seal(body);
        b.enter(body);
        for (int64_t n = draw::integer(2, 5); n-- > 0;) {
            neighbour(b.get(i));
            if (draw::integer(0, 2) == 0) assign();
            if (draw::integer(0, 7) == 0) {
                const Block yes = b.block(), join = b.block();
                b.branch(value(Type::Bool, 1), yes, join);
                b.seal(yes);
                b.enter(yes);
                neighbour(b.get(i));
                if (draw::integer(0, 2) == 0) b.jump(done);
                else b.jump(join);
                b.seal(join);
                b.enter(join);
            }
        }
        b.set(i, b.add(b.get(i), b.integer(1)));
        if (draw::integer(0, 1)) b.poll(11, {b.get(i)});
        b.jump(head);
        b.seal(head), b.seal(done);
        b.enter(done);
    }
    void loop(int depth) {
        if (draw::integer(0, 2) == 0) return neighbours();
        const Variable i = b.variable(Type::I64);
        const bool up_to_size = draw::integer(0, 1);
        const Value first = b.integer(draw::integer(0, 2) == 0 ? draw::integer(-3, 3) : 0),
                    step = b.integer(draw::integer(0, 4) ? 1 : draw::integer(1, 3));
        const Value limit = up_to_size ? size_ : b.binary(Op::And, whole_number(1), b.integer(15));
        b.set(i, first);
        const Block head = b.block(), body = b.block(), latch = b.block(), done = b.block();
        b.jump(head);
        b.enter(head);
        b.branch(b.less(b.get(i), limit), body, done);
        b.seal(body);
        b.enter(body);
        exits_of_loops_.push_back(done);
        if (draw::integer(0, 1)) b.set(any(Type::F64), b.load(Memory::F64, arrays_[1], b.index(b.get(i), size_, 9, {b.get(i)}), 8, 0, 2));
        if (draw::integer(0, 2) == 0) b.set(any(Type::I64), b.add(b.get(any(Type::I64)), b.multiply(b.get(i), b.get(any(Type::I64)))));
        statements(depth + 1);
        exits_of_loops_.pop_back();
        if (!b.ended()) {
            if (draw::integer(0, 1)) variables_[0].push_back(i), assign(), variables_[0].pop_back();
            b.jump(latch);
        }
        b.seal(latch);
        b.enter(latch);
        b.set(i, b.add(b.get(i), step));
        b.poll(11, {b.get(i), b.get(any(Type::F32))});
        b.jump(head);
        b.seal(head), b.seal(done);
        b.enter(done);
    }
};

struct Stubborn : Asker {
    int left = 0;
};

bool same(Type type, uint64_t a, uint64_t b) {
    if (type == Type::F64) {
        const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
        return a == b || (x != x && y != y);
    }
    if (type == Type::F32) {
        const float x = std::bit_cast<float>(static_cast<uint32_t>(a)), y = std::bit_cast<float>(static_cast<uint32_t>(b));
        return static_cast<uint32_t>(a) == static_cast<uint32_t>(b) || (x != x && y != y);
    }
    return a == b;
}

void fill(Arena& arena) {
    for (int64_t i = 0; i < length; i++) {
        arena.whole[i] = draw::integer(0, 3) ? draw::integer(-20, 20) : static_cast<int64_t>(draw::bits());
        arena.real[i] = draw::real() * 100;
        arena.single[i] = static_cast<float>(draw::real()) * 10;
        arena.narrow[i] = static_cast<int32_t>(draw::bits());
        arena.bytes[i] = static_cast<uint8_t>(draw::bits());
        arena.truth[i] = draw::bits() & 1;
        arena.half[i] = kindling::to_half(static_cast<float>(draw::real()) * 4).bits;
        arena.brain[i] = kindling::to_bfloat16(static_cast<float>(draw::real()) * 4).bits;
    }
}

bool same_memory(const Arena& a, const Arena& b) {
    bool equal = std::memcmp(a.whole, b.whole, sizeof a.whole) == 0 && std::memcmp(a.narrow, b.narrow, sizeof a.narrow) == 0 &&
                 std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0 && std::memcmp(a.truth, b.truth, sizeof a.truth) == 0;
    for (int i = 0; i < length; i++) {
        equal = equal && same(Type::F64, std::bit_cast<uint64_t>(a.real[i]), std::bit_cast<uint64_t>(b.real[i])) &&
                same(Type::F32, std::bit_cast<uint32_t>(a.single[i]), std::bit_cast<uint32_t>(b.single[i]));
        for (auto list : {&Arena::half, &Arena::brain}) {
            const uint16_t x = (a.*list)[i], y = (b.*list)[i], top = list == &Arena::half ? 0x7C00 : 0x7F80;
            equal = equal && (x == y || ((x & 0x7FFF) > top && (y & 0x7FFF) > top));
        }
    }
    return equal;
}

int runs_of[4], exits_taken, natives;

void try_one(uint64_t seed) {
    draw::state = seed * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < 4; i++) draw::bits();
    Function function;
    Builder builder(function);
    Writer(builder, static_cast<int>(draw::integer(3, 60))).whole();
    const std::string wrong = verify(function);
    if (!wrong.empty()) {
        std::fprintf(stderr, "seed %llu: %s\n%s", static_cast<unsigned long long>(seed), wrong.c_str(), text(function).c_str());
        CHECK(false && "what is built verifies");
        return;
    }
    std::unique_ptr<Code> codes[4];
    for (int way = 0; way < 4; way++) {
        Function copy = function;
        Options options;
        options.native = way != 0, options.optimise = way != 1, options.widen = way == 3;
        codes[way] = compile(std::move(copy), options);
        natives += codes[way]->native();
    }
    for (int round = 0; round < 4; round++) {
        Arena before, wanted, got;
        fill(before);
        wanted = before;
        const int64_t interrupted = round == 3 ? draw::integer(0, 60) : 1 << 30;
        const auto arguments = [&](Arena& arena) {
            std::vector<Slot> slots(16);
            const void* pointers[] = {arena.whole, arena.real,  arena.single, arena.narrow,
                                      arena.bytes, arena.truth, arena.half,   arena.brain};
            for (size_t i = 0; i < 8; i++) slots[i].p = pointers[i];
            return slots;
        };
        const uint64_t values = draw::bits();
        const auto numbers = [&](std::vector<Slot>& slots) {
            draw::state = values | 1;
            slots[8].i = length, slots[9].i = draw::integer(0, 2) ? 8 : 0;
            for (size_t i = 10; i < 16; i += 2)
                slots[i].i = draw::integer(0, 2) ? draw::integer(-5, 20) : static_cast<int64_t>(draw::bits()),
                slots[i + 1].f = draw::real() * 50;
        };
        const auto stop = [](Asker*) noexcept -> int64_t { return 1; };
        std::vector<Slot> slots = arguments(wanted);
        numbers(slots);
        std::vector<uint64_t> left;
        Asker asker;
        asker.counter = interrupted, asker.ask = stop;
        const int64_t code = reference::run(function, slots, left, &asker, 200000);
        if (code < 0) continue; // runs too long
        exits_taken += code != 0;
        std::vector<Type> types;
        for (const BasicBlock& block : function.blocks) {
            const auto look = [&](const Exit& exit) {
                if (exit.code != code || exit.count != left.size()) return;
                types.clear();
                for (uint32_t i = 0; i < exit.count; i++) types.push_back(function.nodes[function.operands[exit.list + i]].type);
            };
            if (block.kind == BasicBlock::Leave) look(function.exits[block.exit]);
            for (uint32_t id : block.nodes)
                if (has_exit(function.nodes[id].op)) look(function.exits[function.nodes[id].extra]);
        }
        for (int way = 0; way < 4; way++) {
            if (way == 3 && round == 3) continue; // four rounds at once poll once
            got = before;
            slots = arguments(got);
            numbers(slots);
            slots.resize(std::max(codes[way]->slots(), slots.size()));
            Asker mine;
            mine.counter = interrupted, mine.ask = stop;
            const int64_t have = codes[way]->run(slots.data(), &mine);
            bool right = have == code;
            for (size_t i = 0; right && i < left.size(); i++) right = same(types[i], left[i], static_cast<uint64_t>(slots[i].i));
            right = right && same_memory(wanted, got);
            runs_of[way]++;
            if (right) continue;
            std::fprintf(stderr, "seed %llu, round %d, way %d: exit %lld, wanted %lld\n", static_cast<unsigned long long>(seed), round, way,
                         static_cast<long long>(have), static_cast<long long>(code));
            for (size_t i = 0; i < left.size(); i++)
                if (!same(types[i], left[i], static_cast<uint64_t>(slots[i].i)))
                    std::fprintf(stderr, "  value %zu: %llx, wanted %llx\n", i, static_cast<unsigned long long>(slots[i].i),
                                 static_cast<unsigned long long>(left[i]));
            CHECK(false && "the same as the reference");
            return;
        }
    }
}

} // namespace

int main(int count, char** words) {
    const uint64_t first = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1;
    const uint64_t programs = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1500;
    for (uint64_t seed = first; seed < first + programs && failures < 5; seed++) try_one(seed);
    std::fprintf(stderr, "%d runs of each way, %d by an exit, %d programs native\n", runs_of[0], exits_taken, natives);
    if (programs >= 100) CHECK(runs_of[0] > static_cast<int>(programs) && exits_taken > 10);
    return finish("test_scalar_random");
}
