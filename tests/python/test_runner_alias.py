"""Under the alias every ``torch`` name is Kindling's, here and in child interpreters, whatever else is installed."""

import os
import subprocess
import sys
import textwrap

import pytest

RUN = [sys.executable, "-m", "kindling", "run"]


def run(tmp_path, source, *, command=None, check=True, **options):
    (tmp_path / "prog.py").write_text(textwrap.dedent(source))
    done = subprocess.run(
        command or [*RUN, "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, **options
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def test_every_name_is_the_same_module(tmp_path):
    run(
        tmp_path,
        """
        import sys
        import torch, torch.nn as nn, torch.nn.functional as F, torch.optim
        from torch.optim import AdamW
        from torch.nn.functional import relu
        import kindling, kindling.nn.functional, kindling.optim
        assert torch is kindling
        assert nn is kindling.nn is torch.nn is sys.modules["torch.nn"] is sys.modules["kindling.nn"]
        assert F is kindling.nn.functional is torch.nn.functional
        assert torch.optim is kindling.optim and AdamW is kindling.optim.AdamW and relu is F.relu
        assert nn.__spec__.name == "kindling.nn" and nn.__name__ == "torch.nn" and torch.__name__ == "torch"
        import importlib
        assert importlib.import_module("torch.nn.functional") is F
        """,
    )


def test_found_by_spec_and_metadata(tmp_path):
    run(
        tmp_path,
        """
        import sys
        assert "importlib.metadata" not in sys.modules
        import importlib.util, importlib.metadata
        assert importlib.util.find_spec("torch") is not None
        assert importlib.util.find_spec("torch.nn") is not None and "kindling.nn" not in sys.modules
        assert importlib.util.find_spec("torch.nn.functional").origin.endswith("/nn/functional.py")
        assert importlib.util.find_spec("torch.not_there") is None
        version = importlib.metadata.version("torch")
        assert version.startswith("2.13.") and "+" in version, version
        import torch
        assert str(torch.__version__) == version, (torch.__version__, version)
        assert importlib.metadata.distribution("torch").metadata["Name"] == "torch"
        assert "torch" in importlib.metadata.packages_distributions()["torch"]
        """,
    )


def test_a_missing_submodule_is_missing(tmp_path):
    run(
        tmp_path,
        """
        try:
            import torch.not_there
        except ModuleNotFoundError as error:
            assert error.name == "torch.not_there", error.name
        else:
            raise SystemExit("found")
        """,
    )


FAKE_TORCH = {"torch/__init__.py": "raise SystemExit('the installed torch was imported')", "torch/only.py": ""}


def test_wins_over_an_installed_torch(tmp_path):
    site = tmp_path / "site"
    for name, text in FAKE_TORCH.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    folder = site / "torch-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n")
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = run(
        tmp_path,
        """
        import importlib.metadata, importlib.util, subprocess, sys
        import torch, torch.nn
        assert "kindling" in torch.__version__
        assert importlib.util.find_spec("torch.only") is None
        assert importlib.metadata.version("torch") != "1.0"
        child = "import torch, importlib.metadata as m; print('kindling' in torch.__version__, m.version('torch') != '1.0')"
        subprocess.run([sys.executable, "-c", child], check=True)
        """,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.stdout == "True True\n"


def test_child_interpreters_follow(tmp_path):
    (tmp_path / "test_inner.py").write_text(
        "import torch, torch.nn as nn\ndef test_it():\n    assert 'kindling' in torch.__version__\n"
    )
    done = run(
        tmp_path,
        """
        import subprocess, sys
        first = "import importlib.metadata as m; print(m.version('torch')); "
        for code in ("import torch.nn.functional as F; print(F.__name__)",
                     "from torch import nn; print(nn.__name__)",
                     "import torch, kindling, sys; print(torch is kindling is sys.modules['torch'])",
                     "import sys; print('kindling' in sys.modules)"):
            subprocess.run([sys.executable, "-c", code], check=True)
        deep = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
        subprocess.run([sys.executable, "-c", "import torch.nn; print(torch.nn.__spec__.name)"], check=True)
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_inner.py"], check=True)
        """,
    )
    lines = done.stdout.splitlines()
    assert lines[:5] == ["torch.nn.functional", "torch.nn", "True", "False", "kindling.nn"]
    assert "1 passed" in done.stdout


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes_follow(tmp_path, method):
    done = run(
        tmp_path,
        f"""
        import multiprocessing, sys
        import torch

        def work(value):
            import torch.nn.functional as F
            return 'kindling' in torch.__version__, F.__spec__.name, value + 1, __name__

        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(work, [1, 2]))
        """,
    )
    name = "__main__" if method == "fork" else "__mp_main__"
    assert done.stdout == f"{[(True, 'kindling.nn.functional', value, name) for value in (2, 3)]}\n"


def test_a_child_can_have_the_real_torch(tmp_path):
    (tmp_path / "site" / "torch").mkdir(parents=True)
    (tmp_path / "site" / "torch" / "__init__.py").write_text("word = 'the other'")
    done = run(
        tmp_path,
        """
        import os, subprocess, sys
        env = {**os.environ, "KINDLING_AS_TORCH": "0"}
        env["PYTHONPATH"] += os.pathsep + os.path.abspath("site")
        subprocess.run([sys.executable, "-c", "import torch; print(torch.word)"], env=env, check=True)
        """,
    )
    assert done.stdout == "the other\n"


def test_the_starter_is_left_alone(tmp_path):
    before = dict(os.environ)
    run(tmp_path, "import torch")
    assert dict(os.environ) == before


def test_install_as_torch(tmp_path):
    run(
        tmp_path,
        """
        import sys
        import kindling
        kindling.install_as_torch()
        kindling.install_as_torch()
        import torch, torch.nn
        assert torch is kindling and torch.nn is kindling.nn
        assert sum(entry.endswith("_as_torch") for entry in sys.path) == 1
        """,
        command=[sys.executable, "prog.py"],
    )


def test_install_as_torch_after_another_torch(tmp_path):
    (tmp_path / "torch.py").write_text("")
    done = run(
        tmp_path,
        """
        import torch, kindling
        kindling.install_as_torch()
        """,
        command=[sys.executable, "prog.py"],
        check=False,
    )
    assert done.returncode == 1
    assert "RuntimeError: install_as_torch() must come before the first `import torch`" in done.stderr
    assert f"{tmp_path}/torch.py" in done.stderr


def test_extension_module_linked_to_libtorch_is_refused(tmp_path):
    compiler = os.environ.get("CXX", "g++")
    for name, library in (("linked", "libtorch_cpu.so"), ("free", "libother.so")):
        (tmp_path / "empty.c").write_text("int nothing;")
        (tmp_path / f"{name}.c").write_text("int more;")
        flags = ["-shared", "-fPIC", f"-Wl,-soname,{library}"]
        subprocess.run([compiler, "-x", "c", *flags, "empty.c", "-o", library], cwd=tmp_path, check=True)
        flags = ["-shared", "-fPIC", "-Wl,--no-as-needed"]
        command = [compiler, *flags, "-x", "c", f"{name}.c", "-x", "none", library, "-o", f"{name}.so"]
        subprocess.run(command, cwd=tmp_path, check=True)
    done = run(
        tmp_path,
        """
        import kindling._start.alias as alias
        assert "libtorch_cpu.so" in alias.needed_libraries("linked.so"), alias.needed_libraries("linked.so")
        assert "libother.so" in alias.needed_libraries("free.so")
        assert alias.needed_libraries("prog.py") == alias.needed_libraries("nothing") == []
        for name in ("linked", "free"):
            try:
                __import__(name)
            except ImportError as error:
                print(error.name, error)
        """,
    )
    linked, free = done.stdout.splitlines()
    assert linked.startswith("linked linked is linked to PyTorch's own C++ library (libtorch_cpu.so)")
    # The other one gets as far as the loader, which finds neither its library nor an init function.
    assert "libtorch" not in free


def test_damaged_library_files_are_not_judged(tmp_path):
    import kindling._start.alias as alias

    whole = open(sys.executable, "rb").read(4096)
    for length in (0, 3, 16, 63, 64, 100, 500, 4096):
        path = tmp_path / "cut.so"
        path.write_bytes(whole[:length])
        assert alias.needed_libraries(str(path)) == [] or length == 4096
    for seed in range(200):
        import random

        data = bytearray(whole)
        chance = random.Random(seed)
        for _ in range(20):
            data[chance.randrange(64 if seed % 2 else len(data))] = chance.randrange(256)
        path.write_bytes(bytes(data))
        assert isinstance(alias.needed_libraries(str(path)), list)


def test_names_of_modules_and_classes_say_torch(tmp_path):
    """Whether they are loaded before the alias or after it; pickles of them say torch too, and come back."""
    done = run(
        tmp_path,
        """
        import torch, pickle, sys
        from torch import nn
        import torch.utils.data
        found = [nn.Linear, nn.LSTM, nn.LazyLinear, nn.MultiheadAttention, nn.Parameter, torch.Tensor, torch.optim.SGD, torch.no_grad, torch.nn.functional.relu,
                 torch.distributions.Normal, torch.utils.data.DataLoader, torch.jit.ScriptModule, torch.dtype, torch.ao.quantization.QConfig]
        assert [each.__module__.partition(".")[0] for each in found] == ["torch"] * len(found), [each.__module__ for each in found]
        assert nn.Linear.__module__ == "torch.nn.modules.linear" and str(nn.LazyLinear).find("torch.nn.modules.linear.LazyLinear") > 0
        text = pickle.dumps(nn.Linear(2, 2))
        assert b"torch.nn.modules.linear" in text and b"kindling" not in text
        assert type(pickle.loads(text)) is nn.Linear
        for name, module in list(sys.modules.items()):
            if name.startswith("kindling.") and "_C" not in name:
                assert module.__name__ == "torch" + name[8:], name
                assert sys.modules.get(module.__name__, module) is module, name
        print("whole")
        """,
    )
    assert done.stdout == "whole\n", done.stderr


def test_an_alias_that_comes_late_renames_what_is_there(tmp_path):
    code = ("import kindling, kindling.nn as nn\nassert nn.Linear.__module__ == 'kindling.nn.modules.linear'\nkindling.install_as_torch()\n"
            "assert nn.Linear.__module__ == 'torch.nn.modules.linear' and kindling.__name__ == 'torch'\nimport torch.nn.modules.linear as l\n"
            "assert l.Linear is nn.Linear")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_names_that_are_nowhere_are_attribute_errors(tmp_path):
    """In every public module, under the alias: a module that asks itself through the alias would never end."""
    done = run(
        tmp_path,
        """
        import importlib, pkgutil, torch
        names = ["torch"] + [each.name for each in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None)
                             if "._" not in each.name and not each.name.startswith(("torch.startup", "torch.libkindling"))]
        assert len(names) > 150
        for name in names:
            module = importlib.import_module(name)
            assert not hasattr(module, "nothing_of_that_name"), name
        """,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_is_alive_at_an_import_is_old(tmp_path):
    """The collector goes over what a large package makes once at most; the program's own collecting and freezing stay as they are."""
    done = run(
        tmp_path,
        """
        import gc, os, sys, weakref
        import torch

        class Loop:
            def __init__(self):
                self.me = self

        def collections(names):
            before = [each["collections"] for each in gc.get_stats()]
            for name in names:
                __import__(name)
            return sum(each["collections"] for each in gc.get_stats()) - sum(before)

        for i in range(100):
            with open(f"part{i}.py", "w") as file:
                file.write("keep = [[] for _ in range(500)]")
        sys.path.insert(0, os.getcwd())
        gc.collect()
        assert collections([f"part{i}" for i in range(50)]) <= 2        # 35 without that
        loop = weakref.ref(Loop())
        import part50
        assert loop() is not None                                       # old now, and still found by a whole collection
        gc.collect()
        assert loop() is None
        assert gc.isenabled() and gc.get_threshold() == (700, 10, 10) or sys.version_info >= (3, 12)
        # An import that fails again and again does not keep what is young from being collected.
        loops = []
        for _ in range(2000):
            loops.append(weakref.ref(Loop()))
            try:
                import nowhere
            except ImportError:
                pass
        assert sum(each() is not None for each in loops) < 1000
        # What the program has frozen stays so.
        gc.freeze()
        frozen = gc.get_freeze_count()
        import part51
        assert 0 < frozen <= gc.get_freeze_count()
        print("whole")
        """,
    )
    assert done.stdout == "whole\n", done.stderr
