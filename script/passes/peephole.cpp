// script/passes/peephole.cpp: what a node and those that it reads give more simply.
#include "script/builtins/builtins.h"
#include "script/graph/codes.h"
#include "script/passes/alias.h"

namespace kindling::script {
namespace {

bool is_number(const Value* value, int64_t number) {
    const Item* item = constant_of(value);
    return item && item->is(Item::Tag::Int) && item->integer() == number;
}
bool may_be_none(const Value* value) {
    switch (value->type->kind) {
    case TypeKind::None:
    case TypeKind::Optional:
    case TypeKind::Union:
    case TypeKind::Any:
    case TypeKind::Var: return true;
    default: return false;
    }
}

class Peephole {
public:
    Peephole(Graph& graph, bool tensors, bool shapes) : graph_(graph), tensors_(tensors), shapes_(shapes), memory_(graph) {}

    bool run() {
        block(graph_.block);
        return changed_;
    }

private:
    void block(Block* block) {
        each_node(block, [&](Node* node) {
            for (Block* inner : node->blocks) this->block(inner);
            visit(node);
        });
    }
    void replace(Value* value, Value* by) {
        value->replace_uses(by);
        changed_ = true;
    }
    void constant(Node* node, const Item& item) {
        Inserting at(graph_, node);
        replace(node->output(), graph_.constant(item));
    }
    /// Of values with memory: only if nobody can tell them apart.
    void stand_in(Value* value, Value* by) {
        if (memory_.interchangeable(value, by)) replace(value, by);
    }

    void visit(Node* node) {
        const auto is = [&](const char* kind) { return node->is(kind); };
        if (is("prim::If")) return choice(node);
        if (node->inputs.empty()) return;
        if (node->outputs.size() != 1) return is("prim::ListUnpack") ? list(node) : void();
        Value* input = node->input();
        if (is("aten::__is__") || is("aten::__isnot__")) {
            for (size_t i = 0; i < 2; i++)
                if (must_be_none(node->input(i)) && !may_be_none(node->input(1 - i))) return constant(node, Item(is("aten::__isnot__")));
        } else if (is("aten::_unwrap_optional") || is("prim::unchecked_unwrap_optional")) {
            if (!may_be_none(input)) replace(node->output(), input);
        } else if (is("prim::unchecked_cast")) {
            if (is_subtype(unseen(input->type), unseen(node->output()->type))) replace(node->output(), input);
        } else if (is("aten::Int")) {
            if (input->type->is(TypeKind::Int)) replace(node->output(), input);
            else if (tensors_ && input->node->is("prim::NumToTensor") && input->node->input()->type->is(TypeKind::Int))
                replace(node->output(), input->node->input());
        } else if (node->output()->type->is(TypeKind::Int) && node->inputs.size() == 2 && input->type->is(TypeKind::Int) &&
                   node->input(1)->type->is(TypeKind::Int)) {
            numbers(node);
        } else if (input->node->is("prim::ListConstruct")) {
            list(node);
        } else if (tensors_) tensor(node);
    }

    void choice(Node* node) {
        for (size_t i = 0; i < node->outputs.size(); i++) {
            const Item *then = constant_of(node->blocks[0]->outputs()[i]), *otherwise = constant_of(node->blocks[1]->outputs()[i]);
            if (!node->output(i)->type->is(TypeKind::Bool) || node->output(i)->uses.empty() || !then || !otherwise) continue;
            if (then->truth() && !otherwise->truth()) replace(node->output(i), node->input());
        }
    }

    void numbers(Node* node) {
        const bool add = node->is("aten::add"), sub = node->is("aten::sub"), mul = node->is("aten::mul");
        if ((add || mul) && is_number(node->input(0), add ? 0 : 1)) return replace(node->output(), node->input(1));
        if (((add || sub) && is_number(node->input(1), 0)) || ((mul || node->is("aten::floordiv")) && is_number(node->input(1), 1)))
            return replace(node->output(), node->input(0));
        Node* before = node->input()->node;
        const bool added = before->is("aten::add");
        if ((!add && !sub) || (!added && !before->is("aten::sub")) || before->inputs.size() != 2 ||
            !before->output()->type->is(TypeKind::Int))
            return;
        const Item *outer = constant_of(node->input(1)), *inner = constant_of(before->input(1));
        if (!outer || !inner) return;
        Inserting at(graph_, node);
        int64_t together;
        if (add == added ? __builtin_add_overflow(outer->integer(), inner->integer(), &together)
                         : __builtin_sub_overflow(outer->integer(), inner->integer(), &together))
            return;
        node->replace_input(0, before->input());
        node->replace_input(1, graph_.constant(Item(together)));
        changed_ = true;
    }

    void list(Node* node) {
        Node* made = node->input()->node;
        if (!made->is("prim::ListConstruct") || memory_.written(made->output())) return;
        const std::vector<Value*>& items = made->inputs;
        const int64_t length = static_cast<int64_t>(items.size());
        if (node->is("aten::len")) return constant(node, Item(length));
        if (node->is("prim::ListUnpack")) {
            if (node->outputs.size() != items.size()) return;
            for (size_t i = 0; i < items.size(); i++) replace(node->output(i), items[i]);
        } else if (node->is("aten::__getitem__")) {
            const Item* place = constant_of(node->input(1));
            const int64_t at = place && place->is(Item::Tag::Int) ? place->integer() + (place->integer() < 0 ? length : 0) : -1;
            if (at >= 0 && at < length) replace(node->output(), items[static_cast<size_t>(at)]);
        } else if (node->is("aten::add") && node->input(1)->node->is("prim::ListConstruct") && !memory_.written(node->input(1))) {
            std::vector<Value*> both = items;
            both.insert(both.end(), node->input(1)->node->inputs.begin(), node->input(1)->node->inputs.end());
            join(node, both);
        } else if (node->is("aten::slice") && node->inputs.size() == 4) {
            std::vector<Item> given; // start, end and step
            for (size_t i = 1; i < 4; i++) {
                const Item* item = constant_of(node->input(i));
                if (!item) return;
                given.push_back(*item);
            }
            if (given[2].is(Item::Tag::Int) && given[2].integer() == 0) return; // is refused when it runs
            const Bounds bounds = slice_bounds(given.data(), length);
            std::vector<Value*> taken;
            for (int64_t i = 0; i < bounds.count; i++) taken.push_back(items[static_cast<size_t>(bounds.start + i * bounds.step)]);
            join(node, taken);
        }
    }
    void join(Node* node, const std::vector<Value*>& items) {
        if (memory_.written(node->output())) return;
        Inserting at(graph_, node);
        replace(node->output(), graph_.insert(graph_.create_with("prim::ListConstruct", node->output()->type, items))->output());
    }

    void tensor(Node* node) {
        Value* input = node->input();
        const auto seen = [](const Value* value, const char* what) {
            return value->type->is(TypeKind::Tensor) && value->type->name.find(what) != std::string::npos;
        };
        if (node->is("aten::mul") && is_number(node->input(1), 1) && input->type->is(TypeKind::Tensor))
            return stand_in(node->output(), input);
        if ((node->is("aten::add") || node->is("aten::sub")) && node->inputs.size() == 3 && is_number(node->input(1), 0) &&
            is_number(node->input(2), 1) && input->type->is(TypeKind::Tensor))
            return stand_in(node->output(), input);
        if (node->is("aten::t") && input->node->is("aten::t")) return stand_in(node->output(), input->node->input());
        if (node->is("aten::dim")) {
            for (const char* kind : {"aten::conv1d", "aten::conv2d", "aten::conv3d"})
                if (input->node->is(kind) && !memory_.written(input)) return constant(node, Item(static_cast<int64_t>(kind[10] - '0' + 2)));
        }
        if (!shapes_ || !seen(input, "requires_grad=")) return;
        if (node->is("aten::type_as") && input->type == node->input(1)->type) return replace(node->output(), input);
        const std::string& text = input->type->name;
        const std::string dtype = text.substr(0, text.find('('));
        if (node->is("aten::is_floating_point") || node->is("aten::is_complex")) {
            const bool complex = dtype.find("Complex") != std::string::npos,
                       floats = !complex && (dtype == "Half" || dtype == "BFloat16" || dtype == "Float" || dtype == "Double");
            return constant(node, Item(node->is("aten::is_complex") ? complex : floats));
        }
        if (node->is("prim::device") && seen(input, "device=cpu")) return constant(node, Item(Device{}));
        if (node->is("prim::dtype")) {
            for (int i = 0; i < dtype_count; i++)
                if (dtype == scalar_type_name(static_cast<DType>(i))) return constant(node, Item(code_of(static_cast<DType>(i))));
        }
        std::vector<Item> sizes;
        for (size_t at = text.find('(') + 1; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
             at = text.find(", ", at) + 2)
            sizes.emplace_back(static_cast<int64_t>(std::strtoll(text.c_str() + at, nullptr, 10)));
        if (memory_.written(input)) return; // it may be resized
        if (node->is("aten::dim")) return constant(node, Item(static_cast<int64_t>(sizes.size())));
        if (!node->is("aten::size")) return;
        if (node->inputs.size() == 1) {
            if (memory_.written(node->output())) return;
            Inserting at(graph_, node);
            return replace(node->output(), graph_.constant(Item::list(list_of(type_of(TypeKind::Int)), std::move(sizes))));
        }
        const Item* place = constant_of(node->input(1));
        const int64_t at = place ? place->integer() + (place->integer() < 0 ? static_cast<int64_t>(sizes.size()) : 0) : -1;
        if (at >= 0 && at < static_cast<int64_t>(sizes.size())) constant(node, sizes[static_cast<size_t>(at)]);
    }

    Graph& graph_;
    bool tensors_, shapes_, changed_ = false;
    Aliases memory_;
};

} // namespace

bool peephole(Graph& graph, bool shapes) {
    const bool changed = Peephole(graph, true, shapes).run();
    if (changed) remove_dead(graph);
    return changed;
}
bool peephole_numbers(Graph& graph) { return Peephole(graph, false, false).run(); }

} // namespace kindling::script
