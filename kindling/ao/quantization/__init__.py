"""Quantisation of models: observers, configurations and `quantize_dynamic`."""
import kindling as _kindling
from kindling import _absent as _declared

# The names of each file: its `__all__`.
_NAMES = {
    "fake_quantize":
        "FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize "
        "default_affine_fixed_qparams_fake_quant default_dynamic_fake_quant default_embedding_fake_quant "
        "default_fake_quant default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant "
        "default_fused_act_fake_quant default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant "
        "default_per_channel_weight_fake_quant default_symmetric_fixed_qparams_fake_quant default_weight_fake_quant "
        "disable_fake_quant disable_observer enable_fake_quant enable_observer "
        "fused_per_channel_wt_fake_quant_range_neg_127_to_127 fused_wt_fake_quant_range_neg_127_to_127",
    "observer":
        "default_affine_fixed_qparams_observer default_debug_observer default_dynamic_quant_observer "
        "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer "
        "default_float_qparams_observer default_float_qparams_observer_4bit default_observer "
        "default_per_channel_weight_observer default_placeholder_observer default_symmetric_fixed_qparams_observer "
        "default_weight_observer per_channel_weight_observer_range_neg_127_to_127 weight_observer_range_neg_127_to_127 "
        "FixedQParamsObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver "
        "NoopObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver RecordingObserver "
        "UniformQuantizationObserverBase",
    "qconfig":
        "QConfig default_qconfig default_debug_qconfig default_per_channel_qconfig default_dynamic_qconfig "
        "float16_dynamic_qconfig float16_static_qconfig per_channel_dynamic_qconfig float_qparams_weight_only_qconfig "
        "float_qparams_weight_only_qconfig_4bit default_qat_qconfig default_dynamic_qat_qconfig "
        "default_weight_only_qconfig default_activation_only_qconfig qconfig_equals",
    "quant_type": "QuantType",
    "quantization_mappings": "get_default_dynamic_quant_module_mappings get_dynamic_quant_module_class",
    "quantize": "propagate_qconfig_ convert quantize_dynamic swap_module",
    "stubs": "QuantStub DeQuantStub QuantWrapper",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOMES)
# As in PyTorch: the function that quantises a model statically hides the module of that name.
quantize = _declared.function(__name__, "quantize", "torch.ao.quantization.quantize")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("fake_quantize", "observer", "qconfig", "quant_type", "quantization_mappings", "stubs",
                                                                 "utils"), ("quantize",))
