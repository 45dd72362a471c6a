// script/lower/lower.h: from the tree of a function to its graph.
#pragma once
#include <atomic>

#include "script/graph/graph.h"
#include "script/graph/signature.h"

namespace kindling::script {

struct Code; // instructions (run.h)

struct Function {
    std::string name; // "f", "__torch__.Net.forward"
    Signature signature;
    std::shared_ptr<Graph> graph;
    std::atomic<Code*> code{nullptr}; // made of the graph at the first call, for good
    std::shared_ptr<Code> owned_code; //   by the thread that was first
    std::weak_ptr<const void> owner;  // of the text and of the functions that are called: what runs in another thread keeps it
};

struct Class;

/// What surrounds a script: a module of Python's (its attributes are asked for by dotted names), a constant, an operator.
struct Outside {
    enum Kind { Nothing, Module, Constant, Builtin, Script, Exception, Type, Special, Foreign, Choice, Unusable } kind = Nothing;
    std::string name = {}; // of a Builtin: "aten::relu"; of an Exception: "builtins.ValueError"; of a Special: a form of the
                           // language ("annotate"); of a Choice: the flag's; of Unusable: the type in Python
    Item constant = {}; // its type is the value's type (dtypes are ints); of a Foreign: what is called, None if calls raise; of a Choice:
                        // its default; of Unusable: what may be called with tensors for a tensor, or None
    Function* function = nullptr;    // of a Script
    TypeRef type = nullptr;          // of a Type: calling it makes one
    Signature signature = {};        // of a Foreign
    size_t place = 0;                // of a Choice: the flag's; of a Foreign: 1 if it takes the object first
    std::vector<Outside> parts = {}; // of a Choice: if the flag is true, if it is false; of a Script: further overloads
};

/// What a name stands for that the function does not define: other functions of the unit.
struct KINDLING_VISIBLE Resolver : TypeResolver {
    virtual Function* function(const std::string& name) = 0;
    /// What the surroundings mean by "scale", "F" or "F.relu": asked about names that neither the function nor the language defines,
    /// and about attributes of modules. Nothing: the compiler goes on with what it knows of `torch` and `math`.
    virtual Outside outside(const std::string& dotted_name, const Range& range) {
        (void)dotted_name, (void)range;
        return {};
    }
    /// A parameter's default where the surroundings know it better than the text.
    virtual bool default_of(const std::string& parameter, TypeRef type, Item& value) {
        (void)parameter, (void)type, (void)value;
        return false;
    }
};

/// The graph and signature of a definition. RuntimeError that shows the line. `self`: the class that it is a method of.
KINDLING_VISIBLE void lower(const Tree& definition, Resolver& resolver, Function& function, Class* self = nullptr);

// The steps after the tree was walked, in order.
void to_ssa(Graph& graph);     // stores and loads become values, exits become structure (exits.cpp)
void lift_forks(Graph& graph); // what is called in another thread gets a graph of its own (cleanup.cpp)
void clean_up(Graph& graph);   // tuples, constants, dead code, order of results (cleanup.cpp)
void transform_exits(Graph& graph);

/// "x", but not "_1": a name that a value may have.
bool meaningful(const std::string& name);

} // namespace kindling::script
