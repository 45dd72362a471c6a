"""Metrics of classification and regression, in batches."""
import torch
import torchmetrics
from torchmetrics.functional import pairwise_cosine_similarity

torch.manual_seed(0)
metrics = torchmetrics.MetricCollection([torchmetrics.Accuracy("multiclass", num_classes=4), torchmetrics.F1Score("multiclass", num_classes=4),
                                         torchmetrics.AUROC("multiclass", num_classes=4), torchmetrics.ConfusionMatrix("multiclass", num_classes=4)])
for _ in range(3):
    metrics.update(torch.randn(20, 4).softmax(-1), torch.randint(0, 4, (20,)))
for name, value in metrics.compute().items():
    print(name, value.tolist())
for kind in (torchmetrics.MeanSquaredError, torchmetrics.PearsonCorrCoef, torchmetrics.R2Score, torchmetrics.SpearmanCorrCoef):
    print(kind.__name__, kind()(torch.randn(30), torch.randn(30)).item())
print(pairwise_cosine_similarity(torch.randn(3, 5)).sum().item())
