// operators/signal/fourier.cpp: Fourier transforms, over three primitives: complex to complex, real to complex and back.
#include <cstring>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/fft/fft.h"
#include "operators/declare.h"
#include "operators/forms.h"

namespace kindling {
namespace {

/// How a transform of n values is scaled: not, by 1 / sqrt(n), by 1 / n.
enum Scaling : int64_t { None = 0, Root = 1, Full = 2 };

Scaling scaling_of(std::optional<Text> norm, bool forward) {
    if (!norm || *norm == "backward") return forward ? None : Full;
    if (*norm == "forward") return forward ? Full : None;
    KINDLING_CHECK(Runtime, *norm == "ortho", "Invalid normalization mode: \"%s\"", std::string(*norm).c_str());
    return Root;
}

double factor(int64_t normalization, int64_t n) {
    double size = static_cast<double>(n);
    return normalization == None ? 1 : normalization == Root ? 1 / __builtin_sqrt(size) : 1 / size;
}

library::Fourier along(IntList sizes, DType real, int64_t dim, int64_t n, bool forward, double scale) {
    library::Fourier f{real, 1, n, 1, forward, scale};
    for (size_t d = 0; d < sizes.size(); d++) {
        if (static_cast<int64_t>(d) < dim) f.outer *= sizes[d];
        if (static_cast<int64_t>(d) > dim) f.inner *= sizes[d];
    }
    return f;
}

struct Transform {
    IntList dims; // as given: negative ones count from the end
    int64_t normalization;
    bool forward;
};

Transform transform_of(KernelCall& call, IntList sizes, DType dtype, const Tensor& self, IntList dim, int64_t normalization, bool forward) {
    for (int64_t d : dim) wrap_dim(d, self.dim()); // refuses what is out of range
    call.gives(sizes, dtype);
    call.costs(16 * self.numel());
    return {dim, normalization, forward};
}

int64_t dim_at(const Transform& t, size_t i, IntList sizes) {
    return t.dims[i] < 0 ? t.dims[i] + static_cast<int64_t>(sizes.size()) : t.dims[i];
}

/// Transforms the first `count` dimensions, the last of them first. The next one reads what the one before wrote.
void transform_dims(const Transform& t, size_t count, IntList sizes, DType dtype, const void* from, void* to) {
    for (size_t i = count; i-- > 0; from = to) {
        const int64_t d = dim_at(t, i, sizes), n = sizes[static_cast<size_t>(d)];
        library::fft_complex(along(sizes, to_real(dtype), d, n, t.forward, factor(t.normalization, n)), from, to);
    }
}

constexpr auto complex_transform = [](const Transform& t, const Array& self, const Array& result) {
    if (t.dims.empty()) std::memcpy(result.data(), self.data(), static_cast<size_t>(self.numel()) * self.element_size());
    transform_dims(t, t.dims.size(), self.sizes(), self.dtype(), self.data(), result.data());
};

Transform from_real(KernelCall& call, const Tensor& self, IntList dim, int64_t normalization, bool onesided) {
    KINDLING_CHECK(Runtime, is_floating(self.dtype()), "_fft_r2c: Expected a real floating point tensor");
    KINDLING_CHECK(Runtime, !dim.empty(), "_fft_r2c: Expected at least one dimension");
    KINDLING_CHECK(Runtime, self.dim() > 0, "_fft_%s: Expected a tensor with dimensions", onesided ? "r2c" : "c2c");
    Sizes sizes = self.sizes();
    if (onesided) {
        auto last = static_cast<size_t>(wrap_dim(dim.back(), self.dim()));
        sizes[last] = sizes[last] / 2 + 1;
    }
    call.reads(self, onesided ? self.dtype() : to_complex(self.dtype()));
    return transform_of(call, sizes, to_complex(self.dtype()), self, dim, normalization, true);
}

Transform to_real_values(KernelCall& call, const Tensor& self, IntList dim, int64_t normalization, int64_t n) {
    KINDLING_CHECK(Runtime, self.is_complex(), "_fft_c2r: Expected a complex tensor");
    KINDLING_CHECK(Runtime, !dim.empty(), "_fft_c2r: Expected at least one dimension");
    int64_t last = wrap_dim(dim.back(), self.dim());
    Sizes sizes = self.sizes();
    KINDLING_CHECK(Runtime, self.dim() > 0, "_fft_c2r: Expected a tensor with dimensions");
    sizes[static_cast<size_t>(last)] = n;
    Tensor half = self.size(last) != n / 2 + 1 && checked_numel(sizes) ? narrow(self, last, 0, n / 2 + 1) : self;
    call.reads(half);
    if (dim.size() > 1) call.needs_workspace(half.numel() * static_cast<int64_t>(self.element_size()));
    return transform_of(call, sizes, to_real(self.dtype()), self, dim, normalization, false);
}

// ---- arguments

Tensor promoted(const Tensor& t, bool need_complex) {
    DType dtype = is_differentiable(t.dtype()) ? t.dtype() : default_dtype();
    KINDLING_CHECK(Runtime, !is_half(dtype), "Unsupported dtype %s", scalar_type_name(dtype));
    if (need_complex) dtype = to_complex(dtype);
    return dtype == t.dtype() ? t : to(t, dtype);
}

void need_points(int64_t n) { KINDLING_CHECK(Runtime, n >= 1, "Invalid number of data points (%ld) specified", n); }

int64_t own_dim(int64_t dim, const Tensor& t) {
    KINDLING_CHECK(Index, t.dim() > 0, "Dimension specified as %ld but tensor has no dimensions", dim);
    return wrap_dim(dim, t.dim());
}

/// Zeros behind, or a part, so that the dims have these sizes.
Tensor resized(const Tensor& t, IntList dims, IntList sizes) {
    Tensor result = t;
    std::vector<int64_t> pad(static_cast<size_t>(2 * t.dim()), 0);
    bool longer = false;
    for (size_t i = 0; i < dims.size(); i++) {
        int64_t now = result.size(dims[i]), wanted = sizes[i];
        if (wanted < 0) continue;
        if (wanted < now) result = narrow(result, dims[i], 0, wanted);
        if (wanted > now) {
            longer = true;
            pad[static_cast<size_t>(2 * (t.dim() - 1 - dims[i]) + 1)] = wanted - now;
        }
    }
    return longer ? constant_pad_nd(result, pad) : result;
}

struct Shape {
    std::vector<int64_t> dims, sizes;
};

Shape shape_of(const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim) {
    Shape shape;
    int64_t ndim = self.dim();
    if (dim) {
        for (int64_t d : *dim) shape.dims.push_back(own_dim(d, self));
        for (size_t i = 0; i < shape.dims.size(); i++)
            for (size_t j = 0; j < i; j++) KINDLING_CHECK(Runtime, shape.dims[i] != shape.dims[j], "FFT dims must be unique");
    }
    if (s) {
        KINDLING_CHECK(Runtime, !dim || dim->size() == s->size(), "When given, dim and shape arguments must have the same length");
        KINDLING_CHECK(Runtime, static_cast<int64_t>(s->size()) <= ndim,
                       "Got shape with %zu values but input tensor only has %ld dimensions.", s->size(), ndim);
        if (!dim)
            for (size_t i = 0; i < s->size(); i++) shape.dims.push_back(ndim - static_cast<int64_t>(s->size() - i));
    } else if (!dim) {
        for (int64_t d = 0; d < ndim; d++) shape.dims.push_back(d);
    }
    for (size_t i = 0; i < shape.dims.size(); i++) {
        int64_t n = s && (*s)[i] != -1 ? (*s)[i] : self.size(shape.dims[i]);
        need_points(n);
        shape.sizes.push_back(n);
    }
    return shape;
}

// ---- one dimension

Tensor transform1(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm, bool forward) {
    Tensor x = promoted(self, true);
    int64_t d = own_dim(dim, x), count = n.value_or(x.size(d));
    need_points(count);
    if (n) x = resized(x, {d}, {count});
    return _fft_c2c(x, {d}, scaling_of(norm, forward), forward);
}

Tensor transform1_from_real(const char* name, const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm,
                            bool forward) {
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s expects a real input tensor, but got %s", name, scalar_type_name(self.dtype()));
    Tensor x = promoted(self, false);
    int64_t d = own_dim(dim, x), count = n.value_or(x.size(d));
    need_points(count);
    if (n) x = resized(x, {d}, {count});
    Tensor result = _fft_r2c(x, {d}, scaling_of(norm, forward), true);
    return forward ? result : conj(result);
}

Tensor transform1_to_real(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm, bool forward) {
    Tensor x = promoted(self, true);
    int64_t d = own_dim(dim, x), count = n.value_or(2 * (x.size(d) - 1));
    need_points(count);
    if (n) x = resized(x, {d}, {count / 2 + 1});
    return _fft_c2r(forward ? conj(x) : x, {d}, scaling_of(norm, forward), count);
}

// ---- several

Tensor transform(const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm, bool forward) {
    Shape shape = shape_of(self, s, dim);
    Tensor x = resized(promoted(self, true), shape.dims, shape.sizes);
    const Scaling scaling = scaling_of(norm, forward);
    return shape.dims.empty() ? clone(x) : _fft_c2c(x, shape.dims, scaling, forward);
}

Tensor transform_from_real(const char* name, const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim,
                           std::optional<Text> norm, bool forward) {
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s expects a real-valued input tensor, but got %s", name, scalar_type_name(self.dtype()));
    Tensor x = promoted(self, false);
    Shape shape = shape_of(x, s, dim);
    KINDLING_CHECK(Runtime, !shape.dims.empty(), "%s must transform at least one axis", name);
    x = resized(x, shape.dims, shape.sizes);
    Scaling scaling = scaling_of(norm, forward);
    if (forward) return _fft_r2c(x, shape.dims, scaling, true);
    Tensor half = conj(_fft_r2c(x, {shape.dims.back()}, scaling, true));
    shape.dims.pop_back();
    return shape.dims.empty() ? half : _fft_c2c(half, shape.dims, scaling, false);
}

Tensor transform_to_real(const char* name, const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim,
                         std::optional<Text> norm, bool forward) {
    Tensor x = promoted(self, true);
    // The last size is that of the result.
    Shape shape = shape_of(x, s, dim);
    KINDLING_CHECK(Runtime, !shape.dims.empty(), "%s must transform at least one axis", name);
    int64_t n = s && s->back() != -1 ? s->back() : 2 * (x.size(shape.dims.back()) - 1);
    need_points(n);
    shape.sizes.back() = n / 2 + 1;
    x = resized(x, shape.dims, shape.sizes);
    Scaling scaling = scaling_of(norm, forward);
    if (!forward) return _fft_c2r(x, shape.dims, scaling, n);
    int64_t last = shape.dims.back();
    shape.dims.pop_back();
    if (!shape.dims.empty()) x = _fft_c2c(x, shape.dims, scaling, true);
    return _fft_c2r(conj(x), {last}, scaling, n);
}

/// 2 where a value of the half spectrum stands for two of the whole.
Tensor doubled(const Tensor& half, int64_t dim, int64_t n) {
    int64_t d = wrap_dim(dim, half.dim()), kept = half.size(d), twice = n - kept;
    if (twice <= 0) return half;
    std::vector<Tensor> parts{narrow(half, d, 0, 1), mul(narrow(half, d, 1, twice), wrap_number(Scalar(2)))};
    if (kept > twice + 1) parts.push_back(narrow(half, d, twice + 1, kept - twice - 1));
    return cat(parts, d);
}

Tensor shifted(const Tensor& self, std::optional<IntList> dim, bool back) {
    std::vector<int64_t> dims, shifts;
    if (dim)
        for (int64_t d : *dim) dims.push_back(wrap_dim(d, self.dim()));
    else
        for (int64_t d = 0; d < self.dim(); d++) dims.push_back(d);
    for (int64_t d : dims) shifts.push_back(back ? self.size(d) - self.size(d) / 2 : self.size(d) / 2);
    return dims.empty() ? clone(self) : roll(self, shifts, dims);
}

DType frequency_dtype(DType dtype, const char* name) {
    DType result = or_default(dtype);
    KINDLING_CHECK(Runtime, is_differentiable(result), "%s requires a floating point or complex dtype", name);
    return result;
}

} // namespace
} // namespace kindling

OPERATORS(fourier) {
    declare("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor")({
        doc("The Fourier transform of complex values over dimensions"),
        has_out(),
        in(space::Torch),
        linear(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList dim, int64_t normalization, bool forward) {
                KINDLING_CHECK(Runtime, self.is_complex(), "_fft_c2c: Expected a complex tensor");
                KINDLING_CHECK(Runtime, dim.empty() || self.dim() > 0, "_fft_c2c: Expected a tensor with dimensions");
                call.reads(self);
                return transform_of(call, self.sizes(), self.dtype(), self, dim, normalization, forward);
            },
            complex_transform),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList dim, int64_t normalization, bool forward) { return _fft_c2c(grad, dim, normalization, !forward); }),
    });
    declare("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")({
        doc("The Fourier transform of real values over dimensions; the last one halved if onesided"),
        has_out(),
        in(space::Torch),
        linear(),
        kernel([](KernelCall& call, const Tensor& self, IntList dim, int64_t normalization,
                  bool onesided) { return from_real(call, self, dim, normalization, onesided); },
               [](const Transform& t, const Array& self, const Array& result) {
                   if (self.is_complex()) return complex_transform(t, self, result);
                   const int64_t last = dim_at(t, t.dims.size() - 1, self.sizes()), n = self.size(last);
                   library::fft_from_real(along(result.sizes(), self.dtype(), last, n, true, factor(t.normalization, n)), self.data(),
                                          result.data());
                   transform_dims(t, t.dims.size() - 1, result.sizes(), result.dtype(), result.data(), result.data());
               }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, IntList dim, int64_t normalization, bool onesided) {
                Tensor whole = grad;
                if (onesided) {
                    int64_t last = wrap_dim(dim.back(), grad.dim());
                    whole = resized(grad, {last}, {self_sizes[static_cast<size_t>(last)]});
                }
                return real(_fft_c2c(whole, dim, normalization, false));
            }),
    });
    declare("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor")({
        doc("The inverse Fourier transform of a half spectrum, to real values"),
        has_out(),
        in(space::Torch),
        linear(),
        kernel([](KernelCall& call, const Tensor& self, IntList dim, int64_t normalization,
                  int64_t n) { return to_real_values(call, self, dim, normalization, n); },
               [](const Transform& t, const Array& self, const Array& result, Workspace room) {
                   const int64_t last = dim_at(t, t.dims.size() - 1, self.sizes()), n = result.size(last);
                   transform_dims(t, t.dims.size() - 1, self.sizes(), self.dtype(), self.data(), room.data);
                   library::fft_to_real(along(result.sizes(), result.dtype(), last, n, false, factor(t.normalization, n)),
                                        t.dims.size() > 1 ? room.data : self.data(), result.data());
               }),
        derivative(
            "self", GIVEN(Tensor grad, IntList dim, int64_t normalization,
                          int64_t last_dim_size) { return doubled(_fft_r2c(grad, dim, normalization, true), dim.back(), last_dim_size); }),
    });
    // ---- one dimension
    declare("fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor")({
        doc("The discrete Fourier transform"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm) {
            return transform1(self, n, dim, norm, true);
        }),
        example("torch.fft.fft(torch.arange(4.))"),
    });
    declare("fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor")({
        doc("The inverse discrete Fourier transform"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm) {
            return transform1(self, n, dim, norm, false);
        }),
    });
    declare("fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor")({
        doc("The first half of the Fourier transform of real values"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm) {
            return transform1_from_real("rfft", self, n, dim, norm, true);
        }),
    });
    declare("fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor")({
        doc("The inverse of rfft"),
        out_floats(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm) {
            return transform1_to_real(self, n, dim, norm, false);
        }),
    });
    declare("fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor")({
        doc("The Fourier transform of values with conjugate symmetry, of which half are given"),
        out_floats(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm) {
            return transform1_to_real(self, n, dim, norm, true);
        }),
    });
    declare("fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor")({
        doc("The inverse of hfft"),
        out_same(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<Text> norm) {
            return transform1_from_real("ihfft", self, n, dim, norm, false);
        }),
    });
    // ---- several
    declare("fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")({
        doc("The Fourier transform over dimensions"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm) {
            return transform(self, s, dim, norm, true);
        }),
    });
    declare("fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")({
        doc("The inverse Fourier transform over dimensions"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm) {
            return transform(self, s, dim, norm, false);
        }),
    });
    declare("fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")({
        doc("The Fourier transform of real values over dimensions, the last one halved"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm) {
            return transform_from_real("rfftn", self, s, dim, norm, true);
        }),
    });
    declare("fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")({
        doc("The inverse of rfftn"),
        out_floats(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm) {
            return transform_to_real("irfftn", self, s, dim, norm, false);
        }),
    });
    declare("fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")({
        doc("The Fourier transform, over dimensions, of values with conjugate symmetry"),
        out_floats(),
        composition([](const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm) {
            return transform_to_real("hfftn", self, s, dim, norm, true);
        }),
    });
    declare("fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")({
        doc("The inverse of hfftn"),
        out_castable(),
        composition([](const Tensor& self, std::optional<IntList> s, std::optional<IntList> dim, std::optional<Text> norm) {
            return transform_from_real("ihfftn", self, s, dim, norm, false);
        }),
    });
    declare("fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor")({
        doc("The Fourier transform over two dimensions"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, IntList dim, std::optional<Text> norm) {
            return transform(self, s, dim, norm, true);
        }),
    });
    declare("fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor")({
        doc("The inverse Fourier transform over two dimensions"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, IntList dim, std::optional<Text> norm) {
            return transform(self, s, dim, norm, false);
        }),
    });
    declare("fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor")({
        doc("The Fourier transform of real values over two dimensions, the last one halved"),
        out_castable(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, IntList dim, std::optional<Text> norm) {
            return transform_from_real("rfftn", self, s, dim, norm, true);
        }),
    });
    declare("fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor")({
        doc("The inverse of rfft2"),
        out_floats(),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, std::optional<IntList> s, IntList dim, std::optional<Text> norm) {
            return transform_to_real("irfftn", self, s, dim, norm, false);
        }),
    });
    declare("fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor")({
        doc("The Fourier transform, over two dimensions, of values with conjugate symmetry"),
        out_floats(),
        composition([](const Tensor& self, std::optional<IntList> s, IntList dim, std::optional<Text> norm) {
            return transform_to_real("hfftn", self, s, dim, norm, true);
        }),
    });
    declare("fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor")({
        doc("The inverse of hfft2"),
        out_castable(),
        composition([](const Tensor& self, std::optional<IntList> s, IntList dim, std::optional<Text> norm) {
            return transform_from_real("ihfftn", self, s, dim, norm, false);
        }),
    });
    // ---- the places of frequencies
    declare("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor")({
        doc("Frequency 0 moved to the middle"),
        no_out(),
        composition([](const Tensor& self, std::optional<IntList> dim) { return shifted(self, dim, false); }),
    });
    declare("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor")({
        doc("The inverse of fftshift"),
        no_out(),
        composition([](const Tensor& self, std::optional<IntList> dim) { return shifted(self, dim, true); }),
    });
    declare("fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The frequencies of fft of n values taken d apart"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        composition([](int64_t n, double d, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            DType type = frequency_dtype(dtype, "fftfreq");
            KINDLING_CHECK(Runtime, n >= 0, "upper bound and lower bound inconsistent with step sign");
            Tensor places = cat(std::vector<Tensor>{arange(Scalar(0), Scalar(n - n / 2), type, layout, device, pin_memory),
                                                    arange(Scalar(-(n / 2)), Scalar(0), type, layout, device, pin_memory)},
                                0);
            return mul(places, wrap_number(Scalar(1.0 / (static_cast<double>(n) * d))));
        }),
    });
    declare("fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("The frequencies of rfft of n values taken d apart"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        composition([](int64_t n, double d, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
            return mul(arange(Scalar(0), Scalar(n / 2 + 1), frequency_dtype(dtype, "rfftfreq"), layout, device, pin_memory),
                       wrap_number(Scalar(1.0 / (static_cast<double>(n) * d))));
        }),
    });
}
