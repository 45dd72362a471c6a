"""An LSTM language model on the characters of a few standard library files, by truncated backpropagation in time.

    python examples/lstm_lm.py            # under torch
    kindling run examples/lstm_lm.py      # the same file under Kindling
"""
import argparse
import json
import math
import os

import torch
import torch.nn as nn


class CharLSTM(nn.Module):
    def __init__(self, vocabulary, embedding=64, hidden=128, layers=2, dropout=0.1):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(embedding, hidden, layers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, tokens, state=None):
        x, state = self.lstm(self.dropout(self.embedding(tokens)), state)
        return self.decoder(self.dropout(x)), state


def read_text():
    folder = os.path.dirname(os.__file__)
    text = ""
    for name in ("argparse.py", "textwrap.py", "heapq.py", "statistics.py"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text += file.read()
    return text


def sample(model, letters, index, prompt, length, temperature=0.7):
    model.eval()
    text, state = prompt, None
    with torch.no_grad():
        tokens = torch.tensor([[index[c] for c in prompt]])
        for _ in range(length):
            logits, state = model(tokens, state)
            chances = torch.softmax(logits[0, -1] / temperature, dim=0)
            tokens = torch.multinomial(chances, 1).view(1, 1)
            text += letters[tokens.item()]
    model.train()
    return text


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--window", type=int, default=50, help="steps of backpropagation in time")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--selfcheck", action="store_true", help="50 steps, then their losses as JSON")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = read_text()
    letters = sorted(set(text))
    index = {c: i for i, c in enumerate(letters)}
    data = torch.tensor([index[c] for c in text], dtype=torch.long)
    rows = data[:len(data) // args.batch * args.batch].view(args.batch, -1)

    model = CharLSTM(len(letters))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    losses = []
    for epoch in range(1 if args.selfcheck else args.epochs):
        state, start = None, len(losses)
        for i in range(0, rows.size(1) - args.window - 1, args.window):
            inputs, targets = rows[:, i:i + args.window], rows[:, i + 1:i + args.window + 1]
            if state is not None:
                state = tuple(s.detach() for s in state)
            logits, state = model(inputs, state)
            loss = criterion(logits.reshape(-1, len(letters)), targets.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            if args.selfcheck and len(losses) == 50:
                break
        mean = sum(losses[start:]) / (len(losses) - start)
        print(f"epoch {epoch + 1}  loss {mean:.4f}  perplexity {math.exp(mean):.2f}", flush=True)
    if args.selfcheck:
        print(json.dumps(losses))
        return
    print(sample(model, letters, index, "def ", 300))


if __name__ == "__main__":
    main()
