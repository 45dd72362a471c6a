"""Structural similarity of images, at one scale and at several, as a loss."""
import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

torch.manual_seed(0)
a = torch.rand(2, 3, 192, 192)
b = (a + 0.1 * torch.randn_like(a)).clamp(0, 1).requires_grad_(True)
print("ssim", ssim(a, b, data_range=1, size_average=False).tolist(), ms_ssim(a, b, data_range=1, size_average=False).tolist())
loss = 1 - SSIM(data_range=1, channel=3)(a, b) + 1 - MS_SSIM(data_range=1, channel=3, win_sigma=1.0)(a, b)
loss.backward()
print("loss", loss.item(), b.grad.norm().item())
print("volume", ssim(torch.rand(1, 1, 16, 16, 16), torch.rand(1, 1, 16, 16, 16), data_range=1).item())
