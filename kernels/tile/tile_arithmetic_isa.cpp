// kernels/tile/tile_arithmetic_isa.cpp: arithmetic, comparison, choice and bits over contiguous arrays.
// Compiled for vectors.
#include "kernels/maths/arithmetic.h"
#include "kernels/tile/tile.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

template <class Op, class T> void unary(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    long_loop1<T, T>([](auto x) { return Op::apply(x); }, out, a, n);
}
template <class Op, class T> void binary(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    long_loop2<T, T>([](auto x, auto y) { return Op::apply(x, y); }, out, a, b, n, splat);
}
template <class Op, class T> void test(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<uint8_t, T>([](auto x) { return truth_of(Op::apply(x)); }, out, a, n);
}
template <class Op, class T> void compare(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    loop2<uint8_t, T>([](auto x, auto y) { return truth_of(Op::apply(x, y)); }, out, a, b, n, splat);
}

/// Loads the whole vector. A load under a mask is not prefetched for lines of which nothing is selected.
template <class V> KINDLING_INLINE V loaded(V x) {
    asm("" : "+v"(x));
    return x;
}
template <class T> void select(void* out, const void* c, const void* a, const void* b, int64_t n, unsigned splat) {
    loop3<T, uint8_t, T>(
        [](auto condition, auto x, auto y) { return convert<typename IntegerOf<sizeof(T)>::type>(condition) != 0 ? loaded(x) : loaded(y); },
        out, c, a, b, n, splat);
}
void select16(void* out, const void* c, const void* a, const void* b, int64_t n, unsigned splat) {
    const uint8_t* condition = static_cast<const uint8_t*>(c);
    for (int64_t i = 0; i < n; i++) {
        bool first = condition[splat & 1 ? 0 : i];
        const char* from = static_cast<const char*>(first ? a : b);
        std::memmove(static_cast<char*>(out) + 16 * i, from + (splat >> (first ? 1 : 2) & 1 ? 0 : 16 * i), 16);
    }
}

template <class T> void fused(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned splat) {
    loop3<T, T, T>(
        [](auto x, auto y, auto z) {
#if !defined(__FMA__)
            if constexpr (sizeof(T) == 8) { // doubles have no mul_add there
                auto result = x;
                for (int i = 0; i < Lanes<decltype(x)>::count; i++) result[i] = __builtin_fma(x[i], y[i], z[i]);
                return result;
            }
#endif
            return mul_add(x, y, z);
        },
        out, a, b, c, n, splat);
}

// n counts parts: two per complex number
template <class T> void complex_mul(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    long_loop2<T, T>(
        [](auto x, auto y) {
            using V = decltype(x);
            return complex_product<V>(x, y);
        },
        out, a, b, n, splat);
}
template <class T> void complex_conj(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<T, T>(
        [](auto x) {
            using V = decltype(x);
            constexpr auto lanes = std::make_integer_sequence<int, Lanes<V>::count>();
            return from_bits<V>(bits_of(x) ^ (~even_sign<V>(lanes) & sign_bit<V>));
        },
        out, a, n);
}
template <class T, int Part> void complex_part(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    for (int64_t i = 0; i < n; i++) static_cast<T*>(out)[i] = static_cast<const T*>(a)[2 * i + Part];
}
template <class T> void complex_make(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    for (int64_t i = 0; i < n; i++) {
        T re = static_cast<const T*>(a)[splat & 1 ? 0 : i], im = static_cast<const T*>(b)[splat & 2 ? 0 : i];
        static_cast<T*>(out)[2 * i] = re;
        static_cast<T*>(out)[2 * i + 1] = im;
    }
}
template <class T, bool Equal> void complex_compare(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    for (int64_t i = 0; i < n; i++) {
        const T *p = x + (splat & 1 ? 0 : 2 * i), *q = y + (splat & 2 ? 0 : 2 * i);
        static_cast<uint8_t*>(out)[i] = ((p[0] == q[0]) & (p[1] == q[1])) == Equal;
    }
}
template <class T, class Op> void complex_test(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    const T* x = static_cast<const T*>(a);
    for (int64_t i = 0; i < n; i++) {
        Vec<T, 16 / sizeof(T)> both{x[2 * i], x[2 * i + 1]};
        auto mask = Op::apply(both);
        static_cast<uint8_t*>(out)[i] = (mask[0] | mask[1]) != 0;
    }
}

#define KINDLING_FLOATS(FORM, OP) type == DType::Float32 ? FORM<OP, float> : type == DType::Float64 ? FORM<OP, double> : nullptr
#define KINDLING_PARTS(FORM) type == DType::Complex64 ? FORM<float> : type == DType::Complex128 ? FORM<double> : nullptr

// One function per element size where signed and unsigned agree; bool is a byte.
#define KINDLING_BY_SIZE(FORM, OP)                                                                                                         \
    is_floating(type) || is_complex(type) ? nullptr                                                                                        \
    : size == 1                           ? FORM<OP, uint8_t>                                                                              \
    : size == 2                           ? FORM<OP, uint16_t>                                                                             \
    : size == 4                           ? FORM<OP, uint32_t>                                                                             \
                                          : FORM<OP, uint64_t>
#define KINDLING_SIGNED(FORM, OP)                                                                                                          \
    type == DType::Int8    ? FORM<OP, int8_t>                                                                                              \
    : type == DType::Int16 ? FORM<OP, int16_t>                                                                                             \
    : type == DType::Int32 ? FORM<OP, int32_t>                                                                                             \
    : type == DType::Int64 ? FORM<OP, int64_t>                                                                                             \
                           : nullptr
#define KINDLING_UNSIGNED(FORM, OP)                                                                                                        \
    size == 1 ? FORM<OP, uint8_t> : size == 2 ? FORM<OP, uint16_t> : size == 4 ? FORM<OP, uint32_t> : FORM<OP, uint64_t>

} // namespace

TileCode find_arithmetic(Primitive primitive, DType type) {
    const int size = static_cast<int>(item_size(type));
    const bool complex = is_complex(type), floating = is_floating(type), real_integer = !complex && !floating;
    const bool is_signed = real_integer && !is_unsigned(type) && type != DType::Bool;
    const DType part = to_real(type);
    TileFunction found = nullptr;
    auto simple = [&](TileFunction function) { return TileCode{function, 1}; };
    switch (primitive) {
#define KINDLING_CASE(NAME, OP)                                                                                                            \
    case Primitive::NAME:                                                                                                                  \
        if (complex) return {find_arithmetic(primitive, part).function, 2};                                                                \
        found = floating ? (KINDLING_FLOATS(binary, OP)) : (KINDLING_BY_SIZE(binary, OP));                                                 \
        return simple(found);
        KINDLING_CASE(Add, AddOp)
        KINDLING_CASE(Sub, SubOp)
#undef KINDLING_CASE
    case Primitive::Mul:
        if (complex) return {KINDLING_PARTS(complex_mul), 2};
        return simple(floating ? (KINDLING_FLOATS(binary, MulOp)) : (KINDLING_BY_SIZE(binary, MulOp)));
    case Primitive::Div: return simple(KINDLING_FLOATS(binary, DivOp));
    case Primitive::Neg:
        if (complex) return {find_arithmetic(primitive, part).function, 2};
        return simple(floating ? (KINDLING_FLOATS(unary, NegOp)) : (KINDLING_BY_SIZE(unary, NegOp)));
    case Primitive::Abs: return simple(floating ? (KINDLING_FLOATS(unary, FloatAbsOp)) : (KINDLING_SIGNED(unary, IntegerAbsOp)));
    case Primitive::Sign: return simple(floating ? (KINDLING_FLOATS(unary, FloatSignOp)) : (KINDLING_SIGNED(unary, IntegerSignOp)));
#define KINDLING_CASE(NAME, OP)                                                                                                            \
    case Primitive::NAME:                                                                                                                  \
        if (complex) return {};                                                                                                            \
        return simple(floating    ? (KINDLING_FLOATS(binary, OP))                                                                          \
                      : is_signed ? (KINDLING_SIGNED(binary, OP))                                                                          \
                                  : (KINDLING_UNSIGNED(binary, OP)));
        KINDLING_CASE(Min, MinOp)
        KINDLING_CASE(Max, MaxOp)
#undef KINDLING_CASE
    case Primitive::Fmin: return floating ? simple(KINDLING_FLOATS(binary, FminOp)) : find_arithmetic(Primitive::Min, type);
    case Primitive::Fmax: return floating ? simple(KINDLING_FLOATS(binary, FmaxOp)) : find_arithmetic(Primitive::Max, type);
#define KINDLING_CASE(NAME, OP)                                                                                                            \
    case Primitive::NAME:                                                                                                                  \
        if (complex) return {};                                                                                                            \
        return simple(floating    ? (KINDLING_FLOATS(compare, OP))                                                                         \
                      : is_signed ? (KINDLING_SIGNED(compare, OP))                                                                         \
                                  : (KINDLING_UNSIGNED(compare, OP)));
        KINDLING_CASE(Lt, LtOp)
        KINDLING_CASE(Le, LeOp)
#undef KINDLING_CASE
    case Primitive::Eq:
        if (complex) return simple(type == DType::Complex64 ? complex_compare<float, true> : complex_compare<double, true>);
        return simple(floating ? (KINDLING_FLOATS(compare, EqOp)) : (KINDLING_BY_SIZE(compare, EqOp)));
    case Primitive::Ne:
        if (complex) return simple(type == DType::Complex64 ? complex_compare<float, false> : complex_compare<double, false>);
        return simple(floating ? (KINDLING_FLOATS(compare, NeOp)) : (KINDLING_BY_SIZE(compare, NeOp)));
    case Primitive::And: return {binary<AndOp, uint8_t>, static_cast<uint8_t>(size)};
    case Primitive::Or: return {binary<OrOp, uint8_t>, static_cast<uint8_t>(size)};
    case Primitive::Xor: return {binary<XorOp, uint8_t>, static_cast<uint8_t>(size)};
    case Primitive::Not:
        if (type == DType::Bool) return simple(unary<LogicalNotOp, uint8_t>);
        return {unary<NotOp, uint8_t>, static_cast<uint8_t>(size)};
    case Primitive::Shl: return simple(size == 8 ? binary<ShlOp, uint64_t> : nullptr);
    case Primitive::Shr:
        return simple(type == DType::Int64 ? binary<ShrOp, int64_t> : type == DType::UInt64 ? binary<ShrOp, uint64_t> : nullptr);
    case Primitive::Select:
        return simple(size == 1   ? select<uint8_t>
                      : size == 2 ? select<uint16_t>
                      : size == 4 ? select<uint32_t>
                      : size == 8 ? select<uint64_t>
                                  : select16);
    case Primitive::Fma: return simple(type == DType::Float32 ? fused<float> : type == DType::Float64 ? fused<double> : nullptr);
    case Primitive::Copysign: return simple(KINDLING_FLOATS(binary, CopysignOp));
    case Primitive::Nextafter: return simple(KINDLING_FLOATS(binary, NextafterOp));
    case Primitive::IsNan:
        if (complex) return simple(type == DType::Complex64 ? complex_test<float, IsNanOp> : complex_test<double, IsNanOp>);
        return simple(KINDLING_FLOATS(test, IsNanOp));
    case Primitive::IsInf:
        if (complex) return simple(type == DType::Complex64 ? complex_test<float, IsInfOp> : complex_test<double, IsInfOp>);
        return simple(KINDLING_FLOATS(test, IsInfOp));
    case Primitive::SignBit: return simple(floating ? (KINDLING_FLOATS(test, SignBitOp)) : (KINDLING_SIGNED(test, SignBitOp)));
    case Primitive::Sqrt: return simple(KINDLING_FLOATS(unary, SqrtOp));
    case Primitive::Rsqrt: return simple(KINDLING_FLOATS(unary, RsqrtOp));
    case Primitive::Reciprocal: return simple(KINDLING_FLOATS(unary, ReciprocalOp));
    case Primitive::Floor: return simple(KINDLING_FLOATS(unary, FloorOp));
    case Primitive::Ceil: return simple(KINDLING_FLOATS(unary, CeilOp));
    case Primitive::Round: return simple(KINDLING_FLOATS(unary, RoundOp));
    case Primitive::Trunc: return simple(KINDLING_FLOATS(unary, TruncOp));
    case Primitive::Frac: return simple(KINDLING_FLOATS(unary, FracOp));
    case Primitive::Conj: return {KINDLING_PARTS(complex_conj), 2};
    case Primitive::Real: return simple(type == DType::Complex64 ? complex_part<float, 0> : complex_part<double, 0>);
    case Primitive::Imag: return simple(type == DType::Complex64 ? complex_part<float, 1> : complex_part<double, 1>);
    case Primitive::MakeComplex: return simple(KINDLING_PARTS(complex_make));
    default: return {};
    }
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
