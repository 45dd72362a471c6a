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
import contextlib
import dataclasses
import itertools
import random
import re
import sys
import warnings

import kindling
import torch

import children
from beside import Difference, Seen, classes, compare, compare_aspects, compare_values, decided_by_rounding, gist, parts, scale, seed, see, values
from children import Fault
from known import known, mark, median_of_gradient
from writer import Writer, prelude, shrink, text_of

CHECKPOINT = {t: __import__(f"{t.__name__}.utils.checkpoint", fromlist=["checkpoint"]).checkpoint for t in (torch, kindling)}


SCOPES = {}


def run(t, lines, number, keep=None):
    """(what each line raised, what hooks saw, what is seen of each variable at the end). `keep` gets the variables themselves."""
    if t not in SCOPES:
        SCOPES[t] = {"torch": t, "F": t.nn.functional, "checkpoint": CHECKPOINT[t], "nearly": nearly, "shifted": shifted, "log": []}
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
    if keep is not None:
        keep.update(scope)
    names = [name for name, value in scope.items() if name not in SCOPES[t] and isinstance(value, t.Tensor)]
    homes = [home(scope[name]) for name in names]
    seen = {name: observe(t, scope[name], scope, homes) for name in names}
    heard = [tuple(see(item, t, ()) if isinstance(item, t.Tensor) else item for item in event) for event in log]
    return raised, messages, heard, seen


def home(x):
    """Where its memory is; of what has no memory, which torch says by raising, nowhere."""
    if x._is_zerotensor():
        return 0
    try:
        return x.untyped_storage().data_ptr()
    except RuntimeError:
        return 0


def writes_what_it_reads(lines, number, elsewhere=True):
    """Whether some statement writes to memory that another of its tensors reads from elsewhere: what comes of it depends on the
    order in which the elements are walked, which PyTorch does not define. Without `elsewhere`, also where another tensor is the same memory
    in the same order: which of the two is kept for backward, and when, then decides whether PyTorch refuses."""
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
                        if not elsewhere and name != target or (written.shape, written.stride(), written.storage_offset()) != (read.shape, read.stride(), read.storage_offset()):
                            return True
            try:
                exec(line, scope)
            except Exception:
                pass
    return False


def written_by_refused(lines, number):
    """The variables that PyTorch changed in statements that it refused, and those that read one of these later: whose numbers, memory or
    shape are others afterwards."""
    scope = dict(SCOPES[torch], log=[])
    seed(torch, number)

    def state():
        found = {}
        for name, value in scope.items():
            if name not in SCOPES[torch] and isinstance(value, torch.Tensor):
                with contextlib.suppress(RuntimeError):
                    found[name] = (home(value), value.shape, value.stride(), value.storage_offset(), parts(values(value, torch)))
        return found
    changed = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            before = state()
            try:
                exec(line, scope)
            except Exception:
                after = state()
                changed |= {name for name, seen in before.items() if name in after and
                            (seen[:4] != after[name][:4] or not torch.equal(seen[4].nan_to_num(-1e300), after[name][4].nan_to_num(-1e300)))}
            else:
                if made := re.match(r"\s*(v\d+) = (.*)", line):
                    changed |= {made[1]} if changed & set(re.findall(r"\bv\d+\b", made[2])) else set()
    return changed


def sharing_gradients(lines, number):
    """The variables whose gradients PyTorch keeps in one memory, so that what is added to one is added to the other."""
    scope, homes = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(torch, lines, number, scope)
        for name, value in scope.items():
            if name not in SCOPES[torch] and isinstance(value, torch.Tensor):
                with contextlib.suppress(RuntimeError):
                    if value.is_leaf and value.grad is not None:
                        homes.setdefault(home(value.grad), {})[id(value)] = name
    return {name for together in homes.values() if len(together) > 1 for name in together.values()}


def observe(t, x, scope, homes):
    """Facts of a variable, each its value or the class of what asking for it raised."""
    facts = {}

    def fact(name, ask):
        try:
            facts[name] = ask()
        except Exception as problem:
            facts[name] = "an internal error" if "INTERNAL ASSERT FAILED" in str(problem) else classes(problem)
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


def outcomes(lines, number):
    """What comes of a program here and in PyTorch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        children.stage("kindling")
        ours = run(kindling, lines, number)
        children.stage("torch")
        theirs = run(torch, lines, number)
        children.stage("")
    return ours, theirs


def differences(lines, number, strict=False):
    """The differences of a program: of every variable the first one, and the first of what hooks saw. Where a statement raises on
    one side alone, what follows is another program, and only that is told."""
    ours, theirs = outcomes(lines, number)
    for place, (mine, his) in enumerate(zip(ours[0], theirs[0])):
        if mine != his:
            kind = f"{his or 'an answer'} there, {mine or 'an answer'} here: {gist(theirs[1][place] or ours[1][place])}"
            if (his == "RuntimeError" and mine in (None, "CheckpointError") or mine == "RuntimeError" and not his) and right_all_the_same(lines, number, kindling if mine else torch):
                kind += SAVED
            elif {his, mine} == {"RuntimeError", None} and writes_what_it_reads(lines, number, False):
                kind += " of memory read and written at once"
            if mine and any(theirs[0][earlier] and "backward(" in lines[earlier] for earlier in range(place)):
                kind += " after an error in backward"
            return [Difference(kind, f"{lines[place]!r}\n  torch: {theirs[1][place]}\n  here:  {ours[1][place]}", theirs[1][place], ours[1][place])]
    # A backward pass that raised stopped somewhere, and what was reached before that depends on the order of nodes.
    half_way = any(his and "backward(" in line for his, line in zip(theirs[0], lines))
    coarse = single if any("float32" in line for line in lines) else lambda seen: seen
    size = largest(theirs[3])
    if ours[3].keys() != theirs[3].keys():
        return [Difference("variables")]
    found = []

    def check(name, look):
        try:
            look()
        except Difference as problem:
            found.append(Difference(problem.kind, f"{name}: {problem.text}"))
    for name, his in theirs[3].items():
        check(name, lambda: compare_variable(his, ours[3][name], coarse, size, half_way, strict))
    check("hooks", lambda: compare([coarse([*event]) for event in theirs[2]], [coarse([*event]) for event in ours[2]],
                                   "what hooks saw" + (" before an error in backward" if half_way else ""), size))
    if any(": value" in each.kind or "nan or infinity" in each.kind for each in found):
        together = writes_what_it_reads(lines, number)
        nearby = None if together else answers_nearby(lines, number)
        for each in found:
            if (": value" in each.kind or "nan or infinity" in each.kind) and together:
                each.kind += " of memory read and written at once"
            elif (": value" in each.kind or "nan or infinity" in each.kind) and nearby is not None:
                name = each.text.partition(":")[0]
                if decided_by_rounding(*(tensors_at(run, name, coarse) for run in (theirs, ours)), [tensors_at(run, name, coarse) for run in nearby], size):
                    each.kind += " decided by rounding"
                elif has_nan(theirs):
                    each.text += " (NaN among the variables)"
    if any(re.search(r"^(variable|grad): (value|nan or infinity|shares|shape)$", each.kind) for each in found):
        refused = written_by_refused(lines, number) if any(theirs[0]) else set()
        together = sharing_gradients(lines, number)
        for each in found:
            if (each.text.partition(":")[0] in refused or each.kind.endswith("shares") and refused) and each.kind.startswith("variable: "):
                each.kind += " that a refused statement wrote"
            elif each.text.partition(":")[0] in together and each.kind == "grad: value":
                each.kind += " of gradients in one memory"
    internal = any("INTERNAL ASSERT FAILED" in (text or "") for text in theirs[1])
    for each in found:
        if internal and each.kind.endswith("requires_grad False there, True here"):
            each.kind += " after an internal error there"
            continue
        which = re.match(r"(variable|grad): requires_grad (True|False) there, (True|False) here", each.kind)
        if which and moved_by_nothing(lines, number, torch if which[2] == "True" else kindling, each.text.partition(":")[0], which[1]):
            each.kind += " (and nothing moves it)"
    return found


def compare_variable(his, mine, coarse, size, half_way, strict):
    compare(coarse(his["tensor"]), coarse(mine["tensor"]), "variable", size)
    compare(coarse(his["grad"]), coarse(mine["grad"]), "grad after an error in backward" if half_way else "grad", size)
    for fact in FACTS:
        if his[fact] != mine[fact] and (strict or fact not in ("node", "version")):
            if fact == "retains_grad" and half_way:
                raise Difference("grad after an error in backward")
            raise Difference(f"{fact} {his[fact] if fact != 'base' else ''} there, {mine[fact] if fact != 'base' else ''} here", f"{his[fact]}, {mine[fact]}")


SAVED = " (about what is saved alone: the same with copies)"
ABOUT_SAVED = "modified by an inplace operation|backward through the graph a second time|has been detached in-place|A view was created in no_grad mode"

ALSO_REFUSED = "ZeroTensors are immutable|Expected isFloatingType|A view was created in no_grad mode"


def right_all_the_same(lines, number, refuses):
    """Whether it is all that keeps them apart that module `refuses` finds a saved tensor written to, or released: with copies of
    what it saves, and graphs that are kept, it has every value and gradient that the other one has without."""
    lines = [re.sub(r"\.backward\((?=[^)]*\)$)(?!.*retain_graph=True)", ".backward(retain_graph=True, ", line).replace(", )", ")") for line in lines]
    lines = [re.sub(r"allow_unused=(\w+)(?!.*retain_graph=True)", r"allow_unused=\1, retain_graph=True", line) for line in lines]
    # Where every tensor that is saved is a copy, hooks that copy change nothing.
    # But for a checkpoint, which keeps nothing of what is saved where such hooks are.
    lines = [re.sub(r"^with torch\.autograd\.graph\.\w+\(.*\):\n    ", "", line).replace("\n    ", "\n") if line.startswith("with torch.autograd.graph") and "checkpoint(" not in line else line for line in lines]
    answers = torch if refuses is kindling else kindling
    # Writes behind autograd's back change what is saved, and not its copies: there both copy.
    unseen = any(".data" in line or ".set_(" in line for line in lines)

    def copies(t):
        return t.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            with copies(answers) if unseen else contextlib.nullcontext():
                plain = run(answers, lines, number)
            refused = [place for place, text in enumerate(plain[1]) if text and re.search(ABOUT_SAVED, text)]
            if refused:
                del lines[refused[0]]
                continue
            # Another statement that PyTorch alone refuses once it gets so far tells nothing of this one.
            with copies(refuses):
                copying = run(refuses, lines, number)
            refused = [place for place, text in enumerate(copying[1]) if text and not plain[1][place] and refuses is torch and re.search(ALSO_REFUSED, text)]
            if not refused:
                break
            del lines[refused[0]]
    coarse = single if any("float32" in line for line in lines) else lambda seen: seen
    size = largest(plain[3])
    try:
        for name, one in plain[3].items():
            if median_of_gradient("", "", "", name + ":" + "\n".join(lines)):
                continue   # PyTorch reads what lies behind the tensor
            for fact in "tensor", "grad":
                both = [coarse(each[3][name][fact]) for each in (copying, plain)]
                if isinstance(both[0], Seen) and isinstance(both[1], Seen):
                    compare_aspects(("dtype", "shape"), *both, "")
                    compare_values(*without_complex_nan(both, 0 if refuses is torch else 1), "", size)
                elif both[0] == "RuntimeError" and isinstance(both[1], Seen) and not both[1].value.any():
                    pass   # PyTorch's own form of zeros has no memory to look at
                elif isinstance(both[0], Seen) or isinstance(both[1], Seen):
                    return False
    except (Difference, KeyError):
        return False
    return plain[0] == copying[0]


def without_complex_nan(both, which):
    """Two tensors that were seen, with zeros for the complex numbers of which one of them, PyTorch's, has NaN: which part is NaN depends on the order of products."""
    values = [each.value for each in both]
    if any(value is None or not value.is_complex() for value in values) or values[0].shape != values[1].shape:
        return both
    unknown = parts(values[which]).isnan().any(-1)
    return [dataclasses.replace(each, value=each.value.masked_fill(unknown, 0)) for each in both]


def answers_nearby(lines, number):
    """PyTorch's answers to the same program with numbers changed in their last digit, and with more digits."""
    narrow = any("float32" in line for line in lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [run(torch, [line.replace("float32", "float64") for line in lines], number)] if narrow else []
        for step in 1, -1, 3:
            change = step * (6e-8 if narrow else 1e-16 * 2.3)
            place = itertools.count()
            near = [re.sub(r"-?\d+\.\d+(?=[],)j+-])", lambda digits: repr(float(digits[0]) * (1 + change * (1, -2, 4)[next(place) % 3])), line)
                    if "torch.tensor(" in line else line for line in lines]
            found.append(run(torch, near, number))
            # What is normalised may be constant but for rounding, whatever the numbers.
            if any(re.search(NORMALISED, line) for line in lines):
                found.append(run(torch, [re.sub(NORMALISED, rf"\1(nearly(\2, {8 * change})", line) for line in lines], number))
                # PyTorch folds the mean into a summand, which leaves the same in each element of what is constant: up to 1 / sqrt(eps)
                # digits' worth, of which single precision has too few to let so many go.
                found.append(run(torch, [re.sub(NORMALISED, rf"shifted(\1, {(8 if narrow else 320) * change})(\2", line) for line in lines], number))
            # The same for what goes back: a gradient of ones is not ones.
            found.append(run(torch, [re.sub(r"(\bv\d+(?:\.abs\(\))?|\(v\d+ \* v\d+(?:\.conj\(\)\)\.real|\)))\.sum\(\)", rf"nearly(\1, {change}).sum()", line) for line in lines], number))
    return found


NORMALISED = r"(\bbn\d+(?:\.eval\(\))?|F\.batch_norm|F\.layer_norm)\((v\d+(?: \+ 1)?)"


def nearly(x, change):
    """A tensor whose elements, and their gradients, differ from another's in the last digit."""
    return x * (1 + change * (torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape) + 1).cos()).to(x.dtype)


def shifted(function, change):
    """A function whose results, of size 1, differ in the last digit."""
    return lambda *args, **kwargs: function(*args, **kwargs) + change


def tensors_at(answer, name, coarse):
    """The tensors of a variable, its value and gradient, or all that hooks saw."""
    if name == "hooks":
        return [coarse(item) for event in answer[2] for item in event if isinstance(item, Seen)]
    facts = answer[3].get(name, {})
    return [coarse(facts[fact]) for fact in ("tensor", "grad") if isinstance(facts.get(fact), Seen)]


def has_nan(answer):
    return any(isinstance(facts["tensor"], Seen) and facts["tensor"].value is not None and bool(parts(facts["tensor"].value).isnan().any())
               for facts in answer[3].values())


def moved_by_nothing(lines, number, t, name, fact):
    """Whether all gradients of a variable, or of its gradient, are zero or not there in module t."""
    scope = {}
    with warnings.catch_warnings(), t.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
        warnings.simplefilter("ignore")
        run(t, lines, number, scope)
    x = scope[name] if fact == "variable" else scope[name].grad
    leaves, waiting, met = [], [x.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in met:
            continue
        met.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        waiting += [each for each, _ in node.next_functions]
    if not leaves:
        return x.grad_fn is not None
    try:
        total = sum((part * t.arange(1.0, part.numel() + 1).reshape(part.shape).to(part.dtype)).sum() for part in ((x.real, x.imag) if x.is_complex() else (x,)))
        found = t.autograd.grad(total, leaves, allow_unused=True)
    except RuntimeError:
        return False
    return not any(each is not None and bool((each != 0).any()) for each in found)


class Programs:
    @staticmethod
    def options(parser):
        parser.add_argument("--all", action="store_true", help="also the differences that are meant")
        parser.add_argument("--strict", action="store_true", help="also version counters and the names of nodes")
        parser.add_argument("--whole", action="store_true", help="print the program as it was drawn")
        parser.add_argument("--known", metavar="FILE", help="append the differences that are meant to this file, each after the line of its entry")

    def __init__(self, args):
        self.seed, self.all, self.strict, self.whole, self.known = args.seed, args.all, args.strict, args.whole, args.known

    def call(self, number, report=None):
        lines = Writer(random.Random(self.seed * 1_000_003 + number)).program()
        if report:
            report(text_of(lines) + "\n")
        found = differences(lines, number, self.strict)
        if not found:
            return "same"
        told = set()
        for first in found:
            fault = self.judge(lines, number, first, told)
            if fault:
                return fault
        return "known"

    def judge(self, lines, number, first, told):
        """The fault that a difference is, or None if it is meant."""
        def still(fewer):
            try:
                return bool(same(differences(fewer, number, self.strict), first))
            except RuntimeError:     # a variable of the smaller program that cannot be looked at
                return False
        if not self.whole:
            lines = shrink(lines, still)
        text = text_of(lines)
        if text in told:
            return None
        told.add(text)
        # What is left has the differences of that kind alone; each of them is to be meant.
        for found in differences(lines, number, self.strict):
            entry = None if self.all else known("program", found.kind, found.theirs, found.ours, f"{found.text}\n" + "\n".join(lines))
            if not entry:
                return Fault(found.kind, f"{found.text}\n{text}\n")
            if self.known:
                with open(self.known, "a") as file:
                    file.write(f"{mark(entry)} {found.kind} program {number} of seed {self.seed}\n  {found.text}\n{text}\n")
        return None


def same(found, wanted):
    """Those of some differences that are the wanted one: of that kind, in that variable or statement."""
    def about(each):
        return each.kind, each.text.partition(":")[0] if re.match(r"(v\d+|hooks):", each.text) else ""
    return [each for each in found if about(each) == about(wanted)]


def main():
    return children.main(__file__, Programs, __doc__, count=1000, chunk=500, faults=10**9, limit=60)[0]


if __name__ == "__main__":
    sys.exit(main())
