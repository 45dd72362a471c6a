// operators/loops.h: what every loop over tensors needs before it runs: promotion, broadcast, layout, overlap checks.
#pragma once
#include "core/shape.h"
#include "core/tensor.h"
#include "kernels/loop.h"

namespace kindling {

/// torch.result_type over tensors and numbers, given one after another.
class ResultType {
public:
    void add(const TensorImpl& tensor);
    void add(const Scalar& number);
    /// TypeError/RuntimeError where torch has no promotion.
    DType get() const;

private:
    DType dimensioned_ = DType::None, zero_dim_ = DType::None, wrapped_ = DType::None;
};
/// Whether `from` may be stored into `to` (no complex into real, no float into integral, nothing but bool into bool).
bool can_cast(DType from, DType to);

/// A number as a loop over memory of `dtype` takes it.
Immediate immediate_of(const Scalar& value, DType dtype);

/// Sizes after broadcasting all of them, and the strides torch's TensorIterator gives a fresh output.
Sizes broadcast_all(TensorImpl* const* tensors, int count, const char* operation);
Sizes output_strides(IntList sizes, TensorImpl* const* tensors, int count, DType compute = DType::None);

/// Several elements of it lie in one place, as far as its strides show.
bool is_expanded(const TensorImpl& tensor);
/// RuntimeError as torch when `out` overlaps itself, or overlaps an input without being it (or, with same_too, at all).
void check_overlap(const Tensor& out, TensorImpl* const* inputs, int count, bool same_too = false);
/// Only that the two share no memory, where that is easy to tell.
void check_apart(const Tensor& out, const TensorImpl& input, bool same_too);

/// Byte strides of `tensor` seen as `sizes`.
void loop_strides(const TensorImpl& tensor, IntList sizes, int64_t* strides);

/// Where a loop reads: loops that were put off and read there as well stay so.
inline void* data_to_read(const TensorImpl& tensor) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor.storage->data_to_read()) +
                                   static_cast<uint64_t>(tensor.offset) * item_size(tensor.dtype));
}

/// Runs an expression over tensors into `outputs` (all of shape `sizes`); inputs broadcast.
void run_loop(const Expression& expression, IntList sizes, TensorImpl* const* outputs, int output_count, TensorImpl* const* inputs,
              int input_count, const Immediate* scalars);

} // namespace kindling
