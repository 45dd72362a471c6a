// Scalar functions piece by piece: the text form, the verifier, what each pass does and must not do, calls, exits, polls, and
// the interpreter where machine code is not allowed.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/error.h"
#include "kernels/scalar/builder.h"
#include "kernels/scalar/code.h"
#include "kernels/scalar/passes.h"
#include "runtime/threads.h"
#include "tests/cpp/check.h"

using namespace kindling::scalar;

namespace {

int times(const std::string& text, const std::string& what) {
    int count = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) count++;
    return count;
}
void expect(const std::string& have, const std::string& want) {
    if (have == want) return;
    std::fprintf(stderr, "have:\n%swanted:\n%s", have.c_str(), want.c_str());
    CHECK(false && "the text is as wanted");
}
std::string after(Function function, const std::function<void(Function&)>& passes) {
    tidy(function);
    passes(function);
    const std::string wrong = verify(function);
    if (!wrong.empty()) std::fprintf(stderr, "%s\n%s", wrong.c_str(), text(function).c_str());
    CHECK(wrong.empty());
    return text(function);
}

void for_range(Builder& b, Value limit, const std::function<void(Value)>& body) {
    const Variable i = b.variable(Type::I64);
    b.set(i, b.integer(0));
    const Block head = b.block(), inside = b.block(), done = b.block();
    b.jump(head);
    b.enter(head);
    b.branch(b.less(b.get(i), limit), inside, done);
    b.seal(inside);
    b.enter(inside);
    body(b.get(i));
    b.set(i, b.add(b.get(i), b.integer(1)));
    b.jump(head);
    b.seal(head), b.seal(done);
    b.enter(done);
}

Slot whole(int64_t i) { return {i}; }
Slot real(double f) {
    Slot slot;
    slot.f = f;
    return slot;
}
Slot pointer(const void* p) {
    Slot slot;
    slot.p = p;
    return slot;
}

/// Runs it in every way; the exit's code, with the first slot in `first`.
int64_t run(const Function& function, std::vector<Slot> slots, Slot* first = nullptr, Asker* asker = nullptr) {
    int64_t code = 0, bits = 0;
    for (int way = 0; way < 4; way++) {
        Options options;
        options.native = way & 1, options.optimise = way & 2;
        Function copy = function;
        const std::unique_ptr<Code> made = compile(std::move(copy), options);
        std::vector<Slot> given = slots;
        given.resize(std::max(given.size(), made->slots()) + 1);
        const int64_t left = made->run(given.data(), asker);
        if (way) CHECK(left == code && (!first || given[0].i == bits));
        code = left, bits = given[0].i;
        if (first) *first = given[0];
    }
    return code;
}

/// The example of builder.h.
Function sum_of_array() {
    Function f;
    Builder b(f);
    const Value data = b.parameter(Type::Address), n = b.parameter(Type::I64);
    const Variable sum = b.variable(Type::F64);
    b.set(sum, b.real(0));
    for_range(b, n, [&](Value i) {
        const Value before = b.get(sum);
        b.set(sum, b.add(before, b.load(Memory::F64, data, i, 8)));
    });
    b.finish({b.get(sum)});
    return f;
}

void test_text() {
    const Function f = sum_of_array();
    CHECK(verify(f).empty());
    expect(text(f), "function (address, i64)\n"
                    "block0:\n"
                    "  v1 = parameter.address 0\n"
                    "  v2 = parameter.i64 1\n"
                    "  jump block1\n"
                    "block1:  from block0, block2\n"
                    "  v5 = phi.i64 0, v11\n"
                    "  v7 = phi.f64 0, v9\n"
                    "  v6 = lt.bool v5, v2\n"
                    "  branch v6, block2, block3\n"
                    "block2:  from block1\n"
                    "  v8 = load.f64 [v1 + v5*8]\n"
                    "  v9 = add.f64 v7, v8\n"
                    "  v11 = add.i64 v5, 1\n"
                    "  jump block1\n"
                    "block3:  from block1\n"
                    "  finish(v7)\n");
    const double data[] = {1, 2, 3.5};
    Slot got;
    CHECK(run(f, {pointer(data), whole(3)}, &got) == 0 && got.f == 6.5);
    CHECK(run(f, {pointer(data), whole(0)}, &got) == 0 && got.f == 0);
}

void test_verify() {
    Function f = sum_of_array();
    f.blocks[3].nodes.push_back(f.blocks[2].nodes[0]);
    CHECK(verify(f).find("stands twice") != std::string::npos);
    f = sum_of_array();
    std::swap(f.blocks[2].nodes[0], f.blocks[2].nodes[1]);
    CHECK(verify(f).find("before it is known") != std::string::npos);
    f = sum_of_array();
    f.blocks[2].kind = BasicBlock::Open;
    CHECK(!verify(f).empty());
    f = sum_of_array();
    f.nodes[9].input[1] = 2;
    CHECK(verify(f).find("add.f64 of f64, i64") != std::string::npos);
    Function other;
    Builder b(other);
    CHECK_THROWS(b.add(b.integer(1), b.real(1)), "add.i64 of i64, f64");
    CHECK_THROWS(b.branch(b.integer(1), b.block(), b.block()), "type(condition)");
    CHECK_THROWS(b.store(Memory::F64, b.address(nullptr), {}, 1, 0, b.integer(1)), "loaded_type");
}

void test_unreachable() {
    // What follows a return is dropped; variables that were never set read as 0.
    Function f;
    Builder b(f);
    const Variable v = b.variable(Type::I64);
    b.finish({b.get(v)});
    CHECK(b.ended());
    b.set(v, b.add(b.get(v), b.integer(1)));
    b.finish({b.get(v)});
    CHECK(verify(f).empty());
    Slot got;
    CHECK(run(f, {}, &got) == 0 && got.i == 0);
    expect(after(f, [](Function&) {}), "function ()\nblock0:\n  finish(0)\n");
}

void test_algebra() {
    Function f;
    Builder b(f);
    const Value x = b.parameter(Type::I64), y = b.parameter(Type::F64), p = b.parameter(Type::Bool);
    const Value less = b.less(x, b.integer(7)), up = b.add(x, b.integer(3)), down = b.add(up, b.integer(-3));
    b.leave(1,
            {b.multiply(x, b.integer(8)), b.binary(Op::FloorDiv, x, b.integer(4)), b.binary(Op::FloorMod, x, b.integer(4)), down,
             b.subtract(x, x), b.divide(y, b.real(4)), b.add(y, b.real(0)), b.subtract(y, b.real(0)), b.unary(Op::Not, b.unary(Op::Not, p)),
             b.select(less, x, b.integer(7)), b.unary(Op::Not, less), b.select(p, b.boolean(true), b.boolean(false)),
             b.binary(Op::Eq, b.add(x, b.integer(1)), b.integer(3)), b.add(x, x), b.add(x, x)});
    expect(after(f, merge_values), "function (i64, f64, bool)\n"
                                   "block0:\n"
                                   "  v1 = parameter.i64 0\n"
                                   "  v2 = parameter.f64 1\n"
                                   "  v3 = parameter.bool 2\n"
                                   "  v5 = lt.bool v1, 7\n"
                                   "  v7 = add.i64 v1, 3\n"
                                   "  v11 = shl.i64 v1, 3\n"
                                   "  v13 = shr.i64 v1, 2\n"
                                   "  v14 = and.i64 v1, 3\n"
                                   "  v17 = mul.f64 v2, 0.25\n"
                                   "  v19 = add.f64 v2, 0\n"
                                   "  v21 = not.bool v3\n"
                                   "  v23 = min.i64 v1, 7\n"
                                   "  v24 = ge.bool v1, 7\n"
                                   "  v29 = add.i64 v1, 1\n"
                                   "  v30 = eq.bool v1, 2\n"
                                   "  v31 = add.i64 v1, v1\n"
                                   "  exit 1(v11, v13, v14, v1, 0, v17, v19, v2, v3, v23, v24, v3, v30, v31, v31)\n");
}

void test_loads() {
    // The second load of the same place goes, but not past a store that may have changed it.
    Function f;
    Builder b(f);
    const Value p = b.parameter(Type::Address), q = b.parameter(Type::Address), x = b.parameter(Type::F64);
    const Value first = b.load(Memory::F64, p, {}, 1, 8, 1);
    b.store(Memory::F64, q, {}, 1, 0, x, 2);
    const Value second = b.load(Memory::F64, p, {}, 1, 8, 1), stored = b.load(Memory::F64, q, {}, 1, 0, 2);
    b.store(Memory::F64, q, {}, 1, 0, x, 0);
    const Value third = b.load(Memory::F64, p, {}, 1, 8, 1);
    b.finish({first, second, stored, third});
    const std::string have = after(f, merge_values);
    CHECK(times(have, "load.f64") == 2 && times(have, "finish(v4, v4, v3, v") == 1);
}

/// for i in range(n): for j in range(m): total += x[i] * y[j], with bounds of their own.
Function rows(bool same_sizes, bool store) {
    Function f;
    Builder b(f);
    const Value x = b.parameter(Type::Address), n = b.parameter(Type::I64), y = b.parameter(Type::Address), m = b.parameter(Type::I64);
    const Value x_size = same_sizes ? n : b.parameter(Type::I64);
    const Variable sum = b.variable(Type::F64);
    b.set(sum, b.real(0));
    for_range(b, n, [&](Value i) {
        for_range(b, m, [&](Value j) {
            const Value a = b.load(Memory::F64, x, b.python_index(i, x_size, 1, {i}), 8, 0, 1);
            const Value c = b.load(Memory::F64, y, b.python_index(j, m, 2, {j}), 8, 0, 2);
            b.set(sum, b.add(b.get(sum), b.multiply(a, c)));
            if (store) b.store(Memory::F64, x, b.python_index(i, x_size, 1, {i}), 8, 0, b.get(sum), 1);
        });
    });
    b.finish({b.get(sum)});
    return f;
}

void test_checks() {
    // Known sizes: no check is left, no negative index is thought of, and x[i] is loaded in front of the inner loop.
    const auto decide = [](Function& f) { merge_values(f), decide_checks(f), tidy(f), merge_values(f); };
    std::string have = after(rows(true, false), decide);
    CHECK(times(have, "index") == 0 && times(have, "select") == 0 && times(have, "lt.bool") == 2);
    have = after(rows(false, false), decide);
    CHECK(times(have, "index") == 1 && times(have, "select") == 0);
    have = after(rows(true, false), optimise);
    CHECK(have.find("region 1") < have.find("region 2") && have.find("jump", have.find("region 1")) < have.find("region 2"));
    // A store in the loop keeps the load there.
    have = after(rows(true, true), [&](Function& f) { decide(f), hoist(f, true); });
    const size_t load = have.find("load.f64 [v1"), inner = have.rfind("lt.bool");
    CHECK(load != std::string::npos && load > inner);
    // A load never passes its check: the check stays in the loop, and so does the load.
    have = after(rows(false, false), optimise);
    CHECK(have.find("load.f64 [v1") > have.find("index"));
    // Values at the end of the numbers: no check may be thought to hold because a sum wraps.
    Function f;
    Builder b(f);
    const Value i = b.parameter(Type::I64), n = b.parameter(Type::I64);
    const Block yes = b.block(), no = b.block();
    b.branch(b.binary(Op::Ge, i, b.integer(0)), yes, no);
    b.seal(yes), b.seal(no);
    b.enter(yes);
    b.finish({b.index(b.add(i, b.integer(1)), n, 5)});
    b.enter(no);
    b.finish({b.integer(-1)});
    Slot got;
    CHECK(run(f, {whole(INT64_MAX), whole(10)}, &got) == 5);
    CHECK(run(f, {whole(8), whole(10)}, &got) == 0 && got.i == 9);
}

void test_pinned() {
    // while go: if k < size: sum += x[k]; size shrinks: the load must stay behind its test, though nothing in it changes.
    Function f;
    Builder b(f);
    const Value x = b.parameter(Type::Address), k = b.parameter(Type::I64), n = b.parameter(Type::I64);
    const Variable sum = b.variable(Type::F64);
    b.set(sum, b.real(0));
    for_range(b, n, [&](Value i) {
        const Block yes = b.block(), join = b.block();
        const Value size = b.subtract(n, i);
        b.branch(b.binary(Op::And, b.less(k, size), b.binary(Op::Ge, k, b.integer(0))), yes, join);
        b.seal(yes);
        b.enter(yes);
        b.set(sum, b.add(b.get(sum), b.load(Memory::F64, x, b.index(k, size, 4), 8)));
        b.jump(join);
        b.seal(join);
        b.enter(join);
    });
    b.finish({b.get(sum)});
    const std::string have = after(f, [](Function& g) { merge_values(g), decide_checks(g), tidy(g), merge_values(g), hoist(g, true); });
    CHECK(times(have, "index") == 0 && times(have, "proved") == 1 && have.find("load") > have.find("proved"));
    const double data[] = {1, 2, 4};
    Slot got;
    CHECK(run(f, {pointer(data), whole(1), whole(3)}, &got) == 0 && got.f == 4);
    CHECK(run(f, {pointer(nullptr), whole(1) /* never read */, whole(1)}, &got) == 0 && got.f == 0);
    CHECK(run(f, {pointer(nullptr), whole(int64_t{1} << 50), whole(3)}, &got) == 0 && got.f == 0);
}

void test_order() {
    // What was stored before a check fails stays, what comes after does not happen.
    Function f;
    Builder b(f);
    const Value x = b.parameter(Type::Address), n = b.parameter(Type::I64), size = b.parameter(Type::I64);
    for_range(b, n, [&](Value i) {
        b.store(Memory::I64, x, i, 8, 0, b.integer(1));
        b.index(b.integer(2), size, 7, {i, size});
        b.store(Memory::I64, x, i, 8, 32, b.integer(1));
    });
    b.finish({});
    for (int way = 0; way < 4; way++) {
        int64_t memory[8] = {};
        Options options;
        options.native = way & 1, options.optimise = way & 2;
        Function copy = f;
        const auto code = compile(std::move(copy), options);
        Slot slots[4] = {pointer(memory), whole(3), whole(2)};
        CHECK(code->slots() == 3 && code->run(slots, nullptr) == 7 && slots[0].i == 0 && slots[1].i == 2);
        CHECK(memory[0] == 1 && memory[1] == 0 && memory[4] == 0);
    }
}

// ---- calls

struct List {
    int64_t* data;
    int64_t size, room;
};
void push(List* list, int64_t value) noexcept {
    if (list->size == list->room) {
        list->room = list->room * 2 + 1;
        list->data = static_cast<int64_t*>(std::realloc(list->data, static_cast<size_t>(list->room) * sizeof(int64_t)));
    }
    list->data[list->size++] = value;
}
double many(int64_t a, double b, int64_t c, double d, bool e, float f, int64_t g, const void* h, double i, double j, double k, double l,
            double m) noexcept {
    return static_cast<double>(a - c + g) + b - d + (e ? 100 : 0) + static_cast<double>(f) + (h ? 1000 : 0) + i * j - k * l + m;
}

void test_calls() {
    // A list that grows: its data may move at each push, so it is loaded again. Before is summed what was pushed last.
    Function f;
    Builder b(f);
    const Value list = b.parameter(Type::Address), n = b.parameter(Type::I64);
    const Variable sum = b.variable(Type::I64);
    b.set(sum, b.integer(0));
    const Callee pushes = callee("push", push, Effect::Writes, 1);
    for_range(b, n, [&](Value i) {
        b.call(pushes, {list, b.multiply(i, i)});
        const Value data = b.load(Memory::Address, list, {}, 1, 0, 1), size = b.load(Memory::I64, list, {}, 1, 8, 1);
        b.set(sum, b.add(b.get(sum), b.load(Memory::I64, data, b.python_index(b.integer(-1), size, 1), 8, 0, 1)));
    });
    b.finish({b.get(sum)});
    for (int way = 0; way < 4; way++) {
        List memory{};
        Options options;
        options.native = way & 1, options.optimise = way & 2;
        Function copy = f;
        const auto code = compile(std::move(copy), options);
        Slot slots[2] = {pointer(&memory), whole(1000)};
        CHECK(code->run(slots, nullptr) == 0 && slots[0].i == 332833500 && memory.size == 1000);
        std::free(memory.data);
    }
    Function g;
    Builder c(g);
    const Value x = c.parameter(Type::F64), y = c.parameter(Type::I64);
    const Callee big = callee("many", many, Effect::Pure);
    c.finish({c.call(big, {y, x, c.integer(5), c.real(2), c.boolean(true), c.convert(Type::F32, x), c.integer(7), c.address(&failures), x,
                           x, c.real(3), x, c.real(0.5)})});
    Slot got;
    CHECK(run(g, {real(1.5), whole(11)}, &got) == 0 && got.f == many(11, 1.5, 5, 2, true, 1.5f, 7, &failures, 1.5, 1.5, 3, 1.5, 0.5));
    CHECK_THROWS(c.call(big, {c.integer(1), c.integer(2), c.integer(3), c.integer(4), c.integer(5), c.integer(6), c.integer(7)}),
                 "count - real");
}

// ---- polls

int heard;
void stop() {
    heard++;
    if (heard >= 2) kindling::fail(kindling::ErrorKind::Runtime, "stopped");
}

void test_polls() {
    // An endless loop hears signals: the second time the host wants to stop.
    for (int nested = 0; nested < 2; nested++)
        for (int way = 0; way < 4; way++) {
            Function f;
            Builder b(f);
            const Variable i = b.variable(Type::I64);
            const Block head = b.block();
            b.set(i, b.parameter(Type::I64));
            b.jump(head);
            b.enter(head);
            if (nested) for_range(b, b.integer(10), [&](Value k) { b.set(i, b.add(b.get(i), k)), b.poll(9, {b.get(i)}); });
            b.set(i, b.add(b.get(i), b.integer(1)));
            b.poll(9, {b.get(i)});
            b.jump(head);
            b.seal(head);
            Options options;
            options.native = way & 1, options.optimise = way & 2;
            const auto code = compile(std::move(f), options);
            heard = 0;
            kindling::handle_signals = stop;
            Ears ears;
            Slot slots[2] = {whole(5), whole(0)};
            CHECK(code->run(slots, &ears) == 9);
            kindling::handle_signals = nullptr;
            CHECK(heard == 2 && slots[0].i > 1000);
            bool thrown = false;
            try {
                if (ears.error) std::rethrow_exception(ears.error);
            } catch (const kindling::Error& error) { thrown = std::string(error.what()) == "stopped"; }
            CHECK(thrown);
        }
}

/// Many values alive at once, in both kinds of registers, over a loop and a call.
void test_pressure() {
    Function f;
    Builder b(f);
    const Value n = b.parameter(Type::I64), x = b.parameter(Type::F64);
    std::vector<Variable> whole_ones, real_ones;
    for (int k = 0; k < 30; k++) {
        whole_ones.push_back(b.variable(Type::I64)), real_ones.push_back(b.variable(Type::F64));
        b.set(whole_ones.back(), b.add(n, b.integer(k))), b.set(real_ones.back(), b.add(x, b.real(k)));
    }
    for_range(b, n, [&](Value i) {
        for (size_t k = 0; k < 30; k++) {
            const size_t next = (k + 1) % 30; // they change places: cycles of moves
            const Value a = b.get(whole_ones[k]), c = b.get(real_ones[k]);
            b.set(whole_ones[k], b.get(whole_ones[next])), b.set(whole_ones[next], b.add(a, i));
            b.set(real_ones[k], b.get(real_ones[next])), b.set(real_ones[next], b.multiply(c, b.real(1.25)));
        }
        b.set(real_ones[3],
              b.call(callee("sqrt", static_cast<double (*)(double)>(std::sqrt), Effect::Pure), {b.unary(Op::Abs, b.get(real_ones[3]))}));
    });
    Value all = b.integer(0), sum = b.real(0);
    for (size_t k = 0; k < 30; k++) {
        all = b.add(b.multiply(all, b.integer(3)), b.get(whole_ones[k]));
        sum = b.add(b.multiply(sum, b.real(0.5)), b.get(real_ones[k]));
    }
    b.finish({b.bits(Type::I64, sum), all});
    int64_t w[30], want = 0;
    double r[30], total = 0;
    for (int k = 0; k < 30; k++) w[k] = 9 + k, r[k] = 0.75 + k;
    for (int64_t i = 0; i < 9; i++) {
        for (size_t k = 0; k < 30; k++) {
            const size_t next = (k + 1) % 30;
            const int64_t a = w[k];
            const double c = r[k];
            w[k] = w[next], w[next] = a + i, r[k] = r[next], r[next] = c * 1.25;
        }
        r[3] = std::sqrt(std::fabs(r[3]));
    }
    for (int k = 0; k < 30; k++) want = want * 3 + w[k], total = total * 0.5 + r[k];
    Slot got;
    CHECK(run(f, {whole(9), real(0.75)}, &got) == 0 && got.f == total);
    CHECK(want != 0);
}

void test_refused() {
    // In a process whose processor has no AVX2, as far as it knows.
    const pid_t child = fork();
    if (child == 0) {
        setenv("KINDLING_ISA", "baseline", 1);
        Function f = sum_of_array();
        const auto code = compile(std::move(f));
        const double data[] = {1, 2, 3.5};
        Slot slots[2] = {pointer(data), whole(3)};
        _exit(!code->native() && code->run(slots, nullptr) == 0 && slots[0].f == 6.5 ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

} // namespace

int main() {
    test_refused(); // before this process has looked
    test_text();
    test_verify();
    test_unreachable();
    test_algebra();
    test_loads();
    test_checks();
    test_pinned();
    test_order();
    test_calls();
    test_polls();
    test_pressure();
    return finish("test_scalar");
}
