// script/builtins/builtins_numbers.cpp: numbers: arithmetic, comparison, conversion, `math`. Scalars hold any kind of number.
#include <cmath>
#include <numeric>

#include "script/builtins/builtins.h"

namespace kindling::script {
namespace {

using Tag = Item::Tag;
using std::complex;

/// 0: integers and truths, 1: fractions, 2: complex numbers.
int width(const Item& item) { return item.is(Tag::Complex) ? 2 : item.is(Tag::Float) ? 1 : 0; }
int width(const Item* a) { return std::max(width(a[0]), width(a[1])); }

/// A real number beside a complex one stays real: 0 - 1j has no imaginary part that was 0 - 1.
template <class F> Item of_complex(const Item* a, F f) {
    if (width(a[0]) < 2) return Item(complex<double>(f(F(0), C(1))));
    return Item(complex<double>(width(a[1]) < 2 ? f(C(0), F(1)) : f(C(0), C(1))));
}

/// Integers wrap around.
template <class F> void arithmetic(Item* a, F f) {
    switch (width(a)) {
    case 0: a[0] = Item(static_cast<int64_t>(f(static_cast<uint64_t>(I(0)), static_cast<uint64_t>(I(1))))); break;
    case 1: a[0] = Item(f(F(0), F(1))); break;
    default: a[0] = of_complex(a, f);
    }
}
template <class F> bool compared(const Item* a, F f) {
    if (a[0].is(Tag::Str)) return f(S(0).compare(S(1)), 0);
    KINDLING_CHECK(Runtime, width(a) < 2, "complex numbers have no order");
    return width(a) ? f(F(0), F(1)) : f(I(0), I(1));
}
/// What PyTorch computes of a Scalar it gives in single precision.
void narrow(Item& item) {
    if (item.is(Tag::Float)) item = Item(static_cast<double>(static_cast<float>(item.number())));
}
template <class F> void maths(Item* a, F f) { a[0] = a[0].is(Tag::Complex) ? Item(f(C(0))) : Item(f(F(0))); }

/// As the processor converts: what has no place becomes the least number.
int64_t to_integer(double number) {
    return number >= -0x1p63 && number < 0x1p63 ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::min();
}
int64_t whole(double number) {
    if (std::isnan(number)) number = std::abs(number); // its sign is not shown
    KINDLING_CHECK(Runtime, number >= -0x1p63 && number <= 0x1p63, "Cannot convert float %f to integer", number);
    return to_integer(number);
}
int64_t to_integer(const Item& item) { return width(item) ? to_integer(item.complex().real()) : item.integer(); }

int64_t floor_div(int64_t a, int64_t b) {
    KINDLING_CHECK(Runtime, b != 0, "division by 0");
    if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t remainder(int64_t a, int64_t b) {
    KINDLING_CHECK(Runtime, b != 0, "ZeroDivisionError: integer division or modulo by zero");
    if (b == -1) return 0;
    const int64_t rest = a % b;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}
double remainder(double a, double b) { return std::fmod(b + std::fmod(a, b), b); }

void divmod(Item* a, size_t) {
    Item quotient, rest;
    if (width(a) == 0) {
        KINDLING_CHECK(Runtime, I(1) != 0, "ZeroDivisionError: integer division or modulo by zero");
        quotient = Item(floor_div(I(0), I(1)));
        rest = Item(remainder(I(0), I(1)));
    } else {
        const double x = F(0), y = F(1);
        KINDLING_CHECK(Runtime, y != 0, "ZeroDivisionError: float divmod()");
        double left = std::fmod(x, y);
        if (left != 0 && (x < 0) != (y < 0)) left += y;
        whole(std::floor(x / y)); // refuses what is infinite
        quotient = Item(std::floor(x / y));
        rest = Item(left);
    }
    const TypeRef type = type_of(width(quotient) ? TypeKind::Float : TypeKind::Int);
    a[0] = Item::tuple(tuple_of({type, type}), {quotient, rest});
}

double power(double base, double exponent) {
    KINDLING_CHECK(Runtime, base != 0 || !(exponent < 0), "0.0 cannot be raised to a negative power");
    return std::pow(base, exponent);
}
complex<double> power(double base, complex<double> exponent) { return std::pow(base, exponent); }
complex<double> power(complex<double> base, double exponent) { return std::pow(base, exponent); }
complex<double> power(complex<double> base, complex<double> exponent) { return std::pow(base, exponent); }
void power(Item* a, size_t) {
    constexpr auto f = [](auto x, auto y) { return power(x, y); };
    a[0] = width(a) == 2 ? of_complex(a, f) : Item(f(F(0), F(1)));
}

/// With one division, and so with PyTorch's roundings.
complex<double> quotient(complex<double> x, complex<double> y) {
    const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag(), abs_c = std::abs(c), abs_d = std::abs(d);
    if (abs_c >= abs_d) {
        if (abs_c == 0) return {a / abs_c, b / abs_d};
        const double ratio = d / c, scale = 1.0 / (c + d * ratio);
        return {(a + b * ratio) * scale, (b - a * ratio) * scale};
    }
    const double ratio = c / d, scale = 1.0 / (c * ratio + d);
    return {(a * ratio + b) * scale, (b * ratio - a) * scale};
}
complex<double> log_of(const Item& item) {
    return item.is(Tag::Complex) ? std::log(item.complex()) : complex<double>(std::log(item.number()));
}

int64_t whole_power(int64_t base, int64_t exponent) {
    return to_integer(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

int64_t factorial(int64_t n) {
    KINDLING_CHECK(Runtime, n >= 0, "factorial() not defined for negative values");
    uint64_t all = 1;
    for (int64_t i = 1; i <= std::min<int64_t>(n, 66); i++) all *= static_cast<uint64_t>(i); // from 66 on the low 64 bits are 0
    return static_cast<int64_t>(all);
}

template <class F> auto parsed(const std::string& text, const char* none, const char* rest, F f) {
    char* end = nullptr;
    errno = 0;
    const auto value = f(text.c_str(), &end);
    KINDLING_CHECK(Runtime, end != text.c_str() && errno != ERANGE, "%s", none);
    KINDLING_CHECK(Runtime, *end == 0 && end == text.c_str() + text.size(), "%s: '%s'", rest, text.c_str());
    return value;
}

/// The least or the greatest of a list, or of two lists by dictionary order.
template <class F> void extreme(Item* a, size_t count, const char* name, F better) {
    if (count == 2) {
        if (a[0].is(Tag::List)) {
            const auto &x = L(0), &y = L(1);
            size_t i = 0;
            while (i < std::min(x.size(), y.size()) && equal(x[i], y[i])) i++;
            const bool inside = i < std::min(x.size(), y.size());
            if (inside ? better(x[i].number(), y[i].number()) : better(static_cast<double>(x.size()), static_cast<double>(y.size())))
                return;
            a[0] = a[1];
        } else if (width(a)) a[0] = Item(better(F(0), F(1)) ? F(0) : F(1));
        else if (!better(I(0), I(1))) a[0] = a[1];
        return;
    }
    const std::vector<Item>& items = L(0);
    KINDLING_CHECK(Runtime, !items.empty(), "%s() arg is an empty sequence", name);
    Item best = items[0];
    for (const Item& each : items)
        if (each.is(Tag::Float) ? better(each.number(), best.number()) : better(each.integer(), best.integer())) best = each;
    a[0] = best;
}
constexpr auto less = [](auto x, auto y) { return x < y; };
constexpr auto more = [](auto x, auto y) { return x > y; };

void absolute(Item* a, size_t) {
    switch (width(a[0])) {
    case 0:
        if (I(0) < 0) a[0] = Item(static_cast<int64_t>(-static_cast<uint64_t>(I(0))));
        break;
    case 1: a[0] = Item(std::abs(F(0))); break;
    default: a[0] = Item(std::abs(C(0)));
    }
}
void negative(Item* a, size_t) {
    switch (width(a[0])) {
    case 0: a[0] = Item(static_cast<int64_t>(-static_cast<uint64_t>(I(0)))); break;
    case 1: a[0] = Item(-F(0)); break;
    default: a[0] = Item(-C(0));
    }
}
void total(Item* a, size_t) {
    const std::vector<Item> items = L(0);
    Item sum[2] = {items.empty() && a[0].type()->element()->is(TypeKind::Float)     ? Item(0.0)
                   : items.empty() && a[0].type()->element()->is(TypeKind::Complex) ? Item(complex<double>())
                                                                                    : Item(int64_t{0})};
    for (const Item& each : items) {
        sum[1] = each;
        arithmetic(sum, [](auto x, auto y) { return x + y; });
    }
    a[0] = sum[0];
}
/// For `all` and `any`: an element counts if it is not 0, and text if it is not empty.
bool counts(const Item& item) { return item.is(Tag::Str) ? !item.text().empty() : item.is(Tag::Float) ? item.number() != 0 : item.truth(); }
double angle(complex<double> z) { return std::arg(z); }

constexpr double pi = 3.14159265358979323846;

#define MATHS(function)                                                                                                                    \
    DO {                                                                                                                                   \
        maths(a, [](auto x) { return function(x); });                                                                                      \
    }
#define REAL(expression)                                                                                                                   \
    DO {                                                                                                                                   \
        const double x = F(0);                                                                                                             \
        a[0] = Item(expression);                                                                                                           \
    }
#define NARROW(name, function)                                                                                                             \
    define(                                                                                                                                \
        'p', name ".Scalar(Scalar a) -> Scalar", DO {                                                                                      \
            function(a, 1);                                                                                                                \
            narrow(a[0]);                                                                                                                  \
        });
#define REAL2(expression)                                                                                                                  \
    DO {                                                                                                                                   \
        const double x = F(0), y = F(1);                                                                                                   \
        a[0] = Item(expression);                                                                                                           \
    }

constexpr char all_pairs[] = "int complex float int_complex complex_int float_complex complex_float int_float float_int";
constexpr char real_pairs[] = "int float int_float float_int";
constexpr char same_pairs[] = "int complex float int_float float_int float_complex complex_float";

void arithmetic_builtins(Builtins& define) {
    const Builtin add = DO {
        arithmetic(a, [](auto x, auto y) { return x + y; });
    };
    const Builtin sub = DO {
        arithmetic(a, [](auto x, auto y) { return x - y; });
    };
    const Builtin mul = DO {
        arithmetic(a, [](auto x, auto y) { return x * y; });
    };
    const Builtin div = DO { a[0] = width(a) == 2 ? Item(quotient(C(0), C(1))) : Item(F(0) / F(1)); };
    const Builtin floordiv = DO { a[0] = width(a) ? Item(std::floor(F(0) / F(1))) : Item(floor_div(I(0), I(1))); };
    const Builtin rest = DO { a[0] = width(a) ? Item(remainder(F(0), F(1))) : Item(remainder(I(0), I(1))); };
    define.numbers("aten::add", all_pairs, "", add);
    define('p', "aten::add(Scalar a, Scalar b) -> Scalar", add);
    define.numbers("aten::sub", all_pairs, "", sub);
    define('p', "aten::sub(Scalar a, Scalar b) -> Scalar", sub);
    define.numbers("aten::mul", all_pairs, "", mul);
    define('p', "aten::mul(Scalar a, Scalar b) -> Scalar", mul);
    define('p', "aten::div.int(int a, int b) -> float", div);
    define('p', "aten::div.complex(complex a, complex b) -> complex", div);
    define('p', "aten::div.float(float a, float b) -> float", div);
    define('p', "aten::div(Scalar a, Scalar b) -> float", div);
    define.numbers("aten::floordiv", real_pairs, "", floordiv);
    define('p', "aten::floordiv(Scalar a, Scalar b) -> Scalar", floordiv);
    define.numbers("aten::remainder", real_pairs, "", rest);
    define('p', "aten::remainder(Scalar a, Scalar b) -> Scalar", rest);
    define.numbers("aten::mathremainder", real_pairs, "float", REAL2(std::remainder(x, y)));
    define('p', "aten::mathremainder(Scalar a, Scalar b) -> float", REAL2(std::remainder(x, y)));
    define.numbers("aten::fmod", real_pairs, "float", REAL2(std::fmod(x, y)));
    define('p', "aten::fmod(Scalar a, Scalar b) -> float", REAL2(std::fmod(x, y)));
    define(
        'p', "aten::__round_to_zero_floordiv.int(int a, int b) -> int", DO {
            KINDLING_CHECK(Runtime, I(1) != 0, "ZeroDivisionError: integer division or modulo by zero");
            a[0] = Item(I(1) == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(I(0))) : I(0) / I(1));
        });
    define('p', "aten::divmod.int(int x, int y) -> (int, int)", divmod);
    define('p', "aten::divmod.float(float x, float y) -> (float, float)", divmod);
    define('p', "aten::divmod.int_float(int x, float y) -> (float, float)", divmod);
    define('p', "aten::divmod.float_int(float x, int y) -> (float, float)", divmod);
    define.numbers("aten::pow", "int", "float", power);
    define.numbers("aten::pow", "complex float int_float float_int float_complex complex_float", "", power);
    define('p', "aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", power);
    define('p', "aten::pow.int_to_int(int a, int b) -> int", GIVE(whole_power(I(0), I(1))));
    define.number("aten::neg", "int", "int", negative);
    define.number("aten::neg", "float complex", "float", negative);
    NARROW("aten::neg", negative)
    define.number("prim::abs", "int", "int", absolute);
    define.number("prim::abs", "float", "float", absolute);
    define('p', "prim::abs.complex(complex a) -> float", absolute);
    NARROW("prim::abs", absolute)
    define(0, "prim::abs(Tensor x) -> Tensor", GIVE(T(0).abs()));
    define('p', "aten::__and__.bool(bool a, bool b) -> bool", TRUTH(B(0) && B(1)));
    define('p', "aten::__and__.int(int a, int b) -> int", GIVE(I(0) & I(1)));
    define('p', "aten::__or__.bool(bool a, bool b) -> bool", TRUTH(B(0) || B(1)));
    define('p', "aten::__or__.int(int a, int b) -> int", GIVE(I(0) | I(1)));
    define('p', "aten::__xor__.bool(bool a, bool b) -> bool", TRUTH(B(0) != B(1)));
    define('p', "aten::__xor__.int(int a, int b) -> int", GIVE(I(0) ^ I(1)));
    define('p', "aten::__lshift__.int(int a, int b) -> int", NUMBER(static_cast<uint64_t>(I(0)) << (I(1) & 63))); // as the processor shifts
    define('p', "aten::__rshift__.int(int a, int b) -> int", GIVE(I(0) >> (I(1) & 63)));
}

void comparison_builtins(Builtins& define) {
    const auto order = [&](const char* name, Builtin function) {
        if (define.name() != name) return;
        define.numbers(name, real_pairs, "bool", function);
        define('p', (define.name() + "(Scalar a, Scalar b) -> bool").c_str(), function);
        define('p', (define.name() + ".str(str a, str b) -> bool").c_str(), function);
    };
    order("aten::lt", TRUTH(compared(a, less)));
    order("aten::gt", TRUTH(compared(a, more)));
    order("aten::le", TRUTH(compared(a, [](auto x, auto y) { return x <= y; })));
    order("aten::ge", TRUTH(compared(a, [](auto x, auto y) { return x >= y; })));
    const auto same = [&](const char* name, Builtin function) {
        if (define.name() != name) return;
        const auto line = [&](char effect, const char* rest) { define(effect, (define.name() + rest).c_str(), function); };
        line(0, ".int_list(int[] a, int[] b) -> bool");
        line('p', ".device(Device a, Device b) -> bool");
        line('p', ".bool(bool a, bool b) -> bool");
        line('p', ".enum(AnyEnumType a, AnyEnumType b) -> bool");
        define.numbers(name, same_pairs, "bool", function);
        line('p', "(Scalar a, Scalar b) -> bool");
        line('p', ".str(str a, str b) -> bool");
        for (const char* type : {"float", "Tensor", "bool", "str"})
            line(0, format(".%s_list(%s[] a, %s[] b) -> bool", type, type, type).c_str());
    };
    same("aten::eq", TRUTH(alike(a[0], a[1])));
    same("aten::ne", TRUTH(!alike(a[0], a[1])));
    define('p', "aten::__not__(bool self) -> bool", TRUTH(!B(0)));
    define('p', "aten::__is__(t1 self, t2 obj) -> bool", TRUTH(a[0].same_object(a[1])));
    define('p', "aten::__isnot__(t1 self, t2 obj) -> bool", TRUTH(!a[0].same_object(a[1])));
}

void conversion_builtins(Builtins& define) {
    define('p', "aten::Bool.int(int a) -> bool", TRUTH(I(0) != 0));
    define('p', "aten::Bool.float(float a) -> bool", TRUTH(F(0) != 0));
    define('p', "aten::Int.bool(bool a) -> int", GIVE(I(0)));
    define('p', "aten::Int.float(float a) -> int", GIVE(to_integer(a[0])));
    define(
        'p', "aten::Int.Scalar(Scalar a) -> int", DO {
            KINDLING_CHECK(Runtime, C(0).imag() == 0, "value cannot be converted to type int without overflow");
            a[0] = Item(to_integer(a[0]));
        });
    define(
        'p', "aten::Int.str(str a) -> int", DO {
            const auto read = [](const char* at, char** end) { return std::strtoll(at, end, 10); };
            a[0] = Item(static_cast<int64_t>(parsed(S(0), "stoll", "invalid literal for int() with base 10", read)));
        });
    define('p', "aten::Float.Scalar(Scalar a) -> float", GIVE(C(0).real()));
    define('p', "aten::Float.int(int a) -> float", GIVE(F(0)));
    define('p', "aten::Float.bool(bool a) -> float", GIVE(F(0)));
    define(
        'p', "aten::Float.str(str a) -> float", DO {
            a[0] = Item(
                parsed(S(0), "stod", "could not convert string to float", [](const char* at, char** end) { return std::strtod(at, end); }));
        });
}

void maths_builtins(Builtins& define) {
#define FOR_COMPLEX(NAME)                                                                                                                  \
    define.number("aten::" #NAME, "int float complex", "float", MATHS(std::NAME));                                                         \
    NARROW("aten::" #NAME, (MATHS(std::NAME)))
    // clang-format off
    FOR_COMPLEX(sin) FOR_COMPLEX(cos) FOR_COMPLEX(tan) FOR_COMPLEX(asin) FOR_COMPLEX(acos) FOR_COMPLEX(atan) FOR_COMPLEX(sinh)
    FOR_COMPLEX(cosh) FOR_COMPLEX(tanh)
    FOR_COMPLEX(asinh) FOR_COMPLEX(acosh) FOR_COMPLEX(atanh) FOR_COMPLEX(exp) FOR_COMPLEX(sqrt) FOR_COMPLEX(log) FOR_COMPLEX(log10)
    // clang-format on
#undef FOR_COMPLEX
            const Builtin log_to = DO {
        a[0] = width(a) == 2 ? Item(quotient(log_of(a[0]), log_of(a[1]))) : Item(std::log(F(0)) / std::log(F(1)));
    };
    if (define.name() == "aten::log") {
        for (const char* pair : {"int int", "float float", "complex complex", "int float", "float int", "int complex", "complex int",
                                 "float complex", "complex float"}) {
            const std::string both = pair, x = both.substr(0, both.find(' ')), y = both.substr(both.find(' ') + 1);
            define('p',
                   ("aten::log." + x + "_" + y + "(" + x + " a, " + y + " b) -> " +
                    (both.find("complex") == std::string::npos ? "float" : "complex"))
                       .c_str(),
                   log_to);
        }
        define('p', "aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float", log_to);
    }
#define FOR_REAL(NAME, EXPRESSION)                                                                                                         \
    define.number("aten::" NAME, "int float", "float", REAL(EXPRESSION));                                                                  \
    NARROW("aten::" NAME, (REAL(EXPRESSION)))
    // clang-format off
    FOR_REAL("lgamma", std::lgamma(x)) FOR_REAL("gamma", std::tgamma(x)) FOR_REAL("log1p", std::log1p(x))
    FOR_REAL("expm1", std::expm1(x)) FOR_REAL("erf", std::erf(x))
    FOR_REAL("erfc", std::erfc(x)) FOR_REAL("fabs", std::abs(x)) FOR_REAL("degrees", x * (180.0 / pi))
    FOR_REAL("radians", x * (pi / 180.0)) FOR_REAL("round", std::nearbyint(x))
    // clang-format on
#undef FOR_REAL
                define.number(
                    "aten::floor", "int float Scalar", "int", DO {
                        if (width(a[0])) a[0] = Item(whole(std::floor(F(0))));
                    });
    define.number(
        "aten::ceil", "int float Scalar", "int", DO {
            if (width(a[0])) a[0] = Item(whole(std::ceil(F(0))));
        });
    const Builtin turn = GIVE(angle(C(0)));
    define.each("int float complex", 'p', "aten::angle.$($ a) -> float", turn);
    NARROW("aten::angle", (GIVE(angle(C(0)))))
    define('p', "aten::isnan.float(float a) -> bool", TRUTH(std::isnan(F(0))));
    define('p', "aten::isnan.complex(complex a) -> bool", TRUTH(std::isnan(C(0).real()) || std::isnan(C(0).imag())));
    define('p', "aten::isinf.float(float a) -> bool", TRUTH(std::isinf(F(0))));
    define('p', "aten::isinf.complex(complex a) -> bool", TRUTH(std::isinf(C(0).real()) || std::isinf(C(0).imag())));
    define('p', "aten::isfinite.float(float a) -> bool", TRUTH(std::isfinite(F(0))));
    define('p', "aten::isfinite.complex(complex a) -> bool", TRUTH(std::isfinite(C(0).real()) && std::isfinite(C(0).imag())));
    define.numbers("aten::copysign", real_pairs, "float", REAL2(std::copysign(x, y)));
    define('p', "aten::copysign(Scalar a, Scalar b) -> float", REAL2(std::copysign(x, y)));
    define.numbers("aten::atan2", real_pairs, "float", REAL2(std::atan2(x, y)));
    define('p', "aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float", REAL2(std::atan2(x, y)));
    const Builtin polar = DO { a[0] = Item(std::polar(F(0), F(1))); };
    define.numbers("aten::polar", real_pairs, "complex", polar);
    define('p', "aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", polar);
    define('p', "aten::gcd.int(int a, int b) -> int", GIVE(std::gcd(I(0), I(1))));
    define('p', "aten::factorial.int(int a) -> int", GIVE(factorial(I(0))));
    define('p', "aten::ldexp(float x, int i) -> float", GIVE(std::ldexp(F(0), static_cast<int>(I(1)))));
    define(
        'p', "aten::frexp(float a) -> (float, int)", DO {
            int exponent = 0;
            const double part = std::frexp(F(0), &exponent);
            a[0] = Item::tuple(tuple_of({type_of(TypeKind::Float), type_of(TypeKind::Int)}), {Item(part), Item(int64_t{exponent})});
        });
    define(
        'p', "aten::modf(float a) -> (float, float)", DO {
            double whole = 0;
            const double part = std::modf(F(0), &whole);
            a[0] = Item::tuple(tuple_of({type_of(TypeKind::Float), type_of(TypeKind::Float)}), {Item(part), Item(whole)});
        });
}

void choice_builtins(Builtins& define) {
    const auto choose = [&](const char* name, Builtin function) {
        if (define.name() != name) return;
        define.numbers(name, real_pairs, "", function);
        const auto line = [&](char effect, const std::string& rest) { define(effect, (name + rest).c_str(), function); };
        line('p', "(Scalar a, Scalar b) -> Scalar");
        for (const std::string type : {"int", "float", "bool"}) {
            line(0, "." + type + "_list(" + type + "[] l, " + type + "[] r) -> " + type + "[]");
            line(0, ".self_" + type + "(" + type + "[] self) -> " + type);
        }
    };
    choose("prim::min", DO { extreme(a, count, "min", less); });
    choose("prim::max", DO { extreme(a, count, "max", more); });
    define.each("int float complex", 0, "aten::sum.$($[] self) -> $", total);
    define(0, "aten::sum.bool(bool[] self) -> int", total);
    const Builtin all = DO {
        bool truth = true;
        for (const Item& each : L(0)) truth &= counts(each);
        a[0] = Item(truth);
    };
    define.each("int float bool", 0, "aten::all.$($[] self) -> bool", all);
    const Builtin any = DO {
        bool truth = false;
        for (const Item& each : L(0)) truth |= counts(each);
        a[0] = Item(truth);
    };
    define.each("str int float bool", 0, "aten::any.$($[] self) -> bool", any);
    define(
        'p', "aten::__range_length(int lo, int hi, int step) -> int", DO {
            KINDLING_CHECK(Runtime, I(2) != 0, "range() arg 3 must not be zero");
            const int64_t low = I(2) > 0 ? I(0) : I(1), high = I(2) > 0 ? I(1) : I(0), step = std::abs(I(2));
            a[0] = Item(low < high ? 1 + (high - 1 - low) / step : 0);
        });
    define('p', "aten::__derive_index(int index, int start, int step) -> int", GIVE(I(1) + I(0) * I(2)));
}

} // namespace

void number_builtins(Builtins& define) {
    arithmetic_builtins(define);
    comparison_builtins(define);
    conversion_builtins(define);
    maths_builtins(define);
    choice_builtins(define);
}

} // namespace kindling::script
