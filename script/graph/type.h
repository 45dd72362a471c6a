// script/graph/type.h: types of scripted values. A type is made once for the process and compared by address. Types of operators'
// arguments (core/schema.h) are flags of a few base types; `of_argument` gives what they are here.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "core/schema.h"
#include "script/syntax/tree.h"

namespace kindling::script {

/// Name as messages and annotations have it, and as graphs have it; in the order in which a Union shows its members.
// clang-format off
#define KINDLING_SCRIPT_TYPES(TYPE) \
    TYPE(Any, "Any", "Any") TYPE(Tensor, "Tensor", "Tensor") TYPE(Storage, "Storage", "Storage") TYPE(Tuple, "Tuple", "") \
    TYPE(List, "List", "") TYPE(Dict, "Dict", "Dict") TYPE(Number, "number", "Scalar") TYPE(Float, "float", "float") \
    TYPE(Complex, "complex", "complex") TYPE(Future, "Future", "Future") TYPE(RRef, "RRef", "RRef") TYPE(Int, "int", "int") \
    TYPE(None, "NoneType", "NoneType") TYPE(Str, "str", "str") TYPE(Generator, "Generator", "Generator") TYPE(Bool, "bool", "bool") \
    TYPE(Optional, "Optional", "") TYPE(Var, "", "") TYPE(Device, "Device", "Device") TYPE(Stream, "Stream", "Stream") \
    TYPE(Class, "", "") TYPE(Enum, "", "") TYPE(AnyEnum, "AnyEnumType", "AnyEnumType") TYPE(AnyList, "list", "list") \
    TYPE(AnyTuple, "tuple", "tuple") TYPE(Union, "Union", "Union")
// clang-format on

enum class TypeKind : uint8_t {
#define TYPE(name, annotation, graph) name,
    KINDLING_SCRIPT_TYPES(TYPE)
#undef TYPE
};

struct TypeData;
struct Class;
using TypeRef = const TypeData*;

struct TypeData {
    TypeKind kind;
    bool inferred = false;           // a Tensor because nothing was said
    std::vector<TypeRef> parts;      // elements; key and value; members
    std::string name;                // of a class, a named tuple, a type variable; of a Tensor: what one looked like when it was seen
    std::vector<std::string> fields; // of a named tuple
    Class* definition = nullptr;     // of a class, a module, an enum, a named tuple (class.h)

    bool is(TypeKind other) const { return kind == other; }
    /// What is in an Optional, a List or a Future.
    TypeRef element() const { return parts[0]; }
};

/// One without parts.
KINDLING_VISIBLE TypeRef type_of(TypeKind kind);
KINDLING_VISIBLE TypeRef inferred_tensor();
/// A Tensor that was seen: graphs show what it looked like, "Float(3, strides=[1], requires_grad=0, device=cpu)".
TypeRef seen_tensor(const std::string& text);
/// Without that, parts included.
KINDLING_VISIBLE TypeRef unseen(TypeRef type);
KINDLING_VISIBLE TypeRef list_of(TypeRef element);
KINDLING_VISIBLE TypeRef dict_of(TypeRef key, TypeRef value);
KINDLING_VISIBLE TypeRef tuple_of(std::vector<TypeRef> elements, std::string name = "", std::vector<std::string> fields = {});
KINDLING_VISIBLE TypeRef future_of(TypeRef element);
TypeRef variable(const std::string& name);
KINDLING_VISIBLE TypeRef class_named(const std::string& name);
/// Of these members, flattened, without those that another one covers; an Optional, or the only member, if that is what remains.
KINDLING_VISIBLE TypeRef union_of(const std::vector<TypeRef>& members);
KINDLING_VISIBLE TypeRef optional_of(TypeRef element);

KINDLING_VISIBLE std::string str(TypeRef type);        // as graphs print it: "int[]"
KINDLING_VISIBLE std::string annotation(TypeRef type); // as it is written: "List[int]"
/// As schemas write it: "__torch__.Point", "Future(Tensor)".
std::string in_schema(TypeRef type);
KINDLING_VISIBLE std::string repr(TypeRef type); // as messages say it: the annotation, and whether it was only inferred

/// Whether every value of `type` is one of `of`.
KINDLING_VISIBLE bool is_subtype(TypeRef type, TypeRef of);
/// The type that values of both have where they meet, null if there is none (or their Union, if that is wanted).
KINDLING_VISIBLE TypeRef unify(TypeRef a, TypeRef b, bool or_union = false);
TypeRef unify(const std::vector<TypeRef>& all, bool or_union = false);

/// Types that stand for the variables of a schema so far.
using TypeVariables = std::unordered_map<std::string, TypeRef>;
/// Binds the variables in `formal` so that `actual` fits; "" or the reason why it does not. A type without variables is not looked at.
std::string match(TypeRef formal, TypeRef actual, TypeVariables& variables);
/// With variables replaced; null if one has no type.
TypeRef substitute(TypeRef type, const TypeVariables& variables);

TypeRef of_argument(const Argument& argument);

/// What an annotation says. `resolve` is asked about names that the language does not have; it may be null or give null.
struct KINDLING_VISIBLE TypeResolver {
    virtual ~TypeResolver() = default;
    virtual TypeRef resolve(const std::string& name, const Range& range) = 0;
};
KINDLING_VISIBLE TypeRef read_type(const Tree& annotation, TypeResolver* resolver = nullptr);
/// int[2] in operators' schemas: "BroadcastingList2[int]" or "_size_2_t". 0 if the annotation is not one.
int broadcast_length(const Tree& annotation, TypeRef& type);

} // namespace kindling::script
