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


_NOT_ALLOWED = "This is not allowed in strict mode."
# What strict mode says of a value that does not depend on the inputs: its number, and where it comes from.
_INDEPENDENT = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner "
               "from the input when running in strict mode.",
    "gradient": "The gradient with respect to input {} is independent of the inputs of the user-provided function. " + _NOT_ALLOWED,
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is independent "
                "of the input. " + _NOT_ALLOWED + " You should ensure that your function is twice differentiable and that the jacobian depends "
                "on the inputs (this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent of the input. " + _NOT_ALLOWED + " You should "
               "ensure that your function is thrice differentiable and that the hessian depends on the inputs.",
}
# And of a gradient that is not there, by the backward pass that should have given it.
_MISSING = {
    "back": "The output of the user-provided function is independent of input {}. " + _NOT_ALLOWED,
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double backward trick "
                  "to compute forward mode gradients. " + _NOT_ALLOWED,
    "double_back": "The jacobian of the user-provided function is independent of input {}. " + _NOT_ALLOWED,
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed in "
                         "strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def _checked(values, kind, strict):
    """Raises, if strict, where a value does not depend on the inputs."""
    for i, each in enumerate(values if strict else ()):
        if each is None:
            raise RuntimeError(_MISSING["back"].format(i))
        if not each.requires_grad:
            raise RuntimeError(_INDEPENDENT[kind].format(i))


def _gradients(outputs, inputs, seeds=None, create_graph=False, retain_graph=None):
    import kindling as torch
    seeds = (None,) * len(outputs) if seeds is None else seeds
    kept = [(output, seed) for output, seed in zip(outputs, seeds) if output is not None and output.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    return torch.autograd.grad([each[0] for each in kept], inputs, [each[1] for each in kept], allow_unused=True, create_graph=create_graph,
                               retain_graph=retain_graph)


def _filled(gradients, inputs, strict, create_graph, stage):
    """Zeros for what does not depend on the inputs; raises if strict."""
    import kindling as torch
    result = []
    for i, gradient in enumerate(gradients):
        if gradient is None:
            if strict:
                raise RuntimeError(_MISSING[stage].format(i))
            gradient = torch.zeros_like(inputs[i])
        elif strict and create_graph and not gradient.requires_grad:
            name = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(f"The {name} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                               "create_graph=True.")
        result.append(gradient)
    return tuple(result)


def _construct_standard_basis_for(tensors, tensor_numels):
    """The rows of the identity matrix over all elements, cut into the tensors' parts, each of its tensor's dtype."""
    if len(tensors) != len(tensor_numels):
        raise AssertionError(f"Expected tensors and tensor_numels to have the same length, but got {len(tensors)} and {len(tensor_numels)}")
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total, first, chunks = sum(tensor_numels), 0, []
    for tensor, numel in zip(tensors, tensor_numels):
        chunk = tensor.new_zeros(total, numel)
        chunk.diagonal(-first).fill_(1)
        chunks.append(chunk)
        first += numel
    return tuple(chunks)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times the Jacobian). `v` has the output's shape; None for one element."""
    import kindling as torch
    with torch.enable_grad():
        many, inputs = _tuple_of(inputs, "inputs", "vjp")
        inputs = _prepare(inputs, create_graph)
        many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", "vjp")
        _checked(outputs, "outputs", strict)
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
        _checked(outputs, "outputs", strict)
        seeds = tuple([torch.zeros_like(each, requires_grad=True) for each in outputs])
        first = _gradients(outputs, inputs, seeds, True)
        _checked(first, "gradient", strict)
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
    if strategy == "forward-mode":
        return _columns(func, inputs, strict, vectorize)
    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either "
                           "set `strict=False` or `vectorize=False`.")
    with torch.enable_grad():
        many, inputs = _tuple_of(inputs, "inputs", "jacobian")
        inputs = _prepare(inputs, create_graph)
        many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", "jacobian")
        _checked(outputs, "outputs", strict)
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
                        # The output's number, as PyTorch says it.
                        raise RuntimeError("The jacobian of the user-provided function is independent of input "
                                           f"{i}. This is not allowed in strict mode when create_graph=True.")
                    rows[k].append(gradient)
            result.append(tuple([torch.stack(row, 0).view(output.size() + inputs[k].size()) if row
                                 else inputs[k].new_zeros(output.size() + inputs[k].size()) for k, row in enumerate(rows)]))
    result = [_postprocess(each, create_graph) for each in result]
    result = [_shaped(each, many) for each in result]
    return tuple(result) if many_out else result[0]


def _columns(func, inputs, strict, vectorize):
    """The Jacobian by forward mode, along one element of the inputs at a time."""
    import kindling as torch
    from kindling.autograd import forward_ad
    if strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `strategy=\"forward-mode\"` are not supported together "
                           "(yet). Please either set `strict=False` or `strategy=\"reverse-mode\"`.")
    many, inputs = _tuple_of(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.")
    columns, many_out, primals = [], False, ()
    for tangents in zip(*_construct_standard_basis_for(inputs, tuple([each.numel() for each in inputs]))):
        with forward_ad.dual_level():
            duals = tuple([forward_ad.make_dual(each, tangent.view_as(each)) for each, tangent in zip(inputs, tangents)])
            many_out, outputs = _tuple_of(func(*duals), "outputs", "jacobian")
            pairs = [forward_ad.unpack_dual(each) for each in outputs]
            primals = [pair.primal for pair in pairs]
            columns.append([torch.zeros_like(pair.primal) if pair.tangent is None else pair.tangent for pair in pairs])
    result = []
    for i, primal in enumerate(primals):
        row, first = [], 0
        for each in inputs:
            part = [column[i] for column in columns[first:first + each.numel()]]
            row.append(torch.stack(part, -1).view(primal.shape + each.shape) if part else primal.new_zeros(primal.shape + each.shape))
            first += each.numel()
        result.append(_shaped(tuple(row), many))
    return tuple(result) if many_out else result[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with one element: a tensor of shape input.shape twice, for every pair of inputs."""
    many, inputs = _tuple_of(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def first(*arguments):
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple([each.requires_grad_(True) for each in arguments])
        gradients = jacobian(number, arguments, create_graph=True)
        _checked(gradients, "jacobian", strict)
        return gradients

    def number(*arguments):
        many_out, outputs = _tuple_of(func(*arguments), "outputs of the user-provided function", "hessian")
        _checked(outputs, "outputs", strict)
        if many_out:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if outputs[0].nelement() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return outputs[0].squeeze()
    result = jacobian(first, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy)
    return result if many else result[0][0]


def _second(func, inputs, name, create_graph, strict):
    import kindling as torch
    many, inputs = _tuple_of(inputs, "inputs", name)
    inputs = _prepare(inputs, create_graph)
    many_out, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", name)
    _checked(outputs, "outputs", strict)
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
        first = _gradients(outputs, inputs, create_graph=True)
        _checked(first, "jacobian", strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(_gradients(first, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return (_postprocess(outputs, create_graph)[0], _shaped(_postprocess(result, create_graph), many))


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the Hessian times v)."""
    import kindling as torch
    with torch.enable_grad():
        many, inputs, outputs = _second(func, inputs, "hvp", create_graph, strict)
        v = _vectors(v, inputs, "hvp", "input", many)
        first = _gradients(outputs, inputs, create_graph=True)
        _checked(first, "jacobian", strict)
        seeds = tuple([torch.zeros_like(each, requires_grad=True) for each in inputs])
        second = _gradients(first, inputs, seeds, True)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(_gradients(second, seeds, v, create_graph), inputs, strict, create_graph, "double_back_trick")
    return (_postprocess(outputs, create_graph)[0], _shaped(_postprocess(result, create_graph), many))
