"""Lays out the Python part of the wheel: modules on the start-up path as files, all others in one archive.

    python tools/stage_python.py PACKAGE STUB OUTPUT

The archive holds each module's bytecode, compressed, or its source where it is small or seldom used; the interpreter's own
zipimport reads it. The sources of those with bytecode are compressed together: kindling/_sources.py reads them for
tracebacks and inspect. As files all would have 3.3 times the size: the installer compiles each one without compression.
What a program loads when it starts stays a file, because an archive takes a millisecond to open.
"""

import ast
import marshal
import re
import shutil
import sys
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

try:
    import lzma
except ImportError:     # an interpreter built without it: sources lie in the archive singly
    lzma = None

ARCHIVE = "_archive.zip"

# Loaded by `import kindling`, by `kindling run`, or to build a small network and run it forward.
# tests/python/test_archive.py asks a fresh interpreter whether the list is whole and has nothing beside.
FILES = """
__init__ __main__ _alias _as_torch.torch.__init__ _as_torch.functorch.__init__ _cli _runner
autograd.__init__ autograd.grad_mode
nn.__init__ nn.functional nn.init nn.parameter nn._functional.__init__ nn._functional.activation
nn.modules.__init__ nn.modules.activation nn.modules.container nn.modules.linear nn.modules.module
optim.__init__
utils.__init__
""".split()

# A type checker reads no archive: a package in it, and a module of a package of files, has this in its place. For the
# checker it stands for the modules below it too.
STUB = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"

SMALL = 2000  # bytes of source that are compiled in less time than an entry of the archive is worth

# What runs for long anyway or is used once in a program's life (the profiler's command and table, a check of gradients,
# whole Jacobians, a log for TensorBoard, names for tools that walk graphs, helpers of tests, passes over graphs, timers, processes of loaders, nested, masked and quantised tensors, frozen scripts, worlds of one process, optimisers and distributions that few programs name)
# is compiled when it is used, in 5 to 20 ms a module.
SELDOM = {"startup", "_compile_backend.py", "_compile_breaks.py", "_dynamo/testing.py", "_dynamo/backends", "_absent", "_graph.py", "_script.py", "_types.py", "_doctor.py", "_dispatch_queries.py", "jit/_freeze.py", "jit/_dataclasses.py", "utils/tensorboard",
          "utils/bottleneck", "autograd/gradcheck.py", "autograd/functional.py", "autograd/profiler_util.py", "optim/lbfgs.py",
          "optim/swa_utils.py", "distributions/kl.py", "nn/_functional/scaled.py", "utils/data/datapipes", "utils/data/graph.py", "utils/data/graph_settings.py",
          "testing", "distributed/checkpoint", "distributed/fsdp", "distributed/tensor", "distributed/algorithms", "ao", "quantization", "nested", "masked/maskedtensor", "masked/_ops.py", "_quantized.py", "_quantized_ops.py",
          "fx/passes", "fx/experimental", "fx/operator_schemas.py", "fx/subgraph_rewriter.py", "hub.py", "quasirandom.py",
          "_sobol_numbers.py", "nn/utils/prune.py", "utils/benchmark", "utils/flop_counter.py", "utils/module_tracker.py",
          "func/_rearrange.py", "_lobpcg.py", "distributions/wishart.py", "optim/_adafactor.py",
          "nn/utils/spectral_norm.py", "nn/utils/weight_norm.py", "nn/utils/parametrizations.py", "nn/utils/parametrize.py", "nn/utils/fusion.py",
          "nn/utils/stateless.py", "nn/utils/convert_parameters.py", "optim/adadelta.py", "optim/adamax.py", "optim/asgd.py", "optim/nadam.py",
          "optim/radam.py", "optim/rprop.py", "optim/sparse_adam.py", "optim/_muon.py", "distributions/transforms.py",
          "distributions/constraint_registry.py", "distributions/lkj_cholesky.py", "distributions/lowrank_multivariate_normal.py",
          "distributions/mixture_same_family.py", "distributions/relaxed_bernoulli.py", "distributions/relaxed_categorical.py",
          "distributions/von_mises.py", "distributions/transformed_distribution.py", "distributions/negative_binomial.py",
          "distributions/kumaraswamy.py", "func/_eager.py", "_functorch", "fx/interpreter.py", "signal", "_lowrank.py", "_images.py", "nn/modules/adaptive.py",
          "optim/adagrad.py", "masked/__init__.py", "distributions/continuous_bernoulli.py", "distributions/multivariate_normal.py", "distributed/device_mesh.py", "fx/traceback.py",
          "utils/data/_multiprocess.py", "utils/data/_utils/channel.py", "utils/data/_utils/worker.py"}

UNCHECKED_HASH = (1).to_bytes(4, "little") + bytes(8)  # the source in the archive is never newer
DATE = (1980, 1, 1, 0, 0, 0)  # the same archive from the same sources


class Unrun(ast.NodeTransformer):
    """Functions of `_scripted` modules: the compiler of scripts reads their source, and nobody runs them."""

    def visit_FunctionDef(self, node):
        node.body = [ast.copy_location(ast.Pass(), node.body[0])]
        return node


def bytecode(text, name):
    """A .pyc file of one module, without the columns that 3.11 and later keep (a quarter of it), as named in tracebacks."""
    if name.endswith("/_scripted.py"):
        text = Unrun().visit(ast.parse(text, name))
    return MAGIC_NUMBER + UNCHECKED_HASH + marshal.dumps(compile(text, name, "exec", dont_inherit=True))


def has_bytecode(path, size):
    """Whether the archive has the bytecode of this module too, or its source alone."""
    seldom = any(str(place) in SELDOM for place in (path, *path.parents))
    return size >= SMALL and (not seldom or path.parts[0] in ("startup", "_absent") and path.stem == "__init__")


def main(package, stub, output):
    package, output = Path(package), Path(output)
    shutil.rmtree(output, ignore_errors=True)
    sources = {path.relative_to(package): path.read_bytes() for path in sorted(package.rglob("*.py"))}
    plain = {Path(name.replace(".", "/") + ".py") for name in FILES}
    missing = sorted(map(str, plain - sources.keys()))
    if missing:
        sys.exit(f"tools/stage_python.py: FILES names what is not there: {', '.join(missing)}")
    output.mkdir(parents=True)
    shown = {}  # sources that are not run from
    with zipfile.ZipFile(output / ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, text in sources.items():
            target = output / path
            if path in plain:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text)
                # Names that come late: no checker can see them.
                if re.search(rb"^(def )?__getattr__[(,]", text, re.M) and path.parts != ("__init__.py",):
                    target.with_suffix(".pyi").write_text(STUB)
                continue
            compiled = has_bytecode(path, len(text))
            if compiled:
                archive.writestr(zipfile.ZipInfo(f"{path}c", DATE), bytecode(text, f"{package.name}/{path}"), zipfile.ZIP_DEFLATED, 9)
            if compiled and lzma:
                shown[str(path)] = text
            else:
                archive.writestr(zipfile.ZipInfo(str(path), DATE), text, zipfile.ZIP_DEFLATED, 9)
            private = any(part.startswith("_") for part in (*path.parts[:-1], path.stem.removeprefix("__init__")))
            if not private and (path.stem == "__init__" or path.parent / "__init__.py" in plain):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.with_suffix(".pyi").write_text(STUB)
        if lzma:
            archive.writestr(zipfile.ZipInfo("sources.xz", DATE), lzma.compress(marshal.dumps(shown), preset=9 | lzma.PRESET_EXTREME), zipfile.ZIP_STORED)
    (output / "py.typed").touch()
    shutil.copy(stub, output / "__init__.pyi")


if __name__ == "__main__":
    if sys.version_info >= (3, 11) and "no_debug_ranges" not in sys._xoptions:
        # Only an interpreter started so leaves the columns out.
        import subprocess

        sys.exit(subprocess.call([sys.executable, "-X", "no_debug_ranges", *sys.argv]))
    main(*sys.argv[1:])
