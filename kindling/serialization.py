"""Saving and loading: torch's files, read and written so that they interchange with PyTorch.

`save(obj, f)` writes torch's zip format, `load(f)` reads it and the older one. By default a file is read as data: the
interpreter in `_saving/unpickle.py` builds tensors, containers and numbers, and refuses everything else by name;
`weights_only=False` hands the file to Python's own pickle, which runs what the file says.
"""
import os
import sys

import kindling as torch

__all__ = [
    "save", "load", "register_package", "location_tag", "default_restore_location", "validate_cuda_device",
    "normalize_storage_type", "storage_to_tensor_type", "check_module_version_greater_or_equal", "mkdtemp",
    "StorageType", "SourceChangeWarning", "LoadEndianness", "get_default_load_endianness",
    "set_default_load_endianness", "get_crc32_options", "set_crc32_options", "get_default_mmap_options",
    "set_default_mmap_options", "add_safe_globals", "get_safe_globals", "clear_safe_globals", "safe_globals",
    "get_unsafe_globals_in_checkpoint", "skip_data", "load_safetensors", "save_safetensors",
]

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source.")


class SourceChangeWarning(Warning):
    """Kept for programs that filter it; files are never compared with sources here."""


class LoadEndianness:
    """Byte order of files that do not say theirs."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __repr__(self):
        return f"<LoadEndianness.{self.name}: {self.value}>"


LoadEndianness.NATIVE = LoadEndianness("NATIVE", 1)
LoadEndianness.LITTLE = LoadEndianness("LITTLE", 2)
LoadEndianness.BIG = LoadEndianness("BIG", 3)


class _Settings:
    endianness = None
    checksums = True
    mmap_flags = None
    skip_data = False


def get_default_load_endianness():
    """The byte order assumed for files that do not say theirs, or None (little)."""
    return _Settings.endianness


def set_default_load_endianness(endianness):
    """Sets what `get_default_load_endianness` gives. TypeError for anything but a LoadEndianness or None."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _Settings.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` computes checksums."""
    return _Settings.checksums


def set_crc32_options(compute_crc32: bool):
    """Whether `save` computes checksums. Without them damage goes unseen, and unzip complains."""
    _Settings.checksums = bool(compute_crc32)


def get_default_mmap_options() -> int | None:
    """The flags of `load(mmap=True)`: mmap.MAP_PRIVATE unless set otherwise."""
    if _Settings.mmap_flags is None:
        from mmap import MAP_PRIVATE
        return MAP_PRIVATE
    return _Settings.mmap_flags


class set_default_mmap_options:
    """Sets mmap.MAP_PRIVATE or mmap.MAP_SHARED for `load(mmap=True)`; also a context manager. ValueError for others."""

    def __init__(self, flags: int):
        from mmap import MAP_PRIVATE, MAP_SHARED
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                             f"mmap.MAP_SHARED, but got {flags}")
        self.previous, _Settings.mmap_flags = _Settings.mmap_flags, flags

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        _Settings.mmap_flags = self.previous


class skip_data:
    """Within it, `save` writes zeros in place of tensor data and `load` leaves tensor data unread (zeros)."""

    def __init__(self, materialize_fake_tensors: bool = False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self.previous, _Settings.skip_data = _Settings.skip_data, True

    def __exit__(self, *exc):
        _Settings.skip_data = self.previous


def mkdtemp():
    """A temporary folder as a context manager."""
    from tempfile import TemporaryDirectory
    return TemporaryDirectory()


# What the user allows.


def add_safe_globals(safe_globals) -> None:
    """Lets files read as data name these classes and functions: a list of them, or of pairs (object, full name)."""
    from kindling._saving import unpickle as _unpickle
    for entry in safe_globals:
        if not any(entry is e or type(entry) is tuple and entry == e for e in _unpickle._user_allowed):
            _unpickle._user_allowed.append(entry)


def get_safe_globals():
    """The list of what the user allowed."""
    from kindling._saving import unpickle as _unpickle
    return list(_unpickle._user_allowed)


def clear_safe_globals() -> None:
    """Takes back all that the user allowed."""
    from kindling._saving import unpickle as _unpickle
    _unpickle._user_allowed.clear()


class safe_globals:
    """`add_safe_globals` for the length of a with block."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        from kindling._saving import unpickle as _unpickle
        self.previous = list(_unpickle._user_allowed)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc):
        from kindling._saving import unpickle as _unpickle
        _unpickle._user_allowed[:] = self.previous


def get_unsafe_globals_in_checkpoint(f: "torch.types.FileLike") -> list[str]:
    """Names in a file that reading it as data would refuse. ValueError when it is not a file of torch.save."""
    from kindling._saving import unpickle as _unpickle
    from kindling._saving import zip as _zip
    with _Opened(f, "rb") as file:
        source = _zip.Source(file)
        if source.size < 4 or source.read(0, 4) != b"PK\x03\x04":
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = _zip.Reader(source)
        if "constants.pkl" in archive:
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
        allowed = _unpickle.user_table()
        return [f"{m}.{n}" for m, n in sorted(_unpickle.globals_in(archive.read("data.pkl")))
                if not _unpickle.is_safe(m, n) and f"{m}.{n}" not in allowed]


# Devices: where a storage is (its tag in the file), and how it gets back there.

_registry = []


def register_package(priority: int, tagger, deserializer):
    """Adds a kind of device: `tagger(storage)` gives its tag or None, `deserializer(storage, tag)` moves it or None."""
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def _cpu_tag(storage):
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_restore(storage, location):
    return storage if location == "cpu" else None


def _meta_tag(storage):
    return "meta" if storage.device.type == "meta" else None


def _meta_restore(storage, location):
    return torch.UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _accelerator_tag(storage):
    device = storage.device
    return device.type if device.index is None else f"{device.type}:{device.index}"


def _accelerator_restore(storage, location):
    name, colon, index = location.partition(":")
    if name not in ("cuda", "xpu", "mps", "hpu", "mtia", "privateuseone") or colon and not index.isdigit():
        return None
    device = _validated_device(location, name)
    return storage.to(device=device)


def _validated_device(location, name):
    # No search for a module on a file's word: those that are not ours are there if a program has put them there.
    module = getattr(torch, name) if name in ("cuda", "xpu", "mps", "mtia") else vars(torch).get(name)
    if module is None or not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {name.upper()} device but torch.{name}.is_available() is False. "
            "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
            "to map your storages to the CPU.")
    index = int(location.partition(":")[2] or 0)
    if index >= module.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on {name.upper()} device {index} but torch.{name}.device_count() is "
            f"{module.device_count()}. Please use torch.load with map_location to map your storages to an existing "
            "device.")
    return torch.device(name, index)


def validate_cuda_device(location):
    """The index of the device that a tag like 'cuda:1' names; RuntimeError when it is not there."""
    return _validated_device(location, "cuda").index


register_package(10, _cpu_tag, _cpu_restore)
register_package(22, _meta_tag, _meta_restore)
register_package(30, _accelerator_tag, _accelerator_restore)


def location_tag(storage):
    """The tag that says in a file where a storage is: 'cpu', 'cuda:0'."""
    for _, tagger, _ in _registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage, location):
    """Moves a storage to where its tag says; RuntimeError when no registered kind of device knows the tag."""
    for _, _, restore in _registry:
        moved = restore(storage, location)
        if moved is not None:
            return moved
    raise RuntimeError(f"don't know how to restore data location of {type(storage).__name__} (tagged with {location})")


def _restorer(map_location):
    """A function (storage, tag) -> storage for any of map_location's forms."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, tag: default_restore_location(storage, map_location.get(tag, tag))
    if isinstance(map_location, (str, bytes)):
        where = _text(map_location)
        return lambda storage, tag: default_restore_location(storage, where)
    if isinstance(map_location, torch.device):
        return lambda storage, tag: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise TypeError("torch.load: map_location must be a function, a device, a string or a dict, "
                        f"not {type(map_location).__name__}")

    def restore(storage, tag):
        moved = map_location(storage, tag)
        return default_restore_location(storage, tag) if moved is None else moved
    return restore


def _is_meta(map_location):
    if isinstance(map_location, str):
        return map_location == "meta"
    return isinstance(map_location, torch.device) and map_location.type == "meta"


# Files.


def _text(value):
    return value.decode("ascii") if isinstance(value, bytes) else value


def _is_path(f):
    return isinstance(f, (str, os.PathLike))


class _Opened:
    """A with block over a path (opened and closed) or an open file (left open)."""

    def __init__(self, f, mode):
        self.close = _is_path(f)
        if not self.close:
            for method in ("read", "seek", "tell"):
                if not hasattr(f, method):
                    raise AttributeError(
                        f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file "
                        "that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from "
                        "it instead.")
        self.file = open(f, mode) if self.close else f

    def __enter__(self):
        return self.file

    def __exit__(self, *exc):
        if self.close:
            self.file.close()


# Saving.


def save(obj: object, f: "torch.types.FileLike", pickle_module=None, pickle_protocol: int = DEFAULT_PROTOCOL, _use_new_zipfile_serialization: bool = True,
         _disable_byteorder_record: bool = False) -> None:
    """Writes an object to a path or a binary file, in torch's format.

    Tensors that share storage still do after loading. A save to a path that is interrupted leaves the old file whole.
    `pickle_module` other than Python's own writes the object's structure. Raises RuntimeError when two tensors view
    the same memory as different dtypes, pickle.PicklingError for objects that cannot be pickled.

    Example: `torch.save(model.state_dict(), "model.pt")`
    """
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    write = _save_zip if _use_new_zipfile_serialization else _save_legacy
    # What can fail on account of the object does so before the file is touched.
    prepared = _prepared(obj, pickle_module, pickle_protocol, not _use_new_zipfile_serialization)
    if _is_path(f):
        root = os.path.basename(os.fspath(f)).rsplit(".", 1)[0]
        from kindling._saving.files import Replaced
        with Replaced(f) as file:
            write(prepared, file, root or "archive", _disable_byteorder_record)
    else:
        write(prepared, f, "archive", _disable_byteorder_record)
        if hasattr(f, "flush"):
            f.flush()


class _Storages:
    """The storages met while an object is pickled: keys, and what stands for each in the pickle."""

    def __init__(self, legacy):
        from kindling.storage import TypedStorage
        self.legacy = legacy
        self.typed = TypedStorage
        self.untyped = torch.UntypedStorage
        self.keys, self.kept, self.dtypes = {}, {}, {}

    def is_storage(self, obj):
        return isinstance(obj, (self.typed, self.untyped))

    def persistent_id(self, obj):
        from kindling._saving.pickle_write import GlobalName
        from kindling.storage import _storage_name
        if isinstance(obj, self.typed):
            storage, dtype, numel = obj._untyped_storage, obj.dtype, obj.size()
            kind = "torch", _storage_name(dtype)
        else:
            storage, dtype, numel = obj, torch.uint8, obj.nbytes()
            kind = ("torch", "ByteStorage") if self.legacy else ("torch.storage", "UntypedStorage")
        identity = getattr(storage, "_cdata", None)
        pointer = 0 if storage.device.type == "meta" else storage.data_ptr()
        if identity is None:
            identity = (pointer, storage.nbytes()) if pointer else id(storage)
        if pointer and self.dtypes.setdefault(pointer, dtype) != dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key = self.keys.setdefault(identity, str(len(self.keys)))
        self.kept[key] = storage, dtype
        parts = "storage", GlobalName(*kind), key, location_tag(storage), numel
        return (*parts, None) if self.legacy else parts


def _tensor_reducer():
    """How the pickle writer takes tensors apart; None for objects that are none or that say it themselves."""
    from kindling import _utils
    tensor, parameter = torch.Tensor, torch.nn.Parameter
    plain = tensor.__reduce_ex__
    of_parameter = parameter.__reduce_ex__

    def reduce(obj):
        if isinstance(obj, tensor):
            method = type(obj).__reduce_ex__
            if isinstance(obj, parameter) and method is of_parameter:
                return _utils._reduce_parameter(obj)
            if method is plain or method is object.__reduce_ex__:
                return _utils._reduce_tensor(obj)
        elif isinstance(obj, torch.dtype):
            return str(obj).rpartition(".")[2]
        elif isinstance(obj, torch.device):
            return torch.device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        elif isinstance(obj, torch.Size):
            return torch.Size, (tuple(obj),)
        elif isinstance(obj, torch.layout):
            from kindling._saving.pickle_write import GlobalName
            return GlobalName("torch.serialization", "_get_layout"), (str(obj),)
        return None
    return reduce


def _pickled(obj, storages, pickle_module, protocol):
    """The bytes of one pickle in which storages stand as persistent ids."""
    if pickle_module is None or pickle_module.__name__ in ("pickle", "_pickle"):
        from kindling._saving.pickle_write import Pickler
        return Pickler(protocol, storages.is_storage, storages.persistent_id, _tensor_reducer()).dump(obj)
    from io import BytesIO
    out = BytesIO()

    class StoragePickler(pickle_module.Pickler):
        def persistent_id(self, obj):
            return _plain_names(storages.persistent_id(obj)) if storages.is_storage(obj) else None
    StoragePickler(out, protocol=protocol).dump(obj)
    return out.getvalue()


def _plain_names(saved):
    # A pickler of another module can only write globals that can be imported, so the storage class goes by its name.
    return tuple(part.name if hasattr(part, "name") and hasattr(part, "module") else part for part in saved)


def _prepared(obj, pickle_module, protocol, legacy):
    storages = _Storages(legacy)
    return _pickled(obj, storages, pickle_module, protocol), storages, protocol


def _contents(storage):
    """A byte view of a storage, copied to the CPU when it is elsewhere; zeros for skipped or absent data."""
    from kindling.storage import _storage_bytes
    if _Settings.skip_data or storage.device.type == "meta":
        return memoryview(bytes(storage.nbytes()))
    return _storage_bytes(storage if storage.device.type == "cpu" else storage.cpu())


def _save_zip(prepared, file, root, no_byteorder):
    from kindling._saving.zip import ALIGNMENT, Writer
    data, storages, _ = prepared
    archive = Writer(file.write, root, _Settings.checksums)
    archive.write("data.pkl", data)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    if not no_byteorder:
        archive.write("byteorder", sys.byteorder.encode())
    for key, (storage, _) in storages.kept.items():
        archive.write("data/" + key, _contents(storage))
    archive.write("version", b"3\n")
    names = checks = 0xCBF29CE484222325  # FNV-1a over what the archive holds: equal contents have equal ids
    for entry in archive.directory:
        for byte in entry[46:]:
            names = (names ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        for byte in entry[16:20]:
            checks = (checks ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    archive.write(".data/serialization_id", f"{names:020d}{checks:020d}".encode())
    archive.close()


def _save_legacy(prepared, file, root, no_byteorder):
    from kindling._saving.pickle_write import Pickler
    if _Settings.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    data, storages, protocol = prepared

    def plain(value):
        return Pickler(protocol, lambda o: False, None, lambda o: None).dump(value)
    sizes = {"short": 2, "int": 4, "long": 4}
    info = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    file.write(plain(MAGIC_NUMBER) + plain(PROTOCOL_VERSION) + plain(info) + data)
    keys = sorted(storages.kept)
    file.write(plain(keys))
    for key in keys:
        storage, dtype = storages.kept[key]
        count = storage.nbytes() // dtype.itemsize
        file.write(count.to_bytes(8, "little"))
        file.write(_contents(storage))


# Loading.


def load(f: "torch.types.FileLike", map_location=None, pickle_module=None, *, weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args):
    """Reads what `save` wrote, here or in PyTorch, from a path or a seekable binary file.

    map_location says where storages go: a device, its name, a dict from saved to wanted names, or a function
    (storage, name) -> storage. With mmap=True (paths only) data stays in the file until it is used. weights_only
    (default unless a pickle_module is given) reads the file as data; False lets it run code, through Python's pickle.

    Raises pickle.UnpicklingError for globals that are not allowed, RuntimeError for damaged files.

    Example: `model.load_state_dict(torch.load("model.pt"))`
    """
    weights_only = _weights_only(weights_only, pickle_module, pickle_load_args)
    pickle_load_args.setdefault("encoding", "utf-8")
    if not weights_only and pickle_module is None:
        import pickle as pickle_module
    if _is_path(f) and os.fspath(f).endswith(".safetensors"):
        if map_location is not None and not isinstance(map_location, (str, bytes, torch.device)):
            raise RuntimeError("Loading safetensors file with dict or callable map_location is not supported. "
                               "Use a device string or torch.device instead.")
        from kindling._saving.safetensors import load_safetensors
        return load_safetensors(f, "cpu" if map_location is None else map_location)
    restore = _restorer(map_location)
    with _Opened(f, "rb") as file:
        from kindling._saving.zip import Source
        source = Source(file)
        unpickler = _Unpicklers(weights_only, pickle_module, pickle_load_args)
        try:
            if source.size >= 4 and source.read(0, 4) == b"PK\x03\x04":
                return _load_zip(f, source, restore, _is_meta(map_location), unpickler, mmap)
            if mmap:
                raise RuntimeError("mmap can only be used with files saved with "
                                   "`torch.save(_use_new_zipfile_serialization=True), please torch.save your "
                                   "checkpoint with this option in order to use mmap.")
            if source.size == 0:
                raise EOFError("Ran out of input: the file is empty")
            return _load_legacy(source, restore, unpickler)
        except Exception as problem:
            if weights_only and type(problem).__name__ == "UnpicklingError":
                from _pickle import UnpicklingError
                if type(problem) is UnpicklingError:
                    raise UnpicklingError(_explained(str(problem))) from None
            raise


def _weights_only(weights_only, pickle_module, pickle_load_args):
    """The value of load's argument after its default and the environment's say."""
    asked = weights_only is not None
    if not asked:
        weights_only = pickle_module is None
    yes = ("1", "y", "yes", "true")
    force = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in yes
    force_not = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in yes
    if force and force_not:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should "
                           "be set, but both were set.")
    if force:
        weights_only = True
    elif force_not and not asked:
        import warnings
        warnings.warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` "
                      "argument was not explicitly passed to `torch.load`, forcing weights_only=False.", UserWarning,
                      stacklevel=3)
        weights_only = False
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args.keys() - {"encoding"}:
        import warnings
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=3)
    return weights_only


def _explained(message):
    if "was not an allowed global by default" in message:
        return ("Weights only load failed. This file can still be loaded, to do so you have two options, do those "
                f"steps only if you trust the source of the checkpoint. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to "
                "load with `weights_only=True` please check the recommended steps in the following error message.\n\t"
                f"WeightsUnpickler error: {message}")
    return f"Weights only load failed. {_UNSAFE}\nWeightsUnpickler error: {message}"


class _Unpicklers:
    """Reads pickles in the way the caller chose: as data, or through a pickle module."""

    def __init__(self, weights_only, pickle_module, arguments):
        self.weights_only = weights_only
        self.pickle_module = pickle_module
        self.arguments = arguments

    def read(self, data, at, persistent_load=None):
        """(object, end) of the pickle at `at` in a byte buffer."""
        if self.weights_only:
            from kindling._saving.unpickle import Reader
            reader = Reader(data, at, self.arguments.get("encoding", "utf-8"))
            return reader.load(persistent_load), reader.at
        from io import BytesIO
        file = BytesIO(data)
        file.seek(at)
        module = self.pickle_module

        class Unpickler(module.Unpickler):
            def find_class(self, module_name, name):
                return _found(module_name, name, super().find_class)
        unpickler = Unpickler(file, **self.arguments)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        result = unpickler.load()
        return result, file.tell()


def _found(module_name, name, ordinary):
    """A class or function that a file names: torch's names are looked for in this package."""
    from kindling._saving import unpickle as _unpickle
    if module_name in ("torch", "torch.storage") and name.endswith("Storage"):
        try:
            return _unpickle.StorageType(name)
        except (KeyError, AttributeError):
            pass
    if module_name == "torch.tensor":
        module_name = "torch._tensor"
    if module_name != "torch" and not module_name.startswith("torch."):
        return ordinary(module_name, name)
    if module_name in ("torch._utils", "torch._tensor"):
        from kindling import _utils
        if name.startswith("_rebuild") and hasattr(_utils, name):
            return getattr(_utils, name)
    if module_name == "torch._C" and name in ("_VariableFunctionsClass", "_VariableFunctions"):
        return torch  # what torch.relu and the like are attributes of, in PyTorch
    if module_name == "torch._C" and name in ("TensorBase", "_TensorBase"):
        return torch.Tensor
    # A module of torch that is laid out otherwise here still has its names in one of the packages above it.
    path = module_name.split(".")[1:]
    for depth in range(len(path), -1, -1):
        found = torch
        try:
            for part in path[:depth]:
                found = _attribute(found, part)
            for part in name.split("."):
                found = _attribute(found, part)
            return found
        except (AttributeError, ImportError):
            continue
    raise AttributeError(f"Can't get attribute {name!r} of {module_name!r}: Kindling has nothing by that name")


def _attribute(parent, name):
    try:
        return getattr(parent, name)
    except AttributeError:
        if type(parent) is not type(sys):
            raise
        return __import__(f"{parent.__name__}.{name}", fromlist=("__name__",))


def _byteorder(archive):
    """Whether data must be byte-swapped."""
    if "byteorder" in archive:
        order = archive.read("byteorder")
        if order not in (b"little", b"big"):
            raise ValueError("Unknown endianness type: " + order[:20].decode("utf-8", "replace"))
        return order.decode() != sys.byteorder
    order = _Settings.endianness
    if order is None or order is LoadEndianness.LITTLE:
        return sys.byteorder != "little"
    return order is LoadEndianness.BIG and sys.byteorder != "big"


def _storage_request(saved, parts):
    """The checked fields of a persistent id: (dtype, bytes, key, location, the rest)."""
    if type(saved) is not tuple or len(saved) != parts or _text(saved[0]) != "storage":
        raise RuntimeError("failed reading file: a storage is described in a way that torch.save does not write")
    _, kind, key, location, numel, *rest = saved
    if isinstance(kind, str):  # written through another pickle module
        from kindling._saving.unpickle import StorageType
        kind = StorageType(kind)
    elif kind is torch.UntypedStorage:
        kind = None
    elif not hasattr(kind, "dtype"):
        raise RuntimeError("failed reading file: a storage has no type")
    dtype = torch.uint8 if kind is None else kind.dtype
    key, location = _text(key), _text(location)
    if type(key) is not str or type(location) is not str or type(numel) is not int or numel < 0:
        raise RuntimeError("failed reading file: a storage is described in a way that torch.save does not write")
    return dtype, numel * dtype.itemsize, key, location, rest


def _load_zip(f, source, restore, meta, unpickler, mmap):
    from kindling._saving.files import swap_bytes, swap_width
    from kindling._saving.zip import Reader
    from kindling.storage import TypedStorage, _storage_bytes
    archive = Reader(source)
    if "constants.pkl" in archive:
        if unpickler.weights_only:
            raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
                               + _UNSAFE)
        raise NotImplementedError("torch.load: this is a TorchScript archive, which Kindling does not read yet")
    mapped = None
    if mmap:
        if not _is_path(f):
            raise ValueError("f must be a file path in order to use the mmap argument")
        mapped = _mapped(source)
    swap = _byteorder(archive)
    loaded = {}

    def read(dtype, count, key):
        name = "data/" + key
        record = archive.find(name)
        if record.size != count:
            raise RuntimeError(f"failed reading file: a storage of {count} bytes is asked of record {name!r}, which "
                               f"has {record.size}")
        if meta:
            return torch.UntypedStorage(count, device="meta")
        if mapped is not None and count:
            storage = torch.frombuffer(mapped, dtype=torch.uint8, count=count, offset=record.start).untyped_storage()
        else:
            storage = torch.UntypedStorage(count)
            if _Settings.skip_data:
                _storage_bytes(storage)[:] = bytes(count)
            elif count:
                archive.read_into(name, _storage_bytes(storage))
        if swap:
            swap_bytes(_storage_bytes(storage), swap_width(dtype))
        return storage

    def persistent_load(saved):
        dtype, count, key, location, _ = _storage_request(saved, 5)
        if key not in loaded:
            storage = read(dtype, count, key)
            if not meta:
                storage = restore(storage, location)
            loaded[key] = TypedStorage(wrap_storage=getattr(storage, "_untyped_storage", storage), dtype=dtype)
        found = loaded[key]
        # The same bytes under another type happens only for storages without elements.
        return found if found.dtype == dtype else TypedStorage(wrap_storage=found._untyped_storage, dtype=dtype)

    return unpickler.read(archive.read("data.pkl"), 0, persistent_load)[0]


def _mapped(source):
    """The file as memory: private (writes stay here) unless set otherwise."""
    import mmap
    shared = get_default_mmap_options() == mmap.MAP_SHARED
    if shared:
        with open(source.file.name, "r+b") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE)
    return mmap.mmap(source.file.fileno(), 0, access=mmap.ACCESS_COPY)


def _load_legacy(source, restore, unpickler):
    """The format before 1.6: pickles of a magic number, a version, the writer's machine, the object and the storages'
    keys, then each storage's element count and bytes."""
    from kindling._saving.zip import span
    from kindling.storage import TypedStorage, _storage_bytes
    data = source.read(0, source.size)
    if data[257:262] == b"ustar":
        raise RuntimeError("torch.load: this is a tar file of PyTorch before 0.1.10, which Kindling does not read")
    magic, at = unpickler.read(data, 0)
    if magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version, at = unpickler.read(data, at)
    if version != PROTOCOL_VERSION:
        raise RuntimeError("Invalid protocol version")
    _, at = unpickler.read(data, at)
    loaded, views, asked = {}, {}, 0

    def persistent_load(saved):
        nonlocal asked
        if type(saved) is tuple and saved and _text(saved[0]) == "module":
            return saved[1]
        dtype, count, key, location, (view,) = _storage_request(saved, 6)
        if key not in loaded:
            asked += count
            span(0, asked, len(data), "the file's storages")  # before allocating: the bytes must be there
            storage = restore(torch.UntypedStorage(count), location)
            loaded[key] = TypedStorage(wrap_storage=getattr(storage, "_untyped_storage", storage), dtype=dtype), count
        whole = loaded[key][0]
        if view is None:
            return whole
        if type(view) is not tuple or len(view) != 3 or type(view[1]) is not int or type(view[2]) is not int:
            raise RuntimeError("failed reading file: a view of a storage is described wrongly")
        name, offset, size = view
        if name not in views:
            width = whole.element_size()
            start, stop = span(offset * width, size * width, whole.nbytes(), "a view of a storage")
            part = whole._untyped_storage[start:stop]
            views[name] = TypedStorage(wrap_storage=part, dtype=whole.dtype)
        return views[name]

    result, at = unpickler.read(data, at, persistent_load)
    keys, at = unpickler.read(data, at)
    if type(keys) is not list:
        raise RuntimeError("failed reading file: the list of storages is damaged")
    filled = set()
    for key in keys:
        if type(key) not in (str, bytes) or _text(key) not in loaded:
            raise RuntimeError("failed reading file: a storage is listed that no tensor uses")
        typed, count = loaded[_text(key)]
        start, at = span(at, 8, len(data), "a storage")
        numel = int.from_bytes(data[start:at], "little")
        if numel * typed.element_size() != count:
            raise RuntimeError(f"failed reading file: a storage should have {count} bytes, but has "
                               f"{numel * typed.element_size()}")
        start, at = span(at, count, len(data), "a storage")
        untyped = typed._untyped_storage
        if count and untyped.device.type == "cpu" and not _Settings.skip_data:
            _storage_bytes(untyped)[:count] = memoryview(data)[start:at]
        elif count and untyped.device.type != "meta" and not _Settings.skip_data:
            temporary = torch.UntypedStorage(count)
            _storage_bytes(temporary)[:] = memoryview(data)[start:at]
            untyped.copy_(temporary)
        filled.add(_text(key))
    if len(filled) != len(loaded):
        raise RuntimeError("failed reading file: a storage has no data")
    source.file.seek(source.base + at)
    return result


# Names that old programs import from here.


def normalize_storage_type(storage_type):
    """The storage class a storage of this class is saved as."""
    return storage_type


def storage_to_tensor_type(storage):
    """The tensor class that goes with a typed storage."""
    return getattr(torch, storage.pickle_storage_type().replace("Storage", "Tensor"))


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether `module.__version__` is at least the given tuple of numbers; RuntimeError when it is malformed."""
    try:
        parts = module.__version__.split(".")
        version = tuple(type(want)(have) for want, have in zip(req_version_tuple, parts))
    except Exception as problem:
        if error_if_malformed:
            raise RuntimeError(f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
                               f"cannot be compared with tuple {req_version_tuple}") from problem
        return True
    return version >= tuple(req_version_tuple)


def _get_layout(name):
    """The layout called `name`, as files call it: 'torch.strided'."""
    return getattr(torch, name.rpartition(".")[2])


def __getattr__(name):
    if name == "StorageType":
        from kindling._saving.unpickle import StorageType
        return StorageType
    if name in ("load_safetensors", "save_safetensors"):
        from kindling._saving import safetensors as _safetensors
        return getattr(_safetensors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
