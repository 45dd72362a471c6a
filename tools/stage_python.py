"""Lays out the Python part of the wheel: a few modules as files, all others in one packed file.

    python tools/stage_python.py PACKAGE STUB OUTPUT [MODULE ...]     modules that shall be files, too
    python tools/stage_python.py --code SOURCE OUTPUT                 one module's bytecode, for a C++ program to include

The pack holds each module's bytecode, or its source where it is small or seldom used. Neighbours are compressed together, 224 KB
at a time: singly they take a tenth more. kindling/_importer.py reads it. The sources of those with bytecode are compressed all together:
kindling/_start/sources.py reads them for tracebacks and inspect.
As files all would have 3.5 times the size: the installer compiles each one without compression.
"""

import ast
import hashlib
import marshal
import math
import shutil
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from importlib.util import MAGIC_NUMBER
from pathlib import Path

try:
    import lzma
except ImportError:     # an interpreter built without it: tracebacks have no lines
    lzma = None
try:
    from zopfli.zlib import compress as smallest
except ImportError:     # not a wheel's build, which asks for it: 40 KB more
    smallest = None

PACK = "_modules.pack"

# What an interpreter or a child of one is started with.
FILES = "__init__ __main__ _as_torch.torch.__init__ _as_torch.functorch.__init__".split()

# Loaded by `kindling run`, and to build a small network and run it forward: a block each, as most programs want them whole.
# tests/python/test_pack.py asks a fresh interpreter whether the lists are whole and have nothing beside.
RUN = "_start.__init__ _start.alias _start.cli _start.runner".split()
START = """
autograd.__init__ autograd.grad_mode
nn.__init__ nn.functional nn.init nn.parameter nn._functional.__init__ nn._functional.activation
nn.modules.__init__ nn.modules.activation nn.modules.container nn.modules.linear nn.modules.module
optim.__init__
utils.__init__
""".split()

# A type checker reads no pack: each public package has this in its place, and each public module of `kindling` itself. For the
# checker it stands for the modules below it too.
STUB = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"

SMALL = 2000  # bytes of source that are compiled in less time than their bytecode's size is worth
BLOCK = 224_000  # bytes that are compressed together: 0.7 ms to read

# What runs for long anyway or is used once in a program's life (the profiler's command and table, a check of gradients,
# whole Jacobians, scaled losses, a log for TensorBoard, names for tools that walk graphs, symbolic traces, helpers of tests, passes over graphs, timers, processes of loaders, nested, masked and quantised tensors, frozen scripts, process groups, attention with functions of the program's own, checkpoints of activations, optimisers and distributions that few programs name, sparse tensors, lazy layers)
# is compiled when it is used, in 5 to 20 ms a module.
SELDOM = {"startup", "_compiling/backend.py", "_compiling/breaks.py", "_compiling/options.py", "_start/bootstrap.py", "_dynamo/testing.py", "_dynamo/backends", "_absent", "_native_names/script.py", "_native_names/types.py", "_native_names/dispatch_queries.py", "_start/doctor.py", "jit/_freeze.py", "jit/_fusers.py", "jit/_compilation_unit.py", "jit/_trace.py", "_saving/safetensors.py", "jit/_dataclasses.py", "jit/_types.py", "jit/_autocast.py", "utils/tensorboard", "nn/attention/flex_attention.py", "distributed/distributed_c10d.py", "utils/checkpoint.py",
          "utils/bottleneck", "autograd/gradcheck.py", "autograd/functional.py", "autograd/profiler_util.py", "optim/lbfgs.py",
          "optim/swa_utils.py", "distributions/kl.py", "nn/_functional/scaled.py", "utils/data/datapipes", "utils/data/graph.py", "utils/data/graph_settings.py",
          "testing", "distributed/checkpoint", "distributed/fsdp", "distributed/tensor", "distributed/algorithms", "ao", "quantization", "nested", "masked/maskedtensor", "masked/_ops.py", "_quantized",
          "fx/passes", "fx/experimental", "fx/_codegen.py", "fx/graph.py", "fx/graph_module.py", "fx/_symbolic_trace.py", "fx/proxy.py", "fx/node.py", "fx/operator_schemas.py", "fx/subgraph_rewriter.py", "hub.py", "quasirandom",
          "amp/grad_scaler.py", "nn/utils/prune.py", "utils/benchmark", "utils/flop_counter.py", "utils/module_tracker.py",
          "func/_rearrange.py", "_lobpcg.py", "distributions/wishart.py", "optim/_adafactor.py",
          "nn/utils/spectral_norm.py", "nn/utils/weight_norm.py", "nn/utils/parametrizations.py", "nn/utils/parametrize.py", "nn/utils/fusion.py",
          "nn/utils/stateless.py", "nn/utils/convert_parameters.py", "optim/adadelta.py", "optim/adamax.py", "optim/asgd.py", "optim/nadam.py",
          "optim/radam.py", "optim/rprop.py", "optim/sparse_adam.py", "optim/_muon.py", "distributions/transforms.py",
          "distributions/constraint_registry.py", "distributions/lkj_cholesky.py", "distributions/lowrank_multivariate_normal.py",
          "distributions/mixture_same_family.py", "distributions/relaxed_bernoulli.py", "distributions/relaxed_categorical.py",
          "distributions/von_mises.py", "distributions/transformed_distribution.py", "distributions/negative_binomial.py",
          "distributions/kumaraswamy.py", "func/_eager.py", "_functorch", "fx/interpreter.py", "signal", "_lowrank.py", "_operators/images.py", "nn/modules/adaptive.py",
          "optim/adagrad.py", "masked/__init__.py", "distributions/continuous_bernoulli.py", "distributions/multivariate_normal.py", "distributed/device_mesh.py", "fx/traceback.py",
          "utils/data/_multiprocess.py", "utils/data/_utils/channel.py", "utils/data/_utils/worker.py",
          "sparse/__init__.py", "sparse/_gradcheck.py",
          "_native_names/keys.py", "_native_names/private.py", "multiprocessing/_spawn.py", "multiprocessing/reductions.py",
          "_higher_order_ops", "nn/attention/bias.py", "nn/modules/lazy.py", "nn/modules/_lazy_conv.py", "nn/modules/_lazy_norm.py",
          "nn/modules/linear_cross_entropy_options.py", "nn/parallel/distributed.py", "optim/rmsprop.py",
          "distributions/generalized_pareto.py", "distributions/independent.py", "distributions/dirichlet.py", "distributions/one_hot_categorical.py",
          "distributions/multinomial.py", "distributions/binomial.py", "distributions/studentT.py", "distributions/gamma.py", "distributions/geometric.py",
          "distributions/fishersnedecor.py", "distributions/beta.py"}

class Unrun(ast.NodeTransformer):
    """Functions of `_scripted` modules: the compiler of scripts reads their source, and nobody runs them."""

    def visit_FunctionDef(self, node):
        node.body = [ast.copy_location(ast.Pass(), node.body[0])]
        return node


def bytecode(text, name):
    """A module's code, without the columns that 3.11 and later keep (a quarter of it), as named in tracebacks."""
    if name.endswith("/_scripted.py"):
        text = Unrun().visit(ast.parse(text, name))
    return marshal.dumps(compile(text, name, "exec", dont_inherit=True))


def paths(names):
    return {Path(name.replace(".", "/") + ".py") for name in names}


def has_bytecode(path, size):
    """Whether the pack has the bytecode of this module, or its source."""
    seldom = any(str(place) in SELDOM for place in (path, *path.parents))
    first = path.parts[0] in ("startup", "_absent") and path.stem == "__init__"
    return path in paths(RUN + START) or size >= SMALL and (first or not seldom)


def deflate(block):
    """What zlib inflates. zopfli's search finds 4% less than zlib's, at a hundred times the cost: 10 s for the package on two processors."""
    return smallest(block, numiterations=5) if smallest else zlib.compress(block, 9)


def pack(modules, name):
    """The packed file. `modules`: {path: source}; `name`: of the package.

    It begins with the interpreter's magic number, 8 bytes of a digest of all that follows, and the length of the index in 4. The index has
    a line for each module: its path without ".py", its kind (p: a package, c: bytecode, z: in a compressed block), position and
    length of its block, begin and end in what the block holds. Positions count from the end of the index. It is searched as it is:
    to make a dictionary of it would take half a millisecond of every program's start.
    """
    early = {path: number for number, names in enumerate((RUN, START)) for path in paths(names)}
    groups = {}     # (number of the early block, or infinity; source?): modules
    for path, text in modules.items():
        groups.setdefault((early.get(path, math.inf), not has_bytecode(path, len(text))), []).append(path)
    parts, index, blocks = b"", [], []

    def lay(block, places, source, late):
        nonlocal parts
        for path, begin, end in places:
            kind = "p" * (path.stem == "__init__") + "c" * (not source) + "z" * late
            key = path.parent if path.stem == "__init__" else path.with_suffix("")
            index.append(f"{key} {kind or '-'} {len(parts)} {len(block)} {begin} {end}\n")
        parts += block

    for (number, source), each in sorted(groups.items()):
        late = number == math.inf
        block, places = b"", []
        for path in each:
            data = modules[path] if source else bytecode(modules[path], f"{name}/{path}")
            if late and block and len(block) + len(data) > BLOCK:
                blocks.append((block, places, source, late))
                block, places = b"", []
            places.append((path, len(block), len(block) + len(data)))
            block += data
        blocks.append((block, places, source, late))
    # The early ones stay as they are: to inflate them would take a millisecond of every program's start.
    with ProcessPoolExecutor() as processes:
        deflated = processes.map(deflate, [block for block, *_, late in blocks if late])
        for block, places, source, late in blocks:
            lay(next(deflated) if late else block, places, source, late)
    shown = {str(path): modules[path] for (_, source), each in groups.items() if not source for path in each}  # not run from
    text = lzma.compress(marshal.dumps(shown), preset=9 | lzma.PRESET_EXTREME) if lzma else b""
    index.append(f"sources.xz - {len(parts)} {len(text)}\n")
    lines = ("\n" + "".join(index)).encode()
    rest = lines + parts + text
    return MAGIC_NUMBER + hashlib.sha256(rest).digest()[:8] + len(lines).to_bytes(4, "little") + rest


def code(source, output):
    source = Path(source)
    data = bytecode(source.read_bytes(), f"{source.parent.name}/{source.name}")
    Path(output).write_text(",".join(map(str, data)) + "\n")


def main(package, stub, output, *more):
    package, output = Path(package), Path(output)
    shutil.rmtree(output, ignore_errors=True)
    sources = {path.relative_to(package): path.read_bytes() for path in sorted(package.rglob("*.py"))}
    plain = paths([*FILES, *more])
    missing = sorted(map(str, (plain | paths(RUN + START)) - sources.keys()))
    if missing:
        sys.exit(f"tools/stage_python.py: FILES, RUN or START name what is not there: {', '.join(missing)}")
    output.mkdir(parents=True)
    for path, text in sources.items():
        target = output / path
        if path in plain:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
        elif (path.stem == "__init__" or len(path.parts) == 1) and not any(part.startswith("_") for part in (*path.parts[:-1], path.stem.removeprefix("__init__"))):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.with_suffix(".pyi").write_text(STUB)
    (output / PACK).write_bytes(pack({path: text for path, text in sources.items() if path not in plain}, package.name))
    (output / "py.typed").touch()
    shutil.copy(stub, output / "__init__.pyi")


if __name__ == "__main__":
    if sys.version_info >= (3, 11) and "no_debug_ranges" not in sys._xoptions:
        # Only an interpreter started so leaves the columns out.
        import subprocess

        sys.exit(subprocess.call([sys.executable, "-X", "no_debug_ranges", *sys.argv]))
    (code if sys.argv[1] == "--code" else main)(*[word for word in sys.argv[1:] if word != "--code"])
