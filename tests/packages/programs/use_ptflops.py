"""Counts of multiply-adds and parameters by layer."""
import sys

import torch
import torchvision
from ptflops import get_model_complexity_info

torch.manual_seed(0)
for backend in ("pytorch", "aten"):
    macs, params = get_model_complexity_info(torchvision.models.resnet18(), (3, 64, 64), as_strings=False, print_per_layer_stat=False, backend=backend)
    print(backend, macs, params)
macs, params = get_model_complexity_info(torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.ReLU(), torch.nn.BatchNorm1d(4)), (2, 10), as_strings=True,
                                         print_per_layer_stat=True, backend="pytorch", ost=sys.stdout)
print(macs, params)
