// script/passes/common.cpp: what is computed twice is computed once.
#include <functional>

#include "core/operator.h"
#include "script/passes/alias.h"

namespace kindling::script {
namespace {

bool draws(const Node* node) {
    const Signature* schema = node->schema();
    return schema && schema->op && schema->op->functional->has(trait::Random);
}

bool same_attributes(const Node* a, const Node* b) {
    if (a->attributes.size() != b->attributes.size() || a->function != b->function) return false;
    for (size_t i = 0; i < a->attributes.size(); i++) {
        const Attribute &x = a->attributes[i], &y = b->attributes[i];
        if (x.name != y.name || x.graph != y.graph || x.types != y.types || !(x.item == y.item)) return false;
    }
    return true;
}
bool same(const Node* a, const Node* b) {
    if (a->kind != b->kind || a->inputs != b->inputs || a->outputs.size() != b->outputs.size() || !same_attributes(a, b)) return false;
    for (size_t i = 0; i < a->outputs.size(); i++)
        if (a->outputs[i]->type != b->outputs[i]->type) return false;
    return true;
}
size_t hash(const Node* node) {
    size_t key = std::hash<std::string>()(node->kind);
    for (const Value* input : node->inputs) key = key * 1000003 ^ reinterpret_cast<uintptr_t>(input);
    return key;
}

class Share {
public:
    explicit Share(Graph& graph) : memory_(graph) {}

    bool block(Block* block, const std::function<Node*(Node*)>& above) {
        std::unordered_multimap<size_t, Node*> known;
        bool changed = false;
        const auto find = [&](Node* node) -> Node* {
            if (Node* found = above(node)) return found;
            for (auto [at, end] = known.equal_range(hash(node)); at != end; ++at)
                if (same(at->second, node)) return at->second;
            return nullptr;
        };
        each_node(block, [&](Node* node) {
            if (has_effects(node) || draws(node) || memory_.written(node)) return;
            if (node->is("prim::Constant") && !node->outputs.empty() && node->output()->type->is(TypeKind::Tensor))
                return; // pool_constants
            if (!node->blocks.empty()) {
                for (Block* inner : node->blocks) changed |= this->block(inner, find);
                return;
            }
            Node* before = find(node);
            if (!before) {
                known.emplace(hash(node), node);
                return;
            }
            for (size_t i = 0; i < node->outputs.size(); i++)
                if (!memory_.interchangeable(node->output(i), before->output(i))) return;
            for (size_t i = 0; i < node->outputs.size(); i++) node->output(i)->replace_uses(before->output(i));
            node->destroy();
            changed = true;
        });
        return changed;
    }

private:
    Aliases memory_;
};

} // namespace

bool share_common(Graph& graph) {
    return Share(graph).block(graph.block, [](Node*) -> Node* { return nullptr; });
}

} // namespace kindling::script
