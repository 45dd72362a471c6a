"""Padding layers. Widths are one number for all sides, or (left, right) pairs from the last dimension on."""
from kindling.nn import functional as F
from kindling.nn.modules.module import Module
from kindling.nn.modules.utils import _ntuple

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
           "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(Module):
    """Padding by one of F.pad's modes, over as many dimensions as the class says."""

    __constants__ = ["padding"]
    _dimensions = 1
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._dimensions)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def _check_input_dim(self, input):
        if input.dim() not in (self._dimensions + 1, self._dimensions + 2):
            raise ValueError(f"expected {self._dimensions + 1}D or {self._dimensions + 2}D input "
                             f"(got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Pads (N, C, L) or (C, L) with the values of the other end. ValueError for other dimensions."""


class CircularPad2d(_CircularPadNd):
    """Pads (N, C, H, W) or (C, H, W) with the values of the other ends. ValueError for other dimensions."""

    _dimensions = 2


class CircularPad3d(_CircularPadNd):
    """Pads (N, C, D, H, W) or (C, D, H, W) with the values of the other ends. ValueError for other dimensions."""

    _dimensions = 3


class _ConstantPadNd(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with one value."""


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with one value."""

    _dimensions = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with one value."""

    _dimensions = 3


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension by mirroring at the edges."""


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions by mirroring at the edges."""

    _dimensions = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions by mirroring at the edges."""

    _dimensions = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dimension with the edges' values."""


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dimensions with the edges' values."""

    _dimensions = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions with the edges' values."""

    _dimensions = 3


class _Zero:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_Zero, ConstantPad1d):
    """Pads the last dimension with zeros."""


class ZeroPad2d(_Zero, ConstantPad2d):
    """Pads the last two dimensions with zeros."""


class ZeroPad3d(_Zero, ConstantPad3d):
    """Pads the last three dimensions with zeros."""
