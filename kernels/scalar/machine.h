// kernels/scalar/machine.h: the function as x86-64 machine code.
#pragma once
#include <memory>

#include "kernels/scalar/code.h"

namespace kindling::scalar {

/// For a function whose edges are split. Null where the processor or the system does not allow it.
std::unique_ptr<Code> machine_code(const Function& function, const Options& options);

} // namespace kindling::scalar
