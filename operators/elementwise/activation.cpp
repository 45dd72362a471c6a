// operators/elementwise/activation.cpp: activation functions, softmax and dropout.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

Sym zero_like(const Sym& x) { return like(x, 0); }
Sym one_like(const Sym& x) { return like(x, 1); }

/// Along rows of `dim`: what softmax and log_softmax, and their gradients, have in common.
void soft(KernelCall& call, const Tensor& self, int64_t dim) {
    const DType dtype = self.dtype();
    const int64_t d = wrap_dim(dim, self.dim());
    if (!is_floating(dtype) && !self.numel()) return call.declines(); // of nothing it is nothing, whatever the dtype
    KINDLING_CHECK(NotImplemented, is_floating(dtype), "\"softmax_lastdim_kernel_impl\" not implemented for '%s'", scalar_type_name(dtype));
    call.along(self, uint64_t{1} << d, value_type(dtype));
    call.reads_as_it_lies(self);
    call.gives(self.sizes(), dtype).written_as_it_lies();
}
void soft_gradient(KernelCall& call, const Tensor& grad, const Tensor& output, int64_t dim) {
    soft(call, grad, dim);
    KINDLING_CHECK(Runtime, output.sizes() == grad.sizes(),
                   "softmax's gradient: its result and the gradient of it must have the same shape, got %s for the latter",
                   str(grad.sizes()).c_str());
    call.reads_as_it_lies(output);
}

/// The dtype of softmax's input is not asked, but for one of float16 under a gradient in float32.
void check_soft(const Tensor& grad, const Tensor& output, DType input_dtype, const char* kernel) {
    KINDLING_CHECK(NotImplemented, is_floating(grad.dtype()) || !grad.numel(), "\"%s\" not implemented for '%s'", kernel,
                   scalar_type_name(grad.dtype()));
    for (DType other : {output.dtype(), grad.dtype() == DType::Float32 && input_dtype == DType::Float16 ? input_dtype : grad.dtype()})
        KINDLING_CHECK(Runtime, other == grad.dtype(), "expected scalar type %s but found %s", scalar_type_name(grad.dtype()),
                       scalar_type_name(other));
}

Tensor dropped(const Tensor& input, double p, bool train, bool feature, bool alpha, bool in_place = false) {
    KINDLING_CHECK(Runtime, p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got %g", p);
    if (p == 0 || !train || input.numel() == 0) return input;
    auto times = [&](const Tensor& factor) { return in_place ? mul_(input, factor) : mul(input, factor); };
    if (p == 1) return times(zeros({}, input.dtype()));
    Sizes shape = input.sizes();
    if (feature) {
        KINDLING_CHECK(Runtime, input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
        for (size_t i = 2; i < shape.size(); i++) shape[i] = 1;
    }
    KINDLING_CHECK(Runtime, category(input.dtype()) >= 2, "result type Float can't be cast to the desired output type %s",
                   scalar_type_name(input.dtype()));
    const bool kept = thread_state.grad_mode && input.requires_grad(); // for backward
    if (thread_state.recording && kind_of(input.dtype()) & kind::Floats &&
        !(kept || feature || alpha || thread_state.levels || thread_state.include & key::watching)) {
        const Tensor mask = bernoulli_(empty_like(input, DType::Bool), 1 - p); // the same draws; loops that are put off read a byte of it
        return times(div(to(mask, input.dtype()), wrap_number(Scalar(1 - p))));
    }
    Tensor noise = feature || thread_state.levels ? empty(shape, input.dtype(), std::nullopt, input.device()) : empty_like(input);
    noise = thread_state.levels ? bernoulli(noise, 1 - p) : bernoulli_(noise, 1 - p); // vmap may want one for each slice
    if (alpha) {
        double scale = 1.7580993408473766, a = 1 / __builtin_sqrt((scale * scale * p + 1) * (1 - p));
        Tensor b = add(mul(sub(noise, wrap_number(Scalar(1))), wrap_number(Scalar(scale * a))), wrap_number(Scalar(scale * a * p)));
        Tensor product = times(mul_(noise, wrap_number(Scalar(a))));
        return in_place ? add_(product, b) : add(product, b);
    }
    return times(div_(noise, wrap_number(Scalar(1 - p))));
}

/// From a result nothing can be told where the slope is negative.
void need_slope(bool from_result, const Scalar& slope, const char* name) {
    KINDLING_CHECK(Runtime, !from_result || slope.to_double() >= 0,
                   "In-place %s backward calculation is triggered with a negative slope which is not supported. "
                   "This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead.",
                   name);
}

} // namespace
} // namespace kindling

OPERATORS(activation) {
    declare("relu(Tensor self) -> Tensor")({
        doc("max(self, 0)"),
        no_out(),
        pointwise([](auto x) {
            if (x.dtype() == DType::Bool) fail(ErrorKind::Runtime, "Boolean inputs not supported for relu");
            if (is_complex(x.dtype())) fail(ErrorKind::NotImplemented, "clamp is not supported for complex types");
            return max(zero_like(x), x);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor result) { return threshold_backward(grad, result, Scalar(0)); }),
    });
    declare("relu6(Tensor self) -> Tensor")({
        doc("min(max(self, 0), 6)"),
        in(space::Nn),
        has_inplace(),
        no_out(),
        composition([](const Tensor& self) { return hardtanh(self, Scalar(0), Scalar(6)); }),
    });
    declare("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor")({
        doc("self where it is above the threshold, value elsewhere"),
        in(space::Torch | space::Nn),
        takes(kind::Integers | kind::Floats),
        pointwise([](auto x, auto threshold, auto value) { return where(x <= threshold, cast(value, x.dtype()), x); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Scalar threshold) { return threshold_backward(grad, self, threshold); }),
    });
    declare("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor")({
        doc("grad_output where self is above the threshold, 0 elsewhere"),
        takes(kind::All & ~kind::Bool),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise([](auto grad, auto x, auto threshold) { return where(x <= threshold, zero_like(grad), grad); }),
        derivative(
            "grad_output", GIVEN(Tensor grad, Tensor self, Scalar threshold) { return threshold_backward(grad, self, threshold); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("gelu(Tensor self, *, str approximate='none') -> Tensor")({
        doc("x times the normal distribution function (Hendrycks and Gimpel, 2016), exact or by tanh"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        pointwise([](auto x, auto approximate) {
            if (approximate == "tanh")
                return like(x, 0.5) * x * (one_like(x) + tanh(like(x, 0.79788456080286535588) * (x + like(x, 0.044715) * x * x * x)));
            if (approximate != "none") fail(ErrorKind::Runtime, "approximate argument must be either none or tanh.");
            return like(x, 0.5) * x * (one_like(x) + erf(x * like(x, 0.70710678118654752440)));
        }),
        refuses("torch.nn.functional.gelu(torch.ones(2), approximate='cubic')",
                "RuntimeError: approximate argument must be either none or tanh"),
    });
    declare("silu(Tensor self) -> Tensor")({
        doc("x * sigmoid(x) (Elfwing et al., 2017)"),
        out_same(),
        takes(kind::Floats | kind::Complex),
        in(space::Nn),
        pointwise([](auto x) { return x / (one_like(x) + exp(-x)); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return silu_backward(grad, self); }),
    });
    declare("silu_backward(Tensor grad_output, Tensor self) -> Tensor")({
        doc("The gradient through silu"),
        takes(kind::Floats | kind::Complex),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise([](auto grad, auto x) {
            Sym s = sigmoid(x);
            return grad * s * (one_like(x) + x * (one_like(x) - s));
        }),
    });
    declare("mish(Tensor self) -> Tensor")({
        doc("x * tanh(softplus(x)) (Misra, 2019)"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        pointwise([](auto x) { return x * tanh(log1p(exp(x))); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return mish_backward(grad, self); }),
    });
    declare("mish_backward(Tensor grad_output, Tensor self) -> Tensor")({
        doc("The gradient through mish"),
        takes(kind::Floats),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise([](auto grad, auto x) {
            Sym t = tanh(log1p(exp(x)));
            return grad * (t + x * sigmoid(x) * (one_like(x) - t * t));
        }),
    });
    declare("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")({
        doc("x above 0, alpha * (exp(x) - 1) below (Clevert et al., 2015)"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        pointwise([](auto x, auto alpha, auto scale, auto input_scale) {
            return where(x < zero_like(x), expm1(x * input_scale) * (alpha * scale), x * scale); // 0 at 0, however large alpha is
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Scalar alpha, Scalar scale,
                          Scalar input_scale) { return elu_backward(grad, alpha, scale, input_scale, false, self); }),
    });
    declare("_elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
            "Tensor self_or_result) -> Tensor")({
        doc("elu_backward, for an alpha known to be right"),
        takes(kind::Floats),
        in(space::Hidden),
        no_inplace(),
        no_out(),
        not_differentiable(),
        pointwise([](auto grad, auto alpha, auto scale, auto input_scale, auto is_result, auto x) {
            Sym up = alpha * scale;
            Sym scaled = grad * input_scale; // in this order, so that what overflows is what overflows in PyTorch
            return where(x <= zero_like(x), flag(is_result) ? scaled * (x + up) : scaled * up * exp(x * input_scale), grad * scale);
        }),
    });
    declare("elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
            "Tensor self_or_result) -> Tensor")({
        doc("The gradient through elu, from its argument or from its result; at 0 that from below"),
        in(space::Hidden),
        no_inplace(),
        composition([](const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, bool is_result,
                       const Tensor& self_or_result) {
            need_slope(is_result, alpha, "elu");
            return _elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result);
        }),
        derivative(
            "grad_output", GIVEN(Tensor grad, Tensor self_or_result, Scalar alpha, Scalar scale, Scalar input_scale,
                                 bool is_result) { return elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result); }),
        derivative(
            "self_or_result",
            GIVEN(Tensor grad, Tensor grad_output, Tensor self_or_result, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result) {
                // Where the branches meet it is 0.
                Tensor moved = mul(mul(grad, grad_output), wrap_number(input_scale));
                if (!is_result) moved = elu_backward(moved, alpha, scale, input_scale, false, self_or_result);
                return mul(moved, to(lt(self_or_result, Scalar(0)), grad.dtype()));
            }),
    });
    declare("celu(Tensor self, Scalar alpha=1.0) -> Tensor")({
        doc("max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017)"),
        has_inplace(),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Scalar& alpha) {
            KINDLING_CHECK(Runtime, alpha.to_double() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
            return elu(self, alpha, Scalar(1.0), Scalar(1.0 / alpha.to_double()));
        }),
    });
    declare("selu(Tensor self) -> Tensor")({
        doc("elu with the constants of self-normalising networks (Klambauer et al., 2017)"),
        has_inplace(),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self) {
            return elu(self, Scalar(1.6732632423543772848170429916717), Scalar(1.0507009873554804934193349852946), Scalar(1.0));
        }),
    });
    declare("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")({
        doc("x above 0, negative_slope * x below"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        pointwise([](auto x, auto slope) { return where(x > zero_like(x), x, x * slope); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Scalar negative_slope) { return leaky_relu_backward(grad, self, negative_slope, false); }),
    });
    // The gradients of functions made of straight pieces do not move with their argument, yet require grad with it, as PyTorch's do.
    declare("_leaky_relu_backward(Tensor self, Tensor grad_output, Scalar negative_slope) -> Tensor")({
        doc("leaky_relu_backward, for a slope known to be right"),
        takes(kind::Floats),
        in(space::Hidden),
        no_inplace(),
        no_out(),
        not_differentiable(),
        pointwise([](auto x, auto grad, auto slope) { return where(x > zero_like(x), grad, grad * slope); }),
    });
    declare("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor")({
        doc("The gradient through leaky_relu, from its argument or, where the slope is positive, from its result"),
        in(space::Hidden),
        no_inplace(),
        composition([](const Tensor& grad, const Tensor& self, const Scalar& slope, bool self_is_result) {
            need_slope(self_is_result, slope, "leakyReLu");
            return _leaky_relu_backward(self, grad, slope);
        }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, Tensor self, Scalar negative_slope) { return leaky_relu_backward(grad, self, negative_slope, false); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor")({
        doc("Limited to [min_val, max_val]"),
        out_same(),
        in(space::Nn),
        flags(trait::OwnNumbers),
        pointwise([](auto x, auto low, auto high) {
            if (x.dtype() == DType::Bool) fail(ErrorKind::Runtime, "Bool inputs not supported for hardtanh");
            if (is_complex(x.dtype())) fail(ErrorKind::NotImplemented, "clamp is not supported for complex types");
            return min(high, max(low, x)); // of two zeros the second, as clamp
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Scalar min_val, Scalar max_val) { return hardtanh_backward(grad, self, min_val, max_val); }),
    });
    declare("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor")({
        doc("The gradient through hardtanh"),
        takes(kind::Floats),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise([](auto grad, auto x, auto low, auto high) { return where((x <= low) | (x >= high), zero_like(grad), grad); }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, Tensor self, Scalar min_val, Scalar max_val) { return hardtanh_backward(grad, self, min_val, max_val); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("hardsigmoid(Tensor self) -> Tensor")({
        doc("min(max(x + 3, 0), 6) / 6"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        pointwise([](auto x) { return min(max(x + like(x, 3), zero_like(x)), like(x, 6)) / like(x, 6); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return hardsigmoid_backward(grad, self); }),
    });
    declare("hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor")({
        doc("The gradient through hardsigmoid"),
        takes(kind::Floats),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise(
            [](auto grad, auto x) { return where((x > like(x, -3)) & (x < like(x, 3)), grad * like(grad, 1.0 / 6), zero_like(grad)); }),
    });
    declare("hardswish(Tensor self) -> Tensor")({
        doc("x * min(max(x + 3, 0), 6) / 6 (Howard et al., 2019)"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        pointwise([](auto x) { return x * min(max(x + like(x, 3), zero_like(x)), like(x, 6)) / like(x, 6); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return hardswish_backward(grad, self); }),
    });
    declare("hardswish_backward(Tensor grad_output, Tensor self) -> Tensor")({
        doc("The gradient through hardswish"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise([](auto grad, auto x) {
            return where(x <= like(x, -3), zero_like(grad),
                         where(x < like(x, 3), grad * (min(max(x, like(x, -3)), like(x, 3)) / like(x, 3) + like(x, 0.5)),
                               grad)); // infinities would make NaN of the derivative
        }),
    });
    declare("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor")({
        doc("0 in [-lambd, lambd], x elsewhere"),
        out_same(),
        takes(kind::Floats),
        no_inplace(),
        flags(trait::OwnNumbers),
        pointwise([](auto x, auto lambd) { return where((x >= -lambd) & (x <= lambd), zero_like(x), x); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Scalar lambd) { return hardshrink_backward(grad, self, lambd); }),
    });
    declare("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor")({
        doc("The gradient through hardshrink"),
        takes(kind::Floats),
        in(space::Hidden),
        no_inplace(),
        flags(trait::OwnNumbers),
        pointwise([](auto grad, auto x, auto lambd) { return where((x >= -lambd) & (x <= lambd), zero_like(grad), grad); }),
        derivative(
            "grad_out", GIVEN(Tensor grad, Tensor self, Scalar lambd) { return hardshrink_backward(grad, self, lambd); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("_softshrink(Tensor self, Scalar lambd) -> Tensor")({
        doc("softshrink, for a lambd known to be right"),
        takes(kind::Floats),
        in(space::Hidden),
        no_inplace(),
        not_differentiable(),
        pointwise([](auto x, auto lambd) { return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * zero_like(x))); }),
    });
    declare("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor")({
        doc("x moved towards 0 by lambd, 0 in [-lambd, lambd]"),
        in(space::Nn),
        no_inplace(),
        composition([](const Tensor& self, Scalar lambd) {
            KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"softshrink_check\" not implemented for '%s'",
                           scalar_type_name(self.dtype()));
            double most = self.dtype() == DType::Float16   ? 65504
                          : self.dtype() == DType::Float64 ? std::numeric_limits<double>::max()
                                                           : std::numeric_limits<float>::max();
            KINDLING_CHECK(Runtime, lambd.to_double() >= 0 && lambd.to_double() <= most,
                           "lambda must be in range [0, %g] for input dtype %s, but found %g", most, scalar_type_name(self.dtype()),
                           lambd.to_double());
            return _softshrink(self, lambd);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Scalar lambd) { return softshrink_backward(grad, self, lambd); }),
        refuses("torch.nn.functional.softshrink(torch.ones(2), 'a')", "TypeError"),
        refuses("torch.nn.functional.softshrink(torch.ones(2), -0.5)",
                "RuntimeError: lambda must be in range \\[0, 3.40282e\\+38\\] for input dtype Float, but found -0.5"),
    });
    declare("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor")({
        doc("The gradient through softshrink"),
        in(space::Hidden),
        no_inplace(),
        composition([](const Tensor& grad_output, const Tensor& self, const Scalar& lambd) {
            return hardshrink_backward(grad_output, self, lambd);
        }),
    });
    declare("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor")({
        doc("log(1 + exp(beta * x)) / beta; x itself above the threshold"),
        out_same(),
        takes(kind::Floats),
        in(space::Nn),
        no_inplace(),
        pointwise([](auto x, auto beta, auto threshold) { return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Scalar beta, Scalar threshold) { return softplus_backward(grad, self, beta, threshold); }),
    });
    declare("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor")({
        doc("The gradient through softplus"),
        takes(kind::Floats),
        in(space::Nn | space::Hidden),
        no_inplace(),
        pointwise([](auto grad, auto x, auto beta, auto threshold) {
            Sym t = x * beta; // from the threshold on its slope is 0
            return where(t > threshold, grad, grad * sigmoid(where(t >= threshold, threshold, t)));
        }),
    });
    declare("log_sigmoid(Tensor self) -> Tensor")({
        doc("log(sigmoid(x)) without overflow"),
        out_same(),
        flags(trait::Rows),
        takes(kind::Floats),
        in(space::Nn),
        no_inplace(),
        pointwise([](auto x) { return min(x, zero_like(x)) - log1p(exp(-abs(x))); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return mul(grad, sigmoid(neg(self))); }),
    });
    declare("glu(Tensor self, int dim=-1) -> Tensor")({
        doc("The first half along a dimension times the sigmoid of the second (Dauphin et al., 2016)"),
        out_castable(),
        takes(kind::Floats),
        in(space::Nn),
        composition([](const Tensor& self, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "glu does not support 0-dimensional tensors");
            int64_t size = self.size(dim);
            KINDLING_CHECK(Runtime, size % 2 == 0, "Halving dimension must be even, but dimension %ld is size %ld",
                           wrap_dim(dim, self.dim()), size);
            return mul(narrow(self, dim, 0, size / 2), sigmoid(narrow(self, dim, size / 2, size / 2)));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, int64_t dim) {
                int64_t half = self.size(dim) / 2;
                Tensor gate = sigmoid(narrow(self, dim, half, half)), open = mul(grad, gate);
                return cat(std::vector<Tensor>{open, mul(mul(open, sub(wrap_number(Scalar(1)), gate)), narrow(self, dim, 0, half))}, dim);
            }),
    });
    declare("_prelu_kernel(Tensor self, Tensor weight) -> Tensor")({
        doc("x above 0, weight * x below; weight broadcasts"),
        takes(kind::Floats),
        checks([](const Tensor& self, const Tensor& weight) {
            KINDLING_CHECK(Runtime, self.dtype() == weight.dtype(), "Found dtype %s but expected %s", scalar_type_name(weight.dtype()),
                           scalar_type_name(self.dtype()));
        }),
        in(space::Torch),
        no_inplace(),
        pointwise([](auto x, auto w) { return where(x > zero_like(x), x, w * x); }),
        derivative(
            "self, weight", GIVEN(Tensor grad, Tensor self, Tensor weight) { return _prelu_kernel_backward(grad, self, weight); }),
    });
    declare("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)")({
        doc("The gradients through prelu, that of the weight not yet summed"),
        in(space::Hidden),
        no_out(),
        takes(kind::Floats),
        elements(
            [](KernelCall& call, const Tensor& grad, const Tensor& self, const Tensor& weight) {
                for (const Tensor* each : {&weight, &grad})
                    KINDLING_CHECK(Runtime, each->dtype() == self.dtype(), "Found dtype %s but expected %s",
                                   scalar_type_name(each->dtype()), scalar_type_name(self.dtype()));
                const Sizes sizes = broadcast_sizes(broadcast_sizes(self.sizes(), weight.sizes()), grad.sizes());
                call.along(sizes, 0, value_type(self.dtype()));
                TensorImpl* operands[] = {self.impl(), weight.impl(), grad.impl()};
                const Sizes strides = output_strides(sizes, operands, 3);
                for (const Tensor* each : {&self, &weight, &grad}) call.reads_as_it_lies(*each);
                for (int i = 0; i < 2; i++) call.gives(sizes, self.dtype()).laid_out(strides);
            },
            [](auto x, auto weight, auto grad) {
                auto above = x > 0;
                return std::pair(where(above, grad, grad * weight), where(above, like(grad, 0), grad * x));
            }),
        derivative(
            "grad_output, self, weight",
            GIVEN(TensorList grads, Tensor grad_output, Tensor self, Tensor weight) {
                Tensor above = ge(self, Scalar(0)), none = wrap_number(Scalar(0)), gg, gx = zeros(self.sizes(), self.dtype()),
                       gw = zeros(weight.sizes(), weight.dtype());
                if (grads[0].defined()) {
                    gg = where(above, grads[0], mul(grads[0], weight));
                    gw = where(above, none, mul(grads[0], grad_output));
                }
                if (grads[1].defined()) {
                    Tensor part = where(above, none, mul(grads[1], self));
                    gg = gg.defined() ? add(gg, part) : part;
                    gx = where(above, none, mul(grads[1], grad_output));
                }
                return std::tuple<Tensor, Tensor, Tensor>(gg, gx, gw);
            }),
    });
    declare("prelu(Tensor self, Tensor weight) -> Tensor")({
        doc("x above 0, weight * x below, one weight for all or for each channel (He et al., 2015)"),
        flags(trait::AutocastLower),
        no_out(),
        composition([](const Tensor& self, const Tensor& weight) {
            KINDLING_CHECK(Runtime, weight.dim() <= 1 || weight.numel() != 1,
                           "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %ld", weight.dim());
            KINDLING_CHECK(Runtime, self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got %s and %s",
                           name(self.dtype()), name(weight.dtype()));
            Tensor w = weight;
            if (weight.numel() != 1) {
                KINDLING_CHECK(Runtime, self.dim() > 0, "Not allow zero-dim input tensor.");
                int64_t channels = self.dim() > 1 ? self.size(1) : 1;
                KINDLING_CHECK(
                    Runtime, channels == weight.numel(),
                    "Mismatch of parameter numbers and input channel size. Found parameter numbers = %ld and channel size = %ld.",
                    weight.numel(), channels);
                KINDLING_CHECK(Runtime, weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %ld",
                               weight.dim());
                Sizes shape(static_cast<size_t>(self.dim()), 1);
                shape[self.dim() > 1 ? 1 : 0] = weight.numel();
                w = reshape(weight, shape);
            } else w = self.dim() ? reshape(weight, Sizes(static_cast<size_t>(self.dim()), 1)) : reshape(weight, {});
            return _prelu_kernel(self, w);
        }),
    });
    declare("rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
            "Generator? generator=None) -> Tensor")({
        doc("leaky_relu with a slope drawn from [lower, upper] for each element in training, their mean otherwise"),
        in(space::Torch),
        has_inplace(),
        random_numbers(),
        no_out(),
        composition([](const Tensor& self, const Scalar& lower, const Scalar& upper, bool training, Generator* generator) {
            for (const Scalar* bound : {&lower, &upper})
                KINDLING_CHECK(Runtime, __builtin_isfinite(bound->to_double()), "rrelu: %s bound must be finite, got %g",
                               bound == &lower ? "lower" : "upper", bound->to_double());
            KINDLING_CHECK(Runtime, lower.to_double() <= upper.to_double(), "Lower bound should be less than or equal to the upper bound");
            if (!training) return contiguous(leaky_relu(self, Scalar((lower.to_double() + upper.to_double()) / 2)));
            KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"rrelu_with_noise_out_cpu\" not implemented for '%s'",
                           scalar_type_name(self.dtype()));
            // One number in double precision for each element below or at zero, in their order, as PyTorch draws them.
            Tensor x = contiguous(self), below = le(x, Scalar(0)), slopes = ones(x.sizes(), DType::Float64, std::nullopt, x.device());
            if (!x.is_meta()) {
                for (const Scalar* bound : {&lower, &upper})
                    check_fits(*bound, self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32);
                Tensor drawn =
                    uniform_(empty({sum(below).item<int64_t>()}, DType::Float64), lower.to_double(), upper.to_double(), generator);
                slopes = masked_scatter(slopes, below, drawn);
            }
            return to(_prelu_kernel(to(x, DType::Float64), slopes), x.dtype());
        }),
    });
    declare("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")({
        doc("exp(x) / sum of exp(x) along dim, without overflow"),
        has_out(),
        in(space::Torch),
        rows(
            [](KernelCall& call, const Tensor& self, int64_t dim, bool half_to_float) {
                KINDLING_CHECK(Runtime, !half_to_float, "softmax with half to float conversion is not supported on CPU");
                soft(call, self, dim);
            },
            [](auto x) {
                auto e = exp(x - row_max(x));
                return e * reciprocal(row_sum(e));
            }),
        otherwise([](const Tensor& self, int64_t, bool) { return empty_like(self); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor result, int64_t dim,
                          Tensor self_shape) { return _softmax_backward_data(grad, result, dim, self_shape.dtype()); }),
        forward(GIVEN(Tensor self_t, Tensor result, int64_t dim) {
            return _softmax_backward_data(self_t, result, dim, result.dtype());
        }), // the Jacobian is symmetric
    });
    declare("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")({
        doc("(grad - sum(grad * output)) * output"),
        in(space::Torch),
        rows(
            [](KernelCall& call, const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype) {
                check_soft(grad, output, input_dtype, "softmax_backward_lastdim_kernel_impl");
                soft_gradient(call, grad, output, dim);
            },
            [](auto g, auto y) { return (g - row_sum(g * y)) * y; }),
        otherwise([](const Tensor& grad, const Tensor&, int64_t, DType) { return empty_like(grad); }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, Tensor output, int64_t dim, Tensor grad_output_shape) {
                return _softmax_backward_data(grad, output, dim, grad_output_shape.dtype());
            }),
        derivative(
            "output",
            GIVEN(Tensor grad, Tensor grad_output, Tensor output, int64_t dim) {
                Tensor inner = sub(grad_output, sum(mul(grad_output, output), IntList({dim}), true));
                return sub(mul(grad, inner), mul(grad_output, sum(mul(grad, output), IntList({dim}), true)));
            }),
    });
    declare("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")({
        doc("log(softmax(x)), without overflow"),
        has_out(),
        in(space::Torch),
        rows(
            [](KernelCall& call, const Tensor& self, int64_t dim, bool half_to_float) {
                KINDLING_CHECK(Runtime, !half_to_float, "softmax with half to float conversion is not supported on CPU");
                soft(call, self, dim);
            },
            [](auto x) {
                auto shifted = x - row_max(x);
                return shifted - log(row_sum(exp(shifted)));
            }),
        otherwise([](const Tensor& self, int64_t, bool) { return empty_like(self); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor result, int64_t dim,
                          Tensor self_shape) { return _log_softmax_backward_data(grad, result, dim, self_shape.dtype()); }),
        forward(
            GIVEN(Tensor self_t, Tensor result, int64_t dim) { return sub(self_t, sum(mul(exp(result), self_t), IntList({dim}), true)); }),
    });
    declare("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")({
        doc("grad - exp(output) * sum(grad)"),
        has_out(),
        in(space::Torch),
        rows(
            [](KernelCall& call, const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype) {
                check_soft(grad, output, input_dtype, "log_softmax_backward_lastdim_kernel_impl");
                soft_gradient(call, grad, output, dim);
            },
            [](auto g, auto y) { return g - exp(y) * row_sum(g); }),
        otherwise([](const Tensor& grad, const Tensor&, int64_t, DType) { return empty_like(grad); }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, Tensor output, int64_t dim) { return sub(grad, sum(mul(grad, exp(output)), IntList({dim}), true)); }),
        derivative(
            "output", GIVEN(Tensor grad, Tensor grad_output, Tensor output,
                            int64_t dim) { return neg(mul(mul(grad, exp(output)), sum(grad_output, IntList({dim}), true))); }),
    });
    declare("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")({
        doc("exp(x) / sum of exp(x) along dim, without overflow"),
        composition([](const Tensor& self, int64_t dim, DType dtype) {
            return _softmax(dtype == DType::None || dtype == self.dtype() ? self : to(self, dtype), dim, false);
        }),
        example("torch.softmax(torch.zeros(2, 4), -1)"),
        refuses("torch.softmax(torch.zeros(2), 3)", "IndexError: Dimension out of range"),
    });
    declare("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")({
        doc("softmax"),
        no_out(),
        composition([](const Tensor& self, int64_t dim, DType dtype) { return softmax(self, dim, dtype); }),
    });
    declare("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")({
        doc("log(softmax(x)) along dim, without overflow"),
        composition([](const Tensor& self, int64_t dim, DType dtype) {
            return _log_softmax(dtype == DType::None || dtype == self.dtype() ? self : to(self, dtype), dim, false);
        }),
    });
    declare("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")({
        doc("log_softmax"),
        no_out(),
        composition([](const Tensor& self, int64_t dim, DType dtype) { return log_softmax(self, dim, dtype); }),
    });
    declare("dropout(Tensor input, float p, bool train) -> Tensor")({
        doc("Elements zeroed with probability p, the rest divided by 1 - p, in training (Hinton et al., 2012)"),
        in(space::Torch),
        random_numbers(),
        no_out(),
        composition([](const Tensor& input, double p, bool train) { return dropped(input, p, train, false, false); }),
    });
    declare("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")({
        doc("dropout, and which elements it kept"),
        in(space::Torch),
        random_numbers(),
        no_out(),
        composition([](const Tensor& input, double p, std::optional<bool> train) {
            if (input.numel() == 0) return std::tuple<Tensor, Tensor>(input, empty_like(input));
            if (train && !*train) return std::tuple<Tensor, Tensor>(clone(input), ones_like(input, DType::Bool));
            KINDLING_CHECK(Runtime, p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=%g", 1 - p);
            KINDLING_CHECK(Runtime, category(input.dtype()) >= 2, "result type Float can't be cast to the desired output type %s",
                           scalar_type_name(input.dtype()));
            Tensor mask = bernoulli_(empty_like(input, to_real(input.dtype())), 1 - p);
            double scale = p == 1 ? 0.0 : 1 / (1 - p);
            return std::tuple<Tensor, Tensor>(mul(mul(input, mask), wrap_number(Scalar(scale))), to(mask, DType::Bool));
        }),
    });
    declare("dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")({
        doc("dropout in place"),
        in(space::Torch),
        random_numbers(),
        composition([](const Tensor& self, double p, bool train) { return dropped(self, p, train, false, false, true); }),
    });
    declare("feature_dropout(Tensor input, float p, bool train) -> Tensor")({
        doc("dropout of whole channels"),
        in(space::Torch),
        random_numbers(),
        no_out(),
        composition([](const Tensor& input, double p, bool train) { return dropped(input, p, train, true, false); }),
    });
    declare("feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")({
        doc("dropout of whole channels in place"),
        in(space::Torch),
        random_numbers(),
        composition([](const Tensor& self, double p, bool train) { return dropped(self, p, train, true, false, true); }),
    });
    declare("alpha_dropout(Tensor input, float p, bool train) -> Tensor")({
        doc("dropout that keeps mean and variance of selu's output"),
        in(space::Torch),
        random_numbers(),
        no_out(),
        composition([](const Tensor& input, double p, bool train) { return dropped(input, p, train, false, true); }),
    });
    declare("alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")({
        doc("alpha_dropout in place"),
        in(space::Torch),
        random_numbers(),
        composition([](const Tensor& self, double p, bool train) { return dropped(self, p, train, false, true, true); }),
    });
    declare("feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor")({
        doc("alpha_dropout of whole channels"),
        in(space::Torch),
        random_numbers(),
        no_out(),
        composition([](const Tensor& input, double p, bool train) { return dropped(input, p, train, true, true); }),
    });
    declare("feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")({
        doc("alpha_dropout of whole channels in place"),
        in(space::Torch),
        random_numbers(),
        composition([](const Tensor& self, double p, bool train) { return dropped(self, p, train, true, true, true); }),
    });
}
