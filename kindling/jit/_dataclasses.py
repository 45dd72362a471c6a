"""The methods that `dataclass` writes, as TorchScript: they have no source."""
import dataclasses
import inspect
import reprlib
import types
import typing

# == says what decides against it; an order, what decides for it and what it says of equal ones.
_COMPARISONS = {"__eq__": ("", True), "__lt__": ("<", False), "__le__": ("<", True), "__gt__": (">", False), "__ge__": (">", True)}


class _Name(str):
    """An annotation that stands in a signature's text as it is."""
    __repr__ = str.__str__


def text_of(kind, name, function, names):
    """The text of a method; "" for one that scripts do without, None for one that has a source. `names` gets what its annotations mean."""
    if function.__code__.co_filename not in ("<string>", dataclasses.__file__, reprlib.__file__):
        return None
    fields, lines, head = dataclasses.fields(kind), [], f"(self, other: {kind.__name__}) -> bool"
    if name == "__init__":
        if any(each.default_factory is not dataclasses.MISSING for each in fields):
            raise NotImplementedError("Default factory initializers are not supported in TorchScript dataclasses")
        signature, parameters, handed = inspect.signature(function), [], []
        for each in signature.parameters.values():
            if each.annotation is not each.empty:
                meant = each.annotation
                if isinstance(meant, dataclasses.InitVar):
                    meant = meant.type
                    handed.append(each.name)
                names[f"_{each.name}_"] = meant
                each = each.replace(annotation=_Name(f"_{each.name}_"), default=each.empty if each.default is each.empty else None)
            parameters.append(each)
        head = str(signature.replace(parameters=parameters))
        lines += [f"self.{each.name} = {each.name}" for each in fields if each.init]
        if hasattr(kind, "__post_init__"):
            lines.append(f"self.__post_init__({', '.join(handed)})")
    elif name in _COMPARISONS:
        sign, equal = _COMPARISONS[name]
        for each in fields:
            if each.compare:
                test = [f"if a {sign} b: return True", f"elif b {sign} a: return False"] if sign else ["if a != b: return False"]
                if typing.get_origin(each.type) in (typing.Union, types.UnionType) and type(None) in each.type.__args__:
                    other = f"raise TypeError('Cannot compare {kind.__name__} with None')" if sign else "return False"
                    test = ["if a is not None and b is not None:", *("  " + line for line in test), "elif (a is None) != (b is None):", "  " + other]
                lines += [f"a = self.{each.name}", f"b = other.{each.name}", *test]
        lines.append(f"return {equal}")
    else:
        return ""
    return f"def {name}{head}:\n" + "".join(f"  {line}\n" for line in lines or ["pass"])
