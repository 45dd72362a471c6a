// operators/batching.cpp: calls with batched tensors: which way each goes.
#include "operators/batching.h"

#include "core/shape.h"
#include "generated/functions.h"
#include "operators/boxed.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {

Mapped::Mapped(TensorList tensors) {
    for (const Tensor& tensor : tensors)
        if (Batch* batch = batch_behind(tensor); batch && (!level_ || batch->level->id > level_->id)) level_ = batch->level.get();
    KINDLING_CHECK(Internal, level_, "a batching rule was asked about tensors of no vmap");
    for (const Tensor& tensor : tensors) any_ |= has(tensor);
}

bool true_for_any(const Tensor& truth) { return any(all_slices(truth)).item<bool>(); }
bool true_for_all(const Tensor& truth) { return all(all_slices(truth)).item<bool>(); }
bool warn_of_slices = false, may_slice = true;

void by_slices() { fail(ErrorKind::Mapped, "vmap: slice by slice"); }
void fail_dynamic(const char* name) {
    fail(ErrorKind::Runtime,
         "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::%s. Please file an issue "
         "at "
         "https://github.com/pytorch/pytorch/issues if you need this feature.",
         name);
}

int levels_above_graph(std::vector<TensorImpl*> tensors, BatchLevel** levels) {
    if (!thread_state.grad_mode || thread_state.inference_mode) return 0;
    for (int depth = 0;; depth++) {
        BatchLevel* newest = nullptr;
        for (TensorImpl* tensor : tensors)
            if (Batch* batch = batch_behind(tensor); batch && (!newest || batch->level->id > newest->id)) newest = batch->level.get();
        for (TensorImpl* tensor : tensors)
            if (depth && (key_of(tensor) & key::Autograd) && (!newest || batch_at(tensor, newest))) return depth;
        if (!newest) return 0;
        KINDLING_CHECK(Runtime, depth < most_levels, "vmap: more than %d levels", most_levels);
        levels[depth] = newest;
        for (TensorImpl*& tensor : tensors)
            if (Batch* batch = batch_at(tensor, newest)) tensor = batch->inner.impl();
    }
}

Tensor Mapped::front(const Tensor& tensor) const {
    if (!any_ || has(tensor) || !tensor.defined()) return bare(tensor);
    const Tensor inner = bare(tensor);
    Sizes sizes{level_->size};
    for (int64_t size : inner.sizes()) sizes.push_back(size);
    return expand(inner, sizes);
}

namespace {

constexpr size_t most_results = 8;

bool any_batched(const Operator& op, const Value* arguments, const BatchLevel* level) {
    return any_tensor(op, arguments, [&](const TensorImpl* tensor) {
        const Batch* batch = batch_at(tensor, level);
        return batch && batch->batched;
    });
}

Ref<BatchLevel> share(BatchLevel* level) { return Ref<BatchLevel>::share(level); }

/// Results of a call below, as tensors of `level`.
void wrap_results(const Operator& op, Value* results, BatchLevel* level, bool batched) {
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        if (results[r].tag == Value::Tag::Tensor) results[r] = Value::own(make_batched(results[r].take_tensor(), share(level), batched));
        else if (results[r].tag == Value::Tag::TensorList)
            for (uint32_t j = 0; j < results[r].size; j++)
                if (Tensor& each = results[r].tensors[j]; each.defined()) each = make_batched(std::move(each), share(level), batched);
    }
}

void call_below(const Operator& op, Value* arguments, Value* results, const BatchLevel* level) {
    BelowVmap below(level);
    call(op, arguments, results);
}

[[noreturn]] void fail_inplace(const Operator& op) {
    fail(ErrorKind::Mapped,
         "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
         "elements "
         "than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use "
         "out-of-place operators instead of "
         "%s. If said operator is being called inside the PyTorch framework, please file a bug report instead.",
         op.name());
}

/// The argument that an in-place form writes to, as it was given.
void give_self(const Value* arguments, Value* results) {
    results[0].discard();
    results[0] = Value::own(Tensor::share(arguments[0].tensor));
}

bool writes_self(const Operator& op) { return op.form == Form::Inplace && op.tensor_count && op.tensor_positions[0] == 0; }

void check_self(const Operator& op, const Value* arguments, const BatchLevel* level) {
    if (!writes_self(op) || !any_batched(op, arguments, level)) return;
    const Batch* self = batch_at(arguments[0].tensor, level);
    if (!self || !self->batched) fail_inplace(op);
}

// ---- all slices at once, by the operator itself below

/// Operands are aligned so that slices broadcast as they would alone: dimensions of size 1 are put behind the batch dimension. A slice
/// without dimensions is weak in type promotion; with the batch dimension it is not, so it is cast before.
void call_aligned(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    check_self(op, arguments, level);
    ChangedArguments given(op, arguments);
    int most = 0;
    DType first = DType::None;
    bool mixed = false;
    each_tensor(op, arguments, [&](const TensorImpl* tensor) {
        most = std::max<int>(most, tensor->ndim);
        mixed |= first != DType::None && first != tensor->dtype;
        first = tensor->dtype;
    });
    const bool any = any_batched(op, arguments, level);
    {
        BelowVmap below(level);
        DType slices = DType::None, whole = DType::None;
        auto inner_of = [&](TensorImpl* tensor) {
            const Batch* batch = batch_at(tensor, level);
            return batch ? batch->inner : Tensor::share(tensor);
        };
        if (mixed) {
            ResultType of_slices, of_whole;
            each_tensor(op, arguments, [&](TensorImpl* tensor) { of_slices.add(*tensor), of_whole.add(*inner_of(tensor).impl()); });
            slices = of_slices.get(), whole = of_whole.get();
        }
        const bool self_stays = writes_self(op);
        int count = 0;
        given.each(op, [&](TensorImpl* tensor) {
            const Batch* batch = batch_at(tensor, level);
            const bool written = count++ == 0 && self_stays;
            if (!batch) return Tensor();
            Tensor inner = batch->inner;
            if (batch->batched)
                for (int d = tensor->ndim; d < most; d++) inner = unsqueeze(inner, 1);
            if (slices != whole && tensor->ndim == 0 && batch->batched && !written) inner = to(inner, slices);
            return inner;
        });
        call(op, given.values, results);
    }
    if (writes_self(op)) give_self(arguments, results);
    else wrap_results(op, results, level, any);
}

// ---- views

/// Whether an argument counts dimensions: PyTorch's schemas call these dim, dim0, dims, dimension.
bool is_dimension(const Argument& argument) { return argument.type == Type::Int && std::string_view(argument.name).substr(0, 3) == "dim"; }

/// The same view of the tensor behind, whose dimensions are one further back. False where that is not possible.
bool call_view(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    const TensorImpl* self = arguments[0].tensor;
    const Batch* batch = batch_at(self, level);
    if (!batch) return false;
    ChangedArguments given(op, arguments);
    const Schema& schema = *op.schema;
    if (batch->batched) {
        const int64_t places = self->ndim;
        auto shifted = [&](int64_t d) {
            if (d < -places || d >= places) return int64_t{-1};
            return (d < 0 ? d + places : d) + 1;
        };
        // No such dimension: an error of the operator's own; or a number, which passes for having one.
        auto refused_or_number = [&] {
            if (self->ndim == 0 && is_followed_below(Tensor::share(arguments[0].tensor))) return false;
            op.kernel(op, arguments, results);
            return true;
        };
        for (size_t i = 0; i < schema.arguments.size(); i++) {
            if (!is_dimension(schema.arguments[i])) continue;
            Value& v = given.values[i];
            if (v.tag == Value::Tag::Int) {
                if (shifted(v.integer) < 0) return refused_or_number();
                v = shifted(v.integer);
            } else if (v.tag == Value::Tag::IntList) {
                Sizes dims;
                for (uint32_t j = 0; j < v.size; j++) {
                    if (shifted(v.integers[j]) < 0) return refused_or_number();
                    dims.push_back(shifted(v.integers[j]));
                }
                given.set(i, dims);
            }
        }
    }
    given.set(0, batch->inner);
    call_below(op, given.values, results, level);
    wrap_results(op, results, level, batch->batched);
    if (!op.has(trait::NotDifferentiable)) {
        if (results[0].tag == Value::Tag::Tensor) tie_view(results[0].tensor, arguments[0].tensor);
        else if (results[0].tag == Value::Tag::TensorList) {
            for (uint32_t j = 0; j < results[0].size; j++) tie_view(results[0].tensors[j].impl(), arguments[0].tensor);
            boxed::mark_multiple(results[0]);
        }
    }
    return true;
}

// ---- slice by slice

void call_slices(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    check_self(op, arguments, level);
    const bool any = any_batched(op, arguments, level);
    const size_t count = op.schema->results.size();
    if (!any) {
        ChangedArguments given(op, arguments);
        given.each(op, [&](TensorImpl* tensor) {
            const Batch* batch = batch_at(tensor, level);
            return batch ? batch->inner : Tensor();
        });
        call_below(op, given.values, results, level);
        if (writes_self(op)) give_self(arguments, results);
        else wrap_results(op, results, level, false);
        return;
    }
    KINDLING_CHECK(Runtime, may_slice, "aten::%s hit the vmap fallback which is currently disabled", op.name());
    KINDLING_CHECK(Runtime, level->size > 0,
                   "Batching rule not implemented for aten::%s; the fallback path does not support vmap over dims of size 0.", op.name());
    for (const Argument& result : op.schema->results) {
        KINDLING_CHECK(Mapped, result.type != Type::Scalar,
                       "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on any Tensor, "
                       "please try to rewrite what you're "
                       "doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report.");
        KINDLING_CHECK(Mapped, result.type == Type::Tensor, "Batching rule not implemented for aten::%s. We could not generate a fallback.",
                       op.name());
    }
    if (warn_of_slices && warn)
        warn(format("There is a performance drop because we have not yet implemented the batching rule for aten::%s. Please file us an "
                    "issue on GitHub so that we can "
                    "prioritize its implementation.",
                    op.name())
                 .c_str());
    std::vector<Tensor> made[most_results]; // of each result: slice after slice; of a list: each member's
    size_t members[most_results] = {};
    bool is_list[most_results] = {};
    BelowVmap below(level);
    for (int64_t i = 0; i < level->size; i++) {
        ChangedArguments given(op, arguments);
        given.each(op, [&](TensorImpl* tensor) {
            const Batch* batch = batch_at(tensor, level);
            return !batch ? Tensor() : batch->batched ? select(batch->inner, 0, i) : batch->inner;
        });
        Value out[most_results];
        const TensorImpl* written = writes_self(op) ? given.values[0].tensor : nullptr;
        const Storage* storage = written ? written->storage : nullptr;
        const Sizes before = written ? Sizes(written->sizes()) : Sizes();
        call(op, given.values, out);
        if (written && (written->storage != storage || written->sizes() != IntList(before)))
            fail(ErrorKind::Mapped,
                 "vmap: aten::%s would give slices other memory or another shape than the tensor that is mapped over has", op.name());
        for (size_t r = 0; r < count; r++) {
            is_list[r] = out[r].tag == Value::Tag::TensorList;
            if (is_list[r]) {
                auto list = out[r].take_list();
                members[r] = list.size();
                for (Tensor& each : list) made[r].push_back(std::move(each));
            } else made[r].push_back(out[r].take_tensor());
        }
    }
    if (writes_self(op)) return give_self(arguments, results);
    auto joined = [&](const std::vector<Tensor>& all, size_t first, size_t step) {
        std::vector<Tensor> slices;
        for (size_t i = first; i < all.size(); i += step) slices.push_back(all[i]);
        if (!slices[0].defined()) return Tensor();
        for (const Tensor& each : slices)
            KINDLING_CHECK(Runtime, each.sizes() == slices[0].sizes(),
                           "vmap: aten::%s: the shape of its result depends on values, and slices of %s and of %s make no tensor",
                           op.name(), str(slices[0].sizes()).c_str(), str(each.sizes()).c_str());
        return make_batched(stack(slices, 0), share(level), true);
    };
    for (size_t r = 0; r < count; r++) {
        if (!is_list[r]) {
            results[r] = Value::own(joined(made[r], 0, 1));
            continue;
        }
        std::vector<Tensor> list;
        for (size_t m = 0; m < members[r]; m++) list.push_back(joined(made[r], m, members[r]));
        results[r] = Value::own(std::move(list));
    }
}

// ---- random numbers

void call_random(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    KINDLING_CHECK(Runtime, op.form != Form::Out,
                   "vmap: it looks like aten::%s is called with out=. Random functions cannot be mapped when calling out variants.",
                   op.name());
    KINDLING_CHECK(Runtime, level->randomness != Randomness::First,
                   "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of vmap "
                   "as a workaround");
    KINDLING_CHECK(Runtime, level->randomness != Randomness::Error,
                   "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
                   "flags on vmap or perform the "
                   "randomness operation out of vmap");
    const bool any = any_batched(op, arguments, level), inplace = writes_self(op);
    if (level->randomness == Randomness::Same) {
        if (!any) return call_slices(op, arguments, results, level);
        const Batch* self = inplace ? batch_at(arguments[0].tensor, level) : nullptr;
        int others = 0; // tensors beside the one that is written
        each_tensor(op, arguments, [&](const TensorImpl* tensor) {
            const Batch* batch = batch_at(tensor, level);
            others += tensor != arguments[0].tensor && batch && batch->batched;
        });
        KINDLING_CHECK(Runtime, inplace ? self && !others : op.tensor_count == 1 && op.dtype_position != 0xff,
                       "Vmap does not currently support same randomness with a batched tensor input");
        ChangedArguments given(op, arguments);
        BelowVmap below(level);
        Value drawn;
        if (inplace) {
            Tensor numbers = empty_like(select(self->inner, 0, 0));
            given.each(op, [&](const TensorImpl* tensor) {
                const Batch* batch = batch_at(tensor, level);
                return batch ? batch->inner : Tensor();
            });
            given.set(0, numbers);
            call(op, given.values, &drawn);
            drawn.discard();
            copy_(self->inner, numbers);
            return give_self(arguments, results);
        }
        given.each(op, [&](TensorImpl* tensor) { return select(batch_at(tensor, level)->inner, 0, 0); });
        return call(op, given.values, results);
    }
    if (inplace) {
        check_self(op, arguments, level);
        const Batch* self = batch_at(arguments[0].tensor, level);
        KINDLING_CHECK(
            Runtime, self && self->batched,
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If "
            "this is necessary for your usage, please file an issue with functorch.");
        return call_aligned(op, arguments, results, level);
    }
    const int size = op.schema->find("size", 4);
    if (size >= 0 && arguments[size].tag == Value::Tag::IntList) {
        ChangedArguments given(op, arguments);
        Sizes sizes{level->size};
        for (uint32_t j = 0; j < arguments[size].size; j++) sizes.push_back(arguments[size].integers[j]);
        given.set(static_cast<size_t>(size), sizes);
        call_below(op, given.values, results, level);
        return wrap_results(op, results, level, true);
    }
    // The first tensor gets the batch dimension, if none has it: each slice draws numbers of its own.
    ChangedArguments given(op, arguments);
    if (!any && op.tensor_count) {
        const TensorImpl* first = arguments[op.tensor_positions[0]].tensor;
        const Batch* batch = batch_at(first, level);
        Tensor inner = batch ? batch->inner : Tensor::share(const_cast<TensorImpl*>(first));
        Sizes sizes{level->size};
        for (int64_t each : inner.sizes()) sizes.push_back(each);
        BelowVmap below(level);
        given.set(op.tensor_positions[0], make_batched(expand(inner, sizes), share(level), true));
    }
    if (op.has(trait::Broadcasts)) return call_aligned(op, given.values, results, level);
    if (op.functional->batch) return op.functional->batch(op, given.values, results);
    if (op.tensor_count) return call_slices(op, given.values, results, level);
    std::vector<Tensor> slices;
    {
        BelowVmap below(level);
        for (int64_t i = 0; i < level->size; i++) {
            Value drawn;
            call(op, given.values, &drawn);
            slices.push_back(drawn.take_tensor());
        }
        slices = {stack(slices, 0)};
    }
    results[0] = Value::own(make_batched(std::move(slices[0]), share(level), true));
}

// ---- graphs of levels below

/// Whether plain tensors of memory are what lies below all levels.
bool plain_below(const Operator& op, const Value* arguments) {
    constexpr uint32_t seen = key::slow & ~static_cast<uint32_t>(key::Autograd | key::Conj | key::Neg | key::Wrapped | key::Meta |
                                                                 key::Made | key::Autocast | key::Profile);
    if (thread_state.include & ~thread_state.exclude & key::Mode) return false;
    return !any_tensor(op, arguments, [](const TensorImpl* tensor) {
        uint32_t below = batch_behind(tensor) ? 0 : key_of(tensor);
        while (const Batch* batch = batch_behind(tensor)) tensor = batch->inner.impl(), below |= key_of(tensor);
        return (below & seen) != 0;
    });
}

bool recorded_below(const Operator& op, Value* arguments, Value* results) {
    BatchLevel* levels[most_levels];
    std::vector<TensorImpl*> tensors;
    each_tensor(op, arguments, [&](TensorImpl* tensor) { tensors.push_back(tensor); });
    const int above = levels_above_graph(std::move(tensors), levels);
    if (above) record_batched(op, arguments, results, Span<BatchLevel*>(levels, static_cast<size_t>(above)));
    return above;
}

void call_kernel(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    if (!plain_below(op, arguments)) return call_slices(op, arguments, results, level);
    if (!recorded_below(op, arguments, results) && !run_kernel_batched(op, arguments, results)) call_slices(op, arguments, results, level);
}

/// In place, of what has no kernel for that: the result is computed apart, and copied.
void call_inplace(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    check_self(op, arguments, level);
    Value made;
    call(*op.functional, arguments, &made);
    Tensor result = made.take_tensor(), self = Tensor::share(arguments[0].tensor);
    if (op.body == Body::View) { // transpose_ and its kin: the header changes, the memory does not
        TensorImpl *changed = self.impl(), *view = result.impl();
        changed->set_shape(result.sizes(), result.strides());
        changed->offset = view->offset;
        std::swap(changed->storage, view->storage);
        return give_self(arguments, results);
    }
    check_computed(op, self, result.dtype(), result.sizes());
    copy_(self, result);
    give_self(arguments, results);
}

/// Parts may write a batched tensor into memory that they made for all slices alike, or look at values: then there is no way but slice
/// by slice.
void call_parts(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    if (!op.composite && op.form == Form::Functional && recorded_below(op, arguments, results)) return;
    try {
        return op.kernel(op, arguments, results);
    } catch (const Error& error) {
        // The graph of this level sees parts only: there it is an error.
        const bool recorded = op.composite && thread_state.grad_mode &&
                              any_tensor(op, arguments, [&](const TensorImpl* tensor) { return (key_of(tensor) & key::Autograd) != 0; });
        if (error.kind() != ErrorKind::Mapped || op.form != Form::Functional || recorded) throw;
    }
    for (size_t r = 0; r < op.schema->results.size(); r++) results[r].discard();
    call_slices(op, arguments, results, level);
}

void call_rule(const Operator& op, Value* arguments, Value* results, BatchLevel* level) {
    try {
        return op.functional->batch(op, arguments, results);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Mapped) throw;
    }
    call_slices(op, arguments, results, level);
}

/// Which way calls of an operator go.
enum class Way : uint8_t { Rule, Aligned, Parts, View, Kernel, Slices };
Way way_of(const Operator& home) {
    if (home.batch) return Way::Rule;
    if (home.has(trait::Broadcasts) || home.body == Body::Pointwise) return Way::Aligned;
    if (home.body == Body::View) return Way::View;
    // What looks at values, or into sparse tensors, needs memory of each slice.
    const bool looks = home.has(trait::BySlices | trait::TakesSparse) && !home.composite;
    if (home.body == Body::Composition) return looks ? Way::Slices : Way::Parts;
    return home.rule && !home.measure ? Way::Kernel : Way::Slices;
}

} // namespace

bool call_batched(const Operator& op, Value* arguments, Value* results) {
    BatchLevel *level = newest_level(op, arguments), *open = thread_state.levels;
    const Way way = way_of(*op.functional);
    if (open && op.has(trait::Random) && !(way == Way::Parts && op.composite) && (!level || level->id <= open->id)) {
        call_random(op, arguments, results, open);
        return true;
    }
    if (!level) return false;
    KINDLING_CHECK(Runtime, op.form != Form::Out,
                   "Batching rule not implemented for aten::%s; the fallback path doesn't work on out= or view ops.", op.name());
    if (op.form == Form::Inplace && op.functional != &op && way != Way::Aligned) call_inplace(op, arguments, results, level);
    else if (way == Way::Rule) call_rule(op, arguments, results, level);
    else if (way == Way::Aligned) call_aligned(op, arguments, results, level);
    else if (way == Way::Parts) call_parts(op, arguments, results, level);
    else if (way == Way::View && call_view(op, arguments, results, level)) return true;
    else if (way == Way::Kernel) call_kernel(op, arguments, results, level);
    else call_slices(op, arguments, results, level);
    return true;
}

bool call_lifted(const Operator& op, Value* arguments, Value* results) {
    BatchLevel* level = newest_level(op, arguments);
    if (!level) return false;
    bool any = false;
    auto below = [&](const TensorImpl* tensor) { return (key_of(tensor) & (key::Autograd | key::Dual)) && !batch_at(tensor, level); };
    each_tensor(op, arguments, [&](const TensorImpl* tensor) { any |= below(tensor); });
    if (!any) return false;
    ChangedArguments given(op, arguments);
    given.each(op, [&](TensorImpl* tensor) { return below(tensor) ? make_batched(Tensor::share(tensor), share(level), false) : Tensor(); });
    call(op, given.values, results);
    for (size_t r = 0; r < op.schema->results.size(); r++) // what was written in place is handed back as it came
        if (results[r].tag == Value::Tag::Tensor)
            for (size_t i = 0; i < op.argument_count(); i++)
                if (given.values[i].tag == Value::Tag::Tensor && given.values[i].tensor == results[r].tensor &&
                    arguments[i].tensor != results[r].tensor) {
                    results[r].discard();
                    results[r] = Value::own(Tensor::share(arguments[i].tensor));
                }
    return true;
}

} // namespace kindling
