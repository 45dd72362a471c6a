// kernels/maths/special_complex.cpp: functions of complex128, one number at a time, over our own real functions. Special
// values follow Annex G of the C standard where it matters: signed zeros choose the side of a cut.
// Compiled for size.
#include "kernels/maths/special_complex.h"

#include <cmath>

#include "kernels/maths/maths.h"

namespace kindling {

namespace {

namespace maths = isa_once::maths;
using V = isa_once::Vec<double, 2>;

struct Complex {
    double re, im;
};

#define KINDLING_SCALAR(NAME)                                                                                                              \
    double r_##NAME(double x) { return maths::NAME(V{x, x})[0]; }
// clang-format off
KINDLING_SCALAR(exp)
KINDLING_SCALAR(expm1) KINDLING_SCALAR(log) KINDLING_SCALAR(log1p) KINDLING_SCALAR(sin) KINDLING_SCALAR(cos)
    KINDLING_SCALAR(sinh) KINDLING_SCALAR(cosh) KINDLING_SCALAR(tan) KINDLING_SCALAR(asinh)
// clang-format on
#undef KINDLING_SCALAR
        double r_hypot(double x, double y) {
    return maths::hypot(V{x, x}, V{y, y})[0];
}
double r_atan2(double y, double x) { return maths::atan2(V{y, y}, V{x, x})[0]; }

constexpr double infinity = __builtin_inf(), not_a_number = __builtin_nan(""), pi = 3.141592653589793, ln2 = 0.6931471805599453;

Complex add(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex scale(Complex a, double by) { return {a.re * by, a.im * by}; }
Complex times_i(Complex a) { return {-a.im, a.re}; }
Complex times_minus_i(Complex a) { return {a.im, -a.re}; }
Complex multiply(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
bool is_finite(Complex z) { return std::isfinite(z.re) && std::isfinite(z.im); }

Complex divide(Complex a, Complex b) {
    if (std::fabs(b.re) >= std::fabs(b.im)) {
        if (b.re == 0 && b.im == 0) return {a.re / std::fabs(b.re), a.im / std::fabs(b.im)};
        double ratio = b.im / b.re, scl = 1 / (b.re + b.im * ratio);
        return {(a.re + a.im * ratio) * scl, (a.im - a.re * ratio) * scl};
    }
    double ratio = b.re / b.im, scl = 1 / (b.re * ratio + b.im);
    return {(a.re * ratio + a.im) * scl, (a.im * ratio - a.re) * scl};
}
Complex reciprocal(Complex a) { return divide({1, 0}, a); }

Complex square_root(Complex z) {
    if (z.re == 0 && z.im == 0) return {0, z.im};
    if (std::isinf(z.im)) return {infinity, z.im};
    if (std::isinf(z.re))
        return z.re > 0 ? Complex{z.re, std::isnan(z.im) ? z.im : std::copysign(0.0, z.im)}
                        : Complex{std::isnan(z.im) ? z.im : 0, std::copysign(infinity, z.im)};
    double factor = 1;
    if (std::fabs(z.re) > 1e300 || std::fabs(z.im) > 1e300) z = scale(z, 0.0625), factor = 4;
    else if (std::fabs(z.re) < 1e-290 && std::fabs(z.im) < 1e-290) z = scale(z, 0x1p100), factor = 0x1p-50;
    double t = __builtin_sqrt(0.5 * (r_hypot(z.re, z.im) + std::fabs(z.re)));
    double other = std::fabs(z.im) / (2 * t);
    return z.re >= 0 ? Complex{factor * t, factor * std::copysign(other, z.im)} : Complex{factor * other, factor * std::copysign(t, z.im)};
}
/// part * e^x, which may be finite even if e^x overflows.
double grown(double x, double part) {
    if (x <= 700) return r_exp(x) * part;
    double half = r_exp(0.5 * x);
    return half * part * half;
}
Complex exponential(Complex z) {
    if (z.im == 0) return {r_exp(z.re), z.im};
    if (std::isinf(z.re) && !std::isfinite(z.im)) return z.re > 0 ? Complex{infinity, not_a_number} : Complex{0, std::copysign(0.0, z.im)};
    return {grown(z.re, r_cos(z.im)), grown(z.re, r_sin(z.im))};
}
double log_size(Complex z) {
    double a = std::fabs(z.re), b = std::fabs(z.im);
    double large = a > b ? a : b, small = a > b ? b : a;
    if (large > 0.5 && large < 2 && small < 2) { // near 1: log1p of the difference
        double over = (large - 1) * (large + 1) + small * small;
        if (std::fabs(over) < 0.5) return 0.5 * r_log1p(over);
    }
    if (large > 1e300) return r_log(r_hypot(0.25 * a, 0.25 * b)) + 2 * ln2;
    if (large < 1e-300) return r_log(r_hypot(a * 0x1p60, b * 0x1p60)) - 60 * ln2;
    return r_log(r_hypot(a, b));
}
Complex logarithm(Complex z) { return {log_size(z), r_atan2(z.im, z.re)}; }
Complex log_plus_one(Complex z) {
    double over = z.re * (2 + z.re) + z.im * z.im; // |1 + z|^2 - 1
    double size = over == 0 && z.im == 0 ? z.re : std::fabs(over) < 0.5 ? 0.5 * r_log1p(over) : log_size({1 + z.re, z.im});
    return {size, r_atan2(z.im, 1 + z.re)};
}
Complex log_add_exp(Complex x, Complex y) {
    auto no_number = [](Complex z) { return std::isnan(z.re) || std::isnan(z.im); };
    if (no_number(x) || no_number(y)) return {not_a_number, not_a_number};
    const Complex low = x.re < y.re ? x : y, high = x.re < y.re ? y : x;
    if (std::isinf(low.re) && low.re == high.re) return low.re < 0 ? low : logarithm(add(exponential(low), exponential(high)));
    return add(log_plus_one(exponential({low.re - high.re, low.im - high.im})), high);
}
Complex log_base_2(Complex z) { return scale(logarithm(z), 1.4426950408889634); }
Complex log_base_10(Complex z) { return scale(logarithm(z), 0.4342944819032518); }
Complex exp_base_2(Complex z) { return exponential(scale(z, ln2)); }
Complex exp_minus_one(Complex z) {
    // e^x cos(y) - 1 = (e^x - 1) cos(y) - 2 sin(y/2)^2
    double half = r_sin(0.5 * z.im);
    return {r_expm1(z.re) * r_cos(z.im) - 2 * half * half, r_exp(z.re) * r_sin(z.im)};
}

Complex hyperbolic_sine(Complex z) {
    if (z.im == 0) return {r_sinh(z.re), z.im};
    if (!std::isfinite(z.im)) return {z.re == 0 ? z.re : std::isinf(z.re) ? infinity : not_a_number, not_a_number};
    double a = std::fabs(z.re), c = std::copysign(1.0, z.re) * r_cos(z.im);
    if (a > 700) return {0.5 * grown(a, c), 0.5 * grown(a, r_sin(z.im))};
    return {r_sinh(z.re) * r_cos(z.im), r_cosh(z.re) * r_sin(z.im)};
}
Complex hyperbolic_cosine(Complex z) {
    if (z.im == 0) return {r_cosh(z.re), std::isnan(z.re) ? z.im : std::copysign(1.0, z.re) * z.im};
    if (!std::isfinite(z.im)) return {std::isinf(z.re) ? infinity : not_a_number, z.re == 0 ? 0 : not_a_number};
    double a = std::fabs(z.re), s = std::copysign(1.0, z.re) * r_sin(z.im);
    if (a > 700) return {0.5 * grown(a, r_cos(z.im)), 0.5 * grown(a, s)};
    return {r_cosh(z.re) * r_cos(z.im), r_sinh(z.re) * r_sin(z.im)};
}
Complex hyperbolic_tangent(Complex z) {
    if (std::isinf(z.re)) {
        double wave = std::isfinite(z.im) && std::fabs(z.im) > 1 ? r_sin(z.im) * r_cos(z.im) : z.im;
        return {std::copysign(1.0, z.re), std::copysign(0.0, wave)};
    }
    if (z.im == 0 && std::isnan(z.re)) return z;
    if (!is_finite(z)) return {z.re == 0 ? z.re : not_a_number, not_a_number};
    if (std::fabs(z.re) > 22) return {std::copysign(1.0, z.re), 4 * r_sin(z.im) * r_cos(z.im) * r_exp(-2 * std::fabs(z.re))};
    double t = r_tan(z.im), s = r_sinh(z.re), beta = 1 + t * t, rho = __builtin_sqrt(1 + s * s), denominator = 1 + beta * s * s;
    if (std::isinf(t)) return {rho / s, 1 / t};
    return {beta * rho * s / denominator, t / denominator};
}
Complex sine(Complex z) {
    if (std::isinf(z.im) && !std::isfinite(z.re)) return {not_a_number, infinity};
    return times_minus_i(hyperbolic_sine(times_i(z)));
}
Complex cosine(Complex z) { return hyperbolic_cosine(times_i(z)); }
Complex tangent(Complex z) { return times_minus_i(hyperbolic_tangent(times_i(z))); }

Complex area_sine(Complex z) { // Kahan's formulas: no cancellation near the cuts
    if (z.im == 0 && std::isnan(z.re)) return z;
    if (std::fabs(z.re) > 1e8 || std::fabs(z.im) > 1e8) {
        Complex l = logarithm({std::fabs(z.re), std::fabs(z.im)});
        return {std::copysign(l.re + ln2, z.re), std::copysign(l.im, z.im)};
    }
    Complex minus = square_root({1 + z.im, -z.re}), plus = square_root({1 - z.im, z.re});
    // asinh(z) = -i asin(iz)
    double re = r_asinh(plus.re * minus.im * -1 + plus.im * minus.re);
    double im = r_atan2(z.im, plus.re * minus.re - plus.im * minus.im);
    return {std::copysign(re, z.re), im};
}
Complex arc_sine(Complex z) { return times_minus_i(area_sine(times_i(z))); }
Complex arc_cosine(Complex z) {
    if (z.re == 0 && std::isnan(z.im)) return {0.5 * pi, z.im};
    if (std::fabs(z.re) > 1e8 || std::fabs(z.im) > 1e8) {
        Complex l = logarithm(z);
        return {std::fabs(l.im), std::copysign(l.re + ln2, -z.im)};
    }
    Complex minus = square_root({1 - z.re, -z.im}), plus = square_root({1 + z.re, z.im});
    return {2 * r_atan2(minus.re, plus.re), r_asinh(plus.re * minus.im - plus.im * minus.re)};
}
Complex area_cosine(Complex z) {
    Complex w = arc_cosine(z);
    return std::signbit(z.im) ? Complex{std::fabs(w.im), -w.re} : Complex{std::fabs(w.im), w.re};
}
Complex area_tangent(Complex z) {
    if (std::isinf(z.im)) return {std::copysign(0.0, z.re), std::copysign(0.5 * pi, z.im)};
    if (!is_finite(z)) {
        if (std::isnan(z.re)) return {z.re, not_a_number};
        double im = std::isnan(z.im) ? z.im : std::copysign(0.5 * pi, z.im);
        return {std::isinf(z.re) || z.re == 0 ? std::copysign(0.0, z.re) : not_a_number, im};
    }
    double a = std::fabs(z.re), b = z.im;
    if (a > 1e8 || std::fabs(b) > 1e8) return {std::copysign(0.5 * reciprocal({0.5 * a, 0.5 * b}).re, z.re), std::copysign(0.5 * pi, z.im)};
    double below = (1 - a) * (1 - a) + b * b;
    // Next to 1 its square is not representable.
    double re = below < 1e-290 ? 0.5 * (ln2 - r_log(r_hypot(1 - a, b))) : 0.25 * r_log1p(4 * a / below);
    double im = 0.5 * r_atan2(2 * b, (1 - a) * (1 + a) - b * b);
    return {std::copysign(re, z.re), im};
}
Complex arc_tangent(Complex z) { return times_minus_i(area_tangent(times_i(z))); }

Complex sigmoid(Complex z) { return reciprocal(add({1, 0}, exponential({-z.re, -z.im}))); }
Complex reciprocal_root(Complex z) { return reciprocal(square_root(z)); }
Complex sign(Complex z) {
    double size = r_hypot(z.re, z.im);
    return size == 0 ? Complex{0, 0} : Complex{z.re / size, z.im / size};
}
/// A product that keeps infinities, as in Annex G.
Complex multiply_infinities(Complex a, Complex b) {
    Complex product = multiply(a, b);
    if (!std::isnan(product.re) || !std::isnan(product.im)) return product;
    auto boxed = [](Complex& z) {
        z = {std::copysign(std::isinf(z.re) ? 1.0 : 0.0, z.re), std::copysign(std::isinf(z.im) ? 1.0 : 0.0, z.im)};
    };
    auto cleared = [](Complex& z) {
        if (std::isnan(z.re)) z.re = std::copysign(0.0, z.re);
        if (std::isnan(z.im)) z.im = std::copysign(0.0, z.im);
    };
    auto infinite = [](Complex z) { return std::isinf(z.re) || std::isinf(z.im); };
    const bool first = infinite(a), second = infinite(b);
    if (first) boxed(a), cleared(b);
    if (second) boxed(b), cleared(a);
    if (!first && !second) {
        if (!infinite({a.re * b.re, a.im * b.im}) && !infinite({a.re * b.im, a.im * b.re})) return product;
        cleared(a), cleared(b);
    }
    product = multiply(a, b);
    return {infinity * product.re, infinity * product.im};
}
Complex power(Complex x, Complex y) {
    if (y.im == 0 && y.re == std::floor(y.re) && std::fabs(y.re) <= 64 && is_finite(x) && (x.re != 0 || x.im != 0)) {
        Complex result{1, 0}, factor = x; // products keep integers exact
        for (int left = static_cast<int>(std::fabs(y.re)); left; left >>= 1, factor = multiply(factor, factor))
            if (left & 1) result = multiply(result, factor);
        if (y.re < 0) result = reciprocal(result);
        if (is_finite(result) && (result.re != 0 || result.im != 0)) return result;
    }
    return exponential(multiply_infinities(y, logarithm(x)));
}

template <Complex (*F)(Complex)> void each(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    for (int64_t i = 0; i < n; i++) static_cast<Complex*>(out)[i] = F(static_cast<const Complex*>(a)[i]);
}
template <Complex (*F)(Complex, Complex)> void each(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    for (int64_t i = 0; i < n; i++)
        static_cast<Complex*>(out)[i] =
            F(static_cast<const Complex*>(a)[splat & 1 ? 0 : i], static_cast<const Complex*>(b)[splat & 2 ? 0 : i]);
}
/// The same as `divide`, two numbers at a time, without a branch that half of all numbers would mispredict. The first one is 1 if
/// `inverse`.
void quotients(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    for (int64_t i = 0; i < n; i += 2) {
        const int64_t next = i + 1 < n ? i + 1 : i;
        const auto read = [&](const void* from, unsigned repeated, int64_t at) {
            return static_cast<const Complex*>(from)[repeated ? 0 : at];
        };
        const Complex x = read(a, splat & 1, i), y = read(a, splat & 1, next), u = read(b, splat & 2, i), v = read(b, splat & 2, next);
        Complex* to = static_cast<Complex*>(out);
        if ((u.re == 0 && u.im == 0) || (v.re == 0 && v.im == 0)) [[unlikely]] {
            to[i] = divide(x, u), to[next] = divide(y, v);
            continue;
        }
        const V re{u.re, v.re}, im{u.im, v.im}, real{x.re, y.re}, imaginary{x.im, y.im};
        const auto kept = isa_once::absolute(re) >= isa_once::absolute(im);
        const V ratio = isa_once::choose(kept, im, re) / isa_once::choose(kept, re, im);
        const V scl = 1.0 / (isa_once::choose(kept, re, im) + isa_once::choose(kept, im, re) * ratio);
        const V large = (isa_once::choose(kept, real, imaginary) + isa_once::choose(kept, imaginary, real) * ratio) * scl;
        const V turned = isa_once::choose(kept, real, imaginary) * ratio;
        const V small = (isa_once::choose(kept, imaginary, turned) - isa_once::choose(kept, turned, real)) * scl;
        to[i] = {large[0], small[0]}, to[next] = {large[1], small[1]};
    }
}
void reciprocals(void* out, const void* a, const void*, const void*, int64_t n, unsigned splat) {
    const Complex one{1, 0};
    quotients(out, &one, a, nullptr, n, splat << 1 | 1);
}
/// A real function of both parts, by vectors.
template <Primitive P, bool turned> void of_parts(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    constexpr int64_t most = 64;
    const TileFunction function = find_tile(P, DType::Float64).function;
    double parts[2][most];
    for (int64_t start = 0; start < n; start += most) {
        const Complex* z = static_cast<const Complex*>(a) + start;
        const int64_t count = n - start < most ? n - start : most;
        for (int64_t i = 0; i < count; i++) parts[0][i] = z[i].re, parts[1][i] = z[i].im;
        function(static_cast<double*>(out) + start, parts[turned], parts[!turned], nullptr, count, 0);
    }
}

} // namespace

TileFunction find_special_complex(Primitive primitive) {
    switch (primitive) {
    case Primitive::Div: return quotients;
    case Primitive::Reciprocal: return reciprocals;
    case Primitive::Sqrt: return each<square_root>;
    case Primitive::Rsqrt: return each<reciprocal_root>;
    case Primitive::Exp: return each<exponential>;
    case Primitive::Exp2: return each<exp_base_2>;
    case Primitive::Expm1: return each<exp_minus_one>;
    case Primitive::Log: return each<logarithm>;
    case Primitive::Log2: return each<log_base_2>;
    case Primitive::Log10: return each<log_base_10>;
    case Primitive::Log1p: return each<log_plus_one>;
    case Primitive::Sin: return each<sine>;
    case Primitive::Cos: return each<cosine>;
    case Primitive::Tan: return each<tangent>;
    case Primitive::Asin: return each<arc_sine>;
    case Primitive::Acos: return each<arc_cosine>;
    case Primitive::Atan: return each<arc_tangent>;
    case Primitive::Sinh: return each<hyperbolic_sine>;
    case Primitive::Cosh: return each<hyperbolic_cosine>;
    case Primitive::Tanh: return each<hyperbolic_tangent>;
    case Primitive::Asinh: return each<area_sine>;
    case Primitive::Acosh: return each<area_cosine>;
    case Primitive::Atanh: return each<area_tangent>;
    case Primitive::Sigmoid: return each<sigmoid>;
    case Primitive::Sign: return each<sign>;
    case Primitive::Pow: return each<power>;
    case Primitive::Logaddexp: return each<log_add_exp>;
    case Primitive::Abs: return of_parts<Primitive::Hypot, false>;
    case Primitive::Angle: return of_parts<Primitive::Atan2, true>;
    default: return nullptr;
    }
}

} // namespace kindling
