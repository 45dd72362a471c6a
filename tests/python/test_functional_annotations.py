"""Functions of nn.functional say what they take, as PyTorch's do."""
import inspect
import typing

import pytest
import torch

import kindling
import kindling.nn.functional as F

# PyTorch says None of what is one number or several; these have types of their own there.
OTHER = {"scaled_mm": {"scale_recipe_a", "scale_recipe_b", "swizzle_a", "swizzle_b"}, "linear_cross_entropy": {"options"},
         "triplet_margin_with_distance_loss": {"distance_function"}}


def said(module, function):
    names = {"LinearCrossEntropyOptions": object}
    return {name: str(kind).replace("kindling", "torch") for name, kind in typing.get_type_hints(function, {**vars(module), **names}).items()
            if kind is not type(None)}


@pytest.mark.parametrize("name", [name for name in F.__all__ if inspect.isfunction(getattr(F, name)) and inspect.isfunction(getattr(torch.nn.functional, name, None))])
def test_annotations_are_torchs(name):
    ours = said(kindling.nn.functional, getattr(F, name))
    theirs = {each: kind for each, kind in said(torch.nn.functional, getattr(torch.nn.functional, name)).items() if each not in OTHER.get(name, ())}
    assert ours == theirs
