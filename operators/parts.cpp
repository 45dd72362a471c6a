// operators/parts.cpp: parts of memory: what views show of it, and loops that write there.
#include "operators/parts.h"

#include <algorithm>

#include "core/thread_state.h"
#include "graph/pending.h"
#include "operators/cached.h"

namespace kindling {

static void clamp_slice(int64_t size, int64_t& start, int64_t& end) {
    if (start < 0) start += size;
    if (end < 0) end += size;
    start = start < 0 ? 0 : start > size ? size : start;
    end = end < start ? start : end > size ? size : end;
}

static int64_t diagonal_length(IntList sizes, int64_t shift, size_t dim1, size_t dim2) {
    const int64_t rows = sizes[dim1], columns = sizes[dim2];
    const int64_t length = shift >= 0 ? std::min(rows, columns - shift) : std::min(rows + shift, columns);
    return length > 0 ? length : 0;
}

Part& Part::select(int64_t d, int64_t index) {
    KINDLING_CHECK(Index, dim() > 0, "select() cannot be applied to a 0-dim tensor.");
    const auto at = static_cast<size_t>(d = wrap_dim(d, dim()));
    const int64_t size = sizes[at];
    KINDLING_CHECK(Index, index >= -size && index < size, "select(): index %ld out of range for tensor of size %s at dimension %ld", index,
                   str(sizes).c_str(), d);
    offset = advanced(offset, strides[at], index < 0 ? index + size : index);
    sizes.erase(at);
    strides.erase(at);
    return *this;
}

Part& Part::slice(int64_t d, int64_t start, int64_t end, int64_t step) {
    KINDLING_CHECK(Index, dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
    const auto at = static_cast<size_t>(wrap_dim(d, dim()));
    KINDLING_CHECK(Runtime, step > 0, "slice step must be positive");
    clamp_slice(sizes[at], start, end);
    offset = advanced(offset, strides[at], start);
    sizes[at] = end > start ? (end - start - 1) / step + 1 : 0;
    strides[at] = stepped(strides[at], step);
    return *this;
}

Part& Part::diagonal(int64_t shift, int64_t dim1, int64_t dim2) {
    const int64_t a = wrap_dim(dim1, dim()), b = wrap_dim(dim2, dim());
    KINDLING_CHECK(Runtime, a != b, "diagonal dimensions cannot be identical %ld, %ld", dim1, dim2);
    const int64_t down = strides[static_cast<size_t>(a)], across = strides[static_cast<size_t>(b)];
    const int64_t length = diagonal_length(sizes, shift, static_cast<size_t>(a), static_cast<size_t>(b));
    if (length) offset = shift >= 0 ? advanced(offset, across, shift) : advanced(offset, down, -shift);
    for (const int64_t each : {std::max(a, b), std::min(a, b)}) {
        sizes.erase(static_cast<size_t>(each));
        strides.erase(static_cast<size_t>(each));
    }
    sizes.push_back(length);
    strides.push_back(advanced(down, across, 1));
    return *this;
}

Part& Part::unfold(int64_t dimension, int64_t size, int64_t step) {
    const auto at = static_cast<size_t>(wrap_dim(dimension, dim()));
    const int64_t length = dim() ? sizes[at] : 1, stride = dim() ? strides[at] : 1;
    KINDLING_CHECK(Runtime, size >= 0, "size is %ld but must be >= 0", size);
    KINDLING_CHECK(Runtime, size <= length, "maximum size for tensor at dimension %zu is %ld but size is %ld", at, length, size);
    KINDLING_CHECK(Runtime, step > 0, "step is %ld but must be > 0", step);
    if (dim()) {
        const auto wrapped = static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(step));
        KINDLING_CHECK(Runtime, wrapped >= 0, "as_strided: Negative strides are not supported at the moment, got a step of %ld times %ld",
                       step, stride);
        sizes[at] = (length - size) / step + 1;
        strides[at] = stepped(stride, step);
    }
    sizes.push_back(size);
    strides.push_back(stride);
    return *this;
}

void check_copied(IntList from, const Part& to) {
    if (from == IntList(to.sizes)) return;
    const Sizes sizes = broadcast_sizes(to.sizes, from, "copy_");
    KINDLING_CHECK(Runtime, IntList(sizes) == IntList(to.sizes), "output with shape %s doesn't match the broadcast shape %s",
                   str(to.sizes).c_str(), str(IntList(sizes)).c_str());
}

/// Runs an expression of up to two inputs over a part; the first operand is written to. An input broadcasts to it.
static void run_over(const Expression& expression, const Part& there, std::initializer_list<std::pair<const Array*, const Part*>> given,
                     const Immediate* scalars) {
    LoopOperand operands[3];
    Place places[3];
    Sizes strides[3], sizes = there.sizes;
    int count = 0;
    if (sizes.empty()) sizes.push_back(1);
    for (const auto& [array, part] : given) {
        const auto item = static_cast<int64_t>(array->element_size());
        strides[count] = expanded_strides(part->sizes, part->strides, there.sizes);
        if (strides[count].empty()) strides[count].push_back(0);
        for (int64_t& each : strides[count]) each *= item;
        operands[count] = {nullptr, array->dtype(), strides[count].data()};
        places[count] = {array->impl()->storage, (array->impl()->offset + part->offset) * item, array->dtype(), strides[count].data()};
        count++;
    }
    int64_t numel = 1;
    for (const int64_t size : sizes) numel *= size;
    if (!numel) return;
    const LoopKernel kernel{.expression = &expression,
                            .ndim = static_cast<int>(sizes.size()),
                            .sizes = sizes.data(),
                            .output_count = 1,
                            .input_count = count - 1,
                            .operands = operands,
                            .scalars = scalars};
    if (thread_state.recording && is_put_off(numel, 1, count, [&](int i) { return places[i].storage; })) [[unlikely]]
        return thread_state.recording->record(kernel, places);
    for (int i = 0; i < count; i++)
        operands[i].data = static_cast<char*>(i ? places[i].storage->data_to_read() : places[i].storage->data()) + places[i].offset;
    run(kernel);
}

void copy_part(const Array& to, const Part& there, const Array& from, const Part& here) {
    const DType source = from.dtype(), target = to.dtype();
    run_over(cached_expression(key_of(source, target), [&](ExpressionBuilder& b) { b.output(cast(b.input(source), target)); }), there,
             {{&to, &there}, {&from, &here}}, nullptr);
}

void add_part(const Array& to, const Part& there, const Array& from, const Part& here) {
    const DType dtype = to.dtype();
    const Expression& sum = cached_expression(key_of(dtype), [&](ExpressionBuilder& b) {
        const Sym x = b.input(dtype), y = b.input(dtype);
        b.output(dtype == DType::Bool ? x | y : x + y);
    });
    run_over(sum, there, {{&to, &there}, {&to, &there}, {&from, &here}}, nullptr);
}

void fill_part(const Array& to, const Part& there, Immediate number) {
    const DType dtype = to.dtype();
    run_over(cached_expression(key_of(dtype), [&](ExpressionBuilder& b) { b.output(cast(b.scalar(value_type(dtype)), dtype)); }), there,
             {{&to, &there}}, &number);
}

} // namespace kindling
