"""Spherical harmonics and a tensor product."""
import torch
from e3nn import o3

torch.manual_seed(0)
x = torch.randn(5, 3, requires_grad=True)
sh = o3.spherical_harmonics([0, 1, 2], x, normalize=True)
product = o3.FullyConnectedTensorProduct("1x0e+1x1o+1x2e", "1x1o", "2x0e+1x1o")
out = product(sh, x)
out.square().sum().backward()
print(sh.abs().sum().item(), out.abs().sum().item(), x.grad.abs().sum().item())
