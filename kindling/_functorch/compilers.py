"""``torch._functorch.compilers``: compilers that make nothing."""
from kindling._functorch.aot_autograd import make_boxed_compiler


@make_boxed_compiler
def nop(fx_g, _):
    """Runs graphs as they are."""
    return fx_g


@make_boxed_compiler
def print_compile(fx_g, _):
    """Prints a graph, and runs it as it is."""
    print(fx_g.code)
    return fx_g
