// bindings/reuse.h: results in the memory of operands that nobody will read again.
#pragma once
#include "bindings/python.h"
#include "core/dispatch.h"

namespace kindling::python {

/// How the operands came: by a sign's slot; by a vector call that says that its arguments lie on the caller's stack (others may
/// lie in a tuple of the program's); or otherwise.
enum class Caller { Sign, Stack, Unknown };

/// As `call`. Where the interpreter itself evaluates an expression, `(x + y) * z`, and a large operand has no reference but
/// the one of its value stack, the result of a scalar body is written over it: half the memory, and two thirds of the
/// traffic.
void call_over(const Operator& op, Value* values, Value* results, Caller caller);

} // namespace kindling::python
