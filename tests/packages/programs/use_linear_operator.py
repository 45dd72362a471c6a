"""Operators that are never written out."""
import torch
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator, KroneckerProductLinearOperator, ToeplitzLinearOperator

torch.manual_seed(0)
a = torch.randn(5, 5, dtype=torch.float64)
spd = to_linear_operator(a @ a.T) + DiagLinearOperator(torch.ones(5, dtype=torch.float64))
b = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
value = spd.solve(b).sum() + spd.logdet() + spd.inv_quad(b)
value.backward()
print(value.item(), b.grad.tolist())
print(KroneckerProductLinearOperator(spd, spd).to_dense().sum().item(), ToeplitzLinearOperator(torch.arange(4.0).flip(0)).matmul(torch.ones(4)).tolist())
