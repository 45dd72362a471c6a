"""Layers and optimiser wrappers that need no process group."""
import torch
from fairscale.nn import FlattenParamsWrapper, checkpoint_wrapper
from fairscale.nn.misc import GradBucket
from fairscale.optim import AdaScale

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
wrapped = FlattenParamsWrapper(net)
x = torch.randn(6, 4)
print([tuple(p.shape) for p in wrapped.parameters()], wrapped(x).sum().item(), sorted(wrapped.state_dict()))
saved = checkpoint_wrapper(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))
optimizer = AdaScale(torch.optim.SGD(saved.parameters(), lr=0.1), num_gradients_to_accumulate=2)
for _ in range(3):
    for _ in range(2):
        loss = saved(x.requires_grad_(True)).square().mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item(), optimizer.gain())
bucket = GradBucket(12, torch.float, torch.device("cpu"), destination=0)
p = torch.nn.Parameter(torch.ones(3))
p.grad = torch.full((3,), 2.0)
print("bucket", bucket.can_add_grad_view(p))
