// script/passes/alias.h: which values of a graph may be, or hold, the same memory, and what is written to it. What cannot be written to
// has no memory here. A container and what it holds count as one; so do all inputs and attributes of one type: whoever calls the graph may
// have given the same tensor twice. The graph may change afterwards: values that are new then are known to be nothing.
#pragma once
#include <unordered_set>

#include "script/passes/passes.h"

namespace kindling::script {

class Aliases {
public:
    /// `apart`: what attributes of modules hold is nothing that the caller gave, and each read of one is told apart.
    explicit Aliases(Graph& graph, bool apart = false);

    /// What a value's memory is called; 0 if it has none.
    size_t place(const Value* value);
    bool share(const Value* a, const Value* b) { return place(a) && place(a) == place(b); }
    /// Whether any node writes to it.
    bool written(const Value* value) { return written_.count(place(value)) != 0; }
    bool written(const Node* node); // to what it takes or gives
    /// Whether a node writes to an input.
    bool writes(const Node* node, const Value* input);
    /// Whether it is seen outside of the graph: an input, a result, an attribute, what functions were called with.
    bool outside(const Value* value) { return outside_.count(place(value)) != 0; }
    /// Whether one of two values may stand where the other did, though both may be new memory.
    bool interchangeable(const Value* a, const Value* b) {
        return !written(a) && !written(b) && (makes_no_memory(a->node) || !(outside(a) && outside(b)));
    }
    /// Whether it gives a view or a tuple: two that are made alike are the same memory. (Two new tensors in one list share a place here.)
    static bool makes_no_memory(const Node* node);

private:
    size_t own(const Value* value);
    size_t of_type(TypeRef type);
    size_t root(size_t place);
    void join(size_t a, size_t b);
    void join(const Value* a, const Value* b) { join(own(a), own(b)); }
    void to_outside(const Value* value);
    void visit(Block* block);
    void visit(Node* node);
    void call(Node* node);

    std::unordered_map<const Value*, size_t> places_;
    std::unordered_map<TypeRef, size_t> types_;
    bool apart_;
    std::vector<size_t> up_ = {0};     // of a place: the one that it is the same as
    std::vector<size_t> write_, seen_; // places, while they are being found
    std::unordered_set<size_t> written_, outside_;
};

} // namespace kindling::script
