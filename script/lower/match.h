// script/lower/match.h: calls by signature: which overload fits, what is converted for it, and what is said if none fits.
#pragma once
#include "script/graph/graph.h"
#include "script/graph/signature.h"

namespace kindling::script {

/// An argument of a call: a value, or (where that is null) a constant that becomes one when it is looked at.
struct Given {
    Given(Value* v, std::string n = "") : value(v), name(std::move(n)) {}
    Given(Item item, std::string n = "") : constant(std::move(item)), name(std::move(n)) {}
    Value* in(Graph& graph) const { return value ? value : graph.constant(constant); }
    Value* value = nullptr;
    Item constant;
    std::string name;
};

/// `value` as one of `type`, if TorchScript converts it without being asked; else what it was.
Value* convert(Graph& graph, const Range& range, TypeRef type, Value* value, bool conversions);
/// The values for a signature's arguments. RuntimeError with the reasons.
std::vector<Value*> match_call(Graph& graph, const Range& range, const Signature& signature, const std::vector<Given>& positional,
                               const std::vector<Given>& keywords, std::vector<TypeRef>& results);
/// As `match_call` for one of several signatures, of which the first that fits is taken, without conversions if one does; its place.
size_t match_calls(Graph& graph, const Range& range, const std::vector<const Signature*>& all, const std::vector<Given>& positional,
                   const std::vector<Given>& keywords, std::vector<Value*>& inputs, std::vector<TypeRef>& results);
/// A call of one of a builtin's overloads; none or many results become a tuple.
KINDLING_VISIBLE Value* call_builtin(Graph& graph, const Range& range, const std::string& name, const std::vector<Given>& positional,
                                     const std::vector<Given>& keywords = {}, const Given* self = nullptr);
/// Of values alone: less code where it is called.
Value* call_builtin(Graph& graph, const Range& range, const char* name, std::initializer_list<Value*> values);
bool converts_to_list(TypeRef type, TypeRef list);
std::vector<Value*> unpack_tuple(Graph& graph, Value* tuple);

} // namespace kindling::script
