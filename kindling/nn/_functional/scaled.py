"""Products of eight-bit floating numbers with scales."""
import enum

import kindling as torch

__all__ = ["ScalingType", "SwizzleType", "scaled_mm"]


class ScalingType(enum.IntEnum):
    """What a scale holds for."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How scales of blocks lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _single(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def scaled_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, scale_a: torch.Tensor | list[torch.Tensor], scale_recipe_a,
              scale_b: torch.Tensor | list[torch.Tensor], scale_recipe_b, swizzle_a=None, swizzle_b=None, bias: torch.Tensor | None = None,
              output_dtype: torch.dtype | None = torch.bfloat16, contraction_dim: list[int] | tuple[int, ...] = (),
              use_fast_accum: bool = False) -> torch.Tensor:
    """(mat_a @ mat_b) times both scales, plus a bias; summed in float32. Scales hold for a whole matrix, or for each row and column.

    ValueError for other scales: those of blocks need a GPU.
    """
    if mat_a.dim() != 2 or mat_b.dim() != 2:
        raise ValueError(f"{'mat_a' if mat_a.dim() != 2 else 'mat_b'} must be a matrix")
    (rows, inner), (other, columns) = mat_a.shape, mat_b.shape
    if inner != other:
        raise ValueError(f"mat_a and mat_b shapes cannot be multiplied ({rows}x{inner} and {other}x{columns})")
    scales, recipes = [*_single(scale_a), *_single(scale_b)], [*_single(scale_recipe_a), *_single(scale_recipe_b)]
    float8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
    fits = len(scales) == len(recipes) == 2 and mat_a.dtype in float8 and mat_b.dtype in float8 and all(
        each.dtype == torch.float32 for each in scales)
    whole = fits and recipes == [ScalingType.TensorWise] * 2 and all(each.numel() == 1 for each in scales)
    by_row = fits and recipes == [ScalingType.RowWise] * 2 and [each.numel() for each in scales] == [rows, columns]
    if not (whole or by_row):
        raise ValueError("Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
                         "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be "
                         f"({rows}, 1) and scale_b should be (1, {columns}).\nGot mat_a.dtype()={mat_a.dtype}, scale_a.dtype()={scales[0].dtype}, "
                         f"mat_b.dtype()={mat_b.dtype}, scale_b.dtype()={scales[-1].dtype}")
    shapes = ((), ()) if whole else ((rows, 1), (1, columns))
    result = torch.mm(mat_a.to(torch.float32), mat_b.to(torch.float32))
    for scale, shape in zip(scales, shapes):
        result = result * scale.reshape(shape)
    if bias is not None:
        result = result + bias.to(torch.float32)
    return result.to(mat_a.dtype if output_dtype is None else output_dtype)
