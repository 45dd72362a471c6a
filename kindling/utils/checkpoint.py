"""Recomputing activations in the backward pass instead of keeping them."""
from _weakref import ref

import kindling as torch
from kindling._common.blocks import Block as _Block
from kindling.amp import _state as _autocast_state

__all__ = ["checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction", "check_backward_validity",
           "detach_variable", "get_device_states", "set_device_states", "noop_context_fn", "DefaultDeviceType", "CheckpointPolicy",
           "SelectiveCheckpointContext", "create_selective_checkpoint_contexts", "SAC_IGNORED_OPS", "set_checkpoint_early_stop", "set_checkpoint_debug_enabled"]

_early_stop_override = None
_debug_override = None


class CheckpointError(RuntimeError):
    """The function did not do again what it did in the forward pass."""


class _StopRecomputationError(Exception):
    """Everything that the forward pass saved is there again."""


class _Nothing:
    def __enter__(self):
        return None

    def __exit__(self, kind, value, traceback):
        return False


def noop_context_fn():
    """No contexts: the default of `context_fn`."""
    return _Nothing(), _Nothing()


class set_checkpoint_early_stop(_Block):
    """A `with` block that says whether recomputation ends as soon as all saved tensors are there."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        global _early_stop_override
        self.before, _early_stop_override = _early_stop_override, self.enable

    def __exit__(self, kind, value, traceback):
        global _early_stop_override
        _early_stop_override = self.before
        return False


class set_checkpoint_debug_enabled(_Block):
    """A `with` block that stands for `debug=` in the calls inside it."""

    def __init__(self, enabled):
        self.enabled = enabled

    def __enter__(self):
        global _debug_override
        self.before, _debug_override = _debug_override, self.enabled

    def __exit__(self, kind, value, traceback):
        global _debug_override
        _debug_override = self.before
        return False


class DefaultDeviceType:
    """The kind of device whose random state is kept where no argument says one."""

    _kind = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        """Sets it."""
        DefaultDeviceType._kind = device

    @staticmethod
    def get_device_type():
        """What it is."""
        return DefaultDeviceType._kind


def get_device_states(*args) -> tuple[list[int], list[torch.Tensor]]:
    """Numbers of devices beside the CPU that arguments lie on, and the states of their random streams: none here."""
    return [], []


def set_device_states(devices, states, *, device_type=None) -> None:
    """Puts states back that `get_device_states` gave."""
    if devices:
        raise RuntimeError("there are no devices beside the CPU")


def detach_variable(inputs) -> tuple[torch.Tensor, ...]:
    """The tuple with its tensors detached, requiring gradients as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: "
                           f"{type(inputs).__name__}")
    return tuple([each.detach().requires_grad_(each.requires_grad) if isinstance(each, torch.Tensor) else each
                  for each in inputs])


def check_backward_validity(inputs) -> None:
    """Warns if no input requires a gradient."""
    if not any(each.requires_grad for each in inputs if isinstance(each, torch.Tensor)):
        import warnings
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class _Surroundings:
    """The random state and autocast settings of the forward pass: a `with` block that brings them back for a while."""

    def __init__(self, preserve_rng_state):
        self.rng_state = torch.get_rng_state() if preserve_rng_state else None
        self.autocast = {"enabled": _autocast_state.is_autocast_enabled("cpu"),
                         "dtype": _autocast_state.get_autocast_dtype("cpu"),
                         "cache_enabled": _autocast_state.is_autocast_cache_enabled()}

    def __enter__(self):
        if self.rng_state is not None:
            self.rng_before = torch.get_rng_state()
            torch.set_rng_state(self.rng_state)
        self.block = torch.amp.autocast("cpu", **self.autocast)
        self.block.__enter__()

    def __exit__(self, kind, value, traceback):
        self.block.__exit__(kind, value, traceback)
        if self.rng_state is not None:
            torch.set_rng_state(self.rng_before)
        return False


# ---- without re-entering the engine: saved tensors are replaced by holders

class _Holder:
    """Stands for one saved tensor."""
    __slots__ = ("__weakref__",)


class _Frame:
    """One checkpointed call: what it saved, and what was recomputed and not yet used."""

    def __init__(self, recompute, inputs, early_stop, metadata):
        self.recompute = recompute
        # As a node keeps its tensors: what was written to before backward is refused there.
        keep = torch._C._make_saved_tensor
        self.inputs = [keep(value, False) if isinstance(value, torch.Tensor) else value for value in inputs]
        self.early_stop = early_stop
        self.metadata = metadata
        self.holders = []       # weak: a holder dies with the last node that saved its tensor
        self.metadatas = []
        self.recomputed = None
        self.task = None
        self.completed = False
        self.ignore_mismatch = False

    def pack(self, tensor):
        holder = _Holder()
        self.holders.append(ref(holder))
        if self.metadata is not None:
            self.metadatas.append(self.metadata(tensor))
        return holder

    def unpack(self, holder):
        task = _graph_task()
        if self.recomputed is None or task != self.task or holder not in self.recomputed:
            # Values left from another backward pass are dropped: parameters may have changed since.
            self.task = task
            self._run()
        return self.recomputed.pop(holder)

    def _run(self):
        from weakref import WeakKeyDictionary
        self.recomputed = WeakKeyDictionary()
        found = []
        saved = torch._C._SavedTensor
        inputs = [value.unpack() if isinstance(value, saved) else value for value in self.inputs]

        def pack(tensor):
            tensor = tensor.detach() if tensor.requires_grad else tensor
            index = len(found)
            if index >= len(self.holders):
                if not self.completed:
                    # Asked for inside the forward pass itself, which may have saved less so far.
                    self.ignore_mismatch = True
                    return tensor
                raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than "
                                      f"during the original forward pass.")
            found.append(None if self.metadata is None else self.metadata(tensor))
            holder = self.holders[index]()
            if holder is not None:
                self.recomputed[holder] = tensor
            if self.early_stop and len(found) == len(self.holders):
                raise _StopRecomputationError
            return tensor

        try:
            with torch.autograd.graph.saved_tensors_hooks(pack, _itself), torch.enable_grad():
                self.recompute(inputs)
        except _StopRecomputationError:
            pass
        self._compare(found)

    def _compare(self, found):
        if self.ignore_mismatch:
            return
        if len(found) != len(self.holders):
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original "
                                  "forward and recomputation.\nNumber of tensors saved during forward: "
                                  f"{len(self.holders)}\nNumber of tensors saved during recomputation: {len(found)}.")
        if self.metadata is None:
            return
        wrong = "".join(f"tensor at position {index}:\nsaved metadata: {saved}\nrecomputed metadata: {again}\n"
                        for index, (saved, again) in enumerate(zip(self.metadatas, found))
                        if saved != again and self.holders[index]() is not None)
        if wrong:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different "
                                  f"metadata than during the forward pass.\n{wrong}.")


def _itself(value):
    return value


def _graph_task():
    from kindling import _C
    current = getattr(_C, "_current_graph_task_id", None)
    return -1 if current is None else current()


def _metadata(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DETERMINISM_CHECKS = {"default": _metadata, "none": None}


def _without_reentry(function, preserve_rng_state, context_fn, determinism_check, early_stop, args, kwargs):
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_DETERMINISM_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    surroundings = _Surroundings(preserve_rng_state)
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)

    def recompute(args):   # the frame's, not those of the call
        with surroundings, recompute_context:
            function(*args, **kwargs)

    frame = _Frame(recompute, args, early_stop, _DETERMINISM_CHECKS[determinism_check])
    result = suppressed = None
    with torch.autograd.graph.saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        suppressed = True
        result = function(*args, **kwargs)
        suppressed = False
    if suppressed:
        raise RuntimeError("torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
                           "raised during the checkpointed forward. This is not supported because checkpoint cannot "
                           "return a value for a failed forward.")
    frame.completed = True
    return result


# ---- by running the engine inside the engine

_function = None


def __getattr__(name):
    # A class with torch's autograd.Function as its base would load autograd with this file.
    global _function
    if name in ("CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts", "SAC_IGNORED_OPS"):
        from kindling.utils import _selective
        return globals().setdefault(name, getattr(_selective, name))
    if name != "CheckpointFunction":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _function is None:
        class CheckpointFunction(torch.autograd.Function):
            """Runs a function without recording it, and again with recording in the backward pass."""

            @staticmethod
            def forward(ctx, run_function, preserve_rng_state, *args):
                check_backward_validity(args)
                ctx.run_function = run_function
                ctx.surroundings = _Surroundings(preserve_rng_state)
                ctx.inputs = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
                ctx.places = [place for place, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
                ctx.save_for_backward(*[args[place] for place in ctx.places])
                with torch.no_grad():
                    return run_function(*args)

            @staticmethod
            def backward(ctx, *grads):
                if not getattr(torch.autograd, "_is_checkpoint_valid", lambda: True)():
                    raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() "
                                       "or passing an `inputs` parameter to .backward(). To resolve this error, you can "
                                       "either set use_reentrant=False, or call .backward() without passing the "
                                       "`inputs` argument.")
                inputs = list(ctx.inputs)
                for place, tensor in zip(ctx.places, ctx.saved_tensors):
                    inputs[place] = tensor
                inputs = detach_variable(tuple(inputs))
                with ctx.surroundings, torch.enable_grad():
                    outputs = ctx.run_function(*inputs)
                if isinstance(outputs, torch.Tensor):
                    outputs = (outputs,)
                pairs = [(output, grad) for output, grad in zip(outputs, grads)
                         if isinstance(output, torch.Tensor) and output.requires_grad]
                if not pairs:
                    raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
                torch.autograd.backward(*map(list, zip(*pairs)))
                return (None, None, *[each.grad if isinstance(each, torch.Tensor) else None for each in inputs])
        _function = _function or CheckpointFunction
    return _function


# ---- the two entries

def _warn_unset(name, version):
    import warnings
    warnings.warn(f"torch.utils.checkpoint{name}: the use_reentrant parameter should be passed explicitly. {version} "
                  "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you "
                  "can pass use_reentrant=True. Refer to docs for more details on the differences between the two "
                  "variants.", stacklevel=3)


def checkpoint(function, *args, use_reentrant: bool | None = None, context_fn=noop_context_fn, determinism_check: str = "default",
               debug: bool = False, early_stop: bool = True, **kwargs):
    """`function(*args, **kwargs)`, whose activations are not kept but computed again in the backward pass.

    With `use_reentrant=False` what the function saves is recomputed on demand, by all ways to run backward; with True
    the function runs unrecorded, and its backward inside the backward (arguments by position only).  The random state
    is brought back unless `preserve_rng_state=False`.  `context_fn` gives two contexts, for the first run and the
    second.  CheckpointError if the second run saves other tensors than the first (`determinism_check="none"` compares
    their number only).  `debug` is taken, and lists nothing yet.
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        _warn_unset("", "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.")
        use_reentrant = True
    if not use_reentrant:
        if (debug if _debug_override is None else _debug_override) and context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        return _without_reentry(function, preserve, context_fn, determinism_check,
                                early_stop if _early_stop_override is None else _early_stop_override, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return __getattr__("CheckpointFunction").apply(function, preserve, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Functions (or an `nn.Sequential`) one after another, in `segments` parts of which all but the last are
    checkpointed."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        _warn_unset(".checkpoint_sequential", "In version 2.9 we will raise an exception if use_reentrant is not "
                    "passed.")
        use_reentrant = True
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def part(start, end):
        def run(value):
            for function in functions[start:end]:
                value = function(value)
            return value
        return run

    size = len(functions) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return part(start, len(functions))(input)
