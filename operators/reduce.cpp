// operators/reduce.cpp: sizes and dimensions of reductions; row kernels over dimensions.
#include "operators/reduce.h"

#include "core/dispatch.h"
#include "generated/functions.h"

namespace kindling {

Sizes reduced_sizes(IntList sizes, uint64_t mask, bool keepdim) {
    Sizes result;
    for (size_t i = 0; i < sizes.size(); i++)
        if (!(mask >> i & 1)) result.push_back(sizes[i]);
        else if (keepdim) result.push_back(1);
    return result;
}

void fold(const Fold& what, IntList sizes, uint64_t mask, bool keepdim, TensorImpl* const* inputs, int input_count,
          const DType* dtypes, Tensor* outputs, int output_count) {
    int n = static_cast<int>(sizes.size()), count = output_count + input_count;
    Sizes result = reduced_sizes(sizes, mask, keepdim);
    bool meta = false;
    for (int i = 0; i < input_count; i++) meta |= inputs[i]->is_meta();
    LoopOperand operands[8];
    SmallVector<int64_t, 48> strides(static_cast<size_t>(count * n));
    for (int i = 0; i < output_count; i++) {
        outputs[i] = make_tensor(result, contiguous_strides(result), dtypes[i], meta ? Device{DeviceType::Meta} : Device{});
        int64_t item = static_cast<int64_t>(outputs[i].element_size());
        int at = 0;
        for (int d = 0; d < n; d++) {
            bool folded = mask >> d & 1;
            strides[static_cast<size_t>(i * n + d)] = folded ? 0 : outputs[i].strides()[static_cast<size_t>(at)] * item;
            at += !folded || keepdim;
        }
        operands[i] = {outputs[i].data(), dtypes[i], strides.data() + i * n};
    }
    if (meta || outputs[0].numel() == 0) return;
    int64_t work = 1;
    for (int64_t size : sizes) work *= size;
    for (int i = 0; i < input_count; i++) {
        loop_strides(*inputs[i], sizes, strides.data() + (output_count + i) * n);
        operands[output_count + i] = {inputs[i]->data(), inputs[i]->dtype, strides.data() + (output_count + i) * n};
    }
    LoopKernel kernel;
    kernel.expression = what.expression;
    kernel.ndim = n;
    kernel.sizes = sizes.data();
    kernel.output_count = output_count;
    kernel.input_count = input_count;
    kernel.operands = operands;
    kernel.scalars = what.scalars;
    kernel.reduced = mask;
    kernel.combines = what.combines;
    kernel.finish = what.finish;
    Unlocked unlocked(work > 65536);
    run(kernel);
}

void run_rows(const Expression& expression, IntList sizes, uint64_t mask, TensorImpl* const* outputs, int output_count,
              TensorImpl* const* inputs, int input_count, const Immediate* scalars) {
    int n = static_cast<int>(sizes.size()), count = output_count + input_count;
    LoopOperand operands[12];
    KINDLING_ASSERT(count <= 12);
    SmallVector<int64_t, 48> strides(static_cast<size_t>(count * n));
    int64_t work = 1;
    for (int64_t size : sizes) work *= size;
    for (int i = 0; i < count; i++) {
        const TensorImpl* tensor = i < output_count ? outputs[i] : inputs[i - output_count];
        loop_strides(*tensor, sizes, strides.data() + i * n);
        operands[i] = {tensor->data(), tensor->dtype, strides.data() + i * n};
    }
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = n;
    kernel.sizes = sizes.data();
    kernel.output_count = output_count;
    kernel.input_count = input_count;
    kernel.operands = operands;
    kernel.scalars = scalars;
    kernel.row = mask;
    Unlocked unlocked(work > 65536);
    run(kernel);
}

Tensor run_rows(const Expression& expression, uint64_t mask, DType result, TensorImpl* const* inputs, int input_count) {
    const TensorImpl* like = inputs[0];
    Tensor output = make_tensor(like->sizes(), contiguous_strides(like->sizes()), result,
                                like->is_meta() ? Device{DeviceType::Meta} : Device{});
    if (output.is_meta() || !output.numel()) return output;
    TensorImpl* header = output.impl();
    run_rows(expression, like->sizes(), mask, &header, 1, inputs, input_count, nullptr);
    return output;
}

Tensor to_equals(const Tensor& grad, const Tensor& self, const Tensor& result) {
    Tensor hit = logical_or(eq(self, result), logical_and(isnan(self), isnan(result)));
    return where(hit, div(grad, sum(hit)), wrap_number(Scalar(0)));   // a product would make NaN where nothing equals it any more
}

Tensor restore_dims(const Tensor& grad, uint64_t mask, int64_t ndim, bool keepdim) {
    if (keepdim || ndim == 0) return grad;
    Tensor result = grad;
    for (int64_t i = 0; i < ndim; i++)
        if (mask >> i & 1) result = unsqueeze(result, i);
    return result;
}

}  // namespace kindling
