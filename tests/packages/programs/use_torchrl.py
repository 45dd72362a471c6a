"""A small policy, generalised advantages, a PPO loss and a replay buffer."""
import logging

logging.disable(logging.INFO)
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

torch.manual_seed(0)
net = torch.nn.Sequential(MLP(in_features=3, out_features=4, num_cells=[16]), NormalParamExtractor())
actor = ProbabilisticActor(TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]), in_keys=["loc", "scale"],
                           distribution_class=TanhNormal, return_log_prob=True)
critic = ValueOperator(MLP(in_features=3, out_features=1, num_cells=[16]), in_keys=["observation"])
data = TensorDict({"observation": torch.randn(4, 10, 3), "next": {"observation": torch.randn(4, 10, 3), "reward": torch.randn(4, 10, 1),
                   "done": torch.zeros(4, 10, 1, dtype=torch.bool), "terminated": torch.zeros(4, 10, 1, dtype=torch.bool)}}, [4, 10])
with torch.no_grad():
    data = actor(data)
print("action", data["action"].sum().item(), data[actor.log_prob_keys[0] if hasattr(actor, "log_prob_keys") else "sample_log_prob"].sum().item())
GAE(gamma=0.9, lmbda=0.8, value_network=critic)(data)
print("advantage", data["advantage"].mean().item(), data["value_target"].std().item())
buffer = ReplayBuffer(storage=LazyTensorStorage(40), batch_size=16)
buffer.extend(data.reshape(-1))
loss = ClipPPOLoss(actor, critic)
optimizer = torch.optim.Adam(loss.parameters(), lr=0.01)
for _ in range(3):
    found = loss(data.reshape(-1))
    total = found["loss_objective"] + found["loss_critic"] + found["loss_entropy"]
    total.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("losses", found["loss_objective"].item(), found["loss_critic"].item())
print(len(buffer), buffer.sample()["observation"].shape)
