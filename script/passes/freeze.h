// script/passes/freeze.h: modules whose attributes are constants.
#pragma once
#include "script/passes/passes.h"

namespace kindling::script {

struct Frozen {
    std::vector<std::pair<std::string, std::shared_ptr<Graph>>> methods;
    std::vector<std::string> kept; // attributes that these read or set, or that were to be kept
};

/// Of `forward` and what `preserved` names: methods, and attributes ("a", "a.b") that stay what they are. RuntimeError for other names.
KINDLING_VISIBLE Frozen freeze(const Item& module, const std::vector<std::string>& preserved);

/// Dropout goes; with `numerics`, what the folds below find becomes part of weights.
KINDLING_VISIBLE bool optimise_frozen(Graph& graph, bool numerics);
bool fold_frozen_conv_bn(Graph& graph); // fold.cpp
bool fold_frozen_linear_bn(Graph& graph);
bool fold_frozen_conv_add_or_sub(Graph& graph);
bool fold_frozen_conv_mul_or_div(Graph& graph);

} // namespace kindling::script
