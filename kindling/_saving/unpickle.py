"""Reads pickles as data: an interpreter of the pickle opcodes that can build a fixed set of things and no others.

There is no import, no attribute look-up and no call that a file could choose: a global is a key into a table made here
(`_resolve`) or into what the user allowed with `torch.serialization.add_safe_globals`; anything else is refused by
name. The interpreter keeps its own stack, so nesting cannot overflow Python's; what is built is proportional to the
file (`_Budget`), and keys of dicts and sets are checked before they are hashed.

The refusals are `pickle.UnpicklingError`, imported when first needed.
"""
from _collections import OrderedDict
from collections import Counter

BLOCKED_MODULES = ("sys", "os", "posix", "nt")
_DTYPES = frozenset((
    "float16", "float32", "float64", "bfloat16", "complex32", "complex64", "complex128", "int8", "int16", "int32",
    "int64", "uint8", "uint16", "uint32", "uint64", "bool", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz",
    "float8_e4m3fnuz", "float8_e8m0fnu", "qint8", "quint8", "qint32"))
_MEMORY_FORMATS = frozenset(("contiguous_format", "channels_last", "channels_last_3d", "preserve_format"))
_QSCHEMES = frozenset(("per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric", "per_channel_affine_float_qparams"))
_TENSOR_CLASSES = frozenset(kind + "Tensor" for kind in (
    "Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"))
_REBUILDERS = frozenset((
    "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2",
    "_rebuild_tensor_v3", "_rebuild_sparse_tensor", "_rebuild_qtensor", "_rebuild_meta_tensor_no_storage", "_rebuild_wrapper_subclass",
    "_rebuild_device_tensor_from_numpy", "_rebuild_device_tensor_from_cpu_tensor"))
_UNHASHABLE = (list, dict, set, bytearray, OrderedDict, Counter)
# Old files use Python 2's names.
_PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}

_user_allowed = []


def error(text):
    """pickle.UnpicklingError(text), the class imported only now."""
    from _pickle import UnpicklingError
    return UnpicklingError(text)


def user_table():
    """What the user allowed: full name to object.

    Raises ValueError or TypeError for entries that are neither a named object nor a pair (object, full name).
    """
    table = {}
    for entry in _user_allowed:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError("Expected tuple of length 2 (global, str of callable full path), "
                                 f"but got tuple of length: {len(entry)}")
            if type(entry[1]) is not str:
                raise TypeError("Expected second item in tuple to be str of callable full path, "
                                f"but got: {type(entry[1])}")
            table[entry[1]] = entry[0]
        else:
            table[f"{entry.__module__}.{entry.__qualname__}"] = entry
            from kindling._saving.pickle_write import torch_name
            table[".".join(torch_name(entry.__module__, entry.__qualname__))] = entry
    return table


class Function:
    """A function that files may name. Opaque: a file can have it called under our checks, and nothing else."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call


def check_key(key, budget):
    """Refuses keys that cannot be hashed in bounded time and stack: nested deeply, repeated without end, or huge."""
    kind = type(key)
    if kind is str or kind is int and key.bit_length() < 4096:
        return
    depth, level = 0, (key,)
    while level:
        depth += 1
        if depth > 50:
            raise error("a key of a dict is nested too deeply")
        below = []
        for item in level:
            kind = type(item)
            if kind is tuple or kind is frozenset:
                if len(item) + len(below) > 100_000:
                    raise error("a key of a dict is too large")
                budget.spend(len(item))
                below.extend(item)
            elif kind in _UNHASHABLE or kind is int and item.bit_length() >= 4096:
                raise error(f"this {kind.__name__} cannot be a key of a dict or a member of a set")
        level = below


class _Budget:
    """Bytes that copies made on a file's behalf may take: proportional to the pickle itself."""

    def __init__(self, size):
        self.left = (size << 4) + (1 << 20)

    def spend(self, count):
        self.left -= count
        if self.left < 0:
            raise error("the file asks for more memory than its size justifies")


def _one(args, kinds, what):
    if len(args) != 1 or not isinstance(args[0], kinds):
        raise error(f"{what} is called with arguments that no saved {what} has")
    return args[0]


def _make_set(kind):
    def make(args, budget):
        if not args:
            return kind()
        items = _one(args, (list, tuple, set, frozenset), kind.__name__)
        budget.spend(64 * len(items))
        for item in items:
            check_key(item, budget)
        return kind(items)
    return make


def _make_ordered_dict(args, budget):
    if not args:
        return OrderedDict()
    pairs = _one(args, (list, tuple, dict), "OrderedDict")
    budget.spend(128 * len(pairs))
    if isinstance(pairs, dict):
        return OrderedDict(pairs)
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise error("an OrderedDict is made of something else than pairs")
        check_key(pair[0], budget)
    return OrderedDict(pairs)


def _make_counter(args, budget):
    if not args:
        return Counter()
    counts = _one(args, (dict,), "Counter")
    budget.spend(128 * len(counts))
    result = Counter()
    dict.update(result, counts)
    return result


def _make_bytes(args, budget):
    """_codecs.encode(text, 'latin1'): how protocol 2 writes bytes."""
    if len(args) != 2 or type(args[0]) is not str or args[1] not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise error("_codecs.encode is called in a way that no saved bytes object is")
    budget.spend(len(args[0]))
    return args[0].encode(args[1])


def _make_bytearray(args, budget):
    if not args:
        return bytearray()
    if len(args) == 2 and type(args[0]) is str:
        return bytearray(_make_bytes(args, budget))
    data = _one(args, (bytes, bytearray), "bytearray")
    budget.spend(len(data))
    return bytearray(data)


def _make_plain_bytes(args, budget):
    if args:
        raise error("bytes is called with arguments that no saved bytes has")
    return b""


def _make_complex(args, budget):
    if len(args) > 2 or not all(isinstance(a, (int, float)) for a in args):
        raise error("complex is called with arguments that no saved complex has")
    return complex(*args)


def _make_size(args, budget):
    import kindling as torch
    sizes = _one(args, (tuple, list), "torch.Size")
    budget.spend(8 * len(sizes))
    if not all(type(s) is int for s in sizes):
        raise error("a torch.Size holds something else than whole numbers")
    return torch.Size(sizes)


def _make_device(args, budget):
    import kindling as torch
    if not 1 <= len(args) <= 2 or type(args[0]) is not str or len(args) == 2 and type(args[1]) is not int:
        raise error("torch.device is called with arguments that no saved device has")
    kind = args[0].partition(":")[0]
    if not torch._C._is_device_type(kind):
        # An unknown device has plug-ins looked up and run: a file must not bring that about.
        raise error(f"the file names the device {kind!r}, which is unknown here. If a plug-in brings it, call "
                    "torch._import_device_backends() first")
    return torch.device(*args)


def _make_layout(args, budget):
    import kindling as torch
    name = _one(args, (str,), "torch layout").rpartition(".")[2]
    if name not in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"):
        raise error("unknown torch layout")
    return getattr(torch, name)


def _make_parameter(args, budget):
    import kindling as torch
    if not 1 <= len(args) <= 2 or not isinstance(args[0], torch.Tensor):
        raise error("Parameter is called with arguments that no saved Parameter has")
    return torch.nn.Parameter(*args)


def _rebuild(name):
    from kindling import _utils
    function = getattr(_utils, name)

    def make(args, budget):
        import kindling as torch
        budget.spend(256)
        if "device" in name or "wrapper" in name:  # the one text among their arguments is the device
            args = [_make_device((each,), budget) if type(each) is str else each for each in args]
        if name.startswith("_rebuild_device_tensor") and isinstance(args[0], torch.Tensor):
            # Converting copies: a view that repeats its elements must not grow into more than was stored.
            if args[0].numel() * args[0].element_size() > args[0].untyped_storage().nbytes():
                raise error(f"{name} is called with a tensor larger than its storage")
        if name.startswith("_rebuild_parameter") and not (args and isinstance(args[0], torch.Tensor)):
            raise error(f"{name} is called with something else than a tensor")
        return function(*args)
    return make


def _make_nested(args, budget):
    import kindling as torch
    from kindling.nested._internal import nested_tensor
    given = _one(args, (dict,), "_rebuild_njt")
    if not all(isinstance(given.get(each), torch.Tensor) for each in ("values", "offsets")):
        raise error("_rebuild_njt is called with something else than tensors")
    budget.spend(256)
    return nested_tensor._rebuild_njt(given)


class Ignored:
    """Stands for marks that PyTorch's compiler left at a tensor."""


class StorageType:
    """Stands for a storage class of torch in a file: it says a dtype. Raises KeyError for unknown names."""

    def __init__(self, name):
        import kindling as torch
        from kindling.storage import _DTYPE_NAMES
        self._dtype = torch.uint8 if name == "UntypedStorage" else getattr(torch, _DTYPE_NAMES[name])

    @property
    def dtype(self):
        return self._dtype

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


class Table:
    """The globals of one load: names to values, and which of those may be called, how."""

    def __init__(self):
        self.user = user_table() if _user_allowed else {}
        self.user_ids = {id(value) for value in self.user.values()}
        self.known = {}
        self.calls = {}

    def find(self, module, name):
        """The value of a global; UnpicklingError with its name when it is not allowed."""
        module = _PYTHON_2.get(module, module)
        full = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise error(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        if full in self.known:
            return self.known[full]
        found = _resolve(module, name)
        if found is not None:
            value, call = found
            if call is not None:
                self.calls[id(value)] = call
        elif full in self.user:
            value = self.user[full]
        else:
            shown = full[9:] if module == "builtins" else full
            raise error(
                f"Unsupported global: GLOBAL {shown} was not an allowed global by default. "
                f"Please use `torch.serialization.add_safe_globals([{shown}])` or the "
                f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
                "if you trust this class/function.")
        self.known[full] = value
        return value

    def allows(self, value):
        """Whether the user allowed this very object."""
        return id(value) in self.user_ids


def is_safe(module, name):
    """Whether a global is allowed without the user's word."""
    return _resolve(_PYTHON_2.get(module, module), name) is not None


_CONTAINERS = {
    ("collections", "OrderedDict"): (OrderedDict, _make_ordered_dict),
    ("collections", "Counter"): (Counter, _make_counter),
    ("builtins", "set"): (set, _make_set(set)),
    ("builtins", "frozenset"): (frozenset, _make_set(frozenset)),
    ("builtins", "bytearray"): (bytearray, _make_bytearray),
    ("builtins", "bytes"): (bytes, _make_plain_bytes),
    ("builtins", "complex"): (complex, _make_complex),
}


def _resolve(module, name):
    """The built-in table: (value, how it may be called or None), or None when the name is not in it."""
    import kindling as torch
    found = _CONTAINERS.get((module, name))
    if found is not None:
        return found
    if module == "torch._utils" and name in _REBUILDERS:
        return Function(_rebuild(name)), None
    if module == "torch.nested._internal.nested_tensor" and name in ("_rebuild_njt", "NestedTensor"):
        from kindling.nested._internal import nested_tensor
        return (Function(_make_nested), None) if name == "_rebuild_njt" else (nested_tensor.NestedTensor, None)
    if module == "torch._dynamo.decorators" and name == "_DimRange":
        return Ignored, lambda args, budget: Ignored()
    if module == "torch._tensor" and name == "_rebuild_from_type_v2":
        return Function(None), None  # needs the table itself: Reader.rebuild_from_type
    if module == "torch.serialization" and name == "_get_layout":
        return Function(_make_layout), None
    if module == "_codecs" and name == "encode":
        return Function(_make_bytes), None
    if module in ("torch", "torch.storage") and name.endswith("Storage"):
        try:
            return StorageType(name), None
        except (KeyError, AttributeError):
            return None
    if module == "torch.nn.parameter" and name == "Parameter":
        return torch.nn.Parameter, _make_parameter
    if module == "torch":
        if name in _DTYPES or name in _MEMORY_FORMATS:
            value = getattr(torch, name, None)
            return None if value is None else (value, None)
        if name in _QSCHEMES:
            return getattr(torch, name), None
        if name == "Size":
            return torch.Size, _make_size
        if name == "device":
            return torch.device, _make_device
        if name == "Tensor" or name in _TENSOR_CLASSES:
            return getattr(torch, name, torch.Tensor), None
    return None


class Reader:
    """Runs one pickle out of a byte buffer. `load(persistent_load)` returns the object; `at` is then its end."""

    def __init__(self, data, at=0, encoding="utf-8", table=None):
        self.data = data
        self.at = at
        self.encoding = encoding
        self.table = table or Table()
        self.budget = _Budget(len(data) - at)

    def load(self, persistent_load=None):
        """The object; pickle.UnpicklingError for anything damaged, unknown or not allowed."""
        try:
            return self._run(persistent_load)
        except (IndexError, KeyError, UnicodeError, OverflowError, AttributeError, TypeError, AssertionError,
                ValueError) as problem:
            from _pickle import UnpicklingError
            if isinstance(problem, UnpicklingError):
                raise
            if isinstance(problem, IndexError):
                raise error("the pickle is damaged: it ends early or takes from an empty stack") from problem
            raise error(f"the pickle is damaged: {type(problem).__name__}: {str(problem)[:300]}") from problem

    def _take(self, count):
        start = self.at
        if count < 0 or start + count > len(self.data):
            raise error("pickle data was truncated")
        self.at = start + count
        return self.data[start:start + count]

    def _number(self, width):
        return int.from_bytes(self._take(width), "little")

    def _line(self):
        data = self.data
        stop = self.at
        limit = min(len(data), stop + 4096)
        while stop < limit and data[stop] != 10:
            stop += 1
        if stop >= limit:
            raise error("pickle data was truncated")
        line = str(bytes(data[self.at:stop]), "utf-8")
        self.at = stop + 1
        return line

    def _run(self, persistent_load):
        from _struct import unpack_from
        data = self.data
        stack, marks, memo = [], [], {}
        while True:
            op = data[self.at]
            self.at += 1
            if op == 0x71:  # BINPUT
                memo[data[self.at]] = stack[-1]
                self.at += 1
            elif op == 0x68:  # BINGET
                stack.append(memo[data[self.at]])
                self.at += 1
            elif op == 0x72:  # LONG_BINPUT
                memo[self._number(4)] = stack[-1]
            elif op == 0x6A:  # LONG_BINGET
                stack.append(memo[self._number(4)])
            elif op == 0x58:  # BINUNICODE
                stack.append(str(self._take(self._number(4)), "utf-8", "surrogatepass"))
            elif op == 0x4B:  # BININT1
                stack.append(data[self.at])
                self.at += 1
            elif op == 0x4D:  # BININT2
                stack.append(self._number(2))
            elif op == 0x4A:  # BININT
                stack.append(int.from_bytes(self._take(4), "little", signed=True))
            elif op == 0x28:  # MARK
                marks.append(stack)
                stack = []
            elif op == 0x74:  # TUPLE
                items, stack = tuple(stack), marks.pop()
                stack.append(items)
            elif op == 0x85:  # TUPLE1
                stack[-1] = (stack[-1],)
            elif op == 0x86:  # TUPLE2
                b, a = stack.pop(), stack.pop()
                stack.append((a, b))
            elif op == 0x87:  # TUPLE3
                c, b, a = stack.pop(), stack.pop(), stack.pop()
                stack.append((a, b, c))
            elif op == 0x52:  # REDUCE
                args, func = stack.pop(), stack.pop()
                stack.append(self.reduce(func, args))
            elif op == 0x63:  # GLOBAL
                module, name = self._line(), self._line()
                stack.append(self.table.find(module, name))
            elif op == 0x93:  # STACK_GLOBAL
                name, module = stack.pop(), stack.pop()
                if type(name) is not str or type(module) is not str:
                    raise error("a global is named by something else than strings")
                stack.append(self.table.find(module, name))
            elif op == 0x51:  # BINPERSID
                stack.append(self.persistent(persistent_load, stack.pop()))
            elif op == 0x47:  # BINFLOAT
                stack.append(unpack_from(">d", self._take(8))[0])
            elif op == 0x4E:  # NONE
                stack.append(None)
            elif op == 0x88:  # NEWTRUE
                stack.append(True)
            elif op == 0x89:  # NEWFALSE
                stack.append(False)
            elif op == 0x29:  # EMPTY_TUPLE
                stack.append(())
            elif op == 0x7D:  # EMPTY_DICT
                stack.append({})
            elif op == 0x5D:  # EMPTY_LIST
                stack.append([])
            elif op == 0x8F:  # EMPTY_SET
                self.budget.spend(256)
                stack.append(set())
            elif op == 0x73:  # SETITEM
                value, key = stack.pop(), stack.pop()
                self.set_items(stack[-1], (key, value))
            elif op == 0x75:  # SETITEMS
                items, stack = stack, marks.pop()
                self.set_items(stack[-1], items)
            elif op == 0x61:  # APPEND
                item = stack.pop()
                self.extend(stack[-1], (item,))
            elif op == 0x65:  # APPENDS
                items, stack = stack, marks.pop()
                self.extend(stack[-1], items)
            elif op == 0x90:  # ADDITEMS
                items, stack = stack, marks.pop()
                if type(stack[-1]) is not set:
                    raise error(f"Can only add items to sets, but got {type(stack[-1])}")
                for item in items:
                    check_key(item, self.budget)
                    stack[-1].add(item)
            elif op == 0x91:  # FROZENSET
                items, stack = stack, marks.pop()
                for item in items:
                    check_key(item, self.budget)
                stack.append(frozenset(items))
            elif op == 0x62:  # BUILD
                state = stack.pop()
                self.build(stack[-1], state)
            elif op == 0x81:  # NEWOBJ
                args, cls = stack.pop(), stack.pop()
                stack.append(self.new(cls, args, {}))
            elif op == 0x92:  # NEWOBJ_EX
                options, args, cls = stack.pop(), stack.pop(), stack.pop()
                stack.append(self.new(cls, args, options))
            elif op == 0x8A:  # LONG1
                stack.append(int.from_bytes(self._take(self._number(1)), "little", signed=True))
            elif op == 0x8B:  # LONG4
                stack.append(int.from_bytes(self._take(self._number(4)), "little", signed=True))
            elif op == 0x94:  # MEMOIZE
                memo[len(memo)] = stack[-1]
            elif op == 0x8C:  # SHORT_BINUNICODE
                stack.append(str(self._take(self._number(1)), "utf-8", "surrogatepass"))
            elif op == 0x8D:  # BINUNICODE8
                stack.append(str(self._take(self._number(8)), "utf-8", "surrogatepass"))
            elif op == 0x43:  # SHORT_BINBYTES
                stack.append(bytes(self._take(self._number(1))))
            elif op == 0x42:  # BINBYTES
                stack.append(bytes(self._take(self._number(4))))
            elif op == 0x8E:  # BINBYTES8
                stack.append(bytes(self._take(self._number(8))))
            elif op == 0x96:  # BYTEARRAY8
                stack.append(bytearray(self._take(self._number(8))))
            elif op == 0x55 or op == 0x54:  # SHORT_BINSTRING, BINSTRING
                text = bytes(self._take(self._number(1 if op == 0x55 else 4)))
                stack.append(text if self.encoding == "bytes" else text.decode(self.encoding))
            elif op == 0x30:  # POP
                if stack:
                    stack.pop()
                else:
                    stack = marks.pop()
            elif op == 0x31:  # POP_MARK
                stack = marks.pop()
            elif op == 0x32:  # DUP
                stack.append(stack[-1])
            elif op == 0x95:  # FRAME
                if self._number(8) > len(data) - self.at:
                    raise error("pickle data was truncated")
            elif op == 0x80:  # PROTO
                if data[self.at] > 5:
                    raise error(f"unsupported pickle protocol: {data[self.at]}")
                self.at += 1
            elif op == 0x2E:  # STOP
                return stack.pop()
            else:
                raise error(f"Unsupported operand {op}")

    def set_items(self, target, items):
        if type(target) not in (dict, OrderedDict, Counter):
            raise error("Can only SETITEM for dict, collections.OrderedDict, collections.Counter, "
                        f"but got {type(target)}")
        if len(items) % 2:
            raise error("the pickle is damaged: a dict has a key without a value")
        for i in range(0, len(items), 2):
            key = items[i]
            check_key(key, self.budget)
            target[key] = items[i + 1]

    def extend(self, target, items):
        if type(target) is not list:
            raise error(f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    def persistent(self, persistent_load, saved):
        if persistent_load is None:
            raise error("unsupported persistent id encountered")
        if type(saved) is not tuple or not saved or saved[0] not in ("storage", b"storage"):
            raise error("Only persistent_load of storage is allowed")
        return persistent_load(saved)

    def reduce(self, func, args):
        if type(args) is not tuple:
            raise error(f"Trying to call reduce with {type(args)} as arguments")
        if type(func) is Function:
            return func.call(args, self.budget) if func.call else self.rebuild_from_type(args)
        call = self.table.calls.get(id(func))
        if call is not None:
            return call(args, self.budget)
        if self.table.allows(func):
            return func(*args)
        raise error(f"Trying to call reduce for unrecognized function {_shown(func)}")

    def rebuild_from_type(self, args):
        """A tensor with attributes or of a subclass that the user allowed: (rebuilder, class, arguments, state)."""
        import kindling as torch
        from kindling import _utils
        if len(args) != 4:
            raise error("_rebuild_from_type_v2 is called in a way that no saved tensor is")
        func, cls, inner, state = args
        if type(func) is Function and func.call is _make_nested:
            return self.reduce(func, inner)     # its state says the same once more
        if cls is not torch.Tensor and cls is not torch.nn.Parameter and not self.table.allows(cls):
            raise error(f"Can only rebuild tensors of classes allowlisted via `add_safe_globals`, got {_shown(cls)}")
        if type(func) is not Function or func.call is None:
            raise error("a tensor is rebuilt by something that rebuilds none")
        result = self.reduce(func, inner)
        if not isinstance(result, torch.Tensor):
            raise error("a tensor is rebuilt by something that rebuilds none")
        return _utils._rebuild_from_type_v2(lambda: result, cls, (), state)

    def new(self, cls, args, options):
        if type(args) is not tuple or type(options) is not dict:
            raise error("an object is made with arguments that are not a tuple")
        call = self.table.calls.get(id(cls))
        if call is not None and not options:
            return call(args, self.budget)
        if self.table.allows(cls) and isinstance(cls, type):
            return cls.__new__(cls, *args, **options)
        raise error("Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
                    f"but got {_shown(cls)}")

    def build(self, target, state):
        kind = type(target)
        if kind is OrderedDict:
            if type(state) is not dict or not all(type(k) is str for k in state):
                raise error("an OrderedDict has attributes that are no dict")
            target.__dict__.update(state)
        elif kind is Ignored:
            return
        elif not self.table.allows(kind):
            raise error("Can only build OrderedDict or types allowlisted via `add_safe_globals`, "
                        f"but got {_shown(kind)}")
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            slots = None
            if type(state) is tuple and len(state) == 2:
                state, slots = state
            if state:
                target.__dict__.update(state)
            for name, value in (slots or {}).items():
                setattr(target, name, value)


def _shown(value):
    """How an object from a file stands in a message: never its contents, which may be without end."""
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else f"an object of {type(value)}"


def globals_in(data):
    """Every global a pickle names, as `module.name`, found by walking its opcodes without running them."""
    names, recent, at = set(), [], 0

    def need(count):
        if count < 0 or at + count > len(data):
            raise error("pickle data was truncated")
        return bytes(data[at:at + count])
    while True:
        op = need(1)[0]
        at += 1
        if op == 0x2E:
            return names
        if op == 0x63:
            parts = []
            for _ in range(2):
                stop = bytes(data[at:at + 4096]).find(b"\n")
                if stop < 0:
                    raise error("pickle data was truncated")
                parts.append(bytes(data[at:at + stop]).decode("utf-8"))
                at += stop + 1
            names.add((_PYTHON_2.get(parts[0], parts[0]), parts[1]))
        elif op == 0x93:
            if len(recent) < 2:
                raise error("a global is named by something else than strings")
            names.add((recent[-2], recent[-1]))
        elif op in _FIXED:
            at += _FIXED[op]
        elif op in _COUNTED:
            width = _COUNTED[op]
            count = int.from_bytes(need(width), "little")
            at += width
            text = need(count)
            at += count
            if op in (0x58, 0x8C, 0x8D):
                recent = [*recent[-1:], text.decode("utf-8", "replace")]
        else:
            raise error(f"Unsupported operand {op}")


_FIXED = {**dict.fromkeys(b"\x81R\x62aesu(t\x85\x86\x87N\x88\x89)]}\x8fQ012\x90\x91\x92\x94", 0),
          0x4A: 4, 0x4B: 1, 0x4D: 2, 0x47: 8, 0x68: 1, 0x6A: 4, 0x71: 1, 0x72: 4, 0x80: 1, 0x95: 8}
_COUNTED = {0x58: 4, 0x8C: 1, 0x8D: 8, 0x55: 1, 0x54: 4, 0x8A: 1, 0x8B: 4, 0x43: 1, 0x42: 4, 0x8E: 8, 0x96: 8}
