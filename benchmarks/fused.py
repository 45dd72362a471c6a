"""Compiled functions and training steps: kindling eager, kindling compiled, and what PyTorch takes eagerly and compiled.

    python benchmarks/fused.py [--threads 1] [--compile] [NAME ...]    # --compile: torch.compile too, which needs a C++ compiler

Microseconds, the fastest of the calls in two seconds, each in turns with the others. `ratio` is kindling eager over compiled.
"""
import argparse
import time

CASES = {
    "chain6": ("((x + y) * z - x).relu() * 0.5 + y", "x y z", [(1 << 20,)] * 3),
    "gelu_tanh": ("0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x))) + y", "x y", [(1 << 20,)] * 2),
    "lstm_cell": ("torch.sigmoid(o) * torch.tanh(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g))", "i f g o c", [(64, 512)] * 5),
    "rms_norm": ("x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w", "x w", [(512, 1024), (1024,)]),
    "softmax_mask": ("torch.softmax(x * 0.125 + m, -1)", "x m", [(8, 256, 256), (256, 256)]),
    "layer_norm_residual": ("torch.nn.functional.layer_norm(x + y, (1024,), w, b)", "x y w b", [(512, 1024), (512, 1024), (1024,), (1024,)]),
    "distance": ("(x[:, None] - y).pow(2).sum(-1).sqrt()", "x y", [(256, 10), (256, 10)]),
    "tiny": ("((x + y) * x - y).relu() * 0.5 + y", "x y", [(16,)] * 2),
    "functions": ("((x.sin() * 2 + 1).exp() * x).tanh()", "x", [(1 << 20,)]),
    "sin_cos": ("x.sin() * y + x.cos()", "x y", [(1 << 20,)] * 2),
    "rotary": ("x * c + torch.cat((-x[..., 32:], x[..., :32]), -1) * s", "x c s", [(4, 12, 256, 64), (256, 64), (256, 64)]),
    "rotary_small": ("x * c + torch.cat((-x[..., 32:], x[..., :32]), -1) * s", "x c s", [(1, 8, 128, 64), (128, 64), (128, 64)]),
    "padded": ("torch.nn.functional.pad(x * 2, (1, 1, 1, 1)).relu() + 1", "x", [(16, 64, 32, 32)]),
    "stencil": ("x[:, :-2] + x[:, 1:-1] * 2 + x[:, 2:]", "x", [(500, 402)]),
    "stencil_large": ("(x[:, :-2] - y[:, 1:-1]) * (x[:, 2:] + y[:, :-2])", "x y", [(1500, 1002)] * 2),
    "transformer": ("x + F.gelu(F.linear(F.layer_norm(x, x.shape[-1:], g, c), w, b)) * m", "x m w b g c", [(4096, 512), (4096, 512), (512, 512), (512,), (512,), (512,)]),
    "transformer_long": ("x + F.gelu(F.linear(F.layer_norm(x, x.shape[-1:], g, c), w, b)) * m", "x m w b g c", [(16384, 256), (16384, 256), (256, 256), (256,), (256,), (256,)]),
    "two_layers": ("x + F.linear(F.gelu(F.linear(x, w, b)), v, c)", "x w b v c", [(16384, 256), (1024, 256), (1024,), (256, 1024), (256,)]),
    "attention": ("torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v", "q k v", [(8, 12, 256, 64)] * 3),
    "image": ("F.batch_norm(F.conv2d(x, w, padding=1), m, v.abs() + 1, g, b).relu()", "x w m v g b", [(64, 3, 32, 32), (64, 3, 3, 3)] + [(64,)] * 4),
    "convolution": ("F.batch_norm(F.conv2d(x, w, padding=1), m, v.abs() + 1, g, b).relu()", "x w m v g b", [(16, 64, 56, 56), (64, 64, 3, 3)] + [(64,)] * 4),
    "points": ("F.batch_norm(F.conv2d(x, w), m, v.abs() + 1, g, b).relu()", "x w m v g b", [(64, 32, 32, 32), (32, 32, 1, 1)] + [(32,)] * 4),
    "residual": ("(x + F.conv2d(F.conv2d(x, w, padding=1).relu(), v, padding=1)).relu()", "x w v", [(64, 32, 32, 32), (32, 32, 3, 3), (32, 32, 3, 3)]),
    "embedding": ("F.layer_norm(F.embedding(i.mul(300).long().clamp(0, 999), w) * 2 + p, (256,))", "i w p", [(16, 256), (1000, 256), (256, 256)]),
    "looked_up": ("(F.embedding(i.mul(3000).long().clamp(0, 9999), w) * 2 + 1).sum(-1)", "i w", [(200000,), (10000, 64)]),
    "chain1": ("x * 1.01", "x", [(1 << 22,)]),
    "chain10": ("x" + " * 1.01 + 0.1" * 5, "x", [(1 << 22,)]),
    "chain50": ("x" + " * 1.01 + 0.1" * 25, "x", [(1 << 22,)]),
}


def runs(torch, name, compiled):
    expression, names, shapes = CASES[name]
    torch.manual_seed(0)
    arguments = [torch.randn(*shape) for shape in shapes]
    function = eval(f"lambda {', '.join(names.split())}: {expression}", {"torch": torch, "F": torch.nn.functional})
    if compiled:
        function = torch.compile(function)
    function(*arguments)
    return lambda: function(*arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    import kindling
    import torch

    kindling.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    print(f"{'':20}{'eager':>10}{'compiled':>10}{'ratio':>7}{'torch':>10}{'compiled':>10}{'first':>12}")
    for name in options.names or CASES:
        kinds = [runs(kindling, name, False), runs(kindling, name, True), runs(torch, name, False)]
        first = ""
        if options.compile:
            begin = time.perf_counter()
            kinds.append(runs(torch, name, True))
            first = f"{time.perf_counter() - begin:.1f} s"
        best = [1e9] * len(kinds)
        end = time.perf_counter() + 2 * len(kinds)
        while time.perf_counter() < end:
            for i, run in enumerate(kinds):
                for _ in range(10):
                    begin = time.perf_counter()
                    run()
                    best[i] = min(best[i], time.perf_counter() - begin)
        eager, compiled, *theirs = (1e6 * each for each in best)
        print(f"{name:20}{eager:10.1f}{compiled:10.1f}{eager / compiled:7.2f}" + "".join(f"{each:10.1f}" for each in theirs) + f"{first:>12}", flush=True)


if __name__ == "__main__":
    main()
