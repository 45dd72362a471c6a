"""Marks for scripts and what else programs say to their compiler, below ``torch.jit``; a choice between two functions by a flag."""
from kindling import _C
from kindling._common.eagerly import mark

def is_scripting():
    """False."""
    return False


def is_tracing():
    """Whether the function that calls this is being traced."""
    return _C._is_tracing()


def annotate(the_type, the_value):
    """The value."""
    return the_value


class FunctionModifiers:
    """What marks would say to a script's compiler."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _marked(fn, which):
    target = fn.fget if isinstance(fn, property) else fn
    target._torchscript_modifier = getattr(FunctionModifiers, which)
    return fn


def ignore(drop=False, **kwargs):
    """Marks a function or method that scripts call in Python, as it is; with `drop` calls of it raise."""
    if callable(drop):
        return _marked(drop, "IGNORE")
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return lambda fn: _marked(fn, "UNUSED" if drop else "IGNORE")


def unused(fn):
    """Marks a function or method that scripts do not compile: calls of it raise there."""
    return _marked(fn, "UNUSED")


def _drop(fn):
    return _marked(fn, "_DROP")


def export(fn):
    """Marks a method that is compiled even if nothing calls it."""
    return _marked(fn, "EXPORT")


weak_module = weak_script = weak_script_method = mark("weak_script")


def _copy_to_script_wrapper(fn):
    fn._torchscript_modifier = FunctionModifiers.COPY_TO_SCRIPT_WRAPPER
    return fn


_overloads = {}     # "module.name" of a function -> its declared overloads


def _overload(func):
    """Declares a signature of a function that follows under the same name; scripts compile the function once for each."""
    _overloads.setdefault(f"{func.__module__}.{func.__qualname__}", []).append(func)
    return func


_overload_method = _overload


def _overloads_of(func):
    found = _overloads.get(f"{getattr(func, '__module__', None)}.{getattr(func, '__qualname__', None)}")
    return found if found and func not in found else None


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls one of two by the truth of an argument."""
    def choose(*args, **kwargs):
        flag = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if flag else if_false)(*args, **kwargs)

    choose._chosen_by = (arg_name, arg_index, default, if_true, if_false)
    choose.__doc__ = (if_true if if_true.__doc__ is not None else if_false).__doc__
    if module_name is not None:
        choose.__module__ = module_name
    if func_name is not None:
        choose.__name__ = func_name
    return choose


def is_tuple(ann):
    return getattr(ann, "__origin__", None) is tuple


def is_list(ann):
    return getattr(ann, "__origin__", None) is list


def is_dict(ann):
    return getattr(ann, "__origin__", None) is dict


def is_union(ann):
    import types
    import typing
    return getattr(ann, "__origin__", None) is typing.Union or isinstance(ann, types.UnionType)


def is_optional(ann):
    """Whether an annotation is `Optional[...]`."""
    return is_union(ann) and type(None) in ann.__args__ and len(ann.__args__) == 2


class BroadcastingListCls:
    """For annotations: a list of so many numbers, or one number for all of them."""

    def __getitem__(self, types):
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4, BroadcastingList5, BroadcastingList6 = (
    BroadcastingListCls() for _ in range(6))


def get_callable_argument_names(fn):
    """The names of what `fn` takes by position or by name; none where Python does not know."""
    import inspect
    try:
        parameters = inspect.signature(fn).parameters
    except Exception:
        return []
    return [name for name, each in parameters.items() if each.kind == each.POSITIONAL_OR_KEYWORD]


def isinstance_(obj, target_type):
    """Whether an object is of a type, the types of what containers hold included: `isinstance(x, List[int])`."""
    return any(_is(obj, each) for each in (target_type if type(target_type) is tuple else (target_type,)))


def _is(obj, kind):
    arguments = getattr(kind, "__args__", ())
    if is_union(kind):
        return any(_is(obj, each) for each in arguments)
    origin = getattr(kind, "__origin__", None)
    if kind is None:
        return obj is None
    if origin is None:
        return isinstance(obj, kind)
    if not isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_is(key, arguments[0]) and _is(value, arguments[1]) for key, value in obj.items())
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(_is(each, arguments[0]) for each in obj)
        return len(obj) == len(arguments) and all(map(_is, obj, arguments))
    return all(_is(each, arguments[0]) for each in obj)


isinstance_.__name__ = isinstance_.__qualname__ = "isinstance"


class Attribute(tuple):
    """A value with the type that scripts take it for, in the ``__init__`` of a module's class."""

    __slots__ = ()

    def __new__(cls, value, type):
        return tuple.__new__(cls, (value, type))

    value = property(lambda self: self[0])
    type = property(lambda self: self[1])
