"""Controlled differential equations over splines."""
import torch
import torchcde

torch.manual_seed(0)
x = torch.rand(3, 8, 2)
x[0, 3, 1] = float("nan")
coeffs = torchcde.hermite_cubic_coefficients_with_backward_differences(x)
path = torchcde.CubicSpline(coeffs)
print("spline", path.evaluate(torch.tensor(2.5)).sum().item(), path.derivative(torch.tensor(2.5)).sum().item(), path.interval.tolist())
print("linear", torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x)).evaluate(torch.tensor(3.3))[0].tolist())


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 2)


field, start = Field(), torch.nn.Linear(2, 4)
for adjoint in (False, True):
    z = torchcde.cdeint(X=path, func=field, z0=start(path.evaluate(path.interval[0])), t=path.interval, adjoint=adjoint, method="rk4", options={"step_size": 0.5})
    z[:, -1].square().sum().backward()
    print("cde", z[:, -1].sum().item(), field.linear.weight.grad.norm().item())
    field.zero_grad()
