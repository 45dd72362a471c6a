"""``torch._logging``: what PyTorch's compiler writes to logs."""


def set_logs(*, modules=None, **levels):
    """Accepted without effect: there is no such compiler, and nothing writes logs. ``kindling.compiler.explain`` and the variable
    KINDLING_TRACE_GRAPH tell what a compiled call does.

    >>> import logging
    >>> torch._logging.set_logs(dynamo=logging.DEBUG, graph_breaks=True)
    """
