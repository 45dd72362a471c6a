"""``torch._dynamo.exc``: what compiled calls raise. The classes are PyTorch's; those below the first two are raised here."""


class TorchDynamoException(RuntimeError):
    """An error of a compiled call, and not of the program in it."""


class ShortenTraceback(TorchDynamoException):
    """One whose traceback begins in the program."""

    def __init__(self, *args, first_useful_frame=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.first_useful_frame = first_useful_frame

    def remove_dynamo_frames(self):
        return self


class Unsupported(TorchDynamoException):
    """A step that cannot be in a graph, in a call with fullgraph=True."""

    def __init__(self, msg, gb_type="", skip_frame=False, *, case_name=None, real_stack=None):
        super().__init__(msg)
        self.msg, self.gb_type, self.skip_frame, self.case_name, self.real_stack = msg, gb_type, skip_frame, case_name, real_stack


class BackendCompilerFailed(ShortenTraceback):
    """A backend of the program's own raised."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}",
                         first_useful_frame=first_useful_frame)


class InvalidBackend(TorchDynamoException):
    """A name that no backend has."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


# What programs catch beside these; nothing here raises them, for nothing is traced or guarded.

class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler."""


class ResetRequired(TorchDynamoException):
    """What is compiled has to be reset first."""


class RecompileError(TorchDynamoException):
    """A call was compiled again where that is an error."""


class FailOnRecompileLimitHit(Exception):
    """As many graphs as are allowed, where that is an error."""


class TorchRuntimeError(TorchDynamoException):
    """A call failed on tensors without values."""


class UserError(TorchDynamoException):
    """A step of the program that cannot be in a graph."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """Control flow by functions that cannot be in a graph."""
