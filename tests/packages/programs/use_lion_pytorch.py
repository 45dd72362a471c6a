"""Three steps of Lion."""
import torch
from lion_pytorch import Lion

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = Lion(model.parameters(), lr=1e-2, weight_decay=0.1)
x = torch.randn(8, 4)
for _ in range(3):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
