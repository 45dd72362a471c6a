"""Which quantised layer stands for which layer."""
import kindling as torch
from kindling import nn

__all__ = ["get_default_dynamic_quant_module_mappings", "get_dynamic_quant_module_class"]


def __getattr__(name):
    if name != "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    quantized = torch.ao.nn.quantized
    made = {nn.Linear: quantized.dynamic.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear: quantized.dynamic.Linear}
    for each in ("GRUCell", "LSTM", "GRU", "LSTMCell", "RNNCell"):
        made[getattr(nn, each)] = getattr(quantized.dynamic, each)
    made[nn.EmbeddingBag], made[nn.Embedding] = quantized.EmbeddingBag, quantized.Embedding
    return globals().setdefault(name, made)


def get_default_dynamic_quant_module_mappings():
    """A layer's class to the class of its dynamically quantised form."""
    return dict(__getattr__("DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS"))


def get_dynamic_quant_module_class(float_module_class, additional_dynamic_quant_mapping=None):
    """The dynamically quantised form of a class of layers; AssertionError if there is none."""
    found = {**get_default_dynamic_quant_module_mappings(), **(additional_dynamic_quant_mapping or {})}.get(float_module_class)
    if found is None:
        raise AssertionError(f"Floating point module class {float_module_class} does not have a corresponding quantized module class")
    return found
