// kernels/scalar/colours.cpp: moves at once, as moves in turn.
#include "kernels/scalar/colours.h"

#include <algorithm>
#include <utility>

namespace kindling::scalar {

bool Colour::fits(const std::vector<Range>& ranges) const {
    for (const Range& range : ranges) {
        size_t low = 0, high = taken_.size(); // the first that ends behind the start
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (range.from < taken_[middle].to) high = middle;
            else low = middle + 1;
        }
        if (low < taken_.size() && taken_[low].from < range.to) return false;
    }
    return true;
}

uint32_t first_fit(std::vector<Colour>& colours, const std::vector<Range>& ranges) {
    uint32_t c = 0;
    while (c < colours.size() && !colours[c].fits(ranges)) c++;
    if (c == colours.size()) colours.emplace_back();
    colours[c].take(ranges);
    return c;
}

void sequence(std::vector<Move>& moves, int32_t spare) {
    std::vector<Move> done;
    done.reserve(moves.size() + 1);
    while (!moves.empty()) {
        bool found = false;
        for (size_t i = 0; i < moves.size(); i++) {
            const Move move = moves[i];
            bool read = false;
            for (const Move& other : moves) read = read || (&other != &moves[i] && other.from == move.to);
            if (read) continue;
            done.push_back(move);
            moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
            found = true;
            break;
        }
        if (found) continue;
        // Only cycles are left: what the first one overwrites is kept elsewhere.
        const int32_t kept = moves[0].to;
        done.push_back({spare, kept});
        for (Move& move : moves)
            if (move.from == kept) move.from = spare;
    }
    moves = std::move(done);
}

} // namespace kindling::scalar
