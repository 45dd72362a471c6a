"""A small GPT that learns to sort: six digits in, the same digits in order out.

    python examples/small_gpt.py            # under torch
    kindling run examples/small_gpt.py      # the same file under Kindling
"""
import argparse
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads, block, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.attention_dropout = nn.Dropout(dropout)
        self.residual_dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = self.attention_dropout(F.softmax(scores, dim=-1)) @ v
        return self.residual_dropout(self.projection(y.transpose(1, 2).contiguous().view(B, T, C)))


class Block(nn.Module):
    def __init__(self, width, heads, block, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CausalSelfAttention(width, heads, block, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, block, layers=3, width=48, heads=3, dropout=0.1):
        super().__init__()
        self.block = block
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(1, block, width))
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*[Block(width, heads, block, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.initialise)

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, targets=None):
        x = self.dropout(self.token(tokens) + self.position[:, :tokens.size(1)])
        logits = self.head(self.norm(self.blocks(x)))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    @torch.no_grad()
    def generate(self, tokens, count):
        for _ in range(count):
            logits = self(tokens[:, -self.block:])[:, -1]
            tokens = torch.cat((tokens, logits.argmax(dim=-1, keepdim=True)), dim=1)
        return tokens


def batch(size, length=6):
    """Inputs: unsorted digits, then all sorted ones but the last; targets: -1 (ignored) where the input is given."""
    digits = torch.randint(0, 10, (size, length))
    whole = torch.cat((digits, torch.sort(digits, dim=1)[0]), dim=1)
    inputs, targets = whole[:, :-1].clone(), whole[:, 1:].clone()
    targets[:, :length - 1] = -1
    return inputs, targets


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--selfcheck", action="store_true", help="50 steps, then their losses as JSON")
    args = parser.parse_args()
    steps = 50 if args.selfcheck else args.steps

    torch.manual_seed(args.seed)
    model = GPT(vocabulary=10, block=11)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 50) * (0.55 + 0.45 * math.cos(math.pi * step / args.steps)))
    losses = []
    for step in range(steps):
        logits, loss = model(*batch(args.batch))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}  loss {loss.item():.4f}", flush=True)
    model.eval()
    digits = torch.randint(0, 10, (200, 6))
    right = (model.generate(digits, 6)[:, 6:] == torch.sort(digits, dim=1)[0]).all(dim=1).float().mean().item()
    print(f"sorted rightly: {100 * right:.1f}%")
    if args.selfcheck:
        print(json.dumps(losses))


if __name__ == "__main__":
    main()
