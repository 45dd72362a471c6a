"""Classes that stand beside another base: an `__init__` of ours calls the next one's wherever PyTorch's does."""
import ast
import importlib
import inspect
import pkgutil
import textwrap
import warnings

import pytest

import kindling

torch = pytest.importorskip("torch")

# No object of these can be made here: their `__init__` only raises.
NEVER_MADE = {"DistributedDataParallel", "RecursiveScriptClass", "cuBLASModule", "cudaStatus", "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT",
              "SparseSemiStructuredTensorCUTLASS", "GraphExecGroup", "_LazyConvXdMixin", "MatchAllNode"}


def goes_on(cls):
    """Whether cls.__init__ reaches what follows it in a longer order of bases; None if its source does not say."""
    for each in cls.__mro__[:-1]:
        function = each.__dict__.get("__init__")
        if function is None:
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
        except (OSError, TypeError, SyntaxError):
            return None
        if not any(isinstance(node, ast.Attribute) and node.attr == "__init__" for node in ast.walk(tree)):
            return False
    return True


def pairs():
    seen = set()
    for found in pkgutil.walk_packages(kindling.__path__, "kindling."):
        if any(part.startswith(("_", "startup", "libkindling")) for part in found.name.split(".")[1:]):
            continue
        try:
            ours, theirs = (importlib.import_module(name) for name in (found.name, "torch" + found.name[8:]))
        except ImportError:
            continue
        for name in dir(ours):
            if name.startswith("__"):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mine, other = getattr(ours, name), getattr(theirs, name, None)
            if getattr(mine, "__init__", None) and getattr(mine.__init__, "__module__", "").startswith(("kindling._common.placeholders", "kindling._absent")):
                continue         # a name that raises at its use
            if isinstance(mine, type) and isinstance(other, type) and mine not in seen and mine.__module__.startswith("kindling"):
                seen.add(mine)
                yield found.name, name, mine, other


def test_every_class_calls_the_next_one():
    checked, wrong = 0, []
    for module, name, mine, other in pairs():
        checked += 1
        if name not in NEVER_MADE and not issubclass(other, tuple) and goes_on(other) and goes_on(mine) is False:
            wrong.append(f"{module}.{name}")
    assert checked > 300 and not wrong, wrong


@pytest.mark.parametrize("make", ["lambda c: c(torch.zeros(2), torch.ones(2))@distributions.Normal", "lambda c: c(torch.ones(3))@distributions.Dirichlet",
                                  "lambda c: c(torch.zeros(2), torch.ones(2))@distributions.LogNormal", "lambda c: c([[1], [2]])@utils.data.ConcatDataset",
                                  "lambda c: c(0, 1)@distributions.constraints.interval"])
@pytest.mark.parametrize("library", [torch, kindling], ids=["torch", "kindling"])
def test_beside_a_module(library, make):
    code, _, path = make.partition("@")
    base = library
    for part in path.split("."):
        base = getattr(base, part)

    class Both(base, library.nn.Module):
        pass

    made = eval(code, {"torch": library})(Both)
    made.layer = library.nn.Linear(2, 2)
    assert [name for name, _ in made.named_parameters()] == ["layer.weight", "layer.bias"]
