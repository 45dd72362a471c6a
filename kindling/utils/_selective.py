"""Checkpointing that keeps the results of some operators and computes the others again: which, a policy says."""
import enum

import kindling as torch
from kindling.utils import _pytree
from kindling.utils._python_dispatch import TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """What is done with an operator's result. PREFER leaves the choice to a compiler; here it is as MUST."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEEPS = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)
SAC_IGNORED_OPS = {torch.ops.aten.detach.default}       # run with or without a policy


class SelectiveCheckpointContext:
    """What a policy is told beside the operator: whether this is the second time."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


class _Keep(TorchDispatchMode):
    """Runs operators the first time, and notes for each what the policy says, with the result where that is kept."""

    def __init__(self, policy, held, check):
        super().__init__()
        self.policy, self.held, self.check = policy, held, check

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return result
        said = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        if isinstance(said, bool):
            said = CheckpointPolicy.MUST_SAVE if said else CheckpointPolicy.PREFER_RECOMPUTE
        leaves, tree = _pytree.tree_flatten(result)
        kept = [(each.detach(), each._version) if isinstance(each, torch.Tensor) else (each, None) for each in leaves]
        self.held.setdefault(func, []).append((kept, tree) if said in _KEEPS else None)
        return result


class _Take(TorchDispatchMode):
    """Runs them again, but for those whose results were kept."""

    def __init__(self, held, check):
        super().__init__()
        self.held, self.check = held, check

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs or {})
        held = self.held.get(func)
        if held is None:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not held:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                               "selective activation checkpoint.")
        entry = held.pop(0)
        if entry is None:
            return func(*args, **kwargs or {})
        kept, tree = entry
        if self.check and any(version is not None and value._version != version for value, version in kept):
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return _pytree.tree_unflatten([value for value, _ in kept], tree)


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Two blocks for `checkpoint(context_fn=...)`: the first keeps results of operators, the second gives them instead of running those.

    ``policy_fn_or_list``: a list of operators to keep, or a function of (context, operator, arguments...) that gives a CheckpointPolicy.
    """
    if isinstance(policy_fn_or_list, list):
        for each in policy_fn_or_list:
            if not isinstance(each, torch._ops.OpOverload):
                raise AssertionError(f"Expected op in `op_list` to be an OpOverload but got: {each} of type {type(each)}.")
        wanted = set(policy_fn_or_list)

        def policy(context, func, *args, **kwargs):
            return CheckpointPolicy.MUST_SAVE if func in wanted else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    held = {}
    return _Keep(policy, held, not allow_cache_entry_mutation), _Take(held, not allow_cache_entry_mutation)
