"""Rotary embeddings of queries and keys, with a cache, in two dimensions and with xpos."""
import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
rotary = RotaryEmbedding(dim=8)
q, k = torch.randn(1, 2, 6, 16), torch.randn(1, 2, 6, 16)
print(rotary.rotate_queries_or_keys(q)[0, 0, 3].tolist())
q1, k1 = rotary.rotate_queries_with_cached_keys(q[:, :, -1:], k)
print(q1.sum().item(), k1.sum().item())
axial = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=16)
freqs = axial.get_axial_freqs(4, 3)
print(freqs.shape, apply_rotary_emb(freqs, torch.randn(1, 4, 3, 8)).norm().item())
q2, k2 = RotaryEmbedding(dim=8, use_xpos=True).rotate_queries_and_keys(q, k)
print((q2 @ k2.transpose(-1, -2))[0, 0].diagonal().tolist())
