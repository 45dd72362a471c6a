"""The logarithms of probabilities that trl's trainers use."""
import torch
from trl.trainer.utils import selective_log_softmax

torch.manual_seed(0)
logits = torch.randn(2, 5, 11, requires_grad=True)
values = selective_log_softmax(logits, torch.randint(0, 11, (2, 5)))
values.sum().backward()
print(values.sum().item(), logits.grad.abs().sum().item())
