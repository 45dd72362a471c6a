"""Flattening by a given structure, for generated code whose arguments are nested."""
from collections import namedtuple

from kindling.utils._pytree import LeafSpec, tree_flatten

SUPPORTED_NODES = {}
SUPPORTED_NODES_EXACT_MATCH = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """How a container is taken apart by a structure: `flatten_fn_spec(container, spec)` gives its children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls):
    SUPPORTED_NODES.pop(cls, None)
    SUPPORTED_NODES_EXACT_MATCH.pop(cls, None)


def tree_flatten_spec(pytree, spec):
    """The leaves of a structure in a container: a dict may have more keys, a list more elements."""
    if spec.is_leaf() if hasattr(spec, "is_leaf") else isinstance(spec, LeafSpec):
        return [pytree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
                           "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any custom "
                           "pytrees have been registered before loading it.")
    children = SUPPORTED_NODES[spec.type](pytree, spec)
    return [leaf for child, part in zip(children, spec.children_specs if hasattr(spec, "children_specs") else spec.children())
            for leaf in tree_flatten_spec(child, part)]


def _dict_flatten_spec(d, spec):
    return [d[key] for key in spec.context]


def _list_flatten_spec(d, spec):
    return [d[place] for place in range(spec.num_children)]


def _tuple_flatten_spec(d, spec):
    return [d[place] for place in range(spec.num_children)]


_namedtuple_flatten_spec = _tuple_flatten_spec


def _same_keys(d, spec):
    return len(d) == spec.num_children


_dict_flatten_spec_exact_match = _list_flatten_spec_exact_match = _tuple_flatten_spec_exact_match = _same_keys
_namedtuple_flatten_spec_exact_match = _same_keys
register_pytree_flatten_spec(dict, _dict_flatten_spec, _same_keys)
register_pytree_flatten_spec(list, _list_flatten_spec, _same_keys)
register_pytree_flatten_spec(tuple, _tuple_flatten_spec, _same_keys)
register_pytree_flatten_spec(namedtuple, _namedtuple_flatten_spec, _same_keys)
__all__ = ["register_pytree_flatten_spec", "tree_flatten", "tree_flatten_spec"]
