"""Tiny, randomly initialised models of every architecture of transformers: loss, gradients and generated tokens.

    kindling run tests/packages/architectures.py ours.json [ARCHITECTURE...]     # in the environment of packages
    python tests/packages/architectures.py theirs.json                           # the same under PyTorch
    python tests/packages/architectures.py --compare ours.json theirs.json

Sizes are set by the names that configurations share; an architecture with more than 3 million parameters then, or that PyTorch
cannot build so, is left out and counted.
"""
import collections
import dataclasses
import inspect
import json
import logging
import sys
import traceback
import warnings

SIZES = dict(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=64, d_model=32, n_embd=32, n_layer=2, n_head=4, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
    decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, d_ff=48, num_layers=2, num_heads=4, d_kv=8, head_dim=8, ffn_dim=48,
    n_positions=64, num_decoder_layers=2, embedding_size=32, dim=32, n_layers=2, n_heads=4, hidden_dim=48, num_experts=4, num_local_experts=4,
    num_experts_per_tok=2, moe_intermediate_size=16, n_routed_experts=4, num_hidden_groups=1, word_embed_proj_dim=32, pad_token_id=0,
    bos_token_id=1, eos_token_id=2, attention_window=4, sliding_window=8, ffn_hidden_size=48, rotary_dim=8, kv_lora_rank=8, q_lora_rank=8,
    qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, n_group=1, topk_group=1, emb_dim=32)
MOST = 3_000_000


def configuration(kind):
    """A small configuration of an architecture."""
    known = set(getattr(kind, "__annotations__", {})) | set(inspect.signature(kind.__init__).parameters)
    if dataclasses.is_dataclass(kind):
        known |= {field.name for field in dataclasses.fields(kind)}
    known |= set(getattr(kind, "attribute_map", {}).values())
    return kind(**{name: value for name, value in SIZES.items() if name in known})


def outcome(cls, kind, generates):
    """[loss, sum of gradients, tokens], ["big", parameters] or ["ERR", what, where]"""
    import torch

    try:
        with torch.device("meta"):
            size = sum(each.numel() for each in cls(configuration(kind)).parameters())
        if size > MOST:
            return ["big", size]
        torch.manual_seed(0)
        model = cls(configuration(kind)).eval()
        torch.manual_seed(1)
        ids = torch.randint(3, 60, (2, 8))
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        found = [loss.item(), sum(each.grad.double().abs().sum().item() for each in model.parameters() if each.grad is not None)]
        if generates:
            try:
                found.append(model.generate(ids, max_new_tokens=5, do_sample=False).tolist())
            except Exception as error:
                found.append(f"cannot generate: {type(error).__name__}")
        return found
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return ["ERR", f"{type(error).__name__}: {str(error)[:160]}", f"{where.filename[-50:]}:{where.lineno}"]


def run(path, wanted):
    import torch
    import transformers
    from transformers.models.auto import modeling_auto

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    found = {}
    for kind, mapping in (("causal", modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES), ("masked", modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
                          ("seq2seq", modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)):
        for name, cls in mapping.items():
            if not wanted or name in wanted:
                cls = cls[0] if isinstance(cls, (tuple, list)) else cls
                found[f"{kind}:{name}"] = outcome(getattr(transformers, cls), transformers.CONFIG_MAPPING[name], kind != "masked")
                with open(path, "w") as file:
                    json.dump(found, file)


def compare(ours, theirs):
    counts = collections.Counter()
    for name, theirs_has in theirs.items():
        ours_has = ours.get(name, ["ERR", "not run", ""])
        if theirs_has[0] in ("big", "ERR"):
            counts["left out: " + ("too big" if theirs_has[0] == "big" else "PyTorch cannot build it so")] += 1
        elif ours_has[0] in ("big", "ERR"):
            counts["fails"] += 1
            print(name, *ours_has[1:])
        else:
            far = [abs(a - b) / max(abs(a), 1e-3) for a, b in zip(theirs_has[:2], ours_has[:2])]
            same = far[0] < 1e-5 and far[1] < 1e-3 and ours_has[2:] == theirs_has[2:]
            counts["same loss, gradients and tokens" if same else "differs"] += 1
            if not same:
                print(name, far, ours_has[2:] == theirs_has[2:])
    print(dict(counts))
    return counts["fails"] + counts["differs"] == 0


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        sys.exit(not compare(*(json.load(open(path)) for path in sys.argv[2:4])))
    run(sys.argv[1], sys.argv[2:])
