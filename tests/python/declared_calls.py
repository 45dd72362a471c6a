"""Calls that stand for declared operators: what is declared, what a call gives in two modules, and whether that is the same."""

import math
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]


def declared():
    """The declarations of operators/, as the build reads them."""
    with tempfile.TemporaryDirectory() as folder:
        families = sorted((ROOT / "operators").rglob("*.cpp"))
        subprocess.run([sys.executable, ROOT / "tools" / "generate.py", folder, *families], check=True)
        return json.loads((Path(folder) / "operators.json").read_text())


def overload_of(operator):
    """name.overload, as torch.ops.aten has it."""
    return f"{operator['name']}.{operator['overload'] or 'default'}"


def overloads():
    return [overload_of(operator) for operator in declared()]


def arguments(schema):
    """Of each argument: type, name, whether it has a default, whether it goes by keyword alone."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    parts, depth, keyword = [""], 0, False
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    for part in filter(None, map(str.strip, parts)):
        if part == "*":
            keyword = True
            continue
        left, _, default = part.partition("=")
        kind, _, name = left.rpartition(" ")
        yield kind, name, bool(default), keyword


def value_of(code, module):
    """The value of an expression, or of the last line of several statements."""
    names = {"torch": module}
    *first, last = code.strip().splitlines()
    exec("\n".join(first), names)
    try:
        compiled = compile(last, "<declaration>", "eval")
    except SyntaxError:
        exec(last, names)
        return None
    return eval(compiled, names)


def plain(value):
    """Tensors as dtype, shape and numbers, so that two modules' answers can be compared."""
    if hasattr(value, "detach"):
        value = value.detach().to_dense() if str(value.layout) != "torch.strided" else value.detach()
        numbers = value.resolve_conj().resolve_neg().tolist()
        return [str(value.dtype).rpartition(".")[2], list(value.shape), numbers]
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        return a == b or abs(a - b) <= 1e-5 + 1e-4 * abs(b) < math.inf or (a != a and b != b)
    return a == b or (not isinstance(a, (int, float, complex, list, str, bool)) and str(a) == str(b))


def unsigned(value):
    return [unsigned(item) for item in value] if isinstance(value, list) else abs(value) if isinstance(value, (float, complex)) else value


def outcome(code, module):
    module.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(value_of(code, module))


def difference(code):
    """What is wrong with a call as an example, or nothing: it must work in both modules and give the same."""
    import torch

    import kindling

    try:
        theirs = outcome(code, torch)
    except Exception as problem:
        return f"PyTorch raises {problem}"
    try:
        ours = outcome(code, kindling)
    except Exception as problem:
        return f"Kindling raises {type(problem).__name__}: {problem}"
    if re.search("svd|eig", code):  # the signs of vectors are free: libraries choose them by processor
        ours, theirs = unsigned(ours), unsigned(theirs)
    if "ops.aten.empty" in code or "ops.aten.new_empty" in code:
        ours, theirs = ours[:2], theirs[:2]
    return "" if close(ours, theirs) else f"{ours} instead of {theirs}"


def refusal(code, module):
    """The class of the error that a call raises: the first of Python's own among its bases; nothing if it raises none."""
    try:
        outcome(code, module)
    except Exception as problem:
        return next(kind.__name__ for kind in type(problem).__mro__ if kind.__module__ == "builtins")
    return ""
