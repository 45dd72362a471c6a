"""``torch.compile``, ``torch.compiler`` and ``torch.jit``: checked as PyTorch does, refused where not there."""

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

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


def test_marks_of_scripts_and_what_freezing_takes():
    jit = importlib.import_module("kindling.jit")
    for module in (torch, kindling):
        for call in (module.jit.freeze, module.jit.optimize_for_inference):
            for wrong in (module.nn.Linear(2, 2), len):
                with pytest.raises((RuntimeError, AttributeError)) as caught:
                    call(wrong)
                assert call.__name__ != "freeze" or str(caught.value).startswith("Freezing expects a ScriptModule as input")

    def plain(x):
        return x
    for mark in (jit.export, jit.ignore, jit.unused, jit.script_method, jit.ignore(drop=True)):
        assert mark(plain) is plain
    assert jit.script_if_tracing(abs)(-1) == 1
    for call in (jit.load, jit.save):
        with pytest.raises(NotImplementedError, match="scripts, which come with compilation"):
            call("file")


@pytest.mark.parametrize("value, kind", [([1, 2], list[int]), ([1, "a"], list[int]), ({"a": 1}, dict[str, int]), ((1, "a"), tuple[int, str]),
                                         (None, int | None), (2, int | None), ("x", int | None), (2, int), ([], list[str]), ((1,), tuple[int, str])])
def test_isinstance_of_containers(value, kind):
    assert kindling.jit.isinstance(value, kind) == torch.jit.isinstance(value, kind)


def test_marks_for_the_compiler():
    from kindling import _dynamo, compiler

    for mark in (_dynamo.allow_in_graph, _dynamo.assume_constant_result, _dynamo.disallow_in_graph, compiler.nested_compile_region, _dynamo.nonstrict_trace):
        assert mark(len) is len
    assert _dynamo.disable(recursive=False)(len)([1]) == compiler.disable(len, reason="x")([1]) == 1
    assert not _dynamo.is_compiling() and _dynamo.graph_break() is None and _dynamo.reset() is None
    assert _dynamo.mark_dynamic(kindling.ones(2), 0) is None and compiler.substitute_in_graph(len)(max) is max
    assert isinstance(compiler.compile(kindling.nn.Linear(1, 1)), _dynamo.OptimizedModule) and _dynamo.eval_frame.OptimizedModule is _dynamo.OptimizedModule
    assert _dynamo.optimize("eager")(lambda: 3)() == 3
    with compiler.set_stance("force_eager"), _dynamo.error_on_graph_break(True):
        pass


SETTINGS = ["_dynamo.config", "_inductor.config", "_functorch.config", "compiler.config"]


@pytest.fixture(scope="module")
def their_settings():
    """PyTorch's settings of each module without environment variables: its own start from some, one from CI."""
    code = f"""import importlib, json, warnings
warnings.simplefilter("ignore")
print(json.dumps({{path: {{name: value for name, value in importlib.import_module("torch." + path).to_dict().items()
                         if type(value) in (bool, int, float, type(None)) and name[0] != "_"}} for path in {SETTINGS}}}))"""
    spec = importlib.util.spec_from_file_location("surface", Path(__file__).parents[2] / "tools" / "surface.py")
    spec.loader.exec_module(surface := importlib.util.module_from_spec(spec))
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=surface.plain_environment()).stdout)


@pytest.mark.parametrize("path", SETTINGS)
def test_settings_of_the_compiler(path, their_settings):
    ours, plain = importlib.import_module("kindling." + path), their_settings[path]
    assert {name: value for name, value in ours.to_dict().items() if name in plain} == plain
    with pytest.raises(AttributeError, match="does not exist"):
        ours.no_such_setting = 1
    with pytest.raises(AttributeError):
        ours.no_such_setting
    name = next(name for name, value in plain.items() if value is False and "." not in name)
    with ours.patch(name, True):
        assert getattr(ours, name) is True and ours.to_dict()[name] is True
    assert getattr(ours, name) is False
    saved = ours.save_config()
    setattr(ours, name, True)
    ours.load_config(saved)
    assert getattr(ours, name) is False
    if path == "_inductor.config":
        before = ours.triton.cudagraphs
        ours.triton.cudagraphs = not before
        assert ours.to_dict()["triton.cudagraphs"] is not before
        ours.triton.cudagraphs = before


def compilers():
    from kindling._compile import compile

    return compile, torch.compile


@pytest.mark.parametrize(
    "arguments",
    [
        {"backend": "gcc"},
        {"options": {"max_autotune": 3}},
        {"dynamic": 3},
        {"mode": "default", "options": {"a": 1}},
        {"model": 3},
        {"wrong": 1},
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


def test_compile_says_nothing(tmp_path):
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
    assert not done.stderr and not done.stdout


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


MODES = ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]


def test_modes():
    assert [mode.value for mode in kindling.CompileMode] == MODES
    for name in MODES:
        member = kindling.CompileMode(name)
        assert member == name and str(member) == name and kindling._normalize_mode(member) == kindling._normalize_mode(name) == name
        assert callable(kindling.compile(len, mode=name)) and callable(kindling.compile(len, mode=member))
    assert kindling._normalize_mode(None) is None and callable(kindling.compile(len, mode="lite"))
    with pytest.raises(ValueError, match="default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs"):
        kindling.CompileMode("fast")


@pytest.mark.parametrize("arguments", [{"mode": "fast"}, {"mode": "fast", "disable": True}, {"mode": 3}, {"mode": "Default"}, {"mode": ""}], ids=str)
def test_unknown_modes_are_found_at_the_call(arguments):
    """In torch's words, as a ValueError and as the RuntimeError that torch raises."""
    for kind in (ValueError, RuntimeError):
        with pytest.raises(kind) as caught:
            kindling.compile(len, **arguments)
    if arguments["mode"] and not arguments.get("disable"):
        with pytest.raises(RuntimeError) as theirs:
            torch.compile(len, **arguments)
        assert str(caught.value) == str(theirs.value)
    with pytest.raises(ValueError):
        kindling.compile(**arguments)        # a decorator too, before there is a function


def test_strategies_compare():
    def strategy(**arguments):
        return kindling.compile(lambda: 0, **arguments)._kindling_strategy

    assert strategy() == strategy(mode="default") == strategy(mode=kindling.CompileMode.DEFAULT) == strategy(backend="inductor")
    assert strategy(mode="reduce-overhead") == strategy(options={"triton.cudagraphs": True}) != strategy()
    assert strategy(backend="eager") != strategy() and strategy(dynamic=True) != strategy()
    assert strategy(backend=len, options={"mine": 1}) == strategy(backend=len, options={"mine": 1}) != strategy(backend=len)
    assert hash(strategy(mode="default")) == hash(strategy()) and len({strategy(), strategy(mode="default")}) == 1
    assert strategy(mode="max-autotune").get_compiler_config() == torch._inductor.list_mode_options("max-autotune")
    theirs = torch._TorchCompileInductorWrapper("reduce-overhead", None, None)
    assert kindling._TorchCompileInductorWrapper("reduce-overhead", None, None).config == theirs.config


@pytest.mark.parametrize("options, kind", [({"max_autotun": True}, RuntimeError), ({3: 4}, TypeError), (3, TypeError), ([("a", 1)], TypeError)], ids=str)
def test_wrong_options_are_found_at_the_call(options, kind):
    with pytest.raises(kind) as caught:
        kindling.compile(len, options=options)
    if "max_autotun" in str(options):
        assert "max_autotune" in str(caught.value).partition("known options are")[2]


def test_a_backend_of_the_wrong_type_is_found_at_the_call():
    with pytest.raises(TypeError, match="a name or a function, not int"):
        kindling.compile(len, backend=3)


def test_options_that_torch_knows(tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    from torch._inductor import config

    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, str(root / "tools" / "compile_options.py"), str(tmp_path / "options")], check=True)
    assert (root / "kindling" / "_compiling" / "options.py").read_text() == (tmp_path / "options").read_text()
    for name, value in config.get_config_copy().items():
        if isinstance(value, (bool, int, str, float)):
            kindling.compile(len, options={name: value})


def test_no_late_errors():
    """Whatever strings are given: refused at the call by the documented classes, or the function runs."""
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as some

    words = some.one_of(some.text(max_size=12), some.sampled_from([*MODES, "lite", "inductor", "eager", "max_autotune", "triton.cudagraphs"]))
    values = some.one_of(some.booleans(), some.integers(), words, some.none(), some.floats(allow_nan=False))

    @hypothesis.settings(deadline=None, max_examples=300)
    @hypothesis.given(some.fixed_dictionaries({}, optional={"mode": some.one_of(words, values), "options": some.dictionaries(words, values, max_size=2),
                                                            "backend": words, "dynamic": values}))
    def check(arguments):
        try:
            compiled = kindling.compile(lambda x: x + 1, **arguments)
        except (ValueError, RuntimeError, TypeError, AssertionError):
            return
        assert compiled(1) == 2

    check()
