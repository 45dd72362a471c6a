"""Names of PyTorch that are declared and not built: they import, are handed on, and say at their use what they need."""
import enum
import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import kindling
import pytest
from kindling import _absent

AREAS = sorted(path.partition(".")[0] for path in (
    "ao", "cuda", "distributed", "export", "jit", "nn", "onnx", "package", "quantization", "utils", "xpu"))


def declared():
    for area in AREAS:
        for module, (_, names) in _absent.table(area).items():
            for name, how in names.items():
                yield module, name, how


def test_names_give_objects_of_their_kind():
    seen = 0
    for module, name, how in declared():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(importlib.import_module("kindling." + module), name)
            except AttributeError:
                pytest.fail(f"{module}.{name}{how}")
        seen += 1
        if how == "()" and getattr(value, "_absent", False):
            with pytest.raises(NotImplementedError, match=r"^torch\."):
                value()
        elif how[:1] in ("!", "{", "<", ":") or how == "":
            assert isinstance(value, type), (module, name)
    assert seen > 2000


def test_marks_are_where_they_are_declared():
    for path in _absent.MARKS:
        module, _, name = path.rpartition(".")
        assert _absent.names(module)[name] == "()", path
        value = getattr(importlib.import_module("kindling." + module), name)
        assert not getattr(value, "_absent", False), path


def test_parts_of_jit_are_those_of_jit():
    from kindling import jit
    for module, names in (("_trace", "trace trace_module is_tracing"), ("_script", "script interface"), ("_async", "fork wait"), ("_freeze", "freeze optimize_for_inference"),
                          ("_fuser", "optimized_execution set_fusion_strategy")):
        for name in names.split():
            assert getattr(importlib.import_module("kindling.jit." + module), name) is getattr(jit, name)
    assert jit._script_if_tracing(abs)(-1) == 1     # torchvision's batched_nms


def test_every_reason_is_one():
    for module, name, _ in declared():
        assert len(_absent.why(f"{module}.{name}")) > 15


def test_classes_can_be_made_named_and_subclassed_and_used_not():
    from kindling.distributed.checkpoint import StorageReader
    from kindling.distributed.elastic.agent.server.api import RunResult, SimpleElasticAgent

    class Mine(SimpleElasticAgent):
        def more(self):
            return 1

    mine = Mine(spec=3)
    assert mine.spec == 3 and mine.more() == 1 and isinstance(mine, SimpleElasticAgent) and not isinstance(1, SimpleElasticAgent)
    assert not hasattr(mine, "nothing_like_it")
    with pytest.raises(NotImplementedError, match="torch.distributed.elastic.agent.server.api.SimpleElasticAgent.run starts and watches"):
        mine.run()
    with pytest.raises(NotImplementedError, match="several processes"):
        StorageReader().read_metadata()
    assert StorageReader | None and list[StorageReader]
    assert RunResult("x", failures=2).failures == 2 and RunResult("x") == RunResult("x") and "state='x'" in repr(RunResult("x"))
    with pytest.raises(TypeError, match="state"):
        RunResult()


def test_enumerations_and_errors():
    from kindling.distributed.elastic.agent.server import WorkerState
    from kindling.distributed.elastic.multiprocessing.errors import ChildFailedError

    assert issubclass(WorkerState, enum.Enum) and WorkerState.HEALTHY.name == "HEALTHY"
    assert issubclass(ChildFailedError, Exception)
    with pytest.raises(ChildFailedError):
        raise ChildFailedError("x")


def test_what_is_asked_for_by_hasattr():
    assert not hasattr(kindling, "no_such_name") and not hasattr(kindling.nn, "no_such_name") and not hasattr(kindling.utils, "no_such_name")
    with pytest.raises(ModuleNotFoundError, match="kindling.no_such_module"):
        importlib.import_module("kindling.no_such_module")
    with pytest.raises(ImportError):
        exec("from kindling.onnx import no_such_name", {})


def test_nothing_of_it_is_loaded_without_need():
    code = ("import sys, kindling\nkindling.install_as_torch()\nimport torch\nfrom torch import nn\nimport torch.utils.data, torch.optim\n"
            "nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()\n"
            "print(sorted(name for name in sys.modules if '_absent' in name))\n"
            "import torch.ao.quantization as q\nprint(q.__name__, 'QConfig' in dir(q), q.QConfig.__module__)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stdout.splitlines()[0] == "[]", done.stderr
    assert "True" in done.stdout.splitlines()[1]


def test_a_decorator_waits_for_the_call():
    from kindling.distributed.rpc.api import _require_initialized

    @_require_initialized
    def answer(x):
        return x

    assert answer.__name__ == "answer"
    with pytest.raises(NotImplementedError, match="rpc.api._require_initialized calls other processes"):
        answer(1)
    with pytest.raises(NotImplementedError):
        _require_initialized(1)


def test_operators_that_are_not_there():
    aten = kindling.ops.aten
    assert str(aten._pin_memory.default) == "aten._pin_memory.default" and aten._pin_memory is aten._pin_memory
    assert {aten._pin_memory.default: 1}[aten._pin_memory.default] == 1
    with pytest.raises(NotImplementedError, match="torch.ops.aten._pin_memory is an operator"):
        aten._pin_memory.default(kindling.ones(1))
    assert aten.mul.Scalar(kindling.ones(2), 3).tolist() == [3, 3]       # an overload that PyTorch keeps apart
    assert not hasattr(aten, "no_such_operator") and not hasattr(aten.mul, "NoSuchOverload") and not hasattr(kindling.ops.mine, "any")


def test_a_function_hides_the_module_of_its_name():
    source = ("import kindling.ao.quantization as q; from kindling.ao.quantization import fuse_modules; assert q.fuse_modules is fuse_modules; "
              "assert type(fuse_modules).__name__ == 'function', fuse_modules")
    subprocess.run([sys.executable, "-c", source], check=True, cwd=Path(__file__).parent)


def test_name_spaces_of_the_native_module_are_looked_for_in_it():
    assert not hasattr(kindling, "cpp") or kindling.cpp is kindling._C.cpp


def test_an_overload_without_a_schema_of_its_own_says_so():
    with pytest.raises(NotImplementedError, match="chooses by the arguments"):
        kindling.ops.aten.eq.Tensor_out._schema
    assert kindling.ops.aten.eq.Tensor._schema
