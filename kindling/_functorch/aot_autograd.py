"""``torch._functorch.aot_autograd``: functions and modules by way of a compiler of their ``aten`` graphs."""
import kindling as torch
from kindling._dynamo.backends.common import AotAutograd


def make_boxed_func(f):
    """`f` for callers that hand its arguments over in a list.

    >>> from torch._functorch.aot_autograd import make_boxed_func
    >>> make_boxed_func(max)([1, 2])
    2
    """
    def g(args):
        return f(*args)

    g._boxed_call = True
    return g


def make_boxed_compiler(compiler):
    """A compiler that gives what `make_boxed_func` gives."""
    def boxed(graph, inputs):
        return make_boxed_func(compiler(graph, inputs))

    return boxed


def aot_function(fn, fw_compiler, bw_compiler=None, partition_fn=None, decompositions=None, **others):
    """A function that calls what ``fw_compiler(graph, inputs)`` makes of the ``aten`` calls of `fn`; gradients flow as ever.

    `bw_compiler` is not called: backward passes run eagerly.

    >>> from torch._functorch.aot_autograd import aot_function
    >>> aot_function(lambda x: x.sin(), lambda graph, inputs: print(graph.code.split()[3]) or graph)(torch.zeros(2)).tolist()
    sin
    [0.0, 0.0]
    """
    return torch.compile(fn, backend=AotAutograd(fw_compiler=fw_compiler, bw_compiler=bw_compiler, decompositions=decompositions))


def aot_module(mod, *args, **kwargs):
    """`aot_function` for a module: the compiled module."""
    if not isinstance(mod, torch.nn.Module):
        raise AssertionError(f"expected a module, got {type(mod)}")
    return aot_function(mod, *args, **kwargs)


def aot_module_simplified(mod, args, fw_compiler, bw_compiler=None, *others, decompositions=None, **options):
    """What ``fw_compiler(mod, args)`` makes of a graph that a backend was given, as a function of separate arguments."""
    return AotAutograd(fw_compiler=fw_compiler, bw_compiler=bw_compiler, decompositions=decompositions)(mod, args)
