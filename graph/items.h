// graph/items.h: loops as fusion sees them: over merged dimensions. For fuse.cpp and seams.cpp.
#pragma once
#include <memory>
#include <vector>

#include "core/span.h"
#include "graph/plan.h"

namespace kindling {

using Dims = SmallVector<int64_t, 8>;

inline int64_t product(const Dims& sizes) {
    int64_t all = 1;
    for (int64_t size : sizes) all *= size;
    return all;
}

/// An operand in the dimensions that its loop has after those that lie together were merged.
struct Operand {
    int slot;
    DType type;
    int64_t offset;
    Dims strides;
};

/// A loop with merged dimensions: a loop over (4, 8) whose operands are all contiguous is one over (32), as is one over (8, 4).
struct Item {
    int loop = 0; // of the recording; several items may be parts of one
    Dims sizes;
    uint64_t reduced = 0, row = 0;
    std::vector<Operand> operands;            // outputs, then inputs
    std::shared_ptr<const Expression> as_row; // a reduction as what gives its result for every element of the row
    bool alone = false;                       // it counts its dimensions, so they must stay as they are
    bool needed = false;
};

/// Leaves out dimensions of size 1, and merges neighbours that are one dimension for every operand and both reduced or both not.
void merge(Dims& sizes, uint64_t* masks[2], std::vector<Operand>& operands);

/// The coarsest dimensions that both spaces can be written in, in the same order of elements. False if there are none.
bool refine(const Dims& a, const Dims& b, Dims& both);

/// Strides, or a mask, over `sizes` as what they are over `fine`, a refinement of them.
Dims finer(const Dims& sizes, const Dims& strides, const Dims& fine);
uint64_t finer(const Dims& sizes, uint64_t mask, const Dims& fine);

/// Cuts loops over memory that earlier loops wrote part by part where those parts meet, so that each piece can join the loop that
/// wrote what it reads.
void split_at_seams(const RecordedLoops& recorded, std::vector<Item>& items);

} // namespace kindling
