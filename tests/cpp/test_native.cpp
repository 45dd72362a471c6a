// The native executor around its code: when it compiles, what it shares and how much it keeps, several threads at once,
// memory that may not become executable, the trace, the verifier, kernels with many operands and many values.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/loop.h"
#include "kernels/native/lanes.h"
#include "kernels/native/native.h"
#include "kernels/symbol.h"
#include "kernels/tile/move.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

void run_flat(const Expression& expression, std::vector<std::vector<float>>& outputs, std::vector<std::vector<float>>& inputs) {
    int64_t n = static_cast<int64_t>(outputs[0].size()), stride = 4;
    std::vector<LoopOperand> operands;
    for (auto* arrays : {&outputs, &inputs})
        for (std::vector<float>& array : *arrays) operands.push_back({array.data(), DType::Float32, &stride});
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = 1;
    kernel.sizes = &n;
    kernel.output_count = static_cast<int>(outputs.size());
    kernel.input_count = static_cast<int>(inputs.size());
    kernel.operands = operands.data();
    run(kernel);
}

std::vector<float> ramp(int64_t n, double from = -3) {
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(from + 0.01 * static_cast<double>(i));
    return values;
}

/// x * sigmoid(x) + c: several steps, and a kernel of its own for each c.
Expression silu(double c) {
    ExpressionBuilder builder;
    Sym x = builder.input(DType::Float32);
    builder.output(x * sigmoid(x) + c);
    return builder.finish();
}

std::vector<float> result(const Expression& expression, NativeMode mode, int64_t n = 1003) {
    set_native(mode);
    std::vector<std::vector<float>> in{ramp(n)}, out{std::vector<float>(static_cast<size_t>(n))};
    run_flat(expression, out, in);
    return out[0];
}

int executable_mappings(bool writable) {
    std::FILE* file = std::fopen("/proc/self/maps", "r");
    char text[512];
    int count = 0;
    while (file && std::fgets(text, sizeof text, file)) {
        const char* rights = std::strchr(text, ' ');
        bool anonymous = !std::strchr(text, '/') && !std::strchr(text, '[');
        if (rights && rights[3] == 'x' && anonymous && (rights[2] == 'w') == writable) count++;
    }
    if (file) std::fclose(file);
    return count;
}

void test_when() {
    Expression expression = silu(0.5);
    int64_t before = native_kernel_count();
    std::vector<float> want = result(expression, NativeMode::Off);
    CHECK(native_kernel_count() == before);
    // Worth it only after some use.
    result(expression, NativeMode::Worth);
    CHECK(native_kernel_count() == before);
    for (int i = 0; i < 3000; i++) result(expression, NativeMode::Worth);
    CHECK(native_kernel_count() == before + 1);
    CHECK(result(expression, NativeMode::Worth) == want);
    // An equal expression shares the code.
    Expression again = silu(0.5);
    CHECK(result(again, NativeMode::Always) == want);
    CHECK(native_kernel_count() == before + 1);
    CHECK(executable_mappings(true) == 0);
    CHECK(executable_mappings(false) >= 1);
}

void test_bound() {
    int64_t before = native_kernel_count();
    for (int i = 0; i < 1500; i++) {
        Expression expression = silu(i + 1.0);
        result(expression, NativeMode::Always, 40);
    }
    CHECK(native_kernel_count() == before + 1500);
    CHECK(executable_mappings(false) <= 1100);
}

void test_threads() {
    std::vector<Expression> expressions;
    std::vector<std::vector<float>> wanted;
    for (int i = 0; i < 20; i++) {
        expressions.push_back(silu(-1.0 - i));
        wanted.push_back(result(expressions.back(), NativeMode::Off));
    }
    set_native(NativeMode::Always);
    std::vector<std::thread> threads;
    int wrong = 0;
    for (int t = 0; t < 6; t++)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 20; turn++)
                for (size_t i = 0; i < expressions.size(); i++) {
                    std::vector<std::vector<float>> in{ramp(1003)}, out{std::vector<float>(1003)};
                    run_flat(expressions[i], out, in);
                    if (out[0] != wanted[i]) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
                }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

/// mprotect that would make memory executable fails from here on, as under SELinux or PR_SET_MDWE.
bool refuse_executable_memory() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void test_refused() {
    pid_t child = fork();
    if (child == 0) {
        Expression expression = silu(0.25);
        std::vector<float> want = result(expression, NativeMode::Off);
        if (!refuse_executable_memory()) _exit(2);
        int64_t before = native_kernel_count();
        bool good = result(expression, NativeMode::Always) == want && result(expression, NativeMode::Always) == want &&
                    native_kernel_count() == before;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) std::fprintf(stderr, "refused memory: not run, because this system has no seccomp filters\n");
    else CHECK(WEXITSTATUS(status) == 0);
}

void test_trace() {
    char path[] = "/tmp/kindling-trace-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0);
    setenv("KINDLING_TRACE_KERNELS", path, 1);
    Expression expression = silu(0.125);
    result(expression, NativeMode::Always);
    unsetenv("KINDLING_TRACE_KERNELS");
    std::string text(1 << 16, 0);
    ssize_t size = read(file, text.data(), text.size());
    close(file);
    unlink(path);
    CHECK(size > 0);
    for (const char* word : {"Sigmoid", "lanes", "assembly", "ret", "compiled in"}) CHECK(text.find(word) != std::string::npos);
}

/// Large results of a single step are written past the caches by machine code; where they do not begin at a whole line, or
/// it is switched off, by tiles. Nothing beside them is written.
void test_past_cache() {
    constexpr int64_t n = 100003;
    std::vector<float> x = ramp(n), y = ramp(n, 700);
    std::vector<uint8_t> choice(static_cast<size_t>(n));
    for (size_t i = 0; i < choice.size(); i++) choice[i] = i % 3 == 0;
    auto build = [](int which) {
        ExpressionBuilder builder;
        Sym a = builder.input(DType::Float32), b = builder.input(DType::Float32), c = builder.input(DType::Bool);
        builder.output(which == 0   ? a + b
                       : which == 1 ? where(c, a, b)
                       : which == 2 ? a * 0.7
                       : which == 3 ? cast(a, DType::Float64)
                                    : cast(a, which == 4 ? DType::BFloat16 : DType::Float16));
        return builder.finish();
    };
    for (int which = 0; which < 6; which++) {
        const Expression expression = build(which);
        const DType type = which == 3 ? DType::Float64 : which == 4 ? DType::BFloat16 : which == 5 ? DType::Float16 : DType::Float32;
        const int64_t item = static_cast<int64_t>(item_size(type)), strides[] = {item, 4, 4, 1};
        auto execute = [&](NativeMode mode, int64_t offset) {
            std::vector<char> memory(static_cast<size_t>(n * item + 256), 77);
            char* begin = memory.data() + 64 + (-reinterpret_cast<intptr_t>(memory.data()) & 63) + offset;
            const LoopOperand operands[] = {{begin, type, strides},
                                            {x.data(), DType::Float32, strides + 1},
                                            {y.data(), DType::Float32, strides + 2},
                                            {choice.data(), DType::Bool, strides + 3}};
            LoopKernel kernel;
            kernel.expression = &expression;
            kernel.ndim = 1;
            kernel.sizes = &n;
            kernel.output_count = 1, kernel.input_count = 3;
            kernel.operands = operands;
            set_native(mode);
            run(kernel);
            CHECK(begin[-1] == 77);
            CHECK(begin[n * item] == 77);
            return std::vector<char>(begin, begin + n * item);
        };
        const std::vector<char> want = execute(NativeMode::Off, 0);
        set_past_cache(0);
        CHECK(execute(NativeMode::Off, 0) == want);
        const int64_t before = native_kernel_count();
        CHECK(execute(NativeMode::Worth, 32) == want);
        CHECK(native_kernel_count() == before);
        for (int turn = 0; turn < 22; turn++) CHECK(execute(NativeMode::Worth, 0) == want);
        CHECK(native_kernel_count() == before + 1);
        set_past_cache(16 << 20);
    }
}

/// A single step over rows with streaming stores: a number or another row for each, of rows that lie apart, too.
void test_rows_past_the_cache() {
    ExpressionBuilder builder;
    Sym x = builder.input(DType::Float32), y = builder.input(DType::Float32);
    builder.output(x - y);
    const Expression expression = builder.finish();
    constexpr int64_t rows = 40, n = 192, sizes[] = {rows, n}, whole[] = {n * 4, 4};
    const std::vector<float> a = ramp(rows * 2 * n), b = ramp(rows * n, -7);
    for (const int64_t apart : {n, 2 * n})
        for (const bool number : {false, true}) {
            const int64_t first[] = {apart * 4, 4}, second[] = {number ? 4 : 0, number ? 0 : 4};
            auto execute = [&](NativeMode mode, int64_t offset) {
                std::vector<char> memory(rows * n * 4 + 256, 77);
                char* begin = memory.data() + 64 + (-reinterpret_cast<intptr_t>(memory.data()) & 63) + offset;
                const LoopOperand operands[] = {{begin, DType::Float32, whole},
                                                {const_cast<float*>(a.data()), DType::Float32, first},
                                                {const_cast<float*>(b.data()), DType::Float32, second}};
                LoopKernel kernel;
                kernel.expression = &expression;
                kernel.ndim = 2;
                kernel.sizes = sizes;
                kernel.output_count = 1, kernel.input_count = 2;
                kernel.operands = operands;
                set_native(mode);
                run(kernel);
                CHECK(begin[-1] == 77);
                CHECK(begin[rows * n * 4] == 77);
                return std::vector<char>(begin, begin + rows * n * 4);
            };
            const std::vector<char> want = execute(NativeMode::Off, 0);
            set_past_cache(0);
            for (const int64_t offset : {0, 32})
                for (int turn = 0; turn < 300; turn++) CHECK(execute(NativeMode::Worth, offset) == want);
            CHECK(execute(NativeMode::Always, 0) == want);
            set_past_cache(16 << 20);
        }
}

/// A kernel of several functions is cut into loops over a block, and the cosine of x would share a loop with the sine. Where it goes to
/// x's own memory, it is written when all have read x.
void test_pieces() {
    ExpressionBuilder builder;
    Sym x = builder.input(DType::Float32), y = builder.input(DType::Float32);
    Sym other = tanh(exp(sin(x) * y) * log1p(y * y)) - x;
    builder.output(cos(x));
    builder.output(other);
    Expression expression = builder.finish();
    constexpr int64_t n = 3 * 1024 + 37;
    auto execute = [&](NativeMode mode, bool in_place) {
        set_native(mode);
        std::vector<float> a = ramp(n), b = ramp(n, -7), first_result(n), second(n);
        int64_t stride = 4;
        LoopOperand operands[] = {{in_place ? a.data() : first_result.data(), DType::Float32, &stride},
                                  {second.data(), DType::Float32, &stride},
                                  {a.data(), DType::Float32, &stride},
                                  {b.data(), DType::Float32, &stride}};
        int64_t size = n;
        LoopKernel kernel;
        kernel.expression = &expression;
        kernel.ndim = 1;
        kernel.sizes = &size;
        kernel.output_count = kernel.input_count = 2;
        kernel.operands = operands;
        run(kernel);
        second.insert(second.end(), operands[0].data == a.data() ? a.begin() : first_result.begin(),
                      operands[0].data == a.data() ? a.end() : first_result.end());
        return second;
    };
    const std::vector<float> want = execute(NativeMode::Off, false);
    const int64_t before = native_kernel_count();
    CHECK(execute(NativeMode::Always, false) == want);
    CHECK(native_kernel_count() > before + 1);
    CHECK(execute(NativeMode::Off, true) == want);
    CHECK(execute(NativeMode::Always, true) == want);
}

void test_verifier() {
    using namespace native;
    uint8_t repeated[4] = {};
    auto program = [&] {
        Recorder recorder(machine_isa(), repeated);
        int x = recorder.load(LaneOp::Load32, 0), y = recorder.load(LaneOp::Load32, 1);
        recorder.store(recorder.binary(LaneWhat::Add, LaneType::F32, x, y), 2, 4);
        return recorder.finish();
    };
    program().verify(3);
    LaneProgram wrong = program();
    wrong.values[2].operands[1] = 2;
    CHECK_THROWS(wrong.verify(3), "wrong operands");
    wrong = program();
    wrong.values[1] = wrong.values[0];
    wrong.values[1].op = LaneOp::Load64;
    wrong.values[1].width = 8;
    CHECK_THROWS(wrong.verify(3), "%1");
    wrong = program();
    wrong.stores[0].item = 8;
    CHECK_THROWS(wrong.verify(3), "another width");
    CHECK_THROWS(program().verify(1), "reads no slot");
    wrong = program();
    wrong.values[2].invariant = true;
    CHECK_THROWS(wrong.verify(3), "of what changes");
}

void test_many() {
    // More operands than general registers, more values at once than vector registers.
    ExpressionBuilder builder;
    std::vector<Sym> x;
    for (int i = 0; i < 40; i++) x.push_back(builder.input(DType::Float32));
    Sym sum = x[0], product = x[0];
    for (int i = 1; i < 40; i++) sum = sum + x[static_cast<size_t>(i)] * x[static_cast<size_t>(40 - i)];
    for (int i = 39; i > 0; i--) product = product * (x[static_cast<size_t>(i)] - sum);
    for (int i = 0; i < 12; i++) builder.output(x[static_cast<size_t>(i)] * sum - product);
    Expression expression = builder.finish();
    std::vector<std::vector<float>> in, tile(12, std::vector<float>(777)), code(12, std::vector<float>(777));
    for (int i = 0; i < 40; i++) in.push_back(ramp(777, 0.1 * i - 2));
    set_native(NativeMode::Off);
    run_flat(expression, tile, in);
    int64_t before = native_kernel_count();
    set_native(NativeMode::Always);
    run_flat(expression, code, in);
    CHECK(native_kernel_count() == before + 1);
    for (size_t k = 0; k < 12; k++) CHECK(!std::memcmp(tile[k].data(), code[k].data(), 777 * 4));
    // A thousand operations.
    ExpressionBuilder longer;
    Sym y = longer.input(DType::Float32), z = longer.input(DType::Float32);
    for (int i = 0; i < 500; i++) {
        Sym next = y * 0.5 + z * 0.375;
        z = i % 50 == 0 ? tanh(y) : y * 0.5 - z * 0.5;
        y = next;
    }
    longer.output(y);
    Expression large = longer.finish();
    std::vector<std::vector<float>> two{ramp(100), ramp(100, 1)}, a{std::vector<float>(100)}, b{std::vector<float>(100)};
    set_native(NativeMode::Off);
    run_flat(large, a, two);
    set_native(NativeMode::Always);
    run_flat(large, b, two);
    CHECK(a[0] == b[0]);
}

/// Not a test: microseconds from an expression never seen before to its first result, by its number of operations.
void time_compilation() {
    set_native(NativeMode::Always);
    std::printf("operations  median us  us an operation\n");
    int unseen = 0;
    for (int operations : {1, 20, 50, 100, 200, 500, 1000}) {
        std::vector<double> times;
        for (int turn = 0; turn < 31; turn++) {
            ExpressionBuilder builder;
            Sym x = builder.input(DType::Float32), y = builder.input(DType::Float32);
            for (int i = 0; i < operations; i++) {
                Sym next = i % 4 == 0 ? x * y : i % 4 == 1 ? x + (++unseen * 1e-6) : i % 4 == 2 ? x - y : max(x, y);
                y = x;
                x = next;
            }
            builder.output(x);
            Expression expression = builder.finish();
            std::vector<std::vector<float>> in{ramp(100), ramp(100, 1)}, out{std::vector<float>(100)};
            timespec begin, end;
            clock_gettime(CLOCK_MONOTONIC, &begin);
            run_flat(expression, out, in);
            clock_gettime(CLOCK_MONOTONIC, &end);
            times.push_back(static_cast<double>(end.tv_sec - begin.tv_sec) * 1e6 + static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-3);
        }
        std::sort(times.begin(), times.end());
        std::printf("%10d  %9.1f  %15.2f\n", operations, times[15], times[15] / operations);
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count > 1 && !std::strcmp(arguments[1], "--time")) {
        time_compilation();
        return 0;
    }
    if (isa() == Isa::Baseline) {
        set_native(NativeMode::Always);
        Expression expression = silu(0.5);
        result(expression, NativeMode::Always);
        CHECK(native_kernel_count() == 0);
        return finish("test_native (the portable code has no native form)");
    }
    test_refused();
    test_when();
    test_bound();
    test_threads();
    test_trace();
    test_past_cache();
    test_rows_past_the_cache();
    test_pieces();
    test_verifier();
    test_many();
    return finish("test_native");
}
