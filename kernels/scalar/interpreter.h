// kernels/scalar/interpreter.h: the function as words for a threaded interpreter.
#pragma once
#include <memory>

#include "kernels/scalar/code.h"

namespace kindling::scalar {

/// For a function whose edges are split.
std::unique_ptr<Code> interpreted(const Function& function, const Options& options);

} // namespace kindling::scalar
