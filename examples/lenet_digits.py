"""LeNet on scikit-learn's handwritten digits: convolutions, pooling, batch norm, a DataLoader, accuracy.

    python examples/lenet_digits.py            # under torch
    kindling run examples/lenet_digits.py      # the same file under Kindling
"""
import argparse
import json

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.norm1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.1)
        self.fc1 = nn.Linear(16 * 2 * 2, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.norm1(self.conv1(x))))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.dropout(torch.flatten(x, 1))
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def digits():
    """Training and test sets: 8x8 grey images scaled to 0..1, with their labels."""
    from sklearn.datasets import load_digits

    pixels, targets = load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).float().view(-1, 1, 8, 8) / 16
    labels = torch.from_numpy(targets).long()
    order = torch.randperm(len(images))
    test, train = order[:297], order[297:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def train(model, loader, optimizer, losses, limit=None):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if limit is not None and len(losses) >= limit:
            break


def accuracy(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(dim=1) == labels).sum().item()
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--selfcheck", action="store_true", help="50 steps, then their losses as JSON")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = digits()
    train_loader = DataLoader(train_set, batch_size=args.batch, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)
    model = LeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.8)

    losses = []
    if args.selfcheck:
        while len(losses) < 50:
            train(model, train_loader, optimizer, losses, limit=50)
            scheduler.step()
        print(f"accuracy after {len(losses)} steps: {accuracy(model, test_loader):.4f}")
        print(json.dumps(losses))
        return
    for epoch in range(args.epochs):
        start = len(losses)
        train(model, train_loader, optimizer, losses)
        mean = sum(losses[start:]) / (len(losses) - start)
        print(f"epoch {epoch + 1:2d}  loss {mean:.4f}  test accuracy {accuracy(model, test_loader):.4f}", flush=True)
        scheduler.step()


if __name__ == "__main__":
    main()
