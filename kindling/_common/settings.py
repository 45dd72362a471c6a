"""Modules of settings (`torch._dynamo.config` and its like): kept, so that programs may set them, and without effect.

What there is to set, and to what at first, stands in the tables of `_absent`; an unknown name is refused, as by PyTorch.
"""
import kindling


class Settings(type(kindling)):
    """A module of settings; `group` is one inside it (`config.triton`)."""

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return self._read(name)

    def _read(self, name):
        module, declared, find, prefix = self.__dict__["_settings_of"]
        full = prefix + name
        how = declared.get(full)
        if how is not None and how[:1] == "=":
            return find(full)
        if any(each.startswith(full + ".") for each in declared):
            group = Settings(f"torch.{module}.{full}")
            group.__dict__["_settings_of"] = module, declared, find, full + "."
            return self.__dict__.setdefault(name, group)
        if how is not None:
            return None     # a function, or an object of PyTorch's compiler
        raise AttributeError(f"torch.{module}.{full} does not exist")

    def __setattr__(self, name, value):
        if name[:2] != "__":
            self._read(name)
        self.__dict__[name] = value

    def __delattr__(self, name):
        self.__dict__.pop(name, None)

    def __dir__(self):
        return sorted({*self.__dict__, *self.to_dict()})

    def to_dict(self):
        """All settings by name."""
        _, declared, _, prefix = self.__dict__["_settings_of"]
        found = {}
        for name, how in declared.items():
            if name.startswith(prefix) and how[:1] in "=?":
                value = self
                for part in name[len(prefix):].split("."):
                    value = getattr(value, part)
                if not isinstance(value, Settings):
                    found[name[len(prefix):]] = value
        return found

    get_config_copy = shallow_copy_dict = to_dict

    def load_config(self, data):
        """Takes settings from a dictionary, or from what `save_config` gave."""
        if isinstance(data, bytes):
            import pickle
            data = pickle.loads(data)
        for name, value in data.items():
            _set(self, name, value)

    def save_config(self):
        import pickle
        return pickle.dumps(self.to_dict())

    def patch(self, arg1=None, arg2=None, **kwargs):
        """A block, or a decorator, in which settings have other values: patch("name", value), patch(name=value), patch({...})."""
        if arg1 is not None:
            kwargs = {arg1: arg2} if isinstance(arg1, str) else dict(arg1)
        return _Patch(self, kwargs)


def _set(settings, name, value):
    *groups, last = name.split(".")
    for each in groups:
        settings = getattr(settings, each)
    setattr(settings, last, value)


class _Patch:
    def __init__(self, settings, changes):
        self.settings, self.changes = settings, changes

    def __enter__(self):
        before = self.settings.to_dict()
        self.before = {name: before.get(name) for name in self.changes}
        for name, value in self.changes.items():
            _set(self.settings, name, value)

    def __exit__(self, *details):
        for name, value in self.before.items():
            _set(self.settings, name, value)
        return False

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def patched(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return patched


def install(module, below, declared, find):
    """Makes a module one of settings. ``below``: its path below torch; ``declared``: {name: how}; ``find``: a name's first value."""
    for name in ("__getattr__", "__dir__"):
        module.__dict__.pop(name, None)
    module.__dict__["_settings_of"] = below, declared, find, ""
    module.__class__ = Settings
