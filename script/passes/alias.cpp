// script/passes/alias.cpp: unions of what may be the same memory, by what schemas say of aliases and writes.
#include "script/passes/alias.h"

#include "core/operator.h"

namespace kindling::script {
namespace {

/// The letter of "Tensor(a!)" or "t[](b -> *)", 0 if nothing is said; `writes`: whether it is written to.
char mark(const std::string& written, bool& writes) {
    writes = written.find('!') != std::string::npos;
    for (size_t at = written.find('('); at != std::string::npos; at = written.find('(', at + 1)) {
        const char letter = written[at + 1], after = written[at + 2];
        if (letter == '*' || (letter >= 'a' && letter <= 'z' && (after == ')' || after == '!' || after == ' ' || after == '|')))
            return letter;
    }
    return writes ? '!' : 0;
}

} // namespace

Aliases::Aliases(Graph& graph, bool apart) : apart_(apart) {
    for (const Value* input : graph.block->inputs()) to_outside(input);
    visit(graph.block);
    for (const Value* output : graph.block->outputs()) seen_.push_back(own(output));
    for (size_t each : write_) written_.insert(root(each));
    for (size_t each : seen_) outside_.insert(root(each));
    written_.erase(0);
    outside_.erase(0);
}

size_t Aliases::own(const Value* value) {
    const auto found = places_.find(value);
    if (found != places_.end()) return found->second;
    size_t made = 0;
    if (!immutable(value->type)) {
        made = up_.size();
        up_.push_back(made);
    }
    return places_[value] = made;
}
size_t Aliases::of_type(TypeRef type) {
    type = unseen(type);
    if (type->is(TypeKind::Optional)) return of_type(type->element());
    if (immutable(type)) return 0;
    if (type->is(TypeKind::Tensor)) type = type_of(TypeKind::Tensor);
    const auto found = types_.find(type);
    if (found != types_.end()) return found->second;
    const size_t made = up_.size();
    up_.push_back(made);
    seen_.push_back(made);
    types_[type] = made;
    for (TypeRef part : type->parts) join(made, of_type(part));
    if (type->is(TypeKind::Class) || type->is(TypeKind::Any)) join(made, of_type(type_of(TypeKind::Tensor)));
    return made;
}
size_t Aliases::root(size_t place) {
    while (up_[place] != place) place = up_[place] = up_[up_[place]];
    return place;
}
size_t Aliases::place(const Value* value) {
    const auto found = places_.find(value);
    return found == places_.end() ? 0 : root(found->second);
}
void Aliases::join(size_t a, size_t b) {
    if (a && b) up_[root(a)] = root(b);
}
void Aliases::to_outside(const Value* value) { join(own(value), of_type(value->type)); }

bool Aliases::written(const Node* node) {
    for (const Value* input : node->inputs)
        if (written(input)) return true;
    for (const Value* output : node->outputs)
        if (written(output)) return true;
    return false;
}

bool Aliases::writes(const Node* node, const Value* input) {
    const Signature* schema = node->schema();
    if (!schema || !place(input)) return false;
    bool writes = false;
    for (size_t i = 0; i < node->inputs.size() && i < schema->formals.size(); i++)
        if (node->inputs[i] == input && mark(schema->formals[i].written, writes) && writes) return true;
    return false;
}

void Aliases::visit(Block* block) {
    for (Node* node = block->first(); node != block->end; node = node->next) visit(node);
}

/// What it takes may be written to, kept and given back.
void Aliases::call(Node* node) {
    for (const Value* input : node->inputs) {
        to_outside(input);
        if (own(input)) write_.push_back(own(input));
    }
    for (const Value* output : node->outputs) to_outside(output);
    for (Block* inner : node->blocks) visit(inner);
}

void Aliases::visit(Node* node) {
    if (node->is("prim::If")) {
        for (Block* inner : node->blocks) {
            visit(inner);
            for (size_t i = 0; i < node->outputs.size(); i++) join(node->output(i), inner->outputs()[i]);
        }
        return;
    }
    if (node->is("prim::Loop")) {
        Block* body = node->blocks[0];
        visit(body);
        for (size_t i = 0; i < node->outputs.size(); i++) {
            join(node->output(i), node->input(i + 2));
            join(node->output(i), body->outputs()[i + 1]);
            join(node->output(i), body->inputs()[i + 1]);
        }
        return;
    }
    if (node->is("prim::Constant") || node->is("prim::Print") || node->is("prim::RaiseException") || node->is("prim::FusionGroup")) {
        for (const Value* output : node->outputs) own(output);
        return;
    }
    if (apart_ && node->is("prim::GetAttr") && !node->output()->type->is(TypeKind::Class)) {
        own(node->output());
        return;
    }
    if (node->is("prim::GetAttr") || node->is("prim::SetAttr") || node->is("prim::CreateObject")) {
        for (const Value* input : node->inputs) to_outside(input);
        for (const Value* output : node->outputs) to_outside(output);
        return;
    }
    for (const char* kind :
         {"prim::CallFunction", "prim::CallMethod", "prim::PythonOp", "prim::fork", "prim::Enter", "prim::Exit", "aten::wait"})
        if (node->is(kind)) return call(node);
    const Signature* schema = node->schema();
    if (!schema && !node->kind.compare(0, 6, "prim::") && node->blocks.empty()) { // containers and casts
        const Value* first = nullptr;
        for (const std::vector<Value*>& all : {node->inputs, node->outputs})
            for (const Value* value : all) {
                if (!own(value)) continue;
                if (first) join(first, value);
                else first = value;
            }
        return;
    }
    if (!schema) return call(node);
    // Values with one letter share memory; what goes into a container or comes from one has its place.
    std::unordered_map<char, size_t> letters;
    const Value* container = nullptr;
    const auto meet = [&](const std::string& written, const Value* value, bool given) {
        bool writes;
        const char letter = mark(written, writes);
        const size_t place = own(value);
        if (!letter || !place) return;
        if (writes && given) write_.push_back(place);
        if (container && (letter == '*' || written.find("->") != std::string::npos)) join(place, own(container));
        const auto [at, fresh] = letters.try_emplace(letter, place);
        if (!fresh && letter != '*') join(place, at->second);
        if (!container && given) container = value;
    };
    for (size_t i = 0; i < node->inputs.size() && i < schema->formals.size(); i++) meet(schema->formals[i].written, node->inputs[i], true);
    for (size_t i = 0; i < node->outputs.size(); i++) {
        if (i < schema->results.size()) meet(schema->results[i].written, node->outputs[i], false);
        own(node->outputs[i]);
        if (node->outputs[i]->type->is(TypeKind::Class) || node->outputs[i]->type->is(TypeKind::Any)) to_outside(node->outputs[i]);
    }
    // "t" results of builtins: an element of what was given, whatever the line says.
    if (schema->builtin && schema->effect != 'p')
        for (const Value* output : node->outputs)
            for (const Value* input : node->inputs) join(input, output);
}

bool Aliases::makes_no_memory(const Node* node) {
    const Signature* signature = node->schema();
    return node->is("prim::TupleConstruct") || node->is("prim::GetAttr") ||
           (signature && signature->op && signature->op->functional->body == Body::View);
}

} // namespace kindling::script
