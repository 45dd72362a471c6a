// operators/nn/convolution.cpp: convolutions and their transposes.
#include <algorithm>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/convolution/convolution.h"
#include "operators/declare.h"

namespace kindling {
namespace {

struct Shape {
    library::Convolution c{};
    Sizes out;
};

int64_t at(IntList list, int i) { return list.size() == 1 ? list[0] : list[static_cast<size_t>(i)]; }

/// "4 x 5": a size for each dimension of the window.
template <class Size> std::string by_dimension(int64_t dims, Size size) {
    std::string text;
    for (int d = 0; d < dims; d++) text += (d ? " x " : "") + std::to_string(size(d));
    return text;
}

/// Checks everything torch checks, with its words, and works out the result's sizes.
void need_each(IntList list, int64_t dims, const char* what) {
    KINDLING_CHECK(Runtime, list.size() == 1 || static_cast<int64_t>(list.size()) == dims,
                   "expected %s to be a single integer value or a list of %ld values to match the convolution dimensions, but got %s=%s",
                   what, dims, what, str(list).c_str());
}

Shape check(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
            bool transposed, IntList output_padding, int64_t groups) {
    int64_t dims = weight.dim() - 2;
    KINDLING_CHECK(Runtime, dims >= 1 && dims <= 3, "weight should have at least three dimensions");
    KINDLING_CHECK(Runtime, groups > 0, "expected groups to be greater than 0, but got groups=%ld", groups);
    KINDLING_CHECK(Runtime, input.dtype() == weight.dtype(), "Input type (%s) and bias type (%s) should be the same", name(input.dtype()),
                   name(weight.dtype()));
    if (bias.defined())
        KINDLING_CHECK(Runtime, input.dtype() == bias.dtype(), "Input type (%s) and bias type (%s) should be the same", name(input.dtype()),
                       name(bias.dtype()));
    KINDLING_CHECK(Runtime, input.dim() == dims + 2,
                   "Expected %ldD (unbatched) or %ldD (batched) input to conv%ldd, but got input of size: %s", dims + 1, dims + 2, dims,
                   str(input.sizes()).c_str());
    need_each(stride, dims, "stride");
    need_each(padding, dims, "padding");
    need_each(dilation, dims, "dilation");
    need_each(output_padding, dims, "output_padding");
    for (int i = 0; i < dims; i++) {
        KINDLING_CHECK(Runtime, at(stride, i) > 0, "non-positive stride is not supported");
        KINDLING_CHECK(Runtime, at(padding, i) >= 0, "negative padding is not supported");
        KINDLING_CHECK(Runtime, at(dilation, i) > 0, "dilation should be greater than zero");
        if (transposed) KINDLING_CHECK(Runtime, at(output_padding, i) >= 0, "negative output_padding is not supported");
        // Below, sizes are multiplied by these and added up in 64 bits.
        int64_t largest = std::max({at(stride, i), at(padding, i), at(dilation, i), transposed ? at(output_padding, i) : 0});
        KINDLING_CHECK(Runtime, largest <= INT32_MAX, "conv%ldd: a stride, padding or dilation of %ld is out of range", dims, largest);
        KINDLING_CHECK(Runtime, std::max(input.size(i + 2), weight.size(i + 2)) <= INT64_MAX >> 34,
                       "conv%ldd: input %s and weight %s are too large", dims, str(input.sizes()).c_str(), str(weight.sizes()).c_str());
    }
    Shape shape;
    library::Convolution& c = shape.c;
    c.dtype = input.dtype();
    c.dims = static_cast<int>(dims);
    c.batch = input.size(0);
    c.groups = groups;
    KINDLING_CHECK(Runtime, weight.size(0) >= groups,
                   "Given groups=%ld, expected weight to be at least %ld at dimension 0, but got weight of size %s instead", groups, groups,
                   str(weight.sizes()).c_str());
    if (!transposed) {
        KINDLING_CHECK(Runtime, weight.size(0) % groups == 0,
                       "Given groups=%ld, expected weight to be divisible by %ld at dimension 0, but got weight of size %s instead", groups,
                       groups, str(weight.sizes()).c_str());
        KINDLING_CHECK(Runtime, input.size(1) == weight.size(1) * groups,
                       "Given groups=%ld, weight of size %s, expected input%s to have %ld channels, but got %ld channels instead", groups,
                       str(weight.sizes()).c_str(), str(input.sizes()).c_str(), weight.size(1) * groups, input.size(1));
        KINDLING_CHECK(Runtime, !bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)),
                       "Given weight of size %s, expected bias to be 1-dimensional with %ld elements, but got bias of size %s instead",
                       str(weight.sizes()).c_str(), weight.size(0), bias.defined() ? str(bias.sizes()).c_str() : "");
        c.in_channels = input.size(1);
        c.out_channels = weight.size(0);
    } else {
        KINDLING_CHECK(Runtime, input.size(1) == weight.size(0),
                       "Given transposed=1, weight of size %s, expected input%s to have %ld channels, but got %ld channels instead",
                       str(weight.sizes()).c_str(), str(input.sizes()).c_str(), weight.size(0), input.size(1));
        KINDLING_CHECK(Runtime, weight.size(0) % groups == 0,
                       "Given groups=%ld, expected weight to be divisible by %ld at dimension 0, but got weight of size %s instead", groups,
                       groups, str(weight.sizes()).c_str());
        KINDLING_CHECK(
            Runtime, !bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(1) * groups),
            "Given transposed=1, weight of size %s, expected bias to be 1-dimensional with %ld elements, but got bias of size %s instead",
            str(weight.sizes()).c_str(), weight.size(1) * groups, bias.defined() ? str(bias.sizes()).c_str() : "");
        c.in_channels = weight.size(1) * groups; // of the convolution that leads back
        c.out_channels = weight.size(0);
    }
    shape.out.push_back(input.size(0));
    shape.out.push_back(!input.size(1) ? 0 : transposed ? c.in_channels : c.out_channels); // of no channels none come, as in torch
    const bool no_places = !input.numel() && input.size(0) && input.size(1) && input.device().type != DeviceType::Meta;
    for (int i = 0; i < dims; i++) {
        int64_t kernel = weight.size(i + 2), size = input.size(i + 2);
        c.kernel[i] = kernel;
        c.stride[i] = at(stride, i);
        c.padding[i] = at(padding, i);
        c.dilation[i] = at(dilation, i);
        int64_t result;
        if (!transposed) {
            int64_t room = size + 2 * c.padding[i], reach = c.dilation[i] * (kernel - 1) + 1;
            KINDLING_CHECK(
                Runtime, kernel > 0 && room >= reach,
                "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than actual input size",
                by_dimension(dims, [&](int d) { return input.size(d + 2) + 2 * at(padding, d); }).c_str(),
                by_dimension(dims, [&](int d) { return at(dilation, d) * (weight.size(d + 2) - 1) + 1; }).c_str());
            result = (room - reach) / c.stride[i] + 1;
            c.in[i] = size;
            c.out[i] = result;
        } else {
            KINDLING_CHECK(
                Runtime, at(output_padding, i) < std::max(c.stride[i], c.dilation[i]),
                "output padding must be smaller than either stride or dilation, but got output_padding: %ld, stride: %ld, dilation: %ld",
                at(output_padding, i), c.stride[i], c.dilation[i]);
            result = (size - 1) * c.stride[i] - 2 * c.padding[i] + c.dilation[i] * (kernel - 1) + at(output_padding, i) + 1;
            KINDLING_CHECK(Runtime, result > 0 || no_places,
                           "Given input size per channel: (%ld). Calculated output size per channel: (%ld). Output size is too small", size,
                           result);
            c.in[i] = result;
            c.out[i] = size;
        }
        shape.out.push_back(result);
    }
    if (no_places) {
        Sizes sizes(input.sizes());
        if (dims == 1) sizes.insert(2, 1); // torch's words are of two dimensions
        fail(ErrorKind::Runtime, "Only zero batch or zero channel inputs are supported, but got input shape: %s", str(sizes).c_str());
    }
    return shape;
}

bool channels_last(const Tensor& input, const Tensor& weight) {
    return input.suggest_memory_format() != MemoryFormat::Contiguous ||
           (weight.dim() == 4 && weight.suggest_memory_format() != MemoryFormat::Contiguous);
}

Tensor in_format(const Tensor& result, bool last) {
    return last && result.dim() >= 4 ? contiguous(result, result.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d)
                                     : result;
}

/// Of whole numbers: a product over all windows of the input. The transpose is one over the input with zeros between its
/// elements, with the weight turned round.
Tensor of_integers(const Shape& shape, const Tensor& input, const Tensor& weight, const Tensor& bias, bool transposed) {
    const library::Convolution& c = shape.c;
    bool spread = false;
    for (int d = 0; d < c.dims; d++) spread |= c.dilation[d] > 1;
    KINDLING_CHECK(NotImplemented, input.dtype() == DType::Int64 || !(transposed || spread), "\"%s\" not implemented for '%s'",
                   transposed ? "slow_conv_transpose2d_out_cpu" : "slow_conv_dilated<>", scalar_type_name(input.dtype()));
    const int64_t batch = input.size(0), channels = input.size(1) / c.groups, out_channels = shape.out[1] / c.groups;
    Tensor x = input, w = weight;
    Sizes pad, turned;
    for (int d = 0; d < c.dims; d++) {
        if (transposed && c.stride[d] > 1) {
            Sizes wider = x.sizes();
            wider[static_cast<size_t>(d + 2)] = (x.size(d + 2) - 1) * c.stride[d] + 1;
            Tensor spread = zeros(wider, x.dtype());
            copy_(slice(spread, d + 2, std::nullopt, std::nullopt, c.stride[d]), x);
            x = spread;
        }
        turned.push_back(d + 3);
    }
    for (int d = static_cast<int>(c.dims); d-- > 0;) {
        const int64_t reach = c.dilation[d] * (c.kernel[d] - 1), low = transposed ? reach - c.padding[d] : c.padding[d];
        pad.push_back(low);
        pad.push_back(transposed ? c.in[d] + reach - low - x.size(d + 2) : low);
    }
    x = contiguous(constant_pad_nd(x, pad, Scalar(0)));
    if (transposed) {
        Sizes split = {c.groups, channels, out_channels};
        for (int d = 0; d < c.dims; d++) split.push_back(weight.size(d + 2));
        w = flip(transpose(reshape(weight, split), 1, 2), turned);
    }
    // Windows: groups, channels, taps, samples, places.
    Sizes sizes = {c.groups, channels}, strides = {channels * x.stride(1), x.stride(1)}, result = {c.groups, out_channels, batch};
    for (int d = 0; d < c.dims; d++) sizes.push_back(c.kernel[d]), strides.push_back(x.stride(d + 2) * c.dilation[d]);
    sizes.push_back(batch), strides.push_back(x.stride(0));
    for (int d = 0; d < c.dims; d++) {
        sizes.push_back(shape.out[static_cast<size_t>(d + 2)]), strides.push_back(x.stride(d + 2) * (transposed ? 1 : c.stride[d]));
        result.push_back(sizes.back());
    }
    const int64_t taps = w.numel() / std::max<int64_t>(c.groups * out_channels, 1);
    Tensor product =
        bmm(reshape(w, {c.groups, out_channels, taps}), reshape(make_view(x, sizes, strides, x.storage_offset()), {c.groups, taps, -1}));
    Tensor out = reshape(movedim(reshape(product, result), {2}, {0}), shape.out);
    if (!bias.defined()) return out;
    Sizes along(shape.out.size(), 1);
    along[1] = shape.out[1];
    return add(out, reshape(bias, along));
}

/// A result in the memory format of `input` or `weight`.
void give(KernelCall& call, IntList sizes, DType dtype, const Tensor& input, const Tensor& weight) {
    KernelCall::Result& result = call.gives(sizes, dtype);
    if (sizes.size() >= 4 && channels_last(input, weight))
        result.laid_out(format_strides(sizes, sizes.size() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d));
}

int64_t multiplications(const library::Convolution& c) {
    int64_t count = c.batch * c.in_channels * c.out_channels / c.groups;
    for (int d = 0; d < c.dims; d++) count *= c.kernel[d] * c.out[d];
    return count;
}

/// Whether an image has the same bits whatever others are there. With steps, and for small images, the way of computing depends on
/// their number.
bool by_images(const library::Convolution& c) {
    int64_t places = 1;
    bool steps = false;
    for (int d = 0; d < c.dims; d++) places *= c.out[d], steps |= c.stride[d] != 1;
    return !steps && places >= 64 && kind_of(c.dtype) == kind::Float;
}

struct Convolved {
    library::Convolution c;
    bool transposed;
};

/// A single value is meant for every dimension; unbatched inputs get a batch of one.
Tensor plain(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
             bool transposed, IntList output_padding, int64_t groups, int64_t dims) {
    KINDLING_CHECK(Runtime, weight.dim() == dims + 2, "Expected %ldD weight for conv%s%ldd, but got weight of size: %s", dims + 2,
                   transposed ? "_transpose" : "", dims, str(weight.sizes()).c_str());
    KINDLING_CHECK(Runtime, input.dim() == dims + 1 || input.dim() == dims + 2,
                   "Expected %ldD (unbatched) or %ldD (batched) input to conv%s%ldd, but got input of size: %s", dims + 1, dims + 2,
                   transposed ? "_transpose" : "", dims, str(input.sizes()).c_str());
    need_each(stride, dims, "stride"); // before what is wrong with the batch that is added
    need_each(padding, dims, "padding");
    need_each(dilation, dims, "dilation");
    need_each(output_padding, dims, "output_padding");
    bool open = input.dim() == dims + 2;
    Tensor result = kindling::convolution(open ? input : unsqueeze(input, 0), weight, bias, stride, padding, dilation, transposed,
                                          output_padding, groups);
    return open ? result : squeeze(result, 0);
}

Tensor padded_by_name(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, Text padding, IntList dilation,
                      int64_t groups, int64_t dims) {
    if (padding == "valid") return plain(input, weight, bias, stride, {0}, dilation, false, {0}, groups, dims);
    KINDLING_CHECK(Runtime, padding == "same", "Invalid padding string: '%s'", std::string(padding).c_str());
    KINDLING_CHECK(Runtime, weight.dim() == dims + 2, "Expected %ldD weight for conv%ldd, but got weight of size: %s", dims + 2, dims,
                   str(weight.sizes()).c_str());
    Sizes both, extra;
    bool even = true;
    for (int i = 0; i < dims; i++) {
        KINDLING_CHECK(Runtime, at(stride, i) == 1, "padding='same' is not supported for strided convolutions");
        int64_t total = at(dilation, i) * (weight.size(i + 2) - 1);
        both.push_back(total / 2);
        even &= total % 2 == 0;
    }
    if (even) return plain(input, weight, bias, stride, both, dilation, false, {0}, groups, dims);
    for (int i = static_cast<int>(dims); i-- > 0;) {
        int64_t total = at(dilation, i) * (weight.size(i + 2) - 1);
        extra.push_back(0);
        extra.push_back(total % 2);
    }
    return plain(constant_pad_nd(input, extra, Scalar(0)), weight, bias, stride, both, dilation, false, {0}, groups, dims);
}

} // namespace
} // namespace kindling

OPERATORS(convolution) {
    declare("convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
            "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor")({
        doc("Cross-correlation over one to three dimensions, or its transpose"),
        in(space::Torch),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
               IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
                Shape shape = check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
                for (const Tensor* each : {&input, &weight, &bias}) call.reads(*each);
                give(call, shape.out, input.dtype(), input, weight);
                call.costs(multiplications(shape.c));
                if (is_integral(input.dtype()) && checked_numel(shape.out)) call.declines();
                if (!transposed && by_images(shape.c)) call.goes_by_rows(1);
                return Convolved{shape.c, transposed};
            },
            [](const Convolved& how, const Array& input, const Array& weight, const Array& bias, const Array& result) {
                library::Convolution c = how.c;
                c.batch = input.size(0);
                (how.transposed ? library::convolution_input_gradient : library::convolution)(c, input.data(), weight.data(), bias.data(),
                                                                                              result.data());
            }),
        by_rows(),
        otherwise([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                     bool transposed, IntList output_padding, int64_t groups) {
            Shape shape = check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
            return in_format(contiguous(of_integers(shape, input, weight, bias, transposed)), channels_last(input, weight));
        }),
        derivative(
            "input, weight, bias",
            GIVEN(Tensor grad, Tensor input, Tensor weight, IntList stride, IntList padding, IntList dilation, bool transposed,
                  IntList output_padding, int64_t groups, Wanted wanted) {
                bool mask[3] = {wanted[0], wanted[1], wanted[2]};
                return convolution_backward(grad, input, weight, std::nullopt, stride, padding, dilation, transposed, output_padding,
                                            groups, Span<bool>(mask, 3));
            }),
        forward(GIVEN(Tensor input, Tensor input_t, Tensor weight, Tensor weight_t, Tensor bias_t, Tensor result, IntList stride,
                      IntList padding, IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
            Tensor t, bias = bias_t; // the first product takes it along
            for (const auto& [x, w] : {std::pair(input_t, weight), std::pair(input, weight_t)}) {
                if (!x.defined() || !w.defined()) continue;
                Tensor part =
                    convolution(x, w, std::exchange(bias, Tensor()), stride, padding, dilation, transposed, output_padding, groups);
                t = t.defined() ? add(t, part) : part;
            }
            if (!bias.defined()) return t;
            Sizes channels(static_cast<size_t>(result.dim()), 1);
            channels[static_cast<size_t>(input.dim() == weight.dim())] = bias.numel();
            return expand(view(bias, channels), result.sizes());
        }),
    });
    declare("_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
            "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool "
            "allow_tf32) -> Tensor")({
        doc("convolution, as PyTorch's traces and saved programs call it: the flags are of GPUs"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                       bool transposed, IntList output_padding, int64_t groups, bool, bool, bool,
                       bool) { return convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups); }),
    });
    declare("convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
            "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
            "(Tensor, Tensor, Tensor)")({
        doc("The gradients of a convolution's input, weight and bias"),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, const Tensor& input, const Tensor& weight, std::optional<IntList>,
               IntList stride, IntList padding, IntList dilation, bool transposed, IntList output_padding, int64_t groups,
               Span<bool> output_mask) {
                const library::Convolution c =
                    check(input, weight, Tensor(), stride, padding, dilation, transposed, output_padding, groups).c;
                for (int64_t each : output_padding)
                    KINDLING_CHECK(Runtime, transposed || !each,
                                   "output_padding is not supported for non-transposed convolutions; got: %ld", each);
                const DType dtype = input.dtype();
                call.reads(grad_output, dtype);
                for (const Tensor* each : {&input, &weight}) call.reads(is_complex(dtype) ? conj(*each) : *each);
                if (!output_mask[0]) call.gives_none();
                else give(call, input.sizes(), dtype, input, weight);
                if (!output_mask[1]) call.gives_none();
                else call.gives(weight.sizes(), dtype);
                if (!output_mask[2]) call.gives_none();
                else call.gives({input.size(1) ? grad_output.size(1) : transposed ? c.in_channels : c.out_channels}, dtype);
                for (int i = 0; i < 3; i++) call.result(i).zeros = i == 2 ? !input.size(1) : !grad_output.numel();
                call.costs(multiplications(c));
                return Convolved{c, transposed};
            },
            [](const Convolved& how, const Array& grad, const Array& input, const Array& weight, const Array& grad_input,
               const Array& grad_weight, const Array& grad_bias) {
                const bool some = grad.numel();
                if (some && grad_input.defined() && grad_input.numel())
                    (how.transposed ? library::convolution : library::convolution_input_gradient)(how.c, grad.data(), weight.data(),
                                                                                                  nullptr, grad_input.data());
                if (some && grad_weight.defined() && grad_weight.numel())
                    library::convolution_weight_gradient(how.c, how.transposed ? grad.data() : input.data(),
                                                         how.transposed ? input.data() : grad.data(), grad_weight.data());
                if (grad_bias.defined() && input.size(1)) {
                    const int64_t channels = grad.size(1), space = grad.numel() / std::max<int64_t>(grad.size(0) * channels, 1);
                    library::convolution_bias_gradient(grad.dtype(), grad.size(0), channels, space, grad.data(), grad_bias.data());
                }
            }),
        derivative(
            "grad_output, input, weight",
            GIVEN(TensorList grads, Tensor grad_output, Tensor input, Tensor weight, IntList stride, IntList padding, IntList dilation,
                  bool transposed, IntList output_padding, int64_t groups, Wanted wanted) {
                // Everything is linear in each of the three: the second derivatives are convolutions again.
                Tensor gg, gi, gw, none;
                if (wanted[0]) {
                    if (grads[0].defined())
                        gg = convolution(grads[0], weight, none, stride, padding, dilation, transposed, output_padding, groups);
                    if (grads[1].defined()) {
                        Tensor part = convolution(input, grads[1], none, stride, padding, dilation, transposed, output_padding, groups);
                        gg = gg.defined() ? add(gg, part) : part;
                    }
                    if (grads[2].defined()) {
                        Sizes shape(static_cast<size_t>(grad_output.dim()), 1);
                        shape[1] = grads[2].size(0);
                        Tensor part = expand(reshape(grads[2], shape), grad_output.sizes());
                        gg = gg.defined() ? add(gg, part) : part;
                    }
                }
                bool only_input[3] = {true, false, false}, only_weight[3] = {false, true, false};
                if (wanted[1] && grads[1].defined())
                    gi = std::get<0>(convolution_backward(grad_output, input, grads[1], std::nullopt, stride, padding, dilation, transposed,
                                                          output_padding, groups, Span<bool>(only_input, 3)));
                if (wanted[2] && grads[0].defined())
                    gw = std::get<1>(convolution_backward(grad_output, grads[0], weight, std::nullopt, stride, padding, dilation,
                                                          transposed, output_padding, groups, Span<bool>(only_weight, 3)));
                return std::tuple<Tensor, Tensor, Tensor>(gg, gi, gw);
            }),
    });
    declare("conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
            "SymInt[1] dilation=1, SymInt groups=1) -> Tensor")({
        doc("Convolution over one dimension"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                       int64_t groups) { return plain(input, weight, bias, stride, padding, dilation, false, {0}, groups, 1); }),
    });
    declare("conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str padding=\"valid\", "
            "SymInt[1] dilation=1, SymInt groups=1) -> Tensor")({
        doc("Convolution over one dimension, padded 'same' or 'valid'"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, Text padding, IntList dilation,
                       int64_t groups) { return padded_by_name(input, weight, bias, stride, padding, dilation, groups, 1); }),
    });
    declare("conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
            "SymInt[2] dilation=1, SymInt groups=1) -> Tensor")({
        doc("Convolution over two dimensions"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                       int64_t groups) { return plain(input, weight, bias, stride, padding, dilation, false, {0}, groups, 2); }),
        refuses("torch.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3))", "RuntimeError: Given groups=1, weight of size"),
    });
    declare("conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding=\"valid\", "
            "SymInt[2] dilation=1, SymInt groups=1) -> Tensor")({
        doc("Convolution over two dimensions, padded 'same' or 'valid'"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, Text padding, IntList dilation,
                       int64_t groups) { return padded_by_name(input, weight, bias, stride, padding, dilation, groups, 2); }),
    });
    declare("conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, "
            "SymInt[3] dilation=1, SymInt groups=1) -> Tensor")({
        doc("Convolution over three dimensions"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                       int64_t groups) { return plain(input, weight, bias, stride, padding, dilation, false, {0}, groups, 3); }),
    });
    declare("conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str padding=\"valid\", "
            "SymInt[3] dilation=1, SymInt groups=1) -> Tensor")({
        doc("Convolution over three dimensions, padded 'same' or 'valid'"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, Text padding, IntList dilation,
                       int64_t groups) { return padded_by_name(input, weight, bias, stride, padding, dilation, groups, 3); }),
    });
    declare("conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
            "SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> Tensor")({
        doc("The transpose of a convolution over one dimension"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                       IntList output_padding, int64_t groups, IntList dilation) {
            return plain(input, weight, bias, stride, padding, dilation, true, output_padding, groups, 1);
        }),
    });
    declare("conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
            "SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor")({
        doc("The transpose of a convolution over two dimensions"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                       IntList output_padding, int64_t groups, IntList dilation) {
            return plain(input, weight, bias, stride, padding, dilation, true, output_padding, groups, 2);
        }),
    });
    declare("conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, "
            "SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] dilation=1) -> Tensor")({
        doc("The transpose of a convolution over three dimensions"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                       IntList output_padding, int64_t groups, IntList dilation) {
            return plain(input, weight, bias, stride, padding, dilation, true, output_padding, groups, 3);
        }),
    });
    declare("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor")({
        doc("Convolution over time of input [time, batch, channels] with weight [time, in, out]"),
        flags(trait::AutocastLower),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
            KINDLING_CHECK(Runtime, self.dim() == 3 && weight.dim() == 3 && bias.dim() == 1,
                           "conv_tbc: input and weight must have 3 dims, bias 1");
            return permute(conv1d(permute(self, {1, 2, 0}), permute(weight, {2, 1, 0}), bias, {1}, {pad}), {2, 0, 1});
        }),
    });
}
