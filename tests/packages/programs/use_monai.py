"""Transforms, a UNet, a loss and a metric."""
import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, RandFlip, ScaleIntensity, Spacing
from monai.utils import set_determinism

set_determinism(0)
image = Compose([ScaleIntensity(), RandFlip(prob=0.5)])(torch.rand(1, 16, 16))
model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,)).eval()
out = model(torch.as_tensor(image)[None])
target = (torch.rand(1, 1, 16, 16) > 0.5).float()
loss = DiceLoss(to_onehot_y=True, softmax=True)(out, target)
loss.backward()
print(loss.item(), sum(p.grad.abs().sum().item() for p in model.parameters()))
with torch.no_grad():
    print(sliding_window_inference(torch.rand(1, 1, 24, 24), (16, 16), 2, model).abs().sum().item())
metric = DiceMetric()
metric(out.argmax(1, keepdim=True).float(), target)
print(metric.aggregate().item(), Spacing((2.0, 2.0))(torch.rand(1, 8, 8)).shape)
