"""Switches of the libraries behind operators.  Those for libraries that this build has not are kept, without effect."""
import kindling as _kindling
from kindling._common.blocks import Block as _Block

_SUBMODULES = ("cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack",
               "openmp", "opt_einsum", "quantized", "xnnpack")
fp32_precision = "none"

_frozen = False


def flags_frozen():
    """Whether switches can be set in blocks alone: `disable_global_flags` says so."""
    return _frozen


def disable_global_flags():
    """Has `flags_frozen` say that switches are set in blocks alone; they can be set as before."""
    global _frozen
    _frozen = True


class __allow_nonbracketed_mutation:
    """A block in which switches can be set outside of blocks of theirs, as they always can here."""

    def __enter__(self):
        return None

    def __exit__(self, *details):
        return False


__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, _SUBMODULES)


class _Switches:
    """A set of attributes that can be read and set; AttributeError for others."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise AttributeError("Unknown attribute " + name)
        self.__dict__[name] = value


class _Flags(_Block):
    """A `with` block that sets switches of a module and puts them back; values of None stay as they are."""

    def __init__(self, module, values):
        self.module = module
        self.values = {name: value for name, value in values.items() if value is not None}

    def __enter__(self):
        self.before = {name: getattr(self.module, name) for name in self.values}
        for name, value in self.values.items():
            setattr(self.module, name, value)

    def __exit__(self, kind, value, traceback):
        for name, before in self.before.items():
            setattr(self.module, name, before)
        return False
