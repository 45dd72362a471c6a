"""A differential equation, its gradients by the adjoint method."""
import torch
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, t, y):
        return self.net(y)


y = odeint_adjoint(Field(), torch.ones(3, 2), torch.linspace(0, 1, 4), rtol=1e-5, atol=1e-6)
y[-1].square().sum().backward()
print(y[-1].tolist(), sum(p.grad.abs().sum().item() for p in net.parameters()))
print(odeint(lambda t, y: -y, torch.ones(1), torch.tensor([0.0, 1.0]), method="rk4").tolist())
