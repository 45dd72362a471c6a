"""``torch._dynamo.backends.debugging``: backends that make nothing, and what a program is told of its graphs."""
import kindling as torch
from kindling._dynamo.testing import EagerAndRecordGraphs


def eager(gm, fake_tensor_inputs, **kwargs):
    """Runs graphs as they are."""
    return gm.forward


def boxed_nop(fx_g, example_inputs):
    """Runs graphs as they are, for callers that hand their arguments over in a list."""
    def run(args):
        return fx_g(*args)

    run._boxed_call = True
    return run


class GraphCompileReason:
    """Why a graph ended where it did: ``reason``, and ``user_stack`` of the program (FrameSummary objects)."""

    def __init__(self, reason, user_stack, graph_break=True):
        self.reason, self.user_stack, self.graph_break = reason, user_stack, graph_break

    def __repr__(self):
        return f"GraphCompileReason(reason={self.reason!r}, user_stack={self.user_stack!r}, graph_break={self.graph_break!r})"


class ExplainOutput:
    """What ``torch._dynamo.explain`` found; ``str()`` shows it. There are no guards."""

    def __init__(self, graphs, graph_count, graph_break_count, break_reasons, op_count, ops_per_graph=None, out_guards=None, compile_times=None):
        self.graphs, self.graph_count, self.graph_break_count, self.break_reasons = graphs, graph_count, graph_break_count, break_reasons
        self.op_count, self.ops_per_graph, self.out_guards, self.compile_times = op_count, ops_per_graph, out_guards, compile_times

    def __str__(self):
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}", "Break Reasons:"]
        for number, each in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {each.reason}", "    User Stack:", *(f"      {frame}" for frame in each.user_stack)]
        lines.append("Ops per Graph:")
        for number, ops in enumerate(self.ops_per_graph or (), 1):
            lines += [f"  Ops {number}:", *(f"    {op}" for op in ops)]
        return "\n".join(lines) + "\n"


def explain(function):
    """See ``torch._dynamo.explain``."""
    def call(*args, **kwargs):
        from kindling._compiling.backend import Compiler
        record = EagerAndRecordGraphs()
        compiler = Compiler(record, {})
        compiler.limit = float("inf")
        compiled = torch.nn.Module in type(function).__mro__ and "_orig_mod" in function._modules
        original = function._orig_mod if compiled else getattr(function, "_torchdynamo_orig_callable", function)
        torch._C._compiled(lambda: compiler(original, args, kwargs), 1, False)()
        operators = [[node.target for node in graph.graph.nodes if node.op == "call_function"] for graph in record.graphs]
        reasons = [GraphCompileReason(*each) for each in compiler.breaks]
        return ExplainOutput(record.graphs, len(record.graphs), max(len(record.graphs) - 1, 0), reasons, sum(map(len, operators)), operators, [], "")

    return call
