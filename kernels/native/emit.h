// kernels/native/emit.h: from a lane program to machine code.
#pragma once
#include "kernels/native/lanes.h"
#include "kernels/reductions/fold.h"

namespace kindling::native {

inline constexpr int most_fold_blocks = 16;                                         // of 256 elements, in one call of code with reductions
inline constexpr int most_rows = 16;                                                // in one call
inline constexpr int fold_area = (most_fold_blocks + most_rows) * fold_lanes_bytes; // bytes for each reduction

/// void code(char* const* pointers, int64_t n, char* frame, char* const* end): processes n > 0 elements of each row, a
/// multiple of the program's turn. Every row has its own pointers (LaneProgram::pointers). They follow those of the row
/// before, up to `end`. A reduction writes at most most_fold_blocks blocks of lanes, fold_lanes_bytes apart.
/// A partial program has a remainder behind the last turn, and n may be 0. The masks in the frame say which elements it
/// has. AVX-512: at partial_masks, 8 bytes for each of the turn's vectors. AVX2: at wide_partial_masks, a vector for each, of elements as
/// wide as 32 bytes have lanes.
inline constexpr int partial_masks = 32, wide_partial_masks = 64, wide_partial_bytes = 128;
struct MachineCode {
    std::vector<uint8_t> bytes; // code, then constants; needs an alignment of 64
    int code_size = 0;
    int64_t frame = 0;   // bytes of scratch memory
    std::string listing; // if one was wanted
};

MachineCode emit(const LaneProgram& program, bool with_listing);

/// True if everything that the program loads, reduces and stores can be masked.
bool has_partial_form(const LaneProgram& program);

} // namespace kindling::native
