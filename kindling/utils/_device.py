"""The device that factories use inside a block."""
import kindling as torch
from kindling.utils._contextlib import context_decorator


def __getattr__(name):
    if name == "CURRENT_DEVICE":
        return torch._C._default_device_scope()[0]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class DeviceContext:
    """A block in which tensors are made on that device unless the call names another: `with torch.device(...)`."""

    def __init__(self, device):
        self.device = torch.device(device)

    def __enter__(self):
        self.device.__enter__()

    def __exit__(self, *details):
        return self.device.__exit__(*details)


def device_decorator(device, func):
    return context_decorator(lambda: device, func)


def set_device(device):
    """A decorator: the function runs inside of `with torch.device(device)`."""
    return lambda func: device_decorator(torch.device(device), func)
