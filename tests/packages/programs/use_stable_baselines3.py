"""PPO on a pole for a hundred steps."""
import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=2, seed=0, device="cpu")
model.learn(64)
print(sum(p.abs().sum().item() for p in model.policy.parameters()))
