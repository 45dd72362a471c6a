// autograd/ops.cpp: the operators the tape itself calls.
#include "autograd/ops.h"

#include "core/shape.h"

namespace kindling {

const Operator& NamedOperator::find() const {
    const Operator* op = find_operator(name, overload);
    KINDLING_CHECK(Internal, op, "autograd needs the operator %s.%s, which is not declared", name, overload);
    found.store(op, std::memory_order_relaxed);
    return *op;
}

Tensor call_values(const NamedOperator& named, const Value* given, size_t count) {
    const Operator& op = named.get();
    Value arguments[32];
    size_t total = op.argument_count();
    KINDLING_ASSERT(total <= 32 && count <= total);
    for (size_t i = 0; i < count; i++) arguments[i] = given[i];
    for (size_t i = count; i < total; i++) arguments[i] = op.schema->arguments[i].default_value;
    Value result;
    call(op, arguments, &result);
    return result.take_tensor();
}

namespace tape {

Tensor add(const Tensor& a, const Tensor& b) {
    static constinit NamedOperator op{"add", "Tensor"};
    if (a.impl()->layout != Layout::Strided && b.impl()->layout == Layout::Strided)
        return call_named(op, b, a); // there is no sparse + dense
    return call_named(op, a, b);
}
void add_(const Tensor& a, const Tensor& b) {
    static constinit NamedOperator op{"add_", "Tensor"};
    call_named(op, a, b);
}
Tensor clone(const Tensor& t) {
    static constinit NamedOperator op{"clone", ""};
    return call_named(op, t);
}
Tensor contiguous_clone(const Tensor& t) {
    static constinit NamedOperator op{"clone", ""};
    return call_named(op, t, MemoryFormat::Contiguous);
}
void copy_(const Tensor& target, const Tensor& source) {
    static constinit NamedOperator op{"copy_", ""};
    call_named(op, target, source);
}
void zero_(const Tensor& t) {
    static constinit NamedOperator op{"zero_", ""};
    call_named(op, t);
}
Tensor cast(const Tensor& t, DType dtype) {
    static constinit NamedOperator op{"_to_copy", ""};
    return call_named(op, t, dtype);
}
Tensor real(const Tensor& t) {
    static constinit NamedOperator op{"real", ""};
    return call_named(op, t);
}
Tensor ones_like(const Tensor& t) {
    static constinit NamedOperator op{"ones_like", ""};
    return call_named(op, t);
}
Tensor detach(const Tensor& t) {
    static constinit NamedOperator op{"detach", ""};
    return call_named(op, t);
}
Tensor zeros(IntList sizes, DType dtype, Device device) {
    static constinit NamedOperator op{"zeros", ""};
    return call_named(op, sizes, dtype, Layout::Strided, device);
}
Tensor as_strided(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
    static constinit NamedOperator op{"as_strided", ""};
    return call_named(op, t, sizes, strides, offset);
}

Tensor sum_to(const Tensor& t, IntList sizes) {
    static constinit NamedOperator sum{"sum", "dim_IntList"};
    static constinit NamedOperator view{"view", ""};
    if (t.sizes() == sizes) return t;
    if (t.impl()->layout != Layout::Strided) { // of an operand that was broadcast to a sparse one
        static constinit NamedOperator dense{"to_dense", ""};
        return sum_to(call_named(dense, t), sizes);
    }
    Sizes dims;
    int64_t lead = t.dim() - static_cast<int64_t>(sizes.size());
    for (int64_t d = 0; d < t.dim(); d++)
        if (d < lead || (sizes[static_cast<size_t>(d - lead)] == 1 && t.sizes()[static_cast<size_t>(d)] != 1)) dims.push_back(d);
    Tensor result = dims.empty() ? t : call_named(sum, t, IntList(dims), true);
    return lead > 0 ? call_named(view, result, sizes) : result;
}

} // namespace tape
} // namespace kindling
