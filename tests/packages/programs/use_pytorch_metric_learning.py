"""Losses, miners, distances and a training step on embeddings."""
import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, labels = torch.randn(24, 8), torch.arange(24) % 4
miner = miners.MultiSimilarityMiner()
loss = losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0),
                                embedding_regularizer=regularizers.LpRegularizer())
for _ in range(5):
    embeddings = model(x)
    value = loss(embeddings, labels, miner(embeddings, labels))
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    print("triplet", value.item())
embeddings = model(x).detach()
for each in (losses.ContrastiveLoss(), losses.NTXentLoss(), losses.SupConLoss(), losses.CircleLoss(), losses.MultiSimilarityLoss(), losses.LiftedStructureLoss(),
             losses.ArcFaceLoss(4, 4), losses.ProxyAnchorLoss(4, 4), losses.SoftTripleLoss(4, 4)):
    print(type(each).__name__, each(embeddings, labels).item())
calculator = AccuracyCalculator(include=("precision_at_1", "r_precision"), k=3, knn_func=CustomKNN(distances.LpDistance()))
print(sorted(calculator.get_accuracy(embeddings, labels).items()))
