"""Convolutions whose in_channels is that of the first input."""
from kindling.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from kindling.nn.modules.lazy import LazyModuleMixin
from kindling.nn.parameter import UninitializedParameter

__all__ = ["LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
           "LazyConvTranspose3d"]


class _LazyConvXdMixin(LazyModuleMixin):
    def reset_parameters(self):
        # The ordinary constructor calls this with in_channels still 0.
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.transposed:
            shape = (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        else:
            shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        self.weight.materialize(shape)
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        spatial = self._get_num_spatial_dims()
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        return input.shape[1] if input.dim() == spatial + 2 else input.shape[0]

    def _make_lazy(self, out_channels, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _get_num_spatial_dims(self):
        return len(self.kernel_size)


class _Forward(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1, bias: bool = True,
                 padding_mode="zeros", device=None, dtype=None):
        # The parent makes no bias: its size would draw random numbers now.
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _Transposed(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1, bias: bool = True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
                         device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_Forward, Conv1d):
    """A Conv1d whose in_channels is that of the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_Forward, Conv2d):
    """A Conv2d whose in_channels is that of the first input."""

    cls_to_become = Conv2d


class LazyConv3d(_Forward, Conv3d):
    """A Conv3d whose in_channels is that of the first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_Transposed, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels is that of the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_Transposed, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels is that of the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_Transposed, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels is that of the first input."""

    cls_to_become = ConvTranspose3d


for _class in (LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d):
    _class.__module__ = __name__.partition(".")[0] + ".nn.modules.conv"
