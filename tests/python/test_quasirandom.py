"""Sobol sequences beside torch: the same points, scrambled or not."""
import importlib

import pytest
from both import same

pytestmark = pytest.mark.kernels

TORCH = """import importlib
S = importlib.import_module(torch.__name__ + ".quasirandom").SobolEngine
def value(x): return x.tolist() if isinstance(x, torch.Tensor) else x
"""


@pytest.mark.parametrize("source", [
    "S(3).draw(10).tolist()",
    "S(1).draw(5).tolist()",
    "S(1111).draw(70).tolist()",
    "S(1111).sobolstate.tolist()",
    "S(40).draw(1000, dtype=torch.float64).tolist()",
    "S(7, scramble=True, seed=5).draw(33).tolist()",
    "S(300, scramble=True, seed=0).draw(9, dtype=torch.float64).tolist()",
    "torch.manual_seed(3)\nS(4, True).draw(8).tolist()",
    "s = S(5)\n[s.draw(1).tolist(), s.draw(1).tolist(), s.num_generated, s.draw(6).tolist(), s.num_generated, s.quasi.tolist()]",
    "s = S(5)\n[str(s.fast_forward(5)), s.draw(3).tolist(), str(s.fast_forward(1)), s.draw(2).tolist(), str(s.reset()), s.draw(2).tolist()]",
    "s = S(5, True, 1)\n[str(s), s.shift.tolist(), s.sobolstate.tolist(), str(s.fast_forward(4)), s.draw(3).tolist(), str(s.reset()), s.draw(2).tolist()]",
    "s = S(2)\n[s.draw_base2(1).tolist(), s.draw_base2(1).tolist(), s.draw_base2(1)]",
    "S(2).draw_base2(3).tolist()",
    "s = S(2)\no = torch.empty(0)\n[s.draw(3, out=o) is o, o.tolist()]",
    "S(30000)", "S(0)", "[S(3).draw(0).shape, S.MAXBIT, S.MAXDIM]", "str(S(3)) + str(S(3, True)) + str(S(3, True, seed=4))",
])
def test_points_are_torchs(source):
    same(source, TORCH)


@pytest.mark.parametrize("dimension", [1112, 4000, 21201])
def test_more_dimensions_come_from_scipys_table(dimension):
    pytest.importorskip("scipy")
    ours, torchs = (importlib.import_module(name + ".quasirandom").SobolEngine(dimension) for name in ("kindling", "torch"))
    assert ours.sobolstate.tolist() == torchs.sobolstate.tolist()
    assert ours.draw(5).tolist() == torchs.draw(5).tolist()


def test_without_scipy_it_says_so(monkeypatch):
    quasirandom = importlib.import_module("kindling.quasirandom")
    monkeypatch.setattr(quasirandom, "_from_scipy", lambda dimension: None)
    with pytest.raises(RuntimeError, match="SciPy is not installed"):
        quasirandom.SobolEngine(2000)
