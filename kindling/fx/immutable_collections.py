"""Lists and dicts that do not change: the arguments of a node are set as a whole, so that its users stay known."""
from kindling.utils import _pytree

__all__ = ["immutable_list", "immutable_dict"]

_HELP = """If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _refused(self, *args, **kwargs):
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_HELP}")


class immutable_list(list):
    """A list that refuses to be changed.

    >>> torch.fx.immutable_collections.immutable_list([1, 2])
    [1, 2]
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = reverse = sort = _refused

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses to be changed.

    >>> torch.fx.immutable_collections.immutable_dict(a=1)
    {'a': 1}
    """

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _refused

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (dict(self),)


def _list_flatten(value):
    return list(value), None


def _list_unflatten(values, context):
    return immutable_list(values)


def _dict_flatten(value):
    return list(value.values()), list(value.keys())


def _dict_unflatten(values, context):
    return immutable_dict(zip(context, values))


_pytree._private_register_pytree_node(
    immutable_list, _list_flatten, _list_unflatten, serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=_pytree._list_flatten_with_keys)
_pytree._private_register_pytree_node(
    immutable_dict, _dict_flatten, _dict_unflatten, serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=_pytree._dict_flatten_with_keys)
