"""DeepSpeed's import, and what needs no process group: schedules, module layers, flat buffers."""
import logging

logging.disable(logging.WARNING)
import deepspeed
import torch
from deepspeed.ops.adam import DeepSpeedCPUAdam, FusedAdam
from deepspeed.runtime.lr_schedules import WarmupDecayLR
from deepspeed.runtime.utils import clip_grad_norm_, partition_balanced

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = WarmupDecayLR(optimizer, total_num_steps=10, warmup_num_steps=3, warmup_max_lr=0.1)
for _ in range(4):
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    schedule.step()
    print("rate", schedule.get_last_lr())
print("balanced", partition_balanced([1, 2, 3, 4, 5], 2), "version", deepspeed.__version__ >= "0.1")
print(DeepSpeedCPUAdam.__name__, FusedAdam.__name__, deepspeed.get_accelerator().device_name())
print("flat", torch._utils._flatten_dense_tensors([torch.ones(2), torch.zeros(3)]).tolist(), callable(clip_grad_norm_))
