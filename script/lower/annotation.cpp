// script/lower/annotation.cpp: from an annotation to a type.
#include <cstring>

#include "script/graph/type.h"

namespace kindling::script {
namespace {

using namespace kind_of;

/// "a.b.c", or "" if it is no such name.
std::string dotted(const Tree& tree) {
    if (tree.is(Var)) return tree.name();
    if (tree.is(None)) return "None";
    if (tree.is(NoneType)) return "NoneType";
    if (!tree.is(Select)) return "";
    const std::string front = dotted(tree[0]);
    return front.empty() ? "" : front + "." + tree[1].text;
}

struct Word {
    char name[18];
    TypeKind kind;
};
constexpr Word words[] = {
    {"Tensor", TypeKind::Tensor},       {"int", TypeKind::Int},
    {"float", TypeKind::Float},         {"bool", TypeKind::Bool},
    {"complex", TypeKind::Complex},     {"str", TypeKind::Str},
    {"Device", TypeKind::Device},       {"torch.device", TypeKind::Device},
    {"Stream", TypeKind::Stream},       {"torch.Stream", TypeKind::Stream},
    {"Generator", TypeKind::Generator}, {"torch.Generator", TypeKind::Generator},
    {"number", TypeKind::Number},       {"None", TypeKind::None},
    {"NoneType", TypeKind::None},       {"Any", TypeKind::Any},
    {"list", TypeKind::AnyList},        {"tuple", TypeKind::AnyTuple},
    {"torch.dtype", TypeKind::Int},     {"torch.layout", TypeKind::Int},
    {"torch.qscheme", TypeKind::Int},   {"Storage", TypeKind::Storage},
};

/// Tensor, LongTensor, torch.FloatTensor and so on: dtypes are no part of a type.
bool names_tensor(std::string_view name) {
    if (name.substr(0, 6) == "torch.") name.remove_prefix(6);
    for (const char* kind : {"", "Long", "Float", "Double", "Int", "Short", "Half", "Char", "Byte", "Bool"})
        if (name.size() == std::strlen(kind) + 6 && name.substr(0, std::strlen(kind)) == kind && name.substr(std::strlen(kind)) == "Tensor")
            return true;
    return false;
}

TypeRef read(const Tree& tree, TypeResolver* resolver);

TypeRef only(const Tree& tree, TypeResolver* resolver) {
    const Tree& parts = tree[1];
    if (parts.size() != 1) fail_at(tree.range, " expected exactly one element type but found %zu", parts.size());
    return read(parts[0], resolver);
}

TypeRef union_at(const Tree& tree, const std::vector<TypeRef>& types) {
    const TypeRef type = union_of(types);
    bool one = !type->is(TypeKind::Union) && !type->is(TypeKind::Optional);
    if (one)
        fail_at(tree.range,
                "After type unification was performed, the Union has the single type %s. Use the common supertype instead of creating a "
                "Uniontype",
                annotation(type).c_str());
    return type;
}

TypeRef read_subscript(const std::string& name, const Tree& tree, TypeResolver* resolver) {
    const Tree& parts = tree[1];
    std::vector<TypeRef> types;
    if (name == "Tuple" || name == "tuple" || name == "Union") {
        if (name != "Union" && parts.size() == 1 && parts[0].is(TupleLiteral)) {
            if (parts[0][0].size()) fail_at(parts[0].range, "Tuple literal in Tuple type annotation must not have any elements!");
            return tuple_of({});
        }
        for (const Tree* part : parts.parts) types.push_back(read(*part, resolver));
        return name == "Union" ? union_at(tree, types) : tuple_of(std::move(types));
    }
    if (name == "List" || name == "list") return list_of(only(tree, resolver));
    if (name == "Optional") {
        const TypeRef element = only(tree, resolver);
        return element->is(TypeKind::Any) ? optional_of(element) : union_at(tree, {element, type_of(TypeKind::None)});
    }
    if (name == "Future" || name == "torch.jit.Future") return future_of(only(tree, resolver));
    if (name == "Dict" || name == "dict") {
        if (parts.size() != 2) fail_at(tree.range, " expected exactly 2 element types but found %zu", parts.size());
        const TypeRef key = read(parts[0], resolver);
        return dict_of(key, read(parts[1], resolver));
    }
    fail_at(tree.range, "Unknown type constructor %s", name.c_str());
}

TypeRef read(const Tree& tree, TypeResolver* resolver) {
    if (tree.is('|')) {
        const TypeRef left = read(tree[0], resolver);
        return union_at(tree, {left, read(tree[1], resolver)});
    }
    if (tree.is(Subscript)) {
        const std::string name = dotted(tree[0]);
        if (name.empty()) fail_at(tree[0].range, "Subscripted type must be a type identifier");
        return read_subscript(name, tree, resolver);
    }
    const std::string name = tree.is(String) ? tree.text : dotted(tree);
    if (name.empty()) fail_at(tree.range, "Expression of type %s cannot be used in a type expression", kind_name(tree.kind).c_str());
    if (!tree.is(String)) {
        if (names_tensor(name)) return type_of(TypeKind::Tensor);
        for (const Word& word : words)
            if (name == word.name) return type_of(word.kind);
    }
    if (resolver)
        if (TypeRef type = resolver->resolve(name, tree.range)) return type;
    fail_at(tree.range, "Unknown type name '%s'", name.c_str());
}

} // namespace

TypeRef read_type(const Tree& annotation, TypeResolver* resolver) {
    if (resolver)
        if (TypeRef type = resolver->resolve(std::string(annotation.range.text()), annotation.range)) return type;
    return read(annotation, resolver);
}

int broadcast_length(const Tree& annotation, TypeRef& type) {
    if (annotation.is(Var)) {
        const std::string& name = annotation.name();
        if (name.size() != 9 || name.compare(0, 6, "_size_") || name.compare(7, 2, "_t") || name[6] < '0' || name[6] > '9') return 0;
        type = list_of(type_of(TypeKind::Int));
        return name[6] - '0';
    }
    if (!annotation.is(Subscript) || !annotation[0].is(Var) || annotation[1].size() != 1) return 0;
    const std::string& name = annotation[0].name();
    if (name == "Optional") {
        const int length = broadcast_length(annotation[1][0], type);
        if (length) type = optional_of(type);
        return length;
    }
    if (name.compare(0, 16, "BroadcastingList")) return 0;
    const Tree& element = annotation[1][0];
    if (!element.is(Var)) fail_at(annotation[0].range, "Subscripted type must be a type identifier");
    if (element.name() != "int" && element.name() != "float")
        fail_at(annotation[0].range, "Broadcastable lists only supported for int or float");
    type = list_of(type_of(element.name() == "int" ? TypeKind::Int : TypeKind::Float));
    return std::atoi(name.c_str() + 16);
}

} // namespace kindling::script
