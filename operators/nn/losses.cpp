// operators/nn/losses.cpp: loss functions. Reductions are torch's numbers: 0 none, 1 mean, 2 sum.
#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/products/distances.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

Tensor number(double value) { return wrap_number(Scalar(value)); }
Tensor zero() { return number(0); }
Tensor one() { return number(1); }

/// In PyTorch these are written to a tensor of self's dtype.
Tensor as_self(const Tensor& self, const Tensor& loss) { return loss.dtype() == self.dtype() ? loss : to(loss, self.dtype()); }
void need_room(const Tensor& self, const Tensor& target) {
    DType dtype = promote(self.dtype(), target.dtype());
    KINDLING_CHECK(Runtime, can_cast(dtype, self.dtype()), "result type %s can't be cast to the desired output type %s",
                   scalar_type_name(dtype), scalar_type_name(self.dtype()));
}

void need_floats(const Tensor& self, const Tensor& target, const char* name) {
    DType dtype = promote(self.dtype(), target.dtype());
    KINDLING_CHECK(NotImplemented, is_floating(dtype), "\"%s\" not implemented for '%s'", name, scalar_type_name(dtype));
}

Tensor reduced(const Tensor& loss, int64_t reduction) { return reduction == 1 ? mean(loss) : reduction == 2 ? sum(loss) : loss; }
/// Those that ask for 0 and for 1, and take all other numbers for a sum.
Tensor reduced_or_summed(const Tensor& loss, int64_t reduction) { return reduced(loss, reduction == 0 || reduction == 1 ? reduction : 2); }

/// As torch, whose formulas leave this argument out.
void no_gradient(const Tensor& x, const char* function, const char* argument) {
    KINDLING_CHECK(Runtime, !thread_state.grad_mode || !x.defined() || !x.requires_grad(),
                   "The function '%s' is not differentiable with respect to argument '%s'. This input cannot have requires_grad True.",
                   function, argument);
}

/// Of losses over classes, as torch: there may be no sample, but not no class.
void check_classes(const Tensor& self) {
    KINDLING_CHECK(Runtime, self.dim() <= 2 && (!self.dim() || self.size(-1)),
                   "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s", str(self.sizes()).c_str());
}

void check_distances(const Tensor& x1, const Tensor& x2, double p) {
    for (const Tensor* each : {&x1, &x2})
        KINDLING_CHECK(Runtime, each->dim() >= 2, "cdist only supports at least 2D tensors, %s got: %ldD", each == &x1 ? "X1" : "X2",
                       each->dim());
    for (const Tensor* each : {&x1, &x2})
        KINDLING_CHECK(Runtime, is_floating(each->dtype()), "cdist only supports floating-point dtypes, %s got: %s",
                       each == &x1 ? "X1" : "X2", scalar_type_name(each->dtype()));
    KINDLING_CHECK(NotImplemented, !is_half(x1.dtype()) || !x1.numel() || !x2.numel(), "\"cdist\" not implemented for '%s'",
                   scalar_type_name(x1.dtype()));
    KINDLING_CHECK(Runtime, x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: %ld X2: %ld", x1.size(-1),
                   x2.size(-1));
    KINDLING_CHECK(Runtime, p >= 0, "cdist only supports non-negative p values");
}

/// Samples x classes x places, a target for each place, and what is done with the losses.
struct Nll {
    int64_t batch, classes, space, reduction, ignore;
};

Nll nll_of(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore) {
    KINDLING_CHECK(Value, self.dim() >= 1, "Expected 1 or more dimensions (got 0)");
    bool single = self.dim() == 1;
    Nll n{single ? 1 : self.size(0), single ? self.size(0) : self.size(1), 1, reduction, ignore};
    auto long_or_byte = [&] {
        KINDLING_CHECK(Runtime, target.dtype() == DType::Int64 || target.dtype() == DType::UInt8,
                       "expected target dtype to be Long or Byte, but got %s", scalar_type_name(target.dtype()));
    };
    if (single) {
        KINDLING_CHECK(Runtime, target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
        long_or_byte();
        KINDLING_CHECK(Value, target.numel() == 1, "For 1D input, 1D target must have size 1, but got target size: %ld", target.numel());
    } else {
        KINDLING_CHECK(Value, self.size(0) == (target.dim() ? target.size(0) : 0),
                       "Expected input batch_size (%ld) to match target batch_size (%ld).", self.size(0),
                       target.dim() ? target.size(0) : 0);
        KINDLING_CHECK(Runtime, self.dim() != 2 || target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
        KINDLING_CHECK(Runtime, self.dim() != 4 || target.dim() == 3,
                       "only batches of spatial targets supported (3D tensors) but got targets of dimension: %ld", target.dim());
        Sizes wanted{self.size(0)};
        for (int64_t d = 2; d < self.dim(); d++) {
            wanted.push_back(self.size(d));
            n.space *= self.size(d);
        }
        bool fits = target.sizes() == IntList(wanted);
        KINDLING_CHECK(Runtime, fits || self.dim() != 4, "size mismatch (got input: %s , target: %s", str(self.sizes()).c_str(),
                       str(target.sizes()).c_str());
        KINDLING_CHECK(Runtime, fits, "Expected target size %s, got %s", str(IntList(wanted)).c_str(), str(target.sizes()).c_str());
        long_or_byte();
        KINDLING_CHECK(Runtime, self.dim() == 2 || target.dtype() == DType::Int64, "expected scalar type Long but found %s",
                       scalar_type_name(target.dtype()));
    }
    KINDLING_CHECK(Runtime, !weight.defined() || (weight.dim() == 1 && weight.numel() == n.classes),
                   "weight tensor should be defined either for all %ld classes or no classes but got weight tensor of shape: %s", n.classes,
                   weight.defined() ? str(weight.sizes()).c_str() : "");
    KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"nll_loss_out_frame\" not implemented for '%s'",
                   scalar_type_name(self.dtype()));
    KINDLING_CHECK(Runtime, !weight.defined() || weight.dtype() == self.dtype(), "expected scalar type %s but found %s",
                   scalar_type_name(self.dtype()), weight.defined() ? scalar_type_name(weight.dtype()) : "");
    return n;
}

void check_class(int64_t c, int64_t classes) { KINDLING_CHECK(Index, c >= 0 && c < classes, "Target %ld is out of bounds.", c); }
void check_classes(const Tensor& target, int64_t classes, int64_t ignored) {
    const Tensor each = contiguous(to(target, DType::Int64));
    for (int64_t i = 0; i < each.numel(); i++)
        if (each.data_ptr<int64_t>()[i] != ignored) check_class(each.data_ptr<int64_t>()[i], classes);
}

/// One pass over the targets; the weights of ignored ones are 0. The sums are in double precision.
template <class T> void nll(const Nll& n, const T* x, const int64_t* target, const T* weight, T* each, double& total, double& weights) {
    for (int64_t b = 0; b < n.batch; b++)
        for (int64_t s = 0; s < n.space; s++) {
            int64_t c = target[b * n.space + s];
            T value = 0;
            if (c != n.ignore) {
                check_class(c, n.classes);
                T factor = weight ? weight[c] : T(1);
                value = -x[(b * n.classes + c) * n.space + s] * factor;
                weights += static_cast<double>(factor);
            }
            if (each) each[b * n.space + s] = value;
            total += static_cast<double>(value);
        }
}

void store(const Array& place, double value) {
    if (place.dtype() == DType::Float64) *place.data_ptr<double>() = value;
    else *place.data_ptr<float>() = static_cast<float>(value);
}

/// The rows of the fused pair below: its one caller picks them, yet anybody may name it.
void check_rows(const Tensor& self, const Tensor& target, const char* operation) {
    bool fits = (self.dtype() == DType::Float32 || self.dtype() == DType::Float64) && self.dim() == 2 && target.dim() == 1 &&
                self.size(0) == target.size(0) && self.size(1) > 0 && (target.dtype() == DType::Int64 || target.dtype() == DType::UInt8);
    KINDLING_CHECK(Runtime, fits, "%s: expected rows of floats or doubles and a class for each, got %s %s and %s %s", operation,
                   name(self.dtype()), str(self.sizes()).c_str(), name(target.dtype()), str(target.sizes()).c_str());
}

/// What the losses of rows, and their gradients, go by.
struct RowLosses {
    int64_t reduction, ignore;
};

/// The loss of each row from its largest value and the logarithm of its sum of exp(x - largest); how many targets counted.
constexpr auto row_losses = [](const RowLosses& how, const Array& self, const Array& target, const Array& largest, const Array& log_sum,
                               const Array& loss, const Array& counted) {
    auto loop = [&]<class T>(T) {
        const T *x = self.data_ptr<T>(), *top = largest.data_ptr<T>(), *logs = log_sum.data_ptr<T>();
        T* each = how.reduction == 0 ? loss.data_ptr<T>() : nullptr;
        const int64_t* place = target.data_ptr<int64_t>();
        double total = 0, count = 0;
        for (int64_t i = 0; i < self.size(0); i++) {
            T value = 0;
            if (int64_t c = place[i]; c != how.ignore) {
                check_class(c, self.size(1));
                value = logs[i] - (x[i * self.stride(0) + c * self.stride(1)] - top[i]);
                count++;
            }
            if (each) each[i] = value;
            total += static_cast<double>(value);
        }
        if (!each) store(loss, how.reduction == 1 ? total / count : total);
        store(counted, count);
    };
    if (self.dtype() == DType::Float64) loop(double());
    else loop(float());
};

/// softmax(self) * g, less g at the target; g the gradient of each row's loss, 0 where it is ignored.
constexpr auto row_loss_gradients = [](const RowLosses& how, const Array& grad, const Array& self, const Array& target,
                                       const Array& largest, const Array& log_sum, const Array& counted, const Array& result,
                                       Workspace room) {
    const DType type = self.dtype();
    const int64_t sizes[2] = {self.size(0), self.size(1)}, item = static_cast<int64_t>(self.element_size());
    const int64_t rows[2] = {sizes[1] * item, item}, as_it_lies[2] = {self.stride(0) * item, self.stride(1) * item}, once[2] = {item, 0};
    auto loop = [&]<class T>(T) {
        const int64_t* place = target.data_ptr<int64_t>();
        T* slope = room.as<T>();
        const T *g = grad.data_ptr<T>(), count = how.reduction == 1 ? *counted.data_ptr<T>() : T(1);
        for (int64_t i = 0; i < sizes[0]; i++) slope[i] = place[i] == how.ignore ? T(0) : g[how.reduction == 0 ? i : 0] / count;
        const Expression& expression = cached_expression(key_of(type), [&](ExpressionBuilder& b) {
            const Sym x = b.input(type), top = b.input(type), logs = b.input(type), scale = b.input(type);
            b.output(exp(x - top - logs) * scale);
        });
        LoopOperand operands[5] = {{result.data(), type, rows},
                                   {self.data(), type, as_it_lies},
                                   {largest.data(), type, once},
                                   {log_sum.data(), type, once},
                                   {slope, type, once}};
        run({.expression = &expression, .ndim = 2, .sizes = sizes, .output_count = 1, .input_count = 4, .operands = operands});
        for (int64_t i = 0; i < sizes[0]; i++)
            if (place[i] != how.ignore) {
                check_class(place[i], sizes[1]);
                result.data_ptr<T>()[i * sizes[1] + place[i]] -= slope[i];
            }
    };
    if (type == DType::Float64) loop(double());
    else loop(float());
};

/// Norms along the last dimension. That of p = 0 counts: NaN is no count, and its gradient is zero, as for distances in PyTorch.
Tensor row_norms(const Tensor& x, double p) {
    if (p == 0) return sum(clamp_max(ceil(abs(x)), Scalar(1)), generated::ints<-1>());
    return linalg_vector_norm(x, Scalar(p), generated::ints<-1>(), false);
}

/// Norms of the differences of rows that broadcast. A tensor of differences is made for derivatives alone: it is as large as one argument
/// times the rows of the other.
Tensor distances(const Tensor& x1, const Tensor& x2, double p) {
    if (is_followed(x1) || is_followed(x2)) return row_norms(sub(x1, x2), p);
    const Sizes sizes = broadcast_sizes(x1.sizes(), x2.sizes());
    return _distances(expand(x1, sizes), expand(x2, sizes), p);
}
/// What is reduced to a distance of two rows, by norm_kind.
Sym distance_term(const Sym& x, const Sym& y, const Sym& p, int64_t kind) {
    const Sym apart = x - y;
    return kind ? norm_term(apart, p, kind) : min(ceil(abs(apart)), like(apart, 1));
}
/// Of one number without powers, which might overflow.
int distance_kind(double p, int64_t length) { return p != 0 && length == 1 ? 1 : norm_kind(p); }

constexpr int64_t rows_at_once = 16; // of pair_distances: the triangle among them is computed twice
/// The distances of all pairs of rows: of some rows to all that follow the first of them.
constexpr auto pair_distances = [](double p, const Array& self, const Array& result, Workspace room) {
    const DType type = self.dtype();
    const int64_t n = self.size(0), length = self.size(1), item = static_cast<int64_t>(self.element_size()), row = length * item;
    const int kind = distance_kind(p, length);
    if ((kind == 1 || kind == 2) && library::row_distances(type, self.data(), n, length, kind == 2, result.data(), room.as<char>())) return;
    const auto key = key_of(type, DType::None, static_cast<uint64_t>(kind));
    const Expression& term = cached_expression(key, [&](ExpressionBuilder& b) {
        const Sym x = b.input(type), y = b.input(type);
        b.output(distance_term(x, y, b.scalar(type), kind));
    });
    const Expression& finish = cached_expression(key, [&](ExpressionBuilder& b) {
        const Sym total = b.input(type);
        b.output(norm_of_total(total, b.scalar(type), kind));
    });
    const Combine combine = norm_combine(kind);
    const Immediate number = Immediate::of(type, p);
    char *to = result.data_ptr<char>(), *some = room.as<char>();
    for (int64_t first = 0; first < n - 1; first += rows_at_once) {
        const int64_t behind = n - 1 - first, sizes[3] = {std::min(rows_at_once, behind), behind, length};
        const int64_t written[3] = {behind * item, item, 0}, left[3] = {row, 0, item}, right[3] = {0, row, item};
        char* from = self.data_ptr<char>() + first * row;
        const LoopOperand operands[3] = {{some, type, written}, {from, type, left}, {from + row, type, right}};
        run({.expression = &term,
             .ndim = 3,
             .sizes = sizes,
             .output_count = 1,
             .input_count = 2,
             .operands = operands,
             .scalars = &number,
             .reduced = 4,
             .combines = &combine,
             .finish = kind == 2 || kind == 5 ? &finish : nullptr});
        for (int64_t r = 0; r < sizes[0]; r++) {
            std::memcpy(to, some + (r * behind + r) * item, static_cast<size_t>((behind - r) * item));
            to += (behind - r) * item;
        }
    }
};

} // namespace
} // namespace kindling

OPERATORS(losses) {
    declare("_row_log_sums(Tensor self) -> (Tensor, Tensor)")({
        doc("Each row's largest value, and log(sum(exp(self - largest)))"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        rows(
            [](KernelCall& call, const Tensor& self) {
                KINDLING_CHECK(Runtime, self.dim() == 2 && is_floating(self.dtype()),
                               "_row_log_sums: expected a matrix of floating numbers, got %s %s", name(self.dtype()),
                               str(self.sizes()).c_str());
                call.along(self, 2, value_type(self.dtype()));
                call.reads_as_it_lies(self);
                call.gives_of_row(self.dtype()).if_nothing(-__builtin_inf());
                call.gives_of_row(self.dtype()).if_nothing(-__builtin_inf());
            },
            [](auto x) {
                auto largest = row_max(x);
                return std::pair(largest, log(row_sum(exp(x - largest))));
            }),
    });
    declare(
        "_row_losses(Tensor self, Tensor target, Tensor largest, Tensor log_sum, int reduction, SymInt ignore_index) -> (Tensor, Tensor)")({
        doc("nll_loss of log_softmax over rows, from what _row_log_sums gives; and how many targets counted"),
        raises_by_value(
            GIVEN(Tensor target, IntList self_sizes, int64_t ignore_index) { check_classes(target, self_sizes[1], ignore_index); }),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& target, const Tensor& largest, const Tensor& log_sum, int64_t reduction,
               int64_t ignore_index) {
                check_rows(self, target, "_row_losses");
                KINDLING_CHECK(Runtime,
                               largest.sizes() == IntList({self.size(0), 1}) && log_sum.sizes() == largest.sizes() &&
                                   largest.dtype() == self.dtype() && log_sum.dtype() == self.dtype(),
                               "_row_losses: largest %s and log_sum %s do not fit self %s", str(largest.sizes()).c_str(),
                               str(log_sum.sizes()).c_str(), str(self.sizes()).c_str());
                call.reads_as_it_lies(self);
                call.reads(target, DType::Int64);
                for (const Tensor* each : {&largest, &log_sum}) call.reads(*each);
                call.gives(reduction == 0 ? target.sizes() : IntList(), self.dtype());
                call.gives({}, self.dtype());
                call.costs(target.numel());
                return RowLosses{reduction, ignore_index};
            },
            row_losses),
    });
    declare("nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
            "SymInt ignore_index) -> (Tensor output, Tensor total_weight)")({
        doc("-weight[target] * self[target], and the sum of the weights"),
        raises_by_value(GIVEN(Tensor target, IntList self_sizes, int64_t ignore_index) {
            check_classes(target, self_sizes[self_sizes.size() > 1], ignore_index);
        }),
        in(space::Nn),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index) {
                const Nll n = nll_of(self, target, weight, reduction, ignore_index);
                const DType wide = self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32,
                            sums = is_half(self.dtype()) ? DType::Float64 : self.dtype();
                call.reads(self, wide);
                call.reads(target, DType::Int64);
                call.reads(weight, wide);
                const bool each = reduction == 0;
                call.gives(each && self.dim() > 1 ? target.sizes() : IntList(), self.dtype()).computed_in(each ? wide : sums);
                call.gives(IntList(), self.dtype()).computed_in(sums);
                return n;
            },
            [](const Nll& n, const Array& x, const Array& target, const Array& weight, const Array& loss, const Array& total_weight) {
                double total = 0, weights = 0;
                auto loop = [&]<class T>(T) {
                    nll<T>(n, x.data_ptr<T>(), target.data_ptr<int64_t>(), weight.defined() ? weight.data_ptr<T>() : nullptr,
                           n.reduction == 0 ? loss.data_ptr<T>() : nullptr, total, weights);
                };
                if (x.dtype() == DType::Float64) loop(double());
                else loop(float());
                store(total_weight, weights);
                if (n.reduction != 0) store(loss, n.reduction == 1 ? total / weights : total);
            }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, Tensor target, Tensor weight, int64_t reduction, int64_t ignore_index, Tensor result1) {
                return nll_loss_backward(grad, self_shape, target, weight, reduction, ignore_index, result1);
            }),
    });
    declare("nll_loss_backward(Tensor grad_output, Tensor shape, Tensor target, Tensor? weight, int reduction, "
            "SymInt ignore_index, Tensor total_weight) -> Tensor")({
        doc("The gradient of nll_loss; `shape` has the input's sizes"),
        linear(),
        raises_by_value(GIVEN(Tensor target, IntList shape_sizes, int64_t ignore_index) {
            if (checked_numel(shape_sizes)) check_classes(target, shape_sizes[shape_sizes.size() > 1], ignore_index);
        }),
        refuses("torch.ops.aten.nll_loss_backward(torch.ones(()), torch.ones(2, 3), torch.tensor([0, 5]), None, 1, -100, torch.ones(()))",
                "IndexError: Target 5 is out of bounds"),
        in(space::Hidden),
        composition([](const Tensor& grad_output, const Tensor& shape, const Tensor& target, const Tensor& weight, int64_t reduction,
                       int64_t ignore_index, const Tensor& total_weight) {
            KINDLING_CHECK(Runtime, shape.dim() == 1 || (shape.dim() > 1 && target.dim() + 1 == shape.dim()),
                           "input tensor should be 1D or 2D"); // or images, whose gradient is this one, too
            bool single = shape.dim() == 1;
            KINDLING_CHECK(Runtime, total_weight.numel() == 1,
                           "expected total_weight to be a  single element tensor, got: %s (%ld elements)",
                           str(total_weight.sizes()).c_str(), total_weight.numel());
            KINDLING_CHECK(Runtime, !weight.defined() || weight.numel() == shape.size(single ? 0 : 1),
                           "weight tensor should be defined either for all or no classes");
            KINDLING_CHECK(Runtime, reduction == 0 || (grad_output.dim() <= 1 && grad_output.numel() == 1),
                           "Expected a single element grad_output tensor, but got: %s", str(grad_output.sizes()).c_str());
            KINDLING_CHECK(Runtime, target.dtype() == DType::Int64 || target.dtype() == DType::UInt8,
                           "expected scalar type Long but found %s", scalar_type_name(target.dtype()));
            KINDLING_CHECK(Runtime, single || target.size(0) == shape.size(0), "size mismatch (got input: %s, target: %s)",
                           str(shape.sizes()).c_str(), str(target.sizes()).c_str());
            if (!shape.numel()) return zeros(shape.sizes(), grad_output.dtype()); // all targets are ignored
            if (!target.is_meta() && !batch_behind(target)) check_classes(target, shape.size(single ? 0 : 1), ignore_index);
            Tensor places = single ? reshape(target, {1}) : unsqueeze(target, 1);
            places = to(places, DType::Int64);
            Tensor ignored = eq(places, Scalar(ignore_index));
            Tensor safe = masked_fill(places, ignored, Scalar(0));
            Tensor value = weight.defined() ? reshape(index_select(weight, 0, reshape(safe, {-1})), safe.sizes())
                                            : ones(safe.sizes(), grad_output.dtype());
            Tensor g = reduction == 0 ? (single ? reshape(grad_output, {1}) : unsqueeze(grad_output, 1)) : grad_output;
            if (reduction == 1) g = div(g, total_weight); // not finite where all are ignored
            value = masked_fill(mul(neg(value), g), ignored, Scalar(0));
            return scatter(zeros(shape.sizes(), grad_output.dtype()), single ? 0 : 1, safe, contiguous(expand(value, safe.sizes())));
        }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, Tensor target, Tensor weight, int64_t reduction, int64_t ignore_index) {
                return std::get<0>(nll_loss_forward(grad, target, weight, reduction, ignore_index));
            }),
    });
    declare("nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor")({
        doc("Negative log likelihood of classes given log probabilities"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index) {
            return std::get<0>(nll_loss_forward(self, target, weight, reduction, ignore_index));
        }),
    });
    declare("nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor")({
        doc("nll_loss over planes"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index) {
            return std::get<0>(nll_loss_forward(self, target, weight, reduction, ignore_index));
        }),
    });
    declare("nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor")({
        doc("nll_loss over any number of dimensions"),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index) {
            return nll_loss(self, target, weight, reduction, ignore_index);
        }),
    });
    declare("_cross_entropy(Tensor self, Tensor target, int reduction, SymInt ignore_index) -> (Tensor, Tensor, Tensor, Tensor)")({
        doc("nll_loss of log_softmax over rows of floats; also what its gradient needs"),
        raises_by_value(
            GIVEN(Tensor target, IntList self_sizes, int64_t ignore_index) { check_classes(target, self_sizes[1], ignore_index); }),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction, int64_t ignore_index) {
            check_rows(self, target, "_cross_entropy");
            auto [largest, log_sum] = _row_log_sums(self);
            auto [loss, counted] = _row_losses(self, target, largest, log_sum, reduction, ignore_index);
            return std::make_tuple(loss, largest, log_sum, counted);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor target, int64_t reduction, int64_t ignore_index, Tensor result1, Tensor result2,
                  Tensor result3) {
                if (!grad.defined()) return Tensor();
                if (!differentiates_again())
                    return _cross_entropy_backward(grad, self, target, result1, result2, result3, reduction, ignore_index);
                // A second derivative follows: the same by its parts.
                Tensor g = reduction == 1 ? div(grad, result3) : grad, places = unsqueeze(to(target, DType::Int64), 1),
                       ignored = eq(places, Scalar(ignore_index));
                g = masked_fill(expand(reduction == 0 ? unsqueeze(g, 1) : g, places.sizes()), ignored, Scalar(0));
                return scatter_add(mul(softmax(self, 1, DType::None), g), 1, masked_fill(places, ignored, Scalar(0)), neg(g));
            }),
    });
    declare("_cross_entropy_backward(Tensor grad, Tensor self, Tensor target, Tensor largest, Tensor log_sum, Tensor count, "
            "int reduction, SymInt ignore_index) -> Tensor")({
        doc("The gradient of _cross_entropy"),
        raises_by_value(
            GIVEN(Tensor target, IntList self_sizes, int64_t ignore_index) { check_classes(target, self_sizes[1], ignore_index); }),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& largest, const Tensor& log_sum,
               const Tensor& count, int64_t reduction, int64_t ignore_index) {
                check_rows(self, target, "_cross_entropy_backward");
                bool fits = grad.sizes() == (reduction == 0 ? target.sizes() : IntList()) && count.numel() == 1 &&
                            largest.sizes() == IntList({self.size(0), 1}) && log_sum.sizes() == largest.sizes();
                for (const Tensor* each : {&grad, &largest, &log_sum, &count}) fits = fits && each->dtype() == self.dtype();
                KINDLING_CHECK(Runtime, fits, "_cross_entropy_backward: grad %s, largest %s, log_sum %s and count %s do not fit self %s",
                               str(grad.sizes()).c_str(), str(largest.sizes()).c_str(), str(log_sum.sizes()).c_str(),
                               str(count.sizes()).c_str(), str(self.sizes()).c_str());
                call.reads(grad);
                call.reads_as_it_lies(self);
                call.reads(target, DType::Int64);
                for (const Tensor* each : {&largest, &log_sum, &count}) call.reads(*each);
                call.gives(self.sizes(), self.dtype());
                call.needs_workspace(target.numel() * static_cast<int64_t>(self.element_size()));
                return RowLosses{reduction, ignore_index};
            },
            row_loss_gradients),
    });
    declare("cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
            "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor")({
        doc("nll_loss of log_softmax; targets are classes or probabilities"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
            KINDLING_CHECK(Runtime, label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: %g",
                           label_smoothing);
            int64_t dim = self.dim() == 1 ? 0 : 1;
            const bool probabilities = self.sizes() == target.sizes();
            KINDLING_CHECK(Runtime, !probabilities || is_floating(target.dtype()),
                           "Expected floating point type for target with class probabilities, got %s", scalar_type_name(target.dtype()));
            bool single = self.dtype() == DType::Float32 || self.dtype() == DType::Float64;
            if (single && self.dim() == 2 && target.dim() == 1 && self.size(0) == target.size(0) && self.size(1) && !weight.defined() &&
                label_smoothing == 0 && (target.dtype() == DType::Int64 || target.dtype() == DType::UInt8))
                return std::get<0>(_cross_entropy(self, target, reduction, ignore_index));
            Tensor log_p = log_softmax(self, dim, DType::None);
            int64_t classes = self.size(dim);
            Tensor w = weight;
            if (weight.defined()) {
                Sizes shape(static_cast<size_t>(self.dim()), 1);
                shape[static_cast<size_t>(dim)] = weight.numel();
                w = reshape(weight, shape);
            }
            KINDLING_CHECK(Runtime, (!probabilities && label_smoothing == 0) || (reduction >= 0 && reduction <= 2),
                           "Invalid reduction type encountered in cross_entropy: %ld", reduction);
            if (probabilities) {
                KINDLING_CHECK(Runtime, !weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
                               "cross_entropy: weight tensor should be defined either for all %ld classes or no classes but got weight "
                               "tensor of shape: %s",
                               classes, str(weight.sizes()).c_str());
                KINDLING_CHECK(Runtime, ignore_index < 0, "ignore_index is not supported for floating point target");
                Tensor p = label_smoothing > 0
                               ? add(mul(target, number(1 - label_smoothing)), number(label_smoothing / static_cast<double>(classes)))
                               : target;
                Tensor each = mul(log_p, p);
                if (w.defined()) each = mul(each, w);
                if (reduction == 0) return neg(sum(each, IntList({dim})));
                Tensor total = neg(sum(each));
                return reduction == 2 ? total : div(total, wrap_number(Scalar(classes ? self.numel() / classes : 0)));
            }
            Tensor loss = nll_loss_nd(log_p, target, weight, reduction, ignore_index);
            if (label_smoothing == 0) return loss;
            Tensor smooth = neg(sum(w.defined() ? mul(log_p, w) : log_p, IntList({dim})));
            Tensor ignored = eq(target, Scalar(ignore_index));
            smooth = masked_fill(smooth, ignored, Scalar(0));
            if (reduction == 1) {
                if (weight.defined()) {
                    Tensor safe = masked_fill(target, ignored, Scalar(0));
                    Tensor taken = masked_fill(reshape(index_select(weight, 0, reshape(safe, {-1})), target.sizes()), ignored, Scalar(0));
                    smooth = div(sum(smooth), sum(taken));
                } else smooth = div(sum(smooth), sum(logical_not(ignored)));
            } else if (reduction == 2) smooth = sum(smooth);
            return add(mul(loss, number(1 - label_smoothing)), mul(smooth, number(label_smoothing / static_cast<double>(classes))));
        }),
        refuses("torch._C._nn.cross_entropy_loss(torch.ones(2, 3), torch.tensor([0, 5]))", "IndexError: Target 5 is out of bounds"),
    });
    declare("_squared_error(Tensor self, Tensor target) -> Tensor")({
        doc("(self - target)**2 of floats, in one pass"),
        takes(kind::Floats),
        in(space::Hidden),
        no_inplace(),
        pointwise([](auto x, auto y) {
            Sym z = x - y;
            return z * z;
        }),
    });
    declare("mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")({
        doc("(self - target)**2"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition(
            [](const Tensor& self, const Tensor& target, int64_t reduction) { return reduced(_squared_error(self, target), reduction); }),
    });
    declare("_absolute_error(Tensor self, Tensor target) -> Tensor")({
        doc("abs(self - target) of floats, in one pass"),
        in(space::Hidden),
        no_inplace(),
        pointwise([](auto x, auto y) { return abs(x - y); }),
    });
    declare("l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")({
        doc("abs(self - target)"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction) {
            // Not where it is recorded: the difference is kept for backward then, and the arguments may be written to, as in torch.
            const bool at_once = is_floating(self.dtype()) && is_floating(target.dtype()) && runs_plainly({&self, &target});
            return reduced(at_once ? _absolute_error(self, target) : abs(sub(self, target)), reduction);
        }),
    });
    declare("_smooth_l1(Tensor self, Tensor target, float beta) -> Tensor")({
        doc("Quadratic below beta, linear above, element by element"),
        takes(kind::Floats),
        in(space::Hidden),
        no_inplace(),
        pointwise([](auto x, auto y, auto beta) {
            Sym e = x - y, z = abs(e), b = cast(beta, x.dtype()); // the square of e, not of z: it has a second derivative at 0
            Sym small = where(z >= b, like(e, 0), e);             // squares that are not taken have no slope, be e infinite; NaN has one
            return where(z >= b, z - like(x, 0.5) * b, like(x, 0.5) * small * small / b);
        }),
    });
    declare("smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor")({
        doc("Quadratic where abs(self - target) < beta, linear elsewhere (Girshick, 2015)"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
            need_floats(self, target, "smooth_l1_cpu");
            KINDLING_CHECK(Runtime, beta >= 0, "smooth_l1_loss does not support negative values for beta.");
            auto number = [&](const Tensor& x) { return x.dtype() == DType::Bool ? to(x, promote(self.dtype(), target.dtype())) : x; };
            if (beta == 0) return l1_loss(number(self), number(target), reduction); // bools have no difference
            return reduced(_smooth_l1(self, target, beta), reduction);
        }),
    });
    declare("_huber(Tensor self, Tensor target, float delta) -> Tensor")({
        doc("Quadratic up to delta, linear above, element by element"),
        in(space::Hidden),
        no_inplace(),
        pointwise([](auto x, auto y, auto delta) {
            Sym e = x - y, z = abs(e), d = cast(delta, x.dtype());
            Sym small = where(z >= d, like(e, 0), e); // NaN counts as small: its slope is NaN
            return where(z >= d, d * (z - like(x, 0.5) * d), like(x, 0.5) * small * small);
        }),
    });
    declare("huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor")({
        doc("Quadratic where abs(self - target) <= delta, linear elsewhere (Huber, 1964)"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
            need_room(self, target);
            need_floats(self, target, "huber_cpu");
            KINDLING_CHECK(Runtime, delta > 0, "huber_loss does not support non-positive values for delta.");
            return reduced(as_self(self, _huber(self, target, delta)), reduction);
        }),
    });
    declare("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor")({
        doc("-(t * log(p) + (1 - t) * log(1 - p)), logarithms at least -100"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
            no_gradient(weight, "binary_cross_entropy", "weight");
            KINDLING_CHECK(Runtime, self.dtype() == target.dtype(), "Found dtype %s but expected %s", scalar_type_name(target.dtype()),
                           scalar_type_name(self.dtype()));
            need_floats(self, self, "binary_cross_entropy");
            KINDLING_CHECK(
                Runtime, self.sizes() == target.sizes(),
                "Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure they have the same size.",
                str(target.sizes()).c_str(), str(self.sizes()).c_str());
            auto probabilities = [](const Tensor& x) {
                return x.is_meta() || !x.numel() || true_for_all(logical_and(ge(x, Scalar(0)), le(x, Scalar(1))));
            };
            KINDLING_CHECK(Runtime, probabilities(self), "all elements of input should be between 0 and 1");
            KINDLING_CHECK(Runtime, probabilities(target), "all elements of target should be between 0 and 1");
            Tensor loss = _binary_cross_entropy(self, target);
            if (weight.defined()) loss = mul(loss, weight);
            return reduced(loss, reduction);
        }),
    });
    declare("_binary_cross_entropy(Tensor self, Tensor target) -> Tensor")({
        doc("binary_cross_entropy, element by element"),
        in(space::Hidden),
        no_inplace(),
        pointwise([](auto p, auto t) { return (t - like(t, 1)) * max(log1p(-p), like(p, -100)) - t * max(log(p), like(p, -100)); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor target) {
                return div(mul(grad, sub(self, target)), clamp_min(mul(rsub(self, one()), self), Scalar(1e-12)));
            }),
        derivative(
            "target",
            GIVEN(Tensor grad, Tensor self) {
                return mul(grad, sub(clamp_min(log1p(neg(self)), Scalar(-100)), clamp_min(log(self), Scalar(-100))));
            }),
    });
    declare("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
            "int reduction=Mean) -> Tensor")({
        doc("binary_cross_entropy of sigmoid(self), without overflow"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, const Tensor& weight, const Tensor& pos_weight, int64_t reduction) {
            no_gradient(weight, "binary_cross_entropy_with_logits", "weight");
            no_gradient(pos_weight, "binary_cross_entropy_with_logits", "pos_weight");
            // In torch these are writes, to the logarithms and to what is made of the target.
            auto written = [](const Tensor& value, const Tensor& target) {
                KINDLING_CHECK(Runtime, value.sizes() == target.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                               str(target.sizes()).c_str(), str(value.sizes()).c_str());
                return to(value, target.dtype());
            };
            Tensor logs = log_sigmoid(self);
            KINDLING_CHECK(Runtime, !is_integral(target.dtype()), "result type %s can't be cast to the desired output type %s",
                           scalar_type_name(self.dtype()), scalar_type_name(target.dtype()));
            if (pos_weight.defined()) logs = written(mul(add(mul(sub(pos_weight, one()), target), one()), logs), logs);
            Tensor loss = written(sub(mul(rsub(target, one()), self), logs), target);
            if (weight.defined()) loss = written(mul(loss, weight), loss);
            return reduced(loss, reduction);
        }),
    });
    declare("kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor")({
        doc("target * (log(target) - self)"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
            KINDLING_CHECK(Runtime, !self.is_complex() && !target.is_complex(), "kl_div: Complex inputs not supported.");
            KINDLING_CHECK(Runtime, category(self.dtype()) >= 2 && category(target.dtype()) >= 2, "kl_div: Integral inputs not supported.");
            Tensor loss = log_target ? mul(exp(target), sub(target, self)) : sub(xlogy(target, target), mul(target, self));
            return reduced(loss, reduction);
        }),
    });
    declare("poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor")({
        doc("Negative log likelihood of a Poisson distribution"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& target, bool log_input, bool full, double eps, int64_t reduction) {
            Tensor loss = log_input ? sub(exp(input), mul(target, input)) : sub(input, mul(target, log(add(input, number(eps)))));
            if (full) {
                Tensor stirling = add(sub(mul(target, log(target)), target), mul(log(mul(target, number(6.283185307179586))), number(0.5)));
                loss = to(add(loss, masked_fill(stirling, le(target, Scalar(1)), Scalar(0))), loss.dtype());
            }
            return reduced(loss, reduction);
        }),
    });
    declare("soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")({
        doc("log(1 + exp(-target * self))"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction) {
            KINDLING_CHECK(Runtime, category(self.dtype()) >= 2, "result type Float can't be cast to the desired output type %s",
                           scalar_type_name(self.dtype()));
            no_gradient(target, "soft_margin_loss", "target");
            need_room(self, target);
            Sizes sizes = broadcast_sizes(self.sizes(), target.sizes());
            KINDLING_CHECK(Runtime, IntList(sizes) == self.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                           str(self.sizes()).c_str(), str(sizes).c_str());
            return reduced(as_self(self, log1p(exp(neg(mul(target, self))))), reduction == 0 || reduction == 2 ? reduction : 1);
        }),
    });
    declare("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor")({
        doc("self where target is 1, max(0, margin - self) where it is -1"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
            // Of integers with the margin's whole part.
            Tensor room = category(self.dtype()) < 2 ? sub(full_like(self, Scalar(margin)), self) : rsub(self, number(margin)),
                   none = wrap_number(Scalar(0));
            Tensor far = where(ne(target, Scalar(1)), clamp_min(room, Scalar(0)), none);
            Tensor near = where(ne(target, Scalar(-1)), self, none);
            return reduced(add(far, near), reduction);
        }),
    });
    declare("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor")({
        doc("max(0, -target * (input1 - input2) + margin)"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction) {
            return reduced(clamp_min(add(mul(neg(target), sub(input1, input2)), number(margin)), Scalar(0)), reduction);
        }),
    });
    declare("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor")({
        doc("The cosine of the angle between vectors along a dimension"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
            KINDLING_CHECK(Runtime, eps >= 0, "eps must be non-negative, got: %g", eps);
            KINDLING_CHECK(Runtime, is_floating(promote(x1.dtype(), x2.dtype())),
                           "expected common dtype to be floating point, yet common dtype is %s", scalar_type_name(x1.dtype()));
            Sizes sizes = broadcast_sizes(x1.sizes(), x2.sizes(), "cosine_similarity");
            const DType dtype = promote(x1.dtype(), x2.dtype());
            auto floating = [&](const Tensor& x) {
                return expand(is_floating(x.dtype()) ? x : to(x, dtype), sizes);
            }; // each in its own dtype
            Tensor a = floating(x1), b = floating(x2);
            // The limit is no part of the derivative.
            auto length = [&](const Tensor& x) {
                Tensor norm = linalg_vector_norm(x, Scalar(2), IntList({dim}), true);
                if (batch_behind(norm)) return add(norm, detach(sub(clamp_min(norm, Scalar(eps)), norm)));
                norm = clone(norm);
                Exclude below(key::Autograd);
                return copy_into(norm, clamp_min(norm, Scalar(eps))), norm;
            };
            Tensor na = length(a), nb = length(b);
            return to(sum(mul(div(a, na), div(b, nb)), IntList({dim})), dtype);
        }),
    });
    declare("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor")({
        doc("1 - cosine where target is 1, max(0, cosine - margin) where it is -1"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction) {
            KINDLING_CHECK(Runtime, target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
            if (target.dim() == 1)
                KINDLING_CHECK(Runtime, input1.dim() == 2 && input2.dim() == 2,
                               "1D target tensor expects 2D input tensors, but found inputs with sizes %s and %s.",
                               str(input1.sizes()).c_str(), str(input2.sizes()).c_str());
            else
                KINDLING_CHECK(Runtime, input1.dim() == 1 && input2.dim() == 1,
                               "0D target tensor expects 1D input tensors, but found inputs with sizes %s and %s.",
                               str(input1.sizes()).c_str(), str(input2.sizes()).c_str());
            double eps = 1e-12;
            IntList last = generated::ints<-1>();
            Tensor product = sum(mul(input1, input2), last), m1 = add(sum(mul(input1, input1), last), number(eps)),
                   m2 = add(sum(mul(input2, input2), last), number(eps));
            Tensor cosine = div(product, sqrt(mul(m1, m2)));
            Tensor near = where(eq(target, Scalar(1)), rsub(cosine, one()), zero()),
                   far = where(eq(target, Scalar(-1)), clamp_min(sub(cosine, number(margin)), Scalar(0)), zero());
            return reduced(add(near, far), reduction);
        }),
    });
    declare("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor")({
        doc("The p-norm of x1 - x2 + eps over the last dimension"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
            return linalg_vector_norm(add(sub(x1, x2), number(eps)), Scalar(p), generated::ints<-1>(), keepdim);
        }),
    });
    declare("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
            "float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor")({
        doc("max(0, margin + distance(anchor, positive) - distance(anchor, negative)) (Balntas et al., 2016)"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps, bool swap,
                       int64_t reduction) {
            KINDLING_CHECK(Runtime, anchor.dim() == positive.dim() && positive.dim() == negative.dim(),
                           "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
                           "%ldD, positive %ldD, and negative %ldD inputs",
                           anchor.dim(), positive.dim(), negative.dim());
            Tensor near = pairwise_distance(anchor, positive, p, eps), far = pairwise_distance(anchor, negative, p, eps);
            if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
            return reduced(clamp_min(sub(add(near, number(margin)), far), Scalar(0)), reduction);
        }),
    });
    declare("multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
            "int reduction=Mean) -> Tensor")({
        doc("The mean over classes of max(0, margin - x[target] + x[i])**p"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin, const Tensor& weight,
                       int64_t reduction) {
            no_gradient(weight, "multi_margin_loss", "weight");
            KINDLING_CHECK(NotImplemented, kind_of(self.dtype()) == kind::Float,
                           "\"multi_margin_loss_cpu_kernel\" not implemented for '%s'", scalar_type_name(self.dtype()));
            KINDLING_CHECK(Runtime, p.equals(1) || p.equals(2), "multi_margin_loss: Invalid p, expected 1 or 2 but got %g", p.to_double());
            check_classes(self);
            bool single = self.dim() < 2;
            KINDLING_CHECK(Runtime, target.dtype() == DType::Int64, "expected scalar type Long but found %s",
                           scalar_type_name(target.dtype()));
            Tensor x = single ? reshape(self, {1, -1}) : self, t = reshape(target, {-1});
            KINDLING_CHECK(Runtime, target.dim() < 2 && t.numel() == x.size(0),
                           "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
                           "Expected target size [%ld], but got %s.",
                           x.size(0), str(target.sizes()).c_str());
            int64_t classes = x.size(1);
            KINDLING_CHECK(Runtime, !weight.defined() || (weight.dim() <= 1 && weight.numel() == classes),
                           "inconsistent weight size, expected %ld but got %s", classes,
                           weight.defined() ? str(weight.sizes()).c_str() : "");
            KINDLING_CHECK(Runtime, !weight.defined() || weight.dtype() == self.dtype(), "expected scalar type %s but found %s",
                           scalar_type_name(self.dtype()), scalar_type_name(weight.dtype()));
            Tensor places = unsqueeze(t, 1), z = clamp_min(add(sub(x, gather(x, 1, places)), wrap_number(margin)), Scalar(0));
            if (p.equals(2)) z = mul(z, z);
            if (weight.defined()) z = mul(z, reshape(index_select(weight, 0, t), {-1, 1}));
            z = scatter(z, 1, places, Scalar(0));
            Tensor loss = div(sum(z, IntList({1})), wrap_number(Scalar(classes)));
            if (single && reduction == 0) return reshape(loss, target.sizes());
            return reduced_or_summed(loss, reduction);
        }),
    });
    declare("multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")({
        doc("The mean over target labels j and other labels i of max(0, 1 - (x[j] - x[i])); labels end at the first -1"),
        flags(trait::AutocastFloat),
        in(space::Nn),
        composition([](const Tensor& self, const Tensor& target, int64_t reduction) {
            check_classes(self);
            const bool one_number = std::max(self.dim(), target.dim()) < 2 && self.numel() == 1 && target.numel() == 1;
            KINDLING_CHECK(Runtime, one_number || self.sizes() == target.sizes(), "inconsistent target size: %s for input of size: %s",
                           str(target.sizes()).c_str(), str(self.sizes()).c_str());
            KINDLING_CHECK(NotImplemented, kind_of(self.dtype()) == kind::Float,
                           "\"multilabel_margin_loss_forward_out_frame\" not implemented for '%s'", scalar_type_name(self.dtype()));
            KINDLING_CHECK(NotImplemented, !target.is_complex(), "\"min_all\" not implemented for '%s'", scalar_type_name(target.dtype()));
            KINDLING_CHECK(Runtime, target.dtype() == DType::Int64, "expected scalar type Long but found %s",
                           scalar_type_name(target.dtype()));
            Tensor x = self.dim() < 2 ? reshape(self, {1, -1}) : self, t = self.dim() < 2 ? reshape(target, {1, -1}) : target;
            int64_t n = x.size(1);
            if (!t.is_meta() && t.numel())
                KINDLING_CHECK(Runtime, true_for_all(logical_and(ge(t, Scalar(-1)), lt(t, Scalar(n)))),
                               "argument #2 'target' is out of range");
            Tensor valid = eq(cumsum(to(lt(t, Scalar(0)), DType::Int64), 1), Scalar(0));
            Tensor safe = masked_fill(t, logical_not(valid), Scalar(0));
            Tensor is_target = gt(scatter_add(zeros(x.sizes(), DType::Int64), 1, safe, to(valid, DType::Int64)), Scalar(0));
            Tensor xj = unsqueeze(gather(x, 1, safe), 2), z = clamp_min(rsub(sub(xj, unsqueeze(x, 1)), one()), Scalar(0));
            z = masked_fill(masked_fill(z, unsqueeze(logical_not(valid), 2), Scalar(0)), unsqueeze(is_target, 1), Scalar(0));
            Tensor loss = div(sum(z, IntList({1, 2})), wrap_number(Scalar(n)));
            if (self.dim() < 2 && reduction == 0) return reshape(loss, {});
            return reduced_or_summed(loss, reduction);
        }),
    });
    declare("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")({
        doc("Distances between all rows of two batches of matrices"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
            check_distances(x1, x2, p);
            int64_t mode = compute_mode.value_or(0);
            KINDLING_CHECK(Runtime, mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: %ld", mode);
            KINDLING_CHECK(Runtime, x1.dtype() == x2.dtype() || !x1.numel() || !x2.numel(), "expected scalar type %s but found %s",
                           scalar_type_name(x1.dtype()), scalar_type_name(x2.dtype()));
            bool by_product = p == 2 && (mode == 1 || (mode == 0 && (x1.size(-2) > 25 || x2.size(-2) > 25)));
            if (by_product) {
                IntList last = generated::ints<-1>();
                Tensor a = sum(mul(x1, x1), last, true), b = sum(mul(x2, x2), last, true);
                // |x1|^2 + |x2|^2 - 2 x1 x2 as one product: the sums would be two more passes over the result.
                Tensor left = cat({mul(x1, number(-2)), a, ones_like(a)}, -1), right = cat({x2, ones_like(b), b}, -1);
                return _sqrt_or_zero(matmul(left, transpose(right, -2, -1)));
            }
            const Tensor left = unsqueeze(x1, -2), right = unsqueeze(to(x2, x1.dtype()), -3);
            return x1.size(-1) ? distances(left, right, p) : sum(sub(left, right), IntList({-1})); // of nothing: 0, whatever the norm
        }),
    });
    declare("_distances(Tensor x1, Tensor x2, float p) -> Tensor")({
        doc("Norms of x1 - x2 along the last dimension, as row_norms has them"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        reduction(
            [](KernelCall& call, const Tensor& x1, const Tensor& x2, double p) {
                KINDLING_CHECK(Runtime, x1.dim() && x1.sizes() == x2.sizes() && x1.dtype() == x2.dtype() && is_floating(x1.dtype()),
                               "_distances: expected floating tensors of one shape and dtype");
                const int kind = distance_kind(p, x1.size(-1));
                call.reduces(x1, uint64_t{1} << (x1.dim() - 1), false, x1.dtype());
                call.reads_as_it_lies(x2);
                call.reduced(norm_combine(kind), x1.dtype());
                call.number(x1.dtype(), p);
                call.choice(kind);
            },
            [](auto x, auto y, auto p, auto kind) { return distance_term(x, y, p, kind.integer()); },
            [](auto total, auto p, auto kind) { return norm_of_total(total, p, kind.integer()); }),
    });
    declare("_sqrt_or_zero(Tensor self) -> Tensor")({
        doc("sqrt, 0 of what is negative, with derivative 0 where it is 0"),
        in(space::Hidden),
        no_inplace(),
        pointwise([](auto x) { return sqrt(max(like(x, 0), x)); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor result) { return where(eq(result, Scalar(0)), zero(), div(grad, mul(result, number(2)))); }),
    });
    declare("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor")({
        doc("Distances between all rows of two batches of matrices"),
        flags(trait::AutocastFloat),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
            check_distances(x1, x2, p); // of what autocast does not cast, too
            return _cdist_forward(x1, x2, p, compute_mode);
        }),
    });
    declare("_pair_distances(Tensor self, float p) -> Tensor")({
        doc("Distances between all pairs of different rows, where no gradient is wanted"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, double p) {
                const bool fits = self.dim() == 2 && self.numel() && (self.dtype() == DType::Float32 || self.dtype() == DType::Float64);
                KINDLING_CHECK(Runtime, fits, "_pair_distances: expected a matrix of floats or doubles, got %s %s", name(self.dtype()),
                               str(self.sizes()).c_str());
                const int64_t n = self.size(0);
                call.reads(self);
                call.needs_workspace(std::max(rows_at_once * n * static_cast<int64_t>(self.element_size()),
                                              library::distances_room(self.dtype(), n, self.size(1))));
                call.costs(n * self.numel());
                call.gives({n * (n - 1) / 2}, self.dtype());
                return p;
            },
            pair_distances),
    });
    declare("pdist(Tensor self, float p=2) -> Tensor")({
        doc("Distances between all pairs of different rows of a matrix"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, double p) {
            KINDLING_CHECK(Runtime, self.dim() == 2, "pdist only supports 2D tensors, got: %ldD", self.dim());
            KINDLING_CHECK(Runtime, is_floating(self.dtype()), "pdist only supports floating-point dtypes");
            KINDLING_CHECK(NotImplemented, !is_half(self.dtype()) || self.size(0) < 2 || !self.size(1),
                           "\"pdist\" not implemented for '%s'", scalar_type_name(self.dtype()));
            KINDLING_CHECK(Runtime, p >= 0, "pdist only supports non-negative p values");
            int64_t n = self.size(0);
            if (n > 1 && self.size(1) && runs_plainly({&self})) return _pair_distances(self, p);
            Tensor pairs = triu_indices(n, n, 1);
            Tensor difference = sub(index_select(self, 0, select(pairs, 0, 0)), index_select(self, 0, select(pairs, 0, 1)));
            return self.size(1) ? row_norms(difference, p) : sum(difference, IntList({1})); // of nothing: 0, whatever the norm
        }),
    });
}
