"""vmap of every operator of PyTorch's test database beside one call for each slice: values, and gradients from outside and inside.

    python tests/conformance/mapped.py [--ops PART] [--samples N] [--forward] [--known]

Prints a line for each way in which an operator's samples differ, and how many samples went which way.
"""
import argparse
import collections
import pathlib
import sys
import warnings

import numpy  # noqa: F401
import torch as reference
from torch.testing._internal.common_methods_invocations import op_db

import kindling
from kindling.utils._pytree import tree_flatten, tree_unflatten

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from bridge import Bridge  # noqa: E402

BRIDGE = Bridge(kindling)
# What vmap has no meaning for: no tensor result, results of a shape that values decide, random numbers, uninitialised memory.
WITHOUT = ("empty", "new_empty", "empty_like", "new_empty_strided", "empty_strided", "empty_permuted", "resize_", "resize_as_", "item", "equal", "allclose",
           "nonzero", "nonzero_static", "unique", "unique_consecutive", "argwhere", "masked_select", "bincount", "histogramdd", "combinations", "to_sparse", "randint",
           "randint_like", "rand_like", "randn_like", "randn", "normal", "bernoulli", "multinomial", "uniform", "cauchy", "exponential", "geometric", "log_normal",
           "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout",
           "nn.functional.rrelu", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "svd_lowrank", "pca_lowrank", "tensor_split")


# Operators of which a sample differs or raises, each with its reason.
KNOWN = {
    "as_strided.partial_views": "strides of a slice are not those of a tensor of its own",
    "as_strided_scatter": "the same",
    "narrow": "a start that is a tensor is read, as in PyTorch",
    "nn.functional.gaussian_nll_loss": "it looks whether variances are negative, in Python, as in PyTorch",
    "nn.functional.embedding": "max_norm writes to a weight that is the same for all slices, as in PyTorch",
    "cov": "weights are checked by their values, as in PyTorch; differentiated inside only",
    "masked_scatter": "differentiated inside: its gradient writes into memory of its own",
    "_segment_reduce.lengths": "differentiated inside: its gradient reads lengths",
    "nn.functional.triplet_margin_with_distance_loss": "the harness does not carry a distance module",
}


def second(value):
    """Other values that are as good: floats halved, integers the other way round."""
    if value.is_floating_point() or value.is_complex():
        return value * 0.5
    return value.flip(0).contiguous() if value.dim() else value.clone()


def samples(info, count):
    dtype = next((d for d in (reference.float32, reference.int64, reference.bool, reference.complex64) if d in info.supported_dtypes("cpu")), None)
    if dtype is None:
        return
    chosen = list(info.sample_inputs("cpu", dtype, requires_grad=False))
    step = max(1, len(chosen) // count)
    for sample in chosen[::step][:count]:
        yield sample


def tensors_of(tree):
    flat, spec = tree_flatten(tree)
    return flat, spec, [i for i, v in enumerate(flat) if isinstance(v, kindling.Tensor)]


def close(one, other):
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{one.dtype} {tuple(one.shape)} for {other.dtype} {tuple(other.shape)}"
    if not kindling.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True):
        return f"values differ by {(one - other).abs().max() if one.dtype != kindling.bool else 'truth'}"
    return None


def check(function, sample, grads):
    """[(what, complaint)], or None where the slices themselves raise."""
    given = BRIDGE.carry((sample.input, sample.args, sample.kwargs))
    flat, spec, places = tensors_of(given)
    if not places or any(v.layout != kindling.strided for v in (flat[i] for i in places)):
        return None
    others = [second(flat[i]) for i in places]
    complaints = []

    def call(*tensors):
        filled = list(flat)
        for place, tensor in zip(places, tensors):
            filled[place] = tensor
        head, args, kwargs = tree_unflatten(filled, spec)
        result = function(head, *args, **kwargs)
        leaves = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, kindling.Tensor)]
        return tuple(leaves)

    def compare(what, dims, run, reference_run):
        try:
            expected = reference_run()
        except Exception:
            return
        try:
            found = run()
        except Exception as error:
            complaints.append((what, f"{type(error).__name__}: {str(error)[:160]}"))
            return
        for one, other in zip(found, expected):
            if one is None or other is None:
                continue
            if (complaint := close(one, other)) is not None:
                complaints.append((what, complaint))
                return

    def stacked(which):
        return [kindling.stack([flat[i], others[n]]) if n in which else flat[i] for n, i in enumerate(places)]

    def sliced(which, s):
        return [(flat[i], others[n])[s] if n in which else flat[i] for n, i in enumerate(places)]
    every = set(range(len(places)))
    for what, which in (("all", every), ("first", {0}), ("last", {len(places) - 1})):
        if what != "all" and len(places) == 1:
            continue
        dims = tuple(0 if n in which else None for n in range(len(places)))
        # Slices are views of a stack here, too: where strides choose among the definitions (a gradient at a tie), both do alike.
        compare(what, dims, lambda: kindling.vmap(call, dims)(*stacked(which)),
                lambda: [kindling.stack(list(each)) for each in zip(call(*sliced(which, 0)), call(*sliced(which, 1)))])
    if grads:
        floating = [n for n in range(len(places)) if flat[places[n]].is_floating_point() or flat[places[n]].is_complex()]

        def loss(*tensors):
            total = 0
            for leaf in call(*tensors):
                if leaf.is_floating_point() or leaf.is_complex():
                    total = total + (leaf.abs() if leaf.is_complex() else leaf).sin().sum()
            return total
        if floating:
            one_by_one = lambda: [kindling.stack(list(each)) for each in zip(*(kindling.func.grad(loss, tuple(floating))(*sliced(every, s)) for s in (0, 1)))]
            compare("grad of vmap", None, lambda: kindling.func.grad(lambda *t: kindling.vmap(loss)(*t).sum(), tuple(floating))(*stacked(every)), one_by_one)
            compare("vmap of grad", None, lambda: kindling.vmap(kindling.func.grad(loss, tuple(floating)))(*stacked(every)), one_by_one)
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", default="")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--forward", action="store_true", help="values only")
    parser.add_argument("--known", action="store_true", help="fail where the operators that differ are not those of KNOWN")
    parser.add_argument("--trace", action="store_true", help="say which operator comes next, on the error stream")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kindling.set_num_threads(1)
    counts, names, wrong = collections.Counter(), set(), set()
    for info in op_db:
        if given.ops not in info.full_name or info.name in WITHOUT or info.name.startswith("_refs") or info.variant_test_name == "cuda":
            continue
        try:
            function = BRIDGE.transplant(info.op)
            chosen = list(samples(info, given.samples))
        except Exception:
            counts["not here"] += 1
            continue
        shown = set()
        names.add(info.full_name)
        if given.trace:
            print("..", info.full_name, file=sys.stderr, flush=True)
        for sample in chosen:
            try:
                complaints = check(function, sample, info.supports_autograd and not given.forward)
            except Exception as error:
                complaints = [("harness", f"{type(error).__name__}: {error}"[:200])]
            counts["samples"] += 1
            if complaints is None:
                counts["left out"] += 1
                continue
            counts["right" if not complaints else "wrong"] += 1
            if complaints:
                wrong.add(info.full_name)
            for what, complaint in complaints:
                if (what, complaint[:30]) not in shown:
                    shown.add((what, complaint[:30]))
                    print(f"{info.full_name}: {what}: {complaint}", flush=True)
    print(dict(counts))
    if given.known:
        fresh, gone = sorted(wrong - KNOWN.keys()), sorted(name for name in KNOWN if name in names and name not in wrong)
        if fresh or gone:
            sys.exit(f"not known: {', '.join(fresh) or 'none'}; known and right: {', '.join(gone) or 'none'}")


if __name__ == "__main__":
    main()
