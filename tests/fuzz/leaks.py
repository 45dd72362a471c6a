"""Repeats random calls and random programs of automatic differentiation, and looks at what stays behind.

    python tests/fuzz/leaks.py --count 2000 --seed 1

A call or program is made and run some rounds, each round from new, often with something that raises in its midst: a hook
that packs or unpacks what is saved, a hook of a gradient, a mode that sees operators, an index that cannot be read, a
KeyboardInterrupt. What is counted after each batch of rounds is bytes of tensors, blocks of the interpreter and bytes of
malloc: what grows in every one of several batches is a leak.
"""
import contextlib
import ctypes
import gc
import random
import re
import sys
import warnings

import kindling as t
from kindling.utils._python_dispatch import TorchDispatchMode
from kindling.overrides import TorchFunctionMode

import children
from arguments import differentiate
from children import Fault
from draw import drawn, operators, place, tell, tensors_of
from writer import Writer, prelude, shrink, text_of

ROUNDS, BATCHES = 10, 4


class Stop(Exception):
    pass


class Counter:
    """Raises when it has been called some number of times in a round."""

    def __init__(self, number, error):
        self.number, self.error, self.left = number, error, number

    def __call__(self):
        self.left -= 1
        if self.left == 0:
            raise self.error("stop")


class Functions(TorchFunctionMode):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count()
        return function(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count()
        return function(*args, **(kwargs or {}))


def saving(packs, count):
    def pack(x):
        if packs:
            count()
        return x.detach()

    def unpack(x):
        if not packs:
            count()
        return x
    return t.autograd.graph.saved_tensors_hooks(pack, unpack)


MODES = {
    "plain": lambda count: contextlib.nullcontext(),
    "a hook that packs": lambda count: saving(True, count),
    "a hook that unpacks": lambda count: saving(False, count),
    "a function mode": Functions,
    "a dispatch mode": Dispatches,
    "a hook of gradients": lambda count: contextlib.nullcontext(),
    "a multi-gradient hook": lambda count: contextlib.nullcontext(),
    "a checkpoint": lambda count: contextlib.nullcontext(),
    "anomaly": lambda count: t.autograd.detect_anomaly(),
}


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Mallinfo


def measure():
    info = libc.mallinfo2()
    return {"bytes of tensors": t._C._memory_stats()["allocated_bytes.all.current"], "blocks of the interpreter": sys.getallocatedblocks(),
            "bytes of malloc": info.uordblks + info.hblkhd}


class Leaks:
    @staticmethod
    def options(parser):
        parser.add_argument("--operators", default="", metavar="REGEX", help="only those whose name.overload it finds")

    def __init__(self, args):
        warnings.simplefilter("ignore")
        self.seed = args.seed
        self.operators = [entry for entry in operators() if re.search(args.operators, entry.name)]
        self.scopes = {}

    def scope(self, t):
        if t not in self.scopes:
            checkpoint = __import__(f"{t.__name__}.utils.checkpoint", fromlist=["checkpoint"]).checkpoint
            self.scopes[t] = {"torch": t, "F": t.nn.functional, "checkpoint": checkpoint, "log": []}
            prelude(self.scopes[t])
        return self.scopes[t]

    def call(self, number, report=None):
        rng = random.Random(self.seed * 1_000_003 + number)
        mode = rng.choice(list(MODES))
        count = Counter(rng.choice((1, 1, 2, 3, 5)), rng.choice((Stop, Stop, KeyboardInterrupt, SystemExit)))
        if rng.random() < 0.5:
            lines = Writer(rng).program()
            what, subject = text_of(lines), "program"

            def body_in(t):
                return self.program(lines, mode, count, t)
        else:
            entry = self.operators[number % len(self.operators)]
            state = rng.getstate()
            what, subject = None, entry.name

            def body_in(t):
                return self.operator(entry, state, mode, count, t)
            with contextlib.suppress(Exception):
                what = tell(*self.made(entry, state)[:3], t)
        if report:
            report(f"{what}\n  with {mode} that raises {count.error.__name__} at call {count.number}")
        words, body = set(), body_in(t)
        self.rounds(body, mode, count, 3, words)
        grown = self.grown(body, mode, count, ROUNDS, words)
        if grown:
            gc.collect()
            # Enough rounds that what the interpreter's own caches take is little.
            grown = self.grown(body, mode, count, ROUNDS, words) and self.grown(body, mode, count, 10 * ROUNDS, words)
        if grown and "bytes of tensors" not in grown:   # the drawing itself takes some blocks, and malloc's own caches some bytes, ever fewer
            grown = self.grown(body, mode, count, 60 * ROUNDS, words)
        if grown and self.kept_there(body_in, mode, count):
            return "kept by PyTorch too"
        if grown and subject == "program":
            def still(fewer):
                again = self.program(fewer, mode, count)
                self.rounds(again, mode, count, 3, words)
                return bool(self.grown(again, mode, count, 3 * ROUNDS, words))
            what = text_of(shrink(lines, still, steps=60))
        if grown:
            return Fault(f"{' and '.join(grown)} grow with {mode}", f"{what}\n  with {mode} that raises {count.error.__name__} at call {count.number}: "
                         f"{grown} in batches of {10 * ROUNDS}", subject)
        return "raised" if "raised" in words else "answered"

    def kept_there(self, body_in, mode, count):
        """Whether PyTorch leaves memory behind as well: what was written with a value that was computed from it is saved in its
        own history, a cycle that nobody sees through."""
        try:
            import torch
        except ImportError:
            return False
        body = body_in(torch)
        there = mode if mode == "anomaly" else "plain"
        modes = {**MODES, "anomaly": lambda count: torch.autograd.detect_anomaly()}
        self.rounds(body, there, count, 3, set(), modes)
        return "bytes of malloc" in self.grown(body, there, count, 10 * ROUNDS, set(), modes)

    def grown(self, body, mode, count, rounds, words, modes=MODES):
        """What grew in each batch of rounds."""
        seen = []
        for _ in range(BATCHES):
            self.rounds(body, mode, count, rounds, words, modes)
            if rounds > ROUNDS:
                gc.collect()
            seen.append(measure())
        steps = {name: [after[name] - before[name] for before, after in zip(seen, seen[1:])] for name in seen[0]}
        least = {"bytes of tensors": 1, "blocks of the interpreter": rounds, "bytes of malloc": 16 * rounds}
        return {name: step for name, step in steps.items() if min(step) >= least[name]}

    def rounds(self, body, mode, count, rounds, words, modes=MODES):
        for _ in range(rounds):
            count.left = count.number
            try:
                with modes[mode](count):
                    body()
                words.add("answered")
            except (Exception, KeyboardInterrupt, SystemExit):
                words.add("raised")

    def made(self, entry, state, t=t):
        rng = random.Random()
        rng.setstate(state)
        t.default_generator.manual_seed(1)
        return drawn(rng, entry, t, place(rng, entry, [t]))

    def operator(self, entry, state, mode, count, t=t):
        def body():
            function, args, kwargs, draw = self.made(entry, state, t)
            result = None
            if mode == "a checkpoint":
                def inside(*args):
                    count()
                    return function(*args, **kwargs)
                result = self.scope(t)["checkpoint"](inside, *args, use_reentrant=False)
            else:
                result = function(*args, **kwargs)
            if mode == "a hook of gradients":
                for x in [*tensors_of(result, t), *draw.leaves]:
                    if x.requires_grad:
                        x.register_hook(lambda grad: count())
            handle = None
            if mode == "a multi-gradient hook" and draw.leaves:
                handle = t.autograd.graph.register_multi_grad_hook(draw.leaves, lambda grads: count())
            try:
                differentiate(result)
            finally:
                if handle:
                    handle.remove()  # it refers to the leaves, which refer to it, in PyTorch as here
        return body

    def program(self, lines, mode, count, t=t):
        codes = [compile(line, "<line>", "exec") for line in lines]
        shared = self.scope(t)

        def body():
            scope = dict(shared)
            t.default_generator.manual_seed(1)
            try:
                for code in codes:
                    with contextlib.suppress(Exception):
                        exec(code, scope)
                    if mode == "a hook of gradients":
                        for x in list(scope.values()):
                            if isinstance(x, t.Tensor) and x.requires_grad:
                                with contextlib.suppress(Exception):
                                    x.register_hook(lambda grad: count())
            finally:
                # Cycles that PyTorch does not see through either: a function of the program refers to the program's variables,
                # and a hook to such a function; a gradient with a graph leads back to its leaf.
                shared["log"].clear()
                for x in [x for name, x in scope.items() if name not in shared and isinstance(x, t.Tensor)]:
                    with contextlib.suppress(Exception):
                        x.grad = None
                scope.clear()
        return body


def main():
    return children.main(__file__, Leaks, __doc__, count=2000, chunk=100, faults=10**9, memory=4096, limit=120)[0]


if __name__ == "__main__":
    sys.exit(main())
