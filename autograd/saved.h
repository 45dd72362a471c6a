// autograd/saved.h: a tensor kept for backward. There is no other way to keep one.
#pragma once
#include "autograd/node.h"

#pragma GCC visibility push(default)
namespace kindling {

/// What saved_tensors_hooks made of a value; bindings wrap the Python pair.
struct PackedTensor {
    virtual ~PackedTensor() = default;
    virtual Tensor unpack() = 0;
    virtual void* python() { return nullptr; }
};
/// Packs `tensor` with the innermost hooks in force; set by bindings.
extern PackedTensor* (*pack_saved)(const Tensor& tensor);

class SavedTensor {
public:
    SavedTensor() = default;
    /// `is_output`: a result of the node that keeps it, held so that node and result do not hold each other.
    SavedTensor(const Tensor& tensor, bool is_output);
    SavedTensor(SavedTensor&&) = default;
    SavedTensor& operator=(SavedTensor&&) = default;

    /// The value, with its history if `history` (create_graph, or handed to Python); `node` is who saved it, `slices` what
    /// runs it if it wrote to a view. Checks the version.
    Tensor unpack(const Ref<GradNode>& node, bool history, const CopySlices* slices = nullptr) const;
    bool defined() const { return data_.defined() || packed_; }
    void reset() {
        data_.reset();
        packed_.reset();
        grad_fn_ = nullptr;
    }
    /// The tensor as it is kept, for garbage collection. Undefined when packed.
    const Tensor& kept() const { return data_; }
    void* python() const { return packed_ ? packed_->python() : nullptr; }
    /// Replaces what is kept by what these hooks pack (the raw saved tensor's register_hooks).
    void repack(std::shared_ptr<PackedTensor> (*pack)(void* context, const Tensor& tensor), void* context);
    bool is_packed() const { return static_cast<bool>(packed_); }

private:
    const Tensor* leaf() const; // the leaf that was packed, or null
    Tensor with_history(const Tensor& value, const Ref<GradNode>& node, const CopySlices* slices) const;

    Tensor data_;
    Ref<GradNode> grad_fn_; // a packed input's history; the accumulator, of a leaf
    std::shared_ptr<PackedTensor> packed_;
    uint32_t version_ = 0, output_ = 0;
    bool is_output_ = false, requires_grad_ = false;
    bool recorded_ = false; // it had a node when it was saved
};

[[noreturn]] void fail_released();

} // namespace kindling
#pragma GCC visibility pop
