// Pointwise kernels: every primitive against plain C++ in every dtype, the same bits from every instruction set,
// layouts, broadcasting, halves, in-place runs, several outputs, coordinates, run-time scalars.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/loop.h"
#include "kernels/reductions/fold.h"
#include "kernels/symbol.h"
#include "kernels/tile/move.h"
#include "kernels/tile/tile.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

using L = long double;
using C = std::complex<double>;
std::mt19937_64 random_bits(3);

const DType all_dtypes[] = {DType::UInt8,   DType::Int8,     DType::Int16,   DType::Int32,     DType::Int64,
                            DType::Float16, DType::Float32,  DType::Float64, DType::Complex64, DType::Complex128,
                            DType::Bool,    DType::BFloat16, DType::UInt16,  DType::UInt32,    DType::UInt64};

/// The value as it lies in memory.
void to_memory(DType type, C value, char* to) {
    Immediate number = Immediate::of(type, value);
    if (type == DType::Float16 || type == DType::BFloat16) {
        float rounded = static_cast<float>(number.to_double(type));
        uint16_t bits = type == DType::Float16 ? to_half(rounded).bits : to_bfloat16(rounded).bits;
        std::memcpy(to, &bits, 2);
    } else {
        std::memcpy(to, &number, item_size(type));
    }
}
C from_memory(DType type, const char* from) {
    if (type == DType::Float16 || type == DType::BFloat16) {
        uint16_t bits;
        std::memcpy(&bits, from, 2);
        return static_cast<double>(type == DType::Float16 ? to_float(Half{bits}) : to_float(BFloat16{bits}));
    }
    Immediate number;
    std::memcpy(&number, from, item_size(type));
    return number.to_complex(type);
}

struct Array {
    DType type;
    std::vector<char> bytes;
    Array(DType dtype, int64_t n) : type(dtype), bytes(static_cast<size_t>(n) * item_size(dtype)) {}
    C at(int64_t i) const { return from_memory(type, bytes.data() + static_cast<size_t>(i) * item_size(type)); }
    void set(int64_t i, C value) { to_memory(type, value, bytes.data() + static_cast<size_t>(i) * item_size(type)); }
};

void run_flat(const Expression& expression, std::vector<Array*> outputs, std::vector<Array*> inputs, int64_t n,
              const Immediate* scalars = nullptr) {
    std::vector<int64_t> strides;
    for (const Array* array : outputs) strides.push_back(static_cast<int64_t>(item_size(array->type)));
    for (const Array* array : inputs) strides.push_back(static_cast<int64_t>(item_size(array->type)));
    std::vector<LoopOperand> operands;
    for (size_t k = 0; k < outputs.size(); k++) operands.push_back({outputs[k]->bytes.data(), outputs[k]->type, &strides[k]});
    for (size_t k = 0; k < inputs.size(); k++) operands.push_back({inputs[k]->bytes.data(), inputs[k]->type, &strides[outputs.size() + k]});
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = 1;
    kernel.sizes = &n;
    kernel.output_count = static_cast<int>(outputs.size());
    kernel.input_count = static_cast<int>(inputs.size());
    kernel.operands = operands.data();
    kernel.scalars = scalars;
    run(kernel);
}

struct Case {
    Primitive primitive;
    L (*real1)(L);
    L (*real2)(L, L);
    std::complex<L> (*complex1)(std::complex<L>);
    double low, high; // of the arguments
    double ulp;       // allowed in float64 and float32
};

L rem(L a, L b) {
    L r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T> L digamma_reference(T x) { return (std::lgamma(x + 1e-5L) - std::lgamma(x - 1e-5L)) / 2e-5L; }

using Z = std::complex<L>;
#define F1(E) [](L x) -> L { return E; }
#define F2(E) [](L x, L y) -> L { return E; }
#define FC(E) [](Z x) -> Z { return E; }
const Case cases[] = {
    {Primitive::Add, nullptr, F2(x + y), nullptr, -3, 3, 0.5},
    {Primitive::Sub, nullptr, F2(x - y), nullptr, -3, 3, 0.5},
    {Primitive::Mul, nullptr, F2(x * y), nullptr, -3, 3, 0.5},
    {Primitive::Div, nullptr, F2(x / y), nullptr, -3, 3, 0.5},
    {Primitive::FloorDiv, nullptr, F2(std::floor(x / y)), nullptr, -9, 9, 0.5},
    {Primitive::TruncDiv, nullptr, F2(std::trunc(x / y)), nullptr, -9, 9, 0.5},
    {Primitive::Fmod, nullptr, F2(std::fmod(x, y)), nullptr, -9, 9, 0.5},
    {Primitive::Remainder, nullptr, F2(rem(x, y)), nullptr, -9, 9, 0.5},
    {Primitive::Neg, F1(-x), nullptr, FC(-x), -3, 3, 0.5},
    {Primitive::Abs, F1(std::fabs(x)), nullptr, FC(std::abs(x)), -3, 3, 0.5},
    {Primitive::Sign,
     F1(x > 0   ? 1
        : x < 0 ? -1
                : 0),
     nullptr, FC(x / std::abs(x)), -3, 3, 0.5},
    {Primitive::Min, nullptr, F2(x < y ? x : y), nullptr, -9, 9, 0.5},
    {Primitive::Max, nullptr, F2(x > y ? x : y), nullptr, -9, 9, 0.5},
    {Primitive::Fmin, nullptr, F2(std::fmin(x, y)), nullptr, -9, 9, 0.5},
    {Primitive::Fmax, nullptr, F2(std::fmax(x, y)), nullptr, -9, 9, 0.5},
    {Primitive::Copysign, nullptr, F2(std::copysign(x, y)), nullptr, -3, 3, 0.5},
    {Primitive::Sqrt, F1(std::sqrt(x)), nullptr, FC(std::sqrt(x)), 0, 9, 0.5},
    {Primitive::Rsqrt, F1(1 / std::sqrt(x)), nullptr, FC(L(1) / std::sqrt(x)), 0.1, 9, 1.5},
    {Primitive::Reciprocal, F1(1 / x), nullptr, FC(L(1) / x), 0.1, 9, 0.5},
    {Primitive::Exp, F1(std::exp(x)), nullptr, FC(std::exp(x)), -80, 80, 1.1},
    {Primitive::Exp2, F1(std::exp2(x)), nullptr, nullptr, -80, 80, 1.2},
    {Primitive::Expm1, F1(std::expm1(x)), nullptr, FC(std::exp(x) - L(1)), -5, 5, 2.1},
    {Primitive::Log, F1(std::log(x)), nullptr, FC(std::log(x)), 0, 50, 1},
    {Primitive::Log2, F1(std::log2(x)), nullptr, nullptr, 0, 50, 1.8},
    {Primitive::Log10, F1(std::log10(x)), nullptr, FC(std::log10(x)), 0, 50, 1.8},
    {Primitive::Log1p, F1(std::log1p(x)), nullptr, FC(std::log(L(1) + x)), -0.9, 9, 1.2},
    {Primitive::Sin, F1(std::sin(x)), nullptr, FC(std::sin(x)), -30, 30, 1.6},
    {Primitive::Cos, F1(std::cos(x)), nullptr, FC(std::cos(x)), -30, 30, 1.6},
    {Primitive::Tan, F1(std::tan(x)), nullptr, FC(std::tan(x)), -30, 30, 3},
    {Primitive::Asin, F1(std::asin(x)), nullptr, FC(std::asin(x)), -1, 1, 2.5},
    {Primitive::Acos, F1(std::acos(x)), nullptr, FC(std::acos(x)), -1, 1, 1.5},
    {Primitive::Atan, F1(std::atan(x)), nullptr, FC(std::atan(x)), -5, 5, 2},
    {Primitive::Atan2, nullptr, F2(std::atan2(x, y)), nullptr, -3, 3, 2.5},
    {Primitive::Sinh, F1(std::sinh(x)), nullptr, FC(std::sinh(x)), -5, 5, 2.5},
    {Primitive::Cosh, F1(std::cosh(x)), nullptr, FC(std::cosh(x)), -5, 5, 1.5},
    {Primitive::Tanh, F1(std::tanh(x)), nullptr, FC(std::tanh(x)), -5, 5, 2.6},
    {Primitive::Asinh, F1(std::asinh(x)), nullptr, FC(std::asinh(x)), -5, 5, 2},
    {Primitive::Acosh, F1(std::acosh(x)), nullptr, FC(std::acosh(x)), 1, 9, 3},
    {Primitive::Atanh, F1(std::atanh(x)), nullptr, FC(std::atanh(x)), -0.99, 0.99, 2.2},
    {Primitive::Sigmoid, F1(1 / (1 + std::exp(-x))), nullptr, FC(L(1) / (L(1) + std::exp(-x))), -20, 20, 2.5},
    {Primitive::Erf, F1(std::erf(x)), nullptr, nullptr, -4, 4, 3.5},
    {Primitive::Erfc, F1(std::erfc(x)), nullptr, nullptr, -3, 9, 4},
    {Primitive::Erfcx, F1(std::exp(x * x) * std::erfc(x)), nullptr, nullptr, -2, 9, 5},
    {Primitive::Lgamma, F1(std::lgamma(x)), nullptr, nullptr, 0.01, 30, 8},
    {Primitive::Pow, nullptr, F2(std::pow(x, y)), nullptr, 0.1, 9, 1.2},
    {Primitive::Hypot, nullptr, F2(std::hypot(x, y)), nullptr, -3, 3, 2.2},
    {Primitive::Logaddexp, nullptr, F2(std::log(std::exp(x) + std::exp(y))), nullptr, 1, 9, 2},
    {Primitive::Logaddexp2, nullptr, F2(std::log2(std::exp2(x) + std::exp2(y))), nullptr, 1, 9, 2},
    {Primitive::Floor, F1(std::floor(x)), nullptr, nullptr, -9, 9, 0.5},
    {Primitive::Ceil, F1(std::ceil(x)), nullptr, nullptr, -9, 9, 0.5},
    {Primitive::Round, F1(std::nearbyint(x)), nullptr, nullptr, -9, 9, 0.5},
    {Primitive::Trunc, F1(std::trunc(x)), nullptr, nullptr, -9, 9, 0.5},
    {Primitive::Frac, F1(x - std::trunc(x)), nullptr, nullptr, -9, 9, 0.5},
    {Primitive::Conj, F1(x), nullptr, FC(std::conj(x)), -3, 3, 0.5},
    {Primitive::Real, nullptr, nullptr, FC(x.real()), -3, 3, 0.5},
    {Primitive::Imag, nullptr, nullptr, FC(x.imag()), -3, 3, 0.5},
    {Primitive::Angle, F1(x < 0 ? std::acos(L(-1)) : 0), nullptr, FC(std::arg(x)), -3, 3, 2.5},
    {Primitive::Eq, nullptr, F2(x == y), nullptr, -3, 3, 0},
    {Primitive::Ne, nullptr, F2(x != y), nullptr, -3, 3, 0},
    {Primitive::Lt, nullptr, F2(x < y), nullptr, -3, 3, 0},
    {Primitive::Le, nullptr, F2(x <= y), nullptr, -3, 3, 0},
    {Primitive::Gt, nullptr, F2(x > y), nullptr, -3, 3, 0},
    {Primitive::Ge, nullptr, F2(x >= y), nullptr, -3, 3, 0},
    {Primitive::IsNan, F1(x != x), nullptr, nullptr, -3, 3, 0},
    {Primitive::IsInf, F1(std::isinf(x)), nullptr, nullptr, -3, 3, 0},
    {Primitive::SignBit, F1(std::signbit(x)), nullptr, nullptr, -3, 3, 0},
    {Primitive::Nextafter, nullptr, nullptr, nullptr, -3, 3, 0},
    {Primitive::FrexpMantissa, F1([](L v) {
         int e;
         return std::frexp(v, &e);
     }(x)),
     nullptr, nullptr, -90, 90, 0},
    {Primitive::FrexpExponent, F1([](L v) {
         int e;
         std::frexp(v, &e);
         return static_cast<L>(e);
     }(x)),
     nullptr, nullptr, -90, 90, 0},
    {Primitive::Digamma, F1(digamma_reference(x)), nullptr, nullptr, 2, 20, 1e6},
    {Primitive::I0, F1(std::cyl_bessel_i(L(0), x)), nullptr, nullptr, 0, 20, 16},
    {Primitive::I1, F1(std::cyl_bessel_i(L(1), x)), nullptr, nullptr, 0, 20, 16},
    {Primitive::I0e, F1(std::exp(-x) * std::cyl_bessel_i(L(0), x)), nullptr, nullptr, 0, 20, 16},
    {Primitive::I1e, F1(std::exp(-x) * std::cyl_bessel_i(L(1), x)), nullptr, nullptr, 0, 20, 16},
};

Expression of(Primitive primitive, DType type) {
    ExpressionBuilder builder;
    Sym x = builder.input(type);
    if (operand_count(primitive) == 1) builder.output(Sym::unary(primitive, x));
    else builder.output(Sym::binary(primitive, x, builder.input(type)));
    return builder.finish();
}

double unit(DType type, L value) {
    int digits = type == DType::Float16 ? 11 : type == DType::BFloat16 ? 8 : to_real(type) == DType::Float32 ? 24 : 53;
    int lowest = type == DType::Float16 ? -13 : to_real(type) == DType::Float32 || type == DType::BFloat16 ? -125 : -1021;
    int exponent;
    std::frexp(value, &exponent);
    return std::ldexp(1.0, (exponent < lowest ? lowest : exponent) - digits);
}

void test_against_reference() {
    std::uniform_real_distribution<double> uniform(0, 1);
    int runs = 0;
    for (const Case& test : cases)
        for (DType type : all_dtypes) {
            if (!primitive_allows(test.primitive, type)) continue;
            bool complex = is_complex(type), one = operand_count(test.primitive) == 1;
            if (complex ? !test.complex1 : one ? !test.real1 : !test.real2) continue;
            if (complex && (test.primitive == Primitive::Acosh || test.primitive == Primitive::Erf)) continue;
            Expression expression = of(test.primitive, type);
            DType result = expression.output_type(0);
            for (int64_t n : {1, 3, 16, 77, 300}) {
                Array x(type, n), y(type, n), out(result, n);
                for (int64_t i = 0; i < n; i++) {
                    auto draw = [&]() { return test.low + (test.high - test.low) * uniform(random_bits); };
                    auto value = [&]() {
                        double v = draw();
                        if (is_unsigned(type)) v = std::fabs(v);
                        return complex ? C(v / 20 + 0.1, draw() / 20) : C(v);
                    };
                    x.set(i, value());
                    do y.set(i, value());
                    while (category(type) == 1 && y.at(i) == 0.0); // whole division by zero is tested below
                }
                run_flat(expression, {&out}, one ? std::vector<Array*>{&x} : std::vector<Array*>{&x, &y}, n);
                for (int64_t i = 0; i < n; i++) {
                    C got = out.at(i);
                    if (complex) {
                        Z want = test.complex1(Z(x.at(i)));
                        double scale = to_real(type) == DType::Float32 ? 1e-6 : 1e-14;
                        CHECK(std::abs(Z(got) - want) <= scale * (1 + std::abs(want)));
                        continue;
                    }
                    L a = static_cast<L>(x.at(i).real()), b = static_cast<L>(y.at(i).real());
                    L want = one ? test.real1(a) : test.real2(a, b);
                    if (category(result) < 2) {
                        L wrapped = want;
                        if (category(result) == 1)
                            wrapped = static_cast<L>(Immediate::of(result, static_cast<int64_t>(want)).to_complex(result).real());
                        if (std::fabs(want) < 9e18L && !(static_cast<L>(got.real()) == wrapped)) {
                            std::fprintf(stderr, "%s %s(%Lg, %Lg) = %g, not %Lg\n", name(test.primitive), name(type), a, b, got.real(),
                                         wrapped);
                            CHECK(false && "integers agree");
                        }
                        runs++;
                        continue;
                    }
                    if (!(std::fabs(want) < 1e300L) || (type == DType::Float16 && std::fabs(want) > 65000)) continue;
                    // Half types add the rounding of their own.
                    double allowed = is_half(type) ? 0.51 + 1e-3 * test.ulp : test.ulp * 1.001 + 1e-9;
                    double off = static_cast<double>(std::fabs(static_cast<L>(got.real()) - want)) / unit(type, want);
                    if (!(off <= allowed)) {
                        std::fprintf(stderr, "%s %s(%.9Lg, %.9Lg) = %.17g, not %.17Lg: %.3g ulp\n", name(test.primitive), name(type), a, b,
                                     got.real(), want, off);
                        CHECK(false && "within the bound");
                    }
                    runs++;
                }
            }
        }
    CHECK(runs > 100000);
}

/// erf of float32 over the whole range of floats: its bound (kernels/maths/maths.h), never beyond 1, odd.
void test_erf_of_floats() {
    constexpr int64_t n = 4096;
    Expression expression = of(Primitive::Erf, DType::Float32);
    Array x(DType::Float32, n), out(DType::Float32, n);
    double worst = 0;
    for (uint32_t first = 0; first < 0x7F800000u - n * 257; first += n * 257) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t bits = first + i * 257;
            float value;
            std::memcpy(&value, &bits, 4);
            x.set(i, i & 1 ? -value : value);
        }
        run_flat(expression, {&out}, {&x}, n);
        for (int64_t i = 0; i < n; i++) {
            L want = std::erf(static_cast<L>(x.at(i).real()));
            double got = out.at(i).real(),
                   off = want == 0 ? 0 : static_cast<double>(std::fabs(static_cast<L>(got) - want)) / unit(DType::Float32, want);
            if (off > worst) worst = off;
            CHECK(std::fabs(got) <= 1 && std::signbit(got) == std::signbit(want));
        }
    }
    CHECK(worst <= 3.5);
}

void test_special_values() {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    auto one = [&](Primitive primitive, double x, double want, double relative = 0) {
        for (DType type : {DType::Float64, DType::Float32}) {
            Array in(type, 1), out(type, 1);
            in.set(0, x);
            run_flat(of(primitive, type), {&out}, {&in}, 1);
            double got = out.at(0).real();
            bool good = std::isnan(want)
                            ? std::isnan(got)
                            : got == want || std::fabs(got - want) <=
                                                 (relative + (type == DType::Float32 && relative > 0 ? 1e-6 : 0)) * std::fabs(want);
            if (want == 0 && !std::isnan(got)) good = good && std::signbit(got) == std::signbit(want);
            if (!good) std::fprintf(stderr, "%s %s(%g) = %g, not %g\n", name(primitive), name(type), x, got, want);
            CHECK(good);
        }
    };
    for (Primitive p : {Primitive::Exp, Primitive::Log, Primitive::Sin, Primitive::Tanh, Primitive::Erf, Primitive::Sqrt, Primitive::Expm1,
                        Primitive::Log1p, Primitive::Sigmoid, Primitive::Atan, Primitive::Lgamma, Primitive::Digamma, Primitive::I0,
                        Primitive::Erfinv, Primitive::Cosh})
        one(p, nan, nan);
    one(Primitive::Exp, inf, inf);
    one(Primitive::Exp, -inf, 0);
    one(Primitive::Exp, 1000, inf);
    one(Primitive::Exp, 0, 1);
    one(Primitive::Expm1, inf, inf);
    one(Primitive::Expm1, -inf, -1);
    one(Primitive::Expm1, -0.0, -0.0);
    one(Primitive::Log, 0, -inf);
    one(Primitive::Log, -1, nan);
    one(Primitive::Log, inf, inf);
    one(Primitive::Log, 1, 0);
    one(Primitive::Log2, 8, 3);
    one(Primitive::Log10, 1000, 3);
    one(Primitive::Log1p, -1, -inf);
    one(Primitive::Log1p, -0.0, -0.0);
    one(Primitive::Sin, inf, nan);
    one(Primitive::Sin, -0.0, -0.0);
    one(Primitive::Cos, 0, 1);
    one(Primitive::Tanh, inf, 1);
    one(Primitive::Tanh, -inf, -1);
    one(Primitive::Tanh, -0.0, -0.0);
    one(Primitive::Sigmoid, -inf, 0);
    one(Primitive::Sigmoid, inf, 1);
    one(Primitive::Erf, inf, 1);
    one(Primitive::Erf, -inf, -1);
    one(Primitive::Erfc, inf, 0);
    one(Primitive::Erfc, -inf, 2);
    one(Primitive::Erfinv, 1, inf);
    one(Primitive::Erfinv, 0.5, 0.4769362762044699, 1e-15);
    one(Primitive::Ndtri, 0.975, 1.959963984540054, 1e-15);
    one(Primitive::Ndtri, 0, -inf);
    one(Primitive::Ndtri, 1e-30, -11.464024688443616, 1e-14);
    one(Primitive::Asin, 2, nan);
    one(Primitive::Acosh, 0.5, nan);
    one(Primitive::Atanh, 1, inf);
    one(Primitive::Asinh, -inf, -inf);
    one(Primitive::Lgamma, 1, 0);
    one(Primitive::Lgamma, -1, inf);
    one(Primitive::Lgamma, -0.5, 1.2655121234846454, 1e-14);
    one(Primitive::Digamma, 1, -0.5772156649015329, 1e-14);
    one(Primitive::Digamma, -0.5, 0.03648997397857652, 1e-13);
    one(Primitive::Sign, nan, 0);
    one(Primitive::Sign, -0.0, 0);
    one(Primitive::Round, 2.5, 2);
    one(Primitive::Round, -0.4, -0.0);
    one(Primitive::Floor, -0.5, -1);
    one(Primitive::Ceil, -0.5, -0.0);
    // Angles that need the long reduction (values to 17 digits by multiple precision).
    auto angle = [&](Primitive primitive, double x, double want) {
        Array in(DType::Float64, 1), out(DType::Float64, 1);
        in.set(0, x);
        run_flat(of(primitive, DType::Float64), {&out}, {&in}, 1);
        CHECK(std::fabs(out.at(0).real() - want) <= 2.3e-16 * std::fabs(want));
    };
    angle(Primitive::Sin, 1e22, -0.8522008497671888);
    angle(Primitive::Cos, 1e22, 0.5232147853951389);
    angle(Primitive::Sin, 6381956970095103.0 * 0x1p797, 1.0);
    angle(Primitive::Cos, 6381956970095103.0 * 0x1p797, -4.6871659242546276e-19);
    auto two = [&](Primitive primitive, double x, double y, double want) {
        for (DType type : {DType::Float64, DType::Float32}) {
            Array a(type, 1), b(type, 1), out(type, 1);
            a.set(0, x), b.set(0, y);
            run_flat(of(primitive, type), {&out}, {&a, &b}, 1);
            double got = out.at(0).real();
            bool good = std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
            if (!good) std::fprintf(stderr, "%s %s(%g, %g) = %g, not %g\n", name(primitive), name(type), x, y, got, want);
            CHECK(good);
        }
    };
    two(Primitive::Pow, 0, 0, 1);
    two(Primitive::Pow, nan, 0, 1);
    two(Primitive::Pow, 1, nan, 1);
    two(Primitive::Pow, -2, 3, -8);
    two(Primitive::Pow, -2, 2, 4);
    two(Primitive::Pow, -2, 0.5, nan);
    two(Primitive::Pow, 0, -1, inf);
    two(Primitive::Pow, -0.0, -1, -inf);
    two(Primitive::Pow, -0.0, 3, -0.0);
    two(Primitive::Pow, inf, -1, 0);
    two(Primitive::Pow, -inf, 3, -inf);
    two(Primitive::Pow, 0.5, inf, 0);
    two(Primitive::Pow, 2, -inf, 0);
    two(Primitive::Pow, -1, inf, 1);
    two(Primitive::Pow, 2, 10000, inf);
    two(Primitive::Pow, 10, 2, 100);
    two(Primitive::Max, nan, 1, nan);
    two(Primitive::Max, 1, nan, nan);
    two(Primitive::Min, nan, 1, nan);
    two(Primitive::Fmax, nan, 1, 1);
    two(Primitive::Fmin, 1, nan, 1);
    two(Primitive::Hypot, inf, nan, inf);
    two(Primitive::Hypot, 3, 4, 5);
    two(Primitive::FloorDiv, 1, 0, inf);
    two(Primitive::FloorDiv, -7, 2, -4);
    two(Primitive::Remainder, -7, 2, 1);
    two(Primitive::Remainder, 1, 0, nan);
    two(Primitive::Fmod, -7, 2, -1);
    two(Primitive::Logaddexp, -inf, -inf, -inf);
    two(Primitive::Logaddexp, inf, 1, inf);
    two(Primitive::Nextafter, 1, 1, 1);
    for (Primitive primitive : {Primitive::TruncDiv, Primitive::FloorDiv, Primitive::Remainder, Primitive::Fmod}) {
        Array a(DType::Int32, 1), b(DType::Int32, 1), out(DType::Int32, 1);
        a.set(0, 1);
        Expression expression = of(primitive, DType::Int32);
        CHECK_THROWS(run_flat(expression, {&out}, {&a, &b}, 1), "ZeroDivisionError");
    }
    Array a(DType::Int64, 1), b(DType::Int64, 1), out(DType::Int64, 1);
    int64_t smallest = std::numeric_limits<int64_t>::min(), minus = -1;
    std::memcpy(a.bytes.data(), &smallest, 8);
    std::memcpy(b.bytes.data(), &minus, 8);
    run_flat(of(Primitive::FloorDiv, DType::Int64), {&out}, {&a, &b}, 1);
    CHECK(!std::memcmp(out.bytes.data(), &smallest, 8));
}

/// Every function for every instruction set this machine has: equal bits, but for what a NaN looks like.
void test_instruction_sets_agree() {
    constexpr int64_t n = 203;
    int compared = 0;
    for (int p = 0; p < primitive_count; p++)
        for (DType type : all_dtypes) {
            Primitive primitive = static_cast<Primitive>(p);
            if (is_half(type) || primitive <= Primitive::Cast || primitive == Primitive::MakeComplex || !primitive_allows(primitive, type))
                continue;
            auto find = [&](int which) -> TileFunction {
                TileCode code = which == 0   ? isa_baseline::find_arithmetic(primitive, type)
                                : which == 1 ? isa_avx2::find_arithmetic(primitive, type)
                                             : isa_avx512::find_arithmetic(primitive, type);
                if (code.function) return code.function;
                TileFunction function = which == 0   ? isa_baseline::find_maths(primitive, type)
                                        : which == 1 ? isa_avx2::find_maths(primitive, type)
                                                     : isa_avx512::find_maths(primitive, type);
                return function || category(type) < 2 ? function : find_special(primitive, type);
            };
            if (!find(0)) {
                CHECK(!find(1) && !find(2));
                continue;
            }
            std::vector<char> a(n * 16), b(n * 16), c(n * 16), want(n * 16, 0);
            std::uniform_real_distribution<double> uniform(-1, 1);
            int64_t items = static_cast<int64_t>(a.size() / item_size(to_real(type)));
            for (int64_t i = 0; i < items; i++)
                for (auto* array : {&a, &b, &c}) {
                    double value = uniform(random_bits) * std::exp(uniform(random_bits) * 12);
                    const double special[] = {0.0,
                                              -0.0,
                                              std::numeric_limits<double>::infinity(),
                                              -std::numeric_limits<double>::infinity(),
                                              std::nan(""),
                                              1e-310,
                                              1.0,
                                              -1.0,
                                              2.0,
                                              0.5};
                    if (i % 3 == 0) value = special[random_bits() % 10];
                    if (category(type) < 2)
                        value = static_cast<double>(static_cast<int64_t>(random_bits() % (type == DType::Bool ? 2 : 256))) -
                                (is_unsigned(type) || type == DType::Bool ? 0 : 128);
                    to_memory(to_real(type), value, array->data() + static_cast<size_t>(i) * item_size(to_real(type)));
                }
            if (primitive == Primitive::Select)
                for (int64_t i = 0; i < n; i++) a[static_cast<size_t>(i)] = static_cast<char>(random_bits() & 1);
            bool small_result = primitive_result_type(primitive, type) == DType::Bool;
            int64_t bytes = small_result ? n
                                         : n * static_cast<int64_t>(primitive == Primitive::Pow && type == DType::Float32
                                                                        ? 8
                                                                        : item_size(primitive_result_type(primitive, type)));
            int scale = isa_baseline::find_arithmetic(primitive, type).function ? isa_baseline::find_arithmetic(primitive, type).scale : 1;
            for (unsigned splat : {0u, 1u, 2u}) {
                if (splat && operand_count(primitive) == 1) continue;
                // What is repeated is one number over and over.
                std::vector<char> first = a, second = b;
                for (size_t i = 0; i < first.size(); i++) {
                    if (splat & 1) first[i] = a[primitive == Primitive::Select ? 0 : i % item_size(type)];
                    if (splat & 2) second[i] = b[i % item_size(type)];
                }
                find(0)(want.data(), first.data(), second.data(), c.data(), n * scale, splat);
                for (int which = 1; which <= static_cast<int>(machine_isa()); which++) {
                    std::vector<char> got(want.size(), 0);
                    find(which)(got.data(), first.data(), second.data(), c.data(), n * scale, splat);
                    DType shown = small_result                                            ? DType::Bool
                                  : primitive == Primitive::Pow && type == DType::Float32 ? DType::Float64
                                                                                          : to_real(primitive_result_type(primitive, type));
                    for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(item_size(shown))) {
                        bool same = !std::memcmp(&want[static_cast<size_t>(i)], &got[static_cast<size_t>(i)], item_size(shown));
                        if (!same && is_floating(shown))
                            same = std::isnan(from_memory(shown, &want[static_cast<size_t>(i)]).real()) &&
                                   std::isnan(from_memory(shown, &got[static_cast<size_t>(i)]).real());
                        if (!same && primitive == Primitive::Pow && type == DType::Float32) // left in double for its cast
                            same = static_cast<float>(from_memory(shown, &want[static_cast<size_t>(i)]).real()) ==
                                   static_cast<float>(from_memory(shown, &got[static_cast<size_t>(i)]).real());
                        if (!same)
                            std::fprintf(stderr, "%s %s differs with %s\n", name(primitive), name(type), name(static_cast<Isa>(which)));
                        CHECK(same);
                        if (!same) break;
                    }
                    compared++;
                }
            }
        }
    CHECK(compared > 100 || machine_isa() == Isa::Baseline);

    // Every half, and floats around what they round to.
    for (TileMove move : {TileMove::HalfToFloat, TileMove::BFloat16ToFloat, TileMove::FloatToHalf, TileMove::FloatToBFloat16,
                          TileMove::RoundHalf, TileMove::RoundBFloat16}) {
        bool opens = move <= TileMove::BFloat16ToFloat;
        std::vector<uint32_t> in(opens ? 32768 : 200000), want(70000 * 3), got(want.size());
        if (opens)
            for (uint32_t i = 0; i < 32768; i++) in[i] = (2 * i + 1) << 16 | 2 * i;
        else
            for (uint32_t& bits : in) bits = static_cast<uint32_t>(random_bits()) & (random_bits() & 1 ? 0xFFFFFFFF : 0xBFFFF000);
        int64_t count = opens ? 65536 : static_cast<int64_t>(in.size());
        isa_baseline::find_move(move)(want.data(), in.data(), nullptr, nullptr, count, 0);
        for (int which = 1; which <= static_cast<int>(machine_isa()); which++) {
            (which == 1 ? isa_avx2::find_move(move) : isa_avx512::find_move(move))(got.data(), in.data(), nullptr, nullptr, count, 0);
            bool narrow = move == TileMove::FloatToHalf || move == TileMove::FloatToBFloat16;
            for (int64_t i = 0; i < count; i++) {
                float a, b;
                if (narrow) {
                    const uint16_t *p = reinterpret_cast<uint16_t*>(want.data()) + i, *q = reinterpret_cast<uint16_t*>(got.data()) + i;
                    a = move == TileMove::FloatToHalf ? to_float(Half{*p}) : to_float(BFloat16{*p});
                    b = move == TileMove::FloatToHalf ? to_float(Half{*q}) : to_float(BFloat16{*q});
                } else {
                    std::memcpy(&a, &want[static_cast<size_t>(i)], 4), std::memcpy(&b, &got[static_cast<size_t>(i)], 4);
                }
                CHECK((std::isnan(a) && std::isnan(b)) || !std::memcmp(&a, &b, 4));
            }
        }
        if (move == TileMove::FloatToHalf)
            for (size_t i = 0; i < in.size(); i += 7) {
                float value;
                std::memcpy(&value, &in[i], 4);
                Half reference = to_half(value), ours{reinterpret_cast<uint16_t*>(want.data())[i]};
                CHECK(reference.bits == ours.bits || std::isnan(value));
            }
    }
}

void test_casts() {
    for (DType from : all_dtypes)
        for (DType to : all_dtypes) {
            ExpressionBuilder builder;
            builder.output(cast(builder.input(from), to));
            Expression expression = builder.finish();
            for (int64_t n : {1, 100}) {
                Array in(from, n), out(to, n);
                for (int64_t i = 0; i < n; i++) {
                    double value = static_cast<double>(random_bits() % 100);
                    if (!is_unsigned(from) && !is_unsigned(to) && (random_bits() & 1)) value = -value;
                    if (category(from) >= 2 && category(to) >= 2) value *= 0.37;
                    in.set(i, is_complex(from) ? C(value, 1.5) : C(value));
                }
                run_flat(expression, {&out}, {&in}, n);
                for (int64_t i = 0; i < n; i++) {
                    Array want(to, 1);
                    C value = in.at(i);
                    want.set(0, is_complex(to) || to == DType::Bool ? value : C(value.real()));
                    bool good = out.at(i) == want.at(0);
                    if (!good) std::fprintf(stderr, "cast %s -> %s: %g gives %g\n", name(from), name(to), value.real(), out.at(i).real());
                    CHECK(good);
                }
            }
        }
}

/// x * y + x over all sorts of layouts against a plain loop.
void test_layouts() {
    ExpressionBuilder builder;
    Sym x = builder.input(DType::Float32), y = builder.input(DType::Float32);
    builder.output(x * y + x);
    Expression several = builder.finish();
    builder.output(builder.input(0, DType::Float32) + builder.input(1, DType::Float32));
    Expression single = builder.finish();
    struct Layout {
        std::vector<int64_t> sizes, out, a, b;
    };
    const std::vector<Layout> layouts = {{{}, {}, {}, {}},
                                         {{5}, {1}, {1}, {0}},
                                         {{5000}, {1}, {2}, {1}},
                                         {{5000}, {3}, {1}, {2}},
                                         {{70, 90}, {90, 1}, {90, 1}, {0, 1}},
                                         {{70, 90}, {90, 1}, {90, 1}, {1, 0}},
                                         {{70, 90}, {90, 1}, {1, 70}, {0, 0}},
                                         {{70, 90}, {1, 70}, {1, 70}, {90, 1}},
                                         {{3000, 3}, {3, 1}, {3, 1}, {0, 1}},
                                         {{4, 5, 6, 7}, {210, 42, 7, 1}, {1, 4, 20, 120}, {0, 7, 0, 1}},
                                         {{2, 1, 3000}, {3000, 9, 1}, {0, 1, 1}, {3001, 0, 1}},
                                         {{3, 0, 4}, {0, 4, 1}, {0, 4, 1}, {0, 0, 0}},
                                         {{1, 1}, {1, 1}, {1, 1}, {0, 0}},
                                         {{300, 5000}, {5000, 1}, {5000, 1}, {0, 1}},
                                         {{20, 30, 40}, {1200, 40, 1}, {30, 1, 600}, {0, 0, 0}}};
    for (const Layout& layout : layouts)
        for (const Expression* expression : {&several, &single}) {
            std::vector<float> a(3000000), b(3000000), out(3000000, -1), want(3000000, -1);
            for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i % 1009), b[i] = static_cast<float>(i % 31);
            size_t dims = layout.sizes.size();
            std::vector<int64_t> at(dims, 0), so, sa, sb;
            int64_t count = 1;
            for (size_t d = 0; d < dims; d++)
                so.push_back(layout.out[d] * 4), sa.push_back(layout.a[d] * 4), sb.push_back(layout.b[d] * 4), count *= layout.sizes[d];
            for (int64_t i = 0; i < count; i++) {
                int64_t o = 0, p = 0, q = 0;
                for (size_t d = 0; d < dims; d++) o += at[d] * layout.out[d], p += at[d] * layout.a[d], q += at[d] * layout.b[d];
                float u = a[static_cast<size_t>(p)], v = b[static_cast<size_t>(q)];
                want[static_cast<size_t>(o)] = expression == &single ? u + v : u * v + u;
                for (size_t d = dims; d-- > 0;) {
                    if (++at[d] < layout.sizes[d]) break;
                    at[d] = 0;
                }
            }
            LoopOperand operands[] = {
                {out.data(), DType::Float32, so.data()}, {a.data(), DType::Float32, sa.data()}, {b.data(), DType::Float32, sb.data()}};
            LoopKernel kernel;
            kernel.expression = expression;
            kernel.ndim = static_cast<int>(dims);
            kernel.sizes = layout.sizes.data();
            kernel.output_count = 1;
            kernel.input_count = 2;
            kernel.operands = operands;
            run(kernel);
            bool good = !std::memcmp(out.data(), want.data(), out.size() * 4);
            if (!good)
                std::fprintf(stderr, "layout %d, %s\n", static_cast<int>(&layout - layouts.data()),
                             expression == &single ? "single" : "several");
            CHECK(good);
        }
}

void test_shapes_of_expressions() {
    constexpr int64_t n = 5000;
    Array a(DType::Float32, n), b(DType::Float32, n), first(DType::Float32, n), second(DType::Bool, n);
    for (int64_t i = 0; i < n; i++) a.set(i, static_cast<double>(i % 97) - 40), b.set(i, static_cast<double>(i % 13));
    { // two outputs, one of them used by the other, one in place
        ExpressionBuilder builder;
        Sym x = builder.input(DType::Float32), y = builder.input(DType::Float32);
        Sym sum = x + y;
        builder.output(sum);
        builder.output(sum * sum > 100 && x != 0);
        Expression expression = builder.finish();
        Array copy = a;
        run_flat(expression, {&copy, &second}, {&copy, &b}, n);
        for (int64_t i = 0; i < n; i++) {
            double sum_value = a.at(i).real() + b.at(i).real();
            CHECK(copy.at(i).real() == sum_value);
            CHECK(second.at(i).real() == (sum_value * sum_value > 100 && a.at(i) != 0.0));
        }
    }
    { // copies, constants, run-time scalars, the same output twice
        ExpressionBuilder builder;
        Sym x = builder.input(DType::Float32);
        builder.output(x);
        builder.output(builder.scalar(DType::Float32) * 2);
        builder.output(x);
        Expression expression = builder.finish();
        Array third(DType::Float32, n), again(DType::Float32, n);
        Immediate scalar = Immediate::of(DType::Float32, 1.25);
        run_flat(expression, {&first, &third, &again}, {&a}, n, &scalar);
        for (int64_t i = 0; i < n; i++) CHECK(first.at(i) == a.at(i) && third.at(i) == 2.5 && again.at(i) == a.at(i));
    }
    { // coordinates: a triangle of a transposed matrix
        ExpressionBuilder builder;
        Sym x = builder.input(DType::Float32);
        builder.output(where(builder.index(1) <= builder.index(0), x, 0));
        Expression expression = builder.finish();
        int64_t sizes[] = {40, 90}, out_strides[] = {4, 160}, in_strides[] = {360, 4};
        LoopOperand operands[] = {{first.bytes.data(), DType::Float32, out_strides}, {a.bytes.data(), DType::Float32, in_strides}};
        LoopKernel kernel;
        kernel.expression = &expression;
        kernel.ndim = 2;
        kernel.sizes = sizes;
        kernel.output_count = kernel.input_count = 1;
        kernel.operands = operands;
        run(kernel);
        for (int64_t i = 0; i < 40; i++)
            for (int64_t j = 0; j < 90; j++) CHECK(first.at(j * 40 + i) == (j <= i ? a.at(i * 90 + j) : C(0)));
    }
    { // a half rounds after every operation of its own dtype, and only there
        for (DType type : {DType::Float16, DType::BFloat16}) {
            ExpressionBuilder builder;
            Sym x = builder.input(type);
            builder.output((x + 0.001) * 3);
            Sym wide = cast(x, DType::Float32);
            builder.output(cast((wide + 0.001) * 3, type));
            Expression expression = builder.finish();
            Array in(type, 300), steps(type, 300), once(type, 300);
            for (int64_t i = 0; i < 300; i++) in.set(i, 0.01 * static_cast<double>(i) + 0.3);
            run_flat(expression, {&steps, &once}, {&in}, 300);
            bool different = false;
            for (int64_t i = 0; i < 300; i++) {
                float x_value = static_cast<float>(in.at(i).real());
                Array by_hand(type, 1), small(type, 1);
                small.set(0, 0.001);
                float rounded_small = static_cast<float>(small.at(0).real());
                by_hand.set(0, static_cast<double>(x_value + rounded_small));
                by_hand.set(0, static_cast<double>(static_cast<float>(by_hand.at(0).real()) * 3));
                CHECK(steps.at(i) == by_hand.at(0));
                by_hand.set(0, static_cast<double>((x_value + 0.001f) * 3));
                CHECK(once.at(i) == by_hand.at(0));
                different |= steps.at(i) != once.at(i);
            }
            CHECK(different);
        }
    }
    { // many values at once
        ExpressionBuilder builder;
        Sym x = builder.input(DType::Float64), sum = x;
        std::vector<Sym> terms;
        for (int i = 1; i < 120; i++) terms.push_back(x * i);
        for (const Sym& term : terms) sum = sum + term;
        builder.output(sum);
        Expression expression = builder.finish();
        Array in(DType::Float64, n), out(DType::Float64, n);
        for (int64_t i = 0; i < n; i++) in.set(i, static_cast<double>(i));
        run_flat(expression, {&out}, {&in}, n);
        for (int64_t i = 0; i < n; i++) CHECK(out.at(i).real() == static_cast<double>(i) * (1 + 119 * 120 / 2));
    }
}

void test_builder() {
    ExpressionBuilder builder;
    Sym x = builder.input(DType::Float32);
    CHECK((x + 1).node() == (x + 1).node());
    CHECK((x * 1).node() == x.node());
    CHECK(pow(x, 2).node() == (x * x).node());
    CHECK((builder.input(DType::Int32) / 2).dtype() == DType::Float32);
    CHECK((x > 0).dtype() == DType::Bool);
    CHECK((cast(x, DType::Int64) + builder.input(DType::Float16)).dtype() == DType::Float16);
    builder.output(x + 1);
    Expression expression = builder.finish(), same = expression;
    CHECK(expression == same && expression.hash() == same.hash());
    CHECK(expression.nodes.size() == 3);
    CHECK(expression.to_string().find("Add %0, %1: float32") != std::string::npos);
    same.nodes[1].value = Immediate::of(DType::Float32, 2.0);
    CHECK(!(expression == same) && expression.hash() != same.hash());
    same.nodes[2].operands[0] = 7;
    CHECK_THROWS(same.verify(), "has wrong operands");
    same = expression;
    same.nodes[2].type = DType::Float64;
    CHECK_THROWS(same.program(), "has the wrong dtype");

    constexpr ScalarBody gelu = scalar_body([](auto value, Text approximate) {
        return approximate == "tanh" ? 0.5 * value * (1 + tanh(0.7978845608 * (value + 0.044715 * value * value * value)))
                                     : 0.5 * value * (1 + erf(value * 0.7071067812));
    });
    static_assert(gelu.arity == 2);
    const Sym arguments[] = {Sym(), Sym("tanh")};
    const DType types[] = {DType::BFloat16, DType::None};
    Expression built = build_expression(gelu, arguments, types, DType::BFloat16, DType::BFloat16);
    CHECK(built.output_type(0) == DType::BFloat16 && built.input_count == 1);
    CHECK(built.to_string().find("Tanh") != std::string::npos);
    Array in(DType::BFloat16, 1), out(DType::BFloat16, 1);
    in.set(0, 1.0);
    run_flat(built, {&out}, {&in}, 1);
    CHECK(std::fabs(out.at(0).real() - 0.8412) < 0.003);
    constexpr ScalarBody axpy = scalar_body([](auto value, auto other, auto alpha) { return value + alpha * other; });
    const Sym axpy_arguments[] = {Sym(), Sym(), Sym(0.5)};
    const DType axpy_types[] = {DType::Float32, DType::Float32, DType::Float32};
    Expression scaled = build_expression(axpy, axpy_arguments, axpy_types, DType::Float32, DType::Float32);
    CHECK(scaled.input_count == 2 && scaled.scalar_count == 1);
}

/// Rows from and to any place, in steps of any length, past the cache and not: each element, and nothing beside the rows.
void test_copies_of_planes() {
    std::vector<unsigned char> from(40000), to(20000), expected;
    for (auto& byte : from) byte = static_cast<unsigned char>(random_bits());
    for (int item : {1, 2, 4, 8, 16})
        for (Isa set : {Isa::Baseline, Isa::Avx2, Isa::Avx512}) {
            if (set > machine_isa()) continue;
            const PlaneCopy copy = set == Isa::Avx512 ? isa_avx512::find_plane_copy(item)
                                   : set == Isa::Avx2 ? isa_avx2::find_plane_copy(item)
                                                      : isa_baseline::find_plane_copy(item);
            for (int turn = 0; turn < 400; turn++) {
                const int64_t rows = 1 + static_cast<int64_t>(random_bits() % 4), row = 1 + static_cast<int64_t>(random_bits() % 260);
                const int64_t step = static_cast<int64_t>(random_bits() % 6) - 2, reach = (row - 1) * (step < 0 ? -step : step) + 1;
                const int64_t shift =
                    random_bits() % 3 ? static_cast<int64_t>(random_bits() % 64) / item * item : static_cast<int64_t>(random_bits() % 64);
                const bool past_cache = random_bits() % 2;
                if (rows * reach * item > 39000 || shift + rows * (row + 3) * item > 19000) continue;
                std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xA5));
                expected = to;
                const int64_t origin = step < 0 ? (row - 1) * -step * item : 0;
                for (int64_t o = 0; o < rows; o++)
                    for (int64_t i = 0; i < row; i++)
                        std::memcpy(&expected[static_cast<size_t>(shift + (o * (row + 3) + i) * item)],
                                    &from[static_cast<size_t>(origin + (o * reach + i * step) * item)], static_cast<size_t>(item));
                // The source ends where its memory does, so that a sanitizer sees what is read behind it.
                const std::vector<unsigned char> source(from.begin(), from.begin() + rows * reach * item);
                copy({reinterpret_cast<char*>(to.data()) + shift,
                      reinterpret_cast<const char*>(source.data()) + origin,
                      {rows, row},
                      {(row + 3) * item, item},
                      {reach * item, step * item},
                      past_cache});
                end_past_cache();
                CHECK(to == expected);
            }
            // Columns become rows: whole blocks and what is left of them, whole lines and not.
            for (int turn = 0; turn < 100; turn++) {
                const int64_t rows = 1 + static_cast<int64_t>(random_bits() % 90), row = 1 + static_cast<int64_t>(random_bits() % 90);
                const int64_t beside = (rows + static_cast<int64_t>(random_bits() % 3)) * item;
                const int64_t to_stride = random_bits() % 2 ? (row * item + 63) & ~int64_t{63} : (row + 1) * item;
                const int64_t shift = random_bits() % 2 ? static_cast<int64_t>(random_bits() % 64) : 0;
                if (row * beside > 39000 || rows * to_stride > 19000) continue;
                char* place = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(to.data()) + 63) & ~uintptr_t{63}) + shift;
                const auto origin = static_cast<size_t>(place - reinterpret_cast<char*>(to.data()));
                std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xA5));
                expected = to;
                for (int64_t o = 0; o < rows; o++)
                    for (int64_t i = 0; i < row; i++)
                        std::memcpy(&expected[origin + static_cast<size_t>(o * to_stride + i * item)],
                                    &from[static_cast<size_t>(o * item + i * beside)], static_cast<size_t>(item));
                const std::vector<unsigned char> source(from.begin(), from.begin() + (row - 1) * beside + rows * item);
                copy({place,
                      reinterpret_cast<const char*>(source.data()),
                      {rows, row},
                      {to_stride, item},
                      {item, beside},
                      random_bits() % 2 == 0});
                end_past_cache();
                CHECK(to == expected);
            }
        }
}

} // namespace

// With a sanitizer's checks the loops are built otherwise, and nobody looks for speed.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KINDLING_TEST_UPPER_HALVES
/// Whether the upper halves of vector registers are in use; false where the processor does not say.
bool upper_halves_in_use() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return false;          // no xgetbv
    if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a >> 2 & 1)) return false; // that tells what is in use
    asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
    return a >> 2 & 1;
}

/// All other code is for the oldest processors, and takes up to three times as long after vectors that nobody cleared.
void test_upper_halves_are_cleared() {
    alignas(64) static char out[1 << 14], in[3][1 << 14];
    std::memset(in, 1, sizeof in); // nothing is divided by 0
    auto try_one = [&](TileFunction function, const char* what, DType type) {
        if (!function) return;
        for (int64_t n : {64, 101})
            for (unsigned splat : {0u, 2u}) {
                function(out, in[0], in[1], in[2], n, splat);
                if (upper_halves_in_use()) std::printf("%s of %s leaves upper halves in use\n", what, name(type));
                CHECK(!upper_halves_in_use());
            }
    };
    for (DType type : all_dtypes) {
        for (int p = 0; p < primitive_count; p++)
            if (primitive_allows(static_cast<Primitive>(p), type))
                try_one(find_tile(static_cast<Primitive>(p), type).function, name(static_cast<Primitive>(p)), type);
        for (DType to : all_dtypes)
            if (!is_half(type) && !is_half(to)) try_one(find_cast(type, to).function, "a cast", type);
        for (Combine combine : {Combine::Sum, Combine::Prod, Combine::Min, Combine::Max, Combine::Any, Combine::All}) {
            if (RowFold fold = is_half(type) ? nullptr : find_row_fold(combine, type)) fold(out, in[0], 3, 101);
            CHECK(!upper_halves_in_use());
        }
    }
    for (TileMove move : {TileMove::HalfToFloat, TileMove::BFloat16ToFloat, TileMove::FloatToHalf, TileMove::FloatToBFloat16,
                          TileMove::RoundHalf, TileMove::RoundBFloat16})
        try_one(find_move(move), "a move", DType::Float32);
}
#endif

int main() {
#if defined(KINDLING_TEST_UPPER_HALVES)
    test_upper_halves_are_cleared();
#endif
    test_copies_of_planes();
    test_against_reference();
    test_erf_of_floats();
    test_special_values();
    test_instruction_sets_agree();
    test_casts();
    test_layouts();
    test_shapes_of_expressions();
    test_builder();
    return finish("kernels: pointwise");
}
