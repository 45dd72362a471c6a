"""The examples in docstrings of Python modules run, under the alias that their readers use."""
import subprocess
import sys

import pytest

MODULES = """
testing testing._comparison testing._creation testing._utils testing._internal.common_utils testing._internal._case
testing._internal._parametrize fx fx.node fx._codegen fx.graph fx.graph_module fx.proxy fx._symbolic_trace fx.interpreter
fx.subgraph_rewriter fx.immutable_collections fx.operator_schemas fx._names fx.passes.shape_prop fx.passes.split_module
fx.experimental.optimization fx.experimental.proxy_tensor hub futures quasirandom func._eager func._modules func._rearrange nn.utils.prune nn.attention.bias
nn.attention.flex_attention utils.benchmark.utils.common utils.benchmark.utils.timer utils.benchmark.utils.compare utils.flop_counter
utils.module_tracker
""".split()

RUN = """
import doctest, importlib, sys, warnings
import torch
warnings.simplefilter("ignore")
tried = 0
for name in sys.argv[1:]:
    module = importlib.import_module("torch." + name)
    result = doctest.testmod(module, globs={**vars(module), "torch": torch}, optionflags=doctest.NORMALIZE_WHITESPACE)
    tried += result.attempted
    if result.failed:
        sys.exit(name)
print(tried)
"""


def test_examples_run(tmp_path):
    pytest.importorskip("numpy")
    (tmp_path / "run.py").write_text(RUN)
    result = subprocess.run([sys.executable, "-m", "kindling", "run", "run.py", *MODULES], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert int(result.stdout) >= 100
