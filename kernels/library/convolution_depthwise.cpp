// Depthwise convolution: a group has one channel of input, and one or two of output. Nothing is summed over channels,
// so a plane at a time is copied with its padding, and each tap is added to many outputs in registers.
#include <type_traits>

#include "kernels/library/convolution_layout.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

template <class T>
const DepthwiseSteps<T>& depthwise_steps() {
    if constexpr (std::is_same_v<T, float>)
        return convolution_steps().depthwise_float;
    else
        return convolution_steps().depthwise_double;
}

bool is_depthwise(const Shape& s) {
    return s.in_channels == 1 && s.out_channels <= 2 && s.in[0] == 1 && s.kernel[0] == 1 && s.out[0] == 1 &&
           s.padding[0] == 0 && !s.direct && s.stride[1] <= 8 && s.stride[2] <= 8 && s.out_space > 0;
}

/// One plane of the input, and where its taps are: those of a column of the kernel one after the other, and of these
/// the ones in rows of the same place in the stride.
template <class T>
struct Padded {
    static constexpr int64_t lanes = 64 / sizeof(T);
    ConvolutionLayout layout;
    Scratch<int64_t> offsets, order;
    int64_t room;
    Scratch<T> values;
    DepthwisePlane plane;
    explicit Padded(const Shape& s)
        : layout(s, lanes), offsets(s.taps), order(s.taps),
          room(layout.plane + DepthwisePlane::most_rows * layout.pitch + lanes),
          values(room), plane{s.taps, offsets.data, order.data, s.out[1], s.out[2], layout.pitch} {
        int64_t t = 0;
        for (int64_t column = 0; column < s.kernel[2]; ++column)
            for (int64_t phase = 0; phase < s.stride[1]; ++phase)
                for (int64_t row = 0; row < s.kernel[1]; ++row)
                    if (row * s.dilation[1] % s.stride[1] == phase) order[t++] = row * s.kernel[2] + column;
        for (t = 0; t < s.taps; ++t)
            offsets[t] = layout.offset(s, 0, order[t]);
        clear();
    }
    void clear() { library::clear(values.data, room); }
};

int64_t grain_of(int64_t work) { return std::max<int64_t>(1, 100000 / std::max<int64_t>(work, 1)); }

} // namespace

template <class T>
bool run_depthwise(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    if (!is_depthwise(s)) return false;
    parallel_for(0, s.batch * s.groups, grain_of(s.out_space * s.taps), [&](int64_t begin, int64_t end) {
        Padded<T> padded(s);
        for (int64_t image = begin; image < end; ++image) {
            fill_layout(s, padded.layout, input + image * s.in_space, 1, 0, padded.values.data);
            for (int64_t o = 0; o < s.out_channels; ++o) {
                const int64_t channel = image % s.groups * s.out_channels + o;
                depthwise_steps<T>().forward(padded.plane, padded.values.data, weight + channel * s.taps,
                                             bias ? bias[channel] : T{0},
                                             output + (image * s.out_channels + o) * s.out_space);
            }
        }
    });
    return true;
}

template <class T>
bool run_depthwise_weight(const Shape& s, const T* input, const T* grad_output, T* grad_weight) {
    if (!is_depthwise(s)) return false;
    parallel_for(0, s.groups, grain_of(s.batch * s.out_space * s.taps), [&](int64_t begin, int64_t end) {
        Padded<T> padded(s);
        // The gradient's rows are filled up with zeros.
        const int64_t lanes = padded.lanes, pitch = (s.out[2] + lanes - 1) / lanes * lanes;
        Scratch<T> grad(s.out[1] * pitch);
        clear(grad.data, s.out[1] * pitch);
        clear(grad_weight + begin * s.out_channels * s.taps, (end - begin) * s.out_channels * s.taps);
        for (int64_t group = begin; group < end; ++group)
            for (int64_t sample = 0; sample < s.batch; ++sample) {
                const int64_t image = sample * s.groups + group;
                fill_layout(s, padded.layout, input + image * s.in_space, 1, 0, padded.values.data);
                for (int64_t o = 0; o < s.out_channels; ++o) {
                    const T* from = grad_output + (image * s.out_channels + o) * s.out_space;
                    row_steps<T>().copy({1, s.out[1], 0, pitch, 0, s.out[2]}, s.out[2], grad.data, from);
                    depthwise_steps<T>().weight(padded.plane, padded.values.data, grad.data, pitch,
                                                grad_weight + (group * s.out_channels + o) * s.taps);
                }
            }
    });
    return true;
}

template <class T>
bool run_depthwise_input(const Shape& s, const T* grad_output, const T* weight, T* grad_input) {
    if (!is_depthwise(s)) return false;
    Shape back = s;
    bool reach = s.out_channels == 1;
    for (int d = 1; d < 3; ++d) {
        std::swap(back.in[d], back.out[d]);
        back.padding[d] = s.dilation[d] * (s.kernel[d] - 1) - s.padding[d];
        reach = reach && s.stride[d] == 1 && back.padding[d] >= 0;
    }
    if (reach) { // it is the convolution of the output's gradient with the kernel turned round
        std::swap(back.in_space, back.out_space);
        Scratch<T> turned(s.groups * s.taps);
        for (int64_t c = 0; c < s.groups; ++c)
            std::reverse_copy(weight + c * s.taps, weight + (c + 1) * s.taps, turned.data + c * s.taps);
        return run_depthwise<T>(back, grad_output, turned.data, nullptr, grad_input);
    }
    // Otherwise each tap adds to the places that it reads, and these are put back where they came from.
    const int64_t sy = s.stride[1], sx = s.stride[2], item = sizeof(T);
    const PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    parallel_for(0, s.batch * s.groups, grain_of(s.out_space * s.taps), [&](int64_t begin, int64_t end) {
        Padded<T> padded(s);
        for (int64_t image = begin; image < end; ++image) {
            if (image > begin) padded.clear();
            for (int64_t o = 0; o < s.out_channels; ++o)
                depthwise_steps<T>().scatter(padded.plane, grad_output + (image * s.out_channels + o) * s.out_space,
                                             weight + (image % s.groups * s.out_channels + o) * s.taps,
                                             padded.values.data);
            T* to = grad_input + image * s.in_space;
            clear(to, s.in_space);
            for_phases(s, padded.layout, 0,
                       [&](int64_t at, int64_t first, int64_t last, int64_t left, int64_t right, int64_t place) {
                           if (first == last || left == right) return;
                           const T* from = padded.values.data + at + first * padded.layout.pitch + left;
                           copy({reinterpret_cast<char*>(to + place),
                                 reinterpret_cast<const char*>(from),
                                 {last - first, right - left},
                                 {sy * s.in[2] * item, sx * item},
                                 {padded.layout.pitch * item, item}});
                       });
        }
    });
    return true;
}

template bool run_depthwise(const Shape&, const float*, const float*, const float*, float*);
template bool run_depthwise(const Shape&, const double*, const double*, const double*, double*);
template bool run_depthwise_weight(const Shape&, const float*, const float*, float*);
template bool run_depthwise_weight(const Shape&, const double*, const double*, double*);
template bool run_depthwise_input(const Shape&, const float*, const float*, float*);
template bool run_depthwise_input(const Shape&, const double*, const double*, double*);

} // namespace kindling::library
