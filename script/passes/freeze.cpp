// script/passes/freeze.cpp: a module's attributes become constants of its methods' graphs, where nothing can change them; then what follows
// from that: branches that are known. What becomes part of weights is in fold.cpp.
#include "script/passes/freeze.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/thread_state.h"
#include "generated/functions.h"
#include "script/graph/class.h"
#include "script/passes/alias.h"
#include "script/trace/trace.h"

namespace kindling::script {
namespace {

void optimise(Graph& graph) {
    remove_dead(graph, Dead::ByMemory);
    share_common(graph);
    peephole(graph, false);
    if (propagate_constants(graph, false)) remove_dead(graph, Dead::ByMemory);
    pool_constants(graph);
    unroll_loops(graph, true);
    share_common(graph);
    if (propagate_constants(graph, false)) remove_dead(graph, Dead::ByMemory);
    unpack_made_tuples(graph);
    remove_dead(graph, Dead::ByMemory);
}

class Freezer {
public:
    Freezer(const Item& module, const std::vector<std::string>& preserved) : module_(module) {
        Class& of = *module.type()->definition;
        std::vector<std::string> methods;
        if (of.method("forward")) methods.push_back("forward");
        for (const std::string& name : preserved) {
            const size_t dot = name.find('.');
            if (of.place_of(name.substr(0, dot)) >= 0) keep(module_, name);
            else if (dot == std::string::npos && of.method(name)) {
                if (name != "forward") methods.push_back(name);
            } else fail(ErrorKind::Runtime, "Unknown name: %s", name.c_str());
        }
        for (const std::string& name : methods) made_.methods.emplace_back(name, inlined(*of.method(name)->graph));
    }

    Frozen run() {
        for (auto& [name, graph] : made_.methods) {
            optimise(*graph);
            find_written(*graph);
        }
        for (auto& [name, graph] : made_.methods) {
            fold(*graph, graph->block);
            optimise(*graph);
        }
        // Attributes that are read or set yet; modules below stay as they are.
        const Class& of = *module_.type()->definition;
        for (const Class::Attribute& each : of.attributes)
            if (kept_.count(each.name) || used(each.name)) made_.kept.push_back(each.name);
        return std::move(made_);
    }

private:
    using Place = std::pair<const Item::Object*, std::string>; // an attribute of an object

    void keep(const Item& object, const std::string& path) {
        const size_t dot = path.find('.');
        const std::string name = path.substr(0, dot);
        const int place = object.type()->definition->place_of(name);
        if (place < 0) fail(ErrorKind::Runtime, "Unknown name: %s", name.c_str());
        if (&object == &module_) kept_.insert(name);
        const Item& value = object.instance().slots[static_cast<size_t>(place)];
        if (dot != std::string::npos && value.is(Item::Tag::Instance)) return keep(value, path.substr(dot + 1));
        fixed_.insert({object.object(), name});
        if (value.is(Item::Tag::Instance)) keep_all(value);
    }
    void keep_all(const Item& object) {
        if (!whole_.insert(object.object()).second) return;
        for (const Item& slot : object.instance().slots)
            if (slot.is(Item::Tag::Instance) && slot.type()->definition) keep_all(slot);
    }

    /// The object that a value is, where it is the module or one below it.
    const Item* object_of(const Value* value, std::string* path = nullptr) const {
        const Node* node = value->node;
        if (node->is("prim::Param")) {
            if (value->offset || node->block->owner) return nullptr;
            if (path) *path = "self";
            return &module_;
        }
        if (!node->is("prim::GetAttr")) return nullptr;
        const Item* of = object_of(node->input(), path);
        const Item* held = of ? slot(*of, node->attribute("name")->text()) : nullptr;
        if (!held || !held->is(Item::Tag::Instance)) return nullptr;
        if (path) *path += "." + node->attribute("name")->text();
        return held;
    }
    static const Item* slot(const Item& object, const std::string& name) {
        const int place = object.type()->definition->place_of(name);
        return place < 0 ? nullptr : &object.instance().slots[static_cast<size_t>(place)];
    }

    void find_written(Graph& graph) {
        Aliases memory(graph, true);
        const std::function<void(Block*)> look = [&](Block* block) {
            each_node(block, [&](Node* node) {
                for (Block* inner : node->blocks) look(inner);
                if (node->is("prim::SetAttr")) {
                    if (const Item* of = object_of(node->input())) fixed_.insert({of->object(), node->attribute("name")->text()});
                } else if (node->is("prim::GetAttr")) {
                    const Item* of = object_of(node->input());
                    const Item* value = of ? slot(*of, node->attribute("name")->text()) : nullptr;
                    if (!value || !memory.written(node->output())) return;
                    fixed_.insert({of->object(), node->attribute("name")->text()});
                    if (value->tensor_impl()) storages_.insert(value->tensor_impl()->storage);
                } else { // who gets a whole module may do anything with it
                    for (const Value* input : node->inputs)
                        if (const Item* of = object_of(input)) keep_all(*of);
                }
            });
            for (const Value* output : block->outputs())
                if (const Item* of = object_of(output)) keep_all(*of);
        };
        look(graph.block);
    }

    void fold(Graph& graph, Block* block) {
        each_node(block, [&](Node* node) {
            for (Block* inner : node->blocks) fold(graph, inner);
            if (!node->is("prim::GetAttr")) return;
            std::string path;
            const Item* of = object_of(node->input(), &path);
            const std::string& name = node->attribute("name")->text();
            const Item* value = of ? slot(*of, name) : nullptr;
            if (!value || whole_.count(of->object()) || fixed_.count({of->object(), name})) return;
            if (value->is(Item::Tag::Instance) || value->is(Item::Tag::Foreign) || value->is(Item::Tag::Future)) return;
            if (value->tensor_impl() && storages_.count(value->tensor_impl()->storage)) return;
            Value*& made = constants_[&graph][{of->object(), name}];
            if (!made) {
                Item constant = *value;
                TypeRef type = node->output()->type;
                if (value->tensor_impl()) {
                    constant = Item(value->tensor().detach());
                    type = seen(constant.tensor());
                }
                Inserting at(graph, graph.block->first());
                made = graph.insert(graph.create_constant(constant, type))->output();
                made->set_name(path + "." + name);
            }
            node->output()->replace_uses(made);
            node->destroy();
        });
    }

    bool used(const std::string& name) const {
        const std::function<bool(const Block*)> look = [&](const Block* block) {
            for (const Node* node = block->first(); node != block->end; node = node->next) {
                const bool reads = node->is("prim::GetAttr") || node->is("prim::SetAttr");
                if (reads && object_of(node->input()) == &module_ && node->attribute("name")->text() == name) return true;
                if (!reads)
                    for (const Value* input : node->inputs)
                        if (object_of(input) == &module_) return true;
                for (const Block* inner : node->blocks)
                    if (look(inner)) return true;
            }
            return false;
        };
        return std::any_of(made_.methods.begin(), made_.methods.end(), [&](const auto& method) { return look(method.second->block); });
    }

    const Item& module_;
    Frozen made_;
    std::set<std::string> kept_;
    std::set<Place> fixed_; // not to be folded
    std::unordered_set<const void*> whole_, storages_;
    std::unordered_map<const Graph*, std::map<Place, Value*>> constants_;
};

// ---- what follows

bool remove_dropout(Block* block) {
    bool changed = false;
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) changed |= remove_dropout(inner);
        bool drops = false;
        for (const char* kind : {"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"})
            drops |= node->is(kind);
        const Item* train = drops && node->inputs.size() >= 3 ? constant_of(node->input(2)) : nullptr;
        if (!train || train->truth()) return;
        node->output()->replace_uses(node->input());
        node->destroy();
        changed = true;
    });
    return changed;
}

} // namespace

Frozen freeze(const Item& module, const std::vector<std::string>& preserved) {
    NoGradGuard off;
    return Freezer(module, preserved).run();
}

bool optimise_frozen(Graph& graph, bool numerics) {
    NoGradGuard off;
    bool changed = remove_dropout(graph.block);
    if (numerics)
        while (fold_frozen_conv_bn(graph) | fold_frozen_conv_add_or_sub(graph) | fold_frozen_conv_mul_or_div(graph) |
               fold_frozen_linear_bn(graph))
            changed = true;
    return changed;
}

} // namespace kindling::script
