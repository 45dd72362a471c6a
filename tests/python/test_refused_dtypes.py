"""Which dtypes operators take: what PyTorch refuses is refused with its class of error, and what it answers is answered, with its dtype and
values. Linear algebra, losses with every pair of dtypes, pooling, padding and the like."""
import math
import warnings

import pytest
import torch

import kindling

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
LINALG = """linalg.cholesky(a)|linalg.cholesky_ex(a)|cholesky(a)|cholesky_inverse(a)|cholesky_solve(a, a)|linalg.inv(a)|linalg.inv_ex(a)|linalg.det(a)|logdet(a)
linalg.slogdet(a)|linalg.svd(a)|linalg.svdvals(a)|linalg.qr(a)|linalg.eig(a)|linalg.eigh(a)|linalg.eigvals(a)|linalg.eigvalsh(a)|linalg.solve(a, a)
linalg.solve_ex(a, a)|linalg.lstsq(a, a)|linalg.lu(a)|linalg.lu_factor(a)|linalg.lu_factor_ex(a)|lu_solve(a, a, p)|linalg.lu_solve(a, p, a)|linalg.matrix_exp(a)
linalg.matrix_power(a, 2)|linalg.matrix_power(a, -1)|linalg.matrix_rank(a)|linalg.matrix_rank(a, atol=0.1)|linalg.matrix_rank(a, hermitian=True)|linalg.matrix_rank(a, 0.1, True)|linalg.pinv(a)|linalg.norm(a)|linalg.matrix_norm(a)|linalg.matrix_norm(a, 'nuc')
linalg.matrix_norm(a, 2)|linalg.vector_norm(a)|linalg.cond(a)|linalg.cond(a, 1)|linalg.householder_product(a, a[0])|ormqr(a, a[0], a)|geqrf(a)
linalg.ldl_factor(a)|linalg.ldl_solve(a, p, a)|linalg.solve_triangular(a, a, upper=True)|triangular_solve(a, a)|linalg.tensorinv(a.reshape(2, 2), ind=1)
linalg.tensorsolve(a, a[0])|linalg.multi_dot([a, a])|linalg.vander(a[0])|linalg.cross(b, b)|trace(a)|cdist(a, a)|mm(a, a)|bmm(a[None], a[None])"""
OTHERS = """bernoulli(a * 0)|normal(a, a)|rand(2, 2).bernoulli_(a * 0)|empty_like(a).random_(1, None)|empty_like(a).random_(1, 2)|empty_like(a).random_(2)
nn.functional.bilinear(a, a, a[None])|nn.functional.rms_norm(a, (2,))|nn.functional.layer_norm(a, (2,))|nn.functional.group_norm(a[None], 1)
nn.functional.max_pool1d(a[None], 2)|nn.functional.max_pool2d(a[None, None], 2)|nn.functional.avg_pool1d(a[None], 2)|nn.functional.avg_pool2d(a[None], 2)
nn.functional.avg_pool3d(a[None, None], (1, 2, 2))|nn.functional.adaptive_avg_pool1d(a[None], 1)|nn.functional.adaptive_max_pool1d(a[None], 1)
nn.functional.adaptive_max_pool2d(a[None], 1)|nn.functional.adaptive_max_pool3d(a[None, None], 1)|nn.functional.max_unpool2d(a[None], a[None].long() - 1, 2)
nn.functional.lp_pool1d(a[None], 2, 2)|nn.functional.unfold(a[None, None], 1)|nn.functional.pad(a[None], (1, 1), mode='reflect')
nn.functional.pad(a[None], (1, 1), mode='replicate')|nn.functional.pad(a[None, None], (1, 1, 1, 1), mode='reflect')|nn.functional.pad(a[None], (1, 1), mode='circular')
nn.functional.pad(a[None, None], (1, 1, 1, 1), mode='replicate')|nn.functional.pad(a, (1, 1))|searchsorted(a[0], 1)|bincount(a[0])|histc(a)
triu_indices(2, 3, dtype=a.dtype)|tril_indices(2, 3, dtype=a.dtype)|_foreach_powsum([a], 2)|nn.functional.embedding_bag(p[None], a.expand(3, 2, 2)[0].repeat(3, 1))"""
LOSSES = """mse_loss(x, y)|l1_loss(x, y)|smooth_l1_loss(x, y)|huber_loss(x, y)|soft_margin_loss(x, y)|kl_div(x, y)|poisson_nll_loss(x, y)|binary_cross_entropy(x, y)
binary_cross_entropy_with_logits(x, y)|hinge_embedding_loss(x, y)|margin_ranking_loss(x, y, y)|multilabel_margin_loss(x, y)|multilabel_soft_margin_loss(x, y)
cosine_embedding_loss(x, y, y[:, 0])|triplet_margin_loss(x, y, y)|gaussian_nll_loss(x, y, x)|nll_loss(x, y[:, 0])|cross_entropy(x, y)|multi_margin_loss(x, y[:, 0])
cosine_similarity(x, y)|pairwise_distance(x, y)"""
PER_ELEMENT = """hinge_embedding_loss(x, y)|margin_ranking_loss(x, x + 1, y)|binary_cross_entropy_with_logits(x, y)|kl_div(x, y)|cosine_embedding_loss(x, x + 1, y[:, 0])
triplet_margin_loss(x, y, y)|poisson_nll_loss(x, y, True, False, 1e-8, 1)"""


def calls(text):
    return [call for line in text.split("\n") for call in line.split("|")]


def seen(value):
    if isinstance(value, (tuple, list)):
        return tuple(map(seen, value))
    return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.tolist()


def close(a, b):
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        a, b = complex(a), complex(b)
        return all(x == y or (x != x and y != y) or abs(x - y) <= 1e-2 * abs(x) + 1e-5 < math.inf for x, y in ((a.real, b.real), (a.imag, b.imag)))
    return a == b


def check(call, **tensors):
    answers = []
    for T in (torch, kindling):
        T.manual_seed(0)
        scope = {"T": T, "F": T.nn.functional, "p": T.tensor([1, 2], dtype=T.int32)}
        scope.update({name: T.tensor(values).to(getattr(T, dtype)) for name, (values, dtype) in tensors.items()})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers.append(seen(eval(call, scope)))
        except Exception as error:
            answers.append(type(error).__name__)
    assert isinstance(answers[0], str) == isinstance(answers[1], str) and close(*answers), (call, tensors, *answers)


@pytest.mark.parametrize("call", calls(LINALG) + calls(OTHERS))
def test_one_dtype(call):
    for dtype in DTYPES:
        if "unpool" in call and dtype == "bool" or "eig(a)" in call or "vals(a)" in call:
            continue
        if "matrix_exp" in call and dtype in ("float16", "bfloat16"):    # PyTorch's is not the exponential (docs/differences.md): float32's, rounded
            x = torch.tensor([[2., 1.], [1., 3.]])
            ours = eval("T." + call, {"T": kindling, "a": kindling.tensor(x.tolist(), dtype=getattr(kindling, dtype))})
            assert close(seen(ours), seen(eval("T." + call, {"T": torch, "a": x}).to(getattr(torch, dtype)))), (call, dtype)
            continue
        check("T." + call, a=([[2, 1], [1, 3]], dtype), b=([[2, 1, 1], [1, 3, 0]], dtype))


@pytest.mark.parametrize("call", calls(LOSSES))
def test_losses(call):
    for first in DTYPES:
        for second in DTYPES:
            check("F." + call, x=([[1, 0, 1], [0, 1, 1]], first), y=([[1, 1, 0], [0, 1, 1]], second))


@pytest.mark.parametrize("call", calls(PER_ELEMENT))
@pytest.mark.parametrize("reduction", ["", ", reduction=0", ", reduction=1", ", reduction=2"])
def test_losses_by_their_operators_names(call, reduction):
    """In PyTorch 2.13 they give one for each element unless asked for a mean."""
    if "poisson" in call and reduction:
        return
    for first in ("float32", "float64", "bfloat16", "int64"):
        for second in ("float32", "int64", "bfloat16"):
            check(f"T.{call[:-1]}{reduction})", x=([[1, 0, 1], [0, 1, 1]], first), y=([[1, 1, 0], [0, 1, 1]], second))


@pytest.mark.parametrize("call", ["T.clamp(x, 0, out=o)", "T.clamp(x, x, out=o)", "T.clamp_min(x, 0, out=o)", "T.clamp_max(x, 0, out=o)", "T.clamp_min(x, x, out=o)", "T.clip(x, 0, 2, out=o)",
                                  "T.clamp_max(x, x, out=o)", "N.hardtanh(x, 0, 1, out=o)", "T.threshold(x, 0, 1, out=o)", "N.elu(x, out=o)", "N.leaky_relu(x, out=o)", "N.silu(x, out=o)",
                                  "N.mish(x, out=o)", "N.hardsigmoid(x, out=o)", "N.hardswish(x, out=o)", "N.gelu(x, out=o)", "N.softplus(x, out=o)", "T.hardshrink(x, out=o)",
                                  "N.softshrink(x, out=o)", "N.glu(x, out=o)"])  # fmt: skip
def test_out_of_limits_and_activations(call):
    """Of the result's dtype or refused; integers beyond may be refused for either reason."""
    for first, second in (("float32", "float64"), ("float32", "float16"), ("float32", "float32"), ("float16", "float32"), ("int64", "int32"), ("int64", "float32"), ("int64", "int64")):
        answers = []
        for T in (torch, kindling):
            x, o = T.tensor([1, 2]).to(getattr(T, first)), T.empty(1 if "glu" in call else 2, dtype=getattr(T, second))
            try:
                answers.append(seen(eval(call, {"T": T, "N": T._C._nn, "x": x, "o": o})))
            except RuntimeError:        # NotImplementedError is one
                answers.append("refused")
        assert close(*answers), (call, first, second, *answers)
