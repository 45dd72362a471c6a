"""Automatic differentiation: `backward`, `grad`, `Function`, grad modes and what goes with them."""
import kindling as _kindling
from kindling import _C

__all__ = ["Variable", "Function", "backward", "grad_mode", "NestedIOFunction", "detect_anomaly", "set_detect_anomaly", "enable_grad",
           "grad", "gradcheck", "gradgradcheck", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled", "variable"]

# Where a name that is not here lives; loaded when it is asked for.
_HOMES = {
    "Function": "function", "NestedIOFunction": "function",
    "Variable": "variable", "gradcheck": "gradcheck", "gradgradcheck": "gradcheck",
    "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode",
    "enable_grad": "grad_mode", "inference_mode": "grad_mode", "no_grad": "grad_mode", "set_grad_enabled": "grad_mode",
    "set_multithreading_enabled": "grad_mode", "_force_original_view_tracking": "grad_mode",
    "_unsafe_preserve_version_counter": "grad_mode", "_calculate_shape": "graph", "kineto_available": "profiler",
}
_MODULES = ("anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "gradcheck", "graph", "profiler", "profiler_util", "variable")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, _MODULES, ("gradcheck", "variable"))


_Tensor = _C.Tensor
SavedTensor = _C._SavedTensor


def _profiler_enabled():
    """Whether a profile is being made in this thread."""
    return _C._profile_running()


def _is_tensor(value):
    return isinstance(value, _Tensor)


def _is_edge(value):
    return isinstance(value, tuple) and len(value) >= 2 and isinstance(value[0], _C._Node)


def _as_tuple(value):
    return (value,) if isinstance(value, _Tensor) or _is_edge(value) else tuple(value)


def _gradients(outputs, gradients, is_grads_batched=False):
    """One gradient or None for each output; shapes are compared here only where the engine can't."""
    gradients = tuple(gradients)
    for output, gradient in zip(outputs, gradients):
        if gradient is None:
            continue
        if not _is_tensor(gradient):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
        if is_grads_batched and _is_tensor(output) and gradient.shape[1:] != output.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                "the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{outputs.index(output)}] has a shape of {gradient.shape} and output has a shape of {output.shape}. If you "
                "only want some tensors in `grad_output` to be considered batched, consider using vmap.")
    return gradients


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds up the gradients of `tensors` in the `.grad` of the leaves (or of `inputs` only).

    `grad_tensors` has the shape of each tensor, or None for one real element. RuntimeError if a tensor has no history, if a
    gradient is missing or has the wrong shape, or if the graph was freed by an earlier call without `retain_graph`.
    """
    if grad_variables is not None:
        import warnings
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                               "Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if len(inputs) == 0:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    else:
        inputs = ()
    tensors = _as_tuple(tensors)
    if grad_tensors is None:
        grad_tensors = (None,) * len(tensors)
    elif _is_tensor(grad_tensors):
        grad_tensors = (grad_tensors,)
    gradients = _gradients(tensors, grad_tensors)
    if retain_graph is None:
        retain_graph = create_graph
    _C._run_backward(tensors, gradients, bool(retain_graph), bool(create_graph), inputs or None, True, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """Gradients of `outputs` with respect to `inputs`, one for each input, without touching `.grad`.

    With `is_grads_batched`, the first dimension of each `grad_outputs` counts vectors, and each result has it too. Unused inputs
    raise, are None (`allow_unused`) or zeros (`materialize_grads`).
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        import warnings
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
                      "of the graph, please use torch.autograd.backward.", FutureWarning, stacklevel=2)
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if _C._has_torch_function(outputs + inputs):
        from kindling.overrides import handle_torch_function
        return handle_torch_function(grad, outputs + inputs, outputs, inputs, grad_outputs=grad_outputs, retain_graph=retain_graph,
                                     create_graph=create_graph, only_inputs=only_inputs, allow_unused=allow_unused,
                                     is_grads_batched=is_grads_batched, materialize_grads=materialize_grads)
    if grad_outputs is None:
        grad_outputs = (None,) * len(outputs)
    elif _is_tensor(grad_outputs):
        grad_outputs = (grad_outputs,)
    gradients = _gradients(outputs, grad_outputs, is_grads_batched)
    if retain_graph is None:
        retain_graph = create_graph
    if is_grads_batched:
        results = _batched(outputs, inputs, gradients, retain_graph, create_graph, allow_unused)
    else:
        results = _C._run_backward(outputs, gradients, bool(retain_graph), bool(create_graph), inputs, bool(allow_unused), False)
    if materialize_grads:
        if any(result is None and _is_edge(each) for result, each in zip(results, inputs)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        import kindling as torch
        results = tuple([torch.zeros_like(each, requires_grad=create_graph) if result is None else result for result, each in zip(results, inputs)])
    return results


def _batched(outputs, inputs, gradients, retain_graph, create_graph, allow_unused):
    """One backward for each vector of the batch; the graph is kept until the last."""
    import kindling as torch
    sizes = {gradient.shape[0] for gradient in gradients if gradient is not None}
    if len(sizes) != 1:
        raise ValueError(f"is_grads_batched=True: expected one batch size for all grad_outputs, but got {sorted(sizes)}")
    count = sizes.pop()
    rows = []
    for i in range(count):
        last = i == count - 1
        rows.append(_C._run_backward(outputs, tuple([None if g is None else g[i] for g in gradients]), bool(retain_graph or not last),
                                     bool(create_graph), inputs, bool(allow_unused), False))
    return tuple([None if column[0] is None else torch.stack(column) for column in zip(*rows)])


def _is_checkpoint_valid():
    return _C._is_checkpoint_valid()


def variable(*args, **kwargs):
    """Not there any more: tensors are what variables were."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


class _Engine:
    """What `Variable._execution_engine` is: the engine's own interface."""

    def run_backward(self, tensors, grad_tensors, keep_graph, create_graph, inputs=(), allow_unreachable=True, accumulate_grad=False):
        return _C._run_backward(tuple(tensors), tuple(grad_tensors), bool(keep_graph), bool(create_graph), tuple(inputs) or None,
                                bool(allow_unreachable), bool(accumulate_grad))

    def queue_callback(self, callback):
        """Calls `callback()` when the backward call that is running is done."""
        _C._queue_callback(callback)

    def is_checkpoint_valid(self):
        return _C._is_checkpoint_valid()


_engine = _Engine()
