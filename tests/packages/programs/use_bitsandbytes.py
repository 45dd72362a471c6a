"""Blockwise and four-bit quantisation on the CPU, as far as it goes in Python."""
import bitsandbytes as bnb
import bitsandbytes.functional as F
import torch

torch.manual_seed(0)
x = torch.randn(64, 64)
code = F.create_dynamic_map()
print("map", code.sum().item(), code.shape)
packed, state = F.quantize_blockwise(x, blocksize=256)
print("blocks", packed.dtype, packed.float().mean().item(), (F.dequantize_blockwise(packed, state) - x).abs().mean().item())
packed, state = F.quantize_4bit(x, blocksize=64, quant_type="nf4")
print("nf4", packed.shape, packed.float().mean().item(), (F.dequantize_4bit(packed, state) - x).abs().mean().item())
layer = bnb.nn.Linear4bit(64, 16, compute_dtype=torch.float32, quant_type="nf4")
print("params", layer.weight.shape, layer.bias.shape, type(layer.weight).__name__)
print("embedding", bnb.nn.StableEmbedding(10, 4)(torch.tensor([1, 2])).sum(-1).detach().abs().max().item() < 1e-4)
