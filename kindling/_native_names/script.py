"""What scripts and the code around them are made of: futures, typed containers, archives, text checks, counters, benchmarks."""
import sys

from kindling._native_names import types as _types


class JITException(Exception):
    """An error of scripted code (``torch.jit.Error``)."""


JITException.__module__, JITException.__name__, JITException.__qualname__ = "torch.jit", "Error", "Error"


class FatalError(Exception):
    """An error after which the process should end."""


class _NeverMade:
    """A type that programs ask about by isinstance; its objects are made by scripting."""

    def __init_subclass__(cls):
        cls.__module__ = _types.PACKAGE

    def __new__(cls, *arguments, **keywords):
        raise TypeError(f"torch.{cls.__name__}: No constructor defined!")


AliasDb, ArgumentSpec, Capsule, Code, CompleteArgumentSpec, ConcreteModuleType, DeepCopyMemoTable, Gradient, IODescriptor, OperatorInfo, \
    ScriptClass, ScriptClassFunction, ScriptMethod, ScriptObject, ScriptObjectProperty, TracingState = (
        type(name, (_NeverMade,), {"__doc__": f"The type `torch.{name}`, for isinstance: its objects are made by scripting."})
        for name in ("AliasDb ArgumentSpec Capsule Code CompleteArgumentSpec ConcreteModuleType DeepCopyMemoTable Gradient IODescriptor "
                     "OperatorInfo ScriptClass ScriptClassFunction ScriptMethod ScriptObject ScriptObjectProperty "
                     "TracingState").split())


class ScriptModule(ScriptObject):
    """The type of scripted modules, for isinstance."""


# ---- futures

class Future:
    """A result that comes later, perhaps from another thread. :class:`torch.futures.Future` is the one to make and to annotate with."""

    def __init__(self, devices, /):
        import _thread
        if not isinstance(devices, (list, tuple)):
            raise TypeError("__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                            "    1. torch._C.Future(arg0: collections.abc.Sequence[torch.device])")
        for device in devices:
            if device.index is None:
                raise ValueError(f"Expected devices to have indices, got {device.type}")
            if device.type != "cpu":
                raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
        self._lock, self._done, self._value, self._error, self._calls = _thread.allocate_lock(), False, None, None, []
        self._unwrap = None
        self._waiting = _thread.allocate_lock()
        self._waiting.acquire()

    def __reduce_ex__(self, protocol):
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self):
        """Whether there is a value or an error."""
        return self._done

    def wait(self):
        """The value, waited for; the error, if that came instead."""
        if not self._done:
            with self._waiting:
                pass
        return self.value()

    def value(self):
        """The value of a future that is done; the error is raised. RuntimeError before."""
        if not self._done:
            raise RuntimeError("value(): the Future has not completed yet: call wait() first")
        if self._error is not None:
            raise self._error
        if self._unwrap is not None:
            self._unwrap(self._value)
        return self._value

    def set_result(self, result):
        """Sets the value, and calls who waits for it."""
        self._finish(result, None)

    def _set_unwrap_func(self, unwrap):
        """Has `unwrap(value)` called, for what it raises, before the value is handed out."""
        self._unwrap = unwrap

    def _finish(self, value, error):
        with self._lock:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                                   "completed once.")
            self._value, self._error, self._done = value, error, True
            calls, self._calls = self._calls, []
        self._waiting.release()
        for call in calls:
            call(self)

    def _when_done(self, callback):
        with self._lock:
            if not self._done:
                self._calls.append(callback)
                return
        callback(self)

    def add_done_callback(self, callback):
        """Calls `callback(self)` once this one is done; its errors are logged and nothing else."""
        if not callable(callback):
            raise TypeError("add_done_callback(): incompatible function arguments. The following argument types are supported:\n"
                            "    1. (self: torch._C.Future, arg0: collections.abc.Callable) -> None")

        def run(done):
            try:
                callback(done)
            except Exception:
                import logging

                logging.getLogger("torch.futures").exception("Got the following error when running the callback:")
        self._when_done(run)

    def then(self, callback):
        """A future of `callback(self)`, called once this one is done."""
        if not callable(callback):
            raise TypeError("then(): incompatible function arguments. The following argument types are supported:\n"
                            "    1. (self: torch._C.Future, arg0: collections.abc.Callable) -> torch._C.Future")
        after = Future([])

        def run(done):
            try:
                value = callback(done)
            except Exception as error:
                after._finish(None, RuntimeError("Got the following error when running the callback: "
                                                 f"{type(error).__name__}: {error}"))
            else:
                after.set_result(value)
        self._when_done(run)
        return after


def _collect_all(futures):
    """A future of the list of futures, done when all of them are; who asks for the list gets the first error among them."""
    import _thread
    futures = list(futures)
    for each in futures:
        if not isinstance(each, Future):
            raise TypeError("_collect_all(): incompatible function arguments. The following argument types are supported:\n"
                            "    1. (arg0: collections.abc.Sequence[torch._C.Future]) -> torch._C.Future")
    result, lock, left = Future([]), _thread.allocate_lock(), [len(futures)]

    def one(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            result.set_result(futures)
    result._set_unwrap_func(lambda _: [each.value() for each in futures])
    if not futures:
        result.set_result(futures)
    for each in futures:
        each._when_done(one)
    return result


def fork(function, *args, **kwargs):
    """A :class:`Future` of the call, which runs at once, as it does in torch outside of scripts.

    >>> torch.wait(torch.fork(lambda a: a + 1, 2))
    3
    """
    future = Future([])
    future.set_result(function(*args, **kwargs))
    return future


def wait(future):
    """The value of a :class:`Future`, once it is there."""
    if future is None:
        raise RuntimeError("Future can't be None")
    if not isinstance(future, Future):
        raise TypeError("wait(): incompatible function arguments. The following argument types are supported:\n"
                        "    1. (arg0: torch._C.Future) -> object")
    return future.wait()


# ---- typed containers

def _kind(value):
    from kindling import _C
    for python, made in ((bool, _types.BoolType), (int, _types.IntType), (float, _types.FloatType), (str, _types.StringType),
                         (complex, _types.ComplexType), (_C.Tensor, _types.TensorType), (type(None), _types.NoneType)):
        if isinstance(value, python):
            return made.get()
    if isinstance(value, (list, tuple)):
        inside = [_kind(each) for each in value]
        return _types.TupleType(inside) if isinstance(value, tuple) else _types.ListType(inside[0] if inside else _types.TensorType.get())
    if isinstance(value, dict) and value:
        return _types.DictType(*map(_kind, next(iter(value.items()))))
    return _types.PyObjectType.get()


def _check(value, kind):
    if not _kind(value).isSubtypeOf(kind):
        raise TypeError(f"expected a value of type {kind}, but got {type(value).__name__}")
    return value


class ScriptDict(dict):
    """A dictionary whose keys have one type, and its values another. TypeError for others."""

    def __init__(self, values, /):
        super().__init__(values)
        kinds = [tuple(map(_kind, item)) for item in self.items()]
        for place, word in ((0, "Found"), (1, "Found")):
            for each in kinds[1:]:
                if each[place] != kinds[0][place]:
                    raise JITException("Unable to infer type of dictionary: Dictionary inputs to traced functions must have consistent "
                                       f"type. {word} {kinds[0][place]} and {each[place]}")
        self._key, self._value = kinds[0] if kinds else (_types.StringType.get(), _types.TensorType.get())

    def __setitem__(self, key, value):
        super().__setitem__(_check(key, self._key), _check(value, self._value))

    def __repr__(self):
        return "{" + ", ".join(f"{key}: {value}" for key, value in dict.items(self)) + "}"

    def __iter__(self):
        return ScriptDictKeyIterator(dict.keys(self))

    def items(self):
        return ScriptDictIterator(dict.items(self))

    def keys(self):
        return ScriptDictKeyIterator(dict.keys(self))


class ScriptList(list):
    """A list whose elements have one type. TypeError for others."""

    def __init__(self, values, /):
        super().__init__(values)
        kinds = [_kind(each) for each in list.__iter__(self)]
        for each in kinds[1:]:
            if each != kinds[0]:
                raise JITException(f"Unable to infer type of list: List trace inputs must have elements of the same type. Found {kinds[0]} "
                                   f"and {each}")
        self._element = kinds[0] if kinds else _types.TensorType.get()

    def __setitem__(self, place, value):
        super().__setitem__(place, [_check(v, self._element) for v in value] if isinstance(place, slice) else _check(value, self._element))

    def append(self, value, /):
        super().append(_check(value, self._element))

    def insert(self, place, value, /):
        super().insert(place, _check(value, self._element))

    def extend(self, values, /):
        super().extend([_check(value, self._element) for value in values])

    def __iter__(self):
        return ScriptListIterator(super().__iter__())


class ScriptListIterator:
    """Runs over a :class:`ScriptList`."""

    def __init__(self, values):
        self._next = iter(values).__next__

    def __iter__(self):
        return self

    def __next__(self):
        return self._next()


class ScriptDictIterator(ScriptListIterator):
    """Runs over the items of a :class:`ScriptDict`."""


class ScriptDictKeyIterator(ScriptListIterator):
    """Runs over the keys of a :class:`ScriptDict`."""


class _Members:
    """The members of a module by name, as scripts see them."""

    def __init__(self, module, /):
        self._module = module

    def _all(self):
        return getattr(self._module, self._place)

    def contains(self, name):
        return name in self._all()

    def items(self):
        return list(self._all().items())

    def getattr(self, name):
        return self._all()[name]

    def setattr(self, name, value):
        setattr(self._module, name, value)


class ParameterDict(_Members):
    """A module's parameters by name (``torch.ParameterDict``, not ``torch.nn``'s)."""

    _place = "_parameters"


class BufferDict(_Members):
    """A module's buffers by name."""

    _place = "_buffers"


class ModuleDict(_Members):
    """A module's submodules by name (``torch.ModuleDict``, not ``torch.nn``'s)."""

    _place = "_modules"


# ---- archives

class PyTorchFileReader:
    """The records of an archive as ``torch.save`` writes them: a path or a file opened for reading."""

    def __init__(self, file, /):
        from kindling._saving import zip as _zip
        if isinstance(file, (str, bytes)) or hasattr(file, "__fspath__"):
            file = open(file, "rb")
        self._reader = _zip.Reader(_zip.Source(file))

    def get_record(self, name):
        return self._reader.read(name)

    def has_record(self, name):
        return name in self._reader

    def get_all_records(self):
        return list(self._reader.records)

    def get_record_offset(self, name):
        return self._reader.find(name).start

    def get_record_header_offset(self, name):
        return self._reader.find(name).header

    def get_record_size(self, name):
        return self._reader.find(name).size

    def get_storage_from_record(self, name, size, dtype, /):
        """The first ``size`` elements of a record, as a tensor."""
        import kindling
        return kindling.frombuffer(bytearray(self._reader.read(name)), dtype=dtype, count=size) if size else kindling.empty(0, dtype=dtype)

    def serialization_id(self):
        name = ".data/serialization_id"
        return self._reader.read(name).decode() if name in self._reader else ""


class PyTorchFileWriter:
    """Writes an archive as ``torch.save`` does: to a path, or to anything with ``write``."""

    def __init__(self, file_name, compute_crc32=True, storage_alignment=64):
        from kindling._saving import zip as _zip
        if storage_alignment != _zip.ALIGNMENT:
            raise NotImplementedError(f"records are aligned to {_zip.ALIGNMENT} bytes, not to {storage_alignment}")
        self._file, root = None, "archive"
        if isinstance(file_name, (str, bytes)) or hasattr(file_name, "__fspath__"):
            import os
            root = os.path.basename(os.fsdecode(file_name)).partition(".")[0]
            file_name = self._file = open(file_name, "wb")
        self._writer = _zip.Writer(file_name.write, root, compute_crc32)
        self._names, self._sum = set(), 0

    def write_record(self, name, data, size, /):
        """``data``: bytes or a storage, of which the first ``size`` bytes are written."""
        from zlib import crc32
        view = memoryview(data if isinstance(data, (bytes, bytearray, memoryview)) else bytes(data))[:size]
        self._sum = self._sum * 31 + crc32(view) & (1 << 64) - 1
        self._writer.write(name, view)
        self._names.add(name)

    def write_end_of_file(self):
        if "version" not in self._names:
            self._writer.write("version", b"3\n")
            self._writer.write("byteorder", sys.byteorder.encode())
        self._writer.write(".data/serialization_id", self.serialization_id().encode())
        self._names |= {"version", "byteorder", ".data/serialization_id"}
        self._writer.close()
        if self._file is not None:
            self._file.close()

    def archive_name(self):
        return self._writer.root

    def serialization_id(self):
        return f"{self._sum:040d}"

    def get_all_written_records(self):
        return self._names

    def set_min_version(self, version):
        pass


class SerializationStorageContext:
    """Storages that several records share, while writing."""

    def __init__(self):
        self._storages = []

    def has_storage(self, storage):
        return any(storage is each for each in self._storages)

    def get_or_add_storage(self, storage):
        for place, each in enumerate(self._storages):
            if each is storage:
                return place
        self._storages.append(storage)
        return len(self._storages) - 1


class DeserializationStorageContext(dict):
    """Storages that several records share, while reading."""

    def add_storage(self, name, storage):
        self[name] = storage

    def has_storage(self, name):
        return name in self

    def get_storage(self, name):
        return self[name]


# ---- counters, text checks, benchmarks, source errors

class LoggerBase:
    """What counts events."""


class NoopLogger(LoggerBase):
    """Counts nothing."""

    def add_stat_value(self, name, value):
        pass

    def get_counter_val(self, name):
        return 0


class LockingLogger(LoggerBase):
    """Counters by name; each sums up or averages (``torch.SUM``, ``torch.AVG``)."""

    def __init__(self):
        self._values, self._kinds = {}, {}

    def add_stat_value(self, name, value):
        self._values.setdefault(name, []).append(value)

    def set_aggregation_type(self, name, kind):
        self._kinds[name] = kind

    def get_counter_val(self, name):
        values, kind = self._values.get(name, []), self._kinds.get(name)
        return 0 if not values else sum(values) // len(values) if kind is not None and kind.name == "AVG" else sum(values)


class FileCheck:
    """Checks of a text, each after the place where the one before was found.

    >>> torch.FileCheck().check("b").check_not("a").run("a b c")
    """

    def __init__(self):
        self._checks = []

    def check_count(self, text, count, exactly=False):
        self._checks += [("CHECK-COUNT", text)] * count + ([("CHECK-NOT", text)] if exactly else [])
        return self

    def run(self, test_file, /):
        """RuntimeError that names the check that fails. Anything with ``str()`` is a text."""
        import re
        text = str(test_file)
        at, forbidden, dag, line_end = 0, [], 0, -1

        def clear(upto):
            for word in forbidden:
                found = text.find(word, at, upto)
                if found >= 0:
                    end = text.find("\n", found)
                    line = text[text.rfind("\n", 0, found) + 1:None if end < 0 else end]
                    raise RuntimeError(f'Expected to not find "{word}" but found it\n{line}\n'
                                       f"{' ' * (found - text.rfind(chr(10), 0, found) - 1)}{'~' * len(word)} <--- HERE\nFrom CHECK-NOT: {word}\n")
            forbidden.clear()
        for kind, word in self._checks:
            if kind == "CHECK-NOT":
                forbidden.append(word)
                continue
            if kind == "CHECK-REGEX":
                match = re.compile(word).search(text, at)
                found, size = (match.start(), match.end() - match.start()) if match else (-1, 0)
            elif kind == "CHECK-DAG":
                found, size = text.find(word, dag), len(word)
            else:
                found, size = text.find(word, at), len(word)
                if found >= 0 and kind in ("CHECK-SAME", "CHECK-NEXT"):
                    breaks = text.count("\n", line_end if line_end >= 0 else 0, found)
                    found = found if breaks == (kind == "CHECK-NEXT") else -1
            if found < 0:
                raise RuntimeError(f'Expected to find "{word}" but did not find it\nSearched string:\n{text}\nFrom {kind}: {word}\n')
            clear(found)
            line_end = found + size
            if kind == "CHECK-DAG":
                at = max(at, line_end)
            else:
                at = dag = line_end
        clear(len(text))


def _adder(kind):
    def add(self, text):
        self._checks.append((kind, text))
        return self
    return add


for _name, _what in (("check", "CHECK"), ("check_not", "CHECK-NOT"), ("check_same", "CHECK-SAME"), ("check_next", "CHECK-NEXT"),
                     ("check_dag", "CHECK-DAG"), ("check_regex", "CHECK-REGEX"), ("check_source_highlighted", "CHECK-SOURCE-HIGHLIGHTED")):
    setattr(FileCheck, _name, _adder(_what))


class BenchmarkConfig:
    """How a :class:`ThroughputBenchmark` runs."""

    def __init__(self):
        self.num_calling_threads, self.num_worker_threads, self.num_warmup_iters, self.num_iters = 1, 1, 1, 100
        self.profiler_output_path = ""


class BenchmarkExecutionStats:
    """What a :class:`ThroughputBenchmark` measured: ``latency_avg_ms``, ``num_iters``."""


class ThroughputBenchmark:
    """Calls a module or function again and again with inputs of one's own, in several threads."""

    def __init__(self, module, /):
        self._module, self._inputs = module, []

    def add_input(self, *args, **kwargs):
        self._inputs.append((args, kwargs))

    def run_once(self, *args, **kwargs):
        return self._module(*args, **kwargs)

    def benchmark(self, config):
        """Runs by a :class:`BenchmarkConfig`; RuntimeError without inputs."""
        from threading import Thread
        from time import perf_counter
        if not self._inputs:
            raise RuntimeError("Please provide benchmark inputs. Did you forget to call add_input()? ")

        def run(count):
            for i in range(count):
                args, kwargs = self._inputs[i % len(self._inputs)]
                self._module(*args, **kwargs)
        run(config.num_warmup_iters)
        threads = [Thread(target=run, args=(-(-config.num_iters // config.num_calling_threads),)) for _ in range(config.num_calling_threads)]
        start = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stats = BenchmarkExecutionStats()
        stats.num_iters = config.num_iters
        stats.latency_avg_ms = (perf_counter() - start) * 1e3 * config.num_calling_threads / max(config.num_iters, 1)
        return stats


class CallStack:
    """While it is there, errors in source say that they came by way of ``name``."""

    _now = []

    def __init__(self, name, range, /):
        self._entry = f"'{name}' is being compiled since it was called from {range}\n"
        CallStack._now.append(self._entry)

    def __del__(self):
        if self._entry in CallStack._now:
            CallStack._now.remove(self._entry)


class ErrorReport:
    """An error at a place in source."""

    def __init__(self, range, /):
        self._range, self._stack = range, self.call_stack()

    def what(self):
        return f":\n{self._range}\n{self._stack}"

    @staticmethod
    def call_stack():
        return "".join(reversed(CallStack._now))


for _each in list(globals().values()):
    if isinstance(_each, type) and _each.__module__ == __name__:
        _each.__module__ = _types.PACKAGE
