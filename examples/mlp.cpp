// examples/mlp.cpp: a two-layer network learns sin(3x), without Python.
//
//     cmake -S . -B build -DCMAKE_PREFIX_PATH=$(python -c 'import kindling, os; print(os.path.dirname(kindling.__file__))')
#include <kindling/kindling.h>

#include <cstdio>
#include <vector>

using namespace kindling;

int main() {
    manual_seed(0);
    Tensor x = rand({256, 1}) * 2 - 1, y = sin(x * 3);
    Tensor w1 = randn({1, 32}).requires_grad_(), b1 = zeros({32}).requires_grad_();
    Tensor w2 = (randn({32, 1}) * 0.2).detach().requires_grad_(), b2 = zeros({1}).requires_grad_();
    std::vector<Tensor> parameters = {w1, b1, w2, b2};

    for (int step = 0; step <= 400; step++) {
        Tensor prediction = matmul(tanh(matmul(x, w1) + b1), w2) + b2;
        Tensor loss = (prediction - y).pow(2).mean();
        if (step % 100 == 0) std::printf("step %3d  loss %.6f\n", step, loss.item<double>());
        loss.backward();
        NoGradGuard off;
        for (Tensor& parameter : parameters) {
            parameter -= parameter.grad() * 0.1;
            parameter.grad().zero_();
        }
    }

    try {
        matmul(x, w2);
    } catch (const Error& error) { std::printf("and a mistake is an exception: %s\n", error.what()); }
}
