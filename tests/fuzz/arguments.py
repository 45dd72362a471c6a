"""Calls every declared operator with random arguments and checks that an answer or an ordinary exception comes of it.

    python tests/fuzz/arguments.py --count 20000 --seed 1
    python tests/fuzz/arguments.py --count 20000 --calls calls.pickle     # half of them changes of recorded calls

Call number N is made from the seed and N alone and goes to operator N modulo their number, so every overload, in-place
and out form has its turn and `--only N` repeats one call. Shapes, dtypes, strides, overlaps, conj and neg bits, devices,
indices, options and Python types are drawn so that many calls are nearly right. Faults are: a process that dies (a
sanitizer's report, a signal), a call that takes longer than --limit seconds, an exception that says the library is at
fault (SystemError, kindling.InternalError, a NameError of our own Python), a result that reaches outside its storage. What
comes back is read to its last element and, where it can be, differentiated.
"""
import argparse
import faulthandler
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple
from pathlib import Path

import kindling as t

Argument = namedtuple("Argument", "name type is_list is_optional has_default kwarg_only is_write default_value")
DTYPES = [t.float32, t.float64, t.float16, t.bfloat16, t.complex64, t.complex128, t.int8, t.int16, t.int32, t.int64,
          t.uint8, t.uint16, t.uint32, t.uint64, t.bool]
FLOATS = [0.0, -0.0, 0.5, 1.0, -1.0, 2.5, 1e-30, 1e30, -1e308, float("inf"), float("-inf"), float("nan")]
EXTREMES = [2**31 - 1, 2**31, -2**31, 2**40, 2**62, 2**63 - 1, -2**63, 2**63, 2**64, 10**30]
WORDS = ["none", "mean", "sum", "prod", "amax", "amin", "max", "min", "linear", "nearest", "lower", "higher", "midpoint",
         "bilinear", "bicubic", "area", "constant", "reflect", "replicate", "circular", "valid", "same", "trunc", "floor",
         "tanh", "ij", "xy", "fro", "nuc", "forward", "backward", "ortho", "L", "U", "reduced", "complete", "r", "left",
         "right", "multiply", "add", "gelsd", "gelsy", "gels", "gelss", "gesvd", "batchmean", "", "no such word", "\0"]
FAULTS = ("SystemError", "InternalError", "NameError", "UnboundLocalError", "RecursionError")
DESCRIBE = 400


class Draw:
    """The values of one call: shapes and dtypes that belong together, with exceptions."""

    def __init__(self, rng):
        self.rng = rng
        self.dims = [rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 17)) for _ in range(rng.choice((1, 1, 2, 3)))]
        self.rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5))
        self.shape = [rng.choice(self.dims) for _ in range(self.rank)]
        self.dtype = rng.choice(DTYPES[:2] * 5 + DTYPES)
        self.wild = rng.choice((0, 0, 0.02, 0.1, 0.3))  # how often an argument is of no use
        self.grad = rng.random() < 0.4
        self.small = False

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
        rng = self.rng
        if dtype == t.bool:
            return [rng.random() < 0.5 for _ in range(count)]
        if dtype.is_complex:
            return [complex(rng.uniform(-3, 3), rng.uniform(-3, 3)) for _ in range(count)]
        kind = rng.randrange(8)
        if dtype.is_floating_point:
            if kind == 0 and not self.small:
                return [rng.choice(FLOATS) for _ in range(count)]
            return [rng.uniform(0 if kind < 4 else -3, 3) for _ in range(count)]
        if kind == 0 and not self.small:
            info = t.iinfo(dtype)
            return [rng.choice((info.min, info.max, 0, 1)) for _ in range(count)]
        low = 0 if kind < 4 or not dtype.is_signed else -3
        return [rng.randrange(low, 6 if kind > 2 else 2) for _ in range(count)]

    def plain(self, sizes, dtype):
        count = 1
        for size in sizes:
            count *= size
        if count > 6000:
            return t.zeros(sizes, dtype=dtype)
        return t.tensor(self.elements(count, dtype), dtype=dtype).reshape(sizes)

    def tensor(self, name=""):
        rng = self.rng
        if self.odd():
            return self.anything()
        dtype = self.dtype
        if rng.random() < 0.15:
            dtype = rng.choice(DTYPES)
        elif re.search(r"ind(ex|ices)|lengths|offsets|target|pivots|repeats|batch_sizes|tensor_indices", name) and rng.random() < 0.9:
            dtype = rng.choice((t.int64, t.int64, t.int64, t.int32))
        elif re.search(r"mask|condition", name) and rng.random() < 0.9:
            dtype = t.bool
        return self.arranged(self.sizes(), dtype)

    def arranged(self, sizes, dtype):
        """A tensor of these sizes whose elements lie in memory in one of many ways."""
        rng, kind, rank = self.rng, self.rng.randrange(20), len(sizes)
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
            x = self.plain(sizes, dtype)
            x = x.conj() if dtype.is_complex else t._neg_view(x) if dtype != t.bool and rng.random() < 0.5 else x
        elif kind == 7:
            return t.empty(sizes, dtype=dtype, device="meta")
        elif kind == 8:
            with t.inference_mode():
                return self.plain(sizes, dtype)
        else:
            x = self.plain(sizes, dtype)
        if self.grad and rng.random() < 0.6 and (dtype.is_floating_point or dtype.is_complex):
            x = x.detach().requires_grad_()
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

    def number(self):
        rng = self.rng
        if self.small:
            return self.integer()
        return rng.choice((self.integer(), self.integer(), rng.choice(FLOATS), rng.uniform(-2, 2), True, complex(1, rng.choice(FLOATS))))

    def anything(self):
        rng = self.rng
        kind = rng.randrange(12)
        if kind < 3:
            return self.arranged(self.sizes(), rng.choice(DTYPES))
        if kind == 3:
            return [self.arranged(self.sizes(), self.dtype) for _ in range(rng.randrange(4))]
        return rng.choice((None, "text", b"bytes", object(), [], (), {}, 1.5, True, rng.choice(EXTREMES), rng.choice(FLOATS),
                           slice(None), ..., t.float32, t.device("meta"), t.Size([2]), [None, 1], [[1], [2, 3]], t.Generator()))

    def value(self, argument):
        """A value for an argument of a schema."""
        rng, kind = self.rng, argument.type
        if self.odd():
            return self.anything()
        if argument.is_optional and rng.random() < 0.4:
            return None
        if argument.has_default and argument.default_value is not None and rng.random() < 0.3:
            return argument.default_value
        if argument.is_list:
            if kind == "int":
                return self.integers()
            make = {"Tensor": self.tensor, "Scalar": self.number, "float": self.real, "bool": self.flag}[kind]
            return [make() for _ in range(rng.choice((0, 1, 2, 2, 3, 4)))]
        if kind == "Tensor":
            if argument.is_write and rng.random() < 0.3:
                return t.empty(0, dtype=self.dtype)  # a fresh `out`
            return self.tensor(argument.name)
        return {"int": self.integer, "bool": self.flag, "float": self.real, "Scalar": self.number, "str": self.word,
                "ScalarType": lambda: rng.choice((self.dtype, rng.choice(DTYPES))), "Layout": lambda: t.strided,
                "Device": lambda: rng.choice(("cpu", "cpu", "meta", "cuda", "nowhere")),
                "MemoryFormat": lambda: rng.choice((t.contiguous_format, t.channels_last, t.channels_last_3d, t.preserve_format)),
                "Generator": t.Generator, "Storage": lambda: self.plain([5], self.dtype).untyped_storage()}[kind]()

    def flag(self):
        return self.rng.random() < 0.5

    def real(self):
        rng = self.rng
        return rng.choice((0.0, 0.3, 0.5, 1.0, 1e-5, rng.choice(FLOATS), self.integer()))

    def word(self):
        return self.rng.choice(WORDS)

    def index(self):
        """What stands between the brackets of x[...]."""
        rng = self.rng

        def part():
            return rng.choice((
                None, ..., True, slice(None), slice(self.integer(), self.integer(), rng.choice((None, 1, 2, 3, -1, 2**63 - 1))),
                self.integer(), self.integer(), self.integers(), self.arranged(self.sizes(), t.int64),
                self.arranged(self.sizes(), t.bool), self.arranged(self.sizes(), t.uint8), self.anything() if self.odd() else 0))
        return part() if rng.random() < 0.3 else tuple(part() for _ in range(rng.randrange(5)))


def read_item(x, index):
    return x[index]


def write_item(x, index, value):
    x[index] = value
    return x


def operators():
    """(name, overload or a function, its arguments) of everything there is to call, in a fixed order."""
    found = [("[]", read_item, None), ("[]=", write_item, None)]
    for name in sorted(dir(t.ops.aten)):
        packet = getattr(t.ops.aten, name)
        for overload in sorted(packet.overloads()):
            call = getattr(packet, overload)
            fields = t._C._schema_text(name, "" if overload == "default" else overload)[1]
            found.append((f"{name}.{overload}", call, [Argument(*each) for each in fields]))
    return found


NAMESPACES = {"linalg_": "linalg", "fft_": "fft", "special_": "special"}


def public(name):
    """Every public function and method of that name."""
    places = [(t, name), (t.Tensor, name), (t.nn.functional, name)]
    places += [(getattr(t, module), name[len(start):]) for start, module in NAMESPACES.items() if name.startswith(start)]
    return [getattr(place, word) for place, word in places if hasattr(place, word)]


def drawn(rng, entry):
    """A call with random arguments: (function, arguments, keywords)."""
    name, overload, schema = entry
    draw = Draw(rng)
    draw.small = "polynomial" in name  # their order is a number of steps, here as in torch
    if schema is None:
        x = draw.arranged(draw.sizes(), draw.dtype)
        return overload, [x, draw.index()] + ([draw.tensor() if rng.random() < 0.5 else draw.number()] if name == "[]=" else []), {}
    args, kwargs = [], {}
    for argument in schema:
        if argument.has_default and rng.random() < 0.4:
            continue
        value = draw.value(argument)
        if argument.kwarg_only or kwargs or len(args) < schema.index(argument):
            kwargs[argument.name] = value
        else:
            args.append(value)
    kind = rng.randrange(4)
    if kind < 2:
        return overload, args, kwargs
    if kind == 2:
        return overload.overloadpacket, args, kwargs
    return rng.choice(public(name.partition(".")[0]) or [overload]), args, kwargs


def changed(rng, player, record):
    """A recorded call with one or two of its arguments changed."""
    path, _, args, kwargs, _ = record
    function, args, kwargs = player.resolve(path), list(player.thaw(args)), player.thaw(kwargs)
    draw = Draw(rng)
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
    return function, args, kwargs


def neighbour(draw, value):
    """A value of the same kind, nearly the same."""
    rng = draw.rng
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
            return x.to(rng.choice(DTYPES))
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


def tensors_of(value, depth=0):
    if isinstance(value, t.Tensor):
        yield value
    elif isinstance(value, (list, tuple)) and depth < 4:
        for item in value:
            yield from tensors_of(item, depth + 1)


def examine(value):
    """Reads a result to its last element, and checks that this lies in its storage."""
    for x in tensors_of(value):
        if x.device.type != "cpu" or x.layout != t.strided or not x.numel():
            continue
        last = x.storage_offset() + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
        if min(x.stride(), default=0) < 0 or (last + 1) * x.element_size() > x.untyped_storage().nbytes():
            raise SystemError(f"a result of {list(x.shape)} with strides {x.stride()} at {x.storage_offset()} reaches outside its storage")
        if x.numel() < 100_000:
            plain = x.detach()
            (plain.isnan() if plain.dtype.is_floating_point or plain.dtype.is_complex else plain != 0).any()
            if x.numel() < 50:
                repr(plain)


def differentiate(value):
    total = None
    for x in tensors_of(value):
        if x.requires_grad and x.numel() < 100_000 and x.device.type == "cpu":
            part = (x.abs() if x.is_complex() else x).double().sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()


def show(value):
    """A value for a report: tensors by shape, dtype and strides."""
    if isinstance(value, t.Tensor):
        marks = "".join(f" {name}" for name, on in (("grad", value.requires_grad), ("conj", value.is_conj()), ("neg", value.is_neg()),
                                                     (value.device.type, value.device.type != "cpu")) if on)
        return f"<{str(value.dtype).partition('.')[2]} {list(value.shape)} by {list(value.stride())}{marks}>"
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return "[" + ", ".join(map(show, value)) + "]"
    return repr(value)[:DESCRIBE]


class Caller:
    """Makes and runs the calls of one seed."""

    def __init__(self, args):
        self.seed = args.seed
        self.operators = [entry for entry in operators() if re.search(args.operators, entry[0])]
        self.records = None  # polynomials are left to what is drawn, which knows that their order is a number of steps
        if args.calls:
            sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
            from replay import Player
            self.player = Player(t)
            with open(args.calls, "rb") as file:
                self.records = [record for record in pickle.load(file) if re.search(args.operators, record[0]) and "polynomial" not in record[0]]

    def call(self, number, report=None):
        """One word on how call `number` went; a word that begins with ! is a fault."""
        rng = random.Random(self.seed * 1_000_003 + number)
        made = None
        try:
            t.manual_seed(number)
            if self.records and rng.random() < 0.5:
                made = changed(rng, self.player, rng.choice(self.records))
            else:
                made = drawn(rng, self.operators[number % len(self.operators)])
        except Exception as problem:
            if report:
                raise
            # Making the arguments is use of the library as well.
            return self.judge(problem) or "no call"
        function, args, kwargs = made
        if report:
            report(f"{function}({', '.join([*map(show, args), *(f'{name}={show(value)}' for name, value in kwargs.items())])})")
        try:
            result = function(*args, **kwargs)
            examine(result)
            examine(args)
            if rng.random() < 0.7:
                differentiate(result)
        except Exception as problem:
            if report:
                report(f"{type(problem).__name__}: {problem}")
            return self.judge(problem) or "refused"
        return "answered"

    @staticmethod
    def judge(problem):
        if type(problem).__name__ in FAULTS:
            return f"!{type(problem).__name__}: {str(problem)[:300]}"
        return None


def limit_memory():
    """A call that asks for more than a gigabyte is refused by the system, so no machine is brought down."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return  # its shadow is larger than any limit; the sanitizer has a limit of its own (in `environment`)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))


def environment(isa):
    options = [os.environ.get("ASAN_OPTIONS", ""), "max_allocation_size_mb=1024", "allocator_may_return_null=1"]
    return {**os.environ, "ASAN_OPTIONS": ":".join(filter(None, options)), **({"KINDLING_ISA": isa} if isa else {})}


def work(args):
    """The calls from --first on, in this process; the file --state holds the number of the one under way."""
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    caller = Caller(args)
    limit_memory()
    tally = {}
    state = os.open(args.state, os.O_WRONLY)
    for number in range(args.first, args.first + args.count):
        os.pwrite(state, b"%12d" % number, 0)
        signal.alarm(args.limit)
        result = caller.call(number)
        if result[0] == "!":
            print(f"FAULT {number} {result[1:]!r}", flush=True)
            result = "fault"
        tally[result] = tally.get(result, 0) + 1
    signal.alarm(0)
    print(f"TALLY {tally!r}", flush=True)


def one(args):
    """One call, told before it is made."""
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    caller = Caller(args)
    limit_memory()
    signal.alarm(args.limit)
    result = caller.call(args.only, lambda text: print(text, flush=True))
    print(result)
    return result[0] == "!"


def on_stack(args, function):
    """function(args), in a thread with a stack of --stack kilobytes if there is to be one."""
    if not args.stack:
        return function(args)
    results = []
    threading.stack_size(args.stack << 10)
    thread = threading.Thread(target=lambda: results.append(function(args)))
    thread.start()
    thread.join()
    return results[0]


def command(args, *more):
    words = [sys.executable, os.path.abspath(__file__), "--seed", args.seed, "--operators", args.operators, "--limit", args.limit,
             "--stack", args.stack]
    return [str(word) for word in (*words, *(["--calls", args.calls] if args.calls else []), *more)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--operators", default="", metavar="REGEX", help="only those whose name.overload it finds")
    parser.add_argument("--calls", metavar="FILE", help="what tests/conformance/record.py wrote: half of the calls are changes of those")
    parser.add_argument("--only", type=int, metavar="N", help="this call alone, told before it is made")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--chunk", type=int, default=5000, help="calls in one process")
    parser.add_argument("--isas", default="", metavar="A,B", help="chunks in turn under these instruction sets")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="for one call")
    parser.add_argument("--stack", type=int, default=0, metavar="KB", help="calls come from a thread with so small a stack")
    parser.add_argument("--faults", type=int, default=20, help="stop after so many")
    parser.add_argument("--state", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.state:
        return on_stack(args, work)
    if args.only is not None:
        return on_stack(args, one)
    started = time.monotonic()
    isas = args.isas.split(",")
    end = args.first + args.count
    waiting = [(first, min(args.chunk, end - first), isas[i % len(isas)]) for i, first in enumerate(range(args.first, end, args.chunk))]
    running, tally, faults = {}, {}, 0

    def fault(number, isa, what):
        nonlocal faults
        faults += 1
        print(f"call {number} of seed {args.seed}: {what}")
        print(f"  repeat with: {f'KINDLING_ISA={isa} ' if isa else ''}{' '.join(command(args, '--only', number))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        while (waiting and faults < args.faults) or running:
            while waiting and len(running) < args.jobs and faults < args.faults:
                first, count, isa = waiting.pop(0)
                state, output = Path(folder, f"state{first}"), open(Path(folder, f"output{first}"), "w+")
                state.write_text(f"{first:12}")
                process = subprocess.Popen(command(args, "--first", first, "--count", count, "--state", state), env=environment(isa),
                                           stdout=output, stderr=subprocess.STDOUT)
                running[process.pid] = process, first, count, isa, state, output
            process, first, count, isa, state, output = running.pop(wait(running))
            output.seek(0)
            text = output.read()
            output.close()
            for line in text.splitlines():
                if line.startswith("FAULT "):
                    _, number, what = line.split(" ", 2)
                    fault(int(number), isa, what)
                elif line.startswith("TALLY "):
                    for word, times in eval(line[6:]).items():
                        tally[word] = tally.get(word, 0) + times
            if process.returncode:
                number = int(state.read_text())
                if memory(text):
                    tally["refused"] = tally.get("refused", 0) + 1
                    waiting.insert(0, (number + 1, first + count - number - 1, isa))
                    continue
                how = "took too long" if process.returncode == -signal.SIGALRM else f"ended the process ({process.returncode})"
                fault(number, isa, f"{how}\n{text[-6000:]}")
                if number + 1 < first + count:
                    waiting.insert(0, (number + 1, first + count - number - 1, isa))
    print(f"{args.count} calls in {time.monotonic() - started:.0f} s: {tally}, {faults} faults")
    if not faults:  # else the fuzzer would only test the front door
        assert tally.get("answered", 0) > args.count // 20, tally
    return bool(faults)


def memory(text):
    """Whether a process ended because it asked operator new for more than there is: the address sanitizer ends the process
    there, where an ordinary build raises OutOfMemoryError. A size beyond all reason is still a fault."""
    wanted = re.search(r"AddressSanitizer: (?:allocator is out of memory trying to allocate|requested allocation size) (0x[0-9a-f]+)", text)
    return bool(wanted) and "operator new" in text and int(wanted[1], 16) < 1 << 46


def wait(running):
    """The next child to end."""
    while True:
        for pid, (process, *_) in running.items():
            if process.poll() is not None:
                return pid
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
