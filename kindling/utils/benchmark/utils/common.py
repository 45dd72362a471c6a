"""Measurements: times of a statement, and what can be said of them."""
import collections
import contextlib
import dataclasses
import math
import textwrap
import typing  # noqa: F401    dataclasses asks it where it is among the modules, and another thread may be halfway through it

import kindling as torch

__all__ = ["TaskSpec", "Measurement", "select_unit", "unit_to_english", "trim_sigfig", "ordered_unique", "set_torch_threads"]

_MAX_SIGNIFICANT_FIGURES = 4
_MIN_CONFIDENCE_INTERVAL = 25e-9    # seconds: no clock is better
_IQR_WARN_THRESHOLD = 0.1
_IQR_GROSS_WARN_THRESHOLD = 0.25


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is timed, and what it is called."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str = None
    sub_label: str = None
    description: str = None
    env: str = None
    num_threads: int = 1

    @property
    def title(self):
        """The label, or the statement."""
        more = f": {self.sub_label}" if self.sub_label else ""
        if self.label is not None:
            return self.label + more
        if "\n" not in self.stmt:
            return self.stmt + more
        return f"stmt:{more}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self):
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self):
        """Title, description and setup."""
        sections = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{each}\n" if "\n" in each else each for each in sections if each)


_TASKSPEC_FIELDS = tuple(each.name for each in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of a statement: `raw_times` in seconds, each of `number_per_run` runs.

    >>> from torch.utils.benchmark import Measurement, TaskSpec
    >>> Measurement(10, [1e-3, 1.1e-3, 1.2e-3], TaskSpec("x + 1", "pass")).median
    0.00011
    """

    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict = None

    def __post_init__(self):
        self._sorted_times = ()
        self._warnings = ()
        self._median = self._mean = self._p25 = self._p75 = -1.0

    def __getattr__(self, name):
        # As the task's, too.
        if name in _TASKSPEC_FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(name)

    @property
    def times(self):
        """Seconds of one run."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def median(self):
        self._lazy_init()
        return self._median

    @property
    def mean(self):
        self._lazy_init()
        return self._mean

    @property
    def iqr(self):
        """The distance between the quartiles."""
        self._lazy_init()
        return self._p75 - self._p25

    @property
    def significant_figures(self):
        """About how many digits of the median mean something, by the spread of the middle half."""
        self._lazy_init()
        count = len(self._sorted_times)
        middle = self._sorted_times[count // 4:math.ceil(3 * count / 4)]
        spread = torch.tensor(middle, dtype=torch.float64).std(unbiased=False).item()
        interval = max(1.645 * spread / math.sqrt(len(middle)), _MIN_CONFIDENCE_INTERVAL)
        return min(max(math.floor(math.log10(self._median / interval)), 1), _MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self):
        self._lazy_init()
        return bool(self._warnings)

    def _lazy_init(self):
        if self.raw_times and not self._sorted_times:
            self._sorted_times = tuple(sorted(self.times))
            times = torch.tensor(self._sorted_times, dtype=torch.float64)
            self._median, self._mean = times.quantile(0.5).item(), times.mean().item()
            self._p25, self._p75 = times.quantile(0.25).item(), times.quantile(0.75).item()
            spread = (self._p75 - self._p25) / self._median
            if spread > _IQR_WARN_THRESHOLD:
                words = "This suggests significant environmental influence." if spread > _IQR_GROSS_WARN_THRESHOLD else \
                    "This could indicate system fluctuation."
                self._warnings = (f"  WARNING: Interquartile range is {spread * 100:.1f}% of the median measurement.\n           {words}",)

    def meets_confidence(self, threshold=0.1):
        """Whether the quartiles are closer than that part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self):
        return self.task_spec.title

    @property
    def env(self):
        return self.task_spec.env

    @property
    def as_row_name(self):
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self):
        self._lazy_init()
        count = len(self._sorted_times)
        unit, scale = select_unit(self._median)
        lines = [object.__repr__(self), self.task_spec.summarize(), f"  {'Median: ' if count > 1 else ''}{self._median / scale:.2f} {unit}"]
        if count >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({self._p25 / scale:.2f} to {self._p75 / scale:.2f})")
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs {'per measurement,' if count > 1 else ','} "
                     f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}")
        return "\n".join([*lines, *self._warnings]).strip()

    @staticmethod
    def merge(measurements):
        """One measurement for each task, with the times of all of its own."""
        groups = collections.defaultdict(list)
        for each in measurements:
            groups[each.task_spec].append(each)
        return [Measurement(number_per_run=1, raw_times=[time for each in group for time in each.times], task_spec=task, metadata=None)
                for task, group in groups.items()]


def select_unit(t):
    """The unit for a time: ("us", 1e-6).

    >>> torch.utils.benchmark.select_unit(2e-5)
    ('us', 1e-06)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "s")
    return unit, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def unit_to_english(u):
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x, n):
    """`x` with n significant figures."""
    if n != int(n):
        raise AssertionError(f"n must be an integer, got {n}")
    magnitude = math.ceil(math.log10(abs(x)))
    scale = 10 ** (magnitude - n)
    return float(torch.tensor(x / scale).round() * scale)


def ordered_unique(elements):
    return list(collections.OrderedDict.fromkeys(elements).keys())


@contextlib.contextmanager
def set_torch_threads(n):
    """Another number of threads, for a while."""
    former = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(former)
