// script/passes/handed_on.cpp: what branches and loops hand on as it was. `if w is not None` gives a w that is known to be one, and one
// that may not be: the same value, which a loop around it then carries from round to round.
#include "script/passes/passes.h"

namespace kindling::script {
namespace {

/// The value that this one is, seen through casts that only tell a type.
Value* seen_through(Value* value) {
    while (value->node->is("prim::unchecked_cast")) value = value->node->input();
    return value;
}
bool is_inside(const Value* value, const Node* node) {
    for (const Block* block = value->node->block; block && block->owner; block = block->owner->block)
        if (block->owner == node) return true;
    return false;
}

bool replace(Block* block) {
    bool changed = false;
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) changed |= replace(inner);
        for (size_t i = 0; i < node->outputs.size() && node->is("prim::If"); i++) {
            Value* output = node->output(i);
            Value* same = seen_through(node->blocks[0]->outputs()[i]);
            if (output->uses.empty() || same != seen_through(node->blocks[1]->outputs()[i]) || is_inside(same, node) ||
                same->type != output->type)
                continue;
            output->replace_uses(same);
            changed = true;
        }
        for (size_t i = 0; i < node->outputs.size() && node->is("prim::Loop"); i++) {
            Value *carried = node->blocks[0]->inputs()[i + 1], *first = node->input(i + 2);
            if (seen_through(node->blocks[0]->outputs()[i + 1]) != carried || first->type != carried->type) continue;
            if (carried->uses.empty() && node->output(i)->uses.empty()) continue;
            carried->replace_uses(first);
            if (node->output(i)->type == first->type) node->output(i)->replace_uses(first);
            changed = true;
        }
    });
    return changed;
}

} // namespace

bool replace_handed_on(Graph& graph) { return replace(graph.block); }

} // namespace kindling::script
