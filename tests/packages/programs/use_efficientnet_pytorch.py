"""EfficientNet: forward, features, a training step."""
import torch
from efficientnet_pytorch import EfficientNet

torch.manual_seed(0)
model = EfficientNet.from_name("efficientnet-b0", num_classes=5, dropout_rate=0.0, drop_connect_rate=0.0)
x, y = torch.randn(2, 3, 64, 64), torch.tensor([1, 3])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
model.eval()
print("features", model.extract_features(x).norm().item())
