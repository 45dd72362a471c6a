// kernels/expression.h: what a loop kernel computes for one element: straight-line typed SSA over scalars.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace kindling {

// X(name, operands, rule, operator, fact). The operator is the one that computes this alone, of tensors: a derivative that is
// itself recorded is evaluated by them. The fact:
//   ByResult the derivative is written with the result, which PyTorch saves, too
//   Cheap    computed again rather than kept from one pass over a row to the next
// The rule says how the result dtype follows from the operands' and which are allowed:
//   Leaf     no operands, dtype stored in the node       Any      all operands and the result of one dtype
//   Number   Any without bool                            Real     Number without complex
//   Float    floating or complex                         RealFloat floating only
//   Bits     bool or integral                            Integral integral only
//   Compare  any one dtype -> bool                       Order    Compare without complex
//   Test     floating or complex -> bool                 Part     complex -> its real dtype
//   Norm     number -> its real dtype                    Ordered  Any without complex
//   RealTest Test without complex, integers too          FloatNorm Norm without integers
//   Special  checked by hand
#define KINDLING_FOR_EACH_PRIMITIVE(X)                                                                                                     \
    X(Input, 0, Leaf, "", Plain)                                                                                                           \
    X(Scalar, 0, Leaf, "", Plain)                                                                                                          \
    X(Constant, 0, Leaf, "", Plain)                                                                                                        \
    X(Index, 0, Leaf, "", Plain)                                                                                                           \
    X(Cast, 1, Special, "", Plain)                                                                                                         \
    X(Add, 2, Number, "add.Tensor", Cheap)                                                                                                 \
    X(Sub, 2, Number, "sub.Tensor", Cheap)                                                                                                 \
    X(Mul, 2, Number, "mul.Tensor", Cheap)                                                                                                 \
    X(Div, 2, Float, "div.Tensor", Plain)                                                                                                  \
    X(FloorDiv, 2, Real, "", Plain)                                                                                                        \
    X(TruncDiv, 2, Real, "", Plain)                                                                                                        \
    X(Fmod, 2, Real, "fmod.Tensor", Plain)                                                                                                 \
    X(Remainder, 2, Real, "remainder.Tensor", Plain)                                                                                       \
    X(Fma, 3, RealFloat, "", Cheap)                                                                                                        \
    X(Neg, 1, Number, "neg", Cheap)                                                                                                        \
    X(Abs, 1, Norm, "abs", Cheap)                                                                                                          \
    X(Sign, 1, Number, "sgn", Plain)                                                                                                       \
    X(Min, 2, Ordered, "minimum", Plain)                                                                                                   \
    X(Max, 2, Ordered, "maximum", Plain)                                                                                                   \
    X(Fmin, 2, Ordered, "fmin", Plain)                                                                                                     \
    X(Fmax, 2, Ordered, "fmax", Plain)                                                                                                     \
    X(Copysign, 2, RealFloat, "copysign.Tensor", Plain)                                                                                    \
    X(Nextafter, 2, RealFloat, "nextafter", Plain)                                                                                         \
    X(Eq, 2, Compare, "eq.Tensor", Plain)                                                                                                  \
    X(Ne, 2, Compare, "ne.Tensor", Plain)                                                                                                  \
    X(Lt, 2, Order, "lt.Tensor", Plain)                                                                                                    \
    X(Le, 2, Order, "le.Tensor", Plain)                                                                                                    \
    X(Gt, 2, Order, "gt.Tensor", Plain)                                                                                                    \
    X(Ge, 2, Order, "ge.Tensor", Plain)                                                                                                    \
    X(And, 2, Bits, "bitwise_and.Tensor", Plain)                                                                                           \
    X(Or, 2, Bits, "bitwise_or.Tensor", Plain)                                                                                             \
    X(Xor, 2, Bits, "bitwise_xor.Tensor", Plain)                                                                                           \
    X(Not, 1, Bits, "bitwise_not", Plain)                                                                                                  \
    X(Shl, 2, Integral, "bitwise_left_shift.Tensor", Plain)                                                                                \
    X(Shr, 2, Integral, "bitwise_right_shift.Tensor", Plain)                                                                               \
    X(Select, 3, Special, "where.self", Plain)                                                                                             \
    X(IsNan, 1, Test, "isnan", Plain)                                                                                                      \
    X(IsInf, 1, Test, "isinf", Plain)                                                                                                      \
    X(SignBit, 1, RealTest, "signbit", Plain)                                                                                              \
    X(Sqrt, 1, Float, "sqrt", ByResult)                                                                                                    \
    X(Rsqrt, 1, Float, "rsqrt", ByResult)                                                                                                  \
    X(Reciprocal, 1, Float, "reciprocal", ByResult)                                                                                        \
    X(Exp, 1, Float, "exp", ByResult)                                                                                                      \
    X(Exp2, 1, Float, "exp2", ByResult)                                                                                                    \
    X(Expm1, 1, Float, "expm1", ByResult)                                                                                                  \
    X(Log, 1, Float, "log", Plain)                                                                                                         \
    X(Log2, 1, Float, "log2", Plain)                                                                                                       \
    X(Log10, 1, Float, "log10", Plain)                                                                                                     \
    X(Log1p, 1, Float, "log1p", Plain)                                                                                                     \
    X(Sin, 1, Float, "sin", Plain)                                                                                                         \
    X(Cos, 1, Float, "cos", Plain)                                                                                                         \
    X(Tan, 1, Float, "tan", ByResult)                                                                                                      \
    X(Asin, 1, Float, "asin", Plain)                                                                                                       \
    X(Acos, 1, Float, "acos", Plain)                                                                                                       \
    X(Atan, 1, Float, "atan", Plain)                                                                                                       \
    X(Atan2, 2, RealFloat, "atan2", Plain)                                                                                                 \
    X(Sinh, 1, Float, "sinh", Plain)                                                                                                       \
    X(Cosh, 1, Float, "cosh", Plain)                                                                                                       \
    X(Tanh, 1, Float, "tanh", ByResult)                                                                                                    \
    X(Asinh, 1, Float, "asinh", Plain)                                                                                                     \
    X(Acosh, 1, Float, "acosh", Plain)                                                                                                     \
    X(Atanh, 1, Float, "atanh", Plain)                                                                                                     \
    X(Sigmoid, 1, Float, "sigmoid", ByResult)                                                                                              \
    X(Erf, 1, RealFloat, "erf", Plain)                                                                                                     \
    X(Erfc, 1, RealFloat, "erfc", Plain)                                                                                                   \
    X(Erfinv, 1, RealFloat, "erfinv", Plain)                                                                                               \
    X(Erfcx, 1, RealFloat, "special_erfcx", ByResult)                                                                                      \
    X(Ndtri, 1, RealFloat, "special_ndtri", ByResult)                                                                                      \
    X(Lgamma, 1, RealFloat, "lgamma", Plain)                                                                                               \
    X(Digamma, 1, RealFloat, "digamma", Plain)                                                                                             \
    X(Zeta, 2, RealFloat, "special_zeta", Plain)                                                                                           \
    X(I0, 1, RealFloat, "i0", Plain)                                                                                                       \
    X(I0e, 1, RealFloat, "special_i0e", Plain)                                                                                             \
    X(I1, 1, RealFloat, "special_i1", Plain)                                                                                               \
    X(I1e, 1, RealFloat, "special_i1e", Plain)                                                                                             \
    X(Pow, 2, Number, "pow.Tensor_Tensor", ByResult)                                                                                       \
    X(Hypot, 2, RealFloat, "hypot", ByResult)                                                                                              \
    X(Logaddexp, 2, Float, "logaddexp", Plain)                                                                                             \
    X(Logaddexp2, 2, RealFloat, "logaddexp2", Plain)                                                                                       \
    X(Floor, 1, Real, "floor", Plain)                                                                                                      \
    X(Ceil, 1, Real, "ceil", Plain)                                                                                                        \
    X(Round, 1, Real, "round", Plain)                                                                                                      \
    X(Trunc, 1, Real, "trunc", Plain)                                                                                                      \
    X(Frac, 1, RealFloat, "frac", Plain)                                                                                                   \
    X(FrexpMantissa, 1, RealFloat, "", Plain)                                                                                              \
    X(FrexpExponent, 1, RealFloat, "", Plain)                                                                                              \
    X(Gcd, 2, Integral, "gcd", Plain)                                                                                                      \
    X(Lcm, 2, Integral, "lcm", Plain)                                                                                                      \
    X(Real, 1, Part, "real", Plain)                                                                                                        \
    X(Imag, 1, Part, "imag", Plain)                                                                                                        \
    X(Conj, 1, Number, "conj_physical", Plain)                                                                                             \
    X(Angle, 1, FloatNorm, "angle", Plain)                                                                                                 \
    X(MakeComplex, 2, Special, "complex", Plain)                                                                                           \
    X(RowSum, 1, Number, "", Plain)                                                                                                        \
    X(RowMax, 1, Ordered, "", Plain)
// RowSum and RowMax are row-invariant: see LoopKernel::row.

enum class Primitive : uint8_t {
#define X(NAME, ...) NAME,
    KINDLING_FOR_EACH_PRIMITIVE(X)
#undef X
};
inline constexpr int primitive_count = 0
#define X(...) +1
    KINDLING_FOR_EACH_PRIMITIVE(X)
#undef X
    ;

const char* name(Primitive primitive);
int operand_count(Primitive primitive);
/// The operator that computes just this, as "add.Tensor"; empty if there is none.
const char* operator_of(Primitive primitive);
bool derives_by_result(Primitive primitive);
bool is_cheap(Primitive primitive);

/// A scalar in the form a tile holds it: half types as float, everything else as in memory.
struct alignas(16) Immediate {
    uint64_t bits[2] = {0, 0};

    static Immediate of(DType type, double value);
    static Immediate of(DType type, int64_t value);
    static Immediate of(DType type, uint64_t value);
    static Immediate of(DType type, int value) { return of(type, static_cast<int64_t>(value)); }
    static Immediate of(DType type, bool value) { return of(type, static_cast<int64_t>(value)); }
    static Immediate of(DType type, std::complex<double> value);
    std::complex<double> to_complex(DType type) const;
    double to_double(DType type) const { return to_complex(type).real(); }
    int64_t to_int(DType type) const;
    bool operator==(const Immediate&) const = default;
};

/// The dtype of a value inside a tile: half types are computed as float.
constexpr DType value_type(DType type) { return is_narrow(type) ? DType::Float32 : type; }

/// One value. Its operands are earlier nodes. A node whose dtype is a half type is computed in float and rounded.
struct Node {
    Primitive primitive = Primitive::Constant;
    DType type = DType::Float32;
    int32_t operands[3] = {-1, -1, -1};
    Immediate value{}; // Constant: its value. Input, Scalar, Index: bits[0] is which one

    int index() const { return static_cast<int>(value.bits[0]); }
    bool operator==(const Node&) const = default;
};

struct TileProgram; // an expression as the tile executor runs it

class Expression {
public:
    Expression() = default;
    Expression(Expression&& other) noexcept { swap(other); }
    Expression& operator=(Expression&& other) noexcept {
        swap(other);
        return *this;
    }
    Expression(const Expression& other);
    Expression& operator=(const Expression& other) { return *this = Expression(other); }
    ~Expression();

    std::vector<Node> nodes;
    std::vector<int32_t> outputs;
    int input_count = 0;  // inputs that are not used have no node
    int scalar_count = 0; // run-time scalar slots

    DType output_type(int output) const { return nodes[static_cast<size_t>(outputs[static_cast<size_t>(output)])].type; }
    /// True if an output depends on this input.
    bool uses_input(int input) const;
    bool operator==(const Expression& other) const;
    uint64_t hash() const;
    /// "%0 = input 0: float32" and so on, one value per line.
    std::string to_string() const;
    /// Throws an Internal error if an operand, dtype or index is invalid.
    void verify() const;
    /// Built and verified at first use, by any thread.
    const TileProgram& program() const;

private:
    void swap(Expression& other) noexcept;
    mutable const TileProgram* program_ = nullptr;
};

} // namespace kindling
