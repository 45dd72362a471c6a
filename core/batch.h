// core/batch.h: batched tensors, what torch.vmap hands to the function that it maps.
//
// A batched tensor's header shows one slice: its sizes, its strides, no memory. Its storage owns the tensor of all slices, which has
// the batch dimension in front. That one may be batched itself, by a vmap around this one.
#pragma once
#include "core/dispatch.h"
#include "core/tensor.h"

namespace KINDLING_VISIBLE kindling {

enum class Randomness : uint8_t {
    Error,
    Different,
    Same,
    First, // of the first form of vmap (torch._vmap_internals): Error, and no transform of torch.func
};

/// One use of vmap.
struct BatchLevel : RefCounted {
    uint64_t id;   // increases from level to level: an inner vmap has a higher one than those around it
    int64_t size;  // how many slices
    int depth = 1; // as PyTorch numbers it: 1 is the outermost transform of any kind
    Randomness randomness = Randomness::Error;
    bool open = true;            // the mapped function still runs
    BatchLevel* outer = nullptr; // while it is open
    explicit BatchLevel(int64_t slices) : id(next_id()), size(slices) {}
    /// A new id, higher than all others. Backward does this to a vmap that has ended: its saved tensors wrap gradients that may be
    /// batched by a later vmap.
    void renew() { id = next_id(); }
    static uint64_t next_id();
};
inline void release(BatchLevel* level) {
    if (level->drop()) delete level;
}

/// One use of another transform. It wraps no tensors: what is made while it is open carries its id (TensorImpl::born), so that a write
/// to an older tensor can be told from one to its own.
struct GradLevel {
    enum class Kind : uint8_t { Grad, Jvp, Functionalize } kind;
    uint32_t id; // increases; of Functionalize: that of the level around it
    int depth;
    bool grad_mode; // whether graphs were recorded around it
    GradLevel* outer;
};
void open_level(GradLevel::Kind kind);
/// Closes the newest one.
void close_grad_level();
/// Refuses to write what is followed to a tensor that is older than the innermost open level: nobody would follow it there.
void check_not_captured(const TensorImpl* written, const Operator& op);

struct Batch {
    Tensor inner;
    Ref<BatchLevel> level;
    bool batched; // false: no batch dimension; a constant at this level
};

/// Null of a tensor that is not batched.
inline Batch* batch_behind(const TensorImpl* impl) {
    return impl->key & key::Wrapped ? static_cast<Batch*>(impl->storage->context) : nullptr;
}
inline Batch* batch_behind(const Tensor& tensor) { return tensor.defined() ? batch_behind(tensor.impl()) : nullptr; }
/// The batch of a tensor at just this level, or null.
inline Batch* batch_at(const TensorImpl* impl, const BatchLevel* level) {
    Batch* batch = batch_behind(impl);
    return batch && batch->level.get() == level ? batch : nullptr;
}

/// The tensor of all slices, below all levels; another tensor as it is.
inline Tensor all_slices(Tensor tensor) {
    while (const Batch* batch = batch_behind(tensor)) tensor = Tensor(batch->inner);
    return tensor;
}

/// Whether a bool tensor is true anywhere, or everywhere, over all slices: for checks of values in compositions, whose outcome must
/// be one for all slices.
bool true_for_any(const Tensor& truth);
bool true_for_all(const Tensor& truth);

/// `inner`, with the batch dimension in front (if `batched`), as one slice of it.
Tensor make_batched(Tensor inner, Ref<BatchLevel> level, bool batched = true);
/// make_view of one: the same view of every slice.
Tensor view_batched(const Tensor& source, IntList sizes, IntList strides, int64_t offset, DType dtype);
/// Fresh memory of these sizes and strides, with a batch dimension wherever `like` has one.
Tensor make_tensor_like(const Tensor& like, IntList sizes, IntList strides, DType dtype = DType::None);
/// The newest level among the tensors' headers, or null.
BatchLevel* newest_level(const Operator& op, const Value* arguments);

/// Whether a transform of torch.func is open: of vmaps all but those of the first form.
bool inside_transform();

/// What runs in its scope belongs to the levels below `level`.
class BelowVmap {
public:
    explicit BelowVmap(const BatchLevel* level);
    ~BelowVmap();
    BelowVmap(const BelowVmap&) = delete;

private:
    uint32_t exclude_, include_;
    BatchLevel* levels_;
    int transforms_;
};
/// Opens and closes levels of this thread (vmap calls them).
void open_level(Ref<BatchLevel> level);
void close_level();

/// operators/batching.cpp: serves a call with batched tensors, or one that draws numbers while a function is mapped. False: the call
/// is neither.
bool call_batched(const Operator& op, Value* arguments, Value* results);
/// At the newest level, a tensor that requires grad or has a tangent at a lower level is a constant. If there is one among the
/// arguments, the operator is called with it as a batched tensor without a batch dimension; else the result is false.
bool call_lifted(const Operator& op, Value* arguments, Value* results);

} // namespace kindling
