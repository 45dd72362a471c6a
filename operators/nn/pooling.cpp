// operators/nn/pooling.cpp: maximum, average and adaptive pooling.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/dispatch.h"
#include "core/shape.h"
#include "generated/functions.h"
#include "kernels/library/images/pooling.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

/// Rows of `flat` sizes with values where indices say, zeros elsewhere. Into rows without elements nothing is put, wherever it belongs.
Tensor put_back(Tensor values, Tensor indices, const Sizes& flat) {
    if (flat.back() == 0) {
        values = narrow(values, -1, 0, 0);
        indices = narrow(indices, -1, 0, 0);
    }
    return scatter(zeros(flat, values.dtype()), -1, indices, values);
}

int64_t at(IntList list, int i) { return list.size() == 1 ? list[0] : list[static_cast<size_t>(i)]; }

/// What a library kernel is told, and the result's sizes, of which it is told the last ones only.
struct Window {
    library::Pooling p{};
    Sizes out;
};

void check_dims(const Tensor& tensor, int dims) {
    KINDLING_CHECK(Runtime, dims >= 1 && dims <= 3 && tensor.dim() > dims,
                   "pooling over %d dimensions of a tensor of shape %s is not there", dims, str(tensor.sizes()).c_str());
}

void set_planes(Window& w, const Tensor& input, int dims) {
    check_dims(input, dims);
    w.p.dtype = input.dtype();
    w.p.dims = dims;
    w.p.planes = 1;
    for (int64_t d = 0; d < input.dim() - dims; d++) {
        w.p.planes *= input.size(d);
        w.out.push_back(input.size(d));
    }
    for (int i = 0; i < dims; i++) w.p.in[i] = input.size(input.dim() - dims + i);
}

Window window(const Tensor& input, IntList kernel, IntList stride, IntList padding, IntList dilation, bool ceil_mode, int dims,
              const char* name) {
    auto fits = [&](IntList list, const char* what) {
        KINDLING_CHECK(Runtime, list.size() == 1 || static_cast<int>(list.size()) == dims,
                       "%s: %s must either be a single int, or a tuple of %d ints", name, what, dims);
    };
    fits(kernel, "kernel_size");
    fits(padding, "padding");
    fits(dilation, "dilation");
    if (!stride.empty()) fits(stride, "stride");
    KINDLING_CHECK(Runtime, input.dim() == dims + 1 || input.dim() == dims + 2, "%s: Expected %dD or %dD (batch mode) tensor, but got %s",
                   name, dims + 1, dims + 2, str(input.sizes()).c_str());
    for (int64_t d = input.dim() == dims + 2 ? 1 : 0; d < input.dim(); d++)
        KINDLING_CHECK(Runtime, input.size(d) > 0,
                       "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got: %s", dims + 1, dims + 2,
                       str(input.sizes()).c_str());
    Window w;
    set_planes(w, input, dims);
    for (int i = 0; i < dims; i++) {
        library::Pooling& p = w.p;
        p.kernel[i] = at(kernel, i);
        p.stride[i] = stride.empty() ? p.kernel[i] : at(stride, i);
        p.padding[i] = at(padding, i);
        p.dilation[i] = at(dilation, i);
        for (int64_t each : {p.kernel[i], p.stride[i], p.padding[i], p.dilation[i]})
            KINDLING_CHECK(Runtime, each <= INT32_MAX, "integer out of range");
        KINDLING_CHECK(Runtime, p.kernel[i] > 0, "kernel size should be greater than zero, but got %s", str(kernel).c_str());
        KINDLING_CHECK(Runtime, p.stride[i] > 0, "stride should not be zero");
        KINDLING_CHECK(Runtime, p.dilation[i] > 0, "dilation should be greater than zero, but got %s", str(dilation).c_str());
        KINDLING_CHECK(Runtime, p.padding[i] >= 0, "pad must be non-negative, but got pad: %ld", p.padding[i]);
        KINDLING_CHECK(Runtime, p.padding[i] <= p.kernel[i] / 2,
                       "pad should be smaller than or equal to half of kernel size, but got pad = %ld and kernel_size = %ld", p.padding[i],
                       p.kernel[i]);
        p.out[i] = library::pooling_out(p.in[i], p.kernel[i], p.stride[i], p.padding[i], p.dilation[i], ceil_mode);
        w.out.push_back(p.out[i]);
    }
    bool fit = true;
    for (int i = 0; i < dims; i++) fit = fit && w.p.out[i] >= 1;
    if (!fit) {
        std::string planes = std::to_string(input.size(-dims - 1)) + (dims == 1 ? "x1" : ""), from = planes,
                    to = planes; // torch's rows are planes of height 1
        for (int i = 0; i < dims; i++) {
            from += "x" + std::to_string(w.p.in[i]);
            to += "x" + std::to_string(w.p.out[i]);
        }
        fail(ErrorKind::Runtime, "Given input size: (%s). Calculated output size: (%s). Output size is too small", from.c_str(),
             to.c_str());
    }
    return w;
}

Window adaptive(const Tensor& input, IntList size, int dims, const char* name) {
    KINDLING_CHECK(Runtime, static_cast<int>(size.size()) == dims, "%s: output_size must be %d", name, dims);
    KINDLING_CHECK(Runtime, input.dim() == dims + 1 || input.dim() == dims + 2, "%s(): Expected %dD or %dD tensor, but got %s", name,
                   dims + 1, dims + 2, str(input.sizes()).c_str());
    const bool mean_of_plane = dims < 3 && name[9] == 'a'; // PyTorch's looks at the plane only
    for (int64_t d = mean_of_plane ? input.dim() - dims : 1; d < input.dim(); d++)
        KINDLING_CHECK(
            Runtime, input.size(d) > 0,
            "%s(): Expected input to have non-zero size for non-batch dimensions, but input has sizes %s with dimension %ld being empty",
            name, str(input.sizes()).c_str(), d);
    Window w;
    set_planes(w, input, dims);
    for (int i = 0; i < dims; i++) {
        w.p.out[i] = at(size, i);
        KINDLING_CHECK(Runtime, w.p.out[i] >= 0, "%s(): elements of output_size must be greater than or equal to 0 but received %s", name,
                       str(size).c_str());
        w.out.push_back(w.p.out[i]);
    }
    return w;
}

/// A result in the input's memory format. Volumes are averaged, and cut into adaptive windows, without regard to it.
void give(KernelCall& call, IntList sizes, DType dtype, const Tensor& input, bool keeps_format) {
    KernelCall::Result& result = call.gives(sizes, dtype);
    if (keeps_format) result.like(input);
}

library::Pooling max_pooled(KernelCall& call, const Tensor& self, const Window& w, bool keeps_format = true) {
    KINDLING_CHECK(NotImplemented, !self.is_complex() && self.dtype() != DType::Bool, "\"max_pool\" not implemented for '%s'",
                   scalar_type_name(self.dtype()));
    call.reads(self);
    give(call, w.out, self.dtype(), self, keeps_format);
    give(call, w.out, DType::Int64, self, keeps_format);
    return w.p;
}
constexpr auto max_pool = [](const library::Pooling& p, const Array& self, const Array& values, const Array& indices) {
    library::max_pool(p, self.data(), values.data(), indices.data_ptr<int64_t>());
};
constexpr auto adaptive_max_pool = [](const library::Pooling& p, const Array& self, const Array& values, const Array& indices) {
    library::adaptive_max_pool(p, self.data(), values.data(), indices.data_ptr<int64_t>());
};

/// The largest of each window of a row: the larger of the row and itself, shifted, for each place in a window (tap). Of two zeros the
/// later one stays.
constexpr auto max_of_shifted = [](const library::Pooling& p, const Array& self, const Array& result) {
    const DType type = self.dtype();
    const int64_t item = static_cast<int64_t>(self.element_size()), in = p.in[0], out = p.out[0], step = p.stride[0], taps = p.kernel[0];
    const int64_t read[2] = {in * item, step * item}, written[2] = {out * item, item};
    const auto largest_of = [type](int64_t count) -> const Expression& {
        return cached_expression(key_of(type, DType::None, static_cast<uint64_t>(count)), [&](ExpressionBuilder& b) {
            const auto next = [&] { return cast(b.input(type), value_type(type)); };
            Sym largest = count ? next() : b.constant(value_type(type), -__builtin_inf());
            for (int64_t i = 1; i < count; i++) largest = max(largest, next());
            b.output(cast(largest, type));
        });
    };
    // A tap has an element for the results of a row in [begins, ends).
    const auto begins = [&](int64_t t) { return std::max<int64_t>(p.padding[0] - t * p.dilation[0] + step - 1, 0) / step; };
    const auto ends = [&](int64_t t) {
        return std::min(out, std::max<int64_t>(in + p.padding[0] - t * p.dilation[0] + step - 1, 0) / step);
    };
    constexpr int64_t there = -1, most_at_once = 9; // there: what is in the result already
    const auto run_taps = [&](int64_t row, int64_t rows, int64_t from, int64_t stop, const int64_t* given, int64_t count) {
        if (from >= stop) return;
        LoopOperand operands[1 + most_at_once] = {{result.data_ptr<char>() + (row * out + from) * item, type, written}};
        for (int64_t i = 0; i < count; i++) {
            const int64_t place = row * in + from * step + given[i] * p.dilation[0] - p.padding[0];
            operands[1 + i] = given[i] == there ? operands[0] : LoopOperand{self.data_ptr<char>() + place * item, type, read};
        }
        const int64_t sizes[2] = {rows, stop - from};
        run({.expression = &largest_of(count),
             .ndim = 2,
             .sizes = sizes,
             .output_count = 1,
             .input_count = static_cast<int>(count),
             .operands = operands});
    };
    // Results in [from, stop) of rows, two taps at a time: those that every result there has come first.
    const auto run_pairs = [&](int64_t row, int64_t rows, int64_t from, int64_t stop) {
        const auto has_all = [&](int64_t t) { return t < taps && begins(t) <= from && ends(t) >= stop; };
        const auto pass = [&](int64_t a, int64_t b) {
            const int64_t both[2] = {a, b}, tap = std::max(a, b);
            run_taps(row, rows, std::max(from, begins(tap)), std::min(stop, ends(tap)), both, 2);
        };
        if (from >= stop) return;
        int64_t first = 0;
        while (first < taps && !has_all(first)) first++;
        const int64_t second = first + has_all(first + 1);
        if (first < taps) pass(first, second);
        else run_taps(row, rows, from, stop, nullptr, 0); // -inf
        for (int64_t t = first; t-- > 0;) pass(t, there);
        for (int64_t t = second + 1; t < taps; t++) pass(there, t);
    };
    // All taps at once where results have all. Otherwise (at the ends of rows, of many taps or a stride) in blocks that the second cache
    // holds.
    const int64_t low = step == 1 && taps <= most_at_once ? std::min(begins(0), out) : out;
    const int64_t high = std::max(low, ends(taps - 1)), block = int64_t{1} << 15;
    int64_t all[most_at_once];
    std::iota(all, all + most_at_once, 0);
    const int64_t rows = out > block / 16 ? std::max<int64_t>(block / out, 1) : block / out & ~int64_t{15}; // whole lines of the cache
    parallel_for(0, p.planes, rows, [&](int64_t row, int64_t end) {
        if (low < high) run_taps(row, end - row, low, high, all, taps);
        for (; row < end; row += rows)
            for (int64_t place = 0; place < out; place += block) {
                const int64_t stop = std::min(place + block, out), count = std::min(rows, end - row);
                run_pairs(row, count, place, std::min(stop, low));
                run_pairs(row, count, std::max(place, high), stop);
            }
    });
};

struct Planes {
    int64_t count = 1, in = 1, out = 1;
};

Planes max_gradient(KernelCall& call, const Tensor& grad, const Tensor& shape, const Tensor& indices, int dims) {
    IntList sizes = shape.sizes();
    KINDLING_CHECK(Runtime,
                   dims >= 1 && grad.dim() >= dims && grad.dim() == static_cast<int64_t>(sizes.size()) && grad.sizes() == indices.sizes() &&
                       indices.dtype() == DType::Int64,
                   "max_pool%dd_backward: a gradient of shape %s does not fit an input of shape %s and int64 indices of shape %s", dims,
                   str(grad.sizes()).c_str(), str(sizes).c_str(), str(indices.sizes()).c_str());
    for (size_t d = 0; d + static_cast<size_t>(dims) < sizes.size(); d++)
        KINDLING_CHECK(Runtime, sizes[d] == grad.sizes()[d],
                       "max_pool%dd_backward: a gradient of shape %s does not fit an input of shape %s", dims, str(grad.sizes()).c_str(),
                       str(sizes).c_str());
    Planes planes;
    for (size_t d = 0; d < sizes.size(); d++)
        if (static_cast<int>(d) < static_cast<int>(sizes.size()) - dims) planes.count *= sizes[d];
        else {
            planes.in *= sizes[d];
            planes.out *= grad.sizes()[d];
        }
    call.reads(grad);
    call.reads(indices);
    call.gives(sizes, grad.dtype()).like(shape);
    return planes;
}

void check_some(const Tensor& grad, int dims, const char* name) {
    for (int64_t d = 1; d < grad.dim(); d++)
        KINDLING_CHECK(Runtime, grad.size(d) > 0,
                       "adaptive_%s_pool%dd_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but "
                       "grad_output has sizes %s with dimension %ld being empty",
                       name, dims, str(grad.sizes()).c_str(), d);
}

/// What max_pool's gradient reads of its own gradient: the elements at the indices.
Tensor max_second(const Tensor& grad, const Tensor& indices, int dims) {
    int64_t lead = grad.dim() - dims; // flatten knows the size where there are no planes
    return reshape(gather(flatten(contiguous(grad), lead), lead, flatten(contiguous(indices), lead)), indices.sizes());
}

library::Pooling average(KernelCall& call, const Tensor& self, Window w, bool count_include_pad, std::optional<int64_t> divisor_override) {
    KINDLING_CHECK(Runtime, !divisor_override || *divisor_override != 0, "divisor must be not zero");
    KINDLING_CHECK(NotImplemented, self.dtype() == DType::Int64 || (is_floating(self.dtype()) && (w.p.dims < 3 || !is_half(self.dtype()))),
                   "\"avg_pool\" not implemented for '%s'", scalar_type_name(self.dtype()));
    w.p.count_include_pad = count_include_pad;
    w.p.divisor_override = divisor_override.value_or(0);
    call.reads(self);
    give(call, w.out, self.dtype(), self, w.p.dims < 3);
    return w.p;
}
constexpr auto avg_pool = [](const library::Pooling& p, const Array& self, const Array& result) {
    library::avg_pool(p, self.data(), result.data());
};

/// `shape` has the sizes of what was pooled.
library::Pooling spread(KernelCall& call, const Tensor& grad, const Tensor& shape, Window w) {
    KINDLING_CHECK(Runtime, grad.sizes() == IntList(w.out), "avg_pool_backward: expected a gradient of shape %s, got %s",
                   str(w.out).c_str(), str(grad.sizes()).c_str());
    w.p.dtype = grad.dtype();
    call.reads(grad);
    give(call, shape.sizes(), grad.dtype(), shape, w.p.dims < 3);
    return w.p;
}

library::Pooling adaptive_average(KernelCall& call, const Tensor& self, IntList size, int dims, const char* name) {
    Window w = adaptive(self, size, dims, name);
    KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"%s\" not implemented for '%s'", name, scalar_type_name(self.dtype()));
    call.reads(self);
    give(call, w.out, self.dtype(), self, w.p.dims < 3);
    return w.p;
}
constexpr auto adaptive_avg_pool = [](const library::Pooling& p, const Array& self, const Array& result) {
    library::adaptive_avg_pool(p, self.data(), result.data());
};

/// Adaptive averages; one window over everything is the mean, as in torch.
Tensor adaptive_average_or_mean(const Tensor& self, IntList size) {
    bool whole = true;
    Sizes dims;
    for (size_t i = 0; i < size.size(); i++) {
        whole &= size[i] == 1;
        dims.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(size.size()));
    }
    if (!whole) return size.size() == 2 ? _adaptive_avg_pool2d(self, size) : _adaptive_avg_pool3d(self, size);
    return like_input(mean(self, IntList(dims), true), self);
}

Tensor with_dim(const Tensor& t) { return unsqueeze(t, -2); }

void need_room(IntList output_size, const char* name) {
    for (int64_t size : output_size)
        KINDLING_CHECK(Runtime, size >= 0, "%s(): output_size must contain non-negative spatial dimensions, but got output_size=%s", name,
                       str(output_size).c_str());
}

} // namespace
} // namespace kindling

OPERATORS(pooling) {
    declare("max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
            "int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")({
        doc("The maximum of each window, and where it is in its plane"),
        targets("out, indices"),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
               bool ceil_mode) {
                return max_pooled(call, self, window(self, kernel_size, stride, padding, dilation, ceil_mode, 2, "max_pool2d"));
            },
            max_pool),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1) { return _max_pool_backward(grad, self_shape, result1, 2); }),
    });
    declare("max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
            "int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")({
        doc("The maximum of each window, and where it is in its volume"),
        targets("out, indices"),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
               bool ceil_mode) {
                return max_pooled(call, self, window(self, kernel_size, stride, padding, dilation, ceil_mode, 3, "max_pool3d"));
            },
            max_pool),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1) { return _max_pool_backward(grad, self_shape, result1, 3); }),
    });
    declare("_max_pool_backward(Tensor grad_output, Tensor shape, Tensor indices, int dims) -> Tensor")({
        doc("Gradients put where the maxima were; `shape` has the input's sizes and format"),
        linear(),
        in(space::Hidden),
        kernel([](KernelCall& call, const Tensor& grad_output, const Tensor& shape, const Tensor& indices,
                  int64_t dims) { return max_gradient(call, grad_output, shape, indices, static_cast<int>(dims)); },
               [](const Planes& planes, const Array& grad, const Array& indices, const Array& result) {
                   library::max_pool_gradient(grad.dtype(), planes.count, planes.in, planes.out, grad.data(), indices.data_ptr<int64_t>(),
                                              result.data());
               }),
        derivative(
            "grad_output", GIVEN(Tensor grad, Tensor indices, int64_t dims) { return max_second(grad, indices, static_cast<int>(dims)); }),
    });
    declare("max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
            "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor")({
        doc("Gradients put back where the maxima were"),
        linear(),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& grad_output, const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                       IntList dilation, bool ceil_mode, const Tensor& indices) {
            KINDLING_CHECK(Runtime, kernel_size.size() == 1 || kernel_size.size() == 2,
                           "max_pool2d: kernel_size must either be a single int, or a tuple of two ints");
            KINDLING_CHECK(Runtime, stride.size() <= 2, "max_pool2d: stride must either be omitted, a single int, or a tuple of two ints");
            KINDLING_CHECK(Runtime, padding.size() == 1 || padding.size() == 2,
                           "max_pool2d: padding must either be a single int, or a tuple of two ints");
            KINDLING_CHECK(Runtime, dilation.size() == 1 || dilation.size() == 2,
                           "max_pool2d: dilation must be either a single int, or a tuple of two ints");
            KINDLING_CHECK(Runtime, grad_output.dtype() == self.dtype(), "expected dtype %s for `gradOutput` but got dtype %s",
                           c_type_name(self.dtype()), c_type_name(grad_output.dtype()));
            window(self, kernel_size, stride, padding, dilation, ceil_mode, 2, "max_pool2d"); // its checks
            return _max_pool_backward(grad_output, self, indices, 2);
        }),
        derivative(
            "grad_output", GIVEN(Tensor grad, Tensor indices) { return max_second(grad, indices, 2); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
            "int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")({
        doc("The maximum of each window, and where it is"),
        in(space::Torch),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
               bool ceil_mode) {
                return max_pooled(call, self, window(self, kernel_size, stride, padding, dilation, ceil_mode, 1, "max_pool1d"));
            },
            max_pool),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1) { return _max_pool_backward(grad, self_shape, result1, 1); }),
    });
    declare(
        "_max_pool1d_values(Tensor self, int[1] kernel_size, int[1] stride, int[1] padding, int[1] dilation, bool ceil_mode) -> Tensor")({
        doc("The maximum of each window, where nobody asks for places"),
        takes(kind::Floats),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
               bool ceil_mode) {
                const Window w = window(self, kernel_size, stride, padding, dilation, ceil_mode, 1, "max_pool1d");
                call.reads(self);
                call.gives(w.out, self.dtype());
                return w.p;
            },
            max_of_shifted),
    });
    declare("max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
            "bool ceil_mode=False) -> Tensor")({
        doc("The maximum of each window"),
        takes(kind::Floats),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation, bool ceil_mode) {
            // Where nobody asks for places, maxima of shifted rows are quicker than a search.
            if (runs_plainly({&self})) return _max_pool1d_values(self, kernel_size, stride, padding, dilation, ceil_mode);
            return std::get<0>(max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
        }),
    });
    declare("max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
            "bool ceil_mode=False) -> Tensor")({
        doc("The maximum of each window"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation, bool ceil_mode) {
            return std::get<0>(max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
        }),
    });
    declare("max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
            "bool ceil_mode=False) -> Tensor")({
        doc("The maximum of each window"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation, bool ceil_mode) {
            return std::get<0>(max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
        }),
    });
    declare("avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
            "bool count_include_pad=True) -> Tensor")({
        doc("The mean of each window"),
        linear(),
        in(space::Torch | space::Nn),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
               bool count_include_pad) {
                return average(call, self, window(self, kernel_size, stride, padding, {1}, ceil_mode, 1, "avg_pool1d"), count_include_pad,
                               std::nullopt);
            },
            avg_pool),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                  bool count_include_pad) {
                return _avg_pool_backward(grad, self_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, std::nullopt, 1);
            }),
    });
    declare("avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
            "bool count_include_pad=True, int? divisor_override=None) -> Tensor")({
        doc("The mean of each window"),
        linear(),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
               bool count_include_pad, std::optional<int64_t> divisor_override) {
                return average(call, self, window(self, kernel_size, stride, padding, {1}, ceil_mode, 2, "avg_pool2d"), count_include_pad,
                               divisor_override);
            },
            avg_pool),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
                return _avg_pool_backward(grad, self_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                                          2);
            }),
    });
    declare("avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, "
            "bool count_include_pad=True, int? divisor_override=None) -> Tensor")({
        doc("The mean of each window"),
        linear(),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
               bool count_include_pad, std::optional<int64_t> divisor_override) {
                const Window w = window(self, kernel_size, stride, padding, {1}, ceil_mode, 3, "avg_pool3d");
                const int64_t *size = self.sizes().end() - 3,
                              *kernel = w.p.kernel; // PyTorch refuses what the padding would make up for, here alone
                KINDLING_CHECK(Runtime, size[0] >= kernel[0] && size[1] >= kernel[1] && size[2] >= kernel[2],
                               "input image (T: %ld H: %ld W: %ld) smaller than kernel size (kT: %ld kH: %ld kW: %ld)", size[0], size[1],
                               size[2], kernel[0], kernel[1], kernel[2]);
                return average(call, self, w, count_include_pad, divisor_override);
            },
            avg_pool),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
                return _avg_pool_backward(grad, self_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                                          3);
            }),
    });
    declare("_avg_pool_backward(Tensor grad_output, Tensor shape, int[] kernel_size, int[] stride, int[] padding, "
            "bool ceil_mode, bool count_include_pad, int? divisor_override, int dims) -> Tensor")({
        doc("Gradients shared over each window; `shape` has the input's sizes"),
        linear(),
        in(space::Hidden),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, const Tensor& shape, IntList kernel_size, IntList stride, IntList padding,
               bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, int64_t dims) {
                Window w = window(shape, kernel_size, stride, padding, {1}, ceil_mode, static_cast<int>(dims), "avg_pool");
                w.p.count_include_pad = count_include_pad;
                w.p.divisor_override = divisor_override.value_or(0);
                return spread(call, grad_output, shape, w);
            },
            [](const library::Pooling& p, const Array& grad, const Array& result) {
                library::avg_pool_gradient(p, grad.data(), result.data());
            }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override, int64_t dims) {
                if (dims == 1) return avg_pool1d(grad, kernel_size, stride, padding, ceil_mode, count_include_pad);
                if (dims == 2) return avg_pool2d(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
                return avg_pool3d(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
            }),
    });
    declare("_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")({
        doc("The mean of windows that divide the plane into output_size"),
        linear(),
        in(space::Torch | space::Nn),
        kernel([](KernelCall& call, const Tensor& self,
                  IntList output_size) { return adaptive_average(call, self, output_size, 2, "adaptive_avg_pool2d"); },
               adaptive_avg_pool),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape) { return _adaptive_avg_pool_backward(grad, self_shape, 2); }),
    });
    declare("_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor")({
        doc("The mean of windows that divide the volume into output_size"),
        linear(),
        in(space::Torch | space::Nn),
        kernel([](KernelCall& call, const Tensor& self,
                  IntList output_size) { return adaptive_average(call, self, output_size, 3, "adaptive_avg_pool3d"); },
               adaptive_avg_pool),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape) { return _adaptive_avg_pool_backward(grad, self_shape, 3); }),
    });
    declare("_adaptive_avg_pool_backward(Tensor grad_output, Tensor shape, int dims) -> Tensor")({
        doc("Gradients shared over each adaptive window"),
        linear(),
        in(space::Hidden),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, const Tensor& shape, int64_t dims) {
                check_some(grad_output, static_cast<int>(dims), "avg");
                check_dims(grad_output, static_cast<int>(dims));
                IntList size(grad_output.sizes().end() - dims, static_cast<size_t>(dims));
                return spread(call, grad_output, shape, adaptive(shape, size, static_cast<int>(dims), "adaptive_avg_pool_backward"));
            },
            [](const library::Pooling& p, const Array& grad, const Array& result) {
                library::adaptive_avg_pool_gradient(p, grad.data(), result.data());
            }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, IntList grad_output_sizes, int64_t dims) {
                IntList size(grad_output_sizes.data() + grad_output_sizes.size() - dims, static_cast<size_t>(dims));
                return dims == 2 ? _adaptive_avg_pool2d(grad, size) : _adaptive_avg_pool3d(grad, size);
            }),
    });
    declare("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")({
        doc("The mean of windows that divide the line into output_size"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, IntList output_size) {
            KINDLING_CHECK(Runtime, self.dim() == 2 || self.dim() == 3, "adaptive_avg_pool1d: Expected 2D or 3D tensor, but got %s",
                           str(self.sizes()).c_str());
            KINDLING_CHECK(Runtime, output_size.size() == 1, "adaptive_avg_pool1d: output_size must be 1");
            return squeeze(adaptive_average_or_mean(with_dim(self), {1, output_size[0]}), -2);
        }),
    });
    declare("adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")({
        doc("The mean of windows that divide the plane into output_size"),
        in(space::Nn),
        composition([](const Tensor& self, IntList output_size) {
            KINDLING_CHECK(Runtime, output_size.size() == 2, "adaptive_avg_pool2d: output_size must be 2");
            return adaptive_average_or_mean(self, output_size);
        }),
    });
    declare("adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor")({
        doc("The mean of windows that divide the volume into output_size"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, IntList output_size) {
            KINDLING_CHECK(Runtime, output_size.size() == 3, "adaptive_avg_pool3d: output_size must be 3");
            return adaptive_average_or_mean(self, output_size);
        }),
    });
    declare("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)")({
        doc("The maximum of windows that divide the line into output_size, and where it is"),
        in(space::Torch),
        composition([](const Tensor& self, IntList output_size) {
            KINDLING_CHECK(Runtime, self.dim() == 2 || self.dim() == 3, "adaptive_max_pool1d(): Expected 2D or 3D tensor, but got: %s",
                           str(self.sizes()).c_str());
            KINDLING_CHECK(Runtime, output_size.size() == 1, "adaptive_max_pool1d: output_size must be 1");
            auto [values, indices] = adaptive_max_pool2d(with_dim(self), {1, output_size[0]});
            return std::tuple<Tensor, Tensor>(squeeze(values, -2), squeeze(indices, -2));
        }),
    });
    declare("adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)")({
        doc("The maximum of windows that divide the plane into output_size, and where it is"),
        targets("out, indices"),
        takes(kind::Floats),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self,
                  IntList output_size) { return max_pooled(call, self, adaptive(self, output_size, 2, "adaptive_max_pool2d")); },
               adaptive_max_pool),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, Tensor result1) {
                check_some(grad, 2, "max");
                return _max_pool_backward(grad, self_shape, result1, 2);
            }),
    });
    declare("adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)")({
        doc("The maximum of windows that divide the volume into output_size, and where it is"),
        targets("out, indices"),
        takes(kind::Floats),
        flags(trait::AutocastFloat),
        in(space::Nn),
        kernel([](KernelCall& call, const Tensor& self,
                  IntList output_size) { return max_pooled(call, self, adaptive(self, output_size, 3, "adaptive_max_pool3d"), false); },
               adaptive_max_pool),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, Tensor result1) {
                check_some(grad, 3, "max");
                return contiguous(_max_pool_backward(grad, self_shape, result1, 3));
            }),
    });
    declare("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor")({
        doc("Values put back where max_pool2d found them, zeros elsewhere"),
        takes(kind::Floats),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& indices, IntList output_size) {
            KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64, "elements in indices should be type int64 but got: %s",
                           scalar_type_name(indices.dtype()));
            KINDLING_CHECK(Runtime, output_size.size() == 2,
                           "There should be exactly two elements (height, width) in output_size, but got %zu elements.",
                           output_size.size());
            KINDLING_CHECK(Runtime, self.dim() == 3 || self.dim() == 4,
                           "Input to max_unpooling2d should be a 3d or 4d Tensor, but got a tensor with %ld dimensions.", self.dim());
            need_room(output_size, "max_unpooling2d");
            KINDLING_CHECK(Runtime, self.sizes() == indices.sizes(),
                           "Expected shape of indices to be same as that of the input tensor (%s) but got indices tensor with shape: %s",
                           str(self.sizes()).c_str(), str(indices.sizes()).c_str());
            for (int64_t d = 1; d < self.dim(); d++)
                KINDLING_CHECK(Runtime, self.size(d),
                               "max_unpooling2d(): Expected input to have non-zero size for non-batch dimensions, but got %s with "
                               "dimension %ld being empty.",
                               str(self.sizes()).c_str(), d);
            Sizes lead(IntList(self.sizes().data(), self.sizes().size() - 2)), result = lead, flat = lead, rows = lead;
            for (int64_t size : output_size) result.push_back(size);
            flat.push_back(output_size[0] * output_size[1]);
            rows.push_back(self.size(-2) * self.size(-1));
            return like_input(_unsafe_view(put_back(reshape(self, rows), reshape(indices, rows), flat), result), self);
        }),
    });
    declare("max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor")({
        doc("Values put back where max_pool3d found them, zeros elsewhere"),
        takes(kind::Floats),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& indices, IntList output_size, IntList stride, IntList padding) {
            KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64, "elements in indices should be type int64");
            KINDLING_CHECK(Runtime, output_size.size() == 3,
                           "There should be exactly three elements (depth, height, width) in output_size, but got %zu elements.",
                           output_size.size());
            need_room(output_size, "max_unpooling3d");
            for (const IntList* each : {&stride, &padding})
                KINDLING_CHECK(Runtime, each->size() == 3,
                               "There should be exactly three elements (depth, height, width) in %s, but got: %zu elements.",
                               each == &stride ? "stride" : "padding", each->size());
            for (int64_t each : stride)
                KINDLING_CHECK(Runtime, each > 0, "strides should be greater than zero, but got stride: %s", str(stride).c_str());
            KINDLING_CHECK(Runtime, self.sizes() == indices.sizes(),
                           "Expected shape of indices to be same as that of the input tensor (%s) but got indices tensor with shape: %s",
                           str(self.sizes()).c_str(), str(indices.sizes()).c_str());
            KINDLING_CHECK(Runtime, self.dim() == 4 || self.dim() == 5,
                           "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with %ld dimensions.", self.dim());
            for (int64_t d = 1; d < self.dim(); d++)
                KINDLING_CHECK(Runtime, self.size(d),
                               "max_unpooling3d(): Expected input to have non-zero size for non-batch dimensions, but got %s with "
                               "dimension %ld being empty.",
                               str(self.sizes()).c_str(), d);
            Sizes lead(IntList(self.sizes().data(), self.sizes().size() - 3)), result = lead, flat = lead, rows = lead;
            for (int64_t size : output_size) result.push_back(size);
            flat.push_back(output_size[0] * output_size[1] * output_size[2]);
            rows.push_back(self.size(-3) * self.size(-2) * self.size(-1));
            return _unsafe_view(put_back(reshape(self, rows), reshape(indices, rows), flat), result);
        }),
    });
}
