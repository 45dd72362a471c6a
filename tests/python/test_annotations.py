"""Constructors and helpers say what they take, as PyTorch's do: for command lines and configurations that are made of signatures."""
import importlib
import inspect
import typing

import pytest
import torch

import kindling

PARTS = ("nn", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.stateless", "nn.utils.fusion", "optim", "optim.lr_scheduler",
         "optim.swa_utils", "utils.data", "distributions", "distributions.transforms", "serialization", "amp", "signal.windows", "hub", "autograd")
# One constructor of ours serves layers of one, two and three dimensions, whose sizes have other types in PyTorch.
SHARED = {"AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
          "LazyConvTranspose3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", *(f"{kind}Pad{n}d" for kind in ("Circular", "Reflection", "Replication", "Zero") for n in (1, 2, 3))}
# Modules that name neither tensors nor typing, because many programs load them.
WITHOUT = {"Chi2", "HalfCauchy", "LogNormal", "LogisticNormal", "Pareto", "RelaxedBernoulli", "kl_divergence"}
PLAIN = (int, float, bool, str, object, type(None))


def plain(kind):
    """Whether a type is made of numbers, texts, tensors and what holds them: no protocol, no type variable, no literal."""
    if typing.get_args(kind):
        return typing.get_origin(kind) in (tuple, list, typing.Union, type(int | str)) and all(each is ... or plain(each) for each in typing.get_args(kind))
    return kind in PLAIN or kind in (torch.Tensor, torch.Generator, torch.device, torch.dtype, torch.Size, torch.nn.Module)


def spelt(kind):
    parts = sorted(map(spelt, typing.get_args(kind))) if typing.get_origin(kind) in (typing.Union, type(int | str)) else None
    return " | ".join(parts) if parts else (kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind).replace("kindling", "torch"))


def hints(function):
    try:
        return typing.get_type_hints(function)
    except NameError:       # PyTorch names types there that it imports for checkers alone
        return {}


def pairs():
    for part in PARTS:
        theirs, ours = (importlib.import_module(f"{name}.{part}") for name in ("torch", "kindling"))
        for name in getattr(theirs, "__all__", None) or [each for each in dir(theirs) if not each.startswith("_")]:
            a, b = getattr(theirs, name, None), getattr(ours, name, None)
            if inspect.isclass(a) and inspect.isclass(b):
                a, b = a.__init__, b.__init__
            if inspect.isfunction(a) and inspect.isfunction(b) and b.__module__.startswith("kindling."):
                yield pytest.param(name, a, b, id=f"{part}.{name}")


@pytest.mark.parametrize("name, theirs, ours", list(pairs()))
def test_what_pytorch_says_of_parameters(name, theirs, ours):
    said, taken = hints(ours), set(inspect.signature(ours).parameters)
    for parameter, kind in hints(theirs).items():
        if parameter == "return" or parameter not in taken or not plain(kind):
            continue
        if parameter in said:
            assert spelt(said[parameter]) == spelt(kind), parameter
        else:
            assert name in SHARED | WITHOUT, parameter


def test_files_are_what_pytorch_calls_so():
    for function, theirs in (kindling.save, torch.save), (kindling.load, torch.load):
        assert typing.get_type_hints(function)["f"] == typing.get_type_hints(theirs)["f"]
