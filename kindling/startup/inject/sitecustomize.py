"""Records a program's imports from inside it: what `kindling startup` puts at the front of PYTHONPATH.

`site` imports this before the program's first line. It takes itself out again (path, environment, sys.modules), lets the
real sitecustomize run, and leaves hooks in the import system: one record an event, written at once, so that a crash or
os._exit loses nothing. Runs on any CPython from 3.10; imports nothing that the interpreter has not loaded.

Compiled under the name of importlib's own file (`measure.Program`): tracebacks and warnings skip frames of that.
Times are on a clock that stands still while the hooks work (`lost`), so that spans do not contain their own recording.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _imp
import _thread
import posix
import sys
from marshal import dumps
from time import perf_counter_ns as now

entered = now()
modules = sys.modules
getframe = sys._getframe
ident = _thread.get_ident
write = posix.write
lost = 0
number = 0
spans = {}  # number -> name, of the imports under way
before = {}  # number -> counts when it began, in the run for details
stacks = {}  # thread -> stack of span numbers
tables = {}  # of long code objects: where lines begin, or how often one was asked for so far
boot, files = bootstrap.__dict__, external.__dict__
module_type = type(sys)
real_find_and_load = bootstrap._find_and_load
real_create, real_exec = _imp.create_dynamic, _imp.exec_dynamic
detail = None
registrations = False
fd = -1


def emit(*record):
    """Write one record, marshalled: faster than text, and a cut-off one is seen as such."""
    try:
        try:
            write(fd, dumps(record, 2))
        except ValueError:  # a name that is no plain str
            write(fd, dumps(tuple(word if type(word) in (int, list) else str(word) for word in record), 2))
    except OSError:
        pass  # a program that closed every descriptor, or a full disk: it goes on unrecorded


def forked():
    global fd
    fd = -1  # the parent's log


def caller(frame):
    """(module, line, file) of the first frame that is not the import system's or ours."""
    while frame is not None:
        space = frame.f_globals
        if not (space is boot or space is files or space is mine):
            name = space.get("__name__")
            if name != "importlib":
                return name, line_of(frame), frame.f_code.co_filename
        frame = frame.f_back
    return "", 0, ""


def line_of(frame):
    """``f_lineno``, which reads the code's line table from its begin, without that for long ones."""
    at = frame.f_lasti
    if at < 4000:
        return frame.f_lineno
    code = frame.f_code
    table = tables.get(id(code), 0)
    if type(table) is int:
        if table < 50:  # a table costs as much as so many looks
            tables[id(code)] = table + 1
            return frame.f_lineno
        rows = [(start, line) for start, _, line in code.co_lines() if line is not None]
        table = tables[id(code)] = code, [row[0] for row in rows], [row[1] for row in rows]
    _, starts, lines = table
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] <= at:
            low = middle + 1
        else:
            high = middle
    return lines[low - 1] if low else 0


def watch_locks():
    """Times imports by the lock that _find_and_load holds around each: its methods are called before and after, so that no
    frame of ours lies on the stack in between. CPython 3.11 and later map and unmap 16 KB of frames each time a call crosses
    the end of such a chunk; with a frame more for each import around another, loops cross it elsewhere, or not at all (for
    transformers 1,700 times in 3,500, 4 to 7% of its time)."""
    lock = bootstrap._ModuleLockManager
    enter, leave, loading = lock.__enter__, lock.__exit__, real_find_and_load.__code__

    def __enter__(self):
        enter(self)
        if self._name not in modules:
            frame = getframe().f_back
            if frame.f_code is loading:  # others take locks, too
                self.span = opened(self._name, frame)

    def __exit__(self, kind=None, error=None, traceback=None):
        if self.span:
            if error is None:
                closed(self.span, modules.get(self._name))
            else:
                failure(self.span, error)
        return leave(self, kind, error, traceback)

    lock.span, lock.__enter__, lock.__exit__ = 0, __enter__, __exit__


def find_and_load(name, import_):
    """The same in the run for details, which needs to see cached imports too, and where there is no such lock."""
    if name in modules:
        if detail:  # importlib.import_module does not pass by __import__
            detail.again(name, getframe().f_back)
        return real_find_and_load(name, import_)
    me = opened(name, getframe().f_back)  # C code may import with no Python frame below
    try:
        result = real_find_and_load(name, import_)
    except BaseException as error:
        failure(me, error)
        raise
    closed(me, result)
    return result


def opened(name, frame):
    global lost, number
    start = now()
    number = me = number + 1
    thread = ident()
    stack = stacks.get(thread)
    if stack is None:
        stack = stacks[thread] = [0]
    importer, line, file = caller(frame)
    if detail:
        before[me] = detail.begin()
    emit("B", me, stack[-1], thread, name, importer, line, start - lost, len(modules), start, file)
    stack.append(me)
    spans[me] = name
    lost += now() - start
    return me


def closed(me, result):
    global lost
    at = now()
    stack = stacks[ident()]
    del spans[stack.pop()]
    try:
        space = result.__dict__ if type(result) is module_type else object.__getattribute__(result, "__dict__")
        spec = space.get("__spec__")
        where = space.get("__file__") or spec.origin or ""
        loader = spec.loader
        loader = loader.__name__ if isinstance(loader, type) else type(loader).__name__
    except Exception:
        where = loader = ""
    if registrations and len(stack) == 1:
        keep_last()
    emit("E", me, at - lost, at, len(modules), where, loader, detail.end(before.pop(me)) if detail else None)
    lost += now() - at


def chain(error):
    """Numbers of the failed imports in an exception's chain of causes and contexts."""
    found, todo, seen = [], [error], set()
    while todo:
        error = todo.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        mark = getattr(error, "_kindling_startup", None)
        if type(mark) is int:
            found.append(mark)
        todo += [error.__cause__, error.__context__]
    return found


def failure(me, error):
    global lost
    start = now()
    del spans[stacks[ident()].pop()]
    causes = chain(error)
    if not causes:
        try:
            error._kindling_startup = me
        except Exception:
            pass
        causes = [me]
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    emit("F", me, start - lost, len(modules), causes, text, str(getattr(error, "name", "") or ""))
    lost += now() - start


def timed(kind, real, spec_of):
    def call(*arguments):
        stack = stacks.get(ident()) or [0]
        name, path = spec_of(arguments[0])
        start = now()
        virtual = start - lost
        try:
            return real(*arguments)
        finally:
            end = now()
            emit("N", kind, stack[-1], start, end, end - lost - virtual, name, path)

    return call


def of_spec(spec):
    return spec.name, spec.origin


def of_module(module):
    return getattr(module, "__name__", ""), getattr(module, "__file__", "") or ""


def starter(real):
    def start_thread(function, *rest, **named):
        frame = getframe().f_back
        target = function
        name = ""
        if getattr(function, "__name__", "") == "_bootstrap" and hasattr(function, "__self__"):
            thread = function.__self__
            name, target = getattr(thread, "_name", ""), getattr(thread, "_target", None) or type(thread)
        module, line, file = caller(frame)
        while frame is not None and frame.f_globals.get("__name__") in ("threading", "concurrent.futures.thread"):
            frame = frame.f_back
            module, line, file = caller(frame)
        stack = stacks.get(ident()) or [0]
        target = getattr(target, "__qualname__", type(target).__name__)
        emit("T", stack[-1], now() - lost, name, module, line, file, target)
        return real(function, *rest, **named)

    return start_thread


def mark(name, kind="M"):
    """Write a mark: ``M`` a moment, ``(`` and ``)`` begin and end of a block."""
    emit(kind, now() - lost, name)


def finish():
    at = now()
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    causes = chain(error) if error is not None else []
    if detail:
        detail.finish()
    emit("X", at - lost, causes, lost, [str(entry) for entry in sys.path])


def note_stack(_, frame):
    """Python's part of a sample of the native stack, which was taken just before: outermost frame last."""
    global lost
    at = now()
    rows = []
    while frame is not None and len(rows) < 200:
        code = frame.f_code
        if frame.f_globals is not mine:
            rows += [code.co_filename, line_of(frame), code.co_name]
        frame = frame.f_back
    emit("Y", at, rows)
    lost += now() - at


def dump_operators():
    core = modules.get("torch._C") or modules.get("kindling._C")
    dump, names = getattr(core, "_dispatch_dump", None), getattr(core, "_dispatch_get_all_op_names", None)
    if dump and names:
        for name in names():
            emit("R", dump(name))


def keep_last():
    """What Python registered is taken away by exit handlers of torch: have ours run before any other so far."""
    import atexit

    atexit.unregister(dump_operators)
    atexit.register(dump_operators)


def half_made(module):
    """Whether its import is under way."""
    spec = getattr(module, "__dict__", {}).get("__spec__")
    return getattr(spec, "_initializing", False) is True


class Detail:
    """What costs too much to take while times are taken: a run of its own."""

    def __init__(self):
        space = external.__dict__
        self.counts = counts = [0, 0, 0, 0]  # bytes read, opens, stats, 1 if compiled from source
        self.cached, self.cycles = {}, set()
        import resource  # an extension module: taken out again, so that the program's own import of it is seen

        modules.pop("resource", None)
        self.usage = resource.getrusage
        real_stat, real_data = external._path_stat, external.FileLoader.get_data
        real_source = external.SourceLoader.source_to_code

        def stat(path):
            counts[2] += 1
            return real_stat(path)

        def get_data(loader, path):
            data = real_data(loader, path)
            counts[0] += len(data)
            return data

        def source_to_code(loader, data, path, **options):
            counts[3] += 1
            return real_source(loader, data, path, **options)

        def audit(event, _):
            if event == "open":
                counts[1] += 1

        space["_path_stat"] = stat
        external.FileLoader.get_data = get_data
        external.SourceLoader.source_to_code = source_to_code
        sys.addaudithook(audit)
        import builtins

        real_import = builtins.__import__
        cached, cycles = self.cached, self.cycles

        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            # Only what is found in sys.modules is of interest here: cached imports, and those of half-made modules.
            whole = name
            if level and globals:
                package = globals.get("__package__") or ""
                if level > 1:
                    package = package.rsplit(".", level - 1)[0]
                whole = f"{package}.{name}" if name else package
            there = modules.get(whole)
            if there is not None:
                importer = (globals or {}).get("__name__", "")
                if globals is mine:  # asked for by C code, whose frame is ours
                    importer = spans.get((stacks.get(ident()) or [0])[-1], "")
                key = (importer, whole)
                cached[key] = cached.get(key, 0) + 1
                for item in fromlist or ():  # `from package import submodule`, of a submodule that is half made
                    inside = f"{whole}.{item}"
                    if inside in modules and half_made(modules[inside]) and not f"{importer}.".startswith(f"{inside}."):
                        if (importer, inside) not in cycles:
                            cycles.add((importer, inside))
                            emit("C", (stacks.get(ident()) or [0])[-1], importer, caller(getframe().f_back)[1], inside)
                if half_made(there) and importer != whole and key not in cycles:
                    inner = importer.startswith(whole + ".")
                    if fromlist or not inner:
                        cycles.add(key)
                        line = caller(getframe().f_back)[1]
                        try:
                            return real_import(name, globals, locals, fromlist, level)
                        finally:
                            # A package's own submodules are no values of its half-made module: asking for them is no
                            # cycle.
                            if not inner or any(f"{whole}.{item}" not in modules for item in fromlist):
                                stack = stacks.get(ident()) or [0]
                                emit("C", stack[-1], importer, line, whole)
            return real_import(name, globals, locals, fromlist, level)

        builtins.__import__ = __import__

    def again(self, name, frame):
        if half_made(modules[name]):
            importer, line, _ = caller(frame)
            if importer != name and not importer.startswith(name + ".") and (importer, name) not in self.cycles:
                self.cycles.add((importer, name))
                emit("C", (stacks.get(ident()) or [0])[-1], importer, line, name)

    def begin(self):
        usage = self.usage(0)
        return (*self.counts, usage[6], usage[7], usage[2])

    def end(self, before):
        return [after - first for first, after in zip(before, self.begin())]

    def finish(self):
        for (importer, name), times in self.cached.items():
            emit("I", importer, name, times)
        try:
            with open("/proc/self/status", "rb") as file:
                wanted = (b"VmData", b"VmRSS", b"VmHWM", b"VmPeak", b"Threads")
                emit("S", [line.decode().strip() for line in file if line.partition(b":")[0] in wanted])
        except OSError:
            pass


def out_of_the_way(low):
    """A descriptor far above those that the program's own files get, so that a close of all of its own misses it."""
    for high in range(200, 240):
        try:
            posix.fstat(high)
        except OSError:
            try:
                posix.dup2(low, high, False)
            except OSError:
                return low
            posix.close(low)
            return high
    return low


mine = globals()


def begin():
    global fd, detail, registrations
    folder = external._path_split(__file__)[0]
    sys.path[:] = [entry for entry in sys.path if entry.rstrip("/") != folder.rstrip("/")]
    sys.path_importer_cache.pop(folder, None)
    os = modules["os"]
    where, options, path = (os.environ.pop(f"KINDLING_STARTUP_{name}", "") for name in ("LOG", "OPTIONS", "PATH"))
    for name in ("LD_AUDIT", "KINDLING_STARTUP_NATIVE"):
        os.environ.pop(name, None)
    if path.startswith("="):
        os.environ["PYTHONPATH"] = path[1:]
    else:
        os.environ.pop("PYTHONPATH", None)
    if where:
        low = posix.open(where, posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        fd = out_of_the_way(low)
        create, execute = timed("create", real_create, of_spec), timed("exec", real_exec, of_module)
        if "detail" in options:
            detail = Detail()
        if "stacks" in options:
            import _signal

            _signal.signal(_signal.SIGVTALRM, note_stack)
            _signal.siginterrupt(_signal.SIGVTALRM, False)
        registrations = "registrations" in options
        posix.register_at_fork(after_in_child=forked)
        sys._kindling_startup = mark
        _imp.create_dynamic, _imp.exec_dynamic = create, execute
        for name in ("start_new_thread", "start_joinable_thread"):  # the second from 3.13 on
            if hasattr(_thread, name):
                start = starter(getattr(_thread, name))
                setattr(_thread, name, start)
                if "threading" in modules:
                    setattr(modules["threading"], "_" + name, start)
        import atexit

        modules.pop("atexit", None)
        atexit.register(finish)
        if detail or "_ModuleLockManager" not in real_find_and_load.__code__.co_names:
            bootstrap._find_and_load = find_and_load
        else:
            watch_locks()
    # The sitecustomize that this one stood in front of.
    modules.pop("sitecustomize", None)
    real = external.PathFinder.find_spec("sitecustomize")
    mine["__name__"], mine["__package__"] = "importlib._bootstrap", "importlib"  # as C code sees our frames
    emit("V", entered, now(), sys.executable, sys.version.split()[0], list(modules))
    return real


found = begin()
if found is None:
    raise ImportError("no sitecustomize", name="sitecustomize")
modules["sitecustomize"] = bootstrap.module_from_spec(found)
found.loader.exec_module(modules["sitecustomize"])
