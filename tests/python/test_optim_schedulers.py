"""Learning rate schedules side by side with torch: rates, momentum, saving, warnings, errors."""
import copy
import warnings

import pytest
import torch as reference

import kindling

WAVE = [1.0, 0.9, 0.95, 0.93, 0.92, 0.94, 0.96, 0.97, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 0.4, 0.3, 0.35, 0.36]


def made(name, **options):
    return lambda schedules, optimizer: getattr(schedules, name)(optimizer, **options)


def sequence(schedules, optimizer):
    return schedules.SequentialLR(optimizer, [
        schedules.ConstantLR(optimizer, factor=0.1, total_iters=3), schedules.LinearLR(optimizer, total_iters=4),
        schedules.ExponentialLR(optimizer, gamma=0.9)], milestones=[4, 9])


def chain(schedules, optimizer):
    return schedules.ChainedScheduler([schedules.ConstantLR(optimizer, factor=0.1, total_iters=2),
                                       schedules.ExponentialLR(optimizer, gamma=0.9)])


CASES = {
    "lambda": made("LambdaLR", lr_lambda=lambda epoch: 0.95 ** epoch),
    "lambdas": made("LambdaLR", lr_lambda=[lambda epoch: 0.95 ** epoch, lambda epoch: 1 / (epoch + 1)]),
    "multiplicative": made("MultiplicativeLR", lr_lambda=lambda epoch: 0.95),
    "step": made("StepLR", step_size=3), "multistep": made("MultiStepLR", milestones=[2, 5, 5, 9], gamma=0.5),
    "constant": made("ConstantLR", factor=0.5, total_iters=4), "linear": made("LinearLR", start_factor=0.2),
    "exponential": made("ExponentialLR", gamma=0.8), "polynomial": made("PolynomialLR", total_iters=12, power=2.0),
    "cosine": made("CosineAnnealingLR", T_max=6, eta_min=0.01),
    "restarts": made("CosineAnnealingWarmRestarts", T_0=3, T_mult=2, eta_min=0.001),
    "cyclic": made("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=4, step_size_down=2),
    "cyclic2": made("CyclicLR", base_lr=[0.01, 0.02], max_lr=0.1, step_size_up=3, mode="triangular2"),
    "cyclic_exp": made("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=3, mode="exp_range", gamma=0.9),
    "cyclic_own": made("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=3, mode="mine", scale_fn=lambda x: 1 / x),
    "one_cycle": made("OneCycleLR", max_lr=[0.5, 1.0], total_steps=20),
    "one_cycle_linear": made("OneCycleLR", max_lr=0.5, epochs=4, steps_per_epoch=5, anneal_strategy="linear"),
    "one_cycle_three": made("OneCycleLR", max_lr=0.5, total_steps=20, three_phase=True, pct_start=0.4),
    "sequential": sequence, "chained": chain,
    "plateau": made("ReduceLROnPlateau", patience=2, cooldown=1, factor=0.5),
    "plateau_max": made("ReduceLROnPlateau", mode="max", threshold_mode="abs", patience=0, min_lr=[0.01, 0.02]),
}


def optimizer_of(module, name="SGD"):
    options = {"SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.1}}[name]
    params = [module.ones(2).requires_grad_() for _ in range(2)]
    return getattr(module.optim, name)([{"params": params[0]}, {"params": params[1], "lr": 0.3}], **options)


def trace(module, make, name="SGD", steps=19, reload_at=None):
    optimizer = optimizer_of(module, name)
    schedule = make(module.optim.lr_scheduler, optimizer)
    seen = []
    for step in range(steps):
        optimizer.step()
        schedule.step(WAVE[step]) if "ReduceLROnPlateau" in type(schedule).__name__ else schedule.step()
        seen.append((schedule.get_last_lr(), [(group["lr"], group.get("momentum"), group.get("betas"))
                                              for group in optimizer.param_groups]))
        if step == reload_at:
            state, rates = copy.deepcopy(schedule.state_dict()), copy.deepcopy(optimizer.state_dict())
            optimizer = optimizer_of(module, name)
            schedule = make(module.optim.lr_scheduler, optimizer)
            optimizer.load_state_dict(rates)
            schedule.load_state_dict(state)
            assert schedule.state_dict().keys() == state.keys()
    return seen


@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("case", CASES)
def test_rates(case, name):
    assert trace(kindling, CASES[case], name) == trace(reference, CASES[case], name)


@pytest.mark.parametrize("case", CASES)
def test_resuming(case):
    assert trace(kindling, CASES[case], reload_at=7) == trace(reference, CASES[case])


def test_swalr():
    def run(module):
        optimizer = optimizer_of(module)
        schedule = module.optim.swa_utils.SWALR(optimizer, swa_lr=0.01, anneal_epochs=4)
        rates = []
        for _ in range(7):
            optimizer.step()
            schedule.step()
            rates.append(schedule.get_last_lr())
        return rates
    assert run(kindling) == run(reference)


def test_fractions_of_an_epoch():
    def run(module):
        schedule = module.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer_of(module), T_0=3, T_mult=2)
        rates = []
        for step in range(30):
            schedule.step(step / 3)
            rates.append(schedule.get_last_lr())
        return rates
    assert run(kindling) == run(reference)


def test_closed_form():
    for case in ("step", "multistep", "constant", "linear", "exponential", "polynomial", "cosine"):
        def run(module):
            schedule = CASES[case](module.optim.lr_scheduler, optimizer_of(module))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                schedule.step(5)
            return schedule.get_last_lr()
        assert run(kindling) == run(reference)


def test_order_of_calls_is_watched():
    schedule = kindling.optim.lr_scheduler.StepLR(optimizer_of(kindling), 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        schedule.step()
    optimizer = optimizer_of(kindling)
    schedule = kindling.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden after learning rate scheduler initialization"):
        schedule.step()
    optimizer = optimizer_of(kindling)
    schedule = kindling.optim.lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        schedule.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        schedule.get_lr()


def test_rate_that_is_a_tensor_stays_it():
    rate = kindling.tensor(0.5)
    optimizer = kindling.optim.SGD([kindling.ones(1).requires_grad_()], lr=rate)
    schedule = kindling.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.25


class Halving:
    def __init__(self):
        self.calls = 0

    def __call__(self, epoch):
        self.calls += 1
        return 0.5 ** epoch


def test_callable_objects_are_saved_by_attributes():
    own = Halving()
    schedule = kindling.optim.lr_scheduler.LambdaLR(optimizer_of(kindling), [own, lambda epoch: 1.0])
    state = schedule.state_dict()
    assert state["lr_lambdas"] == [{"calls": 1}, None]
    own.calls = 7
    schedule.load_state_dict(state)
    assert own.calls == 1


@pytest.mark.parametrize("name, options, error", [
    ("LambdaLR", {"lr_lambda": [abs]}, ValueError), ("MultiplicativeLR", {"lr_lambda": 3}, TypeError),
    ("ConstantLR", {"factor": 2.0}, ValueError), ("LinearLR", {"start_factor": 0.0}, ValueError),
    ("LinearLR", {"end_factor": 2.0}, ValueError), ("ReduceLROnPlateau", {"factor": 1.0}, ValueError),
    ("ReduceLROnPlateau", {"mode": "up"}, ValueError), ("ReduceLROnPlateau", {"min_lr": [0.1]}, ValueError),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.2, "mode": "no"}, ValueError),
    ("CyclicLR", {"base_lr": [0.1], "max_lr": 0.2}, ValueError),
    ("CosineAnnealingWarmRestarts", {"T_0": 0}, ValueError), ("OneCycleLR", {"max_lr": 0.1}, ValueError),
    ("OneCycleLR", {"max_lr": 0.1, "total_steps": 5, "pct_start": 2.0}, ValueError),
    ("OneCycleLR", {"max_lr": 0.1, "total_steps": 0}, ValueError),
    ("SequentialLR", {"schedulers": [], "milestones": []}, ValueError),
    ("StepLR", {"step_size": 3, "last_epoch": 2}, KeyError),
])
def test_errors_are_torchs(name, options, error):
    messages = []
    for module in (kindling, reference):
        with pytest.raises(error) as caught:
            getattr(module.optim.lr_scheduler, name)(optimizer_of(module), **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_needs_an_optimizer():
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        kindling.optim.lr_scheduler.StepLR(3, 1)


def test_one_cycle_ends():
    optimizer = optimizer_of(kindling)
    schedule = kindling.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=2)
    optimizer.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        schedule.step()
