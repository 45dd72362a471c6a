"""What packages use of ``torch._jit_internal``: marks for scripts, and a choice between two functions by a flag."""
from kindling._common.eagerly import mark
from kindling.jit import annotate, export, ignore, is_scripting, is_tracing, unused  # noqa: F401

weak_module = weak_script = weak_script_method = mark("weak_script")


def _copy_to_script_wrapper(fn):
    fn._torchscript_modifier = FunctionModifiers.COPY_TO_SCRIPT_WRAPPER
    return fn


_overloads = {}     # "module.name" of a function -> its declared overloads


def _overload(func):
    """Declares a signature of a function that follows under the same name; scripts compile the function once for each."""
    _overloads.setdefault(f"{func.__module__}.{func.__qualname__}", []).append(func)
    return func


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


class FunctionModifiers:
    """What marks would say to a script's compiler."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


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
