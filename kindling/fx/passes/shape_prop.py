"""Shapes of a graph's values, by running it."""
import traceback
from typing import Any, NamedTuple, Optional

import kindling as torch
from kindling.fx.interpreter import Interpreter
from kindling.fx.node import map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


class TensorMetadata(NamedTuple):
    """What a node's tensor is like."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: Optional[torch.memory_format]
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result, include_contiguity=True):
    memory_format = None
    if include_contiguity:
        formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
        dims = {torch.channels_last: 4, torch.channels_last_3d: 5}
        memory_format = next((each for each in formats if dims.get(each, result.dim()) == result.dim() and
                              result.is_contiguous(memory_format=each)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {})


class ShapeProp(Interpreter):
    """Runs a graph module and writes on each node what its tensors are like: `meta["tensor_meta"]`, `meta["type"]`.

    >>> from torch.fx.passes.shape_prop import ShapeProp
    >>> gm = torch.fx.symbolic_trace(lambda x: x.t())
    >>> _ = ShapeProp(gm).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in gm.graph.nodes]
    [(2, 3), (3, 2), (3, 2)]
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode = fake_mode
        self.real_module = self.module

    def run_node(self, n):
        try:
            result = super().run_node(n)
        except Exception as error:
            error.__cause__ = None
            traceback.clear_frames(error.__traceback__)
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def look(value):
            nonlocal found
            if isinstance(value, torch.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs with these inputs: the result."""
        return super().run(*args)
