// operators/boxed.cpp: results of boxed kernels, and errors of their arguments.
#include "operators/boxed.h"

#include "core/thread_state.h"

namespace kindling::boxed {

/// A header that others hold as well is an argument that was written to and handed back.
static void settle(Tensor& result) {
    TensorImpl* impl = result.impl();
    if (!impl || impl->use_count() != 1) return;
    if (impl->base) result = untied(std::move(result));
    if (impl->storage && impl->storage->owners() == 1)
        impl->storage->version.store(0, std::memory_order_relaxed); // nobody saw it being filled
}

void give(Value* result, TensorImpl* owned) {
    Tensor tensor{Ref<TensorImpl>::adopt(owned)};
    settle(tensor);
    *result = Value::own(std::move(tensor));
}

void give(Value* result, std::vector<Tensor>&& list) {
    for (Tensor& each : list) settle(each);
    *result = Value::own(std::move(list));
}

void mark_multiple(const Value& list) {
    if (!thread_state.grad_mode || thread_state.inference_mode) return;
    for (uint32_t i = 0; list.tag == Value::Tag::TensorList && i < list.size; i++)
        if (TensorImpl* impl = list.tensors[i].impl(); impl->base) impl->creation = Creation::MultiOutput;
}

void wrong_type(const Value& value, const char* expected) {
    fail(ErrorKind::Type, "%s was expected, not a value of kind %d", expected, static_cast<int>(value.tag));
}

Borrowed::Borrowed(const Value& v) : made_(v.tag != Value::Tag::Tensor) {
    new (&tensor_) Tensor(made_ ? From<Tensor>::get(v) : Tensor(Ref<TensorImpl>::adopt(v.tensor)));
}

Scalar From<Scalar>::get(const Value& v) { return v.is_none() ? Scalar() : v.scalar(); }

int64_t From<int64_t>::get(const Value& v) {
    if (v.tag == Value::Tag::Int || v.tag == Value::Tag::Bool || v.tag == Value::Tag::UInt) return v.as_size().number();
    if (v.tag == Value::Tag::Tensor || v.is_number()) return v.scalar().to_int();
    wrong_type(v, "an int");
}

double From<double>::get(const Value& v) {
    if (v.tag == Value::Tag::Float) return v.real;
    if (v.tag == Value::Tag::Tensor || v.is_number()) return v.scalar().to_double();
    wrong_type(v, "a float");
}

bool From<bool>::get(const Value& v) {
    if (v.tag == Value::Tag::Bool || v.tag == Value::Tag::Int) return v.integer != 0;
    if (v.is_none()) return false;
    if (v.tag == Value::Tag::Tensor || v.is_number()) return v.scalar().to_bool();
    wrong_type(v, "a bool");
}

} // namespace kindling::boxed
