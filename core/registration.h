// core/registration.h: taking back what was registered at run time.
#pragma once
#include "core/operator.h"

namespace KINDLING_VISIBLE kindling {

/// Forgets an operator that `register_operator` added; false if there is none. Its memory stays: callers may hold it.
bool remove_operator(const char* name, const char* overload);

}  // namespace kindling
