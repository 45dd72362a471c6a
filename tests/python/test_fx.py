"""torch.fx beside torch: graphs, generated code, rewriting, pickling."""
import contextlib
import copy
import importlib
import io
import math
import operator
import pickle
import re
import subprocess
import sys
import warnings

import kindling
import kindling.fx
import pytest
from fx_programs import CALLS, PASSES, PROGRAMS


def printed(name, source):
    """What a program prints; an error is its last line."""
    torch, fx = importlib.import_module(name), importlib.import_module(name + ".fx")
    lines = []

    def say(*values):
        lines.append(" ".join(str(value) for value in values))

    def show(function, *inputs, **options):
        module = fx.symbolic_trace(function, **options)
        say(module.graph)
        say(module.code)
        module.graph.lint()
        if inputs:
            say(module(*inputs))

    torch.manual_seed(0)
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "fx": fx, "P": say, "show": show, "operator": operator, "math": math,
             "io": io, "contextlib": contextlib, "copy": copy, "pickle": pickle, "importlib": importlib, "__name__": "__main__"}
    main = vars(sys.modules["__main__"])
    former = dict(main)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Where pickle and wrap look names up.
            main.update(scope)
            exec(source, main)
    except Exception as error:
        lines.append(f"!! {type(error).__name__}: {error}")
    finally:
        main.clear()
        main.update(former)
        fx._symbolic_trace._wrapped_fns_to_patch.clear()    # the names are gone
    return re.sub(r"0x[0-9a-f]+|at [0-9a-f]{12}", "ADDR", "\n".join(lines).replace("kindling", "torch"))


@pytest.mark.parametrize("place", range(len(PROGRAMS)))
def test_programs_print_what_they_print_under_torch(place):
    assert printed("kindling", PROGRAMS[place]).split("\n") == printed("torch", PROGRAMS[place]).split("\n")


@pytest.mark.parametrize("place", range(len(PASSES)))
def test_passes_do_what_they_do_under_torch(place):
    expected, got = printed("torch", PASSES[place]), printed("kindling", PASSES[place])
    assert got.split("\n") == expected.split("\n") and not got.splitlines()[-1].startswith("!!")


SETUP = "g = fx.Graph(); p = fx.Proxy(g.placeholder('x')); t = torch.ones(2, 3)\n"
RESULT = "\nif isinstance(r, fx.Proxy): P(r.node.format_node())\nelse: P(type(r).__name__)\n"


@pytest.mark.parametrize("call", CALLS)
def test_calls_with_proxies_are_nodes(call):
    source = f"{SETUP}r = {call}{RESULT}"
    expected, got = (re.sub(r"_\d+\b", "", printed(name, source)) for name in ("torch", "kindling"))
    if expected.startswith("!!"):
        expected, got = expected.partition(":")[0], got.partition(":")[0]
    assert got == expected


def test_modules_of_every_kind_trace_to_the_same_code():
    """Without annotations: the modules of torch.nn have none here."""
    source = """
class T(fx.Tracer):
    def is_leaf_module(self, m, n): return False
for m in (nn.Conv2d(1,1,1,padding=1), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Upsample(scale_factor=2), nn.Embedding(2,2),
          nn.GroupNorm(1,1), nn.PReLU(), nn.ELU(), nn.Identity(), nn.Unflatten(1,(1,1)), nn.PixelShuffle(2), nn.CosineSimilarity(), nn.ZeroPad2d(1),
          nn.MSELoss(), nn.Dropout2d(), nn.Hardtanh(), nn.ReLU6(), nn.LogSoftmax(1), nn.Bilinear(1,1,1), nn.LocalResponseNorm(1), nn.Unfold(1),
          nn.CrossEntropyLoss(), nn.Linear(1,1), nn.Softmax(-1), nn.GELU(), nn.SiLU(), nn.Mish(), nn.LayerNorm(2), nn.Flatten()):
    g = T().trace(m); P(fx.GraphModule(m, g).code, g)
"""
    def plain(name):
        text = printed(name, source).replace(" : torch.Tensor [num", " : [num")
        return re.sub(r" : torch\.Tensor| -> torch\.Tensor", "", text).split("\n")

    assert plain("kindling") == plain("torch")


def test_names_of_torchs_functions_are_torchs():
    """Whatever file a function lies in here, its name is the public one, and leads back to it."""
    names = importlib.import_module("kindling.fx._names")
    functional = kindling.nn.functional
    for space, path in ((kindling, "torch"), (functional, "torch.nn.functional")):
        for name in dir(space):
            function = getattr(space, name, None) if name[0] != "_" else None
            if not callable(function) or isinstance(function, type) or getattr(function, "_absent", False):
                continue
            if not str(getattr(function, "__module__", "")).startswith("kindling"):
                continue
            called = names.qualified_name(function)
            assert called.startswith("torch."), (path, name, called)
            assert names.resolve(called) is function, (path, name, called)


def test_under_the_alias_code_and_pickles_are_the_same(tmp_path):
    (tmp_path / "it.py").write_text("""
import pickle, sys
import torch, torch.fx
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
    def forward(self, x):
        return torch.nn.functional.relu(self.linear(x)) + torch.sigmoid(x)
gm = torch.fx.symbolic_trace(M())
print(gm.code)
again = pickle.loads(pickle.dumps(gm))
assert again.code == gm.code
x = torch.ones(1, 2)
assert torch.equal(again(x), gm(x))
torch.save(gm, "gm.pt")
assert torch.load("gm.pt", weights_only=False).code == gm.code
gm.to_folder("made", "Made")
import made
assert torch.equal(made.Made()(x), gm(x))
""")
    result = subprocess.run([sys.executable, "-m", "kindling", "run", "it.py"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "torch.nn.functional.relu(linear, inplace = False)" in result.stdout and "kindling" not in result.stdout


def test_pickles_load_where_torch_is_another_package():
    """Plain `import kindling`: the names in the text are this package's, although another torch is installed."""
    module = pickle.loads(pickle.dumps(kindling.fx.symbolic_trace(kindling.nn.Sequential(kindling.nn.ReLU()))))
    assert isinstance(module(kindling.ones(1)), kindling.Tensor)
    module = pickle.loads(pickle.dumps(kindling.fx.symbolic_trace(lambda x: kindling.relu(x))))
    assert isinstance(module(kindling.ones(1)), kindling.Tensor)


def test_tables_need_their_package():
    graph = kindling.fx.symbolic_trace(lambda x: x + 1).graph
    if importlib.util.find_spec("tabulate") is None:
        with contextlib.redirect_stdout(io.StringIO()), pytest.raises(ModuleNotFoundError):
            graph.print_tabular()


def test_an_error_says_where_in_the_code_it_arose():
    module = kindling.fx.symbolic_trace(lambda x: kindling.relu(x) @ x)
    with pytest.raises(RuntimeError) as caught:
        module(kindling.ones(2, 3))
    if sys.version_info >= (3, 11):
        assert "relu @ x" in caught.value.__notes__[0]
