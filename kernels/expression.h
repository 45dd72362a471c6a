// kernels/expression.h: what a loop kernel computes for one element: straight-line typed SSA over scalars.
#pragma once
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace kindling {

// X(name, operands, rule). The rule says how the result dtype follows from the operands' and which are allowed:
//   Leaf     no operands, dtype stored in the node       Any      all operands and the result of one dtype
//   Number   Any without bool                            Real     Number without complex
//   Float    floating or complex                         RealFloat floating only
//   Bits     bool or integral                            Integral integral only
//   Compare  any one dtype -> bool                       Order    Compare without complex
//   Test     floating or complex -> bool                 Part     complex -> its real dtype
//   Norm     number -> its real dtype                    Ordered  Any without complex
//   RealTest Test without complex, integers too          FloatNorm Norm without integers
//   Special  checked by hand
#define KINDLING_FOR_EACH_PRIMITIVE(X)                                                                                \
    X(Input, 0, Leaf) X(Scalar, 0, Leaf) X(Constant, 0, Leaf) X(Index, 0, Leaf) X(Cast, 1, Special)                   \
    X(Add, 2, Number) X(Sub, 2, Number) X(Mul, 2, Number) X(Div, 2, Float) X(FloorDiv, 2, Real)                       \
    X(TruncDiv, 2, Real) X(Fmod, 2, Real) X(Remainder, 2, Real) X(Fma, 3, RealFloat)                                  \
    X(Neg, 1, Number) X(Abs, 1, Norm) X(Sign, 1, Number) X(Min, 2, Ordered) X(Max, 2, Ordered)                        \
    X(Fmin, 2, Ordered) X(Fmax, 2, Ordered) X(Copysign, 2, RealFloat) X(Nextafter, 2, RealFloat)                      \
    X(Eq, 2, Compare) X(Ne, 2, Compare) X(Lt, 2, Order) X(Le, 2, Order) X(Gt, 2, Order) X(Ge, 2, Order)               \
    X(And, 2, Bits) X(Or, 2, Bits) X(Xor, 2, Bits) X(Not, 1, Bits) X(Shl, 2, Integral) X(Shr, 2, Integral)            \
    X(Select, 3, Special) X(IsNan, 1, Test) X(IsInf, 1, Test) X(SignBit, 1, RealTest)                                 \
    X(Sqrt, 1, Float) X(Rsqrt, 1, Float) X(Reciprocal, 1, Float)                                                      \
    X(Exp, 1, Float) X(Exp2, 1, Float) X(Expm1, 1, Float)                                                             \
    X(Log, 1, Float) X(Log2, 1, Float) X(Log10, 1, Float) X(Log1p, 1, Float)                                          \
    X(Sin, 1, Float) X(Cos, 1, Float) X(Tan, 1, Float) X(Asin, 1, Float) X(Acos, 1, Float) X(Atan, 1, Float)          \
    X(Atan2, 2, RealFloat) X(Sinh, 1, Float) X(Cosh, 1, Float) X(Tanh, 1, Float)                                      \
    X(Asinh, 1, Float) X(Acosh, 1, Float) X(Atanh, 1, Float) X(Sigmoid, 1, Float)                                     \
    X(Erf, 1, RealFloat) X(Erfc, 1, RealFloat) X(Erfinv, 1, RealFloat) X(Erfcx, 1, RealFloat)                         \
    X(Ndtri, 1, RealFloat) X(Lgamma, 1, RealFloat) X(Digamma, 1, RealFloat) X(Zeta, 2, RealFloat)                     \
    X(I0, 1, RealFloat) X(I0e, 1, RealFloat) X(I1, 1, RealFloat) X(I1e, 1, RealFloat)                                 \
    X(Pow, 2, Number) X(Hypot, 2, RealFloat) X(Logaddexp, 2, Float) X(Logaddexp2, 2, RealFloat)                   \
    X(Floor, 1, Real) X(Ceil, 1, Real) X(Round, 1, Real) X(Trunc, 1, Real) X(Frac, 1, RealFloat)                      \
    X(FrexpMantissa, 1, RealFloat) X(FrexpExponent, 1, RealFloat)                                                     \
    X(Gcd, 2, Integral) X(Lcm, 2, Integral)                                                                           \
    X(Real, 1, Part) X(Imag, 1, Part) X(Conj, 1, Number) X(Angle, 1, FloatNorm) X(MakeComplex, 2, Special)            \
    X(RowSum, 1, Number) X(RowMax, 1, Ordered)
// RowSum and RowMax are row-invariant: see LoopKernel::row.

enum class Primitive : uint8_t {
#define X(NAME, OPERANDS, RULE) NAME,
    KINDLING_FOR_EACH_PRIMITIVE(X)
#undef X
};
inline constexpr int primitive_count = 0
#define X(NAME, OPERANDS, RULE) +1
    KINDLING_FOR_EACH_PRIMITIVE(X)
#undef X
    ;

const char* name(Primitive primitive);
int operand_count(Primitive primitive);

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
    Immediate value{};  // Constant: its value. Input, Scalar, Index: bits[0] is which one

    int index() const { return static_cast<int>(value.bits[0]); }
    bool operator==(const Node&) const = default;
};

struct TileProgram;  // an expression as the tile executor runs it

class Expression {
public:
    Expression() = default;
    Expression(Expression&& other) noexcept { swap(other); }
    Expression& operator=(Expression&& other) noexcept { swap(other); return *this; }
    Expression(const Expression& other);
    Expression& operator=(const Expression& other) { return *this = Expression(other); }
    ~Expression();

    std::vector<Node> nodes;
    std::vector<int32_t> outputs;
    int input_count = 0;   // inputs that are not used have no node
    int scalar_count = 0;  // run-time scalar slots

    DType output_type(int output) const {
        return nodes[static_cast<size_t>(outputs[static_cast<size_t>(output)])].type;
    }
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

}  // namespace kindling
