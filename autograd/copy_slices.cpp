// autograd/copy_slices.cpp: the node of a write through a view, and the nodes of views made again.
// Compiled for size.
#include "autograd/copy_slices.h"

#include "autograd/meta.h"
#include "autograd/ops.h"
#include "autograd/saved.h"
#include "core/batch.h"
#include "core/shape.h"

namespace kindling {

ViewGeometry::ViewGeometry(const TensorImpl* base, const TensorImpl* view)
    : sizes(view->sizes()), strides(view->strides()), dtype(view->dtype), lazy((view->key ^ base->key) & key::lazy) {
    int64_t bytes =
        view->offset * static_cast<int64_t>(item_size(view->dtype)) - base->offset * static_cast<int64_t>(item_size(base->dtype));
    offset = bytes / static_cast<int64_t>(item_size(view->dtype));
}

Tensor ViewGeometry::of(const Tensor& root) const {
    static constinit NamedOperator view_as_real{"view_as_real", ""}, view_as_complex{"view_as_complex", ""}, conj{"_conj", ""},
        neg{"_neg_view", ""};
    Tensor t = root;
    int64_t root_offset = root.storage_offset();
    if (t.is_complex() && !is_complex(dtype)) {
        t = tape::as_strided(call_named(view_as_real, t), sizes, strides, 2 * root_offset + offset);
    } else if (!t.is_complex() && is_complex(dtype)) {
        Sizes pair_sizes(sizes), pair_strides(strides);
        for (auto& stride : pair_strides) stride *= 2;
        pair_sizes.push_back(2);
        pair_strides.push_back(1);
        t = call_named(view_as_complex, tape::as_strided(t, pair_sizes, pair_strides, root_offset + 2 * offset));
    } else {
        KINDLING_CHECK(Runtime, t.dtype() == dtype,
                       "the history of a view as another dtype can't be made anew after an in-place "
                       "write to its base");
        t = tape::as_strided(t, sizes, strides, root_offset + offset);
    }
    if (lazy & key::Conj) t = call_named(conj, t);
    if (lazy & key::Neg) t = call_named(neg, t);
    return t;
}

/// The node of `geometry` as a view of `base`, recorded whatever the thread's state.
static Ref<GradNode> node_of_view(const ViewGeometry& geometry, const Tensor& base) {
    Recorded recorded;
    Tensor fresh = geometry.of(base);
    return fresh.impl()->autograd ? fresh.impl()->autograd->grad_fn : Ref<GradNode>();
}

/// The history of a view whose base no longer has one, or no room for what the view was given as `data`. It is no leaf for all that.
struct NowhereNode final : GradNode {
    NowhereNode() : GradNode(Kind::Other) {}
    const char* name() const override { return "AsStridedBackward0"; }
    void apply(Backward&) override {
        KINDLING_CHECK(Runtime, !edges[0].node,
                       "the history of a view that was given other data, for which its base has no room, can't be made anew after an "
                       "in-place write to its base");
    }
};

Ref<GradNode> replay_node(TensorImpl* view, TensorImpl* base) {
    ViewGeometry geometry(base, view);
    const bool room = checked_bytes(geometry.sizes, geometry.strides, view->offset, item_size(view->dtype)) <= base->storage->bytes;
    if (room && (requires_grad(base) || geometry.lazy || view->dtype != base->dtype)) return node_of_view(geometry, Tensor::share(base));
    auto node = Ref<GradNode>::adopt(new NowhereNode);
    node->add_input(*view);
    node->edges.emplace_back(room ? Edge() : gradient_edge(base));
    return node;
}

void CopySlices::remember_view(GradNode* node) {
    node->need_hooks().weak_holder = Ref<GradNode>::share(this);
    node->weakly_held = true;
    written_view = node;
}

Ref<GradNode> CopySlices::view_node() const {
    SpinGuard guard(lock);
    return written_view ? Ref<GradNode>::share(written_view) : Ref<GradNode>();
}

CopySlices::CopySlices(TensorImpl* base, TensorImpl* view_, Ref<GradNode> write_)
    : GradNode(Kind::CopySlices), base_sizes(static_cast<const TensorImpl*>(base)->sizes()),
      base_strides(static_cast<const TensorImpl*>(base)->strides()), base_dtype(base->dtype), view(base, view_), write(std::move(write_)) {
    edges.emplace_back(gradient_edge(base));
    for (size_t i = 1; i < write->edges.size(); i++) edges.emplace_back(write->edges[i]);
}

void CopySlices::apply(Backward& b) {
    Ref<GradNode> node;
    {
        SpinGuard guard(lock);
        node = write;
    }
    if (!node) fail_released();
    if (!b.gradients[0].defined()) return;
    Tensor grad = std::move(b.gradients[0]);
    Tensor whole;
    {
        Exclude quiet(b.differentiable ? 0u : static_cast<uint32_t>(key::Autograd));
        whole = make_tensor_like(grad, base_sizes, base_strides);
        tape::copy_(whole, grad);
        grad.reset();
    }
    Tensor slice = view.of(whole);
    Tensor into = tape::clone(slice);
    Few<Tensor, 4> results;
    results.resize(edges.size());
    std::vector<char> needed(edges.size());
    for (size_t i = 0; i < edges.size(); i++) needed[i] = b.needed ? b.needed[i] : leads(i);
    Backward inner{&into, 1, results.data(), reinterpret_cast<const bool*>(needed.data()), b.keep_graph, b.differentiable, this};
    node->apply(inner);
    if (!needed[0]) {
        // nothing to give to the base
    } else if (results[0].defined()) {
        tape::copy_(slice, results[0]);
        b.results[0] = std::move(whole);
    } else {
        tape::zero_(slice);
        b.results[0] = std::move(whole);
    }
    for (size_t i = 1; i < edges.size(); i++) b.results[i] = std::move(results[i]);
}

} // namespace kindling
