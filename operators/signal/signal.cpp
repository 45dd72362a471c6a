// operators/signal/signal.cpp: windows, and Fourier transforms of short overlapping pieces of a signal.
#include <cstdlib>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/forms.h"

namespace kindling {
namespace {

constexpr double pi = 3.14159265358979323846;
Tensor number(double value) { return wrap_number(Scalar(value)); }

// ---- windows

struct Options {
    DType dtype;
    std::optional<Layout> layout;
    std::optional<Device> device;
    std::optional<bool> pin_memory;
};

/// What the windows share: sizes 0 and 1, and a periodic window as all but the end of a longer symmetric one.
template <class Shape> Tensor window(const char* name, int64_t length, bool periodic, Options options, Shape shape) {
    DType dtype = or_default(options.dtype);
    KINDLING_CHECK(Runtime, is_differentiable(dtype), "%s expects floating point dtypes, got: %s", name, scalar_type_name(dtype));
    KINDLING_CHECK(Runtime, length >= 0 && length < INT64_MAX, "%s requires non-negative window_length, got window_length=%ld", name,
                   length);
    if (length == 0) return empty({0}, dtype, options.layout, options.device, options.pin_memory);
    if (length == 1) return ones({1}, dtype, options.layout, options.device, options.pin_memory);
    KINDLING_CHECK(NotImplemented, is_floating(dtype), "\"arange_cpu\" not implemented for '%s'", scalar_type_name(dtype));
    int64_t whole = periodic ? length + 1 : length;
    Tensor result =
        shape(arange(Scalar(whole), is_half(dtype) ? DType::Float32 : dtype, options.layout, options.device, options.pin_memory), whole);
    result = to(result, dtype);
    return periodic ? clone(narrow(result, 0, 0, length)) : result;
}

Tensor hamming(const char* name, int64_t length, bool periodic, double alpha, double beta, Options options) {
    return window(name, length, periodic, options, [&](const Tensor& i, int64_t n) {
        return add(mul(cos(mul(i, number(pi * 2.0 / static_cast<double>(n - 1)))), number(-beta)), number(alpha));
    });
}
Tensor blackman(int64_t length, bool periodic, Options options) {
    return window("blackman_window", length, periodic, options, [](const Tensor& i, int64_t n) {
        Tensor x = mul(i, number(pi / static_cast<double>(n - 1)));
        return add(sub(mul(cos(mul(x, number(4))), number(0.08)), mul(cos(mul(x, number(2))), number(0.5))), number(0.42));
    });
}
Tensor bartlett(int64_t length, bool periodic, Options options) {
    return window("bartlett_window", length, periodic, options, [](const Tensor& i, int64_t n) {
        Tensor x = mul(i, number(2.0 / static_cast<double>(n - 1)));
        int64_t half = (n - 1) / 2 + 1;
        return cat(std::vector<Tensor>{narrow(x, 0, 0, half), add(neg(narrow(x, 0, half, n - half)), number(2))}, 0);
    });
}
Tensor kaiser(int64_t length, bool periodic, double beta, Options options) {
    return window("kaiser_window", length, periodic, options, [&](const Tensor& i, int64_t n) {
        Tensor x = sub(mul(i, number(2.0 / static_cast<double>(n - 1))), number(1));
        Tensor height = i0(mul(sqrt(max(rsub(mul(x, x), number(1)), zeros_like(x))), number(beta)));
        return div(height, i0(to(full({}, Scalar(beta), DType::Float64), i.dtype())));
    });
}

// ---- pieces of a signal

struct Frames {
    int64_t size, step, window;
};

/// The window in the middle of zeros, as long as a piece.
Tensor centred(const Tensor& window, Frames frames, DType dtype) {
    Tensor w = window.defined() ? window : ones({frames.window}, dtype);
    if (frames.window == frames.size) return w;
    int64_t left = (frames.size - frames.window) / 2;
    return constant_pad_nd(w, {left, frames.size - frames.window - left});
}

Tensor short_transform(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
                       const Tensor& window, bool center, Text pad_mode, bool normalized, std::optional<bool> onesided,
                       std::optional<bool> return_complex, std::optional<bool> align_to_window) {
    KINDLING_CHECK(Runtime, !(center && align_to_window), "stft align_to_window should only be set when center = false");
    Frames frames{n_fft, hop_length.value_or(n_fft >> 2), win_length.value_or(n_fft)};
    bool is_complex = self.is_complex() || (window.defined() && window.is_complex());
    KINDLING_CHECK(Runtime, return_complex || is_complex,
                   "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True "
                   "in a future PyTorch release.");
    KINDLING_CHECK(NotImplemented, !center || self.dtype() != DType::Bool || (pad_mode != "reflect" && pad_mode != "replicate"),
                   "\"%s_pad1d\" not implemented for 'Bool'", pad_mode == "reflect" ? "reflection" : "replication");
    KINDLING_CHECK(Runtime, is_differentiable(self.dtype()), "stft(%s, n_fft=%ld): expected a tensor of floating point or complex values",
                   str(self).c_str(), n_fft);
    KINDLING_CHECK(Runtime, self.dim() == 1 || self.dim() == 2, "stft(%s, n_fft=%ld): expected a 1D or 2D tensor", str(self).c_str(),
                   n_fft);
    Tensor x = self.dim() == 1 ? unsqueeze(self, 0) : self;
    if (center) x = squeeze(pad(unsqueeze(x, 0), {n_fft / 2, n_fft / 2}, pad_mode), 0);
    int64_t length = x.size(1);
    KINDLING_CHECK(Runtime, n_fft > 0 && n_fft <= length,
                   "stft(%s, n_fft=%ld, hop_length=%ld, win_length=%ld): expected 0 < n_fft < %ld, but got n_fft=%ld", str(self).c_str(),
                   n_fft, frames.step, frames.window, length, n_fft);
    KINDLING_CHECK(Runtime, frames.step > 0, "stft(%s, n_fft=%ld, hop_length=%ld): expected hop_length > 0, but got hop_length=%ld",
                   str(self).c_str(), n_fft, frames.step, frames.step);
    KINDLING_CHECK(Runtime, frames.window > 0 && frames.window <= n_fft,
                   "stft(%s, n_fft=%ld, win_length=%ld): expected 0 < win_length <= n_fft, but got win_length=%ld", str(self).c_str(),
                   n_fft, frames.window, frames.window);
    KINDLING_CHECK(Runtime, !window.defined() || (window.dim() == 1 && window.size(0) == frames.window),
                   "stft(%s, n_fft=%ld): expected a 1D window tensor of size equal to win_length=%ld, but got window with size %s",
                   str(self).c_str(), n_fft, frames.window, window.defined() ? str(window.sizes()).c_str() : "");
    bool half = onesided.value_or(!is_complex);
    KINDLING_CHECK(Runtime, !(half && is_complex), "Cannot have onesided output if window or input is complex");
    bool whole_window = window.defined() || frames.window < n_fft;
    Tensor w = whole_window ? centred(window, frames, self.dtype()) : Tensor();
    Tensor pieces = unfold(x, 1, n_fft, frames.step);
    if (w.defined()) pieces = mul(pieces, w);
    int64_t scaling = normalized ? 1 : 0;
    Tensor result = pieces.is_complex() ? _fft_c2c(pieces, {2}, scaling, true) : _fft_r2c(pieces, {2}, scaling, half);
    result = transpose(result, 1, 2);
    if (self.dim() == 1) result = squeeze(result, 0);
    return return_complex.value_or(true) ? untied(result) : view_as_real(result);
}

Tensor overlapped(const Tensor& pieces, int64_t length, Frames frames) {
    return unfold_backward(pieces, {pieces.size(0), length}, 1, frames.size, frames.step);
}

Tensor inverse_short_transform(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
                               const Tensor& window, bool center, bool normalized, std::optional<bool> onesided,
                               std::optional<int64_t> length, bool return_complex) {
    Frames frames{n_fft, hop_length.value_or(n_fft >> 2), win_length.value_or(n_fft)};
    KINDLING_CHECK(Runtime, self.is_complex(),
                   "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.");
    KINDLING_CHECK(Runtime, self.numel() != 0, "istft(%s, n_fft=%ld): input tensor cannot be empty.", str(self).c_str(), n_fft);
    KINDLING_CHECK(Runtime, self.dim() == 2 || self.dim() == 3,
                   "istft(%s, n_fft=%ld): expected a tensor with 2 or 3 dimensions, but got %ld", str(self).c_str(), n_fft, self.dim());
    int64_t count = self.size(-1), bins = self.size(-2);
    bool half = onesided.value_or(bins != n_fft);
    if (half)
        KINDLING_CHECK(Runtime, n_fft / 2 + 1 == bins,
                       "istft(%s, n_fft=%ld): expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + "
                       "1 when onesided=True, but got %ld",
                       str(self).c_str(), n_fft, bins);
    else
        KINDLING_CHECK(Runtime, n_fft == bins,
                       "istft(%s, n_fft=%ld): expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
                       "onesided=False, but got %ld",
                       str(self).c_str(), n_fft, bins);
    KINDLING_CHECK(Runtime, frames.step > 0 && frames.step <= frames.window, "istft(%s, n_fft=%ld): expected 0 < hop_length <= win_length",
                   str(self).c_str(), n_fft);
    KINDLING_CHECK(Runtime, frames.window > 0 && frames.window <= n_fft, "istft(%s, n_fft=%ld): expected 0 < win_length <= n_fft",
                   str(self).c_str(), n_fft);
    KINDLING_CHECK(Runtime, !window.defined() || (window.dim() == 1 && window.size(0) == frames.window),
                   "istft(%s, n_fft=%ld): Invalid window shape. window has to be 1D and length of `win_length`", str(self).c_str(), n_fft);
    KINDLING_CHECK(Runtime, return_complex || !window.defined() || !window.is_complex(),
                   "Complex windows are incompatible with return_complex=False");
    Tensor w = centred(window, frames, to_real(self.dtype()));
    Tensor spectra = transpose(self.dim() == 2 ? unsqueeze(self, 0) : self, 1, 2), pieces;
    int64_t scaling = normalized ? 1 : 2;
    if (return_complex) {
        KINDLING_CHECK(Runtime, !half, "Cannot have onesided output if window or input is complex");
        pieces = _fft_c2c(spectra, {2}, scaling, false);
    } else {
        if (!half) spectra = slice(spectra, -1, 0, n_fft / 2 + 1);
        pieces = _fft_c2r(spectra, {2}, scaling, n_fft);
    }
    int64_t whole = n_fft + frames.step * (count - 1);
    Tensor y = overlapped(mul(pieces, w), whole, frames);
    Tensor envelope = overlapped(expand(mul(w, w), {1, count, n_fft}), whole, frames);
    int64_t start = center ? n_fft / 2 : 0, end = length ? start + *length : center ? whole - n_fft / 2 : whole;
    int64_t stop = std::min(end, whole);
    y = slice(y, 1, start, stop);
    envelope = slice(envelope, 1, start, stop);
    if (!envelope.is_meta() && envelope.numel()) {
        double least = min(abs(envelope)).item_scalar().to_double();
        KINDLING_CHECK(Runtime, least > 1e-11, "istft(%s, n_fft=%ld, hop_length=%ld, win_length=%ld): window overlap add min: 1",
                       str(self).c_str(), n_fft, frames.step, frames.window);
    }
    y = div(y, envelope);
    if (self.dim() == 2) y = squeeze(y, 0);
    if (end > whole) {
        if (warn)
            warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check "
                 "your center and hop_length settings");
        y = constant_pad_nd(y, {0, end - whole});
    }
    return y;
}

} // namespace
} // namespace kindling

OPERATORS(signal) {
    declare("hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The Hann window: half of 1 - cos"),
        not_differentiable(),
        composition([](int64_t window_length, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            return hamming("hann_window", window_length, true, 0.5, 0.5, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Hann window: half of 1 - cos"),
        not_differentiable(),
        composition([](int64_t window_length, bool periodic, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            return hamming("hann_window", window_length, periodic, 0.5, 0.5, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The Bartlett window: a triangle"),
        not_differentiable(),
        composition(
            [](int64_t window_length, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
               std::optional<bool> pin_memory) { return bartlett(window_length, true, Options{dtype, layout, device, pin_memory}); }),
    });
    declare("bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Bartlett window: a triangle"),
        not_differentiable(),
        composition(
            [](int64_t window_length, bool periodic, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
               std::optional<bool> pin_memory) { return bartlett(window_length, periodic, Options{dtype, layout, device, pin_memory}); }),
    });
    declare("blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The Blackman window: three terms of a cosine series"),
        not_differentiable(),
        composition(
            [](int64_t window_length, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
               std::optional<bool> pin_memory) { return blackman(window_length, true, Options{dtype, layout, device, pin_memory}); }),
    });
    declare("blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Blackman window: three terms of a cosine series"),
        not_differentiable(),
        composition(
            [](int64_t window_length, bool periodic, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
               std::optional<bool> pin_memory) { return blackman(window_length, periodic, Options{dtype, layout, device, pin_memory}); }),
    });
    declare("hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The Hamming window: alpha - beta cos"),
        not_differentiable(),
        composition([](int64_t window_length, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            return hamming("hamming_window", window_length, true, 0.54, 0.46, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Hamming window: alpha - beta cos"),
        not_differentiable(),
        composition([](int64_t window_length, bool periodic, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            return hamming("hamming_window", window_length, periodic, 0.54, 0.46, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Hamming window: alpha - beta cos"),
        not_differentiable(),
        composition([](int64_t window_length, bool periodic, double alpha, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin_memory) {
            return hamming("hamming_window", window_length, periodic, alpha, 0.46, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, "
            "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Hamming window: alpha - beta cos"),
        not_differentiable(),
        composition([](int64_t window_length, bool periodic, double alpha, double beta, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin_memory) {
            return hamming("hamming_window", window_length, periodic, alpha, beta, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The Kaiser window, by Bessel functions"),
        not_differentiable(),
        composition(
            [](int64_t window_length, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
               std::optional<bool> pin_memory) { return kaiser(window_length, true, 12.0, Options{dtype, layout, device, pin_memory}); }),
    });
    declare("kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Kaiser window, by Bessel functions"),
        not_differentiable(),
        composition([](int64_t window_length, bool periodic, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            return kaiser(window_length, periodic, 12.0, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The Kaiser window, by Bessel functions"),
        not_differentiable(),
        composition([](int64_t window_length, bool periodic, double beta, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin_memory) {
            return kaiser(window_length, periodic, beta, Options{dtype, layout, device, pin_memory});
        }),
    });
    declare("stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
            "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor")({
        doc("Fourier transforms of windowed pieces of a signal"),
        flags(trait::AutocastFloat),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
                       const Tensor& window, bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex,
                       std::optional<bool> align_to_window) {
            return short_transform(self, n_fft, hop_length, win_length, window, false, "constant", normalized, onesided, return_complex,
                                   align_to_window);
        }),
    });
    // The overload that Python sees: the first one is this with center=False.
    declare("stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
            "bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? "
            "align_to_window=None) -> Tensor")({
        doc("Fourier transforms of windowed pieces of a signal, with the pieces centred on their places"),
        flags(trait::AutocastFloat),
        no_out(),
        composition([](const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
                       const Tensor& window, bool center, Text pad_mode, bool normalized, std::optional<bool> onesided,
                       std::optional<bool> return_complex, std::optional<bool> align_to_window) {
            return short_transform(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex,
                                   align_to_window);
        }),
    });
    declare("istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
            "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor")({
        doc("The signal of which stft gave the pieces' transforms, by least squares (Griffin and Lim, 1984)"),
        no_out(),
        composition([](const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
                       const Tensor& window, bool center, bool normalized, std::optional<bool> onesided, std::optional<int64_t> length,
                       bool return_complex) {
            return inverse_short_transform(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
                                           return_complex);
        }),
    });
}
