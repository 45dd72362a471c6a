"""Every declared operator on tensors without elements, however these lie: no process dies, and what answers here and in PyTorch
answers alike. Sizes and strides of 0 are where a division by one of them ends a process."""
import faulthandler
import os
import random
import re
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

import kindling

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
import draw  # noqa: E402

SHAPES = [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 2, 3), (2, 3, 0), (1, 0), (0, 0), (1, 2, 0, 4), (0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 0), (1, 1, 0, 4, 4)]
DTYPES = ["float32"] * 6 + ["float64", "int64", "bool", "complex64", "uint8", "bfloat16"]
WAYS = ["plain", "expanded and narrowed", "strides of 0", "a last stride of 1", "numpy", "permuted", "every second", "cut out"]
WORDS = ["mean", "sum", "linear", "fro", "reflect", "constant", "floor", "left", "ij"]
# Their answers are what memory held, or random numbers of another dtype than PyTorch has a test for.
# (result_type there gives the number of a dtype; an unknown reduction; real deviations written to complex numbers; normal numbers into an out= of another shape without elements).
UNSPECIFIED = re.compile(r"empty|result_type|resize|set_\.|^rand|^normal|foreach_powsum|_unsafe_masked_index|_unique2|split_with_sizes_copy|soft_margin_loss|^(std|var)\.|lstsq")


def made(module, shape, dtype, way):
    """A tensor of ones, and where it has no elements one that lies so."""
    kind, rank = getattr(module, dtype), len(shape)
    if way == "plain" or 0 not in shape:
        return module.ones(shape, dtype=kind)
    if way == "expanded and narrowed":
        x = module.ones([1] * rank, dtype=kind).expand([size or 5 for size in shape])
        for dim, size in enumerate(shape):
            x = x if size else x.narrow(dim, 0, 0)
        return x
    if way == "strides of 0":
        return module.ones(4, dtype=kind).as_strided(shape, [0] * rank)
    if way == "a last stride of 1":
        return module.ones(4, dtype=kind).as_strided(shape, [0] * (rank - 1) + [1])
    if way == "numpy":
        return module.ones(shape, dtype=kind) if dtype == "bfloat16" else module.from_numpy(np.ones(shape, getattr(np, dtype)))
    if way == "permuted":
        return module.ones(shape[::-1], dtype=kind).permute(list(range(rank))[::-1])
    if way == "every second":
        return module.ones([2 * size + 1 for size in shape], dtype=kind)[tuple(slice(0, 2 * size, 2) for size in shape)]
    return module.ones([size + 1 for size in shape], dtype=kind)[tuple(slice(1, 1 + size) for size in shape)]


class Tensors(tuple):
    """What `made` takes, to be made in either library."""


class Drawn:
    """Arguments of one call: mostly of one shape, dtype and way to lie."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.shape, self.dtype, self.way = rng.choice(SHAPES), rng.choice(DTYPES), rng.choice(WAYS)
        self.other = rng.choice([None, None, None, (0,), (3,), (), (1,), (2, 3), self.shape[::-1], self.shape[1:], self.shape[:1]])
        self.first = True

    def tensor(self, argument):
        rng, shape, dtype = self.rng, self.shape, self.dtype
        if argument.is_write and rng.random() < 0.5:
            return Tensors(((0,), dtype, "plain"))
        if self.other is not None and not self.first and rng.random() < 0.5:
            shape = self.other
        self.first = False
        if re.search(r"ind(ex|ices)|lengths|offsets|target|pivots|repeats|batch_sizes|labels", argument.name) and rng.random() < 0.85:
            dtype = "int64"
        elif re.search("mask|condition", argument.name):
            dtype = "bool"
        return Tensors((shape, dtype, rng.choice([self.way] * 3 + WAYS)))

    def value(self, argument):
        rng, kind = self.rng, argument.type
        if argument.is_optional and rng.random() < 0.5:
            return None
        if argument.has_default and argument.default_value is not None and rng.random() < 0.4:
            return argument.default_value
        if argument.is_list and kind == "int":
            return rng.choice([[0], [1], list(self.shape), [0] * len(self.shape), [-1], [2] * max(1, len(self.shape) - 2)])
        one = {"Tensor": lambda: self.tensor(argument), "int": lambda: rng.choice([0, 0, 1, 1, -1, 2, 3]), "bool": lambda: rng.random() < 0.5,
               "float": lambda: rng.choice([0.0, 0.5, 1.0]), "Scalar": lambda: rng.choice([0, 1, 2, 0.5]), "str": lambda: rng.choice(WORDS),
               "ScalarType": lambda: getattr(kindling, self.dtype), "Device": lambda: "cpu"}.get(kind, lambda: None)  # fmt: skip
        return [one() for _ in range(rng.choice([1, 2, 2, 3]))] if argument.is_list else one()

    def call(self, schema):
        args, kwargs = [], {}
        for argument in schema:
            if argument.has_default and self.rng.random() < 0.5:
                continue
            value = self.value(argument)
            if argument.kwarg_only or kwargs or len(args) < schema.index(argument):
                kwargs[argument.name] = value
            else:
                args.append(value)
        return args, kwargs


def thaw(module, value):
    if isinstance(value, Tensors):
        return made(module, *value)
    if isinstance(value, list):
        return [thaw(module, each) for each in value]
    if isinstance(value, (kindling.dtype, kindling.memory_format)):
        return getattr(module, str(value).rpartition(".")[2])
    return value


def shown(result):
    if isinstance(result, (list, tuple)):
        return [shown(each) for each in result]
    if not hasattr(result, "dtype"):
        return repr(result)
    values = result.detach().resolve_conj().resolve_neg().tolist() if result.numel() < 200 else None
    return str(result.dtype).rpartition(".")[2], tuple(result.shape), values


def alike(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        a, b = complex(a), complex(b)
        return all(x == y or (x != x and y != y) or abs(x - y) < 1e-3 * (1 + abs(y)) for x, y in ((a.real, b.real), (a.imag, b.imag)))
    return a == b


def run(module, name, args, kwargs):
    packet, overload = name.split(".", 1)
    try:
        call = getattr(getattr(module.ops.aten, packet), overload)
    except (AttributeError, RuntimeError):
        return None
    try:
        module.manual_seed(0)
        return shown(call(*thaw(module, args), **{key: thaw(module, value) for key, value in kwargs.items()}))
    except Exception:
        return None


def work(calls, say):
    """Makes the calls; says each one's number before it is made here, and in what it differs."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for number, name, args, kwargs, risky in calls:
        say(f"at {number}")
        ours = run(kindling, name, args, kwargs)
        if ours is None or risky or UNSPECIFIED.search(name):
            continue
        say(f"beyond {number}")                     # PyTorch's own faults are not ours
        theirs = run(torch, name, args, kwargs)
        # A call that mutates a list gives nothing there, the list here.
        if theirs is not None and theirs != "None" and not alike(ours, theirs):
            say(f"differs {number} {ours} {theirs}"[:600])


def run_all(calls):
    """The differences and deaths of these calls, which are made in processes of their own."""
    found = []
    while calls:
        with tempfile.TemporaryFile() as file:
            child = os.fork()
            if not child:
                signal.alarm(300)
                faulthandler.disable()
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # PyTorch warns there, past Python
                work(calls, lambda text: os.write(file.fileno(), (text + "\n").encode()))
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            file.seek(0)
            lines = file.read().decode().splitlines()
        found += [line for line in lines if line.startswith("differs")]
        if not status:
            break
        word, number = lines[-1].split()[:2]
        if word == "at":
            found.append(f"died ({status}) {number}")
        calls = [call for call in calls if call[0] > int(number)]
    return found


OPERATORS = [entry for entry in draw.operators() if not entry.body]


@pytest.mark.parametrize("part", range(8))
def test_every_operator_on_empty_tensors(part):
    calls, told = [], {}
    for index, entry in list(enumerate(OPERATORS))[part::8]:
        for seed in range(12):
            number = index * 100 + seed
            args, kwargs = Drawn(number * 7919 + 1).call(entry.schema)
            if entry.name == "huber_loss.out" and args[2:3] and args[2] not in (0, 1, 2):
                continue  # a reduction that there is none of: torch's out= form sums, its other form does not
            if entry.name == "binary_cross_entropy.out" and kwargs.get("reduction", args[3] if len(args) > 3 else 1) not in (0, 1, 2):
                continue  # the same: torch's out= form gives every element
            if entry.name.startswith("multilabel_margin_loss.") and 0 in args[0][0]:
                continue  # torch's mean of nothing is what lay in memory
            calls.append((number, entry.name, args, kwargs, "_foreach_copy" in entry.name))
            told[number] = f"{entry.name} {args} {kwargs}"
    found = [f"{told[int(re.search(r'[0-9]+$|(?<=differs )[0-9]+', line)[0])]}\n    {line}" for line in run_all(calls)]
    assert not found, "\n".join(found[:20])


def test_the_search_finds_what_it_looks_for():
    """Of a call that ends the process, and of one that answers otherwise, it says so."""
    calls = [(1, "abs.default", [Tensors(((0,), "float32", "plain"))], {}, False), (2, "none", [], {}, True), (3, "neg.default", [Tensors(((2, 0), "float32", "numpy"))], {}, False)]
    before = run
    try:
        def killing(module, name, args, kwargs):
            if name == "none":
                os.kill(os.getpid(), signal.SIGFPE)
            return before(module, name, args, kwargs) if module is torch or name == "abs.default" else ("float32", (3,), [1.0])
        globals()["run"] = killing
        assert [line.split()[0] for line in run_all(calls)] == ["died", "differs"]
    finally:
        globals()["run"] = before


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (0,), (2, 0, 4), (2, 3, 0)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_without_classes(shape, reduction):
    ours, theirs = (library.nn.functional.cross_entropy(library.zeros(shape), library.zeros(shape), reduction=reduction) for library in (kindling, torch))
    assert ours.shape == tuple(theirs.shape) and str(ours.tolist()) == str(theirs.tolist())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) > 1])
def test_shifts_of_nothing(shape, way):
    for call in ("roll(x, 1, 0)", "roll(x, (1, 2), (0, 1))", "roll(x, 3)", "fft.fftshift(x)", "fft.ifftshift(x, dim=0)", "flip(x, (0,))"):
        ours, theirs = (eval(f"library.{call}", {"library": library, "x": made(library, shape, "float32", way)}) for library in (kindling, torch))
        assert tuple(ours.shape) == tuple(theirs.shape), call
    if shape.count(3):
        dim = shape.index(3)
        ours, theirs = (library.linalg.cross(*[made(library, shape, "float32", way)] * 2, dim=dim) for library in (kindling, torch))
        assert tuple(ours.shape) == tuple(theirs.shape)


@pytest.mark.parametrize("shapes", [((2, 0, 5, 5), (3, 0, 2, 2)), ((1, 0, 3), (2, 0, 3)), ((0, 0, 3, 4), (2, 0, 3, 4)), ((2, 0, 3, 4, 5), (4, 0, 2, 2, 2)), ((0, 3, 4), (2, 0, 3, 4)),
                                    ((0, 2, 3, 4), (2, 2, 3, 4))])  # fmt: skip
def test_convolutions_of_no_channels(shapes):
    """In PyTorch they have none themselves, and the gradient of the bias is 0; a transposed one of no channels is refused."""
    answers = []
    for T in (torch, kindling):
        x, w, b = T.zeros(shapes[0], requires_grad=True), T.zeros(shapes[1], requires_grad=True), T.ones(shapes[1][0], requires_grad=True)
        result = getattr(T, f"conv{w.dim() - 2}d")(x, w, b)
        result.sum().backward()
        answers.append([tuple(result.shape)] + [(tuple(t.grad.shape), t.grad.tolist()) for t in (x, w, b)])
        with pytest.raises(RuntimeError, match="expected weight to be at least 1 at dimension 0"):
            T.conv_transpose2d(T.zeros(2, 0, 3, 4), T.zeros(0, 3, 2, 2))
    assert answers[0] == answers[1]
