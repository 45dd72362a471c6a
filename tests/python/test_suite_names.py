"""Private names that PyTorch's own test files take from torch, beside torch."""
import textwrap

import pytest
from both import same


@pytest.mark.parametrize("program", [
    """
    from importlib import import_module
    check = import_module(torch.__name__ + ".autograd.gradcheck")
    x = torch.arange(6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    y = torch.ones(3, dtype=torch.float64, requires_grad=True)
    check._get_numerical_jacobian(lambda a, b: (a * b, (a @ b).sin()), (x, y), eps=1e-6), check._get_numerical_jacobian(lambda a: a.sum(), x, target=x)
    """,
    """
    from importlib import import_module
    check = import_module(torch.__name__ + ".autograd.gradcheck")
    x, y = torch.ones(2, requires_grad=True), torch.zeros(3)
    list(check._iter_tensors([x, [y, "ab", (x,)], 3])), list(check._iter_tensors((y, [x]), True)), list(check._iter_tensors(4))
    """,
    """
    from importlib import import_module
    util = import_module(torch.__name__ + ".autograd.profiler_util")
    [util._format_time(t) for t in (0.5, 1500, 2.5e6)], [util._format_memory(n) for n in (3, 5000, -3 << 20, 5 << 30)], util._format_time_share(1, 3), util._format_time_share(0, 0)
    """,
    """
    from importlib import import_module
    util = import_module(torch.__name__ + ".autograd.profiler_util")
    util._format_time_share(1, 0)
    """,
    """
    torch.autograd._calculate_shape(torch.ones(2, 3), torch.ones(4, 2, 3), True), torch.autograd._calculate_shape(torch.ones(2), torch.ones(5), False)
    """,
    """
    from importlib import import_module
    edge = import_module(torch.__name__ + ".autograd.graph").get_gradient_edge(torch.ones(2, 3, requires_grad=True).exp())
    torch.autograd._calculate_shape(edge, torch.ones(2, 3), False)
    """,
    """
    from importlib import import_module
    basis = import_module(torch.__name__ + ".autograd.functional")._construct_standard_basis_for
    basis((torch.zeros(1), torch.zeros(2, dtype=torch.float64), torch.zeros(0)), (1, 2, 0))
    """,
    """
    from importlib import import_module
    modes = import_module(torch.__name__ + ".utils._mode_utils")
    with modes.no_dispatch():
        x = torch.ones(2) + 1
    x, modes.all_same_mode([1, 1]), modes.all_same_mode([1, 2])
    """,
    "torch._C.has_lapack, torch.autograd.kineto_available(), torch._C._autograd._saved_tensors_hooks_is_enabled()",
])
def test_names(program):
    same(textwrap.dedent(program).strip())


def test_what_is_not_there_is_not_available():
    from importlib import import_module
    assert import_module("kindling.profiler.itt").is_available() is False
    assert import_module("kindling.distributed.rpc").is_available() is False
