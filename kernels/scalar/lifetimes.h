// kernels/scalar/lifetimes.h: the order of the code, and where in it each value is alive.
//
// Values that a phi joins become one where their lifetimes do not meet (coalescing): then the phi costs no move.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/scalar/analysis.h"

namespace kindling::scalar {

/// Half open. A node at place p (a multiple of 4) reads at p, clobbers registers at p + 1, and its value exists from p + 2.
struct Range {
    uint32_t from, to;
};

/// Until when a node needs an input.
enum class Until : uint8_t {
    Read,    // the result may take its register
    Clobber, // not in a register that the node clobbers
    Result,  // nor in that of the result
};

struct Lifetimes {
    std::vector<uint32_t> order;            // blocks, as they follow in the code: loops in one piece, a loop's test at its end
    std::vector<uint32_t> start;            // [block]; its end is the start of the next
    std::vector<uint32_t> end;              // [block]: place of what ends it
    std::vector<uint32_t> place;            // [node]
    std::vector<std::vector<Range>> ranges; // [value], of leaders; sorted
    std::vector<float> weight;              // [value], of leaders: readings and writings, 8 times as many for each loop around

    /// `folded` nodes have no code: who reads them reads their inputs. `until` says how long a node needs its input of that
    /// number.
    Lifetimes(const Function& function, const Shape& shape, const std::vector<uint8_t>& folded,
              Until (*until)(const Function& function, const Node& node, int input));
    /// The value that stands for all that share its place.
    uint32_t leader(uint32_t value) const {
        while (leader_[value] != value) value = leader_[value];
        return value;
    }

private:
    std::vector<uint32_t> leader_;

    void lay_out(const Function& function, const Shape& shape);
    void find(const Function& function, const Shape& shape, const std::vector<uint8_t>& folded,
              Until (*until)(const Function&, const Node&, int));
    void coalesce(const Function& function, const Shape& shape);
    bool merge(uint32_t a, uint32_t b);
};

bool overlap(const std::vector<Range>& a, const std::vector<Range>& b);
/// Adds ranges that do not meet those of the list; both are sorted.
void merge_ranges(std::vector<Range>& list, const std::vector<Range>& more);

} // namespace kindling::scalar
