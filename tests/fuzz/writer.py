"""Writes random programs of automatic differentiation: lists of Python statements, for whichever module is `torch`."""

PRELUDE = {
    "Scale": '''
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ctx.factor + x * 0, None
''',
    "Cube": '''
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return x * y
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return 3 * x * x * grad
''',
    "Dirty": '''
class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
''',
    "Pair": '''
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        which = x > y
        ctx.mark_non_differentiable(which)
        return x * y, x + y, which
    @staticmethod
    def backward(ctx, first, second, _):
        x, y = ctx.saved_tensors
        return (first * y + second).sum_to_size(x.shape), (first * x + second).sum_to_size(y.shape)
''',
    "Same": '''
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, grad):
        log.append(("Same", tuple(grad.shape)))
        return grad
''',
    "Once": '''
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sin()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return grad * (1 - y * y)
''',
    "hook": '''
def hook(name, factor=None):
    def see(grad):
        log.append((name, None if grad is None else grad.detach().clone()))
        return None if factor is None else grad * factor
    return see
''',
    "node_hook": '''
def node_hook(name):
    def see(inputs, outputs):
        log.append((name, len(inputs), len(outputs)))
    return see
''',
    "pack": '''
def pack(x):
    return x.detach() * 1
''',
    "unpack": '''
def unpack(x):
    return x
''',
}
UNARY = ["sin()", "cos()", "tanh()", "sigmoid()", "relu()", "abs()", "neg()", "square()", "exp()", "clone()", "contiguous()",
         "erf()", "atan()", "clamp(-1, 1)", "pow(2)", "pow(3)", "rsqrt()", "sqrt()", "log()", "reciprocal()", "softmax(-1)", "log_softmax(-1)",
         "cumsum(-1)", "tan()", "sinh()", "asinh()", "log1p()", "expm1()", "exp2()", "sort(-1)[0]", "flip(-1)", "roll(1, -1)", "tril()",
         "to(torch.float32)", "double()", "triu()", "sgn()", "logit(0.1)", "cumprod(-1)", "logcumsumexp(-1)", "cummax(-1)[0]", "frac()",
         "round()", "nan_to_num()", "masked_fill({x} > 0, 0.5)", "detach()", "norm() * {x}", "type_as({x})", "fill_diagonal_(0.5)"]
FUNCTIONS = ["F.gelu({x})", "F.silu({x})", "F.softplus({x})", "F.leaky_relu({x}, 0.1)", "F.elu({x})", "F.hardtanh({x})", "F.mish({x})",
             "F.dropout({x}, 0.5)", "F.normalize({x}, dim=-1)", "F.layer_norm({x}, {x}.shape[-1:])", "F.selu({x})", "F.hardswish({x})",
             "F.logsigmoid({x})", "F.rrelu({x})", "F.relu6({x})", "F.softsign({x})", "F.glu(torch.cat([{x}, {x}], -1), -1)",
             "torch.where({x} > 0, {x}, {x} * 2)", "torch.special.expit({x})", "torch.hypot({x}, {x} + 1)", "F.rms_norm({x}, {x}.shape[-1:])"]
BINARY = ["{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y}.abs() + 1)", "torch.maximum({x}, {y})", "torch.where({x} > {y}, {x}, {y})",
          "torch.addcmul({x}, {x}, {y})", "torch.lerp({x}, {y}, 0.3)", "torch.atan2({x}, {y})", "torch.add({x}, {y}, alpha=2)",
          "torch.addcdiv({x}, {x}, {y} + 3)", "torch.hypot({x}, {y})", "{x} ** 2 * {y}", "torch.logaddexp({x}, {y})", "torch.xlogy({x}, {y}.abs() + 1)",
          "F.mse_loss({x}, {y}.expand_as({x}), reduction='none')", "F.smooth_l1_loss({x}, {y}.expand_as({x}), reduction='none')"]
IN_PLACE = ["mul_(2)", "add_(1)", "sin_()", "sigmoid_()", "tanh_()", "exp_()", "sqrt_()", "zero_()", "fill_(0.5)", "relu_()", "clamp_(-1, 1)", "pow_(2)",
            "neg_()", "abs_()", "reciprocal_()", "rsqrt_()", "tan_()", "sub_(0.25)", "div_(2)", "masked_fill_({x} > 0, 0.5)", "cumsum_(-1)", "square_()",
            "tril_()", "cos_()", "erf_()", "log1p_()", "atan_()", "expm1_()", "sinh_()", "index_fill_(-1, torch.tensor([0]), 2.0)", "round_()",
            "copy_({x} * 2)", "clamp_min_(0.1)", "lerp_({x} + 1, 0.5)", "uniform_()", "normal_()", "cumprod_(-1)", "logit_(0.1)", "addcmul_({x}, {x})"]
IN_PLACE_OTHER = ["mul_({y})", "add_({y})", "copy_({y})", "sub_({y})", "div_({y}.abs() + 1)", "add_({y}, alpha=2)", "lerp_({y}, 0.5)",
                  "addcmul_({y}, {y})", "masked_fill_({y} > 0, 1.0)", "clamp_({y})", "atan2_({y})", "pow_({y})", "hypot_({y})"]


class Writer:
    """Writes one program. Variables are known by their shapes; what is drawn never depends on what the program does."""

    def __init__(self, rng):
        self.rng, self.lines, self.shapes, self.count, self.functions = rng, [], {}, 0, {}
        self.float = rng.choice(("float64", "float64", "float64", "float32", "complex128"))
        self.modules = 0

    def fresh(self, shape):
        self.count += 1
        name = f"v{self.count}"
        self.shapes[name] = tuple(shape)
        return name

    def any(self, accept=None):
        names = [name for name, shape in self.shapes.items() if accept is None or accept(shape)]
        # What came last is taken more often, so that chains grow.
        return self.rng.choice(names[-4:] if self.rng.random() < 0.6 else names) if names else None

    def value(self, shape):
        if not shape:
            number = round(self.rng.uniform(-2, 2), 2)
            return f"{complex(number, round(self.rng.uniform(-2, 2), 2))}" if self.float == "complex128" else str(number)
        return "[" + ", ".join(self.value(shape[1:]) for _ in range(shape[0])) + "]"

    def leaf(self):
        rng = self.rng
        shape = rng.choice(((2, 3), (2, 3), (3,), (4,), (2, 2), (3, 3), (), (1, 3), (2, 1, 3), (2, 2, 2)))
        grad = ", requires_grad=True" if rng.random() < 0.75 else ""
        text = f"torch.tensor({self.value(shape)}, dtype=torch.{self.float}{grad})"
        return f"{self.fresh(shape)} = {text}"

    def make(self):
        """One statement, or two."""
        rng = self.rng
        kinds = ((self.unary, 4), (self.function, 2), (self.binary, 5), (self.view, 9), (self.write, 8), (self.write_other, 4), (self.set_item, 3),
                 (self.reduce, 2), (self.join, 1), (self.index, 2), (self.own, 2), (self.mark, 4), (self.differentiate, 4), (self.leaf, 1),
                 (self.product, 1), (self.layer, 1), (self.checkpoint, 1), (self.data, 1), (self.odd_view_write, 2))
        make = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        before = self.count
        text = make()
        if text is None:
            return None
        wrap = rng.random()
        if wrap < 0.08 and make not in (self.mark, self.leaf):
            kind = rng.choice(("torch.no_grad()", "torch.no_grad()", "torch.enable_grad()", "torch.set_grad_enabled(False)",
                               "torch.autograd.graph.saved_tensors_hooks(pack, unpack)", "torch.autograd.graph.save_on_cpu()",
                               "torch.inference_mode()" if rng.random() < 0.3 else "torch.no_grad()"))
            text = f"with {kind}:\n    " + text.replace("\n", "\n    ")
        assert self.count >= before
        return text

    def unary(self):
        x = self.any()
        call = self.rng.choice(UNARY).format(x=x)
        if self.float == "complex128" and self.rng.random() < 0.3:
            call = self.rng.choice(("conj() * 1", "real + 0j", "abs()", "angle()", "imag * 1", "resolve_conj()", "conj_physical()"))
        return f"{self.fresh(self.shapes[x])} = {x}.{call}"

    def function(self):
        x = self.any()
        return f"{self.fresh(self.shapes[x])} = {self.rng.choice(FUNCTIONS).format(x=x)}"

    def other(self, x):
        """A variable that broadcasts to the shape of x, often x or a part of it."""
        shape = self.shapes[x]

        def fits(other):
            return len(other) <= len(shape) and all(a in (1, b) for a, b in zip(reversed(other), reversed(shape)))
        return self.any(fits)

    def binary(self):
        x = self.any()
        y = self.other(x)
        text = self.rng.choice(BINARY[:3] if self.rng.random() < 0.5 else BINARY).format(x=x, y=y)
        return f"{self.fresh(self.shapes[x])} = {text}"

    def view(self):
        text, shape = self.view_of(self.any())
        return f"{self.fresh(shape)} = {text}"

    def view_of(self, x):
        rng, shape = self.rng, self.shapes[x]
        rank = len(shape)
        count = 1
        for size in shape:
            count *= size
        choices = [(f"{x}[:]" if rank else f"{x}[...]", shape), (f"{x}[None]", (1, *shape)), (f"{x}.view(-1)", (count,)), (f"{x}.reshape(-1)", (count,)),
                   (f"{x}.detach()", shape), (f"{x}.unsqueeze(-1)", (*shape, 1)), (f"{x}.view_as({x})", shape), (f"{x}.expand(2, *{x}.shape)", (2, *shape)),
                   (f"{x}.flatten()", (count,)), (f"{x}.as_strided({shape}, {x}.stride())", shape), (f"{x}.alias() if hasattr({x}, 'alias') else {x}[...]", shape),
                   (f"{x}[...]", shape), (f"torch.atleast_1d({x})", shape or (1,)), (f"{x}.data", shape), (f"{x}.expand_as({x})", shape),
                   (f"{x}.squeeze()", tuple(size for size in shape if size != 1)), (f"{x}.ravel()", (count,)), (f"{x}.reshape({x}.shape)", shape)]
        if self.float == "complex128":
            choices += [(f"{x}.conj()", shape), (f"{x}.conj()", shape), (f"{x}.real", shape), (f"{x}.imag", shape), (f"torch.view_as_real({x})", (*shape, 2))] * 2
        if rank:
            dim = rng.randrange(rank)
            size, rest = shape[dim], shape[:dim] + shape[dim + 1:]
            choices += [(f"{x}[0]", shape[1:]), (f"{x}.select({dim}, -1)", rest), (f"{x}[..., 0]", shape[:-1]), (f"{x}.unbind({dim})[0]", rest),
                        (f"{x}.narrow({dim}, 0, 1)", (*shape[:dim], 1, *shape[dim + 1:])), (f"{x}[:1]", (1, *shape[1:])),
                        (f"{x}.split(1, {dim})[-1]", (*shape[:dim], 1, *shape[dim + 1:])), (f"{x}.chunk(1, {dim})[0]", shape),
                        (f"{x}[1:]", (shape[0] - 1, *shape[1:])), (f"{x}[::2]", ((shape[0] + 1) // 2, *shape[1:])),
                        (f"{x}.unfold({dim}, 1, 1)", (*shape, 1)), (f"{x}.movedim({dim}, 0)", (size, *rest)),
                        (f"{x}.tensor_split(1, {dim})[0]", shape), (f"{x}.swapdims({dim}, 0)", swap(shape, dim, 0))]
        if rank > 1:
            choices += [(f"{x}.transpose(0, 1)", swap(shape, 0, 1)), (f"{x}.mT", swap(shape, rank - 2, rank - 1)), (f"{x}[:, 0]", (shape[0], *shape[2:])),
                        (f"{x}.diagonal()", (*shape[2:], min(shape[:2]))), (f"{x}.flatten(0, 1)", (shape[0] * shape[1], *shape[2:])),
                        (f"{x}.permute(*range({rank - 1}, -1, -1))", shape[::-1]), (f"{x}.transpose(0, 1).flatten()", (count,)),
                        (f"{x}[:, None]", (shape[0], 1, *shape[1:])), (f"{x}.transpose(0, 1).reshape({x}.shape)", shape)]
        return rng.choice(choices)

    def write(self):
        x = self.any()
        return f"{x}.{self.rng.choice(IN_PLACE).format(x=x)}"

    def write_other(self):
        x = self.any()
        y = self.other(x)
        return f"{x}.{self.rng.choice(IN_PLACE_OTHER[:3] if self.rng.random() < 0.5 else IN_PLACE_OTHER).format(y=y)}"

    def odd_view_write(self):
        """A write to a view that has no name."""
        text, _ = self.view_of(self.any())
        return f"({text}).{self.rng.choice(IN_PLACE[:8])}"

    def set_item(self):
        rng, x = self.rng, self.any(lambda shape: shape and shape[0] > 0)
        if x is None:
            return None
        shape = self.shapes[x]
        y = self.any(lambda other: other in (shape[1:], ()))
        value = y if y and rng.random() < 0.7 else "0.5"
        place = rng.choice(("0", "-1", "..., 0", ":1", "torch.tensor([0])", "[0]", f"{x}.detach().abs() > 1", "None, 0", ":"))
        return f"{x}[{place}] = {value}"

    def reduce(self):
        rng, x = self.rng, self.any()
        shape = self.shapes[x]
        if not shape or rng.random() < 0.4:
            return f"{self.fresh(())} = {x}.{rng.choice(('sum()', 'mean()', 'prod()', 'max()', 'norm()', 'var()', 'logsumexp(-1).sum()', 'amax()', 'std()', 'median()'))}"
        dim = rng.randrange(len(shape))
        call = rng.choice(("sum({})", "mean({})", "amax({})", "max({})[0]", "prod({})", "logsumexp({})", "norm(dim={})", "var({}, unbiased=False)", "cumsum({}).sum({})",
                           "min({})[0]", "median({})[0]", "nansum({})", "kthvalue(1, {})[0]"))
        return f"{self.fresh(shape[:dim] + shape[dim + 1:])} = {x}.{call.format(dim, dim)}"

    def join(self):
        x = self.any()
        shape = self.shapes[x]
        y = self.any(lambda other: other == shape)
        if not shape or self.rng.random() < 0.5:
            return f"{self.fresh((2, *shape))} = torch.stack([{x}, {y}])"
        return f"{self.fresh((2 * shape[0], *shape[1:]))} = torch.cat([{x}, {y}])"

    def index(self):
        rng, x = self.rng, self.any(lambda shape: shape and shape[0] > 1)
        if x is None:
            return None
        shape = self.shapes[x]
        text, result = rng.choice(((f"{x}[torch.tensor([0, 1, 0])]", (3, *shape[1:])), (f"{x}.index_select(0, torch.tensor([1, 1]))", (2, *shape[1:])),
                                   (f"{x}.gather(0, torch.zeros_like({x}, dtype=torch.int64))", shape), (f"{x}[{x}.detach().abs() > -1]", None),
                                   (f"{x}.take(torch.tensor([0, 1]))", (2,)), (f"{x}.scatter(0, torch.zeros_like({x}, dtype=torch.int64), {x})", shape),
                                   (f"{x}.index_add(0, torch.tensor([1]), {x}[:1])", shape), (f"{x}.repeat(2, *[1] * ({x}.dim() - 1))", (2 * shape[0], *shape[1:])),
                                   (f"{x}.topk(1, 0)[0]", (1, *shape[1:])), (f"{x}.repeat_interleave(2, 0)", (2 * shape[0], *shape[1:]))))
        if result is None:
            result = (shape_count(shape),)
        return f"{self.fresh(result)} = {text}"

    def product(self):
        x = self.any(lambda shape: len(shape) == 2)
        if x is None:
            return None
        shape = self.shapes[x]
        y = self.any(lambda other: len(other) == 2 and other[0] == shape[1])
        if y is None or self.rng.random() < 0.3:
            return f"{self.fresh((shape[0], shape[0]))} = F.linear({x}, {x})"
        return f"{self.fresh((shape[0], self.shapes[y][1]))} = {x} @ {y}"

    def own(self):
        rng, x = self.rng, self.any()
        shape, kind = self.shapes[x], rng.choice(("Scale", "Cube", "Dirty", "Pair", "Same", "Once", "Same"))
        if kind == "Scale":
            return f"{self.fresh(shape)} = Scale.apply({x}, 3)"
        if kind == "Pair":
            y = self.other(x)
            return f"{self.fresh(shape)}, {self.fresh(shape)}, _ = Pair.apply({x}, {y})"
        return f"{self.fresh(shape)} = {kind}.apply({x})"

    def mark(self):
        x = self.any()
        number = self.rng.randrange(100)
        return self.rng.choice((
            f"{x}.retain_grad()", f"{x}.retain_grad()", f"{x}.requires_grad_()", f"{x}.register_hook(hook({number}))", f"{x}.register_hook(hook({number}, 2))",
            f"{x}.register_hook(hook({number}, 0.5))", f"{x}.grad_fn.register_hook(node_hook({number}))", f"{x}.detach_()", f"_ = {x}.grad_fn",
            f"_ = {x}.grad_fn.next_functions", f"{x}.grad = None", f"{x}.requires_grad_(False)",
            f"{x}.register_post_accumulate_grad_hook(lambda x: log.append(({number}, x.grad.detach().clone())))",
            f"{x}.grad_fn.register_prehook(lambda grads: log.append(({number}, len(grads))))", f"{x}.grad.zero_()", f"del {x}"))

    def data(self):
        x = self.any()
        shape = self.shapes[x]
        y = self.any(lambda other: other == shape)
        return self.rng.choice((f"{x}.data.mul_(2)", f"{x}.data = {y}.detach().clone()", f"{x}.detach().zero_()", f"{x}.set_({y}.detach())",
                                f"{x}.data.copy_({y})", f"{x}.t_()", f"{x}.squeeze_()", f"{x}.unsqueeze_(0)", f"{x}.resize_as_({x})"))

    def layer(self):
        """Batch normalisation, called once or twice."""
        rng, x = self.rng, self.any(lambda shape: len(shape) in (2, 3) and shape[0] > 1)
        if x is None or self.float != "float64":  # a constant channel is divided by the root of eps, and rounding with it
            return None
        shape = self.shapes[x]
        kind = rng.randrange(3)
        if kind == 0:
            return f"{self.fresh(shape)} = F.batch_norm({x}, None, None, training=True)"
        self.modules += 1
        name = f"bn{self.modules}"
        text = f"{name} = torch.nn.BatchNorm1d({shape[1]}, dtype=torch.{self.float})\n{self.fresh(shape)} = {name}({x})"
        return text + (f"\n{self.fresh(shape)} = {name}({x} + 1)" if kind == 1 else f"\n{self.fresh(shape)} = {name}.eval()({x})")

    def checkpoint(self):
        x = self.any()
        body = self.rng.choice(("lambda x: x.sin() * x", "lambda x: (x * 2).exp_().sum() * x", "lambda x: torch.tanh(x) + 1", "lambda x: x.sigmoid().mul_(x)"))
        reentrant = self.rng.random() < 0.3
        return f"{self.fresh(self.shapes[x])} = checkpoint({body}, {x}, use_reentrant={reentrant})"

    def total(self):
        names = [self.any() for _ in range(self.rng.choice((1, 1, 2, 3)))]
        if self.float == "complex128":
            return " + ".join(f"({x} * {x}.conj()).real.sum()" if self.rng.random() < 0.5 else f"{x}.abs().sum()" for x in names)
        return " + ".join(f"({x} * {x}).sum()" if self.rng.random() < 0.4 else f"{x}.sum()" for x in names)

    def differentiate(self):
        rng, kind = self.rng, self.rng.randrange(6)
        if kind < 2:
            keep = rng.choice(("", "retain_graph=True", "create_graph=True", "retain_graph=True"))
            return f"({self.total()}).backward({keep})"
        inputs = list(dict.fromkeys(self.any() for _ in range(rng.choice((1, 1, 2, 3)))))
        keep = rng.choice(("", ", retain_graph=True", ", create_graph=True", ", create_graph=True"))
        shape = self.shapes[inputs[0]]
        text = f"{self.fresh(shape)} = torch.autograd.grad({self.total()}, [{', '.join(inputs)}], allow_unused={rng.random() < 0.8}{keep})[0]"
        if kind == 5:
            return f"({self.total()}).backward(inputs=[{', '.join(inputs)}]{keep})" if keep != "" else text
        return text

    def program(self):
        rng = self.rng
        lines = [self.leaf() for _ in range(rng.choice((1, 2, 2, 3)))]
        for _ in range(rng.randrange(3, 18)):
            text = self.make()
            if text:
                lines.append(text)
        lines.append(f"({self.total()}).backward()")
        return lines


def swap(shape, one, other):
    shape = list(shape)
    shape[one], shape[other] = shape[other], shape[one]
    return tuple(shape)


def shape_count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


PRELUDE_CODE = {name: compile(text, f"<{name}>", "exec") for name, text in PRELUDE.items()}


def prelude(scope):
    for code in PRELUDE_CODE.values():
        exec(code, scope)


def text_of(lines):
    """A program as Python, with what it needs of the prelude."""
    body = "\n".join(lines)
    needed = [text.strip() for name, text in PRELUDE.items() if name in body]
    head = ["import torch", "import torch.nn.functional as F"] + (["from torch.utils.checkpoint import checkpoint"] if "checkpoint(" in body else [])
    head += ["log = []"] if "log" in body or "hook" in body or "Same" in body else []
    return "\n".join([*head, *needed, *lines])


def shrink(lines, still, steps=400):
    """The shortest program for which still(lines) holds, by leaving statements out."""
    lines, changed = list(lines), True
    while changed and steps > 0:
        changed = False
        for place in range(len(lines) - 1, -1, -1):
            steps -= 1
            candidates = [lines[:place] + lines[place + 1:]]
            if lines[place].startswith("with "):
                candidates.append(lines[:place] + [lines[place].partition("\n")[2].replace("\n    ", "\n").strip()] + lines[place + 1:])
            elif "\n" in lines[place]:
                candidates.append(lines[:place] + lines[place].split("\n") + lines[place + 1:])
            for fewer in candidates:
                if still(fewer):
                    lines, changed = fewer, True
                    break
    return lines
