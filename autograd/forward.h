// autograd/forward.h: forward-mode differentiation. A tensor carries one tangent for each open level that it depends on.
#pragma once
#include "core/dispatch.h"
#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace kindling {

/// The tangents of one header, and of the copies of it that nodes save.
struct Tangents : RefCounted {
    struct One {
        uint64_t level;
        Tensor value;
        Tangents* of;
        One* next = nullptr;                     // of the same tensor
        One *before = nullptr, *after = nullptr; // of the same level
    };
    One* first = nullptr;
    ~Tangents();
};
inline void release(Tangents* tangents) {
    if (tangents->drop()) delete tangents;
}

/// Opens a level within those that are open; gives its number, larger than theirs. Closing it drops its tangents.
uint64_t enter_forward_level();
void exit_forward_level(uint64_t level);

/// Undefined if it has none at this level. That of a view of a tensor with a tangent is a view of that.
Tensor tangent_of(TensorImpl* impl, uint64_t level);
/// A view of `primal` with this tangent.
Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level);
/// Gives a fresh tensor a tangent, laid out as it is itself.
void set_tangent(const Tensor& tensor, uint64_t level, Tensor tangent);
/// After a write: the tangent that `tensor` has, or that part of its base's, is overwritten.
void write_tangent(const Tensor& tensor, uint64_t level, const Tensor& tangent);
/// Of a tensor with this tangent: one that lies in as much memory as the tensor itself, and is its tangent from now on.
Tensor tangent_over_storage(const Tensor& tensor, uint64_t level, const Tensor& tangent);
/// What the tensor is for lower levels alone.
Tensor primal_of(const Tensor& tensor, uint64_t level);
/// All that it has itself, with their levels.
std::vector<std::pair<uint64_t, Tensor>> tangents_of(const TensorImpl* impl);
/// `copy` has the tangents of `impl` from now on, also those that it will be given.
void share_tangents(TensorImpl* copy, TensorImpl* impl);
/// Sets the key bit of such a copy.
void see_tangents(TensorImpl* copy);

/// While in scope, tangents of this level and of those above are not looked at.
struct BelowLevel {
    uint64_t before = thread_state.forward_cap;
    explicit BelowLevel(uint64_t level) { thread_state.forward_cap = level - 1; }
    ~BelowLevel() { thread_state.forward_cap = before; }
    BelowLevel(const BelowLevel&) = delete;
};

struct OperatorPlan;
/// The tangent of a scalar body's result, from those of its arguments (by position, undefined: none). With `value`, one loop
/// computes value and tangent.
[[gnu::cold]] Tensor pointwise_tangent(const OperatorPlan& plan, const Operator& op, const Value* arguments, const Tensor* tangents,
                                       const Tensor& result, Tensor* value);

} // namespace kindling
#pragma GCC visibility pop
