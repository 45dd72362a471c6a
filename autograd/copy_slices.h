// autograd/copy_slices.h: the history of a base that was written to through a view.
#pragma once
#include "autograd/node.h"

#pragma GCC visibility push(default)
namespace kindling {

/// Where a view lies in its base; enough to look at any memory of the base's layout in the same way.
struct ViewGeometry {
    Sizes sizes, strides;
    int64_t offset = 0; // from the base's first element, in elements of the view
    DType dtype = DType::None;
    uint32_t lazy = 0; // conj and neg bits the view adds
    ViewGeometry(const TensorImpl* base, const TensorImpl* view);
    /// The same view of `root`, recorded like any call.
    Tensor of(const Tensor& root) const;
};

struct CopySlices final : GradNode {
    Sizes base_sizes, base_strides;
    DType base_dtype;
    ViewGeometry view;
    Ref<GradNode> write; // the node of the in-place operation on the view
    CopySlices(TensorImpl* base, TensorImpl* view, Ref<GradNode> write);
    const char* name() const override { return "torch::autograd::CopySlices"; }
    void apply(Backward& backward) override;
    void release_saved() override { write = nullptr; }
    GradNode* written_view = nullptr; // the node that the view got by this write, while it lives
    void remember_view(GradNode* node);
    Ref<GradNode> view_node() const;
};

/// The node of `view` as a view of what `base` is now.
Ref<GradNode> replay_node(TensorImpl* view, TensorImpl* base);

} // namespace kindling
#pragma GCC visibility pop
