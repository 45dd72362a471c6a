"""Containers: modules and parameters in sequence, list and dictionary form."""
from _collections import OrderedDict
from _operator import index as _as_index
from itertools import chain

import kindling as torch
from kindling.nn.modules.module import Module, _addindent, _typename
from kindling.nn.parameter import Parameter

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def _is_mapping(value):
    return isinstance(value, dict) or hasattr(value, "keys") and hasattr(value, "__getitem__")


class Container(Module):
    """Old form of Module with children given by keyword; use Module."""

    def __init__(self, **kwargs):
        super().__init__()
        import warnings
        warnings.warn("nn.Container is deprecated. All of it's functionality is now implemented in nn.Module. Subclass "
                      "that instead.", FutureWarning, stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Modules run one after another, each on the former's output. Takes modules, or one ordered dictionary.

    >>> Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())[0]
    Linear(in_features=4, out_features=8, bias=True)
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def _name_at(self, position):
        size = len(self._modules)
        position = _as_index(position)
        if not -size <= position < size:
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    def _get_item_by_idx(self, iterator, idx):
        """The item of an iterator over len(self) items at this place."""
        size = len(self)
        idx = _as_index(idx)
        if not -size <= idx < size:
            raise IndexError(f"index {idx} is out of range")
        return list(iterator)[idx]

    def _renumber(self, modules):
        """Takes these modules in this order, named by their places."""
        self._modules = {str(place): module for place, module in enumerate(modules)}

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx):
        if isinstance(idx, slice):
            for name in list(self._modules)[idx]:
                delattr(self, name)
        else:
            delattr(self, self._name_at(idx))
        self._renumber(list(self._modules.values()))

    def __len__(self):
        return len(self._modules)

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError("add operator supports only objects of Sequential class, but "
                             f"{type(other)} is given.")
        return Sequential(*self, *other)

    def pop(self, key):
        """Removes and answers the module at this place."""
        module = self[key]
        del self[key]
        return module

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError("add operator supports only objects of Sequential class, but "
                             f"{type(other)} is given.")
        for module in list(other):
            self.append(module)
        return self

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential(*(module for _ in range(other) for module in self))

    def __rmul__(self, other):
        return self.__mul__(other)

    def __imul__(self, other):
        self._check_factor(other)
        own = list(self)
        for _ in range(other - 1):
            self.extend(own)
        return self

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def __iter__(self):
        return iter(self._modules.values())

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self, module):
        """Adds a module at the end; answers self."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Puts a module in front of the one at `index`; answers self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self._modules)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index + size if index < 0 else index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Adds every module of an iterable at the end; answers self."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(Module):
    """A list of modules, all registered. It has no forward of its own."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx):
        idx = _as_index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx + len(self) if idx < 0 else idx)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx):
        if isinstance(idx, slice):
            for place in range(len(self._modules))[idx]:
                delattr(self, str(place))
        else:
            delattr(self, self._get_abs_string_index(idx))
        self._modules = {str(place): module for place, module in enumerate(self._modules.values())}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        joined = ModuleList()
        for place, module in enumerate(chain(self, other)):
            joined.add_module(str(place), module)
        return joined

    def __repr__(self):
        texts = [repr(item) for item in self]
        if not texts:
            return self._get_name() + "()"
        lines, start = [], 0
        # Equal neighbours are written once, with their range and number.
        while start < len(texts):
            end = start
            while end + 1 < len(texts) and texts[end + 1] == texts[start]:
                end += 1
            line = (f"({start}): {texts[start]}" if start == end
                    else f"({start}-{end}): {end - start + 1} x {texts[start]}")
            lines.append(_addindent(line, 2))
            start = end + 1
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def insert(self, index, module):
        """Puts a module in front of the one at `index`."""
        modules = list(self._modules.values())
        for place in range(len(modules), index, -1):
            self._modules[str(place)] = self._modules[str(place - 1)]
        self._modules[str(index)] = module

    def append(self, module):
        """Adds a module at the end; answers self."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Removes and answers the module at this place."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules):
        """Adds every module of an iterable at the end; answers self. TypeError for anything not iterable."""
        if not hasattr(modules, "__iter__"):
            raise TypeError("ModuleList.extend should be called with an iterable, but got "
                            + type(modules).__name__)
        offset = len(self)
        for place, module in enumerate(list(modules)):
            self.add_module(str(offset + place), module)
        return self


class ModuleDict(Module):
    """A dictionary of modules, all registered, in order of insertion. It has no forward of its own."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key):
        """Removes and answers the module of this key."""
        return self._modules.pop(key)

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def items(self):
        """Pairs of key and module."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds the modules of a dictionary or of an iterable of pairs. TypeError or ValueError for anything else."""
        if not hasattr(modules, "__iter__"):
            raise TypeError("ModuleDict.update should be called with an iterable of key/value pairs, but got "
                            + type(modules).__name__)
        if isinstance(modules, ModuleDict) or _is_mapping(modules):
            for key, module in modules.items():
                self[key] = module
            return
        for place, pair in enumerate(modules):
            if not hasattr(pair, "__iter__"):
                raise TypeError(f"ModuleDict update sequence element #{place} should be Iterable; is"
                                + type(pair).__name__)
            if not len(pair) == 2:
                raise ValueError(f"ModuleDict update sequence element #{place} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]


def _describe(value, kind):
    """One entry of a parameter container's repr."""
    if not isinstance(value, torch.Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(length) for length in value.size())
    device = f" (GPU {value.get_device()})" if value.is_cuda else ""
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{name} containing: [{kind(value)} of size {size}{device}]"


class ParameterList(Module):
    """A list of parameters, all registered; tensors become parameters, other values are kept as they are."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx):
        idx = _as_index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx + len(self) if idx < 0 else idx)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            selected = type(self)()
            for place in range(*idx.indices(len(self))):
                selected.append(self[place])
            return selected
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx, param):
        name = self._get_abs_string_index(idx)
        if isinstance(param, torch.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, name, param)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[place] for place in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end; answers self."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values):
        """Adds every value of an iterable that is no tensor; answers self. TypeError for anything else."""
        if not hasattr(values, "__iter__") or isinstance(values, torch.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({place}): {_describe(value, lambda tensor: tensor.dtype)}"
                         for place, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, all registered; tensors become parameters, other values are kept as they are."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string "
                            f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        name = self._key_to_attr(key)
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def copy(self):
        """A new ParameterDict with the same values."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def __contains__(self, key):
        return key in self._keys

    def setdefault(self, key, default=None):
        """The value of this key, set to `default` first if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Removes and answers the value of this key."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Removes and answers the last pair of key and value."""
        key, _ = self._keys.popitem()
        # The key is entered again for a moment, so that the value goes the ordinary way.
        self._keys[key] = None
        value = self[key]
        del self[key]
        return key, value

    def get(self, key, default=None):
        """The value of this key, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with these keys, each with the value `default`."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """Pairs of key and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds the values of a dictionary or of an iterable of pairs; a plain dictionary's keys are taken sorted."""
        if not hasattr(parameters, "__iter__"):
            raise TypeError("ParametersDict.update should be called with an iterable of key/value pairs, but got "
                            + type(parameters).__name__)
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            for key, value in parameters.items():
                self[key] = value
        elif _is_mapping(parameters):
            for key, value in sorted(parameters.items()):
                self[key] = value
        else:
            for place, pair in enumerate(parameters):
                if not hasattr(pair, "__iter__"):
                    raise TypeError(f"ParameterDict update sequence element #{place} should be Iterable; is"
                                    + type(pair).__name__)
                if not len(pair) == 2:
                    raise ValueError(f"ParameterDict update sequence element #{place} has length {len(pair)}; "
                                     "2 is required")
                self[pair[0]] = pair[1]

    def extra_repr(self):
        return "\n".join(f"  ({key}): {_describe(value, _typename)}" for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other):
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other):
        self.update(other)
        return self
