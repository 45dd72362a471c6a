"""Replays the calls that record.py wrote, without torch in the process; made for builds under sanitizers.

    python replay.py FILE --module kindling [--ops REGEX] [--log LAST] [--meta]

A wrong answer or a refusal is counted and does not fail the run: conform.py judges those. What fails it is a process
that dies; --log names a file that holds the call under way, so that the dead can be asked. With --meta, what fails it
as well is a call whose result from meta tensors has another shape, dtype, stride or device.
"""
import argparse
import functools
import importlib
import pickle
import re
import sys
import warnings
from collections import Counter

import numpy as np

SAME_WIDTH = {"bfloat16": "int16", "complex32": "int32"}


class Missing(Exception):
    """The candidate has nothing under this name, or no tensor of so many dimensions."""


class Player:
    """Builds recorded values in one module, and calls its functions."""

    def __init__(self, module):
        self.module = module

    def resolve(self, path):
        try:
            return functools.reduce(getattr, path.split("."), self.module)
        except AttributeError:
            raise Missing(path) from None

    def thaw(self, value):
        if not isinstance(value, tuple):
            return value
        kind, *rest = value
        if kind == "tensor":
            return self.tensor(*rest)
        if kind in ("list", "tuple"):
            return (list if kind == "list" else tuple)(self.thaw(item) for item in rest[0])
        if kind == "dict":
            return {key: self.thaw(item) for key, item in rest[0].items()}
        if kind == "name":
            return self.resolve(rest[0])
        if kind == "device":
            return self.module.device(rest[0])
        if kind == "slice":
            return slice(*rest[0])
        return rest[0]

    def tensor(self, dtype, array, shape, stride, offset, requires_grad):
        if len(shape) > 64:
            raise Missing
        base = self.module.from_numpy(array).clone()
        if dtype in SAME_WIDTH:
            base = base.view(self.resolve(dtype))
        tensor = base.as_strided(shape, stride, offset)
        return tensor.requires_grad_() if requires_grad else tensor

    def array(self, tensor):
        tensor = tensor.detach()
        for lazy in ("conj", "neg"):
            if getattr(tensor, f"is_{lazy}")():
                tensor = getattr(tensor, f"resolve_{lazy}")()
        name = str(tensor.dtype).rpartition(".")[2]
        return name, (tensor.view(self.resolve(SAME_WIDTH[name])) if name in SAME_WIDTH else tensor).numpy()

    def same(self, mine, frozen):
        """Whether an answer is the recorded one, roughly."""
        if isinstance(mine, self.module.Tensor):
            if not (isinstance(frozen, tuple) and frozen[0] == "tensor"):
                return False
            name, array = self.array(mine)
            _, dtype, elements, shape, stride, offset, _ = frozen
            if (name, array.shape) != (dtype, shape):
                return False
            step = elements.itemsize
            theirs = np.lib.stride_tricks.as_strided(elements[offset:], shape, [step * word for word in stride])
            if name in SAME_WIDTH:
                return np.array_equal(array, theirs)
            return np.allclose(array, theirs, rtol=1e-3, atol=1e-4, equal_nan=array.dtype.kind in "fc")
        if isinstance(mine, (list, tuple)):
            return isinstance(frozen, tuple) and len(mine) == len(frozen[1]) and all(map(self.same, mine, frozen[1]))
        return mine == frozen or mine != mine

    def play(self, path, kind, args, kwargs, expected):
        """One word on how a call went."""
        try:
            function = self.resolve(path)
            args, kwargs = self.thaw(args), self.thaw(kwargs)
        except Missing:
            return "missing"
        try:
            self.module.manual_seed(0)
            result = function(*args, **kwargs)
            if kind == "grad":
                self.differentiate(result)
        except Exception:
            return "refused, rightly" if kind == "error" else "refused"
        if kind == "error":
            return "accepted, wrongly"
        return "same" if expected is not None and self.same(result, expected) else "different"

    def play_meta(self, path, kind, args, kwargs, _):
        """The same for a call whose tensors are all meta: it makes the shapes, dtypes and strides that the call itself makes,
        or says that it needs values. Anything else begins with !."""
        try:
            function = self.resolve(path)
            args, kwargs = self.thaw(args), self.thaw(kwargs)
            self.shadowed = 0
            shadows, shadow_words = self.meta(args), self.meta(kwargs)
            if not self.shadowed or "device" in kwargs:
                return "no tensors"
            self.module.manual_seed(0)
            result = function(*args, **kwargs)
        except Exception:
            return "refused anyway"
        try:
            shadow = function(*shadows, **shadow_words)
            difference = self.meta_difference(result, shadow)
        except Exception as problem:
            # What a meta tensor cannot do is read an element or make a shape out of values.
            if re.search("Meta tensors do not have|meta tensors?(; no data)?|no data!", str(problem)) and "two devices" not in str(problem):
                return "needs values"
            return f"!{path}: {type(problem).__name__}: {problem}"
        return f"!{path}: {difference}" if difference else "same"

    def meta(self, value):
        if isinstance(value, self.module.Tensor):
            self.shadowed += 1
            size = value.untyped_storage().nbytes() // max(value.element_size(), 1)
            base = self.module.empty(size, dtype=value.dtype, device="meta")
            shadow = base.as_strided(value.shape, value.stride(), value.storage_offset())
            return shadow.requires_grad_() if value.requires_grad else shadow
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.meta, value)) if type(value) in (list, tuple) else value
        return {name: self.meta(item) for name, item in value.items()} if isinstance(value, dict) else value

    def meta_difference(self, mine, meta):
        if isinstance(mine, self.module.Tensor):
            if meta.device.type != "meta":
                return f"its result is on {meta.device}"
            form, other = [(x.dtype, x.shape, x.stride() if x.numel() > 1 else None) for x in (mine, meta)]
            return None if form == other else f"{form} but with meta tensors {other}"
        if isinstance(mine, (list, tuple)):
            if len(mine) != len(meta):
                return f"{len(mine)} results but with meta tensors {len(meta)}"
            return next(filter(None, map(self.meta_difference, mine, meta)), None)
        return None

    def differentiate(self, result):
        if isinstance(result, self.module.Tensor):
            if result.requires_grad:
                (result.abs() if result.is_complex() else result).sum().backward(retain_graph=True)
        elif isinstance(result, (list, tuple)):
            for item in result:
                self.differentiate(item)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--module", required=True)
    parser.add_argument("--ops", default="")
    parser.add_argument("--log")
    parser.add_argument("--meta", action="store_true", help="with meta tensors: the shapes must be those of the calls themselves")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(options.file, "rb") as file:
        records = pickle.load(file)
    player = Player(importlib.import_module(options.module))
    tally = Counter()
    log = open(options.log, "w") if options.log else None
    for number, record in enumerate(records):
        if not re.search(options.ops, record[0]):
            continue
        if log:
            log.seek(0)
            log.write(f"{number} {record[0]} {record[1]}".ljust(200))
            log.flush()
        word = (player.play_meta if options.meta else player.play)(*record)
        tally[word] += 1
    if "torch" in sys.modules and options.module != "torch":
        sys.exit("torch is in the process")
    print(", ".join(f"{count} {word}" for word, count in tally.most_common() if word[0] != "!"))
    faults = [word[1:] for word in tally if word[0] == "!"]
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
