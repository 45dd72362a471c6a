"""Writes random_table.inc: what torch's CPU generator gives, as hashes, for test_library_random.cpp.

Run with a torch 2.13 beside this file:  python tests/cpp/random_table.py > tests/cpp/random_table.inc
"""
import torch

FLOATING = ["Float32", "Float64", "Float16", "BFloat16"]
INTEGER = ["UInt8", "Int8", "Int16", "Int32", "Int64"]
SIZES = [1, 2, 15, 16, 17, 33, 624, 1000, 5003]
FILLS = [
    # kind, parameters, dtypes, what torch calls
    ("Uniform", (0.0, 1.0), FLOATING, lambda t, a, b: t.uniform_(a, b)),
    ("Uniform", (-0.3, 0.7), FLOATING, lambda t, a, b: t.uniform_(a, b)),
    ("Normal", (0.0, 1.0), FLOATING, lambda t, a, b: t.normal_(a, b)),
    ("Normal", (1.5, 0.3), FLOATING, lambda t, a, b: t.normal_(a, b)),
    ("LogNormal", (0.3, 1.7), FLOATING, lambda t, a, b: t.log_normal_(a, b)),
    ("Cauchy", (0.3, 1.7), FLOATING, lambda t, a, b: t.cauchy_(a, b)),
    ("Exponential", (1.7, 0.0), FLOATING, lambda t, a, b: t.exponential_(a)),
    ("Bernoulli", (0.3, 0.0), FLOATING + INTEGER + ["Bool"], lambda t, a, b: t.bernoulli_(a)),
    ("Geometric", (0.3, 0.0), FLOATING + INTEGER, lambda t, a, b: t.geometric_(a)),
    ("Random", (0.0, 0.0), FLOATING + INTEGER + ["Bool"], lambda t, a, b: t.random_()),
    ("RandomRange", (-5.0, 100.0), ["Float32", "Int8", "Int64"], lambda t, a, b: t.random_(int(a), int(a + b))),
    ("RandomRange", (-5.0, 268435455.0), ["Int32", "Int64"], lambda t, a, b: t.random_(int(a), int(a + b))),
    ("RandomRange", (-5.0, 268435456.0), ["Int32", "Int64"], lambda t, a, b: t.random_(int(a), int(a + b))),
    ("Permutation", (0.0, 0.0), ["Int64", "Int32", "Float64"], lambda t, a, b: torch.randperm(len(t), dtype=t.dtype)),
]


def fnv(data):
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


for kind, (a, b), dtypes, call in FILLS:
    for dtype in dtypes:
        for index, size in enumerate(SIZES):
            seed = (1234 + index) * 7919
            torch.manual_seed(seed)
            result = call(torch.empty(size, dtype=getattr(torch, dtype.lower())), a, b)
            after = torch.empty((), dtype=torch.int64).random_().item()  # where the stream stands then
            data = bytes(result.view(torch.uint8).tolist())
            print(f"{{{kind}, DType::{dtype}, {size}, {seed}, {a!r}, {b!r}, {fnv(data)}u, {after}}},")
