"""Nested containers: their leaves, their structure, and functions mapped over them.

Leaves are whatever is no registered container; None is a leaf.  Built in: tuple, list, dict, named tuples, OrderedDict,
defaultdict and deque.
"""
from _collections import OrderedDict, defaultdict, deque

BUILTIN_TYPES = {tuple, list, dict, "namedtuple", OrderedDict, defaultdict, deque}
STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))
SUPPORTED_NODES = {}
CONSTANT_NODES = set()
_serialized = {}


class NodeDef(tuple):
    """How one class of containers is taken apart and put together."""
    __slots__ = ()

    def __new__(cls, type, flatten_fn, unflatten_fn, flatten_with_keys_fn=None):
        return tuple.__new__(cls, (type, flatten_fn, unflatten_fn, flatten_with_keys_fn))

    type = property(lambda self: self[0])
    flatten_fn = property(lambda self: self[1])
    unflatten_fn = property(lambda self: self[2])
    flatten_with_keys_fn = property(lambda self: self[3])


# ---- the way to a leaf

class _Key:
    __slots__ = ("_value",)

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return type(other) is type(self) and self._value == other._value

    def __hash__(self):
        return hash((type(self).__name__, self._value))

    def __repr__(self):
        return f"{type(self).__name__}({self._name}={self._value!r})"


class SequenceKey(_Key):
    """One step of a path: into a sequence, by position."""
    __slots__ = ()
    _name = "idx"
    idx = property(lambda self: self._value)

    def __str__(self):
        return f"[{self._value!r}]"

    def get(self, sequence):
        """The item there."""
        return sequence[self._value]


class MappingKey(_Key):
    """One step of a path: into a mapping, by key."""
    __slots__ = ()
    _name = "key"
    key = property(lambda self: self._value)

    def __str__(self):
        return f"[{self._value!r}]"

    def get(self, mapping):
        """The item there."""
        return mapping[self._value]


class GetAttrKey(_Key):
    """One step of a path: into an object, by attribute."""
    __slots__ = ()
    _name = "name"
    name = property(lambda self: self._value)

    def __str__(self):
        return f".{self._value}"

    def get(self, obj):
        """The attribute."""
        return getattr(obj, self._value)


def keystr(kp):
    """A path as text."""
    return "".join([str(key) for key in kp])


def key_get(obj, kp):
    """What lies at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- named tuples

def is_namedtuple_class(cls):
    """Whether a class is one of named tuples."""
    return (isinstance(cls, type) and issubclass(cls, tuple)
            and isinstance(getattr(cls, "_fields", None), tuple)
            and all(type(field) is str for field in cls._fields)
            and callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None)))


def is_namedtuple_instance(obj):
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether an object, or a class, is one of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _namedtuple():
    from collections import namedtuple
    return namedtuple


def _get_node_type(tree):
    cls = type(tree)
    if cls in SUPPORTED_NODES or not issubclass(cls, tuple):
        return cls
    if not is_namedtuple_class(cls):
        if cls.__module__ in ("torch.return_types", "kindling.return_types"):   # what operators with several results give
            SUPPORTED_NODES[cls] = NodeDef(cls, lambda value: (list(value), None), lambda items, _: cls(items),
                                           lambda value: ([(SequenceKey(place), each) for place, each in enumerate(value)], None))
        return cls
    namedtuple = _namedtuple()
    if namedtuple not in SUPPORTED_NODES:
        SUPPORTED_NODES[namedtuple] = NodeDef(
            namedtuple, lambda value: (list(value), type(value)), lambda items, cls: cls(*items),
            lambda value: ([(GetAttrKey(field), getattr(value, field)) for field in value._fields], type(value)))
        BUILTIN_TYPES.add(namedtuple)
    return namedtuple


# ---- registration

def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Makes a class a container: `flatten_fn(value)` gives (children, context), `unflatten_fn(children, context)` the
    value.  ValueError if it is one already."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn)


def _private_register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                                  from_dumpable_context=None, flatten_with_keys_fn=None):
    if cls in SUPPORTED_NODES:
        import warnings
        warnings.warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.",
                      stacklevel=2)
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _serialized[cls] = serialized_type_name, to_dumpable_context, from_dumpable_context


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **options):
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls]
    _serialized.pop(cls, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a dataclass (or a class with the given fields) a container of its fields; fields of None are left out.

    ValueError if the names are not those that its constructor takes.
    """
    import dataclasses
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError("field_names must be specified with a list of all fields used to initialize "
                             f"{cls}, as it is not a dataclass.")
    else:
        taken = [field.name for field in dataclasses.fields(cls) if field.init]
        if field_names is None:
            field_names = taken
        else:
            needed = set(taken) - set(drop_field_names or ())
            if needed != set(field_names):
                message = "field_names does not include all dataclass fields.\n"
                if missing := needed - set(field_names):
                    message += (f"Missing fields in `field_names`: {missing}. If you want to include these fields in "
                                "the pytree, please add them to `field_names`, otherwise please add them to "
                                "`drop_field_names`.\n")
                if unexpected := set(field_names) - needed:
                    message += (f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add "
                                "them to `drop_field_names`.\n")
                raise ValueError(message)

    def flatten(obj):
        values = [(name, getattr(obj, name)) for name in field_names]
        return ([value for _, value in values if value is not None],
                [[name for name, value in values if value is not None],
                 [name for name, value in values if value is None]])

    def unflatten(values, context):
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    def flatten_with_keys(obj):
        values, context = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    _private_register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name,
                                  flatten_with_keys_fn=flatten_with_keys)


class ConstantNode:
    """The context of a constant: the value itself."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ConstantNode) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"ConstantNode(value={self.value!r})"


def register_constant(cls):
    """Makes values of a class part of the structure, without leaves.  TypeError unless it compares and hashes by value.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")

    def flatten(value):
        return [], ConstantNode(value)
    _private_register_pytree_node(cls, flatten, lambda _, context: context.value, flatten_with_keys_fn=flatten)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether a class was registered by `register_constant`."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _dict_flatten_with_keys(value):
    return [(MappingKey(key), item) for key, item in value.items()], list(value)


def _list_flatten_with_keys(value):
    return [(SequenceKey(index), item) for index, item in enumerate(value)], None


def _put(cls, flatten, unflatten, with_keys):
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, with_keys)


def _tuple_flatten(value):
    return list(value), None


def _tuple_unflatten(items, context):
    return tuple(items)


def _list_flatten(value):
    return value, None


def _list_unflatten(items, context):
    return list(items)


def _dict_flatten(value):
    return list(value.values()), list(value)


def _dict_unflatten(items, context):
    return dict(zip(context, items))


def _ordereddict_unflatten(items, context):
    return OrderedDict(zip(context, items))


_odict_flatten = _ordereddict_flatten = _dict_flatten
_odict_unflatten = _ordereddict_unflatten
_tuple_flatten_with_keys = _list_flatten_with_keys

_put(tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys)
_put(list, _list_flatten, _list_unflatten, _list_flatten_with_keys)
_put(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys)
_put(OrderedDict, _ordereddict_flatten, _ordereddict_unflatten, _dict_flatten_with_keys)
_put(defaultdict, lambda value: (list(value.values()), [value.default_factory, list(value)]),
     lambda items, context: defaultdict(context[0], zip(context[1], items)),
     lambda value: (_dict_flatten_with_keys(value)[0], [value.default_factory, list(value)]))
_put(deque, lambda value: (list(value), value.maxlen), lambda items, maxlen: deque(items, maxlen=maxlen),
     lambda value: (_list_flatten_with_keys(value)[0], value.maxlen))


# ---- structures

class TreeSpec:
    """The structure of a tree: the container's class, its context (keys and the like), its children's structures."""
    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self._context, self._children = type, context, children_specs
        self.num_nodes = 1 + sum([child.num_nodes for child in children_specs])
        self.num_leaves = sum([child.num_leaves for child in children_specs])
        self.num_children = len(children_specs)

    @property
    def context(self):
        """What the container needs besides its children."""
        return self._context

    @property
    def children_specs(self):
        """The children's structures; see `children()`."""
        return self._children

    def is_leaf(self):
        """Whether it stands for a leaf."""
        return self.type is None

    def children(self):
        """The children's structures, as a new list."""
        return list(self._children)

    def child(self, index):
        """One child's structure."""
        return self._children[index]

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type is other.type and self._context == other._context and self._children == other._children)

    def __hash__(self):
        context = self._context
        if self.type is defaultdict:
            context = context[0], tuple(context[1])
        elif isinstance(context, list):
            context = tuple(context) if self.type in STANDARD_DICT_TYPES else None
        elif self.type is not None and self.type not in BUILTIN_TYPES and not isinstance(context, ConstantNode):
            context = None      # nobody promised that it can be hashed
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent=0):
        indent += 2
        children = (",\n" + " " * indent).join([child.__repr__(indent) for child in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def unflatten(self, leaves):
        """The tree of this structure with the given leaves.  ValueError for another number of them."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
                             f"pytree that holds {self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves):
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children],
                                                       self._context)

    def flatten_up_to(self, tree):
        """The parts of `tree` that lie where this structure has leaves.  ValueError if its upper part differs."""
        parts = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree, parts):
        kind = _get_node_type(tree)
        both_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind != self.type and not both_dicts:
            word = "Node type" if self.type in BUILTIN_TYPES else "Type"
            raise ValueError(f"{word} mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if both_dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                message = ""
                if missing := set(keys).difference(tree):
                    message += f"; missing key(s): {missing}"
                if extra := set(tree).difference(keys):
                    message += f"; extra key(s): {extra}"
                raise ValueError(f"Node keys mismatch{message}.")
            children = [tree[key] for key in keys]
        elif kind is not deque and context != self._context:
            if self.type not in BUILTIN_TYPES:
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got "
                             f"{context!r}.")
        for child, spec in zip(children, self._children):
            spec._collect(child, parts)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""
    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])
        self.num_leaves = 1

    def __repr__(self, indent=0):
        return "*"

    def _build(self, leaves):
        return next(leaves)

    def _collect(self, tree, parts):
        parts.append(tree)


PyTreeSpec = TreeSpec
_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The structure of a tuple of the given structures."""
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dict of the given structures."""
    items = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in items.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {items!r}.")
    return TreeSpec(dict, list(items), list(items.values()))


def treespec_pprint(treespec):
    """A structure as text, in the form of its containers."""
    class Asterisk(str):
        def __repr__(self):
            return "*"
    return repr(tree_unflatten([Asterisk()] * treespec.num_leaves, treespec))


# ---- walks

def tree_is_leaf(tree, is_leaf=None):
    """Whether a value is a leaf: no registered container, or one that `is_leaf` says is."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def tree_flatten(tree, is_leaf=None):
    """The leaves of a tree, and its structure.

        >>> tree_flatten({"a": 1, "b": (2, 3)})
        ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*,
          TreeSpec(tuple, None, [*,
            *])]))
    """
    leaves = []
    return leaves, _flatten_to(leaves, tree, is_leaf)


def _flatten_to(leaves, node, is_leaf):
    # Not a function inside tree_flatten: one that calls itself would keep the leaves until the collector comes by.
    kind = _get_node_type(node)
    definition = SUPPORTED_NODES.get(kind)
    if definition is None or (is_leaf is not None and is_leaf(node)):
        leaves.append(node)
        return _LEAF_SPEC
    children, context = definition[1](node)
    return TreeSpec(kind, context, [_flatten_to(leaves, child, is_leaf) for child in children])


def tree_unflatten(leaves, treespec):
    """The tree of a structure with the given leaves.  ValueError for another number of them."""
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError("Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                            f"{type(treespec)}.")
        leaves, treespec = treespec, leaves     # the other order, which an old version took
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """The leaves of a tree, one by one."""
    definition = SUPPORTED_NODES.get(_get_node_type(tree))
    if definition is None or (is_leaf is not None and is_leaf(tree)):
        yield tree
    else:
        for child in definition[1](tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with `func` applied to each leaf, and to the parts of `rests` that lie at the same place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests])))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` as `tree_map` does, for its effects; returns `tree`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *[spec.flatten_up_to(rest) for rest in rests]):
        func(*arguments)
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function changes values of the given classes, or for which a predicate holds, and no others."""
    if isinstance(type_or_types_or_pred, (type, tuple, type(int | str))):
        def chosen(value):
            return isinstance(value, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        chosen = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorate(func):
        def wrapped(value):
            return func(value) if chosen(value) else value
        return wrapped
    return decorate


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map` over the leaves of the given classes, or for which a predicate holds; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map_` over the leaves of the given classes, or for which a predicate holds."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def _of_class(type_or_types, pred, tree, is_leaf):
    return [pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types)]


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether `pred` holds for every leaf of the given classes."""
    return all(_of_class(type_or_types, pred, tree, is_leaf))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether `pred` holds for a leaf of the given classes."""
    return any(_of_class(type_or_types, pred, tree, is_leaf))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree`, a prefix of `treespec`, each as often as the structure has leaves there; else None."""
    full = tree_unflatten([0] * treespec.num_leaves, treespec)
    result = []

    def repeat(leaf, part):
        result.extend([leaf] * tree_structure(part, is_leaf).num_leaves)
    try:
        tree_map_(repeat, tree, full, is_leaf=is_leaf)
    except ValueError:
        return None
    return result


def arg_tree_leaves(*args, **kwargs):
    """The leaves of all arguments."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_iter(tree)]


def _generate_key_paths(key_path, tree, is_leaf=None):
    kind = _get_node_type(tree)
    definition = SUPPORTED_NODES.get(kind)
    if definition is None or (is_leaf is not None and is_leaf(tree)):
        yield key_path, tree
        return
    if definition.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn "
                         "argument to register_pytree_node.")
    for key, child in definition.flatten_with_keys_fn(tree)[0]:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves of a tree as (path, leaf)."""
    return list(_generate_key_paths((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """The leaves of a tree as (path, leaf), and its structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` with the path as the first argument."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(path, leaf, *others) for (path, leaf), *others in zip(leaves, *columns)])
