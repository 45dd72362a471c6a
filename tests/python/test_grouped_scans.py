"""Products of groups and scans of associative functions, which mixtures of experts and state space models use."""
import kindling
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.kernels

SETUP = """
torch.manual_seed(0)
a, b, offs = torch.randn(6, 8), torch.randn(3, 8, 4), torch.tensor([2, 3, 6], dtype=torch.int32)
wide = torch.randn(4, 8)
"""
CALLS = [
    "torch._grouped_mm(a, b, offs=offs)", "torch._grouped_mm(torch.randn(3, 8, 8), b)", "torch._grouped_mm(a, b)",
    "torch._grouped_mm(torch.randn(3, 4, 8), torch.randn(8, 8), offs=torch.tensor([2, 3, 8], dtype=torch.int32))",
    "torch._grouped_mm(wide, torch.randn(8, 12), offs=torch.tensor([2, 3, 8], dtype=torch.int32))", "torch._grouped_mm(a, b, offs=offs.long())",
    "torch._grouped_mm(a.double(), b.double(), offs=offs)", "torch._grouped_mm(a.bfloat16(), b, offs=offs)", "torch._grouped_mm(a, b, offs=offs[:2])",
    "torch._grouped_mm(a[:, :4].contiguous(), b, offs=offs)", "torch._grouped_mm(a, b, offs=offs, out_dtype=torch.bfloat16)",
    "torch._grouped_mm(torch.ones(6, 7), torch.ones(3, 7, 3), offs=offs)", "torch._grouped_mm(torch.randn(3, 8, 8), b, offs=offs)",
    "torch._grouped_mm(torch.randn(6, 8).bfloat16(), torch.randn(3, 8, 8).bfloat16(), offs=offs).float()",
    "torch.nn.functional.grouped_mm(a, b, offs=offs)"]


@pytest.mark.parametrize("call", CALLS)
def test_products_of_groups(call):
    results = []
    for module in (torch, kindling):
        scope = {"torch": module}
        exec(SETUP, scope)
        try:
            results.append(eval(call, scope))
        except RuntimeError as error:
            results.append(str(error)[:40])
    if isinstance(results[0], str):
        assert results[1][:30] == results[0][:30]
    else:
        assert results[1].shape == tuple(results[0].shape) and results[1].stride() == results[0].stride()
        tolerance = 2e-2 if "bfloat16" in call else 1e-5
        assert torch.allclose(torch.tensor(results[1].tolist()), results[0], rtol=tolerance, atol=tolerance)


def test_gradients_of_groups():
    grads = []
    for module in (torch, kindling):
        scope = {"torch": module}
        exec(SETUP + "a.requires_grad_(), b.requires_grad_()\ntorch._grouped_mm(a, b, offs=offs).square().sum().backward()", scope)
        grads.append([scope["a"].grad.tolist(), scope["b"].grad.tolist()])
    for ours, theirs in zip(grads[1], grads[0]):
        assert torch.allclose(torch.tensor(ours), torch.tensor(theirs), rtol=1e-4, atol=1e-5)


def test_scans():
    from kindling._higher_order_ops.associative_scan import associative_scan

    assert kindling._higher_order_ops.associative_scan is associative_scan
    for count in (1, 2, 3, 4, 5, 7, 8, 13):
        x = kindling.randn(3, count, dtype=kindling.float64)
        assert kindling.allclose(associative_scan(kindling.add, x, 1), x.cumsum(1))
        assert kindling.allclose(associative_scan(kindling.mul, x, -1, reverse=True), x.flip(1).cumprod(1).flip(1))
    # A linear recurrence h = a h + b, as pairs.
    a, b = kindling.rand(6, 2), kindling.rand(6, 2)
    found = associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b), 0)[1]
    state = kindling.zeros(2)
    for place in range(6):
        state = a[place] * state + b[place]
        assert kindling.allclose(found[place], state)
    for wrong in ((3, a, 0), (kindling.add, a, "x"), (kindling.add, [], 0)):
        with pytest.raises(ValueError):
            associative_scan(*wrong)
