"""Optimisers and schedulers by name: a few steps of each on the same small problem."""
import torch
from pytorch_optimizer import create_optimizer, get_chebyshev_perm_steps, get_supported_optimizers, load_optimizer

print(len(get_supported_optimizers()) > 50, get_chebyshev_perm_steps(8).tolist())
for name in ("adamp", "adan", "lion", "sophiah", "prodigy", "came", "galore", "adopt", "ranger21", "shampoo", "muon", "tiger", "novograd", "lars", "yogi", "stableadamw", "schedulefreeadamw"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    kind = load_optimizer(name)
    if name == "ranger21":
        optimizer = kind(model.parameters(), num_iterations=10, lr=0.01)
    elif name == "muon":
        optimizer = kind([{"params": [p for p in model.parameters() if p.ndim == 2], "use_muon": True},
                          {"params": [p for p in model.parameters() if p.ndim < 2], "use_muon": False}])
    else:
        optimizer = kind(model.parameters(), lr=0.01)
    if hasattr(optimizer, "train"):
        optimizer.train()
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward(create_graph=name == "sophiah")
        optimizer.step()
    print(name, loss.item())
print(type(create_optimizer(model, "lion", lr=0.1, weight_decay=0.1, use_lookahead=True)).__name__)
