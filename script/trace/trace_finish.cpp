// script/trace/trace_finish.cpp: what was written down while a function ran, as a graph that others can run: what modules did becomes
// methods of theirs, or stands in line where there is no module; dead code goes.
//
// The order of steps is PyTorch's (torch/csrc/jit/passes/fixup_trace_scope_blocks.cpp), because values are numbered as they are made.
#include "script/graph/class.h"
#include "script/passes/passes.h"
#include "script/trace/trace.h"

namespace kindling::script {
namespace {

bool is_scope(const Node* node) { return node->is("prim::TracedModuleForward"); }
const std::string& scope_of(const Node* node) { return node->attribute("scope")->text(); }

// ---- tensors and modules of the module that is traced

/// Values of prim::TracedAttr, which know the whole path to what they stand for, become attributes of the nearest module.
class Attributes {
public:
    explicit Attributes(Graph& graph) : graph_(graph) {
        each_node(graph.block, [&](Node* node) {
            if (node->is("prim::TracedAttr")) by_path_[scope_of(node)] = node->output();
        });
    }
    void run() {
        give_self(graph_.block);
        local(graph_.block, "__module", graph_.block->inputs()[0]);
        for (const auto& [path, value] : by_path_) value->node->destroy();
    }

private:
    Value* self_of(const std::string& path) { return path == "__module" ? graph_.block->inputs()[0] : by_path_.at(path); }

    void give_self(Block* block) {
        each_node(block, [&](Node* node) {
            if (!is_scope(node)) return;
            Value* self = self_of(scope_of(node));
            node->add_input(self);
            node->blocks[0]->add_input(self->type)->set_name("self");
            give_self(node->blocks[0]);
        });
    }

    /// Gives the values of attributes from outside of `prefix`, which the block takes as inputs.
    std::vector<Value*> local(Block* block, const std::string& prefix, Value* self) {
        std::vector<Value*> outside;
        std::unordered_map<const Value*, Value*> known;
        const auto visit = [&](Node* node) {
            if (is_scope(node))
                for (Value* value : local(node->blocks[0], scope_of(node), node->blocks[0]->inputs()[0])) node->add_input(value);
            for (size_t i = 0; i < node->inputs.size(); i++) {
                Value* input = node->inputs[i];
                if (const auto found = known.find(input); found != known.end()) {
                    node->replace_input(i, found->second);
                    continue;
                }
                if (!input->node->is("prim::TracedAttr")) continue;
                const std::string& path = scope_of(input->node);
                if (path.compare(0, prefix.size(), prefix) == 0 && path.size() > prefix.size() && path[prefix.size()] == '.') {
                    Inserting front(graph_, block->first());
                    Value* value = self;
                    for (size_t at = prefix.size() + 1; at <= path.size();) {
                        const size_t end = std::min(path.find('.', at), path.size());
                        value = attribute(value, path.substr(at, end - at));
                        at = end + 1;
                    }
                    known[input] = value;
                } else if (path == prefix) {
                    known[input] = self;
                } else {
                    known[input] = block->add_input(input->type)->copy_metadata(input);
                    outside.push_back(input);
                }
                node->replace_input(i, known[input]);
            }
        };
        each_node(block, visit);
        visit(block->end);
        return outside;
    }

    Value* attribute(Value* of, const std::string& name) {
        const Class* definition = of->type->definition;
        const int place = definition ? definition->place_of(name) : -1;
        Value* made =
            graph_
                .insert(graph_.create_with(
                    "prim::GetAttr", place < 0 ? type_of(TypeKind::Tensor) : definition->attributes[static_cast<size_t>(place)].type, {of}))
                ->output();
        made->node->attributes.push_back({"name", Item(name), {}});
        made->node->scope.clear();
        return made->set_name(std::isdigit(static_cast<unsigned char>(name[0])) ? "_" + name : name);
    }

    Graph& graph_;
    std::unordered_map<std::string, Value*> by_path_;
};

// ---- what is used outside of the module that made it

class Lift {
public:
    void run(Block* block) {
        for (Node* node = block->first(); node != block->end; node = node->next) visit(node, block);
        visit(block->end, block);
    }

private:
    void visit(Node* node, Block* block) {
        for (size_t i = 0; i < node->inputs.size(); i++) {
            Value* input = node->inputs[i];
            if (const auto found = lifted_.find(input); found != lifted_.end()) node->replace_input(i, input = found->second);
            if (input->node->block == block) continue;
            Value* value = input;
            for (Block* at = input->node->block; !holds(at, block); at = at->owner->block) {
                at->add_output(value);
                value = at->owner->add_output(value->type);
            }
            lifted_[node->inputs[i]] = value;
            node->replace_input(i, value);
        }
        for (Block* inner : node->blocks) run(inner);
    }
    static bool holds(const Block* outer, const Block* block) {
        for (; block; block = block->owner ? block->owner->block : nullptr)
            if (block == outer) return true;
        return false;
    }
    std::unordered_map<const Value*, Value*> lifted_;
};

/// A module gives one thing: a tuple of many, None for none.
void give_one(Graph& graph, Block* block) {
    each_node(block, [&](Node* node) {
        if (!is_scope(node)) return;
        Block* inner = node->blocks[0];
        give_one(graph, inner);
        if (inner->outputs().empty()) {
            Inserting at(inner);
            inner->add_output(graph.constant({}));
            node->add_output(type_of(TypeKind::None));
        } else if (inner->outputs().size() > 1) {
            std::vector<TypeRef> types;
            for (const Value* value : inner->outputs()) types.push_back(value->type);
            {
                Inserting at(inner);
                Value* tuple = graph.insert(graph.create_with("prim::TupleConstruct", tuple_of(types), inner->outputs()))->output();
                inner->end->clear_inputs();
                inner->add_output(tuple);
            }
            Value* tuple = node->add_output(tuple_of(types));
            Node* unpack = graph.create("prim::TupleUnpack", {tuple}, 0)->insert_after(node);
            for (TypeRef type : types) unpack->add_output(type);
            for (size_t i = types.size(); i-- > 0;) {
                node->output(i)->replace_uses(unpack->output(i));
                node->erase_output(i);
            }
        }
    });
}

void put_in_line(Block* block) {
    each_node(block, [&](Node* node) {
        for (Block* inner : node->blocks) put_in_line(inner);
        if (!is_scope(node)) return;
        Block* inner = node->blocks[0];
        while (inner->first() != inner->end) inner->first()->move_before(node);
        for (size_t i = 0; i < node->outputs.size(); i++) node->output(i)->replace_uses(inner->outputs()[i]);
        node->destroy();
    });
}

// ---- methods

/// Graphs of their own, with inputs for what they take from around them.
void to_graphs(Block* block, std::unordered_map<Node*, std::shared_ptr<Graph>>& graphs) {
    each_node(block, [&](Node* node) {
        if (!is_scope(node)) return;
        to_graphs(node->blocks[0], graphs);
        auto graph = std::make_shared<Graph>();
        std::unordered_map<const Value*, Value*> outer;
        std::unordered_map<Node*, Node*> copies;
        graph->block->clone_from(node->blocks[0], [&](Value* value) {
            Value*& made = outer[value];
            if (!made) {
                made = graph->block->add_input(value->type)->copy_metadata(value);
                node->add_input(value);
            }
            return made;
        });
        // The graphs of what was called inside go along with their copies.
        Node* copy = graph->block->first();
        for (Node* each = node->blocks[0]->first(); each != node->blocks[0]->end; each = each->next, copy = copy->next)
            if (const auto found = graphs.find(each); found != graphs.end()) graphs[copy] = found->second;
        graphs[node] = graph;
        node->erase_block(0);
    });
}

void to_calls(Graph& graph, std::unordered_map<Node*, std::shared_ptr<Graph>>& graphs, std::vector<Graph*>& all) {
    each_node(graph.block, [&](Node* node) {
        if (!is_scope(node)) return;
        const std::shared_ptr<Graph> inner = graphs.at(node);
        to_calls(*inner, graphs, all);
        all.push_back(inner.get());
        Class* of = node->input()->type->definition;
        std::string name = "forward";
        for (int i = 1; of->methods.count(name); i++) name = "forward" + std::to_string(i);
        const Function* method = add_method(*of, name, inner);
        Inserting at(graph, node);
        Node* call = graph.create_with("prim::CallMethod", method->signature.results[0].type, node->inputs);
        call->attributes.push_back({"name", Item(name), {}});
        node->output()->replace_uses(graph.insert(call)->output());
        node->destroy();
    });
}

void clean(Graph& graph) {
    unpack_made_tuples(graph);
    remove_dead(graph, Dead::ByMemory);
}

} // namespace

Signature signature_of_graph(const Graph& graph, const std::string& name) {
    Signature made;
    made.name = name;
    for (const Value* input : graph.block->inputs()) {
        Formal formal;
        formal.name = input->given.empty() ? "argument_" + std::to_string(input->offset) : base_name(input->given);
        formal.type = unseen(input->type);
        made.formals.push_back(std::move(formal));
    }
    Formal result;
    const std::vector<Value*>& outputs = graph.block->outputs();
    std::vector<TypeRef> types;
    for (const Value* output : outputs) types.push_back(unseen(output->type));
    result.type = types.size() == 1 ? types[0] : tuple_of(std::move(types));
    made.results.push_back(std::move(result));
    return made;
}

Function* add_method(Class& of, const std::string& name, std::shared_ptr<Graph> graph) {
    Function* method = new Function; // the class keeps it, and classes live for ever
    method->name = of.name + "." + name;
    method->signature = signature_of_graph(*graph, name);
    method->graph = std::move(graph);
    return of.methods[name] = method;
}

void finish_trace(Tracer& tracer, bool has_self) {
    Graph& graph = *tracer.graph;
    if (has_self) Attributes(graph).run();
    Lift().run(graph.block);
    give_one(graph, graph.block);
    if (!has_self) put_in_line(graph.block);
    else {
        std::unordered_map<Node*, std::shared_ptr<Graph>> graphs;
        std::vector<Graph*> all;
        to_graphs(graph.block, graphs);
        to_calls(graph, graphs, all);
        for (Graph* each : all) clean(*each);
    }
    clean(graph);
}

std::shared_ptr<Graph> canonical(const Graph& graph) {
    const std::shared_ptr<Graph> flat = inlined(graph);
    const std::shared_ptr<Graph> made = copy_of(*flat);
    const std::function<void(Block*)> plain = [&](Block* block) {
        for (Value* value : block->inputs()) value->type = unseen(value->type);
        each_node(block, [&](Node* node) {
            for (Value* value : node->outputs) {
                value->set_name("");
                value->type = unseen(value->type);
            }
            for (Block* inner : node->blocks) plain(inner);
        });
    };
    plain(made->block);
    return made;
}

} // namespace kindling::script
