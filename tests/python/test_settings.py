"""Settings of the whole process and of a thread: torch's answers, scopes, and the warning outside of a `with`."""
import subprocess
import sys
import threading
import warnings

import both
import pytest

import kindling

torch = pytest.importorskip("torch")

RESET = "torch.set_default_device(None)\ntorch.set_default_dtype(torch.float32)\ntorch.use_deterministic_algorithms(False)\n"


@pytest.mark.parametrize("what", [
    "torch.set_default_device('meta')\n(torch.get_default_device(), torch.empty(1).device, torch.tensor([1]).device, torch.ones(2).is_meta)",
    "with torch.device('meta'):\n    a = torch.get_default_device(), torch.empty(1).device\n(a, torch.get_default_device())",
    "torch.set_default_device('xyz')", "torch.set_default_device('meta')\ntorch.set_default_device(None)\ntorch.get_default_device()",
    "torch.set_default_device('meta')\nwith torch.device('cpu'):\n    a = torch.empty(1).device\n(a, torch.empty(1).device)",
    "torch.set_default_dtype(torch.float64)\n(torch.get_default_dtype(), torch.ones(1).dtype, torch.tensor([1.]).dtype)",
    "torch.set_default_dtype(torch.int32)", "torch.set_default_dtype('float32')", "torch.set_default_tensor_type(torch.DoubleTensor)\ntorch.get_default_dtype()",
    "torch.set_default_tensor_type('torch.DoubleTensor')\ntorch.get_default_dtype()", "torch.set_default_tensor_type('torch.nope')",
    "torch.set_default_tensor_type(3)", "torch.set_float32_matmul_precision('x')", "torch.set_float32_matmul_precision('high')\ntorch.get_float32_matmul_precision()",
    "torch.set_deterministic_debug_mode('x')", "torch.set_deterministic_debug_mode(5)", "torch.set_deterministic_debug_mode(None)",
    "torch.set_deterministic_debug_mode('warn')\n(torch.get_deterministic_debug_mode(), torch.are_deterministic_algorithms_enabled(), "
    "torch.is_deterministic_algorithms_warn_only_enabled())",
    "torch.use_deterministic_algorithms(True)\n(torch.get_deterministic_debug_mode(), torch.is_deterministic_algorithms_warn_only_enabled())",
    "torch.use_deterministic_algorithms(3)", "torch.set_num_threads(0)", "torch.set_num_threads('a')", "torch.set_num_interop_threads(0)",
    "torch.set_warn_always(3)", "torch.set_warn_always(True)\na = torch.is_warn_always_enabled()\ntorch.set_warn_always(False)\n(a, torch.is_warn_always_enabled())",
    "torch.set_num_threads(2)\ntorch.get_num_threads()"])
def test_as_torch(what):
    found = [both.run(name, what) for name in ("torch", "kindling")]
    for name in ("torch", "kindling"):
        both.run(name, RESET + "torch.set_float32_matmul_precision('highest')")
    assert found[1] == found[0]


def test_another_thread_has_its_own_default_device():
    seen = []
    with kindling.device("meta"):
        thread = threading.Thread(target=lambda: seen.append((str(kindling.get_default_device()), kindling.empty(1).is_meta)))
        thread.start()
        thread.join()
        assert kindling.empty(1).is_meta
    assert seen == [("cpu", False)]


def test_scope():
    scope = kindling.get_default_device_scope
    assert (str(scope().device), scope().depth, scope().is_set, scope().outer) == ("cpu", 0, False, ())
    with kindling.device("meta"):
        with kindling.device("cpu"):
            assert (str(scope().device), scope().depth) == ("cpu", 2) and [str(d) for d in scope().outer] == ["None", "meta"]
        assert (str(scope().device), scope().depth, scope().is_set) == ("meta", 1, True)
        with pytest.raises(AttributeError, match="read-only"):
            scope().device = "cpu"
    assert scope().depth == 0


def test_a_block_takes_the_change_back():
    with kindling.set_default_dtype(kindling.float64), kindling.set_default_device("meta"):
        made = kindling.ones(1)
        assert made.dtype == kindling.float64 and made.is_meta
    with pytest.raises(KeyError):
        with kindling.set_default_dtype(kindling.float64):
            raise KeyError
    made = kindling.ones(1)
    assert made.dtype == kindling.float32 and not made.is_meta


def test_the_warning_names_file_and_line_and_comes_once():
    from kindling._common import warn as _warn

    _warn._given.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with kindling.set_default_dtype(kindling.float64):
            pass
        assert caught == []
        for _ in range(2):
            kindling.set_default_dtype(kindling.float32)
        line = sys._getframe().f_lineno - 1
        kindling.set_default_device(None)
    assert [w.category for w in caught] == [_warn.GlobalStateWarning] * 2
    assert f"{__file__}:{line}" in str(caught[0].message) and (caught[0].filename, caught[0].lineno) == (__file__, line)
    assert "set_default_dtype" in str(caught[0].message) and "set_default_device" in str(caught[1].message)


PROGRAM = "import torch\ntorch.set_default_device('cpu')\ntorch.set_default_dtype(torch.float64)\nprint(torch.ones(1).dtype)\n"


@pytest.mark.parametrize("before, environment, expected", [
    (["-m", "kindling", "run"], {}, 0), (["-m", "kindling", "run"], {"KINDLING_WARN_GLOBAL": "1"}, 2),
    (["-W", "default", "-m", "kindling", "run"], {}, 2), ([], {}, 2), ([], {"KINDLING_WARN_GLOBAL": "0"}, 0)], ids=str)
def test_who_is_warned(tmp_path, before, environment, expected):
    import os

    program = tmp_path / "program.py"
    program.write_text(PROGRAM if before else PROGRAM.replace("import torch", "import kindling as torch"))
    done = subprocess.run([sys.executable, *before, str(program)], capture_output=True, text=True, env={**os.environ, **environment}, cwd=tmp_path)
    assert done.stdout == "torch.float64\n", done.stderr
    assert done.stderr.count("GlobalStateWarning") == expected, done.stderr
    if expected:
        assert "program.py:2" in done.stderr and "program.py:3" in done.stderr
