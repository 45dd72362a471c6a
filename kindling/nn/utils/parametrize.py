"""Parametrisations: a module's tensor computed, at every use, from other tensors."""
import kindling as torch
from kindling.nn.modules.container import ModuleDict, ModuleList
from kindling.nn.parameter import Parameter

__all__ = ["cached", "ParametrizationList", "register_parametrization", "is_parametrized", "remove_parametrizations",
           "type_before_parametrizations", "transfer_parametrizations_and_params"]

_cache_enabled = 0
_cache = {}


class cached:
    """`with cached():` computes each parametrised tensor only once inside the block."""

    def __enter__(self):
        global _cache_enabled
        _cache_enabled += 1

    def __exit__(self, kind, value, trace):
        global _cache_enabled
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()

    def __call__(self, function):
        def wrapped(*args, **kwargs):
            with cached():
                return function(*args, **kwargs)
        wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
        return wrapped


def _register_parameter_or_buffer(module, name, X):
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


_MAY_NOT_CHANGE = "Registering a parametrization may not change the {aspect} of the tensor, unless "


def _check_same(old, new, problem, before, after):
    """ValueError of the `problem` unless `new` has dtype and shape of `old`: a tensor, or both of them by name."""
    for aspect in ("dtype", "shape"):
        was = old[aspect] if isinstance(old, dict) else getattr(old, aspect)
        if was != getattr(new, aspect):
            raise ValueError(f"{problem.format(aspect=aspect)}`unsafe` flag is enabled.\n{before}{aspect}: {was}\n"
                             f"{after}{aspect}: {getattr(new, aspect)}")


class ParametrizationList(ModuleList):
    """One tensor's parametrisations in order, with the original tensor (or tensors) they start from.

    ValueError where right_inverse or forward give something else than tensors, or change dtype or shape without
    `unsafe`.
    """

    def __init__(self, modules, original, unsafe: bool = False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with torch.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        # Not every parametrisation can be undone; the original is then taken as it is.
                        pass
        was = {"dtype": original.dtype, "shape": original.shape}
        expected = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
        self.is_tensor = isinstance(new, torch.Tensor)
        if not self.is_tensor and not isinstance(new, (list, tuple)):
            raise ValueError(expected + type(new).__name__)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for aspect in ("dtype", "device"):
                if getattr(original, aspect) != getattr(new, aspect):
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {aspect}.\n"
                                     f"original.{aspect}: {getattr(original, aspect)}\n"
                                     f"right_inverse(original).{aspect}: {getattr(new, aspect)}")
            # The object stays, so that an optimiser that has it goes on with it.
            with torch.no_grad():
                original.set_(new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for place, part in enumerate(new):
                if not isinstance(part, torch.Tensor):
                    raise ValueError(f"{expected}element {place} of the sequence with type {type(part).__name__}.")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{place}", part)
        if not unsafe:
            result = self()
            if not isinstance(result, torch.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            _check_same(was, result, _MAY_NOT_CHANGE, "unparametrized ", "parametrized ")

    def right_inverse(self, value):
        """Sets the originals so that the parametrised tensor is `value`. RuntimeError where that can't be done."""
        with torch.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, torch.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError("The tensor returned by `right_inverse` has dtype "
                                     f"{value.dtype} while `original` has dtype {self.original.dtype}")
                self.original.set_(value)
                return
            if not isinstance(value, (list, tuple)):
                raise ValueError("'right_inverse' must return a sequence of tensors. Got "
                                 f"{type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError("'right_inverse' must return a sequence of tensors of length "
                                 f"{self.ntensors}. Got a sequence of length {len(value)}.")
            for place, part in enumerate(value):
                original = getattr(self, f"original{place}")
                if not isinstance(part, torch.Tensor):
                    raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {place} of type "
                                     f"{type(part).__name__}")
                if original.dtype != part.dtype:
                    raise ValueError(f"Tensor {place} returned by `right_inverse` has dtype {part.dtype} while "
                                     f"`original{place}` has dtype {original.dtype}")
                original.set_(part)

    def forward(self):
        first, *rest = self._modules.values()
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{place}") for place in range(self.ntensors)))
        for module in rest:
            value = module(value)
        return value


def _inject_new_class(module):
    """Gives the module a class of its own, so that properties can be put there."""
    kind = module.__class__

    def deepcopy(self, memo):
        import copy
        found = memo.get(id(self))
        if found is not None:
            return found
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def getstate(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                           "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-"
                           "checkpoint-for-inference-and-or-resuming-training")

    members = {"__getstate__": getstate}
    # The class is made here and can't be found by name: copying must not go through pickling.
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _inject_property(module, tensor_name):
    """Makes the name a property that computes the parametrisation."""
    def get(self):
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), tensor_name)
        value = _cache.get(key)
        if value is None:
            value = _cache[key] = parametrization()
        return value

    def put(self, value):
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(get, put))


def register_parametrization(module: "torch.nn.Module", tensor_name: str, parametrization: "torch.nn.Module", *,
                             unsafe: bool = False) -> "torch.nn.Module":
    """Makes module.<tensor_name> the value of `parametrization` (a Module) at the tensor kept as its original.

    A second registration composes with the first. ValueError for a name that is neither parameter nor buffer, and for
    changes of dtype or shape without `unsafe`. Answers the module.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            if not isinstance(after, torch.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
            named = f"module.{tensor_name}."
            _check_same(before, after, _MAY_NOT_CHANGE + "the ", named, f"parametrization(module.{tensor_name}).")
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(after)
                except NotImplementedError:
                    back = before
                if not isinstance(back, torch.Tensor):
                    raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
                _check_same(before, back, "The tensor returned by parametrization.right_inverse must have the same {aspect} "
                            f"as module.{tensor_name}, unless the ", named, "returned ")
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        # Made first: it raises for what can't be registered.
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def is_parametrized(module: "torch.nn.Module", tensor_name: str | None = None) -> bool:
    """Whether any of the module's tensors, or the one of this name, is parametrised."""
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: "torch.nn.Module", tensor_name: str, leave_parametrized: bool = True) -> "torch.nn.Module":
    """Makes the tensor an ordinary one again: with its present value, or (leave_parametrized=False) its original's.

    ValueError if it is not parametrised, or has several originals and is not left parametrised.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                         "terms of a sequence of tensors.")
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: "torch.nn.Module") -> type:
    """The module's class without the one that parametrisation gave it."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: "torch.nn.Module", to_module: "torch.nn.Module",
                                         tensor_name: str | None = None) -> "torch.nn.Module":
    """Gives to_module the parametrisations, and values, of from_module's tensors (or the one of this name)."""
    if not is_parametrized(from_module):
        return to_module
    import copy
    names = from_module.parametrizations if tensor_name is None else [tensor_name]
    for name in list(names):
        ours = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            value = ours.original if ours.is_tensor else getattr(from_module, name)
            setattr(to_module, name, Parameter(copy.deepcopy(value.detach())) if isinstance(value, Parameter)
                    else copy.deepcopy(value.detach()))
        for parametrization in ours:
            register_parametrization(to_module, name, copy.deepcopy(parametrization))
        theirs = to_module.parametrizations[name]
        for original in (["original"] if ours.is_tensor else [f"original{place}" for place in range(ours.ntensors)]):
            setattr(theirs, original, copy.deepcopy(getattr(ours, original)))
    return to_module
