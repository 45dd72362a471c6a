// kernels/native/emit.h: from a lane program to machine code.
#pragma once
#include "kernels/native/lanes.h"

namespace kindling::native {

/// void code(char* const* arguments, int64_t n, char* frame); n > 0 is a multiple of `lanes`.
struct MachineCode {
    std::vector<uint8_t> bytes;     // code, then constants; to lie at a multiple of 64
    int code_size = 0;
    int64_t frame = 0;              // bytes of scratch memory
    std::vector<int16_t> arguments; // the slot of each
    std::string listing;            // if it was asked for
};

MachineCode emit(const LaneProgram& program, bool with_listing);

}  // namespace kindling::native
