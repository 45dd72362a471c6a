"""Tensors under names: indexing, stacking, modules over keys, tensor classes, saving."""
import tempfile

import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
data = TensorDict({"a": torch.randn(4, 3), "nested": {"b": torch.arange(8.0).view(4, 2)}}, batch_size=[4])
print(data["nested", "b"].sum().item(), data[1:3].batch_size, sorted(map(str, data.keys(True))))
data["c"] = data["a"].relu()
stacked = torch.stack([data, data * 2])
print(stacked.batch_size, stacked["c"].sum().item(), stacked.reshape(8)["a"][5].tolist())
module = TensorDictSequential(TensorDictModule(torch.nn.Linear(3, 5), in_keys=["a"], out_keys=["hidden"]),
                              TensorDictModule(torch.nn.Tanh(), in_keys=["hidden"], out_keys=["out"]))
out = module(data.clone())
out["out"].square().sum().backward()
print("out", out["out"].sum().item(), "grad", module[0].module.weight.grad.norm().item())


@tensorclass
class Point:
    x: torch.Tensor
    y: torch.Tensor


points = Point(x=torch.randn(5), y=torch.ones(5), batch_size=[5])
print(points[2:].x.tolist(), points.to(torch.float64).y.dtype, torch.cat([points, points]).batch_size)
params = TensorDict.from_module(module)
print("params", sorted(".".join(key) if isinstance(key, tuple) else key for key in params.keys(True, True)))
with params.apply(torch.zeros_like).to_module(module):
    print("zeros", module(data.clone())["out"].abs().sum().item())
with tempfile.TemporaryDirectory() as folder:
    data.memmap(folder)
    print("memmap", TensorDict.load_memmap(folder)["a"].sum().item())
