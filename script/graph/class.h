// script/graph/class.h: classes, modules, interfaces, enums and named tuples: what their objects hold and what their methods are.
// Like the types that name them they live as long as the process.
#pragma once
#include <map>
#include <unordered_map>

#include "script/lower/lower.h"

namespace kindling::script {

struct KINDLING_VISIBLE Class {
    enum Kind : uint8_t { Plain, Module, Interface, Enum, NamedTuple };
    /// What a module of Python's that is a container holds: its submodules stand in the order of its attributes.
    enum Holds : uint8_t { Nothing, List, Dict, Parameters, NamedParameters };
    struct Attribute {
        std::string name;
        TypeRef type;
        bool parameter = false, buffer = false;
    };
    struct Property {
        std::string getter, setter;
    };

    virtual ~Class() = default;

    std::string name; // "__torch__.Net"
    Kind kind = Plain;
    Holds holds = Nothing;
    bool open = false;                                 // its __init__ is being compiled: what it sets becomes an attribute
    TypeRef type = nullptr;                            // (of a Module that promises no more than an interface: see `promised`)
    TypeRef value_type = nullptr;                      // of an Enum
    std::vector<Attribute> attributes;                 // their places in an Instance; of a NamedTuple its fields
    std::vector<Item> defaults;                        // of a NamedTuple: those of its last fields
    std::vector<std::pair<std::string, Item>> members; // of an Enum: objects with a name and a value
    std::unordered_map<std::string, Item> constants;
    std::map<std::string, Property> properties;
    std::map<std::string, std::vector<std::string>> overloads; // of a method: the names of its compiled forms
    std::vector<Function*> hooks, pre_hooks;                   // of a module, in order
    std::unordered_map<std::string, Function*> methods;
    std::vector<Signature> promised; // of an Interface

    /// A method that is not in `methods` yet: compiled now; null if there is none.
    virtual Function* compile(const std::string&) { return nullptr; }
    /// What else a name means to its objects: functions, operators, static methods.
    virtual Outside outside(const std::string&, const Range&) { return {}; }
    /// Why an attribute that the object in Python has is not there.
    virtual std::string why_not(const std::string&) { return ""; }

    int place_of(const std::string& attribute) const {
        for (size_t i = 0; i < attributes.size(); i++)
            if (attributes[i].name == attribute) return static_cast<int>(i);
        return -1;
    }
    Function* method(const std::string& name) {
        const auto found = methods.find(name);
        return found != methods.end() ? found->second : compile(name);
    }
    const Signature* signature(const std::string& name) {
        for (const Signature& each : promised)
            if (each.name == name) return &each;
        const Function* found = method(name);
        return found ? &found->signature : nullptr;
    }
};

/// The type of a class's objects, made once.
KINDLING_VISIBLE TypeRef class_type(Class& definition);
inline bool is_module(TypeRef type) { return type->is(TypeKind::Class) && type->definition && type->definition->kind == Class::Module; }

} // namespace kindling::script
