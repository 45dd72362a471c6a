"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]


def _tuple_of(value, what, function):
    import kindling as torch
    single = not isinstance(value, tuple)
    values = (value,) if single else value
    for i, each in enumerate(values):
        if not isinstance(each, torch.Tensor):
            if single:
                raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {what} has type "
                                f"{type(each)}.")
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the value at index {i} has "
                            f"type {type(each)}.")
    return not single, values


def _shaped(values, many):
    return tuple(values) if many else values[0]


def _prepare(inputs, create_graph):
    """Inputs that require grad and, unless the result is to be differentiated, have no history."""
    return tuple([each.view_as(each) if create_graph and each.requires_grad
                  else each.detach().requires_grad_(each.is_floating_point() or each.is_complex()) for each in inputs])


def _vectors(v, like, name, other, many_like):
    import kindling as torch
    if v is None:
        if len(like) != 1 or like[0].nelement() != 1:
            raise RuntimeError(f"The vector v can only be None if {'the user-provided function returns a single Tensor with a single element.' if other == 'output' else 'the input to the user-provided function is a single Tensor with a single element.'}")
        return (torch.ones_like(like[0]),)
    _, v = _tuple_of(v, "v", name)
    v = _prepare_vector(v)
    if len(v) != len(like):
        if many_like:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (vector, each) in enumerate(zip(v, like)):
        if vector.size() != each.size():
            prefix = f"Entry {i} in " if many_like else ""
            raise RuntimeError(f"{prefix}v has invalid size: should be {each.size()} but got {vector.size()}.")
    return v


def _prepare_vector(v):
    return tuple([each.detach() if not each.requires_grad else each for each in v])


def _postprocess(values, create_graph):
    return tuple([each if create_graph else each.detach() for each in values])


def _checked(outputs, inputs, kind, strict):
    """Raises, if strict, where an output does not depend on the inputs."""
    if not strict:
        return
    for i, each in enumerate(outputs):
        if not each.requires_grad:
            if kind == "outputs":
                raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                                   "differentiable manner from the input when running in strict mode.")
            raise RuntimeError(f"The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is "
                               "not allowed in strict mode.")


def _gradients(outputs, inputs, seeds=None, create_graph=False, retain_graph=None):
    import kindling as torch
    seeds = (None,) * len(outputs) if seeds is None else seeds
    kept = [(output, seed) for output, seed in zip(outputs, seeds) if output is not None and output.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    return torch.autograd.grad([each[0] for each in kept], inputs, [each[1] for each in kept], allow_unused=True, create_graph=create_graph,
                               retain_graph=retain_graph)


def _filled(gradients, inputs, strict, create_graph, stage, zero_to=None):
    """Zeros for what does not depend on the inputs; raises if strict."""
    import kindling as torch
    result = []
    for i, gradient in enumerate(gradients):
        if gradient is None:
            if strict:
                if stage == "double_back":
                    raise RuntimeError("The jacobian of the user-provided function is independent of input "
                                       f"{i}. This is not allowed in strict mode.")
                raise RuntimeError(f"Output of the user-provided function is independent of input {i}. This is not allowed in strict mode.")
            gradient = torch.zeros_like(inputs[i])
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(f"The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is "
                               "not allowed in strict mode when create_graph=True." if stage != "double_back" else
                               f"The hessian of the user-provided function is independent of entry {i} in the grad_input. This is not allowed "
                               "in strict mode when create_graph=True.")
        result.append(gradient)
    return tuple(result)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times the Jacobian). `v` has the output's shape; None for one element."""
    import kindling as torch
    with torch.enable_grad():
        many, inputs = _tuple_of(inputs, "inputs", "vjp")
        inputs = _prepare(inputs, create_graph)
        many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", "vjp")
        _checked(outputs, inputs, "outputs", strict)
        v = _vectors(v, outputs, "vjp", "output", many_out)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(_gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return (_shaped(_postprocess(outputs, create_graph), many_out), _shaped(_postprocess(result, create_graph), many))


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the Jacobian times v), by differentiating backward twice."""
    import kindling as torch
    with torch.enable_grad():
        many, inputs = _tuple_of(inputs, "inputs", "jvp")
        inputs = _prepare(inputs, create_graph)
        v = _vectors(v, inputs, "jvp", "input", many)
        many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", "jvp")
        _checked(outputs, inputs, "outputs", strict)
        seeds = tuple([torch.zeros_like(each, requires_grad=True) for each in outputs])
        first = _filled(_gradients(outputs, inputs, seeds, True), inputs, strict, True, "back")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(_gradients(first, seeds, v, create_graph), outputs, strict, create_graph, "back_trick")
    return (_shaped(_postprocess(outputs, create_graph), many_out), _shaped(_postprocess(result, create_graph), many_out))


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian: for every output (and input, where several) a tensor of shape output.shape + input.shape."""
    import kindling as torch
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
                             'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".')
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError('torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
                                  "together (yet). Please either set `create_graph=False` or `strategy=\"reverse-mode\"`.")
    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either "
                           "set `strict=False` or `vectorize=False`.")
    with torch.enable_grad():
        many, inputs = _tuple_of(inputs, "inputs", "jacobian")
        inputs = _prepare(inputs, create_graph)
        many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", "jacobian")
        _checked(outputs, inputs, "outputs", strict)
        result = []
        for i, output in enumerate(outputs):
            rows = [[] for _ in inputs]
            flat = output.reshape(-1)
            for j in range(output.nelement()):
                gradients = _gradients((flat[j],), inputs, retain_graph=True, create_graph=create_graph)
                for k, gradient in enumerate(gradients):
                    if gradient is None:
                        if strict:
                            raise RuntimeError(f"Output {i} of the user-provided function is independent of input {k}. This is not allowed in "
                                               "strict mode.")
                        gradient = torch.zeros_like(inputs[k])
                    elif strict and create_graph and not gradient.requires_grad:
                        raise RuntimeError("The jacobian of the user-provided function is independent of input "
                                           f"{k}. This is not allowed in strict mode when create_graph=True.")
                    rows[k].append(gradient)
            result.append(tuple([torch.stack(row, 0).view(output.size() + inputs[k].size()) if row
                                 else inputs[k].new_zeros(output.size() + inputs[k].size()) for k, row in enumerate(rows)]))
    result = [_postprocess(each, create_graph) for each in result]
    result = [_shaped(each, many) for each in result]
    return tuple(result) if many_out else result[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with one element: a tensor of shape input.shape twice, for every pair of inputs."""
    import kindling as torch
    many, inputs = _tuple_of(inputs, "inputs", "hessian")

    def first(*arguments):
        _, outputs = _tuple_of(func(*arguments), "outputs of the user-provided function", "hessian")
        if len(outputs) != 1:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if outputs[0].nelement() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return jacobian(lambda *a: func(*a).reshape(()), arguments, create_graph=True, strict=strict)
    del torch
    result = jacobian(first, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize and not strict)
    return result if many else result[0][0]


def _second(func, inputs, name, create_graph, strict):
    import kindling as torch
    many, inputs = _tuple_of(inputs, "inputs", name)
    inputs = _prepare(inputs, create_graph)
    many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", name)
    _checked(outputs, inputs, "outputs", strict)
    if many_out or not isinstance(outputs[0], torch.Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return many, inputs, outputs


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times the Hessian)."""
    import kindling as torch
    with torch.enable_grad():
        many, inputs, outputs = _second(func, inputs, "vhp", create_graph, strict)
        v = _vectors(v, inputs, "vhp", "input", many)
        first = _filled(_gradients(outputs, inputs, create_graph=True), inputs, strict, True, "back")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(_gradients(first, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return (_postprocess(outputs, create_graph)[0], _shaped(_postprocess(result, create_graph), many))


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the Hessian times v)."""
    import kindling as torch
    with torch.enable_grad():
        many, inputs, outputs = _second(func, inputs, "hvp", create_graph, strict)
        v = _vectors(v, inputs, "hvp", "input", many)
        first = _filled(_gradients(outputs, inputs, create_graph=True), inputs, strict, True, "back")
        seeds = tuple([torch.zeros_like(each, requires_grad=True) for each in inputs])
        second = _filled(_gradients(first, inputs, seeds, True), inputs, strict, True, "double_back")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(_gradients(second, seeds, v, create_graph), inputs, strict, create_graph, "double_back_trick")
    return (_postprocess(outputs, create_graph)[0], _shaped(_postprocess(result, create_graph), many))
