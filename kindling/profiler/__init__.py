"""``torch.profiler``: profiles by schedule, over :mod:`torch.autograd.profiler`. The CPU is what there is to look at."""
from kindling._native_names.keys import DeviceType, _Member
from kindling.autograd.profiler import KinetoStepTracker, profile as _Profile, record_function

__all__ = ["profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity", "kineto_available",
           "DeviceType", "record_function"]


class ProfilerActivity(_Member, names="CPU XPU MTIA CUDA HPU PrivateUse1"):
    """What to look at: only ``CPU`` gives events."""


class ProfilerAction(_Member, names="NONE WARMUP RECORD RECORD_AND_SAVE"):
    """What a schedule wants of a step."""


for _each in (ProfilerActivity, DeviceType, ProfilerAction):
    _each.__module__ = __name__


def supported_activities():
    """What can be looked at here: the CPU."""
    return {ProfilerActivity.CPU}


def kineto_available():
    """Whether PyTorch's own tracing library is there: no, the core writes down the events itself."""
    return False


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function of the step's number: `skip_first` steps of nothing, then cycles of `wait`, `warmup` and `active` steps, `repeat` times
    (0: without end). The last active step of a cycle saves.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if not (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0):
        raise AssertionError(f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), active={active} "
                             f"(need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        import warnings
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def plan(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        count = wait + warmup + active
        if repeat > 0 and step // count >= repeat:
            return ProfilerAction.NONE
        step %= count
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < count - 1 else ProfilerAction.RECORD_AND_SAVE
    return plan


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False):
    """An ``on_trace_ready`` that writes a trace of each cycle into a folder: ``<worker>.<time>.pt.trace.json``."""
    def handler(prof):
        import os
        import socket
        import time
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"))
    return handler


def _always(step):
    return ProfilerAction.RECORD


class profile:
    """Profiles a program by steps.

    ``schedule``: what to do at each step (everything is recorded without one); ``on_trace_ready``: called with this object at the end of
    each cycle; the rest as in :class:`torch.autograd.profiler.profile`. Call ``step()`` at the end of each step.

    >>> with torch.profiler.profile(record_shapes=True) as prof:
    ...     _ = torch.ones(2, 3) + 1
    >>> [event.key for event in prof.key_averages() if event.key == "aten::add"]
    ['aten::add']
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False, use_cuda=None,
                 custom_trace_id_callback=None, post_processing_timeout_s=None):
        activities = set(activities) if activities else supported_activities()
        if not activities:
            raise AssertionError("No valid profiler activities found")
        self.activities = activities
        self.schedule, self.record_steps = schedule or _always, schedule is not None
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self._options = dict(record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack, with_flops=with_flops,
                             with_modules=with_modules)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler, self._running, self.step_rec_fn = None, False, None
        self._metadata = {}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, traceback):
        self.stop()
        return False

    def start(self):
        """Begins, as the schedule says for the first step."""
        KinetoStepTracker.init_step_count("ProfilerStep")
        self._turn(None, self.current_action)
        self._mark()

    def stop(self):
        """Ends; a cycle that is under way is handed to ``on_trace_ready``."""
        self._unmark()
        self._turn(self.current_action, None)
        KinetoStepTracker.erase_step_count("ProfilerStep")

    def step(self):
        """The next step begins."""
        self._unmark()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._turn(before, self.current_action)
        KinetoStepTracker.increment_step("ProfilerStep")
        self._mark()

    def _mark(self):
        if self.record_steps and self._running:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _unmark(self):
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _turn(self, before, after):
        records = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if before in records and (after is None or after not in records or before == ProfilerAction.RECORD_AND_SAVE):
            if before == ProfilerAction.RECORD and after is not None:
                import warnings
                warnings.warn("Incorrect schedule: RECORD followed by NONE or WARMUP", stacklevel=4)
            self.stop_trace()
            if self.on_trace_ready:
                self.on_trace_ready(self)
        if after in records and not self._running:
            self.start_trace()

    def start_trace(self):
        """Begins to record, whatever the schedule says."""
        earlier = self.profiler
        self.profiler = _Profile(**self._options)
        self.profiler.__enter__()
        self._running = True
        self._earlier = earlier if self.acc_events else None

    def stop_trace(self):
        """Ends recording, whatever the schedule says."""
        if not self._running:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._running = False
        self.profiler.__exit__(None, None, None)
        if self._earlier is not None:
            self.profiler._events[:0] = self._earlier._events

    prepare_trace = start_trace

    def _need(self):
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting its events: the schedule has recorded nothing yet")
        return self.profiler

    def events(self):
        """Every event of the last cycle."""
        return self._need().function_events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Averages by name; and by shapes, and by the top lines of the stack, where that is asked for."""
        return self._need().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path):
        """Writes the events for chrome://tracing and Perfetto; ``.gz`` compresses."""
        self._need().export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes the stacks for a flame graph; needs ``with_stack=True``."""
        self._need().export_stacks(path, metric)

    def toggle_collection_dynamic(self, enable, activities):
        """Not supported."""
        self._need().toggle_collection_dynamic(enable, activities)

    def add_metadata(self, key, value):
        """Keeps a text with the profile."""
        self._metadata[key] = value

    def add_metadata_json(self, key, value):
        """Keeps a text that is JSON with the profile."""
        import json
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key, value):
        self.add_metadata_json(key, value)
