"""``functorch.compile``: compilers of ``aten`` graphs, and what calls them."""
from kindling._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_compiler, make_boxed_func  # noqa: F401
from kindling._functorch.compilers import nop, print_compile  # noqa: F401
