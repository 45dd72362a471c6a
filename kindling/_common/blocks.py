"""What PyTorch makes of generators by `contextlib.contextmanager`: `with` blocks that decorate functions, too."""


class Block:
    """A `with` block; called with a function it gives one that enters a block of the same settings at every call."""

    def __call__(self, function):
        import copy
        import functools

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with copy.copy(self):
                return function(*args, **kwargs)
        return inside
