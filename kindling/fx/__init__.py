"""Graphs of programs: traced, changed, and written as Python again.

``symbolic_trace`` calls a module or function with proxies; the graph of what they saw is the ``graph`` of a ``GraphModule``, whose
``code`` is Python text. ``Interpreter`` and ``Transformer`` walk a graph, ``replace_pattern`` rewrites it.
"""
import kindling as _kindling

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy", "replace_pattern",
           "has_side_effect", "map_arg"]

_HOMES = {**dict.fromkeys(("PH", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"), "_symbolic_trace"), "CodeGen": "graph", "Graph": "graph",
          "GraphModule": "graph_module", "Interpreter": "interpreter", "Transformer": "interpreter",
          **dict.fromkeys(("Node", "has_side_effect", "map_arg"), "node"), "Proxy": "proxy", "replace_pattern": "subgraph_rewriter"}
_SUBMODULES = ("_codegen", "_compatibility", "_lazy_graph_module", "_pytree", "_symbolic_trace", "_utils", "annotate", "config", "experimental", "graph",
               "graph_module", "immutable_collections", "interpreter", "node", "operator_schemas", "passes", "proxy", "subgraph_rewriter", "traceback")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, _SUBMODULES)
