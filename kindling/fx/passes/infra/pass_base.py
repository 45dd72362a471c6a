"""The base of passes, and their result."""
import abc
from collections import namedtuple

__all__ = ["PassResult", "PassBase"]


class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """A graph module, and whether the pass changed it."""

    __slots__ = ()

    def __new__(cls, graph_module, modified):
        return super().__new__(cls, graph_module, modified)


class PassBase(abc.ABC):
    """A pass: subclasses write `call(graph_module)`; `requires` and `ensures` look at the module before and after."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """The pass itself: a PassResult."""

    def requires(self, graph_module):
        pass

    def ensures(self, graph_module):
        pass
