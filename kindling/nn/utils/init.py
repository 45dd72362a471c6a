"""skip_init."""
import kindling as torch


def skip_init(module_cls, *args, **kwargs):
    """A module with its parameters left uninitialised: made on the meta device, then given memory.

    RuntimeError for a class that is no Module or takes no `device`.
    """
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    code = module_cls.__init__.__code__
    if "device" not in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=device)
