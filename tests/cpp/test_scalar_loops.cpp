// Loops as a front end would write them for tensors' elements, with every index checked, against the same algorithms in C++:
// the same bits, in machine code and in the interpreter. `test_scalar_loops time` also says how long each takes.
#include <time.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "kernels/scalar/builder.h"
#include "kernels/scalar/code.h"
#include "kernels/scalar/evaluate.h"
#include "tests/cpp/check.h"
#include "tests/cpp/draw.h"

using namespace kindling::scalar;

namespace {

double seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); // others may run
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

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

bool fixed_strides; // neighbours lie side by side, and the function knows

/// A tensor of two dimensions: address, sizes, strides in bytes.
struct Matrix {
    Value data, rows, columns, row_stride, column_stride;
    Region region;
    Memory memory;
    static Matrix parameter(Builder& b, Memory memory, Region region) {
        Matrix m;
        m.data = b.parameter(Type::Address);
        m.rows = b.parameter(Type::I64), m.columns = b.parameter(Type::I64);
        m.row_stride = b.parameter(Type::I64);
        const Value given = b.parameter(Type::I64);
        m.column_stride = fixed_strides ? b.integer(memory_bytes(memory)) : given;
        m.memory = memory, m.region = region;
        return m;
    }
    Value at(Builder& b, Value i, Value k) const {
        const Value row = b.python_index(i, rows, 1, {i}), column = b.python_index(k, columns, 2, {k});
        return b.add(b.multiply(row, row_stride), b.multiply(column, column_stride));
    }
    Value load(Builder& b, Value i, Value k) const { return b.load(memory, data, at(b, i, k), 1, 0, region); }
    void store(Builder& b, Value i, Value k, Value value) const { b.store(memory, data, at(b, i, k), 1, 0, value, region); }
};
struct Vector {
    Value data, size, stride;
    Region region;
    Memory memory;
    static Vector parameter(Builder& b, Memory memory, Region region) {
        Vector v;
        v.data = b.parameter(Type::Address), v.size = b.parameter(Type::I64);
        const Value given = b.parameter(Type::I64);
        v.stride = fixed_strides ? b.integer(memory_bytes(memory)) : given;
        v.memory = memory, v.region = region;
        return v;
    }
    Value at(Builder& b, Value i) const { return b.multiply(b.python_index(i, size, 3, {i}), stride); }
    Value load(Builder& b, Value i) const { return b.load(memory, data, at(b, i), 1, 0, region); }
    void store(Builder& b, Value i, Value value) const { b.store(memory, data, at(b, i), 1, 0, value, region); }
};
struct Arguments {
    std::vector<Slot> slots;
    void add(int64_t i) { slots.push_back({i}); }
    void matrix(const void* data, int64_t rows, int64_t columns, int64_t bytes, int64_t gap = 1) {
        Slot slot;
        slot.p = data;
        slots.push_back(slot);
        add(rows), add(columns), add(columns * bytes * gap), add(bytes * gap);
    }
    void vector(const void* data, int64_t size, int64_t bytes) {
        Slot slot;
        slot.p = data;
        slots.push_back(slot);
        add(size), add(bytes);
    }
};

bool timing;
const char* dump;

/// Compiles the function for both executors; times them against `plain`.
void compare(const char* name, Function& function, const std::function<Arguments()>& arguments, const std::function<void()>& plain,
             const std::function<bool()>& equal, const std::function<void()>& reset) {
    if (std::string wrong = verify(function); !wrong.empty()) {
        std::fprintf(stderr, "%s: %s\n%s", name, wrong.c_str(), text(function).c_str());
        CHECK(false && "verifies");
        return;
    }
    double times[3];
    for (int way = 0; way < 2; way++) {
        Options options;
        options.native = way == 0;
        std::string trace;
        if (dump && way == 0 && std::string(dump) == name) options.trace = &trace, options.text = text;
        Function copy = function;
        const double before = seconds();
        const std::unique_ptr<Code> code = compile(std::move(copy), options);
        const double took = seconds() - before;
        if (timing && way == 0) std::fprintf(stderr, "%-22s compiled in %.0f us, %zu bytes", name, took * 1e6, code->bytes());
        std::fputs(trace.c_str(), stderr);
        times[way] = 1e9;
        for (int round = 0; round < (timing ? way ? 2 : 7 : 1); round++) {
            reset();
            Arguments given = arguments();
            given.slots.resize(std::max(given.slots.size(), code->slots()));
            Ears ears;
            const double start = seconds();
            const int64_t exit = code->run(given.slots.data(), &ears);
            times[way] = std::min(times[way], seconds() - start);
            CHECK(exit == 0);
            if (round == 0) CHECK(equal());
        }
    }
    if (!timing) return;
    times[2] = 1e9;
    for (int round = 0; round < 7; round++) {
        reset();
        const double start = seconds();
        plain();
        times[2] = std::min(times[2], seconds() - start);
    }
    std::fprintf(stderr, ": native %.3f ms, interpreter %.1f ms, C++ %.3f ms: %.2f times\n", times[0] * 1e3, times[1] * 1e3, times[2] * 1e3,
                 times[0] / times[2]);
}

template <class T> [[gnu::noinline]] void plain_product(const T* a, const T* b, T* c, int64_t n, int64_t m, int64_t k, int64_t gap) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) sum += static_cast<double>(a[(i * k + l) * gap]) * static_cast<double>(b[(l * m + j) * gap]);
            c[(i * m + j) * gap] = static_cast<T>(sum);
        }
}
template <class T> void product(const char* name, int64_t gap) {
    const Memory memory = sizeof(T) == 8 ? Memory::F64 : Memory::F32;
    Function f;
    Builder b(f);
    const Matrix x = Matrix::parameter(b, memory, 1), y = Matrix::parameter(b, memory, 2), z = Matrix::parameter(b, memory, 3);
    const auto wide = [&](Value v) { return b.convert(Type::F64, v); };
    const Variable sum = b.variable(Type::F64);
    for_range(b, b.integer(0), x.rows, [&](Value i) {
        for_range(b, b.integer(0), y.columns, [&](Value j) {
            b.set(sum, b.real(0));
            for_range(b, b.integer(0), x.columns,
                      [&](Value l) { b.set(sum, b.add(b.get(sum), b.multiply(wide(x.load(b, i, l)), wide(y.load(b, l, j))))); });
            z.store(b, i, j, b.convert(loaded_type(memory), b.get(sum)));
        });
    });
    b.finish({});
    const int64_t n = timing ? 150 : 7, m = n + 1, k = n + 2;
    std::vector<T> a(static_cast<size_t>(n * k * gap)), c(static_cast<size_t>(k * m * gap)), got(static_cast<size_t>(n * m * gap)),
        want = got;
    for (T& v : a) v = static_cast<T>(draw::real());
    for (T& v : c) v = static_cast<T>(draw::real());
    const auto plain = [&] { plain_product(a.data(), c.data(), want.data(), n, m, k, gap); };
    plain();
    compare(
        name, f,
        [&] {
            Arguments all;
            all.matrix(a.data(), n, k, sizeof(T), gap), all.matrix(c.data(), k, m, sizeof(T), gap),
                all.matrix(got.data(), n, m, sizeof(T), gap);
            return all;
        },
        plain, [&] { return got == want; }, [] {});
}

template <class T> [[gnu::noinline]] void plain_paths(T* d, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const T via = d[i * n + k] + d[k * n + j];
                if (via < d[i * n + j]) d[i * n + j] = via;
            }
}
template <class T> void paths(const char* name) {
    const Memory memory = std::is_same_v<T, double> ? Memory::F64 : Memory::I64;
    Function f;
    Builder b(f);
    const Matrix d = Matrix::parameter(b, memory, 1);
    for_range(b, b.integer(0), d.rows, [&](Value k) {
        for_range(b, b.integer(0), d.rows, [&](Value i) {
            for_range(b, b.integer(0), d.rows, [&](Value j) {
                const Value via = b.add(d.load(b, i, k), d.load(b, k, j));
                when(b, b.less(via, d.load(b, i, j)), [&] { d.store(b, i, j, via); });
            });
        });
    });
    b.finish({});
    const int64_t n = timing ? 180 : 9;
    std::vector<T> start(static_cast<size_t>(n * n)), got, want;
    for (T& v : start) v = static_cast<T>(draw::integer(1, 1000));
    want = start;
    plain_paths(want.data(), n);
    const std::vector<T> right = want;
    compare(
        name, f,
        [&] {
            Arguments all;
            all.matrix(got.data(), n, n, sizeof(T));
            return all;
        },
        [&] { plain_paths(want.data(), n); }, [&] { return got == right; }, [&] { got = start, want = start; });
}

[[gnu::noinline]] int64_t plain_edits(const int64_t* a, int64_t n, const int64_t* b, int64_t m, int64_t* before, int64_t* now) {
    for (int64_t j = 0; j <= m; j++) before[j] = j;
    for (int64_t i = 1; i <= n; i++) {
        now[0] = i;
        for (int64_t j = 1; j <= m; j++) {
            const int64_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            now[j] = std::min(std::min(before[j] + 1, now[j - 1] + 1), before[j - 1] + cost);
        }
        for (int64_t j = 0; j <= m; j++) before[j] = now[j];
    }
    return before[m];
}
void edits() {
    Function f;
    Builder b(f);
    const Vector x = Vector::parameter(b, Memory::I64, 1), y = Vector::parameter(b, Memory::I64, 2),
                 before = Vector::parameter(b, Memory::I64, 3), now = Vector::parameter(b, Memory::I64, 4);
    const Value one = b.integer(1);
    const Value m1 = b.add(y.size, one), n1 = b.add(x.size, one);
    for_range(b, b.integer(0), m1, [&](Value j) { before.store(b, j, j); });
    for_range(b, one, n1, [&](Value i) {
        now.store(b, b.integer(0), i);
        for_range(b, one, m1, [&](Value j) {
            const Value cost = b.select(b.equal(x.load(b, b.subtract(i, one)), y.load(b, b.subtract(j, one))), b.integer(0), one);
            const Value least = b.binary(Op::Min, b.add(before.load(b, j), one), b.add(now.load(b, b.subtract(j, one)), one));
            now.store(b, j, b.binary(Op::Min, least, b.add(before.load(b, b.subtract(j, one)), cost)));
        });
        for_range(b, b.integer(0), m1, [&](Value j) { before.store(b, j, now.load(b, j)); });
    });
    b.finish({before.load(b, y.size)});
    const int64_t n = timing ? 1000 : 20, m = n + 3;
    std::vector<int64_t> s(static_cast<size_t>(n)), t(static_cast<size_t>(m)), u(static_cast<size_t>(m) + 1), v = u, want_u = u, want_v = u;
    for (int64_t& c : s) c = draw::integer(0, 3);
    for (int64_t& c : t) c = draw::integer(0, 3);
    const auto plain = [&] { plain_edits(s.data(), n, t.data(), m, want_u.data(), want_v.data()); };
    plain();
    compare(
        "edit distance", f,
        [&] {
            Arguments all;
            all.vector(s.data(), n, 8), all.vector(t.data(), m, 8), all.vector(u.data(), m + 1, 8), all.vector(v.data(), m + 1, 8);
            return all;
        },
        plain, [&] { return u == want_u && v == want_v; }, [] {});
}

[[gnu::noinline]] void plain_mandelbrot(int64_t* out, int64_t h, int64_t w, int64_t most) {
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            const double cx = -2.0 + 3.0 * static_cast<double>(j) / static_cast<double>(w),
                         cy = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(h);
            double x = 0, y = 0;
            int64_t n = 0;
            while (n < most && x * x + y * y <= 4.0) {
                const double t = x * x - y * y + cx;
                y = 2.0 * x * y + cy;
                x = t;
                n++;
            }
            out[i * w + j] = n;
        }
}
void mandelbrot() {
    Function f;
    Builder b(f);
    const Matrix out = Matrix::parameter(b, Memory::I64, 1);
    const Value most = b.parameter(Type::I64);
    const Variable x = b.variable(Type::F64), y = b.variable(Type::F64), n = b.variable(Type::I64);
    const auto real = [&](Value v) { return b.convert(Type::F64, v); };
    for_range(b, b.integer(0), out.rows, [&](Value i) {
        for_range(b, b.integer(0), out.columns, [&](Value j) {
            const Value cx = b.add(b.real(-2), b.divide(b.multiply(b.real(3), real(j)), real(out.columns)));
            const Value cy = b.add(b.real(-1), b.divide(b.multiply(b.real(2), real(i)), real(out.rows)));
            b.set(x, b.real(0)), b.set(y, b.real(0)), b.set(n, b.integer(0));
            const Block head = b.block(), second = b.block(), body = b.block(), done = b.block();
            b.jump(head);
            b.enter(head);
            b.branch(b.less(b.get(n), most), second, done);
            b.seal(second);
            b.enter(second);
            const Value xx = b.multiply(b.get(x), b.get(x)), yy = b.multiply(b.get(y), b.get(y));
            b.branch(b.binary(Op::Le, b.add(xx, yy), b.real(4)), body, done);
            b.seal(body);
            b.enter(body);
            const Value t = b.add(b.subtract(b.multiply(b.get(x), b.get(x)), b.multiply(b.get(y), b.get(y))), cx);
            b.set(y, b.add(b.multiply(b.multiply(b.real(2), b.get(x)), b.get(y)), cy));
            b.set(x, t);
            b.set(n, b.add(b.get(n), b.integer(1)));
            b.poll(99);
            b.jump(head);
            b.seal(head), b.seal(done);
            b.enter(done);
            out.store(b, i, j, b.get(n));
        });
    });
    b.finish({});
    const int64_t h = timing ? 150 : 10, w = h + 7, limit = 200;
    std::vector<int64_t> got(static_cast<size_t>(h * w)), want = got;
    const auto plain = [&] { plain_mandelbrot(want.data(), h, w, limit); };
    plain();
    compare(
        "mandelbrot", f,
        [&] {
            Arguments all;
            all.matrix(got.data(), h, w, 8), all.add(limit);
            return all;
        },
        plain, [&] { return got == want; }, [] {});
}

[[gnu::noinline]] void plain_life(const int64_t* grid, int64_t* next, int64_t h, int64_t w) {
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            int64_t alive = 0;
            for (int64_t di = -1; di < 2; di++)
                for (int64_t dj = -1; dj < 2; dj++)
                    if (di != 0 || dj != 0) {
                        const int64_t y = (i + di + h) % h, x = (j + dj + w) % w;
                        alive += grid[y * w + x];
                    }
            next[i * w + j] = alive == 3 || (alive == 2 && grid[i * w + j] == 1) ? 1 : 0;
        }
}
void life() {
    Function f;
    Builder b(f);
    const Matrix grid = Matrix::parameter(b, Memory::I64, 1), next = Matrix::parameter(b, Memory::I64, 2);
    const Variable alive = b.variable(Type::I64), result = b.variable(Type::I64);
    const Value zero = b.integer(0), minus = b.integer(-1), two = b.integer(2);
    for_range(b, zero, grid.rows, [&](Value i) {
        for_range(b, zero, grid.columns, [&](Value j) {
            b.set(alive, zero);
            for_range(b, minus, two, [&](Value di) {
                for_range(b, minus, two, [&](Value dj) {
                    when(b, b.binary(Op::Or, b.binary(Op::Ne, di, zero), b.binary(Op::Ne, dj, zero)), [&] {
                        const Value y = b.binary(Op::FloorMod, b.add(b.add(i, di), grid.rows), grid.rows);
                        const Value x = b.binary(Op::FloorMod, b.add(b.add(j, dj), grid.columns), grid.columns);
                        b.set(alive, b.add(b.get(alive), grid.load(b, y, x)));
                    });
                });
            });
            b.set(result, zero);
            const Value lives = b.binary(Op::And, b.equal(b.get(alive), two), b.equal(grid.load(b, i, j), b.integer(1)));
            when(b, b.binary(Op::Or, b.equal(b.get(alive), b.integer(3)), lives), [&] { b.set(result, b.integer(1)); });
            next.store(b, i, j, b.get(result));
        });
    });
    b.finish({});
    const int64_t h = timing ? 150 : 9, w = h + 4;
    std::vector<int64_t> start(static_cast<size_t>(h * w)), got(start.size()), want = got;
    for (int64_t& v : start) v = draw::integer(0, 1);
    const auto plain = [&] { plain_life(start.data(), want.data(), h, w); };
    plain();
    compare(
        "life", f,
        [&] {
            Arguments all;
            all.matrix(start.data(), h, w, 8), all.matrix(got.data(), h, w, 8);
            return all;
        },
        plain, [&] { return got == want; }, [] {});
}

/// A sum over an array: what the order of additions allows, and no more.
[[gnu::noinline]] double plain_sum(const double* x, const double* y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > 0) sum += x[i] * y[i];
    return sum;
}
void sum() {
    Function f;
    Builder b(f);
    const Vector x = Vector::parameter(b, Memory::F64, 1), y = Vector::parameter(b, Memory::F64, 2);
    const Variable total = b.variable(Type::F64);
    b.set(total, b.real(0));
    for_range(b, b.integer(0), x.size, [&](Value i) {
        when(b, b.binary(Op::Gt, x.load(b, i), b.real(0)),
             [&] { b.set(total, b.add(b.get(total), b.multiply(x.load(b, i), y.load(b, i)))); });
    });
    b.store(Memory::F64, x.data, {}, 1, 0, b.get(total), 1);
    b.finish({});
    const int64_t n = timing ? 300000 : 50;
    std::vector<double> p(static_cast<size_t>(n)), q(p);
    for (double& v : p) v = draw::real() + 0.9;
    for (double& v : q) v = draw::real();
    const double first = p[0];
    double want = plain_sum(p.data(), q.data(), n);
    volatile double sink;
    compare(
        "sum of some products", f,
        [&] {
            Arguments all;
            all.vector(p.data(), n, 8), all.vector(q.data(), n, 8);
            return all;
        },
        [&] { sink = plain_sum(p.data(), q.data(), n); }, [&] { return p[0] == want; }, [&] { p[0] = first; });
    (void)sink;
}

/// The longest of Collatz's sequences: whole numbers alone, a loop of unknown length.
[[gnu::noinline]] int64_t plain_collatz(int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t x = i, steps = 0;
        while (x != 1) {
            x = floor_mod(x, 2) == 0 ? floor_div(x, 2) : 3 * x + 1;
            steps++;
        }
        if (steps > best) best = steps;
    }
    return best;
}
void collatz() {
    Function f;
    Builder b(f);
    const Value n = b.parameter(Type::I64), out = b.parameter(Type::Address);
    const Variable best = b.variable(Type::I64), x = b.variable(Type::I64), steps = b.variable(Type::I64);
    b.set(best, b.integer(0));
    for_range(b, b.integer(1), n, [&](Value i) {
        b.set(x, i), b.set(steps, b.integer(0));
        const Block head = b.block(), body = b.block(), even = b.block(), odd = b.block(), join = b.block(), done = b.block();
        b.jump(head);
        b.enter(head);
        b.branch(b.binary(Op::Ne, b.get(x), b.integer(1)), body, done);
        b.seal(body);
        b.enter(body);
        b.branch(b.equal(b.binary(Op::FloorMod, b.get(x), b.integer(2)), b.integer(0)), even, odd);
        b.seal(even), b.seal(odd);
        b.enter(even);
        b.set(x, b.binary(Op::FloorDiv, b.get(x), b.integer(2)));
        b.jump(join);
        b.enter(odd);
        b.set(x, b.add(b.multiply(b.integer(3), b.get(x)), b.integer(1)));
        b.jump(join);
        b.seal(join);
        b.enter(join);
        b.set(steps, b.add(b.get(steps), b.integer(1)));
        b.poll(99);
        b.jump(head);
        b.seal(head), b.seal(done);
        b.enter(done);
        when(b, b.binary(Op::Gt, b.get(steps), b.get(best)), [&] { b.set(best, b.get(steps)); });
    });
    b.store(Memory::I64, out, {}, 1, 0, b.get(best));
    b.finish({});
    const int64_t most = timing ? 2000 : 100;
    int64_t got = 0, want = plain_collatz(most);
    volatile int64_t sink;
    compare(
        "collatz", f,
        [&] {
            Arguments all;
            all.add(most);
            all.slots.push_back({});
            all.slots.back().p = &got;
            return all;
        },
        [&] { sink = plain_collatz(most); }, [&] { return got == want; }, [] {});
    (void)sink;
}

} // namespace

int main(int count, char** words) {
    timing = count > 1;
    dump = count > 2 ? words[2] : nullptr;
    product<double>("product f64 strided", 3);
    for (bool fixed : {false, true}) {
        fixed_strides = fixed;
        if (timing) std::fprintf(stderr, "strides %s:\n", fixed ? "known" : "given at the call");
        product<double>("product f64", 1);
        product<float>("product f32", 1);
        paths<double>("paths f64");
        paths<int64_t>("paths i64");
        edits();
        mandelbrot();
        life();
        sum();
    }
    collatz();
    return finish("test_scalar_loops");
}
