// The tape and the engine from C++: gradients, accumulation, views and in-place writes, long chains, threads, hooks.
#include <cmath>
#include <thread>

#include "autograd/engine.h"
#include "autograd/meta.h"
#include "generated/functions.h"
#include "tests/cpp/check.h"

using namespace kindling;

static Tensor filled(IntList sizes, double value, DType dtype = DType::Float64) { return full(sizes, Scalar(value), dtype); }
static Tensor times(const Tensor& t, double factor) { return mul(t, wrap_number(Scalar(factor))); }
static double at(const Tensor& t, int64_t i) { return t.data_ptr<double>()[i]; }
static std::string name_of(const Tensor& t) { return grad_fn(t.impl()) ? grad_fn(t.impl())->name() : "none"; }

static void basics() {
    Tensor x = filled({3}, 2).requires_grad_(), y = filled({3}, 5).requires_grad_();
    Tensor z = add(mul(x, y), x);
    CHECK(name_of(z) == "AddBackward0");
    z.sum().backward();
    CHECK(at(x.grad(), 0) == 6 && at(y.grad(), 2) == 2);
    mul(x, y).sum().backward();
    CHECK(at(x.grad(), 0) == 11);
    x.set_grad({});
    Tensor loss = exp(x).sum();
    loss.backward({}, true);
    loss.backward();
    CHECK(std::abs(at(x.grad(), 1) - 2 * std::exp(2.0)) < 1e-12);
    CHECK_THROWS(loss.backward(), "Trying to backward through the graph a second time");
    CHECK_THROWS(times(x, 2).backward(), "grad can be implicitly created only for scalar outputs");
    CHECK_THROWS(filled({1}, 1).backward(), "element 0 of tensors does not require grad");
    // Broadcasting sums.
    Tensor m = filled({4, 3}, 1).requires_grad_(), b = filled({3}, 1).requires_grad_();
    mul(m, b).sum().backward();
    CHECK(b.grad().sizes() == IntList({3}) && at(b.grad(), 0) == 4);
}

static void higher_order() {
    Tensor x = filled({2}, 3).requires_grad_();
    Tensor y = mul(mul(x, x), x).sum();
    Tensor none;
    Tensor g = differentiate_tensors(&y, 1, &none, 1, true, true, &x, 1, false, false)[0];
    CHECK(at(g, 0) == 27 && g.requires_grad());
    Tensor s = g.sum();
    Tensor h = differentiate_tensors(&s, 1, &none, 1, true, true, &x, 1, false, false)[0];
    CHECK(at(h, 0) == 18);
    Tensor t = h.sum();
    Tensor third = differentiate_tensors(&t, 1, &none, 1, false, false, &x, 1, false, false)[0];
    CHECK(at(third, 1) == 6);
}

static void in_place() {
    Tensor x = filled({4}, 2).requires_grad_();
    Tensor y = times(x, 1);
    Tensor v = y.view({2, 2});
    v.mul_(v);
    CHECK(name_of(y) == "torch::autograd::CopySlices" && name_of(v) == "AsStridedBackward0");
    y.sum().backward();
    CHECK(at(x.grad(), 3) == 4);
    x.set_grad({});
    // A write to the base reaches the view.
    y = times(x, 1);
    v = y.select(0, 1);
    y.mul_(wrap_number(Scalar(3.0)));
    CHECK(name_of(v) == "AsStridedBackward0");
    v.backward();
    CHECK(at(x.grad(), 1) == 3 && at(x.grad(), 0) == 0);
    CHECK_THROWS(x.mul_(wrap_number(Scalar(2.0))), "a leaf Variable that requires grad is being used in an in-place operation.");
    CHECK_THROWS(x.view({2, 2}).mul_(x.view({2, 2})), "a view of a leaf Variable");
    Tensor a = exp(x);
    a.add_(wrap_number(Scalar(1.0)));
    CHECK_THROWS(a.sum().backward(),
                 "modified by an inplace operation: [torch.DoubleTensor [4]], which is output 0 of Exp, is at version 1");
    // A base that required nothing.
    Tensor base = filled({4}, 1), part = base.select(0, 2);
    CHECK(!part.requires_grad());
    base.mul_(x);
    CHECK(part.requires_grad() && !part.is_leaf());
    x.set_grad({});
    part.backward();
    CHECK(at(x.grad(), 2) == 1);
}

static void long_chain() {
    Tensor x = filled({1}, 1).requires_grad_();
    {
        Tensor y = x;
        for (int i = 0; i < 300000; i++) y = times(y, 1);
        y.backward();
        CHECK(at(x.grad(), 0) == 1);
        Tensor z = x;
        for (int i = 0; i < 300000; i++) z = times(exp(z), 0);
    }
    CHECK(x.impl()->use_count() == 1);
}

static void threads() {
    Tensor x = filled({100}, 1).requires_grad_();
    Tensor shared = times(x, 2);
    shared = mul(shared, shared);
    Tensor loss = shared.sum();
    std::thread workers[4];
    for (auto& worker : workers)
        worker = std::thread([&] {
            for (int i = 0; i < 50; i++) loss.backward({}, true);
        });
    for (auto& worker : workers) worker.join();
    CHECK(at(x.grad(), 0) == 8 * 200);
}

struct Times : GradHook {
    double factor;
    explicit Times(double f) : factor(f) {}
    Tensor on_tensor(const Tensor& gradient) override { return times(gradient, factor); }
};
static void hooks() {
    Tensor x = filled({2}, 1).requires_grad_();
    Tensor y = times(x, 3);
    retain_grad(y);
    add_tensor_hook(y, Ref<GradHook>::adopt(new Times(10)));
    y.sum().backward();
    CHECK(at(y.grad(), 0) == 10 && at(x.grad(), 0) == 30);
}

// The same as a program does it, by libtorch's names.
static void hooks_of_the_face() {
    Tensor x = filled({2}, 1).requires_grad_(), seen;
    Tensor y = times(x, 3), z = times(y, 2);
    CHECK(!y.retains_grad());
    y.retain_grad();
    CHECK(y.retains_grad());
    unsigned replaced = y.register_hook([](const Tensor& gradient) { return times(gradient, 10); });
    unsigned watched = z.register_hook([&seen](Tensor gradient) { seen = gradient; });
    int calls = 0;
    unsigned counted = x.register_hook([&calls](const Tensor&) { calls++; });
    z.sum().backward({}, true);
    CHECK(at(seen, 0) == 1 && at(y.grad(), 0) == 20 && at(x.grad(), 1) == 60 && calls == 1);
    y.remove_hook(replaced);
    z.remove_hook(watched);
    x.remove_hook(counted);
    x.remove_hook(counted);
    seen = {};
    x.set_grad({});
    z.sum().backward();
    CHECK(!seen.defined() && at(x.grad(), 0) == 6 && calls == 1);
    CHECK_THROWS(filled({1}, 1).register_hook([](const Tensor&) {}), "cannot register a hook on a tensor that doesn't require gradient");
    CHECK_THROWS(filled({1}, 1).retain_grad(), "can't retain_grad on Tensor that has requires_grad=False");
}

int main() {
    basics();
    higher_order();
    in_place();
    long_chain();
    threads();
    hooks();
    hooks_of_the_face();
    return finish("autograd");
}
