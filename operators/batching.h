// operators/batching.h: how a declaration says what an operator does to batched tensors, where that does not follow from its body.
//
// Most need not say it. Scalar bodies, and loops and kernels in two halves follow from what they are; compositions are their parts;
// views have their dimensions counted on by one. What is left runs slice by slice, unless it says
//     batches([](const Tensor& self, const Tensor& mat2) {
//         Mapped m({self, mat2});
//         return m.wraps([&] { return matmul(m.bare(self), m.bare(mat2)); });
//     })
// A rule is a composition over batched tensors: it may call operators on them, and look below with `Mapped`.
#pragma once
#include <memory>

#include "core/batch.h"

namespace kindling {

/// The newest level of some tensors, and what is below it.
class Mapped {
public:
    Mapped(std::initializer_list<Tensor> tensors) : Mapped(TensorList(tensors.begin(), tensors.size())) {}
    explicit Mapped(TensorList tensors);
    bool has(const Tensor& tensor) const {
        const Batch* batch = at(tensor);
        return batch && batch->batched;
    }
    /// What is below, with the batch dimension in front if there is one.
    Tensor bare(const Tensor& tensor) const {
        const Batch* batch = at(tensor);
        return batch ? batch->inner : tensor;
    }
    /// Whether one of the tensors has a batch dimension: results have one then.
    bool any() const { return any_; }
    /// The same, expanded over the batch where there is none, if results have one.
    Tensor front(const Tensor& tensor) const;
    int64_t size() const { return level_->size; }
    /// What `compute` makes below this level.
    template <class F> auto below(F compute) const {
        BelowVmap below(level_);
        return compute();
    }
    /// What `compute` makes below this level, as batched tensors again: the batch dimension is in front.
    template <class F> auto wraps(F compute) const { return wrapped(below(compute), any_); }
    /// The same of a view of `self`: with the batch dimension if that has it.
    template <class F> Tensor ties(const Tensor& self, F compute) const {
        Tensor view = [&] {
            BelowVmap below(level_);
            return compute();
        }();
        view = wrapped(std::move(view), has(self));
        tie_view(view.impl(), self.impl());
        return view;
    }
    /// Sizes, and strides over the memory of `inner`, of all slices. `size`: of the batch dimension, if not what it is.
    Sizes sizes_with(IntList sizes, int64_t size = 0) const {
        Sizes all{size ? size : level_->size};
        for (int64_t each : sizes) all.push_back(each);
        return all;
    }
    static Sizes strides_with(const Tensor& inner, IntList strides) {
        Sizes all{inner.stride(0)};
        for (int64_t each : strides) all.push_back(each);
        return all;
    }

private:
    const Batch* at(const Tensor& tensor) const { return tensor.defined() ? batch_at(tensor.impl(), level_) : nullptr; }
    Tensor wrapped(Tensor made, bool batched) const {
        return made.defined() ? make_batched(std::move(made), Ref<BatchLevel>::share(level_), batched) : made;
    }
    template <class... T> std::tuple<T...> wrapped(const std::tuple<T...>& made, bool batched) const {
        return std::apply([&](const T&... each) { return std::tuple<T...>(wrapped(each, batched)...); }, made);
    }
    std::vector<Tensor> wrapped(std::vector<Tensor> made, bool batched) const {
        for (Tensor& each : made) each = wrapped(std::move(each), batched);
        return made;
    }
    BatchLevel* level_ = nullptr;
    bool any_ = false; // one of the tensors has a batch dimension
};
/// Of a rule: this call goes slice by slice.
[[noreturn]] void by_slices();
/// Of a rule: results of slices have shapes of their own.
[[noreturn]] void fail_dynamic(const char* name);

/// A call's arguments, to be changed.
struct ChangedArguments {
    static constexpr size_t most = 64;
    ChangedArguments(const Operator& op, const Value* arguments) {
        KINDLING_ASSERT(op.argument_count() <= most);
        for (size_t i = 0; i < op.argument_count(); i++) values[i] = arguments[i];
    }
    /// Every tensor becomes what `change` makes of it (undefined: it stays).
    template <class F> void each(const Operator& op, F change) {
        for (int i = 0; i < op.tensor_count; i++) {
            Value& v = values[op.tensor_positions[i]];
            if (v.tag == Value::Tag::Tensor) set(op.tensor_positions[i], change(v.tensor));
        }
        for (int i = 0; i < op.list_count; i++) {
            Value& v = values[op.list_positions[i]];
            if (v.tag != Value::Tag::TensorList) continue;
            std::vector<Tensor> list;
            for (uint32_t j = 0; j < v.size; j++) {
                Tensor with = v.tensors[j].defined() ? change(v.tensors[j].impl()) : Tensor();
                list.push_back(with.defined() ? std::move(with) : v.tensors[j]);
            }
            lists.push_back(std::make_unique<std::vector<Tensor>>(std::move(list)));
            v.tensors = lists.back()->data();
        }
    }
    void set(size_t at, Tensor with) {
        if (!with.defined()) return;
        values[at].tensor = with.impl();
        keep.push_back(std::move(with));
    }
    void set(size_t at, Sizes numbers) {
        integers.push_back(std::make_unique<Sizes>(std::move(numbers)));
        values[at] = Value(IntList(*integers.back()));
    }
    Value values[most];
    std::vector<Tensor> keep;
    std::vector<std::unique_ptr<Sizes>> integers;
    std::vector<std::unique_ptr<std::vector<Tensor>>> lists;
};

/// operators/kernel_batched.cpp: runs a kernel in two halves for all slices at once, whatever levels its arguments have. False of one that
/// writes to an argument, or whose rule declines.
bool run_kernel_batched(const Operator& op, Value* arguments, Value* results);

/// Whether calls that go slice by slice warn, as PyTorch's do where it was asked for.
KINDLING_VISIBLE extern bool warn_of_slices;
/// Whether a call may go slice by slice; tests of rules switch that off.
KINDLING_VISIBLE extern bool may_slice;

constexpr int most_levels = 32;
/// How many levels, newest first, are above a graph that records what is done with these; 0: none does.
KINDLING_VISIBLE int levels_above_graph(std::vector<TensorImpl*> tensors, BatchLevel** levels);

/// autograd/batched.cpp: a tensor as slices see it, apart from the graph below but with a history that leads there (or itself, if it is in
/// no graph below), and what was made of such tensors as that graph sees it.
KINDLING_VISIBLE Tensor enter_graph(const Tensor& tensor, Span<BatchLevel*> levels);
KINDLING_VISIBLE Tensor leave_graph(const Tensor& tensor, Span<BatchLevel*> levels);
/// autograd/batched.cpp: records a call for the graph of a level below. `levels`, newest first, are above it.
void record_batched(const Operator& op, Value* arguments, Value* results, Span<BatchLevel*> levels);

} // namespace kindling
