// kernels/fold.h: reductions over contiguous rows. Internal to the tile executor.
//
// The order of a fold of n values is a function of n alone: value k goes to lane k mod 16 of block k / 256; a lane
// folds its values in order; the 16 lanes of a block are folded by halves (lane j with lane j + 8, then 4, 2, 1);
// blocks are folded as a binary counter does (neighbours first, then pairs of pairs), the rest from the smallest up.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "kernels/loop.h"
#include "kernels/tile.h"

namespace kindling {

inline constexpr int fold_lanes = 16;
inline constexpr int fold_block = 256;

RowFold find_row_fold(Combine combine, DType type);

/// Where lanes lie in memory, and what they come to: room for numbers of any size.
inline constexpr int fold_lanes_bytes = 128, fold_result_bytes = 16;
/// The rest of the folds of rows whose lanes are there: of each row `blocks` (at most 16) times 16 of them,
/// fold_lanes_bytes apart. Results lie fold_result_bytes apart.
using LaneBlocksFold = void (*)(void* out, const void* lanes, int64_t rows, int64_t blocks);
/// Of float32 and float64: Sum, Prod, Min and Max. Null for others.
LaneBlocksFold find_lane_fold(Combine combine, DType type);
/// What a lane of these holds before its first value.
constexpr double lane_identity(Combine combine) {
    return combine == Combine::Sum    ? -0.0  // the zero that leaves -0 alone
           : combine == Combine::Prod ? 1
           : combine == Combine::Min  ? __builtin_inf()
                                      : -__builtin_inf();
}

/// A block, 1 to 256 rows, folded down `columns` columns; rows lie `stride` bytes apart.
using ColumnBlockFold = void (*)(void* out, const void* values, int64_t rows, int64_t columns, int64_t stride);
/// Of float32 and float64: Sum, Min and Max, where vectors can be loaded in part. Null for others.
ColumnBlockFold find_column_fold(Combine combine, DType type);

#define KINDLING_DECLARE_FOLDS(NAMESPACE)                               \
    namespace NAMESPACE {                                               \
    RowFold find_row_fold(Combine combine, DType type);                 \
    ColumnBlockFold find_column_fold(Combine combine, DType type);      \
    LaneBlocksFold find_lane_fold(Combine combine, DType type);         \
    }
KINDLING_DECLARE_FOLDS(isa_baseline)
KINDLING_DECLARE_FOLDS(isa_avx2)
KINDLING_DECLARE_FOLDS(isa_avx512)
#undef KINDLING_DECLARE_FOLDS

/// Items in the order they come, merged as a binary counter merges: neighbours first.
template <class Item, class Merge> class PairwiseCounter {
public:
    explicit PairwiseCounter(Merge merge) : merge_(merge) {}
    void push(Item item) {
        for (uint64_t bit = count_++; bit & 1; bit >>= 1) item = merge_(levels_[--depth_], item);
        levels_[depth_++] = item;
    }
    /// Four items that are merged already, after a multiple of four.
    void push_four(Item item) {
        for (uint64_t bit = (count_ += 4) / 4 - 1; bit & 1; bit >>= 1) item = merge_(levels_[--depth_], item);
        levels_[depth_++] = item;
    }
    /// Everything that was pushed; at least one item.
    Item total() {
        Item item = levels_[--depth_];
        while (depth_ > 0) item = merge_(levels_[--depth_], item);
        return item;
    }

private:
    Merge merge_;
    uint64_t count_ = 0;
    int depth_ = 0;
    Item levels_[64];
};

}  // namespace kindling
