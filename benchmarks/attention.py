"""Attention and its gradients beside torch's, in float32 and bfloat16.

    python benchmarks/attention.py [--threads N] [--only REGEX]

Each line is a case: microseconds of ours and of torch (the least of many calls, taken in turns) and torch's time over ours.
"""

import turns

# Batch, heads, tokens, size of a head.
SHAPES = ((1, 8, 64, 64), (1, 8, 256, 64), (8, 12, 128, 64), (4, 12, 512, 64), (1, 8, 1024, 64), (1, 8, 2048, 128))


def inputs(module, shape, dtype, grad):
    module.manual_seed(0)
    return [module.randn(shape).to(getattr(module, dtype)).requires_grad_(grad) for _ in range(3)]


def forward(module, x):
    return module.nn.functional.scaled_dot_product_attention(*x, is_causal=True)


def step(module, x):
    out = forward(module, x)
    return module.autograd.grad(out, x, out.detach())


CASES = [
    (f"{what}_{dtype}/{'x'.join(map(str, shape))}", lambda module, a=(shape, dtype, what == "step"): inputs(module, *a), call)
    for dtype in ("float32", "bfloat16") for what, call in (("forward", forward), ("step", step)) for shape in SHAPES
]

if __name__ == "__main__":
    turns.main(__doc__, CASES)
