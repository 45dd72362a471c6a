"""Calls of operators through programs: traced (torch.jit.trace), or scripted from a line of text (torch.jit.CompilationUnit).

Inputs are the tensors among the arguments; everything else stands in the program. Only tensors are compared, in order. The reference
answers at once. Where a test database calls a function of its own around the operator that a program's text names (on a copy of what
that writes to, for some of its results), the reference's program answers.
"""
import contextlib
import math
import warnings

from bridge import Missing, short_name, tensors_in


class Declined(Exception):
    """The reference makes no program of the call."""


@contextlib.contextmanager
def quiet():
    """The reference's compiler writes about its own affairs to standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def distinct(bridge, arguments):
    found = []
    for tensor in tensors_in(arguments, bridge.module.Tensor):
        if not any(tensor is other for other in found):
            found.append(tensor)
    return found


def replaced(bridge, value, names):
    """`value` with its tensors looked up by identity."""
    if isinstance(value, bridge.module.Tensor):
        return names[id(value)]
    if isinstance(value, dict):
        return {key: replaced(bridge, item, names) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(replaced(bridge, item, names) for item in value)
    return value


def traced(bridge, function, path, arguments):
    """The program of a call; it takes the distinct tensors."""
    inputs = distinct(bridge, arguments)

    def run(*tensors):
        args, kwargs = replaced(bridge, arguments, {id(mine): given for mine, given in zip(inputs, tensors)})
        return function(*args, **kwargs)
    with quiet():
        return bridge.resolve("jit.trace")(run, tuple(inputs), check_trace=False, strict=False)


class Name(str):
    """A tensor in a program's text."""


def spelled(bridge, value):
    """An argument as TorchScript writes it. Declined if it cannot be written."""
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return "float('nan')" if math.isnan(value) else f"float('{'-' * (value < 0)}inf')"
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, complex):
        return f"complex({spelled(bridge, value.real)}, {spelled(bridge, value.imag)})"
    if isinstance(value, bridge.module.dtype):
        return f"torch.{short_name(value)}"
    if isinstance(value, bridge.module.device):
        return f"torch.device('{value}')"
    if isinstance(value, (list, tuple)):
        items = [spelled(bridge, item) for item in value]
        return f"[{', '.join(items)}]" if isinstance(value, list) or not items or all(type(item) is int for item in value) else \
            f"({', '.join(items)}{',' * (len(items) == 1)})"
    raise Declined(f"no text for {type(value).__name__}")


def scripted(bridge, function, path, arguments):
    inputs = distinct(bridge, arguments)
    names = {id(tensor): Name(f"t{number}") for number, tensor in enumerate(inputs)}
    args, kwargs = replaced(bridge, arguments, names)
    call = [spelled(bridge, item) for item in args] + [f"{key}={spelled(bridge, item)}" for key, item in kwargs.items()]
    if path.startswith("Tensor."):
        callee, call = f"{call[0]}.{path[7:]}", call[1:]
    else:
        callee = f"torch.{path}"
    text = f"def run({', '.join(names.values())}):\n    return {callee}({', '.join(call)})\n"
    torch = bridge.module  # noqa: F841 - the compiler looks up what the text calls torch here, in its caller
    with quiet():
        return bridge.resolve("jit.CompilationUnit")(text).run


PROGRAMS = {"trace": traced, "script": scripted}


def is_named(bridge, path, function):
    try:
        return bridge.resolve(path) is function
    except Missing:
        return False


def call(bridge, kind, function, path, make_arguments, is_reference, observe):
    """(result, (args, kwargs), whether it drew): the tensors that a program gives, and what it was called with. Declined if the reference
    makes no program of the call. `observe` runs an action and says whether it drew random numbers."""
    bridge.seed()
    if is_reference:
        try:
            program = PROGRAMS[kind](bridge, function, path, make_arguments())
            program(*distinct(bridge, make_arguments()))
        except Exception as problem:
            raise Declined(f"{type(problem).__name__}: {' '.join(str(problem).split())}") from problem
    else:
        program = PROGRAMS[kind](bridge, function, path, make_arguments())
    arguments = make_arguments()
    bridge.seed()
    at_once = is_reference and (kind == "trace" or is_named(bridge, path, function))
    result, drew = observe(lambda: function(*arguments[0], **arguments[1]) if at_once else program(*distinct(bridge, arguments)))
    return tensors_in(result, bridge.module.Tensor), arguments, drew
