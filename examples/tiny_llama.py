"""A small Llama that learns to write Python, from the standard library's own source, byte by byte.

    python examples/tiny_llama.py                        # under torch
    kindling run examples/tiny_llama.py --plot loss.svg  # the same file under Kindling
"""
import argparse, json, math, os, signal, sys, time
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F


def arguments():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for name, value, text in (
            ("seconds", 105.0, "training time to plan for when --steps is not given"), ("seed", 1, "of every random draw"),
            ("dim", 128, "width"), ("layers", 4, "depth"), ("heads", 4, "of queries"), ("kv-heads", 2, "of keys and values"),
            ("context", 96, "bytes the model sees"), ("batch", 12, "sequences a step"), ("lr", 4e-3, "highest learning rate"),
            ("warmup", 100, "steps"), ("dropout", 0.02, "chance"), ("weight-decay", 0.1, "of matrices, not of norms"),
            ("eval-every", 200, "steps between held-out losses and checkpoints"), ("checkpoint", "tiny_llama.pt", "file"),
            ("prompt", "def ", "what the sample begins with"), ("sample", 400, "bytes to write after it"),
            ("temperature", 0.7, "of sampling"), ("top-k", 40, "bytes to choose from"),
            ("text", os.path.dirname(os.__file__), "folder of .py files to learn"), ("backend", "inductor", "for --compile")):
        a.add_argument("--" + name, type=type(value), default=value, help=text)
    a.add_argument("--steps", type=int, help="train this many steps, whatever the time")
    a.add_argument("--resume", nargs="?", const="", metavar="FILE", help="go on from FILE, or from --checkpoint")
    a.add_argument("--plot", metavar="FILE", help="draw the losses into an .svg file")
    a.add_argument("--compile", nargs="?", const="default", metavar="MODE", help="torch.compile the model")
    a.add_argument("--selfcheck", action="store_true", help="50 steps, then their losses as JSON; writes no file")
    return a.parse_args()


def read_text(folder, limit=4_000_000, largest=120_000):
    """Training and held-out bytes: .py files in sorted order, small ones only, every 16th held out."""
    parts, size, number = ([], []), 0, 0
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"test", "tests", "site-packages", "dist-packages", "encodings", "__pycache__",
                                            "idlelib", "lib2to3", "pydoc_data"})
        for name in sorted(files):
            path = os.path.join(where, name)
            if name.endswith(".py") and os.path.isfile(path) and os.path.getsize(path) <= largest and size < limit:
                with open(path, "rb") as file:
                    parts[number % 16 == 15].append(file.read())
                size, number = size + len(parts[number % 16 == 15][-1]), number + 1
    return tuple(bytearray(b"".join(p)) for p in parts)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads, context, dropout):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.context = heads, kv_heads, dim // heads, context
        self.q = nn.Linear(dim, heads * self.size, bias=False)
        self.kv = nn.Linear(dim, 2 * kv_heads * self.size, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cos, sin, mask, cache):
        B, T, C = x.shape
        q = rotate(self.q(x).view(B, T, self.heads, self.size).transpose(1, 2), cos, sin)
        k, v = self.kv(x).view(B, T, 2 * self.kv_heads, self.size).transpose(1, 2).chunk(2, dim=1)
        k = rotate(k, cos, sin)
        if cache is not None:  # the keys and values seen so far, the last `context` of them
            if "k" in cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v = k[:, :, -self.context:], v[:, :, -self.context:]
        S, group = k.size(2), self.heads // self.kv_heads  # each key and value head serves a group of query heads
        k, v = (t.unsqueeze(2).expand(B, self.kv_heads, group, S, self.size).reshape(B, self.heads, S, self.size)
                for t in (k, v))
        scores = (q @ k.transpose(-2, -1)) * self.size ** -0.5
        if T > 1:
            scores = scores.masked_fill(mask[:T, :T], float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.dropout(self.out(y.transpose(1, 2).reshape(B, T, C)))


class Block(nn.Module):
    def __init__(self, dim, heads, kv_heads, context, dropout):
        super().__init__()
        hidden = (dim * 8 // 3 + 31) // 32 * 32
        self.attention_norm, self.mlp_norm = RMSNorm(dim), RMSNorm(dim)
        self.attention = Attention(dim, heads, kv_heads, context, dropout)
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down, self.dropout = nn.Linear(hidden, dim, bias=False), nn.Dropout(dropout)

    def forward(self, x, cos, sin, mask, cache=None):
        x = x + self.attention(self.attention_norm(x), cos, sin, mask, cache)
        h = self.mlp_norm(x)
        return x + self.dropout(self.down(F.silu(self.gate(h)) * self.up(h)))


class Llama(nn.Module):
    def __init__(self, dim, layers, heads, kv_heads, context, dropout, longest=4096):
        super().__init__()
        self.embedding = nn.Embedding(256, dim)
        self.blocks = nn.ModuleList([Block(dim, heads, kv_heads, context, dropout) for _ in range(layers)])
        self.norm = RMSNorm(dim)
        self.head = nn.Linear(dim, 256, bias=False)
        size = dim // heads
        angle = torch.outer(torch.arange(longest).float(), 10000.0 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("cos", torch.cos(angle), persistent=False)
        self.register_buffer("sin", torch.sin(angle), persistent=False)
        self.register_buffer("mask", torch.ones(context, context).triu(1).bool(), persistent=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if name.endswith(("out.weight", "down.weight")) else 0.02)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, targets=None, start=0, caches=None):
        x, end = self.embedding(tokens), start + tokens.size(1)
        for i, block in enumerate(self.blocks):
            x = block(x, self.cos[start:end], self.sin[start:end], self.mask, None if caches is None else caches[i])
        logits = self.head(self.norm(x))
        return logits if targets is None else F.cross_entropy(logits.view(-1, 256), targets.reshape(-1))


@torch.no_grad()
def evaluate(model, windows):
    model.eval()
    losses = [model(w[:, :-1], w[:, 1:]).item() * len(w) for w in windows.split(16)]
    model.train()
    return sum(losses) / len(windows)


def bigram_loss(text, windows, smooth=0.1):
    """The held-out loss of a model that counts which byte follows which."""
    text = memoryview(text)
    pairs, first = Counter(zip(text, text[1:])), Counter(text[:-1])
    seen = Counter(p for w in windows.tolist() for p in zip(w, w[1:]))
    chance = {p: (pairs[p] + smooth) / (first[p[0]] + 256 * smooth) for p in seen}
    return -sum(n * math.log(chance[p]) for p, n in seen.items()) / sum(seen.values())


@torch.no_grad()
def write(model, prompt, length, temperature, top_k, generator):
    """The prompt and `length` bytes more: one pass of one byte each, as keys and values are kept in a cache."""
    model.eval()
    text, caches = list(prompt[-model.mask.size(0):] or b"\n"), [{} for _ in model.blocks]
    logits = model(torch.tensor([text]), caches=caches)[0, -1]
    for position in range(len(text), min(len(text) + length, model.cos.size(0))):
        values, indices = torch.topk(logits / max(temperature, 1e-6), min(max(top_k, 1), 256))
        text.append(indices[torch.multinomial(F.softmax(values, dim=-1), 1, generator=generator)].item())
        logits = model(torch.tensor([text[-1:]]), start=position, caches=caches)[0, -1]
    return bytes(text).decode("utf-8", "replace")


def learning_rate(step, total, args):
    if step < args.warmup or total is None:
        return args.lr * min(1, (step + 1) / args.warmup)
    done = min(1, (step - args.warmup) / max(1, total - args.warmup))
    return args.lr * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))


def age():
    """Seconds since this process was started, imports included."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return time.process_time()


class Progress:
    """A bar where stderr is a terminal; where it is not, a plain line every ten seconds."""
    def __init__(self):
        self.live, self.next = sys.stderr.isatty() and os.environ.get("TERM") != "dumb", 0.0
        self.colour, self.plain = ("\033[32m", "\033[0m") if "NO_COLOR" not in os.environ else ("", "")

    def show(self, step, total, loss, speed, left, heldout):
        if time.monotonic() < self.next and step != total:
            return
        self.next = time.monotonic() + (0.1 if self.live else 10)
        line = f"step {step}/{total or '?'}  loss {loss:.3f}  {speed:,.0f} tokens/s  {max(0, left):.0f} s left"
        line += f"  held out {heldout[-1][1]:.3f}" if heldout else ""
        bar = f"\r{self.colour}{'━' * (24 * step // total if total else 0):<24}{self.plain} {line}\033[K"
        print(bar if self.live else line, end="" if self.live and step != total else "\n", file=sys.stderr, flush=True)


def plot(path, losses, heldout, bigram):
    """Training loss (a running mean), held-out losses and the bigram line, as a picture."""
    mean = [sum(part) / len(part) for part in (losses[max(0, i - 10):i + 11] for i in range(len(losses)))]
    low, high = min(mean + [bigram]) * 0.95, max(mean + [bigram]) * 1.02
    x, y = lambda i: 50 + 650 * i / max(1, len(losses) - 1), lambda v: 360 - 340 * (v - low) / (high - low)
    curve = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(mean))
    dots = "".join(f'<circle cx="{x(step - 1):.1f}" cy="{y(v):.1f}" r="3.5" fill="#d1495b"/>' for step, v in heldout)
    grid = "".join(f'<path d="M50 {y(v):.1f}H700" stroke="#ddd"/><text x="12" y="{y(v) + 4:.1f}">{v:.1f}</text>'
                   for v in (low + (high - low) * k / 5 for k in range(6)))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" font-family="sans-serif" '
                   f'font-size="12"><rect width="720" height="400" fill="white"/>{grid}<path d="M50 {y(bigram):.1f}H700" '
                   f'stroke="#888" stroke-dasharray="5 4"/><text x="655" y="{y(bigram) - 5:.1f}">bigram</text>'
                   f'<polyline points="{curve}" fill="none" stroke="#30638e" stroke-width="1.5"/>{dots}<text x="50" '
                   f'y="386">{len(losses)} steps; loss in nats a byte, dots: held-out text</text></svg>\n')


def main():
    args = arguments()
    if args.selfcheck:
        args.steps = 50
    torch.manual_seed(args.seed)
    draw = torch.Generator().manual_seed(args.seed)
    train_text, heldout_text = read_text(args.text)
    if min(len(train_text), len(heldout_text)) <= args.context + 1:
        sys.exit(f"not enough Python source under {args.text}")
    train, heldout = (torch.frombuffer(t, dtype=torch.uint8) for t in (train_text, heldout_text))
    gap = (len(heldout) - args.context - 1) / 256
    windows = torch.stack([heldout[int(i * gap):int(i * gap) + args.context + 1] for i in range(256)]).long()

    shape = dict(dim=args.dim, layers=args.layers, heads=args.heads, kv_heads=args.kv_heads, context=args.context)
    model = Llama(**shape, dropout=args.dropout)
    weights, others = ([p for p in model.parameters() if (p.dim() > 1) == matrix] for matrix in (True, False))
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": args.weight_decay},
                                   {"params": others, "weight_decay": 0.0}], lr=args.lr, betas=(0.9, 0.98))
    step, total, losses, curve = 0, args.steps, [], []
    if args.resume is not None:
        state = torch.load(args.resume or args.checkpoint)
        if state["shape"] != shape:
            sys.exit(f"the checkpoint holds a model of {state['shape']}, not of {shape}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        draw.set_state(state["draw"])
        step, total, losses, curve = state["step"], args.steps or state["total"], state["losses"], state["curve"]
    run = torch.compile(model, mode=args.compile, backend=args.backend) if args.compile else model

    interrupts = []
    def interrupt(*_):  # the first Ctrl-C waits for the end of the step, so that no checkpoint holds half a step
        interrupts.append(1)
        if len(interrupts) > 1:
            raise KeyboardInterrupt
    signal.signal(signal.SIGINT, interrupt)

    def checkpoint():
        if not args.selfcheck:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state(),
                        "draw": draw.get_state(), "step": step, "total": total, "losses": losses, "curve": curve,
                        "shape": shape}, args.checkpoint + ".tmp")
            os.replace(args.checkpoint + ".tmp", args.checkpoint)  # a save cut short leaves the old file whole

    progress, first_step_ms, first, began, tokens = Progress(), None, step, time.monotonic(), args.batch * args.context
    while total is None or step < total:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, total, args)
        starts = torch.randint(len(train) - args.context, (args.batch,), generator=draw).tolist()
        batch = torch.stack([train[s:s + args.context + 1] for s in starts]).long()
        loss = run(batch[:, :-1], batch[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        step += 1
        spent = time.monotonic() - began
        if first_step_ms is None:
            first_step_ms = round(age() * 1000)
            print(f"first step after {first_step_ms} ms: {sum(p.numel() for p in model.parameters()):,} parameters, "
                  f"{len(train):,} bytes of Python, loss {losses[-1]:.4f}", flush=True)
        if total is None and step >= args.warmup:  # from here on the schedule needs to know where it ends
            total = step + max(1, int((args.seconds - spent) / spent * (step - first)))
        if step % args.eval_every == 0 and step != total:
            curve.append((step, evaluate(model, windows[::8])))
            checkpoint()
        left = spent / (step - first) * (total - step) if total else args.seconds - spent
        progress.show(step, total, losses[-1], (step - first) * tokens / spent, left, curve)
        if interrupts and step != total:
            checkpoint()
            print(f"\nstopped after {step} steps; --resume {args.checkpoint} goes on from there", flush=True)
            sys.exit(130)
    if args.selfcheck:
        print(json.dumps(losses))
        return
    speed = (step - first) * tokens / (time.monotonic() - began)
    curve.append((step, evaluate(model, windows)))
    checkpoint()
    bigram = bigram_loss(train_text, windows)
    if args.plot:
        plot(args.plot, losses, curve, bigram)
    draw.manual_seed(args.seed)
    print("-" * 72, write(model, args.prompt.encode(), args.sample, args.temperature, args.top_k, draw), "-" * 72, sep="\n")
    print(json.dumps({"first_step_ms": first_step_ms, "steps": step, "heldout_loss": curve[-1][1], "bigram_loss": bigram,
                      "tokens_per_s": round(speed, 1), "checkpoint": args.checkpoint, "wall_s": round(age(), 1)}))


if __name__ == "__main__":
    main()
