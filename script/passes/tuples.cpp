// script/passes/tuples.cpp: values in the place of tuples of them.
#include <algorithm>

#include "script/passes/passes.h"

namespace kindling::script {
namespace {

/// Of a node that takes a tuple apart where its parts are known.
bool unpack(Node* node) {
    const bool whole = node->is("prim::TupleUnpack"), one = node->is("prim::TupleIndex"), slice = node->is("prim::TupleSlice");
    if ((!whole && !one && !slice) || !node->input()->node->is("prim::TupleConstruct")) return false;
    const std::vector<Value*>& parts = node->input()->node->inputs;
    const int64_t length = static_cast<int64_t>(parts.size());
    if (whole) {
        for (size_t i = 0; i < parts.size(); i++) node->output(i)->replace_uses(parts[i]);
        return true;
    }
    if (one) {
        const Item* place = constant_of(node->input(1));
        const int64_t at = place ? place->integer() + (place->integer() < 0 ? length : 0) : -1;
        if (at < 0 || at >= length) return false;
        node->output()->replace_uses(parts[static_cast<size_t>(at)]);
        return true;
    }
    const Item *begin = node->attribute("beg"), *end = node->attribute("end");
    if (!begin || !end) return false;
    Graph& graph = *node->graph;
    Inserting at(graph, node);
    const std::vector<Value*> taken(parts.begin() + begin->integer(), parts.begin() + end->integer());
    node->output()->replace_uses(graph.insert(graph.create_with("prim::TupleConstruct", node->output()->type, taken))->output());
    return true;
}

bool unpack_made(Block* block) {
    bool changed = false;
    for (Node* node = block->first(); node != block->end; node = node->next) {
        if (!node->is("prim::TupleSlice") && unpack(node)) changed = true;
        for (Block* inner : node->blocks) changed |= unpack_made(inner);
    }
    return changed;
}

class Flatten {
public:
    void block(Block* block) {
        visit(block->parameters, block->first());
        body(block);
        visit(block->end, nullptr);
    }
    /// What stands in a block; what it takes and gives stays as it is.
    void body(Block* block) {
        each_node(block, [&](Node* node) { visit(node, node->next); });
    }

private:
    static bool is_tuple(const Value* value) { return value->type->is(TypeKind::Tuple); }
    static bool takes(const Node* node) {
        for (const char* kind :
             {"prim::If", "prim::Loop", "prim::TupleUnpack", "prim::TupleConstruct", "prim::TupleIndex", "prim::TupleSlice", "prim::Param",
              "prim::Return", "prim::PythonOp", "aten::format", "prim::Uninitialized", "aten::__getitem__"})
            if (node->is(kind)) return true;
        return false;
    }
    static void insert_output(Node* node, size_t place, TypeRef type) {
        node->add_output(type);
        std::rotate(node->outputs.begin() + static_cast<long>(place), node->outputs.end() - 1, node->outputs.end());
        for (size_t i = place; i < node->outputs.size(); i++) node->outputs[i]->offset = i;
    }
    void visit(Node* node, Node* before) {
        if (node->is("prim::TupleConstruct")) return;
        if (node->is("prim::TupleUnpack") || node->is("prim::TupleIndex") || node->is("prim::TupleSlice")) {
            KINDLING_CHECK(Runtime, unpack(node), "tuple use not matched to tuple construct. Instead found: %s",
                           node->input()->node->kind.c_str());
            return;
        }
        if (node->is("prim::Constant") && !node->outputs.empty() && is_tuple(node->output()) && node->attribute("value"))
            return constant(node);
        for (size_t i = 0; i < node->inputs.size();) {
            Value* input = node->input(i);
            if (!is_tuple(input)) {
                i++;
                continue;
            }
            KINDLING_CHECK(Runtime, takes(node),
                           "tuple appears in the op inputs, but this op does not forward tuples, unsupported kind: %s", node->kind.c_str());
            KINDLING_CHECK(Runtime, input->node->is("prim::TupleConstruct"), "tuple use not matched to tuple construct. Instead found: %s",
                           node->kind.c_str());
            for (size_t j = 0; j < input->node->inputs.size(); j++) node->insert_input(i + 1 + j, input->node->inputs[j]);
            node->remove_input(i); // parts may be tuples: the same place again
        }
        for (Block* inner : node->blocks) block(inner);
        for (size_t i = 0; i < node->outputs.size();) {
            Value* output = node->output(i);
            // What a block takes and gives has to match, whether somebody reads it or not.
            const bool matched = !node->blocks.empty() || node->is("prim::Param");
            if (!is_tuple(output) || (output->uses.empty() && !matched)) {
                i++;
                continue;
            }
            KINDLING_CHECK(Runtime, takes(node),
                           "tuple appears in the op outputs, but this op does not forward tuples, unsupported kind: %s",
                           node->kind.c_str());
            const std::vector<TypeRef> parts = output->type->parts;
            // Numbers are PyTorch's: the tuple's comes first where there are blocks.
            const bool first = !node->blocks.empty() || (node->is("prim::Param") && node->block->owner);
            Node* tuple = first ? node->graph->create_with("prim::TupleConstruct", output->type) : nullptr;
            for (size_t j = 0; j < parts.size(); j++) insert_output(node, i + 1 + j, parts[j]);
            if (!tuple) tuple = node->graph->create_with("prim::TupleConstruct", output->type);
            for (size_t j = 0; j < parts.size(); j++) tuple->add_input(node->output(i + 1 + j));
            before = tuple->insert_before(before);
            output->replace_uses(tuple->output());
            node->erase_output(i);
        }
    }
    static void constant(Node* node) {
        Graph& graph = *node->graph;
        Inserting at(graph, node);
        std::vector<Value*> parts;
        const std::vector<Item>& items = node->attribute("value")->items();
        for (size_t i = 0; i < items.size(); i++)
            parts.push_back(graph.insert(graph.create_constant(items[i], node->output()->type->parts[i]))->output());
        node->output()->replace_uses(graph.insert(graph.create_with("prim::TupleConstruct", node->output()->type, parts))->output());
    }
};

} // namespace

static bool carries_tuples(Block* block) {
    bool carries = false;
    each_node(block, [&](Node* node) {
        for (const Value* output : node->outputs) carries |= node->is("prim::Loop") && output->type->is(TypeKind::Tuple);
        for (Block* inner : node->blocks) carries |= carries_tuples(inner);
    });
    return carries;
}

bool unpack_made_tuples(Graph& graph) { return unpack_made(graph.block); }

void lower_carried_tuples(std::shared_ptr<Graph>& graph) {
    if (!carries_tuples(graph->block)) return;
    const std::shared_ptr<Graph> made = copy_of(*graph);
    try {
        Flatten().body(made->block);
    } catch (const Error&) {
        return; // one goes where only a tuple may, as into a list
    }
    remove_dead(*made);
    graph = made;
}

bool lower_all_tuples(Graph& graph) {
    Flatten().block(graph.block);
    remove_dead(graph);
    return true;
}

} // namespace kindling::script
