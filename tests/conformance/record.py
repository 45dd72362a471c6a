"""Records calls of operators from PyTorch's test databases, to be replayed where torch is not in the process.

    python record.py OUT [--samples N] [--dtypes float32,int64,bool] [--ops REGEX]
    python replay.py OUT --module kindling

Only operators that are public functions are recorded; those whose database entry is a piece of code are left to
conform.py. Inputs that must raise are recorded too: a replay must survive them.
"""
import argparse
import pickle
import re
import warnings

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

from bridge import PLAIN, SAME_WIDTH, path_of, short_name
from suites import pick, seed_generators


class Unfit(Exception):
    """The value cannot be written down."""


def freeze(value):
    """A value as plain Python and NumPy: tuples that begin with a word stand for what replay.py builds."""
    if isinstance(value, torch.Tensor):
        return freeze_tensor(value)
    if type(value) in PLAIN:
        return slice_of(value) if isinstance(value, slice) else value
    if isinstance(value, torch.Size):
        return ("tuple", list(value))
    if isinstance(value, (list, tuple)):
        return ("list" if isinstance(value, list) else "tuple", [freeze(item) for item in value])
    if isinstance(value, dict):
        return ("dict", {key: freeze(item) for key, item in value.items()})
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return ("name", short_name(value))
    if isinstance(value, torch.device):
        return ("device", str(value))
    if isinstance(value, (np.generic, np.ndarray)):
        return ("numpy", value)
    raise Unfit(type(value).__name__)


def slice_of(value):
    return ("slice", [value.start, value.stop, value.step])


def freeze_tensor(tensor):
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_neg() or tensor.is_conj():
        raise Unfit("tensor")
    plain = tensor.detach()
    storage = plain.untyped_storage()
    count = storage.nbytes() // plain.element_size()
    if count > 1_000_000:
        raise Unfit("large tensor")
    elements = plain.new_empty(0).set_(storage, 0, (count,))
    bits = SAME_WIDTH.get(plain.dtype)
    array = (elements.view(bits) if bits else elements).numpy().copy()
    place = (tuple(plain.shape), plain.stride(), plain.storage_offset())
    return ("tensor", short_name(plain.dtype), array, *place, tensor.requires_grad)


def calls(info, options):
    """(dtype name, input, arguments, keywords) of the samples, as they are, transposed, and such as must raise."""
    names = options.dtypes.split(",")
    for dtype in sorted(info.supported_dtypes("cpu"), key=str):
        if short_name(dtype) not in names:
            continue
        seed_generators(0)
        for _, sample in pick(info.sample_inputs("cpu", dtype, requires_grad=False), options.samples, info.full_name):
            yield short_name(dtype), sample
            yield short_name(dtype), sample.noncontiguous()
    if torch.float64 in info.supported_backward_dtypes("cpu"):
        seed_generators(0)
        for _, sample in pick(info.sample_inputs("cpu", torch.float64, requires_grad=True), options.samples,
                              info.full_name):
            yield "grad", sample
    if info.error_inputs_func is not None:
        seed_generators(0)
        for error in info.error_inputs("cpu"):
            yield "error", error.sample_input


def result_of(function, sample):
    """The frozen answer, or None where there is none to compare with."""
    try:
        torch.manual_seed(0)
        return freeze(function(sample.input, *sample.args, **sample.kwargs))
    except Exception:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--dtypes", default="float32,int64,bool,bfloat16,complex64")
    parser.add_argument("--ops", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records, unfit = [], 0
    for info in op_db:
        path = path_of(info.op)
        if path is None or not re.search(options.ops, info.full_name):
            continue
        try:
            for kind, sample in calls(info, options):
                try:
                    frozen = freeze([sample.input, *sample.args]), freeze(dict(sample.kwargs))
                except Unfit:
                    unfit += 1
                    continue
                records.append((path, kind, *frozen, None if kind == "error" else result_of(info.op, sample)))
        except Exception:
            unfit += 1                                   # the database's own generator gave up
    with open(options.out, "wb") as file:
        pickle.dump(records, file, protocol=4)
    print(f"{len(records)} calls of {len({record[0] for record in records})} operators, {unfit} left out")


if __name__ == "__main__":
    main()
