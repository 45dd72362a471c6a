"""A tiny GPT of litgpt: loss, a step, generation with a cache, LoRA."""
import torch
from litgpt import GPT, Config
from litgpt.generate.base import generate
from litgpt.lora import GPT as LoraGPT
from litgpt.lora import Config as LoraConfig
from litgpt.lora import mark_only_lora_as_trainable
from litgpt.utils import chunked_cross_entropy, num_parameters

torch.manual_seed(0)
sizes = {"block_size": 32, "vocab_size": 50, "padded_vocab_size": 50, "n_layer": 2, "n_head": 4, "n_embd": 32, "n_query_groups": 2}
model = GPT(Config(**sizes, rotary_percentage=1.0, parallel_residual=False, bias=False, norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP", intermediate_size=64))
print("parameters", num_parameters(model))
ids = torch.randint(0, 50, (2, 12))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(3):
    loss = chunked_cross_entropy(model(ids)[:, :-1], ids[:, 1:], chunk_size=4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
model.eval()
with torch.no_grad():
    model.set_kv_cache(batch_size=1)
    print("tokens", generate(model, ids[0, :4], max_returned_tokens=12, temperature=0.8, top_k=5).tolist())
lora = LoraGPT(LoraConfig(**sizes, lora_r=4, lora_alpha=8, lora_query=True, lora_value=True))
mark_only_lora_as_trainable(lora)
print("lora", num_parameters(lora, requires_grad=True), lora(ids).sum().item())
