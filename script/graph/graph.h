// script/graph/graph.h: a program as a graph: values, nodes, blocks. It prints as TorchScript's does, numbers and names included:
// a value is numbered when it is made, and one that takes a name that another has renames that other.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>

#include "script/graph/value.h"

namespace kindling::script {

struct Node;
struct Block;
struct Graph;
struct Signature;
struct Function;
struct Value;

struct Use {
    Node* user;
    size_t offset;
};
/// What stands for a value in a copy.
using Map = std::function<Value*(Value*)>;

struct KINDLING_VISIBLE Value {
    Node* node;
    TypeRef type;
    size_t number, offset = 0; // `offset`: which output of its node
    std::string given;         // its name; "" where it has none
    std::vector<Use> uses;

    std::string name() const { return given.empty() ? std::to_string(number) : given; }
    Value* set_name(const std::string& name);
    Value* set_type(TypeRef to) {
        type = to;
        return this;
    }
    Value* copy_metadata(const Value* from);
    void replace_uses(Value* by);
    const Graph& graph() const;
};

/// What a constant holds, and what few other nodes have besides their inputs.
struct Attribute {
    std::string name;
    Item item;
    std::vector<TypeRef> types;        // of an isinstance
    const char* kind = nullptr;        // as programs ask for it: "is"; null: as the item says
    std::shared_ptr<Graph> graph = {}; // of a group of nodes: its body
};

/// The call in whose place a node stands, in a graph where calls became what they call.
struct Inlined {
    const Function* callee;
    Range call;
    std::shared_ptr<const Inlined> outer; // in whose place that call stood; null: in none's
};

struct KINDLING_VISIBLE Node {
    Graph* graph;
    std::string kind;       // "aten::add"
    Block* block = nullptr; // that it stands in
    Node *previous = nullptr, *next = nullptr;
    std::vector<Value*> inputs, outputs;
    std::vector<Block*> blocks;
    std::vector<Attribute> attributes;
    Range range;
    std::shared_ptr<const Inlined> inlined;
    std::string scope; // of a trace: the modules inside of which it was called
    const Signature* signature = nullptr;
    Function* function = nullptr; // of a constant that stands for a function

    bool is(const char* other) const { return kind == other; }
    Value* input(size_t i = 0) const { return inputs[i]; }
    Value* output(size_t i = 0) const { return outputs[i]; }
    Node* at(const Range& where) {
        range = where;
        return this;
    }
    Node* add_input(Value* value) {
        insert_input(inputs.size(), value);
        return this;
    }
    void insert_input(size_t place, Value* value);
    void replace_input(size_t place, Value* value);
    void remove_input(size_t place);
    void clear_inputs();
    Value* add_output(TypeRef type);
    void erase_output(size_t place);
    Block* add_block();
    void erase_block(size_t place);
    Node* insert_before(Node* other);
    Node* insert_after(Node* other) { return insert_before(other->next); }
    void move_before(Node* other) {
        unlink();
        insert_before(other);
    }
    bool used() const;
    /// Takes it out of the graph with its blocks. What it gives must not be used.
    void destroy();
    const Item* attribute(const char* name) const;
    const std::shared_ptr<Graph>* subgraph() const; // null if it has none
    /// The operator or builtin that it calls, found by the types of its inputs where it was made without; null if it is none.
    const Signature* schema() const;
    /// Takes it out of its block, to be put elsewhere.
    void unlink();
    std::string str(bool ranges = true) const;
};

/// Whether `a` runs before `b`; they may stand in different blocks of a graph.
KINDLING_VISIBLE bool before(const Node* a, const Node* b);

/// A sequence of nodes: from `first()` to `end`, which stands for what the block gives.
struct KINDLING_VISIBLE Block {
    Graph* graph;
    Node* owner;            // null: the graph's own
    Node *parameters, *end; // prim::Param, prim::Return: ends of a ring

    Node* first() const { return parameters->next; }
    const std::vector<Value*>& inputs() const { return parameters->outputs; }
    const std::vector<Value*>& outputs() const { return end->inputs; }
    Value* add_input(TypeRef type) { return parameters->add_output(type); }
    void add_output(Value* value) { end->add_input(value); }
    Node* append(Node* node) { return node->insert_before(end); }
    /// Copies of another block's inputs, nodes and outputs; `map` says what stands for a value from outside of it.
    void clone_from(const Block* source, const Map& map);
    void destroy();
};

struct KINDLING_VISIBLE Graph {
    Graph();
    Graph(const Graph&) = delete;

    Block* block;
    Node* insert_point; // new nodes stand before it
    std::string scope;  // of new nodes

    Node* create(const std::string& kind, const std::vector<Value*>& inputs = {}, size_t outputs = 1);
    Node* create(const char* kind, std::initializer_list<Value*> inputs = {}, size_t outputs = 1);
    Node* insert(Node* node) { return node->insert_before(insert_point); }
    /// A copy without its place; `map` says what stands for an input.
    Node* clone(const Node* node, const Map& map);

    Node* create_constant(const Item& item, TypeRef type = nullptr);
    Value* constant(const Item& item, const Range& range = {}) { return insert(create_constant(item)->at(range))->output(); }
    Node* create_with(const char* kind, TypeRef type, const std::vector<Value*>& inputs = {});
    Node* create_load(const std::string& name, TypeRef type);
    Node* create_store(const std::string& name, Value* value);

    std::string str(bool ranges = true) const;
    /// RuntimeError if a node reads what is made later, or not at all.
    void lint() const;

private:
    friend struct Value;
    friend struct Node;
    friend struct Block;
    std::vector<std::unique_ptr<Value>> values_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::unordered_map<std::string, Value*> names_;
    std::unordered_map<std::string, size_t> suffixes_;
    size_t next_number_ = 0;
};

/// New nodes stand at the end of a block, or before a node, while this lives.
class Inserting {
public:
    Inserting(Graph& graph, Node* before) : graph_(graph), old_(graph.insert_point) { graph.insert_point = before; }
    explicit Inserting(Block* block) : Inserting(*block->graph, block->end) {}
    ~Inserting() { graph_.insert_point = old_; }
    Inserting(const Inserting&) = delete;

private:
    Graph& graph_;
    Node* old_;
};

/// The value of a constant, null if it is none.
KINDLING_VISIBLE const Item* constant_of(const Value* value);
KINDLING_VISIBLE bool must_be_none(const Value* value);
/// "x" of "x.3".
std::string base_name(const std::string& name, size_t* suffix = nullptr);

/// A copy: of the same numbers only if the graph's are those of its text.
KINDLING_VISIBLE std::shared_ptr<Graph> copy_of(const Graph& graph);
/// Copies of a graph's nodes before a node of another graph, with `inputs` for its inputs; what it gives.
KINDLING_VISIBLE std::vector<Value*> insert_graph(Graph& into, const Graph& body, const std::vector<Value*>& inputs);

/// From the text of a graph. RuntimeError that shows the place where it is none.
KINDLING_VISIBLE std::shared_ptr<Graph> parse_graph(const std::string& text, bool tensor_constants = false);
/// A type as graphs write it.
KINDLING_VISIBLE TypeRef parse_type(const std::string& text);

} // namespace kindling::script
