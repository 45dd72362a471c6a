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
import random
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
    homes = [scope[name].untyped_storage().data_ptr() for name in names]
    seen = {name: observe(t, scope[name], scope, homes) for name in names}
    heard = [tuple(see(item, t, ()) if isinstance(item, t.Tensor) else item for item in event) for event in log]
    return raised, messages, heard, seen


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
                              f"{lines[place]!r}\n  torch: {theirs[1][place]}\n  here:  {ours[1][place]}")
    try:
        size = largest(theirs[3])
        if ours[3].keys() != theirs[3].keys():
            raise Difference("variables")
        for name, his in theirs[3].items():
            mine = ours[3][name]
            try:
                compare(his["tensor"], mine["tensor"], "variable", size)
                for fact in FACTS:
                    if his[fact] != mine[fact] and (strict or fact not in ("node", "version")):
                        raise Difference(f"{fact} {his[fact] if fact != 'base' else ''} there, {mine[fact] if fact != 'base' else ''} here", f"{his[fact]}, {mine[fact]}")
                compare(his["grad"], mine["grad"], "grad", size)
            except Difference as found:
                raise Difference(found.kind, f"{name}: {found.text}")
        compare([[*event] for event in theirs[2]], [[*event] for event in ours[2]], "what hooks saw", size)
    except Difference as found:
        return found
    return None


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
        if not self.all and known("program", f"{found.kind}\n{found.text}\n{text}"):
            return "known"
        return Fault(found.kind, f"{found.text}\n{text}\n")


def main():
    return children.main(__file__, Programs, __doc__, count=1000, chunk=500, faults=10**9, limit=60)[0]


if __name__ == "__main__":
    sys.exit(main())
