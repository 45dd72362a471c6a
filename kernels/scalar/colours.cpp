// kernels/scalar/colours.cpp: moves at once, as moves in turn.
#include "kernels/scalar/colours.h"

#include <utility>

namespace kindling::scalar {

void sequence(std::vector<Move>& moves, int32_t spare) {
    std::vector<Move> done;
    done.reserve(moves.size() + 1);
    while (!moves.empty()) {
        bool found = false;
        for (size_t i = 0; i < moves.size(); i++) {
            const Move move = moves[i];
            if (std::any_of(moves.begin(), moves.end(), [&](const Move& other) { return &other != &moves[i] && other.from == move.to; })) continue;
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

}  // namespace kindling::scalar
