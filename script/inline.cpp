// script/inline.cpp: calls of scripted functions and methods become what they call: `inlined_graph`.
#include "script/class.h"
#include "script/passes.h"

namespace kindling::script {
namespace {

const Function* callee_of(const Node* node) {
    if (node->is("prim::CallFunction")) return node->input()->node->function;
    if (!node->is("prim::CallMethod")) return nullptr;
    Class* of = node->input()->type->definition;
    return of && of->kind != Class::Interface ? of->method(node->attribute("name")->text()) : nullptr;
}

void inline_calls(Block* block) {
    Graph& graph = *block->graph;
    for (Node* node = block->first(); node != block->end;) {
        Node* next = node->next;
        for (Block* inner : node->blocks) inline_calls(inner);
        const Function* callee = callee_of(node);
        if (callee && callee->graph) {
            const std::shared_ptr<Graph> body = inlined(*callee->graph);
            const size_t skip = node->is("prim::CallFunction");
            std::unordered_map<const Value*, Value*> known;
            for (size_t i = 0; i < body->block->inputs().size(); i++) known[body->block->inputs()[i]] = node->inputs[i + skip];
            const std::function<Value*(Value*)> find = [&](Value* value) { return known.at(value); };
            Inserting at(graph, node);
            for (const Node* each = body->block->first(); each != body->block->end; each = each->next) {
                Node* copy = graph.insert(graph.clone(each, find));
                for (size_t i = 0; i < each->outputs.size(); i++) known[each->outputs[i]] = copy->outputs[i];
            }
            std::vector<std::pair<Value*, std::string>> names;
            for (size_t i = 0; i < node->outputs.size(); i++) {
                Value *old = node->outputs[i], *made = find(body->block->outputs()[i]);
                if (!old->given.empty() && made->node->block == block) names.emplace_back(made, old->given);
                old->replace_uses(made);
            }
            node->destroy();   // before its name is taken
            for (auto& [value, name] : names) value->set_name(name);
        }
        node = next;
    }
}

}  // namespace

std::shared_ptr<Graph> inlined(const Graph& graph) {
    auto made = std::make_shared<Graph>();
    made->block->clone_from(graph.block, [](Value* value) { return value; });
    inline_calls(made->block);
    return made;
}

}  // namespace kindling::script
