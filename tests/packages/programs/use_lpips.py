"""The perceptual distance with untrained networks, and its gradient."""
import lpips
import torch

torch.manual_seed(0)
a, b = torch.rand(2, 3, 64, 64) * 2 - 1, torch.rand(2, 3, 64, 64) * 2 - 1
for net in ("squeeze", "alex"):
    model = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False, eval_mode=True)
    a.requires_grad_(True)
    distance = model(a, b)
    distance.sum().backward()
    print(net, distance.flatten().tolist(), a.grad.norm().item())
    a.grad = None
print(lpips.L2(colorspace="RGB", use_gpu=False)(a[:1], b[:1]).item(), lpips.normalize_tensor(a).norm().item())
