"""A world of one process: collectives give what the rank has, models train as without; what needs others says so."""
import kindling
import kindling.distributed as dist
import pytest
import torch


@pytest.fixture
def addressed(monkeypatch):
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "29500")


@pytest.fixture
def world(addressed):
    dist.init_process_group("gloo", world_size=1, rank=0)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def test_questions(world):
    assert dist.is_initialized() and not dist.is_available() and (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    assert dist.get_process_group_ranks(world) == [0] and dist.get_global_rank(world, 0) == dist.get_group_rank(world, 0) == 0
    group = dist.new_group([0])
    assert group is not world and dist.get_world_size(group) == 1 and dist.get_rank(dist.new_group([])) == -1 and dist.get_pg_count() == 2
    with pytest.raises(ValueError):
        dist.new_group([1])
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo", world_size=1, rank=0)


def test_collectives(world):
    t, out = kindling.arange(4.0), kindling.zeros(4)
    for call in (lambda: dist.all_reduce(t), lambda: dist.all_reduce(t, op=dist.ReduceOp.AVG), lambda: dist.broadcast(t, 0), lambda: dist.reduce(t, 0),
                 lambda: dist.barrier(), lambda: dist.monitored_barrier()):
        assert call() is None and t.tolist() == [0, 1, 2, 3]
    for call in (lambda n: dist.all_gather([out], t * n), lambda n: dist.all_gather_into_tensor(out, t * n), lambda n: dist.gather(t * n, [out]),
                 lambda n: dist.scatter(out, [t * n]), lambda n: dist.reduce_scatter(out, [t * n]), lambda n: dist.reduce_scatter_tensor(out, t * n),
                 lambda n: dist.all_to_all([out], [t * n]), lambda n: dist.all_to_all_single(out, t * n)):
        for n in (2, 3):
            call(n)
            assert out.tolist() == (t * n).tolist()
    work = dist.all_reduce(t, async_op=True)
    assert work.wait() and work.is_completed() and work.result()[0] is t and work.get_future().wait()[0] is t
    found, given = [None], {"a": [1]}
    dist.all_gather_object(found, given)
    assert found == [given] and found[0] is not given
    dist.broadcast_object_list(found, 0)
    dist.scatter_object_list(found, [4])
    assert found == [4]


def test_collectives_that_gradients_go_through(world):
    f, out = dist.nn.functional, kindling.zeros(3)
    for call in (lambda t: f.all_reduce(t), lambda t: f.broadcast(t, 0), lambda t: f.gather(t)[0], lambda t: f.scatter([t]), lambda t: f.reduce(t, 0),
                 lambda t: f.reduce_scatter(out.clone(), [t]), lambda t: f.all_gather(t)[0], lambda t: f._all_gather_base(out.clone(), t),
                 lambda t: f.all_to_all([out.clone()], [t])[0], lambda t: f.all_to_all_single(out.clone(), t)):
        t = kindling.arange(3.0, requires_grad=True)
        found = call(t)
        (found * found).sum().backward()
        assert found is not t and found.tolist() == [0, 1, 2] and t.grad.tolist() == [0, 2, 4]
    for call in (lambda: f.broadcast(out, 1), lambda: f.scatter([out, out])):
        with pytest.raises(ValueError):
            call()


def test_functional_collectives(world):
    import kindling.distributed._functional_collectives as f
    for call in (lambda t: f.all_reduce(t, "sum", world), lambda t: f.broadcast(t, 0, [0]), lambda t: f.all_gather_tensor(t, 0, "0"),
                 lambda t: f.reduce_scatter_tensor(t, "avg", 0, world), lambda t: f.all_to_all_single(t, [3], None, world),
                 lambda t: f.permute_tensor(t, [0], world), lambda t: f.all_reduce_coalesced([t], "sum", world)[0],
                 lambda t: f.all_gather_into_tensor_coalesced([t], world)[0], lambda t: f.reduce_scatter_tensor_coalesced([t], "sum", [0], world)[0]):
        t = kindling.arange(3.0, requires_grad=True)
        found = f.wait_tensor(call(t))
        found.sum().backward()
        assert found is not t and found.tolist() == [0, 1, 2] and t.grad.tolist() == [1, 1, 1]
    with pytest.raises(ValueError):
        f.all_reduce(t, "sum", [0, 1])


def test_words_of_reductions():
    for name in ("SUM", "MAX"):
        one, other = getattr(dist.ReduceOp, name), getattr(torch.distributed.ReduceOp, name)
        assert (str(one), repr(one)) == (str(other), repr(other))


def test_sending_to_oneself_is_refused(world):
    with pytest.raises(ValueError, match="should not be the same as the rank of the current process"):
        dist.send(kindling.ones(1), 0)


def test_what_needs_others(world):
    for name in ("send", "recv", "isend", "irecv", "batch_isend_irecv"):
        with pytest.raises(RuntimeError, match=f"torch.distributed.{name} needs several processes"):
            getattr(dist, name)(kindling.ones(1), 1)
    with pytest.raises(ValueError):
        dist.all_gather([kindling.ones(1)] * 2, kindling.ones(1))
    with pytest.raises(ValueError):
        dist.broadcast(kindling.ones(1), 1)
    with pytest.raises(TypeError):
        dist.all_reduce([1])


def test_more_than_one_is_refused(addressed, monkeypatch):
    with pytest.raises(RuntimeError, match="init_process_group for 2 processes needs several"):
        dist.init_process_group("gloo", world_size=2, rank=0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(RuntimeError, match="4 processes"):
        dist.init_process_group("gloo")
    assert not dist.is_initialized()
    for call in (lambda: dist.all_reduce(kindling.ones(1)), dist.get_rank, dist.barrier):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


MEETINGS = [    # (environment, arguments)
    ({}, {}), ({"RANK": "0"}, {}), ({"RANK": "0", "WORLD_SIZE": "1"}, {}), ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}, {}), ({}, {"rank": 0, "world_size": 1}),
    ({"RANK": "x", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, {}), ({}, {"init_method": "tcp://127.0.0.1:29500"}), ({}, {"init_method": "env://"}),
    ({}, {"init_method": "file:///nowhere/store", "world_size": 1}), ({}, {"init_method": "bad://x", "rank": 0, "world_size": 1}),
    ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, {"backend": "nothing"}),
    ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, {"backend": "nccl"}),
    ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, {"backend": "mpi"}),
]


@pytest.mark.parametrize("environ, given", MEETINGS, ids=map(str, range(len(MEETINGS))))
def test_what_is_missing_at_the_start(environ, given, monkeypatch):
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    said = []
    for module in (dist, torch.distributed):
        with pytest.raises((ValueError, RuntimeError, AssertionError)) as caught:
            module.init_process_group(**{"backend": "gloo", **given})
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1] and not dist.is_initialized()


def test_addresses_of_a_world_of_one(tmp_path, monkeypatch):
    for given in ({"init_method": "tcp://127.0.0.1:29500", "rank": 0, "world_size": 1}, {"init_method": "tcp://127.0.0.1:29500?rank=0&world_size=1"},
                  {"init_method": f"file://{tmp_path}/store", "rank": 0, "world_size": 1}, {"store": dist.HashStore(), "rank": 0, "world_size": 1}):
        dist.init_process_group("gloo", **given)
        assert dist.get_world_size() == 1
        dist.destroy_process_group()
    with pytest.raises(AssertionError, match="world_size must be positive if using store"):
        dist.init_process_group("gloo", store=dist.HashStore())


def test_a_model_trains_as_without(world):
    def losses(wrap):
        kindling.manual_seed(0)
        model = wrap(kindling.nn.Sequential(kindling.nn.Linear(4, 8), kindling.nn.ReLU(), kindling.nn.Linear(8, 1)))
        optimizer = kindling.optim.Adam(model.parameters(), lr=0.1)
        x, found = kindling.randn(16, 4), []
        for _ in range(4):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    wrap = kindling.nn.parallel.DistributedDataParallel
    assert losses(wrap) == losses(lambda model: model)
    model = wrap(kindling.nn.Linear(2, 2))
    assert list(model.state_dict()) == ["module.weight", "module.bias"] and model.process_group is world
    with model.no_sync(), model.join():
        model(kindling.ones(1, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="doesn't have any parameter"):
        wrap(kindling.nn.ReLU())


def test_meshes(world):
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
    assert (mesh.ndim, mesh.shape, mesh.size(), mesh.get_rank(), mesh.get_coordinate()) == (2, (1, 1), 1, 0, (0, 0))
    assert mesh["a"].shape == (1,) and mesh["a"].get_group() is world and mesh["a"] == mesh["a"] != mesh["b"]
    with pytest.raises(RuntimeError, match="2 devices needs several"):
        dist.init_device_mesh("cpu", (2,))
    with pytest.raises(KeyError):
        mesh["c"]


def test_stores():
    store = dist.HashStore()
    store.set("a", "b")
    assert store.get("a") == b"b" and store.add("n", 2) == 2 and store.add("n", 3) == 5 and store.check(["a", "n"]) and store.num_keys() == 2
    assert store.delete_key("a") and not store.check(["a"])
    with pytest.raises(dist.DistStoreError):
        store.get("a")
    assert issubclass(dist.TCPStore, dist.Store) and repr(dist.ReduceOp.SUM) == "<RedOpType.SUM: 0>" and dist.Backend("GLOO") == dist.Backend.GLOO


WRAPPED = """
from {t}.distributed.algorithms._checkpoint.checkpoint_wrapper import (CheckpointImpl, CheckpointWrapper, OffloadWrapper, apply_activation_checkpointing,
    checkpoint_wrapper, offload_wrapper)
from {t}.distributed.fsdp import wrap
import functools
nn = t.nn
t.manual_seed(0)
runs = []
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.word = nn.Linear(3, 5), nn.Linear(5, 3), "here"
    def forward(self, x, scale=1):
        runs.append(scale)
        return x + self.b(self.a(x).tanh()) * scale
model = nn.Sequential(Block(), nn.Sequential(Block(), nn.ReLU()), nn.Linear(3, 2))
before = list(model.state_dict())
"""


@pytest.mark.parametrize("how", [
    "apply_activation_checkpointing(model, check_fn=lambda each: isinstance(each, Block))",
    "apply_activation_checkpointing(model, checkpoint_wrapper_fn=functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.REENTRANT), check_fn=lambda each: isinstance(each, nn.Linear))",
    "apply_activation_checkpointing(model, auto_wrap_policy=wrap.ModuleWrapPolicy({Block}))",
    "apply_activation_checkpointing(model, auto_wrap_policy=wrap.CustomPolicy(lambda each: isinstance(each, Block)))",
    "apply_activation_checkpointing(model, auto_wrap_policy=functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=30))",
    "apply_activation_checkpointing(model, checkpoint_wrapper_fn=offload_wrapper, auto_wrap_policy=functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={Block}))",
    "apply_activation_checkpointing(model)",
    "model = checkpoint_wrapper(model, preserve_rng_state=False)",
])
def test_checkpointed_modules(how):
    def both(t):
        scope = {"t": t}
        exec(WRAPPED.format(t=t.__name__), scope)
        exec(how, scope)
        model = scope["model"]
        x = t.arange(12.0).reshape(4, 3).div(7).requires_grad_()
        model(x).sum().backward()
        state = model.state_dict()
        model.load_state_dict({key: value + 1 for key, value in state.items()})
        found = [str(model), list(state) == scope["before"], list(state), [name for name, _ in model.named_parameters()], len(scope["runs"]), model[0].word]
        return found, x.grad.tolist(), [each.grad.sum().item() for each in model.parameters()], [each.sum().item() for each in model.parameters()]

    ours, theirs = both(kindling), both(torch)
    assert ours[0] == theirs[0]
    for mine, its in zip(ours[1:], theirs[1:]):
        assert kindling.allclose(kindling.tensor(mine), kindling.tensor(its), atol=1e-5)


def test_wrapping_by_annotation():
    def both(t):
        wrap = __import__(f"{t.__name__}.distributed.fsdp.wrap", fromlist=["x"])
        checkpoint = __import__(f"{t.__name__}.distributed.algorithms._checkpoint.checkpoint_wrapper", fromlist=["x"])
        found = [type(wrap.wrap(t.nn.ReLU())).__name__]
        with wrap.enable_wrap(wrapper_cls=checkpoint.checkpoint_wrapper, preserve_rng_state=False):
            found += [str(wrap.wrap(t.nn.ReLU())), sorted(wrap.wrap(t.nn.ReLU(), checkpoint_impl=checkpoint.CheckpointImpl.REENTRANT).checkpoint_fn.keywords.items())]
            try:
                with wrap.enable_wrap(wrapper_cls=checkpoint.checkpoint_wrapper):
                    pass
            except NotImplementedError as error:
                found.append(str(error))
        for bad in (lambda: wrap.CustomPolicy(lambda each: 1), lambda: 5):
            try:
                checkpoint.apply_activation_checkpointing(t.nn.Sequential(t.nn.ReLU()), auto_wrap_policy=bad())
            except ValueError as error:
                found.append(str(error))
        return found, str(wrap.always_wrap_policy(1))
    assert both(kindling) == both(torch)
