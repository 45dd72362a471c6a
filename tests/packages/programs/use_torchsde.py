"""A stochastic differential equation."""
import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def f(self, t, y):
        return -y

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


motion = torchsde.BrownianInterval(0.0, 1.0, size=(2, 3), entropy=5, levy_area_approximation="space-time")
print(torchsde.sdeint(Equation(), torch.ones(2, 3), torch.linspace(0, 1, 5), bm=motion, dt=0.1).tolist())
