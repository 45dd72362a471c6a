"""Names of functions as PyTorch's programs write them: `torch.nn.functional.relu`, wherever the function's file lies here."""
import builtins
import sys
import types

import kindling

# Where public functions whose files lie elsewhere are found.
_HOMES = ("torch", "torch.nn.functional", "torch.functional", "torch.linalg", "torch.fft", "torch.special", "torch.nn.init", "torch.Tensor",
          "torch._C._nn", "torch.overrides", "torch.autograd", "torch.nn.utils.rnn", "torch.nn.modules.utils")


def resolve(path):
    """The object of a dotted path that starts with torch; None if there is none."""
    value = kindling
    parts = path.split(".")[1:]
    for place, part in enumerate(parts):
        found = getattr(value, part, None)
        if found is None and isinstance(value, types.ModuleType):
            name = ".".join(["kindling", *parts[:place + 1]])
            try:
                __import__(name)
            except ImportError:
                return None
            found = sys.modules.get(name)
        if found is None:
            return None
        value = found
    return value


def is_from_torch(value):
    """Whether generated code can reach it through the name `torch`."""
    module = getattr(value, "__module__", None)
    if module is not None:
        base = module.partition(".")[0]
        return base in ("torch", "kindling") and not module.startswith("torch._dynamo.")
    name = getattr(value, "__name__", None)
    if name is not None and name != "torch":
        return any(getattr(resolve(home), name, None) is value for home in ("torch", "torch.nn.functional"))
    return False


def module_name(value):
    """The module of a class or function under torch's name."""
    name = getattr(value, "__module__", None) or ""
    if name == "kindling" or name.startswith("kindling."):
        name = "torch" + name[8:]
    return name


def method_home(value):
    """The module that has this very function, for one that does not say where it is from."""
    name = value.__name__
    for path in ("torch", "torch.nn.functional"):
        if getattr(resolve(path), name, None) is value:
            return path
    raise RuntimeError(f"cannot find module for {value}")


def qualified_name(function):
    """The dotted name of a function or class, as it is written in generated code.

    >>> torch.fx.node._get_qualified_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    name = getattr(function, "__name__", None)
    if name is not None and getattr(builtins, name, None) is function:
        return name
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)) and \
            any(vars(cls).get(name) is function for cls in kindling.Tensor.__mro__):
        return f"torch.Tensor.{name}"
    overload = getattr(function, "_overloadname", None)
    if overload is not None or type(function).__name__ in ("OpOverload", "OpOverloadPacket"):
        return "torch.ops." + str(function).replace("::", ".")
    if name == "<lambda>":
        raise RuntimeError("Unable to resolve <lambda> to a qualified name: give the function a name, at the top of a module")
    module = module_name(function) or method_home(function)
    if module == "torch" or module.startswith("torch."):
        named = f"{module}.{name}"
        if module.startswith("torch.nn._functional"):
            named = f"torch.nn.functional.{name}"
        if resolve(named) is not function or any(part.startswith("_") and part not in ("_C", "_nn", "_linalg", "_fft", "_special", "_sparse",
                                                                                        "_assert") for part in named.split(".")[1:-1]):
            for home in _HOMES:
                if getattr(resolve(home), name, None) is function:
                    return f"{home}.{name}"
        return named
    return f"{module}.{name}"
