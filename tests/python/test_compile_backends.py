"""torch.compile(backend=function): graphs of aten calls, made of any Python without guards."""
import gc
import threading

import pytest
import torch

import kindling


class Backend:
    """Keeps the graphs that it gets, and counts the calls of what it makes."""

    def __init__(self):
        self.graphs, self.inputs, self.calls = [], [], 0

    def __call__(self, graph, inputs, **options):
        self.graphs.append(graph)
        self.inputs.append(inputs)
        self.options = options

        def run(*arguments):
            self.calls += 1
            return graph(*arguments)
        return run

    def targets(self, which=-1):
        return [str(node.target) for node in self.graphs[which].graph.nodes if node.op == "call_function"]


def test_the_graph():
    backend = Backend()
    compiled = kindling.compile(lambda x, y: ((x + y).relu() * 2).view(2, -1).t(), backend=backend)
    x, y = kindling.randn(4), kindling.randn(4)
    for _ in range(3):
        assert kindling.equal(compiled(x, y), ((x + y).relu() * 2).view(2, -1).t())
    assert len(backend.graphs) == 1 and backend.calls == 3
    graph = backend.graphs[0]
    assert isinstance(graph, kindling.fx.GraphModule)
    assert backend.targets() == ["aten.add.Tensor", "aten.relu.default", "aten.mul.Tensor", "aten.view.default", "aten.t.default"]
    assert [node.op for node in graph.graph.nodes][:2] == ["placeholder"] * 2 and [tuple(each.shape) for each in backend.inputs[0]] == [(4,), (4,)]
    assert all(node.meta["val"].shape for node in graph.graph.nodes if node.op == "call_function")
    assert kindling.equal(graph(x, y)[0], (x + y).relu() * 2)
    compiled(kindling.randn(6), kindling.randn(6))
    assert len(backend.graphs) == 2


def test_values_are_there_when_they_are_needed():
    backend = Backend()
    seen = []

    def function(x):
        y = x * 2
        seen.append(y.numpy().copy())
        z = y + 1
        if z.sum() > 0:
            z = z.exp()
        seen.append(z.tolist())
        thread = threading.Thread(target=lambda: seen.append((w + 0).sum().item()))
        w = z * 3
        thread.start()
        thread.join()
        return w, y

    compiled = kindling.compile(function, backend=backend)
    for sign in (1, -1, 1):
        seen.clear()
        w, y = compiled(sign * kindling.ones(3))
        expected = sign * kindling.ones(3) * 2 + 1
        expected = expected.exp() if sign > 0 else expected
        assert seen[0].tolist() == [2 * sign] * 3 and seen[1] == expected.tolist() and seen[2] == pytest.approx((expected * 3).sum().item())
        assert kindling.equal(w, expected * 3) and y.tolist() == [2 * sign] * 3


@pytest.mark.parametrize("function", [
    lambda m, x: x.mul_(2).add_(1),
    lambda m, x: (x[1:].add_(1), x.exp(), x),
    lambda m, x: m.cat([x, x + 1]).split(2),
    lambda m, x: m.nn.functional.dropout(x, 0.5) + m.rand(3),
    lambda m, x: (x.max(0), x.sort(), x.nonzero(), x[x > 0], x.unique()),
    lambda m, x: m.where(x > 0, x, m.zeros(())),
    lambda m, x: m.nn.functional.batch_norm(x[None].expand(4, 3) * m.arange(4.0)[:, None], m.zeros(3), m.ones(3), training=True),
    lambda m, x: (x.t_(), x.unsqueeze_(0), x.resize_(2, 2).fill_(4)),
    lambda m, x: (lambda y: (y.detach().mul_(2), y.data.add_(1), y))(x + 1),
    lambda m, x: m.stack([x, x]).to(m.float64).sum(0, keepdim=True) @ m.ones(3, 1, dtype=m.float64),
    lambda m, x: (m.view_as_complex(m.stack([x, x], -1)).conj() * 1j, x.bool().any()),
    lambda m, x: m._foreach_add([x, x + 1], 2),
    lambda m, x: (m.zeros(2, out=x.new_empty(2)), m.add(x, 1, out=x)),
    lambda m, x: x.numel() * x.size(0),
    lambda m, x: m.linalg.svdvals(m.outer(x, x) + m.eye(3)),
], ids=range(15))
def test_results_are_those_of_the_eager_call(function):
    backend = Backend()
    values = [0.5, -1.0, 2.0]

    def run(call):
        kindling.manual_seed(3)
        x = kindling.tensor(values)
        return call(x), x, x._version

    for _ in range(2):
        expected, got = run(lambda x: function(kindling, x)), run(kindling.compile(lambda x: function(kindling, x), backend=backend))
        assert str(expected) == str(got)
        leaves = kindling.utils._pytree.tree_leaves
        assert [each.stride() for each in leaves(expected[0]) if hasattr(each, "stride")] == [each.stride() for each in leaves(got[0]) if hasattr(each, "stride")]


def test_gradients():
    def loss(model, x):
        return model(x).sigmoid().pow(2).sum()

    gradients = []
    for backend in (None, Backend()):
        kindling.manual_seed(0)
        model = kindling.nn.Sequential(kindling.nn.Linear(3, 4), kindling.nn.BatchNorm1d(4), kindling.nn.Tanh())
        call = kindling.compile(model, backend=backend) if backend else model
        for _ in range(3):
            loss(call, kindling.arange(12.0).view(4, 3)).backward()
        gradients.append([*(each.grad for each in model.parameters()), *model.buffers()])
        assert all(not each.requires_grad or each.is_leaf for each in gradients[-1])
    assert all(kindling.equal(a, b) for a, b in zip(*gradients)) and len(backend.graphs) == 1


def test_written_saved_tensors_are_found():
    def function(x):
        y = x.exp()
        y.add_(1)
        return y.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kindling.compile(function, backend=Backend())(kindling.ones(2, requires_grad=True)).backward()


def test_a_backend_that_fails():
    def fails(graph, inputs):
        raise ValueError("no such device")

    for module in (torch, kindling):
        if module is torch:
            torch._dynamo.reset()
        with pytest.raises(module._dynamo.exc.BackendCompilerFailed, match="backend='fails' raised:\nValueError: no such device") as caught:
            module.compile(lambda x: x + 1, backend=fails)(module.ones(2))
        assert isinstance(caught.value.inner_exception, ValueError)
    kept = []
    with pytest.raises(RuntimeError, match="gives 0 results, its graph has 1"):
        kindling.compile(lambda x: kept.append(x + 1), backend=lambda graph, inputs: lambda *values: ())(kindling.ones(2))
    with pytest.raises(RuntimeError, match="gives 0 results"):
        kept[0].tolist()                        # nothing is half written: who reads it later is told as well
    with pytest.raises(kindling._dynamo.exc.BackendCompilerFailed, match="what can be called"):
        kindling.compile(lambda x: x + 1, backend=lambda graph, inputs: 3)(kindling.ones(2))


def test_errors_of_the_program_come_where_they_are():
    @kindling.compile(backend=Backend())
    def function(x):
        y = x + 1
        with pytest.raises(RuntimeError, match="size"):
            y @ kindling.ones(7)
        return y * 2

    assert function(kindling.ones(2)).tolist() == [4, 4]


def test_results_of_any_layout_and_shared_results():
    def strange(graph, inputs):
        def run(*arguments):
            a, b = graph(*arguments)
            both = kindling.stack([a, a], -1)[..., 0]
            return both, both
        return run

    a, b = kindling.compile(lambda x: (x + 1, x + 1), backend=strange)(kindling.ones(2, 3))
    a.add_(1)
    assert a.tolist() == [[3.0] * 3] * 2 and b.tolist() == [[2.0] * 3] * 2 and a.is_contiguous()


def test_options_names_and_limits():
    backend = Backend()
    kindling.compile(lambda x: x + 1, backend=backend, options={"level": 2})(kindling.ones(1))
    assert backend.options == {"options": {"level": 2}}
    kindling.compile(lambda x: x + 1, backend=backend, mode="reduce-overhead")(kindling.ones(1))
    assert backend.options == {"mode": "reduce-overhead"}
    kindling._dynamo.register_backend(backend, name="mine of the test")
    calls = backend.calls
    kindling.compile(lambda x: x + 1, backend="mine of the test")(kindling.ones(1))
    assert backend.calls == calls + 1 and kindling._dynamo.lookup_backend("mine of the test") is backend
    assert "mine of the test" in kindling._dynamo.list_backends()
    from kindling import _compile
    del _compile.BACKENDS["mine of the test"], _compile.FUNCTIONS["mine of the test"]
    with pytest.raises(kindling._dynamo.exc.InvalidBackend):
        kindling.compile(lambda x: x, backend="nobody's")
    limited = Backend()
    compiled = kindling.compile(lambda x: x + 1, backend=limited)
    for size in range(1, 20):
        assert compiled(kindling.ones(size)).tolist() == [2.0] * size
    assert len(limited.graphs) == kindling._dynamo.config.recompile_limit


def test_what_nobody_holds_is_not_computed():
    backend = Backend()

    def function(x):
        for _ in range(5):
            x.exp()
        return x + 1

    kindling.compile(function, backend=backend)(kindling.ones(2))
    outputs = next(node for node in backend.graphs[0].graph.nodes if node.op == "output").args[0]
    assert len(outputs) == 1
    kindling.compile(lambda x: None if x.exp() is None else 1, backend=backend)(kindling.ones(2))
    assert len(backend.graphs) == 1


def test_nothing_is_kept():
    compiled = kindling.compile(lambda x: (x + 1).exp(), backend=Backend())
    compiled(kindling.ones(1 << 20))
    gc.collect()
    before = sum(isinstance(each, kindling.Tensor) for each in gc.get_objects())
    for _ in range(20):
        compiled(kindling.ones(1 << 20))
    gc.collect()
    assert sum(isinstance(each, kindling.Tensor) for each in gc.get_objects()) <= before


def test_compiled_functions_in_compiled_functions():
    backend = Backend()
    inner = kindling.compile(lambda x: x * 2, backend=backend)
    native = kindling.compile(lambda x: x - 1)
    assert kindling.compile(lambda x: native(inner(x + 1)), backend=backend)(kindling.ones(5000)).tolist() == [3.0] * 5000
    assert len(backend.graphs) == 1 and len(backend.targets()) == 3
    through = Backend()
    made = kindling.compile(lambda x: inner(x) + 1, backend=lambda graph, inputs: kindling.compile(graph))
    assert made(kindling.ones(5000)).tolist() == [3.0] * 5000 and not through.calls
    with kindling.deferred():
        assert inner(kindling.ones(5000) + 1).add(1).tolist() == [5.0] * 5000


def test_random_numbers_are_drawn_in_turn():
    """In the graph, and before anybody else uses the generator."""
    backend = Backend()

    def function(x):
        a = kindling.nn.functional.dropout(x, 0.5)
        state = kindling.get_rng_state()
        b = kindling.rand(3)
        kindling.manual_seed(5)
        c = kindling.randn(3) + kindling.randn(3, generator=kindling.Generator().manual_seed(1))
        return a, state, b, c, kindling.bernoulli(x * 0.5), kindling.randperm(5)

    for _ in range(2):
        kindling.manual_seed(0)
        expected, after = function(kindling.ones(8)), kindling.rand(2)
        kindling.manual_seed(0)
        got = kindling.compile(function, backend=backend)(kindling.ones(8))
        assert all(map(kindling.equal, expected, got)) and kindling.equal(after, kindling.rand(2))
    with_dropout = Backend()
    kindling.compile(lambda x: kindling.nn.functional.dropout(x + 1) * 2, backend=with_dropout)(kindling.ones(3))
    assert len(with_dropout.graphs) == 1 and "aten.mul.Tensor" in with_dropout.targets()


def test_what_failed_is_told_by_every_way_to_read_it():
    """None of them ends the process, and none hands out what was not computed."""
    def fails(graph, inputs):
        raise ValueError("no")

    kept = []
    with pytest.raises(RuntimeError):
        kindling.compile(lambda x: kept.append(x.exp()), backend=fails)(kindling.ones(3))
    y = kept[0]
    for read in (kindling.Tensor.tolist, repr, kindling.Tensor.numpy, bool, kindling.Tensor.data_ptr, kindling.Tensor.clone, memoryview,
                 kindling.Tensor.__dlpack__, kindling.Tensor.share_memory_, lambda y: y.add_(1), lambda y: y.sum().item(), lambda y: y.resize_(10),
                 *(lambda y, read=read: read(y.untyped_storage()) for read in (
                     bytes, repr, memoryview, kindling.UntypedStorage.data_ptr, kindling.UntypedStorage.tolist, kindling.UntypedStorage.clone,
                     lambda storage: storage[0], lambda storage: storage[1:3], lambda storage: storage.fill_(0), lambda storage: storage.resize_(99),
                     lambda storage: storage.__setitem__(0, 1), lambda storage: storage.copy_(kindling.UntypedStorage(12)),
                     lambda storage: storage.__reduce__()))):
        with pytest.raises((RuntimeError, BufferError)):
            read(y)
    kindling.manual_seed(0)                     # the generator is nobody's hostage


def test_explain_and_counters():
    def function(module, x):
        y = x.sin() + 1
        module._dynamo.graph_break()
        if y.sum() > 0:
            y = y * 2
        return y.cos()

    told = {}
    for module in (torch, kindling):
        module._dynamo.reset()
        told[module] = module._dynamo.explain(lambda x, module=module: function(module, x))(module.ones(3))
    ours, theirs = told[kindling], told[torch]
    assert (ours.graph_count, ours.graph_break_count) == (theirs.graph_count, theirs.graph_break_count) == (3, 2)
    line = function.__code__.co_firstlineno
    assert ours.op_count == 6 and [each.user_stack[0].lineno - line for each in ours.break_reasons] == [2, 3]
    assert str(ours).startswith("Graph Count: 3\nGraph Break Count: 2\nOp Count: 6\nBreak Reasons:\n  Break Reason 1:\n    Reason: Call to")
    counters = kindling._dynamo.utils.counters
    counters.clear()
    counter = kindling._dynamo.testing.CompileCounter()
    compiled = kindling.compile(lambda x: function(kindling, x), backend=counter)
    for _ in range(2):
        compiled(kindling.ones(3))
    assert (counter.frame_count, counter.op_count) == (3, 6) and counters["stats"] == {"unique_graphs": 3, "calls_captured": 6}
    assert sum(counters["graph_break"].values()) == 4
    kindling._dynamo.reset()
    compiled(kindling.ones(3))
    assert counter.frame_count == 6
    recorded = kindling._dynamo.testing.EagerAndRecordGraphs()
    kindling.compile(lambda x: x + 1, backend=recorded)(kindling.ones(3))
    other = kindling._dynamo.testing.CompileCounterWithBackend("eager")
    assert len(recorded.graphs) == 1 and kindling.compile(lambda x: x + 1, backend=other)(kindling.ones(3)).tolist() == [2] * 3 and len(other.graphs) == 1


def test_aot_autograd():
    from kindling._dynamo.backends.common import aot_autograd

    seen = []

    def compiler(graph, inputs):
        seen.append(graph)

        def boxed(values):
            assert type(values) is list
            return graph(*values)
        boxed._boxed_call = True
        return boxed

    model = kindling.nn.Linear(2, 2)
    kindling.compile(model, backend=aot_autograd(fw_compiler=compiler, bw_compiler=compiler))(kindling.ones(1, 2)).sum().backward()
    assert model.weight.grad is not None and len(seen) == 1
    seen.clear()
    from kindling._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_func
    from kindling._functorch.compilers import nop

    x = kindling.randn(2, 2, requires_grad=True)
    for call in (aot_function(lambda x: x.exp(), nop), aot_module(kindling.nn.Tanh(), nop),
                 kindling.compile(lambda x: x + 1, backend=lambda graph, inputs: aot_module_simplified(graph, inputs, compiler))):
        call(x).sum().backward()
    kindling.testing.assert_close(x.grad, x.exp() + 1 - x.tanh() ** 2 + 1)
    assert make_boxed_func(lambda a, b: a + b)([1, 2]) == 3 and len(seen) == 1
    seen.clear()
    table = {kindling.ops.aten.silu.default: lambda x: x * kindling.sigmoid(x)}
    x = kindling.randn(4)
    silu = kindling.compile(kindling.nn.functional.silu, backend=aot_autograd(fw_compiler=compiler, decompositions=table))(x)
    kindling.testing.assert_close(silu, kindling.nn.functional.silu(x))
    assert "sigmoid" in seen[0].code and "silu" not in seen[0].code


def test_what_values_forbid_is_raised_at_the_call():
    """Checks of values run at the call: of what the graph computes, only what they name is computed for them."""
    backend, line = Backend(), []

    def look_up(table, index, shift):
        table = table * 2
        if shift:
            index = index + shift
        line.append("before")
        rows = kindling.nn.functional.embedding(index, table)
        line.append("after")
        return rows + 1

    compiled = kindling.compile(look_up, backend=backend)
    table, index = kindling.arange(6.0).view(3, 2), kindling.tensor([2, 0])
    assert kindling.equal(compiled(table, index, 0), look_up(table, index, 0)) and len(backend.graphs) == 1
    line.clear()
    with pytest.raises(IndexError, match="index out of range in self"):
        compiled(table, kindling.tensor([3]), 0)
    assert line == ["before"]
    backend.graphs.clear()
    assert kindling.equal(compiled(table, kindling.tensor([0, 1]), 1), look_up(table, kindling.tensor([1, 2]), 0))
    assert len(backend.graphs) == 2     # the index that the graph computes was needed
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 0 with size 3"):
        kindling.compile(lambda x, i: x.gather(0, i).relu(), backend=backend)(kindling.ones(3), kindling.tensor([3]))


def test_draws_that_nobody_wants_move_the_stream_and_compute_nothing():
    def function(x):
        kindling.rand(5, dtype=kindling.float64)
        kindling.empty(3).uniform_()
        return x.shape

    backend = Backend()
    compiled = kindling.compile(function, backend=backend)
    kindling.manual_seed(3)
    function(kindling.ones(2))
    wanted = kindling.rand(4)
    kindling.manual_seed(3)
    compiled(kindling.ones(2))
    assert kindling.equal(kindling.rand(4), wanted)
    unknown = kindling.compile(lambda: kindling.randn(5).shape, backend=backend)
    kindling.manual_seed(3)
    kindling.randn(5)
    wanted = kindling.rand(4)
    kindling.manual_seed(3)
    unknown()
    assert kindling.equal(kindling.rand(4), wanted)


def test_sizes_are_values_of_a_dynamic_graph():
    """With dynamic=True a graph serves other sizes: they are its values. 0 and 1 are numbers, and so is what Python made one of."""
    def function(x, weight):
        rows = x.view(x.shape[0] * x.shape[1], -1) @ weight
        mean = rows.sum(0) / rows.shape[0]
        return mean, rows.unflatten(0, x.shape[:2]).flatten(1).relu(), kindling.zeros(x.size(1) + 1) + x.shape[2]

    backend = Backend()
    compiled = kindling.compile(function, backend=backend, dynamic=True)
    for shape in ((2, 3, 4), (5, 2, 4), (3, 7, 4)):
        x, weight = kindling.randn(shape), kindling.randn(4, 3)
        for ours, wanted in zip(compiled(x, weight), function(x, weight), strict=True):
            assert kindling.equal(ours, wanted)
    assert len(backend.graphs) == 1 and backend.calls == 3 and "aten.sym_size.int" in backend.targets()
    compiled(kindling.randn(1, 3, 4), kindling.randn(4, 3))
    assert len(backend.graphs) == 2
    static = Backend()
    compiled = kindling.compile(lambda x: x.view(x.shape[0], 1) * 2, backend=static)
    for size in (2, 3):
        compiled(kindling.ones(size))
    assert len(static.graphs) == 2 and static.targets() == ["aten.view.default", "aten.mul.Tensor"]

    def branch(x):
        return x * 2 if x.shape[0] > 3 else x.view(int(x.shape[0]), 1) + 1

    backend = Backend()
    compiled = kindling.compile(branch, backend=backend, dynamic=True)
    for size in (4, 5, 9, 2, 3, 2):
        x = kindling.arange(float(size))
        assert kindling.equal(compiled(x), branch(x))
    assert len(backend.graphs) == 3     # one for all from 4 on, one for each number that was asked for
    assert type(kindling.ones(3).shape[0]) is int


def test_sizes_of_a_graph_that_has_ended():
    def function(x):
        rows = x.shape[0]
        y = (x * 2).flatten()
        if y.sum() > 0:                     # the graph ends here
            y = y.view(rows, -1) + rows     # a number in the next one
        y.requires_grad_()
        (grad,) = kindling.autograd.grad((y * y).sum(), y)
        return grad

    backend = Backend()
    compiled = kindling.compile(function, backend=backend, dynamic=True)
    for shape in ((2, 3), (4, 5), (4, 2), (2, 3)):
        x = kindling.rand(shape)
        assert kindling.equal(compiled(x), function(x))


def test_a_pickle_holds_numbers():
    import pickle

    kept = []
    kindling.compile(lambda x: kept.append(pickle.dumps(x * 2)), backend=Backend(), dynamic=True)(kindling.ones(2, 3))
    assert pickle.loads(kept[0]).tolist() == [[2.0] * 3] * 2


def graph_itself(graph, inputs):
    return graph


def test_threads_that_draw_random_numbers_do_not_wait_for_each_other():
    compiled = kindling.compile(lambda x, k: (x * k).sin() + kindling.rand(3) * 0, backend=graph_itself)
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append([compiled(kindling.ones(3), float(i))[0].item() for _ in range(60)])) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert len(results) == 4 and all(len(set(each)) == 1 for each in results)


def test_what_a_graph_computes_is_not_put_off_again():
    inner = kindling.compile(lambda x: x.sum().item())
    bad = kindling.compile(lambda x, y: x + y)

    def function(x, y):
        x.add_(1)
        z, m = kindling.rand(2), x.mT @ x
        try:
            bad(x, y)
        except RuntimeError:
            pass
        return inner(m), x * 1, z

    seen = []
    for run in (function, kindling.compile(function, backend=graph_itself)):
        kindling.manual_seed(3)
        seen.append(run(kindling.ones(100, 64), kindling.ones(16, 16)))
    assert seen[0][0] == seen[1][0] and all(map(kindling.equal, seen[0][1:], seen[1][1:]))


def test_memory_that_others_see_is_read_and_written_at_the_call():
    numpy = pytest.importorskip("numpy")

    def doubled(array):
        def function(x):
            y = x * 2
            array[0] = 9
            return y.tolist()
        return function

    def shown(x):
        y = x * 2
        array = y.numpy()
        z = y + 1
        y += 1
        array[0] = 9
        return z.tolist(), y.tolist(), array.tolist()

    for backend in (None, graph_itself):
        compiled = (lambda function: function) if backend is None else lambda function: kindling.compile(function, backend=backend)
        array = numpy.ones(3, "f")
        assert compiled(doubled(array))(kindling.from_numpy(array)) == [2, 2, 2]
        assert compiled(shown)(kindling.ones(3)) == ([3, 3, 3], [9, 3, 3], [9, 3, 3])
        array = numpy.ones(3, "f")
        assert compiled(lambda x: (x.add_(1), float(array[1])))(kindling.from_numpy(array))[1] == 2


def test_inference_mode():
    with kindling.inference_mode():
        layer = kindling.nn.Linear(3, 3)
        x = kindling.ones(1, 3)
        assert kindling.equal(kindling.compile(layer, backend=graph_itself)(x), layer(x))
        assert kindling.compile(lambda x: x.add_(1).mul_(2), backend=graph_itself)(x).tolist() == [[4, 4, 4]]


@pytest.mark.parametrize("write", [lambda x: x[1:].copy_(x[:-1]), lambda x: x[1:].add_(x[:-1]), lambda x: x.index_add_(0, kindling.tensor([0, 1]), x[1:3]),
                                   lambda x: x @ (x > 0), lambda x: kindling.add(x[0], x, out=x[0])])
def test_errors_that_do_not_depend_on_values_come_at_the_call(write):
    def function(x):
        try:
            write(x)
        except RuntimeError:
            return "refused"
        return "taken"

    x = kindling.arange(4.0)
    assert function(x) == kindling.compile(function, backend=graph_itself)(x) == "refused"
    assert x.tolist() == [0, 1, 2, 3]


def test_parts_of_one_memory_may_be_written_from_one_another():
    def function(x):
        x[1:].add_(1)
        x[:2].mul_(x[2:])
        return x * 1

    seen = [run(kindling.arange(4.0)) for run in (function, kindling.compile(function, backend=graph_itself))]
    assert kindling.equal(*seen)


def test_after_an_error_inputs_are_there_and_results_say_what_was_wrong():
    kept = []

    def function(x):
        y = x + 1
        kept.append(y)
        x[x > 0] = 1j                                   # of a dtype that does not fit
        return y

    x = kindling.ones(4)
    with pytest.raises(RuntimeError, match="cannot be converted"):
        kindling.compile(function, backend=graph_itself)(x)
    assert x.tolist() == [1, 1, 1, 1]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot be converted"):
            kept[0].tolist()

    def goes_on(x):
        try:
            x[x > 0] = 1j
            x.tolist()
        except RuntimeError:
            pass
        return x * 3

    assert kindling.compile(goes_on, backend=graph_itself)(x).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("expression", ["n ** 0.5", "n ** -0.5", "n * 0.5", "n + 1.5", "2.0 ** n", "n > 3.5", "round(n * 0.7)", "1 / n", "n / 3", "math.ceil(n / 2)", "int(n / 3)",
                                        "n & 1", "n ^ 1", "n << 1", "abs(n - 9)", "sum(divmod(n, 3))", "int(f'{n:4d}')", "int(str(n))", "copy.deepcopy(n)"])
def test_numbers_made_of_sizes(expression):
    import copy
    import math
    number = eval(f"lambda n: {expression}", {"math": math, "copy": copy})
    compiled = kindling.compile(lambda x: x * number(x.shape[-1]), backend=graph_itself, dynamic=True)
    for size in (4, 5, 4):
        assert kindling.equal(compiled(kindling.ones(2, size)), kindling.ones(2, size) * number(size))


def test_an_overload_whose_name_is_a_keyword():
    backend = Backend()
    x = kindling.compile(lambda x: x.random_(0, 5), backend=backend)(kindling.ones(30))
    assert x.min() >= 0 and x.max() < 5 and backend.targets() == ["aten.random_.from"]


def test_an_out_argument_that_is_read_too_is_not_resized():
    for call in (lambda t, x: kindling.add(t, x, out=t), lambda t, x: kindling.where(t > 0, t, x, out=t)):
        for run in (call, kindling.compile(call)):
            with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[5\]"):
                run(kindling.ones(()), kindling.ones(5))


def test_compiled_containers_have_their_length():
    assert len(kindling.compile(kindling.nn.Sequential(kindling.nn.ReLU()))) == 1
    with pytest.raises(TypeError, match="does not support len"):
        len(kindling.compile(kindling.nn.ReLU()))
    assert kindling.compile(kindling.nn.ReLU()) and not kindling.compile(kindling.nn.Sequential())
