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

/// Dropout goes; with `numerics`, normalisation behind convolutions and linear layers becomes part of their weights.
KINDLING_VISIBLE bool optimise_frozen(Graph& graph, bool numerics);
bool fold_frozen_conv_bn(Graph& graph);
bool fold_frozen_linear_bn(Graph& graph);

} // namespace kindling::script
