// script/passes/loops.cpp: loops written out, and what they compute anew each round without need.
#include <algorithm>
#include <cstring>

#include "core/operator.h"
#include "script/lower/match.h"
#include "script/passes/alias.h"

namespace kindling::script {
namespace {

constexpr int64_t rounds_at_once = 8, most_rounds = 64;
constexpr size_t largest_body = 32;

bool always(const Value* value) {
    const Item* known = constant_of(value);
    return known && known->is(Item::Tag::Bool) && known->truth();
}
bool counts(const Node* node) { return node->is("prim::Loop") && always(node->input(1)) && always(node->blocks[0]->outputs()[0]); }

template <class T> void move_last_to(std::vector<T*>& all, size_t place) {
    std::rotate(all.begin() + static_cast<long>(place), all.end() - 1, all.end());
}
void insert_output(Node* node, size_t place, TypeRef type) {
    node->add_output(type);
    move_last_to(node->outputs, place);
    for (size_t i = place; i < node->outputs.size(); i++) node->outputs[i]->offset = i;
}

/// Copies of a body's nodes at the insertion point; what the body gives.
std::vector<Value*> write_out(Graph& graph, const Block* body, const std::vector<Value*>& inputs) {
    std::unordered_map<const Value*, Value*> known;
    for (size_t i = 0; i < inputs.size(); i++) known[body->inputs()[i]] = inputs[i];
    const std::function<Value*(Value*)> find = [&](Value* value) {
        const auto found = known.find(value);
        return found == known.end() ? value : found->second;
    };
    for (const Node* each = body->first(); each != body->end; each = each->next) {
        Node* copy = graph.insert(graph.clone(each, find));
        for (size_t i = 0; i < each->outputs.size(); i++) known[each->outputs[i]] = copy->outputs[i];
    }
    std::vector<Value*> outputs;
    for (Value* output : body->outputs()) outputs.push_back(find(output));
    return outputs;
}

/// A count of its own, which goes on behind the loop.
void count_apart(Node* loop) {
    Graph& graph = *loop->graph;
    Block* body = loop->blocks[0];
    Inserting before(graph, loop);
    loop->insert_input(2, graph.constant(Item(int64_t{0})));
    insert_output(loop, 0, type_of(TypeKind::Int));
    insert_output(body->parameters, 1, type_of(TypeKind::Int));
    Value* count = body->inputs()[1];
    body->inputs()[0]->replace_uses(count);
    Inserting inside(body);
    body->end->insert_input(1, call_builtin(graph, {}, "aten::add", {Given(count), Given(Item(int64_t{1}))}));
}

void repeat(Node* loop, int64_t times) {
    Graph& graph = *loop->graph;
    Block *body = loop->blocks[0], *made = loop->add_block();
    for (Value* input : body->inputs()) made->add_input(input->type)->copy_metadata(input);
    std::vector<Value*> values = made->inputs();
    Inserting at(made);
    for (int64_t i = 0; i < times; i++) {
        values[0] = body->inputs()[0]; // nothing uses it
        values = write_out(graph, body, values);
    }
    for (Value* value : values) made->add_output(value);
    loop->erase_block(0);
}

void unroll(Node* loop) {
    Graph& graph = *loop->graph;
    if (!loop->blocks[0]->inputs()[0]->uses.empty()) count_apart(loop);
    const Item* trips = constant_of(loop->input(0));
    if (trips && trips->integer() < most_rounds) {
        repeat(loop, trips->integer());
        Inserting at(graph, loop);
        std::vector<Value*> inputs(loop->inputs.begin() + 1, loop->inputs.end()); // the first is the count, which nothing uses
        const std::vector<Value*> given = write_out(graph, loop->blocks[0], inputs);
        for (size_t i = 0; i < loop->outputs.size(); i++) loop->output(i)->replace_uses(given[i + 1]);
        loop->destroy();
        return;
    }
    Node* rest = graph.clone(loop, [](Value* value) { return value; })->insert_after(loop);
    for (size_t i = 0; i < loop->outputs.size(); i++) {
        loop->output(i)->replace_uses(rest->output(i));
        rest->replace_input(i + 2, loop->output(i));
    }
    repeat(loop, rounds_at_once);
    Inserting at(graph, loop);
    Value* all = loop->input(0);
    const auto call = [&](const char* kind, Value* a, const Given& b) { return call_builtin(graph, {}, kind, {Given(a), b}); };
    Value* bundles = call("aten::__round_to_zero_floordiv", all, Given(Item(rounds_at_once)));
    loop->replace_input(0, bundles);
    rest->replace_input(0, call("aten::sub", all, Given(call("aten::mul", bundles, Given(Item(rounds_at_once))))));
}

bool unroll_in(Block* block, bool constant_only) {
    bool changed = false;
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) changed |= unroll_in(inner, constant_only);
        if (!counts(node) || (constant_only ? !constant_of(node->input(0)) : size_of(node->blocks[0], largest_body) > largest_body)) return;
        unroll(node);
        changed = true;
    });
    return changed;
}

// ---- invariants

class Hoist {
public:
    explicit Hoist(Graph& graph) : memory_(graph) {}

    bool block(Block* block) {
        bool changed = false;
        each_node(block, [&](Node* node) {
            for (Block* inner : node->blocks) changed |= this->block(inner);
            if (node->is("prim::Loop")) changed |= loop(node);
        });
        return changed;
    }

private:
    /// Computes the same each time, and never fails: may run even where the loop does not.
    static bool harmless(const Node* node) {
        const Signature* schema = node->schema();
        if (!schema || schema->effect != 'p') return false;
        return std::strstr(" aten::add aten::sub aten::mul aten::neg aten::lt aten::le aten::gt aten::ge aten::eq aten::ne aten::__and__ "
                           "aten::__or__ aten::__not__ prim::min prim::max ",
                           (" " + node->kind + " ").c_str()) &&
               immutable(node->output()->type);
    }
    static bool within(const Value* value, const Block* body) {
        for (const Block* at = value->node->block; at; at = at->owner ? at->owner->block : nullptr)
            if (at == body) return true;
        return false;
    }
    bool loop(Node* node) {
        Block* body = node->blocks[0];
        const Item* trips = constant_of(node->input(0));
        bool certain = always(node->input(1)) && trips && trips->integer() > 0; // until something happens, all of the body runs
        bool changed = false;
        each_node(body, [&](Node* each) {
            if (has_effects(each)) certain = false;
            if (each->is("prim::Constant") || !each->blocks.empty() || has_effects(each) || each->outputs.empty()) return;
            const Signature* schema = each->schema();
            if (!harmless(each) &&
                !(certain && schema && schema->op && !schema->op->functional->has(trait::Random) && !memory_.written(each)))
                return;
            for (const Value* input : each->inputs)
                if (within(input, body) && !input->node->is("prim::Constant")) return;
            for (const Value* output : each->outputs)
                if (memory_.outside(output)) return;
            for (Value* input : each->inputs)
                if (within(input, body)) input->node->move_before(node);
            each->move_before(node);
            changed = true;
        });
        return changed;
    }
    Aliases memory_;
};

} // namespace

size_t size_of(const Block* block, size_t enough) {
    size_t size = 0;
    for (const Node* node = block->first(); node != block->end && size <= enough; node = node->next) {
        size++;
        for (const Block* inner : node->blocks) size += size_of(inner, enough);
    }
    return size;
}

bool unroll_loops(Graph& graph, bool constant_only) {
    const bool changed = unroll_in(graph.block, constant_only);
    if (changed) remove_dead(graph);
    return changed;
}

bool hoist_invariants(Graph& graph) { return Hoist(graph).block(graph.block); }

} // namespace kindling::script
