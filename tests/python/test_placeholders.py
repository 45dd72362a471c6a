"""Classes of PyTorch for what is not here can be named in annotations, isinstance, issubclass, subclasses and except clauses."""
import copy
import importlib
import inspect
import pickle
import types
import typing
import warnings

import kindling
import pytest

# Classes that programs do not name: results and settings of one backend's library, PyTorch's script compiler and what is not there yet.
LEFT_OUT = {
    "": "ConcreteModuleTypeBuilder ExecutionPlan GraphExecutorState LiteScriptModule LoggerBase ScriptModuleSerializer StaticModule Storage "
        "QInt8Storage QInt32Storage QUInt8Storage QUInt2x4Storage QUInt4x2Storage",
    "accelerator": "Graph",
    "autograd": "DeviceType ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState SavedTensor enforce_grad_layout_policy",
    "autograd.profiler": "MemRecordsAcc",
    "cuda": "cudaStatus",
    "jit": "strict_fusion",
    "profiler": "ExecutionTraceObserver RecordScope",
    "utils.data": "guaranteed_datapipes_determinism non_deterministic runtime_validation_disabled",
}
MODULES = ["", "accelerator", "amp", "autograd", "autograd.function", "autograd.graph", "autograd.profiler", "cpu", "cuda", "distributed", "distributions",
           "jit", "library", "masked", "mps", "mtia", "nn", "nn.parallel", "nn.parallel.data_parallel", "nn.parallel.distributed", "nn.utils.rnn",
           "optim", "optim.lr_scheduler", "overrides", "profiler", "types", "utils.data", "xpu"]


def listed():
    torch = pytest.importorskip("torch")
    for name in MODULES:
        module = importlib.import_module(".".join(filter(None, ("torch", name))))
        for each in getattr(module, "__all__", None) or [each for each in dir(module) if each[0] != "_"]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(module, each, None)
            ours = isinstance(value, type) and value.__module__.startswith("torch") and (hasattr(module, "__all__") or not hasattr(torch, each))
            if ours and each not in LEFT_OUT.get(name, "").split():
                yield name, each


CLASSES = sorted(listed())


@pytest.mark.parametrize("module, name", CLASSES, ids=[".".join(each) for each in CLASSES])
def test_class(module, name):
    cls = getattr(importlib.import_module(".".join(filter(None, ("kindling", module)))), name)
    theirs = getattr(importlib.import_module(".".join(filter(None, ("torch", module)))), name)
    assert isinstance(cls, type) and getattr(importlib.import_module(".".join(filter(None, ("kindling", module)))), name) is cls
    assert not isinstance(object(), cls) and not issubclass(int, cls)
    assert issubclass(cls, BaseException) == issubclass(theirs, BaseException)
    if issubclass(cls, BaseException):
        assert [base.__name__ for base in cls.__mro__] == [base.__name__ for base in theirs.__mro__]
        with pytest.raises(cls):
            raise cls("text")
    {cls: 1}, cls | None, typing.Optional[cls], inspect.signature(eval("lambda x: x"))
    try:
        types.new_class("Sub", (theirs,))
    except TypeError:
        return
    assert issubclass(types.new_class("Sub", (cls,)), cls)


def test_nothing_is_distributed():
    from kindling.nn import parallel

    for cls in (parallel.DistributedDataParallel, parallel.DistributedDataParallelCPU, kindling.nn.parallel.distributed.DistributedDataParallel):
        assert not isinstance(kindling.nn.Linear(1, 1), cls) and issubclass(cls, kindling.nn.Module)
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            cls(kindling.nn.Linear(1, 1))
    assert parallel.DataParallel[int].__origin__ is parallel.DataParallel
    scope = {}
    exec("from kindling.nn.parallel import *\nfrom kindling.nn.parallel.scatter_gather import gather as g", scope)
    for name, error in (("gather", AssertionError), ("replicate", AssertionError), ("scatter", RuntimeError), ("parallel_apply", RuntimeError)):
        with pytest.raises(error):
            scope[name]([kindling.ones(1)], [0])
    assert scope["g"] is scope["gather"] and pickle.loads(pickle.dumps(scope["gather"])) is scope["gather"]
    assert parallel.data_parallel(kindling.nn.Identity(), kindling.ones(1)).item() == 1


def test_modules_under_no_compiler():
    from kindling import jit

    class M(jit.ScriptModule):
        flag: jit.Final[bool]

        @jit.script_method
        def forward(self, x):
            return x + 1

    assert M()(kindling.ones(1)).item() == 2 and isinstance(M(), kindling.nn.Module)
    assert not isinstance(kindling.nn.Linear(1, 1), (jit.ScriptModule, jit.TopLevelTracedModule, jit.ScriptFunction))
    assert issubclass(jit.RecursiveScriptModule, jit.ScriptModule) and jit.Attribute(1, int).type is int
    assert jit.script_if_tracing(len)([1]) == 1 and jit.wait(jit.fork(lambda: 3)) == 3


def test_data_pipes():
    from kindling.utils.data import DataLoader, Dataset, IterableDataset, IterDataPipe, MapDataPipe, functional_datapipe

    assert issubclass(IterDataPipe, IterableDataset) and issubclass(MapDataPipe, Dataset)

    @functional_datapipe("doubled")
    class Doubled(IterDataPipe):
        def __init__(self, source, by=2):
            self.source, self.by = source, by

        def __iter__(self):
            return (self.by * each for each in self.source)

    class Numbers(IterDataPipe):
        def __iter__(self):
            return iter(range(3))

    pipe = Numbers().doubled(by=3)
    assert list(pipe) == [0, 3, 6] and repr(pipe).endswith("Doubled") and list(copy.deepcopy(Numbers())) == [0, 1, 2]
    assert next(iter(DataLoader(Numbers().doubled(), batch_size=3))).tolist() == [0, 2, 4]
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("doubled")(Doubled)
    with pytest.raises(AttributeError, match="no attribute 'tripled"):
        Numbers().tripled()


def test_devices_that_are_not_there():
    for call in ("cuda.Event()", "xpu.Stream()", "xpu.Event()", "mps.Event()", "distributed.TCPStore('localhost', 1, 2)", "mtia.MTIAGraph()"):
        with pytest.raises(RuntimeError):
            eval("kindling." + call, {"kindling": kindling})
    with kindling.xpu.device(None), kindling.mtia.device(-1), kindling.xpu.stream(None), kindling.mtia.stream(None):
        pass
    assert not kindling.masked.is_masked_tensor(kindling.ones(1))
