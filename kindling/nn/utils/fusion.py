"""Batch normalisation in evaluation folded into the layer before it."""
import kindling as torch
from kindling.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check(condition, text):
    if not condition:
        raise AssertionError(text)


def _prepare(layer, bn):
    _check(not (layer.training or bn.training), "Fusion only for eval!")
    _check(bn.running_mean is not None and bn.running_var is not None, "bn.running_mean and bn.running_var must not be "
                                                                        "None")
    from copy import deepcopy
    return deepcopy(layer)


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A copy of the convolution that computes bn(conv(x)). AssertionError unless both are in evaluation."""
    fused = _prepare(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias, transpose)
    return fused


def fuse_conv_bn_weights(conv_w: torch.Tensor, conv_b: torch.Tensor | None, bn_rm: torch.Tensor, bn_rv: torch.Tensor, bn_eps: float,
                         bn_w: torch.Tensor | None, bn_b: torch.Tensor | None, transpose: bool = False):
    """Weight and bias of the fused convolution; `transpose` for a transposed one."""
    weight_dtype = conv_w.dtype
    bias_dtype = conv_b.dtype if conv_b is not None else weight_dtype
    conv_b = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = torch.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = torch.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = torch.rsqrt(bn_rv + bn_eps)
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * (bn_w * scale).reshape(shape + [1] * (len(conv_w.shape) - 2))).to(dtype=weight_dtype)
    bias = ((conv_b - bn_rm) * scale * bn_w + bn_b).to(dtype=bias_dtype)
    return (Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b.requires_grad))


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear layer that computes bn(linear(x)). AssertionError unless both are in evaluation."""
    _check(not (linear.training or bn.training), "Fusion only for eval!")
    _check(linear.out_features == bn.num_features or bn.num_features == 1,
           "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
           f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused = _prepare(linear, bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                      bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w: torch.Tensor, linear_b: torch.Tensor | None, bn_rm: torch.Tensor, bn_rv: torch.Tensor, bn_eps: float,
                           bn_w: torch.Tensor, bn_b: torch.Tensor):
    """Weight and bias of the fused linear layer."""
    weight_dtype = linear_w.dtype
    bias_dtype = linear_b.dtype if linear_b is not None else weight_dtype
    linear_b = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=weight_dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, linear_b.requires_grad)
