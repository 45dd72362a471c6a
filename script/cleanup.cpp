// script/cleanup.cpp: what TorchScript does to a graph before it shows it: tuples that are taken apart at once, constants known
// ahead, dead code, equal constants, the order of what control flow gives.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "script/lower.h"
#include "script/match.h"

namespace kindling::script {
namespace {

template <class F> void each_node(Block* block, F visit) {
    for (Node *node = block->first(), *next; node != block->end; node = next) {
        next = node->next;
        visit(node);
    }
}

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

// ---- dead code

bool has_effects(const Node* node) {
    static constexpr char kinds[][24] = {"prim::Print", "prim::RaiseException", "prim::CallFunction", "prim::CallMethod", "prim::SetAttr", "prim::PythonOp",
                                         "prim::Enter", "prim::Exit", "prim::fork", "aten::wait", "aten::Delete"};
    for (const char* kind : kinds)
        if (node->kind == kind) return true;
    if (node->signature && (node->signature->effect == 'e' || node->signature->effect == 'w')) return true;
    for (const Block* block : node->blocks)
        for (const Node* each = block->first(); each != block->end; each = each->next)
            if (has_effects(each)) return true;
    return false;
}

class Sweep {
public:
    void run(Graph& graph) {
        for (Value* value : graph.block->outputs()) live_.insert(value);
        mark(graph.block);
        sweep(graph.block);
    }

private:
    bool mark_node(Node* node) {
        if (!marked_.insert(node).second) return false;
        for (Node* above = node->block->owner; above && !marked_.count(above); above = above->block->owner) mark_node(above);
        for (Value* input : node->inputs) live_.insert(input);
        return true;
    }
    bool mark(Block* block) {
        bool any = false;
        for (Node* node = block->first(); node != block->end; node = node->next)
            if (has_effects(node)) any |= mark_node(node);
        any |= mark_end(block);
        for (Node* node = block->end->previous; node != block->parameters; node = node->previous) {
            if (node->is("prim::Loop")) for (bool more = true; more; any |= more) more = mark(node->blocks[0]);
            else for (Block* inner : node->blocks) any |= mark(inner);
            for (Value* output : node->outputs)
                if (live_.count(output)) {
                    any |= mark_node(node);
                    break;
                }
        }
        return any;
    }
    bool mark_end(Block* block) {
        if (!block->owner || marked_.count(block->end)) return false;
        Node* owner = block->owner;
        if (owner->is("prim::Loop")) {
            for (size_t i = 0; i < owner->outputs.size(); i++)
                if (live_.count(owner->outputs[i]) || !block->inputs()[i + 1]->uses.empty()) live_.insert(block->outputs()[i + 1]);
            live_.insert(block->outputs()[0]);
        } else
            for (size_t i = 0; i < owner->outputs.size(); i++)
                if (live_.count(owner->outputs[i])) live_.insert(block->outputs()[i]);
        marked_.insert(block->end);
        return true;
    }
    void sweep(Block* block) {
        for (Node *node = block->end->previous, *next; node != block->parameters; node = next) {
            if (node->is("prim::If")) {
                for (size_t i = node->outputs.size(); i-- > 0;)
                    if (node->outputs[i]->uses.empty()) {
                        node->erase_output(i);
                        for (Block* inner : node->blocks) inner->end->remove_input(i);
                    }
            } else if (node->is("prim::Loop")) {
                Block* body = node->blocks[0];
                for (size_t i = node->outputs.size(); i-- > 0;)
                    if (node->outputs[i]->uses.empty() && body->inputs()[i + 1]->uses.empty()) {
                        node->erase_output(i);
                        node->remove_input(i + 2);
                        body->parameters->erase_output(i + 1);
                        body->end->remove_input(i + 1);
                    }
            }
            for (Block* inner : node->blocks) sweep(inner);
            next = node->previous;
            if (!marked_.count(node) && !node->used()) node->destroy();
        }
    }
    std::unordered_set<Node*> marked_;
    std::unordered_set<Value*> live_;
};

// ---- tuples

void lower_tuples(Block* block) {
    for (Node* node = block->first(); node != block->end; node = node->next) {
        const bool unpack = node->is("prim::TupleUnpack"), index = node->is("prim::TupleIndex");
        if ((unpack || index) && node->input()->node->is("prim::TupleConstruct")) {
            const std::vector<Value*>& parts = node->input()->node->inputs;
            if (unpack) for (size_t i = 0; i < parts.size(); i++) node->output(i)->replace_uses(parts[i]);
            else if (const Item* place = constant_of(node->input(1))) {
                const int64_t length = static_cast<int64_t>(parts.size()), at = place->integer() < 0 ? place->integer() + length : place->integer();
                if (at >= 0 && at < length) node->output()->replace_uses(parts[static_cast<size_t>(at)]);
            }
        }
        for (Block* inner : node->blocks) lower_tuples(inner);
    }
}

// ---- constants

bool immutable(TypeRef type) {
    switch (type->kind) {
        case TypeKind::Tensor: case TypeKind::List: case TypeKind::Dict: case TypeKind::Class: case TypeKind::Any: case TypeKind::Future: return false;
        default: break;
    }
    return std::all_of(type->parts.begin(), type->parts.end(), immutable);
}

class Propagate {
public:
    bool run(Graph& graph) {
        block(graph.block);
        return changed_;
    }

private:
    void block(Block* block) { each_node(block, [&](Node* node) { visit(node); }); }

    void visit(Node* node) {
        const bool constants = std::all_of(node->inputs.begin(), node->inputs.end(), [](const Value* value) { return value->node->is("prim::Constant"); });
        if (node->is("prim::If")) {
            if (constants) return inline_if(node);
            for (Block* inner : node->blocks) block(inner);
            simplify_if(node);
        } else if (node->is("prim::Loop")) {
            const Item *trips = constant_of(node->input(0)), *begins = constant_of(node->input(1));
            if ((trips && trips->integer() <= 0) || (begins && !begins->truth())) {
                for (size_t i = 0; i < node->outputs.size(); i++) node->output(i)->replace_uses(node->input(i + 2));
                node->destroy();
                changed_ = true;
                return;
            }
            block(node->blocks[0]);
            simplify_loop(node);
        } else if (constants) compute(node);
        else for (Block* inner : node->blocks) block(inner);
    }

    void inline_if(Node* node) {
        Block* taken = node->blocks[constant_of(node->input())->truth() ? 0 : 1];
        block(taken);
        while (taken->first() != taken->end) taken->first()->move_before(node);
        for (size_t i = 0; i < node->outputs.size(); i++) node->output(i)->replace_uses(taken->outputs()[i]);
        node->destroy();
        changed_ = true;
    }
    void simplify_if(Node* node) {
        Graph& graph = *node->graph;
        for (size_t i = 0; i < node->outputs.size();) {
            Value *then = node->blocks[0]->outputs()[i], *otherwise = node->blocks[1]->outputs()[i];
            Value* by = then == otherwise ? then : nullptr;
            const Item *a = constant_of(then), *b = constant_of(otherwise);
            if (!by && a && b && then->type == otherwise->type && *a == *b) {
                Inserting at(graph, node);
                by = graph.constant(*a);
            }
            if (!by) {
                i++;
                continue;
            }
            node->output(i)->replace_uses(by);
            node->erase_output(i);
            for (Block* inner : node->blocks) inner->end->remove_input(i);
            changed_ = true;
        }
    }
    void simplify_loop(Node* node) {
        Block* body = node->blocks[0];
        for (size_t i = node->outputs.size(); i-- > 0;) {
            if (body->inputs()[i + 1] != body->outputs()[i + 1]) continue;
            Value* input = node->input(i + 2);
            node->output(i)->replace_uses(input);
            body->inputs()[i + 1]->replace_uses(input);
            node->erase_output(i);
            node->remove_input(i + 2);
            body->end->remove_input(i + 1);
            body->parameters->erase_output(i + 1);
            changed_ = true;
        }
    }
    void compute(Node* node) {
        if (node->is("prim::Constant") || node->outputs.size() != 1 || !node->blocks.empty() || !immutable(node->output()->type)) return;
        std::vector<Item> items;
        for (const Value* input : node->inputs) {
            const Item* item = constant_of(input);
            if (!item || !immutable(input->type)) return;
            items.push_back(*item);
        }
        Item result;
        if (node->is("prim::EnumName") || node->is("prim::EnumValue")) result = items[0].instance().slots[node->is("prim::EnumValue")];
        else if (node->is("prim::TupleConstruct")) result = Item::tuple(node->output()->type, items);
        else if (node->signature && node->signature->builtin && node->signature->effect == 'p') {
            try {
                const size_t count = items.size();
                items.resize(std::max<size_t>(count, 1));   // the result has a place where there is no argument
                node->signature->builtin(items.data(), count);
            } catch (const std::exception&) { return; }
            result = items[0];
        } else return;
        Inserting at(*node->graph, node);
        Value* made = node->graph->constant(result);
        if (result.is_none()) made->type = node->output()->type;
        node->output()->replace_uses(made);
        changed_ = true;
    }
    bool changed_ = false;
};

void pool(Block* block, std::vector<Node*>& known) {
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) pool(inner, known);
        if (!node->is("prim::Constant")) return;
        const Item* function = node->attribute("name");
        const auto same = std::find_if(known.begin(), known.end(), [&](const Node* other) {
            const Item* other_function = other->attribute("name");
            if (function || other_function) return function && other_function && *function == *other_function;
            return other->output()->type == node->output()->type && *constant_of(other->output()) == *constant_of(node->output());
        });
        if (same != known.end()) {
            node->output()->replace_uses((*same)->output());
            node->destroy();
            return;
        }
        known.push_back(node);
        Node* first = node->graph->block->first();
        if (node != first) node->move_before(first);
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

}  // namespace

void clean_up(Graph& graph) {
    one_condition(graph.block);
    lower_tuples(graph.block);
    Sweep().run(graph);
    if (Propagate().run(graph)) Sweep().run(graph);
    std::vector<Node*> known;
    pool(graph.block, known);
    order_outputs(graph.block);
}

}  // namespace kindling::script
