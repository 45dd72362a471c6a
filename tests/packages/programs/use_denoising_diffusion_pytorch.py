"""A tiny diffusion model: the loss, a step, samples from a seed."""
import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D

torch.manual_seed(0)
model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False, attn_heads=2, attn_dim_head=8)
diffusion = GaussianDiffusion(model, image_size=8, timesteps=5, sampling_timesteps=3)
optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
images = torch.rand(2, 3, 8, 8)
for _ in range(2):
    loss = diffusion(images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
with torch.no_grad():
    print("sample", diffusion.sample(batch_size=2).mean((1, 2, 3)).tolist())
flat = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=5, objective="pred_v")
print("1d", flat(torch.rand(2, 2, 16)).item())
