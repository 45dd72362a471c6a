// script/passes/inline.cpp: calls of scripted functions and methods become what they call: `inlined_graph`, and what runs.
#include "script/graph/class.h"
#include "script/passes/passes.h"

namespace kindling::script {
namespace {

const Function* callee_of(const Node* node) {
    if (node->is("prim::CallFunction")) return node->input()->node->function;
    if (!node->is("prim::CallMethod")) return nullptr;
    Class* of = node->input()->type->definition;
    return of && of->kind != Class::Interface ? of->method(node->attribute("name")->text()) : nullptr;
}

/// Notes in a copied body by which calls its nodes came: by this one, those that had come into the body by others by way of it.
class CameBy {
public:
    CameBy(const Function* callee, const Range& call) : call_(new Inlined{callee, call, nullptr}) {}
    void note(Node* node) {
        node->inlined = behind(node->inlined);
        for (Block* inner : node->blocks) each_node(inner, [&](Node* each) { note(each); });
    }

private:
    using Call = std::shared_ptr<const Inlined>;
    Call behind(const Call& inner) {
        if (!inner) return call_;
        if (inner.get() == last_) return made_; // neighbours came together
        made_ = Call(new Inlined{inner->callee, inner->call, behind(inner->outer)});
        last_ = inner.get();
        return made_;
    }
    Call call_, made_;
    const Inlined* last_ = nullptr;
};

/// A body is made simpler before it is copied, in PyTorch's steps.
void simplify(Graph& graph) {
    if (peephole_numbers(graph)) remove_dead(graph);
    if (propagate_constants(graph, true)) remove_dead(graph);
    pool_constants(graph);
}

class Inline {
public:
    /// `short_only`: what is long stays a call. Copies of it would take longer to make than calls of it take to run.
    explicit Inline(bool short_only = false) : short_only_(short_only) {}
    bool run(Block* block) {
        bool changed = false;
        Graph& graph = *block->graph;
        for (Node* node = block->first(); node != block->end;) {
            Node* next = node->next;
            for (Block* inner : node->blocks) changed |= run(inner);
            const Function* callee = callee_of(node);
            const Graph* body = callee && callee->graph ? body_of(callee, block) : nullptr;
            if (body) {
                const std::vector<Value*> inputs(node->inputs.begin() + node->is("prim::CallFunction"), node->inputs.end());
                Inserting at(graph, node);
                Node* before = node->previous;
                const std::vector<Value*> given = insert_graph(graph, *body, inputs);
                for (CameBy by(callee, node->range); (before = before->next) != node;) by.note(before);
                std::vector<std::pair<Value*, std::string>> names;
                for (size_t i = 0; i < node->outputs.size(); i++) {
                    Value *old = node->outputs[i], *made = given[i];
                    if (!old->given.empty() && made->node->block == block) names.emplace_back(made, old->given);
                    old->replace_uses(made);
                }
                node->destroy(); // before its name is taken
                for (auto& [value, name] : names) value->set_name(name);
                changed = true;
            }
            node = next;
        }
        return changed;
    }

private:
    /// What takes the place of a call that stands in a block; null if the call stays.
    const Graph* body_of(const Function* callee, const Block* place) {
        size_t longest = 0;
        if (short_only_) {
            while (place->owner && !place->owner->is("prim::Loop")) place = place->owner->block;
            longest = place->owner ? 1024 : 96;                                           // loops without calls may become machine code
            if (size_of(callee->graph->block, 4 * longest) > 4 * longest) return nullptr; // it would not become short
        }
        const Graph* body = nullptr; // made once: the layers of a network have their functions in common
        for (const auto& [function, made] : bodies_)
            if (function == callee) body = made.get();
        if (!body) {
            const std::shared_ptr<Graph> made = copy_of(*callee->graph);
            run(made->block);
            simplify(*made);
            body = bodies_.emplace_back(callee, made).second.get();
        }
        return short_only_ && size_of(body->block, longest) > longest ? nullptr : body;
    }
    const bool short_only_;
    std::vector<std::pair<const Function*, std::shared_ptr<Graph>>> bodies_;
};

} // namespace

bool inline_calls(Graph& graph) { return Inline().run(graph.block); }

std::shared_ptr<Graph> inlined(const Graph& graph) {
    std::shared_ptr<Graph> made = copy_of(graph);
    inline_calls(*made);
    return made;
}

std::shared_ptr<Graph> as_run(const Graph& graph) {
    std::shared_ptr<Graph> made = copy_of(graph);
    Inline(true).run(made->block);
    simplify(*made);
    unpack_made_tuples(*made); // casts that stood between are gone
    replace_handed_on(*made);
    remove_dead(*made);
    lower_carried_tuples(made);
    return made;
}

} // namespace kindling::script
