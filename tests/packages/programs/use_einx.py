"""Tensor operations by their pictures."""
import einx
import torch

torch.manual_seed(0)
x = torch.randn(2, 3, 4)
print(einx.mean("a [b] c", x).tolist(), einx.dot("a b [c], [c] d -> a b d", x, torch.ones(4, 2)).sum().item())
