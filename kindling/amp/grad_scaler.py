"""Loss scaling for float16 gradients."""
from _collections import defaultdict

import kindling as torch

__all__ = ["OptState", "GradScaler"]


class OptState:
    """How far an optimizer is in the current step."""
    READY, UNSCALED, STEPPED = range(3)


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales the loss so that float16 gradients do not vanish, and skips steps whose gradients are not finite.

    The scale starts at `init_scale`, is multiplied by `backoff_factor` after a skipped step and by `growth_factor`
    after `growth_interval` good ones.  On a machine without the device it is disabled, with a warning, and passes
    everything through.  ValueError for float16 gradients that were not unscaled by their own type; RuntimeError for
    `unscale_` or `step` twice in a step.

        >>> scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000,
                 enabled: bool = True):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not torch.cuda.is_available():
            import warnings
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                          stacklevel=2 if type(self) is GradScaler else 3)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._init_scale = init_scale
            self._scale = None      # made on the device of the first loss
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._init_growth_tracker = 0
            self._growth_tracker = None
            self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_scale(self, name):
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")

    def _scale_on(self, device):
        if self._scale is None:
            self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=device)
            self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device=device)
        return self._scale.to(device=device, non_blocking=True)

    def scale(self, outputs):
        """`outputs`, a tensor or nested iterables of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            return outputs * self._scale_on(outputs.device)
        if not hasattr(type(outputs), "__iter__"):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        kinds, found = {}, {}
        with torch.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    if not allow_fp16 and grad.dtype == torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    if grad.is_sparse:
                        if grad.dtype is torch.float16:
                            # Summed before the check: the sum of two finite entries may not be.
                            grad = param.grad = grad.coalesce()
                        grad = grad._values()
                    kinds.setdefault((grad.device, grad.dtype), []).append(grad)
            for (device, _), grads in kinds.items():
                if device not in found:
                    found[device] = found_inf.to(device=device, non_blocking=True, copy=True)
                _check_and_unscale(grads, found[device], inv_scale.to(device=device, non_blocking=True))
        return found

    def unscale_(self, optimizer):
        """Divides the gradients of `optimizer` by the scale: to clip them before `step`.  Once a step."""
        if not self._enabled:
            return
        self._check_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] == OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        # The reciprocal in double, because a float32 one may lose the last bit of the product.
        inverse = self._scale.double().reciprocal().float()
        found = torch.full((), 0.0, dtype=torch.float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """Unscales the gradients, if not done, and steps the optimizer if all are finite; returns the step's answer."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] == OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            if state["stage"] == OptState.READY:
                self._check_inf_per_device(optimizer)
            given = getattr(optimizer, "grad_scale", None)
            if state["stage"] != OptState.UNSCALED:
                given = self._scale * (1 if given is None else given)
            optimizer.grad_scale = given
            optimizer.found_inf = sum(each.to(self._scale.device, non_blocking=True)
                                      for each in state["found_inf_per_device"].values())
            try:
                result = optimizer.step(*args, **kwargs)
            finally:
                del optimizer.grad_scale, optimizer.found_inf
        else:
            if state["stage"] == OptState.READY:
                self.unscale_(optimizer)
            found = state["found_inf_per_device"]
            if not found:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = None if sum(each.item() for each in found.values()) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Adjusts the scale at the end of a step, or sets it to `new_scale`."""
        if not self._enabled:
            return
        self._check_scale("update")
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
        elif new_scale is not None:
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                                     "torch.FloatTensor with requires_grad=False.")
            self._scale.copy_(new_scale)
        else:
            found = [each.to(device=self._scale.device, non_blocking=True)
                     for state in self._per_optimizer_states.values()
                     for each in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            _update_scale(self._scale, self._growth_tracker, sum(found[1:], found[0]), self._growth_factor,
                          self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_inf_per_device(self, optimizer):
        self._check_scale("_check_inf_per_device")
        at = {"dtype": torch.float32, "device": self._scale.device}
        found = self._unscale_grads_(optimizer, torch.full((), 1.0, **at), torch.full((), 0.0, **at), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """The scale as a number; 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """The factor of growth."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor of growth."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The factor after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """How many good steps in a row let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets how many good steps in a row let the scale grow."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self):
        """Scale, factors and counts; empty when disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
                "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict()` gave; RuntimeError for the empty one of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance "
                               "of GradScaler.")
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or "
                                     "at the end after scaler.update().")
            # As numbers: the process that reads it may not have the device.
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                         _growth_tracker=None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)


def _check_and_unscale(grads, found_inf, inv_scale):
    from kindling.optim.optimizer import _registered_kernel
    kernel = _registered_kernel("_amp_foreach_non_finite_check_and_unscale_")
    if kernel is not None:
        kernel(grads, found_inf, inv_scale)
        return
    for grad in grads:
        if not torch.isfinite(grad).all():
            found_inf.fill_(1.0)
        grad.mul_(inv_scale)


def _update_scale(scale, tracker, found_inf, growth_factor, backoff_factor, growth_interval):
    from kindling.optim.optimizer import _registered_kernel
    kernel = _registered_kernel("_amp_update_scale_")
    if kernel is not None:
        kernel(scale, tracker, found_inf, growth_factor, backoff_factor, growth_interval)
    elif found_inf.item():
        scale.mul_(backoff_factor)
        tracker.fill_(0)
    elif tracker.item() + 1 == growth_interval:
        grown = scale * growth_factor
        if torch.isfinite(grown):
            scale.copy_(grown)
        tracker.fill_(0)
    else:
        tracker.add_(1)
