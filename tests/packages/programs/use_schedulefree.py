"""Optimisers without schedules, in training and in evaluation mode."""
import schedulefree
import torch

for kind in (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree, schedulefree.RAdamScheduleFree, schedulefree.AdamWScheduleFreeReference):
    for foreach in ((False, True) if "Reference" not in kind.__name__ else (None,)):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        optimizer = kind(model.parameters(), lr=0.05, **({} if foreach is None else {"foreach": foreach}))
        for _ in range(5):
            optimizer.train()
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        optimizer.eval()
        print(kind.__name__, foreach, loss.item(), torch.nn.functional.mse_loss(model(x), y).item())
