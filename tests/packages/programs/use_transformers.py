"""A tiny llama and a tiny BERT: loss, gradients, tokens, samples; saved and read again; a Trainer that is resumed."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

torch.manual_seed(0)
small = dict(vocab_size=99, hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4)
model = LlamaForCausalLM(LlamaConfig(**small, num_key_value_heads=2, pad_token_id=0))
ids = torch.randint(1, 99, (2, 10))
loss = model(ids, labels=ids).loss
loss.backward()
print("llama", loss.item(), sum(p.grad.abs().sum().item() for p in model.parameters()))
print("tokens", model.eval().generate(ids, max_new_tokens=8, do_sample=False).tolist())
for options in ({"do_sample": True, "top_k": 5}, {"do_sample": True, "top_p": 0.8, "temperature": 0.7}, {"num_beams": 3}):
    set_seed(7)
    print("samples", model.generate(ids, max_new_tokens=8, **options).tolist())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = LlamaForCausalLM.from_pretrained(folder).eval()
print("again", again(ids, labels=ids).loss.item())
bert = BertForSequenceClassification(BertConfig(**small, num_labels=3)).eval()
print("bert", bert(ids, labels=torch.tensor([0, 2])).loss.item())
data = [{"input_ids": row, "labels": row} for row in torch.randint(1, 99, (16, 8))]
with tempfile.TemporaryDirectory() as folder:
    for resumed in (False, True):
        set_seed(0)
        trainer = Trainer(LlamaForCausalLM(model.config), TrainingArguments(
            folder, max_steps=4, per_device_train_batch_size=4, logging_steps=1, save_steps=2, learning_rate=1e-2, warmup_steps=1, lr_scheduler_type="cosine",
            report_to=[], disable_tqdm=True, use_cpu=True, log_level="error"), train_dataset=data, eval_dataset=data)
        trainer.remove_callback(next(each for each in trainer.callback_handler.callbacks if type(each).__name__ == "PrinterCallback"))
        trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-2" if resumed else None)
        print("trained", [entry["loss"] for entry in trainer.state.log_history if "loss" in entry], trainer.evaluate()["eval_loss"])
