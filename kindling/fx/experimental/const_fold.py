"""What does not depend on inputs, computed once."""
import re

import kindling as torch
from kindling import fx
from kindling.fx.node import map_arg
from kindling.fx.passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(fx.GraphModule):
    """A graph module whose constants are computed at the first call, or by `run_folding`."""

    def __init__(self, root, graph, const_subgraph=None, fx_const_folded_attrs_name=None, device_for_folded_attrs="cuda"):
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else fx.GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args)

    def run_folding(self):
        """Computes the constants."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        folded = self.const_subgraph_module()

        def parameter(value):
            return torch.nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad) if isinstance(value, torch.Tensor) else value

        setattr(self, self.fx_const_folded_attrs_name,
                torch.nn.ParameterList([parameter(value) for value in folded]) if isinstance(folded, tuple) else parameter(folded))


def get_unique_attr_name_in_module(mod_traced, name):
    """A name like this that the module has not."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        match = re.match(r"(.*)_(\d+)$", name)
        name = name + "_1" if match is None else f"{match[1]}_{int(match[2]) + 1}"
    return name


def _inline_module(gm, inline_mod_name, run_dce=True):
    """The nodes of a submodule in the place of its call."""
    module = dict(gm.named_modules())[inline_mod_name]
    call = next(node for node in gm.graph.nodes if node.op == "call_module" and node.target == inline_mod_name)
    given, copies, output = list(call.args), {}, None
    with gm.graph.inserting_before(call):
        for node in module.graph.nodes:
            if node.op == "placeholder":
                copies[node] = call.kwargs[node.name] if node.name in call.kwargs else given.pop(0)
            elif node.op == "output":
                output = map_arg(node.args[0], lambda n: copies[n])
            else:
                copies[node] = gm.graph.node_copy(node, lambda n: copies[n])
                if node.op in ("call_module", "get_attr") and not hasattr(gm, node.target):
                    from kindling.fx.graph_module import _copy_attr

                    _copy_attr(module, gm, node.target)
    if isinstance(output, fx.Node):
        call.replace_all_uses_with(output)
    else:
        for user in list(call.users):
            user.replace_all_uses_with(output[user.args[1]])
            gm.graph.erase_node(user)
    if run_dce:
        gm.graph.eliminate_dead_code()
    return copies


def split_const_subgraphs(module, skip_folding_node_fn=None, device_for_folded_attrs="cpu"):
    """A module that computes what depends on its attributes only once, at the first call.

    `skip_folding_node_fn(node)`: nodes that are not folded.
    """
    gm = module if isinstance(module, fx.GraphModule) else fx.symbolic_trace(module)
    constant, found = set(), False
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not set(node.all_input_nodes).issubset(constant) or node.op != "get_attr" and not node.all_input_nodes:
            continue
        if skip_folding_node_fn and skip_folding_node_fn(node) or node.is_impure():
            continue
        constant.add(node)
        found |= node.op != "get_attr"
    if not found:
        return FoldedGraphModule(gm, gm.graph)
    split = split_module(gm, module, lambda node: 0 if node in constant else 1)
    const_name, rest_name = "submod_0", "submod_1"
    # The constants' attributes go into a graph without inputs.
    const_gm = getattr(split, const_name)
    call = next(node for node in split.graph.nodes if node.target == const_name)
    for node, given in zip([node for node in const_gm.graph.nodes if node.op == "placeholder"], call.args):
        with const_gm.graph.inserting_before(node):
            fetched = const_gm.graph.get_attr(given.target, type_expr=node.type)
        node.replace_all_uses_with(fetched)
        const_gm.graph.erase_node(node)
        from kindling.fx.graph_module import _copy_attr

        for owner in (split, const_gm):
            if not hasattr(owner, given.target):
                _copy_attr(gm, owner, given.target)
    const_gm.recompile()
    name = get_unique_attr_name_in_module(gm, "_FX_CONST_FOLDED_ATTRS")
    results = const_gm.graph.output_node().args[0]
    setattr(split, name, torch.nn.ParameterList() if isinstance(results, tuple) else torch.nn.Parameter(torch.ones(1)))
    with split.graph.inserting_before(call):
        folded = split.graph.get_attr(name)
    folded.meta = call.meta.copy()
    call.replace_all_uses_with(folded)
    split.graph.erase_node(call)
    for target in [node.target for node in const_gm.graph.nodes if node.op == "call_module"]:
        if not hasattr(split, target):
            setattr(split, target, getattr(const_gm, target))
    if hasattr(split, rest_name):
        _inline_module(split, rest_name)
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, const_gm.graph, name, device_for_folded_attrs)
