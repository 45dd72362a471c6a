"""Quantisation of models in eager mode: dynamic quantisation. (`prepare` and static quantisation are declared in _absent.)"""
import copy

import kindling as torch
from kindling import nn

from . import qconfig as _qconfig
from .quantization_mappings import get_default_dynamic_quant_module_mappings

__all__ = ["propagate_qconfig_", "convert", "quantize_dynamic", "swap_module"]


def propagate_qconfig_(module, qconfig_dict=None, prepare_custom_config_dict=None):
    """Gives each module its `qconfig`: by name, by class, or that of the module it is in."""
    _propagate(module, {} if qconfig_dict is None else qconfig_dict, (prepare_custom_config_dict or {}), None, "")


def _propagate(module, by_name, custom, parent, prefix):
    found = by_name.get(_type_of(module), parent)
    found = by_name.get(prefix, found)
    found = getattr(module, "qconfig", found)
    module.qconfig = found
    for name, child in module.named_children():
        path = f"{prefix}.{name}" if prefix else name
        if name not in custom.get("non_traceable_module_name", ()) and type(child) not in custom.get("non_traceable_module_class", ()):
            _propagate(child, by_name, custom, found, path)


def _type_of(module):
    """The class, without what `parametrize` made of it."""
    from kindling.nn.utils import parametrize
    return parametrize.type_before_parametrizations(module)


def _warn_deprecated(name):
    import warnings
    warnings.warn("torch.ao.quantization is deprecated and will be removed in 2.10. \nFor migrations of users: \n1. Eager mode quantization "
                  "(torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to use torchao eager mode "
                  "quantize_ API instead", DeprecationWarning, stacklevel=3)


def quantize_dynamic(model, qconfig_spec=None, dtype=torch.qint8, mapping=None, inplace=False):
    """The model with its linear layers in whole numbers (qint8) or with weights in float16.

    `qconfig_spec`: a set of classes or names of submodules, or a dictionary of them with a QConfig each; all layers that there is a
    quantised form of, if it is None.
    """
    _warn_deprecated("quantize_dynamic")
    if qconfig_spec is None:
        recurrent = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
        if dtype == torch.qint8:
            qconfig_spec = dict.fromkeys((nn.Linear, *recurrent), _qconfig.default_dynamic_qconfig)
        elif dtype == torch.float16:
            qconfig_spec = dict.fromkeys((nn.Linear, *recurrent), _qconfig.float16_dynamic_qconfig)
        elif dtype == torch.quint8:
            qconfig_spec = dict.fromkeys((nn.EmbeddingBag, nn.Embedding), _qconfig.float_qparams_weight_only_qconfig)
        elif dtype == torch.quint4x2:
            qconfig_spec = {nn.EmbeddingBag: _qconfig.float_qparams_weight_only_qconfig_4bit}
        else:
            raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
    elif isinstance(qconfig_spec, set):
        if dtype is torch.qint8:
            default = _qconfig.default_dynamic_qconfig
        elif dtype is torch.float16:
            default = _qconfig.float16_dynamic_qconfig
        elif dtype is torch.quint8:
            default = _qconfig.float_qparams_weight_only_qconfig
        elif dtype is torch.quint4x2:
            default = _qconfig.float_qparams_weight_only_qconfig_4bit
        else:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        qconfig_spec = dict.fromkeys(qconfig_spec, default)
    if mapping is None:
        mapping = get_default_dynamic_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    convert(model, mapping, inplace=True)
    return model


def convert(module, mapping=None, inplace=False, remove_qconfig=True, is_reference=False, convert_custom_config_dict=None,
            use_precomputed_fake_quant=False):
    """Puts the quantised form of each layer that has a `qconfig` in its place, by `mapping`."""
    if mapping is None or is_reference:
        from kindling import _absent
        raise _absent.Missing("torch.ao.quantization.convert without a mapping is static quantisation, which is not there yet in Kindling")
    if not inplace:
        module = copy.deepcopy(module)
    _convert(module, mapping, (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class", {}))
    if remove_qconfig:
        for each in module.modules():
            each.__dict__.pop("qconfig", None)
    return module


def _convert(module, mapping, custom):
    swapped = {}
    for name, child in module.named_children():
        if type(child) not in custom:
            _convert(child, mapping, custom)
        swapped[name] = swap_module(child, mapping, custom)
    for name, child in swapped.items():
        module._modules[name] = child


def swap_module(mod, mapping, custom_module_class_mapping=None, use_precomputed_fake_quant=False):
    """The quantised form of a module, with its hooks; the module itself if there is none, or if it has no `qconfig`."""
    custom = custom_module_class_mapping or {}
    if getattr(mod, "qconfig", None) is None:
        return mod
    kind = _type_of(mod)
    if kind in custom:
        made = custom[kind].from_observed(mod)
    elif kind in mapping:
        made = mapping[kind].from_float(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        made.register_forward_hook(hook)
    devices = {each.device for each in mod.parameters()} | {each.device for each in mod.buffers()}
    if len(devices) == 1:
        made.to(devices.pop())
    return made
