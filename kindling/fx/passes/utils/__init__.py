"""Patterns in graphs, and groups of nodes."""
from kindling.fx.passes.utils.common import HolderModule as HolderModule
from kindling.fx.passes.utils.common import compare_graphs as compare_graphs
from kindling.fx.passes.utils.common import lift_subgraph_as_module as lift_subgraph_as_module
