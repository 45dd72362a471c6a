"""Colours, filters, geometry and losses."""
import kornia
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 16, 16, requires_grad=True)
hsv = kornia.color.rgb_to_hsv(image)
blurred = kornia.filters.gaussian_blur2d(image, (3, 3), (1.0, 1.0))
turned = kornia.geometry.rotate(image, torch.tensor([30.0]))
loss = kornia.losses.ssim_loss(blurred, turned, 5) + hsv.mean() + kornia.filters.sobel(image).mean()
loss.backward()
print(loss.item(), image.grad.abs().sum().item())
print(kornia.morphology.dilation(image.detach(), torch.ones(3, 3)).mean().item(), kornia.geometry.get_perspective_transform(
    torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1]]]), torch.tensor([[[0.0, 0], [2, 0], [2, 3], [0, 1]]])).tolist())
