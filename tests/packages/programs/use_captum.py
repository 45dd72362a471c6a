"""Attributions of a small network."""
import torch
from captum.attr import DeepLift, FeatureAblation, IntegratedGradients, LayerConductance, Saliency

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
x = torch.randn(2, 4)
for kind in (IntegratedGradients, Saliency, DeepLift, FeatureAblation):
    print(kind.__name__, kind(model).attribute(x, target=1).tolist())
print(LayerConductance(model, model[0]).attribute(x, target=2).abs().sum().item())
