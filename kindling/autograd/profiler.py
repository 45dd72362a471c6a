"""``torch.autograd.profiler``: what the operators, the backward and named stretches of a program cost."""
from kindling import _C

__all__ = ["profile", "record_function", "emit_itt", "emit_nvtx", "load_nvprof", "EnforceUnique", "KinetoStepTracker"]

_steps = {}


def kineto_available():
    """True: a profile gives what Kineto's gives of a CPU."""
    return True


class record_function:
    """Names a stretch of code: a `with` block, or a decorator. It shows in the profile that is on, and costs nothing else.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("mine"):
    ...         _ = torch.ones(2) + 1
    >>> "mine" in [event.name for event in prof.function_events]
    True
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self):
        self._event = _C._profile_begin(self.name)
        return self

    def __exit__(self, kind, value, traceback):
        _C._profile_end(self._event)

    def __call__(self, function):
        from kindling.autograd.grad_mode import context_decorator
        return context_decorator(lambda: record_function(self.name, self.args), function)


def _record_function_enter_new(name, args=None):
    """Begins a named stretch of code (``torch.ops.profiler``); `_record_function_exit` ends it."""
    return record_function(name, args).__enter__()


def _record_function_exit(handle):
    handle.__exit__(None, None, None)


# As operators they have overloads, of which one is called by name.
_record_function_enter = _record_function_enter_new.default = _record_function_enter_new
_record_function_exit.default = _record_function_exit._RecordFunction = _record_function_exit


class profile:
    """Inside the `with` block, writes down each operator, backward node and named stretch of this thread.

    ``record_shapes``: the shapes of the arguments; ``profile_memory``: bytes taken and given back; ``with_stack``: the Python lines
    that called. Results: ``function_events``, ``key_averages()``, ``table()``, ``export_chrome_trace(path)``, ``total_average()``.

    RuntimeError where one is on already.
    """

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False,
                 with_stack=False, with_modules=False, use_kineto=False, use_cpu=True, **options):
        self.enabled = enabled
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes or with_flops, profile_memory, with_stack
        self.with_flops, self.with_modules, self.use_device, self.use_cpu = with_flops, with_modules, use_device, use_cpu
        self.entered, self._events = False, None

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        _C._profile_start(self.record_shapes, self.profile_memory, self.with_stack)
        self.entered = True
        return self

    def __exit__(self, kind, value, traceback):
        if self.enabled:
            self._take(_C._profile_stop())
        return False

    def _take(self, notes):
        from _thread import get_ident

        from kindling.autograd.profiler_util import EventList, FunctionEvent
        start = notes[0][2] if notes else 0
        self._start_ns, thread = start, get_ident()
        events = []
        for number, (name, what, begin, end, parent, sequence, memory, shapes, stack) in enumerate(notes):
            event = FunctionEvent(number, name, thread, (begin - start) / 1e3, (end - start) / 1e3, input_shapes=shapes, stack=stack,
                                  sequence_nr=sequence, cpu_memory_usage=memory, fwd_thread=thread if sequence >= 0 else None,
                                  scope=(0, 1, 7, 7)[what], is_user_annotation=what == 2)
            if parent >= 0:
                event.cpu_parent = events[parent]
                events[parent].cpu_children.append(event)
            events.append(event)
        self._events = EventList(events, profile_memory=self.profile_memory)

    def _need(self):
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    @property
    def function_events(self):
        """Every event, in the order of their beginnings."""
        return self._events

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events, without counting any twice."""
        return self._need().self_cpu_time_total

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Averages by name; and by shapes, and by the top lines of the stack, where that is asked for."""
        return self._need().key_averages(group_by_input_shape, group_by_stack_n)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False, time_unit=None):
        """The events as a table."""
        return self._need().table(sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
                                  top_level_events_only, time_unit)

    def export_chrome_trace(self, path):
        """Writes the events for chrome://tracing and Perfetto."""
        self._need().export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes the stacks for a flame graph; needs ``with_stack=True``."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._need().export_stacks(path, metric)

    def total_average(self):
        """All events as one average."""
        return self._need().total_average()

    def toggle_collection_dynamic(self, enabled, activities):
        """Not supported: a profile is on from the block's beginning to its end."""
        raise NotImplementedError("toggle_collection_dynamic is not supported")

    def __repr__(self):
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self):
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)


class _NotHere:
    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self):
        if self.enabled:
            raise RuntimeError(f"torch.autograd.profiler.{type(self).__name__} needs a library that this build has not")

    def __exit__(self, *details):
        return None if self.enabled else False


class emit_itt(_NotHere):
    """Intel's marks: not in this build."""


class emit_nvtx(_NotHere):
    """NVIDIA's marks: not in this build."""


def load_nvprof(path):
    """Refused: profiles of NVIDIA's tools are not read."""
    raise RuntimeError("torch.autograd.profiler.load_nvprof needs a library that this build has not")


class EnforceUnique:
    """Raises RuntimeError for a key seen twice."""

    def __init__(self):
        self.seen = set()

    def see(self, *key):
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps over all who count them: the largest count holds."""

    @classmethod
    def init_step_count(cls, requester):
        _steps[requester] = cls.current_step()

    @classmethod
    def erase_step_count(cls, requester):
        return _steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        _steps[requester] = _steps.get(requester, 0) + 1
        return cls.current_step()

    @classmethod
    def current_step(cls):
        return max(_steps.values(), default=0)


def __getattr__(name):
    if name in ("EventList", "FunctionEvent"):
        from kindling.autograd import profiler_util
        return getattr(profiler_util, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
