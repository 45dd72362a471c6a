"""Markers programs put into their code; nothing is measured yet."""

__all__ = ["record_function", "profile"]


class record_function:
    """Names a stretch of code."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return None

    def __call__(self, function):
        from kindling.autograd.grad_mode import context_decorator
        return context_decorator(lambda: record_function(self.name, self.args), function)


class profile:
    """Refused: there is no profiler."""

    def __init__(self, enabled=True, **options):
        if enabled:
            raise NotImplementedError("torch.autograd.profiler.profile is not implemented")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return None
