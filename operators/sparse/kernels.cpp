// operators/sparse/kernels.cpp: finds what serves an operator's call with sparse tensors.
#include "operators/sparse/kernels.h"

#include <algorithm>
#include <cstring>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/forms.h"

namespace kindling {

/// Sorted by name. Made when the first sparse tensor meets an operator that does not know of them.
static const std::vector<SparseKernels::Entry>& all_kernels() {
    static const std::vector<SparseKernels::Entry>* const made = [] {
        auto* kernels = new SparseKernels;
        sparse_structure(*kernels);
        sparse_arithmetic(*kernels);
        sparse_products(*kernels);
        sparse_reductions(*kernels);
        std::stable_sort(kernels->entries.begin(), kernels->entries.end(),
                         [](const auto& a, const auto& b) { return std::strcmp(a.name, b.name) < 0; });
        return &kernels->entries;
    }();
    return *made;
}

/// Order of "mul.Tensor" against an operator's name and overload.
static int compare(const char* entry, const Operator& op) {
    const char* name = op.name();
    size_t length = std::strlen(name);
    if (int order = std::strncmp(entry, name, length)) return order;
    const char* overload = op.overload();
    entry += length;
    if (!*overload) return *entry;
    if (*entry != '.') return *entry ? *entry - '.' : -1;
    return std::strcmp(entry + 1, overload);
}

static Kernel find_kernel(const Operator& op, uint8_t layout, bool parts) {
    const auto& entries = all_kernels();
    size_t low = 0, high = entries.size();
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(entries[middle].name, op) < 0) low = middle + 1;
        else high = middle;
    }
    for (; low < entries.size() && compare(entries[low].name, op) == 0; low++)
        if ((entries[low].layouts & layout) && entries[low].parts == parts) return entries[low].kernel;
    return nullptr;
}

static bool is_compressed_call(const Operator& op, const Value* arguments) {
    return is_compressed(asked_layout(op, arguments)) ||
           any_tensor(op, arguments, [](const TensorImpl* tensor) { return is_compressed(tensor->layout); });
}

void refuse_layout(const Operator& op, const Value* arguments, bool compressed) {
    if (compressed && op.body == Body::Pointwise)
        any_tensor(op, arguments, [](const TensorImpl* tensor) -> bool {
            if (tensor->layout != Layout::Strided) fail(ErrorKind::Runtime, "unsupported tensor layout: %s", layout_word(tensor->layout));
            return false;
        });
    fail(ErrorKind::NotImplemented,
         "Could not run '%s%s%s%s' with arguments from the '%s' backend. This could be because the operator doesn't exist "
         "for this backend, or was omitted during the selective/custom build process (if using custom build).",
         std::strstr(op.name(), "::") ? "" : "aten::", op.name(), *op.overload() ? "." : "", op.overload(),
         compressed ? "SparseCsrCPU" : "SparseCPU");
}

bool call_sparse_parts(const Operator& op, Value* arguments, Value* results) {
    if (op.has(trait::TakesSparse)) return false;
    const uint8_t layout = is_compressed_call(op, arguments) ? SparseKernels::Compressed : SparseKernels::Coo;
    Kernel kernel = find_kernel(op, layout, true);
    if (!kernel && op.composite && (kernel = find_kernel(op, layout, false)) && thread_state.grad_mode &&
        !(thread_state.exclude & key::Autograd))
        KINDLING_CHECK(NotImplemented,
                       !any_tensor(op, arguments, [](const TensorImpl* tensor) { return (key_of(tensor) & key::Autograd) != 0; }),
                       "derivative for aten::%s of sparse tensors is not implemented", op.name());
    if (kernel) kernel(op, arguments, results);
    return kernel != nullptr;
}

/// f(0) == 0, for a scalar body of one tensor.
static bool keeps_zero(const Operator& op, const Value* arguments, const TensorImpl* tensor) {
    Value zero[64], result;
    for (size_t i = 0; i < op.argument_count(); i++) zero[i] = arguments[i];
    Tensor number = zeros({}, tensor->dtype);
    zero[op.tensor_positions[0]] = Value(number);
    op.kernel(op, zero, &result);
    return result.take_tensor().item_scalar().to_complex() == 0.0;
}

/// A scalar body of one tensor, on the values. Elements that stand for one place count as their sum.
static bool run_on_values(const Operator& op, Value* arguments, Value* results) {
    if (op.body != Body::Pointwise || op.form != Form::Functional || op.list_count || op.schema->results.size() != 1) return false;
    int tensors = 0;
    for (int i = 0; i < op.tensor_count; i++) tensors += arguments[op.tensor_positions[i]].is_tensor();
    Value& first = arguments[op.tensor_positions[0]];
    if (tensors != 1 || !first.is_tensor() || !keeps_zero(op, arguments, first.tensor)) return false;
    Tensor self = Tensor::share(first.tensor);
    if (is_coo(self)) self = coalesced(self);
    Value values[64], result;
    for (size_t i = 0; i < op.argument_count(); i++) values[i] = arguments[i];
    values[op.tensor_positions[0]] = Value(parts_of(self).values);
    call(op, values, &result);
    results[0] = Value::own(with_values(self, result.take_tensor()));
    return true;
}

void put_parts(const Tensor& self, const Tensor& result) {
    const SparseParts &mine = parts_of(self), &fresh = parts_of(result);
    if (is_compressed(self) && mine.indices.is_same(fresh.indices) && mine.values.sizes() == fresh.values.sizes())
        copy_into(mine.values, fresh.values);
    else replace_parts(self, result);
}

/// Writes what the functional form gave to self or out.
static void write(const Operator& op, const Tensor& target, const Tensor& result) {
    check_target(op, result.dtype(), target.dtype());
    Tensor fits = result.dtype() == target.dtype() ? result : to(result, target.dtype());
    if (!is_sparse(target)) {
        if (op.form == Form::Out) fit_out(target, fits.sizes(), contiguous_strides(fits.sizes()));
        else
            KINDLING_CHECK(Runtime, fits.sizes() == target.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                           str(target.sizes()).c_str(), str(fits.sizes()).c_str());
        copy_into(target, is_sparse(fits) ? as_dense(fits) : fits);
    } else {
        KINDLING_CHECK(Runtime, op.form == Form::Out || fits.sizes() == target.sizes(),
                       "output with shape %s doesn't match the broadcast shape %s", str(target.sizes()).c_str(), str(fits.sizes()).c_str());
        if (fits.impl()->layout != target.impl()->layout) fits = as_layout(fits, target.impl()->layout);
        put_parts(target, fits);
    }
    written(target);
}

void call_sparse(const Operator& op, Value* arguments, Value* results) {
    const bool compressed = is_compressed_call(op, arguments);
    const uint8_t layout = compressed ? SparseKernels::Compressed : SparseKernels::Coo;
    if (run_added(op, compressed ? Layer::SparseCompressed : Layer::Sparse, arguments, results)) return;
    if (op.index == 0xffff && (run_added(op, Layer::Explicit, arguments, results) || run_added(op, Layer::Implicit, arguments, results)))
        return;
    if (op.has(trait::TakesSparse) && op.functional == &op) return op.kernel(op, arguments, results);
    if (Kernel kernel = find_kernel(op, layout, false)) return kernel(op, arguments, results);
    if (run_on_values(op, arguments, results)) return;
    const Operator* functional = op.functional;
    const size_t count = op.schema->results.size();
    if (op.form == Form::Functional || !functional || functional == &op || count != 1) refuse_layout(op, arguments, compressed);
    const size_t target = op.form == Form::Inplace ? 0 : op.argument_count() - 1;
    if (!arguments[target].is_tensor()) refuse_layout(op, arguments, compressed);
    Tensor written_to = Tensor::share(arguments[target].tensor);
    // The functional form, found as ever: with a dense self or out it may be a call without sparse tensors.
    Value computed;
    bool served = functional->has(trait::TakesSparse) || functional->composite || find_kernel(*functional, layout, false) ||
                  find_kernel(*functional, layout, true) || functional->body == Body::Pointwise;
    if (!served) refuse_layout(op, arguments, compressed);
    if (op.form == Form::Inplace && functional->body == Body::Pointwise && op.tensor_count == 1 && is_coo(written_to))
        KINDLING_CHECK(Runtime, parts_of(written_to).coalesced || find_kernel(*functional, layout, false),
                       "%s: in-place on uncoalesced tensors is not supported", op.name());
    call(*functional, arguments, &computed);
    write(op, written_to, computed.take_tensor());
    results[0] = Value::own(std::move(written_to));
}

} // namespace kindling
