"""Tensors and models spread over one process: DTensor, FSDP, fully_shard, checkpoints; all beside PyTorch in a world of one."""
import importlib
import os
import re

import pytest
import torch

import kindling

SETUP = """
import copy, functools, io, warnings
dist = module("distributed")
tensor, fsdp, wrap = module("distributed.tensor"), module("distributed.fsdp"), module("distributed.fsdp.wrap")
from_names = {name: getattr(tensor, name) for name in tensor.__all__}
globals().update(from_names)
FSDP, nn = fsdp.FullyShardedDataParallel, t.nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 3)
        self.register_buffer("k", t.ones(1))
    def forward(self, x):
        return x + self.b(self.a(x).tanh()) * self.k
def model():
    t.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.BatchNorm1d(3), nn.Linear(3, 2))
x = t.arange(12.).reshape(4, 3) / 7
def train(m, opt, steps=3):
    for i in range(steps):
        opt.zero_grad()
        loss = (m(x).float() ** 2).sum()
        loss.backward()
        show(round(m.clip_grad_norm_(.5).item(), 3) if isinstance(m, FSDP) else '', round(loss.item(), 3))
        opt.step()
def refused(call):
    try:
        show(call())
    except (RuntimeError, ValueError, AssertionError, KeyError) as error:
        show(type(error).__name__, error)
"""

TENSORS = """
mesh = module("distributed.device_mesh").init_device_mesh("cpu", (1,), mesh_dim_names=("d",))
values = t.arange(6.).reshape(2, 3)
a = distribute_tensor(values, mesh, [Shard(0)])
show(a, a.placements, a.device_mesh, a.shape, a.to_local(), a.full_tensor(), a.numel(), a.dtype, a.stride(), a.is_contiguous())
show((a + 1).placements, (a * 2).to_local(), a.sum().full_tensor(), type(a.sum()).__name__, a.sum().item())
show(distribute_tensor(t.ones(2, 3), mesh, [Shard(-1)]).placements, a.redistribute(mesh, [Replicate()]))
x = values.clone().requires_grad_()
d = DTensor.from_local(x, mesh, [Shard(0)])
(d * d).to_local().sum().backward()
show(x.grad, type(x.grad).__name__)
refused(lambda: a + t.ones(2, 3))
refused(lambda: distribute_tensor(values, mesh, [Shard(0), Shard(1)]))
refused(lambda: distribute_tensor(x * 2, mesh))
refused(lambda: distribute_tensor(a, mesh, [Replicate()]))
refused(lambda: a.redistribute(mesh, [Partial()]))
refused(lambda: a.redistribute(mesh))
each = [Shard(1), Shard(0), Replicate(), Partial(), Partial("avg")]
show(list(map(repr, each)), list(map(str, each)), [[p == q for p in each] for q in each], len({Shard(0), Shard(0), Replicate()}))
show([(p.is_shard(), p.is_shard(1), p.is_replicate(), p.is_partial(), p.is_partial("sum"), isinstance(p, Placement)) for p in each])
m = distribute_module(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), mesh)
with t.no_grad():
    for i, p in enumerate(m.parameters()):
        p.to_local().copy_(t.arange(p.numel()).reshape(p.shape) * .1 - .3 + i * .01)
show(type(m[0].weight).__name__, isinstance(m[0].weight, nn.Parameter), m[0].weight.placements, m[0].weight.requires_grad)
opt = t.optim.Adam(m.parameters(), lr=.1, foreach=False)
for i in range(3):
    opt.zero_grad()
    loss = (m(distribute_tensor(values, mesh)).to_local() ** 2).sum()
    loss.backward()
    opt.step()
    show(round(loss.item(), 3))
show(type(m[0].weight.grad).__name__, m[0].weight.grad.placements, [round(p.full_tensor().sum().item(), 3) for p in m.parameters()])
show(tensor.zeros(2, 3, device_mesh=mesh, placements=[Shard(0)]).placements, tensor.ones((2,), device_mesh=mesh).to_local(), tensor.full((2,), 3., device_mesh=mesh).to_local())
show(a.detach().placements, a.clone().placements, t.empty_like(a).placements, copy.deepcopy(a))
saved = io.BytesIO()
t.save({"a": a}, saved)
saved.seek(0)
show(t.load(saved, weights_only=False)["a"])
with t.no_grad():
    a.copy_(a * 3)
    a.mul_(2)
    a[0].zero_()
show(a.to_local(), values)
p = nn.Parameter(a.detach())
show(type(p).__name__, p.requires_grad, isinstance(p, nn.Parameter), type(m.state_dict()["0.weight"]).__name__)
show(mesh, mesh.size(), mesh["d"], mesh.get_local_rank(), mesh.mesh_dim_names)
two = module("distributed.device_mesh").init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
show(two, two["a"], two["a", "b"], two._flatten("ab"), module("distributed.device_mesh").DeviceMesh("cpu", [0]))
refused(lambda: two["c"])
"""

WRAPPED = """
m = FSDP(model(), use_orig_params=True, device_id=t.device("cpu"), {how})
show(m, [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()])
opt = t.optim.SGD(m.parameters(), lr=.05, momentum=.9)
train(m, opt)
state = m.state_dict()
show(list(state), [type(v).__name__ for v in state.values()], [v.dtype for v in state.values()], [round(v.sum().item(), 2) for v in state.values()])
with FSDP.state_dict_type(m, fsdp.StateDictType.FULL_STATE_DICT, fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
    state = m.state_dict()
    show(FSDP.get_state_dict_type(m).state_dict_type.name, FSDP.get_state_dict_type(m).state_dict_config.rank0_only)
    named = FSDP.optim_state_dict(m, opt)
    show(sorted(named["state"]), named["param_groups"][0]["params"])
show(FSDP.get_state_dict_type(m).state_dict_config.rank0_only)
again = FSDP(model(), use_orig_params=True, device_id=t.device("cpu"), {how})
again.load_state_dict(state)
other = t.optim.SGD(again.parameters(), lr=.05, momentum=.9)
other.load_state_dict(FSDP.optim_state_dict_to_load(again, other, named))
train(again, other, 1)
train(m, opt, 1)
with FSDP.summon_full_params(m):
    show([n for n, _ in m.named_parameters()])
with m.no_sync():
    show(len(FSDP.fsdp_modules(m)), len(FSDP.fsdp_modules(m, root_only=True)), m.check_is_root(), type(m.module).__name__)
show(m(x).dtype, m[0].a.weight.dtype)
"""

SHARDED = """
policy = {policy}
m = nn.Sequential(Block(), Block(), *({last}))
with t.no_grad():
    for i, p in enumerate(m.parameters()):
        p.copy_(t.arange(p.numel()).reshape(p.shape) * .1 - .3 + i * .01)
for each in m[:2]:
    show(fsdp.fully_shard(each, **policy) is each)
fsdp.fully_shard(m, **policy)
show(type(m).__name__, type(m[0]).__name__, isinstance(m, fsdp.FSDPModule), [n for n, _ in m.named_parameters()], type(m[0].a.weight).__name__, m[0].a.weight.placements)
opt = t.optim.SGD(m.parameters(), lr=.05, momentum=.9)
train(m, opt)
show(m(x).dtype, type(m[0].a.weight.grad).__name__, m[0].a.weight.grad.dtype)
show([round((v.full_tensor() if isinstance(v, DTensor) else v).sum().item(), 2) for v in m.state_dict().values()])
m.set_requires_gradient_sync(False)
m.unshard()
m.reshard()
norm = t.nn.utils.clip_grad_norm_(m.parameters(), .1)
show(type(norm).__name__, round(norm.full_tensor().item(), 3))
m.load_state_dict(m.state_dict())
refused(lambda: fsdp.fully_shard(nn.ModuleList([nn.ReLU()])))
"""


def lines(t, program):
    """What the program shows in a world of one process."""
    name, shown = t.__name__, []
    module = lambda path: importlib.import_module(f"{name}.{path}")      # noqa: E731
    dist = module("distributed")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    scope = {"t": t, "module": module, "show": lambda *values: shown.append(" | ".join(re.sub(r"\btorch\.|-(0\.0+\b)", r"\1", str(each)) for each in values))}
    try:
        exec(SETUP + program, scope)
    finally:
        dist.destroy_process_group()
    return shown


@pytest.fixture(autouse=True)
def no_world(monkeypatch):
    for each in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setitem(os.environ, "USE_LIBUV", "0")


@pytest.mark.parametrize("program", [
    TENSORS,
    *[WRAPPED.replace("{how}", how) for how in (
        "", "auto_wrap_policy=wrap.ModuleWrapPolicy({Block})",
        "auto_wrap_policy=functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={Block}), mixed_precision=fsdp.MixedPrecision(param_dtype=t.bfloat16, "
        "reduce_dtype=t.float32, buffer_dtype=t.bfloat16)",
        "auto_wrap_policy=wrap.ModuleWrapPolicy({Block}), mixed_precision=fsdp.MixedPrecision(param_dtype=t.bfloat16, buffer_dtype=t.bfloat16, cast_forward_inputs=True)")],
    *[SHARDED.replace("{policy}", policy).replace("{last}", last) for policy, last in (
        ("{}", "(nn.BatchNorm1d(3), nn.Linear(3, 2))"),
        ("{'mp_policy': fsdp.MixedPrecisionPolicy(param_dtype=t.bfloat16, output_dtype=t.float32)}", "()"))],
], ids=["tensors", "whole", "wrapped", "low", "low_inputs", "sharded", "sharded_low"])
def test_as_torch(program):
    with pytest.warns() as _:
        theirs = lines(torch, "warnings.warn('x')\n" + program)
        ours = lines(kindling, "warnings.warn('x')\n" + program)
    assert ours == theirs
