// Derivatives of expressions against differences, torch's conventions at edges, what is kept for backward.
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "core/error.h"
#include "kernels/loop.h"
#include "kernels/symbol.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

using C = std::complex<double>;

/// One element through the tile executor.
std::vector<C> run_once(const Expression& expression, const std::vector<C>& inputs, const std::vector<DType>& types) {
    std::vector<Immediate> memory;
    std::vector<Immediate> results(expression.outputs.size());
    std::vector<LoopOperand> operands;
    for (size_t k = 0; k < results.size(); k++) operands.push_back({&results[k], expression.output_type(static_cast<int>(k)), nullptr});
    for (size_t k = 0; k < inputs.size(); k++) memory.push_back(Immediate::of(types[k], inputs[k]));
    for (size_t k = 0; k < inputs.size(); k++) operands.push_back({&memory[k], types[k], nullptr});
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.output_count = static_cast<int>(results.size());
    kernel.input_count = static_cast<int>(inputs.size());
    kernel.operands = operands.data();
    run(kernel);
    std::vector<C> values;
    for (size_t k = 0; k < results.size(); k++) values.push_back(results[k].to_complex(expression.output_type(static_cast<int>(k))));
    return values;
}

int tested = 0;

template <class F> void check_real(F body, std::vector<double> point, const char* name) {
    ExpressionBuilder builder;
    size_t n = point.size();
    if constexpr (std::is_invocable_v<F, Sym>) builder.output(body(builder.input(DType::Float64)));
    else {
        Sym x = builder.input(DType::Float64), y = builder.input(DType::Float64);
        builder.output(body(x, y));
    }
    Expression expression = builder.finish();
    std::vector<DType> types(n, DType::Float64);
    std::vector<int> wanted;
    for (size_t k = 0; k < n; k++) wanted.push_back(static_cast<int>(k));
    auto value = [&](std::vector<double> at) { return run_once(expression, {at.begin(), at.end()}, types)[0].real(); };
    Expression backward = differentiate(expression, wanted.data(), static_cast<int>(n));
    backward.verify();
    std::vector<C> inputs = {1.5};
    inputs.insert(inputs.end(), point.begin(), point.end());
    inputs.push_back(value(point));
    std::vector<C> gradients = run_once(backward, inputs, std::vector<DType>(n + 2, DType::Float64));
    Expression forward = differentiate_forward(expression, wanted.data(), static_cast<int>(n));
    std::vector<C> forward_inputs(point.begin(), point.end());
    double want_forward = 0;
    for (size_t k = 0; k < n; k++) {
        double step = 1e-5 * std::max(1.0, std::abs(point[k]));
        auto moved = [&](double by) {
            std::vector<double> at = point;
            at[k] += by * step;
            return value(at);
        };
        // Two differences, extrapolated: the error is of fourth order.
        double slope = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step);
        double got = gradients[k].real() / 1.5;
        bool good = std::abs(got - slope) <= 1e-7 * (1 + std::abs(slope));
        if (!good) std::fprintf(stderr, "%s, argument %zu: %.10g, by differences %.10g\n", name, k, got, slope);
        CHECK(good);
        double tangent = 0.7 + static_cast<double>(k);
        forward_inputs.push_back(tangent);
        want_forward += tangent * got;
        tested++;
    }
    forward_inputs.push_back(value(point));
    double got_forward = run_once(forward, forward_inputs, std::vector<DType>(2 * n + 1, DType::Float64))[0].real();
    CHECK(std::abs(got_forward - want_forward) <= 1e-10 * (1 + std::abs(want_forward)));
}
#define REAL1(EXPRESSION, X) check_real([](auto x) { return EXPRESSION; }, {X}, #EXPRESSION)
#define REAL2(EXPRESSION, X, Y) check_real([](auto x, auto y) { return EXPRESSION; }, {X, Y}, #EXPRESSION)

/// grad for a holomorphic or a real-valued f: dL = Re(conj(grad) dz) for L = Re(conj(seed) f).
template <class F> void check_complex(F body, C point, const char* name) {
    ExpressionBuilder builder;
    builder.output(body(builder.input(DType::Complex128)));
    Expression expression = builder.finish();
    DType result_type = expression.output_type(0);
    int wanted = 0;
    Expression backward = differentiate(expression, &wanted, 1);
    C seed = is_complex(result_type) ? C(0.8, -0.3) : C(0.8);
    auto value = [&](C at) { return run_once(expression, {at}, {DType::Complex128})[0]; };
    C got = run_once(backward, {seed, point, value(point)}, {result_type, DType::Complex128, result_type})[0];
    auto loss = [&](C at) { return (std::conj(seed) * value(at)).real(); };
    double step = 1e-6;
    C want((loss(point + step) - loss(point - step)) / (2 * step), (loss(point + C(0, step)) - loss(point - C(0, step))) / (2 * step));
    bool good = std::abs(got - want) <= 1e-6 * (1 + std::abs(want));
    if (!good) std::fprintf(stderr, "%s: (%g, %g), by differences (%g, %g)\n", name, got.real(), got.imag(), want.real(), want.imag());
    CHECK(good);
    Expression forward = differentiate_forward(expression, &wanted, 1);
    C direction(0.4, 0.9);
    C tangent = run_once(forward, {point, direction, value(point)}, {DType::Complex128, DType::Complex128, result_type})[0];
    C want_tangent = (value(point + step * direction) - value(point - step * direction)) / (2 * step);
    CHECK(std::abs(tangent - want_tangent) <= 1e-6 * (1 + std::abs(want_tangent)));
    tested++;
}
#define COMPLEX(EXPRESSION) check_complex([](auto x) { return EXPRESSION; }, C(0.37, 0.61), #EXPRESSION)

void test_primitives() {
    for (double x : {0.3, 0.77, 1.9}) {
        REAL1(exp(x), x);
        REAL1(exp2(x), -x);
        REAL1(expm1(x), x);
        REAL1(log(x), x);
        REAL1(log2(x), x);
        REAL1(log10(x), x);
        REAL1(log1p(x), x);
        REAL1(sin(x), x);
        REAL1(cos(x), -x);
        REAL1(tan(x), x);
        REAL1(asin(x * 0.4), x);
        REAL1(acos(x * -0.4), x);
        REAL1(atan(x), x);
        REAL1(sinh(x), x);
        REAL1(cosh(x), -x);
        REAL1(tanh(x), x);
        REAL1(asinh(x), x);
        REAL1(acosh(1.5 + x), x);
        REAL1(atanh(x * 0.4), x);
        REAL1(sigmoid(x), x);
        REAL1(erf(x), x);
        REAL1(erfc(x), x);
        REAL1(erfinv(x * 0.4), x);
        REAL1(erfcx(x), -x);
        REAL1(ndtri(x * 0.4), x);
        REAL1(lgamma(x), x);
        REAL1(digamma(x), x);
        REAL1(i0(x), x);
        REAL1(i0e(x), -x);
        REAL1(i1(x), x);
        REAL1(i1e(x), -x);
        REAL1(sqrt(x), x);
        REAL1(rsqrt(x), x);
        REAL1(reciprocal(x), -x);
        REAL1(abs(x), -x);
        REAL1(frac(x), -x);
        REAL1(pow(x, 3.3), x);
        REAL1(pow(x, -2), -x);
        REAL1(pow(1.7, x), x);
        REAL1(where(x > 0.5, x * x, -x), x);
        REAL1(clamp(x, 0.5, 1.5), x);
        REAL1(0.5 * x * (1 + erf(x * 0.7071067811865476)), -x);
        REAL1(x * sigmoid(x), x);
        REAL1(x / x - 1 / x, x);
        REAL2(x + 2 * y, x, 1.1);
        REAL2(x - y, x, -1.1);
        REAL2(x * y, x, 2.2);
        REAL2(x / y, x, -2.1);
        REAL2(atan2(x, y), x, -0.7);
        REAL2(atan2(y, x), x, -0.7);
        REAL2(pow(x, y), x, 1.4);
        REAL2(hypot(x, y), x, -0.4);
        REAL2(logaddexp(x, y), x, 0.4);
        REAL2(logaddexp2(x, y), x, 0.4);
        REAL2(max(x, y), x, 0.4);
        REAL2(min(x, y), x, 0.4);
        REAL2(fmax(x, y), x, 0.4);
        REAL2(fmin(x, y), x, 0.4);
        REAL2(copysign(x, y), x, -1.0);
        REAL2(fmod(x, y), -x, 0.4);
        REAL2(remainder(x, y), -x, 0.4);
        REAL2(fma(x, y, x), x, 0.4);
        REAL2(floor(x) * y + trunc(y) * x, x, 1.3);
    }
    COMPLEX(exp(x));
    COMPLEX(log(x));
    COMPLEX(sin(x));
    COMPLEX(cos(x));
    COMPLEX(tan(x));
    COMPLEX(asin(x));
    COMPLEX(acos(x));
    COMPLEX(atan(x));
    COMPLEX(sinh(x));
    COMPLEX(cosh(x));
    COMPLEX(tanh(x));
    COMPLEX(asinh(x));
    COMPLEX(acosh(x));
    COMPLEX(atanh(x));
    COMPLEX(sqrt(x));
    COMPLEX(rsqrt(x));
    COMPLEX(reciprocal(x));
    COMPLEX(sigmoid(x));
    COMPLEX(pow(x, 2.5));
    COMPLEX(x * x / (1 + x));
    COMPLEX(abs(x));
    COMPLEX(angle(x));
    COMPLEX(real(x));
    COMPLEX(imag(x) * 2);
    COMPLEX(conj(x) * x * x);
    COMPLEX(sign(x));
    COMPLEX(log1p(x));
    COMPLEX(expm1(x));
    COMPLEX(exp2(x));
    COMPLEX(log2(x));
    COMPLEX(log10(x));
    COMPLEX(make_complex(imag(x), real(x)));
}

std::vector<double> gradients(std::function<Sym(Sym, Sym)> body, double x, double y) {
    ExpressionBuilder builder;
    Sym a = builder.input(DType::Float64), b = builder.input(DType::Float64);
    builder.output(body(a, b));
    Expression expression = builder.finish();
    int wanted[] = {0, 1};
    Expression backward = differentiate(expression, wanted, 2);
    C result = run_once(expression, {x, y}, {DType::Float64, DType::Float64})[0];
    std::vector<C> all = run_once(backward, {1.0, x, y, result}, std::vector<DType>(4, DType::Float64));
    return {all[0].real(), all[1].real()};
}

void test_edges() {
    using D = std::vector<double>;
    CHECK((gradients([](Sym x, Sym) { return abs(x); }, 0, 0) == D{0, 0}));
    CHECK((gradients([](Sym x, Sym y) { return max(x, y); }, 2, 2) == D{0.5, 0.5}));
    CHECK((gradients([](Sym x, Sym y) { return min(x, y); }, 2, 2) == D{0.5, 0.5}));
    CHECK((gradients([](Sym x, Sym) { return clamp(x, 0, 1); }, 1, 0) == D{1, 0}));
    CHECK((gradients([](Sym x, Sym) { return clamp(x, 0, 1); }, 0, 0) == D{1, 0}));
    CHECK((gradients([](Sym x, Sym) { return clamp(x, 0, 1); }, 1.5, 0) == D{0, 0}));
    CHECK((gradients([](Sym x, Sym y) { return pow(x, y); }, 0, 0) == D{0, 0}));
    CHECK((gradients([](Sym x, Sym y) { return pow(x, y); }, 0, 2) == D{0, 0}));
    CHECK((gradients([](Sym x, Sym) { return where(x <= 0, 0, x); }, 0, 0) == D{0, 0}));
    CHECK((gradients([](Sym x, Sym) { return round(x) + floor(x) + sign(x); }, 1.2, 0) == D{0, 0}));
}

void test_what_is_kept() {
    auto derivative = [](auto body) {
        ExpressionBuilder builder;
        builder.output(body(builder.input(DType::Float32)));
        int wanted = 0;
        return differentiate(builder.finish(), &wanted, 1);
    };
    auto keeps = [](const Expression& e, bool input, bool result) {
        return e.input_count == 3 && e.uses_input(1) == input && e.uses_input(2) == result;
    };
    CHECK(keeps(derivative([](Sym x) { return exp(x); }), false, true));
    CHECK(keeps(derivative([](Sym x) { return tanh(x); }), false, true));
    CHECK(keeps(derivative([](Sym x) { return sqrt(x); }), false, true));
    CHECK(keeps(derivative([](Sym x) { return sin(x); }), true, false));
    CHECK(keeps(derivative([](Sym x) { return x * x; }), true, false));
    CHECK(keeps(derivative([](Sym x) { return 3 * x; }), false, false));
    CHECK(keeps(derivative([](Sym x) { return where(x <= 0, 0, x); }), false, true));

    // A half result is rounded once; its gradient is computed in float and rounded once.
    ExpressionBuilder builder;
    Sym x = cast(builder.input(DType::BFloat16), DType::Float32);
    builder.output(cast(exp(x), DType::BFloat16));
    int wanted = 0;
    Expression backward = differentiate(builder.finish(), &wanted, 1);
    CHECK(backward.output_type(0) == DType::BFloat16);
    CHECK(!backward.uses_input(1) && backward.uses_input(2));

    // Numbers that change from run to run stay slots.
    ExpressionBuilder with_scalar;
    with_scalar.output(with_scalar.input(DType::Float32) * with_scalar.scalar(DType::Float32));
    Expression scaled = differentiate(with_scalar.finish(), &wanted, 1);
    CHECK(scaled.scalar_count == 1 && !scaled.uses_input(1) && !scaled.uses_input(2));

    ExpressionBuilder whole;
    whole.output(whole.input(DType::Int64) + 1);
    Expression integers = whole.finish();
    CHECK_THROWS(differentiate(integers, &wanted, 1), "internal error");
}

} // namespace

int main() {
    test_primitives();
    test_edges();
    test_what_is_kept();
    CHECK(tested > 200);
    return finish("kernels: derivatives");
}
