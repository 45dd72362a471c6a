"""Checks of derivatives against finite differences."""
__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """A derivative that differs from what finite differences give."""


def _tensors(value):
    import kindling as torch
    if isinstance(value, torch.Tensor):
        return (value,)
    return tuple([each for each in value if isinstance(each, torch.Tensor)])


def _differentiable(outputs):
    return tuple([each for each in _tensors(outputs) if each.requires_grad])


def _iter_tensors(value, only_requiring_grad=False):
    """The tensors in a value, however deep in sequences."""
    import kindling as torch
    if isinstance(value, torch.Tensor):
        if value.requires_grad or not only_requiring_grad:
            yield value
    elif hasattr(type(value), "__iter__") and not isinstance(value, str):
        for each in value:
            yield from _iter_tensors(each, only_requiring_grad)


def _get_numerical_jacobian(fn, inputs, outputs=None, target=None, eps=1e-3, is_forward_ad=False):
    """For each tensor of `target` (of `inputs` if there is none) that requires grad, a tuple of the Jacobians of `fn`'s outputs by
    central differences: a row for each of its elements, a column for each of the output's."""
    import kindling as torch
    inputs = inputs if isinstance(inputs, tuple) else tuple(inputs) if isinstance(inputs, list) else (inputs,)
    outputs = _call(fn, inputs) if outputs is None else outputs
    if not is_forward_ad and any(each.is_complex() for each in outputs):
        raise ValueError("Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs.")
    jacobians = []
    for source in _iter_tensors(inputs if target is None else target, True):
        if source.is_complex():
            raise ValueError("get_numerical_jacobian: inputs are real here")
        columns = [_numerical(fn, inputs, source, i, eps) for i in range(len(outputs))]
        jacobians.append(tuple([torch.stack(rows) if rows else torch.zeros(0, output.numel(), dtype=output.dtype)
                                for rows, output in zip(columns, outputs)]))
    return jacobians


def _smooth_inputs(inputs):
    return [each for each in _tensors(inputs) if each.requires_grad]


def _call(function, inputs):
    import kindling as torch
    outputs = function(*inputs)
    if isinstance(outputs, torch.Tensor):
        return (outputs,)
    if not isinstance(outputs, (tuple, list)):
        raise ValueError(f"gradcheck: the function must return a Tensor or a sequence of them, not {type(outputs).__name__}")
    return tuple(outputs)


def _check_same(below, above, where, eps):
    """AssertionError where the function gives another dtype or shape after a step."""
    for what in ("dtype", "shape"):
        one, other = getattr(below, what), getattr(above, what)
        if one != other:
            raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are perturbed{where} by {eps}, but got: "
                                 f"{what}s {one} and {other}.")


def _numerical(function, inputs, source, output_index, eps):
    """Rows: elements of `source` (real and imaginary apart); columns: elements of the output, as complex numbers if it is."""

    def value():
        return _call(function, inputs)[output_index].detach().clone()
    data = source.data
    flat = data if data.is_contiguous() else None
    rows = []
    indices = [()]
    for size in source.shape:
        indices = [index + (i,) for index in indices for i in range(size)]
    del flat
    for index in indices:
        original = data[index].clone()
        steps = (eps, eps * 1j) if source.is_complex() else (eps,)
        for step in steps:
            data[index] = original + step
            above = value()
            data[index] = original - step
            below = value()
            data[index] = original
            _check_same(below, above, f" on index {index}", eps)
            rows.append(((above - below) / (2 * eps)).reshape(-1))
    return rows


def _analytical(outputs, output_index, source, inputs, materialize=True):
    """For each element of the output and (of a complex output) each part, the gradient of `source`."""
    import kindling as torch
    output = outputs[output_index]
    columns = []
    for i in range(output.numel()):
        for part in ((1, 1j) if output.is_complex() else (1,)):
            seed = torch.zeros_like(output, memory_format=torch.contiguous_format)
            seed.view(-1)[i] = part
            gradient, = torch.autograd.grad(output, (source,), seed, retain_graph=True, allow_unused=True)
            if gradient is None:
                gradient = torch.zeros_like(source)
            if gradient.layout != torch.strided:
                gradient = gradient.to_dense()
            if gradient.dtype != source.dtype or gradient.shape != source.shape:
                raise GradcheckError("Gradient has dtype or shape mismatch")
            columns.append(gradient.detach().resolve_conj().reshape(-1) if hasattr(gradient, "resolve_conj") else gradient.detach().reshape(-1))
    return columns


def _numbers(row):
    import kindling as torch
    # A class that wraps tensors is asked for its elements one at a time.
    return row.tolist() if type(row) is torch.Tensor else [each.item() for each in row]


def _as_real(number, is_complex):
    return (number.real, number.imag) if is_complex else (number,)


def _check(function, inputs, outputs, output_index, source, position, eps, atol, rtol, raise_exception, nondet_tol):
    output = outputs[output_index]
    if output.numel() == 0 or source.numel() == 0:
        return True
    columns = _analytical(outputs, output_index, source, inputs)
    again = _analytical(outputs, output_index, source, inputs)
    for first, second in zip(columns, again):
        if (first - second).abs().max().item() > nondet_tol:
            if raise_exception:
                raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                                     f"different values, although analytical gradient matches numerical gradient. The tolerance for "
                                     f"nondeterminism was {nondet_tol}.")
            return False
    rows = _numerical(function, inputs, source, output_index, eps)
    rows = [_numbers(row) for row in rows]
    columns = [_numbers(column) for column in columns]
    source_parts = 2 if source.is_complex() else 1
    output_parts = 2 if output.is_complex() else 1
    for p in reversed(range(output_parts)):      # the imaginary part first, as PyTorch does
        for i in range(source.numel()):
            for o in range(output.numel()):
                for s in range(source_parts):
                    numeric = _as_real(rows[i * source_parts + s][o], output.is_complex())[p]
                    # The gradient of a real part is the conjugate cotangent: its parts are the derivatives along each part of the input.
                    analytic = _as_real(columns[o * output_parts + p][i], source.is_complex())[s]
                    if not abs(numeric - analytic) <= atol + rtol * abs(numeric):
                        if raise_exception:
                            part = f"While considering the {('real', 'imaginary')[p]} part of complex outputs only, " if output_parts == 2 else ""
                            raise GradcheckError(
                                f"{part}Jacobian mismatch for output {output_index} with respect to input {position},\n"
                                f"at input element {i}, output element {o}: numerical {numeric}, analytical {analytic}")
                        return False
    return True


def _check_fast(function, inputs, outputs, output_index, source, position, eps, atol, rtol, raise_exception, nondet_tol):
    """One number in place of the Jacobian: its product with a random vector on either side. Where that differs, every element is compared."""
    import kindling as torch
    output, generator = outputs[output_index], torch.Generator()
    if output.numel() == 0 or source.numel() == 0:
        return True

    def direction(tensor):
        """Of length one; numbers that are not negative, so that errors of one sign add up."""
        numbers = torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
        if tensor.is_complex():
            numbers = torch.complex(numbers, torch.rand(tensor.shape, generator=generator, dtype=torch.float64))
        return (numbers / numbers.norm()).to(tensor.dtype)

    def product(left, right):
        return ((left.conj() * right).real if left.is_complex() else left * right).sum().item()

    def total(vector):
        return (torch.view_as_real(vector) if vector.is_complex() else vector).sum().item()
    seed, step = direction(output), direction(source)
    gradients = [torch.autograd.grad(output, (source,), seed, retain_graph=True, allow_unused=True)[0] for _ in range(2)]
    gradients = [torch.zeros_like(source) if each is None else each.detach().to_dense() if each.layout != torch.strided else each.detach()
                 for each in gradients]
    if any(each.dtype != source.dtype or each.shape != source.shape for each in gradients):
        raise GradcheckError("Gradient has dtype or shape mismatch")
    moved, data = [], source.data
    original = data.clone()
    try:
        for sign in (1, -1):
            data.copy_(original + sign * eps * step)
            moved.append(_call(function, inputs)[output_index].detach().clone())
    finally:
        data.copy_(original)
    _check_same(moved[1], moved[0], "", eps)
    numerical, analytical = product(seed, (moved[0] - moved[1]) / (2 * eps)), product(gradients[0], step)
    if (gradients[0] - gradients[1]).abs().max().item() <= nondet_tol and \
            abs(numerical - analytical) <= atol * total(seed) * total(step) + rtol * abs(numerical):
        return True
    if not _check(function, inputs, outputs, output_index, source, position, eps, atol, rtol, raise_exception, nondet_tol):
        return False
    if raise_exception:
        raise GradcheckError(f"Jacobian mismatch for output {output_index} with respect to input {position},\n"
                             f"numerical:{numerical}\nanalytical:{analytical}\n"
                             "Fast gradcheck failed but element-wise differences are small. This means that the test might've passed in slow_mode!")
    return False


def _check_layout(gradient, source):
    import kindling as torch
    if gradient.layout == torch.strided:
        return
    if gradient.layout != source.layout:
        raise GradcheckError(f"grad is incorrect layout ({gradient.layout} is not {source.layout})")
    kind = str(gradient.layout).partition(".")[2].replace("_coo", "")
    for dims in ("sparse_dim", "dense_dim"):
        got, wanted = getattr(gradient, dims)(), getattr(source, dims)()
        if got != wanted:
            raise GradcheckError(f"grad is {kind} tensor, but has incorrect {dims} {got}, expected {wanted}")


def _check_zeros(outputs, sources, masked):
    """Backward of zeros gives zeros, laid out as the inputs are."""
    import kindling as torch
    gradients = torch.autograd.grad(outputs, sources, [torch.zeros_like(each) for each in outputs], retain_graph=True, allow_unused=True)
    for gradient, source in zip(gradients, sources):
        if gradient is None:
            continue
        _check_layout(gradient, source)
        gradient = gradient if gradient.layout == torch.strided else gradient.to_dense()
        if not (torch.allclose(gradient, torch.zeros_like(gradient)) if masked else gradient.eq(0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        for what, of in (("type", "dtype"), ("device", "device"), ("size", "shape")):
            if getattr(gradient, of) != getattr(source, of):
                raise GradcheckError(f"grad is incorrect {what}")


def _check_undefined(function, inputs, sources):
    """Backward takes gradients that are not there for zeros: of all outputs, and of each of several."""
    import kindling as torch
    undefined, notes = torch._C._functions.UndefinedGrad(), 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'

    def outputs(missing):
        return [undefined(each) if missing in (None, i) else each for i, each in enumerate(_differentiable(_call(function, inputs)))]

    def warn():
        import warnings
        warnings.warn("Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
                      "callers of this function. If this is true for you, you can call this function with \"check_undefined_grad=False\" to "
                      "disable the feature", stacklevel=4)

    first = outputs(None)
    for missing in (None, *(range(len(first)) if len(first) > 1 else ())):
        tried = first if missing is None else outputs(missing)
        try:
            gradients = torch.autograd.grad(tried, sources, [torch.zeros_like(each) for each in tried], allow_unused=True)
        except RuntimeError as error:
            warn()
            raise GradcheckError("Expected backward function to handle undefined output grads. " + notes) from error
        if not all(each is None or each.eq(0).all() for each in gradients):
            warn()
            raise GradcheckError("Expected all input grads to be undefined or zero when all output grads are undefined or zero. " + notes)


def _tangents_along(function, inputs, position, direction):
    """(primal, tangent) of the outputs along a direction of one input; the others that require grad have tangents of zeros."""
    import kindling as torch
    from kindling.autograd import forward_ad
    with forward_ad.dual_level():
        outputs = _call(function, [forward_ad.make_dual(each.detach(), direction if i == position else torch.zeros_like(each).detach())
                                   if isinstance(each, torch.Tensor) and each.requires_grad else each for i, each in enumerate(inputs)])
        return [forward_ad.unpack_dual(each) for each in outputs]


def _check_forward(function, inputs, sources, eps, atol, rtol, fast_mode):
    """Forward mode against differences: along each element of each input, or (`fast_mode`) one random direction."""
    import kindling as torch
    for position, source in sources:
        if fast_mode:
            direction = torch.randn(source.shape, dtype=source.dtype)

            def moved(step):
                with torch.no_grad():
                    return [each.detach().clone() for each in _call(function, [each + step * direction if i == position else each  # noqa: B023
                                                                               for i, each in enumerate(inputs)])]
            directions, above, below = [direction], moved(eps), moved(-eps)
            numerical = [[(one - other) / (2 * eps)] for one, other in zip(above, below)]
        else:
            directions = []
            for i in range(source.numel()):
                for part in (1, 1j) if source.is_complex() else (1,):
                    directions.append(torch.zeros_like(source, memory_format=torch.contiguous_format).detach())
                    directions[-1].view(-1)[i] = part
            numerical = None
        found = [_tangents_along(function, inputs, position, direction) for direction in directions]
        for i in range(len(found[0]) if found else 0):
            primal = found[0][i].primal
            if not (primal.is_floating_point() or primal.is_complex()):
                continue
            rows = _numerical(function, inputs, source, i, eps) if numerical is None else numerical[i]
            columns = [torch.zeros_like(primal) if pair[i].tangent is None else pair[i].tangent for pair in found]
            one = torch.stack([row.reshape(-1) for row in rows])
            other = torch.stack([column.detach().reshape(-1) for column in columns])
            if not torch.allclose(other, one, rtol, atol):
                raise GradcheckError(f"Jacobian computed with forward mode mismatch for output {i} with respect to input {position},\n"
                                     f"numerical:{one}\nanalytical:{other}\n")


def _check_undefined_forward(function, inputs, sources):
    """An input without a tangent must count as one with a tangent of zeros."""
    import kindling as torch
    from kindling.autograd import forward_ad
    with forward_ad.dual_level():
        duals = list(inputs)
        for position, source in sources:
            duals[position] = forward_ad.make_dual(source.detach(), torch.zeros_like(source).detach())
            forward_ad.unpack_dual(duals[position]).tangent.copy_(torch.randn(source.shape, dtype=source.dtype))
        for position, source in sources:
            before = duals[position]
            results = []
            for dual in (forward_ad.make_dual(source.detach(), torch.zeros_like(source).detach()), source.detach()):
                duals[position] = dual
                results.append([each for each in _call(function, duals) if each.is_floating_point() or each.is_complex()])
            duals[position] = before
            for i, pair in enumerate(zip(*results)):
                one, other = [forward_ad.unpack_dual(each).tangent for each in pair]
                if one is not None and other is not None and not torch.allclose(one, other):
                    raise GradcheckError("Mismatch in tangent values for output with index: ", i, " when input: ", source,
                                         " has an undefined tangent value.  Got: ", one, " but expected: ", other)


def _check_batched_forward(function, inputs, sources):
    """Tangents of a batch of directions by vmap, against one at a time."""
    import kindling as torch
    from kindling._vmap_internals import _vmap
    for position, source in sources:
        def jvp(direction):
            return tuple([torch.zeros_like(pair.primal) if pair.tangent is None else pair.tangent
                          for pair in _tangents_along(function, inputs, position, direction)])  # noqa: B023
        directions = [torch.randn_like(source).detach() for _ in range(2)]
        expected = [torch.stack(each) for each in zip(*[jvp(direction) for direction in directions])]
        try:
            results = _vmap(jvp)(torch.stack(directions))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for i, (one, other) in enumerate(zip(results, expected)):
            if not torch.allclose(one, other):
                raise GradcheckError(f"For output {i} and input {position}:\nexpected:\n{other}\ngot:\n{one}\n: the tangents of a batch of directions "
                                     "are not those of its members")


def gradcheck(func, inputs, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
              nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
              check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None, is_sparse=None) -> bool:
    """Compares what backward gives with central differences, for every element or (`fast_mode`) for one random combination; True, or GradcheckError (False without
    `raise_exception`). Inputs should be float64 or complex128."""
    import kindling as torch
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    inputs = tuple(inputs)
    sources = [(i, each) for i, each in enumerate(inputs) if isinstance(each, torch.Tensor) and each.requires_grad]
    if any(each.layout != torch.strided for _, each in sources):
        from kindling.sparse._gradcheck import wrapped
        if check_backward_ad:
            try:
                _check_zeros(_differentiable(_call(func, inputs)), [each for _, each in sources], masked)
            except GradcheckError:
                if raise_exception:
                    raise
                return False
        return wrapped(gradcheck)(func, inputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
                                  check_undefined_grad=check_undefined_grad, check_backward_ad=check_backward_ad, fast_mode=fast_mode, masked=bool(masked))
    if not sources:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for position, each in sources:
        if each.dtype not in (torch.float64, torch.complex128):
            import warnings
            warnings.warn(f"Input #{position} requires gradient and is not a double precision floating point or complex. This check will "
                          "likely fail if all the inputs are not of double precision floating point or complex. ", stacklevel=2)
        if any(stride == 0 and size > 1 for stride, size in zip(each.stride(), each.shape)):
            raise RuntimeError(f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                               "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                               "passing it to gradcheck.")
    try:
        outputs = _call(func, inputs)
        kept = [i for i, each in enumerate(outputs) if isinstance(each, torch.Tensor) and (each.is_floating_point() or each.is_complex())]
        if not any(outputs[i].requires_grad for i in kept):
            for i in kept:
                for position, source in sources:
                    for row in _numerical(func, inputs, source, i, eps):
                        if row.numel() and row.abs().max().item() > atol:
                            raise GradcheckError("Numerical gradient for function expected to be zero")
            return True
        for i in kept if check_backward_ad else ():
            if not outputs[i].requires_grad:
                continue
            for position, source in sources:
                if not (_check_fast if fast_mode else _check)(func, inputs, outputs, i, source, position, eps, atol, rtol, raise_exception, nondet_tol):
                    return False
        if check_forward_ad:
            _check_forward(func, inputs, sources, eps, atol, rtol, fast_mode)
            if check_undefined_grad:
                _check_undefined_forward(func, inputs, sources)
            if check_batched_forward_grad:
                _check_batched_forward(func, inputs, sources)
        if not check_backward_ad:
            return True
        needed = [source for _, source in sources]
        _check_zeros([outputs[i] for i in kept if outputs[i].requires_grad], needed, masked)
        if check_undefined_grad:
            _check_undefined(func, inputs, needed)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
                  gen_non_contig_grad_outputs: bool = False,
                  raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False) -> bool:
    """gradcheck of the backward itself: of the gradients of the inputs as a function of inputs and `grad_outputs` (random if not
    given)."""
    import kindling as torch
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    inputs = tuple(inputs)
    count = len(inputs)
    if grad_outputs is None:
        outputs = [each for each in _call(func, inputs) if isinstance(each, torch.Tensor) and each.requires_grad]
        seeds = tuple([torch.randn(each.shape, dtype=each.dtype if each.dtype in (torch.float64, torch.complex128) else torch.float64)
                       .to(each.dtype).requires_grad_() for each in outputs])
        if gen_non_contig_grad_outputs:
            seeds = tuple([torch.stack([each, each], -1)[..., 0].detach().requires_grad_() for each in seeds])
    else:
        seeds = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)

    def backward(*arguments):
        own = arguments[:count]
        with torch.enable_grad():
            # Not of a detached one: a dual tensor would lose its tangent.
            own = tuple([each.requires_grad_() if isinstance(each, torch.Tensor) and not each.requires_grad
                         and isinstance(inputs[i], torch.Tensor) and inputs[i].requires_grad else each for i, each in enumerate(own)])
            outputs = [each for each in _call(func, own) if isinstance(each, torch.Tensor) and each.requires_grad]
            wanted = [each for each in own if isinstance(each, torch.Tensor) and each.requires_grad]
            results = torch.autograd.grad(outputs, wanted, arguments[count:], create_graph=True, allow_unused=True)
        return tuple([each for each in results if each is not None])
    return gradcheck(backward, inputs + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev)
