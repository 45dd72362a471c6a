"""LoRA around a tiny GPT-2."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2))
model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], lora_dropout=0.0))
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
ids = torch.randint(0, 50, (2, 12))
model.eval()
for _ in range(3):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
print(model.get_nb_trainable_parameters())
print("merged", model.merge_and_unload()(input_ids=ids, labels=ids).loss.item())
