"""``torch._dynamo.backends.common``: backends from compilers of ``aten`` graphs."""


class AotAutograd:
    """A backend that hands its graph to `fw_compiler(graph, inputs)`.

    The graph is one of ``aten`` calls below autograd in any case. Backward passes run eagerly: `bw_compiler` is not called.
    `inference_compiler` is taken where gradients are off.
    """

    def __init__(self, *, fw_compiler, bw_compiler=None, inference_compiler=None, decompositions=None, partition_fn=None, **others):
        if not callable(fw_compiler):
            raise TypeError(f"fw_compiler must be callable, not {type(fw_compiler).__name__}")
        self.fw_compiler, self.inference_compiler, self.decompositions = fw_compiler, inference_compiler or fw_compiler, decompositions
        self.__name__ = "compiler_fn"

    def __call__(self, gm, example_inputs, **others):
        import kindling as torch
        if self.decompositions:
            from kindling.fx.experimental.proxy_tensor import make_fx
            gm = make_fx(gm, dict(self.decompositions))(*example_inputs)
        made = (self.fw_compiler if torch.is_grad_enabled() else self.inference_compiler)(gm, example_inputs)
        return (lambda *args: made(list(args))) if getattr(made, "_boxed_call", False) else made


def aot_autograd(**kwargs):
    """A backend for ``torch.compile`` from a compiler of ``aten`` graphs; the keywords of `AotAutograd`.

    >>> from torch._dynamo.backends.common import aot_autograd
    >>> seen = []
    >>> backend = aot_autograd(fw_compiler=lambda graph, inputs: seen.append(graph) or graph)
    >>> torch.compile(lambda x: x.exp(), backend=backend)(torch.zeros(1)).item(), len(seen)
    (1.0, 1)
    """
    return AotAutograd(**kwargs)
