// operators/loops.cpp: promotion, broadcast, strides of results, overlap checks.
// Compiled for calls.
#include "operators/loops.h"

#include "core/dispatch.h"
#include "graph/pending.h"
#include "operators/cached.h"
#include "operators/forms.h"

namespace kindling {

static void join(DType& slot, DType dtype) {
    if (slot == DType::None || slot == dtype) {
        slot = dtype;
        return;
    }
    slot = promote_or_fail(slot, dtype);
}

static DType combine(DType higher, DType lower) {
    if (higher == DType::None || lower == DType::None) return higher == DType::None ? lower : higher;
    if (is_complex(higher)) return higher;
    if (is_floating(higher)) return is_complex(lower) ? to_complex(higher) : higher;
    if (category(lower) >= 2) return lower;
    if (higher == DType::Bool) join(higher, lower);
    return higher;
}

void ResultType::add(const TensorImpl& tensor) {
    DType dtype = tensor.dtype;
    if (tensor.wrapped_number) {
        if (is_complex(dtype)) dtype = to_complex(default_dtype());
        else if (is_floating(dtype)) dtype = default_dtype();
        join(wrapped_, dtype);
    } else join(tensor.ndim ? dimensioned_ : zero_dim_, dtype);
}

void ResultType::add(const Scalar& number) {
    join(wrapped_, number.is_complex() ? to_complex(default_dtype()) : number.is_float() ? default_dtype() : number.dtype());
}

DType ResultType::get() const {
    if (zero_dim_ == DType::None && wrapped_ == DType::None) return dimensioned_;
    return combine(dimensioned_, combine(zero_dim_, wrapped_));
}

bool can_cast(DType from, DType to) {
    if (is_complex(from) && !is_complex(to)) return false;
    if (is_floating(from) && category(to) < 2) return false;
    if (from != DType::Bool && to == DType::Bool) return false;
    return true;
}

const Expression& detail::cached_expression(std::atomic<const CachedExpression*>& head, uint64_t key,
                                            void (*build)(void*, ExpressionBuilder&), void* context) {
    const CachedExpression* first = head.load(std::memory_order_acquire);
    for (auto* each = first; each; each = each->next)
        if (each->key == key) return each->expression;
    ExpressionBuilder builder;
    build(context, builder);
    auto* fresh = new CachedExpression{key, builder.finish(), first};
    while (!head.compare_exchange_weak(fresh->next, fresh)) {}
    return fresh->expression;
}

Immediate immediate_of(const Scalar& value, DType dtype) {
    const DType type = value_type(dtype);
    if (value.is_complex()) return Immediate::of(type, value.to_complex());
    if (value.is_float()) return Immediate::of(type, value.to_double());
    if (value.kind() == Scalar::Kind::UInt) return Immediate::of(type, static_cast<uint64_t>(value.to_int()));
    return Immediate::of(type, value.to_int());
}

Sizes broadcast_all(TensorImpl* const* tensors, int count, const char* operation) {
    Sizes sizes;
    bool first = true;
    for (int i = 0; i < count; i++) {
        IntList mine = static_cast<const TensorImpl*>(tensors[i])->sizes();
        if (first) {
            sizes = mine;
            first = false;
        } else if (!(IntList(sizes) == mine)) sizes = broadcast_sizes(sizes, mine, operation);
    }
    return sizes;
}

Sizes output_strides(IntList sizes, TensorImpl* const* tensors, int count, DType compute) {
    bool contiguous = true, channels_last = true, same = true;
    const TensorImpl* first = nullptr;
    for (int i = 0; i < count; i++) {
        const TensorImpl* tensor = tensors[i];
        bool whole = tensor->sizes() == sizes;
        contiguous &= whole && tensor->contiguous;
        channels_last &= whole && tensor->channels_last;
        if (!first) first = tensor;
        same &= whole && tensor->non_overlapping_dense && tensor->strides() == first->strides();
    }
    if (!first || contiguous) return contiguous_strides(sizes);
    if (channels_last) return channels_last_strides(sizes);
    if (same) return first->strides();
    // TensorIterator::reorder_dimensions: sort dimensions by the operands' strides, the first operand deciding.
    int n = static_cast<int>(sizes.size());
    SmallVector<int64_t, 16> order(static_cast<size_t>(n));
    for (int i = 0; i < n; i++) order[static_cast<size_t>(i)] = n - 1 - i;
    // What is converted to the dtype that is computed in has no gaps and no repeats any more.
    std::vector<Sizes> converted;
    for (int i = 0; i < count && compute != DType::None; i++) {
        const TensorImpl& tensor = *tensors[i];
        if (tensor.dtype == compute || !tensor.ndim || tensor.non_overlapping_dense) continue;
        converted.resize(static_cast<size_t>(count));
        converted[static_cast<size_t>(i)] = preserved_strides(tensor.sizes(), tensor.strides(), false);
    }
    auto stride_of = [&](int i, int64_t dim) -> int64_t {
        const TensorImpl* tensor = tensors[i];
        int64_t at = dim - (n - tensor->ndim);
        if (at < 0 || (tensor->shape[at] == 1 && sizes[static_cast<size_t>(dim)] != 1)) return 0;
        if (!converted.empty() && !converted[static_cast<size_t>(i)].empty())
            return converted[static_cast<size_t>(i)][static_cast<size_t>(at)];
        // Of a dimension of size 1 it may be anything, and wrap around.
        return static_cast<int64_t>(static_cast<uint64_t>(tensor->shape[tensor->ndim + at]) * item_size(tensor->dtype));
    };
    auto swaps = [&](int64_t a, int64_t b) {
        for (int i = 0; i < count; i++) {
            int64_t sa = stride_of(i, a), sb = stride_of(i, b);
            if (sa == 0 || sb == 0) continue;
            if (sa < sb) return -1;
            if (sa > sb) return 1;
            if (sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)]) return 1;
        }
        return 0;
    };
    for (size_t i = 1; i < static_cast<size_t>(n); i++) {
        size_t at = i;
        for (size_t j = i; j-- > 0;) {
            int verdict = swaps(order[j], order[at]);
            if (verdict > 0) {
                std::swap(order[j], order[at]);
                at = j;
            } else if (verdict < 0) break;
        }
    }
    Sizes strides(static_cast<size_t>(n));
    int64_t step = 1;
    bool inverted = true; // matters to what has no elements: the others are contiguous then
    for (int i = 0; i < n; i++) {
        int64_t dim = order[static_cast<size_t>(i)];
        strides[static_cast<size_t>(dim)] = step;
        inverted &= dim == n - 1 - i;
        step *= sizes[static_cast<size_t>(dim)];
    }
    return inverted ? contiguous_strides(sizes) : strides;
}

/// Bytes of the storage.
static void extent(const TensorImpl& tensor, int64_t& low, int64_t& high) {
    int64_t bottom = 0, top = 0;
    for (int i = 0; i < tensor.ndim; i++) {
        int64_t reach = (tensor.shape[i] - 1) * tensor.shape[tensor.ndim + i];
        (reach < 0 ? bottom : top) += reach;
    }
    int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
    low = (tensor.offset + bottom) * item;
    high = (tensor.offset + top + 1) * item;
}

bool is_expanded(const TensorImpl& tensor) {
    if (!tensor.non_overlapping_dense)
        for (int i = 0; i < tensor.ndim; i++)
            if (tensor.shape[i] > 1 && tensor.shape[tensor.ndim + i] == 0) return true;
    return false;
}

void check_apart(const Tensor& out, const TensorImpl& input, bool same_too) {
    const TensorImpl& target = *out.impl();
    if (input.storage != target.storage || !input.numel || !target.numel) return;
    if (!input.non_overlapping_dense || !target.non_overlapping_dense) return; // too hard to tell, as torch
    int64_t low, high, bottom, top;
    extent(input, low, high);
    extent(target, bottom, top);
    if (!same_too && low == bottom && high == top && input.strides() == target.strides()) return;
    KINDLING_CHECK(Runtime, high <= bottom || top <= low,
                   "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                   "memory location. Please clone() the tensor before performing the operation.");
}

void check_overlap(const Tensor& out, TensorImpl* const* inputs, int count, bool same_too) {
    TensorImpl* target = out.impl();
    KINDLING_CHECK(Runtime, !is_expanded(*target),
                   "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                   "location. Please clone() the tensor before performing the operation.");
    for (int i = 0; i < count; i++) {
        if (same_too || inputs[i] != target) check_apart(out, *inputs[i], same_too);
    }
}

void loop_strides(const TensorImpl& tensor, IntList sizes, int64_t* strides) {
    int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
    int shift = static_cast<int>(sizes.size()) - tensor.ndim;
    for (int i = 0; i < static_cast<int>(sizes.size()); i++) {
        int at = i - shift;
        strides[i] = at < 0 || (tensor.shape[at] == 1 && sizes[static_cast<size_t>(i)] != 1)
                         ? 0
                         : static_cast<int64_t>(static_cast<uint64_t>(tensor.shape[tensor.ndim + at]) *
                                                static_cast<uint64_t>(item)); // of one element or none, it may be anything
    }
}

[[gnu::noinline]] static void record_loop(const Expression& expression, IntList sizes, TensorImpl* const* outputs, int output_count,
                                          TensorImpl* const* inputs, int input_count, const Immediate* scalars) {
    const size_t count = static_cast<size_t>(output_count + input_count);
    int64_t numel = 1;
    for (int64_t size : sizes) numel *= size;
    if (numel == 0) return;
    bool plain = true; // one flat dimension
    for (int i = 0; i < output_count && plain; i++) plain = outputs[i]->contiguous && outputs[i]->numel == numel;
    for (int i = 0; i < input_count && plain; i++) plain = inputs[i]->contiguous && inputs[i]->numel == numel;
    if (plain) sizes = IntList(&numel, 1);
    const size_t n = sizes.size();
    int64_t few_strides[24];
    Place few_places[8];
    std::vector<int64_t> many_strides;
    std::vector<Place> many_places;
    int64_t* strides = few_strides;
    Place* places = few_places;
    if (count * n > 24) many_strides.resize(count * n), strides = many_strides.data();
    if (count > 8) many_places.resize(count), places = many_places.data();
    for (size_t i = 0; i < count; i++) {
        const TensorImpl* tensor = i < static_cast<size_t>(output_count) ? outputs[i] : inputs[i - static_cast<size_t>(output_count)];
        need_memory(tensor);
        if (plain) strides[i] = static_cast<int64_t>(item_size(tensor->dtype));
        else loop_strides(*tensor, sizes, strides + i * n);
        places[i] = {tensor->storage, tensor->offset * static_cast<int64_t>(item_size(tensor->dtype)), tensor->dtype, strides + i * n};
    }
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = static_cast<int>(n);
    kernel.sizes = sizes.data();
    kernel.output_count = output_count;
    kernel.input_count = input_count;
    kernel.scalars = scalars;
    thread_state.recording->record(kernel, places);
}

void run_loop(const Expression& expression, IntList sizes, TensorImpl* const* outputs, int output_count, TensorImpl* const* inputs,
              int input_count, const Immediate* scalars) {
    int count = output_count + input_count, n = static_cast<int>(sizes.size());
    KINDLING_ASSERT(count <= max_loop_operands);
    if (outputs[0]->device.type == DeviceType::Meta) return;
    int64_t numel = 1;
    for (int64_t size : sizes) numel *= size;
    auto operand = [&](int i) { return i < output_count ? outputs[i] : inputs[i - output_count]; };
    if (thread_state.recording && is_put_off(numel, output_count, count, [&](int i) { return operand(i)->storage; })) [[unlikely]]
        return record_loop(expression, sizes, outputs, output_count, inputs, input_count, scalars);
    LoopOperand operands[16];
    std::vector<LoopOperand> many;
    LoopOperand* list = operands;
    if (count > 16) {
        many.resize(static_cast<size_t>(count));
        list = many.data();
    }
    SmallVector<int64_t, 40> strides(static_cast<size_t>(count * n));
    bool missing = false; // memory that was never there, or was taken away
    bool plain = true;    // everything contiguous and of this shape: one flat dimension
    for (int i = 0; i < count; i++) {
        const TensorImpl* tensor = operand(i);
        plain &= tensor->contiguous && tensor->sizes() == sizes;
        list[i] = {i < output_count ? tensor->data() : data_to_read(*tensor), tensor->dtype, nullptr};
        missing |= !tensor->storage->memory;
    }
    if (numel == 0) return;
    if (missing) [[unlikely]]
        for (int i = 0; i < count; i++) need_memory(operand(i));
    LoopKernel kernel;
    int64_t flat_strides[16];
    IntList loop_sizes = sizes;
    if (plain && count <= 16) {
        for (int i = 0; i < count; i++) {
            flat_strides[i] = static_cast<int64_t>(item_size(list[i].type));
            list[i].strides = &flat_strides[i];
        }
        loop_sizes = IntList(&numel, 1);
    } else {
        for (int i = 0; i < count; i++) {
            const TensorImpl* tensor = operand(i);
            loop_strides(*tensor, sizes, strides.data() + i * n);
            list[i].strides = strides.data() + i * n;
        }
    }
    kernel.expression = &expression;
    kernel.ndim = static_cast<int>(loop_sizes.size());
    kernel.sizes = loop_sizes.data();
    kernel.output_count = output_count;
    kernel.input_count = input_count;
    kernel.operands = list;
    kernel.scalars = scalars;
    Unlocked unlocked(numel > 65536);
    run(kernel);
}

} // namespace kindling
