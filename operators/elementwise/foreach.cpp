// operators/elementwise/foreach.cpp: operators over lists of tensors, as optimizers and gradient clipping call them, and the optimizers'
// steps in one pass. Each list operator is its plain operator on every tensor.
#include <cmath>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/lists.h"
#include "operators/loops.h"

namespace kindling {
namespace {

// The greater and the lesser of two: clamp's values, and where slopes are asked for those of maximum and minimum, half at a tie.
bool sloped(const Tensor& t, const Tensor& u) {
    return thread_state.grad_mode && is_floating(t.dtype()) && (t.requires_grad() || u.requires_grad());
}
bool sloped(const Tensor& t, const Scalar&) { return thread_state.grad_mode && t.requires_grad(); }
const Tensor& as_tensor(const Tensor&, const Tensor& u) { return u; }
Tensor as_tensor(const Tensor& t, const Scalar& s) { return check_fits(s, t.dtype()), wrap_number(s); }
template <class U> Tensor greater(const Tensor& t, const U& u) { return sloped(t, u) ? maximum(t, as_tensor(t, u)) : clamp_min(t, u); }
template <class U> Tensor lesser(const Tensor& t, const U& u) { return sloped(t, u) ? minimum(t, as_tensor(t, u)) : clamp_max(t, u); }
template <class U> void greater_into(const Tensor& t, const U& u) {
    sloped(t, u) ? copy_(t, maximum(clone(t), as_tensor(t, u))) : clamp_min_(t, u);
}
template <class U> void lesser_into(const Tensor& t, const U& u) {
    sloped(t, u) ? copy_(t, minimum(clone(t), as_tensor(t, u))) : clamp_max_(t, u);
}

// ---- optimizers' steps

/// One step's numbers: run-time scalars of the loop, in the order of the body's parameters.
struct Numbers {
    Immediate values[8];
    DType type;
    int count = 0;
    void add(double value) { values[count++] = Immediate::of(type, value); }
};

/// Runs a step over tensors written in place: `written` of them come first, all are read.
void run_step(const Expression& expression, TensorList tensors, int written_count, const Numbers& numbers) {
    TensorImpl* headers[6];
    for (size_t i = 0; i < tensors.size(); i++) {
        KINDLING_CHECK(Runtime, tensors[i].sizes() == tensors[0].sizes() && tensors[i].dtype() == tensors[0].dtype(),
                       "params, grads and states must have the same sizes and dtype, got %s and %s", str(tensors[0]).c_str(),
                       str(tensors[i]).c_str());
        headers[i] = tensors[i].impl();
    }
    run_loop(expression, tensors[0].sizes(), headers, written_count, headers, static_cast<int>(tensors.size()), numbers.values);
    for (int i = 0; i < written_count; i++) written(tensors[static_cast<size_t>(i)]);
}

/// False when the gradients overflowed and the step is to be left out. Takes the scale out of the gradients.
bool unscale(TensorList grads, const Tensor& grad_scale, const Tensor& found_inf) {
    for (const Tensor* each : {&grad_scale, &found_inf})
        KINDLING_CHECK(Runtime, !each->defined() || each->dtype() == DType::Float32, "expected scalar type Float but found %s",
                       scalar_type_name(each->dtype()));
    if (found_inf.defined() && found_inf.item<double>() == 1) return false; // a flag, as PyTorch reads it
    if (grad_scale.defined())
        for (const Tensor& grad : grads) div_(grad, grad_scale);
    return true;
}
void check_floating(const Tensor& param, const char* name) {
    KINDLING_CHECK(NotImplemented, is_floating(param.dtype()), "\"%s\" not implemented for '%s'", name, scalar_type_name(param.dtype()));
}

struct AdamOptions {
    double lr, beta1, beta2, weight_decay, eps;
    bool amsgrad, maximize, decoupled;
    bool as_operators = false; // rounded as lerp_, addcmul_ and addcdiv_ one after the other would, not as torch's fused step
};

void adam_step(const AdamOptions& o, TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
               TensorList max_exp_avg_sqs, TensorList steps, const Tensor& grad_scale, const Tensor& found_inf) {
    check_lists(self, grads);
    check_lists(self, exp_avgs);
    check_lists(self, exp_avg_sqs);
    check_lists(self, steps);
    if (o.amsgrad) check_lists(self, max_exp_avg_sqs);
    if (!unscale(grads, grad_scale, found_inf)) return;
    for (size_t i = 0; i < self.size(); i++) {
        check_floating(self[i], "fused_adam");
        DType type = self[i].dtype(), inside = value_type(type);
        double step = steps[i].item<double>(), correction1 = 1 - std::pow(o.beta1, step), correction2 = 1 - std::pow(o.beta2, step);
        bool decays = o.weight_decay != 0;
        // lerp works from the nearer end.
        bool far = o.as_operators && std::abs(static_cast<float>(1 - o.beta1)) >= 0.5f;
        const Expression& expression = cached_expression(
            key_of(type, DType::None, o.amsgrad | o.maximize << 1 | o.decoupled << 2 | decays << 3 | o.as_operators << 4 | far << 5),
            [&](ExpressionBuilder& b) {
                Sym p = cast(b.input(type), inside), m = cast(b.input(type), inside), v = cast(b.input(type), inside), top;
                if (o.amsgrad) top = cast(b.input(type), inside);
                Sym g = cast(b.input(type), inside);
                Sym rate1 = b.scalar(inside), beta2 = b.scalar(inside), rate2 = b.scalar(inside), size = b.scalar(inside);
                Sym root = b.scalar(inside), eps = b.scalar(inside), decay = b.scalar(inside);
                if (o.maximize) g = -g;
                if (decays && o.decoupled) p = p * decay;
                else if (decays) g = g + p * decay;
                m = far ? g - (g - m) * (like(rate1, 1) - rate1) : m + (g - m) * rate1;
                v = v * beta2 + (o.as_operators ? rate2 * g * g : g * g * rate2);
                if (o.amsgrad) top = max(top, v);
                Sym below = sqrt(o.amsgrad ? top : v) / root + eps;
                p = p - (o.as_operators ? size * m / below : size * (m / below));
                for (const Sym& y : {p, m, v}) b.output(cast(y, type));
                if (o.amsgrad) b.output(cast(top, type));
            });
        Numbers n;
        n.type = inside;
        n.add(1 - o.beta1);
        n.add(o.beta2);
        n.add(1 - o.beta2);
        n.add(o.lr / correction1);
        n.add(o.as_operators ? std::pow(correction2, 0.5) : std::sqrt(correction2));
        n.add(o.eps);
        n.add(o.decoupled ? 1 - o.lr * o.weight_decay : o.weight_decay);
        if (o.amsgrad) run_step(expression, {self[i], exp_avgs[i], exp_avg_sqs[i], max_exp_avg_sqs[i], grads[i]}, 4, n);
        else run_step(expression, {self[i], exp_avgs[i], exp_avg_sqs[i], grads[i]}, 3, n);
    }
}

struct SgdOptions {
    double weight_decay, momentum, lr, dampening;
    bool nesterov, maximize, first;
};

void sgd_step(const SgdOptions& o, TensorList self, TensorList grads, TensorList buffers, const Tensor& grad_scale,
              const Tensor& found_inf) {
    check_lists(self, grads);
    bool moving = o.momentum != 0 && !buffers.empty(), decays = o.weight_decay != 0;
    if (moving) check_lists(self, buffers);
    if (!unscale(grads, grad_scale, found_inf)) return;
    for (size_t i = 0; i < self.size(); i++) {
        check_floating(self[i], "fused_sgd");
        DType type = self[i].dtype(), inside = value_type(type);
        const Expression& expression = cached_expression(
            key_of(type, DType::None, moving | o.nesterov << 1 | o.maximize << 2 | o.first << 3 | decays << 4), [&](ExpressionBuilder& b) {
                Sym p = cast(b.input(type), inside), buffer;
                if (moving) buffer = cast(b.input(type), inside);
                Sym g = cast(b.input(type), inside);
                Sym lr = b.scalar(inside), momentum = b.scalar(inside), kept = b.scalar(inside), decay = b.scalar(inside);
                if (o.maximize) g = -g;
                if (decays) g = g + p * decay;
                if (moving) {
                    buffer = o.first ? g : buffer * momentum + g * kept;
                    g = o.nesterov ? g + buffer * momentum : buffer;
                }
                b.output(cast(p - g * lr, type));
                if (moving) b.output(cast(buffer, type));
            });
        Numbers n;
        n.type = inside;
        n.add(o.lr);
        n.add(o.momentum);
        n.add(1 - o.dampening);
        n.add(o.weight_decay);
        if (moving) run_step(expression, {self[i], buffers[i], grads[i]}, 2, n);
        else run_step(expression, {self[i], grads[i]}, 1, n);
    }
}

struct AdagradOptions {
    double lr, lr_decay, weight_decay, eps;
    bool maximize;
};

void adagrad_step(const AdagradOptions& o, TensorList self, TensorList grads, TensorList sums, TensorList steps, const Tensor& grad_scale,
                  const Tensor& found_inf) {
    check_lists(self, grads);
    check_lists(self, sums);
    check_lists(self, steps);
    if (!unscale(grads, grad_scale, found_inf)) return;
    bool decays = o.weight_decay != 0;
    for (size_t i = 0; i < self.size(); i++) {
        check_floating(self[i], "fused_adagrad");
        DType type = self[i].dtype(), inside = value_type(type);
        const Expression& expression = cached_expression(key_of(type, DType::None, o.maximize | decays << 1), [&](ExpressionBuilder& b) {
            Sym p = cast(b.input(type), inside), total = cast(b.input(type), inside), g = cast(b.input(type), inside);
            Sym rate = b.scalar(inside), eps = b.scalar(inside), decay = b.scalar(inside);
            if (o.maximize) g = -g;
            if (decays) g = g + p * decay;
            total = total + g * g;
            b.output(cast(p - rate * (g / (sqrt(total) + eps)), type));
            b.output(cast(total, type));
        });
        Numbers n;
        n.type = inside;
        n.add(o.lr / (1 + (steps[i].item<double>() - 1) * o.lr_decay));
        n.add(o.eps);
        n.add(o.weight_decay);
        run_step(expression, {self[i], sums[i], grads[i]}, 2, n);
    }
}

} // namespace
} // namespace kindling

OPERATORS(foreach) {
    declare("_foreach_maximum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]")({
        doc("Every tensor or, where larger, a number"),
        in(space::Torch),
        composition([](TensorList self, const Scalar& scalar) { return each(self, [&](const Tensor& t) { return greater(t, scalar); }); }),
    });
    declare("_foreach_maximum_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()")({
        doc("Every tensor or, where larger, a number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, const Scalar& scalar) { each_in_place(self, [&](const Tensor& t) { greater_into(t, scalar); }); }),
    });
    declare("_foreach_maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]")({
        doc("Every tensor or, where larger, its partner"),
        in(space::Torch),
        composition([](TensorList self, TensorList other) {
            return pairs(self, other, [](const Tensor& t, const Tensor& u) { return greater(t, u); });
        }),
    });
    declare("_foreach_maximum_.List(Tensor(a!)[] self, Tensor[] other) -> ()")({
        doc("Every tensor or, where larger, its partner, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList other) {
            pairs_in_place(self, other, [](const Tensor& t, const Tensor& u) { greater_into(t, u); });
        }),
    });
    declare("_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]")({
        doc("Every tensor or, where larger, its number"),
        in(space::Torch),
        composition([](TensorList self, Span<Scalar> scalars) {
            return pairs(self, scalars, [](const Tensor& t, const Scalar& s) { return greater(t, s); });
        }),
    });
    declare("_foreach_maximum_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()")({
        doc("Every tensor or, where larger, its number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, Span<Scalar> scalars) {
            pairs_in_place(self, scalars, [](const Tensor& t, const Scalar& s) { greater_into(t, s); });
        }),
    });
    declare("_foreach_minimum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]")({
        doc("Every tensor or, where smaller, a number"),
        in(space::Torch),
        composition([](TensorList self, const Scalar& scalar) { return each(self, [&](const Tensor& t) { return lesser(t, scalar); }); }),
    });
    declare("_foreach_minimum_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()")({
        doc("Every tensor or, where smaller, a number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, const Scalar& scalar) { each_in_place(self, [&](const Tensor& t) { lesser_into(t, scalar); }); }),
    });
    declare("_foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]")({
        doc("Every tensor or, where smaller, its partner"),
        in(space::Torch),
        composition([](TensorList self, TensorList other) {
            return pairs(self, other, [](const Tensor& t, const Tensor& u) { return lesser(t, u); });
        }),
    });
    declare("_foreach_minimum_.List(Tensor(a!)[] self, Tensor[] other) -> ()")({
        doc("Every tensor or, where smaller, its partner, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList other) {
            pairs_in_place(self, other, [](const Tensor& t, const Tensor& u) { lesser_into(t, u); });
        }),
    });
    declare("_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]")({
        doc("Every tensor or, where smaller, its number"),
        in(space::Torch),
        composition([](TensorList self, Span<Scalar> scalars) {
            return pairs(self, scalars, [](const Tensor& t, const Scalar& s) { return lesser(t, s); });
        }),
    });
    declare("_foreach_minimum_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()")({
        doc("Every tensor or, where smaller, its number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, Span<Scalar> scalars) {
            pairs_in_place(self, scalars, [](const Tensor& t, const Scalar& s) { lesser_into(t, s); });
        }),
    });
    declare("_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]")({
        doc("Every tensor moved towards its partner by a weight of its own"),
        in(space::Torch),
        composition([](TensorList self, TensorList tensors1, TensorList weights) {
            return triples(self, tensors1, weights,
                           [](const Tensor& t, const Tensor& a, const Tensor& w, size_t) { return lerp(t, a, w); });
        }),
    });
    declare("_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]")({
        doc("Every tensor moved towards its partner by a weight"),
        in(space::Torch),
        composition([](TensorList self, TensorList tensors1, const Scalar& weight) {
            return pairs(self, tensors1, [&](const Tensor& t, const Tensor& a) { return lerp(t, a, weight); });
        }),
    });
    declare("_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]")({
        doc("Every tensor moved towards its partner by its number"),
        in(space::Torch),
        composition([](TensorList self, TensorList tensors1, Span<Scalar> weight) {
            check_lists(self, weight);
            return triples(self, tensors1, tensors1,
                           [&](const Tensor& t, const Tensor& a, const Tensor&, size_t i) { return lerp(t, a, weight[i]); });
        }),
    });
    declare("_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]")({
        doc("Every tensor to the power of its partner"),
        in(space::Torch),
        composition([](TensorList self, TensorList exponent) {
            return pairs(self, exponent, [](const Tensor& t, const Tensor& e) { return pow(t, e); });
        }),
    });
    declare("_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]")({
        doc("Every tensor to the power of a number"),
        in(space::Torch),
        composition([](TensorList self, const Scalar& exponent) { return each(self, [&](const Tensor& t) { return pow(t, exponent); }); }),
    });
    declare("_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]")({
        doc("Every tensor to the power of its number"),
        in(space::Torch),
        composition([](TensorList self, Span<Scalar> exponent) {
            return pairs(self, exponent, [](const Tensor& t, const Scalar& e) { return pow(t, e); });
        }),
    });
    declare("_foreach_lerp_.List(Tensor(a!)[] self, Tensor[] tensors1, Tensor[] weights) -> ()")({
        doc("Every tensor moved towards its partner by a weight of its own, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList tensors1, TensorList weights) {
            triples_in_place(self, tensors1, weights, [](const Tensor& t, const Tensor& a, const Tensor& w, size_t) { lerp_(t, a, w); });
        }),
    });
    declare("_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()")({
        doc("Every tensor moved towards its partner by a weight, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList tensors1, const Scalar& weight) {
            pairs_in_place(self, tensors1, [&](const Tensor& t, const Tensor& a) { lerp_(t, a, weight); });
        }),
    });
    declare("_foreach_lerp_.ScalarList(Tensor(a!)[] self, Tensor[] tensors1, Scalar[] weight) -> ()")({
        doc("Every tensor moved towards its partner by its number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList tensors1, Span<Scalar> weight) {
            check_lists(self, weight);
            triples_in_place(self, tensors1, tensors1,
                             [&](const Tensor& t, const Tensor& a, const Tensor&, size_t i) { lerp_(t, a, weight[i]); });
        }),
    });
    declare("_foreach_pow_.List(Tensor(a!)[] self, Tensor[] exponent) -> ()")({
        doc("Every tensor to the power of its partner, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList exponent) {
            pairs_in_place(self, exponent, [](const Tensor& t, const Tensor& e) { pow_(t, e); });
        }),
    });
    declare("_foreach_pow_.Scalar(Tensor(a!)[] self, Scalar exponent) -> ()")({
        doc("Every tensor to the power of a number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, const Scalar& exponent) { each_in_place(self, [&](const Tensor& t) { pow_(t, exponent); }); }),
    });
    declare("_foreach_pow_.ScalarList(Tensor(a!)[] self, Scalar[] exponent) -> ()")({
        doc("Every tensor to the power of its number, in place"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, Span<Scalar> exponent) {
            pairs_in_place(self, exponent, [](const Tensor& t, const Scalar& e) { pow_(t, e); });
        }),
    });
    declare("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]")({
        doc("A number to the power of every tensor"),
        in(space::Torch),
        composition([](const Scalar& self, TensorList exponent) { return each(exponent, [&](const Tensor& e) { return pow(self, e); }); }),
    });
    declare("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]")({
        doc("The vector norm of every tensor"),
        in(space::Torch),
        composition([](TensorList self, const Scalar& ord, DType dtype) {
            KINDLING_CHECK(Runtime, ord.is_integral() || ord.is_float(), "foreach_tensor_norm_slow expects ord to be integer or float");
            return each(self, [&](const Tensor& t) { return linalg_vector_norm(t, ord, std::nullopt, false, dtype); });
        }),
    });
    declare("_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]")({
        doc("The sum of |x|**ord of every tensor"),
        in(space::Torch),
        composition([](TensorList self, const Scalar& ord, DType dtype) {
            ord.to_double(); // no complex number
            return each(self, [&](const Tensor& t) {
                const DType computed = dtype == DType::None ? t.dtype() : dtype;
                // Whole numbers are summed in int64, whatever they are.
                if (category(computed) < 2) fail(ErrorKind::NotImplemented, "\"powsum_cpu\" not implemented for 'Long'");
                return sum(
                    to(pow(abs(t.is_complex() && !is_complex(computed) ? t : to(t, computed)), wrap_number(ord)), to_real(computed)));
            });
        }),
    });
    declare("_foreach_max(Tensor[] self) -> Tensor[]")({
        doc("The largest element of every tensor"),
        in(space::Torch),
        composition([](TensorList self) { return each(self, [](const Tensor& t) { return max(t); }); }),
    });
    declare("_foreach_zero_(Tensor(a!)[] self) -> ()")({
        doc("Every tensor filled with 0"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self) { each_in_place(self, [](const Tensor& t) { zero_(t); }); }),
    });
    declare("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]")({
        doc("A copy of every tensor"),
        in(space::Torch),
        composition([](TensorList self, std::optional<MemoryFormat> memory_format) {
            return each(self, [&](const Tensor& t) { return clone(t, memory_format); });
        }),
    });
    declare("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()")({
        doc("Every tensor overwritten with its partner"),
        gives_self(),
        in(space::Torch),
        composition([](TensorList self, TensorList src, bool non_blocking) {
            pairs_in_place(self, src, [&](const Tensor& t, const Tensor& s) { copy_(t, s, non_blocking); });
        }),
    });
    declare("_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[]")({
        doc("Every tensor's partner, in the tensor's dtype and shape"),
        in(space::Torch),
        composition([](TensorList self, TensorList src, bool) {
            return pairs(self, src, [](const Tensor& t, const Tensor& s) { return copy(t, s); });
        }),
    });
    declare("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]")({
        doc("Matrix products of partners"),
        in(space::Torch),
        composition(
            [](TensorList self, TensorList mat2) { return pairs(self, mat2, [](const Tensor& a, const Tensor& b) { return mm(a, b); }); }),
    });
    declare("_adam_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, "
            "Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, "
            "bool amsgrad, bool maximize, bool decoupled_weight_decay) -> ()")({
        doc("A step of Adam (Kingma and Ba, 2014) or AdamW on every parameter, one pass each, with the roundings of torch.optim.Adam's "
            "operators; counts the step"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                       TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                       bool maximize, bool decoupled_weight_decay) {
            for (const Tensor& step : state_steps) add_(step, wrap_number(Scalar(int64_t{1})));
            adam_step({lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled_weight_decay, true}, self, grads, exp_avgs,
                      exp_avg_sqs, max_exp_avg_sqs, state_steps, Tensor(), Tensor());
        }),
    });
    declare("_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
            "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, "
            "bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")({
        doc("A step of Adam (Kingma and Ba, 2014) on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                       TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                       bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
            adam_step({lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, false}, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
                      state_steps, grad_scale, found_inf);
        }),
    });
    declare("_fused_adam_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
            "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, Tensor lr, float beta1, float beta2, float weight_decay, float eps, "
            "bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")({
        doc("A step of Adam (Kingma and Ba, 2014) on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                       TensorList state_steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                       bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
            adam_step({lr.item<double>(), beta1, beta2, weight_decay, eps, amsgrad, maximize, false}, self, grads, exp_avgs, exp_avg_sqs,
                      max_exp_avg_sqs, state_steps, grad_scale, found_inf);
        }),
    });
    declare("_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
            "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, "
            "bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")({
        doc("A step of AdamW (Loshchilov and Hutter, 2017) on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                       TensorList state_steps, double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                       bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
            adam_step({lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, true}, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
                      state_steps, grad_scale, found_inf);
        }),
    });
    declare("_fused_adamw_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
            "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, Tensor lr, float beta1, float beta2, float "
            "weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")({
        doc("A step of AdamW (Loshchilov and Hutter, 2017) on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,
                       TensorList state_steps, const Tensor& lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                       bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
            adam_step({lr.item<double>(), beta1, beta2, weight_decay, eps, amsgrad, maximize, true}, self, grads, exp_avgs, exp_avg_sqs,
                      max_exp_avg_sqs, state_steps, grad_scale, found_inf);
        }),
    });
    declare("_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, "
            "float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? "
            "found_inf=None) -> ()")({
        doc("A step of stochastic gradient descent on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum, double lr,
                       double dampening, bool nesterov, bool maximize, bool is_first_step, const Tensor& grad_scale,
                       const Tensor& found_inf) {
            sgd_step({weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step}, self, grads, momentum_buffer_list,
                     grad_scale, found_inf);
        }),
    });
    declare("_fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, "
            "float weight_decay, float momentum, Tensor lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? "
            "grad_scale=None, Tensor? found_inf=None) -> ()")({
        doc("A step of stochastic gradient descent on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay, double momentum,
                       const Tensor& lr, double dampening, bool nesterov, bool maximize, bool is_first_step, const Tensor& grad_scale,
                       const Tensor& found_inf) {
            sgd_step({weight_decay, momentum, lr.item<double>(), dampening, nesterov, maximize, is_first_step}, self, grads,
                     momentum_buffer_list, grad_scale, found_inf);
        }),
    });
    declare(
        "_fused_adagrad_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor(d!)[] state_steps, *, "
        "float lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()")({
        doc("A step of Adagrad (Duchi et al., 2011) on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, double lr, double lr_decay,
                       double weight_decay, double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
            adagrad_step({lr, lr_decay, weight_decay, eps, maximize}, self, grads, state_sums, state_steps, grad_scale, found_inf);
        }),
    });
    declare("_fused_adagrad_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, "
            "Tensor[] state_steps, *, Tensor lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, "
            "Tensor? found_inf=None) -> ()")({
        doc("A step of Adagrad (Duchi et al., 2011) on every parameter, one pass each"),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps, const Tensor& lr, double lr_decay,
                       double weight_decay, double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
            adagrad_step({lr.item<double>(), lr_decay, weight_decay, eps, maximize}, self, grads, state_sums, state_steps, grad_scale,
                         found_inf);
        }),
    });
}
