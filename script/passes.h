// script/passes.h: what is done to graphs on request, beside what compiling does.
#pragma once
#include "core/export.h"
#include "script/lower.h"

namespace kindling::script {

/// A copy with the graphs of called functions and methods in the place of the calls (inline.cpp).
KINDLING_VISIBLE std::shared_ptr<Graph> inlined(const Graph& graph);

}  // namespace kindling::script
