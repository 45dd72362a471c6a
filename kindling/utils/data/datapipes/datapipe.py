"""Data pipes: data sets that take another for their source. The classes to derive from; `iter` and `map` have ready-made ones."""
import functools

from kindling.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "DFIterDataPipe", "IterDataPipe", "MapDataPipe"]

_ready = False


def _load():
    """The ready-made pipes, which are functions of every pipe."""
    global _ready
    if not _ready:
        from kindling.utils.data.datapipes import iter, map
        for package in (iter, map):
            for name in package.__all__:
                getattr(package, name)
        _ready = True       # only now: another thread may ask meanwhile


class _Pipe:
    """What both kinds have: functions by name, each of which makes a pipe out of this one."""

    functions = {}
    reduce_ex_hook = getstate_hook = str_hook = repr_hook = None

    def __getattr__(self, name):
        if name[:2] != "__":
            _load()
            function = type(self).functions.get(name)
            if function is not None:
                return functools.partial(function, self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")

    def __dir__(self):
        _load()
        return [*super().__dir__(), *self.functions]

    def __repr__(self):
        return self.repr_hook(self) if self.repr_hook is not None else type(self).__qualname__

    def __str__(self):
        return self.str_hook(self) if self.str_hook is not None else type(self).__qualname__

    def __getstate__(self):
        hook = type(self).__dict__.get("getstate_hook") or _Pipe.getstate_hook
        return hook(self.__dict__) if hook is not None else self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """A function that makes what is pickled of a pipe's attributes."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = staticmethod(hook_fn) if hook_fn is not None else None

    @classmethod
    def register_function(cls, function_name, function):
        """Makes `pipe.function_name(...)` call `function(pipe, ...)`."""
        _load()
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Makes `pipe.function_name(...)` make `cls_to_register(pipe, ...)`."""
        _load()
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")  # noqa: TRY002
        cls.functions[function_name] = cls_to_register


_FEEDBACK = ("\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
             "https://github.com/pytorch/data/issues/45.")


def _described(pipe):
    """The pipe's class, with the arguments that it was made with and keeps."""
    import inspect
    names = sorted(set(inspect.signature(type(pipe)).parameters) & set(vars(pipe)))
    texts = []
    for name in names:
        value = vars(pipe)[name]
        texts.append(f"{name}={value.__name__ if callable(value) and hasattr(value, '__name__') else value}")
    return f"{type(pipe).__name__}({', '.join(texts)})"


class _Run:
    """One run through a pipe; the next one ends it. RuntimeError for elements asked for after that."""

    def __init__(self, pipe, source, number):
        self.pipe, self.source, self.number = pipe, source, number

    def __iter__(self):
        return self

    def __next__(self):
        self.pipe._check_run(self.number)
        try:
            value = next(self.source)
        except StopIteration:
            raise
        except Exception as error:
            if not self.pipe._named_in_errors:
                raise
            words = f"This exception is thrown by __iter__ of {_described(self.pipe)}"
            text = error.args[0] if error.args else ""
            if isinstance(text, str) and error.args and "thrown by __iter__ of" not in text:
                error.args = (f"{text}\n{words}", *error.args[1:])
            raise
        self.pipe._number_of_samples_yielded += 1
        return value

    def __getattr__(self, name):
        return getattr(self.source, name)


class IterDataPipe(_Pipe, IterableDataset):
    """A pipe that is gone through in order: a subclass defines `__iter__`. One run at a time; a new one starts from the beginning."""

    functions = {}
    _valid_iterator_id = None
    _number_of_samples_yielded = 0
    _named_in_errors = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__iter__")
        if own is None or getattr(own, "_watched", False):
            return

        @functools.wraps(own)
        def begin(self):
            if self.__dict__.get("_beginning"):     # a subclass calls that of its base
                return own(self)
            number = self._start_run()
            self.__dict__["_beginning"] = True
            try:
                source = own(self)
            finally:
                del self.__dict__["_beginning"]
            if not hasattr(source, "__next__"):
                raise TypeError(f"iter() returned non-iterator of type '{type(source).__name__}'")
            return _Run(self, source, number) if source is not self else source

        begin._watched = True
        cls.__iter__ = begin

    def _start_run(self):
        self._valid_iterator_id = 0 if self._valid_iterator_id is None else self._valid_iterator_id + 1
        self.reset()
        self._number_of_samples_yielded = 0
        return self._valid_iterator_id

    def _check_run(self, number):
        if number != self._valid_iterator_id:
            raise RuntimeError("This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                               f"{_described(self)}\nThis may be caused by multiple references to the same IterDataPipe. We recommend using "
                               "`.fork()` if that is necessary." + _FEEDBACK)

    def reset(self):
        """Goes back to the beginning; for subclasses."""


class MapDataPipe(_Pipe, Dataset):
    """A pipe whose samples have an index: a subclass defines `__getitem__`, and usually `__len__`."""

    functions = {}


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames."""

    def _is_dfpipe(self):
        return True

    def __iter__(self):
        return iter(())


class DataChunk(list):
    """Samples that belong together."""

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """The samples as text."""
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self):
        """The samples."""
        yield from self.items
