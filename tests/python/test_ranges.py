"""Even spaces, integrals by trapezoids, places among boundaries and logit, with limits, small integers, nothing, and out= of every shape."""
import pytest

from both import module, same
from test_refused_dtypes import DTYPES, check

pytestmark = pytest.mark.kernels

OUTS = ["torch.empty(0)", "torch.empty(2, 3)", "torch.empty(3, 2).t()", "torch.empty(5)", "torch.empty(12)[::2]", "torch.empty(2, 6)[:, ::2]",
        "torch.empty(6, dtype=torch.int64)", "torch.empty(2, 3, dtype=torch.float64)", "torch.empty(1, 6)"]  # fmt: skip


@pytest.mark.parametrize("call", ["linspace(0, 1, 6", "arange(6", "arange(0, 6, 1", "arange(0., 3, .5", "logspace(0, 1, 6", "range(0, 5", "range(0, 5, 1",
                                  "full((6,), 3.", "ones(6", "tril_indices(3, 2", "eye(6, 1"])  # fmt: skip
def test_out_of_other_shapes(call):
    for out in OUTS:
        same(f"o = {out}\nr = torch.{call}, out=o)\nr.shape, r.stride(), r.dtype == o.dtype, r is o, r.tolist()", message=False)


@pytest.mark.parametrize("name", ["arange", "range"])
def test_ranges(name):
    for given in ("0, 5, 0", "0, 5, .5, dtype=torch.int64", "5, 0", "0, 5, -1", "5, 0, -1", "0, float('inf')", "float('nan'), 1", "0, 1j", "0, 5, dtype=torch.bool",
                  "0, 5, dtype=torch.complex64", "0, 300, 100, dtype=torch.uint8", "2.5, 6, dtype=torch.int64", "-2.5, 3", "-2.5, 3, 1.5, dtype=torch.int64",
                  "0, 5, 2, dtype=torch.float16", "True, 5", "0, 0, float('inf')", "0, 5, float('nan')", "0.1, 1, .3", "start=1, end=3", "1, 4, step=2", "5",
                  "0, 5, requires_grad=True", "0, 2.5, .5", "0, 5, dtype=torch.int32"):  # fmt: skip
        if name == "range" and ".5, dtype=torch.int64" in given:
            continue    # torch divides by the step that has become 0
        same(f"r = torch.{name}({given})\nr, r.dtype, r.requires_grad", message=False)
        same(f"r = torch.{name}({given}, out=torch.empty(0))\nr, r.dtype", message=False)
    same(f"torch.{name}(0, 5, device='meta').shape")


TRAPEZOIDS = """trapezoid(y)|trapezoid(y, dx=2)|trapezoid(y, dx=.5)|trapezoid(y, x)|trapz(y, x)|trapz(y)|cumulative_trapezoid(y)|cumulative_trapezoid(y, x)
trapezoid(y, x.double())|trapezoid(y, dx=1j)|trapezoid(y, dx=True)|cumulative_trapezoid(y, dx=.5)|trapezoid(y, x.bool())|trapezoid(y[:0])|trapezoid(y[:0], x[:0])
trapezoid(y[:1])|cumulative_trapezoid(y[:0])|cumulative_trapezoid(y[:0], x[:0])|trapz(y, x[:2])|trapz(y[:0], x)|trapz(y.reshape(2, 2), x[:2])
trapz(y.reshape(2, 2)[:0], x[:0], dim=0)|trapz(y.reshape(2, 2)[:0], dim=0)|trapz(y, x[0])|trapz(y[0])|trapezoid(T.stack([y, y]), T.stack([x, x]))|trapz(y, dim=3)"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_trapezoids(dtype):
    for call in TRAPEZOIDS.replace("\n", "|").split("|"):
        check("T." + call, y=([100, 100, 7, 120], dtype), x=([0, 1, 3, 100], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_among_boundaries(dtype):
    values = [0, 0, 1, 1] if dtype == "bool" else [0, 1, 1, 2]
    for call in """bucketize(1, b)|bucketize(1.5, b)|bucketize(True, b)|bucketize(2, b, right=True)|searchsorted(b, 1)|searchsorted(b, .5)|searchsorted(b, True)
        searchsorted(b, 1j)|bucketize(b, b)|bucketize(b.double(), b)|bucketize(1, b, out_int32=True)|bucketize(1, b.reshape(2, 2))|bucketize(1, b[:0])
        bucketize(T.tensor(1.5), b)|searchsorted(b, T.tensor([1.5]))|searchsorted(b, 2**40)|searchsorted(b, -1)|bucketize(300, b)""".replace("\n", "|").split("|"):
        check("T." + call.strip(), b=(values, dtype))


@pytest.mark.parametrize("eps", ["None", "0", "0.1", "0.5", "1", "1.5", "-1", "2"])
def test_logit(eps):
    for dtype in DTYPES:
        check(f"T.logit(x, eps={eps})", x=([0, 0.1, 0.5, 1, 2, -1], dtype))
    same(f"x = torch.tensor([0, 0.1, .5, .9, 1, 2, -1], requires_grad=True)\ntorch.logit(x, eps={eps}).sum().backward()\nx.grad")


@pytest.mark.parametrize("dtype", [each for each in DTYPES if "complex" not in each])
def test_random_whole_numbers(dtype):
    for limits in ("", "5", "1", "0", "1, None", "-3, None", "0, None", "1, 5", "200, 300", "255, None", "256, None", "257, None", "2048, None", "2049, None",
                   "2**24, None", "2**24 + 1, None", "2**53, None", "-2**63, None", "0, 2**33"):  # fmt: skip
        check(f"T.empty_like(x).random_({limits})", x=([1, 2, 3, 4, 5], dtype))


def test_ranges_that_torch_has_not():
    """docs/differences.md: frequencies in an out= of another shape, and steps that are 0 as integers."""
    k = module("kindling")
    out = k.empty(2, 3)
    assert k.fft.fftfreq(6, out=out) is out and out.flatten().tolist() == k.fft.fftfreq(6).tolist()
    for name in ("range", "arange"):
        with pytest.raises((RuntimeError, ValueError), match="step must be nonzero"):
            getattr(k, name)(0, 5, .5, dtype=k.int64)
