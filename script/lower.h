// script/lower.h: from the tree of a function to its graph.
#pragma once
#include "script/graph.h"
#include "script/signature.h"

namespace kindling::script {

struct Function {
    std::string name;
    Signature signature;
    std::unique_ptr<Graph> graph;
};

/// What a name stands for that the function does not define: other functions of the unit.
struct Resolver : TypeResolver {
    virtual Function* function(const std::string& name) = 0;
};

/// The graph and signature of a definition. RuntimeError that shows the line.
void lower(const Tree& definition, Resolver& resolver, Function& function);

// The steps after the tree was walked, in order.
void to_ssa(Graph& graph);                // stores and loads become values, exits become structure (exits.cpp)
void clean_up(Graph& graph);              // tuples, constants, dead code, order of results (cleanup.cpp)
void transform_exits(Graph& graph);

/// "x", but not "_1": a name that a value may have.
bool meaningful(const std::string& name);

}  // namespace kindling::script
