"""The class of scripted functions: native calls (bindings/script/script.cpp), with what is rarely asked for written here."""
from kindling import _C


class ScriptFunction(_C._script_function_type(None)):
    """A function that was compiled by :func:`torch.jit.script`. Calling it runs its graph."""

    __slots__ = ()

    def __new__(cls, *arguments, **keywords):
        raise TypeError("torch.jit.ScriptFunction: No constructor defined!")

    @property
    def schema(self):
        """Its signature, a ``FunctionSchema``."""
        from kindling.jit import _types
        return _types.ScriptSchema(*self._signature)

    @property
    def qualified_name(self):
        return f"__torch__.{self.name}"

    def graph_for(self, *args, **kwargs):
        """The graph that runs for these arguments."""
        self(*args, **kwargs)
        from kindling.jit import _fusers
        return _fusers.graph_for(self)

    def save(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.ScriptFunction.save: programs cannot be saved yet")

    save_to_buffer = save


class ScriptMethod(_C._script_method_type(None)):
    """A compiled method of an object."""

    __slots__ = ()

    @property
    def graph(self):
        """The graph that it was compiled to."""
        return self._function.graph

    @property
    def inlined_graph(self):
        return self._function.inlined_graph

    @property
    def name(self):
        return self._function.name

    @property
    def schema(self):
        """Its signature, a ``FunctionSchema``."""
        return self._function.schema

    @property
    def code(self):
        """Its graph as a program."""
        return self._function.code

    @property
    def code_with_constants(self):
        from kindling.jit import _fusers
        return _fusers.code_with_constants(self._function)

    def graph_for(self, *args, **kwargs):
        """The graph that runs for these arguments."""
        self(*args, **kwargs)
        from kindling.jit import _fusers
        return _fusers.graph_for(self)


ScriptMethod.__module__, ScriptMethod.__qualname__ = "torch._C", "ScriptMethod"
_C._script_method_type(ScriptMethod)
ScriptFunction.__module__, ScriptFunction.__qualname__ = "torch.jit", "ScriptFunction"
_C._script_function_type(ScriptFunction)
