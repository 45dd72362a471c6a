"""``torch._dynamo.testing``: backends that tests count with."""
import kindling as torch
from kindling._dynamo.backends.registry import lookup_backend


def _calls(graph):
    return sum("call" in node.op for node in graph.graph.nodes)


class CompileCounter:
    """A backend that runs graphs as they are, and counts them (``frame_count``) and their calls (``op_count``).

    >>> counter = CompileCounter()
    >>> torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.ones(2)).shape
    torch.Size([2])
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += _calls(gm)
        return gm.forward

    def clear(self):
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same before another backend; keeps the graphs."""

    def __init__(self, backend):
        self.backend = backend
        super().__init__()

    def __call__(self, gm, example_inputs):
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        super().clear()
        self.graphs = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward


def rand_strided(size, stride, dtype=torch.float32, device="cpu", extra_size=0):
    """Random numbers with the given strides; `extra_size` elements lie behind them.

    >>> rand_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    needed = sum((length - 1) * step for length, step in zip(size, stride)) + 1 + extra_size
    if dtype.is_floating_point or dtype.is_complex:
        buffer = torch.randn(needed, dtype=dtype, device=device)
    else:
        buffer = torch.zeros(needed, dtype=dtype, device=device)
    return torch.as_strided(buffer, size, stride)
