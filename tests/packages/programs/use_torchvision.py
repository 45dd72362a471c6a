"""Transforms, a network, boxes and a grid of images."""
import torch
import torchvision
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2

torch.manual_seed(0)
image = torch.randint(0, 255, (3, 40, 40), dtype=torch.uint8)
old = torchvision.transforms.Compose([torchvision.transforms.ToPILImage(), torchvision.transforms.Resize(32), torchvision.transforms.ToTensor(),
                                      torchvision.transforms.Normalize([0.5] * 3, [0.2] * 3)])
new = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.RandomResizedCrop(32), v2.RandomHorizontalFlip()])
x = torch.stack([old(image), new(image)])
model = torchvision.models.resnet18(num_classes=4).eval()
out = model(x)
torch.nn.functional.cross_entropy(out, torch.tensor([0, 3])).backward()
print(x.mean().item(), out.tolist(), model.conv1.weight.grad.abs().sum().item())
print({name: value.abs().sum().item() for name, value in create_feature_extractor(model, ["layer1", "layer4"])(x).items()})
boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
print(torchvision.ops.box_iou(boxes, boxes).tolist(), torchvision.utils.make_grid(x).shape)
