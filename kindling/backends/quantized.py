"""The engine of quantised layers. There is one way to compute, that of x86 (fbgemm) in PyTorch; the engine's name is kept."""
import sys

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
_engine = "x86"


class _Module(type(sys)):
    @property
    def engine(self):
        """The engine's name; RuntimeError for one that is not among `supported_engines`."""
        return _engine

    @engine.setter
    def engine(self, name):
        global _engine
        if name not in supported_engines:
            raise RuntimeError(f"quantized engine {name} is not supported")
        _engine = name


sys.modules[__spec__.name].__class__ = _Module
