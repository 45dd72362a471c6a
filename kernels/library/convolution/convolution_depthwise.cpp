// kernels/library/convolution/convolution_depthwise.cpp: depthwise convolution: a group has one channel of input, and one or two of
// output. Nothing is summed over channels. So one plane at a time is copied with its padding, and each tap is
// accumulated to many outputs in registers.
// Compiled for size.
#include <type_traits>

#include "kernels/library/convolution/convolution_layout.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

template <class T> const DepthwiseSteps<T>& depthwise_steps() {
    if constexpr (std::is_same_v<T, float>) return convolution_steps().depthwise_float;
    else return convolution_steps().depthwise_double;
}

bool is_depthwise(const Shape& s) {
    return s.in_channels == 1 && s.out_channels <= 2 && s.in[0] == 1 && s.kernel[0] == 1 && s.out[0] == 1 && s.padding[0] == 0 &&
           !s.direct && s.stride[1] <= 8 && s.stride[2] <= 8 && s.out_space > 0;
}

/// One padded plane of the input, and the offsets of its taps. Taps in a column of the kernel are consecutive, and
/// among these the ones whose rows have the same phase of the stride.
template <class T> struct Padded {
    static constexpr int64_t lanes = 64 / sizeof(T);
    ConvolutionLayout layout;
    Scratch<int64_t> offsets, order;
    int64_t room;
    Scratch<T> values;
    DepthwisePlane plane;
    explicit Padded(const Shape& s)
        : layout(s, lanes), offsets(s.taps), order(s.taps), room(layout.plane + DepthwisePlane::most_rows * layout.pitch + lanes),
          values(room), plane{s.taps, offsets.data, order.data, s.out[1], s.out[2], layout.pitch} {
        int64_t t = 0;
        for (int64_t column = 0; column < s.kernel[2]; ++column)
            for (int64_t phase = 0; phase < s.stride[1]; ++phase)
                for (int64_t row = 0; row < s.kernel[1]; ++row)
                    if (row * s.dilation[1] % s.stride[1] == phase) order[t++] = row * s.kernel[2] + column;
        for (t = 0; t < s.taps; ++t) offsets[t] = layout.offset(s, 0, order[t]);
        clear();
    }
    void clear() { library::clear(values.data, room); }
};

/// A plane read under masks: the input's rows have the pitch of the output's; with stride 2 they are sorted by phase.
/// There is no padding between rows, so registers are full even where rows are short.
class Masked {
public:
    explicit Masked(const Shape& shape) : s_(shape), pitch_(s_.out[2]), offsets_(s_.taps), masks_((s_.out_space + 63) / 64 * s_.taps) {
        if (s_.in[1] == 1) pitch_ = std::max(pitch_, columns(0)); // there is no next row
        int64_t at = 0;
        for (int64_t f = 0; f < 2; ++f)
            for (int64_t g = 0; g < 2; ++g) {
                begins_[f][g] = at;
                if (f < s_.stride[1] && g < s_.stride[2]) at += rows(f) * pitch_ + 16; // rows are written a register at a time
            }
        size_ = at;
        for (int64_t t = 0; t < s_.taps; ++t) {
            const Tap tap = tap_at(t);
            offsets_[t] = begins_[tap.phase[0]][tap.phase[1]] + tap.row * pitch_ + tap.column;
        }
        clear(masks_.data, (s_.out_space + 63) / 64 * s_.taps);
        for (int64_t t = 0; t < s_.taps; ++t) {
            const Tap tap = tap_at(t);
            const int64_t first = std::max<int64_t>(-tap.column, 0), last = std::min(s_.out[2], columns(tap.phase[1]) - tap.column);
            for (int64_t y = std::max<int64_t>(-tap.row, 0); y < std::min(s_.out[1], rows(tap.phase[0]) - tap.row); ++y)
                set(masks_.data, s_.taps, t, y * s_.out[2] + first, y * s_.out[2] + last);
        }
    }
    static bool fits(const Shape& s) {
        const int64_t columns = (s.in[2] + s.stride[2] - 1) / s.stride[2];
        return convolution_steps().masked.forward && s.stride[1] <= 2 && s.stride[2] <= 2 &&
               (columns <= s.out[2] || (s.in[1] == 1 && s.out[1] == 1));
    }
    /// True if it is the faster way. With padding, rows that fill registers are read once for a column of the kernel.
    static bool pays(const Shape& s) {
        const bool narrow = s.kernel[1] > 3 ? s.out[2] <= 8 : s.out[2] < 16 || s.stride[1] > 1 || s.stride[2] > 1;
        return fits(s) && (narrow || s.out[1] == 1);
    }
    MaskedPlane plane() const { return {s_.taps, s_.out_space, offsets_.data, masks_.data}; }
    /// True if the input is read in place.
    bool in_place() const { return s_.stride[1] == 1 && s_.stride[2] == 1 && (s_.in[1] == 1 || s_.in[2] == pitch_); }
    int64_t size() const { return size_; }
    void copy(const float* from, float* to) const {
        for (int64_t f = 0; f < s_.stride[1]; ++f) {
            const PlaneRows plane_rows = {1, rows(f), 0, pitch_, 0, s_.stride[1] * s_.in[2], true};
            const float* row = from + f * s_.in[2];
            if (s_.stride[2] == 1) row_steps<float>().copy(plane_rows, s_.in[2], to + begins_[f][0], row);
            else row_steps<float>().split(plane_rows, columns(0), columns(1), to + begins_[f][0], to + begins_[f][1], row);
        }
    }
    void copy_back(const float* from, float* to) const {
        for (int64_t f = 0; f < s_.stride[1]; ++f) {
            const PlaneRows plane_rows = {1, rows(f), 0, s_.stride[1] * s_.in[2], 0, pitch_};
            float* row = to + f * s_.in[2];
            if (s_.stride[2] == 1) row_steps<float>().copy(plane_rows, s_.in[2], row, from + begins_[f][0]);
            else convolution_steps().masked.merge(plane_rows, columns(0), columns(1), row, from + begins_[f][0], from + begins_[f][1]);
        }
    }
    /// For the input's gradient of one phase: positions are those of the phase, and the output's gradient is read.
    struct Back {
        Scratch<int64_t> offsets, taps;
        Scratch<uint64_t> masks;
        int64_t count = 0, begin, places;
        Back(const Masked& m, int64_t f, int64_t g)
            : offsets(m.s_.taps), taps(m.s_.taps), masks((m.rows(f) * m.pitch_ + 63) / 64 * m.s_.taps), begin(m.begins_[f][g]),
              places(f < m.s_.stride[1] && g < m.s_.stride[2] && m.columns(g) > 0 ? (m.rows(f) - 1) * m.pitch_ + m.columns(g) : 0) {
            const Shape& s = m.s_;
            for (int64_t t = 0; t < s.taps; ++t) {
                const Tap tap = m.tap_at(t);
                if (tap.phase[0] == f && tap.phase[1] == g) taps[count] = t, offsets[count++] = -(tap.row * s.out[2] + tap.column);
            }
            clear(masks.data, (m.rows(f) * m.pitch_ + 63) / 64 * count);
            for (int64_t i = 0; i < count; ++i) {
                const Tap tap = m.tap_at(taps[i]);
                const int64_t first = std::max<int64_t>(tap.column, 0), last = std::min(m.columns(g), s.out[2] + tap.column);
                for (int64_t y = std::max<int64_t>(tap.row, 0); y < std::min(m.rows(f), s.out[1] + tap.row); ++y)
                    set(masks.data, count, i, y * m.pitch_ + first, y * m.pitch_ + last);
            }
        }
        MaskedPlane plane() const { return {count, places, offsets.data, masks.data}; }
    };

private:
    struct Tap {
        int64_t phase[2], row, column;
    };
    Tap tap_at(int64_t t) const {
        const int64_t y = t / s_.kernel[2] * s_.dilation[1] - s_.padding[1], x = t % s_.kernel[2] * s_.dilation[2] - s_.padding[2];
        const int64_t f = (y % s_.stride[1] + s_.stride[1]) % s_.stride[1], g = (x % s_.stride[2] + s_.stride[2]) % s_.stride[2];
        return {{f, g}, (y - f) / s_.stride[1], (x - g) / s_.stride[2]};
    }
    int64_t rows(int64_t phase) const { return (s_.in[1] - phase + s_.stride[1] - 1) / s_.stride[1]; }
    int64_t columns(int64_t phase) const { return (s_.in[2] - phase + s_.stride[2] - 1) / s_.stride[2]; }
    static void set(uint64_t* masks, int64_t taps, int64_t tap, int64_t first, int64_t last) {
        for (int64_t j = first; j < last;) {
            const int64_t stop = std::min(last, (j / 64 + 1) * 64);
            masks[j / 64 * taps + tap] |= (~uint64_t{0} >> (64 - (stop - j))) << (j % 64);
            j = stop;
        }
    }
    const Shape& s_;
    int64_t pitch_, size_, begins_[2][2];
    Scratch<int64_t> offsets_;
    Scratch<uint64_t> masks_;
};

int64_t grain_of(int64_t work) { return std::max<int64_t>(1, 100000 / std::max<int64_t>(work, 1)); }

} // namespace

template <class T> bool run_depthwise(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    if (!is_depthwise(s)) return false;
    if constexpr (sizeof(T) == 4)
        if (Masked::pays(s)) {
            const Masked masked(s);
            const MaskedSteps& steps = convolution_steps().masked;
            parallel_for(0, s.batch * s.groups, grain_of(s.out_space * s.taps), [&](int64_t begin, int64_t end) {
                Scratch<float> copied(masked.size());
                for (int64_t image = begin; image < end; ++image) {
                    const float* from = input + image * s.in_space;
                    if (!masked.in_place()) masked.copy(from, copied.data), from = copied.data;
                    for (int64_t o = 0; o < s.out_channels; ++o) {
                        const int64_t channel = image % s.groups * s.out_channels + o;
                        steps.forward(masked.plane(), from, weight + channel * s.taps, bias ? bias[channel] : 0,
                                      output + (image * s.out_channels + o) * s.out_space);
                    }
                }
            });
            return true;
        }
    parallel_for(0, s.batch * s.groups, grain_of(s.out_space * s.taps), [&](int64_t begin, int64_t end) {
        Padded<T> padded(s);
        for (int64_t image = begin; image < end; ++image) {
            hear_signals();
            fill_layout(s, padded.layout, input + image * s.in_space, 1, 0, padded.values.data);
            for (int64_t o = 0; o < s.out_channels; ++o) {
                const int64_t channel = image % s.groups * s.out_channels + o;
                depthwise_steps<T>().forward(padded.plane, padded.values.data, weight + channel * s.taps, bias ? bias[channel] : T{0},
                                             output + (image * s.out_channels + o) * s.out_space);
            }
        }
    });
    return true;
}

template <class T> bool run_depthwise_weight(const Shape& s, const T* input, const T* grad_output, T* grad_weight) {
    if (!is_depthwise(s)) return false;
    if constexpr (sizeof(T) == 4)
        if (Masked::fits(s)) {
            const Masked masked(s);
            const MaskedSteps& steps = convolution_steps().masked;
            const int64_t at_once = masked.in_place() ? s.batch : std::clamp<int64_t>(4096 / s.in_space, 1, s.batch); // samples
            parallel_for(0, s.groups, grain_of(s.batch * s.out_space * s.taps), [&](int64_t begin, int64_t end) {
                Scratch<float> copied(masked.in_place() ? 0 : at_once * masked.size());
                clear(grad_weight + begin * s.out_channels * s.taps, (end - begin) * s.out_channels * s.taps);
                for (int64_t group = begin; group < end; ++group)
                    for (int64_t sample = 0; sample < s.batch; sample += at_once) {
                        const int64_t count = std::min(at_once, s.batch - sample), image = sample * s.groups + group;
                        if (!masked.in_place())
                            for (int64_t n = 0; n < count; ++n)
                                masked.copy(input + (image + n * s.groups) * s.in_space, copied.data + n * masked.size());
                        const float* from = masked.in_place() ? input + image * s.in_space : copied.data;
                        for (int64_t o = 0; o < s.out_channels; ++o)
                            steps.weight(
                                masked.plane(),
                                {count, s.groups * s.out_channels * s.out_space, masked.in_place() ? s.groups * s.in_space : masked.size()},
                                from, grad_output + (image * s.out_channels + o) * s.out_space,
                                grad_weight + (group * s.out_channels + o) * s.taps);
                    }
            });
            return true;
        }
    parallel_for(0, s.groups, grain_of(s.batch * s.out_space * s.taps), [&](int64_t begin, int64_t end) {
        Padded<T> padded(s);
        // The gradient's rows are padded with zeros.
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

template <class T> bool run_depthwise_input(const Shape& s, const T* grad_output, const T* weight, T* grad_input) {
    if (!is_depthwise(s)) return false;
    if constexpr (sizeof(T) == 4)
        if (Masked::fits(s) && s.out_channels == 1 && (s.stride[1] > 1 || s.stride[2] > 1 || Masked::pays(s))) {
            const Masked masked(s);
            const Masked::Back backs[4] = {{masked, 0, 0}, {masked, 0, 1}, {masked, 1, 0}, {masked, 1, 1}};
            parallel_for(0, s.batch * s.groups, grain_of(s.out_space * s.taps), [&](int64_t begin, int64_t end) {
                Scratch<float> phases(masked.size()), some(s.taps);
                for (int64_t image = begin; image < end; ++image) {
                    const float *grad = grad_output + image * s.out_space, *all = weight + image % s.groups * s.taps;
                    float* to = grad_input + image * s.in_space;
                    for (const Masked::Back& back : backs) {
                        if (back.places <= 0) continue;
                        for (int64_t i = 0; i < back.count; ++i) some[i] = all[back.taps[i]];
                        convolution_steps().masked.forward(back.plane(), grad, some.data, 0,
                                                           masked.in_place() ? to : phases.data + back.begin);
                    }
                    if (!masked.in_place()) masked.copy_back(phases.data, to);
                }
            });
            return true;
        }
    Shape back = s;
    bool reach = s.out_channels == 1;
    for (int d = 1; d < 3; ++d) {
        std::swap(back.in[d], back.out[d]);
        back.padding[d] = s.dilation[d] * (s.kernel[d] - 1) - s.padding[d];
        reach = reach && s.stride[d] == 1 && back.padding[d] >= 0;
    }
    if (reach) { // it is the convolution of the output's gradient with the flipped kernel
        std::swap(back.in_space, back.out_space);
        Scratch<T> turned(s.groups * s.taps);
        for (int64_t c = 0; c < s.groups; ++c) std::reverse_copy(weight + c * s.taps, weight + (c + 1) * s.taps, turned.data + c * s.taps);
        return run_depthwise<T>(back, grad_output, turned.data, nullptr, grad_input);
    }
    // Otherwise each tap is added to the positions that it reads, in a copy, which is then added back.
    const int64_t sy = s.stride[1], sx = s.stride[2], item = sizeof(T);
    const PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    parallel_for(0, s.batch * s.groups, grain_of(s.out_space * s.taps), [&](int64_t begin, int64_t end) {
        Padded<T> padded(s);
        for (int64_t image = begin; image < end; ++image) {
            hear_signals();
            if (image > begin) padded.clear();
            for (int64_t o = 0; o < s.out_channels; ++o)
                depthwise_steps<T>().scatter(padded.plane, grad_output + (image * s.out_channels + o) * s.out_space,
                                             weight + (image % s.groups * s.out_channels + o) * s.taps, padded.values.data);
            T* to = grad_input + image * s.in_space;
            clear(to, s.in_space);
            for_phases(s, padded.layout, 0, [&](int64_t at, int64_t first, int64_t last, int64_t left, int64_t right, int64_t place) {
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
