"""Runs one snippet under torch and under Kindling and compares all it shows: values, texts and errors."""
import copy
import pickle
import re
import warnings

import kindling


def plain(value):
    """Tensors as dtype and nested lists of numbers, other objects as text without either module's name."""
    if hasattr(value, "untyped_storage"):
        if value.is_meta:
            return ["meta", list(value.shape)]
        return [str(value.dtype).split(".")[-1], value.detach().tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (int, float, complex, str, type(None))):
        return value
    return re.sub(r"kindling\.|torch\.", "", repr(value))


def same(mine, theirs):
    """Equal, numbers up to rounding."""
    if isinstance(mine, (float, complex)) and type(theirs) is type(mine):
        return theirs == mine or abs(theirs - mine) <= 1e-5 + 1e-4 * abs(mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return list(mine) == list(theirs) and all(map(same, mine.values(), theirs.values()))
    return mine == theirs


def answers(torch, code):
    """What the snippet shows when `torch` is this module: show(value) or show(lambda: value), errors included."""
    shown = []

    def show(value):
        if callable(value) and not isinstance(value, torch.nn.Module):
            try:
                value = value()
            except Exception as problem:
                text = re.sub(r"kindling\.|torch\.", "", str(problem))
                value = f"{type(problem).__name__}: {text}"
        shown.append(plain(value))

    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "show": show, "copy": copy,
                    "pickle": pickle})
    return shown


def check(reference, code):
    """Both answers are the same, and there are some."""
    expected = answers(reference, code)
    assert expected
    actual = answers(kindling, code)
    for place, (mine, theirs) in enumerate(zip(expected, actual)):
        assert same(mine, theirs), f"answer {place}: {theirs!r} instead of {mine!r}"
    assert len(actual) == len(expected)
