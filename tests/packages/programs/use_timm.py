"""Small networks of three families, forward and backward, and features."""
import timm
import torch

for name, options in (("resnet10t", {}), ("vit_tiny_patch16_224", {"img_size": 32, "depth": 2}), ("mobilenetv3_small_050", {})):
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=5, **options).eval()
    out = model(torch.randn(2, 3, 32, 32))
    torch.nn.functional.cross_entropy(out, torch.tensor([1, 3])).backward()
    print(name, out.tolist(), sum(p.grad.abs().sum().item() for p in model.parameters()))
model = timm.create_model("resnet10t", features_only=True).eval()
print([tuple(each.shape) for each in model(torch.zeros(1, 3, 32, 32))])
