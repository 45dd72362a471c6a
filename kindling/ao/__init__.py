"""Quantised models (torch.ao): dynamic quantisation of linear layers. The rest is declared in _absent."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("nn", "ns", "pruning", "quantization"))
