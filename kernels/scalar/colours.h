// kernels/scalar/colours.h: places that values share in turn: registers and slots of memory.
#pragma once
#include "kernels/scalar/lifetimes.h"

namespace kindling::scalar {

/// What one register or slot is occupied by, sorted.
class Colour {
public:
    bool fits(const std::vector<Range>& ranges) const;
    void take(const std::vector<Range>& ranges) { merge_ranges(taken_, ranges); }

private:
    std::vector<Range> taken_;
};

/// The first of the colours that fits, or a new one; takes it.
uint32_t first_fit(std::vector<Colour>& colours, const std::vector<Range>& ranges);

struct Move {
    int32_t to, from;
};
/// Orders moves that happen at once, so that none overwrites what another still reads; a cycle goes through `spare`.
void sequence(std::vector<Move>& moves, int32_t spare);

} // namespace kindling::scalar
