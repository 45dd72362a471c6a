"""torch's questions about dispatch (``torch._C._dispatch_*``), answered from the core; found through ``_C.__getattr__``."""
from kindling import _C
from kindling._native_names.keys import ALIASES, DispatchKey, DispatchKeySet, ExcludeDispatchKeyGuard  # noqa: F401
from kindling.dispatch import _core_name, kernels

_ExcludeDispatchKeyGuard = ExcludeDispatchKeyGuard


def _key(key):
    name = key if isinstance(key, str) else key.name
    if name not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return name


def _dispatch_get_all_op_names():
    """Every operator by its full name: "aten::add.Tensor"."""
    names = []
    for name in _C._operator_names(0xFFFFFFFF):
        full = name if "::" in name else "aten::" + name
        names += [f"{full}.{overload}" if overload else full for overload in _C._overload_names(name)]
    return sorted(set(names))


def _dispatch_has_kernel(name):
    """Whether there is an operator of this name with a kernel."""
    return bool(kernels(name))


def _dispatch_has_kernel_for_dispatch_key(name, key):
    """Whether a kernel is registered for exactly this key (or, for a composite key, for that)."""
    found = kernels(name)
    if not found:
        raise RuntimeError(f"operator {name} does not exist")
    return _key(key) in found


def _dispatch_has_kernel_for_any_dispatch_key(name, keys):
    """Whether a kernel is registered for one of the keys of a set."""
    found = kernels(name)
    return any(key.name in found for key in keys.keys())


_RUNTIME = {"CPU", "Meta", "AutogradCPU", "AutogradMeta", "Autograd"}


def _dispatch_has_computed_kernel_for_dispatch_key(name, key):
    """Whether a call under this key finds a kernel, composites included."""
    found, key = kernels(name), _key(key)
    if key in found or "CompositeImplicitAutograd" in found:
        return True
    if key.startswith("Autograd"):
        return "Autograd" in found
    return "CompositeExplicitAutograd" in found and key in (*DispatchKey.__members__,) and not key.startswith(("Autograd", "Autocast"))


def _dispatch_get_registrations_for_dispatch_key(key=""):
    """Every operator with a kernel for this key; without one, every operator with a kernel."""
    names = _dispatch_get_all_op_names()
    return [name for name in names if not key or key in kernels(name)]


def _dispatch_print_registrations_for_dispatch_key(key=""):
    """Prints them."""
    import sys
    sys.stdout.write("".join(name + "\n" for name in _dispatch_get_registrations_for_dispatch_key(key)))


def _dispatch_dump(name):
    """The operator's registrations, as text in torch's form. RuntimeError if there is no such operator."""
    from kindling.dispatch import table
    found = table(name)
    call = found.schema[found.schema.index("("):]
    return (f"name: {found.name}\nschema: {found.schema}\ndebug: registered at {found.defined_by}\nalias analysis kind: FROM_SCHEMA\n"
            + "".join(f"{key}: registered at {by} :: {call} [ {what} ]\n" for key, what, by in found))


_dispatch_dump_table = _dispatch_dump


def _dispatch_find_schema_or_throw(name, overload):
    """The operator's schema; RuntimeError if there is none."""
    from kindling._native_names.types import parse_schema
    found = _C._schema_text(_core_name(name), overload)
    if found is None:
        raise RuntimeError(f"Could not find schema for {name}.{overload}")
    return parse_schema(found[0])


def _dispatch_key_name(key):
    return key.name


def _dispatch_key_parse(name):
    return getattr(DispatchKey, _key(name))


_parse_dispatch_key = _dispatch_key_parse


def _dispatch_is_alias_key(key):
    return _key(key) in ALIASES


def _dispatch_num_backends():
    return 16


def _dispatch_keyset_to_string(keys):
    return repr(keys)


def _dispatch_key_for_device(device):
    """The dispatch key of a device's name: "PrivateUse1" for the first plug-in's."""
    names = [name for name, _, _ in _C._private_devices()] or ["privateuseone"]
    if device in names:
        return f"PrivateUse{names.index(device) + 1}"
    return {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS", "hpu": "HPU", "xla": "XLA", "ipu": "IPU", "mtia": "MTIA",
            "maia": "MAIA", "ve": "VE", "hip": "HIP", "lazy": "Lazy"}[device]


def _dispatch_keys(tensor):
    """The keys of a tensor."""
    backend = _dispatch_key_for_device(tensor.device.type)
    keys = DispatchKeySet(getattr(DispatchKey, backend)) | DispatchKeySet(DispatchKey.ADInplaceOrView)
    keys |= DispatchKeySet(getattr(DispatchKey, "Autograd" + backend))
    keys |= DispatchKeySet(getattr(DispatchKey, "AutocastCPU" if backend == "CPU" else "AutocastPrivateUse1" if "Private" in backend else "Undefined"))
    if tensor.is_conj():
        keys |= DispatchKeySet(DispatchKey.Conjugate)
    if tensor.is_neg():
        keys |= DispatchKeySet(DispatchKey.Negative)
    return keys


def _dispatch_tls_is_dispatch_key_excluded(key):
    """Whether this thread leaves a key out."""
    return bool(_C._exclude_keys(0) & _bits(key))


def _dispatch_tls_set_dispatch_key_excluded(key, excluded):
    """Leaves a key out in this thread, or not."""
    before = _C._exclude_keys(0)
    _C._exclude_keys(0, before | _bits(key) if excluded else before & ~_bits(key))


def _dispatch_tls_local_exclude_set():
    """The keys that this thread leaves out."""
    keys, word = DispatchKeySet(DispatchKey.Undefined), _C._exclude_keys(0)
    if word & _C._KEY_AUTOGRAD:
        keys |= DispatchKeySet(DispatchKey.AutogradCPU) | DispatchKeySet(DispatchKey.ADInplaceOrView)
    if word & _C._KEY_AUTOCAST:
        keys |= DispatchKeySet(DispatchKey.AutocastCPU)
    return keys


def _dispatch_tls_is_dispatch_key_included(key):
    """Whether this thread adds a key to every call: only modes and autocast do."""
    name = _key(key)
    return name == "Python" and _C._len_torch_dispatch_stack() > 0


def _bits(key):
    name = _key(key)
    return (_C._KEY_AUTOGRAD if name.startswith("Autograd") or name == "ADInplaceOrView" else _C._KEY_AUTOCAST if name.startswith("Autocast")
            else _C._KEY_PYTHON if name == "Python" else 0)


class _AutoDispatchBelowAutograd(ExcludeDispatchKeyGuard):
    """A `with` block whose calls go below autograd."""

    def __init__(self):
        super().__init__(DispatchKeySet(DispatchKey.AutogradCPU))


class _AutoDispatchBelowADInplaceOrView(_AutoDispatchBelowAutograd):
    """The same."""


def _get_privateuse1_backend_name():
    """The name of the first plug-in's device."""
    return next((name for name, _, _ in _C._private_devices()), "privateuseone")


def _jit_get_all_schemas():
    """The schemas of all operators."""
    from kindling._native_names.types import parse_schema
    texts = {}
    for name in _C._operator_names(0xFFFFFFFF):
        for overload in _C._overload_names(name):
            text = _C._schema_text(name, overload)[0]
            texts[name, overload] = text if "::" in text.partition("(")[0] else "aten::" + text
    return [parse_schema(text) for text in texts.values()]


def _jit_get_schemas_for_operator(name):
    """The schemas of one operator's overloads."""
    core = _core_name(name)
    return [_dispatch_find_schema_or_throw(core, overload) for overload in _C._overload_names(core)]


def _accelerator_getAccelerator():
    """The accelerator; None where there is only the CPU."""
    device = _C._get_accelerator()
    return None if device.type == "cpu" else device
