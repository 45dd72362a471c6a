// script/graph/type.cpp: making, printing, comparing types.
#include "script/graph/type.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "script/graph/class.h"

namespace kindling::script {
namespace {

struct Name {
    char annotation[12], graph[12];
};
constexpr Name names[] = {
#define TYPE(name, annotation, graph) {annotation, graph},
    KINDLING_SCRIPT_TYPES(TYPE)
#undef TYPE
};

bool same(const TypeData& a, const TypeData& b) {
    return a.kind == b.kind && a.inferred == b.inferred && a.parts == b.parts && a.name == b.name && a.fields == b.fields &&
           a.definition == b.definition;
}

/// The one type like this. Types live for ever: there are few.
TypeRef intern(TypeData type) {
    for (TypeRef& part : type.parts) // that nothing was said of a Tensor is told of the Tensor itself: a list of such is a List[Tensor]
        if (part && part->inferred) part = type_of(TypeKind::Tensor);
    struct Table {
        std::mutex lock;
        std::unordered_multimap<size_t, std::unique_ptr<const TypeData>> types;
    };
    static Table* table = new Table; // at the first use
    size_t key = static_cast<size_t>(type.kind) * 2 + type.inferred + std::hash<std::string>()(type.name) * 31;
    for (TypeRef part : type.parts) key = key * 1000003 ^ reinterpret_cast<uintptr_t>(part);
    std::lock_guard guard(table->lock);
    auto [at, end] = table->types.equal_range(key);
    for (; at != end; ++at)
        if (same(*at->second, type)) return at->second.get();
    return table->types.emplace(key, std::make_unique<const TypeData>(std::move(type)))->second.get();
}

std::string join(const std::vector<TypeRef>& types, std::string (*print)(TypeRef)) {
    std::string out;
    for (TypeRef type : types) out += (out.empty() ? "" : ", ") + print(type);
    return out;
}

bool has(const std::vector<TypeRef>& types, TypeKind kind) {
    return std::any_of(types.begin(), types.end(), [&](TypeRef type) { return type->is(kind); });
}

/// The members of a union, or the type itself.
std::vector<TypeRef> members(TypeRef type) {
    if (type->is(TypeKind::Union)) return type->parts;
    if (type->is(TypeKind::Optional)) {
        std::vector<TypeRef> all = members(type->element());
        all.push_back(type_of(TypeKind::None));
        return all;
    }
    if (type->is(TypeKind::Number)) return {type_of(TypeKind::Int), type_of(TypeKind::Float), type_of(TypeKind::Complex)};
    return {type};
}

} // namespace

TypeRef type_of(TypeKind kind) { return intern({kind, false, {}, {}, {}}); }
TypeRef inferred_tensor() { return intern({TypeKind::Tensor, true, {}, {}, {}}); }
TypeRef seen_tensor(const std::string& text) { return intern({TypeKind::Tensor, false, {}, text, {}}); }
TypeRef unseen(TypeRef type) {
    if (type->is(TypeKind::Tensor)) return type->name.empty() ? type : type_of(TypeKind::Tensor);
    if (type->parts.empty()) return type;
    TypeData copy = *type;
    for (TypeRef& part : copy.parts) part = unseen(part);
    return copy.parts == type->parts ? type : intern(std::move(copy));
}
TypeRef list_of(TypeRef element) { return intern({TypeKind::List, false, {element}, {}, {}}); }
TypeRef dict_of(TypeRef key, TypeRef value) { return intern({TypeKind::Dict, false, {key, value}, {}, {}}); }
TypeRef tuple_of(std::vector<TypeRef> elements, std::string name, std::vector<std::string> fields) {
    return intern({TypeKind::Tuple, false, std::move(elements), std::move(name), std::move(fields)});
}
TypeRef future_of(TypeRef element) { return intern({TypeKind::Future, false, {element}, {}, {}}); }
TypeRef variable(const std::string& name) { return intern({TypeKind::Var, false, {}, name, {}}); }
TypeRef class_named(const std::string& name) { return intern({TypeKind::Class, false, {}, name, {}}); }
TypeRef optional_of(TypeRef element) {
    return element->is(TypeKind::Any) ? intern({TypeKind::Optional, false, {element}, {}, {}})
                                      : union_of({element, type_of(TypeKind::None)});
}

TypeRef union_of(const std::vector<TypeRef>& given) {
    std::vector<TypeRef> all;
    for (TypeRef type : given)
        for (TypeRef member : members(type)) {
            if (std::any_of(all.begin(), all.end(), [&](TypeRef other) { return is_subtype(member, other); })) continue;
            std::erase_if(all, [&](TypeRef other) { return is_subtype(other, member); });
            all.push_back(member);
        }
    std::stable_sort(all.begin(), all.end(), [](TypeRef a, TypeRef b) { return a->kind < b->kind; });
    if (has(all, TypeKind::Int) && has(all, TypeKind::Float) && has(all, TypeKind::Complex)) {
        const TypeRef number = type_of(TypeKind::Number);
        all.erase(std::remove_if(all.begin(), all.end(), [&](TypeRef type) { return is_subtype(type, number); }), all.end());
        all.insert(all.begin(), number);
    }
    if (all.size() == 1 && !all[0]->is(TypeKind::Number)) return all[0];
    if (all.size() == 2 && has(all, TypeKind::None)) return intern({TypeKind::Optional, false, {all[all[0]->is(TypeKind::None)]}, {}, {}});
    return intern({TypeKind::Union, false, std::move(all), {}, {}});
}

TypeRef class_type(Class& definition) {
    if (definition.type) return definition.type;
    TypeData made{TypeKind::Class, false, {}, definition.name, {}, &definition};
    if (definition.kind == Class::Enum) made.kind = TypeKind::Enum;
    if (definition.kind == Class::NamedTuple) {
        made.kind = TypeKind::Tuple;
        for (const Class::Attribute& field : definition.attributes) {
            made.parts.push_back(field.type);
            made.fields.push_back(field.name);
        }
    }
    return definition.type = intern(std::move(made));
}

// ---- text

static std::string named_tuple(TypeRef type) {
    std::string out;
    const std::vector<Item>* defaults = type->definition ? &type->definition->defaults : nullptr;
    const size_t plain = type->parts.size() - (defaults ? defaults->size() : 0);
    for (size_t i = 0; i < type->parts.size(); i++) {
        out += (out.empty() ? "" : ", ") + type->fields[i] + " : " + str(type->parts[i]);
        if (i >= plain) out += " = " + str((*defaults)[i - plain]);
    }
    return "NamedTuple(" + out + ")";
}

/// Whether a class has all methods that an interface promises, each taking and giving what is promised.
static bool implements(Class& made, Class& interface) {
    if (interface.kind != Class::Interface || (made.kind == Class::Interface && &made == &interface)) return false;
    for (const Signature& wanted : interface.promised) {
        const Signature* has = made.signature(wanted.name);
        if (!has || has->formals.size() != wanted.formals.size() || has->results.size() != wanted.results.size()) return false;
        for (size_t i = 1; i < wanted.formals.size(); i++)
            if (has->formals[i].name != wanted.formals[i].name || !is_subtype(wanted.formals[i].type, has->formals[i].type)) return false;
        for (size_t i = 0; i < wanted.results.size(); i++)
            if (!is_subtype(has->results[i].type, wanted.results[i].type)) return false;
    }
    return true;
}

std::string str(TypeRef type) {
    switch (type->kind) {
    case TypeKind::List: return str(type->element()) + "[]";
    case TypeKind::Optional: return str(type->element()) + "?";
    case TypeKind::Tuple:
        if (!type->name.empty()) return named_tuple(type);
        return "(" + join(type->parts, str) + ")";
    case TypeKind::Dict:
    case TypeKind::Union: return std::string(names[static_cast<int>(type->kind)].graph) + "(" + join(type->parts, str) + ")";
    case TypeKind::Future:
    case TypeKind::RRef: return std::string(names[static_cast<int>(type->kind)].graph) + "[" + str(type->element()) + "]";
    case TypeKind::Class:
        if (type->definition && type->definition->kind == Class::Interface)
            return "InterfaceType<" + type->name.substr(type->name.rfind('.') + 1) + ">";
        return type->name;
    case TypeKind::Var: return type->name;
    case TypeKind::Enum: return "Enum<" + type->name + ">";
    case TypeKind::Tensor: return type->name.empty() ? "Tensor" : type->name;
    default: return names[static_cast<int>(type->kind)].graph;
    }
}

std::string in_schema(TypeRef type) {
    switch (type->kind) {
    case TypeKind::List: return in_schema(type->element()) + "[]";
    case TypeKind::Optional: return in_schema(type->element()) + "?";
    case TypeKind::Tuple:
    case TypeKind::Dict:
    case TypeKind::Union:
    case TypeKind::Future:
    case TypeKind::RRef:
        if (!type->name.empty()) return type->name;
        return (type->is(TypeKind::Tuple) ? "" : names[static_cast<int>(type->kind)].graph) + ("(" + join(type->parts, in_schema) + ")");
    default: return str(type);
    }
}

std::string annotation(TypeRef type) {
    if (!type->name.empty() && !type->is(TypeKind::Tensor)) return type->name;
    const std::string name = names[static_cast<int>(type->kind)].annotation;
    if (type->is(TypeKind::Tuple) && type->parts.empty()) return "Tuple[()]";
    return type->parts.empty() ? name : name + "[" + join(type->parts, annotation) + "]";
}

std::string repr(TypeRef type) { return annotation(type) + (type->inferred ? " (inferred)" : ""); }

// ---- relations

bool is_subtype(TypeRef type, TypeRef of) {
    if (type == of || of->is(TypeKind::Any)) return true;
    const auto covers = [&](TypeRef member) { return is_subtype(type, member); };
    if (type->is(TypeKind::Union) || type->is(TypeKind::Optional)) {
        const std::vector<TypeRef> all = members(type);
        return std::all_of(all.begin(), all.end(), [&](TypeRef member) { return is_subtype(member, of); });
    }
    if (of->is(TypeKind::Optional)) return type->is(TypeKind::None) || is_subtype(type, of->element());
    if (of->is(TypeKind::Union)) return std::any_of(of->parts.begin(), of->parts.end(), covers);
    switch (type->kind) {
    case TypeKind::Tensor: return of->is(TypeKind::Tensor);
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Complex: return of->is(TypeKind::Number);
    case TypeKind::List: return of->is(TypeKind::AnyList);
    case TypeKind::Tuple:
        if (of->is(TypeKind::AnyTuple)) return true;
        if (!of->is(TypeKind::Tuple) || of->parts.size() != type->parts.size()) return false;
        if (!of->fields.empty() && (of->fields != type->fields || of->name != type->name)) return false;
        for (size_t i = 0; i < of->parts.size(); i++)
            if (!is_subtype(type->parts[i], of->parts[i])) return false;
        return true;
    case TypeKind::Enum: return of->is(TypeKind::AnyEnum);
    case TypeKind::Class:
        return of->is(TypeKind::Class) && type->definition && of->definition && implements(*type->definition, *of->definition);
    case TypeKind::Future: return of->is(TypeKind::Future) && is_subtype(type->element(), of->element());
    default: return false;
    }
}

TypeRef unify(TypeRef a, TypeRef b, bool or_union) {
    if (a == b) return a;
    if (is_subtype(a, b) && !b->is(TypeKind::Any)) return b->is(TypeKind::Tensor) ? type_of(TypeKind::Tensor) : b;
    if (is_subtype(b, a) && !a->is(TypeKind::Any)) return a;
    if (a->is(TypeKind::None)) return optional_of(b);
    if (b->is(TypeKind::None)) return optional_of(a);
    for (int turn = 0; turn < 2; turn++, std::swap(a, b))
        if (a->is(TypeKind::Optional) && !b->is(TypeKind::Optional))
            if (TypeRef inner = unify(a->element(), b)) return optional_of(inner);
    if (a->is(TypeKind::Tuple) && b->is(TypeKind::Tuple) && a->parts.size() == b->parts.size()) {
        std::vector<TypeRef> parts;
        for (size_t i = 0; i < a->parts.size(); i++) {
            const TypeRef part = unify(a->parts[i], b->parts[i], or_union);
            if (!part) break;
            parts.push_back(part);
        }
        if (parts.size() == a->parts.size()) return tuple_of(std::move(parts));
    }
    return or_union ? union_of({a, b}) : nullptr;
}

TypeRef unify(const std::vector<TypeRef>& all, bool or_union) {
    TypeRef type = all.empty() ? nullptr : all[0];
    for (size_t i = 1; i < all.size() && type; i++) type = unify(type, all[i], or_union);
    return type;
}

static bool has_variables(TypeRef type) {
    return type->is(TypeKind::Var) || std::any_of(type->parts.begin(), type->parts.end(), has_variables);
}

std::string match(TypeRef formal, TypeRef actual, TypeVariables& variables) {
    if (!has_variables(formal)) return "";
    if (formal->is(TypeKind::Var)) {
        TypeRef& bound = variables[formal->name];
        const TypeRef both = !bound ? actual : bound->is(TypeKind::Any) ? bound : unify(bound, actual);
        if (!both)
            return "Type variable '" + formal->name + "' previously matched to type " + repr(bound) + " is matched to type " + repr(actual);
        bound = both;
        return "";
    }
    const auto differs = [&] { return "Cannot match " + repr(formal) + " to " + repr(actual); };
    switch (formal->kind) {
    case TypeKind::List:
        if (actual->is(TypeKind::List)) {
            const std::string why = match(formal->element(), actual->element(), variables);
            return why.empty() ? "" : differs() + ": " + why;
        }
        if (actual->is(TypeKind::Tuple) && formal->element()->is(TypeKind::Any)) return "";
        if (actual->is(TypeKind::Tuple))
            if (TypeRef element = unify(actual->parts)) return match(formal->element(), element, variables);
        return differs();
    case TypeKind::Tuple:
        if (!actual->is(TypeKind::Tuple)) return differs();
        if (actual->parts.size() != formal->parts.size()) return "Cannot match tuples of mismatched size";
        for (size_t i = 0; i < formal->parts.size(); i++)
            if (std::string why = match(formal->parts[i], actual->parts[i], variables); !why.empty()) return why;
        return "";
    case TypeKind::Dict:
        if (!actual->is(TypeKind::Dict)) return "Cannot match a dict to " + repr(actual);
        for (size_t i = 0; i < 2; i++)
            if (std::string why = match(formal->parts[i], actual->parts[i], variables); !why.empty()) return why;
        return "";
    case TypeKind::Future:
        if (!actual->is(TypeKind::Future)) return "Cannot match a future to " + repr(actual);
        return match(formal->element(), actual->element(), variables);
    case TypeKind::Optional:
        if (actual->is(TypeKind::Optional)) return match(formal->element(), actual->element(), variables);
        return actual->is(TypeKind::None) ? "" : match(formal->element(), actual, variables);
    default: return "";
    }
}

TypeRef substitute(TypeRef type, const TypeVariables& variables) {
    if (type->is(TypeKind::Var)) {
        const auto found = variables.find(type->name);
        return found == variables.end() ? nullptr : found->second;
    }
    if (type->parts.empty()) return type;
    TypeData copy = *type;
    for (TypeRef& part : copy.parts)
        if (!(part = substitute(part, variables))) return nullptr;
    return type->is(TypeKind::Optional) ? optional_of(copy.parts[0]) : intern(std::move(copy));
}

TypeRef of_argument(const Argument& argument) {
    constexpr TypeKind kinds[] = {TypeKind::Tensor,    TypeKind::Number,  TypeKind::Int, TypeKind::Float,  TypeKind::Bool,
                                  TypeKind::Str,       TypeKind::Int,     TypeKind::Int, TypeKind::Device, TypeKind::Int,
                                  TypeKind::Generator, TypeKind::Storage, TypeKind::Any};
    TypeRef type = type_of(kinds[static_cast<int>(argument.type)]);
    if (argument.optional_items) type = optional_of(type);
    if (argument.list) type = list_of(type);
    return argument.optional ? optional_of(type) : type;
}

} // namespace kindling::script
