"""The base of all optimizers, and what their update rules share."""
from _collections import OrderedDict, defaultdict

import kindling as torch
from kindling import _C
from kindling.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()


class _Required:
    """The default of an option that every parameter group must give itself."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` before every step of every optimizer.

    The hook returns None or changed `(args, kwargs)`.  Returns a handle whose `remove()` takes it back.
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` after every step of every optimizer; returns a handle to take it back."""
    return _register(_global_optimizer_post_hooks, hook)


def _register(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _look_like(wrapper, function):
    """What functools.wraps does, without importing functools (start-up)."""
    wrapper.__name__, wrapper.__qualname__ = function.__name__, function.__qualname__
    wrapper.__doc__, wrapper.__module__ = function.__doc__, function.__module__
    wrapper.__dict__.update(function.__dict__)
    wrapper.__wrapped__ = function
    return wrapper


def _use_grad_for_differentiable(func):
    """Runs a step without gradients, unless the optimizer was made with `differentiable=True`."""
    def _use_grad(self, *args, **kwargs):
        before = _C.is_grad_enabled()
        wanted = bool(self.defaults.get("differentiable"))
        if before == wanted:
            return func(self, *args, **kwargs)
        _C._set_grad_enabled(wanted)
        try:
            return func(self, *args, **kwargs)
        finally:
            _C._set_grad_enabled(before)
    return _look_like(_use_grad, func)


class Optimizer:
    """Holds parameter groups, their options and the state of each parameter; `step` is what an optimizer adds.

    `params` is an iterable of tensors, of `(name, tensor)` pairs, or of dicts with the key `params` and options of
    their own; `defaults` are the options of groups that do not say otherwise.  TypeError if `params` is a tensor or
    holds anything but tensors; ValueError for an empty list, a tensor that is no leaf, or one that is in two groups.
    """
    _step_supports_amp_scaling = False

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + _type_name(params))
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        self._warned_capturable_if_run_uncaptured = True

    def _make_hooks(self):
        have = self.__dict__
        for name in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
                     "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks",
                     "_optimizer_load_state_dict_post_hooks"):
            if name not in have:
                have[name] = OrderedDict()

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        lines = [self.__class__.__name__ + " ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ---- steps and their hooks

    def step(self, closure=None):
        """Updates the parameters once.  `closure`, if given, evaluates the model again and returns the loss."""
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func):
        """Wraps a class's `step` so that the registered hooks run around it."""
        def wrapper(*args, **kwargs):
            self = args[0]
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
            if not (before or after or _global_optimizer_pre_hooks or _global_optimizer_post_hooks):
                return func(*args, **kwargs)
            for hook in (*_global_optimizer_pre_hooks.values(), *before.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), "
                                           f"but got {changed}.")
                    args, kwargs = changed
            result = func(*args, **kwargs)
            for hook in (*after.values(), *_global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return result
        return _look_like(wrapper, func)

    def _patch_step_function(self):
        # On the class, at the first instance: a subclass may define or replace `step` at any time before that.
        cls = self.__class__
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def register_step_pre_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` before each step; it returns None or changed `(args, kwargs)`."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` before `state_dict()`; before the other hooks with `prepend`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` after `state_dict()`; it returns None or another dict."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` before loading; it returns None or another dict."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def zero_grad(self, set_to_none=True):
        """Drops every parameter's gradient, or with `set_to_none=False` fills it with zeros."""
        foreach = self.defaults.get("foreach") or self.defaults.get("fused")
        to_zero = []
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                if foreach and not grad.is_sparse:
                    to_zero.append(grad)
                else:
                    grad.zero_()
        if to_zero:
            for (grads,), _ in self._group_tensors_by_device_and_dtype([to_zero]).values():
                torch._foreach_zero_(grads)

    # ---- saving and loading

    def state_dict(self):
        """The state as plain data: `state` by the parameters' numbers, `param_groups` with numbers for parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        start = 0
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for number, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), number)
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, torch.Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict()` gave; tensors move to their parameters' device and dtype.

        ValueError if the number of groups, or of parameters in one of them, differs.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        from copy import deepcopy
        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        params = {}
        for group, saved in zip(groups, saved_groups):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                                 "optimizer's group")
            params.update(zip(saved["params"], group["params"]))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _cast_state(params[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, saved in zip(groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        # A step count keeps its dtype and place: a half-precision parameter could not count its own steps.
        if key == "step":
            group = next((group for group in param_groups if param_id in group["params"]), {})
            if group.get("capturable", False) or group.get("fused", False):
                return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    # ---- groups

    def add_param_group(self, param_group):
        """Adds a dict with the key `params` and options; options not given take the defaults.

        TypeError for anything but a dict of tensors; ValueError for a tensor that is no leaf or already in a group,
        and for a mixture of parameters with and without names.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of "
                            "tensors in sets will change between runs. Please use a list instead.")
        else:
            params = list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        params = [param[1] if isinstance(param, tuple) else param for param in params]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        differentiable = self.defaults.get("differentiable", None)
        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + _type_name(param))
            if not differentiable and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        unique = set(params)
        if len(unique) != len(params):
            import warnings
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                          "an error; see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{'with names' if named else 'without names'} to the optimizer")
        for group in self.param_groups:
            if not unique.isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        """{(device, dtype): (the lists, cut down to the entries of that kind, their indices)}, by the first list.

        An empty list stays empty; indices are an empty list unless asked for.
        """
        groups = {}
        for index, tensor in enumerate(tensorlistlist[0]):
            groups.setdefault((tensor.device, tensor.dtype), []).append(index)
        return {key: ([[tensors[index] for index in indices] if tensors else [] for tensors in tensorlistlist],
                      indices if with_indices else []) for key, indices in groups.items()}

    def _accelerator_graph_capture_health_check(self):
        """For subclasses that call it: there is no accelerator whose graphs could be captured."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    def _optimizer_step_code(self):
        """For subclasses that call it."""


class _RuleOptimizer(Optimizer):
    """An optimizer given by the state of a parameter and an update over lists of parameters.

    A subclass answers `_new_state(param, grad, group)` and `_update(group, params, grads, states)`.
    """
    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _scalar_state = ("step",)   # state held as 0-d tensors, as plain numbers in old checkpoints
    _no_sparse = None           # what a sparse gradient is told; None where one is welcome

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._late_options.items():
                group.setdefault(name, value)
            for param in group["params"]:
                have = self.state.get(param)
                if have:
                    for name in self._scalar_state:
                        if not isinstance(have[name], torch.Tensor):
                            have[name] = _new_scalar(float(have[name]), param, group)

    def _new_state(self, param, grad, group):
        raise NotImplementedError

    def _update(self, group, params, grads, states):
        raise NotImplementedError

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates the parameters once.  `closure`, if given, evaluates the model again and returns the loss."""
        loss = _evaluate(closure)
        all_states, no_sparse = self.state, self._no_sparse
        for group in self.param_groups:
            params, grads, states = [], [], []
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if no_sparse and grad.is_sparse:
                    raise RuntimeError(no_sparse)
                state = all_states[param]
                if not state:
                    state.update(self._new_state(param, grad, group))
                params.append(param)
                grads.append(grad)
                states.append(state)
            if params:
                self._update(group, params, grads, states)
        return loss


# ---- what update rules share

def _evaluate(closure):
    if closure is None:
        return None
    if _C.is_grad_enabled():
        return closure()
    _C._set_grad_enabled(True)
    try:
        return closure()
    finally:
        _C._set_grad_enabled(False)


def _new_scalar(value, param, group):
    """A 0-d state tensor: on the parameter's device where the step must not wait for the host."""
    if group.get("fused"):
        return torch.full((), value, dtype=torch.float32, device=param.device)
    if group.get("capturable"):
        return torch.full((), value, dtype=_get_scalar_dtype(), device=param.device)
    return torch.full((), value, dtype=_get_scalar_dtype(), device="cpu")


def _zeros_like(tensor):
    return torch.zeros_like(tensor, memory_format=torch.preserve_format)


def _check_lr(lr):
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")


def _check_not_negative(**options):
    for name, value in options.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {name} value: {value}")


def _check_betas(betas):
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


def _check_fused(optimizer, fused, foreach, differentiable):
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        optimizer._step_supports_amp_scaling = True


def _check_steps(state_steps, name="state_steps"):
    for step in state_steps:
        if not isinstance(step, torch.Tensor):
            raise RuntimeError(f"API has changed, `{name}` argument must contain a list of singleton tensors")


def _check_no_scaling(grad_scale, found_inf):
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


def _check_capturable(params, *scalars, names="state_steps", supports_xla=True):
    supported = _get_capturable_supported_devices(supports_xla)
    for param, *others in zip(params, *scalars):
        kind = param.device.type
        if kind not in supported or any(other.device.type != kind for other in others):
            also = names if names[0] == "," else " and " + names
            raise AssertionError(f"If capturable=True, params{also} must be on supported devices: {supported}.")


def _check_foreach(differentiable):
    if differentiable:
        raise AssertionError("_foreach ops don't support autograd")


def _cast_state(param, value, param_id, param_groups, key=None):
    if isinstance(value, torch.Tensor):
        return Optimizer._process_value_according_to_param_policy(param, value, param_id, param_groups, key)
    if isinstance(value, dict):
        return {each: _cast_state(param, inner, param_id, param_groups, each) for each, inner in value.items()}
    if hasattr(type(value), "__iter__") and not isinstance(value, str):
        return type(value)(_cast_state(param, inner, param_id, param_groups) for inner in value)
    return value


def _type_name(value):
    if isinstance(value, torch.Tensor):
        return value.type()
    cls = type(value)
    return cls.__qualname__ if cls.__module__ in ("builtins", "__builtin__") else f"{cls.__module__}.{cls.__qualname__}"


def _get_value(x):
    return x.item() if isinstance(x, torch.Tensor) else x


def _to_scalar(x):
    """A tensor of one element as a 0-d tensor; anything else as it is."""
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() != 0 else x


def _stack_if_compiling(x):
    return x


def _get_scalar_dtype(is_fused=None):
    if is_fused:
        return torch.float32
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


def _get_capturable_supported_devices(supports_xla=True):
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


_FOREACH_DEVICES = ("cuda", "xpu", "mtia", "privateuseone")
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator that gives the function itself, which nothing compiles."""
    return lambda function: function


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(fused, foreach) when the caller chose neither: the loop over tensors on the CPU, foreach on accelerators."""
    if differentiable:
        return False, False
    kinds = {param.device.type for param in params if param is not None}
    if use_fused and kinds.issubset(_FUSED_DEVICES) and all(p is None or p.is_floating_point() for p in params):
        return True, False
    return False, kinds.issubset(_FOREACH_DEVICES)


def _device_dtype_check_for_fused(p, cuda_unsupported=False):
    supported = [kind for kind in _FUSED_DEVICES if not (cuda_unsupported and kind == "cuda")]
    if not (p.device.type in supported and p.is_floating_point()):
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                           f"{supported} but {p.dtype} and {p.device.type}")


def _view_as_real(params, *state_and_grads):
    """Replaces each complex tensor, in the lists themselves, by its real view."""
    for index, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[index] = torch.view_as_real(tensors[index])


def _decay(params, grads, weight_decay, maximize):
    """Gradients for a foreach update: negated for `maximize`, with weight decay added.  Never the caller's tensors
    changed; the second value says whether the result is a copy that may be written."""
    if maximize:
        grads = torch._foreach_neg(grads)
        if weight_decay != 0:
            torch._foreach_add_(grads, params, alpha=weight_decay)
    elif weight_decay != 0:
        grads = torch._foreach_add(grads, params, alpha=weight_decay)
    else:
        return grads, False
    return grads, True


def _registered_kernel(name):
    """An operator that a device's package has registered, or None: a name alone may stand for what is not there."""
    return getattr(torch, name) if torch._C._overload_names(name) else None


def _unscaled(grads, grad_scale, found_inf):
    """For a fused step without a native kernel: divides by the scale in place; False if the step must be skipped."""
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return found_inf is None or not found_inf.item()


# Phrases that other packages put into the docstrings of their own optimizers.
_params_doc = """params (iterable): iterable of parameters or named_parameters to optimize
            or iterable of dicts defining parameter groups. When using named_parameters,
            all parameters in all groups should be named"""
_foreach_doc = "foreach (bool, optional): update whole lists of tensors at a time (default: None)"
_fused_doc = "fused (bool, optional): update by one native kernel (default: None)"
_capturable_doc = "capturable (bool, optional): step without waiting for the host, on accelerators (default: False)"
_differentiable_doc = "differentiable (bool, optional): let autograd see the step (default: False)"
_maximize_doc = "maximize (bool, optional): maximize the objective instead of minimizing it (default: False)"
ParamsT = _params_t = object
