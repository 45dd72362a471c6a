"""A tiny llama and a tiny BERT: loss, gradients, tokens; saved and read again."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
small = dict(vocab_size=99, hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4)
model = LlamaForCausalLM(LlamaConfig(**small, num_key_value_heads=2, pad_token_id=0))
ids = torch.randint(1, 99, (2, 10))
loss = model(ids, labels=ids).loss
loss.backward()
print("llama", loss.item(), sum(p.grad.abs().sum().item() for p in model.parameters()))
print("tokens", model.eval().generate(ids, max_new_tokens=8, do_sample=False).tolist())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = LlamaForCausalLM.from_pretrained(folder).eval()
print("again", again(ids, labels=ids).loss.item())
bert = BertForSequenceClassification(BertConfig(**small, num_labels=3)).eval()
print("bert", bert(ids, labels=torch.tensor([0, 2])).loss.item())
