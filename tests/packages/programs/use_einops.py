"""Rearrangements, and a layer of them."""
import torch
from einops import einsum, pack, rearrange, reduce, repeat
from einops.layers.torch import EinMix, Rearrange

torch.manual_seed(0)
x = torch.randn(2, 3, 4, 6, requires_grad=True)
y = reduce(rearrange(x, "b c (h p) w -> b (c p) h w", p=2), "b c h w -> b c", "mean")
z = Rearrange("b c -> b c 1")(repeat(y, "b c -> b (c r)", r=2))
mix = EinMix("b c one -> b d one", weight_shape="c d", c=12, d=5)
total = einsum(mix(z).squeeze(-1), torch.ones(5), "b d, d -> b").sum()
total.backward()
print(total.item(), x.grad.abs().sum().item(), pack([y, y], "b *")[0].shape)
