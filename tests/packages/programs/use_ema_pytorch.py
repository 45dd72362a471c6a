"""Moving averages of a model's weights, post hoc too."""
import torch
from ema_pytorch import EMA

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
ema = EMA(net, beta=0.99, update_after_step=1, update_every=1)
for _ in range(4):
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    net(torch.randn(5, 4))
    ema.update()
    print(ema.get_current_decay(), ema.ema_model[0].weight.sum().item(), ema.ema_model[1].running_mean.sum().item())
print(sorted(ema.state_dict())[:4], ema(torch.randn(3, 4)).sum().item())
ema.copy_params_from_ema_to_model()
print(net[2].weight.norm().item())
