"""Which modules of a model are wrapped: policies, and the walk that asks them."""
from kindling import nn
from kindling.distributed.utils import _Block

__all__ = ["always_wrap_policy", "lambda_auto_wrap_policy", "transformer_auto_wrap_policy", "size_based_auto_wrap_policy", "enable_wrap", "wrap",
           "CustomPolicy", "ModuleWrapPolicy"]


def always_wrap_policy(*args, **kwargs):
    """Wraps every module."""
    return True


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """Wraps the modules for which a function says True."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """Wraps the modules of some classes, those of a transformer's layers."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _module_wrap_policy(module, recurse, nonwrapped_numel, module_classes):
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(module, recurse, nonwrapped_numel, policies):
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(module, recurse, nonwrapped_numel, min_num_params=int(1e8), force_leaf_modules=None, exclude_wrap_modules=None):
    """Wraps modules whose parameters that nothing inside wraps have at least `min_num_params` elements."""
    if force_leaf_modules is None:
        force_leaf_modules = size_based_auto_wrap_policy.FORCE_LEAF_MODULES
    if exclude_wrap_modules is None:
        exclude_wrap_modules = size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(force_leaf_modules if recurse else exclude_wrap_modules))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {nn.ModuleList, nn.ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {nn.MultiheadAttention}


class _Policy:
    """A policy that looks at the whole model at once: which modules are wrapped, with which arguments."""

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        found = {}
        for module in root_module.modules():
            if module not in ignored_modules:
                own = self._arguments(module)
                if own is not None:
                    found[module] = {**root_kwargs, **own}
        return found


class ModuleWrapPolicy(_Policy):
    """Wraps the modules of some classes. It can be called like the functions, too."""

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)

    def _arguments(self, module):
        return {} if isinstance(module, tuple(self._module_classes)) else None

    def __call__(self, module, recurse, *args, **kwargs):
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self):
        return super().__repr__() + f"({self._module_classes})"


class CustomPolicy(_Policy):
    """Wraps the modules for which a function says True, or gives arguments of the wrapper."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def _arguments(self, module):
        found = self._lambda_fn(module)
        if not isinstance(found, (dict, bool)):
            raise ValueError(f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {found}")
        return None if not found else found if isinstance(found, dict) else {}


_entered = []       # the wrapper and the arguments of the enable_wrap block


class enable_wrap(_Block):
    """A block in which `wrap` wraps, with this class and these arguments."""

    def __init__(self, *, wrapper_cls, **wrapper_kwargs):
        self._given = wrapper_cls, wrapper_kwargs

    def __enter__(self):
        if _entered:
            raise NotImplementedError("You are already within an autowrap context and we currently do not supported nested autowrap.")
        _entered.append(self._given)

    def __exit__(self, *details):
        _entered.pop()


def wrap(module, **wrap_overrides):
    """The module in a wrapper inside an `enable_wrap` block, and the module itself outside of one."""
    if not _entered:
        return module
    wrapper, arguments = _entered[0]
    return _wrapped(module, wrapper, {**arguments, **wrap_overrides})


def _wrapped(module, wrapper, arguments):
    return wrapper(module, **{**arguments, **getattr(module, "_wrap_overrides", {})})


def _apply(root, policy, wrapper, arguments, ignored=()):
    """Wraps the modules below a root that a policy names, inner ones first; the root stays as it is."""
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(root, set(ignored), arguments)
        _wrap_chosen(root, chosen, wrapper, {root})
    elif callable(policy):
        _wrap_by_size(root, policy, wrapper, arguments, set(ignored), False)
    else:
        raise ValueError(f"Expected {policy} to be callable or be a pre-defined wrap policy")


def _wrap_chosen(module, chosen, wrapper, seen):
    for name, child in module.named_children():
        if child not in seen:
            seen.add(child)
            _wrap_chosen(child, chosen, wrapper, seen)
        if child in chosen:
            setattr(module, name, wrapper(child, **chosen[child]))


def _wrap_by_size(module, policy, wrapper, arguments, ignored, itself=True):
    """(the module or its wrapper, how many elements of its parameters are wrapped)"""
    left = sum(each.numel() for each in module.parameters())
    if not policy(module=module, recurse=True, nonwrapped_numel=left):
        return module, 0
    done = 0
    for name, child in module.named_children():
        if child not in ignored:
            wrapped, count = _wrap_by_size(child, policy, wrapper, arguments, ignored)
            setattr(module, name, wrapped)
            done += count
    if itself and policy(module=module, recurse=False, nonwrapped_numel=left - done):
        return _wrapped(module, wrapper, arguments), left
    return module, done
