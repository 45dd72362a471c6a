"""The linear layer of dynamic quantisation."""
import kindling as torch
from kindling.ao.nn.quantized.modules import linear as _packed
from kindling.ao.nn.quantized.modules.utils import _quantize_weight

__all__ = ["Linear"]


class Linear(_packed.Linear):
    """A linear layer with a weight in qint8 or float16 and input and output in float32.

    With qint8 the input is quantised by its own range at each call, and products are those of whole numbers.
    """

    _version = 4

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = self._version

    def forward(self, x):
        packed = self._packed_params
        if packed.dtype == torch.qint8:
            narrow = self.version is not None and self.version >= 4
            result = torch.ops.quantized.linear_dynamic(x, packed._packed_params, reduce_range=narrow)
        elif packed.dtype == torch.float16:
            result = torch.ops.quantized.linear_dynamic_fp16(x, packed._packed_params)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return result.to(x.dtype)

    def _get_name(self):
        return "DynamicQuantizedLinear"

    def extra_repr(self):
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return text + f", qscheme={self.weight().qscheme()}" if self._packed_params.dtype == torch.qint8 else text

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """The quantised layer of a float32 one, by the observer of weights in its `qconfig`."""
        if type(mod) not in cls._FLOAT_MODULE and not isinstance(mod, torch.nn.Linear):
            raise AssertionError("nn.quantized.dynamic.Linear.from_float only works for one of "
                                 + str([each.__name__ for each in cls._FLOAT_MODULE]))
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if mod.qconfig is not None and mod.qconfig.weight is not None:
            observer = mod.qconfig.weight()
        else:
            from kindling.ao.quantization.qconfig import default_dynamic_qconfig
            observer = default_dynamic_qconfig.weight()
        dtype = observer.dtype
        if dtype not in (torch.qint8, torch.float16):
            raise AssertionError(f"The only supported dtypes for dynamic quantized linear are qint8 and float16 got: {dtype}")
        observer(mod.weight)
        weight = _quantize_weight(mod.weight.float(), observer) if dtype == torch.qint8 else mod.weight.float()
        made = cls(mod.in_features, mod.out_features, dtype=dtype)
        made.set_weight_bias(weight, mod.bias)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear):
        """The quantised layer of a reference layer, which knows its quantised weight."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features, dtype=ref_qlinear.weight_dtype)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        return made
