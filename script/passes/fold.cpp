// script/passes/fold.cpp: what comes behind a convolution or a linear layer of a frozen module as part of its weights: normalisation,
// and arithmetic with one number or a number a channel.
#include <algorithm>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "script/passes/freeze.h"
#include "script/trace/trace.h"

namespace kindling::script {
namespace {

/// The tensor that a constant holds; not defined if it is another value.
Tensor tensor_in(const Value* value) {
    const Item* item = constant_of(value);
    return item ? item->tensor() : Tensor();
}

/// A convolution that is not transposed.
bool is_convolution(const Node* node) {
    if (!node->is("aten::_convolution")) return node->is("aten::conv1d") || node->is("aten::conv2d") || node->is("aten::conv3d");
    const Item* transposed = constant_of(node->input(6)); // of a trace
    return transposed && !transposed->truth();
}
/// Whether what `node` gives is read by `by` alone.
bool alone(const Node* node, const Node* by) {
    const std::vector<Use>& uses = node->output()->uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return use.user == by || use.user->is("aten::dim"); });
}
/// Gives a layer another weight (1) or bias (2), named as the one before it. A bias where there was none is named as the weight, so
/// it is replaced before the weight is.
void replace_parameter(Node* layer, size_t place, const Tensor& tensor, const std::string& suffix) {
    Graph& graph = *layer->graph;
    Inserting at(graph, layer);
    const bool added = constant_of(layer->input(place))->is_none();
    const std::string name = added ? layer->input(1)->name() + "_bias" : layer->input(place)->name();
    layer->replace_input(place, graph.insert(graph.create_constant(Item(tensor), seen(tensor)))->output()->set_name(name + suffix));
}
/// One number for each channel of results, as it meets the weight.
Tensor by_channels(const Tensor& numbers, const Tensor& weight) {
    std::vector<int64_t> shape(static_cast<size_t>(weight.dim()), 1);
    shape[0] = -1;
    return reshape(numbers, shape);
}

/// batch_norm(convolution(x, w, b)) is a convolution with other weights; so with linear.
bool fold_norm(Block* block, bool convolution) {
    bool changed = false;
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) changed |= fold_norm(inner, convolution);
        if (!node->is("aten::batch_norm") || node->inputs.size() != 9) return;
        Node* before = node->input()->node;
        const bool linear = before->is("aten::linear");
        if (convolution ? !is_convolution(before) : !linear) return;
        if (!alone(before, node)) return;
        const Item *train = constant_of(node->input(5)), *eps = constant_of(node->input(7));
        const Tensor weight = tensor_in(before->input(1)), mean = tensor_in(node->input(3)), variance = tensor_in(node->input(4));
        if (!train || train->truth() || !eps || !weight.defined() || !mean.defined() || !variance.defined()) return;
        for (const Value* optional : {before->input(2), node->input(1), node->input(2)})
            if (!constant_of(optional)) return;
        if (!is_floating(weight.dtype())) return;
        Tensor bias = tensor_in(before->input(2)), scale = tensor_in(node->input(1)), shift = tensor_in(node->input(2));
        if (linear && mean.size(0) != weight.size(0)) return;
        if (!bias.defined()) bias = zeros_like(mean);
        if (!scale.defined()) scale = ones_like(mean);
        if (!shift.defined()) shift = zeros_like(mean);
        const Tensor factor = mul(scale, rsqrt(add(variance, wrap_number(Scalar(eps->number())))));
        replace_parameter(before, 2, add(mul(sub(bias, mean), factor), shift).to(bias.dtype()), "_fused_bn");
        replace_parameter(before, 1, mul(weight, by_channels(factor, weight)).to(weight.dtype()), "_fused_bn");
        node->output()->replace_uses(before->output());
        node->destroy();
        changed = true;
    });
    return changed;
}

/// The constant that an arithmetic node brings to a convolution's channels, as one number for each; not defined if it is another.
Tensor for_channels(const Node* node, const Tensor& weight) {
    const Item* item = constant_of(node->input(1));
    if (!item) return Tensor();
    Tensor given = item->tensor();
    if (!given.defined()) {
        if (!item->is(Item::Tag::Int) && !item->is(Item::Tag::Float)) return Tensor();
        given = full({1}, scalar_of(*item), weight.dtype());
    }
    if (promote(given.dtype(), weight.dtype()) != weight.dtype() || given.dim() > weight.dim()) return Tensor();
    const bool channels = given.dim() == weight.dim() && given.size(1) == weight.size(0) && given.numel() == weight.size(0);
    if (given.numel() != 1 && !channels) return Tensor();
    return expand(reshape(given, {-1}), {weight.size(0)});
}

/// convolution(x, w, b) + c, - c, * c and / c are convolutions with other weights (PyTorch's frozen_conv_folding.cpp).
bool fold_arithmetic(Block* block, bool sums) {
    bool changed = false;
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) changed |= fold_arithmetic(inner, sums);
        const bool add = node->is("aten::add"), mul = node->is("aten::mul");
        if (sums ? !add && !node->is("aten::sub") : !mul && !node->is("aten::div")) return;
        Node* before = node->input()->node;
        if (node->inputs.size() != (sums ? 3 : 2) || before->block != block || !is_convolution(before) || !alone(before, node)) return;
        const Tensor weight = tensor_in(before->input(1));
        if (!weight.defined() || !is_floating(weight.dtype()) || !constant_of(before->input(2))) return;
        const Item* alpha = sums ? constant_of(node->input(2)) : nullptr;
        if (sums && (!alpha || !(alpha->is(Item::Tag::Int) || alpha->is(Item::Tag::Float)))) return;
        const Tensor number = for_channels(node, weight);
        if (!number.defined()) return;
        const std::string suffix = "_fused_" + node->kind.substr(node->kind.find("::") + 2);
        const Tensor bias = tensor_in(before->input(2));
        const auto put = [&](size_t place, const Tensor& made) { replace_parameter(before, place, made.to(weight.dtype()), suffix); };
        if (sums) {
            const Tensor from = bias.defined() ? bias : zeros({weight.size(0)}, weight.dtype());
            put(2, add ? kindling::add(from, number, scalar_of(*alpha)) : kindling::sub(from, number, scalar_of(*alpha)));
        } else {
            const auto scaled = [&](const Tensor& by, const Tensor& factor) {
                return mul ? kindling::mul(by, factor) : kindling::div(by, factor);
            };
            put(1, scaled(weight, by_channels(number, weight)));
            if (bias.defined()) put(2, scaled(bias, number));
        }
        node->output()->replace_uses(before->output());
        node->destroy();
        changed = true;
    });
    return changed;
}

/// What stands behind a fold is read no more.
bool swept(Graph& graph, bool changed) {
    if (changed) remove_dead(graph);
    return changed;
}

} // namespace

bool fold_frozen_conv_bn(Graph& graph) { return swept(graph, fold_norm(graph.block, true)); }
bool fold_frozen_linear_bn(Graph& graph) { return swept(graph, fold_norm(graph.block, false)); }
bool fold_frozen_conv_add_or_sub(Graph& graph) { return swept(graph, fold_arithmetic(graph.block, true)); }
bool fold_frozen_conv_mul_or_div(Graph& graph) { return swept(graph, fold_arithmetic(graph.block, false)); }

} // namespace kindling::script
