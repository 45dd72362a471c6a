"""Random programs run eagerly and with deferred loops: results, gradients, errors, random numbers must be the same, bit for bit.

    python tests/fuzz/deferred.py --count 10000 --seed 1        # programs 0 to 9999 of the seed
    python tests/fuzz/deferred.py --only 17 --seed 1            # one program, printed with what each run gave
    python tests/fuzz/deferred.py --graphs --count 1000         # as a compiled function whose backend runs the graphs that it gets

A program is 4 to 30 statements over a pool of tensors: scalar arithmetic, reductions, softmax and norms, views, writes in place
and through views, slices that are assigned, products, casts, random draws, branches on values, exceptions that are caught,
gradients, and escapes (item, tolist, numpy).
"""

import argparse
import random
import sys

import kindling as torch
from kindling import _C

SHAPES = [(), (1,), (5,), (4, 6), (3, 1, 4), (2, 3, 4), (6, 40), (1, 7), (3, 0), (17, 33), (2, 300), (64, 20), (50, 6), (40, 2, 8)]
UNARY = ("exp tanh sigmoid relu sqrt abs neg square sin cos log1p reciprocal rsqrt floor round sign erf trunc expm1 "
         "logical_not isnan isfinite frac atan softplus silu gelu").split()
BINARY = "add sub mul div maximum minimum eq lt atan2 pow remainder floor_divide where_pos lerp addcmul fmod hypot logaddexp copysign".split()
REDUCE = "sum mean amax amin prod any all argmax var std logsumexp norm max min var_mean aminmax count_nonzero cumsum".split()


class Writer:
    def __init__(self, seed, number):
        self.draw = random.Random(f"{seed} {number}")
        self.lines, self.names, self.leaves = [], [], []

    def say(self, line):
        self.lines.append(line)

    def fresh(self, expression):
        name = f"t{len(self.names)}"
        self.say(f"{name} = {expression}")
        self.names.append(name)
        return name

    def one(self):
        draw = self.draw
        return draw.choice(self.names[-4:]) if draw.random() < 0.6 else draw.choice(self.names)

    def number(self):
        return self.draw.choice(["2", "0.5", "-1.25", "3", "1e-3", "0", "True"])

    def part_by_part(self, a):
        """A write to a part of a tensor, mostly from other parts of it."""
        part = lambda: self.draw.choice(["[..., 0]", "[..., 1]", "[..., -1]", "[..., ::2]", "[..., 1::2]", "[..., 1:]", "[..., :-1]", "[1:]", "[:-1]", "[0]", "[1::2]",
                                         "[..., ::3]", "[..., 2::4]", "[..., 1:-1]", "[1:, ..., 1:]", "[:-1, ..., :-1]", "[..., :2]", "[..., 2:4]", ""])
        one, other, third = part(), part(), part()
        self.say(self.draw.choice([f"{a}{one} = {a}{other} * 0.5", f"{a}{one} = {a}{other} + {a}{third}", f"{a}{one} += {a}{other}", f"{a}{one} = {self.number()}",
                                   f"{a}{one} = {a}{one} - {a}{other} * {a}{third}", f"{a}{one} *= {a}{one}"]))

    def joined(self, a, b):
        """What is joined, padded, turned or rolled from values that nobody holds, and read as a whole."""
        draw, dim, n = self.draw, self.draw.choice([0, -1, -2]), self.number()
        whole = draw.choice([f"torch.cat([{a} * {n}, {b} + 1], {dim})", f"torch.cat([-h[1], h[0]], {dim})", f"torch.cat([h[0] * {n}, h[1], h[0] - 1], {dim})",
                             f"torch.cat([h[0], (h[1] * 2).sum({dim}, keepdim=True)], {dim})", f"torch.stack([{a} * 2, {a} + {b}], {dim})", f"torch.cat([{a}.cumsum(0), {a} * 2])",
                             f"F.pad({a} * 2, (1, 2))", f"F.pad({a}, (0, -1, 1, 0), value=2)", f"({a} + 1).roll(1, {dim})", f"({a} * 2).roll(3)", f"({a} - 1).flip({dim})", f"{a}.flip(0, -1)",
                             f"torch.cat([{a}.softmax(-1), {b}.exp()], {dim})"])
        self.say(f"h = {a}.chunk(2, {dim})")
        self.fresh(draw.choice([f"{whole}", f"{whole} * {n} + 1", f"{a} * {n} + {whole} * {b}", f"{whole}.sum({dim})", f"({whole} * 2).softmax(-1)", f"{whole}.relu() - {whole}", f"({whole} + {n}).mean(0)",
                                f"torch.cat([{whole}.exp(), {a}], {dim}) + 1", f"{whole}.reshape(-1) * 2", f"{whole}.transpose(0, -1) + 1", f"{whole}[..., :3] * 2", f"{whole}.add_(1).mul_({n})"]))

    def by_rows(self, a, b):
        """Products, look-ups and convolutions, with what comes before and after them: they run block by block of rows."""
        draw, n = self.draw, self.number()
        inner, width = f"{a}.shape[-1]", draw.choice([1, 3, 6, 33])
        before = draw.choice([f"{a}.float()", f"({a} * {n}).float()", f"F.layer_norm({a}.float(), {a}.shape[-1:])", f"{a}.float().softmax(-1)", f"{a}.double() + 1", f"{a}.float().t()"])
        weight = draw.choice([f"torch.randn({width}, {inner}, dtype=x.dtype)", f"torch.randn({inner}, {width}, dtype=x.dtype).t()"])
        self.say(f"x = {before}")
        whole = draw.choice([f"F.linear(x, {weight})", f"F.linear(x, {weight}, torch.randn({width}, dtype=x.dtype))", "x @ x.transpose(-2, -1)", "torch.softmax(x @ x.transpose(-2, -1), -1) @ x",
                             "torch.addmm(x, x @ x.t(), x, beta=0.5, alpha=2)", "torch.baddbmm(x[:, :, :1], x, x.transpose(-2, -1)) @ x", f"F.linear(F.linear(x, {weight}).relu(), torch.randn(5, {width}, dtype=x.dtype))",
                             f"F.embedding(torch.randint(0, 7, x.shape[:-1]), torch.randn(7, {inner})) * x", "x.gather(-1, (x > 0).long())", "x.gather(0, (x > 9).long()) * 2",
                             "x.index_select(0, torch.randint(0, x.shape[0], x.shape[:1])) @ torch.ones(x.shape[-1], 3, dtype=x.dtype)", f"x.index_select(-1, torch.randint(0, {inner}, (3,))) + 1",
                             "F.conv1d(x * 2, torch.randn(3, x.shape[1], 1, dtype=x.dtype)).relu()", "F.conv2d(x[..., None].to(memory_format=torch.channels_last) * 2, torch.randn(3, x.shape[1], 2, 1, dtype=x.dtype)).relu()",
                             "F.conv_transpose1d(x, torch.randn(x.shape[1], 2, 3, dtype=x.dtype)) + 1", f"F.linear(x, {weight})[..., :1] * x", f"(F.linear(x, {weight}) > {n}) * 2"])
        self.fresh(f"({whole})" + draw.choice(["", f" * {n} + 1", ".relu()", ".softmax(-1)", ".sum(-1)", ".sum(0)", ".add_(1).exp()", ".transpose(0, -1)"]))
        if draw.random() < 0.3:
            self.fresh(f"{self.names[-1]} + {b}")

    def leaf(self):
        draw = self.draw
        shape = draw.choice(SHAPES)
        kind = draw.random()
        if kind < 0.65:
            name = self.fresh(f"torch.randn({shape})")
        elif kind < 0.75:
            name = self.fresh(f"torch.randn({shape}, dtype=torch.float64)")
        elif kind < 0.83:
            name = self.fresh(f"torch.randn({shape}).{draw.choice(['half', 'bfloat16'])}()")
        elif kind < 0.95:
            name = self.fresh(f"torch.randint(-5, 9, {shape})")
        else:
            name = self.fresh(f"torch.randn({shape}) > 0")
        if kind < 0.5 and draw.random() < 0.4:
            self.say(f"{name}.requires_grad_()")
            self.leaves.append(name)
        return name

    def statement(self):
        draw, a, b = self.draw, self.one(), self.one()
        kind = draw.randrange(100)
        if kind < 18:
            self.fresh(f"unary({draw.choice(UNARY)!r}, {a})")
        elif kind < 36:
            self.fresh(f"binary({draw.choice(BINARY)!r}, {a}, {b if draw.random() < 0.7 else self.number()})")
        elif kind < 46:
            self.fresh(f"reduce({draw.choice(REDUCE)!r}, {a}, {draw.choice([None, 0, -1, -2])}, {draw.random() < 0.6})")
        elif kind < 51:
            self.fresh(draw.choice([f"F.softmax({a}, -1)", f"F.log_softmax({a}, 0)", f"F.layer_norm({a}, {a}.shape[-1:])", f"({a} - {a}.mean(-1, keepdim=True))",
                                    f"{a} * torch.rsqrt({a}.pow(2).mean(-1, keepdim=True) + 1e-6)", f"{a} / {a}.sum(-1, keepdim=True)",
                                    f"F.mse_loss({a}, {b})", f"F.rms_norm({a}, {a}.shape[-1:])", f"({a} - {a}.amax(-1, keepdim=True)).exp()"]))
        elif kind < 61:
            self.fresh(draw.choice([f"{a}.transpose(0, -1)", f"{a}.reshape(-1)", f"{a}[..., ::2]", f"{a}[1:]", f"{a}.unsqueeze(0)", f"{a}[None]", f"{a}.view({a}.shape)",
                                    f"{a}.expand(2, *{a}.shape)", f"{a}.squeeze()", f"{a}.flip(0)", f"{a}.movedim(0, -1)", f"{a}[0]", f"{a}.t()", f"{a}.diagonal()",
                                    f"{a}.narrow(-1, 0, 1)", f"{a}.flatten()", f"{a}.detach()", f"{a}.contiguous()", f"{a}.clone()"]))
            if draw.random() < 0.3:
                a = self.names[-1]
                self.fresh(draw.choice([f"{a}.view({a}.shape[0], -1)", f"{a}.reshape(-1, {a}.shape[-1])", f"{a} / {a}.shape[0]", f"{a} + {a}.numel()", f"{a}.flatten(1)",
                                        f"{a}.unflatten(0, (-1, {a}.shape[0]))", f"{a}.repeat({a}.shape[-1] // 2, *[1] * ({a}.dim() - 1))", f"{a}.expand_as({b})",
                                        f"{a} if {a}.size(0) > 3 else {a} * 2", f"{a}.chunk(2, -1)[0]", f"{a}[:{a}.shape[0] - 1]", f"torch.zeros({a}.shape) + {a}",
                                        f"torch.arange({a}.size(-1)) * {a}.shape[0]", f"{a}.new_full({a}.shape[:1], {a}.shape[0] % 3)"]))
        elif kind < 67 and draw.random() < 0.5:
            for _ in range(draw.randint(1, 8)):
                self.part_by_part(a)
        elif kind < 67:
            self.joined(a, b)
        elif kind < 73:
            self.say(draw.choice([f"{a}.add_({b})", f"{a}.mul_({self.number()})", f"{a}.copy_({b})", f"{a}.zero_()", f"{a}.fill_({self.number()})", f"{a}.relu_()",
                                  f"{a}.sub_({b}, alpha=2)", f"{a}[..., 0] = {self.number()}", f"{a}[1:] = {b}", f"{a}[0] += 1", f"{a}.clamp_(-1, 1)", f"{a}.sigmoid_()",
                                  f"{a}[{a} > 0] = 0", f"{a}.masked_fill_({a} > 0, 2)", f"{a}.transpose(0, -1).add_({b})", f"{a}.data.mul_(2)", f"torch.add({a}, {b}, out=torch.empty(0))",
                                  f"torch.exp({a}, out={a})", f"{a}.addcmul_({b}, {b})", f"{a}.t_()", f"{a}.div_({b})"]))
        elif kind < 76:
            self.by_rows(a, b)
        elif kind < 80:
            self.fresh(draw.choice([f"({a} @ {b})", f"{a} @ {a}.transpose(-2, -1)", f"torch.cat([{a}, {a}])", f"torch.stack([{a}, {a}], -1)", f"{a}.sort(-1)[0]", f"{a}[{b} > 0]",
                                    f"{a}.index_select(0, torch.tensor([0, 0]))", f"torch.where({a} > 0, {a}, {b})", f"{a}.gather(0, ({a} > 9).long())"]))
        elif kind < 83:
            self.fresh(f"{a}.to(torch.{draw.choice(['float32', 'float64', 'float16', 'bfloat16', 'int64', 'int32', 'bool', 'uint8'])})")
        elif kind < 87:
            self.fresh(draw.choice([f"torch.rand_like({a})", f"F.dropout({a}, 0.5)", f"torch.randn({draw.choice(SHAPES)})", f"torch.bernoulli({a}.sigmoid())", f"torch.zeros_like({a})",
                                    f"torch.full_like({a}, 2)", f"torch.arange(5)", f"torch.ones({draw.choice(SHAPES)})", f"torch.randperm(5)"]))
        elif kind < 91:
            self.say(draw.choice([f"seen.append({a}.sum().item())", f"seen.append({a}.tolist())", f"seen.append(bool(({a} > 0).any()))", f"seen.append({a}.numpy().copy())",
                                  f"if {a}.sum() > 0: {a} = {a} * 2", f"seen.append(str({a}))", f"seen.append({a}.data_ptr() and 1)", f"seen.append(torch.get_rng_state().sum().item())",
                                  f"seen.append({a}._version)", f"n = {a}.detach().numpy()", f"seen.append(pickle.loads(pickle.dumps({a}.detach())))"]))
        elif kind < 93:
            self.say(f"del {self.names.pop(draw.randrange(len(self.names)))}" if len(self.names) > 3 else "pass")
        elif kind < 96 and self.leaves:
            self.say(f"total = {a}.float().sum() + {b}.float().sum()")
            self.say("total.backward(retain_graph=True)")
        elif kind < 98 and self.leaves:
            self.say(f"seen.append(torch.autograd.grad({a}.float().sum(), [{draw.choice(self.leaves)}], allow_unused=True, create_graph={draw.random() < 0.5}))")
        else:
            self.leaf()

    def write(self):
        for _ in range(self.draw.randint(1, 4)):
            self.leaf()
        for _ in range(self.draw.randint(3, 26)):
            self.statement()
        return self.lines


def unary(name, x):
    return getattr(torch.nn.functional, name)(x) if name in ("softplus", "silu", "gelu") else getattr(torch, name)(x)


def binary(name, x, y):
    if name == "where_pos":
        return torch.where(x > 0, x, y)
    if name == "lerp":
        return torch.lerp(x, torch.as_tensor(y, dtype=x.dtype), 0.3)
    if name == "addcmul":
        return torch.addcmul(x, x, torch.as_tensor(y, dtype=x.dtype))
    if name == "atan2" or name in ("hypot", "logaddexp", "maximum", "minimum"):
        y = torch.as_tensor(y, dtype=x.dtype)
    return getattr(torch, name)(x, y)


def reduce(name, x, dim, keep):
    function = getattr(torch, name)
    if name == "cumsum":
        return function(x, -1)
    if dim is None:
        result = function(x, 0) if name == "logsumexp" else function(x)
    elif name == "count_nonzero":
        result = function(x, dim)
    elif name == "aminmax":
        result = function(x, dim=dim, keepdim=keep)
    else:
        result = function(x, dim, keepdim=keep)
    return result if isinstance(result, torch.Tensor) else result[0]


graphs = dynamic = False


def run(lines, deferred):
    """All that a program leaves behind: its tensors, what it has seen, gradients, and the errors of its statements."""
    import pickle

    torch.manual_seed(7)
    scope = dict(torch=torch, F=torch.nn.functional, seen=[], unary=unary, binary=binary, reduce=reduce, pickle=pickle)
    errors = []

    def program():
        for line in lines:
            try:
                exec(line, scope)
            except Exception as error:
                errors.append((line, type(error).__name__, str(error)))

    if graphs and deferred:
        program = torch.compile(program, backend=lambda graph, inputs: graph, dynamic=dynamic)
    elif deferred:
        program = torch.compile(program)
    try:
        program()
    except Exception as error:
        if not (deferred and (graphs or isinstance(error, torch.OutOfMemoryError))):
            raise
        return str(error)               # one that depends on values comes when the graph runs, and one of memory when that is needed
    left = {name: value for name, value in scope.items() if isinstance(value, torch.Tensor)}
    return left, scope["seen"], errors


def facts(value):
    if isinstance(value, torch.Tensor):
        try:
            grad = value.grad if value.is_leaf else None
        except RuntimeError as error:   # one of several views of a base that was written
            grad = str(error)
        return (str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad, version(value), bits(value), grad if grad is None or isinstance(grad, str) else facts(grad))
    if isinstance(value, (list, tuple)):
        return [facts(each) for each in value]
    if type(value).__name__ == "ndarray":
        return bits(torch.from_numpy(value.copy()))
    return repr(value)


def version(value):
    """How often it was written. In a graph an operator does not count what it did to its own result."""
    return 0 if graphs else value._version


def bits(value):
    """The numbers, NaN as NaN."""
    value = value.detach()
    value = value.resolve_neg() if value.is_neg() else value
    if value.is_floating_point():
        value = torch.where(value.isnan(), torch.full_like(value, float("nan")), value)
    return str(torch.cat([value.reshape(-1)]).view(torch.uint8).tolist())


def differs(lines):
    expected, given = run(lines, False), run(lines, True)
    if isinstance(given, str):
        return None if expected[2] else f"no error became {given}"
    if graphs and expected[2] and given[2]:
        return None
    if expected[2] != given[2]:
        return f"errors {expected[2]} became {given[2]}"
    if facts(expected[1]) != facts(given[1]):
        return f"seen {expected[1]} became {given[1]}"
    for name in expected[0]:
        if name not in given[0] or facts(expected[0][name]) != facts(given[0][name]):
            return f"{name}: " + " and ".join(parts(facts(expected[0][name]), facts(given[0].get(name))))
    return None


def parts(one, other, what=""):
    """What differs of two tensors' facts, named."""
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return [f"{what}{one} became {other}"]
    names = "dtype shape strides requires_grad version bits grad".split()
    found = []
    for name, a, b in zip(names, one, other):
        if a != b:
            found += parts(a, b, "gradient's ") if name == "grad" else [f"{what}{name} {a[:100] if name == 'bits' else a} became {b[:100] if name == 'bits' else b}"]
    return found


def smaller(lines):
    """Without the statements that the difference does not need."""
    at = len(lines) - 1
    while at >= 0:
        fewer = lines[:at] + lines[at + 1 :]
        if differs(fewer):
            lines = fewer
        at -= 1
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--most", type=int, default=5, help="stop after so many differences")
    parser.add_argument("--graphs", action="store_true")
    options = parser.parse_args()
    global graphs, dynamic
    graphs = options.graphs
    numbers = [options.only] if options.only is not None else range(options.first, options.first + options.count)
    torch.set_num_threads(1)
    import warnings

    warnings.simplefilter("ignore")
    found = ran = 0
    before = _C._graph_counts()
    for number in numbers:
        _C._defer_from(0 if number % 4 else 100)      # in some programs small loops run at once, between those that are put off
        dynamic = number % 2 == 1                       # sizes are values of the graph
        lines = Writer(options.seed, number).write()
        if options.only is not None:
            print("\n".join(lines), flush=True)
        ran += 1
        fault = differs(lines)
        if fault:
            found += 1
            lines = smaller(lines)
            print(f"program {number}: {differs(lines)}\n    " + "\n    ".join(lines), flush=True)
            if found >= options.most:
                break
    after = _C._graph_counts()
    print(f"{ran} programs, {found} differ; {after['recorded'] - before['recorded']} loops ran as {after['ran'] - before['ran']}")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
