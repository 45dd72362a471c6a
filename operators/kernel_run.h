// operators/kernel_run.h: what running a kernel shares between one call and all slices of batched tensors. For kernel.cpp and
// kernel_batched.cpp.
#pragma once
#include "generated/functions.h"
#include "operators/forms.h"
#include "operators/kernel.h"

namespace kindling {

/// From here on another thread may run Python: below, giving the lock away costs more than it brings.
constexpr int64_t long_work = 65536;

inline void replace(KernelCall::Read& read, Tensor with) {
    read.tensor = with.impl();
    read.kept = std::move(with);
}
/// The strides of matrices by columns.
Sizes column_strides(IntList sizes);
/// Gives a read the dtype, the strides and the resolved bits that the computing half wants.
inline void prepare(KernelCall::Read& read) {
    if (read.dtype != read.tensor->dtype) replace(read, to(Tensor::share(read.tensor), read.dtype));
    const uint32_t pending = read.order == KernelCall::Order::Unresolved ? uint32_t{key::Neg} : key::lazy;
    if (read.tensor->key & pending) replace(read, resolve_lazy_bits(Tensor::share(read.tensor)));
    if (read.order == KernelCall::Order::Columns) {
        const Tensor given = Tensor::share(read.tensor);
        Tensor columns = make_tensor(given.sizes(), column_strides(given.sizes()), read.dtype);
        if (columns.numel()) copy_into(columns, given);
        replace(read, std::move(columns));
    } else if (read.order == KernelCall::Order::Rows && !read.tensor->contiguous) replace(read, contiguous(Tensor::share(read.tensor)));
}
/// Fills `call` in, after the checks that every rule would make.
void apply_rule(const Operator& op, const Value* arguments, KernelCall& call);
/// Notes down the call of a kernel by rows, to be run later. False where that is not worth it, or it is a call of an uncommon kind.
[[gnu::cold]] bool put_off(const Operator& op, KernelCall& call, const Tensor& target);
/// Runs the loop of a reduction, of rows, of elements or of a scan.
void run_loop_body(const Operator& op, KernelCall& call, Tensor* results);

} // namespace kindling
