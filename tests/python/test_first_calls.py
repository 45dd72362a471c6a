"""What is made when it is first asked for works the first time, in whatever order and from however many threads (tests/fuzz/first_calls.py
and tests/fuzz/imports.py)."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"


def run(*words, **options):
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_the_first_call_answers_as_later_ones():
    run(FUZZ / "first_calls.py", "--some", 60)


def test_a_difference_is_found_and_told(tmp_path):
    script = tmp_path / "differs.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(FUZZ)!r})
import first_calls
first_calls.statements = lambda: ["'kindling.fft' in __import__('sys').modules", "1 + 1"]
first_calls.names = lambda: []
sys.exit(first_calls.main())
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "first: builtins.bool False\n  later: builtins.bool True" in done.stdout and "2 entries, 1 faults" in done.stdout


@pytest.mark.parametrize("statement, answer", [
    ("len(__import__('pickle').dumps(torch.ones(2))) > 100", "True"),
    ("5.0 in torch.ones(2, 2), 1 in torch.ones(2, 2)", "(False, True)"),
    ("format(torch.ones(()), '.3f')", "1.000"),
    ("complex(torch.tensor(1 + 2j))", "(1+2j)"),
    ("[x.item() for x in reversed(torch.arange(3))]", "[2, 1, 0]"),
    ("type(torch.add).__module__, type(torch.Tensor.add).__module__", "('torch', 'torch')"),
    ("'sum' in vars(torch.Tensor)", "True"),
    ("torch.autograd.profiler_util.__name__", "kindling.autograd.profiler_util"),
    ("torch.fft.fft is torch._C._fft.fft_fft", "True"),
    ("__import__('pickle').loads(__import__('pickle').dumps(torch.linalg.inv)) is torch.linalg.inv", "True"),
    ("repr(__import__('pickle').loads(__import__('pickle').dumps(torch.linalg.LinAlgError('no'))))", "_LinAlgError('no')"),
    ("__import__('pickle').loads(__import__('pickle').dumps(torch.OutOfMemoryError)) is torch.OutOfMemoryError", "True"),
])
def test_answers(statement, answer):
    assert run("-c", f"import kindling as torch\nprint(({statement}))").strip() == answer


@pytest.mark.parametrize("library", ["torch", "kindling"])
def test_operators_are_modules_and_not_copied(library):
    assert run("-c", f"""
import copy, types
import {library} as torch
try:
    copy.copy(torch.ops.aten)
except TypeError as error:
    print(isinstance(torch.ops.aten, types.ModuleType), str(error)[:13])
""").strip() == "True cannot pickle"


def test_what_a_program_puts_into_tensor_stays():
    assert run("-c", """
import kindling as torch
torch.Tensor.to = torch.Tensor.split = torch.Tensor.sum = lambda self, *args: "mine"
x = torch.ones(2)
x.max(), x.norm(), x.type(), x.unique()
print(x.to("cpu"), x.split(1), x.sum())
""").split() == ["mine"] * 3


def test_super_finds_methods():
    assert run("-c", """
import kindling as torch
class T(torch.Tensor):
    def sum(self, *args): return super().sum(*args)
    def split(self, *args): return super().split(*args)
print(torch.ones(2).as_subclass(T).sum().item(), len(torch.ones(4).as_subclass(T).split(2)))
""").split() == ["2.0", "2"]


@pytest.mark.parametrize("first", ["torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "torch.autograd.gradcheck", "torch.autograd.variable"])
def test_a_function_with_a_modules_name_is_the_function(first):
    package, _, name = first.rpartition(".")
    for order in (f"import {first}", f"from {package} import {name}", "pass"):
        assert run("-c", f"import kindling; kindling.install_as_torch()\n{order}\nimport {package}, types\n"
                   f"print(type({first}) is types.FunctionType)").strip() == "True"
    assert run("-c", f"import kindling; kindling.install_as_torch()\nimport {package}, importlib\n"
               f"print(importlib.import_module('{first}').__name__)").strip() == first


def test_a_process_starts_with_a_seed_of_its_own():
    seeds = {run("-c", "import kindling as torch; print(torch.initial_seed(), torch.rand(3).tolist())") for _ in range(3)}
    assert len(seeds) == 3
    assert run("-c", "import kindling as torch; print(torch.Generator().initial_seed())").strip() == "67280421310721"
    one, other = (run("-c", "import kindling as torch; torch.manual_seed(3); print(torch.initial_seed(), torch.rand(3))") for _ in range(2))
    assert one == other and one.startswith("3 ")


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_tensors_go_to_new_processes_as_the_first_thing(tmp_path, start):
    script = tmp_path / "program.py"
    script.write_text(f"""
import multiprocessing
import kindling as torch

def receive(queue, results):
    results.put(queue.get().sum().item())

if __name__ == "__main__":
    context = multiprocessing.get_context({start!r})
    queue, results = context.Queue(), context.Queue()
    process = context.Process(target=receive, args=(queue, results))
    process.start()
    queue.put(torch.ones(3))
    print(results.get(timeout=60))
    process.join()
    with context.Pool(2) as pool:
        print([x.item() for x in pool.map(torch.sum, [torch.ones(2)] * 3)])
""")
    assert run(script, timeout=120).split("\n")[:2] == ["3.0", "[2.0, 2.0, 2.0]"]


def test_threads_import_at_once():
    run(FUZZ / "imports.py", "--count", 60)


def test_no_modules_wait_for_one_another():
    run(FUZZ / "imports.py", "--graph")


def test_a_dataclass_is_made_while_another_thread_is_halfway_through_typing():
    """dataclasses takes typing from sys.modules, finished or not."""
    assert run("-c", """
import importlib.machinery, sys, threading
sys.modules.pop("typing", None)
begun = threading.Event()

class Slow(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        begun.set()
        threading.Event().wait(0.5)
        super().exec_module(module)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "typing":
            spec = importlib.machinery.PathFinder.find_spec(name)
            spec.loader = Slow(name, spec.origin)
            return spec

import dataclasses, contextlib, textwrap, kindling
sys.meta_path.insert(0, Finder)
other = threading.Thread(target=__import__, args=("typing",))
other.start()
begun.wait()
from kindling.utils.benchmark.utils.timer import Language
other.join()
print(Language.CPP.value)
""").strip() == "1"


@pytest.mark.skipif("KINDLING_SANITIZED" in os.environ, reason="the sanitized package is without bindings/package, which this needs (CMakeLists.txt)")
def test_threads_that_import_while_the_package_itself_is_imported():
    run(FUZZ / "imports.py", "--count", 40, "--first")


@pytest.mark.parametrize(("held", "name"), [
    ("kindling._absent", "kindling.nope"), ("kindling._absent", "torch.nope"), ("kindling._absent", "kindling.distributed.rpc.nope"),
    ("kindling.nope", "torch.nope"), ("kindling._functorch.functorch", "functorch"),
])
def test_a_finder_does_not_wait_under_the_lock_of_all_imports(held, name):
    """One thread imports the module ``held``; another imports ``name``, whose finder imports ``held`` too: neither waits forever."""
    assert run("-c", f"""
import _imp, faulthandler, importlib._bootstrap, threading, time
faulthandler.dump_traceback_later(100, exit=True)
import kindling
kindling.install_as_torch()
has = threading.Event()

def importing():
    with importlib._bootstrap._ModuleLockManager("{held}"):
        has.set()
        time.sleep(0.5)
        _imp.acquire_lock()     # as the import of anything does
        _imp.release_lock()

other = threading.Thread(target=importing)
other.start()
has.wait()
try:
    import {name}
except ModuleNotFoundError as error:
    assert error.name == "{name}"
other.join()
print(_imp.lock_held())
""").strip() == "False"


def test_packages_have_the_pack_before_they_run():
    """Another thread may look for a module while the package's own lines are under way."""
    assert run("-c", """
import kindling, importlib.util
for name in ("nn", "nn.modules", "nn._functional", "optim", "autograd", "utils"):
    places = [kindling.__path__[1] + "/" + name.replace(".", "/")]
    assert importlib.util.find_spec("kindling." + name).submodule_search_locations == places, name
    assert __import__("kindling." + name, fromlist=["x"]).__path__ == places, name
print("good")
""").strip() == "good"
    assert os.path.basename(__import__("kindling").__path__[1]) == "_modules.pack"
