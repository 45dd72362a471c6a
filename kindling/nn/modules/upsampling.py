"""Resampling layers."""
import kindling as torch
from kindling.nn import functional as F
from kindling.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"]


class Upsample(Module):
    """Resamples (N, C, *) to a size or by a factor; the modes are those of F.interpolate."""

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(self, size: int | tuple[int, ...] | None = None, scale_factor: float | tuple[float, ...] | None = None, mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None):
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def __setstate__(self, state):
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self):
        given = (f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}")
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Old name of Upsample(mode="nearest")."""

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Old name of Upsample(mode="bilinear", align_corners=True)."""

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
