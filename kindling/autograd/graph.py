"""The graph itself: nodes, edges, and what happens to the values nodes keep."""
from kindling import _C
from kindling._common.blocks import Block as _Block

__all__ = ["saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook", "allow_mutation_on_saved_tensors",
           "Node", "GradientEdge", "get_gradient_edge", "increment_version", "set_warn_on_accumulate_grad_stream_mismatch"]


class _NodeMeta(type):
    """As in PyTorch the types of nodes do not derive from Node, and yet are subclasses of it."""

    def __instancecheck__(cls, value):
        return cls is Node and isinstance(value, _C._Node) or type.__instancecheck__(cls, value)

    def __subclasscheck__(cls, other):
        if cls is Node and (issubclass(other, _C._Node) or getattr(other, "_is_node", False)):
            return True
        return type.__subclasscheck__(cls, other)


class Node(metaclass=_NodeMeta):
    """What every recorded operation is an instance of."""

    name, next_functions, metadata, register_hook, register_prehook, _input_metadata, _sequence_nr = [
        vars(_C._Node)[each] for each in "name next_functions metadata register_hook register_prehook _input_metadata _sequence_nr".split()]




class GradientEdge(tuple):
    """Where a tensor's gradient goes: a node and which of its outputs. Takes a tensor's place in `autograd.grad`."""
    __slots__ = ()
    _fields = ("node", "output_nr", "ownership_token")

    def __new__(cls, node, output_nr, ownership_token=None):
        return tuple.__new__(cls, (node, output_nr, ownership_token))

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])
    ownership_token = property(lambda self: self[2])

    def __repr__(self):
        return f"GradientEdge(node={self[0]!r}, output_nr={self[1]!r}, ownership_token={self[2]!r})"


class _InputMetadata:
    __slots__ = ("dtype", "shape", "device", "is_nested_tensor", "is_cpp_nested_tensor")

    def __init__(self, dtype, shape, device):
        self.dtype, self.shape, self.device = dtype, shape, device
        self.is_nested_tensor = self.is_cpp_nested_tensor = False


def get_gradient_edge(tensor):
    """The edge of a tensor that requires grad; its graph lives as long as the edge."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, output = _C._gradient_edge(tensor)
    return GradientEdge(node, output, None)


def increment_version(tensor) -> None:
    """Counts a write to a tensor (or to each of several) that happened where autograd could not see it."""
    _C._increment_version(tensor)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """There are no streams to mismatch."""


class saved_tensors_hooks:
    """Inside, every value kept for backward is kept as `pack_hook(tensor)`, and `unpack_hook` of that gives the tensor back."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args):
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, what is kept for backward is kept in CPU memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(tensor):
            return tensor.device, tensor if tensor.device.type == "cpu" else tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)
        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Inside, saved_tensors_hooks raise `error_message`. Also a decorator."""

    def __init__(self, error_message):
        self.error_message = error_message
        self._before = []

    def __enter__(self):
        self._before.append(_C._saved_tensors_hooks_get_disabled_error_message())
        _C._saved_tensors_hooks_disable(self.error_message)

    def __exit__(self, *args):
        before = self._before.pop()
        if before is None:
            _C._saved_tensors_hooks_enable()
        else:
            _C._saved_tensors_hooks_disable(before)

    def __call__(self, function):
        from kindling.autograd.grad_mode import context_decorator
        return context_decorator(lambda: disable_saved_tensors_hooks(self.error_message), function)


def _calculate_shape(output, grad, is_grads_batched):
    """The shape of an output (or of what an edge stands for) and that of its gradient, without the batch."""
    import kindling as torch
    if isinstance(output, GradientEdge):
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        return torch.Size(output.node._input_metadata[output.output_nr].shape), grad.shape
    if output.is_nested and output.layout == torch.strided:
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with Nested Tensor.")
        return output._nested_tensor_size(), grad._nested_tensor_size()
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


class _MultiHandle:
    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` once per backward: with all gradients when the last of them is there (mode "all"; None where there is none), or
    with the first that comes (mode "any")."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    from _thread import allocate_lock
    lock = allocate_lock()
    tensors = tuple(tensors)
    if mode == "any":
        done = {}

        def first(gradient):
            task = _C._current_graph_task_id()
            if task == -1:
                raise RuntimeError("expected this hook to be called inside a backward call")
            with lock:
                if task in done:
                    return
                done.clear()
                done[task] = True
            fn(gradient)
        return _MultiHandle([each.register_hook(first) for each in tensors if each.requires_grad])

    counts, buffers, expected, nodes = {}, {}, {}, [_C._gradient_edge(each)[0] if each.requires_grad else None for each in tensors]

    def hook_of(index):
        def inner(gradient):
            task = _C._current_graph_task_id()
            if task == -1:
                raise RuntimeError("expected this hook to be called inside a backward call")
            with lock:
                if task not in counts:
                    counts[task], buffers[task] = 0, [None] * len(tensors)
                    expected[task] = sum([node is not None and _C._will_engine_execute_node(node) for node in nodes])
                buffers[task][index] = gradient
                counts[task] += 1
                complete = counts[task] == expected[task]
                if complete:
                    values = buffers.pop(task)
                    del counts[task], expected[task]
            if complete:
                fn(values)
        return inner
    return _MultiHandle([each.register_hook(hook_of(i)) for i, each in enumerate(tensors) if each.requires_grad])


class _CloneOnWrite:
    """Which saved values are still what they were: those written to are cloned first."""

    def __init__(self):
        from weakref import WeakKeyDictionary, WeakValueDictionary
        self.cloned, self.original = WeakKeyDictionary(), WeakKeyDictionary()    # by the handle that a node keeps
        self.tid_to_weakhandle = WeakValueDictionary()      # a tensor at a version -> its handle
        self.sid_to_tid = {}                                # memory at a version -> tensors there

    def clear(self):
        for each in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            each.clear()


class _SavedHandle:
    """Stands in the graph for a tensor."""


_mutation_allowed = False


class allow_mutation_on_saved_tensors(_Block):
    """Inside, tensors kept for backward may be written in place: backward uses what they were. Gives the context it keeps."""

    def __enter__(self):
        from kindling.utils._python_dispatch import TorchDispatchMode
        global _mutation_allowed
        if _mutation_allowed:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        context = self._context = _CloneOnWrite()

        def memory(tensor):
            return tensor.untyped_storage().data_ptr(), tensor._version

        def pack(tensor):
            at = memory(tensor)
            tid = (*at, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
            handle = context.tid_to_weakhandle.get(tid)
            if handle is None:
                handle = context.tid_to_weakhandle[tid] = _SavedHandle()
                context.original[handle] = tensor
                context.sid_to_tid.setdefault(at, set()).add(tid)
            return handle

        def unpack(handle):
            if handle in context.cloned:
                return context.cloned[handle]
            if handle not in context.original:
                raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                                     "originally recorded.")
            return context.original[handle]

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                for argument, value in [*zip(function._schema.arguments, args), *((each, kwargs[each.name]) for each in function._schema.arguments
                                                                                  if each.name in kwargs)]:
                    if argument.alias_info is not None and argument.alias_info.is_write:
                        for tid in context.sid_to_tid.pop(memory(value), ()):
                            handle = context.tid_to_weakhandle.pop(tid, None)
                            if handle is not None and handle not in context.cloned:
                                context.cloned[handle] = context.original.pop(handle).detach().clone()
                return function(*args, **kwargs)
        self._hooks = saved_tensors_hooks(pack, unpack)
        self._mode = Mode()
        _mutation_allowed = True
        self._hooks.__enter__()
        self._mode.__enter__()
        return context

    def __exit__(self, *args):
        global _mutation_allowed
        _mutation_allowed = False
        self._mode.__exit__(*args)
        self._hooks.__exit__(*args)
        self._context.clear()
