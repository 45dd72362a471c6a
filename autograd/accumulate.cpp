// autograd/accumulate.cpp: how a leaf's gradient grows.
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "core/sparse.h"

namespace kindling {

AccumulateGrad::AccumulateGrad(Tensor variable_) : GradNode(Kind::Accumulate), variable(std::move(variable_)) {
    sequence = ~uint64_t{0}; // runs as soon as it can
    add_input(*variable.impl());
}

/// Whether a gradient may be kept as it lies in memory: as the variable lies if that is dense, else row-major.
static bool layout_fits(const Tensor& grad, const Tensor& variable) {
    const TensorImpl *g = grad.impl(), *v = variable.impl();
    if (!v->non_overlapping_dense) return g->contiguous;
    if (g->ndim > v->ndim) return g->contiguous; // the variable's shape was changed since; with more dimensions now, the first count
    for (int64_t d = 0; d < grad.dim(); d++)
        if (g->sizes()[static_cast<size_t>(d)] != 1 && g->strides()[static_cast<size_t>(d)] != v->strides()[static_cast<size_t>(d)])
            return false;
    return true;
}

static Tensor copy_to_fit(const Tensor& grad, const Tensor& variable) {
    const TensorImpl* v = variable.impl();
    if ((grad.impl()->key & key::Dispatch) || !v->non_overlapping_dense || grad.dim() > variable.dim()) return tape::contiguous_clone(grad);
    Tensor fresh = make_tensor(v->sizes(), v->strides(), grad.dtype(), grad.device());
    tape::copy_(fresh, grad);
    return fresh;
}

/// A sparse gradient is kept as it is where nobody else has it and its parts are contiguous.
static Tensor keep_sparse(const Tensor& fresh) {
    const SparseParts& parts = parts_of(fresh);
    if (fresh.impl()->use_count() != 1 || fresh.storage()->owners() != 1 || !parts.indices.is_contiguous() || !parts.values.is_contiguous())
        return tape::clone(fresh);
    if (is_coo(fresh) && element_count(fresh) > 1) parts_of(fresh).coalesced = false; // as PyTorch leaves it
    return fresh;
}

/// A copy of what lies in memory, conjugated and negated as lazily as it was.
static Tensor copy_with_bits(const Tensor& grad) {
    Tensor plain = detached(grad);
    const uint32_t bits = plain.impl()->key & key::lazy;
    plain.impl()->key &= ~bits;
    Tensor copy = tape::clone(plain);
    copy.impl()->key |= bits;
    return copy;
}

void AccumulateGrad::apply(Backward& b) {
    if (!b.gradients[0].defined()) return;
    TensorImpl* impl = variable.impl();
    if (!requires_grad(impl)) return;
    Tensor fresh = std::move(b.gradients[0]);
    AutogradMeta& meta = need_meta(impl);
    KINDLING_CHECK(Runtime, !meta.grad_fn || impl->base, "leaf variable has been moved into the graph interior");
    Tensor old;
    std::lock_guard<std::mutex> one_at_a_time(busy);
    {
        SpinGuard guard(meta.lock);
        old = meta.grad;
    }
    if (meta.grad_dtype_set && meta.grad_dtype != DType::None && fresh.dtype() != meta.grad_dtype)
        fresh = tape::cast(fresh, meta.grad_dtype);
    if (b.differentiable) {
        const bool sparse = fresh.impl()->key & key::Layout;
        Tensor sum = old.defined() ? tape::add(old, fresh) : sparse ? tape::clone(fresh) : copy_to_fit(fresh, variable);
        SpinGuard guard(meta.lock);
        std::swap(meta.grad, sum);
        return;
    }
    if ((fresh.impl()->key | (old.defined() ? old.impl()->key : 0)) & key::Layout) [[unlikely]] {
        const bool in_place = old.defined() && (old.impl()->layout == Layout::Strided || old.impl()->layout == fresh.impl()->layout);
        if (in_place) return tape::add_(old, fresh);
        Tensor sum = old.defined() ? tape::add(old, fresh) : keep_sparse(fresh);
        if (requires_grad(sum.impl())) sum = detached(sum);
        SpinGuard guard(meta.lock);
        std::swap(meta.grad, sum);
        return;
    }
    if (old.defined()) return tape::add_(old, fresh);
    bool fits = layout_fits(fresh, variable) && fresh.impl()->use_count() == 1;
    Tensor keep;
    if (fits && fresh.storage()->owners() == 1) keep = requires_grad(fresh.impl()) ? detached(fresh) : std::move(fresh);
    else if (fits && (fresh.impl()->key & key::lazy)) keep = copy_with_bits(fresh);
    else keep = copy_to_fit(fresh, variable);
    if (requires_grad(keep.impl())) keep = detached(keep);
    SpinGuard guard(meta.lock);
    std::swap(meta.grad, keep);
}

} // namespace kindling
