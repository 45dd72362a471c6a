"""Pooling of a tiny BERT's states, similarities and a loss of pairs."""
import torch
from sentence_transformers import util
from sentence_transformers.models import Normalize, Pooling
from transformers import BertConfig, BertModel

torch.manual_seed(0)
bert = BertModel(BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20)).eval()
ids, mask = torch.randint(0, 50, (4, 6)), torch.ones(4, 6, dtype=torch.long)
mask[0, 4:] = 0
features = {"token_embeddings": bert(ids, attention_mask=mask).last_hidden_state, "attention_mask": mask}
vectors = Normalize()(Pooling(16, "mean")(features))["sentence_embedding"]
print(util.cos_sim(vectors, vectors).tolist())
print(util.semantic_search(vectors[:1], vectors, top_k=2))
