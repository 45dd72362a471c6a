// script/lower/match.cpp: overload resolution, as TorchScript does it: all overloads without conversions, then all with them.
#include "script/lower/match.h"

#include <functional>
#include <optional>
#include <unordered_map>

#include "script/lower/lower.h"

namespace kindling::script {
namespace {

TypeRef unwrapped(TypeRef type) { return type->is(TypeKind::Optional) ? type->element() : type; }

struct Matched {
    std::vector<Value*> inputs;
    std::vector<TypeRef> results;
};

class Matcher {
public:
    Matcher(Graph& graph, const Range& range, const Signature& signature, bool conversions, std::string* why)
        : graph_(graph), range_(range), signature_(signature), conversions_(conversions), why_(why) {}

    std::optional<Matched> match(const std::vector<Given>& positional, const std::vector<Given>& keywords, const Given* self) {
        Matched made;
        std::vector<bool> used(keywords.size(), false);
        size_t at = 0;
        const auto& formals = signature_.formals;
        for (size_t i = 0; i < formals.size(); i++) {
            const Formal& formal = formals[i];
            std::optional<Given> given;
            if (self && formal.name == "self") {
                given = *self;
                self = nullptr;
            } else if (!formal.keyword_only && at < positional.size()) {
                if (conversions_ && takes_rest(i)) {
                    const TypeRef actual = positional[at].in(graph_)->type;
                    if (!actual->is(TypeKind::List) && !converts_to_list(actual, unwrapped(formal.type))) {
                        Formal each;
                        each.name = "<varargs>";
                        each.type = formal.type->element();
                        std::vector<Value*> items;
                        for (; at < positional.size(); at++) {
                            Value* item = argument(each, positional[at]);
                            if (!item) return {};
                            items.push_back(item);
                        }
                        made.inputs.push_back(
                            graph_.insert(graph_.create_with("prim::ListConstruct", list_of(each.type), items))->output());
                        continue;
                    }
                }
                given = positional[at++];
            } else if (const int k = keyword(keywords, formal.name); k >= 0) {
                used[static_cast<size_t>(k)] = true;
                given = keywords[static_cast<size_t>(k)];
            } else if (formal.has_default) given = Given(formal.default_value);
            else return fail("Argument " + formal.name + " not provided.\n");
            Value* value = argument(formal, *given);
            if (!value) return {};
            made.inputs.push_back(value);
        }
        if (self) return fail("Provided self argument not used in schema.\n"); // x.log(2) is no log of 2
        if (signature_.variadic)
            for (; at < positional.size(); at++) made.inputs.push_back(positional[at].in(graph_));
        if (at < positional.size())
            return fail(format("Expected at most %zu arguments but found %zu positional arguments.\n", at, positional.size()));
        for (size_t k = 0; k < keywords.size(); k++)
            if (!used[k]) return fail("Keyword argument " + keywords[k].name + " unknown.\n");
        for (const Formal& result : signature_.results) {
            const TypeRef type = substitute(result.type, variables_);
            made.results.push_back(type ? type : type_of(TypeKind::Any));
        }
        return made;
    }

private:
    std::nullopt_t fail(const std::string& reason) {
        if (why_) *why_ += "\n" + signature_.text() + ":\n" + reason;
        return std::nullopt;
    }
    int keyword(const std::vector<Given>& keywords, const std::string& name) const {
        for (size_t k = 0; k < keywords.size(); k++)
            if (keywords[k].name == name || (name == "self" && keywords[k].name == "input")) return static_cast<int>(k);
        return -1;
    }
    /// Whether the rest of the positional arguments may stand for a list: zeros(2, 3).
    bool takes_rest(size_t i) const {
        const auto& formals = signature_.formals;
        return (i + 1 == formals.size() || formals[i + 1].keyword_only) && formals[i].type->is(TypeKind::List) && !formals[i].repeat &&
               !formals[i].type->element()->is(TypeKind::Var);
    }
    Value* argument(const Formal& formal, const Given& given) {
        Value* value = given.in(graph_);
        const TypeRef list = unwrapped(formal.type);
        if (formal.repeat && list->is(TypeKind::List) && list->element() == value->type &&
            (value->type->is(TypeKind::Int) || value->type->is(TypeKind::Float)))
            value = graph_
                        .insert(graph_.create_with("prim::ListConstruct", list_of(value->type),
                                                   std::vector<Value*>(static_cast<size_t>(formal.repeat), value)))
                        ->output();
        const std::string reason = script::match(formal.type, value->type, variables_);
        if (!reason.empty()) {
            fail("Could not match type " + repr(value->type) + " to " + repr(formal.type) + " in argument '" + formal.name +
                 "': " + reason + ".\n");
            return nullptr;
        }
        const TypeRef wanted = substitute(formal.type, variables_);
        if (!wanted) {
            fail("Type variables in type " + repr(formal.type) + " could not be inferred from actual type " + repr(value->type));
            return nullptr;
        }
        value = convert(graph_, range_, wanted, value, conversions_);
        if (is_subtype(value->type, wanted)) return value;
        std::string text = "Expected a value of type '" + repr(wanted) + "' for argument '" + formal.name + "' but instead found type '" +
                           repr(value->type) + "'.\n";
        if (value->type->inferred)
            text += "Inferred the value for argument '" + formal.name +
                    "' to be of type 'Tensor' because it was not annotated with an explicit type.\n";
        if (value->type->is(TypeKind::List) && value->type->element()->is(TypeKind::Tensor))
            text += "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of another "
                    "type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)\n";
        fail(text);
        return nullptr;
    }

    Graph& graph_;
    const Range& range_;
    const Signature& signature_;
    bool conversions_;
    std::string* why_;
    TypeVariables variables_;
};

std::string indented(const std::string& text) {
    std::string out;
    bool start = true;
    for (char c : text) {
        if (start) out += "  ";
        out += c;
        start = c == '\n';
    }
    return out;
}

} // namespace

bool converts_to_list(TypeRef type, TypeRef list) {
    if (!list->is(TypeKind::List)) return false;
    if (is_subtype(type, list)) return true;
    if (!type->is(TypeKind::Tuple)) return false;
    for (TypeRef part : type->parts)
        if (!is_subtype(part, list->element())) return false;
    return true;
}

std::vector<Value*> unpack_tuple(Graph& graph, Value* tuple) {
    if (tuple->node->is("prim::TupleConstruct")) return tuple->node->inputs;
    Node* node = graph.create("prim::TupleUnpack", {tuple}, 0);
    for (TypeRef part : tuple->type->parts) node->add_output(part);
    graph.insert(node);
    return node->outputs;
}

Value* convert(Graph& graph, const Range& range, TypeRef type, Value* value, bool conversions) {
    if (type->is(TypeKind::Optional) && !value->type->is(TypeKind::Optional) && !value->type->is(TypeKind::None))
        return convert(graph, range, type->element(), value, conversions);
    // `[]` is a list of whatever is wanted. What a comprehension began with has a use: it was appended to.
    if (type->is(TypeKind::List) && value->node->is("prim::ListConstruct") && value->node->inputs.empty() && value->uses.empty() &&
        !is_subtype(value->type, type)) {
        TypeVariables variables;
        if (const TypeRef wanted = substitute(type, variables))
            value = graph.insert(graph.create_with("prim::ListConstruct", wanted))->output();
    }
    if (value->type->is(TypeKind::Tuple)) {
        if (const TypeRef list = unwrapped(type); converts_to_list(value->type, list)) {
            const std::vector<Value*> parts = unpack_tuple(graph, value);
            value = graph.insert(graph.create_with("prim::ListConstruct", list_of(list->element()), parts))->output();
        }
        if (type->is(TypeKind::Tuple) && value->type->is(TypeKind::Tuple) && !is_subtype(value->type, type) &&
            type->parts.size() == value->type->parts.size()) {
            std::vector<Value*> parts = unpack_tuple(graph, value);
            std::vector<TypeRef> types;
            for (size_t i = 0; i < parts.size(); i++) {
                parts[i] = convert(graph, range, type->parts[i], parts[i], conversions);
                types.push_back(parts[i]->type);
            }
            value = graph.insert(graph.create_with("prim::TupleConstruct", tuple_of(types), parts))->output();
        }
    }
    if (!conversions) return value;
    const bool tensor = value->type->is(TypeKind::Tensor), truth = value->type->is(TypeKind::Bool),
               number = value->type->is(TypeKind::Number) || truth;
    const char* by = nullptr;
    switch (type->kind) {
    case TypeKind::Float: by = tensor ? "aten::FloatImplicit" : number ? "aten::Float" : nullptr; break;
    case TypeKind::Complex: by = tensor ? "aten::ComplexImplicit" : number && !truth ? "aten::Complex" : nullptr; break;
    case TypeKind::Int: by = tensor ? "aten::IntImplicit" : number ? "aten::Int" : nullptr; break;
    case TypeKind::Number: by = tensor ? "aten::ScalarImplicit" : truth ? "aten::Int" : nullptr; break;
    case TypeKind::Device: by = value->type->is(TypeKind::Str) ? "aten::device" : nullptr; break;
    default: break;
    }
    return by ? call_builtin(graph, range, by, {value}) : value;
}

std::vector<Value*> match_call(Graph& graph, const Range& range, const Signature& signature, const std::vector<Given>& positional,
                               const std::vector<Given>& keywords, std::vector<TypeRef>& results) {
    std::vector<Value*> inputs;
    match_calls(graph, range, {&signature}, positional, keywords, inputs, results);
    return inputs;
}

static size_t match_any(Graph& graph, const Range& range, const std::vector<const Signature*>& all, const std::vector<Given>& positional,
                        const std::vector<Given>& keywords, const Given* self, Matched& made) {
    for (int round = all.size() == 1; round < 2; round++)
        for (size_t i = 0; i < all.size(); i++)
            if (std::optional<Matched> matched = Matcher(graph, range, *all[i], round, nullptr).match(positional, keywords, self)) {
                made = std::move(*matched);
                return i;
            }
    std::string why;
    for (const Signature* each : all) Matcher(graph, range, *each, true, &why).match(positional, keywords, self);
    if (all.size() == 1) fail_at(range, "%s", why.c_str());
    fail_at(range, "Arguments for call are not valid.\nThe following variants are available:\n%s\nThe original call is",
            indented(why).c_str());
}

size_t match_calls(Graph& graph, const Range& range, const std::vector<const Signature*>& all, const std::vector<Given>& positional,
                   const std::vector<Given>& keywords, std::vector<Value*>& inputs, std::vector<TypeRef>& results) {
    Matched made;
    const size_t which = match_any(graph, range, all, positional, keywords, nullptr, made);
    inputs = std::move(made.inputs);
    results = std::move(made.results);
    return which;
}

Value* call_builtin(Graph& graph, const Range& range, const char* name, std::initializer_list<Value*> values) {
    return call_builtin(graph, range, name, std::vector<Given>(values.begin(), values.end()));
}
Value* call_builtin(Graph& graph, const Range& range, const std::string& name, const std::vector<Given>& positional,
                    const std::vector<Given>& keywords, const Given* self) {
    const std::vector<const Signature*>& all = signatures_of(name);
    if (all.empty())
        fail_at(range,
                "Unknown builtin op: %s.\nCould not find any similar ops to %s. This op may not exist or may not be currently supported in "
                "TorchScript.\n",
                name.c_str(), name.c_str());
    Matched matched;
    const Signature* found = all[match_any(graph, range, all, positional, keywords, self, matched)];
    if (found->script) return insert_graph(graph, *found->script->graph, matched.inputs)[0];
    Node* node = graph.insert(graph.create(name, matched.inputs, 0))->at(range);
    node->signature = found;
    for (TypeRef type : matched.results) node->add_output(type);
    if (node->outputs.size() == 1) return node->output();
    std::vector<TypeRef> types;
    std::vector<std::string> names; // "(Tensor values, Tensor indices)": a named tuple
    for (const Value* output : node->outputs) types.push_back(output->type);
    for (const Formal& result : found->results)
        if (!result.name.empty()) names.push_back(result.name);
    if (names.size() != types.size()) names.clear();
    return graph.insert(graph.create_with("prim::TupleConstruct", tuple_of(types, "", std::move(names)), node->outputs))->output();
}

const Signature* Node::schema() const {
    if (signature) return signature;
    for (const Signature* each : signatures_of(kind)) {
        if (inputs.size() < each->formals.size() || (inputs.size() > each->formals.size() && !each->variadic)) continue;
        TypeVariables variables;
        bool fits = true;
        for (size_t i = 0; fits && i < each->formals.size(); i++) {
            const TypeRef actual = inputs[i]->type;
            fits = script::match(each->formals[i].type, actual, variables).empty();
            const TypeRef wanted = fits ? substitute(each->formals[i].type, variables) : nullptr;
            fits = wanted && is_subtype(actual, wanted);
        }
        if (fits) return each;
    }
    return nullptr;
}

} // namespace kindling::script
