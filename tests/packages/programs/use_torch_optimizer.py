"""Optimisers: a few steps of each on the same small problem."""
import torch
import torch_optimizer as optim

for name in ("AccSGD", "AdaBelief", "AdaBound", "AdaMod", "Adafactor", "AdamP", "AggMo", "Apollo", "DiffGrad", "Lamb", "MADGRAD", "NovoGrad", "PID", "QHAdam",
             "QHM", "RAdam", "Ranger", "RangerQH", "RangerVA", "SGDP", "SGDW", "SWATS", "Shampoo", "Yogi"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    kind = getattr(optim, name)
    optimizer = kind(model.parameters()) if name == "Adafactor" else kind(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(name, loss.item())
