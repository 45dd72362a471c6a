"""Runs one snippet under PyTorch and under Kindling and compares what can be seen."""
import importlib
import warnings

MODULES = {}


def module(name):
    if name not in MODULES:
        MODULES[name] = importlib.import_module(name)
    return MODULES[name]


def run(name, source, setup=""):
    """The value of the last expression as text, or the error's class and message."""
    torch = module(name)
    scope = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(setup, scope)
            body, _, last = source.rpartition("\n")
            if body:
                exec(body, scope)
            return show(eval(last, scope)).replace("kindling", "torch")
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace("kindling", "torch")


def show(value):
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return "[" + ", ".join(show(item) for item in value) + "]"
    return repr(value)


def same(source, setup="", message=True):
    expected, got = run("torch", source, setup), run("kindling", source, setup)
    if not message:
        expected, got = expected.partition(":")[0], got.partition(":")[0]
    assert got == expected, f"{source}\n  torch:    {expected}\n  kindling: {got}"
