// kernels/tile/tile_maths_isa.cpp: mathematical functions of float32 over contiguous arrays, and the trigonometric ones of
// float64, which are slower if compiled for size.
#include "kernels/maths/maths.h"
#include "kernels/maths/usual.h"
#include "kernels/tile/tile.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

// clang-format off
#define KINDLING_FOR_EACH_FLOAT(X) \
    X(Exp, expf) X(Exp2, exp2f) X(Expm1, expm1f) X(Sigmoid, sigmoidf) X(Tanh, tanhf) X(Erf, erff)
// clang-format on
#define KINDLING_FOR_EACH_IN_DOUBLES(X) X(Tan, tan_for_float) X(Cosh, cosh_for_float) X(Sinh, sinh_for_float) X(Atanh, atanh_for_float)

#define KINDLING_FOR_EACH_ANGLE(X) X(Sin, sin) X(Cos, cos) X(Tan, once_tan)

#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        loop1<double, double>([](auto x) { return maths::NAME(x); }, out, a, n);                                                           \
    }
KINDLING_FOR_EACH_ANGLE(X)
#undef X
#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        long_loop1<float, float>([](auto x) { return maths::NAME(x); }, out, a, n);                                                        \
    }
KINDLING_FOR_EACH_FLOAT(X)
#undef X
#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        loop1<float, float, 8>([](auto x) { return convert<float>(maths::NAME(convert<double>(x))); }, out, a, n);                         \
    }
KINDLING_FOR_EACH_IN_DOUBLES(X)
#undef X

/// Lanes whose absolute value is above `most` use the function of doubles.
template <class V> __attribute__((noinline, cold)) V mended(Primitive primitive, V value, Mask<V> size, int32_t most, V a, V b) {
    constexpr int lanes = Lanes<V>::count;
    alignas(64) double wide[3][lanes];
    for (int i = 0; i < lanes; i++) wide[0][i] = static_cast<double>(a[i]), wide[1][i] = static_cast<double>(b[i]);
    find_maths(primitive, DType::Float64)(wide[2], wide[0], wide[1], nullptr, lanes, 0);
    for (int i = 0; i < lanes; i++)
        if (size[i] > most) value[i] = static_cast<float>(wide[2][i]);
    return value;
}
template <class V> __attribute__((noinline)) V any_angle(Primitive primitive, V value, Mask<V> size, int32_t most, V x) {
    constexpr int32_t largest = 0x48000000;
    static_assert(maths::largest_short_angle == 131072.0f);
    value = choose(size > most, maths::far_sine_or_cosine(x, primitive == Primitive::Cos), value);
    return anywhere_above(size, largest) ? mended(primitive, value, size, largest, x, x) : value;
}
template <class V> V any(Primitive primitive, const maths::Usual<V>& usual, V x) {
    if (primitive == Primitive::Log1p) return mended(primitive, usual.value, usual.size, usual.most, x, x);
    return any_angle(primitive, usual.value, usual.size, usual.most, x);
}
#define X(PRIMITIVE, NAME)                                                                                                                 \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        long_loop1<float, float>(                                                                                                          \
            [](auto x) {                                                                                                                   \
                auto usual = maths::NAME(x);                                                                                               \
                if (anywhere_above(usual.size, usual.most)) [[unlikely]]                                                                   \
                    return any(Primitive::PRIMITIVE, usual, x);                                                                            \
                return usual.value;                                                                                                        \
            },                                                                                                                             \
            out, a, n);                                                                                                                    \
    }
KINDLING_FOR_EACH_MENDED(X)
#undef X

template <maths::Base B, class V> __attribute__((noinline, cold)) V any_log(V x) { return maths::any_logf<B>(x); }
#define X(PRIMITIVE, NAME, BASE)                                                                                                           \
    void tile_##NAME(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {                                            \
        long_loop1<float, float>(                                                                                                          \
            [](auto x) {                                                                                                                   \
                auto usual = maths::usual_logf<maths::Base::BASE>(x);                                                                      \
                if (anywhere_above(usual.size, usual.most)) [[unlikely]]                                                                   \
                    return any_log<maths::Base::BASE>(x);                                                                                  \
                return usual.value;                                                                                                        \
            },                                                                                                                             \
            out, a, n);                                                                                                                    \
    }
KINDLING_FOR_EACH_LOG(X)
#undef X

template <class V> __attribute__((noinline, cold)) V any_pow(V x, V y) {
    auto usual = maths::powf<false>(x, y);
    if (anywhere_above(usual.size, usual.most)) return mended(Primitive::Pow, usual.value, usual.size, usual.most, x, y);
    return usual.value;
}
void tile_powf(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    loop2<float, float>(
        [](auto x, auto y) {
            auto usual = maths::powf<true>(x, y);
            if (anywhere_above(usual.size, usual.most)) [[unlikely]]
                return any_pow(x, y);
            return usual.value;
        },
        out, a, b, n, splat);
}

} // namespace

TileFunction find_maths(Primitive primitive, DType type) {
#define X(PRIMITIVE, NAME, ...)                                                                                                            \
    case Primitive::PRIMITIVE: return tile_##NAME;
    if (type == DType::Float64) switch (primitive) {
            KINDLING_FOR_EACH_ANGLE(X)
        default: break;
        }
    if (type == DType::Float32) switch (primitive) {
            KINDLING_FOR_EACH_FLOAT(X)
            KINDLING_FOR_EACH_MENDED(X)
            KINDLING_FOR_EACH_LOG(X)
            KINDLING_FOR_EACH_IN_DOUBLES(X)
        case Primitive::Pow: return tile_powf;
        default: break;
        }
#undef X
    return find_wide_maths(primitive, type);
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
