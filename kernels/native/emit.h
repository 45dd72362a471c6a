// kernels/native/emit.h: from a lane program to machine code.
#pragma once
#include "kernels/fold.h"
#include "kernels/native/lanes.h"

namespace kindling::native {

inline constexpr int most_fold_blocks = 16;  // of 256 elements, in one call of code that folds
inline constexpr int most_rows = 16;         // in one call
inline constexpr int fold_area = (most_fold_blocks + most_rows) * fold_lanes_bytes;  // of each fold

/// void code(char* const* pointers, int64_t n, char* frame, char* const* end): n > 0 elements, a multiple of the
/// program's turn, of one row after the other; every row has pointers of its own (LaneProgram::pointers), which lie behind
/// those of the row before it, up to `end`. Lanes of folds are at most most_fold_blocks blocks of each, fold_lanes_bytes
/// apart. Of a partial program n may be 0; the elements behind them are those that the masks in the frame say, at
/// partial_masks, 8 bytes for each of the turn's vectors.
inline constexpr int partial_masks = 32;
struct MachineCode {
    std::vector<uint8_t> bytes;     // code, then constants; to lie at a multiple of 64
    int code_size = 0;
    int64_t frame = 0;              // bytes of scratch memory
    std::string listing;            // if it was asked for
};

MachineCode emit(const LaneProgram& program, bool with_listing);

/// Whether everything that the program loads, folds and stores can be masked.
bool has_partial_form(const LaneProgram& program);

}  // namespace kindling::native
