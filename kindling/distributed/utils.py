"""What the wrappers of models share."""
from kindling._common.blocks import Block as _Block

__all__ = []


class _Nothing(_Block):
    """A block in which nothing is otherwise."""

    def __init__(self, value=None):
        self._value = value

    def __enter__(self):
        return self._value

    def __exit__(self, *details):
        return False


def _renamed(state_dict, old, new):
    """Puts one beginning of names in the place of another, and keeps the order."""
    if old != new:
        items = list(state_dict.items())
        state_dict.clear()
        state_dict.update((new + key[len(old):] if key.startswith(old) else key, value) for key, value in items)
    return state_dict


class _Inside:
    """A module around another one, which nobody sees in names of a state_dict, attributes and places (to be put before nn.Module)."""

    _name = None    # of the module inside

    def _hide(self):
        self._register_state_dict_hook(_without_name)
        self.register_load_state_dict_pre_hook(_with_name)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(self._name), name)

    def __getitem__(self, key):
        return getattr(self, self._name)[key]

    def named_parameters(self, *args, **kwargs):
        """Names and parameters, as the module inside has them."""
        for name, value in super().named_parameters(*args, **kwargs):
            yield name.replace(self._name + ".", ""), value


def _without_name(module, state_dict, prefix, *details):
    return _renamed(state_dict, f"{prefix}{module._name}.", prefix)


def _with_name(module, state_dict, prefix, *details):
    own = f"{prefix}{module._name}."
    if not any(key.startswith(own) for key in state_dict):
        _renamed(state_dict, prefix, own)
