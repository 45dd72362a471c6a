"""``torch._dynamo.utils``: what compiled calls count."""
import collections

# Of backends of the program's own: {"stats": {"unique_graphs", "calls_captured"}, "graph_break": {why}}.
counters = collections.defaultdict(collections.Counter)


def is_compile_supported(device_type):
    """Whether loops on that device are fused."""
    return str(device_type) == "cpu"


def compile_times(repr="str", aggregate=False):
    """The times of the compiler's phases, as PyTorch's text or (``repr="csv"``) table gives them. There are none: a call is planned
    while it runs, and ``kindling.compiler.explain`` says how long that takes.

    >>> torch._dynamo.utils.compile_times("csv")
    ([], [])
    """
    if repr == "csv":
        return [], []
    return "TorchDynamo compilation metrics:\nFunction, Runtimes (s)" if repr == "str" else None
