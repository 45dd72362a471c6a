// kernels/symbol.h: the abstract number of which an operator's scalar body is a function, and differentiation of the
// result.
#pragma once
#include <array>
#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "kernels/expression.h"

namespace kindling {

using Text = std::string_view;
class ExpressionBuilder;

/// A symbolic scalar. It is a node of an expression being built, or a literal, which takes the dtype of its operand, or
/// an argument that is not a number (text, flag, integer, none) and selects the expression while it is built.
class Sym {
public:
    enum class Kind : uint8_t { None, Node, Literal, Text, Flag };

    Sym() = default; // none
    Sym(bool value) : kind_(Kind::Flag), whole_(true), int_(value), real_(value) {}
    template <std::integral T>
    Sym(T value) : kind_(Kind::Literal), whole_(true), int_(static_cast<int64_t>(value)), real_(static_cast<double>(value)) {}
    template <std::floating_point T> Sym(T value) : kind_(Kind::Literal), real_(static_cast<double>(value)) {}
    Sym(std::complex<double> value) : kind_(Kind::Literal), real_(value.real()), imag_(value.imag()) {}
    Sym(const char* text) : kind_(Kind::Text), text_(text) {}
    Sym(Text text) : kind_(Kind::Text), text_(text) {}
    Sym(ExpressionBuilder* builder, int32_t node) : kind_(Kind::Node), node_(node), builder_(builder) {}

    Kind kind() const { return kind_; }
    bool is_none() const { return kind_ == Kind::None; }
    bool is_node() const { return kind_ == Kind::Node; }
    ExpressionBuilder* builder() const { return builder_; }
    int32_t node() const { return node_; }
    /// DType::None for a literal.
    DType dtype() const;
    bool is_complex() const { return kindling::is_complex(dtype()); }
    bool is_floating() const { return kindling::is_floating(dtype()); }

    /// Arguments that select the expression.
    operator Text() const { return text_; }
    bool flag() const { return int_ != 0; }
    int64_t integer() const { return int_; }
    double number() const { return real_; }
    bool whole() const { return whole_; } // a literal written as an integer
    std::complex<double> complex() const { return {real_, imag_}; }
    friend bool flag(const Sym& x) { return x.flag(); }
    // Arrays only: a plain const char* would match `x == 0`.
    template <size_t N> friend bool operator==(const Sym& x, const char (&text)[N]) {
        return x.kind_ == Kind::Text && x.text_ == Text(text);
    }
    template <size_t N> friend bool operator!=(const Sym& x, const char (&text)[N]) { return !(x == text); }

    // Mixed dtypes are promoted as by torch.promote_types. Everything below is found by argument-dependent lookup only.
#define KINDLING_UNARY(FUNCTION, PRIMITIVE)                                                                                                \
    friend Sym FUNCTION(const Sym& x) { return unary(Primitive::PRIMITIVE, x); }
#define KINDLING_BINARY(FUNCTION, PRIMITIVE)                                                                                               \
    friend Sym FUNCTION(const Sym& x, const Sym& y) { return binary(Primitive::PRIMITIVE, x, y); }
    // clang-format off
    KINDLING_BINARY(operator+, Add) KINDLING_BINARY(operator-, Sub) KINDLING_BINARY(operator*, Mul)
    KINDLING_BINARY(operator/, Div) KINDLING_UNARY(operator-, Neg) KINDLING_UNARY(operator!, Not)
    KINDLING_UNARY(operator~, Not) KINDLING_BINARY(operator&, And) KINDLING_BINARY(operator|, Or)
    KINDLING_BINARY(operator^, Xor) KINDLING_BINARY(operator&&, And) KINDLING_BINARY(operator||, Or)
    KINDLING_BINARY(operator<<, Shl) KINDLING_BINARY(operator>>, Shr)
    KINDLING_BINARY(operator==, Eq) KINDLING_BINARY(operator!=, Ne) KINDLING_BINARY(operator<, Lt)
    KINDLING_BINARY(operator<=, Le) KINDLING_BINARY(operator>, Gt) KINDLING_BINARY(operator>=, Ge)
    KINDLING_BINARY(floor_div, FloorDiv) KINDLING_BINARY(trunc_div, TruncDiv) KINDLING_BINARY(fmod, Fmod)
    KINDLING_BINARY(remainder, Remainder) KINDLING_BINARY(min, Min) KINDLING_BINARY(max, Max)
    KINDLING_BINARY(fmin, Fmin) KINDLING_BINARY(fmax, Fmax) KINDLING_BINARY(copysign, Copysign)
    KINDLING_BINARY(nextafter, Nextafter) KINDLING_BINARY(atan2, Atan2) KINDLING_BINARY(zeta, Zeta)
    KINDLING_BINARY(pow, Pow) KINDLING_BINARY(hypot, Hypot) KINDLING_BINARY(logaddexp, Logaddexp)
    KINDLING_BINARY(logaddexp2, Logaddexp2) KINDLING_BINARY(gcd, Gcd) KINDLING_BINARY(lcm, Lcm)
    KINDLING_BINARY(make_complex, MakeComplex)
    KINDLING_UNARY(abs, Abs) KINDLING_UNARY(sign, Sign) KINDLING_UNARY(isnan, IsNan) KINDLING_UNARY(isinf, IsInf)
    KINDLING_UNARY(signbit, SignBit) KINDLING_UNARY(sqrt, Sqrt) KINDLING_UNARY(rsqrt, Rsqrt)
    KINDLING_UNARY(reciprocal, Reciprocal) KINDLING_UNARY(exp, Exp) KINDLING_UNARY(exp2, Exp2)
    KINDLING_UNARY(expm1, Expm1) KINDLING_UNARY(log, Log) KINDLING_UNARY(log2, Log2) KINDLING_UNARY(log10, Log10)
    KINDLING_UNARY(log1p, Log1p) KINDLING_UNARY(sin, Sin) KINDLING_UNARY(cos, Cos) KINDLING_UNARY(tan, Tan)
    KINDLING_UNARY(asin, Asin) KINDLING_UNARY(acos, Acos) KINDLING_UNARY(atan, Atan) KINDLING_UNARY(sinh, Sinh)
    KINDLING_UNARY(cosh, Cosh) KINDLING_UNARY(tanh, Tanh) KINDLING_UNARY(asinh, Asinh) KINDLING_UNARY(acosh, Acosh)
    KINDLING_UNARY(atanh, Atanh) KINDLING_UNARY(sigmoid, Sigmoid) KINDLING_UNARY(erf, Erf) KINDLING_UNARY(erfc, Erfc)
    KINDLING_UNARY(erfinv, Erfinv) KINDLING_UNARY(erfcx, Erfcx) KINDLING_UNARY(ndtri, Ndtri)
    KINDLING_UNARY(lgamma, Lgamma) KINDLING_UNARY(digamma, Digamma) KINDLING_UNARY(i0, I0) KINDLING_UNARY(i0e, I0e)
    KINDLING_UNARY(i1, I1) KINDLING_UNARY(i1e, I1e) KINDLING_UNARY(floor, Floor) KINDLING_UNARY(ceil, Ceil)
    KINDLING_UNARY(round, Round) KINDLING_UNARY(trunc, Trunc) KINDLING_UNARY(frac, Frac)
    KINDLING_UNARY(frexp_mantissa, FrexpMantissa) KINDLING_UNARY(frexp_exponent, FrexpExponent)
    KINDLING_UNARY(real, Real) KINDLING_UNARY(imag, Imag) KINDLING_UNARY(conj, Conj) KINDLING_UNARY(angle, Angle)
    // Row-invariant (LoopKernel::row); in row kernels only.
    KINDLING_UNARY(row_sum, RowSum) KINDLING_UNARY(row_max, RowMax)
    // clang-format on
#undef KINDLING_UNARY
#undef KINDLING_BINARY
            friend Sym fma(const Sym& x, const Sym& y, const Sym& z) {
        return ternary(Primitive::Fma, x, y, z);
    }
    friend Sym where(const Sym& c, const Sym& x, const Sym& y) { return ternary(Primitive::Select, c, x, y); }
    friend Sym cast(const Sym& x, DType type) { return convert(x, type); }
    /// y in x's dtype: like(x, 0) is a typed zero.
    friend Sym like(const Sym& x, const Sym& y) { return convert(y, x.dtype(), x.builder_); }
    friend Sym square(const Sym& x) { return x * x; }
    /// NaN passes through, as torch.clamp.
    friend Sym clamp(const Sym& x, const Sym& low, const Sym& high) { return min(max(x, low), high); }

    /// The derivative of digamma. zeta has NaN at infinity, and every integer below 0 is a pole.
    friend Sym trigamma(const Sym& x) { return where(isinf(x), where(x > 0, like(x, 0), like(x, __builtin_nan(""))), zeta(like(x, 2), x)); }

    static Sym unary(Primitive primitive, const Sym& x);
    static Sym binary(Primitive primitive, const Sym& x, const Sym& y);
    static Sym ternary(Primitive primitive, const Sym& x, const Sym& y, const Sym& z);
    static Sym convert(const Sym& x, DType type, ExpressionBuilder* builder = nullptr);

private:
    Kind kind_ = Kind::None;
    bool whole_ = false;
    int32_t node_ = -1;
    ExpressionBuilder* builder_ = nullptr;
    int64_t int_ = 0;
    double real_ = 0, imag_ = 0;
    Text text_{};
};

/// Builds an expression node by node. Equal nodes are merged, constants are folded.
class ExpressionBuilder {
public:
    ExpressionBuilder() = default;
    ExpressionBuilder(const ExpressionBuilder&) = delete;

    /// Set while a body is built: the dtype in which it computes, if its values are floats that stand for a half type.
    DType computed = DType::None;

    /// The next input, or run-time scalar slot. (The order of two calls in one C++ expression is unspecified.) In a
    /// body for a half type, pass the half type here and compute over cast(input, Float32). The result is then rounded
    /// once, by its cast back.
    Sym input(DType type) { return input(expression_.input_count, type); }
    Sym scalar(DType type) { return scalar(expression_.scalar_count, type); }
    Sym input(int which, DType type);
    Sym scalar(int which, DType type);
    Sym index(int dim);
    Sym constant(DType type, const Immediate& value);
    Sym constant(DType type, std::complex<double> value) { return constant(type, Immediate::of(type, value)); }
    void output(const Sym& value);
    int output_count() const { return static_cast<int>(expression_.outputs.size()); }
    int32_t node_count() const { return static_cast<int32_t>(expression_.nodes.size()); }
    DType type(int32_t node) const { return expression_.nodes[static_cast<size_t>(node)].type; }
    const Node& node(int32_t node) const { return expression_.nodes[static_cast<size_t>(node)]; }
    int32_t add(const Node& node);
    /// Inserts `other`'s values, with these symbols for its inputs and scalars. Returns its outputs.
    std::vector<Sym> append(const Expression& other, const Sym* inputs, const Sym* scalars);
    /// The expression without dead nodes. The builder is empty afterwards.
    Expression finish();

private:
    Expression expression_;
    std::unordered_map<uint64_t, std::vector<int32_t>> known_;
};

namespace detail {
inline void add_outputs(ExpressionBuilder& builder, const Sym& result) { builder.output(result); }
template <size_t N> void add_outputs(ExpressionBuilder& builder, const std::array<Sym, N>& results) {
    for (const Sym& result : results) builder.output(result);
}
template <class A, class B> void add_outputs(ExpressionBuilder& builder, const std::pair<A, B>& results) {
    builder.output(results.first), builder.output(results.second);
}
template <class... T> void add_outputs(ExpressionBuilder& builder, const std::tuple<T...>& results) {
    std::apply([&](const auto&... result) { (builder.output(result), ...); }, results);
}
template <size_t> using SymAt = Sym;
template <class F, size_t... I> constexpr bool takes(std::index_sequence<I...>) { return std::is_invocable_v<F, SymAt<I>...>; }
template <class F, size_t N = 0> constexpr int arity() {
    static_assert(N <= 12, "a scalar body takes at most 12 arguments");
    if constexpr (takes<F>(std::make_index_sequence<N>())) return static_cast<int>(N);
    else return arity<F, N + 1>();
}
template <class F> void build(ExpressionBuilder& builder, const Sym* arguments) {
    [&]<size_t... I>(std::index_sequence<I...>) {
        add_outputs(builder, F{}(arguments[I]...));
    }(std::make_index_sequence<static_cast<size_t>(arity<F>())>());
}
} // namespace detail

/// A scalar body as data: `constexpr ScalarBody body = scalar_body([](auto x, auto y, auto alpha) { ... });`
/// The lambda captures nothing; every argument arrives as a Sym; it returns a Sym, an array, a pair or a tuple.
struct ScalarBody {
    void (*build)(ExpressionBuilder&, const Sym* arguments) = nullptr; // adds the outputs too
    int arity = 0;
    explicit operator bool() const { return build != nullptr; }
};
template <class F> constexpr ScalarBody scalar_body(F) { return {&detail::build<F>, detail::arity<F>()}; }

/// The body of a pointwise operator over tensors of these dtypes: loads them, computes in `compute` (a half type there
/// means float), and casts every output to `result` (DType::None leaves it as it comes). Arguments that are Kind::None
/// with a dtype given in `types` become inputs in order; DType::None in `types` passes the argument through; a Literal
/// with a dtype becomes a run-time scalar slot of that dtype. With a `mask`, the first argument is left as it is and the
/// others become `result`s. `narrow`: a bit for each argument that is rounded to `compute`, a half type, beforehand.
Expression build_expression(const ScalarBody& body, const Sym* arguments, const DType* types, DType compute, DType result,
                            bool mask = false, uint32_t narrow = 0);

/// Reverse-mode derivative of an expression with one output. Inputs of the new expression: the gradient, the original
/// inputs, the result. Scalars are as before. There is one output per wanted input, in order. What it does not use
/// (`uses_input(i) == false`) need not be saved. An input that is not differentiable gives an Internal error.
Expression differentiate(const Expression& expression, const int* wanted, int wanted_count);
/// Forward mode: inputs are the original ones, one tangent per entry of `wanted`, and the result. It has one output.
Expression differentiate_forward(const Expression& expression, const int* wanted, int wanted_count);

} // namespace kindling
