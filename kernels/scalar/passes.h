// kernels/scalar/passes.h: what is done with a function before it is compiled. Each leaves a function that verifies.
#pragma once
#include <memory>

#include "kernels/scalar/analysis.h"
#include "kernels/scalar/constants.h"

namespace kindling::scalar {

/// Drops what nothing reaches or uses, phis that choose between one value, branches on constants; joins blocks in a row.
void tidy(Function& function);
/// Puts a block on each edge from a branch to a block that others jump to as well. What comes after it (code generation) keeps
/// the edges so.
void split_edges(Function& function);

/// Folds constants, applies algebra that is exact for every input, and merges equal values, loads of memory that was not
/// written meanwhile, and checks that have been made.
void merge_values(Function& function);
/// Decides comparisons and index checks by what is known where they stand: the branches and checks that lead there, and how loop
/// variables run.
void decide_checks(Function& function);
/// Gives each loop a block of its own in front, which only jumps to its head.
void add_preheaders(Function& function);
/// For functions with preheaders: the loop's.
uint32_t preheader(const Function& function, const Shape& shape, uint32_t loop);
/// Moves what is the same in every round of a loop in front of it. Loads only on request.
void hoist(Function& function, bool loads);
/// Turns i * stride of a loop variable into sums, and addresses into a part that stays and a part that goes.
void reduce_addresses(Function& function);
/// For functions with preheaders: loads of the loop that read in each round what was `value` in the round before.
struct Carried {
    uint32_t load, value;
};
std::vector<Carried> carried_loads(Function& function, uint32_t loop);
/// Puts the first round of innermost loops in front of them, where that pays: what it checked and loaded need not be checked and
/// loaded again, and loads can be carried from round to round. Whether it did.
bool peel(Function& function);
/// The function with four rounds at once of loops where each lane can do what its round did; null if there is no such loop. After `hoist`.
/// `why` gets what stopped the others.
std::unique_ptr<Function> widen(const Function& function, std::string* why = nullptr);
/// The passes up to where loops are widened, and those behind, in the order that serves.
void optimise_first(Function& function);
void optimise_last(Function& function);
inline void optimise(Function& function) {
    optimise_first(function);
    optimise_last(function);
}

/// What a node is worth by algebra: another value, or 0 if none. It may rewrite the node in place, with constants. What it
/// depends on must have been simplified.
uint32_t simplified(Function& function, Constants& constants, Node& node);

/// Who reads a checked index reads the index itself. From here on no load may be moved up.
void use_checked(Function& function);

/// For machine code, edges split: innermost loops count their polls in a register.
void count_in_registers(Function& function);

/// Replaces values: collects which, then rewrites every reading place at once.
class Replacements {
public:
    explicit Replacements(const Function& function) : to_(function.nodes.size()) {}
    void replace(uint32_t value, uint32_t by) { to_[value] = by, any_ = true; }
    uint32_t resolve(uint32_t value) {
        while (value < to_.size() && to_[value]) value = to_[value];
        return value;
    }
    bool any() const { return any_; }
    /// Nodes that were made since have their place.
    void grow(size_t nodes) { to_.resize(nodes); }
    void apply(Function& function);

private:
    std::vector<uint32_t> to_;
    bool any_ = false;
};

} // namespace kindling::scalar
