// core/forward.h: what tools/generate.py writes of a C++ function that calls an operator; core/forward.cpp says how it works.
#pragma once

/// A function without a frame: a number, and a jump to `kindling_forward` or, if the result is a number or nothing, to
/// `kindling_forward_number`. The number is the operator's, and above 16 bits the place of its letters.
#define KINDLING_FORWARD(to, what) asm("movl $" #what ", %eax\n\tjmp " #to)

namespace kindling {

/// Texts with a zero behind each: a letter for the result, and one for each argument, with an "o" before it if it is optional.
extern const char forward_letters[];

} // namespace kindling
