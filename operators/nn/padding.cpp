// operators/nn/padding.cpp: padding by reflection, repetition and wrapping, sliding blocks, fractional pooling, and the
// connectionist temporal classification loss.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/dtype_switch.h"
#include "kernels/library/images/padding.h"
#include "operators/declare.h"

namespace kindling {
namespace {

// ---- padding

enum class Fill : uint8_t { Reflect, Replicate, Circular };

/// The last one to three dimensions of an input and its padding; the others are planes.
struct Padding {
    Fill fill;
    int64_t planes = 1, in[3] = {1, 1, 1}, to[3] = {1, 1, 1}, before[3] = {}, after[3] = {};
};

/// Where each place of a padded dimension reads; returns the end of what it wrote.
int64_t* write_sources(const Padding& p, int dim, int64_t* result) {
    const int64_t size = p.in[dim], before = p.before[dim], after = p.after[dim];
    for (int64_t i = 0; i < p.to[dim]; i++) {
        int64_t at = i - before;
        switch (p.fill) {
        case Fill::Reflect: at = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at; break;
        case Fill::Replicate: at = at < 0 ? 0 : at >= size ? size - 1 : at; break;
        case Fill::Circular: { // what a negative padding cuts off does not come in at the other side
            int64_t first = std::max<int64_t>(-before, 0), left = size - first - std::max<int64_t>(-after, 0);
            at = i - std::max<int64_t>(before, 0);
            at = first + (at < 0 ? at + left : at >= left ? at - left : at);
            break;
        }
        }
        *result++ = at;
    }
    return result;
}

/// `out` becomes the padded sizes. Asks for the workspace that pads_of fills.
Padding padding_of(KernelCall& call, Fill fill, IntList sizes, IntList pad, int dims, Sizes& out) {
    int64_t rank = static_cast<int64_t>(sizes.size());
    KINDLING_CHECK(Runtime, dims >= 1 && dims <= 3 && pad.size() == 2 * static_cast<size_t>(dims),
                   "padding size is expected to be %d, but got: %zu", 2 * dims, pad.size());
    bool fits = fill == Fill::Circular ? rank > dims : rank == dims + 1 || rank == dims + 2;
    for (int64_t d = rank == dims + 2 ? 1 : 0; fits && d < rank; d++) fits = sizes[static_cast<size_t>(d)] > 0 || fill == Fill::Circular;
    KINDLING_CHECK(
        Runtime, fits,
        "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s", dims + 1,
        dims + 2, str(sizes).c_str());
    Padding p{fill};
    out = sizes;
    for (int64_t d = 0; d < rank - dims; d++) p.planes *= sizes[static_cast<size_t>(d)];
    bool some = fill == Fill::Circular;
    for (int i = 0; i < dims; i++) {
        size_t d = static_cast<size_t>(rank - dims + i);
        int64_t size = sizes[d], before = pad[static_cast<size_t>(2 * (dims - 1 - i))],
                after = pad[static_cast<size_t>(2 * (dims - 1 - i) + 1)];
        for (int64_t each : {before, after})
            KINDLING_CHECK(Runtime, each > -(int64_t{1} << 40) && each < int64_t{1} << 40, "a padding of %ld is out of range", each);
        if (fill == Fill::Reflect)
            KINDLING_CHECK(Runtime, before < size && after < size,
                           "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (%ld, %ld) "
                           "at dimension %zu of input %s",
                           before, after, d, str(sizes).c_str());
        if (fill == Fill::Circular) {
            KINDLING_CHECK(Runtime, before <= size && after <= size, "Padding value causes wrapping around more than once.");
            int64_t left = size - std::max<int64_t>(-before, 0) - std::max<int64_t>(-after, 0);
            KINDLING_CHECK(Runtime, size + before + after >= 0 && before <= left && after <= left,
                           "Negative padding value is resulting in an empty dimension");
        } else {
            const char* side = i == dims - 1 ? "W" : i == dims - 2 ? "H" : "D";
            KINDLING_CHECK(Runtime, size + before + after >= (dims == 1), "input (%s: %ld) is too small. Calculated output %s: %ld", side,
                           size, side, size + before + after);
            some |= size + before + after >= 1;
        }
        int at = 3 - dims + i;
        p.in[at] = size;
        p.before[at] = before;
        p.after[at] = after;
        p.to[at] = out[d] = size + before + after;
    }
    KINDLING_CHECK(Runtime, some, "input of size %s is too small. Calculated output size: %s", str(sizes).c_str(),
                   str(out).c_str()); // of several one may be 0
    call.needs_workspace((p.to[0] + p.to[1] + p.to[2]) * static_cast<int64_t>(sizeof(int64_t)));
    return p;
}

library::Pads pads_of(const Padding& p, Workspace room) {
    library::Pads pads{p.planes, {p.in[0], p.in[1], p.in[2]}, {p.to[0], p.to[1], p.to[2]}, {}};
    int64_t* next = room.as<int64_t>();
    for (int i = 0; i < 3; i++) {
        pads.from[i] = next;
        next = write_sources(p, i, next);
    }
    return pads;
}

/// Calls f with a zero of the dtype sums of `dtype` are made in.
template <class F> void by_sum(DType dtype, F f) {
    switch (dtype) {
    case DType::Float64: return f(double{});
    case DType::Complex64: return f(std::complex<float>{});
    case DType::Complex128: return f(std::complex<double>{});
    default: return f(float{});
    }
}
void check_summable(DType dtype, const char* name) {
    KINDLING_CHECK(NotImplemented, is_floating(dtype) || is_complex(dtype), "\"%s\" not implemented for '%s'", name,
                   scalar_type_name(dtype));
}

Padding padded(KernelCall& call, Fill fill, const Tensor& self, IntList pad, int dims) {
    Sizes out;
    Padding p = padding_of(call, fill, self.sizes(), pad, dims, out);
    call.reads(self);
    KernelCall::Result& result = call.gives(out, self.dtype());
    if (fill != Fill::Circular) result.like(self); // circular padding is slices put side by side
    return p;
}
constexpr auto pad_planes = [](const Padding& p, const Array& self, const Array& result, Workspace room) {
    library::pad(pads_of(p, room), static_cast<int>(self.element_size()), self.data(), result.data());
};

Padding pad_gradient(KernelCall& call, Fill fill, const Tensor& grad, const Tensor& shape, IntList pad) {
    IntList sizes = shape.sizes();
    KINDLING_CHECK(Runtime, fill == Fill::Reflect || fill == Fill::Replicate || fill == Fill::Circular,
                   "_pad_backward: there is no fill %d", static_cast<int>(fill));
    Sizes out;
    Padding p = padding_of(call, fill, sizes, pad, static_cast<int>(std::min<size_t>(pad.size() / 2, 4)), out);
    KINDLING_CHECK(Runtime, grad.sizes() == IntList(out), "_pad_backward: expected a gradient of shape %s, got %s", str(out).c_str(),
                   str(grad.sizes()).c_str());
    check_summable(grad.dtype(), "pad_backward");
    call.reads(grad, value_type(grad.dtype()));
    KernelCall::Result& result = call.gives(sizes, grad.dtype()).computed_in(value_type(grad.dtype())).zeroed();
    if (fill != Fill::Circular) result.like(shape);
    return p;
}

Tensor padded_by_mode(const Tensor& self, IntList pad, Text mode, std::optional<double> value) {
    KINDLING_CHECK(NotImplemented, mode == "constant" || mode == "reflect" || mode == "replicate" || mode == "circular",
                   "Unrecognised padding mode %s", std::string(mode).c_str());
    KINDLING_CHECK(Runtime, pad.size() % 2 == 0, "Padding length must be divisible by 2");
    KINDLING_CHECK(Runtime, static_cast<int64_t>(pad.size()) <= 2 * self.dim(),
                   "Padding length should be less than or equal to two times the input dimension but got padding length %zu and input of "
                   "dimension %ld",
                   pad.size(), self.dim());
    if (mode == "constant") return constant_pad_nd(self, pad, Scalar(value.value_or(0)));
    std::string name(mode);
    KINDLING_CHECK(Runtime, !value || *value == 0, "Padding mode \"%s\" doesn't take in value argument", name.c_str());
    int64_t dims = static_cast<int64_t>(pad.size() / 2);
    KINDLING_CHECK(NotImplemented, dims >= 1 && dims <= 3 && (self.dim() == dims + 1 || self.dim() == dims + 2),
                   "Padding size %zu is not supported for %ldD input tensor.\nSupported combinations for non-constant padding:\n  - 2D or "
                   "3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - "
                   "4D or 5D input: padding size = 6 (pads last 3 dimensions)",
                   pad.size(), self.dim());
    if (mode == "circular") return _pad_circular(self, pad);
    if (mode == "reflect")
        return dims == 1 ? reflection_pad1d(self, pad) : dims == 2 ? reflection_pad2d(self, pad) : reflection_pad3d(self, pad);
    return dims == 1 ? replication_pad1d(self, pad) : dims == 2 ? replication_pad2d(self, pad) : replication_pad3d(self, pad);
}

// ---- sliding blocks

struct Blocks {
    int64_t batch, channels, in[2], kernel[2], dilation[2], padding[2], stride[2], count[2];
};

Blocks blocks_of(IntList image, IntList kernel, IntList dilation, IntList padding, IntList stride) {
    Blocks b{};
    size_t rank = image.size();
    const std::pair<const char*, IntList> pairs[] = {
        {"kernel_size", kernel}, {"dilation", dilation}, {"padding", padding}, {"stride", stride}};
    for (auto [name, list] : pairs) {
        KINDLING_CHECK(Runtime, list.size() == 2, "It is expected %s equals to 2, but got size %zu", name, list.size());
        for (int64_t each : list) KINDLING_CHECK(Runtime, each < int64_t{1} << 31, "im2col and col2im: %ld is out of range", each);
    }
    b.batch = rank == 4 ? image[0] : 1;
    b.channels = image[rank - 3];
    for (size_t i = 0; i < 2; i++) {
        b.in[i] = image[rank - 2 + i];
        b.kernel[i] = kernel[i];
        b.dilation[i] = dilation[i];
        b.padding[i] = padding[i];
        b.stride[i] = stride[i];
    }
    KINDLING_CHECK(Runtime, b.kernel[0] > 0 && b.kernel[1] > 0,
                   "kernel size should be greater than zero, but got kernel_height: %ld kernel_width: %ld", b.kernel[0], b.kernel[1]);
    KINDLING_CHECK(Runtime, b.dilation[0] > 0 && b.dilation[1] > 0,
                   "dilation should be greater than zero, but got dilation_height: %ld dilation_width: %ld", b.dilation[0], b.dilation[1]);
    KINDLING_CHECK(Runtime, b.padding[0] >= 0 && b.padding[1] >= 0,
                   "padding should be non-negative, but got pad_height: %ld pad_width: %ld", b.padding[0], b.padding[1]);
    KINDLING_CHECK(Runtime, b.stride[0] > 0 && b.stride[1] > 0,
                   "stride should be greater than zero, but got stride_height: %ld stride_width: %ld", b.stride[0], b.stride[1]);
    for (int i = 0; i < 2; i++) {
        int64_t room = b.in[i] + 2 * b.padding[i] - b.dilation[i] * (b.kernel[i] - 1) - 1;
        b.count[i] = room < 0 ? -((-room + b.stride[i] - 1) / b.stride[i]) + 1 : room / b.stride[i] + 1;
    }
    return b;
}

/// Calls f(place in the image, place in the columns, how many to go, step in the image) for runs along a row.
template <class F> void each_run(const Blocks& b, F f) {
    int64_t column = 0;
    for (int64_t plane = 0; plane < b.batch * b.channels; plane++)
        for (int64_t kh = 0; kh < b.kernel[0]; kh++)
            for (int64_t kw = 0; kw < b.kernel[1]; kw++)
                for (int64_t oh = 0; oh < b.count[0]; oh++, column += b.count[1]) {
                    int64_t h = oh * b.stride[0] - b.padding[0] + kh * b.dilation[0], w = kw * b.dilation[1] - b.padding[1];
                    if (h < 0 || h >= b.in[0]) continue;
                    int64_t first = w >= 0 ? 0 : (-w + b.stride[1] - 1) / b.stride[1];
                    int64_t last = w >= b.in[1] ? 0 : std::min(b.count[1], (b.in[1] - 1 - w) / b.stride[1] + 1);
                    if (first < last)
                        f((plane * b.in[0] + h) * b.in[1] + w + first * b.stride[1], column + first, last - first, b.stride[1]);
                }
}

// ---- fractional pooling

/// Where the windows begin (Graham, 2014), as torch rounds it.
template <class T> std::vector<int64_t> window_starts(T sample, int64_t in, int64_t out, int64_t kernel) {
    std::vector<int64_t> result(static_cast<size_t>(out));
    if (out > 1) {
        T alpha = static_cast<T>(in - kernel) / static_cast<T>(out - 1);
        for (int64_t i = 0; i < out - 1; i++)
            result[static_cast<size_t>(i)] =
                static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) - static_cast<int64_t>(sample * alpha);
    }
    if (out > 0) result[static_cast<size_t>(out - 1)] = in - kernel;
    return result;
}

struct Fractional {
    int dims;
    int64_t planes = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
};

template <class T> void fractional_loops(const Fractional& f, const T* x, const T* samples, T* y, int64_t* places) {
    const auto& [dims, planes, in, out, kernel] = f;
    for (int64_t plane = 0; plane < planes; plane++, x += in[0] * in[1] * in[2]) {
        std::vector<int64_t> starts[3];
        for (int i = 0; i < 3; i++) {
            // The samples are (width, height), or (depth, height, width).
            int which = dims == 2 ? 2 - i : i;
            starts[i] = i < 3 - dims ? std::vector<int64_t>{0} : window_starts(samples[plane * dims + which], in[i], out[i], kernel[i]);
        }
        for (int64_t d0 : starts[0])
            for (int64_t h0 : starts[1])
                for (int64_t w0 : starts[2]) {
                    int64_t best = (d0 * in[1] + h0) * in[2] + w0;
                    T top = -std::numeric_limits<T>::infinity();
                    for (int64_t d = d0; d < d0 + kernel[0]; d++)
                        for (int64_t h = h0; h < h0 + kernel[1]; h++)
                            for (int64_t w = w0; w < w0 + kernel[2]; w++) {
                                int64_t at = (d * in[1] + h) * in[2] + w;
                                if (x[at] > top || x[at] != x[at]) {
                                    top = x[at];
                                    best = at;
                                }
                            }
                    *y++ = top;
                    *places++ = best;
                }
    }
}

Fractional fractional(KernelCall& call, const Tensor& self, IntList kernel_size, IntList output_size, const Tensor& samples, int dims,
                      const char* name) {
    KINDLING_CHECK(Runtime, self.dim() == dims + 1 || self.dim() == dims + 2, "%s(): Expected %dD or %dD tensor, but got: %s", name,
                   dims + 1, dims + 2, str(self.sizes()).c_str());
    const char* three = dims == 3 ? "three " : "";
    KINDLING_CHECK(Runtime, static_cast<int>(kernel_size.size()) == dims, "%s: kernel_size must either be a single Int or tuple of %sInts",
                   name, three);
    KINDLING_CHECK(Runtime, static_cast<int>(output_size.size()) == dims, "%s: output_size must either be a single Int or tuple of %sInts",
                   name, three);
    KINDLING_CHECK(Runtime, samples.dtype() == self.dtype(), "Expect _random_samples to have the same dtype as input");
    KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"%s\" not implemented for '%s'", name, scalar_type_name(self.dtype()));
    Fractional f{dims};
    int64_t batch = self.dim() == dims + 2 ? self.size(0) : 1, channels = self.size(-dims - 1);
    KINDLING_CHECK(Runtime,
                   samples.dim() == 3 && (samples.size(0) == batch || (self.dim() == dims + 1 && samples.size(0) > 1)) &&
                       samples.size(1) == channels && samples.size(2) == dims,
                   "Expect _random_samples to have shape [%ld, %ld, %d], got %s", batch, channels, dims, str(samples.sizes()).c_str());
    Sizes sizes;
    for (int64_t d = 0; d < self.dim() - dims; d++) {
        f.planes *= self.size(d);
        sizes.push_back(self.size(d));
    }
    for (int64_t d = self.dim() == dims + 2 ? 1 : 0; d < self.dim(); d++)
        KINDLING_CHECK(Runtime, self.size(d) > 0,
                       "%s(): Expected input to have non-zero size for non-batch dimensions, but got %s with dimension %ld being empty.",
                       name, str(self.sizes()).c_str(), d);
    for (int i = 0; i < dims; i++) {
        const int at = 3 - dims + i;
        const int64_t in = f.in[at] = self.size(self.dim() - dims + i), out = f.out[at] = output_size[static_cast<size_t>(i)],
                      kernel = f.kernel[at] = kernel_size[static_cast<size_t>(i)];
        KINDLING_CHECK(Runtime, kernel > 0 && out >= 0, "%s: kernel_size must be greater than zero and output_size must not be negative",
                       name);
        static constexpr const char* lengths[] = {"time", "height", "width"};
        KINDLING_CHECK(Runtime, out <= in - kernel + 1, "%s(): pool %s %ld too large relative to input %s %ld", name, lengths[at], kernel,
                       lengths[at], in);
        sizes.push_back(out);
    }
    const DType inside = self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
    call.reads(self, inside);
    call.reads(samples, inside);
    call.gives(sizes, self.dtype()).computed_in(inside);
    call.gives(sizes, DType::Int64);
    return f;
}
constexpr auto fractional_maxima = [](const Fractional& f, const Array& self, const Array& samples, const Array& values,
                                      const Array& places) {
    if (self.dtype() == DType::Float64)
        fractional_loops(f, self.data_ptr<double>(), samples.data_ptr<double>(), values.data_ptr<double>(), places.data_ptr<int64_t>());
    else fractional_loops(f, self.data_ptr<float>(), samples.data_ptr<float>(), values.data_ptr<float>(), places.data_ptr<int64_t>());
};

// ---- connectionist temporal classification (Graves et al., 2006)

template <class T> struct Logs {
    static constexpr T none = -std::numeric_limits<T>::infinity();
    static T add(T a, T b) {
        T top = a > b ? a : b;
        return top == none ? none : std::log(std::exp(a - top) + std::exp(b - top)) + top;
    }
    static T add(T a, T b, T c) {
        T top = a > b ? a : b;
        top = top > c ? top : c;
        return top == none ? none : std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top)) + top;
    }
};

struct Alignment {
    int64_t steps, batch, classes, longest, blank, width; // width: 2 * longest + 1
    std::vector<int64_t> inputs, lengths, starts;         // by sequence; its labels begin at starts in `targets`
    bool zero_infinity = false;
    const int64_t* targets = nullptr; // those of the call, while it computes
    /// Label s of the sequence with blanks between and around its labels.
    int64_t label(int64_t b, int64_t s) const { return s % 2 == 0 ? blank : targets[starts[static_cast<size_t>(b)] + s / 2]; }
};

Alignment alignment(IntList probs, const Tensor& targets, IntList input_lengths, IntList target_lengths, int64_t blank) {
    Alignment a{probs[0], probs[1], probs[2], 0, blank, 0, input_lengths.vec(), target_lengths.vec(), {}};
    KINDLING_CHECK(Runtime, blank >= 0 && blank < a.classes, "blank must be in label range");
    KINDLING_CHECK(Runtime, static_cast<int64_t>(a.inputs.size()) == a.batch, "input_lengths must be of size batch_size");
    KINDLING_CHECK(Runtime, static_cast<int64_t>(a.lengths.size()) == a.batch, "target_lengths must be of size batch_size");
    KINDLING_CHECK(Runtime, targets.dim() == 1 || targets.dim() == 2, "Expected targets of 1 or 2 dimensions, got %ld", targets.dim());
    int64_t at = 0;
    for (size_t b = 0; b < a.lengths.size(); b++) {
        int64_t length = a.lengths[b];
        KINDLING_CHECK(Runtime, length >= 0,
                       "Expected target_lengths to have value at least 0, but got value %ld (while checking arguments for ctc_loss_cpu)",
                       length);
        KINDLING_CHECK(Runtime, a.inputs[b] >= 0 && a.inputs[b] <= a.steps,
                       "Expected input_lengths to have value at most %ld, but got value %ld (while checking arguments for ctc_loss_cpu)",
                       a.steps, a.inputs[b]);
        a.starts.push_back(targets.dim() == 1 ? at : static_cast<int64_t>(b) * targets.size(1));
        at += length;
        a.longest = std::max(a.longest, length);
    }
    if (targets.dim() == 1)
        KINDLING_CHECK(Runtime, at == targets.numel(),
                       "Expected tensor to have size %ld at dimension 0, but got size %ld for argument #2 'targets' (while checking "
                       "arguments for ctc_loss_cpu)",
                       at, targets.numel());
    else
        KINDLING_CHECK(Runtime, targets.size(0) == a.batch && targets.size(1) >= a.longest,
                       "Expected tensor to have size at least %ld at dimension 1, but got size %ld for argument #2 'targets' (while "
                       "checking arguments for ctc_loss_cpu)",
                       a.longest, targets.size(1));
    a.width = 2 * a.longest + 1;
    return a;
}
Alignment alignment(KernelCall& call, const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
                    int64_t blank) {
    KINDLING_CHECK(Runtime, log_probs.dim() == 3 && log_probs.numel() > 0, "log_probs tensor must not be empty");
    KINDLING_CHECK(NotImplemented, log_probs.dtype() == DType::Float32 || log_probs.dtype() == DType::Float64,
                   "\"ctc_loss_cpu\" not implemented for '%s'", scalar_type_name(log_probs.dtype()));
    Alignment a = alignment(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
    call.reads(log_probs);
    call.reads(targets, DType::Int64);
    return a;
}

Alignment with_labels(const Alignment& rule, const int64_t* targets) {
    Alignment a = rule;
    a.targets = targets;
    for (int64_t b = 0; b < a.batch; b++)
        for (int64_t s = 0; s < a.lengths[static_cast<size_t>(b)]; s++) {
            int64_t label = a.label(b, 2 * s + 1);
            KINDLING_CHECK(Index, label >= 0 && label < a.classes, "ctc_loss: target %ld is out of range for %ld classes", label,
                           a.classes);
        }
    return a;
}

template <class T> void ctc_forward(const Alignment& a, const T* probs, T* loss, T* alphas) {
    for (int64_t b = 0; b < a.batch; b++) {
        size_t i = static_cast<size_t>(b);
        int64_t states = 2 * a.lengths[i] + 1, steps = a.inputs[i];
        T* alpha = alphas + b * a.steps * a.width;
        for (int64_t k = 0; k < a.steps * a.width; k++) alpha[k] = Logs<T>::none;
        auto prob = [&](int64_t t, int64_t s) { return probs[(t * a.batch + b) * a.classes + a.label(b, s)]; };
        if (steps == 0) {
            loss[b] = a.lengths[i] == 0 ? T(0) : std::numeric_limits<T>::infinity();
            continue;
        }
        alpha[0] = prob(0, 0);
        if (states > 1) alpha[1] = prob(0, 1);
        for (int64_t t = 1; t < steps; t++)
            for (int64_t s = 0; s < states; s++) {
                const T* before = alpha + (t - 1) * a.width;
                bool skips = s > 1 && a.label(b, s) != a.label(b, s - 2);
                alpha[t * a.width + s] =
                    Logs<T>::add(before[s], s > 0 ? before[s - 1] : Logs<T>::none, skips ? before[s - 2] : Logs<T>::none) + prob(t, s);
            }
        const T* last = alpha + (steps - 1) * a.width;
        loss[b] = -(states > 1 ? Logs<T>::add(last[states - 1], last[states - 2]) : last[states - 1]);
    }
}

/// The gradient is that of the softmax before the logarithm's normalisation, as torch gives it.
template <class T>
void ctc_backward(const Alignment& a, const T* probs, const T* grads, const T* loss, const T* alphas, T* beta, T* result) {
    T* sums = beta + a.steps * a.width;
    for (int64_t b = 0; b < a.batch; b++) {
        size_t i = static_cast<size_t>(b);
        int64_t states = 2 * a.lengths[i] + 1, steps = a.inputs[i];
        auto row = [&](int64_t t) { return (t * a.batch + b) * a.classes; };
        for (int64_t t = 0; t < a.steps; t++)
            for (int64_t c = 0; c < a.classes; c++) result[row(t) + c] = 0;
        if ((a.zero_infinity && loss[b] == std::numeric_limits<T>::infinity()) || steps == 0) continue;
        const T* alpha = alphas + b * a.steps * a.width;
        std::fill(beta, sums, Logs<T>::none);
        auto prob = [&](int64_t t, int64_t s) { return probs[row(t) + a.label(b, s)]; };
        beta[(steps - 1) * a.width + states - 1] = prob(steps - 1, states - 1);
        if (states > 1) beta[(steps - 1) * a.width + states - 2] = prob(steps - 1, states - 2);
        for (int64_t t = steps - 2; t >= 0; t--)
            for (int64_t s = 0; s < states; s++) {
                const T* after = beta + (t + 1) * a.width;
                bool skips = s + 2 < states && a.label(b, s) != a.label(b, s + 2);
                beta[t * a.width + s] =
                    Logs<T>::add(after[s], s + 1 < states ? after[s + 1] : Logs<T>::none, skips ? after[s + 2] : Logs<T>::none) +
                    prob(t, s);
            }
        for (int64_t t = 0; t < steps; t++) {
            std::fill(sums, sums + a.classes, Logs<T>::none);
            for (int64_t s = 0; s < states; s++) {
                T& sum = sums[a.label(b, s)];
                sum = Logs<T>::add(sum, alpha[t * a.width + s] + beta[t * a.width + s]);
            }
            for (int64_t c = 0; c < a.classes; c++) {
                T p = probs[row(t) + c];
                result[row(t) + c] = (std::exp(p) - std::exp(sums[c] + loss[b] - p)) * grads[b];
            }
        }
    }
}

std::vector<int64_t> integers(const Tensor& list) {
    KINDLING_CHECK(Runtime, !is_floating(list.dtype()) && !list.is_complex(), "input_lengths and target_lengths must be integral");
    Tensor dense = contiguous(to(list, DType::Int64));
    std::vector<int64_t> result(static_cast<size_t>(dense.numel()));
    KINDLING_CHECK(NotImplemented, !list.is_meta(), "Cannot read lengths from a meta tensor; no data!");
    for (size_t i = 0; i < result.size(); i++) result[i] = dense.data_ptr<int64_t>()[i];
    return result;
}

Tensor ctc(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths, int64_t blank, int64_t reduction,
           bool zero_infinity) {
    bool batched = log_probs.dim() == 3;
    Tensor loss =
        std::get<0>(_ctc_loss(batched ? log_probs : unsqueeze(log_probs, 1), targets, input_lengths, target_lengths, blank, zero_infinity));
    if (zero_infinity) loss = where(eq(loss, Scalar(std::numeric_limits<double>::infinity())), wrap_number(Scalar(0)), loss);
    if (reduction == 1) {
        Tensor lengths = make_tensor({static_cast<int64_t>(target_lengths.size())}, DType::Int64, loss.device());
        for (size_t i = 0; i < target_lengths.size() && !lengths.is_meta(); i++)
            lengths.data_ptr<int64_t>()[i] = std::max<int64_t>(target_lengths[i], 1);
        return mean(div(loss, to(lengths, loss.dtype())));
    }
    if (reduction == 2) return sum(loss);
    return batched ? loss : squeeze(loss, 0);
}

} // namespace
} // namespace kindling

OPERATORS(padding) {
    declare("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor")({
        doc("Padding of the last dimensions, last first: constant, reflect, replicate or circular"),
        in(space::Nn),
        no_out(),
        composition(
            [](const Tensor& self, IntList pad, Text mode, std::optional<double> value) { return padded_by_mode(self, pad, mode, value); }),
        refuses("torch.nn.functional.pad(torch.ones(2, 3), (1, 1), mode='mirror')", "NotImplementedError: Unrecognised padding mode"),
    });
    declare("reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor")({
        doc("Padding mirrored at the edges, of the last dimension"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self, IntList padding) { return padded(call, Fill::Reflect, self, padding, 1); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList padding) { return _pad_backward(grad, self_shape, padding, static_cast<int64_t>(Fill::Reflect)); }),
    });
    declare("reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor")({
        doc("Padding mirrored at the edges, of the last two dimensions"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self, IntList padding) { return padded(call, Fill::Reflect, self, padding, 2); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList padding) { return _pad_backward(grad, self_shape, padding, static_cast<int64_t>(Fill::Reflect)); }),
    });
    declare("reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor")({
        doc("Padding mirrored at the edges, of the last three dimensions"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self, IntList padding) { return padded(call, Fill::Reflect, self, padding, 3); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList padding) { return _pad_backward(grad, self_shape, padding, static_cast<int64_t>(Fill::Reflect)); }),
    });
    declare("replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor")({
        doc("Padding with the edges' elements, of the last dimension"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self, IntList padding) { return padded(call, Fill::Replicate, self, padding, 1); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList padding) { return _pad_backward(grad, self_shape, padding, static_cast<int64_t>(Fill::Replicate)); }),
    });
    declare("replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor")({
        doc("Padding with the edges' elements, of the last two dimensions"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self, IntList padding) { return padded(call, Fill::Replicate, self, padding, 2); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList padding) { return _pad_backward(grad, self_shape, padding, static_cast<int64_t>(Fill::Replicate)); }),
    });
    declare("replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor")({
        doc("Padding with the edges' elements, of the last three dimensions"),
        linear(),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self, IntList padding) { return padded(call, Fill::Replicate, self, padding, 3); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList padding) { return _pad_backward(grad, self_shape, padding, static_cast<int64_t>(Fill::Replicate)); }),
    });
    declare("_pad_circular(Tensor self, SymInt[] pad) -> Tensor")({
        doc("Each side padded with what is at the other"),
        linear(),
        in(space::Nn),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self,
                  IntList pad) { return padded(call, Fill::Circular, self, pad, static_cast<int>(pad.size() / 2)); },
               pad_planes),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape,
                          IntList pad) { return _pad_backward(grad, self_shape, pad, static_cast<int64_t>(Fill::Circular)); }),
    });
    declare("_pad_backward(Tensor grad_output, Tensor shape, SymInt[] padding, int fill) -> Tensor")({
        doc("Gradients of padded places added up where they were read; `shape` has the input's sizes and format"),
        linear(),
        in(space::Hidden),
        no_out(),
        kernel([](KernelCall& call, const Tensor& grad_output, const Tensor& shape, IntList padding,
                  int64_t fill) { return pad_gradient(call, static_cast<Fill>(fill), grad_output, shape, padding); },
               [](const Padding& p, const Array& grad, const Array& result, Workspace room) {
                   library::add_padded(pads_of(p, room), grad.dtype(), grad.data(), result.data());
               }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, IntList padding, int64_t fill) {
                size_t dims = padding.size() / 2;
                if (static_cast<Fill>(fill) == Fill::Circular) return _pad_circular(grad, padding);
                if (static_cast<Fill>(fill) == Fill::Reflect)
                    return dims == 1   ? reflection_pad1d(grad, padding)
                           : dims == 2 ? reflection_pad2d(grad, padding)
                                       : reflection_pad3d(grad, padding);
                return dims == 1   ? replication_pad1d(grad, padding)
                       : dims == 2 ? replication_pad2d(grad, padding)
                                   : replication_pad3d(grad, padding);
            }),
    });
    declare("pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side=\"right\") -> Tensor")({
        doc("Sequences of several lengths in one tensor, padded to the longest"),
        in(space::Nn),
        no_out(),
        composition([](TensorList sequences, bool batch_first, double padding_value, Text padding_side) {
            KINDLING_CHECK(Runtime, !sequences.empty(), "received an empty list of sequences");
            KINDLING_CHECK(Runtime, padding_side == "left" || padding_side == "right",
                           "Expected padding_side to be one of left or right, but got %s.", std::string(padding_side).c_str());
            int64_t longest = 0;
            const Tensor& first = sequences[0];
            check_fits(Scalar(padding_value), first.dtype());
            for (const Tensor& each : sequences) longest = std::max(longest, each.size(0));
            std::vector<Tensor> rows;
            for (const Tensor& each : sequences) {
                Sizes pad(static_cast<size_t>(2 * first.dim())), row{each.size(0)};
                for (int64_t d = 1; d < first.dim(); d++) row.push_back(first.size(d));
                pad[pad.size() - (padding_side == "left" ? 2 : 1)] = longest - each.size(0);
                // As if written to a result like the first.
                Tensor fitted = each.sizes() == IntList(row) ? each : expand(each, row);
                fitted = to(fitted, first.dtype());
                rows.push_back(longest == each.size(0) ? fitted : constant_pad_nd(fitted, pad, Scalar(padding_value)));
            }
            return contiguous(stack(rows, batch_first ? 0 : 1));
        }),
    });
    declare("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")({
        doc("The sliding blocks of an image, each a column"),
        linear(),
        takes(kind::Bool | kind::Floats | kind::Complex),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
                KINDLING_CHECK(
                    Runtime, (self.dim() == 3 || self.dim() == 4) && self.size(-1) && self.size(-2) && self.size(-3),
                    "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s",
                    str(self.sizes()).c_str());
                Blocks b = blocks_of(self.sizes(), kernel_size, dilation, padding, stride);
                KINDLING_CHECK(Runtime, b.count[0] >= 1 && b.count[1] >= 1,
                               "Given input with spatial size (%ld, %ld), kernel_size=(%ld, %ld), dilation=(%ld, %ld), padding=(%ld, %ld), "
                               "calculated shape of the array of sliding blocks as (%ld, %ld), but its components must be at least one.",
                               b.in[0], b.in[1], b.kernel[0], b.kernel[1], b.dilation[0], b.dilation[1], b.padding[0], b.padding[1],
                               b.count[0], b.count[1]);
                Sizes sizes{b.batch, b.channels * b.kernel[0] * b.kernel[1], b.count[0] * b.count[1]};
                if (self.dim() == 3) sizes.erase(0);
                call.reads(self);
                call.gives(sizes, self.dtype()).zeroed();
                return b;
            },
            [](const Blocks& b, const Array& self, const Array& result) {
                library::by_size(self.element_size(), [&](auto zero) {
                    auto* from = self.data_ptr<decltype(zero)>();
                    auto* to = result.data_ptr<decltype(zero)>();
                    each_run(b, [&](int64_t i, int64_t o, int64_t count, int64_t step) {
                        for (int64_t k = 0; k < count; k++) to[o + k] = from[i + k * step];
                    });
                });
            }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
                return col2im(grad, IntList(self_sizes.data() + self_sizes.size() - 2, 2), kernel_size, dilation, padding, stride);
            }),
    });
    declare("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")({
        doc("Columns of sliding blocks added up into an image"),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
               IntList stride) {
                KINDLING_CHECK(Runtime, output_size.size() == 2 && kernel_size.size() == 2,
                               "It is expected output_size and kernel_size equal to 2, but got sizes %zu and %zu", output_size.size(),
                               kernel_size.size());
                KINDLING_CHECK(Runtime, (self.dim() == 2 && self.numel()) || (self.dim() == 3 && self.size(1) && self.size(2)),
                               "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
                               "input, but got: %s",
                               str(self.sizes()).c_str());
                int64_t area = kernel_size[0] * kernel_size[1], rows = self.size(-2);
                KINDLING_CHECK(Runtime, area > 0 && rows % area == 0,
                               "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                               "input.size(1)=%ld and kernel_size=(%ld, %ld).",
                               rows, kernel_size[0], kernel_size[1]);
                int64_t batch = self.dim() == 3 ? self.size(0) : 1;
                Sizes sizes{batch, rows / area, output_size[0], output_size[1]};
                Blocks b = blocks_of(sizes, kernel_size, dilation, padding, stride);
                KINDLING_CHECK(Runtime, b.count[0] >= 1 && b.count[1] >= 1 && self.size(-1) == b.count[0] * b.count[1],
                               "Given output_size=(%ld, %ld), kernel_size=(%ld, %ld), dilation=(%ld, %ld), padding=(%ld, %ld), "
                               "stride=(%ld, %ld), expected size of input's dimension 2 to match the calculated number of sliding blocks "
                               "%ld * %ld = %ld, but got input.size(2)=%ld.",
                               b.in[0], b.in[1], b.kernel[0], b.kernel[1], b.dilation[0], b.dilation[1], b.padding[0], b.padding[1],
                               b.stride[0], b.stride[1], b.count[0], b.count[1], b.count[0] * b.count[1], self.size(-1));
                const bool truth = self.dtype() == DType::Bool;
                if (!truth) check_summable(self.dtype(), "col2im_out_cpu");
                const DType inside = truth ? DType::Float32 : value_type(self.dtype());
                if (self.dim() == 2) sizes.erase(0);
                call.reads(self, inside);
                call.gives(sizes, self.dtype()).computed_in(inside).zeroed();
                return b;
            },
            [](const Blocks& b, const Array& self, const Array& result) {
                by_sum(self.dtype(), [&](auto zero) {
                    auto* from = self.data_ptr<decltype(zero)>();
                    auto* to = result.data_ptr<decltype(zero)>();
                    each_run(b, [&](int64_t i, int64_t o, int64_t count, int64_t step) {
                        for (int64_t k = 0; k < count; k++) to[i + k * step] += from[o + k];
                    });
                });
            }),
        derivative(
            "self", GIVEN(Tensor grad, IntList kernel_size, IntList dilation, IntList padding,
                          IntList stride) { return im2col(grad, kernel_size, dilation, padding, stride); }),
    });
    declare("fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)")({
        doc("Maximum pooling whose windows begin at random places (Graham, 2014)"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList output_size, const Tensor& random_samples) {
                return fractional(call, self, kernel_size, output_size, random_samples, 2, "fractional_max_pool2d");
            },
            fractional_maxima),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, Tensor result1) { return contiguous(_max_pool_backward(grad, self_shape, result1, 2)); }),
    });
    declare("fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)")({
        doc("Maximum pooling of volumes whose windows begin at random places"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList output_size, const Tensor& random_samples) {
                return fractional(call, self, kernel_size, output_size, random_samples, 3, "fractional_max_pool3d");
            },
            fractional_maxima),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, Tensor result1) { return contiguous(_max_pool_backward(grad, self_shape, result1, 3)); }),
    });
    declare("_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
            "bool zero_infinity=False) -> (Tensor, Tensor)")({
        doc("Minus the log of the probability of each target over all alignments, and the forward variables"),
        raises_by_value(GIVEN(IntList log_probs_sizes, Tensor targets, IntList input_lengths, IntList target_lengths, int64_t blank) {
            const Tensor labels = contiguous(to(targets, DType::Int64));
            with_labels(alignment(log_probs_sizes, labels, input_lengths, target_lengths, blank), labels.data_ptr<int64_t>());
        }),
        in(space::Torch),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
               int64_t blank, bool) {
                Alignment a = alignment(call, log_probs, targets, input_lengths, target_lengths, blank);
                call.gives({a.batch}, log_probs.dtype());
                call.gives({a.batch, a.steps, a.width}, log_probs.dtype());
                return a;
            },
            [](const Alignment& rule, const Array& probs, const Array& targets, const Array& loss, const Array& alpha) {
                Alignment a = with_labels(rule, targets.data_ptr<int64_t>());
                if (probs.dtype() == DType::Float64)
                    ctc_forward(a, probs.data_ptr<double>(), loss.data_ptr<double>(), alpha.data_ptr<double>());
                else ctc_forward(a, probs.data_ptr<float>(), loss.data_ptr<float>(), alpha.data_ptr<float>());
            }),
        derivative(
            "log_probs",
            GIVEN(Tensor grad, Tensor log_probs, Tensor targets, IntList input_lengths, IntList target_lengths, Tensor result0,
                  Tensor result1, int64_t blank, bool zero_infinity) {
                return _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity);
            }),
    });
    declare("_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
            "Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor")({
        doc("Gradient of _ctc_loss by the backward variables"),
        raises_by_value(GIVEN(IntList log_probs_sizes, Tensor targets, IntList input_lengths, IntList target_lengths, int64_t blank) {
            const Tensor labels = contiguous(to(targets, DType::Int64));
            with_labels(alignment(log_probs_sizes, labels, input_lengths, target_lengths, blank), labels.data_ptr<int64_t>());
        }),
        in(space::Torch),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
               IntList target_lengths, const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
                Alignment a = alignment(call, log_probs, targets, input_lengths, target_lengths, blank);
                a.zero_infinity = zero_infinity;
                for (const Tensor& each : {grad, neg_log_likelihood, log_alpha}) call.reads(each);
                call.gives(log_probs.sizes(), log_probs.dtype());
                call.needs_workspace((a.steps * a.width + a.classes) * static_cast<int64_t>(item_size(log_probs.dtype())));
                return a;
            },
            [](const Alignment& rule, const Array& probs, const Array& targets, const Array& grad, const Array& loss, const Array& alpha,
               const Array& result, Workspace room) {
                Alignment a = with_labels(rule, targets.data_ptr<int64_t>());
                auto run = [&](auto zero) {
                    using T = decltype(zero);
                    ctc_backward(a, probs.data_ptr<T>(), grad.data_ptr<T>(), loss.data_ptr<T>(), alpha.data_ptr<T>(), room.as<T>(),
                                 result.data_ptr<T>());
                };
                probs.dtype() == DType::Float64 ? run(double{}) : run(float{});
            }),
        derivative(
            "grad, log_probs",
            GIVEN(TensorList grads) {
                (void)grads;
                fail(ErrorKind::NotImplemented, "derivative for aten::_ctc_loss_backward is not implemented");
                return std::tuple<Tensor, Tensor>();
            }),
    });
    declare("ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
            "int reduction=Mean, bool zero_infinity=False) -> Tensor")({
        doc("Connectionist temporal classification loss (Graves et al., 2006)"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths, int64_t blank,
                       int64_t reduction, bool zero_infinity) {
            return ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity);
        }),
    });
    declare("ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, "
            "int reduction=Mean, bool zero_infinity=False) -> Tensor")({
        doc("Connectionist temporal classification loss, the lengths in tensors"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                       int64_t blank, int64_t reduction, bool zero_infinity) {
            std::vector<int64_t> inputs = integers(input_lengths), lengths = integers(target_lengths);
            return ctc(log_probs, targets, inputs, lengths, blank, reduction, zero_infinity);
        }),
    });
}
