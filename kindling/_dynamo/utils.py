"""``torch._dynamo.utils``: what compiled calls count."""
import collections

# Of backends of the program's own: {"stats": {"unique_graphs", "calls_captured"}, "graph_break": {why}}.
counters = collections.defaultdict(collections.Counter)


def is_compile_supported(device_type):
    """Whether loops on that device are fused."""
    return str(device_type) == "cpu"
