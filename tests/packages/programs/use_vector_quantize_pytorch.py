"""Vector quantisation with moving averages, residual, finite scalar and without look-up."""
import torch
from vector_quantize_pytorch import FSQ, LFQ, RandomProjectionQuantizer, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 12, 8)
quantizer = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0, kmeans_init=True, kmeans_iters=3)
for _ in range(2):
    out, indices, loss = quantizer(x)
    print("vq", out.sum().item(), indices[0].tolist(), loss.item())
residual = ResidualVQ(dim=8, num_quantizers=3, codebook_size=8, use_cosine_sim=True)
out, indices, losses = residual(x)
print("residual", out.norm().item(), indices[1].tolist(), losses.tolist())
codes, indices = FSQ([5, 4, 3], dim=8)(x)
print("fsq", codes.norm().item(), indices[0].tolist())
out, indices, loss = LFQ(codebook_size=16, dim=8, entropy_loss_weight=0.1)(x)
print("lfq", out.norm().item(), indices[0].tolist(), loss.item())
print("projection", RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=16)(x)[0].tolist())
