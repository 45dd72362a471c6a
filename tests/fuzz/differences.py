"""Calls every declared operator in PyTorch and in Kindling with the same random arguments, and compares what comes of it.

    python tests/fuzz/differences.py --count 20000 --seed 1
    python tests/fuzz/differences.py --count 20000 --calls calls.pickle     # half of them changes of recorded calls

Compared are: whether a call is refused and by which class of exception; dtype, shape, strides, values, lazy bits, memory
shared with arguments, types of what is no tensor; the arguments after the call; gradients and, for some calls, gradients
of gradients. A difference that is meant stands in known.py, with its reason. Faults are told once for each kind, and
counted; a crash of PyTorch is no fault of ours.
"""
import random
import re
import sys

import kindling
import torch

import children
from beside import FINER, TOLERANCE, Difference, Seen, compare, decided_by_rounding, gist, observe, parts, same_places, scale, seed
from children import Fault
from draw import Draw, changed, drawn, operators, place, tell, tensors_of, word_of
from arguments import recorded
from known import complaint, known, mark

# What these leave in memory is whatever was there.
UNSPECIFIED = re.compile(r"(new_)?empty(_like|_strided|_permuted)?|_?resize(_as)?_|resize(_as)?|set_|_efficientzerotensor")
# Another order of reading, or a free choice of sign and phase: values are compared through what is made of them (linalg tests).
FREE = re.compile(r"_linalg_det|_linalg_slogdet|_lu_with_info|(linalg_|_linalg_)?(svd|eigh?|qr|lobpcg|svd_lowrank|pca_lowrank|geqrf|householder_product)|linalg_lu\w*|ormqr|orgqr")


# Rounding grows with the matrix's condition.
SOLVES = re.compile(r"_?(linalg_)?(inv(_ex)?|inverse|pinv|pinverse|solve(_ex)?|tensorinv|tensorsolve|matrix_power|lstsq|cholesky_(inverse|solve)|triangular_solve|solve_triangular|lu_solve)")
TRIANGLES = re.compile(r"_?(linalg_)?(cholesky_(inverse|solve)|triangular_solve|solve_triangular)")
# What rounds one operand's part of a sum to that operand's dtype first.
ROUNDED = re.compile(r"kl_div")
NO_MEMORY = re.compile("allocate memory|out of memory|MemoryError|bad_alloc|Storage size calculation overflowed")
# Those that write to an argument. Where its elements share memory, which of two writes is the last is nobody's.
WRITES = re.compile(r"\w+_\.\w+|.*out|\[\]=")


# The size of a dimension without elements, where they are wanted: no other dimension that is drawn has it.
FILLED = 6
SIZELESS = ("a dtype", "two dtypes", "a word", "a value", "an index")


def alike(error):
    """Whoever catches a RuntimeError catches a NotImplementedError."""
    return "RuntimeError" if error == "NotImplementedError" else error


def filled(value, size, lists):
    """An argument of PyTorch's with elements: tensors that are empty or on no device become zeros on the CPU, with `size` where
    a dimension has none, and so do lists of sizes if `lists`."""
    if isinstance(value, torch.Tensor):
        if value.numel() and value.device.type != "meta":
            return value
        with torch.inference_mode(value.is_inference()):
            x = torch.zeros([each or size for each in value.shape], dtype=value.dtype, requires_grad=value.requires_grad)
        return x if value.is_leaf else x * 1
    if isinstance(value, dict):
        return {name: filled(item, size, lists) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        if lists and all(type(item) is int for item in value):
            return [item or size for item in value]
        return type(value)(filled(item, size, lists) for item in value)
    return "cpu" if value == "meta" or value == torch.device("meta") else value


def beyond(x):
    """Whether a tensor has finite numbers beyond 1e15."""
    return x.device.type == "cpu" and x.layout is torch.strided and scale(x, float("inf")) > 1e15


def conditioned(operator, tensors):
    """The rounding of a solution, as a part of it: that of its dtype times the largest condition of the matrices, if that is a number.
    Of what reads a triangle, those of both triangles count, and of the factor of a matrix its square."""
    most, factor = 0, "cholesky" in operator
    for x in tensors:
        if x.device.type == "cpu" and x.layout is torch.strided and x.dim() > 1 and 0 < x.numel() < 5000 and (x.is_floating_point() or x.is_complex()) and x.isfinite().all():
            wide = x.detach().to(torch.complex128)
            read = [wide]
            if x.shape[-1] == x.shape[-2] and TRIANGLES.fullmatch(operator):
                unit = torch.eye(x.shape[-1])
                read = [wide.tril(), wide.triu(), wide.tril(-1) + unit, wide.triu(1) + unit]
            with torch.inference_mode():
                for values in map(torch.linalg.svdvals, read):
                    least = values[..., -1]
                    ratio = values[..., 0][least > 0] / least[least > 0]
                    most = max(most, float(ratio.max() ** (1 + factor)) * torch.finfo(x.dtype).eps if ratio.numel() else 0)
    return digits_left(4 * most)


def digits_left(rounding):
    """A rounding as a tolerance: of more than a tenth no digit can be compared."""
    return rounding if rounding < 0.1 else 1e300


def numbers(x):
    """The numbers of a tensor: the least and largest, the smallest besides 0, and whether some are not finite."""
    if x.device.type != "cpu" or x.layout is not torch.strided or not x.numel():
        return "none"
    x = parts(x.detach()).double()
    finite = x[x.isfinite()]
    words = [f"{finite.min():g} to {finite.max():g}"] if finite.numel() else []
    sizes = finite[finite != 0].abs()
    words += [f"from {sizes.min():g}"] if sizes.numel() else []
    return ", ".join(words + ["NaN"] * bool(x.isnan().any()) + ["infinity"] * bool(x.isinf().any()))


def repeats(x):
    """Whether some of a tensor's numbers are equal."""
    return x.device.type == "cpu" and x.layout is torch.strided and not x.is_complex() and x.detach().double().unique().numel() < x.numel()


def degenerate(x):
    """What a matrix is besides its numbers: with equal singular values its singular vectors are free to turn; singular, what rounding leaves says whether it is one."""
    if x.device.type != "cpu" or x.layout is not torch.strided or x.dim() < 2 or not x.numel() or not (x.is_floating_point() or x.is_complex()) or not x.isfinite().all():
        return set()
    with torch.inference_mode():
        wide = x.detach().to(torch.complex128)
        values = torch.linalg.svdvals(wide)
        if x.shape[-1] == x.shape[-2] and any(torch.linalg.cholesky_ex(each).info.any() for each in (wide, wide.mH)):
            indefinite = {"a matrix that is not positive-definite"}
        else:
            indefinite = set()
    facts = {"equal singular values": values[..., :-1] - values[..., 1:] <= 1e-6 * values[..., :1], "a singular matrix": values[..., -1:] <= 1e-14 * values[..., :1]}
    return {fact for fact, where in facts.items() if where.any()} | indefinite


# What a difference says of where it is, and where that stands in an outcome; and what it says where PyTorch's own answers to the same
# call with numbers changed in their last digit differ as much.
PARTS = {"result": "result", "arguments after": "after", "gradient": "gradients", "second gradient": "second"}
DECIDED = " decided by rounding"

# Of these PyTorch does not look at the number of dimensions before it reads sizes and writes, nor how many indices there are.
DAMAGES = re.compile(r"_?upsample_\w*?([123])d\b|_unsafe_masked_index")


class Finer(Draw):
    """The same call with more digits."""

    def a_dtype(self, name=None):
        name = name or self.rng.choice(self.names)
        return getattr(self.t, FINER.get(name, name))


Finer.names = __import__("draw").DTYPES


class Nudged(Draw):
    """The same call with its floating numbers changed in their last digit, or by `step` of them."""
    step = 1

    def plain(self, sizes, dtype):
        x = super().plain(sizes, dtype)
        if not (dtype.is_floating_point or dtype.is_complex):
            return x
        change = self.step * torch.finfo(dtype).eps * (torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape) + 1).cos()
        return (x.to(torch.complex128 if dtype.is_complex else torch.float64) * (1 + change)).to(dtype)


class Comparer:
    drawing, finer, nudged = Draw, Finer, Nudged

    @staticmethod
    def options(parser):
        parser.add_argument("--operators", default="", metavar="REGEX", help="only those whose name.overload it finds")
        parser.add_argument("--calls", metavar="FILE", help="what tests/conformance/record.py wrote: half of the calls are changes of those")
        parser.add_argument("--alone", action="store_true", help="in Kindling, without PyTorch, comparing nothing")
        parser.add_argument("--all", action="store_true", help="also the differences that are meant")
        parser.add_argument("--known", metavar="FILE", help="append the differences that are meant to this file, each after the line of its entry")

    def __init__(self, args):
        self.seed, self.all, self.known, self.alone = args.seed, args.all, args.known, args.alone
        modules = [torch, kindling]
        self.operators = [entry for entry in operators() if re.search(args.operators, entry.name) and (
            entry.body or hasattr(torch.ops.aten, entry.name.partition(".")[0]))]
        self.modules, self.records = modules, None
        if args.calls:
            player, self.records = recorded(args.calls, args.operators)
            self.players = {torch: player(torch), kindling: player(kindling)}

    def make(self, number, t, drawing):
        rng = random.Random(self.seed * 1_000_003 + number)
        seed(t, number)
        if self.records and rng.random() < 0.5:
            record = rng.choice(self.records)
            name = record[0].replace("Tensor.", "").replace("nn.functional.", "").replace(".", "_")
            return name, changed(rng, self.players[t], record, drawing), rng
        entry = self.operators[number % len(self.operators)]
        return entry.name, drawn(rng, entry, t, place(rng, entry, self.modules), drawing), rng

    def outcome(self, number, t, drawing, report=None):
        name, (function, args, kwargs, draw), rng = self.make(number, t, drawing)
        if drawing is self.drawing:
            self.told = tell(function, args, kwargs, t)
        if report:
            report(f"{t.__name__}: {self.told}")
        twice = rng.random() < 0.3
        if t is torch:
            self.shared = bool(WRITES.fullmatch(name)) and any(torch._debug_has_internal_overlap(x) for x in tensors_of([args, kwargs], t) if word_of(x.layout) == "strided")
        self.size = max([scale(x, 1e6) for x in tensors_of([args, kwargs], t) if x.device.type == "cpu" and x.numel()], default=0) if t is torch else 0
        if t is torch:
            self.rounding = conditioned(name.partition(".")[0], list(tensors_of([args, kwargs], t))) if SOLVES.fullmatch(name.partition(".")[0]) else 0
        return observe(t, function, args, kwargs, draw.leaves, number, twice=twice)

    def both(self, number, report=None, modules=(kindling, torch)):
        made = []
        for t in modules:
            children.stage(t.__name__)
            try:
                made.append(self.outcome(number, t, self.drawing, report))
            except Exception as problem:
                made.append(f"{type(problem).__name__}: {problem}")
            if report:
                report(f"  {told(made[-1])}")
        children.stage("")
        return made

    def call(self, number, report=None):
        if self.damages(number):
            return "left out"
        if self.alone:
            self.both(number, report, [kindling])
            return "alone"
        ours, theirs = self.both(number, report)
        name = self.make(number, torch, self.drawing)[0] if not isinstance(theirs, str) else self.operators[number % len(self.operators)].name
        try:
            return self.judge(number, name, ours, theirs)
        except (RuntimeError, MemoryError) as problem:
            if not NO_MEMORY.search(f"{type(problem).__name__}: {problem}"):
                raise
            return "no memory"
        except Difference as difference:
            if "requires_grad" in difference.kind and zero_throughout(theirs.second):
                difference.text += "\nsecond gradients are zero there"
            try:
                holds = self.holds(number)
            except (RuntimeError, MemoryError) as problem:
                if not NO_MEMORY.search(f"{type(problem).__name__}: {problem}"):
                    raise
                return "no memory"
            # Where both refuse only the gradients of what they answer, it may be the answer that differs.
            seen = re.match(r"result|arguments after|gradient|second gradient", difference.kind)
            words = ["an answer" if seen else told(each, 2000) for each in (theirs, ours)]
            entry = None if self.all else known(name, difference.kind, *words, f"{self.told}\n{difference.text}\n{holds}",
                                              {"refused": lambda: self.refused_with_values(number, ours), "answered": lambda: self.answered_with_values(number, ours),
                                               "taken": lambda: not getattr(self.with_values(number)[0], "error", True),
                                               "overload": lambda: self.same_by_overload(number, name, ours)})
            text = f"{self.told}\n  {difference.text}\n  torch: {told(theirs)}\n  here:  {told(ours)}"
            if entry:
                if self.known:
                    with open(self.known, "a") as file:
                        file.write(f"{mark(entry)} {name} {difference.kind} call {number} of seed {self.seed}\n  {text}\n")
                return "known"
            return Fault(difference.kind, text.replace("\n  \n", "\n"), name)

    def holds(self, number):
        """What numbers the tensors of a call held."""
        _, args, kwargs, _ = self.make(number, torch, self.drawing)[1]
        found = list(tensors_of([args, kwargs], torch))
        return "holds " + "; ".join(map(numbers, found)) + ("\nnumbers beyond 1e15" if any(x.is_complex() and beyond(x) for x in found) else "") + ("\nequal numbers" if any(map(repeats, found[:1])) else "") + "".join(f"\n{fact}" for fact in sorted(set().union(*map(degenerate, found))))

    def refused_with_values(self, number, ours):
        """Whether PyTorch refuses the same call as we do, for the same reason, once its tensors have elements. Of a call whose
        tensors are on no device, and else as they were, it may be for another reason, and also where our reason has nothing to do
        with sizes: that call is wrong in two ways."""
        for lists in (False, True):
            seen, hollow = self.with_values(number, lists)
            if seen is None:
                continue
            about = [complaint(told.message.partition(": ")[2]) for told in (seen, ours)]
            if seen.error and seen.stage == "call" and all(about) and ((alike(seen.error), about[0]) == (alike(ours.error), about[1]) or
                                                                       about[0] != about[1] and (not hollow or about[1] in SIZELESS)):
                return True
        return False

    def answered_with_values(self, number, ours):
        """Whether PyTorch answers the same call as we do once its tensors have elements on the CPU, but for the numbers. Its functions
        for the shapes of meta tensors say other things than its operators here and there."""
        seen, _ = self.with_values(number)
        return seen is not None and not seen.error and same_form([seen.result, seen.after], [ours.result, ours.after])

    def with_values(self, number, lists=False):
        """What PyTorch makes of the same call once its tensors have elements on the CPU, and its lists of sizes too if `lists`; and whether
        a size could be wrong that was given to it. None where nothing is to be changed."""
        function, args, kwargs, _ = self.make(number, torch, self.drawing)[1]
        found = list(tensors_of([args, kwargs], torch))
        if not any(x.device.type == "meta" or not x.numel() for x in found) and "meta" not in str(kwargs) and not lists:
            return None, False
        children.stage("torch")
        try:
            return observe(torch, function, filled(args, FILLED, lists), filled(kwargs, FILLED, lists), [], number), lists or any(not x.numel() for x in found)
        finally:
            children.stage("")

    def same_by_overload(self, number, name, ours):
        """Whether PyTorch does what we do where the overload is called and not the name."""
        function, args, kwargs, draw = self.make(number, torch, self.drawing)[1]
        if not isinstance(function, torch._ops.OpOverloadPacket):
            return False
        ours_named = name.partition(".")[2]
        overload = getattr(function, ours_named, None) or getattr(function, "out_" + ours_named.removesuffix("_out"), None)   # linalg_matrix_rank.out_tol_tensor
        if overload is None:
            return False
        children.stage("torch")
        try:
            self.judge(number, name, ours, observe(torch, overload, args, kwargs, draw.leaves, number, twice=ours.second is not None))
        except Difference:
            return False
        finally:
            children.stage("")
        return True

    def nearby(self, number):
        """PyTorch's outcomes of the same call with numbers changed in their last digit."""
        found = []
        for step in (1, -1, 3):
            self.nudged.step = step
            children.stage("torch")
            try:
                found.append(self.outcome(number, torch, self.nudged))
            finally:
                children.stage("")
        return found

    def damages(self, number):
        """Whether PyTorch 2.13 would write beyond its memory, which ends the process some calls later."""
        try:
            name, (_, args, _, _), _ = self.make(number, torch, self.drawing)
        except Exception:   # its arguments cannot be made: that is told elsewhere
            return False
        if name.startswith(("embedding_dense_backward", "embedding_sparse_backward")) and len(args) > 2 and isinstance(args[1], torch.Tensor) and isinstance(args[2], int):
            places = parts(args[1].detach()).double()
            return places.device.type == "cpu" and bool(places.numel()) and not -1 <= places.min().item() <= places.max().item() < args[2]
        if name.startswith("_weight_norm") and len(args) > 1 and all(isinstance(x, torch.Tensor) and x.device.type == "cpu" for x in args[:2]):
            return args[0].dim() > 0 and args[1].numel() < max(args[0].shape[0], args[0].shape[-1])   # it writes a norm for each row or column
        plane = DAMAGES.match(name)
        if not plane or not args or not isinstance(args[0], torch.Tensor):
            return False
        if plane[1]:
            return args[0].dim() != int(plane[1]) + 2
        return any(isinstance(each, list) and len(each) > args[0].dim() for each in args)

    def judge(self, number, name, ours, theirs):
        if isinstance(ours, str) or isinstance(theirs, str):
            if isinstance(ours, str) and isinstance(theirs, str):
                return "no call"
            if NO_MEMORY.search(str(ours) + str(theirs)):
                return "no memory"
            raise Difference("its arguments cannot be made " + ("here" if isinstance(ours, str) else "there"), str((theirs, ours))[:300])
        if no_memory(ours) or no_memory(theirs):
            return "no memory"
        if theirs.error != ours.error or theirs.error and theirs.stage != ours.stage:
            def word(seen):
                return f"{seen.error} in the {seen.stage}" if seen.error and seen.stage != "call" else seen.error or "an answer"
            what = theirs if theirs.error else ours
            rounded = "LinAlgError" in (theirs.error, ours.error) and any((each.error, each.stage) == (ours.error, ours.stage) for each in self.nearby(number))
            raise Difference(f"{word(theirs)} there, {word(ours)} here: {gist(what.message)}{DECIDED * rounded}")
        if theirs.error and theirs.stage == "call":
            return "refused"
        operator = name.partition(".")[0]
        try:
            self.values(name, operator, ours, theirs, None)
        except Difference as difference:
            if "value" not in difference.kind and "nan" not in difference.kind:
                raise
            try:
                torch.set_default_dtype(torch.float64)  # that integers become
                finer = self.outcome(number, torch, self.finer)
            except Exception:
                finer = None
            finally:
                torch.set_default_dtype(torch.float32)
            try:
                self.values(name, operator, ours, theirs, finer)
            except Difference as difference:
                part = next((part for words, part in PARTS.items() if difference.kind.startswith(words)), None)
                if part and re.search(r": (value|nan or infinity)$", difference.kind):
                    his, mine, *nearby = (seen_in(getattr(each, part)) for each in (theirs, ours, *self.nearby(number)))
                    difference.kind += DECIDED * decided_by_rounding(his, mine, nearby, self.size)
                raise
        return "refused later" if theirs.error else "answered"

    def values(self, name, operator, ours, theirs, finer):
        floor = 0
        if WRITES.fullmatch(name):  # what is written to a target of another dtype has no more digits than what it is computed from
            floor = max([TOLERANCE.get(getattr(torch, x.dtype), 1e-5) for place, x in enumerate(theirs.after or ()) if x.dtype != "bool" or not place], default=0)

        if SOLVES.fullmatch(operator):
            floor = max(floor, self.rounding)
        if ROUNDED.fullmatch(operator):
            floor = max([floor] + [TOLERANCE.get(getattr(torch, x.dtype), 0) for x in theirs.after or ()])

        def pair(what):
            mine, his = getattr(ours, what), getattr(theirs, what)
            if UNSPECIFIED.fullmatch(operator) or FREE.fullmatch(operator) or self.shared:
                mine, his = blank(mine), blank(his)
            return his, mine

        compare(*pair("result"), "result", self.size, finer and finer.result, floor=floor)
        compare(*pair("after"), "arguments after the call", self.size, finer and finer.after, versions=True, floor=floor)
        if not FREE.fullmatch(operator) and not self.shared:
            least = max(self.size, 1e-3)   # of zeros, the weights of `weighted` are what takes part
            # They have no more digits than the results through which they go, and lose more of them to a matrix's condition.
            # Formulas compute a factor of tensors of one dtype in that, where the others are wider.
            floor = max([floor] + [TOLERANCE.get(getattr(torch, x.dtype), 0) for x in [*tensors_seen(theirs.result), *(theirs.after or ())]])
            if SOLVES.fullmatch(operator):
                floor = digits_left(8 * max(floor, self.rounding))
            compare(theirs.gradients, ours.gradients, "gradient", least, finer and finer.gradients, floor=floor)
            if SOLVES.fullmatch(operator):
                floor = digits_left(8 * floor)
            compare(theirs.second, ours.second, "second gradient", least, finer and finer.second, floor=floor)


def tensors_seen(result):
    """The floating tensors of a result."""
    if hasattr(result, "dtype"):
        return [result] if hasattr(torch, str(result.dtype)) else []
    return [x for each in result for x in tensors_seen(each)] if isinstance(result, (list, tuple)) else []


def seen_in(value):
    """All that is seen of tensors in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    return [value] if isinstance(value, Seen) else [x for each in value for x in seen_in(each)] if isinstance(value, (list, tuple)) else []


def same_form(expected, actual):
    """Whether two values are the same but for their numbers and where they lie."""
    one, other = seen_in(expected), seen_in(actual)
    return len(one) == len(other) and all(
        (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad) and same_places(a.shape, a.stride, b.stride) for a, b in zip(one, other))


def zero_throughout(second):
    """Whether second gradients were asked for, and no number of them is other than 0."""
    values = [each.value for each in second[1] if getattr(each, "value", None) is not None] if second else []
    return bool(second) and not any(bool(value.any()) for value in values)


def blank(seen):
    """What was seen without values."""
    from dataclasses import is_dataclass, replace
    if is_dataclass(seen):
        return replace(seen, value=None)
    if isinstance(seen, (list, tuple)):
        return type(seen)(map(blank, seen))
    return seen


def told(seen, most=300):
    if isinstance(seen, str):
        return seen[:most]
    return f"{seen.message[:most]} ({seen.stage})" if seen.error else "an answer"


def no_memory(seen):
    return bool(seen.error) and bool(NO_MEMORY.search(seen.message))


def main(file=None, comparer=Comparer, doc=__doc__):
    status, parent = children.main(file or __file__, comparer, doc, faults=10**9, limit=30)
    if parent and not status:
        assert parent.tally["answered"] > parent.args.count // 20, parent.tally
    return status


if __name__ == "__main__":
    sys.exit(main())
