"""Printing, character for character."""
import pytest

from both import same

CASES = """torch.tensor(1.)
torch.tensor([1., 2., 3.])
torch.tensor([1.5, 2.25])
torch.tensor([1e-5, 1.])
torch.tensor([1e10, 1.])
torch.tensor([1e9])
torch.tensor([0.00001])
torch.tensor([float('nan'), float('inf'), -float('inf'), 1.])
torch.tensor([float('nan')])
torch.tensor([1., float('inf')])
torch.tensor([1000., 0.5])
torch.tensor([100000., 1.])
torch.tensor([1, -20, 300])
torch.tensor([True, False])
torch.tensor([], dtype=torch.int64)
torch.empty(0, 3)
torch.empty(2, 0, 3)
torch.tensor([1+2j, -3.5-4j])
torch.tensor([1e-6+2e5j])
torch.tensor(2+1j)
torch.tensor([[1., 2.], [3., 4.]])
torch.arange(24.).reshape(2, 3, 4)
torch.arange(100)
torch.arange(2000)
torch.arange(10000.).reshape(100, 100)
torch.randn(5, 5)
torch.randn(3, 50)
torch.randn(2, 3, 1, 2, 2)
torch.randn(40, 40)
torch.rand(3, dtype=torch.float64)
torch.rand(3).half()
torch.rand(3).bfloat16()
torch.tensor([1, 2], dtype=torch.int32)
torch.tensor([1, 2], dtype=torch.uint8)
torch.ones(3, requires_grad=True)
torch.ones(3, requires_grad=True) * 2
torch.ones(2, device='meta')
torch.zeros(3)
torch.tensor([-0.0, 0.0])
torch.tensor(7)
torch.tensor(True)
torch.tensor([0.1 + 0.2], dtype=torch.float64)
torch.tensor([123456789.])
torch.tensor([1.0000001])
torch.tensor([[1e-8, 1.], [2., 3.]])
torch.ones(1001, requires_grad=True) + 0
torch.nn.Parameter(torch.ones(2))
torch.zeros(2, 1001)
torch.arange(30.).reshape(5, 6).T
torch.randn(3).to(torch.complex64)
torch.full((3,), 12345.678)
str(torch.tensor([1.5]))
f'{torch.tensor(1.5)} {torch.tensor([1.5])}'""".split("\n")


@pytest.mark.parametrize("source", CASES)
def test_repr(source):
    same(source)


@pytest.mark.parametrize("options", ["precision=2", "sci_mode=True", "sci_mode=False", "threshold=5", "edgeitems=1, threshold=3", "linewidth=40",
                                     "profile='short'", "profile='full'", "precision=8"])
def test_options(options):
    for source in ("torch.randn(6, 6)", "torch.arange(20.)", "torch.tensor([1e-7, 1.])", "torch.arange(100)"):
        same(f"torch.set_printoptions({options})\nr = repr({source})\ntorch.set_printoptions(profile='default')\nr")
