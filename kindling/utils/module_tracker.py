"""Which modules are running, in forward and in backward."""
import warnings
import weakref

import kindling as torch
from kindling.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Within it, `parents` has the names of the modules that are running, from "Global" on.

    A module is called by its class, those in it by their path from there. Backward is followed by hooks on what a module takes and
    gives.
    """

    def __init__(self):
        self.parents = {"Global"}
        self._known_modules = weakref.WeakKeyDictionary()
        self._seen_modules = weakref.WeakSet()
        self._has_callback = False

    @property
    def is_bw(self):
        """Whether this is a backward."""
        return torch._C._current_graph_task_id() != -1

    def _maybe_set_engine_callback(self):
        # After backward nothing is running.
        if self._has_callback:
            return

        def reset():
            self.parents = {"Global"}
            self._has_callback = False

        torch.autograd.Variable._execution_engine.queue_callback(reset)
        self._has_callback = True

    def _get_mod_name(self, mod):
        if mod not in self._known_modules:
            self._known_modules[mod] = type(mod).__name__
        name = self._known_modules[mod]
        if mod not in self._seen_modules:
            for child, module in mod.named_children():
                self._known_modules[module] = f"{name}.{child}"
                self._get_mod_name(module)
            self._seen_modules.add(mod)
        return name

    def _enter(self, name, backward):
        def enter(*args):
            if backward:
                self._maybe_set_engine_callback()
            if name in self.parents:
                warnings.warn(f"The module hierarchy tracking seems to be broken as this Module was already entered. {name} during "
                              f"{'backward' if backward else 'forward'}", stacklevel=2)
            self.parents.add(name)

        return enter

    def _leave(self, name, backward):
        def leave(*args):
            if name in self.parents:
                self.parents.remove(name)
            elif not backward:
                raise RuntimeError(f"The Module hierarchy tracking is wrong. {name} was left and never entered")

        return leave

    @staticmethod
    def _differentiable(values):
        return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor) and each.requires_grad]

    def _before(self, mod, inputs):
        name = self._get_mod_name(mod)
        self._enter(name, False)()
        tensors = self._differentiable(inputs)
        if tensors and torch.is_grad_enabled():
            self._hooks.append(torch.autograd.graph.register_multi_grad_hook(tensors, self._leave(name, True)))

    def _after(self, mod, inputs, output):
        name = self._get_mod_name(mod)
        self._leave(name, False)()
        tensors = self._differentiable(output)
        if tensors and torch.is_grad_enabled():
            self._hooks.append(torch.autograd.graph.register_multi_grad_hook(tensors, self._enter(name, True), mode="any"))

    def __enter__(self):
        self._hooks = []
        modules = torch.nn.modules.module
        self._handles = (modules.register_module_forward_pre_hook(self._before),
                         modules.register_module_forward_hook(self._after, always_call=True))
        return self

    def __exit__(self, *args):
        for handle in (*self._handles, *self._hooks):
            handle.remove()
