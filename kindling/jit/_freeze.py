"""``torch.jit.freeze`` and what follows it; what ``graph_for`` shows, and the switches of fusers."""
from kindling import _C
from kindling._common.blocks import Block as _Block

_frozen = 0


def _script_module(mod, what):
    from kindling.jit._script_module import ScriptModule
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(f"{what} a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'.")


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A copy of a scripted module in eval mode whose parameters, buffers and attributes are constants of its graph.

    Args:
        preserved_attrs: names of attributes that stay attributes, and of methods that stay beside ``forward``.
        optimize_numerics: whether batch normalisation becomes part of the weights before it.

    >>> import kindling as torch
    >>> frozen = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 2).eval()))
    >>> list(frozen.parameters())
    []
    """
    _script_module(mod, "Freezing expects")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing.")
    from kindling.jit import _recursive
    preserved = list(preserved_attrs or ())
    out = _recursive.wrap_object(_C._script_freeze(mod._c, preserved, _name_of(mod)))
    run_frozen_optimizations(out, optimize_numerics, [name for name in preserved if mod._c._has_method(name)])
    return out


def _name_of(mod):
    """Its class's name, marked as another class of that name."""
    global _frozen
    parts = [each for each in mod._c._class().name().split(".") if not each.startswith("___torch_mangle_")]
    parts.insert(len(parts) - 1, f"___torch_mangle_{_frozen}")
    _frozen += 1
    return ".".join(parts)


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Dropout leaves the graphs of a frozen module; batch normalisation becomes part of the weights before it."""
    for name in ["forward", *(preserved_methods or ())]:
        if mod._c._has_method(name):
            _C._jit_pass_optimize_frozen_graph(mod._c._get_method(name).graph, optimize_numerics)


def optimize_for_inference(mod, other_methods=None):
    """A frozen module, optimised as far as that changes no result by more than rounding."""
    _script_module(mod, "optimize_for_inference expects")
    if hasattr(mod, "training"):
        mod = freeze(mod.eval(), preserved_attrs=other_methods or [])
    return mod


class ConstMap:
    """What a program calls CONSTANTS: ``c0`` and so on."""

    def __init__(self, const_mapping):
        self.const_mapping = const_mapping

    def __getattr__(self, attr):
        return self.const_mapping[attr]


def code_with_constants(function):
    text, constants = function._code_constants
    return text, ConstMap({f"c{place}": each for place, each in enumerate(constants)})


# ---- what runs

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
