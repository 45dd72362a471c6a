// kernels/tile/tile_wide_maths_isa.cpp: mathematical functions of float64 over contiguous arrays, and those of float32 that
// are so slow that code size matters more.
// Compiled for vectors.
#include "kernels/maths/maths.h"
#include "kernels/tile/tile.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

// clang-format off
#define KINDLING_FOR_EACH_UNARY(X) \
    X(Exp, exp) X(Exp2, exp2) X(Expm1, expm1) X(Log, log) X(Log2, log2) X(Log10, log10) X(Log1p, log1p) \
    X(Asin, asin) X(Acos, acos) X(Atan, atan) X(Sinh, sinh) X(Cosh, cosh) X(Tanh, tanh) \
    X(Asinh, asinh) X(Acosh, acosh) X(Atanh, atanh) X(Sigmoid, sigmoid) X(Erf, erf) X(Erfc, erfc) X(Erfcx, erfcx)
// AVX-512 runs these by AVX2: 13 KB less for up to half of their speed.
#if defined(__AVX512F__)
#define KINDLING_FOR_EACH_SPECIAL(X)
#else
#define KINDLING_FOR_EACH_SPECIAL(X) \
    X(Lgamma, lgamma) X(Digamma, digamma) X(I0, i0) X(I0e, i0e) X(I1, i1) X(I1e, i1e) X(Erfinv, erfinv) X(Ndtri, ndtri)
#endif
#define KINDLING_FOR_EACH_BINARY(X) \
    X(Atan2, atan2) X(Pow, once_pow) X(Hypot, hypot) X(Logaddexp, whole_logaddexp) X(Logaddexp2, whole_logaddexp2)
#define KINDLING_FOR_EACH_FLOAT(X) \
    X(Asin, asin_for_float) X(Acos, acos_for_float) X(Atan, atan_for_float) X(Asinh, asinh_for_float) X(Acosh, acosh_for_float) \
    X(Erfc, erfc_for_float) X(Erfinv, erfinv_for_float) \
    X(Lgamma, lgamma_for_float) X(Digamma, digamma_for_float)
#define KINDLING_FOR_EACH_FLOAT_BINARY(X) \
    X(Atan2, atan2_for_float) X(Hypot, hypot_for_float) X(Logaddexp, logaddexp_for_float) X(Logaddexp2, logaddexp2_for_float)
// clang-format on

#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        loop1<double, double>([](auto x) { return maths::NAME(x); }, out, a, n);                                                           \
    }
KINDLING_FOR_EACH_UNARY(X)
KINDLING_FOR_EACH_SPECIAL(X)
#undef X
#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {                                    \
        loop2<double, double>([](auto x, auto y) { return maths::NAME(x, y); }, out, a, b, n, splat);                                      \
    }
KINDLING_FOR_EACH_BINARY(X)
#undef X
#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        loop1<float, float, 8>([](auto x) { return convert<float>(maths::NAME(convert<double>(x))); }, out, a, n);                         \
    }
KINDLING_FOR_EACH_FLOAT(X)
#undef X
#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {                                    \
        loop2<float, float, 8>([](auto x, auto y) { return convert<float>(maths::NAME(convert<double>(x), convert<double>(y))); }, out, a, \
                               b, n, splat);                                                                                               \
    }
KINDLING_FOR_EACH_FLOAT_BINARY(X)
#undef X

#if !defined(__AVX512F__)
/// The scalar function computes what lies outside the sum's domain, and a whole x of several (which are powers by products).
void tile_zeta(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    const double *x = static_cast<const double*>(a), *q = static_cast<const double*>(b);
    auto whole = [](double each) { return each >= 2 && each <= maths::most_zeta_products && each == static_cast<int>(each); };
    const bool by_products = splat & 1 && whole(*x);
    alignas(64) double room[16];
    for (int64_t from = 0; from < n; from += 16) {
        const int64_t some = n - from < 16 ? n - from : 16, at_x = splat & 1 ? 0 : from, at_q = splat & 2 ? 0 : from;
        if (by_products)
            loop1<double, double>([x](auto each) { return maths::zeta_by_products(static_cast<int>(*x), each); }, room, q + at_q,
                                  splat & 2 ? 1 : some);
        else loop2<double, double>([](auto one, auto other) { return maths::zeta(one, other); }, room, x + at_x, q + at_q, some, splat);
        for (int64_t i = 0; i < some; i++) {
            const double one = x[splat & 1 ? 0 : from + i], other = q[splat & 2 ? 0 : from + i],
                         usual = room[by_products && splat & 2 ? 0 : i];
            const bool outside = !(one > 1 && one < maths::infinity && other > 0 && other < maths::infinity);
            double* to = static_cast<double*>(out) + from + i;
            if (outside || (!by_products && whole(one))) find_special(Primitive::Zeta, DType::Float64)(to, &one, &other, nullptr, 1, 0);
            else *to = usual;
        }
    }
}
#endif

} // namespace

TileFunction find_wide_maths(Primitive primitive, DType type) {
#define X(PRIMITIVE, NAME)                                                                                                                 \
    case Primitive::PRIMITIVE: return tile_##NAME;
    if (type == DType::Float64) switch (primitive) {
            KINDLING_FOR_EACH_UNARY(X)
            KINDLING_FOR_EACH_SPECIAL(X)
            KINDLING_FOR_EACH_BINARY(X)
#if !defined(__AVX512F__)
        case Primitive::Zeta: return tile_zeta;
#endif
        default: break;
        }
    if (type == DType::Float32) switch (primitive) {
            KINDLING_FOR_EACH_FLOAT(X)
            KINDLING_FOR_EACH_FLOAT_BINARY(X)
        default: break;
        }
#undef X
    TileFunction found = find_remainder(primitive, type);
#if defined(__AVX512F__)
    if (!found) found = isa_avx2::find_wide_maths(primitive, type);
#endif
    return found;
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
