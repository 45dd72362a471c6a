// script/graph/cleanup.cpp: what TorchScript does to a graph before it shows it: some passes, loops that both count and ask, and the order
// of what control flow gives.
#include <algorithm>
#include <numeric>

#include "script/lower/lower.h"
#include "script/lower/match.h"
#include "script/passes/passes.h"

namespace kindling::script {
namespace {

// ---- loops that both count and ask

void one_condition(Block* block) {
    Graph& graph = *block->graph;
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) one_condition(inner);
        if (!node->is("prim::Loop")) return;
        Block* body = node->blocks[0];
        const Item *most = constant_of(node->input(0)), *begins = constant_of(node->input(1)), *goes_on = constant_of(body->outputs()[0]);
        const bool counts = !(most && most->integer() == INT64_MAX), asks = !(begins && begins->truth() && goes_on && goes_on->truth());
        if (!counts || !asks) return;
        Inserting at(graph, node);
        Value *zero = graph.constant(Item(int64_t{0})), *one = graph.constant(Item(int64_t{1})), *trips = node->input(0);
        Value* condition = call_builtin(graph, {}, "aten::gt", {trips, zero});
        node->replace_input(0, graph.constant(Item(static_cast<int64_t>(INT64_MAX))));
        if (!begins || !begins->truth()) condition = call_builtin(graph, {}, "aten::__and__", {condition, node->input(1)});
        node->replace_input(1, condition);
        node->add_output(type_of(TypeKind::Int));
        Inserting inside(body);
        node->add_input(zero);
        Value* count = body->add_input(type_of(TypeKind::Int));
        body->inputs()[0]->set_name("")->replace_uses(count);
        Value* next = call_builtin(graph, {}, "aten::add", {count, one});
        body->add_output(next);
        Value* less = call_builtin(graph, {}, "aten::lt", {next, trips});
        body->end->replace_input(0, call_builtin(graph, {}, "aten::__and__", {less, body->outputs()[0]}));
    });
}

// ---- the order of what control flow gives: that of first uses

bool before(const Use& a, const Use& b) { return a.user == b.user ? a.offset < b.offset : before(a.user, b.user); }

template <class T> void permute(std::vector<T>& all, const std::vector<size_t>& order, size_t skipped = 0) {
    const std::vector<T> old = all;
    for (size_t i = 0; i < order.size(); i++) all[i + skipped] = old[order[i] + skipped];
}

void permute_inputs(Node* node, const std::vector<size_t>& order, size_t skipped = 0) {
    std::vector<Value*> values = node->inputs;
    permute(values, order, skipped);
    node->clear_inputs();
    for (Value* value : values) node->add_input(value);
}
void permute_outputs(Node* node, const std::vector<size_t>& order, size_t skipped = 0) {
    permute(node->outputs, order, skipped);
    for (size_t i = 0; i < node->outputs.size(); i++) node->outputs[i]->offset = i;
}

void order_outputs(Block* block) {
    for (Node* node = block->end->previous; node != block->parameters; node = node->previous) {
        const bool loop = node->is("prim::Loop");
        if (loop || node->is("prim::If")) {
            std::vector<const Use*> first;
            for (const Value* output : node->outputs) {
                const Use* found = nullptr;
                for (const Use& use : output->uses)
                    if (!found || before(use, *found)) found = &use;
                first.push_back(found);
            }
            std::vector<size_t> order(node->outputs.size());
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
                if (!first[a] || !first[b]) return first[a] ? true : first[b] ? false : a < b;
                return a != b && before(*first[a], *first[b]);
            });
            permute_outputs(node, order);
            if (loop) {
                permute_inputs(node, order, 2);
                permute_outputs(node->blocks[0]->parameters, order, 1);
                permute_inputs(node->blocks[0]->end, order, 1);
            } else
                for (Block* inner : node->blocks) permute_inputs(inner->end, order);
        }
        for (Block* inner : node->blocks) order_outputs(inner);
    }
}

void lift(Block* block) {
    each_node(block, [](Node* node) {
        for (Block* inner : node->blocks) lift(inner);
        if (!node->is("prim::fork") || node->blocks.empty()) return;
        auto body = std::make_shared<Graph>();
        std::unordered_map<const Value*, Value*> captured;
        body->block->clone_from(node->blocks[0], [&](Value* outside) {
            Value*& made = captured[outside];
            if (!made) {
                made = body->block->add_input(outside->type)->copy_metadata(outside);
                node->add_input(outside);
            }
            return made;
        });
        node->erase_block(0);
        clean_up(*body);
        node->attributes.push_back({"Subgraph", {}, {}, "g", std::move(body)});
    });
}

} // namespace

void lift_forks(Graph& graph) { lift(graph.block); }

void clean_up(Graph& graph) {
    one_condition(graph.block);
    unpack_made_tuples(graph);
    remove_dead(graph);
    if (propagate_constants(graph, true)) remove_dead(graph);
    pool_constants(graph);
    order_outputs(graph.block);
}

} // namespace kindling::script
