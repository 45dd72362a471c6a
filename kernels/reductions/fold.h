// kernels/reductions/fold.h: reductions over contiguous rows. Internal to the tile executor.
//
// The order of a reduction of n values depends on n alone. Value k goes to lane k mod 16 of block k / 256. A lane
// accumulates its values in order. The 16 lanes of a block are merged by halves (lane j with lane j + 8, then 4, 2, 1).
// Blocks are merged as a binary counter counts: neighbours first, then pairs of pairs, the rest from the smallest up.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "kernels/loop.h"
#include "kernels/tile/tile.h"

namespace kindling {

inline constexpr int fold_lanes = 16;
inline constexpr int fold_block = 256;

RowFold find_row_fold(Combine combine, DType type);

/// Bytes of the 16 lanes of a block in memory, and of a result: room for values of any size.
inline constexpr int fold_lanes_bytes = 128, fold_result_bytes = 16;
/// Finishes the reduction of rows whose lanes are in memory. A row has `blocks` blocks (at most 16) of 16 lanes,
/// fold_lanes_bytes apart. Results are fold_result_bytes apart.
using LaneBlocksFold = void (*)(void* out, const void* lanes, int64_t rows, int64_t blocks);
/// For Sum, Prod, Min and Max of float32 and float64; null for others.
LaneBlocksFold find_lane_fold(Combine combine, DType type);
/// What a lane holds before its first value.
constexpr double lane_identity(Combine combine) {
    return combine == Combine::Sum    ? -0.0 // the zero that leaves -0 alone
           : combine == Combine::Prod ? 1
           : combine == Combine::Min  ? __builtin_inf()
                                      : -__builtin_inf();
}

/// Rows that are reduced down however many columns by a ColumnBlockFold.
inline constexpr int64_t few_rows = 64;
/// Reduces a block of 1 to 256 rows down `columns` columns. Rows are `stride` bytes apart.
using ColumnBlockFold = void (*)(void* out, const void* values, int64_t rows, int64_t columns, int64_t stride);
/// For Sum, Min and Max of float32 and float64, where vectors can be loaded under a mask. Null for others.
ColumnBlockFold find_column_fold(Combine combine, DType type);

#define KINDLING_DECLARE_FOLDS(NAMESPACE)                                                                                                  \
    namespace NAMESPACE {                                                                                                                  \
    RowFold find_row_fold(Combine combine, DType type);                                                                                    \
    ColumnBlockFold find_column_fold(Combine combine, DType type);                                                                         \
    LaneBlocksFold find_lane_fold(Combine combine, DType type);                                                                            \
    }
KINDLING_DECLARE_FOLDS(isa_baseline)
KINDLING_DECLARE_FOLDS(isa_avx2)
KINDLING_DECLARE_FOLDS(isa_avx512)
#undef KINDLING_DECLARE_FOLDS

/// Merges at least one item in that order, in place: neighbours first, then pairs of them; what is left over goes with the next.
template <class Item, class Merge> inline Item merge_neighbours(Item* items, int64_t count, Merge merge) {
    for (; count > 1; count = (count + 1) / 2) {
        for (int64_t k = 0; 2 * k + 1 < count; k++) items[k] = merge(items[2 * k], items[2 * k + 1]);
        if (count & 1) items[count / 2] = items[count - 1];
    }
    return items[0];
}

/// Merges items in the order of a binary counter: neighbours first.
template <class Item, class Merge> class PairwiseCounter {
public:
    explicit PairwiseCounter(Merge merge) : merge_(merge) {}
    void push(Item item) {
        for (uint64_t bit = count_++; bit & 1; bit >>= 1) item = merge_(levels_[--depth_], item);
        levels_[depth_++] = item;
    }
    /// Pushes four items that are merged already. Their number so far must be a multiple of four.
    void push_four(Item item) {
        for (uint64_t bit = (count_ += 4) / 4 - 1; bit & 1; bit >>= 1) item = merge_(levels_[--depth_], item);
        levels_[depth_++] = item;
    }
    /// Merges everything that was pushed; at least one item.
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

} // namespace kindling
