"""Backends of the program's own: ``torch.compile(f, backend=function)``.

The function gets a ``torch.fx.GraphModule`` of ``aten`` calls and example inputs, and gives what is called in its place. Nothing is
guarded: Python runs at every call, and each operator below autograd is written down with results that have no values yet. When a
value is needed, or at the end of the call, what was written down is looked up among the graphs that the backend has made something
of. So a program may branch on values: it then has several graphs, each right.
"""
import contextlib
import functools
import operator
import threading
import weakref

import kindling as torch
from kindling import _C
from kindling.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from kindling.utils._pytree import tree_flatten, tree_map

_capturing = threading.local()


def end_graph(why):
    """Ends the graph that is being written down in this thread, if there is one."""
    capture = getattr(_capturing, "by", None)
    if capture:
        capture.end_here(why)


def reset():
    """Forgets what backends have made."""
    for each in Compiler.every:
        each.made.clear()


@contextlib.contextmanager
def _unrecorded():
    """While in it sizes of this thread are numbers."""
    before = _C._record_sizes(None)
    try:
        yield
    finally:
        _C._record_sizes(before)


class _Input(tuple):
    """The number of an input of the graph, where a tensor stood."""


class _Result(tuple):
    """(step, which of its results or None), where a tensor stood."""


class _Size(tuple):
    """(function, arguments) that give a size, where one stood: `sym_size` of a tensor, or arithmetic."""


class _Step:
    """A call that was written down: tensors in its arguments are `_Input` or `_Result`; `results` are on the meta device."""

    def __init__(self, function, args, kwargs, results):
        self.function, self.args, self.kwargs, self.results = function, args, kwargs, results

    def text(self):
        return f"{self.function}{_text(self.args)}{_text(self.kwargs)}"


def _text(value):
    """A text that two arguments share where they are the same for a graph."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{_text(each)}" for name, each in sorted(value.items())) + "}"
    if type(value) in (tuple, list):
        return type(value).__name__ + "(" + ",".join(map(_text, value)) + ")"
    return f"{type(value).__name__} {value!r}"


@functools.cache
def _value_facts(func):
    return _C._value_facts(func._core, func._raw)


def _looks(tensor):
    """A header whose sizes may be others, but for 0 and 1."""
    if min(tensor.shape, default=0) < 2 or not tensor.is_contiguous():
        return _header(tensor)
    return f"{tensor.dim()} {tensor.dtype}"


def _header(tensor):
    return f"{tuple(tensor.shape)}{tensor.stride()}{tensor.dtype}"


class Compiler:
    """A backend for one compiled function, and what it has made so far: {what was written down: what to call}."""

    dynamic = False     # whether sizes are values of a graph, which then serves others too
    limit = None        # how many graphs are made something of; None: torch._dynamo.config.recompile_limit
    every = weakref.WeakSet()

    def __init__(self, backend, keywords):
        self.backend, self.keywords = backend, keywords
        self.made = {}
        self.breaks = []                            # of the last call: (why a graph ended, [where])
        self.every.add(self)

    def __call__(self, function, args, kwargs):
        if getattr(_capturing, "by", None):         # a compiled function in another is a part of its graph
            return function(*args, **kwargs)
        capture = _capturing.by = _Capture(self)
        self.breaks.clear()
        try:
            with capture, capture.symbols(args, kwargs):
                result = function(*args, **kwargs)
        except BaseException:
            capture.finish(quietly=True)
            raise
        finally:
            _capturing.by = None
        capture.finish()
        return result

    def find(self, key, build, inputs):
        """What to call for a graph, made of it at the first time. Past the limit the graph itself runs."""
        found = self.made.get(key)
        if found is None:
            module = build()
            limit = torch._import("kindling._dynamo.config").recompile_limit if self.limit is None else self.limit
            if len(self.made) >= limit:
                return module
            stats = torch._import("kindling._dynamo.utils").counters["stats"]
            stats["unique_graphs"] += 1
            stats["calls_captured"] += sum(node.op == "call_function" for node in module.graph.nodes)
            try:
                found = self.backend(module, inputs, **self.keywords)
                if not callable(found):
                    raise TypeError(f"a backend gives what can be called, not {type(found).__name__}")
            except Exception as error:
                from kindling._dynamo.exc import BackendCompilerFailed
                raise BackendCompilerFailed(self.backend, error).with_traceback(error.__traceback__) from error
            self.made[key] = found
        return found


class _Run:
    """What fills the memory of a queue, or, once that has failed, says why it cannot be read."""

    def __init__(self, capture):
        self.capture, self.error = capture, None

    def __call__(self):
        if self.error is not None:
            raise self.error
        try:
            self.capture.compute()
        except BaseException as error:
            self.error = error
            self.capture.begin()        # what the program does next is another graph's
            raise


class _Capture(TorchDispatchMode):
    """Writes down the operators of one compiled call, and has them computed when a value is needed."""

    def __init__(self, compiler):
        super().__init__()
        self.compiler = compiler
        self.ends = False
        self.sizes, self.given = None, {}           # where sizes are symbols: tensors that the call was given, by id
        self.begin()

    def begin(self):
        """A graph with nothing in it, and a queue for what it will give."""
        self.forget()
        self.queue = _C._put_off(_Run(self))

    def forget(self):
        self.steps, self.inputs, self.places, self.bases, self.shapes = [], [], {}, {}, {}
        if self.sizes:
            self.sizes.forget()
        self.writes, self.draws = False, 0

    def finish(self, quietly=False):
        self.ends = True
        try:
            self.queue.run()
        except Exception:
            if not quietly:
                raise

    # ---- sizes as symbols (kindling/fx/experimental/_sizes.py)

    def symbols(self, args, kwargs):
        """While the function runs its sizes are recorded, if they are to be values of the graph."""
        if not self.compiler.dynamic:
            return contextlib.nullcontext()
        from kindling.fx.experimental._sizes import Sizes
        self.given = {id(each): each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)}
        self.sizes = Sizes(self, lambda function, parts, name: _Size((function, parts)), shows_symbols=False)
        return self.sizes

    def node_of(self, tensor):
        """What stands for a tensor whose sizes may be others in another call. Sizes of 0 and 1 are numbers, as in PyTorch."""
        if id(tensor) in self.shapes:
            return self.shapes[id(tensor)][1]
        if not self.can_hold(None, [tensor]) or min(tensor.shape, default=0) < 2:
            return None
        return self.reference(tensor) if id(tensor) in self.given or self.place(tensor) in self.places else None

    def track(self, shape, node):
        self.shapes[id(shape)] = shape, node

    # ---- writing down

    @staticmethod
    def can_hold(func, tensors):
        """Whether a graph can have this call: the shapes of its results do not follow from values, and its tensors are plain ones."""
        if func and {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output, torch.Tag.inplace_view} & set(func.tags):
            return False
        return all(type(each) in (torch.Tensor, torch.nn.Parameter) and each.layout == torch.strided and each.device.type == "cpu"
                   and not each.is_conj() and not each.is_neg() and not each.is_quantized for each in tensors)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
        sized = args, kwargs
        if self.sizes:
            args, kwargs = tree_map(self.sizes.value, sized)
        with self.queue:                            # another thread may need a value
            if any(each.dim() == 0 and self.queue.number(each) is not None for each in tensors):
                func, args, tensors = self.with_numbers(func, args)
                sized = args, kwargs
            written = self.write_down(func, args, kwargs, tensors, sized) if self.can_hold(func, tensors) else None
            if written is not None:
                if any(map(self.queue.is_visible, tensors)):
                    self.end_here("memory that others see was read or written")
                return written[0]
            self.queue.run()
        return func(*args, **kwargs)

    def with_numbers(self, func, args):
        """A call with the numbers that some of its tensors were made of in their places, and the other tensors: of the overload for
        numbers, if there is one, or of the same, which takes them as well."""
        values = [self.queue.number(each) if isinstance(each, torch.Tensor) and each.dim() == 0 else None for each in args]
        args = tuple(each if value is None else value for each, value in zip(args, values))
        kinds = [str(each.type) if value is None else "number" for each, value in zip(func._schema.arguments, values + [None] * len(func._schema.arguments))]
        for name in func.overloadpacket.overloads():
            other = getattr(func.overloadpacket, name)
            if [str(each.type) for each in other._schema.arguments] == kinds:
                func = other
        return func, args, [each for each in tree_flatten(args)[0] if isinstance(each, torch.Tensor)]

    def write_down(self, func, args, kwargs, tensors, sized):
        """(what the call gives,), or None where it has to run. `sized`: the arguments with SymInts among them."""
        arguments, results = func._schema.arguments, func._schema.returns
        draws = torch.Tag.nondeterministic_seeded in func.tags
        if draws and any(isinstance(each, torch.Generator) for each in (*args, *kwargs.values())):
            return None
        checked, words, wide = _value_facts(func)
        mutated = []
        for place, argument in enumerate(arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                if argument.is_out:
                    return None
                value = args[place] if place < len(args) else kwargs.get(argument.name)
                mutated += [value] if isinstance(value, torch.Tensor) else [each for each in value or () if isinstance(each, torch.Tensor)]
        is_view = not mutated and any(each.alias_info is not None for each in results)
        headers = self.overlapping(tensors) if mutated else {}

        def header(value):
            if not isinstance(value, torch.Tensor):
                return torch.device("meta") if isinstance(value, torch.device) else value
            if id(value) not in headers:
                headers[id(value)] = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
            return headers[id(value)]

        try:
            known = func(*tree_map(header, args), **self.on_meta(func, tree_map(header, kwargs)))
        except Exception:
            return None                             # the call itself says what is wrong, or runs where there is no meta kernel
        if any(headers[id(each)].shape != each.shape or headers[id(each)].stride() != each.stride() for each in mutated):
            return None
        flat, spec = tree_flatten(known)
        if not flat or not all(isinstance(each, torch.Tensor) for each in flat) or spec.is_leaf() is False and type(known) not in (tuple, list):
            return None
        if not mutated and not is_view and any(each is other for each in flat for other in headers.values()):
            return None
        if checked is not None:
            self.check_values(func, checked, args, kwargs)
        references = [self.reference(each) for each in tensors]
        by_id = {id(tensor): reference for tensor, reference in zip(tensors, references)}
        part = self.sizes.part if self.sizes else lambda value: value
        replaced = tree_map(lambda value: by_id[id(value)] if isinstance(value, torch.Tensor) else part(value), sized)
        number = len(self.steps)
        self.steps.append(_Step(func, *replaced, known))
        if draws:
            drawn = flat[0]
            count = drawn.numel() * (1 + drawn.dtype.is_complex) * (wide if drawn.dtype.to_real().itemsize == 8 else words)
            # How many words all draws of the graph take, if that is known of each.
            self.draws = None if not count and drawn.numel() or self.draws is None else self.draws + count
            self.queue.draw()
        single = isinstance(known, torch.Tensor)
        if mutated:
            self.writes = True
            for each in mutated:
                self.queue.touch(each, True, False)
                if not each.is_inference():
                    torch.autograd.graph.increment_version(each)
            given = tree_map(lambda each: next((tensor for tensor in tensors if headers[id(tensor)] is each), None), known)
            if any(each is None for each in tree_flatten(given)[0]):
                raise NotImplementedError(f"{func} gives and writes tensors at once")
            return (given,)
        if is_view:
            with _disable_current_modes():
                given = func(*args, **kwargs)
        else:
            given = tree_map(self.fresh, known)
        for which, each in enumerate([given] if single else given):
            reference = _Result((number, None if single else which))
            if not is_view:
                self.bases[self.queue.touch(each, True, True)] = (reference, known if single else known[which])
            self.places[self.place(each)] = reference
        return (given,)

    def overlapping(self, tensors):
        """{id: header} of the tensors that share memory, over memory that is shared in the same way: a write that reads what it overlaps is
        refused for that."""
        parts = {}
        for each in {id(each): each for each in tensors}.values():
            if each.numel():
                parts.setdefault((self.queue.memory(each), each.dtype), []).append(each)
        headers = {}
        for (_, dtype), group in parts.items():
            if len(group) > 1:
                end = max(1 + each.storage_offset() + sum((size - 1) * stride for size, stride in zip(each.shape, each.stride())) for each in group)
                memory = torch.empty(end, dtype=dtype, device="meta")
                headers |= {id(each): memory.as_strided(each.shape, each.stride(), each.storage_offset()) for each in group}
        return headers

    def check_values(self, func, names, args, kwargs):
        """Raises at the call what a call raises because of values. Of tensors that the graph computes, only those that the check names
        are computed for it."""
        given = dict(zip((each.name for each in func._schema.arguments), args)) | kwargs
        read = [each for each in tree_flatten([given.get(name) for name in names])[0] if isinstance(each, torch.Tensor)]
        if any(self.queue.slot(each) in self.bases for each in read):
            self.end_here("an operator checks values")
        with _disable_current_modes():
            _C._check_values(func._core, func._raw, *args, **kwargs)

    @staticmethod
    def fresh(header):
        """A tensor like one on the meta device, also in what its version counts."""
        made = torch.empty_strided(header.shape, header.stride(), dtype=header.dtype)
        for _ in range(0 if header.is_inference() else header._version):
            torch.autograd.graph.increment_version(made)
        return made

    @staticmethod
    def on_meta(func, kwargs):
        """Arguments of what makes tensors: on the meta device."""
        if any(argument.name == "device" for argument in func._schema.arguments):
            kwargs["device"] = torch.device("meta")
        return kwargs

    def place(self, tensor):
        return (self.queue.slot(tensor), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)

    def reference(self, tensor):
        """What stands for a tensor in the graph; a new input where it does not come from there."""
        place = self.place(tensor)
        found = self.places.get(place)
        if found is not None:
            return found
        base = self.bases.get(place[0])
        if base is not None:                        # a header that was made past us, over memory of ours
            known = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
            self.steps.append(_Step(torch.ops.aten.as_strided.default, (base[0], list(tensor.shape), list(tensor.stride()), tensor.storage_offset()), {}, known))
            found = _Result((len(self.steps) - 1, None))
        else:
            self.queue.touch(tensor, False, False)
            found = _Input((len(self.inputs),))
            self.inputs.append(tensor.data)         # its writes are counted when they are written down, not again
        self.places[self.place(tensor)] = found
        return found

    # ---- computing

    def compute(self):
        """Fills all memory that was written down. Called under the queue's lock, when somebody needs a value."""
        with _disable_current_modes(), torch.no_grad(), _unrecorded():
            wanted = [(slot, *base) for slot, base in self.bases.items() if self.queue.is_wanted(slot)]
            if not wanted and not self.writes and self.draws is not None:
                _C._skip_draws(self.draws)          # nobody has what was computed: the stream goes on all the same
                return self.forget()
            if not self.ends:
                self.note("a value was needed")
            header = _looks if self.sizes else _header
            key = "\n".join([*(each.text() for each in self.steps), *map(header, self.inputs), *(_text(reference) for _, reference, _ in wanted)])
            function = self.compiler.find(key, lambda: self.graph([reference for _, reference, _ in wanted]), self.inputs)
            values = function(*self.inputs)
            if isinstance(values, torch.Tensor):
                values = (values,)
            if len(values) != len(wanted):
                raise RuntimeError(f"what the backend made gives {len(values)} results, its graph has {len(wanted)}")
            seen, held = set(), []
            for value, (slot, _, known) in zip(values, wanted):
                if tuple(value.shape) != tuple(known.shape):
                    raise RuntimeError(f"what the backend made gives a result of shape {tuple(value.shape)} for one of {tuple(known.shape)}")
                own = value.dtype == known.dtype and value.stride() == known.stride() and value.storage_offset() == 0 and value.untyped_storage().data_ptr() not in seen
                seen.add(value.untyped_storage().data_ptr())
                held.append((slot, value if own else self.copied(value, known), known))
            del values
            while held:
                slot, value, known = held.pop()
                if not self.queue.fill(slot, value):
                    self.queue.fill(slot, self.copied(value, known))
            self.forget()

    def note(self, why):
        """Remembers why a graph ends here, and at which line of the program."""
        import sys
        import traceback

        from kindling._compiling.breaks import frames_of_program
        frame = frames_of_program(sys._getframe(1))[-1]
        where = traceback.FrameSummary(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        self.compiler.breaks.append((why, [where]))
        torch._import("kindling._dynamo.utils").counters["graph_break"][why] += 1

    def end_here(self, why):
        """The graph ends, because the program says so."""
        with self.queue:
            if self.steps:
                self.note(why)
                self.ends, before = True, self.ends
                try:
                    self.queue.run()
                finally:
                    self.ends = before

    @staticmethod
    def copied(value, known):
        return torch.empty_strided(known.shape, known.stride(), dtype=known.dtype).copy_(value)

    def graph(self, wanted):
        """What was written down as a graph module, which gives `wanted`."""
        from kindling.fx import Graph, GraphModule
        graph, values = Graph(), {}
        for number, tensor in enumerate(self.inputs):
            values[_Input((number,))] = node = graph.placeholder(f"arg{number}_1")
            node.meta["val"] = node.meta["example_value"] = tensor
        calls = []
        place = _Places(graph, self.steps, values, calls)
        for number, step in enumerate(self.steps):
            node = graph.create_node("call_function", step.function, place.of(step.args), place.of(step.kwargs), step.function.overloadpacket.__name__)
            node.meta["val"] = step.results
            calls.append(node)
            if isinstance(step.results, torch.Tensor):
                values[_Result((number, None))] = node
        graph.output(tuple(map(place.of, wanted)))
        return GraphModule(torch.nn.Module(), graph)


class _Places:
    """Nodes of a graph in the places of what stands for tensors."""

    def __init__(self, graph, steps, nodes, calls):
        self.graph, self.steps, self.nodes, self.calls = graph, steps, nodes, calls

    def of(self, value):
        if isinstance(value, _Result) and value not in self.nodes:
            step, which = value
            self.nodes[value] = node = self.graph.call_function(operator.getitem, (self.calls[step], which))
            node.meta["val"] = self.steps[step].results[which]
        if isinstance(value, _Size) and value not in self.nodes:
            function, parts = value
            self.nodes[value] = self.graph.call_function(function, tuple(map(self.of, parts)))
        if isinstance(value, (_Input, _Result, _Size)):
            return self.nodes[value]
        if type(value) in (tuple, list):
            return type(value)(map(self.of, value))
        return {name: self.of(each) for name, each in value.items()} if isinstance(value, dict) else value
