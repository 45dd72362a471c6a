"""Graph modules are written when they are made: lazy ones are the same."""
import contextlib

from kindling.fx.graph_module import GraphModule

_use_lazy_graph_module_flag = False
_force_skip_lazy_graph_module_flag = False


class _LazyGraphModule(GraphModule):
    """A graph module."""

    @classmethod
    def from_graphmodule(cls, gm):
        return gm

    @staticmethod
    def force_recompile(gm):
        pass

    def real_recompile(self):
        return self.recompile()


def _get_graph_module_cls():
    return GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextlib.contextmanager
def _use_lazy_graph_module(should_use):
    yield


@contextlib.contextmanager
def _force_skip_lazy_graph_module():
    yield
