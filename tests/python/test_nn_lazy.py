"""kindling.nn loads little, late, and nothing from the standard library."""
import ast
import os
import subprocess
import sys

import pytest


# The source folder: an installation has most of them in an archive.
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kindling", "nn")
FILES = sorted(os.path.join(folder, name) for folder, _, names in os.walk(FOLDER) for name in names
               if name.endswith(".py"))


def imports_at_load(tree):
    """Modules that the file's own code imports when it runs, outside of functions."""
    pending = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module
        pending.extend(ast.iter_child_nodes(node))


def test_there_are_files():
    assert len(FILES) > 40


# What no model needs to start: whoever asks for these waits for enum, typing or abc, too. (What scripts compile in place of layers and
# functions is read by scripts alone.)
SELDOM = {"_functional/_scripted.py", "modules/_scripted.py", "_functional/scaled.py", "attention/bias.py", "attention/flex_attention.py", "utils/prune.py"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: os.path.relpath(path, FOLDER))
def test_only_built_in_modules_and_ours_at_load(path):
    with open(path, encoding="utf-8") as file:
        names = set(imports_at_load(ast.parse(file.read())))
    foreign = {name for name in names if name.split(".")[0] != "kindling"} - set(sys.builtin_module_names)
    assert foreign <= {"math", "_collections", "_operator"} or os.path.relpath(path, FOLDER) in SELDOM


def loaded_by(code):
    """Modules of kindling.nn that a fresh interpreter has after this code."""
    code += "\nimport sys\nprint(*[name for name in sys.modules if name.startswith('kindling.nn')])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                            cwd=os.sep)
    return set(answer.stdout.split())


def test_import_loads_tables_only():
    assert loaded_by("import kindling.nn, kindling.nn.functional") == {"kindling.nn", "kindling.nn.functional"}


def test_a_class_loads_its_family_only():
    loaded = loaded_by("from kindling import nn\nnn.Module")
    assert loaded == {"kindling.nn", "kindling.nn.parameter", "kindling.nn.modules", "kindling.nn.modules.module"}
    more = loaded_by("from kindling.nn import Linear") - loaded
    assert more == {"kindling.nn.functional", "kindling.nn.init", "kindling.nn.modules.linear"}


def test_ways_to_import():
    loaded_by("import kindling.nn as nn\nfrom kindling.nn import Linear, functional as F, LazyLinear\n"
              "import kindling.nn.functional as G\nassert F is G is nn.functional and nn.Linear is Linear\n"
              "from kindling.nn.modules.conv import _ConvNd, LazyConv2d\nfrom kindling.nn.modules import Conv2d\n"
              "assert issubclass(LazyConv2d, Conv2d) and Conv2d is nn.Conv2d\n"
              "from kindling.nn.modules.activation import MultiheadAttention\n"
              "import kindling.nn.utils.weight_norm\nassert callable(nn.utils.weight_norm)\n"
              "from kindling.nn import *\nfrom kindling.nn.functional import *\nassert relu is F.relu")


def test_every_name_resolves():
    from kindling import nn
    for module in (nn, nn.functional, nn.init, nn.utils, nn.utils.rnn, nn.utils.parametrize, nn.modules):
        for name in module.__all__:
            assert getattr(module, name) is not None
            assert name in dir(module)
    with pytest.raises(AttributeError, match="module 'kindling.nn' has no attribute 'nothing'"):
        nn.nothing
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        nn.functional.nothing
