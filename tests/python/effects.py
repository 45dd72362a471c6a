"""What calls of operators show of their effects: draws, shapes that follow values, errors because of values, linearity.

Calls are those of PyTorch's test database, as modes see them in Kindling, backward passes too, and the operators' own examples.
Of each, what stands in tensors is varied and their headers are left as they are.
"""

import itertools
import random
import sys
import warnings
from pathlib import Path

import declared_calls

import kindling
from kindling import _C
from kindling.utils._python_dispatch import TorchDispatchMode

HERE = Path(__file__).parent
KEPT, ALIKE, SAMPLES = 6, 2, 12  # calls of an overload for a dtype, of those with the same shapes, samples of an entry for a dtype
LARGE = 100_003       # out of range of every sample's sizes; small enough to count up to


def map_tensors(function, value):
    if isinstance(value, kindling.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(map_tensors(function, item) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(function, item) for key, item in value.items()}
    return value


def tensors_of(value):
    found = []
    map_tensors(found.append, value)
    return found


def plain(tensor):
    return tensor.layout == kindling.strided and tensor.device.type in ("cpu", "meta") and type(tensor) in (kindling.Tensor, kindling.nn.Parameter)


class Collection:
    """Calls of each overload that work, with few that look alike."""

    def __init__(self):
        self.calls = {}  # by name, dtype and looks

    def note(self, operator, args, kwargs):
        tensors = tensors_of((args, kwargs))
        first = tensors[0].dtype if tensors else None
        kept = self.calls.setdefault(str(operator).removeprefix("aten."), {}).setdefault(first, {})
        looks = str(map_tensors(lambda x: (tuple(x.shape), x.dtype), (args, kwargs)))
        shapes = [tuple(x.shape) for x in tensors]
        alike = sum(shapes == [tuple(x.shape) for x in tensors_of(call[1:])] for call in kept.values())
        if len(kept) < KEPT and alike < ALIKE and looks not in kept and all(map(plain, tensors)):
            kept[looks] = (operator, *copied((args, kwargs)))


def copied(value):
    """Tensors with memory of their own; what is the same object stays so."""
    known = {}

    def copy(tensor):
        if id(tensor) not in known:
            known[id(tensor)] = tensor, tensor.detach().clone()
        return known[id(tensor)][1]

    return map_tensors(copy, value)


class Watched(TorchDispatchMode):
    def __init__(self, note):
        super().__init__()
        self.note = note

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.namespace in ("aten", "torchvision"):
            self.note(function, args, kwargs)
        return function(*args, **kwargs)


def from_database(collection):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    sys.path.insert(0, str(HERE.parent / "conformance"))
    import bridge

    ours = bridge.Bridge(kindling)
    for entry in op_db:
        torch.manual_seed(0)
        random.seed(0)
        kindling.manual_seed(0)
        for dtype in [d for d in (torch.float32, torch.int64) if d in entry.dtypes] or sorted(entry.dtypes, key=str)[:1]:
            backward = dtype == torch.float32 and entry.supports_autograd
            try:
                path = bridge.path_of(entry.op)
                function = ours.resolve(path) if path else ours.transplant(entry.op)
                samples = itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=backward, set_seed=False), 10 * SAMPLES)
                for place, sample in enumerate(samples):
                    if place >= SAMPLES and place % 10:
                        continue
                    args, kwargs = ours.carry((sample.input, *sample.args)), ours.carry(sample.kwargs)
                    with Watched(collection.note):
                        result = function(*args, **kwargs)
                        outputs = [each for each in tensors_of(result) if each.requires_grad] if backward else []
                        if outputs:
                            kindling.autograd.backward(outputs, [kindling.ones_like(each) for each in outputs])
            except Exception:
                continue  # what fails is a matter of the conformance suite


class Packets:
    """Stands for torch.ops.aten: what is called is noted."""

    def __init__(self, note, owner):
        self._note, self._owner = note, owner

    def __getattr__(self, name):
        found = getattr(self._owner, name)
        if not isinstance(found, kindling._ops.OpOverload):
            return Packets(self._note, found)

        def call(*args, **kwargs):
            self._note(found, args, kwargs)

        return call


class Noting:
    """Stands for torch where a call of an overload is to be noted and not made."""

    def __init__(self, note):
        self.ops = Packets(note, kindling.ops)

    def __getattr__(self, name):
        return getattr(kindling, name)


# What the database has no call of that modes see, or none that shows the effect.
MORE = (
    "torch.ops.aten.dropout.default(torch.ones(9), 0.5, True)",
    "torch.ops.aten.dropout_.default(torch.ones(9), 0.5, True)",
    "torch.ops.aten.feature_dropout.default(torch.ones(3, 9), 0.5, True)",
    "torch.ops.aten.feature_dropout_.default(torch.ones(3, 9), 0.5, True)",
    "torch.ops.aten.alpha_dropout.default(torch.ones(9), 0.5, True)",
    "torch.ops.aten.alpha_dropout_.default(torch.ones(9), 0.5, True)",
    "torch.ops.aten.feature_alpha_dropout.default(torch.ones(3, 9), 0.5, True)",
    "torch.ops.aten.feature_alpha_dropout_.default(torch.ones(3, 9), 0.5, True)",
    "torch.ops.aten.rrelu.default(torch.randn(9), 0.1, 0.3, True)",
    "torch.ops.aten.randperm.default(9)",
    "torch.ops.aten.index.Tensor(torch.arange(3), [torch.tensor([True, False, True])])",
    "torch.ops.aten.linalg_lstsq.default(torch.eye(3, 2), torch.ones(3, 1), driver='gelsd')",
    "torch.ops.aten.index_put_.default(torch.zeros(3), [torch.tensor([1])], torch.ones(1))",
    "torch.ops.aten.linspace.Tensor_Tensor(torch.tensor(1.), torch.tensor(2.), 3, dtype=torch.int64)",
    "torch.ops.aten.linspace.Tensor_Scalar(torch.tensor(1.), 2., 3, dtype=torch.int64)",
    "torch.ops.aten.linspace.Scalar_Tensor(1., torch.tensor(2.), 3, dtype=torch.int64)",
    "torch.ops.aten.searchsorted.Scalar(torch.arange(3.), 1.5, sorter=torch.tensor([0, 1, 2]))",
    "torch.ops.aten.linalg_lu_factor_ex.default(torch.eye(2), check_errors=True)",
    "torch.ops.aten.scaled_dot_product_attention.default(*torch.randn(3, 2, 5, 4).unbind(), dropout_p=0.5)",
)


def from_examples(collection):
    for code in MORE:
        declared_calls.value_of(code, Noting(collection.note))
    table = (HERE / "operator_examples.tsv").read_text().splitlines()
    for line in table:
        if line.count("\t") == 1:
            declared_calls.value_of(line.split("\t")[1], Noting(collection.note))
    for operator in declared_calls.declared():
        for code in operator["examples"]:
            with Watched(collection.note):
                declared_calls.value_of(code, kindling)


def calls():
    kindling.manual_seed(0)
    collection = Collection()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from_examples(collection)
        from_database(collection)
    made = {name: [call for kept in by_dtype.values() for call in kept.values()] for name, by_dtype in collection.calls.items()}
    return {name: kept for name, kept in made.items() if kept}


def run(operator, args, kwargs):
    """(result, error, whether the default generator moved). Arguments are copied before."""
    args, kwargs = copied((args, kwargs))
    kindling.manual_seed(1)
    before = kindling.get_rng_state()
    result = error = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = operator(*args, **kwargs)
        except Exception as problem:
            error = problem
    return result, error, not kindling.equal(before, kindling.get_rng_state())


def fillings(dtype):
    """Values that a tensor of this dtype may hold as well."""
    if dtype == kindling.bool:
        return [False, True]
    if not dtype.is_floating_point and not dtype.is_complex:
        values = [0, 1, 2, LARGE if kindling.iinfo(dtype).max > LARGE else 99]
        return values + ([-1, -LARGE if kindling.iinfo(dtype).max > LARGE else -99] if dtype.is_signed else [])
    return [0.0, 1.0, 0.25, -1.0, float("nan"), float("inf"), -float("inf"), 1e6]


def filled(tensor, value):
    floating = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    return kindling.full(tensor.shape, value, dtype=kindling.float64 if floating else None).to(tensor.dtype)


def variations(args, kwargs):
    """The same headers with other values: of each tensor alone, of all together."""
    tensors = tensors_of((args, kwargs))
    for place, tensor in enumerate(tensors):
        if tensor.is_meta:
            continue
        choices = [filled(tensor, value) for value in fillings(tensor.dtype)]
        if tensor.numel() > 1 and not tensor.dtype.is_complex and (tensor.dtype.itemsize > 1 or not tensor.dtype.is_floating_point):
            choices += [tensor.flatten().flip(0).reshape(tensor.shape), tensor.flatten().sort().values.reshape(tensor.shape)]
        for choice in choices:
            yield replaced(args, kwargs, {place: choice})
    if len(tensors) > 1:
        for which in range(8):
            yield replaced(args, kwargs, {place: filled(tensor, fillings(tensor.dtype)[which % len(fillings(tensor.dtype))])
                                          for place, tensor in enumerate(tensors)})


def replaced(args, kwargs, values):
    """The arguments with tensors of some places replaced; strides stay as they are."""
    place = -1

    def change(tensor):
        nonlocal place
        place += 1
        return tensor.clone().copy_(values[place]) if place in values and not tensor.is_meta else tensor

    return map_tensors(change, (args, kwargs))


def shapes(result):
    return [(tuple(x.shape), x.dtype) for x in tensors_of(result)]


def number(result):
    """A result that is no tensor, as text."""
    return repr(result) if isinstance(result, (bool, int, float, complex)) else ""


def effects(calls):
    """{effect: what shows it} of calls of one operator."""
    shown = {}
    for operator, args, kwargs in calls:
        result, error, drew = run(operator, args, kwargs)
        if error is not None:
            continue
        if drew:
            shown["Random"] = "the generator moves"
        for varied in variations(args, kwargs):
            other, error, drew = run(operator, *varied)
            if drew:
                shown["Random"] = "the generator moves"
            if error is not None:
                shown["RaisesByValue"] = f"{type(error).__name__}: {error}"
            elif shapes(other) != shapes(result):
                shown["ShapeByValue"] = f"{shapes(result)} and {shapes(other)}"
            elif number(other) != number(result):
                shown["NumberByValue"] = f"{number(result)} and {number(other)}"
    return shown


def wide(tensor):
    """In a dtype in which sums are exact enough to be compared."""
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return tensor
    return tensor.to(kindling.complex128 if tensor.dtype.is_complex else kindling.float64)


def with_tensors(args, kwargs, change):
    """The arguments with change(place, copy) in the place of each tensor."""
    place = -1

    def changed(tensor):
        nonlocal place
        place += 1
        return change(place, tensor.detach().clone())

    return map_tensors(changed, (args, kwargs))


def differentiable(operator, args, kwargs):
    """The places of the tensors that the result requires grad by."""
    for place, tensor in enumerate(tensors_of((args, kwargs))):
        if tensor.is_meta or not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            continue
        asked, kwasked = with_tensors(args, kwargs, lambda at, x, place=place: x.requires_grad_().clone() if at == place else x)
        try:
            asks = any(each.requires_grad for each in tensors_of(operator(*asked, **kwasked)))
        except RuntimeError:
            asks = False  # no derivative by this one
        if asks:
            yield place


def numbers(result):
    """The results' numbers, real ones, and how much of them is lost to a narrow dtype."""
    for each in tensors_of(result):
        if each.layout == kindling.strided and not each.is_meta and (each.dtype.is_floating_point or each.dtype.is_complex):
            loss = 1e-7 if each.dtype.itemsize >= 8 and each.dtype != kindling.complex64 else 5e-2
            each = each.detach().resolve_conj()
            yield wide(kindling.view_as_real(each) if each.dtype.is_complex else each), loss


def linear(calls):
    """For each call with a derivative: whether f(a x + b y) = a f(x) + b f(y), where x stands for all tensors with a derivative."""
    answers = []
    for operator, args, kwargs in calls:
        args, kwargs = map_tensors(wide, (args, kwargs))
        try:
            places = set(differentiable(operator, args, kwargs))
            tensors = tensors_of((args, kwargs))
            kindling.manual_seed(3)
            x, y = ({place: kindling.randn_like(tensors[place]) for place in places} for _ in range(2))
            results = []
            for values in (x, y, {place: 0.7 * x[place] - 1.3 * y[place] for place in places}):
                given, kwgiven = with_tensors(args, kwargs, lambda at, tensor, values=values: values.get(at, tensor).clone())
                results.append(list(numbers(operator(*given, **kwgiven))))
        except Exception:
            continue  # other values than these are asked for
        if places and sum(each.numel() for each, _ in results[0]):
            answers.append(all(u.shape == v.shape == w.shape and kindling.allclose(0.7 * u - 1.3 * v, w, rtol=loss, atol=loss)
                               for (u, loss), (v, _), (w, _) in zip(*results, strict=True)))
    return answers


def facts(operator):
    name = operator._opname if operator.namespace == "aten" else operator.name_in_core
    body, composite, _, _, _, traits = _C._operator_facts(name, operator._raw)
    return body, composite, traits

