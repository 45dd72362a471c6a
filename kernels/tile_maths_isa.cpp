// kernels/tile_maths_isa.cpp: mathematical functions over contiguous arrays.
#include "kernels/maths.h"
#include "kernels/tile.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

#define KINDLING_UNARY(NAME) \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) { \
        loop1<double, double>([](auto x) { return maths::NAME(x); }, out, a, n); \
    }
#define KINDLING_BINARY(NAME) \
    void tile_##NAME(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) { \
        loop2<double, double>([](auto x, auto y) { return maths::NAME(x, y); }, out, a, b, n, splat); \
    }
#define KINDLING_UNARY_FLOAT(NAME) \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) { \
        loop1<float, float>([](auto x) { return maths::NAME(x); }, out, a, n); \
    }
#define KINDLING_FOR_EACH_UNARY(X) \
    X(Exp, exp) X(Exp2, exp2) X(Expm1, expm1) X(Log, log) X(Log2, log2) X(Log10, log10) X(Log1p, log1p) X(Sin, sin) \
    X(Cos, cos) X(Tan, tan) X(Asin, asin) X(Acos, acos) X(Atan, atan) X(Sinh, sinh) X(Cosh, cosh) X(Tanh, tanh) \
    X(Asinh, asinh) X(Acosh, acosh) X(Atanh, atanh) X(Sigmoid, sigmoid) X(Erf, erf) X(Erfc, erfc) X(Erfcx, erfcx)
#define KINDLING_FOR_EACH_BINARY(X) \
    X(Atan2, atan2) X(Pow, pow) X(Hypot, hypot) X(Logaddexp, logaddexp) X(Logaddexp2, logaddexp2)
#define KINDLING_FOR_EACH_FLOAT_MENDED(X) X(Sin, sinf, tile_sin) X(Cos, cosf, tile_cos) X(Log1p, log1pf, tile_log1p)
#define KINDLING_FOR_EACH_FLOAT_IN_DOUBLES(X) \
    X(Tan, tan) X(Cosh, cosh) X(Sinh, sinh) X(Atanh, atanh) X(Erfc, erfc) X(Erfinv, erfinv) X(Lgamma, lgamma) \
    X(Digamma, digamma)
#define KINDLING_FOR_EACH_FLOAT_LOG(X) X(Log, logf, E) X(Log2, log2f, Two) X(Log10, log10f, Ten)
#define KINDLING_FOR_EACH_FLOAT(X) \
    X(Exp, expf) X(Exp2, exp2f) X(Expm1, expm1f) X(Sigmoid, sigmoidf) X(Tanh, tanhf) X(Erf, erff)

#define X(PRIMITIVE, NAME) KINDLING_UNARY(NAME)
KINDLING_FOR_EACH_UNARY(X)
#undef X
#define X(PRIMITIVE, NAME) KINDLING_BINARY(NAME)
KINDLING_FOR_EACH_BINARY(X)
#undef X
#define X(PRIMITIVE, NAME) KINDLING_UNARY_FLOAT(NAME)
KINDLING_FOR_EACH_FLOAT(X)
#undef X

#define X(PRIMITIVE, NAME) \
    void tile_##NAME##_for_float(void* out, const void* a, const void*, const void*, int64_t n, unsigned) { \
        loop1<float, float, 8>([](auto x) { return convert<float>(maths::NAME##_for_float(convert<double>(x))); }, out, a, n); \
    }
KINDLING_FOR_EACH_FLOAT_IN_DOUBLES(X)
#undef X

template <class V> __attribute__((noinline, cold)) V mended(TileFunction in_doubles, maths::Usual<V> usual, V a, V b) {
    constexpr int lanes = Lanes<V>::count;
    alignas(64) double wide[3][lanes];
    for (int i = 0; i < lanes; i++) wide[0][i] = static_cast<double>(a[i]), wide[1][i] = static_cast<double>(b[i]);
    in_doubles(wide[2], wide[0], wide[1], nullptr, lanes, 0);
    for (int i = 0; i < lanes; i++)
        if (usual.rare[i]) usual.value[i] = static_cast<float>(wide[2][i]);
    return usual.value;
}
#define X(PRIMITIVE, NAME, IN_DOUBLES) \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) { \
        loop1<float, float>( \
            [](auto x) { \
                auto usual = maths::NAME(x); \
                if (anywhere(usual.rare)) [[unlikely]] return mended(IN_DOUBLES, usual, x, x); \
                return usual.value; \
            }, \
            out, a, n); \
    }
KINDLING_FOR_EACH_FLOAT_MENDED(X)
#undef X

template <maths::Base B, class V> __attribute__((noinline, cold)) V any_log(V x) { return maths::any_logf<B>(x); }
#define X(PRIMITIVE, NAME, BASE) \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) { \
        loop1<float, float>( \
            [](auto x) { \
                auto usual = maths::usual_logf<maths::Base::BASE>(x); \
                if (anywhere(usual.rare)) [[unlikely]] return any_log<maths::Base::BASE>(x); \
                return usual.value; \
            }, \
            out, a, n); \
    }
KINDLING_FOR_EACH_FLOAT_LOG(X)
#undef X

template <class V> __attribute__((noinline, cold)) V any_pow(V x, V y) {
    auto usual = maths::powf<false>(x, y);
    if (anywhere(usual.rare)) return mended(tile_pow, usual, x, y);
    return usual.value;
}
void tile_powf(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    loop2<float, float>(
        [](auto x, auto y) {
            auto usual = maths::powf<true>(x, y);
            if (anywhere(usual.rare)) [[unlikely]] return any_pow(x, y);
            return usual.value;
        },
        out, a, b, n, splat);
}

}  // namespace

TileFunction find_maths(Primitive primitive, DType type) {
    if (type == DType::Float64) switch (primitive) {
#define X(PRIMITIVE, NAME) case Primitive::PRIMITIVE: return tile_##NAME;
            KINDLING_FOR_EACH_UNARY(X)
            KINDLING_FOR_EACH_BINARY(X)
            default: return nullptr;
        }
    if (type == DType::Float32) switch (primitive) {
            KINDLING_FOR_EACH_FLOAT(X)
#undef X
#define X(PRIMITIVE, NAME) case Primitive::PRIMITIVE: return tile_##NAME##_for_float;
            KINDLING_FOR_EACH_FLOAT_IN_DOUBLES(X)
#undef X
#define X(PRIMITIVE, NAME, MORE) case Primitive::PRIMITIVE: return tile_##NAME;
            KINDLING_FOR_EACH_FLOAT_MENDED(X)
            KINDLING_FOR_EACH_FLOAT_LOG(X)
#undef X
            case Primitive::Pow: return tile_powf;
            default: return nullptr;
        }
    return nullptr;
}

}  // namespace kindling::KINDLING_ISA_NAMESPACE
