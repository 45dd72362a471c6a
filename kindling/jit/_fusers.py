"""Graphs as they run: what ``graph_for`` and ``code_with_constants`` show, and the switches of fusers."""
from kindling import _C
from kindling._common.blocks import Block as _Block


class ConstMap:
    """What a program calls CONSTANTS: ``c0`` and so on."""

    def __init__(self, const_mapping):
        self.const_mapping = const_mapping

    def __getattr__(self, attr):
        return self.const_mapping[attr]


def code_with_constants(function):
    text, constants = function._code_constants
    return text, ConstMap({f"c{place}": each for place, each in enumerate(constants)})


_optimised, _fuses = True, {"cpu": None, "texpr": True}


def graph_for(function):
    """The graph as it runs: calls in line, and pointwise operators that become one loop as a group, those of several rounds too."""
    if not _optimised:
        return function.graph
    graph = function.inlined_graph
    _C._jit_pass_constant_loop_unrolling(graph)
    _C._jit_pass_constant_propagation_immutable_types(graph)
    _C._jit_pass_constant_pooling(graph)
    _C._jit_pass_dce(graph)
    if _fuses["cpu"] is not False:
        _C._jit_pass_fuse(graph)
    return graph


class optimized_execution(_Block):
    """A block in which ``graph_for`` shows optimised graphs, or not."""

    def __init__(self, should_optimize):
        self._wanted = bool(should_optimize)

    def __enter__(self):
        global _optimised
        self._before, _optimised = _optimised, self._wanted

    def __exit__(self, *details):
        global _optimised
        _optimised = self._before


class fuser(_Block):
    """A block in which scripts are fused by the fuser of that name: "fuser0" to "fuser3", which are all the same here."""

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        if self._name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
            raise Exception(f"unrecognized fuser option (name: {self._name})")
        self._before = dict(_fuses)
        _fuses.update(cpu=self._name != "fuser2" or None, texpr=self._name in ("fuser1", "fuser3"))

    def __exit__(self, *details):
        _fuses.clear()
        _fuses.update(self._before)


def set_fusion_strategy(strategy):
    """How scripts would be fused; what was set before."""
    global _strategy
    for behavior, _ in strategy:
        if behavior not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {behavior}")
    before, _strategy = _strategy, list(strategy)
    return before


_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


def override_can_fuse_on_cpu(flag):
    _fuses["cpu"] = bool(flag)


def can_fuse_on_cpu():
    return bool(_fuses["cpu"])
