"""Behind ``torch.library``: backward functions of operators, checks of what a function returns, ``opcheck``."""
from kindling import _C


class OpCheckError(Exception):
    """An operator failed one of the tests of :func:`torch.library.opcheck`."""


def _tensors(value):
    if isinstance(value, _C.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def checked(name, function):
    """``function``, refused when a result is an argument or shares its memory."""
    fresh = _C._clearly_fresh

    def kernel(*args, **kwargs):
        result = function(*args, **kwargs)
        if not kwargs and fresh(result, args):     # most operators: one tensor of tensors and numbers
            return result
        if result is not None:
            kept = [each.untyped_storage() for each in _tensors(args)] + [each.untyped_storage() for each in _tensors(kwargs)]
            for each in _tensors(result):
                if each.untyped_storage() in kept:
                    raise RuntimeError(
                        f"{name} (with implementation in {function.__module__}): The output of this custom operator (1) must not also be an input "
                        "to this custom operator and (2) may not alias any inputs to this custom operator or other returns. The most common way "
                        "to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of "
                        "the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y.")
                kept.append(each.untyped_storage())
        return result
    kernel.__wrapped__ = function
    return kernel


def no_fake(name):
    """What an operator of one's own does with meta tensors until a fake is registered."""
    def kernel(*args, **kwargs):
        raise NotImplementedError(f"{name}: There was no fake impl registered for this operator. This is necessary for meta tensors and for "
                                  "compiling. Please use torch.library.register_fake to add one.")
    return kernel


def autograd_kernel(name, overload, backward, setup_context):
    """What runs where an argument requires grad: the operator below autograd, with ``backward`` in the graph."""
    import kindling as torch

    class Given:
        def __init__(self, kwargs):
            self.kwargs = kwargs

    state = {}

    def find():
        from kindling._ops import _overload
        op = state["op"] = _overload(name, overload)
        arguments = [a for a in op._schema.arguments if not a.kwarg_only]
        state["defaults"] = [a.default_value for a in arguments]
        return op

    def forward(ctx, *inputs):
        given, inputs = inputs[-1].kwargs, inputs[:-1]
        op = state.get("op") or find()
        output = _C._call_below_autograd(op, inputs, given)
        if setup_context is not None:
            inputs += tuple(state["defaults"][len(inputs):])
            if any(a.kwarg_only for a in op._schema.arguments):
                given = {**{a.name: a.default_value for a in op._schema.arguments if a.kwarg_only}, **given}
                setup_context(ctx=ctx, inputs=inputs, keyword_only_inputs=given, output=output)
            else:
                setup_context(ctx=ctx, inputs=inputs, output=output)
        return output

    def run_backward(ctx, *grads):
        result = backward(ctx, *grads)
        return (*result, None) if isinstance(result, tuple) else (result, None)

    Function = torch.autograd.Function
    Wrapped = type(Function)(f"GeneratedBackwardFor_{name.replace('::', '_')}_{overload or 'default'}", (Function,),
                             {"forward": staticmethod(forward), "backward": staticmethod(run_backward)})

    def kernel(*args, **kwargs):
        return Wrapped.apply(*args, Given(kwargs))
    kernel.__wrapped__ = backward
    return kernel


def opcheck(op, args, kwargs, tests, raise_exception, atol, rtol):
    import kindling as torch

    if hasattr(op, "overloads"):
        op = getattr(op, op.overloads()[0])
    known = {"test_schema": _test_schema, "test_autograd_registration": _test_autograd, "test_faketensor": _test_fake,
             "test_aot_dispatch_dynamic": _test_gradients}
    results = {}
    for test in tests:
        if test not in known:
            raise ValueError(f"opcheck: there is no test {test!r}; there are {', '.join(known)}")
        try:
            known[test](torch, op, args, kwargs, atol, rtol)
            results[test] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {test} failed with {error} (scroll up for stack trace)") from error
            results[test] = error
    return results


def _copies(value):
    if isinstance(value, _C.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(_copies(each) for each in value)
    return {key: _copies(each) for key, each in value.items()} if isinstance(value, dict) else value


def _test_schema(torch, op, args, kwargs, atol, rtol):
    args, kwargs = _copies(args), _copies(kwargs)
    schema, before = op._schema, (_copies(args), _copies(kwargs))
    with torch.no_grad():
        result = op(*args, **kwargs)
    memory = {}
    for place, argument in enumerate(schema.arguments):
        pick = (lambda a, k: a[place] if place < len(a) else k.get(argument.name))
        for now, was in zip(_tensors(pick(args, kwargs)), _tensors(pick(*before))):
            if argument.alias_info is None:
                memory[now.untyped_storage()._cdata] = argument.name
            if not argument.is_write and not torch.equal(torch.nan_to_num(now) if now.is_floating_point() else now,
                                                         torch.nan_to_num(was) if was.is_floating_point() else was):
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
    for each in _tensors(result):
        if each.untyped_storage()._cdata in memory:
            raise RuntimeError(f"Argument {memory[each.untyped_storage()._cdata]} is not defined to alias output but was aliasing")


def _test_autograd(torch, op, args, kwargs, atol, rtol):
    facts = _C._operator_facts(op._opname if op.namespace == "aten" else op.name_in_core, op._raw)
    if not any(each.requires_grad for each in _tensors((args, kwargs))):
        return
    _, composite, formula, registered, layers, _ = facts
    if not composite and not formula and not any(layer == 4 for layer, _ in layers) or registered and not any(layer in (3, 4) for layer, _ in layers):
        raise RuntimeError(f"the operator {op.name()} has arguments that require grad, but no backward was registered for it: use "
                           "torch.library.register_autograd")


def _meta(value):
    if isinstance(value, _C.Tensor):
        return value.detach().to("meta")
    return type(value)(map(_meta, value)) if isinstance(value, (list, tuple)) else value


def _test_fake(torch, op, args, kwargs, atol, rtol):
    with torch.no_grad():
        real = list(_tensors(op(*_copies(args), **_copies(kwargs))))
        try:
            fake = list(_tensors(op(*map(_meta, args), **{key: _meta(value) for key, value in kwargs.items()})))
        except NotImplementedError as error:
            raise RuntimeError(f"there is no fake impl for {op.name()}: use torch.library.register_fake ({error})") from None
    if len(real) != len(fake):
        raise RuntimeError(f"the fake impl gives {len(fake)} tensors, the operator {len(real)}")
    for place, (a, b) in enumerate(zip(real, fake)):
        for what in ("shape", "dtype", "layout"):
            if getattr(a, what) != getattr(b, what):
                raise RuntimeError(f"the fake impl's output {place} has {what} {getattr(b, what)}, the operator's {getattr(a, what)}")
        if a.stride() != b.stride() and a.numel():
            raise RuntimeError(f"the fake impl's output {place} has strides {b.stride()}, the operator's {a.stride()}")


def _test_gradients(torch, op, args, kwargs, atol, rtol):
    """Twice the same inputs give the same outputs and gradients, of the inputs' shapes."""
    found = []
    for _ in range(2):
        one, more = _copies(args), _copies(kwargs)
        outputs = [each for each in _tensors(op(*one, **more)) if each.requires_grad]
        inputs = [each for each in _tensors((one, more)) if each.requires_grad]
        grads = torch.autograd.grad([each.sum() for each in outputs], inputs, allow_unused=True) if outputs and inputs else ()
        for grad, each in zip(grads, inputs):
            if grad is not None and grad.shape != each.shape:
                raise RuntimeError(f"a gradient has shape {grad.shape} where its input has {each.shape}")
        found.append([each.detach() for each in outputs] + [grad for grad in grads if grad is not None])
    for a, b in zip(*found):
        if not torch.allclose(a, b, atol=atol or 1e-5, rtol=rtol or 1e-5, equal_nan=True):
            raise RuntimeError("two calls with the same inputs give different results")
