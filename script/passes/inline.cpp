// script/passes/inline.cpp: calls of scripted functions and methods become what they call: `inlined_graph`.
#include "script/class.h"
#include "script/passes/passes.h"

namespace kindling::script {
namespace {

const Function* callee_of(const Node* node) {
    if (node->is("prim::CallFunction")) return node->input()->node->function;
    if (!node->is("prim::CallMethod")) return nullptr;
    Class* of = node->input()->type->definition;
    return of && of->kind != Class::Interface ? of->method(node->attribute("name")->text()) : nullptr;
}

bool inline_in(Block* block) {
    bool changed = false;
    Graph& graph = *block->graph;
    for (Node* node = block->first(); node != block->end;) {
        Node* next = node->next;
        for (Block* inner : node->blocks) changed |= inline_in(inner);
        const Function* callee = callee_of(node);
        if (callee && callee->graph) {
            const std::shared_ptr<Graph> body = inlined(*callee->graph);
            const std::vector<Value*> inputs(node->inputs.begin() + node->is("prim::CallFunction"), node->inputs.end());
            Inserting at(graph, node);
            const std::vector<Value*> given = insert_graph(graph, *body, inputs);
            std::vector<std::pair<Value*, std::string>> names;
            for (size_t i = 0; i < node->outputs.size(); i++) {
                Value *old = node->outputs[i], *made = given[i];
                if (!old->given.empty() && made->node->block == block) names.emplace_back(made, old->given);
                old->replace_uses(made);
            }
            node->destroy();   // before its name is taken
            for (auto& [value, name] : names) value->set_name(name);
            changed = true;
        }
        node = next;
    }
    return changed;
}

}  // namespace

bool inline_calls(Graph& graph) { return inline_in(graph.block); }

std::shared_ptr<Graph> inlined(const Graph& graph) {
    std::shared_ptr<Graph> made = copy_of(graph);
    inline_calls(*made);
    return made;
}

}  // namespace kindling::script
