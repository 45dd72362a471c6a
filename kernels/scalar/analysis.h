// kernels/scalar/analysis.h: the order of blocks, dominators and loops.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/scalar/function.h"

namespace kindling::scalar {

inline constexpr uint32_t nowhere = ~0u;

struct Loop {
    uint32_t head = 0;
    uint32_t parent = nowhere; // a loop
    uint32_t depth = 1;
    std::vector<uint32_t> blocks; // in reverse postorder; those of inner loops too
};

struct Shape {
    std::vector<uint32_t> order;     // reachable blocks in reverse postorder
    std::vector<uint32_t> position;  // [block]: in `order`, or nowhere
    std::vector<uint32_t> dominator; // [block]: the immediate one; the entry's is itself
    std::vector<uint32_t> depth;     // [block]: in the dominator tree
    std::vector<uint32_t> loop;      // [block]: the innermost, or nowhere
    std::vector<Loop> loops;         // outer ones before inner ones

    explicit Shape(const Function& function);
    bool reachable(uint32_t block) const { return position[block] != nowhere; }
    bool dominates(uint32_t a, uint32_t b) const;
    /// Whether the loop (or nowhere) holds the block.
    bool holds(uint32_t loop, uint32_t block) const;
};

// What several passes need of vectors, once.

/// By the upper half, then by the lower one, which is usually what the upper half is the key of.
void sort_keys(std::vector<uint64_t>& keys);
/// Where the value stands first; the size if nowhere.
size_t place_in(const std::vector<uint32_t>& list, uint32_t value);
inline bool contains(const std::vector<uint32_t>& list, uint32_t value) { return place_in(list, value) < list.size(); }
void insert_at(std::vector<uint32_t>& list, size_t place, uint32_t value);
/// Takes it out, wherever it stands.
void take_out(std::vector<uint32_t>& list, uint32_t value);

/// Calls visit(input id) for every value that the node reads, but not those of its exit.
template <class F> void for_each_input(const Function& function, const Node& node, F&& visit) {
    for (uint32_t input : node.input)
        if (input) visit(input);
    for (uint32_t i = 0; i < node.count; i++) visit(function.operands[node.list + i]);
}
/// Whether a node makes one value of four lanes.
inline bool gathers(Op op) { return op == Op::Any || op == Op::Count || op == Op::Sum || op == Op::Last; }
inline bool has_exit(Op op) { return op == Op::Index || op == Op::Check || op == Op::Poll; }

} // namespace kindling::scalar
