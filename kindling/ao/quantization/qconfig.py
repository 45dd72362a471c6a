"""Configurations: which observer a layer's input and weight get."""
from collections import namedtuple

import kindling as torch

from .fake_quantize import (
    FakeQuantizeBase,
    default_dynamic_fake_quant,
    default_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from .observer import (
    ObserverBase,
    PlaceholderObserver,
    _PartialWrapper,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
)

__all__ = ["QConfig", "default_qconfig", "default_debug_qconfig", "default_per_channel_qconfig", "default_dynamic_qconfig",
           "float16_dynamic_qconfig", "float16_static_qconfig", "per_channel_dynamic_qconfig", "float_qparams_weight_only_qconfig",
           "float_qparams_weight_only_qconfig_4bit", "default_qat_qconfig", "default_dynamic_qat_qconfig", "default_weight_only_qconfig",
           "default_activation_only_qconfig", "qconfig_equals"]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What makes the observers of a layer's input and of its weight."""

    __slots__ = ()

    def __new__(cls, activation, weight):
        if isinstance(activation, torch.nn.Module) or isinstance(weight, torch.nn.Module):
            raise ValueError("QConfig received observer instance, please pass observer class instead. "
                             "Use MyObserver.with_args(x=1) to override arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
float16_dynamic_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True), PlaceholderObserver.with_args(dtype=torch.float16))
float16_static_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16), PlaceholderObserver.with_args(dtype=torch.float16))
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer, default_float_qparams_observer)
float_qparams_weight_only_qconfig_4bit = QConfig(default_placeholder_observer, default_float_qparams_observer_4bit)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(torch.nn.Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, torch.nn.Identity)
default_qat_per_channel_qconfig = QConfig(default_fake_quant, default_per_channel_weight_fake_quant)
_MAKERS = (_PartialWrapper, ObserverBase, FakeQuantizeBase)


def qconfig_equals(q1, q2):
    """Whether two configurations make the same observers."""
    if q1 is None or q2 is None:
        return q1 is q2
    return _same(q1.activation, q2.activation) and _same(q1.weight, q2.weight)


def _same(one, other):
    if isinstance(one, _PartialWrapper) and isinstance(other, _PartialWrapper):
        return one.p.func == other.p.func and one.p.keywords == other.p.keywords and one.p.args == other.p.args
    return one == other


def _activation_is_memoryless(qconfig):
    return getattr(qconfig.activation(), "is_dynamic", False)


def _add_module_to_qconfig_obs_ctr(qconfig, module):
    return qconfig
