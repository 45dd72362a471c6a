"""torch.utils.flop_counter beside torch: counts by operator and module, in forward and backward."""
import importlib
import warnings

import kindling
import pytest

PROGRAMS = {
    "mm": "x @ w", "addmm": "torch.addmm(torch.ones(5), x, w)", "bmm": "torch.bmm(b, torch.ones(2, 3, 6))", "matmul with a matrix": "b @ torch.ones(3, 6)",
    "baddbmm": "torch.baddbmm(torch.ones(2, 4, 6), b, torch.ones(2, 3, 6))", "linear": "F.linear(x, torch.ones(7, 3), torch.ones(7))",
    "linear of three dimensions": "F.linear(b, torch.ones(7, 3))", "conv2d": "F.conv2d(i, torch.ones(4, 3, 3, 3), padding=1)",
    "grouped conv2d": "F.conv2d(i, torch.ones(6, 1, 3, 3), groups=3, stride=2)", "conv_transpose2d": "F.conv_transpose2d(i, torch.ones(3, 4, 3, 3))",
    "conv1d": "F.conv1d(torch.ones(1, 2, 8), torch.ones(3, 2, 3))", "relu": "torch.relu(x)", "einsum": "torch.einsum('ij,jk->ik', x, w)",
    "matmul of four dimensions": "torch.matmul(torch.ones(2, 2, 4, 3), torch.ones(2, 2, 3, 5))", "module": "m(x, i)",
    "backward of mm": "(x.clone().requires_grad_() @ w.clone().requires_grad_()).sum().backward()",
    "backward of conv2d": "F.conv2d(i.clone().requires_grad_(), torch.ones(4, 3, 3, 3, requires_grad=True), stride=2).sum().backward()",
    "backward of a module": "m(x, i).backward()",
}


def counts(name, source):
    torch = importlib.import_module(name)
    nn = torch.nn
    counter = importlib.import_module(name + ".utils.flop_counter").FlopCounterMode(display=False)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 5)
            self.s = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2))
            self.c = nn.Conv2d(3, 4, 3)

        def forward(self, x, i):
            return self.s(self.a(x)).sum() + self.c(i).sum()

    space = {"torch": torch, "F": nn.functional, "x": torch.ones(4, 3), "w": torch.ones(3, 5), "b": torch.ones(2, 4, 3), "i": torch.ones(1, 3, 8, 8),
             "m": M()}
    with warnings.catch_warnings(), counter:
        warnings.simplefilter("ignore")
        exec(source, space)
    found = {module: {str(op).replace("kindling", "torch"): count for op, count in each.items()} for module, each in counter.get_flop_counts().items()}
    if "backward" in source:
        found.pop("M", None)    # torch loses the outermost module of a backward
    return counter.get_total_flops(), {module: each for module, each in found.items() if each}


@pytest.mark.parametrize("program", PROGRAMS)
def test_counts(program):
    assert counts("kindling", PROGRAMS[program]) == counts("torch", PROGRAMS[program])


def test_own_formulas_and_tables():
    from kindling.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False, custom_mapping={kindling.ops.aten.sin: lambda shape, out_shape=None: 7 * shape[0]}) as counter:
        kindling.sin(kindling.ones(3))
    assert counter.get_total_flops() == 21
    if importlib.util.find_spec("tabulate") is None:
        with pytest.raises(ModuleNotFoundError):
            counter.get_table()
    else:
        assert "aten.sin" in counter.get_table()


def test_modules_that_run():
    from kindling.utils.module_tracker import ModuleTracker

    seen = []
    model = kindling.nn.Sequential(kindling.nn.Linear(1, 1), kindling.nn.Sequential(kindling.nn.ReLU()))
    tracker = ModuleTracker()
    model[1][0].register_forward_pre_hook(lambda *args: seen.append(set(tracker.parents)))
    with tracker:
        model(kindling.ones(1))
    assert seen == [{"Global", "Sequential", "Sequential.1", "Sequential.1.0"}] and tracker.parents == {"Global"}
