"""Mixed precision on the CPU: which operators choose which dtype, the kept casts, gradients; side by side with torch."""
import threading

import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels

BOTH = (kindling, reference)
# Every name here is one that torch's dispatcher lists for AutocastCPU; a, b, m, s, v are float32, h bfloat16.
LOWER = {
    "mm": "torch.mm(m, m)", "bmm": "torch.bmm(b, b)", "baddbmm": "torch.baddbmm(b, b, b)",
    "addmm": "torch.addmm(m, m, m)", "addbmm": "torch.addbmm(m, b, b)", "linear": "F.linear(a, m, v)",
    "matmul": "a @ m", "matmul of a vector": "m @ v", "vecdot": "torch.linalg.vecdot(a, a)",
    "conv1d": "F.conv1d(b, b)", "conv1d same": "F.conv1d(b, b, padding='same')", "conv2d": "F.conv2d(c, c)",
    "conv2d valid": "F.conv2d(c, c, padding='valid')", "conv3d": "F.conv3d(e, e)",
    "conv3d same": "F.conv3d(e, e, padding='same')", "conv_tbc": "torch.conv_tbc(b, b, v)",
    "conv_transpose1d": "F.conv_transpose1d(b, b)", "conv_transpose2d": "F.conv_transpose2d(c, c)",
    "conv_transpose3d": "F.conv_transpose3d(e, e)", "prelu": "F.prelu(a, v[:1])",
    "scaled_dot_product_attention": "F.scaled_dot_product_attention(b, b, b)",
}
FLOAT = {
    "avg_pool3d": "F.avg_pool3d(x, 2)", "binary_cross_entropy": "F.binary_cross_entropy(p, p)",
    "grid_sample": "F.grid_sample(c.to(h.dtype), c[:, :, :, :2].to(h.dtype), align_corners=False)",
    "polar": "torch.polar(h, h)", "prod": "h.prod()", "prod of a dimension": "h.prod(0)",
    "quantile": "torch.quantile(h, torch.tensor(0.3, dtype=h.dtype))", "quantile at a number": "torch.quantile(h, 0.5)",
    "nanquantile": "torch.nanquantile(h, 0.5)", "stft": "torch.stft(h.flatten(), 4, return_complex=True)",
    "cdist": "torch.cdist(h, h)", "trace": "h.trace()", "view_as_complex": "torch.view_as_complex(c[..., :2].to(h.dtype))",
    "cholesky": "torch.linalg.cholesky(s)", "cholesky_ex": "torch.linalg.cholesky_ex(s)[0]",
    "cholesky_inverse": "torch.cholesky_inverse(s)", "cholesky_solve": "torch.cholesky_solve(s, s)",
    "inverse": "s.inverse()", "inv_ex": "torch.linalg.inv_ex(s)[0]", "pinverse": "torch.pinverse(s)",
    "solve": "torch.linalg.solve(s, h)", "lstsq": "torch.linalg.lstsq(s, s)[0]", "qr": "torch.linalg.qr(s)[1].abs()",
    "svdvals": "torch.linalg.svdvals(s)", "svd": "torch.linalg.svd(s)[1]", "eigvals": "torch.linalg.eigvals(s).real.sort()[0]",
    "eigvalsh": "torch.linalg.eigvalsh(s)", "eigh": "torch.linalg.eigh(s)[0]", "cond": "torch.linalg.cond(s)",
    "matrix_rank": "torch.linalg.matrix_rank(s)", "tensorinv": "torch.linalg.tensorinv(s, ind=1)",
    "tensorsolve": "torch.linalg.tensorsolve(s, h[0])", "triangular_solve": "torch.triangular_solve(h, s)[0]",
    "geqrf": "torch.geqrf(s)[0].abs()", "lu_solve": "torch.lu_solve(h, *torch.linalg.lu_factor(s.float()))",
    "max_pool3d": "F.max_pool3d(x, 2)", "adaptive_avg_pool3d": "F.adaptive_avg_pool3d(x, 1)",
    "adaptive_max_pool3d": "F.adaptive_max_pool3d(x, 1)",
    "max_unpool2d": "F.max_unpool2d(torch.zeros(1, 1, 2, 2, dtype=h.dtype), torch.tensor([[[[0, 3], [8, 11]]]]), 2)",
    "reflection_pad1d": "F.pad(h, (1, 1), 'reflect')", "reflection_pad2d": "F.pad(x[0, :1, 0], (1, 1, 1, 1), 'reflect')",
    "replication_pad1d": "F.pad(h, (1, 1), 'replicate')",
    "replication_pad2d": "F.pad(x[0, :1, 0], (1, 1, 1, 1), 'replicate')",
    "replication_pad3d": "F.pad(x, (1,) * 6, 'replicate')",
    "mse_loss": "F.mse_loss(h, h + 1)", "cosine_embedding_loss": "F.cosine_embedding_loss(h, -h, torch.ones(4))",
    "nll_loss": "F.nll_loss(h, torch.tensor([0, 1, 2, 3]))", "cross_entropy": "F.cross_entropy(h, torch.tensor([0, 1, 2, 3]))",
    "hinge_embedding_loss": "F.hinge_embedding_loss(h, torch.ones(4))", "poisson_nll_loss": "F.poisson_nll_loss(h, h)",
    "smooth_l1_loss": "F.smooth_l1_loss(h, -h)", "huber_loss": "F.huber_loss(h, -h)", "l1_loss": "F.l1_loss(h, -h)",
    "margin_ranking_loss": "F.margin_ranking_loss(h, -h, torch.ones(4))",
    "soft_margin_loss": "F.soft_margin_loss(h, h)", "triplet_margin_loss": "F.triplet_margin_loss(h, -h, h)",
    "multi_margin_loss": "F.multi_margin_loss(h, torch.tensor([0, 1, 2, 3]))",
    "multilabel_margin_loss": "F.multilabel_margin_loss(h, torch.tensor([[0, -1, 1, 2]] * 4))",
    "ctc_loss": "F.ctc_loss(c.reshape(4, 4, 16).log_softmax(2).to(h.dtype), torch.ones(4, 2, dtype=torch.int64), (4,) * 4, (2,) * 4)",
    "kl_div": "F.kl_div(h, p, reduction='sum')",
    "binary_cross_entropy_with_logits": "F.binary_cross_entropy_with_logits(h, p)",
    "fft": "torch.fft.fft(h)", "ifft2": "torch.fft.ifft2(h)", "rfftn": "torch.fft.rfftn(h)", "irfft": "torch.fft.irfft(h)",
    "hfft": "torch.fft.hfft(h)", "ihfft": "torch.fft.ihfft(h)",
}
PROMOTE = {
    "cat of two": "torch.cat([a, h])", "cat of lower": "torch.cat([h, h])", "stack": "torch.stack([h, a])",
    "index_copy": "a.index_copy(0, torch.tensor([1]), h[:1])", "cat with integers": "torch.cat([h, torch.ones(4, 4, dtype=torch.int64)])",
}
AS_IT_IS = {
    "add": "a + h", "add of lower": "h + h", "exp": "h.exp()", "softmax": "h.softmax(0)", "sum": "h.sum()", "norm": "h.norm()",
    "layer_norm": "F.layer_norm(h, (4,))", "gelu": "F.gelu(h)", "float64 product": "d @ d", "integer product": "i @ i",
    "complex product": "z @ z", "mv": "torch.mv(m, v)", "dot": "torch.dot(v, v)", "in place": "torch.zeros(4, 4).addmm_(m, m)",
    "avg_pool2d": "F.avg_pool2d(c.to(h.dtype), 2)", "interpolate": "F.interpolate(c, scale_factor=2.0)",
    "einsum": "torch.einsum('ij,jk->ik', a, a)", "bilinear": "F.bilinear(a, a, b, None)",
    "gru": "nn.GRU(4, 3)(b)[0]", "rnn": "nn.RNN(4, 3)(b)[0]", "lstm cell": "nn.LSTMCell(4, 3)(a)[0]", "gru cell": "nn.GRUCell(4, 3)(a)",
    "packed lstm": "nn.LSTM(4, 3)(nn.utils.rnn.pack_sequence([b[0], b[1, :2]]))[0].data", "attention": "nn.MultiheadAttention(4, 2)(a, a, a)[0]",
    "encoder": "nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)(a)", "batch norm": "nn.BatchNorm1d(4)(F.linear(a, m))",
}


def names(torch):
    def grid(*shape):
        count = 1
        for size in shape:
            count *= size
        return (torch.arange(float(count)) * 0.37).sin().reshape(shape)
    a = grid(4, 4)
    torch.manual_seed(0)
    h = grid(4, 4).to(torch.bfloat16)
    return {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "a": a, "m": grid(4, 4) + 1, "v": grid(4) + 2,
            "b": grid(4, 4, 4), "c": grid(4, 4, 4, 4), "e": grid(2, 2, 2, 2, 2), "x": grid(2, 3, 4, 4, 4).to(torch.bfloat16),
            "h": h, "s": (grid(4, 4) @ grid(4, 4).t() + 4 * torch.eye(4)).to(torch.bfloat16), "p": a.sigmoid().to(torch.bfloat16),
            "d": a.double(), "i": torch.arange(16).reshape(4, 4), "z": a.to(torch.complex64)}


def outcome(torch, code, **options):
    given = names(torch)
    with torch.autocast("cpu", **options):
        try:
            return eval(code, given)
        except (RuntimeError, NotImplementedError) as error:
            return type(error)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name, code", [*LOWER.items(), *FLOAT.items(), *PROMOTE.items(), *AS_IT_IS.items()])
def test_operators(name, code, dtype):
    ours = outcome(kindling, code, dtype=getattr(kindling, dtype))
    theirs = outcome(reference, code, dtype=getattr(reference, dtype))
    if isinstance(theirs, type):
        assert ours is theirs, (ours, theirs)
        return
    assert not isinstance(ours, type), ours
    assert str(ours.dtype) == str(theirs.dtype) and ours.shape == theirs.shape
    if name in LOWER:
        assert str(ours.dtype) == "torch." + dtype
    if name in FLOAT and name != "matrix_rank":
        assert str(ours.dtype) in ("torch.float32", "torch.complex64")
    tolerance = {"torch.bfloat16": 2e-2, "torch.float16": 4e-3}.get(str(ours.dtype), 1e-2 if name in AS_IT_IS else 1e-4)
    expected = reference.tensor(ours.tolist(), dtype=theirs.dtype)
    reference.testing.assert_close(expected, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_every_listed_operator_is_declared_alike():
    """The declarations name the very operators that torch's dispatcher has for autocast on the CPU."""
    listed = {name.partition("::")[2] for name in reference._C._dispatch_get_all_op_names()
              if name.startswith("aten::") and reference._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCPU")}
    import re
    from pathlib import Path
    declared = set()
    for path in (Path(__file__).parents[2] / "operators").rglob("*.cpp"):
        for part in re.split(r"\bdeclare\(", path.read_text())[1:]:
            if "trait::Autocast" in part:
                declared.add(re.match(r'"([\w.]+)\(', part)[1])
    # Not operators here: other backends' kernels, and parts of compositions.
    absent = {"_addmm_activation", "_convolution.deprecated", "_grid_sampler_2d_cpu_fallback", "_native_multi_head_attention",
              "fake_quantize_per_tensor_affine", "mkldnn_rnn_layer", "multilabel_margin_loss_forward"}
    assert declared == listed - absent


def test_lstm_layers():
    """torch runs them by a library that knows no float16, and bfloat16 only on processors with AVX-512: its float32 serves there."""
    layers = "nn.LSTM(4, 3, num_layers=2, bidirectional=True)(b)"
    ours, theirs = (outcome(torch, layers, dtype=torch.bfloat16) for torch in BOTH)
    if not reference.ops.mkldnn._is_mkldnn_bf16_supported():
        assert theirs is RuntimeError
        theirs = outcome(reference, layers, enabled=False)
        theirs = theirs[0].bfloat16(), [each.bfloat16() for each in theirs[1]]
    for one, other in zip((ours[0], *ours[1]), (theirs[0], *theirs[1])):
        assert str(one.dtype) == str(other.dtype) == "torch.bfloat16"
        reference.testing.assert_close(reference.tensor(one.tolist()), other.float(), rtol=2e-2, atol=2e-2)
    assert outcome(kindling, "nn.LSTM(4, 3)(b)[0]", dtype=kindling.float16).dtype == kindling.float16


def test_nesting_and_state():
    def run(torch):
        seen, m = [], torch.ones(2, 2)

        def note():
            seen.append((str((m @ m).dtype), torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu")),
                         torch.is_autocast_cache_enabled()))
        note()
        with torch.autocast("cpu"):
            note()
            with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
                note()
                with torch.autocast("cpu", enabled=False):
                    note()
                note()
            note()
            try:
                with torch.amp.autocast("cpu", enabled=False):
                    raise ValueError
            except ValueError:
                note()
        note()
        return seen
    assert run(kindling) == run(reference)


def test_decorator_and_threads():
    @kindling.autocast("cpu", dtype=kindling.bfloat16)
    def product(x):
        other = []
        thread = threading.Thread(target=lambda: other.append((x @ x).dtype))
        thread.start()
        thread.join()
        return (x @ x).dtype, other[0]
    assert product(kindling.ones(2, 2)) == (kindling.bfloat16, kindling.float32)


def test_unknown_dtype_switches_off():
    for torch in BOTH:
        with pytest.warns(UserWarning, match="target dtype is not supported"):
            block = torch.autocast("cpu", dtype=torch.float32)
        with block:
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def train(torch, **options):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", **options)
    x, y = (torch.arange(80.0) * 0.3).sin().reshape(10, 8), torch.arange(10) % 4
    losses, dtypes = [], set()
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
            loss = torch.nn.functional.cross_entropy(out, y)
        dtypes |= {str(out.dtype), str(loss.dtype), *(str(each.dtype) for each in model.parameters())}
        scaler.scale(loss).backward()
        dtypes |= {"grad " + str(each.grad.dtype) for each in model.parameters()}
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, dtypes, scaler.get_scale()


def test_training():
    ours, theirs = train(kindling), train(reference)
    assert ours[1:] == theirs[1:]
    assert ours[0] == pytest.approx(theirs[0], rel=2e-2) and ours[0][-1] < ours[0][0] * 0.7


def test_scaler_skips_infinite_gradients():
    def run(torch):
        w = torch.nn.Parameter(torch.ones(2))
        optimizer, scaler, seen = torch.optim.SGD([w], lr=1.0), torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2), []
        for factor in (1.0, float("inf"), 1.0, 1.0, float("nan"), 1.0):
            optimizer.zero_grad()
            scaler.scale((w * factor).sum()).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_([w], 0.5)
            scaler.step(optimizer)
            scaler.update()
            seen.append((scaler.get_scale(), [round(each, 5) for each in w.tolist()]))
        return seen, scaler.state_dict()
    assert run(kindling) == run(reference)


def casts(torch, block):
    """How often the weight is cast while `block(weight, x)` runs, seen by the backward's edges."""
    weight, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2)
    return len({id(node) for node in (out.grad_fn.next_functions[1][0] for out in block(weight, x))})


def test_casts_of_weights_are_kept():
    def twice(torch, cache, change=False):
        def block(weight, x):
            with torch.autocast("cpu", cache_enabled=cache):
                first = torch.mm(x, weight)
                if change:
                    with torch.no_grad():
                        weight.mul_(2)
                return first, torch.mm(x, weight)
        return block
    for torch in BOTH:
        assert casts(torch, twice(torch, True)) == 1, torch.__name__
        assert casts(torch, twice(torch, False)) == 2, torch.__name__
    assert casts(kindling, twice(kindling, True, change=True)) == 2     # torch takes the old values again


def test_kept_casts_follow_the_weight_and_the_block():
    weight, x = kindling.nn.Parameter(kindling.ones(2, 2)), kindling.ones(2, 2)
    with kindling.autocast("cpu"):
        with kindling.no_grad():
            assert kindling.mm(x, weight).tolist() == [[2, 2], [2, 2]]
        assert kindling.mm(x, weight).requires_grad
        with kindling.no_grad():
            weight.fill_(3)
        assert kindling.mm(x, weight).tolist() == [[6, 6], [6, 6]]
        with kindling.autocast("cpu", dtype=kindling.float16):
            assert kindling.mm(x, weight).dtype == kindling.float16
        kindling.mm(x, weight).sum().backward()
    assert weight.grad.dtype == kindling.float32
    import gc
    import weakref
    alive = weakref.ref(weight)
    del weight
    gc.collect()
    assert alive() is None


def test_custom_functions():
    def run(torch):
        seen = []

        class Plain(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu")
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                seen.append(torch.is_autocast_enabled("cpu"))
                return x @ w

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                seen.append((torch.is_autocast_enabled("cpu"), str((grad @ grad).dtype)))
                return (grad @ w.t()).to(x.dtype), (x.t() @ grad).to(w.dtype)

        class Cast(Plain):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                seen.append((torch.is_autocast_enabled("cpu"), str(x.dtype)))
                return x @ w
        for function in (Plain, Cast):
            x, w = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True), torch.ones(2, 2, requires_grad=True)
            with torch.autocast("cpu"):
                out = function.apply(x, w)
            out.sum().backward()
            seen.append((str(out.dtype), str(x.grad.dtype), x.grad.tolist(), str(w.grad.dtype), w.grad.tolist()))
        return seen
    assert run(kindling) == run(reference)


def test_backward_inside_and_checkpoints():
    def run(torch):
        w = torch.nn.Parameter((torch.arange(4.0) + 1).reshape(2, 2))
        with torch.autocast("cpu"):
            (w @ w).float().pow(2).sum().backward()
        first = w.grad.clone()
        w.grad = None
        with torch.autocast("cpu"):
            out = torch.utils.checkpoint.checkpoint(lambda t: t @ t, w, use_reentrant=False)
        out.float().pow(2).sum().backward()
        return str(out.dtype), first.tolist(), w.grad.tolist(), str(w.grad.dtype)
    assert run(kindling) == run(reference)


def test_modes_see_the_casts():
    def run(torch):
        from importlib import import_module
        base = import_module(torch.__name__ + ".utils._python_dispatch").TorchDispatchMode
        seen = []

        class Watch(base):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))
        with torch.autocast("cpu"), Watch():
            torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
        return seen
    assert run(kindling) == run(reference)


@pytest.mark.parametrize("device", ["nothing", "meta"])
def test_devices_without_autocast(device):
    words = []
    for module in (reference, kindling):
        with pytest.raises(RuntimeError) as told:
            module.autocast(device)
        words.append(str(told.value))
    assert words[0] == words[1]
