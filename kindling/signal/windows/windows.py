"""Windows of M points. A symmetric one (``sym=True``) is for filters; the other, one period of a longer one, for spectra.

Every function takes M and, by name, ``sym``, ``dtype`` (float32 or float64), ``layout``, ``device`` and
``requires_grad``; ValueError for a negative M, another dtype or another layout.
"""
import math

import kindling as torch


def _checked(name, M, dtype, layout):
    dtype = torch.get_default_dtype() if dtype is None else dtype
    layout = torch.strided if layout is None else layout
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _ends(M, dtype, device, requires_grad):
    """The window of no or of one point; None for others."""
    return torch.ones((M,), dtype=dtype, device=device, requires_grad=requires_grad) if M < 2 else None


def _line(start, end, M, dtype, device, requires_grad):
    return torch.linspace(start=start, end=end, steps=M, dtype=dtype, device=device, requires_grad=requires_grad)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: "torch.dtype | None" = None,
                layout=None, device: "torch.device | None" = None, requires_grad: bool = False) -> torch.Tensor:
    """exp(-abs(n - center) / tau): a decay from the centre, (M - 1) / 2 where none is given."""
    dtype = _checked("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return _ends(M, dtype, device, requires_grad)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    k = _line(-center / tau, (-center + M - 1) / tau, M, dtype, device, requires_grad)
    return torch.exp(-torch.abs(k))


def cosine(M: int, *, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
           requires_grad: bool = False) -> torch.Tensor:
    """Half a period of the sine."""
    dtype = _checked("cosine", M, dtype, layout)
    if M == 0:
        return _ends(M, dtype, device, requires_grad)
    step = math.pi / (M + 1 if not sym and M > 1 else M)
    return torch.sin(_line(0.5 * step, (0.5 + M - 1) * step, M, dtype, device, requires_grad))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None,
             device: "torch.device | None" = None, requires_grad: bool = False) -> torch.Tensor:
    """The bell curve with standard deviation ``std``."""
    dtype = _checked("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return _ends(M, dtype, device, requires_grad)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    k = _line(start * scale, (start + M - 1) * scale, M, dtype, device, requires_grad)
    return torch.exp(-k ** 2)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None,
           device: "torch.device | None" = None, requires_grad: bool = False) -> torch.Tensor:
    """i0(beta sqrt(1 - x**2)) / i0(beta) for x from -1 to 1."""
    dtype = _checked("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _ends(M, dtype, device, requires_grad)
    whole = torch.tensor(beta, dtype=dtype, device=device)
    start = -beta
    step = 2.0 * beta / (M if not sym else M - 1)
    end = min(beta, start + (M - 1) * step)
    k = _line(start, end, M, dtype, device, requires_grad)
    return torch.i0(torch.sqrt(beta * beta - torch.pow(k, 2))) / torch.i0(whole)


def general_cosine(M, *, a, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
                   requires_grad: bool = False) -> torch.Tensor:
    """The sum of (-1)**i a[i] cos(2 pi i n / (M - 1)): most classical windows. ``a`` is a list or tuple."""
    dtype = _checked("general_cosine", M, dtype, layout)
    if M < 2:
        return _ends(M, dtype, device, requires_grad)
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * math.pi / (M if not sym else M - 1)
    k = _line(0, (M - 1) * step, M, dtype, device, requires_grad)
    signed = torch.tensor([(-1) ** i * weight for i, weight in enumerate(a)], dtype=dtype, device=device,
                          requires_grad=requires_grad)
    i = torch.arange(signed.shape[0], dtype=dtype, device=device, requires_grad=requires_grad)
    return (signed.unsqueeze(-1) * torch.cos(i.unsqueeze(-1) * k)).sum(0)


def general_hamming(M, *, alpha: float = 0.54, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None,
                    device: "torch.device | None" = None, requires_grad: bool = False) -> torch.Tensor:
    """alpha - (1 - alpha) cos."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
            requires_grad: bool = False) -> torch.Tensor:
    """0.54 - 0.46 cos."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
         requires_grad: bool = False) -> torch.Tensor:
    """Half of 1 - cos."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
             requires_grad: bool = False) -> torch.Tensor:
    """0.42 - 0.5 cos + 0.08 cos 2."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def nuttall(M: int, *, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
            requires_grad: bool = False) -> torch.Tensor:
    """Four terms with small side lobes (Nuttall, 1981)."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


def bartlett(M: int, *, sym: bool = True, dtype: "torch.dtype | None" = None, layout=None, device: "torch.device | None" = None,
             requires_grad: bool = False) -> torch.Tensor:
    """A triangle that starts and ends at 0."""
    dtype = _checked("bartlett", M, dtype, layout)
    if M < 2:
        return _ends(M, dtype, device, requires_grad)
    step = 2 / (M if not sym else M - 1)
    k = _line(-1, -1 + (M - 1) * step, M, dtype, device, requires_grad)
    return 1 - torch.abs(k)
