// operators/kernel_batched.cpp: kernels in two halves, for all slices of batched tensors: a loop has more dimensions, a computing half
// is called for one slice after another. Whatever levels there are count at once.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/batching.h"
#include "operators/forms.h"
#include "operators/kernel_run.h"

namespace kindling {

namespace {

/// The levels that arguments are batched at, oldest first: as their dimensions lie in memory.
struct Levels {
    std::vector<BatchLevel*> each, seen; // seen: also those at which no argument has a dimension
    Sizes sizes;
    void collect(const TensorImpl* tensor) {
        auto add = [](std::vector<BatchLevel*>& list, BatchLevel* level) {
            auto at = list.begin();
            while (at != list.end() && (*at)->id < level->id) at++;
            if (at == list.end() || *at != level) list.insert(at, level);
        };
        for (const Batch* batch = batch_behind(tensor); batch; batch = batch_behind(batch->inner.impl())) {
            add(seen, batch->level.get());
            if (batch->batched) add(each, batch->level.get());
        }
    }
    bool batched(const BatchLevel* level) const {
        for (const BatchLevel* one : each)
            if (one == level) return true;
        return false;
    }
};

/// The tensor with memory behind a batched one, and its stride from slice to slice at each level, in elements: 0 at a level where it
/// has no batch dimension.
struct Spread {
    Tensor all;
    Sizes steps, slice_sizes, slice_strides;
    size_t lead = 0;      // how many batch dimensions `all` has, in front
    std::vector<int> has; // the level of each

    Spread(const TensorImpl* tensor, const Levels& levels) {
        all = Tensor::share(const_cast<TensorImpl*>(tensor));
        std::vector<const BatchLevel*> batched;
        while (const Batch* batch = batch_behind(all)) {
            if (batch->batched) batched.push_back(batch->level.get());
            all = Tensor(batch->inner);
        }
        for (size_t l = 0; l < levels.each.size(); l++)
            for (const BatchLevel* level : batched)
                if (level == levels.each[l]) has.push_back(static_cast<int>(l));
        lead = has.size();
        measure(levels.each.size());
    }
    void measure(size_t levels) {
        steps = Sizes(levels, 0);
        for (size_t d = 0; d < lead; d++) steps[static_cast<size_t>(has[d])] = all.strides()[d];
        slice_sizes.clear(), slice_strides.clear();
        for (size_t d = lead; d < static_cast<size_t>(all.dim()); d++)
            slice_sizes.push_back(all.sizes()[d]), slice_strides.push_back(all.strides()[d]);
    }
    /// The header of the first slice; its offset is moved from slice to slice.
    Tensor slice() const { return untied(make_view(all, slice_sizes, slice_strides, all.storage_offset())); }
    /// All slices: a dimension for every level (of stride 0 where there is none), then `rank` dimensions of a slice.
    Tensor over(const Levels& levels, size_t rank) const {
        Sizes sizes = levels.sizes, strides = steps;
        for (size_t d = slice_sizes.size(); d < rank; d++) sizes.push_back(1), strides.push_back(0);
        for (size_t d = 0; d < slice_sizes.size(); d++) sizes.push_back(slice_sizes[d]), strides.push_back(slice_strides[d]);
        return untied(make_view(all, sizes, strides, all.storage_offset()));
    }
};

/// A fresh result of all slices, laid out as the rule says for one.
Tensor make_all(const KernelCall::Result& result, const Levels& levels, DType dtype, bool in_rows, Device device) {
    Sizes sizes = levels.sizes;
    for (int64_t size : result.sizes) sizes.push_back(size);
    if (in_rows) return make_tensor(sizes, dtype, device);
    int64_t extent = 1;
    for (size_t d = 0; d < result.sizes.size(); d++) extent += (std::max<int64_t>(result.sizes[d], 1) - 1) * result.strides[d];
    Sizes strides(levels.sizes.size());
    for (size_t l = strides.size(); l-- > 0; extent *= std::max<int64_t>(levels.sizes[l], 1)) strides[l] = extent;
    for (int64_t stride : result.strides) strides.push_back(stride);
    return make_tensor(sizes, strides, dtype, device);
}

void run_loop_all(const Operator& op, KernelCall& call, Tensor* results, const Levels& levels) {
    const size_t count = levels.each.size(), rank = call.space.size();
    for (int i = 0; i < call.read_count; i++)
        if (KernelCall::Read& read = call.input(i); read.tensor) replace(read, Spread(read.tensor, levels).over(levels, rank));
    Sizes space = levels.sizes;
    for (int64_t size : call.space) space.push_back(size);
    call.space = space;
    Tensor places[KernelCall::max_results]; // a slice may have fewer dimensions than the loop has
    for (int i = 0; i < call.result_count; i++) {
        places[i] = results[i];
        const Tensor& result = results[i];
        if (call.result(i).reduced || static_cast<size_t>(result.dim()) >= space.size()) continue;
        Sizes sizes, strides;
        for (size_t d = 0; d < count; d++) sizes.push_back(result.sizes()[d]), strides.push_back(result.strides()[d]);
        while (sizes.size() + static_cast<size_t>(result.dim()) - count < space.size()) sizes.push_back(1), strides.push_back(0);
        for (size_t d = count; d < static_cast<size_t>(result.dim()); d++)
            sizes.push_back(result.sizes()[d]), strides.push_back(result.strides()[d]);
        places[i] = make_view(result, sizes, strides, result.storage_offset());
    }
    call.dims <<= count;
    call.scan_dim += static_cast<int>(count);
    run_loop_body(op, call, places);
}

/// The computing half, for one slice after another: headers and memory for it are made once.
void run_compute_all(const Operator& op, KernelCall& call, Tensor* results, const Levels& levels) {
    bool empty = !call.if_empty;
    for (int i = 0; i < call.result_count; i++) empty &= !results[i].defined() || results[i].numel() == 0;
    int64_t slices = 1;
    for (int64_t size : levels.sizes) slices *= size;
    if (empty || !slices) return;
    struct Moving {
        Tensor header;
        Sizes steps;
        int64_t start;
    };
    std::vector<Moving> moving;
    auto array_of = [&](const Spread& spread) {
        moving.push_back({spread.slice(), spread.steps, spread.all.storage_offset()});
        return Array(moving.back().header.impl());
    };
    Array arrays[KernelCall::max_reads + 2 * KernelCall::max_results];
    int count = 0;
    int64_t work = call.cost;
    for (int i = 0; i < call.read_count; i++, count++) {
        KernelCall::Read& read = call.input(i);
        if (!read.tensor) continue;
        Spread spread(read.tensor, levels);
        const int64_t slice_numel = read.tensor->numel;
        replace(read, std::move(spread.all));
        prepare(read);
        spread.all = Tensor::share(read.tensor);
        spread.measure(levels.each.size());
        arrays[count] = array_of(spread); // of a view, with a pending conjugation if it has one
        if (!call.cost) work = std::max(work, slice_numel);
    }
    Tensor apart[KernelCall::max_results];
    for (int i = 0; i < call.result_count; i++, count++) {
        const KernelCall::Result& result = call.result(i);
        if (result.on_the_way) count++; // the copy is made below
        if (!results[i].defined()) continue;
        const DType computed = result.computed == DType::None ? result.dtype : result.computed;
        const bool lies_so = result.exact || result.any_strides || result.in_rows;
        if (computed != result.dtype || !lies_so) apart[i] = make_all(result, levels, computed, !result.exact, {});
        const Tensor& target = apart[i].defined() ? apart[i] : results[i];
        if (result.begins.defined() && target.numel())
            copy_into(target, Spread(result.begins.impl(), levels).over(levels, result.sizes.size()));
        if (result.zeros && target.numel()) fill_(target, Scalar(0));
        Sizes steps, sizes, strides;
        for (size_t d = 0; d < static_cast<size_t>(target.dim()); d++)
            if (d < levels.each.size()) steps.push_back(target.strides()[d]);
            else sizes.push_back(target.sizes()[d]), strides.push_back(target.strides()[d]);
        moving.push_back({untied(make_view(target, sizes, strides, target.storage_offset())), steps, target.storage_offset()});
        arrays[count] = Array(moving.back().header.impl());
        if (!call.cost) work = std::max(work, moving.back().header.numel());
    }
    std::vector<Array> list;
    for (const Tensor& each : call.list) list.push_back(array_of(Spread(each.impl(), levels)));
    Tensor memory;
    if (call.workspace) memory = make_tensor({call.workspace}, DType::UInt8);
    {
        Unlocked unlocked(work * slices > long_work);
        Sizes at(levels.sizes.size(), 0);
        for (int64_t slice = 0; slice < slices; slice++) {
            for (Moving& each : moving) {
                int64_t offset = each.start;
                for (size_t l = 0; l < at.size(); l++) offset += at[l] * each.steps[l];
                each.header.impl()->offset = offset;
            }
            op.functional->compute(call.plan(), arrays, Span<Array>(list), memory.defined() ? memory.data() : nullptr);
            for (size_t l = at.size(); l-- > 0 && ++at[l] == levels.sizes[l];) at[l] = 0;
        }
    }
    for (int i = 0; i < call.result_count; i++)
        if (apart[i].defined()) copy_into(results[i], apart[i]);
}

} // namespace

bool run_kernel_batched(const Operator& op, Value* arguments, Value* results) {
    KernelCall call(arguments, op.argument_count());
    apply_rule(op, arguments, call);
    for (int i = 0; i < call.result_count; i++)
        if (call.result(i).target) return false;
    if (call.declined) return false; // what runs instead may reach for memory
    Levels levels;
    each_tensor(op, arguments, [&](const TensorImpl* tensor) { levels.collect(tensor); });
    for (const BatchLevel* level : levels.each) levels.sizes.push_back(level->size);
    Tensor made[KernelCall::max_results];
    for (int i = 0; i < call.result_count; i++)
        if (const KernelCall::Result& result = call.result(i); result.dtype != DType::None)
            made[i] = make_all(result, levels, result.dtype, result.in_rows, call.device);
    if (!call.on_meta()) {
        if (op.functional->loop != LoopKind::None) run_loop_all(op, call, made, levels);
        else run_compute_all(op, call, made, levels);
    }
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        Tensor result = r < static_cast<size_t>(call.result_count) ? std::move(made[r]) : Tensor();
        for (BatchLevel* level : levels.seen)
            if (result.defined()) result = make_batched(std::move(result), Ref<BatchLevel>::share(level), levels.batched(level));
        results[r] = Value::own(std::move(result));
    }
    return true;
}

} // namespace kindling
