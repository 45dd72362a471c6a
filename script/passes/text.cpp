// script/passes/text.cpp: what a graph says of its values: their numbers and names, their types. And the passes by name.
#include <cstring>

#include "script/passes/freeze.h"
#include "script/trace/trace.h"

namespace kindling::script {
namespace {

template <class F> void each_value(Block* block, F visit) {
    for (Value* value : block->inputs()) visit(value);
    each_node(block, [&](Node* node) {
        for (Value* value : node->outputs) visit(value);
        for (Block* inner : node->blocks) each_value(inner, visit);
    });
}

TypeRef of_number(TypeRef type) {
    return type->is(TypeKind::Int)       ? seen_tensor("Long(device=cpu)")
           : type->is(TypeKind::Float)   ? seen_tensor("Double(device=cpu)")
           : type->is(TypeKind::Bool)    ? seen_tensor("Bool(device=cpu)")
           : type->is(TypeKind::Complex) ? seen_tensor("ComplexDouble(device=cpu)")
                                         : nullptr;
}

void copy_afresh(Block* to, const Block* from, std::unordered_map<const Value*, Value*>& known, bool keep_names) {
    const auto take = [&](Value* made, const Value* old) {
        made->type = old->type;
        if (keep_names && !old->given.empty()) made->set_name(old->given);
        known[old] = made;
    };
    Graph& graph = *to->graph;
    for (const Value* input : from->inputs()) take(to->add_input(input->type), input);
    for (const Node* node = from->first(); node != from->end; node = node->next) {
        Node* made = to->append(graph.create(node->kind, {}, 0));
        made->attributes = node->attributes;
        made->range = node->range;
        made->scope = node->scope;
        made->signature = node->signature;
        made->function = node->function;
        for (const Value* input : node->inputs) made->add_input(known.at(input));
        for (const Value* output : node->outputs) take(made->add_output(output->type), output);
        for (const Block* inner : node->blocks) copy_afresh(made->add_block(), inner, known, keep_names);
        for (Attribute& each : made->attributes)
            if (each.graph) each.graph = canonicalized(*each.graph, keep_names);
    }
    for (const Value* output : from->outputs()) to->add_output(known.at(output));
}

bool remove_expands(Block* block) {
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) remove_expands(inner);
        const Item* implicit = node->is("aten::expand") && node->inputs.size() == 3 ? constant_of(node->input(2)) : nullptr;
        if (!implicit || !implicit->truth()) return;
        node->output()->replace_uses(node->input());
        node->destroy();
    });
    return true;
}
bool propagate(Graph& graph, bool immutable_only) {
    const bool changed = propagate_constants(graph, immutable_only);
    if (changed) remove_dead(graph, Dead::ByMemory);
    return changed;
}

#define RUN(...) [](Graph& graph, [[maybe_unused]] bool option) -> bool { return __VA_ARGS__; }
constexpr NamedPass passes[] = {
    {"cse", true, false, RUN(share_common(graph))},
    {"dce", false, false, RUN(remove_dead(graph))},
    {"dce_graph", false, false, RUN(remove_dead(graph, Dead::ByMemory))},
    {"dce_allow_deleting_nodes_with_side_effects", false, false, RUN(remove_dead(graph, Dead::Effects))},
    {"inline", false, false, RUN(inline_calls(graph))},
    {"lint", false, false, RUN((graph.lint(), false))},
    {"constant_propagation", true, false, RUN(propagate(graph, false))},
    {"constant_propagation_immutable_types", true, false, RUN(propagate(graph, true))},
    {"constant_pooling", false, false, RUN(pool_constants(graph))},
    {"peephole", true, false, RUN(peephole(graph, !option))},
    {"lower_all_tuples", false, false, RUN(lower_all_tuples(graph))},
    {"loop_unrolling", true, false, RUN(unroll_loops(graph, false))},
    {"constant_loop_unrolling", true, false, RUN(unroll_loops(graph, true))},
    {"loop_invariant_motion", true, false, RUN(hoist_invariants(graph))}, // PyTorch has none
    {"remove_mutation", true, false, RUN(remove_mutation(graph))},
    {"remove_inplace_ops", false, false, RUN(remove_inplace_ops(graph))},
    {"erase_number_types", false, false, RUN(erase_number_types(graph))},
    {"erase_shape_information", false, false, RUN(erase_shapes(graph))},
    {"remove_expands", false, false, RUN(remove_expands(graph.block))},
    {"fuse", false, false, RUN(fuse(graph))},
    {"batch_mm", false, false, RUN(batch_mm(graph))},
    {"fold_frozen_conv_bn", true, false, RUN(fold_frozen_conv_bn(graph))},
    {"fold_frozen_linear_bn", true, false, RUN(fold_frozen_linear_bn(graph))},
    {"fold_frozen_conv_add_or_sub", true, false, RUN(fold_frozen_conv_add_or_sub(graph))},
    {"fold_frozen_conv_mul_or_div", true, false, RUN(fold_frozen_conv_mul_or_div(graph))},
    {"optimize_frozen_graph", false, true, RUN(optimise_frozen(graph, option))},
};
#undef RUN

} // namespace

const NamedPass* pass_named(const char* name) {
    for (const NamedPass& each : passes)
        if (!std::strcmp(each.name, name)) return &each;
    return nullptr;
}

std::shared_ptr<Graph> canonicalized(const Graph& graph, bool keep_names) {
    auto made = std::make_shared<Graph>();
    std::unordered_map<const Value*, Value*> known;
    copy_afresh(made->block, graph.block, known, keep_names);
    return made;
}

bool erase_number_types(Graph& graph) {
    const std::function<void(Block*)> constants = [&](Block* block) {
        each_node(block, [&](Node* node) {
            for (Block* inner : node->blocks) constants(inner);
            const Item* item = node->outputs.size() == 1 ? constant_of(node->output()) : nullptr;
            if (!item || !of_number(node->output()->type)) return;
            Inserting at(graph, node);
            node->output()->replace_uses(
                graph.insert(graph.create_constant(Item(wrap_number(scalar_of(*item))), node->output()->type))->output());
            node->destroy();
        });
    };
    constants(graph.block);
    each_value(graph.block, [](Value* value) {
        if (const TypeRef type = value->type->is(TypeKind::Int) ? of_number(value->type) : nullptr) value->type = type;
    });
    return true;
}

bool erase_shapes(Graph& graph) {
    each_value(graph.block, [](Value* value) { value->type = unseen(value->type); });
    return true;
}

} // namespace kindling::script
