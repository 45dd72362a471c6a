"""Optimizers side by side with torch: numbers, state, hooks, saving, errors."""
import copy
import pickle
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels

CASES = [
    ("SGD", {"lr": 0.01}), ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.5}), ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "maximize": True, "weight_decay": 0.1}),
    ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("Adam", {"maximize": True}),
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {}), ("AdamW", {"amsgrad": True, "lr": 0.1}), ("AdamW", {"maximize": True, "weight_decay": 0.5}),
    ("RMSprop", {}), ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1}),
    ("RMSprop", {"maximize": True, "momentum": 0.5}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1}), ("Adagrad", {"initial_accumulator_value": 0.5}),
    ("Adadelta", {}), ("Adadelta", {"rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}), ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}), ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.01}),
    ("RAdam", {}), ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"betas": (0.9, 0.9)}),
    ("ASGD", {}), ("ASGD", {"t0": 3, "weight_decay": 0.1, "lambd": 0.1}),
    ("Rprop", {}), ("Rprop", {"etas": (0.3, 2.0), "maximize": True}),
    ("Adafactor", {}), ("Adafactor", {"weight_decay": 0.1, "d": 2.0}),
    # Few iterations: near the minimum it divides differences of nearly equal numbers, and the order of a sum would show.
    ("LBFGS", {"lr": 0.5, "max_iter": 2}), ("LBFGS", {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 2}),
]
FOREACH = [case for case in CASES if case[0] not in ("LBFGS",)]


def case_name(case):
    return " ".join([case[0], *(f"{key}={value}" for key, value in case[1].items())])


def start(module, dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((5, 3), (3,), (1,), (2, 1, 2))]
    return [module.tensor(array.tolist(), dtype=getattr(module, dtype)).requires_grad_() for array in arrays]


def loss_of(params):
    return sum((param * param * (index + 1) + param.sin()).sum() for index, param in enumerate(params))


def train(module, name, options, steps=8, dtype="float32", between=None, lr=None):
    params = start(module, dtype)
    options = dict(options)
    if lr is not None:
        options["lr"] = module.tensor(lr)
    optimizer = getattr(module.optim, name)(params, **options)
    trace = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(params)
        loss.backward()
        return loss

    for step in range(steps):
        trace.append(optimizer.step(closure).item())
        if between is not None:
            optimizer = between(module, optimizer, params, step)
    return [param.detach().numpy() for param in params], trace, optimizer


def same(mine, theirs, dtype):
    close = 2e-6 if dtype == "float32" else 1e-13
    for one, other in zip(mine[0], theirs[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=close, atol=close)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=close * 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_numbers(case, dtype):
    same(train(kindling, *case, dtype=dtype), train(reference, *case, dtype=dtype), dtype)


@pytest.mark.parametrize("case", FOREACH, ids=case_name)
def test_foreach_numbers(case):
    case = case[0], {**case[1], "foreach": True}
    same(train(kindling, *case, dtype="float64"), train(reference, *case, dtype="float64"), "float64")


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.3, 0.5)])
@pytest.mark.parametrize("case", [case for case in CASES if case[0] in ("SGD", "Adam", "AdamW")], ids=case_name)
@pytest.mark.parametrize("dtype", [kindling.float32, kindling.float64])
@pytest.mark.parametrize("foreach", [False, True])
def test_one_pass_has_the_bits_of_single_operators(monkeypatch, case, betas, dtype, foreach):
    options = {**case[1], "foreach": foreach, **({} if case[0] == "SGD" else {"betas": betas})}

    def run():
        kindling.manual_seed(0)
        params = [kindling.randn(33, 7, dtype=dtype), kindling.randn(40, 50, dtype=dtype).t(), kindling.randn((), dtype=dtype)]
        optimizer = getattr(kindling.optim, case[0])([param.requires_grad_() for param in params], **options)
        for step in range(4):
            for index, param in enumerate(params):
                param.grad = kindling.sin(param.detach() * (step + index + 1)) * 10.0 ** (index - 1)
            params[0].grad[step] = [float("nan"), float("inf"), 0.0, 1e-30][step]
            optimizer.step()
        return params, [optimizer.state[param] for param in params]

    # Whatever kernels other tests have added in this process, after which nothing is plain.
    monkeypatch.setattr(kindling._C, "_are_plain", lambda *lists: all(isinstance(each, kindling.Tensor) for each in sum(lists, [])))
    params, states = run()
    monkeypatch.setattr(kindling._C, "_are_plain", lambda *lists: False)
    wanted, wanted_states = run()
    for param, other, state, other_state in zip(params, wanted, states, wanted_states):
        assert kindling.equal(param.nan_to_num(7), other.nan_to_num(7)) and param._version >= 4
        assert state.keys() == other_state.keys()
        for name, value in state.items():
            assert kindling.equal(value.nan_to_num(7), other_state[name].nan_to_num(7)), name


PLAIN = """
import kindling

C = kindling._C
a, b, leaf = kindling.ones(2), kindling.ones(2), kindling.ones(2, requires_grad=True)
assert C._are_plain([a], [b], []) and C._are_plain([a, b], [b, a])
assert not C._are_plain([a], [kindling.ones(3)]) and not C._are_plain([a], [b.double()]) and not C._are_plain([a], [a, b])
assert not C._are_plain([a], [None]) and not C._are_plain([a.bfloat16()])
assert not C._are_plain([kindling.ones(2, dtype=kindling.complex64)]) and not C._are_plain([kindling.ones(2, device="meta")])
assert not C._are_plain([leaf])
with kindling.no_grad():
    assert C._are_plain([leaf])

class Watched(kindling.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})

assert not C._are_plain([kindling.ones(2).as_subclass(Watched)])
leaf.grad = kindling.ones_like(leaf)
with kindling.profiler.profile() as profile:
    assert not C._are_plain([a])
    kindling.optim.Adam([leaf]).step()
assert "aten::lerp_" in {event.key for event in profile.key_averages()}
library = kindling.library.Library("aten", "IMPL")
library.impl("mul_.Tensor", lambda self, other: self, "CPU")
assert not C._are_plain([a])
"""


def test_one_pass_is_for_plain_tensors_that_nobody_watches():
    subprocess.run([sys.executable, "-c", PLAIN], check=True, cwd=tempfile.gettempdir())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_numbers(name):
    options = {"fused": True, "lr": 0.01, "weight_decay": 0.1, **({"momentum": 0.9} if name == "SGD" else {})}
    same(train(kindling, name, options), train(reference, name, options), "float32")


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam",
                                  "ASGD", "Rprop", "Adafactor"])
def test_rate_as_tensor(name):
    same(train(kindling, name, {}, lr=0.01), train(reference, name, {}, lr=0.01), "float32")


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_state_dict_has_torch_form(case):
    mine, theirs = (train(module, *case, steps=2)[2].state_dict() for module in (kindling, reference))
    assert list(mine) == list(theirs) == ["state", "param_groups"]
    assert mine["param_groups"] == theirs["param_groups"]
    assert list(mine["state"]) == list(theirs["state"])
    for key, state in theirs["state"].items():
        # torch's L-BFGS makes the list of factors before the rest; the order of names carries nothing.
        assert set(mine["state"][key]) == set(state)
        for name, value in state.items():
            ours = mine["state"][key][name]
            if isinstance(value, reference.Tensor):
                assert tuple(ours.shape) == tuple(value.shape)
                assert str(ours.dtype).rpartition(".")[2] == str(value.dtype).rpartition(".")[2]
                np.testing.assert_allclose(ours.numpy(), value.numpy(), rtol=1e-5, atol=1e-6)


def reload(module, optimizer, params, step):
    fresh = type(optimizer)(params, lr=123.0)   # every option comes from the saved state
    fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return fresh


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "LBFGS"], ids=case_name)
def test_resuming_changes_nothing(case):
    plain, resumed = train(kindling, *case, steps=6), train(kindling, *case, steps=6, between=reload)
    for one, other in zip(plain[0], resumed[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert plain[1] == resumed[1]


def test_loading_casts_state_but_not_step():
    params = start(kindling, "float64")
    optimizer = kindling.optim.Adam(params)
    loss_of(params).backward()
    optimizer.step()
    half = [param.detach().to(kindling.float16).requires_grad_() for param in params]
    other = kindling.optim.Adam(half)
    other.load_state_dict(optimizer.state_dict())
    assert other.state[half[0]]["exp_avg"].dtype == kindling.float16
    assert other.state[half[0]]["step"].dtype == kindling.float32


def test_loading_errors():
    params = start(kindling, "float32")
    state = kindling.optim.SGD(params, lr=0.1).state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        kindling.optim.SGD([{"params": params[:1]}, {"params": params[1:]}], lr=0.1).load_state_dict(state)
    with pytest.raises(ValueError, match="doesn't match the size"):
        kindling.optim.SGD(params[:2], lr=0.1).load_state_dict(state)


def test_groups_and_their_errors():
    first, second, third, _ = start(kindling, "float32")
    optimizer = kindling.optim.SGD([{"params": first, "lr": 1.0}, {"params": [second]}], lr=0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [1.0, 0.5]
    optimizer.add_param_group({"params": [third], "momentum": 0.9})
    assert optimizer.param_groups[2]["momentum"] == 0.9 and optimizer.param_groups[2]["lr"] == 0.5
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [third]})
    with pytest.raises(TypeError, match="must be a dict"):
        optimizer.add_param_group([third])
    with pytest.raises(TypeError, match="ordered collections"):
        kindling.optim.SGD([{"params": {first}}], lr=0.1)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        kindling.optim.SGD(first, lr=0.1)
    with pytest.raises(ValueError, match="empty parameter list"):
        kindling.optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        kindling.optim.SGD([first * 2], lr=0.1)
    with pytest.raises(TypeError, match="can only optimize Tensors, but one of the params is int"):
        kindling.optim.SGD([1], lr=0.1)
    with pytest.raises(ValueError, match="Some param names are missing"):
        kindling.optim.SGD([("a", first), second], lr=0.1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        kindling.optim.SGD([first, first], lr=0.1)


def test_names_are_kept():
    params = start(kindling, "float32")
    optimizer = kindling.optim.SGD([(f"p{index}", param) for index, param in enumerate(params)], lr=0.1)
    state = optimizer.state_dict()
    assert state["param_groups"][0]["param_names"] == ["p0", "p1", "p2", "p3"]
    state["param_groups"][0].pop("param_names")
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["param_names"] == ["p0", "p1", "p2", "p3"]


@pytest.mark.parametrize("name, options, words", [
    ("SGD", {"lr": -1.0}, "Invalid learning rate: -1.0"), ("SGD", {"momentum": -1.0}, "Invalid momentum value: -1.0"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires"), ("Adam", {"eps": -1}, "Invalid epsilon value: -1"),
    ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ("AdamW", {"betas": (0.9, -1.0)}, "Invalid beta parameter at index 1: -1.0"),
    ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"), ("Adadelta", {"rho": 2}, "Invalid rho value: 2"),
    ("Rprop", {"etas": (1.5, 2.0)}, "Invalid eta values: 1.5, 2.0"),
    ("LBFGS", {"line_search_fn": "x"}, None), ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1"),
    ("Muon", {"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported"),
])
def test_option_errors(name, options, words):
    params = [kindling.ones(2, 2).requires_grad_()]
    if words is None:
        optimizer = getattr(kindling.optim, name)(params, **options)

        def closure():
            optimizer.zero_grad()
            loss = (params[0] ** 2).sum()
            loss.backward()
            return loss
        with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
            optimizer.step(closure)
    else:
        with pytest.raises(ValueError) as caught:
            getattr(kindling.optim, name)(params, **options)
        assert words in str(caught.value)


def test_capturable_needs_an_accelerator():
    params = start(kindling, "float32")
    loss_of(params).backward()
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported"):
        kindling.optim.Adam(params, capturable=True).step()


def test_muon_steps_like_torch():
    def run(module):
        rng = np.random.default_rng(1)
        weight = module.tensor(rng.standard_normal((6, 4)).tolist()).requires_grad_()
        optimizer = module.optim.Muon([weight], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (weight ** 3).sum().backward()
            optimizer.step()
        return weight.detach().numpy()
    # The iteration runs in bfloat16, so another order of summation shows in the third digit.
    np.testing.assert_allclose(run(kindling), run(reference), rtol=2e-2, atol=2e-2)


def test_hooks_run_in_order():
    params = start(kindling, "float32")
    optimizer = kindling.optim.SGD(params, lr=0.1)
    seen = []
    handles = [optimizer.register_step_pre_hook(lambda opt, args, kwargs: seen.append(("pre", opt is optimizer))),
               optimizer.register_step_post_hook(lambda opt, args, kwargs: seen.append(("post", opt is optimizer))),
               kindling.optim.optimizer.register_optimizer_step_pre_hook(lambda *_: seen.append("global pre")),
               kindling.optim.optimizer.register_optimizer_step_post_hook(lambda *_: seen.append("global post"))]
    optimizer.step()
    assert seen == ["global pre", ("pre", True), ("post", True), "global post"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 4


def test_pre_hook_may_replace_arguments():
    params = start(kindling, "float32")
    optimizer = kindling.optim.SGD(params, lr=0.1)
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: 42), {}))
    assert optimizer.step() == 42
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 1)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_state_dict_hooks():
    params = start(kindling, "float32")
    optimizer = kindling.optim.SGD(params, lr=0.1)
    seen = []
    optimizer.register_state_dict_pre_hook(lambda opt: seen.append("pre"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: seen.append(sorted(state)))
    optimizer.register_load_state_dict_post_hook(lambda opt: seen.append("loaded"))
    optimizer.register_load_state_dict_post_hook(lambda opt: seen.append("first"), prepend=True)
    state = optimizer.state_dict()
    assert state["more"] == 1
    optimizer.load_state_dict(state)
    assert seen == ["pre", ["more", "param_groups", "state"], "first", "loaded"]


def test_pickling_and_copying():
    params = [kindling.nn.Parameter(kindling.ones(3))]
    optimizer = kindling.optim.Adam(params, lr=0.1)
    (params[0] ** 2).sum().backward()
    optimizer.step()
    for other in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        assert type(other) is kindling.optim.Adam
        (own,) = other.param_groups[0]["params"]
        assert own is not params[0]
        assert own.detach().tolist() == params[0].detach().tolist()
        assert other.state[own]["step"].item() == 1
        own.grad = kindling.ones(3)
        other.step()
        assert other.state[own]["step"].item() == 2
    assert optimizer.state[params[0]]["step"].item() == 1


def test_zero_grad():
    params = start(kindling, "float32")
    optimizer = kindling.optim.SGD(params, lr=0.1)
    loss_of(params).backward()
    optimizer.zero_grad(set_to_none=False)
    assert all(param.grad.abs().sum().item() == 0 for param in params)
    optimizer.zero_grad()
    assert all(param.grad is None for param in params)


def test_steps_can_be_differentiated():
    def run(module):
        weight = module.tensor([1.0, 2.0], dtype=module.float64, requires_grad=True)
        rate = module.tensor(0.1, dtype=module.float64, requires_grad=True)
        param = weight.clone()
        param.grad = (weight ** 2).detach()
        optimizer = module.optim.SGD([param], lr=rate, differentiable=True)
        optimizer.step()
        param.sum().backward()
        return weight.grad.tolist(), rate.grad.item()
    assert run(kindling) == run(reference)


def test_complex_parameters():
    def run(module, name, options):
        param = module.tensor([1 + 2j, -0.5 + 1j], dtype=module.complex128, requires_grad=True)
        optimizer = getattr(module.optim, name)([param], **options)
        for _ in range(4):
            optimizer.zero_grad()
            (param * param.conj()).real.sum().backward()
            optimizer.step()
        return param.detach().numpy()
    for name, options in (("SGD", {"lr": 0.1, "momentum": 0.5}), ("Adam", {"amsgrad": True}), ("RMSprop", {}),
                          ("Adagrad", {}), ("NAdam", {}), ("Rprop", {}), ("Adadelta", {})):
        np.testing.assert_allclose(run(kindling, name, options), run(reference, name, options), rtol=1e-13)


def test_repr_and_unknown_names():
    params = start(kindling, "float32")
    assert repr(kindling.optim.AdamW(params)) == repr(reference.optim.AdamW(start(reference, "float32")))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        kindling.optim.Nothing


def test_averaged_model():
    def run(module, **options):
        model = module.nn.Linear(2, 1)
        with module.no_grad():
            model.weight.fill_(1.0), model.bias.fill_(0.0)
        averaged = module.optim.swa_utils.AveragedModel(model, **options)
        for _ in range(3):
            with module.no_grad():
                model.weight.mul_(1.5).add_(0.25)
            averaged.update_parameters(model)
        return averaged.module.weight.detach().tolist(), int(averaged.n_averaged)
    for make in (lambda utils: {}, lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.9)},
                 lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
                 lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()}):
        assert (run(kindling, **make(kindling.optim.swa_utils))
                == run(reference, **make(reference.optim.swa_utils)))


def test_swapping_state_in_and_out():
    params = start(kindling, "float32")
    optimizer = kindling.optim.Adam(params)
    loss_of(params).backward()
    optimizer.step()
    before = [param.detach().tolist() for param in params]
    others = [param.detach().clone().requires_grad_() for param in params]
    for other in others:
        other.grad = kindling.ones_like(other)
    with kindling.optim.swap_in_optimizer_params_and_state(
            optimizer, {str(index): other for index, other in enumerate(others)}, optimizer.state_dict()):
        optimizer.step()
    assert [param.detach().tolist() for param in params] == before
    assert all(other.detach().tolist() != values for other, values in zip(others, before))
    assert optimizer.param_groups[0]["params"] == params


@pytest.mark.parametrize("name, make", [
    ("add", lambda module, xs: (xs, 2.0)), ("add", lambda module, xs: (xs, xs)),
    ("sub", lambda module, xs: (xs, [1.0, 2.0])),
    ("mul", lambda module, xs: (xs, [1.0, 2.0])), ("div", lambda module, xs: (xs, 4.0)),
    ("sqrt", lambda module, xs: (xs,)),
    ("addcmul", lambda module, xs: (xs, xs, xs, 0.5)), ("addcdiv", lambda module, xs: (xs, xs, xs, [0.5, 2.0])),
    ("lerp", lambda module, xs: (xs, xs[::-1], 0.25)), ("maximum", lambda module, xs: (xs, 2.0)),
    ("minimum", lambda module, xs: (xs, xs[::-1])), ("pow", lambda module, xs: (xs, 2.0)),
    ("clamp_min", lambda module, xs: (xs, 2.0)), ("neg", lambda module, xs: (xs,)), ("norm", lambda module, xs: (xs,)),
])
@pytest.mark.parametrize("in_place", [False, True])
def test_operators_over_lists(name, make, in_place):
    if in_place and name == "norm":
        pytest.skip("a norm has no place")

    def run(module):
        xs = [module.tensor([1.0, 4.0], dtype=module.float64), module.tensor([9.0, 0.25], dtype=module.float64)]
        args = make(module, xs)
        if in_place:
            # Arguments that are the lists themselves would change under the operator's feet.
            args = args[0], *[[each.clone() for each in arg] if isinstance(arg, list) and arg and not isinstance(
                arg[0], float) else arg for arg in args[1:]]
            result = getattr(module, f"_foreach_{name}_")(*args)
            assert isinstance(result, list) and all(one is other for one, other in zip(result, xs))
            return [x.tolist() for x in xs]
        result = getattr(module, f"_foreach_{name}")(*args)
        assert isinstance(result, tuple)
        return [x.tolist() for x in result]
    assert run(kindling) == run(reference)
