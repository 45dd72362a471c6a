"""``kindling run`` starts a program as the interpreter does: the same program under both must look the same."""

import os
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

RUN = [sys.executable, "-m", "kindling", "run"]


def start(command, folder, **options):
    return subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=120, **options
    )


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(textwrap.dedent(text))


def same(folder, arguments, **options):
    """Run under the interpreter and under ``kindling run``; both must agree. Returns the interpreter's result."""
    plain = start([sys.executable, *arguments], folder, **options)
    ours = start([*RUN, *arguments], folder, **options)
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    return plain


LOOK = """
    # What a program can see of how it was started.
    import sys
    print(__name__, globals().get("__file__"), __package__, __spec__ and __spec__.name, sys.argv)
    print(sorted(globals()))
    print(type(__loader__), __builtins__ is sys.modules["builtins"], sys.modules["__main__"].__dict__ is globals())
    print([entry for entry in sys.path if "_as_torch" not in entry])
    print(__doc__, globals().get("__cached__"))
"""


def test_script_sees_what_the_interpreter_shows(tmp_path):
    write(tmp_path, {"look.py": LOOK, "sub/look.py": '"""Words."""\n' + textwrap.dedent(LOOK)})
    same(tmp_path, ["look.py", "a", "--flag", "-m"])
    same(tmp_path, ["sub/look.py"])
    same(tmp_path, [tmp_path / "sub" / "look.py", ""])


def test_script_finds_modules_beside_the_real_file(tmp_path):
    write(tmp_path, {"real/beside.py": "word = 'here'", "real/main.py": "import beside; print(beside.word)"})
    (tmp_path / "link.py").symlink_to("real/main.py")
    assert same(tmp_path, ["link.py"]).stdout == "here\n"


def test_code_and_standard_input(tmp_path):
    write(tmp_path, {"near.py": "word = 1"})
    code = textwrap.dedent(LOOK) + "import near"
    same(tmp_path, ["-c", code, "x", "-c"])
    same(tmp_path, ["-"], input=code)


def test_module_package_and_parents(tmp_path):
    write(
        tmp_path,
        {
            "one.py": LOOK,
            "pack/__init__.py": "print('parent', __name__)",
            "pack/__main__.py": LOOK,
            "pack/inner.py": LOOK + "    from . import other\n",
            "pack/other.py": "print('other', __package__)",
        },
    )
    for name in ("one", "pack", "pack.inner"):
        same(tmp_path, ["-m", name, "x"])


@pytest.mark.parametrize("name", ["nowhere", "pack.nowhere", "pack", "pack.broken.deep", ".rel", "space", "one.two"])
def test_module_that_cannot_run(tmp_path, name):
    write(
        tmp_path,
        {"pack/__init__.py": "", "pack/broken/__init__.py": "", "one.py": "", "space/thing.py": ""},
    )
    assert same(tmp_path, ["-m", name]).returncode == 1


def test_module_whose_parent_fails_shows_the_fault(tmp_path):
    write(tmp_path, {"pack/__init__.py": "import missing_thing", "pack/inner.py": ""})
    ours = start([*RUN, "-m", "pack.inner"], tmp_path)
    assert ours.returncode == 1
    assert ours.stderr.endswith("ModuleNotFoundError: No module named 'missing_thing'\n")
    assert "runner.py" not in ours.stderr


def test_folder_archive_and_byte_code(tmp_path):
    write(tmp_path, {"box/__main__.py": LOOK + "    import near\n", "box/near.py": "", "plain.py": "print(__file__)"})
    same(tmp_path, ["box", "x"])
    with zipfile.ZipFile(tmp_path / "box.zip", "w") as archive:
        archive.write(tmp_path / "box" / "__main__.py", "__main__.py")
        archive.write(tmp_path / "box" / "near.py", "near.py")
    same(tmp_path, ["box.zip"])
    import py_compile

    py_compile.compile(tmp_path / "plain.py", tmp_path / "plain.pyc")
    same(tmp_path, ["plain.pyc"])


FAILURES = {
    "raise": "def f():\n    raise ValueError('no')\nf()",
    "chain": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "syntax": "x = 1\nif x\n    pass\n",
    "exit code": "raise SystemExit(7)",
    "exit word": "import sys; sys.exit('words')",
    "exit none": "import sys; sys.exit()",
    "interrupt": "raise KeyboardInterrupt",
    "import": "import missing_thing",
    "recursion": "def f(): f()\ntry:\n    f()\nexcept RecursionError:\n    print('deep')",
    "hook": "import sys\nsys.excepthook = lambda k, v, t: print('hook', k.__name__, t.tb_lineno, t.tb_next)\n1 / 0",
    "exit in hook": "import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1 / 0",
    "atexit": "import atexit, sys\natexit.register(lambda: print('bye', sys.excepthook is sys.__excepthook__))\n1 / 0",
    "last": "import atexit, sys\natexit.register(lambda: print(sys.last_value, sys.last_traceback.tb_lineno))\n\n1 / 0",
    "encoding": "# -*- coding: latin-1 -*-\nprint(ascii('\xe4'))".encode("latin-1"),
    "byte order mark": b"\xef\xbb\xbfprint('bom')\n",
    "windows ends": b"print('a')\r\nif 1:\r\n    print('b')\r\n",
    "no last newline": b"if 1:\n    print('c')",
    "future": "from __future__ import annotations\nx: undefined_name = 1\nprint(__annotations__)",
    "group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "threads": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('late'))).start()",
    "pickle": "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__ is A, A.__module__)",
    "inspect": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), inspect.getfile(f))",
    "warning": "import warnings\nwarnings.warn('look')",
}


@pytest.mark.parametrize("name", FAILURES)
def test_endings_and_messages(tmp_path, name):
    source = FAILURES[name]
    (tmp_path / "prog.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    same(tmp_path, ["prog.py"])


@pytest.mark.parametrize("hook", ["sys.excepthook = None", "sys.excepthook = lambda *a: 1 / 0", "del sys.excepthook"])
def test_broken_hook_does_not_hide_the_fault(tmp_path, hook):
    (tmp_path / "prog.py").write_text(f"import sys\n{hook}\n{{}}['key']\n")
    ours = start([*RUN, "prog.py"], tmp_path)
    assert ours.returncode == 1
    assert ours.stderr.count("prog.py\", line 3, in <module>") == 1 and ours.stderr.endswith("KeyError: 'key'\n")
    assert "in run\n" not in ours.stderr


def test_undecodable_source(tmp_path):
    (tmp_path / "prog.py").write_bytes(b"x = '\xff'\n")
    ours = start([*RUN, "prog.py"], tmp_path)
    assert ours.returncode == 1 and "SyntaxError: " in ours.stderr and "_start/runner" not in ours.stderr


def test_interrupt_from_outside_ends_by_the_signal(tmp_path):
    write(tmp_path, {"wait.py": "import time\nprint('ready', flush=True)\ntime.sleep(60)"})
    process = subprocess.Popen(
        [*RUN, "wait.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors.endswith("KeyboardInterrupt\n") and "_start/runner" not in errors


def test_missing_script_and_wrong_use(tmp_path):
    missing = start([*RUN, "nothing.py"], tmp_path)
    assert missing.returncode == 2
    assert missing.stderr == f"kindling: can't open file '{tmp_path}/nothing.py': [Errno 2] No such file or directory\n"
    for arguments in ([], ["-m"], ["-c"], ["-u", "x.py"]):
        wrong = start([*RUN, *arguments], tmp_path)
        assert wrong.returncode == 2 and wrong.stderr.startswith("kindling: "), wrong


def test_interpreter_options_apply(tmp_path):
    write(tmp_path, {"check.py": "import sys\nprint(sys.flags.optimize, __debug__, sys.path[0])"})
    plain = start([sys.executable, "-O", "check.py"], tmp_path)
    ours = start([sys.executable, "-O", "-m", "kindling", "run", "check.py"], tmp_path)
    assert ours.stdout == plain.stdout


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P is new in 3.11")
def test_safe_path_is_kept(tmp_path):
    write(tmp_path, {"check.py": "import sys\nprint([p for p in sys.path if '_as_torch' not in p])"})
    plain = start([sys.executable, "-P", "check.py"], tmp_path)
    ours = start([sys.executable, "-P", "-m", "kindling", "run", "check.py"], tmp_path)
    assert ours.stdout == plain.stdout


def test_command_and_module_are_the_same(tmp_path):
    command = os.path.join(os.path.dirname(sys.executable), "kindling")
    if not os.path.exists(command):
        pytest.skip("the command is not installed beside this interpreter")
    # pip cannot write a first line for an interpreter whose path has a space.
    command = [sys.executable, command] if " " in sys.executable else [command]
    write(tmp_path, {"look.py": LOOK})
    assert start([*command, "run", "look.py"], tmp_path).stdout == start([*RUN, "look.py"], tmp_path).stdout
    for option in ("--help", "--version"):
        assert start([*command, option], tmp_path).stdout == start([*RUN[:-1], option], tmp_path).stdout
    assert start([*command, "nonsense"], tmp_path).returncode == 2
