// operators/nn/normalization.cpp: batch, layer, group, instance and root-mean-square normalisation.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/images/channel_sums.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

Tensor number(double value) { return wrap_number(Scalar(value)); }

/// The dimensions but one, as a list.
Sizes all_but(int64_t ndim, int64_t kept) {
    Sizes dims;
    for (int64_t d = 0; d < ndim; d++)
        if (d != kept) dims.push_back(d);
    return dims;
}

Tensor along(const Tensor& vector, int64_t ndim, int64_t dim) {
    if (!vector.defined()) return vector;
    Sizes shape(static_cast<size_t>(ndim), 1);
    shape[static_cast<size_t>(dim)] = vector.numel();
    return reshape(vector, shape);
}

/// torch's rule for parameters and statistics: of the input's dtype, or, with an input of half a type, all of float32 (the
/// first that is given decides). The dtype of the mean and 1 / deviation that are given back.
DType statistics_type(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
    DType first = DType::None;
    for (const Tensor* each : parameters)
        if (each->defined() && first == DType::None) first = each->dtype();
    const bool mixed = first != DType::None && first != input.dtype();
    for (const Tensor* each : parameters) {
        if (!each->defined()) continue;
        KINDLING_CHECK(Runtime, !mixed || each->dtype() == DType::Float32,
                       "mixed dtype (CPU): expect parameter to have scalar type of Float");
        KINDLING_CHECK(Runtime, mixed || each->dtype() == first, "expected scalar type %s but found %s", scalar_type_name(first),
                       scalar_type_name(each->dtype()));
    }
    KINDLING_CHECK(Runtime, !mixed || is_half(input.dtype()), "mixed dtype (CPU): all inputs must share same datatype.");
    return mixed ? first : input.dtype();
}

uint64_t last_dims(int64_t ndim, size_t count) {
    uint64_t mask = 0;
    for (int64_t d = ndim - static_cast<int64_t>(count); d < ndim; d++) mask |= uint64_t{1} << d;
    return mask;
}

Sizes mask_dims(uint64_t mask, int64_t ndim) {
    Sizes dims;
    for (int64_t d = 0; d < ndim; d++)
        if (mask >> d & 1) dims.push_back(d);
    return dims;
}

// ---- bodies: of half types in float

Sym affine(Sym y, const Sym& weight, const Sym& bias) {
    if (!weight.is_none()) y = y * weight;
    return bias.is_none() ? y : y + bias;
}
Sym standardized(const Sym& x, const Sym& mean, const Sym& rstd) { return (mean.is_none() ? x : x - mean) * rstd; }

/// The row itself, its mean, 1 / deviation and variance.
constexpr auto normalized_row = [](auto x, auto weight, auto bias, auto length, auto eps) {
    auto mean = row_sum(x) / length, apart = x - mean;
    auto variance = row_sum(apart * apart) / length, rstd = rsqrt(variance + eps);
    return std::tuple(affine(apart * rstd, weight, bias), mean, rstd, variance);
};

/// What a rule says of a kernel whose rows lie along the dimensions in `mask` of x, before its results.
void normalizes(KernelCall& call, const Tensor& x, uint64_t mask, const Tensor& weight, const Tensor& bias, double eps) {
    const DType inside = value_type(x.dtype());
    call.along(x, mask, inside);
    call.reads_as_it_lies(x);
    call.reads_as_it_lies(weight);
    call.reads_as_it_lies(bias);
    call.number(inside, count_in(x.sizes(), mask));
    call.number(inside, eps);
}
/// Mean (of nothing 0, as in torch), 1 / deviation and variance, as many as are wanted.
void gives_statistics(KernelCall& call, DType dtype, int count) {
    for (int k = 0; k < count; k++) call.gives_of_row(dtype).if_nothing(k ? __builtin_nan("") : 0.0);
}

struct Normalized {
    Tensor result, mean, rstd, variance;
};

/// Batch normalisation's 1 / deviation: 0, and not infinity, of a constant channel where eps is 0.
Tensor batch_rstd(const Tensor& variance, double eps) {
    if (eps != 0) return rsqrt(add(variance, number(eps)));
    return rsqrt(masked_fill(variance, eq(variance, Scalar(0)), Scalar(__builtin_inf()))); // whose derivatives are 0 too
}

/// Batch normalisation in steps: where channels are the nearest neighbours (columns, reduced as they lie), or eps is 0.
Normalized normalized_columns(const Tensor& x, const Sizes& dims, const Tensor& weight, const Tensor& bias, double eps) {
    DType inside = value_type(x.dtype());
    Normalized all;
    all.mean = mean(x, IntList(dims), true, inside);
    all.variance = _squared_deviations(x, all.mean, dims);
    all.variance = div(all.variance, number(static_cast<double>(x.numel() / all.mean.numel())));
    all.rstd = batch_rstd(all.variance, eps);
    all.result = _standardized(x, all.mean, all.rstd, weight, bias);
    return all;
}

void check_normalized(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias) {
    KINDLING_CHECK(
        Runtime, !shape.empty(),
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = %s",
        str(shape).c_str());
    KINDLING_CHECK(Runtime, !weight.defined() || weight.sizes() == shape,
                   "Expected weight to be of same shape as normalized_shape, but got weight of shape %s and normalized_shape = %s",
                   weight.defined() ? str(weight.sizes()).c_str() : "", str(shape).c_str());
    KINDLING_CHECK(Runtime, !bias.defined() || bias.sizes() == shape,
                   "Expected bias to be of same shape as normalized_shape, but got bias of shape %s and normalized_shape = %s",
                   bias.defined() ? str(bias.sizes()).c_str() : "", str(shape).c_str());
    bool fits = input.sizes().size() >= shape.size();
    for (size_t i = 0; fits && i < shape.size(); i++) fits = input.sizes()[input.sizes().size() - shape.size() + i] == shape[i];
    KINDLING_CHECK(Runtime, fits, "Given normalized_shape=%s, expected input with shape [*, %s], but got input of size%s",
                   str(shape).c_str(), str(shape).substr(1, str(shape).size() - 2).c_str(), str(input.sizes()).c_str());
}

/// The rule of layer normalisation, with so many statistics.
void normalizes_layer(KernelCall& call, const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias, double eps,
                      int statistics) {
    check_normalized(input, shape, weight, bias);
    KINDLING_CHECK(NotImplemented, is_floating(input.dtype()), "\"LayerNormKernelImpl\" not implemented for '%s'",
                   scalar_type_name(input.dtype()));
    const DType type = statistics_type(input, {&weight, &bias});
    normalizes(call, input, last_dims(input.dim(), shape.size()), weight, bias, eps);
    call.input(0).order = KernelCall::Order::Rows;
    call.gives(input.sizes(), input.dtype());
    gives_statistics(call, type, statistics);
}

double rms_eps(const Tensor& input, std::optional<double> given) {
    return given.value_or(to_real(input.dtype()) == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07);
}

/// The rule of root-mean-square normalisation; 1 / the root is a result if it is wanted.
void normalizes_by_root(KernelCall& call, const Tensor& input, IntList shape, const Tensor& weight, std::optional<double> eps, bool root) {
    check_normalized(input, shape, weight, Tensor());
    KINDLING_CHECK(NotImplemented, is_floating(input.dtype()), "\"rms_norm\" not implemented for '%s'", scalar_type_name(input.dtype()));
    normalizes(call, input, last_dims(input.dim(), shape.size()), weight, Tensor(), rms_eps(input, eps));
    call.input(0).order = KernelCall::Order::Rows;
    call.gives(input.sizes(), input.dtype()).like(input);
    if (root) call.gives_of_row(value_type(input.dtype())).if_nothing(__builtin_nan(""));
}
constexpr auto rms_row = [](auto x, auto weight, auto, auto length, auto eps) {
    auto rstd = rsqrt(row_sum(x * x) / length + eps);
    return std::pair(affine(x * rstd, weight, Sym()), rstd);
};

/// (x - mean) * rstd; with no mean, of root-mean-square normalisation, x * rstd.
Tensor hat_of(const Tensor& x, const Tensor& mean_, const Tensor& rstd) { return mul(mean_.defined() ? sub(x, mean_) : x, rstd); }

/// The gradient through y = (x - mean(x)) * rstd(x) * weight over the dims of `mask`.
Tensor through_statistics(const Tensor& grad, const Tensor& x, const Tensor& mean_, const Tensor& rstd, const Tensor& weight,
                          uint64_t mask) {
    Sizes dims = mask_dims(mask, x.dim());
    if (!differentiates_again()) return _normalized_backward(grad, x, mean_, rstd, weight, dims);
    Tensor dy = weight.defined() ? mul(grad, weight) : grad, hat = hat_of(x, mean_, rstd);
    Tensor second = mean(mul(dy, hat), IntList(dims), true);
    return mul(sub(mean_.defined() ? sub(dy, mean(dy, IntList(dims), true)) : dy, mul(hat, second)), rstd);
}

/// Mean and 1 / deviation made anew, for a second derivative: there they must be part of the graph.
std::tuple<Tensor, Tensor> statistics_again(const Tensor& x, const Sizes& dims, double eps) {
    return {mean(x, IntList(dims), true), rsqrt(add(var(x, IntList(dims), Scalar(0), true), number(eps)))};
}

/// The tangent of (x - mean) * rstd * weight + bias; statistics() makes mean and 1 / deviation anew where the tangent is differentiated
/// in turn. The Jacobian of the first part is symmetric, but for the weight.
template <class F>
Tensor normalized_tangent(const Tensor& x, const Tensor& x_t, Tensor mean_, Tensor rstd, const Tensor& weight, const Tensor& weight_t,
                          const Tensor& bias_t, uint64_t mask, F statistics) {
    bool again = false;
    for (const Tensor* each : {&x, &x_t, &weight, &weight_t}) again |= is_followed(*each);
    if (again) std::tie(mean_, rstd) = statistics();
    Tensor t;
    auto plus = [&](const Tensor& part) { t = t.defined() ? add(t, part) : part; };
    if (!mask) t = x_t.defined() ? mul(x_t, rstd) : t;
    else if (x_t.defined())
        t = again ? through_statistics(x_t, x, mean_, rstd, Tensor(), mask)
                  : _normalized_backward(x_t, x, mean_, rstd, Tensor(), mask_dims(mask, x.dim()));
    if (t.defined() && weight.defined()) t = mul(t, weight);
    if (weight_t.defined()) plus(mul(hat_of(x, mean_, rstd), weight_t));
    if (bias_t.defined()) plus(bias_t);
    return t;
}

/// What calls of the hidden operators by hand could get wrong: floating numbers.
void check_floating(std::initializer_list<const Tensor*> tensors, const char* operation) {
    for (const Tensor* each : tensors)
        KINDLING_CHECK(Runtime, !each->defined() || is_floating(each->dtype()), "%s: expected floating numbers, got %s", operation,
                       name(each->dtype()));
}

/// The gradients of weight and bias, which are the same along `dims`; those that are wanted.
std::tuple<Tensor, Tensor> through_parameters(const Tensor& grad, const Tensor& x, const Tensor& mean_, const Tensor& rstd,
                                              const Sizes& dims, bool weight, bool bias) {
    if (weight && !dims.empty() && !differentiates_again()) {
        auto [gw, gb] = _normalized_parameters_backward(grad, x, mean_, rstd, dims, bias);
        return {to(gw, grad.dtype()), bias ? to(gb, grad.dtype()) : Tensor()};
    }
    auto folded = [&](const Tensor& t) { return dims.empty() ? t : sum(t, IntList(dims)); };
    return {weight ? folded(mul(grad, hat_of(x, mean_, rstd))) : Tensor(), bias ? folded(grad) : Tensor()};
}

/// A loop over the elements of `input`: the others broadcast to it.
void loops_over(KernelCall& call, const Tensor& input, std::initializer_list<const Tensor*> others, const char* operation) {
    check_floating({&input}, operation);
    check_floating(others, operation);
    call.along(input, 0, value_type(input.dtype()));
    call.reads_as_it_lies(input);
    for (const Tensor* each : others) call.reads_as_it_lies(*each);
    call.gives(input.sizes(), input.dtype()).preserves(input);
}

using Gradients = std::tuple<Tensor, Tensor, Tensor>;

/// All three gradients of batch normalisation in training, without a second derivative. Statistics and parameters run along
/// the same `dims`, so the two sums in the input's gradient are the gradients of weight and bias.
Gradients through_batch(const Tensor& grad, const Tensor& x, const Tensor& mean_, const Tensor& rstd, const Tensor& weight,
                        const Sizes& dims) {
    // A reduction would gather the rows of a channel, which lie apart. Of very many images it sums more exactly.
    const bool images = x.dim() > 2 && x.is_contiguous() && x.size(0) <= 256 && x.numel() >= 16 * x.size(0) * x.size(1) &&
                        x.dtype() == DType::Float32 && grad.dtype() == DType::Float32;
    auto [gw, gb] = images ? _channel_sums(grad, x, mean_, rstd) : _normalized_parameters_backward(grad, x, mean_, rstd, dims, true);
    Tensor share = number(static_cast<double>(gw.numel()) / static_cast<double>(std::max<int64_t>(x.numel(), 1)));
    Tensor scale = weight.defined() ? mul(rstd, weight) : rstd, shared = mul(scale, share);
    Tensor gi = _normalized_input_gradient(grad, x, scale, mul(along(gb, x.dim(), 1), shared), mean_,
                                           mul(mul(along(gw, x.dim(), 1), to(shared, gw.dtype())), rstd));
    return {gi, to(gw, grad.dtype()), to(gb, grad.dtype())};
}

/// The same of group normalisation: samples x groups x channels x places, of which the last two are one row of statistics.
Gradients through_groups(const Tensor& grad, const Tensor& x, const Tensor& mean_, const Tensor& rstd, const Tensor& weight) {
    auto [hats, sums] = _normalized_parameters_backward(grad, x, mean_, rstd, {3}, true);
    DType inside = hats.dtype();
    Tensor w = weight.defined() ? to(reshape(weight, {1, x.size(1), x.size(2)}), inside) : weight;
    auto over_group = [&](const Tensor& t) { return unsqueeze(sum(w.defined() ? mul(t, w) : t, IntList({2}), true), 3); };
    Tensor share = mul(rstd, number(1.0 / static_cast<double>(std::max<int64_t>(x.size(2) * x.size(3), 1))));
    Tensor scale = w.defined() ? mul(rstd, unsqueeze(w, 3)) : rstd;
    Tensor gi = _normalized_input_gradient(grad, x, scale, mul(over_group(sums), share), mean_, mul(mul(over_group(hats), share), rstd));
    return {gi, to(sum(hats, IntList({0})), grad.dtype()), to(sum(sums, IntList({0})), grad.dtype())};
}

} // namespace
} // namespace kindling

OPERATORS(normalization) {
    declare("_normalized_backward(Tensor grad, Tensor input, Tensor? mean, Tensor rstd, Tensor? weight, int[] dim) -> Tensor")({
        doc("The gradient of (input - mean) * rstd * weight, where mean (0 if not given) and rstd are the input's own over `dim`"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        rows(
            [](KernelCall& call, const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
               IntList dim) {
                uint64_t mask = dim_mask(dim, input.dim());
                KINDLING_CHECK(Runtime, mask, "_normalized_backward: expected at least one dimension to normalise over, got %s",
                               str(input.sizes()).c_str());
                check_floating({&grad, &input, &mean, &rstd, &weight}, "_normalized_backward");
                call.along(input, mask, value_type(input.dtype()));
                for (const Tensor* each : {&grad, &input, &mean, &rstd, &weight}) call.reads_as_it_lies(*each);
                call.number(value_type(input.dtype()), count_in(input.sizes(), mask));
                call.gives(input.sizes(), input.dtype()).preserves(input);
            },
            [](auto g, auto x, auto mean, auto rstd, auto weight, auto length) {
                auto hat = standardized(x, mean, rstd), dy = affine(g, weight, Sym()), second = row_sum(dy * hat) / length;
                if (!mean.is_none()) dy = dy - row_sum(dy) / length;
                return (dy - hat * second) * rstd;
            }),
    });
    declare("_normalized_parameters_backward(Tensor grad, Tensor input, Tensor? mean, Tensor rstd, int[] dim, "
            "bool bias=True) -> (Tensor, Tensor)")({
        doc("The gradients of weight and bias (or of weight twice) in (input - mean) * rstd * weight + bias, which are the same along "
            "`dim`, in one pass; of half types in float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        reduction(
            [](KernelCall& call, const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd, IntList dim, bool bias) {
                check_floating({&grad, &input, &mean, &rstd}, "_normalized_parameters_backward");
                const DType inside = value_type(input.dtype());
                call.reduces(input, dim_mask(dim, input.dim()), false, inside);
                for (const Tensor* each : {&grad, &mean, &rstd}) call.reads_as_it_lies(*each);
                for (int i = 0; i <= bias; i++) call.reduced(Combine::Sum, inside);
            },
            [](auto x, auto g, auto mean, auto rstd) { return std::pair(g * standardized(x, mean, rstd), g); }),
    });
    declare("_channel_sums(Tensor grad, Tensor input, Tensor mean, Tensor rstd) -> (Tensor, Tensor)")({
        doc("For each channel of images the sums of grad * (input - mean) * rstd and of grad"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd) {
                const int64_t channels = input.dim() > 1 ? input.size(1) : 0, images = input.size(0) * channels;
                KINDLING_CHECK(Runtime,
                               grad.sizes() == input.sizes() && mean.numel() == channels && rstd.numel() == channels && images &&
                                   input.numel() >= 16 * images,
                               "_channel_sums: sizes do not fit");
                for (const Tensor* each : {&grad, &input, &mean, &rstd}) call.reads(*each, DType::Float32);
                for (int i = 0; i < 2; i++) call.gives({channels}, DType::Float32);
                call.costs(input.numel());
            },
            [](const Array& grad, const Array& input, const Array& mean, const Array& rstd, const Array& hats, const Array& sums) {
                const int64_t samples = input.size(0), channels = input.size(1);
                library::sum_channels({samples, channels, input.numel() / (samples * channels), grad.data_ptr<float>(),
                                       input.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), hats.data_ptr<float>(),
                                       sums.data_ptr<float>()});
            }),
    });
    declare("_normalized(Tensor input, int[] dim, Tensor? weight, Tensor? bias, float eps, int statistics) -> (Tensor, "
            "Tensor, Tensor, Tensor)")({
        doc("(input - mean) / sqrt(var + eps) * weight + bias, rows along `dim`; also the first `statistics` of mean, 1 / deviation and "
            "variance, with size 1 there; of half types in float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        rows(
            [](KernelCall& call, const Tensor& input, IntList dim, const Tensor& weight, const Tensor& bias, double eps,
               int64_t statistics) {
                check_floating({&input, &weight, &bias}, "_normalized");
                KINDLING_CHECK(Runtime, !dim.empty() && statistics >= 0 && statistics <= 3,
                               "_normalized: expected dimensions and up to 3 statistics, got %s and %ld", str(dim).c_str(), statistics);
                normalizes(call, input, dim_mask(dim, input.dim()), weight, bias, eps);
                call.gives(input.sizes(), input.dtype()).preserves(input);
                gives_statistics(call, value_type(input.dtype()), static_cast<int>(statistics));
            },
            normalized_row),
    });
    declare("_row_statistics(Tensor input, int[] dim, float eps) -> (Tensor, Tensor)")({
        doc("Mean and 1 / deviation over `dim`, with size 1 there; of half types in float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        rows(
            [](KernelCall& call, const Tensor& input, IntList dim, double eps) {
                check_floating({&input}, "_row_statistics");
                KINDLING_CHECK(Runtime, !dim.empty(), "_row_statistics: expected dimensions, got none");
                normalizes(call, input, dim_mask(dim, input.dim()), Tensor(), Tensor(), eps);
                gives_statistics(call, value_type(input.dtype()), 2);
            },
            [](auto x, auto, auto, auto length, auto eps) {
                auto mean = row_sum(x) / length, apart = x - mean;
                return std::pair(mean, rsqrt(row_sum(apart * apart) / length + eps));
            }),
    });
    declare("_squared_deviations(Tensor input, Tensor mean, int[] dim) -> Tensor")({
        doc("The sum of (input - mean)^2 over `dim`, with size 1 there; of half types in float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        reduction(
            [](KernelCall& call, const Tensor& input, const Tensor& mean, IntList dim) {
                check_floating({&input, &mean}, "_squared_deviations");
                call.reduces(input, dim_mask(dim, input.dim()), true, value_type(input.dtype()));
                call.reads_as_it_lies(mean);
                call.reduced(Combine::Sum, value_type(input.dtype()));
            },
            [](auto x, auto mean) {
                auto apart = x - mean;
                return apart * apart;
            }),
    });
    declare("_standardized(Tensor input, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias) -> Tensor")({
        doc("(input - mean) * rstd * weight + bias, of half types in float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        elements([](KernelCall& call, const Tensor& input, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                    const Tensor& bias) { loops_over(call, input, {&mean, &rstd, &weight, &bias}, "_standardized"); },
                 [](auto x, auto mean, auto rstd, auto weight, auto bias) { return affine(standardized(x, mean, rstd), weight, bias); }),
    });
    declare("_scaled(Tensor input, Tensor scale, Tensor offset) -> Tensor")({
        doc("input * scale + offset, of half types in float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        elements([](KernelCall& call, const Tensor& input, const Tensor& scale,
                    const Tensor& offset) { loops_over(call, input, {&scale, &offset}, "_scaled"); },
                 [](auto x, auto scale, auto offset) { return affine(x, scale, offset); }),
    });
    declare("_normalized_input_gradient(Tensor grad, Tensor input, Tensor scale, Tensor level, Tensor mean, Tensor slope) -> Tensor")({
        doc("grad * scale - level - (input - mean) * slope: a gradient through statistics, once its sums are known; of half types in "
            "float"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        elements([](KernelCall& call, const Tensor& grad, const Tensor& input, const Tensor& scale, const Tensor& level, const Tensor& mean,
                    const Tensor& slope) { loops_over(call, input, {&grad, &scale, &level, &mean, &slope}, "_normalized_input_gradient"); },
                 [](auto x, auto g, auto scale, auto level, auto mean, auto slope) { return g * scale - level - (x - mean) * slope; }),
    });
    declare("native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
            "float eps) -> (Tensor, Tensor, Tensor)")({
        doc("Normalised over the last dimensions (Ba et al., 2016); also mean and 1 / deviation"),
        in(space::Torch),
        no_out(),
        rows([](KernelCall& call, const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double eps) { normalizes_layer(call, input, normalized_shape, weight, bias, eps, 2); },
             normalized_row),
        derivative(
            "input, weight, bias",
            GIVEN(Tensor grad, Tensor input, IntList normalized_shape, Tensor weight, double eps, Tensor result1, Tensor result2,
                  Wanted wanted) {
                Tensor gi, gw, gb, g = grad;
                if (!g.defined()) return std::tuple<Tensor, Tensor, Tensor>();
                uint64_t mask = last_dims(input.dim(), normalized_shape.size());
                Tensor mean_ = to(result1, value_type(input.dtype())), rstd = to(result2, value_type(input.dtype()));
                if (differentiates_again()) std::tie(mean_, rstd) = statistics_again(input, mask_dims(mask, input.dim()), eps);
                if (wanted[0]) gi = through_statistics(g, input, mean_, rstd, weight, mask);
                Sizes lead = mask_dims(~mask, input.dim());
                std::tie(gw, gb) = through_parameters(g, input, mean_, rstd, lead, wanted[1], wanted[2]);
                return std::tuple<Tensor, Tensor, Tensor>(gi, gw, gb);
            }),
        forward(GIVEN(Tensor input, Tensor input_t, IntList normalized_shape, Tensor weight, Tensor weight_t, Tensor bias_t, double eps,
                      Tensor result1, Tensor result2) {
            uint64_t mask = last_dims(input.dim(), normalized_shape.size());
            return normalized_tangent(input, input_t, to(result1, value_type(input.dtype())), to(result2, value_type(input.dtype())),
                                      weight, weight_t, bias_t, mask,
                                      [&] { return statistics_again(input, mask_dims(mask, input.dim()), eps); });
        }),
    });
    declare("_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> Tensor")({
        doc("Normalised over the last dimensions, without what a gradient needs"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        rows([](KernelCall& call, const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double eps) { normalizes_layer(call, input, normalized_shape, weight, bias, eps, 0); },
             normalized_row),
    });
    declare("layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
            "bool cudnn_enable=True) -> Tensor")({
        doc("Normalised over the last dimensions (Ba et al., 2016)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias, double eps, bool) {
            // Where nobody sees the parts, the numbers for a gradient need not be made.
            if (runs_plainly({&input, &weight, &bias})) return _layer_norm(input, normalized_shape, weight, bias, eps);
            return std::get<0>(native_layer_norm(input, normalized_shape, weight, bias, eps));
        }),
        refuses("torch.layer_norm(torch.ones(2, 3), [4])", "RuntimeError: Given normalized_shape"),
    });
    declare("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)")({
        doc("Divided by the root of the mean square over the last dimensions (Zhang and Sennrich, 2019); also 1 / that root"),
        in(space::Torch | space::Hidden),
        no_out(),
        rows([](KernelCall& call, const Tensor& input, IntList normalized_shape, const Tensor& weight,
                std::optional<double> eps) { normalizes_by_root(call, input, normalized_shape, weight, eps, true); },
             rms_row),
        derivative(
            "input, weight",
            GIVEN(Tensor grad, Tensor input, IntList normalized_shape, Tensor weight, std::optional<double> eps, Tensor result1,
                  Wanted wanted) {
                if (!grad.defined()) return std::tuple<Tensor, Tensor>();
                uint64_t mask = last_dims(input.dim(), normalized_shape.size());
                Tensor rstd = result1, gi;
                if (differentiates_again()) // made anew, as a part of the graph
                    rstd = rsqrt(add(mean(square(input), IntList(mask_dims(mask, input.dim())), true), number(rms_eps(input, eps))));
                if (wanted[0]) gi = through_statistics(grad, input, Tensor(), rstd, weight, mask);
                Sizes lead = mask_dims(~mask, input.dim());
                return std::tuple<Tensor, Tensor>(gi, std::get<0>(through_parameters(grad, input, Tensor(), rstd, lead, wanted[1], false)));
            }),
        forward(GIVEN(Tensor input, Tensor input_t, IntList normalized_shape, Tensor weight, Tensor weight_t, std::optional<double> eps,
                      Tensor result1) {
            uint64_t mask = last_dims(input.dim(), normalized_shape.size());
            return normalized_tangent(input, input_t, Tensor(), result1, weight, weight_t, Tensor(), mask, [&] {
                return std::tuple<Tensor, Tensor>(
                    Tensor(), rsqrt(add(mean(square(input), IntList(mask_dims(mask, input.dim())), true), number(rms_eps(input, eps)))));
            });
        }),
    });
    declare("_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> Tensor")({
        doc("Divided by the root of the mean square over the last dimensions, without what a gradient needs"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        rows([](KernelCall& call, const Tensor& input, IntList normalized_shape, const Tensor& weight,
                std::optional<double> eps) { normalizes_by_root(call, input, normalized_shape, weight, eps, false); },
             rms_row),
    });
    declare("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor")({
        doc("Divided by the root of the mean square over the last dimensions (Zhang and Sennrich, 2019)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, IntList normalized_shape, const Tensor& weight, std::optional<double> eps) {
            KINDLING_CHECK(Value,
                           input.dim() >= static_cast<int64_t>(normalized_shape.size()) ||
                               (weight.defined() && weight.sizes() != normalized_shape),
                           "Input tensor must have at least %zu dimensions, but got %ld", normalized_shape.size(), input.dim());
            check_normalized(input, normalized_shape, weight, Tensor());
            KINDLING_CHECK(NotImplemented, category(input.dtype()) >= 2, "\"rms_norm\" not implemented for '%s'",
                           scalar_type_name(input.dtype()));
            if (is_floating(input.dtype()) && (!weight.defined() || weight.dtype() == input.dtype()))
                return runs_plainly({&input, &weight}) ? _rms_norm(input, normalized_shape, weight, eps)
                                                       : std::get<0>(_fused_rms_norm(input, normalized_shape, weight, eps));
            Tensor x = is_half(input.dtype()) ? to(input, DType::Float32) : input;
            Tensor rstd = rsqrt(add(mean(mul(x, x), IntList(mask_dims(last_dims(x.dim(), normalized_shape.size()), x.dim())), true),
                                    number(rms_eps(input, eps))));
            Tensor y = mul(x, rstd);
            if (weight.defined()) y = mul(y, weight);
            return contiguous(to(y, input.dtype()), input.suggest_memory_format());
        }),
    });
    declare("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
            "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)")({
        doc("Normalised over all dimensions but the second (Ioffe and Szegedy, 2015); in training by the batch's own statistics, which "
            "update the running ones"),
        in(space::Torch),
        targets("out, save_mean, save_invstd"),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean, const Tensor& running_var,
                       bool training, double momentum, double eps) {
            KINDLING_CHECK(NotImplemented, is_floating(input.dtype()), "\"batch_norm\" not implemented for '%s'",
                           scalar_type_name(input.dtype()));
            int64_t n = input.dim();
            KINDLING_CHECK(Value, running_mean.defined() == running_var.defined(),
                           "running_mean and running_var must either both be None or neither be None");
            KINDLING_CHECK(Runtime, n >= 2, "Expected 2D or more input to batch_norm, but got %s", str(input.sizes()).c_str());
            KINDLING_CHECK(Runtime, training || (running_mean.defined() && running_var.defined()),
                           "Expected running_mean and running_var to be defined when training is False");
            for (const Tensor* each : {&weight, &bias, &running_mean, &running_var})
                KINDLING_CHECK(Runtime, !each->defined() || (each->numel() == input.size(1) && is_floating(each->dtype())),
                               "batch_norm: expected floating weight, bias and statistics of %ld elements, got %s of %ld", input.size(1),
                               kindling::name(each->dtype()), each->numel());
            for (const Tensor* each : {&running_mean, &running_var})
                KINDLING_CHECK(Runtime, !each->defined() || each->dim() == 1,
                               "batch_norm: running statistics have one dimension, but got %ld", each->dim());
            const DType type = statistics_type(input, {&weight, &bias, &running_mean, &running_var}), inside = value_type(input.dtype());
            Tensor mean_, rstd;
            if (training) {
                KINDLING_CHECK(Runtime, input.numel(), "input tensor must have at least one element, but got input_sizes = %s",
                               str(input.sizes()).c_str());
                // Of few numbers calls cost more than columns gain.
                const bool columns = input.size(1) > 1 && input.stride(1) == 1 && input.numel() >= 1 << 13;
                Normalized all;
                if (!input.is_meta() && (columns || eps == 0))
                    all = normalized_columns(input, all_but(n, 1), along(weight, n, 1), along(bias, n, 1), eps);
                else
                    std::tie(all.result, all.mean, all.rstd, all.variance) =
                        _normalized(input, all_but(n, 1), along(weight, n, 1), along(bias, n, 1), eps, 3);
                mean_ = untied(view(all.mean, {input.size(1)}));
                rstd = untied(view(all.rstd, {input.size(1)}));
                Tensor spread = view(all.variance, {input.size(1)});
                double count = static_cast<double>(input.numel()) / static_cast<double>(std::max<int64_t>(input.size(1), 1));
                Exclude below(key::Autograd | key::Dual);
                // As torch does, without a word to their version counters: what was saved of another call stays good.
                auto keep = [&](const Tensor& running, const Tensor& now, double share) {
                    if (!running.defined()) return;
                    const uint32_t seen = running.version();
                    copy_(running, add(mul(running, number(1 - momentum)), mul(now, number(share))));
                    if (running.impl()->version) running.impl()->version->store(seen);
                };
                keep(running_mean, mean_, momentum);
                keep(running_var, spread, momentum * (count / (count - 1)));
                return std::tuple<Tensor, Tensor, Tensor>(like_input(all.result, input), to(mean_, type), to(rstd, type));
            }
            mean_ = running_mean;
            rstd = rsqrt(add(to(running_var, inside), number(eps)));
            Tensor result = _standardized(input, along(mean_, n, 1), along(rstd, n, 1), along(weight, n, 1), along(bias, n, 1));
            Tensor none = empty({0}, type);
            return std::tuple<Tensor, Tensor, Tensor>(like_input(result, input), none, none);
        }),
        derivative(
            "input, weight, bias",
            GIVEN(Tensor grad, Tensor input, Tensor weight, Tensor running_mean, Tensor running_var, bool training, double eps,
                  Tensor result1, Tensor result2, Wanted wanted) {
                Tensor gi, gw, gb, g = grad;
                if (!g.defined()) return std::tuple<Tensor, Tensor, Tensor>();
                int64_t n = input.dim();
                uint64_t mask = dim_mask({}, n) & ~uint64_t{2};
                Sizes dims = all_but(n, 1);
                const DType inside = value_type(input.dtype());
                Tensor mean_ = to(training ? result1 : running_mean, inside),
                       rstd = training ? to(result2, inside) : rsqrt(add(to(running_var, inside), number(eps)));
                mean_ = along(mean_, n, 1);
                rstd = along(rstd, n, 1);
                if (training && differentiates_again()) {
                    mean_ = mean(input, IntList(dims), true);
                    rstd = batch_rstd(var(input, IntList(dims), Scalar(0), true), eps);
                }
                Tensor w = along(weight, n, 1);
                if (wanted[0] && training && !differentiates_again()) {
                    auto [to_input, to_weight, to_bias] = through_batch(g, input, mean_, rstd, w, dims);
                    return std::tuple<Tensor, Tensor, Tensor>(like_input(to_input, input), wanted[1] ? to_weight : Tensor(),
                                                              wanted[2] ? to_bias : Tensor());
                }
                if (wanted[0]) gi = training ? through_statistics(g, input, mean_, rstd, w, mask) : mul(w.defined() ? mul(g, w) : g, rstd);
                if (gi.defined()) gi = like_input(gi, input);
                std::tie(gw, gb) = through_parameters(g, input, mean_, rstd, dims, wanted[1], wanted[2]);
                return std::tuple<Tensor, Tensor, Tensor>(gi, gw, gb);
            }),
        forward(GIVEN(Tensor input, Tensor input_t, Tensor weight, Tensor weight_t, Tensor bias_t, Tensor running_mean, Tensor running_var,
                      bool training, double eps, Tensor result1, Tensor result2) {
            const int64_t n = input.dim();
            const DType inside = value_type(input.dtype());
            auto of_running = [&] {
                return std::tuple<Tensor, Tensor>(along(to(running_mean, inside), n, 1),
                                                  along(rsqrt(add(to(running_var, inside), number(eps))), n, 1));
            };
            Tensor mean_, rstd;
            if (training) mean_ = along(to(result1, inside), n, 1), rstd = along(to(result2, inside), n, 1);
            else std::tie(mean_, rstd) = of_running();
            return normalized_tangent(input, input_t, mean_, rstd, along(weight, n, 1), along(weight_t, n, 1), along(bias_t, n, 1),
                                      training ? dim_mask({}, n) & ~uint64_t{2} : 0,
                                      [&] { return training ? statistics_again(input, all_but(n, 1), eps) : of_running(); });
        }),
    });
    declare("batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
            "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor")({
        doc("Normalised over all dimensions but the second (Ioffe and Szegedy, 2015)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean, const Tensor& running_var,
                       bool training, double momentum, double eps, bool) {
            if (input.numel() == 0) { // as torch: nothing to normalise, and the statistics stay as they are
                Tensor result = clone(input);
                if (weight.defined()) result = mul(result, select(weight, 0, 0));
                if (bias.defined()) result = add(result, select(bias, 0, 0));
                return result;
            }
            KINDLING_CHECK(Runtime, input.dim() >= 2, "Expected 2D or more input to batch_norm, but got %s", str(input.sizes()).c_str());
            auto check = [&](const Tensor& t, const char* what) {
                KINDLING_CHECK(Runtime, !t.defined() || t.numel() == input.size(1), "%s should contain %ld elements not %ld", what,
                               input.size(1), t.numel());
            };
            check(running_mean, "running_mean");
            check(running_var, "running_var");
            check(weight, "weight");
            check(bias, "bias");
            KINDLING_CHECK(Runtime, training || (running_mean.defined() && running_var.defined()),
                           "running_mean must be defined in evaluation mode");
            return std::get<0>(native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps));
        }),
    });
    declare("instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
            "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor")({
        doc("Normalised over space, for each sample and channel (Ulyanov et al., 2016)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean, const Tensor& running_var,
                       bool use_input_stats, double momentum, double eps, bool) {
            KINDLING_CHECK(Runtime, use_input_stats || (running_mean.defined() && running_var.defined()),
                           "Expected running_mean and running_var to be defined when use_input_stats is false");
            KINDLING_CHECK(Runtime, input.dim() >= 2, "Expected 2D or more input to instance_norm, but got %s", str(input.sizes()).c_str());
            int64_t batch = input.size(0), channels = input.size(1);
            Sizes sizes = input.sizes();
            sizes[1] = batch * channels;
            sizes[0] = 1;
            auto spread = [&](const Tensor& t) { return t.defined() ? repeat(t, {batch}) : t; };
            Tensor mean_ = spread(running_mean), var_ = spread(running_var);
            Tensor y = batch_norm(reshape(contiguous(input), sizes), spread(weight), spread(bias), mean_, var_, use_input_stats, momentum,
                                  eps, false);
            if (use_input_stats) {
                GradMode none(false);
                if (running_mean.defined()) copy_(running_mean, mean(view(mean_, {batch, channels}), IntList({0})));
                if (running_var.defined()) copy_(running_var, mean(view(var_, {batch, channels}), IntList({0})));
            }
            return view(y, input.sizes());
        }),
    });
    declare("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
            "float eps) -> (Tensor, Tensor, Tensor)")({
        doc("Normalised over groups of channels (Wu and He, 2018); also mean and 1 / deviation"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N, int64_t C, int64_t HxW, int64_t group,
                       double eps) {
            int64_t sample = 0, elements = -1; // what the sizes say; their product need not be a number
            const bool counted = !__builtin_mul_overflow(C, HxW, &sample) && !__builtin_mul_overflow(N, sample, &elements);
            KINDLING_CHECK(Runtime, counted && N >= 0 && HxW >= 0 && group > 0 && C >= 0 && C % group == 0 && input.numel() == elements,
                           "native_group_norm: %ld channels in %ld groups of an input of shape %s do not fit %ld samples of %ld places", C,
                           group, str(input.sizes()).c_str(), N, HxW);
            for (const Tensor* each : {&weight, &bias})
                KINDLING_CHECK(Runtime, !each->defined() || (each->dim() == 1 && each->numel() == C && is_floating(each->dtype())),
                               "native_group_norm: expected floating weight and bias of %ld elements, got %s of %ld", C,
                               kindling::name(each->dtype()), each->numel());
            KINDLING_CHECK(NotImplemented, is_floating(input.dtype()), "\"GroupNormKernelImpl\" not implemented for '%s'",
                           scalar_type_name(input.dtype()));
            const DType type = statistics_type(input, {&weight, &bias});
            Tensor x = contiguous(input);
            if (!weight.defined() && !bias.defined()) {
                auto [result, mean_, rstd, variance] = _normalized(view(x, {N, group, C / group * HxW}), {2}, weight, bias, eps, 2);
                return std::tuple<Tensor, Tensor, Tensor>(like_input(untied(view(result, input.sizes())), input),
                                                          untied(view(to(mean_, type), {N, group})),
                                                          untied(view(to(rstd, type), {N, group})));
            }
            // The numbers of rows first, then x * scale + offset by channel: weights that change within a row would cost more.
            auto [mean_, rstd] = _row_statistics(view(x, {N, group, C / group * HxW}), {2}, eps);
            DType inside = mean_.dtype();
            Sizes own = {1, group, C / group};
            Tensor scale = weight.defined() ? mul(rstd, to(reshape(weight, own), inside)) : expand(rstd, {N, group, C / group});
            Tensor offset = neg(mul(mean_, scale));
            if (bias.defined()) offset = add(offset, to(reshape(bias, own), inside));
            Tensor result = _scaled(view(x, {N, C, HxW}), reshape(scale, {N, C, 1}), reshape(offset, {N, C, 1}));
            return std::tuple<Tensor, Tensor, Tensor>(like_input(untied(view(result, input.sizes())), input),
                                                      untied(view(to(mean_, type), {N, group})), untied(view(to(rstd, type), {N, group})));
        }),
        derivative(
            "input, weight, bias",
            GIVEN(Tensor grad, Tensor input, Tensor weight, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps, Tensor result1,
                  Tensor result2, Tensor grad1, Tensor grad2, Wanted wanted) {
                Sizes grouped = {N, group, C / group, HxW}, one = {N, group, 1, 1}, apart = {2, 3};
                const DType inside = value_type(input.dtype());
                Tensor x = reshape(input, grouped), mean_ = to(view(result1, one), inside), rstd = to(view(result2, one), inside);
                Tensor by_statistics; // what the gradients of mean and 1 / deviation give the input
                if (wanted[0] && (grad1.defined() || grad2.defined())) {
                    if (differentiates_again()) std::tie(mean_, rstd) = statistics_again(x, apart, eps);
                    Tensor share = number(1 / static_cast<double>(std::max<int64_t>(C / group * HxW, 1)));
                    by_statistics = grad1.defined() ? mul(reshape(grad1, one), share) : zeros(one, inside);
                    if (grad2.defined())
                        by_statistics = sub(by_statistics, mul(mul(mul(reshape(grad2, one), share), pow(rstd, Scalar(3))), sub(x, mean_)));
                    by_statistics = reshape(expand(by_statistics, grouped), input.sizes());
                }
                if (!grad.defined()) return std::tuple<Tensor, Tensor, Tensor>(by_statistics, Tensor(), Tensor());
                Tensor g = reshape(grad, grouped);
                auto all_of = [&](const Tensor& gi) { return like_input(by_statistics.defined() ? add(gi, by_statistics) : gi, input); };
                auto flat = [](const Tensor& t) { return t.defined() ? reshape(t, {-1}) : t; };
                Tensor gi, gw, gb;
                if (wanted[0] && !differentiates_again()) {
                    std::tie(gi, gw, gb) = through_groups(contiguous(g), contiguous(x), mean_, rstd, weight);
                    return std::tuple<Tensor, Tensor, Tensor>(all_of(reshape(gi, input.sizes())), wanted[1] ? flat(gw) : Tensor(),
                                                              wanted[2] ? flat(gb) : Tensor());
                }
                if (differentiates_again() && !by_statistics.defined()) std::tie(mean_, rstd) = statistics_again(x, apart, eps);
                if (wanted[0])
                    gi = all_of(
                        reshape(through_statistics(g, x, mean_, rstd, weight.defined() ? reshape(weight, {1, group, C / group, 1}) : weight,
                                                   last_dims(4, 2)),
                                input.sizes()));
                std::tie(gw, gb) = through_parameters(g, x, mean_, rstd, {0, 3}, wanted[1], wanted[2]);
                return std::tuple<Tensor, Tensor, Tensor>(gi, flat(gw), flat(gb));
            }),
    });
    declare("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
            "bool cudnn_enabled=True) -> Tensor")({
        doc("Normalised over groups of channels (Wu and He, 2018)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps, bool) {
            KINDLING_CHECK(Runtime, input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received %ld", input.dim());
            KINDLING_CHECK(NotImplemented, is_floating(input.dtype()), "\"GroupNormKernelImpl\" not implemented for '%s'",
                           scalar_type_name(input.dtype()));
            int64_t channels = input.size(1);
            KINDLING_CHECK(Runtime, num_groups > 0, "Expected num groups to be greater than 0, got %ld", num_groups);
            KINDLING_CHECK(
                Runtime, channels % num_groups == 0,
                "Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%ld",
                str(input.sizes()).c_str(), num_groups);
            KINDLING_CHECK(Runtime, !weight.defined() || (weight.dim() == 1 && weight.numel() == channels),
                           "Expected weight to be a vector of size equal to the number of channels in input, but got weight of shape %s "
                           "and input of shape %s",
                           weight.defined() ? str(weight.sizes()).c_str() : "", str(input.sizes()).c_str());
            KINDLING_CHECK(Runtime, !bias.defined() || (bias.dim() == 1 && bias.numel() == channels),
                           "Expected bias to be a vector of size equal to the number of channels in input, but got bias of shape %s and "
                           "input of shape %s",
                           bias.defined() ? str(bias.sizes()).c_str() : "", str(input.sizes()).c_str());
            if (input.numel() == 0) return statistics_type(input, {&weight, &bias}), clone(input);
            return std::get<0>(native_group_norm(input, weight, bias, input.size(0), channels, input.numel() / (input.size(0) * channels),
                                                 num_groups, eps));
        }),
    });
    declare("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor")({
        doc("v scaled to norm g along a dimension (Salimans and Kingma, 2016)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& v, const Tensor& g, int64_t dim) {
            KINDLING_CHECK(NotImplemented, is_differentiable(v.dtype()), "\"weight_norm_kernel\" not implemented for '%s'",
                           scalar_type_name(v.dtype()));
            Tensor rows = contiguous(v), norm = norm_except_dim(rows, 2, dim);
            const bool counted = (dim == 0 || dim == v.dim() - 1) && g.numel() == norm.numel(); // one for each, of whatever shape
            return mul(rows, div(counted ? reshape(g, norm.sizes()) : contiguous(g), norm));
        }),
    });
    declare("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor")({
        doc("Norms over all dimensions but one"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& v, int64_t pow, int64_t dim) {
            KINDLING_CHECK(Runtime, is_differentiable(v.dtype()),
                           "norm(): input dtype should be either floating point or complex. Got %s instead.", scalar_type_name(v.dtype()));
            if (dim == -1) return linalg_vector_norm(v, Scalar(pow));
            KINDLING_CHECK(Index, v.dim() > 0, "Dimension specified as %ld but tensor has no dimensions", dim);
            if (v.dim() == 1)
                return wrap_dim(dim, 1), linalg_vector_norm(unsqueeze(v, 1), Scalar(pow), IntList({1})); // of each number by itself
            return linalg_vector_norm(v, Scalar(pow), IntList(all_but(v.dim(), wrap_dim(dim, v.dim()))), true);
        }),
    });
    declare("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor")({
        doc("Slices along a dimension scaled down to a p-norm of at most maxnorm"),
        inplace_is_method(),
        has_inplace(),
        composition([](const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
            KINDLING_CHECK(Runtime, !p.is_complex(), "renorm: p must be real-valued");
            KINDLING_CHECK(Runtime, p.to_double() > 0, "renorm: non-positive-norm not supported");
            KINDLING_CHECK(Runtime, !maxnorm.is_complex(), "renorm: maxnorm must be real-valued");
            KINDLING_CHECK(Runtime, maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got %g", maxnorm.to_double());
            KINDLING_CHECK(Runtime, self.dim() > 1, "renorm: input needs at least 2 dimensions, got %ld dimensions", self.dim());
            const Sizes along = all_but(self.dim(), wrap_dim(dim, self.dim()));
            auto length = [&](const Tensor& x) {
                return linalg_vector_norm(x, p, IntList(along), true, is_half(x.dtype()) ? DType::Float32 : DType::None);
            };
            Tensor norms = length(self);
            // The quotient and the norms that are not taken have no slope that could be infinite.
            Tensor large = gt(norms, maxnorm);
            if (thread_state.grad_mode && self.requires_grad()) norms = length(where(large, self, wrap_number(Scalar(0))));
            Tensor factor =
                where(large, div(wrap_number(Scalar(maxnorm.to_double())), where(large, add(norms, number(1e-7)), number(1))), number(1));
            return contiguous(to(mul(self, factor), self.dtype()));
        }),
    });
}
