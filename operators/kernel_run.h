// operators/kernel_run.h: what running a kernel shares between one call and all slices of batched tensors. For kernel.cpp and
// kernel_batched.cpp.
#pragma once
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
/// Fills `call` in, after the checks that every rule would make.
void apply_rule(const Operator& op, const Value* arguments, KernelCall& call);
/// Runs the loop of a reduction, of rows, of elements or of a scan.
void run_loop_body(const Operator& op, KernelCall& call, Tensor* results);

}  // namespace kindling
