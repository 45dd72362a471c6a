"""The package ``functorch`` of old programs: transforms that torch.func has now, and modules made functions of their parameters."""
import kindling as torch
from kindling import nn

__version__ = torch.__version__


def _warn(name, instead=None):
    import warnings
    warnings.warn("We've integrated functorch into PyTorch. As the final step of the integration, "
                  f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
                  f"Please use `{instead or f'torch.func.{name}'}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration "
                  "guide for more details https://pytorch.org/docs/main/func.migrating.html", FutureWarning, stacklevel=3)


def _old(name, instead=None):
    function = torch.vmap if name == "vmap" else getattr(torch.func, name)

    def deprecated(*args, **kwargs):
        _warn(name, instead)
        return function(*args, **kwargs)
    deprecated.__name__ = deprecated.__qualname__ = name
    deprecated.__doc__ = function.__doc__
    return deprecated


vmap = _old("vmap", "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, functionalize = map(
    _old, "grad grad_and_value vjp jvp jacrev jacfwd hessian functionalize".split())


class _Functional(nn.Module):
    def __init__(self, stateless_model, *names):
        super().__init__()
        self.stateless_model, self._names = stateless_model, names

    @classmethod
    def _create_from(cls, model, disable_autograd_tracking=False):
        import copy
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
    _warn("make_functional", "torch.func.functional_call")
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(function, parameters, buffers) of a module."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models):
    """(function, parameters, buffers) of several modules of one class, each stacked for `vmap`."""
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made = [FunctionalModuleWithBuffers._create_from(model) for model in models]
    params, buffers = (tuple(torch.stack(each).detach() for each in zip(*(one[place] for one in made))) for place in (1, 2))
    return made[0][0], params, buffers


def __getattr__(name):
    if name == "make_fx":
        return torch._import("kindling.fx.experimental.proxy_tensor").make_fx
    raise AttributeError(f"module 'functorch' has no attribute {name!r}")
