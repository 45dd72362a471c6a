// kernels/scalar/passes.h: what is done with a function before it is compiled. Each leaves a function that verifies.
#pragma once
#include "kernels/scalar/function.h"

namespace kindling::scalar {

/// Drops what nothing reaches or uses, phis that choose between one value, branches on constants; joins blocks in a row.
void tidy(Function& function);
/// Puts a block on each edge from a branch to a block that others jump to as well. What comes after it (code generation) keeps
/// the edges so.
void split_edges(Function& function);

/// The last of all: who reads a checked index reads the index itself. From here on nothing may be moved.
void use_checked(Function& function);

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
    void apply(Function& function);

private:
    std::vector<uint32_t> to_;
    bool any_ = false;
};

}  // namespace kindling::scalar
