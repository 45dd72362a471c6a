"""Writes examples and refusals of operators from PyTorch's test database: python examples.py ../python/operator_examples.tsv

A line is an overload, a call in Python, and for a refusal the class of the error. Calls are those of the database's samples and
errors, and what PyTorch's dispatcher sees below them and in their backward pass; of each overload the shortest that gives in
Kindling what it gives in PyTorch; calls that do not are printed. Tensors are written as numbers with few digits, or as even spaces where an operator takes any
numbers. tests/python/test_operator_declarations.py runs every line under both.
"""
import argparse
import importlib
import itertools
import math
import re
import sys
import warnings
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

import kindling

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))
CASES = importlib.import_module("declared_calls")
LONGEST = 420          # characters of a line
LITERAL = 36           # elements of a tensor that is written as numbers
SAMPLES = 12           # of an entry, for a dtype
DTYPES = (torch.float32, torch.float64, torch.int64, torch.complex64, torch.bool, torch.bfloat16)


# What a schema's types are tried with where the database has no sample: the choices of one place go together.
TENSORS = ("torch.linspace(-1, 2, 6).reshape([2, 3])", "torch.linspace(1, 2, 9).reshape([3, 3])", "torch.tensor([0.5, 1.5])",
           "torch.tensor([1, 2, 0])", "torch.tensor([True, False])", "torch.linspace(0.1, 0.9, 16).reshape([1, 1, 4, 4])",
           "torch.linspace(0.1, 0.9, 8).reshape([1, 2, 4])", "torch.tensor(2.0)")
LISTS = ("[torch.tensor([1.5, 2.0]), torch.tensor([[3.0]])]", "[torch.tensor([1, 2]), torch.tensor([[3]])]")
OTHERS = {"Scalar": ("2", "0.5"), "Scalar[]": ("[2.0, 0.5]",), "float": ("0.5", "2.0"), "float[]": ("[0.5, 2.0]",), "bool": ("False", "True"),
          "int": ("1", "0", "2"), "SymInt": ("1", "0", "2"), "int[]": ("[1]", "[0]", "[2, 3]", "[1, 1]", "[0, 1]"), "SymInt[]": ("[1]", "[2, 3]", "[2, 2]", "[6]"),
          "str": ("'mean'", "'linear'"), "ScalarType": ("torch.float64",), "MemoryFormat": ("torch.contiguous_format",), "bool[]": ("[True, True, True]",)}


class NotWritten(Exception):
    """An argument that no short text makes."""


def number(value):
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, complex):
        return f"complex({number(value.real)}, {number(value.imag)})"
    if math.isnan(value) or math.isinf(value):
        return f"float('{value}')"
    return repr(float(f"{value:.3g}"))


def spaces(tensor):
    """A tensor of this shape and kind whose numbers are evenly spaced, where an operator takes any."""
    count, shape = tensor.numel(), list(tensor.shape)
    shaped = "" if len(shape) == 1 else f".reshape({shape})"
    if tensor.dtype == torch.bool:
        return f"(torch.arange({count}) % 2 == 0){shaped}"
    if tensor.dtype.is_floating_point:
        cast = "" if tensor.dtype == torch.float32 else f", dtype={tensor.dtype}"
        return f"torch.linspace(-1, 2, {count}{cast}){shaped}"
    if tensor.dtype.is_complex:
        return f"torch.linspace(-1, 2, {count}, dtype={tensor.dtype}){shaped}"
    cast = "" if tensor.dtype == torch.int64 else f", dtype={tensor.dtype}"
    return f"(torch.arange({count}{cast}) % 3){shaped}"


def written(value, spaced):
    """The text of an argument."""
    if isinstance(value, torch.Tensor):
        if type(value) is not torch.Tensor or value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
            raise NotWritten
        value = value.detach().resolve_conj().resolve_neg()
        if value.numel() > 0 and spaced and value.dim():
            return spaces(value)
        if value.numel() > LITERAL:
            raise NotWritten
        if value.numel() == 0:
            cast = "" if value.dtype == torch.float32 else f", dtype={value.dtype}"
            return f"torch.empty({list(value.shape)}{cast})"

        def nested(item):
            return "[" + ", ".join(map(nested, item)) + "]" if isinstance(item, list) else number(item)

        plain = value.dtype in (torch.float32, torch.int64, torch.bool)
        return f"torch.tensor({nested(value.tolist())}{'' if plain else f', dtype={value.dtype}'})"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(written(item, spaced) for item in value) + "]"
    if value is None or isinstance(value, (bool, int, float, complex)):
        return number(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return str(value)
    if isinstance(value, torch.device) and value.type == "cpu":
        return "torch.device('cpu')"
    raise NotWritten


def call_of(overload, args, kwargs, spaced):
    """The text of a call of an overload."""
    words = [written(value, spaced) for value in args]
    words += [f"{name}={written(value, spaced)}" for name, value in kwargs.items() if value is not None]
    text = f"torch.ops.aten.{overload}({', '.join(words)})"
    if len(text) > LONGEST:
        raise NotWritten
    return text


def weight(text):
    """How long a call is; those that show little count as longer."""
    empty = re.search(r"torch\.empty\(\[[\d, ]*\b0\b", text) is not None
    several = re.search(r"torch\.(?:tensor\(\[[^()]*,|linspace|arange)", text) is not None
    return len(text) + 2000 * empty + 200 * (not several)


class Watched(TorchDispatchMode):
    """Hands every call below to `note`, with its arguments as they are before it."""

    def __init__(self, note):
        super().__init__()
        self.note = note

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.namespace == "aten":
            name = str(function).removeprefix("aten.")
            for spaced in (False, True):
                self.note(name, args, kwargs, spaced)
        return function(*args, **kwargs)


def names(entry):
    """What overloads of PyTorch's an entry of the database may be samples of."""
    found = {entry.name.replace(".", "_"), entry.name.split(".")[-1], entry.aten_name, *(alias.name.replace(".", "_") for alias in entry.aliases)}
    for name in list(found):
        found |= {name + "_copy", "_" + name, name + "_"}
    return sorted(found)


class Collection:
    """The shortest good call of each declared overload."""

    def __init__(self, declared):
        self.by_name = {}
        for overload in declared:
            self.by_name.setdefault(overload.split(".")[0], []).append(overload)
        self.declared = set(declared)
        self.good, self.tried, self.refused, self.differing = {}, set(), {}, {}

    def note(self, overload, args, kwargs, spaced):
        if overload not in self.declared:
            return
        try:
            text = call_of(overload, args, kwargs, spaced)
        except NotWritten:
            return
        self.offer(overload, text)

    def offer(self, overload, text):
        if (overload in self.good and weight(text) >= weight(self.good[overload])) or text in self.tried:
            return
        self.tried.add(text)
        with torch.utils._python_dispatch._disable_current_modes():
            wrong = CASES.difference(text)
        if not wrong:
            self.good[overload] = text
        elif not wrong.startswith("PyTorch raises"):
            self.differing.setdefault(overload, (text, wrong[:300]))

    def refusal(self, overload, args, kwargs):
        if overload in self.refused:
            return
        try:
            text = call_of(overload, args, kwargs, False)
        except NotWritten:
            return
        kind = CASES.refusal(text, torch)
        if kind and kind == CASES.refusal(text, kindling):
            self.refused[overload] = (text, kind)


def samples_of(entry, collection):
    """Every sample of an entry, as calls of the overloads that it may be, and run with what is below it watched."""
    dtypes = [dtype for dtype in DTYPES if dtype in entry.dtypes] or sorted(entry.dtypes, key=str)[:1]
    for dtype in dtypes[: 2 if torch.float32 in dtypes else 1]:
        backward = dtype == torch.float32 and entry.supports_autograd
        try:
            samples = []
            for sample in entry.sample_inputs("cpu", dtype, requires_grad=backward):
                samples.append(sample)
                if len(samples) == SAMPLES:
                    break
        except Exception:
            continue
        for sample in samples:
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            for name in names(entry):
                for overload in collection.by_name.get(name, ()):
                    for spaced in (True, False):
                        collection.note(overload, args, kwargs, spaced)
            try:
                with Watched(collection.note):
                    result = entry(*args, **kwargs)
                    outputs = [item for item in (result if isinstance(result, (list, tuple)) else [result])
                               if isinstance(item, torch.Tensor) and item.requires_grad]
                    if outputs:
                        torch.autograd.backward(outputs, [torch.ones_like(item) for item in outputs])
            except Exception:
                continue
    if entry.error_inputs_func is not None:
        try:
            errors = list(entry.error_inputs("cpu"))
        except Exception:
            errors = []
        for error in errors:
            sample = error.sample_input
            for name in names(entry):
                for overload in collection.by_name.get(name, ()):
                    collection.refusal(overload, (sample.input, *sample.args), sample.kwargs)


def by_schema(operator, collection):
    """Calls made of what the schema says alone."""
    overload = CASES.overload_of(operator)
    choices = []
    for words in CASES.arguments(operator["schema"]):
        kind, name, has_default, keyword = words
        if has_default:
            continue
        kind = re.sub(r"\(\w!?\)|\[\d\]$", lambda found: "[]" if found[0][0] == "[" else "", kind)
        values = (TENSORS if kind == "Tensor" else LISTS if kind in ("Tensor[]", "Tensor?[]") else
                  ("None",) if kind.endswith("?") else OTHERS.get(kind))
        if values is None:
            return
        choices.append([f"{name}={value}" if keyword else value for value in values])
    for words in itertools.islice(itertools.product(*choices), 600):
        collection.offer(overload, f"torch.ops.aten.{overload}({', '.join(words)})")
        if overload in collection.good:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--ops", default="", help="only entries whose names have this")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    collection = Collection(CASES.overloads())
    entries = [entry for entry in op_db if given.ops in entry.name]
    for place, entry in enumerate(entries):
        samples_of(entry, collection)
        print(f"{place + 1}/{len(entries)} {entry.name}: {len(collection.good)} examples, {len(collection.refused)} refusals", flush=True)
    if not given.ops:
        for operator in CASES.declared():
            if CASES.overload_of(operator) not in collection.good and "::" not in operator["name"]:
                by_schema(operator, collection)
        print(f"by schema: {len(collection.good)} examples", flush=True)
    for overload, (text, wrong) in sorted(collection.differing.items()):
        print(f"differs: {text}: {wrong}")
    lines = [(overload, text, "") for overload, text in collection.good.items()]
    lines += [(overload, *pair) for overload, pair in collection.refused.items()]
    Path(given.output).write_text("".join("\t".join(line).rstrip("\t") + "\n" for line in sorted(lines)))


if __name__ == "__main__":
    main()
