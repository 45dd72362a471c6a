// Several threads in the library at once: operators used for the first time, shared tensors, views and graphs, hooks,
// random numbers. The answers are those of one thread; a build with the thread sanitizer looks for races as well.
#include <atomic>
#include <cstring>
#include <thread>

#include "autograd/engine.h"
#include "autograd/meta.h"
#include "core/error.h"
#include "generated/functions.h"
#include "graph/pending.h"
#include "runtime/threads.h"
#include "tests/cpp/check.h"

using namespace kindling;

constexpr int thread_count = 4;

template <class F> static void together(F f) {
    std::thread threads[thread_count];
    std::atomic<int> waiting{thread_count};
    for (int i = 0; i < thread_count; i++)
        threads[i] = std::thread([&, i] {
            --waiting;
            while (waiting.load() != 0) {} // so that they start at the same time
            f(i);
        });
    for (auto& thread : threads) thread.join();
}

static Tensor number(double value) { return wrap_number(Scalar(value)); }
static Tensor ramp(IntList sizes) {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return div(arange(Scalar(count), DType::Float64), number(static_cast<double>(count))).view(sizes);
}
static bool equal_bits(const Tensor& a, const Tensor& b) {
    return a.sizes() == b.sizes() && !memcmp(a.data_ptr<double>(), b.data_ptr<double>(), static_cast<size_t>(a.numel()) * 8);
}

/// Many families, pointwise kernels and library kernels; large enough for the pool.
static Tensor everything(const Tensor& x) {
    Tensor y = add(gelu(x), mul(exp(neg(x)), x));
    y = add(y, softmax(x, -1));
    y = layer_norm(y, {x.size(1)});
    y = cat({matmul(y, y.t()), cumsum(y, 1)}, 1);
    y = index_select(y, 0, std::get<1>(sort(y.select(1, 0), 0)));
    y = where(gt(y, number(0)), y, mul(y, number(0.1)));
    Tensor image = y.narrow(1, 0, 64).view({1, 1, 128, 64});
    y = add(y, conv2d(image, ramp({1, 1, 3, 3}), {}, {1, 1}, {1, 1}).sum());
    return std::get<0>(max(y, 1));
}

static void first_use() {
    Tensor x = ramp({128, 96});
    Tensor results[thread_count];
    together([&](int i) { results[i] = everything(x); });
    Tensor alone = everything(x);
    for (const Tensor& result : results) CHECK(equal_bits(result, alone));
}

static void first_derivatives() {
    Tensor gradients[thread_count];
    auto run = [] {
        Tensor x = ramp({128, 96}).requires_grad_();
        everything(x).sum().backward();
        return x.grad();
    };
    together([&](int i) { gradients[i] = run(); });
    Tensor alone = run();
    for (const Tensor& gradient : gradients) CHECK(equal_bits(gradient, alone));
}

static void one_leaf() {
    Tensor x = ramp({1000}).requires_grad_();
    together([&](int) {
        for (int i = 0; i < 50; i++) mul(x, number(2)).sum().backward();
    });
    CHECK(x.grad().data_ptr<double>()[7] == 2 * 50 * thread_count);
    // A graph that several threads run and the last of them releases.
    Tensor shared = exp(mul(x, x));
    Tensor copies[thread_count];
    for (Tensor& copy : copies) copy = shared.sum();
    shared = Tensor();
    x.set_grad({});
    together([&](int i) {
        for (int j = 0; j < 20; j++) copies[i].backward({}, true);
        copies[i] = Tensor();
    });
    CHECK(x.grad().data_ptr<double>()[0] == 0 && x.grad().data_ptr<double>()[999] > 0);
}

static void views_and_references() {
    Tensor x = ramp({64, 64});
    together([&](int i) {
        for (int j = 0; j < 2000; j++) {
            Tensor part = x.select(0, (i + j) % 64).narrow(0, j % 32, 32);
            Tensor copy = part;
            CHECK(part.sizes() == IntList({32}) && !copy.requires_grad());
        }
    });
    CHECK(x.impl()->use_count() == 1);
    Tensor own[thread_count];
    for (int i = 0; i < thread_count; i++) own[i] = x.select(0, i);
    together([&](int i) {
        for (int j = 0; j < 200; j++) own[i].add_(number(1)); // different rows of one storage and version counter
    });
    CHECK(x.data_ptr<double>()[0] == 200);
}

struct Counts : GradHook {
    std::atomic<int>& count;
    explicit Counts(std::atomic<int>& c) : count(c) {}
    Tensor on_tensor(const Tensor& gradient) override {
        ++count;
        return gradient;
    }
};
static void hooks() {
    std::atomic<int> count{0};
    Tensor x = ramp({10}).requires_grad_();
    Tensor y = mul(x, number(3));
    add_tensor_hook(y, Ref<GradHook>::adopt(new Counts(count)));
    Tensor loss = y.sum();
    together([&](int) {
        for (int j = 0; j < 20; j++) loss.backward({}, true);
    });
    CHECK(count == 20 * thread_count);
}

static void random_numbers() {
    together([&](int) {
        for (int j = 0; j < 50; j++) {
            Tensor x = randn({100});
            CHECK(x.numel() == 100);
        }
    });
}

static void errors() {
    together([&](int i) {
        for (int j = 0; j < 200; j++) {
            bool thrown = false;
            try {
                add(ramp({i + 2}), ramp({i + 3}));
            } catch (const Error&) { thrown = true; }
            CHECK(thrown);
        }
    });
}

/// Loops and products that several threads put off; the pool runs the blocks of one of them.
static void blocks() {
    const Tensor x = to(randn({6000, 64}), DType::Float64), w = to(randn({64, 80}), DType::Float64);
    auto layer = [&] { return relu(mm(mul(x, number(2)), w)); };
    const Tensor alone = layer();
    std::vector<Tensor> results(thread_count);
    together([&](int i) {
        for (int j = 0; j < 5; j++) {
            begin_recording();
            results[static_cast<size_t>(i)] = layer();
            end_recording();
        }
    });
    for (const Tensor& result : results) CHECK(equal_bits(result, alone));
}

int main() {
    set_num_threads(3);
    first_use();
    first_derivatives();
    one_leaf();
    views_and_references();
    hooks();
    random_numbers();
    errors();
    blocks();
    return finish("concurrency");
}
