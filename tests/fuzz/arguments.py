"""Calls every declared operator with random arguments and checks that an answer or an ordinary exception comes of it.

    python tests/fuzz/arguments.py --count 20000 --seed 1
    python tests/fuzz/arguments.py --count 20000 --calls calls.pickle     # half of them changes of recorded calls
    python tests/fuzz/arguments.py --count 20000 --empty                   # with tensors that have no elements
    python tests/fuzz/arguments.py --count 1000 --programs                 # programs of automatic differentiation

Call number N is made from the seed and N alone and goes to operator N modulo their number, so every overload, in-place
and out form has its turn and `--only N` repeats one call. Shapes, dtypes, strides, overlaps, conj and neg bits, devices,
indices, options and Python types are drawn so that many calls are nearly right. Faults are: a process that dies (a
sanitizer's report, a signal), a call that takes longer than --limit seconds, an exception that says the library is at
fault (SystemError, kindling.InternalError, a NameError of our own Python), a result that reaches outside its storage. What
comes back is read to its last element and, where it can be, differentiated. The programs are those that programs.py draws
for the same seed, without PyTorch beside them, so that a sanitizer can be.
"""
import pickle
import random
import re
import sys
import warnings
from pathlib import Path

import kindling as t

import children
from children import Fault
from draw import Draw, changed, drawn, operators, place, tell, tensors_of
from hollow import Empty
from writer import Writer, prelude, text_of

FAULTS = ("SystemError", "InternalError", "NameError", "UnboundLocalError", "RecursionError")


def examine(value):
    """Reads a result to its last element, and checks that this lies in its storage."""
    for x in tensors_of(value, t):
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
    for x in tensors_of(value, t):
        if x.requires_grad and x.numel() < 100_000 and x.device.type == "cpu":
            part = (x.abs() if x.is_complex() else x).double().sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()


def recorded(path, pattern):
    """A player of recorded calls, and the calls. Polynomials are left to what is drawn, which knows that their order is a
    number of steps."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
    from replay import Player
    with open(path, "rb") as file:
        return Player, [record for record in pickle.load(file) if re.search(pattern, record[0]) and "polynomial" not in record[0]]


class Caller:
    """Makes and runs the calls of one seed."""

    @staticmethod
    def options(parser):
        parser.add_argument("--operators", default="", metavar="REGEX", help="only those whose name.overload it finds")
        parser.add_argument("--calls", metavar="FILE", help="what tests/conformance/record.py wrote: half of the calls are changes of those")
        parser.add_argument("--empty", action="store_true", help="with tensors that have no elements")
        parser.add_argument("--programs", action="store_true", help="programs of automatic differentiation instead of calls")

    def __init__(self, args):
        self.programs = args.programs
        self.seed, self.drawing = args.seed, Empty if args.empty else Draw
        self.operators = [entry for entry in operators() if re.search(args.operators, entry.name)]
        self.records = None
        if args.calls:
            player, self.records = recorded(args.calls, args.operators)
            self.player = player(t)

    def make(self, number):
        rng = random.Random(self.seed * 1_000_003 + number)
        t.manual_seed(number)
        if self.records and rng.random() < 0.5:
            return rng, changed(rng, self.player, rng.choice(self.records), self.drawing)[:3]
        entry = self.operators[number % len(self.operators)]
        return rng, drawn(rng, entry, t, place(rng, entry, [t]), self.drawing)[:3]

    def call(self, number, report=None):
        return self.program(number, report) if self.programs else self.operator(number, report)

    def program(self, number, report):
        """A statement that raises does not end a program."""
        lines = Writer(random.Random(self.seed * 1_000_003 + number)).program()
        if report:
            report(text_of(lines))
        t.manual_seed(number)
        if not hasattr(self, "scope"):
            checkpoint = __import__(f"{t.__name__}.utils.checkpoint", fromlist=["checkpoint"]).checkpoint
            self.scope = {"torch": t, "F": t.nn.functional, "checkpoint": checkpoint, "log": []}
            prelude(self.scope)
        scope, names, word = dict(self.scope), set(re.findall(r"\w+", " ".join(lines))) - set(self.scope), "answered"
        scope["log"].clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for line in lines:
                try:
                    exec(line, scope)
                except Exception as problem:
                    word = "refused in part"
                    if getattr(problem, "name", None) in names:   # of what a statement that raised would have made
                        continue
                    if fault := self.judge(problem):
                        return fault
            try:
                examine([value for name, value in scope.items() if name not in self.scope])
            except Exception as problem:
                return self.judge(problem) or word
        return word

    def operator(self, number, report=None):
        try:
            rng, (function, args, kwargs) = self.make(number)
        except Exception as problem:
            if report:
                raise
            # Making the arguments is use of the library as well.
            return self.judge(problem) or "no call"
        if report:
            report(tell(function, args, kwargs, t))
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
            return Fault(f"{type(problem).__name__}: {str(problem)[:300]}")
        return None


def main():
    status, parent = children.main(__file__, Caller, __doc__)
    if parent and not status:  # else the fuzzer would only test the front door
        assert parent.tally["answered"] > parent.args.count // 20, parent.tally
    return status


if __name__ == "__main__":
    sys.exit(main())
