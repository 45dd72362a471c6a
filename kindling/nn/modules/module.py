"""Module: the base class of every layer and model."""
from _collections import OrderedDict
from _operator import itemgetter

import kindling as torch
from kindling.nn.parameter import Buffer, Parameter

__all__ = ["register_module_forward_pre_hook", "register_module_forward_hook", "register_module_full_backward_pre_hook",
           "register_module_backward_hook", "register_module_full_backward_hook",
           "register_module_buffer_registration_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook", "Module"]

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

# Hooks that hold for every module of the process.
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_is_full_backward_hook = None
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()

# Values of these types are never registered anywhere, which most attribute writes can know at once.
_PLAIN_TYPES = frozenset((int, bool, float, str, tuple, list, dict))


class _IncompatibleKeys(tuple):
    """What load_state_dict answers: the names the dictionary lacked, and those the module did not know."""

    __slots__ = ()
    _fields = ("missing_keys", "unexpected_keys")

    def __new__(cls, missing_keys, unexpected_keys):
        return tuple.__new__(cls, (missing_keys, unexpected_keys))

    missing_keys = property(itemgetter(0))
    unexpected_keys = property(itemgetter(1))

    def __getnewargs__(self):
        return tuple(self)

    def __repr__(self):
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]!r}, unexpected_keys={self[1]!r})"

    __str__ = __repr__


def _addindent(s_, numSpaces):
    first, *rest = s_.split("\n")
    return "\n".join([first, *(numSpaces * " " + line for line in rest)])


def _typename(value):
    if isinstance(value, torch.Tensor):
        return value.type()
    kind = type(value)
    if kind.__module__ in ("", "builtins", "__builtin__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _register(hooks, hook, prepend=False, extra_dict=None):
    """Enters a hook and answers the handle that takes it out again."""
    from kindling.utils.hooks import RemovableHandle
    handle = RemovableHandle(hooks, extra_dict=extra_dict)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """Calls hook(module, name, buffer) at every register_buffer; a tensor it returns is registered instead."""
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Calls hook(module, name, submodule) at every registration of a child; a module it returns takes its place."""
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Calls hook(module, name, param) at every register_parameter; a Parameter it returns is registered instead."""
    return _register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """Calls hook(module, args) before the forward of every module; a value it returns replaces args."""
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Calls hook(module, args[, kwargs], output) after the forward of every module.

    A value it returns replaces the output. With `always_call` it also runs when forward raises.
    """
    handle = _register(_global_forward_hooks, hook,
                       extra_dict=[_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called])
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_backward_hook(hook):
    """Old form of register_module_full_backward_hook, with gradients of the last operation only.

    RuntimeError if full backward hooks are registered too.
    """
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is True:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
                           "Please use only one of them.")
    _global_is_full_backward_hook = False
    return _register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook):
    """Calls hook(module, grad_output) before every module's gradients are computed; it may replace grad_output."""
    return _register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """Calls hook(module, grad_input, grad_output) once every module's input gradients are known.

    A tuple it returns replaces grad_input. RuntimeError if old-form global backward hooks are registered too.
    """
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is False:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
                           "Please use only one of them.")
    _global_is_full_backward_hook = True
    return _register(_global_backward_hooks, hook)


def _has_any_global_hook():
    return bool(_global_backward_pre_hooks or _global_backward_hooks or _global_forward_pre_hooks
                or _global_forward_hooks or _global_forward_hooks_always_called or _global_forward_hooks_with_kwargs)


def _forward_unimplemented(self, *input):
    """Defines the computation of a call; every subclass gives its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class _WrappedHook:
    """A hook that is to get its module as first argument, without keeping the module alive."""

    def __init__(self, hook, module=None):
        self.hook = hook
        for name in ("__name__", "__qualname__", "__doc__"):
            if hasattr(hook, name):
                setattr(self, name, getattr(hook, name))
        self.with_module = module is not None
        if self.with_module:
            from _weakref import ref
            self.module = ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        return {"hook": self.hook, "with_module": self.with_module,
                **({"module": self.module()} if self.with_module else {})}

    def __setstate__(self, state):
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            from _weakref import ref
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = ref(state["module"])


def _refuse_call_keywords(name, kwargs):
    raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")


class Module:
    """Base class of layers and models: holds parameters, buffers and child modules, found by attribute assignment.

    Subclasses call super().__init__() first and define forward(). Calling the module runs forward and the hooks.

    >>> class Net(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return self.layer(x).relu()
    """

    dump_patches = False
    _version = 1
    training = True
    # Whether Module.__init__ goes on to the next class of a multiple inheritance.
    call_super_init = False
    _compiled_call_impl = None

    def __init__(self, *args, **kwargs):
        if args and self.call_super_init is False:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were "
                            "given")
        if kwargs and self.call_super_init is False:
            _refuse_call_keywords(type(self).__name__, kwargs)
        # Straight into the dictionary: none of these needs the rules of __setattr__.
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_backward_pre_hooks"] = OrderedDict()
        state["_backward_hooks"] = OrderedDict()
        state["_is_full_backward_hook"] = None
        state["_forward_hooks"] = OrderedDict()
        state["_forward_hooks_with_kwargs"] = OrderedDict()
        state["_forward_hooks_always_called"] = OrderedDict()
        state["_forward_pre_hooks"] = OrderedDict()
        state["_forward_pre_hooks_with_kwargs"] = OrderedDict()
        state["_state_dict_hooks"] = OrderedDict()
        state["_state_dict_pre_hooks"] = OrderedDict()
        state["_load_state_dict_pre_hooks"] = OrderedDict()
        state["_load_state_dict_post_hooks"] = OrderedDict()
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward = _forward_unimplemented

    # ---- the call

    def _call_impl(self, *args, **kwargs):
        if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks
                or _global_backward_pre_hooks):
            return self.forward(*args, **kwargs)
        called = set()
        try:
            return self._call_with_hooks(args, kwargs, called)
        except Exception:
            self._run_always_called(args, kwargs, called)
            raise

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        # Without hooks a call is its forward; the same test stands in _call_impl, which a hook or compile() goes to.
        if (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
                or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks
                or _global_backward_pre_hooks or self._compiled_call_impl is not None):
            return self._wrapped_call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _slow_forward(self, *input, **kwargs):
        # While something is traced: what is called inside belongs to this module.
        return torch.jit._trace.forward_in_scope(self, input, kwargs)

    def _call_with_hooks(self, args, kwargs, called):
        backward_pre_hooks, full_hooks, old_hooks = (), (), ()
        if self._backward_pre_hooks or _global_backward_pre_hooks:
            backward_pre_hooks = self._get_backward_pre_hooks()
        if self._backward_hooks or _global_backward_hooks:
            full_hooks, old_hooks = self._get_backward_hooks()
        for hook_id, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if hook_id in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                           f"but got {changed}.")
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        backward_hook = None
        if full_hooks or backward_pre_hooks:
            from kindling.utils.hooks import BackwardHook
            backward_hook = BackwardHook(self, full_hooks, backward_pre_hooks)
            args = backward_hook.setup_input_hook(args)
        result = (self._slow_forward if torch._C._is_tracing() else self.forward)(*args, **kwargs)
        for with_kwargs, hooks in ((_global_forward_hooks_with_kwargs, _global_forward_hooks),
                                   (self._forward_hooks_with_kwargs, self._forward_hooks)):
            for hook_id, hook in tuple(hooks.items()):
                called.add(hook_id)
                changed = (hook(self, args, kwargs, result) if hook_id in with_kwargs else hook(self, args, result))
                if changed is not None:
                    result = changed
        if backward_hook is not None:
            if not isinstance(result, (torch.Tensor, tuple)):
                _warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                      f"received {type(result)}")
            result = backward_hook.setup_output_hook(result)
        if old_hooks:
            found = result
            while not isinstance(found, torch.Tensor):
                if isinstance(found, dict):
                    found = next(value for value in found.values() if isinstance(value, torch.Tensor))
                else:
                    found = found[0]
            node = found.grad_fn
            if node is not None:
                for hook in old_hooks:
                    node.register_hook(_WrappedHook(hook, self))
                self._maybe_warn_non_full_backward_hook(args, result, node)
        return result

    def _run_always_called(self, args, kwargs, called):
        """After an error: the hooks that want to run even so and have not; what they raise becomes a warning."""
        for always, with_kwargs, hooks, what in (
                (_global_forward_hooks_always_called, _global_forward_hooks_with_kwargs, _global_forward_hooks,
                 "global module forward hook"),
                (self._forward_hooks_always_called, self._forward_hooks_with_kwargs, self._forward_hooks,
                 "module forward hook")):
            for hook_id, hook in tuple(hooks.items()):
                if hook_id not in always or hook_id in called:
                    continue
                try:
                    if hook_id in with_kwargs:
                        hook(self, args, kwargs, None)
                    else:
                        hook(self, args, None)
                except Exception as problem:
                    _warn(f"{what} with ``always_call=True`` raised an exception that was silenced as another error "
                          f"was raised in forward: {problem}")

    def compile(self, *args, **kwargs):
        """Compiles this module's forward in place; the arguments are those of torch.compile."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # ---- hooks

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, args[, kwargs]) before forward; it may return new args (and kwargs). Answers a handle."""
        handle = _register(self._forward_pre_hooks, hook, prepend, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls hook(module, args[, kwargs], output) after forward; a value it returns replaces the output.

        With `always_call` it also runs when forward raises. Answers a handle with remove().
        """
        handle = _register(self._forward_hooks, hook, prepend,
                           [self._forward_hooks_with_kwargs, self._forward_hooks_always_called])
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls hook(module, grad_output) before this module's gradients are computed; it may replace grad_output."""
        return _register(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """Old form of register_full_backward_hook; sees the gradients of the output's operation only.

        RuntimeError if the module has full backward hooks.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. "
                               "Please use only one of them.")
        self._is_full_backward_hook = False
        return _register(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls hook(module, grad_input, grad_output) when the gradients of this module's inputs are known.

        A tuple it returns replaces grad_input. RuntimeError if the module has old-form backward hooks.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. "
                               "Please use only one of them.")
        self._is_full_backward_hook = True
        return _register(self._backward_hooks, hook, prepend)

    def _get_backward_hooks(self):
        """The full and the old-form backward hooks, global ones first."""
        full, old = [], []
        for is_full, hooks in ((_global_is_full_backward_hook, _global_backward_hooks),
                               (self._is_full_backward_hook, self._backward_hooks)):
            if is_full is True:
                full += hooks.values()
            elif is_full is False:
                old += hooks.values()
        return full, old

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs, result, grad_fn):
        """Tells where an old-form backward hook does not see what its user expects."""
        advice = "Please use register_full_backward_hook to get the documented behavior."
        if not isinstance(result, torch.Tensor):
            if not (isinstance(result, tuple) and all(isinstance(item, torch.Tensor) for item in result)):
                _warn("Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of "
                      "Tensors is deprecated and will be removed in future versions. This hook will be missing some "
                      f"of the grad_output. {advice}", FutureWarning)
                return
        else:
            result = (result,)
        if not isinstance(inputs, torch.Tensor):
            if not (isinstance(inputs, tuple) and all(isinstance(item, torch.Tensor) for item in inputs)):
                _warn("Using non-full backward hooks on a Module that does not take as input a single Tensor or a "
                      "tuple of Tensors is deprecated and will be removed in future versions. This hook will be "
                      f"missing some of the grad_input. {advice}", FutureWarning)
                return
        else:
            inputs = (inputs,)
        nodes = {item.grad_fn for item in result if item.grad_fn is not None}
        if len(nodes) == 0 or (len(nodes) == 1 and grad_fn not in nodes):
            _warn("Using a non-full backward hook when outputs are nested in python data structure is deprecated and "
                  "will be removed in future versions. This hook will be missing some grad_output.", FutureWarning)
        elif len(nodes) > 1:
            _warn("Using a non-full backward hook when outputs are generated by different autograd Nodes is "
                  f"deprecated and will be removed in future versions. This hook will be missing some grad_output. "
                  f"{advice}", FutureWarning)
        else:
            input_nodes = {item.grad_fn for item in inputs if item.grad_fn is not None}
            next_nodes = {edge[0] for edge in grad_fn.next_functions}
            if input_nodes != next_nodes:
                _warn("Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated "
                      f"and will be removed in future versions. This hook will be missing some grad_input. {advice}",
                      FutureWarning)

    # ---- registering

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a buffer: state that is not a parameter. A buffer that is not persistent stays out of state_dict.

        KeyError for a name that is empty, has a dot or is taken; TypeError for a value that is no tensor.
        """
        buffers = self.__dict__.get("_buffers")
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError('buffer name can\'t contain "."')
        if name == "":
            raise KeyError('buffer name can\'t be empty string ""')
        if name not in buffers and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not (isinstance(tensor, torch.Tensor) or hasattr(tensor, "__torch_function__")):
            raise TypeError(f"cannot assign '{_typename(tensor)}' object to buffer '{name}' "
                            "(torch Tensor or None required)")
        for hook in _global_buffer_registration_hooks.values():
            changed = hook(self, name, tensor)
            if changed is not None:
                tensor = changed
        buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Adds a parameter (or None, which keeps the name without one).

        KeyError for a name that is empty, has a dot or is taken; TypeError for a value that is no Parameter.
        """
        parameters = self.__dict__.get("_parameters")
        if parameters is None:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"parameter name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError('parameter name can\'t contain "."')
        if name == "":
            raise KeyError('parameter name can\'t be empty string ""')
        if name not in parameters and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                                "(torch.nn.Parameter or None required)")
            if param.grad_fn:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                                 f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                                 "the value in the forward() method.")
            for hook in _global_parameter_registration_hooks.values():
                changed = hook(self, name, param)
                if changed is not None:
                    param = changed
        parameters[name] = param

    def add_module(self, name, module):
        """Adds a child module (or None) under this name.

        KeyError for a name that is empty, has a dot or is taken; TypeError for a value that is no Module.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {_typename(name)}")
        if name not in self._modules and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = self._through_registration_hooks(name, module)

    def register_module(self, name, module):
        """Another name of add_module."""
        self.add_module(name, module)

    def _through_registration_hooks(self, name, module):
        for hook in _global_module_registration_hooks.values():
            changed = hook(self, name, module)
            if changed is not None:
                module = changed
        return module

    def get_submodule(self, target):
        """The module at a dotted path; AttributeError where the path leads to none. The empty path is self."""
        found = self
        if target == "":
            return found
        for part in target.split("."):
            if not hasattr(found, part):
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
            found = getattr(found, part)
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def set_submodule(self, target, module, strict=False):
        """Puts `module` at a dotted path; with `strict` only where a module already is."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        *path, name = target.split(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(".".join(path))
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The Parameter at a dotted path; AttributeError where the path leads to none."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        found = getattr(owner, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target):
        """The buffer at a dotted path; AttributeError where the path leads to none."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(owner, name)

    # ---- attributes

    __getattr__ = torch._C._module_getattr

    def _forget(self, name, *kinds):
        """Removes a name from the other places, so that an attribute is held in one place only."""
        state = self.__dict__
        for held in (state, *(state[kind] for kind in kinds)):
            if name in held:
                if isinstance(held, set):
                    held.discard(name)
                else:
                    del held[name]

    def __setattr__(self, name, value):
        state = self.__dict__
        parameters = state.get("_parameters")
        if type(value) in _PLAIN_TYPES and (parameters is None or not (
                name in parameters or name in state["_modules"] or name in state["_buffers"])):
            super().__setattr__(name, value)
        elif isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules", "_non_persistent_buffers_set")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{_typename(value)}' as parameter '{name}' "
                                "(torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            modules = state.get("_modules")
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers", "_non_persistent_buffers_set")
            modules[name] = self._through_registration_hooks(name, value)
        elif name in (state.get("_modules") or ()):
            if value is not None:
                raise TypeError(f"cannot assign '{_typename(value)}' as child module '{name}' "
                                "(torch.nn.Module or None expected)")
            state["_modules"][name] = self._through_registration_hooks(name, value)
        elif isinstance(value, Buffer) or name in (state.get("_buffers") or ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name, value):
        if value is not None and not isinstance(value, torch.Tensor):
            raise TypeError(f"cannot assign '{_typename(value)}' as buffer '{name}' "
                            "(torch.nn.Buffer, torch.Tensor or None expected)")
        buffers = self.__dict__.get("_buffers")
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        persistent = name not in self._non_persistent_buffers_set
        if isinstance(value, Buffer):
            self._forget(name, "_parameters", "_modules")
            persistent = value.persistent
        if name not in buffers:
            self.register_buffer(name, value, persistent)
            return
        for hook in _global_buffer_registration_hooks.values():
            changed = hook(self, name, value)
            if changed is not None:
                value = changed
        buffers[name] = value
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        own = self.__dict__
        # Objects saved by older versions lack the newer dictionaries.
        for name in ("_forward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                     "_load_state_dict_post_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs",
                     "_forward_hooks_always_called", "_backward_pre_hooks"):
            if name not in own:
                own[name] = OrderedDict()
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    # ---- moving and converting

    def _apply(self, fn, recurse=True):
        """Puts every parameter, gradient and buffer through `fn`, parameters keeping their identity where possible."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                applied = fn(param)
            if _same_kind(param, applied):
                param.data = applied
                kept = param
            else:
                kept = Parameter(applied, param.requires_grad)
                self._parameters[name] = kept
            grad = param.grad
            if grad is not None:
                with torch.no_grad():
                    applied = fn(grad)
                if kept is param and _same_kind(grad, applied):
                    grad.data = applied
                else:
                    kept.grad = applied.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn):
        """Calls fn(module) on every submodule, children first, then on self; answers self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self, device=None):
        """Moves all parameters and buffers to a CUDA device, in place."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def ipu(self, device=None):
        """Moves all parameters and buffers to an IPU device, in place."""
        return self._apply(lambda tensor: tensor.ipu(device))

    def xpu(self, device=None):
        """Moves all parameters and buffers to an XPU device, in place."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def mtia(self, device=None):
        """Moves all parameters and buffers to an MTIA device, in place."""
        return self._apply(lambda tensor: tensor.mtia(device))

    def cpu(self):
        """Moves all parameters and buffers to the CPU, in place."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type):
        """Converts all parameters and buffers to `dst_type`, in place."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _to_floating(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Converts all floating-point parameters and buffers to float32, in place."""
        return self._to_floating(torch.float32)

    def double(self):
        """Converts all floating-point parameters and buffers to float64, in place."""
        return self._to_floating(torch.float64)

    def half(self):
        """Converts all floating-point parameters and buffers to float16, in place."""
        return self._to_floating(torch.float16)

    def bfloat16(self):
        """Converts all floating-point parameters and buffers to bfloat16, in place."""
        return self._to_floating(torch.bfloat16)

    def to_empty(self, *, device, recurse=True):
        """Moves all parameters and buffers to a device without copying their contents."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def to(self, *args, **kwargs):
        """Moves or converts parameters and buffers in place: to(device=, dtype=, non_blocking=, memory_format=).

        Also to(dtype), to(tensor). Only floating-point and complex tensors are converted. TypeError for another dtype.
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                f"dtype={dtype}")
            if dtype.is_complex:
                _warn("Complex modules are a new feature under active development whose design may change, and some "
                      "modules might not work as expected when using complex tensors as parameters or buffers. Please "
                      "file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
                      "complex module does not work as expected.")

        def convert(tensor):
            options = {}
            if device is not None:
                options["device"] = device
            if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            if not options:
                return tensor
            try:
                return tensor.to(non_blocking=non_blocking, **options)
            except NotImplementedError as problem:
                if str(problem) == "Cannot copy out of meta tensor; no data!":
                    raise NotImplementedError(
                        f"{problem} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                        "module from meta to a different device.") from None
                raise

        return self._apply(convert)

    def share_memory(self):
        """Moves all parameters and buffers into memory that child processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # ---- state

    def get_extra_state(self):
        """Override to put something of your own into state_dict; set_extra_state gets it back."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called. Please file "
                           "an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to "
                           "report this bug.")

    def set_extra_state(self, state):
        """Override to take what get_extra_state gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called. Please file "
                           "an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to "
                           "report this bug.")

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return _register(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata) after state_dict; it may change the dictionary."""
        hook._from_public_api = True
        return _register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Calls hook(module, prefix, keep_vars) before state_dict."""
        return _register(self._state_dict_pre_hooks, hook)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Writes this module's own parameters, buffers and extra state."""
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An ordered dictionary of all parameters and persistent buffers by dotted name, detached but not copied.

        `keep_vars` leaves them attached to the graph.
        """
        if args:
            _warn("Positional args are being deprecated, use kwargs instead. Refer to "
                  "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for "
                  "details.", FutureWarning)
            if destination is None:
                destination = args[0]
            if len(args) > 1 and prefix == "":
                prefix = args[1]
            if len(args) > 2 and keep_vars is False:
                keep_vars = args[2]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if changed is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif changed is not None:
                destination = changed
        return destination

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _register(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Calls hook(module, incompatible_keys) after loading; it may empty the lists, and must return None."""
        return _register(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Reads this module's own entries of `state_dict`, collecting what is wrong instead of raising."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {name: param for name, param in self._parameters.items() if param is not None}
        own.update((name, buffer) for name, buffer in self._buffers.items()
                   if buffer is not None and name not in self._non_persistent_buffers_set)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra_key:
                    continue
                name, *deeper = key[len(prefix):].split(".", 1)
                if name not in (self._modules if deeper else own):
                    unexpected_keys.append(key)

    def _load_one(self, name, key, param, value, assign, error_msgs):
        if not (isinstance(value, torch.Tensor) or hasattr(value, "__torch_function__")):
            error_msgs.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                              f"from checkpoint but received {type(value)}")
            return
        is_lazy = torch.nn.parameter.is_lazy(param)
        if not is_lazy:
            # Scalars were saved with one dimension by very old versions.
            if param.dim() == 0 and value.dim() == 1:
                value = value[0]
            if value.shape != param.shape:
                error_msgs.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                                  f"the shape in current model is {param.shape}.")
                return
        if param.is_meta and not value.is_meta and not assign:
            _warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                  "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                  "dictionary to their corresponding key in the module instead of copying them in place?)")
        try:
            with torch.no_grad():
                if not assign:
                    param.copy_(value)
                    return
                if isinstance(param, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(param.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=param.requires_grad)
                setattr(self, name, value)
        except Exception as problem:
            error_msgs.append(f'While copying the parameter named "{key}", whose dimensions in the model are '
                              f"{param.size()} and whose dimensions in the checkpoint are {value.size()}, an exception "
                              f"occurred : {problem.args}.")

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the entries of `state_dict` into this module's parameters and buffers.

        With `assign` the entries take the places themselves. Answers (missing_keys, unexpected_keys). RuntimeError
        that lists every wrong shape and, if `strict`, every missing or unexpected key; TypeError for no dictionary.
        """
        if not (isinstance(state_dict, dict) or hasattr(state_dict, "keys") and hasattr(state_dict, "__getitem__")):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys, unexpected_keys, error_msgs = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, entries, prefix=""):
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(entries, prefix, local_metadata, True, missing_keys, unexpected_keys,
                                         error_msgs)
            for name, child in module._modules.items():
                if child is not None:
                    child_prefix = f"{prefix}{name}."
                    load(child, {key: value for key, value in entries.items() if key.startswith(child_prefix)},
                         child_prefix)
            incompatible = _IncompatibleKeys(missing_keys, unexpected_keys)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                                         "to return new values, if incompatible_keys need to be modified, it should be "
                                         "done inplace.")

        load(self, state_dict)
        load = None         # it calls itself, and would keep the tensors until the collector comes by
        if strict:
            if unexpected_keys:
                error_msgs.insert(0, "Unexpected key(s) in state_dict: {}. ".format(
                    ", ".join(f'"{key}"' for key in unexpected_keys)))
            if missing_keys:
                error_msgs.insert(0, "Missing key(s) in state_dict: {}. ".format(
                    ", ".join(f'"{key}"' for key in missing_keys)))
        if error_msgs:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(
                type(self).__name__, "\n\t".join(error_msgs)))
        return _IncompatibleKeys(missing_keys, unexpected_keys)

    # ---- walking

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = (self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse
                   else ((prefix, self),))
        for module_prefix, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{module_prefix}.{name}" if module_prefix else name), member

    def parameters(self, recurse=True):
        """All parameters, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """All parameters with their dotted names."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """All buffers with their dotted names."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """The immediate child modules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """The immediate child modules with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate=True):
        """Self and all modules below, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Self and all modules below with their dotted names; self's name is the prefix."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # ---- modes

    def train(self, mode=True):
        """Sets training mode (dropout, batch norm) on self and all children. ValueError if mode is no bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Sets evaluation mode; the same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops all parameters' gradients, or fills them with zeros."""
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    if param.grad.grad_fn is not None:
                        param.grad.detach_()
                    else:
                        param.grad.requires_grad_(False)
                    param.grad.zero_()

    # ---- print

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses of repr, besides the children."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({''.join(lines)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica


def _warn(text, category=UserWarning):
    import warnings
    warnings.warn(text, category, stacklevel=3)


def _same_kind(old, new):
    """Whether new's memory can be put under old without old becoming another kind of tensor."""
    return old.is_meta == new.is_meta and old.layout == new.layout


def _parse_to(args, kwargs):
    """The forms of Module.to: (device, dtype, non_blocking), (dtype, non_blocking), (tensor, non_blocking)."""
    if len(args) > 3:
        raise TypeError(f"to() takes at most 3 positional arguments, got {len(args)}")
    known = {"device", "dtype", "non_blocking", "copy", "memory_format", "tensor"}
    for name in kwargs:
        if name not in known:
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
    args = list(args)
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    tensor = kwargs.get("tensor")
    if args and isinstance(args[0], torch.Tensor):
        tensor = args.pop(0)
    elif args and isinstance(args[0], torch.dtype):
        dtype = args.pop(0)
    elif args:
        device = args.pop(0)
        if args and (args[0] is None or isinstance(args[0], torch.dtype)):
            dtype = args.pop(0)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if device is not None and not isinstance(device, torch.device):
        if not isinstance(device, (str, int)) or isinstance(device, bool):
            raise TypeError("to() received an invalid combination of arguments: expected a device, a dtype or a "
                            f"tensor, got {type(device).__name__}")
        device = torch.device(device)
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if len(args) > 1 or args and not isinstance(args[0], bool):
        raise TypeError("to() received an invalid combination of arguments")
    return device, dtype, args[0] if args else kwargs.get("non_blocking", False), kwargs.get("memory_format")
