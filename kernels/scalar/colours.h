// kernels/scalar/colours.h: places that values share in turn: registers and slots of memory.
#pragma once
#include <algorithm>

#include "kernels/scalar/lifetimes.h"

namespace kindling::scalar {

/// What one register or slot is occupied by, sorted.
class Colour {
public:
    bool fits(const std::vector<Range>& ranges) const {
        for (const Range& range : ranges) {
            auto after = std::upper_bound(taken_.begin(), taken_.end(), range.from,
                                          [](uint32_t at, const Range& other) { return at < other.to; });
            if (after != taken_.end() && after->from < range.to) return false;
        }
        return true;
    }
    void take(const std::vector<Range>& ranges) {
        const auto middle = static_cast<std::ptrdiff_t>(taken_.size());
        taken_.insert(taken_.end(), ranges.begin(), ranges.end());
        std::inplace_merge(taken_.begin(), taken_.begin() + middle, taken_.end(),
                           [](const Range& a, const Range& b) { return a.from < b.from; });
    }

private:
    std::vector<Range> taken_;
};

/// The first of the colours that fits, or a new one; takes it.
inline uint32_t first_fit(std::vector<Colour>& colours, const std::vector<Range>& ranges) {
    uint32_t c = 0;
    while (c < colours.size() && !colours[c].fits(ranges)) c++;
    if (c == colours.size()) colours.emplace_back();
    colours[c].take(ranges);
    return c;
}

struct Move {
    int32_t to, from;
};
/// Orders moves that happen at once, so that none overwrites what another still reads; a cycle goes through `spare`.
void sequence(std::vector<Move>& moves, int32_t spare);

}  // namespace kindling::scalar
