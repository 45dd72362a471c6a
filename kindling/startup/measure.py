"""Runs a program in fresh processes and keeps what they took: bare, recorded, and an empty interpreter, in turns."""

import os
import signal
import struct
import sys
import tempfile
import threading
from time import perf_counter_ns

HERE = os.path.dirname(os.path.abspath(__file__))  # perhaps inside the pack


def _libraries():
    """The audit libraries. They are in one of the folders of the package that this one is in: an editable installation has several."""
    around = sys.modules.get((__spec__.parent or "").rpartition(".")[0])
    every = [[os.path.join(folder, f"libkindling_startup{what}.so") for what in ("", "_threads")] for folder in (*getattr(around, "__path__", ()), HERE)]
    return next((each for each in every if os.path.exists(each[0])), every[0])


LIBRARIES = _libraries()


class StartupError(Exception):
    """What the user can put right; printed as one line."""


class Run:
    """One process: when it began and ended (ns of CLOCK_MONOTONIC), how it ended, what it used."""

    def __init__(self, kind, begin, end, status, timed_out, usage):
        self.kind, self.begin, self.end, self.timed_out = kind, begin, end, timed_out
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        self.status = 128 + self.signal if self.signal else os.WEXITSTATUS(status)
        self.usage = usage
        self.log = self.native = None

    @property
    def wall_ms(self):
        return (self.end - self.begin) / 1e6

    def fields(self):
        usage = self.usage
        return {
            "kind": self.kind,
            "wall_ms": round(self.wall_ms, 3),
            "user_ms": round(usage.ru_utime * 1e3, 3),
            "system_ms": round(usage.ru_stime * 1e3, 3),
            "page_faults": usage.ru_minflt,
            "major_faults": usage.ru_majflt,
            "max_rss_kb": usage.ru_maxrss,
            "read_kb": usage.ru_inblock // 2,
            "status": self.status,
        }


class Program:
    """What to run: interpreter, ``-c``/``-m``/script with its arguments, environment, and for how long at most."""

    def __init__(self, words, python=None, timeout=60.0, native=True, environ=None):
        self.words = list(words)
        self.python = python or own_interpreter(self.words) or sys.executable
        self.timeout = timeout
        self.environ = dict(os.environ if environ is None else environ)
        self.native = native
        self.quiet = False
        # In memory where there is such a place: the logs are written while the clock runs.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.TemporaryDirectory(prefix="kindling-startup-", dir=memory)

    def inject(self):
        """The folder for PYTHONPATH, with the recorder compiled by the interpreter that is to run it: a start without a
        bytecode cache must not compile it each time."""
        folder = os.path.join(self.folder.name, "inject")
        if not os.path.isdir(folder):
            import subprocess

            source = __loader__.get_data(os.path.join(HERE, "inject", "sitecustomize.py"))
            command = [self.python, "-I", "-S", "-c", _COMPILE]
            try:
                made = subprocess.run(command, capture_output=True, timeout=60, input=source)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise StartupError(f"{self.python} does not start: {error}") from None
            if made.returncode or made.stdout[2:4] != b"\r\n":
                last = made.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                raise StartupError(f"{self.python} is no CPython that can compile the recorder: {last[-200:] or 'no output'}")
            os.mkdir(folder)
            with open(os.path.join(folder, "sitecustomize.pyc"), "wb") as file:
                file.write(made.stdout)
        return folder

    def run(self, kind, words=None, options=None, flags=(), environ=None):
        """Run once. ``options`` (None: uninstrumented) go to the recorder; the logs' contents end up in the run."""
        environment = {**self.environ, **(environ or {})}
        if options is None:
            return self._spawn(kind, [self.python, *flags, *(words or self.words)], environment)
        log, native = os.path.join(self.folder.name, "python"), os.path.join(self.folder.name, "native")
        for old in (log, native):
            if os.path.exists(old):
                os.unlink(old)
        path = environment.get("PYTHONPATH")
        environment.update(
            KINDLING_STARTUP_LOG=log,
            KINDLING_STARTUP_OPTIONS=options,
            KINDLING_STARTUP_PATH="" if path is None else "=" + path,
            PYTHONPATH=self.inject() + (os.pathsep + path if path else ""),
        )
        if self.native:
            with open(native, "wb") as file:
                hertz = int(options.partition("stacks=")[2] or 0)
                file.truncate(NATIVE_BYTES * (16 if hertz else 1))
                file.seek(40)
                file.write(struct.pack("<Q", hertz))
            environment.update(LD_AUDIT=LIBRARIES["detail" in options], KINDLING_STARTUP_NATIVE=native)
        run = self._spawn(kind, [self.python, *flags, *(words or self.words)], environment)
        run.log = _contents(log)
        if self.native:
            run.native = _records(native)
        if run.log is None and not run.timed_out:
            raise StartupError(
                f"the recorder did not start in {self.python}: it ignores PYTHONPATH or sitecustomize "
                "(isolated mode, -S, a ._pth file), or it ended before site was imported "
                f"(exit status {run.status})"
            )
        return run

    def _spawn(self, kind, command, environment):
        # The program's output goes to our stderr: stdout is the report's. Shown once, not for every repetition.
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        if self.quiet:
            actions += [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
        else:
            actions.append((os.POSIX_SPAWN_DUP2, 2, 1))
        expired = threading.Event()

        def stop():
            expired.set()
            _kill(pid)

        timer = threading.Timer(self.timeout, stop) if self.timeout else None
        sys.stderr.flush()
        begin = perf_counter_ns()
        try:
            pid = os.posix_spawn(command[0], command, environment, file_actions=actions, setpgroup=0)
        except OSError as error:
            raise StartupError(f"{command[0]} does not start: {error.strerror}") from None
        if timer:
            timer.daemon = True
            timer.start()
        try:
            _, status, usage = os.wait4(pid, 0)
            end = perf_counter_ns()
        except BaseException:
            _kill(pid)
            os.waitpid(pid, 0)
            raise
        finally:
            if timer:
                timer.cancel()
        if expired.is_set():
            _kill(pid)  # children of its own
        return Run(kind, begin, end, status, expired.is_set(), usage)


def own_interpreter(words):
    """The Python that a script's first line names by its path (as console scripts of an environment do), or None."""
    if not words or words[0].startswith("-"):
        return None
    try:
        with open(words[0], "rb") as file:
            line = file.readline(1000)
    except OSError:
        return None
    name = os.fsdecode(line[2:].strip().split(b" ")[0]) if line[:2] == b"#!" else ""
    if os.path.basename(name).startswith("python") and os.path.isabs(name) and os.access(name, os.X_OK):
        return name
    return None


NATIVE_BYTES = 32 << 20  # a sparse file: only what is written takes room


def _kill(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


_COMPILE = """if 1:
    import marshal, sys
    from _frozen_importlib_external import MAGIC_NUMBER
    code = compile(sys.stdin.buffer.read(), "<frozen importlib._bootstrap>", "exec", dont_inherit=True)
    sys.stdout.buffer.write(MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


def _records(path):
    """What the audit library wrote: the file itself is sparse and mostly empty."""
    with open(path, "rb") as file:
        head = file.read(64)
        used = struct.unpack_from("<Q", head, 16)[0]
        return head + file.read(max(used - 64, 0))


def _contents(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def check(program):
    """Why the native side can't be recorded for this interpreter, as an exception, before anything has run."""
    path = program.python
    if os.path.sep not in path:
        import shutil

        path = shutil.which(path) or path
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
            information = os.fstat(file.fileno())
    except OSError as error:
        raise StartupError(f"{path} can't be read: {error.strerror}") from None
    program.python = path
    if not program.native:
        return
    if program.environ.get("LD_AUDIT"):
        raise StartupError(
            f"LD_AUDIT is set already ({program.environ['LD_AUDIT']}): two audit libraries would time each other. "
            "Unset it, or leave out the native side with --no-native"
        )
    if information.st_mode & 0o6000 or _capabilities(path):
        raise StartupError(
            f"{path} is setuid, setgid or has file capabilities: the dynamic loader ignores LD_AUDIT for it. "
            "Use a plain copy of the interpreter (--python), or leave out the native side with --no-native"
        )
    if head[:4] != b"\x7fELF":
        if head[:2] == b"#!":
            return  # a wrapper script: whether its interpreter can be audited shows when it runs
        raise StartupError(f"{path} is no ELF program: the native side needs Linux. Use --no-native")
    if head[4:6] != b"\x02\x01":
        raise StartupError(f"{path} is not a 64-bit little-endian program: leave out the native side with --no-native")
    offset, size, number = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    for at in range(offset, offset + size * number, size):
        kind, _, place = struct.unpack_from("<IIQ", head, at)
        if kind == 3:
            if b"ld-linux" not in head[place : place + 64]:
                loader = head[place : place + 64].split(b"\0")[0].decode(errors="replace")
                raise StartupError(
                    f"{path} is loaded by {loader}, which has no audit interface: leave out the native side with "
                    "--no-native"
                )
            break
    else:
        raise StartupError(
            f"{path} is statically linked: there is no dynamic loader to ask about its libraries. Use another "
            "interpreter (--python), or leave out the native side with --no-native"
        )
    for library in LIBRARIES:
        if not os.path.exists(library):
            raise StartupError(
                f"{library} is missing: the installation is incomplete. Install Kindling again, or leave out the native "
                "side with --no-native"
            )


def _capabilities(path):
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False
