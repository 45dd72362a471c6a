// script/passes/constants.cpp: what is known before a graph runs.
#include <algorithm>
#include <optional>

#include "core/operator.h"
#include "script/passes/alias.h"
#include "script/run/instructions.h"
#include "script/trace/trace.h"

namespace kindling::script {

bool immutable(TypeRef type) {
    switch (type->kind) {
    case TypeKind::Tensor:
    case TypeKind::List:
    case TypeKind::Dict:
    case TypeKind::Class:
    case TypeKind::Any:
    case TypeKind::Future: return false;
    default: break;
    }
    return std::all_of(type->parts.begin(), type->parts.end(), immutable);
}

namespace {

class Propagate {
public:
    Propagate(Graph& graph, bool immutable_only) {
        if (!immutable_only) memory_.emplace(graph);
    }
    bool run(Graph& graph) {
        block(graph.block);
        return changed_;
    }

private:
    void block(Block* block) {
        each_node(block, [&](Node* node) { visit(node); });
    }

    void visit(Node* node) {
        const bool constants =
            std::all_of(node->inputs.begin(), node->inputs.end(), [](const Value* value) { return value->node->is("prim::Constant"); });
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
        else
            for (Block* inner : node->blocks) block(inner);
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
    /// Lists and tensors are constants too where nobody writes to them and nobody outside gets them.
    bool usable(const Value* value) { return immutable(value->type) || (memory_ && !memory_->written(value)); }
    static bool draws(const Signature* signature) { return signature && signature->op && signature->op->functional->has(trait::Random); }

    void compute(Node* node) {
        if (node->is("prim::Constant") || node->outputs.empty() || !node->blocks.empty()) return;
        if (memory_ ? !std::all_of(node->outputs.begin(), node->outputs.end(), [&](const Value* each) { return usable(each); })
                    : node->outputs.size() != 1 || !immutable(node->output()->type))
            return;
        std::vector<Item> items;
        for (const Value* input : node->inputs) {
            const Item* item = constant_of(input);
            if (!item || !usable(input)) return;
            items.push_back(*item);
        }
        const Signature* signature = node->schema();
        std::vector<Item> results(1);
        if (node->is("prim::EnumName") || node->is("prim::EnumValue")) results[0] = items[0].instance().slots[node->is("prim::EnumValue")];
        else if (node->is("prim::TupleConstruct")) results[0] = Item::tuple(node->output()->type, items);
        else if (memory_ && node->is("prim::ListConstruct")) results[0] = Item::list(node->output()->type, items);
        else if (signature && signature->builtin && signature->effect == 'p' && !signature->variadic) {
            try {
                const size_t count = items.size();
                items.resize(std::max<size_t>(count, 1)); // the result has a place where there is no argument
                signature->builtin(items.data(), count);
            } catch (const std::exception&) { return; }
            results[0] = items[0];
        } else if (memory_ && signature && signature->op && !signature->effect && !draws(signature)) {
            if (!run_operator(node, *signature, items, results)) return;
        } else return;
        for (const Item& result : results)
            if (result.tensor_impl() && result.tensor().requires_grad()) return;
        Inserting at(*node->graph, node);
        for (size_t i = 0; i < node->outputs.size(); i++) {
            Value* made =
                node->graph
                    ->insert(node->graph->create_constant(results[i], results[i].tensor_impl() ? seen(results[i].tensor()) : nullptr))
                    ->output();
            if (results[i].is_none() || results[i].is(Item::Tag::List)) made->type = node->output(i)->type;
            node->output(i)->replace_uses(made);
        }
        changed_ = true;
    }
    static bool run_operator(const Node* node, const Signature& signature, const std::vector<Item>& items, std::vector<Item>& results) {
        std::vector<const Item*> inputs;
        std::vector<Item*> outputs;
        results.resize(node->outputs.size());
        for (const Item& item : items) inputs.push_back(&item);
        for (Item& result : results) outputs.push_back(&result);
        try {
            call_operator(signature, inputs.data(), inputs.size(), outputs.data(), outputs.size());
        } catch (const std::exception&) { return false; }
        return true;
    }
    std::optional<Aliases> memory_;
    bool changed_ = false;
};

/// Whether a constant tensor is given out or may be written to. Two of these stay two, equal or not: who writes to one must not change the
/// other.
bool is_exposed(const Value* value) {
    return value->type->is(TypeKind::Tensor) && std::any_of(value->uses.begin(), value->uses.end(), [](const Use& use) {
               return use.user->kind.compare(0, 6, "aten::") != 0 || use.user->kind.back() == '_';
           });
}

void pool(Block* block, std::vector<Node*>& known, bool& changed) {
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) pool(inner, known, changed);
        if (!node->is("prim::Constant")) return;
        const Item* function = node->attribute("name");
        const bool member = node->output()->type->is(TypeKind::Enum); // PyTorch has one for each place
        const auto same = member ? known.end() : std::find_if(known.begin(), known.end(), [&](const Node* other) {
            const Item* other_function = other->attribute("name");
            if (function || other_function)
                return function && other_function && node->function == other->function && *function == *other_function;
            return other->output()->type == node->output()->type && *constant_of(other->output()) == *constant_of(node->output()) &&
                   !(is_exposed(other->output()) && is_exposed(node->output()));
        });
        if (same != known.end()) {
            node->output()->replace_uses((*same)->output());
            node->destroy();
            changed = true;
            return;
        }
        known.push_back(node);
        Node* first = node->graph->block->first();
        if (node != first) node->move_before(first);
    });
}

} // namespace

bool propagate_constants(Graph& graph, bool immutable_only) { return Propagate(graph, immutable_only).run(graph); }

bool pool_constants(Graph& graph) {
    std::vector<Node*> known;
    bool changed = false;
    pool(graph.block, known, changed);
    return changed;
}

} // namespace kindling::script
