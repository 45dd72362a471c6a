"""Programs in the style of published sequence code: decoding, tokenizers, pointers, masks, incremental state."""
from typing import Dict, List, NamedTuple, Optional, Tuple
import torch
from torch import nn
from torch import Tensor
import torch.nn.functional as F


@program(lambda: (torch.rand(3, 5), torch.tensor([5, 2, 3])))
def sequence_mask(x: Tensor, lengths: Tensor, max_len: Optional[int] = None) -> Tensor:
    if max_len is None:
        max_len = int(lengths.max())
    mask = torch.arange(max_len, device=lengths.device).expand(lengths.size(0), max_len) >= lengths.unsqueeze(1)
    return x.masked_fill(mask, float("-inf"))


@program(lambda: (torch.tensor([[1, 5, 6, 0], [1, 7, 0, 0]]), 0))
def make_positions(tokens: Tensor, padding_idx: int) -> Tensor:
    mask = tokens.ne(padding_idx).int()
    return (torch.cumsum(mask, dim=1).type_as(mask) * mask).long() + padding_idx


@program(lambda: (torch.tensor([[1, 5, 6, 0], [1, 7, 0, 0]]), 0))
def make_positions_with_to(tokens: Tensor, padding_idx: int) -> Tensor:
    mask = tokens.ne(padding_idx).to(torch.int64)
    return torch.cumsum(mask, dim=1) * mask + padding_idx


@program(lambda: (torch.tensor([[0.1, 0.7, 0.2], [0.3, 0.3, 0.4]]), 2))
def greedy_decode(probs: Tensor, blank: int) -> List[int]:
    best = torch.argmax(probs, dim=-1)
    out: List[int] = []
    previous = -1
    for i in range(best.size(0)):
        token = int(best[i].item())
        if token != previous and token != blank:
            out.append(token)
        previous = token
    return out


@program(lambda: (torch.log_softmax(torch.arange(12.0).view(4, 3).sin(), -1), 2))
def beam_search(log_probs: Tensor, beam: int) -> Tuple[List[List[int]], List[float]]:
    sequences: List[List[int]] = [torch.jit.annotate(List[int], [])]
    scores: List[float] = [0.0]
    for t in range(log_probs.size(0)):
        candidates: List[Tuple[float, int, int]] = []
        for i, score in enumerate(scores):
            for v in range(log_probs.size(1)):
                candidates.append((-(score + float(log_probs[t, v])), i, v))
        candidates.sort()
        new_sequences: List[List[int]] = []
        new_scores: List[float] = []
        for n in range(min(beam, len(candidates))):
            negative, i, v = candidates[n]
            new_sequences.append(sequences[i] + [v])
            new_scores.append(-negative)
        sequences = new_sequences
        scores = new_scores
    return sequences, scores


@program(lambda: (torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]), torch.tensor([[-0.1], [-0.3]]), 2, 1))
def beam_step(lprobs: Tensor, scores: Tensor, beam: int, step: int) -> Tuple[Tensor, Tensor, Tensor]:
    bsz, vocab = lprobs.size()
    if step == 0:
        lprobs = lprobs[:1].contiguous()
    else:
        lprobs = lprobs + scores
    top = torch.topk(lprobs.view(-1), k=min(beam * 2, lprobs.view(-1).size(0) - 1))
    scores_buf = top[0]
    indices_buf = top[1]
    beams_buf = torch.div(indices_buf, vocab, rounding_mode="trunc")
    indices_buf = indices_buf.fmod(vocab)
    return scores_buf, indices_buf, beams_buf


@program(lambda: ([1, 2, 3, 1, 2], 2), lambda: ([1, 2, 3], 3))
def ban_ngrams(tokens: List[int], n: int) -> List[int]:
    banned: List[int] = []
    table: Dict[str, List[int]] = {}
    for i in range(len(tokens) - n + 1):
        key = ",".join([str(x) for x in tokens[i : i + n - 1]])
        if key not in table:
            empty: List[int] = []
            table[key] = empty
        table[key].append(tokens[i + n - 1])
    last = ",".join([str(x) for x in tokens[len(tokens) - n + 1 :]])
    if last in table:
        banned = table[last]
    return banned


@program(lambda: ("kitten", "sitting"), lambda: ("", "ab"))
def edit_distance(a: str, b: str) -> int:
    previous = [j for j in range(len(b) + 1)]
    for i in range(len(a)):
        current = [i + 1]
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current.append(min(previous[j] + cost, min(previous[j + 1] + 1, current[j] + 1)))
        previous = current
    return previous[-1]


@program(lambda: ("Hello, world! It's 2 o'clock.",))
def basic_tokenizer(line: str) -> List[str]:
    line = line.lower()
    for mark in [".", ",", "!", "?", "'"]:
        line = line.replace(mark, " " + mark + " ")
    return line.split()


@program(lambda: ("unbelievable", {"un": 1, "##believ": 2, "##able": 3}), lambda: ("xyz", {"a": 0}))
def wordpiece(word: str, vocab: Dict[str, int]) -> List[int]:
    out: List[int] = []
    start = 0
    while start < len(word):
        end = len(word)
        found = -1
        while start < end:
            piece = word[start:end]
            if start > 0:
                piece = "##" + piece
            if piece in vocab:
                found = vocab[piece]
                break
            end -= 1
        if found < 0:
            return [-1]
        out.append(found)
        start = end
    return out


@program(lambda: (["l", "o", "w", "e", "r"], {"l o": 0, "lo w": 1, "e r": 2}))
def byte_pairs(word: List[str], ranks: Dict[str, int]) -> List[str]:
    while len(word) > 1:
        best = -1
        best_rank = 1 << 30
        for i in range(len(word) - 1):
            pair = word[i] + " " + word[i + 1]
            rank = ranks.get(pair, 1 << 30)
            if rank < best_rank:
                best_rank = rank
                best = i
        if best < 0:
            break
        merged: List[str] = []
        i = 0
        while i < len(word):
            if i == best:
                merged.append(word[i] + word[i + 1])
                i += 2
            else:
                merged.append(word[i])
                i += 1
        word = merged
    return word


@program(lambda: (["the", "cat", "the"],))
def build_vocabulary(words: List[str]) -> Tuple[Dict[str, int], List[str]]:
    counts: Dict[str, int] = {}
    for w in words:
        if w in counts:
            counts[w] += 1
        else:
            counts[w] = 1
    order = sorted(counts.keys())
    return counts, order


@program(lambda: ([[1, 2], [3], []], 0), lambda: ([[1, 2], [3], []], -1))
def pad_lists(rows: List[List[int]], value: int) -> Tensor:
    longest = max([len(row) for row in rows])
    padded: List[List[int]] = []
    for row in rows:
        padded.append(row + [value] * (longest - len(row)))
    return torch.tensor(padded)


@program(lambda: ([torch.ones(2, 3), torch.ones(1, 3)],))
def pad_tensors(tensors: List[Tensor]) -> Tuple[Tensor, Tensor]:
    lengths = [t.size(0) for t in tensors]
    longest = max(lengths)
    out = torch.zeros(len(tensors), longest, tensors[0].size(1))
    for i, t in enumerate(tensors):
        out[i, : t.size(0)] = t
    return out, torch.tensor(lengths)


@program(lambda: ("a=1; b=22 ;c=",), lambda: ("novalue",))
def parse_settings(text: str) -> Dict[str, str]:
    out: Dict[str, str] = {}
    for part in text.split(";"):
        pieces = part.strip().split("=")
        assert len(pieces) == 2, "expected key=value, got '{}'".format(part)
        out[pieces[0]] = pieces[1]
    return out


@program(lambda: ("-12.5e",), lambda: ("37",), lambda: ("",))
def parse_number(text: str) -> Tuple[bool, int]:
    if len(text) == 0:
        return False, 0
    sign = 1
    start = 0
    if text[0] == "-":
        sign = -1
        start = 1
    value = 0
    for c in text[start:]:
        if not c.isdigit():
            return False, sign * value
        value = value * 10 + (ord(c) - ord("0"))
    return True, sign * value


@program(lambda: ("abcabc",), lambda: ("racecar",))
def text_games(s: str) -> Tuple[bool, str, Dict[str, int]]:
    n = len(s)
    same = True
    for i in range(n // 2):
        if s[i] != s[n - 1 - i]:
            same = False
            break
    out = ""
    for i in range(n):
        out = s[i] + out
    counts: Dict[str, int] = {}
    for c in s:
        counts[c] = counts.get(c, 0) + 1 if c in counts else 1
    return same, out, counts


@program(lambda: ("hello", 3))
def caesar(s: str, k: int) -> str:
    out: List[str] = []
    for c in s:
        out.append(chr((ord(c) - ord("a") + k) % 26 + ord("a")))
    return "".join(out)


class Hypothesis(NamedTuple):
    tokens: List[int]
    score: float
    finished: bool


@program(lambda: ([3, 4, 2],))
def named_hypotheses(tokens: List[int]) -> List[Hypothesis]:
    hyps: List[Hypothesis] = []
    for n in range(len(tokens)):
        hyps.append(Hypothesis(tokens[: n + 1], -0.5 * n, tokens[n] == 2))
    best = hyps[0]
    for h in hyps:
        if h.finished and h.score < best.score:
            best = h
    hyps.append(best)
    return hyps


@program(lambda: ({"k": torch.ones(2, 1, 3)}, torch.zeros(2, 1, 3)), lambda: ({"none": torch.ones(1)}, torch.zeros(2, 1, 3)))
def append_state(state: Dict[str, Tensor], k: Tensor) -> Dict[str, Tensor]:
    out: Dict[str, Tensor] = {}
    if "k" in state:
        previous = state["k"]
        out["k"] = torch.cat([previous, k], dim=1)
    else:
        out["k"] = k
    return out


@program(lambda: (None, "attn", {"k": torch.ones(2)}), lambda: ({"m.attn": {"k": None}}, "attn", {"k": torch.ones(2)}))
def incremental_state(all_states: Optional[Dict[str, Dict[str, Optional[Tensor]]]], key: str, value: Dict[str, Tensor]) -> Tuple[int, List[str]]:
    full = "m." + key
    names: List[str] = []
    if all_states is not None:
        stored: Dict[str, Optional[Tensor]] = {}
        for k, v in value.items():
            stored[k] = v
            names.append(k)
        all_states[full] = stored
        return len(all_states), names
    return 0, names


@program(lambda: ({"a": torch.arange(4.0).view(2, 2), "b": None}, torch.tensor([1, 0])))
def reorder_state(state: Dict[str, Optional[Tensor]], order: Tensor) -> Dict[str, Optional[Tensor]]:
    for k in state.keys():
        entry = state[k]
        if entry is not None:
            if entry.size(0) == order.size(0):
                state[k] = entry.index_select(0, order)
    return state


@program(lambda: (torch.rand(4, 2, 3), None, 1), lambda: (torch.rand(4, 2, 3), torch.tensor([[True, False, False, True], [False, False, False, False]]), -1))
def pool_encoder(x: Tensor, padding: Optional[Tensor], layer: int) -> Dict[str, List[Tensor]]:
    states: List[Tensor] = []
    if padding is not None:
        x = x * (1 - padding.transpose(0, 1).unsqueeze(-1).type_as(x))
    if layer >= 0:
        states.append(x[layer])
    mask = torch.jit.annotate(List[Tensor], [])
    if padding is not None:
        mask = [padding]
    return {"encoder_out": [x], "encoder_padding_mask": mask, "encoder_states": states}


@program(lambda: (torch.rand(2, 3, 4), torch.tensor([[1, 2, 0], [2, 0, 0]]), 0.1, 0))
def label_smoothed(logits: Tensor, target: Tensor, epsilon: float, ignore: int) -> Tuple[Tensor, Tensor]:
    lprobs = F.log_softmax(logits, dim=-1)
    t = target.unsqueeze(-1)
    nll = -lprobs.gather(dim=-1, index=t)
    smooth = -lprobs.sum(dim=-1, keepdim=True)
    pad = t.eq(ignore)
    nll.masked_fill_(pad, 0.0)
    smooth.masked_fill_(pad, 0.0)
    eps_i = epsilon / (lprobs.size(-1) - 1)
    return (1.0 - epsilon - eps_i) * nll.sum() + eps_i * smooth.sum(), nll.sum()


@program(lambda: (torch.rand(2, 3, requires_grad=True), torch.rand(2, 4, 3), torch.tensor([4, 2])))
def pointer_scores(query: Tensor, keys: Tensor, lengths: Tensor) -> Tensor:
    scores = torch.bmm(keys, query.unsqueeze(2)).squeeze(2)
    mask = torch.arange(keys.size(1)).unsqueeze(0) >= lengths.unsqueeze(1)
    scores = scores.masked_fill(mask, -1e9)
    return F.softmax(scores, dim=1)


@program(lambda: (torch.tensor([0.5, 0.3, 0.2]), torch.tensor([[0.6, 0.4]]), torch.tensor([[2, 0]]), 0.7))
def copy_distribution(vocab_dist: Tensor, attn: Tensor, source: Tensor, p_gen: float) -> Tensor:
    out = vocab_dist.unsqueeze(0) * p_gen
    return out.scatter_add(1, source, attn * (1 - p_gen))


@program(lambda: (torch.tensor([2.0, 1.0, 0.5, 0.1]), 0.8, 2), lambda: (torch.tensor([2.0, 1.0, 0.5, 0.1]), 0.5, 0))
def top_p_filter(logits: Tensor, p: float, k: int) -> Tensor:
    if k > 0:
        values, _ = torch.topk(logits, k)
        logits = torch.where(logits < values[-1], torch.full_like(logits, float("-inf")), logits)
    ordered, indices = torch.sort(logits, descending=True)
    cumulative = torch.cumsum(F.softmax(ordered, dim=-1), dim=-1)
    remove = cumulative > p
    remove[1:] = remove[:-1].clone()
    remove[0] = False
    logits[indices[remove]] = float("-inf")
    return logits


@program(lambda: (torch.log_softmax(torch.ones(3, 2, 4), -1), torch.tensor([[1, 2], [3, 1]]), torch.tensor([3, 2]), torch.tensor([2, 1])))
def ctc_best_path(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tuple[Tensor, List[str]]:
    loss = F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="none")
    names: List[str] = []
    for b in range(targets.size(0)):
        row = [str(int(v)) for v in targets[b][: int(target_lengths[b])]]
        names.append("-".join(row))
    return loss, names


@program(lambda: (torch.rand(3, 3), [0, 1, 2], 1))
def viterbi(emissions: Tensor, tags: List[int], start: int) -> Tuple[List[int], float]:
    n = emissions.size(1)
    score = [float(emissions[0, t]) + (0.0 if t == start else -1.0) for t in tags]
    back: List[List[int]] = []
    for i in range(1, emissions.size(0)):
        row: List[int] = []
        new_score: List[float] = []
        for t in range(n):
            best = 0
            for s in range(n):
                if score[s] - 0.1 * abs(s - t) > score[best] - 0.1 * abs(best - t):
                    best = s
            row.append(best)
            new_score.append(score[best] - 0.1 * abs(best - t) + float(emissions[i, t]))
        back.append(row)
        score = new_score
    best_last = score.index(max(score))
    path = [best_last]
    for i in range(len(back) - 1, -1, -1):
        path.append(back[i][path[-1]])
    path.reverse()
    return path, max(score)


@program(lambda: (["a", "b"], {"a": [1], "b": [2, 3]}))
def flatten_groups(names: List[str], groups: Dict[str, List[int]]) -> Tuple[List[int], Dict[int, str]]:
    flat: List[int] = []
    owner: Dict[int, str] = {}
    for name in names:
        for v in groups[name]:
            flat.append(v)
            owner[v] = name
    return flat, owner


@program(lambda: (torch.tensor([[3, 1, 2, 0]]), None), lambda: (torch.tensor([[3, 1, 2, 0]]), torch.tensor([[0, 0, 1, 1]])))
class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(5, 4, padding_idx=0)
        self.positions = nn.Embedding(8, 4)
        self.types = nn.Embedding(2, 4)
        self.norm = nn.LayerNorm(4)
        self.drop = nn.Dropout(0.0)
        self.register_buffer("position_ids", torch.arange(8).expand((1, -1)))

    def forward(self, ids: Tensor, type_ids: Optional[Tensor] = None) -> Tensor:
        n = ids.size(1)
        if type_ids is None:
            type_ids = torch.zeros_like(ids)
        x = self.words(ids) + self.positions(self.position_ids[:, :n]) + self.types(type_ids)
        return self.drop(self.norm(x))


@program(lambda: (torch.tensor([1, 2]), 5))
class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(6, 4)
        self.cell = nn.GRUCell(4, 4)
        self.out = nn.Linear(4, 6)
        self.eos = 3

    def step(self, token: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
        state = self.cell(self.embed(token), state)
        return self.out(state).argmax(-1), state

    def forward(self, token: Tensor, limit: int) -> List[List[int]]:
        state = torch.zeros(token.size(0), 4)
        out: List[List[int]] = [torch.jit.annotate(List[int], []) for _ in range(token.size(0))]
        done = torch.zeros(token.size(0), dtype=torch.bool)
        for _ in range(limit):
            token, state = self.step(token, state)
            done = done | (token == self.eos)
            if bool(done.all()):
                break
            for b in range(token.size(0)):
                if not bool(done[b]):
                    out[b].append(int(token[b]))
        return out
