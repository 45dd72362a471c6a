"""The autocast block, and its decorators for autograd functions."""
import kindling as torch
from kindling.amp import _state

__all__ = ["autocast_decorator", "autocast", "is_autocast_available", "custom_fwd", "custom_bwd"]


def _wrapped(wrapper, function):
    from functools import update_wrapper
    return update_wrapper(wrapper, function)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device."""
    return device_type in _state.DEVICES


def autocast_decorator(autocast_instance, func):
    """`func` inside the given block."""
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)
    return _wrapped(decorate_autocast, func)


class autocast:
    """A block, or decorator, in which operators choose their dtypes: the fast one for products, float32 where needed.

    `dtype` is bfloat16 on the CPU and float16 on CUDA by default.  ValueError if `device_type` is no string,
    RuntimeError if it has no autocast; a dtype that it does not know is warned about and switches the block off.

        >>> with torch.autocast("cpu", dtype=torch.bfloat16): loss = model(x).sum()
    """

    def __init__(self, device_type: str, dtype: "torch.dtype | None" = None, enabled: bool = True, cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = _state.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = _state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled
        if enabled and device_type == "cuda":
            if not torch.cuda.is_available():
                self._disable("CUDA is not available or torch_xla is imported. Disabling autocast.")
        elif enabled and self.fast_dtype not in (torch.bfloat16, torch.float16):
            self._disable(f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling "
                          f"autocast.\n{device_type.upper()} Autocast only supports dtypes of torch.bfloat16, "
                          "torch.float16 currently.")

    def _disable(self, message):
        import warnings
        warnings.warn(message, stacklevel=4 if type(self) is not autocast else 3)
        self._enabled = False

    def __enter__(self):
        device = self.device
        self.prev_cache_enabled = _state.is_autocast_cache_enabled()
        self.prev = _state.is_autocast_enabled(device)
        self.prev_fastdtype = _state.get_autocast_dtype(device)
        _state.set_autocast_enabled(device, self._enabled)
        _state.set_autocast_dtype(device, self.fast_dtype)
        _state.autocast_increment_nesting()
        _state.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        if _state.autocast_decrement_nesting() == 0:
            _state.clear_autocast_cache()
        _state.set_autocast_enabled(self.device, self.prev)
        _state.set_autocast_dtype(self.device, self.prev_fastdtype)
        _state.set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func):
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use "
                            "autocast as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                            "        output = model(input)")
        return autocast_decorator(self, func)


class _UnmanagedAutocast(autocast):
    pass


def _enter_autocast(*vals):
    mode = _UnmanagedAutocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    mode.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """`value` with its floating point tensors, but for float64, in `dtype`; containers at any depth."""
    if isinstance(value, torch.Tensor):
        eligible = (value.is_floating_point() and value.device.type == device_type
                    and value.dtype is not torch.float64)
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes)) or type(value).__module__ == "numpy":
        return value
    if hasattr(value, "items"):
        return {_cast(key, device_type, dtype): _cast(each, device_type, dtype) for key, each in value.items()}
    if hasattr(type(value), "__iter__"):
        items = (_cast(each, device_type, dtype) for each in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd=None, *, device_type: str, cast_inputs: "torch.dtype | None" = None):
    """Decorates the `forward` of an autograd function for use under autocast.

    With `cast_inputs`, its floating point arguments are cast to that dtype and the body runs without autocast.
    """
    _check_device_type(device_type)
    if fwd is None:
        return lambda function: custom_fwd(function, device_type=device_type, cast_inputs=cast_inputs)

    def decorate_fwd(*args, **kwargs):
        ctx, active = args[0], _state.is_autocast_enabled(device_type)
        ctx._dtype = _state.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = active and cast_inputs is None
        if cast_inputs is None or not active:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return _wrapped(decorate_fwd, fwd)


def custom_bwd(bwd=None, *, device_type: str):
    """Decorates the `backward` of an autograd function: it runs in the autocast state of the decorated `forward`."""
    _check_device_type(device_type)
    if bwd is None:
        return lambda function: custom_bwd(function, device_type=device_type)

    def decorate_bwd(*args, **kwargs):
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return _wrapped(decorate_bwd, bwd)
