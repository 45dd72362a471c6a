"""A decoder trained for three steps."""
import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True)))
ids = torch.randint(0, 40, (2, 16))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = model(ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
print(model.generate(ids[:1, :4], 6, temperature=0.0).tolist())
