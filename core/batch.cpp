// core/batch.cpp: headers of batched tensors, and the levels that are open in this thread.
// Compiled for size.
#include "core/batch.h"

#include <atomic>

#include "core/error.h"
#include "core/thread_state.h"

namespace kindling {

void fail_batched() {
    fail(ErrorKind::Mapped,
         "vmap: cannot access the memory of a Tensor that is mapped over: what is done with it is done to all slices at once");
}

uint64_t BatchLevel::next_id() {
    static constinit std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// A storage without memory that owns `batch`. It has as many bytes as what it stands for, which checks of views ask for.
static Ref<Storage> storage_of(Batch batch) {
    const size_t bytes = batch.inner.storage()->bytes;
    const Device device = batch.inner.device();
    return Storage::adopt(
        nullptr, bytes, [](void* context, void*, size_t) { delete static_cast<Batch*>(context); }, new Batch(std::move(batch)), device);
}

Tensor make_batched(Tensor inner, Ref<BatchLevel> level, bool batched) {
    const TensorImpl* from = inner.impl();
    KINDLING_ASSERT(!batched || from->ndim > 0);
    KINDLING_CHECK(NotImplemented, from->layout == Layout::Strided, "vmap: tensors that are not strided cannot be mapped over");
    auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
    const size_t lead = batched ? 1 : 0, left = from->ndim - lead;
    impl->dtype = from->dtype;
    impl->set_shape(IntList(from->shape + lead, left), IntList(from->shape + from->ndim + lead, left));
    impl->key = key::Wrapped;
    impl->device = from->device;
    impl->offset = from->offset;
    impl->wrapped_number = from->wrapped_number && !batched;
    impl->inference = from->inference;
    impl->uncounted = from->uncounted;
    impl->share_version(from);
    impl->storage = storage_of({std::move(inner), std::move(level), batched}).take();
    return Tensor(std::move(impl));
}

Tensor view_batched(const Tensor& source, IntList sizes, IntList strides, int64_t offset, DType dtype) {
    const Batch& batch = *batch_behind(source);
    const Tensor& inner = batch.inner;
    Tensor whole;
    if (batch.batched) {
        Sizes all{inner.size(0)},
            steps{inner.stride(0) * static_cast<int64_t>(inner.element_size()) / static_cast<int64_t>(item_size(dtype))};
        for (int64_t size : sizes) all.push_back(size);
        for (int64_t stride : strides) steps.push_back(stride);
        whole = make_view(inner, all, steps, offset, dtype);
    } else whole = make_view(inner, sizes, strides, offset, dtype);
    Tensor view = make_batched(std::move(whole), batch.level, batch.batched);
    tie_view(view.impl(), source.impl());
    return view;
}

bool is_followed_below(const Tensor& tensor) {
    const Batch* batch = batch_behind(tensor);
    return batch && is_followed(batch->inner);
}

Tensor make_tensor_like(const Tensor& like, IntList sizes, IntList strides, DType dtype) {
    if (dtype == DType::None) dtype = like.dtype();
    const Batch* batch = batch_behind(like);
    if (!batch) return make_tensor(sizes, strides, dtype, like.device());
    if (!batch->batched) return make_batched(make_tensor_like(batch->inner, sizes, strides, dtype), batch->level, false);
    int64_t extent = 1;
    for (size_t d = 0; d < sizes.size(); d++) extent += (sizes[d] > 1 ? sizes[d] - 1 : 0) * strides[d];
    Sizes all{batch->level->size}, steps{extent};
    for (size_t d = 0; d < sizes.size(); d++) all.push_back(sizes[d]), steps.push_back(strides[d]);
    return make_batched(make_tensor_like(batch->inner, all, steps, dtype), batch->level);
}

BatchLevel* newest_level(const Operator& op, const Value* arguments) {
    BatchLevel* newest = nullptr;
    each_tensor(op, arguments, [&](const TensorImpl* tensor) {
        if (Batch* batch = batch_behind(tensor); batch && (!newest || batch->level->id > newest->id)) newest = batch->level.get();
    });
    return newest;
}

BelowVmap::BelowVmap(const BatchLevel* level)
    : exclude_(thread_state.exclude), include_(thread_state.include), levels_(thread_state.levels), transforms_(thread_state.transforms) {
    if (!thread_state.inference_mode) thread_state.exclude &= ~static_cast<uint32_t>(key::Autograd);
    if (level->open) thread_state.levels = level->outer, thread_state.transforms = level->depth - 1;
    if (!thread_state.levels) thread_state.include &= ~static_cast<uint32_t>(key::Wrapped);
}

BelowVmap::~BelowVmap() {
    thread_state.exclude = exclude_;
    thread_state.include = include_;
    thread_state.levels = levels_;
    thread_state.transforms = transforms_;
}

bool inside_transform() {
    bool found = thread_state.grads;
    for (const BatchLevel* level = thread_state.levels; level && !found; level = level->outer)
        found = level->randomness != Randomness::First;
    return found;
}

void open_level(Ref<BatchLevel> level) {
    level->outer = thread_state.levels;
    level->depth = ++thread_state.transforms;
    thread_state.levels = level.take();
    thread_state.include |= key::Wrapped;
}

void close_level() {
    BatchLevel* level = thread_state.levels;
    KINDLING_CHECK(Runtime, level, "vmap: no level is open");
    thread_state.levels = level->outer;
    thread_state.transforms = level->depth - 1;
    level->outer = nullptr;
    level->open = false;
    if (!thread_state.levels) thread_state.include &= ~static_cast<uint32_t>(key::Wrapped);
    release(level);
}

void open_level(GradLevel::Kind kind) {
    static constinit std::atomic<uint32_t> last{0};
    const bool follows = kind != GradLevel::Kind::Functionalize;
    const uint32_t id = follows ? last.fetch_add(1, std::memory_order_relaxed) + 1 : open_grad;
    thread_state.grads = new GradLevel{kind, id, thread_state.transforms + 1, thread_state.grad_mode, thread_state.grads};
    thread_state.transforms++;
    open_grad = id;
}

void close_grad_level() {
    GradLevel* level = thread_state.grads;
    KINDLING_CHECK(Runtime, level, "no transform is open");
    thread_state.grads = level->outer;
    thread_state.transforms = level->depth - 1;
    open_grad = level->outer ? level->outer->id : 0;
    delete level;
}

void check_not_captured(const TensorImpl* written, const Operator& op) {
    KINDLING_CHECK(
        Runtime, written->born >= open_grad,
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (aten::%s%s%s) that "
        "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly accept the "
        "mutated Tensor(s) as inputs.",
        op.name(), *op.overload() ? "." : "", op.overload());
}

} // namespace kindling
