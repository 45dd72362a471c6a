"""torch.utils.benchmark beside torch: the words of measurements, tables, the ways to time."""
import importlib
import re
import time

import pytest

PROGRAM = r'''
ts=C.TaskSpec(stmt='x+1',setup='x=1',label='L',sub_label='S',description='D',env='E',num_threads=2)
m=Measurement(number_per_run=10, raw_times=[1e-4,1.1e-4,1.2e-4,2e-4,1.05e-4], task_spec=ts)
print(m, m.times, m.median, m.iqr, m.significant_figures, m.has_warnings, m.as_row_name, m.title, m.env, m.label, m.meets_confidence())
m2=Measurement(10,[1.0e-6]*5,C.TaskSpec('y','pass')); print(m2, m2.as_row_name, m2.title, m2.env)
m3=Measurement(1,[3.0],C.TaskSpec('multi\nline','setup1\nsetup2',description='d')); print(m3)
print(C.unit_to_english('us'), C.select_unit(1e-5), C.select_unit(100), [C.trim_sigfig(x,n) for x in (3.14159,314.1,.00123,1.,10.,99.99) for n in (1,2,3)], C.ordered_unique([3,1,3,2]))
ms=[Measurement(1,[t*1e-6]*4,C.TaskSpec('s','',label='Lab',sub_label=sl,description=d,num_threads=nt)) for nt in (1,2) for sl in ('a','bb') for d,t in (('one',10+nt),('two',20.123))]
c=Compare(ms); print(c); c.trim_significant_figures(); print(c); c.colorize(); print(repr(str(c)))
print([str(x) for x in Measurement.merge(ms+ms)][0])
def M(t,n=4,npr=1,**k):
    k.setdefault('stmt','s'); k.setdefault('setup',''); k.setdefault('description','dd')
    return Measurement(npr,[t*1e-6]*n,TaskSpec(**k))
print(Compare([M(10,env='E1',sub_label='a',description='d1'),M(20,env='E2 long',sub_label='a',description='d1'),M(30,env='E1',sub_label='b',description='d1')]))
print(Compare([M(10,sub_label='a',description='d1'),M(20,sub_label='b',description='d2')]))
print(Compare([M(10,label='A'),M(20,label='B')]))
print(Compare([M(10),M(20)]))
print(Compare([M(10,label='very long label that is wider than the table')]))
c=Compare([M(10,sub_label='a',description='d1'),M(10.5,sub_label='b',description='d1'),M(25,sub_label='c',description='d1'),M(80,sub_label='d',description='d1'),M(15,sub_label='a',description='d2'),M(1,sub_label='b',description='d2'),M(3e5,sub_label='c',description='d2'),M(5,sub_label='d',description='d2')]); print(c); c.colorize(); print(repr(str(c))); c.colorize(rowwise=True); print(repr(str(c)))
x=Measurement(1,[1e-6,2e-6,3e-6,4e-6],TaskSpec('s','',description='q')); y=Measurement(1,[1e-6,1.1e-6,1.2e-6,1.3e-6],TaskSpec('s','',description='r')); z=Measurement(1,[1e-6]*5,TaskSpec('s','',description='z')); print(x); c=Compare([x,y,z]); c.highlight_warnings(); print(c); c.trim_significant_figures(); print(c)
for v in ([1e-9]*5,[1e-3,1.001e-3,1.002e-3,1.0005e-3],[5.0],[1e-5]*100+[3e-5]*10): print(Measurement(7,v,TaskSpec('s','p')).significant_figures, end=' ')
try: Timer('x', language='foo')
except Exception as e: print(type(e),e)
t=Timer('f(x)',globals={'f':lambda x:x,'x':1}); print(t.timeit(10).title)
for f in (lambda: t.repeat(1,1), lambda: t.autorange(), lambda: Timer('x',language='cpp',globals={'a':1}), lambda: Timer(''), lambda: Timer('x',global_setup='y')):
    try: print(f())
    except Exception as e: print(type(e),e)
print(repr(Timer("\n    a = 1\n    b = 2\n").timeit(1).task_spec.stmt))
'''


def printed(name):
    lines = []
    benchmark = importlib.import_module(name + ".utils.benchmark")
    space = {each: getattr(benchmark, each) for each in dir(benchmark) if each[0] != "_"}
    space["C"] = importlib.import_module(name + ".utils.benchmark.utils.common")
    space["print"] = lambda *values, end="": lines.append(" ".join(map(str, values)))
    exec(PROGRAM, space)
    return re.sub("0x[0-9a-f]+", "", "\n".join(lines).replace("kindling", "torch")).split("\n")


def test_words_and_tables_are_torchs():
    for one, other in zip(printed("kindling"), printed("torch")):
        assert one == other


def test_ways_to_time():
    from kindling.utils.benchmark import Compare, Timer

    timer = Timer("f(x)", setup="x = 1", globals={"f": lambda x: time.sleep(0.001)}, label="sleep", description="plain", num_threads=1)
    once = timer.timeit(3)
    assert once.number_per_run == 3 and len(once.raw_times) == 1 and once.median >= 0.001
    seen = []
    blocks = timer.blocked_autorange(callback=lambda number, taken: seen.append(taken), min_run_time=0.05)
    assert sum(blocks.raw_times) >= 0.05 and seen == blocks.raw_times
    adaptive = timer.adaptive_autorange(threshold=0.5, max_run_time=0.5)
    assert len(adaptive.raw_times) > 3 or sum(adaptive.raw_times) > 0.5
    assert "sleep" in str(Compare([blocks, adaptive]))


def test_what_is_refused():
    from kindling.utils.benchmark import Timer

    with pytest.raises(NotImplementedError, match="compiler"):
        Timer("x", language="cpp")
    with pytest.raises(NotImplementedError, match="instructions"):
        Timer("1").collect_callgrind()
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0").timeit(1)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_random_tensors_are_torchs(seed):
    found = []
    for name in ("torch", "kindling"):
        b = importlib.import_module(name + ".utils.benchmark")
        dtypes = importlib.import_module(name)
        fuzzer = b.Fuzzer(
            parameters=[b.FuzzedParameter("dim", 1, 3, "uniform", strict=True), [b.FuzzedParameter(f"k{i}", 2, 30, "loguniform") for i in range(3)],
                        b.FuzzedParameter("step", 1, 3, "uniform"), b.FuzzedParameter("scale", 0.5, 2.0, "uniform")],
            tensors=[b.FuzzedTensor("x", size=("k0", "k1", "k2"), steps=("step", 1, 2), probability_contiguous=0.3, dim_parameter="dim", min_elements=4, max_elements=900),
                     [b.FuzzedTensor("y", size=("k0", 4), dtype=dtypes.int64, max_allocation_bytes=700)]],
            constraints=[lambda params: params["k0"] != params["k1"]], seed=seed)
        rows = [({each: (value.tolist(), value.stride()) for each, value in tensors.items()}, [str(v["numel"]) + str(list(map(int, v["order"]))) for v in about.values()],
                 [v["is_contiguous"] for v in about.values()], params) for tensors, about, params in fuzzer.take(6)]
        sparse = b.Fuzzer([b.FuzzedParameter("k", 5, 20, "uniform"), b.FuzzedParameter("density", 0.1, 0.5, "uniform"), b.FuzzedParameter("coalesced", 0, 1, "uniform"),
                           b.FuzzedParameter("sparse_dim", 1, 2, "uniform")],
                          [b.FuzzedSparseTensor("s", size=("k", "k"), sparse_dim="sparse_dim", density="density", coalesced="coalesced")], seed=seed)
        rows.append([(tensors["s"].to_dense().tolist(), {key: str(value) for key, value in about["s"].items()}) for tensors, about, _ in sparse.take(4)])
        found.append((rows, fuzzer.rejection_rate))
    assert str(found[0]).replace("torch", "kindling") == str(found[1]).replace("torch", "kindling")


def test_parameters_by_probability_and_alias():
    from kindling.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias

    fuzzer = Fuzzer([FuzzedParameter("a", 2, 9, "uniform"), FuzzedParameter("b", distribution={1: 0.5, ParameterAlias("a"): 0.5})],
                    [FuzzedTensor("x", size=("a",)), FuzzedTensor("y", size=("b",))], seed=3)
    pairs = {(len(tensors["x"]) == len(tensors["y"]), len(tensors["y"]) == 1) for tensors, _, _ in fuzzer.take(30)}
    assert pairs == {(True, False), (False, True)}
    for call, kind in ((lambda: FuzzedParameter("a", distribution={1: 0.4}), AssertionError), (lambda: FuzzedParameter("a", 1, 2, "other"), AssertionError),
                       (lambda: Fuzzer([FuzzedParameter("a", 1, 2, "uniform")], [FuzzedTensor("a", size=(1,))]), ValueError),
                       (lambda: next(Fuzzer([FuzzedParameter("a", distribution={ParameterAlias("a"): 1.0})], []).take(1)), ValueError)):
        with pytest.raises(kind):
            call()
