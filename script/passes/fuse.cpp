// script/passes/fuse.cpp: runs of pointwise operators as groups, to be shown: what the deferred loops make one loop of.
#include <algorithm>

#include "core/operator.h"
#include "script/passes/alias.h"

namespace kindling::script {
namespace {

class Fuse {
public:
    explicit Fuse(Graph& graph) : graph_(graph), memory_(graph) {}

    bool block(Block* block) {
        bool changed = false;
        for (Node* node = block->first(); node != block->end; node = node->next)
            for (Block* inner : node->blocks) changed |= this->block(inner);
        for (Node* node = block->end->previous; node != block->parameters; node = node->previous) {
            if (!joins(node)) continue;
            if (Node* group = grow(node)) {
                node = group;
                changed = true;
            }
        }
        return changed;
    }

private:
    bool joins(const Node* node) {
        const Signature* schema = node->schema();
        return node->blocks.empty() && node->outputs.size() == 1 && node->output()->type->is(TypeKind::Tensor) && schema && schema->op &&
               schema->op->body == Body::Pointwise && schema->op->form == Form::Functional && !schema->op->has(trait::Random) &&
               !memory_.written(node);
    }

    /// A group that ends with `last`: what it reads is taken in where all that read it are in the group. Null if nothing joins it.
    Node* grow(Node* last) {
        std::vector<Node*> members = {last};
        const auto is_member = [&](const Node* node) { return std::find(members.begin(), members.end(), node) != members.end(); };
        for (bool more = true; more;) {
            more = false;
            for (Node* at = last->previous; at != last->block->parameters && !more; at = at->previous) {
                if (is_member(at) || !joins(at) || at->output()->uses.empty()) continue;
                const std::vector<Use>& uses = at->output()->uses;
                if (!std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return is_member(use.user); })) continue;
                members.push_back(at);
                more = true;
            }
        }
        if (members.size() < 2) return nullptr;
        std::sort(members.begin(), members.end(), [](const Node* a, const Node* b) { return before(a, b); });
        auto body = std::make_shared<Graph>();
        Node* group = graph_.create("prim::FusionGroup", {}, 1);
        group->output()->copy_metadata(last->output());
        group->attributes.push_back({"Subgraph", {}, {}, "g", body});
        std::unordered_map<const Value*, Value*> known;
        const std::function<Value*(Value*)> find = [&](Value* value) -> Value* {
            Value*& made = known[value];
            if (made) return made;
            if (value->node->is("prim::Constant"))
                return made = body->insert(body->clone(value->node, [](Value* same) { return same; }))->output();
            group->add_input(value);
            return made = body->block->add_input(value->type);
        };
        for (Node* member : members) {
            for (Value* input : member->inputs) find(input); // constants stand before
            Node* copy = body->insert(body->clone(member, find));
            known[member->output()] = copy->output();
        }
        body->block->add_output(known.at(last->output()));
        group->insert_before(last);
        last->output()->replace_uses(group->output());
        for (size_t i = members.size(); i-- > 0;) members[i]->destroy();
        return group;
    }

    Graph& graph_;
    Aliases memory_;
};

} // namespace

bool fuse(Graph& graph) {
    const bool changed = Fuse(graph).block(graph.block);
    if (changed) remove_dead(graph);
    return changed;
}

} // namespace kindling::script
