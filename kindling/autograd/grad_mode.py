"""Context managers, also usable as decorators, that say whether operations are recorded."""
from kindling import _C

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled"]

_GENERATOR = 0x20      # a code object's flag


def _like(wrapper, function):
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:
            setattr(wrapper, name, getattr(function, name))
        except AttributeError:
            pass
    wrapper.__dict__.update(getattr(function, "__dict__", {}))
    wrapper.__wrapped__ = function
    return wrapper


def _decorate_generator(fresh, function):
    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        # The mode holds while the generator runs, not while it waits.
        try:
            with fresh():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with fresh():
                        generator.close()
                    raise
                except BaseException as error:
                    with fresh():
                        response = generator.throw(error)
                else:
                    with fresh():
                        response = generator.send(request)
        except StopIteration as end:
            return end.value
    return _like(wrapper, function)


def context_decorator(fresh, function):
    """`function` inside a new context of `fresh()` at every call; generators at every step."""
    if isinstance(function, type):
        import warnings
        warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                      "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and "
                      "nothing else.", FutureWarning, stacklevel=3)
        create = function

        def function(*args, **kwargs):
            return create(*args, **kwargs)
        function.__name__ = create.__name__
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _GENERATOR:
        return _decorate_generator(fresh, function)

    def wrapper(*args, **kwargs):
        with fresh():
            return function(*args, **kwargs)
    return _like(wrapper, function)


class _DecoratorContextManager:
    def __call__(self, function):
        return context_decorator(self.clone, function)

    def clone(self):
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """May also decorate without parentheses."""

    def __new__(cls, function=None):
        if function is None:
            return object.__new__(cls)
        return cls()(function)


class no_grad(_NoParamDecoratorContextManager):
    """Operations inside are not recorded: their results do not require grad."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, kind, value, traceback):
        _C._set_grad_enabled(self.prev)


class enable_grad(_NoParamDecoratorContextManager):
    """Operations inside are recorded, also within no_grad."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, kind, value, traceback):
        _C._set_grad_enabled(self.prev)


class set_grad_enabled(_DecoratorContextManager):
    """Switches recording on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, function):
        _C._set_grad_enabled(self.prev)
        return context_decorator(self.clone, function)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, kind, value, traceback):
        _C._set_grad_enabled(self.prev)

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def __repr__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def clone(self):
        return type(self)(self.mode)


class inference_mode(_DecoratorContextManager):
    """Like no_grad, and tensors made inside neither count writes nor may be used in recorded operations later."""

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return object.__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True):
        super().__init__()
        self.mode = mode
        self._before = []

    def __enter__(self):
        self._before.append(_C._enter_inference_mode(self.mode))

    def __exit__(self, kind, value, traceback):
        _C._restore_inference_mode(self._before.pop())

    def clone(self):
        return type(self)(self.mode)


class set_multithreading_enabled(_DecoratorContextManager):
    """Says whether backward may use several threads."""

    def __init__(self, mode: bool):
        self.prev = _C._is_multithreading_enabled()
        _C._set_multithreading_enabled(mode)
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, kind, value, traceback):
        _C._set_multithreading_enabled(self.prev)

    def clone(self):
        return type(self)(self.mode)


class _force_original_view_tracking(_DecoratorContextManager):
    """Accepted for programs that use it: views are always made anew from where they lie in their base."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, kind, value, traceback):
        pass

    def clone(self):
        return type(self)(self.mode)


class _unsafe_preserve_version_counter(_DecoratorContextManager):
    """Writes inside leave the version counters of `tensors` as they were."""

    def __init__(self, tensors):
        self.tensors = tensors if isinstance(tensors, (tuple, list)) else (tensors,)
        self.prev_versions = tuple([each._version for each in self.tensors])

    def __enter__(self):
        pass

    def __exit__(self, kind, value, traceback):
        for tensor, version in zip(self.tensors, self.prev_versions):
            _C._unsafe_set_version_counter(tensor, version)
