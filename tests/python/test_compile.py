"""``torch.compile``, ``torch.compiler`` and ``torch.jit``: checked as PyTorch does, run eagerly, refused where not there."""

import importlib
import re

import pytest

import kindling

torch = pytest.importorskip("torch")

SAME = "jit.is_scripting() jit.is_tracing() compiler.is_compiling() compiler.reset() compiler.list_backends()"


def outcome(module, expression):
    part = expression.partition(".")[0]
    importlib.import_module(f"{module.__name__}.{part}")
    try:
        value = eval(expression, {part: getattr(module, part)})
    except Exception as error:
        return type(error).__name__, str(error)
    return "value", value


@pytest.mark.parametrize("expression", SAME.split())
def test_as_torch(expression):
    assert outcome(kindling, expression) == outcome(torch, expression)


def test_what_is_not_there_says_so():
    jit = importlib.import_module("kindling.jit")
    for call in (jit.script, jit.trace):
        with pytest.raises(NotImplementedError, match="not there yet"):
            call(print)
    assert jit.ignore(len) is len


def compilers():
    from kindling._compile import compile

    return compile, torch.compile


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "fast"},
        {"backend": "gcc"},
        {"mode": "default", "options": {"a": 1}},
        {"model": 3},
        {"wrong": 1},
        {"disable": True, "mode": "fast"},
    ],
    ids=str,
)
def test_compile_refuses_what_torch_refuses(arguments):
    found = []
    for compile in compilers():
        with pytest.raises((RuntimeError, AssertionError, TypeError)) as caught:
            compile(**{"model": len, **arguments})
        found.append((type(caught.value).__name__, str(caught.value)))
    assert found[0] == found[1]


def test_compile_runs_eagerly_and_says_so(tmp_path):
    import subprocess
    import sys

    program = (
        "import kindling as torch\n"
        "calls = []\n"
        "@torch.compile\n"
        "def f(x, *, y=1):\n    'words'\n    calls.append(1)\n    return x + y\n"
        "@torch.compile(mode='reduce-overhead', fullgraph=True)\n"
        "def g(x):\n    return x * 2\n"
        "assert (f(1, y=2), g(3), len(calls), f.__name__, f.__doc__) == (3, 6, 1, 'f', 'words')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"kindling: torch\.compile: .* eagerly\n", done.stderr)


def test_compiled_module(tmp_path):
    import pickle

    from kindling._compile import compile

    model = kindling.nn.Sequential(kindling.nn.Linear(2, 3), kindling.nn.Dropout())
    compiled = compile(model)
    assert isinstance(compiled, kindling.nn.Module) and compiled._orig_mod is model
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert compiled[0] is model[0] if hasattr(type(compiled), "__getitem__") else compiled._orig_mod[0] is model[0]
    compiled.eval()
    assert not model.training and not model[1].training
    compiled.extra = 5
    assert model.extra == 5 and compiled.extra == 5
    x = kindling.ones(4, 2)
    assert kindling.equal(compiled(x), model(x))
    assert kindling.equal(pickle.loads(pickle.dumps(compiled))(x), model(x))
