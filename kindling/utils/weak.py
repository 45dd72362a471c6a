"""Weak references and dictionaries that know their keys by identity: tensors compare by elements."""
from collections.abc import MutableMapping
from weakref import ref

__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]

WeakRef = ref


class WeakIdRef(ref):
    """A weak reference that is equal to another if both are to the same object."""
    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __call__(self):
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        ours, theirs = self(), other()
        return ours is theirs if ours is not None and theirs is not None else self is other


class _WeakHashRef(ref):
    """A weak reference with the key's own hash, equal by `==` of the keys."""
    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = hash(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        ours, theirs = self(), other()
        return ours == theirs if ours is not None and theirs is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary that holds its keys weakly and knows them by identity."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        weak = ref(self)

        def drop(key):
            owner = weak()
            if owner is not None:
                owner.data.pop(key, None)

        self._drop = drop
        if dict is not None:
            self.update(dict)

    def _alive(self):
        # A copy: keys may die while someone goes over them.
        for key, value in list(self.data.items()):
            key = key()
            if key is not None:
                yield key, value

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._drop)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:       # what can't be referred to weakly is no key
            return False

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        return (key for key, _ in self._alive())

    def items(self):
        return self._alive()

    def keys(self):
        return iter(self)

    def values(self):
        return (value for _, value in self._alive())

    def keyrefs(self):
        """The weak references to the keys."""
        return list(self.data)

    def copy(self):
        return type(self)(self)

    __copy__ = copy

    def __deepcopy__(self, memo):
        from copy import deepcopy
        made = self.__class__()
        for key, value in self._alive():
            made[key] = deepcopy(value, memo)
        return made

    def __repr__(self):
        return f"<{self.__class__.__name__} at {id(self):#x}>"

    def __or__(self, other):
        if not isinstance(other, MutableMapping | dict):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        if not isinstance(other, MutableMapping | dict):
            return NotImplemented
        made = type(self)(other)
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, MutableMapping | dict):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor):
        from kindling import Tensor
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref = ref(tensor)

    def __call__(self):
        return self.ref()
