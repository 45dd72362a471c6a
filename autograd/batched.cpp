// autograd/batched.cpp: calls with batched tensors in graphs of levels below them.
//
// This is for gradients taken outside of a vmap through what it computed. The operator is recorded on batched tensors, by its own node,
// as if nothing were mapped. Two nodes connect that to the graph of the tensors with all slices. UnbatchNode passes a gradient from a
// batched tensor to the tensor behind it, and sums over slices where that has no batch dimension. RebatchNode passes the gradient of a
// tensor with all slices to the batched tensor. Both can be differentiated again. So the derivative of a mapped operator is its mapped
// derivative, and no operator declares one.
// Compiled for size.
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "core/schema.h"
#include "operators/batching.h"

namespace kindling {

namespace {

/// A level between a batched tensor and the graph below; whether the tensor belongs to it, and whether it has a batch dimension there.
struct Layer {
    Ref<BatchLevel> level;
    bool present, batched;
};
using Layers = std::vector<Layer>; // newest first

Tensor below(const Tensor& tensor, const Layers& layers) {
    Tensor t = tensor;
    for (const Layer& layer : layers)
        if (Batch* batch = batch_at(t.impl(), layer.level.get())) t = Tensor(batch->inner);
    return t;
}

Tensor above(Tensor t, const Layers& layers) {
    for (size_t i = layers.size(); i-- > 0;)
        if (layers[i].present) t = make_batched(std::move(t), layers[i].level, layers[i].batched);
    return t;
}

Layers layers_of(const Tensor& tensor, Span<BatchLevel*> levels) {
    Layers layers;
    Tensor t = tensor;
    for (BatchLevel* level : levels) {
        Batch* batch = batch_at(t.impl(), level);
        layers.push_back({Ref<BatchLevel>::share(level), batch != nullptr, batch && batch->batched});
        if (batch) t = Tensor(batch->inner);
    }
    return layers;
}

/// In its scope calls are recorded by the graph below, or not, whatever a level above has excluded.
struct Below {
    uint32_t before = thread_state.exclude;
    explicit Below(bool recorded) {
        if (recorded) thread_state.exclude &= ~static_cast<uint32_t>(key::Autograd);
        else thread_state.exclude |= key::Autograd;
    }
    ~Below() { thread_state.exclude = before; }
};

/// `inner` as a batched tensor whose history is an UnbatchNode: in a graph of its own that leads to inner's.
Tensor enter(const Tensor& inner, Layers layers);
/// The tensor behind a batched one, whose history is a RebatchNode: it leads to the batched tensor's.
Tensor leave(const Tensor& tensor, Layers layers);

struct UnbatchNode final : GradNode {
    Layers layers; // of the tensor whose gradient this gives
    explicit UnbatchNode(Layers of) : GradNode(Kind::Other), layers(std::move(of)) {}
    const char* name() const override { return "UnbatchBackward0"; }
    void apply(Backward& backward) override {
        static constinit NamedOperator sum{"sum", "dim_IntList"}, expand{"expand", ""}, unsqueeze{"unsqueeze", ""};
        if (!backward.gradients[0].defined()) return;
        Below scope(backward.differentiable);
        std::vector<BatchLevel*> levels;
        for (const Layer& layer : layers) levels.push_back(layer.level.get());
        const Layers given = layers_of(backward.gradients[0], Span<BatchLevel*>(levels));
        Tensor gradient = leave(backward.gradients[0], given);
        int64_t place = 0; // the oldest level's dimension is the first
        for (size_t i = layers.size(); i-- > 0;) {
            if (layers[i].batched && !given[i].batched) {
                gradient = call_named(unsqueeze, gradient, place);
                Sizes sizes = gradient.sizes();
                sizes[static_cast<size_t>(place)] = layers[i].level->size;
                gradient = call_named(expand, gradient, IntList(sizes));
            } else if (!layers[i].batched && given[i].batched) gradient = call_named(sum, gradient, IntList(&place, 1), false);
            place += layers[i].batched;
        }
        backward.results[0] = std::move(gradient);
    }
};

struct RebatchNode final : GradNode {
    Layers layers; // of the result whose gradient this takes
    explicit RebatchNode(Layers of) : GradNode(Kind::Other), layers(std::move(of)) {}
    const char* name() const override { return "RebatchBackward0"; }
    void apply(Backward& backward) override {
        // The vmap may have ended. The gradient may be batched by a later one, which must count as inside of this one.
        for (size_t i = layers.size(); i-- > 0;)
            if (!layers[i].level->open) layers[i].level->renew();
        if (backward.gradients[0].defined()) backward.results[0] = enter(backward.gradients[0], layers);
    }
};

Tensor enter(const Tensor& inner, Layers layers) {
    if (!requires_grad(inner.impl())) return above(inner, layers);
    layers[0].present = true; // it belongs to the newest level, if only as the same for all slices
    auto node = Ref<GradNode>::adopt(new UnbatchNode(layers));
    node->edges.emplace_back(gradient_edge(inner.impl()));
    Tensor header = above(detached(inner), layers);
    node->add_input(*header.impl());
    set_gradient_edge(header.impl(), {node, 0});
    return header;
}

Tensor leave(const Tensor& tensor, Layers layers) {
    Tensor inner = below(tensor, layers);
    if (!requires_grad(tensor.impl())) return inner;
    auto node = Ref<RebatchNode>::adopt(new RebatchNode(std::move(layers)));
    node->edges.emplace_back(gradient_edge(tensor.impl()));
    inner = detached(inner);
    set_history(inner.impl(), node.get());
    return inner;
}

} // namespace

Tensor enter_graph(const Tensor& tensor, Span<BatchLevel*> levels) {
    Layers layers = layers_of(tensor, levels);
    const Tensor inner = below(tensor, layers);
    return requires_grad(inner.impl()) ? enter(inner, layers) : tensor;
}

Tensor leave_graph(const Tensor& tensor, Span<BatchLevel*> levels) {
    if (!requires_grad(tensor.impl())) return tensor;
    const Layers layers = layers_of(tensor, levels);
    return above(leave(tensor, layers), layers);
}

void record_batched(const Operator& op, Value* arguments, Value* results, Span<BatchLevel*> levels) {
    // The arguments again, apart from the graph below, with histories of their own that lead there.
    ChangedArguments given(op, arguments);
    given.each(op, [&](TensorImpl* tensor) { return enter_graph(Tensor::share(tensor), levels); });
    {
        Below scope(true);
        call_autograd(op, given.values, results);
    }
    auto settle = [&](Tensor& result) {
        if (result.defined()) result = leave_graph(result, levels);
    };
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        if (results[r].tag == Value::Tag::Tensor) {
            Tensor result = results[r].take_tensor();
            settle(result);
            results[r] = Value::own(std::move(result));
        } else if (results[r].tag == Value::Tag::TensorList)
            for (uint32_t j = 0; j < results[r].size; j++) settle(results[r].tensors[j]);
    }
}

} // namespace kindling
