"""Tracing: what operators a function or a module calls, written down as a program (``torch.jit.trace``)."""
import re
import sys
import warnings

import kindling as torch
from kindling import _C
from kindling.jit._state import _enabled


class TracingCheckError(Exception):
    """A second trace of a function is another program than the first, or does not run."""

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += "ERROR: Graphs differed across invocations!\n" + indent(graph_diff_error) + "\n"
        if tensor_compare_error is not None:
            self.message += ("ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that the "
                             "tracer has encountered untraceable code.\n" + indent(tensor_compare_error) + "\n")
        super().__init__(self.message)


class TracerWarning(Warning):
    """A trace may not hold for other inputs."""

    @staticmethod
    def ignore_lib_warnings():
        """Checks of shapes inside the library say nothing."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"(torch|kindling)\.(?!jit)")
        warnings.filterwarnings("ignore", "torch::jit::fuser::cuda")


TracingCheckError.__module__, TracerWarning.__module__ = "torch.jit", "torch.jit"
TracerWarning.ignore_lib_warnings()

# Which module is called what, while a module is traced: {module: "__module.layer1.0"}.
_trace_module_map = None


def indent(text):
    return "\n".join("\t" + line for line in text.splitlines())


def make_tuple(example_inputs):
    """What the function is called with: one tensor or dict stands for itself."""
    if isinstance(example_inputs, (torch.Tensor, dict)):
        return (example_inputs,)
    return example_inputs if isinstance(example_inputs, tuple) else tuple(example_inputs)


def _clone_inputs(args):
    if args is None:
        return None
    if isinstance(args, torch.Tensor):
        copy = args.detach().clone().requires_grad_(args.requires_grad)
        if args.grad is not None:
            copy.grad = _clone_inputs(args.grad)
        return copy
    if isinstance(args, dict):
        return {name: _clone_inputs(each) for name, each in args.items()}
    if isinstance(args, (tuple, list)):
        copies = [_clone_inputs(each) for each in args]
        return type(args)(*copies) if hasattr(args, "_fields") else type(args)(copies)
    raise ValueError(f"Auto nesting doesn't know how to process an input object of type {torch.typename(args)}. Accepted types: tensors, or "
                     "lists/tuples of them")


def _argument_names(function):
    from kindling._jit_internal import get_callable_argument_names
    return get_callable_argument_names(function)


def _qualified_name(function):
    name = getattr(function, "__name__", None) or type(function).__name__
    return "_lambda" if name == "<lambda>" else name


def _record_function(function, inputs, strict, outplace):
    return _C._trace_function(_qualified_name(function), function, inputs, strict, outplace, _argument_names(function))


def _deprecated(name):
    if sys.version_info >= (3, 14):
        warnings.warn(f"`torch.jit.{name}` is not supported in Python 3.14+ and may break. Please switch to `torch.compile` or "
                      "`torch.export`.", DeprecationWarning, stacklevel=3)
    else:
        warnings.warn(f"`torch.jit.{name}` is deprecated. Please switch to `torch.compile` or `torch.export`.", DeprecationWarning,
                      stacklevel=3)


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """Runs a function or a module once, and makes a program of the operators that it called.

    Args:
        func: a function of tensors (and tuples, lists and dicts of them), or a module.
        example_inputs: what it is called with, a tuple; one tensor stands for itself.
        optimize: deprecated, without effect.
        check_trace: trace a second time, and compare the programs and what they give.
        check_inputs: inputs to check with, in place of `example_inputs`.
        check_tolerance: how far results may be apart.
        strict: lists that the function gives are warned about, and dicts refused.
        example_kwarg_inputs: inputs by name.

    Returns:
        ScriptFunction, or a module that runs the program. Sizes that the function asks for are computed anew at each call. What Python
        decides by values (`if x.sum() > 0`) stays as it was decided; a TracerWarning says where.

    >>> import kindling as torch
    >>> double = torch.jit.trace(lambda x: x * 2, torch.ones(2))
    >>> double(torch.tensor([1., 2., 3.]))
    tensor([2., 4., 6.])
    """
    _deprecated("trace")
    if not _enabled:
        return func
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning,
                      stacklevel=2)
    return _trace_impl(func, example_inputs, check_trace, check_inputs, check_tolerance, strict, _force_outplace, _module_class,
                       example_kwarg_inputs, _store_inputs)


def _trace_impl(func, example_inputs, check_trace, check_inputs, check_tolerance, strict, outplace, module_class, by_name, store_inputs):
    from kindling.jit._script_module import ScriptModule
    if isinstance(func, ScriptModule):
        warnings.warn("The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.", stacklevel=3)
        return func
    owner = getattr(func, "__self__", None)
    module = func if isinstance(func, torch.nn.Module) else owner if isinstance(owner, torch.nn.Module) and func.__name__ == "forward" else None
    if module is not None:
        if example_inputs is None:
            if not isinstance(by_name, dict):
                raise RuntimeError("example_kwarg_inputs should be a dict")
            example_inputs = by_name
        return trace_module(module, {"forward": example_inputs}, None, check_trace,
                            None if check_inputs is None else [{"forward": each} for each in check_inputs], check_tolerance, strict, outplace,
                            module_class, example_inputs_is_kwarg=isinstance(by_name, dict), _store_inputs=store_inputs)
    if by_name is None:
        example_inputs = make_tuple(example_inputs)
    if isinstance(owner, torch.nn.Module):
        raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
    inputs = by_name if isinstance(by_name, dict) else example_inputs
    traced = _record_function(func, inputs, strict, outplace)
    if check_trace:
        _check_trace([inputs] if check_inputs is None else check_inputs, func, traced, check_tolerance, strict, outplace, None,
                     isinstance(by_name, dict))
    traced._torchdynamo_inline = func
    return traced


def _check_trace(check_inputs, func, traced, tolerance, strict, outplace, method, by_name):
    """Traces `func` again with each of the inputs; `method` is its name if it is one of a module."""
    with torch.no_grad():
        for inputs in check_inputs:
            if isinstance(inputs, torch.Tensor):
                inputs = (inputs,)
            if method is None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    second = _record_function(func, _clone_inputs(inputs), strict, outplace)
            else:
                owner = getattr(func, "__self__", func)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    again = trace_module(owner, {name: _clone_inputs(each) for name, each in inputs.items()}, None, False, strict=strict,
                                         _force_outplace=outplace, example_inputs_is_kwarg=by_name, _store_inputs=False)
                second = again._c._get_method(method)
                inputs = inputs[method]
                if isinstance(inputs, torch.Tensor) or (isinstance(inputs, dict) and not by_name):
                    inputs = (inputs,)
            _Check(func, traced, second, inputs, tolerance, by_name).run()


class _Check:
    def __init__(self, func, traced, second, inputs, tolerance, by_name):
        self.func, self.traced, self.second, self.inputs, self.tolerance, self.by_name = func, traced, second, inputs, tolerance, by_name
        self.warned = False

    def run(self):
        traced = self.outputs(self.traced, "trace")
        if self.compare(traced, self.outputs(self.func, "Python function"), "Python function"):
            self.compare(traced, self.outputs(self.second, "repeated trace"), "repeated trace")
        found = self.differences()
        if any(each is not None for each in found):
            raise TracingCheckError(*found)

    def outputs(self, function, what):
        try:
            outputs = function(**self.inputs) if self.by_name else function(*_clone_inputs(self.inputs))
        except Exception as error:
            message = f"encountered an exception while running the {what} with test inputs.\nException:\n{indent(str(error))}"
            raise TracingCheckError(*self.differences(), extra_msg=message) from error
        return [each for each in (outputs if isinstance(outputs, tuple) else (outputs,)) if isinstance(each, torch.Tensor)]

    def compare(self, original, reference, what):
        from kindling.testing._comparison import default_tolerances
        same = True
        for place, (one, other) in enumerate(zip(original, reference)):
            wide = torch.cdouble if one.is_complex() or other.is_complex() else torch.double
            try:
                torch.testing.assert_close(one.to(wide), other.to(wide), rtol=self.tolerance, atol=default_tolerances(one, other)[1], equal_nan=True)
            except AssertionError as error:
                self.warn_of_random()
                warnings.warn(f"Output nr {place + 1}. of the traced function does not match the corresponding output of the {what}. Detailed "
                              f"error:\n{error}", category=TracerWarning, stacklevel=6)
                same = False
        return same

    def warn_of_random(self):
        if self.warned:
            return
        self.warned = True
        nodes = [node for node in self.traced.graph.nodes() if node.isNondeterministic()]
        if nodes:
            warnings.warn("Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
                          + "\n".join([indent(str(node)) for node in nodes][:20])
                          + "\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to torch.jit.trace()",
                          category=TracerWarning, stacklevel=7)

    def differences(self):
        """What differs between the two programs, and between tensors that stand in them; None where nothing does."""
        graphs = [_C._canonical_graph(each.graph) for each in (self.traced, self.second)]
        texts = [re.sub(r"___torch_mangle_[0-9]+\.", "", str(graph)) for graph in graphs]
        differ = None
        if texts[0] != texts[1]:
            from difflib import ndiff
            differ = "Graph diff:\n" + indent("".join(ndiff(texts[0].splitlines(True), texts[1].splitlines(True)))) + "\n"
            for one, other in zip(*(graph.nodes() for graph in graphs)):
                if str(one) != str(other):
                    differ += "First diverging operator:\nNode diff:\n"
                    differ += indent("".join(ndiff(str(one).splitlines(True), str(other).splitlines(True)))) + "\n"
                    for which, node in (("Trace", one), ("Check", other)):
                        if node.sourceRange():
                            differ += f"{which} source location:\n{indent(node.sourceRange())}\n"
                    break
        constants = None
        for one, other in zip(*(graph.nodes() for graph in graphs)):
            if one.kind() != other.kind():
                break
            if one.kind() != "prim::Constant" or not one.hasAttribute("value") or one.kindOf("value") != "t" or other.kindOf("value") != "t":
                continue
            try:
                torch.testing.assert_close(one.t("value"), other.t("value"), equal_nan=True)
            except (RuntimeError, AssertionError) as error:
                constants = f"Node:\n{indent(str(one))}\n"
                if one.sourceRange():
                    constants += f"Source Location:\n{indent(one.sourceRange())}\n"
                constants += f"Comparison exception: {indent(str(error))}"
                break
        return differ, constants


def trace_module(mod, inputs, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, _force_outplace=False,
                 _module_class=None, _compilation_unit=None, example_inputs_is_kwarg=False, _store_inputs=True):
    """Traces methods of a module: `inputs` says what each is called with, by name.

    The module that comes back has the parameters and buffers of `mod`. The other arguments are those of :func:`trace`.

    >>> import kindling as torch
    >>> class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.relu()
    ...     def twice(self, x):
    ...         return x * 2
    >>> net = torch.jit.trace_module(Net(), {"forward": torch.ones(2), "twice": torch.ones(2)})
    >>> net.twice(torch.tensor([1., -2.]))
    tensor([ 2., -4.])
    """
    global _trace_module_map
    _deprecated("trace_method")
    if not _enabled:
        return mod
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning,
                      stacklevel=2)
    if not isinstance(mod, torch.nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    torch.jit._check_ready(mod)
    before = _trace_module_map
    try:
        _trace_module_map = {}
        _name_modules(mod, "__module", _trace_module_map)
        traced = _traced_module(mod, _module_class or torch.jit.TopLevelTracedModule)
        for name, given in inputs.items():
            # forward is traced through the call, with its hooks
            function = mod if name == "forward" else getattr(mod, name)
            names = _argument_names(getattr(mod, name))
            by_name = isinstance(given, dict) and example_inputs_is_kwarg
            if by_name:
                for key in given:
                    if key not in names:
                        raise NameError(f"'{key}' is not in forward() method's arguments,\n                         "
                                        f"valid arguments name are [{','.join(names)}]")
            else:
                given = make_tuple(given)
            with _Scopes():
                _C._trace_method(traced._c, name, function, given, strict, _force_outplace, names)
            if check_trace:
                _check_trace([inputs] if check_inputs is None else check_inputs, function, traced._c._get_method(name), check_tolerance, strict,
                             _force_outplace, name, example_inputs_is_kwarg)
    finally:
        _trace_module_map = before
    return traced


def _name_modules(module, name, names):
    for part, child in module.named_children():
        names[child] = f"{name}.{part}"
        _name_modules(child, names[child], names)


class _Scopes:
    """While it lasts, calls of modules take the path on which their names are noted (Module._slow_forward)."""

    _hook = staticmethod(lambda module, args: None)

    def __enter__(self):
        self.handle = torch.nn.modules.module.register_module_forward_pre_hook(self._hook)

    def __exit__(self, *error):
        self.handle.remove()


def forward_in_scope(module, args, kwargs):
    """The forward of a module that is called while something is traced."""
    name = None if _trace_module_map is None else _trace_module_map.get(module)
    if not name:
        return module.forward(*args, **kwargs)
    _C._trace_push_scope(name)
    try:
        return module.forward(*args, **kwargs)
    finally:
        _C._trace_pop_scope()


class TracingState:
    """What is being traced in this thread, as ``torch._C._get_tracing_state()`` gives it."""

    def push_scope(self, name):
        _C._trace_push_scope(name)

    def pop_scope(self):
        _C._trace_pop_scope()


state = TracingState()


class PythonOp:
    """A call of an autograd.Function in a trace: a function of its tensors alone."""

    def __init__(self, function, args, kwargs):
        self.function, self.kwargs = function, kwargs or {}
        self.args = tuple(None if isinstance(each, torch.Tensor) else (each,) for each in args)
        self.how = ", ".join(repr(each[0]) for each in self.args if each is not None)

    def __call__(self, *tensors):
        left = iter(tensors)
        return self.function.apply(*(next(left) if each is None else each[0] for each in self.args), **self.kwargs)


def _class_name(module):
    """As graphs name the class: __torch__.torch.nn.modules.linear.Linear."""
    kind = type(module)
    place = kind.__module__.replace("kindling", "torch", 1) if kind.__module__.split(".")[0] == "kindling" else kind.__module__
    return "__torch__." + ("" if place == "__main__" else place + ".") + kind.__qualname__.rpartition(".")[2]


def _traced_module(module, kind):
    """A module of a trace: the parameters, buffers and modules of `module`, in a class of its own that has no methods yet."""
    from kindling.jit._script_module import RecursiveScriptModule
    if isinstance(module, torch.jit.ScriptModule):
        return module
    if module._backward_hooks:
        raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {module}")
    made = _C._script_class(_class_name(module), "module", type(module), lambda *asked: None)
    tensors = {**module._parameters, **module._buffers}
    tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    if len({id(tensor) for tensor in tensors.values()}) < len(tensors):
        raise ValueError("TracedModules don't support parameter sharing between modules")
    below = {name: _traced_module(child, torch.jit.TracedModule) for name, child in module._modules.items() if child is not None}
    values = {**tensors, "training": module.training, "_is_full_backward_hook": None, **{name: child._c for name, child in below.items()}}
    for name, value in values.items():
        what = "parameter" if name in module._parameters else "buffer" if name in module._buffers else "module" if name in below else ""
        made.add_attribute(name, value._type() if name in below else _C._script_type("Optional", (_C._script_type("bool"),)) if value is None else _C._script_infer(value), what)
    held = made.new()
    for name, value in values.items():
        held.setattr(name, value)
    return RecursiveScriptModule._construct.__func__(kind, held, below, None)


is_tracing = torch.jit.is_tracing


_script_if_tracing = torch.jit.script_if_tracing


def _get_trace_graph(f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False, _return_inputs_states=False):
    """(graph, result) of a function or a module that is called with tensors; parameters and buffers are further inputs of the graph."""
    args = args if isinstance(args, tuple) else (args,)
    module = f if isinstance(f, torch.nn.Module) else None
    tensors, seen = [], set()
    if module is not None:
        for tensor in module.state_dict(keep_vars=True).values():
            if id(tensor) not in seen:
                seen.add(id(tensor))
                tensors.append(tensor)
    flat = _flatten(args)
    results = []

    def run(*given):
        results.append(f(*_unflatten(args, iter(given[:len(flat)])), **(kwargs or {})))
        out = _flatten(results[0])
        return out[0] if len(out) == 1 else tuple(out)

    graph = _C._trace_graph(run, tuple(flat) + tuple(tensors), strict, _force_outplace)
    return (graph, results[0], args) if return_inputs or _return_inputs_states else (graph, results[0])


def _flatten(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [each for name in value for each in _flatten(value[name])]
    return [each for part in value for each in _flatten(part)] if isinstance(value, (tuple, list)) else []


def _unflatten(like, tensors):
    if isinstance(like, torch.Tensor):
        return next(tensors)
    if isinstance(like, dict):
        return {name: _unflatten(each, tensors) for name, each in like.items()}
    return type(like)(_unflatten(each, tensors) for each in like) if isinstance(like, (tuple, list)) else like
