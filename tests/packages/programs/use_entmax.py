"""Sparse softmaxes, their losses and gradients."""
import torch
from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, normmax_bisect, sparsemax, sparsemax_bisect

torch.manual_seed(0)
x = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
for f in (sparsemax, entmax15, sparsemax_bisect, lambda x, dim: normmax_bisect(x, alpha=2, dim=dim), lambda x, dim: entmax_bisect(x, alpha=torch.tensor(1.3), dim=dim)):
    y = f(x, dim=-1)
    (y * torch.arange(6)).sum().backward()
    print(y[0].tolist(), x.grad.norm().item())
    x.grad = None
target = torch.tensor([0, 3, 5])
for loss in (SparsemaxLoss(), Entmax15Loss(reduction="sum")):
    value = loss(x, target)
    value.backward()
    print(type(loss).__name__, value.item(), x.grad.norm().item())
