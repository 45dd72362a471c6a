// script/graph/code.h: a graph as TorchScript writes it again: `.code` of functions and methods.
#pragma once
#include <string>

#include "core/export.h"
#include "script/lower/lower.h"

namespace kindling::script {

/// `constants`: what the text calls CONSTANTS.c0 and so on.
KINDLING_VISIBLE std::string code_of(const Function& function, std::vector<Item>* constants = nullptr);

} // namespace kindling::script
