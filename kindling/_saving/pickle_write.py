"""Writes pickles in torch's form without Python's pickle module.

It exists because names matter more than objects here: a file must say `torch._utils._rebuild_tensor_v2` and
`torch FloatStorage` whether or not a module called torch can be imported, and Python's own writer looks every name up.
Everything else follows the pickle protocol's rules, so any object that pickle can write can be written.
"""

_BATCH = 1000

# Where torch keeps what we keep elsewhere.
_RENAMED = {("kindling._utils", "_rebuild_from_type_v2"): ("torch._tensor", "_rebuild_from_type_v2")}
_FOLDERS = (("kindling.nn._functional", "torch.nn.functional"), ("kindling._face", "torch"), ("kindling._C", "torch"))


class GlobalName:
    """A global that is written by name alone."""

    __slots__ = ("module", "name")

    def __init__(self, module, name):
        self.module, self.name = module, name


def _error(text):
    from _pickle import PicklingError
    return PicklingError(text)


def torch_name(module, name):
    """The name that torch's files use for an object of ours; other names are left as they are."""
    renamed = _RENAMED.get((module, name)) or _RENAMED.get((module.replace("torch", "kindling", 1), name))
    if renamed:
        return renamed
    package, _, below = module.partition(".")
    if package in ("kindling", "torch"):
        module = f"kindling.{below}".rstrip(".")
        for ours, theirs in _FOLDERS:
            if module == ours or module.startswith(ours + "."):
                return theirs, name
        module = "torch" + module[8:]
    return module, name


class Pickler:
    """dump(obj) gives the bytes of one pickle, protocol 2 to 5.

    `persistent_id(obj)` is asked for storages and may return a tuple to write in their place; `reducers` maps a type's
    `__reduce_ex__` to the function used instead of it.
    """

    def __init__(self, protocol, is_storage, persistent_id, reduce_tensor):
        if not isinstance(protocol, int) or not 2 <= protocol <= 5:
            raise ValueError(f"pickle_protocol must be 2, 3, 4 or 5, not {protocol!r}")
        self.protocol = protocol
        self.is_storage = is_storage
        self.persistent_id = persistent_id
        self.reduce_tensor = reduce_tensor
        self.memo = {}
        self.globals = {}
        self.out = bytearray()

    def dump(self, obj):
        self.out += b"\x80" + bytes([self.protocol])
        self.save(obj)
        self.out += b"."
        return bytes(self.out)

    # Memo: an object written once is referred to afterwards, so that shared and recursive structures stay so.

    def memoize(self, obj, key=None):
        index = len(self.memo)
        self.memo[id(obj) if key is None else key] = index, obj
        if self.protocol >= 4:
            self.out += b"\x94"
        elif index < 256:
            self.out += b"q" + bytes((index,))
        else:
            self.out += b"r" + index.to_bytes(4, "little")

    def get(self, index):
        self.out += b"h" + bytes((index,)) if index < 256 else b"j" + index.to_bytes(4, "little")

    def save(self, obj):
        if self.is_storage(obj):
            self.save(self.persistent_id(obj))
            self.out += b"Q"
            return
        kind = type(obj)
        atom = _ATOMS.get(kind)
        if atom is not None:
            atom(self, obj)
            return
        seen = self.memo.get(id(obj))
        if seen is not None:
            self.get(seen[0])
            return
        container = _CONTAINERS.get(kind)
        if container is not None:
            container(self, obj)
        elif isinstance(obj, GlobalName):
            self.save_name(obj.module, obj.name)
        else:
            self.save_other(kind, obj)

    def save_bool(self, obj):
        self.out += b"\x88" if obj else b"\x89"

    def save_none(self, obj):
        self.out += b"N"

    def save_int(self, obj):
        if 0 <= obj < 256:
            self.out += b"K" + bytes((obj,))
        elif 0 <= obj < 65536:
            self.out += b"M" + obj.to_bytes(2, "little")
        elif -0x80000000 <= obj < 0x80000000:
            self.out += b"J" + obj.to_bytes(4, "little", signed=True)
        else:
            data = obj.to_bytes((obj.bit_length() >> 3) + 1, "little", signed=True)
            if len(data) > 1 and obj < 0 and data[-1] == 0xFF and data[-2] & 0x80:
                data = data[:-1]
            head = b"\x8a" + bytes((len(data),)) if len(data) < 256 else b"\x8b" + len(data).to_bytes(4, "little")
            self.out += head + data

    def save_float(self, obj):
        from _struct import pack
        self.out += b"G" + pack(">d", obj)

    def save_str(self, obj):
        seen = self.memo.get(id(obj))
        if seen is not None:
            self.get(seen[0])
            return
        data = obj.encode("utf-8", "surrogatepass")
        if len(data) > 0xFFFFFFFF and self.protocol < 4:
            raise OverflowError("a string larger than 4 GiB needs pickle_protocol=4")
        if self.protocol >= 4 and len(data) < 256:
            self.out += b"\x8c" + bytes((len(data),)) + data
        elif len(data) > 0xFFFFFFFF:
            self.out += b"\x8d" + len(data).to_bytes(8, "little") + data
        else:
            self.out += b"X" + len(data).to_bytes(4, "little") + data
        self.memoize(obj)

    def save_bytes(self, obj):
        if self.protocol < 3:
            # Also when empty: torch's reader of data knows this function, but not `bytes`.
            self.save_reduce(GlobalName("_codecs", "encode"), (str(obj, "latin1"), "latin1"), obj=obj)
            return
        if len(obj) < 256:
            self.out += b"C" + bytes((len(obj),)) + obj
        elif len(obj) <= 0xFFFFFFFF:
            self.out += b"B" + len(obj).to_bytes(4, "little") + obj
        else:
            self.out += b"\x8e" + len(obj).to_bytes(8, "little") + obj
        self.memoize(obj)

    def save_bytearray(self, obj):
        self.save_reduce(bytearray, (bytes(obj),) if obj else (), obj=obj)

    def save_tuple(self, obj):
        count = len(obj)
        if count == 0:
            self.out += b")"
            return
        if count > 3:
            self.out += b"("
        for item in obj:
            self.save(item)
        seen = self.memo.get(id(obj))
        if seen is not None:  # a tuple that contains itself was written while its items were
            self.out += b"0" * count if count <= 3 else b"1"
            self.get(seen[0])
            return
        self.out += b"t" if count > 3 else (b"\x85", b"\x86", b"\x87")[count - 1]
        self.memoize(obj)

    def save_list(self, obj):
        self.out += b"]"
        self.memoize(obj)
        self.append_items(iter(obj))

    def append_items(self, items):
        from itertools import islice
        while True:
            part = list(islice(items, _BATCH))
            if len(part) == 1:
                self.save(part[0])
                self.out += b"a"
            elif part:
                self.out += b"("
                for item in part:
                    self.save(item)
                self.out += b"e"
            if len(part) < _BATCH:
                return

    def save_dict(self, obj):
        self.out += b"}"
        self.memoize(obj)
        self.set_items(iter(obj.items()))

    def set_items(self, items):
        from itertools import islice
        while True:
            part = list(islice(items, _BATCH))
            if len(part) == 1:
                self.save(part[0][0])
                self.save(part[0][1])
                self.out += b"s"
            elif part:
                self.out += b"("
                for key, value in part:
                    self.save(key)
                    self.save(value)
                self.out += b"u"
            if len(part) < _BATCH:
                return

    # Globals and everything that says itself how it is taken apart.

    def save_name(self, module, name):
        key = module, name
        seen = self.globals.get(key)
        if seen is not None:
            self.get(seen)
            return
        if self.protocol >= 4:
            self.save(module)
            self.save(name)
            self.out += b"\x93"
        else:
            self.out += b"c" + module.encode("utf-8") + b"\n" + name.encode("utf-8") + b"\n"
        self.globals[key] = len(self.memo)
        self.memoize(key, key)

    def save_global(self, obj, name=None):
        if name is None:
            name = getattr(obj, "__qualname__", None) or obj.__name__
        module = getattr(obj, "__module__", None) or _module_holding(obj, name)
        ours = torch_name(module, name)
        if ours != (module, name) or module == "torch" or module.startswith("torch."):
            self.save_name(*ours)
            return
        parent = found = _imported(module, obj, name)
        for part in name.split("."):
            parent = found
            if part == "<locals>" or not hasattr(found, part):
                raise _error(f"Can't pickle {obj!r}: attribute lookup {name} on {module} failed")
            found = getattr(found, part)
        if found is not obj:
            raise _error(f"Can't pickle {obj!r}: it's not the same object as {module}.{name}")
        if self.protocol < 4 and "." in name:
            self.save_reduce(getattr, (parent, name.rpartition(".")[2]))
            return
        if self.protocol < 3:
            from _compat_pickle import REVERSE_IMPORT_MAPPING, REVERSE_NAME_MAPPING
            module, name = REVERSE_NAME_MAPPING.get((module, name), (module, name))
            module = REVERSE_IMPORT_MAPPING.get(module, module)
        self.save_name(module, name)

    def save_type(self, obj):
        singletons = {type(None): None, type(NotImplemented): NotImplemented, type(...): ...}
        if obj in singletons:
            self.save_reduce(type, (singletons[obj],), obj=obj)
        else:
            self.save_global(obj)

    def save_other(self, kind, obj):
        reduced = self.reduce_tensor(obj)
        if reduced is None:
            from copyreg import dispatch_table
            table = dispatch_table.get(kind)
            module = getattr(obj, "__module__", None)
            import kindling
            if kind is type(kindling.relu) and type(module) is str and getattr(obj, "__objclass__", None) is None:
                if module.partition(".")[0] == "kindling":
                    module = "torch" + module[len("kindling"):]
                self.save_name(module, obj.__name__)  # an operator function: torch writes the same name
                return
            if table is not None:
                reduced = table(obj)
            elif issubclass(kind, type):
                self.save_type(obj)
                return
            else:
                reduced = obj.__reduce_ex__(self.protocol)
        if isinstance(reduced, str):
            self.save_global(obj, reduced)
            return
        if not isinstance(reduced, tuple) or not 2 <= len(reduced) <= 6:
            raise _error(f"{kind.__name__}.__reduce_ex__ must return a string or a tuple of two to six elements")
        self.save_reduce(*reduced, obj=obj)

    def save_reduce(self, func, args, state=None, list_items=None, dict_items=None, state_setter=None, obj=None):
        if not isinstance(args, tuple):
            raise _error("args from save_reduce() must be a tuple")
        name = getattr(func, "__name__", "")
        if name == "__newobj_ex__":
            cls, args, options = args
            if self.protocol >= 4:
                self.save(cls)
                self.save(args)
                self.save(options)
                self.out += b"\x92"
            else:
                from functools import partial
                self.save(partial(cls.__new__, cls, *args, **options))
                self.out += b")R"
        elif name == "__newobj__":
            cls, args = args[0], args[1:]
            self.save(cls)
            self.save(args)
            self.out += b"\x81"
        else:
            self.save(func)
            self.save(args)
            self.out += b"R"
        if obj is not None:
            seen = self.memo.get(id(obj))
            if seen is not None:  # its arguments led back to it
                self.out += b"0"
                self.get(seen[0])
            else:
                self.memoize(obj)
        if list_items is not None:
            self.append_items(iter(list_items))
        if dict_items is not None:
            self.set_items(iter(dict_items))
        if state is not None:
            if state_setter is None:
                self.save(state)
                self.out += b"b"
            else:
                self.save(state_setter)
                self.save(obj)
                self.save(state)
                self.out += b"\x86R0"


def _module_holding(obj, name):
    import sys
    for module_name, module in list(sys.modules.items()):
        if module_name != "__main__" and getattr(module, name.partition(".")[0], None) is obj:
            return module_name
    return "__main__"


def _imported(module, obj, name):
    import sys
    if module not in sys.modules:
        try:
            __import__(module)
        except ImportError as error:
            raise _error(f"Can't pickle {obj!r}: import of module {module!r} failed") from error
    return sys.modules[module]


def _function():
    pass


_ATOMS = {bool: Pickler.save_bool, type(None): Pickler.save_none, int: Pickler.save_int, float: Pickler.save_float,
          str: Pickler.save_str}
_CONTAINERS = {tuple: Pickler.save_tuple, list: Pickler.save_list, dict: Pickler.save_dict, bytes: Pickler.save_bytes,
               bytearray: Pickler.save_bytearray, type: Pickler.save_type, type(_function): Pickler.save_global}
