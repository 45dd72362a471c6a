// operators/kernel_rows.cpp: kernels by rows that are put off: what is noted down of a call, and how a part of it runs later.
#include <algorithm>
#include <cstring>

#include "graph/pending.h"
#include "operators/kernel_run.h"

namespace kindling {
namespace {

/// A header over memory that somebody else keeps.
struct Borrowed {
    ~Borrowed() { impl.storage = nullptr; }
    TensorImpl& lay(void* memory) {
        storage.memory = memory;
        impl.storage = &storage;
        return impl;
    }
    Storage storage;
    TensorImpl impl;
};

/// Those of a step's arrays, for one run of it.
struct Headers {
    Headers(const Step& step, void* const* memory, int64_t rows) {
        for (int i = 0; i < step.count; i++) {
            const StepArray& from = step.arrays[i];
            if (!from.given) continue;
            TensorImpl& to = borrowed[i].lay(memory[i]);
            to.dtype = from.type;
            to.key = from.key;
            std::memcpy(to.inline_, from.shape, 2 * from.ndim * sizeof(int64_t));
            to.ndim = from.ndim;
            if (from.by_rows) to.inline_[0] = rows;
            to.refresh();
            arrays[i] = Array(&to);
        }
    }
    Borrowed borrowed[Step::most_arrays];
    Array arrays[Step::most_arrays];
};

void run_step(const Step& step, void* const* memory, int64_t rows, void* packed) {
    const Headers headers(step, memory, rows);
    Borrowed borrowed;
    const Array made(&borrowed.lay(packed));
    step.op->compute(step.plan, headers.arrays, packed ? Span<Array>(&made, 1) : Span<Array>(), nullptr);
}

void run_pack(const Step& step, void* const* memory, int64_t rows, void* packed) {
    const Headers headers(step, memory, rows);
    step.op->pack(step.plan, headers.arrays, {}, packed);
}

} // namespace

bool put_off(const Operator& op, KernelCall& call, const Tensor& target) {
    const KernelCall::Result& result = call.result(0);
    const TensorImpl& to = *target.impl();
    // The first dimensions as one; 0 of what has none, or where they do not lie together.
    const auto dims = static_cast<int>(call.row_dims);
    auto rows_of = [&](const TensorImpl& tensor) {
        if (tensor.ndim < dims || dims < 1 || tensor.ndim - dims >= StepArray::most_dims) return int64_t{0};
        int64_t rows = 1;
        for (int d = dims; d-- > 0; rows *= tensor.shape[d])
            if (d + 1 < dims && tensor.strides()[d] != tensor.strides()[d + 1] * tensor.shape[d + 1]) return int64_t{0};
        return rows;
    };
    if (!call.rows || call.result_count != 1 || result.target || result.computed != DType::None || result.zeros ||
        result.begins.defined() || call.list.size() || call.workspace || call.destroy_plan || call.plan_bytes > sizeof(Step::plan) ||
        call.read_count >= Step::most_arrays || !to.numel || !to.contiguous || !(kind_of(to.dtype) & (kind::Floats | kind::Complex)))
        return false;
    const int64_t rows = rows_of(to);
    if (!rows || static_cast<int64_t>(item_size(to.dtype)) * to.numel < smallest_step()) return false;
    for (int i = 0; i < call.read_count; i++) {
        const TensorImpl* tensor = call.input(i).tensor;
        if (tensor && (call.rows >> i & 1 ? rows_of(*tensor) != rows : tensor->ndim > StepArray::most_dims)) return false;
    }
    Step step;
    Storage* storages[Step::most_arrays];
    auto add = [&](const TensorImpl* tensor, bool by_rows) {
        StepArray& array = step.arrays[step.count];
        storages[step.count++] = tensor ? tensor->storage : nullptr;
        if (!tensor) return;
        need_memory(tensor);
        array.given = true;
        array.by_rows = by_rows;
        const int merged = by_rows ? dims - 1 : 0;
        array.ndim = static_cast<uint8_t>(tensor->ndim - merged);
        array.type = tensor->dtype;
        array.key = tensor->key & key::lazy;
        array.offset = tensor->offset * static_cast<int64_t>(item_size(tensor->dtype));
        std::copy_n(tensor->sizes().data() + merged, array.ndim, array.shape);
        std::copy_n(tensor->strides().data() + merged, array.ndim, array.shape + array.ndim);
        if (by_rows) array.shape[0] = rows;
    };
    for (int i = 0; i < call.read_count; i++) {
        if (call.input(i).tensor) prepare(call.input(i));
        add(call.input(i).tensor, call.rows >> i & 1);
    }
    add(&to, true);
    step.op = op.functional;
    step.run = run_step;
    if (call.packed && step.op->pack) step.pack = run_pack, step.packed_bytes = call.packed;
    step.rows = rows;
    step.least_rows = call.least_rows;
    step.looks_up = call.is_look_up;
    step.cost = std::max(call.cost, to.numel);
    if (call.plan_bytes) std::memcpy(step.plan, call.plan(), call.plan_bytes);
    thread_state.recording->record(step, storages);
    return true;
}

} // namespace kindling
