"""Random programs of automatic differentiation, run in PyTorch and in Kindling with the same numbers, and compared.

    python tests/fuzz/programs.py --count 1000 --seed 1

A program is a list of Python statements: views of views, writes in place to bases and views, detach, no_grad, retain_grad,
hooks of tensors and nodes, Functions of one's own, checkpoints, backward, autograd.grad with inputs in the middle and
gradients of gradients, batch normalisation called twice. A statement that raises does not end the program. Compared are
which statements raise and with what class, what hooks saw and in which order, and of every variable at the end: values,
gradients, shape, strides, dtype, is_leaf, requires_grad, retains_grad, whether there is a grad_fn, _is_view, whose memory
it shares, and whether its version was counted.

A program that differs is made smaller, statement by statement, as long as it differs in the same way, and printed as Python.
"""
import dataclasses
import random
import re
import sys
import warnings

import kindling
import torch

import children
from beside import Difference, Seen, classes, compare, gist, scale, seed, see
from children import Fault
from known import known
from writer import Writer, prelude, shrink, text_of

CHECKPOINT = {t: __import__(f"{t.__name__}.utils.checkpoint", fromlist=["checkpoint"]).checkpoint for t in (torch, kindling)}


SCOPES = {}


def run(t, lines, number, told=None):
    """(what each line raised, what hooks saw, what is seen of each variable at the end)."""
    if t not in SCOPES:
        SCOPES[t] = {"torch": t, "F": t.nn.functional, "checkpoint": CHECKPOINT[t], "log": []}
        prelude(SCOPES[t])
    scope = dict(SCOPES[t])
    log = scope["log"] = SCOPES[t]["log"]
    log.clear()
    seed(t, number)
    raised, messages = [], []
    for line in lines:
        try:
            exec(line, scope)
            raised.append(None)
            messages.append(None)
        except Exception as problem:
            raised.append(classes(problem))
            messages.append(f"{type(problem).__name__}: {problem}")
    names = [name for name, value in scope.items() if name not in SCOPES[t] and isinstance(value, t.Tensor)]
    homes = [home(scope[name]) for name in names]
    seen = {name: observe(t, scope[name], scope, homes) for name in names}
    heard = [tuple(see(item, t, ()) if isinstance(item, t.Tensor) else item for item in event) for event in log]
    return raised, messages, heard, seen


def home(x):
    """Where its memory is; of what has no memory, which torch says by raising, nowhere."""
    try:
        return x.untyped_storage().data_ptr()
    except RuntimeError:
        return 0


def writes_what_it_reads(lines, number):
    """Whether some statement writes to memory that another of its tensors reads from elsewhere: what comes of it depends on the
    order in which the elements are walked, which PyTorch does not define."""
    scope = dict(SCOPES[torch], log=[])
    seed(torch, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            for target, operands in re.findall(r"(\w+)(?:\.\w+_\(|\[[^=]*\] = |\.data\.copy_\()(.*)", line):
                written = scope.get(target)
                for name in re.findall(r"\bv\d+\b", operands):
                    read = scope.get(name)
                    if isinstance(written, torch.Tensor) and isinstance(read, torch.Tensor) and home(written) == home(read) != 0:
                        if (written.shape, written.stride(), written.storage_offset()) != (read.shape, read.stride(), read.storage_offset()):
                            return True
            try:
                exec(line, scope)
            except Exception:
                pass
    return False


def observe(t, x, scope, homes):
    """Facts of a variable, each its value or the class of what asking for it raised."""
    facts = {}

    def fact(name, ask):
        try:
            facts[name] = ask()
        except Exception as problem:
            facts[name] = classes(problem)
    fact("tensor", lambda: see(x, t, homes))
    fact("is_leaf", lambda: x.is_leaf)
    fact("_is_view", x._is_view)
    fact("version", lambda: 0 if x.is_inference() else x._version)
    fact("grad_fn", lambda: x.grad_fn is not None)
    fact("node", lambda: type(x.grad_fn).__name__)
    fact("retains_grad", lambda: x.retains_grad)
    fact("output_nr", lambda: x.output_nr)
    fact("base", lambda: next((name for name, value in scope.items() if value is x._base), "another") if x._base is not None else None)
    fact("grad", lambda: see(x.grad, t, ()) if facts["is_leaf"] is True or facts["retains_grad"] is True else None)
    return facts


def largest(seen):
    size = 1.0
    for facts in seen.values():
        for name in ("tensor", "grad"):
            if isinstance(facts[name], Seen) and facts[name].value is not None and facts[name].value.numel():
                size = max(size, scale(facts[name].value, 1e6))
    return size


def single(seen):
    """In single precision, as where some of a program's numbers were."""
    if isinstance(seen, Seen):
        to = {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(seen.value.dtype if seen.value is not None else None)
        return dataclasses.replace(seen, value=seen.value.to(to)) if to else seen
    return [single(item) for item in seen] if isinstance(seen, list) else seen


FACTS = ("is_leaf", "_is_view", "base", "grad_fn", "retains_grad", "output_nr", "version", "node")


def difference(lines, number, strict=False):
    """The first difference of a program, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        children.stage("kindling")
        ours = run(kindling, lines, number)
        children.stage("torch")
        theirs = run(torch, lines, number)
        children.stage("")
    for place, (mine, his) in enumerate(zip(ours[0], theirs[0])):
        if mine != his:
            return Difference(f"{his or 'an answer'} there, {mine or 'an answer'} here: {gist(theirs[1][place] or ours[1][place])}",
                              f"{lines[place]!r}\n  torch: {theirs[1][place]}\n  here:  {ours[1][place]}", theirs[1][place], ours[1][place])
    # A backward pass that raised stopped somewhere, and what was reached before that depends on the order of nodes.
    half_way = any(his and "backward(" in line for his, line in zip(theirs[0], lines))
    coarse = single if any("float32" in line for line in lines) else lambda seen: seen
    try:
        size = largest(theirs[3])
        if ours[3].keys() != theirs[3].keys():
            raise Difference("variables")
        for name, his in theirs[3].items():
            mine = ours[3][name]
            try:
                compare(coarse(his["tensor"]), coarse(mine["tensor"]), "variable", size)
                for fact in FACTS:
                    if his[fact] != mine[fact] and (strict or fact not in ("node", "version")):
                        if fact == "retains_grad" and half_way:
                            raise Difference("grad after an error in backward")
                        raise Difference(f"{fact} {his[fact] if fact != 'base' else ''} there, {mine[fact] if fact != 'base' else ''} here", f"{his[fact]}, {mine[fact]}")
                compare(coarse(his["grad"]), coarse(mine["grad"]), "grad after an error in backward" if half_way else "grad", size)
            except Difference as found:
                raise Difference(found.kind, f"{name}: {found.text}")
        compare([coarse([*event]) for event in theirs[2]], [coarse([*event]) for event in ours[2]], "what hooks saw" + (" before an error in backward" if half_way else ""), size)
    except Difference as found:
        if ": value" in found.kind and writes_what_it_reads(lines, number):
            found.kind += " of memory read and written at once"
        elif (": value" in found.kind or "nan or infinity" in found.kind) and decided_by_rounding(lines, number, theirs, coarse, size):
            found.kind += " decided by rounding"
        return found
    return None


def decided_by_rounding(lines, number, theirs, coarse, size):
    """Whether PyTorch's own answer changes as much when the program's numbers change in their last digit."""
    for step in 1, -1, 3:
        change = 1 + step * (6e-8 if any("float32" in line for line in lines) else 1e-16 * 2.3)
        near = [re.sub(r"-?\d+\.\d+(?=[],)j+-])", lambda digits: repr(float(digits[0]) * change), line) if "torch.tensor(" in line else line for line in lines]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = run(torch, near, number)
        try:
            for name, his in theirs[3].items():
                for fact in "tensor", "grad":
                    compare(coarse(his[fact]), coarse(again[3][name][fact]), fact, size)
        except Difference:
            return True
    return False


class Programs:
    @staticmethod
    def options(parser):
        parser.add_argument("--all", action="store_true", help="also the differences that are meant")
        parser.add_argument("--strict", action="store_true", help="also version counters and the names of nodes")
        parser.add_argument("--whole", action="store_true", help="print the program as it was drawn")

    def __init__(self, args):
        self.seed, self.all, self.strict, self.whole = args.seed, args.all, args.strict, args.whole

    def call(self, number, report=None):
        lines = Writer(random.Random(self.seed * 1_000_003 + number)).program()
        if report:
            report(text_of(lines) + "\n")
        found = difference(lines, number, self.strict)
        if found is None:
            return "same"
        if not self.whole:
            kind = found.kind

            def still(fewer):
                again = difference(fewer, number, self.strict)
                return again is not None and again.kind == kind
            lines = shrink(lines, still)
            found = difference(lines, number, self.strict)
        text = text_of(lines)
        if not self.all and known("program", found.kind, found.theirs, found.ours, f"{found.text}\n" + "\n".join(lines)):
            return "known"
        return Fault(found.kind, f"{found.text}\n{text}\n")


def main():
    return children.main(__file__, Programs, __doc__, count=1000, chunk=500, faults=10**9, limit=60)[0]


if __name__ == "__main__":
    sys.exit(main())
