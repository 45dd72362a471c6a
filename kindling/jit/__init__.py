"""``torch.jit``: scripting is not there yet. Questions are answered, marks are accepted, compiling is refused."""


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False."""
    return False


def _mark(function):
    return function


# They say something to a compiler; without one the function stays what it is.
ignore = unused = export = script_method = _mark


def annotate(the_type, the_value):
    """The value."""
    return the_value


def _refuse(name):
    def refuse(*arguments, **keywords):
        raise NotImplementedError(f"torch.jit.{name} is not there yet in Kindling; call the function itself")

    refuse.__name__ = name
    return refuse


script = _refuse("script")
trace = _refuse("trace")
trace_module = _refuse("trace_module")
load = _refuse("load")
save = _refuse("save")
freeze = _refuse("freeze")
