"""Gradients of convolutions with respect to their input and weight, by hand."""
import kindling as torch
from kindling.nn.modules.utils import _pair, _single, _triple


def _backward(input, weight, grad_output, stride, padding, dilation, groups, dimensions, which):
    mask = [place == which for place in range(2)] + [False]
    return torch.ops.aten.convolution_backward(grad_output, input, weight, None, stride, padding, dilation, False,
                                               [0] * dimensions, groups, mask)[which]


def _input(dimensions, ntuple):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        # The values of the input play no part: an expanded scalar stands for it.
        input = grad_output.new_empty(1).expand(input_size)
        return _backward(input, weight, grad_output, ntuple(stride), ntuple(padding), ntuple(dilation), groups,
                         dimensions, 0)
    gradient.__name__ = gradient.__qualname__ = f"conv{dimensions}d_input"
    gradient.__doc__ = f"The gradient of a {dimensions}-D convolution's input, of size input_size."
    return gradient


def _weight(dimensions, ntuple):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = grad_output.new_empty(1).expand(weight_size)
        return _backward(input, weight, grad_output, ntuple(stride), ntuple(padding), ntuple(dilation), groups,
                         dimensions, 1)
    gradient.__name__ = gradient.__qualname__ = f"conv{dimensions}d_weight"
    gradient.__doc__ = f"The gradient of a {dimensions}-D convolution's weight, of size weight_size."
    return gradient


conv1d_input, conv2d_input, conv3d_input = _input(1, _single), _input(2, _pair), _input(3, _triple)
conv1d_weight, conv2d_weight, conv3d_weight = _weight(1, _single), _weight(2, _pair), _weight(3, _triple)
