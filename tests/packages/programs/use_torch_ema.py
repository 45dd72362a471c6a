"""Moving averages of parameters."""
import torch
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
average = ExponentialMovingAverage(model.parameters(), decay=0.9)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    average.update()
with average.average_parameters():
    print(model.weight.tolist())
print(model.weight.tolist())
