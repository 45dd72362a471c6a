"""What forward mode costs: value and tangent beside the value alone, in one thread.

    python benchmarks/forward_mode.py [MODULE] [--compile]

MODULE is kindling (the default) or torch. Twice the forward pass is what a tangent is worth that reads and writes as much as the
value does. With --compile the chains run in `torch.compile`: the value, and one function that makes the dual tensor and takes it apart.
"""
import importlib
import sys

from least import least

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def main():
    words = [word for word in sys.argv[1:] if word != "--compile"]
    torch = importlib.import_module(words[0] if words else "kindling")
    compiles = len(words) < len(sys.argv) - 1
    torch.set_num_threads(1)
    functional, forward_ad = torch.nn.functional, torch.autograd.forward_ad
    square = torch.randn(256, 256)

    def chain(x):
        return ((x.sin() * 2 + 1).exp() * x).tanh()

    def with_tangent(x, tangent):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(chain(forward_ad.make_dual(x, tangent)))
    cases = [(f"chain of {size}", chain, torch.randn(size)) for size in SIZES]
    if not compiles:
        cases += [(f"{name} of 256 x 256", function, square) for name, function in {
            "mm": lambda x: x @ square, "softmax": lambda x: x.softmax(1), "layer_norm": lambda x: functional.layer_norm(x, (256,)),
            "batch_norm": lambda x: functional.batch_norm(x, None, None, training=True), "sum": lambda x: x.sum(1),
            "cross_entropy": lambda x: functional.cross_entropy(x, torch.arange(256)), "norm": lambda x: x.norm(), "cat": lambda x: torch.cat([x, x]),
        }.items()]
    print(f"{'':32}{'value':>10}{'with tangent':>14}{'ratio':>8}   (microseconds)")
    for name, function, x in cases:
        tangent = torch.randn(x.shape)
        if compiles:
            value, dual = torch.compile(function), torch.compile(with_tangent)
            alone, both = least(lambda: value(x), 0.2), least(lambda: dual(x, tangent), 0.2)
        else:
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(x, tangent)
                alone, both = (least(lambda: function(each), 0.2) for each in (x, dual))
        print(f"{name:32}{alone:10.1f}{both:14.1f}{both / alone:8.2f}")


if __name__ == "__main__":
    main()
