// script/run/small_group.cpp: which operators and which tensors run so.
#include "script/run/small_group.h"

#include "core/dispatch.h"
#include "core/operator.h"

namespace kindling::script {

bool SmallGroup::takes(const Node* node) {
    const Signature* signature = node->schema();
    if (!node->blocks.empty() || node->outputs.size() != 1 || !signature || !signature->op || signature->on_copy) return false;
    const kindling::Operator& op = *signature->op;
    if (!node->output()->type->is(TypeKind::Tensor) || op.body != Body::Pointwise || op.form != Form::Functional || op.value_check ||
        op.has(trait::Random | trait::RaisesByValue | trait::NumberByValue))
        return false;
    bool tensors = false;
    for (const Value* input : node->inputs) {
        const bool tensor = input->type->is(TypeKind::Tensor);
        if (tensor ? input->node->is("prim::Constant") : !input->node->is("prim::Constant")) return false;
        tensors |= tensor;
    }
    return tensors;
}

bool SmallGroup::look(const Item* const* inputs, size_t count, Given& given) const {
    if (thread_state.inference_mode || (thread_state.include & ~thread_state.exclude & key::watching) || kernels_were_added()) return false;
    given.key.push_back(static_cast<int64_t>(default_dtype()));
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i]->is(Item::Tag::Tensor)) return false;
        const TensorImpl* impl = inputs[i]->tensor_impl();
        if (!impl || !is_plain(impl) || impl->numel >= smallest_loop.load(std::memory_order_relaxed) || impl->numel == 0) return false;
        given.inputs[i] = impl;
        for (size_t other = 0; other < i; other++) // parts of one memory are known by where they lie in it
            if (given.inputs[other]->storage == impl->storage) {
                given.key.push_back(-1 - static_cast<int64_t>(other));
                given.key.push_back(impl->offset * static_cast<int64_t>(item_size(impl->dtype)) -
                                    given.inputs[other]->offset * static_cast<int64_t>(item_size(given.inputs[other]->dtype)));
                break;
            }
        given.key.push_back(static_cast<int64_t>(impl->dtype) << 32 | static_cast<int64_t>(impl->wrapped_number) << 16 | impl->ndim);
        for (size_t d = 0; d < 2 * static_cast<size_t>(impl->ndim); d++) given.key.push_back(impl->shape[d]); // sizes, then strides
    }
    return true;
}

std::shared_ptr<const Replay> SmallGroup::find(const Given& given, bool& record) {
    constexpr int often = 8;
    constexpr size_t most = 8;
    const std::lock_guard guard(lock_);
    for (const Variant& each : variants_)
        if (each.key == given.key) return each.replay;
    record = variants_.size() < most && ++seen_ >= often;
    return nullptr;
}

void SmallGroup::keep(const Given& given, std::shared_ptr<const Replay> replay) {
    const std::lock_guard guard(lock_);
    variants_.push_back({given.key, std::move(replay)});
}

} // namespace kindling::script
