"""Random calls of every declared operator, built in whichever module is asked: the same seed gives the same call in each.

What is drawn never depends on what a module answers, so that a reference and a candidate get the same values.
"""
import re
from collections import namedtuple

import kindling

Argument = namedtuple("Argument", "name type is_list is_optional has_default kwarg_only is_write default_value")
# An operator to call: its name with the overload, what its arguments are, and a function where it is no declared operator.
Entry = namedtuple("Entry", "name schema body", defaults=(None,))

DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64", "bool"]
RANGES = {f"{sign}int{bits}": (0 if sign else -1 << bits - 1, (1 << bits - (not sign)) - 1)
          for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = [0.0, -0.0, 0.5, 1.0, -1.0, 2.5, 1e-30, 1e30, -1e308, float("inf"), float("-inf"), float("nan")]
EXTREMES = [2**31 - 1, 2**31, -2**31, 2**40, 2**62, 2**63 - 1, -2**63, 2**63, 2**64, 10**30]
WORDS = ["none", "mean", "sum", "prod", "amax", "amin", "max", "min", "linear", "nearest", "lower", "higher", "midpoint",
         "bilinear", "bicubic", "area", "constant", "reflect", "replicate", "circular", "valid", "same", "trunc", "floor",
         "tanh", "ij", "xy", "fro", "nuc", "forward", "backward", "ortho", "L", "U", "reduced", "complete", "r", "left",
         "right", "multiply", "add", "gelsd", "gelsy", "gels", "gelss", "gesvd", "batchmean", "", "no such word", "\0"]
DESCRIBE = 400
INDICES = re.compile(r"ind(ex|ices)|lengths|offsets|target|pivots|repeats|batch_sizes|tensor_indices")


class Draw:
    """The values of one call in module `t`: shapes and dtypes that belong together, with exceptions."""

    def __init__(self, rng, t):
        self.rng, self.t = rng, t
        self.dims = [rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 17)) for _ in range(rng.choice((1, 1, 2, 3)))]
        self.rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5))
        self.shape = [rng.choice(self.dims) for _ in range(self.rank)]
        self.dtype = self.a_dtype(rng.choice(DTYPES[:2] * 5 + DTYPES))
        self.wild = rng.choice((0, 0, 0.02, 0.1, 0.3))  # how often an argument is of no use
        self.grad = rng.random() < 0.4
        self.leaves = []  # what gradients are wanted of
        self.small = False

    def a_dtype(self, name=None):
        return getattr(self.t, name or self.rng.choice(DTYPES))

    def odd(self):
        return not self.small and self.rng.random() < self.wild

    def sizes(self):
        rng, kind = self.rng, self.rng.randrange(10)
        if kind < 5:
            return list(self.shape)
        if kind == 5:  # broadcasts
            return [1 if rng.random() < 0.4 else size for size in self.shape[rng.randrange(self.rank + 1):]]
        if kind == 6:
            return self.shape[::-1]
        if kind == 7:
            return self.shape[:rng.randrange(self.rank + 1)]
        rank = max(0, self.rank + rng.choice((-1, 0, 0, 1))) if kind == 8 else rng.randrange(5)
        return [rng.choice(self.dims) for _ in range(rank)]

    def elements(self, count, dtype):
        rng, name = self.rng, word_of(dtype)
        if name == "bool":
            return [rng.random() < 0.5 for _ in range(count)]
        kind = rng.randrange(8)
        if dtype.is_complex:
            if kind == 0 and not self.small:
                return [complex(rng.choice(FLOATS), rng.choice(FLOATS)) for _ in range(count)]
            return [complex(rng.uniform(-3, 3), rng.uniform(-3, 3)) for _ in range(count)]
        if dtype.is_floating_point:
            if kind == 0 and not self.small:
                return [rng.choice(FLOATS) for _ in range(count)]
            return [rng.uniform(0 if kind < 4 else -3, 3) for _ in range(count)]
        if kind == 0 and not self.small:
            low, high = RANGES[name]
            return [rng.choice((low, high, low + 1, high - 1, 0, 1)) for _ in range(count)]
        low = 0 if kind < 4 or not dtype.is_signed else -3
        return [rng.randrange(low, 6 if kind > 2 else 2) for _ in range(count)]

    def plain(self, sizes, dtype):
        count = 1
        for size in sizes:
            count *= size
        if count > 6000:
            return self.t.zeros(sizes, dtype=dtype)
        return self.t.tensor(self.elements(count, dtype), dtype=dtype).reshape(sizes)

    def tensor(self, name="", written=False):
        rng = self.rng
        if self.odd():
            return self.anything()
        if not written and rng.random() < 0.06:
            return self.number()
        dtype = self.dtype
        if rng.random() < 0.15:
            dtype = self.a_dtype()
        elif INDICES.search(name) and rng.random() < 0.9:
            dtype = self.a_dtype(rng.choice(("int64", "int64", "int64", "int32")))
        elif re.search(r"mask|condition", name) and rng.random() < 0.9:
            dtype = self.t.bool
        return self.arranged(self.sizes(), dtype, lazy=written and rng.random() < 0.15)

    def arranged(self, sizes, dtype, lazy=False):
        """A tensor of these sizes whose elements lie in memory in one of many ways."""
        rng, kind, rank, t = self.rng, self.rng.randrange(20), len(sizes), self.t
        if lazy:
            kind = 6
        if kind == 0 and rank > 1:
            order = rng.sample(range(rank), rank)
            x = self.plain([sizes[place] for place in order], dtype)
            x = x.permute([order.index(dim) for dim in range(rank)])
        elif kind == 1 and rank:
            dim, step = rng.randrange(rank), rng.choice((2, 3))
            larger = list(sizes)
            larger[dim] = larger[dim] * step + rng.randrange(step)
            x = self.plain(larger, dtype)
            x = x[(slice(None),) * dim + (slice(rng.randrange(2), None, step),)].narrow(dim, 0, 0) if sizes[dim] == 0 else \
                x[(slice(None),) * dim + (slice(0, sizes[dim] * step, step),)]
        elif kind == 2 and rank:
            small = [1 if rng.random() < 0.5 else size for size in sizes]
            x = self.plain(small, dtype).expand(sizes)
        elif kind == 3:
            x = self.plain([sum(sizes) + 3], dtype).as_strided(sizes, [min(1, size) for size in sizes], rng.randrange(3))
        elif kind == 4 and rank:
            larger = list(sizes)
            larger[0] += 2
            x = self.plain(larger, dtype).narrow(0, 1, sizes[0])
        elif kind == 5 and rank in (4, 5):
            x = self.plain(sizes, dtype).contiguous(memory_format=t.channels_last if rank == 4 else t.channels_last_3d)
        elif kind == 6:
            negated = rng.random() < 0.5
            if dtype.is_complex and negated and rng.random() < 0.6:  # a real tensor with the bit, as z.conj().imag
                x = self.plain(sizes, dtype).conj().imag
            elif dtype.is_complex:
                x = self.plain(sizes, dtype).conj()
                x = x.mH if rank > 1 and rng.random() < 0.2 else x
            else:
                x = self.plain(sizes, dtype)
                x = t._neg_view(x) if negated and dtype.is_signed else x  # PyTorch reads no others
        elif kind == 7:
            return t.empty(sizes, dtype=dtype, device="meta")
        elif kind == 8:
            with t.inference_mode():
                return self.plain(sizes, dtype)
        else:
            x = self.plain(sizes, dtype)
        if self.grad and rng.random() < 0.6 and (dtype.is_floating_point or dtype.is_complex):
            x = x.detach().requires_grad_()
            self.leaves.append(x)
            if rng.random() < 0.5:
                x = x * 1  # not a leaf, so that in-place forms may have it
        return x

    def integer(self):
        rng = self.rng
        if self.odd():
            return rng.choice(EXTREMES) if rng.random() < 0.7 else self.anything()
        return rng.choice((-3, -2, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 8, max(self.dims), self.rank))

    def integers(self):
        rng = self.rng
        kind = rng.randrange(6)
        if kind < 3:
            return self.sizes()
        if kind == 3:
            return rng.sample(range(-self.rank, self.rank), rng.randrange(2 * self.rank + 1) // 2)
        if kind == 4:
            return self.integer()
        return [self.integer() for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 6)))]

    def limit(self):
        """An integer at the end of a dtype, or just past it."""
        return self.rng.choice(RANGES[self.rng.choice(list(RANGES))]) + self.rng.choice((0, 0, 1, -1))

    def number(self):
        rng = self.rng
        if self.small:
            return self.integer()
        return rng.choice((self.integer(), self.integer(), rng.choice(FLOATS), rng.uniform(-2, 2), True, complex(1, rng.choice(FLOATS)),
                           self.limit()))

    def anything(self):
        rng, t = self.rng, self.t
        kind = rng.randrange(12)
        if kind < 3:
            return self.arranged(self.sizes(), self.a_dtype())
        if kind == 3:
            return [self.arranged(self.sizes(), self.dtype) for _ in range(rng.randrange(4))]
        return rng.choice((None, "text", b"bytes", object(), [], (), {}, 1.5, True, rng.choice(EXTREMES), rng.choice(FLOATS),
                           slice(None), ..., t.float32, t.device("meta"), t.Size([2]), [None, 1], [[1], [2, 3]], t.Generator()))

    def value(self, argument):
        """A value for an argument of a schema."""
        rng, kind, t = self.rng, argument.type, self.t
        if self.odd():
            return self.anything()
        if argument.is_optional and rng.random() < 0.4:
            return None
        if argument.has_default and argument.default_value is not None and rng.random() < 0.3:
            return self.own(argument.default_value)
        if argument.is_list:
            if kind == "int":
                return self.integers()
            make = {"Tensor": self.tensor, "Scalar": self.number, "float": self.real, "bool": self.flag}[kind]
            return [make() for _ in range(rng.choice((0, 1, 2, 2, 3, 4)))]
        if kind == "Tensor":
            if argument.is_write and rng.random() < 0.3:
                return t.empty(0, dtype=self.dtype)  # a fresh `out`
            return self.tensor(argument.name, argument.is_write)
        return {"int": self.integer, "bool": self.flag, "float": self.real, "Scalar": self.number, "str": self.word,
                "ScalarType": lambda: rng.choice((self.dtype, self.a_dtype())), "Layout": lambda: t.strided,
                "Device": lambda: rng.choice(("cpu", "cpu", "meta", "cuda", "nowhere")),
                "MemoryFormat": lambda: rng.choice((t.contiguous_format, t.channels_last, t.channels_last_3d, t.preserve_format)),
                "Generator": t.Generator, "Storage": lambda: self.plain([5], self.dtype).untyped_storage()}[kind]()

    def own(self, value):
        """A default of a declaration, which is written in our module, in that of the call."""
        return getattr(self.t, word_of(value)) if isinstance(value, (kindling.dtype, kindling.memory_format)) else value

    def flag(self):
        return self.rng.random() < 0.5

    def real(self):
        rng = self.rng
        return rng.choice((0.0, 0.3, 0.5, 1.0, 1e-5, rng.choice(FLOATS), self.integer()))

    def word(self):
        return self.rng.choice(WORDS)

    def index(self):
        """What stands between the brackets of x[...]."""
        rng, t = self.rng, self.t

        def part():
            return rng.choice((
                None, ..., True, slice(None), slice(self.integer(), self.integer(), rng.choice((None, 1, 2, 3, -1, 2**63 - 1))),
                self.integer(), self.integer(), self.integers(), self.arranged(self.sizes(), t.int64),
                self.arranged(self.sizes(), t.bool), self.arranged(self.sizes(), t.uint8), self.anything() if self.odd() else 0))
        return part() if rng.random() < 0.3 else tuple(part() for _ in range(rng.randrange(5)))


def word_of(value):
    """'float32' for kindling.float32, torch.float32."""
    return str(value).rpartition(".")[2]


def read_item(x, index):
    return x[index]


def write_item(x, index, value):
    x[index] = value
    return x


def operators():
    """Everything there is to call, in a fixed order."""
    found = [Entry("[]", None, read_item), Entry("[]=", None, write_item)]
    for space in ("aten", "torchvision"):
        for name in sorted(dir(getattr(kindling.ops, space))):
            full = name if space == "aten" else f"{space}::{name}"
            for overload in sorted(getattr(getattr(kindling.ops, space), name).overloads()):
                fields = kindling._C._schema_text(full, "" if overload == "default" else overload)[1]
                found.append(Entry(f"{full}.{overload}", [Argument(*each) for each in fields]))
    return found


NAMESPACES = {"linalg_": "linalg.", "fft_": "fft.", "special_": "special."}


def resolve(t, path):
    for word in path.split("."):
        t = getattr(t, word)
    return t


def has(t, path):
    try:
        resolve(t, path)
    except AttributeError:
        return False
    return True


def public(name, modules):
    """Where every public function and method of that name lies, in all of the modules."""
    places = [name, f"Tensor.{name}", f"nn.functional.{name}"]
    places += [module + name[len(start):] for start, module in NAMESPACES.items() if name.startswith(start)]
    return [path for path in places if all(has(t, path) for t in modules)]


def place(rng, entry, modules):
    """Where a call of the operator goes in each of the modules: its overload, its name, or a public function."""
    if entry.body:
        return None
    name, overload = entry.name.split(".")
    kind = rng.randrange(4)
    space, mark, rest = name.partition("::")
    if mark:
        return f"ops.{space}.{rest}.{overload}" if kind > 1 else f"ops.{space}.{rest}"
    path = f"ops.aten.{name}.{overload}"
    if kind == 3:
        path = rng.choice(public(name, modules) or [path])
    elif kind == 2:
        path = f"ops.aten.{name}"
    if not all(has(t, path) for t in modules):  # torch has more overloads for `out` than are needed
        path = f"ops.aten.{name}"
    return path


def drawn(rng, entry, t, path, draw=Draw):
    """A call with random arguments: (function, arguments, keywords, the draw)."""
    draw = draw(rng, t)
    draw.small = "polynomial" in entry.name  # their order is a number of steps, here as in torch
    if entry.schema is None:
        x = draw.arranged(draw.sizes(), draw.dtype, lazy=entry.name == "[]=" and rng.random() < 0.15)
        more = [draw.tensor() if rng.random() < 0.5 else draw.number()] if entry.name == "[]=" else []
        return entry.body, [x, draw.index(), *more], {}, draw
    args, kwargs = [], {}
    for argument in entry.schema:
        if argument.has_default and rng.random() < 0.4:
            continue
        value = draw.value(argument)
        if argument.kwarg_only or kwargs or len(args) < entry.schema.index(argument):
            kwargs[argument.name] = value
        else:
            args.append(value)
    return resolve(t, path), args, kwargs, draw


def changed(rng, player, record, draw=Draw):
    """A recorded call with one or two of its arguments changed, in the player's module."""
    path, _, args, kwargs, _ = record
    function, args, kwargs = player.resolve(path), list(player.thaw(args)), player.thaw(kwargs)
    t = player.module
    draw = draw(rng, t)
    tensors = [x for x in args if isinstance(x, t.Tensor)]
    if tensors:
        draw.dtype, draw.shape = tensors[0].dtype, list(tensors[0].shape)
        draw.rank, draw.dims = len(draw.shape), draw.shape or [1]
    for _ in range(rng.choice((1, 1, 2))):
        places = [(args, place) for place in range(len(args))] + [(kwargs, name) for name in kwargs]
        places += [(item, place) for item in args if type(item) is list for place in range(len(item))]
        if places:
            holder, place = rng.choice(places)
            holder[place] = neighbour(draw, holder[place])
    return function, args, kwargs, draw


def neighbour(draw, value):
    """A value of the same kind, nearly the same."""
    rng, t = draw.rng, draw.t
    if rng.random() < 0.1:
        return draw.anything()
    if isinstance(value, t.Tensor):
        kind, x = rng.randrange(9), value.detach()
        if kind == 0 and x.dim():
            return x.narrow(rng.randrange(x.dim()), 0, 0)
        if kind == 1:
            return x.unsqueeze(rng.randrange(x.dim() + 1))
        if kind == 2 and x.dim():
            return x.select(rng.randrange(x.dim()), 0) if min(x.shape) else x
        if kind == 3:
            return x.to(draw.a_dtype())
        if kind == 4 and x.dim():
            dim = rng.randrange(x.dim())
            return t.cat([x, x], dim)
        if kind == 5 and x.dim() > 1:
            return x.permute(rng.sample(range(x.dim()), x.dim()))
        if kind == 6:
            return t.empty_like(x, device="meta")
        if kind == 7 and not x.dtype.is_floating_point and not x.dtype.is_complex and x.dtype != t.bool:
            return x * rng.choice((-1, 2, 1000, 2**31, 2**62)) + rng.choice((0, 1, -1)) if x.dtype == t.int64 else x - 1
        return draw.arranged(list(x.shape), x.dtype) if x.numel() < 6000 else x
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, 0, rng.choice(EXTREMES)))
    if isinstance(value, float):
        return rng.choice(FLOATS)
    if isinstance(value, str):
        return rng.choice(WORDS)
    if isinstance(value, (list, tuple)) and value:
        copy = list(value)
        kind, place = rng.randrange(4), rng.randrange(len(copy))
        if kind == 0:
            del copy[place]
        elif kind == 1:
            copy.insert(place, copy[place])
        else:
            copy[place] = neighbour(draw, copy[place])
        return copy
    return draw.anything()


def tensors_of(value, t, depth=0):
    if isinstance(value, t.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_of(list(value.values()), t, depth)
    elif isinstance(value, (list, tuple)) and depth < 4:
        for item in value:
            yield from tensors_of(item, t, depth + 1)


def show(value, t):
    """A value for a report: tensors by shape, dtype and strides, and the values of small ones."""
    if isinstance(value, t.Tensor):
        marks = "".join(f" {name}" for name, on in (("grad", value.requires_grad), ("conj", value.is_conj()), ("neg", value.is_neg()),
                                                     (value.device.type, value.device.type != "cpu"),
                                                     ("inference", value.is_inference())) if on)
        if 0 < value.numel() <= 6 and value.device.type == "cpu":
            marks += f" {value.detach().resolve_neg().resolve_conj().tolist()}"
        offset = f" at {value.storage_offset()}" if value.storage_offset() else ""
        return f"<{word_of(value.dtype)} {list(value.shape)} by {list(value.stride())}{offset}{marks}>"
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return "[" + ", ".join(show(item, t) for item in value) + "]"
    return repr(value)[:DESCRIBE]


def tell(function, args, kwargs, t):
    """A call for a report."""
    words = [show(value, t) for value in args] + [f"{name}={show(value, t)}" for name, value in kwargs.items()]
    return f"{getattr(function, '__qualname__', function)}({', '.join(words)})"
