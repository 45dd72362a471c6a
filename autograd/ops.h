// autograd/ops.h: calls of the few operators the tape itself needs, by name.
#pragma once
#include "core/dispatch.h"

#pragma GCC visibility push(default)
namespace kindling {

/// An operator looked up at first use.
struct NamedOperator {
    const char* name;
    const char* overload;
    mutable std::atomic<const Operator*> found{nullptr};
    const Operator& get() const {
        const Operator* op = found.load(std::memory_order_relaxed);
        return op ? *op : find();
    }
    const Operator& find() const;
};

/// Calls with `given` as the first arguments, and the schema's defaults for the rest.
Tensor call_values(const NamedOperator& op, const Value* given, size_t count);
template <class... A> Tensor call_named(const NamedOperator& op, const A&... arguments) {
    Value values[] = {Value(arguments)...};
    return call_values(op, values, sizeof...(A));
}

/// In its scope calls are recorded, whatever the thread's state.
struct Recorded {
    GradMode on{true};
    uint32_t before = thread_state.exclude;
    Recorded() { thread_state.exclude &= ~static_cast<uint32_t>(key::Autograd); }
    ~Recorded() { thread_state.exclude = before; }
    Recorded(const Recorded&) = delete;
};

/// The in-place form of a composition whose parts are recorded or followed. They may keep self, so they read `before`, a copy of it.
void write_by_parts(const Operator& op, const Tensor& self, const Tensor& before, const Value* arguments, Value* results);

namespace tape {
Tensor add(const Tensor& a, const Tensor& b);
void add_(const Tensor& a, const Tensor& b);
Tensor clone(const Tensor& t);
Tensor contiguous_clone(const Tensor& t);
void copy_(const Tensor& target, const Tensor& source);
void zero_(const Tensor& t);
Tensor cast(const Tensor& t, DType dtype);
Tensor real(const Tensor& t);
Tensor sum_to(const Tensor& t, IntList sizes);
Tensor ones_like(const Tensor& t);
Tensor detach(const Tensor& t);
Tensor zeros(IntList sizes, DType dtype, Device device);
Tensor as_strided(const Tensor& t, IntList sizes, IntList strides, int64_t offset);
} // namespace tape

} // namespace kindling
#pragma GCC visibility pop
