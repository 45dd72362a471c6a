"""Arguments of calls by parameter, from the schemas of operators and the signatures of functions."""
import inspect
import numbers
import typing
from collections import namedtuple

import kindling as torch

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "get_signature_for_torch_op", "create_type_hint", "type_matches",
           "normalize_function", "normalize_module"]

ArgsKwargsPair = namedtuple("ArgsKwargsPair", ("args", "kwargs"))
_manual_overrides = {}
_PYTHON = {"int": int, "float": float, "bool": bool, "str": str, "number": numbers.Number, "Tensor": torch.Tensor, "Device": torch.device,
           "Layout": torch.layout, "ScalarType": torch.dtype, "MemoryFormat": torch.memory_format}


def _python_type(kind):
    text = str(kind)
    if text.endswith("?") or text.startswith("Optional["):
        inner = text[:-1] if text.endswith("?") else text[9:-1]
        return typing.Optional[_PYTHON.get(inner, typing.Any)]
    if text.startswith("List[") or text.endswith("[]"):
        inner = text[5:-1] if text.startswith("List[") else text[:-2]
        return typing.List[_PYTHON.get(inner, typing.Any)]
    return _PYTHON.get(text, typing.Any)


def _signature(schema):
    parameters = []
    for argument in schema.arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        # PyTorch's functions call it input.
        name = "input" if argument.name == "self" else argument.name
        name = name + "_" if name == "from" else name
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=_python_type(argument.type)))
    if any(parameter.name == "from_" for parameter in parameters):
        parameters = [inspect.Parameter(each.name, inspect.Parameter.POSITIONAL_ONLY, default=each.default, annotation=each.annotation)
                      for each in parameters]
    return inspect.Signature(parameters)


def _schemas(op):
    schema = getattr(op, "_schema", None)
    if schema is not None:
        return [schema]
    name = getattr(op, "__name__", None)
    if name is None or inspect.isfunction(op) or getattr(torch, name, None) is not op and not getattr(op, "__module__", "").startswith(
            ("torch._C", "kindling._C")):
        return []
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return []
    found = []
    for overload in packet.overloads():
        # What writes to out= is no other function.
        if not overload.endswith("out"):
            found.append(getattr(packet, overload)._schema)
    return found


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of an operator's forms, (their schemas beside them); None if it is none.

    >>> [str(each) for each in torch.fx.operator_schemas.get_signature_for_torch_op(torch.relu)]  # doctest: +SKIP
    """
    schemas = _schemas(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(target, args, kwargs):
    """RuntimeError if a call changes one of its arguments."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures or not schemas:
        return
    fitting = []
    for signature, schema in zip(signatures, schemas):
        try:
            signature.bind(*args, **kwargs)
            fitting.append((signature, schema))
        except TypeError:
            continue
    if fitting and fitting[0][1].is_mutable:
        raise RuntimeError(f"Tried to trace mutable operation {fitting[0][1]}. FX only supports functional code, so operations that mutate "
                           "operands in-place (e.g. via `out` arguments) are not supported")


def create_type_hint(x):
    """The type of a list or tuple of types, with what its elements have in common."""
    if isinstance(x, (list, tuple)):
        def of(kind):
            return typing.List[kind] if isinstance(x, list) else typing.Tuple[kind, ...]

        if len(x) == 0:
            return of(typing.Any)
        common = x[0]
        for each in x:
            if isinstance(each, type) and isinstance(common, type) and issubclass(common, each):
                common = each
            elif not (isinstance(each, type) and isinstance(common, type) and issubclass(each, common)):
                return of(typing.Any)
        return of(common)
    return x


def type_matches(signature_type, argument_type):
    """Whether an argument of a type fits a parameter's."""
    origin = getattr(signature_type, "__origin__", signature_type)
    if signature_type is argument_type or signature_type is typing.Any:
        return True
    if origin is typing.Union and signature_type != argument_type:
        return any(type_matches(each, argument_type) for each in signature_type.__args__)
    if getattr(signature_type, "__origin__", None) is list:
        inner = signature_type.__args__[0]
        if inner is int and argument_type is int:
            return True
        args = getattr(argument_type, "__args__", ())
        return getattr(argument_type, "__origin__", None) in (list, tuple) and all(type_matches(inner, each) for each in args
                                                                                 if each is not ...)
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    if inspect.isclass(argument_type) and inspect.isclass(signature_type):
        return issubclass(argument_type, signature_type)
    return False


def _normalized(signature, args, kwargs, only_kwargs):
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    new_args, new_kwargs = [], {}
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            return None
        if not only_kwargs and parameter.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD and place < len(args):
            new_args.append(bound.arguments[name])
        else:
            new_kwargs[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of one of torch's functions by parameter, with defaults; None if there is no one signature for them.

    >>> torch.fx.operator_schemas.normalize_function(torch.nn.functional.relu, (1,), {}, normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    kwargs = {} if kwargs is None else kwargs
    module = getattr(target, "__module__", None) or ""
    if inspect.isfunction(target) and module.startswith(("torch", "kindling")):
        try:
            return _normalized(inspect.signature(inspect.unwrap(target)), args, kwargs, normalize_to_only_use_kwargs)
        except TypeError:
            return None
    if not callable(target):
        raise AssertionError(f"Expected callable, got {type(target)}")
    signatures = get_signature_for_torch_op(target)
    if not signatures:
        return None
    fitting = []
    for signature in signatures:
        try:
            signature.bind(*args, **kwargs)
            fitting.append(signature)
        except TypeError:
            continue
    if len(fitting) > 1 and (arg_types is not None or kwarg_types is not None):
        arg_types, kwarg_types = arg_types or (), kwarg_types or {}
        by_type = []
        for signature in fitting:
            bound = signature.bind(*arg_types, **kwarg_types)
            if all(type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.arguments.items()):
                by_type.append(signature)
        if len(by_type) == 1:
            fitting = by_type
        else:
            names = "\n".join(str(signature) for signature in fitting)
            raise RuntimeError(f"Tried to normalize arguments to {torch.typename(target)} but the schema match was ambiguous! Please provide "
                               f"argument types to the normalize_arguments() call. Available schemas:\n{names}")
    if len(fitting) > 1:
        # Tensors where they can be: the first form that takes them.
        fitting = fitting[:1] if len({tuple(signature.parameters) for signature in fitting}) == 1 else []
    if not fitting:
        return None
    return _normalized(fitting[0], args, kwargs, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The arguments of a submodule's call by the parameters of its forward; None if it has no such submodule."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from error
    if not hasattr(type(module), "forward"):
        return None
    try:
        return _normalized(inspect.signature(type(module).forward.__get__(module)), args, {} if kwargs is None else kwargs,
                           normalize_to_only_use_kwargs)
    except TypeError:
        return None
