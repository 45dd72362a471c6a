"""Which kernel serves which device and layer of an operator, and who registered it: ``kindling.dispatch.table("aten::add.Tensor")``."""
from kindling import _C

__all__ = ["table", "counts", "kernels"]

_BUILT_IN = "kindling"


def _core_name(name):
    return name.removeprefix("aten::")


def _split(op):
    if not isinstance(op, str):
        op = op.name() if hasattr(op, "name") else op._qualname if hasattr(op, "_qualname") else op._qualified_op_name
    name, _, overload = _core_name(op).partition(".")
    return name, "" if overload == "default" else overload


def kernels(op):
    """{key: (what, who)} of an operator, named as "aten::add.Tensor" or given as ``torch.ops.aten.add.Tensor``; empty if there is none."""
    name, overload = _split(op)
    facts = _C._operator_facts(name, overload)
    if facts is None:
        return {}
    body, composite, formula, registered, *_ = facts
    found = {}
    if not registered:
        if composite:
            found["CompositeImplicitAutograd"] = ("composition", _BUILT_IN)
        else:
            found["CPU"] = found["Meta"] = (f"{body} kernel" if body in ("pointwise", "view") else "kernel" if body == "kernel" else body, _BUILT_IN)
            if formula:
                found["Autograd"] = ("computed from the body" if body == "pointwise" else "formula", _BUILT_IN)
    from kindling._operators import registry
    for key, (function, who, _) in registry.registered.get((name, overload), {}).items():
        real = getattr(function, "__wrapped__", function)
        found[key] = (f"{getattr(real, '__module__', None) or '?'}.{getattr(real, '__qualname__', type(real).__name__)}", who)
    return found


class Table:
    """The rows (key, what, who) of an operator; printed as a table."""

    def __init__(self, name, schema, who, rows):
        self.name, self.schema, self.defined_by, self.rows = name, schema, who, rows

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, key):
        for row in self.rows:
            if row[0] == key:
                return row
        raise KeyError(key)

    def __repr__(self):
        widths = [max(len(row[i]) for row in [("key", "kernel"), *self.rows]) for i in (0, 1)]
        lines = [f"{key:{widths[0]}}  {what:{widths[1]}}  {who}" for key, what, who in [("key", "kernel", "registered by"), *self.rows]]
        return f"{self.name}\nschema: {self.schema}\ndefined by: {self.defined_by}\n" + "\n".join(lines)


def table(op):
    """The :class:`Table` of one overload ("aten::add.Tensor", or an object of torch.ops). RuntimeError if there is none.

    >>> kindling.dispatch.table("aten::relu")["CPU"]
    ('CPU', 'pointwise kernel', 'kindling')
    """
    from kindling._operators import registry
    name, overload = _split(op)
    found = kernels(op)
    text = _C._schema_text(name, overload)
    if text is None:
        overloads = _C._overload_names(name)
        raise RuntimeError(f"operator {op} does not exist" + (f"; its overloads are {', '.join(n or 'default' for n in overloads)}" if overloads else ""))
    full = (name if "::" in name else "aten::" + name) + (f".{overload}" if overload else "")
    who = registry.defined.get((name, overload), _BUILT_IN)
    return Table(full, text[0] if "::" in text[0].partition("(")[0] else "aten::" + text[0], who,
                 [(key, what, by) for key, (what, by) in sorted(found.items())])


def counts():
    """How many overloads are declared in the core, defined from Python, and have kernels of Python's."""
    from kindling._operators import registry
    declared = sum(len(_C._overload_names(name)) for name in _C._operator_names(0xFFFFFFFF) if "::" not in name)
    return {"declared": declared, "C++": declared, "Python": len(registry.defined),
            "Python kernels": sum(len(keys) for keys in registry.registered.values())}
