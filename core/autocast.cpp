// core/autocast.cpp: casts arguments while autocast is on, and keeps the casts of weights.
// Compiled for size.
#include "core/autocast.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace kindling {

Tensor cast_for_autocast(const Tensor& tensor, DType dtype); // operators/tensors/copying.cpp

struct KeptCast {
    Tensor source, cast;
    uint32_t version;
};
using Cache = std::unordered_map<const TensorImpl*, KeptCast>;
// Made when first needed and freed with the outermost block.
static constinit thread_local Cache* cache = nullptr;

bool autocast_on() { return thread_state.include & key::Autocast; }

void set_autocast(bool on, DType dtype, bool keep) {
    thread_state.include = on ? thread_state.include | key::Autocast : thread_state.include & ~static_cast<uint32_t>(key::Autocast);
    thread_state.autocast_dtype = static_cast<uint8_t>(dtype);
    thread_state.autocast_cache = keep;
}

void clear_autocast_cache() {
    // Tensors may run Python code as they go, and that may come here again.
    delete std::exchange(cache, nullptr);
}

static DType lower_dtype() { return static_cast<DType>(thread_state.autocast_dtype); }

static bool eligible(const TensorImpl* tensor) {
    return tensor && is_floating(tensor->dtype) && tensor->dtype != DType::Float64 && tensor->device.type == DeviceType::CPU;
}

static Tensor cast(TensorImpl* tensor, DType target) {
    Tensor source = Tensor::share(tensor);
    bool keep = thread_state.autocast_cache && target == lower_dtype() && tensor->dtype == DType::Float32 && tensor->requires_grad &&
                !tensor->is_view;
    if (!keep) return cast_for_autocast(source, target);
    uint32_t version = tensor->version ? tensor->version->load() : 0;
    if (cache)
        if (auto found = cache->find(tensor);
            found != cache->end() && found->second.version == version && found->second.cast.dtype() == target)
            return found->second.cast;
    Tensor result = cast_for_autocast(source, target);
    // A cast made without grad mode has no history, and must not serve where it is wanted.
    if (!thread_state.grad_mode || thread_state.inference_mode) return result;
    if (!cache) cache = new Cache;
    (*cache)[tensor] = {std::move(source), result, version};
    return result;
}

/// The dtype that all of a promoting operator's arguments get, or None to leave them.
static DType widest(const Operator& op, const Value* arguments) {
    DType target = lower_dtype();
    each_tensor(op, arguments, [&](const TensorImpl* tensor) {
        if (!eligible(tensor)) return;
        if (tensor->dtype == DType::Float32) target = DType::Float32;
        else
            KINDLING_CHECK(Runtime, tensor->dtype == lower_dtype() || target == DType::Float32,
                           "Unexpected floating ScalarType in at::autocast::prioritize");
    });
    return target;
}

void call_autocast(const Operator& op, Value* arguments, Value* results) {
    Exclude guard(key::Autocast);
    bool promote = op.has(trait::AutocastPromote);
    bool lower = op.has(trait::AutocastLower);
    if (op.form != Form::Functional || !(promote || lower || op.has(trait::AutocastFloat))) {
        if (op.composite) {
            thread_state.exclude &= ~static_cast<uint32_t>(key::Autocast);
            return op.kernel(op, arguments, results);
        }
        return call(op, arguments, results);
    }
    DType target = promote ? widest(op, arguments) : lower ? lower_dtype() : DType::Float32;
    std::vector<Tensor> keep;
    std::vector<std::vector<Tensor>> lists;
    Value values[64];
    for (size_t i = 0; i < op.argument_count(); i++) values[i] = arguments[i];
    for (int i = 0; i < op.tensor_count; i++) {
        Value& v = values[op.tensor_positions[i]];
        if (v.tag != Value::Tag::Tensor || !eligible(v.tensor) || v.tensor->dtype == target) continue;
        keep.push_back(cast(v.tensor, target));
        v.tensor = keep.back().impl();
    }
    for (int i = 0; i < op.list_count; i++) {
        Value& v = values[op.list_positions[i]];
        if (v.tag != Value::Tag::TensorList) continue;
        std::vector<Tensor> list;
        for (uint32_t j = 0; j < v.size; j++) {
            const Tensor& each = v.tensors[j];
            list.push_back(each.defined() && eligible(each.impl()) && each.dtype() != target ? cast(each.impl(), target) : each);
        }
        lists.push_back(std::move(list));
        v.tensors = lists.back().data();
    }
    call(op, values, results);
}

} // namespace kindling
