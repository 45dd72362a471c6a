// script/passes/passes.h: what is done to graphs, one step a function. Each gives whether it changed anything. README.md says what there
// is.
#pragma once
#include "script/lower/lower.h"

namespace kindling::script {

template <class F> void each_node(Block* block, F visit) {
    for (Node *node = block->first(), *next; node != block->end; node = next) {
        next = node->next;
        visit(node);
    }
}

/// The graphs of called functions and methods take the place of the calls (inline.cpp).
KINDLING_VISIBLE bool inline_calls(Graph& graph);
/// A copy of which that is true.
KINDLING_VISIBLE std::shared_ptr<Graph> inlined(const Graph& graph);
/// A copy that runs in its place: without calls of what is short, tuples that are taken apart again, and what is known beforehand.
std::shared_ptr<Graph> as_run(const Graph& graph);

enum class Dead {
    Plain,    // what writes stays
    ByMemory, // what writes to memory that nobody reads afterwards goes
    Effects,  // whatever gives nothing goes
};
bool remove_dead(Graph& graph, Dead which = Dead::Plain); // dead_code.cpp
bool has_effects(const Node* node, bool writes = true);

/// Nothing that is written to can be reached through a value of this type.
bool immutable(TypeRef type);
/// Computes what depends on constants alone, tensors and lists too unless `immutable_only`; takes known branches, simplifies results of
/// blocks (constants.cpp). Dead code stays.
bool propagate_constants(Graph& graph, bool immutable_only);
bool pool_constants(Graph& graph); // equal constants become one, at the graph's begin

/// The value itself where branches and loops hand it on unchanged (handed_on.cpp).
bool replace_handed_on(Graph& graph);
/// The parts of tuples in their place where a loop carries or gives some, if that can be done for all tuples of the graph.
void lower_carried_tuples(std::shared_ptr<Graph>& graph);
bool unpack_made_tuples(Graph& graph); // of tuples that are taken apart where they were made (tuples.cpp)
bool lower_all_tuples(
    Graph& graph); // no value is a tuple afterwards, the graph's inputs and results included; RuntimeError if a node needs one

bool share_common(Graph& graph);                 // common subexpressions (common.cpp)
bool peephole(Graph& graph, bool shapes = true); // peephole.cpp
/// Numbers alone, with the same values whatever dtypes tensors have.
bool peephole_numbers(Graph& graph);

/// How many nodes a block has, those of blocks in it included; counting ends beyond `enough`.
size_t size_of(const Block* block, size_t enough);
bool unroll_loops(Graph& graph, bool constant_only); // loops.cpp
bool hoist_invariants(Graph& graph);                 // what a loop computes anew each round without need moves in front of it

/// Writes into values that this graph made and nobody else sees become new values (mutation.cpp).
bool remove_mutation(Graph& graph);
bool remove_inplace_ops(Graph& graph); // without a look at who else sees it

KINDLING_VISIBLE std::shared_ptr<Graph> canonicalized(const Graph& graph, bool keep_names); // text.cpp: numbered anew
bool erase_number_types(Graph& graph);
bool erase_shapes(Graph& graph);

/// Sums of matrix products and products with a shared operand become one product (batch_mm.cpp).
bool batch_mm(Graph& graph);
/// What runs in their place; null of other nodes.
Builtin batched_products(const Node* node);

/// Runs of pointwise operators become prim::FusionGroup nodes (fuse.cpp).
bool fuse(Graph& graph);

/// By the name that torch._C._jit_pass_* gives it; null if there is none. Some take an option.
struct NamedPass {
    char name[44];
    bool answers, option;
    bool (*run)(Graph&, bool option);
};
KINDLING_VISIBLE const NamedPass* pass_named(const char* name);

} // namespace kindling::script
