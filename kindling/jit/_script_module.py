"""Scripted modules in Python: nn.Module over an object of scripts, which holds its parameters, buffers and attributes."""
from kindling import _jit_internal
from kindling.jit import _classes, _recursive
from kindling.nn.modules.module import Module


class _Held:
    """Parameters or buffers of a scripted module as a dictionary: they are read and set in its object."""

    def __init__(self, held, what):
        self._c = held
        self._names = [name for name, _, kind in held._class().attributes() if kind == what]

    def keys(self):
        return [name for name, _ in self.items()]

    def values(self):
        return [value for _, value in self.items()]

    def items(self):
        return [(name, self._c.getattr(name)) for name in self._names]

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self._names)

    def __contains__(self, name):
        return name in self._names

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._c.getattr(name)

    def get(self, name, default=None):
        return self[name] if name in self._names else default

    def __setitem__(self, name, value):
        if name not in self._names:
            raise RuntimeError(f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}")
        self._c.setattr(name, value)

    def __delitem__(self, name):
        raise RuntimeError("cannot delete methods or parameters of a script module")

    def pop(self, name, *default):
        if name not in self._names:
            if default:
                return default[0]
            raise KeyError(name)
        raise RuntimeError("cannot delete methods or parameters of a script module")


class _Below(dict):
    """Submodules: scripts only, in the places that there are."""

    def __init__(self, held, modules):
        super().__init__(modules)
        self._c = held

    def __setitem__(self, name, value):
        if not isinstance(value, ScriptModule):
            raise RuntimeError(f"Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module '{name}': {value}")
        self._c.setattr(name, value._c)
        super().__setitem__(name, value)


class _Forward:
    """The compiled forward, kept with the object once it was asked for."""

    def __get__(self, module, kind=None):
        if module is None:
            return self
        held = module.__dict__.get("_c")
        if held is None or not held._has_method("forward"):
            return Module.forward.__get__(module)
        found = module.__dict__["forward"] = held._get_method("forward")
        return found


class ScriptModule(Module):
    """A module that was compiled. A class below it compiles the methods that are marked with ``script_method`` when an object was made."""

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        if cls.__dict__.get("_native_script"):
            return
        cls._marked = {name: value for name, value in cls.__dict__.items() if getattr(value, "_script_method", False)}
        for name in cls._marked:
            delattr(cls, name)
        import functools
        original = cls.__init__

        @functools.wraps(original)
        def init_then_script(self, *args, **kwargs):
            original(self, *args, **kwargs)
            if type(self) is cls:
                marked = sorted({name for each in cls.__mro__ for name in each.__dict__.get("_marked", ())})
                scripted = _recursive.script_module(self, lambda module: marked if module is self else _recursive.methods_to_compile(module), share=False)
                state = {name: value for name, value in self.__dict__.items() if name not in ("_parameters", "_buffers", "_modules", "training")
                         and not scripted._c.hasattr(name)}
                self.__dict__.clear()
                self.__dict__.update(scripted.__dict__)
                for name, value in state.items():
                    self.__dict__.setdefault(name, value)

        cls.__init__ = init_then_script

    forward = _Forward()

    @property
    def training(self):     # nn.Module's class has one, which would be found first
        held = self.__dict__.get("_c")
        return self.__dict__.get("training", True) if held is None else held.getattr("training")

    @training.setter
    def training(self, mode):
        self.__dict__["training"] = mode

    def __getattr__(self, name):
        state = self.__dict__
        held = state.get("_c")
        if held is None:
            return super().__getattr__(name)
        below = state["_modules"]
        if name in below:
            return below[name]
        if held.hasattr(name):
            return held.getattr(name)
        if held._has_method(name) and not name.startswith("__"):
            found = state[name] = held._get_method(name)
            return found
        properties = held._class().properties()
        if name in properties:
            return held._get_method(properties[name][0])()
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        held = self.__dict__.get("_c")
        if held is None:
            return super().__setattr__(name, value)
        if name in self._modules:
            self._modules[name] = value
        elif held.hasattr(name):
            held.setattr(name, value)
        elif name in held._class().constants():
            raise AttributeError(f"Cannot mutate TorchScript constant value: '{name}'. Value: '{value}'")
        elif name in held._class().properties() and held._class().properties()[name][1]:
            held._get_method(held._class().properties()[name][1])(value)
        else:
            self.__dict__[name] = value

    @property
    def graph(self):
        """The graph of forward."""
        return self._c._get_method("forward").graph

    @property
    def inlined_graph(self):
        """The graph of forward with what it calls in place of the calls."""
        return self._c._get_method("forward").inlined_graph

    @property
    def code(self):
        """Forward's graph as a program."""
        return self._c._get_method("forward").code

    @property
    def code_with_constants(self):
        return self._c._get_method("forward").code_with_constants

    @property
    def original_name(self):
        """The name of the class that it was compiled from."""
        return self._c._class().name().rpartition(".")[2]

    def extra_repr(self):
        return f"original_name={self.original_name}"

    def graph_for(self, *args, **kwargs):
        """The graph that runs for these arguments."""
        return self._c._get_method("forward").graph_for(*args, **kwargs)

    def define(self, src):
        """Adds the methods of a text."""
        import sys
        from kindling.jit import _frontend
        made = self._c._class()
        for name in made.define(None, src, "<string>", 1, 0, False, _frontend.Names(sys._getframe(1)), {}):
            made.method(name)

    def save(self, f, **kwargs):
        raise NotImplementedError("torch.jit.ScriptModule.save: programs cannot be saved yet")

    def save_to_buffer(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.ScriptModule.save_to_buffer: programs cannot be saved yet")

    def __copy__(self):
        return wrap_object(self._c.__copy__())

    def __deepcopy__(self, memo):
        return wrap_object(self._c.__deepcopy__(memo))

    def __reduce_ex__(self, protocol):
        import pickle
        raise pickle.PickleError("ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of script and non-script modules is not supported. For purely script modules use my_script_module.save(<filename>) instead.")

    def __len__(self):
        if self._c._has_method("__len__"):
            return self._c._get_method("__len__")()
        raise NotImplementedError

    def __iter__(self):
        holds = self._c._class().holds()
        if holds == "list":
            return iter(self._modules.values())
        if holds == "dict":
            return iter(self._modules)
        raise NotImplementedError

    def __getitem__(self, index):
        if self._c._class().holds() == "list":
            return list(self._modules.values())[index]
        if self._c._class().holds() == "dict":
            return self._modules[index]
        if self._c._has_method("__getitem__"):
            return self._c._get_method("__getitem__")(index)
        raise NotImplementedError

    def __contains__(self, key):
        if self._c._has_method("__contains__"):
            return self._c._get_method("__contains__")(key)
        raise NotImplementedError

    def __bool__(self):
        return True

    def __dir__(self):
        return sorted({*super().__dir__(), *(name for name, _, _ in self._c._class().attributes()), *self._c._class().methods()})

    def forward_magic_method(self, method_name, *args, **kwargs):
        return getattr(self, method_name)(*args, **kwargs)


class RecursiveScriptModule(ScriptModule):
    """What :func:`torch.jit.script` makes of a module."""

    _native_script = True

    def __init__(self, held):
        raise TypeError("torch.jit.script makes ScriptModules")

    @classmethod
    def _construct(cls, held, below, original):
        self = cls.__new__(cls)
        Module.__init__(self)
        state = self.__dict__
        state.pop("training", None)
        state.pop("forward", None)
        state["_c"] = held
        state["_parameters"] = _Held(held, "parameter")
        state["_buffers"] = _Held(held, "buffer")
        state["_modules"] = _Below(held, below)
        kind = held._class().python_class()
        if kind is not None:
            _take_python(self, kind, original)
        made = held._class()
        for name in made.methods():     # the compiled one, where nn.Module has a method of that name
            if name != "forward" and not name.startswith("__") and hasattr(Module, name):
                state[name] = held._get_method(name)
        for index, hook in enumerate(made.hooks(True)):
            state["_forward_pre_hooks"][index] = _as_hook(hook)
        for index, hook in enumerate(made.hooks(False)):
            state["_forward_hooks"][index] = _as_hook(hook)
        return self


def _as_hook(function):
    def hook(module, *arguments):
        return function(module, *arguments)
    return hook


def _take_python(self, kind, original):
    """Ignored methods and constants, which Python's side of a script may use."""
    import types

    from kindling.jit import _frontend
    for name, method in _recursive.statics(kind):
        if isinstance(method, types.FunctionType) and _frontend.is_ignored(method):
            self.__dict__[name] = types.MethodType(method, self)
        elif isinstance(method, types.FunctionType) and getattr(method, "_torchscript_modifier", None) == _jit_internal.FunctionModifiers.COPY_TO_SCRIPT_WRAPPER:
            self.__dict__[name] = types.MethodType(method, self)
    if original is None:
        for name, value in self._c._class().constants().items():
            self.__dict__.setdefault(name, value)
    else:
        for name in getattr(original, "__jit_ignored_attributes__", ()):
            if hasattr(original, name):
                self.__dict__[name] = getattr(original, name)


class TracedModule(ScriptModule):
    """A module of one that :func:`torch.jit.trace` made: its parameters, buffers and modules."""

    _native_script = True

    def forward(self, *args, **kwargs):
        raise RuntimeError("Trace submodules cannot be called.")

    def _get_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """What :func:`torch.jit.trace` makes of a module."""

    _native_script = True
    forward = _Forward()


class ONNXTracedModule(Module):
    """A name that programs test for."""


class RecursiveScriptClass:
    """An object of a compiled class: its attributes and methods are those of the script's object."""

    def __init__(self, held):
        self.__dict__["_c"] = held

    def __getattr__(self, name):
        held = self.__dict__["_c"]
        if held.hasattr(name):
            return held.getattr(name)
        properties = held._class().properties()
        if name in properties:
            return held._get_method(properties[name][0])()
        if held._has_method(name):
            return held._get_method(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        properties = self._c._class().properties()
        if name in properties and properties[name][1]:
            self._c._get_method(properties[name][1])(value)
        else:
            self._c.setattr(name, value)

    def forward_magic_method(self, method_name, *args, **kwargs):
        if not self._c._has_method(method_name):
            raise TypeError(f"the class has no {method_name}")
        return self._c._get_method(method_name)(*args, **kwargs)

    def __iadd__(self, other):
        return self.forward_magic_method("__iadd__" if self._c._has_method("__iadd__") else "__add__", other)

    def __getstate__(self):
        import pickle
        raise pickle.PickleError("ScriptClasses cannot be pickled")


def _forwarded(name):
    def method(self, *args, **kwargs):
        return self.forward_magic_method(name, *args, **kwargs)
    method.__name__ = name
    return method


for _name in ("iter len neg mul contains add sub pow truediv mod ne eq lt gt le ge and or xor getitem setitem call int float bool str enter exit").split():
    setattr(RecursiveScriptClass, f"__{_name}__", _forwarded(f"__{_name}__"))
RecursiveScriptClass.__hash__ = object.__hash__

for _each in (ScriptModule, RecursiveScriptModule, TracedModule, TopLevelTracedModule):
    _each.__module__ = "torch.jit"


def script_object(value):
    """The compiled object of an object of a plain class: a copy."""
    if _classes.class_of(type(value)) is None:
        raise RuntimeError(f"scripts can make nothing of an object of {type(value)}")
    return RecursiveScriptClass(_classes.object_of(value))


def wrap_object(held):
    """The module in Python for an object of scripts."""
    kind = held._class()
    below = {name: held.getattr(name) for name, _, what in kind.attributes() if what == "module"}
    return RecursiveScriptModule._construct(held, below, None)


_recursive.ScriptModule, _recursive.RecursiveScriptModule = ScriptModule, RecursiveScriptModule
