"""The class of scripted functions: native calls (bindings/script.cpp), with what is rarely asked for written here."""
from kindling import _C


class ScriptFunction(_C._script_function_type(None)):
    """A function that was compiled by :func:`torch.jit.script`. Calling it runs its graph."""

    __slots__ = ()

    @property
    def schema(self):
        """Its signature, a ``FunctionSchema``."""
        from kindling import _types
        return _types.parse_schema(self._schema_text)

    @property
    def qualified_name(self):
        return f"__torch__.{self.name}"

    def graph_for(self, *args, **kwargs):
        """The graph that runs for these arguments."""
        self(*args, **kwargs)
        return self.graph

    def save(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.ScriptFunction.save: programs cannot be saved yet")

    save_to_buffer = save


ScriptFunction.__module__, ScriptFunction.__qualname__ = "torch.jit", "ScriptFunction"
_C._script_function_type(ScriptFunction)
