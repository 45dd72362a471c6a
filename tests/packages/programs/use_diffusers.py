"""A tiny UNet and two schedulers."""
import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
                    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=4)
x, noise = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
training = DDPMScheduler(num_train_timesteps=100)
steps = torch.tensor([3, 70])
loss = torch.nn.functional.mse_loss(model(training.add_noise(x, noise, steps), steps).sample, noise)
loss.backward()
print("loss", loss.item(), sum(p.grad.abs().sum().item() for p in model.parameters()))
sampler = DDIMScheduler(num_train_timesteps=100)
sampler.set_timesteps(4)
with torch.no_grad():
    for t in sampler.timesteps:
        x = sampler.step(model(x, t).sample, t, x).prev_sample
print("sample", x.abs().mean().item())
