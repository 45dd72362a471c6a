// script/passes/dead_code.cpp: what nobody reads goes.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "script/passes/alias.h"

namespace kindling::script {

bool has_effects(const Node* node, bool writes) {
    static constexpr char kinds[][24] = {"prim::Print",   "prim::RaiseException", "prim::CallFunction", "prim::CallMethod",
                                         "prim::SetAttr", "prim::PythonOp",       "prim::Enter",        "prim::Exit",
                                         "prim::fork",    "aten::wait",           "aten::Delete"};
    for (const char* kind : kinds)
        if (node->kind == kind) return true;
    if (const Signature* signature = node->schema(); signature && (signature->effect == 'e' || (writes && signature->effect == 'w')))
        return true;
    for (const Block* block : node->blocks)
        for (const Node* each = block->first(); each != block->end; each = each->next)
            if (has_effects(each, writes)) return true;
    return false;
}

namespace {

class Sweep {
public:
    Sweep(Graph& graph, Dead which) : graph_(graph), which_(which) {
        if (which == Dead::ByMemory) memory_.emplace(graph);
    }
    bool run() {
        for (Value* value : graph_.block->outputs()) live(value);
        mark(graph_.block);
        sweep(graph_.block);
        return changed_;
    }

private:
    bool mark_node(Node* node) {
        if (!marked_.insert(node).second) return false;
        for (Node* above = node->block->owner; above && !marked_.count(above); above = above->block->owner) mark_node(above);
        for (Value* input : node->inputs) live(input);
        return true;
    }
    bool mark(Block* block) {
        bool any = false;
        for (Node* node = block->first(); node != block->end; node = node->next)
            if (which_ != Dead::Effects && has_effects(node, which_ == Dead::Plain)) any |= mark_node(node);
        any |= mark_end(block);
        for (Node* node = block->end->previous; node != block->parameters; node = node->previous) {
            if (node->is("prim::Loop"))
                for (bool more = true; more; any |= more) more = mark(node->blocks[0]);
            else
                for (Block* inner : node->blocks) any |= mark(inner);
            bool wanted = memory_ && std::any_of(node->inputs.begin(), node->inputs.end(),
                                                 [&](const Value* input) { return memory_->writes(node, input) && seen(input); });
            for (Value* output : node->outputs) wanted |= live_.count(output) != 0;
            if (wanted) any |= mark_node(node);
        }
        return any;
    }
    bool mark_end(Block* block) {
        if (!block->owner || marked_.count(block->end)) return false;
        Node* owner = block->owner;
        if (owner->is("prim::Loop")) {
            for (size_t i = 0; i < owner->outputs.size(); i++)
                if (live_.count(owner->outputs[i]) || !block->inputs()[i + 1]->uses.empty()) live(block->outputs()[i + 1]);
            live(block->outputs()[0]);
        } else
            for (size_t i = 0; i < owner->outputs.size(); i++)
                if (live_.count(owner->outputs[i])) live(block->outputs()[i]);
        marked_.insert(block->end);
        return true;
    }
    void sweep(Block* block) {
        for (Node *node = block->end->previous, *next; node != block->parameters; node = next) {
            if (node->is("prim::If")) {
                for (size_t i = node->outputs.size(); i-- > 0;)
                    if (node->outputs[i]->uses.empty()) {
                        changed_ = true;
                        node->erase_output(i);
                        for (Block* inner : node->blocks) inner->end->remove_input(i);
                    }
            } else if (node->is("prim::Loop")) {
                Block* body = node->blocks[0];
                for (size_t i = node->outputs.size(); i-- > 0;)
                    if (node->outputs[i]->uses.empty() && body->inputs()[i + 1]->uses.empty()) {
                        changed_ = true;
                        node->erase_output(i);
                        node->remove_input(i + 2);
                        body->parameters->erase_output(i + 1);
                        body->end->remove_input(i + 1);
                    }
            }
            for (Block* inner : node->blocks) sweep(inner);
            next = node->previous;
            if (!marked_.count(node) && !node->used()) {
                node->destroy();
                changed_ = true;
            }
        }
    }
    void live(Value* value) {
        live_.insert(value);
        if (memory_) places_.insert(memory_->place(value));
    }
    /// Whether what lies there can be read later.
    bool seen(const Value* value) { return memory_->outside(value) || places_.count(memory_->place(value)); }

    Graph& graph_;
    Dead which_;
    bool changed_ = false;
    std::optional<Aliases> memory_;
    std::unordered_set<size_t> places_;
    std::unordered_set<const Node*> marked_;
    std::unordered_set<const Value*> live_;
};

} // namespace

bool remove_dead(Graph& graph, Dead which) { return Sweep(graph, which).run(); }

} // namespace kindling::script
