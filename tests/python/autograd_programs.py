"""Random programs over views, in-place writes, detach and gradients: lines of Python that run under either module.

`run(module, seed, length)` gives the program and all that can be seen of it; `difference(a, b)` compares two of these.
    python autograd_programs.py START COUNT LENGTH     # PyTorch beside Kindling; prints what differs
"""
import random

METHODS = ("exp_ sigmoid_ tanh_ sqrt_ reciprocal_ rsqrt_ tan_ relu_ sin_ cos_ log1p_ expm1_ square_ neg_ abs_ erf_ atan_ sinh_ cosh_ "
           "ceil_ sign_ trunc_ exp2_ zero_ lgamma_ digamma_ erfc_ log_ log2_ log10_ frac_ sinc_ logit_ i0_").split()
BINARY = "add_ sub_ mul_ div_ copy_ atan2_ hypot_ fmod_ remainder_ xlogy_ copysign_ clamp_min_ clamp_max_".split()
LAYERS = ["F.elu_({v})", "F.hardtanh_({v}, -.5, .5)", "F.leaky_relu_({v}, .1)", "F.selu_({v})", "F.celu_({v})", "F.silu({v}, inplace=True)",
          "F.mish({v}, inplace=True)", "F.relu6({v}, inplace=True)", "F.hardswish({v}, inplace=True)", "F.hardsigmoid({v}, inplace=True)",
          "F.threshold_({v}, .3, .1)", "F.dropout({v}, 0., True, True)", "F.rrelu({v}, .1, .3, False, True)", "F.alpha_dropout({v}, .5, False, True)"]


def numel(shape):
    count = 1
    for size in shape:
        count *= size
    return count


class Program:
    """Lines that make and change tensors t0, t1, ...; the shapes are followed here, so that most lines are fit to run."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.shapes, self.family = [], {}, {}

    def new(self, shape, source=None):
        name = f"t{len(self.shapes)}"
        self.shapes[name], self.family[name] = tuple(shape), self.family[source] if source else name
        return name

    def pick(self):
        return self.random.choice(list(self.shapes))

    def leaf(self):
        shape = self.random.choice([(4,), (2, 3), (3, 2), (2, 2, 2), (6,)])
        values = [round(self.random.uniform(.2, 1.4), 2) for _ in range(numel(shape))]
        wanted = self.random.random() < .7
        self.lines.append(f"{self.new(shape)} = torch.tensor({values}, dtype=torch.float64).reshape({shape}).clone().requires_grad_({wanted})")

    def maybe_unseen(self, line):
        self.lines.append(f"with torch.no_grad(): {line}" if self.random.random() < .08 else line)

    def view(self):
        v = self.pick()
        s = self.shapes[v]
        options = [(f"{v}[...]", s), (f"{v}.view_as({v})", s), (f"{v}.unsqueeze(0)", (1, *s)), (f"{v}.reshape(-1)", (numel(s),)),
                   (f"{v}.detach()", s), (f"{v}.expand({v}.shape)", s)]
        if s:
            d = self.random.randrange(len(s))
            i = self.random.randrange(s[d]) if s[d] else 0
            without, cut = s[:d] + s[d + 1:], lambda size: s[:d] + (size,) + s[d + 1:]
            if s[d]:
                options += [(f"{v}.select({d}, {i})", without), (f"{v}.narrow({d}, {i}, {s[d] - i})", cut(s[d] - i)), (f"{v}.unbind({d})[{i}]", without)]
            if s[d] > 1:
                options += [(f"{v}.split({s[d] - 1}, {d})[0]", cut(s[d] - 1)), (f"{v}.chunk(2, {d})[0]", cut((s[d] + 1) // 2)),
                            (f"{v}.tensor_split(2, {d})[0]", cut((s[d] + 1) // 2))]
            if s[d] == 1:
                options.append((f"{v}.squeeze({d})", without))
            options.append((f"{v}[::2]", ((s[0] + 1) // 2, *s[1:])))
        if len(s) >= 2:
            options += [(f"{v}.transpose(0, 1)", (s[1], s[0], *s[2:])), (f"{v}.diagonal()", (*s[2:], min(s[0], s[1]))),
                        (f"{v}.movedim(0, -1)", (*s[1:], s[0])), (f"{v}.unbind()[0]", s[1:]), (f"{v}.flatten()", (numel(s),)),
                        (f"{v}.as_strided({v}.shape, {v}.stride(), {v}.storage_offset())", s)]
        text, shape = self.random.choice(options)
        self.maybe_unseen(f"{self.new(shape, v)} = {text}")

    def other(self, shape, apart):
        """Something that broadcasts to `shape`, and that is not being written itself."""
        fits = [n for n, s in self.shapes.items() if n != apart and len(s) <= len(shape) and all(a == b or a == 1 for a, b in zip(s[::-1], shape[::-1]))]
        if not fits or self.random.random() < .3:
            return repr(round(self.random.uniform(.3, 1.5), 2))
        name = self.random.choice(fits)
        return name + ".clone()" if self.family[name] == self.family[apart] else name

    def write(self):
        r, v = self.random, self.pick()
        s = self.shapes[v]
        o = self.other(s, v)
        tensor = o if o[0] == "t" else f"torch.full({s}, {o}, dtype=torch.float64)"
        same = tensor if o[0] != "t" or self.shapes[o.partition(".")[0]] == s else f"{tensor}.expand({s})"
        choices = [f"{v}.{r.choice(METHODS)}()"] * 5 + [f"{v}.{r.choice(BINARY)}({tensor})"] * 4 + [
            r.choice(LAYERS).format(v=v), f"{v}.fill_({round(r.uniform(0, 2), 1)})", f"{v}.zero_()", f"{v}.clamp_(.3, .9)", f"{v}.pow_(2)",
            f"{v}.pow_({tensor})", f"{v}.addcmul_({tensor}, {tensor}, value=.5)", f"{v}.addcdiv_({tensor}, 2 + {tensor})", f"{v}.lerp_({same}, .3)",
            f"{v}.masked_fill_({v}.detach() > .7, .5)", f"{v}.data.mul_(1.5)", f"{v}.detach().mul_(1.1)", f"{v}.mul_(2)", f"{v} *= {o}", f"{v} += {o}",
            f"{v}.polygamma_(1)"]
        if s and s[0]:
            i, row = r.randrange(s[0]), (1, *s[1:])
            ones = f"torch.ones({row}, dtype=torch.float64)"
            choices += [f"{v}[{i}] = {round(r.uniform(0, 2), 1)}", f"{v}[{i}:] *= 2", f"{v}.index_fill_(0, torch.tensor([{i}]), .7)", f"{v}.cumsum_(0)",
                        f"{v}.cumprod_(0)", f"{v}.index_add_(0, torch.tensor([{i}]), {ones})", f"{v}.index_copy_(0, torch.tensor([{i}]), {ones})",
                        f"{v}.renorm_(2, 0, .8)" if len(s) > 1 else f"{v}.add_(1)",
                        f"{v}.index_put_((torch.tensor([{i}]),), torch.tensor(.25, dtype=torch.float64), accumulate={r.random() < .5})",
                        f"{v}.scatter_(0, torch.zeros({row}, dtype=torch.int64), .6)", f"{v}.scatter_add_(0, torch.zeros({row}, dtype=torch.int64), {ones})",
                        f"{v}[{v}.detach() > .6] = .1", f"{v}.unsqueeze_(0).squeeze_(0)"]
        if len(s) == 2:
            choices += [f"{v}.tril_()", f"{v}.triu_()"] + [f"{v}.t_()", f"{v}.transpose_(0, 1)"] * (s[0] == s[1])
        self.maybe_unseen(r.choice(choices))

    def compute(self):
        v = self.pick()
        s = self.shapes[v]
        o = self.other(s, v)
        text = self.random.choice([f"{v} * 1", f"{v} * {o}", f"{v} + {o}", f"{v}.exp()", f"{v}.tanh()", f"{v}.sin()", f"{v}.clone()", f"{v} / (1 + {o} * {o})",
                                   f"{v}.sigmoid()", f"{v} ** 2", f"{v}.square()", f"{v}.sqrt()", f"F.softmax({v}, -1)" if s else f"{v} * 3"])
        self.lines.append(f"{self.new(s)} = {text}")

    def build(self, length):
        self.leaf()
        self.leaf()
        for _ in range(length):
            self.random.choices([self.leaf, self.compute, self.view, self.write], [6, 24, 32, 38])[0]()
        return self.lines


def run(module, seed, length):
    """The program's lines, and: errors of lines (the program goes on), the tensors, first and second gradients."""
    program = Program(seed)
    lines, scope, seen = program.build(length), {"torch": module, "F": module.nn.functional}, []

    def error_of(error):
        text = str(error).replace("kindling", "torch")
        if "modified by an inplace operation" in text:            # which of several comes first is not promised
            text = text.partition(":")[0]
        return type(error).__name__, text

    def weights(tensor, salt):
        chooser = random.Random(seed * 7 + salt)
        return module.tensor([round(chooser.uniform(-1, 1), 3) for _ in range(tensor.numel())], dtype=module.float64).reshape(tensor.shape)

    def values(tensors):
        return [None if each is None else each.detach().reshape(-1).tolist() for each in tensors]
    for number, line in enumerate(lines):
        try:
            exec(line, scope)
        except Exception as error:
            seen.append((number, *error_of(error)))
    tensors = {name: scope[name] for name in program.shapes if name in scope}
    for name, t in tensors.items():
        try:
            history = t.is_leaf, t.grad_fn is None
        except RuntimeError as error:
            history = error_of(error)
        bases = [other for other, u in tensors.items() if u is t._base]
        seen.append((name, t.detach().reshape(-1).tolist(), t.requires_grad, t._is_view(), bases, t._version, history))
    chooser = random.Random(seed)
    wanted = [name for name, t in tensors.items() if t.requires_grad]
    roots, inputs = (chooser.sample(wanted, min(len(wanted), count)) for count in (3, 4))
    again = [name for name in wanted if name in inputs or chooser.random() < .4]
    if not roots:
        return lines, seen
    try:
        first = module.autograd.grad([tensors[n] for n in roots], [tensors[n] for n in inputs],
                                     [weights(tensors[n], k) for k, n in enumerate(roots)], create_graph=True, allow_unused=True)
        seen.append(("first", roots, inputs, values(first)))
        open_ = [(k, g) for k, g in enumerate(first) if g is not None and g.requires_grad]
        for keep in (True, False) if open_ else ():
            second = module.autograd.grad([g for _, g in open_], [tensors[n] for n in again], [weights(g, 10 + k) for k, g in open_],
                                          allow_unused=True, retain_graph=keep)
            seen.append(("second", again, values(second)))
    except Exception as error:
        seen.append(("gradients", roots, inputs, *error_of(error)))
    return lines, seen


def close(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-7 * (1 + abs(a))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    if (a is None) != (b is None):                    # no gradient and a gradient of zeros mean the same
        present = b if a is None else a
        return isinstance(present, list) and not any(present)
    return a == b


def expected_difference(torchs):
    """Where PyTorch refuses what works here (docs/differences.md)."""
    return "for 'inplace version of" in str(torchs)


def difference(torchs, ours):
    """The first entries that differ, or None. A second gradient of zeros need not be there."""
    trivial = [("second", again, values) for _, again, values in (e for e in torchs + ours if e[0] == "second") if not any(map(any, filter(None, values)))]
    left, right = ([entry for entry in entries if entry not in trivial] for entries in (torchs, ours))
    for a, b in zip(left, right):
        if not close(a, b):
            return None if expected_difference(a) else (a, b)
    return None if len(left) == len(right) else (left[len(right):], right[len(left):])


if __name__ == "__main__":
    import sys
    import warnings

    import kindling
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    first_seed, count, length = map(int, sys.argv[1:4])
    different = 0
    for seed in range(first_seed, first_seed + count):
        lines, torchs = run(torch, seed, length)
        found = difference(torchs, run(kindling, seed, length)[1])
        if found:
            different += 1
            print(f"seed {seed}", *(f"  {number}: {line}" for number, line in enumerate(lines)), f"  torch: {str(found[0])[:700]}",
                  f"  ours:  {str(found[1])[:700]}", sep="\n")
    print(f"{count} programs, {different} differ")
    sys.exit(different > 0)
