// kernels/library/convolution/convolution_strided.cpp: the input's gradient of a convolution with a stride, and so the transposed
// convolution. Input positions of the same phase are reached by the same taps. Each phase is the input's gradient of a
// convolution with these taps and stride 1.
// Compiled for size.
#include <algorithm>

#include "kernels/library/convolution/convolution_shape.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

/// One dimension of a phase: taps first + stride * m of the kernel, for `places` positions of the input.
struct Phase {
    int64_t at, first, taps, places, padding;
    Phase(const Shape& s, int d, int64_t phase)
        : at(phase), first((phase + s.padding[d]) % s.stride[d]), taps((s.kernel[d] - first + s.stride[d] - 1) / s.stride[d]),
          places((s.in[d] - phase + s.stride[d] - 1) / s.stride[d]), padding((phase + s.padding[d] - first) / s.stride[d]) {}
};

bool fits(const Shape& s) {
    int64_t phases = 1;
    for (int d = 0; d < 3; ++d) {
        if (s.stride[d] > 8) return false;
        phases *= s.stride[d];
        if (s.stride[d] > 1 && (s.kernel[d] <= s.stride[d] || s.dilation[d] > 1)) return false;
        for (int64_t phase = 0; phase < s.stride[d]; ++phase)
            if (const Phase p(s, d, phase); p.padding > s.dilation[d] * (p.taps - 1)) return false;
    }
    // Each phase selects and packs weights of its own. That pays with enough positions, and with tiles of full
    // channels.
    return phases > 1 && phases <= 8 && s.batch * s.out_space >= 64 && s.in_channels >= 8 && s.out_channels >= 8;
}

/// The taps of a phase are a kernel of their own: `weight` holds them, the rest is as in the whole convolution.
void run_phase(const Shape& s, const Phase (&p)[3], const float* grad_output, const float* weight, const float* bias, float* result,
               float* grad_input) {
    Shape one = s;
    one.in_space = one.taps = 1, one.direct = true;
    for (int d = 0; d < 3; ++d) {
        one.in[d] = p[d].places, one.kernel[d] = p[d].taps, one.padding[d] = p[d].padding, one.stride[d] = 1;
        one.in_space *= p[d].places, one.taps *= p[d].taps;
        one.direct = one.direct && p[d].taps == 1 && p[d].padding == 0 && one.in[d] == one.out[d];
    }
    if (one.in_space == 0) return;
    if (!run_direct_input<float>(one, grad_output, weight, bias, result)) run_unrolled_input<float>(one, grad_output, weight, bias, result);
    const int64_t item = sizeof(float);
    const PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    parallel_for(0, s.batch * s.groups * s.in_channels, 1 + 32768 / one.in_space, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane)
            for (int64_t x = 0; x < p[0].places; ++x)
                copy({reinterpret_cast<char*>(grad_input + plane * s.in_space +
                                              ((x * s.stride[0] + p[0].at) * s.in[1] + p[1].at) * s.in[2] + p[2].at),
                      reinterpret_cast<const char*>(result + plane * one.in_space + x * p[1].places * p[2].places),
                      {p[1].places, p[2].places},
                      {s.stride[1] * s.in[2] * item, s.stride[2] * item},
                      {p[2].places * item, item}});
    });
}

} // namespace

bool run_strided_input(const Shape& s, const float* grad_output, const float* weight, const float* bias, float* grad_input) {
    if (!fits(s)) return false;
    const Phase most[3] = {{s, 0, 0}, {s, 1, 0}, {s, 2, 0}};
    Scratch<float> result(s.batch * s.groups * s.in_channels * most[0].places * most[1].places * most[2].places);
    auto each_phase = [&](auto visit) {
        for (int64_t x = 0; x < s.stride[0]; ++x)
            for (int64_t y = 0; y < s.stride[1]; ++y)
                for (int64_t z = 0; z < s.stride[2]; ++z) visit({{s, 0, x}, {s, 1, y}, {s, 2, z}});
    };
    // Sorted by phase in one pass over the weights: where there are few positions, this is a good part of the time.
    const int64_t rows = s.groups * s.out_channels * s.in_channels;
    Scratch<float> sorted(rows * s.taps);
    Scratch<int64_t> taps(s.taps);
    int64_t begins[9] = {}, *tap = taps.data; // of at most 8 phases
    int phases = 0;
    each_phase([&](const Phase(&p)[3]) {
        for (int64_t x = p[0].first; x < s.kernel[0]; x += s.stride[0])
            for (int64_t y = p[1].first; y < s.kernel[1]; y += s.stride[1])
                for (int64_t z = p[2].first; z < s.kernel[2]; z += s.stride[2]) *tap++ = (x * s.kernel[1] + y) * s.kernel[2] + z;
        begins[++phases] = tap - taps.data;
    });
    parallel_for(0, rows, 1 + 65536 / s.taps, [&](int64_t begin, int64_t end) {
        for (int phase = 0; phase < phases; ++phase) {
            const int64_t first = begins[phase], count = begins[phase + 1] - first;
            float* to = sorted.data + rows * first + begin * count;
            for (int64_t row = begin; row < end; ++row, to += count)
                for (int64_t t = 0; t < count; ++t) to[t] = weight[row * s.taps + taps.data[first + t]];
        }
    });
    int phase = 0;
    each_phase(
        [&](const Phase(&p)[3]) { run_phase(s, p, grad_output, sorted.data + rows * begins[phase++], bias, result.data, grad_input); });
    return true;
}

} // namespace kindling::library
