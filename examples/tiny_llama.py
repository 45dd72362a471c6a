"""A small Llama that learns to write Python, from the standard library's own source, byte by byte.

    python examples/tiny_llama.py                        # under torch
    kindling run examples/tiny_llama.py --plot loss.svg  # the same file under Kindling
"""
import argparse, json, math, os, signal, sys, time

import torch
import torch.nn as nn
import torch.nn.functional as F


def arguments():
    a = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for name, value, text in (
            ("seconds", 105.0, "training time to plan for when --steps is not given"), ("seed", 1, "of every random draw"),
            ("dim", 128, "width"), ("layers", 4, "depth"), ("heads", 4, "of queries"), ("kv-heads", 2, "of keys and values"),
            ("context", 96, "bytes the model sees"), ("batch", 12, "sequences a step"), ("lr", 4e-3, "highest learning rate"),
            ("warmup", 100, "steps"), ("dropout", 0.02, "chance"), ("weight-decay", 0.1, "of matrices, not of norms"),
            ("eval-every", 200, "steps between held-out losses and checkpoints, 0 for none"), ("checkpoint", "tiny_llama.pt", "file"),
            ("prompt", "def ", "what the sample begins with"), ("sample", 400, "bytes to write after it"),
            ("temperature", 0.7, "of sampling"), ("top-k", 40, "bytes to choose from"),
            ("text", os.path.dirname(os.__file__), "folder of .py files to learn"), ("backend", "inductor", "for --compile")):
        a.add_argument("--" + name, type=type(value), default=value, help=text)
    a.add_argument("--steps", type=int, help="train this many steps, whatever the time")
    a.add_argument("--resume", nargs="?", const="", metavar="FILE", help="go on from FILE, or from --checkpoint")
    a.add_argument("--plot", metavar="FILE", help="draw the losses into an .svg file")
    a.add_argument("--compile", nargs="?", const="default", metavar="MODE", help="torch.compile the model")
    a.add_argument("--selfcheck", action="store_true", help="50 steps, then their losses as JSON; writes no file")
    given = a.parse_args()
    for name in ("dim", "layers", "heads", "kv_heads", "context", "batch", "warmup", "steps"):
        if getattr(given, name) is not None and getattr(given, name) < 1:
            a.error(f"--{name.replace('_', '-')} needs at least 1")
    if given.heads % given.kv_heads:
        a.error("--heads needs a multiple of --kv-heads")
    # What would be found out after the training only.
    for name in ("checkpoint", "plot"):
        folder = os.path.dirname(os.path.abspath(getattr(given, name) or "."))
        if not os.path.isdir(folder):
            a.error(f"--{name}: there is no folder {folder}")
    if given.resume is not None and not os.path.isfile(given.resume or given.checkpoint):
        a.error(f"--resume: there is no file {given.resume or given.checkpoint}")
    return given


def read_text(folder, limit=4_000_000, largest=120_000):
    """Training and held-out bytes: .py files in sorted order, small ones only, every 16th held out."""
    parts, paths = ([], []), []
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"test", "tests", "site-packages", "dist-packages", "encodings", "idlelib", "lib2to3"})
        paths += [os.path.join(where, name) for name in sorted(files) if name.endswith(".py")]
    for number, path in enumerate(path for path in paths if os.path.isfile(path) and os.path.getsize(path) <= largest):
        if sum(map(len, parts[0])) < limit:
            with open(path, "rb") as file:
                parts[number % 16 == 15].append(file.read())
    return [torch.frombuffer(bytearray(b"".join(part) or b"\n"), dtype=torch.uint8) for part in parts]


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads, context, dropout):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.context = heads, kv_heads, dim // heads, context
        self.q, self.kv = (nn.Linear(dim, n * self.size, bias=False) for n in (heads, 2 * kv_heads))
        self.out, self.dropout = nn.Linear(dim, dim, bias=False), nn.Dropout(dropout)

    def forward(self, x, cos, sin, cache):
        B, T, C = x.shape
        q = rotate(self.q(x).view(B, T, self.heads, self.size).transpose(1, 2), cos, sin)
        k, v = self.kv(x).view(B, T, 2 * self.kv_heads, self.size).transpose(1, 2).chunk(2, dim=1)
        k = rotate(k, cos, sin)
        if cache is not None:  # the keys and values seen so far, the last `context` of them
            if cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v = k[:, :, -self.context:], v[:, :, -self.context:]
        # Each head of keys and values serves a group of query heads.
        y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1, enable_gqa=True)
        return self.dropout(self.out(y.transpose(1, 2).reshape(B, T, C)))


class Block(nn.Module):
    def __init__(self, dim, heads, kv_heads, context, dropout):
        super().__init__()
        hidden = (dim * 8 // 3 + 31) // 32 * 32
        self.attention_norm, self.mlp_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.attention = Attention(dim, heads, kv_heads, context, dropout)
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down, self.dropout = nn.Linear(hidden, dim, bias=False), nn.Dropout(dropout)

    def forward(self, x, cos, sin, cache=None):
        x = x + self.attention(self.attention_norm(x), cos, sin, cache)
        h = self.mlp_norm(x)
        return x + self.dropout(self.down(F.silu(self.gate(h)) * self.up(h)))


class Llama(nn.Module):
    def __init__(self, dim, layers, heads, kv_heads, context, dropout, longest=4096):
        super().__init__()
        self.context, self.embedding = context, nn.Embedding(256, dim)
        self.blocks = nn.ModuleList([Block(dim, heads, kv_heads, context, dropout) for _ in range(layers)])
        self.norm, self.head = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, 256, bias=False)
        angle = torch.outer(torch.arange(longest), 10000.0 ** (-torch.arange(0, dim // heads, 2) / (dim // heads)))
        self.register_buffer("cos", torch.cos(angle), persistent=False)
        self.register_buffer("sin", torch.sin(angle), persistent=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if name.endswith(("out.weight", "down.weight")) else 0.02)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, targets=None, start=0, caches=None):
        x, end = self.embedding(tokens), start + tokens.size(1)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
            x = block(x, self.cos[start:end], self.sin[start:end], cache)
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
    counts = torch.bincount(text[:-1].long() * 256 + text[1:], minlength=256 * 256).view(256, 256).double() + smooth
    return -(counts / counts.sum(1, keepdim=True)).log()[windows[:, :-1], windows[:, 1:]].mean().item()


@torch.no_grad()
def write(model, prompt, length, temperature, top_k, generator):
    """The prompt and `length` bytes more, one a pass: the keys and values of those before are kept."""
    model.eval()
    text, seen, caches = list(prompt[-model.context:] or b"\n"), 0, [{} for _ in model.blocks]
    for _ in range(min(length, len(model.cos) - len(text))):
        logits = model(torch.tensor([text[seen:]]), start=seen, caches=caches)[0, -1]
        values, indices = torch.topk(logits / max(temperature, 1e-6), min(max(top_k, 1), 256))
        seen = len(text)
        text.append(indices[torch.multinomial(F.softmax(values, dim=-1), 1, generator=generator)].item())
    return bytes(text).decode("utf-8", "replace")


def learning_rate(step, total, args):
    if step < args.warmup or total is None:
        return args.lr * min(1, (step + 1) / args.warmup)
    return args.lr * (0.02 + 0.49 * (1 + math.cos(math.pi * min(1, (step - args.warmup) / max(1, total - args.warmup)))))


def age():
    """Seconds since this process was started, imports included."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


class Progress:
    """A bar where stderr is a terminal; where it is not, a plain line every ten seconds."""
    live, due = sys.stderr.isatty() and os.environ.get("TERM") != "dumb", 0.0
    colour, plain = ("", "") if "NO_COLOR" in os.environ else ("\033[32m", "\033[0m")

    def show(self, step, total, loss, speed, left, heldout):
        if time.monotonic() < self.due and step != total:
            return
        self.due = time.monotonic() + (0.1 if self.live else 10)
        line = f"step {step}/{total or '?'}  loss {loss:.3f}  {speed:,.0f} tokens/s  {max(0, left):.0f} s left"
        line += f"  held out {heldout[-1][1]:.3f}" if heldout else ""
        bar = f"\r{self.colour}{'━' * (24 * step // total if total else 0):<24}{self.plain} {line}\033[K"
        print(bar if self.live else line, end="" if self.live and step != total else "\n", file=sys.stderr, flush=True)


def plot(path, losses, heldout, bigram):
    """The losses of training (a running mean), of held-out text (dots) and of the bigram model (a line), as a picture."""
    mean = [sum(part) / len(part) for part in (losses[max(0, i - 10):i + 11] for i in range(len(losses)))]
    low, high = min(mean + [bigram]) * 0.95, max(mean + [bigram]) * 1.02
    x, y = lambda step: 50 + 650 * step / len(losses), lambda v: 360 - 340 * (v - low) / (high - low)
    curve = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(mean))
    dots = "".join(f'<circle cx="{x(step):.1f}" cy="{y(v):.1f}" r="3.5" fill="#d1495b"/>' for step, v in heldout)
    lines = "".join(f'<path d="M50 {y(v):.1f}H700" stroke="#aaa"/><text y="{y(v):.1f}">{v:.2f}</text>' for v in (low, bigram, high))
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" font-size="12"><rect width="720" '
                   f'height="400" fill="white"/>{lines}<polyline points="{curve}" fill="none" stroke="#30638e"/>{dots}'
                   f'<text x="50" y="386">{len(losses)} steps; nats a byte; dots: held out; grey: bigram</text></svg>\n')


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    draw = torch.Generator().manual_seed(args.seed)
    train, heldout = read_text(args.text)
    if min(len(train), len(heldout)) <= args.context + 1:
        sys.exit(f"not enough Python source under {args.text}")
    window = torch.arange(args.context + 1)
    windows = heldout[torch.arange(256)[:, None] * (len(heldout) - args.context - 1) // 256 + window].long()
    shape = dict(dim=args.dim, layers=args.layers, heads=args.heads, kv_heads=args.kv_heads, context=args.context)
    model = Llama(**shape, dropout=args.dropout)
    groups = [{"params": [p for p in model.parameters() if (p.dim() > 1) == matrix], "weight_decay": matrix * args.weight_decay}
              for matrix in (True, False)]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.98))
    total, losses, curve = 50 if args.selfcheck else args.steps, [], []
    if args.resume is not None:
        state = torch.load(args.resume or args.checkpoint)
        if state["shape"] != shape:
            sys.exit(f"the checkpoint holds a model of {state['shape']}, not of {shape}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        draw.set_state(state["draw"])
        total, losses, curve = args.steps or state["total"], state["losses"], state["curve"]
    run = torch.compile(model, mode=args.compile, backend=args.backend) if args.compile else model

    def checkpoint():
        if not args.selfcheck:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state(),
                        "draw": draw.get_state(), "total": total, "losses": losses, "curve": curve, "shape": shape},
                       args.checkpoint + ".tmp")
            os.replace(args.checkpoint + ".tmp", args.checkpoint)  # a save cut short leaves the old file whole

    interrupts = []  # the first Ctrl-C waits for the end of the step, so that no checkpoint holds half a step
    signal.signal(signal.SIGINT, lambda *a: signal.default_int_handler(*a) if interrupts else interrupts.append(a))
    progress, first_step_ms, first, began, speed = Progress(), None, len(losses), time.monotonic(), 0.0
    while total is None or len(losses) < total:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(len(losses), total, args)
        batch = train[torch.randint(len(train) - args.context, (args.batch, 1), generator=draw) + window].long()
        loss = run(batch[:, :-1], batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        step, spent = len(losses), time.monotonic() - began
        if first_step_ms is None:
            first_step_ms = round(age() * 1000)
            print(f"first step after {first_step_ms} ms: {sum(p.numel() for p in model.parameters()):,} parameters, "
                  f"{len(train):,} bytes of Python, loss {losses[-1]:.4f}", flush=True)
        if total is None and step >= args.warmup:  # from here on the schedule needs to know where it ends
            total = step + max(1, int((args.seconds - spent) / spent * (step - first)))
        if args.eval_every and step % args.eval_every == 0 and step != total:
            curve.append((step, evaluate(model, windows[::8])))
            checkpoint()
        speed, left = (step - first) / spent, (total - step) * spent / (step - first) if total else args.seconds - spent
        progress.show(step, total, losses[-1], speed * args.batch * args.context, left, curve)
        if interrupts and step != total:
            checkpoint()
            print(f"\nstopped after {step} steps; --resume {args.checkpoint} goes on from there", flush=True)
            sys.exit(130)
    if args.selfcheck:
        print(json.dumps(losses))
        return
    speed *= args.batch * args.context
    curve.append((len(losses), evaluate(model, windows)))
    checkpoint()
    bigram = bigram_loss(train, windows)
    if args.plot:
        plot(args.plot, losses, curve, bigram)
    draw.manual_seed(args.seed)
    print("-" * 72, write(model, args.prompt.encode(), args.sample, args.temperature, args.top_k, draw), "-" * 72, sep="\n")
    print(json.dumps({"first_step_ms": first_step_ms, "steps": len(losses), "heldout_loss": curve[-1][1], "bigram_loss": bigram,
                      "tokens_per_s": round(speed, 1), "checkpoint": args.checkpoint, "wall_s": round(age(), 1)}))


if __name__ == "__main__":
    main()
