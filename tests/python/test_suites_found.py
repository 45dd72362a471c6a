"""What PyTorch's own test files found, beside torch."""
import textwrap

import pytest
from both import same

@pytest.mark.parametrize("program", [
    "torch.nonzero(torch.ones(2), out=torch.empty(0))",
    "torch.nonzero(torch.ones(2), out=torch.empty(0, dtype=torch.int32))",
    "torch.nonzero(torch.ones(2), as_tuple=True, out=torch.empty(0, dtype=torch.int64))",
    "torch.ones(2, dtype=torch.complex64).conj().view(torch.float32)",
    "torch.ones(2, dtype=torch.complex64).conj().imag.view(torch.int32)",
    "torch.empty(10, 0)[:, torch.tensor([0])]",
    "torch.empty(10, 0)[torch.tensor([1, 20]), torch.tensor([0, 0])]",
    "torch.empty(0)[torch.tensor([1])]",
    "torch.empty(0)[torch.tensor([], dtype=torch.int64)]",
    "torch.ones(3)[torch.tensor([5])]",
    "torch.arange(4).index_put((torch.tensor([0, 1]),), torch.ones(3))",
    "torch.arange(4).index_put((torch.tensor([0, 1]),), torch.ones(2))",
    "x = torch.arange(4)\nx.__setitem__(x > 1, torch.tensor([1., 2., 3.]))",
])
def test_texts_of_errors(program):
    same(program)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 0])
@pytest.mark.parametrize("index", [-1, 10])
def test_embedding_bag_names_the_index(mode, padding, index):
    same(f"F.embedding_bag(torch.tensor([1, {index}, 3]), torch.ones(10, 3), torch.tensor([0, 2]), mode={mode!r}, padding_idx={padding})")


@pytest.mark.parametrize("program", [
    "x = torch.ones(2, requires_grad=True)\nx.__delattr__('_grad_fn')",
    "x = torch.ones(2, requires_grad=True)\nx.__delattr__('_backward_hooks')",
    "x = torch.ones(2, requires_grad=True)\nx.__setattr__('data', torch.ones(2, dtype=torch.int64))",
    "x = torch.ones(2)\nx.__setattr__('data', torch.ones(2, dtype=torch.int64)), x",
    "x = torch.ones(1, 2)\nx.__setattr__('data', torch.eye(2).to_sparse())",
    "x = torch.eye(2).to_sparse()\nx.__setattr__('data', torch.eye(2).to_sparse_csr())",
])
def test_what_a_tensor_refuses(program):
    same(program)


@pytest.mark.parametrize("program", [
    """
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = torch.ones(2, 3, requires_grad=True).clone()
        b, c = a ** 2, a ** 2
        seen = [len(context.tid_to_weakhandle), len(context.cloned)]
        a.sin_()
        seen.append(len(context.cloned))
        d = a ** 2
        a.sin_()
        seen.append(len(context.cloned))
        del b, c
        seen.append(len(context.cloned))
        del d
        seen.append(len(context.cloned))
    seen
    """,
    """
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a, b = torch.ones(1, requires_grad=True), torch.ones(1)
        out = a * b
        torch.sin(torch.zeros(1), out=b)
        out.backward()
    a.grad, len(context.cloned)
    """,
    """
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = torch.ones(2, requires_grad=True)
        out = (a ** 2).sum()
    try:
        out.backward()
    except AssertionError as error:
        said = str(error)
    said.partition("' context")[0]
    """,
    """
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        torch.autograd.graph.allow_mutation_on_saved_tensors().__enter__()
    """,
    "with torch.autograd.graph.allow_mutation_on_saved_tensors():\n    x = 1\ntorch.ones(1)",
])
def test_writing_to_saved_tensors(program):
    same(textwrap.dedent(program).strip())


@pytest.mark.parametrize("program", [
    """
    def f(x):
        y = x.clone()
        y.register_hook(lambda g: g + 1e-2)
        return y
    try:
        torch.autograd.gradcheck(f, (torch.ones(2, dtype=torch.float64, requires_grad=True),))
    except RuntimeError as error:
        said = str(error)[:55]
    said
    """,
    """
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad((torch._C._functions.UndefinedGrad()(x.view(2)).sum() + (2 * x).sum()), x), type(x.view(2).grad_fn.next_functions[0][0]) is torch._C._functions.AccumulateGrad
    """,
])
def test_gradients(program):
    same(textwrap.dedent(program).strip())


def test_the_storage_class_follows_the_default_dtype():
    import kindling
    before = kindling.Storage
    with kindling.set_default_dtype(kindling.float64):
        inside = kindling.Storage
        assert inside([1, 2]).tolist() == [1.0, 2.0] and inside.__name__ == "DoubleStorage"
    assert kindling.Storage is before and before.__name__ == "FloatStorage"


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("given", ["torch.ones(4)", "torch.ones(4, requires_grad=True)", "torch.ones(4, requires_grad=True) * 1"])
def test_bytes_of_another_dtype_are_no_view_to_autograd(dtype, given):
    same(f"x = {given}\ny = x.view(torch.{dtype})\ny.requires_grad, y._base is None, y._is_view(), y.grad_fn is None, y.data_ptr() == x.data_ptr(), y._version")


@pytest.mark.parametrize("program", [
    "torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 3))", "torch.hsmm(torch.eye(2).to_sparse(), torch.ones(2, 3)).to_dense()",
    "torch.saddmm(torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), torch.ones(2, 2), beta=2).to_dense()",
])
def test_old_names_of_sparse_products(program):
    same(program)


@pytest.mark.parametrize("program", [
    "torch.{}.device", "torch.{}.to('cpu').device", "(torch.{} + torch.ones(2)).device" , "torch.nn.Linear(2, 2, device='cpu:1').weight.device",
    "torch.ones(2).to('cpu:0').device", "torch.empty(2, device='meta:3').device", "torch.ones(2).to('meta:0').device", "torch.device('cpu:0')",
    "torch.eye(2, device='cpu:0').to_sparse().device", "torch.asarray([1], device='cpu:0').device", "torch.Generator('cpu:2').device", "torch.ones(2).new_ones(2, device='cpu:1').device",
])
def test_there_is_one_cpu(program):
    for made in ("ones(2, device='cpu:0')", "empty(2, device=torch.device('cpu', 1))", "tensor([1, 2], device='cpu:0')", "rand(2, device='cpu:0')"):
        same(program.format(made))
        if "{}" not in program:
            break


def test_what_convolutions_run_on():
    """PyTorch's answer where it has neither oneDNN nor NNPACK (which needs batches from 16 on)."""
    import kindling
    import torch
    ours, theirs = kindling._C._ConvBackend, torch._C._ConvBackend
    assert {name: int(each) for name, each in ours.__members__.items()} == {name: int(each) for name, each in theirs.__members__.items()}
    assert [repr(ours.Empty), str(ours.Mps), hash(ours.Mps), ours.Mps == ours(21)] == [repr(theirs.Empty), str(theirs.Mps), hash(theirs.Mps), True]
    shapes = [(2, 6, *[9] * dims) for dims in (1, 2, 3)] + [(0, 6, 9), (2, 0, 9, 9), (0, 0, 9, 9, 9), (2, 6, 0), (2, 6, 0, 9), (2, 6, 3, 3)]
    for shape in shapes:
        for transposed in (False, True):
            for dilation in (1, 2):
                for device in ("cpu", "meta"):
                    for padding in (0, 2, -1):
                        for bias in (None, 12, 5):
                            source = f"""
dims, channels = {len(shape) - 2}, {shape[1]}
weight = torch.ones({'channels, 12' if transposed else '12, channels'}, *[3] * dims, device={device!r})
bias = {bias} and torch.ones({bias}, device={device!r})
torch._C._select_conv_backend(torch.ones({shape}, device={device!r}), weight, bias, [1] * dims, [{padding}] * dims, [{dilation}] * dims, {transposed}, [0] * dims, 1)"""
                            with torch.backends.mkldnn.flags(enabled=False):
                                same(source)


@pytest.mark.parametrize("program", [
    "F.conv_transpose2d(torch.ones(2, 6, 0, 3), torch.ones(6, 6, 3, 3))", "F.conv2d(torch.ones(2, 6, 0, 3), torch.ones(6, 6, 3, 3), padding=3)",
    "F.conv1d(torch.ones(2, 6, 0), torch.ones(6, 6, 3), padding=3)", "F.conv2d(torch.ones(6, 0, 3), torch.ones(6, 6, 3, 3), padding=3)",
    "F.conv2d(torch.ones(2, 0, 0, 3), torch.ones(6, 0, 3, 3), padding=3).shape", "F.conv2d(torch.ones(0, 6, 0, 3), torch.ones(6, 6, 3, 3), padding=3).shape",
    "F.conv3d(torch.ones(2, 6, 0, 3, 3, device='meta'), torch.ones(6, 6, 3, 3, 3, device='meta'), padding=3).shape",
])
def test_convolutions_of_nothing(program):
    same(program)


@pytest.mark.parametrize("program", [
    "torch._mkldnn, torch._mkldnn == torch.strided, torch.ones(2).layout == torch._mkldnn", "torch.zeros(2, 3, layout=torch.jagged)",
    "torch.empty(2, layout=torch.jagged).layout", "torch.zeros_like(torch.ones(2), layout=torch.jagged)",
])
def test_layouts_that_no_tensor_has(program):
    same(program)


@pytest.mark.parametrize("given", ["torch.ones(3, 3)", "torch.ones(()).expand(3, 3)", "torch.ones(3, 3).t()"])
@pytest.mark.parametrize("looked", ["F.embedding(i, w, sparse=True)", "F.embedding_bag(i, w, torch.arange(3), mode='sum', sparse=True)"])
def test_sparse_gradients_share_memory_where_their_parts_are_contiguous(given, looked):
    same(f"""
w, i, v = torch.ones(10, 3, requires_grad=True), torch.tensor([7, 1, 3]), {given}
{looked}.backward(v)
i.fill_(2), v.fill_(5) if v.is_contiguous() else 0, w.grad""")


CALLS = [f"torch.{name}({given})" for name in ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only") for given in (
    "W, I, O", "W.double(), I, O", "W, I[0], O", "W, I[None, None], O", "W, I, O[0]", "W[0], I, O", "W[None], I, O", "W, I.float(), O", "W, I, O.float()",
    "W, I[:0], O[:1]", "W, I, O[:0]", "W.int(), I, O", "W, I.int(), O", "W, I, O, False, 1", "W, I, O, False, 2", "W, I, O, False, 3", "W, I, O, False, -1",
    "W, I, O[:0], False, 0, False, None, True", "W, I[:2], O, False, 1, False, None, True", "W, I, O, False, 1, False, I * 1.", "W, I, O, False, 0, False, I",
    "W, I, O, False, 0, False, I[:2] * 1.", "W, I, O, False, 0, False, I[None] * 1.", "W, I, O, False, 0, False, I.double()", "W.double(), I, O, False, 0, False, I * 1.")]
CALLS += [f"torch.embedding_bag(W, I, O, False, 0, False, None, False, {row})[0]" for row in (-11, -10, 2, 9, 10)]


@pytest.mark.parametrize("program", CALLS)
def test_what_bags_take(program):
    same(program, "W, I, O = torch.arange(30.).view(10, 3), torch.tensor([1, 2, 2, 3, 2]), torch.tensor([0, 2])")


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("row", [None, 2, -8])
@pytest.mark.parametrize("weights", [None, "torch.arange(5.)"])
def test_bags_scale_gradients_by_frequency(mode, sparse, row, weights):
    if sparse and mode == 2:    # refused by torch.nn.functional; the operator gives the gradient of sums
        return
    for scale in (False, True):
        same(f"torch.autograd.grad(torch.embedding_bag(W, I, O, {scale}, {mode}, {sparse}, {weights}, False, {row})[0].sum(), W)[0].to_dense()",
             "W, I, O = torch.ones(10, 3, requires_grad=True), torch.tensor([1, 2, 2, 3, 2]), torch.tensor([0, 2])")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradcheck_has_a_fast_mode(dtype):
    import kindling as torch
    calls = []

    def function(x, slope):
        calls.append(0)
        return (x * x + (x.detach() if slope else 0)).sum(0), x.abs().exp() if dtype == "float64" else (x * 1j).exp()
    x = torch.randn(20, 10, dtype=getattr(torch, dtype)).requires_grad_()
    before, state = x.detach().clone(), torch.get_rng_state()
    assert torch.autograd.gradcheck(function, (x, False), fast_mode=True) and len(calls) < 10
    assert torch.autograd.gradgradcheck(function, (x, False), tuple(torch.ones(size, dtype=x.dtype, requires_grad=True) for size in (10, (20, 10))), fast_mode=True)
    assert not torch.autograd.gradcheck(function, (x, True), fast_mode=True, raise_exception=False)
    with pytest.raises(torch.autograd.gradcheck.__globals__["GradcheckError"], match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(function, (x, True), fast_mode=True)
    assert torch.equal(before, x) and torch.equal(state, torch.get_rng_state())
