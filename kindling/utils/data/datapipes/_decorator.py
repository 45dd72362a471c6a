"""Decorators for classes of data pipes."""
from kindling.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe, _Pipe


def ready_made(name):
    """Decorates a ready-made class of pipes: `source.name(...)` makes one of `source`. It does not wait for the other ones."""
    def decorate(cls):
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.functions[name] = cls
        return cls
    return decorate


class functional_datapipe:
    """Decorates a class of pipes: `source.name(...)` makes one of `source`."""

    def __init__(self, name: str, enable_df_api_tracing=False):
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        if not (isinstance(cls, type) and issubclass(cls, _Pipe)):
            raise TypeError("Can only decorate IterDataPipe or MapDataPipe")
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:
    """A block in which pipes that are not deterministic may not be made."""

    on = False

    def __init__(self):
        self.before = guaranteed_datapipes_determinism.on
        guaranteed_datapipes_determinism.on = True

    def __enter__(self):
        pass

    def __exit__(self, *details):
        guaranteed_datapipes_determinism.on = self.before


class non_deterministic:
    """Decorates a class of pipes that are not deterministic, or are when a function of the arguments says so."""

    def __init__(self, arg):
        self.cls, self.asks = (arg, None) if isinstance(arg, type) else (None, arg)
        if not callable(arg):
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args, **kwargs):
        if self.cls is not None:
            if guaranteed_datapipes_determinism.on:
                raise TypeError(f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. ")
            return self.cls(*args, **kwargs)
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args, **kwargs):
        if self.asks(*args, **kwargs) and guaranteed_datapipes_determinism.on:
            raise TypeError(f"{self.cls.__name__} is non-deterministic with the inputs, but you set 'guaranteed_datapipes_determinism'. ")
        return self.cls(*args, **kwargs)


def argument_validation(f):
    """The function: annotations are not looked at."""
    return f


def runtime_validation(f):
    """The function: annotations are not looked at."""
    return f


class runtime_validation_disabled:
    """A block that changes nothing."""

    def __enter__(self):
        pass

    def __exit__(self, *details):
        pass
