"""Memory formats of convolutions' weights."""
from kindling.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, kinds):
    if isinstance(module, kinds):
        # A copy first: the parameter may be a view with strides of its own.
        module.weight.data = module.weight.detach().clone().contiguous(memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Puts the weights of all Conv2d and ConvTranspose2d in `module` into this format; answers the module."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Puts the weights of all Conv3d and ConvTranspose3d in `module` into this format; answers the module."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
