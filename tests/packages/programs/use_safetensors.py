"""Tensors in a file and out of it."""
import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.randn(2).bfloat16(), "d": torch.tensor([True, False])}
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})
    for name, value in load_file(path).items():
        print(name, value.dtype, value.tolist())
    with safe_open(path, framework="pt") as file:
        print(file.metadata(), file.get_slice("a")[1:, :2].tolist())
    model = torch.nn.Linear(2, 2)
    save_model(model, path)
    print(load_model(torch.nn.Linear(2, 2), path))
print(load(save(tensors))["a"].sum().item())
