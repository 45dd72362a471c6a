"""A network as an estimator of scikit-learn."""
import numpy
import torch
from sklearn.model_selection import cross_val_score
from skorch import NeuralNetClassifier

torch.manual_seed(0)
numpy.random.seed(0)
x, y = numpy.random.randn(60, 5).astype("float32"), numpy.random.randint(0, 2, 60)
model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2), torch.nn.Softmax(-1))
net = NeuralNetClassifier(model, criterion=torch.nn.NLLLoss, max_epochs=3, lr=0.1, verbose=0, train_split=None)
net.fit(x, y)
print([float(each) for each in net.history[:, "train_loss"]], net.predict_proba(x[:2]).tolist())
print(cross_val_score(net, x, y, cv=2).tolist())
