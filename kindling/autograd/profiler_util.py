"""What a profile is made of: events, their averages, the table and the Chrome trace."""

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "FormattedTimesMixin"]


def _format_time(us):
    """1.234ms and its like, of microseconds."""
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _format_memory(bytes):
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(bytes) >= unit:
            return f"{bytes / unit:.2f} {name}"
    return f"{bytes} B"


def _format_time_share(time_us, total_time_us):
    """A part of a time in per cent; NaN of none."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


class Interval:
    """A stretch of time, in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start


class FormattedTimesMixin:
    """Times as text; time of other devices than the CPU is zero."""

    device_time_total = self_device_time_total = device_memory_usage = self_device_memory_usage = 0
    cuda_time_total = self_cuda_time_total = cuda_time = device_time = 0
    use_device = None
    is_async = is_remote = is_legacy = False
    flops = None

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: _format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _format_time(self.self_cpu_time_total))


class FunctionEvent(FormattedTimesMixin):
    """One call: of an operator, a node of the backward, or a stretch that the program named."""

    count = 1

    def __init__(self, id, name, thread, start_us, end_us, overload_name=None, fwd_thread=None, input_shapes=None, stack=None, scope=0,
                 use_device=None, cpu_memory_usage=0, device_memory_usage=0, is_async=False, is_remote=False, sequence_nr=-1, node_id=-1,
                 device_type=None, device_index=0, is_legacy=False, flops=None, trace_name=None, is_user_annotation=False, **others):
        self.id, self.trace_name, self.thread, self.overload_name = id, trace_name or name, thread, overload_name
        self.name = self.key = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.time_range = Interval(start_us, end_us)
        self.input_shapes, self.stack, self.sequence_nr, self.fwd_thread = input_shapes, stack, sequence_nr, fwd_thread
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.cpu_children, self.cpu_parent, self.kernels = [], None, []
        self.is_user_annotation, self.scope, self.node_id = is_user_annotation, scope, node_id
        self.is_async, self.is_remote, self.is_legacy, self.flops = is_async, is_remote, is_legacy, flops
        self.use_device, self.device_index = use_device, device_index

    def append_cpu_child(self, child):
        """Notes an event that began and ended inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        self.cpu_parent = parent

    @property
    def device_type(self):
        from kindling._native_names.keys import DeviceType
        return DeviceType.CPU

    @property
    def cpu_time_total(self):
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self):
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self):
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self):
        return (f"<FunctionEvent id={self.id} name={self.name} device_type=DeviceType.CPU cpu_time={self.cpu_time_str} "
                f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
                f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>")


class FunctionEventAvg(FormattedTimesMixin):
    """All calls of one name (and shapes, and place, where those are asked for), added up."""

    def __init__(self):
        self.key, self.count, self.node_id = None, 0, 0
        self.cpu_time_total = self.self_cpu_time_total = self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes, self.stack, self.scope, self.cpu_parent, self.cpu_children = None, None, None, None, None

    def add(self, other):
        """Adds an event or another average. Returns itself."""
        if self.key is None:
            self.key, self.input_shapes, self.stack, self.scope = other.key, other.input_shapes, other.stack, other.scope
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
            self.is_user_annotation = getattr(other, "is_user_annotation", False)
        self.count += other.count
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self):
        shapes = "" if self.input_shapes is None else str(self.input_shapes)
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
                f"input_shapes={shapes} cpu_memory_usage={self.cpu_memory_usage}>")


class EventList(list):
    """Events or averages, with the table and the trace."""

    def __init__(self, *arguments, use_device=None, profile_memory=False, with_flops=False):
        super().__init__(*arguments)
        self._profile_memory = profile_memory
        self._averages = False

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events, without counting any twice."""
        return sum(event.self_cpu_time_total for event in self)

    def _populate_cpu_children(self):
        """Finds for each event the shortest one around it on its thread; events that overlap otherwise are not related."""
        by_thread = {}
        for event in self:
            if not event.is_async:
                by_thread.setdefault((event.thread, event.node_id), []).append(event)
        for events in by_thread.values():
            around = []
            for event in sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)):
                while around and (event.time_range.start >= around[-1].time_range.end or event.time_range.end > around[-1].time_range.end):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def total_average(self):
        """All events as one average."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = None
        return total

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """Averages by name; and by shapes, and by the top lines of the stack, where that is asked for."""
        found = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "", tuple(event.stack[:group_by_stack_n]))
            found.setdefault(key, FunctionEventAvg()).add(event)
        averages = EventList(found.values(), profile_memory=self._profile_memory)
        for average in averages:
            average.stack = list(average.stack[:group_by_stack_n])
            if not group_by_input_shapes:
                average.input_shapes = ""
        averages._averages = True
        return averages

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False, time_unit=None):
        """The events as a table. ``sort_by``: "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "count", ..."""
        rows = [event for event in self if not (top_level_events_only and event.cpu_parent is not None)]
        if sort_by is not None:
            sort_by = sort_by.replace("cuda", "device")
            if rows and not hasattr(rows[0], sort_by):
                raise AttributeError(f"cannot sort by {sort_by!r}: events have cpu_time, cpu_time_total, self_cpu_time_total, cpu_memory_usage, "
                                     "self_cpu_memory_usage, count")
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        total = self.self_cpu_time_total
        shapes = any(event.input_shapes for event in rows)
        stacks = any(event.stack for event in rows)
        rows, whole = rows[:row_limit] if row_limit >= 0 else rows, rows

        def time(us):
            return _format_time(us) if time_unit is None else f"{us / {'s': 1e6, 'ms': 1e3, 'us': 1}[time_unit]:.3f}{time_unit}"

        def short(text, width):
            return text if width is None or len(text) <= width else text[:width - 3] + "..."

        def room(text_of, width):
            longest = max((len(text_of(event)) for event in whole), default=0) + 4
            return longest if width is None else min(longest, width)

        def key(event):
            return str(event.key)

        def dimensions(event):
            return str(event.input_shapes or "[]")

        def place(event):
            return event.stack[0] if event.stack else ""
        columns = [("Name", lambda e: short(key(e), max_name_column_width), room(key, max_name_column_width)),
                   ("Self CPU %", lambda e: _format_time_share(e.self_cpu_time_total, total), 12),
                   ("Self CPU", lambda e: time(e.self_cpu_time_total), 12),
                   ("CPU total %", lambda e: _format_time_share(e.cpu_time_total, total), 12),
                   ("CPU total", lambda e: time(e.cpu_time_total), 12), ("CPU time avg", lambda e: time(e.cpu_time), 12)]
        if self._profile_memory:
            columns += [("CPU Mem", lambda e: _format_memory(e.cpu_memory_usage), 12), ("Self CPU Mem", lambda e: _format_memory(e.self_cpu_memory_usage), 12)]
        columns.append(("# of Calls", lambda e: str(e.count), 12))
        if shapes:
            columns.append(("Input Shapes", lambda e: short(dimensions(e), max_shapes_column_width), room(dimensions, max_shapes_column_width)))
        if stacks:
            columns.append(("Source Location", lambda e: short(place(e), max_src_column_width), room(place, max_src_column_width)))
        widths = [max(width, len(title)) for title, _, width in columns]
        rule = "  ".join("-" * width for width in widths) + "  "
        double = "=" * (len(rule) - 2)
        lines = [double, header] if header is not None else []
        if top_level_events_only:
            lines += [double, "This report only display top-level ops statistics"]
        lines += [rule, "  ".join(title.rjust(width) for (title, _, _), width in zip(columns, widths)) + "  ", rule]
        lines += ["  ".join(make(event).rjust(width) for (_, make, _), width in zip(columns, widths)) + "  " for event in rows]
        lines += [rule, f"Self CPU time total: {time(total)}", ""]
        return "\n".join(lines)

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        """Writes the events for chrome://tracing and Perfetto."""
        import gzip
        import json
        import os
        pid = os.getpid()
        categories = {0: "cpu_op", 1: "cpu_op", 7: "user_annotation"}
        events = [{"ph": "X", "cat": categories[event.scope], "name": event.trace_name, "pid": pid, "tid": event.thread, "ts": event.time_range.start,
                   "dur": event.time_range.elapsed_us(),
                   "args": {"External id": event.id, "Input Dims": event.input_shapes, "Sequence number": event.sequence_nr,
                            **({"Call stack": ";".join(event.stack)} if event.stack else {})}} for event in self]
        with (gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w")) as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceName": str(path), "traceEvents": events}, file)

    def supported_export_stacks_metrics(self):
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path, metric):
        """Writes "a;b;c 12" lines, as flame graphs are made of: microseconds of each stack."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError("metric should be one of: " + str(self.supported_export_stacks_metrics()))
        with open(path, "w") as file:
            for event in self:
                value = int(getattr(event, metric, 0))
                if event.stack and value > 0:
                    file.write(";".join(line.replace(" ", "_").replace(";", ":") for line in reversed(event.stack)) + f" {value}\n")
