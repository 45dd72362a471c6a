// operators/forms.h: the in-place and out= forms, computed from the functional one, and the kernel of scalar bodies.
#pragma once
#include <initializer_list>
#include <utility>

#include "core/export.h"
#include "core/operator.h"
#include "kernels/symbol.h"

namespace KINDLING_VISIBLE kindling {

/// Runs a scalar body as a loop kernel: promotion, broadcasting, layout, allocation, execution.
void pointwise_kernel(const Operator& op, Value* arguments, Value* results);
void pointwise_inplace_kernel(const Operator& op, Value* arguments, Value* results);
void pointwise_out_kernel(const Operator& op, Value* arguments, Value* results);

/// For any other body: compute, then copy into self or out.
void inplace_kernel(const Operator& op, Value* arguments, Value* results);
/// transpose_, squeeze_, ...: the header takes the view's sizes, strides and offset.
void view_inplace_kernel(const Operator& op, Value* arguments, Value* results);
void out_kernel(const Operator& op, Value* arguments, Value* results);

/// What an in-place form refuses before it computes, and of what was computed.
void check_inplace(const Operator& op, const Tensor& self, Value* arguments);
void check_computed(const Operator& op, const Tensor& self, DType dtype, IntList sizes);
/// What an in-place form does by a kernel of the functional one, after check_inplace.
void run_inplace(const Operator& op, Kernel kernel, Value* arguments, Value* results);

/// For a body with trait::WritesCopy: whether it runs as the in-place form and may write to self, once; not where something
/// that it still `reads` shares memory with self. Nothing else of self is read from then on.
bool writes_in_place(const Tensor& self, std::initializer_list<Tensor> reads);
/// Whether strides are those of a fresh tensor in rows, also where a dimension has size 1.
bool has_row_strides(IntList sizes, IntList strides);
/// A copy with self's strides and offset: a place in the one is the same place in the other.
Tensor clone_with_strides(const Tensor& self);

/// Self, if so, or else a copy of it.
Tensor copy_to_write(const Tensor& self, std::initializer_list<Tensor> reads);

/// A tensor for random numbers. In an out= form it has the target's dtype and, where the sizes are the same, its strides: which
/// number comes where depends on them. Only the first one that a body asks for.
Tensor room_to_draw(IntList sizes, DType dtype, Device device);

/// Data only: no autograd, no version bump. Converts dtype, broadcasts, and works off conj and neg bits: `target`, read
/// through its own, is then what `source` reads as.
void copy_into(const Tensor& target, const Tensor& source);
/// The same numbers without pending conj and neg bits (the tensor itself if it has none). No autograd.
Tensor resolve_lazy_bits(const Tensor& tensor);
/// What an operator wrote to a copy of `target` without lazy bits, which it may have resized, written to `target`.
void write_result(const Tensor& target, const Tensor& result);
/// The result in the memory format that `input` suggests, as PyTorch's pooling, padding, normalising operators have it.
Tensor like_input(const Tensor& result, const Tensor& input);
/// Bumps the version of a tensor a kernel has written; refuses inference tensors outside inference mode.
/// Shows a warning where the caller looks for warnings; set by bindings. Without it (plain C++) nothing is said.
extern void (*warn)(const char* message);
void written(const Tensor& tensor);
/// NotImplementedError where an operator has no kernel for a dtype (takes, in its declaration).
void check_kernel(const Operator& op, DType dtype);
/// PyTorch's warning where `self`, which `name` is about to write to, is an expanded tensor.
void warn_of_expanded(const Tensor& self, const char* name, const char* also);
/// RuntimeError where an operator's result may not be written to a tensor of another dtype, by its OutDType.
void refuse_target(const Operator& op, DType result, DType target);
inline void check_target(const Operator& op, DType result, DType target) {
    if (result != target) refuse_target(op, result, target);
}
/// Computes in the dtype of the out= target, or of self in place, where the call names none (OutDType::Decides).
bool take_dtype(const Operator& op, Value* arguments, DType target);
/// All tensors that a call of an out= form reads, those in lists as well; returns how many there are, of up to 64.
int read_tensors(const Operator& op, const Value* arguments, TensorImpl** inputs);
/// Checks and fits an out= tensor for a result; `inputs` are those of read_tensors.
void prepare_out(const Operator& op, const Tensor& out, DType dtype, bool meta, IntList sizes, IntList strides, TensorImpl* const* inputs,
                 int input_count);
/// Makes an out= tensor fit: resizes it, with torch's warning when it was neither empty nor of that size.
void fit_out(const Tensor& out, IntList sizes, IntList strides);
/// RuntimeError for a target without memory of a result that has some, and the reverse: neither can be written.
void check_device(const Tensor& out, bool meta);

/// How one call of a scalar body reads its arguments.
struct PointwisePlan : RefCounted {
    Expression expression;
    int input_count = 0; // tensors, by schema position
    uint8_t input_position[12];
    int scalar_count = 0; // run-time scalars, by schema position
    uint8_t scalar_position[12];
    DType scalar_type[12];   // what they are converted to
    bool scalar_checked[12]; // a number that has no place in the operands' dtype is refused
    DType compute;           // what the operands were promoted to
    bool rows = false;       // the results lie in rows, however the operands lie
    bool kept = false;       // by the operator, for ever: nobody counts references to it
};
/// A plan while it is in use.
class PlanRef {
public:
    PlanRef() = default;
    explicit PlanRef(const PointwisePlan* plan) : plan_(plan) {} // takes over one reference
    PlanRef(const PlanRef& other) : plan_(other.plan_) {
        if (plan_ && !plan_->kept) plan_->retain();
    }
    PlanRef(PlanRef&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
    PlanRef& operator=(PlanRef other) noexcept {
        std::swap(plan_, other.plan_);
        return *this;
    }
    ~PlanRef() {
        if (plan_ && !plan_->kept && plan_->drop()) delete plan_;
    }
    const PointwisePlan* operator->() const { return plan_; }
    const PointwisePlan& operator*() const { return *plan_; }

private:
    const PointwisePlan* plan_ = nullptr;
};
/// The plan for these arguments (dtypes, structural values). An operator keeps those of its first calls, and finds them by
/// all that they were made from; beyond kept_plans of them a plan is made for each call.
PlanRef pointwise_plan(const Operator& op, const Value* arguments);
inline constexpr int kept_plans = 256;
/// The number in run-time slot `which`, in the slot's dtype.
Immediate pointwise_scalar(const PointwisePlan& plan, const Value* arguments, int which);

} // namespace kindling
