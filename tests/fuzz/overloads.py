"""Calls every public operator as PyTorch's own schemas have it, with Python numbers, lists and None where tensors, numbers, sizes
and flags belong, and compares what is taken and what comes of it.

    python tests/fuzz/overloads.py --seed 1 --rounds 30

Functions and methods are called by position and by keyword, once with torch and once with Kindling. A fault is a call that one
of them takes and the other refuses with a TypeError, or whose results have another dtype, shape or kind. Values, and refusals
of other classes, are for other tests.
"""
import argparse
import collections
import random
import re
import sys
import warnings

import numpy as np

# Random, quantised, sparse, inner and memory business, and what is written in Python on both sides.
LEFT_OUT = re.compile(
    r"^_|random|dropout|rand|normal|multinomial|bernoulli|cauchy|exponential|geometric|poisson|binomial|empty|cudnn|miopen|mkldnn|quantize|"
    r"fbgemm|sparse|from_file|to_padded|nested|set_|resize|rename|names|align|refine|storage|data_ptr|record_stream|cuda|vulkan|backward|"
    r"retain|requires_grad|is_vulkan|fused|choose_qparams|q_|int_repr|dequantize|hash_tensor|import|export|fake_quant|lstm|gru|rnn|ctc_loss|"
    r"batch_norm|embedding_bag|unsafe|chalf|share_memory|histogramdd|frombuffer|profiler|_out$|^(device|qscheme|layout|tensor|as_tensor|"
    r"is_distributed|split|unflatten|Size|broadcast_shapes|tensordot|norm_except_dim|native_layer_norm|block_diag|cartesian_prod|broadcast_tensors|chain_matmul|stft|istft|norm|unique_consecutive|size|stride)$")
# A difference that is known, with its reason.
KNOWN = re.compile(r"complex32|"                       # a dtype that tensors here do not have
                   r"[( ]input=(True|-?\d)|"           # a number goes by the name of what it stands for, too
                   r"copy_\(.*src=|to\(.*other=|"      # and what torch renames in Python, by the schema's name
                   r"torch\.range\(.*(layout|pin_memory)=None|"  # which torch takes everywhere else
                   r"(Tensor\.addr|Tensor\.dist|torch\.dist|torch\.addr)\(|"
                   r"\b(mm|bmm|addmm|baddbmm)\(.*'float64'")   # overloads with a dtype, which the CPU refuses
NUMBERS = [True, 3, 1.5, 2j, 2, -1, 0, 1]


class Made:
    def __init__(self, rng, dtype=None):
        shape = rng.choice([(3,), (3,), (2, 3), (3, 3), (), (2, 2, 3)])
        dtype = dtype or rng.choice(["float32", "float32", "float64", "int64", "bool", "int32", "complex64", "float16"])
        count = int(np.prod(shape))
        numbers = ([rng.random() < 0.5 for _ in range(count)] if dtype == "bool" else
                   [rng.randrange(3) for _ in range(count)] if dtype.startswith("int") else
                   [rng.uniform(0.1, 2) + (1j * rng.uniform(0.1, 2) if dtype == "complex64" else 0) for _ in range(count)])
        self.numbers = np.array(numbers, dtype).reshape(shape)


class DType(str):
    pass


def value(rng, argument):
    kind, chance = str(argument.type), rng.random()
    if kind.startswith("Optional["):
        if rng.random() < 0.4:
            return None
        kind = kind[9:-1]
    if kind == "Tensor":
        places = re.search("ind|target|offsets", argument.name) and rng.random() < 0.7
        return Made(rng, "int64" if places else None) if chance < 0.7 else rng.choice(NUMBERS)
    if kind in ("number", "Scalar"):
        return rng.choice(NUMBERS) if chance < 0.8 else Made(rng)
    if kind == "int":
        if "dtype" in argument.name:
            return DType("float64")
        return rng.choice([0, 1, 2, -1, 3]) if chance < 0.85 else rng.choice([True, 1.0, 1.5, None, np.int64(1)])
    if kind == "bool":
        return rng.choice([True, False]) if chance < 0.85 else rng.choice([1, 0, None, 1.0])
    if kind == "float":
        return rng.choice([0.5, 1.0, 2.0, 0.0]) if chance < 0.7 else rng.choice([1, True, 1j, None, np.float32(0.5)])
    if kind.startswith("List["):
        kind = kind[5:-1]
        if kind == "Tensor":
            return [Made(rng) for _ in range(rng.choice([1, 2]))]
        lists = {"int": [[0], [1], [0, 1], [-1], [2], [2, 3], [3], [], 1, (1,), True, [True], [1.0], None],
                 "float": [[1.0], [1.0, 2.0], 1.0, [1]], "bool": [[True]]}
        return rng.choice(lists.get(kind, [[1, 2]]))
    return rng.choice(["mean", "sum", "none", "floor", "trunc", "reflect", "ij", "amax"]) if kind == "str" else None


def drawn(rng, schema, method):
    """(positional, keywords), or None for an out= form."""
    args, kwargs, named = [], {}, rng.random() < 0.3
    for argument in schema.arguments:
        if argument.is_out:
            return None
        if argument.has_default_value() and rng.random() < 0.5:
            named = True
            continue
        name = "input" if argument.name == "self" and not method else argument.name
        if argument.kwarg_only or (named and not (method and not args)):
            kwargs[name] = value(rng, argument)
        else:
            args.append(value(rng, argument))
    return (args, kwargs) if not method or (args and isinstance(args[0], Made)) else None


def places(torch, name):
    for prefix, module in (("special_", "special"), ("linalg_", "linalg"), ("fft_", "fft")):
        if name.startswith(prefix):
            yield f"{module}.{name[len(prefix):]}", getattr(getattr(torch, module), name[len(prefix):], None)
    yield f"torch.{name}", getattr(torch, name, None)
    if not name.startswith("__"):
        yield f"Tensor.{name}", getattr(torch.Tensor, name, None)


def run(torch, function, call):
    def make(given):
        if isinstance(given, Made):
            return torch.from_numpy(np.array(given.numbers)).clone()
        if isinstance(given, DType):
            return getattr(torch, given)
        return type(given)(map(make, given)) if isinstance(given, (list, tuple)) else given

    def seen(result):
        if isinstance(result, torch.Tensor):
            return f"{str(result.dtype).rpartition('.')[2]}{tuple(result.shape)}"
        return [seen(each) for each in result] if isinstance(result, (list, tuple)) else type(result).__name__
    try:
        return seen(function(*map(make, call[0]), **{name: make(given) for name, given in call[1].items()}))
    except Exception as error:
        return error


def differ(expected, got):
    if isinstance(expected, Exception) and isinstance(got, Exception):
        return isinstance(got, TypeError) and not isinstance(expected, TypeError) and "not implemented for" not in str(expected)
    if isinstance(expected, Exception) or isinstance(got, Exception):
        return isinstance(expected, TypeError) or isinstance(got, TypeError)
    return expected != got


def show(given):
    if isinstance(given, Made):
        return f"{given.numbers.dtype}{list(given.numbers.shape)}"
    return f"[{', '.join(map(show, given))}]" if isinstance(given, (list, tuple)) else repr(given)


def sweep(torch, kindling, seed=1, rounds=30, pattern=""):
    """(how many calls, {what differs: [calls]})."""
    schemas = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if name != schema.name and not LEFT_OUT.search(name) and re.search(pattern, name):
            schemas[name].append(schema)
    count, faults = 0, {}
    for name in sorted(schemas):
        mine = dict(places(kindling, name))
        for place, theirs in places(torch, name):
            if theirs is None or not callable(theirs) or mine[place] is None:
                continue
            for schema in schemas[name]:
                for number in range(rounds):
                    rng = random.Random(f"{seed} {place} {schema.overload_name} {number}")
                    call = drawn(rng, schema, place.startswith("Tensor."))
                    if call is None:
                        continue
                    expected, got = run(torch, theirs, call), run(kindling, mine[place], call)
                    count += 1
                    text = f"{place}({', '.join([*map(show, call[0]), *(f'{k}={show(v)}' for k, v in call[1].items())])})"
                    if differ(expected, got) and not KNOWN.search(f"{text} {expected!r}"):
                        faults.setdefault(place, []).append(f"{text}\n  torch    {expected!r:.300}\n  kindling {got!r:.300}")
    return count, faults


def main():
    import torch

    import kindling
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30, help="calls of each overload, as a function and as a method")
    parser.add_argument("--operators", default="", metavar="REGEX")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    count, faults = sweep(torch, kindling, args.seed, args.rounds, args.operators)
    for texts in faults.values():
        print(texts[0])
    print(f"{count} calls, {sum(map(len, faults.values()))} faults in {len(faults)} functions")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
