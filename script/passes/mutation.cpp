// script/passes/mutation.cpp: writes become new values, where nobody can tell.
#include "core/operator.h"
#include "script/passes/alias.h"

namespace kindling::script {
namespace {

/// "aten::add" of "aten::add_"; "" if that is no operator that writes to its first argument.
std::string functional(const Node* node) {
    const std::string& kind = node->kind;
    if (kind == "aten::fill_") return "aten::full_like";
    if (kind == "aten::zero_") return "aten::zeros_like";
    if (kind.size() < 8 || kind.back() != '_' || kind[kind.size() - 2] == '_') return "";
    const std::string name = kind.substr(0, kind.size() - 1);
    return signatures_of(name).empty() ? "" : name;
}

class Removal {
public:
    explicit Removal(Graph& graph) : graph_(graph), memory_(graph) {}
    bool run() {
        lists(graph_.block);
        return tensors(graph_.block);
    }

private:
    /// The node that made what is written to: in the same block, new memory, and nobody had it before it was written to.
    bool made_here(Node* node) {
        Value* self = node->input();
        Node* made = self->node;
        if (made->block != node->block || made->is("prim::Param") || made->is("prim::Constant") || made->is("prim::If") ||
            made->is("prim::Loop"))
            return false;
        // All that shares the memory comes from here and is passed on by writes alone.
        for (const Value* input : made->inputs)
            if (memory_.share(input, self) && !replaced_.count(made)) return false;
        return !shared(self, graph_.block);
    }
    /// Whether another value than `self`, and than what writes to it gave, shares its memory.
    bool shared(const Value* self, Block* block) {
        for (const Value* input : block->inputs())
            if (memory_.share(input, self)) return true;
        for (Node* each = block->first(); each != block->end; each = each->next) {
            for (const Value* output : each->outputs)
                if (output != self && memory_.share(output, self) && functional(each).empty() && !each->is("aten::append")) return true;
            for (Block* inner : each->blocks)
                if (shared(self, inner)) return true;
        }
        return false;
    }

    bool lists(Block* block) {
        bool changed = false;
        each_node(block, [&](Node* node) {
            for (Block* inner : node->blocks) changed |= lists(inner);
            if (!node->is("aten::append") || node->input()->node->block != block || !node->input()->node->is("prim::ListConstruct")) return;
            Node* list = node->input()->node;
            if (shared(list->output(), graph_.block)) return;
            for (Node* between = list->next; between != node; between = between->next)
                for (const Value* input : between->inputs)
                    if (input == list->output()) return;
            for (const Value* input : node->inputs)
                if (input == list->output() && input != node->input()) return;
            // Made where it was written to: what is appended is known by then.
            list->add_input(node->input(1));
            list->move_before(node);
            if (!node->outputs.empty()) node->output()->replace_uses(list->output());
            node->destroy();
            changed = true;
        });
        return changed;
    }
    bool tensors(Block* block) {
        bool changed = false;
        each_node(block, [&](Node* node) {
            for (Block* inner : node->blocks) changed |= tensors(inner);
            const std::string name = functional(node);
            const bool fill = node->is("aten::fill_"), zero = node->is("aten::zero_");
            if (name.empty() || node->inputs.empty() || node->outputs.size() != 1 || !made_here(node)) return;
            Inserting at(graph_, node);
            Value *self = node->input(), *made;
            if (fill || zero) {
                std::vector<Value*> arguments = {self};
                if (fill) {
                    arguments.push_back(node->input(1));
                    arguments.push_back(graph_.insert(graph_.create_with("prim::dtype", type_of(TypeKind::Int), {self}))->output());
                }
                while (arguments.size() < (fill ? 7 : 6)) arguments.push_back(graph_.constant({}));
                made = graph_.insert(graph_.create(name, arguments))->output();
            } else made = graph_.insert(graph_.create(name, node->inputs))->output();
            made->type = self->type;
            made->node->range = node->range;
            made->node->scope = node->scope;
            replaced_.insert(made->node);
            // What reads the memory later reads the new value.
            const std::vector<Use> uses = self->uses;
            for (const Use& use : uses)
                if (use.user != node && before(node, use.user)) use.user->replace_input(use.offset, made);
            node->output()->replace_uses(made);
            node->destroy();
            changed = true;
        });
        return changed;
    }
    Graph& graph_;
    Aliases memory_;
    std::unordered_set<const Node*> replaced_;
};

void out_of_place(Block* block) {
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) out_of_place(inner);
        bool known = false;
        for (const char* kind : {"aten::add_", "aten::sub_", "aten::mul_", "aten::div_"}) known |= node->is(kind);
        if (!known || node->outputs.size() != 1) return;
        const std::string name = functional(node);
        Graph& graph = *node->graph;
        Inserting at(graph, node);
        Node* made = graph.insert(graph.create(name, node->inputs));
        made->output()->type = node->output()->type;
        made->range = node->range;
        node->output()->replace_uses(made->output());
        node->destroy();
    });
}

} // namespace

bool remove_mutation(Graph& graph) { return Removal(graph).run(); }
bool remove_inplace_ops(Graph& graph) {
    out_of_place(graph.block);
    return true;
}

} // namespace kindling::script
