"""Few-shot classification over a tiny sentence encoder made here."""
import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers import models
from setfit import SetFitHead, SetFitModel
from transformers import BertConfig, BertModel, BertTokenizer

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]))
    BertTokenizer(str(Path(folder, "vocab.txt"))).save_pretrained(folder)
    BertModel(BertConfig(vocab_size=13, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)).save_pretrained(folder)
    body = SentenceTransformer(modules=[word := models.Transformer(folder), models.Pooling(word.get_word_embedding_dimension())], device="cpu")
texts, labels = ["a b c", "b c a", "f g h", "h g f"], [0, 0, 1, 1]
model = SetFitModel(model_body=body, model_head=SetFitHead(in_features=16, out_features=2, device="cpu"), labels=["low", "high"])
model.fit(texts, labels, num_epochs=3, batch_size=4, body_learning_rate=1e-3, head_learning_rate=0.1, show_progress_bar=False)
print("head", model.model_head.linear.weight.sum().item())
print("probabilities", model.predict_proba(texts).tolist(), model.predict(texts))
