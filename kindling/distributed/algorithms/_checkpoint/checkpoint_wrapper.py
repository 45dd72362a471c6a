"""Modules that recompute their activations in the backward pass, or keep them in memory of the CPU: by wrapping them."""
import enum
import functools

import kindling as torch
from kindling.distributed.utils import _Inside
from kindling.utils.checkpoint import checkpoint


class CheckpointImpl(enum.Enum):
    """The two ways to recompute, as `use_reentrant` of torch.utils.checkpoint says."""

    REENTRANT = 1
    NO_REENTRANT = 2


class ActivationWrapper(_Inside, torch.nn.Module):
    """A module whose activations are kept in another way. Its state_dict has the names of the module itself."""

    _name = "_checkpoint_wrapped_module"

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._hide()

    def forward(self, *args, **kwargs):
        raise ValueError("Subclasses should implement forward().")


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors go to memory of the CPU."""

    def forward(self, *args, **kwargs):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that recomputes its activations in the backward pass."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn, checkpoint_fn_kwargs["use_reentrant"] = checkpoint, checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args, **kwargs):
        inside = self._checkpoint_wrapped_module
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(inside, *args, **kwargs)
        # The reentrant form takes positional arguments alone.
        names, split = list(kwargs), len(args)
        return self.checkpoint_fn(lambda *values: inside(*values[:split], **dict(zip(names, values[split:]))), *args, *kwargs.values())


def offload_wrapper(module):
    """The module, with its saved tensors in memory of the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """The module, with its activations recomputed in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None):
    """Wraps the modules below a model that `check_fn` or a policy names. The model is changed."""
    from kindling.distributed.fsdp import wrap
    policy = auto_wrap_policy if auto_wrap_policy is not None else functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap._apply(model, policy, checkpoint_wrapper_fn, {})
