"""torch.vmap by batched tensors: what it gives beside one call for each slice, nesting with derivatives, random numbers, refusals."""
import copy
import importlib.util
import io
import pathlib
import pickle
import subprocess
import sys

import numpy
import pytest

import kindling as torch
from kindling import func

nn, F = torch.nn, torch.nn.functional


def slices(function, *args):
    """One call for each slice of the arguments."""
    results = [function(*each) for each in zip(*args)]
    return torch.stack(results) if isinstance(results[0], torch.Tensor) else [torch.stack(each) for each in zip(*results)]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("function", [
    torch.sin, torch.sum, torch.mean, torch.softmax, torch.sort, torch.cumsum, torch.logsumexp, torch.std, torch.amax, torch.topk, torch.flip, torch.roll, torch.diag,
    lambda x: x.view(3, 1), lambda x: x[1], lambda x: x[None].transpose(0, 1), lambda x: x.expand(2, 3), lambda x: x.unsqueeze(-1).squeeze(), lambda x: torch.cat([x, x]),
    lambda x: x.clone().mul_(2), lambda x: x.clone().view(3, 1).t_() + 0, lambda x: x @ x, lambda x: torch.outer(x, x), lambda x: torch.where(x > 0, x, 0.), lambda x: x.nan_to_num(),
    lambda x: F.layer_norm(x, (3,)), lambda x: torch.linalg.norm(x), lambda x: x.unbind()[1], lambda x: x.to(torch.float64), lambda x: x + torch.arange(3),
    lambda x: torch.zeros_like(x).index_add_(0, torch.tensor([0, 1, 0]), x), lambda x: x.as_strided((2,), (2,)), lambda x: torch.fft.rfft(x), lambda x: x.conj() * 1j,
], ids=lambda f: getattr(f, "__name__", ""))
def test_slices(function):
    x = torch.randn(4, 3)
    extra = {torch.softmax: (0,), torch.cumsum: (0,), torch.logsumexp: (0,), torch.topk: (2,), torch.flip: ((0,),), torch.roll: (1,)}.get(function, ())

    def call(row):
        result = function(row, *extra)
        return result[0] if isinstance(result, tuple) else result
    torch.testing.assert_close(torch.vmap(call)(x), slices(call, x))
    torch.testing.assert_close(torch.vmap(call, in_dims=1)(x.t()), slices(call, x))                       # slices that lie across memory
    torch.testing.assert_close(torch.vmap(torch.vmap(call))(x.expand(2, 4, 3)), slices(call, x).expand(2, *slices(call, x).shape))


def test_weak_dimensions_stay_weak():
    """A slice of no dimension is weak in promotion, though all slices together have one."""
    numbers, row = torch.arange(3, dtype=torch.float64), torch.ones(2)
    assert torch.vmap(lambda n: row + n)(numbers).dtype is torch.float32
    assert torch.vmap(lambda n: n + torch.tensor(1, dtype=torch.float64))(torch.ones(3)).dtype is torch.float64


def test_the_same_for_all():
    x, w = torch.randn(4, 3), torch.randn(3)
    assert torch.equal(torch.vmap(lambda a, b: a * b, (0, None))(x, w), x * w)
    assert torch.vmap(lambda a: w * 2)(x).shape == (4, 3)
    assert torch.equal(torch.vmap(lambda a: w * 2, out_dims=None)(x), w * 2)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        torch.vmap(lambda a: a * 2, out_dims=None)(x)
    assert torch.equal(torch.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)[0], x.t())
    for size in (1, 3, 4, 9):
        assert torch.equal(torch.vmap(torch.sin, chunk_size=size, out_dims=1)(x), x.sin().t())


def test_per_sample_gradients():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 9, 5))
    images, labels = torch.randn(6, 1, 8, 8), torch.randint(5, (6,))
    params = {name: value.detach() for name, value in net.named_parameters()}

    def loss(params, image, label):
        return F.cross_entropy(func.functional_call(net, params, (image[None],)), label[None])
    found = torch.vmap(func.grad(loss), (None, 0, 0))(params, images, labels)
    for name in params:
        torch.testing.assert_close(found[name], torch.stack([func.grad(loss)(params, image, label)[name] for image, label in zip(images, labels)]), rtol=1e-4, atol=1e-5)


def test_gradients_from_outside():
    """An ensemble: the mapped function's derivatives, by backward, and again."""
    models = [nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]
    x = torch.randn(5, 3)
    params, buffers = func.stack_module_state(models)
    torch.vmap(lambda p, b: func.functional_call(models[0], (p, b), (x,)))(params, buffers).sin().sum().backward()
    for name, value in params.items():
        expected = torch.stack([torch.autograd.grad(m(x).sin().sum(), dict(m.named_parameters())[name])[0] for m in models])
        torch.testing.assert_close(value.grad, expected)
    w = torch.randn(3, 3, requires_grad=True)
    mapped = torch.vmap(lambda row: F.softmax(w @ row, 0).prod())(x).sum()
    plain = sum(F.softmax(w @ row, 0).prod() for row in x)
    first, other = (torch.autograd.grad(each, w, create_graph=True)[0] for each in (mapped, plain))
    torch.testing.assert_close(first, other)
    torch.testing.assert_close(*(torch.autograd.grad(each.pow(2).sum(), w)[0] for each in (first, other)))


@pytest.mark.parametrize("nested", [
    lambda f: torch.vmap(func.grad(f)), lambda f: func.jacrev(torch.vmap(f)), lambda f: torch.vmap(func.jacrev(f)), lambda f: torch.vmap(func.hessian(f)),
    lambda f: func.grad(lambda x: torch.vmap(func.grad(f))(x).sin().sum()), lambda f: torch.vmap(lambda r: func.grad(lambda a: torch.vmap(f)(a.expand(2, 3) * a).sum())(r)),
    lambda f: func.grad(lambda x: torch.vmap(lambda r: func.grad(lambda a: f(a) * x.sum())(r).sum())(x).sum()),
], ids=["vmap grad", "jacrev vmap", "vmap jacrev", "vmap hessian", "grad vmap grad", "vmap grad vmap", "closures of three levels"])
def test_nesting(nested):
    def f(a):
        return torch.logsumexp(a * a.roll(1), 0) * a.prod()
    x = torch.randn(4, 3, dtype=torch.float64)
    found = nested(f)(x)
    assert isinstance(found, torch.Tensor)
    by_slices = torch.vmap
    try:
        torch.vmap = lambda function, in_dims=0, chunk_size=None, **rest: lambda *args: slices(function, *args)
        expected = nested(f)(x)
    finally:
        torch.vmap = by_slices
    torch.testing.assert_close(found, expected)


def test_writes_in_place_under_derivatives():
    def f(row):
        b = row * 1
        b[0] = b[1] * 2
        b[1:].mul_(row[0])
        return b.sin().sum()
    x = torch.randn(4, 3)
    expected = slices(func.grad(f), x)
    torch.testing.assert_close(torch.vmap(func.grad(f))(x), expected)
    torch.testing.assert_close(func.grad(lambda a: torch.vmap(f)(a).sum())(x), expected)
    total = torch.zeros(3)
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        torch.vmap(lambda row: total.add_(row))(x)


def test_randomness():
    x = torch.zeros(4, 3)
    draw = lambda row: row + torch.randn(3)                                   # noqa: E731
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        torch.vmap(draw)(x)
    same, different = (torch.vmap(draw, randomness=each)(x) for each in ("same", "different"))
    assert (same == same[0]).all() and not (different[1:] == different[0]).any()
    torch.manual_seed(3)
    found = torch.vmap(draw, randomness="different")(x)
    torch.manual_seed(3)
    assert torch.equal(found, torch.randn(4, 3))                              # as PyTorch draws them: all at once
    for randomness, alike in (("same", True), ("different", False)):
        for function in (lambda row: F.dropout(row + 1), lambda row: (row + 1).clone().uniform_(), torch.rand_like, lambda row: torch.randperm(20), lambda row: row.clone().bernoulli_(.5)):
            found = torch.vmap(function, randomness=randomness)(torch.zeros(8, 30))
            assert bool((found == found[0]).all()) == alike
    with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness on an unbatched tensor"):
        torch.vmap(lambda row: torch.zeros(3).normal_(), randomness="different")(x)
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor input"):
        torch.vmap(torch.bernoulli, randomness="same")(x)


@pytest.mark.parametrize("function, words", [
    (lambda x: x.sum().item(), "calling .item\\(\\) on a Tensor"), (lambda x: x if x.sum() > 0 else -x, "data-dependent control flow"),
    (lambda x: x.data_ptr() and x, "Cannot access data pointer"), (lambda x: torch.from_numpy(x.numpy()), "Cannot access data pointer"),
    (lambda x: torch.sin(x, out=torch.empty(3)), "doesn't work on out= or view ops"), (lambda x: torch.nonzero(x), "shape"), (lambda x: torch.tensor(x.tolist()), "cannot access the memory"),
], ids=["item", "bool", "data_ptr", "numpy", "out", "nonzero", "tolist"])
def test_refusals(function, words):
    with pytest.raises(RuntimeError, match=words):
        torch.vmap(function)(torch.tensor([[1., 0., 2.], [1., 3., 2.]]))
    assert torch._C._vmap_depth() == 0                                        # an error closes the level


@pytest.mark.parametrize("function, error", [
    (lambda x: x.share_memory_(), NotImplementedError), (copy.deepcopy, NotImplementedError), (pickle.dumps, NotImplementedError), (lambda x: torch.save(x, io.BytesIO()), NotImplementedError),
    (memoryview, BufferError), (lambda x: x.set_(torch.ones(3)), RuntimeError), (lambda x: setattr(x, "data", torch.ones(3)), RuntimeError), (lambda x: x.apply_(abs), RuntimeError),
    (lambda x: x.resize_(5), RuntimeError), (lambda x: x.as_strided((10,), (1,)), RuntimeError), (lambda x: x.untyped_storage(), NotImplementedError),
], ids=["share_memory_", "deepcopy", "pickle", "save", "memoryview", "set_", "data", "apply_", "resize_", "as_strided", "storage"])
def test_memory_is_out_of_reach(function, error):
    def ask(x):
        with pytest.raises(error):
            function(x)
        return x * 2
    assert torch.vmap(ask)(torch.ones(2, 3)).tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("call, words", [
    (lambda: torch.vmap(torch.mul, [0, 0]), None), (lambda: torch.vmap(torch.mul, [0, 0])(torch.ones(2), torch.ones(2)), "expected `in_dims` to be int or a"),
    (lambda: torch.vmap(torch.mul, (0,))(torch.ones(2), torch.ones(2)), "in_dims is not compatible with the structure of `inputs`"),
    (lambda: torch.vmap(torch.sin, out_dims="a"), "must be an int, None or a python collection of ints"),
    (lambda: torch.vmap(lambda x: (x, x), out_dims=(0,))(torch.ones(2)), "out_dims is not compatible with the structure of `outputs`"),
    (lambda: torch.vmap(lambda x: 1)(torch.ones(2)), "must only return Tensors, got type"), (lambda: torch.vmap(torch.sin, out_dims=3)(torch.ones(2)), None),
], ids=["list unused", "list", "too few", "text", "too few out", "number", "out of range"])
def test_arguments(call, words):
    if words is None:
        try:
            call()
        except IndexError as error:
            assert "Dimension out of range" in str(error)
    else:
        with pytest.raises(ValueError, match=words):
            call()


def test_results_as_they_come():
    assert torch.vmap(lambda x: (x, "text", None), out_dims=(0, None, None))(torch.ones(2))[1:] == ("text", None)
    both = torch.vmap(torch.sort)(torch.tensor([[2., 1.], [3., 4.]]))
    assert type(both) is type(torch.sort(torch.ones(2))) and both.indices.tolist() == [[1, 0], [0, 1]]
    x = torch.ones(2, 3)
    assert torch.vmap(lambda row: row)(x) is x and torch.vmap(torch.Tensor.acos_)(x) is x      # a slice of all is all of it
    assert torch.vmap(lambda row: torch.ones(3, dtype=torch.cfloat).conj() * row if not row.is_conj() else row)(x).shape == (2, 3)


def test_slices_may_be_told():
    import warnings
    x = torch.rand(2, 3)
    torch._C._debug_only_display_vmap_fallback_warnings(True)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            torch.vmap(torch.sin)(x)
            assert not heard
            torch.vmap(lambda row: torch.histc(row, 4))(x)
        assert any("There is a performance drop because we have not yet implemented the batching rule for" in str(each.message) for each in heard)
    finally:
        torch._C._debug_only_display_vmap_fallback_warnings(False)


def test_how_one_is_printed():
    seen = []
    torch.vmap(lambda x: seen.append(repr(x)) or x)(torch.arange(2.))
    assert seen == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([0., 1.])\n)"]


def test_what_leaks_out_stays_usable():
    kept = []
    torch.vmap(lambda x: kept.append(x * 2) or x)(torch.arange(3.))
    assert kept[0].shape == () and "BatchedTensor" in repr(kept[0])


def test_memory_is_given_back():
    x = torch.randn(64, 256)
    w = torch.randn(256, requires_grad=True)

    def work():
        torch.vmap(func.grad(lambda r: (r * w).sin().sum()))(x).sum().backward()
    work()
    before = torch.memory_stats()["in_use"] if "in_use" in torch.memory_stats() else None
    for _ in range(20):
        work()
    if before is not None:
        assert torch.memory_stats()["in_use"] <= before + 2 ** 20


def test_threads_have_levels_of_their_own():
    import threading
    failed = []

    def work(number):
        try:
            for _ in range(50):
                x = torch.full((number + 2, 3), float(number))
                assert torch.equal(torch.vmap(lambda r: torch.vmap(lambda e: e * 2)(r))(x), x * 2)
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_backward_of_a_mapped_graph_inside_another_vmap():
    """Saved slices of a vmap that has ended meet gradients that a younger one maps over."""
    x, w = torch.randn(4, 3), torch.randn(3, 3, requires_grad=True)
    out = torch.vmap(lambda row: torch.softmax(w @ row, 0))(x).sum(0)
    basis = torch.eye(3)
    rows = torch.vmap(lambda unit: torch.autograd.grad(out, w, unit, retain_graph=True)[0])(basis)
    torch.testing.assert_close(rows, torch.stack([torch.autograd.grad(out, w, unit, retain_graph=True)[0] for unit in basis]))


def test_the_import_is_lazy():
    code = "import kindling, sys; assert 'kindling.func._vmap' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class Scaled(torch.autograd.Function):
    """exp(x) * w, with a backward that is not its forward's, to tell who was asked."""
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x.exp() * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * x.exp() * w * 10, (grad * x.exp() * 100).sum_to_size(w.shape)


class Sorted(torch.autograd.Function):
    """A sort in NumPy, with a rule of its own for slices."""

    @staticmethod
    def forward(x, dim):
        return torch.from_numpy(numpy.sort(x.detach().numpy(), dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0].argsort(inputs[1]))

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad).scatter(0, ctx.saved_tensors[0], grad), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        assert info.batch_size == 4 and info.randomness == "error" and in_dims == (0, None)
        return Sorted.apply(x, dim + 1), 0


def test_functions_inside():
    x, w = torch.randn(4, 3), torch.randn(3)
    outside = func.grad(lambda x, w: torch.vmap(lambda row: Scaled.apply(row, w))(x).sum(), (0, 1))(x, w)
    torch.testing.assert_close(outside[0], 10 * x.exp() * w)
    torch.testing.assert_close(outside[1], 100 * x.exp().sum(0))
    inside = torch.vmap(func.grad(lambda row, w: Scaled.apply(row, w).sum(), (0, 1)), (0, None))(x, w)
    torch.testing.assert_close(inside[0], 10 * x.exp() * w)
    torch.testing.assert_close(inside[1], 100 * x.exp())
    both = func.grad(lambda x: torch.vmap(func.grad(lambda row: Scaled.apply(row, w).sum()))(x).sum())(x)
    torch.testing.assert_close(both, 10 * x.exp() * w)           # of what backward computes, by its own operators
    torch.testing.assert_close(torch.vmap(lambda row: Sorted.apply(row, 0))(x), x.sort(1)[0])
    inside = torch.vmap(func.grad(lambda row: (Sorted.apply(row, 0) * w).sum()))(x)
    torch.testing.assert_close(inside, torch.stack([func.grad(lambda row: (row.sort()[0] * w).sum())(row) for row in x]))
    outside = func.grad(lambda x: (torch.vmap(lambda row: Sorted.apply(row, 0))(x) * w).sum())(x)
    torch.testing.assert_close(outside, inside)


def test_closures_in_a_graph_outside():
    """What is the same for all slices and recorded below, with operators of all ways: their gradients add up."""
    x, w = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
    for function in (lambda row, w: F.layer_norm(row, (3,), w[0], w[1]), lambda row, w: torch.linalg.solve(w, row), lambda row, w: torch.cummax(w * row, 0)[0],
                     lambda row, w: F.embedding((row > 0).long(), w), lambda row, w: torch.logsumexp(w + row, 1), lambda row, w: torch.cat([w, row[None]]),
                     lambda row, w: w[(row > 0).long()], lambda row, w: F.conv1d(row[None, :, None], w[:, :, None]), lambda row, w: w.index_add(0, torch.tensor([1]), row[None])):
        mapped = func.grad(lambda w: torch.vmap(lambda row: function(row, w))(x).sin().sum())(w)
        nested = func.grad(lambda w: torch.vmap(lambda some: torch.vmap(lambda row: function(row, w))(some))(x.view(2, 2, 3)).sin().sum())(w)
        expected = func.grad(lambda w: sum(function(row, w).sin().sum() for row in x))(w)
        torch.testing.assert_close(mapped, expected)
        torch.testing.assert_close(nested, expected)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch's test database is part of PyTorch")
def test_every_operator_of_the_database():
    """Two samples each: slices beside one call for each, and gradients from outside and inside."""
    harness = pathlib.Path(__file__).parents[1] / "conformance" / "mapped.py"
    done = subprocess.run([sys.executable, str(harness), "--samples", "2", "--known"], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_the_first_form_calls_functions_as_they_are():
    """torch._vmap_internals.vmap is no transform of torch.func: a Function needs no setup_context there, and random numbers are refused in other words."""
    from kindling._vmap_internals import _vmap

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(_vmap(Twice.apply)(x), x * 2)
    with pytest.raises(RuntimeError, match="override the setup_context"):
        torch.vmap(Twice.apply)(x)
    with pytest.raises(RuntimeError, match="override the setup_context"):
        _vmap(torch.vmap(Twice.apply))(x[None])
    with pytest.raises(RuntimeError, match="We do not yet support calling random operations inside of vmap"):
        _vmap(lambda row: row + torch.randn(3))(x)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        torch.vmap(torch.sin, randomness="first")


def test_a_function_has_its_rule_also_when_no_vmap_is_open():
    """In backward of a vmap that has ended, and for a tensor that has left one."""
    seen, kept = [], []

    class Thrice(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

        @staticmethod
        def vmap(info, dims, x):
            seen.append(info.batch_size)
            return Thrice.apply(x), dims[0]

    class Calls(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return Thrice.apply(grad)

    x = torch.ones(2, 3, requires_grad=True)
    result = torch.vmap(Calls.apply)(x)
    assert torch.autograd.grad(result.sum(), x)[0].tolist() == [[3.0] * 3] * 2 and seen == [2]
    torch.vmap(lambda row: kept.append(row) or row)(x)
    Thrice.apply(kept[0])
    assert seen == [2, 2]
