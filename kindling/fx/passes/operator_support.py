"""What a backend takes."""
import abc

import kindling as torch
from kindling.fx.passes.shape_prop import TensorMetadata
from kindling.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]


class OperatorSupportBase(abc.ABC):
    """Says of nodes whether a backend takes them."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        raise NotImplementedError


def _get_arg_dtype(arg):
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta["type"]


class OperatorSupport(OperatorSupportBase):
    """By a table of targets: None takes all dtypes, else (dtypes of each argument, dtypes of each keyword argument)."""

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        args, kwargs = dtypes
        for place, allowed in enumerate(args):
            if len(node.args) > place and isinstance(node.args[place], torch.fx.Node) and _get_arg_dtype(node.args[place]) not in allowed:
                return False
        return all(name not in node.kwargs or not isinstance(node.kwargs[name], torch.fx.Node) or _get_arg_dtype(node.kwargs[name]) in allowed
                   for name, allowed in kwargs.items())


def create_op_support(is_node_supported):
    """From a function of (submodules, node)."""
    class Function(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return is_node_supported(submodules, node)

    return Function()


def chain(*op_support):
    """What all of them take."""
    return create_op_support(lambda submodules, node: all(each.is_node_supported(submodules, node) for each in op_support))


def any_chain(*op_support):
    """What any of them takes."""
    return create_op_support(lambda submodules, node: any(each.is_node_supported(submodules, node) for each in op_support))


class OpSupports:
    """Kinds of support."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """No nodes with an input of a dtype."""
        return create_op_support(lambda submodules, node: not any(_get_arg_dtype(each) == dtype for each in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """No nodes of these names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
