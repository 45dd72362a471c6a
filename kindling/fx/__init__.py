"""Graphs of programs: traced, changed, and written as Python again.

``symbolic_trace`` calls a module or function with proxies; the graph of what they saw is the ``graph`` of a ``GraphModule``, whose
``code`` is Python text. ``Interpreter`` and ``Transformer`` walk a graph, ``replace_pattern`` rewrites it.
"""
from kindling.fx import immutable_collections as immutable_collections
from kindling.fx import node as node
from kindling.fx import graph as graph
from kindling.fx import proxy as proxy
from kindling.fx import traceback as traceback
from kindling.fx._symbolic_trace import PH as PH
from kindling.fx._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from kindling.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from kindling.fx.graph import CodeGen as CodeGen
from kindling.fx.graph import Graph
from kindling.fx.graph_module import GraphModule
from kindling.fx.interpreter import Interpreter, Transformer
from kindling.fx.node import Node, has_side_effect, map_arg
from kindling.fx.proxy import Proxy
from kindling.fx.subgraph_rewriter import replace_pattern

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy", "replace_pattern",
           "has_side_effect", "map_arg"]
