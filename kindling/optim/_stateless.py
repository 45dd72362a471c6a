"""Running an optimizer on parameters and state that are not its own."""
from _collections import defaultdict

import kindling as torch
from kindling._common.blocks import Block as _Block

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


class swap_in_optimizer_params_and_state(_Block):
    """A `with` block in which `optimizer` steps other parameters with other state; its own come back at the end.

    `swapin_parameters` is an ordered dict of tensors in the order of the groups, `swapin_optim_state` has the form of
    `optimizer.state_dict()`.  RuntimeError where the two do not match the optimizer's own groups and options.
    """

    def __init__(self, optimizer, swapin_parameters, swapin_optim_state):
        self.optimizer = optimizer
        self.arguments = swapin_parameters, swapin_optim_state

    def __enter__(self):
        optimizer = self.optimizer
        plan, saved = _plan(optimizer, *self.arguments)
        self.state, self.groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
        state = defaultdict(dict)
        for group, new, params in plan:
            group.update(new, params=params)
            for param, number in zip(params, new["params"]):
                state[param] = dict(saved.get(number, {}))
        optimizer.state = state

    def __exit__(self, kind, value, traceback):
        for group, before in zip(self.optimizer.param_groups, self.groups):
            group.clear()
            group.update(before)
        self.optimizer.state = self.state


def _plan(optimizer, parameters, saved):
    """[(live group, its new options, its new parameters)] and the new state by number; nothing is changed yet."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(saved, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = saved.get("state"), saved.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
                           f"per-param state dicts, got {type(state).__name__}.")
    if any(isinstance(key, torch.Tensor) for key in state):
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, "
                           f"got {type(groups).__name__}.")
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    flat = list(parameters.values())
    plan, numbers, start = [], set(), 0
    for index, (group, new) in enumerate(zip(optimizer.param_groups, groups)):
        ids = _group_numbers(index, group, new)
        numbers.update(ids)
        params = flat[start:start + len(ids)]
        start += len(ids)
        if len(params) != len(ids):
            raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups "
                               "ordering.")
        plan.append((group, new, params))
    if extra := [key for key in state if key not in numbers]:
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids "
                           f"from param_groups[*]['params']; got extra keys {extra!r}.")
    return plan, state


def _group_numbers(index, group, new):
    if not isinstance(new, dict):
        raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
    ids = new.get("params")
    if not isinstance(ids, list) or not all(isinstance(number, int) for number in ids):
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by "
                           "packed parameter ids.")
    if len(group["params"]) != len(ids):
        raise RuntimeError(f"swapin_optim_state param group {index} has a different number of params than the live "
                           "optimizer param group.")
    ours, theirs = [key for key in new if key not in group], [key for key in group if key not in new]
    if ours or theirs:
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live "
                           f"optimizer group keys for group {index}. Keys only in swap-in: {ours}. "
                           f"Keys only in live: {theirs}.")
    return ids
