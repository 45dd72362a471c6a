"""Calls every operator that writes to an argument (in-place and out= forms) with lazily conjugated and negated targets.

    python tests/fuzz/writes.py --seed 1
    python tests/fuzz/writes.py --seed 1 --operators '^index_' --rounds 20

A call is made on plain tensors, and again with each written argument a conj or neg view of other memory that reads the
same. Both must give the same results, leave the same in what they wrote and read, and give back the very arguments they
wrote. Where they differ and torch, if it is installed, does as the second call does, the difference is torch's own.
"""
import argparse
import random
import re
import sys
import warnings

import numpy as np

import kindling

SHAPES = [(2, 2), (3, 3), (2,), (3,), (2, 3), (2, 3, 3), (2, 2, 4, 4), (1, 2, 2, 2, 2), (1, 2, 3), (3, 3, 3), ()]
SIZES = [[0], [1], [0, 1], [-1], [2], [2, 2], [3, 3], [1, 1], [], [2, 2, 4, 4], [1, 1, 1], [1, 1, 1, 1], [1] * 6, [3], [4]]
PLACES = re.compile(r"ind(ex|ices)|lengths|offsets|target|pivots|repeats|batch_sizes")
WHOLE = re.compile(r"ind|out1|pivots|info|exponent|rank|inverse|count")   # results that are integers
# Their contents are not defined, or they change what self looks at and not what is there.
LEFT_OUT = re.compile(r"empty|^set_|^resize|^_batch_norm_with_update$")


class Drawn:
    """A tensor to be made: its numbers, and whether the call writes to it."""

    def __init__(self, rng, shape, dtype, written):
        count = int(np.prod(shape))
        if dtype == "bool":
            numbers = [rng.random() < 0.5 for _ in range(count)]
        elif dtype == "int64":
            numbers = [rng.randrange(2) for _ in range(count)]
        else:
            numbers = [rng.uniform(0.1, 2) + (1j * rng.uniform(0.1, 2) if dtype == "complex64" else 0) for _ in range(count)]
        self.numbers, self.written = np.array(numbers, dtype).reshape(shape), written


class Draw:
    def __init__(self, rng, dtype):
        self.rng, self.dtype, self.shape = rng, dtype, rng.choice(SHAPES)

    def tensor(self, name, written, out, first):
        rng, shape, dtype = self.rng, self.shape, self.dtype
        if not first and rng.random() < 0.25:
            shape = rng.choice(SHAPES)
        if out:
            if rng.random() < 0.5:
                shape = rng.choice(SHAPES + [(0,)] * 6)
            if WHOLE.search(name) and rng.random() < 0.9:
                dtype = "int64"
        elif not written:
            if re.search("mask|condition", name) and rng.random() < 0.8:
                dtype = "bool"
            elif PLACES.search(name) and rng.random() < 0.8:
                dtype = "int64"
            elif rng.random() < 0.15:
                dtype = rng.choice(["float32", "bool", "int64"])
        return Drawn(rng, shape, dtype, written)

    def value(self, name, kind, is_list, written, out, first):
        rng = self.rng
        if kind == "Tensor":
            return [self.tensor(name, written, out, first) for _ in range(rng.choice((1, 2)))] if is_list else self.tensor(name, written, out, first)
        if is_list:
            return rng.choice(SIZES + [list(self.shape)]) if kind == "int" else [{"bool": True, "float": 1.0, "Scalar": 2}[kind]] * rng.choice((1, 2, 3))
        if kind == "str":
            return rng.choice(("add", "multiply")) if name == "reduce" and rng.random() < 0.5 else rng.choice(
                ("mean", "sum", "none", "linear", "amax", "prod", "fro", "nuc", "trunc", "floor", "U", "L", "gelsd", "ij"))
        return {"int": rng.choice((0, 0, 1, 1, 2, -1, 3)), "bool": rng.random() < 0.5, "float": rng.choice((0.5, 1.0, 2.0, 0.0)),
                "Scalar": rng.choice((1, 2, 0.5, 1.5))}.get(kind)

    def call(self, schema):
        """Positional arguments and keywords."""
        args, kwargs, skipped = [], {}, False
        for name, kind, is_list, optional, default, keyword, written, _ in schema:
            if default and not written and self.rng.random() < 0.6:
                skipped = True
                continue
            value = None
            if not (optional and not written and self.rng.random() < 0.5):
                value = self.value(name, kind, is_list, written, written and keyword, not args and not kwargs)
            if keyword or skipped:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs


def run(torch, function, call, bit):
    """What can be seen of a call: (results, targets, other tensors, which results are targets), or an error."""
    targets, others = [], []

    def make(value):
        if isinstance(value, list):
            return [make(item) for item in value]
        if not isinstance(value, Drawn):
            return value
        numbers = value.numbers
        lazy = value.written and (np.iscomplexobj(numbers) if bit == "conj" else bit == "neg" and numbers.dtype != bool)
        if lazy:
            numbers = np.conj(numbers) if bit == "conj" else -numbers
        x = torch.from_numpy(np.array(numbers)).clone()
        if lazy:
            x = x.conj() if bit == "conj" else torch._neg_view(x)
        (targets if value.written else others).append(x)
        return x

    args, kwargs = [make(value) for value in call[0]], {name: make(value) for name, value in call[1].items()}
    torch.manual_seed(3)
    try:
        results = function(*args, **kwargs)
    except Exception as error:
        return error
    several = results if isinstance(results, (tuple, list)) else (results,)
    return numbers_of(torch, (results, targets, others)), [any(each is x for x in targets) for each in several]


def numbers_of(torch, value):
    if isinstance(value, (list, tuple)):
        return [numbers_of(torch, item) for item in value]
    return value.detach().resolve_conj().resolve_neg().numpy().copy() if isinstance(value, torch.Tensor) else value


def same(a, b):
    if isinstance(a, Exception) or isinstance(b, Exception):
        return False
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-4, equal_nan=True)
    return a == b or (a != a and b != b)


def overload(torch, name, which):
    return getattr(getattr(torch.ops.aten, name, None), which, None)


def show(value):
    if isinstance(value, list):
        return [show(item) for item in value]
    return f"<{value.numbers.dtype} {value.numbers.shape}>" if isinstance(value, Drawn) else value


def sweep(seed=1, rounds=4, pattern="", reference=None):
    """({operator: calls that were answered}, [reports of differences])."""
    answered, faults = {}, []
    for name in sorted(dir(kindling.ops.aten)):
        for which in sorted(getattr(kindling.ops.aten, name).overloads()):
            schema = kindling._C._schema_text(name, "" if which == "default" else which)[1]
            if not any(field[6] for field in schema) or LEFT_OUT.search(name) or not re.search(pattern, f"{name}.{which}"):
                continue
            mine, theirs = overload(kindling, name, which), reference and overload(reference, name, which)
            for bit, dtypes in (("conj", ("complex64",)), ("neg", ("float32", "int64"))):
                count = 0
                for attempt in range(250):
                    rng = random.Random(f"{seed} {name} {which} {bit} {attempt}")
                    call = Draw(rng, rng.choice(dtypes)).call(schema)
                    plain = run(kindling, mine, call, None)
                    if isinstance(plain, Exception):
                        continue
                    lazy = run(kindling, mine, call, bit)
                    if not same(plain, lazy) and not (theirs and same(lazy, run(reference, theirs, call, bit))):
                        faults.append(f"{name}.{which} {bit} {show(call[0])} {({k: show(v) for k, v in call[1].items()})}\n"
                                      f"  plain: {plain!r}\n  lazy:  {lazy!r}")
                        break
                    count += 1
                    if count == rounds:
                        break
                answered[f"{name}.{which}"] = answered.get(f"{name}.{which}", 0) + count
    return answered, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4, help="calls of each operator, dtype and bit")
    parser.add_argument("--operators", default="", metavar="REGEX", help="only those whose name.overload it finds")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        import torch
    except ImportError:
        torch = None
    answered, faults = sweep(args.seed, args.rounds, args.operators, torch)
    for fault in faults:
        print(fault)
    print(f"{sum(answered.values())} calls of {len(answered)} operators, {len(faults)} faults; "
          f"not reached: {[name for name, count in answered.items() if not count]}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
