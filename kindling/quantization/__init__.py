"""The older name of torch.ao.quantization."""
import sys as _sys

from kindling.ao import quantization as _home
from kindling.ao.quantization import *  # noqa: F403
from kindling.ao.quantization import quantize  # noqa: F401

__all__ = list(_home.__all__)
for _name in ("fake_quantize", "observer", "qconfig", "quant_type", "quantization_mappings", "stubs"):
    globals()[_name] = _sys.modules.setdefault(f"{__spec__.name}.{_name}", getattr(_home, _name))
_sys.modules.setdefault(__spec__.name + ".quantize", _sys.modules[_home.__spec__.name + ".quantize"])


def __getattr__(name):
    if name[:2] == "__":
        raise AttributeError(name)
    return getattr(_home, name)
