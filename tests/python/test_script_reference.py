"""Programs of TorchScript, run by PyTorch and by Kindling: the same values, the same acceptance or refusal, graphs of the same operators.

The programs stand in script_programs/: reference_*.py go through TorchScript's language reference, public_*.py are in the style of
published `@torch.jit.script` code. A run takes every tenth program and a tenth by a seed; SCRIPT_PROGRAMS=all takes all, SCRIPT_PROGRAMS=7
the tenth of seed 7.
"""
import collections
import contextlib
import importlib.util
import io
import os
import random
import re
import sys
import time
import warnings
from pathlib import Path

import pytest
import torch

import kindling

FOLDER = Path(__file__).with_name("script_programs")
WANTED = os.environ.get("SCRIPT_PROGRAMS", "")
SEED = int(WANTED) if WANTED.isdigit() else int(time.time())

# Programs that differ, each with what differs; docs/differences.md says why.
DIFFERENT = {
    "type_function": ("values", "what type(x) gives is no value of the type that it has in a script"),
    "enums": ("values", "a member is itself: PyTorch's `is` compares the places where a script names it"),
}


class Programs:
    """The programs of one file, loaded with one of the two frameworks as `torch`."""

    def __init__(self, path, framework):
        self.framework, self.programs = framework, {}
        name = framework.__name__
        text = path.read_text()
        if framework is kindling:
            text = re.sub(r"^import torch$", "import kindling as torch", text, flags=re.M)
            text = re.sub(r"^import torch\.nn\.functional as F$", "import kindling.nn.functional as F", text, flags=re.M)
            text = re.sub(r"^from torch\b", "from kindling", text, flags=re.M)
        self.name = f"{path.stem}_{name}"
        self.path = Path(os.environ["SCRIPT_PROGRAMS_FOLDER"]) / f"{self.name}.py"
        self.path.write_text(text)
        spec = importlib.util.spec_from_file_location(self.name, self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module     # where inspect looks for the source of a class
        module.program = lambda *calls: lambda of: self.add(of, calls)
        module.refused = lambda of: self.add(of, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec.loader.exec_module(module)

    def add(self, of, calls):
        assert of.__name__ not in self.programs, of.__name__
        self.programs[of.__name__] = (of, calls)
        return of

    def neutral(self, text):
        text = text.replace(str(self.path), "FILE").replace(self.name, "program").replace("kindling", "torch")
        return re.sub(r"___torch_mangle_\d+\.", "", text)

    def plain(self, value):
        """With types, and tensors as their elements; numbers are rounded where they are compared."""
        if type(value).__name__ == "Tensor" or hasattr(value, "requires_grad"):
            grad = self.plain(value.grad) if value.is_leaf and value.grad is not None else None
            return ("tensor", str(value.dtype).rpartition(".")[2], tuple(value.shape), value.stride() if value.layout == self.framework.strided else "", value.requires_grad, value.tolist(), grad)
        if isinstance(value, dict):
            return ("dict", [(self.plain(k), self.plain(v)) for k, v in value.items()])
        if isinstance(value, (list, tuple)):
            return (type(value).__name__, [self.plain(each) for each in value])
        if isinstance(value, (bool, int, float, complex, str, type(None))):
            return value
        return (type(value).__name__, self.neutral(str(value)))

    def told(self, act):
        """What a call gives, or the class of its error and the line that says what is wrong."""
        try:
            return act()
        except Exception as error:      # noqa: BLE001
            lines = [line.strip() for line in self.neutral(str(error)).split("\n") if line.strip()]
            lines = [line for line in lines if not line.startswith(("The following operation failed", "Traceback of TorchScript"))] or [""]
            names = [each.__name__ for each in type(error).__mro__[:-2]]
            raised = [line for line in lines if re.match(r"[\w.]+: ", line)]
            self.words = raised[-1] if raised and lines[0].startswith("File ") else lines[0]
            return ("error", names[0])

    def run(self, name):
        """(graph or error, values, printed)"""
        of, calls = self.programs[name]
        self.words = ""
        self.framework.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scripted = self.told(lambda: self.framework.jit.script(of() if isinstance(of, type) else of))
            if isinstance(scripted, tuple):
                return {"compiles": scripted, "words": self.words}
            if not hasattr(scripted, "graph"):
                return {"compiles": "not at all"}
            out = {"compiles": True, "graph": kinds(scripted.graph), "inlined": kinds(scripted.inlined_graph, str(self.path))}
            del out["inlined"]["prim::Constant"]
            printed = io.StringIO()
            with capture(printed):
                values = []
                for arguments in calls or ():
                    given = arguments()
                    values.append(self.told(lambda: self.plain([scripted(*given), *given])))
                    values.append(self.words)
                    for each in given:
                        if isinstance(each, self.framework.Tensor) and each.requires_grad and each.is_leaf and values[-2][0] == "list":
                            self.gradient(scripted, arguments, values)
                            break
        out["values"] = values
        return out

    def gradient(self, scripted, arguments, values):
        given = arguments()
        result = scripted(*given)
        parts = [each for each in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(each, self.framework.Tensor) and each.requires_grad]
        if parts:
            sum(part.sum() for part in parts).backward()
            values.append(self.plain([each for each in given if isinstance(each, self.framework.Tensor) and each.is_leaf]))


@contextlib.contextmanager
def capture(into):
    with contextlib.redirect_stdout(into):
        yield


def kinds(graph, file=None):
    """How many nodes of each kind; those that come from a file's lines."""
    found = collections.Counter()
    for line in str(graph).split("\n"):
        match = re.match(r"\s*(?:(?:%[\w.]+ : .*?)?= )?(\w+::\w+|\^\w+)", line)
        if match and (file is None or f" # {file}:" in line):
            found["prim::PythonOp" if match[1][0] == "^" else match[1]] += 1
    return found


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-5 * max(1, abs(a), abs(b))
    if isinstance(a, complex) and isinstance(b, complex):
        return close(a.real, b.real) and close(a.imag, b.imag)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    return type(a) is type(b) and a == b


FILES = sorted(path.stem for path in FOLDER.glob("*_*.py"))
NAMES = [(file, name) for file in FILES for name in re.findall(r"^@(?:program|refused).*\n(?:^[ @)].*\n)*?^(?:async )?(?:def|class) (\w+)", (FOLDER / f"{file}.py").read_text(), re.M)]


def chosen():
    if WANTED == "all":
        return NAMES
    draw = random.Random(SEED)
    return [each for i, each in enumerate(NAMES) if i % 10 == 0 or draw.random() < 0.1]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    os.environ["SCRIPT_PROGRAMS_FOLDER"] = str(tmp_path_factory.mktemp("programs"))
    made = {}

    def load(file):
        if file not in made:
            made[file] = [Programs(FOLDER / f"{file}.py", framework) for framework in (torch, kindling)]
        return made[file]
    yield load
    for pair in made.values():
        for each in pair:
            del sys.modules[each.name]


def what_differs(theirs, ours):
    crashed = theirs["compiles"] in (("error", "TypeError"), ("error", "AttributeError"))     # PyTorch's own compiler, on what it refuses
    if theirs["compiles"] != ours["compiles"] and not (crashed and ours["compiles"][0] == "error"):
        return f"compiles: {theirs['compiles']} {theirs.get('words', '')} there, {ours['compiles']} {ours.get('words', '')} here"
    for of in ("graph", "inlined"):
        if theirs.get(of) != ours.get(of):
            return f"{of}: {dict(theirs[of] - ours[of])} there, {dict(ours[of] - theirs[of])} here"
    if not close(theirs.get("values"), ours.get("values")):
        for a, b in zip(theirs["values"], ours["values"]):
            if not close(a, b):
                return f"values: {a} there, {b} here"
        return f"values: {theirs['values']} there, {ours['values']} here"
    return None


def test_the_programs_are_there():
    assert len(NAMES) == len(set(name for _, name in NAMES)) >= 300 and set(DIFFERENT) <= {name for _, name in NAMES}
    assert len(DIFFERENT) <= 0.03 * len(NAMES)
    assert all(sum(file.startswith(kind) for file, _ in NAMES) >= 150 for kind in ("reference", "public"))


@pytest.mark.parametrize("file, name", chosen(), ids=lambda each: each)
def test_a_program_does_what_it_does_in_pytorch(loaded, file, name):
    theirs, ours = (each.run(name) for each in loaded(file))
    refused = loaded(file)[0].programs[name][1] is None
    assert refused == (theirs["compiles"] is not True), f"PyTorch: {theirs}"
    differs = what_differs(theirs, ours)
    if name in DIFFERENT:
        assert differs and differs.startswith(DIFFERENT[name][0]), differs
    else:
        assert differs is None, f"{differs} (seed {SEED})"
