"""Modules made functions of their parameters, by functorch's own functions for that (`torch.func.functional_call` does it now)."""
import copy

import kindling as torch
from kindling import nn

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init", "functional_init_with_buffers",
           "make_functional", "make_functional_with_buffers"]


class _Functional(nn.Module):
    def __init__(self, stateless_model, *names):
        super().__init__()
        self.stateless_model, self._names = stateless_model, names

    @classmethod
    def _create_from(cls, model, disable_autograd_tracking=False):
        copied = copy.deepcopy(model)
        spaces = [dict(copied.named_parameters())]
        if cls is FunctionalModuleWithBuffers:
            spaces.append(dict(copied.named_buffers()))
        if disable_autograd_tracking:
            for each in spaces[0].values():
                each.requires_grad_(False)
        values = [tuple(space.values()) for space in spaces]
        return cls(copied, *map(tuple, spaces)), *values

    def _call(self, given, args, kwargs):
        named = {name: value for names, values in zip(self._names, given) for name, value in zip(names, values)}
        return torch.func.functional_call(self.stateless_model, named, args, kwargs)


class FunctionalModule(_Functional):
    """What `make_functional` gives: a call takes the parameters first."""

    def forward(self, params, *args, **kwargs):
        return self._call((params,), args, kwargs)


class FunctionalModuleWithBuffers(_Functional):
    """What `make_functional_with_buffers` gives: a call takes parameters and buffers first."""

    def forward(self, params, buffers, *args, **kwargs):
        return self._call((params, buffers), args, kwargs)


def make_functional(model, disable_autograd_tracking=False):
    """(function, parameters) of a module without buffers."""
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(function, parameters, buffers) of a module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models):
    """(function, parameters, buffers) of several modules of one class, each stacked for `vmap`."""
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made = [FunctionalModuleWithBuffers._create_from(model) for model in models]
    return made[0][0], *(_stacked(one[place] for one in made) for place in (1, 2))


def _stacked(each):
    """The tensors of several models, those of one name together."""
    return tuple(torch.stack(tensors).detach() for tensors in zip(*each))


def _made(model):
    """(parameters, buffers, the model as a function of those and of a tuple of arguments, names of both)."""
    names = [[name for name, _ in members()] for members in (model.named_parameters, model.named_buffers)]
    values = [tuple(value for _, value in members()) for members in (model.named_parameters, model.named_buffers)]

    def call(*given):
        *states, data = given
        named = {name: value for some, state in zip(names, states) for name, value in zip(some, state)}
        return torch.func.functional_call(copy.deepcopy(model), named, data)
    return *values, call, *map(tuple, names)


def _initialiser(model_class, ensemble_shape, device, with_buffers):
    def wrapped(*args, **kwargs):
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if ensemble_shape and ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0] if ensemble_shape else 1)]
        params, buffers, call, names, buffer_names = _made(models[0])
        if not with_buffers and buffers:
            raise RuntimeError("make_functional_deprecated_v1(model): `model` has buffers. Please use make_functional_with_buffers_deprecated_v1(model) instead.")
        if ensemble_shape:
            every = [_made(model)[:2] for model in models]
            params, buffers = (_stacked(each[place] for each in every) for place in (0, 1))
        return (params, buffers, call, names, buffer_names) if with_buffers else (params, call, names)
    return wrapped


def functional_init(model_class, ensemble_shape=(), device="cpu"):
    """A function of the class's arguments: (parameters, the model as a function of them, their names); of as many models as the shape says."""
    return _initialiser(model_class, ensemble_shape, device, False)


def functional_init_with_buffers(model_class, ensemble_shape=(), device="cpu"):
    """The same: (parameters, buffers, the function of both, names of the parameters, names of the buffers)."""
    return _initialiser(model_class, ensemble_shape, device, True)
