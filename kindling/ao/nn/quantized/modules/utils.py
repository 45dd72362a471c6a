"""What quantised layers share."""
import kindling as torch

__all__ = ["WeightedQuantizedModule"]


class WeightedQuantizedModule(torch.nn.Module):
    """A quantised layer with a weight; made of another layer by `from_float` or `from_reference`."""

    @classmethod
    def from_reference(cls, ref_module, output_scale, output_zero_point):
        raise NotImplementedError


def _quantize_weight(float_wt, observer):
    """The weight, quantised as the observer has seen fit."""
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        return torch.quantize_per_tensor(float_wt, float(scale), int(zero_point), torch.qint8)
    if observer.qscheme in (torch.per_channel_symmetric, torch.per_channel_affine):
        return torch.quantize_per_channel(float_wt, scale.to(torch.double), zero_point.to(torch.int64), observer.ch_axis, torch.qint8)
    if observer.qscheme == torch.per_channel_affine_float_qparams:
        return torch.quantize_per_channel(float_wt, scale.to(torch.float), zero_point.to(torch.float), observer.ch_axis, observer.dtype)
    raise ValueError(f"Unexpected qscheme {observer.qscheme}")
