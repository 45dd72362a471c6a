"""Averages of a model's parameters over training."""
import itertools
import math

import kindling as torch
from kindling.optim.lr_scheduler import LRScheduler, _format_param, _warn_get_lr_called_within_step
from kindling.optim.optimizer import _FOREACH_DEVICES, Optimizer

__all__ = ["AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn",
           "get_swa_avg_fn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _is_inexact(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay=0.999):
    """A function for `multi_avg_fn` that keeps an exponential moving average; ValueError unless 0 <= decay <= 1."""
    _check_decay(decay)

    def ema_update(ema_param_list, current_param_list, _):
        with torch.no_grad():
            if _is_inexact(ema_param_list[0]):
                torch._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
            else:
                for average, current in zip(ema_param_list, current_param_list):
                    average.copy_(average * decay + current * (1 - decay))
    return ema_update


def get_swa_multi_avg_fn():
    """A function for `multi_avg_fn` that keeps the plain mean."""
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        with torch.no_grad():
            if _is_inexact(averaged_param_list[0]):
                torch._foreach_lerp_(averaged_param_list, current_param_list, 1 / (num_averaged + 1))
                return
            changes = torch._foreach_sub(current_param_list, averaged_param_list)
            if isinstance(num_averaged, torch.Tensor):
                torch._foreach_addcdiv_(averaged_param_list, changes, [num_averaged + 1] * len(averaged_param_list))
            else:
                torch._foreach_add_(averaged_param_list, changes, alpha=1.0 / (num_averaged + 1))
    return swa_update


def get_ema_avg_fn(decay=0.999):
    """A function for `avg_fn` that keeps an exponential moving average; ValueError unless 0 <= decay <= 1."""
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with torch.no_grad():
            return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """A function for `avg_fn` that keeps the plain mean."""
    def swa_update(averaged_param, current_param, num_averaged):
        with torch.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


class AveragedModel(torch.nn.Module):
    """A copy of `model` whose parameters average the model's over the calls of `update_parameters`.

    By default the plain mean; `avg_fn(average, current, count)` or `multi_avg_fn(averages, currents, count)`, not
    both, say otherwise.  Buffers are averaged with `use_buffers`, and copied without.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        from copy import deepcopy
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """The averaged model's output."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the parameters of `model` into the average."""
        if self.use_buffers:
            pairs = zip(itertools.chain(self.module.parameters(), self.module.buffers()),
                        itertools.chain(model.parameters(), model.buffers()))
        else:
            pairs = zip(self.parameters(), model.parameters())
        averages, currents = [], []
        for average, current in pairs:
            averages.append(average.detach())
            currents.append(current.detach().to(average.device))
        if self.n_averaged == 0:
            for average, current in zip(averages, currents):
                average.copy_(current)
        else:
            self._average(averages, currents)
        if not self.use_buffers:
            for own, current in zip(self.module.buffers(), model.buffers()):
                own.detach().copy_(current.detach().to(own.device))
        self.n_averaged += 1

    def _average(self, averages, currents):
        if self.multi_avg_fn is None and self.avg_fn is not None:
            for average, current in zip(averages, currents):
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
            return
        for (device, _), ((own, new), _) in Optimizer._group_tensors_by_device_and_dtype([averages, currents]).items():
            count = self.n_averaged.to(device)
            if self.multi_avg_fn:
                self.multi_avg_fn(own, new, count)
            elif device.type in _FOREACH_DEVICES:
                get_swa_multi_avg_fn()(own, new, count)
            else:
                mean = get_swa_avg_fn()
                for average, current in zip(own, new):
                    average.copy_(mean(average, current, count))


def update_bn(loader, model, device=None):
    """Sets the batch norm statistics of `model` anew, from one pass over `loader` (tensors, or lists that begin so)."""
    norms = {module: module.momentum for module in model.modules()
             if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)}
    if not norms:
        return
    with torch.no_grad():
        was_training = model.training
        model.train()
        for module in norms:
            module.reset_running_stats()
            module.momentum = None      # the cumulative mean
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
        for module, momentum in norms.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the rate to `swa_lr` over `anneal_epochs`, along a cosine ("cos") or a line ("linear"), and keeps it.

    ValueError for another strategy, and for `anneal_epochs` that is no number from 0.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t):
        return t

    @staticmethod
    def _cosine_anneal(t):
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr, swa_lr, alpha):
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _set_anneal_func(self, anneal_strategy):
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def get_lr(self):
        """The rates for `last_epoch`."""
        _warn_get_lr_called_within_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)

        def alpha(at):
            return self.anneal_func(max(0, min(1, at / max(1, self.anneal_epochs))))

        # Other schedules may have changed the rate meanwhile, so the start is computed back from it.
        before, now = alpha(step - 1), alpha(step)
        groups = self.optimizer.param_groups
        starts = [self._get_initial_lr(group["lr"], group["swa_lr"], before) for group in groups]
        return [group["swa_lr"] * now + start * (1 - now) for group, start in zip(groups, starts)]

    def state_dict(self):
        """Everything but the optimizer and the function."""
        return {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict()` gave."""
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)
