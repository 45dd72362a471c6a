"""The model of examples/tiny_llama.py as scripts take it: with types, and its caches in a list of dicts that `forward` fills.

    python llama.py        # under torch; kindling run llama.py: under Kindling

Prints as JSON, for the example's own model and for this one with its weights, eagerly and scripted: loss and gradients, logits of all
bytes at once and of one at a time with caches, and the text that it writes.
"""
import copy
import functools
import json
import os
import sys
from typing import Dict, List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples"))
import tiny_llama  # noqa: E402

from torch import Tensor  # noqa: E402


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int, kv_heads: int, context: int, dropout: float):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.context = heads, kv_heads, dim // heads, context
        self.q, self.kv = (nn.Linear(dim, n * self.size, bias=False) for n in (heads, 2 * kv_heads))
        self.out, self.dropout = nn.Linear(dim, dim, bias=False), nn.Dropout(dropout)

    def forward(self, x, cos, sin, cache: Optional[Dict[str, Tensor]]):
        B, T, C = x.shape
        q = rotate(self.q(x).view(B, T, self.heads, self.size).transpose(1, 2), cos, sin)
        k, v = self.kv(x).view(B, T, 2 * self.kv_heads, self.size).transpose(1, 2).chunk(2, dim=1)
        k = rotate(k, cos, sin)
        if cache is not None:  # the keys and values seen so far, the last `context` of them
            if "k" in cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            k, v = k[:, :, -self.context:], v[:, :, -self.context:]
            cache["k"], cache["v"] = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1, enable_gqa=True)
        return self.dropout(self.out(y.transpose(1, 2).reshape(B, T, C)))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int, kv_heads: int, context: int, dropout: float):
        super().__init__()
        hidden = (dim * 8 // 3 + 31) // 32 * 32
        self.attention_norm, self.mlp_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.attention = Attention(dim, heads, kv_heads, context, dropout)
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down, self.dropout = nn.Linear(hidden, dim, bias=False), nn.Dropout(dropout)

    def forward(self, x, cos, sin, cache: Optional[Dict[str, Tensor]] = None):
        x = x + self.attention(self.attention_norm(x), cos, sin, cache)
        h = self.mlp_norm(x)
        return x + self.dropout(self.down(F.silu(self.gate(h)) * self.up(h)))


class Llama(nn.Module):
    def __init__(self, dim: int, layers: int, heads: int, kv_heads: int, context: int, dropout: float, longest: int = 4096):
        super().__init__()
        self.context, self.longest, self.embedding = context, longest, nn.Embedding(256, dim)
        self.blocks = nn.ModuleList([Block(dim, heads, kv_heads, context, dropout) for _ in range(layers)])
        self.norm, self.head = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, 256, bias=False)
        angle = torch.outer(torch.arange(longest), 10000.0 ** (-torch.arange(0, dim // heads, 2) / (dim // heads)))
        self.register_buffer("cos", torch.cos(angle), persistent=False)
        self.register_buffer("sin", torch.sin(angle), persistent=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, targets: Optional[Tensor] = None, start: int = 0, caches: Optional[List[Dict[str, Tensor]]] = None):
        x, end = self.embedding(tokens), start + tokens.size(1)
        for i, block in enumerate(self.blocks):
            x = block(x, self.cos[start:end], self.sin[start:end], caches[i] if caches is not None else None)
        logits = self.head(self.norm(x))
        return logits if targets is None else F.cross_entropy(logits.view(-1, 256), targets.reshape(-1))

    def new_caches(self) -> List[Dict[str, Tensor]]:
        caches: List[Dict[str, Tensor]] = []
        for _block in self.blocks:
            empty: Dict[str, Tensor] = {}
            caches.append(empty)
        return caches

    @torch.jit.export
    def by_steps(self, tokens, first: int):
        """The logits of all bytes, those behind the first ones a byte at a time. The caches live in here: a script copies what it is given."""
        caches = self.new_caches()
        parts = [self.forward(tokens[:, :first], None, 0, caches)]
        for i in range(first, tokens.size(1)):
            parts.append(self.forward(tokens[:, i:i + 1], None, i, caches))
        return torch.cat(parts, dim=1)

    @torch.jit.export
    def write(self, prompt: List[int], length: int, temperature: float, top_k: int, generator: Optional[torch.Generator] = None) -> List[int]:
        """The prompt and `length` bytes more, one a pass: the keys and values of those before are kept."""
        text, seen = prompt[-self.context:], 0
        if len(text) == 0:
            text = [10]
        caches = self.new_caches()
        for _ in range(min(length, self.longest - len(text))):
            with torch.no_grad():
                logits = self.forward(torch.tensor([text[seen:]]), None, seen, caches)[0, -1]
                values, indices = torch.topk(logits / max(temperature, 1e-6), min(max(top_k, 1), 256))
                seen = len(text)
                text.append(int(indices[torch.multinomial(F.softmax(values, dim=-1), 1, generator=generator)].item()))
        return text


def by_steps(model, tokens, first):
    caches = [{} for _ in model.blocks]
    parts = [model(tokens[:, :first], caches=caches)]
    parts += [model(tokens[:, i:i + 1], start=i, caches=caches) for i in range(first, tokens.size(1))]
    return torch.cat(parts, dim=1)


def results(model, tokens, by_steps, write):
    model.train()
    loss = model(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    model.eval()
    with torch.no_grad():
        whole, parts = model(tokens[:1, :12]), by_steps(tokens[:1, :12], 5)
    # Longer than the context, so that the caches drop their oldest.
    text = write(40, 0.7, 40, torch.Generator().manual_seed(5))
    return {"loss": loss.item(), "logits": whole.flatten().tolist(), "by steps": parts.flatten().tolist(), "text": text,
            "gradients": {name: p.grad.flatten()[::31].tolist() for name, p in model.named_parameters()}}


def main():
    torch.manual_seed(1)
    shape = dict(dim=32, layers=2, heads=4, kv_heads=2, context=16, dropout=0.0)
    original, typed = tiny_llama.Llama(**shape), Llama(**shape)
    typed.load_state_dict(original.state_dict())
    scripted = torch.jit.script(copy.deepcopy(typed))
    tokens = torch.randint(256, (3, 17))
    out = {"original": results(original, tokens, functools.partial(by_steps, original), functools.partial(tiny_llama.write, original, b"def "))}
    for name, model in (("typed", typed), ("scripted", scripted)):
        out[name] = results(model, tokens, model.by_steps, lambda *how, model=model: bytes(model.write(list(b"def "), *how)).decode("utf-8", "replace"))
    print(json.dumps(out))


if __name__ == "__main__":
    main()
