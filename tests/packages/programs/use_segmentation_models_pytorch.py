"""A Unet over a small encoder."""
import segmentation_models_pytorch as smp
import torch

torch.manual_seed(0)
model = smp.Unet("resnet18", encoder_weights=None, classes=2).eval()
out = model(torch.randn(1, 3, 32, 32))
loss = smp.losses.DiceLoss("multiclass")(out, torch.randint(0, 2, (1, 32, 32)))
loss.backward()
print(out.abs().sum().item(), loss.item())
