"""Quantisation of models: observers, configurations and `quantize_dynamic`."""
from . import fake_quantize, observer, qconfig, quant_type, quantization_mappings, stubs
from . import quantize as _quantize
from .fake_quantize import *  # noqa: F403
from .observer import *  # noqa: F403
from .qconfig import *  # noqa: F403
from .quant_type import *  # noqa: F403
from .quantization_mappings import *  # noqa: F403
from .quantize import *  # noqa: F403
from .stubs import *  # noqa: F403

__all__ = [*fake_quantize.__all__, *observer.__all__, *qconfig.__all__, *quant_type.__all__, *quantization_mappings.__all__, *_quantize.__all__,
           *stubs.__all__]
# As in PyTorch: the function that quantises a model statically hides the module of that name.
from kindling import _absent as _declared  # noqa: E402

quantize = _declared.function(__name__, "quantize", "torch.ao.quantization.quantize")
