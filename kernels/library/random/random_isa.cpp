// kernels/library/random/random_isa.cpp: Box and Muller's transform in float, with torch's rounding: the Cephes polynomials
// for log, sin and cos, fused where torch's build fuses them. The same bits from every instruction set.
#include "kernels/library/random/random_isa.h"

#include <bit>

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// x is in (0, 1].
inline float log_float(float x) {
    x = x < 0x1p-126f ? 0x1p-126f : x;
    uint32_t bits = std::bit_cast<uint32_t>(x);
    float e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127) + 1.0f;
    x = std::bit_cast<float>((bits & 0x807fffffu) | 0x3f000000u);
    bool low = x < 0.707106781186547524f;
    float extra = low ? x : 0.0f;
    x = x - 1.0f;
    e = e - (low ? 1.0f : 0.0f);
    x = x + extra;
    float z = x * x, y = 7.0376836292e-2f;
    y = fused(y, x, -1.1514610310e-1f);
    y = fused(y, x, 1.1676998740e-1f);
    y = fused(y, x, -1.2420140846e-1f);
    y = fused(y, x, 1.4249322787e-1f);
    y = fused(y, x, -1.6668057665e-1f);
    y = fused(y, x, 2.0000714765e-1f);
    y = fused(y, x, -2.4999993993e-1f);
    y = fused(y, x, 3.3333331174e-1f);
    y = y * x;
    y = fused(y, z, e * -2.12194440e-4f);
    y = fused(z, -0.5f, y);
    return fused(e, 0.693359375f, x + y);
}

// x is in [0, 2 pi].
inline void sin_cos_float(float x, float& sine, float& cosine) {
    int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
    float y = static_cast<float>(octant);
    uint32_t sine_sign = static_cast<uint32_t>(octant & 4) << 29;
    uint32_t cosine_sign = static_cast<uint32_t>(~(octant - 2) & 4) << 29;
    bool straight = (octant & 2) == 0;
    x = fused(y, -0.78515625f, x);
    x = fused(y, -2.4187564849853515625e-4f, x);
    x = fused(y, -3.77489497744594108e-8f, x);
    float z = x * x;
    float c = fused(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fused(c, z, 4.166664568298827e-2f);
    c = c * z;
    c = fused(c, z, z * -0.5f);
    c = c + 1.0f;
    float s = fused(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fused(s, z, -1.6666654611e-1f);
    s = s * z;
    s = fused(s, x, x);
    sine = std::bit_cast<float>(std::bit_cast<uint32_t>(straight ? s : c) ^ sine_sign);
    cosine = std::bit_cast<float>(std::bit_cast<uint32_t>(straight ? c : s) ^ cosine_sign);
}

void normal_blocks(float* data, int64_t blocks, float mean, float deviation) {
    constexpr float two_pi = static_cast<float>(2.0f * 3.14159265358979323846);
    for (int64_t b = 0; b < blocks; ++b, data += 16) {
        float first[8], second[8];
        for (int j = 0; j < 8; ++j) {
            float radius = __builtin_sqrtf(-2.0f * log_float(1.0f - data[j]));
            float sine, cosine;
            sin_cos_float(two_pi * data[j + 8], sine, cosine);
            first[j] = fused(radius * cosine, deviation, mean);
            second[j] = fused(radius * sine, deviation, mean);
        }
        for (int j = 0; j < 8; ++j) data[j] = first[j];
        for (int j = 0; j < 8; ++j) data[j + 8] = second[j];
    }
}

void affine_float(float* data, int64_t count, float scale, float offset) {
    for (int64_t i = 0; i < count; ++i) data[i] = __builtin_fmaf(data[i], scale, offset);
}

void affine_double(double* data, int64_t count, double scale, double offset) {
    for (int64_t i = 0; i < count; ++i) data[i] = __builtin_fma(data[i], scale, offset);
}

} // namespace

extern constexpr RandomSteps random_steps = {normal_blocks, affine_float, affine_double};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
