// script/code.h: a graph as TorchScript writes it again: `.code` of functions and methods.
#pragma once
#include <string>

#include "core/export.h"
#include "script/lower.h"

namespace kindling::script {

KINDLING_VISIBLE std::string code_of(const Function& function);

}  // namespace kindling::script
