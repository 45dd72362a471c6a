"""torch.autograd.profiler and torch.profiler: events, averages, tables, traces; and nothing when off."""
import gzip
import json
import subprocess
import sys
import warnings

import pytest

import kindling

torch = pytest.importorskip("torch")


def trained(module, **options):
    x = module.ones(4, 5, requires_grad=True)
    w = module.ones(3, 5)
    with module.autograd.profiler.profile(**options) as prof:
        with module.autograd.profiler.record_function("mine"):
            y = (x @ w.t()).relu()
        y.sum().backward()
    return prof


def test_events_are_those_that_torch_has():
    """Operators that programs call, nodes of the backward, and the named stretch, each inside the right one."""
    found = {}
    for module in (torch, kindling):
        events = trained(module).function_events
        found[module] = {(event.name, event.cpu_parent.name if event.cpu_parent else None) for event in events}
    common = {("mine", None), ("aten::matmul", "mine"), ("aten::mm", "aten::matmul"), ("aten::relu", "mine"), ("aten::sum", None),
              ("autograd::engine::evaluate_function: ReluBackward0", None),
              ("ReluBackward0", "autograd::engine::evaluate_function: ReluBackward0"),
              ("MmBackward0", "autograd::engine::evaluate_function: MmBackward0"),
              ("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", None)}
    assert common <= found[torch]
    assert common <= found[kindling], common - found[kindling]
    times = trained(kindling).function_events
    for event in times:
        assert event.time_range.start <= event.time_range.end and event.self_cpu_time_total >= 0
        if event.cpu_parent is not None:
            parent = event.cpu_parent.time_range
            assert parent.start <= event.time_range.start and event.time_range.end <= parent.end and event in event.cpu_parent.cpu_children


def test_shapes_memory_and_stacks():
    theirs, mine = (trained(module, record_shapes=True, profile_memory=True, with_stack=module is kindling) for module in (torch, kindling))

    def first(prof, name):
        return next(event for event in prof.function_events if event.name == name)
    for name in ("aten::mm", "aten::matmul", "aten::relu", "aten::sum"):
        assert first(mine, name).input_shapes[:2] == first(theirs, name).input_shapes[:2], name
    for name in ("aten::mm", "aten::relu"):
        assert first(mine, name).cpu_memory_usage == first(theirs, name).cpu_memory_usage == 48
    assert any("test_profiler.py" in line and "trained" in line for line in first(mine, "aten::relu").stack)
    grouped = mine.key_averages(group_by_input_shape=True)
    assert {str(each.input_shapes) for each in grouped if each.key == "aten::mm"} >= {"[[4, 5], [5, 3]]"}


def test_averages_and_table():
    with kindling.autograd.profiler.profile(profile_memory=True) as prof:
        for _ in range(3):
            kindling.ones(10) + 1
    (add,) = [each for each in prof.key_averages() if each.key == "aten::add"]
    events = [event for event in prof.function_events if event.name == "aten::add"]
    assert add.count == 3 and add.cpu_time_total == pytest.approx(sum(event.cpu_time_total for event in events))
    assert add.cpu_time == pytest.approx(add.cpu_time_total / 3) and prof.total_average().count == len(prof.function_events)
    text = prof.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    lines = text.splitlines()
    assert [word in lines[1] for word in ("Name", "Self CPU %", "CPU total", "CPU time avg", "CPU Mem", "# of Calls")] == [True] * 6
    assert len(lines) == 6 and lines[-1].startswith("Self CPU time total:") and str(prof) == prof.table()
    times = [each.self_cpu_time_total for each in sorted(prof.key_averages(), key=lambda e: -e.self_cpu_time_total)]
    assert times == sorted(times, reverse=True) and prof.self_cpu_time_total == pytest.approx(sum(times))
    with pytest.raises(AttributeError, match="cannot sort by 'nothing'"):
        prof.table(sort_by="nothing")


def test_trace(tmp_path):
    prof = trained(kindling, record_shapes=True, with_stack=True)
    prof.export_chrome_trace(tmp_path / "trace.json")
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert json.loads(gzip.open(tmp_path / "trace.json.gz").read())["traceEvents"] == trace["traceEvents"]
    by_name = {event["name"]: event for event in reversed(trace["traceEvents"])}
    assert by_name["mine"]["cat"] == "user_annotation" and by_name["aten::mm"]["cat"] == "cpu_op"
    assert by_name["aten::mm"]["ph"] == "X" and by_name["aten::mm"]["dur"] > 0 and by_name["aten::mm"]["args"]["Input Dims"][0] == [4, 5]
    prof.export_stacks(tmp_path / "stacks.txt")
    assert "test_profiler.py" in (tmp_path / "stacks.txt").read_text()


def test_nothing_when_off():
    kindling.ones(2) + 1
    assert kindling._C._profile_running() is False and kindling._C._profile_begin("x") == -1
    with kindling.autograd.profiler.profile(enabled=False) as prof:
        kindling.ones(2) + 1
        assert kindling._C._profile_running() is False
    assert prof.function_events is None and "unfinished" in str(prof)
    with pytest.raises(RuntimeError, match="didn't finish running"):
        prof.table()


def test_one_at_a_time_and_off_again_after_an_error():
    with pytest.raises(KeyError):
        with kindling.autograd.profiler.profile():
            with pytest.raises(RuntimeError, match="already enabled"):
                kindling.autograd.profiler.profile().__enter__()
            raise KeyError
    assert kindling._C._profile_running() is False


def test_results_are_the_same_under_a_profiler():
    def run():
        kindling.manual_seed(0)
        model = kindling.nn.Sequential(kindling.nn.Linear(4, 8), kindling.nn.Tanh(), kindling.nn.Linear(8, 1))
        loss = model(kindling.randn(16, 4)).pow(2).mean()
        loss.backward()
        return [loss.item(), *(p.grad.clone() for p in model.parameters())]
    plain = run()
    with kindling.autograd.profiler.profile(record_shapes=True):
        watched = run()
    assert plain[0] == watched[0] and all(kindling.equal(a, b) for a, b in zip(plain[1:], watched[1:]))


@pytest.mark.parametrize("arguments", [dict(wait=1, warmup=1, active=2, repeat=1, skip_first=1), dict(wait=0, warmup=1, active=1),
                                       dict(wait=2, warmup=0, active=3, repeat=2)], ids=str)
def test_schedules(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = kindling.profiler.schedule(**arguments), torch.profiler.schedule(**arguments)
    assert [mine(step).name for step in range(20)] == [theirs(step).name for step in range(20)]
    for module in (torch, kindling):
        with pytest.raises(AssertionError):
            module.profiler.schedule(wait=0, warmup=0, active=0)


def test_steps():
    """Each cycle is handed over with the steps that were to be recorded."""
    def run(module):
        seen = []
        with module.profiler.profile(activities=[module.profiler.ProfilerActivity.CPU], schedule=module.profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
                                     on_trace_ready=lambda p: seen.append([sorted({e.key for e in p.key_averages() if "Step" in e.key}), sum("Step" in e.name for e in p.events())])) as prof:
            for _ in range(9):
                module.ones(2) + 1
                prof.step()
        return seen
    assert run(kindling) == run(torch) == [
        [["ProfilerStep*"], 2], [["ProfilerStep*"], 2]]


def test_profile_without_a_schedule(tmp_path):
    with kindling.profiler.profile(on_trace_ready=kindling.profiler.tensorboard_trace_handler(str(tmp_path))) as prof:
        with kindling.profiler.record_function("block"):
            kindling.ones(2) * 2
    assert {"block", "aten::mul"} <= {event.key for event in prof.events()}
    (trace,) = tmp_path.iterdir()
    assert trace.name.endswith(".pt.trace.json") and "block" in trace.read_text()
    assert kindling.profiler.supported_activities() == {kindling.profiler.ProfilerActivity.CPU}


def test_named_functions():
    @kindling.autograd.profiler.record_function("decorated")
    def work():
        return kindling.ones(1)
    with kindling.autograd.profiler.profile() as prof:
        work()
    assert "decorated" in [event.name for event in prof.function_events]


def test_table_of_top_level_events_shows_parts_of_the_whole():
    prof = trained(kindling)
    lines = prof.table(header="mine", top_level_events_only=True).splitlines()
    assert lines[0] == lines[2] == "=" * len(lines[0]) and lines[1] == "mine"
    assert lines[3] == "This report only display top-level ops statistics"
    shares = [float(line.split("%")[1].split()[-1]) for line in lines[7:-2]]
    assert 99 <= sum(shares) <= 101 and len(lines[0]) == len(lines[4]) - 2
    assert not any(word == "aten::mm" for line in lines for word in line.split())


SCRIPT = """\
import sys
import torch
from beside import twice
class Kept: pass
def work(x):
    for _ in range(3):
        x = twice(x).relu()
    return x.sum()
work(torch.ones(4, 4, requires_grad=True)).backward()
import pickle
print("ran", sys.argv[1:], __name__, __file__, type(pickle.loads(pickle.dumps(Kept()))).__name__)
"""


@pytest.mark.parametrize("command", [["-m", "kindling", "run", "-m", "torch.utils.bottleneck"], ["-m", "kindling.utils.bottleneck"]], ids=str)
def test_bottleneck(tmp_path, command):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    (folder / "beside.py").write_text("def twice(x): return x * 2\n")
    done = subprocess.run([sys.executable, *command, "inner/script.py", "-a", "b"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran ['-a', 'b'] __main__ inner/script.py Kept\n") == 2
    rule = "-" * 80
    parts = ["`bottleneck` is a tool", "Running environment analysis...\n", "Running your script with cProfile\n",
             "Running your script with the autograd profiler...\n", f"{rule}\n  Environment Summary\n{rule}\nPyTorch 2.13.0+kindling",
             "`pip3 list` truncated output:\n", f"{rule}\n  cProfile output\n{rule}\n", "Ordered by: internal time", "script.py:5(work)",
             f"{rule}\n  autograd profiler output (CPU mode)\n{rule}\n        top 15 events sorted by cpu_time_total\n\n----",
             "Self CPU time total:"]
    places = [done.stdout.find(part) for part in parts]
    assert -1 not in places and places == sorted(places), dict(zip(parts, places))
    table = done.stdout[places[-2]:].splitlines()
    assert "aten::relu" in done.stdout[places[-2]:] and len([line for line in table if "%" in line and "us" in line or "ms " in line]) <= 15


def test_bottleneck_of_programs_that_end_early(tmp_path):
    command = [sys.executable, "-m", "kindling.utils.bottleneck"]
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "fails.py").write_text("raise KeyError('planted')\n")
    leaves, fails, absent = (subprocess.run([*command, name], cwd=tmp_path, capture_output=True, text=True) for name in ("leaves.py", "fails.py", "no.py"))
    assert leaves.returncode == 3 and "autograd profiler output" in leaves.stdout
    assert fails.returncode == 1 and "KeyError: 'planted'" in fails.stderr
    assert absent.returncode == 2 and "can't open no.py: No such file or directory" in absent.stderr


@pytest.mark.parametrize("enter", ["_record_function_enter", "_record_function_enter_new"])
def test_stretches_named_by_operators(enter):
    def names(module):
        with module.autograd.profiler.profile() as prof:
            handle = getattr(module.ops.profiler, enter)("stretch", None)
            module.ones(2).mul(2)
            (module.ops.profiler._record_function_exit if enter[-3:] != "new" else module.ops.profiler._record_function_exit._RecordFunction)(handle)
        return [event.name for event in prof.function_events if event.name in ("stretch", "aten::mul")]

    assert names(kindling) == names(torch)
