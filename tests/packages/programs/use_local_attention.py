"""Attention within windows, and a small transformer over it."""
import random

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer

torch.manual_seed(0)
random.seed(0)
q, k, v = (torch.randn(2, 4, 24, 8) for _ in range(3))
mask = torch.ones(2, 24).bool()
attention = LocalAttention(dim=8, window_size=8, causal=True, look_backward=1, dropout=0.0, exact_windowsize=False)
print("out", attention(q, k, v, mask=mask).sum().item())
model = LocalTransformer(num_tokens=32, dim=16, depth=2, max_seq_len=64, causal=True, local_attn_window_size=8, heads=2, dim_head=8)
ids = torch.randint(0, 32, (1, 48))
loss = model(ids, return_loss=True)
loss.backward()
print("loss", loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
print("tokens", model.eval().generate(ids[:, :8], 6, temperature=0.7).tolist())
