"""What Python has registered with operators: who defined one, and its kernels by torch's dispatch keys. Below torch.library and torch.ops."""
import sys

from kindling import _C

# Torch's keys by what the core knows (core/operator.h, Layer); others are kept for dispatch.table only.
LAYERS = {"CPU": 0, "Meta": 1, "CompositeExplicitAutograd": 2, "CompositeExplicitAutogradNonFunctional": 2, "BackendSelect": 2,
          "CompositeImplicitAutograd": 3, "Autograd": 4, "AutogradCPU": 4, "AutogradPrivateUse1": 4, "PrivateUse1": 5, "PrivateUse2": 6,
          "PrivateUse3": 7, "Sparse": 9, "SparseCPU": 9, "SparseCsr": 10, "SparseCsrCPU": 10}
OTHER = 8
registered = {}      # (name, overload) -> {key: (function, who, namespace of the Library)}
defined = {}         # (name, overload) -> who
fakes = {}
tags = {}
early = {}          # kernels of operators that are defined later
changes = 0          # how often an operator was defined or removed
forgetters = []      # what keeps operators by name (torch.ops): called with a name that is to be looked up anew


def caller():
    """File and line that registers, outside of what serves it."""
    package = __name__.removesuffix("_operators.registry")
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in (__name__, package + "library", package + "_operators.custom"):
        frame = frame.f_back
    return "unknown" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def split_name(qualname):
    name, _, overload = qualname.partition(".")
    return name.removeprefix("aten::"), "" if overload == "default" else overload


def core(qualname):
    """(name, overload) as the core has them. RuntimeError for an operator that is not there."""
    name, overload = split_name(qualname)
    overloads = _C._overload_names(name)
    if overload not in overloads:
        raise RuntimeError(f"operator {qualname} does not exist")
    return name, overload


def define(namespace, schema):
    schema = schema.strip()
    head = schema.partition("(")[0]
    if "::" not in head:
        schema, head = f"{namespace}::{schema}", f"{namespace}::{head}"
    name, overload = split_name(head)
    _C._define_operator(schema)
    defined[name, overload] = caller()
    registered[name, overload] = {}
    forget(name)
    for key, (function, who, space) in early.pop((name, overload), {}).items():
        add(name, overload, key, function, space)
        registered[name, overload][key] = function, who, space
    return name, overload


def forget(name):
    """Who keeps something by an operator's name looks it up anew."""
    global changes
    changes += 1
    for each in forgetters:
        each(name)


def add(name, overload, key, function, namespace="", allow_override=False):
    key = key_of_device(key)
    known = registered.setdefault((name, overload), {})
    layer = LAYERS.get(key, OTHER)
    if key in known and not allow_override and function is not None:
        raise RuntimeError(f"This is not allowed since there's already a kernel registered from python overriding {name}'s behavior for {key} "
                           f"dispatch key and {known[key][2] or namespace} namespace.")
    if function is None:
        known.pop(key, None)
    else:
        known[key] = function, caller(), namespace
    _C._add_kernel(name, overload, layer, function)
    if layer in (3, 4) and (name, overload) in defined:      # layers see its parts; its own backward is asked first
        _C._set_composite(name, overload, any(LAYERS.get(each) in (3, 4) for each in known))
    return key


def key_of_device(key):
    """A renamed device's key: what was registered as "toy" belongs to PrivateUse1."""
    for place, (name, _, _) in enumerate(_C._private_devices(), 1):
        if key == name:
            return f"PrivateUse{place}"
    return key


def keys(types):
    if types is None or types == "default":
        return ["CompositeExplicitAutograd"]
    names = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS", "hpu": "HPU"}
    return [names.get(t, t) for t in ([types] if isinstance(types, str) else types)]
