// Loops of which four rounds are done at once. Random bodies over arrays that may overlap, with conditions, loops inside, sums of whole
// numbers, checks that fail somewhere, and few rounds: exits, values and memory are those of the reference, which runs node by node, bit by
// bit but for the payload of NaN. And loops by hand, of which it is known whether they are widened.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "kernels/isa.h"
#include "kernels/scalar/builder.h"
#include "kernels/scalar/code.h"
#include "tests/cpp/check.h"
#include "tests/cpp/draw.h"
#include "tests/cpp/scalar_reference.h"

using namespace kindling::scalar;

namespace {

using Body = std::function<void(Value)>;
void for_range(Builder& b, Value first, Value limit, const Body& body) {
    const Variable i = b.variable(Type::I64);
    b.set(i, first);
    const Block head = b.block(), inside = b.block(), done = b.block();
    b.jump(head);
    b.enter(head);
    b.branch(b.less(b.get(i), limit), inside, done);
    b.seal(inside);
    b.enter(inside);
    body(b.get(i));
    b.set(i, b.add(b.get(i), b.integer(1)));
    b.poll(99);
    b.jump(head);
    b.seal(head), b.seal(done);
    b.enter(done);
}
void when(Builder& b, Value condition, const std::function<void()>& body) {
    const Block yes = b.block(), join = b.block();
    b.branch(condition, yes, join);
    b.seal(yes);
    b.enter(yes);
    body();
    b.jump(join);
    b.seal(join);
    b.enter(join);
}

int64_t widened; // programs that have values of four lanes

std::unique_ptr<Code> compiled(const Function& function, bool widen) {
    std::string trace;
    Options options;
    options.widen = widen, options.trace = &trace, options.text = text;
    std::unique_ptr<Code> code = compile(Function(function), options);
    if (widen) widened += trace.find("x4.") != std::string::npos;
    return code;
}

constexpr int64_t room = 96; // numbers of 8 bytes, of which all arrays are parts

struct Program {
    Builder& b;
    Value arrays[4], sizes[4], strides[4], rounds, inner; // strides: none where elements lie side by side
    Variable whole, real, count;
    Region regions[4];
    Memory memories[4];
    static constexpr int64_t unknown = 9; // a stride that is a parameter
    int64_t fixed[4];
    int budget = 7;
    bool mixed = false; // arrays of several types may overlap

    explicit Program(Builder& builder, bool apart) : b(builder) {
        static const Memory kinds[] = {Memory::F64, Memory::F64, Memory::F32, Memory::I64, Memory::I32, Memory::U32,
                                       Memory::I16, Memory::U16, Memory::I8,  Memory::U8,  Memory::Bool};
        const int64_t strided = draw::integer(0, 15); // which arrays
        for (int i = 0; i < 4; i++) {
            arrays[i] = b.parameter(Type::Address), sizes[i] = b.parameter(Type::I64);
            regions[i] = apart ? static_cast<Region>(i + 1) : any_region;
            memories[i] = kinds[draw::integer(0, 1) ? draw::integer(0, 4) : draw::integer(0, apart ? 10 : 9)]; // bytes of bools are 0 or 1
            const Value stride = b.parameter(Type::I64);
            fixed[i] = draw::integer(0, 3) ? unknown : draw::integer(-2, 3);
            if (!(strided & draw::integer(0, 15) & 1 << i)) fixed[i] = 1;
            else strides[i] = fixed[i] == unknown ? stride : b.integer(fixed[i]);
            mixed = mixed || (!apart && memories[i] != memories[0]);
        }
        rounds = b.parameter(Type::I64), inner = b.parameter(Type::I64);
        whole = b.variable(Type::I64), real = b.variable(Type::F64), count = b.variable(Type::I64);
        b.set(whole, b.integer(5)), b.set(real, b.real(0.5)), b.set(count, b.integer(0));
    }
    Value place(int array, Value i, Value k) {
        Value at = i;
        switch (draw::integer(0, 7)) {
        case 0: at = b.add(i, b.integer(draw::integer(-2, 4))); break;
        case 1: at = b.add(i, b.add(k, k)); break; // a row for each round of what is around
        case 2: at = k; break;
        default: break;
        }
        at = draw::integer(0, 3) ? b.index(at, sizes[array], 7, {at, b.get(count)}) : b.python_index(at, sizes[array], 8, {at});
        return strides[array] ? b.multiply(at, strides[array]) : at;
    }
    Value load(Value i, Value k, Type type) {
        const int array = static_cast<int>(draw::integer(0, 3));
        const Value loaded = b.load(memories[array], arrays[array], place(array, i, k), memory_bytes(memories[array]), 0, regions[array]);
        return as(loaded, type);
    }
    Value as(Value value, Type type) {
        if (b.type(value) == type) return value;
        if (type == Type::Bool) return b.binary(Op::Ne, as(value, Type::F64), b.real(0));
        if (type == Type::I64 && b.type(value) != Type::Bool) return b.convert(type, b.binary(Op::Lt, value, as(b.real(1), b.type(value))));
        if (type == Type::F32 && b.type(value) == Type::I64) value = b.convert(Type::F64, value);
        return b.convert(type, value);
    }
    Value number(Type type, Value i, Value k, int depth) {
        const auto again = [&](Type t) { return number(t, i, k, depth - 1); };
        if (depth <= 0) {
            switch (draw::integer(0, 5)) {
            case 0: return as(i, type);
            case 1: return type == Type::I64 ? b.integer(draw::integer(-3, 9)) : as(b.real(draw::real() * 3), type);
            case 2: return as(k, type);
            default: return load(i, k, type);
            }
        }
        const int64_t pick = draw::integer(0, 11);
        if (type == Type::Bool) {
            static const Op compares[] = {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge};
            static const Op logic[] = {Op::And, Op::Or, Op::Xor, Op::Eq, Op::Ne};
            if (pick < 2) return b.binary(logic[draw::integer(0, 4)], again(type), again(type));
            if (pick == 2) return b.unary(Op::Not, again(type));
            const Type of = pick < 6 ? Type::I64 : pick < 9 ? Type::F64 : Type::F32;
            return b.binary(compares[draw::integer(0, 5)], again(of), again(of));
        }
        if (pick == 0) return b.select(again(Type::Bool), again(type), again(type));
        if (pick == 1) return as(again(static_cast<Type>(draw::integer(1, 4))), type);
        if (type == Type::I64) {
            static const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor};
            if (pick == 4) return b.binary(Op::Shr, again(type), b.integer(draw::integer(0, 63)));
            if (pick == 2) return b.unary(draw::integer(0, 1) ? Op::Neg : Op::Not, again(type));
            if (pick == 3) return b.binary(Op::Shl, again(type), b.integer(draw::integer(0, 40)));
            return b.binary(ops[draw::integer(0, 7)], again(type), again(type));
        }
        static const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max};
        static const Op ones[] = {Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Ceil, Op::Trunc, Op::Round};
        if (pick < 4) return b.unary(ones[draw::integer(0, 6)], again(type));
        return b.binary(ops[draw::integer(0, 5)], again(type), again(type));
    }
    void store(Value i, Value k) {
        const int array = static_cast<int>(draw::integer(0, 3));
        const Memory memory = memories[array];
        const Value value = number(loaded_type(memory), i, k, static_cast<int>(draw::integer(0, 3)));
        b.store(memory, arrays[array], place(array, i, k), memory_bytes(memory), 0, value, regions[array]);
        b.set(count, b.add(b.get(count), b.integer(1)));
    }
    void statements(Value i, Value k, int depth) {
        for (int64_t n = draw::integer(1, 3); n-- > 0 && budget > 0;) {
            budget--;
            switch (draw::integer(0, 9)) {
            case 0: b.set(whole, b.add(b.get(whole), number(Type::I64, i, k, 1))); break;
            case 1:
                if (depth < 2) when(b, number(Type::Bool, i, k, 1), [&] { statements(i, k, depth + 1); });
                break;
            case 2: b.set(count, b.add(b.get(count), b.convert(Type::I64, number(Type::Bool, i, k, 1)))); break;
            case 3:
                if (depth < 2) {
                    const Variable sum = b.variable(Type::F64);
                    b.set(sum, b.real(0));
                    for_range(b, b.integer(0), inner, [&](Value l) {
                        b.set(sum, b.add(b.get(sum), number(Type::F64, draw::integer(0, 1) ? i : l, l, 1)));
                        if (draw::integer(0, 5) == 0) statements(i, l, 2);
                    });
                    const int array = static_cast<int>(draw::integer(0, 3));
                    b.store(memories[array], arrays[array], place(array, i, k), memory_bytes(memories[array]), 0,
                            as(b.get(sum), loaded_type(memories[array])), regions[array]);
                }
                break;
            case 4:
                if (draw::integer(0, 3) == 0) b.set(real, b.add(b.get(real), number(Type::F64, i, k, 1))); // order matters: not widened
                else b.check(number(Type::Bool, i, k, 0), 5, {b.get(count), i});
                break;
            default: store(i, k); break;
            }
        }
    }
    void run() {
        for_range(b, b.integer(0), inner,
                  [&](Value k) { for_range(b, draw::integer(0, 1) ? b.integer(0) : k, rounds, [&](Value i) { statements(i, k, 0); }); });
        b.finish({b.get(whole), b.get(real), b.get(count)});
    }
};

bool nan64(uint64_t x) { return (x & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000; }
bool nan32(uint64_t x) { return (x & 0x7FFFFFFF) > 0x7F800000; }
bool holds_nan(uint64_t x) { return nan64(x) || nan32(x) || nan32(x >> 32); }
/// NaN of either width, in either half.
bool same_word(uint64_t a, uint64_t b) {
    if (a == b || (nan64(a) && nan64(b))) return true;
    const auto half = [&](uint64_t x, uint64_t y) { return (x & 0xFFFFFFFF) == (y & 0xFFFFFFFF) || (nan32(x) && nan32(y)); };
    return half(a, b) && half(a >> 32, b >> 32);
}

void try_one(uint64_t seed) {
    draw::state = seed * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < 4; i++) draw::bits();
    const bool apart = draw::integer(0, 1);
    Function function;
    Builder builder(function);
    Program program(builder, apart);
    program.run();
    const std::string wrong = verify(function);
    if (!wrong.empty()) {
        std::fprintf(stderr, "seed %llu: %s\n%s", static_cast<unsigned long long>(seed), wrong.c_str(), text(function).c_str());
        CHECK(false && "what is built verifies");
        return;
    }
    const std::unique_ptr<Code> code = compiled(function, true);
    for (int round = 0; round < 5; round++) {
        uint64_t before[room], wanted[room], got[room];
        for (uint64_t& word : before) {
            const double number = draw::integer(0, 3) ? draw::real() * 4 : static_cast<double>(draw::integer(-2, 2));
            const float single = static_cast<float>(number);
            const int64_t whole = draw::integer(-4, 4);
            const int64_t kind = draw::integer(0, 2);
            std::memcpy(&word, kind == 0 ? static_cast<const void*>(&number) : &whole, 8);
            if (kind == 1) std::memcpy(&word, &single, 4), std::memcpy(reinterpret_cast<char*>(&word) + 4, &single, 4);
        }
        int64_t offsets[4], lengths[4], strides[4];
        for (int i = 0; i < 4; i++) {
            offsets[i] = apart ? 24 * i : draw::integer(0, 1) ? draw::integer(0, 70) : draw::integer(0, 6);
            lengths[i] = draw::integer(0, 3) ? 24 : draw::integer(0, 24);
            strides[i] = program.fixed[i] == Program::unknown ? draw::integer(-2, 3) : program.fixed[i];
            const int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
            if (stride) lengths[i] = std::min(lengths[i], 24 / stride);
            if (apart && program.memories[i] == Memory::Bool)
                for (int64_t at = offsets[i]; at < offsets[i] + 24; at++) before[at] = draw::bits() & 0x0101010101010101;
        }
        std::copy(before, before + room, wanted), std::copy(before, before + room, got);
        const int64_t rounds = draw::integer(0, 22), inner = draw::integer(0, 4);
        const auto slots_of = [&](uint64_t* memory) {
            std::vector<Slot> slots(14);
            for (size_t i = 0; i < 4; i++) {
                const int64_t behind =
                    strides[i] < 0 && lengths[i] ? (lengths[i] - 1) * -strides[i] * memory_bytes(program.memories[i]) : 0;
                slots[3 * i].p = reinterpret_cast<char*>(memory + offsets[i]) + behind;
                slots[3 * i + 1].i = lengths[i], slots[3 * i + 2].i = strides[i];
            }
            slots[12].i = rounds, slots[13].i = inner;
            return slots;
        };
        std::vector<Slot> slots = slots_of(wanted);
        std::vector<uint64_t> left;
        Asker none, mine;
        const int64_t exit = reference::run(function, slots, left, &none, 400000);
        if (exit < 0) continue;
        // What NaN looks like is open, so it must not be read as another type.
        if (program.mixed && std::any_of(wanted, wanted + room, holds_nan)) continue;
        slots = slots_of(got);
        slots.resize(std::max(code->slots(), slots.size()));
        const int64_t have = code->run(slots.data(), &mine);
        bool right = have == exit;
        for (size_t i = 0; right && i < left.size(); i++) right = same_word(left[i], static_cast<uint64_t>(slots[i].i));
        for (int64_t i = 0; right && i < room; i++) right = same_word(wanted[i], got[i]);
        if (right) continue;
        std::fprintf(stderr, "seed %llu, round %d: exit %lld, wanted %lld\n", static_cast<unsigned long long>(seed), round,
                     static_cast<long long>(have), static_cast<long long>(exit));
        for (int64_t i = 0; i < room; i++)
            if (!same_word(wanted[i], got[i]))
                std::fprintf(stderr, "  word %lld: %llx, wanted %llx\n", static_cast<long long>(i), static_cast<unsigned long long>(got[i]),
                             static_cast<unsigned long long>(wanted[i]));
        CHECK(false && "the same as the reference");
        return;
    }
}

/// Whether a loop over `n` rounds with this body has values of four lanes.
bool is_widened(const std::function<void(Builder&, Value data, Value other, Value i)>& body, Region other_region = 2) {
    (void)other_region;
    Function function;
    Builder b(function);
    const Value data = b.parameter(Type::Address), other = b.parameter(Type::Address), n = b.parameter(Type::I64);
    for_range(b, b.integer(0), n, [&](Value i) { body(b, data, other, i); });
    b.finish({});
    const int64_t before = widened;
    compiled(function, true);
    return widened > before;
}

void which_loops() {
    const auto at = [](Builder& b, Value data, Value i, int32_t displacement = 0, Region region = 1) {
        return b.load(Memory::F64, data, i, 8, displacement, region);
    };
    const auto put = [](Builder& b, Value data, Value i, Value value, Region region = 1) {
        b.store(Memory::F64, data, i, 8, 0, value, region);
    };
    CHECK(is_widened([&](Builder& b, Value x, Value y, Value i) { put(b, x, i, b.multiply(at(b, x, i), at(b, y, i, 0, 2))); }));
    // Reads what a later round writes: four rounds read before any of them writes.
    CHECK(!is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, i, at(b, x, i, -8)); }));
    CHECK(!is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, i, at(b, x, i, 24)); }));
    // As far apart as a vector is long.
    CHECK(is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, i, at(b, x, i, -32)); }));
    CHECK(is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, i, at(b, x, i, 32)); }));
    // One place in each round; every other place.
    CHECK(!is_widened([&](Builder& b, Value x, Value y, Value i) { put(b, x, {}, at(b, y, i, 0, 2)); }));
    CHECK(is_widened([&](Builder& b, Value x, Value y, Value i) { put(b, x, b.add(i, i), at(b, y, i, 0, 2)); }));
    // Two fields of a record; and the one of a round is the other one of another round.
    const auto twice = [](Builder& b, Value i) { return b.add(i, i); };
    CHECK(is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, twice(b, i), at(b, x, twice(b, i), 8)); }));
    CHECK(!is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, twice(b, i), at(b, x, twice(b, i), 16)); }));
    CHECK(!is_widened([&](Builder& b, Value x, Value, Value i) { put(b, x, twice(b, i), at(b, x, twice(b, i), 4)); }));
    // A stride that is not known: the same place, and the one of the round before.
    const auto far = [](Builder& b, Value i, Value y) { return b.multiply(i, b.convert(Type::I64, y)); };
    CHECK(is_widened([&](Builder& b, Value x, Value y, Value i) { put(b, x, far(b, i, y), b.unary(Op::Neg, at(b, x, far(b, i, y)))); }));
    CHECK(!is_widened(
        [&](Builder& b, Value x, Value y, Value i) { put(b, x, far(b, i, y), at(b, x, far(b, b.subtract(i, b.integer(1)), y))); }));
    // Memory that may be the same is asked about.
    CHECK(is_widened([&](Builder& b, Value x, Value y, Value i) { put(b, x, i, at(b, y, i, 0, 0), 0); }));
    // Calls may do anything.
    static const auto half = [](double a) noexcept { return a / 2; };
    CHECK(!is_widened([&](Builder& b, Value x, Value, Value i) {
        put(b, x, i, b.call(callee("half", static_cast<double (*)(double) noexcept>(half), Effect::Pure), {at(b, x, i)}));
    }));
}

/// A sum in the order of the source is no matter of lanes; each lane may have one of its own.
void sums() {
    for (const bool inside : {false, true}) {
        Function function;
        Builder b(function);
        const Value data = b.parameter(Type::Address), out = b.parameter(Type::Address), n = b.parameter(Type::I64),
                    m = b.parameter(Type::I64);
        const Variable sum = b.variable(Type::F64);
        b.set(sum, b.real(0));
        for_range(b, b.integer(0), n, [&](Value i) {
            if (inside) b.set(sum, b.real(0));
            for_range(b, b.integer(0), m,
                      [&](Value k) { b.set(sum, b.add(b.get(sum), b.load(Memory::F64, data, b.add(b.multiply(k, n), i), 8, 0, 1))); });
            b.store(Memory::F64, out, i, 8, 0, b.get(sum), 2);
        });
        b.finish({b.get(sum)});
        const int64_t before = widened;
        const std::unique_ptr<Code> code = compiled(function, true);
        CHECK((widened > before) == inside);
        constexpr int64_t rows = 37, columns = 23;
        std::vector<double> x(rows * columns), got(columns), wanted(columns);
        for (double& each : x) each = draw::real();
        double total = 0;
        for (int64_t i = 0; i < columns; i++) {
            if (inside) total = 0;
            for (int64_t k = 0; k < rows; k++) total += x[static_cast<size_t>(k * columns + i)];
            wanted[static_cast<size_t>(i)] = total;
        }
        std::vector<Slot> slots(4);
        slots[0].p = x.data(), slots[1].p = got.data(), slots[2].i = columns, slots[3].i = rows;
        CHECK(code->run(slots.data(), nullptr) == 0);
        CHECK(got == wanted && slots[0].f == total);
    }
}

/// Counters near the ends of the numbers; the limit is one of them.
void ends_of_numbers() {
    Function function;
    Builder b(function);
    const Value data = b.parameter(Type::Address), first = b.parameter(Type::I64), limit = b.parameter(Type::I64);
    for_range(b, first, limit, [&](Value i) {
        const Value at = b.binary(Op::And, b.subtract(i, first), b.integer(31));
        (void)at;
        const Value place = b.subtract(i, first);
        b.store(Memory::I64, data, place, 8, 0, i, 1);
    });
    b.finish({});
    const int64_t before = widened;
    const std::unique_ptr<Code> code = compiled(function, true);
    CHECK(widened > before);
    for (int64_t rounds = 0; rounds < 14; rounds++)
        for (const int64_t from : {INT64_MIN, int64_t{-3}, INT64_MAX - rounds}) {
            int64_t got[20] = {};
            std::vector<Slot> slots(3);
            slots[0].p = got, slots[1].i = from, slots[2].i = from + rounds;
            CHECK(code->run(slots.data(), nullptr) == 0);
            bool right = true;
            for (int64_t i = 0; i < 20; i++) right = right && got[i] == (i < rounds ? from + i : 0);
            CHECK(right);
        }
    // None at all, with a limit below what four rounds before it wrap around.
    int64_t untouched = 7;
    std::vector<Slot> slots(3);
    slots[0].p = &untouched, slots[1].i = 5, slots[2].i = INT64_MIN;
    CHECK(code->run(slots.data(), nullptr) == 0 && untouched == 7);
}

/// Whether a poll that asks to leave is heard in the wide body.
void polls() {
    Function function;
    Builder b(function);
    const Value data = b.parameter(Type::Address), n = b.parameter(Type::I64);
    for_range(b, b.integer(0), n, [&](Value i) { b.store(Memory::F64, data, b.binary(Op::Min, i, i), 8, 0, b.convert(Type::F64, i), 1); });
    b.finish({});
    const int64_t before = widened;
    const std::unique_ptr<Code> code = compiled(function, true);
    CHECK(widened > before);
    std::vector<double> x(4000);
    std::vector<Slot> slots(std::max<size_t>(code->slots(), 2));
    slots[0].p = x.data(), slots[1].i = 4000;
    Asker asker;
    asker.counter = 10, asker.ask = [](Asker*) noexcept -> int64_t { return 1; };
    CHECK(code->run(slots.data(), &asker) == 99);
    CHECK(x[20] == 20 && x[3999] == 0);
}

} // namespace

int main(int count, char** words) {
    const uint64_t first = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1;
    const uint64_t programs = count > 2 ? std::strtoull(words[2], nullptr, 10) : 3000;
    for (uint64_t seed = first; seed < first + programs && failures < 5; seed++) try_one(seed);
    std::fprintf(stderr, "%lld of %llu programs widened\n", static_cast<long long>(widened), static_cast<unsigned long long>(programs));
    if (kindling::isa() == kindling::Isa::Baseline) { // has no vectors of four lanes: the programs ran as they are
        CHECK(widened == 0);
        return finish("test_scalar_lanes");
    }
    if (programs >= 1000) CHECK(widened > static_cast<int64_t>(programs / 20));
    which_loops();
    sums();
    ends_of_numbers();
    polls();
    return finish("test_scalar_lanes");
}
