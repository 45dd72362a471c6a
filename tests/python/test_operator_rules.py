"""Rules that hold across operators, each tried on all that it holds for: numbers beside tensors, dtypes of indices, of
statistics and of out=, evenly spaced numbers, whole numbers in convolutions. Beside PyTorch."""
import itertools
import math

import pytest

from both import module, same

KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


def check(sources, setup, message=False):
    """All sources; every one that differs is told."""
    wrong = []
    for source in sources:
        try:
            same(source, setup, message)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, f"{len(wrong)} of {len(sources)}\n" + "\n".join(wrong[:20])


# ---- beta and alpha of products: turned into numbers of the tensors' dtype, or refused

PRODUCTS = ["torch.addmm(M, M, M, beta={b}, alpha={a})", "torch.addmv(v, M, v, beta={b}, alpha={a})", "torch.addr(M, v, v, beta={b}, alpha={a})",
            "torch.baddbmm(B, B, B, beta={b}, alpha={a})", "torch.addbmm(M, B, B, beta={b}, alpha={a})",
            "M.clone().addmm_(M, M, beta={b}, alpha={a})", "v.clone().addmv_(M, v, beta={b}, alpha={a})", "M.clone().addr_(v, v, beta={b}, alpha={a})",
            "B.clone().baddbmm_(B, B, beta={b}, alpha={a})", "M.clone().addbmm_(B, B, beta={b}, alpha={a})",
            "torch.index_add(v, 0, torch.tensor([0, 0]), v, alpha={a})", "torch.addmv(M[0, 0], M, v, beta={b}, alpha={a})"]
NUMBERS = [("1", "1"), ("2", "3"), ("0", "1"), ("1.5", "1"), ("1", "1.5"), ("0.5", "0.25"), ("0.5 + 0.25j", "1"), ("1", "1 + 2j"),
           ("2 + 0j", "1"), ("True", "False"), ("False", "True"), ("2.0", "1"), ("1e300", "1"), ("300", "1"), ("float('nan')", "1")]


@pytest.mark.parametrize("dtype", KINDS)
def test_numbers_of_products(dtype):
    setup = f"""
M = torch.tensor([[1, 2], [3, 4]]).to(torch.{dtype}); v = torch.tensor([1, 2]).to(torch.{dtype})
B = torch.stack([M, M + M])
"""
    sources = [call.format(a=a, b=b) for call in PRODUCTS for b, a in NUMBERS]
    # Beyond a dtype's range an integer's value is nobody's; what a real number turns into among complex ones, torch computes.
    check([s for s in sources if not ("nan" in s and "complex" in dtype)], setup)


@pytest.mark.parametrize("dtype", KINDS)
def test_numbers_without_a_place_in_the_dtype(dtype):
    z = f"torch.zeros(2, dtype=torch.{dtype})"
    values = ["300", "-1", "-300", "2**40", "1e30", "1e10", "70000.", "float('nan')", "float('inf')", "1.5", "1j", "1+0j", "True", "-2**63", "65519.", "1e300"]
    calls = ["torch.full((2,), {v}, dtype=torch.%s)" % dtype, "torch.scalar_tensor({v}, dtype=torch.%s)" % dtype, z + ".fill_({v})",
             z + ".new_full((1,), {v})", "torch.full_like(" + z + ", {v})", z + ".masked_fill(torch.tensor([True, False]), {v})",
             z + ".index_fill(0, torch.tensor([0]), {v})", z + ".scatter(0, torch.tensor([0]), {v})", "F.pad(" + z + ", (1, 0), value={v})",
             "x = " + z + "\nx[0] = {v}\nx", "x = " + z + "\nx[x == 0] = {v}\nx", "x = " + z + "\nx[:] = {v}\nx",
             "x = " + z + "\nx[torch.tensor([1])] = {v}\nx"]
    check([call.format(v=v) for call in calls for v in values], "")


# ---- evenly spaced numbers: the ends are numbers of the dtype, each step rounds as torch's does

def test_evenly_spaced_numbers_are_pytorchs_to_the_last_bit():
    wrong = []
    for dtype in ("int8", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64", "complex64"):
        for start, end, steps in ((0.1, 3.3, 7), (0, 20, 50), (0.37, 91.3, 128), (9.7, 1.3, 33), (2, 5.9, 4), (3.9, 7, 1), (1, 2, 0)):
            for call in (f"torch.linspace({start}, {end}, {steps}, dtype=torch.{dtype})",
                         f"torch.linspace(torch.tensor({start}), {end}, {steps}, dtype=torch.{dtype})",
                         f"torch.logspace({start / 10}, {end / 50}, {steps}, dtype=torch.{dtype})",
                         f"torch.logspace({start}, {end / 30}, {steps}, base=1.5, dtype=torch.{dtype})"):
                if dtype == "complex64":
                    call = call.replace("space(torch.tensor(", "space((1 - 0.5j) * torch.tensor(").replace(f"space({start},", f"space({start} + 0.5j,")
                if dtype in ("complex64", "float64") and "logspace" in call:
                    continue               # powers are good to rounding only, which shows in these
                got, expected = (eval(call, {"torch": module(name)}).tolist() for name in ("kindling", "torch"))
                if got != expected:
                    wrong.append(f"{call}: {sum(a != b for a, b in zip(got, expected))} of {steps}")
    assert not wrong, "\n".join(wrong)


# ---- what indices may be

INDEXED = ["torch.gather(x, 0, p)", "x.scatter(0, p, s)", "x.scatter(0, p, 1.5)", "x.scatter(0, p, s, reduce='add')", "x.scatter_add(0, p, s)",
           "x.scatter_reduce(0, p, s, 'amax')", "x.index_select(0, i)", "x.index_add(0, i, s)", "x.index_copy(0, i, s)", "x.index_fill(0, i, 2.)",
           "x.index_fill(0, i, torch.tensor(2.))", "x.index_reduce(0, i, s, 'amax')", "torch.take(x, i)", "x.put(i, torch.ones(2))",
           "torch.take_along_dim(x, p, 0)", "torch.take_along_dim(x, i)", "x[i]", "x[:, i]", "x[i, i]", "x.index_put((i,), torch.tensor(5.))",
           "F.embedding(i, x)", "F.embedding_bag(p, x)", "F.embedding_bag(i, x, torch.tensor([0]).to(i.dtype))", "F.one_hot(i, 4)",
           "torch.bincount(i)", "torch.repeat_interleave(x, r, dim=0)", "torch.repeat_interleave(r)", "torch.unravel_index(i, (2, 2))",
           "F.nll_loss(x, t)", "F.cross_entropy(x, t)", "F.max_unpool1d(x[None], torch.tensor([[[0, 2, 4, 6]] * 3]).to(i.dtype), 2)",
           "F.ctc_loss(torch.zeros(4, 1, 3), torch.tensor([[1, 2]]).to(i.dtype), torch.tensor([4]), torch.tensor([2]))",
           "torch.segment_reduce(x[:, 0].contiguous(), 'sum', lengths=torch.tensor([1, 2]).to(i.dtype))",
           "torch.segment_reduce(x[:, 0].contiguous(), 'sum', offsets=torch.tensor([0, 1, 3]).to(i.dtype))"]
EMPTY = ["torch.gather(x, 0, e)", "x.scatter(0, e, s)", "x.scatter_add(0, e, s)", "x.scatter_reduce(0, e, s, 'amax')", "torch.take_along_dim(x, e)"]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float32"])
def test_dtypes_of_indices(dtype):
    setup = f"""
x = torch.arange(12.).reshape(3, 4); s = torch.ones(2, 4); i = torch.tensor([0, 1]).to(torch.{dtype})
p = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 1]]).to(torch.{dtype}); t = torch.tensor([0, 1, 1]).to(torch.{dtype})
r = torch.tensor([1, 0, 2]).to(torch.{dtype}); e = torch.empty(0, 4).to(torch.{dtype})
"""
    # Of bool, torch's answers come from the minimum and the range that it works out on the way.
    check([s for s in INDEXED + EMPTY if dtype != "bool" or "bag(p" not in s and "lengths" not in s], setup)


def test_indices_below_zero_and_beyond():
    setup = """
x = torch.arange(12.).reshape(3, 4); s = torch.ones(2, 4); i = torch.tensor([0, -1]); p = torch.tensor([[0, -1, 1, 0], [1, 0, -3, 2]])
n = torch.tensor([0, 5])
"""
    check(["torch.take_along_dim(x, p, 0)", "torch.take_along_dim(x, p - 3, 0)", "torch.take_along_dim(x, p + 7, 0)", "torch.gather(x, 0, p)",
           "torch.take_along_dim(x, p, 1)", "x.index_add(0, i, s)", "x.index_add(1, i, torch.ones(3, 2))", "x[0].index_add(0, n, torch.ones(2))",
           "torch.ones(3, 4, 5).index_add(1, n, torch.ones(3, 2, 5))", "x.index_copy(0, i, s)", "x.index_fill(0, i, 2.)", "torch.take(x, i)",
           "x.put(i, torch.ones(2))", "x.scatter(0, p, 1.)", "torch.take_along_dim(torch.ones(0, 4), p[:0], 0)"], setup)


# ---- out=

def exact_and_cast():
    """(call, dtype of its result): forms of operators with another dtype than the result's in out=."""
    for call in ("mm(x, x)", "bmm(x[None], x[None])", "addmm(x, x, x)", "gather(x, 0, i)", "index_select(x, 0, i[0])", "take(x, i)", "masked_select(x, x > 0)",
                 "softmax(x, 0)", "log_softmax(x, 0)", "cumsum(x, 0)", "cumprod(x, 0)", "sum(x, 0)", "prod(x, 0)", "mean(x, 0)", "std(x, 0)", "var(x, 0)",
                 "amax(x, 0)", "amin(x, 0)", "logsumexp(x, 0)", "norm(x)", "linalg.vector_norm(x)", "linalg.matrix_norm(x)", "linalg.norm(x)", "cat([x, x])",
                 "stack([x, x])", "hstack([x, x])", "kron(x, x)", "outer(x[0], x[0])", "add(x, x)", "mul(x, x)", "exp(x)", "abs(x)", "neg(x)", "floor(x)", "ceil(x)",
                 "round(x)", "trunc(x)", "sign(x)", "sgn(x)", "frac(x)", "nan_to_num(x)", "complex(x, x)", "polar(x, x)", "heaviside(x, x)", "signbit(x)",
                 "isposinf(x)", "eq(x, x)", "argmax(x, 0)", "multinomial(x.abs(), 2)", "nonzero(x)", "tril(x)", "diag(x)", "cross(x[:, :3], x[:, :3])", "dot(x[0], x[0])",
                 "mv(x, x[0])", "where(x > 0, x, x)", "quantile(x, 0.5, 0)", "histc(x)", "renorm(x, 2, 0, 1)", "logspace(0, 1, 4)", "linspace(0, 1, 4)", "arange(4)",
                 "arange(0.5, 4)", "zeros(4)", "ones(4)", "full((4,), 1.5)", "eye(2)", "rand(4)", "nn.functional.softplus(x)", "nn.functional.gelu(x)",
                 "nn.functional.logsigmoid(x)", "fft.fft(x)", "fft.rfft(x)", "linalg.inv(x)", "linalg.det(x)", "cholesky_inverse(x)", "linalg.matrix_power(x, 2)",
                 "vstack([x, x])", "dstack([x, x])", "column_stack([x, x])", "all(x)", "all(x, 0)", "any(x, (0, 1))", "any(x > 0, 0)", "diff(x)",
                 "lerp(x, x, 0.5)", "lerp(x, x, x)", "fft.irfft(x)", "fft.hfft2(x)", "fft.hfftn(x)", "split_copy(x, 2)", "unbind_copy(x)", "split_with_sizes_copy(x, [1, 3])", "_chunk_cat([x, x], 0, 2)", "aminmax(x, dim=0)", "frexp(x)", "max(x, 0)",
                 "sort(x)", "topk(x, 2)", "kthvalue(x, 1)", "mode(x)", "median(x, 0)", "linalg.slogdet(x)", "linalg.eigh(x)", "triangular_solve(x, x)",
                 "_native_batch_norm_legit(x, None, None, x[0].clone(), x[1].clone(), True, 0.1, 1e-5)"):
        yield call


IN_PLACE = ["cumsum_(0)", "cumprod_(0)", "div_(x, rounding_mode='floor')", "div_(2.5, rounding_mode='trunc')", "pow_(2)", "pow_(.5)", "float_power_(2)",
            "clamp_min_(torch.tensor(1.5))", "clamp_max_(torch.tensor(1, dtype=torch.int64))", "ldexp_(torch.tensor(2))", "igamma_(torch.tensor(.5))",
            "abs_()", "floor_()", "round_(decimals=1)", "nan_to_num_()", "eq_(1.5)", "logical_and_(x)", "tril_()",
            "addmm_(x, x)", "renorm_(2, 0, 1.)", "masked_fill_(x > 0, 1)", "index_fill_(0, i[0, :1], 2)", "index_add_(0, i[0], x)",
            "scatter_(0, i, 1)", "sigmoid_()", "square_()", "fmod_(2.5)", "remainder_(2)", "copysign_(-1.)", "hypot_(x)", "arctan2_(x)", "sgn_()", "angle_()",
            "cumsum_(0, dtype=torch.float64)", "cumprod_(0, dtype=torch.int64)"]


@pytest.mark.parametrize("dtype", KINDS)
def test_dtypes_of_targets_in_place(dtype):
    check([f"r = torch.tensor([[4, 1, 0, 1], [1, 5, 1, 0], [0, 1, 6, 1], [1, 0, 1, 7]]).to(torch.{dtype})\nx = r.clone()\nr.{call}\n(r.dtype, r.isnan().tolist())"
           for call in IN_PLACE if dtype != "bool" or "div" not in call], SETUP)


SETUP = "x = torch.tensor([[4., 1, 0, 1], [1, 5, 1, 0], [0, 1, 6, 1], [1, 0, 1, 7]]); i = torch.tensor([[0, 1, 2, 0]])"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "int32", "bool", "uint8", "complex64"])
def test_dtypes_of_out(dtype):
    sources = []
    for call in exact_and_cast():
        head = f"r = torch.{call}\nmany = isinstance(r, (tuple, list))\nshapes = [t.shape for t in (r if many else [r])]\n"
        body = f"o = tuple(torch.zeros(s, dtype=torch.{dtype}) for s in shapes)\ntorch.manual_seed(0)\n"
        tail = f"torch.{call[:-1]}, out=o if many else o[0])\n[(str(t.dtype), tuple(t.shape)) for t in o]"
        sources.append(head + body + tail)
    # Left: what torch has no kernel for in a dtype of out= that it takes, and that its split_copy casts floats to integers.
    whole = ("split_copy(",)
    skip = {"int64": whole, "int32": whole, "uint8": whole, "bool": (*whole, "linspace", "logspace", "arange"),
            "complex64": ("eye", "arange", "rand(", "std(", "var(")}.get(dtype, ())
    check([s for s in sources if not any(f"torch.{word}" in s or f"h{word}" in s for word in skip)], SETUP)


def test_lists_of_results_go_to_lists_of_outs():
    setup = "x = torch.arange(12.).reshape(3, 4)"
    check(["o = [torch.zeros(2, 4), torch.zeros(1, 4)]\nr = torch.split_copy(x, 2, out=o)\nr, o", "o = [torch.zeros(4) for _ in range(3)]\ntorch.unbind_copy(x, out=o), o",
           "o = (torch.zeros(0), torch.zeros(0))\ntorch.split_with_sizes_copy(x, [1, 3], 1, out=o), o", "torch.unbind_copy(x, out=[torch.zeros(4)])",
           "o = torch.zeros(0)\ntorch._chunk_cat([x, x], 0, 2, out=o), o", "torch.ops.aten.unbind_copy.int_out(x, 0, out=[torch.zeros(4) for _ in range(3)])",
           "torch.unbind_copy(x, out=torch.zeros(4))"], setup)


def test_an_out_that_is_resized_is_told():
    import warnings

    for name in ("torch", "kindling"):
        torch = module(name)
        for call in (lambda out: torch.abs(torch.ones(3), out=out), lambda out: torch.mm(torch.ones(3, 3), torch.ones(3, 3), out=out),
                     lambda out: torch.sum(torch.ones(3, 4), 0, out=out), lambda out: torch.sort(torch.ones(3), out=(out, torch.empty(0, dtype=torch.int64)))):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                call(torch.empty(2, 2))
                assert [w.category for w in seen] == [UserWarning] and "resized since it had shape" in str(seen[0].message), name
                call(torch.empty(0))
                assert len(seen) == 1, name
            with warnings.catch_warnings(), pytest.raises(UserWarning):
                warnings.simplefilter("error")
                call(torch.empty(2, 2))


def test_an_out_that_is_read_is_resized_after_that():
    torch = module("kindling")
    for shape in ((2, 3, 4, 6), (2, 1, 8, 8)):
        for call in (lambda x, out: torch._C._nn.avg_pool2d(x, 2, out=out), lambda x, out: torch._C._nn.reflection_pad2d(x, [1, 2, 0, 1], out=out),
                     lambda x, out: torch.sum(x, 1, out=out), lambda x, out: torch.amax(x, (0, 2), out=out),
                     lambda x, out: torch.mean(x, 2, True, out=out), lambda x, out: torch.linalg.vector_norm(x, 2, 0, out=out)):
            x = torch.arange(1.0, torch.Size(shape).numel() + 1).reshape(shape)
            expected = call(x.clone(), torch.empty(0))
            out = x.clone()
            assert torch.equal(call(out, out), expected)


def test_an_out_is_looked_at_before_it_is_resized():
    check(["torch.index_select(x, 1, i[0, :2], out=torch.zeros(1).expand(2, 6))", "torch.abs(x, out=torch.zeros(1).expand(3))"], SETUP)


# ---- statistics: of the input's dtype; of float32 beside an input of half a type with such parameters

def test_dtypes_of_statistics():
    setup = """
def t(dtype, *sizes):
    return (torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) / 7).to(getattr(torch, dtype))
def show(results):
    return [(str(r.dtype).rsplit('.', 1)[-1], tuple(r.shape), [round(v, 1) for v in r.flatten()[:2].tolist()]) for r in results]
"""
    sources = []
    for d in ("bfloat16", "float16", "float32", "float64"):
        for w in ("None", f"t('{d}', 4)", "t('float32', 4)", "t('float64', 4)"):
            sources += [f"show(torch.native_layer_norm(t('{d}', 3, 4), (4,), {w}, {w}, 1e-5))", f"show(torch._fused_rms_norm(t('{d}', 3, 4), (4,), {w}, 1e-5))",
                        f"show(torch.native_group_norm(t('{d}', 2, 4, 3), {w}, {w}, 2, 4, 3, 2, 1e-5))",
                        f"show([F.layer_norm(t('{d}', 3, 4), (4,), {w}, {w}), F.group_norm(t('{d}', 2, 4, 3), 2, {w}, {w})])",
                        f"show(torch.native_batch_norm(t('{d}', 2, 4, 3), {w}, {w}, None, None, True, 0.1, 1e-5))"]
            for running, training in itertools.product((f"t('{d}', 4) + 1", "t('float32', 4) + 1", "t('float64', 4) + 1"), (True, False)):
                call = f"(t('{d}', 2, 4, 3), {w}, {w}, {running}, {running}, {training}, 0.1, 1e-5"
                sources += [f"show(torch.native_batch_norm{call}))", f"show(torch._native_batch_norm_legit{call}))", f"show([torch.batch_norm{call}, False)])"]
    check(sources, setup)


def test_means_and_deviations_of_groups_have_gradients():
    """First ones beside PyTorch, and all beside those of the parts (torch's second ones leave the deviation out)."""
    import kindling

    same("[[round(v, 9) for v in g.flatten().tolist()] for g in torch.autograd.grad(y.sin().sum() + (m * k).sum() + (r * k).sin().sum(), [x, w])]", """
x = (torch.arange(24., dtype=torch.float64).reshape(2, 4, 3) / 7).sin().requires_grad_(); w = torch.tensor([1., 2, 3, 4], dtype=torch.float64, requires_grad=True)
y, m, r = torch.native_group_norm(x, w, w, 2, 4, 3, 2, 1e-5)
k = torch.arange(4., dtype=torch.float64).reshape(2, 2)
""")

    def parts(x, w):
        grouped = x.reshape(2, 2, 6)
        m, r = grouped.mean(2), (grouped.var(2, unbiased=False) + 1e-5).rsqrt()
        return ((grouped - m[..., None]) * r[..., None]).reshape(2, 4, 3) * w[None, :, None] + w[None, :, None], m, r

    k = kindling.arange(4., dtype=kindling.float64).reshape(2, 2)
    for weights in ((1, 1, 1), (0, 1, 0), (0, 0, 1), (1, 0, 1)):
        found = []
        for norm in (parts, lambda x, w: kindling.native_group_norm(x, w, w, 2, 4, 3, 2, 1e-5)):
            x = (kindling.arange(24., dtype=kindling.float64).reshape(2, 4, 3) / 7).sin().requires_grad_()
            w = kindling.tensor([1., 2, 3, 4], dtype=kindling.float64, requires_grad=True)
            y, m, r = norm(x, w)
            terms = [y.sin().sum(), (m * k).sin().sum(), (r * k).sin().sum()]
            g, = kindling.autograd.grad(sum(t for t, wanted in zip(terms, weights) if wanted), [x], create_graph=True)
            found.append([g, *kindling.autograd.grad(g.pow(2).sum(), [x])])
        for a, b in zip(*found):
            assert kindling.allclose(a, b, rtol=1e-9, atol=1e-9), weights


@pytest.mark.parametrize("norm", ["F.layer_norm(x, (4,), w, w)", "F.group_norm(x.reshape(2, 4, 3), 2, w, w)", "F.batch_norm(x.reshape(2, 4, 3), None, None, w, w, True)",
                                  "F.rms_norm(x, (4,), w)"])
def test_second_derivatives_of_half_types_know_eps(norm):
    """eps is given, not read off a rounded deviation."""
    setup = f"""
x = (torch.arange(24.).reshape(6, 4) / 7).sin().to(torch.bfloat16).requires_grad_(); w = torch.tensor([1., 2, 3, 4], dtype=torch.bfloat16)
g, = torch.autograd.grad(({norm}).float().sin().sum(), [x], create_graph=True)
h, = torch.autograd.grad(g.float().pow(2).sum(), [x])
"""
    scope = {}
    for name in ("torch", "kindling"):
        torch = module(name)
        scope[name] = {"torch": torch, "F": torch.nn.functional}
        exec(setup, scope[name])
    a, b = (module("torch").tensor(scope[name]["h"].float().tolist()) for name in ("torch", "kindling"))
    assert (a - b).abs().max() <= 0.05 * a.abs().max()


# ---- products of whole numbers in convolutions

@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_of_whole_numbers(dims):
    shape = (7, 6, 5)[:dims]
    setup = f"""
def t(dtype, *sizes):
    return (torch.arange(torch.Size(sizes).numel()).reshape(sizes) * 7 % 11 - 5).to(getattr(torch, dtype))
"""
    sources = []
    for dtype in ("int8", "uint8", "int16", "int32", "int64"):
        for kwargs in ("", "stride=2", "padding=1", "stride=2, padding=1, dilation=2", "groups=2", "padding=1, groups=2, stride=3"):
            bias = f"t('{dtype}', 4)" if "groups" in kwargs else "None"
            channels = 2 if "groups" in kwargs else 4
            sources.append(f"F.conv{dims}d(t('{dtype}', 2, 4, *{shape}), t('{dtype}', 4, {channels}, *[2] * {dims}), {bias}, {kwargs})")
            more = kwargs + (", output_padding=1" if "stride" in kwargs else "")
            sources.append(f"F.conv_transpose{dims}d(t('{dtype}', 2, 4, *{shape}), t('{dtype}', 4, {channels}, *[2] * {dims}), "
                           f"{f't({dtype!r}, {4 * channels // 4 * (2 if channels == 2 else 1)})' if bias != 'None' else 'None'}, {more})")
        sources += [f"F.conv{dims}d(t('{dtype}', 4, *{shape}), t('{dtype}', 3, 4, *[3] * {dims}), padding='same')",
                    f"F.conv{dims}d(t('{dtype}', 0, 4, *{shape}), t('{dtype}', 3, 4, *[3] * {dims}))",
                    f"F.conv{dims}d(t('{dtype}', 2, 0, *{shape}), t('{dtype}', 3, 0, *[3] * {dims}), t('{dtype}', 3))",
                    f"F.conv_transpose{dims}d(t('{dtype}', 2, 0, *{shape}), t('{dtype}', 0, 3, *[3] * {dims}))",
                    f"F.conv{dims}d(t('{dtype}', 2, 4, *{shape}).transpose(0, 1), t('{dtype}', 3, 2, *[3] * {dims}).flip(0))"]
    call = f"F.conv{dims}d(x, w, b)\ny.sum().backward()\ny.shape, x.grad.shape, w.grad.shape, b.grad"
    sources.append(f"x, w, b = torch.ones(2, 0, *{shape}, requires_grad=True), torch.ones(3, 0, *[2] * {dims}, requires_grad=True), "
                   f"torch.ones(3, requires_grad=True)\ny = {call}")
    check(sources, setup)


# ---- the strides of what is written into

def test_scattered_slices_lie_as_the_input_does():
    setup = "x = torch.arange(40.).reshape(5, 8)\nshow = lambda r: (r.tolist(), r.stride(), r.storage_offset())"
    views = ["x", "x.t()", "x[:, ::2]", "x[1:, ::2]", "x.t()[:3, :3]", "x[:1].expand(3, 8)", "x[1:, 1:]"]
    sources = []
    for view in views:
        sources += [f"v = {view}\nshow(torch.select_scatter(v, torch.full((v.shape[1],), -1.), 0, 1 if v.shape[0] > 1 else 0))",
                    f"v = {view}\nshow(torch.diagonal_scatter(v, torch.full((min(v.shape),), -1.)))",
                    f"v = {view}\nshow(torch.as_strided_scatter(v, torch.full((2, 2), -1.), (2, 2), (1, 8), 1))",
                    f"v = {view}\nshow(torch.as_strided_scatter(v, torch.full((2, 2), -1.), (2, 2), (2, 8)))",
                    f"v = {view}\nshow(torch.as_strided_scatter(v, torch.full((2, 2), -1.), (2, 2), (2, 8), 100))",
                    f"v = {view}.detach().requires_grad_()\ntorch.as_strided_scatter(v, torch.full((2, 2), -1.), (2, 2), (1, 2), 0).sum().backward()\nv.grad"]
    check(sources, setup)


# ---- attention: half types in float, the weights of a block rounded before they meet the values

@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_attention_of_half_types_to_the_last_bit(dtype):
    setup = f"""
torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 5, 8).to(torch.{dtype}) for _ in range(3))
m = torch.randn(5, 5).to(torch.{dtype})
"""
    check(["F.scaled_dot_product_attention(q, k, v)", "F.scaled_dot_product_attention(q[0], k[0], v[0])", "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
           "F.scaled_dot_product_attention(q[0], k[0], v[0], is_causal=True)", "F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
           "F.scaled_dot_product_attention(q[0], k[0], v[0], attn_mask=m > 0)", "F.scaled_dot_product_attention(q[0], k[0], v[0], scale=-0.7)",
           "F.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0], scale=0.3)"], setup)


# ---- dtypes of results

def test_dtypes_of_results():
    sources = []
    for d in KINDS:
        z = f"torch.tensor([1, 0, 1]).to(torch.{d})"
        sources += [f"{z}.sum_to_size(1)", f"{z}.sum_to_size(3)", f"{z}[0].sum_to_size()", f"torch.frexp({z})",
                    f"torch.tensordot({z}[:1], {z}, dims=([0], [0]))", f"F.bilinear({z}[None], {z}[None], {z}.expand(2, 3, 3))",
                    f"torch.masked.cumsum({z}, 0)", f"torch.masked.cumprod({z}, 0)", f"torch.masked_select({z}[0], torch.tensor(True))",
                    f"torch.unravel_index({z}, (2, 3))"]
    check(sources, "")


STRIDED = [(size, kernel, stride, padding, dilation) for size in (9, 12, 23) for kernel in (2, 3, 5, 7) for stride in (1, 2, 3) for padding in (0, 1, 3)
           for dilation in (1, 2) if size + 2 * padding >= dilation * (kernel - 1) + 1 and padding <= kernel]


@pytest.mark.parametrize("size, kernel, stride, padding, dilation", STRIDED)
def test_rows_of_a_strided_convolution_share_their_zeros(size, kernel, stride, padding, dilation):
    """The copy of the input lays rows side by side, with as few zeros between them as every phase of the stride allows."""
    options = dict(stride=stride, padding=padding, dilation=dilation)
    torch, kindling = module("torch"), module("kindling")
    torch.manual_seed(size)
    x, w, b = torch.randn(2, 3, size, size + 1), torch.randn(13, 3, kernel, kernel), torch.randn(13)
    want = torch.nn.functional.conv2d(x.double(), w.double(), b.double(), **options).float()
    got = kindling.nn.functional.conv2d(*(kindling.tensor(each.tolist()) for each in (x, w, b)), **options)
    assert torch.allclose(torch.tensor(got.tolist()), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (0, 4), (3, 0, 1)])
def test_small_tensors_that_are_joined(dim, sizes):
    """Few bytes are copied as they lie; what lies otherwise, is lazy, requires grad or is of another dtype goes by loops."""
    def parts(t, change):
        t.manual_seed(5)
        shapes = [[2, 3, 4] for _ in sizes]
        for shape, size in zip(shapes, sizes):
            shape[dim] = size
        return [change(t, t.arange(1.0, 1 + math.prod(shape)).reshape(shape), i) for i, shape in enumerate(shapes)]

    for change in (lambda t, x, i: x, lambda t, x, i: x.transpose(0, 2).contiguous().transpose(0, 2) if i else x, lambda t, x, i: x.double() if i else x,
                   lambda t, x, i: t.complex(x, x).conj() if i else t.complex(x, -x), lambda t, x, i: x.requires_grad_()):
        want, got = (t.cat(parts(t, change), dim) for t in map(module, ("torch", "kindling")))
        assert got.tolist() == want.tolist() and str(got.dtype) == str(want.dtype).replace("torch", str(got.dtype).split(".")[0]) and got.stride() == want.stride()
        assert got.requires_grad == want.requires_grad
