// autograd/saved.cpp: what a node keeps of tensors, and how it gets them back.
#include "autograd/saved.h"

#include "autograd/copy_slices.h"
#include "autograd/forward.h"
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "core/shape.h"

namespace kindling {

PackedTensor* (*pack_saved)(const Tensor& tensor) = nullptr;

/// A header of its own without history. A class with __torch_dispatch__ makes it, as it makes every result: its data may be elsewhere.
static Tensor copy_of(const Tensor& tensor) {
    if (!(tensor.impl()->key & key::Dispatch & ~thread_state.exclude)) [[likely]] {
        Tensor copy = detached(tensor);
        share_tangents(copy.impl(), tensor.impl());
        return copy;
    }
    GradMode off(false);
    Tensor fresh = tape::detach(tensor);
    if (fresh.is_same(tensor)) return detached(tensor);
    tensor.impl()->keep_version(); // what the class made looks into memory of its own and holds nothing of the tensor's
    fresh.impl()->share_version(tensor.impl());
    return fresh;
}

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output) {
    if (!tensor.defined()) return;
    TensorImpl* impl = tensor.impl();
    KINDLING_CHECK(Runtime, !impl->inference,
                   "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                   "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
                   "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
    if (impl->uncounted) [[unlikely]]
        fail_uncounted();
    version_ = tensor.version();
    is_output_ = is_output;
    requires_grad_ = kindling::requires_grad(impl);
    if (impl->autograd) {
        output_ = impl->autograd->output;
        recorded_ = static_cast<bool>(impl->autograd->grad_fn);
    }
    if (autograd_thread.saved_hooks > 0 && pack_saved && !impl->wrapped_number) [[unlikely]] { // numbers are not shown to hooks
        if (!is_output) grad_fn_ = gradient_edge(impl).node;
        // Hooks may give back what they are given: a result would keep the node alive that keeps it.
        if (PackedTensor* packed = pack_saved(is_output ? copy_of(tensor) : tensor)) {
            packed_.reset(packed);
            return;
        }
        grad_fn_ = nullptr;
    }
    // A result that has this node as its history would keep it alive, and the node the result.
    bool cycle = is_output && impl->autograd && impl->autograd->grad_fn;
    data_ = cycle ? copy_of(tensor) : tensor;
}

const Tensor* SavedTensor::leaf() const {
    return grad_fn_ && grad_fn_->kind == GradNode::Kind::Accumulate ? &static_cast<AccumulateGrad*>(grad_fn_.get())->variable : nullptr;
}

/// A header of its own for `value`, with the history that the saved result has: that of the view, if one was written to that
/// still lives, or else the node that made it.
Tensor SavedTensor::with_history(const Tensor& value, const Ref<GradNode>& node, const CopySlices* slices) const {
    Tensor fresh = copy_of(value);
    if (Ref<GradNode> written = slices ? slices->view_node() : Ref<GradNode>()) set_gradient_edge(fresh.impl(), {std::move(written), 0});
    else set_gradient_edge(fresh.impl(), {node, output_});
    return fresh;
}

Tensor SavedTensor::unpack(const Ref<GradNode>& node, bool history, const CopySlices* slices) const {
    if (packed_) {
        Tensor value = packed_->unpack();
        if (!history || !requires_grad_) return value;
        // The accumulator stays the original leaf's, also of a leaf that no longer requires grad.
        if (const Tensor* original = leaf(); original && value.is_same(*original) && kindling::requires_grad(value.impl())) return value;
        if (is_output_) return with_history(value, node, slices);
        Tensor fresh = copy_of(value);
        if (grad_fn_) set_gradient_edge(fresh.impl(), {grad_fn_, output_});
        else set_requires_grad(fresh, true); // what nobody recorded is a leaf when it comes back
        return fresh;
    }
    if (!data_.defined()) return {};
    if (is_output_) see_tangents(data_.impl());
    uint32_t now = data_.version();
    if (now != version_) [[unlikely]] {
        Ref<GradNode> made_by = is_output_ ? node : kindling::grad_fn(data_.impl());
        std::string which = made_by ? format(", which is output %u of %s,", output_, short_name(*made_by).c_str()) : std::string();
        fail(ErrorKind::Runtime,
             "one of the variables needed for gradient computation has been modified by an inplace operation: "
             "[torch.%sTensor %s]%s is at version %u; expected version %u instead. Hint: %s",
             scalar_type_name(data_.dtype()), str(data_.sizes()).c_str(), which.c_str(), now, version_,
             thread_state.anomaly ? "the backtrace further above shows the operation that failed to compute its gradient. The "
                                    "variable in question was changed in there or anywhere later. Good luck!"
                                  : "enable anomaly detection to find the operation that failed to compute its gradient, with "
                                    "torch.autograd.set_detect_anomaly(True, check_nan=False).");
    }
    if (recorded_ && !is_output_ && !data_.impl()->autograd->grad_fn && !(node && node->kind == GradNode::Kind::Python))
        fail(ErrorKind::Runtime, "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not "
                                 "supported, please use out-of-place `.detach()` instead");
    if (!is_output_ || !history || !requires_grad_) return data_;
    return with_history(data_, node, slices);
}

void SavedTensor::repack(std::shared_ptr<PackedTensor> (*pack)(void*, const Tensor&), void* context) {
    KINDLING_CHECK(Runtime, !packed_, "Calling register_hooks on a saved tensor whose hooks have already been set is not allowed.");
    KINDLING_CHECK(Runtime, data_.defined(), "Calling register_hooks on a saved tensor with value None is forbidden");
    if (!is_output_) grad_fn_ = gradient_edge(data_.impl()).node;
    packed_ = pack(context, copy_of(data_));
    data_.reset();
}

void fail_released() {
    fail(ErrorKind::Runtime,
         "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
         "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
         "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
         "after calling backward.");
}

} // namespace kindling
