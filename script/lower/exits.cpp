// script/lower/exits.cpp: to SSA. Stores and loads get the values that control flow carries, break and continue say what the loop goes on
// with, conditions of loops move into them, and what may leave a block early becomes structure: a flag, and the rest under an `if`.
#include <functional>
#include <set>

#include "script/lower/lower.h"

namespace kindling::script {
namespace {

const std::string& variable_of(const Node* node) { return node->attribute("name")->text(); }

/// Names by scope.
template <class T> struct Names {
    Names* above;
    std::unordered_map<std::string, T> here;
    T find(const std::string& name) const {
        for (const Names* scope = this; scope; scope = scope->above)
            if (const auto found = scope->here.find(name); found != scope->here.end()) return found->second;
        return nullptr;
    }
};

// ---- what control flow carries

using Types = Names<TypeRef>;

void block_output(Block* block, TypeRef type, const std::string& name) {
    block->add_output(block->append(block->graph->create_load(name, type))->output());
}
void node_output(Node* node, TypeRef type, const std::string& name) {
    Value* out = node->add_output(type);
    if (meaningful(name)) out->set_name(name);
    node->graph->create_store(name, out)->insert_after(node);
}

Types carry(Block* block, Types* above) {
    Types types{above, {}};
    for (Node* node = block->first(); node != block->end; node = node->next) {
        if (node->is("prim::Store")) types.here[variable_of(node)] = node->input()->type;
        else if (node->is("prim::ComprehensionScope")) carry(node->blocks[0], &types);
        else if (node->is("prim::If")) {
            Types sides[2] = {carry(node->blocks[0], &types), carry(node->blocks[1], &types)};
            std::set<std::string> changed;
            for (int side = 0; side < 2; side++)
                for (const auto& [name, type] : sides[side].here)
                    if (sides[1 - side].find(name)) changed.insert(name);
            for (const std::string& name : changed) {
                const TypeRef then = sides[0].find(name), otherwise = sides[1].find(name), both = unify(then, otherwise, true);
                block_output(node->blocks[0], then, name);
                block_output(node->blocks[1], otherwise, name);
                node_output(node, both, name);
            }
        } else if (node->is("prim::Loop")) {
            Block* body = node->blocks[0];
            const Types inside = carry(body, &types);
            for (const auto& [name, type] : inside.here) {
                const TypeRef before = types.find(name);
                if (!before) continue;
                const TypeRef both = unify(before, type, true);
                node->add_input(node->graph->create_load(name, before)->insert_before(node)->output());
                Value* input = body->add_input(type_of(TypeKind::Tensor));
                input->set_name(meaningful(name) ? name : "");
                node->graph->create_store(name, input->set_type(both))->insert_after(body->parameters);
                block_output(body, type, name);
                node_output(node, both, name);
            }
        }
    }
    return types;
}

// ---- break, continue, and the conditions of loops

Node* inline_before(Node* place, Block* block) {
    while (block->first() != block->end) block->first()->move_before(place);
    return place;
}

void continuations(Block* block, Node* loop, Value* no) {
    for (Node *node = block->first(), *next; node != block->end; node = next) {
        next = node->next;
        const bool goes_on = node->is("prim::ContinueStmt");
        if (node->is("prim::If") || node->is("prim::ComprehensionScope"))
            for (Block* inner : node->blocks) continuations(inner, loop, no);
        else if (node->is("prim::Loop")) continuations(node->blocks[0], node, no);
        else if (goes_on || node->is("prim::BreakStmt")) {
            Graph& graph = *block->graph;
            Node* made = graph.create("prim::LoopContinuation", {}, 0)->insert_after(node);
            if (goes_on) {
                Block* header = made->add_block();
                header->clone_from(loop->blocks[1], [](Value* value) { return value; });
                inline_before(node, header);
                made->add_input(header->outputs()[0]);
                made->erase_block(0);
            } else made->add_input(no);
            for (Value* out : loop->blocks[0]->outputs())
                made->add_input(graph.clone(out->node, [](Value* value) { return value; })->insert_before(made)->output());
            node->destroy();
        }
    }
}

void inline_conditions(Block* block) {
    for (Node* node = block->first(); node != block->end; node = node->next) {
        for (Block* inner : std::vector<Block*>(node->blocks)) inline_conditions(inner);
        if (!node->is("prim::Loop")) continue;
        Block *body = node->blocks[0], *header = node->blocks[1];
        Block* copy = node->add_block();
        copy->clone_from(header, [](Value* value) { return value; });
        inline_before(node, copy);
        node->insert_input(1, copy->outputs()[0]);
        node->erase_block(2);
        inline_before(body->end, header);
        body->end->insert_input(0, header->outputs()[0]);
        node->erase_block(1);
    }
}

// ---- stores and loads away

using Values = Names<Value*>;

void erase(Block* block, Values* above) {
    Values values{above, {}};
    for (Node *node = block->first(), *next; node != block->end; node = next) {
        next = node->next;
        if (node->is("prim::Store")) {
            values.here[variable_of(node)] = node->input();
            node->destroy();
        } else if (node->is("prim::Load")) {
            node->output()->replace_uses(values.find(variable_of(node)));
            node->destroy();
        } else {
            for (Block* inner : node->blocks) erase(inner, &values);
            if (!node->is("prim::ComprehensionScope")) continue;
            inline_before(node, node->blocks[0]);
            node->destroy();
        }
    }
}

// ---- with: between entering and leaving lies a block, so that what leaves early leaves the object too

void gather_with(Block* block) {
    for (Node* node = block->first(); node != block->end; node = node->next) {
        for (Block* inner : node->blocks) gather_with(inner);
        if (!node->is("prim::Enter")) continue;
        Node* exit = node->next;
        while (exit != block->end && !(exit->is("prim::Exit") && exit->input() == node->input())) exit = exit->next;
        if (exit == block->end) continue;
        Node* with = block->graph->create("prim::With", {}, 0)->insert_after(node);
        Block *body = with->add_block(), *leave = with->add_block();
        while (with->next != exit) with->next->move_before(body->end);
        exit->move_before(leave->end);
    }
}
void spread_with(Block* block) {
    for (Node *node = block->first(), *next; node != block->end; node = next) {
        next = node->next;
        for (Block* inner : node->blocks) spread_with(inner);
        if (!node->is("prim::With")) continue;
        inline_before(node, node->blocks[0]);
        inline_before(node, node->blocks[1]);
        node->destroy();
    }
}

// ---- exits

/// Whether a block was left, and what it gives then.
struct Exit {
    Value* left;
    std::vector<Value*> values;
};

class Exits {
public:
    explicit Exits(Graph& graph) : graph_(graph) {
        Inserting at(graph, graph.block->first());
        yes_ = graph.constant(Item(true));
        no_ = graph.constant(Item(false));
        throws_ = unit(type_of(TypeKind::Bool));
    }
    void run(const char* kind) {
        kind_ = kind;
        transform(graph_.block);
    }

private:
    /// A value that nobody reads.
    Value* unit(TypeRef type) {
        Value*& value = units_[type];
        if (!value) value = graph_.create_with("prim::Uninitialized", type)->insert_after(graph_.block->parameters)->output();
        return value;
    }
    std::vector<Value*> units(const std::vector<Value*>& like) {
        std::vector<Value*> all;
        for (const Value* value : like) all.push_back(unit(value->type));
        return all;
    }
    bool might(const Value* left) const { return left != yes_ && left != no_ && left != throws_; }

    static void if_outputs(Node* node, const std::vector<Value*>& then, const std::vector<Value*>& otherwise) {
        for (Value* value : then) node->blocks[0]->add_output(value);
        for (Value* value : otherwise) node->blocks[1]->add_output(value);
        for (size_t i = 0; i < then.size(); i++) node->add_output(unify(then[i]->type, otherwise[i]->type, true));
    }

    Exit transform_loop(Node* node) {
        Block* body = node->blocks[0];
        const Exit exit = transform(body);
        if (exit.left == no_ || exit.left == throws_) return {no_, {}};
        Node* check = body->append(graph_.create("prim::If", {}, 0));
        check->add_input(exit.left);
        check->add_block()->add_output(no_);
        check->add_block()->add_output(body->outputs()[0]);
        body->end->replace_input(0, check->add_output(type_of(TypeKind::Bool)));
        node->add_input(no_);
        body->add_input(type_of(TypeKind::Bool));
        body->add_output(exit.left);
        Exit made{node->add_output(type_of(TypeKind::Bool)), {}};
        for (Value* value : exit.values) {
            node->add_input(unit(value->type));
            made.values.push_back(node->add_output(value->type));
            body->add_input(value->type);
            body->add_output(value);
        }
        return made;
    }

    Exit transform_if(Node* node) {
        Exit sides[2] = {transform(node->blocks[0]), {}};
        sides[1] = transform(node->blocks[1]);
        Value *then = sides[0].left, *otherwise = sides[1].left;
        if (then == throws_ && otherwise == throws_) return {throws_, {}};
        const bool wont = (then == no_ || then == throws_) && (otherwise == no_ || otherwise == throws_);
        if (wont) return {no_, {}};
        const bool will = (then == yes_ || then == throws_) && (otherwise == yes_ || otherwise == throws_);
        if (then == no_ || then == throws_) sides[0].values = units(sides[1].values);
        else if (otherwise == no_ || otherwise == throws_) sides[1].values = units(sides[0].values);
        Exit made{yes_, {}};
        if (!will) {
            if_outputs(node, {then}, {otherwise});
            made.left = node->outputs.back();
        }
        if_outputs(node, sides[0].values, sides[1].values);
        made.values.assign(node->outputs.end() - static_cast<long>(sides[0].values.size()), node->outputs.end());
        return made;
    }

    Exit guard_rest(Block* block, const Exit& exit, Node* from) {
        Node* check = graph_.create("prim::If", {}, 0)->insert_before(from);
        check->add_input(exit.left);
        Block *left = check->add_block(), *rest = check->add_block();
        for (Node *node = from, *next; node != block->end; node = next) {
            next = node->next;
            node->move_before(rest->end);
        }
        const std::vector<Value*> unused = units(block->outputs()), outputs = block->outputs();
        for (size_t i = 0; i < outputs.size(); i++) {
            left->add_output(unused[i]);
            rest->add_output(outputs[i]);
            check->add_output(outputs[i]->type);
        }
        block->end->clear_inputs();
        for (Value* value : std::vector<Value*>(check->outputs)) block->add_output(value);
        graph_.create(kind_, exit.values, 0)->insert_before(left->end);
        return transform_if(check);
    }

    void delete_from(Block* block, Node* first) {
        while (first != block->end) {
            Node* last = block->end->previous;
            const bool done = last == first;
            for (Value* output : last->outputs)
                if (!output->uses.empty()) output->replace_uses(unit(output->type));
            last->destroy();
            if (done) break;
        }
    }

    Exit transform(Block* block) {
        Block* const old = target_;
        const bool loop = block->owner && block->owner->is("prim::Loop");
        if (loop ? kind_ == "prim::LoopContinuation" : !block->owner && kind_ == "prim::ReturnStmt") target_ = block;
        Exit exit{no_, {}};
        for (Node *node = block->first(), *next; node != block->end; node = next) {
            next = node->next;
            if (node->is("prim::RaiseException")) exit = {throws_, {}};
            else if (node->kind == kind_) {
                exit = {yes_, node->inputs};
                node->destroy();
            } else if (node->is("prim::If")) exit = transform_if(node);
            else if (node->is("prim::Loop")) exit = transform_loop(node);
            else if (node->is("prim::With")) exit = transform(node->blocks[0]);
            else continue;
            if (exit.left == yes_ || exit.left == throws_) {
                delete_from(block, next);
                break;
            }
            if (might(exit.left)) {
                if (next != block->end) exit = guard_rest(block, exit, next);
                break;
            }
        }
        if (target_ == block) {
            if (might(exit.left)) {
                Node* check = graph_.create("prim::If", {}, 0)->insert_before(block->end);
                check->add_block();
                check->add_block();
                check->add_input(exit.left);
                if_outputs(check, exit.values, block->outputs());
                exit.values = check->outputs;
                exit.left = yes_;
            }
            if (exit.left == yes_) {
                block->end->clear_inputs();
                for (Value* value : exit.values) block->add_output(value);
            }
            exit = {no_, {}};
        }
        target_ = old;
        return exit;
    }

    Graph& graph_;
    std::string kind_;
    Value *yes_, *no_, *throws_;
    std::unordered_map<TypeRef, Value*> units_;
    Block* target_ = nullptr;
};

/// `if x: return 1` and then `return 2` is one `if`: the second asks for what the first has just decided.
bool join_ifs(Node* first) {
    Node* second = first->next;
    if (!first->is("prim::If") || !second->is("prim::If") || second->input()->node != first) return false;
    const size_t place = second->input()->offset;
    const Item *then = constant_of(first->blocks[0]->outputs()[place]), *otherwise = constant_of(first->blocks[1]->outputs()[place]);
    if (!then || !otherwise || then->truth() == otherwise->truth()) return false;
    const bool takes[2] = {then->truth(), otherwise->truth()};
    for (size_t side = 0; side < 2; side++) {
        Block* block = first->blocks[side];
        block->clone_from(second->blocks[takes[side] ? 0 : 1],
                          [&](Value* value) { return value->node == first ? block->outputs()[value->offset] : value; });
    }
    for (Value* output : second->outputs) {
        Value* made = first->add_output(output->type)->copy_metadata(output);
        output->replace_uses(made);
    }
    second->destroy();
    return true;
}
void join_all(Block* block) {
    for (Node* node = block->first(); node != block->end;) {
        for (Block* inner : node->blocks) join_all(inner);
        if (!join_ifs(node)) node = node->next;
    }
}

} // namespace

void to_ssa(Graph& graph) {
    carry(graph.block, nullptr);
    Value* no;
    {
        Inserting at(graph, graph.block->first());
        no = graph.constant(Item(false));
    }
    continuations(graph.block, nullptr, no);
    inline_conditions(graph.block);
    erase(graph.block, nullptr);
    gather_with(graph.block);
    Exits(graph).run("prim::LoopContinuation");
    Exits(graph).run("prim::ReturnStmt");
    spread_with(graph.block);
    join_all(graph.block);
}

} // namespace kindling::script
